//! A picture, from the land to its pixels.

use std::sync::Arc;

use orogen_core::{Cancel, Raster};

use crate::camera::Camera;
use crate::error::RenderError;
use crate::gpu::Gpu;
use crate::land::Land;
use crate::materials::Materials;
use crate::overlay::{Legend, Overlay};
use crate::overview::Overview;
use crate::plants::Counts as PlantCounts;
use crate::stage::{Budget, Shot, Stage};
use crate::sun::{Moment, Sun};
use crate::view;

/// Where the camera is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// A view that a photographer would take.
    Found,
    /// By place and target: east, north, and metres above the sea; above the ground where nothing is said.
    Place {
        /// Where the eye is.
        eye: [f64; 2],
        /// How high.
        height: Height,
        /// What it looks at; the middle of the land where nothing is said.
        target: Option<[f64; 2]>,
    },
    /// As [`Aim::Found`]: the best view but so many, each unlike those before.
    FoundNext(usize),
    /// An eye as it is. Where the ground is higher it is lifted above it.
    Exact(Camera),
    /// Parallel looks, for plans and block pictures: as a map where the altitude is 90 degrees.
    Parallel {
        /// What is in the middle; the middle of the land where nothing is said.
        target: Option<[f64; 2]>,
        /// The direction in which the eye looks, clockwise from north.
        azimuth_deg: f64,
        /// How steeply it looks down: 90 is straight down, 0 level.
        altitude_deg: f64,
        /// Metres across the picture; all of the land where nothing is said.
        wide_m: Option<f64>,
    },
    /// From a direction and distance toward a place.
    From {
        /// What is looked at; the middle of the land where nothing is said.
        target: Option<[f64; 2]>,
        /// The direction in which the eye looks, clockwise from north.
        azimuth_deg: f64,
        /// How far away it is, in metres on the map; half the size of the land where nothing is said.
        distance_m: Option<f64>,
        /// How high; a fifth of the distance above the ground where nothing is said.
        height: Option<Height>,
    },
}

/// A height of the eye.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Height {
    /// Metres above the ground or the water.
    Ground(f64),
    /// Metres above the sea.
    Sea(f64),
}

/// How the picture is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pixels, width and height.
    pub size: [u32; 2],
    /// Samples of each pixel, which are averaged.
    pub samples: u32,
    /// Where the camera is.
    pub aim: Aim,
    /// The angle from the left to the right edge.
    pub view_deg: f64,
    /// Day and hour; a good light for the view where nothing is said.
    pub moment: Moment,
    /// Whether the hour may be moved to where the light is good.
    pub any_hour: bool,
    /// How finely land is split: `T`.
    pub quality: f64,
    /// How hazy the air is: 1 on a clear day.
    pub haze: f64,
    /// The share of the sky under clouds.
    pub clouds: f64,
    /// How thick the fog in valleys is, 1 on a foggy morning; by the hour where nothing is said.
    pub fog: Option<f64>,
    /// Whether surfaces mirror light as Blinn has it: plainer and cheaper than facets.
    pub plain: bool,
    /// Stops to brighten or darken by.
    pub exposure_ev: f64,
    /// Whether plants are drawn.
    pub plants: bool,
    /// Whether the sun is moved within its disk from sample to sample, for shadows as soft as they are.
    pub soft_sun: bool,
    /// Whether the sky is left out, for a montage.
    pub clear_sky: bool,
    /// Whether the distance of every pixel is wanted too.
    pub depth: bool,
    /// What is painted over the ground.
    pub overlay: Overlay,
    /// Whether the picture is a frame of a flight, in which nothing may jump; a still is as fine as it may be.
    pub in_flight: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: [1280, 720],
            samples: 4,
            aim: Aim::Found,
            view_deg: 55.0,
            moment: Moment { year: 2026, month: 7, day: 10, hour: 17.0 },
            any_hour: true,
            quality: 6.0,
            haze: 1.0,
            clouds: 0.4,
            fog: None,
            plain: false,
            exposure_ev: 0.0,
            plants: true,
            soft_sun: false,
            clear_sky: false,
            depth: false,
            overlay: Overlay::default(),
            in_flight: false,
        }
    }
}

/// A finished picture, and how it was taken.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// Red, green and blue in sRGB.
    pub picture: Raster<[u8; 3]>,
    /// How much of each pixel is not sky, where the sky was left out.
    pub cover: Option<Raster<u8>>,
    /// How far in front of the eye what each pixel shows lies, in metres along its look; NaN for the sky. Where it was wanted.
    pub depth: Option<Raster<f32>>,
    /// What the colours of an overlay mean.
    pub legend: Vec<Legend>,
    /// From where.
    pub camera: Camera,
    /// When.
    pub moment: Moment,
    /// The sun then.
    pub sun: Sun,
    /// Tiles that were drawn.
    pub tiles: usize,
    /// Plants that were drawn.
    pub plants: PlantCounts,
    /// Bytes of the textures of the land and of its plants, about.
    pub bytes: u64,
}

/// Makes one picture of a land; `progress` hears which share of the work is done.
///
/// # Errors
/// When what is asked for makes no picture, the land cannot be made, or the device fails.
pub fn render(
    gpu: &Gpu,
    land: &Arc<dyn Land>,
    materials: &Arc<Materials>,
    options: &Options,
    cancel: &Cancel,
    progress: &dyn Fn(f32),
) -> Result<Rendered, RenderError> {
    gpu.check_size(options.size)?;
    let mut stage = Stage::new(gpu, land.clone(), materials.clone(), cancel)?;
    take(&mut stage, options, cancel, progress)
}

/// Makes one picture of a land that is on the stage; the next one has its tiles already.
///
/// # Errors
/// As [`render`].
pub fn take(
    stage: &mut Stage,
    options: &Options,
    cancel: &Cancel,
    progress: &dyn Fn(f32),
) -> Result<Rendered, RenderError> {
    let land = stage.land();
    let shot = shot(stage, &*land, options, cancel)?;
    stage.set_overlay(options.overlay.clone());
    let budget = if options.in_flight { Budget::Flight } else { Budget::Whole };
    let frame = stage.frame_watched(&shot, budget, cancel, progress)?;
    Ok(Rendered {
        picture: stage.read()?,
        cover: if options.clear_sky { Some(stage.read_cover()?) } else { None },
        depth: if options.depth { Some(stage.read_distances(&shot)?) } else { None },
        legend: stage.legend(),
        camera: shot.camera,
        moment: shot.moment,
        sun: stage.sun(&shot.moment),
        tiles: frame.tiles,
        plants: frame.plants,
        bytes: frame.bytes + frame.plants.bytes,
    })
}

/// The shot that is asked for, its camera clear of the ground.
///
/// # Errors
/// When there can be none.
pub fn shot(stage: &Stage, land: &dyn Land, options: &Options, cancel: &Cancel) -> Result<Shot, RenderError> {
    let aspect = f64::from(options.size[0]) / f64::from(options.size[1].max(1));
    let overview = stage.overview();
    let north = stage.place().north_deg.unwrap_or(0.0);
    let (camera, moment) = view::choose(overview, options, aspect, &|moment| {
        let sun = stage.sun(moment);
        (sun.azimuth_deg + north, sun.altitude_deg)
    })?;
    camera.check()?;
    // A flight is lifted over what is in its way.
    let lift = matches!(options.aim, Aim::Exact(_));
    let camera =
        if camera.wide_m.is_some() { camera } else { clear_of_ground(land, overview, camera, lift, cancel)? };
    let Options {
        size,
        samples,
        quality,
        haze,
        clouds,
        fog,
        plain,
        exposure_ev,
        soft_sun,
        clear_sky,
        plants,
        ..
    } = *options;
    let is_parallel = camera.wide_m.is_some();
    Ok(Shot {
        size,
        samples,
        camera,
        moment,
        quality,
        haze,
        clouds,
        fog,
        plain,
        exposure_ev,
        soft_sun,
        clear_sky,
        // A look without a vanishing point has no place from which they are near or far.
        plants: plants && !is_parallel,
    })
}

/// Refuses a camera inside the ground or the water, or lifts it out; one very near the ground is lifted out of small bumps.
fn clear_of_ground(
    land: &dyn Land,
    overview: &Overview,
    mut camera: Camera,
    lift: bool,
    cancel: &Cancel,
) -> Result<Camera, RenderError> {
    let [x, y, z] = camera.eye;
    let ground = view::ground_at(land, overview, x, y, cancel)?;
    if z < ground && !lift {
        return Err(RenderError::Call(format!(
            "the camera is under ground: at {x:.0},{y:.0} the ground is {ground:.1} m above the sea and the camera {z:.1} m"
        )));
    }
    camera.eye[2] = z.max(ground + 1.5);
    Ok(camera)
}

#[cfg(test)]
mod tests {
    use orogen_core::{Frame, Terrain, layer, math};

    use super::*;

    fn hills() -> Terrain {
        let frame = Frame::square(8000.0, 129).unwrap();
        let mut land = Terrain::new(frame);
        let height = Raster::from_fn(129, 129, |c, r| {
            let (x, y) = (c as f64 / 9.0, r as f64 / 7.0);
            (400.0 + 300.0 * math::sin(x) * math::cos(1.3 * y) + 60.0 * math::sin(2.7 * x + y)) as f32
        });
        land.set(layer::HEIGHT, height);
        land
    }

    /// A device, which every machine that runs the tests has: `cargo xtask test` installs Mesa's.
    fn gpu() -> Gpu {
        Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one")
    }

    fn small() -> Options {
        Options { size: [96, 54], samples: 1, quality: 2.0, plants: false, ..Options::default() }
    }

    fn picture(options: &Options) -> Result<Rendered, RenderError> {
        let land: Arc<dyn Land> = Arc::new(hills());
        let materials = Arc::new(Materials::of_layers(&[]));
        render(&gpu(), &land, &materials, options, &Cancel::new(), &|_| {})
    }

    #[test]
    fn a_picture_has_sky_above_and_lit_ground_below_and_is_the_same_twice() {
        let found = picture(&small()).unwrap();
        assert_eq!((found.picture.cols(), found.picture.rows()), (96, 54));
        let mean = |row: usize| {
            found
                .picture
                .row(row)
                .iter()
                .map(|p| p.map(f64::from))
                .fold([0.0; 3], |a, b| [0, 1, 2].map(|c| a[c] + b[c] / 96.0))
        };
        let (top, bottom) = (mean(1), mean(50));
        assert!(top[2] > top[0] + 20.0, "{top:?}");
        assert!(bottom[1] > 20.0 && bottom[2] < bottom[1], "{bottom:?}");
        assert_eq!(picture(&small()).unwrap().picture, found.picture);
    }

    #[test]
    fn night_is_darker_than_day() {
        let mean = |hour: f64| {
            let options =
                Options { any_hour: false, moment: Moment { hour, ..Options::default().moment }, ..small() };
            let picture = picture(&options).unwrap().picture;
            picture.as_slice().as_flattened().iter().map(|b| f64::from(*b)).sum::<f64>() / (96.0 * 54.0 * 3.0)
        };
        let (day, dusk, night) = (mean(12.0), mean(20.0), mean(0.0));
        assert!(day > dusk + 5.0 && dusk > night + 5.0 && night < 40.0, "{day} {dusk} {night}");
    }

    #[test]
    fn what_makes_no_picture_gets_a_sentence() {
        let of = |options: Options| picture(&options).unwrap_err().to_string();
        assert!(of(Options { size: [0, 54], ..small() }).contains("0 pixels is outside 1 to"));
        assert!(of(Options { samples: 0, ..small() }).contains("samples"));
        let at = |eye: [f64; 2], height| Aim::Place { eye, height, target: None };
        assert!(
            of(Options { aim: at([4000.0, 3000.0], Height::Sea(-5000.0)), ..small() })
                .contains("under ground")
        );
        assert!(of(Options { aim: at([1e9, 0.0], Height::Ground(10.0)), ..small() }).contains("outside"));
        assert!(of(Options { aim: at([0.0, 0.0], Height::Sea(1e9)), ..small() }).contains("outside"));
        let refused = Gpu::open(Some("no such card")).map(|_| ());
        assert!(refused.is_err_and(|e| e.to_string().contains("no such card") && e.is_callers_fault()));
    }
}
