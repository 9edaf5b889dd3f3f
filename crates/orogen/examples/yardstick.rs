//! The units of the figures: the reference kernel, and a pass that writes a raster. `cargo xtask bench --peers` asks it
//! one question a line: `reference 2049` or `write 4097 2` (samples a side, threads), answered by `ok SECONDS`.
#![allow(clippy::print_stdout, reason = "answers go to the one who asked")]

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use orogen::core::{Raster, Seed};
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
        _ => Err(format!("expected \"reference SIDE\" or \"write SIDE THREADS\", found {question:?}")),
    }
}
