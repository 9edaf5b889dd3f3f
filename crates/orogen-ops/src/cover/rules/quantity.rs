//! What a rule speaks of.

use orogen_core::{LayerName, layer};

use super::{BiomeRef, Rule, Span};

/// What a rule measures.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Quantity {
    Slope,
    Curvature,
    Coast,
    River,
    Lake,
    Wetness,
    Noise,
    /// The values of a layer.
    Layer(LayerName),
}

/// A rule taken apart.
pub(super) enum Parsed<'a> {
    /// The weight is a curve over a quantity.
    Curve(Quantity, Span),
    /// The weight is the value of a layer.
    Mask(&'a LayerName),
    /// The weight is 1 where a layer holds one of some numbers.
    Numbers(LayerName, &'a [u32]),
    /// The weight is 1 in some biomes.
    Biomes(&'a [BiomeRef]),
}

/// The furthest that distances are measured.
pub(super) const MOST_M: f64 = 20_000.0;

impl Rule {
    /// All that it names: the word in the recipe, and what it means.
    pub(super) fn named(&self) -> Vec<(&'static str, Parsed<'_>)> {
        let of = |layer: LayerName| Quantity::Layer(layer);
        let spans = [
            ("slope_deg", self.slope_deg, Quantity::Slope),
            ("curvature_per_m", self.curvature_per_m, Quantity::Curvature),
            ("height_m", self.height_m, of(layer::HEIGHT.name())),
            ("coast_m", self.coast_m, Quantity::Coast),
            ("river_m", self.river_m, Quantity::River),
            ("lake_m", self.lake_m, Quantity::Lake),
            ("water_m", self.water_m, of(layer::WATER.name())),
            ("flow_m2", self.flow_m2, of(layer::FLOW.name())),
            ("wetness", self.wetness, Quantity::Wetness),
            ("sediment_m", self.sediment_m, of(layer::SEDIMENT.name())),
            ("soil_m", self.soil_m, of(layer::SOIL.name())),
            ("sand_m", self.sand_m, of(layer::SAND.name())),
            ("snow_m", self.snow_m, of(layer::SNOW.name())),
            ("ice_m", self.ice_m, of(layer::ICE.name())),
            ("temperature_c", self.temperature_c, of(layer::TEMPERATURE.name())),
            ("moisture", self.moisture, of(layer::MOISTURE.name())),
            ("rain_mm_per_yr", self.rain_mm_per_yr, of(layer::RAIN.name())),
            ("wind_m_per_s", self.wind_m_per_s, of(layer::WIND.name())),
            ("salt", self.salt, of(layer::SALT.name())),
            ("hardness", self.hardness, of(layer::HARDNESS.name())),
            ("noise", self.noise, Quantity::Noise),
        ];
        let mut all: Vec<(&'static str, Parsed<'_>)> = (spans.into_iter())
            .filter_map(|(name, span, quantity)| span.map(|span| (name, Parsed::Curve(quantity, span))))
            .collect();
        if let Some(name) = &self.layer {
            all.push((
                "layer",
                match self.between {
                    Some(span) => Parsed::Curve(Quantity::Layer(name.clone()), span),
                    None => Parsed::Numbers(name.clone(), &self.is),
                },
            ));
        }
        if let Some(name) = &self.mask {
            all.push(("mask", Parsed::Mask(name)));
        }
        if !self.biome.is_empty() {
            all.push(("biome", Parsed::Biomes(&self.biome)));
        }
        all
    }

    /// What it speaks of; `None` for rules that [`super::faults`] refuses.
    pub(super) fn parsed(&self) -> Option<Parsed<'_>> {
        self.named().into_iter().next().map(|(_, parsed)| parsed)
    }
}

impl Quantity {
    /// The layers that it is measured on.
    pub fn layers(&self) -> Vec<LayerName> {
        match self {
            Self::Slope | Self::Curvature | Self::Coast => vec![layer::HEIGHT.name()],
            Self::River | Self::Noise => Vec::new(),
            Self::Lake => vec![layer::HEIGHT.name(), layer::WATER.name()],
            Self::Wetness => vec![layer::HEIGHT.name(), layer::FLOW.name()],
            Self::Layer(name) => vec![name.clone()],
        }
    }

    /// Its name in explanations, and its unit.
    pub fn words(&self) -> (String, &'static str) {
        match self {
            Self::Slope => ("slope".into(), "deg"),
            Self::Curvature => ("curvature".into(), "1/m"),
            Self::Coast => ("distance from the coast".into(), "m"),
            Self::River => ("distance from a river".into(), "m"),
            Self::Lake => ("distance from a lake".into(), "m"),
            Self::Wetness => ("wetness".into(), ""),
            Self::Noise => ("noise".into(), ""),
            Self::Layer(name) => (name.as_str().replace('_', " "), layer::unit(name)),
        }
    }
}
