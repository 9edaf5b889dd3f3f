//! How dense the plants of a forest stand, measured over a length in metres: the same at every sampling.
//!
//! A plant counts at the four samples around it, and is then spread over a tent as wide as the length, over the ground that its
//! species can stand on and no other. So densities add up to the plants, and end where a species' rules do.

use orogen_core::{Cancelled, Ctx, Frame, Raster};

/// What a plant adds to its surroundings, of each sum as much as these.
pub(super) type Amounts<const N: usize> = [f32; N];

/// Spreads amounts over the samples of a frame.
pub(super) struct Spread {
    frame: Frame,
    loops: bool,
    /// Width of the averages along rows and columns, in samples.
    widths: [f64; 2],
}

impl Spread {
    /// Over a length in metres.
    pub fn new(frame: &Frame, loops: bool, over_m: f64) -> Self {
        let spacing = frame.spacing_m();
        let samples = [frame.cols(), frame.rows()];
        // Sharing a plant out over four samples and averaging whole samples widens it by two samples squared.
        let width = |axis: usize| {
            let samples = samples[axis] as f64;
            let own = over_m / spacing[axis];
            (own * own - 2.0).max(1.0).sqrt().min(samples)
        };
        Self { frame: *frame, loops, widths: [width(0), width(1)] }
    }

    /// The amounts on a square metre, of plants given by place. `ground` is 1 where they can stand, else 0.
    pub fn over<const N: usize>(
        &self,
        plants: impl Iterator<Item = ([f64; 2], Amounts<N>)>,
        ground: &Raster<f32>,
        ctx: &Ctx<'_>,
    ) -> Result<[Raster<f32>; N], Cancelled> {
        let (cols, rows) = (self.frame.cols(), self.frame.rows());
        let mut sums: [Raster<f32>; N] = std::array::from_fn(|_| Raster::filled(cols, rows, 0.0));
        for (i, (place, amounts)) in plants.enumerate() {
            if i % 100_000 == 0 {
                ctx.stop_if_asked()?;
            }
            self.add(&mut sums, ground, place, &amounts);
        }
        // What is spread from a sample is shared out over the ground around it.
        let mut room = ground.clone();
        self.average(&mut room, ctx)?;
        for sum in &mut sums {
            sum.par_rows(|row, values| {
                for (value, room) in values.iter_mut().zip(room.row(row)) {
                    *value /= room.max(0.01);
                }
            });
            self.average(sum, ctx)?;
            sum.par_rows(|row, values| {
                for (value, ground) in values.iter_mut().zip(ground.row(row)) {
                    *value = value.max(0.0) * ground;
                }
            });
        }
        Ok(sums)
    }

    /// Shares the amounts of a plant out over the samples around it where it can stand.
    fn add<const N: usize>(
        &self,
        sums: &mut [Raster<f32>; N],
        ground: &Raster<f32>,
        place: [f64; 2],
        amounts: &Amounts<N>,
    ) {
        let (cols, rows) = (self.frame.cols(), self.frame.rows());
        let [col, row] = self.frame.locate(place[0], place[1]);
        let (left, top) = (col.floor(), row.floor());
        let (x, y) = (col - left, row - top);
        let wrapped = |at: f64, count: usize| {
            let at = at as i64;
            (if self.loops { at.rem_euclid(count as i64) } else { at.clamp(0, count as i64 - 1) }) as usize
        };
        let around = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|(i, j)| {
            let share = (if i > 0.0 { x } else { 1.0 - x }) * if j > 0.0 { y } else { 1.0 - y };
            (wrapped(left + i, cols), wrapped(top + j, rows), share)
        });
        let free = |&(col, row, share): &(usize, usize, f64)| share * f64::from(ground.row(row)[col]);
        let sum: f64 = around.iter().map(free).sum();
        for at in &around {
            let share = if sum > 0.0 { free(at) / sum } else { at.2 };
            let per_m2 = share / self.area_m2(at.0, at.1);
            for (raster, amount) in sums.iter_mut().zip(amounts) {
                raster.as_mut_slice()[at.1 * cols + at.0] += (f64::from(*amount) * per_m2) as f32;
            }
        }
    }

    /// The ground of a sample: half of it lies outside at an edge.
    fn area_m2(&self, col: usize, row: usize) -> f64 {
        let [dx, dy] = self.frame.spacing_m();
        let half = |at: usize, count: usize| {
            if !self.loops && (at == 0 || at + 1 == count) { 0.5 } else { 1.0 }
        };
        dx * dy * half(col, self.frame.cols()) * half(row, self.frame.rows())
    }

    /// Averages twice along rows and twice along columns: a tent both ways.
    fn average(&self, raster: &mut Raster<f32>, ctx: &Ctx<'_>) -> Result<(), Cancelled> {
        let along = |raster: &mut Raster<f32>, width: f64| {
            raster.try_par_rows(|_, line| {
                let mut sums = Vec::new();
                average_line(line, width, self.loops, &mut sums);
                average_line(line, width, self.loops, &mut sums);
                ctx.stop_if_asked()
            })
        };
        along(raster, self.widths[0])?;
        let mut turned = raster.transposed();
        along(&mut turned, self.widths[1])?;
        turned.transpose_into(raster);
        Ok(())
    }
}

/// The mean over `width` samples around each; what lies beyond an end is what lies inside, mirrored or from the other end.
fn average_line(line: &mut [f32], width: f64, loops: bool, sums: &mut Vec<f64>) {
    if width <= 1.0 || line.len() < 2 {
        return;
    }
    let count = line.len() as i64;
    let pad = (width / 2.0).ceil() as i64 + 1;
    let at = |i: i64| {
        if loops {
            return i.rem_euclid(count) as usize;
        }
        let i = i.rem_euclid(2 * (count - 1));
        i.min(2 * (count - 1) - i) as usize
    };
    sums.clear();
    let mut sum = 0.0;
    for i in -pad..count + pad {
        sums.push(sum);
        sum += f64::from(line[at(i)]);
    }
    sums.push(sum);
    // The sum up to a place, in samples; each sample reaches half-way to its neighbours.
    let up_to = |place: f64| {
        let place = place + 0.5 + pad as f64;
        let (whole, part) = (place.floor() as usize, place - place.floor());
        sums[whole] + part * (sums[whole + 1] - sums[whole])
    };
    for (i, value) in line.iter_mut().enumerate() {
        let (from, to) = (i as f64 - width / 2.0, i as f64 + width / 2.0);
        *value = ((up_to(to) - up_to(from)) / width) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few() -> Vec<[f64; 2]> {
        vec![[31.0, 57.0], [0.5, 0.5], [99.0, 50.0], [62.25, 14.0]]
    }

    fn of(frame: &Frame, loops: bool, ground: &Raster<f32>) -> Raster<f32> {
        let spread = Spread::new(frame, loops, 20.0);
        let plants = few().into_iter().map(|place| (place, [1.0]));
        let [made] = spread.over(plants, ground, &Ctx::silent()).unwrap();
        made
    }

    /// What a raster amounts to on the ground.
    fn amount(raster: &Raster<f32>, frame: &Frame, loops: bool) -> f64 {
        let spread = Spread::new(frame, loops, 20.0);
        let all = (0..raster.rows()).flat_map(|row| (0..raster.cols()).map(move |col| (col, row)));
        all.map(|(col, row)| f64::from(raster.row(row)[col]) * spread.area_m2(col, row)).sum()
    }

    #[test]
    fn densities_add_up_to_the_plants() {
        for samples in [26, 101] {
            let frame = Frame::square(100.0, samples).unwrap();
            let all = Raster::filled(samples, samples, 1.0);
            let shore = Raster::from_fn(samples, samples, |col, _| {
                if frame.x_m(col) < 40.0 || frame.x_m(col) > 60.0 { 1.0 } else { 0.0 }
            });
            for ground in [all, shore] {
                let made = of(&frame, false, &ground);
                let sum = amount(&made, &frame, false);
                assert!((sum - 4.0).abs() < 1e-3, "{sum} of 4 plants at {samples} samples");
                let beyond =
                    made.as_slice().iter().zip(ground.as_slice()).filter(|(d, g)| **d > 0.0 && **g == 0.0);
                assert_eq!(beyond.count(), 0);
            }
        }
    }

    #[test]
    fn on_a_loop_they_reach_over_the_seam() {
        let frame = Frame::square(100.0, 51).unwrap().window(0, 0, 50, 50);
        let ground = Raster::filled(50, 50, 1.0);
        let made = of(&frame, true, &ground);
        assert!((amount(&made, &frame, true) - 4.0).abs() < 1e-3);
        assert!(made.row(49)[0] > 0.0 && made.row(0)[49] > 0.0);
    }

    #[test]
    fn samplings_agree() {
        let of = |samples: usize| {
            of(&Frame::square(100.0, samples).unwrap(), false, &Raster::filled(samples, samples, 1.0))
        };
        let (coarse, fine) = (of(26), of(101));
        let most = coarse.range().unwrap().1;
        for row in 0..26 {
            for col in 0..26 {
                let differ = (coarse.row(row)[col] - fine.row(4 * row)[4 * col]).abs();
                assert!(differ < 0.06 * most, "{differ} of {most} at {col}, {row}");
            }
        }
    }
}
