//! Replays the fuzzing corpus of species and some thousand mutations of it: no text may panic, take much memory or time, and what
//! is wrong is said in a sentence.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test may stop")]

use std::error::Error;

use orogen_core::Seed;
use orogen_flora::{Detail, Species, SpeciesError, from_arbaro, grow_within, mesh};

#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::{Dice, alone, corpus, mutated, with_peak};

/// Mutations of each file; `OROGEN_FUZZ_ROUNDS` asks for a longer run by hand.
fn rounds() -> usize {
    std::env::var("OROGEN_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}
/// Most stems and leaves of what is grown here.
const MOST_PARTS: usize = 3000;
/// What reading a text of some kilobytes and growing so small a plant may hold at once.
const MOST_BYTES: usize = 24 << 20;

fn examine(text: &str, read: impl Fn(&str) -> Result<Species, SpeciesError>) -> Result<(), Box<dyn Error>> {
    let species = read(text)?;
    let plant = grow_within(&species, Seed(1), MOST_PARTS)?;
    let all = plant.nodes.iter().flat_map(|node| node.at.iter().chain(&node.along).chain([&node.radius_m]));
    assert!(all.into_iter().all(|v| v.is_finite()), "the skeleton has numbers that are not finite");
    if plant.stems.len() + plant.leaves.len() < 300 && plant.stones.is_empty() {
        let made = mesh(&species, &plant, &Detail::FULL);
        let mut places = made.bark.positions.iter().chain(&made.leaves.positions).flatten();
        assert!(places.all(|v| v.is_finite()), "the mesh has places that are not finite");
    }
    Ok(())
}

fn survive(target: &str, read: impl Fn(&str) -> Result<Species, SpeciesError> + Copy) {
    let _alone = alone();
    let survives = |name: &str, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let (result, most) = with_peak(|| examine(&text, read));
        assert!(most < MOST_BYTES, "{name}: {most} bytes were in use");
        let is_broken = name.starts_with("broken_") && !name.contains("mutation");
        assert!(!is_broken || result.is_err(), "{name} was taken");
        if let Err(e) = result {
            let text = e.to_string();
            assert!((10..2000).contains(&text.len()), "{name}: {text}");
        }
    };
    for (i, (path, bytes)) in corpus(target).into_iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        survives(&name, &bytes);
        // What is large stays so when it changes a little, and takes its time.
        let rounds = if name.starts_with("large_") { 4 } else { rounds() };
        let mut dice = Dice::new(i as u64);
        for round in 0..rounds {
            survives(&format!("{name}, mutation {round}"), &mutated(&bytes, &mut dice));
        }
    }
}

#[test]
fn species_in_toml_survive_anything() {
    survive("species_toml", Species::from_toml);
}

#[test]
fn species_of_arbaro_survive_anything() {
    survive("species_xml", from_arbaro);
}
