// Two lands made one.

// Heights of the step named by `with`.
@group(0) @binding(2) var second: texture_2d<f32>;

@fragment
fn fragment(pixel: Pixel) -> @location(0) f32 {
    let other = textureLoad(second, vec2<i32>(pixel.position.xy), 0).x;
    return combine(height_before(pixel), other, pair(pixel.list.x).y);
}
