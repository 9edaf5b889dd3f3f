//! Every operator of the catalogue keeps every promise. There is no exclusion list.

use std::fs;
use std::path::{Path, PathBuf};

use orogen_core::testkit::{promises, standard};
use orogen_core::vector::Point;
use orogen_core::{Ctx, Frame, Raster, Terrain, layer, math};
use orogen_ops::hold::{Held, hold};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a check on every operator and shows everything that is wrong at once.
fn for_each(check: impl Fn(&orogen_core::Operator) -> Vec<String>) {
    let catalog = orogen::catalog();
    assert!(!catalog.operators().is_empty());
    let wrong: Vec<String> = catalog.operators().iter().flat_map(check).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_operator_keeps_every_promise() {
    for_each(promises::broken);
}

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
        let op = operator.default_op();
        let run = |terrain: &Terrain| op.apply(terrain.clone(), &Ctx::new(standard::SEED)).unwrap();
        let off = |after: &Terrain, line: &[Point]| {
            line.iter().map(|&p| (height_at(after, p) - p[2]).abs()).fold(0.0, f64::max)
        };
        let (free, kept) = (run(&before), run(&marked));
        let mut wrong = Vec::new();
        if off(&free, &river).max(off(&free, &crest)) < 1.0 {
            wrong.push(format!("{} would keep to the lines without being told: this shows nothing", op.id()));
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
#[test]
fn loops_stay_loops() {
    for_each(|operator| {
        let op = operator.default_op();
        let (reads, frame) = (op.layers().reads, *loop_of_waves(0).frame());
        let local = matches!(op.reach(&frame), orogen_core::Reach::Within(_));
        let world = op.reach(&frame) == orogen_core::Reach::World;
        let known = loop_of_waves(0).layers().clone();
        if reads.is_empty() || !(local || world) || reads.iter().any(|name| !known.contains_key(name)) {
            return Vec::new();
        }
        let second = loop_of_waves(40);
        let run = || {
            let ctx = Ctx::new(standard::SEED).in_world(frame).with_second(Some(&second));
            let after = op.apply(loop_of_waves(0), &ctx).unwrap();
            assert!(!ctx.take_warnings().iter().any(|text| text.contains("loops")), "{}", op.id());
            after
        };
        let after = run();
        let mut wrong = Vec::new();
        for (name, data) in after.layers() {
            let orogen_core::LayerData::F32(raster) = data else { continue };
            // What changes from one sample to the next by nature, such as the number of a basin, has no seam to look for.
            if orogen_core::layer::unit(name) == "id" {
                continue;
            }
            for found in [seams(raster), seams(&raster.transposed())].concat() {
                // What somebody put at the edge stays there.
                if op.loops() == orogen_core::Loops::AsIs && found == OPEN {
                    continue;
                }
                wrong.push(format!("{}: {name}: {found}", op.id()));
            }
        }
        wrong
    });
}

#[test]
fn every_operator_has_its_file() {
    for_each(|operator| {
        let path = operator.id.replace('.', "/");
        let sources = repository().join("crates/orogen-ops/src");
        let found = [format!("{path}.rs"), format!("{path}/mod.rs")].iter().any(|file| {
            fs::read_to_string(sources.join(file))
                .is_ok_and(|text| text.contains(&format!("\"{}\"", operator.id)))
        });
        if found { Vec::new() } else { vec![format!("{} is not in {path}.rs or {path}/mod.rs", operator.id)] }
    });
}

#[test]
fn every_operator_has_an_example_and_a_page_with_its_picture() {
    let docs = repository().join("docs");
    for_each(|operator| {
        ["examples/ID.toml", "src/operators/ID.md", "src/operators/ID.png"]
            .map(|path| path.replace("ID", operator.id))
            .into_iter()
            .filter(|path| !docs.join(path).is_file())
            .map(|path| format!("docs/{path} is missing: write the example, then run `cargo xtask docs`"))
            .collect()
    });
}

/// An operator that somebody wrote and forgot to list would be tested by nothing.
#[test]
fn every_operator_in_the_sources_is_in_the_catalogue() {
    let mut folders = vec![repository().join("crates/orogen-ops/src")];
    let mut declared = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let id = |line: &str| {
                    Some(
                        line.trim()
                            .strip_prefix("const ID: &'static str = \"")?
                            .strip_suffix("\";")?
                            .to_owned(),
                    )
                };
                declared.extend(text.lines().filter_map(id));
            }
        }
    }
    declared.sort();
    let catalog = orogen::catalog();
    let listed: Vec<&str> = catalog.operators().iter().map(|operator| operator.id).collect();
    assert_eq!(declared, listed, "the sources declare the left ones, the catalogue lists the right ones");
}
