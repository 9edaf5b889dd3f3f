//! For tests: holds an operator with parameters of its own to the promise that a window equals the same part of the
//! whole. The catalogue test does this for defaults and choices only.

use orogen_core::testkit::standard::{AnyFile, Standard};
use orogen_core::{AnyOp, Footprint, Frame, Raster, Reach, Seed, Silent, Terrain, math};

/// A world far from zero with cells that are not square.
pub(crate) fn world() -> Frame {
    Frame::new([623_456.5, -1_198_765.25], [1530.0, 1190.0], [103, 86]).unwrap()
}

/// Where a share of the way from the south-west to the north-east corner of [`world`] lies.
pub(crate) fn place(x: f64, y: f64) -> [f64; 2] {
    [623_456.5 + 1530.0 * x, -1_198_765.25 + 1190.0 * y]
}

/// What the operator makes of the standard world, holes included.
pub(crate) fn whole(op: &dyn AnyOp) -> Terrain {
    standard(op).run(op, &AnyFile::default(), &Silent).unwrap()
}

fn standard(op: &dyn AnyOp) -> Standard {
    Standard::full(world(), &op.layers()).with_holes()
}

/// Panics when a window computed alone differs in a bit from the same part of the whole.
pub(crate) fn assert_windows(op: &dyn AnyOp) {
    let standard = standard(op);
    let whole = whole(op);
    for (col, row, cols, rows) in
        [(30, 20, 33, 17), (0, 0, 40, 30), (63, 56, 40, 30), (0, 85, 103, 1), (51, 43, 1, 1), (70, 5, 9, 70)]
    {
        let window = world().window(col, row, cols, rows);
        let reach_m = match op.reach(&window) {
            Reach::Point => 0.0,
            Reach::Within(reach_m) => reach_m,
            Reach::World => panic!("{op:?} reaches the world"),
        };
        let cut = window.expanded(reach_m).clipped(&world().extent()).unwrap();
        let part = standard.crop(&cut).unwrap().run(op, &AnyFile::default(), &Silent).unwrap();
        let (part, same) = (part.crop(&window).unwrap(), whole.crop(&window).unwrap());
        for (name, data) in same.layers() {
            assert!(
                data.same_bits(&part.layers()[name]),
                "{name} of {cols} × {rows} at {col}, {row} with {op:?}"
            );
        }
        assert_eq!(same.vectors(), part.vectors(), "vectors of {cols} × {rows} at {col}, {row} with {op:?}");
    }
}

/// Panics when an edit changes a sample outside its footprint and the slack that callers add, when the footprint takes in
/// more than a share of the world, or when nothing changes at all.
pub(crate) fn assert_footprint(before: &dyn AnyOp, after: &dyn AnyOp, most: f64) {
    let world = world();
    let (old, new) = (whole(before), whole(after));
    let Footprint::Rect(rect) = after.footprint(before, &world) else { panic!("no rectangle for {after:?}") };
    let rect = rect.grown(world.spacing_m().map(|m| 2.0 * m));
    let inside = world.clipped(&rect).unwrap();
    assert!((inside.len() as f64) < most * world.len() as f64, "{inside:?} of {world:?}");
    let (col, row) = world.offset_of(&inside).unwrap();
    let (cols, rows) = (col..col + inside.cols(), row..row + inside.rows());
    let mut changed = 0;
    for (name, data) in new.layers() {
        let was = &old.layers()[name];
        let size = data.bytes().len() / world.len();
        for (i, (a, b)) in was.bytes().chunks(size).zip(data.bytes().chunks(size)).enumerate() {
            let (col, row) = (i % world.cols(), i / world.cols());
            if a != b {
                assert!(cols.contains(&col) && rows.contains(&row), "{name} at {col}, {row} with {after:?}");
                changed += 1;
            }
        }
    }
    assert!(changed > 0, "nothing changes with {after:?}");
}

/// Uneven ground with many pits: white noise over long waves, 0 to 100 m.
pub(crate) fn rough(cols: usize, rows: usize) -> Raster<f32> {
    Raster::from_fn(cols, rows, |col, row| {
        let wave = math::sin(col as f64 / 17.0) + math::cos(row as f64 / 23.0) + 2.0;
        (15.0 * wave + 40.0 * Seed(9).unit2(col as i64, row as i64)) as f32
    })
}
