//! From shapes to features: outlines, darts by area and multitude, and their final places.

use std::collections::BTreeMap;

use orogen_core::{Ctx, Op, OpError, Raster, Rect, Seed, Terrain, distance, layer, math};

use super::density::{Crowd, Kind, Spot};
use super::drawn::Item;
use super::lattice::{Component, Lattice, area, rings, simplify_ring, soften};
use crate::noise::Noise;
use crate::shape::features::{Feature, Features, Hill, Massif, Mountain, Ridge, RidgePoint};

/// A shape on a part of the lattice, which may reach beyond it.
pub(super) struct Patch {
    /// Column and row of its first cell on the lattice.
    corner: [isize; 2],
    cols: usize,
    /// Cells inside the outline, negative outside: the exact distance to the nearest cell of the other side, less half
    /// a cell.
    pub field: Vec<f32>,
    /// Whether the field is exact to a part of a cell, so that its outline needs no smoothing.
    fine: bool,
}

/// Middle, radius of a circle of the same area, and rings in radii around the middle.
type Outline = ([f64; 2], f64, Vec<Vec<[f64; 2]>>);

/// Fractal noise, within -1 to 1, of waves in metres.
pub(super) fn fractal(seed: Seed, [x, y]: [f64; 2], wave_m: f64) -> f64 {
    let octave = |k: u32| {
        let by = f64::from(1u32 << k) / wave_m;
        f64::from(Noise::new(Seed(seed.bits(u64::from(k)))).at(x * by, y * by)) / f64::from(1u32 << k)
    };
    (octave(0) + octave(1) + octave(2) + octave(3)) / 1.875
}

impl Patch {
    /// Fits a window round cells, with a margin in cells.
    fn window_of(cells: &[usize], lattice: &Lattice, margin: isize) -> ([isize; 2], [usize; 2]) {
        let (mut min, mut max) = ([isize::MAX; 2], [isize::MIN; 2]);
        for cell in cells {
            let at = [(cell % lattice.cols()) as isize, (cell / lattice.cols()) as isize];
            for k in 0..2 {
                min[k] = min[k].min(at[k]);
                max[k] = max[k].max(at[k]);
            }
        }
        let size = [0, 1].map(|k| (max[k] - min[k] + 1 + 2 * margin) as usize);
        (min.map(|v| v - margin), size)
    }

    fn of_inside(corner: [isize; 2], cols: usize, inside: &[bool]) -> Self {
        let outside: Vec<bool> = inside.iter().map(|v| !v).collect();
        let (within, without) = (distance::to_nearest(&outside, cols), distance::to_nearest(inside, cols));
        let most = inside.len() as f32;
        let field = (within.iter().zip(&without).zip(inside))
            .map(|((a, b), inside)| if *inside { (a - 0.5).min(most) } else { (0.5 - b).max(-most) })
            .collect();
        Self { corner, cols, field, fine: false }
    }

    /// A drawn shape. What is drawn up to the border goes on beyond it. `cover` says how much of a cell is drawn, from 0 to
    /// 1, where that is known: the outline passes between cells by that. Below full fidelity the outline wanders.
    pub fn drawn(
        component: &Component,
        lattice: &Lattice,
        fidelity: f64,
        seed: Seed,
        cover: impl Fn(usize) -> Option<f32>,
    ) -> Self {
        let deep = (component.cells.len() as f64).sqrt();
        let margin = (4.0 + 0.5 * deep).min(48.0) as isize;
        let (corner, [cols, rows]) = Self::window_of(&component.cells, lattice, margin);
        let mut drawn = vec![false; lattice.len()];
        component.cells.iter().for_each(|cell| drawn[*cell] = true);
        let inside: Vec<bool> = (0..cols * rows)
            .map(|i| {
                let col = (corner[0] + (i % cols) as isize).clamp(0, lattice.cols() as isize - 1);
                let row = (corner[1] + (i / cols) as isize).clamp(0, lattice.rows() as isize - 1);
                drawn[row as usize * lattice.cols() + col as usize]
            })
            .collect();
        let mut patch = Self::of_inside(corner, cols, &inside);
        if fidelity >= 1.0 {
            patch.refine(&inside, |i| patch_cell(&corner, cols, i, lattice).and_then(&cover));
            return patch;
        }
        let deepest = patch.deepest();
        let (by, wave_m) =
            ((1.0 - fidelity) * 3.2 * f64::from(deepest), 2.5 * f64::from(deepest.max(4.0)) * lattice.cell);
        let wandering = patch.wandering(lattice, seed, by as f32, wave_m);
        // A wandering outline never loses the shape altogether.
        if wandering.iter().any(|v| *v) { Self::of_inside(corner, cols, &wandering) } else { patch }
    }

    /// Moves the outline between cells by how much of each is drawn, from 0 to 1.
    fn refine(&mut self, inside: &[bool], cover: impl Fn(usize) -> Option<f32>) {
        let beside: Vec<usize> =
            (0..self.field.len()).filter(|i| (0.0..1.6).contains(&self.field[*i].abs())).collect();
        let known: BTreeMap<usize, f32> = beside.iter().filter_map(|i| Some((*i, cover(*i)?))).collect();
        // The edge passes through cells that are drawn in part.
        let part = |i: usize| known.get(&i).filter(|c| **c > 0.0 && **c < 1.0).map(|c| c - 0.5);
        for i in &beside {
            let way = if inside[*i] { 1.0 } else { -1.0 };
            let off = match (part(*i), known.get(i)) {
                (Some(off), _) => way * off,
                (None, None) => continue,
                // Wholly inside or outside: as far from the edge as from the nearest cell it passes through, and it there.
                (None, Some(_)) => {
                    let mut least = f32::INFINITY;
                    for (dc, dr) in [(0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)] {
                        let Some(j) = i.checked_add_signed(dr * self.cols as isize + dc) else { continue };
                        let far = if dc != 0 && dr != 0 { std::f32::consts::SQRT_2 } else { 1.0 };
                        match (part(j), known.get(&j), inside.get(j)) {
                            (Some(off), ..) => least = least.min(far + way * off),
                            (None, Some(_), Some(other)) if *other != inside[*i] => {
                                least = least.min(0.5 * far)
                            }
                            _ => {}
                        }
                    }
                    if least.is_infinite() { continue } else { least }
                }
            };
            self.field[*i] = way * off.max(0.02);
        }
        self.fine = true;
    }

    /// A shape of its own making: an ellipse whose outline wanders.
    pub fn ellipse(at: [f64; 2], radii: [f64; 2], turn: f64, lattice: &Lattice, seed: Seed) -> Self {
        let [col, row] = lattice.frame.locate(at[0], at[1]).map(f64::round);
        let reach = (1.5 * radii[0].max(radii[1]) / lattice.cell).ceil() + 3.0;
        let corner = [(col - reach) as isize, (row - reach) as isize];
        let cols = 2 * reach as usize + 1;
        let (c, s) = (math::cos(turn), math::sin(turn));
        let mut patch = Self { corner, cols, field: vec![0.0; cols * cols], fine: false };
        let inside: Vec<bool> = (0..cols * cols)
            .map(|i| {
                let p = patch.place(i, lattice);
                let d = [p[0] - at[0], p[1] - at[1]];
                let (u, v) = ((d[0] * c + d[1] * s) / radii[0], (d[1] * c - d[0] * s) / radii[1]);
                math::hypot(u, v) < 1.0 + 0.75 * fractal(seed, p, 1.6 * radii[0].min(radii[1]))
            })
            .collect();
        patch = Self::of_inside(corner, cols, &inside);
        patch
    }

    fn wandering(&self, lattice: &Lattice, seed: Seed, by: f32, wave_m: f64) -> Vec<bool> {
        let value =
            |(i, v): (usize, &f32)| v + by * fractal(seed, self.place(i, lattice), wave_m) as f32 > 0.0;
        self.field.iter().enumerate().map(value).collect()
    }

    /// Where a cell of the patch lies.
    pub fn place(&self, i: usize, lattice: &Lattice) -> [f64; 2] {
        let (col, row) =
            (self.corner[0] + (i % self.cols) as isize, self.corner[1] + (i / self.cols) as isize);
        let north = lattice.frame.y_m(0);
        [lattice.frame.x_m(0) + col as f64 * lattice.cell, north - row as f64 * lattice.cell]
    }

    /// The cell of the lattice that a cell of the patch is, if it is one.
    pub fn cell(&self, i: usize, lattice: &Lattice) -> Option<usize> {
        patch_cell(&self.corner, self.cols, i, lattice)
    }

    /// Greatest distance to the outline, in cells.
    pub fn deepest(&self) -> f32 {
        self.field.iter().fold(0.5, |a, b| a.max(*b))
    }

    /// Cells on the lattice that are inside.
    pub fn cells<'a>(&'a self, lattice: &'a Lattice) -> impl Iterator<Item = usize> + 'a {
        (0..self.field.len()).filter(|i| self.field[*i] > 0.0).filter_map(|i| self.cell(i, lattice))
    }

    /// Every so many cells a place inside.
    pub fn spread(&self, step: usize, lattice: &Lattice) -> impl Iterator<Item = [f64; 2]> + '_ {
        let lattice = *lattice;
        let on_step =
            move |i: &usize| (i % self.cols).is_multiple_of(step) && (i / self.cols).is_multiple_of(step);
        let inside = (0..self.field.len()).filter(on_step).filter(|i| self.field[*i] > 0.0);
        inside.map(move |i| self.place(i, &lattice))
    }

    /// Middle, radius of a circle of the same area, and the outline in radii around the middle.
    pub fn outline(&self, lattice: &Lattice) -> Option<Outline> {
        let mut found = rings(&self.field, self.cols);
        let largest = found.iter().map(|ring| area(ring).abs()).fold(0.0, f64::max);
        // Specks left over where an outline wanders.
        found.retain(|ring| area(ring).abs() >= 0.002 * largest);
        found.sort_by(|a, b| area(b).abs().total_cmp(&area(a).abs()));
        found.truncate(1000);
        let whole: f64 = found.iter().map(|ring| area(ring)).sum::<f64>().abs();
        let cells = self.field.iter().enumerate().filter(|(_, v)| **v > 0.0);
        let (mut sum, mut count) = ([0.0; 2], 0.0);
        for (i, _) in cells {
            let p = self.place(i, lattice);
            sum = [sum[0] + p[0], sum[1] + p[1]];
            count += 1.0;
        }
        if count == 0.0 || whole <= 0.0 {
            return None;
        }
        let at = sum.map(|v| rounded(v / count, 0.01));
        let radius = rounded((whole / std::f64::consts::PI).sqrt() * lattice.cell, 0.01).max(0.01);
        let [west, north] = self.place(0, lattice);
        let rings = found
            .iter_mut()
            .map(|ring| {
                if !self.fine {
                    soften(ring, true, 2);
                }
                let mut tolerance = if self.fine { 0.05 } else { 0.15 };
                let mut corners = simplify_ring(ring, tolerance);
                while corners.len() > 20_000 {
                    tolerance *= 2.0;
                    corners = simplify_ring(ring, tolerance);
                }
                let turned = |p: &[f64; 2]| {
                    let p = [west + p[0] * lattice.cell, north - p[1] * lattice.cell];
                    [0, 1].map(|k| rounded((p[k] - at[k]) / radius, 1e-4))
                };
                corners.iter().map(turned).collect()
            })
            .collect();
        Some((at, radius, rings))
    }
}

/// The cell of the lattice that is cell `i` of a patch with a corner and so many columns.
fn patch_cell(corner: &[isize; 2], cols: usize, i: usize, lattice: &Lattice) -> Option<usize> {
    let (col, row) = (corner[0] + (i % cols) as isize, corner[1] + (i / cols) as isize);
    let inside = col >= 0 && row >= 0 && col < lattice.cols() as isize && row < lattice.rows() as isize;
    inside.then(|| row as usize * lattice.cols() + col as usize)
}

/// A number to so many places, so that what is written down can be read.
pub(super) fn rounded(v: f64, to: f64) -> f64 {
    let per = (1.0 / to).round();
    (v * per).round() / per + 0.0
}

/// Throws darts at a shape: features at random among its candidate cells, sized by their distance to the outline, until
/// there are as many as asked for or their area is that of the shape.
pub(super) fn darts(
    patch: &Patch,
    lattice: &Lattice,
    number: Option<u32>,
    size: f64,
    seed: Seed,
    may: impl Fn([f64; 2]) -> bool,
) -> Vec<Spot> {
    let cell = lattice.cell;
    let whole = patch.field.iter().filter(|v| **v > 0.0).count() as f64 * cell * cell;
    let circle = std::f64::consts::PI;
    let fits = (0.75 * whole / (circle * size * size)).round().clamp(1.0, 1000.0);
    let number = number.map_or(fits, f64::from);
    let size = if number == fits { size } else { (0.75 * whole / (circle * number)).sqrt() };
    let least = (0.55 * size / cell).min(0.8 * f64::from(patch.deepest())) as f32;
    let peak = |i: usize| {
        let (col, row) = (i % patch.cols, i / patch.cols);
        let around = |dc: isize, dr: isize| {
            let (c, r) = (col as isize + dc, row as isize + dr);
            let inside = c >= 0 && r >= 0 && (c as usize) < patch.cols;
            let at = r.max(0) as usize * patch.cols + c.max(0) as usize;
            if inside { patch.field.get(at).copied().unwrap_or(-1.0) } else { -1.0 }
        };
        let v = patch.field[i];
        (-1..=1).all(|dr| (-1..=1).all(|dc| around(dc, dr) <= v))
    };
    let mut candidates: Vec<(u64, usize)> = (0..patch.field.len())
        .filter(|i| patch.field[*i] > 0.0 && (patch.field[*i] >= least || peak(*i)))
        .filter(|i| patch.cell(*i, lattice).is_some() && may(patch.place(*i, lattice)))
        .map(|i| {
            let (x, y) = patch.cell(i, lattice).map_or((0, 0), |cell| lattice.index(cell));
            (seed.bits2(x, y), i)
        })
        .collect();
    candidates.sort_unstable();
    candidates.truncate(400 + 60 * number as usize);
    let mut found: Vec<Spot> = Vec::new();
    let mut covered = 0.0;
    // Few features stand far apart, many closer.
    for apart in [1.1, 0.8, 0.55] {
        for (_, i) in &candidates {
            if found.len() as f64 >= number || covered >= 0.95 * whole {
                break;
            }
            let at = patch.place(*i, lattice);
            let room = f64::from(patch.field[*i]) * cell;
            let size = (1.2 * room).clamp(0.4 * size, 1.3 * size).max(0.5 * cell);
            let clear = found.iter().all(|other| {
                math::hypot(other.at[0] - at[0], other.at[1] - at[1]) > apart * 0.75 * (size + other.size)
            });
            if clear {
                covered += circle * size * size;
                found.push(Spot { at, size });
            }
        }
    }
    found
}

/// The second stage: where a feature stands in the end. Around its dart, the less fidelity the further, it takes the
/// place it likes best.
pub(super) fn settle(
    spots: Vec<Spot>,
    kind: Kind,
    fidelity: f64,
    crowd: &mut Crowd,
    seed: Seed,
    may: impl Fn([f64; 2]) -> bool,
) -> Vec<Spot> {
    spots.iter().for_each(|spot| crowd.drawn[kind as usize].push(*spot));
    let mut placed = Vec::with_capacity(spots.len());
    for spot in spots {
        let own_seed = Seed(seed.bits2((spot.at[0] * 8.0) as i64, (spot.at[1] * 8.0) as i64));
        let reach = (1.0 - fidelity) * 1.5 * spot.size;
        let tries = if reach > 0.0 { 12 } else { 0 };
        let other = (0..tries).map(|i| {
            let (far, turn) =
                (own_seed.unit(2 * i).sqrt() * reach, std::f64::consts::TAU * own_seed.unit(2 * i + 1));
            [spot.at[0] + far * math::cos(turn), spot.at[1] + far * math::sin(turn)]
        });
        let at = best(std::iter::once(spot.at).chain(other.filter(|p| may(*p))), |p| {
            crowd.likes(kind, p, spot.size)
        });
        let spot = Spot { at: at.unwrap_or(spot.at), ..spot };
        crowd.placed[kind as usize].push(spot);
        placed.push(spot);
    }
    placed
}

/// The best of some places; of equals the first.
pub(super) fn best(
    places: impl Iterator<Item = [f64; 2]>,
    likes: impl Fn([f64; 2]) -> f64,
) -> Option<[f64; 2]> {
    let mut found: Option<([f64; 2], f64)> = None;
    for place in places {
        let score = likes(place);
        if found.is_none_or(|(_, top)| score > top) {
            found = Some((place, score));
        }
    }
    found.map(|(place, _)| place)
}

/// Mountains of a shape: a massif of its outline, peaks on it, and ridges from peak to peak.
pub(super) struct Range<'a> {
    pub patch: &'a Patch,
    pub item: &'a Item,
    pub peaks: Vec<Spot>,
    pub height: f64,
    pub size: f64,
    pub seed: Seed,
}

/// Shares of a mountain's height that massif and ridge take; the rest is its own.
const MASSIF: f64 = 0.5;
const RIDGE: f64 = 0.2;

impl Range<'_> {
    /// Its features, without names. Ridges go only where `may` lets them.
    pub fn features(&self, lattice: &Lattice, may: impl Fn([f64; 2], [f64; 2]) -> bool) -> Vec<Feature> {
        let mut features: Vec<Feature> = Vec::new();
        let deepest = f64::from(self.patch.deepest()) * lattice.cell;
        if let Some((at, radius, outline)) = self.patch.outline(lattice) {
            let mut massif = Massif::new(at, radius, rounded(MASSIF * self.height, 0.1), outline);
            massif.edge_m = rounded((0.7 * deepest).min(1.3 * self.size).max(0.75 * lattice.cell), 0.01);
            massif.roughness = 0.75;
            features.push(massif.into());
        }
        let draw = |at: [f64; 2], which: &str| {
            self.seed.child(which).unit2((at[0] * 8.0) as i64, (at[1] * 8.0) as i64)
        };
        let pairs = tree(&self.peaks);
        for (a, b) in &pairs {
            let (p, q) = (self.peaks[*a], self.peaks[*b]);
            let length = math::hypot(q.at[0] - p.at[0], q.at[1] - p.at[1]);
            let radius = 0.75 * p.size.min(q.size);
            if length > 5.0 * (p.size + q.size) || length < 0.3 * radius || !may(p.at, q.at) {
                continue;
            }
            // The crest swings to one side on its way, and has its saddle in the middle.
            let across = [-(q.at[1] - p.at[1]) / length, (q.at[0] - p.at[0]) / length];
            let height = RIDGE * self.height;
            let point = |t: f64, share: f64| {
                let by = length * 0.28 * (draw(p.at, "swing") - 0.5) * math::sin(std::f64::consts::PI * t)
                    + length * 0.2 * (draw(q.at, "sway") - 0.5) * math::sin(2.0 * std::f64::consts::PI * t);
                RidgePoint {
                    x_m: rounded(p.at[0] + t * (q.at[0] - p.at[0]) + by * across[0], 0.01),
                    y_m: rounded(p.at[1] + t * (q.at[1] - p.at[1]) + by * across[1], 0.01),
                    height_m: Some(rounded(share * height, 0.1)),
                }
            };
            let points =
                vec![point(0.0, 1.0), point(0.27, 1.25), point(0.5, 1.1), point(0.73, 1.25), point(1.0, 1.0)];
            let mut ridge = Ridge::new(&[], rounded(radius, 0.01), rounded(height, 0.1));
            ridge.points = points;
            ridge.peakiness = 0.7;
            ridge.roughness = 0.85;
            features.push(ridge.into());
        }
        for (i, peak) in self.peaks.iter().enumerate() {
            let joined = pairs.iter().any(|(a, b)| *a == i || *b == i);
            let share = 1.0 - MASSIF - if joined { RIDGE } else { 0.0 };
            let height = self.height
                * (share + 0.3 * (draw(peak.at, "height") - 0.5))
                * (peak.size / self.size).clamp(0.45, 1.1);
            let mut mountain = Mountain::new(
                peak.at.map(|v| rounded(v, 0.01)),
                rounded(peak.size, 0.01).max(0.01),
                rounded(height, 0.1),
            );
            mountain.peakiness = rounded(0.45 + 0.5 * draw(peak.at, "peak"), 0.01);
            mountain.roughness = rounded(0.75 + 0.25 * draw(peak.at, "rough"), 0.01);
            features.push(mountain.into());
        }
        features
    }
}

/// Hills, without names.
pub(super) fn hills(spots: &[Spot], height: f64, size: f64, seed: Seed) -> impl Iterator<Item = Feature> {
    spots.iter().map(move |spot| {
        let draw = seed.unit2((spot.at[0] * 8.0) as i64, (spot.at[1] * 8.0) as i64);
        let height = height * (0.7 + 0.6 * draw) * (spot.size / size).clamp(0.4, 1.3);
        let mut hill = Hill::new(
            spot.at.map(|v| rounded(v, 0.01)),
            rounded(1.35 * spot.size, 0.01).max(0.01),
            rounded(height, 0.1),
        );
        hill.roughness = 0.8;
        hill.into()
    })
}

/// Changes the heights of features that stand on each other so that the highest place of all of them is as high as asked.
/// What each adds is in proportion to its height, so one look at the land that they make alone is enough.
pub(super) fn as_high_as(
    features: &mut [Feature],
    height: f64,
    lattice: &Lattice,
    seed: &str,
) -> Result<(), OpError> {
    let mut around = Rect { min: [f64::INFINITY; 2], max: [f64::NEG_INFINITY; 2] };
    for feature in features.iter() {
        let Rect { min, max } = feature.extent();
        for k in 0..2 {
            around.min[k] = around.min[k].min(min[k]);
            around.max[k] = around.max[k].max(max[k]);
        }
    }
    // On the lattice and beyond its border, as shapes may go on there; not further than they can be drawn.
    let whole = lattice.frame.extent();
    let [width, depth] = lattice.frame.size_m();
    around.min =
        [around.min[0].max(whole.min[0] - 0.2 * width), around.min[1].max(whole.min[1] - 0.2 * depth)];
    around.max =
        [around.max[0].min(whole.max[0] + 0.2 * width), around.max[1].min(whole.max[1] + 0.2 * depth)];
    if features.is_empty() || around.min[0] >= around.max[0] || around.min[1] >= around.max[1] {
        return Ok(());
    }
    // Two cells at least: a shape of less than one would fall between them.
    around.min = around.min.map(|v| v - lattice.cell);
    around.max = around.max.map(|v| v + lattice.cell);
    let frame = lattice.frame.resampled(&around, [lattice.cell; 2]);
    let frame = frame.map_err(|e| OpError::Failed(format!("cannot work out the heights of a shape: {e}")))?;
    let mut land = Terrain::new(frame);
    land.set(layer::HEIGHT, Raster::filled(frame.cols(), frame.rows(), 0.0));
    let op = Features { features: features.to_vec(), seed: seed.to_owned(), ..Features::default() };
    let made = Op::run(&op, land, &Ctx::new(Seed(0)))?;
    let top = made.get(layer::HEIGHT)?.range().map_or(0.0, |(_, high)| f64::from(high));
    if top > 0.0 {
        let by = height / top;
        features.iter_mut().for_each(|feature| feature.scale_height(by, |h| rounded(h, 0.01)));
    }
    Ok(())
}

/// The shortest lines that join all peaks; pairs of numbers.
fn tree(peaks: &[Spot]) -> Vec<(usize, usize)> {
    let distance2 = |a: usize, b: usize| {
        let d = [peaks[a].at[0] - peaks[b].at[0], peaks[a].at[1] - peaks[b].at[1]];
        d[0] * d[0] + d[1] * d[1]
    };
    // From each peak outside, the nearest inside.
    let mut nearest: Vec<(usize, f64)> = (0..peaks.len()).map(|i| (0, distance2(0, i))).collect();
    let mut outside: Vec<usize> = (1..peaks.len()).collect();
    let mut pairs = Vec::new();
    while let Some(k) =
        (0..outside.len()).min_by(|a, b| nearest[outside[*a]].1.total_cmp(&nearest[outside[*b]].1))
    {
        let new = outside.swap_remove(k);
        pairs.push((nearest[new].0, new));
        for other in &outside {
            let d2 = distance2(new, *other);
            if d2 < nearest[*other].1 {
                nearest[*other] = (new, d2);
            }
        }
    }
    pairs
}
