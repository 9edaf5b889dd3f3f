//! The light of a year on slopes: where the sun stands, how strong it is, and what a slope and a horizon leave of it.
//!
//! ```text
//! beam = Σ over the hours of a year  0.7^(1 / sin e) · max(0, n · s)      where the sun, at elevation e, is above the horizon
//! light = (beam + sky · v) / (the same on open, level land)               v: the share of the sky that is seen
//! ```
//!
//! Suns are gathered by their direction, an even sixteenth of the circle each, and by their height, so that a place asks
//! sixteen tables instead of thousands of suns. The light of a slope alone is a table by its gradient.

use orogen_core::math;

use super::horizon::DIRECTIONS;

/// Heights of the horizon, in tangents from 0 to about 57, that tables know.
const STEPS: usize = 48;
/// Samples a side of the table of slopes.
const SIDE: usize = 129;
/// Light of the sky beside that of the sun on open, level land.
const SKY: f64 = 0.35;

/// The suns of a year at a latitude.
pub struct Suns {
    /// By direction and height of the horizon: the sum of all suns above it, as a vector to the east, north and up.
    above: Vec<[[f32; 3]; STEPS + 1]>,
    /// On open, level land.
    level_beam: f32,
}

impl Suns {
    /// At a latitude in degrees; `north_deg` is the direction of true north, clockwise from the y axis of the map.
    pub fn of_year(latitude_deg: f64, north_deg: f64) -> Self {
        const DAYS: usize = 48;
        const HOURS: usize = 144;
        let latitude = latitude_deg.to_radians();
        let (sin_lat, cos_lat) = (math::sin(latitude), math::cos(latitude));
        let mut bins = vec![[[0.0f64; 3]; STEPS + 1]; DIRECTIONS];
        for day in 0..DAYS {
            let season = std::f64::consts::TAU * (day as f64 + 0.5) / DAYS as f64;
            let declination = 23.44f64.to_radians() * math::sin(season);
            let (sin_dec, cos_dec) = (math::sin(declination), math::cos(declination));
            for hour in 0..HOURS {
                let angle = std::f64::consts::TAU * ((hour as f64 + 0.5) / HOURS as f64 - 0.5);
                let up = sin_lat * sin_dec + cos_lat * cos_dec * math::cos(angle);
                if up <= 1e-3 {
                    continue;
                }
                // Afternoons lie in the west, morning and evening mirror each other.
                let east = -cos_dec * math::sin(angle);
                let north = cos_lat * sin_dec - sin_lat * cos_dec * math::cos(angle);
                let flat = math::hypot(east, north);
                let strength = math::pow(0.7, 1.0 / up);
                let azimuth = math::atan2(east, north).to_degrees() + north_deg;
                let (sin_az, cos_az) = (math::sin(azimuth.to_radians()), math::cos(azimuth.to_radians()));
                let sun = [strength * flat * sin_az, strength * flat * cos_az, strength * up];
                let at = (azimuth / 360.0).rem_euclid(1.0) * DIRECTIONS as f64;
                let (low, share) = (at.floor() as usize % DIRECTIONS, at - at.floor());
                let height = place(up / flat.max(1e-9));
                let (step, rest) = (height.floor() as usize, height - height.floor());
                for (direction, share) in [(low, 1.0 - share), ((low + 1) % DIRECTIONS, share)] {
                    for (step, rest) in [(step, 1.0 - rest), ((step + 1).min(STEPS), rest)] {
                        (0..3).for_each(|i| bins[direction][step][i] += share * rest * sun[i]);
                    }
                }
            }
        }
        // Sums from the top down: what stands above a horizon; a sun on the horizon is seen by half.
        let sums = |bins: &[[f64; 3]; STEPS + 1]| {
            let mut sums = [[0.0f32; 3]; STEPS + 1];
            let mut sum = [0.0; 3];
            for step in (0..=STEPS).rev() {
                (0..3).for_each(|i| {
                    let half = if step == 0 { bins[step][i] } else { 0.5 * bins[step][i] };
                    sums[step][i] = (sum[i] + half) as f32;
                    sum[i] += bins[step][i];
                });
            }
            sums
        };
        let above: Vec<_> = bins.iter().map(sums).collect();
        let level_beam = above.iter().map(|sums| sums[0][2]).sum();
        Self { above, level_beam }
    }

    /// The light of a year on ground that rises by `p` and `q` a metre to the east and to the north, beside that on open,
    /// level land. `horizons` gives tangents by direction; the slope itself counts where it is higher.
    #[inline]
    pub fn light(&self, p: f32, q: f32, horizons: impl Fn(usize) -> f32) -> f32 {
        let up = 1.0 / (1.0 + p * p + q * q).sqrt();
        let normal = [-p * up, -q * up, up];
        let (mut beam, mut sky) = (0.0, 0.0);
        for (direction, above) in self.above.iter().enumerate() {
            let own = DIRECTIONS_XY[direction][0] * p + DIRECTIONS_XY[direction][1] * q;
            let horizon = horizons(direction).max(own).max(0.0);
            let at = place_f32(horizon);
            let (step, t) = (at as usize, at - (at as usize) as f32);
            let [low, high] = [step, (step + 1).min(STEPS)].map(|step| {
                let sum = &above[step];
                normal[0] * sum[0] + normal[1] * sum[1] + normal[2] * sum[2]
            });
            beam += (low + t * (high - low)).max(0.0);
            // Light from a sky that is bright all over: cos² of the horizon.
            sky += 1.0 / (1.0 + horizon * horizon);
        }
        let sky = sky / DIRECTIONS as f32 * 0.5 * (1.0 + up);
        let all = SKY as f32 * self.level_beam;
        (beam + all * sky) / (self.level_beam + all)
    }
}

/// The steps east and north of each direction; cos and sin of eighths of a right angle, written out.
const DIRECTIONS_XY: [[f32; 2]; DIRECTIONS] = {
    const A: f32 = 0.382_683_43;
    const B: f32 = 0.707_106_77;
    const C: f32 = 0.923_879_5;
    [
        [0.0, 1.0],
        [A, C],
        [B, B],
        [C, A],
        [1.0, 0.0],
        [C, -A],
        [B, -B],
        [A, -C],
        [0.0, -1.0],
        [-A, -C],
        [-B, -B],
        [-C, -A],
        [-1.0, 0.0],
        [-C, A],
        [-B, B],
        [-A, C],
    ]
};

/// Where a tangent lies in the tables: even steps of t / (1 + t), nearly even in angle.
fn place(tangent: f64) -> f64 {
    (tangent / (1.0 + tangent) * STEPS as f64).min(STEPS as f64)
}

#[inline]
fn place_f32(tangent: f32) -> f32 {
    (tangent / (1.0 + tangent) * STEPS as f32).min(STEPS as f32)
}

/// The light on open slopes by their gradient, as a table.
pub struct Slopes(Vec<f32>);

impl Slopes {
    /// Those of some suns.
    pub fn under(suns: &Suns) -> Self {
        let gradient = |i: usize| {
            let u = (i as f32 / (SIDE - 1) as f32) * 2.0 - 1.0;
            u / (1.0 - u.abs()).max(1e-3)
        };
        let one = |i: usize| suns.light(gradient(i % SIDE), gradient(i / SIDE), |_| 0.0);
        Self((0..SIDE * SIDE).map(one).collect())
    }

    /// The light on a slope.
    #[inline]
    pub fn light(&self, p: f32, q: f32) -> f32 {
        let at = |g: f32| {
            let u = (g / (1.0 + g.abs()) + 1.0) * 0.5 * (SIDE - 1) as f32;
            let low = (u as usize).min(SIDE - 2);
            (low, u - low as f32)
        };
        let ((c, tc), (r, tr)) = (at(p), at(q));
        let value = |c: usize, r: usize| self.0[r * SIDE + c];
        let low = math::lerp(value(c, r), value(c + 1, r), tc);
        let high = math::lerp(value(c, r + 1), value(c + 1, r + 1), tc);
        math::lerp(low, high, tr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_open_land_has_all_its_light() {
        for latitude in [-90.0, -45.0, 0.0, 30.0, 67.0, 90.0] {
            let light = Suns::of_year(latitude, 0.0).light(0.0, 0.0, |_| 0.0);
            assert!((light - 1.0).abs() < 1e-5, "{latitude}: {light}");
        }
    }

    #[test]
    fn slopes_that_face_the_sun_have_more_of_it() {
        let north = Suns::of_year(46.0, 0.0);
        // Ground that rises to the north faces south.
        let (south, shady) = (north.light(0.0, 0.6, |_| 0.0), north.light(0.0, -0.6, |_| 0.0));
        assert!(south > 1.1 && south < 1.5 && shady < 0.75 && shady > 0.2, "{south} {shady}");
        let other = Suns::of_year(-46.0, 0.0);
        assert!((other.light(0.0, -0.6, |_| 0.0) - south).abs() < 0.01);
        let equator = Suns::of_year(0.0, 0.0);
        let sides = [[0.0, 0.5], [0.0, -0.5]].map(|[p, q]| equator.light(p, q, |_| 0.0));
        assert!((sides[0] - sides[1]).abs() < 0.01, "{sides:?}");
        // Morning and evening are alike everywhere.
        let sides = [0.8, -0.8].map(|p| north.light(p, 0.0, |_| 0.0));
        assert!((sides[0] - sides[1]).abs() < 1e-4, "{sides:?}");
        // Where north lies to the east of the y axis, south-facing ground rises to the east.
        let turned = Suns::of_year(46.0, 90.0).light(0.6, 0.0, |_| 0.0);
        assert!((turned - south).abs() < 1e-3);
    }

    #[test]
    fn mountains_around_take_light_and_never_add_any() {
        let suns = Suns::of_year(46.0, 0.0);
        let mut last = 1.0;
        for tangent in [0.05f32, 0.2, 0.5, 1.0, 3.0, 50.0] {
            let light = suns.light(0.0, 0.0, |_| tangent);
            assert!(light < last && light >= 0.0, "{tangent}: {light}");
            last = light;
        }
        assert!(last < 0.01);
        // A wall in the south takes more than one in the north.
        let wall = |at: usize| suns.light(0.0, 0.0, move |d| if (d + 17 - at) % 16 < 3 { 0.7 } else { 0.0 });
        assert!(wall(8) < wall(0) - 0.04, "{} {}", wall(8), wall(0));
    }

    #[test]
    fn the_table_of_slopes_is_the_sum_over_suns() {
        let suns = Suns::of_year(46.0, 0.0);
        let table = Slopes::under(&suns);
        for (p, q) in [(0.0, 0.0), (0.3, 0.2), (-0.7, 0.4), (0.1, -1.5), (-3.0, -2.0)] {
            let (a, b) = (table.light(p, q), suns.light(p, q, |_| 0.0));
            assert!((a - b).abs() < 0.01, "{p} {q}: {a} {b}");
        }
        assert!(table.light(1e9, -1e9).is_finite());
    }
}
