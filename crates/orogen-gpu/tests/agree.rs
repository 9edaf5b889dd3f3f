//! Heights of the device beside those of the processor.
#![allow(clippy::print_stdout, reason = "how far they differ is worth reading")]

use std::sync::OnceLock;

use orogen_core::{Cancel, Catalog, Frame, Operator, Raster, layer};
use orogen_gpu::{Device, Generator, Plan, TOLERANCE};
use orogen_ops::{combine, mask, shape, source};
use orogen_recipe::{Checked, Limits, Recipe, Session, SessionOptions};

/// A device, which every machine that runs the tests has: `cargo xtask test` installs Mesa's.
fn generator() -> &'static Generator {
    static GENERATOR: OnceLock<Generator> = OnceLock::new();
    GENERATOR.get_or_init(|| {
        let device = Device::open(None).expect("a graphics adapter; cargo xtask test installs one");
        Generator::new(&device)
    })
}

fn checked(steps: &str) -> Checked {
    seeded("agree", steps)
}

fn seeded(seed: &str, steps: &str) -> Checked {
    let text = format!("seed = {seed:?}\nframe = {{ size_m = 4096, samples = 257 }}\n{steps}");
    let catalog = Catalog::new([
        Operator::of::<source::Noise>(),
        Operator::of::<source::Cracks>(),
        Operator::of::<shape::Features>(),
        Operator::of::<shape::Remap>(),
        Operator::of::<combine::Add>(),
        Operator::of::<combine::Multiply>(),
        Operator::of::<combine::Min>(),
        Operator::of::<combine::Max>(),
        Operator::of::<mask::Height>(),
    ]);
    let recipe = Recipe::parse("agree", text.as_bytes()).expect("the recipe parses");
    recipe.check(&catalog, &Limits::default()).map_err(|e| format!("{e}\n{text}")).expect("no faults")
}

fn noise(params: &str) -> String {
    format!("[[step]]\nid = \"noise\"\nop = \"source.noise\"\nparams = {{ {params} }}\n")
}

/// A tile of 65 x 65 samples with a border of one, whose north-west corner is near a place.
fn tile(at: [f64; 2], spacing_m: f64) -> Frame {
    // Samples lie on one lattice for each spacing, as those of a quadtree do.
    let origin = at.map(|at| (at / spacing_m).round() * spacing_m);
    Frame::new(origin, [66.0 * spacing_m; 2], [67, 67]).expect("a frame")
}

fn from_processor(checked: &Checked, frames: &[Frame]) -> Vec<Raster<f32>> {
    let session = Session::new(checked.clone(), SessionOptions::default());
    let one = |frame: &Frame| {
        let land = session.tile(*frame, &[layer::HEIGHT.name()], &Cancel::new()).expect("land");
        land.get(layer::HEIGHT).expect("heights").clone()
    };
    frames.iter().map(one).collect()
}

/// The largest difference over some tiles, as a share of the relief.
fn difference(checked: &Checked, frames: &[Frame]) -> f64 {
    let plan = Plan::of(checked).expect("a plan");
    let device = generator().heights(&plan, frames).expect("heights");
    let processor = from_processor(checked, frames);
    let (mut most, mut low, mut high) = (0f64, f64::INFINITY, f64::NEG_INFINITY);
    for (a, b) in device.iter().zip(&processor) {
        for (a, b) in a.as_slice().iter().zip(b.as_slice()) {
            most = most.max((f64::from(*a) - f64::from(*b)).abs());
            (low, high) = (low.min(f64::from(*b)), high.max(f64::from(*b)));
            assert!(a.is_finite());
        }
    }
    assert_eq!(device.len(), frames.len());
    assert!(high - low > 0.1 * plan.relief_m(), "flat land proves nothing: {low} to {high}");
    most / plan.relief_m()
}

/// From the origin to a thousand kilometres away and more, 100 m to 0.1 m apart.
fn everywhere() -> Vec<Frame> {
    let places = [[0.0, 0.0], [-3217.0, 911.0], [1.3e6, -2.7e6], [-9.1e7, 4.4e7]];
    let spacings = [100.0, 13.7, 1.0, 0.1];
    places.iter().flat_map(|at| spacings.map(|spacing| tile(*at, spacing))).collect()
}

fn assert_agrees(what: &str, checked: &Checked, frames: &[Frame]) {
    let difference = difference(checked, frames);
    println!("{what}: {difference:.1e}");
    assert!(difference < TOLERANCE, "{what}: {difference:e} of the relief");
}

#[test]
fn every_basis_in_every_fractal_agrees_far_from_the_origin_and_at_every_spacing() {
    for basis in ["value", "perlin", "simplex", "worley", "white"] {
        for fractal in ["none", "fbm", "translate_scale", "multifractal", "hybrid", "ridged", "billow"] {
            let params =
                format!("basis = {basis:?}, fractal = {fractal:?}, octaves = 8, amplitude_m = 300.0");
            assert_agrees(&params, &checked(&noise(&params)), &everywhere());
        }
    }
}

#[test]
fn every_seed_agrees() {
    for seed in ["", "a", "658175619cff", "Ωmega"] {
        let land = seeded(seed, &noise("octaves = 14, hurst = 0.8, wavelength_m = 2000.0"));
        assert_agrees(seed, &land, &everywhere());
    }
}

#[test]
fn stretched_turned_warped_and_repeating_noise_agrees() {
    for params in [
        "stretch = 3.0",
        "stretch = 3.0, rotation_deg = 31.0",
        "warp_m = 500.0",
        "stretch = 2.0, rotation_deg = 31.0, warp_m = 300.0, fractal = \"ridged\"",
        "period_m = 8192.0, basis = \"perlin\"",
        "period_m = 8192.0, warp_m = 200.0",
        "basis = \"worley\", distance = \"f2_minus_f1\", warp_m = 200.0",
    ] {
        assert_agrees(params, &checked(&noise(params)), &everywhere());
    }
}

/// Noise, and features of some kinds that overlap around a place.
fn features(kinds: &[&str], at: [f64; 2]) -> String {
    let seed = orogen_core::Seed::from_text("features");
    let mut text = noise("octaves = 5, amplitude_m = 60.0, offset_m = 300.0");
    text += "[[step]]\nid = \"features\"\nop = \"shape.features\"\n";
    for i in 0..3 * kinds.len() as u64 {
        let unit = |k: u64| seed.unit(20 * i + k);
        let place = [at[0] + 3000.0 * unit(0) - 500.0, at[1] + 3000.0 * unit(1) - 500.0];
        let kind = kinds[i as usize % kinds.len()];
        let strength = if i % 4 == 3 { 0.7 } else { 1.0 };
        let named = match kind {
            "a mesa" => "plateau",
            "a tarn" => "lake",
            "an erg" => "dune_field",
            _ => kind,
        };
        text += &format!("[[step.params.features]]\nkind = {named:?}\nstrength = {strength}\n");
        let points: Vec<[f64; 2]> = (0..5)
            .map(|k| [place[0] + 400.0 * k as f64 * unit(4), place[1] + 900.0 * unit(5 + k) - 450.0])
            .collect();
        let line = |more: &dyn Fn(usize) -> String| -> String {
            let points: Vec<String> = (points.iter().enumerate())
                .map(|(k, [x, y])| format!("{{ x_m = {x}, y_m = {y}{} }}", more(k)))
                .collect();
            format!("points = [{}]\n", points.join(", "))
        };
        let ring =
            "outline = [[[-1, -0.8], [0.9, -1.1], [1.2, 0.4], [0.3, 0.2], [-0.2, 1.0], [-1.1, 0.5]]]\n";
        let around = format!("at_m = {place:?}\nradius_m = {}\n", 200.0 + 900.0 * unit(2));
        let height = 40.0 + 200.0 * unit(3);
        text += &match kind {
            "mountain" => {
                format!("{around}height_m = {height}\npeakiness = {}\nroughness = {}\n", unit(8), unit(9))
            }
            "hill" => format!("{around}height_m = {height}\n"),
            "volcano" => format!("{around}height_m = {height}\ncrater_depth_m = {}\n", 0.6 * height),
            "crater" => format!("{around}depth_m = {height}\npeak_m = {}\n", 0.3 * height),
            "plateau" => format!("{around}level_m = {}\n", 250.0 + height),
            "lake" => format!("{around}level_m = {}\ndepth_m = {}\n", 200.0 + height, 0.2 * height),
            "dune_field" => {
                format!("{around}height_m = {}\nspacing_m = {}\n", 0.1 * height, 40.0 + 100.0 * unit(4))
            }
            "ridge" => format!(
                "{}radius_m = {}\nheight_m = {height}\n",
                line(&|_| String::new()),
                80.0 + 300.0 * unit(2)
            ),
            "canyon" => format!(
                "{}radius_m = {}\ndepth_m = {height}\n",
                line(&|_| String::new()),
                80.0 + 300.0 * unit(2)
            ),
            "river" => {
                let at = |k: usize| {
                    format!(", width_m = 30, depth_m = {}, z_m = {}", 3 + k, 300.0 - 5.0 * k as f64)
                };
                format!("{}bank_m = {}\n", line(&at), 80.0 + 200.0 * unit(2))
            }
            "massif" => format!("{around}{ring}height_m = {height}\nedge_m = {}\n", 100.0 + 300.0 * unit(4)),
            "a mesa" => format!("{around}{ring}level_m = {}\n", 250.0 + height),
            "a tarn" => format!("{around}{ring}level_m = {}\ndepth_m = {}\n", 200.0 + height, 0.2 * height),
            _ => format!("{around}{ring}height_m = {}\nedge_m = 150\n", 0.1 * height),
        };
    }
    text
}

/// Tiles over the features of [`features`], 50 m to 0.1 m apart.
fn over(at: [f64; 2]) -> Vec<Frame> {
    let places = [[-800.0, -800.0], [0.0, 0.0], [700.0, 400.0], [1500.0, 1100.0]];
    let spacings = [50.0, 10.0, 1.0, 0.1];
    let tiles = places.iter().flat_map(|[x, y]| spacings.map(|s| tile([at[0] + x, at[1] + y], s)));
    tiles.collect()
}

/// The same, and that features change the land at all.
fn assert_features_agree(what: &str, kinds: &[&str], at: [f64; 2]) {
    let (land, frames) = (checked(&features(kinds, at)), over(at));
    assert_agrees(what, &land, &frames);
    let bare = checked(&features(&[], at));
    let mut most = 0f32;
    for (a, b) in from_processor(&bare, &frames).iter().zip(from_processor(&land, &frames)) {
        a.as_slice().iter().zip(b.as_slice()).for_each(|(a, b)| most = most.max((a - b).abs()));
    }
    assert!(most > 5.0, "{what} change the land by {most} m");
}

const ROUND: [&str; 7] = ["mountain", "hill", "volcano", "crater", "plateau", "lake", "dune_field"];

#[test]
fn features_around_a_point_agree() {
    for at in [[0.0, 0.0], [2e6, -1e6]] {
        for kind in ROUND {
            assert_features_agree(kind, &[kind], at);
        }
        assert_features_agree("all of them", &ROUND, at);
    }
}

#[test]
fn features_along_a_line_agree() {
    for at in [[0.0, 0.0], [2e6, -1e6]] {
        for kind in ["ridge", "canyon", "river"] {
            assert_features_agree(kind, &[kind], at);
        }
    }
}

#[test]
fn hairpins_and_loops_of_lines_agree() {
    let at = |points: &[[f64; 2]], more: &str| -> String {
        let points: Vec<String> =
            points.iter().map(|[x, y]| format!("{{ x_m = {x}, y_m = {y}{more} }}")).collect();
        points.join(", ")
    };
    let bends =
        [[100.0, 100.0], [1500.0, 160.0], [1560.0, 260.0], [200.0, 300.0], [150.0, 900.0], [700.0, 50.0]];
    let mut steps = noise("octaves = 4, amplitude_m = 40.0");
    steps += "[[step]]\nid = \"f\"\nop = \"shape.features\"\nparams.features = [\n";
    steps +=
        &format!("{{ kind = \"ridge\", radius_m = 150, height_m = 90, points = [{}] }},\n", at(&bends, ""));
    let depths = ", z_m = 20, width_m = 40, depth_m = 4";
    steps += &format!("{{ kind = \"river\", bank_m = 120, points = [{}] }},\n]\n", at(&bends, depths));
    let spacings = [20.0, 5.0, 0.5];
    let places = [[0.0, 0.0], [1400.0, 150.0], [120.0, 250.0], [400.0, 180.0]];
    let tiles: Vec<Frame> = places.iter().flat_map(|place| spacings.map(|s| tile(*place, s))).collect();
    assert_agrees("hairpins", &checked(&steps), &tiles);
}

#[test]
fn features_with_an_outline_agree() {
    for at in [[0.0, 0.0], [2e6, -1e6]] {
        for kind in ["massif", "a mesa", "a tarn", "an erg"] {
            assert_features_agree(kind, &[kind], at);
        }
        let mixed = ["massif", "river", "river", "mountain", "canyon", "a mesa", "ridge", "lake", "river"];
        assert_features_agree("a mixture", &mixed, at);
    }
}

#[test]
fn changes_of_every_height_agree() {
    let mut steps = noise("octaves = 6, amplitude_m = 200.0");
    for (i, (op, params)) in [
        ("combine.multiply", "operand = 1.5"),
        ("combine.add", "operand = 30, factor = -2"),
        ("combine.max", "operand = -50, smooth_m = 20"),
        ("combine.min", "operand = 500"),
        ("shape.remap", "points = [[0, 0], [100, 40], [250, 300], [600, 450]]"),
        ("shape.remap", "points = [[0, 0], [200, 400]], beyond = \"hold\""),
    ]
    .iter()
    .enumerate()
    {
        steps += &format!("[[step]]\nid = \"s{i}\"\nop = {op:?}\nparams = {{ {params} }}\n");
    }
    assert_agrees("changes", &checked(&steps), &everywhere());
}

#[test]
fn two_lands_made_one_agree() {
    let mut steps = noise("octaves = 6, amplitude_m = 200.0");
    steps += "[[step]]\nid = \"other\"\nop = \"source.noise\"\nparams = { basis = \"perlin\", fractal = \"ridged\" }\n";
    for (op, params) in
        [("add", "factor = -0.5"), ("multiply", ""), ("min", "smooth_m = 30"), ("max", "smooth_m = 50")]
    {
        let steps = format!(
            "{steps}[[step]]\nid = \"both\"\nop = \"combine.{op}\"\nfrom = \"noise\"\nwith = \"other\"\nparams = {{ {params} }}\n"
        );
        assert_agrees(op, &checked(&steps), &everywhere());
    }
}

#[test]
fn samples_that_two_tiles_share_are_equal_to_the_bit() {
    let land = checked(&features(&["mountain", "dune_field", "lake", "river", "massif"], [1e6, 1e6]));
    let plan = Plan::of(&land).expect("a plan");
    for spacing in [37.0, 0.25] {
        // Tiles of one lattice, cut as a quadtree does: the borders of one lie inside the other.
        let all = Frame::new([1e6, 1e6], [192.0 * spacing; 2], [193, 193]).expect("a frame");
        let frames: Vec<Frame> = (0..9).map(|i| all.window(i % 3 * 64 - 1, i / 3 * 64 - 1, 67, 67)).collect();
        let tiles = generator().heights(&plan, &frames).expect("heights");
        // Also when they are made alone.
        let alone = generator().heights(&plan, &frames[4..5]).expect("heights");
        assert_eq!(alone[0], tiles[4]);
        for row in 0..67 {
            assert_eq!(tiles[3].row(row)[64..], tiles[4].row(row)[..3], "row {row}");
            assert_eq!(tiles[1].row(64 + row % 3), tiles[4].row(row % 3));
        }
    }
}

#[test]
fn normals_stand_upright_on_the_heights() {
    let plan = Plan::of(&checked(&noise("octaves = 6, amplitude_m = 200.0"))).expect("a plan");
    let frames = [tile([0.0, 0.0], 20.0), tile([3e6, 200.0], 20.0)];
    let batch = generator().run(&plan, &frames, true).expect("a batch");
    let (heights, normals) = (batch.read_heights().expect("heights"), batch.read_normals().expect("normals"));
    // A number in half precision; the smallest of all count as nothing.
    let full = |bits: u16| {
        let exponent = i32::from(bits >> 10 & 31) - 15;
        let size =
            (1.0 + f64::from(bits & 0x3ff) / 1024.0) * orogen_core::math::pow(2.0, f64::from(exponent));
        if exponent == -15 { 0.0 } else { size.copysign(if bits >> 15 == 1 { -1.0 } else { 1.0 }) }
    };
    for (height, normal) in heights.iter().zip(&normals) {
        let mut steepest = 0f64;
        for row in 1..66 {
            for col in 1..66 {
                let at = |c: usize, r: usize| f64::from(height.row(r)[c]);
                let east = (at(col + 1, row) - at(col - 1, row)) / 40.0;
                let north = (at(col, row - 1) - at(col, row + 1)) / 40.0;
                let by = 1.0 / (east * east + north * north + 1.0).sqrt();
                steepest = steepest.max(east.abs());
                let found = normal[67 * row + col].map(full);
                for (found, expected) in found.iter().zip([-east * by, -north * by, by, 0.0]) {
                    assert!((found - expected).abs() < 1e-3, "{found} and {expected} at {col}, {row}");
                }
            }
        }
        assert!(steepest > 0.1, "{steepest}");
    }
}

#[test]
fn what_the_device_has_no_twin_of_is_said_in_a_sentence() {
    let noise = noise("octaves = 3");
    let after = |op: &str, more: &str| format!("{noise}[[step]]\nid = \"next\"\nop = {op:?}\n{more}");
    let why = |steps: &str| Plan::of(&checked(steps)).expect_err("it is supported").to_string();
    assert_eq!(why(&after("source.cracks", "")), "step \"next\": the graphics device has no source.cracks");
    let masked = "[[step]]\nid = \"low\"\nop = \"mask.height\"\n[[step]]\nid = \"next\"\nop = \"combine.add\"\nmask = \"mask\"\nparams.operand = 5\n";
    assert!(
        why(&format!("{noise}{masked}")).contains("it has a mask"),
        "{}",
        why(&format!("{noise}{masked}"))
    );
    // Each step takes the one before twice: a pass for every path.
    let mut doubled = noise.clone();
    for i in 0..8 {
        let with = if i == 0 { String::from("noise") } else { format!("s{}", i - 1) };
        doubled += &format!("[[step]]\nid = \"s{i}\"\nop = \"combine.add\"\nwith = {with:?}\n");
    }
    assert_eq!(why(&doubled), "the graphics device would need more than 64 passes");
    let white = "[[step]]\nid = \"w\"\nop = \"source.noise\"\nparams = { basis = \"white\", warp_m = 20 }\n";
    assert!(why(white).contains("white noise"), "{}", why(white));
    // What does not change heights is nobody's concern.
    let mask = format!("{noise}[[step]]\nid = \"low\"\nop = \"mask.height\"\n");
    assert!(Plan::of(&checked(&mask)).is_ok());
}

#[test]
fn an_adapter_that_is_missing_and_tiles_that_do_not_fit_are_said_in_a_sentence() {
    let error = Device::open(Some("no such adapter")).expect_err("there is none").to_string();
    assert!(error.starts_with("no graphics adapter is called \"no such adapter\"; available: "), "{error}");
    let plan = Plan::of(&checked(&noise("octaves = 3"))).expect("a plan");
    let wide = Frame::new([0.0, 0.0], [5000.0, 10.0], [5001, 11]).expect("a frame");
    let error = generator().heights(&plan, &[wide]).expect_err("it does not fit").to_string();
    assert_eq!(error, "1 tiles of 5001 x 11 samples do not fit into a texture of 2048 x 2048");
    assert_eq!(generator().heights(&plan, &[]).expect("nothing"), []);
    assert!(generator().run(&plan, &[], false).is_err());
    let (a, b) = (tile([0.0, 0.0], 1.0), Frame::square(100.0, 33).expect("a frame"));
    assert!(generator().run(&plan, &[a, b], false).is_err());
    assert_eq!(generator().heights(&plan, &[a, b]).expect("two batches").len(), 2);
}
