//! Mask by brush: painted by hand.

use orogen_core::{
    Ctx, Footprint, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brush::{Near, Path, changed};

/// One stroke of the brush.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stroke {
    /// The line, (x, y) each; one point makes a dab.
    #[schemars(length(min = 1, max = 10_000), inner(inner(range(min = -1e9, max = 1e9))), extend("x-unit" = "m"))]
    pub points_m: Vec<[f64; 2]>,
    /// Distance from the line at which the stroke ends.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub radius_m: f64,
    /// Outer share of the radius over which the stroke fades; 0 is a hard edge.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub falloff: f64,
    /// How strong the stroke is on its line.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub strength: f64,
    /// Takes away from the mask instead.
    #[serde(default)]
    pub erase: bool,
}

fn one() -> f64 {
    1.0
}

impl Stroke {
    fn path(&self) -> Path {
        Path::new(&self.points_m, false, self.radius_m)
    }
}

/// Marks what strokes of a brush touch; further strokes may erase again.
///
/// ```text
/// w = strength · S(distance to the line / radius)
/// mask ← max(mask, w)      erasing: min(mask, 1 − w)
/// ```
///
/// `S` is 1 on the line and falls smoothly to 0 over the outer share `falloff` of the radius.
///
/// **Guarantees** (1) every result lies in 0 to 1; (2) strokes that cross do not add up; (3) strokes act in their order,
/// and nothing further than `radius_m` from one changes by it; (4) strokes are lines in metres: the same mask at any
/// number of samples.
///
/// **Limits** It needs no layer and has no holes. A stroke costs only what it touches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Brush {
    /// The strokes, in the order in which they act.
    #[schemars(length(max = 2000))]
    pub strokes: Vec<Stroke>,
    /// The mask before the first stroke.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fill: f64,
    /// Layer that receives the mask.
    pub to: LayerName,
}

impl Default for Brush {
    fn default() -> Self {
        Self { strokes: Vec::new(), fill: 0.0, to: layer::MASK.name() }
    }
}

impl Op for Brush {
    const ID: &'static str = "mask.brush";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([self.to.clone()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn footprint(&self, old: &Self, _: &Frame) -> Footprint {
        if self.fill != old.fill {
            return Footprint::Everything;
        }
        let strokes = changed(&old.strokes, &self.strokes);
        Footprint::of(strokes.iter().map(|stroke| stroke.path().extent()))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let strokes: Vec<_> = self
            .strokes
            .iter()
            .filter_map(|stroke| {
                let path = stroke.path();
                let (cols, rows) = path.touches(&frame)?;
                Some((stroke, path, cols, rows))
            })
            .collect();
        let counter = ctx.counter(frame.rows());
        let mut mask = Raster::filled(frame.cols(), frame.rows(), self.fill as f32);
        mask.try_par_rows(|row, values| {
            let mut near = Near::default();
            for (stroke, path, cols, rows) in &strokes {
                if !rows.contains(&row) {
                    continue;
                }
                path.nearest(&frame, row, cols.clone(), &mut near);
                let (strength, falloff) = (stroke.strength as f32, stroke.falloff as f32);
                for (value, distance2) in values[cols.clone()].iter_mut().zip(&near.distance2) {
                    let w = strength * path.weight(*distance2, falloff);
                    *value = if stroke.erase { value.min(1.0 - w) } else { value.max(w) };
                }
            }
            counter.done()
        })?;
        terrain.set_named(self.to.clone(), LayerData::F32(mask.into()));
        Ok(terrain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_footprint, assert_windows, place};

    fn stroke(points_m: Vec<[f64; 2]>) -> Stroke {
        Stroke { points_m, radius_m: 100.0, falloff: 1.0, strength: 0.8, erase: false }
    }

    fn paint(op: &Brush) -> Raster<f32> {
        let terrain = Terrain::new(Frame::square(1000.0, 101).unwrap());
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::MASK).unwrap().clone()
    }

    #[test]
    fn crossing_strokes_do_not_add_up_and_an_eraser_takes_away() {
        let cross =
            vec![stroke(vec![[200.0, 500.0], [800.0, 500.0]]), stroke(vec![[500.0, 200.0], [500.0, 800.0]])];
        let mask = paint(&Brush { strokes: cross.clone(), ..Brush::default() });
        assert_eq!((mask.row(50)[50], mask.row(50)[30], mask.row(20)[20]), (0.8, 0.8, 0.0));
        assert_eq!(mask.row(45)[30], 0.4);
        let eraser = Stroke { erase: true, strength: 1.0, ..stroke(vec![[500.0, 500.0]]) };
        let mask = paint(&Brush { strokes: [cross, vec![eraser]].concat(), ..Brush::default() });
        assert_eq!((mask.row(50)[50], mask.row(50)[30]), (0.0, 0.8));
    }

    #[test]
    fn windows_equal_the_whole() {
        let strokes = vec![
            Stroke { falloff: 0.5, ..stroke(vec![place(0.1, 0.2), place(0.8, 0.9), place(0.7, 0.1)]) },
            Stroke { erase: true, ..stroke(vec![place(0.5, 0.5)]) },
        ];
        assert_windows(&Brush { strokes, fill: 0.1, ..Brush::default() });
    }

    #[test]
    fn an_edit_changes_nothing_outside_its_footprint() {
        let dab = |x: f64, y: f64| Stroke { falloff: 0.0, radius_m: 110.0, ..stroke(vec![place(x, y)]) };
        let line = stroke(vec![place(0.1, 0.2), place(0.8, 0.9)]);
        let brush = |strokes: Vec<Stroke>| Brush { strokes, ..Brush::default() };
        let before = brush(vec![line.clone(), dab(0.3, 0.4), dab(0.7, 0.2)]);
        for after in [
            brush(vec![line.clone(), dab(0.35, 0.45), dab(0.7, 0.2)]),
            brush(vec![line.clone(), dab(0.7, 0.2)]),
            brush(vec![line, dab(0.3, 0.4), Stroke { erase: true, ..dab(0.4, 0.4) }, dab(0.7, 0.2)]),
        ] {
            assert_footprint(&before, &after, 0.4);
        }
    }
}
