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

    /// Files its parameters name.
    fn files(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Faults that concern several parameters together (`min` above `max`, say); single ones are checked by range.
    fn faults(&self) -> Vec<Fault> {
        Vec::new()
    }

    /// The work. Parameters have been checked and the declared layers are there.
    ///
    /// # Errors
    /// When cancelled, or when the input cannot be worked on, in a sentence.
    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;

    /// Checks parameters and layers, then runs.
    ///
    /// # Errors
    /// As [`Op::run`], and when a parameter is out of range or a layer is missing.
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
    /// See [`Op::files`].
    fn files(&self) -> Vec<&str>;
    /// All parameters, defaults included, in one canonical order.
    fn params(&self) -> toml::Table;
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

    fn files(&self) -> Vec<&str> {
        Op::files(self)
    }

    fn params(&self) -> toml::Table {
        // Parameter structs are plain data; one that TOML cannot hold would fail the catalogue test.
        toml::Table::try_from(self).unwrap_or_default()
    }

    fn apply(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let mut faults = param::check(&param::schema::<T>(), &AnyOp::params(self));
        if faults.is_empty() {
            faults = Op::faults(self);
        }
        if !faults.is_empty() {
            return Err(OpError::Params(faults));
        }
        let layers = Op::layers(self);
        require(&terrain, &layers.reads)?;
        if !layers.reads_second.is_empty() {
            require(ctx.need_second(T::ID)?, &layers.reads_second)?;
        }
        ctx.tick(0, 1)?;
        looped::run(self, terrain, ctx)
    }
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
