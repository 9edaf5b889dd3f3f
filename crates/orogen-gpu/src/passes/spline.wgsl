// How far a smooth line is, and what it carries there: the twin of shape/features/spline.rs.
//
// A line comes as the arcs that a tile meets, in their order; those next to a place are the same in every tile.

// Pairs an arc has.
const ARC: u32 = 11u;
const FAR: f32 = 1e30;

struct Arc {
    // From the start of the arc to the place.
    way: vec2<f32>,
    along: vec2<f32>,
    length: f32,
}

fn arc_at(first: u32, x: vec2<f32>, y: vec2<f32>) -> Arc {
    let way = vec2<f32>(difference(x, pair(first)), difference(y, pair(first + 1u)));
    return Arc(way, pair(first + 2u), pair(first + 3u).x);
}

// Squared distance to the chord.
fn to_chord(arc: Arc) -> f32 {
    let foot = clamp(dot(arc.way, arc.along), 0.0, arc.length);
    let rest = arc.way - foot * arc.along;
    return dot(rest, rest);
}

// Squared distance of the nearest place of an arc, and where on it that is.
fn nearest_of(first: u32, arc: Arc) -> vec2<f32> {
    let c1 = pair(first + 4u);
    let c2 = pair(first + 5u);
    let c3 = pair(first + 6u);
    let start = -arc.way;
    let end = c1 + c2 + c3 - arc.way;
    var best = vec2<f32>(dot(start, start), 0.0);
    if dot(end, end) < best.x {
        best = vec2<f32>(dot(end, end), 1.0);
    }
    // Where the curve turns back on the spot it has no direction; its chord has one.
    let least = 1e-6 * arc.length * arc.length;
    let slope_end = c1 + 2.0 * c2 + 3.0 * c3;
    let off = select(arc.along, c1, dot(c1, c1) > least);
    let on = select(arc.along, slope_end, dot(slope_end, slope_end) > least);
    if dot(start, off) < 0.0 && dot(end, on) > 0.0 {
        var t = clamp(dot(arc.way, arc.along) / max(arc.length, 1e-30), 0.0, 1.0);
        var low = 0.0;
        var high = 1.0;
        for (var i = 0; i < 40; i++) {
            let r = t * (c1 + t * (c2 + t * c3)) - arc.way;
            let v = c1 + t * (2.0 * c2 + t * 3.0 * c3);
            let f = dot(r, v);
            if f < 0.0 {
                low = t;
            } else {
                high = t;
            }
            let steep = dot(v, v) + dot(r, 2.0 * c2 + t * 6.0 * c3);
            var next = t - f / steep;
            if !(next > low && next < high) {
                next = 0.5 * (low + high);
            }
            let step = abs(next - t);
            t = next;
            if step < 1e-7 {
                break;
            }
        }
        let r = t * (c1 + t * (c2 + t * c3)) - arc.way;
        if dot(r, r) < best.x {
            best = vec2<f32>(dot(r, r), t);
        }
    }
    return best;
}

// What an excess of one more branch takes from the squared distance.
fn crease(kappa2: f32, left: f32, reach2: f32) -> f32 {
    let share = left / (3.0 / 7.0 * reach2);
    if share >= 1.0 {
        return 4.0 / 23.0 * kappa2;
    }
    let share2 = share * share;
    return (0.25 - 7.0 / 92.0 * share2 * share2) * kappa2;
}

fn area_under(y: f32, b: f32) -> f32 {
    return y * (b * b - y * y * (2.0 / 3.0 * b - 0.2 * y * y));
}

fn lever_under(y: f32, b: f32) -> f32 {
    let c = b - y * y;
    return -c * c * c / 6.0;
}

fn carried(first: u32, foot: f32) -> vec4<f32> {
    let values = vec4<f32>(pair(first + 7u), pair(first + 8u));
    return values + foot * vec4<f32>(pair(first + 9u), pair(first + 10u));
}

struct Mean {
    sums: vec4<f32>,
    weight: f32,
}

// What an arc counts in the mean over all of the line that is nearly as near as the nearest place.
fn mean_over(first: u32, arc: Arc, chord2: f32, kappa2: f32) -> Mean {
    let foot = dot(arc.way, arc.along);
    // The square of what is left across would lose all digits far along.
    let across = arc.way.x * arc.along.y - arc.way.y * arc.along.x;
    let b = 1.0 - (across * across - chord2) / kappa2;
    if b <= 0.0 {
        return Mean(vec4<f32>(0.0), 0.0);
    }
    let kappa = sqrt(kappa2);
    let half = kappa * sqrt(b);
    let low = max(-foot, -half) / kappa;
    let high = min(arc.length - foot, half) / kappa;
    if high <= low {
        return Mean(vec4<f32>(0.0), 0.0);
    }
    let weight = area_under(high, b) - area_under(low, b);
    let turn = (lever_under(high, b) - lever_under(low, b)) * kappa;
    let rise = vec4<f32>(pair(first + 9u), pair(first + 10u));
    return Mean(carried(first, foot) * weight + rise * turn, weight);
}

struct Near {
    // Negative where the line is out of reach.
    distance: f32,
    values: vec4<f32>,
}

// What is near a place: `count` arcs from `arcs` on, and the two beyond the ends of the line behind them.
fn near_line(arcs: u32, count: u32, x: vec2<f32>, y: vec2<f32>, reach: f32, floor_m: f32, bow: f32) -> Near {
    var chord2 = FAR;
    for (var i = 0u; i < count; i++) {
        chord2 = min(chord2, to_chord(arc_at(arcs + ARC * i, x, y)));
    }
    let reach2 = reach * reach;
    let within = (sqrt(chord2) + 2.0 * bow) * 1.000001;
    let none = Near(-1.0, vec4<f32>(0.0));
    if chord2 > (reach + 2.0 * bow) * (reach + 2.0 * bow) {
        return none;
    }
    var near2 = FAR;
    var nearest = vec4<f32>(0.0);
    for (var i = 0u; i < count; i++) {
        let first = arcs + ARC * i;
        let arc = arc_at(first, x, y);
        if to_chord(arc) <= within * within {
            let found = nearest_of(first, arc);
            if found.x < near2 {
                near2 = found.x;
                nearest = carried(first, found.y * arc.length);
            }
        }
    }
    if near2 >= reach2 {
        return none;
    }
    let kappa2 = max(min(max(0.75 * chord2, floor_m * floor_m), reach2 - near2), 1e-12 * reach2);
    var sums = vec4<f32>(0.0);
    var inside = 0.0;
    for (var i = 0u; i < count; i++) {
        let first = arcs + ARC * i;
        let arc = arc_at(first, x, y);
        if to_chord(arc) < chord2 + kappa2 {
            let mean = mean_over(first, arc, chord2, kappa2);
            inside += mean.weight;
            sums += mean.sums;
        }
    }
    var whole = inside;
    for (var i = count; i < count + 2u; i++) {
        let first = arcs + ARC * i;
        let mean = mean_over(first, arc_at(first, x, y), chord2, kappa2);
        whole += mean.weight;
        sums += mean.sums;
    }
    var values = nearest;
    if whole > 1e-9 {
        values = sums / whole;
    }
    var excess = max(inside * (15.0 / 16.0) - 1.0, 0.0);
    if excess > 1.0 {
        excess = 2.0 - 1.0 / excess;
    }
    let distance2 = near2 - crease(kappa2, reach2 - near2, reach2) * excess;
    return Near(sqrt(max(distance2, 0.0)), values);
}
