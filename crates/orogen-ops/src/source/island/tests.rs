//! What the operator promises, on whole islands.

use orogen_core::biome::Biome;
use orogen_core::testkit::assert_close;
use orogen_core::{Seed, param};

use super::graph::{CenterIx, CornerIx};
use super::map::NONE;
use super::*;

fn island(text: &str) -> Island {
    param::parse(&toml::from_str(text).unwrap()).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn frame(samples: usize) -> Frame {
    Frame::square(8192.0, samples).unwrap()
}

fn build_on(op: &Island, world: Frame, window: Frame, seed: &str) -> Terrain {
    let ctx = Ctx::new(Seed::from_text(seed)).in_world(world);
    op.apply(Terrain::new(window), &ctx).unwrap()
}

fn build(op: &Island, samples: usize, seed: &str) -> Terrain {
    build_on(op, frame(samples), frame(samples), seed)
}

fn grown(op: &Island, seed: &str) -> (Map, Place, Land) {
    let ctx = Ctx::new(Seed::from_text(seed));
    let place = Place::of(&frame(129));
    let mut map = Map::grow(op, &place, &ctx).unwrap();
    let mut land = Land::new(op, &map, &place, &ctx).unwrap();
    if !op.edits.is_empty() {
        map.edit(op, &place, &land.scale, &ctx).unwrap();
        land = land.reshaped(op, &map, &place, &ctx).unwrap();
    }
    (map, place, land)
}

/// The plain form of the paper.
const PLAIN: &str =
    "ruggedness = 0\nshore_m = 0\nvalley_width_m = 0\nridges = 0\nroughness = 1\nnoise = 1\nrain = 0\n";

/// A seed whose island has lakes.
fn with_lakes() -> (Map, Place, Land) {
    (0..40)
        .map(|i| grown(&Island::default(), &format!("lake {i}")))
        .find(|(map, ..)| map.lake_level.len() > 1)
        .expect("some island has lakes")
}

#[test]
fn the_ocean_is_the_water_that_reaches_the_border() {
    let (map, ..) = with_lakes();
    let graph = &map.graph;
    let mut reached = vec![false; map.ocean.len()];
    let mut stack: Vec<CenterIx> = graph.center_ixs().filter(|&c| graph.is_border_center(c)).collect();
    while let Some(c) = stack.pop() {
        if map.is_water(c.at()) && !std::mem::replace(&mut reached[c.at()], true) {
            stack.extend(graph.center_neighbors(c));
        }
    }
    assert_eq!(reached, map.ocean);
    assert!(map.ocean.iter().any(|&o| o) && map.ocean.iter().any(|&o| !o));
}

#[test]
fn elevation_falls_to_the_coast_and_no_land_lies_below_it() {
    let (map, ..) = with_lakes();
    for q in map.graph.corner_ixs() {
        let here = map.corner.elevation[q.at()];
        let ocean = map.graph.corner_touches(q).filter(|c| map.ocean[c.at()]).count();
        let all = map.graph.corner_touches(q).count();
        let neighbors = || map.graph.corner_adjacent(q).map(|n| map.corner.elevation[n.at()]);
        if ocean == all {
            assert!(here < 0.0 && neighbors().any(|n| n > here), "sea deepens from the coast");
        } else if ocean > 0 {
            assert_eq!(here, 0.0, "coast");
        } else {
            let along_lake = map.graph.corner_touches(q).any(|c| map.lake[c.at()] != NONE);
            assert!(here > 0.0 || along_lake);
            assert!(neighbors().any(|n| n < here || along_lake && n == here), "land falls to the coast");
        }
    }
    for c in 0..map.ocean.len() {
        assert_eq!(map.center.elevation[c] < 0.0, map.ocean[c], "polygon {c}");
    }
    assert_close!(map.corner.elevation.iter().copied().fold(0.0, f64::max), 1.0, rel = 1e-12);
    assert_close!(map.corner.elevation.iter().copied().fold(0.0, f64::min), -1.0, rel = 1e-12);
}

#[test]
fn lakes_are_level_on_the_map_and_on_the_land() {
    let (map, place, land) = with_lakes();
    for c in map.graph.center_ixs() {
        let Some(&level) = map.lake_level.get(map.lake[c.at()] as usize) else { continue };
        assert_eq!(map.center.elevation[c.at()], level);
        for q in map.graph.center_corners(c) {
            assert_eq!(map.corner.elevation[q.at()], level);
        }
    }
    let frame = frame(513);
    let painted = paint(&land, &map, &place, &frame, &Ctx::silent()).unwrap();
    let biome = painted.biome.unwrap();
    // Heights are the same when nothing else is wanted.
    let height_only = std::collections::BTreeSet::from([Part::Layer(layer::HEIGHT.name())]);
    let alone = paint(&land, &map, &place, &frame, &Ctx::silent().wanting(Some(&height_only))).unwrap();
    assert!(alone.biome.is_none() && alone.climate.is_none());
    assert_eq!(alone.height, painted.height);
    let mut wet = 0;
    for row in 1..512 {
        for col in 1..512 {
            if biome.row(row)[col] != Biome::Lake.id() {
                continue;
            }
            wet += 1;
            for (c, r) in [(col + 1, row), (col, row + 1)] {
                if biome.row(r)[c] == Biome::Lake.id() {
                    assert_eq!(painted.height.row(r)[c], painted.height.row(row)[col]);
                }
            }
        }
    }
    assert!(wet > 20, "{wet} lake samples");
}

#[test]
fn rivers_reach_the_sea_and_never_lose_water() {
    for seed in ["a", "b", "658175619cff"] {
        let (map, ..) = grown(&Island::default(), seed);
        let mut springs = 0;
        for q in 0..map.volume.len() {
            if map.volume[q] == 0 {
                continue;
            }
            springs += usize::from(map.volume[q] == 1);
            let (mut at, mut steps) = (q, 0);
            while map.down[at] != NONE {
                let next = map.down[at] as usize;
                assert!(map.volume[next] > map.volume[at]);
                at = next;
                steps += 1;
                assert!(steps <= map.volume.len(), "rivers do not go round");
            }
            let mut touches = map.graph.corner_touches(CornerIx(at as u32));
            assert!(touches.any(|c| map.ocean[c.at()]), "a river ends at the ocean");
        }
        assert!(springs > 20, "{springs} springs");
    }
}

#[test]
fn river_lines_fall_to_the_sea_and_lie_on_the_land() {
    for (op, seed) in [
        (Island::default(), "a"),
        (Island::default(), "h"),
        (island("valley_width_m = 0"), "a"),
        (
            island(
                "edits = [{ kind = \"brush\", points_m = [[4000, 3000]], radius_m = 900, elevation_m = -50 }]",
            ),
            "b",
        ),
    ] {
        let (_, place, land) = grown(&op, seed);
        let world = frame(129);
        let layer = river_layer(&op, &land, &place);
        let volume = layer.vertex_numbers("volume").unwrap();
        assert!(layer.len() > 20);
        let mut scratch = Scratch::new(1);
        let mut misfit = Vec::new();
        for (i, line) in land.rivers.lines.iter().enumerate() {
            for range in layer.parts(i) {
                let points = &layer.vertices()[range.clone()];
                assert!(points.windows(2).all(|p| p[0][2] >= p[1][2]), "line {i} rises");
                assert!(volume[range].windows(2).all(|v| v[0] <= v[1]), "line {i} loses water");
                let last = points.last().unwrap();
                match line.into {
                    None => assert_eq!(last[2], 0.0, "line {i} ends in the sea"),
                    Some(other) => {
                        let range = layer.parts(other).next().unwrap();
                        assert!(layer.vertices()[range].contains(last), "line {i} joins line {other}");
                    }
                }
                for p in points {
                    let inside = world.extent();
                    assert!((inside.min[0]..=inside.max[0]).contains(&p[0]));
                    let ground = land.scale.to_m(land.height(place.to_map([p[0], p[1]]), &mut scratch).0);
                    misfit.push((ground - p[2]).abs());
                }
            }
        }
        misfit.sort_by(f64::total_cmp);
        let most = misfit[misfit.len() * 95 / 100];
        let allowed = if op.valley_width_m > 0.0 { 6.0 } else { 120.0 };
        assert!(most < allowed, "95 % of vertices lie within {most} m of the land");
    }
}

#[test]
fn a_window_equals_the_whole_to_the_bit() {
    let op = Island::default();
    let world = frame(257);
    let whole = build_on(&op, world, world, "window");
    for window in [world.window(90, 100, 70, 33), world.window(0, 0, 1, 257), world.window(250, 250, 7, 7)] {
        assert_eq!(build_on(&op, world, window, "window"), whole.crop(&window).unwrap());
    }
    // Finer samples between the coarse ones change nothing at the coarse ones.
    let fine = build_on(&op, world, frame(513), "window");
    let (coarse, fine) = (whole.get(layer::HEIGHT).unwrap(), fine.get(layer::HEIGHT).unwrap());
    for row in (0..257).step_by(16) {
        for col in 0..257 {
            assert_eq!(coarse.row(row)[col].to_bits(), fine.row(2 * row)[2 * col].to_bits());
        }
    }
}

#[test]
fn thread_count_changes_nothing() {
    let build_with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| build(&Island::default(), 129, "threads"))
    };
    assert_eq!(build_with(1), build_with(3));
}

#[test]
fn the_preview_is_faithful() {
    let (coarse, fine) = (build(&Island::default(), 513, "x"), build(&Island::default(), 1025, "x"));
    let (coarse, fine) = (coarse.get(layer::HEIGHT).unwrap(), fine.get(layer::HEIGHT).unwrap());
    let mut squares = 0.0;
    for row in 0..1025 {
        for col in 0..1025 {
            let preview = coarse.bilinear(col as f64 / 2.0, row as f64 / 2.0);
            let error = f64::from(preview - fine.row(row)[col]);
            squares += error * error;
        }
    }
    let rmse = (squares / (1025.0 * 1025.0)).sqrt() / 900.0;
    assert!(rmse < 0.01, "{rmse} of the relief");
}

#[test]
fn every_seed_makes_a_good_island() {
    let op = Island::default();
    for i in 0..50 {
        let terrain = build(&op, 257, &format!("seed {i}"));
        let height = terrain.get(layer::HEIGHT).unwrap();
        let (low, high) = height.range().unwrap();
        // Coarse samples may pass the summit by, but nothing may exceed it.
        assert!((560.0..=707.0).contains(&high), "seed {i}: peak {high}");
        assert!((-202.0..=-190.0).contains(&low), "seed {i}: depth {low}");
        let edge = (0..257).flat_map(|k| [(k, 0), (k, 256), (0, k), (256, k)]);
        assert!(
            edge.into_iter().all(|(col, row)| height.row(row)[col] < 0.0),
            "seed {i}: land at the border"
        );
        let land = height.as_slice().iter().filter(|&&h| h > 0.0).count() as f64 / (257.0 * 257.0);
        assert!((0.2..0.6).contains(&land), "seed {i}: land share {land}");
        let moisture = terrain.get(layer::MOISTURE).unwrap().range().unwrap();
        assert!(moisture.0 >= 0.0 && moisture.1 <= 1.0001, "seed {i}: {moisture:?}");
        let biomes = terrain.get(layer::BIOME).unwrap().as_slice();
        let kinds = Biome::from_id(15).into_iter().count() + (0..15).filter(|id| biomes.contains(id)).count();
        assert!(kinds >= 9, "seed {i}: {kinds} biomes");
    }
}

#[test]
fn the_summit_is_the_peak_at_any_sampling() {
    for seed in ["a", "b", "c", "d", "e", "f"] {
        let height = build(&Island::default(), 1025, seed);
        let (low, high) = height.get(layer::HEIGHT).unwrap().range().unwrap();
        assert_close!(high, 700.0, rel = 0.01);
        assert_close!(low, -200.0, rel = 0.01);
    }
}

#[test]
fn the_plain_form_of_the_paper_works_too() {
    let plain = "ruggedness = 0\nshore_m = 0\nvalley_width_m = 0\nridges = 0\nroughness = 1\nnoise = 1\nrain = 0\nnoise_frequency = 2";
    let terrain = build(&island(plain), 257, "plain");
    let (low, high) = terrain.get(layer::HEIGHT).unwrap().range().unwrap();
    assert!(high > 600.0 && low < -180.0, "{low} to {high}");
    // Without ruggedness elevations are whole steps.
    let (map, ..) = grown(&island(plain), "plain");
    let mut levels: Vec<f64> = map.corner.elevation.iter().copied().filter(|e| *e > 0.0).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    for level in &levels {
        let steps = level / levels[0];
        assert_close!(steps, steps.round(), abs = 1e-9);
    }
}

#[test]
fn an_edit_does_what_it_says_and_leaves_the_rest() {
    let plain = build(&Island::default(), 257, "edit");
    let at = |terrain: &Terrain, x: f64, y: f64| {
        let [col, row] = terrain.frame().locate(x, y);
        let (col, row) = (col.round() as usize, row.round() as usize);
        (
            f64::from(terrain.get(layer::HEIGHT).unwrap().row(row)[col]),
            f64::from(terrain.get(layer::TEMPERATURE).unwrap().row(row)[col]),
            f64::from(terrain.get(layer::MOISTURE).unwrap().row(row)[col]),
            Biome::from_id(terrain.get(layer::BIOME).unwrap().row(row)[col]).unwrap(),
        )
    };
    let edited = |edit: &str| build(&island(&format!("noise = 0\nedits = [{edit}]")), 257, "edit");

    // An island out at sea, at its height.
    let raised = edited("{ kind = \"brush\", points_m = [[700, 700]], radius_m = 1000, elevation_m = 300 }");
    assert!(at(&plain, 700.0, 700.0).0 < -20.0);
    let (height, temperature, ..) = at(&raised, 700.0, 700.0);
    assert!((200.0..320.0).contains(&height), "{height}");
    assert!(temperature < 20.0, "raised ground is colder: {temperature}");
    let (far, unedited) = (build(&island("noise = 0"), 257, "edit"), at(&raised, 4096.0, 7000.0).0);
    assert_eq!(at(&far, 4096.0, 7000.0).0, unedited, "far ground stays where it was");

    // Climate alone: temperature and moisture change, the biome follows, the ground stays.
    let climate = edited(
        "{ kind = \"brush\", points_m = [[3500, 4100], [4700, 4100]], radius_m = 1500, temperature_c = -30, moisture = 1 }",
    );
    let (height, temperature, moisture, biome) = at(&climate, 4100.0, 4100.0);
    assert!(temperature < -25.0 && moisture > 0.9, "{temperature} {moisture}");
    assert_eq!(biome, Biome::Snow);
    assert_close!(height, at(&far, 4100.0, 4100.0).0, abs = 60.0);

    // One polygon, by place and by number, added to.
    let (map, place, land) = grown(&island("noise = 0"), "edit");
    let c = map.locator.locate([0.1, 0.1]);
    let [x, y] = place.to_world(map.graph.center(c));
    let by_place = island(&format!(
        "noise = 0\nedits = [{{ kind = \"polygon\", at_m = [{x}, {y}], elevation_m = 120, mode = \"add\" }}]"
    ));
    let by_index = island(&format!(
        "noise = 0\nedits = [{{ kind = \"polygon\", index = {}, elevation_m = 120, mode = \"add\" }}]",
        c.0
    ));
    let (changed, ..) = grown(&by_place, "edit");
    assert_eq!(changed.center.elevation, grown(&by_index, "edit").0.center.elevation);
    let metres = |map: &Map| land.scale.elevation_to_m(map.center.elevation[c.at()], 1.5);
    assert_close!(metres(&changed), metres(&map) + 120.0, abs = 1e-6);
    let differing =
        changed.center.elevation.iter().zip(&map.center.elevation).filter(|(a, b)| a != b).count();
    assert_eq!(differing, 1);
}

#[test]
fn sunk_land_becomes_sea_or_lake_and_lakes_stay_level() {
    let sunk = island(
        "edits = [{ kind = \"brush\", points_m = [[4096, 4096]], radius_m = 900, elevation_m = -300, mode = \"add\" }]",
    );
    let (map, ..) = grown(&sunk, "sunk");
    for c in map.graph.center_ixs() {
        assert_eq!(map.center.elevation[c.at()] < 0.0, map.ocean[c.at()]);
        if let Some(&level) = map.lake_level.get(map.lake[c.at()] as usize) {
            assert!(map.graph.center_corners(c).iter().all(|q| map.corner.elevation[q.at()] == level));
        }
    }
    let drained = (0..map.volume.len()).filter(|&q| map.volume[q] > 0);
    for mut q in drained {
        for _ in 0..map.volume.len() {
            match map.down[q] {
                NONE => break,
                next => q = next as usize,
            }
        }
        assert_eq!(map.down[q], NONE, "rivers find a way out of the hollow");
    }
}

#[test]
fn bad_edits_are_refused_with_a_sentence() {
    for (text, sentence) in [
        (
            "edits = [{ kind = \"polygon\" }]",
            "edits[0]: expected \"index\", the number of a polygon, or \"at_m\", a place in it",
        ),
        (
            "polygons = 10\nedits = [{ kind = \"polygon\", index = 10 }]",
            "edits[0]: polygon 10 is outside 0 to 9",
        ),
        ("summit_c = 30", "summit_c: 30 is above coast_c (24)"),
    ] {
        let faults = island(text).faults();
        assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), [sentence]);
    }
    let wrong = "edits = [{ kind = \"brush\", points_m = [], radius_m = 5, moisture = nan }]";
    let faults = param::parse::<Island>(&toml::from_str(wrong).unwrap()).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
}

#[test]
fn parameters_survive_toml() {
    let op = island(
        "edits = [{ kind = \"polygon\", index = 3, moisture = 0.5 }, { kind = \"brush\", points_m = [[1, 2]], radius_m = 5 }]",
    );
    let text = toml::to_string(&op).unwrap();
    assert_eq!(island(&text), op);
}

#[test]
fn any_number_of_polygons_works() {
    for polygons in [1, 2, 3, 4, 9, 30, 400] {
        for relax in [0, 3] {
            let terrain = build(&island(&format!("polygons = {polygons}\nrelax = {relax}")), 33, "few");
            let height = terrain.get(layer::HEIGHT).unwrap();
            assert!(height.as_slice().iter().all(|h| h.is_finite()), "{polygons} polygons");
        }
    }
    for i in 0..20 {
        let (map, ..) = grown(&island("polygons = 30"), &format!("few {i}"));
        assert!(map.ocean.iter().any(|&o| !o), "there is land");
    }
    let many = build(&island("polygons = 200000"), 33, "many");
    assert!(many.get(layer::HEIGHT).unwrap().range().unwrap().1 > 100.0);
}

#[test]
fn extreme_parameters_give_finite_land() {
    for text in [
        "noise_octaves = 16\nnoise_lacunarity = 8\nnoise_frequency = 10000",
        "perturb = 5\ncontrast = 8\nnoise = 10",
        "perturb = 0\ncontrast = 0.25\nnoise = 0\nrivers = 100000\nriver_spacing = 1",
        "valley_width_m = 100000\nvalley_depth_m = 5000",
        "shape_amplitude = 10\ndistance_scale = 0\nsize_offset = -10",
        "size_offset = 10\npolygons = 200",
        "water_share = 1\nriver_spacing = 64\nmoisture_spread = 0.999",
    ] {
        let terrain = build(&island(text), 33, "extreme");
        for layer in [layer::HEIGHT, layer::TEMPERATURE, layer::MOISTURE] {
            assert!(terrain.get(layer).unwrap().as_slice().iter().all(|v| v.is_finite()), "{text}");
        }
    }
}

#[test]
fn long_frames_keep_their_polygons_round() {
    let world = Frame::new([1e6, -2e6], [12_000.0, 3000.0], [257, 65]).unwrap();
    let terrain = build_on(&Island::default(), world, world, "long");
    let height = terrain.get(layer::HEIGHT).unwrap();
    assert!((0..257).all(|col| height.row(0)[col] < 0.0 && height.row(64)[col] < 0.0));
    let land: Vec<usize> = (0..257).filter(|&col| (0..65).any(|row| height.row(row)[col] > 0.0)).collect();
    assert!(land.len() > 80, "the island stretches with the frame: {} columns", land.len());
    let polygons = terrain.vector("polygons").unwrap();
    let (mut wide, mut high) = (0.0, 0.0);
    for i in 0..polygons.len() {
        let ring = &polygons.vertices()[polygons.parts(i).next().unwrap()];
        let span = |axis: usize| {
            let values = ring.iter().map(|p| p[axis]);
            values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
        };
        (wide, high) = (wide + span(0), high + span(1));
    }
    assert_close!(wide, high, rel = 0.1);
}

#[test]
fn the_recipe_keeps_all_defaults_but_four() {
    let text = include_str!("../../../../../recipes/island.toml");
    let recipe: toml::Table = toml::from_str(text).unwrap();
    let step = recipe["step"][0]["params"].as_table().unwrap();
    // A larger island, lower before it rises than the map alone would make it.
    let changed = Island {
        peak_m: 500.0,
        sea_depth_m: 400.0,
        distance_scale: 1.9,
        size_offset: -0.4,
        ..Island::default()
    };
    assert_eq!(param::parse::<Island>(step).unwrap(), changed);
}

#[test]
fn a_cancelled_build_stops_and_progress_never_falls() {
    use std::sync::Mutex;
    struct Watcher(Mutex<f32>, f32);
    impl orogen_core::Watch for Watcher {
        fn progress(&self, share: f32) {
            let mut last = self.0.lock().unwrap();
            assert!(share >= *last - 0.02, "{share} after {last}");
            *last = last.max(share);
        }
        fn is_cancelled(&self) -> bool {
            *self.0.lock().unwrap() > self.1
        }
    }
    let op = island("edits = [{ kind = \"polygon\", index = 3, elevation_m = 5 }]");
    for (stop, ok) in [(0.05, false), (0.5, false), (2.0, true)] {
        let watcher = Watcher(Mutex::new(0.0), stop);
        let ctx = Ctx::new(Seed(1)).watched_by(&watcher);
        let result = op.apply(Terrain::new(frame(129)), &ctx);
        assert_eq!(result.is_ok(), ok, "cancelled at {stop}");
        assert!(ok || result == Err(OpError::Cancelled));
    }
}

#[test]
fn a_spring_that_hills_drowned_makes_no_river_of_one_point() {
    for (text, seeds) in [(format!("{PLAIN}\npolygons = 1000"), 6), (String::from("shore_m = 0"), 2)] {
        for seed in 0..seeds {
            let op = island(&text);
            let terrain = build(&op, 33, &format!("i{seed}"));
            let rivers = terrain.vector("rivers").unwrap();
            assert!(rivers.len() > 10, "{text}, seed {seed}: {} rivers", rivers.len());
            let Column::Integer(into) = &rivers.feature_attributes()["into"] else { panic!("no numbers") };
            let line_of = |i: usize| &rivers.vertices()[rivers.parts(i).next().unwrap_or(0..0)];
            for (i, &into) in into.iter().enumerate() {
                let line = line_of(i);
                assert!(line.len() >= 2, "{text}, seed {seed}: river {i} has {} points", line.len());
                let end = line[line.len() - 1];
                match usize::try_from(into) {
                    Err(_) => assert_eq!(end[2], 0.0, "river {i} ends above the sea"),
                    Ok(into) => {
                        assert!(
                            line_of(into).iter().any(|p| p[..2] == end[..2]),
                            "river {i} does not end on {into}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn more_polygons_make_finer_land_not_drier() {
    let mean_moisture = |text: &str, polygons: u32| {
        let means = (0..4).map(|seed| {
            let op = island(&format!("{text}\npolygons = {polygons}"));
            let (map, ..) = grown(&op, &format!("wet {seed}"));
            let land: Vec<usize> = (0..map.ocean.len()).filter(|&c| !map.ocean[c]).collect();
            land.iter().map(|&c| map.center.moisture[c]).sum::<f64>() / land.len() as f64
        });
        means.sum::<f64>() / 4.0
    };
    for text in ["rivers = 60", PLAIN] {
        let usual = mean_moisture(text, 4000);
        for polygons in [1000, 16_000, 40_000] {
            let ratio = mean_moisture(text, polygons) / usual;
            assert!((0.95..1.07).contains(&ratio), "{polygons} polygons are {ratio} times as wet");
        }
    }
}

#[test]
fn even_the_smallest_stream_has_a_moisture_of_a_half() {
    let (map, ..) = grown(&island("rain = 0"), "streams");
    let mut streams = 0;
    for q in (0..map.volume.len()).filter(|&q| map.volume[q] > 0) {
        let volume = f64::from(map.volume[q]);
        let floor = 0.5 + 0.5 * volume / (volume + 16.0);
        assert!(map.corner.moisture[q] >= floor - 1e-9, "{} at a volume of {volume}", map.corner.moisture[q]);
        streams += 1;
    }
    assert!(streams > 100, "{streams}");
}

#[test]
fn the_sea_surrounds_every_island_whatever_its_parameters() {
    let open_sea = |text: &str, seed: usize| {
        let height = build(&island(text), 33, &format!("border {seed}"));
        let height = height.get(layer::HEIGHT).unwrap();
        let border = (0..33).flat_map(|k| [(k, 0), (k, 32), (0, k), (32, k)]);
        let land = border.filter(|&(col, row)| height.row(row)[col] >= 0.0).count();
        assert_eq!(land, 0, "{text}, seed {seed}: land on the border");
    };
    for seed in 0..200 {
        open_sea(&format!("{PLAIN}polygons = 200"), seed);
        open_sea(&format!("{PLAIN}polygons = 900\nnoise_frequency = 2"), seed);
    }
    for seed in 0..20 {
        open_sea("polygons = 200\nperturb = 5\nrelax = 0", seed);
        open_sea("polygons = 300\nsize_offset = -10\nnoise = 10\nshore_m = 0", seed);
        open_sea("polygons = 12\nsize_offset = -10\nperturb = 3", seed);
    }
}

#[test]
fn a_border_raised_by_hand_stays_land() {
    let raised = island(
        "edits = [{ kind = \"brush\", points_m = [[0, 4096], [600, 4096]], radius_m = 900, elevation_m = 300 }]",
    );
    let height = build(&raised, 129, "raised border");
    let here = height.get(layer::HEIGHT).unwrap().row(64)[0];
    assert!(here > 100.0, "{here}");
}

#[test]
fn beaches_are_strips_along_the_sea() {
    for text in ["", PLAIN, "polygons = 500\nbeach_m = 10", "beach_width_m = 100"] {
        let op = island(text);
        let (map, place, land) = grown(&op, "beach");
        let frame = frame(513);
        let painted = paint(&land, &map, &place, &frame, &Ctx::silent()).unwrap();
        let biome = painted.biome.unwrap();
        let beach = |col: usize, row: usize| biome.row(row)[col] == Biome::Beach.id();
        let mut scratch = Scratch::new(1);
        let mut count = 0;
        for (col, row) in (0..513).flat_map(|r| (0..513).map(move |c| (c, r))).filter(|&(c, r)| beach(c, r)) {
            count += 1;
            let high = f64::from(painted.height.row(row)[col]);
            assert!(high <= op.beach_m + 1e-3, "{text}: a beach {high} m high");
            if count % 16 == 0 {
                let ring = (0..=8).flat_map(|r| (0..64).map(move |k| (f64::from(r) / 8.0, f64::from(k))));
                let is_near = ring.into_iter().any(|(r, k)| {
                    let angle = k * std::f64::consts::TAU / 64.0;
                    let (dx, dy) = (orogen_core::math::cos(angle), orogen_core::math::sin(angle));
                    let far = r * op.beach_width_m;
                    let at = place.to_map([frame.x_m(col) + far * dx, frame.y_m(row) + far * dy]);
                    land.height(at, &mut scratch).0 < 0.0
                });
                assert!(is_near, "{text}: no sea within {} m of the beach at {col}, {row}", op.beach_width_m);
            }
        }
        assert!(count > 200, "{text}: {count} samples of beach");
    }
    let none = build(&island("beach_width_m = 0"), 257, "beach");
    assert!(!none.get(layer::BIOME).unwrap().as_slice().contains(&Biome::Beach.id()));
}

#[test]
fn every_lake_has_one_outlet_and_rivers_are_flat_on_it() {
    let (map, _, land) = with_lakes();
    for (lake, &outlet) in map.lake_outlet.iter().enumerate() {
        let is_here = |q: usize| {
            let mut touches = map.graph.corner_touches(CornerIx(q as u32));
            touches.any(|c| map.lake[c.at()] == lake as u32)
        };
        assert!(is_here(outlet as usize) && map.volume[outlet as usize] > 1, "a river leaves lake {lake}");
        for q in (0..map.down.len()).filter(|&q| is_here(q)) {
            let leaves = map.down[q] == NONE || !is_here(map.down[q] as usize);
            assert!(!leaves || q == outlet as usize, "water leaves lake {lake} at one corner");
        }
    }
    let mut scratch = Scratch::new(1);
    let mut wet = 0;
    for line in &land.rivers.lines {
        for point in &line.points {
            let (height, is_lake) = land.height(point.at, &mut scratch);
            if is_lake {
                wet += 1;
                assert_close!(point.z, height, abs = 1e-9);
            }
        }
    }
    assert!(wet > 5, "{wet} vertices on lakes");
}

#[test]
fn courses_wander_and_never_cross() {
    let mut crossings = Vec::new();
    for seed in ["42", "658175619cff", "c", "1", "2", "3", "4", "5", "6", "7"] {
        let (.., land) = grown(&Island::default(), seed);
        let pieces: Vec<(usize, [[f64; 2]; 2])> = (land.rivers.lines.iter().enumerate())
            .flat_map(|(i, line)| line.points.windows(2).map(move |p| (i, [p[0].at, p[1].at])))
            .collect();
        let side = |[a, b]: [[f64; 2]; 2], p: [f64; 2]| {
            (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
        };
        for (k, (i, one)) in pieces.iter().enumerate() {
            for (j, other) in &pieces[k + 1..] {
                let apart = side(*one, other[0]) * side(*one, other[1]) >= 0.0
                    || side(*other, one[0]) * side(*other, one[1]) >= 0.0;
                crossings.extend((!apart).then(|| format!("{seed}: {i} and {j} at {one:?} and {other:?}")));
            }
        }
        let (mut way, mut straight) = (0.0, 0.0);
        for line in land.rivers.lines.iter().filter(|line| line.points.len() > 60) {
            let length = |a: &[f64; 2], b: &[f64; 2]| orogen_core::math::hypot(b[0] - a[0], b[1] - a[1]);
            let points: Vec<[f64; 2]> = line.points.iter().map(|p| p.at).collect();
            way += points.windows(2).map(|p| length(&p[0], &p[1])).sum::<f64>();
            straight += points.chunks(30).map(|p| length(&p[0], &p[p.len() - 1])).sum::<f64>();
        }
        assert!(way / straight > 1.08, "seed {seed}: rivers are {} as long as straight ones", way / straight);
    }
    assert!(crossings.is_empty(), "{crossings:#?}");
}

#[test]
fn rivers_start_from_nothing_below_the_crests() {
    let (map, place, land) = grown(&Island::default(), "42");
    let mut drains = vec![0; map.down.len()];
    for &down in map.down.iter().filter(|&&down| down != NONE) {
        drains[down as usize] += 1;
    }
    for q in (0..map.volume.len()).filter(|&q| map.volume[q] == 1) {
        assert!(drains[q] > 0 && map.corner.elevation[q] <= 0.7, "corner {q} cannot have a spring");
    }
    let layer = river_layer(&Island::default(), &land, &place);
    let width = layer.vertex_numbers("width_m").unwrap();
    let thin = (0..layer.len()).filter(|&i| width[layer.parts(i).next().unwrap().start] == 0.0).count();
    assert!(thin * 10 > layer.len() * 8, "{thin} of {} rivers start from nothing", layer.len());
}

#[test]
fn biomes_are_left_out_where_nobody_wants_them() {
    let op = island("polygons = 300");
    let all = op.run(Terrain::new(frame(33)), &Ctx::silent()).unwrap();
    let wanted = [Part::Layer(layer::HEIGHT.name())].into();
    let some = op.run(Terrain::new(frame(33)), &Ctx::silent().wanting(Some(&wanted))).unwrap();
    assert!(all.get(layer::BIOME).is_ok() && some.get(layer::BIOME).is_err());
    assert_eq!(all.get(layer::HEIGHT).unwrap(), some.get(layer::HEIGHT).unwrap());
}
