//! Everything that can be known to be wrong before anything runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use orogen_core::param::{self, Segment, path_text};
use orogen_core::{AnyOp, Catalog, Files, Frame, FrameError, LayerName, Layers, Part, Provenance, Seed};

use crate::fault::{Fault, FaultKind, Faults, LISTED, Place, hint, listed, quoted};
use crate::node::{At, find_text, locate, to_toml};
use crate::plan::Plan;
use crate::recipe::{Export, Recipe, StepSpec};

/// What a build may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory in bytes; more is refused before anything is allocated.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 8 << 30 }
    }
}

impl Limits {
    /// What so many samples of so many bytes each take, with the program itself and what does not grow with the land.
    fn needed(samples: f64, bytes_a_sample: f64) -> f64 {
        const PROGRAM: f64 = 100e6;
        PROGRAM + samples * bytes_a_sample
    }

    /// The end of a sentence about `samples` samples that take so many bytes each, where that is more than is allowed.
    #[must_use]
    pub fn refuse(&self, samples: f64, bytes_a_sample: f64) -> Option<String> {
        let needed = Self::needed(samples, bytes_a_sample);
        (needed > self.memory_bytes as f64).then(|| {
            format!(
                "need about {} of memory, more than the limit of {}; use fewer samples or allow more memory",
                memory_text(needed),
                memory_text(self.memory_bytes as f64)
            )
        })
    }
}

/// Bytes a sample of a layer.
const LAYER: f64 = 4.0;
/// Bytes a sample beside its layers that a build may take to draw pictures of its result and to write it.
const PICTURES: f64 = 60.0;

/// In powers of two, as limits are given: `8G` is 8 GiB.
fn memory_text(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    const MIB: f64 = 1024.0 * KIB;
    const GIB: f64 = 1024.0 * MIB;
    const TIB: f64 = 1024.0 * GIB;
    if bytes >= 1024.0 * TIB {
        return String::from("1024 TiB or more");
    }
    let units = [("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];
    let (unit, scale) = units.into_iter().find(|(_, scale)| bytes >= *scale).unwrap_or(("bytes", 1.0));
    format!("{} {unit}", (bytes / scale * 10.0).round() / 10.0)
}

/// A recipe without faults: what to run, in order, with disabled steps left out.
#[derive(Clone, Debug)]
pub struct Checked {
    name: String,
    seed: String,
    frame: Frame,
    place: orogen_core::Place,
    steps: Vec<Step>,
    exports: Vec<Export>,
    limits: Limits,
    bytes_a_sample: f64,
    warnings: Vec<String>,
}

/// A step ready to run.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its id.
    pub id: String,
    /// Its operator with parameters.
    pub op: Arc<dyn AnyOp>,
    /// What the operator touches with these parameters.
    pub layers: Layers,
    /// All that each of its outputs follows from, directly or through others; those that follow from nothing are left
    /// out.
    pub follows: BTreeMap<Part, BTreeSet<Part>>,
    /// What its input holds of all that it reads, limits itself by, or writes.
    pub there: BTreeSet<Part>,
    /// Its own seed: of the world seed and its id, so that other steps do not change it.
    pub seed: Seed,
    /// The step whose result it takes; `None` for an empty terrain.
    pub input: Option<usize>,
    /// The step whose result it combines with.
    pub second: Option<usize>,
    /// The layer of its input that limits it.
    pub mask: Option<LayerName>,
}

impl Step {
    /// Whether it drops a part that it does not write, since that follows from what it writes.
    fn drops(&self, part: &Part, follows: &BTreeSet<Part>) -> bool {
        !self.layers.keeps.contains(part) && self.layers.outputs().any(|output| follows.contains(&output))
    }
}

/// Where a part comes from, seen from a step backwards.
enum Origin<'a> {
    /// No step made it, or a later one dropped it.
    Nowhere,
    /// A step with a fault may have made it.
    Unknown,
    /// This step wrote it last.
    Step(&'a Step),
}

/// Looks for a part from the last step backwards; `None` is a step with a fault.
fn origin<'a>(part: &Part, back: impl Iterator<Item = Option<&'a Step>>) -> Origin<'a> {
    let mut later = Vec::new();
    for step in back {
        let Some(step) = step else { return Origin::Unknown };
        if step.layers.outputs().any(|output| output == *part) {
            let dropped = step
                .follows
                .get(part)
                .is_some_and(|follows| later.iter().any(|later: &&Step| later.drops(part, follows)));
            return if dropped { Origin::Nowhere } else { Origin::Step(step) };
        }
        later.push(step);
    }
    Origin::Nowhere
}

/// The parts that are there after the steps, from the last backwards.
fn parts<'a>(back: impl Iterator<Item = Option<&'a Step>> + Clone) -> BTreeSet<Part> {
    let written: BTreeSet<Part> =
        back.clone().flatten().flat_map(|step| step.layers.outputs().collect::<Vec<_>>()).collect();
    written.into_iter().filter(|part| !matches!(origin(part, back.clone()), Origin::Nowhere)).collect()
}

impl Checked {
    /// The recipe's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The world seed.
    #[must_use]
    pub fn seed(&self) -> &str {
        &self.seed
    }

    /// The recipe's own frame.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The enabled steps in order; the last gives the result.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What to write.
    #[must_use]
    pub fn exports(&self) -> &[Export] {
        &self.exports
    }

    /// What is allowed but probably not meant.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Layers of the result, in the order of their names.
    #[must_use]
    pub fn layers(&self) -> Vec<LayerName> {
        self.parts_after(self.steps.len().checked_sub(1)).into_iter().filter_map(Part::into_layer).collect()
    }

    /// Vector layers of the result, in the order of their names.
    #[must_use]
    pub fn vectors(&self) -> Vec<LayerName> {
        self.parts_after(self.steps.len().checked_sub(1)).into_iter().filter_map(Part::into_vectors).collect()
    }

    /// What the recipe itself says of where on Earth the world lies.
    pub(crate) fn own_place(&self) -> orogen_core::Place {
        self.place
    }

    /// Where on Earth the world lies: what the recipe says and, where it is silent, what the files of its steps say, the first
    /// step first.
    #[must_use]
    pub fn place(&self, files: &dyn Files) -> orogen_core::Place {
        let world = self.frame.extent();
        let reading = self.steps.iter().filter(|step| !step.op.files().is_empty());
        // A file that cannot be read is for the step to complain about.
        let said = reading.map(|step| step.op.place(&world, files).unwrap_or_default());
        said.fold(self.place, orogen_core::Place::or)
    }

    /// Layers of instances of the result, in the order of their names.
    #[must_use]
    pub fn instances(&self) -> Vec<LayerName> {
        self.parts_after(self.steps.len().checked_sub(1))
            .into_iter()
            .filter_map(Part::into_instances)
            .collect()
    }

    /// All that a step's result holds.
    pub(crate) fn parts_after(&self, step: Option<usize>) -> BTreeSet<Part> {
        parts(self.back(step))
    }

    /// A step and those whose results it goes back to, the last first.
    fn back(&self, step: Option<usize>) -> impl Iterator<Item = Option<&Step>> + Clone {
        let last = step.map(|step| &self.steps[step]);
        std::iter::successors(last, |step| step.input.map(|input| &self.steps[input])).map(Some)
    }

    /// The same recipe with at most so many samples along the longer side of its frame; `None` where it has no more.
    #[must_use]
    pub fn coarser(&self, samples: usize) -> Option<Self> {
        let now = [self.frame.cols(), self.frame.rows()];
        if now[0].max(now[1]) <= samples {
            return None;
        }
        let extent = self.frame.extent();
        let frame = Frame::new(extent.min, extent.size(), scaled(now, samples)).ok()?;
        let frame = if self.frame.loops() { frame.looped() } else { frame };
        Some(Self { frame, ..self.clone() })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The most memory that a build has in use at once, in bytes for each sample of the frame: layers that are held for
    /// later and what the operator of a step declares ([`orogen_core::Op::bytes_a_sample`]), or what pictures take in the end.
    #[must_use]
    pub fn bytes_a_sample(&self) -> f64 {
        self.bytes_a_sample
    }

    /// Memory that is left of what is allowed, in bytes, beside the land of a plan: for what files hold.
    #[must_use]
    pub fn bytes_beside(&self, plan: &Plan) -> u64 {
        let needed = Limits::needed(plan.most_samples(&self.frame), self.bytes_a_sample);
        self.limits.memory_bytes.saturating_sub(needed as u64)
    }
}

/// What a step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A terrain without layers.
    Empty,
    /// The result of an enabled step.
    Step(usize),
    /// Something with a fault of its own: nothing is said about what it holds.
    Faulty,
}

/// The steps read so far.
#[derive(Default)]
struct Draft {
    steps: Vec<Option<Step>>,
    inputs: Vec<Source>,
}

impl Draft {
    /// A source and what it goes back to, the last first; a faulty one ends the walk.
    fn back(&self, source: Source) -> impl Iterator<Item = Option<&Step>> + Clone {
        let mut next = source;
        std::iter::from_fn(move || match next {
            Source::Empty => None,
            Source::Faulty => {
                next = Source::Empty;
                Some(None)
            }
            Source::Step(i) => {
                next = if self.steps[i].is_some() { self.inputs[i] } else { Source::Empty };
                Some(self.steps[i].as_ref())
            }
        })
    }

    /// Whether a part is there; a faulty source has every part.
    fn has(&self, source: Source, part: &Part) -> bool {
        !matches!(origin(part, self.back(source)), Origin::Nowhere)
    }

    /// All that a part of a source follows from.
    fn follows(&self, source: Source, part: &Part) -> BTreeSet<Part> {
        match origin(part, self.back(source)) {
            Origin::Step(step) => step.follows.get(part).cloned().unwrap_or_default(),
            Origin::Nowhere | Origin::Unknown => BTreeSet::new(),
        }
    }

    /// All that each output of an operator follows from when it is applied to a source.
    fn provenance(&self, source: Source, layers: &Layers) -> BTreeMap<Part, BTreeSet<Part>> {
        let mut provenance = Provenance::default();
        for part in layers.inputs().chain(layers.follows.values().flatten().cloned()).collect::<BTreeSet<_>>()
        {
            let follows = self.follows(source, &part);
            provenance.record(part, follows);
        }
        layers.provenance(&mut provenance);
        let outputs: BTreeSet<Part> = layers.outputs().collect();
        let followers = provenance.iter().filter(|(part, _)| outputs.contains(part));
        followers.map(|(part, all)| (part.clone(), all.clone())).collect()
    }

    /// See [`Checked::bytes_a_sample`]. Steps with faults take nothing.
    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        let count = self.steps.len();
        let uses = |i: usize| {
            let second = self.steps[i].as_ref().and_then(|step| step.second).map(Source::Step);
            [Some(self.inputs[i]), second].into_iter().flatten().filter_map(|source| match source {
                Source::Step(used) => Some(used),
                Source::Empty | Source::Faulty => None,
            })
        };
        let mut last_use = vec![0; count];
        (0..count).for_each(|i| uses(i).for_each(|used| last_use[used] = i));
        if let Some(last) = last_use.last_mut() {
            *last = count;
        }
        // The step that made each layer of the results that are still needed: results share what they have in common.
        let mut held: BTreeMap<usize, BTreeMap<&LayerName, usize>> = BTreeMap::new();
        let mut most: f64 = 0.0;
        for (i, step) in self.steps.iter().enumerate() {
            let Some(step) = step else { continue };
            let layers: BTreeSet<(&&LayerName, &usize)> = held.values().flatten().collect();
            most = most.max(LAYER * layers.len() as f64 + step.op.bytes_a_sample(frame));
            let mut made = match self.inputs[i] {
                Source::Step(used) if last_use[used] == i => held.remove(&used).unwrap_or_default(),
                Source::Step(used) => held.get(&used).cloned().unwrap_or_default(),
                Source::Empty | Source::Faulty => BTreeMap::new(),
            };
            made.extend(step.layers.writes.iter().map(|name| (name, i)));
            held.retain(|&used, _| last_use[used] > i);
            if last_use[i] > i {
                held.insert(i, made);
            }
        }
        let left = held.values().map(BTreeMap::len).sum::<usize>() as f64;
        most.max(PICTURES + LAYER * left)
    }

    /// The first layers there are: as many as a sentence lists, and one.
    fn first(&self, source: Source) -> Vec<LayerName> {
        let layers = parts(self.back(source)).into_iter().filter_map(Part::into_layer);
        layers.take(LISTED + 1).collect()
    }
}

impl Recipe {
    /// Checks everything that can be checked before running.
    ///
    /// # Errors
    /// All faults, by place.
    pub fn check(&self, catalog: &Catalog, limits: &Limits) -> Result<Checked, Faults> {
        let mut faults = self.faults.clone();
        let draft = self.check_steps(catalog, &mut faults);
        let frame = self.check_frame(limits, &draft);
        if let Err(fault) = &frame {
            faults.push(fault.clone());
        }
        if !self.steps.is_empty() && self.steps.iter().all(|step| !step.enabled) {
            let message = String::from("every step is disabled; there is nothing to build");
            faults.push(Fault::new(Place::Whole, message));
        }
        faults.into_result()?;
        let (frame, bytes_a_sample) = frame.map_err(|fault| Faults::one(self.name(), fault))?;
        let steps: Vec<Step> = draft.steps.into_iter().flatten().collect();
        let warnings = unused(&steps);
        Ok(Checked {
            name: self.name().to_owned(),
            seed: self.seed.clone(),
            frame,
            place: self.place,
            steps,
            exports: self.exports.clone(),
            limits: *limits,
            bytes_a_sample,
            warnings,
        })
    }

    /// Finds the files that cannot be read among those that the enabled steps name, in a recipe with other faults too.
    /// `problem` looks at a name, and its sentence says what is wrong: this crate reads no files.
    ///
    /// # Errors
    /// A fault for each such file, at the parameter that names it.
    pub fn check_files(
        &self,
        catalog: &Catalog,
        problem: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Faults> {
        let mut faults = Faults::new(self.name());
        for spec in self.steps.iter().filter(|spec| spec.enabled) {
            let Some((op, whole)) = parse_what_is_right(spec, catalog) else { continue };
            let names: BTreeSet<&str> = op.files().into_iter().collect();
            for (name, problem) in names.into_iter().filter_map(|name| Some((name, problem(name)?))) {
                let mut path = Vec::new();
                let op_at = spec.op.as_ref().map_or(spec.at, |(_, at)| *at);
                let written = find_text(&spec.params, name, &mut path);
                // The default of a parameter that is wrong is not what the recipe names.
                let Some(at) = written.or(whole.then_some(op_at)) else { continue };
                let parameter = Some(path_text(&path)).filter(|path| !path.is_empty());
                let prefix = parameter.as_ref().map_or(String::new(), |parameter| format!("{parameter}: "));
                let message = format!("{prefix}file {}: {problem}", quoted(name));
                self.report_of(&mut faults, spec, at, parameter, message);
            }
        }
        faults.into_result()
    }

    /// The frame, and how many bytes a build takes for each of its samples.
    fn check_frame(&self, limits: &Limits, draft: &Draft) -> Result<(Frame, f64), Fault> {
        let spec = &self.frame;
        let (samples, samples_at) = match self.samples_override {
            Some(longer) => (scaled(spec.samples, longer), At::Samples),
            None => (spec.samples, spec.samples_at),
        };
        let fault = |at: At, message: String| Fault::new(self.place(at), message);
        let [cols, rows] = samples;
        let refuse = |bytes_a_sample: f64| {
            let refusal = limits.refuse(cols as f64 * rows as f64, bytes_a_sample)?;
            let fault = fault(samples_at, format!("{cols} x {rows} samples {refusal}"));
            Some(Fault { kind: FaultKind::Memory, ..fault })
        };
        // Frames that are beyond all machines are not asked what operators would do with them.
        if let Some(fault) = refuse(PICTURES + LAYER) {
            return Err(fault);
        }
        let frame = Frame::new(spec.origin_m, spec.size_m, samples).map_err(|error| {
            let at = match error {
                FrameError::TooFewSamples(_) => samples_at,
                FrameError::BadLength { .. } => spec.size_at,
                FrameError::BadOrigin(_) | FrameError::TooFar(_) => spec.origin_at,
            };
            fault(at, format!("frame: {error}"))
        })?;
        let frame = if spec.loops { frame.looped() } else { frame };
        let bytes_a_sample = draft.bytes_a_sample(&frame);
        match refuse(bytes_a_sample) {
            Some(fault) => Err(fault),
            None => Ok((frame, bytes_a_sample)),
        }
    }

    fn check_steps(&self, catalog: &Catalog, faults: &mut Faults) -> Draft {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, spec) in self.steps.iter().enumerate().filter(|(_, spec)| !spec.id.is_empty()) {
            match places.get(spec.id.as_str()) {
                Some(_) if faults.is_full() => faults.more += 1,
                Some(&first) => {
                    let Place::Text { line, .. } = self.place(self.steps[first].at) else { continue };
                    let message = format!("the step at line {line} already has this id");
                    self.report(faults, spec, spec.id_at, message);
                }
                None => {
                    places.insert(&spec.id, i);
                }
            }
        }
        let world = Seed::from_text(&self.seed);
        let mut draft = Draft::default();
        let mut outputs: Vec<Source> = Vec::with_capacity(self.steps.len());
        for (i, spec) in self.steps.iter().enumerate() {
            let above = outputs.last().copied().unwrap_or(Source::Empty);
            let mut named = |key: &str, name: &Option<(String, At)>| {
                let (name, at) = name.as_ref()?;
                Some(match self.resolve(i, key, name, &places) {
                    Ok(j) => outputs[j],
                    // Finding a line or the nearest of thousands of names takes time, ten thousand times over.
                    Err(_) if faults.is_full() => {
                        faults.more += 1;
                        Source::Faulty
                    }
                    Err(sentence) => {
                        self.report(faults, spec, *at, sentence());
                        Source::Faulty
                    }
                })
            };
            let input = named("from", &spec.from).unwrap_or(above);
            let second = named("with", &spec.with);
            let op = self.check_op(spec, catalog, faults);
            if !spec.enabled {
                outputs.push(input);
                continue;
            }
            let step = op.map(|op| Step {
                id: spec.id.clone(),
                layers: op.layers(),
                follows: draft.provenance(input, &op.layers()),
                there: {
                    let layers = op.layers();
                    let mask = spec.mask.iter().map(|(name, _)| Part::Layer(name.clone()));
                    let touched = layers.inputs().chain(layers.outputs()).chain(mask);
                    touched.filter(|part| draft.has(input, part)).collect()
                },
                op: Arc::from(op),
                seed: world.child(&spec.id),
                input: if let Source::Step(i) = input { Some(i) } else { None },
                second: if let Some(Source::Step(i)) = second { Some(i) } else { None },
                mask: spec.mask.as_ref().map(|(name, _)| name.clone()),
            });
            self.check_mask(spec, input, &draft, faults);
            if let Some(step) = &step {
                self.check_layers(spec, step, input, second, &draft, faults);
            }
            outputs.push(if step.is_some() { Source::Step(draft.steps.len()) } else { Source::Faulty });
            draft.steps.push(step);
            draft.inputs.push(input);
        }
        draft
    }

    /// The earlier step that `from` or `with` names, or what makes the sentence that says why not.
    fn resolve<'a>(
        &'a self,
        i: usize,
        key: &'a str,
        name: &'a str,
        places: &BTreeMap<&str, usize>,
    ) -> Result<usize, impl FnOnce() -> String + use<'a>> {
        let found = places.get(name).copied();
        match found {
            Some(j) if j < i => Ok(j),
            _ => Err(move || self.not_above(i, key, name, found)),
        }
    }

    fn not_above(&self, i: usize, key: &str, name: &str, found: Option<usize>) -> String {
        let above = "a step may name only steps above it";
        match found {
            Some(j) if j == i => format!("{key}: the step names itself; {above}"),
            Some(j) => {
                let line = match self.place(self.steps[j].at) {
                    Place::Text { line, .. } => line,
                    _ => 0,
                };
                format!("{key}: step {} comes later, at line {line}; {above}", quoted(name))
            }
            None => {
                let names = self.steps[..i].iter().map(|step| step.id.as_str()).filter(|id| !id.is_empty());
                format!("{key}: no step {} above; {}", quoted(name), hint(name, names))
            }
        }
    }

    fn check_op(&self, spec: &StepSpec, catalog: &Catalog, faults: &mut Faults) -> Option<Box<dyn AnyOp>> {
        let (id, at) = spec.op.as_ref()?;
        let Some(operator) = catalog.get(id) else {
            let hint = catalog.nearest(id).map_or(String::new(), |name| format!("; did you mean {name:?}?"));
            let message = format!("no such operator {}{hint}", quoted(id));
            let kind = if hint.is_empty() { FaultKind::UnknownOperator } else { FaultKind::Other };
            self.report_as(faults, spec, *at, kind, message);
            return None;
        };
        match operator.parse(&to_toml(&spec.params)) {
            Ok(op) => Some(op),
            Err(found) => {
                for fault in found {
                    let at = locate(&spec.params, &fault.path).unwrap_or(*at);
                    self.report_param(faults, spec, at, &fault);
                }
                None
            }
        }
    }

    /// A mask must be in the step's input, whatever the operator does with it.
    fn check_mask(&self, spec: &StepSpec, input: Source, draft: &Draft, faults: &mut Faults) {
        if let Some((name, at)) = &spec.mask
            && !faults.is_full()
            && !draft.has(input, &Part::Layer(name.clone()))
        {
            let message = format!("mask: no layer {name:?} in the step's input; {}", there_is(draft, input));
            self.report(faults, spec, *at, message);
        }
    }

    fn check_layers(
        &self,
        spec: &StepSpec,
        step: &Step,
        input: Source,
        second: Option<Source>,
        draft: &Draft,
        faults: &mut Faults,
    ) {
        if faults.is_full() {
            return; // to list what there is takes a walk through all steps before
        }
        let op_at = spec.op.as_ref().map_or(spec.at, |(_, at)| *at);
        let op = step.op.id();
        let there_is = |source: Source| there_is(draft, source);
        let mut missing: Vec<&LayerName> = step
            .layers
            .reads
            .iter()
            .filter(|name| !draft.has(input, &Part::Layer((*name).clone())))
            .collect();
        missing.dedup();
        for name in missing {
            let message =
                format!("{op} needs the layer {name:?}, which no earlier step makes; {}", there_is(input));
            self.report(faults, spec, op_at, message);
        }
        for name in &step.layers.reads_vectors {
            if !draft.has(input, &Part::Vectors(name.clone())) {
                let message = format!("{op} needs the vectors {name:?}, which no earlier step makes");
                self.report(faults, spec, op_at, message);
            }
        }
        let combines = !step.layers.reads_second.is_empty();
        match (second, &spec.with) {
            (None, _) if combines => {
                let message = format!("{op} combines two terrains; name the second step with `with`");
                self.report(faults, spec, op_at, message);
            }
            (Some(_), Some((_, at))) if !combines => {
                let message = format!("with: {op} takes no second terrain; remove `with`");
                self.report(faults, spec, *at, message);
            }
            (Some(source), Some((with, at))) => {
                let second = |name: &&LayerName| !draft.has(source, &Part::Layer((*name).clone()));
                for name in step.layers.reads_second.iter().filter(second) {
                    let message = format!(
                        "with: {op} needs the layer {name:?} of step {}; {}",
                        quoted(with),
                        there_is(source)
                    );
                    self.report(faults, spec, *at, message);
                }
            }
            _ => {}
        }
    }

    fn report(&self, faults: &mut Faults, spec: &StepSpec, at: At, message: String) {
        if faults.is_full() {
            faults.more += 1; // finding the line of a fault takes a walk through the text
            return;
        }
        self.report_of(faults, spec, at, None, message);
    }

    fn report_as(&self, faults: &mut Faults, spec: &StepSpec, at: At, kind: FaultKind, message: String) {
        let before = faults.list.len();
        self.report(faults, spec, at, message);
        if let Some(fault) = faults.list.get_mut(before) {
            fault.kind = kind;
        }
    }

    fn report_of(
        &self,
        faults: &mut Faults,
        spec: &StepSpec,
        at: At,
        parameter: Option<String>,
        message: String,
    ) {
        let step = Some(spec.id.clone()).filter(|id| !id.is_empty());
        faults.push(Fault { step, parameter, ..Fault::new(self.place(at), message) });
    }

    fn report_param(&self, faults: &mut Faults, spec: &StepSpec, at: At, fault: &param::Fault) {
        // The place names the parameter already.
        let named = matches!(at, At::Set(i)
            if self.options.get(i).is_some_and(|o| *o == format!("{}.{}", spec.id, path_text(&fault.path))));
        if faults.is_full() {
            faults.more += 1;
            return;
        }
        let message = if named { fault.message.clone() } else { fault.to_string() };
        let parameter = Some(path_text(&fault.path)).filter(|path| !path.is_empty());
        self.report_of(faults, spec, at, parameter, message);
    }
}

/// The operator of a step with the parameters that are right, the others at their defaults: enough to know which files it
/// names. Also whether all parameters are right; `None` where no operator is left.
fn parse_what_is_right(spec: &StepSpec, catalog: &Catalog) -> Option<(Box<dyn AnyOp>, bool)> {
    let operator = catalog.get(&spec.op.as_ref()?.0)?;
    let mut params = to_toml(&spec.params);
    let written = params.len();
    // Each round takes out at least one parameter, so it ends.
    loop {
        let faults = match operator.parse(&params) {
            Ok(op) => return Some((op, params.len() == written)),
            Err(faults) => faults,
        };
        let before = params.len();
        for fault in &faults {
            if let Some(Segment::Key(key)) = fault.path.first() {
                params.remove(key);
            }
        }
        if params.len() == before {
            return None;
        }
    }
}

/// What to say about a layer that is not there: which are.
fn there_is(draft: &Draft, source: Source) -> String {
    let names = draft.first(source);
    if names.is_empty() {
        String::from("there are no layers yet, so start with a source step")
    } else {
        listed(names.iter().map(LayerName::as_str))
    }
}

/// Samples of both sides when the longer one gets `longer`.
fn scaled(samples: [usize; 2], longer: usize) -> [usize; 2] {
    let most = samples[0].max(samples[1]);
    if longer < 2 || most < 2 {
        return [longer; 2];
    }
    let share = (longer - 1) as f64 / (most - 1) as f64;
    samples.map(|n| {
        if n == most { longer } else { (((n.max(1) - 1) as f64 * share).round() as usize + 1).max(2) }
    })
}

/// A warning for each step whose result nobody uses.
fn unused(steps: &[Step]) -> Vec<String> {
    let mut used = vec![false; steps.len()];
    if let Some(last) = used.last_mut() {
        *last = true;
    }
    for i in (0..steps.len()).rev() {
        if used[i] {
            for j in [steps[i].input, steps[i].second].into_iter().flatten() {
                used[j] = true;
            }
        }
    }
    steps
        .iter()
        .zip(&used)
        .filter(|(_, used)| !**used)
        .map(|(step, _)| format!("step {:?} has no effect: no later step uses its result", step.id))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_memory_is_not_said_to_be_0_mib() {
        for (bytes, text) in [
            (0.0, "0 bytes"),
            (1000.0, "1000 bytes"),
            (1024.0, "1 KiB"),
            (1536.0, "1.5 KiB"),
            (300.0 * 1048576.0, "300 MiB"),
            (8.0 * 1073741824.0, "8 GiB"),
            (1e30, "1024 TiB or more"),
        ] {
            assert_eq!(memory_text(bytes), text);
        }
    }
}
