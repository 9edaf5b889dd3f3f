//! Noise crates, and some for Poisson disks, behind one question and answer per line: `fastnoise2 simplex 1024 2` (crate, basis, wavelength of the
//! first octave in samples, threads) is answered by `ok SECONDS`, anything else by `no SENTENCE`.
//!
//! All noise is fBm of 8 octaves on 4096 x 4096 samples, into a raster they allocate, as Orogen does. Of `fast_poisson disks 1 1` the
//! third word is the distance.
#![allow(clippy::print_stdout, reason = "answers go to the one who asked")]

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

const SIDE: usize = 4096;
const OCTAVES: u8 = 8;
/// Each octave is this much lower than the one before: a Hurst exponent of 0.9.
const GAIN: f32 = 0.535_886_7;
const SEED: i32 = 7;

fn main() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let answer = match answer(&line) {
            Ok(seconds) => format!("ok {seconds}"),
            Err(sentence) => format!("no {sentence}"),
        };
        println!("{answer}");
        if std::io::stdout().flush().is_err() {
            return;
        }
    }
}

fn answer(question: &str) -> Result<f64, String> {
    let words: Vec<&str> = question.split_whitespace().collect();
    let [peer, basis, wavelength, threads] = words[..] else {
        return Err(format!("expected crate, basis, wavelength and threads, found {question:?}"));
    };
    let wavelength: f32 = wavelength.parse().map_err(|e| format!("wavelength: {e}"))?;
    let threads: usize = threads.parse().map_err(|e| format!("threads: {e}"))?;
    let frequency = 1.0 / wavelength;
    match peer {
        "fastnoise2" => fastnoise2(basis, frequency, threads),
        "fastnoise-lite" => fastnoise_lite(basis, frequency, threads),
        "noise" => noise(basis, frequency, threads),
        "simdnoise" => simdnoise(basis, frequency, threads),
        "fast_poisson" | "poisson-diskus" => disks(peer, f64::from(wavelength)),
        _ => Err(format!("no such crate here: {peer}")),
    }
}

/// Seconds a million Poisson disks take on 512 x 512, so far apart. Both crates work on one thread.
fn disks(peer: &str, radius: f64) -> Result<f64, String> {
    let start = Instant::now();
    let points = if peer == "fast_poisson" {
        black_box(fast_poisson::Poisson2D::new().with_dimensions([512.0; 2], radius).with_seed(7).generate()).len()
    } else {
        let points = poisson_diskus::bridson(&[512.0; 2], radius, 30, false);
        black_box(points.map_err(|e| format!("{e:?}"))?).len()
    };
    Ok(start.elapsed().as_secs_f64() * 1e6 / points as f64)
}

/// Seconds that it takes to fill a fresh raster, cut into as many parts as threads: `fill(first row, rows)`.
fn timed(threads: usize, fill: impl Fn(usize, &mut [f32]) + Sync) -> f64 {
    let start = Instant::now();
    let mut raster = vec![0.0f32; SIDE * SIDE];
    let rows = SIDE.div_ceil(threads.max(1));
    std::thread::scope(|scope| {
        for (i, part) in raster.chunks_mut(rows * SIDE).enumerate() {
            let fill = &fill;
            scope.spawn(move || fill(i * rows, part));
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    black_box(&raster);
    seconds
}

#[cfg(feature = "fastnoise2")]
fn fastnoise2(basis: &str, frequency: f32, threads: usize) -> Result<f64, String> {
    use fastnoise2::SafeNode;
    use fastnoise2::generator::prelude::*;
    let node: SafeNode = match basis {
        "perlin" => perlin().fbm(GAIN, 0.0, i32::from(OCTAVES), 2.0).build().0,
        "simplex" => simplex().fbm(GAIN, 0.0, i32::from(OCTAVES), 2.0).build().0,
        _ => return Err(format!("no such basis: {basis}")),
    };
    Ok(timed(threads, |row, part| {
        let rows = (part.len() / SIDE) as i32;
        node.gen_uniform_grid_2d(part, 0, row as i32, SIDE as i32, rows, frequency, SEED);
    }))
}

#[cfg(not(feature = "fastnoise2"))]
fn fastnoise2(_: &str, _: f32, _: usize) -> Result<f64, String> {
    Err(String::from("fastnoise2 could not be built"))
}

fn fastnoise_lite(basis: &str, frequency: f32, threads: usize) -> Result<f64, String> {
    use fastnoise_lite::{FastNoiseLite, FractalType, NoiseType};
    let mut noise = FastNoiseLite::with_seed(SEED);
    noise.set_noise_type(Some(match basis {
        "perlin" => NoiseType::Perlin,
        "simplex" => NoiseType::OpenSimplex2,
        _ => return Err(format!("no such basis: {basis}")),
    }));
    noise.set_fractal_type(Some(FractalType::FBm));
    noise.set_fractal_octaves(Some(i32::from(OCTAVES)));
    noise.set_fractal_gain(Some(GAIN));
    noise.set_frequency(Some(frequency));
    Ok(timed(threads, |row, part| {
        for (i, out) in part.iter_mut().enumerate() {
            *out = noise.get_noise_2d((i % SIDE) as f32, (row + i / SIDE) as f32);
        }
    }))
}

fn noise(basis: &str, frequency: f32, threads: usize) -> Result<f64, String> {
    use noise::{Fbm, MultiFractal, NoiseFn, OpenSimplex, Perlin, Seedable};
    fn filled<T: Default + Seedable + NoiseFn<f64, 2> + Sync>(frequency: f32, threads: usize) -> f64 {
        let fbm = Fbm::<T>::new(SEED as u32)
            .set_octaves(usize::from(OCTAVES))
            .set_frequency(f64::from(frequency))
            .set_lacunarity(2.0)
            .set_persistence(f64::from(GAIN));
        timed(threads, |row, part| {
            for (i, out) in part.iter_mut().enumerate() {
                *out = fbm.get([(i % SIDE) as f64, (row + i / SIDE) as f64]) as f32;
            }
        })
    }
    match basis {
        "perlin" => Ok(filled::<Perlin>(frequency, threads)),
        "simplex" => Ok(filled::<OpenSimplex>(frequency, threads)),
        _ => Err(format!("no such basis: {basis}")),
    }
}

fn simdnoise(basis: &str, frequency: f32, threads: usize) -> Result<f64, String> {
    if basis != "simplex" {
        return Err(format!("simdnoise has no fBm of {basis} noise"));
    }
    let rows = SIDE.div_ceil(threads.max(1));
    let start = Instant::now();
    // It allocates its own raster, and offers no fill of a part but by offset.
    let parts: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads.max(1))
            .map(|i| {
                scope.spawn(move || {
                    simdnoise::NoiseBuilder::fbm_2d_offset(0.0, SIDE, (i * rows) as f32, rows)
                        .with_seed(SEED)
                        .with_freq(frequency)
                        .with_octaves(OCTAVES)
                        .with_gain(GAIN)
                        .with_lacunarity(2.0)
                        .generate()
                        .0
                })
            })
            .collect();
        started.into_iter().filter_map(|part| part.join().ok()).collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    black_box(&parts);
    Ok(seconds)
}
