//! GeoJSON read as it streams by: no tree of values is built, so memory follows from vertices and properties alone.

use std::fmt;

use orogen_core::vector::Point;
use orogen_core::{FeatureSet, Features, Property};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::FormatError;
use crate::limits::Limits;

const FORMAT: &str = "GeoJSON";

/// Farthest place, in metres: beyond it places can no longer be distinguished.
const FARTHEST: f64 = 1e12;

/// A new name of a property costs as much memory as so many entries.
const NAME_COST: u64 = 16;

/// Points, lines and polygons from a `FeatureCollection`, a `Feature` or a bare geometry.
///
/// Coordinates are taken as they stand, as the world's own metres (see the module about why not degrees). Rings lose
/// the vertex that closes them; a `MultiPolygon` becomes several features of one number, a `GeometryCollection` one of
/// each kind it holds. Features without geometry are passed over, and so are members that GeoJSON does not know.
///
/// # Errors
/// When the text is not JSON or not GeoJSON; the sentence names the feature and the line.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Features, FormatError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut sink = Sink { features: Features::default(), count: 0, entries: 0, most: limits.max_vertices };
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = Object { sink: &mut sink, place: Place::Top }.deserialize(&mut json);
    read.and_then(|_| json.end()).map_err(|e| FormatError::broken(FORMAT, e.to_string()))?;
    Ok(sink.features)
}

/// Where everything goes.
struct Sink {
    features: Features,
    /// Features begun.
    count: u32,
    entries: u64,
    most: u64,
}

impl Sink {
    fn spend<E: Error>(&mut self, entries: u64) -> Result<(), E> {
        self.entries += entries;
        if self.entries > self.most {
            let message = format!("more than the limit of {} vertices and properties", self.most);
            return Err(E::custom(message));
        }
        Ok(())
    }

    /// An error of the current feature.
    fn fail<E: Error>(&self, message: impl fmt::Display) -> E {
        E::custom(format!("feature {}: {message}", self.count.max(1)))
    }

    /// Adds the geometries of a feature. Its properties are kept once for each shape that it has, however many geometries
    /// there are.
    fn push<E: Error>(
        &mut self,
        shapes: Vec<Geometry>,
        properties: Vec<(String, Property)>,
    ) -> Result<(), E> {
        let number = self.count.max(1);
        let features = &mut self.features;
        let mut added = Added { number, sets: [false; 3] };
        for shape in shapes {
            match shape {
                Geometry::Points(points) => {
                    added.add(0, &mut features.points, points.into_iter().map(|point| [point]));
                }
                Geometry::Lines(lines) => added.add(1, &mut features.lines, lines),
                Geometry::Polygons(polygons) => {
                    polygons.into_iter().for_each(|rings| added.add(2, &mut features.polygons, rings));
                }
            }
        }
        let Features { points, lines, polygons } = features;
        let mut cost = 0;
        for (set, _) in [points, lines, polygons].into_iter().zip(added.sets).filter(|(_, has)| *has) {
            for (name, value) in &properties {
                cost += 1 + if set.set_property(name, value.clone()) { NAME_COST } else { 0 };
            }
        }
        self.spend(cost)
    }
}

/// Which shapes a feature has given already.
struct Added {
    number: u32,
    sets: [bool; 3],
}

impl Added {
    fn add<P: IntoIterator<Item = Point>>(
        &mut self,
        which: usize,
        set: &mut FeatureSet,
        parts: impl IntoIterator<Item = P>,
    ) {
        if std::mem::replace(&mut self.sets[which], true) {
            set.push_sibling(parts);
        } else {
            set.push(self.number, parts);
        }
    }
}

/// Where an object stands, which decides what it may be.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Top,
    Feature,
    Geometry,
}

/// Places by shape.
enum Geometry {
    Points(Vec<Point>),
    Lines(Vec<Vec<Point>>),
    Polygons(Vec<Vec<Vec<Point>>>),
}

/// Any object of GeoJSON: its members may come in any order, its `type` last.
struct Object<'a> {
    sink: &'a mut Sink,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Vec<Geometry>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Vec<Geometry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.place {
            Place::Top => "a GeoJSON object",
            Place::Feature => "a feature",
            Place::Geometry => "a geometry",
        })
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        // A feature may have no geometry; anything else may not be nothing.
        if self.place == Place::Geometry {
            Ok(Vec::new())
        } else {
            Err(E::custom("expected an object, found null"))
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Self { sink, place } = self;
        if place == Place::Feature {
            sink.count = sink.count.saturating_add(1);
        }
        let mut kind: Option<String> = None;
        let mut coordinates: Option<Coordinates> = None;
        let mut shapes: Option<Vec<Geometry>> = None;
        let mut properties = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match (key.as_str(), place) {
                ("type", _) => kind = Some(map.next_value()?),
                ("features", Place::Top) => {
                    map.next_value_seed(Members { sink, place: Place::Feature }).map(|_| ())?
                }
                ("geometry", Place::Top | Place::Feature) => {
                    shapes = Some(map.next_value_seed(Object { sink, place: Place::Geometry })?);
                }
                ("geometries", _) => {
                    shapes = Some(map.next_value_seed(Members { sink, place: Place::Geometry })?);
                }
                ("properties", Place::Top | Place::Feature) => {
                    properties = map.next_value_seed(Properties { sink })?;
                }
                ("coordinates", _) => {
                    let mut found = Coordinates::default();
                    found.level = match map.next_value_seed(Item { sink, out: &mut found, depth: 0 })? {
                        Found::Number(_) => {
                            return Err(sink.fail("expected a list of coordinates, found a number"));
                        }
                        Found::List(level) => level,
                    };
                    coordinates = Some(found);
                }
                _ => map.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        let Some(kind) = kind else { return Err(sink.fail("an object has no \"type\"")) };
        match (kind.as_str(), place) {
            ("FeatureCollection", Place::Top) => Ok(Vec::new()),
            ("Feature", Place::Top | Place::Feature) => {
                sink.push(shapes.unwrap_or_default(), properties)?;
                Ok(Vec::new())
            }
            ("GeometryCollection", Place::Top | Place::Geometry) => {
                let shapes = shapes.unwrap_or_default();
                if place == Place::Top {
                    sink.push(shapes, Vec::new())?;
                    return Ok(Vec::new());
                }
                Ok(shapes)
            }
            (kind, Place::Top | Place::Geometry) if LEVELS.iter().any(|(name, _)| *name == kind) => {
                let Some(coordinates) = coordinates else {
                    return Err(sink.fail(format_args!("a {kind} has no \"coordinates\"")));
                };
                let shape = coordinates.into_shape(kind).map_err(|message| sink.fail(message))?;
                if place == Place::Top {
                    sink.push(shape.into_iter().collect(), Vec::new())?;
                    return Ok(Vec::new());
                }
                Ok(shape.into_iter().collect())
            }
            (kind, place) => {
                let kind: String = kind.chars().take(40).collect();
                let allowed = match place {
                    Place::Top => "\"FeatureCollection\", \"Feature\" or a geometry",
                    Place::Feature => "\"Feature\"",
                    Place::Geometry => "Point, LineString, Polygon, their Multi forms or GeometryCollection",
                };
                Err(sink.fail(format_args!("expected the type {allowed}, found {kind:?}")))
            }
        }
    }
}

/// A list of features or geometries.
struct Members<'a> {
    sink: &'a mut Sink,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = Vec<Geometry>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Vec<Geometry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.place == Place::Feature { "a list of features" } else { "a list of geometries" })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(mut some) = seq.next_element_seed(Object { sink: self.sink, place: self.place })? {
            all.append(&mut some);
        }
        Ok(all)
    }
}

/// The properties of a feature.
struct Properties<'a> {
    sink: &'a mut Sink,
}

impl<'de> DeserializeSeed<'de> for Properties<'_> {
    type Value = Vec<(String, Property)>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Properties<'_> {
    type Value = Vec<(String, Property)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of properties")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut properties = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if let Some(value) = map.next_value_seed(Kept)? {
                self.sink.spend(1)?;
                properties.push((name, value));
            }
        }
        Ok(properties)
    }
}

/// A property that is kept, or none.
struct Kept;

impl<'de> DeserializeSeed<'de> for Kept {
    type Value = Option<Property>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Kept {
    type Value = Option<Property>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Some(Property::Flag(flag)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Property::Number(number)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        self.visit_f64(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Property::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// How deeply the coordinates of each geometry are nested: a position is 0.
const LEVELS: [(&str, u8); 6] = [
    ("Point", 0),
    ("MultiPoint", 1),
    ("LineString", 1),
    ("MultiLineString", 2),
    ("Polygon", 2),
    ("MultiPolygon", 3),
];

/// Positions in a row, and where the lists that held them end.
#[derive(Default)]
struct Coordinates {
    /// How deeply they were nested; `None` when the list was empty.
    level: Option<u8>,
    positions: Vec<Point>,
    /// Ends of lists of positions, in `positions`.
    lines: Vec<usize>,
    /// Ends of lists of such lists, in `lines`.
    polygons: Vec<usize>,
}

impl Coordinates {
    /// The geometry of a kind; `None` for empty coordinates, which stand for no geometry.
    fn into_shape(self, kind: &str) -> Result<Option<Geometry>, String> {
        let Some(level) = self.level else { return Ok(None) };
        let wanted = LEVELS.iter().find(|(name, _)| *name == kind).map_or(0, |(_, level)| *level);
        if level != wanted {
            let lists = |level: u8| {
                ["one position", "a list", "lists in a list", "lists in lists in a list"]
                    [usize::from(level.min(3))]
            };
            return Err(format!(
                "the coordinates of a {kind} are {}; expected {}",
                lists(level),
                lists(wanted)
            ));
        }
        let mut positions = self.positions.into_iter();
        let mut start = 0;
        let mut lines: Vec<Vec<Point>> = Vec::with_capacity(self.lines.len());
        if kind == "Point" || kind == "MultiPoint" {
            return Ok(Some(Geometry::Points(positions.collect())));
        }
        for end in self.lines {
            lines.push(positions.by_ref().take(end - start).collect());
            start = end;
        }
        if kind.ends_with("LineString") {
            if let Some(short) = lines.iter().find(|line| line.len() < 2) {
                return Err(format!("a line has {} position; it needs at least 2", short.len()));
            }
            return Ok(Some(Geometry::Lines(lines)));
        }
        for ring in &mut lines {
            if ring.len() > 1 && ring.first().map(|p| [p[0], p[1]]) == ring.last().map(|p| [p[0], p[1]]) {
                ring.pop();
            }
            if ring.len() < 3 {
                return Err(format!("a ring has {} different positions; it needs at least 3", ring.len()));
            }
        }
        let ends = if kind == "Polygon" { vec![lines.len()] } else { self.polygons };
        let mut rings = lines.into_iter();
        let mut start = 0;
        let mut polygons = Vec::with_capacity(ends.len());
        for end in ends {
            polygons.push(rings.by_ref().take(end - start).collect());
            start = end;
        }
        Ok(Some(Geometry::Polygons(polygons)))
    }
}

/// Something in a list of coordinates.
enum Found {
    Number(f64),
    /// A list and how deeply it is nested: 0 for a position, `None` for an empty one.
    List(Option<u8>),
}

struct Item<'a> {
    sink: &'a mut Sink,
    out: &'a mut Coordinates,
    depth: u8,
}

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Item<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers or lists of numbers as coordinates")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Found, E> {
        if number.abs() <= FARTHEST {
            Ok(Found::Number(number))
        } else {
            Err(self.sink.fail(format_args!("the coordinate {number:e} is beyond {FARTHEST:e}")))
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Found, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Found, E> {
        self.visit_f64(number as f64)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
        let Self { sink, out, depth } = self;
        if depth > 3 {
            return Err(sink.fail("coordinates are nested more than four lists deep"));
        }
        let mut position = [f64::NAN; 3];
        let mut count = 0;
        let mut level = None;
        while let Some(found) =
            seq.next_element_seed(Item { sink: &mut *sink, out: &mut *out, depth: depth + 1 })?
        {
            let nested = match found {
                Found::Number(number) => {
                    if let Some(slot) = position.get_mut(count) {
                        *slot = number;
                    }
                    count += 1;
                    0
                }
                Found::List(Some(level)) => level + 1,
                Found::List(None) => return Err(sink.fail("the coordinates contain an empty list")),
            };
            if *level.get_or_insert(nested) != nested {
                return Err(sink.fail("coordinates mix numbers and lists, or lists of different depth"));
            }
        }
        match level {
            Some(0) if count < 2 => return Err(sink.fail("a position has 1 number; it needs 2 or 3")),
            Some(0) => {
                sink.spend(1)?;
                out.positions.push(position);
            }
            Some(1) => out.lines.push(out.positions.len()),
            Some(2) => out.polygons.push(out.lines.len()),
            _ => {}
        }
        Ok(Found::List(level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::vector::{Column, Shape, VectorLayer};

    fn read(text: &str) -> Result<Features, String> {
        decode(text.as_bytes(), &Limits::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn all_geometries_come_through_in_any_order_of_members() {
        let text = r#"{"features":[
            {"properties":{"ele":"12.5","tags":["a"],"none":null,"wet":true},"type":"Feature",
             "geometry":{"coordinates":[1,2],"type":"Point","bbox":[0,0,1,1]}},
            {"type":"Feature","geometry":{"type":"MultiPoint","coordinates":[[1,2,3],[4,5,6,7]]}},
            {"type":"Feature","geometry":null,"properties":null},
            {"type":"Feature","properties":{"ele":7},"geometry":{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[3,3],[4,4]]]}},
            {"type":"Feature","properties":{"n":1},"geometry":{"type":"MultiPolygon","coordinates":[
                [[[0,0],[9,0],[9,9],[0,0]],[[1,1],[2,1],[2,2],[1,1]]],[[[5,5],[6,5],[6,6]]]]}},
            {"type":"Feature","geometry":{"type":"GeometryCollection","geometries":[
                {"type":"LineString","coordinates":[[0,0,1],[1,0,1]]},{"type":"Point","coordinates":[]}]}}
          ],"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"x"}}}"#;
        let features = read(text).unwrap();
        let points = features.points.vectors();
        assert_eq!((points.len(), points.vertices().len()), (2, 3));
        assert!(points.vertices()[0][2].is_nan());
        assert_eq!(points.vertices()[2], [4.0, 5.0, 6.0]);
        assert_eq!(points.parts(1).collect::<Vec<_>>(), [1..2, 2..3]);
        assert_eq!(features.points.property(0, "ele").and_then(Property::number), Some(12.5));
        assert_eq!(features.points.property(0, "wet"), Some(&Property::Flag(true)));
        assert_eq!(features.points.property_names().collect::<Vec<_>>(), ["ele", "wet"]);
        let lines = features.lines.vectors();
        assert_eq!(lines.parts(0).collect::<Vec<_>>(), [0..2, 2..5]);
        assert_eq!((features.lines.number(0), features.lines.number(1)), (4, 6));
        let polygons = features.polygons.vectors();
        assert_eq!(polygons.parts(0).collect::<Vec<_>>(), [0..3, 3..6]);
        assert_eq!(polygons.parts(1).next(), Some(6..9));
        assert_eq!((features.polygons.number(0), features.polygons.number(1)), (5, 5));
        assert_eq!(features.polygons.property(1, "n"), Some(&Property::Number(1.0)));
    }

    #[test]
    fn bare_geometries_and_features_are_read_too() {
        assert_eq!(
            read(r#"{"type":"LineString","coordinates":[[0,0],[1,1]]}"#).unwrap().lines.vectors().len(),
            1
        );
        let one =
            r#"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2,3]},"properties":{"z":4}}"#;
        assert_eq!(read(one).unwrap().points.property(0, "z"), Some(&Property::Number(4.0)));
        assert!(read(r#"{"type":"FeatureCollection","features":[]}"#).unwrap().is_empty());
    }

    #[test]
    fn what_we_write_we_read() {
        let mut lines = VectorLayer::new(Shape::Lines);
        lines.push([[0.0, 0.0, 5.0], [10.125, -4.5, 5.0]]);
        lines.push([[7.0, 8.0, f64::NAN], [1.0, 1.0, f64::NAN]]);
        assert!(lines.set_feature_attribute("elevation_m", Column::Number(vec![5.0, f64::NAN])));
        let read = decode(&super::super::encode(&lines, "contours"), &Limits::default()).unwrap();
        assert_eq!(read.lines.vectors().vertices()[..2], lines.vertices()[..2]);
        assert_eq!(read.lines.property(0, "elevation_m"), Some(&Property::Number(5.0)));
        assert_eq!(read.lines.property(1, "elevation_m"), None);
    }

    #[test]
    fn mistakes_are_reported_with_feature_and_line() {
        let collection = |geometry: &str| {
            read(&format!(
                "{{\"type\":\"FeatureCollection\",\"features\":[\n{{\"type\":\"Feature\",\"geometry\":null}},\n{{\"type\":\"Feature\",\"geometry\":{geometry}}}]}}"
            ))
            .unwrap_err()
        };
        let start = "not a valid GeoJSON: feature 2: ";
        for (geometry, message) in [
            (r#"{"type":"Point","coordinates":[1]}"#, "a position has 1 number; it needs 2 or 3"),
            (r#"{"type":"Point"}"#, "a Point has no \"coordinates\""),
            (
                r#"{"type":"Polygon","coordinates":[[1,2],[3,4]]}"#,
                "the coordinates of a Polygon are a list; expected lists in a list",
            ),
            (r#"{"type":"LineString","coordinates":[[1,2]]}"#, "a line has 1 position; it needs at least 2"),
            (
                r#"{"type":"Polygon","coordinates":[[[1,2],[3,4],[1,2]]]}"#,
                "a ring has 2 different positions; it needs at least 3",
            ),
            (r#"{"type":"LineString","coordinates":[[1,2],3]}"#, "coordinates mix numbers and lists"),
            (r#"{"type":"Circle","coordinates":[1,2]}"#, "expected the type Point, LineString"),
            (r#"{"type":"Point","coordinates":[1e300,2]}"#, "the coordinate 1e300 is beyond 1e12"),
        ] {
            let found = collection(geometry);
            assert!(found.starts_with(&format!("{start}{message}")), "{geometry}: {found}");
            assert!(found.contains("line 3"), "{found}");
        }
        assert!(
            read("{\"type\":\"Topology\"}").unwrap_err().contains("expected the type \"FeatureCollection\"")
        );
        assert!(read("[1,2").unwrap_err().contains("a GeoJSON object"));
        assert!(read("{}").unwrap_err().contains("no \"type\""));
        assert!(
            collection(r#"{"type":"Point","coordinates":[null,2]}"#).contains("expected numbers or lists")
        );
    }

    #[test]
    fn one_text_for_many_geometries_is_kept_once_for_each_shape() {
        let name = "x".repeat(1 << 16);
        let triangles = vec!["[[[0,0],[1,0],[1,1]]]"; 2000].join(",");
        let points = vec![r#"{"type":"Point","coordinates":[1,2]}"#; 2000].join(",");
        let multi = format!(r#"{{"type":"MultiPolygon","coordinates":[{triangles}]}}"#);
        let text = format!(
            r#"{{"type":"Feature","properties":{{"name":"{name}"}},"geometry":{{"type":"GeometryCollection","geometries":[{points},{multi}]}}}}"#
        );
        // Vertices and two entries with two new names, not thousands.
        let entries = 3 * 2000 + 2000 + 1 + 2 * (1 + NAME_COST);
        let limits = |max_vertices| Limits { max_vertices, ..Limits::default() };
        let features = decode(text.as_bytes(), &limits(entries)).unwrap();
        assert!(decode(text.as_bytes(), &limits(entries - 1)).is_err());
        assert_eq!((features.points.vectors().len(), features.polygons.vectors().len()), (2000, 2000));
        for feature in [0, 1, 1999] {
            for set in [&features.points, &features.polygons] {
                assert_eq!(set.number(feature), 1);
                assert_eq!(set.property(feature, "name"), Some(&Property::Text(name.clone())));
            }
        }
    }

    #[test]
    fn limits_hold() {
        let text = r#"{"type":"MultiPoint","coordinates":[[0,0],[1,1],[2,2]]}"#;
        let read = |max_vertices| decode(text.as_bytes(), &Limits { max_vertices, ..Limits::default() });
        assert!(read(3).is_ok());
        assert!(read(2).unwrap_err().to_string().contains("more than the limit of 2 vertices"));
        // Nesting without end stops at the parser's own depth.
        assert!(decode("[".repeat(100_000).as_bytes(), &Limits::default()).is_err());
        let deep = format!("{{\"type\":\"Feature\",\"properties\":{{\"a\":{}", "[".repeat(100_000));
        assert!(decode(deep.as_bytes(), &Limits::default()).is_err());
    }
}
