use super::*;
use fearless_simd::Level;
use orogen_core::{Seed, math};
use std::f64::consts::TAU;

const BASES: [Basis; 5] = [Basis::Value, Basis::Perlin, Basis::Simplex, Basis::Worley, Basis::White];
const SMOOTH: [Basis; 3] = [Basis::Value, Basis::Perlin, Basis::Simplex];
const FRACTALS: [Fractal; 7] = [
    Fractal::None,
    Fractal::Fbm,
    Fractal::TranslateScale,
    Fractal::Multifractal,
    Fractal::Hybrid,
    Fractal::Ridged,
    Fractal::Billow,
];

fn field(params: &Noise, seed: u64) -> Field {
    Field::new(&params.look(), Seed(seed))
}

/// Mean and standard deviation.
fn moments(raster: &Raster<f32>) -> (f64, f64) {
    let n = raster.as_slice().len() as f64;
    let mean = raster.sum_f64() / n;
    let squares: f64 = raster.as_slice().iter().map(|&v| (f64::from(v) - mean) * (f64::from(v) - mean)).sum();
    (mean, (squares / n).sqrt())
}

/// Every instruction set this machine has, down to the plainest.
fn levels() -> Vec<Level> {
    let best = Level::new();
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut, reason = "other machines have one"))]
    let mut levels = vec![best, Level::baseline()];
    #[cfg(target_arch = "x86_64")]
    {
        levels.extend(best.as_avx2().map(Level::Avx2));
        levels.extend(best.as_sse4_2().map(Level::Sse4_2));
    }
    levels
}

#[test]
fn every_width_has_the_bits_of_single_places() {
    let base = Noise { octaves: 4, wavelength_m: 90.0, ..Noise::default() };
    let mut looks: Vec<Noise> = Vec::new();
    for basis in BASES {
        for fractal in FRACTALS {
            looks.push(Noise { basis, fractal, ..base.clone() });
        }
        looks.push(Noise { basis, rotation_deg: 33.0, stretch: 3.0, ..base.clone() });
        looks.push(Noise { basis, warp_m: 40.0, warp_wavelength_m: 200.0, ..base.clone() });
        looks.push(Noise { basis, period_m: 700.0, warp_m: 25.0, warp_wavelength_m: 200.0, ..base.clone() });
        looks.push(Noise { basis, period_m: 700.0, stretch: 2.0, ..base.clone() });
    }
    for distance in [Distance::F2, Distance::F2MinusF1] {
        looks.push(Noise { basis: Basis::Worley, distance, ..base.clone() });
    }
    // Cells not square, wider than one strip, taller than one block, crossing zero.
    let frame = Frame::new([-512.3, -77.7], [1311.0, 401.0], [139, 41]).unwrap();
    for params in looks {
        let field = field(&params, 3);
        for level in levels() {
            let raster = field.clone().with_level(level).raster(&frame);
            for row in 0..frame.rows() {
                for col in 0..frame.cols() {
                    let (x, y) = (frame.x_m(col), frame.y_m(row));
                    let (found, single) = (raster.row(row)[col], field.at(x, y));
                    assert_eq!(
                        found.to_bits(),
                        single.to_bits(),
                        "{found} {single} at {x} {y}: {level:?} {params:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn mean_and_deviation_are_as_stated() {
    let frame = Frame::new([1e4, -3e5], [70_000.0; 2], [768; 2]).unwrap();
    for basis in BASES {
        for fractal in FRACTALS {
            let params = Noise {
                basis,
                fractal,
                octaves: 5,
                wavelength_m: 100.0,
                amplitude_m: 50.0,
                offset_m: 10.0,
                ..Noise::default()
            };
            let (mean, deviation) = moments(&field(&params, 8).raster(&frame));
            let slack = if matches!(fractal, Fractal::None | Fractal::Fbm) { 0.01 } else { 0.04 };
            assert!((mean - 10.0).abs() < 50.0 * slack, "{basis:?} {fractal:?}: mean {mean}");
            assert!((deviation / 50.0 - 1.0).abs() < slack, "{basis:?} {fractal:?}: deviation {deviation}");
        }
    }
    for distance in [Distance::F2, Distance::F2MinusF1] {
        let params = Noise {
            basis: Basis::Worley,
            distance,
            wavelength_m: 100.0,
            amplitude_m: 50.0,
            offset_m: 10.0,
            ..Noise::default()
        };
        let (mean, deviation) = moments(&field(&params, 8).raster(&frame));
        assert!(
            (mean - 10.0).abs() < 0.5 && (deviation / 50.0 - 1.0).abs() < 0.01,
            "{distance:?}: {mean}, {deviation}"
        );
    }
}

/// Power of every wave of a square raster: index = row · side + column, wave numbers wrapped. A Hann window hides edges.
fn spectrum(raster: &Raster<f32>) -> Vec<f64> {
    let n = raster.cols();
    let hann = |i: usize| 0.5 - 0.5 * math::cos(TAU * i as f64 / n as f64);
    let (mean, _) = moments(raster);
    let mut re: Vec<f64> =
        (0..n * n).map(|i| (f64::from(raster.as_slice()[i]) - mean) * hann(i % n) * hann(i / n)).collect();
    let mut im = vec![0.0; n * n];
    for _ in 0..2 {
        for (re, im) in re.chunks_mut(n).zip(im.chunks_mut(n)) {
            fft(re, im);
        }
        for row in 0..n {
            for col in 0..row {
                re.swap(row * n + col, col * n + row);
                im.swap(row * n + col, col * n + row);
            }
        }
    }
    re.iter().zip(&im).map(|(a, b)| a * a + b * b).collect()
}

/// The plain Cooley-Tukey transform of a power of two numbers.
fn fft(re: &mut [f64], im: &mut [f64]) {
    let n = re.len();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - n.trailing_zeros());
        if i < j {
            re.swap(i, j);
            im.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        let turns: Vec<[f64; 2]> = (0..half)
            .map(|k| {
                let angle = -std::f64::consts::PI * k as f64 / half as f64;
                [math::cos(angle), math::sin(angle)]
            })
            .collect();
        for start in (0..n).step_by(2 * half) {
            for (k, [c, s]) in turns.iter().enumerate() {
                let (a, b) = (start + k, start + k + half);
                let (x, y) = (re[b] * c - im[b] * s, re[b] * s + im[b] * c);
                (re[b], im[b]) = (re[a] - x, im[a] - y);
                (re[a], im[a]) = (re[a] + x, im[a] + y);
            }
        }
        half *= 2;
    }
}

/// Calls `f` with wave number in x and y and power, for every wave longer than two samples.
fn waves(power: &[f64], n: usize, mut f: impl FnMut(f64, f64, f64)) {
    let signed = |i: usize| if i < n / 2 { i as f64 } else { i as f64 - n as f64 };
    for (i, &p) in power.iter().enumerate() {
        f(signed(i % n), signed(i / n), p);
    }
}

#[test]
fn the_spectrum_falls_by_the_hurst_exponent_and_alike_in_x_and_y() {
    const N: usize = 512;
    let frame = Frame::square((N - 1) as f64, N).unwrap();
    for basis in SMOOTH {
        for hurst in [0.3, 0.5, 0.8] {
            // Waves from 64 samples to 8, three octaves well inside the nine.
            let (low, high, bins) = (8.0, 64.0, 12usize);
            let mut sums = vec![(0.0, 0.0); bins];
            let mut sectors = [(0.0, 0.0); 4];
            for seed in 0..6 {
                let params = Noise { basis, hurst, octaves: 9, wavelength_m: 256.0, ..Noise::default() };
                let power = spectrum(&field(&params, seed).raster(&frame));
                waves(&power, N, |kx, ky, p| {
                    let k = math::hypot(kx, ky);
                    if k < low || k >= high {
                        return;
                    }
                    let bin = (math::ln(k / low) / math::ln(high / low) * bins as f64) as usize;
                    sums[bin].0 += p;
                    sums[bin].1 += 1.0;
                    // Directions: along x, between, along y, between; each wave counts by what its length should have.
                    let eighth = (math::atan2(ky, kx) / TAU * 8.0).round().rem_euclid(4.0) as usize % 4;
                    sectors[eighth].0 += p * math::pow(k, 2.0 * hurst + 2.0);
                    sectors[eighth].1 += 1.0;
                });
            }
            let points: Vec<[f64; 2]> = (0..bins)
                .map(|i| {
                    let k = math::ln(low) + (i as f64 + 0.5) / bins as f64 * math::ln(high / low);
                    [k, math::ln(sums[i].0 / sums[i].1)]
                })
                .collect();
            let center = |axis: usize| points.iter().map(|p| p[axis]).sum::<f64>() / bins as f64;
            let (cx, cy) = (center(0), center(1));
            let across: f64 = points.iter().map(|p| (p[0] - cx) * (p[1] - cy)).sum();
            let slope = across / points.iter().map(|p| (p[0] - cx) * (p[0] - cx)).sum::<f64>();
            println!("{basis:?} hurst {hurst}: slope {slope:.3}");
            assert!((slope + 2.0 * hurst + 2.0).abs() < 0.15, "{basis:?}, hurst {hurst}: slope {slope}");
            let [x, a, y, b] = sectors.map(|(sum, count)| sum / count);
            println!("   directions {:.3} {:.3} {:.3}", a / x, y / x, b / x);
            assert!((y / x - 1.0).abs() < 0.1, "{basis:?}, hurst {hurst}: y has {} of x", y / x);
            assert!((b / a - 1.0).abs() < 0.1, "{basis:?}, hurst {hurst}: diagonals have {}", b / a);
            // Squares hold a little less or more along their diagonals than along their sides; triangles do not.
            let most = if basis == Basis::Simplex { 0.1 } else { 0.15 };
            assert!(
                (a / x - 1.0).abs().max((b / x - 1.0).abs()) < most,
                "{basis:?}, hurst {hurst}: diagonals"
            );
        }
    }
}

#[test]
fn slopes_are_those_of_the_formula() {
    let base = Noise { octaves: 3, wavelength_m: 100.0, amplitude_m: 10.0, ..Noise::default() };
    let mut looks: Vec<Noise> = Vec::new();
    for basis in SMOOTH {
        looks.extend(FRACTALS.map(|fractal| Noise { basis, fractal, ..base.clone() }));
        looks.push(Noise { basis, rotation_deg: 25.0, stretch: 2.5, ..base.clone() });
        looks.push(Noise { basis, warp_m: 20.0, warp_wavelength_m: 150.0, ..base.clone() });
    }
    looks.push(Noise { basis: Basis::Worley, ..base.clone() });
    let luck = Seed(77);
    for params in looks {
        let field = field(&params, 5);
        let h = 0.05;
        let mut wrong = 0;
        for i in 0..400 {
            let (x, y) = (4000.0 * luck.unit(2 * i) - 2000.0, 4000.0 * luck.unit(2 * i + 1) - 2000.0);
            let slope = field.slope_at(x, y);
            assert_eq!(slope.value.to_bits(), field.at(x, y).to_bits());
            let by_x = f64::from(field.at(x + h, y) - field.at(x - h, y)) / (2.0 * h);
            let by_y = f64::from(field.at(x, y + h) - field.at(x, y - h)) / (2.0 * h);
            let error = math::hypot(by_x - f64::from(slope.slope[0]), by_y - f64::from(slope.slope[1]));
            wrong += i32::from(error > 0.003);
        }
        // Ridges, humps and cells have creases; a step across one measures neither side.
        let creased = matches!(params.fractal, Fractal::Ridged | Fractal::Billow | Fractal::Hybrid)
            || params.basis == Basis::Worley;
        assert!(wrong <= if creased { 24 } else { 0 }, "{wrong} of 400 differ: {params:?}");
    }
}

#[test]
fn height_and_slope_run_on_across_cells() {
    for basis in SMOOTH {
        let params =
            Noise { basis, fractal: Fractal::None, wavelength_m: 1.0, amplitude_m: 1.0, ..Noise::default() };
        let field = field(&params, 6);
        let step = 1e-3;
        for line in 0..20 {
            let mut last = None::<crate::noise::Dual>;
            for i in 0..4000 {
                // A slanted line that crosses dozens of cells.
                let (x, y) = (f64::from(i) * step, f64::from(line) * 0.37 + f64::from(i) * step * 0.7);
                let now = field.slope_at(x, y);
                if let Some(last) = last {
                    assert!((now.value - last.value).abs() < 0.02, "{basis:?}: a jump at {x} {y}");
                    for k in 0..2 {
                        let jump = (now.slope[k] - last.slope[k]).abs();
                        assert!(jump < 0.15, "{basis:?}: the slope jumps by {jump} at {x} {y}");
                    }
                }
                last = Some(now);
            }
        }
    }
    let worley = Noise {
        basis: Basis::Worley,
        distance: Distance::F2,
        fractal: Fractal::None,
        wavelength_m: 1.0,
        amplitude_m: 1.0,
        ..Noise::default()
    };
    let field = field(&worley, 6);
    for i in 0..200_000 {
        let at = |i: i32| field.at(f64::from(i) * 1e-3, f64::from(i) * 0.7e-3);
        assert!((at(i) - at(i + 1)).abs() < 0.02, "a jump at {i}");
    }
}

#[test]
fn looped_land_wraps_to_the_bit() {
    for basis in BASES {
        for (stretch, warp_m) in [(1.0, 0.0), (2.0, 0.0), (1.0, 60.0)] {
            let params = Noise {
                basis,
                stretch,
                warp_m,
                warp_wavelength_m: 700.0,
                wavelength_m: 300.0,
                period_m: 2000.0,
                ..Noise::default()
            };
            let field = field(&params, 2);
            // 300 steps of a length that is no binary fraction, over two periods and a bit.
            for samples in [151, 385] {
                let whole = Frame::new([-333.3, 71.9], [4000.0; 2], [2 * samples - 1; 2]).unwrap();
                let land = field.raster(&whole);
                for row in 0..samples {
                    for col in 0..samples {
                        let here = land.row(row)[col].to_bits();
                        assert_eq!(here, land.row(row)[col + samples - 1].to_bits(), "{params:?}");
                        assert_eq!(here, land.row(row + samples - 1)[col].to_bits(), "{params:?}");
                    }
                }
                let (mean, deviation) = moments(&land);
                assert!(mean.is_finite() && deviation > 30.0, "{params:?}");
            }
        }
    }
}

#[test]
fn land_10_000_km_away_is_as_good_as_at_zero() {
    // Roughness at the size of a sample is what fades first when positions run out of digits.
    for basis in SMOOTH {
        let params = Noise { basis, octaves: 6, wavelength_m: 64.0, hurst: 0.5, ..Noise::default() };
        let rough = |origin: f64| {
            let frame = Frame::new([origin, -origin], [511.0; 2], [1023; 2]).unwrap();
            let land = field(&params, 4).raster(&frame);
            let bend = |row: &[f32], i: usize| {
                f64::from(row[i - 1]) - 2.0 * f64::from(row[i]) + f64::from(row[i + 1])
            };
            let squares: f64 = (0..1023)
                .map(|r| (1..1022).map(|i| bend(land.row(r), i) * bend(land.row(r), i)).sum::<f64>())
                .sum();
            squares.sqrt()
        };
        let ratio = rough(1e7) / rough(0.0);
        assert!((ratio - 1.0).abs() < 0.03, "{basis:?}: {ratio}");
        // And the slope there is the slope of the formula, not of rounded places.
        let field = field(&params, 4);
        for i in 0..200 {
            let (x, y) = (1e7 + 0.37 * f64::from(i), -1e7 + 0.11 * f64::from(i));
            let h = 1.0 / 256.0;
            let by_x = f64::from(field.at(x + h, y) - field.at(x - h, y)) / (2.0 * h);
            let slope = f64::from(field.slope_at(x, y).slope[0]);
            assert!((by_x - slope).abs() < 0.05 + 0.01 * slope.abs(), "{basis:?}: {by_x} and {slope}");
        }
    }
}

#[test]
fn a_stretched_hill_is_longer_than_wide() {
    let params =
        Noise { stretch: 4.0, rotation_deg: 90.0, octaves: 1, wavelength_m: 100.0, ..Noise::default() };
    let field = field(&params, 9);
    let (mut east, mut north) = (0.0, 0.0);
    for i in 0..4000 {
        let slope = field.slope_at(f64::from(i % 63) * 171.0, f64::from(i / 63) * 693.0).slope;
        east += f64::from(slope[0] * slope[0]);
        north += f64::from(slope[1] * slope[1]);
    }
    let ratio = (east / north).sqrt();
    assert!((3.6..4.4).contains(&ratio), "slopes to the east are {ratio} times those to the north");
}

#[test]
fn what_does_not_fit_the_period_is_said() {
    let turned = Noise { period_m: 9000.0, rotation_deg: 30.0, ..Noise::default() };
    assert_eq!(turned.faults()[0].to_string(), "rotation_deg: found 30, allowed is 0 where period_m is set");
    let short = Noise { period_m: 100.0, ..Noise::default() };
    assert_eq!(
        short.faults()[0].to_string(),
        "period_m: found 100, allowed is 0 or at least one wavelength (3000)"
    );
    let odd = Noise { basis: Basis::Perlin, period_m: 4096.0, wavelength_m: 1500.0, ..Noise::default() };
    let ctx = Ctx::silent();
    odd.apply(Terrain::new(Frame::square(100.0, 9).unwrap()), &ctx).unwrap();
    assert_eq!(
        ctx.take_warnings(),
        ["wavelength_m = 1500 does not divide period_m = 4096; 1365.3 m is used"]
    );
}

#[test]
fn the_ends_of_every_range_give_finite_land() {
    let frame = Frame::new([1e9, -1e9], [1e5; 2], [40; 2]).unwrap();
    for basis in BASES {
        for fractal in FRACTALS {
            for (translate, scale, wavelength_m) in [(4.0, 4.0, 0.01), (-4.0, 4.0, 1e8), (0.0, 0.0, 1.0)] {
                let params = Noise {
                    basis,
                    fractal,
                    octaves: 24,
                    hurst: 0.0,
                    lacunarity: 8.0,
                    translate,
                    scale,
                    wavelength_m,
                    ..Noise::default()
                };
                let land = field(&params, 1).raster(&frame);
                assert!(land.as_slice().iter().all(|v| v.is_finite()), "{params:?}");
            }
        }
    }
}
