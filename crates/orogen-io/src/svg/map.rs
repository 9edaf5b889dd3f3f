//! A map of contours: fine lines, every fifth one bold and labelled with its level.

use orogen_core::math;

use super::{label, put};

/// A contour on a picture.
pub struct Contour<'a> {
    /// Its level in metres.
    pub level_m: f64,
    /// Whether it is drawn bold, with its level on it.
    pub bold: bool,
    /// Whether it ends where it began.
    pub closed: bool,
    /// Its vertices, to the east and to the south, in the unit of the picture's size.
    pub line: &'a [[f64; 2]],
}

/// The longer side of a picture.
const SIDE: f64 = 1600.0;
/// Letters of a label are this high.
const LETTER: f64 = 13.0;

/// A map of contours on ground of a size, (width, height) in metres.
#[must_use]
pub fn contour_map(size_m: [f64; 2], cell_m: [f64; 2], contours: &[Contour<'_>]) -> String {
    let scale = SIDE / size_m[0].max(size_m[1]).max(1e-9);
    let [width, height] = size_m.map(|side| (side * scale).ceil().max(1.0));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <style>path{{fill:none;stroke:#9a5f2c;stroke-width:.7;stroke-linejoin:round}}.b path{{stroke-width:1.6}}\
         text{{font:{LETTER}px sans-serif;fill:#7a4312;text-anchor:middle;dominant-baseline:central}}\
         .h{{fill:none;stroke:#fff;stroke-width:4px}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    let at = |[col, row]: [f64; 2]| [col * cell_m[0] * scale, row * cell_m[1] * scale];
    let mut labels = String::new();
    for bold in [false, true] {
        out.push_str(if bold { "<g class=\"b\">\n" } else { "<g>\n" });
        for contour in contours.iter().filter(|contour| contour.bold == bold) {
            put_path(&mut out, contour, at);
            if bold {
                put_labels(&mut labels, contour, at);
            }
        }
        out.push_str("</g>\n");
    }
    out.push_str(&labels);
    out.push_str("</svg>\n");
    out
}

fn put_path(out: &mut String, contour: &Contour<'_>, at: impl Fn([f64; 2]) -> [f64; 2]) {
    out.push_str("<path d=\"M");
    let last = contour.line.len() - usize::from(contour.closed);
    let mut before = [f64::NAN; 2];
    for (i, &vertex) in contour.line[..last].iter().enumerate() {
        let place = at(vertex).map(|v| (v * 10.0).round() / 10.0);
        if place == before {
            continue;
        }
        before = place;
        if i > 0 {
            out.push(' ');
        }
        put(out, place[0]);
        out.push(',');
        put(out, place[1]);
    }
    if contour.closed {
        out.push('Z');
    }
    out.push_str("\"><title>");
    out.push_str(&label(contour.level_m));
    out.push_str(" m</title></path>\n");
}

/// A label on every stretch of a line, where it is straightest.
fn put_labels(out: &mut String, contour: &Contour<'_>, at: impl Fn([f64; 2]) -> [f64; 2]) {
    const STRETCH: f64 = 700.0;
    let text = label(contour.level_m);
    let room = LETTER * (0.6 * text.len() as f64 + 1.0);
    let line: Vec<[f64; 2]> = contour.line.iter().map(|&vertex| at(vertex)).collect();
    let mut run = vec![0.0];
    for pair in line.windows(2) {
        let step = math::hypot(pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]);
        run.push(run[run.len() - 1] + step);
    }
    let length = run[run.len() - 1];
    let stretches = (length / STRETCH).round().max(1.0);
    if length < 3.0 * room {
        return;
    }
    // For each stretch the place whose surroundings, as long as the label, are nearest to a straight line.
    let place = |along: f64| {
        let i = run.partition_point(|&r| r < along).clamp(1, run.len() - 1);
        let t = ((along - run[i - 1]) / (run[i] - run[i - 1]).max(1e-12)).clamp(0.0, 1.0);
        [0, 1].map(|axis: usize| line[i - 1][axis] + t * (line[i][axis] - line[i - 1][axis]))
    };
    for stretch in 0..stretches as usize {
        let (from, to) = (length * stretch as f64 / stretches, length * (stretch + 1) as f64 / stretches);
        let (from, to) = (from.max(room), to.min(length - room));
        let mut best: Option<(f64, f64)> = None;
        let mut along = from;
        while along < to {
            let (a, b) = (place(along - 0.5 * room), place(along + 0.5 * room));
            let chord = math::hypot(b[0] - a[0], b[1] - a[1]);
            if best.is_none_or(|(most, _)| chord > most) {
                best = Some((chord, along));
            }
            along += 0.5 * room;
        }
        if let Some((_, along)) = best.filter(|(chord, _)| *chord > 0.8 * room) {
            let (a, b, middle) = (place(along - 0.5 * room), place(along + 0.5 * room), place(along));
            let turn = math::atan2(b[1] - a[1], b[0] - a[0]).to_degrees();
            // Text reads from the left.
            let upright = if turn > 90.0 {
                turn - 180.0
            } else if turn < -90.0 {
                turn + 180.0
            } else {
                turn
            };
            // A white rim first, so that the line does not run through the figures.
            for class in [" class=\"h\"", ""] {
                out.push_str(&format!("<text{class} transform=\"translate("));
                put(out, middle[0]);
                out.push(' ');
                put(out, middle[1]);
                out.push_str(") rotate(");
                put(out, upright);
                out.push_str(")\">");
                out.push_str(&text);
                out.push_str("</text>\n");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bold_lines_carry_their_level_upright() {
        let ring: Vec<[f64; 2]> = (0..=100)
            .map(|i| {
                let turn = std::f64::consts::TAU * f64::from(i % 100) / 100.0;
                [50.0 + 40.0 * math::cos(turn), 50.0 - 40.0 * math::sin(turn)]
            })
            .collect();
        let contours = [
            Contour { level_m: 250.0, bold: true, closed: true, line: &ring },
            Contour { level_m: 260.5, bold: false, closed: false, line: &ring[..20] },
        ];
        let svg = contour_map([1000.0, 1000.0], [10.0, 10.0], &contours);
        assert_eq!(svg.matches("<path d=").count(), 2);
        assert_eq!(svg.matches('Z').count(), 1);
        assert!(svg.contains("<title>260.5 m</title>"));
        assert!(svg.matches(">250</text>").count() >= 2);
        for part in svg.split("rotate(").skip(1) {
            let turn: f64 = part[..part.find(')').unwrap()].parse().unwrap();
            assert!((-90.0..=90.0).contains(&turn));
        }
    }

    #[test]
    fn nothing_gives_an_empty_map() {
        let svg = contour_map([0.0, 0.0], [1.0, 1.0], &[]);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
