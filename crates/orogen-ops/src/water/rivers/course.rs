//! The course of a river: a smooth line along the floor of its valley, and the cells it runs through.

use std::collections::HashMap;

use orogen_core::{CellIx, Seed, math};

use super::grid::{Grid, Place};
use super::lakes::Lakes;
use super::stems::Stem;
use super::{Land, Rivers};
use crate::drainage::ways::step;
use crate::drainage::{NOWHERE, Ways};

/// How far courses are smoothed at least, in cells: the steps of the lattice are gone by then.
const SMOOTH_CELLS: f64 = 2.6;
/// And at most, which bounds the work.
const SMOOTHEST_CELLS: f64 = 9.0;
/// Rounds of smoothing after a course was bent or held back.
const AFTERWARDS: usize = 3;
/// Vertices of the river downstream that a tributary is drawn towards.
const TAIL: usize = 5;
/// How far up its valley's side a course may be drawn, as a share of the cell.
const UP_THE_SIDE: f64 = 0.12;
/// Length of a meander in widths of the river, and in cells at least.
const MEANDER_WIDTHS: f64 = 11.0;
const MEANDER_CELLS: f64 = 9.0;
/// Swing of meanders in steep and in flat country, as shares of their length.
const SWING: [f64; 2] = [0.05, 0.22];
/// Grade at which a river is halfway between the two.
const STEEP: f64 = 0.012;

/// A vertex of a course; each lies in a cell of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vertex {
    pub at: Place,
    pub cell: CellIx,
    /// The number of the stem's cell beside it.
    pub beside: u32,
}

/// A river as a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    pub vertices: Vec<Vertex>,
    /// The river and the number of the vertex where it ends; none at the edge, a hole or the sea.
    pub join: Option<(usize, usize)>,
    /// Whether its last vertex lies in the sea.
    pub in_sea: bool,
}

/// The courses of all stems, and which cell belongs to which vertex.
pub(super) struct Courses {
    pub lines: Vec<Course>,
    pub owner: HashMap<CellIx, (u32, u32)>,
    /// Cells that lines cross at a corner, each with the vertex that comes next.
    corners: HashMap<CellIx, (u32, u32)>,
    /// The river that runs through each lake, if any: others end there, so that every lake has one outlet.
    through: Vec<Option<usize>>,
}

impl Courses {
    /// Draws all stems in their order: every river ends where it first meets one drawn before.
    pub fn draw(
        land: &Land<'_>,
        stems: &[Stem],
        lakes: &Lakes,
        params: &Rivers,
        seed: Seed,
        discharge: &(dyn Fn(CellIx) -> f64 + Sync),
    ) -> Self {
        let mut courses = Self {
            lines: Vec::with_capacity(stems.len()),
            owner: HashMap::new(),
            corners: HashMap::new(),
            through: vec![None; lakes.levels.len()],
        };
        for (number, stem) in stems.iter().enumerate() {
            let tail = courses.tail(stem);
            let pen = Pen { land, params, seed: Seed(seed.bits(number as u64)) };
            let smooth = pen.smooth(stem, &tail, discharge);
            let course = courses.trace(land, lakes, stem, number, &smooth).unwrap_or_else(|| {
                // The plain way from cell to cell always works.
                let plain: Vec<Place> = stem.cells.iter().map(|&c| land.grid.place(c.at())).collect();
                let end = stem.next.map(|next| land.grid.place(next.at()));
                let plain: Vec<Place> = plain.into_iter().chain(end).collect();
                courses.trace(land, lakes, stem, number, &plain).unwrap_or_default()
            });
            for vertex in &course.vertices {
                if let Some(through) = courses.through.get_mut(lakes.of(vertex.cell.at()) as usize) {
                    through.get_or_insert(number);
                }
            }
            courses.lines.push(course);
            courses.note_corners(&land.grid, number);
        }
        courses
    }

    /// Turns the ways of the cells of all lines along them.
    pub fn lead(&self, grid: &Grid, ways: &mut Ways) {
        let ways = ways.0.as_mut_slice();
        for line in &self.lines {
            for (i, vertex) in line.vertices.iter().enumerate() {
                let from = vertex.cell.at();
                let next = match (line.vertices.get(i + 1), line.join) {
                    (Some(next), _) => next.cell.at(),
                    (None, Some((river, at))) => self.lines[river].vertices[at].cell.at(),
                    (None, None) => {
                        ways[from] = NOWHERE;
                        continue;
                    }
                };
                // Across a lake the water finds its way by itself.
                if let Some(way) = (0..8).find(|&way| step(from, way, grid.cols) == next) {
                    ways[from] = way;
                }
            }
        }
    }

    /// The vertices that follow those of a line, each with its river and number.
    pub fn steps(&self, number: usize) -> impl Iterator<Item = (&Vertex, (usize, usize), &Vertex)> {
        let line = &self.lines[number];
        line.vertices.iter().enumerate().filter_map(move |(i, from)| {
            let to = if i + 1 < line.vertices.len() { (number, i + 1) } else { line.join? };
            Some((from, to, &self.lines[to.0].vertices[to.1]))
        })
    }

    fn note_corners(&mut self, grid: &Grid, number: usize) {
        let crossed: Vec<(CellIx, (u32, u32))> = self
            .steps(number)
            .filter_map(|(from, to, next)| {
                Some((CellIx::new(grid.corner(from.at, next.at)?), (to.0 as u32, to.1 as u32)))
            })
            .collect();
        for (cell, to) in crossed {
            self.corners.entry(cell).or_insert(to);
        }
    }

    /// The vertex of a river in a lake that lies nearest to a place there.
    fn nearest_in(
        &self,
        land: &Land<'_>,
        lakes: &Lakes,
        river: usize,
        lake: u32,
        place: Place,
    ) -> Option<(usize, usize)> {
        let vertices = self.lines[river].vertices.iter().enumerate();
        let there = vertices.filter(|(_, vertex)| lakes.of(vertex.cell.at()) == lake);
        let off = |vertex: &Vertex| land.grid.distance_m(vertex.at, place);
        there.min_by(|a, b| off(a.1).total_cmp(&off(b.1))).map(|(at, _)| (river, at))
    }

    /// Places downstream of a stem's end, on lines already drawn.
    fn tail(&self, stem: &Stem) -> Vec<Place> {
        let Some((mut river, cell)) = stem.parent else { return Vec::new() };
        let mut at = self.lines[river].vertices.partition_point(|v| (v.beside as usize) < cell);
        let mut places = Vec::with_capacity(TAIL);
        while places.len() < TAIL {
            if let Some(vertex) = self.lines[river].vertices.get(at) {
                places.push(vertex.at);
                at += 1;
            } else if let Some(join) = self.lines[river].join {
                (river, at) = join;
            } else {
                break;
            }
        }
        if places.is_empty() {
            places.extend(self.lines[river].vertices.last().map(|vertex| vertex.at));
        }
        places
    }

    /// Follows a line from cell to cell until it meets a river, the sea or its end. `None` where it crosses a hole or skips
    /// a cell, or where a tributary meets nothing.
    fn trace(
        &mut self,
        land: &Land<'_>,
        lakes: &Lakes,
        stem: &Stem,
        number: usize,
        line: &[Place],
    ) -> Option<Course> {
        let grid = &land.grid;
        let mut course = Course::default();
        let mut sound = true;
        'line: for i in 0..line.len() {
            let (a, b) = (line[i], line[(i + 1).min(line.len() - 1)]);
            let pieces = (2.0 * (b[0] - a[0]).abs().max((b[1] - a[1]).abs())).ceil().max(1.0);
            for k in 0..pieces as usize {
                let share = k as f64 / pieces;
                let at = Grid::rounded([a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share]);
                let cell = grid.cell(at);
                let height = land.height.as_slice()[cell];
                let vertex =
                    Vertex { at, cell: CellIx::new(cell), beside: i.min(stem.cells.len() - 1) as u32 };
                let vertices = &mut course.vertices;
                if let Some(last) = vertices.last_mut()
                    && last.cell == vertex.cell
                {
                    // The place nearest to the sample stands for the cell; the spring stays.
                    let middle = grid.place(cell);
                    let off = |p: Place| grid.distance_m(p, middle);
                    if vertices.len() > 1 && off(at) < off(vertices[vertices.len() - 1].at) {
                        let last = vertices.len() - 1;
                        vertices[last] = vertex;
                    }
                    continue;
                }
                if height.is_nan() || vertices.last().is_some_and(|last| !grid.touch(last.cell.at(), cell)) {
                    sound = false;
                    break 'line;
                }
                match self.owner.get(&vertex.cell) {
                    Some(&(river, at)) if river as usize != number => {
                        course.join = Some((river as usize, at as usize));
                        break 'line;
                    }
                    Some(&(_, at)) => {
                        // A loop is cut off.
                        for gone in vertices.drain(at as usize + 1..) {
                            self.owner.remove(&gone.cell);
                        }
                        continue;
                    }
                    None => {}
                }
                // A cell that only a corner of the line touches is passed over.
                if vertices.len() > 2 && grid.touch(vertices[vertices.len() - 2].cell.at(), cell) {
                    let gone = vertices.pop();
                    gone.iter().for_each(|gone| {
                        self.owner.remove(&gone.cell);
                    });
                }
                self.owner.insert(vertex.cell, (number as u32, vertices.len() as u32));
                vertices.push(vertex);
                let lake = lakes.of(cell);
                if let Some(&Some(river)) = self.through.get(lake as usize) {
                    course.join = self.nearest_in(land, lakes, river, lake, at);
                    break 'line;
                }
                if let Some(&(river, at)) = self.corners.get(&vertex.cell)
                    && height > land.sea_m
                    && grid.touch(cell, self.lines[river as usize].vertices[at as usize].cell.at())
                {
                    course.join = Some((river as usize, at as usize));
                    break 'line;
                }
                if height <= land.sea_m {
                    course.in_sea = true;
                    break 'line;
                }
            }
        }
        // A tributary ends on another river, and one that runs into the sea ends there.
        sound &= course.join.is_some() || course.in_sea || stem.next.is_none();
        if !sound {
            for gone in &course.vertices {
                self.owner.remove(&gone.cell);
            }
            return None;
        }
        Some(course)
    }
}

/// Draws one line.
struct Pen<'a> {
    land: &'a Land<'a>,
    params: &'a Rivers,
    seed: Seed,
}

impl Pen<'_> {
    /// A smooth line by the cells of a stem that ends along a tail, or at the end of the stem.
    fn smooth(&self, stem: &Stem, tail: &[Place], discharge: &(dyn Fn(CellIx) -> f64 + Sync)) -> Vec<Place> {
        let grid = &self.land.grid;
        let plain: Vec<Place> = stem.cells.iter().map(|&cell| grid.place(cell.at())).collect();
        // Beyond these, places stay.
        let free = if tail.is_empty() && stem.next.is_none() { plain.len() - 1 } else { plain.len() };
        let end = if tail.is_empty() { stem.next.map(|next| grid.place(next.at())) } else { None };
        let mut line: Vec<Place> = plain.iter().copied().chain(tail.iter().copied()).chain(end).collect();
        let widths: Vec<f64> = stem.cells.iter().map(|&cell| self.params.width_of(discharge(cell))).collect();
        let widest = widths.last().copied().unwrap_or(0.0);
        let cells = (widest / grid.cell_m()).clamp(SMOOTH_CELLS, SMOOTHEST_CELLS);
        soften(&mut line, free, (2.0 * cells * cells).round() as usize);
        self.hold_back(&mut line, &plain, free, |_| UP_THE_SIDE * grid.cell_m());
        soften(&mut line, free, AFTERWARDS);
        if self.params.meander > 0.0 {
            let straight = line.clone();
            let lengths: Vec<f64> =
                widths.iter().map(|w| (MEANDER_WIDTHS * w).max(MEANDER_CELLS * grid.cell_m())).collect();
            self.bend(stem, &mut line, free, &lengths);
            // Broad floors have room for meanders; what rises by a little is cut.
            self.hold_back(&mut line, &straight, free, |i| {
                0.5 * UP_THE_SIDE * grid.cell_m() + 0.004 * lengths[i]
            });
            soften(&mut line, free, AFTERWARDS);
        }
        line
    }

    /// Moves places sideways, more in flat country.
    fn bend(&self, stem: &Stem, line: &mut [Place], free: usize, lengths: &[f64]) {
        let grid = &self.land.grid;
        let heights = self.land.height.as_slice();
        let count = stem.cells.len();
        let last = line.len() - 1;
        let straight = line.to_vec();
        let mut phase = 0.0;
        for i in (0..free).rev() {
            phase += 2.0 * grid.distance_m(straight[i], straight[(i + 1).min(last)]) / lengths[i];
            if i == 0 {
                break;
            }
            // The grade over a few cells either way.
            let (up, down) = (i.saturating_sub(8), (i + 8).min(count - 1));
            let fall = f64::from(heights[stem.cells[up].at()] - heights[stem.cells[down].at()]);
            let run: f64 =
                (up..down).map(|k| grid.distance_m(straight[k], straight[k + 1])).sum::<f64>().max(1e-9);
            let grade = (fall / run).max(0.0) / STEEP;
            let calm = 1.0 / (1.0 + grade * grade);
            let swing = self.params.meander * lengths[i] * (SWING[0] + (SWING[1] - SWING[0]) * calm);
            let ends = (i.min(free - i) as f64 / 8.0).min(1.0);
            let (a, b) = (straight[i - 1], straight[(i + 1).min(last)]);
            let [x, y] = grid.metres([b[0] - a[0], b[1] - a[1]]);
            let length = math::hypot(x, y).max(1e-9);
            let by = swing * ends * wave(self.seed, phase);
            let side = [-y / length * by, x / length * by];
            let at =
                [straight[i][0] + side[0] / grid.spacing_m[0], straight[i][1] + side[1] / grid.spacing_m[1]];
            line[i] = self.on_map(at);
        }
    }

    fn on_map(&self, at: Place) -> Place {
        let grid = &self.land.grid;
        let half = [(grid.cols - 1) as f64 * 0.5, (grid.rows - 1) as f64 * 0.5];
        [at[0].clamp(-half[0], half[0]), at[1].clamp(-half[1], half[1])]
    }

    /// Draws places back towards where they came from until the ground there is not much higher.
    fn hold_back(&self, line: &mut [Place], from: &[Place], free: usize, allowed_m: impl Fn(usize) -> f64) {
        let (grid, height) = (&self.land.grid, self.land.height);
        for i in 1..free {
            let to = Grid::rounded(line[i]);
            let base = grid.ground(height, Grid::rounded(from[i]));
            let fits = |p: Place| grid.ground(height, p) <= base + allowed_m(i);
            let back = |share: f64| Grid::rounded([0, 1].map(|k| from[i][k] + (to[k] - from[i][k]) * share));
            line[i] = [1.0, 0.75, 0.5, 0.25].into_iter().map(back).find(|&p| fits(p)).unwrap_or(from[i]);
        }
    }
}

/// Rounds of averaging with the neighbours; the first place and those from `free` on stay.
fn soften(line: &mut Vec<Place>, free: usize, rounds: usize) {
    let mut other = line.clone();
    for _ in 0..rounds {
        for i in 1..free.min(line.len() - 1) {
            other[i] = [0, 1].map(|k| 0.5 * line[i][k] + 0.25 * (line[i - 1][k] + line[i + 1][k]));
        }
        std::mem::swap(line, &mut other);
    }
    line.iter_mut().for_each(|place| *place = Grid::rounded(*place));
}

/// Noise along a line, about -1 to 1: through zero at every whole number, with a slope of its own there.
fn wave(seed: Seed, at: f64) -> f64 {
    let low = at.floor();
    let t = at - low;
    // Slopes of alternating sign make bends to either side in turn.
    let slope = |k: f64| {
        let strength = 0.55 + 0.9 * seed.unit(k as u64);
        if (k as u64).is_multiple_of(2) { strength } else { -strength }
    };
    let fade = t * t * (3.0 - 2.0 * t);
    let (a, b) = (slope(low) * t, slope(low + 1.0) * (t - 1.0));
    2.0 * (a + (b - a) * fade)
}
