//! Any window of a recipe equals the same window cut from the whole; finer ones keep their detail.

use orogen_core::layer::{BIOME, HEIGHT, MASK, WATER};
use orogen_core::{Frame, Raster, Terrain};
use orogen_recipe::{Plan, PlanError, dirty};

use crate::fakes::{assert_same_bits, build, checked};

/// 1000 m by 800 m at 10 m, away from the origin.
const FRAME: &str =
    "seed = \"windows\"\nframe = { size_m = [1000, 800], samples = [101, 81], origin_m = [123.25, -77.5] }\n";

fn step(id: &str, op: &str, rest: &str) -> String {
    format!("[[step]]\nid = {id:?}\nop = {op:?}\n{rest}\n")
}

/// Compares tiles of several sizes and places with the whole.
fn tiles_equal_whole(text: &str) {
    let checked = checked(text);
    let base = *checked.frame();
    let whole = build(&checked, base);
    for (col, row, cols, rows) in
        [(0, 0, 30, 20), (71, 61, 30, 20), (40, 30, 1, 1), (33, 0, 2, 81), (0, 79, 101, 2)]
    {
        let part = build(&checked, base.window(col, row, cols, rows));
        assert_same_bits(&whole, &part, &format!("window {col} {row} {cols} {rows} of\n{text}"));
    }
}

#[test]
fn point_steps() {
    tiles_equal_whole(&format!("{FRAME}{}{}", step("a", "source.waves", ""), step("m", "mask.east", "")));
}

#[test]
fn steps_with_a_halo() {
    tiles_equal_whole(&format!(
        "{FRAME}{}{}{}{}",
        step("a", "source.waves", ""),
        step("b", "shape.blur", "params.radius_m = 35"),
        step("c", "shape.blur", "params.radius_m = 10"),
        step("s", "survey.slope", "")
    ));
}

#[test]
fn world_steps_in_the_middle() {
    tiles_equal_whole(&format!(
        "{FRAME}{}{}{}{}{}",
        step("a", "source.waves", ""),
        step("m", "mask.east", ""),
        step("b", "shape.blur", "params.radius_m = 20"),
        step("n", "shape.normalise", "mask = \"mask\"\nparams.writes_water = true"),
        step("c", "shape.blur", "params.radius_m = 30\nmask = \"mask\"")
    ));
}

#[test]
fn branches_that_meet_again() {
    tiles_equal_whole(&format!(
        "{FRAME}{}{}{}{}{}",
        step("a", "source.waves", ""),
        step("b", "shape.blur", "params.radius_m = 40"),
        step("n", "shape.normalise", "from = \"a\""),
        step("c", "combine.mix", "with = \"b\""),
        step("d", "combine.mix", "with = \"a\"\nparams.share = 0.25")
    ));
}

#[test]
fn every_step_gets_the_halo_it_needs() {
    let checked = checked(&format!(
        "{FRAME}{}{}{}",
        step("a", "source.waves", ""),
        step("b", "shape.blur", "params.radius_m = 35"),
        step("c", "shape.blur", "params.radius_m = 20")
    ));
    let base = *checked.frame();
    let plan = |window| Plan::new(&checked, window).unwrap().describe(&checked);
    assert_eq!(
        plan(base.window(40, 40, 10, 10)),
        "a: 22 x 22 samples\n\
         b: 14 x 14 samples with a halo of 4 west, 4 east, 4 north, 4 south\n\
         c: 10 x 10 samples with a halo of 2 west, 2 east, 2 north, 2 south\n"
    );
    // At the corner of the frame there is nothing beyond.
    assert_eq!(
        plan(base.window(0, 0, 10, 10)),
        "a: 16 x 16 samples\n\
         b: 12 x 12 samples with a halo of 0 west, 4 east, 0 north, 4 south\n\
         c: 10 x 10 samples with a halo of 0 west, 2 east, 0 north, 2 south\n"
    );
    assert_eq!(plan(base), "a: 101 x 81 samples\nb: 101 x 81 samples\nc: 101 x 81 samples\n");
}

#[test]
fn a_world_step_is_solved_on_the_recipes_frame() {
    let checked = checked(&format!(
        "{FRAME}{}{}{}",
        step("a", "source.waves", ""),
        step("n", "shape.normalise", ""),
        step("b", "shape.blur", "params.radius_m = 10")
    ));
    let base = *checked.frame();
    let plan = |window| Plan::new(&checked, window).unwrap().describe(&checked);
    assert_eq!(
        plan(base.window(40, 40, 10, 10)),
        "a: 101 x 81 samples\n\
         n: 101 x 81 samples\n\
         b: 10 x 10 samples with a halo of 1 west, 1 east, 1 north, 1 south\n"
    );
    assert_eq!(
        plan(fine(&base, 2.0, 20)),
        "a: 101 x 81 samples\n\
         a: 24 x 24 samples\n\
         n: 101 x 81 samples\n\
         n: 24 x 24 samples from the recipe's frame\n\
         b: 20 x 20 samples with a halo of 2 west, 2 east, 2 north, 2 south\n"
    );
}

/// A window in the middle of a frame, its spacing divided.
fn fine(base: &Frame, divisor: f64, samples: usize) -> Frame {
    let [sx, sy] = base.spacing_m();
    let whole = base.resampled(&base.extent(), [sx / divisor, sy / divisor]).unwrap();
    whole.window(whole.cols() as i64 / 2, whole.rows() as i64 / 2, samples, samples)
}

#[test]
fn a_finer_window_keeps_the_detail_of_point_steps() {
    let text = format!(
        "{FRAME}{}{}",
        step("a", "source.waves", "params = { length_m = 200, grain_m = 8 }"),
        step("n", "shape.normalise", "")
    );
    let whole = checked(&text);
    let base = *whole.frame();
    let window = fine(&base, 8.0, 65);
    let refined = build(&whole, window);
    // What the step changed, from the two terrains of the recipe's own frame.
    let source =
        checked(&format!("{FRAME}{}", step("a", "source.waves", "params = { length_m = 200, grain_m = 8 }")));
    let (before, after) = (build(&source, base), build(&whole, base));
    let fine_source = build(&source, window);
    let (before, after_height) = (before.get(HEIGHT).unwrap(), after.get(HEIGHT).unwrap());
    let change = Raster::from_fn(base.cols(), base.rows(), |col, row| {
        after_height.row(row)[col] - before.row(row)[col]
    });
    let mut detail = 0.0f32;
    for row in 0..65 {
        for col in 0..65 {
            let [c, r] = base.locate(window.x_m(col), window.y_m(row));
            let here = fine_source.get(HEIGHT).unwrap().row(row)[col];
            let expected = here + change.bicubic(c, r);
            let found = refined.get(HEIGHT).unwrap().row(row)[col];
            assert!((found - expected).abs() < 1e-3, "{found} and {expected}");
            // What the base's samples alone would say of this place.
            detail = detail.max((here - before.bicubic(c, r)).abs());
        }
    }
    assert!(detail > 4.0, "the source has detail below the base's spacing: {detail} m");
    assert_eq!(refined.vectors(), after.vectors());
}

#[test]
fn a_finer_window_agrees_with_the_whole_where_they_share_samples() {
    // Point steps agree at shared samples by themselves, so world steps must too, one on the other and masked.
    let checked = checked(&format!(
        "{FRAME}{}{}{}{}{}",
        step("a", "source.waves", ""),
        step("m", "mask.east", ""),
        step("n", "shape.normalise", "mask = \"mask\""),
        step("r", "shape.raise", "params.by_m = -30"),
        step("o", "shape.normalise", "params.top_m = 300")
    ));
    let base = *checked.frame();
    let whole = build(&checked, base);
    let [sx, sy] = base.spacing_m();
    let fine = base.resampled(&base.extent(), [sx / 2.0, sy / 2.0]).unwrap();
    let refined = build(&checked, fine);
    let (whole, refined) = (whole.get(HEIGHT).unwrap(), refined.get(HEIGHT).unwrap());
    for row in 0..base.rows() {
        for col in 0..base.cols() {
            let (a, b) = (whole.row(row)[col], refined.row(2 * row)[2 * col]);
            assert!((a - b).abs() < 1e-3, "{a} and {b} at {col} {row}");
        }
    }
}

#[test]
fn a_finer_window_interpolates_what_a_world_step_makes() {
    let checked = checked(&format!(
        "{FRAME}{}{}",
        step("a", "source.waves", ""),
        step("n", "shape.normalise", "params.writes_water = true")
    ));
    let base = *checked.frame();
    let whole = build(&checked, base);
    let window = fine(&base, 4.0, 41);
    let part = build(&checked, window);
    let (water, coarse) = (part.get(WATER).unwrap(), whole.get(WATER).unwrap());
    let (low, high) = coarse.range().unwrap();
    for row in 0..41 {
        for col in 0..41 {
            let [c, r] = base.locate(window.x_m(col), window.y_m(row));
            assert_eq!(water.row(row)[col], coarse.bicubic(c, r).clamp(low, high));
            let biome = whole.get(BIOME).unwrap().clamped(c.round() as isize, r.round() as isize);
            assert_eq!(part.get(BIOME).unwrap().row(row)[col], biome);
        }
    }
}

#[test]
fn a_mask_is_exact_at_every_spacing() {
    let text = |mask: &str| {
        format!(
            "{FRAME}{}{}{}",
            step("a", "source.waves", ""),
            step("m", "mask.east", "params = { from_m = 600, to_m = 620 }"),
            step("n", "shape.normalise", mask)
        )
    };
    let (masked, free) = (checked(&text("mask = \"mask\"")), checked(&text("")));
    let source = checked(&format!("{FRAME}{}", step("a", "source.waves", "")));
    let window = fine(masked.frame(), 8.0, 65);
    let [masked, free, source] = [&masked, &free, &source].map(|recipe| build(recipe, window));
    let at = |t: &Terrain, col: usize| t.get(HEIGHT).unwrap().row(30)[col].to_bits();
    let mask: &Raster<f32> = masked.get(MASK).unwrap();
    let (mut none, mut full) = (0, 0);
    for col in 0..65 {
        if mask.row(30)[col] == 0.0 {
            none += 1;
            assert_eq!(at(&masked, col), at(&source, col));
        } else if mask.row(30)[col] == 1.0 {
            full += 1;
            assert_eq!(at(&masked, col), at(&free, col));
        }
    }
    assert!(none > 0 || full > 0);
}

#[test]
fn tiles_of_a_finer_lattice_meet() {
    let checked = checked(&format!(
        "{FRAME}{}{}{}{}",
        step("a", "source.waves", ""),
        step("m", "mask.east", ""),
        step("n", "shape.normalise", "mask = \"mask\""),
        step("b", "shape.blur", "params.radius_m = 12")
    ));
    let base = *checked.frame();
    let [sx, sy] = base.spacing_m();
    let fine = base.resampled(&base.extent(), [sx / 2.0, sy / 2.0]).unwrap();
    let whole = build(&checked, fine);
    for (col, row, cols, rows) in [(0, 0, 20, 20), (19, 0, 20, 20), (90, 100, 33, 17), (181, 141, 20, 20)] {
        let part = build(&checked, fine.window(col, row, cols, rows));
        assert_same_bits(&whole, &part, &format!("{col} {row}"));
    }
}

/// Rough land that a step has worn, once and once more.
fn worn(rest: &str) -> String {
    format!(
        "{FRAME}{}{}{}",
        step("a", "source.waves", "params = { length_m = 40, grain_m = 4 }"),
        step("w", "erode.wear", rest),
        step("v", "erode.wear", rest)
    )
}

#[test]
fn windows_of_worn_land_equal_the_whole_at_every_spacing() {
    let checked = checked(&worn(""));
    let base = *checked.frame();
    let [sx, sy] = base.spacing_m();
    for divisor in [1.5, 2.0, 3.7, 8.0] {
        let fine = base.resampled(&base.extent(), [sx / divisor, sy / divisor]).unwrap();
        let whole = build(&checked, fine);
        let (cols, rows) = (fine.cols() as i64, fine.rows() as i64);
        for (col, row) in [(0, 0), (cols - 21, rows - 18), (cols / 2, rows / 3), (cols / 7, rows - 30)] {
            let part = build(&checked, fine.window(col, row, 21, 18));
            assert_same_bits(&whole, &part, &format!("{divisor} times finer at {col} {row}"));
        }
    }
}

#[test]
fn worn_land_gets_no_steeper_the_finer_its_samples() {
    let checked = checked(&worn(""));
    let base = *checked.frame();
    let median_slope = |divisor: f64| {
        let [sx, sy] = base.spacing_m().map(|s| s / divisor);
        let land = build(&checked, base.resampled(&base.extent(), [sx, sy]).unwrap());
        let h = land.get(HEIGHT).unwrap();
        let mut slopes = Vec::new();
        for row in 1..h.rows() - 1 {
            for col in 1..h.cols() - 1 {
                let x = f64::from(h.row(row)[col + 1] - h.row(row)[col - 1]) / (2.0 * sx);
                let y = f64::from(h.row(row + 1)[col] - h.row(row - 1)[col]) / (2.0 * sy);
                slopes.push(x * x + y * y);
            }
        }
        slopes.sort_by(f64::total_cmp);
        slopes[slopes.len() / 2].sqrt()
    };
    let (coarse, fine) = (median_slope(1.0), median_slope(8.0));
    assert!(fine < 1.15 * coarse, "{fine} after {coarse}");
}

#[test]
fn land_that_a_step_left_alone_keeps_its_detail() {
    let rest = "params.east_of_m = 700";
    let (worn, source) = (
        checked(&worn(rest)),
        checked(&format!("{FRAME}{}", step("a", "source.waves", "params = { length_m = 40, grain_m = 4 }"))),
    );
    let base = *worn.frame();
    let whole = base.resampled(&base.extent(), [2.5, 2.5]).unwrap();
    let window = whole.window(0, 100, 120, 100);
    let [worn, source] = [&worn, &source].map(|recipe| build(recipe, window));
    for (a, b) in worn.get(HEIGHT).unwrap().as_slice().iter().zip(source.get(HEIGHT).unwrap().as_slice()) {
        assert!((a - b).abs() < 1e-3, "{a} where the source has {b}");
    }
}

#[test]
fn endless_point_steps_are_built_beyond_the_frame() {
    let checked = checked(&format!("{FRAME}{}", step("a", "source.waves", "params.length_m = 90")));
    let base = *checked.frame();
    // A window across the north-west corner, a larger one that holds it and the frame, and one far outside.
    let corner = build(&checked, base.window(-20, -15, 40, 30));
    let larger = build(&checked, base.window(-300, -200, 500, 400));
    assert_same_bits(&larger, &corner, "the corner");
    assert_same_bits(&larger, &build(&checked, base), "the whole frame");
    assert_same_bits(&larger, &build(&checked, base.window(-300, 150, 3, 50)), "far outside");
    let height = corner.get(HEIGHT).unwrap();
    let (low, high) = height.crop(0, 0, 20, 15).range().unwrap();
    assert!(high - low > 50.0, "there is land outside, from {low} to {high}");
}

#[test]
fn a_window_partly_outside_a_bounded_frame_is_refused() {
    for (op, rest) in [("shape.blur", ""), ("shape.normalise", ""), ("mask.east", "")] {
        let checked = checked(&format!("{FRAME}{}{}", step("a", "source.waves", ""), step("b", op, rest)));
        let base = *checked.frame();
        for (col, row) in [(-1, 0), (0, -1), (97, 0), (0, 77), (-500, 0)] {
            let error = Plan::new(&checked, base.window(col, row, 5, 5)).unwrap_err();
            assert!(
                matches!(&error, PlanError::Outside { step, .. } if step == "b"),
                "{op} at {col}, {row}: {error}"
            );
        }
        assert!(Plan::new(&checked, base.window(96, 76, 5, 5)).is_ok());
        let error = Plan::new(&checked, base.window(-1, 0, 5, 5)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the window 113.25,682.5,153.25,722.5 reaches beyond the recipe's frame 123.25,-77.5,1123.25,722.5, \
                 but step \"b\" ({op}) makes land only inside the frame"
            )
        );
    }
}

#[test]
fn windows_too_large_are_refused() {
    let checked = checked(&format!("{FRAME}{}", step("a", "source.waves", "")));
    let base = *checked.frame();
    let huge = base.resampled(&base.extent(), [1e-3, 1e-3]).unwrap();
    assert_eq!(
        Plan::new(&checked, huge).unwrap_err().to_string(),
        "1000001 x 800001 samples need about 46.6 TiB of memory, more than the limit of 8 GiB; use fewer samples or \
         allow more memory"
    );
}

#[test]
fn an_edit_dirties_what_it_can_reach() {
    let checked = checked(&format!(
        "{FRAME}{}{}{}{}",
        step("a", "source.waves", ""),
        step("n", "shape.normalise", ""),
        step("b", "shape.blur", "params.radius_m = 30"),
        step("c", "shape.blur", "params.radius_m = 20")
    ));
    let base = *checked.frame();
    let edited = base.window(50, 40, 4, 4);
    assert_eq!(dirty(&checked, 3, edited), Some(edited));
    assert_eq!(dirty(&checked, 2, edited), Some(base.window(48, 38, 8, 8)));
    assert_eq!(dirty(&checked, 1, edited), Some(base.window(45, 35, 14, 14)));
    assert_eq!(dirty(&checked, 0, edited), Some(base));
    assert_eq!(dirty(&checked, 2, base.window(0, 0, 4, 4)), Some(base.window(0, 0, 6, 6)));
    assert_eq!(dirty(&checked, 9, edited), None);
}

#[test]
fn an_edit_nobody_sees_dirties_nothing() {
    let checked = checked(&format!(
        "{FRAME}{}{}{}",
        step("a", "source.waves", ""),
        step("b", "shape.blur", ""),
        step("c", "shape.blur", "from = \"a\"")
    ));
    assert_eq!(dirty(&checked, 1, *checked.frame()), None);
}

/// Numbers for the generator of recipes: xorshift, so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A recipe of several steps in any order that is right: every step finds its layers.
fn random_recipe(dice: &mut Dice) -> String {
    let mut text = format!("{FRAME}{}{}", step("s0", "source.waves", ""), step("s1", "mask.east", ""));
    let count = 3 + dice.below(6);
    for i in 2..count {
        // Step 1 and all that build on it have height and mask.
        let earlier = |dice: &mut Dice| format!("s{}", 1 + dice.below(i - 1));
        let mut rest = String::new();
        if dice.below(3) == 0 {
            rest += &format!("from = {:?}\n", earlier(dice));
        }
        if dice.below(3) == 0 {
            rest += "mask = \"mask\"\n";
        }
        if dice.below(6) == 0 {
            rest += "enabled = false\n";
        }
        let op = match dice.below(7) {
            0 => "source.waves",
            1 | 2 => {
                rest += &format!("params.radius_m = {}\n", dice.below(45));
                "shape.blur"
            }
            3 => {
                rest += &format!("params.writes_water = {}\n", dice.below(2) == 0);
                "shape.normalise"
            }
            4 => {
                rest += &format!("with = {:?}\n", earlier(dice));
                "combine.mix"
            }
            5 => "survey.slope",
            _ => "cover.ids",
        };
        text += &step(&format!("s{i}"), op, &rest);
    }
    text
}

#[test]
fn windows_of_random_recipes_equal_the_whole() {
    let mut dice = Dice(0x5eed_5eed_5eed_5eed);
    for _ in 0..60 {
        let text = random_recipe(&mut dice);
        let checked = checked(&text);
        let base = *checked.frame();
        // On the recipe's own lattice and on a finer one.
        let frame = if dice.below(3) == 0 {
            let [sx, sy] = base.spacing_m();
            base.resampled(&base.extent(), [sx / 1.5, sy / 2.0]).unwrap()
        } else {
            base
        };
        let whole = build(&checked, frame);
        for _ in 0..3 {
            let (col, row) = (dice.below(frame.cols() as u64), dice.below(frame.rows() as u64));
            let cols = 1 + dice.below((frame.cols() as u64 - col).min(25));
            let rows = 1 + dice.below((frame.rows() as u64 - row).min(25));
            let window = frame.window(col as i64, row as i64, cols as usize, rows as usize);
            let part = build(&checked, window);
            assert_same_bits(&whole, &part, &format!("window {col} {row} {cols} {rows} of\n{text}"));
        }
    }
}
