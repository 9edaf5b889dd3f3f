//! Plants are made where somebody looks, and are the same however near that is.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen::core::instances::Instances;
use orogen::core::{Cancel, LayerName, Rect};
use orogen::prelude::*;
use orogen::{BuildError, Window};

const LAND: &str = r#"
frame = { size_m = 1280.0, samples = 129 }

[[step]]
id = "hills"
op = "source.noise"
params = { amplitude_m = 60.0, wavelength_m = 700.0, offset_m = 40.0 }
"#;

const TREES: &str = r#"
[[step]]
id = "trees"
op = "cover.scatter"
params = { species = [
  { name = "large", radius_m = 2.0, density_per_ha = 150.0, rules = [{ height_m = [-1e6, 1e6] }] },
  { name = "small", radius_m = 1.0, density_per_ha = 400.0, rules = [{ height_m = [-1e6, 1e6] }] },
] }
"#;

fn recipe(text: &str) -> Recipe {
    Recipe::parse("plants.toml", text.as_bytes()).unwrap()
}

fn planted(window: Option<Window>) -> Terrain {
    let options = BuildOptions { plants: true, window, ..BuildOptions::default() };
    orogen::build(&recipe(&format!("{LAND}{TREES}")), &options, &Unobserved).unwrap().terrain
}

/// Place, id, species, yaw, scale; tilt, age and health.
type Bits = ([u64; 2], u64, u16, u16, u16, [u8; 4]);

/// All but how high they stand.
fn bits(plants: &Instances) -> Vec<Bits> {
    let of = |(place, t): ([f64; 2], &orogen::core::instances::Instance)| {
        (place.map(f64::to_bits), t.id, t.species, t.yaw, t.scale, [t.tilt_deg, t.tilt_to, t.age, t.health])
    };
    let mut all: Vec<_> = plants.iter().map(of).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_finer_window_has_the_plants_of_the_whole() {
    let name = LayerName::fixed("plants");
    let whole = planted(None);
    let rect = Rect { min: [400.0, 480.0], max: [600.0, 640.0] };
    let fine = planted(Some(Window { rect: Some(rect), spacing_m: Some(4.0) }));
    assert_eq!(fine.frame().spacing_m(), [4.0, 4.0]);
    let found = &fine.instances()[&name];
    assert!(found.len() > 50, "{}", found.len());
    assert_eq!(bits(found), bits(&whole.instances()[&name].crop(&fine.frame().extent())));
    assert!(found.iter().all(|(_, thing)| thing.z_m.is_finite()));

    let recipe = recipe(&format!("{LAND}{TREES}"));
    let session = orogen::session(&recipe, &BuildOptions::default(), None).unwrap();
    let asked = orogen::plants(&session, &recipe, &fine.frame().extent(), &Cancel::new()).unwrap();
    assert_eq!(bits(&asked), bits(found));
}

/// A forest of far more than two million plants.
const FOREST: &str = r#"
frame = { size_m = 20000.0, samples = 129 }

[[step]]
id = "hills"
op = "source.noise"
params = { amplitude_m = 60.0, wavelength_m = 9000.0, offset_m = 80.0 }

[[step]]
id = "forest"
op = "cover.survival"
params = { years_yr = 40.0, first_per_ha = 200.0, species = [
  { name = "birch", spread = 0.0, rules = [{ height_m = [-1e6, 1e6] }] },
  { name = "hazel", spread = 0.0, rules = [{ height_m = [-1e6, 1e6] }] },
] }
"#;

#[test]
fn a_forest_too_large_to_keep_has_its_plants_where_somebody_looks() {
    let recipe = recipe(FOREST);
    let session = orogen::session(&recipe, &BuildOptions::default(), None).unwrap();
    let plants = |rect: Rect| orogen::plants(&session, &recipe, &rect, &Cancel::new()).unwrap();
    let wide = Rect { min: [9000.0, 9000.0], max: [10_000.0, 10_000.0] };
    let near = Rect { min: [9400.0, 9500.0], max: [9600.0, 9650.0] };
    let found = plants(wide);
    let cut = found.crop(&near);
    assert!(cut.len() > 100, "{}", cut.len());
    assert_eq!(bits(&plants(near)), bits(&cut));
    // As many as the densities say, of young ones too.
    let land = orogen::build(&recipe, &BuildOptions::default(), &Unobserved).unwrap().terrain;
    assert!(land.instances()[&LayerName::fixed("plants")].is_empty());
    let rows = land.frame().clipped(&wide).unwrap();
    let expected = |name: &'static str| {
        let part = land.crop(&rows).unwrap();
        let density = part.get_named::<f32>(&LayerName::fixed(name)).unwrap();
        1e6 * density.sum_f64() / density.as_slice().len() as f64
    };
    for (species, names) in [(0, ["density.birch", "young.birch"]), (1, ["density.hazel", "young.hazel"])] {
        let own = || found.iter().filter(move |(_, thing)| thing.species == species);
        let [all, young] = names.map(expected);
        let off = own().count() as f64 / all;
        assert!((0.6..1.3).contains(&off), "{}: {} of {all}", names[0], own().count());
        let count = own().filter(|(_, thing)| f64::from(thing.age) < 0.295 * 255.0).count() as f64;
        assert!((0.6..1.4).contains(&(count / young)), "{}: {count} of {young}", names[1]);
    }
}

#[test]
fn bare_land_gets_a_sentence() {
    let options = BuildOptions { plants: true, ..BuildOptions::default() };
    let error = orogen::build(&recipe(LAND), &options, &Unobserved).unwrap_err();
    assert!(matches!(&error, BuildError::Call(said) if said.starts_with("no plants here")), "{error}");
}

/// Poppies, and trees that no file of ours describes, whose models are written.
fn modelled(species: &str, impostors: bool) -> Recipe {
    recipe(&format!(
        "seed = \"models\"\n{LAND}[[step]]\nid = \"herbs\"\nop = \"cover.scatter\"\nparams = {{ plants = true, species = [\n\
         {{ name = \"{species}\", radius_m = 1.0, density_per_ha = 40.0, rules = [{{ height_m = [-1e6, 1e6] }}] }},\n\
         {{ name = \"rowan\", radius_m = 2.0, density_per_ha = 5.0, rules = [{{ height_m = [-1e6, 1e6] }}] }},\n\
         {{ name = \"oak\", radius_m = 2.0, density_per_ha = 50.0, rules = [{{ height_m = [5e5, 1e6] }}] }},\n] }}\n\
         [[export]]\nkind = \"plants\"\nimpostors = {impostors}\n[[export]]\nkind = \"instances\"\n"
    ))
}

#[test]
fn a_build_writes_models_of_what_grows_and_of_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let build = |species: &str, impostors: bool| {
        let options = BuildOptions::default();
        orogen::build_to_folder(&modelled(species, impostors), &options, &Unobserved, home.path())
    };
    let names = |manifest: &orogen::Manifest| -> Vec<String> {
        manifest
            .files
            .iter()
            .map(|file| file.name.clone())
            .filter(|name| name.starts_with("plants/"))
            .collect()
    };
    let there = || {
        let folder = std::fs::read_dir(home.path().join("plants")).unwrap();
        let mut all: Vec<String> =
            folder.map(|file| format!("plants/{}", file.unwrap().file_name().to_string_lossy())).collect();
        all.sort();
        all
    };
    let (_, manifest) = build("poppy", true).unwrap();
    let levels = |name: &str| {
        ["", "_LOD0", "_LOD1", "_LOD2", "_LOD3"].map(|level| format!("plants/{name}{level}.glb")).to_vec()
    };
    let mut wanted = levels("poppy");
    let impostors = [".json", "_color.png", "_depth.png", "_normal.png"];
    wanted.extend(impostors.map(|end| format!("plants/poppy_impostor{end}")));
    wanted.sort();
    // Oaks have no place that they bear, and nobody knows what a rowan looks like.
    assert_eq!((names(&manifest), there()), (wanted.clone(), wanted));
    let about_rowan = "plants: no species is named \"rowan\", so there are no models of it";
    assert!(manifest.warnings.iter().any(|warning| warning == about_rowan), "{:?}", manifest.warnings);

    // The next build replaces and removes what is ours and unchanged, and nothing else.
    let (_, manifest) = build("fern", false).unwrap();
    assert_eq!((names(&manifest), there()), (levels("fern"), levels("fern")));
    let mine = home.path().join("plants/fern_LOD1.glb");
    std::fs::write(&mine, "repainted").unwrap();
    let error = build("fern", false).unwrap_err().to_string();
    assert!(error.contains("fern_LOD1.glb (changed since Orogen wrote it)"), "{error}");
    build("poppy", false).unwrap();
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "repainted");
    assert!(!home.path().join("plants/fern.glb").exists());
}

#[test]
fn models_of_land_without_plants_are_refused_before_the_work() {
    let text = format!("{LAND}[[export]]\nkind = \"plants\"\n");
    let error = orogen::check(&recipe(&text), &BuildOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no plants grow here: add a step cover.scatter"), "{error}");
}

/// A juniper of a second step stood 1.7 cm from a strawberry tree of the first.
#[test]
fn trunks_of_a_later_step_keep_clear_of_those_of_earlier_ones() {
    const SHRUBS: &str = r#"
[[step]]
id = "shrubs"
op = "cover.scatter"
params = { species = [{ name = "shrub", radius_m = 0.8, density_per_ha = 2000.0, rules = [{ height_m = [-1e6, 1e6] }] }] }

[[step]]
id = "herbs"
op = "cover.scatter"
params = { method = "grid", cell_m = 1.5, species = [{ name = "herb", radius_m = 0.3, density_per_ha = 3000.0, rules = [{ height_m = [-1e6, 1e6] }] }] }
"#;
    let recipe = recipe(&format!("{LAND}{TREES}{SHRUBS}"));
    let session = orogen::session(&recipe, &BuildOptions::default(), None).unwrap();
    let plants = |rect: Rect| orogen::plants(&session, &recipe, &rect, &Cancel::new()).unwrap();
    let wide = plants(Rect { min: [400.0, 400.0], max: [640.0, 640.0] });
    let radius = |name: &str| match name {
        "large" => 2.0,
        "small" => 1.0,
        "shrub" => 0.8,
        _ => 0.3,
    };
    let radii: Vec<f64> = wide.species().iter().map(|name| radius(name)).collect();
    let all: Vec<([f64; 2], f64)> =
        wide.iter().map(|(place, thing)| (place, radii[usize::from(thing.species)])).collect();
    assert!(radii.len() == 4 && all.len() > 3000, "{} plants", all.len());
    for (i, (a, own)) in all.iter().enumerate() {
        for (b, other) in all[..i].iter().filter(|(_, other)| own != other) {
            let apart = ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt();
            assert!(apart > 0.1 * (own + other) - 0.003, "{apart} m between {own} and {other}");
        }
    }
    // A window has the same, though it does not see all that stands around it.
    let rect = Rect { min: [500.0, 480.0], max: [560.0, 540.0] };
    let by_name = |plants: &Instances| {
        let name = |species: u16| plants.species()[usize::from(species)].clone();
        let mut all: Vec<_> =
            plants.iter().map(|(place, t)| (name(t.species), place.map(f64::to_bits), t.id)).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(by_name(&plants(rect)), by_name(&wide.crop(&rect)));
}
