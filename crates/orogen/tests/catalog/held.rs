//! Whatever erodes leaves alone what is held.

use orogen_core::testkit::standard;
use orogen_core::vector::Point;
use orogen_core::{AnyOp, Ctx, Frame, Operator, Raster, Terrain, layer, math};
use orogen_ops::held_lines::{Held, hold};

use crate::for_each;

/// A valley whose river runs west to east into the sea, and north of it a crest that ends as a cape; every flank is steep.
fn valley(frame: &Frame) -> Terrain {
    let mut terrain = Terrain::new(*frame);
    let height = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
        let (x, y) = (frame.x_m(col), frame.y_m(row));
        let up = (y - river_y_m(x)).abs();
        let ridge = 360.0 - 0.9 * (y - 2000.0).abs();
        // The bed is level across, so that it runs down between samples as well.
        let land = 0.03 * (2300.0 - x) + (0.35 * (up - 60.0).max(0.0)).max(ridge);
        (land - 1.5 * (x - 2290.0).max(0.0)) as f32
    });
    terrain.set(layer::HEIGHT, height);
    terrain
}

fn river_y_m(x_m: f64) -> f64 {
    1000.0 + 240.0 * math::sin(x_m / 300.0)
}

/// The height between samples; far below all ground where there is none.
fn height_at(terrain: &Terrain, [x, y, _]: Point) -> f64 {
    let [col, row] = terrain.frame().locate(x, y);
    let height = terrain.get(layer::HEIGHT).map(|height| f64::from(height.bilinear(col, row)));
    height.ok().filter(|height| height.is_finite()).unwrap_or(f64::MIN)
}

/// An operator with parameters that give it work to do in a valley so small and low.
fn at_work(operator: &Operator) -> Box<dyn AnyOp> {
    let params = match operator.id {
        "erode.alluvium" => "depth_m = 60.0\nfan_deg = 6.0",
        "erode.glacier" => "equilibrium_m = 100.0",
        _ => "",
    };
    let params = params.parse().expect("a table");
    operator.parse(&params).expect("valid parameters")
}

/// Whatever erodes leaves a held river and a held crest within a metre of their heights, and the river runs down.
#[test]
fn erosion_keeps_what_is_held() {
    let frame = Frame::square(2560.0, 129).unwrap();
    let before = valley(&frame);
    let line = |y_m: &dyn Fn(f64) -> f64| -> Vec<Point> {
        let places = (0..=198).map(|i| 300.0 + 10.0 * f64::from(i));
        places.map(|x| [x, y_m(x), height_at(&before, [x, y_m(x), 0.0])]).collect()
    };
    let (river, crest) = (line(&river_y_m), line(&|_| 2000.0));
    assert!(river.is_sorted_by(|a, b| a[2] >= b[2]), "the river has to run down to begin with");
    let mut marked = before.clone();
    let mark = |kind: &str, points: &[Point]| Held {
        kind: String::from(kind),
        points: points.to_vec(),
        radius_m: 20.0,
    };
    hold(&mut marked, vec![mark("river", &river), mark("curve", &crest)]);
    for_each(|operator| {
        if !operator.id.starts_with("erode.") {
            return Vec::new();
        }
        let op = at_work(operator);
        let run = |terrain: &Terrain| op.apply(terrain.clone(), &Ctx::new(standard::SEED)).unwrap();
        let off = |after: &Terrain, line: &[Point]| {
            line.iter().map(|&p| (height_at(after, p) - p[2]).abs()).fold(0.0, f64::max)
        };
        let (free, kept) = (run(&before), run(&marked));
        // What leaves the recipe's own samples alone works on finer ones, and has a test of its own.
        if free.layers() == before.layers() {
            return Vec::new();
        }
        let mut wrong = Vec::new();
        if off(&free, &river).max(off(&free, &crest)) < 1.0 {
            wrong.push(format!(
                "{} would keep to the lines without the constraint: this shows nothing",
                op.id()
            ));
        }
        for (name, line) in [("river", &river), ("crest", &crest)] {
            let off = off(&kept, line);
            if off > 1.0 {
                wrong.push(format!("{} moves the held {name} by {off} m", op.id()));
            }
        }
        let bed: Vec<f64> = river.iter().map(|&p| height_at(&kept, p)).collect();
        if let Some(i) = (1..bed.len()).find(|&i| bed[i] > bed[i - 1] + 1e-3) {
            wrong.push(format!("{}: the held river rises from {} to {}", op.id(), bed[i - 1], bed[i]));
        }
        wrong
    });
}
