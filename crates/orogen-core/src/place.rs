//! Where on Earth a land lies.

use serde::{Deserialize, Serialize};

/// Where on Earth a land lies, as far as that is known.
///
/// The land itself goes by the metres of its frame; this says where they are. It belongs to the whole world of a recipe and is
/// the same for every window of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// Latitude of the middle of the world, in degrees north.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latitude_deg: Option<f64>,
    /// Longitude of the middle of the world, in degrees east.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longitude_deg: Option<f64>,
    /// The direction of true north, in degrees clockwise from the frame's y axis; the axis itself where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub north_deg: Option<f64>,
    /// The coordinate system that the metres of the frame belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crs: Option<Crs>,
}

/// A projected coordinate system in metres.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crs {
    /// Its number in the register of EPSG.
    pub epsg: u16,
    /// What is added to the metres of the frame to have its coordinates, (x, y).
    pub offset_m: [f64; 2],
}

impl Crs {
    /// Numbers that coordinate systems have in the register; 32767 stands for one that a file describes itself.
    pub const EPSG: std::ops::Range<u16> = 1024..32767;
}

impl Place {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// What this says and, where it is silent, what another says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            latitude_deg: self.latitude_deg.or(other.latitude_deg),
            longitude_deg: self.longitude_deg.or(other.longitude_deg),
            north_deg: self.north_deg.or(other.north_deg),
            crs: self.crs.or(other.crs),
        }
    }
}

/// Where a file says that its samples lie.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Georeference {
    /// Longitude and latitude of its middle, in degrees.
    pub middle_deg: Option<[f64; 2]>,
    /// Its coordinate system, if that is projected and in metres, and the coordinates of its south-west sample.
    pub crs: Option<(u16, [f64; 2])>,
    /// From the first to the last sample, (x, y), in metres.
    pub size_m: [f64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_first_wins() {
        let recipe = Place { latitude_deg: Some(10.0), ..Place::default() };
        let crs = Some(Crs { epsg: 32632, offset_m: [1.0, 2.0] });
        let file = Place { latitude_deg: Some(46.0), longitude_deg: Some(8.0), north_deg: None, crs };
        let both = recipe.or(file);
        assert_eq!((both.latitude_deg, both.longitude_deg, both.crs), (Some(10.0), Some(8.0), crs));
        assert!(Place::default().or(Place::default()).is_unknown() && !both.is_unknown());
    }
}
