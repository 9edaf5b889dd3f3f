//! What rivers carry and how high they lie: discharge, order, and heights that never rise downstream.

use orogen_core::math;

use super::course::Courses;
use super::lakes::{DRY, Lakes};
use super::stems::Stem;
use super::{Land, Rivers};

/// A vertex of a river with all that is known of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    /// Water, in whole parts, with what joins here.
    pub water: u64,
    /// The same without.
    pub before: u64,
    /// Strahler order below.
    pub order: u8,
    /// Whether another line ends here.
    pub junction: bool,
    /// Lake, or [`DRY`].
    pub lake: u32,
    /// No lower than this: water downstream stands so high.
    floor: f32,
    /// Height of the water.
    pub z: f32,
    /// Height of the ground below it, as the map shows it.
    pub bed: f32,
}

/// Rivers whose lines are drawn, vertex by vertex.
pub(super) type Profiles = Vec<Vec<Reach>>;

/// What a river has at its end.
#[derive(Clone, Copy, Default)]
struct End {
    water: u64,
    order: u8,
    z: f32,
    bed: f32,
    /// Whether there is a line.
    drawn: bool,
}

/// Measures all rivers. Lakes are raised by a hair where water below them stands as high.
pub(super) fn profiles(
    land: &Land<'_>,
    stems: &[Stem],
    courses: &Courses,
    lakes: &mut Lakes,
    water: &(dyn Fn(usize) -> u64 + Sync),
    params: &Rivers,
    per_part: f64,
) -> Profiles {
    let mut profiles = in_lakes(courses, lakes);
    floors(land, courses, lakes, &mut profiles);
    // Water that stems hand to each other by the drainage is not their own.
    let mut given: Vec<Vec<(usize, u64)>> = vec![Vec::new(); stems.len()];
    for stem in stems {
        if let Some((parent, at)) = stem.parent {
            given[parent].push((at, water(stem.cells[stem.cells.len() - 1].at())));
        }
    }
    let mut joins: Vec<Vec<(usize, usize)>> = vec![Vec::new(); stems.len()];
    for (number, line) in courses.lines.iter().enumerate() {
        if let Some((river, at)) = line.join {
            joins[river].push((at, number));
        }
    }
    let mut ends = vec![End::default(); stems.len()];
    for number in (0..stems.len()).rev() {
        given[number].sort_unstable();
        joins[number].sort_unstable();
        let line = Line {
            land,
            params,
            per_part,
            stem: &stems[number],
            courses,
            number,
            given: &given[number],
            joins: &joins[number],
        };
        ends[number] = line.measure(&mut profiles[number], lakes, water, &ends);
    }
    profiles
}

/// Which vertices lie in which lake; between the first and the last in a lake all do.
fn in_lakes(courses: &Courses, lakes: &mut Lakes) -> Profiles {
    let mut profiles = Vec::with_capacity(courses.lines.len());
    for line in &courses.lines {
        let of: Vec<u32> = line.vertices.iter().map(|v| lakes.of(v.cell.at())).collect();
        let mut reaches: Vec<Reach> =
            of.iter().map(|&lake| Reach { lake, floor: f32::NEG_INFINITY, ..Reach::default() }).collect();
        let mut i = 0;
        while i < of.len() {
            if of[i] == DRY {
                i += 1;
                continue;
            }
            let lake = lakes.of(line.vertices[i].cell.at());
            let last = (i..of.len()).rev().find(|&k| of[k] == of[i]).unwrap_or(i);
            for k in i..=last {
                lakes.take(line.vertices[k].cell.at(), lake);
                reaches[k].lake = lake;
            }
            lakes.on_river[lake as usize] = true;
            i = last + 1;
        }
        profiles.push(reaches);
    }
    // Lakes may have become one since.
    for (line, reaches) in courses.lines.iter().zip(&mut profiles) {
        for (vertex, reach) in line.vertices.iter().zip(reaches) {
            reach.lake = lakes.of(vertex.cell.at());
        }
    }
    profiles
}

/// How low each vertex may lie: above the lakes and the sea downstream, by a hair more for each vertex on the way.
fn floors(land: &Land<'_>, courses: &Courses, lakes: &mut Lakes, profiles: &mut Profiles) {
    for (number, line) in courses.lines.iter().enumerate() {
        let (mut floor, mut lake) = match line.join {
            Some((river, at)) => (profiles[river][at].floor, profiles[river][at].lake),
            None => (f32::NEG_INFINITY, DRY),
        };
        let count = line.vertices.len();
        for (i, reach) in profiles[number].iter_mut().enumerate().rev() {
            let above = if floor == f32::NEG_INFINITY { floor } else { floor.next_up() };
            floor = if line.in_sea && i + 1 == count {
                land.sea_m
            } else if reach.lake == DRY {
                above
            } else {
                let level = &mut lakes.levels[reach.lake as usize];
                if reach.lake != lake {
                    *level = level.max(above);
                }
                *level
            };
            lake = reach.lake;
            reach.floor = floor;
        }
    }
}

struct Line<'a> {
    land: &'a Land<'a>,
    params: &'a Rivers,
    per_part: f64,
    stem: &'a Stem,
    courses: &'a Courses,
    number: usize,
    given: &'a [(usize, u64)],
    joins: &'a [(usize, usize)],
}

impl Line<'_> {
    fn measure(
        &self,
        reaches: &mut [Reach],
        lakes: &Lakes,
        water: &(dyn Fn(usize) -> u64 + Sync),
        ends: &[End],
    ) -> End {
        let course = &self.courses.lines[self.number];
        let heights = self.land.height.as_slice();
        let (mut given, mut joins) = (self.given.iter().peekable(), self.joins.iter().peekable());
        let (mut others, mut joined) = (0u64, 0u64);
        let mut end = End { order: 1, z: f32::INFINITY, bed: f32::INFINITY, ..End::default() };
        let count = reaches.len();
        for (i, (reach, vertex)) in reaches.iter_mut().zip(&course.vertices).enumerate() {
            let last = i + 1 == count;
            let beside = if last { self.stem.cells.len() - 1 } else { vertex.beside as usize };
            while let Some((_, water)) = given.next_if(|(at, _)| *at <= beside) {
                others += water;
            }
            let own = water(self.stem.cells[beside].at()).saturating_sub(others);
            let (mut highest, mut same, mut here) = (end.order, 1, 0u64);
            while let Some((_, other)) = joins.next_if(|(at, _)| *at == i) {
                let other = &ends[*other];
                end.z = end.z.min(other.z);
                end.bed = end.bed.min(other.bed);
                joined += other.water;
                if !other.drawn {
                    continue;
                }
                here += other.water;
                reach.junction = true;
                match other.order.cmp(&highest) {
                    std::cmp::Ordering::Greater => (highest, same) = (other.order, 1),
                    std::cmp::Ordering::Equal => same += 1,
                    std::cmp::Ordering::Less => {}
                }
            }
            end.order = highest + u8::from(same > 1);
            reach.order = end.order;
            reach.water = own + joined;
            reach.before = reach.water - here;
            if let Some(&level) = lakes.levels.get(reach.lake as usize) {
                (reach.z, reach.bed) = (level, level);
            } else if last && course.in_sea {
                (reach.z, reach.bed) = (self.land.sea_m, heights[vertex.cell.at()]);
            } else {
                let discharge = reach.water as f64 * self.per_part;
                let depth = self.params.depth_of(discharge);
                // Beside the vertex, also where the line ends early: its stem may run on far down the valley.
                let beside = self.stem.cells[vertex.beside as usize].at();
                let ground = heights[vertex.cell.at()].min(heights[beside]);
                let fall = |target: f64, above: f32| (target as f32).min(above.next_down()).max(reach.floor);
                let z = fall(self.params.surface(f64::from(ground), depth, self.land.sea_m), end.z);
                let shown = depth * shown_share(self.params.width_of(discharge) / self.land.grid.cell_m());
                let bed = fall(bed(z, shown, self.land.sea_m), end.bed);
                (reach.z, reach.bed) = (z, bed);
            }
            (end.z, end.bed) = (reach.z, reach.bed);
        }
        let own = water(self.stem.cells[self.stem.cells.len() - 1].at());
        let others: u64 = self.given.iter().map(|(_, water)| water).sum();
        end.water =
            own.saturating_sub(others) + self.joins.iter().map(|(_, other)| ends[*other].water).sum::<u64>();
        end.drawn = count >= 2;
        end
    }
}

/// Share of a river's depth that the map shows: none where it is narrower than a cell, all from three cells on.
pub(super) fn shown_share(cells_wide: f64) -> f64 {
    f64::from(math::smoothstep(1.0, 3.0, cells_wide as f32))
}

/// The bed below water: never as low as the sea, which would become part of it.
pub(super) fn bed(z: f32, depth_m: f64, sea_m: f32) -> f64 {
    let z = f64::from(z);
    (z - depth_m).max(0.5 * (z + f64::from(sea_m)))
}
