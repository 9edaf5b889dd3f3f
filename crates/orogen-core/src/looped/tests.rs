use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::layer::{BASIN, HEIGHT, SLOPE};
use crate::op::Op;
use crate::raster::Raster;
use crate::vector::{Shape, VectorLayer};
use crate::{Cell, math};

/// An operator that adds up what lies around, or counts columns from the west as one that knows edges would.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Probe {
    far_m: f64,
    world: bool,
    itself: bool,
}

impl Op for Probe {
    const ID: &'static str = "shape.probe";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([HEIGHT.name()]).writing([BASIN.name()]).writing_vectors(["rivers"])
    }

    fn reach(&self, _: &Frame) -> Reach {
        if self.world { Reach::World } else { Reach::Within(self.far_m) }
    }

    fn loops(&self) -> Loops {
        if self.itself { Loops::Itself } else { Loops::Unrolled }
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let before = terrain.get(HEIGHT)?.clone();
        let (cols, rows) = (before.cols(), before.rows());
        ctx.report("area", (cols * rows) as f64, "m2");
        ctx.report("columns", cols as f64, "");
        let after = Raster::from_fn(cols, rows, |col, row| {
            let around = before.neighbors8(Cell { col, row }).map(|n| before[n.cell]).sum::<f32>();
            // What an edge would do: it pulls the land down, the more the nearer.
            let edge = if self.world { 100.0 / (1.0 + col.min(cols - 1 - col) as f32) } else { 0.0 };
            around - edge
        });
        terrain.set(BASIN, Raster::from_fn(cols, rows, |col, _| (col % 7) as u32));
        terrain.set(HEIGHT, after);
        let mut rivers = VectorLayer::new(Shape::Lines);
        let extent = terrain.frame().extent();
        rivers.push([[extent.min[0], 30.0, 0.0], [extent.max[0], 30.0, 0.0]]);
        terrain.set_vector("rivers", rivers);
        terrain.set(BASIN, Raster::from_fn(cols, rows, |col, _| (col % 7) as u32));
        Ok(terrain)
    }
}

fn land(shift: usize) -> Terrain {
    let frame = Frame::new([500.0, 0.0], [640.0, 320.0], [65, 33]).unwrap().looped();
    let mut terrain = Terrain::new(frame);
    let wave = |k: usize, n: usize| math::sin(std::f64::consts::TAU * (k % n) as f64 / n as f64);
    let height = |col: usize, row: usize| (wave(col + shift, 64) + 2.0 * wave(row, 32)) as f32 * 10.0;
    terrain.set(HEIGHT, Raster::from_fn(65, 33, height));
    terrain
}

fn closes<T: PartialEq + std::fmt::Debug>(raster: &Raster<T>) {
    let (cols, rows) = (raster.cols(), raster.rows());
    (0..rows).for_each(|row| assert_eq!(raster.row(row)[0], raster.row(row)[cols - 1], "row {row}"));
    assert_eq!(raster.row(0), raster.row(rows - 1));
}

#[test]
fn local_operators_commute_with_turning_the_land() {
    let probe = Probe { far_m: 10.0, ..Probe::default() };
    let run = |shift: usize| probe.apply(land(shift), &Ctx::silent()).unwrap().get(HEIGHT).unwrap().clone();
    let (still, turned) = (run(0), run(5));
    closes(&still);
    for row in 0..33 {
        for col in 0..65 {
            let here = still.row(row)[(col + 5) % 64];
            assert!((here - turned.row(row)[col]).abs() < 1e-4, "{col} {row}");
        }
    }
}

#[test]
fn the_ends_of_unrolled_land_fade_into_each_other() {
    let probe = Probe { world: true, ..Probe::default() };
    let ctx = Ctx::silent();
    let after = probe.apply(land(3), &ctx).unwrap();
    let height = after.get(HEIGHT).unwrap();
    closes(height);
    closes(after.get(BASIN).unwrap());
    let step =
        |a: usize, b: usize| (0..33).map(|r| (height.row(r)[a] - height.row(r)[b]).abs()).fold(0.0, f32::max);
    let inner = (10..50).map(|c| step(c, c + 1)).fold(0.0, f32::max);
    assert!(step(63, 64) < 1.05 * inner, "{} and {inner}", step(63, 64));
    // Lines end with the land.
    assert_eq!(after.vector("rivers").unwrap().vertices(), [[500.0, 30.0, 0.0], [1140.0, 30.0, 0.0]]);
    // Amounts are those of the land, not of its copies.
    let figures = ctx.take_figures();
    assert_eq!(figures[1].value, 129.0);
    assert!((figures[0].value - 65.0 * 33.0).abs() < 1e-6, "{}", figures[0].value);
}

#[test]
fn operators_that_know_loops_see_each_sample_once() {
    let probe = Probe { world: true, itself: true, ..Probe::default() };
    let ctx = Ctx::silent();
    let after = probe.apply(land(0), &ctx).unwrap();
    assert_eq!(ctx.take_figures()[1].value, 64.0);
    assert_eq!(after.frame(), land(0).frame());
    closes(after.get(HEIGHT).unwrap());
}

#[test]
fn other_frames_and_other_layers_are_left_alone() {
    let mut terrain = land(0);
    terrain.set_vector("hold", VectorLayer::new(Shape::Lines));
    let mine = LayerName::parse("mask.mine").unwrap();
    terrain.set_named(mine.clone(), Raster::filled(65, 33, 1u8).into());
    terrain.set(SLOPE, Raster::filled(65, 33, 0.0));
    terrain.record(Part::Layer(SLOPE.name()), [Part::Layer(HEIGHT.name())]);
    let before = terrain.clone();
    for probe in [Probe { far_m: 10.0, ..Probe::default() }, Probe { world: true, ..Probe::default() }] {
        let after = probe.apply(terrain.clone(), &Ctx::silent()).unwrap();
        assert!(after.layers()[&mine].same_allocation(&before.layers()[&mine]));
        assert!(Arc::ptr_eq(&after.vectors()["hold"], &before.vectors()["hold"]));
        assert!(after.get(SLOPE).is_err(), "slope follows from the height");
        // The same land that does not loop: nothing is unrolled.
        let frame = Frame::new([500.0, 0.0], [640.0, 320.0], [65, 33]).unwrap();
        let plain = Terrain::from_parts(frame, terrain.clone().into_parts()).unwrap();
        let same = Op::run(&probe, plain.clone(), &Ctx::silent()).unwrap();
        assert_eq!(probe.apply(plain, &Ctx::silent()).unwrap(), same);
    }
}

#[test]
fn land_that_does_not_meet_itself_is_reported() {
    let ctx = Ctx::silent();
    let mut terrain = land(0);
    terrain.update::<f32>(&HEIGHT.name(), |h| h.as_mut_slice()[64] = 400.0).unwrap();
    Probe { far_m: 10.0, ..Probe::default() }.apply(terrain, &ctx).unwrap();
    // One step into the odd sample is as large as the seam, so this is land, not a seam.
    assert!(ctx.take_warnings().is_empty());
    let mut terrain = land(0);
    let tilt = |h: &mut Raster<f32>| {
        h.par_rows(|_, row| row.iter_mut().enumerate().for_each(|(col, h)| *h += col as f32));
    };
    terrain.update::<f32>(&HEIGHT.name(), tilt).unwrap();
    Probe { far_m: 10.0, ..Probe::default() }.apply(terrain, &ctx).unwrap();
    let warnings = ctx.take_warnings();
    assert!(
        warnings[0].starts_with("the frame loops but height does not: opposite edges differ by up to 64")
    );
}

/// A source, or with `drawn` a step that draws on the land that is there, one edge higher than the other by so much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Tilt {
    by_m: f32,
    drawn: bool,
}

impl Op for Tilt {
    const ID: &'static str = "source.tilt";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        if self.drawn {
            Layers::none().updating([HEIGHT.name()])
        } else {
            Layers::none().writing([HEIGHT.name()])
        }
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn run(&self, mut terrain: Terrain, _: &Ctx<'_>) -> Result<Terrain, OpError> {
        let (cols, rows) = (terrain.frame().cols(), terrain.frame().rows());
        let hill = |col: usize| if col == cols / 2 { 500.0 } else { 0.0 };
        let tilt = |col: usize| hill(col) + self.by_m * col as f32 / (cols - 1) as f32;
        terrain.set(HEIGHT, Raster::from_fn(cols, rows, |col, _| tilt(col)));
        Ok(terrain)
    }
}

#[test]
fn the_step_that_breaks_a_loop_says_so_even_when_it_is_the_last() {
    let warnings = |op: &Tilt, terrain: Terrain| {
        let ctx = Ctx::silent();
        let made = Op::apply(op, terrain, &ctx).unwrap();
        (made, ctx.take_warnings())
    };
    for drawn in [false, true] {
        // A cliff of 500 m elsewhere hides nothing.
        let op = Tilt { by_m: 120.0, drawn };
        let (broken, found) = warnings(&op, land(0));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("height does not: opposite edges differ by up to 120"), "{found:?}");
        // What is broken already is not broken again, unless a source makes it anew.
        assert_eq!(warnings(&op, broken).1.len(), usize::from(!drawn));
        assert_eq!(warnings(&Tilt { by_m: 0.0, drawn }, land(0)).1, [""; 0]);
    }
    // Elsewhere nothing has to meet itself.
    let flat = Terrain::new(Frame::new([500.0, 0.0], [640.0, 320.0], [65, 33]).unwrap());
    assert_eq!(warnings(&Tilt { by_m: 120.0, drawn: false }, flat).1, [""; 0]);
}
