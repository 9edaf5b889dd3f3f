//! Lakes on samples of another spacing: level, with shores where the finer ground meets them.

use orogen_core::{Ctx, OpError, Raster, Refiner, Solved, Terrain, layer};

use super::Lakes;
use crate::water::former::Former;
use crate::water::shores::{Shores, replaced};

/// What windows of another spacing are made from.
pub(super) struct Finer {
    shores: Shores,
    /// With `keep`: the water of earlier steps.
    former: Option<Former>,
}

impl Finer {
    pub fn new(params: &Lakes, solved: Solved<'_>) -> Result<Self, OpError> {
        let base = *solved.after.frame();
        let (height, water) = (solved.after.get(layer::HEIGHT)?, solved.after.get(layer::WATER)?);
        let [dx, dy] = base.spacing_m();
        let mut shores = Shores::on(base, height.clone());
        // Only what was found, not what is kept of earlier steps.
        let mut own = water.clone();
        let former: Option<&Raster<f32>> = match solved.before {
            Some(before) if params.keep => Some(before.get(layer::WATER)?),
            _ => None,
        };
        if let Some(former) = former {
            own.par_rows(|row, out| {
                out.iter_mut()
                    .zip(former.row(row))
                    .for_each(|(own, old)| *own = if own == old { 0.0 } else { *own });
            });
        }
        if params.sea {
            let heights = height.as_slice();
            shores = shores.with_sea(0.0, |cell| heights[cell] <= 0.0);
        }
        // With a balance a lake may be as small as its lowest samples.
        let least =
            if params.balance { (0.0, 0.0) } else { (params.min_depth_m, params.min_area_m2 / (dx * dy)) };
        shores = shores.with_lakes(height, &own, least.0 as f32, least.1);
        let former = former.map(|former| Former::new(base, former, water));
        Ok(Self { shores, former })
    }
}

impl Refiner for Finer {
    fn refine(&self, window: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *window.frame();
        let mut height = window.get(layer::HEIGHT)?.clone();
        let levels = self.shores.flood(&frame, &mut height);
        ctx.tick(1, 2)?;
        let mut water = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let h = height.row(row)[col];
            if h.is_nan() { f32::NAN } else { (levels.row(row)[col] - h).max(0.0) }
        });
        if let Some(former) = &self.former {
            former.keep(&window, &mut water)?;
        }
        replaced(window, [(layer::HEIGHT.name(), height), (layer::WATER.name(), water)])
    }

    fn size_bytes(&self) -> usize {
        self.shores.size_bytes() + self.former.as_ref().map_or(0, Former::size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::water::shores::fine_window;
    use orogen_core::{Frame, Op, math};

    /// Hills with hollows, as finely sampled as one likes.
    fn land(frame: &Frame) -> Terrain {
        let mut terrain = Terrain::new(*frame);
        let height = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let (x, y) = (frame.x_m(col), frame.y_m(row));
            (60.0 + 30.0 * math::sin(x / 190.0) * math::cos(y / 230.0) + 0.004 * x) as f32
        });
        terrain.set(layer::HEIGHT, height);
        terrain
    }

    #[test]
    fn no_lake_tilts_at_any_spacing() {
        let base = Frame::square(2400.0, 61).unwrap();
        let op = Lakes { sea: false, ..Lakes::default() };
        let before = land(&base);
        let after = op.apply(before.clone(), &Ctx::silent()).unwrap();
        let finer = Finer::new(&op, Solved { before: Some(&before), after: &after }).unwrap();
        let w = after.get(layer::WATER).unwrap();
        let area = |w: &Raster<f32>, cell: f64| {
            w.as_slice().iter().filter(|w| **w > 0.0).count() as f64 * cell * cell
        };
        let whole = area(w, 40.0);
        assert!(finer.shores.count() >= 3, "{} lakes", finer.shores.count());
        for spacing in [60.0, 10.0, 4.0] {
            let samples = (2400.0 / spacing) as usize + 1;
            let frame = Frame::square(2400.0, samples).unwrap();
            let mut window = land(&frame);
            window.set(layer::WATER, Raster::filled(samples, samples, 0.0));
            let window = finer.refine(window, &Ctx::silent()).unwrap();
            let (h, w) = (window.get(layer::HEIGHT).unwrap(), window.get(layer::WATER).unwrap());
            // Each wet sample stands at the level of a lake, to the last bit but one of a sum.
            let mut tilt = 0f64;
            for (h, w) in h.as_slice().iter().zip(w.as_slice()).filter(|(_, w)| **w > 0.0) {
                let surface = f64::from(*h) + f64::from(*w);
                let off = finer.shores.levels().iter().map(|level| (surface - f64::from(*level)).abs());
                tilt = tilt.max(off.fold(f64::INFINITY, f64::min));
            }
            assert!(tilt < 1e-5, "a lake tilts by {tilt} m at {spacing} m");
            let found = area(w, spacing);
            assert!((found - whole).abs() < 0.1 * whole, "{found} for {whole} m² at {spacing} m");
            // No wall of water: beside a wet sample the ground is wet or above the level.
            for row in 1..samples - 1 {
                for col in 1..samples - 1 {
                    let wet = w.row(row)[col];
                    for (c, r) in [(col + 1, row), (col, row + 1), (col - 1, row), (col, row - 1)] {
                        let level = h.row(row)[col] + wet;
                        let dry = w.row(r)[c] == 0.0 && h.row(r)[c] < level - 0.3;
                        assert!(wet == 0.0 || !dry, "a wall of water at {col}, {row} of {spacing} m");
                    }
                }
            }
        }
    }

    #[test]
    fn no_water_stands_as_a_wall_above_a_steep_outlet() {
        // A valley dammed by a narrow pass, beyond which land falls off at 40 degrees.
        let steep = |frame: &Frame| {
            let mut terrain = Terrain::new(*frame);
            let height = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
                let (x, y) = (frame.x_m(col) - 1210.0, frame.y_m(row) - 1190.0);
                let along =
                    if x > 0.0 { -0.85 * x } else { 0.3 * x.max(-500.0) - 0.7 * (x + 500.0).min(0.0) };
                (400.0 + along + 0.6 * (y + 0.2 * x).abs()) as f32
            });
            terrain.set(layer::HEIGHT, height);
            terrain
        };
        let base = Frame::square(2400.0, 61).unwrap();
        let op = Lakes { sea: false, ..Lakes::default() };
        let before = steep(&base);
        let after = op.apply(before.clone(), &Ctx::silent()).unwrap();
        let finer = Finer::new(&op, Solved { before: Some(&before), after: &after }).unwrap();
        assert!(finer.shores.count() == 1, "{} lakes", finer.shores.count());
        let samples = 601;
        let mut window = steep(&Frame::square(2400.0, samples).unwrap());
        window.set(layer::WATER, Raster::filled(samples, samples, 0.0));
        let window = finer.refine(window, &Ctx::silent()).unwrap();
        let (h, w) = (window.get(layer::HEIGHT).unwrap(), window.get(layer::WATER).unwrap());
        let mut wall = 0f32;
        for (col, row) in (1..samples - 1).flat_map(|row| (1..samples - 1).map(move |col| (col, row))) {
            for (c, r) in [(col + 1, row), (col, row + 1), (col - 1, row), (col, row - 1)] {
                if w.row(row)[col] > 0.0 && w.row(r)[c] == 0.0 {
                    wall = wall.max(h.row(row)[col] + w.row(row)[col] - h.row(r)[c]);
                }
            }
        }
        assert!(wall < 0.1, "a wall of water {wall} m high");
    }

    #[test]
    fn a_window_is_as_if_cut_from_the_whole() {
        let base = Frame::square(2400.0, 61).unwrap();
        let op = Lakes { sea: false, ..Lakes::default() };
        let before = land(&base);
        let after = op.apply(before.clone(), &Ctx::silent()).unwrap();
        let finer = Finer::new(&op, Solved { before: Some(&before), after: &after }).unwrap();
        fine_window(&Frame::square(2400.0, 401).unwrap(), |frame| {
            let mut window = land(frame);
            window.set(layer::WATER, Raster::filled(frame.cols(), frame.rows(), 0.0));
            finer.refine(window, &Ctx::silent()).unwrap()
        });
    }
}
