// What combines two heights, or a height and a number: the twin of combine/pair.rs and the operators beside it.

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

// `by` is a factor or a band.
fn combine(a: f32, b: f32, by: f32) -> f32 {
    switch KIND {
        case 0u: { return a + by * b; }
        case 1u: { return a * b; }
        case 2u: { return smooth_min(a, b, by); }
        default: { return -smooth_min(-a, -b, by); }
    }
}
