//! The bits of results, for hashes that builds and machines are compared by.

use super::standard::{AnyFile, SEED, Standard};
use crate::vector::VectorLayer;
use crate::{AnyOp, Ctx, Frame, LayerData, Operator, Silent, Solved, Spline, Terrain, layer};

/// Takes bytes, piece by piece.
pub type Sink<'a> = dyn FnMut(&[u8]) + 'a;

/// Parameters of operators that do nothing with their defaults.
const AT_WORK: [(&str, &str); 1] = [(
    "shape.paint",
    "strokes = [
        { tool = \"raise\", amount = 40.0, points_m = [[1500.0, -700.0], [2000.0, -400.0]], radius_m = 250.0 },
        { tool = \"smooth\", points_m = [[1900.0, -500.0], [2300.0, -300.0]], radius_m = 200.0 },
        { tool = \"noise\", amount = 15.0, scale_m = 90.0, points_m = [[1700.0, -200.0]], radius_m = 300.0 },
    ]",
)];

/// How many times finer than the small land what is added to finer samples is looked at.
const FINER: f64 = 4.0;

/// What an operator makes with its defaults of a small land with and without holes, or the sentence with which it fails. Where it
/// leaves that land as it is, also what it makes of finer samples: it may work there only.
///
/// # Panics
/// Never: the frames are valid ones.
pub fn of_operator(operator: &Operator, to: &mut Sink<'_>) {
    let op = operator.default_op();
    let frame = Frame::new([1234.5, -987.25], [1280.0, 960.0], [65, 49]).expect("a frame");
    let standard = Standard::bare(frame, &op.layers());
    let mut is_left_alone = true;
    for standard in [standard.clone(), standard.clone().with_holes()] {
        match standard.run(op.as_ref(), &AnyFile::default(), &Silent) {
            Ok(made) => {
                is_left_alone &= bytes_of(&made) == bytes_of(&standard.terrain);
                of_terrain(&made, to);
            }
            Err(error) => {
                is_left_alone = false;
                to(error.to_string().as_bytes());
            }
        }
    }
    if is_left_alone {
        of_operator_at_work(operator, &standard, to);
    }
}

/// What an operator that leaves a small land alone makes of it with parameters that ask for something, of a land with samples half a
/// metre apart, and of a finer window of the small land.
fn of_operator_at_work(operator: &Operator, standard: &Standard, to: &mut Sink<'_>) {
    let params = AT_WORK.iter().find(|(id, _)| *id == operator.id).map(|(_, params)| *params);
    let asked = params.and_then(|params| operator.parse(&params.parse().ok()?).ok());
    let op = asked.unwrap_or_else(|| operator.default_op());
    // Steep ground, so that rock lies bare: the heights of the small land on a twentieth of its ground.
    let fine = Frame::new([1234.5, -987.25], [64.0, 48.0], [129, 97]).expect("a frame");
    let mut close = Standard::bare(fine, &op.layers());
    if let Ok(height) = close.terrain.get(layer::HEIGHT).cloned() {
        let (low, high) = height.range().unwrap_or((0.0, 1.0));
        let steep = height.map(|h| 10.0 + 40.0 * (h - low) / (high - low).max(1e-3));
        close.terrain.set(layer::HEIGHT, steep);
    }
    for standard in [standard, &close] {
        match standard.run(op.as_ref(), &AnyFile::default(), &Silent) {
            Ok(made) => {
                of_terrain(&made, to);
                of_finer(op.as_ref(), standard, &made, to);
            }
            Err(error) => to(error.to_string().as_bytes()),
        }
    }
}

/// What an operator adds to a window of finer samples, where it has its own way of doing so.
fn of_finer(op: &dyn AnyOp, standard: &Standard, made: &Terrain, to: &mut Sink<'_>) {
    let ctx = Ctx::new(SEED).in_world(standard.world);
    let solved = Solved { before: Some(&standard.terrain), after: made };
    let Ok(Some(refiner)) = op.refiner(solved, &ctx) else { return };
    let spacing_m = standard.world.spacing_m().map(|d| d / FINER);
    let Ok(Some(window)) = standard.world.part(&standard.world.extent(), spacing_m) else { return };
    let (cols, rows) = standard.world.places_of(&window);
    let mut terrain = Terrain::new(window);
    if let Ok(height) = made.get(layer::HEIGHT) {
        terrain.set(layer::HEIGHT, Spline::through(height).grid(&cols, &rows));
    }
    match refiner.refine(terrain, &ctx) {
        Ok(refined) => of_terrain(&refined, to),
        Err(error) => to(error.to_string().as_bytes()),
    }
}

fn bytes_of(terrain: &Terrain) -> Vec<u8> {
    let mut all = Vec::new();
    of_terrain(terrain, &mut |bytes| all.extend_from_slice(bytes));
    all
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
