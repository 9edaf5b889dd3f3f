use super::*;
use crate::test_support::assert_windows;

fn run(op: &Biomes, height: impl Fn(usize, usize) -> f32 + Sync) -> Raster<u8> {
    let mut terrain = Terrain::new(Frame::square(640.0, 65).unwrap());
    terrain.set(layer::HEIGHT, Raster::from_fn(65, 65, height));
    terrain.set(layer::TEMPERATURE, Raster::from_fn(65, 65, |col, _| col as f32 - 30.0));
    terrain.set(layer::MOISTURE, Raster::from_fn(65, 65, |_, row| row as f32 / 64.0));
    Op::apply(op, terrain, &Ctx::silent()).unwrap().get(layer::BIOME).unwrap().clone()
}

#[test]
fn dry_ground_has_the_biome_of_its_climate() {
    let op = Biomes { border_c: 0.0, border_moisture: 0.0, ..Biomes::default() };
    let biome = run(&op, |_, _| 100.0);
    for (col, row) in [(0, 0), (20, 40), (64, 64)] {
        let expected = Biome::of_climate(col as f64 - 30.0, row as f64 / 64.0);
        assert_eq!(biome.row(row)[col], expected.id());
    }
}

#[test]
fn beaches_are_low_and_beside_the_sea() {
    let op = Biomes { beach_width_m: 30.0, ..Biomes::default() };
    // The sea lies west of column 20; the ground rises by 0.5 m a column.
    let biome = run(&op, |col, _| if col < 20 { -5.0 } else { (col - 20) as f32 * 0.5 });
    let row = biome.row(32);
    assert!(row[..20].iter().all(|b| *b == Biome::Ocean.id()));
    assert!(row[20..23].iter().all(|b| *b == Biome::Beach.id()));
    assert!(row[23..].iter().all(|b| *b != Biome::Beach.id() && *b != Biome::Ocean.id()));
}

/// Every shore of a steep island was beach where its samples lay as far apart as a beach is wide, and half of it in a preview.
#[test]
fn steep_shores_have_no_beach_however_far_apart_the_samples_lie() {
    let beaches = |samples: usize, rise: f64| {
        let frame = Frame::square(5120.0, samples).unwrap();
        let mut terrain = Terrain::new(frame);
        // A round island, whose shore meets samples at every distance.
        let height = |col: usize, row: usize| {
            let far = math::hypot(frame.x_m(col) - 2560.0, frame.y_m(row) - 2560.0);
            (rise * (2000.0 - far)) as f32
        };
        terrain.set(layer::HEIGHT, Raster::from_fn(samples, samples, height));
        let op = Biomes { temperature_c: Coef::Const(10.0), moisture: Coef::Const(0.5), ..Biomes::default() };
        let made = Op::apply(&op, terrain, &Ctx::silent()).unwrap();
        let found =
            made.get(layer::BIOME).unwrap().as_slice().iter().filter(|b| **b == Biome::Beach.id()).count();
        found as f64 * frame.spacing_m()[0] * frame.spacing_m()[1]
    };
    for samples in [65, 129, 513] {
        assert_eq!(beaches(samples, 0.3), 0.0, "{samples}");
        // 40 m of 12.6 km of shore.
        let share = beaches(samples, 0.05) / (40.0 * 12.5e3);
        assert!((0.75..1.25).contains(&share), "{samples}: {share}");
    }
}

/// The map said snow where none lay, on heaths of 4 degrees, as its table knows no season.
#[test]
fn the_biome_is_snow_where_snow_lies_and_nowhere_else() {
    let mut terrain = Terrain::new(Frame::square(640.0, 65).unwrap());
    terrain.set(layer::HEIGHT, Raster::filled(65, 65, 100.0));
    terrain.set(layer::TEMPERATURE, Raster::from_fn(65, 65, |col, _| if col < 20 { -8.0 } else { -2.0 }));
    terrain.set(layer::MOISTURE, Raster::filled(65, 65, 0.9));
    let op = Biomes { border_c: 0.0, border_moisture: 0.0, ..Biomes::default() };
    let without = Op::apply(&op, terrain.clone(), &Ctx::silent()).unwrap();
    assert!(without.get(layer::BIOME).unwrap().as_slice().iter().all(|b| *b == Biome::Snow.id()));
    terrain.set(layer::SNOW, Raster::from_fn(65, 65, |_, row| if row < 30 { 1.0 } else { 0.1 }));
    let made = Op::apply(&op, terrain, &Ctx::silent()).unwrap();
    let at = |col: usize, row: usize| Biome::from_id(made.get(layer::BIOME).unwrap().row(row)[col]);
    assert_eq!([at(10, 10), at(50, 10)], [Some(Biome::Snow); 2]);
    assert_eq!([at(10, 50), at(50, 50)], [Some(Biome::Bare), Some(Biome::Tundra)]);
}

/// Samples 78 m apart with beaches of 40 m had none at all.
#[test]
fn a_preview_whose_samples_lie_further_apart_than_a_beach_is_wide_has_beaches() {
    let shore = |samples: usize, rise: f64| {
        let frame = Frame::square(2560.0, samples).unwrap();
        let mut terrain = Terrain::new(frame);
        let height = |col: usize, _| (rise * (frame.x_m(col) - 1271.0)) as f32;
        terrain.set(layer::HEIGHT, Raster::from_fn(samples, samples, height));
        let op = Biomes {
            temperature_c: Coef::Const(10.0),
            moisture: Coef::Const(0.5),
            beach_width_m: 30.0,
            ..Biomes::default()
        };
        let made = Op::apply(&op, terrain, &Ctx::silent()).unwrap();
        let row: Vec<u8> = made.get(layer::BIOME).unwrap().row(3).to_vec();
        row.iter()
            .enumerate()
            .filter(|(_, b)| **b == Biome::Beach.id())
            .map(|(col, _)| frame.x_m(col))
            .collect()
    };
    // A sample every 80 m: one of them lies 9 m from the shore.
    let coarse: Vec<f64> = shore(33, 0.05);
    assert_eq!(coarse, [1280.0]);
    let fine: Vec<f64> = shore(513, 0.05);
    assert!(fine.len() == 6 && fine.iter().all(|x| (1271.0..1301.0).contains(x)), "{fine:?}");
    // 9 m of 45 degrees are too high, and too steep.
    assert!(shore(33, 1.0).is_empty());
}

#[test]
fn high_ground_is_cold() {
    let op = Biomes { temperature_c: Coef::Const(20.0), lapse_c_per_km: 6.5, ..Biomes::default() };
    let low = run(&op, |_, _| 10.0);
    let high = run(&op, |_, _| 4000.0);
    assert_eq!(low.row(64)[0], Biome::TropicalRainForest.id());
    assert_eq!(high.row(64)[0], Biome::Snow.id());
}

#[test]
fn biomes_go_when_the_land_changes() {
    let mut terrain = Terrain::new(Frame::square(640.0, 65).unwrap());
    terrain.set(layer::HEIGHT, Raster::filled(65, 65, 10.0));
    let op = Biomes { temperature_c: Coef::Const(20.0), moisture: Coef::Const(0.5), ..Biomes::default() };
    let mut terrain = Op::apply(&op, terrain, &Ctx::silent()).unwrap();
    assert!(terrain.get(layer::BIOME).is_ok());
    terrain.update::<f32>(&layer::HEIGHT.name(), |h| h.as_mut_slice()[0] = 5.0).unwrap();
    assert!(terrain.get(layer::BIOME).is_err());
}

#[test]
fn the_table_that_is_given_is_that_of_the_sixteen_biomes() {
    let table = Table::new(&Biomes::default());
    for t in -300..400 {
        for m in 0..=120 {
            let (warm, wet) = (f64::from(t) / 10.0 + 0.05, f64::from(m) / 120.0 + 0.001);
            assert_eq!(table.at(warm as f32, wet as f32), Biome::of_climate(warm, wet).id(), "{warm} {wet}");
        }
    }
    assert_eq!(table.at(f32::NAN, 0.5), Biome::Ocean.id());
}

#[test]
fn borders_interlock_and_stay_near_where_they_were() {
    // The temperature crosses 0 in column 30; by 1 degree a column borders may wander as many columns as degrees.
    let straight =
        Biomes { border_c: 0.0, border_moisture: 0.0, moisture: Coef::Const(0.45), ..Biomes::default() };
    let ragged = Biomes { border_c: 5.0, border_m: 150.0, ..straight.clone() };
    let length = |biome: &Raster<u8>| {
        let row = |row: usize| biome.row(row).windows(2).filter(|pair| pair[0] != pair[1]).count();
        let down = |col: usize| (1..65).filter(|r| biome.row(*r)[col] != biome.row(r - 1)[col]).count();
        (0..65).map(|i| row(i) + down(i)).sum::<usize>()
    };
    let (plain, rough) = (run(&straight, |_, _| 100.0), run(&ragged, |_, _| 100.0));
    assert!(length(&rough) > 3 * length(&plain) / 2, "{} against {}", length(&rough), length(&plain));
    for row in 0..65 {
        for col in 0..65 {
            let near =
                |shift: isize| plain.clamped(col as isize + shift, row as isize) == rough.row(row)[col];
            assert!((-5..=5).any(near), "{col}, {row}");
        }
    }
}

#[test]
fn a_table_of_ones_own_paint_and_a_snow_line() {
    let mut terrain = Terrain::new(Frame::square(640.0, 65).unwrap());
    terrain.set(layer::HEIGHT, Raster::from_fn(65, 65, |_, row| 3000.0 - 40.0 * row as f32));
    terrain.set(layer::MASK, Raster::from_fn(65, 65, |col, _| if col < 10 { 1.0 } else { 0.2 }));
    let op = Biomes {
        temperature_c: Coef::Const(12.0),
        moisture: Coef::Const(0.9),
        belts_c: vec![10.0],
        belts_moisture: vec![0.5],
        table: vec![vec!["bare".into(), "tundra".into()], vec!["grassland".into(), "maquis".into()]],
        own: vec![OwnBiome { name: "maquis".into(), id: 20 }],
        snow_line_m: Some(2000.0),
        painted: vec![Painted { biome: "taiga".into(), mask: layer::MASK.name() }],
        border_c: 0.0,
        ..Biomes::default()
    };
    assert_eq!(op.faults(), []);
    let made = Op::apply(&op, terrain, &Ctx::silent()).unwrap();
    let biome = made.get(layer::BIOME).unwrap();
    assert_eq!(
        (biome.row(10)[40], biome.row(40)[40], biome.row(40)[3]),
        (Biome::Snow.id(), 20, Biome::Taiga.id())
    );
}

#[test]
fn bad_tables_get_a_sentence() {
    let said = |op: &Biomes| op.faults().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let op = Biomes { belts_c: vec![0.0, 8.0, 8.0], ..Biomes::default() };
    assert_eq!(said(&op), "belts_c[2]: 8 is not above 8, that of the belt before");
    let op = Biomes { belts_c: vec![0.0, 8.0], ..Biomes::default() };
    assert_eq!(said(&op), "table: 3 belts of temperature need 3 rows, and there are 4");
    let mut op = Biomes::default();
    op.table[1][2] = "tiaga".into();
    assert_eq!(said(&op), "table[1][2]: no biome \"tiaga\"; did you mean \"taiga\"?");
    let op = Biomes { own: vec![OwnBiome { name: "taiga".into(), id: 20 }], ..Biomes::default() };
    assert_eq!(said(&op), "own[0].name: there is a biome \"taiga\" already");
}

#[test]
fn windows_equal_the_whole() {
    assert_windows(&Biomes::default());
    assert_windows(&Biomes {
        snow_line_m: Some(120.0),
        snow_depth_m: 0.5,
        beach_width_m: 90.0,
        ..Biomes::default()
    });
}
