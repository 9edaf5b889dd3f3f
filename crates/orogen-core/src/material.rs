//! The ground materials: names, mean colours, how rough they are.
//!
//! The weights `material.<name>` say how much of each lies at a place; the textures of a material have its mean colour.

use crate::layer::LayerName;

/// What is known about a ground material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Its name: that of its layer is `material.` and this.
    pub name: &'static str,
    /// Its mean colour in daylight, in sRGB.
    pub color: [u8; 3],
    /// How matt it is, from 0 (a mirror) to 1 (chalk).
    pub roughness: f32,
}

const fn info(name: &'static str, color: [u8; 3], roughness: f32) -> Info {
    Info { name, color, roughness }
}

/// Every material that the program knows; recipes may have others.
pub const MATERIALS: [Info; 17] = [
    info("granite", [142, 135, 128], 0.85),
    info("limestone", [184, 178, 164], 0.9),
    info("basalt", [80, 78, 78], 0.8),
    info("sandstone", [176, 140, 106], 0.92),
    info("scree", [138, 132, 124], 0.95),
    info("gravel", [134, 126, 114], 0.93),
    info("soil", [104, 84, 63], 0.95),
    info("mud", [88, 75, 59], 0.6),
    info("sand", [214, 197, 157], 0.92),
    info("grass", [96, 114, 58], 0.9),
    info("dry_grass", [168, 150, 98], 0.92),
    info("forest_floor", [80, 71, 48], 0.95),
    info("moss", [86, 98, 48], 0.93),
    info("ash", [78, 74, 72], 0.95),
    info("lichen", [141, 142, 112], 0.93),
    info("snow", [240, 243, 247], 0.75),
    info("ice", [192, 213, 223], 0.3),
];

/// The colour of a material that nothing is known about.
pub const UNKNOWN: [u8; 3] = [128, 128, 128];

/// What is known about a material by its name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Info> {
    MATERIALS.iter().find(|info| info.name == name)
}

/// What is known about the material of a layer such as `material.sand`.
#[must_use]
pub fn of_layer(layer: &LayerName) -> Option<&'static Info> {
    layer.as_str().strip_prefix("material.").and_then(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn materials_have_names_of_layers_and_colours_of_their_own() {
        for (i, info) in MATERIALS.iter().enumerate() {
            let layer = LayerName::parse(&format!("material.{}", info.name)).expect("a layer name");
            assert_eq!(of_layer(&layer), Some(info));
            assert!((0.0..=1.0).contains(&info.roughness));
            let others = MATERIALS[i + 1..].iter();
            assert!(others.clone().all(|other| other.name != info.name && other.color != info.color));
        }
        assert_eq!(named("marble"), None);
    }
}
