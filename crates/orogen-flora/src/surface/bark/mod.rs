//! Bark: a metre of it in both directions, which repeats.

mod cracked;
mod fibrous;
mod scaly;
mod smooth;
mod succulent;

use orogen_core::Seed;
use orogen_texture::color::{Color, from_srgb, to_srgb};
use orogen_texture::filter::{broad, levelled};
use orogen_texture::normal::normals;
use orogen_texture::occlusion::occlusion;
use orogen_texture::{Canvas, Field, Texture};
use serde::{Deserialize, Serialize};

/// Metres that a picture of bark shows along each side.
pub const SIZE_M: f32 = 1.0;

macro_rules! kinds {
    ($($(#[$about:meta])* $variant:ident $name:literal;)*) => {
        /// How the bark of a species is built.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum BarkKind {
            $($(#[$about])* $variant,)*
        }

        impl BarkKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name, as in files of species.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    #[doc = "Long ridges with deep cracks between them, broken across here and there: oak."]
    #[default]
    Furrowed "furrowed";
    #[doc = "Small squarish blocks: black oak, holm oak, tupelo, old pear."]
    Blocky "blocky";
    #[doc = "Broad ridges that part and join again: willow, poplar, old olive."]
    Ridged "ridged";
    #[doc = "Large plates of many thin layers: pines."]
    Plated "plated";
    #[doc = "Small thin scales, one over the other: spruce, larch, old maple."]
    Flaky "flaky";
    #[doc = "Closed, with fine wrinkles and old scars: beech, kapok."]
    Smooth "smooth";
    #[doc = "Closed and shiny, dotted with pores: hazel, cherry, young stems."]
    Dotted "dotted";
    #[doc = "White paper with dark lines across and black scars: birch."]
    Papery "papery";
    #[doc = "Thin sheets that peel from a smooth skin: strawberry tree, plane."]
    Peeling "peeling";
    #[doc = "Long strips of fibre: cypress, juniper, old heather."]
    Stringy "stringy";
    #[doc = "Rings of leaf scars and fibre: palms."]
    Ringed "ringed";
    #[doc = "A mat of dead leaves that hang down: Joshua tree."]
    Thatched "thatched";
    #[doc = "Green ribs with spines along their edges: columnar cacti."]
    Succulent "succulent";
    #[doc = "A green stalk with fine ribs: herbs, reeds, ferns."]
    Herbaceous "herbaceous";
    #[doc = "Wood without bark, grey from the weather and cracked along its grain."]
    Bare "bare";
    #[doc = "Granite, for boulders."]
    Granite "granite";
    #[doc = "Limestone, for boulders."]
    Limestone "limestone";
    #[doc = "Sandstone, for boulders."]
    Sandstone "sandstone";
    #[doc = "Basalt, for boulders."]
    Basalt "basalt";
}

/// The maps of a bark. Rows run up the trunk from its foot; opposite edges meet.
#[derive(Clone, Debug, PartialEq)]
pub struct BarkMaps {
    /// What it shows.
    pub kind: BarkKind,
    /// Samples along a side.
    pub size: usize,
    /// Metres along a side.
    pub size_m: f32,
    /// Metres between the lowest and the highest point: height 0 and height 1.
    pub height_range_m: f32,
    /// Colour without light: sRGB.
    pub albedo: Vec<[u8; 3]>,
    /// Height, 0 to 1.
    pub height: Field,
    /// Unit normals: x to the right, y towards the first row, z out of the bark, as glTF has them.
    pub normal: Vec<[f32; 3]>,
    /// 0 a mirror, 1 chalk.
    pub roughness: Field,
    /// Share of the sky's light that reaches it.
    pub occlusion: Field,
}

/// What differs over more than this share of the side is levelled: it would show as a pattern of tiles on a trunk.
const BROAD: f32 = 0.12;
/// How much of it stays.
const KEEP: f32 = 0.45;
/// How far occlusion looks.
const OCCLUSION_M: f32 = 0.03;

impl BarkKind {
    /// Makes its maps, `size` samples along a side (a power of two), whose mean colour is `color` in sRGB.
    #[must_use]
    pub fn make(self, size: usize, color: [u8; 3], seed: Seed) -> BarkMaps {
        let base = from_srgb(color);
        let canvas = match self {
            Self::Furrowed => cracked::furrowed(size, seed),
            Self::Blocky => cracked::blocky(size, seed),
            Self::Ridged => cracked::ridged(size, seed),
            Self::Plated => cracked::plated(size, seed),
            Self::Flaky => scaly::flaky(size, seed),
            Self::Smooth => smooth::smooth(size, seed),
            Self::Dotted => smooth::dotted(size, seed),
            Self::Papery => smooth::papery(size, seed),
            Self::Peeling => smooth::peeling(size, seed),
            Self::Stringy => fibrous::stringy(size, seed),
            Self::Ringed => fibrous::ringed(size, seed),
            Self::Thatched => fibrous::thatched(size, seed),
            Self::Bare => fibrous::bare(size, seed),
            Self::Succulent => succulent::ribbed(size, seed),
            Self::Herbaceous => succulent::stalk(size, seed),
            Self::Granite => return self.rock(Texture::Granite, size, base, seed),
            Self::Limestone => return self.rock(Texture::Limestone, size, base, seed),
            Self::Sandstone => return self.rock(Texture::Sandstone, size, base, seed),
            Self::Basalt => return self.rock(Texture::Basalt, size, base, seed),
        };
        self.finish(&canvas, base)
    }

    /// The ground texture of a rock, in the colour of a boulder.
    fn rock(self, texture: Texture, size: usize, base: Color, seed: Seed) -> BarkMaps {
        // The sizes of plants' pictures are sizes of ground textures too; were it not so, a plain surface would do.
        let Ok(maps) = texture.make(size, seed) else {
            return self
                .finish(&Canvas::from_fn(size, SIZE_M, |_, _| orogen_texture::Texel::default()), base);
        };
        let colors: Vec<Color> = maps.albedo.iter().map(|&bytes| from_srgb(bytes)).collect();
        BarkMaps {
            kind: self,
            size,
            size_m: maps.size_m,
            height_range_m: maps.height_range_m,
            albedo: matched(&colors, base),
            height: maps.height,
            normal: maps.normal,
            roughness: maps.roughness,
            occlusion: maps.occlusion,
        }
    }

    /// Share of the broad differences of colour that stays; white and black patches of a birch are what it is known by.
    fn keep(self) -> f32 {
        match self {
            Self::Papery | Self::Peeling | Self::Succulent | Self::Ringed => 1.0,
            _ => KEEP,
        }
    }

    fn finish(self, canvas: &Canvas, base: Color) -> BarkMaps {
        let (size, size_m) = (canvas.size(), canvas.size_m());
        let heights = levelled(&canvas.heights(), BROAD, self.keep());
        let (mean, deviation) = (heights.mean() as f32, heights.deviation() as f32);
        let (low, high) = heights.range();
        // Single spikes do not stretch the range.
        let low = low.max(mean - 5.0 * deviation);
        let high = high.min(mean + 5.0 * deviation).max(low + 1e-6);
        let heights = heights.map(|h| h.clamp(low, high));
        let occlusion = occlusion(&heights, size_m, OCCLUSION_M);
        let open = occlusion.mean() as f32;
        let raw: [Field; 3] = std::array::from_fn(|channel| {
            let field = Field::from_cells(size, |col, row| {
                // Dust and damp gather in the cracks.
                let hollow = 1.0 + 0.6 * (occlusion.row(row)[col] - open);
                (canvas.texels()[row * size + col].color[channel] * base[channel] * hollow).max(0.0)
            });
            let around = broad(&field, BROAD);
            let mean = field.mean() as f32;
            Field::from_cells(size, |col, row| {
                let broad = around.row(row)[col].max(0.2 * mean).max(1e-6);
                field.row(row)[col] * (self.keep() + (1.0 - self.keep()) * mean / broad)
            })
        });
        let colors: Vec<Color> =
            (0..size * size).map(|i| [0, 1, 2].map(|channel| raw[channel].as_slice()[i])).collect();
        BarkMaps {
            kind: self,
            size,
            size_m,
            height_range_m: high - low,
            albedo: matched(&colors, base),
            normal: normals(&heights, size_m),
            height: heights.map(|h| (h - low) / (high - low)),
            roughness: canvas.field(|texel| texel.roughness.clamp(0.04, 1.0)),
            occlusion,
        }
    }
}

/// Colours brought to a mean.
fn matched(colors: &[Color], mean: Color) -> Vec<[u8; 3]> {
    let gains: Color = std::array::from_fn(|channel| {
        let mut gain = 1.0f32;
        // Cutting at white takes some of the brightest away, which a few rounds give back.
        for _ in 0..5 {
            let sum: f64 = colors.iter().map(|c| f64::from((c[channel] * gain).min(1.0))).sum();
            gain *= mean[channel] / ((sum / colors.len().max(1) as f64) as f32).max(1e-6);
        }
        gain
    });
    colors.iter().map(|c| to_srgb([0, 1, 2].map(|channel| c[channel] * gains[channel]))).collect()
}
