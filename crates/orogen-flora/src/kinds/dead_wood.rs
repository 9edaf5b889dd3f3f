//! Dead wood: trunks that lie, stumps and snags, each from a tree of its own.

use std::f64::consts::TAU;

use orogen_core::{Seed, math};

use super::between;
use crate::catalog;
use crate::frame::{Vec3, add, cross, dot, scaled, unit};
use crate::grow::{GrowError, grow};
use crate::growth::Growth;
use crate::skeleton::{Node, Skeleton, Stem};
use crate::species::{DeadWood, Species, SpeciesError};

/// A piece of a dead tree.
pub(crate) fn lie(species: &Species, wood: &DeadWood, seed: Seed) -> Result<Skeleton, GrowError> {
    let seed = seed.child("dead wood");
    let name = &wood.of[(seed.child("tree").bits(0) % wood.of.len() as u64) as usize];
    let unknown = || SpeciesError::Value {
        name: String::from("dead_wood.of"),
        value: format!("{name:?}"),
        allowed: String::from("it must name trees that come with the program"),
    };
    let mut tree = catalog::species(name).ok_or_else(unknown)??;
    // What is dead comes from what has lived.
    if tree.dead_wood.is_some() || tree.stone.is_some() || tree.climb.is_some() {
        return Err(unknown().into());
    }
    tree = tree.at(&Growth::DEAD)?;
    tree.levels.truncate(2);
    tree.flowers.share = 0.0;
    tree.prune.ratio = 0.0;
    let tree = grow(&tree, seed)?;
    let mut piece = Piece { seed, tree, out: Skeleton::default() };
    let drawn = seed.child("form").unit(0) * (wood.logs + wood.stumps + wood.snags);
    if drawn < wood.logs {
        piece.log(wood);
    } else if drawn < wood.logs + wood.stumps {
        piece.stump(wood);
    } else {
        piece.snag(species);
    }
    piece.out.scale_m = piece.out.nodes.iter().map(|n| f64::from(n.at[2])).fold(0.1, f64::max);
    Ok(piece.out)
}

struct Piece {
    seed: Seed,
    tree: Skeleton,
    out: Skeleton,
}

/// A place along a trunk, with its radius.
type Place = (Vec3, f64);

impl Piece {
    /// Places along the trunk, from a share of its length to another.
    fn trunk(&self, [from, to]: [f64; 2]) -> Vec<Place> {
        let nodes = self.tree.nodes_of(&self.tree.stems[0]);
        let last = f64::from(nodes[nodes.len() - 1].from_foot_m);
        let steps = 16;
        (0..=steps)
            .map(|step| {
                let at = last * (from + (to - from) * f64::from(step) / f64::from(steps));
                let k = nodes.partition_point(|n| f64::from(n.from_foot_m) <= at).clamp(1, nodes.len() - 1);
                let [a, b] = [&nodes[k - 1], &nodes[k]];
                let span = f64::from(b.from_foot_m - a.from_foot_m).max(1e-9);
                let share = ((at - f64::from(a.from_foot_m)) / span).clamp(0.0, 1.0);
                let mix = |p: f32, q: f32| f64::from(p) + (f64::from(q) - f64::from(p)) * share;
                ([0, 1, 2].map(|axis| mix(a.at[axis], b.at[axis])), mix(a.radius_m, b.radius_m))
            })
            .collect()
    }

    /// A trunk that lies on the ground, with stubs of its branches.
    fn log(&mut self, wood: &DeadWood) {
        let radius = between(self.seed, "radius", wood.radius_m);
        // Thick ones are long.
        let thick = (radius - wood.radius_m[0]) / (wood.radius_m[1] - wood.radius_m[0]).max(1e-9);
        let share = (0.5 * thick + 0.5 * self.seed.child("length").unit(0)).clamp(0.0, 1.0);
        let length = wood.log_m[0] + (wood.log_m[1] - wood.log_m[0]) * share;
        let has_foot = self.seed.child("foot").unit(0) < 0.4;
        let from = if has_foot { 0.0 } else { between(self.seed, "from", [0.08, 0.3]) };
        let places = self.trunk([from, (from + 0.5).min(0.9)]);
        let (middle, foot) = (places[places.len() / 2].1, places[0].0);
        let end = places[places.len() - 1].0;
        let chord = [0, 1, 2].map(|k| end[k] - foot[k]);
        let along = unit(chord);
        let span = dot(chord, chord).sqrt();
        let aside = unit(cross(along, if along[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] }));
        let other = cross(along, aside);
        let heading = TAU * self.seed.child("heading").unit(0);
        let ahead = [math::cos(heading), math::sin(heading), 0.0];
        let left = [-ahead[1], ahead[0], 0.0];
        let thicken = radius / middle.max(1e-4);
        let lengthen = length / span.max(1e-4);
        let sunk = between(self.seed, "sunk", [0.08, 0.25]);
        let laid: Vec<Place> = places
            .iter()
            .map(|&(at, r)| {
                let from_foot = [0, 1, 2].map(|k| at[k] - foot[k]);
                // The flare of the foot is less than on a tree that stands, so that the trunk rests on its length.
                let r = (r * thicken).min(1.5 * radius);
                let x = dot(from_foot, along) * lengthen - 0.5 * length;
                let y = dot(from_foot, aside) * thicken;
                let z = 0.3 * dot(from_foot, other) * thicken + r - 2.0 * sunk * radius;
                (add(add(scaled(ahead, x), scaled(left, y)), [0.0, 0.0, z]), r)
            })
            .collect();
        let broken =
            [!has_foot && self.seed.child("break").unit(0) < 0.6, self.seed.child("break").unit(1) < 0.8];
        let stem = self.stem(&laid, broken, 0, None, 0.0);
        let stubs = 2 + (5.0 * self.seed.child("stubs").unit(0)) as u32;
        for k in 0..stubs {
            let seed = Seed(self.seed.child("stub").bits(u64::from(k)));
            let (at, r) = laid[2 + (seed.bits(1) % (laid.len() as u64 - 4)) as usize];
            let turn = std::f64::consts::PI * between(seed, "turn", [-0.05, 1.05]);
            let out = add(scaled(left, math::cos(turn)), [0.0, 0.0, math::sin(turn)]);
            let way = unit(add(out, scaled(ahead, between(seed, "lean", [0.4, 1.6]))));
            // Most broke off short when the trunk fell.
            let long = radius * (0.6 + 3.0 * seed.child("length").unit(0) * seed.child("length").unit(1));
            self.stub(at, way, [r, r * between(seed, "radius", [0.16, 0.4]), long], stem);
        }
    }

    /// The foot of a trunk, with its roots.
    fn stump(&mut self, wood: &DeadWood) {
        let radius = between(self.seed, "radius", [1.2 * wood.radius_m[0], 1.4 * wood.radius_m[1]]);
        let places = self.trunk([0.0, 0.12]);
        let thicken = radius / places[places.len() - 1].1.max(1e-4);
        let height = radius * between(self.seed, "height", [0.6, 1.5]);
        let top = places[places.len() - 1].0[2].max(1e-4);
        let laid: Vec<Place> = places
            .iter()
            .map(|&(at, r)| {
                let z = at[2] / top;
                let flare = 1.0 + 0.55 * (1.0 - z) * (1.0 - z) * (1.0 - z);
                ([at[0] * thicken, at[1] * thicken, z * height], (r * thicken).min(1.25 * radius) * flare)
            })
            .collect();
        let broken = self.seed.child("break").unit(0) < 0.5;
        let stem = self.stem(&laid, [false, broken], 0, None, 0.0);
        let roots = 4 + (3.0 * self.seed.child("roots").unit(0)) as u32;
        for k in 0..roots {
            let seed = Seed(self.seed.child("root").bits(u64::from(k)));
            let turn = TAU * (f64::from(k) + 0.6 * seed.unit(0)) / f64::from(roots);
            let out = [math::cos(turn), math::sin(turn), 0.0];
            let long = radius * between(seed, "length", [1.6, 3.2]);
            let thick = radius * between(seed, "radius", [0.28, 0.45]);
            let line: Vec<Place> = (0..=6)
                .map(|k| {
                    let share = f64::from(k) / 6.0;
                    let bend = 0.25 * long * share * share * (seed.unit(3) - 0.5);
                    let side = [-out[1] * bend, out[0] * bend, 0.0];
                    let far = 0.55 * radius + long * share;
                    let z = 0.42 * radius * (1.0 - share) * (1.0 - share) - 0.02 * share;
                    (add(add(scaled(out, far), side), [0.0, 0.0, z]), thick * (1.0 - 0.85 * share))
                })
                .collect();
            self.stem(&line, [false, false], 1, Some(stem), 0.1 * height);
        }
    }

    /// A trunk that still stands, with stubs of its branches, and no top.
    fn snag(&mut self, species: &Species) {
        let part = between(self.seed, "part", [0.35, 0.7]);
        let places = self.trunk([0.0, part]);
        let top = places[places.len() - 1].0[2].max(1e-3);
        let height =
            species.height_m + species.height_vary_m * (2.0 * self.seed.child("height").unit(0) - 1.0);
        let grown = height / top;
        let laid: Vec<Place> =
            places.iter().map(|&(at, r)| (at.map(|v| v * grown), r * grown.clamp(0.5, 1.5))).collect();
        let stem = self.stem(&laid, [false, true], 0, None, 0.0);
        let stubs = 7 + (9.0 * self.seed.child("stubs").unit(0)) as u32;
        for k in 0..stubs {
            let seed = Seed(self.seed.child("stub").bits(u64::from(k)));
            let share = between(seed, "at", [0.3, 0.97]);
            let (at, r) = laid[(share * (laid.len() - 1) as f64) as usize];
            let turn = 2.4 * f64::from(k) + seed.unit(5);
            let out = [math::cos(turn), math::sin(turn), 0.0];
            let way = unit(add(out, [0.0, 0.0, between(seed, "rise", [-0.1, 0.8])]));
            let long = between(seed, "length", [0.25, 1.0]) * (0.06 + 0.1 * (1.0 - share)) * height;
            self.stub(at, way, [r, r * between(seed, "radius", [0.2, 0.45]), long], stem);
        }
    }

    /// What is left of a branch.
    fn stub(&mut self, at: Vec3, way: Vec3, [within, radius, long]: [f64; 3], parent: u32) {
        let seed = Seed(self.seed.child("bend").bits(self.out.stems.len() as u64));
        let bend = scaled(unit([seed.unit(0) - 0.5, seed.unit(1) - 0.5, 0.3 * seed.unit(2)]), 0.25 * long);
        let line: Vec<Place> = (0..=4)
            .map(|k| {
                let share = f64::from(k) / 4.0;
                let far = 0.5 * within + long * share;
                let place = add(add(at, scaled(way, far)), scaled(bend, share * share));
                (place, radius * (1.0 - 0.45 * share))
            })
            .collect();
        // One that would go into the ground broke when the trunk fell.
        if line.iter().all(|(at, _)| at[2] > 0.0) {
            self.stem(&line, [false, true], 1, Some(parent), 0.0);
        }
    }

    /// Adds a stem through places; its ends are broken, with splinters, or flat.
    fn stem(
        &mut self,
        places: &[Place],
        broken: [bool; 2],
        level: u8,
        parent: Option<u32>,
        offset: f64,
    ) -> u32 {
        let mut line = Vec::new();
        let tip = |end: Place, before: Place, what: &str| -> Vec<Place> {
            let way = unit([0, 1, 2].map(|k| end.0[k] - before.0[k]));
            let seed = Seed(self.seed.child(what).bits(self.out.stems.len() as u64));
            // It tears: a shoulder, then a splinter that stands off the middle.
            [(0.25, 0.86), (0.55, 0.62), (1.0, 0.36), (1.7, 0.1)]
                .iter()
                .enumerate()
                .map(|(k, (far, wide))| {
                    let off = |axis: u64| 0.35 * (1.0 - wide) * end.1 * (2.0 * seed.unit(axis) - 1.0);
                    let far = far * end.1 * (0.7 + 0.6 * seed.unit(7 + k as u64));
                    (add(add(end.0, scaled(way, far)), [off(0), off(1), off(2)]), wide * end.1)
                })
                .collect()
        };
        let last = places.len() - 1;
        if broken[0] {
            line.extend(tip(places[0], places[1], "tear foot").into_iter().rev());
        }
        line.extend_from_slice(places);
        if broken[1] {
            line.extend(tip(places[last], places[last - 1], "tear end"));
        }
        let number = self.out.stems.len() as u32;
        let first = self.out.nodes.len() as u32;
        let mut from_foot = 0.0;
        for (k, &(at, radius)) in line.iter().enumerate() {
            let [before, after] = [line[k.saturating_sub(1)].0, line[(k + 1).min(line.len() - 1)].0];
            if k > 0 {
                let d = [0, 1, 2].map(|axis| at[axis] - before[axis]);
                from_foot += dot(d, d).sqrt();
            }
            self.out.nodes.push(Node {
                at: at.map(|v| v as f32),
                along: unit([0, 1, 2].map(|axis| after[axis] - before[axis])).map(|v| v as f32),
                radius_m: radius.max(0.0) as f32,
                from_foot_m: from_foot as f32,
            });
        }
        self.out.stems.push(Stem {
            level,
            parent,
            is_clone: false,
            length_m: from_foot as f32,
            radius_m: line[0].1 as f32,
            offset_m: offset as f32,
            first,
            count: line.len() as u32,
        });
        number
    }
}
