//! Bad input gets a sentence and exit code 2 (the call or the recipe is wrong) or 1 (the work failed); never a panic,
//! and never half a file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use std::fs::File;
use std::process::Command;

use common::{Bench, Run, SMALL};

/// Builds a recipe that must be refused, and sees that nothing was written.
#[track_caller]
fn refused(recipe: impl AsRef<[u8]>, says: &[&str]) {
    let bench = Bench::new();
    bench.write("r.toml", recipe);
    for command in ["build", "check"] {
        bench.run(&[command, "r.toml"]).fails(2, says);
    }
    assert_eq!(bench.files(), ["r.toml"]);
}

fn with_params(params: &str) -> String {
    SMALL.replace("params = { polygons = 300 }", &format!("params = {{ {params} }}"))
}

#[test]
fn an_empty_recipe() {
    refused("", &["r.toml", "empty"]);
}

#[test]
fn a_truncated_recipe() {
    refused(&SMALL[..SMALL.len() - 8], &["r.toml:8:"]);
}

#[test]
fn a_recipe_that_is_not_utf8() {
    refused(b"seed = \"\xff\xfe\"", &["r.toml", "UTF-8"]);
}

#[test]
fn a_recipe_of_100_mb() {
    let bench = Bench::new();
    File::create(bench.path("r.toml")).unwrap().set_len(100 << 20).unwrap();
    bench.run(&["build", "r.toml"]).fails(2, &["r.toml", "MiB"]);
}

#[test]
fn toml_bombs() {
    refused("a = ".to_owned() + &"[".repeat(200_000), &["r.toml"]);
    refused("a.".repeat(100_000) + "a = 1", &["r.toml"]);
    refused("[[step]]\nid = \"a\"\nop = \"source.island\"\n".repeat(20_000), &["r.toml", "steps"]);
    refused("a = \"".to_owned() + &"x".repeat(1 << 20), &["r.toml"]);
}

#[test]
fn numbers_that_are_none_or_out_of_range() {
    for (params, says) in [
        ("polygons = -1", "polygons: -1 is outside"),
        ("peak_m = nan", "peak_m: NaN is outside"),
        ("peak_m = inf", "peak_m: inf is outside"),
        ("peak_m = 1e30", "peak_m: 1e30 is outside"),
        ("peak_m = -1", "peak_m: -1 is outside"),
        ("polygons = 2.5", "polygons: expected a whole number"),
        ("polygons = \"many\"", "polygons: expected a whole number"),
        ("polygns = 10", "did you mean \"polygons\"?"),
    ] {
        refused(with_params(params), &["r.toml:8:", "step \"island\"", says]);
    }
}

#[test]
fn a_frame_that_needs_too_much_memory() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL.replace("samples = 65", "samples = 1000000"));
    bench.run(&["build", "r.toml"]).fails(2, &["r.toml:3:", "--memory", "58.2 TiB"]);
    bench.write("s.toml", SMALL);
    bench.run(&["build", "s.toml", "--samples", "1000000"]).fails(2, &["--samples", "--memory"]);
    bench.run(&["build", "s.toml", "--samples", "513", "--memory", "1M"]).fails(2, &["--memory"]);
}

#[test]
fn frames_that_are_none() {
    for (frame, says) in [
        ("{ size_m = nan, samples = 65 }", "size_m"),
        ("{ size_m = -4.0, samples = 65 }", "size_m"),
        ("{ size_m = 4096.0, samples = 1 }", "samples"),
        ("{ size_m = 4096.0, sample = 65 }", "did you mean \"samples\"?"),
    ] {
        refused(SMALL.replace("{ size_m = 4096.0, samples = 65 }", frame), &["r.toml:3:", says]);
    }
}

#[test]
fn names_that_do_not_exist() {
    refused(
        SMALL.replace("source.island", "source.iland"),
        &["r.toml:7:", "did you mean \"source.island\"?"],
    );
    refused(
        SMALL.replace("source.island", "xyzzy"),
        &["no such operator \"xyzzy\"", "help: `orogen ops` lists all operators"],
    );
    refused(SMALL.to_owned() + "from = \"later\"\n", &["\"later\""]);
    refused(
        SMALL.to_owned() + "[[export]]\nkind = \"geotif\"\n",
        &["r.toml:10:", "did you mean \"geotiff\"?"],
    );
}

#[test]
fn all_faults_are_listed_at_once() {
    let recipe = with_params("polygons = -1, peak_m = nan") + "[[step]]\nid = \"island\"\nop = \"nothing\"\n";
    refused(recipe, &["polygons", "peak_m", "already has this id", "\"nothing\""]);
}

#[test]
fn a_missing_file_and_a_folder() {
    let bench = Bench::new();
    bench.run(&["build", "no.toml"]).fails(2, &["no.toml", "no such file"]);
    std::fs::create_dir(bench.path("dir.toml")).unwrap();
    bench.run(&["build", "dir.toml"]).fails(2, &["dir.toml"]);
}

#[test]
fn a_dem_that_is_missing_or_broken() {
    let bench = Bench::new();
    let recipe =
        |path: &str| format!("[[step]]\nid = \"dem\"\nop = \"source.dem\"\nparams = {{ path = {path:?} }}\n");
    bench.write("r.toml", recipe("no.tif"));
    let says = "r.toml:4:12: step \"dem\": path: file \"no.tif\": no such file";
    for command in ["build", "check"] {
        bench.run(&[command, "r.toml", "--samples", "65"]).fails(2, &[says]);
    }
    // Names start at the recipe's folder, wherever the program is called.
    std::fs::create_dir(bench.path("sub")).unwrap();
    bench.write("sub/r.toml", recipe("here.tif"));
    bench.write("here.tif", b"not beside the recipe");
    bench.run(&["check", "sub/r.toml"]).fails(2, &["here.tif"]);
    bench.write("sub/here.tif", b"beside it");
    bench.run(&["check", "sub/r.toml"]).succeeds();
    std::fs::remove_file(bench.path("here.tif")).unwrap();
    std::fs::remove_dir_all(bench.path("sub")).unwrap();
    bench.write("bad.tif", b"II*\0 this is not a TIFF");
    bench.write("r.toml", recipe("bad.tif"));
    bench.run(&["build", "r.toml", "--samples", "65"]).fails(2, &["step \"dem\"", "bad.tif"]);
    assert_eq!(bench.files(), ["bad.tif", "r.toml"]);
}

#[test]
fn a_recipe_that_cannot_be_written() {
    let bench = Bench::new();
    bench.write("kept.toml", "precious");
    bench.run(&["new", "kept.toml"]).fails(2, &["kept.toml", "--force"]);
    assert_eq!(std::fs::read(bench.path("kept.toml")).unwrap(), b"precious");
    bench.run(&["new", "/proc/orogen-test/a.toml"]).fails(1, &["/proc/orogen-test"]);
    bench.run(&["new", ".."]).fails(2, &["not a file name"]);
    assert_eq!(bench.files(), ["kept.toml"]);
}

#[test]
fn options_that_are_out_of_range() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    for (option, value, says) in [
        ("--samples", "-5", "at least 2"),
        ("--samples", "1", "at least 2"),
        ("--samples", "many", "at least 2"),
        ("--spacing", "-1", "positive number of metres"),
        ("--window", "5000,0,6000,10", "reaches beyond the recipe's frame 0,0,4096,4096"),
        ("--window", "-64,0,1024,1024", "reaches beyond the recipe's frame 0,0,4096,4096"),
        ("--window", "1,1,2,2", "lies between two samples"),
        ("--window", "0,0,1e300,1", "too far out"),
        ("--memory", "1M", "the limit of 1 MiB"),
    ] {
        bench.run(&["build", "r.toml", option, value]).fails(2, &[says]);
    }
}

#[test]
fn a_step_whose_result_nobody_uses_is_reported() {
    let bench = Bench::new();
    let steps = r#"
        [[step]]
        id = "lost"
        op = "survey.slope"
        [[step]]
        id = "shade"
        op = "survey.hillshade"
        from = "island"
    "#;
    bench.write("r.toml", SMALL.to_owned() + steps);
    let says = "warning: step \"lost\" has no effect";
    for args in [["check", "r.toml"].as_slice(), &["build", "r.toml"]] {
        assert!(bench.run(args).succeeds().stderr.contains(says), "{args:?}");
    }
}

#[test]
fn check_prints_one_json_document_whatever_is_wrong() {
    let bench = Bench::new();
    bench.write("good.toml", SMALL);
    bench.write("bad.toml", "x = 1");
    for (recipe, code, faults) in [("good.toml", 0, 0), ("bad.toml", 2, 2), ("missing.toml", 2, 1)] {
        let run = bench.run(&["check", recipe, "--json"]);
        assert_eq!(run.code, Some(code));
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(json["faults"].as_array().unwrap().len(), faults, "{json}");
        for fault in json["faults"].as_array().unwrap() {
            assert!(
                fault["file"].as_str().unwrap().ends_with(recipe) && fault["message"].is_string(),
                "{json}"
            );
        }
    }
}

#[test]
fn check_gives_faults_as_fields() {
    let bench = Bench::new();
    bench.write("r.toml", "[[step]]\nid = \"land\"\nop = \"source.noise\"\nparams = { octaves = 99 }\n");
    let run = bench.run(&["check", "r.toml", "--json"]);
    assert_eq!(run.code, Some(2));
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let fault = &json["faults"][0];
    assert_eq!((&fault["file"], &fault["line"], &fault["column"]), (&"r.toml".into(), &4.into(), &12.into()));
    assert_eq!((&fault["step"], &fault["parameter"]), (&"land".into(), &"octaves".into()));
    assert!(fault["message"].as_str().unwrap().contains("99 is outside 1 to 24"), "{json}");

    let run = bench.run(&["check", "r.toml", "--json", "--set", "land.octaves=0"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let fault = &json["faults"][0];
    assert_eq!((&fault["option"], &fault["line"]), (&"--set land.octaves".into(), &serde_json::Value::Null));
}

#[test]
fn an_output_folder_that_is_a_file() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    bench.write("out", "precious");
    bench.run(&["build", "r.toml", "--out", "out"]).fails(2, &["out: it is a file, not a folder"]);
    bench.run(&["build", "r.toml", "--out", "out/deeper"]).fails(2, &["out: it is a file, not a folder"]);
    assert_eq!(std::fs::read(bench.path("out")).unwrap(), b"precious");
}

#[test]
fn an_output_folder_that_cannot_be_written() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    // No user, root included, may create a folder there.
    bench.run(&["build", "r.toml", "--out", "/proc/orogen-test"]).fails(1, &["/proc/orogen-test"]);
    assert_eq!(bench.files(), ["r.toml"]);
}

#[test]
fn a_disk_that_is_full() {
    // A file may grow to 8 KiB only, and the signal for it is ignored, so that writes fail half-way as on a full disk.
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    let script = format!(
        "trap '' XFSZ; ulimit -f 16; exec {} build r.toml --no-cache --out full",
        env!("CARGO_BIN_EXE_orogen")
    );
    let output = Command::new("sh").args(["-c", &script]).current_dir(bench.path("")).output().unwrap();
    Run::of(output).fails(1, &["full"]);
    assert_eq!(bench.files(), ["r.toml"]);
}

#[test]
fn bad_changes() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    for (set, says) in [
        ("island.polygns=5", "did you mean \"polygons\"?"),
        ("iland.polygons=5", "did you mean \"island\"?"),
        ("island.polygons=nan", "polygons"),
        ("polygons", "STEP.PARAM=VALUE"),
    ] {
        bench.run(&["build", "r.toml", "--set", set]).fails(2, &[says]);
    }
}

#[test]
fn a_damaged_cache_is_recomputed_with_a_warning() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    bench.run(&["build", "r.toml", "--out", "a"]).succeeds();
    let blobs: Vec<_> =
        std::fs::read_dir(bench.path("cache/blobs")).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(!blobs.is_empty());
    for blob in blobs {
        let mut bytes = std::fs::read(&blob).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&blob, bytes).unwrap();
    }
    let run = bench.run(&["build", "r.toml", "--out", "b"]);
    run.succeeds();
    assert!(run.stderr.contains("warning") && run.stderr.contains("recomputing it"), "{}", run.stderr);
    assert_eq!(
        std::fs::read(bench.path("a/height.tif")).unwrap(),
        std::fs::read(bench.path("b/height.tif")).unwrap()
    );
}

#[test]
fn the_limit_of_memory_is_for_files_and_land_together() {
    let bench = Bench::new();
    let model = "ncols 2000\nnrows 1500\ncellsize 10\n".to_owned() + &"1 ".repeat(3_000_000);
    bench.write("model.asc", model);
    let recipe = |samples: usize| {
        format!(
            "frame = {{ size_m = 5000.0, samples = {samples} }}\n\n[[step]]\nid = \"model\"\nop = \"source.dem\"\n\
             params = {{ path = \"model.asc\" }}\n"
        )
    };
    bench.write("small.toml", recipe(129));
    bench.write("large.toml", recipe(513));
    bench.run(&["build", "small.toml", "--memory", "130M", "--out", "small"]).succeeds();
    bench.run(&["build", "large.toml", "--memory", "200M", "--out", "large"]).succeeds();
    let says = ["model.asc", "2000 x 1500", "beside the land; allow more memory"];
    bench.run(&["build", "large.toml", "--no-cache", "--memory", "125M", "--out", "none"]).fails(2, &says);
    assert!(!bench.path("none").exists());
}
