//! Windows of other spacings: what was solved on the recipe's frame, between its samples.

use orogen_core::{Ctx, Frame, Layer, OpError, Part, Raster, Refiner, Solved, Terrain, layer};

use super::lattice;

/// A layer that replaces whatever a window has of it: interpolated, and kept to the range of what was solved.
///
/// Without it a layer that was there before the step (the moisture of a map, rain before erosion) would show through, as what a
/// step changed is added to what finer samples had.
pub(super) struct Between {
    layer: Layer<f32>,
    solved: OnFrame,
    range: (f32, f32),
}

impl Between {
    /// Of a layer that a step made, with holes where the height has them.
    pub fn of(layer: Layer<f32>, solved: Solved<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        let made = solved.after.get(layer)?;
        let range = made.range().unwrap_or((0.0, 0.0));
        let solved = OnFrame::new(*solved.after.frame(), made);
        Ok(Some(Box::new(Self { layer, solved, range })))
    }
}

impl Refiner for Between {
    fn refine(&self, mut window: Terrain, _: &Ctx<'_>) -> Result<Terrain, OpError> {
        let mut made = self.solved.on(window.frame());
        let (low, high) = self.range;
        made.par_rows(|_, values| values.iter_mut().for_each(|value| *value = value.clamp(low, high)));
        super::keep_holes(&mut made, window.get(layer::HEIGHT)?);
        replace(&mut window, self.layer, made);
        Ok(window)
    }

    fn size_bytes(&self) -> usize {
        self.solved.size_bytes()
    }
}

/// Values on the samples of a frame.
pub(super) struct OnFrame {
    frame: Frame,
    values: Raster<f32>,
}

impl OnFrame {
    /// Holes are filled from around them.
    pub fn new(frame: Frame, values: &Raster<f32>) -> Self {
        Self { frame, values: lattice::filled(values) }
    }

    /// At the samples of another frame.
    pub fn on(&self, window: &Frame) -> Raster<f32> {
        let cols: Vec<f64> = (0..window.cols()).map(|c| self.frame.locate(window.x_m(c), 0.0)[0]).collect();
        let rows: Vec<f64> = (0..window.rows()).map(|r| self.frame.locate(0.0, window.y_m(r))[1]).collect();
        self.values.bicubic_grid(&cols, &rows)
    }

    /// Bytes that it keeps in memory.
    pub fn size_bytes(&self) -> usize {
        4 * self.values.as_slice().len()
    }
}

/// Sets a layer that goes on following from what it did.
pub(super) fn replace(window: &mut Terrain, layer: Layer<f32>, values: Raster<f32>) {
    let part = Part::Layer(layer.name());
    let from: Vec<Part> = window.provenance().of(&part).cloned().collect();
    window.set(layer, values);
    window.record(part, from);
}
