//! The operator contract and the catalogue.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ctx::Ctx;
use crate::error::OpError;
use crate::explain::Reason;
use crate::files::Files;
use crate::frame::{Frame, Rect};
use crate::layer::LayerName;
use crate::looped::Loops;
use crate::param::{self, Fault};
use crate::place::Place;
use crate::provenance::{Part, Provenance};
use crate::ready::{Applied, Prepared};
use crate::refiner::{Refiner, Solved};
use crate::stepped::Started;
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

/// Where an operator's result may change when its parameters do and its input stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Footprint {
    /// Nowhere.
    Nothing,
    /// Nowhere but in a rectangle of the world.
    Rect(Rect),
    /// Anywhere.
    Everything,
}

impl Footprint {
    /// The smallest that holds both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Rect(a), Self::Rect(b)) => Self::Rect(a.union(&b)),
            (Self::Everything, _) | (_, Self::Everything) => Self::Everything,
        }
    }

    /// The smallest that holds all of some rectangles.
    #[must_use]
    pub fn of(rects: impl IntoIterator<Item = Rect>) -> Self {
        rects.into_iter().map(Self::Rect).fold(Self::Nothing, Self::union)
    }
}

/// What an operator touches, given its parameters.
///
/// It sees nothing but what it declares: a window may be worked out without the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Layers it needs.
    pub reads: Vec<LayerName>,
    /// Layers it sets.
    pub writes: Vec<LayerName>,
    /// Layers it needs of the second terrain; a recipe step must name one exactly if this is not empty.
    pub reads_second: Vec<LayerName>,
    /// Vector layers it needs.
    pub reads_vectors: Vec<LayerName>,
    /// Vector layers it sets.
    pub writes_vectors: Vec<LayerName>,
    /// Things on the ground that it needs.
    pub reads_instances: Vec<LayerName>,
    /// Things on the ground that it sets.
    pub writes_instances: Vec<LayerName>,
    /// What it looks at where it is there.
    pub uses: Vec<Part>,
    /// What it keeps, where it is there, though it changes what that follows from.
    pub keeps: Vec<Part>,
    /// Which of its outputs are computed from what else the terrain holds then: they go when that changes.
    pub follows: BTreeMap<Part, Vec<Part>>,
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

    /// Also sets these, for their own sake: they follow from nothing and stay until they are replaced.
    #[must_use]
    pub fn writing(mut self, names: impl IntoIterator<Item = LayerName>) -> Self {
        self.writes.extend(names);
        self
    }

    /// Also needs and sets these. What one of them followed from, it follows from afterwards.
    #[must_use]
    pub fn updating(self, names: impl IntoIterator<Item = LayerName> + Clone) -> Self {
        self.reading(names.clone()).writing(names)
    }

    /// Also sets these, computed from layers of the result.
    #[must_use]
    pub fn deriving<N: Into<LayerName>>(
        mut self,
        names: impl IntoIterator<Item = N>,
        from: impl IntoIterator<Item = LayerName>,
    ) -> Self {
        let names: Vec<LayerName> = names.into_iter().map(Into::into).collect();
        self.writes.extend(names.iter().cloned());
        self.following(names.into_iter().map(Part::Layer), from)
    }

    /// Notes that outputs are computed from layers of the result.
    fn following(
        mut self,
        outputs: impl Iterator<Item = Part>,
        from: impl IntoIterator<Item = LayerName>,
    ) -> Self {
        let from: Vec<Part> = from.into_iter().map(Part::Layer).collect();
        self.follows.extend(outputs.map(|output| (output, from.clone())));
        self
    }

    /// Also needs these of the second terrain.
    #[must_use]
    pub fn reading_second(mut self, names: impl IntoIterator<Item = LayerName>) -> Self {
        self.reads_second.extend(names);
        self
    }

    /// Also needs these vectors.
    #[must_use]
    pub fn reading_vectors<N: Into<LayerName>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.reads_vectors.extend(names.into_iter().map(Into::into));
        self
    }

    /// Also sets these vectors, for their own sake.
    #[must_use]
    pub fn writing_vectors<N: Into<LayerName>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.writes_vectors.extend(names.into_iter().map(Into::into));
        self
    }

    /// Also sets these vectors, computed from layers of the result.
    #[must_use]
    pub fn deriving_vectors<N: Into<LayerName>>(
        mut self,
        names: impl IntoIterator<Item = N>,
        from: impl IntoIterator<Item = LayerName>,
    ) -> Self {
        let names: Vec<LayerName> = names.into_iter().map(Into::into).collect();
        self.writes_vectors.extend(names.iter().cloned());
        self.following(names.into_iter().map(Part::Vectors), from)
    }

    /// Also needs these things on the ground.
    #[must_use]
    pub fn reading_instances<N: Into<LayerName>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.reads_instances.extend(names.into_iter().map(Into::into));
        self
    }

    /// Also sets these things on the ground, computed from layers of the result.
    #[must_use]
    pub fn deriving_instances<N: Into<LayerName>>(
        mut self,
        names: impl IntoIterator<Item = N>,
        from: impl IntoIterator<Item = LayerName>,
    ) -> Self {
        let names: Vec<LayerName> = names.into_iter().map(Into::into).collect();
        self.writes_instances.extend(names.iter().cloned());
        self.following(names.into_iter().map(Part::Instances), from)
    }

    /// Also looks at these layers where they are there.
    #[must_use]
    pub fn using(mut self, names: impl IntoIterator<Item = LayerName>) -> Self {
        self.uses.extend(names.into_iter().map(Part::Layer));
        self
    }

    /// Also looks at these vectors where they are there.
    #[must_use]
    pub fn using_vectors<N: Into<LayerName>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.uses.extend(names.into_iter().map(|name| Part::Vectors(name.into())));
        self
    }

    /// Also keeps these vectors in step with what it changes, where they are there.
    #[must_use]
    pub fn keeping_vectors<N: Into<LayerName>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.keeps.extend(names.into_iter().map(|name| Part::Vectors(name.into())));
        self
    }

    /// All that it looks at in its input.
    pub fn inputs(&self) -> impl Iterator<Item = Part> {
        let layers = self.reads.iter().cloned().map(Part::Layer);
        let vectors = self.reads_vectors.iter().cloned().map(Part::Vectors);
        let instances = self.reads_instances.iter().cloned().map(Part::Instances);
        layers
            .chain(vectors)
            .chain(instances)
            .chain(self.uses.iter().cloned())
            .chain(self.keeps.iter().cloned())
    }

    /// All that it sets.
    pub fn outputs(&self) -> impl Iterator<Item = Part> {
        let layers = self.writes.iter().cloned().map(Part::Layer);
        let vectors = self.writes_vectors.iter().cloned().map(Part::Vectors);
        layers.chain(vectors).chain(self.writes_instances.iter().cloned().map(Part::Instances))
    }

    /// Whether it looks at a part before it sets it.
    #[must_use]
    pub fn updates(&self, part: &Part) -> bool {
        match part {
            Part::Layer(name) => self.reads.contains(name),
            Part::Vectors(name) => self.reads_vectors.contains(name),
            Part::Instances(name) => self.reads_instances.contains(name),
        }
    }

    /// Notes what the outputs follow from; `provenance` is that of the input before, and of the result after.
    pub fn provenance(&self, provenance: &mut Provenance) {
        let own: Vec<(Part, Vec<Part>)> = (self.outputs())
            .map(|part| match self.follows.get(&part) {
                Some(from) => (part, from.clone()),
                None if self.updates(&part) => (part.clone(), provenance.of(&part).cloned().collect()),
                None => (part, Vec::new()),
            })
            .collect();
        // First those that follow from nothing or from what is there, then those that follow from other outputs.
        let (late, early): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|(part, _)| self.follows.contains_key(part));
        for (part, from) in early.into_iter().chain(late) {
            provenance.record(part, from);
        }
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

    /// Where on Earth a world lies, as far as a file of this operator says; what the recipe says goes first.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn place(&self, world: &Rect, files: &dyn Files) -> Result<Place, OpError> {
        let _ = (world, files);
        Ok(Place::default())
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

    /// Where the result may differ from that of other parameters, on a frame and the same input. Only this is worked out
    /// again after an edit, so operators that people edit by hand say it as well as they can; a cell or two of slack are
    /// added by the caller.
    ///
    /// Called where the parameters differ but touch the same [layers](Op::layers).
    fn footprint(&self, old: &Self, frame: &Frame) -> Footprint {
        let _ = (old, frame);
        Footprint::Everything
    }

    /// The most memory that it has in use at once on a frame beside its input, in bytes for each sample: what it writes and
    /// what it works with. By itself a copy of every layer that it writes; where it is more, the operator says so. The
    /// catalogue test holds it to what is measured.
    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        let _ = frame;
        4.0 * Op::layers(self).writes.len() as f64
    }

    /// What follows from the parameters, the seed, the world and its files alone, worked out once for many windows, so
    /// without regard to what is wanted of one.
    /// `None` where there is no such work, and [`Op::run`] does all of it.
    ///
    /// # Errors
    /// As [`Op::run`].
    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        let _ = (world, ctx);
        Ok(None)
    }

    /// Whether it wears the land away, if it reaches the whole world. What finer samples show of the land before it is then
    /// held to what worn land bears: each octave no steeper than a share of the solved land, and nothing under water or
    /// on fresh sediment. Otherwise what the step changed is added to all that finer samples show.
    fn wears(&self) -> bool {
        false
    }

    /// Its own way of bringing what it solved to windows of another spacing, if it reaches the whole world; `None` where
    /// interpolation does.
    ///
    /// # Errors
    /// As [`Op::run`].
    fn refiner(&self, solved: Solved<'_>, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        let _ = (solved, ctx);
        Ok(None)
    }

    /// The work. Parameters have been checked, the declared layers are there, and their values are those that land may
    /// have (see [`crate::values`]). So must be what it writes.
    ///
    /// # Errors
    /// When cancelled, or when the input cannot be worked on, in a sentence.
    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;

    /// Why a place, in metres, is as it is on land that this operator has worked on. By default it has nothing to say.
    ///
    /// # Errors
    /// As [`Op::run`].
    fn explain(&self, land: &Terrain, place: [f64; 2], ctx: &Ctx<'_>) -> Result<Vec<Reason>, OpError> {
        let _ = (land, place, ctx);
        Ok(Vec::new())
    }

    /// Begins work that gives control back in the middle. By default there is one piece, which is [`Op::run`]; an
    /// operator that works for long starts here, and its `run` is [`crate::stepped::run_through`].
    ///
    /// # Errors
    /// As [`Op::run`].
    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        let _ = ctx;
        Ok(Started::Whole(terrain))
    }

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
    /// See [`Op::bytes_a_sample`].
    fn bytes_a_sample(&self, frame: &Frame) -> f64;
    /// See [`Op::files`].
    fn files(&self) -> Vec<&str>;
    /// See [`Op::place`].
    ///
    /// # Errors
    /// As [`Op::place`].
    fn place(&self, world: &Rect, files: &dyn Files) -> Result<Place, OpError>;
    /// All parameters, defaults included, in one canonical order.
    ///
    /// # Errors
    /// When TOML cannot hold them: a fault of the operator, which the catalogue test finds.
    fn params(&self) -> Result<toml::Table, OpError>;
    /// All faults of the parameters.
    ///
    /// # Errors
    /// The faults.
    fn check(&self) -> Result<(), OpError>;
    /// See [`Op::footprint`]; another operator changes everything.
    fn footprint(&self, old: &dyn AnyOp, frame: &Frame) -> Footprint;
    /// The operator as its own type.
    fn as_any(&self) -> &dyn Any;
    /// See [`Op::prepare`].
    ///
    /// # Errors
    /// As [`Op::prepare`].
    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError>;
    /// See [`Op::wears`].
    fn wears(&self) -> bool;
    /// See [`Op::refiner`].
    ///
    /// # Errors
    /// As [`Op::refiner`].
    fn refiner(&self, solved: Solved<'_>, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError>;
    /// See [`Op::run`]; [`crate::Ready`] checks what goes in and comes out.
    ///
    /// # Errors
    /// As [`Op::run`].
    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;
    /// See [`Op::explain`].
    ///
    /// # Errors
    /// As [`Op::explain`].
    fn explain(&self, land: &Terrain, place: [f64; 2], ctx: &Ctx<'_>) -> Result<Vec<Reason>, OpError>;
    /// See [`Op::start`].
    ///
    /// # Errors
    /// As [`Op::start`].
    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError>;
    /// See [`Op::mend_loop`].
    ///
    /// # Errors
    /// As [`Op::mend_loop`].
    fn mend_loop(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;
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

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        Op::bytes_a_sample(self, frame)
    }

    fn place(&self, world: &Rect, files: &dyn Files) -> Result<Place, OpError> {
        Op::place(self, world, files)
    }

    fn files(&self) -> Vec<&str> {
        Op::files(self)
    }

    fn params(&self) -> Result<toml::Table, OpError> {
        toml::Table::try_from(self)
            .map_err(|e| OpError::Internal(format!("the parameters of {} are not TOML: {e}", T::ID)))
    }

    fn check(&self) -> Result<(), OpError> {
        let mut faults = param::check(param::schema::<T>(), &AnyOp::params(self)?);
        if faults.is_empty() {
            faults = Op::faults(self);
        }
        if faults.is_empty() { Ok(()) } else { Err(OpError::Params(faults)) }
    }

    fn footprint(&self, old: &dyn AnyOp, frame: &Frame) -> Footprint {
        old.as_any().downcast_ref().map_or(Footprint::Everything, |old| Op::footprint(self, old, frame))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Op::prepare(self, world, ctx)
    }

    fn wears(&self) -> bool {
        Op::wears(self)
    }

    fn refiner(&self, solved: Solved<'_>, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Op::refiner(self, solved, ctx)
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Op::run(self, terrain, ctx)
    }

    fn explain(&self, land: &Terrain, place: [f64; 2], ctx: &Ctx<'_>) -> Result<Vec<Reason>, OpError> {
        Op::explain(self, land, place, ctx)
    }

    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        Op::start(self, terrain, ctx)
    }

    fn mend_loop(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Op::mend_loop(self, terrain, ctx)
    }

    fn apply(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        AnyOp::check(self)?;
        Applied { op: self, layers: &Op::layers(self), prepared: None }.run(terrain, ctx)
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
    schema: fn() -> &'static serde_json::Value,
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
    pub fn schema(&self) -> &'static serde_json::Value {
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
        /// Whether holes are reported.
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
    fn a_hole_from_nowhere_is_reported() {
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
