//! Paint: brush strokes on any layer, kept as vectors.

use std::ops::Range;

use orogen_core::{
    Ctx, Footprint, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::between::{self, Method};
use super::blur;
use crate::brush::{Near, Path, changed};
use crate::octaves::{OctaveBuffers, Octaves};

/// What a stroke does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Adds `amount`.
    #[default]
    Raise,
    /// Takes `amount` away.
    Lower,
    /// Softens what is smaller than `scale_m`.
    Smooth,
    /// Levels across the line: every sample takes the value at the nearest place of the line. Along it the layer stays,
    /// so a stroke over hills leaves a road, and a dab a platform.
    Flatten,
    /// Adds noise of `amount`, up and down, in waves of `scale_m`.
    Noise,
    /// Sets the value to `amount`.
    Set,
}

/// One stroke of the brush.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stroke {
    /// What it does.
    #[serde(default)]
    pub tool: Tool,
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
    /// By how much (raise, lower, noise) or to what (set), in the unit of the layer.
    #[serde(default = "ten")]
    #[schemars(range(min = -1e6, max = 1e6), extend("x-slider" = [0.0, 500.0]))]
    pub amount: f64,
    /// Size of what is smoothed away, or of the noise.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1e-2, max = 1e5), extend("x-unit" = "m", "x-slider" = [10.0, 500.0]))]
    pub scale_m: f64,
}

fn one() -> f64 {
    1.0
}

fn ten() -> f64 {
    10.0
}

fn hundred() -> f64 {
    100.0
}

impl Stroke {
    fn path(&self) -> Path {
        Path::new(&self.points_m, false, self.radius_m)
    }

    /// How far from a sample it looks.
    fn looks_m(&self, [dx, dy]: [f64; 2]) -> f64 {
        match self.tool {
            // The nearest place of the line, and the cell it lies in.
            Tool::Flatten => self.radius_m + dx.max(dy),
            Tool::Smooth => self.scale_m,
            Tool::Raise | Tool::Lower | Tool::Noise | Tool::Set => 0.0,
        }
    }
}

/// Paints on a layer with strokes of a brush: raise, lower, smooth, flatten, roughen or set, one after the other.
///
/// ```text
/// w = strength · S(distance to the line / radius)
/// raise, lower   h ± w·amount           smooth    h + w·(mean around − h)
/// noise          h + w·amount·N         flatten   h + w·(h at the nearest place of the line − h)
/// set            h + w·(amount − h)
/// ```
///
/// `S` is 1 on the line and falls smoothly to 0 over the outer share `falloff` of the radius. Strokes are lines in
/// metres, so they are as fine as the land is at any number of samples, and any of them can be changed later.
///
/// **Guarantees** (1) nothing further than `radius_m` from a stroke changes, to the bit; (2) strokes act in their
/// order; (3) a window has the same bits as the whole; (4) a full-strength `set` without falloff leaves exactly
/// `amount`; (5) the noise of all strokes is one field, so neighbouring strokes join without a seam.
///
/// **Limits** A hole stays a hole. Smoothing and flattening look around, so each adds to the reach of the strokes that
/// it overlaps. A stroke costs only what it touches.
///
/// **After** de Carpentier & Bidarra, "Interactive GPU-based procedural heightfield brushes", FDG 2009.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Paint {
    /// Layer that is painted on.
    pub layer: LayerName,
    /// The strokes, in the order in which they act.
    #[schemars(length(max = 2000))]
    pub strokes: Vec<Stroke>,
}

impl Default for Paint {
    fn default() -> Self {
        Self { layer: layer::HEIGHT.name(), strokes: Vec::new() }
    }
}

impl Op for Paint {
    const ID: &'static str = "shape.paint";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        let reach_m = reach_m(&self.strokes, frame.spacing_m());
        if reach_m > 0.0 { Reach::Within(reach_m) } else { Reach::Point }
    }

    fn footprint(&self, old: &Self, frame: &Frame) -> Footprint {
        let strokes = changed(&old.strokes, &self.strokes);
        let own = Footprint::of(strokes.iter().map(|stroke| stroke.path().extent()));
        // Strokes that look at what has changed carry it further.
        self.strokes.iter().fold(own, |all, stroke| {
            let looks_m = stroke.looks_m(frame.spacing_m());
            let Footprint::Rect(rect) = all else { return all };
            // A cell more, as the place looked at lies between samples.
            let seen = rect.grown(frame.spacing_m().map(|m| looks_m + m));
            match seen.intersection(&stroke.path().extent()) {
                Some(carried) if looks_m > 0.0 => Footprint::Rect(rect.union(&carried)),
                _ => all,
            }
        })
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let (frame, world) = (*terrain.frame(), ctx.world(&terrain));
        let before: &Raster<f32> = terrain.get_named(&self.layer)?;
        let counter = ctx.counter(frame.rows() + self.strokes.len());
        let mut values = Raster::filled(frame.cols(), frame.rows(), 0.0);
        values.try_par_rows(|row, out| {
            out.copy_from_slice(before.row(row));
            counter.done()
        })?;
        for stroke in &self.strokes {
            apply(&mut values, &frame, &world, stroke, ctx)?;
            counter.done()?;
        }
        terrain.set_named(self.layer.clone(), LayerData::F32(values.into()));
        Ok(terrain)
    }
}

/// How far strokes look in the end: a stroke looks at what earlier ones left there, which looked around themselves.
fn reach_m(strokes: &[Stroke], spacing_m: [f64; 2]) -> f64 {
    let mut known: Vec<([[f64; 2]; 2], f64)> = Vec::with_capacity(strokes.len());
    let mut furthest = 0.0f64;
    for stroke in strokes {
        let looks_m = stroke.looks_m(spacing_m);
        let [min, max] = stroke.path().bounds();
        let overlaps = |[a, b]: &[[f64; 2]; 2]| {
            (0..2).all(|axis| a[axis] <= max[axis] + looks_m && b[axis] >= min[axis] - looks_m)
        };
        let before = known.iter().filter(|(bounds, _)| overlaps(bounds)).map(|(_, far)| *far);
        let far = before.fold(0.0, f64::max) + looks_m;
        furthest = furthest.max(far);
        known.push(([min, max], far));
    }
    furthest
}

/// One stroke on the values of a frame.
fn apply(
    values: &mut Raster<f32>,
    frame: &Frame,
    world: &Frame,
    stroke: &Stroke,
    ctx: &Ctx<'_>,
) -> Result<(), OpError> {
    let path = stroke.path();
    let Some((cols, rows)) = path.touches(frame) else { return Ok(()) };
    let (strength, falloff) = (stroke.strength as f32, stroke.falloff as f32);
    let amount = stroke.amount as f32;
    let mix = |w: f32, h: f32, target: f32| if target.is_nan() { h } else { h + w * (target - h) };
    let spacing_m = frame.spacing_m();
    match stroke.tool {
        Tool::Raise | Tool::Lower => {
            let amount = if stroke.tool == Tool::Lower { -amount } else { amount };
            brush(values, frame, &path, &cols, &rows, falloff, |_, _, w, h| h + strength * w * amount);
        }
        Tool::Set => {
            brush(values, frame, &path, &cols, &rows, falloff, |_, _, w, h| {
                let w = strength * w;
                if w == 1.0 { amount } else { mix(w, h, amount) }
            });
        }
        Tool::Noise => {
            let noise = Octaves::over(world, ctx.seed().child("noise"), stroke.scale_m, 4, 0.5);
            let mut field = Raster::filled(cols.len(), rows.len(), 0.0);
            field.par_rows(|row, out| {
                noise.row(frame, rows.start + row, cols.clone(), &mut OctaveBuffers::default(), out);
            });
            brush(values, frame, &path, &cols, &rows, falloff, |col, row, w, h| {
                h + strength * w * amount * field.row(row)[col]
            });
        }
        Tool::Smooth => {
            // The touched part with as much around it as the mean looks at; beyond that the frame ends.
            let [x, y] = spacing_m.map(|spacing| bell_cells(stroke.scale_m, spacing) as usize);
            let (left, top) = (cols.start.saturating_sub(x), rows.start.saturating_sub(y));
            let (right, bottom) = ((cols.end + x).min(frame.cols()), (rows.end + y).min(frame.rows()));
            let part = values.crop(left, top, right - left, bottom - top);
            let x = bell(stroke.scale_m, spacing_m[0], part.cols());
            let y = bell(stroke.scale_m, spacing_m[1], part.rows());
            let soft = blur::convolve(&part, &x, &y, &ctx.unwatched())?;
            let shift = [cols.start - left, rows.start - top];
            brush(values, frame, &path, &cols, &rows, falloff, |col, row, w, h| {
                mix(strength * w, h, soft.row(row + shift[1])[col + shift[0]])
            });
        }
        Tool::Flatten => {
            // The nearest places of the line lie in the touched part.
            let before = values.crop(cols.start, rows.start, cols.len(), rows.len());
            let [dx, dy] = spacing_m;
            let mut level = Raster::filled(cols.len(), rows.len(), 0.0);
            level.par_rows(|row, out| {
                let mut near = Near::default();
                path.nearest(frame, rows.start + row, cols.clone(), &mut near);
                for (i, out) in out.iter_mut().enumerate() {
                    if near.distance2[i].is_finite() {
                        let offset = [f64::from(near.offset[0][i]) / dx, -f64::from(near.offset[1][i]) / dy];
                        *out = between::value(&before, [i, row], offset, Method::Linear);
                    }
                }
            });
            brush(values, frame, &path, &cols, &rows, falloff, |col, row, w, h| {
                mix(strength * w, h, level.row(row)[col])
            });
        }
    }
    Ok(())
}

/// Weights of the mean that `smooth` takes along lines of `count` cells: a bell of standard deviation a third of the
/// scale.
fn bell(scale_m: f64, spacing: f64, count: usize) -> Vec<f32> {
    blur::folded(bell_cells(scale_m, spacing), count, |i| {
        let d = i * spacing / scale_m;
        math::exp(-4.5 * d * d)
    })
}

/// How many cells that mean reaches.
fn bell_cells(scale_m: f64, spacing: f64) -> i64 {
    (scale_m / spacing + 1e-9).floor() as i64
}

/// Sets each sample that the path touches to `f(column and row in the touched part, weight, value)`.
fn brush(
    values: &mut Raster<f32>,
    frame: &Frame,
    path: &Path,
    cols: &Range<usize>,
    rows: &Range<usize>,
    falloff: f32,
    f: impl Fn(usize, usize, f32, f32) -> f32 + Sync,
) {
    values.par_rows(|row, out| {
        if !rows.contains(&row) {
            return;
        }
        let mut near = Near::default();
        path.nearest(frame, row, cols.clone(), &mut near);
        for (i, (out, distance2)) in out[cols.clone()].iter_mut().zip(&near.distance2).enumerate() {
            let w = path.weight(*distance2, falloff);
            if w > 0.0 {
                *out = f(i, row - rows.start, w, *out);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{self, place, whole, world};
    use orogen_core::testkit::{assert_close, ramp};

    fn stroke(tool: Tool) -> Stroke {
        Stroke {
            tool,
            points_m: vec![[300.0, 500.0], [700.0, 500.0]],
            radius_m: 100.0,
            falloff: 1.0,
            strength: 1.0,
            amount: 40.0,
            scale_m: 50.0,
        }
    }

    fn paint(strokes: Vec<Stroke>, height: Raster<f32>) -> Raster<f32> {
        let mut terrain = Terrain::new(Frame::square(1000.0, height.cols()).unwrap());
        terrain.set(layer::HEIGHT, height);
        let op = Paint { strokes, ..Paint::default() };
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    const TOOLS: [Tool; 6] = [Tool::Raise, Tool::Lower, Tool::Smooth, Tool::Flatten, Tool::Noise, Tool::Set];

    #[test]
    fn raising_is_full_on_the_line_half_half_way_and_nothing_outside() {
        let after = paint(vec![stroke(Tool::Raise)], Raster::filled(101, 101, 0.0));
        let at = |x: usize, y: usize| after.row(100 - y)[x];
        assert_eq!((at(50, 50), at(50, 55), at(50, 60), at(20, 50)), (40.0, 20.0, 0.0, 0.0));
        let lowered = paint(vec![stroke(Tool::Lower)], Raster::filled(101, 101, 0.0));
        assert_eq!(lowered.row(50)[50], -40.0);
    }

    #[test]
    fn nothing_outside_the_radius_changes() {
        let before = Raster::from_fn(101, 101, |c, r| ((c * 31 + r * 17) % 23) as f32);
        for tool in TOOLS {
            let after = paint(vec![stroke(tool)], before.clone());
            let mut changed = 0;
            for (i, (old, new)) in before.as_slice().iter().zip(after.as_slice()).enumerate() {
                let (x, y) = ((i % 101) as f64 * 10.0, 1000.0 - (i / 101) as f64 * 10.0);
                let distance = math::hypot(x - x.clamp(300.0, 700.0), y - 500.0);
                assert!(old == new || distance < 100.0, "{tool:?} at {x}, {y}");
                changed += usize::from(old != new);
            }
            assert!(changed > 500, "{tool:?} changes {changed} samples");
        }
    }

    #[test]
    fn setting_without_falloff_leaves_the_amount_and_order_matters() {
        let set = Stroke { falloff: 0.0, ..stroke(Tool::Set) };
        let after = paint(vec![stroke(Tool::Raise), set.clone()], ramp(101, 10.0, 0.3));
        assert_eq!(after.row(50)[50], 40.0);
        let after = paint(vec![set, stroke(Tool::Raise)], ramp(101, 10.0, 0.3));
        assert_eq!(after.row(50)[50], 80.0);
    }

    #[test]
    fn flattening_levels_across_the_line_and_follows_the_land_along_it() {
        // Rises along the line and across it; afterwards along it only.
        let before = Raster::from_fn(101, 101, |c, r| c as f32 + 2.0 * r as f32);
        let flat = Stroke { falloff: 0.2, ..stroke(Tool::Flatten) };
        let after = paint(vec![flat], before.clone());
        for (col, row) in [(40, 44), (40, 56), (60, 50)] {
            assert_close!(after.row(row)[col], before.row(50)[col], abs = 1e-3);
        }
    }

    #[test]
    fn smoothing_takes_the_checks_out_of_a_board() {
        let board = Raster::from_fn(101, 101, |c, r| if (c + r) % 2 == 0 { 10.0 } else { -10.0 });
        let after = paint(vec![stroke(Tool::Smooth)], board);
        assert!(after.row(50)[50].abs() < 0.5, "{}", after.row(50)[50]);
    }

    #[test]
    fn windows_equal_the_whole_for_every_tool_and_for_chains_of_them() {
        let strokes: Vec<Stroke> = TOOLS
            .iter()
            .map(|tool| Stroke {
                points_m: vec![place(0.2, 0.3), place(0.6, 0.7), place(0.9, 0.4)],
                radius_m: 130.0,
                ..stroke(*tool)
            })
            .collect();
        for one in &strokes {
            test_support::assert_windows(&Paint { strokes: vec![one.clone()], ..Paint::default() });
        }
        let all = Paint { strokes, ..Paint::default() };
        test_support::assert_windows(&all);
        assert_ne!(whole(&all), whole(&Paint::default()));
        let [dx, dy] = world().spacing_m();
        assert_eq!(all.reach(&world()), Reach::Within(50.0 + 130.0 + dx.max(dy)));
    }

    #[test]
    fn strokes_far_apart_do_not_add_up() {
        let far = Stroke { points_m: vec![[90_000.0, 0.0]], ..stroke(Tool::Smooth) };
        let strokes = vec![stroke(Tool::Smooth), far, stroke(Tool::Smooth)];
        assert_eq!(reach_m(&strokes, [10.0, 10.0]), 100.0);
    }

    #[test]
    fn an_edit_changes_nothing_outside_its_footprint() {
        let dab = |tool, x: f64, y: f64| Stroke { points_m: vec![place(x, y)], falloff: 0.0, ..stroke(tool) };
        for tool in TOOLS {
            // Strokes that look around carry a change from one to the next.
            let painted = |x: f64| Paint {
                strokes: vec![
                    dab(Tool::Raise, x, 0.3),
                    dab(tool, 0.35, 0.35),
                    dab(tool, 0.4, 0.4),
                    dab(tool, 0.9, 0.9),
                ],
                ..Paint::default()
            };
            test_support::assert_footprint(&painted(0.3), &painted(0.32), 0.5);
            let mut fewer = painted(0.3);
            fewer.strokes.remove(1);
            test_support::assert_footprint(&painted(0.3), &fewer, 0.5);
        }
    }
}
