//! What makes a species: the parameters of Weber & Penn, with names that say their units.

use serde::{Deserialize, Serialize};

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
}

/// Stems of a level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Level {
    /// How many there are, at most, on a stem of the level before; of trunks: how many trunks.
    pub branches: u32,
    /// How evenly they stand: 1 evenly, less in tufts; of trunks: how far apart, in metres.
    pub branch_spread: f64,
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
        Self { evergreen: false, height_range_m: [0.0, 200.0], crown_growth: 1.0 }
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
        }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self {
            branches: 30,
            branch_spread: 1.0,
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
}

/// Largest text of a species, in bytes.
const MOST_BYTES: usize = 1 << 20;

impl Species {
    /// A species from TOML.
    ///
    /// # Errors
    /// When the text is not TOML, has unknown names or numbers that make no plant.
    pub fn from_toml(text: &str) -> Result<Self, SpeciesError> {
        if text.len() > MOST_BYTES {
            return Err(SpeciesError::Text(format!("a species of {} bytes is too long", text.len())));
        }
        let species: Self =
            toml::from_str(text).map_err(|e| SpeciesError::Text(e.to_string().trim_end().to_owned()))?;
        species.check()?;
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
        for (number, level) in self.levels.iter().enumerate() {
            let within = |name: &str, value: f64, low: f64, high: f64| {
                within(&format!("levels[{number}].{name}"), value, low, high)
            };
            within("branches", f64::from(level.branches), 0.0, 1000.0)?;
            within("branch_spread", level.branch_spread, 0.0, 100.0)?;
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
}
