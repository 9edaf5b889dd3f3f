//! Presets show what their names promise, for every seed.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen::prelude::*;

/// The height of a preset at few samples.
fn height(name: &str, seed: &str) -> Raster<f32> {
    let preset = orogen::presets::preset(name).unwrap();
    let recipe = Recipe::parse(preset.name, preset.with_seed(seed).as_bytes()).unwrap();
    let mut options = BuildOptions::default();
    options.overrides.samples = Some(129);
    let built = orogen::build(&recipe, &options, &Unobserved).unwrap();
    built.terrain.get(layer::HEIGHT).unwrap().clone()
}

/// Samples of each piece of land, by its four neighbours.
fn islands(height: &Raster<f32>) -> Vec<usize> {
    let (cols, rows) = (height.cols(), height.rows());
    let mut seen: Vec<bool> = height.as_slice().iter().map(|h| *h <= 0.0).collect();
    let mut sizes = Vec::new();
    for start in 0..seen.len() {
        let (mut size, mut front) = (0, vec![start]);
        while let Some(cell) = front.pop() {
            if !std::mem::replace(&mut seen[cell], true) {
                size += 1;
                let (col, row) = (cell % cols, cell / cols);
                front.extend((col > 0).then(|| cell - 1));
                front.extend((col + 1 < cols).then(|| cell + 1));
                front.extend((row > 0).then(|| cell - cols));
                front.extend((row + 1 < rows).then(|| cell + cols));
            }
        }
        sizes.push(size);
    }
    sizes
}

/// Of seven seeds two had one island: five vents stood close, and the greatest cone took in its neighbours.
#[test]
fn a_volcanic_chain_has_several_islands_whatever_its_seed() {
    for seed in ["merapi", "1", "2", "3", "4", "5", "6", "hello"] {
        let sizes = islands(&height("volcanic-chain", seed));
        // Of a square kilometre or more, so rocks off the shore do not count.
        let large = sizes.iter().filter(|&&size| size > 10).count();
        assert!(large >= 3, "seed {seed}: {large} islands");
    }
}
