//! A recipe whose frame loops: from the source to the last step its land has no seam, whole or in windows.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen::prelude::*;
use orogen::recipe::{Limits, Plan};
use orogen_core::{LayerData, Raster};

const LOOP: &str = "\
seed = \"round\"
frame = { size_m = 3840.0, samples = 129, loops = true }
[[step]]
id = \"hills\"
op = \"source.noise\"
params = { wavelength_m = 1280.0, amplitude_m = 300.0, period_m = 3840.0 }
";

fn recipe(steps: &str) -> Recipe {
    Recipe::parse("loop.toml", format!("{LOOP}{steps}").as_bytes()).unwrap()
}

/// The largest difference between neighbours, inside the land and across its seams.
fn steps(height: &Raster<f32>) -> [f32; 2] {
    let n = height.cols() - 1;
    let at = |c: usize, r: usize| height.row(r % n)[c % n];
    let mut most = [0.0f32; 2];
    for r in 0..n {
        for c in 0..n {
            let (east, south) = ((at(c, r) - at(c + 1, r)).abs(), (at(c, r) - at(c, r + 1)).abs());
            let (x, y) = (usize::from(c + 1 == n), usize::from(r + 1 == n));
            most[x] = most[x].max(east);
            most[y] = most[y].max(south);
        }
    }
    most
}

/// The seam after stream power was 307 m where a step is 7 m.
#[test]
fn the_seam_after_stream_power_is_a_step_like_any_other() {
    let grown = recipe("[[step]]\nid = \"grow\"\nop = \"erode.stream_power\"\nparams = { sea = false }\n");
    let built = orogen::build(&grown, &BuildOptions::default(), &Unobserved).unwrap();
    let height = built.terrain.get(layer::HEIGHT).unwrap();
    let [inner, seam] = steps(height);
    assert!(seam <= 1.1 * inner, "{seam} m across the seam, {inner} m elsewhere");
    for r in 0..129 {
        assert_eq!(height.row(r)[0], height.row(r)[128]);
    }
}

/// What a window at the edge needs lies inside the opposite edge.
#[test]
fn windows_of_a_loop_equal_the_whole() {
    let text = "[[step]]\nid = \"soft\"\nop = \"shape.blur\"\nparams = { radius_m = 200.0 }\n\
                [[step]]\nid = \"bend\"\nop = \"shape.warp\"\nparams = { amplitude_m = 120.0 }\n\
                [[step]]\nid = \"cut\"\nop = \"shape.gullies\"\n";
    let recipe = recipe(text);
    let checked = recipe.check(&orogen::catalog(), &Limits::default()).unwrap();
    let whole = Plan::whole(&checked).unwrap();
    let options = orogen::recipe::RunOptions::default();
    let all = orogen::recipe::run(&checked, &whole, &options).unwrap().terrain;
    let [inner, seam] = steps(all.get(layer::HEIGHT).unwrap());
    assert!(seam <= 1.1 * inner, "{seam} m across the seam, {inner} m elsewhere");
    for (col, row, cols, rows) in [(0, 0, 30, 20), (99, 50, 30, 40), (40, 100, 20, 29), (50, 50, 9, 9)] {
        let window = checked.frame().window(col, row, cols, rows);
        let plan = Plan::new(&checked, window).unwrap();
        let part = orogen::recipe::run(&checked, &plan, &options).unwrap().terrain;
        let same = all.crop(&window).unwrap();
        for (name, data) in same.layers() {
            let (LayerData::F32(a), LayerData::F32(b)) = (data, &part.layers()[name]) else { continue };
            assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        }
    }
}

/// A source that does not repeat is named, since nothing later could close its seam.
#[test]
fn land_with_a_seam_on_a_frame_that_loops_is_reported() {
    let text = LOOP.replace(", period_m = 3840.0", "");
    let text = format!("{text}[[step]]\nid = \"soft\"\nop = \"shape.blur\"\n");
    let recipe = Recipe::parse("seam.toml", text.as_bytes()).unwrap();
    let built = orogen::build(&recipe, &BuildOptions::default(), &Unobserved).unwrap();
    let warnings: Vec<&String> = built.steps.iter().flat_map(|report| &report.warnings).collect();
    assert!(warnings.iter().any(|w| w.contains("the frame loops but height does not")), "{warnings:?}");
}

/// The noise of strokes did not repeat, so that a stroke over an edge left a seam.
#[test]
fn painted_noise_repeats_with_the_land() {
    let text = "[[step]]\nid = \"paint\"\nop = \"shape.paint\"\n[[step.params.strokes]]\ntool = \"noise\"\namount = 300.0\n\
                scale_m = 700.0\npoints_m = [[0, 0], [3840, 3840]]\nradius_m = 6000.0\nfalloff = 0.0\n";
    let built = orogen::build(&recipe(text), &BuildOptions::default(), &Unobserved).unwrap();
    let [inner, seam] = steps(built.terrain.get(layer::HEIGHT).unwrap());
    assert!(seam <= 1.1 * inner, "{seam} m across the seam, {inner} m elsewhere");
}
