use super::*;
use orogen_core::testkit::assert_close;

const SCHEMES: [Scheme; 2] = [Scheme::Edge, Scheme::Sqrt3];

fn land(op: &Subdivision, frame: Frame) -> Raster<f32> {
    op.apply(Terrain::new(frame), &Ctx::new(Seed(5))).unwrap().get(layer::HEIGHT).unwrap().clone()
}

/// Root mean square of second differences over samples that `of` picks by row and column.
fn roughness(height: &Raster<f32>, of: impl Fn(usize, usize) -> bool) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for r in 1..height.rows() - 1 {
        for c in 1..height.cols() - 1 {
            if of(r, c) {
                let row = height.row(r);
                let x = f64::from(row[c - 1] + row[c + 1] - 2.0 * row[c]);
                let y = f64::from(height.row(r - 1)[c] + height.row(r + 1)[c] - 2.0 * row[c]);
                sum += x * x + y * y;
                n += 2.0;
            }
        }
    }
    f64::sqrt(sum / f64::max(n, 1.0))
}

#[test]
fn tiles_share_their_edges_to_the_bit() {
    for scheme in SCHEMES {
        for (wavelength_m, size) in [(2200.0, 1280.0), (777.0, 1000.0), (3.0, 2000.0)] {
            let op = Subdivision { scheme, wavelength_m, ..Subdivision::default() };
            let west = land(&op, Frame::new([-3e6, 512.0], [size, size], [129, 129]).unwrap());
            let east = land(&op, Frame::new([-3e6 + size, 512.0], [size, size], [129, 129]).unwrap());
            for r in 0..129 {
                assert_eq!(west.row(r)[128].to_bits(), east.row(r)[0].to_bits(), "{op:?} row {r}");
            }
        }
    }
}

#[test]
fn given_planes_are_kept_and_stay_planes() {
    let heights_m = vec![vec![300.0, 400.0, 500.0], vec![100.0, 200.0, 300.0]];
    for scheme in SCHEMES {
        // Half a degree of bend would be needed, and a plane has none.
        let op =
            Subdivision { scheme, heights_m: heights_m.clone(), flat_deg: 0.5, ..Subdivision::default() };
        let height = land(&op, Frame::square(4000.0, 101).unwrap());
        for (r, c) in [(50, 50), (50, 25), (30, 70), (70, 40)] {
            let plane = 100.0 + 2.0 * f64::from(100 - r as u32) + 2.0 * f64::from(c as u32);
            assert_close!(height.row(r)[c], plane, abs = 0.05);
        }
    }
}

#[test]
fn given_heights_are_met_where_nothing_moves() {
    let heights_m: Vec<Vec<f64>> =
        (0..6).map(|r| (0..5).map(|c| 1000.0 * Seed(2).unit2(r, c)).collect()).collect();
    for scheme in SCHEMES {
        let op =
            Subdivision { scheme, heights_m: heights_m.clone(), amplitude_m: 0.0, ..Subdivision::default() };
        let height = land(&op, Frame::square(4000.0, 401).unwrap());
        for (r, row) in heights_m.iter().enumerate() {
            for (c, given) in row.iter().enumerate() {
                assert_close!(height.row(80 * r)[100 * c], *given, abs = 30.0);
            }
        }
    }
}

#[test]
fn detail_keeps_to_bent_ground() {
    // A level plain in the west, one hill in the east.
    let row = |hill: f64| vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, hill, 0.0];
    let heights_m = vec![row(0.0), row(0.0), row(900.0), row(0.0), row(0.0)];
    for scheme in SCHEMES {
        let op = Subdivision { scheme, heights_m: heights_m.clone(), level_m: 0.0, ..Subdivision::default() };
        let height = land(&op, Frame::new([0.0; 2], [8000.0, 4000.0], [401, 201]).unwrap());
        let west = roughness(&height, |_, c| c < 150);
        let east = roughness(&height, |r, c| (60..140).contains(&r) && (300..400).contains(&c));
        assert!(west < 1e-3 && east > 0.2, "{west} in the west, {east} in the east");
        // It subdivides everything when asked to.
        let all = Subdivision { flat_deg: 0.0, steepness: 0.0, ..op };
        let height = land(&all, Frame::new([0.0; 2], [8000.0, 4000.0], [401, 201]).unwrap());
        assert!(roughness(&height, |_, c| c < 150) > 0.2);
    }
}

#[test]
fn steep_and_high_ground_is_rougher_as_far_as_asked() {
    let frame = Frame::square(16_000.0, 513).unwrap();
    let plain = Subdivision { steepness: 0.0, altitude: 0.0, flat_deg: 0.0, ..Subdivision::default() };
    for scheme in SCHEMES {
        // Where ground is steep or high is decided by the first levels, before detail.
        let broad = land(&Subdivision { scheme, detail_m: 500.0, ..plain.clone() }, frame);
        let steep = |r: usize, c: usize| {
            let x = broad.row(r)[c + 1] - broad.row(r)[c - 1];
            let y = broad.row(r + 1)[c] - broad.row(r - 1)[c];
            math::hypot(f64::from(x), f64::from(y)) / 62.5
        };
        let share = |op: Subdivision, of: &dyn Fn(usize, usize) -> f64, middle: f64| {
            let height = land(&Subdivision { scheme, ..op }, frame);
            roughness(&height, |r, c| of(r, c) > 1.5 * middle)
                / roughness(&height, |r, c| of(r, c) < 0.5 * middle)
        };
        let none = share(plain.clone(), &steep, 0.3);
        let much = share(Subdivision { steepness: 1.0, ..plain.clone() }, &steep, 0.3);
        assert!(much > 1.4 * none, "{scheme:?}: {none} without, {much} with");
        let high = |r: usize, c: usize| f64::from(broad.row(r)[c]);
        let none = share(plain.clone(), &high, 180.0);
        let much = share(Subdivision { altitude: 1.0, ..plain.clone() }, &high, 180.0);
        assert!(much > 1.3 * none, "{scheme:?}: {none} without, {much} with");
    }
}

#[test]
fn land_is_as_rough_one_way_as_the_other() {
    for scheme in SCHEMES {
        let op = Subdivision { scheme, wavelength_m: 600.0, ..Subdivision::default() };
        let height = land(&op, Frame::square(16_384.0, 513).unwrap());
        let slope = |dr: usize, dc: usize| {
            let mut sum = 0.0;
            for r in 0..512 {
                for c in 0..512 {
                    let d = f64::from(height.row(r + dr)[c + dc] - height.row(r)[c]);
                    sum += d * d;
                }
            }
            sum
        };
        assert_close!(slope(0, 1) / slope(1, 0), 1.0, abs = 0.05);
    }
}

#[test]
fn the_finest_mesh_is_smaller_than_the_land_and_so_are_the_two_that_make_it() {
    for scheme in SCHEMES {
        for samples in [257usize, 400, 1025] {
            let frame = Frame::square(4096.0, samples).unwrap();
            for first in [1.1201, 1.5, 2.0, 2.9, 0.01] {
                let wavelength_m = first * 16.0 * frame.spacing_m()[0];
                let op = Subdivision { scheme, wavelength_m, ..Subdivision::default() };
                let meshes = Meshes::new(&op, &frame, &frame.extent());
                let len = |level: u32, edges: f64| {
                    let edge_m = meshes.edge_m(level);
                    Sheet::new(edge_m, false, &grown(&frame.extent(), edges * edge_m)).len()
                };
                let finest = len(meshes.finest, SPLINE);
                assert!(finest < samples * samples, "{op:?}: {finest} points");
                if meshes.finest > 0 {
                    let above = 2 * len(meshes.finest - 1, SPLINE + AROUND); // heights and context
                    assert!(finest + above < 2 * samples * samples, "{op:?}: {finest} and {above} points");
                }
            }
        }
    }
}

#[test]
fn ragged_heights_are_refused_with_their_row() {
    let op = Subdivision { heights_m: vec![vec![0.0; 3], vec![0.0; 2]], ..Subdivision::default() };
    assert!(op.faults()[0].to_string().contains("heights_m[1]: has 2"));
    let op = Subdivision { heights_m: vec![vec![0.0; 3]], ..Subdivision::default() };
    assert!(op.faults()[0].to_string().contains("found one"));
}

#[test]
fn random_land_goes_on_beyond_the_frame_and_given_heights_end_with_it() {
    let random = Subdivision::default();
    let given = Subdivision { heights_m: vec![vec![0.0, 10.0], vec![20.0, 30.0]], ..Subdivision::default() };
    assert!(random.endless() && !given.endless());
    // The frame of the recipe changes nothing, in it or beyond it.
    let beyond = Frame::new([-7000.0, 21_000.0], [640.0; 2], [41; 2]).unwrap();
    let of = |world: Frame| {
        let ctx = Ctx::new(Seed(3)).in_world(world);
        random.apply(Terrain::new(beyond), &ctx).unwrap().get(layer::HEIGHT).unwrap().clone()
    };
    assert!(of(Frame::square(8192.0, 129).unwrap()) == of(Frame::square(500.0, 33).unwrap()));
}
