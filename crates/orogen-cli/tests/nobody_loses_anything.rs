//! What is there stays there: the user's own files, inputs, half-made builds, odd names and odd files.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Bench, Run, SMALL};

const DEM: &str =
    "ncols 4\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 10\n1 2 3 4\n2 3 4 5\n3 4 5 6\n4 5 6 9\n";

fn mkfifo(bench: &Bench, name: &str) {
    assert!(Command::new("mkfifo").arg(bench.path(name)).status().unwrap().success());
}

/// Runs a command that must not wait for anybody.
#[track_caller]
fn run_soon(bench: &Bench, args: &[&str]) -> Run {
    let mut child = bench
        .command(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{args:?} waits");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Run::of(child.wait_with_output().unwrap())
}

#[test]
fn a_foreign_manifest_and_foreign_files_are_in_the_way_until_forced() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    fs::create_dir(bench.path("web")).unwrap();
    let foreign = r#"{"name": "my app", "files": [{"name": "index.html"}, {"name": "app.js"}]}"#;
    bench.write("web/manifest.json", foreign);
    bench.write("web/index.html", "mine");
    bench.write("web/height.tif", "a survey of years");
    let before = bench.files();
    let run = bench.run(&["build", "r.toml", "--out", "web"]);
    run.fails(2, &["web: ", "height.tif (not written by Orogen)", "manifest.json", "in the way", "--force"]);
    assert_eq!(bench.files(), before);
    assert_eq!(fs::read_to_string(bench.path("web/manifest.json")).unwrap(), foreign);
    bench.run(&["build", "r.toml", "--out", "web", "--force"]).succeeds();
    assert_eq!(fs::read_to_string(bench.path("web/index.html")).unwrap(), "mine");
    // Ours now: no force is needed any more, until somebody changes one.
    bench.run(&["build", "r.toml", "--out", "web", "--seed", "2"]).succeeds();
    bench.write("web/relief.png", "retouched");
    bench.run(&["build", "r.toml", "--out", "web"]).fails(2, &["relief.png (changed since Orogen wrote it)"]);
    assert_eq!(fs::read_to_string(bench.path("web/relief.png")).unwrap(), "retouched");
}

#[test]
fn no_dem_tool_replaces_its_input() {
    let bench = Bench::new();
    bench
        .write("r.toml", SMALL.to_owned() + "[[export]]\nkind = \"geotiff\"\n[[export]]\nkind = \"png16\"\n");
    bench.run(&["build", "r.toml", "--out", "o"]).succeeds();
    fs::copy(bench.path("o/height.tif"), bench.path("in.tif")).unwrap();
    fs::copy(bench.path("o/height.png"), bench.path("in.png")).unwrap();
    fs::copy(bench.path("o/height.png.json"), bench.path("in.png.json")).unwrap();
    fs::copy(bench.path("in.tif"), bench.path("other.tif")).unwrap();
    fs::hard_link(bench.path("in.tif"), bench.path("hard.tif")).unwrap();
    std::os::unix::fs::symlink("in.tif", bench.path("link.tif")).unwrap();
    std::os::unix::fs::symlink(".", bench.path("way")).unwrap();
    bench.write("line.csv", "100,100\n900,900\n");
    let line = r#"{"type":"LineString","coordinates":[[100,100],[900,900]]}"#;
    bench.write("line.geojson", line);
    let before = fs::read(bench.path("in.tif")).unwrap();
    let sidecar = fs::read(bench.path("in.png.json")).unwrap();
    let says = "is the same file as the input";
    for out in ["in.tif", "./in.tif", "way/in.tif", "hard.tif", "link.tif"] {
        bench.run(&["dem", "slope", "in.tif", out]).fails(2, &[says]);
    }
    bench.run(&["dem", "slope", "link.tif", "hard.tif"]).fails(2, &[says]);
    for tool in ["hillshade", "aspect", "curvature", "ruggedness", "fill", "breach", "flow", "basins"] {
        bench.run(&["dem", tool, "in.tif", "in.tif"]).fails(2, &[says]);
    }
    bench.run(&["dem", "viewshed", "in.tif", "in.tif", "--from", "500,500"]).fails(2, &[says]);
    bench.run(&["dem", "watershed", "in.tif", "in.tif", "--at", "500,500"]).fails(2, &[says]);
    bench.run(&["dem", "cutfill", "in.tif", "other.tif", "--against", "other.tif"]).fails(2, &[says]);
    bench.run(&["dem", "sample", "in.tif", "line.csv", "--points", "line.csv"]).fails(2, &[says]);
    bench.run(&["dem", "intervisibility", "in.tif", "line.csv", "--points", "line.csv"]).fails(2, &[says]);
    bench.run(&["dem", "contours", "in.png", "in.png.json"]).fails(2, &[says]);
    // The line may not become the table, nor the plot.
    fs::copy(bench.path("line.geojson"), bench.path("line.json")).unwrap();
    bench.run(&["dem", "contours", "in.tif", "line.json"]).succeeds();
    assert_eq!(fs::read(bench.path("in.tif")).unwrap(), before);
    assert_eq!(fs::read(bench.path("in.png.json")).unwrap(), sidecar);
    assert_eq!(fs::read_to_string(bench.path("line.csv")).unwrap(), "100,100\n900,900\n");
    // A name of its own is fine.
    bench.run(&["dem", "slope", "in.tif", "slope.tif"]).succeeds();
    bench.run(&["dem", "slope", "in.tif", "slope.tif"]).succeeds();
}

#[test]
fn a_build_does_not_replace_its_recipe() {
    let bench = Bench::new();
    fs::create_dir(bench.path("o")).unwrap();
    let recipe = SMALL.to_owned()
        + "[[step]]\nid = \"f\"\nop = \"shape.sketch\"\nparams = { fill_lake_pct = 3.0 }\n[[export]]\nkind = \"fragment\"\n";
    bench.write("o/features.toml", &recipe);
    for args in [
        ["build", "o/features.toml", "--out", "o"].as_slice(),
        &["build", "o/features.toml", "--out", "o", "--force"],
    ] {
        bench.run(args).fails(2, &["features.toml: it is the same file as the input"]);
    }
    assert_eq!(fs::read_to_string(bench.path("o/features.toml")).unwrap(), recipe);
}

#[test]
fn builds_killed_at_any_moment_leave_a_known_state_and_heal() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    bench.run(&["build", "r.toml", "--out", "o"]).succeeds();
    bench.write("o/notes.txt", "mine");
    for after_ms in [5, 15, 30, 50, 80, 120, 170, 230, 300, 400] {
        let seed = after_ms.to_string();
        let mut child = bench
            .command(&["build", "r.toml", "--out", "o", "--seed", &seed])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        let _ = child.kill();
        child.wait().unwrap();
        assert_eq!(fs::read_to_string(bench.path("o/notes.txt")).unwrap(), "mine");
        match fs::read(bench.path("o/manifest.json")) {
            Ok(text) => {
                let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
                for file in manifest["files"].as_array().unwrap() {
                    let about = fs::metadata(bench.path("o").join(file["name"].as_str().unwrap())).unwrap();
                    assert_eq!(about.len(), file["bytes"].as_u64().unwrap());
                }
            }
            Err(_) => assert!(bench.path("o/.orogen-journal.json").exists()),
        }
    }
    bench.run(&["build", "r.toml", "--out", "o", "--seed", "last"]).succeeds();
    assert!(!bench.files().iter().any(|name| name.contains(".orogen-")), "{:?}", bench.files());
}

#[test]
fn pipes_and_devices_are_refused_as_any_input() {
    let bench = Bench::new();
    bench.write("dem.asc", DEM);
    let says = "not a regular file";
    for name in ["pipe.toml", "pipe.tif", "pipe.asc", "pipe.png", "pipe.r32", "pipe.csv", "pipe.geojson"] {
        mkfifo(&bench, name);
        std::os::unix::fs::symlink("/dev/zero", bench.path(&name.replace("pipe", "zero"))).unwrap();
    }
    for kind in ["pipe", "zero"] {
        let name = |ending: &str| format!("{kind}.{ending}");
        for command in ["build", "check"] {
            run_soon(&bench, &[command, &name("toml")]).fails(2, &[says]);
        }
        for ending in ["tif", "asc", "png", "r32"] {
            run_soon(&bench, &["dem", "slope", &name(ending), "s.tif"]).fails(2, &[says]);
        }
        run_soon(&bench, &["dem", "sample", "dem.asc", "--points", &name("csv")]).fails(2, &[says]);
        run_soon(&bench, &["dem", "sample", "dem.asc", "--points", &name("geojson")]).fails(2, &[says]);
        run_soon(&bench, &["dem", "profile", "dem.asc", "--line", &name("geojson")]).fails(2, &[says]);
        run_soon(&bench, &["dem", "cutfill", "dem.asc", "--against", &name("asc")]).fails(2, &[says]);
        for (op, params) in [
            ("source.dem", format!("path = \"{kind}.tif\"")),
            ("source.points", format!("path = \"{kind}.csv\"")),
            ("source.contours", format!("path = \"{kind}.geojson\"")),
            ("shape.sketch", format!("pictures = [{{ kind = \"mountain\", path = \"{kind}.png\" }}]")),
        ] {
            let head =
                if op == "shape.sketch" { SMALL } else { "frame = { size_m = 4096.0, samples = 65 }\n" };
            bench.write(
                "r.toml",
                format!("{head}[[step]]\nid = \"s\"\nop = \"{op}\"\nparams = {{ {params} }}\n"),
            );
            run_soon(&bench, &["build", "r.toml"]).fails(2, &[says]);
        }
    }
    run_soon(&bench, &["build", "/dev/zero"]).fails(2, &[says]);
    // Beside a model of bare samples, in the place of what says what they mean.
    bench.write("bare.r32", [0; 64]);
    mkfifo(&bench, "bare.r32.json");
    run_soon(&bench, &["dem", "slope", "bare.r32", "s.tif"]).fails(2, &[says]);
}

#[test]
fn a_png_with_a_bad_palette_is_a_sentence() {
    let bench = Bench::new();
    // 1 x 1 pixel, indexed, a palette of four bytes.
    let chunk = |kind: &[u8], data: &[u8]| {
        let body: Vec<u8> = kind.iter().chain(data).copied().collect();
        [&(data.len() as u32).to_be_bytes()[..], &body, &crc(&body).to_be_bytes()].concat()
    };
    let pixels = [0x78, 1, 1, 2, 0, 0xfd, 0xff, 0, 0, 0, 2, 0, 1];
    let png = [
        &b"\x89PNG\r\n\x1a\n"[..],
        &chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 3, 0, 0, 0]),
        &chunk(b"PLTE", &[1, 2, 3, 4]),
        &chunk(b"IDAT", &pixels),
        &chunk(b"IEND", &[]),
    ]
    .concat();
    bench.write("p.png", png);
    let step = "[[step]]\nid = \"s\"\nop = \"shape.sketch\"\nparams = { pictures = [{ kind = \"mountain\", path = \"p.png\" }] }\n";
    bench.write("r.toml", SMALL.to_owned() + step);
    let run = bench.run(&["build", "r.toml"]);
    run.fails(2, &["p.png", "palette has 4 bytes"]);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[test]
fn messages_fit_a_screen() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    let long = "x".repeat(100_000);
    let faults: String = (0..4000).map(|i| format!("bad_{i} = 1\n")).collect();
    bench.write("many.toml", faults);
    bench.write("long.toml", format!("{}{long} = 1\n", SMALL));
    bench.write("t.csv", format!("x,y\n1,2\n{long}\n"));
    bench.write("dem.asc", DEM);
    bench.write("g.geojson", format!("{{\"type\":\"{long}\"}}"));
    let set = format!("island.polygons={long}");
    for args in [
        ["build", "many.toml"].as_slice(),
        &["check", "long.toml"],
        &["build", "r.toml", "--samples", &long],
        &["build", "r.toml", "--set", &long],
        &["build", "r.toml", "--set", &set],
        &["new", "--preset", &long],
        &["ops", &long],
        &["dem", "sample", "dem.asc", "--points", "t.csv"],
        &["dem", "sample", "dem.asc", "--points", "g.geojson"],
        &["dem", "profile", "dem.asc", "--at", &long],
    ] {
        let run = bench.run(args);
        run.fails(2, &[]);
        let (lines, letters) = (run.stderr.lines().count(), run.stderr.chars().count());
        assert!(lines <= 26 && letters < 10_000, "{:?}: {lines} lines, {letters} letters", &args[..2]);
    }
    let run = bench.run(&["build", "many.toml"]);
    assert!(run.stderr.ends_with("many.toml: and 3978 more\n"), "{}", run.stderr);
}

#[test]
fn a_hangup_is_ignored_under_nohup_and_ends_the_build_otherwise() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    for (trap, out, code) in [("trap '' HUP; ", "kept", 0), ("", "ended", 1)] {
        let exe = env!("CARGO_BIN_EXE_orogen");
        let script = format!(
            "{trap}exec {exe} build r.toml --no-cache --samples 1025 --set island.polygons=20000 --out {out}"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .current_dir(bench.path(""))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Once it has made its hidden folder it listens.
        let begin = Instant::now();
        while !bench.path(out).exists() && begin.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{out}: {status}");
        assert_eq!(bench.path(out).join("manifest.json").exists(), code == 0);
    }
}

#[test]
fn a_file_that_may_not_grow_is_a_sentence() {
    let bench = Bench::new();
    bench.write("r.toml", SMALL);
    let exe = env!("CARGO_BIN_EXE_orogen");
    let script = format!("ulimit -c 0; ulimit -f 16; exec {exe} build r.toml --no-cache --out full");
    let output = Command::new("sh").args(["-c", &script]).current_dir(bench.path("")).output().unwrap();
    Run::of(output).fails(1, &["full", "too large"]);
    assert_eq!(bench.files(), ["r.toml"]);
}

#[test]
fn names_that_are_not_utf8_survive() {
    let bench = Bench::new();
    let name = |ending: &str| OsStr::from_bytes(&[b"caf\xe9", ending.as_bytes()].concat()).to_owned();
    let path = |ending: &str| bench.path("").join(name(ending));
    fs::write(path(".toml"), SMALL).unwrap();
    fs::write(path(".asc"), DEM).unwrap();
    let run = |args: &[&OsStr]| {
        let output = bench.command(&[]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let arg = OsStr::new;
    run(&[arg("build"), &name(".toml")]);
    assert!(bench.path("out").join(name("")).join("height.tif").exists());
    run(&[arg("build"), &name(".toml"), arg("--out"), &name("-dir")]);
    assert!(path("-dir").join("manifest.json").exists());
    run(&[arg("dem"), arg("slope"), &name(".asc")]);
    assert!(path("-slope.tif").exists());
    run(&[arg("dem"), arg("slope"), &name(".asc"), &name("-out.tif")]);
    assert!(path("-out.tif").exists());
    run(&[arg("dem"), arg("watershed"), &name(".asc"), &name("-w.tif"), arg("--at"), arg("20,20")]);
    assert!(path("-w.geojson").exists());
    run(&[arg("new"), &name("-new.toml")]);
    assert!(path("-new.toml").exists());
}
