//! A feature curve as a line of samples: cubic Hermite pieces between control points, quadratic ones at the ends, all
//! other values linear.

use orogen_core::math;

use super::{ControlPoint, Curve};

/// What a curve says at one place, left and right where the sides may differ.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Values {
    /// Half the width of the flat top.
    pub plateau: f64,
    /// Length of the slopes.
    pub slope: [f64; 2],
    /// Fall of the slopes, metres a metre.
    pub grade: [f64; 2],
    /// How far beyond the slopes the land may change.
    pub envelope: [f64; 2],
    /// Amplitude of the noise.
    pub noise: f64,
    /// How much of the noise is fine.
    pub roughness: f64,
    /// Elevation.
    pub z: f64,
    /// How far the elevation is held: 1 wholly, 0 not at all.
    pub pin: f64,
    /// Rise of the elevation along the curve.
    pub rise: f64,
    /// Bend to the left, one over the radius.
    pub bend: f64,
}

impl Values {
    /// What lies a share `t` of the way to another place.
    pub fn mix(&self, to: &Self, t: f64) -> Self {
        let mix = |a: f64, b: f64| a + (b - a) * t;
        let both = |a: [f64; 2], b: [f64; 2]| [mix(a[0], b[0]), mix(a[1], b[1])];
        Self {
            plateau: mix(self.plateau, to.plateau),
            slope: both(self.slope, to.slope),
            grade: both(self.grade, to.grade),
            envelope: both(self.envelope, to.envelope),
            noise: mix(self.noise, to.noise),
            roughness: mix(self.roughness, to.roughness),
            z: mix(self.z, to.z),
            pin: mix(self.pin, to.pin),
            rise: mix(self.rise, to.rise),
            bend: mix(self.bend, to.bend),
        }
    }

    /// How far from the curve it acts on the side where it acts further.
    pub fn reach(&self) -> f64 {
        self.plateau + (self.slope[0] + self.envelope[0]).max(self.slope[1] + self.envelope[1])
    }
}

/// A place of a curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub at: [f64; 2],
    /// Direction of the curve, of length 1.
    pub along: [f64; 2],
    pub values: Values,
}

/// South-west and north-east corner.
pub(super) type Bounds = [[f64; 2]; 2];

/// A curve as straight bits, short enough to bend by less than [`TURN_DEG`] each.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub samples: Vec<Sample>,
    pub closed: bool,
    /// What all of it can reach.
    pub bounds: Bounds,
    /// What each stretch of [`STRETCH`] bits can reach.
    pub stretches: Vec<Bounds>,
    /// The furthest that any place of it reaches.
    pub reach: f64,
}

/// How far a curve turns between two samples.
const TURN_DEG: f64 = 2.0;
/// Bits of a piece between control points: enough for its elevation, few enough for ten thousand points.
const BITS: (usize, usize) = (6, 128);
/// Bits that are looked up together.
pub(super) const STRETCH: usize = 16;

impl Line {
    /// The samples of a curve whose points have been checked: two or more, no two in a row in one place.
    pub fn new(curve: &Curve) -> Self {
        let n = curve.points.len();
        let pieces = if curve.closed { n } else { n - 1 };
        let at = |i: usize| -> [f64; 2] { [curve.points[i % n].x_m, curve.points[i % n].y_m] };
        // Knots a root of the distance apart: no loops or cusps between unevenly spaced points.
        let chords: Vec<f64> = (0..pieces).map(|i| distance(at(i), at(i + 1))).collect();
        let knots: Vec<f64> = chords.iter().map(|d| d.sqrt()).collect();
        let coordinate = |f: fn(&ControlPoint) -> Option<f64>| {
            let values: Vec<Option<f64>> = curve.points.iter().map(f).collect();
            let slopes = tangents(&values, &knots, curve.closed);
            (values, slopes)
        };
        let xs = coordinate(|p| Some(p.x_m));
        let ys = coordinate(|p| Some(p.y_m));
        let zs = coordinate(|p| p.z_m);
        let stated = stated(curve, &chords);

        let mut samples = Vec::new();
        for piece in 0..pieces {
            let (i, j, h) = (piece, (piece + 1) % n, knots[piece]);
            let axis = |(values, slopes): &(Vec<Option<f64>>, Vec<f64>)| {
                let value = |i: usize| values[i].unwrap_or_default();
                Cubic::new([value(i), value(j)], [slopes[i], slopes[j]], h)
            };
            let (x, y) = (axis(&xs), axis(&ys));
            let z = match (zs.0[i], zs.0[j]) {
                (Some(_), Some(_)) => axis(&zs),
                (Some(z), None) | (None, Some(z)) => Cubic::new([z, z], [0.0, 0.0], h),
                (None, None) => Cubic::new([0.0, 0.0], [0.0, 0.0], h),
            };
            let pin = [zs.0[i], zs.0[j]].map(|z| f64::from(u8::from(z.is_some())));
            let chord = [(at(j)[0] - at(i)[0]) / chords[piece], (at(j)[1] - at(i)[1]) / chords[piece]];
            let bits = bits(&x, &y);
            let ends = if piece + 1 == pieces { bits + 1 } else { bits };
            for bit in 0..ends {
                let t = bit as f64 / bits as f64;
                let (vx, vy) = (x.speed(t), y.speed(t));
                let speed = math::hypot(vx, vy);
                // Where a curve turns back on itself its speed is nought for a moment.
                let slow = speed < 1e-9 * (1.0 + h);
                let along = if slow { chord } else { [vx / speed, vy / speed] };
                let mut values = stated[i].mix(&stated[j], t);
                values.z = z.at(t);
                values.pin = pin[0] + (pin[1] - pin[0]) * t;
                if !slow {
                    values.rise = (z.speed(t) / speed).clamp(-20.0, 20.0);
                    values.bend = (vx * y.force(t) - vy * x.force(t)) / (speed * speed * speed);
                }
                samples.push(Sample { at: [x.at(t), y.at(t)], along, values });
            }
        }
        Self::of(samples, curve.closed)
    }

    fn of(samples: Vec<Sample>, closed: bool) -> Self {
        let stretches: Vec<Bounds> = (0..samples.len() - 1)
            .step_by(STRETCH)
            .map(|from| bounds_of(&samples[from..(from + STRETCH + 1).min(samples.len())]))
            .collect();
        let bounds = stretches.iter().copied().fold(NOWHERE, join);
        let reach = samples.iter().map(|s| s.values.reach()).fold(0.0, f64::max);
        Self { samples, closed, bounds, stretches, reach }
    }

    /// Whether the envelopes of two curves may overlap.
    pub fn meets(&self, other: &Self) -> bool {
        overlap(&self.bounds, &other.bounds)
            && self
                .stretches
                .iter()
                .filter(|a| overlap(a, &other.bounds))
                .any(|a| other.stretches.iter().any(|b| overlap(a, b)))
    }
}

const NOWHERE: Bounds = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];

fn bounds_of(samples: &[Sample]) -> Bounds {
    samples.iter().fold(NOWHERE, |bounds, s| {
        let r = s.values.reach();
        join(bounds, [[s.at[0] - r, s.at[1] - r], [s.at[0] + r, s.at[1] + r]])
    })
}

/// What holds both.
pub(super) fn join(a: Bounds, b: Bounds) -> Bounds {
    [[a[0][0].min(b[0][0]), a[0][1].min(b[0][1])], [a[1][0].max(b[1][0]), a[1][1].max(b[1][1])]]
}

fn overlap(a: &Bounds, b: &Bounds) -> bool {
    (0..2).all(|axis| a[0][axis] <= b[1][axis] && b[0][axis] <= a[1][axis])
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    math::hypot(b[0] - a[0], b[1] - a[1])
}

/// What each point states, linear between points that state it, the nearest of them beyond, else the default.
fn stated(curve: &Curve, chords: &[f64]) -> Vec<Values> {
    let fill = |f: fn(&ControlPoint) -> Option<f64>, default: f64| -> Vec<f64> {
        let known: Vec<usize> = (0..curve.points.len()).filter(|&i| f(&curve.points[i]).is_some()).collect();
        let value = |i: usize| f(&curve.points[i]).unwrap_or(default);
        (0..curve.points.len())
            .map(|i| {
                let next = known.partition_point(|&k| k < i);
                match (next.checked_sub(1).map(|k| known[k]), known.get(next).copied()) {
                    (_, Some(k)) if k == i => value(i),
                    (Some(a), Some(b)) => {
                        let part: f64 = chords[a..i].iter().sum();
                        let whole: f64 = chords[a..b].iter().sum();
                        value(a) + (value(b) - value(a)) * part / whole
                    }
                    // Round a closed curve the last that states it is followed by the first.
                    (Some(a), None) | (None, Some(a)) if !curve.closed || known.len() < 2 => value(a),
                    (Some(_), None) | (None, Some(_)) => {
                        let (a, b) = (known[known.len() - 1], known[0]);
                        let from = |i: usize| -> f64 {
                            if i >= a {
                                chords[a..i].iter().sum()
                            } else {
                                chords[a..].iter().sum::<f64>() + chords[..i].iter().sum::<f64>()
                            }
                        };
                        value(a) + (value(b) - value(a)) * from(i) / from(b)
                    }
                    (None, None) => default,
                }
            })
            .collect()
    };
    let plateau = fill(|p| p.plateau_m, 0.0);
    let slope = [fill(|p| p.slope_left_m, 0.0), fill(|p| p.slope_right_m, 0.0)];
    let angle = [fill(|p| p.slope_left_deg, 30.0), fill(|p| p.slope_right_deg, 30.0)];
    let envelope = [fill(|p| p.envelope_left_m, 300.0), fill(|p| p.envelope_right_m, 300.0)];
    let noise = fill(|p| p.noise_m, 0.0);
    let roughness = fill(|p| p.roughness, 0.5);
    (0..curve.points.len())
        .map(|i| Values {
            plateau: 0.5 * plateau[i],
            slope: [slope[0][i], slope[1][i]],
            grade: [0, 1].map(|side| math::tan(angle[side][i].to_radians())),
            envelope: [envelope[0][i], envelope[1][i]],
            noise: noise[i],
            roughness: roughness[i],
            ..Values::default()
        })
        .collect()
}

/// How fast a value changes at each point: as the parabola through it and both neighbours does. Where one neighbour is
/// missing the piece to the other is quadratic; with no neighbour at all it is nought.
fn tangents(values: &[Option<f64>], knots: &[f64], closed: bool) -> Vec<f64> {
    let n = values.len();
    let before = |i: usize| if i > 0 { Some(i - 1) } else { closed.then_some(n - 1) };
    let piece = |i: usize| -> Option<f64> {
        // The change from point i to the next; `None` where either is free or the curve ends.
        let (from, h) = (values[i]?, *knots.get(i)?);
        Some((values[(i + 1) % n]? - from) / h)
    };
    let inner: Vec<Option<f64>> = (0..n)
        .map(|i| {
            let b = before(i)?;
            let (a, c) = (piece(b)?, piece(i)?);
            Some((a * knots[i] + c * knots[b]) / (knots[i] + knots[b]))
        })
        .collect();
    (0..n)
        .map(|i| {
            let ahead = piece(i).map(|c| inner[(i + 1) % n].map_or(c, |m| 2.0 * c - m));
            let behind = || before(i).and_then(|b| piece(b).map(|a| inner[b].map_or(a, |m| 2.0 * a - m)));
            inner[i].or(ahead).or_else(behind).unwrap_or_default()
        })
        .collect()
}

/// A cubic over 0..1 by its ends and the changes there.
struct Cubic([f64; 4], f64);

impl Cubic {
    fn new(ends: [f64; 2], slopes: [f64; 2], h: f64) -> Self {
        let [a, b] = ends;
        let [m, k] = slopes.map(|slope| slope * h);
        Self([a, m, 3.0 * (b - a) - 2.0 * m - k, 2.0 * (a - b) + m + k], h)
    }

    fn at(&self, t: f64) -> f64 {
        let [a, b, c, d] = self.0;
        a + t * (b + t * (c + t * d))
    }

    fn speed(&self, t: f64) -> f64 {
        let [_, b, c, d] = self.0;
        (b + t * (2.0 * c + t * 3.0 * d)) / self.1
    }

    fn force(&self, t: f64) -> f64 {
        let [_, _, c, d] = self.0;
        (2.0 * c + 6.0 * t * d) / (self.1 * self.1)
    }
}

/// Into how many straight bits a piece is cut.
fn bits(x: &Cubic, y: &Cubic) -> usize {
    const PROBES: usize = 32;
    let way = |i: usize| {
        let t = i as f64 / PROBES as f64;
        [x.speed(t), y.speed(t)]
    };
    let turn: f64 = (0..PROBES)
        .map(|i| {
            let (a, b) = (way(i), way(i + 1));
            math::atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]).abs()
        })
        .sum();
    ((turn.to_degrees() / TURN_DEG).ceil() as usize).clamp(BITS.0, BITS.1)
}
