use orogen_core::param::Segment;
use orogen_core::{Ctx, Frame, Raster, Seed, Terrain, layer, math};

use super::{Asked, BLOCK, BiomeRef, Buffers, Compiled, Curve, Needs, Rule, Shape, Span, faults, reach_m};

const SIZE_M: f64 = 8192.0;

fn rule(set: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule = Rule::default();
    set(&mut rule);
    rule
}

/// Hills with a coast, given at any number of samples.
fn land(samples: usize) -> Terrain {
    let frame = Frame::square(SIZE_M, samples).unwrap();
    let mut terrain = Terrain::new(frame);
    let hills = |col: usize, row: usize| {
        let (x, y) = (frame.x_m(col), frame.y_m(row));
        let wave = |long: f64, turn: f64| math::sin(x / long + turn) * math::cos(y / long - turn);
        (80.0 + 320.0 * wave(900.0, 0.3) + 90.0 * wave(310.0, 1.1) + 12.0 * wave(95.0, 2.0)) as f32
    };
    terrain.set(layer::HEIGHT, Raster::from_fn(samples, samples, hills));
    let wet = |col: usize, row: usize| {
        (0.5 + 0.5 * math::sin(frame.x_m(col) / 1700.0) * math::cos(frame.y_m(row) / 1300.0)) as f32
    };
    terrain.set(layer::MOISTURE, Raster::from_fn(samples, samples, wet));
    terrain.set(layer::BIOME, Raster::from_fn(samples, samples, |col, _| (col * 16 / samples) as u8));
    terrain
}

/// Rules of every kind.
fn many() -> Vec<Vec<Rule>> {
    vec![
        vec![
            rule(|r| (r.slope_deg, r.fade) = (Some(Span([0.0, 20.0])), 6.0)),
            rule(|r| r.moisture = Some(Span([0.3, 1.0]))),
            rule(|r| (r.height_m, r.fade) = (Some(Span([0.0, 250.0])), 30.0)),
        ],
        vec![
            rule(|r| (r.slope_deg, r.fade) = (Some(Span([20.0, 90.0])), 6.0)),
            rule(|r| {
                (r.noise, r.curve, r.strength) = (Some(Span([0.0, 1.0])), Curve::Named(Shape::Rise), 0.5)
            }),
        ],
        vec![
            rule(|r| (r.coast_m, r.fade) = (Some(Span([-60.0, 80.0])), 30.0)),
            rule(|r| r.curvature_per_m = Some(Span([-0.004, 1.0]))),
        ],
        vec![
            rule(|r| (r.height_m, r.curve) = (Some(Span([150.0, 450.0])), Curve::Named(Shape::Bell))),
            rule(|r| (r.biome, r.except) = (vec!["snow".into(), BiomeRef::Number(9)], true)),
        ],
        vec![rule(|r| {
            r.moisture = Some(Span([0.0, 0.6]));
            r.curve = Curve::Points(vec![[0.0, 1.0], [0.25, 0.2], [1.0, 0.6]]);
        })],
    ]
}

fn weights(terrain: &Terrain, things: &[Vec<Rule>]) -> Vec<Raster<f32>> {
    let slices: Vec<&[Rule]> = things.iter().map(Vec::as_slice).collect();
    let ctx = Ctx::new(Seed(3)).in_world(Frame::square(SIZE_M, 257).unwrap());
    let compiled = Compiled::new(&slices, Asked::Rows, terrain, &ctx).unwrap();
    (0..compiled.len())
        .map(|thing| {
            let mut out = Raster::filled(terrain.frame().cols(), terrain.frame().rows(), 0.0);
            out.par_rows(|row, line| compiled.row(thing, row, &mut Buffers::default(), line));
            out
        })
        .collect()
}

/// The smooth ramp from 0 to 1, as every handbook has it.
fn ramp(from: f64, to: f64, x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[test]
fn the_weight_is_the_product_of_plainly_reckoned_factors() {
    let terrain = land(129);
    let (height, moisture) = (terrain.get(layer::HEIGHT).unwrap(), terrain.get(layer::MOISTURE).unwrap());
    let found = weights(&terrain, &many());
    for row in 0..129 {
        for col in 0..129 {
            let (h, m) = (f64::from(height.row(row)[col]), f64::from(moisture.row(row)[col]));
            let bell = if (150.0..=450.0).contains(&h) {
                let t = (h - 150.0) / 300.0;
                16.0 * (t * (1.0 - t)) * (t * (1.0 - t))
            } else {
                0.0
            };
            let excluded = matches!(col * 16 / 129, 0 | 9);
            let fourth = if excluded { 0.0 } else { bell };
            assert!((f64::from(found[3].row(row)[col]) - fourth).abs() < 1e-5, "bell at {col}, {row}");
            let t = m / 0.6;
            let points = if m > 0.6 {
                0.0
            } else if t < 0.25 {
                1.0 - 0.8 * t / 0.25
            } else {
                0.2 + 0.4 * (t - 0.25) / 0.75
            };
            assert!((f64::from(found[4].row(row)[col]) - points).abs() < 2e-5, "points at {col}, {row}");
        }
    }
    // Slopes against differences of the land's own formula: half a cell is 32 m here, so the length is two cells.
    let step = SIZE_M / 128.0;
    for (row, col) in (1..128).flat_map(|row| (1..128).map(move |col| (row, col))) {
        let at = |dc: isize, dr: isize| f64::from(height.clamped(col as isize + dc, row as isize + dr));
        let p =
            ((at(1, -1) - at(-1, -1)) + 2.0 * (at(1, 0) - at(-1, 0)) + (at(1, 1) - at(-1, 1))) / (8.0 * step);
        let q =
            ((at(-1, -1) - at(-1, 1)) + 2.0 * (at(0, -1) - at(0, 1)) + (at(1, -1) - at(1, 1))) / (8.0 * step);
        let slope = math::atan(math::hypot(p, q)).to_degrees();
        let (h, m) = (at(0, 0), f64::from(moisture.row(row)[col]));
        let heights = (1.0 - ramp(250.0, 280.0, h)) * ramp(-30.0, 0.0, h);
        let expected = (1.0 - ramp(20.0, 26.0, slope)) * f64::from(u8::from(m as f32 >= 0.3)) * heights;
        assert!((f64::from(found[0].row(row)[col]) - expected).abs() < 1e-4, "{col}, {row}");
    }
}

#[test]
fn weights_lie_in_0_to_1_and_places_on_samples_have_those_of_rows() {
    let terrain = land(65);
    let (things, frame) = (many(), *terrain.frame());
    let rows = weights(&terrain, &things);
    let slices: Vec<&[Rule]> = things.iter().map(Vec::as_slice).collect();
    let compiled = Compiled::new(&slices, Asked::Rows, &terrain, &Ctx::new(Seed(3))).unwrap();
    for (thing, raster) in rows.iter().enumerate() {
        assert!(raster.as_slice().iter().all(|w| (0.0..=1.0).contains(w)));
        assert!(raster.as_slice().iter().any(|w| *w > 0.0), "thing {thing} is nowhere");
        for (col, row) in [(0, 0), (13, 40), (64, 64), (33, 7)] {
            let place = [frame.x_m(col), frame.y_m(row)];
            let at = compiled.at(thing, place);
            assert_eq!(at, raster.row(row)[col], "thing {thing} at {col}, {row}");
            let product: f64 = compiled.explain(thing, place).iter().map(|factor| factor.weight).product();
            assert!((product - f64::from(at)).abs() < 1e-6);
        }
    }
}

#[test]
fn blocks_have_the_bits_of_places_in_any_order() {
    // Longer than a block, and not a multiple of one.
    let terrain = land(BLOCK + 45);
    let (things, frame) = (many(), *terrain.frame());
    let slices: Vec<&[Rule]> = things.iter().map(Vec::as_slice).collect();
    let compiled = Compiled::new(&slices, Asked::Rows, &terrain, &Ctx::new(Seed(3))).unwrap();
    let before = Compiled::new(&slices, Asked::Places, &terrain, &Ctx::new(Seed(3))).unwrap();
    let mut buffers = Buffers::default();
    for row in [0, 70, 3, 70, BLOCK + 44] {
        for cols in [BLOCK..BLOCK + 45, 0..BLOCK] {
            for thing in (0..compiled.len()).rev() {
                let mut out = vec![9.0; cols.len()];
                let any = compiled.block(thing, row, cols.clone(), &mut buffers, &mut out);
                assert_eq!(any, out.iter().any(|w| *w > 0.0));
                for (col, weight) in cols.clone().zip(&out) {
                    let place = [frame.x_m(col), frame.y_m(row)];
                    assert_eq!(compiled.at(thing, place), *weight, "thing {thing} at {col}, {row}");
                    assert_eq!(
                        before.at(thing, place),
                        *weight,
                        "measured at first: {thing} at {col}, {row}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_preview_has_the_same_cover() {
    let dominant = |samples: usize| {
        let all = weights(&land(samples), &many());
        Raster::from_fn(257, 257, move |col, row| {
            let skip = (samples - 1) / 256;
            let of = |thing: &Raster<f32>| thing.row(row * skip)[col * skip];
            let best = |best: usize, i: usize| if of(&all[i]) > of(&all[best]) { i } else { best };
            (1..all.len()).fold(0, best)
        })
    };
    let (coarse, fine) = (dominant(257), dominant(1025));
    let alike = coarse.as_slice().iter().zip(fine.as_slice()).filter(|(a, b)| a == b).count();
    let share = alike as f64 / coarse.as_slice().len() as f64;
    println!("{:.1} % of cells alike", 100.0 * share);
    assert!(share >= 0.92, "{share}");
}

#[test]
fn windows_equal_the_whole() {
    let things = many();
    let whole = land(257);
    let rules = || things.iter().flatten();
    let all = weights(&whole, &things);
    for (col, row, cols, rows) in [(60, 50, 40, 33), (0, 0, 30, 30), (200, 220, 57, 37)] {
        let window = whole.frame().window(col, row, cols, rows);
        let cut = window.expanded(reach_m(rules(), &window)).clipped(&whole.frame().extent()).unwrap();
        let part = weights(&whole.crop(&cut).unwrap(), &things);
        let (left, top) = cut.offset_of(&window).unwrap();
        for (thing, (part, all)) in part.iter().zip(&all).enumerate() {
            let same = all.crop(col as usize, row as usize, cols, rows);
            assert_eq!(part.crop(left, top, cols, rows), same, "thing {thing} at {col}, {row}");
        }
    }
}

#[test]
fn reach_is_as_far_as_a_weight_changes() {
    let frame = Frame::square(1000.0, 101).unwrap();
    let coast = |span: [f64; 2], fade: f64| {
        reach_m(&[rule(|r| (r.coast_m, r.fade) = (Some(Span(span)), fade))], &frame)
    };
    assert!((coast([0.0, 200.0], 50.0) - 270.0).abs() < 1.0);
    // Beyond 200 m nothing changes any more.
    assert!((coast([200.0, 1e6], 50.0) - 220.0).abs() < 1.0);
    assert_eq!(reach_m(&[rule(|r| r.height_m = Some(Span([0.0, 1.0])))], &frame), 0.0);
}

#[test]
fn rivers_are_measured_from_their_banks() {
    let mut terrain = land(65);
    let mut rivers = orogen_core::vector::VectorLayer::new(orogen_core::vector::Shape::Lines);
    rivers.push([[0.0, 4096.0, 0.0], [8192.0, 4096.0, 0.0]]);
    assert!(rivers.set_vertex_attribute("width_m", orogen_core::vector::Column::Number(vec![100.0, 100.0])));
    terrain.set_vector("rivers", rivers);
    let near = vec![vec![rule(|r| r.river_m = Some(Span([0.0, 300.0])))]];
    let found = &weights(&terrain, &near)[0];
    for row in 0..65 {
        let apart = (terrain.frame().y_m(row) - 4096.0).abs() - 50.0;
        assert_eq!(found.row(row)[20], if apart <= 300.0 { 1.0 } else { 0.0 }, "row {row}");
    }
}

#[test]
fn an_image_decides_where_it_shows_something() {
    let mut terrain = land(33);
    terrain.set(layer::SATELLITE, Raster::from_fn(33, 33, |col, _| (col % 8) as u8));
    let forest = rule(|rule| rule.satellite = vec![super::Kind::Forest, super::Kind::Shrub]);
    let weights = &weights(&terrain, &[vec![forest]])[0];
    for col in 0..33 {
        let expected = if [0, 6, 7].contains(&(col % 8)) { 1.0 } else { 0.0 };
        assert_eq!(weights.row(5)[col], expected, "class {}", col % 8);
    }
}

#[test]
fn a_layer_that_is_not_there_is_a_sentence_or_a_weight() {
    let terrain = land(33);
    let needed = [rule(|r| r.soil_m = Some(Span([0.2, 10.0])))];
    let error = Compiled::new(&[&needed], Asked::Rows, &terrain, &Ctx::silent()).err().unwrap().to_string();
    assert!(error.starts_with("no layer \"soil\" here; available:"), "{error}");
    let optional = [rule(|r| (r.soil_m, r.without) = (Some(Span([0.2, 10.0])), Some(0.25)))];
    let compiled = Compiled::new(&[&optional], Asked::Rows, &terrain, &Ctx::silent()).unwrap();
    assert_eq!(compiled.at(0, [100.0, 100.0]), 0.25);
    assert!(Needs::of(&needed).reads.contains("soil") && Needs::of(&optional).uses.contains("soil"));
}

#[test]
fn bad_rules_get_a_sentence() {
    let said = |rule: Rule| {
        let found = faults(&[rule], &[Segment::Key("rules".into())]);
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        said(rule(|r| r.slope_deg = Some(Span([35.0, 0.0])))),
        "rules[0].slope_deg: the range starts at 35 and ends at 0: swap them"
    );
    assert_eq!(
        said(Rule::default()),
        "rules[0]: a rule names what it is about, as in { slope_deg = [0, 35], fade = 5 }"
    );
    let two = rule(|r| (r.slope_deg, r.salt) = (Some(Span([0.0, 1.0])), Some(Span([0.0, 1.0]))));
    assert_eq!(
        said(two),
        "rules[0]: a rule is about one thing, and this one names slope_deg and salt: write a rule for each"
    );
    let empty = rule(|r| (r.salt, r.curve) = (Some(Span([0.0, 1.0])), Curve::Points(Vec::new())));
    assert_eq!(said(empty), "rules[0].curve: a curve needs two points at least");
    let back =
        rule(|r| (r.salt, r.curve) = (Some(Span([0.0, 1.0])), Curve::Points(vec![[0.5, 0.0], [0.5, 1.0]])));
    assert_eq!(said(back), "rules[0].curve: 0.5 is not above 0.5, that of the point before");
    assert_eq!(
        said(rule(|r| r.biome = vec!["tiaga".into()])),
        "rules[0].biome: no biome \"tiaga\"; did you mean \"taiga\"?"
    );
    assert_eq!(
        said(rule(|r| r.layer = Some("mask.pines".into()))),
        "rules[0]: say which values of \"mask.pines\" are meant: between = [0.5, 1], or is = [1, 2]"
    );
    assert_eq!(said(rule(|r| (r.slope_deg, r.fade) = (Some(Span([0.0, 35.0])), 5.0))), "");
}

#[test]
fn rules_read_as_sentences_in_toml() {
    let text = r#"
        rules = [
            { slope_deg = [0, 35], fade = 5 },
            { moisture = [0.2, 1.0], curve = "rise" },
            { temperature_c = [-3, 8], curve = [[0.0, 0.0], [0.4, 1.0], [1.0, 0.5]] },
            { biome = ["taiga", 17] },
            { layer = "mask.pines", between = [0.5, 1.0], without = 1.0 },
        ]
    "#;
    #[derive(serde::Deserialize)]
    struct Holder {
        rules: Vec<Rule>,
    }
    let Holder { rules } = toml::from_str(text).unwrap();
    assert!(faults(&rules, &[]).is_empty());
    assert_eq!(rules[0].slope_deg, Some(Span([0.0, 35.0])));
    assert_eq!(rules[0].to_string(), "slope_deg 0 to 35, fading over 5");
    assert_eq!(rules[3].to_string(), "in taiga, 17");
}
