//! The main job, as a user runs it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{Bench, SMALL};

fn manifest(bench: &Bench, out: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(bench.path(out).join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn one_command_writes_every_file() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    let run = bench.run(&["build", "r.toml"]);
    run.succeeds();
    assert_eq!(run.stdout, "");
    let mut names: Vec<String> = std::fs::read_dir(bench.path("out/r"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in [
        "biome.tif",
        "height.png",
        "height.png.json",
        "height.tif",
        "manifest.json",
        "moisture.tif",
        "polygons.geojson",
        "relief.png",
        "rivers.geojson",
        "temperature.tif",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is missing: {names:?}");
    }
    let manifest = manifest(&bench, "out/r");
    let listed: Vec<&str> =
        manifest["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(listed.len() + 1, names.len(), "{listed:?} {names:?}");
    let height = &manifest["files"].as_array().unwrap().iter().find(|f| f["name"] == "height.tif").unwrap();
    assert_eq!(height["unit"], "m");
    assert!(height["min"].as_f64().unwrap() < 0.0 && height["max"].as_f64().unwrap() > 100.0);
    assert_eq!(height["sha256"].as_str().unwrap().len(), 64);
    assert!(manifest["steps"][0]["seconds"].as_f64().unwrap() >= 0.0);
    assert!(manifest["steps"][0]["peak_memory_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn a_rebuild_removes_what_it_no_longer_makes_and_nothing_else() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL.to_owned() + "[[export]]\nkind = \"png16\"\n[[export]]\nkind = \"r32\"\n");
    bench.run(&["build", "r.toml", "--out", "o"]).succeeds();
    let listed = |manifest: &serde_json::Value| -> Vec<String> {
        let files = manifest["files"].as_array().unwrap();
        files.iter().map(|f| f["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut before = manifest(&bench, "o");
    let gone: Vec<String> = listed(&before).into_iter().filter(|name| name.contains("r32")).collect();
    assert!(!gone.is_empty(), "{before}");
    // What the folder holds besides, and names that lead out of it, are none of a build's business.
    bench.write("o/mine.txt", "mine");
    bench.write("outside.txt", "mine");
    let escape = serde_json::json!({ "name": "../outside.txt" });
    before["files"].as_array_mut().unwrap().push(escape);
    bench.write("o/manifest.json", before.to_string());
    bench.write("r.toml", SMALL.to_owned() + "[[export]]\nkind = \"png16\"\n");
    bench.run(&["build", "r.toml", "--out", "o"]).succeeds();
    let after = listed(&manifest(&bench, "o"));
    assert!(after.iter().all(|name| bench.path("o").join(name).exists()));
    assert!(
        gone.iter().all(|name| !after.contains(name) && !bench.path("o").join(name).exists()),
        "{gone:?}"
    );
    assert!(bench.path("o/mine.txt").exists() && bench.path("outside.txt").exists());
}

#[test]
fn coarse_16_bit_steps_are_reported_if_the_recipe_exports_them() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    bench.write("asked.toml", SMALL.to_owned() + "[[export]]\nkind = \"png16\"\n");
    for (recipe, out, warned) in [("r.toml", "out/r", false), ("asked.toml", "out/asked", true)] {
        let run = bench.run(&["build", recipe]);
        assert_eq!(
            run.succeeds().stderr.contains("warning: height.png: 16 bits keep"),
            warned,
            "{}",
            run.stderr
        );
        assert!(manifest(&bench, out)["warnings"][0].as_str().unwrap().contains("16 bits keep"));
        let sidecar = std::fs::read_to_string(bench.path(out).join("height.png.json")).unwrap();
        assert!(sidecar.contains("\"warning\": \"16 bits keep"), "{sidecar}");
    }
}

#[test]
fn same_recipe_same_bytes_for_every_thread_count_and_cache() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    let hashes = |out: &str| -> BTreeMap<String, String> {
        manifest(&bench, out)["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| (f["name"].to_string(), f["sha256"].to_string()))
            .collect()
    };
    bench.run(&["build", "r.toml", "--out", "one", "--threads", "1", "--no-cache"]).succeeds();
    bench.run(&["build", "r.toml", "--out", "two", "--threads", "2"]).succeeds();
    bench.run(&["build", "r.toml", "--out", "again"]).succeeds();
    assert_eq!(hashes("one"), hashes("two"));
    assert_eq!(hashes("one"), hashes("again"));
    assert_eq!(manifest(&bench, "again")["steps"][0]["cached"], true);
}

#[test]
fn the_call_chooses_kinds_and_leaves_out_the_sea_floor() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    bench.run(&["build", "r.toml", "--kinds", "png16,r16,geotiff", "--out", "deep"]).succeeds();
    bench.run(&["build", "r.toml", "--kinds", "png16,geotiff", "--out", "land", "--no-sea-floor"]).succeeds();
    assert!(!bench.path("deep/relief.png").exists() && bench.path("deep/height.r16").exists());
    let sidecar = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(bench.path(name)).unwrap()).unwrap()
    };
    // Grey of 0 m, between that of the lowest and of the highest sample.
    let deep = sidecar("deep/height.png.json");
    let (min, max) = (deep["min"].as_f64().unwrap(), deep["max"].as_f64().unwrap());
    assert!(min < 0.0 && max > 0.0, "{deep}");
    let grey = (-min / (max - min) * 65535.0).round();
    assert_eq!(deep["sea_level_grey"].as_f64(), Some(grey), "{deep}");
    assert_eq!(sidecar("deep/height.r16.json")["sea_level_grey"], deep["sea_level_grey"]);
    let land = sidecar("land/height.png.json");
    assert_eq!((land["min"].as_f64(), land["max"].as_f64()), (Some(0.0), Some(max)), "{land}");
    assert_eq!(land["sea_level_grey"], 0);
    // Other layers are there, and the manifest says what the file holds.
    let files = manifest(&bench, "land")["files"].clone();
    let of = |name: &str| files.as_array().unwrap().iter().find(|f| f["name"] == name).unwrap().clone();
    assert_eq!(of("height.tif")["min"].as_f64(), Some(0.0));
    assert!(bench.path("land/moisture.tif").exists());
    bench.run(&["build", "r.toml", "--kinds", "png61"]).fails(2, &["png61", "png16"]);
    // The same as an option of a recipe.
    bench.write("s.toml", format!("{SMALL}\n[[export]]\nkind = \"png16\"\nsea_floor = false\n"));
    bench.run(&["build", "s.toml", "--out", "asked"]).succeeds();
    assert_eq!(sidecar("asked/height.png.json")["min"].as_f64(), Some(0.0));
}

#[test]
fn changing_the_last_step_recomputes_only_that() {
    let bench = Bench::new();
    bench.write(
        "r.toml",
        SMALL.to_owned() + "[[step]]\nid = \"raise\"\nop = \"combine.add\"\nparams = { operand = 10.0 }\n",
    );
    bench.run(&["build", "r.toml", "--out", "a"]).succeeds();
    bench.run(&["build", "r.toml", "--out", "b", "--set", "raise.operand=20"]).succeeds();
    let steps = &manifest(&bench, "b")["steps"];
    assert_eq!(steps[0]["cached"], true);
    assert_eq!(steps[1]["cached"], false);
}

#[test]
fn the_manifest_goes_to_stdout_as_json() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    let run = bench.run(&["build", "r.toml", "--json", "--quiet"]);
    run.succeeds();
    assert_eq!(run.stderr, "");
    let printed: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(printed["files"], manifest(&bench, "out/r")["files"]);
}

#[test]
fn a_window_equals_the_same_part_of_the_whole() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL.to_owned() + "[[export]]\nkind = \"r32\"\n");
    bench.run(&["build", "r.toml", "--out", "whole"]).succeeds();
    // 64 m between samples: columns 16 to 32, and rows 64 - 40 to 64 - 8 counted from the north.
    bench.run(&["build", "r.toml", "--out", "part", "--window", "1024,512,2048,2560"]).succeeds();
    let whole = std::fs::read(bench.path("whole/height.r32")).unwrap();
    let part = std::fs::read(bench.path("part/height.r32")).unwrap();
    let (cols, rows) = (17, 33);
    assert_eq!(part.len(), cols * rows * 4);
    for row in 0..rows {
        let at = ((row + 24) * 65 + 16) * 4;
        assert_eq!(&whole[at..at + cols * 4], &part[row * cols * 4..][..cols * 4], "row {row}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let bench = Bench::new();
    let mut child = bench.command(&["ops", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_file() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    // At several moments: during the step, while files are made, perhaps after the end.
    for after_ms in [20, 60, 150, 400, 900] {
        let out = format!("out{after_ms}");
        let mut child = bench
            .command(&["build", "r.toml", "--no-cache", "--samples", "1025", "--out", &out])
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        let pid = child.id().to_string();
        std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
        let code = child.wait().unwrap().code();
        let files = bench.files();
        match code {
            Some(0) => assert!(files.contains(&format!("{out}/manifest.json")), "{files:?}"),
            // Killed by the signal itself when it came before the handler was set.
            Some(1) | None => assert!(!files.iter().any(|f| f.starts_with(&out)), "{files:?}"),
            other => panic!("exit code {other:?}"),
        }
        assert!(!files.iter().any(|f| f.contains("tmp") || f.starts_with('.')), "{files:?}");
    }
}

#[test]
fn new_writes_a_recipe_that_builds() {
    let bench = Bench::new();
    let listed = bench.run(&["new", "--list"]);
    for line in listed.succeeds().stdout.lines() {
        let preset = line.split_whitespace().next().unwrap();
        let file = format!("{preset}.toml");
        bench.run(&["new", "--preset", preset, "--seed", "any text"]).succeeds();
        bench.run(&["check", &file]).succeeds();
        bench.run(&["build", &file, "--samples", "129", "--out", preset]).succeeds();
        bench.run(&["new", "--preset", preset]).fails(2, &["--force"]);
    }
}

#[test]
fn the_catalogue_is_printed_in_words_and_as_json() {
    let bench = Bench::new();
    assert!(bench.run(&["ops"]).succeeds().stdout.contains("source.island"));
    assert!(bench.run(&["ops", "source.island"]).succeeds().stdout.contains("polygons"));
    bench.run(&["ops", "source.iland"]).fails(2, &["did you mean \"source.island\"?"]);
    let json: serde_json::Value =
        serde_json::from_str(&bench.run(&["ops", "--json"]).succeeds().stdout).unwrap();
    assert!(json["operators"].as_array().unwrap().len() > 5);
    let schema: serde_json::Value = serde_json::from_str(&bench.run(&["schema"]).succeeds().stdout).unwrap();
    assert_eq!(schema["title"], "Orogen recipe");
}

#[test]
fn a_window_partly_outside_is_refused_however_far_apart_its_samples_are() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    for samples in ["5", "65"] {
        for window in ["-900,0,900,1100", "0,0,1100,4200", "3500,3000,4900,4000"] {
            let run = bench.run(&["build", "r.toml", "--samples", samples, "--window", window, "--out", "w"]);
            run.fails(2, &[&format!("the window {window} reaches beyond the recipe's frame 0,0,4096,4096")]);
        }
    }
    bench.run(&["build", "r.toml", "--samples", "5", "--window", "0,0,4096,4096", "--out", "w"]).succeeds();
}

#[test]
fn a_fault_without_a_place_has_every_member_in_json() {
    let bench = Bench::new();
    let run = bench.run(&["check", "nowhere.toml", "--json"]);
    run.fails(2, &["no such file"]);
    let found: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let fault = found["faults"][0].as_object().unwrap();
    for name in ["line", "column", "option", "step", "parameter"] {
        assert_eq!(fault.get(name), Some(&serde_json::Value::Null), "{name}");
    }
    assert_eq!(fault["file"], "nowhere.toml");
    assert_eq!(found["more"], 0);
}

#[test]
fn the_list_of_presets_has_straight_columns() {
    let bench = Bench::new();
    let listed = bench.run(&["new", "--list"]).succeeds().stdout.clone();
    let starts: Vec<Option<usize>> = listed
        .lines()
        .map(|line| line.find("  ").map(|end| end + line[end..].len() - line[end..].trim_start().len()))
        .collect();
    assert!(
        starts.len() > 5 && starts.iter().all(|start| *start == starts[0] && start.is_some()),
        "{listed}"
    );
}
