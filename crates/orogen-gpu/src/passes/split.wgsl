// Positions as two floats, so that differences of near ones are exact far from where they are counted from.

fn difference(a: vec2<f32>, b: vec2<f32>) -> f32 {
    return (a.x - b.x) + (a.y - b.y);
}
