//! One step in time: uplift, and what streams cut away, from the outlets upwards.

use std::sync::atomic::{AtomicU32, Ordering};

use orogen_core::{Raster, math};
use rayon::prelude::*;

use super::rock::Rock;
use crate::drainage::ways::{NOWHERE, Spans, Ways, step};
use crate::rock::beds::MOST_BEDS;

/// Trees of more cells than this are worth a task of their own.
const SPAWN: u32 = 20_000;

/// Land that rivers drain is this share of the square of their length (Hack's law with exponent one half).
const HACK: f64 = 1.0 / 3.0;

/// What comes down to each cell.
#[derive(Clone, Copy)]
pub struct Drained<'a> {
    /// Cells drained.
    pub cells: &'a Raster<u32>,
    /// Cells of the usual rain that would bring as much water; as many as are drained where there is none.
    pub water: Option<&'a Raster<f32>>,
}

impl Drained<'_> {
    /// How many cells of the usual rain bring as much water.
    #[inline]
    pub fn water(&self, cell: usize) -> f32 {
        match self.water {
            None => self.cells.as_slice()[cell] as f32,
            Some(water) => water.as_slice()[cell],
        }
    }
}

/// What a step needs to know.
pub struct Cut<'a> {
    pub ways: &'a Ways,
    pub donors: &'a Raster<u8>,
    pub drained: Drained<'a>,
    pub spans: &'a Spans,
    pub cell_m2: f64,
    pub dt_yr: f64,
    /// Metres a year.
    pub uplift: &'a Raster<f32>,
    /// Metres a year at slope 1 where 1 km² is drained.
    pub incision: &'a Raster<f32>,
    /// Heights that are kept; holes elsewhere.
    pub pins: Option<&'a Raster<f32>>,
    pub area_exponent: f64,
    pub slope_exponent: f64,
    pub hollow_m2: f64,
    pub sea_m: f32,
    pub base_m: f32,
    pub beyond_m: f64,
    /// The beds that streams cut down through, if the land has any.
    pub rock: Option<Rock<'a>>,
}

/// Heights while several threads climb different trees; no two ever write one cell.
struct Shared<'a> {
    cut: &'a Cut<'a>,
    height: Vec<AtomicU32>,
}

impl Cut<'_> {
    /// Moves the land on by one step.
    pub fn run(&self, height: &mut Raster<f32>) {
        let cols = height.cols();
        let shared = Shared {
            cut: self,
            height: height
                .as_slice()
                .par_iter()
                .with_min_len(1 << 14)
                .map(|h| AtomicU32::new(h.to_bits()))
                .collect(),
        };
        rayon::scope(|scope| {
            let shared = &shared;
            let rows_per_task = (1 << 16) / cols + 1;
            for first in (0..height.rows()).step_by(rows_per_task) {
                let last = (first + rows_per_task).min(height.rows());
                scope.spawn(move |scope| {
                    for cell in first * cols..last * cols {
                        if self.ways.0.as_slice()[cell] == NOWHERE {
                            shared.outlet(cell);
                            shared.climb(cell, scope);
                        }
                    }
                });
            }
        });
        let height = height.as_mut_slice();
        height.par_iter_mut().with_min_len(1 << 14).zip(&shared.height).for_each(|(h, new)| {
            *h = f32::from_bits(new.load(Ordering::Relaxed));
        });
    }

    /// How strongly a cell is cut, in metres a year at slope 1.
    #[inline]
    fn power(&self, cell: usize) -> f32 {
        let cells = match self.drained.water {
            None => f64::from(self.drained.cells.as_slice()[cell]),
            Some(water) => f64::from(water.as_slice()[cell]),
        };
        let km2 = (cells * self.cell_m2 * 1e-6) as f32;
        let hollow = (self.hollow_m2 * 1e-6) as f32;
        // Slopes above the heads of streams are as steep as the heads: a smooth greater of the two areas.
        let km2 = (km2 * km2 + hollow * hollow).sqrt();
        let power = if self.area_exponent == 0.5 {
            km2.sqrt()
        } else {
            math::pow(f64::from(km2), self.area_exponent) as f32
        };
        self.incision.as_slice()[cell] * power
    }

    fn pin(&self, cell: usize) -> Option<f32> {
        let pin = self.pins?.as_slice()[cell];
        (!pin.is_nan()).then_some(pin)
    }

    /// Height after a step of a cell at `risen`, above what it drains to.
    ///
    /// Through beds the cut is implicit too: with C the sum of thickness over softness from the top, `C(risen) − C(h) = K Aᵐ dt Sⁿ(h)`
    /// has one solution, which is found bed by bed. So a thin bed holds a stream up however long the step is.
    #[inline]
    fn worn_to(&self, cell: usize, risen: f32, base: f32, power: f32, per_m: f32) -> f32 {
        let Some(rock) = &self.rock else { return base + self.worn(risen - base, power, per_m) };
        let (lift, mut top, mut spent) = (rock.lift(cell), risen, 0.0);
        let mut beds = rock.places.down(cell, risen + lift).take(MOST_BEDS).peekable();
        while let Some((bed, bottom)) = beds.next() {
            let (soft, bottom) = (bed.softness(), bottom - lift);
            let new = base + self.worn(top - base + soft * spent, power * soft, per_m);
            if new >= bottom || bottom <= base || soft == 0.0 || beds.peek().is_none() {
                return new.clamp(base, top);
            }
            spent += (top - bottom).max(0.0) / soft;
            top = top.min(bottom);
        }
        top
    }

    /// Height above `base` after a step, of `rise` before it and a stream of strength `f = K A^m dt / L^n`.
    #[inline]
    fn worn(&self, rise: f32, power: f32, per_m: f32) -> f32 {
        let dt = self.dt_yr as f32;
        if self.slope_exponent == 1.0 {
            return rise / (1.0 + power * dt * per_m);
        }
        // Newton on x + f xⁿ = rise, from above; x stays between 0 and the rise.
        let n = self.slope_exponent;
        let (rise, f) = (f64::from(rise), f64::from(power * dt) * math::pow(f64::from(per_m), n));
        let mut x = rise;
        for _ in 0..20 {
            let xn1 = math::pow(x.max(1e-9), n - 1.0);
            let next = (x - (x + f * x * xn1 - rise) / (1.0 + f * n * xn1)).clamp(0.0, rise);
            if (next - x).abs() < 1e-5 {
                x = next;
                break;
            }
            x = next;
        }
        x as f32
    }
}

impl Shared<'_> {
    fn get(&self, cell: usize) -> f32 {
        f32::from_bits(self.height[cell].load(Ordering::Relaxed))
    }

    fn set(&self, cell: usize, height: f32) {
        self.height[cell].store(height.to_bits(), Ordering::Relaxed);
    }

    /// An outlet: sea stays; a river that leaves the map goes on for a while, gathering land by Hack's law, until it
    /// reaches its base.
    fn outlet(&self, cell: usize) {
        let cut = self.cut;
        let here = self.get(cell);
        if let Some(pin) = cut.pin(cell) {
            self.set(cell, pin);
        } else if here > cut.sea_m && cut.beyond_m > 0.0 {
            let area = f64::from(cut.drained.cells.as_slice()[cell]) * cut.cell_m2;
            let begun = (area / HACK).sqrt();
            // What a metre of length and the growing area come to, beyond the map: as if the whole way had the area
            // of the outlet and were `length` long.
            let length = begun * math::ln((begun + cut.beyond_m) / begun);
            let risen = here + cut.uplift.as_slice()[cell] * cut.dt_yr as f32;
            let rise = risen - cut.base_m;
            let new = if rise > 0.0 {
                cut.worn_to(cell, risen, cut.base_m, cut.power(cell), (1.0 / length) as f32)
            } else {
                risen
            };
            self.set(cell, new);
        }
    }

    /// Everything that drains to `root`, whose height is settled.
    fn climb<'s>(&'s self, root: usize, scope: &rayon::Scope<'s>) {
        let cut = self.cut;
        let cols = cut.ways.0.cols();
        let mut stack = vec![root];
        while let Some(at) = stack.pop() {
            // Streams come down to a hair above the sea, whatever the depth of its floor: land stays land.
            let base = self.get(at);
            let base = if base <= cut.sea_m { cut.sea_m + 0.01 } else { base };
            let mut donors = cut.donors.as_slice()[at];
            while donors != 0 {
                let way = donors.trailing_zeros() as u8;
                donors &= donors - 1;
                let donor = step(at, way, cols);
                self.wear(donor, (way + 4) & 7, base);
                let area = cut.drained.cells.as_slice()[donor];
                if area > SPAWN {
                    scope.spawn(move |scope| self.climb(donor, scope));
                } else if area > 1 {
                    stack.push(donor);
                }
            }
        }
    }

    /// Settles a cell that drains along a way to a settled height.
    #[inline]
    fn wear(&self, cell: usize, way: u8, base: f32) {
        let cut = self.cut;
        let new = cut.pin(cell).unwrap_or_else(|| {
            let risen = self.get(cell) + cut.uplift.as_slice()[cell] * cut.dt_yr as f32;
            // Below its receiver a cell is under a lake: nothing is cut there.
            if risen > base {
                cut.worn_to(cell, risen, base, cut.power(cell), cut.spans.per_m(cell, way as usize))
            } else {
                risen
            }
        });
        self.set(cell, new);
    }
}
