// What changes one height at a time: a number that is combined with it, or the curve of shape/remap.rs.

// The piece of a curve that holds a height: pieces are three pairs each, the start first.
fn curve(h: f32, first: u32, count: u32) -> f32 {
    var low = 0u;
    var high = count;
    while high - low > 1u {
        let middle = (low + high) / 2u;
        if pair(first + 3u * middle).x <= h {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = h - pair(first + 3u * low).y;
    let a = pair(first + 3u * low + 1u);
    let b = pair(first + 3u * low + 2u);
    return a.x + t * (a.y + t * (b.x + t * b.y));
}

@fragment
fn fragment(pixel: Pixel) -> @location(0) f32 {
    let h = height_before(pixel);
    if KIND == 4u {
        return curve(h, pixel.list.x, pixel.list.y);
    }
    let by = pair(pixel.list.x);
    return combine(h, by.x, by.y);
}
