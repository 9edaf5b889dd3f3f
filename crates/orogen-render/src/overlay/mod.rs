//! What is painted over the ground: heights, slopes, layers of the land, contours, images and drawings.
//!
//! What follows from the ground itself (height, slope, contours, the net of vertices) is worked out for every pixel. Everything
//! else is painted on maps, squares of texels around the view, each a fifth as wide as the one before; the first is the whole land.

mod drape;
mod drawing;
mod ramp;

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use orogen_core::{
    Cancel, Frame, LayerData, LayerName, Raster, Rect, biome, each_kind, layer, material, math,
};
use rayon::prelude::*;

pub use drape::Drape;
pub use drawing::Drawing;
pub use ramp::{Ramp, Scale};

use crate::camera::Camera;
use crate::error::RenderError;
use crate::gpu::{Gpu, Shape};
use crate::land::Land;
use crate::overview::Overview;
use crate::vec3::{length, sub};
use ramp::linear;

/// Texels along a side of a map.
const SIDE: usize = 1024;
/// Maps, at most.
pub(crate) const MAPS: usize = 3;
/// Each is so many times narrower than the one before.
const NARROWER: f64 = 5.0;
/// Colours of a ramp that the device mixes.
const STOPS: usize = 12;

/// What is painted over the ground.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// What the colour of the ground says.
    pub paint: Paint,
    /// How much of the ground's own colour it hides, 0 to 1.
    pub share: f64,
    /// Lines of equal height; 0 for a distance that suits the land.
    pub contours_m: Option<f64>,
    /// Whether the net of vertices is drawn.
    pub wireframe: bool,
    /// Whether tiles have a colour by their level.
    pub tiles: bool,
    /// Images that lie on the ground, one over the other.
    pub drapes: Vec<Drape>,
    /// Points, lines and areas, over the images.
    pub drawings: Vec<Drawing>,
}

impl Default for Overlay {
    fn default() -> Self {
        Self {
            paint: Paint::None,
            share: 0.9,
            contours_m: None,
            wireframe: false,
            tiles: false,
            drapes: Vec::new(),
            drawings: Vec::new(),
        }
    }
}

/// What the colour of the ground says.
#[derive(Clone, Debug, Default)]
pub enum Paint {
    /// Nothing: the ground looks as it is.
    #[default]
    None,
    /// Its height.
    Height,
    /// How steep it is.
    Slope,
    /// Its biome.
    Biome,
    /// The material that there is most of.
    Material,
    /// The depth of water on it: the deeper the bluer, dry ground as it is.
    Water,
    /// The values of a layer.
    Layer(LayerName),
    /// Other values.
    Values(Arc<Values>),
}

/// Values on samples, with the colours that they have.
#[derive(Clone, Debug)]
pub struct Values {
    /// Where their samples lie.
    pub frame: Frame,
    /// The values.
    pub raster: Raster<f32>,
    /// Their colours.
    pub ramp: Ramp,
    /// The values of the first and the last colour.
    pub scale: Scale,
    /// What they are.
    pub title: String,
    /// Their unit.
    pub unit: String,
}

impl Values {
    /// What two states of a land differ by, in metres: white where the later one is higher (deposited), black where it is lower
    /// (eroded), grey where they agree.
    ///
    /// # Errors
    /// When the two do not overlap, or one cannot be made.
    pub fn difference(later: &dyn Land, earlier: &dyn Land, cancel: &Cancel) -> Result<Self, RenderError> {
        let own = later.frame();
        let shared = own.extent().intersection(&earlier.frame().extent());
        let apart =
            || RenderError::Call(String::from("the two lands do not overlap, so nothing can be compared"));
        let shared = shared.ok_or_else(apart)?;
        let [dx, dy] = own.spacing_m();
        let step = (own.cols().max(own.rows()).saturating_sub(1)).div_ceil(2 * SIDE).max(1) as f64;
        let frame = own.part(&shared, [dx * step, dy * step]).ok().flatten().ok_or_else(apart)?;
        let height = [layer::HEIGHT.name()];
        let after = later.window(frame, &height, cancel)?;
        let (after, place) = (after.get(layer::HEIGHT)?, earlier.frame());
        // The earlier one may have samples of its own.
        let around = place.part(&frame.extent(), [dx * step, dy * step]).ok().flatten().ok_or_else(apart)?;
        let before = earlier.window(around, &height, cancel)?;
        let before = before.get(layer::HEIGHT)?;
        let raster = Raster::from_fn(frame.cols(), frame.rows(), |c, r| {
            let [col, row] = around.locate(frame.x_m(c), frame.y_m(r));
            let col = col.clamp(0.0, (around.cols() - 1) as f64);
            let row = row.clamp(0.0, (around.rows() - 1) as f64);
            after.row(r)[c] - before.bilinear(col, row)
        });
        // Few samples change by much more than the rest.
        let mut sizes: Vec<f32> =
            raster.as_slice().iter().map(|d| d.abs()).filter(|d| d.is_finite() && *d > 0.0).collect();
        sizes.sort_by(f32::total_cmp);
        let most = sizes.get(sizes.len().saturating_sub(1) * 98 / 100).copied().unwrap_or(1.0);
        let most = ramp::nice_above(f64::from(most).max(1e-3));
        Ok(Self {
            frame,
            raster,
            ramp: Ramp::DIFFERENCE,
            scale: Scale { low: -most, high: most, log: false },
            title: String::from("deposited (white), eroded (black)"),
            unit: String::from("m"),
        })
    }
}

/// What the colours of a picture mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Legend {
    /// Colours that run from one value to another.
    Ramp {
        /// What they say.
        title: String,
        /// The unit of the values.
        unit: String,
        /// The values at the ends.
        scale: Scale,
        /// The colours, evenly from the first to the last value.
        colors: Vec<[u8; 3]>,
    },
    /// A colour for each of a few things.
    Keys {
        /// What they say.
        title: String,
        /// Colours and names.
        keys: Vec<([u8; 3], String)>,
    },
    /// A sentence.
    Note(String),
}

impl Overlay {
    /// Adds what a word names: `height`, `slope`, `biome`, `material`, `water`, `contours` or `contours=50`, `wireframe`, `tiles`,
    /// or a layer.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn add(&mut self, word: &str) -> Result<(), String> {
        match word.split_once('=') {
            Some(("contours", metres)) => {
                let wrong =
                    || format!("expected metres between contours, such as contours=50, found {word:?}");
                let metres: f64 = metres.parse().map_err(|_| wrong())?;
                if !(1e-3..=1e5).contains(&metres) {
                    return Err(format!("{metres} m between contours is outside 0.001 to 100000"));
                }
                self.contours_m = Some(metres);
            }
            Some(_) => return Err(format!("only contours take a number, found {word:?}")),
            None => match word {
                "contours" => self.contours_m = Some(0.0),
                "wireframe" => self.wireframe = true,
                "tiles" => self.tiles = true,
                "height" => self.paint = Paint::Height,
                "slope" => self.paint = Paint::Slope,
                "biome" => self.paint = Paint::Biome,
                "material" => self.paint = Paint::Material,
                "water" => self.paint = Paint::Water,
                _ => {
                    let name = LayerName::parse(word).ok_or_else(|| {
                        format!(
                            "expected height, slope, biome, material, water, contours, wireframe, tiles or a layer, found {word:?}"
                        )
                    })?;
                    self.paint = Paint::Layer(name);
                }
            },
        }
        Ok(())
    }

    fn has_maps(&self) -> bool {
        let painted = !matches!(self.paint, Paint::None | Paint::Height | Paint::Slope);
        painted || !self.drapes.is_empty() || !self.drawings.is_empty()
    }
}

/// `Overlay` of `overlay.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Numbers {
    /// By map: west and north edge relative to the eye, 1 / width, 1 / height.
    maps: [[f32; 4]; MAPS],
    /// Maps; what the ramp shows (1 height, 2 slope in degrees); how much it hides; number of its colours.
    what: [f32; 4],
    /// The first value, 1 / the range; metres between contours, strength of the net.
    range: [f32; 4],
    /// Strength of the colours of levels; the whole land over the side of a quad of level 0; unused.
    tiles: [f32; 4],
    stops: [[f32; 4]; STOPS],
}

/// An overlay made ready for a view.
pub(crate) struct Painted {
    rects: Vec<Rect>,
    maps: Vec<Vec<[u8; 4]>>,
    what: [f32; 4],
    range: [f32; 4],
    tiles: [f32; 4],
    stops: [[f32; 4]; STOPS],
    /// What the colours mean.
    pub legend: Vec<Legend>,
}

/// Red, green, blue times alpha, and alpha; linear.
type Texel = [f32; 4];

impl Painted {
    /// Paints an overlay for a view.
    ///
    /// # Errors
    /// When the land lacks what is asked for, or the work fails.
    pub fn of(
        overlay: &Overlay,
        land: &dyn Land,
        overview: &Overview,
        camera: &Camera,
        cancel: &Cancel,
    ) -> Result<Self, RenderError> {
        if !(0.0..=1.0).contains(&overlay.share) {
            return Err(RenderError::Call(format!(
                "an overlay's share of {} is outside 0 to 1",
                overlay.share
            )));
        }
        let mut out = Self {
            rects: Vec::new(),
            maps: Vec::new(),
            what: [0.0, 0.0, overlay.share as f32, 0.0],
            range: [0.0; 4],
            tiles: [f32::from(u8::from(overlay.tiles)), overview.root.size_m as f32, 0.0, 0.0],
            stops: [[0.0; 4]; STOPS],
            legend: Vec::new(),
        };
        out.range[3] = f32::from(u8::from(overlay.wireframe));
        match overlay.paint {
            Paint::Height => {
                let [low, high] = overview.range;
                let scale = Scale { low: low.max(0.0).min(high - 1.0), high, log: false };
                out.ramp(1.0, &Ramp::HEIGHT, scale, "height", "m");
            }
            Paint::Slope => {
                out.ramp(2.0, &Ramp::SLOPE, Scale { low: 0.0, high: 60.0, log: false }, "slope", "degrees");
            }
            _ => {}
        }
        if overlay.has_maps() {
            out.paint_maps(overlay, land, overview, camera, cancel)?;
        }
        if let Some(metres) = overlay.contours_m {
            let relief = overview.range[1] - overview.range[0].max(0.0);
            let metres = if metres > 0.0 { metres } else { ramp::nice_above((relief / 25.0).max(0.1)) };
            out.range[2] = metres as f32;
            out.legend.push(Legend::Note(format!("contours every {} m", ramp::short(metres))));
        }
        if overlay.wireframe {
            out.legend.push(Legend::Note(String::from("the net of vertices")));
        }
        if overlay.tiles {
            let quad =
                |level: u32| overview.root.size_m / f64::from(1u32 << level) / crate::quadtree::QUADS as f64;
            let keys = (0..8).map(|level| {
                let color = ramp::LEVELS[level as usize % ramp::LEVELS.len()];
                (color, format!("level {level}: quads of {} m", ramp::short(quad(level))))
            });
            out.legend.push(Legend::Keys { title: String::from("levels of tiles"), keys: keys.collect() });
        }
        Ok(out)
    }

    fn ramp(&mut self, what: f32, ramp: &Ramp, scale: Scale, title: &str, unit: &str) {
        self.what[1] = what;
        let stops = ramp.stops();
        self.what[3] = stops.len().min(STOPS) as f32;
        for (to, (at, color)) in self.stops.iter_mut().zip(stops) {
            let [r, g, b] = linear(*color);
            *to = [r, g, b, *at];
        }
        self.range[0] = scale.low as f32;
        self.range[1] = (1.0 / (scale.high - scale.low).max(1e-9)) as f32;
        self.legend.push(ramp.legend(title, unit, scale));
    }

    fn paint_maps(
        &mut self,
        overlay: &Overlay,
        land: &dyn Land,
        overview: &Overview,
        camera: &Camera,
        cancel: &Cancel,
    ) -> Result<(), RenderError> {
        self.rects = rects(overview, camera);
        self.what[0] = self.rects.len() as f32;
        let mut painter = Painter::of(overlay, land, overview, cancel)?;
        self.legend.extend(painter.legend.take());
        // Lines are as wide as looks well at the distance of what is looked at.
        let away = match camera.wide_m {
            Some(wide) => wide,
            None => length(sub(camera.target, camera.eye)),
        };
        let line_m = 0.004 * away.min(overview.root.size_m);
        for rect in &self.rects {
            if cancel.is_cancelled() {
                return Err(RenderError::Cancelled);
            }
            let mut map = vec![[0f32; 4]; SIDE * SIDE];
            painter.paint(&mut map, rect, land, cancel)?;
            overlay.drapes.iter().for_each(|drape| drape.paint(&mut map, SIDE, rect));
            overlay.drawings.iter().for_each(|drawing| drawing.paint(&mut map, SIDE, rect, line_m));
            self.maps.push(map.par_iter().map(|texel| ramp::encoded(*texel)).collect());
        }
        Ok(())
    }

    /// Whether it holds for another camera too.
    pub fn serves(&self, overview: &Overview, camera: &Camera) -> bool {
        self.rects.is_empty() || rects(overview, camera) == self.rects
    }

    /// What the shader knows, for an eye at a place.
    pub fn numbers(&self, eye: [f64; 3]) -> Numbers {
        let mut maps = [[0f32; 4]; MAPS];
        for (to, rect) in maps.iter_mut().zip(&self.rects) {
            let size = rect.size();
            *to =
                [rect.min[0] - eye[0], rect.max[1] - eye[1], 1.0 / size[0], 1.0 / size[1]].map(|x| x as f32);
        }
        Numbers { maps, what: self.what, range: self.range, tiles: self.tiles, stops: self.stops }
    }

    /// The maps as an array of textures; a single texel where there is none.
    pub fn upload(&self, gpu: &Gpu) -> wgpu::TextureView {
        let empty = [0u8; 4];
        let (side, layers) = if self.maps.is_empty() {
            (1, vec![vec![&empty[..]]])
        } else {
            (SIDE as u32, self.maps.iter().map(|map| vec![map.as_flattened()]).collect())
        };
        let shape = Shape {
            size: [side, side, layers.len() as u32],
            format: wgpu::TextureFormat::Rgba8UnormSrgb,
            view: wgpu::TextureViewDimension::D2Array,
        };
        gpu.texture("overlay", &shape, &layers)
    }
}

/// What maps cover: the whole land, and narrower squares where the camera looks.
fn rects(overview: &Overview, camera: &Camera) -> Vec<Rect> {
    let root = &overview.root;
    let mut rects = vec![Rect { min: root.origin_m, max: root.origin_m.map(|at| at + root.size_m) }];
    let above = (camera.eye[2] - overview.height_at(camera.eye[0], camera.eye[1])).max(2.0);
    let forward = camera.axes()[2];
    while rects.len() < MAPS {
        let last = rects[rects.len() - 1];
        let size = last.size()[0] / NARROWER;
        let (middle, least) = match camera.wide_m {
            Some(wide) => ([camera.target[0], camera.target[1]], 1.3 * wide),
            None => ([0, 1].map(|i| camera.eye[i] + 0.38 * size * forward[i]), above),
        };
        if size < least {
            break;
        }
        let min = [0, 1]
            .map(|i| (middle[i] - 0.5 * size).clamp(last.min[i], (last.max[i] - size).max(last.min[i])));
        rects.push(Rect { min, max: min.map(|at| at + size) });
    }
    rects
}

/// Paints the values of layers.
struct Painter {
    kind: Kind,
    layers: Vec<LayerName>,
    share: f32,
    legend: Option<Legend>,
}

enum Kind {
    Nothing,
    Ramp(Box<[[f32; 3]; 256]>, Scale),
    Water(f64),
    Biome,
    Keys(Vec<[f32; 3]>),
    Values(Arc<Values>, Box<[[f32; 3]; 256]>),
}

/// Colours for numbers that name things, such as basins.
fn key_color(id: f64) -> [f32; 3] {
    let turn = (id * 0.618_033_988_75).fract();
    let part = |shift: f64| (0.5 + 0.32 * math::cos(std::f64::consts::TAU * (turn + shift))) as f32;
    let [r, g, b] = [part(0.0), part(0.33), part(0.67)];
    [r * r, g * g, b * b]
}

impl Painter {
    fn of(
        overlay: &Overlay,
        land: &dyn Land,
        overview: &Overview,
        cancel: &Cancel,
    ) -> Result<Self, RenderError> {
        let mut out =
            Self { kind: Kind::Nothing, layers: Vec::new(), share: overlay.share as f32, legend: None };
        let known = land.layers();
        let needs = |name: &LayerName| {
            if known.contains(name) {
                return Ok(());
            }
            let list: Vec<&str> = known.iter().map(LayerName::as_str).collect();
            Err(RenderError::Call(format!(
                "the land has no layer {:?}; it has {}",
                name.as_str(),
                list.join(", ")
            )))
        };
        match &overlay.paint {
            Paint::None | Paint::Height | Paint::Slope => {}
            Paint::Values(values) => {
                let (title, unit) = (values.title.clone(), values.unit.clone());
                out.legend = Some(values.ramp.legend(&title, &unit, values.scale));
                out.kind = Kind::Values(Arc::clone(values), values.ramp.table());
            }
            Paint::Material => {
                let names: Vec<LayerName> = known
                    .iter()
                    .filter(|name| name.as_str().starts_with("material."))
                    .take(crate::materials::MOST)
                    .cloned()
                    .collect();
                if names.is_empty() {
                    needs(&LayerName::fixed("material"))?;
                }
                let colors =
                    names.iter().map(|name| material::of_layer(name).map_or(material::UNKNOWN, |m| m.color));
                let colors: Vec<[u8; 3]> = colors.collect();
                let most = |name: &LayerName| {
                    overview.weights(name).map_or(0.0, |w| {
                        let sum: u64 = w.as_slice().iter().map(|w| u64::from(w.0)).sum();
                        sum as f64 / 255.0 / w.as_slice().len() as f64
                    })
                };
                let keys =
                    names.iter().zip(&colors).filter(|(name, _)| most(name) > 0.005).map(|(name, color)| {
                        let name = name.as_str().trim_start_matches("material.").replace('_', " ");
                        (*color, name)
                    });
                out.legend = Some(Legend::Keys { title: String::from("materials"), keys: keys.collect() });
                out.kind = Kind::Keys(colors.iter().map(|color| linear(*color)).collect());
                out.layers = names;
            }
            Paint::Biome => {
                let name = layer::BIOME.name();
                needs(&name)?;
                let whole = land.window(overview.frame, std::slice::from_ref(&name), cancel)?;
                let mut counts = [0usize; 256];
                let raster = whole.get(layer::BIOME)?;
                raster.as_slice().iter().for_each(|id| counts[usize::from(*id)] += 1);
                let keys = biome::BIOMES.iter().enumerate();
                let keys = keys.filter(|(id, _)| counts[*id] * 200 > raster.as_slice().len());
                let keys = keys.map(|(_, info)| (info.color, info.name.to_owned())).collect();
                out.legend = Some(Legend::Keys { title: String::from("biomes"), keys });
                out.kind = Kind::Biome;
                out.layers = vec![name];
            }
            Paint::Water => {
                let name = layer::WATER.name();
                needs(&name)?;
                let [_, deep] = percentiles(land, overview, &name, cancel)?;
                let deep = ramp::nice_above(deep.max(0.1));
                let scale = Scale { low: 0.0, high: deep, log: false };
                out.legend = Some(Ramp::WATER.legend("depth of water", "m", scale));
                out.kind = Kind::Water(deep);
                out.layers = vec![name];
            }
            Paint::Layer(name) if *name == layer::BIOME.name() => {
                let biome = Overlay { paint: Paint::Biome, ..overlay.clone() };
                return Self::of(&biome, land, overview, cancel);
            }
            Paint::Layer(name) => {
                needs(name)?;
                let [low, high] = percentiles(land, overview, name, cancel)?;
                let info = layer::info(name);
                let (ramp, scale) = Ramp::of_layer(name.as_str(), low, high);
                let (title, unit) = match info {
                    Some(info) => (info.about, info.unit),
                    None => (name.as_str(), ""),
                };
                out.legend = Some(ramp.legend(title, unit, scale));
                if unit == "id" {
                    out.legend = Some(Legend::Note(title.to_owned()));
                    out.kind = Kind::Keys(Vec::new());
                } else {
                    out.kind = Kind::Ramp(ramp.table(), scale);
                }
                out.layers = vec![name.clone()];
            }
        }
        Ok(out)
    }

    fn paint(
        &self,
        map: &mut [Texel],
        rect: &Rect,
        land: &dyn Land,
        cancel: &Cancel,
    ) -> Result<(), RenderError> {
        let step = rect.size()[0] / SIDE as f64;
        let place = |i: usize| {
            let (c, r) = ((i % SIDE) as f64 + 0.5, (i / SIDE) as f64 + 0.5);
            [rect.min[0] + c * step, rect.max[1] - r * step]
        };
        let share = self.share;
        let cover = |[r, g, b]: [f32; 3], alpha: f32| [r * alpha, g * alpha, b * alpha, alpha];
        if let Kind::Values(values, table) = &self.kind {
            let samples = Samples::of(values.frame, &values.raster);
            map.par_iter_mut().enumerate().for_each(|(i, texel)| {
                if let Some(value) = samples.smooth(place(i)) {
                    *texel = cover(table[values.scale.index(value)], share);
                }
            });
            return Ok(());
        }
        if self.layers.is_empty() {
            return Ok(());
        }
        let inside = rect.intersection(&land.frame().extent());
        let frame = inside.and_then(|inside| land.frame().part(&inside, [step, step]).ok().flatten());
        let Some(frame) = frame.filter(|frame| frame.cols() > 1 && frame.rows() > 1) else { return Ok(()) };
        let made = land.window(frame, &self.layers, cancel)?;
        let rasters: Vec<Raster<f32>> =
            self.layers.iter().filter_map(|name| made.layers().get(name)).map(numbers).collect();
        if rasters.len() < self.layers.len() {
            return Err(RenderError::Device(String::from("the land gave fewer layers than it names")));
        }
        let samples: Vec<Samples<'_>> = rasters.iter().map(|raster| Samples::of(frame, raster)).collect();
        map.par_iter_mut().enumerate().for_each(|(i, texel)| {
            let at = place(i);
            match &self.kind {
                Kind::Nothing | Kind::Values(..) => {}
                Kind::Ramp(table, scale) => {
                    if let Some(value) = samples[0].smooth(at) {
                        *texel = cover(table[scale.index(value)], share);
                    }
                }
                Kind::Water(deep) => {
                    if let Some(depth) = samples[0].smooth(at).filter(|depth| *depth > 0.005) {
                        let share = (f64::from(depth) / deep).clamp(0.0, 1.0);
                        let alpha = 0.35 + 0.65 * share.sqrt() as f32;
                        *texel =
                            cover(Ramp::WATER.at(share), alpha * (f64::from(depth) / 0.02).min(1.0) as f32);
                    }
                }
                Kind::Biome => {
                    if let Some(id) = samples[0].nearest(at) {
                        let color =
                            biome::Biome::from_id(id as u8).map_or([128; 3], |biome| biome.info().color);
                        *texel = cover(linear(color), share);
                    }
                }
                Kind::Keys(colors) if colors.is_empty() => {
                    if let Some(id) = samples[0].nearest(at).filter(|id| *id > 0.0) {
                        *texel = cover(key_color(id.into()), share);
                    }
                }
                Kind::Keys(colors) => {
                    let most = samples
                        .iter()
                        .zip(colors)
                        .filter_map(|(s, color)| Some((s.nearest(at)?, color)))
                        .max_by(|a, b| a.0.total_cmp(&b.0));
                    if let Some((_, color)) = most {
                        *texel = cover(*color, share);
                    }
                }
            }
        });
        Ok(())
    }
}

/// The values of a layer, whatever its kind.
fn numbers(data: &LayerData) -> Raster<f32> {
    each_kind!(data, raster => raster.map(|value| Into::<f64>::into(value) as f32))
}

/// A raster that is asked by place; there is nothing beyond its edge.
struct Samples<'a> {
    frame: Frame,
    raster: &'a Raster<f32>,
}

impl<'a> Samples<'a> {
    fn of(frame: Frame, raster: &'a Raster<f32>) -> Self {
        Self { frame, raster }
    }

    fn at(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let [col, row] = self.frame.locate(x, y);
        let last = [(self.frame.cols() - 1) as f64, (self.frame.rows() - 1) as f64];
        // A texel's middle may lie half a texel beyond the last sample.
        let inside = (-1.0..=last[0] + 1.0).contains(&col) && (-1.0..=last[1] + 1.0).contains(&row);
        inside.then_some([col.clamp(0.0, last[0]), row.clamp(0.0, last[1])])
    }

    fn smooth(&self, place: [f64; 2]) -> Option<f32> {
        let [col, row] = self.at(place)?;
        Some(self.raster.bilinear(col, row)).filter(|value| value.is_finite())
    }

    fn nearest(&self, place: [f64; 2]) -> Option<f32> {
        let [col, row] = self.at(place)?;
        Some(self.raster.clamped(col.round() as isize, row.round() as isize))
            .filter(|value| value.is_finite())
    }
}

/// Values of a layer over the whole land, without the few that are far from the rest.
fn percentiles(
    land: &dyn Land,
    overview: &Overview,
    name: &LayerName,
    cancel: &Cancel,
) -> Result<[f64; 2], RenderError> {
    let whole = land.window(overview.frame, std::slice::from_ref(name), cancel)?;
    let Some(data) = whole.layers().get(name) else { return Ok([0.0, 1.0]) };
    let mut values: Vec<f32> = numbers(data).into_vec();
    values.retain(|value| value.is_finite());
    // The depth of water says nothing where there is none.
    if *name == layer::WATER.name() {
        values.retain(|value| *value > 0.0);
    }
    values.sort_by(f32::total_cmp);
    let at = |percent: usize| {
        values.get(values.len().saturating_sub(1) * percent / 100).map_or(0.0, |v| f64::from(*v))
    };
    Ok([at(1), at(99)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_overlays_and_others_are_refused() {
        let mut overlay = Overlay::default();
        for word in ["height", "contours=25", "wireframe", "tiles"] {
            assert_eq!(overlay.add(word), Ok(()), "{word}");
        }
        assert!(matches!(overlay.paint, Paint::Height));
        assert!(overlay.wireframe && overlay.tiles && overlay.contours_m == Some(25.0));
        assert_eq!(overlay.add("canopy.height"), Ok(()));
        assert!(matches!(&overlay.paint, Paint::Layer(name) if name.as_str() == "canopy.height"));
        for wrong in ["", "contours=0", "contours=x", "slope=3", "Not A Layer", "contours=nan"] {
            assert!(overlay.add(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_difference_is_where_land_rose_and_fell() {
        let frame = Frame::square(1000.0, 11).unwrap();
        let land = |f: &(dyn Fn(usize) -> f32 + Sync)| {
            let mut land = orogen_core::Terrain::new(frame);
            land.set(layer::HEIGHT, Raster::from_fn(11, 11, |c, _| f(c)));
            land
        };
        let (before, after) = (land(&|_| 50.0), land(&|c| if c < 4 { 53.0 } else { 46.5 }));
        let found = Values::difference(&after, &before, &Cancel::new()).unwrap();
        assert_eq!((found.raster.row(5)[1], found.raster.row(5)[9]), (3.0, -3.5));
        assert!(found.scale.high >= 3.5 && (found.scale.high + found.scale.low).abs() < 1e-9);
        let elsewhere = orogen_core::Terrain::new(Frame::new([5e4, 0.0], [1000.0; 2], [11, 11]).unwrap());
        assert!(
            Values::difference(&after, &elsewhere, &Cancel::new())
                .is_err_and(|e| e.to_string().contains("do not overlap"))
        );
    }
}
