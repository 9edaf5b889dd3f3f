//! Whatever works on land that loops leaves a loop.

use orogen_core::testkit::standard;
use orogen_core::{Ctx, Frame, LayerData, Loops, Operator, Raster, Reach, Terrain, layer, math};

/// Land of a few whole waves over a frame that loops, turned by so many samples along both axes.
fn loop_of_waves(turned: usize) -> Terrain {
    let n = 96;
    let frame = Frame::square(96.0 * 30.0, n + 1).expect("a good frame").looped();
    let mut terrain = Terrain::new(frame);
    let wave = |times: usize, k: usize| math::sin(std::f64::consts::TAU * (times * k % n) as f64 / n as f64);
    let raster = |f: &(dyn Fn(usize, usize) -> f64 + Sync)| {
        Raster::from_fn(n + 1, n + 1, |col, row| f((col + turned) % n, (row + turned) % n) as f32)
    };
    let land = |c: usize, r: usize| {
        let broad = wave(1, c + n / 8) + wave(1, r + n / 3);
        let fine = wave(3, c + 2 * r) + wave(4, 3 * c + n - r) + 0.5 * wave(5, 2 * r + 7 * c);
        130.0 + 110.0 * broad + 35.0 * fine
    };
    terrain.set(layer::HEIGHT, raster(&land));
    terrain.set(layer::MOISTURE, raster(&|c, r| 0.5 + 0.25 * (wave(2, c) + wave(1, r))));
    terrain.set(layer::MASK, raster(&|c, r| 0.5 + 0.25 * (wave(1, c) + wave(2, r))));
    terrain
}

const OPEN: &str = "the last column is not the first";

/// Columns either side of the seam differ no more than columns elsewhere do, rows likewise.
fn seams(raster: &Raster<f32>) -> Vec<String> {
    let (cols, rows) = (raster.cols(), raster.rows());
    let across = |a: usize, b: usize| {
        let steps = (0..rows).map(|row| f64::from(raster.row(row)[a] - raster.row(row)[b]));
        (steps.map(|step| step * step).sum::<f64>() / rows as f64).sqrt()
    };
    let mut wrong = Vec::new();
    if (0..rows).any(|row| raster.row(row)[0].to_bits() != raster.row(row)[cols - 1].to_bits()) {
        wrong.push(String::from(OPEN));
    }
    let inner = (0..cols - 2).map(|c| across(c, c + 1)).fold(0.0, f64::max);
    let seam = across(cols - 2, cols - 1).max(across(0, 1));
    if seam > 1.05 * inner {
        wrong.push(format!("the columns at the seam differ by {seam}, others by at most {inner}"));
    }
    wrong
}

/// Whatever works on land that loops leaves a loop.
pub fn broken(operator: &Operator) -> Vec<String> {
    let op = operator.default_op();
    let (reads, frame) = (op.layers().reads, *loop_of_waves(0).frame());
    let local = matches!(op.reach(&frame), Reach::Within(_));
    let world = op.reach(&frame) == Reach::World;
    let known = loop_of_waves(0).layers().clone();
    if reads.is_empty() || !(local || world) || reads.iter().any(|name| !known.contains_key(name)) {
        return Vec::new();
    }
    let second = loop_of_waves(40);
    let run = || {
        let ctx = Ctx::new(standard::SEED).in_world(frame).with_second(Some(&second));
        let after = op.apply(loop_of_waves(0), &ctx).expect("land that loops");
        // The land that goes in is a loop; only what somebody put at the edge may break it, with a warning.
        let warned = ctx.take_warnings().iter().any(|text| text.contains("loops"));
        assert!(!warned || op.loops() == Loops::AsIs, "{}", op.id());
        after
    };
    let after = run();
    let mut wrong = Vec::new();
    for (name, data) in after.layers() {
        let LayerData::F32(raster) = data else { continue };
        // What changes from one sample to the next by nature, such as the number of a basin, has no seam to look for.
        if layer::unit(name) == "id" {
            continue;
        }
        for found in [seams(raster), seams(&raster.transposed())].concat() {
            // What somebody put at the edge stays there.
            if op.loops() == Loops::AsIs && found == OPEN {
                continue;
            }
            wrong.push(format!("{}: {name}: {found}", op.id()));
        }
    }
    wrong
}
