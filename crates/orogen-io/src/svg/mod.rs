//! Scalable pictures (SVG) of lines: a map of contours and the plot of a profile.
//!
//! Plain shapes and text in system fonts, so that browsers and drawing programs show and change them.

mod map;
mod plot;

pub use map::{Contour, contour_map};
pub(crate) use plot::Layout;
pub use plot::profile_plot;

use std::fmt::Write;

/// A number with at most one digit after the point.
fn put(out: &mut String, value: f64) {
    let rounded = (value * 10.0).round() / 10.0;
    // Writing to a string cannot fail; adding 0 makes a plain zero of a negative one.
    let _ = write!(out, "{}", rounded + 0.0);
}

/// A number of metres for people: whole where it is whole.
fn label(value: f64) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    format!("{}", rounded + 0.0)
}
