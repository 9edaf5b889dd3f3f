//! The way of a camera: through given places, or around what is worth seeing.

use orogen_core::math;

use crate::camera::Camera;
use crate::error::RenderError;
use crate::overview::Overview;
use crate::vec3::{Vec3, add, length, scale, sub};

/// A way that a camera flies at an even speed.
#[derive(Clone, Debug)]
pub struct Flight {
    eyes: Vec<Vec3>,
    targets: Vec<Vec3>,
    /// How far along each eye is, 0 to 1.
    along: Vec<f64>,
    view_deg: f64,
}

/// Places that a way is worked out at.
const STEPS: usize = 512;

impl Flight {
    /// Through places east, north and above the ground or the water, in a smooth line; the camera looks at a place, or where it flies
    /// to.
    ///
    /// # Errors
    /// When there are fewer than two places, or one cannot be.
    pub fn through(
        overview: &Overview,
        places: &[[f64; 3]],
        target: Option<[f64; 2]>,
        view_deg: f64,
    ) -> Result<Self, RenderError> {
        /// Farther away nothing is to be seen.
        const MOST_M: f64 = 1e8;
        if places.len() < 2 {
            return Err(RenderError::Call(String::from("a flight leads through two places or more")));
        }
        let numbers = places.iter().flatten().chain(target.iter().flatten());
        if let Some(far) = numbers.copied().find(|x| !(-MOST_M..=MOST_M).contains(x)) {
            return Err(RenderError::Call(format!("{far} m is outside -{MOST_M:e} to {MOST_M:e} m")));
        }
        let surface = |x: f64, y: f64| surface(overview, x, y);
        let knots: Vec<Vec3> = places.iter().map(|[x, y, h]| [*x, *y, surface(*x, *y) + h]).collect();
        let lowest = places.iter().map(|p| p[2]).fold(f64::INFINITY, f64::min);
        let mut eyes = spline(&knots);
        keep_clear(&mut eyes, overview, (0.5 * lowest).clamp(2.0, 200.0));
        let along = even(&eyes);
        let targets = match target {
            Some([x, y]) => vec![[x, y, surface(x, y)]; eyes.len()],
            None => ahead(&eyes, &along),
        };
        Ok(Self { eyes, targets, along, view_deg })
    }

    /// Around what a camera looks at, past the place of the camera and nearer and lower on the way.
    #[must_use]
    pub fn around(overview: &Overview, camera: &Camera) -> Self {
        const TURN_DEG: f64 = 95.0;
        let off = sub(camera.eye, camera.target);
        let far = math::hypot(off[0], off[1]).max(1.0);
        let start = math::atan2(off[0], off[1]);
        let rise = camera.eye[2] - surface(overview, camera.eye[0], camera.eye[1]).max(0.0);
        let mut eyes: Vec<Vec3> = (0..STEPS)
            .map(|i| {
                let t = i as f64 / (STEPS - 1) as f64;
                let turn = start + TURN_DEG.to_radians() * (t - 0.5);
                // Where the camera is half way, all is as it was found.
                let out = far * (1.22 - 0.44 * t);
                let z = camera.eye[2] + rise * (0.5 - t) + 0.05 * far * (0.5 - t);
                [camera.target[0] + out * math::sin(turn), camera.target[1] + out * math::cos(turn), z]
            })
            .collect();
        keep_clear(&mut eyes, overview, (0.4 * rise).clamp(4.0, 150.0));
        let along = even(&eyes);
        Self { targets: vec![camera.target; eyes.len()], along, eyes, view_deg: camera.view_deg }
    }

    /// The camera so far along, 0 to 1. It starts and ends gently.
    #[must_use]
    pub fn at(&self, share: f64) -> Camera {
        const GENTLE: f64 = 0.5;
        let share = share.clamp(0.0, 1.0);
        let eased = share * share * (3.0 - 2.0 * share);
        let share = share + GENTLE * (eased - share);
        let after = self.along.partition_point(|at| *at < share).clamp(1, self.along.len() - 1);
        let (from, to) = (self.along[after - 1], self.along[after]);
        let t = ((share - from) / (to - from).max(1e-12)).clamp(0.0, 1.0);
        let mix = |all: &[Vec3]| add(all[after - 1], scale(sub(all[after], all[after - 1]), t));
        Camera { eye: mix(&self.eyes), target: mix(&self.targets), view_deg: self.view_deg, wide_m: None }
    }

    /// How long the way is, in metres.
    #[must_use]
    pub fn length_m(&self) -> f64 {
        self.eyes.windows(2).map(|pair| length(sub(pair[1], pair[0]))).sum()
    }
}

/// The ground, or the sea over it.
fn surface(overview: &Overview, x: f64, y: f64) -> f64 {
    overview.height_at(x, y).max(if overview.is_sea(x, y) { 0.0 } else { f64::NEG_INFINITY })
}

/// A smooth line through places: Catmull and Rom's, with knots as far apart as the root of the distance, so that it makes no loops.
fn spline(knots: &[Vec3]) -> Vec<Vec3> {
    let last = knots.len() - 1;
    // One more at each end, as far beyond it.
    let beyond = |a: Vec3, b: Vec3| sub(scale(a, 2.0), b);
    let mut all = vec![beyond(knots[0], knots[1])];
    all.extend_from_slice(knots);
    all.push(beyond(knots[last], knots[last - 1]));
    let each = STEPS.div_ceil(last);
    let mut out = Vec::with_capacity(each * last + 1);
    for four in all.windows(4) {
        let [a, b, c, d] = [four[0], four[1], four[2], four[3]];
        let gap = |a: Vec3, b: Vec3| length(sub(b, a)).sqrt().max(1e-6);
        let (t1, t2) = (gap(a, b), gap(a, b) + gap(b, c));
        let t3 = t2 + gap(c, d);
        for i in 0..each {
            let t = t1 + (t2 - t1) * i as f64 / each as f64;
            let mix = |p: Vec3, q: Vec3, from: f64, to: f64| {
                let share = (t - from) / (to - from);
                add(scale(p, 1.0 - share), scale(q, share))
            };
            let (ab, bc, cd) = (mix(a, b, 0.0, t1), mix(b, c, t1, t2), mix(c, d, t2, t3));
            out.push(mix(mix(ab, bc, 0.0, t2), mix(bc, cd, t1, t3), t1, t2));
        }
    }
    out.push(knots[last]);
    out
}

/// Lifts a way so that it keeps so far above the ground, in gentle curves.
fn keep_clear(eyes: &mut [Vec3], overview: &Overview, clear_m: f64) {
    let reach = (eyes.len() / 24).max(1) as isize;
    let lacks: Vec<f64> =
        eyes.iter().map(|[x, y, z]| (surface(overview, *x, *y) + clear_m - z).max(0.0)).collect();
    let at = |all: &[f64], i: isize| all[i.clamp(0, all.len() as isize - 1) as usize];
    // The most that lacks nearby, then its mean over as wide a stretch: never less than what lacks.
    let most: Vec<f64> = (0..lacks.len() as isize)
        .map(|i| (-reach..=reach).map(|d| at(&lacks, i + d)).fold(0.0, f64::max))
        .collect();
    let weight = |d: isize| 1.0 + math::cos(std::f64::consts::PI * d as f64 / (reach + 1) as f64);
    let all: f64 = (-reach..=reach).map(weight).sum();
    for (i, eye) in eyes.iter_mut().enumerate() {
        eye[2] += (-reach..=reach).map(|d| weight(d) * at(&most, i as isize + d)).sum::<f64>() / all;
    }
}

/// How far along each place is, 0 to 1.
fn even(eyes: &[Vec3]) -> Vec<f64> {
    let mut along = vec![0.0];
    for pair in eyes.windows(2) {
        along.push(along[along.len() - 1] + length(sub(pair[1], pair[0])));
    }
    let whole = along[along.len() - 1].max(1e-9);
    along.iter().map(|at| at / whole).collect()
}

/// What a camera looks at that looks where it flies to, and a little down.
fn ahead(eyes: &[Vec3], along: &[f64]) -> Vec<Vec3> {
    const AHEAD: f64 = 0.07;
    const DOWN: f64 = 0.14;
    let last = eyes.len() - 1;
    let place = |share: f64| {
        if share >= 1.0 {
            // Beyond the end as the way ends.
            let by = (share - 1.0) / (1.0 - along[last - 1]).max(1e-9);
            return add(eyes[last], scale(sub(eyes[last], eyes[last - 1]), by));
        }
        let after = along.partition_point(|at| *at < share).clamp(1, last);
        let t = (share - along[after - 1]) / (along[after] - along[after - 1]).max(1e-12);
        add(scale(eyes[after - 1], 1.0 - t), scale(eyes[after], t))
    };
    eyes.iter()
        .zip(along)
        .map(|(eye, at)| {
            let mut to = place(at + AHEAD);
            let far = math::hypot(to[0] - eye[0], to[1] - eye[1]).max(1.0);
            // Climbs and dives are looked into by half.
            to[2] = eye[2] + 0.5 * (to[2] - eye[2]) - DOWN * far;
            to
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use orogen_core::{Cancel, Frame, Raster, Terrain, layer};

    use super::*;

    /// A ridge from south to north across a plain.
    fn ridge() -> Overview {
        let mut land = Terrain::new(Frame::square(10_000.0, 201).unwrap());
        let height = Raster::from_fn(201, 201, |c, _| {
            let off = (c as f64 - 100.0) * 50.0 / 900.0;
            (20.0 + 1500.0 * math::exp(-off * off)) as f32
        });
        land.set(layer::HEIGHT, height);
        Overview::of(&land, &Cancel::new()).unwrap()
    }

    #[test]
    fn a_flight_leads_through_its_places_at_an_even_speed_and_over_what_is_in_the_way() {
        let overview = ridge();
        let places = [[1000.0, 1000.0, 120.0], [4000.0, 6000.0, 300.0], [9000.0, 8000.0, 150.0]];
        let flight = Flight::through(&overview, &places, None, 55.0).unwrap();
        let frames: Vec<Camera> = (0..=400).map(|i| flight.at(f64::from(i) / 400.0)).collect();
        for [x, y, _] in places {
            let near =
                frames.iter().map(|c| math::hypot(c.eye[0] - x, c.eye[1] - y)).fold(f64::MAX, f64::min);
            assert!(near < 30.0, "{near} m past {x},{y}");
        }
        for (i, camera) in frames.iter().enumerate() {
            let above = camera.eye[2] - surface(&overview, camera.eye[0], camera.eye[1]);
            assert!(above > 55.0, "frame {i} is {above} m above the ground");
            assert!(camera.check().is_ok());
        }
        let steps: Vec<f64> = frames.windows(2).map(|p| length(sub(p[1].eye, p[0].eye))).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        assert!(steps.iter().all(|step| *step < 1.6 * mean && *step > 0.3 * mean), "uneven");
        // No jerks: the way bends by little from frame to frame.
        let bends = frames.windows(3).map(|p| {
            let (a, b) = (sub(p[1].eye, p[0].eye), sub(p[2].eye, p[1].eye));
            length(sub(b, a)) / mean
        });
        assert!(bends.fold(0.0, f64::max) < 0.25);
    }

    #[test]
    fn a_flight_around_a_view_passes_it_half_way() {
        let overview = ridge();
        let camera = Camera {
            eye: [2000.0, 2500.0, 600.0],
            target: [5000.0, 5000.0, 900.0],
            view_deg: 50.0,
            wide_m: None,
        };
        let flight = Flight::around(&overview, &camera);
        let near = (0..=200).map(|i| length(sub(flight.at(f64::from(i) / 200.0).eye, camera.eye)));
        assert!(near.fold(f64::MAX, f64::min) < 60.0);
        assert!((0..=50).all(|i| flight.at(f64::from(i) / 50.0).target == camera.target));
        assert!(flight.length_m() > 2000.0);
    }

    #[test]
    fn places_that_cannot_be_are_refused() {
        let overview = ridge();
        let of = |places: &[[f64; 3]]| Flight::through(&overview, places, None, 55.0).map(|_| ());
        assert!(of(&[[1.0, 2.0, 3.0]]).is_err_and(|e| e.to_string().contains("two places")));
        assert!(of(&[[1.0, 2.0, 3.0], [1e9, 0.0, 3.0]]).is_err_and(|e| e.to_string().contains("outside")));
        // Standing still is a flight too.
        assert!(of(&[[500.0, 500.0, 30.0], [500.0, 500.0, 30.0]]).is_ok());
    }
}
