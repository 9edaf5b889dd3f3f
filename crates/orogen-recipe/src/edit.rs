//! The whole land of a session, worked out again after an edit only where the edit reaches.
//!
//! A session keeps what each step gave on the recipe's frame and, for each, where that no longer holds:
//!
//! ```text
//! edit:  a step has other parameters ──▶ its footprint is stale
//!        a step takes another's result ──▶ where the two results differ is stale, once both are known
//! land:  from the first step to the last: work out what is stale, paste it into what was kept, compare;
//!        where samples differ, grown by the reach of each step that looks at them, that step is stale
//! ```
//!
//! So a change dies out where it makes no difference, a step that does not look at a changed layer does not run, and a
//! cancelled build goes on where it stopped. Every answer equals a clean build to the bit, since a window of a step equals
//! the same part of the whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, TryLockError};

use orogen_core::{
    Cancel, Ctx, Footprint, Frame, LayerData, LayerName, OpError, Part, Parts, Reach, Terrain,
};

use crate::cache::{Found, Key, KeyMaker};
use crate::check::{Checked, Step};
use crate::clock::Stopwatch;
use crate::plan::{Plan, halo, within};
use crate::run::{Observer, RunError, StepReport, TaskWatch, apply, caught, cut, keys};
use crate::session::{Session, TileError};

/// The whole land as a session knows it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The land.
    pub terrain: Terrain,
    /// Whether it is a coarse one, to be looked at until the exact one is there.
    pub preview: bool,
    /// The steps whose operators ran, in their order, each on the frame that it was worked out on. Warnings and figures
    /// are those of that frame.
    pub steps: Vec<StepReport>,
}

/// What has to be worked out before the land follows the recipe again, as far as that is known beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pending {
    /// Where the land may change.
    pub footprint: Footprint,
    /// Whether a step that reaches the whole world has to be solved: then a preview comes sooner.
    pub solves_world: bool,
}

/// A part of the recipe's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Region {
    #[default]
    Nothing,
    Part(Frame),
    All,
}

impl Region {
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }

    fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Part(a), Self::Part(b)) => a.union(&b).map_or(Self::All, Self::Part),
            (Self::All, _) | (_, Self::All) => Self::All,
        }
    }

    /// What a footprint takes in, with some cells around: operators work in single precision at the edge of a stroke.
    fn of(footprint: Footprint, base: &Frame) -> Self {
        const SLACK: f64 = 2.0;
        match footprint {
            Footprint::Nothing => Self::Nothing,
            // On land that loops what crosses an edge comes in again at the other.
            Footprint::Everything => Self::All,
            Footprint::Rect(_) if base.loops() => Self::All,
            Footprint::Rect(rect) => base
                .clipped(&rect.grown(base.spacing_m().map(|m| SLACK * m)))
                .map_or(Self::Nothing, Self::Part),
        }
    }

    /// Where a step's result may change when its input does here.
    fn seen_by(self, step: &Step, base: &Frame) -> Self {
        match (self, step.op.reach(base)) {
            (Self::Nothing, _) => Self::Nothing,
            (Self::Part(part), Reach::Point) => Self::Part(part),
            (Self::Part(part), Reach::Within(m)) => within(&part, m, base).map_or(Self::Nothing, Self::Part),
            (Self::All, _) | (_, Reach::World) => Self::All,
        }
    }
}

/// What differs between two lands on the recipe's frame.
#[derive(Debug, Default)]
struct Change {
    layers: BTreeMap<LayerName, Region>,
    /// Vectors and instances.
    others: BTreeSet<Part>,
    /// Whether they hold different parts.
    parts: bool,
}

impl Change {
    /// Compares two lands. Layers that they share are not looked at.
    fn between(old: &Terrain, new: &Terrain) -> Self {
        let mut change = Self { parts: parts_of(old) != parts_of(new), ..Self::default() };
        for (name, data) in new.layers() {
            let Some(before) = old.layers().get(name) else { continue };
            if !before.same_allocation(data) {
                change.note(name, differing(before, (0, 0), data, new.frame()));
            }
        }
        for (name, vectors) in new.vectors() {
            let before = old.vectors().get(name);
            if before.is_some_and(|before| !Arc::ptr_eq(before, vectors) && before != vectors) {
                change.others.insert(Part::Vectors(name.clone()));
            }
        }
        for (name, instances) in new.instances() {
            let before = old.instances().get(name);
            if before.is_some_and(|before| !Arc::ptr_eq(before, instances) && before != instances) {
                change.others.insert(Part::Instances(name.clone()));
            }
        }
        change
    }

    fn note(&mut self, name: &LayerName, region: Region) {
        if !region.is_nothing() {
            let all = self.layers.entry(name.clone()).or_default();
            *all = all.union(region);
        }
    }
}

fn parts_of(land: &Terrain) -> BTreeSet<Part> {
    let layers = land.layers().keys().cloned().map(Part::Layer);
    let vectors = land.vectors().keys().cloned().map(Part::Vectors);
    layers.chain(vectors).chain(land.instances().keys().cloned().map(Part::Instances)).collect()
}

/// The samples of `part`, which lies on `frame` and in `whole` from a column and row on, whose bits differ from those there.
fn differing(whole: &LayerData, (col, row): (usize, usize), part: &LayerData, frame: &Frame) -> Region {
    let (cols, rows) = part.shape();
    let size = part.bytes().len() / (cols * rows).max(1);
    let stride = whole.shape().0 * size;
    if whole.kind() != part.kind() {
        return Region::Part(*frame);
    }
    let (mut left, mut right, mut top, mut bottom) = (cols, 0, rows, 0);
    for r in 0..rows {
        let from = (row + r) * stride + col * size;
        let old = &whole.bytes()[from..from + cols * size];
        let new = &part.bytes()[r * cols * size..(r + 1) * cols * size];
        if old == new {
            continue;
        }
        (top, bottom) = (top.min(r), r);
        let differs = |at: &usize| old[*at] != new[*at];
        if let (Some(first), Some(last)) = ((0..old.len()).find(differs), (0..old.len()).rfind(differs)) {
            (left, right) = (left.min(first / size), right.max(last / size));
        }
    }
    if top == rows {
        return Region::Nothing;
    }
    Region::Part(frame.window(left as i64, top as i64, right - left + 1, bottom - top + 1))
}

/// What a step gave, and where that no longer holds.
#[derive(Debug)]
pub(crate) struct Slot {
    /// `None` before it is first worked out, and when it had to make room.
    land: Option<Terrain>,
    /// Where the operator has to run again.
    stale: Region,
    /// What has changed in its input that it only passes on.
    passing: Change,
    /// What it took before it was given another step's result; `None` inside where that is not known.
    took: [Option<Option<Terrain>>; 2],
    /// How long it takes to work out whole.
    seconds: f64,
}

impl Default for Slot {
    fn default() -> Self {
        Self { land: None, stale: Region::All, passing: Change::default(), took: [None, None], seconds: 0.0 }
    }
}

impl Slot {
    /// Whether anything has to be done to it.
    fn is_touched(&self) -> bool {
        !self.stale.is_nothing()
            || self.passing.parts
            || !self.passing.layers.is_empty()
            || !self.passing.others.is_empty()
            || self.took.iter().any(Option::is_some)
    }

    /// Takes in that a result it takes has changed; as its second terrain where `second`.
    fn notice(&mut self, step: &Step, change: &Change, second: bool, base: &Frame) {
        if change.parts {
            self.stale = Region::All;
            return;
        }
        if second {
            for name in &step.layers.reads_second {
                if let Some(region) = change.layers.get(name) {
                    self.stale = self.stale.union(region.seen_by(step, base));
                }
            }
            return;
        }
        let seen: BTreeSet<Part> = step.layers.inputs().collect();
        for (name, region) in &change.layers {
            let written = step.layers.writes.contains(name);
            let looked_at = seen.contains(&Part::Layer(name.clone())) || step.mask.as_ref() == Some(name);
            // A mask mixes what the step writes with what was there.
            if looked_at || written && step.mask.is_some() {
                self.stale = self.stale.union(region.seen_by(step, base));
            }
            if !written {
                self.passing.note(name, *region);
            }
        }
        for part in &change.others {
            if seen.contains(part) {
                self.stale = Region::All;
            }
            self.passing.others.insert(part.clone());
        }
    }
}

/// What a step is made from besides its input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Identity {
    hash: Key,
    /// Equal numbers may still differ in their sign then, which operators that compare their parameters cannot see.
    has_negative_zero: bool,
}

impl Identity {
    fn of(step: &Step) -> Option<Self> {
        let mut maker = KeyMaker::new("edit");
        let params = step.op.params().ok()?;
        maker.text(step.op.id());
        maker.table(&params);
        Some(Self { hash: maker.finish(), has_negative_zero: params.values().any(has_negative_zero) })
    }

    pub fn all(checked: &Checked) -> Vec<Option<Self>> {
        checked.steps().iter().map(Self::of).collect()
    }
}

fn has_negative_zero(value: &toml::Value) -> bool {
    match value {
        toml::Value::Float(x) => *x == 0.0 && x.is_sign_negative(),
        toml::Value::Array(items) => items.iter().any(has_negative_zero),
        toml::Value::Table(table) => table.values().any(has_negative_zero),
        _ => false,
    }
}

/// Where a step's own result may change by other parameters.
fn own_change(old: (&Step, &Option<Identity>), new: (&Step, &Option<Identity>), base: &Frame) -> Region {
    let ((old, Some(was)), (new, Some(is))) = (old, new) else { return Region::All };
    if old.layers != new.layers || old.mask != new.mask || old.there != new.there {
        return Region::All;
    }
    if was.hash == is.hash {
        return Region::Nothing;
    }
    if was.has_negative_zero || is.has_negative_zero {
        return Region::All;
    }
    Region::of(new.op.footprint(old.op.as_ref(), base), base)
}

impl Session {
    /// Goes on with another recipe, as a rule the same one after an edit. Nothing is worked out yet: what the change
    /// touches is only marked, so edits may follow each other faster than land can be made. The answer says what
    /// [`Session::land`] will have to do.
    ///
    /// Steps are known by their ids. Files are taken to be what they were; after a change of one, start another
    /// session.
    pub fn edit(&mut self, checked: Checked) -> Pending {
        let base = *checked.frame();
        let identities = Identity::all(&checked);
        let old_checked = std::mem::replace(&mut self.checked, checked);
        let old_identities = std::mem::replace(&mut self.identities, identities);
        let slots = self.slots.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut old_slots: Vec<Option<Slot>> = slots.drain(..).map(Some).collect();
        let lands: Vec<Option<Terrain>> =
            old_slots.iter().map(|slot| slot.as_ref().and_then(|slot| slot.land.clone())).collect();
        let (old_steps, steps) = (old_checked.steps(), self.checked.steps());
        let by_id: BTreeMap<&str, usize> =
            old_steps.iter().enumerate().map(|(j, step)| (step.id.as_str(), j)).collect();
        // The step that each was before.
        let mut was: Vec<Option<usize>> = Vec::with_capacity(steps.len());
        // Those whose own parameters stay, and those whose results do.
        let (mut same_op, mut same) = (vec![false; steps.len()], vec![false; steps.len()]);
        for (i, step) in steps.iter().enumerate() {
            let known = by_id.get(step.id.as_str()).copied().filter(|&j| {
                let old = &old_steps[j];
                base == *old_checked.frame()
                    && old_checked.own_place() == self.checked.own_place()
                    && old.op.id() == step.op.id()
                    && old.seed == step.seed
            });
            was.push(known);
            let Some((j, mut slot)) = known.and_then(|j| Some((j, old_slots[j].take()?))) else {
                slots.push(Slot::default());
                continue;
            };
            let own = own_change((&old_steps[j], &old_identities[j]), (step, &self.identities[i]), &base);
            same_op[i] = own.is_nothing();
            let inputs = [step.input, step.second];
            same[i] = same_op[i] && inputs.into_iter().flatten().all(|j| same[j]);
            slot.stale = slot.stale.union(own);
            let links = [(old_steps[j].input, step.input), (old_steps[j].second, step.second)];
            for (took, (before, now)) in slot.took.iter_mut().zip(links) {
                // Earlier steps have been matched already.
                if before != now.and_then(|now| was[now]) || before.is_none() != now.is_none() {
                    // What it was worked out from stays what it is until the land is made.
                    took.get_or_insert_with(|| before.and_then(|before| lands[before].clone()));
                    same[i] = false;
                }
            }
            slots.push(slot);
        }
        self.operators.keep(was.iter().zip(&same_op).map(|(was, same)| was.filter(|_| *same)).collect());
        self.memory.keep_steps(|old| was.iter().position(|was| *was == Some(old)).filter(|&new| same[new]));
        let coarse = self.coarse.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((samples, session)) = coarse.take()
            && let Some(checked) = self.checked.coarser(samples)
        {
            let mut session = session;
            session.edit(checked);
            *coarse = Some((samples, session));
        }
        self.pending()
    }

    /// What [`Session::land`] would have to do now.
    #[must_use]
    pub fn pending(&self) -> Pending {
        let slots = self.slots();
        let (base, steps) = (self.checked.frame(), self.checked.steps());
        let used = used(steps);
        let mut regions: Vec<Region> = Vec::with_capacity(steps.len());
        let mut solves_world = false;
        for (i, step) in steps.iter().enumerate() {
            let slot = &slots[i];
            let mut region = slot.stale;
            if slot.took.iter().any(Option::is_some) {
                region = Region::All;
            }
            for (from, second) in [(step.input, false), (step.second, true)] {
                let Some(region_before) = from.map(|from| regions[from]) else { continue };
                region = region.union(region_before.seen_by(step, base));
                if !second {
                    region = region.union(region_before);
                }
            }
            let passes = slot.passing.layers.values().copied().fold(Region::Nothing, Region::union);
            region = region.union(passes);
            if slot.passing.parts || !slot.passing.others.is_empty() {
                region = Region::All;
            }
            solves_world |= used[i] && !region.is_nothing() && step.op.reach(base) == Reach::World;
            regions.push(region);
        }
        let footprint = match regions.last() {
            None | Some(Region::Nothing) => Footprint::Nothing,
            Some(Region::Part(part)) => Footprint::Rect(part.extent()),
            Some(Region::All) => Footprint::Everything,
        };
        Pending { footprint, solves_world }
    }

    /// The whole land, equal to a clean build to the bit. What each step gives is kept, so that after an
    /// [edit](Session::edit) only what it reaches is worked out. Cancelled, it goes on next time where it stopped.
    ///
    /// # Errors
    /// When the land is too large, when a step fails, and when cancelled.
    pub fn land(&self, observer: &dyn Observer, cancel: &Cancel) -> Result<Answer, TileError> {
        let plan = Plan::whole(&self.checked)?;
        let steps = self.checked.steps();
        let mut slots = match (rayon::current_thread_index(), self.slots.try_lock()) {
            (Some(_), Err(TryLockError::WouldBlock)) => {
                // A worker of a thread pool that waits here may hold up the very work that it waits for.
                let run = self.answer(&plan, observer, cancel)?;
                return Ok(Answer { terrain: run.terrain, preview: false, steps: run.steps });
            }
            (_, Ok(slots)) => slots,
            _ => self.slots(),
        };
        let Some(last) = steps.len().checked_sub(1) else {
            let terrain = Terrain::new(*self.checked.frame());
            return Ok(Answer { terrain, preview: false, steps: Vec::new() });
        };
        let mut work =
            Work { session: self, plan: &plan, keys: None, observer, cancel, count: 0, reports: Vec::new() };
        let wanted = wanted(steps, &slots);
        work.count = wanted.iter().filter(|wanted| **wanted).count();
        for i in (0..steps.len()).filter(|&i| wanted[i]) {
            if cancel.is_cancelled() {
                return Err(RunError::Cancelled.into());
            }
            work.renew(i, &mut slots)?;
            self.make_room(&mut slots, |j| {
                j == last || (i + 1..=last).any(|k| wanted[k] && takes(&steps[k], j))
            });
        }
        let terrain = slots[last].land.clone();
        self.make_room(&mut slots, |_| false);
        let mut terrain =
            terrain.ok_or_else(|| RunError::Internal(String::from("the last step gave nothing")))?;
        terrain.set_place(self.checked.place(self.files.as_ref()));
        Ok(Answer { terrain, preview: false, steps: work.reports })
    }

    /// The whole land on at most so many samples along the longer side, where the exact one takes longer: a step that
    /// reaches the whole world has to be solved. `None` where [`Session::land`] is as quick, or the recipe has no more
    /// samples than that.
    ///
    /// Previews are kept and edited like the land itself.
    ///
    /// # Errors
    /// As [`Session::land`].
    pub fn preview(
        &self,
        samples: usize,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Option<Answer>, TileError> {
        if !self.pending().solves_world {
            return Ok(None);
        }
        let mut coarse = self.coarse.lock().unwrap_or_else(PoisonError::into_inner);
        if coarse.as_ref().is_none_or(|(known, _)| *known != samples) {
            let Some(checked) = self.checked.coarser(samples) else { return Ok(None) };
            *coarse = Some((samples, Box::new(Self::new(checked, self.coarse_options()))));
        }
        let Some((_, session)) = coarse.as_ref() else { return Ok(None) };
        let answer = session.land(observer, cancel)?;
        Ok(Some(Answer { preview: true, ..answer }))
    }

    /// Lets results go until the rest fits: those first that take least time for their size to make again.
    fn make_room(&self, slots: &mut [Slot], is_needed: impl Fn(usize) -> bool) {
        let mut sizes: Vec<u64> = own_bytes(slots);
        while sizes.iter().sum::<u64>() > self.memory.max_bytes {
            let cost = |j: &usize| slots[*j].seconds / sizes[*j] as f64;
            let least = (0..slots.len())
                .filter(|&j| sizes[j] > 0 && !is_needed(j))
                .min_by(|a, b| cost(a).total_cmp(&cost(b)));
            let Some(least) = least else { break };
            slots[least].land = None;
            sizes = own_bytes(slots);
        }
    }
}

/// Bytes of each kept result that no earlier one holds as well.
pub(crate) fn own_bytes(slots: &[Slot]) -> Vec<u64> {
    let mut seen: Vec<&LayerData> = Vec::new();
    slots
        .iter()
        .map(|slot| {
            let mut bytes = 0;
            for data in slot.land.iter().flat_map(|land| land.layers().values()) {
                if !seen.iter().any(|known| known.same_allocation(data)) {
                    bytes += data.bytes().len() as u64;
                    seen.push(data);
                }
            }
            bytes
        })
        .collect()
}

fn takes(step: &Step, other: usize) -> bool {
    step.input == Some(other) || step.second == Some(other)
}

/// The steps that the last one goes back to, itself included.
fn used(steps: &[Step]) -> Vec<bool> {
    let mut used = vec![false; steps.len()];
    for i in (0..steps.len()).rev() {
        used[i] |= i + 1 == steps.len();
        if used[i] {
            [steps[i].input, steps[i].second].into_iter().flatten().for_each(|j| used[j] = true);
        }
    }
    used
}

/// The steps whose results may change.
fn touched(steps: &[Step], slots: &[Slot]) -> Vec<bool> {
    let mut touched: Vec<bool> = Vec::with_capacity(steps.len());
    for (step, slot) in steps.iter().zip(slots) {
        let before = [step.input, step.second].into_iter().flatten().any(|j| touched[j]);
        touched.push(before || slot.is_touched());
    }
    touched
}

/// The steps that have to be looked at so that the last one holds again.
fn wanted(steps: &[Step], slots: &[Slot]) -> Vec<bool> {
    let touched = touched(steps, slots);
    let mut needed = vec![false; steps.len()];
    if let Some(last) = needed.last_mut() {
        *last = true;
    }
    let mut wanted = vec![false; steps.len()];
    for i in (0..steps.len()).rev() {
        wanted[i] = needed[i] && (touched[i] || slots[i].land.is_none());
        if wanted[i] {
            [steps[i].input, steps[i].second].into_iter().flatten().for_each(|j| needed[j] = true);
        }
    }
    wanted
}

/// The work on one answer.
struct Work<'a> {
    session: &'a Session,
    plan: &'a Plan,
    /// What results are stored under, once one is asked for.
    keys: Option<Vec<Key>>,
    observer: &'a dyn Observer,
    cancel: &'a Cancel,
    count: usize,
    reports: Vec<StepReport>,
}

impl Work<'_> {
    /// Brings a step's result up to date; those that it takes are so already.
    fn renew(&mut self, i: usize, slots: &mut [Slot]) -> Result<(), RunError> {
        let (base, steps) = (self.session.checked.frame(), self.session.checked.steps());
        let step = &steps[i];
        for (which, now) in [step.input, step.second].into_iter().enumerate() {
            let Some(before) = slots[i].took[which].take() else { continue };
            let now = now.and_then(|now| slots[now].land.clone());
            match (before, now) {
                (Some(before), Some(now)) => {
                    let change = Change::between(&before, &now);
                    slots[i].notice(step, &change, which == 1, base);
                }
                _ => slots[i].stale = Region::All,
            }
        }
        let kept = slots[i].land.is_some();
        let region = if kept { self.rounded(step, slots[i].stale) } else { Region::All };
        let change = match region {
            Region::Nothing => self.pass_on(i, slots)?,
            Region::Part(part) => match self.patch(i, slots, part)? {
                Some(change) => change,
                None => self.solve(i, slots)?,
            },
            Region::All => self.solve(i, slots)?,
        };
        let slot = &mut slots[i];
        slot.stale = Region::Nothing;
        slot.passing = Change::default();
        for k in i + 1..steps.len() {
            if steps[k].input == Some(i) && slots[k].took[0].is_none() {
                slots[k].notice(&steps[k], &change, false, base);
            }
            if steps[k].second == Some(i) && slots[k].took[1].is_none() {
                slots[k].notice(&steps[k], &change, true, base);
            }
        }
        Ok(())
    }

    /// What to work out where a region is stale: all of it where parts cannot be pasted, or would take as long.
    fn rounded(&self, step: &Step, region: Region) -> Region {
        let base = self.session.checked.frame();
        let Region::Part(part) = region else { return region };
        let layers = &step.layers;
        let whole = !layers.writes_vectors.is_empty()
            || !layers.writes_instances.is_empty()
            || step.op.reach(base) == Reach::World
            || halo(step, &part, base).len() as f64 > 0.7 * base.len() as f64;
        if whole { Region::All } else { region }
    }

    /// A result whose operator need not run: what it passes on comes from its input.
    fn pass_on(&mut self, i: usize, slots: &mut [Slot]) -> Result<Change, RunError> {
        let step = &self.session.checked.steps()[i];
        let change = std::mem::take(&mut slots[i].passing);
        let (Some(old), Some(input)) = (slots[i].land.take(), step.input) else { return Ok(change) };
        let Some(input) = &slots[input].land else { return Err(missing(step)) };
        let frame = *old.frame();
        let mut parts = old.into_parts();
        share_untouched(&mut parts, input, step);
        slots[i].land = Some(Terrain::from_parts(frame, parts).ok_or_else(|| missing(step))?);
        Ok(change)
    }

    /// Works out a part of a result and pastes it into what was kept. `None` where the whole has to be worked out.
    fn patch(&mut self, i: usize, slots: &mut [Slot], part: Frame) -> Result<Option<Change>, RunError> {
        let step = &self.session.checked.steps()[i];
        let on = halo(step, &part, self.session.checked.frame());
        let reports = self.reports.len();
        let patch = match self.run(i, slots, on, Some(part)) {
            Ok((patch, _)) => patch,
            Err(RunError::Step { .. }) => {
                // A fault may be one of the part alone: the whole says.
                self.reports.truncate(reports);
                return Ok(None);
            }
            Err(other) => return Err(other),
        };
        let (Some(old), Some(at)) = (slots[i].land.take(), self.session.checked.frame().offset_of(&part))
        else {
            return Ok(None);
        };
        let frame = *old.frame();
        let same_parts = parts_of(&old) == parts_of(&patch);
        let mut change = std::mem::take(&mut slots[i].passing);
        let patch = patch.into_parts();
        let mut parts = old.into_parts();
        let mut fits = same_parts && !change.parts;
        for name in &step.layers.writes {
            if let (true, Some(new), Some(whole)) = (fits, patch.layers.get(name), parts.layers.get_mut(name))
            {
                let region = differing(whole, at, new, &part);
                if let Region::Part(differing) = region {
                    let Some((col, row)) = part.offset_of(&differing) else { continue };
                    let new = new.crop(col, row, differing.cols(), differing.rows());
                    fits = whole.paste(at.0 + col, at.1 + row, &new);
                }
                change.note(name, region);
            }
        }
        if let Some(input) = step.input {
            let Some(input) = &slots[input].land else { return Err(missing(step)) };
            share_untouched(&mut parts, input, step);
        }
        // Vectors are whole in every part; one that an operator changed without saying so is left out.
        fits &= parts.vectors.iter().all(|(name, all)| patch.vectors.get(name) == Some(all));
        parts.provenance = patch.provenance;
        // Without a land the step is worked out whole; what it passes on is then found by comparing.
        slots[i].land = Terrain::from_parts(frame, parts).filter(|_| fits);
        if !fits {
            slots[i].stale = Region::All;
        }
        Ok(fits.then_some(change))
    }

    /// Works out a whole result.
    fn solve(&mut self, i: usize, slots: &mut [Slot]) -> Result<Change, RunError> {
        let base = *self.session.checked.frame();
        let step = &self.session.checked.steps()[i];
        let world = step.op.reach(&base) == Reach::World;
        let masked = step.mask.is_some();
        let memory = &self.session.memory;
        let (land, seconds) = match memory.solved(i, masked).filter(|_| world) {
            Some(land) => (land, slots[i].seconds),
            None => match self.stored(i, world)? {
                Some(found) => found,
                None => self.run(i, slots, base, None)?,
            },
        };
        if world {
            memory.keep_solved(i, masked, &land, &step.layers);
        }
        let slot = &mut slots[i];
        slot.seconds = seconds;
        let change = match slot.land.replace(land.clone()) {
            Some(old) => Change::between(&old, &land),
            // What was let go differed from this only where it was stale.
            None => {
                let mut change = std::mem::take(&mut slot.passing);
                change.parts |= slot.stale == Region::All;
                step.layers.writes.iter().for_each(|name| change.note(name, slot.stale));
                let others = step.layers.outputs().filter(|part| !matches!(part, Part::Layer(_)));
                change.others.extend(others.filter(|_| !slot.stale.is_nothing()));
                change
            }
        };
        Ok(change)
    }

    /// What the cache has of a step that reaches the whole world.
    fn stored(&mut self, i: usize, world: bool) -> Result<Option<(Terrain, f64)>, RunError> {
        let Some(key) = self.key(i, world)? else { return Ok(None) };
        let Some(cache) = &self.session.cache else { return Ok(None) };
        let started = Stopwatch::start();
        let Found::Hit(entry) = cache.peek(&key) else { return Ok(None) };
        match cache.load(&key, &entry, self.session.checked.frame()) {
            Found::Hit(land) => Ok(Some((land, started.seconds()))),
            _ => Ok(None),
        }
    }

    /// What a step's whole result is stored under, if it is.
    fn key(&mut self, i: usize, world: bool) -> Result<Option<Key>, RunError> {
        if !world || self.session.cache.is_none() {
            return Ok(None);
        }
        let all = match self.keys.take() {
            Some(all) => all,
            None => {
                let (checked, files) = (&self.session.checked, self.session.files.as_ref());
                keys(checked, self.plan, files, self.session.backend, checked.place(files))?
            }
        };
        let task = self.plan.tasks().iter().position(|task| task.step == i);
        let key = task.and_then(|task| all.get(task).copied());
        self.keys = Some(all);
        Ok(key)
    }

    /// Runs an operator on a part of the frame, cuts its result to a smaller part if need be, and reports it.
    fn run(
        &mut self,
        i: usize,
        slots: &[Slot],
        on: Frame,
        cut_to: Option<Frame>,
    ) -> Result<(Terrain, f64), RunError> {
        let session = self.session;
        let step = &session.checked.steps()[i];
        let base = *session.checked.frame();
        self.observer.step_started(self.reports.len(), self.count, &step.id, step.op.id());
        let started = Stopwatch::start();
        let task = TaskWatch { observer: self.observer, cancel: self.cancel };
        let ctx = Ctx::new(step.seed)
            .in_world(base)
            .at_place(session.checked.place(session.files.as_ref()))
            .on(session.backend)
            .with_files(session.files.as_ref())
            .watched_by(&task);
        let fail = |error: OpError| match error {
            OpError::Cancelled => RunError::Cancelled,
            error => RunError::Step { id: step.id.clone(), op: step.op.id(), error },
        };
        let take = |from: Option<usize>| match from {
            None => Ok(None),
            Some(from) => {
                let land = slots[from].land.as_ref().ok_or_else(|| missing(step))?;
                let part = if on == base { Some(land.clone()) } else { land.crop(&on) };
                part.map(Some).ok_or_else(|| missing(step))
            }
        };
        let ready = caught(|| session.operators.get(&session.checked, i, &ctx)).map_err(fail)?;
        let second = take(step.second)?;
        let ctx = ctx.with_second(second.as_ref());
        let input = take(step.input)?.unwrap_or_else(|| Terrain::new(on));
        let masked = step.mask.is_some();
        let land = apply(step, ready, input, masked, &ctx).map_err(fail)?;
        let frame = cut_to.unwrap_or(on);
        let land = cut(land, &frame).map_err(fail)?;
        if self.cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let (warnings, figures) = (ctx.take_warnings(), ctx.take_figures());
        let seconds = started.seconds();
        let world = frame == base && step.op.reach(&base) == Reach::World;
        if let Some(key) = self.key(i, world)?
            && let Some(cache) = &session.cache
            && cache.store(&key, &land, seconds, (&warnings, &figures), self.cancel).is_err()
            && self.cancel.is_cancelled()
        {
            return Err(RunError::Cancelled);
        }
        let report = StepReport {
            id: step.id.clone(),
            op: step.op.id(),
            frame,
            seconds,
            peak_bytes: None,
            cached: false,
            warnings,
            figures,
        };
        report.warnings.iter().for_each(|warning| {
            self.observer.warning(&format!("step {:?}: {warning}", step.id));
        });
        self.observer.step_finished(&report);
        self.reports.push(report);
        Ok((land, seconds))
    }
}

/// Takes all that a step does not write from its input as it is now.
fn share_untouched(parts: &mut Parts, input: &Terrain, step: &Step) {
    let written: BTreeSet<Part> = step.layers.outputs().collect();
    for (name, data) in &mut parts.layers {
        if let (false, Some(now)) = (step.layers.writes.contains(name), input.layers().get(name)) {
            *data = now.clone();
        }
    }
    for (name, vectors) in &mut parts.vectors {
        if let (false, Some(now)) =
            (written.contains(&Part::Vectors(name.clone())), input.vectors().get(name))
        {
            *vectors = now.clone();
        }
    }
    for (name, instances) in &mut parts.instances {
        let part = Part::Instances(name.clone());
        if let (false, Some(now)) = (written.contains(&part), input.instances().get(name)) {
            *instances = now.clone();
        }
    }
}

fn missing(step: &Step) -> RunError {
    RunError::Internal(format!("what step {:?} takes is missing", step.id))
}
