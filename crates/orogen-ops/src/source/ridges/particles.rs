//! Particles that draw ridges, and particles that draw rivers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::f64::consts::{PI, TAU};

use orogen_core::{Cancelled, Ctx, Raster, Rect, Seed, math};

use super::Ridges;
use crate::noise::Noise;

/// Cells of the working grid across one of the coarse grid that particles roll on.
pub(super) const COARSE: i64 = 4;
/// A ridge ends where it is this share of its altitude.
const RIDGE_END: f64 = 0.06;
/// The wide foot of a ridge: its share of the altitude, and how much wider it is than the ridge.
const FOOT: (f64, f64) = (0.3, 3.0);
/// Gravity, in metres a second squared.
const GRAVITY: f64 = 9.81;
/// The slowest that water goes, in metres a second.
const SLOWEST: f64 = 0.3;
/// Times that a river may run into itself before it stays where it is.
const LOOPS: u32 = 10;
/// Rivers that come this close to each other meet, in steps.
const CLOSE: f64 = 1.6;
/// Most times that particles run again, on average.
const RUNS: usize = 40;

/// A place on a ridge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crest {
    pub at: [f64; 2],
    /// Height above the level.
    pub z: f64,
    /// Direction of the ridge, in radians.
    heading: f64,
}

/// Ridges, each drawn by two particles that leave one place in opposite directions.
pub(super) fn ridges(params: &Ridges, rect: &Rect, seed: Seed) -> Vec<Vec<Crest>> {
    let size = rect.size();
    let step = params.cell_m;
    let bends = seed.child("bends");
    let places = seed.child("places");
    let mut ridges = Vec::new();
    for i in 0..u64::from(params.ridges) {
        // The best of a few places: not close to where another ridge is.
        let place = |k: u64| {
            [0, 1].map(|axis| {
                rect.min[axis] + size[axis] * (0.12 + 0.76 * places.unit(64 * i + 2 * k + axis as u64))
            })
        };
        let clear = |p: [f64; 2]| {
            let starts = ridges.iter().filter_map(|r: &Vec<Crest>| r.first());
            starts.map(|c| math::hypot(c.at[0] - p[0], c.at[1] - p[1])).fold(f64::INFINITY, f64::min)
        };
        let start = (0..8).map(place).max_by(|a, b| clear(*a).total_cmp(&clear(*b))).unwrap_or(rect.min);
        let altitude = params.peak_m * (0.55 + 0.45 * places.unit(64 * i + 40));
        let altitude = if i == 0 { params.peak_m } else { altitude };
        let sigma = params.ridge_m * (0.7 + 0.6 * places.unit(64 * i + 41));
        let heading = TAU * places.unit(64 * i + 42);
        let wave = [0, 1].map(|k| Noise::new(Seed(bends.bits(2 * i + k))));
        let longest = sigma * (-2.0 * math::ln(RIDGE_END)).sqrt();
        for way in 0..2 {
            let mut at = start;
            let mut ridge = Vec::new();
            for n in 0..=(longest / step) as u64 {
                // Half the bends are of the pair as a whole, so that the two halves make one ridge.
                let s = n as f64 * step;
                let signed = if way == 0 { s } else { -s };
                let turn = fbm(&wave[0], signed / params.bend_m, 4);
                let heading = heading + PI * f64::from(way) + params.wander * PI * turn;
                let uneven = 1.0 + 0.25 * fbm(&wave[1], signed / (0.5 * params.bend_m), 3);
                let z = altitude * uneven * math::exp(-0.5 * s * s / (sigma * sigma));
                if n > 0 || way == 0 {
                    ridge.push(Crest { at, z, heading });
                }
                at = [at[0] + step * math::cos(heading), at[1] + step * math::sin(heading)];
                if (0..2).any(|k| at[k] < rect.min[k] || at[k] > rect.max[k]) {
                    break;
                }
            }
            ridges.push(ridge);
        }
    }
    ridges
}

/// Fractional Brownian motion of one variable, about -1 to 1, 0 at 0.
fn fbm(noise: &Noise, at: f64, octaves: u32) -> f64 {
    (0..octaves)
        .fold((0.0, 1.0, 1.0), |(sum, weight, finer), octave| {
            let n = noise.at(at * finer, 0.5 + f64::from(octave)) - noise.at(0.0, 0.5 + f64::from(octave));
            (sum + weight * f64::from(n), 0.5 * weight, 2.0 * finer)
        })
        .0
}

/// A grid over the frame, in metres from its south-west corner; row 0 is in the south.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub first: [i64; 2],
    pub cell_m: f64,
    pub values: Raster<f32>,
}

impl Field {
    /// Columns and rows, as fractions, of a place.
    pub fn locate(&self, at: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|k| at[k] / self.cell_m - self.first[k] as f64)
    }

    fn cell(&self, at: [f64; 2]) -> usize {
        let [c, r] = self.locate(at);
        let clamp = |v: f64, n: usize| v.round().clamp(0.0, (n - 1) as f64) as usize;
        clamp(r, self.values.rows()) * self.values.cols() + clamp(c, self.values.cols())
    }

    /// The number of the cell in a column and row, if there is one.
    pub fn index(&self, col: i64, row: i64) -> Option<usize> {
        let (cols, rows) = (self.values.cols() as i64, self.values.rows() as i64);
        ((0..cols).contains(&col) && (0..rows).contains(&row)).then(|| (row * cols + col) as usize)
    }

    pub fn place(&self, cell: usize) -> [f64; 2] {
        let (c, r) = (cell % self.values.cols(), cell / self.values.cols());
        [(self.first[0] + c as i64) as f64 * self.cell_m, (self.first[1] + r as i64) as f64 * self.cell_m]
    }

    /// The height at a place.
    pub fn at(&self, at: [f64; 2]) -> f64 {
        let [c, r] = self.locate(at);
        f64::from(self.values.bicubic(c, r))
    }

    /// The lowest height at a place, whether land between points is read as curved or straight.
    pub fn below(&self, at: [f64; 2]) -> f64 {
        let [c, r] = self.locate(at);
        f64::from(self.values.bicubic(c, r).min(self.values.bilinear(c, r)))
    }

    fn slope(&self, at: [f64; 2]) -> [f64; 2] {
        let h = 0.5 * self.cell_m;
        [0, 1].map(|k| {
            let (mut a, mut b) = (at, at);
            a[k] -= h;
            b[k] += h;
            let [[ac, ar], [bc, br]] = [self.locate(a), self.locate(b)];
            f64::from(self.values.bilinear(bc, br) - self.values.bilinear(ac, ar)) / (2.0 * h)
        })
    }
}

/// Land that rises to every ridge as a bell does, on a coarse grid, with some unevenness for water to find its way.
pub(super) fn bells(params: &Ridges, ridges: &[Vec<Crest>], mut field: Field, seed: Seed) -> Field {
    const STEPS: usize = 512;
    // Bells end where they are 1 % high: at three deviations.
    let (narrow, wide) = (params.width_m, FOOT.1 * params.width_m);
    let table: Vec<f32> =
        (0..=STEPS).map(|i| math::exp(-4.5 * i as f64 / STEPS as f64) as f32 - 0.011).collect();
    let bell = |d2: f64, sigma: f64| table.get((d2 / (9.0 * sigma * sigma) * STEPS as f64) as usize);
    let (cols, rows) = (field.values.cols(), field.values.rows());
    let cell_m = field.cell_m;
    let mut feet = vec![0.0f32; cols * rows];
    // One place of a ridge for each coarse cell that it crosses is enough.
    for crest in ridges.iter().flat_map(|r| r.iter().step_by(COARSE as usize / 2)) {
        let [c, r] = field.locate(crest.at);
        let reach = 3.0 * wide / cell_m;
        let range = |v: f64, n: usize| {
            ((v - reach).ceil().clamp(0.0, n as f64) as usize)
                ..((v + reach).floor().clamp(-1.0, n as f64 - 1.0) + 1.0) as usize
        };
        for row in range(r, rows) {
            for col in range(c, cols) {
                let d = [(col as f64 - c) * cell_m, (row as f64 - r) * cell_m];
                let d2 = d[0] * d[0] + d[1] * d[1];
                let at = row * cols + col;
                let z = crest.z as f32;
                if let Some(bell) = bell(d2, narrow) {
                    let high = &mut field.values.as_mut_slice()[at];
                    *high = high.max((1.0 - FOOT.0 as f32) * z * bell);
                }
                if let Some(bell) = bell(d2, wide) {
                    feet[at] = feet[at].max(FOOT.0 as f32 * z * bell);
                }
            }
        }
    }
    let noise = [0, 1, 2].map(|i| Noise::new(Seed(seed.bits(i))));
    for row in 0..rows {
        for col in 0..cols {
            let at = row * cols + col;
            let [x, y] = field.place(at);
            let rough: f32 = (0..3)
                .map(|i| {
                    let finer = f64::from(1u32 << i) / (2.2 * params.width_m);
                    noise[i].at(x * finer + 0.4, y * finer + 0.7) / (1u32 << i) as f32
                })
                .sum();
            let high = &mut field.values.as_mut_slice()[at];
            let sum = *high + feet[at];
            // Little in the plain, much on the flanks.
            *high = sum + rough * 0.25 * (sum + 0.04 * params.peak_m as f32);
        }
    }
    field
}

/// For every cell the one that its water goes to when every hollow is full, and whether it lies in a hollow.
struct Flood {
    next: Vec<u32>,
    drowned: Vec<bool>,
}

impl Flood {
    /// Floods the land from its border, lowest places first.
    fn new(field: &Field) -> Self {
        let (cols, rows) = (field.values.cols(), field.values.rows());
        let heights = field.values.as_slice();
        let key = |h: f32| {
            // Whole numbers in the order of heights.
            let bits = h.to_bits() as i32;
            bits ^ (((bits >> 31) as u32) >> 1) as i32
        };
        let mut next: Vec<u32> = (0..heights.len() as u32).collect();
        let mut drowned = vec![false; heights.len()];
        let mut seen = vec![false; heights.len()];
        let mut heap = BinaryHeap::new();
        for cell in 0..heights.len() {
            let (c, r) = (cell % cols, cell / cols);
            if c == 0 || r == 0 || c == cols - 1 || r == rows - 1 {
                seen[cell] = true;
                heap.push(Reverse((key(heights[cell]), cell as u32)));
            }
        }
        while let Some(Reverse((level, cell))) = heap.pop() {
            let at = orogen_core::Cell { col: cell as usize % cols, row: cell as usize / cols };
            for n in field.values.neighbors8(at) {
                let other = n.cell.row * cols + n.cell.col;
                if !std::mem::replace(&mut seen[other], true) {
                    next[other] = cell;
                    drowned[other] = key(heights[other]) <= level;
                    heap.push(Reverse((key(heights[other]).max(level), other as u32)));
                }
            }
        }
        Self { next, drowned }
    }
}

/// A place on the way of a river particle, and how fast it was there.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: [f64; 2],
    velocity: [f64; 2],
}

/// A river particle and its way so far.
#[derive(Clone, Debug)]
struct Track {
    steps: Vec<Step>,
    /// Its own mass; what it takes up comes on top.
    mass: f64,
    /// Where others run into it.
    joined: Vec<(usize, usize)>,
    /// Which it runs into, and at which of its steps.
    into: Option<(usize, usize)>,
    loops: u32,
    /// Whether it has come to an end.
    done: bool,
}

/// All river particles.
struct Flow<'a> {
    params: &'a Ridges,
    rect: &'a Rect,
    field: &'a Field,
    flood: Flood,
    tracks: Vec<Track>,
    /// All pieces of all ways: a piece is named by its track and the step at its end.
    pieces: Pieces<(u32, u32)>,
    /// Merges that still move the river that is joined.
    merges: usize,
}

/// A piece of a way that another comes close to.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    track: usize,
    /// The step at the end of the piece.
    step: usize,
    /// Whether the two cross.
    cross: bool,
}

/// A vertex of a river.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub at: [f64; 2],
    /// Height above the level.
    pub z: f64,
    /// The next downstream, of a smaller number; itself where the river ends.
    pub down: usize,
    pub length: f64,
    pub mass: f64,
    /// Number of the particle that drew it.
    pub line: usize,
}

/// Lets river particles roll down from the ridges, and draws the rivers that they leave. Downstream first.
pub(super) fn rivers(
    params: &Ridges,
    rect: &Rect,
    ridges: &[Vec<Crest>],
    field: &Field,
    seed: Seed,
    ctx: &Ctx<'_>,
) -> Result<Vec<Node>, Cancelled> {
    let mut flow = Flow {
        params,
        rect,
        field,
        flood: Flood::new(field),
        tracks: Vec::new(),
        pieces: Pieces::new(rect, 2.0 * CLOSE * params.cell_m),
        merges: 6 * params.rivers as usize,
    };
    let crests: Vec<&Crest> = ridges.iter().flatten().collect();
    let mut queue: VecDeque<usize> = VecDeque::new();
    for i in 0..u64::from(params.rivers) {
        if crests.is_empty() {
            break;
        }
        // Evenly along all ridges, by turns to both sides.
        let share = (i as f64 + 0.8 * seed.unit(2 * i)) / f64::from(params.rivers);
        let crest = crests[((share * crests.len() as f64) as usize).min(crests.len() - 1)];
        let side = crest.heading + if i % 2 == 0 { 0.5 * PI } else { -0.5 * PI };
        let off = params.width_m * (0.25 + 0.2 * seed.unit(2 * i + 1));
        let way = [math::cos(side), math::sin(side)];
        let at = [0, 1].map(|k| crest.at[k] + off * way[k]);
        if (0..2).all(|k| at[k] > rect.min[k] && at[k] < rect.max[k]) {
            let start = Step { at, velocity: way.map(|v| SLOWEST * v) };
            queue.push_back(flow.tracks.len());
            flow.tracks.push(Track {
                steps: vec![start],
                mass: 1.0,
                joined: Vec::new(),
                into: None,
                loops: 0,
                done: false,
            });
        }
    }
    let total = queue.len().max(1);
    let mut runs = 0;
    while let Some(track) = queue.pop_front() {
        // One that was started again twice has run already.
        if flow.tracks[track].done || runs > RUNS * total {
            continue;
        }
        runs += 1;
        // Runs that merging starts again come on top; they count less and less.
        ctx.tick(100 * runs + 5 * total, 400 * (runs + total))?;
        flow.run(track, &mut queue);
        flow.tracks[track].done = true;
    }
    Ok(flow.nodes())
}

impl Flow<'_> {
    fn mass(&self, track: usize, upto: usize) -> f64 {
        let t = &self.tracks[track];
        let more = t.joined.iter().filter(|(step, _)| *step <= upto);
        t.mass + more.map(|&(_, other)| self.mass(other, usize::MAX)).sum::<f64>()
    }

    /// Whether the water of a track arrives at another.
    fn drains_into(&self, mut track: usize, other: usize) -> Option<usize> {
        while let Some((next, step)) = self.tracks[track].into {
            if next == other {
                return Some(step);
            }
            track = next;
        }
        None
    }

    /// Forgets all steps of a track after one; those that ran into them run on.
    fn cut(&mut self, track: usize, keep: usize, queue: &mut VecDeque<usize>) {
        for step in keep + 1..self.tracks[track].steps.len() {
            let [from, to] = [step - 1, step].map(|k| self.tracks[track].steps[k].at);
            self.pieces.remove((track as u32, step as u32), from, to);
        }
        self.tracks[track].steps.truncate(keep + 1);
        if let Some((into, _)) = self.tracks[track].into.take() {
            self.tracks[into].joined.retain(|&(_, joined)| joined != track);
        }
        self.tracks[track].done = false;
        let (stay, lost): (Vec<_>, Vec<_>) =
            self.tracks[track].joined.iter().partition(|(step, _)| *step <= keep);
        self.tracks[track].joined = stay;
        for (_, other) in lost {
            // Its last step was one of this track's. What ran into that step runs on as well: left as it was, it would be
            // led to wherever the next step comes to lie, across what lies between.
            let before_last = self.tracks[other].steps.len().saturating_sub(2);
            self.cut(other, before_last, queue);
            queue.push_back(other);
        }
    }

    fn push(&mut self, track: usize, step: Step) {
        let steps = &mut self.tracks[track].steps;
        if let Some(last) = steps.last() {
            self.pieces.add((track as u32, steps.len() as u32), last.at, step.at);
        }
        steps.push(step);
    }

    /// The piece that a move crosses, or else the closest to its end if that is close.
    fn meeting(&self, track: usize, from: [f64; 2], to: [f64; 2]) -> Option<Meeting> {
        let close_m = CLOSE * self.params.cell_m;
        let last = self.tracks[track].steps.len() - 1;
        let mut best: Option<(f64, Meeting)> = None;
        for (other, step) in self.pieces.near(from, to, close_m) {
            let (other, step) = (other as usize, step as usize);
            let steps = &self.tracks[other].steps;
            let piece = [steps[step - 1].at, steps[step].at];
            let own = other == track;
            if own && step == last {
                continue;
            }
            let cross = crosses([from, to], piece);
            // What has just run in here, or where this one was a moment ago, is close of course.
            let recent = |at: usize| at + 5 > last;
            let lately = own && recent(step)
                || self.tracks[other].into.is_some_and(|(t, at)| t == track && recent(at))
                    && step + 6 > steps.len();
            if lately && !cross {
                continue;
            }
            let distance = if cross { -1.0 } else { distance(to, piece) };
            let meeting = Meeting { track: other, step, cross };
            if distance < close_m && best.is_none_or(|(d, m)| (distance, other, step) < (d, m.track, m.step))
            {
                best = Some((distance, meeting));
            }
        }
        best.map(|(_, meeting)| meeting)
    }

    /// The first of some steps of a track, the nearest first, that a line from a place gets to without crossing anything.
    fn way_to(&self, from: [f64; 2], track: usize, steps: &[usize]) -> Option<usize> {
        let place = |k: usize| self.tracks[track].steps[k].at;
        let far = |k: &usize| math::hypot(place(*k)[0] - from[0], place(*k)[1] - from[1]);
        let mut steps = steps.to_vec();
        steps.sort_by(|a, b| far(a).total_cmp(&far(b)));
        steps.into_iter().find(|&step| {
            let line = [from, place(step)];
            self.pieces.near(line[0], line[1], 0.0).all(|(t, k)| {
                let steps = &self.tracks[t as usize].steps;
                !crosses(line, [steps[k as usize - 1].at, steps[k as usize].at])
            })
        })
    }

    /// Lets a particle roll until it leaves the land, meets another or itself, or comes to rest.
    fn run(&mut self, track: usize, queue: &mut VecDeque<usize>) {
        let size = self.rect.size();
        let step_m = self.params.cell_m;
        let most = (6.0 * (size[0] + size[1]) / step_m) as usize + 16;
        let mass = self.mass(track, usize::MAX);
        // A great river is slowed less.
        let drag = 1.0 / (self.params.friction_s * math::pow(mass, 0.25));
        let mut calm = 0usize;
        // Where one is bound that has run in circles too often: cell by cell out of all hollows.
        let mut goal: Option<usize> = None;
        while self.tracks[track].steps.len() < most {
            let last = self.tracks[track].steps.len() - 1;
            let Step { at, velocity } = self.tracks[track].steps[last];
            if (0..2).any(|k| at[k] <= self.rect.min[k] || at[k] >= self.rect.max[k]) {
                // One that was cut back to where it left the land.
                return;
            }
            let cell = self.field.cell(at);
            if self.tracks[track].loops > LOOPS {
                let mut next = goal.unwrap_or(cell);
                let [x, y] = self.field.place(next);
                if math::hypot(x - at[0], y - at[1]) < 0.6 * self.field.cell_m {
                    next = self.flood.next[next] as usize;
                }
                goal = Some(next);
            }
            let pull = if goal.is_some() || calm > 0 || self.flood.drowned[cell] {
                let to = self.field.place(goal.unwrap_or(self.flood.next[cell] as usize));
                let way = [to[0] - at[0], to[1] - at[1]];
                let length = math::hypot(way[0], way[1]).max(1e-6);
                way.map(|v| 0.05 * GRAVITY * v / length)
            } else {
                self.field.slope(at).map(|s| -GRAVITY * s)
            };
            let speed = math::hypot(velocity[0], velocity[1]);
            let time = step_m / speed.max(SLOWEST);
            // The drag is taken implicitly: long steps stay stable.
            let slow = 1.0 / (1.0 + drag * time);
            let mut velocity = [0, 1].map(|k| (velocity[k] + pull[k] * time) * slow);
            let mut speed = math::hypot(velocity[0], velocity[1]);
            if goal.is_some() || calm > 0 || speed < 1e-6 {
                velocity = pull;
                speed = math::hypot(pull[0], pull[1]);
                calm = calm.saturating_sub(1);
            }
            if speed < 1e-9 {
                return;
            }
            let go = velocity.map(|v| v / speed);
            let velocity = go.map(|v| v * speed.max(SLOWEST));
            let to = [at[0] + step_m * go[0], at[1] + step_m * go[1]];
            let edge = leaves(self.rect, at, to);
            let to = edge.unwrap_or(to);
            let Some(meeting) = self.meeting(track, at, to) else {
                self.push(track, Step { at: to, velocity });
                if edge.is_some() {
                    return;
                }
                continue;
            };
            let own = meeting.track == track;
            let back = if own { Some(meeting.step - 1) } else { self.drains_into(meeting.track, track) };
            let Some(back) = back else {
                if !meeting.cross {
                    self.push(track, Step { at: to, velocity });
                }
                let from = if meeting.cross { at } else { to };
                if let Some(end) = self.way_to(from, meeting.track, &[meeting.step - 1, meeting.step]) {
                    self.join(track, meeting.track, end, velocity, queue);
                }
                return;
            };
            let loops = &mut self.tracks[track].loops;
            *loops += 1;
            if *loops > 20 * LOOPS {
                return;
            }
            if *loops > LOOPS && !own {
                // What would only come back here ends here.
                if !meeting.cross {
                    self.push(track, Step { at: to, velocity });
                }
                let here = self.tracks[track].steps.len() - 1;
                let Step { at, .. } = self.tracks[track].steps[here];
                let ends = [meeting.step - 1, meeting.step];
                let ends = if meeting.cross { &ends[..1] } else { &ends };
                let Some(end) = self.way_to(at, meeting.track, ends) else { return };
                self.cut(meeting.track, end, queue);
                self.push(meeting.track, Step { at, velocity });
                self.tracks[meeting.track].into = Some((track, here));
                self.tracks[meeting.track].done = true;
                self.tracks[track].joined.push((here, meeting.track));
                if edge.is_some() && !meeting.cross {
                    return;
                }
                continue;
            }
            // In a circle: back to where it began, and slowly over the lip of the hollow.
            calm = 4 * *loops as usize;
            goal = None;
            self.cut(track, back.min(last), queue);
        }
    }

    /// One river runs into another: from there on both are one, with the velocity and the mass of both.
    fn join(
        &mut self,
        track: usize,
        other: usize,
        step: usize,
        velocity: [f64; 2],
        queue: &mut VecDeque<usize>,
    ) {
        let step = step.min(self.tracks[other].steps.len() - 1);
        let place = self.tracks[other].steps[step];
        self.push(track, Step { at: place.at, velocity });
        if self.merges > 0 && step + 1 < self.tracks[other].steps.len() {
            self.merges -= 1;
            self.cut(other, step, queue);
            let (a, b) = (self.mass(track, usize::MAX), self.mass(other, step));
            let whole = (a + b).max(1e-9);
            // Momentum is kept: the greater river decides.
            let both = [0, 1].map(|k| (a * velocity[k] + b * place.velocity[k]) / whole);
            self.tracks[other].steps[step].velocity = both;
            queue.push_back(other);
        }
        self.tracks[track].into = Some((other, step));
        self.tracks[other].joined.push((step, track));
    }

    /// The track that a step belongs to: the last step of one that runs into another is a step of that other, and to
    /// lead water to the step before it instead could lead it across a third.
    fn owner(&self, mut track: usize, mut step: usize) -> (usize, usize) {
        while let Some((into, at)) =
            self.tracks[track].into.filter(|_| step + 1 >= self.tracks[track].steps.len())
        {
            (track, step) = (into, at);
        }
        (track, step)
    }

    /// The ways as vertices, downstream first, with masses.
    fn nodes(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut first = vec![usize::MAX; self.tracks.len()];
        // Those that run into none come first; then those that run into drawn ones.
        let mut stack: Vec<usize> =
            (0..self.tracks.len()).filter(|&t| self.tracks[t].into.is_none()).collect();
        let mut i = 0;
        while let Some(&t) = stack.get(i) {
            i += 1;
            let track = &self.tracks[t];
            let mut steps = track.steps.iter().collect::<Vec<_>>();
            let mut down = None;
            if let Some((other, step)) = track.into {
                let (other, step) = self.owner(other, step);
                // Nodes of a track are numbered from its end.
                let length = self.tracks[other].steps.len();
                let own = if self.tracks[other].into.is_some() { length - 1 } else { length };
                down = Some(first[other] + (own - 1 - step.min(own - 1)));
                steps.pop();
            }
            if steps.is_empty() {
                // Began where it ran into another; those that joined it cannot have.
                steps.extend(track.steps.first());
            }
            first[t] = nodes.len();
            for step in steps.iter().rev() {
                let to = down.unwrap_or(nodes.len());
                let next = nodes.get(to).map_or(step.at, |n: &Node| n.at);
                nodes.push(Node {
                    at: step.at,
                    z: self.field.at(step.at),
                    down: to,
                    length: math::hypot(next[0] - step.at[0], next[1] - step.at[1]).max(1e-3),
                    mass: 0.0,
                    line: t,
                });
                down = Some(nodes.len() - 1);
            }
            if let Some(spring) = nodes.last_mut() {
                spring.mass = track.mass;
            }
            stack.extend(track.joined.iter().map(|j| j.1));
        }
        for i in (0..nodes.len()).rev() {
            let (down, mass) = (nodes[i].down, nodes[i].mass);
            if down != i {
                nodes[down].mass += mass;
            }
        }
        nodes
    }
}

/// Where a step leaves the frame.
fn leaves(rect: &Rect, from: [f64; 2], to: [f64; 2]) -> Option<[f64; 2]> {
    let mut first: Option<(f64, usize, f64)> = None;
    for k in 0..2 {
        let side = if to[k] <= rect.min[k] { rect.min[k] } else { rect.max[k] };
        if to[k] <= rect.min[k] || to[k] >= rect.max[k] {
            let way = to[k] - from[k];
            // Along the very border it leaves where it is.
            let share = if way == 0.0 { 0.0 } else { ((side - from[k]) / way).clamp(0.0, 1.0) };
            if first.is_none_or(|(least, ..)| share < least) {
                first = Some((share, k, side));
            }
        }
    }
    first.map(|(share, axis, side)| {
        let mut at = [0, 1].map(|k| (from[k] + share * (to[k] - from[k])).clamp(rect.min[k], rect.max[k]));
        at[axis] = side;
        at
    })
}

/// Pieces of lines in square bins, to find those near a place.
pub(super) struct Pieces<T> {
    min: [f64; 2],
    bin_m: f64,
    count: [usize; 2],
    bins: Vec<Vec<T>>,
}

impl<T: Copy + PartialEq + Ord> Pieces<T> {
    pub fn new(rect: &Rect, bin_m: f64) -> Self {
        let count = rect.size().map(|side| (side / bin_m).ceil() as usize + 1);
        Self { min: rect.min, bin_m, count, bins: vec![Vec::new(); count[0] * count[1]] }
    }

    fn bins(&self, from: [f64; 2], to: [f64; 2], by: f64) -> impl Iterator<Item = usize> + use<T> {
        let place = |v: f64, k: usize| {
            (((v - self.min[k]) / self.bin_m).clamp(0.0, 1e9) as usize).min(self.count[k] - 1)
        };
        let [cols, rows] = [0, 1].map(|k| {
            let (low, high) = (from[k].min(to[k]) - by, from[k].max(to[k]) + by);
            place(low, k)..place(high, k) + 1
        });
        let wide = self.count[0];
        rows.flat_map(move |row| cols.clone().map(move |col| row * wide + col))
    }

    pub fn add(&mut self, piece: T, from: [f64; 2], to: [f64; 2]) {
        for bin in self.bins(from, to, 0.0) {
            self.bins[bin].push(piece);
        }
    }

    fn remove(&mut self, piece: T, from: [f64; 2], to: [f64; 2]) {
        for bin in self.bins(from, to, 0.0) {
            self.bins[bin].retain(|p| *p != piece);
        }
    }

    /// Pieces that may be that close to a line; some more than once.
    pub fn near(&self, from: [f64; 2], to: [f64; 2], by: f64) -> impl Iterator<Item = T> + '_ {
        self.bins(from, to, by).flat_map(|bin| self.bins[bin].iter().copied())
    }
}

/// Whether two pieces cross; to meet at an end is not to cross.
pub(super) fn crosses(a: [[f64; 2]; 2], b: [[f64; 2]; 2]) -> bool {
    let side = |s: [[f64; 2]; 2], p: [f64; 2]| {
        (s[1][0] - s[0][0]) * (p[1] - s[0][1]) - (s[1][1] - s[0][1]) * (p[0] - s[0][0])
    };
    side(a, b[0]) * side(a, b[1]) < 0.0 && side(b, a[0]) * side(b, a[1]) < 0.0
}

/// How far a place is from a piece.
fn distance(p: [f64; 2], [a, b]: [[f64; 2]; 2]) -> f64 {
    let way = [b[0] - a[0], b[1] - a[1]];
    let length2 = (way[0] * way[0] + way[1] * way[1]).max(1e-12);
    let t = (((p[0] - a[0]) * way[0] + (p[1] - a[1]) * way[1]) / length2).clamp(0.0, 1.0);
    math::hypot(p[0] - a[0] - t * way[0], p[1] - a[1] - t * way[1])
}
