//! The operator contract and the catalogue.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ctx::Ctx;
use crate::error::OpError;
use crate::frame::Frame;
use crate::layer::LayerName;
use crate::looped::{self, Loops};
use crate::param::{self, Fault};
use crate::terrain::Terrain;

/// How far an operator's effect travels. The planner knows nothing else about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// A sample depends on its own position and on the input at that sample.
    Point,
    /// A sample depends on input no further away than so many metres.
    Within(f64),
    /// A sample depends on everything: solved once, on the recipe's own frame.
    World,
}

/// Which layers an operator touches, given its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Layers it needs.
    pub reads: Vec<LayerName>,
    /// Layers it sets.
    pub writes: Vec<LayerName>,
    /// Layers it needs of the second terrain; a recipe step must name one exactly if this is not empty.
    pub reads_second: Vec<LayerName>,
    /// Vector layers it sets.
    pub writes_vectors: Vec<&'static str>,
}

impl Layers {
    /// Touches nothing yet.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Also needs these.
    #[must_use]
    pub fn reading(mut self, names: impl IntoIterator<Item = LayerName>) -> Self {
        self.reads.extend(names);
        self
    }

    /// Also sets these.
    #[must_use]
    pub fn writing(mut self, names: impl IntoIterator<Item = LayerName>) -> Self {
        self.writes.extend(names);
        self
    }

    /// Also needs and sets these.
    #[must_use]
    pub fn updating(self, names: impl IntoIterator<Item = LayerName> + Clone) -> Self {
        self.reading(names.clone()).writing(names)
    }

    /// Also needs these of the second terrain.
    #[must_use]
    pub fn reading_second(mut self, names: impl IntoIterator<Item = LayerName>) -> Self {
        self.reads_second.extend(names);
        self
    }

    /// Also sets these vectors.
    #[must_use]
    pub fn writing_vectors(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.writes_vectors.extend(names);
        self
    }
}

/// An operator: a parameter struct and one pure, deterministic function.
///
/// The struct is the only description of its parameters: the recipe format, help, schema, manual and Python stubs
/// come from its fields, their doc comments and `schemars` attributes (`range`, `x-unit`, `x-slider`).
pub trait Op:
    Clone + fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// Name in recipes, `family.name`; also the name of its file, page and picture.
    const ID: &'static str;
    /// Raised whenever the same parameters give another result, so that cached results are not reused.
    const VERSION: u32;
    /// How far a 513-sample build may differ from a larger one: RMSE as a share of the relief. Over 0.03 the
    /// struct's doc argues why; over 0.08 is refused by the catalogue test.
    const PREVIEW_RMSE: f64 = 0.03;

    /// Layers it touches with these parameters.
    fn layers(&self) -> Layers;

    /// How far its effect travels on a frame.
    fn reach(&self, frame: &Frame) -> Reach;

    /// How it keeps land that loops a loop, if it reaches the whole world.
    fn loops(&self) -> Loops {
        Loops::Unrolled
    }

    /// Mends what fading has done to land that loops: called on the whole frame after both ends of an
    /// [unrolled](Loops::Unrolled) result have faded into each other. The last column and row must stay the first again.
    ///
    /// # Errors
    /// As [`Op::run`].
    fn mend_loop(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let _ = ctx;
        Ok(terrain)
    }

    /// Files its parameters name.
    fn files(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Faults that concern several parameters together (`min` above `max`, say); single ones are checked by range.
    fn faults(&self) -> Vec<Fault> {
        Vec::new()
    }

    /// Whether a [`Reach::Point`] operator gives land outside the recipe's frame as well: it never asks for the world.
    fn endless(&self) -> bool {
        false
    }

    /// Whether land without holes may come out with some: where a file says nothing, for example.
    fn makes_holes(&self) -> bool {
        false
    }

    /// The work. Parameters have been checked, the declared layers are there, and their values are those that land may
    /// have (see [`crate::values`]). So must be what it writes.
    ///
    /// # Errors
    /// When cancelled, or when the input cannot be worked on, in a sentence.
    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;

    /// Checks parameters and layers, then runs.
    ///
    /// # Errors
    /// As [`Op::run`]; when a parameter is out of range or a layer is missing; and when a value that no land has goes in
    /// or comes out.
    fn apply(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        AnyOp::apply(self, terrain, ctx)
    }
}

/// An operator whose type is known only at run time.
pub trait AnyOp: fmt::Debug + Send + Sync {
    /// See [`Op::ID`].
    fn id(&self) -> &'static str;
    /// See [`Op::VERSION`].
    fn version(&self) -> u32;
    /// See [`Op::layers`].
    fn layers(&self) -> Layers;
    /// See [`Op::reach`].
    fn reach(&self, frame: &Frame) -> Reach;
    /// See [`Op::loops`].
    fn loops(&self) -> Loops;
    /// See [`Op::endless`].
    fn endless(&self) -> bool;
    /// See [`Op::makes_holes`].
    fn makes_holes(&self) -> bool;
    /// See [`Op::files`].
    fn files(&self) -> Vec<&str>;
    /// All parameters, defaults included, in one canonical order.
    ///
    /// # Errors
    /// When TOML cannot hold them: a fault of the operator, which the catalogue test finds.
    fn params(&self) -> Result<toml::Table, OpError>;
    /// See [`Op::apply`].
    ///
    /// # Errors
    /// As [`Op::apply`].
    fn apply(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;
}

impl<T: Op> AnyOp for T {
    fn id(&self) -> &'static str {
        T::ID
    }

    fn version(&self) -> u32 {
        T::VERSION
    }

    fn layers(&self) -> Layers {
        Op::layers(self)
    }

    fn reach(&self, frame: &Frame) -> Reach {
        Op::reach(self, frame)
    }

    fn loops(&self) -> Loops {
        Op::loops(self)
    }

    fn endless(&self) -> bool {
        Op::endless(self)
    }

    fn makes_holes(&self) -> bool {
        Op::makes_holes(self)
    }

    fn files(&self) -> Vec<&str> {
        Op::files(self)
    }

    fn params(&self) -> Result<toml::Table, OpError> {
        toml::Table::try_from(self)
            .map_err(|e| OpError::Internal(format!("the parameters of {} are not TOML: {e}", T::ID)))
    }

    fn apply(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let mut faults = param::check(&param::schema::<T>(), &AnyOp::params(self)?);
        if faults.is_empty() {
            faults = Op::faults(self);
        }
        if !faults.is_empty() {
            return Err(OpError::Params(faults));
        }
        let layers = Op::layers(self);
        require(&terrain, &layers.reads)?;
        let mut holes = terrain.check_values(&layers.reads)?.holes;
        if !layers.reads_second.is_empty() {
            let second = ctx.need_second(T::ID)?;
            require(second, &layers.reads_second)?;
            for name in &layers.reads_second {
                holes |= second.values(name)?.holes;
            }
        }
        ctx.tick(0, 1)?;
        let mut made = looped::run(self, terrain, ctx)?;
        let written = made.check_values(&layers.writes).map_err(overflow)?;
        if written.holes && !holes && !Op::makes_holes(self) {
            return Err(made_hole(&made, &layers.writes));
        }
        Ok(made)
    }
}

/// A value that no land has, which the operator made itself.
fn overflow(error: OpError) -> OpError {
    match error {
        OpError::Value { name, value, col, row } => OpError::Overflow { name, value, col, row },
        other => other,
    }
}

/// The first hole in what an operator wrote.
fn made_hole(made: &Terrain, writes: &[LayerName]) -> OpError {
    let found = writes.iter().find_map(|name| {
        let raster = made.get_named::<f32>(name).ok()?;
        let at = raster.as_slice().iter().position(|v| v.is_nan())?;
        Some(OpError::Overflow {
            name: name.clone(),
            value: f32::NAN,
            col: at % raster.cols(),
            row: at / raster.cols(),
        })
    });
    found.unwrap_or_else(|| OpError::Internal(String::from("a hole was counted that is not there")))
}

fn require(terrain: &Terrain, names: &[LayerName]) -> Result<(), OpError> {
    match names.iter().find(|name| !terrain.layers().contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(OpError::MissingLayer {
            name: name.clone(),
            available: terrain.layers().keys().cloned().collect(),
        }),
    }
}

/// An entry of the catalogue: an operator without parameters yet.
#[derive(Clone, Copy)]
pub struct Operator {
    /// See [`Op::ID`].
    pub id: &'static str,
    /// See [`Op::VERSION`].
    pub version: u32,
    /// See [`Op::PREVIEW_RMSE`].
    pub preview_rmse: f64,
    schema: fn() -> serde_json::Value,
    default: fn() -> Box<dyn AnyOp>,
    parse: Parse,
}

/// Makes an operator of its parameters, or tells all their faults.
type Parse = fn(&toml::Table) -> Result<Box<dyn AnyOp>, Vec<Fault>>;

impl Operator {
    /// The entry of an operator type.
    #[must_use]
    pub fn of<T: Op>() -> Self {
        Self {
            id: T::ID,
            version: T::VERSION,
            preview_rmse: T::PREVIEW_RMSE,
            schema: param::schema::<T>,
            default: || Box::new(T::default()),
            parse: |table| {
                let op: T = param::parse(table)?;
                let faults = op.faults();
                if faults.is_empty() { Ok(Box::new(op)) } else { Err(faults) }
            },
        }
    }

    /// JSON schema of the parameters, with units, ranges, defaults and the operator's own description.
    #[must_use]
    pub fn schema(&self) -> serde_json::Value {
        (self.schema)()
    }

    /// The operator with its default parameters.
    #[must_use]
    pub fn default_op(&self) -> Box<dyn AnyOp> {
        (self.default)()
    }

    /// The operator with given parameters, defaults elsewhere.
    ///
    /// # Errors
    /// Every fault of the parameters.
    pub fn parse(&self, params: &toml::Table) -> Result<Box<dyn AnyOp>, Vec<Fault>> {
        (self.parse)(params)
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({})", self.id)
    }
}

/// All operators there are, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    operators: Vec<Operator>,
}

impl Catalog {
    /// A catalogue of given operators; of two with one id the first stays.
    #[must_use]
    pub fn new(operators: impl IntoIterator<Item = Operator>) -> Self {
        let mut operators: Vec<_> = operators.into_iter().collect();
        operators.sort_by_key(|op| op.id);
        operators.dedup_by_key(|op| op.id);
        Self { operators }
    }

    /// All of them.
    #[must_use]
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// One by its id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Operator> {
        self.operators.binary_search_by_key(&id, |op| op.id).ok().map(|i| &self.operators[i])
    }

    /// The id closest to one that does not exist.
    #[must_use]
    pub fn nearest(&self, id: &str) -> Option<&'static str> {
        param::nearest(id, self.operators.iter().map(|op| op.id))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::layer::HEIGHT;
    use crate::raster::Raster;

    /// Adds a number to the height of one sample.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Spike {
        /// What is added, as bits: parameters cannot be infinite.
        bits: u32,
        /// Whether holes are told.
        holes: bool,
        /// A number that TOML may not be able to hold.
        count: u64,
    }

    impl Op for Spike {
        const ID: &'static str = "test.spike";
        const VERSION: u32 = 1;

        fn layers(&self) -> Layers {
            Layers::none().updating([HEIGHT.name()])
        }

        fn reach(&self, _: &Frame) -> Reach {
            Reach::Point
        }

        fn makes_holes(&self) -> bool {
            self.holes
        }

        fn run(&self, mut terrain: Terrain, _: &Ctx<'_>) -> Result<Terrain, OpError> {
            terrain.update::<f32>(&HEIGHT.name(), |h| h.as_mut_slice()[7] += f32::from_bits(self.bits))?;
            Ok(terrain)
        }
    }

    fn spike(op: &Spike, first: f32) -> Result<Terrain, OpError> {
        let mut terrain = Terrain::new(Frame::square(40.0, 5).unwrap());
        let mut height = Raster::filled(5, 5, 1.0);
        height.as_mut_slice()[0] = first;
        terrain.set(HEIGHT, height);
        Op::apply(op, terrain, &Ctx::silent())
    }

    #[test]
    fn nothing_infinite_goes_in_or_comes_out() {
        let adding = |value: f32| Spike { bits: value.to_bits(), ..Spike::default() };
        assert!(spike(&adding(2.0), 1.0).is_ok());
        let refused = |value| OpError::Value { name: HEIGHT.name(), value, col: 0, row: 0 };
        assert_eq!(spike(&adding(2.0), f32::INFINITY), Err(refused(f32::INFINITY)));
        assert_eq!(spike(&adding(2.0), 1e30), Err(refused(1e30)));
        for value in [f32::INFINITY, f32::NEG_INFINITY, 1e30] {
            let made = OpError::Overflow { name: HEIGHT.name(), value, col: 2, row: 1 };
            assert_eq!(spike(&adding(value), 1.0), Err(made));
        }
    }

    #[test]
    fn a_hole_from_nowhere_is_told() {
        let hole = Spike { bits: f32::NAN.to_bits(), ..Spike::default() };
        let text = spike(&hole, 1.0).unwrap_err().to_string();
        assert_eq!(
            text,
            "these parameters are too extreme for this land: layer \"height\" would hold NaN at column 2, row 1"
        );
        // Where there are holes already, one may grow; and some operators are there to make them.
        assert!(spike(&hole, f32::NAN).is_ok());
        assert!(spike(&Spike { holes: true, ..hole }, 1.0).is_ok());
    }

    #[test]
    fn parameters_that_are_not_toml_are_an_internal_error() {
        let op = Spike { count: u64::MAX, ..Spike::default() };
        assert!(matches!(spike(&op, 1.0), Err(OpError::Internal(_))));
        assert!(matches!(AnyOp::params(&op), Err(OpError::Internal(_))));
    }
}
