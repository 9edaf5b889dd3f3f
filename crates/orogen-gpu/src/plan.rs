//! Which recipes the device can make, and in which passes.

use orogen_core::{Part, layer};
use orogen_ops::shape::Features;
use orogen_ops::source::Noise;
use orogen_recipe::{Checked, Step as RecipeStep};
use thiserror::Error;

use crate::change::ChangeStep;
use crate::features::FeatureStep;
use crate::noise::NoiseStep;

/// Why the device cannot make the land of a recipe.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unsupported {
    /// A step that it does not know.
    #[error("step {id:?}: the graphics device has no {op}")]
    Operator {
        /// The step.
        id: String,
        /// Its operator.
        op: &'static str,
    },
    /// A step with something that it does not know.
    #[error("step {id:?}: the graphics device cannot make it: {why}")]
    Step {
        /// The step.
        id: String,
        /// What it is.
        why: String,
    },
    /// Land that loops.
    #[error("the graphics device makes no land that loops")]
    Loops,
    /// Steps that use each other's results many times over.
    #[error("the graphics device would need more than {MOST_PASSES} passes")]
    TooMany,
    /// No step makes heights.
    #[error("no step makes heights")]
    NoHeight,
}

/// A pass over all tiles.
#[derive(Clone, Debug)]
pub(crate) enum Pass {
    Noise(Box<NoiseStep>),
    Features(Box<FeatureStep>),
    Change(ChangeStep),
    /// Two lands made one: the passes of the second.
    Pair(ChangeStep, Vec<Pass>),
}

/// Passes of a plan at most: a step that several others combine with is made for each of them.
const MOST_PASSES: usize = 64;

/// The heights of a recipe as passes of the device.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) passes: Vec<Pass>,
    relief_m: f64,
}

impl Plan {
    /// The plan of a recipe, if all that makes its heights has a twin on the device.
    ///
    /// # Errors
    /// The first thing that has none.
    pub fn of(checked: &Checked) -> Result<Self, Unsupported> {
        if checked.frame().loops() {
            return Err(Unsupported::Loops);
        }
        let mut left = MOST_PASSES;
        Self::up_to(checked, checked.steps().len().checked_sub(1), &mut left)
    }

    /// The plan of a step and those before it; `left` is how many passes there may be yet.
    fn up_to(checked: &Checked, last: Option<usize>, left: &mut usize) -> Result<Self, Unsupported> {
        let (mut passes, mut relief_m) = (Vec::new(), 0.0);
        for step in steps_of_height(checked, last) {
            *left = left.checked_sub(1).ok_or(Unsupported::TooMany)?;
            let pass = match pass(step)? {
                Pass::Change(change) if change.takes_second => {
                    let second = Self::up_to(checked, step.second, left)?;
                    relief_m = change.relief_m(relief_m, second.relief_m);
                    Pass::Pair(change, second.passes)
                }
                pass => pass,
            };
            match &pass {
                Pass::Noise(noise) => relief_m = noise.amplitude_m,
                Pass::Features(features) => relief_m += features.relief_m,
                Pass::Change(change) => relief_m = change.relief_m(relief_m, 0.0),
                Pass::Pair(..) => {}
            }
            passes.push(pass);
        }
        match passes.first() {
            Some(Pass::Noise(_)) => Ok(Self { passes, relief_m }),
            _ => Err(Unsupported::NoHeight),
        }
    }

    /// How high its land is, about: what the tolerance is a share of.
    #[must_use]
    pub fn relief_m(&self) -> f64 {
        self.relief_m
    }
}

/// The steps that make heights, in order, from the last one that makes them from nothing.
fn steps_of_height(checked: &Checked, last: Option<usize>) -> Vec<&RecipeStep> {
    let height = Part::Layer(layer::HEIGHT.name());
    let mut steps = Vec::new();
    let mut next = last;
    while let Some(number) = next {
        let step = &checked.steps()[number];
        next = step.input;
        if step.layers.outputs().any(|part| part == height) {
            steps.push(step);
            if !step.layers.updates(&height) && step.mask.is_none() {
                break;
            }
        }
    }
    steps.reverse();
    steps
}

fn pass(step: &RecipeStep) -> Result<Pass, Unsupported> {
    let refused = |why: String| Unsupported::Step { id: step.id.clone(), why };
    if step.mask.is_some() {
        return Err(refused(String::from("it has a mask")));
    }
    let op = step.op.as_any();
    if let Some(noise) = op.downcast_ref::<Noise>() {
        return Ok(Pass::Noise(Box::new(NoiseStep::of(noise, step.seed).map_err(refused)?)));
    }
    if let Some(features) = op.downcast_ref::<Features>() {
        return Ok(Pass::Features(Box::new(FeatureStep::of(features, step.seed))));
    }
    match ChangeStep::of(&*step.op) {
        Some(change) => Ok(Pass::Change(change.map_err(refused)?)),
        None => Err(Unsupported::Operator { id: step.id.clone(), op: step.op.id() }),
    }
}
