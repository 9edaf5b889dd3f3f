//! Relief maps: every kind of terrain gives a sound picture, the same for every number of threads.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a failing test may stop")]

use orogen_core::testkit::{hills, ramp};
use orogen_core::vector::{Column, Shape, VectorLayer};
use orogen_core::{Cell, Frame, Raster, Terrain, layer};
use orogen_io::png8;
use orogen_io::png8::Picture;
use orogen_io::preview::{self, Palette};
use orogen_io::relief::{ReliefStyle, biome_color, render};

fn terrain(height: Raster<f32>, size_m: f64) -> Terrain {
    let frame = Frame::new([0.0, 0.0], [size_m, size_m], [height.cols(), height.rows()]).unwrap();
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, height);
    terrain
}

fn draw(terrain: &Terrain) -> Picture {
    render(terrain, &ReliefStyle::default()).unwrap()
}

/// Mean of the three channels.
fn brightness(pixel: [u8; 3]) -> f64 {
    pixel.iter().map(|&v| f64::from(v)).sum::<f64>() / 3.0
}

fn mean_brightness(picture: &Picture, cells: impl Fn(usize, usize) -> bool) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for row in 0..picture.rows() {
        for col in 0..picture.cols() {
            if cells(col, row) {
                sum += brightness(picture.row(row)[col]);
                count += 1.0;
            }
        }
    }
    sum / count
}

/// An island: hills in the middle of a sea with a sloping bed, with biomes and a river.
fn island(samples: usize) -> Terrain {
    let middle = (samples - 1) as f32 / 2.0;
    let height = Raster::from_fn(samples, samples, |c, r| {
        let (x, y) = ((c as f32 - middle) / middle, (r as f32 - middle) / middle);
        900.0 * (0.5 - (x * x + y * y).sqrt())
    });
    let biome = height.map(|h| match h {
        h if h <= 0.0 => 15,
        h if h > 430.0 => 14,
        h if h > 300.0 => 0,
        h if h > 150.0 => 8,
        _ => 13,
    });
    let mut terrain = terrain(height, 10_000.0);
    terrain.set(layer::BIOME, biome);
    let mut rivers = VectorLayer::new(Shape::Lines);
    rivers.push([[5000.0, 4500.0, 0.0], [5200.0, 3500.0, 0.0], [5000.0, 2600.0, 0.0]]);
    rivers.push([[f64::NAN, 0.0, 0.0], [1e300, 1.0, 0.0], [0.0, 0.0, 0.0]]);
    assert!(
        rivers
            .set_vertex_attribute("width_m", Column::Number(vec![30.0, 60.0, 120.0, f64::NAN, -5.0, 1e300]))
    );
    terrain.set_vector("rivers", rivers);
    terrain
}

#[test]
fn bits_do_not_depend_on_threads() {
    let terrain = island(203);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| png8::encode(&draw(&terrain)))
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn slopes_towards_the_sun_are_brighter() {
    // The sun stands in the north-west: ground that falls to the west is lit, ground that falls to the east is not.
    let falls_west = ramp(65, 10.0, 0.4);
    let falls_east = Raster::from_fn(65, 65, |c, r| falls_west.row(r)[64 - c]);
    let inner = |c: usize, r: usize| (8..57).contains(&c) && (8..57).contains(&r);
    let style = ReliefStyle { exaggeration: Some(1.0), ..ReliefStyle::default() };
    let [lit, dark] = [falls_west, falls_east]
        .map(|h| mean_brightness(&render(&terrain(h, 640.0), &style).unwrap(), inner));
    assert!(lit > dark + 20.0, "{lit} towards the sun, {dark} away from it");
}

#[test]
fn flat_plains_and_alps_are_modelled_alike() {
    // The exaggeration follows the relief: the same shape at 10 m and at 4000 m has the same contrast.
    let contrast = |relief_m: f32| {
        let hills = hills(129, relief_m);
        let picture = draw(&terrain(hills, 20_000.0));
        let mean = mean_brightness(&picture, |_, _| true);
        let spread: f64 = picture.as_slice().iter().map(|&p| (brightness(p) - mean).abs()).sum();
        spread / picture.as_slice().len() as f64
    };
    let (plain, alps) = (contrast(5.0), contrast(2000.0));
    assert!(plain > 5.0 && plain / alps > 0.4 && plain / alps < 2.5, "contrast {plain} and {alps}");
}

#[test]
fn the_sea_is_blue_and_bright_along_the_coast() {
    let picture = draw(&island(257));
    let [red, _, blue] = picture.row(128)[2];
    assert!(blue > red + 40, "the deep sea is {:?}", picture.row(128)[2]);
    // The coast lies at a quarter of the width.
    let shelf = mean_brightness(&picture, |c, r| r == 128 && (52..60).contains(&c));
    let deep = mean_brightness(&picture, |c, r| r == 128 && c < 8);
    assert!(shelf > deep + 15.0, "shelf {shelf}, deep sea {deep}");
}

#[test]
fn rivers_and_lakes_are_drawn() {
    let with = island(257);
    let without = render(&with, &ReliefStyle { rivers: false, ..ReliefStyle::default() }).unwrap();
    let with = draw(&with);
    // On the river's way from the lake to the south coast.
    let (col, row) = (132, 165);
    let near = |picture: &Picture| (col - 3..col + 4).map(|c| picture.row(row)[c][2]).max().unwrap();
    assert!(near(&with) > near(&without) + 15, "no river near ({col}, {row})");
    let [red, _, blue] = with.row(128)[128];
    assert!(blue > red + 30, "the lake is {:?}", with.row(128)[128]);
}

#[test]
fn sand_has_its_colour_by_its_depth() {
    let mut land = terrain(Raster::filled(33, 33, 40.0), 330.0);
    let bare = draw(&land).row(16)[16];
    let with = |depth: f32, land: &mut Terrain| {
        land.set(layer::SAND, Raster::filled(33, 33, depth));
        draw(land).row(16)[16]
    };
    let [none, hole, thin, deep] = [0.0, f32::NAN, 0.25, 2.0].map(|depth| with(depth, &mut land));
    assert_eq!((none, hole), (bare, bare));
    // From the green of low land to a sandy tone.
    let warmth = |[red, green, _]: [u8; 3]| i32::from(red) - i32::from(green);
    assert!(
        warmth(bare) + 10 < warmth(thin) && warmth(thin) + 10 < warmth(deep),
        "{bare:?} {thin:?} {deep:?}"
    );
    let [red, green, blue] = deep;
    assert!(red > green && green > blue && blue > 120, "{deep:?}");
}

#[test]
fn basins_have_colours_and_divides() {
    let mut land = terrain(Raster::filled(60, 60, 40.0), 600.0);
    let plain = draw(&land);
    // Three basins beside each other, then none.
    let number = |c: usize, _| if c < 45 { (c / 15 + 1) as u32 } else { 0 };
    land.set(layer::BASIN, Raster::from_fn(60, 60, number));
    let picture = draw(&land);
    let [a, b, c, none] = [7, 22, 37, 55].map(|col| picture.row(30)[col]);
    let apart = |p: [u8; 3], q: [u8; 3]| (0..3).map(|i| p[i].abs_diff(q[i])).max().unwrap();
    assert!(apart(a, b) > 25 && apart(b, c) > 25 && apart(a, c) > 25, "{a:?} {b:?} {c:?}");
    assert_eq!(none, plain.row(30)[55]);
    let divide = brightness(picture.row(30)[15]);
    assert!(divide + 15.0 < brightness(a).min(brightness(b)), "the divide is {:?}", picture.row(30)[15]);
    let off = render(&land, &ReliefStyle { basins: false, ..ReliefStyle::default() }).unwrap();
    assert_eq!(off.as_slice(), plain.as_slice());
    land.set(layer::BASIN, Raster::filled(60, 60, 0));
    assert_eq!(draw(&land).as_slice(), plain.as_slice());
}

#[test]
fn holes_single_rows_and_flat_ground_are_fine() {
    let mut holed = hills(40, 100.0);
    for row in 10..20 {
        for col in 10..20 {
            holed[Cell { col, row }] = f32::NAN;
        }
    }
    let picture = draw(&terrain(holed, 1000.0));
    assert_eq!(picture.row(15)[15], [238, 232, 218]);
    for value in [0.0, 100.0, -100.0, f32::NAN, 1e30] {
        draw(&terrain(Raster::filled(5, 5, value), 100.0));
    }
    let whole = terrain(hills(9, 50.0), 800.0);
    for (cols, rows) in [(1, 9), (9, 1), (1, 1), (2, 3)] {
        let part = whole.crop(&whole.frame().window(0, 0, cols, rows)).unwrap();
        let picture = draw(&part);
        assert_eq!((picture.cols(), picture.rows()), (cols, rows));
    }
    let mut infinite = hills(9, 50.0);
    infinite.as_mut_slice()[7] = f32::INFINITY;
    infinite.as_mut_slice()[30] = f32::NEG_INFINITY;
    draw(&terrain(infinite, 100.0));
    assert!(render(&Terrain::new(*whole.frame()), &ReliefStyle::default()).is_err());
}

#[test]
fn a_border_goes_round_the_map() {
    let terrain = terrain(hills(20, 50.0), 100.0);
    let plain = draw(&terrain);
    let bordered = render(&terrain, &ReliefStyle { border_px: 6, ..ReliefStyle::default() }).unwrap();
    assert_eq!((bordered.cols(), bordered.rows()), (32, 32));
    assert_eq!(bordered.row(0)[0], [238, 232, 218]);
    assert_eq!(bordered.row(6 + 3)[6 + 4], plain.row(3)[4]);
}

#[test]
fn pictures_are_sound_png() {
    let picture = draw(&terrain(hills(33, 50.0), 100.0));
    let mut reader = png::Decoder::new(std::io::Cursor::new(png8::encode(&picture))).read_info().unwrap();
    let mut raw = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut raw).unwrap();
    assert_eq!(raw, picture.as_slice().as_flattened());
}

#[test]
fn previews_rise_in_lightness_and_mark_holes() {
    let mut layer = Raster::from_fn(64, 1, |c, _| c as f32);
    for palette in [Palette::Grey, Palette::Depth] {
        let picture = preview::render(&layer, palette, None);
        let light: Vec<f64> = picture.row(0).iter().map(|&p| brightness(p)).collect();
        assert!(light.windows(2).all(|pair| pair[1] >= pair[0]), "{palette:?}: {light:?}");
    }
    layer.as_mut_slice()[3] = f32::NAN;
    let picture = preview::render(&layer, Palette::Warmth, Some((0.0, 10.0)));
    assert_eq!(picture.row(0)[3], [238, 232, 218]);
    assert_eq!(picture.row(0)[20], picture.row(0)[60], "beyond the range the colour stays");
    let biomes = preview::render_biomes(&Raster::from_fn(17, 1, |c, _| c as u8));
    assert_eq!(Some(biomes.row(0)[0]), biome_color(0));
    assert_eq!((biome_color(16), biomes.row(0)[16]), (None, [238, 232, 218]));
}
