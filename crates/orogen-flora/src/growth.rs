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
        self.height_m *= share;
        self.height_vary_m *= share;
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
        let leaf_size = math::pow(young, 0.25 * self.life.crown_growth);
        self.leaves.length_m = (self.leaves.length_m * leaf_size).max(1e-4);
        let wide = math::pow(share, self.life.crown_growth - 1.0);
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

    fn weaken(&mut self, growth: &Growth) {
        let lost = 1.0 - growth.vigour;
        self.height_m *= 1.0 - 0.15 * lost;
        self.height_vary_m *= 1.0 - 0.15 * lost;
        self.broken_share = (self.broken_share + 0.6 * lost * lost).min(1.0);
        self.leaves.count = (f64::from(self.leaves.count) * (1.0 - lost * lost)).round() as i32;
        if growth.vigour == 0.0 {
            // The finest twigs are the first to fall.
            self.leaves.count = 0;
            self.flowers.share = 0.0;
            if self.levels.len() > 3 {
                self.drop_level();
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
        if !self.flowers.seasons.contains(&season) {
            self.flowers.share = 0.0;
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
