// Features along a line: the twin of shape/features/trace.rs and lines.rs.

// The bed of the rivers of this run at this place, to be carved when all have made their banks.
var<private> bed: f32 = FAR;

// A height from 0 to 1 as steps with soft edges.
fn ledged(y: f32, ledges: f32) -> f32 {
    if ledges == 0.0 {
        return y;
    }
    let at = y * ledges;
    let step = floor(at);
    let rise = 1.0 - cubic((at - step - 0.2) / 0.6);
    return clamp((0.65 * (step + rise) + 0.35 * at) / ledges, 0.0, 1.0);
}

fn ridge(near: Near, reach: f32, noise: f32, pointed: f32, strength: f32, h: f32) -> f32 {
    let share = near.distance / reach;
    let side = share * max(1.0 - share, 0.0);
    let t = share - 0.4 * noise * side;
    return h + strength * near.values.x * (1.0 + 0.5 * noise * side) * mountain(t, pointed);
}

fn canyon(near: Near, reach: f32, noise: f32, shape: vec2<f32>, strength: f32, h: f32) -> f32 {
    let t = wandering(near.distance / reach, noise);
    let wall = clamp((t - shape.x) / (1.0 - shape.x), 0.0, 1.0);
    return h - strength * near.values.x * ledged(cubic(wall), shape.y);
}

fn river(near: Near, noise: f32, strength: f32, h: f32) -> f32 {
    let half = max(near.values.z, 1e-6);
    let bank = max(near.values.w, 1e-6);
    let out = wandering(clamp((near.distance - half) / bank, 0.0, 1.0), noise);
    let level = near.values.x;
    let land = level_out(h, level, strength * cubic(out));
    if near.distance >= half {
        return land;
    }
    let depth = level - min(near.values.y, level);
    let carved = land - strength * depth * cubic(near.distance / half);
    if strength < 1.0 {
        return carved;
    }
    bed = min(bed, carved);
    return land;
}

// A feature along a line on a height: ridge 5, canyon 6, river 7.
fn line_feature(kind: u32, first: u32, at: vec2<u32>, h: f32) -> f32 {
    let part = part_of(first);
    if !is_in(part, at) {
        return h;
    }
    let tables = number(first + 1u);
    let reach = pair(first + 2u);
    let floors = pair(first + 3u);
    let arcs = number(first + 4u);
    let shape = pair(first + 5u);
    let bow = pair(first + 6u).x;
    let x = pair(tables.x + at.x - part.low.x);
    let y = pair(tables.x + part.size.x + at.y - part.low.y);
    let near = near_line(arcs.x, arcs.y, x, y, reach.x, floors.x, bow);
    if near.distance < 0.0 {
        return h;
    }
    var noise = 0.0;
    if tables.y != 0u {
        noise = floors.y * fractal(tables.y, part, at);
    }
    switch kind {
        case 5u: { return ridge(near, reach.x, noise, shape.x, reach.y, h); }
        case 6u: { return canyon(near, reach.x, noise, shape, reach.y, h); }
        default: { return river(near, noise, reach.y, h); }
    }
}
