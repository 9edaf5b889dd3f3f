// Octaves of noise around a place: the twin of octaves.rs, and of noise/mod.rs for one octave.
//
// Gradients at lattice points are hashed by the processor, which knows the few that a tile meets; the device looks them up.

// The part of a tile that something touches: first column and row, columns and rows.
struct Part {
    low: vec2<u32>,
    size: vec2<u32>,
}

fn part_of(i: u32) -> Part {
    let words = number(i);
    return Part(vec2<u32>(words.x & 0xffffu, words.x >> 16u), vec2<u32>(words.y & 0xffffu, words.y >> 16u));
}

fn is_in(part: Part, at: vec2<u32>) -> bool {
    return all(at >= part.low) && all(at < part.low + part.size);
}

fn fade(t: f32) -> f32 {
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
}

// A gradient at a lattice point and the one above, as a straight line across: slope and level.
fn gradient_line(below: vec2<f32>, above: vec2<f32>, v: f32) -> vec2<f32> {
    let f = fade(v);
    let low = below.y * v;
    let high = above.y * (v - 1.0);
    return vec2<f32>(below.x + f * (above.x - below.x), low + f * (high - low));
}

// The noise of a fractal: a header, then two pairs an octave, which say where its tables are.
fn fractal(first: u32, part: Part, at: vec2<u32>) -> f32 {
    let header = number(first);
    let place = at - part.low;
    var sum = 0.0;
    for (var i = 0u; i < header.y; i++) {
        let wave = number(first + 1u + 2u * i);
        let tables = number(first + 2u + 2u * i);
        let gradients = wave.y;
        let wide = tables.x;
        let column = number(tables.y + place.x);
        let row = number(tables.y + part.size.x + place.y);
        let t = bitcast<f32>(column.y);
        let v = bitcast<f32>(row.y);
        let corner = gradients + row.x * wide + column.x;
        let left = gradient_line(pair(corner), pair(corner + wide), v);
        let right = gradient_line(pair(corner + 1u), pair(corner + wide + 1u), v);
        let a = left.x * t + left.y;
        let b = right.x * (t - 1.0) + right.y;
        let noise = a + fade(t) * (b - a);
        // Sharp crests, where the fractal has them.
        sum += bitcast<f32>(wave.x) * select(noise, 0.55 - 2.2 * abs(noise), header.x == 1u);
    }
    return sum;
}
