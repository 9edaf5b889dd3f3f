//! The two stages: what was drawn, then what fills the land in between.

use orogen_core::{Ctx, Op, OpError, Raster, Seed, Terrain, layer, math};

use super::Sketch;
use super::density::{Crowd, KINDS, Kind, Spot, Tree};
use super::drawn::{Canvas, Item};
use super::ground::{Patch, Range, as_high_as, best, darts, fractal, hills, rounded, settle};
use super::joints::parted;
use super::lattice::{Component, Lattice, label, rings, simplify_ring, soften};
use super::list::named;
use super::network::Network;
use super::water::{self, Heights, Land, Stream};
use crate::shape::features::{DuneField, Feature, Features, Lake, Plateau};

/// Shapes of a kind that are taken at most.
const MOST: usize = 500;

/// What a sketch has become.
#[derive(Default)]
pub(super) struct Plan {
    /// In the order in which they act, with names, and whether they were drawn.
    pub features: Vec<(Feature, bool)>,
    /// Outlines of forests, in metres.
    pub forest: Vec<Vec<[f64; 2]>>,
    pub notes: Vec<String>,
}

/// A shape to work on.
struct Area {
    patch: Patch,
    item: Item,
    drawn: bool,
}

impl Area {
    fn called(&self, kind: Kind, lattice: &Lattice) -> String {
        let middle = self.patch.outline(lattice).map_or([0.0; 2], |(at, _, _)| at);
        match &self.item.name {
            Some(name) => format!("{} {name:?}", kind.word()),
            None => format!("the {} at {:.0}, {:.0}", kind.word(), middle[0], middle[1]),
        }
    }
}

/// Works a drawing out.
pub(super) fn plan(
    sketch: &Sketch,
    lattice: &Lattice,
    canvas: &Canvas,
    base: &Raster<f32>,
    own_seed: &str,
    ctx: &Ctx<'_>,
) -> Result<Plan, OpError> {
    let mut plan = Plan::default();
    let notes = &mut plan.notes;
    let drawing = Drawing::new(sketch, lattice, canvas, base, Seed::from_text(own_seed), notes);
    ctx.tick(2, 20)?;

    // Stage one for what has an outline.
    let mut crowd = Crowd::new(&sketch.rules);
    let (mut mountains, mut lakes) = (drawing.areas(Kind::Mountain), drawing.areas(Kind::Lake));
    let (plains, dunes) = (drawing.areas(Kind::Plain), drawing.areas(Kind::Dune));
    ctx.tick(3, 20)?;
    for (kind, areas) in [(Kind::Lake, &lakes), (Kind::Plain, &plains), (Kind::Dune, &dunes)] {
        for area in areas {
            if let Some((at, radius, _)) = area.patch.outline(lattice) {
                crowd.placed[kind as usize].push(Spot { at, size: radius });
            }
        }
    }
    let streams = drawing.streams(&mut crowd, notes);
    ctx.tick(4, 20)?;
    drawing.fill_with_mountains(&mut mountains, &mut crowd);
    let (streams, clearance) = drawing.cross(streams, &mountains, notes);
    ctx.tick(5, 20)?;

    let mut ground = Ground::default();
    drawing.lay_plains(&plains, &mut ground);
    drawing.raise_mountains(&mountains, &clearance, &mut crowd, &mut ground, ctx)?;
    drawing.raise_hills(&clearance, &mut crowd, &mut ground);
    drawing.lay_dunes(&dunes, &mut ground);
    ctx.tick(7, 20)?;
    let (ground, coarse) = drawing.ground_so_far(ground, own_seed, ctx)?;
    let height = coarse.get(layer::HEIGHT)?;
    ctx.tick(9, 20)?;

    drawing.fill_with_lakes(&mut lakes, height, &clearance, &mut crowd);
    let Shores { lake_of, levels, rises } = drawing.shores(&lakes, height, notes);
    ctx.tick(10, 20)?;

    // Rivers: those drawn, the longest first, then those that fill.
    let mut land = Land::new(lattice, height, &lake_of, levels);
    let springs = drawing.springs(height, &lake_of, &mut crowd);
    let before = land.levels.clone();
    let mut network = Network::new(streams, &land, notes);
    ctx.tick(11, 20)?;
    network.run_on(springs, &land, drawing.seed.child("course"), notes);
    network.fall(&mut land);
    for ((area, before), now) in lakes.iter().zip(before).zip(&land.levels) {
        if area.drawn && before - now > 5.0 {
            notes.push(format!(
                "{} lies {:.0} m below its shores, because a river that flows into it comes from lower ground",
                area.called(Kind::Lake, lattice),
                before - now
            ));
        }
    }
    let rivers = land.rivers(&network, sketch.valley_deg);
    ctx.tick(12, 20)?;

    let mut wet = drawing.lake_features(&lakes, &land.levels, &rises);
    wet.extend(rivers);
    plan.features = ground;
    plan.features.extend(named(wet));
    plan.forest = drawing.forest(height, &lake_of, &crowd);
    ctx.tick(13, 20)?;
    Ok(plan)
}

/// A feature, its name, and whether it was drawn.
type Placed = (Feature, Option<String>, bool);

/// What was drawn, sorted out: all that the stages read.
struct Drawing<'a> {
    sketch: &'a Sketch,
    lattice: &'a Lattice,
    canvas: &'a Canvas,
    base: &'a Raster<f32>,
    seed: Seed,
    /// Numbers of the drawings in each cell, by kind, without contradictions.
    layers: [Vec<u32>; KINDS],
    shapes: [Vec<Component>; KINDS],
    /// Cells of land, and of those the ones on which nothing is drawn.
    land: Vec<usize>,
    free: Vec<usize>,
}

/// Dry features in the order in which they act.
#[derive(Default)]
struct Ground {
    features: Vec<Placed>,
    /// Features that stand on each other, by their numbers, and how high they are together.
    tops: Vec<(std::ops::Range<usize>, f64)>,
}

impl Ground {
    /// Adds features that are so high together.
    fn extend(&mut self, features: impl IntoIterator<Item = Placed>, height: f64) {
        let first = self.features.len();
        self.features.extend(features);
        self.tops.push((first..self.features.len(), height));
    }
}

/// Where peaks may stand: off the passes that rivers need, and not in lakes.
struct Clearance<'a> {
    passes: Tree,
    widest: f64,
    lakes: &'a [u32],
    lattice: &'a Lattice,
}

impl Clearance<'_> {
    fn allows(&self, p: [f64; 2]) -> bool {
        let mut clear = true;
        self.passes.near(p, self.widest, |spot, distance| clear &= distance >= spot.size);
        clear && self.lattice.cell_at(p).is_some_and(|cell| self.lakes[cell] == 0)
    }
}

/// Lakes on the ground: the number of the lake in each cell, counted from 1, levels, and how far the land round them rises.
struct Shores {
    lake_of: Vec<u32>,
    levels: Vec<f64>,
    rises: Vec<f64>,
}

/// What is given, or else what is usual.
fn given_or(given: f64, usual: f64) -> f64 {
    if given > 0.0 { given } else { usual }
}

impl<'a> Drawing<'a> {
    fn new(
        sketch: &'a Sketch,
        lattice: &'a Lattice,
        canvas: &'a Canvas,
        base: &'a Raster<f32>,
        seed: Seed,
        notes: &mut Vec<String>,
    ) -> Self {
        let layers = untangled(canvas, lattice, notes);
        let mut shapes: [Vec<Component>; KINDS] = Default::default();
        for kind in Kind::ALL {
            shapes[kind as usize] = components(kind, &layers[kind as usize], lattice, notes);
        }
        let land: Vec<usize> = (0..lattice.len()).filter(|cell| base.as_slice()[*cell] >= 0.0).collect();
        let free = land.iter().copied().filter(|cell| layers.iter().all(|layer| layer[*cell] == 0)).collect();
        Self { sketch, lattice, canvas, base, seed, layers, shapes, land, free }
    }

    fn size_m(&self, kind: Kind) -> f64 {
        self.sketch.size_m(kind, self.lattice)
    }

    /// Undrawn land, in square metres.
    fn free_m2(&self) -> f64 {
        self.free.len() as f64 * self.lattice.cell * self.lattice.cell
    }

    /// The share of a kind that is filled in: a drawn kind only as far as the drawing is loose.
    fn fill(&self, kind: Kind, share: f64) -> f64 {
        let drawn = !self.shapes[kind as usize].is_empty()
            || (kind == Kind::River && !self.canvas.courses.is_empty());
        share * if drawn { 1.0 - self.sketch.fidelity } else { 1.0 }
    }

    /// How much of a cell belongs to a shape: nothing is known where another shape is drawn or takes its place.
    fn cover(&self, kind: Kind, item: u32) -> impl Fn(usize) -> Option<f32> + '_ {
        let (now, drawn, cover) = (
            &self.layers[kind as usize],
            &self.canvas.layers[kind as usize],
            &self.canvas.cover[kind as usize],
        );
        move |cell: usize| {
            let own = now[cell] == drawn[cell] && (now[cell] == 0 || now[cell] == item);
            own.then(|| f32::from(cover[cell]) / 255.0)
        }
    }

    /// The shapes of a kind that were drawn.
    fn areas(&self, kind: Kind) -> Vec<Area> {
        let seed = self.seed.child(kind.word());
        let area = |component: &Component| Area {
            patch: Patch::drawn(
                component,
                self.lattice,
                self.sketch.fidelity,
                seed,
                self.cover(kind, component.item),
            ),
            item: wanted(component, &self.shapes[kind as usize], &self.canvas.items),
            drawn: true,
        };
        self.shapes[kind as usize].iter().map(area).collect()
    }

    /// Random places in some cells.
    fn dart<'c>(
        &'c self,
        cells: &'c [usize],
        seed: Seed,
        number: u64,
        tries: u64,
    ) -> impl Iterator<Item = [f64; 2]> + 'c {
        (0..tries).filter_map(move |i| {
            let k = (u128::from(seed.bits(number * 64 + i)) * cells.len() as u128) >> 64;
            cells.get(k as usize).map(|cell| self.lattice.place(*cell))
        })
    }

    /// Rivers as drawn, and what they meet.
    fn streams(&self, crowd: &mut Crowd, notes: &mut Vec<String>) -> Vec<Stream> {
        let (lattice, canvas, fidelity) = (self.lattice, self.canvas, self.sketch.fidelity);
        let mut streams = water::courses(&canvas.courses, lattice, self.size_m(Kind::River));
        for (i, component) in self.shapes[Kind::River as usize].iter().enumerate() {
            let item = canvas.items.get(component.item as usize - 1).cloned().unwrap_or_default();
            let number = (canvas.courses.len() + i) as u32;
            streams.extend(water::middle_lines(component, &item, lattice, number));
        }
        streams.truncate(MOST);
        let mut streams = parted(streams, lattice);
        let widest_m = 0.04 * lattice.frame.size_m()[0].max(lattice.frame.size_m()[1]);
        for stream in &mut streams {
            if stream.width > widest_m {
                notes.push(format!(
                    "{} is drawn {:.0} m wide; {widest_m:.0} m is used, the widest a river may be here",
                    stream.called(),
                    stream.width
                ));
                stream.width = widest_m;
            }
            stream.loosen(fidelity, lattice, self.seed.child("meander"));
            for p in stream.points.iter().step_by(4) {
                crowd.placed[Kind::River as usize].push(Spot { at: *p, size: 4.0 * stream.width });
            }
        }
        if fidelity < 1.0 {
            // Courses that have swung may meet elsewhere.
            streams = parted(streams, lattice);
        }
        water::mark_meetings(&mut streams);
        streams
    }

    /// Mountains fill undrawn land as ranges of their own.
    fn fill_with_mountains(&self, mountains: &mut Vec<Area>, crowd: &mut Crowd) {
        let (lattice, range_m) = (self.lattice, self.size_m(Kind::Mountain));
        let seed = self.seed.child("range");
        let each_m2 = std::f64::consts::PI * 2.4 * range_m * 1.1 * range_m;
        let share = self.fill(Kind::Mountain, self.sketch.fill_mountain_pct / 100.0);
        let count = (share * self.free_m2() / each_m2).round().min(MOST as f64);
        // Mountains that are drawn stand there before any other, so the others keep off them.
        let mut filling = crowd.clone();
        for area in mountains.iter() {
            let step = (range_m / lattice.cell).max(1.0) as usize;
            for at in area.patch.spread(step, lattice) {
                filling.placed[Kind::Mountain as usize].push(Spot { at, size: range_m });
            }
        }
        let is_drawn = |p: [f64; 2]| {
            let solid = |kind: &Kind| !matches!(kind, Kind::Forest | Kind::River);
            lattice.cell_at(p).is_some_and(|cell| {
                Kind::ALL.iter().filter(|kind| solid(kind)).any(|kind| self.layers[*kind as usize][cell] != 0)
            })
        };
        for i in 0..count as u64 {
            let own_seed = Seed(seed.bits(i));
            let radii = [range_m * (1.6 + 1.6 * own_seed.unit(1)), range_m * (0.8 + 0.6 * own_seed.unit(2))];
            let turn = std::f64::consts::PI * own_seed.unit(3);
            let (c, s) = (math::cos(turn), math::sin(turn));
            // Share of the outline that would lie on something drawn.
            let over = |p: [f64; 2]| {
                let corner = |k: u32| {
                    let way = std::f64::consts::TAU * f64::from(k) / 16.0;
                    let (u, v) = (1.2 * radii[0] * math::cos(way), 1.2 * radii[1] * math::sin(way));
                    [p[0] + u * c - v * s, p[1] + u * s + v * c]
                };
                (0..16).filter(|k| is_drawn(corner(*k))).count() as f64 / 16.0
            };
            let found = best(self.dart(&self.free, seed, i, 24), |p| {
                filling.likes(Kind::Mountain, p, 1.6 * range_m) - 4.0 * over(p)
            });
            let Some(at) = found else { break };
            let patch = Patch::ellipse(at, radii, turn, lattice, own_seed);
            crowd.placed[Kind::Mountain as usize].push(Spot { at, size: 1.6 * range_m });
            filling.placed[Kind::Mountain as usize].push(Spot { at, size: 1.6 * range_m });
            mountains.push(Area { patch, item: Item::default(), drawn: false });
        }
    }

    /// Rivers where they meet mountains: what becomes of them, and the ground that peaks keep clear for them.
    fn cross(
        &self,
        streams: Vec<Stream>,
        mountains: &[Area],
        notes: &mut Vec<String>,
    ) -> (Vec<Stream>, Clearance<'_>) {
        let lattice = self.lattice;
        let mut owner = vec![0u32; lattice.len()];
        let mut depth = vec![0.0f32; lattice.len()];
        for (i, area) in mountains.iter().enumerate().filter(|(_, area)| area.drawn) {
            for k in (0..area.patch.field.len()).filter(|k| area.patch.field[*k] > 0.0) {
                if let Some(cell) = area.patch.cell(k, lattice) {
                    owner[cell] = i as u32 + 1;
                    depth[cell] = area.patch.field[k];
                }
            }
        }
        let names: Vec<(String, f32)> = mountains
            .iter()
            .map(|area| (area.called(Kind::Mountain, lattice), area.patch.deepest()))
            .collect();
        let heights = Heights { owner: &owner, depth: &depth, ranges: &names };
        let decided = water::decide(streams, self.sketch.crossing, &heights, lattice);
        notes.extend(decided.notes);
        let mut passes = Tree::default();
        let widest = decided.passes.iter().map(|(_, wide)| *wide).fold(0.0, f64::max);
        decided.passes.iter().for_each(|(at, wide)| passes.push(Spot { at: *at, size: *wide }));
        let lakes = &self.layers[Kind::Lake as usize];
        (decided.streams, Clearance { passes, widest, lakes, lattice })
    }

    /// Plains lie at the height of the land.
    fn lay_plains(&self, plains: &[Area], ground: &mut Ground) {
        let lattice = self.lattice;
        for area in plains {
            if let Some((at, radius, outline)) = area.patch.outline(lattice) {
                let mut heights: Vec<f32> =
                    area.patch.cells(lattice).map(|cell| self.base.as_slice()[cell]).collect();
                heights.sort_by(f32::total_cmp);
                let level = heights.get(heights.len() / 2).copied().unwrap_or(0.0);
                let mut plain = Plateau::new(at, radius, rounded(f64::from(level), 0.1));
                let deepest = f64::from(area.patch.deepest()) * lattice.cell;
                plain.edge = rounded((0.7 * deepest / radius).clamp(0.01, 1.0), 1e-3);
                plain.strength = 0.92;
                plain.outline = outline;
                ground.features.push((plain.into(), area.item.name.clone(), true));
            }
        }
    }

    /// Mountains: darts, places, features.
    fn raise_mountains(
        &self,
        mountains: &[Area],
        clearance: &Clearance<'_>,
        crowd: &mut Crowd,
        ground: &mut Ground,
        ctx: &Ctx<'_>,
    ) -> Result<(), OpError> {
        let (lattice, seed) = (self.lattice, self.seed);
        let may = |p: [f64; 2]| clearance.allows(p);
        for area in mountains {
            let size = area.item.size_m.unwrap_or(self.size_m(Kind::Mountain)).max(lattice.cell);
            let height = area.item.height_m.unwrap_or(given_or(self.sketch.mountain_height_m, 0.6 * size));
            let deepest = f64::from(area.patch.deepest()) * lattice.cell;
            let size = size.min(1.6 * deepest);
            let spots = darts(&area.patch, lattice, area.item.number, size, seed.child("peaks"), may);
            let loose = if area.drawn { self.sketch.fidelity } else { 1.0 };
            let peaks = settle(spots, Kind::Mountain, loose, crowd, seed.child("settle"), may);
            let range = Range { patch: &area.patch, item: &area.item, peaks, height, size, seed };
            let straight = |a: [f64; 2], b: [f64; 2]| {
                (0..=12).all(|i| {
                    let t = f64::from(i) / 12.0;
                    may([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])])
                })
            };
            let features = range.features(lattice, straight).into_iter();
            ground.extend(features.map(|feature| (feature, range.item.name.clone(), area.drawn)), height);
            ctx.tick(6, 20)?;
        }
        Ok(())
    }

    /// Hills: those drawn, then those that fill.
    fn raise_hills(&self, clearance: &Clearance<'_>, crowd: &mut Crowd, ground: &mut Ground) {
        let (lattice, fidelity) = (self.lattice, self.sketch.fidelity);
        let may = |p: [f64; 2]| clearance.allows(p);
        let hill_m = self.size_m(Kind::Hill);
        let seed = self.seed.child("hill");
        let drawn = &self.shapes[Kind::Hill as usize];
        for component in drawn {
            let item = wanted(component, drawn, &self.canvas.items);
            let cover = self.cover(Kind::Hill, component.item);
            let patch = Patch::drawn(component, lattice, fidelity, seed, cover);
            let size = item.size_m.unwrap_or(hill_m).max(lattice.cell);
            let height = item.height_m.unwrap_or(given_or(self.sketch.hill_height_m, size / 6.0));
            let spots = darts(&patch, lattice, item.number, size, seed, may);
            let spots = settle(spots, Kind::Hill, fidelity, crowd, seed, may);
            ground.extend(
                hills(&spots, height, size, seed).map(|hill| (hill, item.name.clone(), true)),
                height,
            );
        }
        let share = self.fill(Kind::Hill, self.sketch.fill_hill_pct / 100.0);
        let count = share * self.free_m2() / (std::f64::consts::PI * hill_m * hill_m);
        let mut spots = Vec::new();
        for i in 0..count.round().min(2000.0) as u64 {
            let size = hill_m * (0.6 + 0.8 * seed.unit(1_000_000 + i));
            let darts = self.dart(&self.free, seed, i, 16).filter(|p| may(*p));
            let Some(at) = best(darts, |p| crowd.likes(Kind::Hill, p, size)) else { continue };
            crowd.placed[Kind::Hill as usize].push(Spot { at, size });
            spots.push(Spot { at, size });
        }
        let height = given_or(self.sketch.hill_height_m, hill_m / 6.0);
        ground.extend(hills(&spots, height, hill_m, seed).map(|hill| (hill, None, false)), height);
    }

    fn lay_dunes(&self, dunes: &[Area], ground: &mut Ground) {
        let lattice = self.lattice;
        for area in dunes {
            let Some((at, radius, outline)) = area.patch.outline(lattice) else { continue };
            let spacing = area.item.size_m.unwrap_or(self.size_m(Kind::Dune)).max(lattice.cell);
            let height = area.item.height_m.unwrap_or(given_or(self.sketch.dune_height_m, 0.1 * spacing));
            let mut field = DuneField::new(at, radius, rounded(height, 0.01));
            field.spacing_m = rounded(spacing, 0.01);
            field.wind_deg = self.sketch.wind_deg;
            let deepest = f64::from(area.patch.deepest()) * lattice.cell;
            field.edge_m = rounded((1.5 * spacing).min(0.5 * deepest), 0.01).max(0.01);
            field.outline = outline;
            ground.extend([(field.into(), area.item.name.clone(), true)], height);
        }
    }

    /// The dry features, as high together as they should be, and the land that they make on the lattice.
    fn ground_so_far(
        &self,
        ground: Ground,
        own_seed: &str,
        ctx: &Ctx<'_>,
    ) -> Result<(Vec<(Feature, bool)>, Terrain), OpError> {
        let mut coarse = Terrain::new(self.lattice.frame);
        coarse.set(layer::HEIGHT, self.base.clone());
        let mut features: Vec<(Feature, bool)> = named(ground.features);
        for (range, height) in ground.tops {
            let mut group: Vec<Feature> = features[range.clone()].iter().map(|(f, _)| f.clone()).collect();
            as_high_as(&mut group, height, self.lattice, own_seed)?;
            features[range].iter_mut().zip(group).for_each(|((old, _), new)| *old = new);
            ctx.tick(8, 20)?;
        }
        let so_far = features.iter().map(|(feature, _)| feature.clone()).collect();
        let so_far = Features { features: so_far, seed: own_seed.to_owned(), ..Features::default() };
        Ok((features, Op::run(&so_far, coarse, &Ctx::new(Seed(0)))?))
    }

    /// Height of a place as a share of the relief.
    fn share_of_relief(&self, height: &Raster<f32>, p: [f64; 2], (low, high): (f32, f32)) -> f64 {
        (self.lattice.at(height, p) - f64::from(low)) / f64::from(high - low).max(1.0)
    }

    /// Lakes fill low places of undrawn land.
    fn fill_with_lakes(
        &self,
        lakes: &mut Vec<Area>,
        height: &Raster<f32>,
        clearance: &Clearance<'_>,
        crowd: &mut Crowd,
    ) {
        let lake_m = self.size_m(Kind::Lake);
        let seed = self.seed.child("pool");
        let each_m2 = std::f64::consts::PI * lake_m * lake_m;
        let share = self.fill(Kind::Lake, self.sketch.fill_lake_pct / 100.0);
        let count = (share * self.free_m2() / each_m2).round().min(MOST as f64);
        let range = height.range().unwrap_or((0.0, 1.0));
        for i in 0..count as u64 {
            let likes = |p: [f64; 2]| {
                crowd.likes(Kind::Lake, p, 1.5 * lake_m) - 3.0 * self.share_of_relief(height, p, range)
            };
            let darts = self.dart(&self.free, seed, i, 24).filter(|p| clearance.allows(*p));
            let Some(at) = best(darts, likes) else { break };
            let own_seed = Seed(seed.bits(i));
            let radii = [lake_m * (1.0 + 0.6 * own_seed.unit(1)), lake_m * (0.6 + 0.4 * own_seed.unit(2))];
            let turn = std::f64::consts::PI * own_seed.unit(3);
            let patch = Patch::ellipse(at, radii, turn, self.lattice, own_seed);
            crowd.placed[Kind::Lake as usize].push(Spot { at, size: lake_m });
            lakes.push(Area { patch, item: Item::default(), drawn: false });
        }
    }

    /// Levels of lakes, from the land at their shores.
    fn shores(&self, lakes: &[Area], height: &Raster<f32>, notes: &mut Vec<String>) -> Shores {
        let lattice = self.lattice;
        let (mut levels, mut rises) = (Vec::new(), Vec::new());
        let mut lake_of = vec![0u32; lattice.len()];
        for (i, area) in lakes.iter().enumerate() {
            area.patch.cells(lattice).for_each(|cell| lake_of[cell] = i as u32 + 1);
            let mut shore: Vec<f32> = (0..area.patch.field.len())
                .filter(|k| (-2.5..=0.0).contains(&area.patch.field[*k]))
                .filter_map(|k| area.patch.cell(k, lattice))
                .map(|cell| height.as_slice()[cell])
                .collect();
            if shore.is_empty() {
                shore = area.patch.cells(lattice).map(|cell| height.as_slice()[cell]).collect();
            }
            shore.sort_by(f32::total_cmp);
            let at =
                |share: f64| shore.get((share * shore.len() as f64) as usize).copied().map_or(0.0, f64::from);
            let level = at(0.12);
            if area.drawn && level < 0.0 {
                notes.push(format!(
                    "{} is drawn in the sea; it takes the level of the sea",
                    area.called(Kind::Lake, lattice)
                ));
            }
            levels.push(level.max(0.0));
            rises.push((at(0.9) - level).max(0.0));
        }
        Shores { lake_of, levels, rises }
    }

    /// Where rivers that fill the land rise.
    fn springs(&self, height: &Raster<f32>, lake_of: &[u32], crowd: &mut Crowd) -> Vec<Stream> {
        let (seed, range_m) = (self.seed.child("course"), self.size_m(Kind::Mountain));
        let range = height.range().unwrap_or((0.0, 1.0));
        let count = self.fill(Kind::River, f64::from(self.sketch.fill_rivers)).round() as u64;
        let mut springs = Vec::new();
        for i in 0..count {
            let likes = |p: [f64; 2]| {
                crowd.likes(Kind::River, p, 1.5 * range_m) + 0.8 * self.share_of_relief(height, p, range)
            };
            let dry = |p: &[f64; 2]| self.lattice.cell_at(*p).is_some_and(|cell| lake_of[cell] == 0);
            let Some(at) = best(self.dart(&self.land, seed, i, 32).filter(dry), likes) else { break };
            crowd.placed[Kind::River as usize].push(Spot { at, size: 1.2 * range_m });
            springs.push(Stream::new(Item::default(), vec![at], self.size_m(Kind::River), false));
        }
        springs
    }

    fn lake_features(&self, lakes: &[Area], levels: &[f64], rises: &[f64]) -> Vec<Placed> {
        let mut wet = Vec::new();
        for ((area, level), rise) in lakes.iter().zip(levels).zip(rises) {
            if let Some((at, radius, outline)) = area.patch.outline(self.lattice) {
                let mut lake = Lake::new(at, radius, rounded(*level, 0.01));
                let usual = given_or(self.sketch.lake_depth_m, (radius / 15.0).min(80.0));
                let depth = area.item.height_m.unwrap_or(usual);
                lake.depth_m = rounded(depth, 0.01).max(0.1);
                let slope = rise / math::tan(self.sketch.valley_deg.to_radians());
                let widest = slope.clamp(0.25 * radius, 1.5 * radius);
                lake.rim_m = rounded(widest.max(2.0 * self.lattice.cell), 0.1);
                lake.rim_height_m = rounded((0.1 * depth).min(2.0), 0.01);
                lake.outline = outline;
                wet.push((lake.into(), area.item.name.clone(), area.drawn));
            }
        }
        wet
    }

    /// Outlines of forests in metres: those drawn, and on undrawn land where trees like it best.
    fn forest(&self, height: &Raster<f32>, lake_of: &[u32], crowd: &Crowd) -> Vec<Vec<[f64; 2]>> {
        let lattice = self.lattice;
        let seed = self.seed.child("forest");
        let share = self.fill(Kind::Forest, self.sketch.fill_forest_pct / 100.0);
        let mut field = vec![-1.0f32; lattice.len()];
        for component in &self.shapes[Kind::Forest as usize] {
            let patch = Patch::drawn(component, lattice, self.sketch.fidelity, seed, |_| None);
            for k in 0..patch.field.len() {
                if let Some(cell) = patch.cell(k, lattice) {
                    field[cell] = field[cell].max(patch.field[k].clamp(-1.0, 1.0));
                }
            }
        }
        if share > 0.0 {
            // How trees like it varies slowly: every eighth cell will do.
            const STEP: usize = 8;
            let (cols, rows) = (lattice.cols().div_ceil(STEP) + 1, lattice.rows().div_ceil(STEP) + 1);
            let (frame, size) = (&lattice.frame, self.size_m(Kind::Mountain));
            let liked = Raster::from_fn(cols, rows, |c, r| {
                let at = [
                    frame.x_m(0) + (c * STEP) as f64 * lattice.cell,
                    frame.y_m(0) - (r * STEP) as f64 * lattice.cell,
                ];
                crowd.likes(Kind::Forest, at, size) as f32
            });
            let others = [Kind::Mountain, Kind::Lake, Kind::Plain, Kind::Forest, Kind::River, Kind::Dune];
            let may = |cell: usize| {
                height.as_slice()[cell] >= 0.0
                    && lake_of[cell] == 0
                    && others.iter().all(|kind| self.layers[*kind as usize][cell] == 0)
            };
            let grows: Vec<f32> = Raster::from_fn(lattice.cols(), lattice.rows(), |c, r| {
                let like = liked.bilinear(c as f64 / STEP as f64, r as f64 / STEP as f64);
                let at = [lattice.frame.x_m(c), lattice.frame.y_m(r)];
                0.7 * like + fractal(seed, at, 1.8 * size) as f32
            })
            .into_vec();
            let mut sorted: Vec<f32> =
                (0..lattice.len()).filter(|cell| may(*cell)).map(|cell| grows[cell]).collect();
            sorted.sort_by(f32::total_cmp);
            let rank = ((1.0 - share) * sorted.len() as f64) as usize;
            if let Some(limit) = sorted.get(rank) {
                for cell in (0..lattice.len()).filter(|cell| may(*cell)) {
                    field[cell] = field[cell].max((4.0 * (grows[cell] - limit)).clamp(-1.0, 1.0));
                }
            }
        }
        let mut outlines = rings(&field, lattice.cols());
        outlines.retain(|ring| ring.len() >= 4);
        outlines.sort_by_key(|ring| std::cmp::Reverse(ring.len()));
        outlines.truncate(5000);
        let [west, north] = lattice.place(0);
        for ring in &mut outlines {
            soften(ring, true, 2);
            *ring = simplify_ring(ring, 0.25);
            for p in ring.iter_mut() {
                *p = [rounded(west + p[0] * lattice.cell, 0.01), rounded(north - p[1] * lattice.cell, 0.01)];
            }
        }
        outlines
    }
}

/// The layers with what contradicts taken out: a lake stays a lake on a mountain, a plain ends at both, forest at water.
fn untangled(canvas: &Canvas, lattice: &Lattice, notes: &mut Vec<String>) -> [Vec<u32>; KINDS] {
    let mut layers = canvas.layers.clone();
    for (less, more) in [
        (Kind::Mountain, Kind::Lake),
        (Kind::Hill, Kind::Lake),
        (Kind::Plain, Kind::Lake),
        (Kind::Plain, Kind::Mountain),
        (Kind::Dune, Kind::Lake),
        (Kind::Dune, Kind::Mountain),
        (Kind::Forest, Kind::Lake),
        (Kind::Forest, Kind::Dune),
    ] {
        let over: Vec<usize> = (0..lattice.len())
            .filter(|cell| layers[less as usize][*cell] != 0 && layers[more as usize][*cell] != 0)
            .collect();
        for cell in &over {
            layers[less as usize][*cell] = 0;
        }
        if let Some(first) = over.first().filter(|_| less != Kind::Forest) {
            let [x, y] = lattice.place(*first);
            let m2 = over.len() as f64 * lattice.cell * lattice.cell;
            notes.push(format!(
                "{0} and {1} overlap on {m2:.0} m² at {x:.0}, {y:.0}; {1} is used there",
                less.word(),
                more.word()
            ));
        }
    }
    layers
}

/// What is asked of a shape. Where another shape has parted what was drawn as one, the parts share its number.
fn wanted(component: &Component, all: &[Component], items: &[Item]) -> Item {
    let mut item = items.get(component.item as usize - 1).cloned().unwrap_or_default();
    if let Some(number) = item.number.filter(|_| !item.each) {
        let same = all.iter().filter(|other| other.item == component.item);
        let whole: usize = same.map(|other| other.cells.len()).sum();
        let share = component.cells.len() as f64 / whole.max(1) as f64;
        item.number = Some(((share * f64::from(number)).round() as u32).max(1));
    }
    item
}

/// The shapes of a kind, the largest where there are too many.
fn components(kind: Kind, layer: &[u32], lattice: &Lattice, notes: &mut Vec<String>) -> Vec<Component> {
    let mut found = label(layer, lattice.cols(), !matches!(kind, Kind::Lake | Kind::River));
    if found.len() > MOST {
        notes.push(format!(
            "{} shapes of {} are drawn; only the {MOST} largest are used",
            found.len(),
            kind.word()
        ));
        found.sort_by(|a, b| b.cells.len().cmp(&a.cells.len()).then(a.cells[0].cmp(&b.cells[0])));
        found.truncate(MOST);
        found.sort_by_key(|component| component.cells[0]);
    }
    found
}
