//! Where a GeoTIFF lies: from its tags to metres.

use orogen_core::math;

use super::container::Directory;
use super::meaning::{FOOT_M, SURVEY_FOOT_M};
use super::place::Place;
use super::{FORMAT, key, tag};
use crate::error::FormatError;

/// Position and spacing of the samples, in metres, and what the heights are measured in.
#[derive(Debug, PartialEq)]
pub(super) struct Georef {
    pub spacing_m: Option<[f64; 2]>,
    pub north_west_m: Option<[f64; 2]>,
    /// Rows run from south to north in the file.
    pub south_up: bool,
    /// Metres in one unit of height.
    pub height_unit_m: f64,
    /// The same in the file's own coordinates.
    pub place: Option<Place>,
}

/// Values of [`key::MODEL_TYPE`] and [`key::RASTER_TYPE`].
pub(super) const PROJECTED: u16 = 1;
pub(super) const GEOGRAPHIC: u16 = 2;
pub(super) const PIXEL_IS_POINT: u16 = 2;

impl Georef {
    /// Reads the georeferencing of an image of `rows` rows; `band_unit_m` is what its band says of its heights.
    pub fn read(
        directory: &Directory<'_>,
        rows: usize,
        band_unit_m: Option<f64>,
    ) -> Result<Self, FormatError> {
        let keys = Keys::read(directory)?;
        let vertical_unit_m = keys.vertical_unit_m()?;
        let height_unit_m = band_unit_m.or(vertical_unit_m).unwrap_or(1.0);
        let heights_change = height_unit_m != 1.0 || vertical_unit_m.is_some_and(|unit| unit != 1.0);
        let Some(Grid { scale, mut first }) = Grid::read(directory)? else {
            return Ok(Self {
                spacing_m: None,
                north_west_m: None,
                south_up: false,
                height_unit_m,
                place: None,
            });
        };
        let cell = [scale[0].abs(), scale[1].abs()];
        if !cell.iter().all(|&c| (1e-12..=1e9).contains(&c))
            || !first.iter().all(|f| f.is_finite())
            || scale[0] < 0.0
        {
            return Err(FormatError::broken(
                FORMAT,
                format!(
                    "its pixels measure {} x {} and the first lies at ({}, {})",
                    scale[0], scale[1], first[0], first[1]
                ),
            ));
        }
        // The position of a pixel is that of its corner unless the file says point; ours is that of the sample.
        if keys.short(key::RASTER_TYPE) != Some(PIXEL_IS_POINT) {
            first[0] += 0.5 * scale[0];
            first[1] -= 0.5 * scale[1];
        }
        let south_up = scale[1] < 0.0;
        if south_up {
            first[1] -= scale[1] * (rows - 1) as f64;
        }
        let unit_m = if keys.short(key::MODEL_TYPE) == Some(GEOGRAPHIC) {
            metres_per_degree(first[1] - 0.5 * cell[1] * (rows - 1) as f64)
        } else {
            let unit = match keys.short(key::LINEAR_UNIT) {
                Some(9002) => FOOT_M,
                Some(9003) => SURVEY_FOOT_M,
                Some(32767) => {
                    keys.double(key::LINEAR_UNIT_SIZE).filter(|u| (1e-6..=1e6).contains(u)).unwrap_or(1.0)
                }
                _ => 1.0,
            };
            [unit, unit]
        };
        Ok(Self {
            spacing_m: Some([cell[0] * unit_m[0], cell[1] * unit_m[1]]),
            north_west_m: Some([first[0] * unit_m[0], first[1] * unit_m[1]]),
            south_up,
            height_unit_m,
            place: Some(Place {
                first,
                cell,
                unit_m,
                keys: keys.carried(heights_change),
                doubles: keys.doubles,
                text: directory.text(tag::GEO_TEXT)?.unwrap_or_default(),
                notes: Vec::new(),
            }),
        })
    }
}

/// Pixel size (x to the east, y to the south) and the position of the first pixel, in the file's unit.
struct Grid {
    scale: [f64; 2],
    first: [f64; 2],
}

impl Grid {
    fn read(directory: &Directory<'_>) -> Result<Option<Self>, FormatError> {
        let matrix = directory.doubles(tag::TRANSFORMATION)?;
        if let [a, b, _, x, d, e, _, y, ..] = matrix[..] {
            if b != 0.0 || d != 0.0 {
                return Err(FormatError::Unsupported {
                    format: FORMAT,
                    found: String::from("a rotated or sheared grid"),
                    allowed: "a grid along east and north",
                });
            }
            return Ok(Some(Self { scale: [a, -e], first: [x, y] }));
        }
        let scale = directory.doubles(tag::PIXEL_SCALE)?;
        let tie = directory.doubles(tag::TIEPOINT)?;
        match (&scale[..], &tie[..]) {
            (&[sx, sy, ..], &[col, row, _, x, y, _, ..]) => {
                Ok(Some(Self { scale: [sx, sy], first: [x - col * sx, y + row * sy] }))
            }
            _ => Ok(None),
        }
    }
}

/// The GeoTIFF keys: a directory within the directory.
struct Keys {
    entries: Vec<u64>,
    doubles: Vec<f64>,
}

impl Keys {
    fn read(directory: &Directory<'_>) -> Result<Self, FormatError> {
        Ok(Self {
            entries: directory.whole_numbers(tag::GEO_KEYS)?.unwrap_or_default(),
            doubles: directory.doubles(tag::GEO_DOUBLES)?,
        })
    }

    /// Kind and value of a key; the first four numbers are the header.
    fn find(&self, key: u16) -> Option<(u64, u64)> {
        let entry = self.entries.chunks_exact(4).skip(1).find(|entry| entry[0] == u64::from(key))?;
        Some((entry[1], entry[3]))
    }

    fn short(&self, key: u16) -> Option<u16> {
        self.find(key).filter(|&(place, _)| place == 0).and_then(|(_, value)| u16::try_from(value).ok())
    }

    /// Metres in the unit of the vertical coordinate system; `None` where the file names neither.
    fn vertical_unit_m(&self) -> Result<Option<f64>, FormatError> {
        Ok(match (self.short(key::VERTICAL_UNIT), self.short(key::VERTICAL_SYSTEM)) {
            (Some(9001), _) => Some(1.0),
            (Some(9002), _) => Some(FOOT_M),
            (Some(9003), _) => Some(SURVEY_FOOT_M),
            (Some(9014), _) => Some(6.0 * FOOT_M),
            // 0 and 32767 stand for no unit and one that the file describes elsewhere.
            (Some(unit @ 9000..=9999), _) => {
                return Err(FormatError::Unsupported {
                    format: FORMAT,
                    found: format!("heights in the unit EPSG:{unit}"),
                    allowed: "metres (9001), feet (9002), US survey feet (9003) and fathoms (9014)",
                });
            }
            // Height systems in feet that are often named without their unit: of the sea, NAVD88 and NGVD29.
            (_, Some(8050 | 8228)) => Some(FOOT_M),
            (_, Some(5702 | 6360 | 8052)) => Some(SURVEY_FOOT_M),
            _ => None,
        })
    }

    /// The keys as they stand, but for those of a unit of height that no longer holds once heights are metres.
    fn carried(&self, heights_changed: bool) -> Vec<[u16; 4]> {
        let entries = self.entries.chunks_exact(4).skip(1);
        let keys = entries.filter_map(|entry| {
            let [key, place, count, value] = [entry[0], entry[1], entry[2], entry[3]].map(u16::try_from);
            Some([key.ok()?, place.ok()?, count.ok()?, value.ok()?])
        });
        keys.filter(|[key, ..]| !heights_changed || *key < key::VERTICAL_SYSTEM).collect()
    }

    fn double(&self, key: u16) -> Option<f64> {
        let (place, index) = self.find(key)?;
        let index = usize::try_from(index).ok()?;
        (place == u64::from(tag::GEO_DOUBLES)).then(|| self.doubles.get(index).copied()).flatten()
    }
}

/// Metres in a degree of longitude and of latitude, at a latitude on the WGS84 ellipsoid.
fn metres_per_degree(latitude_deg: f64) -> [f64; 2] {
    const RADIUS_M: f64 = 6_378_137.0;
    const ECCENTRICITY_2: f64 = 6.694_379_990_141e-3;
    let latitude = latitude_deg.clamp(-89.9, 89.9).to_radians();
    let sin = math::sin(latitude);
    let w = (1.0 - ECCENTRICITY_2 * sin * sin).sqrt();
    let degree_m = RADIUS_M.to_radians();
    [degree_m * math::cos(latitude) / w, degree_m * (1.0 - ECCENTRICITY_2) / (w * w * w)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    #[test]
    fn a_degree_on_the_ellipsoid() {
        // Tabulated lengths of a degree: 111.320 and 110.574 km on the equator, 78.847 and 111.132 km at 45 degrees.
        let [x, y] = metres_per_degree(0.0);
        assert_close!(x, 111_319.5, abs = 0.1);
        assert_close!(y, 110_574.3, abs = 0.1);
        let [x, y] = metres_per_degree(45.0);
        assert_close!(x, 78_846.8, abs = 0.1);
        assert_close!(y, 111_131.7, abs = 0.1);
    }
}
