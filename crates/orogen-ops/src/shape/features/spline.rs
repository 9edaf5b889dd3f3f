//! Smooth lines through points: centripetal Catmull-Rom curves, how far they are, and what they carry.
//!
//! A curve is cut into arcs so short that each hardly bends. The nearest place of one arc is a matter of its two ends and
//! of at most one root between them, which a Newton step kept inside a shrinking bracket always finds; the nearest place
//! of the curve is the best of all arcs nearby. Nothing depends on a lucky first guess.
//!
//! Inside a hairpin two branches may be equally near. The plain distance has a crease there, and what the curve carries
//! (a level, say) jumps from one branch to the other. Both are smoothed by a mean over all of the curve that is nearly as
//! near as the nearest place, see [`Spline::near`].

use orogen_core::Rect;

/// Numbers that a curve carries along.
pub const CARRIED: usize = 4;
/// What a curve carries at a place.
pub type Values = [f64; CARRIED];

/// Cosine of the most that the legs of an arc's control polygon turn: 10 degrees.
const STRAIGHT: f64 = 0.985;
/// An arc is halved at most so often.
const DEEPEST: u32 = 9;
/// Arcs between two points at least, so that what is carried is smooth too.
const ARCS: u32 = 8;

/// A short piece that hardly bends.
#[derive(Clone, Debug)]
pub struct Arc {
    /// The cubic: `c[0] + t·(c[1] + t·(c[2] + t·c[3]))`, from a place near the curve.
    pub c: [[f64; 2]; 4],
    /// Start of its chord.
    pub from: [f64; 2],
    /// Direction of the chord.
    pub along: [f64; 2],
    /// Length of the chord.
    pub length: f64,
    /// How far the arc is from its chord at most.
    bow: f64,
    /// Box around it.
    min: [f64; 2],
    max: [f64; 2],
    /// What is carried at the start.
    pub values: Values,
    /// How that rises a metre.
    pub rise: Values,
    /// Length of the curve up to here.
    start: f64,
}

/// A curve with what it carries.
#[derive(Clone, Debug)]
pub struct Spline {
    /// What positions are counted from.
    pub origin: [f64; 2],
    /// Its pieces.
    pub arcs: Vec<Arc>,
    /// Straight on beyond both ends, for the mean only.
    pub beyond: [Arc; 2],
    /// Length of the curve up to each point.
    lengths: Vec<f64>,
    /// Farthest that an arc is from its chord.
    pub bow: f64,
}

/// What is near a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// Distance, smooth where branches meet.
    pub distance: f64,
    /// What the curve carries there.
    pub values: Values,
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct NearestBuffers {
    /// Arc and squared distance to its chord.
    chords: Vec<(u32, f64)>,
}

fn sub(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

fn along(a: [f64; 2], b: [f64; 2], by: f64) -> [f64; 2] {
    [a[0] + by * b[0], a[1] + by * b[1]]
}

impl Spline {
    /// A curve through points; points that coincide with the one before count once. Lengths below `fine_m` are not
    /// cut further.
    pub(super) fn new(points: &[[f64; 2]], fine_m: f64) -> Self {
        let origin = points.first().copied().unwrap_or_default();
        let mut places: Vec<[f64; 2]> = Vec::with_capacity(points.len());
        let mut which = Vec::with_capacity(points.len());
        for point in points {
            let place = sub(*point, origin);
            if places.last().is_none_or(|last| dot(sub(place, *last), sub(place, *last)) > 1e-12) {
                places.push(place);
            }
            which.push(places.len() - 1);
        }
        let mut spline = Self {
            origin,
            arcs: Vec::new(),
            beyond: [Arc::of([[0.0; 2]; 4]), Arc::of([[0.0; 2]; 4])],
            lengths: Vec::new(),
            bow: 0.0,
        };
        let mut knots = vec![0.0];
        for cubic in segments(&places) {
            for part in 0..ARCS {
                let (a, b) = (f64::from(part) / f64::from(ARCS), f64::from(part + 1) / f64::from(ARCS));
                spline.cut(cut_out(cubic, a, b), DEEPEST, fine_m);
            }
            knots.push(spline.length());
        }
        if spline.arcs.is_empty() {
            spline.arcs.push(Arc::of([[0.0; 2]; 4]));
        }
        spline.lengths = which.into_iter().map(|i| knots[i]).collect();
        spline.bow = spline.arcs.iter().map(|arc| arc.bow).fold(0.0, f64::max);
        spline
    }

    /// Cuts a cubic (control points) into arcs that hardly bend, and adds them.
    fn cut(&mut self, b: [[f64; 2]; 4], deep: u32, fine_m: f64) {
        let legs = [sub(b[1], b[0]), sub(b[2], b[1]), sub(b[3], b[2])];
        let lengths = legs.map(|leg| dot(leg, leg).sqrt());
        let fine = lengths.iter().sum::<f64>() < fine_m;
        let straight = |i: usize, j: usize| dot(legs[i], legs[j]) >= STRAIGHT * lengths[i] * lengths[j];
        if deep == 0 || fine || (straight(0, 1) && straight(1, 2) && straight(0, 2)) {
            let mut arc = Arc::of(b);
            arc.start = self.length();
            self.arcs.push(arc);
            return;
        }
        self.cut(cut_out(b, 0.0, 0.5), deep - 1, fine_m);
        self.cut(cut_out(b, 0.5, 1.0), deep - 1, fine_m);
    }

    /// Length of the curve.
    pub(super) fn length(&self) -> f64 {
        self.arcs.last().map_or(0.0, |arc| arc.start + arc.length)
    }

    /// Length of the curve up to each of its points.
    pub(super) fn lengths(&self) -> &[f64] {
        &self.lengths
    }

    /// Sets what the curve carries at its points. In between it neither overshoots nor turns back: where two points
    /// descend, so does everything between them. `beyond_m` is how far the mean looks past both ends.
    pub(super) fn carry(&mut self, values: &[Values], beyond_m: f64) {
        let mut at: Vec<(f64, Values)> = Vec::with_capacity(values.len());
        for (&length, &values) in self.lengths.iter().zip(values) {
            if at.last().is_none_or(|last| length > last.0) {
                at.push((length, values));
            }
        }
        let curves: [Monotone; CARRIED] =
            std::array::from_fn(|k| Monotone::new(at.iter().map(|(length, values)| (*length, values[k]))));
        let value = |length: f64| -> Values { std::array::from_fn(|k| curves[k].at(length)) };
        for arc in &mut self.arcs {
            let (a, b) = (value(arc.start), value(arc.start + arc.length));
            arc.values = a;
            arc.rise =
                std::array::from_fn(|k| if arc.length > 0.0 { (b[k] - a[k]) / arc.length } else { 0.0 });
        }
        let (first, last) = (self.arcs[0].clone(), self.arcs[self.arcs.len() - 1].clone());
        let start = along(first.from, first.along, -beyond_m);
        let end = along(last.from, last.along, last.length);
        self.beyond = [
            Arc {
                from: start,
                length: beyond_m,
                values: std::array::from_fn(|k| first.values[k] - beyond_m * first.rise[k]),
                ..first
            },
            Arc {
                from: end,
                length: beyond_m,
                values: std::array::from_fn(|k| last.values[k] + last.length * last.rise[k]),
                ..last
            },
        ];
    }

    /// Number of arcs.
    pub(super) fn len(&self) -> usize {
        self.arcs.len()
    }

    /// The box around an arc.
    pub fn bounds(&self, arc: usize) -> Rect {
        let Arc { min, max, .. } = self.arcs[arc];
        Rect {
            min: [min[0] + self.origin[0], min[1] + self.origin[1]],
            max: [max[0] + self.origin[0], max[1] + self.origin[1]],
        }
    }

    /// The ends of all arcs in turn, with what is carried there.
    pub(super) fn vertices(&self) -> impl Iterator<Item = ([f64; 2], Values)> + '_ {
        let end = self.arcs.last().map(|arc| {
            let values = std::array::from_fn(|k| arc.values[k] + arc.length * arc.rise[k]);
            (along(arc.from, arc.along, arc.length), values)
        });
        let starts = self.arcs.iter().map(|arc| (arc.from, arc.values));
        starts.chain(end).map(|([x, y], values)| ([x + self.origin[0], y + self.origin[1]], values))
    }

    /// Squared distance of the nearest place of the arcs named, and the length of the curve up to it.
    fn nearest(&self, at: [f64; 2], chords: &[(u32, f64)]) -> (f64, f64) {
        let nearest_chord = chords.iter().fold(f64::INFINITY, |best, (_, distance2)| best.min(*distance2));
        // The curve is no further from its chords than it bows.
        let within = (nearest_chord.sqrt() + 2.0 * self.bow) * (1.0 + 1e-9);
        let mut best = (f64::INFINITY, 0.0);
        for &(k, distance2) in chords {
            if distance2 <= within * within {
                let arc = &self.arcs[k as usize];
                let (distance2, t) = arc.nearest(at);
                if distance2 < best.0 {
                    best = (distance2, arc.start + t * arc.length);
                }
            }
        }
        best
    }

    /// What is near a place no further than `reach` from the curve, looking at the arcs named: all that come within
    /// `reach` of it, others do no harm. `None` when the curve is further.
    ///
    /// With m the distance of the nearest place and d(s) that of any place s, the mean of what is carried is taken with
    ///
    /// ```text
    /// K(s) = (1 − (d² − m²)/κ²)²    where positive,    κ² = 3/4·m², at least floor², never past the reach
    /// ```
    ///
    /// so on the line it is what the line carries there, and across the middle of a hairpin it goes smoothly from one
    /// branch to the other. A straight line has ∫K = 16/15·κ; two branches equally near have twice that. By this excess
    /// the distance itself is made smooth: `D² = m² − E·(15/16·∫K/κ − 1)` has no crease between two straight
    /// branches, is m wherever there is one, and is not below m at the reach.
    pub(super) fn near(
        &self,
        at: [f64; 2],
        arcs: &[u32],
        reach: f64,
        floor: f64,
        buffers: &mut NearestBuffers,
    ) -> Option<Near> {
        let at = sub(at, self.origin);
        let far2 = (reach + 2.0 * self.bow) * (reach + 2.0 * self.bow);
        buffers.chords.clear();
        for &k in arcs {
            let distance2 = self.arcs[k as usize].to_chord(at);
            if distance2 <= far2 {
                buffers.chords.push((k, distance2));
            }
        }
        let (near2, length) = self.nearest(at, &buffers.chords);
        let reach2 = reach * reach;
        if near2.is_nan() || near2 >= reach2 {
            return None;
        }
        let chord2 = buffers.chords.iter().fold(f64::INFINITY, |best, (_, distance2)| best.min(*distance2));
        let kappa2 = (0.75 * chord2).max(floor * floor).min(reach2 - near2).max(1e-12 * reach2);
        let kappa = kappa2.sqrt();
        let mut sums = [0.0; CARRIED];
        // Adds the mean over a chord, and returns its weight.
        let mut add = |arc: &Arc| -> f64 {
            let way = sub(at, arc.from);
            let foot = dot(way, arc.along);
            let beside2 = dot(way, way) - foot * foot;
            let b = 1.0 - (beside2 - chord2) / kappa2;
            if b <= 0.0 {
                return 0.0;
            }
            let half = kappa * b.sqrt();
            let (low, high) = ((-foot).max(-half) / kappa, (arc.length - foot).min(half) / kappa);
            if high <= low {
                return 0.0;
            }
            // ∫(b − y²)² and ∫y(b − y²)², y in units of κ.
            let area = |y: f64| y * (b * b - y * y * (2.0 / 3.0 * b - 0.2 * y * y));
            let lever = |y: f64| -(b - y * y) * (b - y * y) * (b - y * y) / 6.0;
            let weight = area(high) - area(low);
            let turn = (lever(high) - lever(low)) * kappa;
            for k in 0..CARRIED {
                sums[k] += (arc.values[k] + foot * arc.rise[k]) * weight + arc.rise[k] * turn;
            }
            weight
        };
        let mut inside = 0.0;
        for &(k, distance2) in &buffers.chords {
            if distance2 < chord2 + kappa2 {
                inside += add(&self.arcs[k as usize]);
            }
        }
        let whole = inside + add(&self.beyond[0]) + add(&self.beyond[1]);
        let values = if whole > 1e-9 { sums.map(|sum| sum / whole) } else { self.carried(length) };
        let excess = (inside * (15.0 / 16.0) - 1.0).max(0.0);
        // One more branch is an excess of 1; what is beyond that counts less and less.
        let excess = if excess > 1.0 { 2.0 - 1.0 / excess } else { excess };
        let distance2 = near2 - crease(kappa2, reach2 - near2, reach2) * excess;
        Some(Near { distance: distance2.max(0.0).sqrt(), values })
    }

    /// What is carried at a length of the curve.
    pub(super) fn carried(&self, length: f64) -> Values {
        let k = self.arcs.partition_point(|arc| arc.start <= length).saturating_sub(1);
        let arc = &self.arcs[k];
        std::array::from_fn(|i| arc.values[i] + (length - arc.start).clamp(0.0, arc.length) * arc.rise[i])
    }

    /// Distance to the nearest place of the whole curve, and the length of the curve up to it.
    #[cfg(test)]
    pub(super) fn closest(&self, at: [f64; 2]) -> (f64, f64) {
        let at = sub(at, self.origin);
        let chords: Vec<(u32, f64)> =
            self.arcs.iter().enumerate().map(|(k, arc)| (k as u32, arc.to_chord(at))).collect();
        let (distance2, length) = self.nearest(at, &chords);
        (distance2.sqrt(), length)
    }

    /// Many places of the curve in turn.
    #[cfg(test)]
    pub(super) fn dense(&self, each: u32) -> Vec<[f64; 2]> {
        let places = self.arcs.iter().flat_map(|arc| {
            (0..=each).map(move |i| {
                let [x, y] = arc.at(f64::from(i) / f64::from(each));
                [x, y]
            })
        });
        places.map(|[x, y]| [x + self.origin[0], y + self.origin[1]]).collect()
    }
}

impl Arc {
    /// The arc of a cubic given by its control points.
    fn of(b: [[f64; 2]; 4]) -> Self {
        let chord = sub(b[3], b[0]);
        let length = dot(chord, chord).sqrt();
        let direction = if length > 0.0 { chord.map(|v| v / length) } else { [1.0, 0.0] };
        let of =
            |f: fn(f64, f64) -> f64, axis: usize| f(f(b[0][axis], b[1][axis]), f(b[2][axis], b[3][axis]));
        let mut arc = Self {
            c: [
                b[0],
                [0, 1].map(|i| 3.0 * (b[1][i] - b[0][i])),
                [0, 1].map(|i| 3.0 * (b[0][i] - 2.0 * b[1][i] + b[2][i])),
                [0, 1].map(|i| b[3][i] - b[0][i] + 3.0 * (b[1][i] - b[2][i])),
            ],
            from: b[0],
            along: direction,
            length,
            bow: 0.0,
            min: [of(f64::min, 0), of(f64::min, 1)],
            max: [of(f64::max, 0), of(f64::max, 1)],
            values: [0.0; CARRIED],
            rise: [0.0; CARRIED],
            start: 0.0,
        };
        // A cubic lies in the hull of its control points.
        arc.bow = arc.to_chord(b[1]).max(arc.to_chord(b[2])).sqrt();
        arc
    }

    /// Squared distance to the chord.
    #[inline]
    fn to_chord(&self, at: [f64; 2]) -> f64 {
        let way = sub(at, self.from);
        let foot = dot(way, self.along).clamp(0.0, self.length);
        let rest = along(way, self.along, -foot);
        dot(rest, rest)
    }

    #[inline]
    fn at(&self, t: f64) -> [f64; 2] {
        [0, 1].map(|i| self.c[0][i] + t * (self.c[1][i] + t * (self.c[2][i] + t * self.c[3][i])))
    }

    /// Squared distance of the nearest place, and where on the arc it is.
    fn nearest(&self, at: [f64; 2]) -> (f64, f64) {
        let offset = |t: f64| sub(self.at(t), at);
        let slope = |t: f64| [0, 1].map(|i| self.c[1][i] + t * (2.0 * self.c[2][i] + t * 3.0 * self.c[3][i]));
        let bend = |t: f64| [0, 1].map(|i| 2.0 * self.c[2][i] + t * 6.0 * self.c[3][i]);
        let [start, end] = [offset(0.0), offset(1.0)];
        let mut best = (dot(start, start), 0.0);
        if dot(end, end) < best.0 {
            best = (dot(end, end), 1.0);
        }
        // Where the curve turns back on the spot it has no direction; its chord has one.
        let direction = |t: f64| {
            let slope = slope(t);
            if dot(slope, slope) > 1e-6 * self.length * self.length { slope } else { self.along }
        };
        // The distance falls from the start and rises to the end: in between it is least.
        if dot(start, direction(0.0)) < 0.0 && dot(end, direction(1.0)) > 0.0 {
            let way = sub(at, self.from);
            let mut t = (dot(way, self.along) / self.length.max(1e-300)).clamp(0.0, 1.0);
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                let (r, v) = (offset(t), slope(t));
                let f = dot(r, v);
                if f < 0.0 {
                    low = t;
                } else {
                    high = t;
                }
                let steep = dot(v, v) + dot(r, bend(t));
                let mut next = t - f / steep;
                if !(next > low && next < high) {
                    next = 0.5 * (low + high);
                }
                let step = (next - t).abs();
                t = next;
                if step < 1e-9 {
                    break;
                }
            }
            let r = offset(t);
            if dot(r, r) < best.0 {
                best = (dot(r, r), t);
            }
        }
        best
    }
}

/// What an excess of one more branch takes from the squared distance. Along the middle of two straight branches m² has a
/// crease of slope 1/2, and no crease is left where `dE/dm² = 1 − 5·E/κ²`. That is E = 4/23·κ² as long as κ² = 3/4·m², and
/// from there to the reach, where κ² = y is what is `left` to the squared reach, y/4 − A·y⁵ that joins it.
#[inline]
fn crease(kappa2: f64, left: f64, reach2: f64) -> f64 {
    let share = left / (3.0 / 7.0 * reach2);
    if share >= 1.0 {
        return 4.0 / 23.0 * kappa2;
    }
    let share2 = share * share;
    (0.25 - 7.0 / 92.0 * share2 * share2) * kappa2
}

/// The control points of the cubics of a centripetal Catmull-Rom curve; at both ends it runs out straight.
fn segments(places: &[[f64; 2]]) -> Vec<[[f64; 2]; 4]> {
    let count = places.len();
    if count < 2 {
        return Vec::new();
    }
    let mirrored = |a: [f64; 2], b: [f64; 2]| [2.0 * a[0] - b[0], 2.0 * a[1] - b[1]];
    let place = |i: isize| -> [f64; 2] {
        if i < 0 {
            mirrored(places[0], places[1])
        } else if i as usize >= count {
            mirrored(places[count - 1], places[count - 2])
        } else {
            places[i as usize]
        }
    };
    (0..count as isize - 1)
        .map(|i| {
            let p = [place(i - 1), place(i), place(i + 1), place(i + 2)];
            // Knots apart by the root of the distance: no cusp and no loop between two points.
            let knot = |a: [f64; 2], b: [f64; 2]| dot(sub(b, a), sub(b, a)).sqrt().sqrt().max(1e-9);
            let [ta, tb, tc] = [knot(p[0], p[1]), knot(p[1], p[2]), knot(p[2], p[3])];
            let tangent = |k: usize, before: f64, after: f64| {
                [0, 1].map(|axis| {
                    let (a, b, c) = (p[k - 1][axis], p[k][axis], p[k + 1][axis]);
                    tb * ((b - a) / before - (c - a) / (before + after) + (c - b) / after)
                })
            };
            let (start, end) = (tangent(1, ta, tb), tangent(2, tb, tc));
            [p[1], along(p[1], start, 1.0 / 3.0), along(p[2], end, -1.0 / 3.0), p[2]]
        })
        .collect()
}

/// The part of a cubic (control points) between two of its parameters.
fn cut_out(b: [[f64; 2]; 4], from: f64, to: f64) -> [[f64; 2]; 4] {
    let blossom = |x: f64, y: f64, z: f64| {
        let mix = |a: [f64; 2], b: [f64; 2], t: f64| [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
        let once = [mix(b[0], b[1], x), mix(b[1], b[2], x), mix(b[2], b[3], x)];
        let twice = [mix(once[0], once[1], y), mix(once[1], once[2], y)];
        mix(twice[0], twice[1], z)
    };
    let mut part =
        [blossom(from, from, from), blossom(from, from, to), blossom(from, to, to), blossom(to, to, to)];
    // Both ends of the whole stay what they are, to the bit.
    if from == 0.0 {
        part[0] = b[0];
    }
    if to == 1.0 {
        part[3] = b[3];
    }
    part
}

/// A smooth curve through values that never overshoots them.
struct Monotone {
    /// Place, value and slope.
    knots: Vec<[f64; 3]>,
}

impl Monotone {
    /// Through (place, value), places rising.
    fn new(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut knots: Vec<[f64; 3]> = points.map(|(x, y)| [x, y, 0.0]).collect();
        let count = knots.len();
        let grade = |k: &[[f64; 3]], i: usize| (k[i + 1][1] - k[i][1]) / (k[i + 1][0] - k[i][0]);
        for i in 0..count {
            knots[i][2] = match (i.checked_sub(1), i + 1 < count) {
                (None, false) => 0.0,
                (None, true) => grade(&knots, i),
                (Some(before), false) => grade(&knots, before),
                (Some(before), true) => {
                    let (a, b) = (grade(&knots, before), grade(&knots, i));
                    if a * b <= 0.0 {
                        0.0
                    } else {
                        let (wide, far) = (knots[i][0] - knots[before][0], knots[i + 1][0] - knots[i][0]);
                        let (u, v) = (2.0 * far + wide, far + 2.0 * wide);
                        (u + v) / (u / a + v / b)
                    }
                }
            };
        }
        Self { knots }
    }

    fn at(&self, x: f64) -> f64 {
        let next = self.knots.partition_point(|knot| knot[0] <= x);
        if next == 0 || next == self.knots.len() {
            return self.knots.get(next.saturating_sub(1)).map_or(0.0, |knot| knot[1]);
        }
        let ([x0, y0, m0], [x1, y1, m1]) = (self.knots[next - 1], self.knots[next]);
        let wide = x1 - x0;
        let t = (x - x0) / wide;
        let rise = t * t * (3.0 - 2.0 * t);
        let value = y0 + rise * (y1 - y0) + wide * t * (1.0 - t) * ((1.0 - t) * m0 - t * m1);
        value.clamp(y0.min(y1), y0.max(y1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Seed;

    /// A hairpin, a loop that crosses itself, a way back over itself, a zigzag and a spiral.
    pub(super) fn curves() -> Vec<Vec<[f64; 2]>> {
        vec![
            vec![[0.0, 0.0], [400.0, 10.0], [430.0, 40.0], [400.0, 70.0], [0.0, 80.0]],
            vec![[0.0, 0.0], [300.0, 0.0], [300.0, 200.0], [150.0, 200.0], [150.0, -200.0]],
            vec![[0.0, 0.0], [200.0, 50.0], [0.0, 0.0]],
            vec![
                [0.0, 0.0],
                [100.0, 5.0],
                [10.0, 10.0],
                [120.0, 15.0],
                [12.0, 20.0],
                [12.0, 20.0],
                [300.0, 21.0],
            ],
            vec![
                [0.0, 0.0],
                [40.0, 0.0],
                [40.0, 60.0],
                [-50.0, 60.0],
                [-50.0, -70.0],
                [90.0, -70.0],
                [90.0, 150.0],
            ],
        ]
    }

    #[test]
    fn the_nearest_place_is_that_of_dense_sampling() {
        for (number, points) in curves().iter().enumerate() {
            let spline = Spline::new(points, 0.01);
            let dense = spline.dense(512);
            let seed = Seed(number as u64);
            for i in 0..600 {
                let at = [-150.0 + 700.0 * seed.unit(2 * i), -250.0 + 500.0 * seed.unit(2 * i + 1)];
                let (distance, _) = spline.closest(at);
                let sampled =
                    dense.iter().map(|p| dot(sub(*p, at), sub(*p, at)).sqrt()).fold(f64::INFINITY, f64::min);
                // Dense places are at most so far from the nearest one; none may be nearer.
                assert!(
                    distance <= sampled + 1e-6,
                    "curve {number} at {at:?}: {distance}, sampled {sampled}"
                );
                assert!(
                    distance >= sampled - 0.15,
                    "curve {number} at {at:?}: {distance}, sampled {sampled}"
                );
            }
        }
    }

    #[test]
    fn the_curve_passes_through_its_points_and_arcs_join() {
        for points in curves() {
            let spline = Spline::new(&points, 0.01);
            for point in &points {
                assert!(spline.closest(*point).0 < 1e-6, "{point:?}");
            }
            for pair in spline.arcs.windows(2) {
                assert_eq!(pair[0].at(0.0), pair[0].from);
                let gap = sub(pair[0].at(1.0), pair[1].from);
                assert!(dot(gap, gap).sqrt() < 1e-9);
                assert!(pair[0].bow <= 0.1 * pair[0].length + 0.01, "{} of {}", pair[0].bow, pair[0].length);
            }
        }
    }

    #[test]
    fn a_single_place_and_coincident_points_are_dots() {
        for points in [vec![[5.0, 6.0]], vec![[5.0, 6.0]; 4]] {
            let mut spline = Spline::new(&points, 0.1);
            spline.carry(&vec![[1.0, 2.0, 3.0, 4.0]; points.len()], 1.0);
            assert!((spline.closest([8.0, 10.0]).0 - 5.0).abs() < 1e-12);
            let near = spline.near([8.0, 10.0], &[0], 20.0, 1.0, &mut NearestBuffers::default()).unwrap();
            assert!((near.distance - 5.0).abs() < 1e-9);
            assert!((near.values[2] - 3.0).abs() < 1e-9, "{:?}", near.values);
        }
    }

    #[test]
    fn a_straight_line_keeps_its_distance_and_what_it_carries() {
        let mut spline = Spline::new(&[[0.0, 0.0], [100.0, 0.0], [250.0, 0.0]], 0.1);
        spline.carry(&[[10.0; 4], [8.0; 4], [5.0; 4]], 4.0);
        let all: Vec<u32> = (0..spline.len() as u32).collect();
        let mut buffers = NearestBuffers::default();
        for (x, y) in [(60.0, 20.0), (120.0, -33.0), (150.0, 0.0)] {
            let near = spline.near([x, y], &all, 80.0, 4.0, &mut buffers).unwrap();
            assert!((near.distance - f64::abs(y)).abs() < 1e-9, "{near:?}");
            assert!((near.values[0] - (10.0 - 0.02 * x)).abs() < 1e-6, "{near:?} at {x}");
        }
        // Both ends have exactly what was asked.
        for (x, z) in [(0.0, 10.0), (100.0, 8.0), (250.0, 5.0)] {
            let near = spline.near([x, 0.0], &all, 80.0, 4.0, &mut buffers).unwrap();
            assert!((near.values[0] - z).abs() < 1e-6, "{near:?} at {x}");
        }
        assert!(spline.near([60.0, 80.0], &all, 80.0, 4.0, &mut buffers).is_none());
    }

    #[test]
    fn the_middle_of_a_hairpin_has_neither_jump_nor_crease() {
        let mut spline =
            Spline::new(&[[0.0, 50.0], [600.0, 50.0], [650.0, 0.0], [600.0, -50.0], [0.0, -50.0]], 0.1);
        spline.carry(&[[50.0; 4], [40.0; 4], [39.0; 4], [38.0; 4], [20.0; 4]], 2.0);
        let all: Vec<u32> = (0..spline.len() as u32).collect();
        let mut buffers = NearestBuffers::default();
        let mut at = |y: f64| spline.near([100.0, y], &all, 120.0, 2.0, &mut buffers).unwrap();
        let step = 0.25;
        let (mut before, mut last): (Option<Near>, Option<f64>) = (None, None);
        for i in 0..=480 {
            let here = at(-60.0 + f64::from(i) * step);
            if let Some(before) = before {
                assert!((here.values[0] - before.values[0]).abs() < 2.0, "level jumps at {i}");
                let slope = (here.distance - before.distance) / step;
                let y = -60.0 + f64::from(i) * step;
                if let Some(last) = last
                    && y.abs() < 40.0
                {
                    assert!((slope - last).abs() < 0.1, "a crease of {} at {y}", slope - last);
                }
                last = Some(slope);
            }
            before = Some(here);
        }
        // On either line the level is its own.
        assert!((at(50.0).values[0] - at(-50.0).values[0]).abs() > 20.0);
    }

    #[test]
    fn what_descends_at_the_points_descends_between_them() {
        let curve =
            Monotone::new([(0.0, 9.0), (10.0, 9.0), (11.0, 2.0), (50.0, 1.9), (60.0, -4.0)].into_iter());
        let values: Vec<f64> = (0..=600).map(|i| curve.at(f64::from(i) * 0.1)).collect();
        assert!(values.windows(2).all(|pair| pair[1] <= pair[0]));
        assert_eq!((values[0], values[100], values[600]), (9.0, 9.0, -4.0));
    }
}
