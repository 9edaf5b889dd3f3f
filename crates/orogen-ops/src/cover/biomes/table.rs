//! Which climate makes which biome: the table of a recipe.

use orogen_core::biome::{BIOMES, Biome};
use orogen_core::param::{self, Fault, Segment};

use super::{Biomes, OwnBiome};
use crate::cover::rules::BiomeRef;
use crate::noise::Blocks;
use crate::simd::{Level, dispatch};

/// Belts of temperature, belts of moisture, and the biome of each climate.
type Whittaker = (Vec<f64>, Vec<f64>, Vec<Vec<BiomeRef>>);

/// The table of the sixteen biomes.
pub(super) fn whittaker() -> Whittaker {
    let belts_c = vec![0.0, 8.0, 17.0];
    let belts_moisture: Vec<f64> = (1..6).map(|i| f64::from(i) / 6.0).collect();
    let row = |warm: f64| {
        let biome = |i: u32| Biome::of_climate(warm, (f64::from(i) + 0.5) / 6.0).info().name.into();
        (0..6).map(biome).collect()
    };
    (belts_c, belts_moisture, [-5.0, 4.0, 12.0, 25.0].map(row).into())
}

/// The table made ready.
pub(super) struct Table {
    warm: Vec<f32>,
    wet: Vec<f32>,
    /// Row by row.
    biomes: Vec<u8>,
    /// The same by the number of a cell: at most 16 belts by 16.
    lookup: [u8; 256],
    /// Cells of snow that a layer took away: bare where it is colder than [`BARE_C`].
    thawed: Option<Box<[bool; 256]>>,
}

/// Where the year is colder in the mean, ground that the wind has blown free of snow has no plants.
const BARE_C: f32 = -4.0;

impl Table {
    pub fn new(params: &Biomes) -> Self {
        let biomes = params.table.iter().flatten();
        let biomes: Vec<u8> = biomes.map(|biome| number(biome, &params.own).unwrap_or_default()).collect();
        Self {
            lookup: std::array::from_fn(|i| biomes.get(i).copied().unwrap_or(Biome::Ocean.id())),
            warm: params.belts_c.iter().map(|c| *c as f32).collect(),
            wet: params.belts_moisture.iter().map(|m| *m as f32).collect(),
            biomes,
            thawed: None,
        }
    }

    /// The table where snow lies elsewhere: in the place of snow stands the next drier biome of its belt, tundra if there is none.
    pub fn thawed(params: &Biomes) -> Self {
        let mut table = Self::new(params);
        let snow = Biome::Snow.id();
        table.thawed =
            Some(Box::new(std::array::from_fn(|i| table.lookup[i] == snow && i < table.biomes.len())));
        for row in table.biomes.chunks_mut(table.wet.len() + 1) {
            let mut drier = Biome::Tundra.id();
            for biome in row {
                *biome = if *biome == snow { drier } else { *biome };
                drier = *biome;
            }
        }
        let biomes = &table.biomes;
        table.lookup = std::array::from_fn(|i| biomes.get(i).copied().unwrap_or(Biome::Ocean.id()));
        table
    }

    #[inline(always)]
    fn known(&self, cell: usize, warm: f32) -> u8 {
        match &self.thawed {
            Some(thawed) if warm < BARE_C && thawed[cell] => Biome::Bare.id(),
            _ => self.lookup[cell],
        }
    }

    /// The biome of a climate; a hole is ocean.
    #[inline]
    pub fn at(&self, warm: f32, wet: f32) -> u8 {
        if warm.is_nan() || wet.is_nan() {
            return Biome::Ocean.id();
        }
        let belt = |limits: &[f32], value: f32| limits.iter().filter(|limit| value >= **limit).count();
        let at = belt(&self.warm, warm) * (self.wet.len() + 1) + belt(&self.wet, wet);
        if at < self.biomes.len() { self.known(at, warm) } else { Biome::Ocean.id() }
    }

    /// The biomes of the climates along a row, by the same comparisons as [`Table::at`], a belt at a time. With `white`, where `out` is
    /// not 0 there is snow.
    pub fn row(&self, level: Level, warm: &[f32], wet: &[f32], white: bool, out: &mut [u8]) {
        let mut cells = [0u8; Blocks::WIDE];
        for (from, out) in out.chunks_mut(Blocks::WIDE).enumerate() {
            let here = from * Blocks::WIDE..from * Blocks::WIDE + out.len();
            let (cells, warm, wet) = (&mut cells[..out.len()], &warm[here.clone()], &wet[here]);
            dispatch!(level, _simd => self.cells(warm, wet, cells));
            if white || self.thawed.is_some() {
                for ((out, cell), warm) in out.iter_mut().zip(&*cells).zip(warm) {
                    let is_white = white && *out != 0;
                    *out = if is_white { Biome::Snow.id() } else { self.known(usize::from(*cell), *warm) };
                }
            } else {
                out.iter_mut().zip(&*cells).for_each(|(out, cell)| *out = self.lookup[usize::from(*cell)]);
            }
            dispatch!(level, _simd => drown(warm, wet, out));
        }
    }

    /// The belts of climates as one number.
    #[inline(always)]
    fn cells(&self, warm: &[f32], wet: &[f32], cells: &mut [u8]) {
        let each = self.wet.len() as u8 + 1;
        cells.fill(0);
        for limit in &self.warm {
            cells.iter_mut().zip(warm).for_each(|(cell, warm)| *cell += if warm >= limit { each } else { 0 });
        }
        for limit in &self.wet {
            cells.iter_mut().zip(wet).for_each(|(cell, wet)| *cell += u8::from(wet >= limit));
        }
    }
}

/// A climate that is not known is ocean.
#[inline(always)]
fn drown(warm: &[f32], wet: &[f32], out: &mut [u8]) {
    for ((out, warm), wet) in out.iter_mut().zip(warm).zip(wet) {
        *out = if warm.is_nan() || wet.is_nan() { Biome::Ocean.id() } else { *out };
    }
}

/// The number of a biome, or a sentence that says that there is none.
pub(super) fn number(biome: &BiomeRef, own: &[OwnBiome]) -> Result<u8, String> {
    let known = || {
        let given = BIOMES.iter().map(|info| (info.name, info.biome.id()));
        given.chain(own.iter().map(|biome| (biome.name.as_str(), biome.id)))
    };
    match biome {
        BiomeRef::Number(number) => match known().find(|(_, id)| id == number) {
            Some(_) => Ok(*number),
            None => Err(format!("no biome has the number {number}; name it in `own`")),
        },
        BiomeRef::Name(name) => known().find(|(known, _)| known == name).map(|(_, id)| id).ok_or_else(|| {
            let hint = param::nearest(name, known().map(|(name, _)| name)).map_or_else(
                || {
                    format!(
                        "expected one of {}",
                        known().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
                    )
                },
                |near| format!("did you mean {near:?}?"),
            );
            format!("no biome {name:?}; {hint}")
        }),
    }
}

/// What is wrong with the table, its belts and the recipe's own biomes.
pub(super) fn faults(params: &Biomes) -> Vec<Fault> {
    let mut found = Vec::new();
    let key = |name: &str| Segment::Key(name.to_owned());
    let Biomes { belts_c, belts_moisture, table, own, .. } = params;
    for (name, belts) in [("belts_c", belts_c), ("belts_moisture", belts_moisture)] {
        for (i, pair) in belts.windows(2).enumerate().filter(|(_, pair)| pair[0] >= pair[1]) {
            let message = format!("{} is not above {}, that of the belt before", pair[1], pair[0]);
            found.push(Fault { path: vec![key(name), Segment::Index(i + 1)], message });
        }
    }
    let (rows, cols) = (belts_c.len() + 1, belts_moisture.len() + 1);
    if table.len() != rows {
        let message = format!("{rows} belts of temperature need {rows} rows, and there are {}", table.len());
        found.push(Fault::of("table", message));
    }
    for (i, row) in table.iter().enumerate() {
        if row.len() != cols {
            let message = format!("{cols} belts of moisture need {cols} biomes, and there are {}", row.len());
            found.push(Fault { path: vec![key("table"), Segment::Index(i)], message });
        }
        for (j, biome) in row.iter().enumerate() {
            if let Err(message) = number(biome, own) {
                found.push(Fault { path: vec![key("table"), Segment::Index(i), Segment::Index(j)], message });
            }
        }
    }
    for (i, biome) in own.iter().enumerate() {
        let taken = BIOMES.iter().any(|info| info.name == biome.name)
            || own[..i].iter().any(|before| before.name == biome.name);
        if taken || biome.name.is_empty() {
            let message = if taken {
                format!("there is a biome {:?} already", biome.name)
            } else {
                String::from("a biome needs a name")
            };
            found.push(Fault { path: vec![key("own"), Segment::Index(i), key("name")], message });
        }
        if biome.id < 16 || own[..i].iter().any(|before| before.id == biome.id) {
            let message = format!("the number {} is taken; use another from 16 to 255", biome.id);
            found.push(Fault { path: vec![key("own"), Segment::Index(i), key("id")], message });
        }
    }
    found
}
