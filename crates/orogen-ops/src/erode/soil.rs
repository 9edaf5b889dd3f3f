//! How much soil there is to move where it is thin, and how deep it is afterwards.
//!
//! Near their limit slopes could move many times the soil that lies on them within one go. What moves is then up to what forms
//! there and comes from above: the shares that a go is solved with are those at its end, found from the crests down.

use orogen_core::{Cancelled, Ctx, Raster, math};
use rayon::prelude::*;

use super::hillslope::Ground;

/// Soil on a slope during one go.
pub struct Soil<'a> {
    /// Depth at the start of the go.
    pub depth: &'a Raster<f32>,
    /// What bare rock makes of itself in the go, in metres of soil.
    pub made: &'a (dyn Fn(usize) -> f64 + Sync),
    /// How fast soil creeps at a sample, as a share of the fastest.
    pub rate: &'a (dyn Fn(usize) -> f32 + Sync),
    /// Depth above which soil moves freely.
    pub free_m: f64,
}

/// Newton steps at most; from below they come ever closer and never go past.
const STEPS: usize = 12;
/// Samples between two looks whether to stop.
const A_LOOK: usize = 1 << 15;

impl Soil<'_> {
    /// How freely ground moves as soil, and as rock, during a go of `metres2 = D dt`, as shares of what the fastest deep soil does.
    ///
    /// ```text
    /// H + o (1 − exp(−H/h)) = H₀ + m exp(−H/h) + inflow          share = 1 − exp(−H/h)
    /// ```
    ///
    /// `o` is what deep soil would lose in the go on slopes as they are now, `m` what bare rock makes. Samples are asked from the
    /// highest down, so that what comes from above is known.
    ///
    /// # Errors
    /// When cancelled.
    pub fn shares(
        &self,
        ground: &Ground<'_>,
        height: &Raster<f32>,
        metres2: f64,
        [as_soil, as_rock]: [&mut Raster<f32>; 2],
        ctx: &Ctx<'_>,
    ) -> Result<(), Cancelled> {
        let (cols, rows) = (height.cols(), height.rows());
        let [mut east, mut south] = [(); 2].map(|()| Raster::filled(cols, rows, 0.0));
        ground.faces(height, &mut east, &mut south);
        ctx.stop_if_asked()?;
        let [wx, wy] = ground.spacing_m.map(|d| (metres2 / (d * d)) as f32);
        let (east, south) = (east.as_slice(), south.as_slice());
        let heights = height.as_slice();
        let mut order: Vec<u32> = (0..heights.len() as u32).collect();
        order.par_sort_unstable_by(|&a, &b| {
            let (high, low) = (heights[b as usize], heights[a as usize]);
            high.total_cmp(&low).then(a.cmp(&b))
        });
        ctx.stop_if_asked()?;
        // Inflow gathers where the share will be.
        let soil = as_soil.as_mut_slice();
        soil.fill(0.0);
        for (count, cell) in order.into_iter().enumerate() {
            if count.is_multiple_of(A_LOOK) {
                ctx.stop_if_asked()?;
            }
            let cell = cell as usize;
            if heights[cell].is_nan() {
                soil[cell] = 0.0;
                continue;
            }
            let (col, row) = (cell % cols, cell / cols);
            // What goes over each face towards lower ground, as deep soil would.
            let faces = [
                (cell + 1, -wx * east[cell]),
                (cell.wrapping_sub(1), if col > 0 { wx * east[cell - 1] } else { 0.0 }),
                (cell + cols, if row + 1 < rows { -wy * south[cell] } else { 0.0 }),
                (cell.wrapping_sub(cols), if row > 0 { wy * south[cell - cols] } else { 0.0 }),
            ];
            let rate = (self.rate)(cell);
            let out: f32 = rate * faces.iter().map(|face| face.1.max(0.0)).sum::<f32>();
            let there = f64::from(self.depth.as_slice()[cell]) + f64::from(soil[cell]);
            let share = self.share(there, f64::from(out), (self.made)(cell)) as f32;
            soil[cell] = rate * share;
            for (to, flux) in faces {
                if flux > 0.0 {
                    soil[to] += rate * share * flux;
                }
            }
        }
        as_rock.par_rows(|row, out| {
            for (col, (rock, &soil)) in out.iter_mut().zip(as_soil.row(row)).enumerate() {
                *rock = (self.rate)(row * cols + col) - soil;
            }
        });
        Ok(())
    }

    /// The share of what deep soil would move that moves, of `there` metres of soil and what rock makes.
    fn share(&self, there: f64, out: f64, made: f64) -> f64 {
        let (out, made, there) = (out / self.free_m, made / self.free_m, there / self.free_m);
        if there > 20.0 + out {
            return 1.0;
        }
        let mut deep = 0.0;
        for _ in 0..STEPS {
            let left = math::exp(-deep);
            let off = there + made * left - deep - out * (1.0 - left);
            let by = off / (1.0 + (out + made) * left);
            deep += by;
            if by <= 1e-4 * deep {
                break;
            }
        }
        1.0 - math::exp(-deep)
    }

    /// Depth of soil after a go in which a sample gained `gain_m`, evenly over its time, while rock turned to soil:
    /// `dH/dt = P exp(−H/h) + σ`, solved exactly. Where more has moved than there was soil, rock has broken.
    pub fn after(&self, cell: usize, gain_m: f32) -> f32 {
        let depth = f64::from(self.depth.as_slice()[cell]);
        let (gain, deep) = (f64::from(gain_m) / self.free_m, depth / self.free_m);
        let made = (self.made)(cell) / self.free_m * math::exp(-deep.min(700.0));
        let over = if gain.abs() > 1e-6 { (1.0 - math::exp((-gain).min(600.0))) / gain } else { 1.0 };
        let new = depth + f64::from(gain_m) + self.free_m * math::ln(1.0 + made * over);
        // A hole stays one.
        if new < 0.0 { 0.0 } else { new as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    fn soil<'a>(depth: &'a Raster<f32>, made: &'a (dyn Fn(usize) -> f64 + Sync)) -> Soil<'a> {
        Soil { depth, made, rate: &|_| 1.0, free_m: 0.5 }
    }

    #[test]
    fn soil_forms_by_the_exponential_law_while_it_comes_and_goes() {
        let bare = Raster::filled(1, 1, 0.0);
        // From bare rock: h ln(1 + P t / h); in two goes the same as in one.
        let once = soil(&bare, &|_| 4.0).after(0, 0.0);
        assert_close!(f64::from(once), 0.5 * math::ln(9.0), rel = 1e-6);
        let half = Raster::filled(1, 1, soil(&bare, &|_| 1.0).after(0, 0.0));
        assert_close!(soil(&half, &|_| 3.0).after(0, 0.0), once, rel = 1e-6);
        // With an even gain or loss, against many small steps.
        for gain in [-2.0, -0.3, 0.7, 3.0] {
            let (mut slow, n) = (0.2, 200_000);
            for _ in 0..n {
                slow += (1.5 * math::exp(-slow / 0.5) + gain) / f64::from(n);
            }
            let start = Raster::filled(1, 1, 0.2);
            let quick = f64::from(soil(&start, &|_| 1.5).after(0, gain as f32));
            assert_close!(quick, slow.max(0.0), abs = 2e-4);
        }
        let deep = Raster::filled(1, 1, 1e6);
        assert_eq!(soil(&deep, &|_| 3.0).after(0, 0.0), 1e6);
        assert_eq!(soil(&bare, &|_| 0.1).after(0, -1e6), 0.0);
    }

    #[test]
    fn no_more_moves_than_there_is() {
        let none = Raster::filled(1, 1, 0.0);
        let soil = soil(&none, &|_| 0.0);
        for (there, made) in [(0.0, 0.0), (0.1, 0.0), (0.3, 0.2), (5.0, 1.0)] {
            for out in [0.0, 0.1, 3.0, 1e3, 1e9] {
                let share = soil.share(there, out, made);
                assert!((0.0..=1.0).contains(&share), "{share}");
                assert!(share * out <= (there + made) * 1.0001, "{share} of {out} from {there} and {made}");
            }
        }
        assert_eq!(soil.share(1e4, 1.0, 0.0), 1.0);
    }
}
