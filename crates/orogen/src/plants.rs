//! The plants of a window: a build keeps how dense they are, and makes them where somebody looks.

use std::collections::BTreeSet;

use orogen_core::instances::{Instance, Instances};
use orogen_core::{
    Cancel, Ctx, Frame, LayerName, Op as _, OpError, Part, Reach, Rect, Terrain, Watch, layer,
};
use orogen_ops::cover::rules::reach_m;
use orogen_ops::cover::scatter::stand::Standing;
use orogen_ops::cover::scatter::{self, PLANTS, Scatter};
use orogen_ops::cover::species::{Plant, Species};
use orogen_ops::cover::survival::{self, Survival};
use orogen_recipe::{Checked, Recipe, Session, Step};

use crate::error::BuildError;
use crate::session::tile_parts;

/// Places are whole millimetres: what stands this near beyond an edge may be rounded onto it.
const ROUNDED_M: f64 = 0.002;

/// The plants of a rectangle of a session over a recipe, with the heights of its own lattice. They are made from the
/// densities that the steps `cover.scatter` and `cover.survival` wrote, on the recipe's own samples, so they are the same however near one looks;
/// plants that a step keeps are among them.
///
/// # Errors
/// When no step of the recipe lets plants grow, when there are too many, when a step fails, and when cancelled.
pub fn plants(
    session: &Session,
    recipe: &Recipe,
    rect: &Rect,
    cancel: &Cancel,
) -> Result<Instances, BuildError> {
    let land = |frame: Frame, parts: &BTreeSet<Part>| tile_parts(session, recipe, frame, parts, cancel);
    plants_of(session.checked(), rect, cancel, land)
}

/// As [`plants`], from land that `land` gives: these parts on these samples.
pub(crate) fn plants_of(
    checked: &Checked,
    rect: &Rect,
    cancel: &Cancel,
    land: impl Fn(Frame, &BTreeSet<Part>) -> Result<Terrain, BuildError>,
) -> Result<Instances, BuildError> {
    refuse_bare(checked)?;
    let wide = rect.grown([ROUNDED_M; 2]);
    // What stands decides about what later steps plant beside it, so earlier steps are looked at a little further out.
    let widest = all_plants(checked).map(|plant| plant.radius_m).fold(0.0, f64::max);
    let steps = growing(checked).count();
    let looked_at = |later: usize| wide.grown([later as f64 * 2.0 * TRUNK * widest; 2]);
    let mut trunks = Trunks::new(2.0 * TRUNK * widest);
    let mut all = Gathered::default();
    if let Some(frame) = kept(checked).then(|| around(checked, &looked_at(steps), 0.0)).flatten() {
        let name = LayerName::fixed(PLANTS);
        let terrain = land(frame, &BTreeSet::from([Part::Instances(name.clone())]))?;
        if let Some(found) = terrain.instances().get(&name) {
            let radii: Vec<f64> = found.species().iter().map(|name| radius_of(name)).collect();
            trunks.add(found.iter().map(|(place, thing)| (place, radii[usize::from(thing.species)])));
            all.add(found.species().to_vec(), found.iter().map(|(place, thing)| (place, *thing)));
        }
    }
    for (turn, (i, step, grows)) in growing(checked).enumerate() {
        let reach = grows.reach_m(checked.frame());
        let seen = looked_at(steps - 1 - turn);
        let Some(frame) = around(checked, &seen, reach) else { continue };
        let terrain = land(frame, &parts_of(checked, step, grows))?;
        let watch = Switch(cancel);
        let ctx = Ctx::new(step.seed).in_world(*checked.frame()).at_place(terrain.place()).watched_by(&watch);
        let failed = |e: &dyn std::fmt::Display| {
            BuildError::Run(format!("step {:?} ({}): {e}", step.id, step.op.id()))
        };
        let found = grows.standing(&terrain, &seen, &ctx);
        if cancel.is_cancelled() {
            return Err(BuildError::Cancelled);
        }
        let names = grows.species();
        let radii: Vec<f64> = grows.plants().iter().map(|plant| plant.radius_m).collect();
        let own: Vec<bool> = names.iter().map(|name| !made_later(checked, i, name)).collect();
        let mut found = found.map_err(|e| failed(&e))?;
        found.retain(|(place, thing)| {
            let species = usize::from(thing.species);
            own[species] && trunks.leave_room(*place, radii[species])
        });
        if turn + 1 < steps {
            trunks.add(found.iter().map(|(place, thing)| (*place, radii[usize::from(thing.species)])));
        }
        all.add(names, found.into_iter());
    }
    let mut made =
        Instances::new(all.species, all.things).map_err(|e| BuildError::Run(e.to_string()))?.crop(rect);
    if let Some(frame) = around(checked, &wide, 0.0) {
        let terrain = land(frame, &BTreeSet::from([Part::Layer(layer::HEIGHT.name())]))?;
        if let Ok(height) = terrain.get(layer::HEIGHT) {
            made.set_ground(&frame, height);
        }
    }
    Ok(made)
}

/// Whether anything grows on the land of a recipe.
#[must_use]
pub fn has_plants(checked: &Checked) -> bool {
    refuse_bare(checked).is_ok()
}

/// A sentence for a recipe in which nothing grows.
pub(crate) fn refuse_bare(checked: &Checked) -> Result<(), BuildError> {
    if kept(checked) || growing(checked).next().is_some() {
        return Ok(());
    }
    Err(BuildError::Call(String::from(
        "no plants here: no step cover.scatter or cover.survival of this recipe lets any grow",
    )))
}

/// The species that the steps of a recipe may let grow.
pub(crate) fn species(checked: &Checked) -> Vec<String> {
    let mut names: Vec<String> = all_plants(checked).map(|plant| plant.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What the steps of a recipe may let grow, each as its step has it.
fn all_plants(checked: &Checked) -> impl Iterator<Item = Plant> {
    checked.steps().iter().flat_map(|step| {
        let op = step.op.as_any();
        let scattered = op.downcast_ref::<Scatter>().map(Scatter::all);
        scattered.or_else(|| op.downcast_ref::<Survival>().map(Survival::plants)).unwrap_or_default()
    })
}

#[derive(Default)]
struct Gathered {
    species: Vec<String>,
    things: Vec<([f64; 2], Instance)>,
}

impl Gathered {
    fn add(&mut self, species: Vec<String>, things: impl Iterator<Item = ([f64; 2], Instance)>) {
        // A recipe has some hundred steps of at most 256 species. Each is listed once.
        let numbers: Vec<u16> = species
            .into_iter()
            .map(|name| {
                let known = self.species.iter().position(|other| *other == name);
                known.unwrap_or_else(|| {
                    self.species.push(name);
                    self.species.len() - 1
                }) as u16
            })
            .collect();
        let numbered = |(place, thing): ([f64; 2], Instance)| {
            (place, Instance { species: numbers[usize::from(thing.species)], ..thing })
        };
        self.things.extend(things.map(numbered));
    }
}

/// The room that a trunk takes, as a share of the radius of the grown crown: the same from which plants keep away from banks.
const TRUNK: f64 = 0.1;

/// The trunks of earlier steps: what a later step would put upon them does not stand.
struct Trunks {
    /// As near as the two largest trunks may come.
    side_m: f64,
    /// By cells of that side, row by row: each with its place and the radius of its crown.
    standing: Vec<([i64; 2], [f64; 2], f64)>,
}

impl Trunks {
    fn new(side_m: f64) -> Self {
        Self { side_m: side_m.max(0.01), standing: Vec::new() }
    }

    fn cell(&self, place: [f64; 2]) -> [i64; 2] {
        // Row first.
        [1, 0].map(|axis| (place[axis] / self.side_m).floor() as i64)
    }

    fn add(&mut self, plants: impl Iterator<Item = ([f64; 2], f64)>) {
        let mut added: Vec<_> = plants.map(|(place, radius_m)| (self.cell(place), place, radius_m)).collect();
        self.standing.append(&mut added);
        self.standing.sort_by_key(|a| a.0);
    }

    /// Whether a plant at a place stands on no other's trunk.
    fn leave_room(&self, place: [f64; 2], radius_m: f64) -> bool {
        let [row, col] = self.cell(place);
        (row - 1..=row + 1).all(|row| {
            let from = self.standing.partition_point(|(cell, ..)| *cell < [row, col - 1]);
            let near = self.standing[from..].iter().take_while(|(cell, ..)| *cell <= [row, col + 1]);
            near.map(|(_, other, theirs)| (other, TRUNK * (radius_m + theirs))).all(|(other, least)| {
                let [dx, dy] = [0, 1].map(|axis| other[axis] - place[axis]);
                dx * dx + dy * dy >= least * least
            })
        })
    }
}

/// The radius of a grown crown of a species that a step keeps.
fn radius_of(name: &str) -> f64 {
    Species::named(name).plant().radius_m
}

/// Whether the land keeps plants that no scatter makes on request.
fn kept(checked: &Checked) -> bool {
    let plants = Part::Instances(LayerName::fixed(PLANTS));
    let last = checked.steps().iter().rev().find(|step| step.layers.outputs().any(|part| part == plants));
    checked.instances().contains(&LayerName::fixed(PLANTS))
        && last.is_some_and(|step| step.op.as_any().downcast_ref::<Scatter>().is_none())
}

/// A step whose plants are made on request.
#[derive(Clone, Copy)]
enum Grows<'a> {
    Scattered(&'a Scatter),
    /// A forest too large to keep every plant.
    Survived(&'a Survival),
}

impl Grows<'_> {
    fn plants(self) -> Vec<Plant> {
        match self {
            Self::Scattered(scatter) => scatter.all(),
            Self::Survived(survival) => survival.plants(),
        }
    }

    fn species(self) -> Vec<String> {
        self.plants().into_iter().map(|plant| plant.name).collect()
    }

    /// The layers that its plants are made from.
    fn densities(self) -> Vec<LayerName> {
        match self {
            Self::Scattered(_) => {
                let names = self.species();
                names.iter().filter_map(|name| LayerName::parse(&format!("density.{name}"))).collect()
            }
            Self::Survived(survival) => survival.densities().collect(),
        }
    }

    /// How far around a rectangle its plants depend on anything.
    fn reach_m(self, frame: &Frame) -> f64 {
        match self {
            Self::Scattered(scatter) => {
                scatter::reach_of_plants_m(scatter) + reach_of_rules_m(scatter, frame)
            }
            Self::Survived(survival) => {
                let plants = survival.plants();
                let limits = plants.iter().flat_map(|plant| &plant.limits);
                survival::reach_of_plants_m(survival) + reach_m(limits, frame)
            }
        }
    }

    fn standing(self, land: &Terrain, rect: &Rect, ctx: &Ctx<'_>) -> Result<Vec<Standing>, OpError> {
        match self {
            Self::Scattered(scatter) => scatter::standing(scatter, land, rect, ctx),
            Self::Survived(survival) => survival::standing(survival, land, rect, ctx),
        }
    }
}

/// The steps that let plants grow whose densities are still there at the end, with their numbers.
fn growing(checked: &Checked) -> impl Iterator<Item = (usize, &Step, Grows<'_>)> {
    let layers = checked.layers();
    checked.steps().iter().enumerate().filter_map(move |(i, step)| {
        let grows = if let Some(scatter) = step.op.as_any().downcast_ref::<Scatter>() {
            Grows::Scattered(scatter)
        } else {
            let survival = step.op.as_any().downcast_ref::<Survival>()?;
            (survival.each(checked.frame()) > 1.0).then_some(Grows::Survived(survival))?
        };
        let there = grows.densities().iter().all(|name| layers.contains(name));
        (there && !grows.species().is_empty()).then_some((i, step, grows))
    })
}

/// Whether a later step lets a species grow again: then its density is that step's.
fn made_later(checked: &Checked, step: usize, species: &str) -> bool {
    growing(checked).any(|(i, _, grows)| i > step && grows.species().iter().any(|name| name == species))
}

/// What a step's plants are made from, as far as the finished land has it.
fn parts_of(checked: &Checked, step: &Step, grows: Grows<'_>) -> BTreeSet<Part> {
    let (layers, vectors) = (checked.layers(), checked.vectors());
    let there = |part: &Part| match part {
        Part::Layer(name) => layers.contains(name),
        Part::Vectors(name) => vectors.contains(name),
        Part::Instances(_) => false,
    };
    let densities = grows.densities().into_iter().map(Part::Layer);
    step.there.iter().cloned().chain(densities).filter(there).collect()
}

fn reach_of_rules_m(scatter: &Scatter, frame: &Frame) -> f64 {
    match (Scatter { plants: false, ..scatter.clone() }).reach(frame) {
        Reach::Within(reach) => reach,
        _ => 0.0,
    }
}

/// The recipe's own samples around a rectangle, two more on each side; `None` where it lies outside the land.
fn around(checked: &Checked, rect: &Rect, reach_m: f64) -> Option<Frame> {
    let frame = checked.frame();
    let [dx, dy] = frame.spacing_m();
    rect.intersection(&frame.extent())?;
    // Beyond the edge of a loop lies its other end.
    if frame.loops() {
        return Some(*frame);
    }
    frame.clipped(&rect.grown([reach_m + 2.0 * dx, reach_m + 2.0 * dy]))
}

struct Switch<'a>(&'a Cancel);

impl Watch for Switch<'_> {
    fn progress(&self, _: f32) {}

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
