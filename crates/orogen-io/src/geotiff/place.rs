//! Where the samples of a raster lie in the coordinates of their own file, so that results lie where their source did.

use orogen_core::{Crs, Frame};
use serde::{Deserialize, Serialize};

use super::container::Field;
use super::earth::georeference;
use super::georef::{PIXEL_IS_POINT, PROJECTED};
use super::{key, tag};
use crate::about::LOCAL_CRS;

/// Position, spacing and coordinate system of a raster, in the unit of its own file (metres, feet or degrees).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub(super) first: [f64; 2],
    pub(super) cell: [f64; 2],
    pub(super) unit_m: [f64; 2],
    pub(super) keys: Vec<[u16; 4]>,
    pub(super) doubles: Vec<f64>,
    pub(super) text: String,
    /// What the tags of a coordinate system cannot say: names and values.
    #[serde(default)]
    pub(super) notes: Vec<(String, String)>,
}

impl Place {
    /// A raster in metres of a world of its own, whose north-west sample lies at `first_m`.
    #[must_use]
    pub fn local(first_m: [f64; 2], spacing_m: [f64; 2]) -> Self {
        let text = format!("{LOCAL_CRS}|");
        // A coordinate system without a model type, with a name and metres, is a local one to GDAL. Samples are points.
        let keys = vec![
            [key::RASTER_TYPE, 0, 1, PIXEL_IS_POINT],
            [key::CITATION, tag::GEO_TEXT, text.len() as u16, 0],
            [key::LINEAR_UNIT, 0, 1, 9001],
        ];
        let (doubles, notes) = (Vec::new(), Vec::new());
        Self { first: first_m, cell: spacing_m, unit_m: [1.0, 1.0], keys, doubles, text, notes }
    }

    /// A raster in metres of a coordinate system with a number in the register of EPSG, whose north-west sample lies at
    /// `first_m`.
    #[must_use]
    pub fn projected(epsg: u16, first_m: [f64; 2], spacing_m: [f64; 2]) -> Self {
        let keys = vec![
            [key::MODEL_TYPE, 0, 1, PROJECTED],
            [key::RASTER_TYPE, 0, 1, PIXEL_IS_POINT],
            [key::PROJECTED_SYSTEM, 0, 1, epsg],
            [key::LINEAR_UNIT, 0, 1, 9001],
        ];
        let (doubles, text, notes) = (Vec::new(), String::new(), Vec::new());
        Self { first: first_m, cell: spacing_m, unit_m: [1.0, 1.0], keys, doubles, text, notes }
    }

    /// The place of the samples of a frame whose world lies so on Earth: in its coordinate system where one is known, else in
    /// metres of a world of its own. Longitude, latitude and the direction of north are noted beside.
    #[must_use]
    pub fn of_frame(frame: &Frame, earth: &orogen_core::Place) -> Self {
        let first = [frame.x_m(0), frame.y_m(0)];
        let mut place = match earth.crs {
            Some(Crs { epsg, offset_m: [x, y] }) => {
                Self::projected(epsg, [first[0] + x, first[1] + y], frame.spacing_m())
            }
            None => Self::local(first, frame.spacing_m()),
        };
        let notes = [
            ("OROGEN_LATITUDE_DEG", earth.latitude_deg),
            ("OROGEN_LONGITUDE_DEG", earth.longitude_deg),
            ("OROGEN_NORTH_DEG", earth.north_deg),
        ];
        let notes =
            notes.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_string())));
        place.notes = notes.collect();
        place
    }

    /// Where on Earth the world of a frame lies whose samples have this place.
    #[must_use]
    pub fn on_earth(&self, frame: &Frame) -> orogen_core::Place {
        let found = georeference(self, [frame.cols(), frame.rows()]);
        let south_west = frame.extent().min;
        orogen_core::Place {
            latitude_deg: found.middle_deg.map(|[_, latitude]| latitude),
            longitude_deg: found.middle_deg.map(|[longitude, _]| longitude),
            north_deg: None,
            crs: found.crs.map(|(epsg, at)| {
                let offset_m = [at[0] - south_west[0], at[1] - south_west[1]];
                // A millionth of a metre is left of rounding.
                Crs { epsg, offset_m: offset_m.map(|metres| if metres.abs() < 1e-6 { 0.0 } else { metres }) }
            }),
        }
    }

    /// The place of the part of a raster that starts at a column and row.
    #[must_use]
    pub fn part(&self, col: usize, row: usize) -> Self {
        Self { first: self.at([col as f64, row as f64]), ..self.clone() }
    }

    /// Distance between samples in metres, (x, y).
    #[must_use]
    pub fn spacing_m(&self) -> [f64; 2] {
        [self.cell[0] * self.unit_m[0], self.cell[1] * self.unit_m[1]]
    }

    /// Metres in one unit of the file, (x, y).
    #[must_use]
    pub fn unit_m(&self) -> [f64; 2] {
        self.unit_m
    }

    /// The place of a sample, or between samples, in the coordinates of the file.
    #[must_use]
    pub fn at(&self, [col, row]: [f64; 2]) -> [f64; 2] {
        [self.first[0] + col * self.cell[0], self.first[1] - row * self.cell[1]]
    }

    /// Column and row, as fractions, of a place in the coordinates of the file.
    #[must_use]
    pub fn cell_of(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [(x - self.first[0]) / self.cell[0], (self.first[1] - y) / self.cell[1]]
    }

    /// Whether the coordinates are degrees of longitude and latitude.
    #[must_use]
    pub fn is_geographic(&self) -> bool {
        self.short(key::MODEL_TYPE) == Some(super::georef::GEOGRAPHIC)
    }

    /// Number of the coordinate system in the register of EPSG, where the file names one.
    #[must_use]
    pub fn epsg(&self) -> Option<u16> {
        let key = if self.is_geographic() { key::GEOGRAPHIC_SYSTEM } else { key::PROJECTED_SYSTEM };
        // 32767 stands for a system that the file describes itself.
        self.short(key).filter(|code| (1024..32767).contains(code))
    }

    /// The coordinate system in a word or two, for messages.
    #[must_use]
    pub fn system_name(&self) -> String {
        match (self.epsg(), self.is_geographic()) {
            (Some(code), _) => format!("EPSG:{code}"),
            (None, true) => String::from("longitude and latitude"),
            (None, false) => String::from("a coordinate system without a number"),
        }
    }

    /// Whether both files name a coordinate system and not the same, so that their coordinates cannot be compared.
    #[must_use]
    pub fn is_in_another_system(&self, other: &Self) -> bool {
        match (self.epsg(), other.epsg()) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        }
    }

    /// Why the samples of two rasters of so many columns and rows do not lie on one another, if they do not: a sentence
    /// that goes on after the names of both.
    #[must_use]
    pub fn difference(&self, other: &Self, [cols, rows]: [usize; 2]) -> Option<String> {
        /// Parts of a cell.
        const SLACK: f64 = 0.01;
        if self.is_in_another_system(other) {
            return Some(format!(
                "have coordinates in {} and in {}",
                self.system_name(),
                other.system_name()
            ));
        }
        let last = [cols.saturating_sub(1), rows.saturating_sub(1)];
        let drifts = |axis: usize| {
            (self.cell[axis] - other.cell[axis]).abs() * last[axis] as f64 > SLACK * self.cell[axis]
        };
        if drifts(0) || drifts(1) {
            let ([ax, ay], [bx, by]) = (self.cell, other.cell);
            return Some(format!("have samples {ax} x {ay} and {bx} x {by} apart"));
        }
        let shifted = |axis: usize| (self.first[axis] - other.first[axis]).abs() > SLACK * self.cell[axis];
        (shifted(0) || shifted(1)).then(|| {
            let ([ax, ay], [bx, by]) = (self.first, other.first);
            format!("have their north-west sample at {ax},{ay} and at {bx},{by}")
        })
    }

    fn short(&self, key: u16) -> Option<u16> {
        self.keys.iter().find(|entry| entry[0] == key && entry[1] == 0).map(|entry| entry[3])
    }

    /// The fields of a TIFF that say all this, in the order of their tags.
    pub(super) fn fields(&self) -> Vec<(u16, Field)> {
        let point = self.short(key::RASTER_TYPE) == Some(PIXEL_IS_POINT);
        // A pixel that is an area is placed by its corner.
        let [x, y] = if point { self.first } else { self.at([-0.5, -0.5]) };
        let mut words = vec![1, 1, 0, self.keys.len() as u16];
        words.extend(self.keys.iter().flatten());
        let mut fields = vec![
            (tag::PIXEL_SCALE, Field::Doubles(vec![self.cell[0], self.cell[1], 0.0])),
            (tag::TIEPOINT, Field::Doubles(vec![0.0, 0.0, 0.0, x, y, 0.0])),
            (tag::GEO_KEYS, Field::Shorts(words)),
        ];
        if !self.doubles.is_empty() {
            fields.push((tag::GEO_DOUBLES, Field::Doubles(self.doubles.clone())));
        }
        if !self.text.is_empty() {
            fields.push((tag::GEO_TEXT, Field::Text(self.text.clone())));
        }
        fields
    }
}
