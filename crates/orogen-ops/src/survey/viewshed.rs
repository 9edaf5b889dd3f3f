//! Viewshed: what can be seen from a place; and which of many places see one another.

use orogen_core::{Cancelled, Ctx, OpError, Raster, math};
use rayon::prelude::*;

use super::sample::{Between, sample};

/// The observer, the target and the refraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// Height of the eye above its ground, in metres.
    pub observer_m: f64,
    /// Height of what is looked for above its ground, in metres.
    pub target_m: f64,
    /// How much of the Earth's curvature lowers far ground: 0 for a flat Earth, 1 without air, 6/7 with the usual
    /// refraction.
    pub curvature: f64,
    /// How far one sees, in metres.
    pub range_m: f64,
}

impl Default for Sight {
    fn default() -> Self {
        Self { observer_m: 2.0, target_m: 0.0, curvature: 6.0 / 7.0, range_m: f64::INFINITY }
    }
}

/// The Earth's radius at the equator, in metres.
const RADIUS_M: f64 = 6_378_137.0;

impl Sight {
    /// How far ground sinks below the horizon for each square metre of distance squared.
    fn sink(&self) -> f64 {
        self.curvature / (2.0 * RADIUS_M)
    }
}

/// In a viewshed: hidden ground.
pub const HIDDEN: u8 = 0;
/// In a viewshed: ground that is seen.
pub const SEEN: u8 = 1;
/// In a viewshed: a hole.
pub const HOLE: u8 = 255;

/// Lower than any ground.
const DEEP: f64 = -1e30;

/// What is seen from the sample at a column and row, by reference planes.
///
/// ```text
///   eye ─ ─ ─ ─ a         Outwards from the eye, each sample keeps the lowest height that is seen above it: the plane
///          ╲   c          through the eye and its two neighbours nearer the eye, or its own ground where that is higher.
///            ╲ b
/// ```
///
/// **Guarantees** (1) the same samples as `gdal_viewshed` in its default mode, except for ties in the last bit; (2) the eight
/// neighbours of the eye are seen; (3) level ground is seen up to the horizon; (4) the same bits on any number of threads.
///
/// **Limits** Planes pass on what they saw, which smears far shadows a little; [`exact`] does not. A hole hides nothing.
/// 5 bytes a cell.
///
/// **After** Wang, Robinson & White, Photogramm. Eng. Remote Sens. 66 (2000).
///
/// # Errors
/// When cancelled, or when the eye stands at a hole or outside.
pub fn viewshed(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    eye: [usize; 2],
    sight: &Sight,
    ctx: &Ctx<'_>,
) -> Result<Raster<u8>, OpError> {
    let [eye_col, eye_row] = eye;
    let eye_m = eye_height(height, eye.map(|v| v as f64), sight)?;
    let scene = Scene { height, spacing_m, eye, eye_m, sight };
    let (cols, rows) = (height.cols(), height.rows());
    let mut out = Raster::filled(cols, rows, HIDDEN);

    // Four quarters, each with its own half of every row; the middle column belongs to the east, the middle row to the north.
    let mut parts: [Vec<(usize, &mut [u8])>; 4] = Default::default();
    for (row, values) in out.as_mut_slice().chunks_mut(cols).enumerate() {
        let (west, east) = values.split_at_mut(eye_col);
        let half = if row <= eye_row { 0 } else { 2 };
        parts[half].push((row, west));
        parts[half + 1].push((row, east));
    }
    let counter = ctx.counter(2 * rows);
    parts.into_par_iter().enumerate().try_for_each(|(part, mut rows)| {
        // Outwards from the eye.
        if part < 2 {
            rows.reverse();
        }
        let mut quarter = Quarter::new(&scene, part % 2 == 0);
        if part >= 2 {
            quarter.first_row();
        }
        rows.into_iter().try_for_each(|(row, out)| {
            quarter.row(row, out);
            counter.done()
        })
    })?;
    Ok(out)
}

fn eye_height(height: &Raster<f32>, place: [f64; 2], sight: &Sight) -> Result<f64, OpError> {
    let ground = sample(height, place, Between::Bilinear);
    if ground.is_nan() {
        let (cols, rows) = (height.cols(), height.rows());
        let [col, row] = place;
        let on = |at: f64, count: usize| (0.0..=count as f64 - 1.0).contains(&at);
        return Err(OpError::Failed(if on(col, cols) && on(row, rows) {
            format!("column {col:.1}, row {row:.1} of the model is a hole: the height there is unknown")
        } else {
            format!("column {col:.1}, row {row:.1} is outside the model, which has {cols} x {rows} samples")
        }));
    }
    Ok(f64::from(ground) + sight.observer_m)
}

struct Scene<'a> {
    height: &'a Raster<f32>,
    spacing_m: [f64; 2],
    eye: [usize; 2],
    eye_m: f64,
    sight: &'a Sight,
}

/// A quarter of the scene: columns are counted from the eye outwards.
struct Quarter<'a> {
    scene: &'a Scene<'a>,
    west: bool,
    /// Columns, the eye's own included.
    count: usize,
    /// Ground of the current row, relative to the eye.
    ground: Vec<f64>,
    /// The lowest heights seen above each sample, of the current row and of the one before.
    seen: Vec<f64>,
    before: Vec<f64>,
    /// `1 / (x − 1)`.
    inverse: Vec<f64>,
    /// By how much curvature lowers a column.
    sunk: Vec<f64>,
}

impl<'a> Quarter<'a> {
    fn new(scene: &'a Scene<'a>, west: bool) -> Self {
        let count = if west { scene.eye[0] + 1 } else { scene.height.cols() - scene.eye[0] };
        let sunk = (0..count).map(|x| {
            let away = x as f64 * scene.spacing_m[0];
            scene.sight.sink() * (away * away)
        });
        Self {
            scene,
            west,
            count,
            ground: vec![0.0; count],
            seen: vec![DEEP; count],
            before: vec![DEEP; count],
            inverse: (0..count).map(|x| if x > 1 { 1.0 / (x as f64 - 1.0) } else { 0.0 }).collect(),
            sunk: sunk.collect(),
        }
    }

    /// Works out the row of the eye for the quarter that does not write it.
    fn first_row(&mut self) {
        let mut unused = vec![HIDDEN; self.count];
        let skip = usize::from(self.west);
        self.row(self.scene.eye[1], &mut unused[skip..]);
    }

    /// Works out a row, the next one away from the eye, and writes its part of the result.
    fn row(&mut self, row: usize, out: &mut [u8]) {
        let [eye_col, eye_row] = self.scene.eye;
        let y = row.abs_diff(eye_row);
        let line = self.scene.height.row(row);
        let away = y as f64 * self.scene.spacing_m[1];
        let base = self.scene.eye_m + self.scene.sight.sink() * (away * away);
        if self.west {
            let side = line[..=eye_col].iter().rev();
            for ((ground, &z), sunk) in self.ground.iter_mut().zip(side).zip(&self.sunk) {
                *ground = f64::from(z) - base - sunk;
            }
        } else {
            for ((ground, &z), sunk) in self.ground.iter_mut().zip(&line[eye_col..]).zip(&self.sunk) {
                *ground = f64::from(z) - base - sunk;
            }
        }
        std::mem::swap(&mut self.seen, &mut self.before);
        // `seen` receives the planes first, then the higher of plane and ground.
        let n = self.count;
        let step = |y: usize| y as f64 / (y as f64 - 1.0);
        let target = self.scene.sight.target_m;
        let plane = |own: f64, x: usize, y: usize, diagonal: f64, inner: f64| {
            // Beside the eye everything is seen.
            if x.max(y) == 1 {
                if own.is_nan() { DEEP } else { own }
            } else if x == y {
                diagonal * step(y)
            } else {
                inner
            }
        };
        let mut put = |x: usize, own: f64, plane: f64| {
            let value = if own.is_nan() { HOLE } else { u8::from(own + target >= plane) };
            if self.west {
                if x > 0 {
                    out[eye_col - x] = value;
                }
            } else {
                out[x] = value;
            }
            // A hole lets the plane through.
            if own > plane { own } else { plane }
        };
        if y == 0 {
            self.seen[0] = DEEP;
            put(0, self.ground[0], DEEP);
            for x in 1..n {
                let own = self.ground[x];
                let level = if x == 1 { plane(own, 1, 0, 0.0, 0.0) } else { self.seen[x - 1] * step(x) };
                self.seen[x] = put(x, own, level);
            }
            return self.beyond(y, out);
        }
        let own = self.ground[0];
        let level = plane(own, 0, y, 0.0, self.before[0] * step(y));
        self.seen[0] = put(0, own, level);
        // Nearer the column of the eye than its row: from the row before alone.
        let rows = y as f64;
        let share = 1.0 / (rows - 1.0);
        for x in 1..n.min(y) {
            let (a, b) = (self.before[x - 1], self.before[x]);
            let level = (a * x as f64 + b * (y - x) as f64) * share;
            self.seen[x] = put(x, self.ground[x], level);
        }
        if y < n {
            let own = self.ground[y];
            let level = plane(own, y, y, self.before[y - 1], 0.0);
            self.seen[y] = put(y, own, level);
        }
        // Nearer the row of the eye: from the sample before, too.
        for x in y + 1..n {
            let share = self.inverse[x];
            let level = self.before[x - 1] * (rows * share) + self.seen[x - 1] * ((x - y) as f64 * share);
            self.seen[x] = put(x, self.ground[x], level);
        }
        self.beyond(y, out);
    }

    /// Hides what lies beyond the range.
    fn beyond(&self, y: usize, out: &mut [u8]) {
        let range = self.scene.sight.range_m;
        if range.is_finite() {
            let away = y as f64 * self.scene.spacing_m[1];
            for x in 0..self.count {
                if math::hypot(x as f64 * self.scene.spacing_m[0], away) > range {
                    let at = if self.west { self.scene.eye[0].wrapping_sub(x) } else { x };
                    if let Some(value) = out.get_mut(at).filter(|value| **value == SEEN) {
                        *value = HIDDEN;
                    }
                }
            }
        }
    }
}

/// Whether a target at one place is seen from another, exactly: the sight line is held against the ground wherever it
/// crosses a line of the grid. Places are columns and rows with fractions. A hole hides nothing.
///
/// # Errors
/// When there is no ground at one of the places.
pub fn sees(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    from: [f64; 2],
    to: [f64; 2],
    sight: &Sight,
) -> Result<bool, OpError> {
    let eye_m = eye_height(height, from, sight)?;
    let target = Sight { observer_m: sight.target_m, ..*sight };
    let target_m = eye_height(height, to, &target)?;
    Ok(line_is_free(height, spacing_m, (from, eye_m), (to, target_m), sight))
}

fn line_is_free(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    (from, eye_m): ([f64; 2], f64),
    (to, target_m): ([f64; 2], f64),
    sight: &Sight,
) -> bool {
    let way = [to[0] - from[0], to[1] - from[1]];
    let length_2 = {
        let [x, y] = [way[0] * spacing_m[0], way[1] * spacing_m[1]];
        x * x + y * y
    };
    if length_2 > sight.range_m * sight.range_m {
        return false;
    }
    // Between the two, the Earth bulges into the line by sink · s (D − s).
    let bulge = sight.sink() * length_2;
    let free = |t: f64, ground: f64| {
        let line = eye_m + (target_m - eye_m) * t - bulge * t * (1.0 - t);
        ground <= line || ground.is_nan()
    };
    let (cols, rows) = (height.cols(), height.rows());
    // Crossings with columns, then with rows; on each the ground is straight between two samples.
    [0, 1].into_iter().all(|axis: usize| {
        let other = 1 - axis;
        let (low, high) = (from[axis].min(to[axis]), from[axis].max(to[axis]));
        let (first, last) = (low.floor() as i64 + 1, high.ceil() as i64 - 1);
        (first..=last).all(|line| {
            let t = (line as f64 - from[axis]) / way[axis];
            let along = from[other] + t * way[other];
            let below = (along.floor().max(0.0) as usize).min(if axis == 0 { rows } else { cols } - 1);
            let part = along - below as f64;
            let value = |at: usize| {
                let (col, row) = if axis == 0 { (line as usize, at) } else { (at, line as usize) };
                f64::from(height.row(row)[col])
            };
            let a = value(below);
            let ground = if part > 1e-12 && below + 1 < if axis == 0 { rows } else { cols } {
                a + (value(below + 1) - a) * part
            } else {
                a
            };
            free(t, ground)
        })
    })
}

/// What is seen from the sample at a column and row, each sample by its own sight line: exact, and slower than
/// [`viewshed`] by the number of samples across.
///
/// # Errors
/// As [`viewshed`].
pub fn exact(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    eye: [usize; 2],
    sight: &Sight,
    ctx: &Ctx<'_>,
) -> Result<Raster<u8>, OpError> {
    let from = eye.map(|v| v as f64);
    let eye_m = eye_height(height, from, sight)?;
    let counter = ctx.counter(height.rows());
    let mut out = Raster::filled(height.cols(), height.rows(), HIDDEN);
    out.try_par_rows(|row, values| {
        for (col, value) in values.iter_mut().enumerate() {
            let ground = f64::from(height.row(row)[col]);
            *value = if ground.is_nan() {
                HOLE
            } else {
                let to = [col as f64, row as f64];
                u8::from(line_is_free(height, spacing_m, (from, eye_m), (to, ground + sight.target_m), sight))
            };
        }
        counter.done()
    })?;
    Ok(out)
}

/// Which places see which: row by row for each that looks, exactly, as by [`sees`].
///
/// # Errors
/// When cancelled, or when there is no ground at one of the places.
pub fn intervisibility(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    places: &[[f64; 2]],
    sight: &Sight,
    ctx: &Ctx<'_>,
) -> Result<Vec<Vec<bool>>, OpError> {
    let counter = ctx.counter(places.len());
    places
        .par_iter()
        .map(|&from| {
            let row = places
                .iter()
                .map(|&to| sees(height, spacing_m, from, to, sight))
                .collect::<Result<_, _>>()?;
            counter.done().map_err(|Cancelled| OpError::Cancelled)?;
            Ok(row)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Cell;
    use orogen_core::testkit::hills;

    const CELL_M: [f64; 2] = [10.0, 10.0];

    fn look(height: &Raster<f32>, eye: [usize; 2], sight: &Sight) -> Raster<u8> {
        viewshed(height, CELL_M, eye, sight, &Ctx::silent()).unwrap()
    }

    #[test]
    fn a_wall_hides_what_is_behind_it_and_a_tower_looks_over() {
        let mut ground = Raster::filled(41, 41, 0.0);
        (0..41).for_each(|row| ground[Cell { col: 25, row }] = 10.0);
        let flat = Sight { curvature: 0.0, ..Sight::default() };
        for (tall, sees_behind) in [(2.0, false), (40.0, true)] {
            let sight = Sight { observer_m: tall, ..flat };
            for seen in [
                look(&ground, [20, 20], &sight),
                exact(&ground, CELL_M, [20, 20], &sight, &Ctx::silent()).unwrap(),
            ] {
                assert_eq!(seen[Cell { col: 25, row: 20 }], SEEN);
                assert_eq!(seen[Cell { col: 5, row: 3 }], SEEN);
                // From 40 m over a wall of 10 m at 50 m, ground is seen again from 66.7 m on.
                assert_eq!(seen[Cell { col: 26, row: 20 }], HIDDEN);
                assert_eq!(seen[Cell { col: 40, row: 20 }], u8::from(sees_behind));
            }
        }
        // Something tall enough behind the wall is seen: the line rises 8 m in 50 m.
        let sight = Sight { target_m: 32.1, ..flat };
        assert_eq!(look(&ground, [20, 20], &sight)[Cell { col: 38, row: 20 }], SEEN);
        let sight = Sight { target_m: 29.0, ..flat };
        assert_eq!(look(&ground, [20, 20], &sight)[Cell { col: 40, row: 20 }], HIDDEN);
    }

    #[test]
    fn level_ground_is_seen_up_to_the_horizon() {
        // An eye 2 m up sees √(2 · 2 · R · 7/6) = 5456 m.
        let ground = Raster::filled(900, 3, 0.0);
        let seen = look(&ground, [0, 1], &Sight::default());
        let last = (0..900).filter(|&col| seen[Cell { col, row: 1 }] == SEEN).max().unwrap();
        assert!((540..=546).contains(&last), "{last}");
        let seen = look(&ground, [0, 1], &Sight { curvature: 0.0, range_m: 1234.0, ..Sight::default() });
        assert_eq!((0..900).filter(|&col| seen[Cell { col, row: 1 }] == SEEN).max(), Some(123));
    }

    #[test]
    fn planes_agree_with_exact_lines_on_smooth_ground() {
        let ground = hills(101, 200.0);
        let sight = Sight::default();
        for eye in [[50, 50], [0, 0], [100, 30], [7, 100]] {
            let (fast, slow) =
                (look(&ground, eye, &sight), exact(&ground, CELL_M, eye, &sight, &Ctx::silent()).unwrap());
            let same = fast.as_slice().iter().zip(slow.as_slice()).filter(|(a, b)| a == b).count();
            assert!(same as f64 > 0.97 * 101.0 * 101.0, "{eye:?}: {same}");
        }
    }

    #[test]
    fn turning_the_ground_turns_what_is_seen() {
        let ground = hills(64, 90.0);
        let turned = Raster::from_fn(64, 64, |c, r| ground[Cell { col: r, row: 63 - c }]);
        let (a, b) = (look(&ground, [20, 11], &Sight::default()), look(&turned, [52, 20], &Sight::default()));
        for row in 0..64 {
            for col in 0..64 {
                assert_eq!(b[Cell { col, row }], a[Cell { col: row, row: 63 - col }]);
            }
        }
    }

    #[test]
    fn holes_hide_nothing_and_stay_holes() {
        let mut ground = Raster::filled(30, 30, 5.0);
        for (col, row) in [(10, 10), (12, 10), (13, 11), (11, 11)] {
            ground[Cell { col, row }] = f32::NAN;
        }
        let seen = look(&ground, [11, 10], &Sight::default());
        for (value, z) in seen.as_slice().iter().zip(ground.as_slice()) {
            assert_eq!(*value, if z.is_nan() { HOLE } else { SEEN });
        }
        assert!(viewshed(&ground, CELL_M, [10, 10], &Sight::default(), &Ctx::silent()).is_err());
        assert!(viewshed(&ground, CELL_M, [30, 0], &Sight::default(), &Ctx::silent()).is_err());
        assert_eq!(look(&Raster::filled(1, 1, 0.0), [0, 0], &Sight::default()).as_slice(), [SEEN]);
        assert_eq!(look(&Raster::filled(3, 1, 0.0), [1, 0], &Sight::default()).as_slice(), [SEEN; 3]);
    }

    #[test]
    fn those_who_see_are_seen_when_both_are_as_tall() {
        let ground = hills(80, 150.0);
        let places: Vec<[f64; 2]> =
            (0..12).map(|i| [3.3 + 6.1 * f64::from(i), 70.2 - 5.3 * f64::from(i)]).collect();
        let sight = Sight { observer_m: 3.0, target_m: 3.0, ..Sight::default() };
        let matrix = intervisibility(&ground, CELL_M, &places, &sight, &Ctx::silent()).unwrap();
        let mut hidden = 0;
        for i in 0..12 {
            assert!(matrix[i][i]);
            for j in 0..12 {
                assert_eq!(matrix[i][j], matrix[j][i]);
                hidden += usize::from(!matrix[i][j]);
            }
        }
        assert!(hidden > 0);
        let outside = intervisibility(&ground, CELL_M, &[[99.0, 0.0]], &sight, &Ctx::silent()).unwrap_err();
        assert!(outside.to_string().contains("outside the model"), "{outside}");
    }
}
