//! Vectors as GeoJSON, for GIS and for anything that reads JSON.
//!
//! RFC 7946 wants longitude and latitude, which a generated world does not have: coordinates are the world's own metres, and
//! the older `crs` member says so. Its name is the system's own text (WKT), which GDAL and QGIS show as a local system
//! in metres; a name that they do not know would make them assume degrees.
//! Feature attributes become properties. Vertex attributes become arrays in the order of the coordinates: one number
//! for points, one array for a feature of one part, an array of arrays for more. Numbers that are not finite are null.
//! Reading takes numbers, flags and texts as properties, and coordinates as they stand.
//!
//! Written by hand: the crate `geojson` holds every feature as a tree of values, a multiple of the text, and neither rounds
//! coordinates nor writes blocks of features on several threads.

use std::io::{self, Write};
use std::ops::Range;

use orogen_core::vector::{Column, Point, Shape, VectorLayer};
use rayon::prelude::*;

use crate::about::LOCAL_CRS;
use crate::geotiff::Place;

mod read;

pub use read::decode;

/// Features and vertices together that one thread writes at a time, and blocks of them that are written out together.
const BLOCK: usize = 8192;
const BATCH: usize = 64;

/// The coordinate system of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// As the `crs` member names it.
    name: String,
    /// Digits after the point of x and y.
    digits: u32,
}

impl System {
    /// Metres from an origin of the world's own, to the millimetre.
    #[must_use]
    pub fn local() -> Self {
        Self { name: format!("LOCAL_CS[\"{LOCAL_CRS}\",UNIT[\"metre\",1]]"), digits: 3 }
    }

    /// The system of a raster, so that features lie on it: millimetres, or a tenth of them in degrees.
    #[must_use]
    pub fn of(place: &Place) -> Self {
        let digits = if place.is_geographic() { 9 } else { 3 };
        match place.epsg() {
            // The register puts latitude first; files put longitude first, which has a name of its own.
            Some(4326) => Self { name: String::from("urn:ogc:def:crs:OGC:1.3:CRS84"), digits },
            Some(code) => Self { name: format!("urn:ogc:def:crs:EPSG::{code}"), digits },
            None if place.is_geographic() => {
                Self { name: String::from("urn:ogc:def:crs:OGC:1.3:CRS84"), digits }
            }
            None => Self { digits, ..Self::local() },
        }
    }
}

/// The GeoJSON text of a vector layer, coordinates rounded to millimetres.
#[must_use]
pub fn encode(layer: &VectorLayer, name: &str) -> Vec<u8> {
    encode_in(layer, name, &System::local())
}

/// As [`encode`], in another coordinate system.
#[must_use]
pub fn encode_in(layer: &VectorLayer, name: &str, system: &System) -> Vec<u8> {
    let mut out = Vec::new();
    let written = write_in(layer, name, system, &mut out);
    debug_assert!(written.is_ok(), "writing to memory cannot fail: {written:?}");
    out
}

/// Writes what [`encode_in`] gives, without holding the whole of it.
///
/// # Errors
/// When `out` takes no more.
pub fn write_in(layer: &VectorLayer, name: &str, system: &System, out: &mut impl Write) -> io::Result<()> {
    let mut head = Vec::new();
    head.extend_from_slice(b"{\"type\":\"FeatureCollection\",\"name\":");
    put_text(&mut head, name);
    head.extend_from_slice(b",\"crs\":{\"type\":\"name\",\"properties\":{\"name\":");
    put_text(&mut head, &system.name);
    head.extend_from_slice(b"}},\"features\":[");
    out.write_all(&head)?;
    let block = |features: &Range<usize>| {
        let mut block = Vec::new();
        for feature in features.clone() {
            block.extend_from_slice(if feature == 0 { b"\n" } else { b",\n" });
            put_feature(&mut block, layer, feature, system.digits);
        }
        block
    };
    for batch in blocks(layer).chunks(BATCH) {
        let blocks: Vec<Vec<u8>> = batch.par_iter().map(block).collect();
        blocks.iter().try_for_each(|block| out.write_all(block))?;
    }
    out.write_all(b"\n]}\n")
}

/// Features in blocks of about the same work.
fn blocks(layer: &VectorLayer) -> Vec<Range<usize>> {
    let (mut blocks, mut start, mut size) = (Vec::new(), 0, 0);
    for feature in 0..layer.len() {
        size += 1 + layer.parts(feature).map(|part| part.len()).sum::<usize>();
        if size >= BLOCK || feature + 1 == layer.len() {
            blocks.push(start..feature + 1);
            (start, size) = (feature + 1, 0);
        }
    }
    blocks
}

/// The vertices of a part in the order in which they are written.
#[derive(Clone)]
struct Part {
    vertices: Range<usize>,
    reversed: bool,
}

impl Part {
    fn indices(&self) -> impl Iterator<Item = usize> + use<> {
        let Part { vertices, reversed } = self.clone();
        (0..vertices.len()).map(move |i| if reversed { vertices.end - 1 - i } else { vertices.start + i })
    }
}

fn put_feature(out: &mut Vec<u8>, layer: &VectorLayer, feature: usize, digits: u32) {
    let points = layer.vertices();
    let parts: Vec<Part> = layer
        .parts(feature)
        .enumerate()
        .map(|(i, vertices)| {
            // Outer rings run counter-clockwise, holes clockwise.
            let reversed = layer.shape() == Shape::Polygons
                && (doubled_area(&points[vertices.clone()]) < 0.0) == (i == 0);
            Part { vertices, reversed }
        })
        .collect();
    out.extend_from_slice(b"{\"type\":\"Feature\",\"properties\":{");
    let mut comma = false;
    for (name, column) in layer.feature_attributes() {
        put_name(out, name, "", &mut comma);
        put_value(out, column, feature);
    }
    for (name, column) in layer.vertex_attributes() {
        let taken = layer.feature_attributes().contains_key(name);
        put_name(out, name, if taken { "_of_vertices" } else { "" }, &mut comma);
        match &parts[..] {
            [part] if layer.shape() == Shape::Points && part.vertices.len() == 1 => {
                put_value(out, column, part.vertices.start);
            }
            [part] => put_values(out, column, part),
            parts => put_list(out, parts, |out, part| put_values(out, column, part)),
        }
    }
    out.extend_from_slice(b"},\"geometry\":");
    put_geometry(out, points, layer.shape(), &parts, digits);
    out.push(b'}');
}

/// The geometry, or null where the vertices make none (a line of one vertex, a place that is not finite).
fn put_geometry(out: &mut Vec<u8>, points: &[Point], shape: Shape, parts: &[Part], digits: u32) {
    let least = match shape {
        Shape::Points => 1,
        Shape::Lines => 2,
        Shape::Polygons => 3,
    };
    let sound = |part: &Part| {
        part.vertices.len() >= least
            && points[part.vertices.clone()].iter().all(|[x, y, _]| x.is_finite() && y.is_finite())
    };
    if parts.is_empty() || !parts.iter().all(sound) {
        out.extend_from_slice(b"null");
        return;
    }
    let line = |out: &mut Vec<u8>, part: &Part| {
        put_list(out, part.indices(), |out, i| put_point(out, &points[i], digits));
    };
    let ring = |out: &mut Vec<u8>, part: &Part| {
        let closed = part.indices().chain(part.indices().take(1));
        put_list(out, closed, |out, i| put_point(out, &points[i], digits));
    };
    let mut open = |kind: &str| {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"coordinates\":");
    };
    match (shape, parts) {
        (Shape::Points, [part]) if part.vertices.len() == 1 => {
            open("Point");
            put_point(out, &points[part.vertices.start], digits);
        }
        (Shape::Points, parts) => {
            open("MultiPoint");
            put_list(out, parts.iter().flat_map(Part::indices), |out, i| put_point(out, &points[i], digits));
        }
        (Shape::Lines, [part]) => {
            open("LineString");
            line(out, part);
        }
        (Shape::Lines, parts) => {
            open("MultiLineString");
            put_list(out, parts, line);
        }
        (Shape::Polygons, parts) => {
            open("Polygon");
            put_list(out, parts, ring);
        }
    }
    out.push(b'}');
}

/// Twice the area of a ring, negative when it runs clockwise.
fn doubled_area(ring: &[Point]) -> f64 {
    let Some(&[x0, y0, _]) = ring.first() else { return 0.0 };
    ring.windows(2)
        .map(|pair| (pair[0][0] - x0) * (pair[1][1] - y0) - (pair[1][0] - x0) * (pair[0][1] - y0))
        .sum()
}

fn put_list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, put: impl Fn(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        put(out, item);
    }
    out.push(b']');
}

fn put_point(out: &mut Vec<u8>, &[x, y, z]: &Point, digits: u32) {
    out.push(b'[');
    put_rounded(out, x, digits);
    out.push(b',');
    put_rounded(out, y, digits);
    // A place without a height has two coordinates.
    if z.is_finite() {
        out.push(b',');
        put_rounded(out, z, 3);
    }
    out.push(b']');
}

/// A finite number, rounded to so many digits after the point, without needless zeros.
fn put_rounded(out: &mut Vec<u8>, value: f64, digits: u32) {
    let one = 10u64.pow(digits);
    let rounded = (value * one as f64).round();
    if rounded.abs() >= 9e15 {
        return put_number(out, value);
    }
    let total = rounded as i64;
    if total < 0 {
        out.push(b'-');
    }
    put_digits(out, total.unsigned_abs() / one);
    let mut rest = total.unsigned_abs() % one;
    if rest > 0 {
        out.push(b'.');
        let mut place = one / 10;
        while rest > 0 {
            out.push(b'0' + (rest / place) as u8);
            rest %= place;
            place /= 10;
        }
    }
}

fn put_digits(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The shortest number that reads back to the same bits, null when it is not finite.
fn put_number(out: &mut Vec<u8>, value: f64) {
    // Writing to memory cannot fail. Very large and small numbers need an exponent to stay short.
    let _ = if !value.is_finite() {
        out.write_all(b"null")
    } else if value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
}

fn put_values(out: &mut Vec<u8>, column: &Column, part: &Part) {
    put_list(out, part.indices(), |out, i| put_value(out, column, i));
}

fn put_value(out: &mut Vec<u8>, column: &Column, i: usize) {
    match column {
        Column::Number(v) => put_number(out, v[i]),
        Column::Integer(v) => {
            if v[i] < 0 {
                out.push(b'-');
            }
            put_digits(out, v[i].unsigned_abs());
        }
        Column::Flag(v) => out.extend_from_slice(if v[i] { b"true" } else { b"false" }),
        Column::Text(v) => put_text(out, &v[i]),
        // The few digits that say which float it is, not all those of the double beside it.
        Column::F32(v) => put_number(out, v[i].to_string().parse().unwrap_or_else(|_| v[i].into())),
        Column::U8(v) => put_digits(out, v[i].into()),
        Column::U16(v) => put_digits(out, v[i].into()),
        Column::Category(v) => put_text(out, v.name(i)),
    }
}

fn put_name(out: &mut Vec<u8>, name: &str, suffix: &str, comma: &mut bool) {
    if std::mem::replace(comma, true) {
        out.push(b',');
    }
    if suffix.is_empty() {
        put_text(out, name);
    } else {
        put_text(out, &format!("{name}{suffix}"));
    }
    out.push(b':');
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    // Text always has a JSON form, and writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::vector::Categories;
    use serde_json::{Value, json};

    fn parsed(layer: &VectorLayer) -> Value {
        serde_json::from_slice(&encode(layer, "test")).unwrap()
    }

    #[test]
    fn rivers_keep_their_attributes() {
        let mut rivers = VectorLayer::new(Shape::Lines);
        rivers.push([[0.0, 0.0, 5.0], [10.12345, -0.0004, 4.0], [20.0, 1.5, f64::NAN]]);
        rivers.push_parts([[[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]], [[3.0, 3.0, 0.0], [4.0, 4.0, 0.0]]]);
        assert!(rivers.set_feature_attribute("volume", Column::Number(vec![2.5, f64::INFINITY])));
        assert!(rivers.set_feature_attribute("name", Column::Text(vec!["a \"b\"\n".into(), "ü".into()])));
        assert!(rivers.set_vertex_attribute("width_m", Column::Integer(vec![1, -2, 3, 4, 5, 6, i64::MIN])));
        let json = parsed(&rivers);
        assert_eq!(json["crs"]["properties"]["name"], "LOCAL_CS[\"Orogen local\",UNIT[\"metre\",1]]");
        let first = &json["features"][0];
        assert_eq!(
            first["geometry"],
            json!({"type": "LineString", "coordinates": [[0, 0, 5], [10.123, 0, 4], [20, 1.5]]})
        );
        assert_eq!(first["properties"], json!({"name": "a \"b\"\n", "volume": 2.5, "width_m": [1, -2, 3]}));
        let second = &json["features"][1];
        assert_eq!(second["geometry"]["type"], "MultiLineString");
        assert_eq!(
            second["properties"],
            json!({"name": "ü", "volume": null, "width_m": [[4, 5], [6, i64::MIN]]})
        );
    }

    #[test]
    fn rings_are_closed_and_follow_the_right_hand_rule() {
        let clockwise = [[0.0, 0.0, 0.0], [0.0, 9.0, 0.0], [9.0, 9.0, 0.0], [9.0, 0.0, 0.0]];
        let counter = [[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [2.0, 2.0, 0.0], [1.0, 2.0, 0.0]];
        let mut lakes = VectorLayer::new(Shape::Polygons);
        lakes.push_parts([clockwise, counter]);
        assert!(lakes.set_vertex_attribute("id", Column::Integer((0..8).collect())));
        let feature = parsed(&lakes)["features"][0].clone();
        assert_eq!(
            feature["geometry"]["coordinates"],
            json!([
                [[9, 0, 0], [9, 9, 0], [0, 9, 0], [0, 0, 0], [9, 0, 0]],
                [[1, 2, 0], [2, 2, 0], [2, 1, 0], [1, 1, 0], [1, 2, 0]]
            ])
        );
        // The attributes of the vertices turn with them.
        assert_eq!(feature["properties"]["id"], json!([[3, 2, 1, 0], [7, 6, 5, 4]]));
    }

    #[test]
    fn points_flags_and_a_shared_name() {
        let mut plants = VectorLayer::new(Shape::Points);
        plants.push([[-1234.5678, 1e-9, -0.05]]);
        plants.push([[f64::NAN, 0.0, 0.0]]);
        assert!(plants.set_feature_attribute("tall", Column::Flag(vec![true, false])));
        assert!(plants.set_vertex_attribute("tall", Column::Number(vec![1e-8, 1e20])));
        let json = parsed(&plants);
        assert_eq!(
            json["features"][0]["geometry"],
            json!({"type": "Point", "coordinates": [-1234.568, 0, -0.05]})
        );
        assert_eq!(json["features"][0]["properties"], json!({"tall": true, "tall_of_vertices": 1e-8}));
        assert_eq!(json["features"][1]["geometry"], Value::Null);
        assert_eq!(json["features"][1]["properties"]["tall_of_vertices"], json!(1e20));
    }

    #[test]
    fn compact_columns_say_what_wide_ones_do() {
        let mut plants = VectorLayer::new(Shape::Points);
        plants.push([[0.0; 3]]);
        plants.push([[1.0; 3]]);
        let species = Categories::from_names(["oak", "oak \"red\""]).unwrap();
        assert!(plants.set_feature_attribute("species", Column::Category(species)));
        assert!(plants.set_feature_attribute("age", Column::U8(vec![0, 255])));
        assert!(plants.set_feature_attribute("tag", Column::U16(vec![7, 65535])));
        assert!(plants.set_feature_attribute("width_m", Column::F32(vec![0.1, f32::NAN])));
        let json = parsed(&plants);
        let properties = |i: usize| &json["features"][i]["properties"];
        assert_eq!(properties(0), &json!({"species": "oak", "age": 0, "tag": 7, "width_m": 0.1}));
        let second = json!({"species": "oak \"red\"", "age": 255, "tag": 65535, "width_m": null});
        assert_eq!(properties(1), &second);
    }

    #[test]
    fn degenerate_shapes_have_no_geometry() {
        let mut lines = VectorLayer::new(Shape::Lines);
        lines.push([[0.0, 0.0, 0.0]]);
        lines.push(std::iter::empty());
        assert_eq!(parsed(&lines)["features"][0]["geometry"], Value::Null);
        assert_eq!(parsed(&lines)["features"][1]["geometry"], Value::Null);
        assert_eq!(parsed(&VectorLayer::new(Shape::Polygons))["features"], json!([]));
    }

    #[test]
    fn degrees_keep_nine_digits() {
        let mut points = VectorLayer::new(Shape::Points);
        points.push([[8.123_456_789_4, -0.000_000_001, 1.0]]);
        let system = System { name: String::from("CRS84"), digits: 9 };
        let json: Value = serde_json::from_slice(&encode_in(&points, "p", &system)).unwrap();
        assert_eq!(json["features"][0]["geometry"]["coordinates"], json!([8.123_456_789, -0.000_000_001, 1]));
        assert_eq!(json["crs"]["properties"]["name"], "CRS84");
    }

    #[test]
    fn many_features_in_order_whatever_the_threads() {
        let mut points = VectorLayer::new(Shape::Points);
        (0..10_000).for_each(|i| points.push([[f64::from(i), 0.5, 0.0]]));
        let one =
            rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| encode(&points, "p"));
        let two =
            rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(|| encode(&points, "p"));
        assert_eq!(one, two);
        let json = parsed(&points);
        for i in [0, 4095, 4096, 9999] {
            assert_eq!(json["features"][i]["geometry"]["coordinates"][0], json!(i));
        }
    }
}
