//! Draws the frames of an impostor.

use orogen_texture::color::{from_srgb, luminance, to_srgb};

use super::FrameView;
use super::relief::{Gathered, Relief};
use crate::frame::{Vec3, dot, sub};
use crate::mesh::{BARK_M, Mesh, PlantMesh};
use crate::picture::{doubled_area, scan};
use crate::surface::{LeafMaps, Surface, levels};

/// Points that are looked at for each sample, along each side.
pub const FINER: usize = 4;
/// Leaves are seen from this coverage.
const CUT: u8 = 128;
/// Light that reaches the darkest leaf, as a share of that of the brightest; plants' glb files have the same in their colours.
const DARKEST: f32 = 0.4;

/// What a picture says at a place.
#[derive(Clone, Copy, Default)]
struct Look {
    color: [f32; 3],
    through: f32,
    clear: bool,
}

struct Texture {
    size: usize,
    looks: Vec<Look>,
}

impl Texture {
    fn at(&self, uv: [f32; 2]) -> &Look {
        let [col, row] = uv.map(|x| ((x - x.floor()) * self.size as f32) as usize % self.size);
        &self.looks[row * self.size + col]
    }
}

/// The pictures on a plant, at the size that suits the distance.
pub struct Paint {
    bark: Texture,
    leaves: Option<Texture>,
}

impl Paint {
    /// Pictures whose samples are about `sample_m` metres wide on the plant, or as fine as there are.
    pub fn new(mesh: &PlantMesh, surface: &Surface, sample_m: f64) -> Self {
        let leaves = surface.leaves.as_ref().map(|maps| {
            let all = levels(maps);
            // Cells of two samples show leaves no longer.
            let most = all.len().saturating_sub(4);
            let wanted = metres_per_uv(&mesh.leaves) / sample_m;
            let level =
                all.iter().position(|maps| maps.size as f64 <= 1.5 * wanted).unwrap_or(most).min(most);
            leaf_texture(&all[level])
        });
        Self { bark: bark_texture(surface, BARK_M / sample_m), leaves }
    }
}

/// Metres that the width of the texture takes on a mesh.
fn metres_per_uv(mesh: &Mesh) -> f64 {
    let (mut m2, mut uv2) = (0.0, 0.0);
    for corners in mesh.indices.chunks_exact(3) {
        let ids = [corners[0], corners[1], corners[2]].map(|id| id as usize);
        let [a, b, c] = ids.map(|id| mesh.positions[id].map(f64::from));
        let across = crate::frame::cross(sub(b, a), sub(c, a));
        m2 += dot(across, across).sqrt();
        let [a, b, c] = ids.map(|id| [f64::from(mesh.uvs[id][0]), f64::from(mesh.uvs[id][1]), 0.0]);
        uv2 += doubled_area(a, b, c).abs();
    }
    if uv2 > 0.0 { (m2 / uv2).sqrt() } else { 1.0 }
}

fn leaf_texture(maps: &LeafMaps) -> Texture {
    let looks = maps.albedo.iter().zip(&maps.translucency).map(|(&[r, g, b, alpha], &through)| Look {
        color: from_srgb([r, g, b]),
        through: f32::from(through) / 255.0,
        clear: alpha < CUT,
    });
    Texture { size: maps.size, looks: looks.collect() }
}

/// Bark of about `wanted` samples along a side, means of the finer ones.
fn bark_texture(surface: &Surface, wanted: f64) -> Texture {
    let bark = &surface.bark;
    let mut size = bark.size.max(1);
    while size > 1 && size.is_multiple_of(2) && size as f64 > 1.5 * wanted {
        size /= 2;
    }
    let step = (bark.size / size).max(1);
    let share = 1.0 / (step * step) as f32;
    let looks = (0..size * size).map(|i| {
        let mut color = [0.0; 3];
        for k in 0..step * step {
            let from = (i / size * step + k / step) * bark.size + i % size * step + k % step;
            let sample = from_srgb(bark.albedo.get(from).copied().unwrap_or_default());
            let gain = surface.bark_gain;
            color = [0, 1, 2].map(|channel| color[channel] + share * gain[channel] * sample[channel]);
        }
        Look { color, through: 0.0, clear: false }
    });
    Texture { size, looks: looks.collect() }
}

/// From where a picture is taken.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    pub middle: Vec3,
    pub frame: FrameView,
    pub half_m: [f64; 2],
    pub size: [usize; 2],
}

impl Camera {
    /// Column, row and depth of a place.
    fn place(&self, at: [f32; 3]) -> Vec3 {
        let from = sub(at.map(f64::from), self.middle);
        let [wide, tall] = self.size.map(|v| 0.5 * v as f64);
        [
            wide + dot(from, self.frame.right) / self.half_m[0] * wide,
            tall - dot(from, self.frame.up) / self.half_m[1] * tall,
            -dot(from, self.frame.back),
        ]
    }
}

/// A piece of a plant's surface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surfel {
    /// Colour, darkened where little of the sky is seen.
    pub color: [f32; 3],
    /// Mean normal: of length 1 for a flat piece, shorter for one of many ways.
    pub normal: [f32; 3],
    /// Share of light that shines through.
    pub through: f32,
}

/// What is seen at each point of a picture.
pub struct Drawn<'a> {
    mesh: &'a PlantMesh,
    paint: &'a Paint,
    camera: Camera,
    depth: Vec<f32>,
    /// The triangle, by the number of its first index; leaves have the highest bit, and the next where their back is seen.
    triangle: Vec<u32>,
    shares: Vec<[f32; 2]>,
}

const LEAF: u32 = 1 << 31;
const BACK: u32 = 1 << 30;
const NOTHING: u32 = u32::MAX;

/// Draws a mesh.
pub fn draw<'a>(mesh: &'a PlantMesh, paint: &'a Paint, camera: &Camera) -> Drawn<'a> {
    let points = camera.size[0] * camera.size[1];
    let mut drawn = Drawn {
        mesh,
        paint,
        camera: *camera,
        depth: vec![f32::INFINITY; points],
        triangle: vec![NOTHING; points],
        shares: vec![[0.0; 2]; points],
    };
    drawn.part(&mesh.bark, None);
    if let Some(leaves) = &paint.leaves {
        drawn.part(&mesh.leaves, Some(leaves));
    }
    drawn
}

impl Drawn<'_> {
    fn part(&mut self, mesh: &Mesh, cut: Option<&Texture>) {
        let places: Vec<Vec3> = mesh.positions.iter().map(|at| self.camera.place(*at)).collect();
        let corners = |first: u32| [0, 1, 2].map(|k| mesh.indices[first as usize + k] as usize);
        // What is in front first: most of what is behind it then ends at its depth.
        let nearest =
            |first: u32| corners(first).map(|id| places[id][2]).into_iter().fold(f64::MAX, f64::min);
        let mut order: Vec<(f64, u32)> =
            (0..mesh.triangles() as u32).map(|triangle| (nearest(3 * triangle), 3 * triangle)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, first) in order {
            let ids = corners(first);
            let [a, b, c] = ids.map(|id| places[id]);
            let area = doubled_area(a, b, c);
            if area == 0.0 || (cut.is_none() && area > 0.0) {
                continue;
            }
            let side = match cut {
                Some(_) if area > 0.0 => LEAF | BACK,
                Some(_) => LEAF,
                None => 0,
            };
            scan([a, b, c], self.camera.size, |point, depth, [p, q, r]| {
                if depth >= self.depth[point] {
                    return;
                }
                let shares = [p as f32, q as f32, r as f32];
                if let Some(texture) = cut
                    && texture.at(uv(mesh, ids, shares)).clear
                {
                    return;
                }
                self.depth[point] = depth;
                self.triangle[point] = first | side;
                self.shares[point] = [shares[0], shares[1]];
            });
        }
    }

    /// What is seen at a point, and how far away.
    pub fn at(&self, point: usize) -> Option<(Surfel, f32)> {
        let triangle = self.triangle[point];
        if triangle == NOTHING {
            return None;
        }
        let is_leaf = triangle & LEAF != 0;
        let first = (triangle & !(LEAF | BACK)) as usize;
        let (mesh, texture) = match &self.paint.leaves {
            Some(leaves) if is_leaf => (&self.mesh.leaves, leaves),
            _ => (&self.mesh.bark, &self.paint.bark),
        };
        let ids = [0, 1, 2].map(|k| mesh.indices[first + k] as usize);
        let [p, q] = self.shares[point];
        let shares = [p, q, 1.0 - p - q];
        let look = texture.at(uv(mesh, ids, shares));
        let mix = |v: [f32; 3]| (0..3).map(|k| shares[k] * v[k]).sum::<f32>();
        let normal = [0, 1, 2].map(|axis| mix(ids.map(|id| mesh.normals[id][axis])));
        let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-9);
        // Which side of a leaf is seen its triangle says: normals lean to where the crown looks, also beyond the edge.
        let scale = if triangle & BACK != 0 { -1.0 } else { 1.0 } / length;
        let light =
            if mesh.sway.is_empty() { 1.0 } else { mix(ids.map(|id| f32::from(mesh.sway[id][3]))) / 255.0 };
        let light = DARKEST + (1.0 - DARKEST) * light;
        let tint = |k: usize| {
            if mesh.tints.is_empty() { 1.0 } else { mix(ids.map(|id| f32::from(mesh.tints[id][k]))) / 255.0 }
        };
        let surfel = Surfel {
            color: [0, 1, 2].map(|k| look.color[k] * light * tint(k)),
            normal: normal.map(|v| v * scale),
            through: look.through,
        };
        Some((surfel, self.depth[point]))
    }
}

fn uv(mesh: &Mesh, ids: [usize; 3], shares: [f32; 3]) -> [f32; 2] {
    [0, 1].map(|axis| (0..3).map(|k| shares[k] * mesh.uvs[ids[k]][axis]).sum::<f32>())
}

/// A sample of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texel {
    pub surfel: Surfel,
    /// Share that is covered.
    pub cover: f32,
    /// Away from the viewer, from the middle.
    pub depth: f32,
}

impl Texel {
    /// Colour and coverage; normal and what shines through.
    pub fn bytes(&self) -> [[u8; 4]; 2] {
        let byte = |v: f32| (255.0 * v + 0.5).clamp(0.0, 255.0) as u8;
        let [r, g, b] = to_srgb(self.surfel.color);
        let [x, y, z] = self.surfel.normal.map(|v| byte(0.5 + 0.5 * v));
        [[r, g, b, byte(self.cover)], [x, y, z, byte(self.surfel.through)]]
    }
}

/// Sums over what is covered.
#[derive(Clone, Copy, Default)]
struct Sum {
    cover: f32,
    color: [f32; 3],
    depth: f32,
    /// By brightness: bright pieces say where a sample's light comes from.
    weight: f32,
    normal: [f32; 3],
    through: f32,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.cover += other.cover;
        self.depth += other.depth;
        self.weight += other.weight;
        self.through += other.through;
        for k in 0..3 {
            self.color[k] += other.color[k];
            self.normal[k] += other.normal[k];
        }
    }

    fn of(surfel: &Surfel, depth: f32, share: f32) -> Self {
        let weight = share * luminance(surfel.color).max(1e-4);
        Self {
            cover: share,
            color: surfel.color.map(|c| c * share),
            depth: depth * share,
            weight,
            normal: surfel.normal.map(|v| v * weight),
            through: surfel.through * weight,
        }
    }

    fn mean(&self, cover: f32) -> Texel {
        let (by_cover, by_weight) = (1.0 / self.cover.max(1e-9), 1.0 / self.weight.max(1e-9));
        Texel {
            surfel: Surfel {
                color: self.color.map(|c| c * by_cover),
                normal: self.normal.map(|v| v * by_weight),
                through: self.through * by_weight,
            },
            cover,
            depth: self.depth * by_cover,
        }
    }
}

/// The samples of a frame, each from its points, and how normals vary within them.
pub fn texels(drawn: &Drawn<'_>, samples: usize) -> (Vec<Texel>, Relief) {
    let wide = drawn.camera.size[0];
    let share = 1.0 / (FINER * FINER) as f32;
    let mut relief = Gathered::new();
    let texels = (0..samples * samples)
        .map(|i| {
            let first = i / samples * FINER * wide + i % samples * FINER;
            let mut sum = Sum::default();
            for k in 0..FINER * FINER {
                if let Some((surfel, depth)) = drawn.at(first + k / FINER * wide + k % FINER) {
                    let part = Sum::of(&surfel, depth, share);
                    relief.point(&surfel, part.weight, share);
                    sum.add(&part);
                }
            }
            if sum.cover == 0.0 {
                return Texel::default();
            }
            let mean = sum.mean(sum.cover);
            relief.mean(&mean.surfel, sum.weight, sum.cover);
            mean
        })
        .collect();
    (texels, relief.finish())
}

/// Gives clear samples the mean of what is beside them, so that no edge has a dark fringe: of blocks that double in size, the
/// smallest with anything in it.
pub fn spread(texels: Vec<Texel>, samples: usize) -> Vec<Texel> {
    let mut blocks: Vec<Vec<Sum>> =
        vec![texels.iter().map(|texel| Sum::of(&texel.surfel, texel.depth, texel.cover)).collect()];
    let mut size = samples;
    while size > 1 {
        let finer = &blocks[blocks.len() - 1];
        let half = size / 2;
        let coarser = (0..half * half).map(|i| {
            let first = 2 * (i / half) * size + 2 * (i % half);
            let mut sum = Sum::default();
            for from in [first, first + 1, first + size, first + size + 1] {
                sum.add(&finer[from]);
            }
            sum
        });
        blocks.push(coarser.collect());
        size = half;
    }
    // Beside an edge the neighbours themselves say what is there.
    let around = |i: usize| {
        let (col, row) = (i % samples, i / samples);
        let mut sum = Sum::default();
        for y in row.saturating_sub(1)..(row + 2).min(samples) {
            for x in col.saturating_sub(1)..(col + 2).min(samples) {
                sum.add(&blocks[0][y * samples + x]);
            }
        }
        sum
    };
    let mut made = texels;
    for i in 0..samples * samples {
        if made[i].cover > 0.0 {
            continue;
        }
        let beside = around(i);
        if beside.cover > 0.0 {
            made[i] = beside.mean(0.0);
            continue;
        }
        let (mut col, mut row, mut size) = (i % samples, i / samples, samples);
        for block in &blocks {
            let sum = &block[row * size + col];
            if sum.cover > 0.0 {
                made[i] = sum.mean(0.0);
                break;
            }
            (col, row, size) = (col / 2, row / 2, size / 2);
        }
    }
    made
}
