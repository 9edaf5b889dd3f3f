//! Where the sun stands: by place, date and hour.

use orogen_core::math;

use crate::vec3::{Vec3, toward};

/// A day of the calendar and an hour of its local mean time: at 12 the mean sun stands highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The year.
    pub year: i32,
    /// The month, from 1.
    pub month: u32,
    /// The day of the month, from 1.
    pub day: u32,
    /// The hour, 0 to 24.
    pub hour: f64,
}

impl Moment {
    /// Reads a date such as `2026-07-15`.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse_date(text: &str) -> Result<(i32, u32, u32), String> {
        let wrong = || format!("expected a date such as 2026-07-15, found {text:?}");
        let mut parts = text.splitn(3, '-');
        let mut next =
            || parts.next().filter(|part| part.bytes().all(|b| b.is_ascii_digit())).ok_or_else(wrong);
        let (year, month, day) = (next()?, next()?, next()?);
        let year: i32 = year.parse().map_err(|_| wrong())?;
        let (month, day): (u32, u32) =
            (month.parse().map_err(|_| wrong())?, day.parse().map_err(|_| wrong())?);
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
            return Err(wrong());
        }
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            4 | 6 | 9 | 11 => 30,
            2 => 28 + u32::from(leap),
            _ => 31,
        };
        if (1..=days).contains(&day) {
            Ok((year, month, day))
        } else {
            Err(format!("day {day} is outside 1 to {days}"))
        }
    }

    /// Reads an hour such as `16:30` or `16.5`.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse_hour(text: &str) -> Result<f64, String> {
        let wrong = || format!("expected a time such as 16:30, found {text:?}");
        let hour: f64 = match text.split_once(':') {
            Some((hours, minutes)) => {
                let (hours, minutes): (u32, u32) =
                    (hours.parse().map_err(|_| wrong())?, minutes.parse().map_err(|_| wrong())?);
                if minutes > 59 {
                    return Err(format!("{minutes} is outside 0 to 59 minutes"));
                }
                f64::from(hours) + f64::from(minutes) / 60.0
            }
            None => text.parse().map_err(|_| wrong())?,
        };
        if (0.0..=24.0).contains(&hour) { Ok(hour) } else { Err(format!("{text} is outside 0:00 to 24:00")) }
    }

    /// Days since noon of 1 January 2000 in Greenwich, at a longitude.
    fn days(&self, longitude_deg: f64) -> f64 {
        // The civil calendar: days before a month, with March as the first of the year.
        let (y, m) =
            if self.month > 2 { (self.year, self.month - 3) } else { (self.year - 1, self.month + 9) };
        let (y, m) = (i64::from(y), i64::from(m));
        let whole = 365 * y + y.div_euclid(4) - y.div_euclid(100)
            + y.div_euclid(400)
            + (153 * m + 2) / 5
            + i64::from(self.day);
        // The same count for 1 January 2000.
        const EPOCH: i64 = 365 * 1999 + 499 - 19 + 4 + (153 * 10 + 2) / 5 + 1;
        (whole - EPOCH) as f64 - 0.5 + (self.hour - longitude_deg / 15.0) / 24.0
    }
}

/// Where the sun stands in the sky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sun {
    /// Clockwise from true north.
    pub azimuth_deg: f64,
    /// Above the horizon, without the bending of light by the air.
    pub altitude_deg: f64,
}

/// The sun at a latitude and longitude, after the low-precision formulas of the Astronomical Almanac: within 0.01° from 1950 to
/// 2050.
#[must_use]
pub fn sun(moment: &Moment, latitude_deg: f64, longitude_deg: f64) -> Sun {
    let n = moment.days(longitude_deg);
    let mean_longitude = 280.460 + 0.985_647_4 * n;
    let anomaly = (357.528 + 0.985_600_3 * n).to_radians();
    let longitude =
        (mean_longitude + 1.915 * math::sin(anomaly) + 0.020 * math::sin(2.0 * anomaly)).to_radians();
    let obliquity = (23.439 - 4e-7 * n).to_radians();
    let ascension = math::atan2(math::cos(obliquity) * math::sin(longitude), math::cos(longitude));
    let declination = math::asin(math::sin(obliquity) * math::sin(longitude));
    let sidereal_deg = 280.460_618_37 + 360.985_647_366_29 * n + longitude_deg;
    let hour_angle = sidereal_deg.rem_euclid(360.0).to_radians() - ascension;
    let latitude = latitude_deg.to_radians();
    let up = math::sin(latitude) * math::sin(declination)
        + math::cos(latitude) * math::cos(declination) * math::cos(hour_angle);
    let east = -math::cos(declination) * math::sin(hour_angle);
    let north = math::cos(latitude) * math::sin(declination)
        - math::sin(latitude) * math::cos(declination) * math::cos(hour_angle);
    Sun {
        azimuth_deg: math::atan2(east, north).to_degrees().rem_euclid(360.0),
        altitude_deg: math::asin(up.clamp(-1.0, 1.0)).to_degrees(),
    }
}

impl Sun {
    /// The direction toward it on a map whose true north lies `north_deg` clockwise from its y axis.
    #[must_use]
    pub fn direction(&self, north_deg: f64) -> Vec3 {
        toward(self.azimuth_deg + north_deg, self.altitude_deg)
    }

    /// What lights the land, and how strongly: the sun, or by night the moon, which is always full, over against it.
    #[must_use]
    pub fn lamp(&self) -> (Self, f32) {
        /// The moon's light beside the sun's: more than it is, as eyes adapt to it.
        const MOON: f32 = 1.6e-5;
        /// From here down there is no sun left.
        const DOWN_DEG: f64 = -3.0;
        if self.altitude_deg > DOWN_DEG {
            return (*self, 1.0);
        }
        let moon = Self { azimuth_deg: self.azimuth_deg + 180.0, altitude_deg: -self.altitude_deg };
        let risen = math::smoothstep(-DOWN_DEG as f32, -DOWN_DEG as f32 + 7.0, moon.altitude_deg as f32);
        (moon, MOON * risen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sun_stands_where_almanacs_say() {
        // The worked example of the Solar Position Algorithm (Reda and Andreas, 2003): 12:30:30 of UTC-7.
        let longitude = -105.1786;
        let hour = 12.0 + 30.0 / 60.0 + 30.0 / 3600.0 + 7.0 + longitude / 15.0;
        let found = sun(&Moment { year: 2003, month: 10, day: 17, hour }, 39.742_476, longitude);
        assert!((found.azimuth_deg - 194.340_24).abs() < 0.02, "{found:?}");
        // Its altitude of 39.888° has 0.0195° of refraction.
        assert!((found.altitude_deg - 39.872).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn solstices_and_equinoxes_have_their_heights_at_noon() {
        let noon = |month, day, latitude| {
            let best = |hour: f64| sun(&Moment { year: 2024, month, day, hour }, latitude, 0.0).altitude_deg;
            (0..100).map(|i| best(11.5 + f64::from(i) * 0.01)).fold(-90.0, f64::max)
        };
        assert!((noon(6, 20, 50.0) - 63.44).abs() < 0.02);
        assert!((noon(12, 21, 50.0) - 16.56).abs() < 0.02);
        assert!((noon(3, 20, 0.0) - 90.0).abs() < 0.3);
        // South of the equator the noon sun stands in the north.
        let south = sun(&Moment { year: 2024, month: 6, day: 20, hour: 12.0 }, -35.0, 0.0);
        assert!(south.azimuth_deg < 3.0 || south.azimuth_deg > 357.0, "{south:?}");
    }

    #[test]
    fn mornings_are_in_the_east() {
        let at = |hour| sun(&Moment { year: 2026, month: 7, day: 15, hour }, 47.0, 10.0);
        assert!((60.0..120.0).contains(&at(7.0).azimuth_deg));
        assert!((240.0..300.0).contains(&at(17.0).azimuth_deg));
        assert!(at(0.0).altitude_deg < 0.0);
    }

    #[test]
    fn dates_and_hours_are_read_or_refused_in_a_sentence() {
        assert_eq!(Moment::parse_date("2024-02-29"), Ok((2024, 2, 29)));
        assert_eq!(Moment::parse_date("2023-02-29"), Err(String::from("day 29 is outside 1 to 28")));
        for wrong in ["", "2024", "2024-13-01", "x-1-1", "2024-1-1-1", "99999999999-1-1"] {
            assert!(Moment::parse_date(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Moment::parse_hour("16:30"), Ok(16.5));
        for wrong in ["", "25", "-1", "nan", "12:60", "a:b"] {
            assert!(Moment::parse_hour(wrong).is_err(), "{wrong}");
        }
    }
}
