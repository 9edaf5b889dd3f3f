//! The standard test surroundings: everything an operator may read, generated the same way on every frame.
//!
//! Because everything is there (all well-known layers, a second terrain, a file under any name), the catalogue test
//! needs no list of operators that it cannot run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ctx::{Ctx, Watch};
use crate::error::OpError;
use crate::features::{Features, Property};
use crate::files::{Elevation, Files};
use crate::frame::{Frame, Rect};
use crate::kinds::{Kind, LayerData, Weight};
use crate::layer::{self, LayerName};
use crate::math;
use crate::op::{AnyOp, Layers};
use crate::place::{Crs, Georeference, Place};
use crate::provenance::Part;
use crate::raster::Raster;
use crate::rng::Seed;
use crate::terrain::Terrain;
use crate::vector::{Shape, VectorLayer};

/// The world seed of tests.
pub const SEED: Seed = Seed(0x6f72_6f67_656e);

/// An operator's input, its second terrain and the world both lie in.
#[derive(Clone, Debug)]
pub struct Standard {
    /// The input.
    pub terrain: Terrain,
    /// The second terrain.
    pub second: Terrain,
    /// The whole world, of which the terrains may be windows.
    pub world: Frame,
}

impl Standard {
    /// All well-known layers, some vectors, and whatever else `layers` asks for.
    #[must_use]
    pub fn full(world: Frame, layers: &Layers) -> Self {
        let everything = layer::WELL_KNOWN.iter().map(|info| match info.name {
            "material" => LayerName::fixed("material.rock"),
            "density" => LayerName::fixed("density.pine"),
            "displace" => LayerName::fixed("displace.x"),
            name => LayerName::fixed(name),
        });
        let names: BTreeSet<LayerName> = everything.chain(layers.reads.iter().cloned()).collect();
        let mut standard = Self {
            terrain: terrain(world, "first", &names),
            second: terrain(world, "second", &names.into_iter().chain(layers.reads_second.clone()).collect()),
            world,
        };
        let asked = layers.inputs().filter_map(Part::into_vectors);
        let names = VECTORS.map(LayerName::fixed).into_iter().chain(asked);
        names.for_each(|name| set_diagonal(&mut standard.terrain, name));
        for part in FOLLOWERS.map(|name| Part::Layer(name.into())) {
            standard.terrain.record(part, [Part::Layer(layer::HEIGHT.name())]);
        }
        standard.terrain.record(Part::Vectors("rivers".into()), [Part::Layer(layer::HEIGHT.name())]);
        standard
    }

    /// All that an operator declares that it looks at, and nothing else.
    #[must_use]
    pub fn declared(world: Frame, layers: &Layers) -> Self {
        let mut standard = Self::bare(world, layers);
        let used = layers.uses.iter().cloned().filter_map(Part::into_layer);
        for name in used.filter(|name| !layers.reads.contains(name)) {
            standard.terrain.set_named(name.clone(), layer_data(&world, "first", &name));
        }
        let used = layers.uses.iter().cloned().filter_map(Part::into_vectors);
        used.for_each(|name| set_diagonal(&mut standard.terrain, name));
        standard
    }

    /// Exactly the layers that are asked for: what an operator may rely on.
    #[must_use]
    pub fn bare(world: Frame, layers: &Layers) -> Self {
        let mut standard = Self {
            terrain: terrain(world, "first", &layers.reads.iter().cloned().collect()),
            second: terrain(world, "second", &layers.reads_second.iter().cloned().collect()),
            world,
        };
        layers.reads_vectors.iter().for_each(|name| set_diagonal(&mut standard.terrain, name.clone()));
        standard
    }

    /// The same with a few holes in the heights of both terrains, where those have heights.
    #[must_use]
    pub fn with_holes(mut self) -> Self {
        for (terrain, shift) in [(&mut self.terrain, 0), (&mut self.second, 7)] {
            let before = terrain.clone();
            // Without a height there is nothing to punch.
            let _ = terrain.update::<f32>(&layer::HEIGHT.name(), |height| {
                let (cols, rows) = (height.cols(), height.rows());
                for (col, row) in
                    [(cols / 3, rows / 2), (cols / 3 + 1, rows / 2), (cols - 1, rows / 4), (2, 1)]
                {
                    height.as_mut_slice()[(row + shift).min(rows - 1) * cols + col] = f32::NAN;
                }
            });
            // What follows from the heights has gone; an operator that reads it may rely on it all the same.
            for (name, data) in before.layers() {
                let part = Part::Layer(name.clone());
                if !terrain.has(&part) {
                    terrain.set_named(name.clone(), data.clone());
                    terrain.record(part.clone(), before.provenance().of(&part).cloned());
                }
            }
        }
        self
    }

    /// The part on a window; `None` when the window is not part of the world.
    #[must_use]
    pub fn crop(&self, window: &Frame) -> Option<Self> {
        Some(Self {
            terrain: self.terrain.crop(window)?,
            second: self.second.crop(window)?,
            world: self.world,
        })
    }

    /// Runs an operator here. It gets the second terrain only if it declared that it reads one.
    ///
    /// # Errors
    /// Those of the operator.
    pub fn run(&self, op: &dyn AnyOp, files: &AnyFile, watch: &dyn Watch) -> Result<Terrain, OpError> {
        let second = (!op.layers().reads_second.is_empty()).then_some(&self.second);
        let place = Place { crs: Some(Crs { epsg: EPSG, offset_m: [0.0; 2] }), ..Place::default() };
        let ctx = Ctx::new(SEED).in_world(self.world).at_place(place).with_second(second);
        op.apply(self.terrain.clone(), &ctx.with_files(files).watched_by(watch))
    }
}

/// The coordinate system of the world and of [`AnyFile`].
const EPSG: u16 = 32631;

fn terrain(world: Frame, which: &str, names: &BTreeSet<LayerName>) -> Terrain {
    let mut terrain = Terrain::new(world);
    for name in names {
        terrain.set_named(name.clone(), layer_data(&world, which, name));
    }
    terrain
}

/// Vectors of [`Standard::full`], asked for or not: those that operators look at where they are there, and some of no meaning.
const VECTORS: [&str; 6] = ["rivers", "polygons", "lakes", "basins", "hold", "notes"];

/// Layers of [`Standard::full`] that follow from its heights.
const FOLLOWERS: [&str; 7] = ["slope", "flow", "basin", "shore", "hillshade", "displace.x", "biome"];

/// Vectors of one line across the land.
fn set_diagonal(terrain: &mut Terrain, name: LayerName) {
    let extent = terrain.frame().extent();
    let shape = if name.as_str() == "polygons" { Shape::Polygons } else { Shape::Lines };
    let mut vectors = VectorLayer::new(shape);
    vectors.push([[extent.min[0], extent.min[1], 0.0], [extent.max[0], extent.max[1], 0.0]]);
    terrain.set_vector(name, vectors);
}

fn layer_data(world: &Frame, which: &str, name: &LayerName) -> LayerData {
    let (low, high, octaves) = match name.family() {
        "height" => (-100.0, 700.0, 6),
        "water" | "sediment" | "soil" | "sand" => (0.0, 4.0, 2),
        "temperature" => (-10.0, 25.0, 2),
        "flow" => (0.0, 1e6, 2),
        "rain" => (0.0, 3000.0, 2),
        "wind" => (0.0, 20.0, 2),
        "slope" => (0.0, 60.0, 2),
        "biome" => (0.0, 16.0, 2),
        "basin" => (0.0, 40.0, 2),
        _ => (0.0, 1.0, 2),
    };
    let field = Field::new(SEED.child(which).child(name.as_str()), world.extent(), octaves);
    let value = |col, row| low + (high - low) * field.at(world.x_m(col), world.y_m(row));
    let (cols, rows) = (world.cols(), world.rows());
    match layer::info(name).map_or(Kind::F32, |info| info.kind) {
        Kind::F32 => Raster::from_fn(cols, rows, |c, r| value(c, r) as f32).into(),
        Kind::U8 => Raster::from_fn(cols, rows, |c, r| value(c, r) as u8).into(),
        Kind::U16 => Raster::from_fn(cols, rows, |c, r| value(c, r) as u16).into(),
        Kind::U32 => Raster::from_fn(cols, rows, |c, r| value(c, r) as u32).into(),
        // A family of one.
        Kind::Weight => Raster::filled(cols, rows, Weight(255)).into(),
    }
}

/// A smooth function of the place, 0 to 1, whose finest wave is `2^-octaves` of the world: the same at any sampling.
struct Field {
    extent: Rect,
    /// Waves a world to the east and north, phase, and weight.
    waves: Vec<[f64; 4]>,
}

impl Field {
    fn new(seed: Seed, extent: Rect, octaves: u32) -> Self {
        let mut random = seed.stream();
        let waves = (0..octaves)
            .flat_map(|octave| [octave, octave])
            .map(|octave| {
                let count = f64::from(1u32 << octave);
                let way = std::f64::consts::TAU * random.unit();
                let phase = std::f64::consts::TAU * random.unit();
                [count * math::cos(way), count * math::sin(way), phase, 1.0 / count]
            })
            .collect();
        Self { extent, waves }
    }

    fn at(&self, x_m: f64, y_m: f64) -> f64 {
        let [width, depth] = self.extent.size();
        let (u, v) = ((x_m - self.extent.min[0]) / width, (y_m - self.extent.min[1]) / depth);
        let (mut sum, mut weights) = (0.0, 0.0);
        for [east, north, phase, weight] in &self.waves {
            sum += weight * math::sin(std::f64::consts::TAU * (east * u + north * v) + phase);
            weights += weight;
        }
        (0.5 + 0.5 * sum / weights).clamp(0.0, 1.0)
    }
}

/// Serves the same small elevation model and the same few features under every name, and remembers the names.
#[derive(Debug, Default)]
pub struct AnyFile {
    asked: Mutex<BTreeSet<String>>,
}

impl AnyFile {
    /// The names asked for so far.
    #[must_use]
    pub fn asked(&self) -> BTreeSet<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Files for AnyFile {
    fn fingerprint(&self, path: &str) -> Result<[u8; 32], OpError> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Ok([7; 32])
    }

    fn elevation(&self, path: &str) -> Result<Arc<Elevation>, OpError> {
        self.fingerprint(path)?;
        let mut height = super::hills(65, 250.0);
        height.as_mut_slice()[65 * 20 + 30] = f32::NAN;
        Ok(Arc::new(Elevation { height, spacing_m: Some([18.0, 15.0]), north_west_m: Some([0.0, 0.0]) }))
    }

    fn elevation_band(&self, path: &str, _: Option<u32>) -> Result<Arc<Elevation>, OpError> {
        self.elevation(path)
    }

    fn image_band(&self, path: &str, band: u32) -> Result<Arc<Elevation>, OpError> {
        let mut image = Elevation::clone(&*self.elevation(path)?);
        let turned = image.height.clone();
        let (cols, rows) = (turned.cols(), turned.rows());
        let flip = |flip: bool, at: usize, count: usize| if flip { count - 1 - at } else { at };
        image.height = Raster::from_fn(cols, rows, |col, row| {
            turned.row(flip(band.is_multiple_of(2), row, rows))[flip(band > 2, col, cols)]
        });
        Ok(Arc::new(image))
    }

    fn georeference(&self, path: &str) -> Result<Option<Georeference>, OpError> {
        self.fingerprint(path)?;
        // Large enough to lie under every world of the tests.
        let crs = Some((EPSG, [-1e7, -1e7]));
        Ok(Some(Georeference { middle_deg: None, crs, size_m: [2e7, 2e7] }))
    }

    fn features(&self, path: &str) -> Result<Arc<Features>, OpError> {
        self.fingerprint(path)?;
        let mut features = Features::default();
        for i in 0..12u32 {
            let (x, y) = (f64::from(i % 4) * 310.0 + 40.0 * f64::from(i / 4), f64::from(i / 4) * 420.0);
            features.points.push(i + 1, [[[x, y, 90.0 + f64::from(i * i % 7) * 55.0]]]);
        }
        for (number, (half, level)) in [(500.0, 60.0), (330.0, 160.0), (140.0, 260.0)].into_iter().enumerate()
        {
            let ring = [(-1.0, -1.0), (1.0, -0.8), (0.9, 1.0), (-1.1, 0.7), (-1.0, -1.0)];
            features.lines.push(number as u32 + 13, [ring.map(|(x, y)| [x * half, y * half, f64::NAN])]);
            features.lines.set_property("elevation_m", Property::Number(level));
        }
        let square = [[0.0, 0.0, 0.0], [600.0, 0.0, 0.0], [600.0, 600.0, 0.0], [0.0, 600.0, 0.0]];
        features.polygons.push(16, [square]);
        Ok(Arc::new(features))
    }
    fn drawing(&self, path: &str) -> Result<Arc<Raster<u8>>, OpError> {
        self.fingerprint(path)?;
        let blob = |c: usize, r: usize| {
            (c as f64 - 40.0) * (c as f64 - 40.0) + (r as f64 - 30.0) * (r as f64 - 30.0)
        };
        Ok(Arc::new(Raster::from_fn(96, 64, |c, r| if blob(c, r) < 300.0 { 255 } else { 0 })))
    }
}
