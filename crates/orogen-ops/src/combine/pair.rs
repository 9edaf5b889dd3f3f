//! What the operators of this family and of `shape` share: which layers they touch, the loops over samples and pairs of
//! samples, and the smooth minimum.

use orogen_core::param::Field;
use orogen_core::{Coef, Ctx, LayerData, LayerName, Layers, OpError, Raster, Terrain};

/// Layers that changing `layer` by `operand` touches.
pub(super) fn layers(layer: &LayerName, operand: &Coef) -> Layers {
    Layers::none().updating([layer.clone()]).reading_second(operand.layer())
}

/// A row of a [`Field`].
#[derive(Clone, Copy)]
pub(crate) enum Line<'a> {
    Const(f32),
    Values(&'a [f32]),
}

/// The row of a field.
pub(crate) fn line<'a>(field: Field<'a>, row: usize) -> Line<'a> {
    match field {
        Field::Const(value) => Line::Const(value),
        Field::Raster(raster) => Line::Values(raster.row(row)),
    }
}

/// The values of `layer` after every row went through `kernel(row, out, old values, operand)`.
pub(super) fn combine(
    id: &'static str,
    terrain: &Terrain,
    layer: &LayerName,
    operand: &Coef,
    ctx: &Ctx<'_>,
    kernel: impl Fn(usize, &mut [f32], &[f32], Line<'_>) + Sync,
) -> Result<LayerData, OpError> {
    let operand = match operand {
        Coef::Const(value) => Field::Const(*value as f32),
        Coef::Layer(name) => {
            let second = ctx.need_second(id)?;
            if second.frame() != terrain.frame() {
                return Err(OpError::Failed(format!("{id}: the two terrains lie on different frames")));
            }
            Field::Raster(second.get_named(name)?)
        }
    };
    change(terrain, layer, ctx, |row, out, before| kernel(row, out, before, line(operand, row)))
}

/// The values of `layer` after every row went through `kernel(row, out, old values)`.
pub(crate) fn change(
    terrain: &Terrain,
    layer: &LayerName,
    ctx: &Ctx<'_>,
    kernel: impl Fn(usize, &mut [f32], &[f32]) + Sync,
) -> Result<LayerData, OpError> {
    let before: &Raster<f32> = terrain.get_named(layer)?;
    let counter = ctx.counter(before.rows());
    let mut after = Raster::filled(before.cols(), before.rows(), 0.0);
    after.try_par_rows(|row, out| {
        kernel(row, out, before.row(row));
        counter.done()
    })?;
    Ok(LayerData::F32(after.into()))
}

/// `out = f(a, b)`; where `a` or `b` is a hole, `a`.
#[inline]
pub(crate) fn zip(out: &mut [f32], a: &[f32], b: Line<'_>, f: impl Fn(f32, f32) -> f32) {
    let at = |a: f32, b: f32| if a.is_nan() | b.is_nan() { a } else { f(a, b) };
    match b {
        Line::Const(b) => out.iter_mut().zip(a).for_each(|(out, &a)| *out = at(a, b)),
        Line::Values(b) => out.iter_mut().zip(a).zip(b).for_each(|((out, &a), &b)| *out = at(a, b)),
    }
}

/// The smaller of two numbers, rounded off where they lie within `band` of each other (0: not at all).
///
/// ```text
/// min(a, b) − k/4 · max(0, 1 − |a − b|/k)²
/// ```
///
/// Its first derivative is continuous, and at most a quarter of the band lies between it and the sharp one.
#[inline]
pub(crate) fn smooth_min(a: f32, b: f32, band: f32) -> f32 {
    let sharp = if a < b { a } else { b };
    if band <= 0.0 {
        return sharp;
    }
    let near = 1.0 - (a - b).abs() / band;
    let near = if near > 0.0 { near } else { 0.0 };
    sharp - 0.25 * band * near * near
}

/// The larger of two numbers, rounded off as [`smooth_min`] is.
#[inline]
pub(crate) fn smooth_max(a: f32, b: f32, band: f32) -> f32 {
    -smooth_min(-a, -b, band)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use orogen_core::{Frame, Op, layer};

    /// A row of heights as a terrain of two equal rows.
    pub fn terrain(heights: [f32; 4]) -> Terrain {
        let mut terrain = Terrain::new(Frame::new([0.0, 0.0], [30.0, 10.0], [4, 2]).unwrap());
        terrain.set(layer::HEIGHT, Raster::from_fn(4, 2, |c, _| heights[c]));
        terrain
    }

    /// The first row of heights after an operator.
    pub fn apply(op: &impl Op, first: [f32; 4], second: Option<[f32; 4]>) -> Vec<f32> {
        let second = second.map(terrain);
        let ctx = Ctx::silent().with_second(second.as_ref());
        op.apply(terrain(first), &ctx).unwrap().get(layer::HEIGHT).unwrap().row(0).to_vec()
    }

    #[test]
    fn holes_of_the_operand_leave_the_layer_and_holes_of_the_layer_stay() {
        let mut out = [0.0; 3];
        zip(&mut out, &[1.0, f32::NAN, 3.0], Line::Values(&[f32::NAN, 5.0, 4.0]), f32::min);
        assert_eq!((out[0], out[2]), (1.0, 3.0));
        assert!(out[1].is_nan());
    }

    #[test]
    fn smooth_min_meets_the_sharp_one_at_the_edge_of_the_band_without_a_kink() {
        let f = |a: f32| f64::from(smooth_min(a, 0.0, 10.0));
        assert_eq!((f(-10.0), f(10.0), f(0.0)), (-10.0, 0.0, -2.5));
        let slope = |a: f32| (f(a + 0.01) - f(a - 0.01)) / 0.02;
        for (a, expected) in [(-10.0, 1.0), (-9.9, 1.0), (0.0, 0.5), (9.9, 0.0), (10.0, 0.0)] {
            assert!((slope(a) - expected).abs() < 0.01, "slope {} at {a}", slope(a));
        }
        assert_eq!(smooth_min(3.0, 4.0, 0.0), 3.0);
    }

    #[test]
    fn a_second_terrain_on_another_frame_is_refused_in_a_sentence() {
        let mut other = Terrain::new(Frame::square(10.0, 2).unwrap());
        other.set(layer::HEIGHT, Raster::filled(2, 2, 0.0));
        let ctx = Ctx::silent().with_second(Some(&other));
        let error = crate::combine::Add::default().apply(terrain([0.0; 4]), &ctx).unwrap_err();
        assert_eq!(error.to_string(), "combine.add: the two terrains lie on different frames");
    }

    #[test]
    fn a_layer_needs_a_second_terrain_and_a_number_does_not() {
        let error = crate::combine::Add::default().apply(terrain([0.0; 4]), &Ctx::silent()).unwrap_err();
        assert!(error.to_string().contains("`with`"), "{error}");
        let number = crate::combine::Add { operand: Coef::Const(2.0), ..crate::combine::Add::default() };
        assert!(Op::layers(&number).reads_second.is_empty());
        assert_eq!(apply(&number, [1.0, 2.0, 3.0, 4.0], None), [3.0, 4.0, 5.0, 6.0]);
    }
}
