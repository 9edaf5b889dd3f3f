//! What makes a species: the parameters of Weber & Penn, with names that say their units.

use serde::{Deserialize, Serialize};

use crate::growth::Season;
use crate::surface::{BarkKind, Outline};

/// A kind of plant, after Weber & Penn, "Creation and rendering of realistic trees", SIGGRAPH 1995, with the extensions of the
/// program Arbaro.
///
/// A plant is stems of up to four levels: trunks, branches, twigs and so on; leaves stand on the last. What varies does so by
/// up to as much as its `vary` says, to either side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Species {
    /// Its name.
    pub name: String,
    /// Outline of the crown: how long branches are by their height.
    pub shape: Shape,
    /// Size of the whole plant.
    pub height_m: f64,
    /// How much that varies.
    pub height_vary_m: f64,
    /// Share of the height that has no branches.
    pub bare_share: f64,
    /// Radius of a trunk, as a share of its length.
    pub ratio: f64,
    /// How much thinner short branches are: exponent of their length against their parent's.
    pub ratio_power: f64,
    /// How much wider the foot of a trunk is.
    pub flare: f64,
    /// How many lobes the cross-section of a trunk has.
    pub lobes: u32,
    /// How deep they are, as a share of the radius.
    pub lobe_depth: f64,
    /// How far they are planks that run out at the foot, as the buttresses of trees of rain forests, from 0 to 1.
    pub planks: f64,
    /// Radius of the foot of the thinnest twigs, in metres.
    pub thinnest_m: f64,
    /// How strongly branches from the second level on turn up; below 0 they hang.
    pub attraction_up: f64,
    /// Factor on the radius of the trunk, and how much that varies.
    pub trunk_scale: f64,
    /// How much that varies.
    pub trunk_scale_vary: f64,
    /// Into how many more trunks the trunk splits at its foot.
    pub base_splits: u32,
    /// Share of the stems that are broken off.
    pub broken_share: f64,
    /// What is cut off outside an outline.
    pub prune: Prune,
    /// How it grows up and what the seasons do to it.
    pub life: Life,
    /// What it looks like.
    pub colors: Colors,
    /// How its bark is built.
    pub bark_kind: BarkKind,
    /// The leaves.
    pub leaves: Leaves,
    /// The flowers, or what stands at the ends of its stems in their place: plumes, cobs, spikes.
    pub flowers: Flowers,
    /// How it climbs, for what needs a host to stand.
    pub climb: Option<Climb>,
    /// What it broke from, for wood that lies or stands dead.
    pub dead_wood: Option<DeadWood>,
    /// What it looks like, for a stone.
    pub stone: Option<Stone>,
    /// The levels: trunk first.
    pub levels: Vec<Level>,
}

/// Outline of a crown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Widest at the foot.
    #[default]
    Conical,
    /// Widest in the middle.
    Spherical,
    /// Widest at the foot, round at the top.
    Hemispherical,
    /// As wide everywhere.
    Cylindrical,
    /// Half as wide at the top.
    TaperedCylindrical,
    /// Widest at three tenths.
    Flame,
    /// Widest at the top.
    InverseConical,
    /// As a flame, but not pointed.
    TendFlame,
    /// As the outline of `prune`.
    Envelope,
}

/// An outline that branches are cut back to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prune {
    /// How far they are cut back, from 0 (not) to 1 (to the outline).
    pub ratio: f64,
    /// Greatest radius of the outline, as a share of the height.
    pub width: f64,
    /// Where it is widest, as a share of the crown's height from its foot.
    pub peak: f64,
    /// How it narrows below: 1 straight, less round, more hollow.
    pub power_low: f64,
    /// How it narrows above.
    pub power_high: f64,
}

/// How a species grows up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Life {
    /// Whether it keeps its leaves in winter.
    pub evergreen: bool,
    /// Whether it dries up where it stands, as grass does, and does not shed its leaves.
    pub withers: bool,
    /// Heights of grown plants, from the lowest to the highest.
    pub height_range_m: [f64; 2],
    /// How its crown widens with its height: 1 in step, 0 for palms, whose leaves have their full length from early on.
    pub crown_growth: f64,
}

/// Colours of a species, in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Colors {
    /// Bark of the trunk.
    pub bark: [u8; 3],
    /// Bark of twigs.
    pub twig: [u8; 3],
    /// Young leaves.
    pub spring: [u8; 3],
    /// Grown leaves.
    pub summer: [u8; 3],
    /// Leaves before they fall; of evergreens as in summer, or nearly.
    pub autumn: [u8; 3],
}

/// The leaves of a species.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Leaves {
    /// On a stem of the last level. Below 0 they stand in a fan at its end.
    pub count: i32,
    /// Name of their form.
    pub form: String,
    /// What they look like; the usual one of their form if nothing is said.
    pub outline: Option<Outline>,
    /// Length.
    pub length_m: f64,
    /// Width, as a share of the length.
    pub width_share: f64,
    /// How they are spread over a parent: more towards where branches of this crown would be long.
    pub spread: Shape,
    /// Angle from the stem.
    pub down_deg: f64,
    /// How much that varies; below 0 it changes along the stem instead.
    pub down_vary_deg: f64,
    /// Turn round the stem from one to the next; below 0 they stand to both sides in turn.
    pub rotate_deg: f64,
    /// How much that varies.
    pub rotate_vary_deg: f64,
    /// Length of the stalk, as a share of the leaf's.
    pub stalk_share: f64,
    /// How far they turn towards the light, from 0 to 1.
    pub bend: f64,
    /// Share of them that is made, larger for that: below 1 for plants seen from afar.
    pub quality: f64,
    /// How much shorter some are, as a share of the length.
    pub length_vary: f64,
    /// How much shorter those at the top of a stem are than those at its foot, as a share of the length.
    pub shrink: f64,
    /// How far they bend over from stalk to tip.
    pub droop_deg: f64,
    /// In how many pieces they bend, seen from near.
    pub pieces: u32,
    /// The level that they stand on; 255 for the last.
    pub level: u8,
    /// Where on a stem they stand, as shares of its length.
    pub along: [f64; 2],
    /// Whether they lie in one plane with the stem, as the barbs of a feather, and look where it does.
    pub flat: bool,
}

/// What stands at the ends of stems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flowers {
    /// Share of the ends of stems that have one, from 0 to 1.
    pub share: f64,
    /// First level of stems that have them.
    pub level: u8,
    /// Name of their form.
    pub form: String,
    /// What they look like; by their form where it is not said.
    pub outline: Option<Outline>,
    /// Length; of round ones how wide they are.
    pub length_m: f64,
    /// Width, as a share of the length.
    pub width_share: f64,
    /// Whether they are flat and look along the stem, as daisies do, or go on where the stem ends, as spikes do.
    pub flat: bool,
    /// How far the rim of a flat one stands up, as a share of its radius: 1 for a bowl, below 0 for a roof.
    pub cup: f64,
    /// How far they turn to the sky, from 0 to 1.
    pub bend: f64,
    /// When there are any.
    pub seasons: Vec<Season>,
    /// Their petals, in sRGB.
    pub color: [u8; 3],
    /// Their middle, in sRGB.
    pub middle: [u8; 3],
}

/// How a plant climbs on another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Climb {
    /// How many times it goes round its host on a metre; some wind the other way.
    pub turns_per_m: f64,
    /// How far it strays from that way, in degrees.
    pub stray_deg: f64,
    /// How high it gets, as shares of the host's height.
    pub reach: [f64; 2],
    /// How many stems hang from the branches of its host.
    pub hanging: u32,
    /// Height of a post that it climbs where there is no host.
    pub post_m: f64,
    /// Radius of that post.
    pub post_radius_m: f64,
}

/// Wood that has died.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeadWood {
    /// The trees that it may come from, by the names of their species.
    pub of: Vec<String>,
    /// How often it is a trunk that lies, against the others.
    pub logs: f64,
    /// How often it is the foot of a trunk that broke or was cut.
    pub stumps: f64,
    /// How often it is a trunk that still stands, without its top.
    pub snags: f64,
    /// Length of trunks that lie, from the shortest to the longest.
    pub log_m: [f64; 2],
    /// Their radius.
    pub radius_m: [f64; 2],
}

/// A stone, or several that lie together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stone {
    /// How many lie together, from the fewest to the most.
    pub count: [u32; 2],
    /// How far apart they lie.
    pub apart_m: f64,
    /// How deep in the ground, as a share of the height.
    pub sunk: f64,
    /// The forms; each stone has one of them.
    pub forms: Vec<StoneForm>,
}

/// A form of stones: a sphere that planes have cut, pressed flat, worn and rough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoneForm {
    /// Length, width and height against each other.
    pub axes: [f64; 3],
    /// How much those vary, as a share.
    pub axes_vary: f64,
    /// How many planes cut it.
    pub cuts: u32,
    /// How deep, as a share of the radius.
    pub cut_depth: f64,
    /// How round its edges are worn, from 0 (sharp) to 1.
    pub worn: f64,
    /// How far bumps stand out, as a share of the radius.
    pub rough: f64,
    /// How far beds of rock stand out, as a share of the radius.
    pub beds: f64,
}

/// Stems of a level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Level {
    /// How many there are, at most, on a stem of the level before; of trunks: how many trunks.
    pub branches: u32,
    /// How evenly they stand: 1 evenly, less in tufts; of trunks: how far apart, in metres.
    pub branch_spread: f64,
    /// Share of the parent, from its foot, on which none stand, from the second level of branches on: what has no light loses its
    /// twigs. The first has the plant's own `bare_share`.
    pub bare_share: f64,
    /// Angle from the parent.
    pub down_deg: f64,
    /// How much that varies; below 0 it changes along the parent instead.
    pub down_vary_deg: f64,
    /// Turn round the parent from one to the next; below 0 they stand to both sides in turn.
    pub rotate_deg: f64,
    /// How much that varies.
    pub rotate_vary_deg: f64,
    /// Length: of trunks as a share of the plant's height, of others against the parent's.
    pub length: f64,
    /// How much that varies.
    pub length_vary: f64,
    /// 0 a cylinder, 1 a cone, 2 a cone with a round end, up to 3 a chain of spheres.
    pub taper: f64,
    /// In how many pieces a stem bends.
    pub pieces: u32,
    /// How far it bends in all.
    pub curve_deg: f64,
    /// How far its outer half bends back; 0 for one bend.
    pub curve_back_deg: f64,
    /// How much that varies; below 0 it is the pitch of a helix.
    pub curve_vary_deg: f64,
    /// How many times it splits in each piece, on average.
    pub splits: f64,
    /// Angle of a split.
    pub split_deg: f64,
    /// How much that varies.
    pub split_vary_deg: f64,
}

impl Default for Species {
    fn default() -> Self {
        Self {
            name: String::from("plant"),
            shape: Shape::Conical,
            height_m: 13.0,
            height_vary_m: 3.0,
            bare_share: 0.4,
            ratio: 0.015,
            ratio_power: 1.2,
            flare: 0.6,
            lobes: 5,
            lobe_depth: 0.07,
            planks: 0.0,
            thinnest_m: 0.0,
            attraction_up: 0.0,
            trunk_scale: 1.0,
            trunk_scale_vary: 0.0,
            base_splits: 0,
            broken_share: 0.0,
            prune: Prune::default(),
            life: Life::default(),
            colors: Colors::default(),
            bark_kind: BarkKind::default(),
            leaves: Leaves::default(),
            flowers: Flowers::default(),
            climb: None,
            dead_wood: None,
            stone: None,
            levels: vec![Level { branches: 1, branch_spread: 0.0, length: 1.0, ..Level::default() }],
        }
    }
}

impl Default for Prune {
    fn default() -> Self {
        Self { ratio: 0.0, width: 0.5, peak: 0.5, power_low: 0.5, power_high: 0.5 }
    }
}

impl Default for Life {
    fn default() -> Self {
        Self { evergreen: false, withers: false, height_range_m: [0.0, 200.0], crown_growth: 1.0 }
    }
}

impl Default for Colors {
    fn default() -> Self {
        Self {
            bark: [96, 84, 70],
            twig: [96, 84, 70],
            spring: [130, 158, 70],
            summer: [88, 116, 54],
            autumn: [186, 140, 56],
        }
    }
}

impl Default for Leaves {
    fn default() -> Self {
        Self {
            count: 0,
            form: String::from("oval"),
            outline: None,
            length_m: 0.2,
            width_share: 0.5,
            spread: Shape::TaperedCylindrical,
            down_deg: 45.0,
            down_vary_deg: 10.0,
            rotate_deg: 140.0,
            rotate_vary_deg: 0.0,
            stalk_share: 0.5,
            bend: 0.3,
            quality: 1.0,
            length_vary: 0.0,
            shrink: 0.0,
            droop_deg: 0.0,
            pieces: 1,
            level: u8::MAX,
            along: [0.0, 1.0],
            flat: false,
        }
    }
}

impl Default for Flowers {
    fn default() -> Self {
        Self {
            share: 0.0,
            level: 0,
            form: String::from("daisy"),
            outline: None,
            length_m: 0.03,
            width_share: 1.0,
            flat: true,
            cup: 0.0,
            bend: 0.0,
            seasons: vec![Season::Spring, Season::Summer],
            color: [240, 236, 226],
            middle: [226, 186, 60],
        }
    }
}

impl Default for Climb {
    fn default() -> Self {
        Self {
            turns_per_m: 0.2,
            stray_deg: 40.0,
            reach: [0.4, 0.9],
            hanging: 0,
            post_m: 6.0,
            post_radius_m: 0.2,
        }
    }
}

impl Default for DeadWood {
    fn default() -> Self {
        Self { of: Vec::new(), logs: 1.0, stumps: 0.0, snags: 0.0, log_m: [2.0, 4.0], radius_m: [0.1, 0.3] }
    }
}

impl Default for StoneForm {
    fn default() -> Self {
        Self {
            axes: [1.0, 0.8, 0.6],
            axes_vary: 0.2,
            cuts: 12,
            cut_depth: 0.3,
            worn: 0.3,
            rough: 0.05,
            beds: 0.0,
        }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self {
            branches: 30,
            branch_spread: 1.0,
            bare_share: 0.0,
            down_deg: 45.0,
            down_vary_deg: 0.0,
            rotate_deg: 140.0,
            rotate_vary_deg: 0.0,
            length: 0.4,
            length_vary: 0.0,
            taper: 1.0,
            pieces: 3,
            curve_deg: 0.0,
            curve_back_deg: 0.0,
            curve_vary_deg: 0.0,
            splits: 0.0,
            split_deg: 0.0,
            split_vary_deg: 0.0,
        }
    }
}

impl Leaves {
    /// In how many pieces they bend, seen from near; one for those that do not.
    pub(crate) fn pieces(&self) -> u32 {
        if self.droop_deg == 0.0 { 1 } else { self.pieces }
    }

    /// What they look like.
    #[must_use]
    pub fn outline(&self) -> Outline {
        self.outline.unwrap_or_else(|| Outline::of_form(&self.form))
    }
}

/// What is wrong with a species.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpeciesError {
    /// The text is not what it should be.
    #[error("{0}")]
    Text(String),
    /// A number that makes no plant.
    #[error("{name} is {value}; {allowed}")]
    Value {
        /// The parameter.
        name: String,
        /// What it says.
        value: String,
        /// What would be right.
        allowed: String,
    },
    /// As the one within, where it stands in a text.
    #[error("line {line}: {error}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        error: Box<SpeciesError>,
    },
}

impl SpeciesError {
    /// The same with a line, where it is known.
    pub(crate) fn on(self, line: Option<usize>) -> Self {
        match line {
            Some(line) => Self::Line { line, error: Box::new(self) },
            None => self,
        }
    }
}

/// The line of a TOML text that gives the parameter `levels[1].down_deg`, say.
fn line_of(text: &str, parameter: &str) -> Option<usize> {
    let (table, key) = parameter.rsplit_once('.').unwrap_or(("", parameter));
    // Of a list of numbers all stand on one line.
    let key = key.split('[').next().unwrap_or(key);
    let mut now = String::new();
    let mut repeated: Vec<&str> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or(line).trim();
        if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
            let before = repeated.iter().filter(|known| **known == name.trim()).count();
            now = format!("{}[{before}]", name.trim());
            repeated.push(name.trim());
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut now);
        } else if now == table && line.split_once('=').is_some_and(|(name, _)| name.trim() == key) {
            return Some(number + 1);
        }
    }
    None
}

/// Largest text of a species, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// What is wrong with a text, and where; the line is shown unless it is longer than anybody reads.
fn sentence(text: &str, error: &toml::de::Error) -> String {
    let whole = error.to_string();
    if whole.len() <= 1500 {
        return whole.trim_end().to_owned();
    }
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let message: String = error.message().chars().take(400).collect();
    format!("line {}: {message}", before.matches('\n').count() + 1)
}

impl Species {
    /// A species from TOML.
    ///
    /// # Errors
    /// When the text is not TOML, has unknown names or numbers that make no plant.
    pub fn from_toml(text: &str) -> Result<Self, SpeciesError> {
        if text.len() > MOST_BYTES {
            return Err(SpeciesError::Text(format!("a species of {} bytes is too long", text.len())));
        }
        let species: Self = toml::from_str(text).map_err(|e| SpeciesError::Text(sentence(text, &e)))?;
        species.check().map_err(|error| {
            let line = match &error {
                SpeciesError::Value { name, .. } => line_of(text, name),
                _ => None,
            };
            error.on(line)
        })?;
        Ok(species)
    }

    /// Whether a plant can be made of the numbers.
    ///
    /// # Errors
    /// The first that is out of its range.
    pub fn check(&self) -> Result<(), SpeciesError> {
        let within = |name: &str, value: f64, low: f64, high: f64| {
            if value >= low && value <= high {
                return Ok(());
            }
            let allowed = format!("it must lie between {low} and {high}");
            Err(SpeciesError::Value { name: name.to_owned(), value: value.to_string(), allowed })
        };
        if self.levels.is_empty() || self.levels.len() > 4 {
            return Err(SpeciesError::Value {
                name: String::from("levels"),
                value: self.levels.len().to_string(),
                allowed: String::from("a plant has one to four of them"),
            });
        }
        within("height_m", self.height_m, 1e-3, 200.0)?;
        within("height_vary_m", self.height_vary_m, 0.0, self.height_m)?;
        within("bare_share", self.bare_share, 0.0, 0.999)?;
        within("ratio", self.ratio, 1e-5, 1.0)?;
        within("ratio_power", self.ratio_power, 0.0, 20.0)?;
        within("flare", self.flare, -1.0, 20.0)?;
        within("lobes", f64::from(self.lobes), 0.0, 100.0)?;
        within("lobe_depth", self.lobe_depth, 0.0, 1.0)?;
        within("planks", self.planks, 0.0, 1.0)?;
        within("thinnest_m", self.thinnest_m, 0.0, 0.1)?;
        within("attraction_up", self.attraction_up, -10.0, 10.0)?;
        within("trunk_scale", self.trunk_scale, 1e-3, 100.0)?;
        within("trunk_scale_vary", self.trunk_scale_vary, 0.0, self.trunk_scale)?;
        within("base_splits", f64::from(self.base_splits), 0.0, 100.0)?;
        within("broken_share", self.broken_share, 0.0, 1.0)?;
        within("life.height_range_m[0]", self.life.height_range_m[0], 0.0, 200.0)?;
        within("life.height_range_m[1]", self.life.height_range_m[1], self.life.height_range_m[0], 200.0)?;
        within("life.crown_growth", self.life.crown_growth, 0.0, 1.0)?;
        let Prune { ratio, width, peak, power_low, power_high } = self.prune;
        within("prune.ratio", ratio, 0.0, 1.0)?;
        within("prune.width", width, 0.0, 10.0)?;
        within("prune.peak", peak, 0.0, 1.0)?;
        within("prune.power_low", power_low, 0.0, 10.0)?;
        within("prune.power_high", power_high, 0.0, 10.0)?;
        within("leaves.count", f64::from(self.leaves.count), -10_000.0, 10_000.0)?;
        within("leaves.length_m", self.leaves.length_m, 1e-4, 20.0)?;
        within("leaves.width_share", self.leaves.width_share, 1e-3, 10.0)?;
        within("leaves.down_deg", self.leaves.down_deg, -360.0, 360.0)?;
        within("leaves.down_vary_deg", self.leaves.down_vary_deg, -360.0, 360.0)?;
        within("leaves.rotate_deg", self.leaves.rotate_deg, -360.0, 360.0)?;
        within("leaves.rotate_vary_deg", self.leaves.rotate_vary_deg, 0.0, 360.0)?;
        within("leaves.stalk_share", self.leaves.stalk_share, -10.0, 10.0)?;
        within("leaves.bend", self.leaves.bend, 0.0, 1.0)?;
        within("leaves.quality", self.leaves.quality, 0.01, 1.0)?;
        within("leaves.length_vary", self.leaves.length_vary, 0.0, 0.95)?;
        within("leaves.shrink", self.leaves.shrink, 0.0, 0.95)?;
        within("leaves.droop_deg", self.leaves.droop_deg, -720.0, 720.0)?;
        within("leaves.pieces", f64::from(self.leaves.pieces), 1.0, 16.0)?;
        within("leaves.along[0]", self.leaves.along[0], 0.0, 0.99)?;
        within("leaves.along[1]", self.leaves.along[1], self.leaves.along[0] + 0.01, 1.0)?;
        if self.leaves.level != u8::MAX {
            within("leaves.level", f64::from(self.leaves.level), 0.0, self.levels.len() as f64 - 1.0)?;
        }
        self.check_kinds(&within)?;
        for (number, level) in self.levels.iter().enumerate() {
            let within = |name: &str, value: f64, low: f64, high: f64| {
                within(&format!("levels[{number}].{name}"), value, low, high)
            };
            within("branches", f64::from(level.branches), 0.0, 1000.0)?;
            within("branch_spread", level.branch_spread, 0.0, 100.0)?;
            within("bare_share", level.bare_share, 0.0, 0.95)?;
            within("down_deg", level.down_deg, -360.0, 360.0)?;
            within("down_vary_deg", level.down_vary_deg, -360.0, 360.0)?;
            within("rotate_deg", level.rotate_deg, -360.0, 360.0)?;
            within("rotate_vary_deg", level.rotate_vary_deg, 0.0, 360.0)?;
            within("length", level.length, 0.0, 20.0)?;
            within("length_vary", level.length_vary, 0.0, 20.0)?;
            within("taper", level.taper, 0.0, 2.99999)?;
            within("pieces", f64::from(level.pieces), 1.0, 200.0)?;
            within("curve_deg", level.curve_deg, -3600.0, 3600.0)?;
            within("curve_back_deg", level.curve_back_deg, -3600.0, 3600.0)?;
            within("curve_vary_deg", level.curve_vary_deg, -3600.0, 3600.0)?;
            within("splits", level.splits, 0.0, 3.0)?;
            within("split_deg", level.split_deg, 0.0, 360.0)?;
            within("split_vary_deg", level.split_vary_deg, 0.0, 360.0)?;
        }
        Ok(())
    }

    /// What belongs to some kinds only.
    fn check_kinds(
        &self,
        within: &impl Fn(&str, f64, f64, f64) -> Result<(), SpeciesError>,
    ) -> Result<(), SpeciesError> {
        within("flowers.share", self.flowers.share, 0.0, 1.0)?;
        within("flowers.length_m", self.flowers.length_m, 1e-4, 20.0)?;
        within("flowers.width_share", self.flowers.width_share, 1e-3, 10.0)?;
        within("flowers.cup", self.flowers.cup, -3.0, 3.0)?;
        within("flowers.bend", self.flowers.bend, 0.0, 1.0)?;
        if let Some(climb) = &self.climb {
            within("climb.turns_per_m", climb.turns_per_m, -10.0, 10.0)?;
            within("climb.stray_deg", climb.stray_deg, 0.0, 360.0)?;
            within("climb.reach[0]", climb.reach[0], 0.01, 1.0)?;
            within("climb.reach[1]", climb.reach[1], climb.reach[0], 1.0)?;
            within("climb.hanging", f64::from(climb.hanging), 0.0, 200.0)?;
            within("climb.post_m", climb.post_m, 0.1, 100.0)?;
            within("climb.post_radius_m", climb.post_radius_m, 0.01, 10.0)?;
        }
        if let Some(wood) = &self.dead_wood {
            if wood.of.is_empty() {
                return Err(SpeciesError::Value {
                    name: String::from("dead_wood.of"),
                    value: String::from("empty"),
                    allowed: String::from("it must name a tree at least"),
                });
            }
            for (name, value) in [("logs", wood.logs), ("stumps", wood.stumps), ("snags", wood.snags)] {
                within(&format!("dead_wood.{name}"), value, 0.0, 1e6)?;
            }
            within("dead_wood.logs + stumps + snags", wood.logs + wood.stumps + wood.snags, 1e-6, 1e7)?;
            within("dead_wood.log_m[0]", wood.log_m[0], 0.1, 60.0)?;
            within("dead_wood.log_m[1]", wood.log_m[1], wood.log_m[0], 60.0)?;
            within("dead_wood.radius_m[0]", wood.radius_m[0], 0.01, 5.0)?;
            within("dead_wood.radius_m[1]", wood.radius_m[1], wood.radius_m[0], 5.0)?;
        }
        if let Some(stone) = &self.stone {
            within("stone.count[0]", f64::from(stone.count[0]), 1.0, 100.0)?;
            within("stone.count[1]", f64::from(stone.count[1]), f64::from(stone.count[0]), 100.0)?;
            within("stone.apart_m", stone.apart_m, 0.0, 100.0)?;
            within("stone.sunk", stone.sunk, 0.0, 0.9)?;
            within("the number of stone.forms", stone.forms.len() as f64, 1.0, 100.0)?;
            for (number, form) in stone.forms.iter().enumerate() {
                let within = |name: &str, value: f64, low: f64, high: f64| {
                    within(&format!("stone.forms[{number}].{name}"), value, low, high)
                };
                for axis in form.axes {
                    within("axes", axis, 0.05, 1.0)?;
                }
                within("axes_vary", form.axes_vary, 0.0, 0.9)?;
                within("cuts", f64::from(form.cuts), 0.0, 100.0)?;
                within("cut_depth", form.cut_depth, 0.0, 0.8)?;
                within("worn", form.worn, 0.0, 1.0)?;
                within("rough", form.rough, 0.0, 0.3)?;
                within("beds", form.beds, 0.0, 0.3)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_a_file_have_their_lines() {
        let said = |text: &str| Species::from_toml(text).unwrap_err().to_string();
        assert_eq!(
            said("name = \"x\"\nheight_m = -2\n"),
            "line 2: height_m is -2; it must lie between 0.001 and 200"
        );
        let text = "height_m = 3\nheight_vary_m = 1\n[leaves]\ncount = 3\n[[levels]]\nlength = 1\n[[levels]]\nlength = 99 # far\n";
        assert!(said(text).starts_with("line 8: levels[1].length is 99"), "{}", said(text));
        assert!(said("heigth_m = 3").contains("line 1"), "{}", said("heigth_m = 3"));
    }
}
