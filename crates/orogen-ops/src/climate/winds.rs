//! The winds of a year.

use orogen_core::math;
use orogen_core::param::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the winds of a year.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Blowing {
    /// Direction that it comes from, clockwise from north: 270 is a west wind.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub from_deg: f64,
    /// Its speed over open, level land.
    #[schemars(range(min = 0.0, max = 60.0), extend("x-unit" = "m/s", "x-slider" = [2.0, 20.0]))]
    pub speed_m_per_s: f64,
    /// How often it blows, beside the others.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-slider" = [0.0, 1.0]))]
    pub share: f64,
}

impl Default for Blowing {
    fn default() -> Self {
        Self { from_deg: 250.0, speed_m_per_s: 10.0, share: 1.0 }
    }
}

impl Blowing {
    /// Its speed to the east and to the north, on a frame whose y axis lies `north_deg` west of north.
    pub(super) fn vector(&self, north_deg: f64) -> [f64; 2] {
        let from = (self.from_deg + north_deg).to_radians();
        [-self.speed_m_per_s * math::sin(from), -self.speed_m_per_s * math::cos(from)]
    }
}

/// What is wrong with the shares of winds: some wind has to blow.
pub(super) fn faults(winds: &[Blowing]) -> Vec<Fault> {
    let blows = winds.iter().any(|wind| wind.share > 0.0);
    if blows { Vec::new() } else { vec![Fault::of("winds", "at least one wind needs a share above 0")] }
}

/// The winds with shares that add up to 1, without those that never blow.
pub(super) fn shared_out(winds: &[Blowing]) -> Vec<Blowing> {
    let sum: f64 = winds.iter().map(|wind| wind.share).sum();
    let blows = winds.iter().filter(|wind| wind.share > 0.0);
    blows.map(|wind| Blowing { share: wind.share / sum, ..wind.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Rain, Salt, Snow, Wind};
    use super::*;
    use orogen_core::Op;

    /// Rain of winds that never blow was the steady part alone, on level land too.
    #[test]
    fn winds_that_never_blow_are_a_fault() {
        let winds = vec![Blowing { share: 0.0, ..Blowing::default() }];
        let found = [
            Rain { winds: winds.clone(), ..Rain::default() }.faults(),
            Salt { winds: winds.clone(), ..Salt::default() }.faults(),
            Snow { winds: winds.clone(), ..Snow::default() }.faults(),
            Wind { winds, ..Wind::default() }.faults(),
        ];
        for faults in found {
            assert_eq!(faults.len(), 1, "{faults:?}");
        }
        assert!(Rain::default().faults().is_empty());
    }
}
