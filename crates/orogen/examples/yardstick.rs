//! The units of the figures: the reference kernel, and a pass that writes a raster. `cargo xtask bench --peers` asks it
//! one question a line: `reference 2049`, `write 4097 2` (samples a side, threads) or `disks 1 4 2` (Poisson disks on 512 x 512: distance,
//! rounds of darts or `full`, threads; seconds a million), answered by `ok SECONDS`.
#![allow(clippy::print_stdout, reason = "answers go to the one who asked")]

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use orogen::core::{Ctx, Raster, Rect, Seed};
use orogen::ops::cover::poisson::{Plan, Spacing, disks};
use orogen::ops::reference::reference_fbm;

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
    let number = |text: &str| text.parse::<usize>().map_err(|e| format!("{text:?}: {e}"));
    match words[..] {
        ["reference", side] => {
            let side = number(side)?;
            let start = Instant::now();
            black_box(reference_fbm(side, side, Seed(7)));
            Ok(start.elapsed().as_secs_f64())
        }
        ["write", side, threads] => {
            let (side, threads) = (number(side)?, number(threads)?);
            orogen::with_threads(Some(threads), || {
                let start = Instant::now();
                let mut raster = Raster::filled(side, side, 0.0f32);
                raster.par_rows(|row, values| values.fill(row as f32));
                black_box(&raster);
                start.elapsed().as_secs_f64()
            })
            .map_err(|e| e.to_string())
        }
        ["disks", distance, darts, threads] => {
            let distance: f64 = distance.parse().map_err(|e| format!("{distance:?}: {e}"))?;
            let maximal = darts == "full";
            let darts = if maximal { 4 } else { number(darts)? as u32 };
            let plan = Plan { spacing: Spacing::new(distance), seed: Seed(7), darts, maximal };
            let rect = Rect { min: [0.0; 2], max: [512.0; 2] };
            let inside = |[x, y]: [f64; 2]| (0.0..512.0).contains(&x) && (0.0..512.0).contains(&y);
            orogen::with_threads(Some(number(threads)?), || {
                let start = Instant::now();
                let made =
                    disks(&rect, &rect, &plan, &[], inside, &Ctx::silent()).map_err(|e| e.to_string())?;
                let points = black_box(made.points(&rect)).len();
                Ok(start.elapsed().as_secs_f64() * 1e6 / points as f64)
            })
            .map_err(|e| e.to_string())?
        }
        _ => Err(format!(
            "expected \"reference SIDE\", \"write SIDE THREADS\" or \"disks METRES DARTS THREADS\", found {question:?}"
        )),
    }
}
