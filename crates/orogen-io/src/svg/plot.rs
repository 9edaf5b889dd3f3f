//! The plot of a profile: height over distance, with round numbers on both axes.

use orogen_core::math;

use super::{label, put};

const SIZE: [f64; 2] = [1200.0, 420.0];
/// Room for the axes: left, top, right, bottom.
const MARGIN: [f64; 4] = [70.0, 30.0, 20.0, 45.0];

/// Plots heights over distances, both in metres; a height that is NaN leaves a gap.
#[must_use]
pub fn profile_plot(title: &str, distances_m: &[f64], heights_m: &[f32]) -> String {
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

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n\
         <style>text{{font:12px sans-serif;fill:#333}}.grid{{stroke:#ddd;fill:none}}\
         .line{{stroke:#7a4312;stroke-width:1.5;fill:none;stroke-linejoin:round}}.land{{fill:#e9d8c4}}</style>\n\
         <rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
        SIZE[0], SIZE[1]
    );
    let (mut land, mut line) = (String::new(), String::new());
    for run in runs(heights_m) {
        for (i, at) in run.clone().enumerate() {
            let place = |out: &mut String| {
                put(out, x(distances_m[at]));
                out.push(',');
                put(out, y(f64::from(heights_m[at])));
                out.push(' ');
            };
            line.push_str(if i == 0 { "M" } else { "" });
            place(&mut line);
            if i == 0 {
                land.push('M');
                put(&mut land, x(distances_m[at]));
                land.push(',');
                put(&mut land, top + tall);
                land.push_str(" L");
            }
            place(&mut land);
        }
        put(&mut land, x(distances_m[run.end - 1]));
        land.push(',');
        put(&mut land, top + tall);
        land.push_str(" Z ");
    }
    out.push_str(&format!("<path class=\"land\" d=\"{}\"/>\n", land.trim_end()));
    let count = |from: f64, to: f64, step: f64| ((to - from) / step + 1e-9).floor() as usize;
    for i in 0..=count(low, high, steps[1]) {
        let height = low + i as f64 * steps[1];
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{left},{0:.1} h{wide}\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>\n",
            y(height),
            left - 8.0,
            y(height) + 4.0,
            label(height)
        ));
    }
    let in_km = length >= 5000.0;
    for i in 0..=count(0.0, length, steps[0]) {
        let distance = i as f64 * steps[0];
        let shown = if in_km { distance / 1000.0 } else { distance };
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{0:.1},{top} v{tall}\"/><text x=\"{0:.1}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>\n",
            x(distance),
            top + tall + 18.0,
            label(shown)
        ));
    }
    out.push_str(&format!("<path class=\"line\" d=\"{}\"/>\n", line.trim_end()));
    let unit = if in_km { "distance in km" } else { "distance in m" };
    out.push_str(&format!(
        "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{unit}</text>\n\
         <text x=\"{left}\" y=\"18\">{2}, height in m</text>\n</svg>\n",
        left + 0.5 * wide,
        SIZE[1] - 8.0,
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
