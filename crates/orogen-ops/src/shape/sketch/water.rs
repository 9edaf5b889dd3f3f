//! Rivers: courses from drawings, the way on to the sea, heights that fall, and what happens where mountains stand in
//! the way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use orogen_core::{Raster, Rect, Seed, math};

use super::Crossing;
use super::drawn::{Course, Item};
use super::ground::{fractal, rounded};
use super::lattice::{Component, Lattice, distances, simplify, soften};
use crate::shape::features::{Feature, River, RiverPoint};

/// A river on its way through the sketch: places a cell or less apart.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub item: Item,
    pub points: Vec<[f64; 2]>,
    pub width: f64,
    /// Whether somebody has drawn it.
    pub drawn: bool,
    /// Which end is the spring, where that is known.
    pub spring: Option<End>,
    /// Places where it runs through a gorge.
    pub gorge: Vec<bool>,
}

/// An end of a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

/// Most places of a course.
const MOST: usize = 100_000;

impl Stream {
    pub fn new(item: Item, points: Vec<[f64; 2]>, width: f64, drawn: bool) -> Self {
        let gorge = vec![false; points.len()];
        Self { item, points, width, drawn, spring: None, gorge }
    }

    pub fn length(&self) -> f64 {
        self.points.windows(2).map(|p| math::hypot(p[1][0] - p[0][0], p[1][1] - p[0][1])).sum()
    }

    fn reverse(&mut self) {
        self.points.reverse();
        self.gorge.reverse();
    }

    /// How it is called in a message.
    pub fn called(&self) -> String {
        match (&self.item.name, self.points.first()) {
            (Some(name), _) => format!("river {name:?}"),
            (None, Some(p)) => format!("the river at {:.0}, {:.0}", p[0], p[1]),
            (None, None) => String::from("a river"),
        }
    }

    /// Below full fidelity the course swings to both sides, more in its middle than at its ends.
    pub fn loosen(&mut self, fidelity: f64, lattice: &Lattice, seed: Seed) {
        let n = self.points.len();
        if fidelity >= 1.0 || n < 8 {
            return;
        }
        let length = self.length();
        let by = (1.0 - fidelity) * (8.0 * self.width + 4.0 * lattice.cell).min(0.12 * length);
        let wave = (6.0 * by).max(8.0 * lattice.cell);
        let before = self.points.clone();
        for i in 1..n - 1 {
            let (a, b) = (before[i - 1], before[i + 1]);
            let along = math::hypot(b[0] - a[0], b[1] - a[1]).max(1e-9);
            let ends = math::sin(std::f64::consts::PI * i as f64 / (n - 1) as f64).sqrt();
            let off = by * ends * 3.2 * fractal(seed, before[i], wave);
            self.points[i] =
                [before[i][0] - off * (b[1] - a[1]) / along, before[i][1] + off * (b[0] - a[0]) / along];
        }
    }
}

/// The parts of drawn courses that lie in the world.
pub(super) fn courses(courses: &[Course], lattice: &Lattice, usual_m: f64) -> Vec<Stream> {
    let Rect { min, max } = lattice.frame.extent();
    let mut found = Vec::new();
    for course in courses {
        let width = course.item.width_m.unwrap_or(usual_m);
        let mut piece: Vec<[f64; 2]> = Vec::new();
        let mut count = 0;
        let mut done = |piece: &mut Vec<[f64; 2]>| {
            if !piece.is_empty() {
                // Corners of a line drawn with few points are rounded by less than two cells.
                soften(piece, false, 12);
                found.push(Stream::new(course.item.clone(), std::mem::take(piece), width, true));
            }
        };
        if let [only] = course.points[..]
            && lattice.cell_at(only).is_some()
        {
            piece.push(only);
        }
        for pair in course.points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            // The part of the line inside the world.
            let (mut from, mut to) = (0.0f64, 1.0f64);
            for k in 0..2 {
                let d = b[k] - a[k];
                let (near, far) = ((min[k] - a[k]) / d, (max[k] - a[k]) / d);
                if d != 0.0 {
                    from = from.max(near.min(far));
                    to = to.min(near.max(far));
                } else if a[k] < min[k] || a[k] > max[k] {
                    to = -1.0;
                }
            }
            if from > to {
                done(&mut piece);
                continue;
            }
            if from > 0.0 {
                done(&mut piece);
            }
            let length = math::hypot(b[0] - a[0], b[1] - a[1]) * (to - from);
            let steps = (length / (0.75 * lattice.cell)).ceil().max(1.0) as usize;
            count += steps;
            if count > MOST {
                break;
            }
            for i in usize::from(!piece.is_empty())..=steps {
                let t = from + (to - from) * i as f64 / steps as f64;
                piece.push([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]);
            }
            if to < 1.0 {
                done(&mut piece);
            }
        }
        done(&mut piece);
    }
    found
}

/// Costs as whole numbers that sort like them.
fn key(cost: f64) -> u64 {
    cost.max(0.0).to_bits()
}

/// The middle lines of a painted river: the longest way through it, and branches that are longer than it is wide.
pub(super) fn middle_lines(component: &Component, item: &Item, lattice: &Lattice) -> Vec<Stream> {
    let mut inside = vec![false; lattice.len()];
    component.cells.iter().for_each(|cell| inside[*cell] = true);
    let deep = distances(&inside, lattice.cols());
    let depth = |cell: usize| f64::from(deep[cell]).min(1e3);
    let widest = component.cells.iter().map(|cell| depth(*cell)).fold(0.0, f64::max);
    // From some cells to all others; ways along the middle are cheap when `middle`.
    let spread = |from: &[usize], middle: bool| {
        let mut cost = vec![f64::INFINITY; lattice.len()];
        let mut before = vec![usize::MAX; lattice.len()];
        let mut heap = BinaryHeap::new();
        for cell in from {
            cost[*cell] = 0.0;
            heap.push(Reverse((0u64, *cell)));
        }
        while let Some(Reverse((bits, cell))) = heap.pop() {
            if bits > key(cost[cell]) {
                continue;
            }
            for (next, far) in lattice.around(cell).filter(|(next, _)| inside[*next]) {
                let step = if middle { far * (widest / depth(next)).min(8.0) } else { far };
                let new = cost[cell] + step;
                if new < cost[next] {
                    cost[next] = new;
                    before[next] = cell;
                    heap.push(Reverse((key(new), next)));
                }
            }
        }
        (cost, before)
    };
    let furthest = |cost: &[f64]| {
        let all = component.cells.iter().copied().filter(|cell| cost[*cell].is_finite());
        all.max_by(|a, b| cost[*a].total_cmp(&cost[*b]).then(b.cmp(a)))
    };
    let way = |before: &[usize], mut cell: usize| {
        let mut cells = vec![cell];
        while before[cell] != usize::MAX {
            cell = before[cell];
            cells.push(cell);
        }
        cells
    };
    let Some(first) = component.cells.first() else { return Vec::new() };
    let start = furthest(&spread(&[*first], false).0).unwrap_or(*first);
    let (_, before) = spread(&[start], true);
    let end = furthest(&spread(&[start], false).0).unwrap_or(start);
    let mut all: Vec<usize> = Vec::new();
    let mut found = Vec::new();
    let mut line = way(&before, end);
    for _ in 0..64 {
        let mean = line.iter().map(|cell| depth(*cell) - 0.5).sum::<f64>() / line.len() as f64;
        let width = item.width_m.unwrap_or((2.0 * mean * lattice.cell).max(0.5 * lattice.cell));
        let mut points: Vec<[f64; 2]> = line.iter().map(|cell| lattice.place(*cell)).collect();
        soften(&mut points, false, 4);
        found.push(Stream::new(item.clone(), points, width, true));
        all.extend(&line);
        let (far, _) = spread(&all, false);
        match furthest(&far).filter(|cell| far[*cell] > (3.0 * widest).max(6.0)) {
            Some(tip) => line = way(&spread(&all, true).1, tip),
            None => break,
        }
    }
    found
}

/// Where mountains stand: by cell their number, counted from 1, and how deep inside the outline the cell is.
pub(super) struct Heights<'a> {
    pub owner: &'a [u32],
    pub depth: &'a [f32],
    /// How a mountain is called, and how deep it is at most.
    pub ranges: &'a [(String, f32)],
}

/// What was decided about rivers that cross mountains.
#[derive(Default)]
pub(super) struct Decided {
    pub streams: Vec<Stream>,
    /// Places that peaks keep off, with how far.
    pub passes: Vec<([f64; 2], f64)>,
    pub notes: Vec<String>,
}

/// Decides what a river drawn across a mountain means.
pub(super) fn decide(
    streams: Vec<Stream>,
    crossing: Crossing,
    heights: &Heights<'_>,
    lattice: &Lattice,
) -> Decided {
    let mut decided = Decided::default();
    let owner = |p: [f64; 2]| lattice.cell_at(p).map_or(0, |cell| heights.owner[cell]);
    let depth = |p: [f64; 2]| lattice.cell_at(p).map_or(0.0, |cell| heights.depth[cell]);
    for mut stream in streams {
        let owners: Vec<u32> = stream.points.iter().map(|p| owner(*p)).collect();
        let n = owners.len();
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for i in (0..n).filter(|i| owners[*i] != 0) {
            match runs.last_mut() {
                Some((_, end)) if *end == i && owners[i - 1] == owners[i] => *end = i + 1,
                _ => runs.push((i, i + 1)),
            }
        }
        let mut split = None;
        for (from, to) in runs {
            let (name, deepest) = &heights.ranges[owners[from] as usize - 1];
            let most =
                (from..to).max_by(|a, b| depth(stream.points[*a]).total_cmp(&depth(stream.points[*b])));
            let most = most.unwrap_or(from);
            let into = depth(stream.points[most]);
            if to - from < 3 || into < 1.5 {
                continue;
            }
            let (at_first, at_last) = (from == 0, to == n);
            let called = stream.called();
            if at_first != at_last {
                stream.spring = stream.spring.or(Some(if at_first { End::First } else { End::Last }));
                decided.notes.push(format!("{called} ends in {name}: it has its spring there"));
                continue;
            }
            let choice = match crossing {
                Crossing::Auto if at_first && at_last => Crossing::Spring,
                Crossing::Auto
                    if into < 0.5 * deepest || f64::from(*deepest) * lattice.cell < 5.0 * stream.width =>
                {
                    Crossing::Gorge
                }
                Crossing::Auto => Crossing::Pass,
                given => given,
            };
            match choice {
                Crossing::Spring if at_first && at_last => {
                    decided
                        .notes
                        .push(format!("{called} lies in {name} as a whole: its upper end is its spring"));
                }
                Crossing::Spring => {
                    split = split.or(Some(most));
                    decided.notes.push(format!(
                        "{called} crosses {name}: two rivers have their springs there and run down either side"
                    ));
                }
                Crossing::Pass | Crossing::Auto => {
                    let wide = (3.0 * stream.width).max(0.45 * f64::from(*deepest) * lattice.cell);
                    decided.passes.extend(stream.points[from..to].iter().map(|p| (*p, wide)));
                    decided.notes.push(format!(
                        "{called} crosses {name}: it takes a pass, and peaks stand {wide:.0} m off on either side"
                    ));
                }
                Crossing::Gorge => {
                    stream.gorge[from..to].fill(true);
                    decided.notes.push(format!("{called} crosses {name}: it has cut a gorge"));
                }
            }
        }
        match split {
            Some(at) if at > 0 && at + 1 < n => {
                let part = |points: &[[f64; 2]], gorge: &[bool], spring| Stream {
                    points: points.to_vec(),
                    gorge: gorge.to_vec(),
                    spring: Some(spring),
                    ..stream.clone()
                };
                decided.streams.push(part(&stream.points[..=at], &stream.gorge[..=at], End::Last));
                decided.streams.push(part(&stream.points[at..], &stream.gorge[at..], End::First));
            }
            _ => decided.streams.push(stream),
        }
    }
    decided
}

/// The land that rivers run through, on the lattice.
pub(super) struct Land<'a> {
    pub lattice: &'a Lattice,
    /// Heights with everything on them but lakes and rivers.
    pub height: &'a Raster<f32>,
    /// Number of the lake in each cell, counted from 1, and the levels of lakes.
    pub lake: &'a [u32],
    pub levels: Vec<f64>,
    /// Height of the water of rivers in each cell; NaN where there is none.
    wet: Vec<f32>,
    lowest: f64,
    relief: f64,
}

/// What a river runs into.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mouth {
    Sea,
    Lake(u32),
    River(f64),
    Border,
    Nothing,
}

impl<'a> Land<'a> {
    pub fn new(lattice: &'a Lattice, height: &'a Raster<f32>, lake: &'a [u32], levels: Vec<f64>) -> Self {
        let (low, high) = height.range().unwrap_or((0.0, 1.0));
        let wet = vec![f32::NAN; lattice.len()];
        let relief = f64::from(high - low).max(1.0);
        Self { lattice, height, lake, levels, wet, lowest: f64::from(low), relief }
    }

    fn at(&self, p: [f64; 2]) -> f64 {
        let h = self.lattice.at(self.height, p);
        if h.is_nan() { 0.0 } else { h }
    }

    fn lake_at(&self, p: [f64; 2]) -> u32 {
        self.lattice.cell_at(p).map_or(0, |cell| self.lake[cell])
    }

    fn mouth(&self, cell: usize, besides: u32) -> Mouth {
        let (cols, rows) = (self.lattice.cols(), self.lattice.rows());
        let (col, row) = (cell % cols, cell / cols);
        if self.lake[cell] != 0 && self.lake[cell] != besides {
            Mouth::Lake(self.lake[cell])
        } else if !self.wet[cell].is_nan() {
            Mouth::River(f64::from(self.wet[cell]))
        } else if self.height.as_slice()[cell] <= 0.0 {
            Mouth::Sea
        } else if col == 0 || row == 0 || col + 1 == cols || row + 1 == rows {
            Mouth::Border
        } else {
            Mouth::Nothing
        }
    }

    /// What is within two cells of a place, water first; and the cell it is.
    fn mouth_near(&self, p: [f64; 2]) -> (Mouth, usize) {
        let Some(cell) = self.lattice.cell_at(p) else { return (Mouth::Border, 0) };
        let ring = self.lattice.around(cell).map(|(c, _)| c);
        let wide = self.lattice.around(cell).flat_map(|(c, _)| self.lattice.around(c)).map(|(c, _)| c);
        let cells: Vec<usize> = std::iter::once(cell).chain(ring).chain(wide).collect();
        let found = cells.iter().map(|c| (self.mouth(*c, 0), *c));
        let first = found.clone().find(|(mouth, _)| !matches!(mouth, Mouth::Nothing | Mouth::Border));
        first
            .or_else(|| found.clone().find(|(mouth, _)| *mouth == Mouth::Border))
            .unwrap_or((Mouth::Nothing, cell))
    }

    /// The way from a place to the nearest water or the border: low ground is cheap, climbing is dear, and noise keeps
    /// it from running straight.
    fn way(&self, from: [f64; 2], seed: Seed) -> Option<(Vec<[f64; 2]>, Mouth)> {
        let lattice = self.lattice;
        let start = lattice.cell_at(from)?;
        let besides = self.lake[start];
        let top = self.at(from);
        let heights = self.height.as_slice();
        let mut cost = vec![f64::INFINITY; lattice.len()];
        let mut before = vec![usize::MAX; lattice.len()];
        let mut heap = BinaryHeap::new();
        cost[start] = 0.0;
        heap.push(Reverse((0u64, start)));
        while let Some(Reverse((bits, cell))) = heap.pop() {
            if bits > key(cost[cell]) {
                continue;
            }
            let mouth = self.mouth(cell, besides);
            if mouth != Mouth::Nothing && cell != start {
                let mut cells = vec![cell];
                let mut at = cell;
                while before[at] != usize::MAX {
                    at = before[at];
                    cells.push(at);
                }
                cells.reverse();
                let mut way: Vec<[f64; 2]> = cells.iter().map(|cell| lattice.place(*cell)).collect();
                wander(&mut way, lattice.cell, seed);
                return Some((way, mouth));
            }
            for (next, far) in lattice.around(cell) {
                let h = f64::from(heights[next]);
                let h = if h.is_nan() { top } else { h };
                let dear =
                    1.0 + 8.0 * (h - self.lowest) / self.relief + 60.0 * (h - top).max(0.0) / self.relief;
                let luck = 1.0 + 0.9 * fractal(seed, lattice.place(next), 24.0 * lattice.cell);
                let new = cost[cell] + far * dear * luck.max(0.15);
                if new < cost[next] {
                    cost[next] = new;
                    before[next] = cell;
                    heap.push(Reverse((key(new), next)));
                }
            }
        }
        None
    }

    /// Lets a stream run downstream, and on to water if it ends on land.
    pub fn run_down(&mut self, stream: &mut Stream, seed: Seed, notes: &mut Vec<String>) {
        let n = stream.points.len();
        let tenth = (n / 10).max(1);
        let mean =
            |points: &[[f64; 2]]| points.iter().map(|p| self.at(*p)).sum::<f64>() / points.len() as f64;
        let uphill = match stream.spring {
            Some(End::First) => false,
            Some(End::Last) => true,
            None => mean(&stream.points[..tenth]) < mean(&stream.points[n - tenth..]),
        };
        if uphill {
            stream.reverse();
        }
        // What lies in the sea is no river.
        let dry = stream.points.iter().rposition(|p| self.at(*p) > 0.0).map_or(0, |last| last + 2);
        let called = stream.called();
        if dry < stream.points.len() {
            stream.points.truncate(dry);
            stream.gorge.truncate(dry);
        }
        let Some(last) = stream.points.last().copied() else { return };
        let (mouth, cell) = self.mouth_near(last);
        match mouth {
            Mouth::River(_) => stream.points.push(self.lattice.place(cell)),
            Mouth::Nothing => {
                if let Some((mut way, mouth)) = self.way(last, seed) {
                    soften(&mut way, false, 6);
                    let before = stream.length();
                    stream.points.extend(way.iter().skip(1));
                    let into = match mouth {
                        Mouth::Sea => "the sea",
                        Mouth::Lake(_) => "a lake",
                        Mouth::River(_) => "another river",
                        Mouth::Border | Mouth::Nothing => "the border",
                    };
                    if stream.drawn {
                        let more = stream.length() - before;
                        notes.push(format!(
                            "{called} ended on land: it was led on to {into}, {more:.0} m away"
                        ));
                    }
                }
            }
            Mouth::Sea | Mouth::Lake(_) | Mouth::Border => {}
        }
        stream.gorge.resize(stream.points.len(), false);
        // Others may run into it from now on; its own heights follow.
        for p in &stream.points {
            if let Some(cell) = self.lattice.cell_at(*p).filter(|cell| self.wet[*cell].is_nan()) {
                self.wet[cell] = self.at(*p).max(0.0) as f32;
            }
        }
    }

    /// Lowers lakes that would lie above one upstream of them.
    pub fn order_lakes(&mut self, streams: &[Stream]) {
        for _ in 0..3 {
            for stream in streams {
                let mut level = f64::INFINITY;
                for p in &stream.points {
                    let lake = self.lake_at(*p) as usize;
                    if lake > 0 {
                        level = level.min(self.levels[lake - 1]);
                        self.levels[lake - 1] = level;
                    }
                }
            }
        }
    }

    /// The features of a stream: a river for each part between lakes, without names.
    pub fn rivers(&mut self, stream: &Stream, valley_deg: f64) -> Vec<Feature> {
        let lakes: Vec<usize> = stream.points.iter().map(|p| self.lake_at(*p) as usize).collect();
        let n = lakes.len();
        let mut found = Vec::new();
        let mut i = 0;
        while i < n {
            if lakes[i] != 0 {
                i += 1;
                continue;
            }
            let end = (i..n).find(|k| lakes[*k] != 0).unwrap_or(n);
            // A place further into the lakes at both ends, so that the river meets their shores.
            let (from, to) = (i.saturating_sub(1), (end + 1).min(n));
            let level = |k: Option<usize>| k.filter(|k| lakes[*k] > 0).map(|k| self.levels[lakes[k] - 1]);
            let (above, below) = (level(i.checked_sub(1)), level((end < n).then_some(end)));
            let points = stream.points[from..to].to_vec();
            let gorge = stream.gorge[from..to].to_vec();
            let spring = above.is_none() && from == 0;
            found.extend(self.river(stream, points, &gorge, above, below, spring, to == n, valley_deg));
            i = end;
        }
        found
    }

    fn river(
        &mut self,
        stream: &Stream,
        points: Vec<[f64; 2]>,
        gorge: &[bool],
        above: Option<f64>,
        below: Option<f64>,
        spring: bool,
        last: bool,
        valley_deg: f64,
    ) -> Option<Feature> {
        let n = points.len();
        if n < 2 || stream.width <= 0.0 {
            return None;
        }
        let land: Vec<f64> = points.iter().map(|p| self.at(*p).max(0.0)).collect();
        let joins =
            points.last().and_then(|p| self.lattice.cell_at(*p)).map(|cell| f64::from(self.wet[cell]));
        let floor = below.or(joins.filter(|z| last && !z.is_nan()));
        let floor = floor.map(|z| z.min(above.unwrap_or(f64::INFINITY)));
        let mut z = Vec::with_capacity(n);
        let mut level = above.unwrap_or(f64::INFINITY);
        for h in &land {
            level = level.min(*h);
            z.push(level.max(floor.unwrap_or(0.0)));
        }
        // Means of falling numbers fall.
        let reach = 10.min(n / 3);
        let mean = |values: &[f64], i: usize| {
            let part = &values[i.saturating_sub(reach)..(i + reach + 1).min(n)];
            part.iter().sum::<f64>() / part.len() as f64
        };
        let mut z: Vec<f64> = (0..n).map(|i| mean(&z, i)).collect();
        let (whole, tilt) = ((n - 1) as f64, if above.is_none() { 3e-4 * self.lattice.cell } else { 0.0 });
        for (i, z) in z.iter_mut().enumerate() {
            let left = whole - i as f64;
            if let Some(floor) = floor {
                *z = floor + (*z - floor).max(0.0) * (left / reach.max(1) as f64).min(1.0);
            }
            *z += tilt * left;
        }
        let (tan_valley, tan_gorge) = (math::tan(valley_deg.to_radians()), math::tan(68f64.to_radians()));
        let most = 0.06 * self.lattice.frame.size_m()[0].max(self.lattice.frame.size_m()[1]);
        let width = |i: usize| {
            // Springs are narrow.
            let share = i as f64 / whole.max(1.0);
            let by = if stream.drawn { 0.5 + 5.0 * share } else { 0.35 + 0.9 * share };
            stream.width * if spring { by.min(if stream.drawn { 1.0 } else { 1.25 }) } else { 1.0 }
        };
        let bank: Vec<f64> = (0..n)
            .map(|i| {
                let (cut, w) = (land[i] - z[i], width(i));
                let bank = match (gorge[i], cut > 0.0) {
                    (true, _) => (cut / tan_gorge).max(w),
                    (false, true) => (cut / tan_valley).max(2.5 * w),
                    (false, false) => (-cut / 0.15).max(2.5 * w),
                };
                bank.min(most.max(2.5 * w))
            })
            .collect();
        let mut tolerance = 0.35 * self.lattice.cell;
        let mut kept = simplify(&points, tolerance);
        while kept.len() > 3000 {
            tolerance *= 2.0;
            kept = simplify(&points, tolerance);
        }
        // No two further apart than so: heights follow the land between.
        let gap = 9;
        let mut numbers = vec![0];
        for pair in kept.windows(2) {
            let parts = (pair[1] - pair[0]).div_ceil(gap);
            numbers.extend((1..=parts).map(|k| pair[0] + (pair[1] - pair[0]) * k / parts));
        }
        let mut depth = 0.0f64;
        let mut made: Vec<RiverPoint> = Vec::with_capacity(numbers.len());
        for i in numbers {
            let w = width(i);
            depth = depth.max((0.06 * w + 0.6).min(25.0));
            let at_lake = (i < 2 && above.is_some()) || (i + 2 >= n && below.is_some());
            let wide = if at_lake { w } else { mean(&bank, i) };
            let [x, y] = points[i].map(|v| rounded(v, 0.01));
            if made.last().is_some_and(|p| p.x_m == x && p.y_m == y) {
                continue;
            }
            let point = RiverPoint::new([x, y], rounded(w, 0.01).max(0.01), rounded(depth, 0.01));
            let mut point = point.at_height(rounded(z[i], 0.01));
            point.bank_m = Some(rounded(wide, 0.1).max(0.1));
            made.push(point);
        }
        for (p, z) in points.iter().zip(&z) {
            if let Some(cell) = self.lattice.cell_at(*p) {
                self.wet[cell] = *z as f32;
            }
        }
        (made.len() >= 2).then(|| {
            let mut river = River::new(made);
            river.bank_m = rounded(2.5 * stream.width, 0.1).max(0.1);
            river.roughness = 0.7;
            river.into()
        })
    }
}

/// Bends a way of lattice steps as a river wanders: steps along eight directions would show. Its ends stay.
fn wander(way: &mut [[f64; 2]], cell_m: f64, seed: Seed) {
    const TAPER: f64 = 12.0;
    let last = way.len().saturating_sub(1);
    for (i, p) in way.iter_mut().enumerate() {
        let ends = (i.min(last - i) as f64 / TAPER).min(1.0);
        let at = *p;
        for (axis, name) in ["east", "north"].into_iter().enumerate() {
            let wide = fractal(seed.child(name), at, 40.0 * cell_m);
            p[axis] += ends * 20.0 * cell_m * wide;
        }
    }
}
