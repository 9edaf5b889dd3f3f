//! A land that is looked at for longer than one picture: tiles, light and shade stay where they serve the next frame too.
//!
//! A frame draws what is there and has what it lacks made meanwhile, nearest first, within its budget; where a tile is not there
//! yet, the coarser one that holds it is drawn. A still waits until all is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use orogen_core::{Cancel, Place, Raster, Rect};

use crate::camera::{Camera, NEAR_M, PARALLEL_M};
use crate::cascades::{CASCADES, Cascade, cascades};
use crate::crew::Crew;
use crate::draw::{Draw, Drawn, Targets};
use crate::error::RenderError;
use crate::gpu::{Gpu, Shape};
use crate::land::Land;
use crate::light::{self, Asked, Light};
use crate::materials::Materials;
use crate::noises::{noises, waves};
use crate::overlay::{Legend, Overlay, Painted};
use crate::overview::{Bounds, Overview};
use crate::passes::Passes;
use crate::plants::{Counts, Footing, Plants, Sight, Spot};
use crate::quadtree::{Metric, Node, QUADS, SIDES, Tiles, Volume, coarser_sides, leaf_over, split};
use crate::rim::{RIM, Shown, Vertex, coarser_surface, rim};
use crate::shade::{self, SIDE, Square};
use crate::slots::Slots;
use crate::sun::{Moment, Sun, sun};
use crate::tile::{PALETTE, Rivers, Texels, Tile, VERTICES};

/// What is looked at, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// Pixels, width and height.
    pub size: [u32; 2],
    /// Samples of each pixel, which are averaged.
    pub samples: u32,
    /// The eye.
    pub camera: Camera,
    /// Day and hour.
    pub moment: Moment,
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
    /// Whether the sun is moved within its disk from sample to sample.
    pub soft_sun: bool,
    /// Whether the sky is left out.
    pub clear_sky: bool,
}

impl Shot {
    fn aspect(&self) -> f64 {
        f64::from(self.size[0]) / f64::from(self.size[1])
    }

    fn check(&self) -> Result<(), RenderError> {
        let inside = |what: &str, value: f64, low: f64, high: f64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(RenderError::Call(format!("{what} of {value} is outside {low} to {high}")))
            }
        };
        inside("a number of samples", self.samples.into(), 1.0, 1024.0)?;
        inside("a quality", self.quality, 0.1, 100.0)?;
        inside("a haze", self.haze, 0.0, 100.0)?;
        inside("a share of clouds", self.clouds, 0.0, 1.0)?;
        inside("a thickness of fog", self.fog.unwrap_or(0.0), 0.0, 10.0)?;
        inside("an exposure", self.exposure_ev, -20.0, 20.0)?;
        self.camera.check()
    }
}

/// How much work a frame may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// All that it takes: the frame waits until nothing is missing, and nothing in it is on the way from one level to another.
    Whole,
    /// The same for a frame of a flight: tiles are on the way from one level to another by their distance alone, so that none
    /// jumps from frame to frame, and a frame looks the same whichever came before it.
    Flight,
    /// It takes in so many new tiles at most and waits for none.
    Tiles(usize),
}

impl Budget {
    /// Whether a frame waits for all that it shows.
    fn waits(self) -> bool {
        matches!(self, Self::Whole | Self::Flight)
    }
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether all tiles that the shot asks for were there.
    pub complete: bool,
    /// Tiles that were drawn.
    pub tiles: usize,
    /// Tiles that were made and taken in for this frame.
    pub new: usize,
    /// Bytes of the device's memory that tiles take.
    pub bytes: u64,
    /// Plants that were drawn.
    pub plants: Counts,
}

/// A tile on the device.
struct Resident {
    slot: u32,
    /// What grows and lies on it, where its texels are fine enough to say that.
    ground: Option<Texels>,
    vertices: Vec<Vertex>,
    /// The surface of the coarser tile at its vertices; empty while that is not known.
    coarse: Vec<Vertex>,
    palette: [u8; PALETTE],
    has_water: bool,
    /// How far it has changed over to the coarser tile.
    morph: f32,
    /// The frame that needed it last.
    used: u64,
    /// Made before the land changed: drawn until the new one is there.
    stale: bool,
}

/// Only tiles with quads smaller than this know what lies on them: it is looked at from near.
const FINE_M: f64 = 6.0;

/// The ground as it is drawn.
struct Ground<'a> {
    overview: &'a Overview,
    tiles: BTreeMap<Node, &'a Resident>,
    levels: Vec<u8>,
}

impl<'a> Ground<'a> {
    fn new(overview: &'a Overview, tiles: impl Iterator<Item = (Node, &'a Resident)>) -> Self {
        let tiles: BTreeMap<Node, &Resident> = tiles.collect();
        let levels: BTreeSet<u8> = tiles.keys().map(|node| node.level).collect();
        Self { overview, tiles, levels: levels.into_iter().rev().collect() }
    }

    /// The tile of a place, and where it lies on that, 0 to 1 from the north-west corner.
    fn tile(&self, [x, y]: [f64; 2]) -> Option<(&'a Resident, [f64; 2])> {
        let root = &self.overview.root;
        let inside = |at: f64, from: f64| (0.0..root.size_m).contains(&(at - from));
        if !inside(x, root.origin_m[0]) || !inside(y, root.origin_m[1]) {
            return None;
        }
        self.levels.iter().find_map(|&level| {
            let side = root.side_m(level);
            let at = [(x - root.origin_m[0]) / side, (y - root.origin_m[1]) / side];
            let node = Node { level, x: at[0] as u32, y: at[1] as u32 };
            Some((*self.tiles.get(&node)?, [at[0].fract(), 1.0 - at[1].fract()]))
        })
    }
}

impl Footing for Ground<'_> {
    fn overview(&self) -> &Overview {
        self.overview
    }

    fn height_at(&self, at: [f64; 2]) -> f64 {
        let Some((tile, on)) = self.tile(at) else { return self.overview.height_at(at[0], at[1]) };
        let on = on.map(|v| (v * QUADS as f64).clamp(0.0, QUADS as f64));
        let [col, row] = on.map(|v| (v as usize).min(QUADS - 1));
        let [s, t] = [on[0] - col as f64, on[1] - row as f64];
        let vertex = |c: usize, r: usize| {
            let i = (row + r) * VERTICES + col + c;
            let own = f64::from(tile.vertices[i][2]);
            match tile.coarse.get(i) {
                Some(coarse) => own + (f64::from(coarse[2]) - own) * f64::from(tile.morph),
                None => own,
            }
        };
        let north = vertex(0, 0) * (1.0 - s) + vertex(1, 0) * s;
        let south = vertex(0, 1) * (1.0 - s) + vertex(1, 1) * s;
        north * (1.0 - t) + south * t
    }

    fn spot(&self, at: [f64; 2]) -> Option<Spot> {
        let (tile, on) = self.tile(at)?;
        let mut spot = tile.ground.as_ref()?.spot(on);
        let [col, row] = on.map(|v| ((v * QUADS as f64).round().max(0.0) as usize).min(QUADS));
        let [_, _, height, level] = tile.vertices[row * VERTICES + col];
        spot.wet |= (tile.has_water && level > height - 0.1) || self.overview.is_sea(at[0], at[1]);
        Some(spot)
    }
}

/// What tiles are made from.
struct Source {
    land: Arc<dyn Land>,
    overview: Overview,
    bounds: Bounds,
    rivers: Rivers,
}

/// A land on a device, frame after frame.
pub struct Stage {
    gpu: Gpu,
    passes: Passes,
    noises: wgpu::TextureView,
    waves: wgpu::TextureView,
    /// Where fog lies on the land.
    fogs: wgpu::TextureView,
    materials: Arc<Materials>,
    textures: [wgpu::TextureView; 3],
    source: Arc<Source>,
    crew: Crew<Node, Tile>,
    slots: Slots,
    tiles: BTreeMap<Node, Resident>,
    light: light::Kept,
    shade: Option<Shade>,
    targets: Option<Targets>,
    plants: Plants,
    overlay: Overlay,
    /// The overlay for the last frame, and its maps on the device.
    painted: Option<(Painted, wgpu::TextureView)>,
    /// Frames so far.
    clock: u64,
}

/// Shade on the device, and what it was made for.
struct Shade {
    places: Vec<Rect>,
    azimuth_deg: f64,
    view: wgpu::TextureView,
}

/// What a shot asks for.
struct Plan {
    /// All tiles of the land, with the sides on which their neighbour is coarser.
    all: Tiles,
    /// Those that are seen, nearest first.
    seen: Vec<Node>,
    /// The same and what holds them.
    open: BTreeSet<Node>,
    quality: f64,
}

/// Of the places on the device, those that what is asked for may take; the others hold what is on the way.
const SHARE: f64 = 0.6;

impl Stage {
    /// Looks at a land.
    ///
    /// # Errors
    /// When the land cannot be made, or there is nothing to see.
    pub fn new(
        gpu: &Gpu,
        land: Arc<dyn Land>,
        materials: Arc<Materials>,
        cancel: &Cancel,
    ) -> Result<Self, RenderError> {
        let passes = Passes::new(gpu);
        let textures = materials.upload(gpu);
        let source = Arc::new(Source::of(land, cancel)?);
        Ok(Self {
            noises: noises(gpu),
            waves: waves(gpu),
            fogs: crate::fog::upload(gpu, &source.overview),
            slots: Slots::new(gpu, &passes, &textures, 64),
            crew: crew(&source),
            gpu: gpu.clone(),
            materials,
            textures,
            source,
            tiles: BTreeMap::new(),
            light: light::Kept::default(),
            shade: None,
            targets: None,
            overlay: Overlay::default(),
            painted: None,
            plants: Plants::new(gpu, &passes.scene),
            passes,
            clock: 0,
        })
    }

    /// The land at a glance.
    #[must_use]
    pub fn overview(&self) -> &Overview {
        &self.source.overview
    }

    /// The land itself.
    #[must_use]
    pub fn land(&self) -> Arc<dyn Land> {
        self.source.land.clone()
    }

    /// Paints something over the ground, from the next frame on.
    pub fn set_overlay(&mut self, overlay: Overlay) {
        self.overlay = overlay;
        self.painted = None;
    }

    /// What the colours of the last frame mean.
    #[must_use]
    pub fn legend(&self) -> Vec<Legend> {
        self.painted.as_ref().map_or_else(Vec::new, |(painted, _)| painted.legend.clone())
    }

    /// Where the land lies.
    #[must_use]
    pub fn place(&self) -> Place {
        self.source.land.place()
    }

    /// Where the sun is at a moment.
    #[must_use]
    pub fn sun(&self, moment: &Moment) -> Sun {
        let place = self.place();
        sun(moment, place.latitude_deg.unwrap_or(45.0), place.longitude_deg.unwrap_or(0.0))
    }

    /// Takes in that the land changed, in a part of it or everywhere. What was there is shown until the new is.
    ///
    /// # Errors
    /// As [`Stage::new`].
    pub fn changed(
        &mut self,
        land: Arc<dyn Land>,
        part: Option<Rect>,
        cancel: &Cancel,
    ) -> Result<(), RenderError> {
        let source = Arc::new(Source::of(land, cancel)?);
        let root = source.overview.root;
        let same = (root.origin_m, root.size_m)
            == (self.source.overview.root.origin_m, self.source.overview.root.size_m);
        if same {
            for (node, tile) in &mut self.tiles {
                let rect = root.rect(*node);
                // A tile looks a sample beyond its edge.
                let around = rect.grown(rect.size().map(|size| size / QUADS as f64));
                tile.stale |= part.is_none_or(|part| part.intersection(&around).is_some());
            }
        } else {
            for (_, tile) in std::mem::take(&mut self.tiles) {
                self.slots.release(tile.slot);
            }
        }
        self.crew = crew(&source);
        self.fogs = crate::fog::upload(&self.gpu, &source.overview);
        self.source = source;
        self.plants.changed();
        self.shade = None;
        self.painted = None;
        Ok(())
    }

    /// Draws a frame into the stage's own picture.
    ///
    /// # Errors
    /// When the shot makes no picture, the land cannot be made, the device fails, or somebody stopped it.
    pub fn frame(&mut self, shot: &Shot, budget: Budget, cancel: &Cancel) -> Result<Frame, RenderError> {
        self.frame_watched(shot, budget, cancel, &|_| {})
    }

    /// The same; `progress` hears which share of the work is done.
    ///
    /// # Errors
    /// As [`Stage::frame`].
    pub fn frame_watched(
        &mut self,
        shot: &Shot,
        budget: Budget,
        cancel: &Cancel,
        progress: &dyn Fn(f32),
    ) -> Result<Frame, RenderError> {
        self.gpu.check_size(shot.size)?;
        shot.check()?;
        let guard = self.gpu.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let result = self.draw(shot, budget, cancel, progress);
        let failed = pollster::block_on(guard.pop());
        let frame = result?;
        match failed {
            Some(error) => Err(RenderError::Device(error.to_string())),
            None => Ok(frame),
        }
    }

    /// Brings the tiles of a frame up to date without drawing it: ahead of a jump, say.
    ///
    /// # Errors
    /// As [`Stage::frame`].
    pub fn prepare(&mut self, shot: &Shot, budget: Budget, cancel: &Cancel) -> Result<Frame, RenderError> {
        self.gpu.check_size(shot.size)?;
        shot.check()?;
        Ok(self.ready(shot, budget, cancel, &|_| {})?.2)
    }

    /// The tiles of a frame, nearest first.
    fn ready(
        &mut self,
        shot: &Shot,
        budget: Budget,
        cancel: &Cancel,
        progress: &dyn Fn(f32),
    ) -> Result<(Vec<Drawn>, BTreeSet<Node>, Frame), RenderError> {
        self.clock += 1;
        let aspect = shot.aspect();
        let plan = self.plan(shot, aspect, budget);
        let new = self.fetch(&plan, budget, cancel, progress)?;
        let cut = self.cut(&plan);
        let complete = plan.seen.iter().all(|node| self.is_fresh(*node));
        self.change_over(shot, aspect, &plan, &cut, budget);
        let drawn = self.drawn(&cut, &plan, shot.camera.eye);
        let bytes = self.slots.bytes();
        let frame = Frame { complete, tiles: drawn.len(), new, bytes, plants: Counts::default() };
        Ok((drawn, cut, frame))
    }

    fn draw(
        &mut self,
        shot: &Shot,
        budget: Budget,
        cancel: &Cancel,
        progress: &dyn Fn(f32),
    ) -> Result<Frame, RenderError> {
        let aspect = shot.aspect();
        let (drawn, cut, mut frame) =
            self.ready(shot, budget, cancel, &|share| progress(LAND_SHARE * share))?;
        progress(LAND_SHARE);
        let sun = self.sun(&shot.moment);
        let north_deg = self.place().north_deg.unwrap_or(0.0);
        let ground = self.materials.ground(&self.source.overview);
        let asked = Asked {
            camera: shot.camera,
            aspect,
            sun,
            north_deg,
            haze: shot.haze,
            exposure_ev: shot.exposure_ev,
            ground,
        };
        let light = self.light.light(&self.gpu, &asked);
        let near = near_squares(&self.source.overview, &shot.camera, &light);
        if shot.plants {
            let Source { land, overview, .. } = &*self.source;
            let place = land.place();
            let sight = Sight {
                camera: &shot.camera,
                aspect,
                size: shot.size,
                moment: &shot.moment,
                latitude_deg: place.latitude_deg.unwrap_or(45.0),
                lamp: light.sun,
                near,
                whole: budget.waits(),
            };
            let ground =
                Ground::new(overview, cut.iter().filter_map(|node| Some((*node, self.tiles.get(node)?))));
            frame.complete &= self.plants.prepare(&self.gpu, &**land, &sight, &ground, cancel)?;
        } else {
            self.plants.clear();
        }
        frame.plants = self.plants.counts();
        self.shade(&shot.camera, sun.lamp().0.azimuth_deg + north_deg, cancel)?;
        let Source { land, overview, .. } = &*self.source;
        if !self.painted.as_ref().is_some_and(|(painted, _)| painted.serves(overview, &shot.camera)) {
            let painted = Painted::of(&self.overlay, &**land, overview, &shot.camera, cancel)?;
            let maps = painted.upload(&self.gpu);
            self.painted = Some((painted, maps));
        }
        let Some((painted, maps)) = &self.painted else {
            return Err(RenderError::Call(String::from("there is no overlay")));
        };
        let Some(shade) = &self.shade else {
            return Err(RenderError::Call(String::from("there is no shade")));
        };
        let targets = match self.targets.take() {
            Some(targets) if targets.size == shot.size => targets,
            _ => Targets::new(&self.gpu, &self.passes, shot.size),
        };
        let targets = self.targets.insert(targets);
        let draw = Draw {
            gpu: &self.gpu,
            passes: &self.passes,
            overview: &self.source.overview,
            materials: &self.materials,
            noises: &self.noises,
            waves: &self.waves,
            shot,
            aspect,
            light: &light,
            near,
            sun,
            shades: &shade.view,
            fogs: &self.fogs,
            squares: &shade.places,
            slots: &self.slots,
            painted,
            maps,
            tiles: &drawn,
            plants: &self.plants,
        };
        let from = if shot.plants { PLANTS_SHARE } else { LAND_SHARE };
        progress(from);
        draw.picture(targets, cancel, &|share| progress(from + (1.0 - from) * share))?;
        Ok(frame)
    }

    /// The picture of the last frame, to be shown or read; its values are in sRGB already. `None` before the first.
    #[must_use]
    pub fn picture(&self) -> Option<&wgpu::Texture> {
        self.targets.as_ref().map(|targets| &targets.written)
    }

    /// Reads the picture of the last frame.
    ///
    /// # Errors
    /// When there is none, or the device fails.
    pub fn read(&self) -> Result<Raster<[u8; 3]>, RenderError> {
        let picture = self
            .picture()
            .ok_or_else(|| RenderError::Call(String::from("there is no picture before the first frame")))?;
        let bytes = self.gpu.read(picture)?;
        let pixels = bytes.chunks_exact(4).map(|p| [p[0], p[1], p[2]]).collect();
        Raster::from_vec(picture.width() as usize, picture.height() as usize, pixels)
            .ok_or_else(|| RenderError::Device(String::from("the picture came back in another size")))
    }

    /// Reads how much of each pixel of the last frame is not sky, where the sky was left out.
    ///
    /// # Errors
    /// As [`Stage::read`].
    pub fn read_cover(&self) -> Result<Raster<u8>, RenderError> {
        let picture = self
            .picture()
            .ok_or_else(|| RenderError::Call(String::from("there is no picture before the first frame")))?;
        let cover = self.gpu.read(picture)?.chunks_exact(4).map(|p| p[3]).collect();
        Raster::from_vec(picture.width() as usize, picture.height() as usize, cover)
            .ok_or_else(|| RenderError::Device(String::from("the picture came back in another size")))
    }

    /// Reads how far away what each pixel of the last frame shows is, in metres along its look; NaN for the sky.
    ///
    /// # Errors
    /// As [`Stage::read`].
    pub fn read_distances(&self, shot: &Shot) -> Result<Raster<f32>, RenderError> {
        let Some(targets) = self.targets.as_ref().filter(|targets| targets.size == shot.size) else {
            return Err(RenderError::Call(String::from("there is no picture before the first frame")));
        };
        let [ground, water] = [self.gpu.read(&targets.depths[0])?, self.gpu.read(&targets.depths[1])?];
        let [width, height] = shot.size.map(|n| n as usize);
        let number = |bytes: &[u8], i: usize| {
            bytes.get(4 * i..4 * i + 4).map_or(0.0, |b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        let [half_x, half_y] = shot.camera.half(width as f64 / height as f64);
        Ok(Raster::from_fn(width, height, |c, r| {
            let i = r * width + c;
            let depth = f64::from(number(&ground, i).max(number(&water, i)));
            if depth <= 0.0 {
                return f32::NAN;
            }
            if shot.camera.wide_m.is_some() {
                return ((0.5 - depth) * 2.0 * PARALLEL_M) as f32;
            }
            // Depth runs along the middle look; others are longer.
            let u = half_x * (2.0 * (c as f64 + 0.5) / width as f64 - 1.0);
            let v = half_y * (2.0 * (r as f64 + 0.5) / height as f64 - 1.0);
            (NEAR_M / depth * (1.0 + u * u + v * v).sqrt()) as f32
        }))
    }

    /// Which tiles a shot asks for.
    fn plan(&self, shot: &Shot, aspect: f64, budget: Budget) -> Plan {
        let overview = &self.source.overview;
        let most = f64::from(self.gpu.most_layers());
        // Where nobody asked for more than usual, a few hundred tiles show all that a picture can.
        let finer = shot.quality / 6.0;
        let usual = 256.0 * (finer * finer).max(1.0);
        let most = if budget == Budget::Whole { most.min(usual) } else { (most * SHARE).min(usual) } as usize;
        let mut quality = shot.quality;
        let extent = overview.frame.extent();
        loop {
            let metric = self.metric(shot, aspect, quality);
            let all = split(&overview.root, &metric);
            let mut seen: Vec<(f64, Node)> = all
                .keys()
                .filter(|node| {
                    let rect = overview.root.rect(**node);
                    rect.min[0] < extent.max[0] && rect.min[1] < extent.max[1]
                })
                .map(|&node| (Volume::of(&overview.root, &metric, node), node))
                .filter(|(volume, _)| volume.is_seen(&metric))
                .map(|(volume, node)| (volume.distance(), node))
                .collect();
            if seen.len() > most {
                // As fine as the device has room for.
                quality *= 0.93;
                continue;
            }
            seen.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let seen: Vec<Node> = seen.into_iter().map(|(_, node)| node).collect();
            let open = seen.iter().flat_map(|node| (0..=node.level).map(|level| node.ancestor(level)));
            let open = open.collect();
            return Plan { all, seen, open, quality };
        }
    }

    fn metric<'a>(&'a self, shot: &'a Shot, aspect: f64, quality: f64) -> Metric<'a> {
        let Source { overview, bounds, land, .. } = &*self.source;
        let finest_quad = land.finest_m().max(1e-3);
        let levels = orogen_core::math::log2(overview.root.size_m / (QUADS as f64 * finest_quad)).floor();
        Metric { camera: &shot.camera, aspect, quality, known: bounds, finest: levels.clamp(0.0, 22.0) as u8 }
    }

    fn is_fresh(&self, node: Node) -> bool {
        self.tiles.get(&node).is_some_and(|tile| !tile.stale)
    }

    /// Has made what is missing and takes in what is there; says how many tiles that were.
    fn fetch(
        &mut self,
        plan: &Plan,
        budget: Budget,
        cancel: &Cancel,
        progress: &dyn Fn(f32),
    ) -> Result<usize, RenderError> {
        let clock = self.clock;
        for node in &plan.open {
            if let Some(tile) = self.tiles.get_mut(node) {
                tile.used = clock;
            }
        }
        let mut wanted = Vec::new();
        let mut known = BTreeSet::new();
        for node in &plan.seen {
            // In a flight coarse ones come first: they stand in for the fine ones.
            let first = if budget == Budget::Whole { node.level } else { 0 };
            for level in first..=node.level {
                let node = node.ancestor(level);
                if known.insert(node) && !self.is_fresh(node) {
                    wanted.push(node);
                }
            }
        }
        let room = (self.tiles.len() + wanted.len()) as u32;
        if room > self.slots.capacity() {
            let most = self.gpu.most_layers();
            let capacity = room.max(self.slots.capacity() * 3 / 2).next_multiple_of(32).min(most);
            if capacity > self.slots.capacity() {
                self.slots = self.slots.grown(&self.gpu, &self.passes, &self.textures, capacity);
            }
        }
        self.crew.want(wanted.iter().copied());
        let mut new = 0;
        // The whole land is there from the first frame on.
        let least = usize::from(!self.tiles.contains_key(&Node::WHOLE));
        loop {
            let wait = match budget {
                Budget::Whole | Budget::Flight if self.crew.open() > 0 => Duration::from_millis(50),
                Budget::Tiles(_) if new < least && self.crew.open() > 0 => Duration::from_millis(50),
                Budget::Tiles(most) if new < most.max(least) => Duration::ZERO,
                _ => break,
            };
            if cancel.is_cancelled() {
                self.crew.want(std::iter::empty());
                return Err(RenderError::Cancelled);
            }
            match self.crew.take(wait) {
                Some((_, tile)) => {
                    self.take_in(tile?, plan);
                    new += 1;
                    progress(new as f32 / wanted.len().max(new) as f32);
                }
                None if wait.is_zero() => break,
                None => {}
            }
        }
        Ok(new)
    }

    /// Gives a tile a place on the device.
    fn take_in(&mut self, tile: Tile, plan: &Plan) {
        let before = self.tiles.remove(&tile.node);
        let slot =
            before.as_ref().map(|tile| tile.slot).or_else(|| self.slots.take()).or_else(|| self.evict(plan));
        // Nothing can give way: it will be asked for again.
        let Some(slot) = slot else { return };
        self.slots.write(&self.gpu, slot, &tile);
        let parent = tile.node.parent().and_then(|parent| self.tiles.get(&parent));
        let coarse = parent.map_or_else(Vec::new, |parent| coarser_surface(&parent.vertices, tile.node));
        if !coarse.is_empty() {
            self.slots.write_coarse(&self.gpu, slot, &coarse);
        }
        for child in tile.node.children() {
            if let Some(child_tile) = self.tiles.get_mut(&child) {
                child_tile.coarse = coarser_surface(&tile.vertices, child);
                self.slots.write_coarse(&self.gpu, child_tile.slot, &child_tile.coarse);
            }
        }
        let quad = self.source.overview.root.side_m(tile.node.level) / QUADS as f64;
        let Tile { node, vertices, slopes, weights, cover, palette, has_water } = tile;
        let ground = (quad < FINE_M).then_some(Texels { slopes, weights, cover, palette });
        // What is new starts as the coarser one that it takes over from.
        let morph = before.map_or(1.0, |tile| tile.morph);
        let used = self.clock;
        self.tiles.insert(
            node,
            Resident { slot, ground, vertices, coarse, palette, has_water, morph, used, stale: false },
        );
    }

    /// Frees the place of the tile that was not needed for longest.
    fn evict(&mut self, plan: &Plan) -> Option<u32> {
        let spare =
            self.tiles.iter().filter(|(node, tile)| tile.used < self.clock && !plan.open.contains(node));
        // Of those of one age the finest goes first.
        let node = *spare.min_by_key(|(node, tile)| (tile.used, std::cmp::Reverse(node.level)))?.0;
        self.tiles.remove(&node).map(|tile| tile.slot)
    }

    /// What is drawn: what the plan asks for where it is there, else what is nearest to it.
    fn cut(&self, plan: &Plan) -> BTreeSet<Node> {
        let mut cut = Vec::new();
        self.cover(Node::WHOLE, plan, &mut cut);
        let mut cut: BTreeSet<Node> = cut.into_iter().collect();
        self.level(&mut cut);
        cut
    }

    fn cover(&self, node: Node, plan: &Plan, cut: &mut Vec<Node>) -> bool {
        if !plan.open.contains(&node) {
            return true;
        }
        let before = cut.len();
        let is_here = self.tiles.contains_key(&node);
        if plan.all.contains_key(&node) {
            if is_here {
                cut.push(node);
                return true;
            }
            // Finer ones that are still there.
            if self.cover_finer(node, 3, cut) {
                return true;
            }
        } else {
            let mut whole = true;
            for child in node.children() {
                whole &= self.cover(child, plan, cut);
            }
            if whole {
                return true;
            }
        }
        cut.truncate(before);
        if is_here {
            cut.push(node);
        }
        is_here
    }

    fn cover_finer(&self, node: Node, depth: u8, cut: &mut Vec<Node>) -> bool {
        depth > 0
            && node.children().into_iter().all(|child| {
                if self.tiles.contains_key(&child) {
                    cut.push(child);
                    true
                } else {
                    self.cover_finer(child, depth - 1, cut)
                }
            })
    }

    /// Makes tiles coarser until neighbours differ by one level at most.
    fn level(&self, cut: &mut BTreeSet<Node>) {
        let mut open: Vec<Node> = cut.iter().rev().copied().collect();
        while let Some(node) = open.pop() {
            if !cut.contains(&node) {
                continue;
            }
            for (_, dx, dy) in SIDES {
                let Some(beside) = node.beside(dx, dy) else { continue };
                let over = leaf_over(|n| cut.contains(&n).then_some(()), beside);
                let Some((coarse, ())) = over.filter(|(n, ())| n.level + 1 < node.level) else { continue };
                let held = (0..=coarse.level + 1).rev().map(|level| node.ancestor(level));
                let Some(stand_in) = held.into_iter().find(|n| self.tiles.contains_key(n)) else { continue };
                cut.retain(|n| n.level < stand_in.level || n.ancestor(stand_in.level) != stand_in);
                cut.insert(stand_in);
                // Its other neighbours may now be too fine.
                open.extend(cut.iter().rev().copied());
                break;
            }
        }
    }

    /// How far each tile has changed over to the next coarser one.
    fn change_over(&mut self, shot: &Shot, aspect: f64, plan: &Plan, cut: &BTreeSet<Node>, budget: Budget) {
        let metric = self.metric(shot, aspect, plan.quality);
        let root = self.source.overview.root;
        let aims: Vec<(Node, f32)> = cut
            .iter()
            .map(|&node| {
                let aim = match node.parent() {
                    Some(parent) if budget != Budget::Whole => {
                        let needed = metric.needed(&root, parent);
                        (1.0 - (needed - 1.0) / MORPH).clamp(0.0, 1.0) as f32
                    }
                    _ => 0.0,
                };
                (node, aim)
            })
            .collect();
        // What is split looks as it is when it is whole again; what is drawn as a part of a coarser one starts from that.
        let split: BTreeSet<Node> =
            cut.iter().flat_map(|node| (0..node.level).map(|level| node.ancestor(level))).collect();
        for (node, tile) in self.tiles.iter_mut().filter(|(node, _)| !cut.contains(node)) {
            if split.contains(node) {
                tile.morph = 0.0;
            } else if (0..node.level).any(|level| cut.contains(&node.ancestor(level))) {
                tile.morph = 1.0;
            }
        }
        for (node, aim) in aims {
            let Some(tile) = self.tiles.get_mut(&node) else { continue };
            let by = if budget.waits() { 1.0 } else { MORPH_A_FRAME };
            tile.morph =
                if tile.coarse.is_empty() { 0.0 } else { tile.morph + (aim - tile.morph).clamp(-by, by) };
        }
    }

    /// The tiles of a frame, nearest first, their outlines on the device.
    fn drawn(&self, cut: &BTreeSet<Node>, plan: &Plan, eye: [f64; 3]) -> Vec<Drawn> {
        let root = &self.source.overview.root;
        let find = |node: Node| {
            let tile = self.tiles.get(&node).filter(|_| cut.contains(&node))?;
            Some(Shown { own: &tile.vertices, coarse: &tile.coarse, morph: tile.morph })
        };
        let mut rims = vec![[0f32; 4]; RIM * self.slots.capacity() as usize];
        let mut drawn = Vec::with_capacity(cut.len());
        for &node in cut {
            let Some(tile) = self.tiles.get(&node) else { continue };
            let at = RIM * tile.slot as usize;
            rims[at..at + RIM].copy_from_slice(&rim(node, &find));
            let rect = root.rect(node);
            let away = [0, 1].map(|i| (rect.min[i] - eye[i]).max(eye[i] - rect.max[i]).max(0.0));
            // Where the neighbour is not drawn, it is as the plan has it: nobody sees it, but the pattern stays the same.
            let coarser = plan.all.get(&node).copied().unwrap_or(0) | coarser_sides(cut, node);
            drawn.push((
                away[0] * away[0] + away[1] * away[1],
                Drawn {
                    rect,
                    quad: root.side_m(node.level) / QUADS as f64,
                    slot: tile.slot,
                    coarser,
                    palette: tile.palette,
                    has_water: tile.has_water,
                    morph: tile.morph,
                },
            ));
        }
        self.slots.write_rims(&self.gpu, &rims);
        drawn.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.slot.cmp(&b.1.slot)));
        drawn.into_iter().map(|(_, tile)| tile).collect()
    }

    /// Brings shade up to date.
    fn shade(&mut self, camera: &Camera, azimuth_deg: f64, cancel: &Cancel) -> Result<(), RenderError> {
        let Source { land, overview, .. } = &*self.source;
        let places = shade::places(&**land, overview, camera.eye, camera.axes()[2]);
        let holds = |known: &Shade| known.places == places && (known.azimuth_deg - azimuth_deg).abs() < 0.05;
        if self.shade.as_ref().is_some_and(holds) {
            return Ok(());
        }
        let squares = shade::squares(&**land, overview, &places, azimuth_deg, cancel)?;
        let view = shades(&self.gpu, &squares);
        self.shade = Some(Shade { places, azimuth_deg, view });
        Ok(())
    }
}

/// The squares near an eye as the lamp sees them; none where nothing lights the land from above.
fn near_squares(overview: &Overview, camera: &Camera, light: &Light) -> Option<[Cascade; CASCADES]> {
    // A plan is lit from far shade alone: its eye is nowhere near the land.
    let parallel = camera.wide_m.is_some();
    if parallel || light.sun[2] <= 0.01 || light.direct.iter().all(|c| *c <= 0.0) {
        return None;
    }
    let [x, y, z] = camera.eye;
    let above = (z - overview.height_at(x, y).max(0.0)).max(1.0);
    Some(cascades(camera.eye, above, camera.axes()[2], light.sun))
}

/// The share of the work for a picture, about, after which its land is there, and its plants.
const LAND_SHARE: f32 = 0.4;
const PLANTS_SHARE: f32 = 0.7;
/// How far beyond what is needed a tile is at its finest.
const MORPH: f64 = 0.4;
/// How far a tile changes over in a frame, at most.
const MORPH_A_FRAME: f32 = 0.08;

impl Source {
    fn of(land: Arc<dyn Land>, cancel: &Cancel) -> Result<Self, RenderError> {
        let overview = Overview::of(&*land, cancel)?;
        let rivers = Rivers::of(land.rivers(cancel)?.as_ref());
        Ok(Self { bounds: overview.bounds(), land, overview, rivers })
    }
}

/// Those who make tiles.
fn crew(source: &Arc<Source>) -> Crew<Node, Tile> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let source = source.clone();
    let work = move |node, cancel: &Cancel| {
        Tile::fill(node, &*source.land, &source.overview, &source.rivers, cancel)
    };
    Crew::new(threads, Box::new(work))
}

fn shades(gpu: &Gpu, squares: &[Square]) -> wgpu::TextureView {
    let layers: Vec<Vec<&[u8]>> =
        squares.iter().map(|square| vec![bytemuck::cast_slice(&square.texels)]).collect();
    let side = SIDE as u32;
    let shape = Shape {
        size: [side, side, layers.len() as u32],
        format: wgpu::TextureFormat::Rgba16Float,
        view: wgpu::TextureViewDimension::D2Array,
    };
    gpu.texture("shade", &shape, &layers)
}

#[cfg(test)]
mod tests {
    use orogen_core::{Frame as Samples, Seed, Terrain, layer, math};

    use super::*;

    /// A device, which every machine that runs the tests has: `cargo xtask test` installs Mesa's.
    fn gpu() -> Gpu {
        Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one")
    }

    fn hills() -> Terrain {
        let frame = Samples::square(8000.0, 129).unwrap();
        let mut land = Terrain::new(frame);
        let height = Raster::from_fn(129, 129, |c, r| {
            let (x, y) = (c as f64 / 9.0, r as f64 / 7.0);
            (400.0 + 300.0 * math::sin(x) * math::cos(1.3 * y) + 60.0 * math::sin(2.7 * x + y)) as f32
        });
        land.set(layer::HEIGHT, height);
        land
    }

    fn stage(gpu: &Gpu) -> Stage {
        stage_of(gpu, hills())
    }

    fn stage_of(gpu: &Gpu, land: Terrain) -> Stage {
        Stage::new(gpu, Arc::new(land), Arc::new(Materials::of_layers(&[])), &Cancel::new()).unwrap()
    }

    /// Hills that lean over.
    fn overhanging() -> Terrain {
        let mut land = hills();
        let wave = |turn: f64| {
            Raster::from_fn(129, 129, |c, r| {
                (90.0 * math::sin(c as f64 / 3.0 + r as f64 / 4.0 + turn)) as f32
            })
        };
        land.set(layer::DISPLACE_X, wave(0.0));
        land.set(layer::DISPLACE_Y, wave(2.0));
        land.set(layer::DISPLACE_Z, wave(4.0));
        land
    }

    fn shot(eye: [f64; 3], target: [f64; 3]) -> Shot {
        Shot {
            size: [256, 144],
            samples: 1,
            camera: Camera { eye, target, view_deg: 50.0, wide_m: None },
            moment: Moment { year: 2026, month: 7, day: 10, hour: 15.0 },
            quality: 2.0,
            haze: 1.0,
            clouds: 0.4,
            fog: None,
            plain: false,
            exposure_ev: 0.0,
            plants: false,
            soft_sun: false,
            clear_sky: false,
        }
    }

    impl Stage {
        /// Depths of the ground alone, row by row.
        fn depths(&mut self, shot: &Shot, budget: Budget) -> Vec<f32> {
            self.clock += 1;
            let aspect = f64::from(shot.size[0]) / f64::from(shot.size[1]);
            let plan = self.plan(shot, aspect, budget);
            self.fetch(&plan, budget, &Cancel::new(), &|_| {}).unwrap();
            let cut = self.cut(&plan);
            for node in &cut {
                for (_, dx, dy) in SIDES {
                    let over = node.beside(dx, dy);
                    let over = over.and_then(|n| leaf_over(|n| cut.contains(&n).then_some(()), n));
                    assert!(over.is_none_or(|(over, ())| over.level + 1 >= node.level), "{node:?} {over:?}");
                }
            }
            self.change_over(shot, aspect, &plan, &cut, budget);
            let drawn = self.drawn(&cut, &plan, shot.camera.eye);
            let asked = Asked {
                camera: shot.camera,
                aspect,
                sun: self.sun(&shot.moment),
                north_deg: 0.0,
                haze: 1.0,
                exposure_ev: 0.0,
                ground: [0.2; 3],
            };
            // Depth does not depend on them.
            let light = match self.light.last() {
                Some(light) => light,
                None => self.light.light(&self.gpu, &asked),
            };
            if self.shade.is_none() {
                self.shade(&shot.camera, 0.0, &Cancel::new()).unwrap();
            }
            let shade = self.shade.as_ref().unwrap();
            let targets =
                self.targets.get_or_insert_with(|| Targets::new(&self.gpu, &self.passes, shot.size));
            let painted = Painted::of(
                &self.overlay,
                &*self.source.land,
                &self.source.overview,
                &shot.camera,
                &Cancel::new(),
            )
            .unwrap();
            let maps = painted.upload(&self.gpu);
            let draw = Draw {
                painted: &painted,
                maps: &maps,
                gpu: &self.gpu,
                passes: &self.passes,
                overview: &self.source.overview,
                materials: &self.materials,
                noises: &self.noises,
                waves: &self.waves,
                shot,
                aspect,
                light: &light,
                near: None,
                sun: asked.sun,
                shades: &shade.view,
                fogs: &self.fogs,
                squares: &shade.places,
                slots: &self.slots,
                tiles: &drawn,
                plants: &self.plants,
            };
            draw.ground_alone(targets);
            let bytes = self.gpu.read(&targets.depths[0]).unwrap();
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        }
    }

    /// A camera over the hills that looks down into the land, so that every look ends on it.
    fn downward(seed: Seed, i: u64) -> Shot {
        let random = |j: u64| seed.unit(i * 8 + j);
        let eye = [2500.0 + 3000.0 * random(0), 2500.0 + 3000.0 * random(1), 800.0 + 900.0 * random(2)];
        let turn = std::f64::consts::TAU * random(3);
        let target = [eye[0] + 900.0 * math::sin(turn), eye[1] + 900.0 * math::cos(turn), eye[2] - 1500.0];
        Shot { quality: 1.0 + 4.0 * random(4), ..shot(eye, target) }
    }

    #[test]
    fn no_pixel_of_the_ground_is_left_out_between_tiles() {
        let gpu = gpu();
        let (mut plain, mut leaning) = (stage(&gpu), stage_of(&gpu, overhanging()));
        let seed = Seed::from_text("cracks");
        for i in 0..500 {
            let stage = if i % 4 < 2 { &mut plain } else { &mut leaning };
            let shot = downward(seed, i);
            // Every other camera finds tiles on the way from one level to another, and some that are not there yet.
            let budget = if i % 2 == 0 { Budget::Whole } else { Budget::Tiles(3) };
            let open = stage.depths(&shot, budget).iter().filter(|depth| **depth <= 0.0).count();
            assert_eq!(open, 0, "camera {i}: {shot:?}, {budget:?}");
        }
    }

    #[test]
    fn a_frame_takes_in_no_more_than_its_budget_and_the_land_is_whole_soon() {
        let gpu = gpu();
        let mut stage = stage(&gpu);
        let shot = Shot { size: [96, 54], ..downward(Seed::from_text("budget"), 0) };
        let mut frames = 0;
        loop {
            let frame = stage.frame(&shot, Budget::Tiles(2), &Cancel::new()).unwrap();
            assert!(frame.new <= 2 && frame.tiles > 0, "{frame:?}");
            frames += 1;
            // Coarser tiles that stand by are on their way a little longer.
            if frame.complete && stage.crew.open() == 0 {
                break;
            }
            assert!(frames < 2000, "{frame:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
        // What is there is not made again, for this camera and for one beside it.
        let again = stage.frame(&shot, Budget::Tiles(2), &Cancel::new()).unwrap();
        assert_eq!((again.new, again.complete), (0, true));
        let [x, y, z] = shot.camera.eye;
        let beside = Shot { camera: Camera { eye: [x + 20.0, y, z], ..shot.camera }, ..shot };
        let beside = stage.frame(&beside, Budget::Whole, &Cancel::new()).unwrap();
        assert!(beside.new * 3 < beside.tiles, "{beside:?}");
    }

    #[test]
    fn a_still_is_the_same_whatever_was_drawn_before() {
        let gpu = gpu();
        let seed = Seed::from_text("stills");
        let small = |i| Shot { size: [96, 54], ..downward(seed, i) };
        let mut once = stage(&gpu);
        once.frame(&small(1), Budget::Whole, &Cancel::new()).unwrap();
        let picture = once.read().unwrap();
        let mut often = stage(&gpu);
        for i in [0, 2, 3] {
            often.frame(&small(i), Budget::Tiles(4), &Cancel::new()).unwrap();
        }
        often.frame(&small(1), Budget::Whole, &Cancel::new()).unwrap();
        assert_eq!(often.read().unwrap(), picture);
    }

    #[test]
    fn land_that_changed_is_drawn_anew_where_it_did() {
        let gpu = gpu();
        let mut stage = stage(&gpu);
        let shot = Shot { size: [96, 54], ..downward(Seed::from_text("changes"), 0) };
        stage.frame(&shot, Budget::Whole, &Cancel::new()).unwrap();
        let before = stage.read().unwrap();
        let mut land = hills();
        let raised = land.get(layer::HEIGHT).unwrap().map(|h| h + 100.0);
        land.set(layer::HEIGHT, raised);
        stage.changed(Arc::new(land), None, &Cancel::new()).unwrap();
        let frame = stage.frame(&shot, Budget::Whole, &Cancel::new()).unwrap();
        assert_eq!(frame.new, frame.tiles);
        assert_ne!(stage.read().unwrap(), before);
        let far = Rect { min: [-100.0; 2], max: [-50.0; 2] };
        stage.changed(Arc::new(hills()), Some(far), &Cancel::new()).unwrap();
        assert_eq!(stage.frame(&shot, Budget::Whole, &Cancel::new()).unwrap().new, 0);
    }
}
