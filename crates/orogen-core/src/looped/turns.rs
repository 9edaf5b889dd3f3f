//! Unrolling land that loops, and rolling it up again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::vectors;
use crate::each_kind;
use crate::frame::Frame;
use crate::kinds::{LayerData, Sample};
use crate::layer::LayerName;
use crate::raster::Raster;
use crate::terrain::{Parts, Terrain};

/// After how many columns and rows a frame repeats; `None` along an axis where it does not reach round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Turns([Option<usize>; 2]);

impl Turns {
    /// Those of a part of a world.
    pub fn of(part: &Frame, world: &Frame) -> Self {
        let (a, b, spacing) = (part.extent(), world.extent(), part.spacing_m());
        let samples = [part.cols(), part.rows()];
        let near = |p: f64, q: f64, axis: usize| (p - q).abs() < 1e-3 * spacing[axis];
        Self([0, 1].map(|i| {
            let round = near(a.min[i], b.min[i], i) && near(a.max[i], b.max[i], i);
            (world.loops() && round && samples[i] > 2).then(|| samples[i] - 1)
        }))
    }

    pub fn any(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// A frame with the samples that anything within `far_m` sees, at most once round.
    pub fn expanded(&self, frame: &Frame, far_m: f64) -> Frame {
        let wide = frame.expanded(far_m);
        let halo = |axis: usize, samples: usize, wider: usize| {
            self.0[axis].map_or(0, |period| ((wider - samples) / 2).min(period))
        };
        grown(frame, halo(0, frame.cols(), wide.cols()), halo(1, frame.rows(), wide.rows()))
    }

    /// A frame with half the land more on every side.
    pub fn widened(&self, frame: &Frame) -> Frame {
        let [x, y] = self.0.map(|period| period.map_or(0, |period| period.div_ceil(2)));
        grown(frame, x, y)
    }

    /// A frame without the column and the row that repeat the first.
    pub fn once(&self, frame: &Frame) -> Frame {
        let [cols, rows] = self.0;
        frame.window(0, 0, cols.unwrap_or(frame.cols()), rows.unwrap_or(frame.rows()))
    }

    /// Some layers of a terrain on another frame, as if copies of it lay side by side; vectors too, if asked for.
    pub fn unrolled(&self, terrain: &Terrain, names: &[LayerName], on: &Frame, vectors: bool) -> Terrain {
        let layers: BTreeMap<LayerName, LayerData> = names
            .iter()
            .filter_map(|name| Some((name, terrain.layers().get(name)?)))
            .map(|(name, data)| (name.clone(), self.on(data, terrain.frame(), on)))
            .collect();
        let copies = if vectors { self.copies_m(terrain.frame()) } else { vec![[0.0; 2]] };
        let extent = on.extent();
        let copied = terrain.vectors().iter().map(|(name, data)| {
            let data = if copies.len() > 1 {
                Arc::new(vectors::repeated(data, &copies, &extent))
            } else {
                data.clone()
            };
            (name.clone(), data)
        });
        // Every raster was made on that frame.
        let parts = Parts {
            layers,
            vectors: copied.collect(),
            instances: terrain.instances().clone(),
            provenance: terrain.provenance().clone(),
        };
        Terrain::from_parts(*on, parts).unwrap_or_else(|| Terrain::new(*on))
    }

    /// A written layer, made on a frame as [`Turns::unrolled`] gives it, back on the frame of the land.
    pub fn rolled(&self, data: &LayerData, on: &Frame, frame: &Frame, fades: bool) -> LayerData {
        match data {
            LayerData::F32(raster) if fades => self.faded(raster, on, frame, mixed).into(),
            // All weights of a family are taken from one end, so that they still sum up.
            ids if fades => each_kind!(ids, raster => self.faded(raster, on, frame, heavier).into()),
            _ => self.on(data, on, frame),
        }
    }

    /// A layer on another frame. The last column and row are the first to the bit.
    fn on(&self, data: &LayerData, from: &Frame, to: &Frame) -> LayerData {
        each_kind!(data, raster => self.moved(raster, from, to).into())
    }

    fn moved<T: Sample>(&self, raster: &Raster<T>, from: &Frame, to: &Frame) -> Raster<T> {
        let ((west, north), (to_west, to_north)) = (from.lattice(0, 0), to.lattice(0, 0));
        let (dc, dr) = (to_west - west, north - to_north);
        // The sample of the first turn that lies here. A frame larger than the land holds that turn whole at its middle.
        let at = |axis: usize, index: i64, shift: i64, samples: usize| {
            let Some(period) = self.0[axis] else {
                return (index + shift).clamp(0, samples as i64 - 1) as usize;
            };
            let period = period as i64;
            let middle = (samples as i64 - 1 - period).max(0) / 2;
            (middle + (index + shift - middle).rem_euclid(period)) as usize
        };
        let cols: Vec<usize> = (0..to.cols()).map(|c| at(0, c as i64, dc, raster.cols())).collect();
        Raster::from_fn(to.cols(), to.rows(), |col, row| {
            raster.row(at(1, row as i64, dr, raster.rows()))[cols[col]]
        })
    }

    /// What an unrolled layer is on the land: near a seam both ends of it, each as much as it is far from its own end.
    fn faded<T: Sample>(
        &self,
        raster: &Raster<T>,
        on: &Frame,
        frame: &Frame,
        mix: impl Fn(T, T, f32) -> T + Sync,
    ) -> Raster<T> {
        let Some((west, north)) = on.offset_of(frame) else { return self.moved(raster, on, frame) };
        // Which sample counts how much beside its other self, a turn away.
        let place = |axis: usize, index: usize, first: usize| {
            let Some(period) = self.0[axis] else { return (first + index, first + index, 1.0) };
            let (k, band) = (index % period, period / 8);
            let here = first + k;
            let share = |from: usize| {
                let t = (from as f32 + 0.5) / (2 * band) as f32;
                t * t * (3.0 - 2.0 * t)
            };
            match k {
                k if k < band => (here, here + period, share(k + band)),
                k if k >= period - band => (here, here - period, 1.0 - share(k + band - period)),
                _ => (here, here, 1.0),
            }
        };
        let cols: Vec<(usize, usize, f32)> = (0..frame.cols()).map(|c| place(0, c, west)).collect();
        Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let (near, far, share) = cols[col];
            let along = |row: usize| mix(raster.row(row)[near], raster.row(row)[far], share);
            let (near, far, share) = place(1, row, north);
            mix(along(near), along(far), share)
        })
    }

    /// How far opposite edges differ at most, where that is further than from both to the samples beside them: land that
    /// jumps there anyway has no seam.
    pub fn seam(&self, raster: &Raster<f32>) -> f32 {
        let (cols, rows) = (raster.cols(), raster.rows());
        // A comparison with a hole is false.
        let larger = |most: f32, step: f32| if step.abs() > most { step.abs() } else { most };
        let step = |col: usize, row: usize| {
            let here = raster.row(row)[col];
            let beside = [col.checked_sub(1), Some(col + 1).filter(|&col| col < cols)];
            let above = [row.checked_sub(1), Some(row + 1).filter(|&row| row < rows)];
            let along = beside.into_iter().flatten().map(|col| raster.row(row)[col] - here);
            let down = above.into_iter().flatten().map(|row| raster.row(row)[col] - here);
            along.chain(down).fold(0.0, larger)
        };
        let jump = |a: [usize; 2], b: [usize; 2]| {
            let by = (raster.row(a[1])[a[0]] - raster.row(b[1])[b[0]]).abs();
            if by > 0.0 && by > step(a[0], a[1]) && by > step(b[0], b[1]) { by } else { 0.0 }
        };
        let sides = (0..rows).filter(|_| self.0[0].is_some()).map(|row| jump([0, row], [cols - 1, row]));
        let ends = (0..cols).filter(|_| self.0[1].is_some()).map(|col| jump([col, 0], [col, rows - 1]));
        sides.chain(ends).fold(0.0, f32::max)
    }

    /// Where the copies lie that touch the land, in metres from it; the land itself is the first.
    fn copies_m(&self, frame: &Frame) -> Vec<[f64; 2]> {
        let [dx, dy] = frame.spacing_m();
        let far = |axis: usize, spacing: f64| match self.0[axis] {
            Some(period) => vec![0.0, period as f64 * spacing, -(period as f64 * spacing)],
            None => vec![0.0],
        };
        let (xs, ys) = (far(0, dx), far(1, dy));
        ys.iter().flat_map(|&y| xs.iter().map(move |&x| [x, y])).collect()
    }
}

/// A frame with so many columns and rows more on every side.
fn grown(frame: &Frame, x: usize, y: usize) -> Frame {
    frame.window(-(x as i64), -(y as i64), frame.cols() + 2 * x, frame.rows() + 2 * y)
}

/// A share of one value and the rest of another; of a hole and a value, the one that counts more.
fn mixed(a: f32, b: f32, share: f32) -> f32 {
    if share >= 1.0 || a.to_bits() == b.to_bits() {
        return a;
    }
    let sum = share * a + (1.0 - share) * b;
    if sum.is_nan() { heavier(a, b, share) } else { sum }
}

/// Of two values the one that counts more: numbers of things cannot be mixed.
fn heavier<T>(a: T, b: T, share: f32) -> T {
    if share >= 0.5 { a } else { b }
}
