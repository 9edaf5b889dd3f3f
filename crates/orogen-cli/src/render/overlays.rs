//! What is painted over the ground, from the words of the command line; and what its colours mean, into the picture.

use std::path::Path;

use orogen::BuildError;
use orogen::core::Rect;
use orogen::core::vector::VectorLayer;
use orogen::io::caption::{Caption, stamp};
use orogen::io::png8::Picture;
use orogen::io::{Limits, elevation, features, image};
use orogen_render::overlay::{Drape, Drawing, Scale};
use orogen_render::{Legend, Overlay, RenderError};

use super::source::moved;
use crate::args::Render;

/// Colours of files of drawings, one after another.
const COLORS: [[u8; 3]; 5] = [[230, 57, 40], [250, 176, 5], [28, 126, 214], [174, 62, 201], [43, 138, 62]];

/// The overlay that is asked for; `offset_m` is what the coordinates of the land's own file have more than the land's.
///
/// # Errors
/// When a word names nothing, or a file cannot be read.
pub fn overlay(args: &Render, offset_m: [f64; 2]) -> anyhow::Result<Overlay> {
    let mut overlay = Overlay { share: args.opacity, ..Overlay::default() };
    for word in &args.overlay {
        overlay.add(word.trim()).map_err(|e| BuildError::Call(format!("--overlay: {e}")))?;
    }
    let limits = Limits::of_memory(args.changes.memory, 16);
    for text in &args.drape {
        overlay.drapes.push(drape(text, &limits, offset_m)?);
    }
    for (file, color) in args.draw.iter().zip(COLORS.iter().cycle()) {
        overlay.drawings.extend(drawings(file, *color, &limits, offset_m)?);
    }
    Ok(overlay)
}

fn drape(text: &str, limits: &Limits, offset_m: [f64; 2]) -> anyhow::Result<Drape> {
    let call = |why: String| BuildError::Call(format!("--drape {text}: {why}"));
    // A file may have an @ in its name.
    let split = text.rsplit_once('@').filter(|(file, _)| !file.is_empty() && !Path::new(text).exists());
    let (file, place) = split.map_or((text, None), |(file, place)| (file, Some(place)));
    let path = Path::new(file);
    let image = image::read_colors(path, limits).map_err(|e| BuildError::Call(e.to_string()))?;
    let Some(place) = place else {
        let read = elevation::read_band(path, Some(1), limits).ok();
        let placed = read.and_then(|(band, _)| Some((band.north_west_m?, band.spacing_m?)));
        let Some(([x, y], [dx, dy])) = placed else {
            let why = "the image does not say where it lies; give its edges: IMAGE@X0,Y0,X1,Y1";
            return Err(call(why.to_owned()).into());
        };
        // Samples are the middles of pixels.
        let size = [dx * image.cols() as f64, dy * image.rows() as f64];
        let (west, north) = (x - 0.5 * dx, y + 0.5 * dy);
        let rect = Rect { min: [west, north - size[1]], max: [west + size[0], north] };
        return Ok(Drape::on(image, &moved(&rect, offset_m), 1.0).map_err(named(text))?);
    };
    let numbers: Result<Vec<f64>, _> = place.split(',').map(|number| number.trim().parse::<f64>()).collect();
    let numbers = numbers.ok().filter(|numbers| numbers.iter().all(|n| n.is_finite()));
    let made = match numbers.as_deref() {
        Some(&[x0, y0, x1, y1]) => Drape::on(image, &Rect { min: [x0, y0], max: [x1, y1] }, 1.0),
        Some(&[ax, ay, bx, by, cx, cy, dx, dy]) => {
            Drape::between(image, [[ax, ay], [bx, by], [cx, cy], [dx, dy]], 1.0)
        }
        _ => return Err(call(String::from("expected four edges or four corners in metres after @")).into()),
    };
    Ok(made.map_err(named(text))?)
}

fn named(text: &str) -> impl Fn(RenderError) -> RenderError + '_ {
    move |error| RenderError::Call(format!("--drape {text}: {error}"))
}

fn drawings(
    file: &Path,
    color: [u8; 3],
    limits: &Limits,
    offset_m: [f64; 2],
) -> anyhow::Result<Vec<Drawing>> {
    let read = features::read(file, limits).map_err(|e| BuildError::Call(e.to_string()))?;
    if read.is_empty() {
        return Err(BuildError::Call(format!("{}: there is nothing to draw in it", file.display())).into());
    }
    let sets = [&read.polygons, &read.lines, &read.points].map(|set| set.vectors());
    let drawing = |vectors: &VectorLayer| {
        let mut own = VectorLayer::new(vectors.shape());
        for feature in 0..vectors.len() {
            let parts = vectors.parts(feature).map(|part| {
                vectors.vertices()[part].iter().map(|p| [p[0] - offset_m[0], p[1] - offset_m[1], p[2]])
            });
            own.push_parts(parts);
        }
        Drawing { vectors: own, color, width_m: None }
    };
    Ok(sets.into_iter().filter(|vectors| !vectors.is_empty()).map(drawing).collect())
}

/// Draws what the colours of a picture mean into its corner.
pub fn draw_legend(picture: &mut Picture, legend: &[Legend]) {
    let captions: Vec<Caption> = legend
        .iter()
        .map(|legend| match legend {
            Legend::Note(text) => Caption::Note(text.clone()),
            Legend::Keys { title, keys } => Caption::Keys { title: title.clone(), keys: keys.clone() },
            Legend::Ramp { title, unit, scale, colors } => {
                let unit = match unit.as_str() {
                    "" => String::new(),
                    "degC" => String::from(", degrees C"),
                    "m2" => String::from(", square metres"),
                    unit => format!(", {unit}"),
                };
                Caption::Ramp { title: format!("{title}{unit}"), colors: colors.clone(), marks: marks(scale) }
            }
        })
        .collect();
    stamp(picture, &captions);
}

/// What is written below a ramp: its ends and its middle.
fn marks(scale: &Scale) -> Vec<(f64, String)> {
    [0.0, 0.5, 1.0].map(|share| (share, short(scale.value(share)))).into()
}

/// A number with three digits that count.
fn short(x: f64) -> String {
    let size = x.abs();
    let text = if size >= 1e5 {
        return format!("{x:.1e}");
    } else if size >= 100.0 || x == 0.0 {
        format!("{x:.0}")
    } else if size >= 10.0 {
        format!("{x:.1}")
    } else if size >= 0.01 {
        format!("{x:.2}")
    } else {
        return format!("{x:.1e}");
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (1234.4, "1234"),
            (12.0, "12"),
            (-3.25, "-3.25"),
            (2.5e7, "2.5e7"),
            (0.0002, "2.0e-4"),
        ] {
            assert_eq!(short(x), text);
        }
    }
}
