//! The plot of a profile: height over distance, with round numbers on both axes.

use orogen_core::math;

use super::{label, put};

const SIZE: [f64; 2] = [1200.0, 420.0];
/// Room for the axes: left, top, right, bottom.
const MARGIN: [f64; 4] = [70.0, 30.0, 20.0, 45.0];

/// Where everything on the plot lies, in pixels from the upper left corner.
pub(crate) struct Layout {
    /// Width and height of the picture.
    pub size: [f64; 2],
    /// The plot in it: left, top, width and height.
    pub area: [f64; 4],
    /// Lines along the plot, with the heights that stand beside them.
    pub heights: Vec<(f64, String)>,
    /// Lines up the plot, with the distances that stand below them.
    pub distances: Vec<(f64, String)>,
    /// The ground, in stretches without a hole.
    pub ground: Vec<Vec<[f64; 2]>>,
    /// What the distances are given in.
    pub unit: &'static str,
}

impl Layout {
    /// Lays out heights over distances, both in metres; a height that is not a number leaves a gap.
    pub(crate) fn new(distances_m: &[f64], heights_m: &[f32]) -> Self {
        let known = || heights_m.iter().map(|&z| f64::from(z)).filter(|z| z.is_finite());
        let (mut low, mut high) =
            known().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), z| (a.min(z), b.max(z)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if high - low < 1.0 {
            (low, high) = (low - 0.5, high + 0.5);
        }
        let length = distances_m.last().copied().unwrap_or(0.0).max(1e-9);
        let steps = [round_step(length / 10.0), round_step((high - low) / 6.0)];
        let (low, high) = ((low / steps[1]).floor() * steps[1], (high / steps[1]).ceil() * steps[1]);
        let [left, top, right, bottom] = MARGIN;
        let (wide, tall) = (SIZE[0] - left - right, SIZE[1] - top - bottom);
        let x = |distance: f64| left + wide * distance / length;
        let y = |height: f64| top + tall * (high - height) / (high - low);
        let marks = |from: f64, to: f64, step: f64| {
            let count = ((to - from) / step + 1e-9).floor() as usize;
            (0..=count).map(move |i| from + i as f64 * step)
        };
        let in_km = length >= 5000.0;
        let shown = |distance: f64| label(if in_km { distance / 1000.0 } else { distance });
        let place = |at: usize| [x(distances_m[at]), y(f64::from(heights_m[at]))];
        Self {
            size: SIZE,
            area: [left, top, wide, tall],
            heights: marks(low, high, steps[1]).map(|height| (y(height), label(height))).collect(),
            distances: marks(0.0, length, steps[0]).map(|d| (x(d), shown(d))).collect(),
            ground: runs(heights_m).into_iter().map(|run| run.map(place).collect()).collect(),
            unit: if in_km { "distance in km" } else { "distance in m" },
        }
    }
}

/// Plots heights over distances, both in metres; a height that is NaN leaves a gap.
#[must_use]
pub fn profile_plot(title: &str, distances_m: &[f64], heights_m: &[f32]) -> String {
    let Layout { size, area: [left, top, wide, tall], heights, distances, ground, unit } =
        Layout::new(distances_m, heights_m);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n\
         <style>text{{font:12px sans-serif;fill:#333}}.grid{{stroke:#ddd;fill:none}}\
         .line{{stroke:#7a4312;stroke-width:1.5;fill:none;stroke-linejoin:round}}.land{{fill:#e9d8c4}}</style>\n\
         <rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
        size[0], size[1]
    );
    let (mut land, mut line) = (String::new(), String::new());
    let place = |out: &mut String, [x, y]: [f64; 2]| {
        put(out, x);
        out.push(',');
        put(out, y);
    };
    for run in &ground {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        land.push('M');
        place(&mut land, [first[0], top + tall]);
        land.push_str(" L");
        line.push('M');
        for &at in run {
            for path in [&mut land, &mut line] {
                place(path, at);
                path.push(' ');
            }
        }
        place(&mut land, [last[0], top + tall]);
        land.push_str(" Z ");
    }
    out.push_str(&format!("<path class=\"land\" d=\"{}\"/>\n", land.trim_end()));
    for (y, shown) in &heights {
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{left},{y:.1} h{wide}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{shown}</text>\n",
            left - 8.0,
            y + 4.0
        ));
    }
    for (x, shown) in &distances {
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{x:.1},{top} v{tall}\"/><text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{shown}</text>\n",
            top + tall + 18.0
        ));
    }
    out.push_str(&format!("<path class=\"line\" d=\"{}\"/>\n", line.trim_end()));
    out.push_str(&format!(
        "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{unit}</text>\n\
         <text x=\"{left}\" y=\"18\">{2}, height in m</text>\n</svg>\n",
        left + 0.5 * wide,
        size[1] - 8.0,
        escaped(title)
    ));
    out
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn round_step(least: f64) -> f64 {
    let power = math::pow(10.0, math::log10(least).floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * power)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(10.0 * power)
}

/// Stretches of heights that are numbers.
fn runs(heights_m: &[f32]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, z) in heights_m.iter().enumerate() {
        if z.is_finite() {
            match runs.last_mut().filter(|run| run.end == i) {
                Some(run) => run.end = i + 1,
                None => runs.push(i..i + 1),
            }
        }
    }
    runs
}

fn escaped(text: &str) -> String {
    let kept = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
    kept.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (least, step) in
            [(0.9, 1.0), (1.0, 1.0), (1.2, 2.0), (3.0, 5.0), (7.0, 10.0), (430.0, 500.0), (0.03, 0.05)]
        {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        }
    }

    #[test]
    fn a_hole_leaves_a_gap() {
        let svg = profile_plot("a <b>", &[0.0, 1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, f32::NAN, 2.0, 3.0]);
        let line = svg.split("class=\"line\" d=\"").nth(1).unwrap();
        assert_eq!(line[..line.find('"').unwrap()].matches('M').count(), 2);
        assert!(svg.contains("a &lt;b&gt;"));
        for odd in [&[][..], &[f32::NAN][..], &[5.0][..]] {
            let svg = profile_plot("", &vec![0.0; odd.len()], odd);
            assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
