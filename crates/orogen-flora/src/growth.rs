//! Age, vigour and season: from one species a sapling, a grown tree, an old one and a dead one.
//!
//! The numbers of a species are those of a plant in its prime. Height follows a Chapman-Richards curve of age; the rest goes by
//! the height that has been reached.

use orogen_core::math;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::species::{Species, SpeciesError};

/// How far a plant has come, how well it does and what time of the year it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Growth {
    /// Share of the years that the species lives, from 0 (a seedling) to 1.
    pub age: f64,
    /// From 0 (dead) to 1 (as well as it can).
    pub vigour: f64,
    /// The time of the year.
    pub season: Season,
}

/// A time of the year.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Season {
    /// Leaves are young.
    Spring,
    /// Leaves are grown.
    #[default]
    Summer,
    /// Leaves turn, and some have fallen.
    Autumn,
    /// Only evergreens have leaves.
    Winter,
}

/// Age at which a plant is what its species says.
const PRIME: f64 = 0.5;
/// Rate of the growth curve, for a life of length 1, and its exponent.
const RATE: f64 = 4.5;
const POWER: f64 = 1.3;

/// Length of the first shoot of a seedling, in metres: nothing grows on a shorter one.
const SEEDLING_M: f64 = 2e-3;
/// Share of its height at which the head of a palm is as wide as it gets.
const HEAD: f64 = 0.35;
/// Age of the first flowers.
const FIRST_FLOWERS: f64 = 0.2;
/// Stems that have dried up, in sRGB.
const STRAW: [u8; 3] = [150, 132, 98];

/// Whether a stem's colour is that of living skin.
fn is_green([r, g, b]: [u8; 3]) -> bool {
    g > r.saturating_sub(8) && g > b
}

fn mixed(from: [u8; 3], to: [u8; 3], share: f64) -> [u8; 3] {
    [0, 1, 2].map(|k| (f64::from(from[k]) + share * (f64::from(to[k]) - f64::from(from[k]))).round() as u8)
}

impl Default for Growth {
    fn default() -> Self {
        Self::MATURE
    }
}

impl Growth {
    /// A young one.
    pub const SAPLING: Self = Self { age: 0.06, vigour: 1.0, season: Season::Summer };
    /// One in its prime: what the numbers of the species say.
    pub const MATURE: Self = Self { age: PRIME, vigour: 1.0, season: Season::Summer };
    /// One near the end of its life.
    pub const OLD: Self = Self { age: 0.95, vigour: 0.7, season: Season::Summer };
    /// One that has died in its prime and still stands.
    pub const DEAD: Self = Self { age: PRIME, vigour: 0.0, season: Season::Summer };

    /// Height against that of the prime.
    fn height_share(self) -> f64 {
        let curve = |age: f64| math::pow(1.0 - math::exp(-RATE * age), POWER);
        // A seedling has come up at least.
        (curve(self.age) / curve(PRIME)).max(0.02)
    }
}

impl Species {
    /// The species as it is at an age, with a vigour and in a season.
    ///
    /// # Errors
    /// When age or vigour lie outside 0 to 1, or the species has numbers that make no plant.
    pub fn at(&self, growth: &Growth) -> Result<Self, SpeciesError> {
        self.check()?;
        for (name, value) in [("age", growth.age), ("vigour", growth.vigour)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(SpeciesError::Value {
                    name: name.to_owned(),
                    value: value.to_string(),
                    allowed: String::from("it must lie between 0 and 1"),
                });
            }
        }
        let mut now = self.clone();
        // Stones and dead wood have no age and no season.
        if self.stone.is_some() || self.dead_wood.is_some() {
            return Ok(now);
        }
        now.age(growth);
        now.weaken(growth);
        now.turn_leaves(growth.season);
        now.check()?;
        Ok(now)
    }

    /// Colour of the leaves in a season, in sRGB.
    #[must_use]
    pub fn leaf_color(&self, season: Season) -> [u8; 3] {
        match season {
            Season::Spring => self.colors.spring,
            Season::Autumn => self.colors.autumn,
            Season::Winter if self.life.withers => self.colors.autumn,
            Season::Summer | Season::Winter => self.colors.summer,
        }
    }

    fn age(&mut self, growth: &Growth) {
        let share = growth.height_share();
        let young = share.min(1.0);
        let past = ((growth.age - PRIME) / (1.0 - PRIME)).max(0.0);
        // A seedling has come up with a first leaf at least.
        let least = SEEDLING_M / self.levels[0].length.max(SEEDLING_M);
        self.height_m = (self.height_m * share).max(least.min(self.height_m));
        self.height_vary_m = (self.height_vary_m * share).min(0.5 * self.height_m);
        // Young trunks are slender, and a trunk still thickens when the tree has stopped to rise.
        self.ratio = (self.ratio * math::pow(young, 0.3) * (1.0 + 0.4 * past)).min(1.0);
        if let Some(climb) = &mut self.climb {
            climb.reach = climb.reach.map(|share| (share * young).max(0.01));
            climb.hanging = (f64::from(climb.hanging) * young).round() as u32;
        }
        // The lowest branches die as the crown rises; a palm's bare stem grows while its crown stays as long as it was.
        let crown = (1.0 - self.bare_share) * math::pow(share, self.life.crown_growth - 1.0);
        let rising = self.bare_share * (0.25 + 0.75 * young) * self.life.crown_growth
            + (1.0 - crown).max(0.0) * (1.0 - self.life.crown_growth);
        self.bare_share = if growth.age < PRIME { rising } else { self.bare_share }.clamp(0.0, 0.999);
        // A card shows a twig with its leaves, and the twigs of a small plant are small: more of them, each with fewer leaves.
        let power = if self.life.withers { 0.5 } else { 0.4 };
        let leaf_size = math::pow(young, power * self.life.crown_growth);
        self.leaves.length_m = (self.leaves.length_m * leaf_size).max(1e-4);
        if !self.life.withers && self.life.crown_growth == 1.0 && self.leaves.count > 0 {
            let more = f64::from(self.leaves.count) / leaf_size;
            self.leaves.count = more.round().min(10_000.0) as i32;
        }
        self.thinnest_m *= math::pow(young, 0.3);
        self.bloom(growth.age, young);
        // A palm's head is as wide as that of a tall one from early on, but not from the first.
        let head = if self.life.crown_growth < 1.0 { (young / HEAD).min(1.0) } else { 1.0 };
        let wide = math::pow(share, self.life.crown_growth - 1.0) * math::pow(head, 0.8);
        if head < 1.0 {
            self.leaves.length_m *= math::pow(head, 0.8);
            self.leaves.droop_deg *= head;
            if let Some(fronds) = self.levels.get_mut(1) {
                // The first fronds stand upright out of the ground.
                fronds.down_deg *= 0.4 + 0.6 * head;
                fronds.down_vary_deg *= 0.4 + 0.6 * head;
                fronds.curve_deg *= 0.3 + 0.7 * head;
                fronds.branches = ((f64::from(fronds.branches) * (0.3 + 0.7 * head)).round() as u32).max(3);
            }
        }
        if let Some(branches) = self.levels.get_mut(1) {
            branches.length = (branches.length * wide).min(20.0);
            branches.length_vary = (branches.length_vary * wide).min(20.0);
        }
        // A share of the twigs of a seedling, all of them at full height. Palms have their fronds early.
        let fewer = |count: u32, power: f64| {
            (f64::from(count) * math::pow(young, power * self.life.crown_growth)).round() as u32
        };
        for (number, level) in self.levels.iter_mut().enumerate().skip(1) {
            level.branches = fewer(level.branches, if number == 1 { 0.35 } else { 0.5 });
        }
        for level in &mut self.levels {
            level.splits *= young * self.life.crown_growth.max(0.5);
        }
        if young < 0.2 && self.levels.len() > 2 {
            self.drop_level();
            self.leaves.count = (2 * self.leaves.count).clamp(-10_000, 10_000);
        }
        // What storms have left of an old crown.
        self.broken_share = (self.broken_share + 0.25 * past * past).min(1.0);
    }

    /// Flowers come when a plant is old enough, small ones first.
    fn bloom(&mut self, age: f64, young: f64) {
        if age < FIRST_FLOWERS {
            self.flowers.share = 0.0;
        } else if age < PRIME {
            self.flowers.share *= (age - FIRST_FLOWERS) / (PRIME - FIRST_FLOWERS);
            self.flowers.length_m = (self.flowers.length_m * math::pow(young, 0.5)).max(1e-4);
        }
    }

    fn weaken(&mut self, growth: &Growth) {
        let lost = 1.0 - growth.vigour;
        self.height_m *= 1.0 - 0.15 * lost;
        self.height_vary_m *= 1.0 - 0.15 * lost;
        self.broken_share = (self.broken_share + 0.6 * lost * lost).min(1.0);
        // What dries up where it stands keeps its leaves as straw.
        let left = if self.life.withers { 1.0 - 0.35 * lost * lost } else { 1.0 - lost * lost };
        self.leaves.count = (f64::from(self.leaves.count) * left).round() as i32;
        self.wither(lost * lost);
        if growth.vigour == 0.0 {
            self.flowers.share = 0.0;
        }
        if growth.vigour == 0.0 && !self.life.withers {
            // The finest twigs are the first to fall.
            self.leaves.count = 0;
            if self.levels.len() > 3 {
                self.drop_level();
            }
        }
    }

    /// Brings colours to those of a dead plant: 0 leaves them, 1 is dry altogether.
    fn wither(&mut self, share: f64) {
        let colors = &mut self.colors;
        if self.life.withers {
            let straw = colors.autumn;
            for leaves in [&mut colors.spring, &mut colors.summer] {
                *leaves = mixed(*leaves, straw, share);
            }
        }
        for stem in [&mut colors.bark, &mut colors.twig] {
            let dry = if self.life.withers { mixed(colors.autumn, STRAW, 0.5) } else { STRAW };
            if is_green(*stem) {
                *stem = mixed(*stem, dry, share);
            }
        }
    }

    /// Takes the finest stems away; what stood on them stands on those before.
    fn drop_level(&mut self) {
        self.levels.pop();
        let last = self.levels.len() as u8 - 1;
        self.flowers.level = self.flowers.level.min(last);
        if self.leaves.level != u8::MAX {
            self.leaves.level = self.leaves.level.min(last);
        }
    }

    fn turn_leaves(&mut self, season: Season) {
        let was_in_flower = self.flowers.share > 0.0;
        if !self.flowers.seasons.contains(&season) {
            self.flowers.share = 0.0;
        }
        if self.life.withers {
            // Stems dry up with the leaves.
            let colors = &mut self.colors;
            let dry = match season {
                Season::Spring | Season::Summer => 0.0,
                Season::Autumn => 0.6,
                Season::Winter => 1.0,
            };
            for stem in [&mut colors.bark, &mut colors.twig] {
                *stem = mixed(*stem, mixed(colors.autumn, STRAW, 0.5), dry);
            }
            // Of herbs that have flowered stalks are left with a few leaves; ferns and grass stand as they are.
            let is_over = was_in_flower && self.flowers.share == 0.0;
            if season == Season::Winter && is_over && self.leaves.count > 3 {
                self.leaves.count = (f64::from(self.leaves.count) * 0.3).round() as i32;
            }
        }
        if self.life.evergreen || self.life.withers {
            return;
        }
        let left = match season {
            Season::Spring => 0.85,
            Season::Summer => 1.0,
            Season::Autumn => 0.7,
            Season::Winter => 0.0,
        };
        self.leaves.count = (f64::from(self.leaves.count) * left).round() as i32;
        if season == Season::Spring {
            self.leaves.length_m *= 0.8;
        }
    }
}

#[cfg(test)]
mod tests {
    use orogen_core::Seed;

    use super::*;
    use crate::{CATALOG, grow, lod, species};

    fn at(name: &str, age: f64, vigour: f64, season: Season) -> Species {
        species(name).unwrap().unwrap().at(&Growth { age, vigour, season }).unwrap()
    }

    #[test]
    fn every_plant_has_a_surface_from_its_first_day_until_after_its_death() {
        for entry in CATALOG {
            for (age, vigour) in [(0.0, 1.0), (0.02, 1.0), (PRIME, 0.0), (1.0, 0.2)] {
                let now = at(entry.name, age, vigour, Season::Summer);
                let made = lod(&now, &grow(&now, Seed(4)).unwrap(), 3);
                assert!(made.triangles() > 0, "{} at {age}, vigour {vigour}", entry.name);
            }
        }
    }

    #[test]
    fn nothing_dead_is_green() {
        for name in ["column_cactus", "fern", "urtica_dioica", "grass", "poppy", "fan_palm"] {
            let dead = at(name, PRIME, 0.0, Season::Summer);
            let [bark, twig] = [dead.colors.bark, dead.colors.twig];
            assert!(bark[0] > bark[1] && twig[0] > twig[1], "{name}: {bark:?} {twig:?}");
        }
        let winter = at("urtica_dioica", PRIME, 1.0, Season::Winter);
        assert!(winter.colors.bark[0] > winter.colors.bark[1], "{:?}", winter.colors.bark);
        let grass = at("grass", PRIME, 0.0, Season::Summer);
        assert!(grass.colors.summer == grass.colors.autumn && grass.leaves.count != 0);
    }

    #[test]
    fn the_young_do_not_flower() {
        for name in ["poppy", "flowers", "cow_parsley"] {
            assert_eq!(at(name, 0.1, 1.0, Season::Summer).flowers.share, 0.0, "{name}");
            let grown = at(name, PRIME, 1.0, Season::Summer).flowers;
            let half = at(name, 0.35, 1.0, Season::Summer).flowers;
            assert!(half.share > 0.0 && half.share < grown.share && half.length_m < grown.length_m, "{name}");
        }
    }

    #[test]
    fn young_palms_stand_above_the_ground() {
        for name in ["fan_palm", "coconut_palm"] {
            for age in [0.02, 0.06, 0.12, 0.25] {
                let now = at(name, age, 1.0, Season::Summer);
                let made = lod(&now, &grow(&now, Seed(2)).unwrap(), 0);
                let high = made.leaves.positions.iter().map(|at| at[2]).fold(0.0, f32::max);
                let low = made.leaves.positions.iter().map(|at| at[2]).fold(0.0, f32::min);
                assert!(low > -0.1 * high, "{name} at {age}: from {low} to {high}");
            }
        }
    }
}
