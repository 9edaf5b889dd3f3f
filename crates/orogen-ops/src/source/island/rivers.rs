//! The courses of rivers on the land, and the valleys they lie in.

use orogen_core::{Seed, math};
use rayon::prelude::*;

use super::graph::{CenterIx, CornerIx};
use super::land::{Land, Octave, Scratch};
use super::map::{GREAT_VOLUME, Map, NONE};
use super::{Island, Place};

/// Pieces that a river's way from one corner to the next is drawn in.
const PIECES: usize = 6;
/// Rounds of smoothing that take the zigzag of the polygons out of a course.
const SMOOTHING: usize = 4;
/// Rounds more where a course still turns sharply: so it neither turns back nor crosses itself.
const UNBENDING: usize = 8;
/// How far a course in a lake is drawn from the shore towards the middles of the polygons there.
const INTO_LAKE: f64 = 0.6;
/// Bends of a course, the longest first: lattice cells across a polygon, and how far noise moves it, in widths of one.
/// Each moves two places apart by less than they lie apart, so courses that did not cross never do.
const BENDS: [(f64, f64); 3] = [(0.35, 0.85), (0.9, 0.33), (2.0, 0.15)];
/// Slope of the ground on which bends are half as wide as on the level.
const STEEP: f64 = 0.35;
/// Sea polygons that a river is led out into; it ends as soon as it meets the sea.
const MOUTH: usize = 4;
/// Share of the fine detail of hills that is left on the floors of valleys.
const FINE_ON_FLOORS: f32 = 0.8;
/// Rounds of smoothing along the profile of a course.
const PROFILE_SMOOTHING: usize = 60;

/// A vertex of a course.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub at: [f64; 2],
    /// Height of the river, in units.
    pub z: f64,
    pub volume: f64,
    /// Level of the highest lake downstream, or of the sea.
    floor: f64,
    /// Level of the lowest lake upstream.
    cap: f64,
}

/// A river from its spring to the sea, or to where it joins another line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub points: Vec<Point>,
    pub into: Option<usize>,
}

/// A straight piece of a valley.
#[derive(Clone, Copy, Debug)]
struct Segment {
    at: [f32; 2],
    along: [f32; 2],
    per_length2: f32,
    z: [f32; 2],
    radius: [f32; 2],
    line: u32,
}

/// All rivers.
pub(super) struct Rivers {
    pub lines: Vec<Line>,
    segments: Vec<Segment>,
    bins: Bins,
}

/// Which segments can be felt in which square.
struct Bins {
    min: [f64; 2],
    per_unit: f64,
    cols: usize,
    rows: usize,
    start: Vec<u32>,
    list: Vec<u32>,
}

/// How great a river is, 0 to 1.
fn greatness(volume: f64) -> f64 {
    volume / (volume + GREAT_VOLUME)
}

impl Rivers {
    pub fn none() -> Self {
        let bins =
            Bins { min: [0.0; 2], per_unit: 0.0, cols: 0, rows: 0, start: Vec::new(), list: Vec::new() };
        Self { lines: Vec::new(), segments: Vec::new(), bins }
    }

    /// Lays the rivers of the map on land that has none yet.
    pub fn lay(params: &Island, map: &Map, place: &Place, land: &Land, seed: Seed) -> Self {
        let is_river = |q: u32| map.volume[q as usize] > 0;
        // Upstream first.
        let order: Vec<u32> = map.order.iter().rev().copied().filter(|&q| is_river(q)).collect();
        let courses = Courses::new(map, land, &order);
        let wander = Wander::new(seed, map.width, params.peak_m / place.unit_m);
        let carve = params.valley_width_m > 0.0;
        let mut reaches: Vec<Vec<Target>> = vec![Vec::new(); map.volume.len()];
        (reaches.par_iter_mut().enumerate()).filter(|(q, _)| map.volume[*q] > 0).for_each_init(
            || Scratch::new(1),
            |scratch, (q, reach)| {
                let deepest = if carve { params.valley_depth_m / params.peak_m } else { 0.0 };
                reach.extend(courses.reach(map, q as u32).into_iter().enumerate().map(|(i, at)| {
                    let at = wander.moved(at, land);
                    // From nothing at the spring, and steadily on to the next corner.
                    let volume = (f64::from(map.volume[q] - 1) + i as f64 / PIECES as f64) * map.step;
                    let depth = deepest * greatness(volume);
                    let (height, is_lake) = land.height(at, scratch);
                    let lake = is_lake.then_some(height);
                    // Deep where there is room for it, shallow where the land is low; never below the sea.
                    let floor = if height > 0.0 { height * height / (height + depth) } else { height };
                    Target { at, height: floor, lake, volume }
                }));
            },
        );
        let reaches = level(map, &order, &reaches);

        let lines = assemble(map, &courses.main, &order, &reaches);
        let mut rivers = Self { lines, ..Self::none() };
        if carve {
            let half_width = 0.5 * params.valley_width_m / place.unit_m;
            rivers.dig(half_width, place.half, map.width);
        }
        rivers
    }

    /// Makes the valleys.
    fn dig(&mut self, half_width: f64, half: [f64; 2], polygon_width: f64) {
        let radius = |p: &Point| (half_width * (0.2 + 0.8 * greatness(p.volume))) as f32;
        for (number, line) in self.lines.iter().enumerate() {
            for pair in line.points.windows(2) {
                let (a, b) = (&pair[0], &pair[1]);
                let along = [(b.at[0] - a.at[0]) as f32, (b.at[1] - a.at[1]) as f32];
                let length2 = along[0] * along[0] + along[1] * along[1];
                self.segments.push(Segment {
                    at: [a.at[0] as f32, a.at[1] as f32],
                    along,
                    per_length2: if length2 > 0.0 { 1.0 / length2 } else { 0.0 },
                    z: [a.z as f32, (b.z - a.z) as f32],
                    radius: [radius(a), radius(b) - radius(a)],
                    line: number as u32,
                });
            }
        }
        self.bins = Bins::new(&self.segments, half, polygon_width);
    }

    /// Lowers (or, where noise dug deeper, lifts) the heights along a row into the valleys.
    /// What is fine about the ground stays, but for the bed.
    pub fn carve_row(&self, xs: &[f64], y: f64, fine: &[f32], heights: &mut [f32]) {
        let Some(row) = self.bins.row(y) else { return };
        for ((&x, height), fine) in xs.iter().zip(heights).zip(fine) {
            let near = self.bins.at(row, x);
            if near.is_empty() || *height <= 0.0 {
                continue;
            }
            let (px, py) = (x as f32, y as f32);
            let mut all = Blend::default();
            let mut line = (NONE, Course::default());
            for &i in near {
                let s = &self.segments[i as usize];
                let (dx, dy) = (px - s.at[0], py - s.at[1]);
                let t = ((dx * s.along[0] + dy * s.along[1]) * s.per_length2).clamp(0.0, 1.0);
                let (ex, ey) = (dx - t * s.along[0], dy - t * s.along[1]);
                let radius = s.radius[0] + t * s.radius[1];
                let inside = (1.0 - (ex * ex + ey * ey) / (radius * radius)).max(0.0);
                if s.line != line.0 {
                    all.add(&line.1);
                    line = (s.line, Course::default());
                }
                line.1.add(inside, s.z[0] + t * s.z[1]);
            }
            all.add(&line.1);
            *height = all.carve(*height, *fine);
        }
    }
}

/// One course as felt at one place: the nearest piece says how strongly, the pieces near it how high. Averaging
/// over pieces keeps the inside of a bend free of the crack where the nearest piece changes.
#[derive(Default)]
struct Course {
    inside: f32,
    shares: f32,
    z: f32,
}

impl Course {
    #[inline]
    fn add(&mut self, inside: f32, z: f32) {
        let square = inside * inside;
        let share = square * square * square * square;
        self.inside = self.inside.max(inside);
        self.shares += share;
        self.z += share * z;
    }
}

/// Several courses at one place: the nearest decides, and where two are as near they share, without a crease.
#[derive(Default)]
struct Blend {
    shares: f32,
    weight: f32,
    z: f32,
}

impl Blend {
    #[inline]
    fn add(&mut self, course: &Course) {
        if course.shares > f32::MIN_POSITIVE {
            let weight = course.inside * course.inside;
            let share = weight * weight;
            self.shares += share;
            self.weight += share * weight;
            self.z += share * (course.z / course.shares);
        }
    }

    #[inline]
    fn carve(&self, height: f32, fine: f32) -> f32 {
        if self.shares > f32::MIN_POSITIVE {
            let weight = self.weight / self.shares;
            let z = self.z / self.shares;
            // Never below half the river's height, so never below the sea.
            let floor = z + ((1.0 - weight * weight) * FINE_ON_FLOORS * fine).max(-0.5 * z);
            height + weight * (floor - height)
        } else {
            height
        }
    }
}

/// Where a vertex of a river would like to lie.
#[derive(Clone, Copy)]
struct Target {
    at: [f64; 2],
    height: f64,
    lake: Option<f64>,
    volume: f64,
}

/// Heights that never rise downstream: halfway between cutting through every rise (the lowest target upstream) and
/// filling every hollow (the highest downstream), and at the level of every lake on the way.
fn level(map: &Map, order: &[u32], reaches: &[Vec<Target>]) -> Vec<Vec<Point>> {
    let corners = map.volume.len();
    let mut points: Vec<Vec<Point>> = vec![Vec::new(); corners];
    // Going down: the lowest target so far, and the lowest lake.
    let mut above = vec![(f64::INFINITY, f64::INFINITY); corners];
    for &q in order {
        let (mut z, mut cap) = above[q as usize];
        for target in &reaches[q as usize] {
            z = z.min(target.height);
            cap = cap.min(target.lake.unwrap_or(f64::INFINITY));
            points[q as usize].push(Point { at: target.at, z, volume: target.volume, floor: 0.0, cap });
        }
        if let Some(next) = above.get_mut(map.down[q as usize] as usize) {
            *next = (next.0.min(z), next.1.min(cap));
        }
    }
    // Going up: the highest target so far, and the highest lake.
    let mut below = vec![(f64::NEG_INFINITY, 0.0f64); corners];
    for &q in order.iter().rev() {
        let sea = (f64::NEG_INFINITY, 0.0);
        let (mut high, mut floor) = below.get(map.down[q as usize] as usize).copied().unwrap_or(sea);
        for (target, point) in reaches[q as usize].iter().zip(&mut points[q as usize]).rev() {
            high = high.max(target.height);
            floor = floor.max(target.lake.unwrap_or(0.0));
            point.floor = floor;
            point.z = if target.height > 0.0 { point.within(0.5 * (point.z + high)) } else { 0.0 };
        }
        below[q as usize] = (high, floor);
    }
    points
}

impl Point {
    /// A height brought between the lakes downstream and upstream. Both bounds fall downstream, so heights that
    /// fall still do.
    fn within(&self, z: f64) -> f64 {
        z.max(self.floor).min(self.cap)
    }
}

/// Evens out the steps of a course; the ends stay, and what falls still falls.
fn smooth(points: &mut [Point]) {
    for _ in 0..PROFILE_SMOOTHING {
        let mut before = points.first().map_or(0.0, |p| p.z);
        for i in 1..points.len().saturating_sub(1) {
            let here = points[i].z;
            points[i].z = points[i].within(0.25 * (before + 2.0 * here + points[i + 1].z));
            before = here;
        }
    }
}

/// Lets courses wander.
struct Wander {
    bends: [([Octave; 2], f64); BENDS.len()],
    width: f64,
    /// What a slope of the map's elevation is worth as a slope of the ground.
    steepness: f64,
}

impl Wander {
    fn new(seed: Seed, width: f64, steepness: f64) -> Self {
        let axis =
            |i: usize, name: &str| Octave::new(Seed(seed.child(name).bits(i as u64)), BENDS[i].0 / width);
        let bends = std::array::from_fn(|i| ([axis(i, "bends x"), axis(i, "bends y")], BENDS[i].1 * width));
        Self { bends, width, steepness }
    }

    /// Where a place of a course lies when it wanders: further off where the ground is flat.
    fn moved(&self, p: [f64; 2], land: &Land) -> [f64; 2] {
        let rise = |axis: usize| {
            let ends = [-self.width, self.width].map(|d| {
                let mut q = p;
                q[axis] += d;
                land.ground(q)
            });
            (ends[1] - ends[0]) / (2.0 * self.width)
        };
        let slope = self.steepness * math::hypot(rise(0), rise(1)) / STEEP;
        let calm = 1.0 / (1.0 + slope * slope);
        let mut p = p;
        for (octaves, reach) in &self.bends {
            let by = octaves.each_ref().map(|octave| calm * reach * f64::from(octave.at(p)));
            p = land.clamped([p[0] + by[0], p[1] + by[1]]);
        }
        p
    }
}

/// A corner, or, on the shore of a lake, a place out on it.
fn off_shore(map: &Map, q: CornerIx) -> [f64; 2] {
    let at = map.graph.corner(q);
    let (mut sum, mut count) = ([0.0; 2], 0.0);
    for c in map.graph.corner_touches(q).filter(|c| map.lake[c.at()] != NONE) {
        let middle = map.graph.center(c);
        sum = [sum[0] + middle[0] - at[0], sum[1] + middle[1] - at[1]];
        count += 1.0;
    }
    if count > 0.0 { [0, 1].map(|i| at[i] + INTO_LAKE * sum[i] / count) } else { at }
}

/// Where the corners of rivers lie on the land.
struct Courses {
    at: Vec<[f64; 2]>,
    /// The greatest river that comes in at each corner.
    main: Vec<u32>,
    /// Where the middles of the sea polygons lie that a river's last corner looks out on, from the shore outwards.
    mouth: Vec<Vec<[f64; 2]>>,
}

impl Courses {
    fn new(map: &Map, land: &Land, order: &[u32]) -> Self {
        let corners = map.volume.len();
        let mut at = vec![[0.0; 2]; corners];
        let mut main = vec![NONE; corners];
        let mut mouth = vec![Vec::new(); corners];
        for &q in order {
            at[q as usize] = land.place_of(off_shore(map, CornerIx(q)));
            let down = map.down[q as usize];
            if down == NONE {
                let deepest = |a: &CenterIx, b: &CenterIx| {
                    map.center.elevation[a.at()].total_cmp(&map.center.elevation[b.at()])
                };
                let ocean = map.graph.corner_touches(CornerIx(q)).filter(|c| map.ocean[c.at()]);
                let mut next = ocean.min_by(deepest);
                while let Some(c) = next.filter(|_| mouth[q as usize].len() < MOUTH) {
                    mouth[q as usize].push(land.place_of(map.graph.center(c)));
                    let deeper = |n: &CenterIx| map.center.elevation[n.at()] < map.center.elevation[c.at()];
                    next = map.graph.center_neighbors(c).filter(deeper).min_by(deepest);
                }
                continue;
            }
            let best = &mut main[down as usize];
            if *best == NONE || map.volume[q as usize] > map.volume[*best as usize] {
                *best = q;
            }
        }
        for round in 0..SMOOTHING + UNBENDING {
            let old = at.clone();
            for &q in order {
                let (up, down) = (main[q as usize], map.down[q as usize]);
                if up != NONE && down != NONE {
                    let [p, a, b] = [old[q as usize], old[up as usize], old[down as usize]];
                    if round < SMOOTHING || turns_sharply(a, p, b) {
                        at[q as usize] = [0, 1].map(|i| 0.5 * p[i] + 0.25 * (a[i] + b[i]));
                    }
                }
            }
        }
        Self { at, main, mouth }
    }

    /// The way from a corner to just before the next, or out into the sea.
    fn reach(&self, map: &Map, q: u32) -> Vec<[f64; 2]> {
        let mut nodes = vec![self.at[q as usize]];
        let up = self.main[q as usize];
        nodes.insert(0, if up == NONE { nodes[0] } else { self.at[up as usize] });
        let down = map.down[q as usize];
        // A tributary comes straight in: led along the river that it joins, it might cross it.
        let joins = down != NONE && self.main[down as usize] != q;
        // From the corner after next on only the direction matters.
        let mut next = down;
        for _ in 0..if joins { 1 } else { 2 } {
            if next != NONE {
                nodes.push(self.at[next as usize]);
                next = map.down[next as usize];
            }
        }
        let last = [q, down].into_iter().find(|&q| q != NONE && map.down[q as usize] == NONE);
        nodes.extend(last.filter(|_| !joins).into_iter().flat_map(|q| &self.mouth[q as usize]));
        nodes.push(nodes[nodes.len() - 1]);
        let spans = if down == NONE { nodes.len() - 3 } else { 1 };
        let mut way = Vec::with_capacity(spans * PIECES + 1);
        for span in nodes.windows(4).take(spans) {
            way.extend((0..PIECES).map(|i| {
                let t = i as f64 / PIECES as f64;
                between([span[0], span[1], span[2], span[3]], t)
            }));
        }
        if spans == 0 {
            way.push(self.at[q as usize]);
        }
        way
    }
}

/// Whether the way over `p` turns by more than 60 degrees.
fn turns_sharply(a: [f64; 2], p: [f64; 2], b: [f64; 2]) -> bool {
    let (come, go) = ([p[0] - a[0], p[1] - a[1]], [b[0] - p[0], b[1] - p[1]]);
    let ahead = come[0] * go[0] + come[1] * go[1];
    ahead < 0.5 * math::hypot(come[0], come[1]) * math::hypot(go[0], go[1])
}

/// A smooth curve from `b` to `c` that comes from `a` and goes on to `d` (Catmull and Rom's), at `t` from 0 to 1. Ends
/// pull no further than `b` and `c` lie apart, so that a short span between long ones makes no loop.
fn between([a, b, c, d]: [[f64; 2]; 4], t: f64) -> [f64; 2] {
    let chord = math::hypot(c[0] - b[0], c[1] - b[1]);
    let pull = |from: [f64; 2], to: [f64; 2]| {
        let half = [0.5 * (to[0] - from[0]), 0.5 * (to[1] - from[1])];
        let share = (chord / math::hypot(half[0], half[1]).max(1e-12)).min(1.0);
        half.map(|v| v * share)
    };
    let (start, end) = (pull(a, c), pull(b, d));
    [0, 1].map(|k| math::hermite([b[k], c[k]], [start[k], end[k]], t))
}

/// Strings the reaches together: the greatest river first, each down to the sea or to a line already there.
fn assemble(map: &Map, main: &[u32], order: &[u32], reaches: &[Vec<Point>]) -> Vec<Line> {
    let mut steps = vec![0u32; map.volume.len()];
    // Where the line through each corner ends, in steps from the sea: at the first corner to which another is the
    // greatest river. A line ends on one that ends nearer the sea.
    let mut end = vec![0u32; map.volume.len()];
    for &q in order.iter().rev() {
        let down = map.down[q as usize];
        if down != NONE {
            steps[q as usize] = steps[down as usize] + 1;
            let joins = main[down as usize] != q;
            end[q as usize] = if joins { steps[q as usize] } else { end[down as usize] };
        }
    }
    let mut springs: Vec<u32> = order.iter().copied().filter(|&q| main[q as usize] == NONE).collect();
    springs.sort_by_key(|&q| (end[q as usize], std::cmp::Reverse(steps[q as usize]), q));
    // The line and the vertex at which each corner is drawn.
    let mut drawn: Vec<Option<(usize, usize)>> = vec![None; map.volume.len()];
    let mut lines: Vec<Line> = Vec::new();
    for spring in springs {
        let mut points: Vec<Point> = Vec::new();
        let mut into = None;
        let mut q = spring;
        'down: while q != NONE {
            if let Some((line, vertex)) = drawn[q as usize] {
                // Down to the other line as it lies now, smoothed.
                let end = lines[line].points[vertex];
                points.iter_mut().for_each(|p| p.z = p.z.max(end.z));
                let volume = points.last().map_or(end.volume, |p| p.volume);
                points.push(Point { volume, ..end });
                into = Some(line);
                break;
            }
            drawn[q as usize] = Some((lines.len(), points.len()));
            for point in &reaches[q as usize] {
                if point.z <= 0.0 {
                    points.push(Point { z: 0.0, ..*point });
                    break 'down;
                }
                points.push(*point);
            }
            q = map.down[q as usize];
        }
        if let (None, Some(last)) = (into, points.last_mut()) {
            last.z = 0.0;
        }
        if points.len() < 2 {
            // Hills that may drown the land drowned the spring: there is no river, and no line can join it there.
            drawn[spring as usize] = None;
            continue;
        }
        smooth(&mut points);
        lines.push(Line { points, into });
    }
    lines
}

impl Bins {
    fn new(segments: &[Segment], half: [f64; 2], size: f64) -> Self {
        let per_unit = 1.0 / size.max(half[0].max(half[1]) / 512.0);
        let min = [-half[0], -half[1]];
        let count = |half: f64| (2.0 * half * per_unit) as usize + 1;
        let (cols, rows) = (count(half[0]), count(half[1]));
        let mut bins = Self { min, per_unit, cols, rows, start: vec![0; cols * rows + 1], list: Vec::new() };
        let each = |f: &mut dyn FnMut(usize, u32)| {
            for (i, s) in segments.iter().enumerate() {
                let reach = f64::from(s.radius[0].max(s.radius[0] + s.radius[1]));
                let range = |axis: usize, count: usize| {
                    let (a, b) = (f64::from(s.at[axis]), f64::from(s.at[axis] + s.along[axis]));
                    let index =
                        |at: f64| ((at - min[axis]) * per_unit).clamp(0.0, (count - 1) as f64) as usize;
                    // A hair wider, as the segment is rounded to single precision.
                    index(a.min(b) - reach - 1e-5)..=index(a.max(b) + reach + 1e-5)
                };
                for row in range(1, rows) {
                    for col in range(0, cols) {
                        f(row * cols + col, i as u32);
                    }
                }
            }
        };
        each(&mut |bin, _| bins.start[bin + 1] += 1);
        for bin in 0..cols * rows {
            bins.start[bin + 1] += bins.start[bin];
        }
        bins.list = vec![0; bins.start[cols * rows] as usize];
        let mut next = bins.start.clone();
        each(&mut |bin, i| {
            bins.list[next[bin] as usize] = i;
            next[bin] += 1;
        });
        bins
    }

    fn index(&self, at: f64, axis: usize, count: usize) -> usize {
        ((at - self.min[axis]) * self.per_unit).clamp(0.0, (count - 1) as f64) as usize
    }

    fn row(&self, y: f64) -> Option<usize> {
        (!self.list.is_empty()).then(|| self.index(y, 1, self.rows))
    }

    #[inline]
    fn at(&self, row: usize, x: f64) -> &[u32] {
        let bin = row * self.cols + self.index(x, 0, self.cols);
        &self.list[self.start[bin] as usize..self.start[bin + 1] as usize]
    }
}
