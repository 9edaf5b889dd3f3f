//! What features leave behind besides heights: rivers as lines, and marks of what is to be kept.

use orogen_core::Rect;
use orogen_core::vector::{Column, Point, Shape, VectorLayer};

use super::{Feature, Ready};
use crate::held_lines::Held;

/// Lines of rivers with their widths.
struct Lines {
    layer: VectorLayer,
    names: Vec<String>,
    widths: Vec<f64>,
}

impl Lines {
    fn push(&mut self, name: &str, points: impl IntoIterator<Item = (Point, f64)>) {
        let (points, widths): (Vec<Point>, Vec<f64>) = points.into_iter().unzip();
        self.layer.push(points);
        self.names.push(name.to_owned());
        self.widths.extend(widths);
    }
}

/// The lines of all rivers that act fully, behind those of `former` that no feature touches. Heights are those of the
/// bed, which fall downstream.
pub(super) fn rivers(
    former: Option<&VectorLayer>,
    features: &[Feature],
    ready: &[Ready],
    touched: &[Rect],
) -> VectorLayer {
    let mut lines = Lines { layer: VectorLayer::new(Shape::Lines), names: Vec::new(), widths: Vec::new() };
    if let Some(former) = former.filter(|layer| layer.shape() == Shape::Lines) {
        let (of_vertices, of_lines) = (former.vertex_numbers("width_m"), former.numbers("width_m"));
        for line in 0..former.len() {
            if !is_touched(former, line, touched) {
                let names = former.feature_attributes().get("name");
                let name = names.and_then(|names| names.text(line)).unwrap_or_default();
                let width = |i: usize| of_vertices.map(|w| w[i]).or(of_lines.map(|w| w[line])).unwrap_or(0.0);
                let points = former.parts(line).flatten().map(|i| (former.vertices()[i], width(i)));
                lines.push(name, points);
            }
        }
    }
    for (feature, ready) in features.iter().zip(ready) {
        if let (Feature::River(river), Ready::Line(trace)) = (feature, ready)
            && river.strength == 1.0
        {
            lines.push(river.name.as_deref().unwrap_or(""), course(trace));
        }
    }
    let mut layer = lines.layer;
    // One entry a line and one a vertex were pushed above, so both fit.
    let _ = layer.set_feature_attribute("name", Column::Text(lines.names));
    let _ = layer.set_vertex_attribute("width_m", Column::Number(lines.widths));
    layer
}

/// The bed of a river, with its width.
fn course(trace: &super::trace::Trace) -> impl Iterator<Item = (Point, f64)> + '_ {
    trace.spline.vertices().map(|([x, y], [level, bed, half, _])| ([x, y, bed.min(level)], 2.0 * half))
}

/// Whether a feature may change the ground under a line.
pub(super) fn is_touched(layer: &VectorLayer, line: usize, touched: &[Rect]) -> bool {
    let around = |points: &[Point]| {
        points.iter().fold(Rect { min: [f64::INFINITY; 2], max: [f64::NEG_INFINITY; 2] }, |rect, p| Rect {
            min: [rect.min[0].min(p[0]), rect.min[1].min(p[1])],
            max: [rect.max[0].max(p[0]), rect.max[1].max(p[1])],
        })
    };
    let meet = |a: &Rect, b: &Rect| (0..2).all(|i| a.min[i] <= b.max[i] && b.min[i] <= a.max[i]);
    layer.parts(line).any(|part| {
        let points = &layer.vertices()[part];
        let whole = around(points);
        let near: Vec<&Rect> = touched.iter().filter(|rect| meet(rect, &whole)).collect();
        let pieces = points.windows(points.len().clamp(1, 2));
        pieces.map(around).any(|piece| near.iter().any(|rect| meet(rect, &piece)))
    })
}

/// Marks of the features that are to be kept. Where the height follows from the feature alone (river, lake, plateau)
/// the mark has it; elsewhere it is that of the ground, which a window may not hold: then the mark has none of its own.
pub(super) fn held(features: &[Feature], ready: &[Ready]) -> Vec<Held> {
    let on_ground = |[x, y]: [f64; 2]| [x, y, f64::NAN];
    let mut marks = Vec::new();
    for (feature, ready) in features.iter().zip(ready) {
        if !feature.hold() {
            continue;
        }
        let (points, radius_m): (Vec<Point>, f64) = match (feature, ready) {
            (Feature::River(river), Ready::Line(trace)) if river.strength == 1.0 => {
                (course(trace).map(|(point, _)| point).collect(), 0.0)
            }
            (Feature::Plateau(p), Ready::Round(_)) if p.strength == 1.0 => {
                (vec![[p.at_m[0], p.at_m[1], p.level_m]], p.flat_m())
            }
            (Feature::Lake(lake), Ready::Area(_)) if lake.strength == 1.0 => {
                // Its first ring: the shore, at the level of the water.
                let place = |p: &[f64; 2]| {
                    [lake.at_m[0] + lake.radius_m * p[0], lake.at_m[1] + lake.radius_m * p[1], lake.level_m]
                };
                let ring = lake.outline.first().map_or(&[][..], Vec::as_slice);
                (ring.iter().chain(ring.first()).map(place).collect(), 0.0)
            }
            (Feature::Lake(lake), _) if lake.strength == 1.0 => {
                (vec![[lake.at_m[0], lake.at_m[1], lake.level_m - lake.depth_m]], lake.flat_m())
            }
            (_, Ready::Line(trace)) => (trace.spline.vertices().map(|(at, _)| on_ground(at)).collect(), 0.0),
            (_, Ready::Area(area)) => (vec![on_ground(area.at)], 0.0),
            (_, Ready::Round(round)) => (vec![on_ground(round.at)], 0.0),
        };
        if !points.is_empty() {
            marks.push(Held { kind: feature.kind().to_owned(), points, radius_m });
        }
    }
    marks
}
