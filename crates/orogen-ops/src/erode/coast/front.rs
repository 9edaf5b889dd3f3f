//! The shore on its way inland.

use orogen_core::{Cancelled, Ctx, Progress, Raster};
use rayon::prelude::*;

use super::waves::{FULL, Waves};
use super::{CALM, Coast};

/// Where the shore is.
pub(super) struct Front {
    /// Distance inland of the foot of the cliff, in metres; negative out at sea.
    pub inland_m: Raster<f32>,
    /// Exposure to waves.
    pub exposure: Raster<i32>,
}

/// Farther than any shore.
const FAR: f32 = 1e30;
/// How far the shore moves between two looks at the waves, in metres (or a cell, where that is more).
const LOOK_M: f64 = 10.0;
/// Cells of a row that are looked at together.
const STRETCH: usize = 32;

/// The shore on its way inland.
pub(super) struct Retreat {
    spacing_m: [f64; 2],
    cell_m: f64,
    duration_yr: f64,
    /// The farthest that it can get, the width of the band in which it moves, and how far it gets between two looks.
    farthest_m: f64,
    band_m: f64,
    ahead_m: f64,
    size_m: f64,
    softness: Raster<f32>,
    inland: Raster<f32>,
    next: Raster<f32>,
    /// How far waves would have moved a shore that was at a place all the time, in metres.
    worn: Raster<f32>,
    strength: Raster<f32>,
    speed: Raster<f32>,
    waves: Waves,
    /// Looks at the waves, done and in all.
    look: usize,
    looks: usize,
    /// Steps since the last look, done and in all; none before the next look.
    step: usize,
    steps: usize,
    step_yr: f32,
}

impl Retreat {
    pub fn new(
        height: &Raster<f32>,
        softness: Raster<f32>,
        spacing_m: [f64; 2],
        params: &Coast,
        ctx: &Ctx<'_>,
    ) -> Result<Self, Cancelled> {
        let (cols, rows) = (height.cols(), height.rows());
        let cell_m = spacing_m[0].min(spacing_m[1]);
        let fastest = f64::from(softness.range().map_or(0.0, |(_, most)| most));
        // Waves of all directions at a cape are a little stronger than those on a straight shore.
        let farthest_m = 1.5 * fastest * params.duration_yr;
        let size_m = cols as f64 * spacing_m[0] + rows as f64 * spacing_m[1];
        let band_m = (farthest_m + 4.0 * cell_m).min(size_m);
        let inland = distance(height, spacing_m, band_m);
        ctx.stop_if_asked()?;
        let worn = Raster::filled(cols, rows, 0.0f32);
        Ok(Self {
            spacing_m,
            cell_m,
            duration_yr: params.duration_yr,
            farthest_m,
            band_m,
            // As far as the shore moves between two looks, and a cell more.
            ahead_m: LOOK_M.max(cell_m) + cell_m,
            size_m,
            softness,
            next: inland.clone(),
            inland,
            strength: worn.clone(),
            speed: worn.clone(),
            worn,
            waves: Waves::new(cols, rows, spacing_m, params),
            look: 0,
            looks: (farthest_m / LOOK_M.max(cell_m)).ceil().clamp(1.0, 100_000.0) as usize,
            step: 0,
            steps: 0,
            step_yr: 0.0,
        })
    }

    /// Time from look to look.
    fn look_yr(&self) -> f64 {
        self.duration_yr / self.looks as f64
    }

    /// Share of the time that has gone by.
    pub fn share(&self) -> f64 {
        (self.look as f64 + self.step as f64 / self.steps.max(1) as f64) / self.looks as f64
    }

    /// Looks at the waves, or moves the shore by a step.
    pub fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, Cancelled> {
        ctx.tick(90 * self.look / self.looks + 1, 100)?;
        if self.steps == 0 {
            self.look_at_waves(ctx)?;
            return Ok(Progress::More);
        }
        advance(&self.inland, &self.speed, self.spacing_m, self.step_yr, &mut self.next);
        std::mem::swap(&mut self.inland, &mut self.next);
        self.step += 1;
        if self.step < self.steps {
            return Ok(Progress::More);
        }
        let look_yr = self.look_yr() as f32;
        let (exposure, softness) = (self.waves.last(), &self.softness);
        self.worn.par_rows(|row, out| {
            for ((w, &e), &soft) in out.iter_mut().zip(exposure.row(row)).zip(softness.row(row)) {
                *w += strong(e) * soft * look_yr;
            }
        });
        (self.step, self.steps) = (0, 0);
        self.look += 1;
        Ok(if self.look < self.looks { Progress::More } else { Progress::Done })
    }

    /// Finds how fast the shore moves until the next look.
    fn look_at_waves(&mut self, ctx: &Ctx<'_>) -> Result<(), Cancelled> {
        let Self { inland, strength, speed, softness, waves, .. } = self;
        let first = self.look == 0;
        let exposure = waves.exposure(inland);
        strength.par_rows(|row, out| {
            for ((v, &e), &d) in out.iter_mut().zip(exposure.row(row)).zip(inland.row(row)) {
                if d <= 0.0 || first {
                    *v = strong(e);
                }
            }
        });
        ctx.stop_if_asked()?;
        // What is farther off has been carried there by an earlier look.
        carry_inland(strength, inland, self.spacing_m, if first { self.band_m } else { self.ahead_m }, ctx)?;
        speed.par_rows(|row, out| {
            for ((v, strong), soft) in out.iter_mut().zip(strength.row(row)).zip(softness.row(row)) {
                *v = strong * soft;
            }
        });
        ctx.stop_if_asked()?;
        let most = f64::from(self.speed.range().map_or(0.0, |(_, most)| most));
        let look_yr = self.look_yr();
        let steps = (2.5 * most * look_yr / self.cell_m).ceil().max(1.0);
        self.step_yr = (look_yr / steps) as f32;
        self.steps = steps as usize;
        Ok(())
    }

    /// Where the shore is now, and how far waves would have moved one that was at a place all the time, in metres.
    pub fn so_far(&self) -> (Front, Raster<f32>) {
        let inland_m = distance(&self.inland, self.spacing_m, self.reach_m());
        // The waves as they are now: those of the last look came to another shore.
        let mut waves = self.waves.clone();
        waves.exposure(&self.inland);
        (Front { inland_m, exposure: waves.into_exposure() }, self.worn.clone())
    }

    /// As [`Retreat::so_far`], in the end.
    pub fn into_front(self, ctx: &Ctx<'_>) -> Result<(Front, Raster<f32>), Cancelled> {
        let reach_m = self.reach_m();
        let Self { spacing_m, inland, worn, mut waves, .. } = self;
        ctx.stop_if_asked()?;
        waves.exposure(&inland);
        ctx.stop_if_asked()?;
        let exposure = waves.into_exposure();
        Ok((Front { inland_m: distance(&inland, spacing_m, reach_m), exposure }, worn))
    }

    /// Cliffs lean back, and sand lies before and behind the shore.
    fn reach_m(&self) -> f64 {
        (self.farthest_m + 400.0).min(self.size_m)
    }
}

/// How strongly waves of an exposure work, 0 to 1 or a little more.
fn strong(exposure: i32) -> f32 {
    ((exposure as f32 / FULL - CALM) / (1.0 - CALM)).max(0.0)
}

/// Carries what is known at sea straight inland, so far.
///
/// Waves die on their way up the land. Were the ground just before the shore slower than the shore itself, the more so
/// the larger its cells, the shore would lag behind, most of all on coarse maps.
fn carry_inland(
    values: &mut Raster<f32>,
    inland: &Raster<f32>,
    [dx, dy]: [f64; 2],
    far_m: f64,
    ctx: &Ctx<'_>,
) -> Result<(), Cancelled> {
    let (cols, rows) = (values.cols(), values.rows());
    let (per_x, per_y) = ((1.0 / (dx * dx)) as f32, (1.0 / (dy * dy)) as f32);
    let farthest = far_m.min(f64::from(FAR) / 2.0) as f32;
    let near = |cell: usize| {
        let d = inland.as_slice()[cell];
        // Distances above 0 are in the order of their bits.
        (d > 0.0 && d <= farthest).then_some((d.to_bits(), cell))
    };
    let mut shore: Vec<(u32, usize)> = (0..cols * rows).into_par_iter().filter_map(near).collect();
    // From the sea inland: what a cell looks at is nearer and done.
    shore.par_sort_unstable();
    let (d, of) = (inland.as_slice(), values.as_mut_slice());
    for (i, (_, cell)) in shore.into_iter().enumerate() {
        if i % (1 << 18) == 0 {
            ctx.stop_if_asked()?;
        }
        let (col, row) = (cell % cols, cell / cols);
        let west_east = [cell - usize::from(col > 0), cell + usize::from(col + 1 < cols)];
        let north_south =
            [if row > 0 { cell - cols } else { cell }, if row + 1 < rows { cell + cols } else { cell }];
        let x = seaward(d[cell], west_east.map(|i| d[i]), west_east.map(|i| of[i]), per_x);
        let y = seaward(d[cell], north_south.map(|i| d[i]), north_south.map(|i| of[i]), per_y);
        let weight = x[0] + y[0];
        if weight > 0.0 {
            of[cell] = (x[1] + y[1]) / weight;
        }
    }
    Ok(())
}

/// How much nearer to the sea the nearer of two neighbours is, and that times its value; of two as near, the mean.
fn seaward(here: f32, [a, b]: [f32; 2], [of_a, of_b]: [f32; 2], per: f32) -> [f32; 2] {
    let (low, value) = match a.total_cmp(&b) {
        std::cmp::Ordering::Less => (a, of_a),
        std::cmp::Ordering::Greater => (b, of_b),
        std::cmp::Ordering::Equal => (a, 0.5 * (of_a + of_b)),
    };
    let weight = if low < here { (here - low) * per } else { 0.0 };
    [weight, weight * value]
}

/// Moves the zero of a field for a short time: `φ − v dt |∇φ|`, slopes taken from the side that the shore comes from.
fn advance(field: &Raster<f32>, speed: &Raster<f32>, [dx, dy]: [f64; 2], dt: f32, next: &mut Raster<f32>) {
    let (cols, rows) = (field.cols(), field.rows());
    let (per_x, per_y) = ((1.0 / dx) as f32, (1.0 / dy) as f32);
    next.par_rows(|row, out| {
        let (here, speed) = (field.row(row), speed.row(row));
        let (up, down) = (field.row(row.saturating_sub(1)), field.row((row + 1).min(rows - 1)));
        for col in 0..cols {
            let (d, v) = (here[col], speed[col]);
            if v <= 0.0 || d >= FAR {
                out[col] = d;
                continue;
            }
            let rise = |a: f32, b: f32| {
                let low = if a < b { a } else { b };
                if low < d { d - low } else { 0.0 }
            };
            let x = rise(here[col.saturating_sub(1)], here[(col + 1).min(cols - 1)]) * per_x;
            let y = rise(up[col], down[col]) * per_y;
            out[col] = d - v * dt * (x * x + y * y).sqrt();
        }
    });
}

/// Distance to where a field passes zero, in metres, positive where the field is; up to `band_m`, and that beyond. Holes
/// are farther than anything.
fn distance(field: &Raster<f32>, [dx, dy]: [f64; 2], band_m: f64) -> Raster<f32> {
    let (cols, rows) = (field.cols(), field.rows());
    let (dx, dy) = (dx as f32, dy as f32);
    let known = Raster::from_fn(cols, rows, |col, row| {
        let here = field.row(row)[col];
        if here.is_nan() || here >= FAR {
            return FAR;
        }
        // The grade along an axis, across the shore where the shore is passed, and whether it is.
        let grade = |before: f32, after: f32, step: f32| {
            let passed = |there: f32| {
                if there < FAR && (there > 0.0) != (here > 0.0) { (there - here).abs() } else { 0.0 }
            };
            let most = passed(before).max(passed(after));
            if most > 0.0 {
                (most / step, true)
            } else if before < FAR && after < FAR {
                (0.5 * (after - before).abs() / step, false)
            } else {
                (0.0, false)
            }
        };
        let line = field.row(row);
        let (x, west_east) = grade(line[col.saturating_sub(1)], line[(col + 1).min(cols - 1)], dx);
        let up = field.row(row.saturating_sub(1))[col];
        let down = field.row((row + 1).min(rows - 1))[col];
        let (y, north_south) = grade(up, down, dy);
        if west_east || north_south { here.abs() / (x * x + y * y).sqrt() } else { FAR }
    });
    let mut now = known.clone();
    let mut next = known.clone();
    // A stretch of a row is worked out again only when it or one of the eight around it changed: all else would give the
    // same, and stands in both rasters.
    let stretches = cols.div_ceil(STRETCH);
    let mut changed = Raster::filled(stretches, rows, true);
    let sweeps = (band_m / f64::from(dx.min(dy))).ceil() as usize + 2;
    for _ in 0..sweeps {
        let mut changes = Raster::filled(stretches, rows, false);
        let lines =
            next.as_mut_slice().par_chunks_mut(cols).zip(changes.as_mut_slice().par_chunks_mut(stretches));
        lines.enumerate().with_min_len(8).for_each(|(row, (out, changes))| {
            let around = [row.saturating_sub(1), row, (row + 1).min(rows - 1)];
            let [up, here, down] = around.map(|row| now.row(row));
            let (fixed, field) = (known.row(row), field.row(row));
            let least = |a: f32, b: f32| if a < b { a } else { b };
            for (i, has_changed) in changes.iter_mut().enumerate() {
                let beside = i.saturating_sub(1)..(i + 2).min(stretches);
                if !around.iter().any(|&row| changed.row(row)[beside.clone()].contains(&true)) {
                    continue;
                }
                for col in i * STRETCH..((i + 1) * STRETCH).min(cols) {
                    if fixed[col] < FAR || field[col].is_nan() {
                        continue;
                    }
                    let x = least(here[col.saturating_sub(1)], here[(col + 1).min(cols - 1)]);
                    let y = least(up[col], down[col]);
                    out[col] = least(here[col], from_sides(x, dx, y, dy));
                    *has_changed |= out[col] != here[col];
                }
            }
        });
        std::mem::swap(&mut now, &mut next);
        changed = changes;
        if !changed.as_slice().contains(&true) {
            break;
        }
    }
    let band = band_m as f32;
    Raster::from_fn(cols, rows, |col, row| {
        let (d, of) = (now.row(row)[col], field.row(row)[col]);
        let d = if d < band { d } else { band };
        if of.is_nan() || of >= FAR {
            FAR
        } else if of > 0.0 {
            d
        } else {
            -d
        }
    })
}

/// The distance of a place whose nearer neighbours along x and y are so far: the plane through both.
fn from_sides(x: f32, dx: f32, y: f32, dy: f32) -> f32 {
    if x >= FAR && y >= FAR {
        return FAR;
    }
    if x + dx <= y {
        return x + dx;
    }
    if y + dy <= x {
        return y + dy;
    }
    let low = if x < y { x } else { y };
    let (x, y) = (x - low, y - low);
    let (wx, wy) = (1.0 / (dx * dx), 1.0 / (dy * dy));
    let (a, b, c) = (wx + wy, x * wx + y * wy, x * x * wx + y * y * wy - 1.0);
    low + (b + (b * b - a * c).max(0.0).sqrt()) / a
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::math;

    #[test]
    fn distances_are_those_to_the_line() {
        for angle in [0.0, 17.0, 45.0, 71.0] {
            let (sin, cos) = (math::sin(f64::to_radians(angle)), math::cos(f64::to_radians(angle)));
            // Not a distance itself: four times as steep.
            let line = |c: usize, r: usize| (c as f64 * 3.0 - 60.0) * cos + (r as f64 * 4.0 - 90.0) * sin;
            let field = Raster::from_fn(41, 46, |c, r| 4.0 * line(c, r) as f32);
            let found = distance(&field, [3.0, 4.0], 500.0);
            for row in 15..30 {
                for col in 12..28 {
                    let wanted = line(col, row) as f32;
                    assert!(
                        (found.row(row)[col] - wanted).abs() < 0.6,
                        "{angle}: {} for {wanted}",
                        found.row(row)[col]
                    );
                }
            }
        }
    }

    #[test]
    fn a_round_island_shrinks_evenly() {
        let n = 101;
        let radius = |c: f64, r: f64| math::hypot(c - 50.0, r - 50.0) * 5.0;
        let mut field = Raster::from_fn(n, n, |c, r| (150.0 - radius(c as f64, r as f64)) as f32);
        let speed = Raster::filled(n, n, 1.0);
        for _ in 0..30 {
            let mut next = field.clone();
            advance(&field, &speed, [5.0, 5.0], 2.0, &mut next);
            field = next;
        }
        // 60 m off 150 m, in all directions alike.
        for angle in [0.0, 20.0, 45.0, 70.0, 90.0] {
            let (sin, cos) = (math::sin(f64::to_radians(angle)), math::cos(f64::to_radians(angle)));
            let shore = (0..400)
                .map(|i| f64::from(i) * 0.5)
                .find(|d| field.bilinear(50.0 + d / 5.0 * cos, 50.0 + d / 5.0 * sin) <= 0.0);
            let shore = shore.unwrap();
            assert!((shore - 90.0).abs() < 4.0, "{shore} m at {angle}");
        }
    }
}
