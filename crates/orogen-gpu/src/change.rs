//! What changes one height at a time: `combine.*` with a number, and `shape.remap`.

use orogen_core::{AnyOp, Coef, LayerName, layer};
use orogen_ops::combine::{Add, Max, Min, Multiply};
use orogen_ops::shape::Remap;
use orogen_ops::shape::remap::Curve;

use crate::numbers::Numbers;

/// What is done, as `change.wgsl` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Add = 0,
    Multiply = 1,
    Min = 2,
    Max = 3,
    Remap = 4,
}

/// A change of every height.
#[derive(Clone, Debug)]
pub(crate) struct ChangeStep {
    pub kind: Kind,
    /// Operand and what else it takes; the pieces of a curve.
    pairs: Vec<[f32; 2]>,
    /// How much higher the land gets by it, and how many times as high.
    pub grows: [f64; 2],
}

impl ChangeStep {
    /// The step of an operator; `None` where it is another kind of operator, and else why it cannot be had.
    pub fn of(op: &dyn AnyOp) -> Option<Result<Self, String>> {
        let op = op.as_any();
        if let Some(add) = op.downcast_ref::<Add>() {
            return Some(Self::with(Kind::Add, &add.layer, &add.operand, add.factor));
        }
        if let Some(multiply) = op.downcast_ref::<Multiply>() {
            return Some(Self::with(Kind::Multiply, &multiply.layer, &multiply.operand, 0.0));
        }
        if let Some(min) = op.downcast_ref::<Min>() {
            return Some(Self::with(Kind::Min, &min.layer, &min.operand, min.smooth_m));
        }
        if let Some(max) = op.downcast_ref::<Max>() {
            return Some(Self::with(Kind::Max, &max.layer, &max.operand, max.smooth_m));
        }
        op.downcast_ref::<Remap>().map(Self::remap)
    }

    fn with(kind: Kind, changed: &LayerName, operand: &Coef, second: f64) -> Result<Self, String> {
        of_height(changed)?;
        let Coef::Const(operand) = operand else {
            return Err(String::from("it combines two layers"));
        };
        let grows = match kind {
            Kind::Add => [(operand * second).abs(), 1.0],
            Kind::Multiply => [0.0, operand.abs()],
            _ => [0.0, 1.0],
        };
        Ok(Self { kind, pairs: vec![[*operand as f32, second as f32]], grows })
    }

    fn remap(op: &Remap) -> Result<Self, String> {
        of_height(&op.layer)?;
        let curve = Curve::new(&op.points, op.beyond);
        let mut steepest = 0f64;
        let mut pairs = Vec::new();
        for (start, from, [a, b, c, d]) in curve.pieces() {
            pairs.extend([[start, from], [a, b], [c, d]]);
        }
        for points in op.points.windows(2) {
            steepest = steepest.max(((points[1][1] - points[0][1]) / (points[1][0] - points[0][0])).abs());
        }
        Ok(Self { kind: Kind::Remap, pairs, grows: [0.0, steepest] })
    }

    /// What tiles look up: where it starts, and how many pieces there are.
    pub fn list(&self, numbers: &mut Numbers) -> [u32; 2] {
        let first = numbers.next();
        self.pairs.iter().for_each(|pair| numbers.push_floats(*pair));
        [first, (self.pairs.len() / 3) as u32]
    }
}

fn of_height(name: &LayerName) -> Result<(), String> {
    let height = layer::HEIGHT.name();
    if *name == height { Ok(()) } else { Err(format!("it changes {name}, not {height}")) }
}
