//! `orogen plants` writes glb files that programs can read, and nothing over what is not its own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use common::Bench;
use serde_json::Value;

/// The description inside a glb file, and how long its data is.
fn described(bytes: &[u8]) -> (Value, usize) {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&bytes[..4], word(4), word(8)), (&b"glTF"[..], 2, bytes.len()));
    let json = word(12);
    let data = word(20 + json);
    assert_eq!(bytes.len(), 28 + json + data);
    (serde_json::from_slice(&bytes[20..20 + json]).unwrap(), data)
}

#[test]
fn a_plant_has_leaves_that_are_cut_out_and_the_same_bytes_again() {
    let bench = Bench::new();
    let call = ["plants", "oak", "--seed", "3", "--lod", "3"];
    let run = bench.run(&call);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let bytes = std::fs::read(bench.path("oak.glb")).unwrap();
    let (json, _) = described(&bytes);
    let materials = json["materials"].as_array().unwrap();
    assert_eq!(materials.len(), 2);
    assert_eq!((&materials[1]["alphaMode"], &materials[1]["doubleSided"]), (&"MASK".into(), &true.into()));
    assert!(materials.iter().all(|m| m["normalTexture"]["index"].is_u64()));
    let low = json["accessors"][0]["min"][1].as_f64().unwrap();
    let high = json["accessors"][0]["max"][1].as_f64().unwrap();
    assert!(low > -1.0 && (8.0..30.0).contains(&high), "{low} to {high}: y is up, in metres");

    // A file that is there stays, unless it may go.
    bench.run(&call).fails(2, &["oak.glb", "already exists", "--force"]);
    let again = bench.command(&call).env("RAYON_NUM_THREADS", "1").arg("--force").output().unwrap();
    assert!(again.status.success());
    assert!(bytes == std::fs::read(bench.path("oak.glb")).unwrap());
    let out = bench.command(&["plants", "oak", "--seed", "3", "--lod", "3", "-o", "-"]).output().unwrap();
    assert!(out.stdout == bytes);
    let other = bench.command(&["plants", "oak", "--seed", "4", "--lod", "3", "-o", "-"]).output().unwrap();
    assert!(other.stdout != bytes && other.status.success());
}

#[test]
fn levels_are_one_file_and_an_oak_with_all_its_levels_is_small() {
    let bench = Bench::new();
    let mut whole = 0;
    let mut before = usize::MAX;
    for level in ["0", "1", "2", "3"] {
        let out = bench.command(&["plants", "oak", "--lod", level, "-o", "-"]).output().unwrap();
        let (_, data) = described(&out.stdout);
        assert!(data < before, "level {level} has {data} bytes");
        before = data;
        whole += out.stdout.len();
    }
    assert!(whole < 6_000_000, "{whole} bytes");
    let out = bench.command(&["plants", "birch", "--lod", "all", "-o", "-"]).output().unwrap();
    let (json, _) = described(&out.stdout);
    assert_eq!(json["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(json["nodes"][0]["extensions"]["MSFT_lod"]["ids"], serde_json::json!([1, 2, 3]));
    assert_eq!(json["extensionsUsed"][0], "MSFT_lod");
}

#[test]
fn bad_calls_get_a_sentence_and_leave_nothing() {
    let bench = Bench::new();
    bench.run(&["plants", "brich"]).fails(2, &["\"brich\"", "did you mean \"birch\"?"]);
    bench.run(&["plants", "oak", "--age", "2"]).fails(2, &["2 is outside 0 to 1"]);
    bench.run(&["plants", "oak", "--age", "nan"]).fails(2, &["outside 0 to 1"]);
    bench.run(&["plants", "oak", "--lod", "9"]).fails(2, &["9 is outside 0 to 3"]);
    bench.run(&["plants", "oak", "--season", "monsoon"]).fails(2, &["spring, summer, autumn or winter"]);
    bench.run(&["plants", "OAK"]).fails(2, &["did you mean \"oak\"?"]);
    bench.run(&["plants"]).fails(2, &["SPECIES", "--list"]);
    bench.run(&["plants", "--list", "-o", "x"]).fails(2, &["--list", "--out"]);
    bench.run(&["plants", "--sheet", "x.png", "--lod", "2"]).fails(2, &["--sheet", "--lod"]);
    bench.run(&["plants", "fern", "-o", "."]).fails(2, &["is a folder, not a file"]);
    assert!(bench.files().is_empty());
    let list = bench.run(&["plants", "--list"]);
    assert!(list.stdout.lines().count() >= 24 && list.stdout.contains("oak"), "{}", list.stdout);
    let json: Value = serde_json::from_str(&bench.run(&["plants", "--list", "--json"]).stdout).unwrap();
    assert!(json.as_array().unwrap().iter().any(|s| s["name"] == "birch" && s["bark"] == "papery"));
}

#[test]
fn a_species_of_ones_own_is_a_file() {
    let bench = Bench::new();
    let trunk = "[[levels]]\nbranches = 1\nlength = 1.0\ndown_deg = 0.0\n";
    let shrub = format!("height_m = 2.0\nheight_vary_m = 0.1\n[leaves]\ncount = 8\n{trunk}[[levels]]\n");
    bench.write("my shrub.toml", shrub);
    let run = bench.run(&["plants", "my shrub.toml", "--lod", "3"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let (json, _) = described(&std::fs::read(bench.path("my shrub.glb")).unwrap());
    let high = json["accessors"][0]["max"][1].as_f64().unwrap();
    assert!((1.0..4.0).contains(&high), "{high}");

    let xml = "<arbaro><species name='reed'>\n<param name='Scale' value='3'/>\n<param name='Levels' value='1'/></species></arbaro>";
    bench.write("reed.xml", xml);
    assert_eq!(bench.run(&["plants", "reed.xml", "-q"]).code, Some(0));
    bench.write("bad.xml", xml.replace("value='1'", "value='nine'"));
    bench.run(&["plants", "bad.xml"]).fails(2, &["bad.xml: line 3: Levels"]);
    bench.write("bad.toml", "name = \"x\"\nheight_m = -2\n");
    bench.run(&["plants", "bad.toml"]).fails(2, &["bad.toml: line 2: height_m is -2"]);
    bench.run(&["plants", "none.toml"]).fails(2, &["none.toml: no such file"]);
    bench.run(&["plants", "."]).fails(2, &["no such species"]);
}
