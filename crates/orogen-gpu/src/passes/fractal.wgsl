// Fractals: how octaves of noise add up to land. The twin of noise/fractal.rs.

// The numbers of the fractals, as `kind_of` has them.
const SUM: u32 = 0u;
const TRANSLATE_SCALE: u32 = 1u;
const MULTIFRACTAL: u32 = 2u;
const HYBRID: u32 = 3u;
const RIDGED: u32 = 4u;
const BILLOW: u32 = 5u;

fn crest(n: f32, t: f32, s: f32) -> f32 {
    let height = t - abs(n) * s;
    return height * height;
}

// Sum so far and what the next octave counts, after the first octave.
fn fractal_first(kind: u32, shape: vec2<f32>, n: f32) -> vec2<f32> {
    let t = shape.x;
    let s = shape.y;
    switch kind {
        case TRANSLATE_SCALE: { return vec2<f32>((n + t) * s); }
        case MULTIFRACTAL, HYBRID: { return vec2<f32>(n * s + t); }
        case RIDGED: { return vec2<f32>(crest(n, t, s)); }
        case BILLOW: { return vec2<f32>(abs(n)); }
        default: { return vec2<f32>(n); }
    }
}

// The same after every further octave.
fn fractal_next(kind: u32, shape: vec2<f32>, w: f32, state: vec2<f32>, n: f32) -> vec2<f32> {
    let t = shape.x;
    let s = shape.y;
    let sum = state.x;
    switch kind {
        case TRANSLATE_SCALE: { return vec2<f32>(sum + sum * (n + t) * s * w, state.y); }
        case MULTIFRACTAL: { return vec2<f32>(sum * (n * s * w + t), state.y); }
        case HYBRID: {
            let signal = (n * s + t) * w;
            let count = min(state.y, 1.0) * signal;
            return vec2<f32>(sum + count, count);
        }
        case RIDGED: {
            let signal = crest(n, t, s) * clamp(2.0 * state.y, 0.0, 1.0);
            return vec2<f32>(sum + signal * w, signal);
        }
        case BILLOW: { return vec2<f32>(sum + abs(n) * w, state.y); }
        default: { return vec2<f32>(sum + n * w, state.y); }
    }
}
