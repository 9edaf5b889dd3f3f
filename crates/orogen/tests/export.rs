//! Meshes and pictures of floats, from a recipe to files and their entries in the manifest.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test may stop")]

use std::fs;

use orogen::core::LayerName;
use orogen::export::{self, Export, Facts, Geojson, Land, Output, PartNames};
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

const FERNS: &str = "\
[[step]]
id = \"ferns\"
op = \"cover.scatter\"
params = { plants = true, species = [{ name = \"fern\", radius_m = 1.0, density_per_ha = 40.0, rules = [{ height_m = [-1e6, 1e6] }] }] }
";

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
        windows: None,
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
    let kinds: String = ExportKind::names().map(|name| format!("[[export]]\nkind = \"{name}\"\n")).collect();
    let text =
        format!("{LAND}{LEAN}{FERNS}{}", kinds.replace("\"mesh\"", "\"mesh\"\nformats = [\"glb\", \"obj\"]"));
    let folder = tempfile::tempdir().unwrap();
    let made = orogen::build_to_folder(&recipe(&text), &BuildOptions::default(), &Unobserved, folder.path())
        .unwrap();
    assert!(made.1.files.len() > 10);
    for name in made.1.files.iter().map(|file| file.name.as_str()).chain(["manifest.json"]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let error = orogen::build_to_folder(&recipe(&text), &BuildOptions::default(), &NoWork, folder.path())
            .unwrap_err();
        assert!(error.is_callers_fault() && error.to_string().contains(name), "{name}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
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
    let save = |kind: &str, existing: Existing| {
        let exports = Exports::of(vec![ExportKind::parse(kind).unwrap()]);
        let options = ExportOptions {
            exports: &exports,
            seed: "",
            place: None,
            windows: None,
            cancel: &cancel,
            progress: &|_| (),
        };
        orogen::save_over(&terrain, &options, folder.path(), existing).map_err(|e| e.to_string())
    };
    let asc = folder.path().join("height.asc");
    fs::write(&asc, "a survey of years").unwrap();
    let error = save("ascii", Existing::Keep).unwrap_err();
    assert!(error.contains("height.asc (not written by Orogen) is in the way"), "{error}");
    assert_eq!(fs::read_to_string(&asc).unwrap(), "a survey of years");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    save("ascii", Existing::Replace).unwrap();
    // Again, and of another kind: nothing is in the way, and what was saved before stays and stays listed.
    save("ascii", Existing::Keep).unwrap();
    save("r32", Existing::Keep).unwrap();
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("manifest.json")).unwrap()).unwrap();
    let mut names: Vec<_> =
        manifest["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["height.asc", "height.r32", "height.r32.json"]);
    assert!(asc.exists());
    fs::write(&asc, "retouched").unwrap();
    assert!(save("ascii", Existing::Keep).unwrap_err().contains("changed since Orogen wrote it"));
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
        (
            "kind = \"fragment\"\nformats = [\"glb\"]\n",
            "export: formats: the kind \"fragment\" has no options",
        ),
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
            windows: None,
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

#[test]
fn any_layer_becomes_16_bits_over_a_range_that_tiles_and_seeds_share() {
    let steps = "[[step]]\nid = \"flow\"\nop = \"water.flow\"\n";
    let exports = "[[export]]\nkind = \"r16\"\nmin_m = -10.0\nmax_m = 30.0\n\
                   [[export]]\nkind = \"r16\"\nlayers = [\"flow\"]\nmin = 0.0\nmax = 1e6\n\
                   [[export]]\nkind = \"png16\"\nlayers = [\"height\", \"flow\"]\n";
    let text = format!("{LAND}{steps}{exports}");
    let folder = tempfile::tempdir().unwrap();
    let (built, manifest) =
        orogen::build_to_folder(&recipe(&text), &BuildOptions::default(), &Unobserved, folder.path())
            .unwrap();
    let names: Vec<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
    let both = |name: &str| [name.to_owned(), format!("{name}.json")];
    let mut wanted: Vec<String> =
        ["height.r16", "flow.r16", "height.png", "flow.png"].iter().flat_map(|name| both(name)).collect();
    wanted.sort();
    assert_eq!(names, wanted);
    let height = built.terrain.get(layer::HEIGHT).unwrap();
    let bytes = fs::read(folder.path().join("height.r16")).unwrap();
    let (mut below, mut above) = (0, 0);
    for (&h, b) in height.as_slice().iter().zip(bytes.chunks_exact(2)) {
        let share = ((f64::from(h) + 10.0) / 40.0).clamp(0.0, 1.0);
        assert_eq!(u16::from_le_bytes([b[0], b[1]]), (65535.0 * share).round() as u16);
        below += usize::from(h < -10.0);
        above += usize::from(h > 30.0);
    }
    assert!(below > 0 && above > 0);
    let sidecar: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("height.r16.json")).unwrap()).unwrap();
    assert_eq!((sidecar["min"].as_f64(), sidecar["max"].as_f64()), (Some(-10.0), Some(30.0)));
    let said = format!(
        "height.r16: values outside the range are written as its ends: {below} below -10 m, {above} above 30 m"
    );
    assert!(manifest.warnings.iter().any(|warning| warning.starts_with(&said)), "{:?}", manifest.warnings);
    for (export, sentence) in [
        ("kind = \"r16\"\nmin_m = 0.0\n", "export: min_m: needs max_m beside it"),
        ("kind = \"r16\"\nmin = 3.0\nmax = 2.0\n", "export: min: 3 is not below max = 2"),
        (
            "kind = \"png16\"\nlayers = [\"flow\"]\nmin_m = 0.0\nmax_m = 2.0\n",
            "export: min_m: is for layers in metres, and \"flow\" is in m2; use min and max",
        ),
        ("kind = \"png16\"\nlayers = [\"flwo\"]\n", "export: png16: no layer \"flwo\" here; available: "),
        ("kind = \"geojson\"\nvectors = [\"river\"]\n", "export: geojson: no vectors \"river\" here"),
        ("kind = \"r32\"\n[[export]]\nkind = \"r32\"\n", "the kind \"r32\" is listed twice"),
    ] {
        let found = build_error(&format!("{LAND}{steps}[[export]]\n{export}"));
        assert!(found.contains(sentence), "{found}");
    }
}

/// An export of the kind that game engines will need: tiles in a folder of their own, at another spacing.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Tiles {}

impl Export for Tiles {
    const NAME: &'static str = "tiles";

    fn file_names(&self, _: &PartNames<'_>) -> Vec<String> {
        vec![String::from("tiles/west.bin"), String::from("tiles/east.bin")]
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        use std::io::Write as _;
        let extent = land.frame().extent();
        let middle = 0.5 * (extent.min[0] + extent.max[0]);
        for (name, west, east) in [("west", extent.min[0], middle), ("east", middle, extent.max[0])] {
            let rect = Rect { min: [west, extent.min[1]], max: [east, extent.max[1]] };
            let window = land.frame().part(&rect, [5.0, 5.0])?.unwrap();
            let tile = land.tile(window, &[layer::HEIGHT.name()])?;
            out.write(&format!("tiles/{name}.bin"), &Facts::named("height"), |out| {
                out.write_all(tile.layers()[&layer::HEIGHT.name()].bytes())
            })?;
        }
        Ok(())
    }
}

#[test]
fn an_export_may_ask_for_other_windows_and_write_folders() {
    let recipe = recipe(LAND);
    let built = orogen::build(&recipe, &BuildOptions::default(), &Unobserved).unwrap();
    let (checked, _) = orogen::check(&recipe, &BuildOptions::default()).unwrap();
    let session = orogen::recipe::Session::new(checked, orogen::recipe::SessionOptions::default());
    let (folder, cancel, exports) = (tempfile::tempdir().unwrap(), Cancel::new(), Exports::one(Tiles {}));
    let save = |windows| {
        let options = ExportOptions {
            exports: &exports,
            seed: "",
            place: None,
            windows,
            cancel: &cancel,
            progress: &|_| (),
        };
        orogen::save(&built.terrain, &options, folder.path())
    };
    let error = save(None).unwrap_err();
    assert!(error.is_callers_fault() && error.to_string().contains("no recipe behind it"), "{error}");
    assert_eq!(save(Some(&session)).unwrap().len(), 2);
    assert_eq!(fs::read(folder.path().join("tiles/east.bin")).unwrap().len(), 4 * 65 * 129);
    // Ours, so that the next save may replace it.
    save(Some(&session)).unwrap();
}

#[test]
fn huge_vectors_become_text_only_when_they_are_named() {
    let mut terrain = Terrain::new(Frame::square(100.0, 2).unwrap());
    for (name, count) in [("few", 10), ("many", (1 << 20) + 1)] {
        let mut points = vector::VectorLayer::new(vector::Shape::Lines);
        points.push((0..count).map(|i| [f64::from(i) * 1e-5, 0.0, 0.0]));
        terrain.set_vector(name, points);
    }
    let (folder, cancel) = (tempfile::tempdir().unwrap(), Cancel::new());
    let export = |exports: &Exports| {
        let output = orogen::io::OutputFolder::new(folder.path()).unwrap();
        let options = ExportOptions {
            exports,
            seed: "",
            place: None,
            windows: None,
            cancel: &cancel,
            progress: &|_| (),
        };
        orogen::export(&terrain, &options, &output).unwrap()
    };
    let found = export(&Exports::default());
    let names: Vec<&str> = found.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["few.geojson"]);
    assert!(found.warnings[0].starts_with("many.geojson is not written: 1048577 vertices"), "{found:?}");
    let found = export(&Exports::one(Geojson { vectors: vec!["many".into()] }));
    assert_eq!(found.files[0].name, "many.geojson");
}

#[test]
fn a_plan_of_things_on_the_ground_is_drawn_on_request() {
    use orogen::core::instances::{Instance, Instances};
    let mut terrain = Terrain::new(Frame::square(100.0, 11).unwrap());
    let tree = Instance { id: 1, scale: 4096, ..Instance::default() };
    let trees = Instances::new(vec![String::from("oak")], [([50.0, 50.0], tree)]).unwrap();
    terrain.set_instances("trees", trees);
    let cancel = Cancel::new();
    let files = |plan_px: Option<u32>| {
        let folder = tempfile::tempdir().unwrap();
        let options = ExportOptions {
            exports: &Exports::one(export::Instances { plan_px, ..export::Instances::default() }),
            seed: "",
            place: None,
            windows: None,
            cancel: &cancel,
            progress: &|_| (),
        };
        let written = orogen::save(&terrain, &options, folder.path()).unwrap();
        let plan =
            written.iter().find(|path| path.ends_with("trees.png")).map(|path| fs::read(path).unwrap());
        (written.len(), plan)
    };
    assert_eq!(files(None), (2, None));
    let (count, plan) = files(Some(200));
    assert_eq!(count, 3);
    // Width and height of the picture, big-endian behind the name of the first chunk.
    let plan = plan.unwrap();
    assert_eq!(plan[16..24], [0, 0, 0, 200, 0, 0, 0, 200]);
}

#[test]
fn things_on_the_ground_become_tables_in_the_coordinates_of_the_land() {
    use orogen::core::instances::{Instance, Instances};
    let mut terrain = Terrain::new(Frame::square(100.0, 11).unwrap());
    let crs = Some(orogen::core::Crs { epsg: 32632, offset_m: [450_000.0, 5_200_000.0] });
    let tree = Instance { id: 0xbeef, z_m: 12.5, scale: 4096, health: 255, ..Instance::default() };
    for name in ["trees", "rocks"] {
        terrain
            .set_instances(name, Instances::new(vec![String::from("oak")], [([1.25, -2.5], tree)]).unwrap());
    }
    let cancel = Cancel::new();
    let save = |terrain: &Terrain, instances: Vec<LayerName>| {
        let folder = tempfile::tempdir().unwrap();
        let options = ExportOptions {
            exports: &Exports::one(export::Instances { instances, ..export::Instances::default() }),
            seed: "",
            place: None,
            windows: None,
            cancel: &cancel,
            progress: &|_| (),
        };
        let written = orogen::save(terrain, &options, folder.path())?;
        let text = |path: &std::path::PathBuf| fs::read_to_string(path).unwrap();
        let (tables, points): (Vec<_>, Vec<_>) =
            written.into_iter().partition(|path| path.extension().is_some_and(|end| end == "csv"));
        assert_eq!(points.len(), tables.len(), "so few are GeoJSON too");
        for path in &points {
            let read: serde_json::Value = serde_json::from_str(&text(path)).unwrap();
            assert_eq!(read["features"][0]["properties"]["species"], "oak");
            assert_eq!(read["features"][0]["properties"]["id"], "000000000000beef");
        }
        Ok::<_, BuildError>(tables.iter().map(text).collect::<Vec<_>>())
    };
    let line = |x: f64, y: f64| format!("000000000000beef,{x},{y},12.5,oak,0,1,0,0,0,1,0\n");
    let head = "id,x,y,z,species,yaw_deg,scale,tilt_deg,tilt_to_deg,age,health,tag\n";
    assert_eq!(save(&terrain, vec![]).unwrap(), vec![format!("{head}{}", line(1.25, -2.5)); 2]);
    terrain.set_place(orogen::core::Place { crs, ..orogen::core::Place::default() });
    assert_eq!(
        save(&terrain, vec!["trees".into()]).unwrap(),
        [format!("{head}{}", line(450_001.25, 5_199_997.5))]
    );
    let error = save(&terrain, vec!["tree".into()]).unwrap_err();
    let said =
        "export: instances: no instances \"tree\" here; available: rocks, trees; did you mean \"trees\"?";
    assert!(error.is_callers_fault() && error.to_string().contains(said), "{error}");
}

#[test]
fn ids_that_do_not_fit_16_bits_are_not_taken_for_others() {
    let mut terrain = Terrain::new(Frame::square(100.0, 2).unwrap());
    terrain.set_named("few".into(), Raster::from_vec(2, 2, vec![0u32, 1, 2, 65_535]).unwrap().into());
    terrain.set_named("many".into(), Raster::from_vec(2, 2, vec![0u32, 1, 2, 65_536]).unwrap().into());
    let cancel = Cancel::new();
    let save = |range: Option<(f64, f64)>| {
        let folder = tempfile::tempdir().unwrap();
        let output = orogen::io::OutputFolder::new(folder.path()).unwrap();
        let (min, max) = range.unzip();
        let layers = vec!["few".into(), "many".into()];
        let sixteen = export::SixteenBits { layers, min, max, ..export::SixteenBits::default() };
        let options = ExportOptions {
            exports: &Exports::one(export::R16(sixteen)),
            seed: "",
            place: None,
            windows: None,
            cancel: &cancel,
            progress: &|_| (),
        };
        let found = orogen::export(&terrain, &options, &output).unwrap();
        (found.files.into_iter().map(|file| file.name).collect::<Vec<_>>(), found.warnings)
    };
    let (files, warnings) = save(None);
    assert_eq!(files, ["few.r16", "few.r16.json"]);
    assert_eq!(
        warnings,
        [
            "many.r16 is not there: \"many\" goes up to 65536, and 16 bits up to 65535; use GeoTIFF, or give min and max"
        ]
    );
    let (files, warnings) = save(Some((0.0, 131_070.0)));
    assert_eq!((files.len(), warnings), (4, vec![]));
}

#[test]
fn a_place_on_earth_goes_into_every_file_that_can_hold_it() {
    let place = "[place]\nlatitude_deg = 46.4\nlongitude_deg = 10.4\ncrs = \"EPSG:32632\"\nnorth_deg = 2\n";
    let land = LAND.replace("samples = 65 }", "samples = 65, origin_m = [600000.0, 5140000.0] }");
    let (head, steps) = land.split_once("[[step]]").unwrap();
    let recipe = |place: &str| {
        let exports = "[[export]]\nkind = \"geotiff\"\n[[export]]\nkind = \"r32\"\n";
        recipe(&format!("{head}{place}[[step]]{steps}{exports}"))
    };
    let folder = tempfile::tempdir().unwrap();
    let (built, manifest) =
        orogen::build_to_folder(&recipe(place), &BuildOptions::default(), &Unobserved, folder.path())
            .unwrap();
    assert_eq!(manifest.place, built.terrain.place());
    assert_eq!((manifest.place.latitude_deg, manifest.place.north_deg), (Some(46.4), Some(2.0)));
    let bytes = fs::read(folder.path().join("height.tif")).unwrap();
    let (_, found) = orogen::io::geotiff::decode_placed(&bytes, &orogen::io::Limits::default()).unwrap();
    let found = found.unwrap();
    assert_eq!((found.epsg(), found.at([0.0, 64.0])), (Some(32632), [600_000.0, 5_140_000.0]));
    assert!(String::from_utf8_lossy(&bytes).contains("name=\"OROGEN_LONGITUDE_DEG\">10.4<"));
    let sidecar: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("height.r32.json")).unwrap()).unwrap();
    assert_eq!((&sidecar["crs"], &sidecar["longitude_deg"]), (&"EPSG:32632".into(), &10.4.into()));
    // A window is a part of the same world.
    let window = built.terrain.frame().window(3, 4, 5, 6);
    assert_eq!(built.terrain.crop(&window).unwrap().place(), built.terrain.place());
    for (place, sentence) in [
        ("[place]\nlatitude_deg = 90.5\n", "test.toml:4:1: place.latitude_deg: 90.5 is outside -90 to 90"),
        ("[place]\nlongitude_deg = \"east\"\n", "place.longitude_deg: expected a number in degrees, found"),
        ("[place]\nnorth_deg = nan\n", "place.north_deg: NaN is outside -180 to 180"),
        ("[place]\ncrs = \"EPSG:4326\"\n", "place.crs: expected a projected coordinate system in metres"),
        ("[place]\ncrs = \"utm\"\n", "place.crs: expected a projected coordinate system in metres"),
        ("[place]\nlattitude_deg = 1\n", "did you mean \"latitude_deg\"?"),
        ("place = 3\n", "place: expected a table such as"),
    ] {
        let error = orogen::check(&recipe(place), &BuildOptions::default()).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
}

#[test]
fn a_model_tells_where_the_land_lies_unless_the_recipe_does() {
    use orogen::io::{About, geotiff};
    let folder = tempfile::tempdir().unwrap();
    let raster = Raster::from_fn(65, 65, |c, r| (c * r) as f32);
    let about = About { layer: "height", unit: "m", seed: "" };
    // Its south-west sample lies at 600000, 5140000.
    let place = geotiff::Place::projected(32632, [600_000.0, 5_140_640.0], [10.0, 10.0]);
    fs::write(folder.path().join("a.tif"), geotiff::encode_f32_at(&raster, &place, &about)).unwrap();
    let build = |place: &str, size: &str| {
        let text = format!(
            "frame = {{ size_m = {size}, samples = 65 }}\n{place}\
             [[step]]\nid = \"dem\"\nop = \"source.dem\"\nparams = {{ path = \"a.tif\" }}\n"
        );
        let options = BuildOptions { base: Some(folder.path().to_owned()), ..BuildOptions::default() };
        orogen::build(&recipe(&text), &options, &Unobserved).unwrap().terrain.place()
    };
    let found = build("", "640.0");
    let crs = found.crs.unwrap();
    assert_eq!((crs.epsg, crs.offset_m), (32632, [600_000.0, 5_140_000.0]));
    assert!((found.latitude_deg.unwrap() - 46.41).abs() < 0.01, "{found:?}");
    assert!((found.longitude_deg.unwrap() - 10.30).abs() < 0.01, "{found:?}");
    // Stretched, its metres are no longer those of the system; it still lies there.
    let stretched = build("", "900.0");
    assert_eq!((stretched.crs, stretched.latitude_deg), (None, found.latitude_deg));
    let said = build("[place]\nlatitude_deg = -10.0\n", "640.0");
    assert_eq!((said.latitude_deg, said.longitude_deg), (Some(-10.0), found.longitude_deg));
}

#[test]
fn the_bytes_of_all_splat_maps_sum_to_255() {
    let folder = tempfile::tempdir().unwrap();
    let cover = "[[step]]\nid = \"biomes\"\nop = \"cover.biomes\"\nparams = { temperature_c = 9.0, moisture = 0.6, lapse_c_per_km = 50.0 }\n\
                 [[step]]\nid = \"ground\"\nop = \"cover.materials\"\n[[export]]\nkind = \"splat\"\n";
    let options = BuildOptions::default();
    let (built, manifest) =
        orogen::build_to_folder(&recipe(&format!("{LAND}{cover}")), &options, &Unobserved, folder.path())
            .unwrap();
    let about = fs::read(folder.path().join("splat.json")).unwrap();
    let about: serde_json::Value = serde_json::from_slice(&about).unwrap();
    let (mut sums, mut named, mut seen) = (vec![0u32; 65 * 65], 0, 0);
    for file in about["files"].as_array().unwrap() {
        let name = file["file"].as_str().unwrap();
        assert!(manifest.files.iter().any(|written| written.name == name));
        let bytes = fs::read(folder.path().join(name)).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.color_type, info.buffer_size()), (png::ColorType::Rgba, 65 * 65 * 4));
        for (channel, color) in ["red", "green", "blue", "alpha"].into_iter().enumerate() {
            let bytes = pixels.chunks(4).map(|pixel| pixel[channel]);
            let Some(material) = file[color].as_str() else {
                assert!(bytes.max() == Some(0), "{color} of {name} holds nothing");
                continue;
            };
            named += 1;
            let layer = LayerName::parse(&format!("material.{material}")).unwrap();
            let weights = built.terrain.get_named::<orogen::core::Weight>(&layer).unwrap();
            assert!(weights.as_slice().iter().map(|weight| weight.0).eq(bytes.clone()), "{material}");
            seen += u32::from(bytes.clone().max() > Some(0));
            sums.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum += u32::from(byte));
        }
    }
    assert!(named > 8 && seen > 3, "{named} materials, {seen} of them somewhere");
    assert!(sums.iter().all(|sum| *sum == 255));
}
