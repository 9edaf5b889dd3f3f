//! Layers: what a raster means and in which unit.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::kinds::Kind;

/// The name of a layer: lower-case words of letters, digits and underscores, joined by dots (`material.rock`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(extend("x-kind" = "layer"))]
pub struct LayerName(Cow<'static, str>);

impl LayerName {
    /// A name known when the program was written.
    #[must_use]
    pub const fn fixed(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// A name from outside, `None` when it is not a layer name (they also become file names, so the letters are few).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let word = |w: &str| {
            w.starts_with(|c: char| c.is_ascii_lowercase())
                && w.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        (name.len() <= 64 && name.split('.').all(word)).then(|| Self(Cow::Owned(name.to_owned())))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its first word: `material` of `material.rock`.
    #[must_use]
    pub fn family(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }
}

impl fmt::Debug for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&'static str> for LayerName {
    /// A name known when the program was written.
    fn from(name: &'static str) -> Self {
        Self::fixed(name)
    }
}

impl Borrow<str> for LayerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for LayerName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "{text:?} is not a valid layer name; use words of a-z, 0-9 and _ joined by dots, as in \"mask.steep\""
            ))
        })
    }
}

/// A well-known layer: its name together with the kind of number it holds.
#[derive(Debug)]
pub struct Layer<T> {
    name: &'static str,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Layer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Layer<T> {}

impl<T> Layer<T> {
    const fn new(name: &'static str) -> Self {
        Self { name, kind: PhantomData }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> LayerName {
        LayerName::fixed(self.name)
    }
}

/// Elevation above sea level, in metres.
pub const HEIGHT: Layer<f32> = Layer::new("height");
/// Depth of standing or running water, in metres.
pub const WATER: Layer<f32> = Layer::new("water");
/// The loose part of the height, in metres.
pub const SEDIMENT: Layer<f32> = Layer::new("sediment");
/// Depth of soil that the ground itself has made and that creeps on slopes, in metres; part of the height.
pub const SOIL: Layer<f32> = Layer::new("soil");
/// Depth of sand that wind or waves have laid, in metres; part of the height.
pub const SAND: Layer<f32> = Layer::new("sand");
/// Thickness of ice that lies on the ground, in metres; not part of the height.
pub const ICE: Layer<f32> = Layer::new("ice");
/// Yearly mean temperature, in degrees Celsius.
pub const TEMPERATURE: Layer<f32> = Layer::new("temperature");
/// Moisture, from 0 (dry) to 1 (wet).
pub const MOISTURE: Layer<f32> = Layer::new("moisture");
/// Rain and melted snow of a year, in millimetres.
pub const RAIN: Layer<f32> = Layer::new("rain");
/// Mean speed of the wind, in metres a second.
pub const WIND: Layer<f32> = Layer::new("wind");
/// Salt from sea spray, from 0 (none) to 1 (as on an open shore).
pub const SALT: Layer<f32> = Layer::new("salt");
/// Depth of lying snow, in metres; not part of the height.
pub const SNOW: Layer<f32> = Layer::new("snow");
/// Drained area, in square metres.
pub const FLOW: Layer<f32> = Layer::new("flow");
/// Steepness, in degrees.
pub const SLOPE: Layer<f32> = Layer::new("slope");
/// Light on the ground, from 0 to 1.
pub const HILLSHADE: Layer<f32> = Layer::new("hillshade");
/// Biome numbers (see [`crate::biome`]).
pub const BIOME: Layer<u8> = Layer::new("biome");
/// Kinds of ground that an image shows (see [`crate::LandClass`]).
pub const SATELLITE: Layer<u8> = Layer::new("satellite");
/// How far east the ground is moved from its sample, in metres.
pub const DISPLACE_X: Layer<f32> = Layer::new("displace.x");
/// How far north the ground is moved from its sample, in metres.
pub const DISPLACE_Y: Layer<f32> = Layer::new("displace.y");
/// How far up the ground is moved from its height, in metres.
pub const DISPLACE_Z: Layer<f32> = Layer::new("displace.z");
/// Numbers of drainage basins, from 1; 0 for none.
pub const BASIN: Layer<u32> = Layer::new("basin");
/// Distance from the shore, in metres: positive on land, negative at sea.
pub const SHORE: Layer<f32> = Layer::new("shore");
/// How fast the ground rises, in millimetres a year.
pub const UPLIFT: Layer<f32> = Layer::new("uplift");
/// How fast a stream that drains 1 km² cuts down at slope 1, in millimetres a year.
pub const INCISION: Layer<f32> = Layer::new("incision");
/// How hard the rock at the surface is, from 0 (as loose ground) over 0.5 (middling) to 1.
pub const HARDNESS: Layer<f32> = Layer::new("hardness");
/// The number of the bed at the surface.
pub const BED: Layer<u16> = Layer::new("bed");
/// Height of the crowns above the ground, in metres.
pub const CANOPY_HEIGHT: Layer<f32> = Layer::new("canopy.height");
/// Share of the ground under crowns, from 0 to 1.
pub const CANOPY_COVER: Layer<f32> = Layer::new("canopy.cover");
/// Colour of the crowns: red, green and blue in sRGB, from 0 to 1.
pub const CANOPY_COLOR: [Layer<f32>; 3] =
    [Layer::new("canopy.red"), Layer::new("canopy.green"), Layer::new("canopy.blue")];
/// Where a step acts, from 0 (not) to 1 (fully).
pub const MASK: Layer<f32> = Layer::new("mask");

/// What is known about a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Name, or the first word of a family such as `material`.
    pub name: &'static str,
    /// Unit of its values; empty for plain numbers.
    pub unit: &'static str,
    /// What it says, in a few words.
    pub about: &'static str,
    /// The kind of number that it holds.
    pub kind: Kind,
}

/// Every well-known layer.
pub const WELL_KNOWN: &[Info] = &[
    Info { name: "height", unit: "m", about: "elevation above sea level", kind: Kind::F32 },
    Info { name: "water", unit: "m", about: "depth of water", kind: Kind::F32 },
    Info { name: "sediment", unit: "m", about: "loose part of the height", kind: Kind::F32 },
    Info {
        name: "soil",
        unit: "m",
        about: "depth of soil, part of the height; 0 is bare rock",
        kind: Kind::F32,
    },
    Info { name: "sand", unit: "m", about: "depth of sand, part of the height", kind: Kind::F32 },
    Info { name: "ice", unit: "m", about: "thickness of ice on the ground", kind: Kind::F32 },
    Info { name: "temperature", unit: "degC", about: "yearly mean temperature", kind: Kind::F32 },
    Info { name: "moisture", unit: "", about: "moisture, 0 dry to 1 wet", kind: Kind::F32 },
    Info { name: "rain", unit: "mm/yr", about: "rain and snow of a year", kind: Kind::F32 },
    Info { name: "wind", unit: "m/s", about: "mean speed of the wind", kind: Kind::F32 },
    Info { name: "salt", unit: "", about: "salt from sea spray, 0 none to 1 open shore", kind: Kind::F32 },
    Info { name: "snow", unit: "m", about: "depth of lying snow", kind: Kind::F32 },
    Info { name: "flow", unit: "m2", about: "drained area", kind: Kind::F32 },
    Info { name: "basin", unit: "id", about: "number of the drainage basin, 0 for none", kind: Kind::U32 },
    Info { name: "shore", unit: "m", about: "distance from the shore, negative at sea", kind: Kind::F32 },
    Info { name: "uplift", unit: "mm/yr", about: "how fast the ground rises", kind: Kind::F32 },
    Info {
        name: "incision",
        unit: "mm/yr",
        about: "how fast a stream that drains 1 km² cuts at slope 1",
        kind: Kind::F32,
    },
    Info {
        name: "hardness",
        unit: "",
        about: "hardness of the rock at the surface, 0 to 1",
        kind: Kind::F32,
    },
    Info { name: "bed", unit: "id", about: "number of the bed at the surface", kind: Kind::U16 },
    Info { name: "slope", unit: "deg", about: "steepness", kind: Kind::F32 },
    Info { name: "hillshade", unit: "", about: "light on the ground, 0 to 1", kind: Kind::F32 },
    Info {
        name: "displace",
        unit: "m",
        about: "how far the ground is moved east (x), north (y) and up (z): overhangs",
        kind: Kind::F32,
    },
    Info {
        name: "film",
        unit: "m",
        about: "a snapshot on the way: depth of water or sediment, or change of height",
        kind: Kind::F32,
    },
    Info { name: "biome", unit: "id", about: "biome number", kind: Kind::U8 },
    Info {
        name: "satellite",
        unit: "id",
        about: "kind of ground that an image shows, 0 for none",
        kind: Kind::U8,
    },
    Info { name: "mask", unit: "", about: "where a step acts, 0 to 1", kind: Kind::F32 },
    Info { name: "material", unit: "", about: "share of a ground material, in 1/255", kind: Kind::Weight },
    Info { name: "density", unit: "1/m2", about: "plants per square metre", kind: Kind::F32 },
    Info { name: "young", unit: "1/m2", about: "plants per square metre that still grow", kind: Kind::F32 },
    Info {
        name: "old",
        unit: "1/m2",
        about: "plants per square metre past three quarters of their life",
        kind: Kind::F32,
    },
    Info {
        name: "canopy",
        unit: "",
        about: "crowns seen from above: height in m, share of ground covered, red, green, blue",
        kind: Kind::F32,
    },
];

/// What is known about a layer or its family; `None` for a name of the user's own.
#[must_use]
pub fn info(name: &LayerName) -> Option<&'static Info> {
    WELL_KNOWN.iter().find(|info| info.name == name.family())
}

/// Unit of a layer; empty for plain numbers and names of the user's own.
#[must_use]
pub fn unit(name: &LayerName) -> &'static str {
    info(name).map_or("", |info| info.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_joined_by_dots() {
        for good in ["height", "mask.steep", "material.wet_rock2"] {
            assert!(LayerName::parse(good).is_some(), "{good}");
        }
        for bad in ["", "Height", "a..b", ".a", "a/b", "../a", "a b", "9a"] {
            assert!(LayerName::parse(bad).is_none(), "{bad}");
        }
    }
}
