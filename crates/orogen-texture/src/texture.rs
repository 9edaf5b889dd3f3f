//! The textures there are.

use std::ops::RangeInclusive;

use orogen_core::Seed;

use crate::color::Color;
use crate::error::TextureError;
use crate::maps::{self, Maps};
use crate::materials;

/// Samples along a side that a texture may have; powers of two only.
pub const SIZES: RangeInclusive<usize> = 64..=2048;

/// Smaller textures are made with so many samples and averaged: grains finer than a sample would come out as chance has it.
const FINEST: usize = 512;

macro_rules! textures {
    ($($variant:ident $name:ident: $about:literal, $mean:expr;)*) => {
        /// A kind of ground.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Texture {
            $(#[doc = $about] $variant,)*
        }

        impl Texture {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name, as recipes and files have it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($name),)* }
            }

            /// What it shows, in a sentence.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }

            /// The mean share of light that it reflects: red, green, blue, linear.
            #[must_use]
            pub fn mean_color(self) -> Color {
                match self { $(Self::$variant => $mean,)* }
            }

            /// How it is made.
            fn made(self, size: usize, seed: Seed) -> maps::Made {
                match self { $(Self::$variant => materials::$name(size, seed),)* }
            }
        }
    };
}

textures! {
    Granite granite: "Weathered granite: grains of feldspar, quartz and mica, joints, lichen.", [0.29, 0.27, 0.245];
    Limestone limestone: "Bare karst: pale rock with runnels, pits and open joints.", [0.44, 0.425, 0.385];
    Basalt basalt: "Heads of basalt columns, some higher than others, with gas bubbles.", [0.083, 0.080, 0.077];
    Sandstone sandstone: "Beds of sandstone in a cliff, hard ones standing out, cut by joints.", [0.37, 0.255, 0.165];
    Scree scree: "Angular rubble as it fell from a cliff, a hand's breadth and smaller.", [0.245, 0.235, 0.22];
    Gravel gravel: "Rounded pebbles of a river bed with sand between them.", [0.25, 0.23, 0.20];
    Soil soil: "Bare crumbly soil with clods, a few pebbles and straws.", [0.115, 0.080, 0.052];
    Mud mud: "Mud that dried into curled plates, still wet in its hollows.", [0.185, 0.145, 0.105];
    Sand sand: "Wind-rippled sand.", [0.42, 0.335, 0.225];
    Grass grass: "A green meadow: tufts of blades over old straw.", [0.112, 0.134, 0.043];
    DryGrass dry_grass: "Dry grass: straw-coloured, lying, with soil showing through.", [0.275, 0.215, 0.115];
    ForestFloor forest_floor: "Litter: fallen leaves, needles and twigs on dark humus.", [0.105, 0.072, 0.043];
    Moss moss: "Cushions of moss.", [0.078, 0.100, 0.026];
    Ash ash: "Ash and charred bits after a fire, or below a volcano.", [0.125, 0.120, 0.116];
    Lichen lichen: "Heath of the tundra: reindeer lichen among dwarf shrubs.", [0.195, 0.185, 0.110];
    Snow snow: "Wind-packed snow.", [0.85, 0.87, 0.895];
    Ice ice: "Bare glacier ice: blue bands, white bands, cracks and specks of dust.", [0.50, 0.60, 0.645];
}

impl Texture {
    /// The texture of a name.
    ///
    /// # Errors
    /// When there is none; the sentence says which name is most like it.
    pub fn named(name: &str) -> Result<Self, TextureError> {
        if let Some(texture) = Self::ALL.iter().find(|texture| texture.name() == name) {
            return Ok(*texture);
        }
        let likeness = |texture: &Self| strsim::jaro_winkler(texture.name(), name);
        let nearest = Self::ALL.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let nearest = nearest.filter(|texture| likeness(texture) > 0.7).map(|texture| texture.name());
        Err(TextureError::Unknown { name: name.to_owned(), nearest })
    }

    /// Whether a texture can have so many samples along a side.
    ///
    /// # Errors
    /// When `size` is not a power of two in [`SIZES`].
    pub fn check(size: usize) -> Result<(), TextureError> {
        if size.is_power_of_two() && SIZES.contains(&size) { Ok(()) } else { Err(TextureError::Size(size)) }
    }

    /// Makes its maps, `size` samples along a side.
    ///
    /// # Errors
    /// When `size` is not a power of two in [`SIZES`].
    pub fn make(self, size: usize, seed: Seed) -> Result<Maps, TextureError> {
        Self::check(size)?;
        let seed = seed.child(self.name());
        let mut made = self.made(size.max(FINEST), seed);
        while made.canvas.size() > size {
            made.canvas = made.canvas.halved();
        }
        Ok(maps::finish(self, made, seed))
    }
}
