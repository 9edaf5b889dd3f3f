//! Rivers: courses from drawings, what happens where mountains stand in the way, the way on to the sea, and the features
//! that they become.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use orogen_core::{Raster, Rect, Seed, math};

use super::Crossing;
use super::drawn::{Course, Item};
use super::ground::{fractal, rounded};
use super::lattice::{Component, Lattice, simplify, soften};
use super::network::Network;
use super::skeleton::Skeleton;
use crate::shape::features::{Feature, River, RiverPoint};

/// A river on its way through the sketch: places a cell or less apart.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub item: Item,
    pub points: Vec<[f64; 2]>,
    pub width: f64,
    /// Whether it was drawn.
    pub drawn: bool,
    /// Which end is the spring, where that is known.
    pub spring: Option<End>,
    /// Places where it runs through a gorge.
    pub gorge: Vec<bool>,
    /// Number of what it was drawn as: parts of one line have the same.
    pub drawing: u32,
    /// Whether its first and last place are shared with others.
    pub meets: [bool; 2],
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
        Self { item, points, width, drawn, spring: None, gorge, drawing: 0, meets: [false; 2] }
    }

    /// The same as part of a drawing.
    pub fn of_drawing(mut self, number: u32) -> Self {
        self.drawing = number;
        self
    }

    pub fn length(&self) -> f64 {
        self.points.windows(2).map(|p| math::hypot(p[1][0] - p[0][0], p[1][1] - p[0][1])).sum()
    }

    pub fn reverse(&mut self) {
        self.points.reverse();
        self.gorge.reverse();
        self.meets.reverse();
    }

    pub fn push(&mut self, at: [f64; 2]) {
        self.points.push(at);
        self.gorge.push(false);
    }

    pub fn truncate(&mut self, count: usize) {
        self.points.truncate(count);
        self.gorge.truncate(count);
    }

    /// Both parts of it: up to a place before one of its points, and from there on.
    pub fn parted(&self, next: usize, at: [f64; 2]) -> (Self, Self) {
        let (mut before, mut after) = (self.clone(), self.clone());
        before.truncate(next);
        before.push(at);
        after.points.splice(..next, [at]);
        after.gorge.splice(..next, [self.gorge[next]]);
        // A spring is at one end of the whole.
        before.spring = self.spring.filter(|end| *end == End::First);
        after.spring = self.spring.filter(|end| *end == End::Last);
        (before.without_repeats(), after.without_repeats())
    }

    /// Another of its kind that begins, and ends as yet, in a place.
    pub fn beginning_at(&self, at: [f64; 2]) -> Self {
        Self { points: vec![at], gorge: vec![false], spring: None, ..self.clone() }
    }

    /// The same without points that follow each other in one place.
    pub fn without_repeats(mut self) -> Self {
        let mut keep = vec![true; self.points.len()];
        for i in 1..keep.len() {
            keep[i] = self.points[i] != self.points[i - 1];
        }
        let mut kept = keep.iter();
        self.points.retain(|_| *kept.next().unwrap_or(&true));
        let mut kept = keep.iter();
        self.gorge.retain(|_| *kept.next().unwrap_or(&true));
        self
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
    for (number, course) in courses.iter().enumerate() {
        let width = course.item.width_m.unwrap_or(usual_m);
        let mut piece: Vec<[f64; 2]> = Vec::new();
        let mut count = 0;
        let mut done = |piece: &mut Vec<[f64; 2]>| {
            if !piece.is_empty() {
                // Corners of a line drawn with few points are rounded by less than two cells.
                soften(piece, false, 12);
                let stream = Stream::new(course.item.clone(), std::mem::take(piece), width, true);
                found.push(stream.of_drawing(number as u32));
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
pub(super) fn key(cost: f64) -> u64 {
    cost.max(0.0).to_bits()
}

/// The middle lines of a painted river, each from end or junction to end or junction. `drawing` is their number.
pub(super) fn middle_lines(
    component: &Component,
    item: &Item,
    lattice: &Lattice,
    drawing: u32,
) -> Vec<Stream> {
    let Skeleton { lines, depths } = Skeleton::new(component, lattice);
    let stream = |(line, depths): (&Vec<usize>, &Vec<f64>)| {
        let mean = depths.iter().map(|depth| depth - 0.5).sum::<f64>() / depths.len().max(1) as f64;
        let width = item.width_m.unwrap_or((2.0 * mean * lattice.cell).max(0.5 * lattice.cell));
        let mut points: Vec<[f64; 2]> = line.iter().map(|cell| lattice.place(*cell)).collect();
        soften(&mut points, false, 4);
        Stream::new(item.clone(), points, width, true).of_drawing(drawing)
    };
    lines.iter().zip(&depths).map(stream).collect()
}

/// Says of every end of streams whether another meets it.
pub(super) fn mark_meetings(streams: &mut [Stream]) {
    let ends: Vec<[f64; 2]> =
        streams.iter().flat_map(|s| s.points.first().into_iter().chain(s.points.last())).copied().collect();
    for stream in streams.iter_mut().filter(|stream| stream.points.len() > 1) {
        let ends_at = |p: [f64; 2]| ends.iter().filter(|q| **q == p).count() > 1;
        stream.meets = [ends_at(stream.points[0]), ends_at(stream.points[stream.points.len() - 1])];
    }
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
            let (at_first, at_last) = (from == 0 && !stream.meets[0], to == n && !stream.meets[1]);
            let called = stream.called();
            if at_first != at_last {
                stream.spring = stream.spring.or(Some(if at_first { End::First } else { End::Last }));
                decided.notes.push(format!("{called} ends in {name}; its spring is there"));
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
                        .push(format!("{called} lies entirely in {name}; its spring is at its upper end"));
                }
                Crossing::Spring => {
                    split = split.or(Some(most));
                    decided.notes.push(format!(
                        "{called} crosses {name}; it becomes two rivers with springs there, one down each side"
                    ));
                }
                Crossing::Pass | Crossing::Auto => {
                    let wide = (3.0 * stream.width).max(0.45 * f64::from(*deepest) * lattice.cell);
                    decided.passes.extend(stream.points[from..to].iter().map(|p| (*p, wide)));
                    decided.notes.push(format!(
                        "{called} crosses {name}; it runs through a pass, and peaks keep {wide:.0} m away on both sides"
                    ));
                }
                Crossing::Gorge => {
                    stream.gorge[from..to].fill(true);
                    decided.notes.push(format!("{called} crosses {name}; it cuts a gorge"));
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
    lowest: f64,
    relief: f64,
}

/// What a river runs into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mouth {
    Sea,
    Lake,
    /// Another arm, by its number.
    River(usize),
    Border,
}

/// The river in a cell: none; one that may not be met, as water comes from it; or the number of an arm.
pub(super) type RiverIn<'a> = dyn Fn(usize) -> Option<Option<usize>> + 'a;

impl<'a> Land<'a> {
    pub fn new(lattice: &'a Lattice, height: &'a Raster<f32>, lake: &'a [u32], levels: Vec<f64>) -> Self {
        let (low, high) = height.range().unwrap_or((0.0, 1.0));
        let relief = f64::from(high - low).max(1.0);
        Self { lattice, height, lake, levels, lowest: f64::from(low), relief }
    }

    pub fn at(&self, p: [f64; 2]) -> f64 {
        let h = self.lattice.at(self.height, p);
        if h.is_nan() { 0.0 } else { h }
    }

    /// Whether a place lies below the sea. Land at 0 m is land.
    pub fn is_sea(&self, p: [f64; 2]) -> bool {
        self.at(p) < 0.0
    }

    /// The place between one on land and one in the sea where land ends.
    pub fn shore(&self, land: [f64; 2], sea: [f64; 2]) -> [f64; 2] {
        let between = |t: f64| [0, 1].map(|k| land[k] + t * (sea[k] - land[k]));
        let (mut dry, mut wet) = (0.0, 1.0);
        for _ in 0..20 {
            let middle = 0.5 * (dry + wet);
            if self.is_sea(between(middle)) {
                wet = middle;
            } else {
                dry = middle;
            }
        }
        between(wet)
    }

    /// Whether the sea is within a cell of a place.
    pub fn is_shore(&self, p: [f64; 2]) -> bool {
        self.lowest_near(p) < 0.0
    }

    /// The lowest height within a cell of a place.
    fn lowest_near(&self, p: [f64; 2]) -> f64 {
        let Some(cell) = self.lattice.cell_at(p) else { return self.at(p) };
        let height = |cell: usize| f64::from(self.height.as_slice()[cell]);
        self.lattice.neighbours_of(cell).map(|(c, _)| height(c)).fold(self.at(p).min(height(cell)), f64::min)
    }

    pub fn lake_at(&self, p: [f64; 2]) -> u32 {
        self.lattice.cell_at(p).map_or(0, |cell| self.lake[cell])
    }

    fn mouth(&self, cell: usize, besides: u32, river: &RiverIn<'_>) -> Option<Mouth> {
        let (cols, rows) = (self.lattice.cols(), self.lattice.rows());
        let (col, row) = (cell % cols, cell / cols);
        if self.lake[cell] != 0 && self.lake[cell] != besides {
            Some(Mouth::Lake)
        } else if let Some(Some(arm)) = river(cell) {
            Some(Mouth::River(arm))
        } else if self.height.as_slice()[cell] < 0.0 {
            Some(Mouth::Sea)
        } else if col == 0 || row == 0 || col + 1 == cols || row + 1 == rows {
            Some(Mouth::Border)
        } else {
            None
        }
    }

    /// What is within two cells of a place, water first; and the cell it is.
    pub fn mouth_near(&self, p: [f64; 2], river: &RiverIn<'_>) -> Option<(Mouth, usize)> {
        let Some(cell) = self.lattice.cell_at(p) else { return Some((Mouth::Border, 0)) };
        let ring = self.lattice.neighbours_of(cell).map(|(c, _)| c);
        let wide =
            self.lattice.neighbours_of(cell).flat_map(|(c, _)| self.lattice.neighbours_of(c)).map(|(c, _)| c);
        let cells: Vec<usize> = std::iter::once(cell).chain(ring).chain(wide).collect();
        let found: Vec<(Mouth, usize)> =
            cells.iter().filter_map(|c| Some((self.mouth(*c, 0, river)?, *c))).collect();
        let first = found.iter().find(|(mouth, _)| *mouth != Mouth::Border);
        first.or(found.first()).copied()
    }

    /// The way from a place to the nearest water or the border: low ground is cheap, climbing is dear, and noise keeps
    /// it from running straight. Rivers that may not be met are not crossed.
    pub fn way(&self, from: [f64; 2], seed: Seed, river: &RiverIn<'_>) -> Option<(Vec<[f64; 2]>, Mouth)> {
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
            if let Some(mouth) = self.mouth(cell, besides, river).filter(|_| cell != start) {
                let mut cells = vec![cell];
                let mut at = cell;
                while before[at] != usize::MAX {
                    at = before[at];
                    cells.push(at);
                }
                cells.reverse();
                let straight: Vec<[f64; 2]> = cells.iter().map(|cell| lattice.place(*cell)).collect();
                // It wanders as far as it can without meeting other rivers.
                let clear = |way: &[[f64; 2]]| {
                    let inner = way.get(TAPER..way.len().saturating_sub(TAPER)).unwrap_or_default();
                    inner.iter().all(|p| lattice.cell_at(*p).is_none_or(|cell| river(cell).is_none()))
                };
                let tries = [1.0, 0.5, 0.25].into_iter().map(|by| {
                    let mut way = straight.clone();
                    wander(&mut way, by * lattice.cell, lattice.cell, seed);
                    way
                });
                let way = tries.into_iter().find(|way| clear(way)).unwrap_or(straight.clone());
                return Some((way, mouth));
            }
            for (next, far) in lattice.neighbours_of(cell).filter(|(next, _)| river(*next) != Some(None)) {
                let h = f64::from(heights[next]);
                let h = if h.is_nan() { top } else { h };
                let dear =
                    1.0 + 8.0 * (h - self.lowest) / self.relief + 60.0 * (h - top).max(0.0) / self.relief;
                let rough = 1.0 + 0.9 * fractal(seed, lattice.place(next), 24.0 * lattice.cell);
                let new = cost[cell] + far * dear * rough.max(0.15);
                if new < cost[next] {
                    cost[next] = new;
                    before[next] = cell;
                    heap.push(Reverse((key(new), next)));
                }
            }
        }
        None
    }

    /// The features of a network, without names: for every stem a river for each part between lakes; with what it was
    /// drawn as. Small ones come first, so that the valleys of the large ones lie over theirs.
    pub fn rivers(&self, network: &Network, valley_deg: f64) -> Vec<(Feature, Option<String>, bool)> {
        let stems = network.stems();
        let springs = network.springs();
        let mut widths: Vec<Vec<f64>> = vec![Vec::new(); network.arms.len()];
        for stem in &stems {
            let whole: usize = stem.iter().map(|arm| network.arms[*arm].points.len() - 1).sum();
            let mut i = 0;
            for arm in stem {
                let stream = &network.arms[*arm];
                let width = |k: usize| {
                    // Springs are narrow.
                    let share = (i + k) as f64 / whole.max(1) as f64;
                    let by = if stream.drawn { 0.5 + 5.0 * share } else { 0.35 + 0.9 * share };
                    let most = if stream.drawn { 1.0 } else { 1.25 };
                    stream.width * if springs[stem[0]] { by.min(most) } else { 1.0 }
                };
                widths[*arm] = (0..stream.points.len()).map(width).collect();
                i += stream.points.len() - 1;
            }
        }
        let depths = network.depths(&widths, |p| self.lake_at(p) > 0);
        let others = Others::new(&stems, network, self.lattice);
        let mut found = Vec::new();
        for (number, stem) in stems.iter().enumerate().rev() {
            let mut line = Run::default();
            for arm in stem {
                line.extend(&network.arms[*arm], &network.levels[*arm], &widths[*arm], &depths[*arm]);
            }
            let first = &network.arms[stem[0]];
            let named = stem.iter().find_map(|arm| network.arms[*arm].item.name.clone());
            let lakes: Vec<usize> = line.points.iter().map(|p| self.lake_at(*p) as usize).collect();
            let n = lakes.len();
            let mut i = 0;
            while i < n {
                if lakes[i] != 0 {
                    i += 1;
                    continue;
                }
                let end = (i..n).find(|k| lakes[*k] != 0).unwrap_or(n);
                // A place further into the lakes at both ends, so that the river meets their shores.
                let (from, to) = (i.saturating_sub(1), (end + 1).min(n));
                let run = line.part(from, to);
                let room = |k: usize| others.room(number, run.points[k], run.levels[k]);
                let river = self.river(&run, [i > 0, end < n], first.width, valley_deg, &room);
                found.extend(river.map(|river| (river, named.clone(), first.drawn)));
                i = end;
            }
        }
        found
    }

    /// The feature of a river between two lakes, or ends. `room` is how wide its banks may be at each point.
    fn river(
        &self,
        run: &Run,
        lakes: [bool; 2],
        usual_m: f64,
        valley_deg: f64,
        room: &dyn Fn(usize) -> f64,
    ) -> Option<Feature> {
        let Run { points, levels: z, widths, depths, gorge, joints } = run;
        let n = points.len();
        if n < 2 || usual_m <= 0.0 {
            return None;
        }
        let reach = 10.min(n / 3);
        let mean = |values: &[f64], i: usize| {
            let part = &values[i.saturating_sub(reach)..(i + reach + 1).min(n)];
            part.iter().sum::<f64>() / part.len() as f64
        };
        let land: Vec<f64> = points.iter().map(|p| self.at(*p).max(0.0)).collect();
        let (tan_valley, tan_gorge) = (math::tan(valley_deg.to_radians()), math::tan(68f64.to_radians()));
        let most = 0.06 * self.lattice.frame.size_m()[0].max(self.lattice.frame.size_m()[1]);
        let bank: Vec<f64> = (0..n)
            .map(|i| {
                let (cut, w) = (land[i] - z[i], widths[i]);
                let bank = match (gorge[i], cut > 0.0) {
                    (true, _) => (cut / tan_gorge).max(w),
                    (false, true) => (cut / tan_valley).max(2.5 * w),
                    (false, false) => (-cut / 0.15).max(2.5 * w),
                };
                bank.min(most.max(2.5 * w))
            })
            .collect();
        let sea = [points[0], points[n - 1]].map(|p| self.is_shore(p));
        // Where the sea is deep at once, banks would be a mole.
        let deep = [points[0], points[n - 1]].map(|p| self.lowest_near(p) < -0.3 * usual_m);
        let mut tolerance = 0.35 * self.lattice.cell;
        let mut kept = simplify(points, tolerance);
        while kept.len() > 3000 {
            tolerance *= 2.0;
            kept = simplify(points, tolerance);
        }
        kept.extend(joints);
        kept.sort_unstable();
        kept.dedup();
        // One more where heights between two would lie above those wanted, and where they fall so far that the curve
        // through them would.
        let mut pairs: Vec<(usize, usize)> = kept.windows(2).map(|pair| (pair[0], pair[1])).collect();
        while let Some((a, b)) = pairs.pop().filter(|_| kept.len() < MOST_POINTS) {
            let over = |i: usize| z[a] + (z[b] - z[a]) * (i - a) as f64 / (b - a) as f64 - z[i];
            let most = (a + 1..b).max_by(|i, k| over(*i).total_cmp(&over(*k)));
            let middle = (b > a + 1 && z[a] - z[b] > MOST_FALL_M).then_some(usize::midpoint(a, b));
            if let Some(more) = most.filter(|i| over(*i) > MOST_OVER_M).or(middle) {
                kept.push(more);
                pairs.extend([(a, more), (more, b)]);
            }
        }
        kept.sort_unstable();
        // No two further apart than so: heights follow the land between.
        let gap = 9;
        let mut numbers = vec![0];
        for pair in kept.windows(2) {
            let parts = (pair[1] - pair[0]).div_ceil(gap);
            numbers.extend((1..=parts).map(|k| pair[0] + (pair[1] - pair[0]) * k / parts));
        }
        // Two that all but coincide would give the bed any slope, which goes on beyond its end.
        let given = |i: usize| i == 0 || i == n - 1 || joints.contains(&i);
        let near = |a: usize, b: usize| {
            math::hypot(points[a][0] - points[b][0], points[a][1] - points[b][1]) < 0.3 * self.lattice.cell
        };
        let mut apart: Vec<usize> = Vec::with_capacity(numbers.len());
        for i in numbers {
            while apart.last().is_some_and(|last| given(i) && !given(*last) && near(*last, i)) {
                apart.pop();
            }
            if apart.last().is_none_or(|last| given(i) || !near(*last, i)) {
                apart.push(i);
            }
        }
        let numbers = apart;
        let mut made: Vec<RiverPoint> = Vec::with_capacity(numbers.len());
        for i in numbers {
            let w = mean(widths, i);
            let at_water = (i < 2 && (lakes[0] || sea[0])) || (i + 2 >= n && (lakes[1] || sea[1]));
            let deep = (i < 2 && deep[0]) || (i + 2 >= n && deep[1]);
            let wide = match (at_water, deep) {
                (true, true) => 0.25 * w,
                (true, false) => w,
                _ => mean(&bank, i),
            };
            let wide = wide.min((room(i) - 0.5 * w).max(0.25 * w));
            let [x, y] = points[i].map(|v| rounded(v, 0.01));
            if made.last().is_some_and(|p| p.x_m == x && p.y_m == y) {
                continue;
            }
            let point = RiverPoint::new([x, y], rounded(w, 0.01).max(0.01), rounded(depths[i], 0.01));
            let mut point = point.at_height(rounded(z[i], 0.01));
            point.bank_m = Some(rounded(wide, 0.1).max(0.1));
            made.push(point);
        }
        (made.len() >= 2).then(|| {
            let mut river = River::new(made);
            river.bank_m = rounded(2.5 * usual_m, 0.1).max(0.1);
            river.roughness = 0.7;
            river.into()
        })
    }
}

/// A place on a stem.
struct Place {
    stem: usize,
    at: [f64; 2],
    level: f64,
    /// The way to the next place downstream.
    on: [f64; 2],
}

/// Where rivers run and how high, so that none takes the ground from under another.
struct Others {
    /// By cell of a coarse grid, sorted.
    all: Vec<([i64; 2], Place)>,
    side: f64,
    reach: f64,
}

impl Others {
    fn new(stems: &[Vec<usize>], network: &Network, lattice: &Lattice) -> Self {
        let size = lattice.frame.size_m();
        // As wide as banks can be.
        let reach = 0.08 * size[0].max(size[1]);
        let side = reach / 4.0;
        let mut all = Vec::new();
        for (number, stem) in stems.iter().enumerate() {
            for arm in stem {
                let points = &network.arms[*arm].points;
                for (i, (at, level)) in points.iter().zip(&network.levels[*arm]).enumerate() {
                    let next = (i + 1).min(points.len() - 1).max(1);
                    let on = [0, 1].map(|k| points[next][k] - points[next - 1][k]);
                    let cell = at.map(|v| (v / side).floor() as i64);
                    all.push((cell, Place { stem: number, at: *at, level: *level, on }));
                }
            }
        }
        all.sort_by_key(|(cell, _)| *cell);
        Self { all, side, reach }
    }

    /// How far it is from a place on a stem at a height to another stem that is at another height and does not come
    /// nearer: banks that reached it would let it fall and rise again. What comes nearer falls all the way.
    fn room(&self, stem: usize, at: [f64; 2], level: f64) -> f64 {
        let [x, y] = at.map(|v| (v / self.side).floor() as i64);
        let mut nearest = self.reach;
        for x in x - 4..=x + 4 {
            for y in y - 4..=y + 4 {
                let from = self.all.partition_point(|(cell, _)| *cell < [x, y]);
                for (_, place) in self.all[from..].iter().take_while(|(cell, _)| *cell == [x, y]) {
                    let off = [place.at[0] - at[0], place.at[1] - at[1]];
                    let far = math::hypot(off[0], off[1]);
                    if place.stem == stem || far >= nearest || (place.level - level).abs() < HIGHER_M {
                        continue;
                    }
                    let leaves = off[0] * place.on[0] + off[1] * place.on[1];
                    if leaves > -0.2 * far * math::hypot(place.on[0], place.on[1]) {
                        nearest = far;
                    }
                }
            }
        }
        0.8 * nearest
    }
}

/// Rivers whose heights differ by less, in metres, do not mind each other's banks.
const HIGHER_M: f64 = 1.0;

/// Arms one after the other, point by point.
#[derive(Default)]
struct Run {
    points: Vec<[f64; 2]>,
    levels: Vec<f64>,
    widths: Vec<f64>,
    depths: Vec<f64>,
    gorge: Vec<bool>,
    /// Points where others come in or leave.
    joints: Vec<usize>,
}

impl Run {
    fn extend(&mut self, arm: &Stream, levels: &[f64], widths: &[f64], depths: &[f64]) {
        // The place where it goes on is there already.
        let from = usize::from(!self.points.is_empty());
        if let Some(last) = self.depths.last_mut() {
            self.joints.push(self.points.len() - 1);
            // As deep as the deepest that comes in.
            *last = last.max(depths[0]);
        }
        self.points.extend(&arm.points[from..]);
        self.levels.extend(&levels[from..]);
        self.widths.extend(&widths[from..]);
        self.depths.extend(&depths[from..]);
        self.gorge.extend(&arm.gorge[from..]);
    }

    fn part(&self, from: usize, to: usize) -> Self {
        let inside = |joint: &&usize| (from..to).contains(*joint);
        Self {
            points: self.points[from..to].to_vec(),
            levels: self.levels[from..to].to_vec(),
            widths: self.widths[from..to].to_vec(),
            depths: self.depths[from..to].to_vec(),
            gorge: self.gorge[from..to].to_vec(),
            joints: self.joints.iter().filter(inside).map(|joint| joint - from).collect(),
        }
    }
}

/// How far above its heights a river may lie between two of its points, in metres.
const MOST_OVER_M: f64 = 1.0;
/// How far it may fall between two of its points that are not neighbours, in metres.
const MOST_FALL_M: f64 = 8.0;
/// Points of a river at which no more are added.
const MOST_POINTS: usize = 5000;

/// Places from either end of a way over which it begins to wander.
const TAPER: usize = 12;

/// Bends a way of lattice steps as a river wanders: steps along eight directions would show. Its ends stay.
fn wander(way: &mut [[f64; 2]], by_m: f64, cell_m: f64, seed: Seed) {
    let last = way.len().saturating_sub(1);
    for (i, p) in way.iter_mut().enumerate() {
        let ends = (i.min(last - i) as f64 / TAPER as f64).min(1.0);
        let at = *p;
        for (axis, name) in ["east", "north"].into_iter().enumerate() {
            let wide = fractal(seed.child(name), at, 40.0 * cell_m);
            p[axis] += ends * 20.0 * by_m * wide;
        }
    }
}
