//! What stands around the eye, cell by cell.

use std::collections::BTreeMap;

use orogen_core::instances::Instances;
use orogen_core::{Cancel, Raster, Rect, layer, math};
use rayon::prelude::*;

use super::grass;
use super::model::size_of_species;
use super::{Footing, Sight};
use crate::camera::curve_m;
use crate::error::RenderError;
use crate::land::Land;
use crate::overview::Overview;
use crate::vec3::dot;

/// Side of a cell, in metres.
const CELL_M: f64 = 512.0;
/// Plants are drawn up to here; beyond it the cover of the ground is all there is of them.
pub const FAR_M: f64 = 3000.0;
/// The highest that stands, for the bounds of a cell.
const TALLEST_M: f64 = 60.0;
/// Trees up to so high throw shadows from beside the picture into it, up to so far, where they are nearer than the last.
const SHADOW_M: f64 = 25.0;
const MOST_SHADOW_M: f64 = 100.0;
const SHADOWS_M: f64 = 300.0;
/// Cells that are kept though nobody sees them.
const SPARE: usize = 64;

/// A plant that stands somewhere.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// East and north.
    pub at: [f64; 2],
    /// Against the usual size of its species.
    pub scale: f32,
    /// Turn to the left.
    pub yaw: f32,
    /// Where its top leans to.
    pub lean: [f32; 2],
    /// Among the species of [`Cells`].
    pub species: u16,
    /// What differs from plant to plant.
    pub bits: u32,
    pub age: u8,
    pub health: u8,
    /// The share of the ground under crowns around it, and how high those are.
    pub cover: f32,
    pub top_m: f32,
}

/// A species that stands somewhere.
pub struct Kind {
    pub name: String,
    /// What it is where nobody knows it: a tree, a shrub, a herb, litter.
    pub kind: u16,
    /// Height and radius of a grown one.
    pub size_m: [f64; 2],
}

struct Cell {
    plants: Vec<Standing>,
    /// When it was last seen.
    seen: u64,
}

/// Cells by column and row, and the species that stand in them.
#[derive(Default)]
pub struct Cells {
    cells: BTreeMap<[i32; 2], Cell>,
    /// The species.
    pub species: Vec<Kind>,
    /// The cells that the picture shows, nearest first.
    shown: Vec<[i32; 2]>,
    clock: u64,
    /// What stands on the ground around the eye, in pieces.
    undergrowth: Vec<Standing>,
    /// Whether the land knows plants.
    known: bool,
}

/// Plants that are chosen from together: cells of land, and pieces of the undergrowth.
const PIECE: usize = 2048;

impl Cells {
    /// All plants that may be seen, in parts, nearest first, and how far away one may be.
    pub fn shown(&self) -> Vec<(&[Standing], f64)> {
        let cells = self.shown.iter().filter_map(|key| self.cells.get(key));
        let near = self.undergrowth.chunks(PIECE).map(|part| (part, f64::INFINITY));
        near.chain(cells.map(|cell| (cell.plants.as_slice(), FAR_M))).collect()
    }

    /// Finds out what grows on the ground near the eye.
    pub fn grow(&mut self, sight: &Sight<'_>, ground: &dyn Footing) {
        let overview = ground.overview();
        let eye = sight.camera.eye;
        let materials: Vec<String> = overview
            .materials
            .iter()
            .map(|name| name.as_str().strip_prefix("material.").unwrap_or(name.as_str()).to_owned())
            .collect();
        let high = (eye[2] - ground.height_at([eye[0], eye[1]])).max(0.0);
        let spot = |at: [f64; 2]| ground.spot(at);
        let mut number = |name: &str, kind: u16| self.number(name, kind);
        let mut found = grass::around(eye, high, &materials, &spot, &mut number);
        // Pieces are drawn one after another, nearest first.
        found.sort_by(|a, b| {
            let far = |thing: &Standing| math::hypot(thing.at[0] - eye[0], thing.at[1] - eye[1]);
            far(a).total_cmp(&far(b))
        });
        self.undergrowth = found;
    }

    /// Whether the land has said what stands on it.
    pub fn any(&self) -> bool {
        self.known
    }

    /// Finds out what stands in the cells that a picture shows, in all of them or in the nearest; says whether all are known.
    pub fn fill(
        &mut self,
        land: &dyn Land,
        overview: &Overview,
        sight: &Sight<'_>,
        cancel: &Cancel,
    ) -> Result<bool, RenderError> {
        self.clock += 1;
        self.shown = seen(overview, sight);
        let missing: Vec<[i32; 2]> =
            self.shown.iter().copied().filter(|key| !self.cells.contains_key(key)).collect();
        // Few large pieces: what plants depend on reaches beyond their edges, and is worked out for each.
        let mut pieces = pieces(&missing);
        let mut missing = missing;
        let all = sight.whole || pieces.len() < 2;
        if !all {
            let first = missing[0];
            pieces.retain(|piece| holds(piece, &first));
            missing.retain(|cell| pieces.iter().any(|piece| holds(piece, cell)));
        }
        let found: Vec<Option<Instances>> = pieces
            .par_iter()
            .map(|piece| {
                if cancel.is_cancelled() {
                    return Err(RenderError::Cancelled);
                }
                land.plants(piece, cancel)
            })
            .collect::<Result<_, _>>()?;
        let around = |wanted: layer::Layer<f32>| overview.layer(wanted);
        let (cover, top) = (around(layer::CANOPY_COVER), around(layer::CANOPY_HEIGHT));
        let mut made: BTreeMap<[i32; 2], Vec<Standing>> =
            missing.iter().map(|key| (*key, Vec::new())).collect();
        for found in found.iter().flatten() {
            self.known = true;
            let mut numbers: Vec<Option<u16>> = vec![None; found.species().len()];
            for (at, thing) in found.iter() {
                let own = usize::from(thing.species);
                let Some(name) = found.species().get(own) else { continue };
                let Some(plants) = made.get_mut(&at.map(|m| (m / CELL_M).floor() as i32)) else { continue };
                let species = *numbers[own].get_or_insert_with(|| self.number(name, thing.tag));
                let turn = |part: f32| std::f32::consts::TAU * part;
                let sin = math::f32::sin(f32::from(thing.tilt_deg).to_radians());
                let to = turn(f32::from(thing.tilt_to) / 256.0);
                let sample = |raster: Option<&Raster<f32>>| {
                    raster.map_or(0.0, |raster| at_place(raster, overview, at))
                };
                plants.push(Standing {
                    at,
                    scale: f32::from(thing.scale) / 4096.0,
                    yaw: turn(f32::from(thing.yaw) / 65536.0),
                    lean: [sin * math::f32::cos(to), sin * math::f32::sin(to)],
                    species,
                    bits: (thing.id >> 17) as u32,
                    age: thing.age,
                    health: thing.health,
                    cover: sample(cover),
                    top_m: sample(top),
                });
            }
        }
        for (key, mut plants) in made {
            plants.shrink_to_fit();
            self.cells.insert(key, Cell { plants, seen: self.clock });
        }
        for key in &self.shown {
            if let Some(cell) = self.cells.get_mut(key) {
                cell.seen = self.clock;
            }
        }
        self.forget();
        Ok(all)
    }

    fn number(&mut self, name: &str, kind: u16) -> u16 {
        let known = self.species.iter().position(|other| other.name == name);
        known.unwrap_or_else(|| {
            self.species.push(Kind { name: name.to_owned(), kind, size_m: size_of_species(name, kind) });
            self.species.len() - 1
        }) as u16
    }

    /// Drops the cells that were not seen for longest.
    fn forget(&mut self) {
        let mut unseen: Vec<(u64, [i32; 2])> = self
            .cells
            .iter()
            .filter(|(_, cell)| cell.seen < self.clock)
            .map(|(key, cell)| (cell.seen, *key))
            .collect();
        if unseen.len() > SPARE {
            unseen.sort_unstable();
            for (_, key) in &unseen[..unseen.len() - SPARE] {
                self.cells.remove(key);
            }
        }
    }
}

fn at_place(raster: &Raster<f32>, overview: &Overview, [x, y]: [f64; 2]) -> f32 {
    let [col, row] = overview.frame.locate(x, y);
    let inside = |v: f64, most: usize| v.clamp(0.0, (most - 1) as f64);
    let found = raster.bilinear(inside(col, raster.cols()), inside(row, raster.rows()));
    if found.is_finite() { found } else { 0.0 }
}

fn rect([col, row]: [i32; 2]) -> Rect {
    let min = [col, row].map(|v| f64::from(v) * CELL_M);
    Rect { min, max: min.map(|v| v + CELL_M) }
}

fn holds(piece: &Rect, cell: &[i32; 2]) -> bool {
    (0..2).all(|k| (piece.min[k]..piece.max[k]).contains(&((f64::from(cell[k]) + 0.5) * CELL_M)))
}

/// Rectangles that hold all of some cells: as few as there are, but none much larger than what is wanted of it.
fn pieces(cells: &[[i32; 2]]) -> Vec<Rect> {
    /// Cells along a side.
    const MOST: i32 = 6;
    let (Some(low), Some(high)) = (
        cells.iter().copied().reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])]),
        cells.iter().copied().reduce(|a, b| [a[0].max(b[0]), a[1].max(b[1])]),
    ) else {
        return Vec::new();
    };
    let sides = [0, 1].map(|k| high[k] - low[k] + 1);
    let axis = usize::from(sides[1] > sides[0]);
    let area = i64::from(sides[0]) * i64::from(sides[1]);
    if sides[axis] > MOST || area > 2 * cells.len() as i64 {
        let middle = low[axis] + sides[axis] / 2;
        let (one, other): (Vec<_>, Vec<_>) = cells.iter().partition(|cell| cell[axis] < middle);
        return [pieces(&one), pieces(&other)].concat();
    }
    vec![rect(low).union(&rect(high))]
}

/// Cells in view that are near enough, nearest first.
fn seen(overview: &Overview, sight: &Sight<'_>) -> Vec<[i32; 2]> {
    let eye = sight.camera.eye;
    let sides = sight.camera.sides(sight.aspect);
    let extent = overview.frame.extent();
    let first = [0, 1].map(|k| ((eye[k] - FAR_M).max(extent.min[k]) / CELL_M).floor());
    let last = [0, 1].map(|k| ((eye[k] + FAR_M).min(extent.max[k]) / CELL_M).floor());
    if (0..2).any(|k| first[k] > last[k] || first[k].abs() > 1e9 || last[k].abs() > 1e9) {
        return Vec::new();
    }
    // Trees beside the picture throw shadows into it.
    let shadow = sight.near.map_or([0.0; 2], |_| {
        let long = (SHADOW_M / sight.lamp[2].max(0.05))
            .min(MOST_SHADOW_M / math::hypot(sight.lamp[0], sight.lamp[1]).max(1e-6));
        [0, 1].map(|k| -sight.lamp[k] * long)
    });
    let mut found = Vec::new();
    for row in first[1] as i32..=last[1] as i32 {
        for col in first[0] as i32..=last[0] as i32 {
            let rect = rect([col, row]);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for k in 0..25 {
                let part = |axis: usize, k: u32| rect.min[axis] + 0.25 * CELL_M * f64::from(k);
                let height = overview.height_at(part(0, k % 5), part(1, k / 5));
                (low, high) = (low.min(height), high.max(height));
            }
            let slack = 0.1 * (high - low) + 10.0;
            let near = [0, 1].map(|k| (rect.min[k] - eye[k]).max(eye[k] - rect.max[k]).max(0.0));
            let flat = (near[0] * near[0] + near[1] * near[1]).sqrt();
            let aside = if flat < SHADOWS_M { shadow } else { [0.0; 2] };
            let min = [
                rect.min[0] - eye[0] - 10.0 + aside[0].min(0.0),
                rect.min[1] - eye[1] - 10.0 + aside[1].min(0.0),
                low - slack - curve_m(flat + CELL_M) - eye[2],
            ];
            let max = [
                rect.max[0] - eye[0] + 10.0 + aside[0].max(0.0),
                rect.max[1] - eye[1] + 10.0 + aside[1].max(0.0),
                high + slack + TALLEST_M - eye[2],
            ];
            let out = [0, 1, 2].map(|k| min[k].max(-max[k]).max(0.0));
            let distance = dot(out, out).sqrt();
            let is_seen = sides.iter().all(|side| {
                dot(*side, [0, 1, 2].map(|k| if side[k] > 0.0 { max[k] } else { min[k] })) >= 0.0
            });
            if is_seen && distance < FAR_M {
                found.push((distance, [col, row]));
            }
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    found.into_iter().map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_every_cell_once_and_little_else() {
        let cells: Vec<[i32; 2]> = (-9i32..14)
            .flat_map(|row| (-3i32..18).map(move |col| [col, row]))
            .filter(|[c, r]| (c - r).abs() < 7)
            .collect();
        let pieces = pieces(&cells);
        for cell in &cells {
            assert_eq!(pieces.iter().filter(|piece| holds(piece, cell)).count(), 1, "{cell:?}");
        }
        let area: f64 = pieces.iter().map(|piece| piece.size()[0] * piece.size()[1]).sum();
        assert!(area <= 2.0 * cells.len() as f64 * CELL_M * CELL_M && pieces.len() < cells.len() / 4);
    }
}
