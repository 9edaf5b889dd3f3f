use orogen_core::{Raster, Seed};

use super::super::rules::Span;
use super::*;

fn anywhere() -> Vec<Rule> {
    vec![Rule { height_m: Some(Span([0.0, 1e4])), ..Rule::default() }]
}

fn own(name: &str) -> Species {
    Species { rules: anywhere(), spread: Some(0.0), ..Species::named(name) }
}

fn run(op: &Survival, terrain: Terrain) -> Terrain {
    Op::apply(op, terrain, &Ctx::new(Seed(5))).unwrap()
}

fn coast() -> Terrain {
    let mut terrain = Terrain::new(Frame::square(200.0, 65).unwrap());
    // The sea in the west.
    terrain.set(layer::HEIGHT, Raster::from_fn(65, 65, |col, _| if col < 20 { -5.0 } else { 20.0 }));
    terrain
}

fn grown(years_yr: f64) -> Terrain {
    let op = Survival { species: vec![own("oak"), own("birch")], years_yr, ..Survival::default() };
    run(&op, coast())
}

fn plants(terrain: &Terrain) -> &Instances {
    &terrain.instances()[&LayerName::fixed(PLANTS)]
}

#[test]
fn a_forest_grows_on_land_only() {
    let terrain = grown(300.0);
    let plants = plants(&terrain);
    assert!(plants.len() > 100, "{}", plants.len());
    // The shore lies between samples 19 and 20.
    assert!(plants.iter().all(|(place, _)| place[0] > 59.0));
    for (species, name) in ["birch", "oak"].into_iter().zip(["density.birch", "density.oak"]) {
        let density = terrain.get_named::<f32>(&LayerName::fixed(name)).unwrap();
        let index = plants.species().iter().position(|known| known == species).unwrap();
        let count = plants.iter().filter(|(_, thing)| usize::from(thing.species) == index).count() as f64;
        // Samples at an edge stand for half as much ground.
        let half = |at: usize| if at == 0 || at == 64 { 0.5 } else { 1.0 };
        let all = (0..65).flat_map(|row| (0..65).map(move |col| (col, row)));
        let sum: f64 = all.map(|(c, r)| f64::from(density.row(r)[c]) * half(c) * half(r)).sum();
        assert!((sum * 3.125 * 3.125 / count - 1.0).abs() < 0.01, "{species}: {sum} of {count}");
        assert!((0..65).all(|row| density.row(row)[..20].iter().all(|d| *d == 0.0)), "no density at sea");
    }
}

#[test]
fn tree_lines_and_strips_along_rivers_appear() {
    // A mountain side with a river across: birch up to 60 m, willow by the river.
    let mut terrain = Terrain::new(Frame::square(400.0, 101).unwrap());
    terrain.set(layer::HEIGHT, Raster::from_fn(101, 101, |col, _| 5.0 + col as f32));
    let mut rivers = orogen_core::vector::VectorLayer::new(orogen_core::vector::Shape::Lines);
    rivers.push([[0.0, 200.0, 0.0], [400.0, 200.0, 0.0]]);
    assert!(rivers.set_vertex_attribute("width_m", orogen_core::vector::Column::Number(vec![8.0, 8.0])));
    terrain.set_vector("rivers", rivers);
    let low = Rule { height_m: Some(Span([0.0, 60.0])), fade: 5.0, ..Rule::default() };
    let near = Rule { river_m: Some(Span([0.0, 30.0])), ..Rule::default() };
    let birch = Species { rules: vec![low], ..own("birch") };
    let willow = Species { rules: vec![near], ..own("willow") };
    let op = Survival { species: vec![birch, willow], first_per_ha: 100.0, ..Survival::default() };
    let made = run(&op, terrain);
    let of = |species: u16| plants(&made).iter().filter(move |(_, thing)| thing.species == species);
    assert!(of(0).count() > 200 && of(1).count() > 10, "{} and {}", of(0).count(), of(1).count());
    assert!(of(0).all(|(place, _)| place[0] <= 4.0 * 60.0), "birch above the tree line");
    assert!(of(1).all(|(place, _)| (place[1] - 200.0).abs() <= 34.0), "willow away from the river");
    assert!(plants(&made).iter().all(|(place, _)| (place[1] - 200.0).abs() > 4.0), "a tree in the river");
}

#[test]
fn a_snapshot_of_another_year_is_another_forest() {
    let age = |terrain: &Terrain| {
        let plants = plants(terrain);
        plants.iter().map(|(_, thing)| f64::from(thing.age)).sum::<f64>() / plants.len() as f64
    };
    let (young, old) = (grown(30.0), grown(300.0));
    assert!(age(&old) > age(&young), "{} {}", age(&old), age(&young));
    // Years of a round that has not gone by yet change nothing.
    assert_eq!(plants(&grown(309.0)), plants(&old));
}

/// A run that is looked at shows the forest of each round, as a run of so many years gives it.
#[test]
fn every_year_can_be_seen_on_the_way() {
    let op = Survival { species: vec![own("oak"), own("birch")], years_yr: 60.0, ..Survival::default() };
    let ctx = Ctx::new(Seed(5));
    let Started::Stepped(mut work) = op.start(coast(), &ctx).unwrap() else { panic!("it works in pieces") };
    assert_eq!(work.moment().share, 0.0);
    let mut years = Vec::new();
    loop {
        let left = work.advance(&ctx).unwrap();
        let Some(Simulated::Years(year)) = work.moment().time else { panic!("it knows of time") };
        years.push(year);
        let then = run(&Survival { years_yr: year, ..op.clone() }, coast());
        let view = work.view().unwrap();
        assert_eq!(plants(&view), plants(&then), "after {year} years");
        for name in op.written() {
            assert_eq!(
                view.layers()[&name].bytes(),
                then.layers()[&name].bytes(),
                "{name} after {year} years"
            );
        }
        if left == Progress::Done {
            break;
        }
    }
    assert_eq!(years, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    assert_eq!(work.moment().share, 1.0);
    let done = work.finish(&ctx).unwrap();
    assert_eq!(plants(&done), plants(&run(&op, coast())));
}

#[test]
fn a_place_says_why_its_forest_is_there() {
    let op = Survival { species: vec![own("oak"), own("birch")], years_yr: 150.0, ..Survival::default() };
    let ctx = Ctx::new(Seed(5));
    let land = run(&op, coast());
    let found = op.explain(&land, [150.0, 100.0], &ctx).unwrap();
    assert!(
        found.iter().any(|reason| reason.of == "oak" && reason.found.ends_with("a hectare")),
        "{found:?}"
    );
    assert!(found[0].because.iter().any(|cause| cause.name == "still grow"));
    let none = op.explain(&land, [20.0, 100.0], &ctx).unwrap();
    assert_eq!((none[0].of.as_str(), none[0].found.as_str(), none[0].because.len()), ("plants", "none", 2));
    assert!(none[0].because.iter().all(|cause| cause.weight == Some(0.0) && cause.says.contains("height")));
}

#[test]
fn large_land_has_densities_only() {
    let land = |size_m: f64| {
        let mut terrain = Terrain::new(Frame::square(size_m, 65).unwrap());
        terrain.set(layer::HEIGHT, Raster::filled(65, 65, 20.0));
        terrain
    };
    let op = Survival { species: vec![own("birch"), own("oak")], years_yr: 60.0, ..Survival::default() };
    let (small, large) = (run(&op, land(500.0)), run(&op, land(15_000.0)));
    assert!(!plants(&small).is_empty() && plants(&large).is_empty());
    for name in ["density.birch", "density.oak", "young.oak"] {
        let per_ha = |terrain: &Terrain| {
            let density = terrain.get_named::<f32>(&LayerName::fixed(name)).unwrap();
            density.sum_f64() / density.as_slice().len() as f64 * 1e4
        };
        let ratio = per_ha(&large) / per_ha(&small);
        assert!(
            (0.75..1.33).contains(&ratio),
            "{name}: {} and {} on a hectare",
            per_ha(&large),
            per_ha(&small)
        );
    }
}

#[test]
fn drawn_forest_stands_where_it_was_drawn() {
    let mut terrain = coast();
    terrain.set_named(
        forest_mask(),
        Raster::from_fn(65, 65, |_, row| if row < 32 { 1.0f32 } else { 0.0 }).into(),
    );
    let op = Survival { species: vec![own("oak")], ..Survival::default() };
    let made = run(&op, terrain);
    assert!(plants(&made).len() > 50 && plants(&made).iter().all(|(place, _)| place[1] > 99.0));
}

#[test]
fn bad_parameters_get_a_sentence() {
    let faults = |species: Vec<Species>| {
        let op = Survival { species, ..Survival::default() };
        op.faults().into_iter().map(|fault| fault.to_string()).collect::<Vec<_>>().join("\n")
    };
    assert!(faults(vec![Species::named("oka")]).contains("did you mean \"oak\"?"));
    assert!(faults(vec![own("oak"), own("oak")]).contains("listed twice"));
    let back = Rule { slope_deg: Some(Span([30.0, 10.0])), ..Rule::default() };
    assert!(faults(vec![Species { rules: vec![back], ..own("oak") }]).contains("swap them"));
    let op = Survival { years_yr: 1e5, round_yr: 1.0, seeds: 8.0, ..Survival::default() };
    let said = Op::apply(&op, coast(), &Ctx::silent()).unwrap_err().to_string();
    assert!(said.contains("years_yr") && said.contains("fewer years"), "{said}");
    let none = Survival { species: Vec::new(), ..Survival::default() };
    assert!(plants(&run(&none, coast())).is_empty());
}
