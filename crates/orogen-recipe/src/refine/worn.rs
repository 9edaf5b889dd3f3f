//! Height of worn land at finer samples than it was solved on.

use orogen_core::{Frame, OpError, Raster, Spline, Terrain, layer};

use super::octaves;

/// The steepest that an octave of the land before may be, as a share of the slope of the solved land.
const SHARE: f32 = 0.25;
/// A step that changed the land by this share of the spacing has worn it.
const TOUCHED: f32 = 0.03;
/// Sediment so deep hides what lay below, in metres.
const BURIED_M: f32 = 0.5;

/// What a step that wears the land did to its height.
///
/// ```text
/// h = f + s(after − before) − t (r − Σ r_k min(1, q S / S_k)),        r = f − s(before)
/// ```
///
/// `f` is the window's own input, `s` the spline through samples of the recipe's frame that follows valleys and crests, `r_k` the octaves of what finer samples
/// show beyond it and `S_k` their slopes, `S` the slope of the solved land, `t` 1 where the step changed the land and 0 where
/// it left it alone.
#[derive(Debug)]
pub struct Worn {
    base: Frame,
    change: Spline,
    before: Spline,
    /// `t`, and `q S`, or, where the input was held before, the share that is left of it.
    touched: Raster<f32>,
    most: Raster<f32>,
    is_share: bool,
}

impl Worn {
    /// From the height before and after; `held` says that what finer samples show of it was held to the slope of the land before.
    pub fn new(before: &Raster<f32>, after: &Raster<f32>, solved: &Terrain, held: bool) -> Self {
        let base = *solved.frame();
        let change = super::difference(after, before);
        let least = TOUCHED * base.spacing_m()[0].min(base.spacing_m()[1]) as f32;
        let touched = Raster::from_fn(base.cols(), base.rows(), |col, row| {
            let mut most = 0.0f32;
            for (dc, dr) in (-1..=1).flat_map(|dr| (-1..=1).map(move |dc| (dc, dr))) {
                let there = change.clamped(col as isize + dc, row as isize + dr);
                // Beside holes the window's own land is taken as it is.
                if there.is_nan() {
                    return 0.0;
                }
                most = most.max(there.abs());
            }
            let share = (most / least).min(1.0);
            share * share * (3.0 - 2.0 * share)
        });
        let wet: Option<&Raster<f32>> = solved.get(layer::WATER).ok();
        let sediment: Option<&Raster<f32>> = solved.get(layer::SEDIMENT).ok();
        let bare = |cell: usize| {
            let dry = wet.is_none_or(|wet| wet.as_slice()[cell] <= 0.0);
            // A hole in the layer, as where the land has one, hides nothing.
            let depth = sediment.map(|depth| depth.as_slice()[cell]).filter(|depth| !depth.is_nan());
            let buried = depth.map_or(0.0, |depth| (depth / BURIED_M).clamp(0.0, 1.0));
            if dry { 1.0 - buried } else { 0.0 }
        };
        let slopes = slopes(after, base.spacing_m());
        let most = match held {
            false => Raster::from_fn(base.cols(), base.rows(), |col, row| {
                SHARE * slopes.row(row)[col] * bare(row * base.cols() + col)
            }),
            true => {
                let old = self::slopes(before, base.spacing_m());
                Raster::from_fn(base.cols(), base.rows(), |col, row| {
                    let share = slopes.row(row)[col] / old.row(row)[col].max(1e-6);
                    share.min(1.0) * bare(row * base.cols() + col)
                })
            }
        };
        Self {
            base,
            change: Spline::of_change(before, after),
            before: Spline::along_lines(before),
            touched,
            most,
            is_share: held,
        }
    }

    /// Bytes that it keeps in memory.
    pub fn size_bytes(&self) -> usize {
        self.change.size_bytes() + self.before.size_bytes() + 8 * self.base.len()
    }

    /// The height on a window, from the input on the window and the halo around it.
    pub fn window(&self, wide: &Terrain, window: &Frame) -> Result<Raster<f32>, OpError> {
        let fine = wide.get(layer::HEIGHT)?;
        let frame = *wide.frame();
        let (cols, rows) = self.places(&frame);
        let mut residual = self.before.grid(&cols, &rows);
        octaves::each_row(&mut residual, |row, out| {
            // A hole counts as smooth land.
            out.iter_mut().zip(fine.row(row)).for_each(|(s, f)| *s = if f.is_nan() { 0.0 } else { f - *s });
        });
        let kept = if self.is_share {
            let share = self.most.smooth_grid(&cols, &rows);
            let mut kept = residual.clone();
            octaves::each_row(&mut kept, |row, out| {
                out.iter_mut().zip(share.row(row)).for_each(|(r, share)| *r *= share);
            });
            kept
        } else if octaves::halo_m(&self.base, &frame) > 0.0 {
            let most = self.most.smooth_grid(&cols, &rows);
            octaves::held(residual.clone(), &self.base, &frame, &most)
        } else {
            // Samples as far apart as the recipe's, at other places, show nothing but the solved land.
            Raster::filled(residual.cols(), residual.rows(), 0.0)
        };
        let outside = || OpError::Internal(String::from("a window lies outside its halo"));
        let (west, north) = frame.offset_of(window).ok_or_else(outside)?;
        let (cols, rows) = (&cols[west..west + window.cols()], &rows[north..north + window.rows()]);
        let (mut height, touched) = (self.change.grid(cols, rows), self.touched.smooth_grid(cols, rows));
        octaves::each_row(&mut height, |row, out| {
            let part = west..west + out.len();
            let wide = fine.row(north + row)[part.clone()].iter();
            let lost = residual.row(north + row)[part.clone()].iter().zip(&kept.row(north + row)[part]);
            let lost = lost.zip(touched.row(row)).map(|((all, kept), touched)| touched * (all - kept));
            out.iter_mut().zip(wide.zip(lost)).for_each(|(change, (fine, lost))| *change += fine - lost);
        });
        Ok(height)
    }

    /// Where columns and rows of a frame lie on the recipe's.
    fn places(&self, frame: &Frame) -> (Vec<f64>, Vec<f64>) {
        super::places(&self.base, frame)
    }
}

/// The slope of land, rise over distance, in the mean of each sample's neighbourhood; 0 in holes.
fn slopes(height: &Raster<f32>, spacing_m: [f64; 2]) -> Raster<f32> {
    let [dx, dy] = spacing_m.map(|d| d as f32);
    let slope = Raster::from_fn(height.cols(), height.rows(), |col, row| {
        let (c, r) = (col as isize, row as isize);
        let x = (height.clamped(c + 1, r) - height.clamped(c - 1, r)) / (2.0 * dx);
        let y = (height.clamped(c, r + 1) - height.clamped(c, r - 1)) / (2.0 * dy);
        let slope = (x * x + y * y).sqrt();
        if slope.is_nan() { 0.0 } else { slope }
    });
    octaves::smoothed(&slope, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was worn has holes where the window's own land has them, also where a layer of sediment has holes too.
    #[test]
    fn holes_of_sediment_stay_where_the_land_has_them() {
        let base = Frame::square(640.0, 33).unwrap();
        let hole = |c: usize, r: usize| (12..15).contains(&c) && (20..22).contains(&r);
        let made = |height: f32| {
            Raster::from_fn(33, 33, |c, r| if hole(c, r) { f32::NAN } else { height + (c * r) as f32 })
        };
        let (before, after) = (made(500.0), made(480.0));
        let mut solved = Terrain::new(base);
        solved.set(layer::HEIGHT, after.clone());
        solved.set(layer::SEDIMENT, made(0.0));
        let worn = Worn::new(&before, &after, &solved, false);
        let window = base.resampled(&base.extent(), base.spacing_m().map(|d| d / 4.0)).unwrap();
        let mut wide = Terrain::new(window);
        let own = Raster::from_fn(window.cols(), window.rows(), |c, r| {
            if hole(c / 4, r / 4) { f32::NAN } else { 500.0 + (c * r) as f32 / 16.0 }
        });
        wide.set(layer::HEIGHT, own.clone());
        let height = worn.window(&wide, &window).unwrap();
        for (a, b) in height.as_slice().iter().zip(own.as_slice()) {
            assert_eq!(a.is_nan(), b.is_nan());
        }
    }

    /// Where a step cut a valley one sample wide across the lattice, a finer window shows a bed that falls, not a row of pits.
    #[test]
    fn a_bed_that_was_cut_diagonally_falls_at_every_spacing() {
        let base = Frame::square(640.0, 33).unwrap();
        let before = Raster::from_fn(33, 33, |c, r| 500.0 - (c + r) as f32);
        let after = Raster::from_fn(33, 33, |c, r| {
            let beside = (c as f32 - r as f32).abs();
            before.row(r)[c] - 30.0 * (1.0 - 0.7 * beside).max(0.0)
        });
        let mut solved = Terrain::new(base);
        solved.set(layer::HEIGHT, after.clone());
        let worn = Worn::new(&before, &after, &solved, false);
        for parts in [2u32, 5, 8] {
            let spacing_m = base.spacing_m().map(|d| d / f64::from(parts));
            let window = base.resampled(&base.extent(), spacing_m).unwrap();
            let mut wide = Terrain::new(window);
            wide.set(
                layer::HEIGHT,
                Raster::from_fn(window.cols(), window.rows(), |c, r| 500.0 - (c + r) as f32 / parts as f32),
            );
            let height = worn.window(&wide, &window).unwrap();
            let margin = 3 * parts as usize;
            let bed: Vec<f32> = (margin..window.cols() - margin).map(|i| height.row(i)[i]).collect();
            for pair in bed.windows(2) {
                assert!(pair[1] < pair[0], "{parts} times finer: {} after {}", pair[1], pair[0]);
            }
        }
    }
}
