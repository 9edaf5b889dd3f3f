use super::*;
use crate::test_support;
use orogen_core::vector::{Column, VectorLayer};

fn made(op: &Lakes, height: Raster<f32>) -> (Terrain, Vec<f64>) {
    let frame = Frame::new([0.0, 0.0], [1990.0, 1990.0], [200, 200]).unwrap();
    let mut terrain = Terrain::new(frame.window(0, 0, height.cols(), height.rows()));
    terrain.set(layer::HEIGHT, height);
    let ctx = Ctx::silent();
    let terrain = op.apply(terrain, &ctx).unwrap();
    (terrain, ctx.take_figures().iter().map(|figure| figure.value).collect())
}

fn rasters(terrain: &Terrain) -> (&Raster<f32>, &Raster<f32>) {
    (terrain.get(layer::HEIGHT).unwrap(), terrain.get(layer::WATER).unwrap())
}

/// Waves of 300 m and some noise: hollows of all sizes.
fn rolling(n: usize) -> Raster<f32> {
    let rough = test_support::rough(n, n);
    Raster::from_fn(n, n, |col, row| {
        let wave = orogen_core::math::sin(col as f64 / 6.0) * orogen_core::math::cos(row as f64 / 5.0 + 0.3);
        (20.0 * wave) as f32 + 0.2 * rough.row(row)[col] + 30.0
    })
}

/// Samples outside lakes from which water cannot get away: raised by filling, where lakes without outlets are holes.
fn pits(terrain: &Terrain, lakes: &VectorLayer) -> usize {
    let (height, water) = rasters(terrain);
    let closed: Vec<f64> = match &lakes.feature_attributes()["overflows"] {
        Column::Flag(flags) => {
            let levels = lakes.numbers("level_m").unwrap();
            levels.iter().zip(flags).filter(|(_, flag)| !**flag).map(|(level, _)| *level).collect()
        }
        _ => panic!("no flags"),
    };
    let surface = Raster::from_fn(height.cols(), height.rows(), |col, row| {
        let (bed, depth) = (height.row(row)[col], water.row(row)[col]);
        let level = bed + depth;
        let is_closed =
            bed > 0.0 && depth > 0.0 && closed.iter().any(|c| (c - f64::from(level)).abs() < 1e-4);
        if is_closed { f32::NAN } else { level }
    });
    let mut filled = surface.clone();
    drainage(&surface, [10.0, 10.0], 0.0, &Ctx::silent()).unwrap().basins.fill(&mut filled);
    // Bed and depth are rounded, each by itself.
    filled.as_slice().iter().zip(surface.as_slice()).filter(|(a, b)| **a > **b + 1e-4).count()
}

fn small() -> Lakes {
    Lakes { min_depth_m: 5.0, min_area_m2: 2000.0, ..Lakes::default() }
}

#[test]
fn no_pit_is_left_outside_lakes_and_lakes_are_level() {
    for height in [rolling(120), test_support::rough(120, 120), rolling(120).map(|h| h.round() - 20.0)] {
        for rest in [Rest::Breach, Rest::Fill] {
            for balance in [false, true] {
                for max_cut_m in [4.0, 1000.0] {
                    let op = Lakes { rest, balance, max_cut_m, runoff: 0.5, ..small() };
                    let (terrain, figures) = made(&op, height.clone());
                    let lakes = terrain.vector(LAKES).unwrap();
                    assert_eq!(pits(&terrain, lakes), 0, "{op:?}");
                    // Beds are not touched.
                    let (land, water) = rasters(&terrain);
                    for (cell, depth) in water.as_slice().iter().enumerate() {
                        if *depth > 0.0 && land.as_slice()[cell] > 0.0 {
                            assert_eq!(land.as_slice()[cell], height.as_slice()[cell], "{op:?}, {cell}");
                        }
                    }
                    let Column::Integer(ids) = &lakes.feature_attributes()["lake"] else { panic!("no ids") };
                    let most = ids.iter().max().copied().unwrap_or(0);
                    assert_eq!(most as f64, figures[0]);
                }
            }
        }
    }
}

#[test]
fn wet_samples_of_a_lake_have_one_surface() {
    let (terrain, figures) = made(&small(), rolling(120));
    let (land, water) = rasters(&terrain);
    assert!(figures[0] > 10.0, "{figures:?}");
    for cell in 0..120 * 120 {
        for other in crate::drainage::neighbours_of(cell, 120, 120) {
            let (a, b) = (water.as_slice()[cell], water.as_slice()[other]);
            if a > 0.0 && b > 0.0 {
                let levels = (land.as_slice()[cell] + a, land.as_slice()[other] + b);
                assert!((levels.0 - levels.1).abs() < 1e-4, "{levels:?}");
            }
        }
    }
}

/// A round bowl 10 m deep in a plateau at 100 m, with an island in it and a notch at 96 m to the west.
fn bowl() -> Raster<f32> {
    Raster::from_fn(61, 61, |col, row| {
        let (x, y) = (col as f32 - 30.0, row as f32 - 30.0);
        let r = (x * x + y * y).sqrt();
        match (col, row) {
            (..30, 30) if r > 14.0 => 96.0,
            _ if r < 3.0 => 99.0,
            _ if r < 20.0 => 90.0 + r * r / 40.0,
            _ => 100.0,
        }
    })
}

#[test]
fn a_bowl_becomes_a_lake_with_a_shore_an_island_and_an_outlet() {
    let (terrain, figures) = made(&Lakes::default(), bowl());
    assert_eq!((figures[0], figures[1]), (1.0, 0.0));
    let lakes = terrain.vector(LAKES).unwrap();
    assert_eq!(lakes.len(), 1);
    assert_eq!(lakes.parts(0).count(), 2);
    assert_eq!(lakes.numbers("level_m").unwrap(), [96.0]);
    assert!(lakes.vertices().iter().all(|vertex| vertex[2] == 96.0));
    // The bowl is at 96 m where r² = 240; an island of radius 3 within.
    let area = lakes.numbers("area_m2").unwrap()[0];
    assert!((area / (std::f64::consts::PI * (240.0 - 9.0) * 100.0) - 1.0).abs() < 0.05, "{area}");
    let outlet = [lakes.numbers("outlet_x_m").unwrap()[0], lakes.numbers("outlet_y_m").unwrap()[0]];
    assert!(outlet[0] < 150.0 && (outlet[1] - 1690.0).abs() < 15.0, "{outlet:?}");
    let radii = lakes.parts(0).next().unwrap().map(|i| {
        let [x, y, _] = lakes.vertices()[i];
        ((x / 10.0 - 30.0) * (x / 10.0 - 30.0) + (y / 10.0 - 169.0) * (y / 10.0 - 169.0)).sqrt()
    });
    assert!(radii.clone().fold(f64::MAX, f64::min) > 14.0 && radii.fold(0.0, f64::max) < 19.0);
}

#[test]
fn a_shallow_hollow_is_no_lake() {
    let (terrain, figures) = made(&Lakes { min_depth_m: 7.0, ..Lakes::default() }, bowl());
    assert_eq!(figures[0], 0.0);
    assert!(terrain.vector(LAKES).unwrap().is_empty());
    assert_eq!(rasters(&terrain).1.range(), Some((0.0, 0.0)));
    assert_eq!(pits(&terrain, terrain.vector(LAKES).unwrap()), 0);
}

#[test]
fn in_dry_country_lakes_shrink_until_they_keep_their_water() {
    // The bowl is 1257 samples wide open, and all within the plateau's flat ground drains somewhere.
    let at = |rain: f64| {
        let op = Lakes {
            balance: true,
            rain_mm_per_yr: Coef::Const(rain),
            evaporation_mm_per_yr: Coef::Const(1000.0),
            runoff: 0.25,
            ..Lakes::default()
        };
        let (terrain, figures) = made(&op, bowl());
        let lakes = terrain.vector(LAKES).unwrap();
        assert_eq!(pits(&terrain, lakes), 0, "{rain}");
        (figures[1], figures[2] / 100.0)
    };
    let full = at(5000.0);
    assert_eq!(full.0, 0.0);
    let (mut before, mut catchment) = (full.1, Vec::new());
    for rain in [400.0, 200.0, 100.0, 50.0] {
        let (closed, cells) = at(rain);
        if closed == 1.0 {
            assert!(cells < before, "{rain}: {cells} of {before}");
            // 0.25 rain (c − a) + rain a = 1000 a
            catchment.push(cells * (1000.0 - 0.75 * rain) / (0.25 * rain));
        }
        before = cells;
    }
    assert!(catchment.len() >= 2, "{catchment:?}");
    let (low, high) = catchment.iter().fold((f64::MAX, 0f64), |(a, b), c| (a.min(*c), b.max(*c)));
    assert!(low > 0.7 * high, "one catchment gives {catchment:?}");
    assert!(at(0.0).1 >= 1.0);
}

#[test]
fn earlier_water_is_kept_on_request() {
    let frame = Frame::new([0.0, 0.0], [600.0, 600.0], [61, 61]).unwrap();
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, bowl());
    terrain.set(layer::WATER, Raster::filled(61, 61, 0.5));
    let kept = Lakes { keep: true, ..Lakes::default() }.apply(terrain.clone(), &Ctx::silent()).unwrap();
    assert_eq!(rasters(&kept).1.range().map(|(low, _)| low), Some(0.5));
    let fresh = Lakes::default().apply(terrain, &Ctx::silent()).unwrap();
    assert_eq!(rasters(&fresh).1.range().map(|(low, _)| low), Some(0.0));
}

#[test]
fn odd_land() {
    for (cols, rows) in [(1, 1), (2, 2), (1, 20), (20, 1), (8, 6)] {
        for value in [5.0, -5.0, f32::NAN] {
            for balance in [false, true] {
                let op = Lakes { balance, ..Lakes::default() };
                let (terrain, figures) = made(&op, Raster::filled(cols, rows, value));
                assert_eq!(figures[0], 0.0);
                let (land, water) = rasters(&terrain);
                assert!(land.as_slice().iter().all(|h| h.to_bits() == value.to_bits()));
                let wanted = if value.is_nan() { f32::NAN } else { (-value).max(0.0) };
                assert!(water.as_slice().iter().all(|w| w.to_bits() == wanted.to_bits()));
            }
        }
    }
}
