//! Replays the fuzzing corpus of recipes and some thousand mutations of it: no text may panic or take much memory, and
//! whatever is wrong is reported in sentences of bounded number and length.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test may stop")]

use orogen_core::Catalog;
use orogen_recipe::{Faults, Limits, Overrides, Recipe, Set};

#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::{Dice, alone, corpus, mutated, with_peak};

/// Mutations of each file.
const ROUNDS: usize = 600;
/// What a recipe of a few kilobytes may hold at once, its syntax tree and sentences included.
const MOST_BYTES: usize = 16 << 20;

/// Everything that happens to a recipe before it runs. No operators: what they say is theirs to test.
fn examine(bytes: &[u8]) -> Result<(), Faults> {
    let catalog = Catalog::new(Vec::new());
    let mut recipe = Recipe::parse("fuzz.toml", bytes)?;
    let set = Set::parse("island.edits[0].points_m[0]=[1, 2]").unwrap();
    // Most recipes have no such step: that is reported, and the check goes on without the change.
    let _ = recipe.apply(&Overrides { set: vec![set], ..Overrides::default() }, &catalog);
    recipe.check(&catalog, &Limits::default()).map(|_| ())
}

fn survives(name: &str, bytes: &[u8]) {
    let (result, most) = with_peak(|| examine(bytes));
    assert!(most < MOST_BYTES, "{name}: {most} bytes were in use");
    if let Err(faults) = result {
        assert!(!faults.list.is_empty() && faults.list.len() <= 100, "{name}: {} faults", faults.list.len());
        for fault in faults.list.iter().map(|fault| fault.text(&faults.recipe)) {
            assert!((20..2000).contains(&fault.len()), "{name}: {fault}");
        }
    }
}

#[test]
fn recipes_survive_anything() {
    let _alone = alone();
    for (i, (path, bytes)) in corpus("recipe").into_iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        survives(&name, &bytes);
        let mut dice = Dice::new(i as u64);
        for round in 0..ROUNDS {
            survives(&format!("{name}, mutation {round}"), &mutated(&bytes, &mut dice));
        }
    }
}

#[test]
fn a_recipe_cut_anywhere_is_answered() {
    let _alone = alone();
    for (path, bytes) in corpus("recipe").into_iter().filter(|(_, bytes)| bytes.len() < 3000) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (0..bytes.len()).for_each(|length| survives(&format!("{name} cut at {length}"), &bytes[..length]));
    }
}
