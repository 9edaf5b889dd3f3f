use super::*;
use crate::simd::Level;
use orogen_core::{LayerData, LayerName, Seed, math};
use rayon::prelude::*;
use std::f64::consts::TAU;
use std::sync::{Arc, LazyLock};

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
                amplitude_m: Coef::Const(50.0),
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
            amplitude_m: Coef::Const(50.0),
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
    let hann: Vec<f64> = (0..n).map(|i| 0.5 - 0.5 * math::cos(TAU * i as f64 / n as f64)).collect();
    let (mean, _) = moments(raster);
    let mut re: Vec<f64> =
        (0..n * n).map(|i| (f64::from(raster.as_slice()[i]) - mean) * hann[i % n] * hann[i / n]).collect();
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

/// Turns of up to half a circle, clockwise, as cosine and sine.
static TURNS: LazyLock<Vec<[f64; 2]>> = LazyLock::new(|| {
    let angle = |k: usize| -TAU * k as f64 / N as f64;
    (0..N / 2).map(|k| [math::cos(angle(k)), math::sin(angle(k))]).collect()
});

/// The plain Cooley-Tukey transform of `N` numbers.
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
        for start in (0..n).step_by(2 * half) {
            for (k, [c, s]) in TURNS.iter().step_by(N / 2 / half).enumerate() {
                let (a, b) = (start + k, start + k + half);
                let (x, y) = (re[b] * c - im[b] * s, re[b] * s + im[b] * c);
                (re[b], im[b]) = (re[a] - x, im[a] - y);
                (re[a], im[a]) = (re[a] + x, im[a] + y);
            }
        }
        half *= 2;
    }
}

/// Length and direction of every wave of a spectrum: its wave number, rounded, and its eighth of half a circle.
static WAVES: LazyLock<Vec<(usize, usize)>> = LazyLock::new(|| {
    let signed = |i: usize| if i < N / 2 { i as f64 } else { i as f64 - N as f64 };
    (0..N * N)
        .map(|i| {
            let (kx, ky) = (signed(i % N), signed(i / N));
            let way = (math::atan2(ky, kx) / TAU * 16.0).round().rem_euclid(8.0) as usize % 8;
            (math::hypot(kx, ky).round() as usize, way)
        })
        .collect()
});

/// Side of the land whose spectrum is taken.
const N: usize = 256;

/// Pieces of land that are averaged: what is left of chance is about 2 % of the power in a direction.
const SEEDS: u64 = 96;

/// Power by length and by direction of wave, averaged over many pieces of land.
struct Powers {
    /// Logarithms of wave number and power, from the longest wave to the shortest.
    lengths: Vec<[f64; 2]>,
    /// Power by direction in steps of 22.5 degrees, as a multiple of the mean over all directions.
    ways: [f64; 8],
}

/// Sum and count of powers: by direction in each ring of whole wave numbers.
type Rings = Vec<[[f64; 2]; 8]>;

impl Powers {
    fn of(params: &Noise, seeds: u64, (low, high): (usize, usize)) -> Self {
        let frame = Frame::square((N - 1) as f64, N).unwrap();
        let lands: Vec<Rings> = (0..seeds)
            .into_par_iter()
            .map(|seed| {
                let power = spectrum(&field(params, seed).raster(&frame));
                let mut rings = vec![[[0.0; 2]; 8]; N];
                for (p, &(ring, way)) in power.iter().zip(WAVES.iter()) {
                    let [sum, count] = &mut rings[ring][way];
                    (*sum, *count) = (*sum + p, *count + 1.0);
                }
                rings
            })
            .collect();
        let mean = |ring: usize, ways: std::ops::Range<usize>| {
            let found = lands.iter().flat_map(|land| &land[ring][ways.clone()]);
            let (sum, count) = found.fold((0.0, 0.0), |(a, b), [p, n]| (a + p, b + n));
            sum / count
        };
        // Rings count by the waves they hold and the power these have; those of an fBm, whose power falls in a known way,
        // all alike.
        let rise = if params.fractal == Fractal::Fbm { 2.0 * params.hurst + 2.0 } else { 0.0 };
        let (mut ways, mut total) = ([0.0; 8], 0.0);
        let mut lengths = Vec::new();
        for ring in low..high {
            let (k, all) = (ring as f64, mean(ring, 0..8));
            lengths.push([math::ln(k), math::ln(all)]);
            let counts = k * all * math::pow(k, rise);
            total += counts;
            for (i, way) in ways.iter_mut().enumerate() {
                *way += counts * mean(ring, i..i + 1) / all;
            }
        }
        Self { lengths, ways: ways.map(|way| way / total) }
    }

    /// How much more the strongest direction has than the weakest.
    fn bias(&self) -> f64 {
        let (low, high) = self.ways.iter().fold((f64::MAX, 0.0f64), |(a, b), &w| (a.min(w), b.max(w)));
        high / low - 1.0
    }

    /// The power of the wave number that power falls with: a straight line through the logarithms, each octave alike.
    fn slope(&self) -> f64 {
        let weight = |p: &[f64; 2]| math::exp(-p[0]);
        let all: f64 = self.lengths.iter().map(weight).sum();
        let center = |axis: usize| self.lengths.iter().map(|p| weight(p) * p[axis]).sum::<f64>() / all;
        let (cx, cy) = (center(0), center(1));
        let across: f64 = self.lengths.iter().map(|p| weight(p) * (p[0] - cx) * (p[1] - cy)).sum();
        across / self.lengths.iter().map(|p| weight(p) * (p[0] - cx) * (p[0] - cx)).sum::<f64>()
    }
}

#[test]
fn the_spectrum_falls_by_the_hurst_exponent_and_alike_in_all_directions() {
    for basis in SMOOTH {
        for hurst in [0.3, 0.5, 0.8] {
            let params = Noise { basis, hurst, octaves: 8, wavelength_m: 128.0, ..Noise::default() };
            // Waves from 43 samples to 5, three octaves well inside the eight.
            let powers = Powers::of(&params, SEEDS, (6, 48));
            let (slope, bias) = (powers.slope(), powers.bias());
            println!("{basis:?} hurst {hurst}: slope {slope:.3}, directions {:.3?}: {bias:.3}", powers.ways);
            assert!((slope + 2.0 * hurst + 2.0).abs() < 0.15, "{basis:?}, hurst {hurst}: slope {slope}");
            assert!(bias < 0.1, "{basis:?}, hurst {hurst}: directions differ by {bias}");
        }
    }
}

#[test]
fn no_fractal_of_a_smooth_basis_has_a_favourite_direction() {
    let looks =
        FRACTALS.iter().flat_map(|&fractal| SMOOTH.map(|basis| Noise { basis, fractal, ..Noise::default() }));
    let mut biased = Vec::new();
    for look in looks {
        // Three octaves well inside an fBm; all waves of the others, by their power.
        let (wavelength_m, waves) =
            if look.fractal == Fractal::Fbm { (128.0, (6, 48)) } else { (4.0, (8, 120)) };
        let params = Noise { octaves: if wavelength_m > 4.0 { 8 } else { 3 }, wavelength_m, ..look };
        let bias = Powers::of(&params, SEEDS, waves).bias();
        let name = format!("{:?} {:?}: {bias:.3}", params.basis, params.fractal);
        println!("{name}");
        if bias >= 0.1 {
            biased.push(name);
        }
    }
    assert!(biased.is_empty(), "directions differ: {biased:?}");
    // White noise is white down to two of its cells, here four samples wide.
    let white = Noise { basis: Basis::White, fractal: Fractal::None, wavelength_m: 4.0, ..Noise::default() };
    let bias = Powers::of(&white, SEEDS, (6, 32)).bias();
    assert!(bias < 0.1, "white: directions differ by {bias}");
}

#[test]
fn an_amplitude_may_be_a_layer() {
    let frame = Frame::square(4096.0, 65).unwrap();
    let mut terrain = Terrain::new(frame);
    let share = |col: usize| if col < 40 { col as f32 } else { f32::NAN };
    terrain.set_named(
        LayerName::parse("mask.rough").unwrap(),
        LayerData::F32(Arc::new(Raster::from_fn(65, 65, |col, _| share(col)))),
    );
    let plain = Noise { amplitude_m: Coef::Const(1.0), offset_m: 0.0, ..Noise::default() };
    let varied = Noise {
        amplitude_m: Coef::Layer(LayerName::parse("mask.rough").unwrap()),
        offset_m: 30.0,
        ..plain.clone()
    };
    let height =
        |op: &Noise| op.apply(terrain.clone(), &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone();
    let (plain, varied) = (height(&plain), height(&varied));
    for row in 0..65 {
        for col in 0..65 {
            let (found, wanted) = (varied.row(row)[col], plain.row(row)[col] * share(col) + 30.0);
            assert!(found == wanted || (found.is_nan() && col >= 40), "{found} {wanted} at {col} {row}");
        }
    }
}

#[test]
fn slopes_are_those_of_the_formula() {
    let base = Noise { octaves: 3, wavelength_m: 100.0, amplitude_m: Coef::Const(10.0), ..Noise::default() };
    let mut looks: Vec<Noise> = Vec::new();
    for basis in SMOOTH {
        looks.extend(FRACTALS.map(|fractal| Noise { basis, fractal, ..base.clone() }));
        looks.push(Noise { basis, rotation_deg: 25.0, stretch: 2.5, ..base.clone() });
        looks.push(Noise { basis, warp_m: 20.0, warp_wavelength_m: 150.0, ..base.clone() });
    }
    looks.push(Noise { basis: Basis::Worley, ..base.clone() });
    let seed = Seed(77);
    for params in looks {
        let field = field(&params, 5);
        let h = 0.05;
        let mut wrong = 0;
        for i in 0..400 {
            let (x, y) = (4000.0 * seed.unit(2 * i) - 2000.0, 4000.0 * seed.unit(2 * i + 1) - 2000.0);
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
        let params = Noise {
            basis,
            fractal: Fractal::None,
            wavelength_m: 1.0,
            amplitude_m: Coef::Const(1.0),
            ..Noise::default()
        };
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
        amplitude_m: Coef::Const(1.0),
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
            // 300 steps of a length that is not a binary fraction, over two periods and a bit.
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
    assert_eq!(turned.faults()[0].to_string(), "rotation_deg: must be 0 when period_m is set, found 30");
    let short = Noise { period_m: 100.0, ..Noise::default() };
    assert_eq!(short.faults()[0].to_string(), "period_m: 100 is below one wavelength (3000) and not 0");
    let odd = Noise { basis: Basis::Perlin, period_m: 4096.0, wavelength_m: 1500.0, ..Noise::default() };
    let ctx = Ctx::silent();
    odd.apply(Terrain::new(Frame::square(100.0, 9).unwrap()), &ctx).unwrap();
    assert_eq!(
        ctx.take_warnings(),
        ["wavelength_m = 1500 does not divide period_m = 4096; 1365.3 m is used"]
    );
}

#[test]
fn the_warning_of_a_period_says_what_simplex_noise_needs() {
    let warnings = |wavelength_m: f64, basis: Basis| {
        let odd = Noise { basis, period_m: 4096.0, wavelength_m, ..Noise::default() };
        let ctx = Ctx::silent();
        odd.apply(Terrain::new(Frame::square(100.0, 9).unwrap()), &ctx).unwrap();
        ctx.take_warnings()
    };
    // 1024 divides 4096, but triangles of that wavelength do not.
    assert_eq!(
        warnings(1024.0, Basis::Simplex),
        [
            "period_m = 4096 does not hold a whole number of the triangles of simplex noise, which are 1.075 times \
             wavelength_m = 1024 wide and 0.931 times as high; 952.9 m is used from west to east and 1100.4 m from south \
             to north"
        ]
    );
    assert_eq!(warnings(1024.0, Basis::Perlin), [""; 0]);
    // Nearly whole both ways: 15 triangles, 18 lines would be 244.5 m high.
    assert_eq!(warnings(4096.0 / 15.0 / 1.074_569_931_823_542, Basis::Simplex).len(), 1);
    assert_eq!(warnings(63.5, Basis::Simplex), [""; 0]);
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
                let turned = Noise { stretch: 100.0, rotation_deg: 30.0, ..params.clone() };
                for params in [params, turned] {
                    let land = field(&params, 1).raster(&frame);
                    assert!(land.as_slice().iter().all(|v| v.is_finite()), "{params:?}");
                }
            }
        }
    }
}
