//! ESRI ASCII grid: a short header and numbers as text.
//!
//! The header's words may come in any order and case: `ncols`, `nrows`, `cellsize` (or `dx` and `dy`), `xllcorner` or
//! `xllcenter`, `yllcorner` or `yllcenter`, and `nodata_value`. Lengths are taken as metres.

use std::fmt::Write as _;
use std::io::{self, Write};

use orogen_core::{Elevation, Frame, Raster};
use rayon::prelude::*;

use crate::about::nodata_value;
use crate::error::FormatError;
use crate::limits::Limits;

const FORMAT: &str = "ESRI ASCII grid";

/// Longest word that is looked at: numbers have some twenty letters.
const LONGEST_WORD: usize = 64;

fn broken(reason: impl Into<String>) -> FormatError {
    FormatError::broken(FORMAT, reason)
}

/// An elevation model from the text of an ASCII grid.
///
/// # Errors
/// When a header word is missing or wrong, or there are more or fewer numbers than the header promises.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Elevation, FormatError> {
    let mut words = Words { rest: bytes };
    let header = Header::read(&mut words)?;
    let samples = limits.samples(FORMAT, header.cols, header.rows)?;
    // A number takes at least a digit and a space, so the text bounds the grid before memory is reserved.
    let room = words.rest.len() / 2 + 1;
    if samples > room {
        return Err(broken(format!(
            "its header declares {} x {} numbers, but the text has room for at most {room}",
            header.cols, header.rows
        )));
    }
    limits.memory(samples, bytes.len() as u64)?;
    let mut heights = Vec::with_capacity(samples);
    while let Some(word) = words.next() {
        if heights.len() == samples {
            return Err(broken(format!(
                "more numbers than the {} x {} its header declares",
                header.cols, header.rows
            )));
        }
        let value: f64 = number(word).ok_or_else(|| {
            broken(format!("expected number {1} of the grid, found {0}", quoted(word), heights.len() + 1))
        })?;
        let height = value as f32;
        let hole = !height.is_finite() || header.nodata == Some(value);
        heights.push(if hole { f32::NAN } else { height });
    }
    if heights.len() < samples {
        return Err(broken(format!(
            "its header declares {} x {} numbers, but it holds {}",
            header.cols,
            header.rows,
            heights.len()
        )));
    }
    let height = Raster::from_vec(header.cols as usize, header.rows as usize, heights)
        .ok_or_else(|| broken("its grid is empty"))?;
    let [dx, dy] = header.spacing_m;
    let half = |centered: bool, cell: f64| if centered { 0.0 } else { 0.5 * cell };
    let north_west_m = header.south_west.map(|[(x, x_centered), (y, y_centered)]| {
        [x + half(x_centered, dx), y + half(y_centered, dy) + (header.rows - 1) as f64 * dy]
    });
    Ok(Elevation { height, spacing_m: Some([dx, dy]), north_west_m })
}

/// The words of a text, and what is left of it.
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<(&'a [u8], &'a [u8])> {
        let start = self.rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let word = &self.rest[start..];
        let end = word.iter().position(u8::is_ascii_whitespace).unwrap_or(word.len());
        Some(word.split_at(end))
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let (word, rest) = self.peek()?;
        self.rest = rest;
        Some(word)
    }
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    (word.len() <= LONGEST_WORD).then(|| std::str::from_utf8(word).ok()?.parse().ok()).flatten()
}

/// A word for a message: short, and readable whatever it holds.
fn quoted(word: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&word[..word.len().min(24)]))
}

struct Header {
    cols: u64,
    rows: u64,
    spacing_m: [f64; 2],
    /// Position of the south-west sample, each with whether it is the sample's own or its cell's corner.
    south_west: Option<[(f64, bool); 2]>,
    nodata: Option<f64>,
}

impl Header {
    fn read(words: &mut Words<'_>) -> Result<Self, FormatError> {
        let (mut cols, mut rows) = (None, None);
        let (mut dx, mut dy) = (None, None);
        let (mut x, mut y) = (None, None);
        let mut nodata = None;
        // The header ends at the first word that is a number.
        while let Some((word, rest)) = words.peek() {
            if number::<f64>(word).is_some() || word.len() > LONGEST_WORD {
                break;
            }
            words.rest = rest;
            let name = word.to_ascii_lowercase();
            let value = words.next().unwrap_or_default();
            let bad =
                || broken(format!("expected a number after {1}, found {0}", quoted(value), quoted(word)));
            let length = || number::<f64>(value).filter(|v| v.is_finite()).ok_or_else(bad);
            match &name[..] {
                b"ncols" => cols = Some(number::<u64>(value).ok_or_else(bad)?),
                b"nrows" => rows = Some(number::<u64>(value).ok_or_else(bad)?),
                b"cellsize" => (dx, dy) = (Some(length()?), Some(length()?)),
                b"dx" => dx = Some(length()?),
                b"dy" => dy = Some(length()?),
                b"xllcorner" => x = Some((length()?, false)),
                b"xllcenter" | b"xllcentre" => x = Some((length()?, true)),
                b"yllcorner" => y = Some((length()?, false)),
                b"yllcenter" | b"yllcentre" => y = Some((length()?, true)),
                b"nodata_value" | b"nodata" => nodata = Some(number::<f64>(value).ok_or_else(bad)?),
                _ => return Err(broken(format!("{} is not a header keyword", quoted(word)))),
            }
        }
        let (Some(cols), Some(rows)) = (cols, rows) else {
            return Err(broken("its header lacks ncols or nrows"));
        };
        let (Some(dx), Some(dy)) = (dx, dy) else {
            return Err(broken("its header lacks cellsize, or dx and dy"));
        };
        if ![dx, dy].iter().all(|v| (1e-9..=1e9).contains(v)) {
            return Err(broken(format!("its cells measure {dx} x {dy} m; both must be positive")));
        }
        Ok(Self { cols, rows, spacing_m: [dx, dy], south_west: x.zip(y).map(|(x, y)| [x, y]), nodata })
    }
}

/// Rows that become text at a time: enough for any number of cores, and soon done.
const BATCH: usize = 64;

/// The text of an ASCII grid; every number is the shortest that reads back to the same bits.
#[must_use]
pub fn encode(raster: &Raster<f32>, frame: &Frame) -> Vec<u8> {
    let mut out = Vec::new();
    let written = write(raster, frame, &mut out);
    debug_assert!(written.is_ok(), "writing to memory cannot fail: {written:?}");
    out
}

/// Writes what [`encode`] gives, without holding the whole of it.
///
/// # Errors
/// When `out` takes no more.
pub fn write(raster: &Raster<f32>, frame: &Frame, out: &mut impl Write) -> io::Result<()> {
    let [dx, dy] = frame.spacing_m();
    let nodata = nodata_value(raster.as_slice(), raster.range());
    let south_west = frame.extent().min;
    let cell = if dx == dy { format!("cellsize {dx}") } else { format!("dx {dx}\ndy {dy}") };
    write!(
        out,
        "ncols {}\nnrows {}\nxllcenter {}\nyllcenter {}\n{cell}\nNODATA_value {nodata}\n",
        raster.cols(),
        raster.rows(),
        south_west[0],
        south_west[1],
    )?;
    let line = |row: &[f32]| {
        let mut line = String::with_capacity(10 * row.len());
        for (i, &value) in row.iter().enumerate() {
            let value = if value.is_nan() { nodata } else { value };
            let space = if i == 0 { "" } else { " " };
            // Writing to a string cannot fail.
            let _ = write!(line, "{space}{value}");
        }
        line.push('\n');
        line
    };
    for rows in raster.as_slice().chunks(BATCH * raster.cols()) {
        let lines: Vec<String> = rows.par_chunks(raster.cols()).map(line).collect();
        lines.iter().try_for_each(|line| out.write_all(line.as_bytes()))?;
    }
    Ok(())
}
