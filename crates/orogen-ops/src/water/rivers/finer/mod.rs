//! Rivers on samples of another spacing: beds from the lines, with their width, depth and banks.

mod beds;
mod curves;

use orogen_core::{Ctx, Frame, OpError, Part, Raster, Refiner, Solved, Terrain, layer};

use self::beds::Beds;
use self::curves::Curves;
use super::Rivers;
use crate::water::sea_level;
use crate::water::shores::{Shores, replaced};

/// What windows of another spacing are made from.
pub(super) struct Finer {
    params: Rivers,
    base: Frame,
    /// What the rivers cut away on the recipe's lattice: 0 or less. Finer windows cut beds of their own.
    cut: Raster<f32>,
    shores: Shores,
    curves: Curves,
    beds: Beds,
}

impl Finer {
    pub fn new(params: &Rivers, solved: Solved<'_>, ctx: &Ctx<'_>) -> Result<Option<Self>, OpError> {
        let Some(before) = solved.before else { return Ok(None) };
        let Some(lines) = solved.after.vector("rivers") else { return Ok(None) };
        let base = *solved.after.frame();
        let (old, new) = (before.get(layer::HEIGHT)?, solved.after.get(layer::HEIGHT)?);
        let water = solved.after.get(layer::WATER)?;
        let mut cut = new.clone();
        let mut ground = new.clone();
        cut.par_rows(|row, out| out.iter_mut().zip(old.row(row)).for_each(|(c, b)| *c = (*c - b).min(0.0)));
        // A hole stays one: `max` would give the other number.
        ground.par_rows(|row, out| {
            out.iter_mut().zip(old.row(row)).for_each(|(g, b)| *g = if *b > *g { *b } else { *g });
        });
        ctx.tick(1, 4)?;
        let [dx, dy] = base.spacing_m();
        let mut shores = Shores::on(base, ground.clone());
        if params.lakes {
            shores = shores.with_lakes(new, water, params.lake_depth_m as f32, params.lake_m2 / (dx * dy));
        }
        if params.sea {
            let heights = old.as_slice();
            shores = shores.with_sea(0.0, |cell| heights[cell] <= 0.0);
        }
        ctx.tick(2, 4)?;
        let curves = Curves::new(params, &base, &ground, &shores, lines);
        ctx.tick(3, 4)?;
        let beds = Beds::new(&base, &curves);
        Ok(Some(Self { params: params.clone(), base, cut, shores, curves, beds }))
    }
}

impl Finer {
    /// The ground of a window without rivers, and the level of standing water on it.
    fn flooded(&self, window: &Terrain) -> Result<(Raster<f32>, Raster<f32>), OpError> {
        let frame = *window.frame();
        let (cols, rows) = self.base.places_of(&frame);
        let cut = self.cut.bicubic_grid(&cols, &rows);
        let mut height = window.get(layer::HEIGHT)?.clone();
        height.par_rows(|row, out| out.iter_mut().zip(cut.row(row)).for_each(|(h, cut)| *h -= cut));
        let levels = self.shores.flood(&frame, &mut height);
        Ok((height, levels))
    }
}

impl Refiner for Finer {
    fn refine(&self, window: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *window.frame();
        let (mut height, levels) = self.flooded(&window)?;
        ctx.tick(1, 2)?;
        let sea_m = sea_level(self.params.sea);
        let mut water = Raster::filled(frame.cols(), frame.rows(), 0f32);
        self.beds.cut(&frame, sea_m, &levels, &mut height, &mut water);
        // The sea is not part of the rivers.
        water.par_rows(|row, out| {
            for ((water, level), h) in out.iter_mut().zip(levels.row(row)).zip(height.row(row)) {
                if *level > sea_m {
                    *water = (level - h).max(0.0);
                }
            }
        });
        let mut window = replaced(window, [(layer::HEIGHT.name(), height), (layer::WATER.name(), water)])?;
        let provenance = window.provenance().of(&Part::Vectors("rivers".into())).cloned().collect::<Vec<_>>();
        window.set_vector("rivers", self.curves.lines.clone());
        window.record(Part::Vectors("rivers".into()), provenance);
        Ok(window)
    }

    fn size_bytes(&self) -> usize {
        4 * self.base.len() + self.shores.size_bytes() + self.curves.size_bytes() + self.beds.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::water::shores::fine_window;
    use orogen_core::vector::Column;
    use orogen_core::{Op, Spline, math};

    const CELL_M: f64 = 40.0;
    const SIDE: usize = 121;

    /// Hills with waves of many sizes on ground that falls to the south, into the sea if it may: pits, passes, valleys.
    fn country(steep: f64) -> Terrain {
        let frame = Frame::square(CELL_M * (SIDE - 1) as f64, SIDE).unwrap();
        let mut terrain = Terrain::new(frame);
        let height = Raster::from_fn(SIDE, SIDE, |col, row| {
            let (x, y) = (col as f64, row as f64);
            let mut h = 250.0 - steep * y;
            for (k, size) in [3.1, 5.3, 9.7, 17.3, 31.1, 57.7].into_iter().enumerate() {
                let way = 2.4 * k as f64;
                let (u, v) =
                    (x * math::cos(way) - y * math::sin(way), x * math::sin(way) + y * math::cos(way));
                h += size * 0.9 * math::sin(u / size + k as f64) * math::cos(v / (1.3 * size));
            }
            h as f32
        });
        terrain.set(layer::HEIGHT, height);
        terrain
    }

    fn params(width_m: f64) -> Rivers {
        Rivers {
            spring_m3_per_s: 0.0,
            spring_m2: 120.0 * CELL_M * CELL_M,
            shortest_m: 200.0,
            width_m,
            ..Rivers::default()
        }
    }

    struct Case {
        before: Terrain,
        after: Terrain,
        finer: Finer,
        spline: Spline,
        change: Raster<f32>,
    }

    impl Case {
        fn new(steep: f64, params: &Rivers) -> Self {
            let before = country(steep);
            let after = params.apply(before.clone(), &Ctx::silent()).unwrap();
            let solved = Solved { before: Some(&before), after: &after };
            let finer = Finer::new(params, solved, &Ctx::silent()).unwrap().unwrap();
            let (old, new) = (before.get(layer::HEIGHT).unwrap(), after.get(layer::HEIGHT).unwrap());
            let spline = Spline::through(old);
            let change = Raster::from_fn(SIDE, SIDE, |col, row| new.row(row)[col] - old.row(row)[col]);
            Self { before, after, finer, spline, change }
        }

        /// A window as the rivers finish it.
        fn window(&self, frame: &Frame) -> Terrain {
            self.finer.refine(self.plain(frame), &Ctx::silent()).unwrap()
        }

        /// A window as interpolation gives it.
        fn plain(&self, frame: &Frame) -> Terrain {
            let (cols, rows) = self.before.frame().places_of(frame);
            let mut height = self.spline.grid(&cols, &rows);
            let change = self.change.bicubic_grid(&cols, &rows);
            height.par_rows(|row, out| out.iter_mut().zip(change.row(row)).for_each(|(h, c)| *h += c));
            let mut window = Terrain::new(*frame);
            window.set(layer::HEIGHT, height);
            window.set(layer::WATER, Raster::filled(frame.cols(), frame.rows(), 0.0));
            window
        }

        /// A part of the country of some spacing round a place on its largest river.
        fn around(&self, spacing_m: f64, samples: usize) -> Frame {
            let chain = self.finer.curves.chains.iter().max_by_key(|chain| chain.len()).unwrap();
            let at = chain[chain.len() / 2].at;
            let count = (CELL_M * (SIDE - 1) as f64 / spacing_m) as usize + 1;
            let whole = Frame::square(spacing_m * (count - 1) as f64, count).unwrap();
            let [col, row] = whole.locate(at[0], at[1]).map(|at| at as usize);
            let samples = samples.min(count);
            let first = |at: usize| at.saturating_sub(samples / 2).min(count - samples) as i64;
            whole.window(first(col), first(row), samples, samples)
        }
    }

    #[test]
    fn lines_never_rise_and_meet() {
        for (steep, width_m) in [(0.5, 6.0), (2.5, 6.0), (2.5, 200.0)] {
            let case = Case::new(steep, &params(width_m));
            let lines = &case.finer.curves.lines;
            assert!(lines.len() > 5);
            let Some(Column::Integer(into)) = lines.feature_attributes().get("into") else { panic!() };
            for (reach, into) in into.iter().enumerate() {
                let line = &lines.vertices()[lines.parts(reach).next().unwrap()];
                assert!(line.windows(2).all(|pair| pair[1][2] <= pair[0][2]), "reach {reach} rises");
                if let Ok(next) = usize::try_from(*into) {
                    let next = lines.vertices()[lines.parts(next).next().unwrap().start];
                    assert_eq!(line[line.len() - 1], next, "reach {reach} ends elsewhere");
                }
            }
            // Smooth: no piece turns by much from the one before.
            let turns = case.finer.curves.chains.iter().flat_map(|chain| chain.windows(3)).map(|n| {
                let way = |a: usize, b: usize| math::atan2(n[b].at[1] - n[a].at[1], n[b].at[0] - n[a].at[0]);
                let turn = (way(1, 2) - way(0, 1)).to_degrees().rem_euclid(360.0);
                turn.min(360.0 - turn)
            });
            let turns: Vec<f64> = turns.collect();
            let sharp = turns.iter().filter(|turn| **turn > 30.0).count();
            assert!(sharp * 200 < turns.len(), "{sharp} of {} corners", turns.len());
        }
    }

    #[test]
    fn no_river_rises_at_any_spacing() {
        // From every sample of running water wet samples that never rise lead to a lake, the sea or the edge of the window.
        for steep in [0.5, 2.5] {
            let case = Case::new(steep, &params(120.0));
            for (spacing, samples) in [(40.0, 121), (10.0, 300), (4.0, 400), (1.0, 400)] {
                let frame = case.around(spacing, samples);
                let window = case.window(&frame);
                let (h, w) = (window.get(layer::HEIGHT).unwrap(), window.get(layer::WATER).unwrap());
                let (_, levels) = case.finer.flooded(&case.plain(&frame)).unwrap();
                let (cols, rows) = (frame.cols(), frame.rows());
                let surface = |cell: usize| h.as_slice()[cell] + w.as_slice()[cell];
                let stands =
                    |cell: usize| levels.as_slice()[cell] > f32::NEG_INFINITY || h.as_slice()[cell] <= 0.0;
                let runs = |cell: usize| w.as_slice()[cell] > 0.0 && !stands(cell);
                // Against the stream from all ends.
                let mut reached = vec![false; cols * rows];
                let is_end = |cell: usize| {
                    let (col, row) = (cell % cols, cell / cols);
                    let edge = col == 0 || row == 0 || col + 1 == cols || row + 1 == rows;
                    edge || crate::drainage::neighbours_of(cell, cols, rows).any(stands)
                };
                let mut open: Vec<usize> =
                    (0..cols * rows).filter(|&cell| (spacing > 5.0 || runs(cell)) && is_end(cell)).collect();
                open.iter().for_each(|&cell| reached[cell] = true);
                while let Some(cell) = open.pop() {
                    for up in crate::drainage::neighbours_of(cell, cols, rows) {
                        // Some rivers are narrower than 10 m: there the height of a sample is that of their water.
                        if (spacing > 5.0 || runs(up)) && !reached[up] && surface(up) >= surface(cell) - 2e-4
                        {
                            reached[up] = true;
                            open.push(up);
                        }
                    }
                }
                let wet = (0..cols * rows).filter(|&cell| runs(cell)).count();
                let stuck = (0..cols * rows).filter(|&cell| runs(cell) && !reached[cell]).count();
                assert!(spacing > 20.0 || wet > 200, "{wet} wet samples at {spacing} m");
                assert_eq!(stuck, 0, "of {wet} samples at {spacing} m, {steep} steep");
            }
        }
    }

    #[test]
    fn nothing_stands_in_the_way_of_a_brook() {
        // Narrower than a sample: the samples that its line crosses are no higher than its water just above.
        let case = Case::new(2.5, &params(3.0));
        for spacing in [10.0, 4.0] {
            let frame = case.around(spacing, 500);
            let window = case.window(&frame);
            let h = window.get(layer::HEIGHT).unwrap();
            let mut count = 0;
            for chain in &case.finer.curves.chains {
                for pair in chain.windows(8).filter(|nodes| nodes.iter().all(|node| !node.lake)) {
                    let [col, row] = frame.locate(pair[7].at[0], pair[7].at[1]).map(f64::round);
                    if col < 0.0 || row < 0.0 || col >= frame.cols() as f64 || row >= frame.rows() as f64 {
                        continue;
                    }
                    let ground = f64::from(h.row(row as usize)[col as usize]);
                    count += 1;
                    assert!(ground <= pair[0].z + 0.05, "{ground} m below {} m at {spacing} m", pair[0].z);
                }
            }
            assert!(count > 200, "{count}");
        }
    }

    #[test]
    fn a_bed_has_the_width_and_depth_of_its_river() {
        let case = Case::new(2.5, &params(60.0));
        let window = case.window(&case.around(1.0, 500));
        let frame = *window.frame();
        let (h, w) = (window.get(layer::HEIGHT).unwrap(), window.get(layer::WATER).unwrap());
        let chain = case.finer.curves.chains.iter().max_by_key(|chain| chain.len()).unwrap();
        let mut count = 0;
        for node in chain.iter().filter(|node| !node.lake && node.z > 2.0) {
            let across = |off: f64| {
                let at = [node.at[0] - node.along[1] * off, node.at[1] + node.along[0] * off];
                let [col, row] = frame.locate(at[0], at[1]).map(f64::round);
                let inside =
                    col >= 0.0 && row >= 0.0 && col < frame.cols() as f64 && row < frame.rows() as f64;
                inside.then(|| (h.row(row as usize)[col as usize], w.row(row as usize)[col as usize]))
            };
            let half = 0.5 * node.width;
            let (Some(middle), Some(_), Some(_)) = (across(0.0), across(half + 5.0), across(-half - 5.0))
            else {
                continue;
            };
            count += 1;
            assert!(f64::from(middle.1) > 0.9 * node.depth, "{} m of {} m", middle.1, node.depth);
            assert!((f64::from(middle.0 + middle.1) - node.z).abs() < 0.3);
            // Beside the water the ground is dry and no lower than it.
            let dry = [half + 3.0, -half - 3.0].into_iter().filter_map(across);
            let perched = dry.filter(|(h, w)| *w == 0.0 && f64::from(*h) < node.z - 0.3).count();
            assert_eq!(perched, 0, "ground below the water beside it");
        }
        assert!(count > 20, "{count}");
    }

    #[test]
    fn lakes_are_level_and_shores_crisp() {
        let rivers = Rivers { lake_m2: 10.0 * CELL_M * CELL_M, ..params(6.0) };
        let case = Case::new(0.5, &rivers);
        let lakes = case.finer.shores.count() - 1;
        assert!(lakes > 1, "{lakes} lakes");
        for (spacing, samples) in [(10.0, 481), (4.0, 1201)] {
            let count = (CELL_M * (SIDE - 1) as f64 / spacing) as usize + 1;
            let frame =
                Frame::square(spacing * (count - 1) as f64, count).unwrap().window(0, 0, samples, samples);
            let window = case.window(&frame);
            let (h, w) = (window.get(layer::HEIGHT).unwrap(), window.get(layer::WATER).unwrap());
            let (_, levels) = case.finer.flooded(&case.plain(&frame)).unwrap();
            let mut range: std::collections::BTreeMap<u32, (f32, f32, usize)> = Default::default();
            for ((h, w), level) in h.as_slice().iter().zip(w.as_slice()).zip(levels.as_slice()) {
                if *level > 0.0 && *w > 0.0 {
                    let entry = range.entry(level.to_bits()).or_insert((f32::MAX, f32::MIN, 0));
                    *entry = (entry.0.min(h + w), entry.1.max(h + w), entry.2 + 1);
                }
            }
            assert!(range.len() > 1, "{}", range.len());
            for (low, high, count) in range.values() {
                assert!(
                    high - low <= 2.0 * f32::EPSILON * high,
                    "tilted from {low} to {high} m, {count} samples"
                );
            }
            // As much of the land is lake as on the recipe's own samples.
            let share = |wet: usize, all: usize| wet as f64 / all as f64;
            let own = (0..SIDE * SIDE).filter(|&cell| case.finer.shores.lake_level(cell).is_some()).count();
            let fine = range.values().map(|(_, _, count)| count).sum::<usize>();
            let (own, fine) = (share(own, SIDE * SIDE), share(fine, samples * samples));
            assert!((own - fine).abs() < 0.2 * own, "{own} and {fine}");
        }
    }

    #[test]
    fn a_window_is_as_if_cut_from_the_whole() {
        for (steep, width_m) in [(0.5, 6.0), (2.5, 120.0)] {
            let case = Case::new(steep, &params(width_m));
            fine_window(&Frame::square(CELL_M * (SIDE - 1) as f64, 481).unwrap(), |frame| case.window(frame));
            fine_window(&case.around(4.0, 420), |frame| case.window(frame));
        }
    }

    #[test]
    fn odd_parameters_and_lands_are_survived() {
        let absurd = [
            Rivers { width_m: 0.0, depth_m: 0.0, cut: 0.0, ..params(0.0) },
            Rivers { bank_m: 0.01, cut: 100.0, ..params(1000.0) },
            Rivers { bank_m: 1e5, depth_m: 100.0, lakes: false, sea: false, ..params(300.0) },
            Rivers { lake_depth_m: 0.0, lake_m2: 0.0, meander: 3.0, ..params(6.0) },
        ];
        for rivers in absurd {
            let case = Case::new(1.0, &rivers);
            let window = case.window(&case.around(10.0, 120));
            for data in [layer::HEIGHT, layer::WATER] {
                assert!(window.get(data).unwrap().as_slice().iter().all(|v| v.is_finite()));
            }
            assert!(window.get(layer::WATER).unwrap().as_slice().iter().all(|w| *w >= 0.0));
        }
        for flat in [5.0, -5.0, f32::NAN] {
            let frame = Frame::square(400.0, 11).unwrap();
            let mut before = Terrain::new(frame);
            before.set(layer::HEIGHT, Raster::filled(11, 11, flat));
            let after = params(6.0).apply(before.clone(), &Ctx::silent()).unwrap();
            let solved = Solved { before: Some(&before), after: &after };
            let finer = Finer::new(&params(6.0), solved, &Ctx::silent()).unwrap().unwrap();
            let mut window = Terrain::new(Frame::square(400.0, 41).unwrap());
            window.set(layer::HEIGHT, Raster::filled(41, 41, flat));
            window.set(layer::WATER, Raster::filled(41, 41, 0.0));
            let window = finer.refine(window, &Ctx::silent()).unwrap();
            let h = window.get(layer::HEIGHT).unwrap().as_slice();
            assert!(h.iter().all(|h| h.is_nan() == flat.is_nan()));
        }
        let _ = Case::new(1.0, &params(6.0)).after;
    }
}
