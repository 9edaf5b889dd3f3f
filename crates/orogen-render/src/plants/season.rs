//! What time of the year plants have.

use orogen_flora::Season;

use crate::sun::Moment;

/// Between the tropics leaves stay.
const TROPICS_DEG: f64 = 23.0;

/// The season on a day at a latitude.
pub fn season(moment: &Moment, latitude_deg: f64) -> Season {
    if latitude_deg.abs() < TROPICS_DEG {
        return Season::Summer;
    }
    let day = f64::from(moment.month.clamp(1, 12) - 1) * 30.4 + f64::from(moment.day);
    let day = if latitude_deg < 0.0 { (day + 182.5) % 365.0 } else { day };
    match day {
        d if d < 85.0 => Season::Winter,
        d if d < 150.0 => Season::Spring,
        d if d < 268.0 => Season::Summer,
        d if d < 325.0 => Season::Autumn,
        _ => Season::Winter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seasons_turn_with_the_year_and_the_hemisphere() {
        let at = |month, latitude| season(&Moment { year: 2026, month, day: 10, hour: 12.0 }, latitude);
        assert_eq!(
            [1, 5, 7, 10].map(|m| at(m, 47.0)),
            [Season::Winter, Season::Spring, Season::Summer, Season::Autumn]
        );
        assert_eq!([1, 7].map(|m| at(m, -47.0)), [Season::Summer, Season::Winter]);
        assert!((1..=12).all(|m| at(m, 5.0) == Season::Summer));
    }
}
