use std::sync::Arc;

use super::*;
use crate::test_support::{assert_windows, place};
use orogen_core::{Elevation, Files, Property};

const METHODS: [Method; 3] = [Method::Linear, Method::Natural, Method::Smooth];

fn land(op: &Points, frame: Frame) -> Raster<f32> {
    let terrain = op.apply(Terrain::new(frame), &Ctx::new(Seed(4))).unwrap();
    terrain.get(layer::HEIGHT).unwrap().clone()
}

/// Smooth hills, and points strewn over them.
fn hill(x: f64, y: f64) -> f64 {
    use orogen_core::math::{cos, sin};
    200.0 + 90.0 * sin(x / 310.0) * cos(y / 270.0) + 40.0 * sin((x + 2.0 * y) / 190.0)
}

fn square(x: f64) -> f64 {
    x * x
}

fn strewn(n: u64, size_m: f64) -> Vec<[f64; 3]> {
    (0..n)
        .map(|i| {
            let (x, y) = (Seed(1).unit(i) * size_m, Seed(2).unit(i) * size_m);
            [x, y, hill(x, y)]
        })
        .collect()
}

#[test]
fn smoother_methods_come_nearer_to_smooth_land() {
    let frame = Frame::square(1500.0, 101).unwrap();
    let errors = METHODS.map(|method| {
        // Points beyond the frame, so that all of it lies inside.
        let points_m = strewn(700, 2100.0)
            .into_iter()
            .map(|p| [p[0] - 300.0, p[1] - 300.0, hill(p[0] - 300.0, p[1] - 300.0)]);
        let height = land(&Points { points_m: points_m.collect(), method, ..Points::default() }, frame);
        let sum: f64 = (0..101 * 101)
            .map(|i| {
                let (x, y) = (frame.x_m(i % 101), frame.y_m(i / 101));
                square(f64::from(height.as_slice()[i]) - hill(x, y))
            })
            .sum();
        (sum / (101.0 * 101.0)).sqrt()
    });
    assert!(errors[1] < errors[0] && errors[2] < 0.7 * errors[1], "{errors:?}");
    assert!(errors[2] < 4.0, "{errors:?}");
}

#[test]
fn smooth_has_one_slope_at_a_point_and_natural_a_tip() {
    let peak =
        vec![[0.0, 0.0, 0.0], [100.0, 0.0, 0.0], [100.0, 100.0, 0.0], [0.0, 100.0, 0.0], [50.0, 50.0, 30.0]];
    let frame = Frame::square(100.0, 1001).unwrap();
    let bend = |method| {
        let height = land(&Points { points_m: peak.clone(), method, ..Points::default() }, frame);
        let row = height.row(500);
        (row[505] - row[500]) - (row[500] - row[495])
    };
    assert!(bend(Method::Natural) < -0.4, "{}", bend(Method::Natural));
    assert!(bend(Method::Smooth).abs() < 0.05, "{}", bend(Method::Smooth));
}

#[test]
fn outside_is_what_was_asked_for() {
    let points_m = vec![[400.0, 400.0, 10.0], [600.0, 400.0, 10.0], [500.0, 600.0, 30.0]];
    let frame = Frame::square(1000.0, 101).unwrap();
    let at = |outside, col: usize, row: usize| {
        let op = Points {
            points_m: points_m.clone(),
            outside,
            outside_m: -5.0,
            fade_m: 100.0,
            ..Points::default()
        };
        land(&op, frame).row(row)[col]
    };
    assert_eq!(at(Outside::Edge, 50, 0), 30.0);
    assert_eq!(at(Outside::Level, 50, 0), -5.0);
    assert_eq!(at(Outside::Fade, 50, 0), -5.0);
    assert!((at(Outside::Fade, 50, 35) - 12.5).abs() < 1e-3, "half way: {}", at(Outside::Fade, 50, 35));
    assert!(at(Outside::Hole, 50, 0).is_nan());
    for outside in [Outside::Edge, Outside::Fade, Outside::Level, Outside::Hole] {
        assert!((10.0..30.0).contains(&at(outside, 50, 50)));
    }
}

#[test]
fn windows_equal_the_whole() {
    let points_m: Vec<[f64; 3]> = (0..80)
        .map(|i| {
            let [x, y] = place(Seed(5).unit(i), Seed(6).unit(i));
            [x, y, 100.0 * Seed(7).unit(i)]
        })
        .collect();
    for method in METHODS {
        assert_windows(&Points {
            points_m: points_m.clone(),
            method,
            outside: Outside::Fade,
            ..Points::default()
        });
    }
    let placement = Placement::Fit;
    assert_windows(&Points {
        points_m: vec![[0.0, 0.0, 1.0], [2.0, 1.0, 5.0], [1.0, 3.0, 9.0]],
        placement,
        ..Points::default()
    });
}

#[test]
fn placement_moves_and_stretches() {
    let points_m = vec![[0.0, 0.0, 0.0], [10.0, 0.0, 10.0], [10.0, 10.0, 20.0], [0.0, 10.0, 10.0]];
    let frame = Frame::new([1000.0, 2000.0], [100.0, 50.0], [11, 6]).unwrap();
    let base = Points { points_m, method: Method::Linear, outside: Outside::Hole, ..Points::default() };
    let fit = land(&Points { placement: Placement::Fit, scale: 2.0, offset_m: 1.0, ..base.clone() }, frame);
    assert_eq!((fit.row(5)[0], fit.row(0)[10], fit.row(5)[10]), (1.0, 41.0, 21.0));
    let middle = land(&Points { placement: Placement::Middle, ..base.clone() }, frame);
    assert_eq!(middle.as_slice().iter().filter(|h| !h.is_nan()).count(), 2);
    assert!(land(&base, frame).as_slice().iter().all(|h| h.is_nan()));
    let shifted = land(&Points { shift_m: [1000.0, 2000.0], ..base }, frame);
    assert_eq!((shifted.row(5)[1], shifted.row(4)[0]), (10.0, 10.0));
}

struct OneFile(Arc<Features>);

impl Files for OneFile {
    fn fingerprint(&self, _: &str) -> Result<[u8; 32], OpError> {
        Ok([0; 32])
    }
    fn elevation(&self, path: &str) -> Result<Arc<Elevation>, OpError> {
        orogen_core::NoFiles.elevation(path)
    }
    fn features(&self, path: &str) -> Result<Arc<Features>, OpError> {
        assert_eq!(path, "survey.geojson");
        Ok(Arc::clone(&self.0))
    }
}

fn from_file(features: Features, property: &str) -> Result<Raster<f32>, OpError> {
    let op =
        Points { path: String::from("survey.geojson"), property: property.to_owned(), ..Points::default() };
    let files = OneFile(Arc::new(features));
    let terrain =
        op.apply(Terrain::new(Frame::square(10.0, 11).unwrap()), &Ctx::silent().with_files(&files))?;
    Ok(terrain.get(layer::HEIGHT)?.clone())
}

#[test]
fn heights_of_a_file_come_from_properties_or_coordinates() {
    let corners = [[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]];
    let features = |z: f64, property: Option<&str>| {
        let mut features = Features::default();
        for (i, [x, y]) in corners.into_iter().enumerate() {
            features.points.push(i as u32 + 1, [[[x, y, z]]]);
            if let Some(name) = property {
                features.points.set_property(name, Property::Number(50.0));
            }
        }
        features
    };
    assert_eq!(from_file(features(7.0, None), "").unwrap().as_slice()[60], 7.0);
    assert_eq!(from_file(features(7.0, Some("ELEV")), "").unwrap().as_slice()[60], 50.0);
    assert_eq!(from_file(features(7.0, Some("depth")), "").unwrap().as_slice()[60], 7.0);
    assert_eq!(from_file(features(7.0, Some("depth")), "depth").unwrap().as_slice()[60], 50.0);
    assert_eq!(
        from_file(features(f64::NAN, Some("depth")), "").unwrap_err().to_string(),
        "file \"survey.geojson\": feature 1 has no height from -100000 to 100000 m in its properties and third \
         coordinates; set `property` to the name of the property with heights"
    );
    assert_eq!(
        from_file(Features::default(), "").unwrap_err().to_string(),
        "file \"survey.geojson\": it has no points; for lines of equal height use source.contours"
    );
}

#[test]
fn two_sources_of_points_and_wild_heights_are_refused() {
    let both = Points { points_m: vec![[0.0; 3]], path: String::from("a.csv"), ..Points::default() };
    assert!(both.faults()[0].to_string().starts_with("path: cannot be combined with points_m"));
    let wild = Points { points_m: vec![[0.0; 3], [0.0, 0.0, 2e5]], ..Points::default() };
    assert_eq!(wild.faults()[0].to_string(), "points_m[1][2]: 200000 is outside -100000 to 100000 m");
}

#[test]
fn points_on_a_line_give_land_and_a_warning() {
    let op = Points { points_m: vec![[0.0, 5.0, 0.0], [10.0, 5.0, 10.0]], ..Points::default() };
    let ctx = Ctx::silent();
    let terrain = op.apply(Terrain::new(Frame::square(10.0, 11).unwrap()), &ctx).unwrap();
    assert_eq!(terrain.get(layer::HEIGHT).unwrap().row(0)[3], 3.0);
    assert!(ctx.take_warnings()[0].contains("lie on one line"));
}
