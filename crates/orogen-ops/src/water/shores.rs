//! Standing water on samples of any spacing: levels that were found on the recipe's lattice, shores on the finer ground.

use orogen_core::{Frame, LayerName, OpError, Raster, Terrain};
use rayon::prelude::*;

use crate::drainage::{Bits, neighbours_of};

/// Not under standing water.
pub(super) const DRY: u32 = 0;
/// How far ground may stand on the wrong side of a level between samples, as a share of the cell.
const SLACK: f32 = 0.025;

/// Least depth of water and height of land that count beside a shore, in shares of the slack.
const APART: [f32; 2] = [0.6, 0.3];
/// Share of the samples around that makes a shore.
const BESIDE: f32 = 0.2;
/// Between water and lower dry ground lies a sill at the level of the water, where one counts so little more than the other, as a share of
/// both; it ends at the second.
const SILL: [f32; 2] = [0.3, 0.8];
/// How wide samples count, in cells.
const WIDE: f32 = 1.5;

/// Five samples in a row and what each of them counts.
type Taps = ([usize; 5], [f32; 5]);

/// Waters among the samples of the recipe's lattice around some finer samples of a row.
struct Around {
    /// How many finer samples these are.
    samples: usize,
    /// The waters, the nearest first, and how many there are.
    waters: [u32; 4],
    count: usize,
    /// Where there is nothing but open water: between which heights ground is within its bounds, whatever the weights.
    open: Option<(f32, f32)>,
}

/// Lakes and the sea as the recipe's lattice has them, to be brought to windows of other spacings.
///
/// Water is level: its shore lies where finer ground crosses its level. Interpolation swings around between a steep shore and flat
/// ground, and follows the lattice where the sea is a hand deep, so ground near a shore is kept within
///
/// ```text
/// Σ w lower(d) ≤ h − level ≤ Σ w upper(d)
/// ```
///
/// over 5 × 5 samples of the recipe's lattice that lie `d` above the level, with the weights `w` of a wide quadratic B-spline. Both bounds are
/// positive for dry samples, negative for wet ones, near to `d` for low land and shallow water and far from it for cliffs.
/// So ground between dry samples stays dry, ground between wet ones stays wet, shores bend smoothly, and what lies more
/// than two samples from a lake is never flooded by it. Where land falls off beyond an outlet, or another water lies lower, ground between
/// them is raised to a sill at the level, so that no water stands as a wall.
#[derive(Debug)]
pub(super) struct Shores {
    base: Frame,
    ground: Raster<f32>,
    /// Number of the water at each sample, or [`DRY`].
    labels: Raster<u32>,
    /// Level of each water; that of number 1 comes first.
    levels: Vec<f32>,
    /// Level of a sea that ends every fall of land, of the number [`Shores::sea`].
    sea: Option<u32>,
}

/// The quadratic B-spline.
fn bell(x: f32) -> f32 {
    let x = x.abs();
    if x < 0.5 {
        0.75 - x * x
    } else {
        let rest = (1.5 - x).max(0.0);
        0.5 * rest * rest
    }
}

impl Shores {
    /// No water yet on ground of the recipe's lattice.
    pub fn on(base: Frame, ground: Raster<f32>) -> Self {
        let labels = Raster::filled(ground.cols(), ground.rows(), DRY);
        Self { base, ground, labels, levels: Vec::new(), sea: None }
    }

    /// Adds a sea: samples where `is_sea` holds.
    pub fn with_sea(mut self, level_m: f32, is_sea: impl Fn(usize) -> bool) -> Self {
        self.levels.push(level_m);
        let number = self.levels.len() as u32;
        for (cell, label) in self.labels.as_mut_slice().iter_mut().enumerate() {
            if *label == DRY && is_sea(cell) {
                *label = number;
            }
        }
        self.sea = Some(number);
        self
    }

    /// Adds lakes: water that stands level over neighbouring samples, so deep and of so many samples at least.
    pub fn with_lakes(
        mut self,
        height: &Raster<f32>,
        water: &Raster<f32>,
        least_m: f32,
        least_cells: f64,
    ) -> Self {
        let (cols, rows) = (height.cols(), height.rows());
        let (h, w) = (height.as_slice(), water.as_slice());
        let labels = self.labels.as_slice();
        let mut fresh = Bits::of(h.len(), |cell| w[cell] > 0.0 && labels[cell] == DRY);
        let surface = |cell: usize| f64::from(h[cell]) + f64::from(w[cell]);
        let mut from = 0;
        let mut pool = Vec::new();
        while let Some(start) = fresh.first(from) {
            from = start;
            fresh.remove(start);
            let level = surface(start);
            // Depths and heights were rounded, and so is their sum.
            let slack = 4.0 * f64::from(f32::EPSILON) * (level.abs() + f64::from(w[start]));
            pool.clear();
            pool.push(start);
            let (mut next, mut deepest) = (0, start);
            while next < pool.len() {
                let cell = pool[next];
                next += 1;
                if w[cell] > w[deepest] {
                    deepest = cell;
                }
                for other in neighbours_of(cell, cols, rows) {
                    if fresh.has(other) && (surface(other) - level).abs() <= slack {
                        fresh.remove(other);
                        pool.push(other);
                    }
                }
            }
            let deep = w[deepest] >= least_m * (1.0 - 1e-4);
            if deep && pool.len() as f64 >= least_cells * (1.0 - 1e-9) {
                self.levels.push(h[start] + w[start]);
                let number = self.levels.len() as u32;
                pool.iter().for_each(|&cell| self.labels.as_mut_slice()[cell] = number);
            }
        }
        self
    }

    /// The lake of a sample of the recipe's lattice as its level; none on dry land and at sea.
    pub fn lake_level(&self, cell: usize) -> Option<f32> {
        let number = self.labels.as_slice()[cell];
        (number != DRY && Some(number) != self.sea).then(|| self.levels[number as usize - 1])
    }

    /// Bytes that it keeps in memory.
    pub fn size_bytes(&self) -> usize {
        8 * self.base.len() + size_of_val(self.levels.as_slice())
    }

    /// How many waters there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.levels.len()
    }

    /// Their levels.
    #[cfg(test)]
    pub fn levels(&self) -> &[f32] {
        &self.levels
    }

    /// Holds the ground of a window to its side of the water; gives the level of the water over each sample, negative
    /// infinity where it is dry.
    pub fn flood(&self, frame: &Frame, ground: &mut Raster<f32>) -> Raster<f32> {
        let (levels, held) = self.levels_on(frame, ground);
        *ground = held;
        levels
    }

    /// The level of the water over each sample of a window, and its ground held to its side of it.
    pub fn levels_on(&self, frame: &Frame, ground: &Raster<f32>) -> (Raster<f32>, Raster<f32>) {
        let slack = SLACK * self.base.spacing_m()[0].min(self.base.spacing_m()[1]) as f32;
        let (cols, rows) = (ground.cols(), ground.rows());
        let taps = |at: f64, count: usize| -> Taps {
            let at = at.clamp(0.0, (count - 1) as f64);
            let near = at.round();
            let t = (at - near) as f32;
            let last = count as isize - 1;
            let by = [-2, -1, 0, 1, 2];
            let mut weights = by.map(|by| bell((by as f32 - t) / WIDE));
            let sum: f32 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= sum);
            (by.map(|by| (near as isize + by).clamp(0, last) as usize), weights)
        };
        let across: Vec<Taps> =
            (0..cols).map(|col| taps(self.base.locate(frame.x_m(col), 0.0)[0], self.base.cols())).collect();
        let lines: Vec<Taps> =
            (0..rows).map(|row| taps(self.base.locate(0.0, frame.y_m(row))[1], self.base.rows())).collect();
        let mut levels = Raster::filled(cols, rows, f32::NEG_INFINITY);
        let mut held = ground.clone();
        let both = levels.as_mut_slice().par_chunks_mut(cols).zip(held.as_mut_slice().par_chunks_mut(cols));
        // Finer samples between the same samples of the recipe's lattice see the same waters: they are looked up once.
        let known = || (None, Vec::<Around>::new());
        both.enumerate().with_min_len(8).for_each_init(known, |(of_row, known), (row, (levels, held))| {
            let down = &lines[row];
            if *of_row != Some(down.0) {
                *of_row = Some(down.0);
                known.clear();
                for pair in across.chunk_by(|a, b| a.0 == b.0) {
                    known.push(self.around(slack, &down.0, &pair[0].0, pair.len()));
                }
            }
            let mut first = 0;
            for around in known.iter() {
                for col in first..first + around.samples {
                    (levels[col], held[col]) = self.sample(held[col], around, slack, down, &across[col]);
                }
                first += around.samples;
            }
        });
        (levels, held)
    }

    /// What lies around samples whose taps are these.
    fn around(&self, slack: f32, rows: &[usize; 5], cols: &[usize; 5], samples: usize) -> Around {
        let mut around = Around { samples, waters: [DRY; 4], count: 0, open: None };
        // The water at the nearest sample first.
        for &r in &[2, 1, 3, 0, 4] {
            for &c in &[2, 1, 3, 0, 4] {
                let label = self.labels.row(rows[r])[cols[c]];
                let seen = &around.waters[..around.count];
                if label != DRY && around.count < around.waters.len() && !seen.contains(&label) {
                    around.waters[around.count] = label;
                    around.count += 1;
                }
            }
        }
        let number = around.waters[0];
        let all = || rows.iter().flat_map(|&row| cols.iter().map(move |&col| (row, col)));
        if around.count == 1 && all().all(|(row, col)| self.labels.row(row)[col] == number) {
            let level = self.levels[number as usize - 1];
            let depth = |(row, col): (usize, usize)| level - self.ground.row(row)[col];
            if all().all(|at| depth(at) >= 0.0) {
                let shallowest = all().map(depth).fold(f32::INFINITY, f32::min);
                // With a little to spare, as weights sum to 1 but for rounding.
                around.open = Some((level - 0.99 * (3.0 * shallowest + slack), level - 0.51 * slack));
            }
        }
        around
    }

    /// The level of the water over a sample, and its ground held to its side of it.
    fn sample(&self, mut here: f32, around: &Around, slack: f32, down: &Taps, across: &Taps) -> (f32, f32) {
        let mut wet = f32::NEG_INFINITY;
        if here.is_nan() {
            return (wet, here);
        }
        if let Some((low, high)) = around.open
            && (low..=high).contains(&here)
        {
            return (self.levels[around.waters[0] as usize - 1], here);
        }
        let mut waters = &around.waters[..around.count];
        // The sea is everywhere, as all land ends at its level.
        let sea = self.sea.unwrap_or(DRY);
        if waters.is_empty() && sea != DRY {
            // Ground so high is within its bounds.
            if here > self.levels[sea as usize - 1] + slack {
                return (wet, here);
            }
            waters = std::slice::from_ref(&sea);
        }
        for &number in waters {
            let level = self.levels[number as usize - 1];
            let Bounds { lower, upper, share, sill } = self.bounds(number, level, slack, down, across);
            here = here.min(level + upper).max(level + lower);
            if here < level {
                here = level - (1.0 - sill) * (level - here);
            }
            if share > 0.0 && here <= level && wet == f32::NEG_INFINITY {
                wet = level;
            }
        }
        (wet, here)
    }

    /// What ground at a place is held to beside a water.
    fn bounds(&self, number: u32, level: f32, slack: f32, down: &Taps, across: &Taps) -> Bounds {
        let (mut lower, mut upper, mut share, mut wet, mut dry) = (0.0f32, 0.0f32, 0.0f32, 0.0f32, 0.0f32);
        let each = |f: &mut dyn FnMut(f32, f32, bool)| {
            for (&row, wr) in down.0.iter().zip(down.1) {
                for (&col, wc) in across.0.iter().zip(across.1) {
                    if wr * wc > 0.0 {
                        f(wr * wc, self.ground.row(row)[col] - level, self.labels.row(row)[col] == number);
                    }
                }
            }
        };
        each(&mut |weight, d, own| {
            wet += if own { weight } else { 0.0 };
            dry += if !own && d >= 0.0 { weight } else { 0.0 };
        });
        // Beside a shore, water and land stand apart from the level, so that the shore lies between samples.
        let apart = |least: f32, other: f32| least * slack * (other / BESIDE).min(1.0);
        let (least_wet, least_dry) = (apart(APART[0], dry), apart(APART[1], wet));
        // Where the other side is hardly there, nothing is held.
        let held = |other: f32, free: f32, held: f32| {
            let share = (other / BESIDE).min(1.0);
            free + (held - free) * share * share * (3.0 - 2.0 * share)
        };
        let beyond = |excess: f32| 0.5 * excess + 4.0 * (excess - 2.0 * slack).max(0.0);
        each(&mut |weight, d, own| {
            let (low, high, of) = if own {
                let deep = (-d).max(0.0);
                let e = deep.max(least_wet).min(slack);
                let low = -e - beyond((deep - e).max(0.0));
                (held(dry, low.min(-3.0 * deep - slack), low), -0.5 * e, 1.0)
            } else if d < 0.0 {
                // Below the level, but dry: down from an outlet, or another water. Anything goes.
                (3.0 * d - slack, slack, -1.0)
            } else if d.is_nan() {
                (f32::NEG_INFINITY, f32::INFINITY, 0.0)
            } else {
                let e = d.max(least_dry).min(slack);
                let high = e + beyond((d - e).max(0.0));
                (0.5 * e, held(wet, high.max(3.0 * d + 10.0 * slack), high), 0.0)
            };
            lower += weight * low;
            upper += weight * high;
            share += weight * of;
        });
        // What is water, and what is dry though it lies below the level, together.
        let both = 2.0 * wet - share;
        let sill = if share.abs() < SILL[1] * both {
            let rest = ((SILL[1] - share.abs() / both) / (SILL[1] - SILL[0])).min(1.0);
            rest * rest * (3.0 - 2.0 * rest)
        } else {
            0.0
        };
        Bounds { lower, upper, share, sill }
    }
}

/// What ground at a place is held to beside a water.
struct Bounds {
    /// How far above the level it lies at least and at most.
    lower: f32,
    upper: f32,
    /// How much of the samples around is that water, less those that are dry though they lie below its level.
    share: f32,
    /// How far ground below the level is raised to it, from 0 to 1.
    sill: f32,
}

/// A window with some of its layers replaced. They belong together with the others, so nothing is dropped.
pub(super) fn replaced(
    window: Terrain,
    layers: impl IntoIterator<Item = (LayerName, Raster<f32>)>,
) -> Result<Terrain, OpError> {
    let (frame, place) = (*window.frame(), window.place());
    let mut parts = window.into_parts();
    parts.layers.extend(layers.into_iter().map(|(name, raster)| (name, raster.into())));
    let mut window = Terrain::from_parts(frame, parts)
        .ok_or_else(|| OpError::Internal(String::from("a window has layers of several shapes")))?;
    window.set_place(place);
    Ok(window)
}

/// Holds a refined whole and refined parts of it against each other, to the bit.
#[cfg(test)]
pub(super) fn fine_window(whole: &Frame, refined: impl Fn(&Frame) -> Terrain) {
    let all = refined(whole);
    for (col, row, cols, rows) in [(0, 0, 40, 33), (97, 61, 120, 90), (201, 3, 17, 250), (350, 350, 51, 51)] {
        let part = whole.window(col, row, cols, rows);
        let alone = refined(&part);
        let cut = all.crop(&part).unwrap();
        for (name, data) in cut.layers() {
            assert!(data.bytes() == alone.layers()[name].bytes(), "{name} of the window at {col}, {row}");
        }
    }
}
