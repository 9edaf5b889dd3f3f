//! Longitude and latitude of places in the coordinate systems that elevation models come in most.

use orogen_core::{Georeference, math};

use super::place::Place;

/// The equatorial radius and the flattening of the WGS84 ellipsoid, which that of GRS80 equals within a tenth of a millimetre.
const RADIUS_M: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Of the middle line of a UTM zone.
const SCALE: f64 = 0.9996;

/// Where a raster of so many columns and rows lies on Earth.
pub(super) fn georeference(place: &Place, [cols, rows]: [usize; 2]) -> Georeference {
    let (last_col, last_row) = ((cols.max(1) - 1) as f64, (rows.max(1) - 1) as f64);
    let middle = place.at([0.5 * last_col, 0.5 * last_row]);
    let middle_deg = match place.epsg() {
        _ if place.is_geographic() => Some(middle),
        Some(epsg) => degrees(epsg, middle),
        None => None,
    };
    let [dx, dy] = place.spacing_m();
    let in_metres = !place.is_geographic() && place.unit_m().iter().all(|unit| (unit - 1.0).abs() < 1e-12);
    Georeference {
        middle_deg: middle_deg
            .filter(|[x, y]| x.abs() <= 360.0 && y.abs() <= 90.0)
            .map(|[x, y]| [if x > 180.0 { x - 360.0 } else { x }, y]),
        crs: place.epsg().filter(|_| in_metres).map(|epsg| (epsg, place.at([0.0, last_row]))),
        size_m: [last_col * dx, last_row * dy],
    }
}

/// Longitude and latitude of coordinates in a system by its number: the UTM zones of WGS84, ETRS89 and NAD83, and the Mercator
/// projection of web maps. `None` for others.
fn degrees(epsg: u16, at: [f64; 2]) -> Option<[f64; 2]> {
    match epsg {
        3857 => Some(web_mercator(at)),
        32601..=32660 => Some(utm(epsg - 32600, false, at)),
        32701..=32760 => Some(utm(epsg - 32700, true, at)),
        25828..=25838 => Some(utm(epsg - 25800, false, at)),
        26901..=26923 => Some(utm(epsg - 26900, false, at)),
        _ => None,
    }
}

fn web_mercator([x, y]: [f64; 2]) -> [f64; 2] {
    let latitude = 2.0 * math::atan(math::exp(y / RADIUS_M)) - std::f64::consts::FRAC_PI_2;
    [(x / RADIUS_M).to_degrees(), latitude.to_degrees()]
}

/// Inverse transverse Mercator projection, after Krüger 1912 in the form of Karney 2011, to the third order of the flattening:
/// within a millimetre in a zone.
fn utm(zone: u16, south: bool, [east, north]: [f64; 2]) -> [f64; 2] {
    let n = FLATTENING / (2.0 - FLATTENING);
    let (n2, n3) = (n * n, n * n * n);
    let radius = RADIUS_M / (1.0 + n) * (1.0 + n2 / 4.0 + n2 * n2 / 64.0);
    let from_rectifying =
        [n / 2.0 - 2.0 * n2 / 3.0 + 37.0 * n3 / 96.0, n2 / 48.0 + n3 / 15.0, 17.0 * n3 / 480.0];
    let to_geographic =
        [2.0 * n - 2.0 * n2 / 3.0 - 2.0 * n3, 7.0 * n2 / 3.0 - 8.0 * n3 / 5.0, 56.0 * n3 / 15.0];
    let xi = (north - if south { 1e7 } else { 0.0 }) / (SCALE * radius);
    let eta = (east - 5e5) / (SCALE * radius);
    let (mut xi_plain, mut eta_plain) = (xi, eta);
    for (j, factor) in from_rectifying.iter().enumerate() {
        let k = 2.0 * (j + 1) as f64;
        xi_plain -= factor * math::sin(k * xi) * cosh(k * eta);
        eta_plain -= factor * math::cos(k * xi) * sinh(k * eta);
    }
    let conformal = math::asin(math::sin(xi_plain) / cosh(eta_plain));
    let series = to_geographic.iter().enumerate();
    let latitude = conformal
        + series.map(|(j, factor)| factor * math::sin(2.0 * (j + 1) as f64 * conformal)).sum::<f64>();
    let longitude = math::atan2(sinh(eta_plain), math::cos(xi_plain));
    [f64::from(zone) * 6.0 - 183.0 + longitude.to_degrees(), latitude.to_degrees()]
}

fn sinh(x: f64) -> f64 {
    0.5 * (math::exp(x) - math::exp(-x))
}

fn cosh(x: f64) -> f64 {
    0.5 * (math::exp(x) + math::exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    #[test]
    fn coordinates_become_degrees_as_proj_has_them() {
        let of_proj = [
            (32632, [500_000.0, 5_150_000.0], 9.0, 46.503_569_567),
            (32631, [448_252.0, 5_411_944.0], 2.294_501_360_5, 48.858_301_863_2),
            (32733, [300_000.0, 7_500_000.0], 13.054_449_779_9, -22.595_067_595_1),
            (25833, [650_000.0, 6_100_000.0], 17.346_538_972_8, 55.024_183_609_6),
            (26910, [560_000.0, 4_180_000.0], -122.318_776_773_9, 37.765_358_230_2),
            (3857, [1_000_000.0, 6_000_000.0], 8.983_152_841_2, 47.353_704_702_4),
            (32660, [166_100.0, 100_000.0], 174.000_334_216_9, 0.903_482_837_7),
        ];
        for (epsg, at, longitude, latitude) in of_proj {
            let [x, y] = degrees(epsg, at).unwrap();
            assert_close!(x, longitude, abs = 2e-8);
            assert_close!(y, latitude, abs = 2e-8);
        }
        assert_eq!(degrees(2056, [2.6e6, 1.2e6]), None);
    }

    #[test]
    fn a_raster_tells_where_its_middle_is() {
        let place = Place::projected(32632, [500_000.0, 5_150_000.0], [10.0, 10.0]);
        let found = georeference(&place, [201, 101]);
        assert_eq!(found.crs, Some((32632, [500_000.0, 5_149_000.0])));
        assert_eq!(found.size_m, [2000.0, 1000.0]);
        let [x, y] = found.middle_deg.unwrap();
        assert!((x - 9.013).abs() < 0.001 && (y - 46.5).abs() < 0.1, "{x} {y}");
        assert_eq!(georeference(&Place::local([0.0, 0.0], [1.0, 1.0]), [3, 3]).middle_deg, None);
    }
}
