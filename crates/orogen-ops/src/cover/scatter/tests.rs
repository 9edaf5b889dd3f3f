use orogen_core::{Raster, Seed};

use super::super::rules::Span;
use super::*;

const SIDE: usize = 65;

fn anywhere() -> Vec<Rule> {
    vec![Rule { height_m: Some(Span([-1e6, 1e6])), ..Rule::default() }]
}

fn own(name: &str, radius_m: f64, per_ha: f64) -> Species {
    Species {
        radius_m: Some(radius_m),
        density_per_ha: Some(per_ha),
        spread: Some(0.0),
        rules: anywhere(),
        ..Species::named(name)
    }
}

fn land(height: impl Fn(usize, usize) -> f32 + Sync) -> Terrain {
    let mut terrain = Terrain::new(Frame::square(640.0, SIDE).unwrap());
    terrain.set(layer::HEIGHT, Raster::from_fn(SIDE, SIDE, height));
    terrain
}

fn three(method: Method) -> Scatter {
    let species = vec![own("large", 4.0, 60.0), own("middling", 2.0, 200.0), own("small", 1.0, 500.0)];
    Scatter { method, species, cell_m: 2.0, plants: true, ..Scatter::default() }
}

fn run(op: &Scatter, terrain: Terrain) -> Terrain {
    Op::apply(op, terrain, &Ctx::new(Seed(11))).unwrap()
}

fn plants(terrain: &Terrain) -> Vec<([f64; 2], orogen_core::instances::Instance)> {
    terrain.instances()[&LayerName::fixed(PLANTS)].iter().map(|(place, thing)| (place, *thing)).collect()
}

#[test]
fn as_many_stand_as_the_density_says() {
    for method in [Method::Grid, Method::Poisson] {
        // Half as many as the species ask for: crowns that may not meet cover little more than half of the ground.
        let made = run(&Scatter { density: 0.5, ..three(method) }, land(|_, _| 50.0));
        let found = plants(&made);
        for (species, per_ha) in [60.0, 200.0, 500.0].into_iter().enumerate() {
            let count =
                found.iter().filter(|(_, thing)| usize::from(thing.species) == species).count() as f64;
            let expected = 0.5 * per_ha * 64.0 * 64.0 / 100.0;
            // What room large crowns leave for small ones is an estimate.
            let off = if method == Method::Poisson { 0.25 } else { 0.07 };
            assert!((count / expected - 1.0).abs() < off, "{method:?} {species}: {count} of {expected}");
        }
    }
}

/// How many of each species stand, and how many the densities promise.
fn stand_and_promised(op: &Scatter, terrain: Terrain) -> Vec<[f64; 2]> {
    let made = run(op, terrain);
    let found = plants(&made);
    let of = |(species, name): (usize, LayerName)| {
        let count = found.iter().filter(|(_, thing)| usize::from(thing.species) == species).count();
        let density = made.get_named::<f32>(&name).unwrap();
        [count as f64, density.sum_f64() / density.as_slice().len() as f64 * 640.0 * 640.0]
    };
    op.densities().into_iter().enumerate().map(of).collect()
}

/// Densities said ten times what stood there where crowns were in each other's way or cells too few.
#[test]
fn densities_are_those_of_what_stands() {
    for (method, cell_m) in [(Method::Random, 8.0), (Method::Grid, 8.0), (Method::Biome, 5.0)] {
        let species = vec![own("large", 4.0, 400.0), own("middling", 1.5, 2000.0), own("small", 0.5, 9000.0)];
        let op = Scatter { method, species, cell_m, plants: true, ..Scatter::default() };
        for [count, promised] in stand_and_promised(&op, land(|_, _| 50.0)) {
            let off = 0.12 * promised + 3.0 * promised.sqrt();
            assert!((count - promised).abs() < off, "{method:?}: {count} of {promised}");
        }
        // One alone, as dense as it gets.
        let alone = Scatter { species: vec![own("large", 4.0, 400.0)], ..op };
        let found = stand_and_promised(&alone, land(|_, _| 50.0));
        let [count, promised] = found[0];
        assert!((count / promised - 1.0).abs() < 0.1, "{method:?}: {count} of {promised}");
    }
}

#[test]
fn crowns_keep_their_distance_across_the_seam_of_a_loop() {
    for method in [Method::Random, Method::Poisson] {
        let world = Frame::square(640.0, SIDE).unwrap().looped();
        let mut terrain = Terrain::new(world);
        terrain.set(layer::HEIGHT, Raster::filled(SIDE, SIDE, 50.0));
        let ctx = Ctx::new(Seed(11)).in_world(world);
        let made = Op::apply(&three(method), terrain.clone(), &ctx).unwrap();
        let found = plants(&made);
        assert!(found.len() > 3000 && ctx.take_warnings().is_empty(), "{method:?}: {}", found.len());
        let radius = [4.0, 2.0, 1.0];
        let mut across = 0;
        for (i, (a, one)) in found.iter().enumerate() {
            assert!((0..2).all(|axis| (0.0..640.0).contains(&a[axis])), "{a:?}");
            for (b, other) in &found[..i] {
                let [dx, dy] = [0, 1].map(|axis| {
                    let apart = (a[axis] - b[axis]).abs();
                    across += usize::from(apart > 636.0);
                    apart.min(640.0 - apart)
                });
                let least = radius[usize::from(one.species)] + radius[usize::from(other.species)];
                assert!(dx * dx + dy * dy > (least - 0.003) * (least - 0.003), "{method:?}: {a:?} and {b:?}");
            }
        }
        assert!(across > 1000, "{method:?}: {across} pairs near the seam");
        // On request, from the whole world, they are the same.
        let op = Scatter { plants: false, ..three(method) };
        let land = Op::apply(&op, terrain, &ctx).unwrap();
        let rect = Rect { min: [0.0, 300.0], max: [70.0, 380.0] };
        let part = standing(&op, &land, &rect, &ctx).unwrap();
        let ids = |all: Vec<Standing>| {
            let mut ids: Vec<u64> = all.into_iter().map(|(_, thing)| thing.id).collect();
            ids.sort_unstable();
            ids
        };
        let kept: Vec<Standing> =
            found.into_iter().filter(|(place, _)| stand::holds(&rect, *place)).collect();
        assert!(kept.len() > 20);
        assert_eq!(ids(part), ids(kept), "{method:?}");
    }
}

/// A brook between two samples left no trace in the distances that were kept on them.
#[test]
fn nothing_stands_in_a_brook_between_samples() {
    use orogen_core::vector::{Column, Shape, VectorLayer};
    for method in [Method::Grid, Method::Random, Method::Poisson] {
        let mut terrain = land(|_, _| 50.0);
        let mut rivers = VectorLayer::new(Shape::Lines);
        rivers.push([[0.0, 325.0, 50.0], [640.0, 325.0, 50.0]]);
        assert!(rivers.set_vertex_attribute("width_m", Column::Number(vec![4.0, 4.0])));
        terrain.set_vector("rivers", rivers);
        let found = plants(&run(&three(method), terrain));
        assert!(found.len() > 3000, "{method:?}: {}", found.len());
        for (place, _) in found {
            assert!((place[1] - 325.0).abs() > 2.5, "{method:?}: in the brook at {place:?}");
        }
    }
}

#[test]
fn what_cannot_be_gets_a_sentence() {
    let rules = vec![Rule { height_m: Some(Span([5000.0, 6000.0])), ..Rule::default() }];
    let gum = Species { rules, ..own("gum", 2.0, 100.0) };
    let ctx = Ctx::new(Seed(11));
    let op = Scatter { species: vec![gum, own("oak", 4.0, 60.0)], ..Scatter::default() };
    Op::apply(&op, land(|_, _| 50.0), &ctx).unwrap();
    let said = ctx.take_warnings();
    assert!(said.len() == 1 && said[0].contains("\"gum\" stands nowhere"), "{said:?}");
    let op = Scatter { method: Method::Grid, cell_m: 0.05, plants: true, ..three(Method::Grid) };
    let mut terrain = Terrain::new(Frame::square(2000.0, SIDE).unwrap());
    terrain.set(layer::HEIGHT, Raster::filled(SIDE, SIDE, 50.0));
    let said = Op::apply(&op, terrain, &ctx).unwrap_err().to_string();
    assert!(said.contains("larger cell_m"), "{said}");
}

#[test]
fn the_roulette_is_fair() {
    let found = plants(&run(&three(Method::Grid), land(|_, _| 50.0)));
    let counts = [0, 1, 2].map(|s| found.iter().filter(|(_, thing)| thing.species == s).count() as f64);
    let (sum, weights) = (counts.iter().sum::<f64>(), [60.0, 200.0, 500.0]);
    let chi: f64 = (counts.iter().zip(weights))
        .map(|(count, weight)| {
            let expected = sum * weight / 760.0;
            (count - expected) * (count - expected) / expected
        })
        .sum();
    assert!(chi < 13.8, "chi-square of two degrees of freedom is {chi}: one in a thousand");
}

#[test]
fn no_two_crowns_collide() {
    for method in [Method::Random, Method::Poisson] {
        let found = plants(&run(&three(method), land(|_, _| 50.0)));
        assert!(found.len() > 4000, "{method:?}: {}", found.len());
        let radius = [4.0, 2.0, 1.0];
        for (i, (a, one)) in found.iter().enumerate() {
            for (b, other) in &found[..i] {
                let least = radius[usize::from(one.species)] + radius[usize::from(other.species)];
                let apart = ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt();
                // Places are whole millimetres.
                assert!(apart > least - 0.003, "{method:?}: {apart} m apart instead of {least}");
            }
        }
    }
}

#[test]
fn a_window_holds_the_plants_of_the_whole() {
    for method in [Method::Grid, Method::Random, Method::Poisson] {
        let op = Scatter {
            species: vec![own("middling", 1.2, 200.0), own("small", 0.5, 900.0)],
            plants: false,
            ..three(method)
        };
        let terrain = land(|col, row| ((col * 7 + row * 3) % 11) as f32 - 1.0);
        let ctx = Ctx::new(Seed(11));
        let whole = Op::apply(&op, terrain, &ctx).unwrap();
        let all = standing(&op, &whole, &whole.frame().extent(), &ctx).unwrap();
        let rect = Rect { min: [301.0, 287.0], max: [348.5, 333.0] };
        let wide = rect.grown([reach_of_plants_m(&op); 2]);
        let window = whole.frame().clipped(&wide.grown([20.0; 2])).unwrap();
        assert!(window.len() < whole.frame().len(), "{method:?}: the window is smaller than the land");
        let part = standing(&op, &whole.crop(&window).unwrap(), &rect, &ctx).unwrap();
        let key = |(place, thing): &Standing| (thing.id, place.map(f64::to_bits), thing.scale, thing.species);
        let mut cut: Vec<_> = all.iter().filter(|(place, _)| stand::holds(&rect, *place)).map(key).collect();
        let mut part: Vec<_> = part.iter().map(key).collect();
        cut.sort_unstable();
        part.sort_unstable();
        assert!(part.len() > 20, "{method:?}: {}", part.len());
        assert_eq!(part, cut, "{method:?}");
    }
}

#[test]
fn threads_change_nothing() {
    for method in [Method::Grid, Method::Random, Method::Poisson] {
        let made = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| plants(&run(&three(method), land(|_, _| 50.0))))
        };
        let bits = |all: Vec<([f64; 2], orogen_core::instances::Instance)>| {
            all.iter()
                .map(|(place, thing)| (place.map(f64::to_bits), thing.id, thing.scale))
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(made(1)), bits(made(4)), "{method:?}");
    }
}

#[test]
fn nothing_stands_in_water_or_on_cliffs() {
    // A lake in the west, the sea in the south, a cliff in the east.
    let mut terrain =
        land(|col, row| if row > 50 { -5.0 } else { 20.0 + if col > 40 { 200.0 } else { 0.0 } });
    terrain.set(layer::WATER, Raster::from_fn(SIDE, SIDE, |col, _| if col < 12 { 2.0 } else { 0.0 }));
    let found = plants(&run(&three(Method::Random), terrain));
    assert!(found.len() > 1000);
    for (place, _) in found {
        assert!(place[0] > 110.0, "in the lake at {place:?}");
        assert!(place[1] > 130.0, "in the sea at {place:?}");
        assert!(!(402.0..408.0).contains(&place[0]), "on the cliff at {place:?}");
    }
}

#[test]
fn wind_and_salt_dwarf_bend_and_exclude() {
    let species = vec![Species { wind_m_per_s: Some(6.0), salt: Some(0.2), ..own("tree", 2.0, 200.0) }];
    let op = Scatter { species, plants: true, ..Scatter::default() };
    let with = |wind: f32, salt: f32| {
        let mut terrain = land(|_, _| 50.0);
        terrain.set(layer::WIND, Raster::filled(SIDE, SIDE, wind));
        terrain.set(layer::SALT, Raster::filled(SIDE, SIDE, salt));
        let found = plants(&run(&op, terrain));
        let mean = |of: fn(&orogen_core::instances::Instance) -> f64| {
            found.iter().map(|(_, thing)| of(thing)).sum::<f64>() / found.len().max(1) as f64
        };
        (found.len(), mean(|t| f64::from(t.scale)), mean(|t| f64::from(t.tilt_deg)))
    };
    let (calm, stormy, salty) = (with(3.0, 0.0), with(9.0, 0.0), with(3.0, 0.4));
    assert!(stormy.0 < calm.0 && stormy.1 < 0.8 * calm.1 && stormy.2 > calm.2 + 10.0, "{calm:?} {stormy:?}");
    assert!(salty.0 < calm.0 && salty.1 < 0.9 * calm.1, "{calm:?} {salty:?}");
    assert_eq!(with(12.5, 0.0).0, 0);
    assert_eq!(with(3.0, 0.7).0, 0);
}

#[test]
fn plants_lean_away_from_where_the_wind_comes_from_on_maps_that_are_turned_too() {
    let lean = |north_deg: f64| {
        let species = vec![Species { wind_m_per_s: Some(6.0), ..own("tree", 2.0, 200.0) }];
        let op = Scatter { species, plants: true, wind_from_deg: 0.0, ..Scatter::default() };
        let mut terrain = land(|_, _| 50.0);
        terrain.set(layer::WIND, Raster::filled(SIDE, SIDE, 9.0));
        let place = orogen_core::Place { north_deg: Some(north_deg), ..orogen_core::Place::default() };
        let made = Op::apply(&op, terrain, &Ctx::new(Seed(11)).at_place(place)).unwrap();
        let found = plants(&made);
        found.first().map(|(_, thing)| thing.tilt_to)
    };
    // A wind from the top blows down; one from a north that lies to the right blows to the left.
    assert_eq!((lean(0.0), lean(90.0)), (Some(192), Some(128)));
}

#[test]
fn the_understory_follows_the_shade() {
    let mut terrain = land(|_, _| 50.0);
    terrain.set(layer::CANOPY_COVER, Raster::from_fn(SIDE, SIDE, |col, _| if col < 32 { 0.9 } else { 0.0 }));
    let species = vec![
        Species { spread: Some(0.0), rules: anywhere(), ..Species::named("fern") },
        Species { spread: Some(0.0), rules: anywhere(), ..Species::named("melilotus") },
    ];
    let made = run(&Scatter { species, ..Scatter::default() }, terrain);
    let at =
        |name: &'static str, col: usize| made.get_named::<f32>(&LayerName::fixed(name)).unwrap().row(30)[col];
    assert!(at("density.fern", 10) > 2.0 * at("density.fern", 50), "ferns like shade");
    assert!(at("density.melilotus", 10) < 0.2 * at("density.melilotus", 50), "melilot needs light");
    assert!(made.get(layer::CANOPY_HEIGHT).is_err(), "no trees, no canopy");
}

#[test]
fn drawn_forest_stands_where_it_was_drawn() {
    let mut terrain = land(|_, _| 50.0);
    let drawn = Raster::from_fn(SIDE, SIDE, |col, _| if col < 32 { 1.0 } else { 0.0 });
    terrain.set_named(forest_mask(), drawn.into());
    let made = run(&Scatter { species: vec![own("oak", 4.0, 60.0)], ..Scatter::default() }, terrain);
    let cover = made.get(layer::CANOPY_COVER).unwrap();
    assert!(cover.row(30)[10] > 0.2 && cover.row(30)[50] == 0.0);
    assert!((made.get(layer::CANOPY_HEIGHT).unwrap().row(30)[10] - 22.0).abs() < 0.01);
}

#[test]
fn a_table_of_biomes_decides_alone() {
    let mut terrain = land(|_, _| 50.0);
    terrain.set(layer::BIOME, Raster::from_fn(SIDE, SIDE, |col, _| if col < 32 { 4u8 } else { 9 }));
    let entry = BiomeTrees { biome: 4, density: 0.5, shares: vec![1.0, 3.0] };
    let op = Scatter {
        method: Method::Biome,
        species: vec![own("a", 1.0, 1.0), own("b", 1.0, 1.0)],
        cell_m: 10.0,
        biomes: vec![entry],
        plants: true,
        ..Scatter::default()
    };
    let found = plants(&run(&op, terrain));
    assert!(found.iter().all(|(place, _)| place[0] < 320.0));
    let count = |s| found.iter().filter(|(_, thing)| thing.species == s).count() as f64;
    assert!((800.0..1200.0).contains(&(count(0) + count(1))), "{}", found.len());
    assert!((0.2..0.3).contains(&(count(0) / found.len() as f64)));
}

#[test]
fn bad_species_get_a_sentence() {
    let faults = |species: Species| {
        let op = Scatter { species: vec![species], ..Scatter::default() };
        op.faults().into_iter().map(|fault| fault.message).collect::<Vec<_>>().join("\n")
    };
    assert!(faults(Species::named("oka")).contains("nowhere at home"));
    assert!(faults(Species::named("oka")).contains("\"oak\""));
    assert!(faults(Species::named("Two Words")).contains("not a valid name"));
    let wrong = Rule { slope_deg: Some(Span([30.0, 10.0])), ..Rule::default() };
    assert!(!faults(Species { rules: vec![wrong], ..Species::named("oak") }).is_empty());
    assert!(faults(Species::named("oak")).is_empty());
    let twice = Scatter { species: vec![Species::named("oak"), Species::named("oak")], ..Scatter::default() };
    assert!(twice.faults()[0].message.contains("listed twice"));
}

/// Grass as disks beside an oak never ended.
#[test]
fn disks_that_would_take_hours_are_refused_before_any_work() {
    let mut terrain = Terrain::new(Frame::square(4000.0, SIDE).unwrap());
    terrain.set(layer::HEIGHT, Raster::filled(SIDE, SIDE, 50.0));
    let species = vec![own("grass", 0.05, 1e6), own("oak", 30.0, 5.0)];
    let op = Scatter { species, density: 0.01, ..Scatter::default() };
    let land = Op::apply(&op, terrain, &Ctx::silent()).unwrap();
    let said = standing(&op, &land, &land.frame().extent(), &Ctx::silent()).unwrap_err().to_string();
    assert!(said.contains("radius_m: 0.05 asks for") && said.contains("\"grid\""), "{said}");
    // A small window of the same takes a moment.
    let rect = Rect { min: [2000.0; 2], max: [2010.0; 2] };
    assert!(!standing(&op, &land, &rect, &Ctx::silent()).unwrap().is_empty());
}
