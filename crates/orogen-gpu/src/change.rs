//! What changes one height at a time: `combine.*` with a number or with the heights of another step, and `shape.remap`.

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
    /// How high the land is that is combined with it, where that is a number, and how many times as high it gets.
    grows: [f64; 2],
    /// Whether it combines two lands.
    pub takes_second: bool,
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
        let operand = match operand {
            Coef::Const(operand) => Some(*operand),
            Coef::Layer(name) => {
                of_height(name)?;
                None
            }
        };
        let pairs = vec![[operand.unwrap_or(0.0) as f32, second as f32]];
        Ok(Self { kind, pairs, grows: [operand.unwrap_or(0.0).abs(), 1.0], takes_second: operand.is_none() })
    }

    /// How high land becomes that was so high before, with the second land, if it takes one.
    pub fn relief_m(&self, before_m: f64, second_m: f64) -> f64 {
        let other = if self.takes_second { second_m } else { self.grows[0] };
        match self.kind {
            Kind::Add => before_m + other * self.pairs.first().map_or(1.0, |pair| f64::from(pair[1].abs())),
            Kind::Multiply => before_m * other,
            Kind::Min | Kind::Max if self.takes_second => before_m.max(other),
            Kind::Min | Kind::Max => before_m,
            Kind::Remap => before_m * self.grows[1],
        }
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
        Ok(Self { kind: Kind::Remap, pairs, grows: [0.0, steepest], takes_second: false })
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
    if *name == height { Ok(()) } else { Err(format!("it is about {name}, not {height}")) }
}
