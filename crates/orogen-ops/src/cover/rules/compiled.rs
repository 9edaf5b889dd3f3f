//! Rules made ready for a terrain: weights by rows, at places, and with reasons.

use orogen_core::biome::BIOMES;
use orogen_core::{Ctx, Frame, LayerName, OpError, Raster, Terrain, layer};

use super::curve::{Weigh, any, farthest, scaled};
use super::fields::{Asked, Field, Key, Room};
use super::quantity::{MOST_M, Parsed, Quantity};
use super::rivers::Banks;
use super::{BiomeRef, Rule, Span};
use crate::simd::{Level, dispatch};
use std::ops::Range;
use std::sync::Arc;

/// Samples along a row that are weighed together: what they need stays in the nearest cache, and where nothing is left of a thing
/// over so many the rest of its rules is not asked.
pub const BLOCK: usize = 256;

/// The rules of several things on a terrain. What several rules measure is worked out once, and rules that several things share
/// are weighed once a row.
pub struct Compiled<'a> {
    frame: Frame,
    fields: Vec<Field<'a>>,
    factors: Vec<Weighed<'a>>,
    /// The factors of each thing, in the order in which they are multiplied.
    things: Vec<Vec<usize>>,
    /// Whether several things have a factor.
    shared: Vec<bool>,
    level: Level,
}

/// What rules have measured, to be used again while the land stays as it is: distances, and slopes all over the land.
#[derive(Default)]
pub struct Measured(Vec<(Key, Kept)>);

/// A field that was measured all over the land.
#[derive(Clone)]
enum Kept {
    Raster(Arc<Raster<f32>>),
    Banks(Arc<Banks>),
}

impl Measured {
    fn field<'a>(
        &mut self,
        key: &Key,
        make: impl FnOnce() -> Result<Option<Field<'a>>, OpError>,
    ) -> Result<Option<Field<'a>>, OpError> {
        if let Some((_, known)) = self.0.iter().find(|(known, _)| known == key) {
            return Ok(Some(match known.clone() {
                Kept::Raster(raster) => Field::Made(raster),
                Kept::Banks(banks) => Field::Banks(banks),
            }));
        }
        let made = make()?;
        let kept = match &made {
            Some(Field::Made(raster)) => Some(Kept::Raster(raster.clone())),
            Some(Field::Banks(banks)) => Some(Kept::Banks(banks.clone())),
            _ => None,
        };
        self.0.extend(kept.map(|kept| (key.clone(), kept)));
        Ok(made)
    }
}

/// A rule with the field that it weighs.
struct Weighed<'a> {
    rule: &'a Rule,
    /// `None` where the land has no such layer.
    field: Option<usize>,
    by: By,
    name: String,
    unit: &'static str,
}

/// What a value weighs.
enum By {
    Curve(Weigh),
    /// The value is the weight.
    Mask {
        least: f32,
        scale: f32,
    },
    /// 1 for some numbers.
    Numbers {
        of: Vec<u32>,
        /// Weights of the numbers of bytes, which most things have.
        table: Box<[f32; 256]>,
        least: f32,
        scale: f32,
    },
    /// The same everywhere.
    Const(f32),
}

impl By {
    fn numbers(of: Vec<u32>, least: f32, scale: f32) -> Self {
        let table = Box::new(std::array::from_fn(|i| number(i as f32, &of, least, scale)));
        Self::Numbers { of, table, least, scale }
    }

    fn at(&self, value: f32) -> f32 {
        match self {
            Self::Curve(weigh) => weigh.at(value),
            Self::Mask { least, scale } => mask(value, *least, *scale),
            Self::Numbers { of, least, scale, .. } => number(value, of, *least, *scale),
            Self::Const(weight) => *weight,
        }
    }

    /// Multiplies weights by those of values, with the bits of [`By::at`], and says whether any is left.
    fn times(&self, level: Level, values: &[f32], weights: &mut [f32]) -> bool {
        let each = weights.iter_mut().zip(values);
        match self {
            Self::Curve(weigh) => return weigh.times(level, values, weights),
            Self::Mask { least, scale } => {
                dispatch!(level, _simd => each.for_each(|(w, v)| *w *= mask(*v, *least, *scale)));
            }
            Self::Numbers { of, table, least, scale } => each.for_each(|(w, v)| {
                let known = if *v >= 0.0 { table.get(*v as usize).copied() } else { None };
                *w *= known.unwrap_or_else(|| number(*v, of, *least, *scale));
            }),
            Self::Const(weight) => weights.iter_mut().for_each(|w| *w *= weight),
        }
        any(level, weights)
    }
}

#[inline(always)]
fn mask(value: f32, least: f32, scale: f32) -> f32 {
    if value.is_nan() { 0.0 } else { least + scale * value.clamp(0.0, 1.0) }
}

#[inline]
fn number(value: f32, of: &[u32], least: f32, scale: f32) -> f32 {
    if value.is_nan() {
        return 0.0;
    }
    let is = if value >= 0.0 && of.contains(&(value as u32)) { 1.0 } else { 0.0 };
    least + scale * is
}

/// One factor of a weight, for explanations.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// What is measured.
    pub name: String,
    /// Its value there; `None` where the land has no such layer, and where no river is near.
    pub value: Option<f64>,
    /// Its unit; empty for plain numbers.
    pub unit: &'static str,
    /// The weight of that value.
    pub weight: f64,
    /// The rule in words.
    pub rule: String,
}

/// Buffers of one thread; they may serve one [`Compiled`] only.
#[derive(Default)]
pub struct Buffers {
    /// The row that the rest belongs to.
    row: Option<usize>,
    room: Room,
    /// Values of fields that are not there to be read.
    values: Vec<Line>,
    /// Weights of factors that several things have.
    weights: Vec<Line>,
}

/// Numbers along a row, worked out block by block.
#[derive(Clone, Default)]
struct Line {
    line: Vec<f32>,
    known: Vec<bool>,
}

impl Line {
    /// Those of a block; `work` sets them the first time.
    fn block(&mut self, cols: usize, block: &Range<usize>, work: impl FnOnce(&mut [f32])) -> &[f32] {
        if self.known.is_empty() {
            self.line.resize(cols, 0.0);
            self.known.resize(cols.div_ceil(BLOCK), false);
        }
        let (line, known) = (&mut self.line[block.clone()], &mut self.known[block.start / BLOCK]);
        if !*known {
            work(line);
            *known = true;
        }
        line
    }
}

impl<'a> Compiled<'a> {
    /// Makes the rules of several things ready for a terrain.
    ///
    /// # Errors
    /// When a layer that is needed is missing, or the work is cancelled.
    pub fn new(
        things: &[&'a [Rule]],
        asked: Asked,
        terrain: &'a Terrain,
        ctx: &Ctx<'_>,
    ) -> Result<Self, OpError> {
        Self::again(things, asked, &mut Measured::default(), terrain, ctx)
    }

    /// As [`Compiled::new`], of the same things on the same land once more: what was measured is not measured again.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn again(
        things: &[&'a [Rule]],
        asked: Asked,
        measured: &mut Measured,
        terrain: &'a Terrain,
        ctx: &Ctx<'_>,
    ) -> Result<Self, OpError> {
        let mut made = Self {
            frame: *terrain.frame(),
            fields: Vec::new(),
            factors: Vec::with_capacity(things.iter().map(|rules| rules.len()).sum()),
            things: Vec::with_capacity(things.len()),
            shared: Vec::new(),
            level: Level::new(),
        };
        let far = |quantity: &Quantity| {
            // Only distances are measured as far as rules ask.
            if !matches!(quantity, Quantity::Coast | Quantity::River | Quantity::Lake) {
                return 0.0;
            }
            let of = |rule: &Rule| match rule.parsed() {
                Some(Parsed::Curve(found, span)) if found == *quantity => farthest(rule, span, MOST_M),
                _ => 0.0,
            };
            things.iter().flat_map(|rules| rules.iter()).map(of).fold(0.0, f64::max)
        };
        let mut keys: Vec<(Key, Option<usize>)> = Vec::new();
        for rules in things {
            let mut own = Vec::with_capacity(rules.len());
            for rule in rules.iter() {
                if let Some(known) = made.factors.iter().position(|factor| factor.rule == rule) {
                    // Twice in one thing counts twice.
                    made.shared[known] = true;
                    own.push(known);
                    continue;
                }
                let Some((key, by, name, unit)) = taken_apart(rule)? else { continue };
                let field = match keys.iter().find(|(known, _)| *known == key) {
                    Some((_, field)) => *field,
                    None => {
                        let make = || Field::new(&key, far(&key.quantity), asked, terrain, ctx);
                        let field = measured.field(&key, make)?;
                        let field = field.map(|field| {
                            made.fields.push(field);
                            made.fields.len() - 1
                        });
                        keys.push((key.clone(), field));
                        field
                    }
                };
                let by = match (field, rule.without) {
                    (None, Some(weight)) => By::Const(weight as f32),
                    (None, None) => return Err(terrain.missing(&missing(&key, terrain))),
                    (Some(_), _) => by,
                };
                own.push(made.factors.len());
                made.factors.push(Weighed { rule, field, by, name, unit });
                made.shared.push(false);
            }
            // Noise costs most: where the others leave nothing it is not asked.
            let noisy = |factor: &usize| {
                let field = made.factors[*factor].field;
                field.is_some_and(|field| matches!(made.fields[field], Field::Noise(_)))
            };
            own.sort_by_key(noisy);
            made.things.push(own);
        }
        Ok(made)
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// The weights of a thing along a row of the terrain, 0 to 1; a thing without rules is at home everywhere.
    pub fn row(&self, thing: usize, row: usize, buffers: &mut Buffers, out: &mut [f32]) {
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            let cols = block * BLOCK..block * BLOCK + out.len();
            self.block(thing, row, cols, buffers, out);
        }
    }

    /// The same for a block of a row: [`BLOCK`] columns from a multiple of it, or those that are left. Says whether any weight is above 0.
    pub fn block(
        &self,
        thing: usize,
        row: usize,
        cols: Range<usize>,
        buffers: &mut Buffers,
        out: &mut [f32],
    ) -> bool {
        if buffers.row != Some(row) {
            buffers.row = Some(row);
            buffers.values.resize(self.fields.len(), Line::default());
            buffers.weights.resize(self.factors.len(), Line::default());
            for kept in buffers.values.iter_mut().chain(&mut buffers.weights) {
                kept.known.fill(false);
            }
        }
        out.fill(1.0);
        let Buffers { room, values, weights, .. } = buffers;
        let count = self.frame.cols();
        for &factor in &self.things[thing] {
            let Weighed { by, field, .. } = &self.factors[factor];
            let mut weigh = |out: &mut [f32]| {
                let Some(at) = *field else { return by.times(self.level, &[], out) };
                let field = &self.fields[at];
                match (field.bytes(row), by) {
                    (Some(bytes), By::Numbers { table, .. }) => {
                        let each = out.iter_mut().zip(&bytes[cols.clone()]);
                        each.for_each(|(w, v)| *w *= table[usize::from(*v)]);
                        any(self.level, out)
                    }
                    _ => {
                        let found = match field.line(row) {
                            Some(line) => &line[cols.clone()],
                            None => values[at].block(count, &cols, |line| {
                                field.block(&self.frame, row, cols.clone(), room, line);
                            }),
                        };
                        by.times(self.level, found, out)
                    }
                }
            };
            let left = if self.shared[factor] {
                let kept = weights[factor].block(count, &cols, |line| {
                    line.fill(1.0);
                    weigh(line);
                });
                product(self.level, kept, out)
            } else {
                weigh(out)
            };
            if !left {
                return false;
            }
        }
        true
    }

    /// The weight of a thing at a place in metres: what is measured is interpolated, then weighed. Places outside the terrain
    /// have that of its edge.
    #[must_use]
    pub fn at(&self, thing: usize, place: [f64; 2]) -> f32 {
        let (mut weight, spot) = (1.0, self.frame.locate(place[0], place[1]));
        for &factor in &self.things[thing] {
            let weighed = &self.factors[factor];
            let value = weighed.field.map_or(0.0, |field| self.fields[field].at(place, spot));
            weight *= weighed.by.at(value);
            if weight == 0.0 {
                break;
            }
        }
        weight
    }

    /// Every factor of the weight of a thing at a place, in the order of its rules (noise last). Their product is [`Compiled::at`].
    #[must_use]
    pub fn explain(&self, thing: usize, place: [f64; 2]) -> Vec<Factor> {
        let spot = self.frame.locate(place[0], place[1]);
        let of = |&factor: &usize| {
            let weighed = &self.factors[factor];
            let value = weighed.field.map(|field| self.fields[field].at(place, spot));
            let far = weighed.field.zip(value).is_some_and(|(field, value)| self.fields[field].is_far(value));
            let rule = weighed.rule.to_string();
            Factor {
                name: weighed.name.clone(),
                value: value.filter(|_| !far).map(f64::from),
                unit: weighed.unit,
                weight: f64::from(weighed.by.at(value.unwrap_or(0.0))),
                rule: if far { format!("{rule}; none is as near as that matters") } else { rule },
            }
        };
        self.things[thing].iter().map(of).collect()
    }
}

/// Multiplies weights by others, and says whether any is left.
fn product(level: Level, by: &[f32], weights: &mut [f32]) -> bool {
    dispatch!(level, _simd => weights.iter_mut().zip(by).for_each(|(w, by)| *w *= by));
    any(level, weights)
}

/// What is measured, how it is weighed, and its name and unit.
type TakenApart = (Key, By, String, &'static str);

/// A rule taken apart; `None` for one that says nothing, which the check of parameters refuses.
fn taken_apart(rule: &Rule) -> Result<Option<TakenApart>, OpError> {
    let (least, scale) = scaled(rule);
    let layer_key = |name: LayerName| Key { quantity: Quantity::Layer(name), length_m: 0.0, pattern: 0 };
    Ok(rule.parsed().map(|parsed| match parsed {
        Parsed::Curve(quantity, span) => {
            let (length_m, pattern) = match quantity {
                Quantity::Slope | Quantity::Curvature | Quantity::Wetness => (rule.over_m, 0),
                Quantity::Noise => (rule.wavelength_m, rule.pattern),
                _ => (0.0, 0),
            };
            let (name, unit) = quantity.words();
            (Key { quantity, length_m, pattern }, By::Curve(Weigh::new(rule, span)), name, unit)
        }
        Parsed::Mask(name) => {
            (layer_key(name.clone()), By::Mask { least, scale }, name.to_string(), layer::unit(name))
        }
        Parsed::Numbers(name, numbers) => {
            let words = (name.to_string(), layer::unit(&name));
            (layer_key(name), By::numbers(numbers.to_vec(), least, scale), words.0, words.1)
        }
        Parsed::Satellite(kinds) => {
            let ids = kinds.iter().map(|kind| u32::from(kind.class().id()));
            let by = By::numbers([0].into_iter().chain(ids).collect(), least, scale);
            (layer_key(layer::SATELLITE.name()), by, "kind of ground in the image".into(), "id")
        }
        Parsed::Biomes(biomes) => {
            let by = By::numbers(biomes.iter().filter_map(biome_number).collect(), least, scale);
            (layer_key(layer::BIOME.name()), by, "biome".into(), "id")
        }
    }))
}

fn biome_number(biome: &BiomeRef) -> Option<u32> {
    match biome {
        BiomeRef::Number(number) => Some((*number).into()),
        BiomeRef::Name(name) => {
            BIOMES.iter().find(|info| info.name == name).map(|info| info.biome.id().into())
        }
    }
}

/// The first layer of a field that is not there.
fn missing(key: &Key, terrain: &Terrain) -> LayerName {
    let names = key.quantity.layers();
    let gone = names.iter().find(|name| !terrain.layers().contains_key(*name));
    gone.cloned().unwrap_or_else(|| layer::HEIGHT.name())
}

/// Ends of ranges that are none.
const ENDLESS: f64 = 1e9;

/// A number without the digits that sums of fractions leave.
fn shown(number: f64) -> String {
    let short = format!("{number:.6}");
    if short.contains('.') { short.trim_end_matches('0').trim_end_matches('.').to_owned() } else { short }
}

impl std::fmt::Display for Rule {
    /// In words: "slope_deg 0 to 35, fading over 5".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some((name, parsed)) = self.named().into_iter().next() else { return f.write_str("nothing") };
        if self.except {
            f.write_str("not ")?;
        }
        match parsed {
            Parsed::Curve(quantity, Span([min, max])) => {
                match quantity {
                    Quantity::Layer(layer) if name == "layer" => write!(f, "{layer}")?,
                    _ => f.write_str(name)?,
                }
                match (shown(min), shown(max)) {
                    (min, _) if max >= ENDLESS => write!(f, " from {min}")?,
                    (_, max) if min <= -ENDLESS => write!(f, " up to {max}")?,
                    (min, max) => write!(f, " {min} to {max}")?,
                }
                match &self.curve {
                    super::Curve::Named(super::Shape::Flat) => {}
                    super::Curve::Named(shape) => write!(f, ", {}", format!("{shape:?}").to_lowercase())?,
                    super::Curve::Points(points) => write!(f, ", a curve of {} points", points.len())?,
                }
                if self.fade > 0.0 {
                    write!(f, ", fading over {}", self.fade)?;
                }
            }
            Parsed::Mask(name) => write!(f, "as {name}")?,
            Parsed::Numbers(name, numbers) => write!(f, "{name} is one of {numbers:?}")?,
            Parsed::Satellite(kinds) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.class().name()).collect();
                write!(f, "image shows {} or nothing", names.join(", "))?;
            }
            Parsed::Biomes(biomes) => {
                let word = |biome: &BiomeRef| match biome {
                    BiomeRef::Number(number) => number.to_string(),
                    BiomeRef::Name(name) => name.clone(),
                };
                write!(f, "in {}", biomes.iter().map(word).collect::<Vec<_>>().join(", "))?;
            }
        }
        if self.strength < 1.0 {
            write!(f, ", strength {}", self.strength)?;
        }
        Ok(())
    }
}
