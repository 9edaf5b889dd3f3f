//! Light on the land: sun from several sides, sky from above, shadows of mountains.

use orogen_core::{Frame, Raster, math};

use super::coarse::{Coarse, soften};

/// Blocks along the longer side for wide effects.
const LONGEST: usize = 320;

/// Slope to which the mean of the land is exaggerated (or flattened): gentle enough to keep alpine faces apart,
/// steep enough to model a plain.
const MEAN_GRADE: f64 = 0.36;

/// Wide parts of the lighting, on a coarse grid.
pub(super) struct Wide {
    pub grid: Coarse,
    /// Vertical exaggeration.
    pub exaggeration: f32,
    /// Grades to the east and to the south of the coarse land, exaggerated.
    pub grade_x: Raster<f32>,
    pub grade_y: Raster<f32>,
    /// Share of the sky that is seen.
    pub sky: Raster<f32>,
    /// Share of the sun that mountains take away.
    pub shadow: Raster<f32>,
}

impl Wide {
    /// Lighting for heights over a frame; water counts as flat at sea level, holes as the lowest ground.
    pub fn new(height: &Raster<f32>, frame: &Frame, style: &super::ReliefStyle) -> Self {
        let grid = Coarse::new(height.cols(), height.rows(), LONGEST);
        let low = height.range().map_or(0.0, |(low, _)| low.max(0.0));
        let ground = |h: f32| if h.is_nan() { low } else { h.max(0.0) };
        let land = grid.means(height.cols(), height.rows(), |c, r| ground(height.row(r)[c]));
        let land = land.map(ground);
        let cell_m = frame.spacing_m().map(|s| (s * grid.factor as f64) as f32);
        let grade = |dx: isize, dy: isize| {
            Raster::from_fn(grid.cols, grid.rows, |col, row| {
                let (col, row) = (col as isize, row as isize);
                let rise = land.clamped(col + dx, row + dy) - land.clamped(col - dx, row - dy);
                rise * 0.5 / cell_m[dy as usize]
            })
        };
        let (mut grade_x, mut grade_y) = (grade(1, 0), grade(0, 1));
        let exaggeration =
            style.exaggeration.unwrap_or_else(|| usual_exaggeration(&land, &grade_x, &grade_y)) as f32;
        for grades in [&mut grade_x, &mut grade_y] {
            grades.as_mut_slice().iter_mut().for_each(|g| *g *= exaggeration);
        }
        let lifted = land.map(|h| h * exaggeration);
        let sky = soften(&sky_share(&lifted, cell_m));
        let shadow = soften(&shadow_share(&lifted, cell_m, style.sun_from_deg));
        Self { grid, exaggeration, grade_x, grade_y, sky, shadow }
    }
}

/// The exaggeration that brings the mean slope of the land to [`MEAN_GRADE`].
fn usual_exaggeration(land: &Raster<f32>, grade_x: &Raster<f32>, grade_y: &Raster<f32>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for (i, &h) in land.as_slice().iter().enumerate() {
        if h > 0.0 {
            let (x, y) = (f64::from(grade_x.as_slice()[i]), f64::from(grade_y.as_slice()[i]));
            sum += math::hypot(x, y);
            count += 1;
        }
    }
    let mean = sum / f64::from(count.max(1));
    if mean > 1e-7 { (MEAN_GRADE / mean).clamp(0.2, 2000.0) } else { 1.0 }
}

/// Directions in which the horizon is looked for, and the distances in blocks.
const DIRECTIONS: [(isize, isize); 8] =
    [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];
const DISTANCES: [isize; 7] = [1, 2, 3, 5, 8, 13, 20];

fn sky_share(lifted: &Raster<f32>, cell_m: [f32; 2]) -> Raster<f32> {
    let step_m = DIRECTIONS
        .map(|(x, y)| math::hypot((x as f32 * cell_m[0]).into(), (y as f32 * cell_m[1]).into()) as f32);
    Raster::from_fn(lifted.cols(), lifted.rows(), |col, row| {
        let here = lifted.row(row)[col];
        let mut seen = 0.0;
        for (&(x, y), step_m) in DIRECTIONS.iter().zip(step_m) {
            let mut horizon = 0f32;
            for distance in DISTANCES {
                let there = lifted.clamped(col as isize + x * distance, row as isize + y * distance);
                horizon = horizon.max((there - here) / (distance as f32 * step_m));
            }
            // The sine of the horizon's angle is what it hides of the sky in this direction.
            seen += 1.0 - horizon / (1.0 + horizon * horizon).sqrt();
        }
        seen / DIRECTIONS.len() as f32
    })
}

/// Tangent of the height of the sun for shadows: lower than for shading would be true, but would hide valleys.
const SHADOW_GRADE: f32 = 0.72;
/// Blocks that a shadow reaches at most.
const SHADOW_REACH: usize = 36;

fn shadow_share(lifted: &Raster<f32>, cell_m: [f32; 2], sun_from_deg: f64) -> Raster<f32> {
    let sun = sun_from_deg.to_radians();
    let step_m = f64::from(cell_m[0].min(cell_m[1]));
    let (dx, dy) =
        (math::sin(sun) * step_m / f64::from(cell_m[0]), -math::cos(sun) * step_m / f64::from(cell_m[1]));
    let steps: Vec<(isize, isize, f32)> = (1..=SHADOW_REACH)
        .map(|k| {
            ((dx * k as f64).round() as isize, (dy * k as f64).round() as isize, (step_m * k as f64) as f32)
        })
        .collect();
    Raster::from_fn(lifted.cols(), lifted.rows(), |col, row| {
        let here = lifted.row(row)[col];
        let mut horizon = 0f32;
        for &(x, y, distance_m) in &steps {
            horizon = horizon.max((lifted.clamped(col as isize + x, row as isize + y) - here) / distance_m);
        }
        math::smoothstep(SHADOW_GRADE - 0.12, SHADOW_GRADE + 0.2, horizon)
    })
}

/// The suns of a multi-directional shading.
pub(super) struct Suns {
    /// Towards each sun (east, south, up) and its share of the light.
    suns: [([f32; 3], f32); 4],
    /// Light on flat ground, to divide by.
    flat: f32,
}

impl Suns {
    /// A strong sun, and weaker ones round it that model slopes along the strong one's rays.
    pub fn new(sun_from_deg: f64, height_deg: f64) -> Self {
        let sun = |turn_deg: f64, share: f32| {
            let (azimuth, height) = ((sun_from_deg + turn_deg).to_radians(), height_deg.to_radians());
            let level = math::cos(height);
            let towards = [math::sin(azimuth) * level, -math::cos(azimuth) * level, math::sin(height)];
            (towards.map(|v| v as f32), share)
        };
        let suns = [sun(0.0, 0.62), sun(-55.0, 0.18), sun(55.0, 0.14), sun(180.0, 0.06)];
        let flat = suns.iter().map(|(towards, share)| towards[2] * share).sum();
        Self { suns, flat }
    }

    /// Light on ground of these grades (rise to the east and to the south), 1 on flat ground.
    #[inline]
    pub fn light(&self, grade_x: f32, grade_y: f32, shadow: f32) -> f32 {
        let up = 1.0 / (1.0 + grade_x * grade_x + grade_y * grade_y).sqrt();
        let mut sum = 0.0;
        for (i, ([x, y, z], share)) in self.suns.iter().enumerate() {
            let facing = (z - x * grade_x - y * grade_y) * up;
            let open = if i == 0 { 1.0 - shadow } else { 1.0 };
            sum += facing.max(0.0) * share * open;
        }
        sum / self.flat
    }
}
