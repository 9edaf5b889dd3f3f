// The bases: one octave of noise. The twin of noise/basis.rs; all whole numbers have its bits.

// A place on a lattice: the cell, and the share of the way across it.
struct Place {
    cell: vec2<u32>,
    share: vec2<f32>,
}

// Where an octave's random numbers come from, what it counts, and after how many cells it repeats (0 for never).
struct Octave {
    seed: u32,
    weight: f32,
    period: vec2<u32>,
}

fn after(index: u32, period: u32) -> u32 {
    let next = index + 1u;
    return select(next, 0u, next == period);
}

fn previous(index: u32, period: u32) -> u32 {
    return select(index - 1u, period - 1u, index == 0u);
}

// A bijective scramble of 32 bits.
fn scramble(word: u32) -> u32 {
    var h = word;
    h = (h ^ (h >> 16u)) * 0x7feb352du;
    h = (h ^ (h >> 15u)) * 0x846ca68bu;
    return h ^ (h >> 16u);
}

fn line_hash(line: u32, seed: u32) -> u32 {
    return scramble((line * 0x9e3779b9u) ^ seed);
}

fn bits(cell: u32, hash: u32) -> u32 {
    return scramble((cell * 0x85ebca6bu) ^ hash);
}

fn signed(word: u32) -> f32 {
    return f32(bitcast<i32>(word)) * (1.0 / 2147483648.0);
}

fn parabola(t: f32) -> f32 {
    return t * (4.0 - 4.0 * abs(t));
}

fn slope(word: u32) -> vec2<f32> {
    return vec2<f32>(parabola(signed(word)), parabola(signed(word + 0x40000000u)));
}

fn level(word: u32) -> f32 {
    return signed(word * 0x9e3779b1u);
}

fn weight(t: f32) -> f32 {
    let square = t * t;
    let rest = 1.0 - square;
    return rest * rest * rest * (rest + 2.5 * square * square);
}

fn value_line(at: Place, period: u32, hash: u32) -> f32 {
    let left = signed(bits(at.cell.x, hash));
    let right = signed(bits(after(at.cell.x, period), hash));
    return left * weight(at.share.x) + right * weight(at.share.x - 1.0);
}

fn value(at: Place, octave: Octave) -> f32 {
    let a = value_line(at, octave.period.x, line_hash(at.cell.y, octave.seed));
    let b = value_line(at, octave.period.x, line_hash(after(at.cell.y, octave.period.y), octave.seed));
    return a * weight(at.share.y) + b * weight(at.share.y - 1.0);
}

fn white(at: Place, octave: Octave) -> f32 {
    return signed(bits(at.cell.x, line_hash(at.cell.y, octave.seed)));
}

// Variance of either part of a slope, and of a height.
const EVEN_SLOPE: f32 = 8.0 / 15.0;
const EVEN_LEVEL: f32 = 0.12;

fn even_weight(t: f32) -> f32 {
    let rest = 1.0 - t * t;
    return rest * rest;
}

fn even_sums(t: f32) -> vec2<f32> {
    let past = t - 1.0;
    let left = even_weight(t) * even_weight(t);
    let right = even_weight(past) * even_weight(past);
    return vec2<f32>(left + right, left * (t * t) + right * (past * past));
}

fn even_value_line(at: Place, period: u32, hash: u32) -> vec2<f32> {
    let l = bits(at.cell.x, hash);
    let r = bits(after(at.cell.x, period), hash);
    let slope_l = slope(l);
    let slope_r = slope(r);
    let t = at.share.x;
    let past = t - 1.0;
    let left = even_weight(t);
    let right = even_weight(past);
    return vec2<f32>(
        left * (slope_l.x * t + 0.6 * level(l)) + right * (slope_r.x * past + 0.6 * level(r)),
        slope_l.y * left + slope_r.y * right,
    );
}

fn even_value(at: Place, octave: Octave) -> f32 {
    let a = even_value_line(at, octave.period.x, line_hash(at.cell.y, octave.seed));
    let b = even_value_line(at, octave.period.x, line_hash(after(at.cell.y, octave.period.y), octave.seed));
    let v = at.share.y;
    let past = v - 1.0;
    let below = even_weight(v);
    let above = even_weight(past);
    let noise = (a.x * below + a.y * (below * v)) + (b.x * above + b.y * (above * past));
    let along = even_sums(at.share.x);
    let up = even_sums(v);
    return noise / sqrt((EVEN_LEVEL * along.x + EVEN_SLOPE * along.y) * up.x + EVEN_SLOPE * along.x * up.y);
}

fn perlin_line(at: Place, period: u32, hash: u32, even: bool) -> vec2<f32> {
    let l = bits(at.cell.x, hash);
    let r = bits(after(at.cell.x, period), hash);
    let slope_l = slope(l);
    let slope_r = slope(r);
    let t = at.share.x;
    let past = t - 1.0;
    let left = weight(t);
    let right = weight(past);
    var along = slope_l.x * (left * t) + slope_r.x * (right * past);
    if even {
        along = along + (0.31 * level(l) * left + 0.31 * level(r) * right);
    }
    return vec2<f32>(along, slope_l.y * left + slope_r.y * right);
}

fn perlin(at: Place, octave: Octave, even: bool) -> f32 {
    let a = perlin_line(at, octave.period.x, line_hash(at.cell.y, octave.seed), even);
    let b = perlin_line(at, octave.period.x, line_hash(after(at.cell.y, octave.period.y), octave.seed), even);
    let v = at.share.y;
    let past = v - 1.0;
    let below = weight(v);
    let above = weight(past);
    return (a.x * below + a.y * (below * v)) + (b.x * above + b.y * (above * past));
}

// Side and height of a triangle when a point reaches the root of one half.
const SIDE: f32 = 0.8164966;
const HIGH: f32 = 0.70710677;
const REACH_SQUARED: f32 = 0.5;

fn simplex_part(reach: f32, dy: f32, dx: f32, word: u32, even: bool) -> f32 {
    let dir = slope(word);
    var along = dir.x * dx;
    if even {
        along = along + 0.2 * level(word);
    }
    let left = max(reach - dx * dx, 0.0);
    let square = left * left;
    return select(square * square, square * left, even) * (along + dir.y * dy);
}

// What the two points of a line next to a place count, `dy` above the line.
fn simplex_line(at: Place, period: u32, line: u32, seed: u32, dy: f32, even: bool) -> f32 {
    let hash = line_hash(line, seed);
    // Points of odd lines lie half a cell further right.
    let shifted = at.share.x - 0.5 * f32(line & 1u);
    let before_first = shifted < 0.0;
    let t = shifted + select(0.0, 1.0, before_first);
    let stepped = at.cell.x - select(0u, 1u, before_first);
    let left = select(stepped, period - 1u, stepped == 0xffffffffu);
    let right = after(left, period);
    let reach = REACH_SQUARED - dy * dy;
    return simplex_part(reach, dy, t * SIDE, bits(left, hash), even)
        + simplex_part(reach, dy, (t - 1.0) * SIDE, bits(right, hash), even);
}

fn simplex(at: Place, octave: Octave, even: bool) -> f32 {
    let above = after(at.cell.y, octave.period.y);
    return simplex_line(at, octave.period.x, at.cell.y, octave.seed, at.share.y * HIGH, even)
        + simplex_line(at, octave.period.x, above, octave.seed, (at.share.y - 1.0) * HIGH, even);
}

// Points stay this far inside their cell.
const INSET: f32 = 0.1;

fn inside_cell(word: u32) -> f32 {
    return INSET + (1.0 - 2.0 * INSET) / 65536.0 * f32(word);
}

fn worley(at: Place, octave: Octave, counts: vec2<f32>) -> f32 {
    // No further than what cannot be seen from here: beyond it the distance would jump at cell borders.
    var first = (1.0 + INSET) * (1.0 + INSET);
    var second = first;
    var line = previous(at.cell.y, octave.period.y);
    for (var i = 0; i < 3; i++) {
        let hash = line_hash(line, octave.seed);
        var cell = previous(at.cell.x, octave.period.x);
        for (var k = 0; k < 3; k++) {
            let word = bits(cell, hash);
            let dx = (inside_cell(word >> 16u) + f32(k - 1)) - at.share.x;
            let dy = inside_cell(word & 0xffffu) + f32(i - 1) - at.share.y;
            let squared = dx * dx + dy * dy;
            second = min(second, max(first, squared));
            first = min(first, squared);
            cell = after(cell, octave.period.x);
        }
        line = after(line, octave.period.y);
    }
    return counts.x * sqrt(first) + counts.y * sqrt(second);
}
