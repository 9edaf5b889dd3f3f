//! `orogen textures` writes what it says, and nothing over what is not its own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use common::Bench;

#[test]
fn files_appear_with_their_sizes_and_nothing_foreign_is_replaced() {
    let bench = Bench::new();
    let call = ["textures", "soil", "basalt", "soil", "--size", "64", "--sheet", "--out", "t"];
    let run = bench.run(&call);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("t: 15 files"), "{}", run.stderr);
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    let facts: serde_json::Value = serde_json::from_slice(&read("t/soil.json")).unwrap();
    assert_eq!((facts["samples"].as_u64(), facts["size_m"].as_f64()), (Some(64), Some(2.0)));
    assert_eq!(facts["detail"]["blend"], "average");
    let facts: serde_json::Value = serde_json::from_slice(&read("t/basalt.json")).unwrap();
    assert_eq!(facts["detail"]["map"], "basalt_detail.png");
    let albedo = read("t/soil_albedo.png");

    // Again: the same bytes, and its own files are not in the way.
    let again = bench.run(&call);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(albedo == read("t/soil_albedo.png"));

    // What somebody changed is in the way, and stays.
    bench.write("t/soil_albedo.png", "mine");
    bench.run(&call).fails(2, &["soil_albedo.png", "--force"]);
    assert!(read("t/soil_albedo.png") == b"mine");
    let forced = bench.run(&["textures", "soil", "--size", "64", "--out", "t", "--force", "--quiet"]);
    assert_eq!((forced.code, forced.stderr.as_str()), (Some(0), ""));
    assert!(albedo == read("t/soil_albedo.png"));
    // Those of the first run are still listed.
    assert!(String::from_utf8(read("t/manifest.json")).unwrap().contains("basalt_height.png"));
}

#[test]
fn bad_calls_get_a_sentence_and_leave_nothing() {
    let bench = Bench::new();
    bench.run(&["textures", "granit", "--out", "t"]).fails(2, &["\"granit\"", "did you mean \"granite\"?"]);
    bench.run(&["textures", "sand", "--size", "100", "--out", "t"]).fails(2, &["100 samples", "64 to 2048"]);
    bench.write("file", "mine");
    bench
        .run(&["textures", "sand", "--size", "64", "--out", "file"])
        .fails(2, &["it is a file, not a folder"]);
    assert_eq!(bench.files(), ["file"]);
    let list = bench.run(&["textures", "--list"]);
    assert_eq!(list.stdout.lines().count(), 17);
}
