//! The air: how much of the sun's light comes through, what the sky sends down, and the haze before far land.
//!
//! After Hillaire, "A Scalable and Production Ready Sky and Atmosphere Rendering Technique", 2020: a table of transmittance, a
//! table of light scattered more than once, then the sky around the eye and a block of air before it. All are small, so they are
//! worked out here and handed to the device as textures.

use orogen_core::math::f32::{cos, exp, sin};
use rayon::prelude::*;

use crate::camera::Camera;
use crate::vec3::{Vec3, dot};

/// Red, green and blue.
pub type Rgb = [f32; 3];

const GROUND_M: f32 = 6_360_000.0;
const TOP_M: f32 = 6_460_000.0;
/// What molecules scatter, in 1/m at sea level.
const RAYLEIGH: Rgb = [5.802e-6, 13.558e-6, 33.1e-6];
const RAYLEIGH_M: f32 = 8000.0;
/// What haze scatters and takes altogether.
const MIE: f32 = 3.996e-6;
const MIE_ALL: f32 = 4.44e-6;
const MIE_M: f32 = 1200.0;
/// How far haze scatters forward.
const MIE_G: f32 = 0.8;
const OZONE: Rgb = [0.650e-6, 1.881e-6, 0.085e-6];
const GROUND_ALBEDO: f32 = 0.25;

/// What a plain far below reflects.
const PLAIN: Rgb = [0.17, 0.17, 0.13];

/// Size of the table of the sky.
pub const SKY: [usize; 2] = [192, 128];
/// Size of the block of air before the eye.
pub const BLOCK: [usize; 3] = [32, 32, 48];
/// How far the block reaches.
pub const BLOCK_M: f32 = 160_000.0;

const TRANSMITTANCE: [usize; 2] = [128, 64];
const MULTIPLE: usize = 32;

/// A table of colours that is interpolated.
struct Table {
    size: [usize; 2],
    values: Vec<Rgb>,
}

impl Table {
    fn make(size: [usize; 2], f: impl Fn(f32, f32) -> Rgb + Sync) -> Self {
        let share = |i: usize, n: usize| i as f32 / (n - 1) as f32;
        let values = (0..size[0] * size[1])
            .into_par_iter()
            .map(|i| f(share(i % size[0], size[0]), share(i / size[0], size[1])))
            .collect();
        Self { size, values }
    }

    fn at(&self, u: f32, v: f32) -> Rgb {
        let [x, y] = [u * (self.size[0] - 1) as f32, v * (self.size[1] - 1) as f32];
        let [x, y] = [x.clamp(0.0, (self.size[0] - 1) as f32), y.clamp(0.0, (self.size[1] - 1) as f32)];
        let (c, r) = ((x as usize).min(self.size[0] - 2), (y as usize).min(self.size[1] - 2));
        let (tx, ty) = (x - c as f32, y - r as f32);
        let get = |c: usize, r: usize| self.values[r * self.size[0] + c];
        let [a, b, d, e] = [get(c, r), get(c + 1, r), get(c, r + 1), get(c + 1, r + 1)];
        [0, 1, 2].map(|i| (a[i] * (1.0 - tx) + b[i] * tx) * (1.0 - ty) + (d[i] * (1.0 - tx) + e[i] * tx) * ty)
    }
}

/// What the air does to light at a height.
struct Medium {
    rayleigh: Rgb,
    mie: f32,
    extinction: Rgb,
}

/// The air over the land, with a measure of haze: 1 is a clear day.
pub struct Air {
    haze: f32,
    transmittance: Table,
    multiple: Table,
}

impl Air {
    /// Works out the tables that hold for every sun.
    #[must_use]
    pub fn new(haze: f32) -> Self {
        let mut air = Self {
            haze,
            transmittance: Table { size: [2, 2], values: vec![[1.0; 3]; 4] },
            multiple: Table { size: [2, 2], values: vec![[0.0; 3]; 4] },
        };
        air.transmittance =
            Table::make(TRANSMITTANCE, |u, v| air.integrate_transmittance(height_of(v), cosine_of(u)));
        air.multiple =
            Table::make([MULTIPLE, MULTIPLE], |u, v| air.scattered_again(height_of(v), 2.0 * u - 1.0));
        air
    }

    fn medium(&self, height: f32) -> Medium {
        let height = height.max(0.0);
        let rayleigh = RAYLEIGH.map(|s| s * exp(-height / RAYLEIGH_M));
        let haze = self.haze * exp(-height / MIE_M);
        let ozone = (1.0 - (height - 25_000.0).abs() / 15_000.0).max(0.0);
        let extinction = [0, 1, 2].map(|i| rayleigh[i] + MIE_ALL * haze + OZONE[i] * ozone);
        Medium { rayleigh, mie: MIE * haze, extinction }
    }

    fn integrate_transmittance(&self, height: f32, cosine: f32) -> Rgb {
        const STEPS: usize = 48;
        let length = to_top(height, cosine);
        let mut depth = [0f32; 3];
        for i in 0..STEPS {
            let t = (i as f32 + 0.5) / STEPS as f32 * length;
            let medium = self.medium(height_along(height, cosine, t));
            (0..3).for_each(|c| depth[c] += medium.extinction[c] * length / STEPS as f32);
        }
        depth.map(|d| exp(-d))
    }

    /// The share of the sun's light that reaches a height; none below the horizon.
    #[must_use]
    pub fn sunlight(&self, height: f32, cosine: f32) -> Rgb {
        let r = GROUND_M + height.max(0.0);
        let horizon = -(1.0 - (GROUND_M / r) * (GROUND_M / r)).max(0.0).sqrt();
        // The sun's disk sets bit by bit.
        let above = ((cosine - horizon) / 0.0093 + 0.5).clamp(0.0, 1.0);
        let through = self.transmittance.at(of_cosine(cosine.max(horizon)), of_height(height));
        through.map(|t| t * above)
    }

    /// Light that was scattered at least twice, for a sun of strength 1.
    fn scattered_again(&self, height: f32, sun: f32) -> Rgb {
        const SIDE: usize = 8;
        const STEPS: usize = 20;
        let (mut second, mut share) = ([0f32; 3], [0f32; 3]);
        let sun_at = [(1.0 - sun * sun).max(0.0).sqrt(), 0.0, sun];
        for i in 0..SIDE * SIDE {
            let theta = std::f32::consts::TAU * ((i % SIDE) as f32 + 0.5) / SIDE as f32;
            let z = 1.0 - 2.0 * ((i / SIDE) as f32 + 0.5) / SIDE as f32;
            let flat = (1.0 - z * z).sqrt();
            let way = [flat * cos(theta), flat * sin(theta), z];
            let (length, hits) = to_end(height, z);
            let mut through = [1f32; 3];
            let step = length / STEPS as f32;
            for k in 0..STEPS {
                let t = (k as f32 + 0.5) * step;
                let (h, local_sun) = along(height, way, t, sun_at);
                let medium = self.medium(h);
                let light = self.sunlight(h, local_sun);
                for c in 0..3 {
                    let scatter = medium.rayleigh[c] + medium.mie;
                    let passed = exp(-medium.extinction[c] * step);
                    let gathered = through[c] * (1.0 - passed) / medium.extinction[c].max(1e-12);
                    second[c] += gathered * scatter * light[c] / (4.0 * std::f32::consts::PI);
                    share[c] += gathered * scatter;
                    through[c] *= passed;
                }
            }
            if hits {
                let (_, local_sun) = along(height, way, length, sun_at);
                let light = self.sunlight(0.0, local_sun);
                for c in 0..3 {
                    second[c] +=
                        through[c] * light[c] * local_sun.max(0.0) * GROUND_ALBEDO / std::f32::consts::PI;
                }
            }
        }
        let count = (SIDE * SIDE) as f32;
        [0, 1, 2].map(|c| second[c] / count / (1.0 - (share[c] / count).min(0.99)))
    }

    /// Light from along a ray, and what comes through it, cut at a length.
    fn ray(&self, height: f32, way: [f32; 3], sun: [f32; 3], most: f32, steps: usize) -> (Rgb, Rgb) {
        let (length, _) = to_end(height, way[2]);
        let length = length.min(most);
        let turn = way[0] * sun[0] + way[1] * sun[1] + way[2] * sun[2];
        let phases = (rayleigh_phase(turn), mie_phase(turn));
        let (mut light, mut through) = ([0f32; 3], [1f32; 3]);
        let mut before = 0.0;
        for i in 0..steps {
            // Shorter steps where the air is near and thick.
            let share = (i + 1) as f32 / steps as f32;
            let t = length * share * share;
            self.step(height, way, sun, [before, t], phases, &mut light, &mut through);
            before = t;
        }
        (light, through)
    }

    fn step(
        &self,
        height: f32,
        way: [f32; 3],
        sun: [f32; 3],
        [from, to]: [f32; 2],
        (rayleigh, mie): (f32, f32),
        light: &mut Rgb,
        through: &mut Rgb,
    ) {
        let (h, local_sun) = along(height, way, 0.5 * (from + to), sun);
        let medium = self.medium(h);
        let direct = self.sunlight(h, local_sun);
        let again = self.multiple.at(0.5 * (local_sun + 1.0), of_height(h));
        for c in 0..3 {
            let scattered = direct[c] * (medium.rayleigh[c] * rayleigh + medium.mie * mie)
                + again[c] * (medium.rayleigh[c] + medium.mie);
            let passed = exp(-medium.extinction[c] * (to - from));
            light[c] += through[c] * scattered * (1.0 - passed) / medium.extinction[c].max(1e-12);
            through[c] *= passed;
        }
    }

    /// Light from a direction of the sky, for an eye at a height and a sun of strength 1, without the sun's disk.
    #[must_use]
    pub fn sky(&self, height: f32, way: [f32; 3], sun: [f32; 3]) -> Rgb {
        let (light, through) = self.ray(height, way, sun, f32::INFINITY, 32);
        let (length, hits) = to_end(height, way[2]);
        if !hits {
            return light;
        }
        // Below the horizon there is a plain, far down and hazy.
        let (_, local_sun) = along(height, way, length, sun);
        let direct = self.sunlight(0.0, local_sun);
        let again = self.multiple.at(0.5 * (local_sun + 1.0), 0.0);
        [0, 1, 2].map(|c| {
            let on_plain = direct[c] * local_sun.max(0.0) + std::f32::consts::PI * again[c];
            light[c] + through[c] * on_plain * PLAIN[c] / std::f32::consts::PI
        })
    }

    /// The sky around the eye: columns by the angle from the sun, once around, rows from straight down to straight up, finer
    /// toward the horizon.
    #[must_use]
    pub fn sky_table(&self, height: f32, sun: [f32; 3]) -> Vec<Rgb> {
        let flat = (1.0 - sun[2] * sun[2]).max(0.0).sqrt();
        let sun = [flat, 0.0, sun[2]];
        let [cols, rows] = SKY;
        (0..cols * rows)
            .into_par_iter()
            .map(|i| {
                let turn = std::f32::consts::TAU * (i % cols) as f32 / cols as f32;
                let v = 2.0 * ((i / cols) as f32 + 0.5) / rows as f32 - 1.0;
                let up = v.signum() * v * v * std::f32::consts::FRAC_PI_2;
                let way = [cos(up) * cos(turn), cos(up) * sin(turn), sin(up)];
                self.sky(height, way, sun)
            })
            .collect()
    }

    /// How much more or less than of green the air takes of red, green and blue: as powers of the share that comes through.
    #[must_use]
    pub fn tint(&self, height: f32) -> Rgb {
        let taken = self.medium(height).extinction;
        taken.map(|t| t / taken[1].max(1e-12))
    }

    /// The air before the eye, slice by slice: light that it adds, and the share of what lies behind that comes through, of green.
    /// Slices end at the square of their share of [`BLOCK_M`].
    #[must_use]
    pub fn block(&self, camera: &Camera, aspect: f64, sun: Vec3) -> Vec<[f32; 4]> {
        let [cols, rows, slices] = BLOCK;
        let [right, up, forward] = camera.axes();
        let [half_x, half_y] = camera.half(aspect);
        let sun = sun.map(|x| x as f32);
        let height = camera.eye[2].max(1.0) as f32;
        let columns: Vec<Vec<[f32; 4]>> = (0..cols * rows)
            .into_par_iter()
            .map(|i| {
                let x = half_x * (2.0 * ((i % cols) as f64 + 0.5) / cols as f64 - 1.0);
                let y = half_y * (1.0 - 2.0 * ((i / cols) as f64 + 0.5) / rows as f64);
                let way: Vec3 = [0, 1, 2].map(|k| forward[k] + x * right[k] + y * up[k]);
                let length = dot(way, way).sqrt();
                let way = way.map(|k| (k / length) as f32);
                let turn = way[0] * sun[0] + way[1] * sun[1] + way[2] * sun[2];
                let phases = (rayleigh_phase(turn), mie_phase(turn));
                let (mut light, mut through) = ([0f32; 3], [1f32; 3]);
                let mut before = 0.0;
                (0..slices)
                    .map(|slice| {
                        let share = (slice + 1) as f32 / slices as f32;
                        let end = BLOCK_M * share * share;
                        let middle = 0.5 * (before + end);
                        for piece in [[before, middle], [middle, end]] {
                            self.step(height, way, sun, piece, phases, &mut light, &mut through);
                        }
                        before = end;
                        let [r, g, b] = light;
                        [r, g, b, through[1]]
                    })
                    .collect()
            })
            .collect();
        (0..slices).flat_map(|slice| columns.iter().map(move |column| column[slice])).collect()
    }

    /// The light of the sky on surfaces: for a normal `n`, `h[0] + h[1] n.x + h[2] n.y + h[3] n.z`, in the mean exact.
    #[must_use]
    pub fn harmonics(&self, height: f32, sun: [f32; 3]) -> [Rgb; 4] {
        const COLS: usize = 24;
        const ROWS: usize = 12;
        let mut sums = [[0f32; 3]; 4];
        for row in 0..ROWS {
            let z = (row as f32 + 0.5) / ROWS as f32;
            let flat = (1.0 - z * z).sqrt();
            for col in 0..COLS {
                let turn = std::f32::consts::TAU * (col as f32 + 0.5) / COLS as f32;
                let way = [flat * cos(turn), flat * sin(turn), z];
                let light = self.sky(height, way, sun);
                let solid = std::f32::consts::TAU / (ROWS * COLS) as f32;
                for c in 0..3 {
                    // The first two bands of a cosine lobe.
                    sums[0][c] += light[c] * solid * 0.25;
                    (0..3).for_each(|k| sums[k + 1][c] += light[c] * solid * 0.5 * way[k]);
                }
            }
        }
        sums
    }
}

fn rayleigh_phase(turn: f32) -> f32 {
    3.0 / (16.0 * std::f32::consts::PI) * (1.0 + turn * turn)
}

fn mie_phase(turn: f32) -> f32 {
    // Cornette and Shanks.
    let g = MIE_G;
    let below = 1.0 + g * g - 2.0 * g * turn;
    3.0 / (8.0 * std::f32::consts::PI) * (1.0 - g * g) * (1.0 + turn * turn)
        / ((2.0 + g * g) * below * below.sqrt())
}

/// Heights of a table: finer near the ground.
fn height_of(v: f32) -> f32 {
    v * v * (TOP_M - GROUND_M)
}

fn of_height(height: f32) -> f32 {
    (height.max(0.0) / (TOP_M - GROUND_M)).sqrt().min(1.0)
}

/// Cosines of a table: finer toward the horizon.
fn cosine_of(u: f32) -> f32 {
    let x = 2.0 * u - 1.0;
    x.signum() * x * x
}

fn of_cosine(cosine: f32) -> f32 {
    0.5 * (cosine.signum() * cosine.abs().sqrt() + 1.0)
}

fn height_along(height: f32, cosine: f32, t: f32) -> f32 {
    // In doubles: heights are small beside the Earth.
    let r = f64::from(GROUND_M) + f64::from(height);
    let (c, t) = (f64::from(cosine), f64::from(t));
    ((r * r + t * t + 2.0 * r * c * t).sqrt() - f64::from(GROUND_M)) as f32
}

/// Height along a ray, and the cosine of the sun there.
fn along(height: f32, way: [f32; 3], t: f32, sun: [f32; 3]) -> (f32, f32) {
    let r = GROUND_M + height;
    let place = [way[0] * t, way[1] * t, r + way[2] * t];
    let length = (place[0] * place[0] + place[1] * place[1] + place[2] * place[2]).sqrt();
    let cosine = (place[0] * sun[0] + place[1] * sun[1] + place[2] * sun[2]) / length;
    (height_along(height, way[2], t).max(0.0), cosine)
}

fn to_sphere(height: f32, cosine: f32, radius: f32, nearer: bool) -> Option<f32> {
    let (r, c) = (f64::from(GROUND_M + height), f64::from(cosine));
    let square = f64::from(radius) * f64::from(radius) - r * r * (1.0 - c * c);
    if square < 0.0 {
        return None;
    }
    let t = -r * c + if nearer { -square.sqrt() } else { square.sqrt() };
    (t > 0.0).then_some(t as f32)
}

fn to_top(height: f32, cosine: f32) -> f32 {
    to_sphere(height, cosine, TOP_M, false).unwrap_or(0.0)
}

/// How far a ray goes through the air, and whether it ends on the ground.
fn to_end(height: f32, cosine: f32) -> (f32, bool) {
    let ground = if cosine < 0.0 { to_sphere(height, cosine, GROUND_M, true) } else { None };
    (ground.unwrap_or_else(|| to_top(height, cosine)), ground.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sun_at(altitude_deg: f32) -> [f32; 3] {
        let a = altitude_deg.to_radians();
        [cos(a), 0.0, sin(a)]
    }

    #[test]
    fn the_sky_is_blue_at_noon_and_its_horizon_pale() {
        let air = Air::new(1.0);
        let up = air.sky(2.0, [0.0, 0.0, 1.0], sun_at(60.0));
        assert!(up[2] > 2.0 * up[0] && up[2] > 1.3 * up[1], "{up:?}");
        let level = air.sky(2.0, [0.0, -0.999, 0.04], sun_at(60.0));
        assert!(level[0] / level[2] > up[0] / up[2] && level[1] > up[1], "{level:?}");
    }

    #[test]
    fn the_setting_sun_is_red_and_night_is_dark() {
        let air = Air::new(1.0);
        let (noon, evening) = (air.sunlight(0.0, 1.0), air.sunlight(0.0, 0.02));
        assert!(noon[2] / noon[0] > 0.6 && noon[0] < 1.0, "{noon:?}");
        assert!(evening[2] / evening[0] < 0.1 && evening[0] > 0.01, "{evening:?}");
        assert_eq!(air.sunlight(0.0, -0.2), [0.0; 3]);
        let night = air.sky(2.0, [0.0, 0.0, 1.0], sun_at(-25.0));
        assert!(night[2] < 1e-4 * air.sky(2.0, [0.0, 0.0, 1.0], sun_at(40.0))[2]);
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        // All the light that the ground gets is less than what the sun sends.
        let air = Air::new(1.0);
        for altitude in [5.0f32, 20.0, 60.0, 90.0] {
            let sun = sun_at(altitude);
            let (sky, direct) = (air.harmonics(0.0, sun), air.sunlight(0.0, sun[2]));
            for c in 0..3 {
                let total = sky[0][c] + sky[3][c] + direct[c] * sun[2];
                assert!(total < sun[2] * 1.05 + 0.02 && total > 0.3 * sun[2], "{altitude} {c}: {total}");
            }
        }
    }

    #[test]
    fn haze_grows_with_distance_and_takes_what_it_covers() {
        let air = Air::new(1.0);
        let camera =
            Camera { eye: [0.0, 0.0, 100.0], target: [0.0, 1000.0, 100.0], view_deg: 60.0, wide_m: None };
        let block = air.block(&camera, 1.5, [0.5, 0.5, 0.707]);
        let [cols, rows, slices] = BLOCK;
        let at = |slice: usize| block[slice * cols * rows + rows / 2 * cols + cols / 2];
        for slice in 1..slices {
            assert!(at(slice)[3] <= at(slice - 1)[3] && at(slice)[2] >= at(slice - 1)[2]);
        }
        assert!(at(0)[3] > 0.99 && at(slices - 1)[3] < 0.2);
    }
}
