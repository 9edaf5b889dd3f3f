//! Elevation models: land from a file.

use std::borrow::Cow;
use std::sync::Arc;

use orogen_core::{
    Crs, Ctx, Elevation, Files, Frame, Georeference, Layers, Op, OpError, Place, Prepared, Raster, Reach,
    Rect, Terrain, layer, math, values,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Takes the height from an elevation model: GeoTIFF, ESRI ASCII grid, 16-bit PNG or raw numbers.
///
/// ```text
/// height(x, y) = scale · file(column(x), row(y)) + offset
/// ```
///
/// With `placement = "fit"` the outermost samples of the file lie on the edges of the world, whatever its shape. With
/// `"place"` the file keeps its own spacing and lies in the middle, or with its south-west sample at `origin_m`.
///
/// `file` is the height in metres: the scale, offset and unit (feet, US survey feet) that a GeoTIFF gives for its band are
/// applied before `scale` and `offset_m`.
///
/// Where the recipe has no `[place]`, or it leaves something out, the land lies on Earth where a GeoTIFF says that it does.
///
/// **Guarantees** (1) a file with as many samples as the frame, fitted, comes through bit for bit when `scale` is 1
/// and `offset_m` 0; (2) bilinear heights lie between those of the file; (3) a sample depends on the file and on its
/// own place in the world, not on the window it is computed in.
///
/// **Limits** A grid much coarser than the file picks samples rather than averaging them. Files in degrees are taken as
/// a plain grid: set `spacing_m`, or project them first. Without `fill_holes` a sample is a hole where the nearest
/// sample of the file is one. Filled holes are smooth guesses, as a skin stretched over them would lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dem {
    /// The file, relative to the recipe.
    #[schemars(extend("x-kind" = "file", "maxLength" = 4096))]
    pub path: String,
    /// Which band of the file is the height, counted from 1; the first when left out.
    #[schemars(range(min = 1, max = 65535))]
    pub band: Option<u32>,
    /// How the file is placed in the world.
    pub placement: Placement,
    /// Where the south-west sample of a placed file lies, (x, y); in the middle of the world when left out.
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub origin_m: Option<[f64; 2]>,
    /// Distance between the samples of a placed file; taken from the file when left out.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.5, 100.0]))]
    pub spacing_m: Option<f64>,
    /// How heights between the file's samples are found.
    pub interpolation: Interpolation,
    /// What lies beyond the edge of a placed file.
    pub outside: Outside,
    /// Height beyond the edge where `outside` is `"level"`; 0 is the sea.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-100.0, 100.0]))]
    pub outside_m: f64,
    /// Factor on the heights of the file.
    #[schemars(range(min = -1e4, max = 1e4), extend("x-slider" = [0.1, 3.0]))]
    pub scale: f64,
    /// Height added after scaling.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-1000.0, 1000.0]))]
    pub offset_m: f64,
    /// Whether holes in the file are filled smoothly from their surroundings.
    pub fill_holes: bool,
}

/// Metres in a degree of latitude, near enough for where a land lies.
const METRES_PER_DEGREE: f64 = 111_195.0;

/// How a file is placed in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Stretched from edge to edge.
    #[default]
    Fit,
    /// At its own spacing.
    Place,
}

/// How heights between samples are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// Straight between the four samples around; never above or below them.
    Bilinear,
    /// Smooth in slope, from sixteen samples; may overshoot a little beside cliffs.
    #[default]
    Bicubic,
}

/// What lies beyond the edge of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// The height at the edge, carried on level.
    #[default]
    Edge,
    /// One height, `outside_m`.
    Level,
    /// Nothing: holes.
    Hole,
}

impl Default for Dem {
    fn default() -> Self {
        Self {
            path: String::from("dem.tif"),
            band: None,
            placement: Placement::Fit,
            origin_m: None,
            spacing_m: None,
            interpolation: Interpolation::Bicubic,
            outside: Outside::Edge,
            outside_m: 0.0,
            scale: 1.0,
            offset_m: 0.0,
            fill_holes: true,
        }
    }
}

impl Op for Dem {
    const ID: &'static str = "source.dem";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    // Those of the file.
    fn makes_holes(&self) -> bool {
        true
    }

    fn files(&self) -> Vec<&str> {
        vec![&self.path]
    }

    fn place(&self, world: &Rect, files: &dyn Files) -> Result<Place, OpError> {
        Ok(files.georeference(&self.path)?.map_or_else(Place::default, |file| self.place_of(&file, world)))
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Placed::new(self, &world.extent(), ctx)?)))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Placed::new(self, &ctx.world(&terrain).extent(), ctx)?.run(terrain, ctx)
    }
}

impl Dem {
    /// Where a world lies on Earth that the file was put into. A file that is stretched or squeezed has no coordinate system
    /// any more, and north stays up.
    fn place_of(&self, file: &Georeference, world: &Rect) -> Place {
        let own = file.size_m;
        let scale = match (self.placement, self.spacing_m) {
            (Placement::Fit, _) => [0, 1].map(|axis| world.size()[axis] / own[axis]),
            // Whether a file of this spacing is stretched is known by its samples only.
            (Placement::Place, Some(_)) => [f64::NAN; 2],
            (Placement::Place, None) => [1.0; 2],
        };
        let middle = |axis: usize| 0.5 * (world.min[axis] + world.max[axis]);
        let south_west = match (self.placement, self.origin_m) {
            (Placement::Fit, _) => world.min,
            (Placement::Place, Some(origin_m)) => origin_m,
            (Placement::Place, None) => [0, 1].map(|axis| middle(axis) - 0.5 * own[axis]),
        };
        let as_it_is = scale.iter().all(|scale| (scale - 1.0).abs() < 1e-6);
        // The middle of the world need not be that of the file.
        let aside = [0, 1].map(|axis| middle(axis) - (south_west[axis] + 0.5 * own[axis]));
        let [east, north] = if as_it_is { aside } else { [0.0; 2] };
        let degrees = file.middle_deg.map(|[longitude, latitude]| {
            let shrink = math::cos(latitude.to_radians()).max(1e-6);
            [longitude + east / (METRES_PER_DEGREE * shrink), latitude + north / METRES_PER_DEGREE]
        });
        let degrees = degrees.filter(|[_, latitude]| latitude.abs() <= 90.0);
        let offset = |coordinate: [f64; 2]| [0, 1].map(|axis| coordinate[axis] - south_west[axis]);
        Place {
            latitude_deg: degrees.map(|[_, latitude]| latitude),
            longitude_deg: degrees.map(|[longitude, _]| longitude),
            north_deg: None,
            crs: file.crs.filter(|_| as_it_is).map(|(epsg, at)| Crs { epsg, offset_m: offset(at) }),
        }
    }
}

/// A file in its place, with its holes filled where that is asked for: no window changes it.
struct Placed {
    elevation: Arc<Elevation>,
    /// Its heights, where they are not those of the file.
    filled: Option<Raster<f32>>,
    map: Map,
    params: Dem,
}

impl Placed {
    /// When the file cannot be read, when neither it nor the parameters give a spacing, and when it has no heights.
    fn new(params: &Dem, world: &Rect, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let refuse = |reason: &str| OpError::File { path: params.path.clone(), reason: reason.to_owned() };
        let elevation = ctx.files().elevation_band(&params.path, params.band)?;
        values::check(&layer::HEIGHT.name(), &elevation.height).map_err(|e| refuse(&e.to_string()))?;
        if elevation.height.range().is_none() {
            return Err(refuse("it has no heights, only holes"));
        }
        let map = Map::new(&elevation, world, params)
            .ok_or_else(|| refuse("it does not say how far apart its samples are; set `spacing_m`"))?;
        let filled = match params.fill_holes.then(|| filled(&elevation.height)) {
            Some(Cow::Owned(filled)) => Some(filled),
            Some(Cow::Borrowed(_)) | None => None,
        };
        Ok(Self { elevation, filled, map, params: params.clone() })
    }

    /// The heights on a frame that is a part of the world. 4 bytes a cell out; the file is read about once.
    fn sample(&self, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, OpError> {
        let (source, params) = (self.filled.as_ref().unwrap_or(&self.elevation.height), &self.params);
        // The edge belongs to the file, however its position was rounded.
        let (last_col, last_row) = ((source.cols() - 1) as f64, (source.rows() - 1) as f64);
        let inside = |at: f64, last: f64| (-1e-6..=last + 1e-6).contains(&at);
        let (scale, offset) = (params.scale as f32, params.offset_m as f32);
        let counter = ctx.counter(frame.rows());
        let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0);
        out.try_par_rows(|row, values| {
            let at_row = self.map.row(frame.y_m(row));
            for (col, value) in values.iter_mut().enumerate() {
                let at_col = self.map.col(frame.x_m(col));
                let covered = inside(at_col, last_col) && inside(at_row, last_row);
                *value = match params.outside {
                    Outside::Level if !covered => params.outside_m as f32,
                    Outside::Hole if !covered => f32::NAN,
                    _ => scale * between(source, at_col, at_row, params.interpolation) + offset,
                };
            }
            counter.done()
        })?;
        Ok(out)
    }
}

impl Prepared for Placed {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = self.sample(terrain.frame(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// From metres to columns and rows of a file: straight lines.
struct Map {
    /// Place of the file's south-west sample.
    origin_m: [f64; 2],
    cols_per_m: f64,
    rows_per_m: f64,
    last_row: f64,
}

impl Map {
    /// `None` when a placed file has no spacing.
    fn new(elevation: &Elevation, world: &Rect, params: &Dem) -> Option<Self> {
        let last_col = (elevation.height.cols() - 1) as f64;
        let last_row = (elevation.height.rows() - 1) as f64;
        let [width, depth] = world.size();
        Some(match params.placement {
            Placement::Fit => Self {
                origin_m: world.min,
                cols_per_m: last_col / width,
                rows_per_m: last_row / depth,
                last_row,
            },
            Placement::Place => {
                let [dx, dy] = params.spacing_m.map(|s| [s, s]).or(elevation.spacing_m)?;
                let middle = [
                    0.5 * (world.min[0] + world.max[0] - last_col * dx),
                    0.5 * (world.min[1] + world.max[1] - last_row * dy),
                ];
                Self {
                    origin_m: params.origin_m.unwrap_or(middle),
                    cols_per_m: 1.0 / dx,
                    rows_per_m: 1.0 / dy,
                    last_row,
                }
            }
        })
    }

    fn col(&self, x_m: f64) -> f64 {
        snapped((x_m - self.origin_m[0]) * self.cols_per_m)
    }

    fn row(&self, y_m: f64) -> f64 {
        snapped(self.last_row - (y_m - self.origin_m[1]) * self.rows_per_m)
    }
}

/// A place within a millionth of a sample is that sample: rounding must not smear a file that fits.
fn snapped(at: f64) -> f64 {
    if (at - at.round()).abs() < 1e-6 { at.round() } else { at }
}

/// The height between samples; beside holes, the mean of the samples around that are there.
fn between(source: &Raster<f32>, col: f64, row: f64, interpolation: Interpolation) -> f32 {
    let value = match interpolation {
        Interpolation::Bilinear => source.bilinear(col, row),
        Interpolation::Bicubic => source.bicubic(col, row),
    };
    if !value.is_nan() {
        return value;
    }
    let nearest = source.clamped(col.round() as isize, row.round() as isize);
    if nearest.is_nan() {
        return f32::NAN;
    }
    let col = col.clamp(0.0, (source.cols() - 1) as f64);
    let row = row.clamp(0.0, (source.rows() - 1) as f64);
    let (fc, fr) = ((col - col.floor()) as f32, (row - row.floor()) as f32);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (dc, dr, weight) in
        [(0, 0, (1.0 - fc) * (1.0 - fr)), (1, 0, fc * (1.0 - fr)), (0, 1, (1.0 - fc) * fr), (1, 1, fc * fr)]
    {
        let value = source.clamped(col.floor() as isize + dc, row.floor() as isize + dr);
        if !value.is_nan() {
            sum += weight * value;
            weights += weight;
        }
    }
    if weights > 0.0 { sum / weights } else { nearest }
}

/// Rounds of smoothing at each level of [`filled`]; the coarser ones have done the rest.
const ROUNDS: usize = 16;

/// The raster with its holes filled as a skin stretched over them would (Laplace's equation, about): means of ever
/// coarser blocks give a first guess, then each filled sample moves to the mean of its four neighbours.
fn filled(height: &Raster<f32>) -> Cow<'_, Raster<f32>> {
    let (cols, rows) = (height.cols(), height.rows());
    let holes: Vec<usize> =
        height.as_slice().iter().enumerate().filter(|(_, h)| h.is_nan()).map(|(i, _)| i).collect();
    if holes.is_empty() || holes.len() == cols * rows {
        return Cow::Borrowed(height);
    }
    let coarse = halved(height);
    let coarse = filled(&coarse);
    let mut out = height.clone();
    for &i in &holes {
        // The middle of a block of two samples lies half a sample past its first.
        let (col, row) = ((i % cols) as f64, (i / cols) as f64);
        out.as_mut_slice()[i] = coarse.bilinear((col - 0.5) / 2.0, (row - 0.5) / 2.0);
    }
    for _ in 0..ROUNDS {
        let mean = |&i: &usize| {
            let (col, row) = ((i % cols) as isize, (i / cols) as isize);
            let around = out.clamped(col - 1, row)
                + out.clamped(col + 1, row)
                + out.clamped(col, row - 1)
                + out.clamped(col, row + 1);
            0.25 * around
        };
        let next: Vec<f32> = holes.par_iter().map(mean).collect();
        for (&i, value) in holes.iter().zip(next) {
            out.as_mut_slice()[i] = value;
        }
    }
    Cow::Owned(out)
}

/// Means of blocks of two by two; a block of holes is a hole.
fn halved(height: &Raster<f32>) -> Raster<f32> {
    Raster::from_fn(height.cols().div_ceil(2), height.rows().div_ceil(2), |col, row| {
        let (mut sum, mut count) = (0.0, 0.0);
        for r in 2 * row..(2 * row + 2).min(height.rows()) {
            for value in &height.row(r)[2 * col..(2 * col + 2).min(height.cols())] {
                if !value.is_nan() {
                    sum += value;
                    count += 1.0;
                }
            }
        }
        if count > 0.0 { sum / count } else { f32::NAN }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use orogen_core::testkit::{assert_close, hills};
    use orogen_core::{Cell, Files};

    /// One elevation model under one name.
    struct OneFile(Arc<Elevation>);

    impl Files for OneFile {
        fn fingerprint(&self, _: &str) -> Result<[u8; 32], OpError> {
            Ok([0; 32])
        }
        fn elevation(&self, path: &str) -> Result<Arc<Elevation>, OpError> {
            assert_eq!(path, "land.asc");
            Ok(Arc::clone(&self.0))
        }
    }

    fn dem() -> Dem {
        Dem { path: String::from("land.asc"), ..Dem::default() }
    }

    fn run(
        height: Raster<f32>,
        spacing_m: Option<[f64; 2]>,
        frame: Frame,
        op: &Dem,
    ) -> Result<Raster<f32>, OpError> {
        let files = OneFile(Arc::new(Elevation { height, spacing_m, north_west_m: None }));
        let terrain = op.apply(Terrain::new(frame), &Ctx::silent().with_files(&files))?;
        Ok(terrain.get(layer::HEIGHT)?.clone())
    }

    #[test]
    fn a_file_of_the_frames_size_comes_through_bit_for_bit() {
        let frame = Frame::new([1234.5, -99.75], [777.7, 333.3], [33, 33]).unwrap();
        for interpolation in [Interpolation::Bilinear, Interpolation::Bicubic] {
            let out = run(hills(33, 100.0), None, frame, &Dem { interpolation, ..dem() }).unwrap();
            assert_eq!(out, hills(33, 100.0));
        }
    }

    #[test]
    fn a_placed_file_keeps_its_spacing_and_lies_in_the_middle() {
        let frame = Frame::square(80.0, 9).unwrap();
        let file = Raster::from_fn(3, 3, |c, r| (10 * r + c) as f32);
        let place = Dem { placement: Placement::Place, outside: Outside::Level, outside_m: -5.0, ..dem() };
        let out = run(file.clone(), Some([10.0, 10.0]), frame, &place).unwrap();
        assert_eq!(out.row(3), [-5.0, -5.0, -5.0, 0.0, 1.0, 2.0, -5.0, -5.0, -5.0]);
        assert_eq!(out.row(5), [-5.0, -5.0, -5.0, 20.0, 21.0, 22.0, -5.0, -5.0, -5.0]);
        assert!(out.row(2).iter().chain(out.row(6)).all(|&h| h == -5.0));

        let corner = Dem { origin_m: Some([0.0, 0.0]), outside: Outside::Hole, ..place };
        let out = run(file, Some([10.0, 10.0]), frame, &corner).unwrap();
        assert_eq!(out.row(8)[..3], [20.0, 21.0, 22.0]);
        assert!(out.row(8)[3].is_nan() && out.row(5)[0].is_nan());
    }

    #[test]
    fn a_placed_file_without_spacing_is_refused_in_a_sentence() {
        let frame = Frame::square(80.0, 9).unwrap();
        let place = Dem { placement: Placement::Place, ..dem() };
        let error = run(hills(5, 1.0), None, frame, &place).unwrap_err();
        assert_eq!(
            error.to_string(),
            "file \"land.asc\": it does not say how far apart its samples are; set `spacing_m`"
        );
        assert!(run(hills(5, 1.0), None, frame, &Dem { spacing_m: Some(20.0), ..place }).is_ok());
    }

    #[test]
    fn scale_and_offset_come_after_reading() {
        let frame = Frame::square(80.0, 9).unwrap();
        let out = run(Raster::filled(4, 4, 10.0), None, frame, &Dem { scale: 2.0, offset_m: 3.0, ..dem() });
        assert!(out.unwrap().as_slice().iter().all(|&h| h == 23.0));
    }

    #[test]
    fn holes_are_filled_within_their_surroundings_or_stay_holes_of_their_size() {
        let frame = Frame::square(320.0, 33).unwrap();
        let mut file = hills(33, 100.0);
        let whole = file.clone();
        for (col, row) in [(10, 10), (11, 10), (10, 11), (32, 0)] {
            file[Cell { col, row }] = f32::NAN;
        }
        let filled = run(file.clone(), None, frame, &dem()).unwrap();
        for (i, (a, b)) in filled.as_slice().iter().zip(whole.as_slice()).enumerate() {
            // Within the land a hole is bridged; in a corner its surroundings lie on one side only.
            assert_close!(*a, *b, abs = if i == 32 { 20.0 } else { 3.0 });
        }
        assert_eq!(filled[Cell { col: 12, row: 10 }], whole[Cell { col: 12, row: 10 }]);

        let kept = run(file, None, frame, &Dem { fill_holes: false, ..dem() }).unwrap();
        assert_eq!(kept.as_slice().iter().filter(|h| h.is_nan()).count(), 4);
        assert_eq!(kept[Cell { col: 12, row: 10 }], whole[Cell { col: 12, row: 10 }]);
    }

    #[test]
    fn a_file_of_holes_is_refused() {
        let error = run(Raster::filled(4, 4, f32::NAN), None, Frame::square(80.0, 9).unwrap(), &dem());
        assert_eq!(error.unwrap_err().to_string(), "file \"land.asc\": it has no heights, only holes");
    }
}
