use super::*;
use orogen_core::math;
use orogen_core::testkit::assert_close;

fn frame() -> Frame {
    Frame::new([0.0, 0.0], [60_000.0, 60_000.0], [121, 121]).unwrap()
}

fn rates(params: &Uplift) -> Rates {
    assert!(orogen_core::AnyOp::check(params).is_ok());
    Rates::new(params, &frame(), Seed(11))
}

fn only(structure: Structure) -> Uplift {
    Uplift { structures: vec![structure], variation: 0.0, ..Uplift::default() }
}

fn to_the_north() -> Vec<At> {
    vec![At { x_m: 30_000.0, y_m: -1e5 }, At { x_m: 30_000.0, y_m: 1e5 }]
}

#[test]
fn a_belt_rises_as_said_and_its_front_is_the_steeper_side() {
    let belt =
        Belt { points: to_the_north(), folds: 0.0, asymmetry: 0.5, rate_mm_per_yr: 2.0, ..Belt::default() };
    let rates = rates(&only(Structure::Belt(belt)));
    assert_close!(rates.uplift([30_000.0, 5000.0]), 2.0, abs = 1e-12);
    // 20 km wide: 5 km to the right, 15 km to the left.
    assert_eq!(rates.uplift([35_001.0, 5000.0]), 0.0);
    assert!(rates.uplift([34_900.0, 5000.0]) > 0.0);
    assert_eq!(rates.uplift([14_999.0, 5000.0]), 0.0);
    assert!(rates.uplift([15_200.0, 5000.0]) > 0.0);
}

#[test]
fn rates_keep_to_what_stream_power_allows() {
    let domes = |rate_mm_per_yr: f64| {
        (0..20).map(|_| Structure::Dome(Dome { rate_mm_per_yr, ..Dome::default() })).collect()
    };
    let absurd = Uplift { grain: 4.0, incision_mm_per_yr: 1000.0, ..Uplift::default() };
    for rate in [100.0, -100.0] {
        let rates = rates(&Uplift { structures: domes(rate), base_mm_per_yr: rate, ..absurd.clone() });
        let (mut uplift, mut incision) = (Vec::new(), Vec::new());
        for i in 0..60 {
            for j in 0..60 {
                let at = [1000.0 * f64::from(i), 1000.0 * f64::from(j)];
                uplift.push(rates.uplift(at).abs());
                incision.push(rates.incision(at));
            }
        }
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        assert_eq!(most(&uplift), 100.0);
        assert_eq!(most(&incision), 1000.0);
        assert!(incision.iter().all(|&rate| rate > 0.0));
    }
}

#[test]
fn folds_lie_along_the_belt_and_leave_its_mean() {
    let belt = Belt {
        points: to_the_north(),
        width_m: 50_000.0,
        asymmetry: 0.0,
        echelon_deg: 0.0,
        ..Belt::default()
    };
    let with = rates(&only(Structure::Belt(Belt { folds: 1.0, ..belt.clone() })));
    let without = rates(&only(Structure::Belt(Belt { folds: 0.0, ..belt })));
    let (mut sums, mut along, mut across) = ([0.0; 2], 0.0, 0.0);
    for i in 0..100 {
        for j in 0..100 {
            let at = [600.0 * f64::from(i), 600.0 * f64::from(j)];
            let here = with.uplift(at);
            sums[0] += here;
            sums[1] += without.uplift(at);
            along += (with.uplift([at[0], at[1] + 600.0]) - here).abs();
            across += (with.uplift([at[0] + 600.0, at[1]]) - here).abs();
        }
    }
    assert!((sums[0] / sums[1] - 1.0).abs() < 0.15, "folds bring {} of the uplift", sums[0] / sums[1]);
    assert!(across > 2.5 * along, "uplift changes by {across} across and {along} along the belt");
}

#[test]
fn one_seed_is_enough_for_a_belt_across_the_world() {
    let made: Vec<f64> = (0..6)
        .map(|seed| {
            let rates = Rates::new(&Uplift::default(), &frame(), Seed(seed));
            let raster = rates.raster(&frame(), &Ctx::silent(), |at| rates.uplift(at)).unwrap();
            let (low, high) = raster.range().unwrap();
            assert!(low >= 0.0 && high > 0.6 && high < 4.0, "{low} to {high}");
            let rising = raster.as_slice().iter().filter(|u| **u > 0.2).count();
            rising as f64 / raster.as_slice().len() as f64
        })
        .collect();
    assert!(made.iter().all(|share| (0.1..0.6).contains(share)), "{made:?}");
}

#[test]
fn one_side_of_a_fault_rises_while_the_other_sinks() {
    let blocks = Blocks { flipped: 0.0, wander: 0.0, axis_deg: 0.0, ..Blocks::default() };
    let rates = rates(&only(Structure::Blocks(blocks)));
    let line: Vec<f64> = (0..600).map(|i| rates.uplift([100.0 * f64::from(i), 30_000.0])).collect();
    let (low, high) = line.iter().fold((0.0f64, 0.0f64), |(a, b), &u| (a.min(u), b.max(u)));
    assert!(low < -0.05 && high > 0.25, "{low} to {high}");
    // The steepest change is at a fault, and from west to east it is a rise.
    let step = |i: &usize| line[i + 4] - line[*i];
    let most = (0..595).map(|i| step(&i)).fold(0.0, f64::max);
    let least = (0..595).map(|i| step(&i)).fold(0.0, f64::min);
    assert!(most > 3.0 * -least, "{most} and {least}");
}

#[test]
fn a_dome_is_round_and_a_chain_grows_weaker_with_age() {
    let dome = rates(&only(Structure::Dome(Dome::default())));
    assert_close!(dome.uplift([30_000.0, 30_000.0]), 0.5, abs = 1e-12);
    assert_close!(dome.uplift([37_000.0, 30_000.0]), dome.uplift([30_000.0, 23_000.0]), abs = 1e-12);
    assert_eq!(dome.uplift([43_000.0, 30_000.0]), 0.0);

    let points = vec![At { x_m: 5000.0, y_m: 30_000.0 }, At { x_m: 55_000.0, y_m: 30_000.0 }];
    let chain = rates(&only(Structure::Chain(Chain { points, ..Chain::default() })));
    let most = |from: f64| {
        let places = (0..40).flat_map(|i| (0..40).map(move |j| [f64::from(i), f64::from(j)]));
        places.map(|[i, j]| chain.uplift([from + 250.0 * i, 25_000.0 + 250.0 * j])).fold(0.0, f64::max)
    };
    let (young, old) = (most(0.0), most(44_000.0));
    assert!(young > 2.0 && old > 0.1 && old < 0.45 * young, "{young} and {old}");
}

#[test]
fn the_grain_runs_along_the_belt() {
    let belt = Belt { points: to_the_north(), ..Belt::default() };
    let params = Uplift { grain: 1.0, ..only(Structure::Belt(belt)) };
    let rates = rates(&params);
    let (mut along, mut across) = (0.0, 0.0);
    for i in 0..3000 {
        let at = [f64::from(i * 13 % 600) * 100.0, f64::from(i * 7 % 590) * 100.0];
        let here = rates.incision(at);
        along += math::ln(rates.incision([at[0], at[1] + 300.0]) / here).abs();
        across += math::ln(rates.incision([at[0] + 300.0, at[1]]) / here).abs();
    }
    assert!(across > 4.0 * along, "{across} and {along}");
    assert!(orogen_core::Op::layers(&params).writes.contains(&layer::INCISION.name()));
}

#[test]
fn a_line_of_one_place_gets_a_sentence() {
    let point = At { x_m: 1.0, y_m: 2.0 };
    let belt = Belt { points: vec![point, point], ..Belt::default() };
    assert!(orogen_core::AnyOp::check(&only(Structure::Belt(belt))).is_err());
}
