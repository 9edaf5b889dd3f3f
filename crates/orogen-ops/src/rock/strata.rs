//! Strata: the beds that land is made of, how they lie, and what broke through them.

use orogen_core::param::{self, Segment};
use orogen_core::{Ctx, Frame, Layers, Op, OpError, Reach, Seed, Terrain};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beds::{self, Lay, Look, STRATA};

/// Says which rock the land is made of: a column of beds, folded, tilted and faulted, with plutons and dykes in it.
///
/// ```text
/// depth = top_m − dip · way + Σ folds + Σ faults − z        the bed at x, y, z is the one at that depth of the column
/// ```
///
/// Nothing is changed by this step: the beds travel with the land as the vector layer `strata`, and erosion that
/// follows asks for the rock it has come down to. `erode.stream_power` cuts a bed of hardness h `(1 − h)/h` times as fast as
/// middling rock (h = 0.5) and lets it stand as steep as its `talus_deg`; `erode.thermal`, `erode.musgrave`,
/// `erode.droplets`, `erode.pipes` and `erode.coast` take a bed of middling hardness for what their own `hardness` says, and
/// harder or softer ones for more or less. So hard beds come out as caps, benches, cuestas and hogbacks. `rock.outcrop`
/// gives the rock at the surface as layers.
///
/// Heights are those of today: where `erode.stream_power` lets land rise, the beds rise with it and come to lie at the end
/// as they are described here.
///
/// Beds are bent by upright shear: their thickness is measured upright and is the same on a limb as on a crest. Above the
/// column its first bed goes on, below it the last, unless it `repeats`. Without `beds` a column is drawn from the seed, hard
/// and soft in turn.
///
/// **Guarantees** (1) the rock at a place and height depends on the parameters, the seed and the world's extent alone, so
/// windows and other resolutions have the same; (2) without `variation` and `uneven_m`, folds have exactly their
/// wavelength, height and plunge, and dips their angle; (3) across the middle of a fault beds are exactly `throw_m` apart.
///
/// **Limits** Every erosion operator asks the beds as the surface falls through them: `erode.stream_power`, `thermal`, `musgrave`,
/// `droplets`, `pipes`, `coast`, `creep`, `glacier`, `detail`, and `wind` where it wears rock. `erode.alluvium` only lays and never
/// cuts rock. Faults and dykes stand upright, and no bed overturns. Dykes narrower than a sample may be missed. Beds
/// do not repeat over land that loops.
///
/// **After** the layers of Beneš & Forsbach, SCCG 2001, and the usual geometry of similar folds (Ramsay, *Folding and
/// Fracturing of Rocks*, 1967).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Strata {
    /// The beds from the top down; without any, they are drawn from the seed.
    #[schemars(length(max = 10_000))]
    pub beds: Vec<Bed>,
    /// Height of the top of the column in the middle of the world.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-500.0, 4000.0]))]
    pub top_m: f64,
    /// Whether the column comes again above and below itself.
    pub repeats: bool,
    /// How steeply beds go down.
    #[schemars(range(min = 0.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [0.0, 45.0]))]
    pub dip_deg: f64,
    /// The direction they go down to, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub dip_to_deg: f64,
    /// How far beds rise and fall by themselves.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub uneven_m: f64,
    /// Length of the largest of these waves.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [500.0, 50000.0]))]
    pub uneven_wavelength_m: f64,
    /// Waves that beds are thrown into; several add up.
    #[schemars(length(max = 100))]
    pub folds: Vec<Fold>,
    /// Breaks along which one side has moved down.
    #[schemars(length(max = 1000))]
    pub faults: Vec<Fault>,
    /// Domes of rock that rose into the beds.
    #[schemars(length(max = 1000))]
    pub plutons: Vec<Pluton>,
    /// Upright walls of rock that filled cracks.
    #[schemars(length(max = 1000))]
    pub dykes: Vec<Dyke>,
}

/// A layer of one kind of rock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bed {
    /// Its name.
    pub name: String,
    /// How thick it is, measured upright.
    #[schemars(range(min = 0.01, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [5.0, 500.0]))]
    pub thickness_m: f64,
    /// How hard it is, from 0 (as loose ground) over 0.5 (middling) to 1 (nothing wears it).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub hardness: f64,
    /// Steepest slope that stands in it.
    #[schemars(range(min = 1.0, max = 89.0), extend("x-unit" = "deg", "x-slider" = [20.0, 80.0]))]
    pub talus_deg: f64,
    /// Its colour, as `#rrggbb`.
    pub colour: String,
}

impl Default for Bed {
    fn default() -> Self {
        Self {
            name: String::new(),
            thickness_m: 100.0,
            hardness: 0.5,
            talus_deg: 40.0,
            colour: String::from("#a08f7c"),
        }
    }
}

/// Beds thrown into parallel waves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fold {
    /// Direction of the crest lines, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub axis_deg: f64,
    /// Distance from crest to crest.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [500.0, 30000.0]))]
    pub wavelength_m: f64,
    /// Half of the height from trough to crest.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 3000.0]))]
    pub amplitude_m: f64,
    /// How far to the right of the world's middle a crest lies, seen along the axis.
    #[schemars(range(min = -1e7, max = 1e7), extend("x-unit" = "m", "x-slider" = [-10000.0, 10000.0]))]
    pub offset_m: f64,
    /// How steeply crest lines go down along the axis.
    #[schemars(range(min = -80.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [-15.0, 15.0]))]
    pub plunge_deg: f64,
    /// How much steeper the right limb is than the left, seen along the axis; below 0 the left one is.
    #[schemars(range(min = -0.9, max = 0.9))]
    pub asymmetry: f64,
    /// How much crest lines bend, fade out and plunge by themselves; 0 leaves them straight.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.0, 1.0]))]
    pub variation: f64,
    /// How far a crest goes on before it bends or fades.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [5000.0, 100000.0]))]
    pub length_m: f64,
}

impl Default for Fold {
    fn default() -> Self {
        Self {
            axis_deg: 45.0,
            wavelength_m: 6000.0,
            amplitude_m: 600.0,
            offset_m: 0.0,
            plunge_deg: 0.0,
            asymmetry: 0.0,
            variation: 0.4,
            length_m: 30_000.0,
        }
    }
}

/// A place on the map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct At {
    /// Easting.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub x_m: f64,
    /// Northing.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub y_m: f64,
}

/// A break along which one side has moved down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The places that it runs through.
    #[schemars(length(min = 2, max = 1000))]
    pub points: Vec<At>,
    /// How far the right side, seen along the points, has moved down; below 0 it has moved up.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-1000.0, 1000.0]))]
    pub throw_m: f64,
    /// How far from the fault beds are moved, half up and half down, less and less also towards the ends of the fault; at 0 it goes
    /// on for ever and the whole right side has moved.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [0.0, 20000.0]))]
    pub reach_m: f64,
}

/// A dome of rock that rose into the beds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pluton {
    /// Easting of its middle.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub x_m: f64,
    /// Northing of its middle.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub y_m: f64,
    /// How far it reaches to the side.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [200.0, 10000.0]))]
    pub radius_m: f64,
    /// Height of its top.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-1000.0, 4000.0]))]
    pub top_m: f64,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// How hard it is, as for beds.
    #[serde(default = "hard")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub hardness: f64,
    /// Steepest slope that stands in it.
    #[serde(default = "steep")]
    #[schemars(range(min = 1.0, max = 89.0), extend("x-unit" = "deg", "x-slider" = [20.0, 80.0]))]
    pub talus_deg: f64,
    /// Its colour, as `#rrggbb`.
    #[serde(default = "granite")]
    pub colour: String,
}

/// An upright wall of rock that filled a crack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dyke {
    /// The places that it runs through.
    #[schemars(length(min = 2, max = 1000))]
    pub points: Vec<At>,
    /// How wide it is.
    #[schemars(range(min = 0.1, max = 1e5), extend("x-unit" = "m", "x-slider" = [5.0, 200.0]))]
    pub width_m: f64,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// How hard it is, as for beds.
    #[serde(default = "hard")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub hardness: f64,
    /// Steepest slope that stands in it.
    #[serde(default = "steep")]
    #[schemars(range(min = 1.0, max = 89.0), extend("x-unit" = "deg", "x-slider" = [20.0, 80.0]))]
    pub talus_deg: f64,
    /// Its colour, as `#rrggbb`.
    #[serde(default = "basalt")]
    pub colour: String,
}

fn hard() -> f64 {
    0.8
}

fn steep() -> f64 {
    60.0
}

fn granite() -> String {
    String::from("#b9a7a0")
}

fn basalt() -> String {
    String::from("#4a4a50")
}

impl Default for Strata {
    fn default() -> Self {
        Self {
            beds: Vec::new(),
            top_m: 1500.0,
            repeats: true,
            dip_deg: 0.0,
            dip_to_deg: 90.0,
            uneven_m: 20.0,
            uneven_wavelength_m: 8000.0,
            folds: Vec::new(),
            faults: Vec::new(),
            plutons: Vec::new(),
            dykes: Vec::new(),
        }
    }
}

impl Op for Strata {
    const ID: &'static str = "rock.strata";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing_vectors([STRATA])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn faults(&self) -> Vec<param::Fault> {
        let path = |list: &str, i: usize, key: &str| {
            vec![Segment::Key(list.to_owned()), Segment::Index(i), Segment::Key(key.to_owned())]
        };
        let beds = self.beds.iter().map(|bed| &bed.colour).enumerate().map(|(i, c)| ("beds", i, c));
        let plutons = self.plutons.iter().map(|p| &p.colour).enumerate().map(|(i, c)| ("plutons", i, c));
        let dykes = self.dykes.iter().map(|d| &d.colour).enumerate().map(|(i, c)| ("dykes", i, c));
        let mut faults: Vec<param::Fault> = (beds.chain(plutons).chain(dykes))
            .filter(|(_, _, colour)| !is_colour(colour))
            .map(|(list, i, colour)| param::Fault {
                path: path(list, i, "colour"),
                message: format!("{colour:?} is not a colour; write it as in \"#a08f7c\""),
            })
            .collect();
        let lines = (self.faults.iter().map(|f| &f.points).enumerate().map(|(i, p)| ("faults", i, p)))
            .chain(self.dykes.iter().map(|d| &d.points).enumerate().map(|(i, p)| ("dykes", i, p)));
        faults.extend(lines.filter(|(_, _, points)| as_line(points).is_none()).map(|(list, i, _)| {
            param::Fault {
                path: path(list, i, "points"),
                message: String::from("all points are at one place; a line needs two that are apart"),
            }
        }));
        faults.truncate(20);
        faults
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let strata = self.strata(&ctx.world(&terrain), ctx.seed());
        ctx.tick(1, 2)?;
        terrain.set_vector(STRATA, strata.vectors());
        ctx.stop_if_asked()?;
        Ok(terrain)
    }
}

fn is_colour(text: &str) -> bool {
    text.strip_prefix('#').is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn as_line(points: &[At]) -> Option<super::line::Line> {
    super::line::Line::new(points.iter().map(|at| [at.x_m, at.y_m]))
}

/// Beds that are drawn where none are given.
const DRAWN: usize = 14;

impl Strata {
    /// The beds of a world.
    fn strata(&self, world: &Frame, seed: Seed) -> beds::Strata {
        let extent = world.extent();
        let mut strata = beds::Strata::new(Lay {
            top_m: self.top_m,
            repeats: self.repeats,
            middle: [0, 1].map(|axis| 0.5 * (extent.min[axis] + extent.max[axis])),
            dip_deg: self.dip_deg,
            dip_to_deg: self.dip_to_deg,
            uneven_m: self.uneven_m,
            uneven_wavelength_m: self.uneven_wavelength_m,
            seed: seed.child("beds").0,
        });
        let drawn = if self.beds.is_empty() { drawn(seed.child("column")) } else { Vec::new() };
        for bed in self.beds.iter().chain(&drawn) {
            let look = Look { name: bed.name.clone(), colour: bed.colour.clone() };
            strata.bed(bed.thickness_m, bed.hardness, bed.talus_deg, look);
        }
        for (i, fold) in self.folds.iter().enumerate() {
            strata.fold(beds::Fold {
                axis_deg: fold.axis_deg,
                wavelength_m: fold.wavelength_m,
                amplitude_m: fold.amplitude_m,
                offset_m: fold.offset_m,
                plunge_deg: fold.plunge_deg,
                asymmetry: fold.asymmetry,
                variation: fold.variation,
                length_m: fold.length_m,
                seed: Seed(seed.child("folds").bits(i as u64)),
            });
        }
        let places = |points: &[At]| points.iter().map(|at| [at.x_m, at.y_m]).collect::<Vec<_>>();
        for fault in &self.faults {
            strata.fault(&places(&fault.points), fault.throw_m, fault.reach_m);
        }
        for (i, body) in self.plutons.iter().enumerate() {
            let look = Look { name: body.name.clone(), colour: body.colour.clone() };
            let rock = (body.hardness, body.talus_deg, look);
            let own = seed.child("plutons").bits(i as u64);
            strata.pluton(rock, [body.x_m, body.y_m], body.radius_m, body.top_m, own);
        }
        for body in &self.dykes {
            let look = Look { name: body.name.clone(), colour: body.colour.clone() };
            strata.dyke((body.hardness, body.talus_deg, look), &places(&body.points), body.width_m);
        }
        strata
    }
}

/// A column of hard and soft beds in turn: sandstones and limestones of a few tens of metres, shales of more.
fn drawn(seed: Seed) -> Vec<Bed> {
    const HARD: [&str; 3] = ["#c9a27a", "#d8c6a4", "#b8794f"];
    const SOFT: [&str; 3] = ["#8d7f6d", "#a3665a", "#9a9284"];
    let mut draw = seed.stream();
    (0..DRAWN)
        .map(|i| {
            let is_hard = i % 2 == 0;
            let (thick, vary, name) = if is_hard { (25.0, 60.0, "hard") } else { (40.0, 110.0, "soft") };
            let thickness_m = thick + vary * draw.unit() * draw.unit();
            let colours = if is_hard { HARD } else { SOFT };
            Bed {
                name: format!("{name} {}", i / 2 + 1),
                thickness_m,
                hardness: if is_hard { 0.7 + 0.22 * draw.unit() } else { 0.2 + 0.25 * draw.unit() },
                talus_deg: if is_hard { 55.0 + 20.0 * draw.unit() } else { 28.0 + 8.0 * draw.unit() },
                colour: colours[draw.below(3)].to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;
    use orogen_core::{Raster, layer, math, vector};

    fn bed(thickness_m: f64, hardness: f64) -> Bed {
        Bed { thickness_m, hardness, ..Bed::default() }
    }

    fn even() -> Strata {
        let beds = vec![bed(100.0, 0.9), bed(50.0, 0.2), bed(200.0, 0.6)];
        Strata { beds, top_m: 1000.0, repeats: false, uneven_m: 0.0, ..Strata::default() }
    }

    fn made(params: &Strata) -> beds::Strata {
        let terrain = Terrain::new(Frame::new([0.0, 0.0], [20_000.0, 20_000.0], [21, 21]).unwrap());
        beds::Strata::of(&params.apply(terrain, &Ctx::new(Seed(4))).unwrap()).unwrap()
    }

    #[test]
    fn beds_lie_in_order_and_the_outer_ones_go_on() {
        let strata = made(&even());
        let index = |z: f64| strata.at(300.0, 700.0, z).index;
        assert_eq!([1200.0, 999.0, 901.0, 899.0, 851.0, 849.0, -5000.0].map(index), [0, 0, 0, 1, 1, 2, 2]);
        // A height on a border is the bed below.
        assert_eq!(index(900.0), 1);
        let strata = made(&Strata { repeats: true, ..even() });
        let index = |z: f64| strata.at(300.0, 700.0, z).index;
        assert_eq!([1001.0, 1199.0, 1201.0, 651.0, 649.0, 549.0, 499.0].map(index), [2, 2, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn dips_and_folds_have_their_angles_and_lengths() {
        let dip = made(&Strata { dip_deg: 10.0, dip_to_deg: 90.0, ..even() });
        assert_close!(dip.top_at([10_000.0, 4000.0]), 1000.0, abs = 1e-9);
        let fall = dip.top_at([11_000.0, 4000.0]) - dip.top_at([12_000.0, 9000.0]);
        assert_close!(math::atan(fall / 1000.0).to_degrees(), 10.0, abs = 1e-9);

        let fold =
            Fold { axis_deg: 0.0, plunge_deg: 5.0, offset_m: 500.0, variation: 0.0, ..Fold::default() };
        let folded = made(&Strata { folds: vec![fold], ..even() });
        let crest = folded.top_at([10_500.0, 10_000.0]);
        assert_close!(crest, 1600.0, abs = 1e-6);
        assert_close!(folded.top_at([16_500.0, 10_000.0]), crest, abs = 1e-6);
        assert_close!(folded.top_at([13_500.0, 10_000.0]), 400.0, abs = 1e-6);
        let along = crest - folded.top_at([10_500.0, 11_000.0]);
        assert_close!(math::atan(along / 1000.0).to_degrees(), 5.0, abs = 1e-9);
    }

    #[test]
    fn the_right_limb_of_a_leaning_fold_is_the_steeper() {
        let fold = Fold { axis_deg: 0.0, asymmetry: 0.5, variation: 0.0, ..Fold::default() };
        let folded = made(&Strata { folds: vec![fold], ..even() });
        let trough = (0..600)
            .map(|i| 10_000.0 + 10.0 * f64::from(i))
            .min_by(|a, b| folded.top_at([*a, 0.0]).total_cmp(&folded.top_at([*b, 0.0])))
            .unwrap();
        assert!(trough < 12_700.0, "the trough is at {trough}");
        assert_close!(folded.top_at([16_000.0, 0.0]), 1600.0, abs = 1e-6);
    }

    #[test]
    fn faults_throw_beds_exactly_and_end() {
        let at = |x_m, y_m| At { x_m, y_m };
        let points = vec![at(4000.0, 2000.0), at(4000.0, 10_000.0)];
        let whole = made(&Strata {
            faults: vec![Fault { points: points.clone(), throw_m: 70.0, reach_m: 0.0 }],
            ..even()
        });
        for y in [-3000.0, 6000.0, 19_000.0] {
            assert_close!(whole.top_at([3999.0, y]) - whole.top_at([4001.0, y]), 70.0, abs = 1e-9);
        }
        let ending =
            made(&Strata { faults: vec![Fault { points, throw_m: 70.0, reach_m: 3000.0 }], ..even() });
        let throw = |y: f64| ending.top_at([3999.999, y]) - ending.top_at([4000.001, y]);
        assert_close!(throw(6000.0), 70.0, abs = 1e-3);
        assert!(throw(9000.0) > 30.0 && throw(9000.0) < 60.0);
        assert_close!(throw(10_001.0), 0.0, abs = 1e-9);
        assert_close!(ending.top_at([7001.0, 6000.0]), 1000.0, abs = 1e-9);
    }

    #[test]
    fn bodies_take_the_place_of_beds() {
        let granite: Pluton =
            toml::from_str("x_m = 5000.0\ny_m = 5000.0\nradius_m = 1000.0\ntop_m = 800.0").unwrap();
        let dyke: Dyke =
            toml::from_str("points = [{x_m=0.0,y_m=0.0},{x_m=1000.0,y_m=0.0}]\nwidth_m = 20.0").unwrap();
        let strata = made(&Strata { plutons: vec![granite], dykes: vec![dyke], ..even() });
        assert_eq!(strata.at(5000.0, 5000.0, 790.0).index, 3);
        assert_eq!(strata.at(5000.0, 5000.0, 810.0).index, 2);
        assert_eq!(strata.at(7000.0, 5000.0, 0.0).index, 2);
        assert_eq!(strata.at(500.0, 9.0, 5000.0).index, 4);
        assert_eq!(strata.at(500.0, 11.0, 5000.0).index, 0);
        assert_eq!(strata.looks()[4].colour, "#4a4a50");
    }

    #[test]
    fn going_down_meets_every_bed_once() {
        let granite: Pluton =
            toml::from_str("x_m = 10000.0\ny_m = 10000.0\nradius_m = 9000.0\ntop_m = 700.0").unwrap();
        let terrain = |params: &Strata| {
            let terrain = Terrain::new(Frame::new([0.0, 0.0], [20_000.0, 20_000.0], [3, 3]).unwrap());
            beds::Strata::under(&params.apply(terrain, &Ctx::new(Seed(4))).unwrap(), &Ctx::silent())
                .unwrap()
                .unwrap()
        };
        let walk = |places: &beds::Places, z: f32| -> Vec<(u16, f32)> {
            places.down(4, z).take(5).map(|(bed, bottom)| (bed.index, bottom)).collect()
        };
        let end = f32::NEG_INFINITY;
        let plain = terrain(&even());
        assert_eq!(walk(&plain, 950.0), [(0, 900.0), (1, 850.0), (2, end)]);
        let again = terrain(&Strata { repeats: true, ..even() });
        assert_eq!(walk(&again, 860.0), [(1, 850.0), (2, 650.0), (0, 550.0), (1, 500.0), (2, 300.0)]);
        let intruded = terrain(&Strata { plutons: vec![granite], ..even() });
        assert_eq!(walk(&intruded, 860.0), [(1, 850.0), (2, 700.0), (3, end)]);
        assert_eq!(walk(&intruded, 700.0), [(3, end)]);
        // Down a slope of 20 m: 10 m through the hard bed, the rest through the soft one.
        let hard = f64::from(plain.rock(4, 950.0).grade);
        let steep = plain.grade(4, 905.0, 20.0);
        assert_close!(f64::from(steep), hard, rel = 1e-4);
    }

    #[test]
    fn a_column_is_drawn_where_none_is_given() {
        let strata = made(&Strata::default());
        assert_eq!(strata.rocks().len(), DRAWN);
        let hard = |i: usize| strata.rocks()[i].hardness;
        assert!((0..DRAWN - 1).step_by(2).all(|i| hard(i) > 0.65 && hard(i + 1) < 0.5));
    }

    #[test]
    fn absurd_beds_get_a_sentence() {
        let refused = |text: &str| {
            let table: toml::Table = text.parse().unwrap();
            let faults = orogen_core::Operator::of::<Strata>().parse(&table).unwrap_err();
            faults[0].message.clone()
        };
        assert!(refused("beds = [{ thickness_m = 0.0 }]").contains("0.01"));
        assert!(refused("beds = [{ thickness_m = nan }]").to_lowercase().contains("nan"));
        assert!(refused("beds = [{ hardness = 1e9 }]").contains("outside 0 to 1"));
        assert!(refused("dip_deg = 90.0").contains("80"));
        assert!(refused("beds = [{ colour = \"rust\" }]").contains("#a08f7c"));
        assert!(
            refused("faults = [{ throw_m = 1.0, points = [{x_m=1.0,y_m=1.0},{x_m=1.0,y_m=1.0}] }]")
                .contains("apart")
        );
        let many = Strata { beds: vec![bed(0.01, 0.0); 10_000], ..even() };
        assert_eq!(made(&many).rocks().len(), 10_000);
    }

    #[test]
    fn copies_beside_land_that_loops_are_left_out() {
        let fold = Fold { variation: 0.0, ..Fold::default() };
        let params = Strata { folds: vec![fold], ..even() };
        let frame = Frame::new([0.0, 0.0], [20_000.0, 20_000.0], [33, 33]).unwrap().looped();
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, Raster::filled(33, 33, 950.0));
        let terrain = params.apply(terrain, &Ctx::new(Seed(4))).unwrap();
        let plain = beds::Strata::of(&terrain).unwrap();
        // The same features again, a world further, as operators see them that unroll the land.
        let original = terrain.vector(STRATA).unwrap();
        let mut twice = vector::VectorLayer::new(original.shape());
        for shift in [20_000.0, 0.0] {
            for feature in 0..original.len() {
                for part in original.parts(feature) {
                    twice.push(original.vertices()[part].iter().map(|&[x, y, z]| [x + shift, y, z]));
                }
            }
        }
        for (name, column) in original.feature_attributes() {
            let double = match column {
                vector::Column::Number(v) => vector::Column::Number([&v[..], &v[..]].concat()),
                vector::Column::Integer(v) => vector::Column::Integer([&v[..], &v[..]].concat()),
                vector::Column::Text(v) => vector::Column::Text([&v[..], &v[..]].concat()),
                vector::Column::Flag(v) => vector::Column::Flag([&v[..], &v[..]].concat()),
                other => other.clone(),
            };
            assert!(twice.set_feature_attribute(name, double));
        }
        let mut copied = terrain.clone();
        copied.set_vector(STRATA, twice);
        assert_eq!(beds::Strata::of(&copied).unwrap(), plain);
    }

    #[test]
    fn vectors_of_another_hand_are_no_strata_and_no_panic() {
        let mut terrain = Terrain::new(Frame::square(100.0, 3).unwrap());
        let mut layer = vector::VectorLayer::new(vector::Shape::Points);
        layer.push([[0.0, 0.0, 0.0]]);
        terrain.set_vector(STRATA, layer.clone());
        assert!(beds::Strata::of(&terrain).is_none());
        assert!(layer.set_feature_attribute("kind", vector::Column::Text(vec![String::from("column")])));
        terrain.set_vector(STRATA, layer);
        assert!(beds::Strata::of(&terrain).is_none());
    }
}
