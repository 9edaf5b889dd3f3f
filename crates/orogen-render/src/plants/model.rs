//! What the species look like: meshes by level and impostors, made when they are first seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use orogen_core::{Cancel, Seed, species as table};
use orogen_flora::{
    Form, Growth, IMPOSTOR_LEVEL, Impostor, LeafMaps, Mesh, PlantMesh, Season, Skeleton, Species, Surface,
    grow, impostor, levels, lod, species, surface,
};
use orogen_texture::color::{from_srgb, to_srgb};
use rayon::prelude::*;

use super::draw::{Drawing, Kind};
use crate::error::RenderError;
use crate::gpu::{Gpu, Shape, bind};
use crate::materials::halved;

/// Levels of a plant: four meshes, then the impostor.
pub const LEVELS: usize = 5;
/// The level that is an impostor.
pub const FAR: usize = LEVELS - 1;
/// Shapes of a species.
pub const VARIANTS: usize = 2;
/// Samples along the textures of leaves and bark.
const SURFACE: usize = 256;
/// Samples along a frame of an impostor, of plants that are trees and of others.
const SAMPLES: [usize; 2] = [128, 64];
/// Plants lower than this are small.
const SMALL_M: f64 = 3.0;
/// Levels of the textures of impostors: the last shows a plant on 8 samples.
const FAR_LEVELS: usize = 5;
/// Shapes and levels that a frame of a flight makes.
const A_FRAME: usize = 2;
/// Pictures for which a mesh that nobody sees is kept.
const KEPT: u64 = 30;

/// A shape of a species.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its place in the list of species.
    pub species: u16,
    /// Which of its shapes.
    pub variant: u8,
}

/// The name under which the catalogue has a species; of one that nobody knows, that of another of its kind.
fn known_name(name: &str, kind: u16) -> &str {
    if orogen_flora::names().any(|known| known == name) {
        return name;
    }
    // As `Kind` counts: tree, shrub, herb, litter.
    match kind {
        1 => "maquis",
        2 => "grass",
        3 => "stone",
        _ => "oak",
    }
}

/// Height and radius of a grown plant of a species, in metres.
pub fn size_of_species(name: &str, kind: u16) -> [f64; 2] {
    let known = known_name(name, kind);
    let height = match species(known) {
        Some(Ok(species)) => species.height_m,
        _ => 10.0,
    };
    let radius = table::named(known).map_or(0.35 * height, |info| info.radius_m);
    [height.max(0.05), radius.max(0.05)]
}

/// A corner of a mesh as the device takes it.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Corner {
    at: [f32; 3],
    /// The last says whether it is a leaf.
    normal: [i8; 4],
    uv: [f32; 2],
    /// Stiffness, phase, flutter, light.
    sway: [u8; 4],
}

/// Bytes from corner to corner.
pub const CORNER_BYTES: u64 = size_of::<Corner>() as u64;

/// A mesh on the device.
pub struct Buffers {
    pub corners: wgpu::Buffer,
    pub indices: wgpu::Buffer,
    pub count: u32,
    bytes: u64,
    seen: u64,
}

/// A plant that has grown.
struct Grown {
    species: Species,
    skeleton: Skeleton,
    surface: Arc<Surface>,
}

/// What a shape of a species is on the device.
pub struct Model {
    pub bind: wgpu::BindGroup,
    pub meshes: [Option<Buffers>; FAR],
    /// Whether the impostor is there.
    far: bool,
    bytes: u64,
}

/// All that were made.
#[derive(Default)]
pub struct Models {
    season: Season,
    grown: BTreeMap<Key, Grown>,
    surfaces: BTreeMap<u16, Arc<Surface>>,
    models: BTreeMap<Key, Model>,
    /// Those that were asked for; some species make no plant.
    tried: BTreeSet<Key>,
    clock: u64,
}

/// What is made on the processor, before it goes to the device.
enum Made {
    Mesh(Vec<Corner>, Vec<u32>),
    Far(Option<Box<Impostor>>),
}

impl Models {
    /// Turns to a season: what was made for another is dropped.
    pub fn turn(&mut self, season: Season) {
        if self.season != season {
            *self = Self { season, clock: self.clock, ..Self::default() };
        }
    }

    /// Drops all.
    pub fn forget_all(&mut self) {
        *self = Self { season: self.season, clock: self.clock, ..Self::default() };
    }

    pub fn get(&self, key: Key) -> Option<&Model> {
        self.models.get(&key)
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let of =
            |model: &Model| model.bytes + model.meshes.iter().flatten().map(|mesh| mesh.bytes).sum::<u64>();
        self.models.values().map(of).sum()
    }

    /// Makes what is wanted and not there yet.
    pub fn make(
        &mut self,
        gpu: &Gpu,
        drawing: &Drawing,
        names: &[super::cells::Kind],
        wanted: &BTreeSet<(Key, usize)>,
        whole: bool,
        cancel: &Cancel,
    ) -> Result<bool, RenderError> {
        self.clock += 1;
        // In a flight those that are missing come one after another.
        let most = if whole { usize::MAX } else { A_FRAME };
        self.grow(names, wanted, most, cancel)?;
        let mut missing: Vec<(Key, usize)> = wanted
            .iter()
            .copied()
            .filter(|(key, level)| {
                self.grown.contains_key(key)
                    && self.models.get(key).is_none_or(|model| match model.meshes.get(*level) {
                        Some(mesh) => mesh.is_none(),
                        None => !model.far,
                    })
            })
            .collect();
        let all = missing.len() <= most;
        missing.truncate(most);
        let made: Vec<Made> = missing
            .par_iter()
            .map(|(key, level)| {
                if cancel.is_cancelled() {
                    return Err(RenderError::Cancelled);
                }
                let grown = &self.grown[key];
                Ok(if *level == FAR { Made::Far(grown.impostor()) } else { grown.mesh(*level as u8) })
            })
            .collect::<Result<_, _>>()?;
        for ((key, level), made) in missing.into_iter().zip(made) {
            let grown = &self.grown[&key];
            match made {
                Made::Mesh(corners, indices) => {
                    let mesh = Buffers {
                        corners: gpu.buffer(
                            "plant",
                            bytemuck::cast_slice(&corners),
                            wgpu::BufferUsages::VERTEX,
                        ),
                        indices: gpu.buffer(
                            "plant",
                            bytemuck::cast_slice(&indices),
                            wgpu::BufferUsages::INDEX,
                        ),
                        count: indices.len() as u32,
                        bytes: (corners.len() * size_of::<Corner>() + indices.len() * 4) as u64,
                        seen: self.clock,
                    };
                    let model = self.models.entry(key).or_insert_with(|| grown.model(gpu, drawing, None));
                    model.meshes[level] = Some(mesh);
                }
                Made::Far(far) => {
                    let made = grown.model(gpu, drawing, far.as_deref());
                    let meshes = self.models.remove(&key).map(|model| model.meshes);
                    self.models.insert(key, Model { far: true, meshes: meshes.unwrap_or_default(), ..made });
                }
            }
        }
        self.forget(wanted);
        Ok(all && wanted.iter().all(|(key, _)| self.tried.contains(key)))
    }

    /// Grows the plants whose shapes are needed for the first time.
    fn grow(
        &mut self,
        names: &[super::cells::Kind],
        wanted: &BTreeSet<(Key, usize)>,
        most: usize,
        cancel: &Cancel,
    ) -> Result<(), RenderError> {
        let untried = wanted.iter().map(|(key, _)| *key).filter(|key| !self.tried.contains(key));
        let wanted: BTreeSet<Key> = untried.collect::<BTreeSet<Key>>().into_iter().take(most).collect();
        let bare: BTreeSet<u16> = wanted
            .iter()
            .map(|key| key.species)
            .filter(|number| !self.surfaces.contains_key(number))
            .collect();
        let bare: Vec<u16> = bare.into_iter().collect();
        let growth = Growth { season: self.season, ..Growth::MATURE };
        let of = |number: u16| -> Option<Species> {
            let kind = names.get(usize::from(number))?;
            species(known_name(&kind.name, kind.kind))?.ok()?.at(&growth).ok()
        };
        let surfaces: Vec<Option<Surface>> = bare
            .par_iter()
            .map(|&number| {
                (!cancel.is_cancelled())
                    .then(|| of(number).map(|made| surface(&made, self.season, SURFACE)))
                    .flatten()
            })
            .collect();
        for (number, made) in bare.into_iter().zip(surfaces) {
            if let Some(made) = made {
                self.surfaces.insert(number, Arc::new(made));
            }
        }
        let young: Vec<Key> = wanted.into_iter().filter(|key| !self.grown.contains_key(key)).collect();
        let grown: Vec<Option<Grown>> = young
            .par_iter()
            .map(|key| {
                if cancel.is_cancelled() {
                    return None;
                }
                let species = of(key.species)?;
                let skeleton = grow(&species, Seed::from_text(&format!("picture {}", key.variant))).ok()?;
                Some(Grown { species, skeleton, surface: Arc::clone(self.surfaces.get(&key.species)?) })
            })
            .collect();
        if cancel.is_cancelled() {
            return Err(RenderError::Cancelled);
        }
        for (key, made) in young.into_iter().zip(grown) {
            self.tried.insert(key);
            if let Some(made) = made {
                self.grown.insert(key, made);
            }
        }
        Ok(())
    }

    /// Drops meshes that nobody has seen for a while; the finest at once.
    fn forget(&mut self, wanted: &BTreeSet<(Key, usize)>) {
        for (key, model) in &mut self.models {
            for (level, slot) in model.meshes.iter_mut().enumerate() {
                let Some(mesh) = slot else { continue };
                if wanted.contains(&(*key, level)) {
                    mesh.seen = self.clock;
                }
                let kept = if level == 0 { 0 } else { KEPT };
                if mesh.seen + kept < self.clock {
                    *slot = None;
                }
            }
        }
    }
}

impl Grown {
    fn mesh(&self, level: u8) -> Made {
        let PlantMesh { bark, leaves } = lod(&self.species, &self.skeleton, level);
        let mut corners = Vec::with_capacity(bark.positions.len() + leaves.positions.len());
        let mut indices = Vec::with_capacity(bark.indices.len() + leaves.indices.len());
        for (part, leaf) in [(&bark, 0), (&leaves, 127)] {
            let first = corners.len() as u32;
            corners.extend((0..part.positions.len()).map(|i| corner(part, i, leaf)));
            indices.extend(part.indices.iter().map(|index| first + index));
        }
        Made::Mesh(corners, indices)
    }

    fn impostor(&self) -> Option<Box<Impostor>> {
        let samples = SAMPLES[usize::from(f64::from(self.skeleton.height_m()) < SMALL_M)];
        let level = IMPOSTOR_LEVEL + u8::from(samples < SAMPLES[0]);
        impostor(&lod(&self.species, &self.skeleton, level), &self.surface, Form::Octahedral, samples)
            .ok()
            .map(Box::new)
    }

    fn model(&self, gpu: &Gpu, drawing: &Drawing, far: Option<&Impostor>) -> Model {
        use wgpu::TextureFormat::{R8Unorm, Rgba8Unorm, Rgba8UnormSrgb};
        let mut bytes = 0;
        let mut texture = |label: &str, format, size: usize, levels: Vec<Vec<u8>>| {
            bytes += levels.iter().map(|level| level.len() as u64).sum::<u64>();
            let size = size as u32;
            let shape = Shape { size: [size, size, 1], format, view: wgpu::TextureViewDimension::D2 };
            gpu.texture(label, &shape, &[levels.iter().map(Vec::as_slice).collect()])
        };
        let leaf_levels: Vec<LeafMaps> = self.surface.leaves.as_ref().map(levels).unwrap_or_default();
        let leaf_size = leaf_levels.first().map_or(1, |maps| maps.size);
        let or_clear = |levels: Vec<Vec<u8>>, clear: &[u8]| {
            if levels.is_empty() { vec![clear.to_vec()] } else { levels }
        };
        let albedo = leaf_levels.iter().map(|maps| maps.albedo.as_flattened().to_vec()).collect();
        let more = leaf_levels.iter().map(|maps| {
            let byte = |x: f32| (127.5 + 127.5 * x).round().clamp(0.0, 255.0) as u8;
            let texels = maps.normal.iter().zip(&maps.translucency);
            texels.flat_map(|([x, y, _], through)| [byte(*x), byte(*y), *through, 255]).collect()
        });
        let leaves = texture("leaves", Rgba8UnormSrgb, leaf_size, or_clear(albedo, &[0; 4]));
        let leaves_more = texture("leaves", Rgba8Unorm, leaf_size, or_clear(more.collect(), &[0; 4]));
        let bark = texture("bark", Rgba8UnormSrgb, self.surface.bark.size, bark_levels(&self.surface));
        let far_size = far.map_or(1, |far| far.samples * Form::Octahedral.layout()[0]);
        let [color, normal, depth] = far.map_or_else(
            || [vec![vec![0; 4]], vec![vec![0; 4]], vec![vec![0; 1]]],
            |far| far_levels(far, far_size),
        );
        let far_color = texture("impostor", Rgba8UnormSrgb, far_size, color);
        let far_normal = texture("impostor", Rgba8Unorm, far_size, normal);
        let far_depth = texture("impostor", R8Unorm, far_size, depth);
        let kind = bytemuck::bytes_of(&self.kind(far)).to_vec();
        let kind = gpu.buffer("plant", &kind, wgpu::BufferUsages::UNIFORM);
        let view = wgpu::BindingResource::TextureView;
        let bind = bind(
            gpu,
            "plant",
            &drawing.plant,
            vec![
                kind.as_entire_binding(),
                view(&leaves),
                view(&leaves_more),
                view(&bark),
                view(&far_color),
                view(&far_normal),
                view(&far_depth),
            ],
        );
        Model { bind, meshes: Default::default(), far: far.is_some(), bytes }
    }

    fn kind(&self, far: Option<&Impostor>) -> Kind {
        let height = f64::from(self.skeleton.height_m()).max(0.01);
        let [middle, half, depth, samples] = far
            .map_or([0.0, 1.0, 1.0, 1.0], |far| [0.0, far.half_m[1], far.half_depth_m, far.samples as f64]);
        let at = far.map_or([0.0, 0.0, middle], |far| far.middle);
        let [wide, tall] = far.map_or([1.0; 2], |far| extent(far, [half; 2]));
        // Stones and trunks do not bend.
        let soft = if self.species.stone.is_some() || self.species.dead_wood.is_some() { 0.0 } else { 1.0 };
        let four = |v: [f64; 4]| v.map(|x| x as f32);
        Kind {
            middle: four([at[0], at[1], at[2], half]),
            reach: four([wide, tall, depth, samples]),
            body: four([height, soft, 0.0, 0.0]),
        }
    }
}

/// How far the pictures of an impostor reach aside and up from the middle, from what its frames from the side cover.
fn extent(far: &Impostor, half: [f64; 2]) -> [f64; 2] {
    let across = far.form.layout()[0] * far.samples;
    let (mut wide, mut tall) = (0usize, 0usize);
    for (i, texel) in far.color.iter().enumerate() {
        if texel[3] == 0 {
            continue;
        }
        let [col, row] = [i % across % far.samples, i / across % far.samples];
        let frame = &far.frames[i / across / far.samples * far.form.layout()[0] + i % across / far.samples];
        let away = |at: usize| (2 * at + 1).abs_diff(far.samples) + 1;
        wide = wide.max(away(col));
        if frame.back[2] < 0.3 {
            tall = tall.max(away(row));
        } else {
            wide = wide.max(if frame.back[2] > 0.95 { away(row) } else { 0 });
        }
    }
    let share = |found: usize| (found as f64 / far.samples as f64 + 0.03).min(1.0);
    [share(wide) * half[0], share(tall) * half[1]]
}

fn corner(mesh: &Mesh, i: usize, leaf: i8) -> Corner {
    let [x, y, z] = mesh.normals[i].map(|v| (v * 127.0).round().clamp(-127.0, 127.0) as i8);
    Corner {
        at: mesh.positions[i],
        normal: [x, y, z, leaf],
        uv: mesh.uvs[i],
        sway: mesh.sway.get(i).copied().unwrap_or([255, 0, 0, 255]),
    }
}

/// Bark, darker in its cracks, and its smaller pictures.
fn bark_levels(surface: &Surface) -> Vec<Vec<u8>> {
    let bark = &surface.bark;
    let mut size = bark.size;
    let mut level: Vec<[f32; 4]> = bark
        .albedo
        .iter()
        .enumerate()
        .map(|(i, &color)| {
            let open = bark.occlusion.row(i / bark.size)[i % bark.size];
            let [r, g, b] = from_srgb(color).map(|c| c * (0.4 + 0.6 * open));
            [r, g, b, 1.0]
        })
        .collect();
    let bytes = |level: &[[f32; 4]]| -> Vec<u8> {
        level
            .iter()
            .flat_map(|&[r, g, b, _]| {
                let [r, g, b] = to_srgb([r, g, b]);
                [r, g, b, 255]
            })
            .collect()
    };
    let mut out = vec![bytes(&level)];
    while size > 1 {
        level = halved(size, &level);
        size /= 2;
        out.push(bytes(&level));
    }
    out
}

/// The three textures of an impostor, level by level: means by what is covered.
fn far_levels(far: &Impostor, size: usize) -> [Vec<Vec<u8>>; 3] {
    struct Texel {
        color: [f32; 3],
        cover: f32,
        normal: [f32; 4],
        depth: f32,
    }
    let mut now: Vec<Texel> = (0..size * size)
        .into_par_iter()
        .map(|i| {
            let [r, g, b, cover] = far.color[i];
            Texel {
                color: from_srgb([r, g, b]),
                cover: f32::from(cover),
                normal: far.normal[i].map(f32::from),
                depth: far.depth[i].into(),
            }
        })
        .collect();
    let mut out = [
        vec![far.color.as_flattened().to_vec()],
        vec![far.normal.as_flattened().to_vec()],
        vec![far.depth.clone()],
    ];
    let mut side = size;
    for _ in 1..FAR_LEVELS {
        let half = side / 2;
        now = (0..half * half)
            .into_par_iter()
            .map(|i| {
                let at = 2 * (i / half) * side + 2 * (i % half);
                let four = [at, at + 1, at + side, at + side + 1].map(|at| &now[at]);
                let all: f32 = four.iter().map(|texel| texel.cover + 0.02).sum();
                let mut mean = Texel { color: [0.0; 3], cover: 0.0, normal: [0.0; 4], depth: 0.0 };
                for texel in four {
                    let share = (texel.cover + 0.02) / all;
                    (0..3).for_each(|k| mean.color[k] += share * texel.color[k]);
                    (0..4).for_each(|k| mean.normal[k] += share * texel.normal[k]);
                    mean.depth += share * texel.depth;
                    mean.cover += 0.25 * texel.cover;
                }
                mean
            })
            .collect();
        side = half;
        let byte = |x: f32| x.round().clamp(0.0, 255.0) as u8;
        out[0].push(
            now.iter()
                .flat_map(|t| {
                    let [r, g, b] = to_srgb(t.color);
                    [r, g, b, byte(t.cover)]
                })
                .collect(),
        );
        out[1].push(now.iter().flat_map(|t| t.normal.map(byte)).collect());
        out[2].push(now.iter().map(|t| byte(t.depth)).collect());
    }
    out
}
