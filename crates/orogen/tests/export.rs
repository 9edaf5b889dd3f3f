//! Meshes and pictures of floats, from a recipe to files and their entries in the manifest.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test may stop")]

use std::fs;

use orogen::io::Existing;
use orogen::prelude::*;
use orogen::{BuildError, ExportKind, ExportOptions, Exports};

const LAND: &str = "\
seed = \"ledge\"
frame = { size_m = 640.0, samples = 65 }
[[step]]
id = \"hills\"
op = \"source.noise\"
params = { wavelength_m = 400.0, amplitude_m = 120.0 }
";

const LEAN: &str =
    "[[step]]\nid = \"lean\"\nop = \"shape.overhang\"\nparams = { from_deg = 20.0, full_deg = 40.0 }\n";

fn recipe(text: &str) -> Recipe {
    Recipe::parse("test.toml", text.as_bytes()).unwrap()
}

fn build_error(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let error =
        orogen::build_to_folder(&recipe(text), &BuildOptions::default(), &Unobserved, &target).unwrap_err();
    assert!(error.is_callers_fault() && !target.exists());
    error.to_string()
}

#[test]
fn a_recipe_gives_meshes_and_floats_with_their_entries() {
    let folder = tempfile::tempdir().unwrap();
    let exports = "[[export]]\nkind = \"mesh\"\nformats = [\"glb\", \"obj\"]\n[[export]]\nkind = \"exr\"\n";
    let text = format!("{LAND}{LEAN}{exports}");
    let options = BuildOptions::default();
    let (built, manifest) =
        orogen::build_to_folder(&recipe(&text), &options, &Unobserved, folder.path()).unwrap();
    let names: Vec<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "displacement_xyz.exr",
            "displacement_xyz.exr.json",
            "height.exr",
            "height.exr.json",
            "terrain.glb",
            "terrain.obj"
        ]
    );
    let (low, high) = built.terrain.get(layer::HEIGHT).unwrap().range().unwrap();
    for file in &manifest.files {
        let bytes = fs::read(folder.path().join(&file.name)).unwrap();
        assert_eq!(bytes.len() as u64, file.bytes, "{}", file.name);
        assert_eq!(file.sha256.len(), 64);
        if !file.name.ends_with(".json") {
            assert_eq!(file.unit, Some("m"), "{}", file.name);
            let (min, max) = (file.min.unwrap(), file.max.unwrap());
            assert!(min < max && min >= f64::from(low) - 100.0 && max <= f64::from(high) + 100.0);
        }
    }
    let height = &manifest.files[2];
    assert_eq!((height.min, height.max, height.kind), (Some(low.into()), Some(high.into()), "exr"));
    let sidecar: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("height.exr.json")).unwrap()).unwrap();
    assert_eq!(sidecar["sha256"], height.sha256.as_str());
    assert_eq!(sidecar["spacing_m"], serde_json::json!([10.0, 10.0]));
}

#[test]
fn land_that_is_not_displaced_gives_its_height_alone() {
    let built = orogen::build(&recipe(LAND), &BuildOptions::default(), &Unobserved).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kinds = ["exr", "mesh"].map(|name| ExportKind::parse(name).unwrap());
    assert_eq!(kinds.map(ExportKind::name), ["exr", "mesh"]);
    let cancel = Cancel::new();
    let options = ExportOptions {
        exports: &Exports::of(kinds.to_vec()),
        seed: "",
        place: None,
        cancel: &cancel,
        progress: &|_| (),
    };
    let mut written = orogen::save(&built.terrain, &options, folder.path()).unwrap();
    written.sort();
    let names: Vec<_> = written.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["height.exr", "height.exr.json", "terrain.glb"]);
}

#[test]
fn a_file_in_the_way_of_any_kind_is_found_before_the_work() {
    struct NoWork;
    impl orogen::recipe::Observer for NoWork {
        fn step_started(&self, _: usize, _: usize, id: &str, _: &str) {
            panic!("{id} was started");
        }
    }
    let kinds: String =
        ExportKind::ALL.iter().map(|(name, _)| format!("[[export]]\nkind = \"{name}\"\n")).collect();
    let text = format!("{LAND}{LEAN}{}", kinds.replace("\"mesh\"", "\"mesh\"\nformats = [\"glb\", \"obj\"]"));
    let folder = tempfile::tempdir().unwrap();
    let made = orogen::build_to_folder(&recipe(&text), &BuildOptions::default(), &Unobserved, folder.path())
        .unwrap();
    assert!(made.1.files.len() > 10);
    for name in made.1.files.iter().map(|file| file.name.as_str()).chain(["manifest.json"]) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "mine").unwrap();
        let error = orogen::build_to_folder(&recipe(&text), &BuildOptions::default(), &NoWork, folder.path())
            .unwrap_err();
        assert!(error.is_callers_fault() && error.to_string().contains(name), "{name}: {error}");
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), "mine");
    }
}

#[test]
fn a_build_does_not_replace_what_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    orogen::build_to_folder(&recipe(LAND), &BuildOptions::default(), &Unobserved, &out).unwrap();
    let before = fs::read(out.join("height.tif")).unwrap();
    let step = "[[step]]\nid = \"dem\"\nop = \"source.dem\"\nparams = { path = \"out/./height.tif\" }\n";
    let frame = LAND.split("[[step]]").next().unwrap();
    for existing in [Existing::Keep, Existing::Replace] {
        let options =
            BuildOptions { base: Some(folder.path().to_owned()), existing, ..BuildOptions::default() };
        let again = recipe(&format!("{frame}{step}"));
        let error = orogen::build_to_folder(&again, &options, &Unobserved, &out).unwrap_err();
        assert!(error.to_string().contains("the same file as the input"), "{error}");
    }
    assert_eq!(fs::read(out.join("height.tif")).unwrap(), before);
}

#[test]
fn an_input_that_changes_during_a_build_does_not_poison_the_cache() {
    /// Changes the file when the step that reads it begins.
    struct Change<'a>(&'a std::path::Path, String);
    impl orogen::recipe::Observer for Change<'_> {
        fn step_started(&self, _: usize, _: usize, id: &str, _: &str) {
            if id == "dem" {
                fs::write(self.0, &self.1).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asc");
    let grid = |height: u32| format!("ncols 2\nnrows 2\ncellsize 640\n1 1 1 {height}\n");
    let cache = orogen::recipe::Cache::open(folder.path().join("cache"), 1 << 24).unwrap();
    let step = "[[step]]\nid = \"dem\"\nop = \"source.dem\"\nparams = { path = \"a.asc\" }\n";
    let recipe = recipe(&format!("{}{step}", LAND.split("[[step]]").next().unwrap()));
    let build = |cache, observer: &dyn orogen::recipe::Observer| {
        let options = BuildOptions { base: Some(folder.path().to_owned()), cache, ..BuildOptions::default() };
        orogen::build(&recipe, &options, observer).map(|built| built.terrain).map_err(|e| e.to_string())
    };
    fs::write(&path, grid(100)).unwrap();
    let error = build(Some(&cache), &Change(&path, grid(900))).unwrap_err();
    assert!(error.contains("a.asc") && error.contains("changed during the build"), "{error}");
    for height in [100, 900] {
        fs::write(&path, grid(height)).unwrap();
        let fresh = build(None, &Unobserved).unwrap();
        assert_eq!(fresh.get(layer::HEIGHT).unwrap().range().unwrap().1, height as f32);
        for _ in 0..2 {
            assert_eq!(build(Some(&cache), &Unobserved).unwrap(), fresh);
        }
    }
}

#[test]
fn a_save_replaces_only_what_a_save_wrote() {
    let terrain = orogen::build(&recipe(LAND), &BuildOptions::default(), &Unobserved).unwrap().terrain;
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let save = |kind: ExportKind, existing: Existing| {
        let exports = Exports::of(vec![kind]);
        let options =
            ExportOptions { exports: &exports, seed: "", place: None, cancel: &cancel, progress: &|_| () };
        orogen::save_over(&terrain, &options, folder.path(), existing).map_err(|e| e.to_string())
    };
    let asc = folder.path().join("height.asc");
    fs::write(&asc, "a survey of years").unwrap();
    let error = save(ExportKind::Ascii, Existing::Keep).unwrap_err();
    assert!(error.contains("height.asc (not written by Orogen) is in the way"), "{error}");
    assert_eq!(fs::read_to_string(&asc).unwrap(), "a survey of years");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    save(ExportKind::Ascii, Existing::Replace).unwrap();
    // Again, and of another kind: nothing is in the way, and what was saved before stays and stays listed.
    save(ExportKind::Ascii, Existing::Keep).unwrap();
    save(ExportKind::Raw32, Existing::Keep).unwrap();
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("manifest.json")).unwrap()).unwrap();
    let mut names: Vec<_> =
        manifest["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["height.asc", "height.r32", "height.r32.json"]);
    assert!(asc.exists());
    fs::write(&asc, "retouched").unwrap();
    assert!(save(ExportKind::Ascii, Existing::Keep).unwrap_err().contains("changed since Orogen wrote it"));
}

#[test]
fn files_are_the_same_on_any_number_of_threads() {
    let text = format!("{LAND}{LEAN}[[export]]\nkind = \"mesh\"\n[[export]]\nkind = \"exr\"\n");
    let hashes = |threads| {
        let folder = tempfile::tempdir().unwrap();
        let options = BuildOptions { threads: Some(threads), ..BuildOptions::default() };
        let made = orogen::build_to_folder(&recipe(&text), &options, &Unobserved, folder.path()).unwrap();
        made.1.files.into_iter().map(|file| file.sha256).collect::<Vec<_>>()
    };
    assert_eq!(hashes(1), hashes(3));
}

#[test]
fn wrong_options_are_reported_with_their_place_before_anything_is_built() {
    for (export, sentence) in [
        ("kind = \"mesh\"\nformats = [\"fbx\"]\n", "test.toml:9:12: export: formats[0]: expected"),
        ("kind = \"mesh\"\nformats = []\n", "test.toml:9:1: export: formats: "),
        ("kind = \"mesh\"\nformat = 1\n", "did you mean \"formats\"?"),
        ("kind = \"geojson\"\nformats = [\"glb\"]\n", "export: formats: the kind \"geojson\" has no options"),
    ] {
        let found = build_error(&format!("{LAND}[[export]]\n{export}"));
        assert!(found.contains(sentence), "{found}");
    }
    let large = LAND.replace("samples = 65", "samples = 9001") + "[[export]]\nkind = \"mesh\"\n";
    let found = build_error(&large);
    assert!(found.contains("a glb file holds at most 4294967295"), "{found}");
}

#[test]
fn holes_are_warned_of() {
    let built = orogen::build(&recipe(LAND), &BuildOptions::default(), &Unobserved).unwrap();
    let mut terrain = built.terrain;
    terrain.update::<f32>(&layer::HEIGHT.name(), |height| height.as_mut_slice()[100] = f32::NAN).unwrap();
    let export = |terrain: &Terrain| {
        let folder = tempfile::tempdir().unwrap();
        let output = orogen::io::OutputFolder::new(folder.path()).unwrap();
        let kinds = ["exr", "mesh"].map(|name| ExportKind::parse(name).unwrap());
        let cancel = Cancel::new();
        let options = ExportOptions {
            exports: &Exports::of(kinds.to_vec()),
            seed: "",
            place: None,
            cancel: &cancel,
            progress: &|_| (),
        };
        orogen::export(terrain, &options, &output)
    };
    let low = terrain.get(layer::HEIGHT).unwrap().range().unwrap().0;
    assert_eq!(
        export(&terrain).unwrap().warnings,
        [
            format!("height.exr: 1 samples without a value are written as {low}"),
            String::from("terrain.glb: 1 samples without a height are holes in the mesh")
        ]
    );
    terrain.set(layer::HEIGHT, Raster::filled(65, 65, f32::NAN));
    assert!(matches!(export(&terrain), Err(BuildError::Write(why)) if why.contains("there are none")));
}

#[test]
fn a_painted_sketch_is_written_down_as_a_recipe_that_makes_the_same_land() {
    let folder = tempfile::tempdir().unwrap();
    let blob = |c: usize, r: usize| c.abs_diff(40) * c.abs_diff(40) + r.abs_diff(60) * r.abs_diff(60) < 600;
    let painted = Raster::from_fn(100, 100, |c, r| if blob(c, r) { [255; 3] } else { [0; 3] });
    fs::write(folder.path().join("mountains.png"), orogen_io::png8::encode(&painted)).unwrap();
    let sketch = "[[step]]\nid = \"drawn\"\nop = \"shape.sketch\"\n\
                  params = { pictures = [{ kind = \"mountain\", path = \"mountains.png\" }], fill_lake_pct = 3.0 }\n";
    let options = || BuildOptions { base: Some(folder.path().to_owned()), ..BuildOptions::default() };
    let out = folder.path().join("out");
    let (built, manifest) =
        orogen::build_to_folder(&recipe(&format!("{LAND}{sketch}")), &options(), &Unobserved, &out).unwrap();
    assert!(manifest.files.iter().any(|file| file.name == "features.toml" && file.kind == "fragment"));
    let fragment = fs::read_to_string(out.join("features.toml")).unwrap();
    assert!(fragment.contains("kind = \"massif\""), "{fragment}");
    let again = recipe(&format!("{LAND}{fragment}"));
    let again = orogen::build(&again, &options(), &Unobserved).unwrap();
    for name in [layer::HEIGHT, layer::WATER] {
        assert_eq!(built.terrain.get(name).unwrap(), again.terrain.get(name).unwrap());
    }
    // A picture that is none gets a sentence that names it.
    fs::write(folder.path().join("mountains.png"), "no picture").unwrap();
    let error = orogen::build(&recipe(&format!("{LAND}{sketch}")), &options(), &Unobserved).unwrap_err();
    assert!(error.to_string().contains("mountains.png"), "{error}");
}

#[test]
fn snapshots_become_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let storm = "[[step]]\nid = \"storm\"\nop = \"erode.pipes\"\nparams = { snapshots = 2, duration_s = 20.0, runoff_s = 5.0 }\n";
    let text = format!("{LAND}{storm}[[export]]\nkind = \"relief\"\n");
    let (_, manifest) =
        orogen::build_to_folder(&recipe(&text), &BuildOptions::default(), &Unobserved, folder.path())
            .unwrap();
    let names: Vec<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["film_1.png", "film_2.png", "relief.png"]);
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("film_1.png").starts_with(b"\x89PNG") && read("film_1.png") != read("film_2.png"));
}
