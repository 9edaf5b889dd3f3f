// What changes one height at a time: the twin of combine/ with a number, and of shape/remap.rs.

// As `Kind` of change.rs has them.
override KIND: u32 = 0u;

// The smaller of two numbers, rounded off where they lie within a band of each other.
fn smooth_min(a: f32, b: f32, band: f32) -> f32 {
    let sharp = min(a, b);
    if band <= 0.0 {
        return sharp;
    }
    let near = max(1.0 - abs(a - b) / band, 0.0);
    return sharp - 0.25 * band * near * near;
}

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
    switch KIND {
        case 0u: { return h + by.y * by.x; }
        case 1u: { return h * by.x; }
        case 2u: { return smooth_min(h, by.x, by.y); }
        default: { return -smooth_min(-h, -by.x, by.y); }
    }
}
