//! What operators that take points and lines share: where they lie in the world and how high.

use orogen_core::{FeatureSet, OpError, Property, Rect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How given coordinates are placed in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// They are metres of the world: x to the east, y to the north.
    #[default]
    Own,
    /// At their own scale, with the middle of what they cover on the middle of the world.
    Middle,
    /// Stretched until what they cover is the world.
    Fit,
}

/// From given coordinates to those of the world, each axis separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Map {
    from: [f64; 2],
    scale: [f64; 2],
    to: [f64; 2],
}

impl Map {
    /// The map for places that cover `covered`.
    pub fn new(placement: Placement, covered: &Rect, world: &Rect, shift_m: [f64; 2]) -> Self {
        let middle = |rect: &Rect, k: usize| 0.5 * (rect.min[k] + rect.max[k]);
        let axis = |k: usize| {
            let (size, world_size) = (covered.size()[k], world.size()[k]);
            match placement {
                Placement::Own => (0.0, 1.0, 0.0),
                // What covers nothing cannot be stretched.
                Placement::Fit if size > 0.0 => (covered.min[k], world_size / size, world.min[k]),
                Placement::Middle | Placement::Fit => (middle(covered, k), 1.0, middle(world, k)),
            }
        };
        let (x, y) = (axis(0), axis(1));
        Self { from: [x.0, y.0], scale: [x.1, y.1], to: [x.2 + shift_m[0], y.2 + shift_m[1]] }
    }

    /// Where a place lies in the world.
    pub fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [(x - self.from[0]) * self.scale[0] + self.to[0], (y - self.from[1]) * self.scale[1] + self.to[1]]
    }
}

/// The smallest rectangle round places, `None` without any.
pub(crate) fn covered(places: impl IntoIterator<Item = [f64; 2]>) -> Option<Rect> {
    places.into_iter().fold(None, |rect: Option<Rect>, [x, y]| {
        let rect = rect.unwrap_or(Rect { min: [x, y], max: [x, y] });
        Some(Rect {
            min: [rect.min[0].min(x), rect.min[1].min(y)],
            max: [rect.max[0].max(x), rect.max[1].max(y)],
        })
    })
}

/// Properties that are heights, in the order in which they are looked for.
const HEIGHT_NAMES: [&str; 13] = [
    "elevation_m",
    "elevation",
    "elev_m",
    "elev",
    "ele",
    "height_m",
    "height",
    "z_m",
    "z",
    "altitude",
    "alt",
    "contour",
    "level",
];

/// Where the heights of features are.
pub(super) enum Heights<'a> {
    Property(&'a str),
    Vertices,
}

impl<'a> Heights<'a> {
    /// The given property; else one that is named like a height; else the third coordinate.
    pub fn of(set: &'a FeatureSet, property: &'a str) -> Self {
        if !property.is_empty() {
            return Self::Property(property);
        }
        let named = |wanted: &&str| set.property_names().find(|name| name.eq_ignore_ascii_case(wanted));
        HEIGHT_NAMES.iter().find_map(named).map_or(Self::Vertices, Self::Property)
    }

    /// The height of a vertex of a feature.
    pub fn at(&self, set: &FeatureSet, feature: usize, z_m: f64, path: &str) -> Result<f64, OpError> {
        let height = match self {
            Self::Property(name) => set
                .property(feature, name)
                .and_then(Property::number)
                // A feature that lacks what others have may still have its height in its vertices.
                .or((!z_m.is_nan()).then_some(z_m)),
            Self::Vertices => (!z_m.is_nan()).then_some(z_m),
        };
        height.filter(|height| height.abs() <= MOST_M).ok_or_else(|| {
            let number = set.number(feature);
            let sought = match self {
                Self::Property(name) => format!("its property {name:?} and third coordinates"),
                Self::Vertices => String::from("its properties and third coordinates"),
            };
            OpError::File {
                path: path.to_owned(),
                reason: format!(
                    "feature {number} has no height from {} to {MOST_M} m in {sought}; set `property` to the name of the property with heights",
                    -MOST_M
                ),
            }
        })
    }
}

/// The greatest height, either way.
pub(super) const MOST_M: f64 = 1e5;
