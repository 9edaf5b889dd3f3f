//! Poisson disks that tile exactly: points of which no two are nearer than a distance, as dense as that allows.
//!
//! The plane is cut into cells of side r/√2, so that a cell holds one point at most and a point can only be too near to
//! those of the 5 x 5 cells around it. Cells three apart never meet, so the cells of one of nine colours (3 x 3) can be
//! worked on at once. A fixed number of rounds throws one dart into each empty cell, colour by colour; then one exact fill
//! looks for what is left of each empty cell (`fill`), after which no further point fits anywhere.
//!
//! **Guarantees** (1) no two points of a class are nearer than its distance, no two of different classes nearer than the
//! mean of theirs; (2) after a fill no point fits in any more (to 1/16384 of a cell); (3) a point depends on nothing
//! further away than [`Spacing::reach_m`], so a window is the same part of the whole, to the bit, for any number of
//! threads.
//!
//! A colour's cells lie together in memory, so the distances of neighbouring cells' darts to the same neighbour are one
//! vector operation. Eight bytes a cell, read about 25 times a round from the cache.
//!
//! **After** Wei, "Parallel Poisson disk sampling" (2008), whose cells of one group are worked on together; the order of
//! his groups is random, ours is the one whose effects travel least. The fill is ours.

mod darts;
mod fill;
#[cfg(test)]
mod tests;

use orogen_core::rng::Seed;
use orogen_core::{Ctx, OpError, Rect};
use rayon::prelude::*;

/// Where a cell without a point says its point is: too far away to matter.
const EMPTY: f32 = 1e4;

/// Colours in the order of their turns: of all orders one whose effects travel least, nine cells a round.
const TURNS: [usize; 9] = [0, 1, 2, 5, 8, 7, 4, 3, 6];

/// How many cells the effect of a round travels; a test compares it with [`TURNS`].
const CELLS_A_ROUND: i64 = 9;

/// Rounds that the fill takes.
const FILLS: usize = 2;

/// Where a cell says its point is that was found to have no room for one.
const FULL: f32 = 2e4;

/// How many of 256 cells throw a dart, by round and turn. The first of nine colours to throw would otherwise have most points,
/// and the lattice of its cells would show: with these each colour gains as many in a round. Rounds beyond take the last.
const SHARES: [[u32; 9]; 4] = [
    [52, 62, 77, 80, 99, 116, 154, 179, 256],
    [98, 101, 112, 121, 140, 154, 176, 200, 256],
    [109, 113, 116, 141, 146, 162, 180, 218, 256],
    [115, 116, 122, 149, 147, 170, 188, 216, 256],
];

/// The same for the first of the two rounds that fill; the second takes all cells.
const FILL_SHARES: [u32; 9] = [100, 106, 119, 126, 146, 158, 183, 202, 256];

/// The most cells that one call works on.
const MOST_CELLS: f64 = 4e8;

/// The cells of points at least `distance_m` apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacing {
    distance_m: f64,
    side_m: [f64; 2],
    origin_m: [f64; 2],
    /// After how many cells the land repeats.
    period: Option<[i64; 2]>,
}

impl Spacing {
    /// Cells on the endless plane.
    #[must_use]
    pub fn new(distance_m: f64) -> Self {
        let side = distance_m * std::f64::consts::FRAC_1_SQRT_2;
        Self { distance_m, side_m: [side; 2], origin_m: [0.0; 2], period: None }
    }

    /// Cells on land that repeats beyond a rectangle: a little smaller, so that a whole number of three fits. Land less than
    /// about seven distances wide does not repeat.
    #[must_use]
    pub fn looped(distance_m: f64, world: &Rect) -> Self {
        let plain = Self::new(distance_m);
        let size = world.size();
        let period = [0, 1].map(|axis| (size[axis] / plain.side_m[axis] / 3.0).ceil() as i64 * 3);
        let side_m = [0, 1].map(|axis| size[axis] / period[axis] as f64);
        // Two whole cells lie between cells of one colour.
        if side_m.iter().any(|side| 2.0 * side < distance_m) {
            return plain;
        }
        Self { distance_m, side_m, origin_m: world.min, period: Some(period) }
    }

    /// The least distance.
    #[must_use]
    pub fn distance_m(&self) -> f64 {
        self.distance_m
    }

    /// How far away a point may depend on anything, for so many rounds of darts and the fill.
    #[must_use]
    pub fn reach_m(&self, darts: u32) -> f64 {
        (self.reach_cells(darts) + 1) as f64 * self.side_m[0].max(self.side_m[1])
    }

    fn grown(&self, rect: &Rect, darts: u32) -> Rect {
        rect.grown(self.side_m.map(|side| side * (self.reach_cells(darts) + 1) as f64))
    }

    fn reach_cells(&self, darts: u32) -> i64 {
        CELLS_A_ROUND * (i64::from(darts) + FILLS as i64)
    }

    /// The cell of a place.
    fn cell(&self, place: [f64; 2]) -> [i64; 2] {
        [0, 1].map(|axis| ((place[axis] - self.origin_m[axis]) / self.side_m[axis]).floor() as i64)
    }

    /// The cell whose random numbers a cell has.
    fn wrapped(&self, cell: [i64; 2]) -> [i64; 2] {
        match self.period {
            Some(period) => [0, 1].map(|axis| cell[axis].rem_euclid(period[axis])),
            None => cell,
        }
    }
}

/// How points are made.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Their cells.
    pub spacing: Spacing,
    /// Where their random numbers start.
    pub seed: Seed,
    /// Rounds of darts.
    pub darts: u32,
    /// Whether the fill follows.
    pub maximal: bool,
}

/// Points of one class, by cells.
#[derive(Clone, Debug)]
pub struct Disks {
    spacing: Spacing,
    /// World index of the first cell, a multiple of three.
    first: [i64; 2],
    /// Cells of one colour in a row, and rows of them, with one empty cell around.
    cols: usize,
    rows: usize,
    planes: Vec<Plane>,
}

/// The points of one colour's cells, in distances from the cell's south-western corner.
#[derive(Clone, Debug, Default)]
struct Plane {
    x: Vec<f32>,
    y: Vec<f32>,
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// World metres.
    pub place: [f64; 2],
    /// The cell it lies in; on land that repeats, that of the first copy.
    pub cell: [i64; 2],
}

/// Makes the points that lie in a rectangle, and as many around it as they may depend on. `allowed` says no to everything
/// outside `bounds`, so nothing is done there.
///
/// `larger` are the classes made before: no point comes nearer to theirs than the mean of both distances. Points come
/// only where `allowed` says yes; it must be a function of the place alone.
///
/// # Errors
/// When cancelled, or when there are more cells than memory should hold.
pub fn disks(
    rect: &Rect,
    bounds: &Rect,
    plan: &Plan,
    larger: &[Disks],
    allowed: impl Fn([f64; 2]) -> bool + Sync,
    ctx: &Ctx<'_>,
) -> Result<Disks, OpError> {
    let mut made = Disks::empty(rect, bounds, plan)?;
    let rounds = plan.darts as usize + if plan.maximal { FILLS } else { 0 };
    for round in 0..rounds {
        for (turn, &colour) in TURNS.iter().enumerate() {
            ctx.tick(round * 9 + turn, rounds * 9)?;
            let mut own = std::mem::take(&mut made.planes[colour]);
            let share = match round.checked_sub(plan.darts as usize) {
                None => SHARES[round.min(SHARES.len() - 1)][turn],
                Some(0) => FILL_SHARES[turn],
                Some(_) => 256,
            };
            let here = Turn { disks: &made, plan, larger, colour, round, share };
            let cols = made.cols;
            (own.x.par_chunks_mut(cols).zip(own.y.par_chunks_mut(cols)))
                .enumerate()
                .skip(1)
                .take(made.rows - 2)
                .for_each(|(row, (x, y))| {
                    let (x, y) = (&mut x[1..cols - 1], &mut y[1..cols - 1]);
                    if round < plan.darts as usize {
                        here.throw(row, x, y, &allowed);
                    } else {
                        here.fill(row, x, y, &allowed);
                    }
                });
            made.planes[colour] = own;
        }
    }
    Ok(made)
}

/// One colour's turn in a round.
struct Turn<'a> {
    /// All colours but this one.
    disks: &'a Disks,
    plan: &'a Plan,
    larger: &'a [Disks],
    colour: usize,
    round: usize,
    /// How many of 256 cells take part.
    share: u32,
}

impl Turn<'_> {
    /// World index of the cell in a row and column of the plane, its padding counted.
    fn cell(&self, col: usize, row: usize) -> [i64; 2] {
        self.disks.cell_of(self.colour, col, row)
    }

    /// Side of a cell, in distances.
    fn side(&self) -> [f32; 2] {
        let spacing = &self.plan.spacing;
        spacing.side_m.map(|side| (side / spacing.distance_m) as f32)
    }

    /// The cells around one of this colour: where each lies, its plane, and where in that plane.
    fn around(&self) -> impl Iterator<Item = Neighbour> + '_ {
        let [side_x, side_y] = self.side();
        let corners = self.plan.spacing.period.is_some();
        let (own_x, own_y) = (self.colour as i64 % 3, self.colour as i64 / 3);
        (-2i64..=2).flat_map(move |dy| (-2i64..=2).map(move |dx| (dx, dy))).filter_map(move |(dx, dy)| {
            // In cells of side r/√2 the four corners are just far enough away.
            let far = dx.abs() == 2 && dy.abs() == 2 && !corners;
            ((dx, dy) != (0, 0) && !far).then(|| {
                let (x, y) = (own_x + dx, own_y + dy);
                Neighbour {
                    plane: (y.rem_euclid(3) * 3 + x.rem_euclid(3)) as usize,
                    cols: x.div_euclid(3) as isize,
                    rows: y.div_euclid(3) as isize,
                    offset: [dx as f32 * side_x, dy as f32 * side_y],
                }
            })
        })
    }

    /// World metres of a place in a cell.
    fn place(&self, cell: [i64; 2], within: [f32; 2]) -> [f64; 2] {
        self.disks.place(cell, within)
    }

    /// Whether a larger class leaves room at a place.
    fn has_room(&self, place: [f64; 2]) -> bool {
        self.larger.iter().all(|class| {
            let least = 0.5 * (class.spacing.distance_m + self.plan.spacing.distance_m);
            class.all_near(place, least, |other| {
                let [dx, dy] = [0, 1].map(|axis| other[axis] - place[axis]);
                dx * dx + dy * dy >= least * least
            })
        })
    }
}

/// A cell near another.
struct Neighbour {
    plane: usize,
    cols: isize,
    rows: isize,
    offset: [f32; 2],
}

impl Disks {
    fn empty(rect: &Rect, bounds: &Rect, plan: &Plan) -> Result<Self, OpError> {
        let spacing = plan.spacing;
        let rect = spacing.grown(rect, plan.darts).intersection(bounds).unwrap_or(*rect);
        let cells = (0..2).map(|axis| rect.size()[axis] / spacing.side_m[axis] + 6.0);
        let cells: f64 = cells.product();
        if cells.is_nan() || cells > MOST_CELLS {
            return Err(OpError::Failed(format!(
                "points {} m apart on {:.0} x {:.0} m are {:.1e} cells, more than {MOST_CELLS:.0e}; ask for a smaller window",
                spacing.distance_m,
                rect.size()[0],
                rect.size()[1],
                cells
            )));
        }
        let [min, max] = [spacing.cell(rect.min), spacing.cell(rect.max)];
        let first = min.map(|index| index.div_euclid(3) * 3);
        let count = |axis: usize| ((max[axis] - first[axis]).div_euclid(3) + 1) as usize;
        let (cols, rows) = (count(0) + 2, count(1) + 2);
        let plane = Plane { x: vec![EMPTY; cols * rows], y: vec![EMPTY; cols * rows] };
        Ok(Self { spacing, first, cols, rows, planes: vec![plane; 9] })
    }

    fn cell_of(&self, colour: usize, col: usize, row: usize) -> [i64; 2] {
        [
            self.first[0] + (col as i64 - 1) * 3 + colour as i64 % 3,
            self.first[1] + (row as i64 - 1) * 3 + colour as i64 / 3,
        ]
    }

    fn place(&self, cell: [i64; 2], within: [f32; 2]) -> [f64; 2] {
        let Spacing { distance_m, side_m, origin_m, .. } = self.spacing;
        [0, 1].map(|axis| {
            origin_m[axis] + cell[axis] as f64 * side_m[axis] + f64::from(within[axis]) * distance_m
        })
    }

    /// Shows `each` the points of the cells that a square around a place touches, row by row, until it says no. Says whether it never did.
    pub(super) fn all_near(
        &self,
        place: [f64; 2],
        within_m: f64,
        mut each: impl FnMut([f64; 2]) -> bool,
    ) -> bool {
        let min = self.spacing.cell(place.map(|m| m - within_m));
        let max = self.spacing.cell(place.map(|m| m + within_m));
        // The cells that there are, without the padding.
        let last = [self.cols, self.rows].map(|count| 3 * (count as i64 - 2) - 1);
        let [from, to] = [0, 1].map(|end| {
            [0, 1].map(|axis| ([min, max][end][axis] - self.first[axis]).clamp(-1, last[axis] + 1))
        });
        for y in from[1].max(0)..=to[1].min(last[1]) {
            let at = (y / 3 + 1) as usize * self.cols + 1;
            let planes = &self.planes[(y % 3) as usize * 3..][..3];
            for x in from[0].max(0)..=to[0].min(last[0]) {
                let (plane, at) = (&planes[(x % 3) as usize], at + (x / 3) as usize);
                if plane.x[at] < EMPTY {
                    let cell = [x + self.first[0], y + self.first[1]];
                    if !each(self.place(cell, [plane.x[at], plane.y[at]])) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Keeps only the points that `wanted` says yes to; it must be a function of the point alone.
    pub fn retain(&mut self, wanted: impl Fn(&Point) -> bool + Sync) {
        let (spacing, cols) = (self.spacing, self.cols);
        for colour in 0..9 {
            let mut plane = std::mem::take(&mut self.planes[colour]);
            let here = &*self;
            (plane.x.par_chunks_mut(cols).zip(plane.y.par_chunks(cols))).enumerate().for_each(
                |(row, (x, y))| {
                    for (col, x) in x.iter_mut().enumerate().filter(|(_, x)| **x < EMPTY) {
                        let cell = here.cell_of(colour, col, row);
                        let place = here.place(cell, [*x, y[col]]);
                        if !wanted(&Point { place, cell: spacing.wrapped(cell) }) {
                            *x = EMPTY;
                        }
                    }
                },
            );
            self.planes[colour] = plane;
        }
    }

    /// The points in a rectangle, its southern and western edges included, row by row of cells.
    #[must_use]
    pub fn points(&self, rect: &Rect) -> Vec<Point> {
        let [min, max] = [self.spacing.cell(rect.min), self.spacing.cell(rect.max)];
        let rows: Vec<i64> = (min[1]..=max[1]).collect();
        let inside = |place: &[f64; 2]| {
            (0..2).all(|axis| place[axis] >= rect.min[axis] && place[axis] < rect.max[axis])
        };
        // Cells of a row lie in three planes by turns.
        let row = |y: i64| -> Vec<Point> {
            let down = y - self.first[1];
            let row = down.div_euclid(3) + 1;
            if row < 1 || row as usize >= self.rows - 1 {
                return Vec::new();
            }
            let line = |colour: usize| {
                let plane = &self.planes[down.rem_euclid(3) as usize * 3 + colour];
                let here = row as usize * self.cols..(row as usize + 1) * self.cols;
                (&plane.x[here.clone()], &plane.y[here])
            };
            let lines = [line(0), line(1), line(2)];
            let last = self.first[0] + 3 * (self.cols as i64 - 2) - 1;
            let cells = min[0].max(self.first[0])..=max[0].min(last);
            let mut found = Vec::with_capacity(cells.clone().count() * 3 / 4);
            let across = (cells.start() - self.first[0]).max(0) as usize;
            let (mut colour, mut col) = (across % 3, across / 3 + 1);
            for x in cells {
                let (line_x, line_y) = lines[colour];
                let within = [line_x[col], line_y[col]];
                (colour, col) = if colour == 2 { (0, col + 1) } else { (colour + 1, col) };
                if within[0] < EMPTY {
                    let place = self.place([x, y], within);
                    if inside(&place) {
                        found.push(Point { place, cell: self.spacing.wrapped([x, y]) });
                    }
                }
            }
            found
        };
        let rows: Vec<Vec<Point>> = rows.into_par_iter().map(row).collect();
        rows.concat()
    }
}
