// Features around a point: the twin of shape/features/round.rs, with peaks.rs, flats.rs and sand.rs.

fn wandering(t: f32, noise: f32) -> f32 {
    let by = noise / (1.0 + 0.6 * abs(noise));
    return t * (1.0 + by * max(1.0 - t, 0.0));
}

fn cubic(share: f32) -> f32 {
    let t = clamp(share, 0.0, 1.0);
    return 1.0 - t * t * (3.0 - 2.0 * t);
}

fn level_out(h: f32, level: f32, weight: f32) -> f32 {
    return select(h + weight * (level - h), level, weight >= 1.0);
}

fn below_top(share: f32, noise: f32, spare: f32) -> f32 {
    if noise <= 0.0 {
        return share * (1.0 + noise);
    }
    let more = share * noise;
    let room = 0.6 * (1.0 - share) + spare * share;
    return share + more * room / max(more + room, 1e-30);
}

// How far the top of the pointed cubic is moved away from the middle, how wide it is, and how high it is there.
const MOVED: f32 = 0.35;
const TIP_WIDTH: f32 = 0.75;
const TIP: f32 = 1.0 - (0.35 / 1.35) * (0.35 / 1.35) * (3.0 - 2.0 * (0.35 / 1.35));

fn mountain(t: f32, pointed: f32) -> f32 {
    let tip = cubic((t / TIP_WIDTH + MOVED) / (1.0 + MOVED)) / TIP;
    return (1.0 - pointed) * cubic(t) + pointed * tip;
}

fn flank(t: f32) -> f32 {
    let left = max(1.0 - t, 0.0);
    return left * left * (0.7 + 0.3 * left);
}

// Where the rim of a crater stands, as a share of its radius.
const RIM: f32 = 0.55;

fn crater(t: f32, depth: f32, rim: f32, peak: f32) -> f32 {
    if t >= RIM {
        let out = max(1.0 - (t - RIM) / (1.0 - RIM), 0.0);
        return rim * out * out * out;
    }
    let x = t / RIM;
    let x2 = x * x;
    return (depth + rim) * x2 * (0.35 + 0.65 * x2) - depth + peak * cubic(x / 0.35);
}

// What a peak adds: `first` holds roughness and its fractal, the noise in the middle, and what its kind takes.
fn peak(kind: u32, first: u32, t: f32, part: Part, at: vec2<u32>) -> f32 {
    let rough = number(first);
    let middle = pair(first + 1u);
    let a = pair(first + 2u);
    let b = pair(first + 3u);
    var noise = 0.0;
    if rough.y != 0u {
        noise = fractal(rough.y, part, at);
    }
    let by = bitcast<f32>(rough.x);
    switch kind {
        case 0u: {
            return a.x * below_top(mountain(t, a.y), by * (noise - middle.x * cubic(t)), 0.0);
        }
        case 1u: {
            let height = a.x;
            let inside = min(t / b.x, 1.0);
            let cone = flank(max(t, b.x)) * b.y;
            noise = middle.x + inside * inside * (noise - middle.x);
            let bowl = a.y * (1.0 - inside * inside);
            return height * below_top(cone, by * (noise - middle.x * cubic(t)), 0.03) - bowl;
        }
        default: {
            return (1.0 + by * (noise - middle.x * cubic(t))) * crater(t, a.x, a.y, b.x);
        }
    }
}

// The land at a level, its rim and its shore: level and depth, height of the rim and place of the shore.
fn flat_ground(first: u32, strength: f32, t: f32, h: f32) -> f32 {
    let a = pair(first);
    let b = pair(first + 1u);
    if t <= b.y {
        return level_out(h, a.x - a.y * cubic(t / max(b.y, 1e-30)), strength);
    }
    let out = min((t - b.y) / (1.0 - b.y), 1.0);
    let rim = select(0.0, 16.0 * out * out * (1.0 - 2.0 * out) * (1.0 - 2.0 * out) * 4.0, out < 0.5);
    return level_out(h, a.x + b.x * rim, strength * cubic(out));
}

// Share of a dune that its lee side takes, of the radius up to which dunes have their height, and the noise without and
// with a whole dune.
const LEE: f32 = 0.3;
const FULL: f32 = 0.4;
const BARE: f32 = -0.05;
const WHOLE: f32 = 0.15;

// What dunes add; `along` counts them across the wind, `far` is the distance from the middle.
fn sand(first: u32, t: f32, along: f32, far: f32, part: Part, at: vec2<u32>) -> f32 {
    let a = pair(first);
    let b = pair(first + 1u);
    let waver = number(first + 2u);
    let gaps = number(first + 3u);
    var noise = b.x;
    if waver.x != 0u {
        noise = fractal(waver.x, part, at);
    }
    var breaks = 1.0;
    if gaps.x != 0u {
        breaks = fractal(gaps.x, part, at);
    }
    let place = along + 3.0 * a.y * (noise - b.x);
    let t_along = place - floor(place);
    let leaning = select(0.5 + 0.5 * (t_along - LEE) / (1.0 - LEE), 0.5 * t_along / LEE, t_along < LEE);
    let crest = 1.0 - 4.0 * leaning * (1.0 - leaning);
    breaks = breaks + (1.0 - breaks) * cubic(3.0 * far * b.y);
    let whole = 1.0 - bitcast<f32>(gaps.y) * cubic((breaks - BARE) / (WHOLE - BARE));
    return a.x * crest * whole * cubic((t - FULL) / (1.0 - FULL));
}

// A feature around a point on a height.
fn round_feature(kind: u32, first: u32, at: vec2<u32>, h: f32) -> f32 {
    let part = part_of(first);
    if !is_in(part, at) {
        return h;
    }
    let tables = number(first + 1u);
    let size = pair(first + 2u);
    let wander = pair(first + 3u).x;
    // Metres east and dunes, metres north and dunes.
    let column = pair(tables.x + at.x - part.low.x);
    let row = pair(tables.x + part.size.x + at.y - part.low.y);
    let far = sqrt(column.x * column.x + row.x * row.x);
    let plain = far * size.x;
    if plain >= 1.0 {
        return h;
    }
    var t = plain;
    if tables.y != 0u {
        t = wandering(t, wander * fractal(tables.y, part, at));
    }
    let form = first + 4u;
    if kind < 3u {
        return h + size.y * peak(kind, form, t, part, at);
    }
    if kind == 3u {
        return flat_ground(form, size.y, t, h);
    }
    return h + size.y * sand(form, t, column.y + row.y, far, part, at);
}
