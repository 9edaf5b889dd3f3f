use super::laws::{GRAVITY, Laws};
use super::tiles::{Cut, PLANES};
use super::*;
use orogen_core::testkit::assert_close;
use orogen_core::{Raster, Seed, math};

fn land(cols: usize, rows: usize, cell_m: f64, f: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    let frame = Frame::new(
        [0.0, 0.0],
        [(cols.max(2) - 1) as f64 * cell_m, (rows.max(2) - 1) as f64 * cell_m],
        [cols.max(2), rows.max(2)],
    )
    .unwrap()
    .window(0, 0, cols, rows);
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, Raster::from_fn(cols, rows, |c, r| f(frame.x_m(c), frame.y_m(r)) as f32));
    terrain
}

fn rough(cols: usize, rows: usize) -> Terrain {
    let seed = Seed::from_text("rough");
    land(cols, rows, 10.0, |x, y| {
        let noise = seed.unit2((x / 10.0) as i64, (y / 10.0) as i64);
        60.0 + 50.0 * math::sin(x / 170.0) * math::cos(y / 130.0) + 6.0 * noise
    })
}

/// A closed box without rain, friction, evaporation or sea.
fn still() -> Pipes {
    Pipes {
        runoff_s: 0.0,
        rain_mm_per_h: 0.0,
        roughness: 0.0,
        capacity: 0.0,
        evaporate_s: 1e9,
        temperature_c: Coef::Const(-10.0),
        sea: false,
        edge: Edge::Closed,
        ..Pipes::default()
    }
}

fn with_water(mut terrain: Terrain, f: impl Fn(usize, usize, f32) -> f32 + Sync) -> Terrain {
    let height = terrain.get(layer::HEIGHT).unwrap();
    let water = Raster::from_fn(height.cols(), height.rows(), |c, r| f(c, r, height.row(r)[c]));
    terrain.set(layer::WATER, water);
    terrain
}

fn layer_water() -> Coef {
    Coef::Layer(layer::WATER.name())
}

fn sum(raster: &Raster<f32>) -> f64 {
    raster.map(|v| if v.is_nan() { 0.0 } else { v }).sum_f64()
}

#[test]
fn tiles_give_the_bits_of_the_plain_loop() {
    // Larger than a tile both ways, with holes, a sea and a spring, for each way of transport.
    for (transport, edge, cut) in [
        (Transport::Flux, Edge::Open, Cut { wide: 240, tall: 75 }),
        (Transport::Flux, Edge::Closed, Cut { wide: 37, tall: 11 }),
        (Transport::Advect, Edge::Open, Cut { wide: 100, tall: 64 }),
        (Transport::Flux, Edge::Open, Cut { wide: 1000, tall: 1000 }),
    ] {
        let mut terrain = rough(300, 150);
        let hole = |h: &mut Raster<f32>| h.as_mut_slice()[300 * 40 + 250] = f32::NAN;
        terrain.update::<f32>(&layer::HEIGHT.name(), hole).unwrap();
        let spring = Spring { x_m: 1500.0, y_m: 700.0, discharge_m3_per_s: 40.0, radius_m: 30.0 };
        let params = Pipes {
            transport,
            edge,
            sea_level_m: 25.0,
            rain_mm_per_h: 40000.0,
            springs: vec![spring],
            loose_m: Coef::Const(0.5),
            ..Pipes::default()
        };
        let mut storm = Storm::new(&params, terrain, &Ctx::new(Seed(5))).unwrap();
        let mut twin = storm.now.clone();
        for pass in 0..6 {
            let (dt, steps) = storm.stride(1e3);
            let steps = if pass == 3 { 3 } else { steps };
            let laws = Laws::new(&params, storm.spacing_m, dt);
            let advect = transport == Transport::Advect;
            twin = scalar::pass(&laws, &storm.fixed, &storm.weather(dt), advect, steps, &twin);
            storm.advance(dt, steps, cut, &|| false);
            for plane in 0..PLANES {
                let (a, b) = (&storm.now.planes[plane], &twin.planes[plane]);
                let differs = a.iter().zip(b).position(|(a, b)| a.to_bits() != b.to_bits());
                assert_eq!(differs, None, "plane {plane}, {transport:?}, {edge:?}, {cut:?}");
            }
        }
        assert!(storm.now.planes[2].iter().any(|&d| d > 0.01));
        assert!(storm.now.planes[0].iter().any(|&d| d < 0.0));
    }
}

#[test]
fn a_lake_at_rest_stays_at_rest() {
    let terrain = with_water(rough(70, 60), |_, _, h| (80.0 - h).max(0.0));
    let before = terrain.get(layer::WATER).unwrap().clone();
    let params = Pipes { water_m: layer_water(), duration_s: 120.0, capacity: 5.0, ..still() };
    let after = params.run(terrain, &Ctx::silent()).unwrap();
    for (a, b) in after.get(layer::WATER).unwrap().as_slice().iter().zip(before.as_slice()) {
        assert_close!(*a, *b, abs = 1e-6);
    }
}

/// Depth of a breaking dam at `x` metres from it after `t` seconds (Stoker 1957; Ritter 1892 on a dry bed).
fn stoker(high: f64, low: f64, x: f64, t: f64) -> f64 {
    let g = GRAVITY;
    let c = (g * high).sqrt();
    let (front, middle) = if low > 0.0 {
        // Depth between the wave and the bore: where the speeds of both agree.
        let (mut a, mut b) = (low, high);
        for _ in 0..100 {
            let h = 0.5 * (a + b);
            let wave = 2.0 * (c - (g * h).sqrt());
            let bore = (h - low) * (0.5 * g * (h + low) / (h * low)).sqrt();
            if wave > bore { a = h } else { b = h }
        }
        let speed = 2.0 * (c - (g * a).sqrt());
        (a * speed / (a - low) * t, a)
    } else {
        (2.0 * c * t, 0.0)
    };
    let fan = (2.0 * c - x / t) * (2.0 * c - x / t) / (9.0 * g);
    match () {
        () if x < -c * t => high,
        () if x >= front => low,
        () => fan.clamp(middle, high),
    }
}

#[test]
fn a_breaking_dam_follows_the_shallow_water_solution() {
    for low in [5.0, 2.0, 0.0] {
        let (cols, cell, t) = (801, 5.0, 60.0);
        let terrain = land(cols, 5, cell, |_, _| 100.0);
        let terrain = with_water(terrain, |c, _, _| if c < 400 { 10.0 } else { low });
        let params = Pipes { water_m: layer_water(), duration_s: t, ..still() };
        let after = params.run(terrain, &Ctx::silent()).unwrap();
        let water = after.get(layer::WATER).unwrap();
        let (mut wrong, mut all) = (0.0, 0.0);
        for c in 0..cols {
            let exact = stoker(10.0, f64::from(low), (c as f64 - 399.5) * cell, t);
            wrong += (f64::from(water.row(2)[c]) - exact).abs();
            all += exact;
        }
        assert!(wrong / all < 0.05, "{} of the water is elsewhere with {low} m below the dam", wrong / all);
        if low == 5.0 {
            let middle = stoker(10.0, f64::from(low), 0.5 * cell, t);
            let at = |x: f64| f64::from(water.bilinear(399.5 + x / cell, 2.0));
            assert_close!(at(200.0), stoker(10.0, f64::from(low), 200.0, t), rel = 0.05);
            assert!(middle > f64::from(low));
            // The bore is where the depth passes half way.
            let half = 0.5 * (at(200.0) + f64::from(low));
            let front = (400..cols).rev().find(|&c| f64::from(water.row(2)[c]) > half).unwrap();
            let exact = (400..cols)
                .rev()
                .find(|&c| stoker(10.0, f64::from(low), (c as f64 - 399.5) * cell, t) > half)
                .unwrap();
            assert_close!(front as f64 - 399.5, exact as f64 - 399.5, rel = 0.05);
        }
    }
}

#[test]
fn water_and_ground_are_conserved() {
    let terrain = rough(120, 90);
    let before = sum(terrain.get(layer::HEIGHT).unwrap());
    let params =
        Pipes { duration_s: 200.0, rain_mm_per_h: 3000.0, capacity: 8.0, roughness: 0.05, ..still() };
    let ctx = Ctx::silent();
    let after = params.run(terrain, &ctx).unwrap();
    let figures = ctx.take_figures();
    let figure = |name: &str| figures.iter().find(|f| f.name == name).unwrap().value;
    assert!(figure("ground_eroded") > 1000.0);
    assert!(figure("ground_imbalance").abs() < 1e-4 * figure("ground_eroded"), "{figures:?}");
    let standing = sum(after.get(layer::WATER).unwrap()) * 100.0;
    assert_close!(standing, figure("water_fallen"), rel = 1e-5);
    assert_close!(figure("water_fallen"), 3.0 / 3600.0 * 200.0 * 120.0 * 90.0 * 100.0, rel = 0.03);
    let change = sum(after.get(layer::HEIGHT).unwrap()) - before;
    assert!(change.abs() * 100.0 < 1e-3 * figure("ground_eroded"), "{change}");
}

#[test]
fn what_runs_off_is_counted() {
    let params = Pipes { duration_s: 200.0, sea_level_m: 30.0, rain_mm_per_h: 3000.0, ..Pipes::default() };
    let ctx = Ctx::silent();
    params.run(rough(120, 90), &ctx).unwrap();
    let figures = ctx.take_figures();
    let figure = |name: &str| figures.iter().find(|f| f.name == name).unwrap().value;
    assert!(figure("water_run_off") > 0.0 && figure("ground_carried_off") > 0.0, "{figures:?}");
    assert!(figure("ground_imbalance").abs() < 1e-4 * figure("ground_eroded"), "{figures:?}");
}

#[test]
fn land_turned_by_90_degrees_gives_the_turned_result_to_the_bit() {
    let n = 80;
    let turned = |r: &Raster<f32>| Raster::from_fn(n, n, |col, row| r.row(col)[n - 1 - row]);
    let params = Pipes {
        water_m: Coef::Const(0.5),
        rain_mm_per_h: 0.0,
        duration_s: 60.0,
        sea: false,
        ..Pipes::default()
    };
    let terrain = rough(n, n);
    let mut other = terrain.clone();
    other.set(layer::HEIGHT, turned(terrain.get(layer::HEIGHT).unwrap()));
    let (a, b) = (params.run(terrain, &Ctx::silent()).unwrap(), params.run(other, &Ctx::silent()).unwrap());
    for name in [layer::HEIGHT, layer::WATER, layer::SEDIMENT] {
        let (a, b) = (turned(a.get(name).unwrap()), b.get(name).unwrap());
        assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[test]
fn land_turned_by_45_degrees_changes_alike() {
    let n = 201;
    let half = 1000.0;
    let hill = |x: f64, y: f64| {
        let r = math::hypot(x, y);
        let spokes = math::cos(5.0 * math::atan2(y, x)) * r / (200.0 + r);
        300.0 * math::exp(-r * r / 3e5) + 12.0 * spokes + 100.0
    };
    let s = std::f64::consts::FRAC_1_SQRT_2;
    let params = Pipes { patter: 0.0, duration_s: 300.0, sea: false, ..Pipes::default() };
    let change = |turn: bool| {
        let terrain = land(n, n, 10.0, |x, y| {
            let (x, y) = (x - half, y - half);
            if turn { hill(s * (x - y), s * (x + y)) } else { hill(x, y) }
        });
        let before = terrain.get(layer::HEIGHT).unwrap().clone();
        let after = params.run(terrain, &Ctx::silent()).unwrap();
        let after = after.get(layer::HEIGHT).unwrap();
        Raster::from_fn(n, n, |c, r| after.row(r)[c] - before.row(r)[c])
    };
    let (straight, turned) = (change(false), change(true));
    let (mut wrong, mut all) = (0.0, 0.0);
    for r in 0..n {
        for c in 0..n {
            let (x, y) = (c as f64 - 100.0, 100.0 - r as f64);
            if math::hypot(x, y) > 85.0 {
                continue;
            }
            // The place of the straight land that lies here on the turned one.
            let (u, v) = (s * (x - y), s * (x + y));
            let a = f64::from(straight.bilinear(100.0 + u, 100.0 - v));
            let b = f64::from(turned.row(r)[c]);
            wrong += (a - b) * (a - b);
            all += a * a;
        }
    }
    let share = (wrong / all).sqrt();
    assert!(all > 1.0 && share < 0.1, "turned by 45 degrees, {share} of the change differs ({all})");
}

#[test]
fn holes_stay_holes_and_poison_nothing() {
    let mut terrain = rough(60, 50);
    let holes = |h: &mut Raster<f32>| {
        for i in [0, 61, 1000, 1001, 1060, 2999] {
            h.as_mut_slice()[i] = f32::NAN;
        }
    };
    terrain.update::<f32>(&layer::HEIGHT.name(), holes).unwrap();
    let after = Pipes { duration_s: 60.0, ..Pipes::default() }.run(terrain, &Ctx::silent()).unwrap();
    for name in [layer::HEIGHT, layer::WATER, layer::SEDIMENT] {
        assert_eq!(after.get(name).unwrap().as_slice().iter().filter(|v| v.is_nan()).count(), 6);
    }
}

#[test]
fn the_smallest_grids_and_odd_layers_do_no_harm() {
    for (cols, rows) in [(1, 1), (2, 2), (9, 1), (1, 9)] {
        for edge in [Edge::Open, Edge::Closed] {
            let params = Pipes { edge, duration_s: 20.0, ..Pipes::default() };
            let after = params.run(land(cols, rows, 10.0, |_, _| 7.0), &Ctx::silent()).unwrap();
            assert!(after.get(layer::HEIGHT).unwrap().as_slice().iter().all(|h| (h - 7.0).abs() < 0.1));
        }
    }
    let mut terrain = rough(20, 20);
    let odd = LayerName::parse("mask.odd").unwrap();
    let nothing = Raster::filled(20, 20, f32::NAN);
    terrain.set_named(odd.clone(), orogen_core::LayerData::F32(nothing.into()));
    let params = Pipes {
        moisture: Coef::Layer(odd.clone()),
        hardness: Coef::Layer(odd.clone()),
        loose_m: Coef::Layer(odd.clone()),
        temperature_c: Coef::Layer(odd),
        duration_s: 20.0,
        ..Pipes::default()
    };
    let after = params.run(terrain, &Ctx::silent()).unwrap();
    assert!(after.get(layer::HEIGHT).unwrap().as_slice().iter().all(|h| h.is_finite()));
}

#[test]
fn soft_and_loose_ground_goes_before_hard_rock() {
    let eroded = |params: Pipes| {
        let ctx = Ctx::silent();
        params.run(rough(80, 60), &ctx).unwrap();
        ctx.take_figures().iter().find(|f| f.name == "ground_eroded").unwrap().value
    };
    let storm = Pipes { duration_s: 120.0, sea: false, soil_m: Coef::Const(0.0), ..Pipes::default() };
    let rock = eroded(Pipes { hardness: Coef::Const(1.0), ..storm.clone() });
    let soil = Pipes { hardness: Coef::Const(1.0), soil_m: Coef::Const(9.0), ..storm.clone() };
    let (clay, loam) = (eroded(Pipes { soil_hardness: 0.8, ..soil.clone() }), eroded(soil));
    assert!(rock < 1e-3 * clay && 1.5 * clay < loam, "{rock} {clay} {loam}");
    let soft = eroded(Pipes { hardness: Coef::Const(0.6), ..storm.clone() });
    let sand = eroded(Pipes { hardness: Coef::Const(1.0), loose_m: Coef::Const(5.0), ..storm });
    assert!(rock < 1e-3 * soft, "{rock} {soft}");
    assert!(sand > 1.1 * soft, "{sand} {soft}");
}

#[test]
fn powers_of_two_are_close() {
    for i in -20_000..=4000 {
        let t = f64::from(i) * 1e-3;
        assert_close!(laws::exp2(t as f32), math::exp2(t), rel = 1e-6);
    }
    assert_eq!(laws::exp2(0.0), 1.0);
}

fn figure(params: &Pipes, terrain: Terrain, name: &str) -> f64 {
    let ctx = Ctx::silent();
    params.run(terrain, &ctx).unwrap();
    ctx.take_figures().iter().find(|f| f.name == name).unwrap().value
}

#[test]
fn rain_follows_the_moisture_and_heat_dries() {
    let wet = |moisture: f64| {
        let params = Pipes { moisture: Coef::Const(moisture), duration_s: 60.0, ..Pipes::default() };
        figure(&params, rough(60, 60), "water_fallen")
    };
    assert_close!(wet(0.25), 0.25 * wet(1.0), rel = 0.05);
    assert_eq!(wet(0.0), 0.0);
    let mut rainy = rough(60, 60);
    rainy.set(layer::RAIN, Raster::filled(60, 60, 500.0));
    let by_rain = Pipes {
        moisture: Coef::Layer(layer::RAIN.name()),
        wettest: 2000.0,
        duration_s: 60.0,
        ..Pipes::default()
    };
    assert_eq!(figure(&by_rain, rainy, "water_fallen"), wet(0.25));
    let dry = |temperature: f64| {
        let params = Pipes {
            temperature_c: Coef::Const(temperature),
            evaporate_s: 50.0,
            rain_mm_per_h: 0.0,
            water_m: Coef::Const(1.0),
            duration_s: 50.0,
            ..still()
        };
        figure(&params, land(40, 40, 10.0, |_, _| 5.0), "water_standing") / (1600.0 * 100.0)
    };
    assert_close!(dry(35.0), math::exp(-1.0), rel = 1e-3);
    assert_close!(dry(15.0), math::exp(-0.5), rel = 1e-3);
    assert_close!(dry(-5.0), 1.0, rel = 1e-5);
}

#[test]
fn a_spring_gives_its_discharge_wherever_it_lies() {
    for (x_m, radius_m, share) in [(200.0, 50.0, 1.0), (203.0, 0.0, 1.0), (-1e6, 10.0, 0.0)] {
        let spring = Spring { x_m, y_m: 200.0, discharge_m3_per_s: 3.0, radius_m };
        let params = Pipes { springs: vec![spring], duration_s: 100.0, ..still() };
        let fallen = figure(&params, land(41, 41, 10.0, |_, _| 5.0), "water_fallen");
        assert_close!(fallen, share * 300.0, abs = 1e-3);
    }
}

#[test]
fn a_spring_outside_the_frame_is_reported() {
    let spring = |x_m: f64| Spring { x_m, y_m: 100.0, discharge_m3_per_s: 1.0, radius_m: 10.0 };
    let params = Pipes { springs: vec![spring(100.0), spring(-500.0)], duration_s: 10.0, ..still() };
    let ctx = Ctx::silent();
    params.run(land(41, 41, 10.0, |_, _| 5.0), &ctx).unwrap();
    let wanted = "springs[1] at x_m = -500, y_m = 100 is outside the land and gives no water";
    assert_eq!(ctx.take_warnings(), [wanted]);
}

#[test]
fn a_spring_of_20_m3_per_s_cuts_its_bed_to_the_sea_by_default() {
    // A dome that falls 120 m over 1.9 km into the sea, with a valley down its side.
    let shape =
        |x: f64, y: f64| 120.0 - 120.0 * math::pow(x.max(0.0) / 1920.0, 1.5) + 0.1 * (y - 300.0).abs();
    let spring = Spring { x_m: 50.0, y_m: 300.0, discharge_m3_per_s: 20.0, radius_m: 10.0 };
    let storm = Pipes { springs: vec![spring], rain_mm_per_h: 0.0, duration_s: 3600.0, ..Pipes::default() };
    // How far from the west the bed is cut without a gap, and the share of the water that reaches the sea.
    let run = |params: &Pipes| {
        let terrain = land(241, 61, 10.0, shape);
        let before = terrain.get(layer::HEIGHT).unwrap().clone();
        let ctx = Ctx::silent();
        let after = params.run(terrain, &ctx).unwrap();
        let height = after.get(layer::HEIGHT).unwrap();
        let cut = |col: usize| (20..41).map(|r| before.row(r)[col] - height.row(r)[col]).fold(0.0, f32::max);
        let figures = ctx.take_figures();
        let figure = |name: &str| figures.iter().find(|f| f.name == name).unwrap().value;
        let end = (6..241).find(|&col| cut(col) < 0.1).unwrap_or(241);
        (10 * end, figure("water_run_off") / figure("water_fallen"))
    };
    let (end_m, arrives) = run(&storm);
    let (frozen_m, _) = run(&Pipes { temperature_c: Coef::Const(-5.0), ..storm });
    // The last stretch is the fan that the river builds at its mouth, whether water dries or not.
    assert!(end_m >= 1700 && end_m + 100 >= frozen_m, "cut for {end_m} m, {frozen_m} m where nothing dries");
    assert!(arrives > 0.6, "{arrives} of the water reaches the sea");
}

#[test]
fn what_reaches_the_sea_is_laid_down_as_a_delta_and_wins_land() {
    // A steep valley that ends in a shallow sea with room for all.
    let shape = |x: f64, y: f64| if x < 800.0 { 160.0 - 0.2 * x } else { -0.004 * (x - 800.0) } + 0.05 * (y - 400.0).abs();
    let shape = |x: f64, y: f64| if x < 800.0 { shape(x, y) } else { -0.1 - 0.004 * (x - 800.0) };
    let spring = Spring { x_m: 50.0, y_m: 400.0, discharge_m3_per_s: 20.0, radius_m: 10.0 };
    let run = |delta_m: f64| {
        let params = Pipes {
            springs: vec![spring.clone()],
            rain_mm_per_h: 0.0,
            duration_s: 600.0,
            edge: Edge::Closed,
            delta_m,
            ..Pipes::default()
        };
        let terrain = land(201, 81, 10.0, shape);
        let before = terrain.get(layer::HEIGHT).unwrap().clone();
        let ctx = Ctx::silent();
        let after = params.run(terrain, &ctx).unwrap();
        (before, after, ctx.take_figures())
    };
    let (before, after, figures) = run(150.0);
    let figure = |name: &str| figures.iter().find(|f| f.name == name).unwrap().value;
    assert!(figure("ground_in_sea") > 0.1 * figure("ground_eroded"), "{figures:?}");
    assert!(figure("ground_carried_off") < 0.01 * figure("ground_eroded"), "{figures:?}");
    assert!(figure("ground_imbalance").abs() < 1e-4 * figure("ground_eroded"), "{figures:?}");
    assert!(figure("land_won") > 1000.0, "{figures:?}");
    let (height, water) = (after.get(layer::HEIGHT).unwrap(), after.get(layer::WATER).unwrap());
    let won = (0..201 * 81).filter(|&i| before.as_slice()[i] < 0.0 && height.as_slice()[i] > 0.0);
    assert!(won.clone().count() as f64 * 100.0 == figure("land_won"));
    assert!(won.clone().all(|i| water.as_slice()[i] == 0.0 && height.as_slice()[i] <= 0.51));
    // The delta thins out away from the shore, over a longer way if it is asked to.
    let out = |(before, after, _): &(Raster<f32>, Terrain, _)| {
        let height = after.get(layer::HEIGHT).unwrap();
        let (mut sum, mut moment) = (0.0, 0.0);
        for row in 0..81 {
            for col in 81..201 {
                let laid = f64::from(height.row(row)[col] - before.row(row)[col]);
                (sum, moment) = (sum + laid, moment + laid * 10.0 * (col as f64 - 80.0));
            }
        }
        moment / sum
    };
    let (near, far) = (out(&run(50.0)), out(&run(300.0)));
    assert!(near < 0.65 * far && far > 150.0, "{near} m and {far} m from the shore");
}

#[test]
fn limits_hold_in_every_cell() {
    let params = Pipes { max_erosion_m: 0.3, max_deposit_m: 0.2, bank_deg: 90.0, ..Pipes::default() };
    let before = rough(90, 70);
    let after = params.run(before.clone(), &Ctx::silent()).unwrap();
    let [a, b] = [&before, &after].map(|t| t.get(layer::HEIGHT).unwrap().as_slice());
    let change = || a.iter().zip(b).map(|(a, b)| b - a);
    assert!(change().all(|c| (-0.301..=0.201).contains(&c)));
    assert!(change().any(|c| c < -0.29) && change().any(|c| c > 0.19));
}

#[test]
fn undercut_banks_slide_and_untouched_cliffs_stand() {
    let params = Pipes { bank_deg: 30.0, sea: false, edge: Edge::Closed, ..Pipes::default() };
    // A cliff of 50 m, and a trench cut 20 m into flat ground.
    let terrain = land(40, 40, 10.0, |x, _| if x < 105.0 { 100.0 } else { 50.0 });
    let mut storm = Storm::new(&params, terrain, &Ctx::new(Seed(1))).unwrap();
    let trench = |i: usize| i % 42 == 30 && (2..40).contains(&(i / 42));
    for i in 0..storm.now.planes[0].len() {
        if trench(i) {
            storm.now.planes[0][i] = -20.0;
        }
    }
    let volume = |storm: &Storm| -> f64 {
        (0..42 * 42).map(|i| f64::from(storm.now.planes[0][i]) + f64::from(storm.now.planes[1][i])).sum()
    };
    let before = volume(&storm);
    for _ in 0..400 {
        storm.slide();
    }
    assert_close!(volume(&storm), before, rel = 1e-5);
    let above = |col: usize| storm.now.planes[0][21 * 42 + col] + storm.now.planes[1][21 * 42 + col];
    assert!(above(29) < -1.0 && above(30) > -15.0, "{} {}", above(29), above(30));
    assert!((above(29) - above(30)) / 10.0 < 0.65);
    assert_eq!((above(11), above(12)), (0.0, 0.0));
}

#[test]
fn snapshots_show_the_way() {
    let params = Pipes { snapshots: 3, duration_s: 40.0, runoff_s: 20.0, ..Pipes::default() };
    let before = rough(50, 40);
    let plain = Pipes { snapshots: 0, ..params.clone() }.run(before.clone(), &Ctx::silent()).unwrap();
    let after = params.apply(before.clone(), &Ctx::silent()).unwrap();
    let get = |name: &str| after.get_named::<f32>(&LayerName::parse(name).unwrap()).unwrap();
    // The last one is the outcome.
    assert_eq!(get("film.water_3"), after.get(layer::WATER).unwrap());
    assert_eq!(get("film.sediment_3"), after.get(layer::SEDIMENT).unwrap());
    let [a, b] = [&before, &after].map(|t| t.get(layer::HEIGHT).unwrap().as_slice());
    let change = get("film.change_3").as_slice();
    assert!(a.iter().zip(b).zip(change).all(|((a, b), c)| (b - a - c).abs() < 1e-4));
    // More has been moved each time, and taking pictures hardly changes what happens.
    let moved = |name: &str| get(name).map(f32::abs).sum_f64();
    assert!(0.0 < moved("film.change_1") && moved("film.change_1") < moved("film.change_2"));
    let height = plain.get(layer::HEIGHT).unwrap();
    assert_close!(sum(height), sum(after.get(layer::HEIGHT).unwrap()), rel = 1e-4);
    assert!(plain.layers().keys().all(|name| !name.as_str().starts_with("film")));
}

#[test]
fn after_the_default_storm_slopes_are_dry_and_hollows_are_not() {
    // Waves that fall to the east, with hollows between them.
    let terrain =
        land(100, 100, 15.0, |x, y| 400.0 - 0.1 * x + 40.0 * (math::sin(x / 110.0) + math::cos(y / 90.0)));
    let after = Pipes::default().apply(terrain, &Ctx::new(Seed(2))).unwrap();
    let (height, water) = (after.get(layer::HEIGHT).unwrap(), after.get(layer::WATER).unwrap());
    let (mut slopes, mut dry, mut deepest) = (0.0, 0.0, 0.0f32);
    for row in 1..99 {
        for col in 1..99 {
            let x = height.row(row)[col + 1] - height.row(row)[col - 1];
            let y = height.row(row + 1)[col] - height.row(row - 1)[col];
            let deep = water.row(row)[col];
            if (x * x + y * y).sqrt() / 30.0 > 0.15 {
                slopes += 1.0;
                dry += if deep < 0.01 { 1.0 } else { 0.0 };
            }
            deepest = deepest.max(deep);
        }
    }
    assert!(slopes > 4000.0 && dry > 0.98 * slopes, "{dry} of {slopes} samples on slopes are dry");
    assert!(deepest > 0.2, "{deepest} m in the deepest hollow");
}
