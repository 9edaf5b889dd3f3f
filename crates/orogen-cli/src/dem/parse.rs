//! Values of options: numbers within bounds, places, files of places.

use std::path::Path;

use orogen::BuildError;
use orogen::io::{Limits, features, read_bytes};

/// A place in the coordinates of the model's file.
pub type Spot = [f64; 2];

/// A number within bounds.
pub fn number(least: f64, most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.trim().parse().ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| format!("expected a number from {least} to {most}, found {text:?}"))
    }
}

/// A place: `X,Y`.
pub fn spot(text: &str) -> Result<Spot, String> {
    let numbers: Vec<f64> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    match numbers[..] {
        [x, y] if x.is_finite() && y.is_finite() && text.matches(',').count() == 1 => Ok([x, y]),
        _ => Err(format!("expected two numbers X,Y, found {text:?}")),
    }
}

/// The places of a file: points of GeoJSON, or the first two numbers of each line of a csv, xyz or txt file.
pub fn spots_of(path: &Path) -> Result<Vec<Spot>, BuildError> {
    let fail = |reason: String| BuildError::Read { path: path.to_owned(), reason };
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let spots = if ["csv", "xyz", "txt"].contains(&ending.as_str()) {
        table(path).map_err(fail)?
    } else {
        let found = features::read(path, &Limits::default()).map_err(|e| fail(e.reason))?;
        found.points.vectors().vertices().iter().map(|[x, y, _]| [*x, *y]).collect()
    };
    if spots.is_empty() { Err(fail(String::from("the file has no points"))) } else { Ok(spots) }
}

/// The lines of a GeoJSON file, one after the other.
pub fn line_of(path: &Path) -> Result<Vec<Spot>, BuildError> {
    let fail = |reason: String| BuildError::Read { path: path.to_owned(), reason };
    let found = features::read(path, &Limits::default()).map_err(|e| fail(e.reason))?;
    let lines = found.lines.vectors();
    if lines.len() != 1 || lines.parts(0).len() != 1 {
        return Err(fail(format!("the file has {} lines; a profile needs exactly one", lines.len())));
    }
    Ok(lines.vertices().iter().map(|[x, y, _]| [*x, *y]).collect())
}

/// All lines of a GeoJSON file, with the heights of their vertices.
pub fn lines_of(path: &Path) -> Result<Vec<Vec<[f64; 3]>>, BuildError> {
    let fail = |reason: String| BuildError::Read { path: path.to_owned(), reason };
    let found = features::read(path, &Limits::default()).map_err(|e| fail(e.reason))?;
    let lines = found.lines.vectors();
    if lines.is_empty() {
        return Err(fail(String::from("the file has no lines")));
    }
    let parts = (0..lines.len()).flat_map(|line| lines.parts(line));
    Ok(parts.map(|part| lines.vertices()[part].to_vec()).collect())
}

fn table(path: &Path) -> Result<Vec<Spot>, String> {
    const MOST_BYTES: u64 = 256 << 20;
    let text = String::from_utf8(read_bytes(path, MOST_BYTES)?)
        .map_err(|_| String::from("not a table: not valid UTF-8"))?;
    let mut spots = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut parts = line.split([',', ';', '\t', ' ']).filter(|part| !part.is_empty());
        let mut next =
            || parts.next().and_then(|part| part.trim().parse::<f64>().ok()).filter(|v| v.is_finite());
        match (next(), next()) {
            (Some(x), Some(y)) => spots.push([x, y]),
            // Names of columns.
            _ if number == 0 => {}
            _ => {
                let short: String = line.chars().take(60).collect();
                return Err(format!("line {}: expected two numbers X,Y, found {short:?}", number + 1));
            }
        }
    }
    Ok(spots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_their_bounds() {
        assert_eq!(number(0.0, 10.0)("2.5"), Ok(2.5));
        for wrong in ["", "nan", "inf", "-1", "10.1", "2,5", "a"] {
            assert!(number(0.0, 10.0)(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn places_are_two_numbers() {
        assert_eq!(spot("-1.5, 2e3"), Ok([-1.5, 2000.0]));
        for wrong in ["", "1", "1,2,3", "a,1,2", "1,nan", "1;2"] {
            assert!(spot(wrong).is_err(), "{wrong}");
        }
    }
}
