//! Rules that say where a thing is at home: ground materials and plants alike.
//!
//! A [`Rule`] names one parameter of the land, the range in which the thing occurs, and a weight over that range. The weight of a
//! thing at a place is the product of those of all its rules,
//!
//! ```text
//! w(r) = Π wᵢ(fᵢ(r))
//! ```
//!
//! equation (1) of Mikuličić & Mihajlović, "Procedural generation of Mediterranean environments", MIPRO 2016.
//!
//! How to use them: parameters hold `Vec<Rule>`; `Op::faults` asks [`faults`], `Op::layers` asks [`Needs`], `Op::reach` asks
//! [`reach_m`], and `Op::run` makes [`Compiled`] of them once for a terrain, which gives weights [by rows](Compiled::row) or [parts of them](Compiled::block), [at a
//! place](Compiled::at) and [with reasons](Compiled::explain).

mod compiled;
mod curve;
mod fields;
mod ground;
mod needs;
mod quantity;
mod rivers;
#[cfg(test)]
mod tests;

pub use compiled::{BLOCK, Buffers, Compiled, Factor, Measured};
pub use fields::Asked;
pub use needs::{Needs, bytes_a_sample, faults, reach_m};

use super::satellite::Kind;
use orogen_core::LayerName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span(#[schemars(inner(range(min = -1e9, max = 1e9)))] pub [f64; 2]);

/// A biome by its name, or by its number where it is one of the recipe's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BiomeRef {
    /// Its number in the layer `biome`.
    Number(u8),
    /// Its name, as in "taiga".
    Name(String),
}

impl From<&str> for BiomeRef {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// How much a thing likes each value of its range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Curve {
    /// Points [x, weight] with straight lines between them; x runs from 0 at the start of the range to 1 at its end.
    Points(#[schemars(length(min = 2, max = 64), inner(inner(range(min = 0.0, max = 1.0))))] Vec<[f64; 2]>),
    /// A shape with a name.
    Named(Shape),
}

impl Default for Curve {
    fn default() -> Self {
        Self::Named(Shape::Flat)
    }
}

/// Shapes of weights over a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// 1 all over the range.
    #[default]
    Flat,
    /// From 0 at both ends to 1 in the middle.
    Bell,
    /// From 0 at the start to 1 at the end.
    Rise,
    /// From 1 at the start to 0 at the end.
    Fall,
}

/// Where a thing is at home, as far as one parameter of the land says: `{ slope_deg = [0, 35], fade = 5 }`.
///
/// A rule names one parameter with its range, or one `layer`, `mask` or `biome`. Within the range the weight follows `curve`; outside
/// it is 0, or fades to 0 over `fade`. A place where the parameter is not known has the weight 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Steepness of the ground, measured over `over_m`.
    #[schemars(extend("x-unit" = "deg"))]
    pub slope_deg: Option<Span>,
    /// Curvature of the ground, measured over `over_m`: ridges above 0, hollows below.
    #[schemars(extend("x-unit" = "1/m"))]
    pub curvature_per_m: Option<Span>,
    /// Height above the sea.
    #[schemars(extend("x-unit" = "m"))]
    pub height_m: Option<Span>,
    /// Distance from the coast: above 0 on land, below 0 at sea. Distances are measured up to 20 km; what is farther counts as that.
    #[schemars(extend("x-unit" = "m"))]
    pub coast_m: Option<Span>,
    /// Distance from the banks of the nearest river (vectors `rivers`); 0 in it.
    #[schemars(extend("x-unit" = "m"))]
    pub river_m: Option<Span>,
    /// Distance from the shore of the nearest lake (layer `water`, ground above the sea): below 0 on the lake.
    #[schemars(extend("x-unit" = "m"))]
    pub lake_m: Option<Span>,
    /// Depth of water.
    #[schemars(extend("x-unit" = "m"))]
    pub water_m: Option<Span>,
    /// Area that drains through a place.
    #[schemars(extend("x-unit" = "m2"))]
    pub flow_m2: Option<Span>,
    /// Topographic wetness over `over_m`, ln(area that drains through a metre of width / slope): 4 on dry ridges, 12 on wet valley floors.
    pub wetness: Option<Span>,
    /// Depth of loose sediment.
    #[schemars(extend("x-unit" = "m"))]
    pub sediment_m: Option<Span>,
    /// Depth of soil.
    #[schemars(extend("x-unit" = "m"))]
    pub soil_m: Option<Span>,
    /// Depth of sand.
    #[schemars(extend("x-unit" = "m"))]
    pub sand_m: Option<Span>,
    /// Depth of snow.
    #[schemars(extend("x-unit" = "m"))]
    pub snow_m: Option<Span>,
    /// Thickness of ice.
    #[schemars(extend("x-unit" = "m"))]
    pub ice_m: Option<Span>,
    /// Yearly mean temperature.
    #[schemars(extend("x-unit" = "degC"))]
    pub temperature_c: Option<Span>,
    /// Moisture, 0 dry to 1 wet.
    pub moisture: Option<Span>,
    /// Rain of a year.
    #[schemars(extend("x-unit" = "mm/yr"))]
    pub rain_mm_per_yr: Option<Span>,
    /// Speed of the wind.
    #[schemars(extend("x-unit" = "m/s"))]
    pub wind_m_per_s: Option<Span>,
    /// Salt from sea spray, 0 to 1.
    pub salt: Option<Span>,
    /// Hardness of the rock, 0 to 1.
    pub hardness: Option<Span>,
    /// Noise, 0 to 1 with a mean of 0.5, in waves of `wavelength_m`.
    pub noise: Option<Span>,
    /// Any layer; its range is `between`, or its numbers are those of `is`.
    pub layer: Option<LayerName>,
    /// With `layer`: its range.
    pub between: Option<Span>,
    /// With `layer`: the numbers that it may hold, where it holds numbers of things.
    #[schemars(length(max = 256), inner(range(min = 0, max = 4_294_967_295_u32)))]
    pub is: Vec<u32>,
    /// A layer from 0 to 1 whose value is the weight.
    pub mask: Option<LayerName>,
    /// The biomes, by name.
    #[schemars(length(max = 256))]
    pub biome: Vec<BiomeRef>,
    /// The kinds of ground that an image shows (`cover.satellite`). Where the image says nothing the weight is 1, so that other rules decide.
    #[schemars(length(max = 16))]
    pub satellite: Vec<Kind>,
    /// How the weight goes over the range: "flat", "bell", "rise", "fall", or points.
    pub curve: Curve,
    /// Width over which the weight fades to 0 outside the range, in the unit of the parameter.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub fade: f64,
    /// Length over which slope, curvature and wetness are measured, so that a preview has the same cover.
    #[schemars(range(min = 1.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [10.0, 200.0]))]
    pub over_m: f64,
    /// With `noise`: length of its longest waves.
    #[schemars(range(min = 0.1, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub wavelength_m: f64,
    /// With `noise`: a number for each pattern; rules with the same number and wavelength share one.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub pattern: u32,
    /// Turns the rule round: the weight is 1 less that of the range.
    pub except: bool,
    /// How much the rule counts: with 0.4 the weight never falls below 0.6.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub strength: f64,
    /// Weight on land that does not have the layer at all; if not stated, the layer is needed.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub without: Option<f64>,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            slope_deg: None,
            curvature_per_m: None,
            height_m: None,
            coast_m: None,
            river_m: None,
            lake_m: None,
            water_m: None,
            flow_m2: None,
            wetness: None,
            sediment_m: None,
            soil_m: None,
            sand_m: None,
            snow_m: None,
            ice_m: None,
            temperature_c: None,
            moisture: None,
            rain_mm_per_yr: None,
            wind_m_per_s: None,
            salt: None,
            hardness: None,
            noise: None,
            layer: None,
            between: None,
            is: Vec::new(),
            mask: None,
            biome: Vec::new(),
            curve: Curve::default(),
            fade: 0.0,
            satellite: Vec::new(),
            over_m: 30.0,
            wavelength_m: 300.0,
            pattern: 0,
            except: false,
            strength: 1.0,
            without: None,
        }
    }
}
