//! Species files of the program Arbaro (XML).

use crate::species::{Level, Shape, Species, SpeciesError};

/// Largest file, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Outlines by the numbers of the paper.
const SHAPES: [Shape; 9] = [
    Shape::Conical,
    Shape::Spherical,
    Shape::Hemispherical,
    Shape::Cylindrical,
    Shape::TaperedCylindrical,
    Shape::Flame,
    Shape::InverseConical,
    Shape::TendFlame,
    Shape::Envelope,
];

/// Reads a species as Arbaro writes it. Parameters that it has beside those of the plant (smoothing, say) are passed over.
///
/// # Errors
/// When the text is not XML, holds no species, or has numbers that make no plant.
pub fn from_arbaro(text: &str) -> Result<Species, SpeciesError> {
    let wrong = |reason: String| SpeciesError::Text(reason);
    if text.len() > MOST_BYTES {
        return Err(wrong(format!("a species of {} bytes is too long", text.len())));
    }
    // Documents with a type are refused, and with them all entities of a stranger's making.
    let document =
        roxmltree::Document::parse(text).map_err(|e| wrong(format!("not a valid XML file: {e}")))?;
    let species = document
        .descendants()
        .find(|node| node.has_tag_name("species"))
        .ok_or_else(|| wrong(String::from("there is no <species> in it")))?;
    let mut file = File { name: species.attribute("name").unwrap_or("plant").to_owned(), values: Vec::new() };
    for param in species.descendants().filter(|node| node.has_tag_name("param")) {
        if let (Some(name), Some(value)) = (param.attribute("name"), param.attribute("value")) {
            file.values.push((name, value));
        }
    }
    file.species().map_err(|error| {
        let named = match &error {
            SpeciesError::Value { name, .. } => {
                let has_name = |node: &roxmltree::Node<'_, '_>| node.attribute("name") == Some(name);
                species.descendants().rfind(has_name)
            }
            _ => None,
        };
        error.on(named.map(|node| document.text_pos_at(node.range().start).row as usize))
    })
}

struct File<'a> {
    name: String,
    values: Vec<(&'a str, &'a str)>,
}

impl File<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        // The last counts, as in Arbaro.
        self.values.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.trim())
    }

    fn number(&self, name: &str, usual: f64) -> Result<f64, SpeciesError> {
        let Some(text) = self.text(name) else { return Ok(usual) };
        text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| SpeciesError::Value {
            name: name.to_owned(),
            value: format!("{text:?}"),
            allowed: String::from("it must be a number"),
        })
    }

    fn whole(&self, name: &str, usual: i32, low: i32, high: i32) -> Result<i32, SpeciesError> {
        let value = self.number(name, f64::from(usual))?;
        if value.fract() == 0.0 && value >= f64::from(low) && value <= f64::from(high) {
            return Ok(value as i32);
        }
        let allowed = format!("it must be a whole number from {low} to {high}");
        Err(SpeciesError::Value { name: name.to_owned(), value: value.to_string(), allowed })
    }

    fn shape(&self, name: &str, usual: i32) -> Result<Shape, SpeciesError> {
        Ok(SHAPES[self.whole(name, usual, 0, 8)? as usize])
    }

    fn species(&self) -> Result<Species, SpeciesError> {
        let mut species = Species {
            name: self.name.clone(),
            shape: self.shape("Shape", 0)?,
            height_m: self.number("Scale", 10.0)?,
            height_vary_m: self.number("ScaleV", 0.0)?,
            bare_share: self.number("BaseSize", 0.25)?,
            ratio: self.number("Ratio", 0.05)?,
            ratio_power: self.number("RatioPower", 1.0)?,
            flare: self.number("Flare", 0.5)?,
            lobes: self.whole("Lobes", 0, 0, 100)? as u32,
            lobe_depth: self.number("LobeDepth", 0.0)?,
            attraction_up: self.number("AttractionUp", 0.0)?,
            trunk_scale: self.number("0Scale", 1.0)?,
            trunk_scale_vary: self.number("0ScaleV", 0.0)?,
            base_splits: self.whole("0BaseSplits", 0, 0, 100)? as u32,
            ..Species::default()
        };
        species.prune.ratio = self.number("PruneRatio", 0.0)?;
        species.prune.width = self.number("PruneWidth", 0.5)?;
        species.prune.peak = self.number("PruneWidthPeak", 0.5)?;
        species.prune.power_low = self.number("PrunePowerLow", 0.5)?;
        species.prune.power_high = self.number("PrunePowerHigh", 0.5)?;
        species.leaves.count = self.whole("Leaves", 0, -10_000, 10_000)?;
        self.text("LeafShape").unwrap_or("0").clone_into(&mut species.leaves.form);
        species.leaves.length_m = self.number("LeafScale", 0.2)?;
        species.leaves.width_share = self.number("LeafScaleX", 0.5)?;
        species.leaves.spread = self.shape("LeafDistrib", 4)?;
        species.leaves.stalk_share = self.number("LeafStemLen", 0.5)?;
        species.leaves.bend = self.number("LeafBend", 0.3)?;
        species.leaves.quality = self.number("LeafQuality", 1.0)?;
        let levels = self.whole("Levels", 3, 1, 4)?;
        species.levels = (0..levels).map(|level| self.level(level)).collect::<Result<_, _>>()?;
        // Leaves stand as stems of the next level would.
        let next = self.level(levels.min(3))?;
        species.leaves.down_deg = next.down_deg;
        species.leaves.down_vary_deg = next.down_vary_deg;
        species.leaves.rotate_deg = next.rotate_deg;
        species.leaves.rotate_vary_deg = next.rotate_vary_deg;
        species.check()?;
        Ok(species)
    }

    fn level(&self, level: i32) -> Result<Level, SpeciesError> {
        let is_trunk = level == 0;
        let name = |name: &str| format!("{level}{name}");
        let number = |what: &str, usual: f64| self.number(&name(what), usual);
        Ok(Level {
            branches: self.whole(&name("Branches"), if is_trunk { 1 } else { 10 }, 0, 1000)? as u32,
            branch_spread: number("BranchDist", if is_trunk { 0.0 } else { 1.0 })?,
            bare_share: 0.0,
            down_deg: number("DownAngle", if is_trunk { 0.0 } else { 30.0 })?,
            down_vary_deg: number("DownAngleV", 0.0)?,
            rotate_deg: number("Rotate", if is_trunk { 0.0 } else { 120.0 })?,
            rotate_vary_deg: number("RotateV", 0.0)?,
            length: number("Length", if is_trunk { 1.0 } else { 0.5 })?,
            length_vary: number("LengthV", 0.0)?,
            taper: number("Taper", 1.0)?,
            pieces: self.whole(&name("CurveRes"), 3, 1, 200)? as u32,
            curve_deg: number("Curve", 0.0)?,
            curve_back_deg: number("CurveBack", 0.0)?,
            curve_vary_deg: number("CurveV", 0.0)?,
            splits: number("SegSplits", 0.0)?,
            split_deg: number("SplitAngle", 0.0)?,
            split_vary_deg: number("SplitAngleV", 0.0)?,
        })
    }
}
