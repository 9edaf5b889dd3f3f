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
    let seed = Seed::from_text(own_seed);
    let fidelity = sketch.fidelity;
    let mut plan = Plan::default();
    let layers = untangled(canvas, lattice, &mut plan.notes);
    let mut shapes: [Vec<Component>; KINDS] = Default::default();
    for kind in Kind::ALL {
        shapes[kind as usize] = components(kind, &layers[kind as usize], lattice, &mut plan.notes);
    }
    let size = |kind| sketch.size_m(kind, lattice);
    let or = |given: f64, usual: f64| if given > 0.0 { given } else { usual };
    let land: Vec<usize> = (0..lattice.len()).filter(|cell| base.as_slice()[*cell] >= 0.0).collect();
    let free: Vec<usize> =
        land.iter().copied().filter(|cell| layers.iter().all(|layer| layer[*cell] == 0)).collect();
    let land_m2 = free.len() as f64 * lattice.cell * lattice.cell;
    // A drawn kind is filled in only as far as the drawing is loose.
    let courses = canvas.courses.len();
    let fill = |kind: Kind, share: f64| {
        let drawn = !shapes[kind as usize].is_empty() || (kind == Kind::River && courses > 0);
        share * if drawn { 1.0 - fidelity } else { 1.0 }
    };
    ctx.tick(2, 20)?;

    // Stage one for what has an outline.
    let mut crowd = Crowd::new(&sketch.rules);
    // How much of a cell belongs to a shape: nothing is known where another shape is drawn or takes its place.
    let cover = |kind: Kind, item: u32| {
        let (now, drawn, cover) =
            (&layers[kind as usize], &canvas.layers[kind as usize], &canvas.cover[kind as usize]);
        move |cell: usize| {
            let own = now[cell] == drawn[cell] && (now[cell] == 0 || now[cell] == item);
            own.then(|| f32::from(cover[cell]) / 255.0)
        }
    };
    let of = |kind: Kind| {
        let seed = seed.child(kind.word());
        let area = |component: &Component| Area {
            patch: Patch::drawn(component, lattice, fidelity, seed, cover(kind, component.item)),
            item: wanted(component, &shapes[kind as usize], &canvas.items),
            drawn: true,
        };
        shapes[kind as usize].iter().map(area).collect::<Vec<Area>>()
    };
    let (mut mountains, mut lakes, plains) = (of(Kind::Mountain), of(Kind::Lake), of(Kind::Plain));
    let dunes = of(Kind::Dune);
    ctx.tick(3, 20)?;
    for (kind, areas) in [(Kind::Lake, &lakes), (Kind::Plain, &plains), (Kind::Dune, &dunes)] {
        for area in areas {
            if let Some((at, radius, _)) = area.patch.outline(lattice) {
                crowd.placed[kind as usize].push(Spot { at, size: radius });
            }
        }
    }

    // Rivers as drawn, and what they meet.
    let mut streams = water::courses(&canvas.courses, lattice, size(Kind::River));
    for (i, component) in shapes[Kind::River as usize].iter().enumerate() {
        let item = canvas.items.get(component.item as usize - 1).cloned().unwrap_or_default();
        let number = (canvas.courses.len() + i) as u32;
        streams.extend(water::middle_lines(component, &item, lattice, number));
    }
    streams.truncate(MOST);
    let mut streams = parted(streams, lattice);
    let widest_m = 0.04 * lattice.frame.size_m()[0].max(lattice.frame.size_m()[1]);
    for stream in &mut streams {
        if stream.width > widest_m {
            plan.notes.push(format!(
                "{} is drawn {:.0} m wide; {widest_m:.0} m is used, the widest a river may be here",
                stream.called(),
                stream.width
            ));
            stream.width = widest_m;
        }
        stream.loosen(fidelity, lattice, seed.child("meander"));
        for p in stream.points.iter().step_by(4) {
            crowd.placed[Kind::River as usize].push(Spot { at: *p, size: 4.0 * stream.width });
        }
    }
    if fidelity < 1.0 {
        // Courses that have swung may meet elsewhere.
        streams = parted(streams, lattice);
    }
    water::mark_meetings(&mut streams);
    ctx.tick(4, 20)?;

    // Mountains fill undrawn land as ranges of their own.
    let range_m = size(Kind::Mountain);
    let mountain_seed = seed.child("range");
    let dart = |seed: Seed, number: u64, tries: u64| {
        let free = &free;
        (0..tries).filter_map(move |i| {
            let k = (u128::from(seed.bits(number * 64 + i)) * free.len() as u128) >> 64;
            free.get(k as usize).map(|cell| lattice.place(*cell))
        })
    };
    let each_m2 = std::f64::consts::PI * 2.4 * range_m * 1.1 * range_m;
    let count =
        (fill(Kind::Mountain, sketch.fill_mountain_pct / 100.0) * land_m2 / each_m2).round().min(MOST as f64);
    // Mountains that are drawn stand there before any other, so the others keep off them.
    let mut filling = crowd.clone();
    for area in &mountains {
        let step = (range_m / lattice.cell).max(1.0) as usize;
        for at in area.patch.spread(step, lattice) {
            filling.placed[Kind::Mountain as usize].push(Spot { at, size: range_m });
        }
    }
    let is_drawn = |p: [f64; 2]| {
        let solid = |kind: &Kind| !matches!(kind, Kind::Forest | Kind::River);
        lattice.cell_at(p).is_some_and(|cell| {
            Kind::ALL.iter().filter(|kind| solid(kind)).any(|kind| layers[*kind as usize][cell] != 0)
        })
    };
    for i in 0..count as u64 {
        let own_seed = Seed(mountain_seed.bits(i));
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
        let found = best(dart(mountain_seed, i, 24), |p| {
            filling.likes(Kind::Mountain, p, 1.6 * range_m) - 4.0 * over(p)
        });
        let Some(at) = found else { break };
        let patch = Patch::ellipse(at, radii, turn, lattice, own_seed);
        crowd.placed[Kind::Mountain as usize].push(Spot { at, size: 1.6 * range_m });
        filling.placed[Kind::Mountain as usize].push(Spot { at, size: 1.6 * range_m });
        mountains.push(Area { patch, item: Item::default(), drawn: false });
    }

    // What stands in the way of rivers.
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
    let names: Vec<(String, f32)> =
        mountains.iter().map(|area| (area.called(Kind::Mountain, lattice), area.patch.deepest())).collect();
    let heights = Heights { owner: &owner, depth: &depth, ranges: &names };
    let decided = water::decide(streams, sketch.crossing, &heights, lattice);
    plan.notes.extend(decided.notes);
    let streams = decided.streams;
    let mut off = Tree::default();
    let widest = decided.passes.iter().map(|(_, wide)| *wide).fold(0.0, f64::max);
    decided.passes.iter().for_each(|(at, wide)| off.push(Spot { at: *at, size: *wide }));
    let lake_layer = &layers[Kind::Lake as usize];
    let may = |p: [f64; 2]| {
        let mut clear = true;
        off.near(p, widest, |spot, distance| clear &= distance >= spot.size);
        clear && lattice.cell_at(p).is_some_and(|cell| lake_layer[cell] == 0)
    };
    ctx.tick(5, 20)?;

    // Plains lie at the height of the land.
    let mut ground: Vec<(Feature, Option<String>, bool)> = Vec::new();
    // Features that stand on each other, by their numbers, and how high they are together.
    let mut tops: Vec<(std::ops::Range<usize>, f64)> = Vec::new();
    for area in &plains {
        if let Some((at, radius, outline)) = area.patch.outline(lattice) {
            let mut heights: Vec<f32> = area.patch.cells(lattice).map(|cell| base.as_slice()[cell]).collect();
            heights.sort_by(f32::total_cmp);
            let level = heights.get(heights.len() / 2).copied().unwrap_or(0.0);
            let mut plain = Plateau::new(at, radius, rounded(f64::from(level), 0.1));
            let deepest = f64::from(area.patch.deepest()) * lattice.cell;
            plain.edge = rounded((0.7 * deepest / radius).clamp(0.01, 1.0), 1e-3);
            plain.strength = 0.92;
            plain.outline = outline;
            ground.push((plain.into(), area.item.name.clone(), true));
        }
    }
    // Mountains: darts, places, features.
    for area in &mountains {
        let size = area.item.size_m.unwrap_or(range_m).max(lattice.cell);
        let height = area.item.height_m.unwrap_or(or(sketch.mountain_height_m, 0.6 * size));
        let deepest = f64::from(area.patch.deepest()) * lattice.cell;
        let spots =
            darts(&area.patch, lattice, area.item.number, size.min(1.6 * deepest), seed.child("peaks"), may);
        let loose = if area.drawn { fidelity } else { 1.0 };
        let peaks = settle(spots, Kind::Mountain, loose, &mut crowd, seed.child("settle"), may);
        let range = Range {
            patch: &area.patch,
            item: &area.item,
            peaks,
            height,
            size: size.min(1.6 * deepest),
            seed,
        };
        let straight = |a: [f64; 2], b: [f64; 2]| {
            (0..=12).all(|i| {
                let t = f64::from(i) / 12.0;
                may([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])])
            })
        };
        let features = range.features(lattice, straight);
        tops.push((ground.len()..ground.len() + features.len(), height));
        ground.extend(features.into_iter().map(|feature| (feature, range.item.name.clone(), area.drawn)));
        ctx.tick(6, 20)?;
    }
    // Hills: those drawn, then those that fill.
    let hill_m = size(Kind::Hill);
    let hill_seed = seed.child("hill");
    for component in &shapes[Kind::Hill as usize] {
        let item = wanted(component, &shapes[Kind::Hill as usize], &canvas.items);
        let patch = Patch::drawn(component, lattice, fidelity, hill_seed, cover(Kind::Hill, component.item));
        let size = item.size_m.unwrap_or(hill_m).max(lattice.cell);
        let height = item.height_m.unwrap_or(or(sketch.hill_height_m, size / 6.0));
        let spots = settle(
            darts(&patch, lattice, item.number, size, hill_seed, may),
            Kind::Hill,
            fidelity,
            &mut crowd,
            hill_seed,
            may,
        );
        tops.push((ground.len()..ground.len() + spots.len(), height));
        ground.extend(hills(&spots, height, size, hill_seed).map(|hill| (hill, item.name.clone(), true)));
    }
    let count =
        fill(Kind::Hill, sketch.fill_hill_pct / 100.0) * land_m2 / (std::f64::consts::PI * hill_m * hill_m);
    let mut spots = Vec::new();
    for i in 0..count.round().min(2000.0) as u64 {
        let size = hill_m * (0.6 + 0.8 * hill_seed.unit(1_000_000 + i));
        let darts = dart(hill_seed, i, 16).filter(|p| may(*p));
        let Some(at) = best(darts, |p| crowd.likes(Kind::Hill, p, size)) else { continue };
        crowd.placed[Kind::Hill as usize].push(Spot { at, size });
        spots.push(Spot { at, size });
    }
    let height = or(sketch.hill_height_m, hill_m / 6.0);
    tops.push((ground.len()..ground.len() + spots.len(), height));
    ground.extend(hills(&spots, height, hill_m, hill_seed).map(|hill| (hill, None, false)));
    // Dunes.
    for area in &dunes {
        let Some((at, radius, outline)) = area.patch.outline(lattice) else { continue };
        let spacing = area.item.size_m.unwrap_or(size(Kind::Dune)).max(lattice.cell);
        let height = area.item.height_m.unwrap_or(or(sketch.dune_height_m, 0.1 * spacing));
        let mut field = DuneField::new(at, radius, rounded(height, 0.01));
        field.spacing_m = rounded(spacing, 0.01);
        field.wind_deg = sketch.wind_deg;
        let deepest = f64::from(area.patch.deepest()) * lattice.cell;
        field.edge_m = rounded((1.5 * spacing).min(0.5 * deepest), 0.01).max(0.01);
        field.outline = outline;
        tops.push((ground.len()..ground.len() + 1, height));
        ground.push((field.into(), area.item.name.clone(), true));
    }
    ctx.tick(7, 20)?;

    // The land so far, on the lattice.
    let mut coarse = Terrain::new(lattice.frame);
    coarse.set(layer::HEIGHT, base.clone());
    let mut ground: Vec<(Feature, bool)> = named(ground);
    for (range, height) in tops {
        let mut group: Vec<Feature> = ground[range.clone()].iter().map(|(f, _)| f.clone()).collect();
        as_high_as(&mut group, height, lattice, own_seed)?;
        ground[range].iter_mut().zip(group).for_each(|((old, _), new)| *old = new);
        ctx.tick(8, 20)?;
    }
    let so_far = ground.iter().map(|(feature, _)| feature.clone()).collect();
    let so_far = Features { features: so_far, seed: own_seed.to_owned(), ..Features::default() };
    let coarse = Op::run(&so_far, coarse, &Ctx::new(Seed(0)))?;
    let height = coarse.get(layer::HEIGHT)?;
    ctx.tick(9, 20)?;

    // Lakes fill low places of undrawn land.
    let lake_m = size(Kind::Lake);
    let lake_seed = seed.child("pool");
    let each_m2 = std::f64::consts::PI * lake_m * lake_m;
    let count = (fill(Kind::Lake, sketch.fill_lake_pct / 100.0) * land_m2 / each_m2).round().min(MOST as f64);
    let (low, high) = height.range().unwrap_or((0.0, 1.0));
    for i in 0..count as u64 {
        let likes = |p: [f64; 2]| {
            let h = (lattice.at(height, p) - f64::from(low)) / f64::from(high - low).max(1.0);
            crowd.likes(Kind::Lake, p, 1.5 * lake_m) - 3.0 * h
        };
        let Some(at) = best(dart(lake_seed, i, 24).filter(|p| may(*p)), likes) else { break };
        let own_seed = Seed(lake_seed.bits(i));
        let radii = [lake_m * (1.0 + 0.6 * own_seed.unit(1)), lake_m * (0.6 + 0.4 * own_seed.unit(2))];
        let patch = Patch::ellipse(at, radii, std::f64::consts::PI * own_seed.unit(3), lattice, own_seed);
        crowd.placed[Kind::Lake as usize].push(Spot { at, size: lake_m });
        lakes.push(Area { patch, item: Item::default(), drawn: false });
    }
    let mut lake_of = vec![0u32; lattice.len()];
    let mut levels = Vec::new();
    let mut around = Vec::new();
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
            plan.notes.push(format!(
                "{} is drawn in the sea; it takes the level of the sea",
                area.called(Kind::Lake, lattice)
            ));
        }
        levels.push(level.max(0.0));
        around.push((at(0.9) - level).max(0.0));
    }
    ctx.tick(10, 20)?;

    // Rivers: those drawn, the longest first, then those that fill.
    let river_seed = seed.child("course");
    let mut ground_with_water = Land::new(lattice, height, &lake_of, levels);
    let count = fill(Kind::River, f64::from(sketch.fill_rivers)).round() as u64;
    let mut springs = Vec::new();
    for i in 0..count {
        let likes = |p: [f64; 2]| {
            let h = (lattice.at(height, p) - f64::from(low)) / f64::from(high - low).max(1.0);
            crowd.likes(Kind::River, p, 1.5 * range_m) + 0.8 * h
        };
        let dry = |p: &[f64; 2]| lattice.cell_at(*p).is_some_and(|cell| lake_of[cell] == 0);
        let on_land = (0..32u64).filter_map(|k| {
            let at = (u128::from(river_seed.bits(i * 64 + k)) * land.len() as u128) >> 64;
            land.get(at as usize).map(|cell| lattice.place(*cell))
        });
        let Some(at) = best(on_land.filter(dry), likes) else { break };
        crowd.placed[Kind::River as usize].push(Spot { at, size: 1.2 * range_m });
        springs.push(Stream::new(Item::default(), vec![at], size(Kind::River), false));
    }
    let before = ground_with_water.levels.clone();
    let mut network = Network::new(streams, &ground_with_water, &mut plan.notes);
    ctx.tick(11, 20)?;
    network.run_on(springs, &ground_with_water, river_seed, &mut plan.notes);
    network.fall(&mut ground_with_water);
    for ((area, before), now) in lakes.iter().zip(before).zip(&ground_with_water.levels) {
        if area.drawn && before - now > 5.0 {
            plan.notes.push(format!(
                "{} lies {:.0} m below its shores, because a river that flows into it comes from lower ground",
                area.called(Kind::Lake, lattice),
                before - now
            ));
        }
    }
    let rivers = ground_with_water.rivers(&network, sketch.valley_deg);
    ctx.tick(12, 20)?;

    let mut wet = Vec::new();
    for ((area, level), rise) in lakes.iter().zip(&ground_with_water.levels).zip(around) {
        if let Some((at, radius, outline)) = area.patch.outline(lattice) {
            let mut lake = Lake::new(at, radius, rounded(*level, 0.01));
            let depth = area.item.height_m.unwrap_or(or(sketch.lake_depth_m, (radius / 15.0).min(80.0)));
            lake.depth_m = rounded(depth, 0.01).max(0.1);
            let slope = rise / math::tan(sketch.valley_deg.to_radians());
            lake.rim_m = rounded(slope.clamp(0.25 * radius, 1.5 * radius).max(2.0 * lattice.cell), 0.1);
            lake.rim_height_m = rounded((0.1 * depth).min(2.0), 0.01);
            lake.outline = outline;
            wet.push((lake.into(), area.item.name.clone(), area.drawn));
        }
    }
    wet.extend(rivers);
    plan.features = ground;
    plan.features.extend(named(wet));
    let share = fill(Kind::Forest, sketch.fill_forest_pct / 100.0);
    plan.forest = forest(
        sketch,
        lattice,
        &layers,
        &shapes[Kind::Forest as usize],
        share,
        height,
        &lake_of,
        &crowd,
        seed,
    );
    ctx.tick(13, 20)?;
    Ok(plan)
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

/// Outlines of forests in metres: those drawn, and on undrawn land where trees like it best.
fn forest(
    sketch: &Sketch,
    lattice: &Lattice,
    layers: &[Vec<u32>; KINDS],
    drawn: &[Component],
    share: f64,
    height: &Raster<f32>,
    lake_of: &[u32],
    crowd: &Crowd,
    seed: Seed,
) -> Vec<Vec<[f64; 2]>> {
    let seed = seed.child("forest");
    let mut field = vec![-1.0f32; lattice.len()];
    for component in drawn {
        let patch = Patch::drawn(component, lattice, sketch.fidelity, seed, |_| None);
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
        let (frame, size) = (&lattice.frame, sketch.size_m(super::Kind::Mountain, lattice));
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
                && others.iter().all(|kind| layers[*kind as usize][cell] == 0)
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
