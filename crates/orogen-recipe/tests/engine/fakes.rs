//! Small operators whose every property the tests know, and helpers to run recipes of them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use orogen_core::instances::{self, Instance, Instances};
use orogen_core::layer::{BASIN, BIOME, HEIGHT, MASK, SLOPE};
use orogen_core::param::Fault;
use orogen_core::vector::{Column, Shape, VectorLayer};
use orogen_core::{
    Catalog, Coef, Ctx, Footprint, Frame, LayerName, Layers, Op, OpError, Operator, Raster, Reach, Rect,
    Seed, Terrain, math,
};
use orogen_recipe::{Checked, Faults, Limits, Plan, Recipe, RunOptions, run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

static RUNS: Mutex<BTreeMap<u64, usize>> = Mutex::new(BTreeMap::new());

/// Notes that a step ran. Its seed names it, so tests that choose seeds of their own do not meet.
fn count(ctx: &Ctx<'_>) {
    *RUNS.lock().unwrap().entry(ctx.seed().0).or_default() += 1;
}

/// How often a step ran.
pub fn runs(world: &str, step: &str) -> usize {
    RUNS.lock().unwrap().get(&Seed::from_text(world).child(step).0).copied().unwrap_or(0)
}

macro_rules! fake {
    ($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty = $default:expr),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                /// A parameter.
                $(#[$attr])*
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }
    };
}

fake! {
    /// Point source: waves and grain that depend on the position and the seed alone.
    Waves {
        #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m"))]
        length_m: f64 = 300.0,
        #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m"))]
        grain_m: f64 = 5.0,
        enabled_in: Vec<Place> = Vec::new(),
    }
}

/// A nested parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Where.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub x_m: f64,
}

impl Op for Waves {
    const ID: &'static str = "source.waves";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let frame = *terrain.frame();
        let (length, grain) = (self.length_m, self.grain_m);
        let phase = ctx.seed().unit(0) * 6.0;
        let height = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let (x, y) = (frame.x_m(col), frame.y_m(row));
            let wave = math::sin(x / length + phase) * math::cos(y / length * 1.3);
            (100.0 * wave + grain * math::sin(x * 1.7 + y * 2.3)) as f32
        });
        terrain.set(HEIGHT, height);
        Ok(terrain)
    }
}

fake! {
    /// The mean of all samples within a distance.
    Blur {
        #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m"))]
        radius_m: f64 = 50.0,
    }
}

impl Op for Blur {
    const ID: &'static str = "shape.blur";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Within(self.radius_m)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let [sx, sy] = terrain.frame().spacing_m();
        let (rx, ry) = ((self.radius_m / sx).floor() as isize, (self.radius_m / sy).floor() as isize);
        let old = terrain.get(HEIGHT)?.clone();
        let inside = |c: isize, r: isize| {
            (0..old.cols() as isize).contains(&c) && (0..old.rows() as isize).contains(&r)
        };
        let height = Raster::from_fn(old.cols(), old.rows(), |col, row| {
            let (mut sum, mut n) = (0.0f32, 0.0f32);
            for r in row as isize - ry..=row as isize + ry {
                for c in col as isize - rx..=col as isize + rx {
                    if inside(c, r) {
                        sum += old.clamped(c, r);
                        n += 1.0;
                    }
                }
            }
            sum / n
        });
        terrain.set(HEIGHT, height);
        Ok(terrain)
    }
}

fake! {
    /// Scales the height to a range, which takes the whole world; also tells where the highest place is.
    Normalise {
        #[schemars(range(min = 1.0, max = 1e4), extend("x-unit" = "m"))]
        top_m: f64 = 500.0,
        writes_water: bool = false,
    }
}

impl Op for Normalise {
    const ID: &'static str = "shape.normalise";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        let water = self.writes_water.then_some(orogen_core::layer::WATER.name());
        let biome = self.writes_water.then_some(BIOME.name());
        Layers::none().updating([HEIGHT.name()]).writing(water).writing(biome).writing_vectors(["peaks"])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        100.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let frame = *terrain.frame();
        let (low, high) = terrain.get(HEIGHT)?.range().unwrap_or((0.0, 1.0));
        let top = self.top_m as f32;
        let height = terrain.get(HEIGHT)?.map(|h| (h - low) / (high - low).max(1e-6) * top);
        if self.writes_water {
            terrain.set(orogen_core::layer::WATER, height.map(|h| (100.0 - h).max(0.0)));
            terrain.set(BIOME, height.map(|h| if h < 100.0 { 3 } else { 7 }));
        }
        terrain.set(HEIGHT, height);
        let mut peaks = VectorLayer::new(Shape::Points);
        peaks.push([[frame.x_m(0), frame.y_m(0), f64::from(top)]]);
        assert!(peaks.set_feature_attribute("name", Column::Text(vec![String::from("Top")])));
        terrain.set_vector("peaks", peaks);
        Ok(terrain)
    }
}

fake! {
    /// Ids beyond what floats can tell apart, weights and plants, all over the world; each seed covers other ground.
    Cover {
        plants: u32 = 3000,
        snow: bool = false,
    }
}

/// The least of its ids.
pub const FIRST_ID: u32 = (1 << 24) + 1;

impl Cover {
    fn materials(&self) -> Vec<LayerName> {
        let snow = self.snow.then_some("material.snow");
        ["material.rock", "material.sand"].into_iter().chain(snow).map(LayerName::from).collect()
    }
}

impl Op for Cover {
    const ID: &'static str = "cover.parcels";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        let layers = Layers::none().reading([HEIGHT.name()]).writing([BASIN.name()]);
        layers.writing(self.materials()).deriving_instances(["plants"], [HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let (frame, seed) = (*terrain.frame(), ctx.seed());
        let number = |col: usize, row: usize| FIRST_ID + (col / 3 + 100 * (row / 2)) as u32;
        terrain.set(BASIN, Raster::from_fn(frame.cols(), frame.rows(), number));
        let names = self.materials();
        let share = |member: u64| {
            let at = |col, row| seed.child("share").bits2(col, row).rotate_left(8 * member as u32) & 0xff;
            Raster::from_fn(frame.cols(), frame.rows(), |col, row| at(col as i64, row as i64) as f32)
        };
        let shares: Vec<_> = (0..names.len() as u64).map(share).collect();
        terrain.set_weights("material", &names.into_iter().zip(&shares).collect())?;
        let extent = frame.extent();
        let plants = (0..self.plants).map(|i| {
            let at = |axis: usize| {
                let unit = seed.unit(2 * u64::from(i) + axis as u64);
                extent.min[axis] + unit * (extent.max[axis] - extent.min[axis])
            };
            // Some stand on samples, and thereby on the edges of tiles.
            let [x, y] = [at(0), at(1)];
            let [col, row] = frame.locate(x, y).map(|at| at.floor() as usize);
            let place = if i % 3 == 0 { [frame.x_m(col), frame.y_m(row + 1)] } else { [x, y] };
            let id = instances::id(seed, [col as i64, row as i64], i);
            (place, Instance { id, scale: 4096, ..Instance::default() })
        });
        let plants = Instances::new(vec![String::from("oak")], plants);
        terrain.set_instances("plants", plants.map_err(|e| OpError::Failed(e.to_string()))?);
        Ok(terrain)
    }
}

fake! {
    /// A mix of two heights.
    Mix {
        #[schemars(range(min = 0.0, max = 1.0))]
        share: f64 = 0.5,
    }
}

impl Op for Mix {
    const ID: &'static str = "combine.mix";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([HEIGHT.name()]).reading_second([HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let other = ctx.need_second(Self::ID)?.get(HEIGHT)?.clone();
        let share = self.share as f32;
        terrain.update::<f32>(&HEIGHT.name(), |height| {
            height.par_rows(|row, out| {
                for (value, other) in out.iter_mut().zip(other.row(row)) {
                    *value += (other - *value) * share;
                }
            });
        })?;
        Ok(terrain)
    }
}

fake! {
    /// A mask that rises from 0 at one easting to 1 at another.
    MaskEast {
        from_m: f64 = 200.0,
        to_m: f64 = 600.0,
    }
}

impl Op for MaskEast {
    const ID: &'static str = "mask.east";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([MASK.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn faults(&self) -> Vec<Fault> {
        let wrong = self.from_m >= self.to_m;
        wrong.then(|| Fault::of("from_m", "must be less than to_m")).into_iter().collect()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let frame = *terrain.frame();
        let (from, to) = (self.from_m, self.to_m);
        let mask = Raster::from_fn(frame.cols(), frame.rows(), |col, _| {
            ((frame.x_m(col) - from) / (to - from)).clamp(0.0, 1.0) as f32
        });
        terrain.set(MASK, mask);
        Ok(terrain)
    }
}

fake! {
    /// Numbers by place.
    Ids {
        #[schemars(range(min = 1, max = 200))]
        id: u8 = 9,
    }
}

impl Op for Ids {
    const ID: &'static str = "cover.ids";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([BIOME.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let frame = *terrain.frame();
        terrain.set(BIOME, Raster::filled(frame.cols(), frame.rows(), self.id));
        Ok(terrain)
    }
}

fake! {
    /// Difference to the next sample in the east: reach by samples, not by metres.
    Slope {
        #[schemars(extend("minimum" = 0.0, "maximum" = 10.0))]
        gain: Coef = Coef::Const(1.0),
    }
}

impl Op for Slope {
    const ID: &'static str = "survey.slope";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none()
            .reading([HEIGHT.name()])
            .reading(self.gain.layer())
            .deriving([SLOPE.name()], [HEIGHT.name()])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        Reach::Within(frame.spacing_m()[0])
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let height = terrain.get(HEIGHT)?;
        let gain = self.gain.on(&terrain)?;
        let slope = Raster::from_fn(height.cols(), height.rows(), |col, row| {
            let next = height.clamped(col as isize + 1, row as isize);
            (next - height.row(row)[col]) * gain.at(col, row)
        });
        terrain.set(SLOPE, slope);
        Ok(terrain)
    }
}

fake! {
    /// Adds to the height where it lies, and warns when the values had to be copied for that.
    Raise {
        #[schemars(range(min = -100.0, max = 100.0), extend("x-unit" = "m"))]
        by_m: f64 = 1.0,
    }
}

impl Op for Raise {
    const ID: &'static str = "shape.raise";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let before = terrain.get(HEIGHT)?.as_slice().as_ptr();
        let by = self.by_m as f32;
        terrain.update::<f32>(&HEIGHT.name(), |h| h.as_mut_slice().iter_mut().for_each(|v| *v += by))?;
        if terrain.get(HEIGHT)?.as_slice().as_ptr() != before {
            ctx.warn("copied");
        }
        Ok(terrain)
    }
}

fake! {
    /// Works for ten seconds unless cancelled.
    Slow {
        #[schemars(range(min = 1, max = 10000))]
        ticks: u32 = 10_000,
    }
}

impl Op for Slow {
    const ID: &'static str = "erode.slow";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        for tick in 0..self.ticks {
            ctx.tick(tick as usize, self.ticks as usize)?;
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(terrain)
    }
}

fake! {
    /// Dabs of a brush on the height, or on the mask.
    Dabs {
        at_m: Vec<[f64; 2]> = Vec::new(),
        #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m"))]
        radius_m: f64 = 40.0,
        #[schemars(range(min = -100.0, max = 100.0))]
        by: f64 = 1.0,
        on_mask: bool = false,
    }
}

impl Op for Dabs {
    const ID: &'static str = "shape.dabs";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        if self.on_mask {
            Layers::none().writing([MASK.name()])
        } else {
            Layers::none().updating([HEIGHT.name()])
        }
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn footprint(&self, old: &Self, _: &Frame) -> Footprint {
        if self.by != old.by {
            return Footprint::Everything;
        }
        let rect = |op: &Self, at: &[f64; 2]| Rect { min: *at, max: *at }.grown([op.radius_m; 2]);
        let differ = |(op, other): (&Self, &Self)| {
            let changed =
                op.at_m.iter().filter(|at| op.radius_m != other.radius_m || !other.at_m.contains(at));
            Footprint::of(changed.map(|at| rect(op, at)))
        };
        differ((self, old)).union(differ((old, self)))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let frame = *terrain.frame();
        let near = |col: usize, row: usize| {
            let far = |at: &[f64; 2]| math::hypot(frame.x_m(col) - at[0], frame.y_m(row) - at[1]);
            self.at_m.iter().any(|at| far(at) < self.radius_m)
        };
        if self.on_mask {
            let mask =
                Raster::from_fn(frame.cols(), frame.rows(), |c, r| f32::from(u8::from(near(c, r))) * 0.7);
            terrain.set(MASK, mask);
        } else {
            let old = terrain.get(HEIGHT)?;
            let by = self.by as f32;
            let height = Raster::from_fn(frame.cols(), frame.rows(), |c, r| {
                if near(c, r) { old.row(r)[c] + by } else { old.row(r)[c] }
            });
            terrain.set(HEIGHT, height);
        }
        Ok(terrain)
    }
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Warns.
    Warn,
    /// Fails in a sentence.
    Fail,
    /// Panics.
    Panic,
    /// Changes what it does not declare.
    Lie,
    /// Reads a file.
    Read,
}

fake! {
    /// An operator in trouble.
    Troubled {
        kind: Trouble = Trouble::Warn,
        file: String = String::from("dem.tif"),
    }
}

impl Op for Troubled {
    const ID: &'static str = "source.troubled";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([MASK.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn files(&self) -> Vec<&str> {
        if self.kind == Trouble::Read { vec![&self.file] } else { Vec::new() }
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let frame = *terrain.frame();
        let value = match self.kind {
            Trouble::Warn => {
                ctx.warn("the sea is high today");
                ctx.report("sea_level", 7.5, "m");
                0.0
            }
            Trouble::Fail => return Err(OpError::Failed(String::from("no ground was found"))),
            Trouble::Panic => panic!("index out of bounds"),
            Trouble::Lie => {
                terrain.set(HEIGHT, Raster::filled(frame.cols(), frame.rows(), -1.0));
                0.0
            }
            Trouble::Read => ctx.files().elevation(&self.file)?.height.as_slice()[0],
        };
        terrain.set(MASK, Raster::filled(frame.cols(), frame.rows(), value));
        Ok(terrain)
    }
}

fake! {
    /// Wears the land east of a line down to gentle waves of its own, which takes the whole world.
    Wear {
        #[schemars(range(min = -1e6, max = 1e6), extend("x-unit" = "m"))]
        east_of_m: f64 = -1e6,
    }
}

impl Op for Wear {
    const ID: &'static str = "erode.wear";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([HEIGHT.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        count(ctx);
        let frame = *terrain.frame();
        let old = terrain.get(HEIGHT)?;
        let height = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let (x, y) = (frame.x_m(col), frame.y_m(row));
            let worn = -300.0 + 60.0 * math::sin(x / 90.0) * math::cos(y / 110.0);
            if x > self.east_of_m { worn as f32 } else { old.row(row)[col] }
        });
        terrain.set(HEIGHT, height);
        Ok(terrain)
    }
}

pub fn catalog() -> Catalog {
    Catalog::new([
        Operator::of::<Waves>(),
        Operator::of::<Blur>(),
        Operator::of::<Normalise>(),
        Operator::of::<Mix>(),
        Operator::of::<MaskEast>(),
        Operator::of::<Ids>(),
        Operator::of::<Slope>(),
        Operator::of::<Raise>(),
        Operator::of::<Dabs>(),
        Operator::of::<Slow>(),
        Operator::of::<Troubled>(),
        Operator::of::<Cover>(),
        Operator::of::<Wear>(),
    ])
}

pub fn check(text: &str) -> Result<Checked, Faults> {
    Recipe::parse("test.toml", text.as_bytes())?.check(&catalog(), &Limits::default())
}

/// A recipe that must be right.
pub fn checked(text: &str) -> Checked {
    check(text).unwrap_or_else(|faults| panic!("{faults}\nin\n{text}"))
}

/// The lines of a recipe's faults.
pub fn faults(text: &str) -> Vec<String> {
    match check(text) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.to_string().lines().map(str::to_owned).collect(),
    }
}

pub fn build(checked: &Checked, window: Frame) -> Terrain {
    let plan = Plan::new(checked, window).unwrap();
    run(checked, &plan, &RunOptions::default()).unwrap().terrain
}

/// Asserts that a window is the cut of the whole, to the bit.
pub fn assert_same_bits(whole: &Terrain, part: &Terrain, what: &str) {
    let cut = whole.crop(part.frame()).unwrap();
    let names = |t: &Terrain| t.layers().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&cut), names(part), "{what}");
    for (name, data) in cut.layers() {
        assert!(data.bytes() == part.layers()[name].bytes(), "{name} differs: {what}");
    }
    assert_eq!(cut.vectors(), part.vectors(), "{what}");
}
