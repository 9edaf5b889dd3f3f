use orogen_core::biome::BIOMES;
use orogen_core::{Frame, Raster, Seed, Terrain, Weight, layer, math, weights};

use super::*;
use crate::cover::rules::Span;
use crate::test_support::assert_windows;

/// Level ground of one biome, above the sea or below it.
fn ground(biome: u8) -> Terrain {
    let mut terrain = Terrain::new(Frame::square(2000.0, 65).unwrap());
    let depth = match BIOMES[usize::from(biome)].name {
        "ocean" => -20.0,
        _ => 100.0,
    };
    terrain.set(layer::HEIGHT, Raster::filled(65, 65, depth));
    terrain.set(layer::BIOME, Raster::filled(65, 65, biome));
    terrain
}

fn share(terrain: &Terrain, name: &str) -> f64 {
    let layer = Materials::layer(name).unwrap();
    let Ok(raster) = terrain.get_named::<Weight>(&layer) else { return 0.0 };
    raster.as_slice().iter().map(|w| f64::from(w.0) / 255.0).sum::<f64>() / raster.as_slice().len() as f64
}

#[test]
fn the_rules_that_are_given_are_sound_and_name_known_materials() {
    let op = Materials::default();
    assert!(op.materials.len() > 20, "the file could not be read");
    assert_eq!(op.faults(), []);
    for material in &op.materials {
        assert!(orogen_core::material::named(&material.name).is_some(), "{}", material.name);
    }
    let used: BTreeSet<&str> = op.materials.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(used.len(), orogen_core::material::MATERIALS.len(), "every material is used");
}

#[test]
fn every_biome_is_dressed_without_the_fallback() {
    let expected = [
        ("snow", "snow"),
        ("tundra", "lichen"),
        ("bare", "gravel"),
        ("scorched", "ash"),
        ("taiga", "forest_floor"),
        ("shrubland", "dry_grass"),
        ("temperate desert", "dry_grass"),
        ("temperate rain forest", "forest_floor"),
        ("deciduous forest", "forest_floor"),
        ("grassland", "grass"),
        ("tropical rain forest", "forest_floor"),
        ("tropical seasonal forest", "forest_floor"),
        ("subtropical desert", "sand"),
        ("beach", "sand"),
        ("lake", "mud"),
        ("ocean", "sand"),
    ];
    for (biome, info) in BIOMES.iter().enumerate() {
        let ctx = Ctx::new(Seed(1));
        let made = Materials::default().run(ground(biome as u8), &ctx).unwrap();
        let figures = ctx.take_figures();
        let area = figures.iter().find(|figure| figure.name == "fallback_area").unwrap().value;
        assert!(area < 0.02 * 4e6, "{}: {area} m2 of fallback", info.name);
        let (_, main) = expected.iter().find(|(name, _)| *name == info.name).unwrap();
        let found = share(&made, main);
        assert!(found > 0.25, "{}: {found} of {main}", info.name);
    }
}

#[test]
fn bytes_sum_to_255_and_follow_the_products() {
    let mut terrain = ground(9);
    terrain.set(layer::MOISTURE, Raster::from_fn(65, 65, |col, _| col as f32 / 64.0));
    let rule = |span: [f64; 2], fade: f64| Rule { moisture: Some(Span(span)), fade, ..Rule::default() };
    let op = Materials {
        materials: vec![
            Material { name: "grass".into(), rules: vec![rule([0.5, 1.0], 0.3)] },
            Material { name: "dry_grass".into(), rules: vec![rule([0.0, 0.3], 0.4)] },
            Material { name: "grass".into(), rules: vec![rule([0.9, 1.0], 0.0)] },
        ],
        rock: None,
        fallback: "soil".into(),
    };
    let made = op.run(terrain, &Ctx::silent()).unwrap();
    let of = |name: &str| made.get_named::<Weight>(&Materials::layer(name).unwrap()).unwrap().row(7).to_vec();
    let (grass, dry, soil) = (of("grass"), of("dry_grass"), of("soil"));
    let ramp = |t: f64| t.clamp(0.0, 1.0) * t.clamp(0.0, 1.0) * (3.0 - 2.0 * t.clamp(0.0, 1.0));
    for col in 0..65 {
        assert_eq!(u32::from(grass[col].0) + u32::from(dry[col].0) + u32::from(soil[col].0), 255);
        let m = f64::from(col as f32 / 64.0);
        let wet = ramp((m - 0.2) / 0.3) + f64::from(u8::from(m as f32 >= 0.9));
        let brown = 1.0 - ramp((m - 0.3) / 0.4);
        assert!((f64::from(grass[col].0) - 255.0 * wet / (wet + brown)).abs() <= 1.01, "column {col}");
    }
    assert!(soil.iter().all(|w| w.0 == 0));
}

#[test]
fn where_nothing_fits_the_fallback_lies_and_its_area_is_told() {
    let op = Materials {
        materials: vec![Material {
            name: "snow".into(),
            rules: vec![Rule { height_m: Some(Span([5000.0, 9000.0])), ..Rule::default() }],
        }],
        rock: None,
        fallback: "soil".into(),
    };
    let ctx = Ctx::silent();
    let made = op.run(ground(9), &ctx).unwrap();
    assert_eq!(share(&made, "soil"), 1.0);
    let figure = ctx.take_figures().remove(0);
    assert_eq!((figure.name.as_str(), figure.unit.as_str()), ("fallback_area", "m2"));
    assert!((figure.value / (65.0 * 65.0 * 31.25 * 31.25) - 1.0).abs() < 1e-9);
    assert_eq!(
        ctx.take_warnings(),
        ["no rule of any material fits 100 % of the land, which is \"soil\" therefore"]
    );
}

#[test]
fn windows_equal_the_whole() {
    assert_windows(&Materials::default());
}

/// The main material of every 32 m of hills with a coast, with the biomes of their climate.
fn main_materials(samples: usize) -> Raster<u8> {
    let frame = Frame::square(8192.0, samples).unwrap();
    let hills = |col: usize, row: usize| {
        let (x, y) = (frame.x_m(col), frame.y_m(row));
        let wave = |long: f64, turn: f64| math::sin(x / long + turn) * math::cos(y / long - turn);
        (700.0 + 900.0 * wave(1100.0, 0.3) + 220.0 * wave(420.0, 1.1) + 45.0 * wave(130.0, 2.0)) as f32
    };
    let wet = |col: usize, row: usize| {
        (0.5 + 0.5 * math::sin(frame.x_m(col) / 1700.0) * math::cos(frame.y_m(row) / 1300.0)) as f32
    };
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, Raster::from_fn(samples, samples, hills));
    terrain.set(layer::MOISTURE, Raster::from_fn(samples, samples, wet));
    let ctx = Ctx::new(Seed(4)).in_world(frame);
    let climate = crate::cover::Biomes {
        temperature_c: 16.0.into(),
        lapse_c_per_km: 9.0,
        ..crate::cover::Biomes::default()
    };
    let terrain = Op::apply(&climate, terrain, &ctx).unwrap();
    let terrain = Op::apply(&Materials::default(), terrain, &ctx).unwrap();
    let families = weights::families(terrain.layers());
    let (members, skip) = (&families["material"], (samples - 1) / 256);
    Raster::from_fn(257, 257, |col, row| {
        let of = |i: usize| members[i].1.row(row * skip)[col * skip].0;
        (1..members.len()).fold(0, |best, i| if of(i) > of(best) { i } else { best }) as u8
    })
}

#[test]
fn a_preview_has_the_same_cover() {
    let (coarse, fine) = (main_materials(257), main_materials(1025));
    let alike = coarse.as_slice().iter().zip(fine.as_slice()).filter(|(a, b)| a == b).count();
    let share = alike as f64 / coarse.as_slice().len() as f64;
    println!("{:.1} % of cells have the same main material", 100.0 * share);
    assert!(share >= 0.92, "{share}");
    let kinds: BTreeSet<u8> = fine.as_slice().iter().copied().collect();
    assert!(kinds.len() >= 6, "{} materials are too few to tell", kinds.len());
}

#[test]
fn a_bad_name_is_a_sentence() {
    let op = Materials { fallback: "Wet Rock".into(), ..Materials::default() };
    assert_eq!(
        op.faults()[0].to_string(),
        "fallback: \"Wet Rock\" is not a valid name; use a word of a-z, 0-9 and _"
    );
}

#[test]
fn land_of_one_rock_has_no_other() {
    let op = Materials { rock: Some(Rock::Limestone), ..Materials::default() };
    let names: Vec<String> = op.names().iter().map(|name| name.as_str().to_owned()).collect();
    assert!(names.contains(&String::from("material.limestone")));
    for other in ["granite", "basalt", "sandstone"] {
        assert!(!names.contains(&format!("material.{other}")), "{other}");
    }
}

#[test]
fn a_fallback_that_is_no_material_gets_a_sentence() {
    let said = |fallback: &str| {
        let op = Materials { fallback: fallback.into(), ..Materials::default() };
        op.faults().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(said("mudd"), "fallback: no material \"mudd\"; did you mean \"mud\"?");
    assert_eq!(said("moss"), "");
}

/// Land behind the beach that no tree stands on, as the sea comes there, was bare forest floor.
#[test]
fn low_shores_without_trees_are_salt_meadows() {
    use orogen_core::biome::Biome;
    let frame = Frame::square(640.0, 65).unwrap();
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, Raster::from_fn(65, 65, |col, _| if col < 32 { 0.1 } else { 30.0 }));
    terrain.set(layer::BIOME, Raster::filled(65, 65, Biome::DeciduousForest.id()));
    let made = Op::apply(&Materials::default(), terrain, &Ctx::new(Seed(3))).unwrap();
    let share = |name: &'static str, col: usize| {
        let weights = made.get_named::<Weight>(&LayerName::fixed(name)).unwrap();
        (0..65).map(|row| f64::from(weights.row(row)[col].0)).sum::<f64>() / 65.0 / 255.0
    };
    assert!(share("material.grass", 10) > 0.9 && share("material.forest_floor", 10) < 0.01);
    // Glades and soil share the rest.
    assert!(share("material.forest_floor", 55) > 0.4 && share("material.grass", 55) < 0.5);
}

/// Shallows of lakes, too shallow for the biome, were gravel like the beds of rivers.
#[test]
fn gravel_lies_where_rivers_run_and_mud_in_standing_water() {
    let frame = Frame::square(640.0, 65).unwrap();
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, Raster::filled(65, 65, 100.0));
    terrain.set(layer::BIOME, Raster::filled(65, 65, orogen_core::biome::Biome::Taiga.id()));
    terrain.set(layer::WATER, Raster::filled(65, 65, 0.3f32));
    terrain.set(layer::FLOW, Raster::from_fn(65, 65, |_, row| if row == 32 { 2e6 } else { 1e4 }));
    let made = Materials::default().run(terrain, &Ctx::silent()).unwrap();
    let of = |name: &str, row: usize| {
        let layer = Materials::layer(name).unwrap();
        made.get_named::<Weight>(&layer).map_or(0, |weights| weights.row(row)[30].0)
    };
    assert!(of("gravel", 32) > 60 && of("mud", 32) == 0, "{} {}", of("gravel", 32), of("mud", 32));
    assert!(of("mud", 10) > 60 && of("gravel", 10) == 0, "{} {}", of("mud", 10), of("gravel", 10));
}

/// A material with two entries was explained as two materials.
#[test]
fn an_explanation_says_the_share_of_a_material_once() {
    let rule = |from: f64| vec![Rule { height_m: Some(Span([from, 5000.0])), ..Rule::default() }];
    let of = |name: &str, from: f64| Material { name: name.into(), rules: rule(from) };
    let op = Materials {
        materials: vec![of("grass", 0.0), of("soil", 1.0), of("grass", 2.0), of("sand", 3000.0)],
        rock: None,
        fallback: "soil".into(),
    };
    let made = op.run(ground(9), &Ctx::silent()).unwrap();
    let reasons = Op::explain(&op, &made, [900.0, 900.0], &Ctx::silent()).unwrap();
    let said: Vec<(&str, &str)> = reasons.iter().map(|r| (r.of.as_str(), r.found.as_str())).collect();
    assert_eq!(said, [("material grass", "67 %"), ("material soil", "33 %")]);
    let entries: Vec<&str> = reasons[0].because.iter().map(|cause| cause.name.as_str()).collect();
    assert_eq!(entries, ["by entry 1", "height", "by entry 3", "height"]);
}
