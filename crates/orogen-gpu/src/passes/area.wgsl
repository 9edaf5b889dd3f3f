// Features with an outline: the twin of shape/features/area.rs.
//
// An outline comes as the edges that are near a tile; what lies farther west is known by whether a row has crossed it an
// odd number of times.

fn massif(first: u32, share: f32, noise: f32) -> f32 {
    let shape = pair(first);
    let moved_in = share + 0.9 * shape.y * noise * share * (1.0 - share) * share;
    let up = 1.0 - cubic(moved_in);
    return shape.x * below_top(up, 0.8 * shape.y * noise * up, 0.05);
}

// Metres inside the outline, negative outside.
fn inside_outline(edges: u32, count: u32, x: vec2<f32>, y: vec2<f32>, odd: bool) -> f32 {
    var distance2 = FAR;
    var within = odd;
    for (var i = 0u; i < count; i++) {
        let edge = edges + 4u * i;
        let bx = pair(edge + 2u);
        let by = pair(edge + 3u);
        let p = vec2<f32>(difference(x, pair(edge)), difference(y, pair(edge + 1u)));
        let q = vec2<f32>(difference(x, bx), difference(y, by));
        let u = p - q;
        let length2 = dot(u, u);
        let t = clamp(dot(p, u) / max(length2, 1e-30), 0.0, 1.0);
        let off = p - t * u;
        distance2 = min(distance2, dot(off, off));
        // The lower end belongs to an edge and the upper does not; counted from the lower.
        if (p.y >= 0.0) != (q.y >= 0.0) {
            let low = select(q, p, u.y > 0.0);
            within = within != (low.x - low.y / u.y * u.x >= 0.0);
        }
    }
    return select(-sqrt(distance2), sqrt(distance2), within);
}

// A feature with an outline on a height: massif 8, level ground 9, dunes 10.
fn area_feature(kind: u32, first: u32, at: vec2<u32>, h: f32) -> f32 {
    let part = part_of(first);
    if !is_in(part, at) {
        return h;
    }
    let tables = number(first + 1u);
    let edges = number(first + 2u);
    let strength = pair(first + 3u).x;
    let scale = pair(first + 4u);
    let outside = pair(first + 5u).x;
    let form = first + 6u;
    let place = at - part.low;
    let lines = part.size.x + part.size.y;
    let x = pair(tables.x + place.x);
    let y = pair(tables.x + part.size.x + place.y);
    // Dunes and nothing; dunes and whether the row has crossed the outline.
    let column = pair(tables.x + lines + place.x);
    let row = number(tables.x + lines + part.size.x + place.y);
    let inside = inside_outline(edges.x, edges.y, x, y, row.y == 1u);
    switch kind {
        case 8u: {
            let share = min((inside + scale.x) * scale.y, 1.0);
            if share <= 0.0 {
                return h;
            }
            var noise = 0.0;
            if tables.y != 0u {
                noise = fractal(tables.y, part, at);
            }
            return h + strength * massif(form, share, noise);
        }
        case 9u: {
            let t = select(scale.x - inside * outside, max(scale.x - inside * scale.y, 0.0), inside >= 0.0);
            if t >= 1.0 {
                return h;
            }
            return flat_ground(form, strength, t, h);
        }
        default: {
            if inside <= 0.0 {
                return h;
            }
            let t = max(1.0 - inside * scale.y, 0.0);
            let far = length(vec2<f32>(x.x, y.x));
            return h + strength * sand(form, t, column.x + bitcast<f32>(row.x), far, part, at);
        }
    }
}
