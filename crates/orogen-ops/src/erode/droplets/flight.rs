//! How drops run over ground that stands still: many side by side, each alone.

use orogen_core::Raster;

use crate::drainage::basins::NO_CELL;
use crate::simd::{Level, dispatch};

/// Drops in flight at once: two vectors of eight.
const LANES: usize = 16;
/// Parts of a full drop in which water is counted.
pub(super) const DRIPS: f32 = 64.0;
/// Units of load that a full drop can carry at slope 1 on open ground: loads are whole numbers of units, which 32-bit floats
/// hold exactly up to [`MOST_LOAD`].
pub(super) const UNITS: f32 = 131_072.0;
const MOST_LOAD: f32 = 8_388_608.0;

/// A drop between two steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Droplet {
    /// Column and row of the sample to its north-west.
    pub at: [i32; 2],
    /// How far it is past that sample, in cells.
    pub past: [f32; 2],
    /// Mean fall of the ground that it came over, east and south.
    pub pace: [f32; 2],
    /// Water it started with, as a share of a full drop.
    pub water: f32,
    /// Ground it carries, in whole units.
    pub load: f32,
    /// Steps until it has dried up.
    pub left: f32,
    /// How far a step in standing water turns it, so that what many lay down there becomes a fan.
    pub bend: f32,
}

impl Droplet {
    /// Starts again near a sample, each drop at its own place, as none should follow another step by step.
    fn start_near(&mut self, sample: usize, cols: usize, rows: usize) {
        let place = |at: usize, count: usize, past: f32| {
            let cell = if past < 0.0 { at.saturating_sub(1) } else { at }.min(count - 2);
            (cell as i32, ((at as f32 - cell as f32) + past).clamp(0.0, 1.0))
        };
        let (x, y) =
            (place(sample % cols, cols, self.past[0] - 0.5), place(sample / cols, rows, self.past[1] - 0.5));
        (self.at, self.past, self.pace) = ([x.0, y.0], [x.1, y.1], [0.0; 2]);
    }
}

/// What a sample does to drops besides its height.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bed {
    /// How many times more water can carry here than on open ground.
    pub power: f32,
    /// Share of what a drop could carry more that it takes up in a step.
    pub takes: f32,
    /// Share of what it carries too much that it lays down in a step; 0 where nothing may change.
    pub settles: f32,
    /// Number of the lake that covers it; 0 for none.
    pub lake: u32,
}

/// Ground that stands still.
pub(super) struct Ground {
    pub height: Raster<f32>,
    pub bed: Raster<Bed>,
    /// The sample beyond the brim of each lake.
    pub spills: Vec<u32>,
}

/// Ground and water that drops left in a sample, in whole units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub ground: i64,
    pub water: i64,
}

/// A part of the map with room to count in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub col: usize,
    pub row: usize,
    pub cols: usize,
    pub rows: usize,
}

/// What drops obey.
pub(super) struct Law {
    /// Cells a metre, along x and y.
    pub per_m: [f32; 2],
    /// Cells a step, along x and y.
    pub stride: [f32; 2],
    /// Share of the pace that a step keeps.
    pub keep: f32,
    /// Steps of a whole run.
    pub steps: f32,
    /// Standing water that lets less than this share of a load down has no room for more.
    pub full: f32,
    pub sea_m: f32,
    pub level: Level,
}

/// Why a drop is looked at: it fell into a hole, came to rest, left the map, left the window, or has nothing more to lay down in
/// a lake.
const HOLE: i32 = 1;
const REST: i32 = 2;
const AWAY: i32 = 4;
const NEXT: i32 = 8;
const LAKE: i32 = 16;
/// Share of a full load at slope 1 that is too little to wait for.
const DREGS: f32 = 64.0;

/// Drops side by side, one value of each in every array.
#[derive(Default)]
struct Lanes {
    col: [i32; LANES],
    row: [i32; LANES],
    x: [f32; LANES],
    y: [f32; LANES],
    east: [f32; LANES],
    south: [f32; LANES],
    water: [f32; LANES],
    load: [f32; LANES],
    left: [f32; LANES],
    bend: [f32; LANES],
}

impl Lanes {
    fn put(&mut self, lane: usize, drop: &Droplet) {
        [self.col[lane], self.row[lane]] = drop.at;
        [self.x[lane], self.y[lane]] = drop.past;
        [self.east[lane], self.south[lane]] = drop.pace;
        (self.water[lane], self.load[lane], self.left[lane]) = (drop.water, drop.load, drop.left);
        self.bend[lane] = drop.bend;
    }

    fn get(&self, lane: usize) -> Droplet {
        Droplet {
            at: [self.col[lane], self.row[lane]],
            past: [self.x[lane], self.y[lane]],
            pace: [self.east[lane], self.south[lane]],
            water: self.water[lane],
            load: self.load[lane],
            left: self.left[lane],
            bend: self.bend[lane],
        }
    }

    /// A place inside the window, so that an empty lane does no harm.
    fn clear(&mut self, lane: usize, window: &Window) {
        (self.col[lane], self.row[lane]) = (window.col as i32, window.row as i32);
    }
}

#[inline(always)]
fn within([col, row]: [i32; 2], first: [i32; 2], last: [i32; 2]) -> bool {
    (col >= first[0]) & (row >= first[1]) & (col <= last[0]) & (row <= last[1])
}

impl Law {
    /// Lets drops run until they rest or leave the window; those that leave it go to `on`. What they did to the ground is added
    /// to `tally`, a window's worth of samples; what they carried off the map is returned.
    pub fn fly(
        &self,
        ground: &Ground,
        starts: &[Droplet],
        window: &Window,
        tally: &mut [Tally],
        on: &mut Vec<Droplet>,
    ) -> i64 {
        dispatch!(self.level, _simd => self.fly_lanes(ground, starts, window, tally, on))
    }

    #[inline(always)]
    fn fly_lanes(
        &self,
        ground: &Ground,
        starts: &[Droplet],
        window: &Window,
        tally: &mut [Tally],
        on: &mut Vec<Droplet>,
    ) -> i64 {
        let (cols, rows) = (ground.height.cols(), ground.height.rows());
        let (height, bed) = (ground.height.as_slice(), ground.bed.as_slice());
        let first = [window.col as i32, window.row as i32];
        let last = [(window.col + window.cols) as i32 - 2, (window.row + window.rows) as i32 - 2];
        let per_step = 1.0 / self.steps;
        let mut carried_off = 0;
        let mut lanes = Lanes::default();
        let mut waiting = starts.iter();
        let mut n = 0;
        while n < LANES
            && let Some(drop) = waiting.next()
        {
            lanes.put(n, drop);
            n += 1;
        }
        let mut near = [0; LANES];
        let (mut a, mut b, mut c, mut d) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let (mut power, mut takes, mut settles) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let mut lake = [0; LANES];
        let (mut gives, mut drips, mut fate) = ([0; LANES], [0; LANES], [0; LANES]);
        while n > 0 {
            // Lanes without a drop are worked through like all others, to no effect.
            (n..LANES).for_each(|lane| lanes.clear(lane, window));
            for l in 0..LANES {
                let (col, row) = (lanes.col[l] as usize, lanes.row[l] as usize);
                let at = row * cols + col;
                let (north, south) = (&height[at..at + 2], &height[at + cols..at + cols + 2]);
                (a[l], b[l], c[l], d[l]) = (north[0], north[1], south[0], south[1]);
                let (east, south) = (usize::from(lanes.x[l] >= 0.5), usize::from(lanes.y[l] >= 0.5));
                let bed = bed[at + south * cols + east];
                (power[l], takes[l], settles[l]) = (bed.power, bed.takes, bed.settles);
                lake[l] = bed.lake;
                near[l] = (row + south - window.row) * window.cols + (col + east - window.col);
            }
            for l in 0..LANES {
                let (x, y) = (lanes.x[l], lanes.y[l]);
                let (north, south) = (b[l] - a[l], d[l] - c[l]);
                let (west, east) = (c[l] - a[l], d[l] - b[l]);
                let rise_x = (north + (south - north) * y) * self.per_m[0];
                let rise_y = (west + (east - west) * x) * self.per_m[1];
                let here = a[l] + north * x + (west + (east - west) * x) * y;

                // In standing water the bed does not lead a drop.
                let stands = (lake[l] != 0) | (here <= self.sea_m);
                let keep = if stands { 1.0 } else { self.keep };
                let bend = if stands { lanes.bend[l] } else { 0.0 };
                let pace_x = keep * lanes.east[l] - (1.0 - keep) * rise_x - bend * lanes.south[l];
                let pace_y = keep * lanes.south[l] - (1.0 - keep) * rise_y + bend * lanes.east[l];
                let pace = (pace_x * pace_x + pace_y * pace_y).sqrt();
                let moves = pace > 1e-6;
                let (way_x, way_y) = if moves { (pace_x / pace, pace_y / pace) } else { (0.0, 0.0) };
                let fall = -(rise_x * way_x + rise_y * way_y);
                let fall = if fall > 0.0 { fall } else { 0.0 };

                let water = lanes.water[l] * (lanes.left[l] * per_step);
                let able = UNITS * water * power[l] * fall;
                let able = if able < MOST_LOAD { able } else { MOST_LOAD };
                let able = if stands { 0.0 } else { able };
                let over = lanes.load[l] - able;
                // Towards its end a drop lays down evenly what it still has.
                let ends = if settles[l] > 0.0 { 1.0 / lanes.left[l] } else { 0.0 };
                let lays = if settles[l] > ends { settles[l] } else { ends };
                let share = if over > 0.0 { lays } else { takes[l] };
                let give = (over * share + 0.5).floor();
                let give = if here.is_nan() { 0.0 } else { give };
                lanes.load[l] -= give;
                gives[l] = give as i32;
                drips[l] = (DRIPS * water + 0.5) as i32;

                let (x, y) = (x + way_x * self.stride[0], y + way_y * self.stride[1]);
                let (over_x, over_y) = (x.floor(), y.floor());
                let (col, row) = (lanes.col[l] + over_x as i32, lanes.row[l] + over_y as i32);
                (lanes.x[l], lanes.y[l]) = (x - over_x, y - over_y);
                (lanes.col[l], lanes.row[l]) = (col, row);
                (lanes.east[l], lanes.south[l]) = (pace_x, pace_y);
                lanes.left[l] -= 1.0;
                let hole = if here.is_nan() { HOLE } else { 0 };
                let rest = if moves & (lanes.left[l] > 0.5) { 0 } else { REST };
                let inside = (col >= 0) & (row >= 0) & (col < cols as i32 - 1) & (row < rows as i32 - 1);
                let away = if inside { 0 } else { AWAY };
                let next = if within([col, row], first, last) { 0 } else { NEXT };
                let spent = (lanes.load[l] < DREGS * water) | !moves;
                let laked = (lake[l] != 0) & (spent | (settles[l] < self.full));
                let sunk = (here <= self.sea_m) & spent;
                let rest = if sunk { REST } else { rest };
                // What a lake or the sea has no room for goes on.
                let away = if (here <= self.sea_m) & (settles[l] < self.full) { AWAY } else { away };
                fate[l] = hole | rest | away | next | if laked { LAKE } else { 0 };
            }
            let mut any = 0;
            for l in 0..n {
                let sample = &mut tally[near[l]];
                sample.ground += i64::from(gives[l]);
                sample.water += i64::from(drips[l]);
                any |= fate[l];
            }
            if any == 0 {
                continue;
            }
            let stopped = Stopped { fate: &fate, lake: &lake, settles: &settles, near: &near };
            carried_off +=
                stopped.replace(&mut lanes, &mut n, &mut waiting, ground, [first, last], tally, on);
        }
        carried_off
    }
}

/// What became of the drops in flight in a step, by lane.
struct Stopped<'a> {
    fate: &'a [i32; LANES],
    lake: &'a [u32; LANES],
    settles: &'a [f32; LANES],
    near: &'a [usize; LANES],
}

impl Stopped<'_> {
    /// Ends drops that rest or leave the window between the samples `first` and `last`, and lets those that wait take their
    /// lanes. What they carried off the map is returned.
    #[inline(always)]
    fn replace(
        &self,
        lanes: &mut Lanes,
        n: &mut usize,
        waiting: &mut std::slice::Iter<'_, Droplet>,
        ground: &Ground,
        [first, last]: [[i32; 2]; 2],
        tally: &mut [Tally],
        on: &mut Vec<Droplet>,
    ) -> i64 {
        let (cols, rows) = (ground.height.cols(), ground.height.rows());
        let mut carried_off = 0;
        for l in (0..*n).rev() {
            let fate = self.fate[l];
            if fate == 0 {
                continue;
            }
            let mut drop = lanes.get(l);
            let spill = ground.spills[self.lake[l] as usize];
            let spills = fate & LAKE != 0 && drop.left > 0.5;
            if !spills && fate & REST != 0 && fate & (HOLE | AWAY) == 0 && self.settles[l] > 0.0 {
                tally[self.near[l]].ground += drop.load as i64;
                drop.load = 0.0;
            }
            if spills && spill != NO_CELL {
                drop.start_near(spill as usize, cols, rows);
                if within(drop.at, first, last) {
                    lanes.put(l, &drop);
                    continue;
                }
                on.push(drop);
            } else if fate & (HOLE | AWAY | REST | LAKE) != 0 {
                carried_off += drop.load as i64;
            } else {
                on.push(drop);
            }
            if let Some(drop) = waiting.next() {
                lanes.put(l, drop);
            } else {
                *n -= 1;
                // Every lane after this one has been looked at.
                let moved = lanes.get(*n);
                lanes.put(l, &moved);
            }
        }
        carried_off
    }
}
