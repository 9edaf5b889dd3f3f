//! Where scattered things lie and how large they are.

use orogen_core::math;

use crate::dice::Dice;

/// About `count` places in a square of `side`, one in each cell of a lattice, moved about within it by `jitter` (0 to 1): evenly
/// spread without a pattern. They come in random order, so that what is laid later does not lean one way.
#[must_use]
pub fn jittered(dice: &mut Dice, side: f32, count: usize, jitter: f32) -> Vec<[f32; 2]> {
    let across = ((count as f32).sqrt().round() as usize).max(1);
    let cell = side / across as f32;
    let mut places: Vec<([f32; 2], u32)> = (0..across * across)
        .map(|i| {
            let shift = |dice: &mut Dice| 0.5 + jitter * (dice.unit() - 0.5);
            let x = ((i % across) as f32 + shift(dice)) * cell;
            let y = ((i / across) as f32 + shift(dice)) * cell;
            ([x, y], dice.bits())
        })
        .collect();
    places.sort_by_key(|&(_, order)| order);
    places.into_iter().map(|(place, _)| place).collect()
}

/// `count` sizes from `small` to `large`, of which those above any size number about its power `-exponent`: rubble has
/// about 2 to 3. In descending order.
#[must_use]
pub fn power_sizes(dice: &mut Dice, count: usize, [small, large]: [f32; 2], exponent: f32) -> Vec<f32> {
    let ratio = math::pow(f64::from(large / small), -f64::from(exponent));
    let mut sizes: Vec<f32> = (0..count)
        .map(|_| {
            let share = f64::from(dice.unit());
            small * math::pow(1.0 - share * (1.0 - ratio), -1.0 / f64::from(exponent)) as f32
        })
        .collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Seed;

    #[test]
    fn sizes_follow_the_power_and_stay_in_range() {
        let sizes = power_sizes(&mut Dice::new(Seed(1), "sizes"), 10_000, [0.01, 0.2], 2.0);
        assert!(sizes.iter().all(|s| (0.01..=0.2001).contains(s)));
        let above = |limit: f32| sizes.iter().filter(|&&s| s > limit).count() as f32;
        assert!((above(0.02) / above(0.04) / 4.0 - 1.0).abs() < 0.15, "{} {}", above(0.02), above(0.04));
    }

    #[test]
    fn jittered_places_are_spread_evenly() {
        let places = jittered(&mut Dice::new(Seed(1), "places"), 2.0, 400, 1.0);
        assert_eq!(places.len(), 400);
        let left = places.iter().filter(|p| p[0] < 1.0).count();
        assert_eq!(left, 200);
    }
}
