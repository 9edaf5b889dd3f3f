//! Rivers: a level, a bed, and both fall from point to point.

use orogen_core::param::{Fault, Segment};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fractal::Grain;
use super::lines::Profile;
use super::spline::{Spline, Values};
use super::trace::Trace;
use super::{half, one};

/// A point of a river; points run downstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RiverPoint {
    /// Easting.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub x_m: f64,
    /// Northing.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub y_m: f64,
    /// Height of the banks above sea level; when left out, it follows from the points around.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 3000.0]))]
    pub z_m: Option<f64>,
    /// From bank to bank.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1e-3, max = 1e5), extend("x-unit" = "m", "x-slider" = [1.0, 300.0]))]
    pub width_m: f64,
    /// Depth of the bed below the banks, in the middle.
    #[serde(default = "three")]
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [0.0, 30.0]))]
    pub depth_m: f64,
    /// Width of the land on either side that is brought to the level of the banks; that of the whole river when left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub bank_m: Option<f64>,
}

/// A river: a wide cubic brings the land to the level of the banks, a narrow one carves the bed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct River {
    /// Its name, by which it can be changed later; also the seed of its valley.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Its course, from the spring downstream.
    #[schemars(length(min = 2, max = 10_000))]
    pub points: Vec<RiverPoint>,
    /// Width of the land on either side that is brought to the level of the banks, unless its points say otherwise.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub bank_m: f64,
    /// Fall upstream of the first point with a height and downstream of the last one.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "%", "x-slider" = [0.0, 5.0]))]
    pub fall_pct: f64,
    /// How far the edges of its valley wander: 0 is smooth.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub roughness: f64,
    /// How much of its effect is applied.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub strength: f64,
    /// Whether later steps keep it.
    #[serde(default)]
    pub hold: bool,
}

fn twenty() -> f64 {
    20.0
}

fn three() -> f64 {
    3.0
}

fn hundred() -> f64 {
    100.0
}

impl RiverPoint {
    /// A point whose height follows from the others.
    #[must_use]
    pub fn new(at_m: [f64; 2], width_m: f64, depth_m: f64) -> Self {
        Self { x_m: at_m[0], y_m: at_m[1], z_m: None, width_m, depth_m, bank_m: None }
    }

    /// The same at a height.
    #[must_use]
    pub fn at_height(mut self, z_m: f64) -> Self {
        self.z_m = Some(z_m);
        self
    }
}

impl River {
    /// A river along points, given from the spring downstream.
    #[must_use]
    pub fn new(points: Vec<RiverPoint>) -> Self {
        Self {
            name: None,
            points,
            bank_m: hundred(),
            fall_pct: half(),
            roughness: half(),
            strength: one(),
            hold: false,
        }
    }

    /// Least half width.
    pub(super) fn narrowest_m(&self) -> f64 {
        0.5 * self.points.iter().map(|p| p.width_m).fold(f64::INFINITY, f64::min)
    }

    fn bank_at(&self, point: &RiverPoint) -> f64 {
        point.bank_m.unwrap_or(self.bank_m)
    }

    /// How far from its line it acts at most.
    pub(super) fn reach_m(&self) -> f64 {
        let widest = |f: &dyn Fn(&RiverPoint) -> f64| self.points.iter().map(f).fold(0.0, f64::max);
        0.5 * widest(&|p| p.width_m) + widest(&|p| self.bank_at(p))
    }

    fn spline(&self) -> Spline {
        let points: Vec<[f64; 2]> = self.points.iter().map(|p| [p.x_m, p.y_m]).collect();
        Spline::new(&points, 0.02 * self.narrowest_m())
    }

    /// Height of the banks at each point, given how far along the river the points are.
    fn levels(&self, lengths: &[f64]) -> Vec<f64> {
        let fall = 0.01 * self.fall_pct;
        let given: Vec<(f64, f64)> =
            self.points.iter().zip(lengths).filter_map(|(point, s)| point.z_m.map(|z| (*s, z))).collect();
        let mut passed = 0usize;
        let mut level = |(point, s): (&RiverPoint, &f64)| {
            if let Some(z) = point.z_m {
                passed += 1;
                return z;
            }
            match (passed.checked_sub(1).map(|k| given[k]), given.get(passed)) {
                (Some((a, high)), Some((b, low))) if *b > a => high + (low - high) * (s - a) / (b - a),
                (Some((a, z)), _) => z - fall * (s - a),
                (None, Some((b, z))) => z + fall * (b - s),
                (None, None) => 0.0,
            }
        };
        self.points.iter().zip(lengths).map(&mut level).collect()
    }

    pub(super) fn ready(&self, grain: Grain) -> Box<Trace> {
        let mut spline = self.spline();
        let levels = self.levels(spline.lengths());
        let values: Vec<Values> = (self.points.iter().zip(&levels))
            .map(|(point, level)| [*level, level - point.depth_m, 0.5 * point.width_m, self.bank_at(point)])
            .collect();
        let floor = 0.5 * self.narrowest_m();
        spline.carry(&values, floor);
        let at = self.points.first().map_or([0.0; 2], |p| [p.x_m, p.y_m]);
        Box::new(Trace::new(
            spline,
            at,
            self.reach_m(),
            floor,
            self.strength,
            self.roughness,
            grain,
            Profile::River,
        ))
    }

    /// What is wrong with its heights.
    pub(super) fn faults(&self, number: usize) -> Vec<Fault> {
        let fault = |point: Option<(usize, &str)>, message: String| {
            let mut path =
                vec![Segment::Key("features".into()), Segment::Index(number), Segment::Key("points".into())];
            if let Some((i, field)) = point {
                path.extend([Segment::Index(i), Segment::Key(field.to_owned())]);
            }
            Fault { path, message }
        };
        let given: Vec<(usize, f64)> =
            self.points.iter().enumerate().filter_map(|(i, p)| p.z_m.map(|z| (i, z))).collect();
        if given.is_empty() {
            let message = "at least one point of a river needs \"z_m\", the height of its banks";
            return vec![fault(None, message.to_owned())];
        }
        let mut faults: Vec<Fault> = given
            .windows(2)
            .filter(|pair| pair[1].1 > pair[0].1)
            .map(|pair| {
                let ((_, above), (i, z)) = (pair[0], pair[1]);
                let message =
                    format!("{z:?} is above the {above:?} m of the point before; points run downstream");
                fault(Some((i, "z_m")), message)
            })
            .collect();
        if faults.is_empty() {
            let levels = self.levels(self.spline().lengths());
            let bed = |i: usize| levels[i] - self.points[i].depth_m;
            faults.extend((1..self.points.len()).filter(|&i| bed(i) > bed(i - 1) + 1e-9).map(|i| {
                let message = format!(
                    "with {:?} the bed would rise downstream; give {:.3} m or more",
                    self.points[i].depth_m,
                    levels[i] - bed(i - 1)
                );
                fault(Some((i, "depth_m")), message)
            }));
        }
        faults
    }
}
