//! What an image from above shows: sea, sand, rock, bare ground, grass, shrub, forest.

mod classes;
mod majority;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use orogen_core::param::{Fault, Segment};
use orogen_core::{
    Ctx, Elevation, Frame, LandClass, Layers, Op, OpError, Prepared, Raster, Reach, Rect, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::classes::{Balance, Seen};

/// Reads from an image taken from above what covers the ground, and keeps it as the layer `satellite`: 1 sea, 2 sand, 3 rock,
/// 4 bare, 5 grass, 6 shrub, 7 forest, 0 where the image says nothing. Materials and plants can ask for it.
///
/// Air between ground and camera makes all colours bluer and paler. So of each band the darkest tones are taken off, as far as
/// `haze` says, and its brightest made white. The colour is then looked up as hue, saturation and brightness in
/// `classes`, whose first line that fits decides; ground that fits none is bare. Where there is a near infrared band, lines
/// may ask for the vegetation index `(NIR − red) / (NIR + red)`, by which leaves differ from everything else. Single
/// pixels are outvoted by those around them, `majority_px` to each side.
///
/// The shore in an image and that of the land never match. With `coast_m` all ground lower than that has no class, so that
/// rules of height and slope alone decide there and the shore follows the land.
///
/// **Guarantees** (1) a sample depends on the file and on its own place in the world, not on the window it is computed in; (2)
/// ground above its `below_m` is never of a line; (3) the lighter all bands are by the same factor, the same are the classes.
///
/// **Limits** Colours alone do not tell shallow green water from meadows, white sand from clouds or shade from forest. The frame
/// picks the nearest pixel, so land with samples further apart than pixels sees single ones: raise `majority_px` there.
/// Images in degrees have no place of their own here: use `fit` or `corners`.
///
/// **After** Mikuličić & Mihajlović, "Procedural generation of Mediterranean environments", MIPRO 2016; dark objects after
/// Chavez, Remote Sens. Environ. 24 (1988). We add the vegetation index, heights and the vote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Satellite {
    /// The image, relative to the recipe: GeoTIFF or PNG.
    #[schemars(extend("x-kind" = "file", "maxLength" = 4096))]
    pub path: String,
    /// Which bands are red, green and blue, counted from 1.
    #[schemars(inner(range(min = 1, max = 65535)))]
    pub bands: [u32; 3],
    /// Which band is near infrared; none when left out.
    #[schemars(range(min = 1, max = 65535))]
    pub near_infrared: Option<u32>,
    /// How the image is placed in the world.
    pub placement: Placement,
    /// With `corners`: where the middles of its south-western and north-eastern pixels lie, (x, y) each.
    #[schemars(inner(inner(range(min = -1e9, max = 1e9))), extend("x-unit" = "m"))]
    pub corners_m: Option<[[f64; 2]; 2]>,
    /// How much of the haze is taken off, from 0 (none) to 1 (until the darkest pixels are black).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub haze: f64,
    /// The colours of each kind of ground; the first line that fits decides.
    #[schemars(length(min = 1, max = 200))]
    pub classes: Vec<Line>,
    /// How many pixels to each side vote on the class of a pixel.
    #[schemars(range(min = 0, max = 16))]
    pub majority_px: u32,
    /// Ground lower than this has no class; all ground has one when left out.
    #[schemars(range(min = -2e4, max = 2e4), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub coast_m: Option<f64>,
}

/// How an image is placed in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Stretched from edge to edge.
    #[default]
    Fit,
    /// Where its own coordinates say; the world needs a `[place]` with the same coordinate system.
    Georeference,
    /// Between `corners_m`.
    Corners,
}

/// A kind of ground and its colours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Line {
    /// What the ground is.
    pub class: Kind,
    /// Hue from and to, in degrees: 0 red, 120 green, 240 blue. From 350 to 10 goes through red.
    #[schemars(inner(range(min = 0.0, max = 360.0)), extend("x-unit" = "deg"))]
    pub hue_deg: [f64; 2],
    /// Saturation from and to: 0 grey, 1 pure colour.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub saturation: [f64; 2],
    /// Brightness from and to: 0 black, 1 as bright as the brightest pixels.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub brightness: [f64; 2],
    /// Vegetation index from and to. The line counts only for images with near infrared then.
    #[schemars(inner(range(min = -1.0, max = 1.0)))]
    pub vegetation: Option<[f64; 2]>,
    /// Whether the line counts only for images without near infrared.
    pub without_infrared: bool,
    /// The line counts only for ground lower than this.
    #[schemars(range(min = -2e4, max = 2e4), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub below_m: Option<f64>,
}

/// What the ground is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Salt water and its shallows.
    Sea,
    /// Beaches and dunes.
    Sand,
    /// Bare rock and scree.
    Rock,
    /// Open soil.
    #[default]
    Bare,
    /// Meadows and steppe.
    Grass,
    /// Bushes and heath.
    Shrub,
    /// Trees.
    Forest,
}

impl Kind {
    /// The class of the layer.
    pub(super) fn class(self) -> LandClass {
        LandClass::ALL[self as usize]
    }
}

impl Default for Line {
    fn default() -> Self {
        Self {
            class: Kind::Bare,
            hue_deg: [0.0, 360.0],
            saturation: [0.0, 1.0],
            brightness: [0.0, 1.0],
            vegetation: None,
            without_infrared: false,
            below_m: None,
        }
    }
}

impl Line {
    fn new(class: Kind, hue_deg: [f64; 2], saturation: [f64; 2], brightness: [f64; 2]) -> Self {
        Self { class, hue_deg, saturation, brightness, ..Self::default() }
    }

    fn low(self) -> Self {
        Self { below_m: Some(10.0), ..self }
    }

    fn leafy(class: Kind, brightness: [f64; 2], least: f64) -> Self {
        Self { class, brightness, vegetation: Some([least, 1.0]), ..Self::default() }
    }

    fn by_colour(self) -> Self {
        Self { without_infrared: true, ..self }
    }
}

impl Default for Satellite {
    fn default() -> Self {
        Self {
            path: String::from("image.tif"),
            bands: [1, 2, 3],
            near_infrared: None,
            placement: Placement::Fit,
            corners_m: None,
            haze: 0.9,
            classes: vec![
                Line::new(Kind::Sea, [165.0, 265.0], [0.3, 1.0], [0.0, 0.85]).low(),
                Line::new(Kind::Sea, [190.0, 300.0], [0.08, 1.0], [0.0, 0.22]).low(),
                Line::leafy(Kind::Forest, [0.0, 0.42], 0.2),
                Line::leafy(Kind::Shrub, [0.42, 0.6], 0.25),
                Line::leafy(Kind::Grass, [0.4, 1.0], 0.3),
                Line::new(Kind::Forest, [45.0, 260.0], [0.0, 1.0], [0.0, 0.4]).by_colour(),
                Line::new(Kind::Shrub, [45.0, 180.0], [0.15, 1.0], [0.4, 0.55]).by_colour(),
                Line::new(Kind::Grass, [60.0, 170.0], [0.15, 1.0], [0.4, 1.0]).by_colour(),
                Line::new(Kind::Sand, [20.0, 65.0], [0.12, 0.6], [0.62, 1.0]),
                Line::new(Kind::Rock, [0.0, 360.0], [0.0, 0.14], [0.35, 1.0]),
            ],
            majority_px: 1,
            coast_m: None,
        }
    }
}

impl Op for Satellite {
    const ID: &'static str = "cover.satellite";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        let layers = Layers::none();
        if self.needs_height() {
            let height = [layer::HEIGHT.name()];
            layers.using(height.clone()).deriving([layer::SATELLITE.name()], height)
        } else {
            layers.writing([layer::SATELLITE.name()])
        }
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        1.0
    }

    fn files(&self) -> Vec<&str> {
        vec![&self.path]
    }

    fn faults(&self) -> Vec<Fault> {
        let at = |name: &str| vec![Segment::Key(name.to_owned())];
        let mut faults = Vec::new();
        match (self.placement, self.corners_m) {
            (Placement::Corners, None) => faults.push(Fault {
                path: at("placement"),
                message: String::from("an image placed by its corners needs `corners_m`"),
            }),
            (_, Some([low, high])) if (0..2).any(|axis| low[axis] >= high[axis]) => faults.push(Fault {
                path: at("corners_m"),
                message: String::from("the second corner must lie north and east of the first"),
            }),
            _ => {}
        }
        for (number, line) in self.classes.iter().enumerate() {
            let ranges = [
                ("saturation", Some(line.saturation)),
                ("brightness", Some(line.brightness)),
                ("vegetation", line.vegetation),
            ];
            for (name, range) in ranges {
                if let Some([from, to]) = range
                    && from > to
                {
                    let mut path = at("classes");
                    path.extend([Segment::Index(number), Segment::Key(name.to_owned())]);
                    faults.push(Fault {
                        path,
                        message: format!("it goes from {from} to {to}; the first must not be larger"),
                    });
                }
            }
        }
        faults
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Placed::new(self, &world.extent(), ctx)?)))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Placed::new(self, &ctx.world(&terrain).extent(), ctx)?.run(terrain, ctx)
    }
}

impl Satellite {
    fn needs_height(&self) -> bool {
        self.coast_m.is_some() || self.classes.iter().any(|line| line.below_m.is_some())
    }
}

/// An image in its place, with the classes of its pixels.
struct Placed {
    /// For ground lower than each of `levels`, lowest first, and for ground above them all: the class of every pixel.
    classes: Vec<Raster<u8>>,
    levels: Vec<f32>,
    /// Where the middle of the south-western pixel lies, and pixels a metre.
    origin_m: [f64; 2],
    per_m: [f64; 2],
    coast_m: Option<f64>,
}

impl Placed {
    /// When the file cannot be read, has no such bands, says nowhere where it lies or lies elsewhere.
    fn new(params: &Satellite, world: &Rect, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let band = |number: u32| ctx.files().image_band(&params.path, number);
        let first = band(params.bands[0])?;
        let (origin_m, per_m) = place(params, &first, world, ctx)?;
        let mut bands = vec![first, band(params.bands[1])?, band(params.bands[2])?];
        bands.extend(params.near_infrared.map(band).transpose()?);
        let bands: Vec<&Raster<f32>> = bands.iter().map(|band: &Arc<Elevation>| &band.height).collect();
        let balance = Balance::of(&bands, params.haze).ok_or_else(|| OpError::File {
            path: params.path.clone(),
            reason: String::from("it shows nothing: every pixel is a hole"),
        })?;
        ctx.stop_if_asked()?;
        let mut levels: Vec<f32> =
            params.classes.iter().filter_map(|line| line.below_m).map(|level| level as f32).collect();
        levels.sort_by(f32::total_cmp);
        levels.dedup();
        let mut classes = Vec::new();
        for level in levels.iter().copied().chain([f32::INFINITY]) {
            let lines: Vec<&Line> = params
                .classes
                .iter()
                .filter(|line| line.below_m.is_none_or(|below| level <= below as f32))
                .collect();
            let seen = Seen { bands: &bands, balance: &balance, lines: &lines };
            classes.push(majority::vote(&seen.classify(ctx)?, params.majority_px as usize, ctx)?);
        }
        Ok(Self { classes, levels, origin_m, per_m, coast_m: params.coast_m })
    }

    /// The class at a place of the world whose ground lies at a height, which may be unknown.
    fn at(&self, x_m: f64, y_m: f64, height: Option<f32>) -> u8 {
        if let (Some(coast), Some(height)) = (self.coast_m, height)
            && f64::from(height) < coast
        {
            return 0;
        }
        // Ground of unknown height counts as low.
        let above = height.map_or(0, |height| self.levels.iter().filter(|level| height >= **level).count());
        let classes = &self.classes[above];
        let col = ((x_m - self.origin_m[0]) * self.per_m[0] + 0.5).floor();
        let row = (classes.rows() as f64 - 0.5 - (y_m - self.origin_m[1]) * self.per_m[1]).floor();
        if col < 0.0 || row < 0.0 || col >= classes.cols() as f64 || row >= classes.rows() as f64 {
            return 0;
        }
        classes.row(row as usize)[col as usize]
    }
}

impl Prepared for Placed {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let height = terrain.get(layer::HEIGHT).ok();
        let counter = ctx.counter(frame.rows());
        let mut out = Raster::filled(frame.cols(), frame.rows(), 0u8);
        out.try_par_rows(|row, values| {
            let y_m = frame.y_m(row);
            for (col, value) in values.iter_mut().enumerate() {
                *value = self.at(frame.x_m(col), y_m, height.map(|height| height.row(row)[col]));
            }
            counter.done()
        })?;
        terrain.set(layer::SATELLITE, out);
        Ok(terrain)
    }
}

/// Where the middle of the south-western pixel lies, and how many pixels a metre has.
fn place(
    params: &Satellite,
    image: &Elevation,
    world: &Rect,
    ctx: &Ctx<'_>,
) -> Result<([f64; 2], [f64; 2]), OpError> {
    let refuse = |reason: String| OpError::File { path: params.path.clone(), reason };
    let steps = [image.height.cols(), image.height.rows()].map(|count| (count - 1).max(1) as f64);
    let (low, high) = match (params.placement, params.corners_m) {
        (Placement::Corners, Some([low, high])) => (low, high),
        (Placement::Georeference, _) => {
            let own = ctx.files().georeference(&params.path)?;
            let (Some(own), Some(crs)) = (own, ctx.place().crs) else {
                let who = if own.is_none() { "it" } else { "the recipe's place" };
                return Err(refuse(format!(
                    "{who} does not say in which coordinate system it lies; place it by \"fit\" or \"corners\""
                )));
            };
            let Some((_, south_west)) = own.crs.filter(|(epsg, _)| *epsg == crs.epsg) else {
                let found =
                    own.crs.map_or_else(|| String::from("degrees"), |(epsg, _)| format!("EPSG {epsg}"));
                return Err(refuse(format!(
                    "it lies in {found} and the world in EPSG {}; project it first",
                    crs.epsg
                )));
            };
            let low = [0, 1].map(|axis| south_west[axis] - crs.offset_m[axis]);
            (low, [0, 1].map(|axis| low[axis] + own.size_m[axis]))
        }
        _ => (world.min, world.max),
    };
    if (0..2).any(|axis| high[axis] < world.min[axis] || low[axis] > world.max[axis]) {
        let [x, y] = [0, 1].map(|axis| (0.5 * (low[axis] + high[axis])).round());
        return Err(refuse(format!("it lies outside the world: its middle is at {x}, {y} m")));
    }
    let per_m = [0, 1].map(|axis| {
        let size = high[axis] - low[axis];
        if size > 0.0 { steps[axis] / size } else { 1.0 }
    });
    Ok((low, per_m))
}
