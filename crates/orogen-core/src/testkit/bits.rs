//! The bits of results, for hashes that builds and machines are compared by.

use super::standard::{AnyFile, Standard};
use crate::vector::VectorLayer;
use crate::{Frame, LayerData, Operator, Silent, Terrain};

/// Takes bytes, piece by piece.
pub type Sink<'a> = dyn FnMut(&[u8]) + 'a;

/// What an operator makes with its defaults of a small land with and without holes, or the sentence with which it fails.
///
/// # Panics
/// Never: the frame is a valid one.
pub fn of_operator(operator: &Operator, to: &mut Sink<'_>) {
    let op = operator.default_op();
    let frame = Frame::new([1234.5, -987.25], [1280.0, 960.0], [65, 49]).expect("a frame");
    let standard = Standard::bare(frame, &op.layers());
    for standard in [standard.clone(), standard.with_holes()] {
        match standard.run(op.as_ref(), &AnyFile::default(), &Silent) {
            Ok(made) => of_terrain(&made, to),
            Err(error) => to(error.to_string().as_bytes()),
        }
    }
}

/// All layers and vectors with their names.
pub fn of_terrain(terrain: &Terrain, to: &mut Sink<'_>) {
    for (name, data) in terrain.layers() {
        to(name.as_str().as_bytes());
        of_layer(data, to);
    }
    for (name, vectors) in terrain.vectors() {
        to(name.as_str().as_bytes());
        of_vectors(vectors, to);
    }
}

/// The values of a layer.
pub fn of_layer(data: &LayerData, to: &mut Sink<'_>) {
    match data {
        // Which NaN comes out of a sum is not fixed by the language.
        LayerData::F32(raster) => raster.as_slice().iter().for_each(|v| {
            let bits = if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() };
            to(&bits.to_le_bytes());
        }),
        whole => to(whole.bytes()),
    }
}

/// The numbers of vectors, each as text that reads back to the bit.
pub fn of_vectors(vectors: &VectorLayer, to: &mut Sink<'_>) {
    to(format!("{vectors:?}").as_bytes());
}
