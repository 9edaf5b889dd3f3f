// Normals of a tile from its heights; those of the outermost samples, which are there for others, are one-sided.

@fragment
fn fragment(pixel: Pixel) -> @location(0) vec4<f32> {
    let at = vec2<i32>(sample_of(pixel));
    let last = vec2<i32>(pixel.tile.zw) - 1;
    let corner = vec2<i32>(pixel.tile.xy);
    let low = max(at - 1, vec2<i32>(0));
    let high = min(at + 1, last);
    // Samples a metre.
    let per_m = pair(pixel.list.x);
    let rise = vec2<f32>(
        height_at(corner + vec2<i32>(high.x, at.y)) - height_at(corner + vec2<i32>(low.x, at.y)),
        // Rows run from the north.
        height_at(corner + vec2<i32>(at.x, low.y)) - height_at(corner + vec2<i32>(at.x, high.y)),
    );
    let slope = rise * per_m / vec2<f32>(high - low);
    return vec4<f32>(normalize(vec3<f32>(-slope, 1.0)), 0.0);
}

fn height_at(at: vec2<i32>) -> f32 {
    return textureLoad(before, at, 0).x;
}
