//! Climbers: what winds round a trunk or clings to it, and lianas that hang from branches.

use std::f64::consts::TAU;

use orogen_core::{Seed, math};

use super::{between, wander};
use crate::frame::{Frame, Vec3, add, cross, dot, scaled, unit};
use crate::skeleton::{Node, Skeleton, Stem};
use crate::species::{Climb, Species};

/// The way of a stem, in pieces of one length.
pub(crate) struct Way {
    /// Where pieces begin, and the end: z goes along, y looks at the host.
    pub frames: Vec<Frame>,
    pub piece_m: f64,
    pub radius_m: f64,
    /// How much stands on it, against what the species says.
    pub leafy: f64,
}

/// Pieces of a way are about as long as this, in metres.
const PIECE_M: f64 = 0.15;
/// Most pieces of a way.
const MOST_PIECES: f64 = 600.0;

/// What a climber has without a host: a post that is not part of it.
pub(crate) fn post(climb: &Climb) -> Skeleton {
    let pieces = 24;
    let node = |k: u32| {
        let height = climb.post_m * f64::from(k) / f64::from(pieces);
        Node {
            at: [0.0, 0.0, height as f32],
            along: [0.0, 0.0, 1.0],
            radius_m: climb.post_radius_m as f32,
            from_foot_m: height as f32,
        }
    };
    let stem = Stem {
        level: 0,
        parent: None,
        is_clone: false,
        length_m: climb.post_m as f32,
        radius_m: climb.post_radius_m as f32,
        offset_m: 0.0,
        first: 0,
        count: pieces + 1,
    };
    Skeleton {
        scale_m: climb.post_m,
        stems: vec![stem],
        nodes: (0..=pieces).map(node).collect(),
        ..Skeleton::default()
    }
}

/// The ways of all stems of a climber on a host, until they have more points than `most`.
pub(crate) fn ways(species: &Species, climb: &Climb, seed: Seed, host: &Skeleton, most: usize) -> Vec<Way> {
    let trunks: Vec<&Stem> =
        host.stems.iter().filter(|stem| stem.level == 0 && !stem.is_clone && stem.count > 1).collect();
    let mut ways = Vec::new();
    if trunks.is_empty() {
        return ways;
    }
    let radius_m = |seed: Seed| species.ratio * species.height_m * between(seed, "radius", [0.6, 1.2]);
    for number in 0..species.levels[0].branches {
        let own = Seed(seed.bits(u64::from(number)));
        let trunk = trunks[number as usize % trunks.len()];
        let points = round(climb, own, host.nodes_of(trunk), radius_m(own));
        ways.extend(way(&points, radius_m(own), 1.0));
        if ways.iter().map(|way| way.frames.len()).sum::<usize>() > most {
            return ways;
        }
    }
    let boughs: Vec<&Stem> =
        host.stems.iter().filter(|stem| stem.level == 1 && stem.count > 2 && stem.length_m > 1.0).collect();
    if boughs.is_empty() {
        return ways;
    }
    for number in 0..climb.hanging {
        let own = Seed(seed.child("hanging").bits(u64::from(number)));
        let pick = |what: &str, k: u64| {
            let seed = own.child(what);
            let stem = boughs[(seed.bits(2 * k) % boughs.len() as u64) as usize];
            let nodes = host.nodes_of(stem);
            let at = (0.25 + 0.65 * seed.unit(2 * k + 1)) * (nodes.len() - 1) as f64;
            nodes[at as usize].at.map(f64::from)
        };
        let from = pick("from", 0);
        if from[2] < 1.0 {
            continue;
        }
        let far = |to: Vec3| math::hypot(to[0] - from[0], to[1] - from[1]);
        let to = (0..12)
            .map(|k| pick("to", k))
            .find(|to| (1.0..9.0).contains(&far(*to)) && to[2] > 1.0)
            .filter(|_| own.child("tied").unit(0) < 0.4);
        let points = match to {
            Some(to) => slung(own, from, to),
            None => hung(own, from),
        };
        ways.extend(way(&points, radius_m(own), 0.35));
    }
    ways
}

/// Points of a stem that comes out of the ground near a trunk and winds up it, each with the way out from the host.
fn round(climb: &Climb, seed: Seed, nodes: &[Node], radius_m: f64) -> Vec<[Vec3; 2]> {
    let length = f64::from(nodes[nodes.len() - 1].from_foot_m);
    let reach = (between(seed, "reach", climb.reach) * length).min(0.98 * length);
    let start = TAU * seed.child("start").unit(0);
    let hand = if seed.child("hand").unit(0) < 0.75 { 1.0 } else { -1.0 };
    let stray = climb.stray_deg.to_radians();
    let steps = (reach / PIECE_M).ceil().clamp(4.0, MOST_PIECES);
    let mut points = Vec::new();
    let mut across = [1.0, 0.0, 0.0];
    let mut piece = 0;
    for step in 0..=steps as u32 {
        let at = f64::from(step) / steps * reach;
        while piece + 2 < nodes.len() && f64::from(nodes[piece + 1].from_foot_m) < at {
            piece += 1;
        }
        let [a, b] = [&nodes[piece], &nodes[piece + 1]];
        let span = f64::from(b.from_foot_m - a.from_foot_m).max(1e-9);
        let share = ((at - f64::from(a.from_foot_m)) / span).clamp(0.0, 1.0);
        let mix = |p: f32, q: f32| f64::from(p) + (f64::from(q) - f64::from(p)) * share;
        let middle = [0, 1, 2].map(|k| mix(a.at[k], b.at[k]));
        let along = unit([0, 1, 2].map(|k| f64::from(b.at[k]) - f64::from(a.at[k])));
        across = unit(add(across, scaled(along, -dot(across, along))));
        let turn =
            start + hand * TAU * climb.turns_per_m * at + stray * wander(seed.child("stray"), at / 0.9);
        let out = add(scaled(across, math::cos(turn)), scaled(cross(along, across), math::sin(turn)));
        let gap = mix(a.radius_m, b.radius_m) + 0.8 * radius_m;
        if step == 0 {
            // It roots beside the trunk.
            let far = gap + between(seed, "root", [0.1, 0.5]);
            let root = add(middle, scaled(out, far));
            points.push([[root[0], root[1], 0.0], out]);

            continue;
        }
        points.push([add(middle, scaled(out, gap)), out]);
    }
    points
}

/// Points of a stem that hangs between two places.
fn slung(seed: Seed, from: Vec3, to: Vec3) -> Vec<[Vec3; 2]> {
    let far = math::hypot(math::hypot(to[0] - from[0], to[1] - from[1]), to[2] - from[2]);
    let lowest = from[2].min(to[2]);
    let sag = (far * between(seed, "sag", [0.25, 0.9]) + 0.5).min(0.85 * lowest);
    let out = unit([to[1] - from[1], from[0] - to[0], 0.0]);
    (0..=24)
        .map(|k| {
            let share = f64::from(k) / 24.0;
            let mut at = [0, 1, 2].map(|axis| from[axis] + (to[axis] - from[axis]) * share);
            at[2] -= 4.0 * sag * share * (1.0 - share);
            [at, out]
        })
        .collect()
}

/// Points of a stem that hangs down from a place.
fn hung(seed: Seed, from: Vec3) -> Vec<[Vec3; 2]> {
    let length = from[2] * between(seed, "length", [0.35, 0.95]);
    let turn = TAU * seed.child("out").unit(0);
    let out = [math::cos(turn), math::sin(turn), 0.0];
    let steps = (length / 0.4).ceil().clamp(4.0, 100.0) as u32;
    (0..=steps)
        .map(|k| {
            let down = f64::from(k) / f64::from(steps) * length;
            // Thin ropes hang nearly straight, and curl a little.
            let sway = |what: &str| {
                let seed = seed.child(what);
                0.12 * (wander(seed, down / 1.3) - wander(seed, 0.0))
            };
            [[from[0] + sway("x"), from[1] + sway("y"), from[2] - down], out]
        })
        .collect()
}

/// A way through points, in pieces of one length.
fn way(points: &[[Vec3; 2]], radius_m: f64, leafy: f64) -> Option<Way> {
    let mut reached = vec![0.0];
    for pair in points.windows(2) {
        let d = [0, 1, 2].map(|k| pair[1][0][k] - pair[0][0][k]);
        reached.push(reached[reached.len() - 1] + dot(d, d).sqrt());
    }
    let length = reached[reached.len() - 1];
    if length.is_nan() || length <= 0.05 {
        return None;
    }
    let pieces = (length / PIECE_M).ceil().clamp(2.0, MOST_PIECES) as usize;
    let piece_m = length / pieces as f64;
    let mut part = 0;
    let places: Vec<[Vec3; 2]> = (0..=pieces)
        .map(|piece| {
            let at = piece as f64 * piece_m;
            while part + 2 < points.len() && reached[part + 1] < at {
                part += 1;
            }
            let share =
                ((at - reached[part]) / (reached[part + 1] - reached[part]).max(1e-9)).clamp(0.0, 1.0);
            [0, 1].map(|which| {
                let [a, b] = [points[part][which], points[part + 1][which]];
                [0, 1, 2].map(|k| a[k] + (b[k] - a[k]) * share)
            })
        })
        .collect();
    let frames = (0..=pieces)
        .map(|piece| {
            let [before, after] = [places[piece.saturating_sub(1)][0], places[(piece + 1).min(pieces)][0]];
            let [at, out] = places[piece];
            let z = unit([0, 1, 2].map(|k| after[k] - before[k]));
            let inward = add(scaled(out, -1.0), scaled(z, dot(out, z)));
            let y = if dot(inward, inward) > 1e-6 {
                unit(inward)
            } else {
                unit(cross(z, if z[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] }))
            };
            Frame { at, x: cross(y, z), y, z }
        })
        .collect();
    Some(Way { frames, piece_m, radius_m, leafy })
}
