//! Points as lines of text: `x y z`, by commas, semicolons, tabs or blanks, with or without a line of names above.
//!
//! With names, `x`, `y` and `z` (or `easting`, `northing`, `elevation` and their like) are looked for, and all other
//! columns become properties; without, the first three numbers of a line are taken. Lines that are empty or begin with
//! `#` are passed over. A field may be quoted, but not hold its own separator.
//!
//! Read by hand: the crate `csv` wants one known separator, takes every blank of a run as one, and bounds no line.

use orogen_core::{Features, Property};

use crate::error::FormatError;
use crate::limits::Limits;

const FORMAT: &str = "table of points";

/// Longest line that is looked at.
const LONGEST_LINE: usize = 1 << 16;

/// Names of columns, small letters: x, y, z.
const NAMES: [&[&str]; 3] = [
    &["x", "x_m", "easting", "east", "e"],
    &["y", "y_m", "northing", "north", "n"],
    &["z", "z_m", "elevation", "elevation_m", "elev", "ele", "height", "height_m", "altitude", "alt", "h"],
];

fn broken(reason: String) -> FormatError {
    FormatError::broken(FORMAT, reason)
}

/// Points from text; where a line gives no third number, their height is NaN.
///
/// # Errors
/// When a line does not hold the expected numbers, or there are no lines.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Features, FormatError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut features = Features::default();
    let mut columns: Option<Columns> = None;
    let (mut count, mut entries) = (0u32, 0u64);
    for (number, line) in bytes.split(|&b| b == b'\n').enumerate().map(|(i, line)| (i + 1, line)) {
        if line.len() > LONGEST_LINE {
            return Err(broken(format!(
                "line {number} has {} bytes, more than the limit of {LONGEST_LINE}",
                line.len()
            )));
        }
        let text = std::str::from_utf8(line)
            .map_err(|_| broken(format!("line {number} is not valid UTF-8")))?
            .trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let fields = fields(text);
        let known = match &columns {
            Some(known) => known,
            None => {
                let named = fields.first().is_some_and(|first| first.parse::<f64>().is_err());
                let read = if named { Columns::named(&fields)? } else { Columns::plain() };
                let read = columns.insert(read);
                if named {
                    continue;
                }
                read
            }
        };
        let get = |column: usize| -> Result<f64, FormatError> {
            let found = fields.get(column).copied().unwrap_or_default();
            // A long field is not a number, and showing it does not help.
            let value = if found.len() <= 64 { found.parse::<f64>().ok() } else { None };
            value.filter(|v| v.abs() <= 1e12).ok_or_else(|| {
                let short: String = found.chars().take(24).collect();
                broken(format!(
                    "line {number}, field {}: expected a finite number, found {short:?}",
                    column + 1
                ))
            })
        };
        let z = match known.z {
            Some(column) if fields.get(column).is_some_and(|field| !field.is_empty()) => get(column)?,
            _ => f64::NAN,
        };
        let place = [get(known.x)?, get(known.y)?, z];
        entries += 1;
        count = count.saturating_add(1);
        features.points.push(count, [[place]]);
        // A line costs no more than its own fields, however many columns the names above promise.
        for (column, name) in known.others.iter().take_while(|(column, _)| *column < fields.len()) {
            if let Some(field) = fields.get(*column).filter(|field| !field.is_empty()) {
                let value = field
                    .parse::<f64>()
                    .map_or_else(|_| Property::Text((*field).to_owned()), Property::Number);
                features.points.set_property(name, value);
                entries += 1;
            }
        }
        if entries > limits.max_vertices {
            return Err(broken(format!(
                "it holds more than the limit of {} points and properties",
                limits.max_vertices
            )));
        }
    }
    if features.is_empty() {
        return Err(broken(String::from("it has no line of numbers")));
    }
    Ok(features)
}

/// The fields of a line, by the strongest separator in it.
fn fields(line: &str) -> Vec<&str> {
    let clean = |field| str::trim(field).trim_matches('"');
    for separator in [';', ',', '\t'] {
        if line.contains(separator) {
            return line.split(separator).map(clean).collect();
        }
    }
    line.split_whitespace().map(clean).collect()
}

/// Which column is what.
struct Columns {
    x: usize,
    y: usize,
    z: Option<usize>,
    others: Vec<(usize, String)>,
}

impl Columns {
    fn plain() -> Self {
        Self { x: 0, y: 1, z: Some(2), others: Vec::new() }
    }

    fn named(names: &[&str]) -> Result<Self, FormatError> {
        let find = |wanted: &[&str]| {
            wanted.iter().find_map(|w| names.iter().position(|name| name.eq_ignore_ascii_case(w)))
        };
        let need = |axis: usize| {
            find(NAMES[axis]).ok_or_else(|| {
                let found: Vec<&str> = names.iter().copied().take(8).collect();
                let allowed = NAMES[axis].join(", ");
                broken(format!("no column is named {allowed}; found {:?}", found.join(", ")))
            })
        };
        let (x, y, z) = (need(0)?, need(1)?, find(NAMES[2]));
        let others = names.iter().enumerate().filter(|(i, _)| *i != x && *i != y && Some(*i) != z);
        Ok(Self { x, y, z, others: others.map(|(i, name)| (i, (*name).to_owned())).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Features, String> {
        decode(text.as_bytes(), &Limits::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn names_separators_and_comments_are_understood() {
        let plain = read("# survey\n1 2 3\n\n 4\t5\t6 \r\n7,8,9,10").unwrap();
        assert_eq!(plain.points.vectors().vertices(), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]);
        let named = read("\u{feff}id;Easting;Northing;Ele;kind\n7;1.5;2e3;-4;\"peak\"\n8;0;0;;\n").unwrap();
        let vertices = named.points.vectors().vertices();
        assert_eq!(vertices[0], [1.5, 2000.0, -4.0]);
        assert!(vertices[1][2].is_nan());
        assert_eq!(named.points.property(0, "kind"), Some(&Property::Text(String::from("peak"))));
        assert_eq!(named.points.property(1, "id"), Some(&Property::Number(8.0)));
    }

    #[test]
    fn short_lines_under_many_columns_take_no_longer_than_their_text() {
        let names: Vec<String> = (0..10_000).map(|i| format!("c{i}")).collect();
        let text = format!("x,y,{}\n{}", names.join(","), "1,2\n".repeat(300_000));
        let begin = std::time::Instant::now();
        assert_eq!(read(&text).unwrap().points.vectors().len(), 300_000);
        let wide = begin.elapsed();
        let begin = std::time::Instant::now();
        assert_eq!(
            read(&format!("x,y\n{}", "1,2\n".repeat(300_000))).unwrap().points.vectors().len(),
            300_000
        );
        // Each line looking at each column would be some thousand times as long; the ratio is of one run.
        assert!(wide < 20 * begin.elapsed() + std::time::Duration::from_millis(200), "{wide:?}");
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let start = "not a valid table of points: ";
        assert_eq!(
            read("1 2 3\n4 five 6").unwrap_err(),
            format!("{start}line 2, field 2: expected a finite number, found \"five\"")
        );
        assert_eq!(
            read("1 nan 3").unwrap_err(),
            format!("{start}line 1, field 2: expected a finite number, found \"nan\"")
        );
        assert_eq!(read("\n# nothing\n").unwrap_err(), format!("{start}it has no line of numbers"));
        assert!(read("lon,lat\n1,2").unwrap_err().contains("no column is named x, x_m"));
        let few = Limits { max_vertices: 1, ..Limits::default() };
        assert!(decode(b"1 2 3\n4 5 6", &few).is_err());
    }
}
