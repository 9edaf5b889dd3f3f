use std::sync::Arc;

use super::*;
use crate::mask::Polygon;
use crate::shape::features::{Lake, Mountain};
use orogen_core::vector::Column;
use orogen_core::{Elevation, FeatureSet, Files, LayerData, Property, math};

const SIZE_M: f64 = 8192.0;
const SAMPLES: usize = 513;

/// Land that falls from 200 m in the north to a sea in the south, with soft hills.
fn slope(samples: usize) -> Terrain {
    let frame = Frame::square(SIZE_M, samples).unwrap();
    let mut terrain = Terrain::new(frame);
    let height = Raster::from_fn(samples, samples, |col, row| {
        let (x, y) = (frame.x_m(col), frame.y_m(row));
        (0.028 * y - 30.0 + 6.0 * math::sin(x / 500.0) * math::sin(y / 430.0)) as f32
    });
    terrain.set(layer::HEIGHT, height);
    terrain
}

fn bare() -> Sketch {
    Sketch {
        fidelity: 1.0,
        fill_mountain_pct: 0.0,
        fill_hill_pct: 0.0,
        fill_lake_pct: 0.0,
        fill_forest_pct: 0.0,
        fill_rivers: 0,
        ..Sketch::default()
    }
}

fn shape(kind: Kind, points_m: &[[f64; 2]], radius_m: f64, closed: bool) -> Drawn {
    Drawn {
        kind,
        name: None,
        points_m: points_m.to_vec(),
        radius_m,
        closed,
        height_m: None,
        number: None,
        size_m: None,
    }
}

fn run(sketch: &Sketch) -> (Terrain, Vec<String>) {
    run_on(sketch, slope(SAMPLES), &Ctx::new(Seed(11)))
}

fn run_on(sketch: &Sketch, terrain: Terrain, ctx: &Ctx<'_>) -> (Terrain, Vec<String>) {
    let made = sketch.apply(terrain, ctx).unwrap();
    (made, ctx.take_warnings())
}

fn heights(terrain: &Terrain) -> &Raster<f32> {
    terrain.get(layer::HEIGHT).unwrap()
}

fn texts<'a>(terrain: &'a Terrain, name: &str) -> &'a [String] {
    match &terrain.vector(FEATURES).unwrap().feature_attributes()[name] {
        Column::Text(texts) => texts,
        other => panic!("{other:?}"),
    }
}

/// What lies inside rings, as the land's own samples see it.
fn inside(rings_m: Vec<Vec<[f64; 2]>>) -> Vec<bool> {
    let op = Polygon { rings_m, falloff_m: 0.0, ..Polygon::default() };
    let made = op.apply(slope(SAMPLES), &Ctx::silent()).unwrap();
    made.get(layer::MASK).unwrap().as_slice().iter().map(|v| *v > 0.0).collect()
}

fn overlap(a: &[bool], b: &[bool]) -> f64 {
    let count = |f: &dyn Fn(bool, bool) -> bool| a.iter().zip(b).filter(|(a, b)| f(**a, **b)).count() as f64;
    count(&|a, b| a && b) / count(&|a, b| a || b)
}

/// A crooked outline around a place.
fn outline(at: [f64; 2], radius: f64, corners: i32) -> Vec<[f64; 2]> {
    let corner = |i: i32| {
        let turn = std::f64::consts::TAU * f64::from(i) / f64::from(corners);
        let r = radius * (1.0 + 0.35 * math::sin(3.0 * turn + 0.4) + 0.15 * math::cos(5.0 * turn));
        [at[0] + r * math::cos(turn), at[1] + 0.8 * r * math::sin(turn)]
    };
    (0..corners).map(corner).collect()
}

fn ring_of_mountains() -> Vec<[f64; 2]> {
    outline([2600.0, 5600.0], 1400.0, 40)
}

fn pond() -> Vec<[f64; 2]> {
    outline([5900.0, 3900.0], 800.0, 40)
}

fn course() -> Vec<[f64; 2]> {
    vec![
        [6800.0, 7400.0],
        [7000.0, 6600.0],
        [6500.0, 6000.0],
        [7100.0, 5400.0],
        [7400.0, 3800.0],
        [7000.0, 2400.0],
        [7300.0, 600.0],
    ]
}

fn drawn_mountain() -> Drawn {
    Drawn { height_m: Some(700.0), ..shape(Kind::Mountain, &ring_of_mountains(), 0.0, true) }
}

fn full() -> Sketch {
    Sketch {
        shapes: vec![
            drawn_mountain(),
            shape(Kind::Lake, &pond(), 0.0, true),
            shape(Kind::River, &course(), 18.0, false),
        ],
        ..bare()
    }
}

/// Samples that stand a twenty-fifth of the height asked for above the land before.
fn raised(made: &Terrain, by: f32) -> Vec<bool> {
    let before = slope(SAMPLES);
    heights(made).as_slice().iter().zip(heights(&before).as_slice()).map(|(a, b)| a - b > by).collect()
}

#[test]
fn drawn_mountains_and_lakes_lie_where_they_are_drawn() {
    let (made, _) = run(&full());
    let mountains = overlap(&inside(vec![ring_of_mountains()]), &raised(&made, 28.0));
    let water: Vec<bool> = made.get(layer::WATER).unwrap().as_slice().iter().map(|w| *w > 0.0).collect();
    let lakes = overlap(&inside(vec![pond()]), &water);
    println!("intersection over union: mountains {mountains:.3}, lakes {lakes:.3}");
    assert!(mountains >= 0.97 && lakes >= 0.97, "mountains {mountains}, lakes {lakes}");
    // The mountain is as high as asked.
    let top = highest_rise(&made, &slope(SAMPLES));
    assert!((665.0..735.0).contains(&top), "{top}");
}

#[test]
fn a_loose_sketch_is_a_guide_and_no_more() {
    let loose = Sketch { fidelity: 0.2, ..full() };
    let (made, _) = run(&loose);
    let same = overlap(&inside(vec![ring_of_mountains()]), &raised(&made, 28.0));
    println!("intersection over union at fidelity 0.2: {same:.3}");
    assert!((0.6..0.85).contains(&same), "{same}");
}

fn along(points: &[[f64; 2]], step: f64) -> Vec<[f64; 2]> {
    let piece = |pair: &[[f64; 2]]| {
        let (a, b) = (pair[0], pair[1]);
        let n = (math::hypot(b[0] - a[0], b[1] - a[1]) / step).ceil() as usize;
        (0..n)
            .map(|i| i as f64 / n as f64)
            .map(|t| [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])])
            .collect::<Vec<_>>()
    };
    points.windows(2).flat_map(piece).collect()
}

/// Share of drawn places on land within a distance of a river.
fn followed(made: &Terrain, drawn: &[[f64; 2]], within_m: f64) -> f64 {
    let rivers = made.vector("rivers").unwrap();
    let lines: Vec<Vec<[f64; 2]>> = (0..rivers.len())
        .flat_map(|i| rivers.parts(i).collect::<Vec<_>>())
        .map(|part| along(&rivers.vertices()[part].iter().map(|p| [p[0], p[1]]).collect::<Vec<_>>(), 4.0))
        .collect();
    let near =
        |p: &[f64; 2]| lines.iter().flatten().any(|q| math::hypot(p[0] - q[0], p[1] - q[1]) <= within_m);
    let before = slope(SAMPLES);
    let on_land = |p: &&[f64; 2]| {
        let [c, r] = before.frame().locate(p[0], p[1]);
        heights(&before).bilinear(c, r) > 0.0
    };
    let land: Vec<&[f64; 2]> = drawn.iter().filter(on_land).collect();
    land.iter().filter(|p| near(p)).count() as f64 / land.len() as f64
}

fn assert_falls(made: &Terrain) {
    let rivers = made.vector("rivers").unwrap();
    assert!(!rivers.is_empty());
    for i in 0..rivers.len() {
        for part in rivers.parts(i) {
            for pair in rivers.vertices()[part].windows(2) {
                assert!(pair[1][2] <= pair[0][2] + 1e-9, "rises from {} to {}", pair[0][2], pair[1][2]);
            }
        }
    }
}

#[test]
fn drawn_rivers_are_followed_and_fall() {
    let (made, _) = run(&full());
    let cells = 2.0 * SIZE_M / (SAMPLES - 1) as f64;
    let share = followed(&made, &along(&course(), 10.0), cells);
    println!("drawn river within two cells: {:.1} %", 100.0 * share);
    assert!(share >= 0.95, "{share}");
    assert_falls(&made);
}

/// Serves one picture and one file of features.
struct Given {
    picture: Raster<u8>,
    features: orogen_core::Features,
}

impl Files for Given {
    fn fingerprint(&self, _: &str) -> Result<[u8; 32], OpError> {
        Ok([0; 32])
    }
    fn elevation(&self, path: &str) -> Result<Arc<Elevation>, OpError> {
        Err(OpError::Failed(path.to_owned()))
    }
    fn features(&self, _: &str) -> Result<Arc<orogen_core::Features>, OpError> {
        Ok(Arc::new(self.features.clone()))
    }
    fn drawing(&self, _: &str) -> Result<Arc<Raster<u8>>, OpError> {
        Ok(Arc::new(self.picture.clone()))
    }
}

fn picture(kind: Kind) -> Picture {
    Picture {
        kind,
        path: String::from("layer.png"),
        over_m: None,
        invert: false,
        height_m: None,
        number: None,
        size_m: None,
        width_m: None,
    }
}

fn with_picture(sketch: &Sketch, picture: Raster<u8>) -> (Terrain, Vec<String>) {
    let files = Given { picture, features: orogen_core::Features::default() };
    run_on(sketch, slope(SAMPLES), &Ctx::new(Seed(11)).with_files(&files))
}

/// What lies inside a ring, painted.
fn painted(ring: Vec<[f64; 2]>, samples: usize) -> Raster<u8> {
    let op = Polygon { rings_m: vec![ring], falloff_m: 0.0, ..Polygon::default() };
    let frame = Frame::square(SIZE_M, samples).unwrap();
    let made = op.apply(Terrain::new(frame), &Ctx::silent()).unwrap();
    made.get(layer::MASK).unwrap().map(|v| if v > 0.0 { 255 } else { 0 })
}

#[test]
fn painted_layers_match_as_well_at_any_size_of_picture() {
    for samples in [200, 1400] {
        let sketch =
            Sketch { pictures: vec![Picture { height_m: Some(700.0), ..picture(Kind::Mountain) }], ..bare() };
        let (made, _) = with_picture(&sketch, painted(ring_of_mountains(), samples));
        let same = overlap(&inside(vec![ring_of_mountains()]), &raised(&made, 28.0));
        println!("{samples} pixels: {same:.3}");
        assert!(same >= 0.95, "{samples} pixels: {same}");
        let sketch = Sketch { pictures: vec![picture(Kind::Lake)], ..bare() };
        let (made, _) = with_picture(&sketch, painted(pond(), samples));
        let water: Vec<bool> = made.get(layer::WATER).unwrap().as_slice().iter().map(|w| *w > 0.0).collect();
        let same = overlap(&inside(vec![pond()]), &water);
        assert!(same >= 0.9, "{samples} pixels: {same}");
    }
    // A painted river has its width.
    let wide = 90.0;
    let frame = Frame::square(SIZE_M, 700).unwrap();
    let path = crate::brush::Path::new(&course(), false, 0.5 * wide);
    let mut river = Raster::filled(700, 700, 0u8);
    let mut near = crate::brush::Near::default();
    for (row, out) in river.as_mut_slice().chunks_mut(700).enumerate() {
        path.nearest(&frame, row, 0..700, &mut near);
        out.iter_mut()
            .zip(&near.distance2)
            .for_each(|(v, d2)| *v = if *d2 < (0.25 * wide * wide) as f32 { 255 } else { 0 });
    }
    let (made, _) = with_picture(&Sketch { pictures: vec![picture(Kind::River)], ..bare() }, river);
    let share = followed(&made, &along(&course(), 10.0), 2.0 * SIZE_M / 512.0);
    println!("painted river within two cells: {:.1} %", 100.0 * share);
    assert!(share >= 0.95, "{share}");
    assert_falls(&made);
    let widths = made.vector("rivers").unwrap().vertex_numbers("width_m").unwrap();
    let widest = widths.iter().copied().fold(0.0, f64::max);
    println!("painted {wide} m wide: {widest:.1} m");
    assert!((0.85 * wide..1.15 * wide).contains(&widest), "{widest}");
}

#[test]
fn a_map_is_drawn_from_its_features() {
    let mut features = orogen_core::Features::default();
    let point = |p: &[f64; 2]| [p[0], p[1], f64::NAN];
    let add = |set: &mut FeatureSet, ring: &[[f64; 2]], kind: &str, name: &str| {
        set.push(1, [ring.iter().map(point).collect::<Vec<_>>()]);
        set.set_property("kind", Property::Text(kind.to_owned()));
        set.set_property("name", Property::Text(name.to_owned()));
    };
    add(&mut features.polygons, &ring_of_mountains(), "mountain", "Grey Head");
    features.polygons.set_property("height_m", Property::Number(700.0));
    add(&mut features.polygons, &pond(), "lake", "Mere");
    add(&mut features.lines, &course(), "river", "Run");
    features.lines.set_property("width_m", Property::Number(44.0));
    let files = Given { picture: Raster::filled(1, 1, 0), features: features.clone() };
    let sketch = Sketch { path: String::from("map.geojson"), ..bare() };
    let (made, _) = run_on(&sketch, slope(SAMPLES), &Ctx::new(Seed(11)).with_files(&files));
    let same = overlap(&inside(vec![ring_of_mountains()]), &raised(&made, 28.0));
    assert!(same >= 0.9, "{same}");
    assert!(followed(&made, &along(&course(), 10.0), 32.0) >= 0.95);
    for name in ["Grey Head: massif", "Mere: lake", "Run: river"] {
        assert!(
            texts(&made, "name").iter().any(|n| n.starts_with(name)),
            "{name} of {:?}",
            texts(&made, "name")
        );
    }
    // An unknown kind gets a sentence.
    add(&mut features.lines, &course(), "moutain", "oops");
    let files = Given { picture: Raster::filled(1, 1, 0), features };
    let error = sketch.apply(slope(65), &Ctx::silent().with_files(&files)).unwrap_err().to_string();
    assert!(
        error.contains("feature 1 has the kind \"moutain\"; the property \"kind\" must be one of"),
        "{error}"
    );
}

#[test]
fn nothing_drawn_and_nothing_filled_changes_nothing() {
    let (made, notes) = run(&bare());
    assert_eq!(heights(&made), heights(&slope(SAMPLES)));
    assert_eq!(made.vector(FEATURES).unwrap().len(), 0);
    assert_eq!(made.get(layer::WATER).unwrap().range(), Some((0.0, 0.0)));
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn nothing_drawn_is_filled_to_its_shares() {
    let (made, _) = run(&Sketch::default());
    let kinds = texts(&made, "kind");
    for kind in ["massif", "mountain", "hill", "river", "lake", "forest"] {
        assert!(kinds.iter().any(|k| k == kind), "no {kind} among {kinds:?}");
    }
    assert!(texts(&made, "from").iter().all(|from| from != "drawn"));
    assert_falls(&made);
    let forest: &Raster<f32> = made.get_named(&LayerName::fixed("mask.forest")).unwrap();
    let share = forest.sum_f64() / forest.as_slice().len() as f64;
    println!("forest covers {:.1} %", 100.0 * share);
    assert!((0.19..0.24).contains(&share), "forest covers {share}");
}

#[test]
fn everything_drawn_and_one_pixel_drawn_are_land_too() {
    let all = vec![[-9e3, -9e3], [2e4, -9e3], [2e4, 2e4], [-9e3, 2e4]];
    for kind in Kind::ALL {
        let sketch = Sketch { shapes: vec![shape(kind, &all, 0.0, true)], ..bare() };
        let (made, _) = run(&sketch);
        assert!(heights(&made).as_slice().iter().all(|h| h.is_finite()), "{kind:?}");
        let dab = Sketch { shapes: vec![shape(kind, &[[3000.0, 5000.0]], 1.0, false)], ..bare() };
        let (made, _) = run(&dab);
        assert!(heights(&made).as_slice().iter().all(|h| h.is_finite()), "{kind:?}");
        let mut one = Raster::filled(2000, 2000, 0u8);
        one.as_mut_slice()[2000 * 800 + 900] = 255;
        let (made, _) = with_picture(&Sketch { pictures: vec![picture(kind)], ..bare() }, one);
        let word = match kind {
            Kind::Mountain => "massif",
            Kind::Plain => "plateau",
            Kind::Dune => "dune_field",
            other => other.word(),
        };
        assert!(texts(&made, "kind").iter().any(|k| k == word), "{kind:?}: {:?}", texts(&made, "kind"));
    }
    let every = Sketch {
        shapes: Kind::ALL.iter().map(|kind| shape(*kind, &all, 0.0, true)).collect(),
        ..Sketch::default()
    };
    let (made, notes) = run(&every);
    assert!(heights(&made).as_slice().iter().all(|h| h.is_finite()));
    assert!(notes.iter().any(|note| note.contains("overlap on")), "{notes:?}");
}

#[test]
fn a_river_across_a_mountain_is_resolved_and_told() {
    let across = vec![[2600.0, 7900.0], [2500.0, 5600.0], [2700.0, 600.0]];
    let from_within = vec![[2600.0, 5700.0], [2700.0, 600.0]];
    let notes = |points: &[[f64; 2]], crossing| {
        let shapes = vec![drawn_mountain(), shape(Kind::River, points, 15.0, false)];
        let (made, notes) = run(&Sketch { shapes, crossing, ..bare() });
        assert_falls(&made);
        (made, notes.join("; "))
    };
    assert!(notes(&from_within, Crossing::Auto).1.contains("its spring is there"));
    let (pass, said) = notes(&across, Crossing::Auto);
    assert!(said.contains("it runs through a pass"), "{said}");
    let (gorge, said) = notes(&across, Crossing::Gorge);
    assert!(said.contains("it cuts a gorge"), "{said}");
    let (spring, said) = notes(&across, Crossing::Spring);
    assert!(said.contains("it becomes two rivers"), "{said}");
    assert_eq!(spring.vector("rivers").unwrap().len(), 2);
    assert_ne!(heights(&pass), heights(&gorge));
    // The mountain stays where it is drawn all the same.
    let same = overlap(&inside(vec![ring_of_mountains()]), &raised(&gorge, 28.0));
    println!("with a gorge: {same:.3}");
    assert!(same > 0.97, "{same}");
}

#[test]
fn changing_one_feature_changes_no_other() {
    let sketch = Sketch { fill_hill_pct: 5.0, fill_rivers: 2, ..full() };
    let (before, _) = run(&sketch);
    let at = texts(&before, "kind").iter().position(|kind| kind == "mountain").unwrap();
    let name = texts(&before, "name")[at].clone();
    let table: toml::Table = toml::from_str(&format!("f = {}", texts(&before, "recipe")[at])).unwrap();
    let old: Mountain = toml::Value::try_into({
        let mut f = table["f"].as_table().unwrap().clone();
        f.remove("kind");
        toml::Value::Table(f)
    })
    .unwrap();
    let moved = Mountain { at_m: [5000.0, 6800.0], radius_m: 500.0, ..old.clone() };
    let (after, _) = run(&Sketch { keep: vec![moved.clone().into()], ..sketch.clone() });
    for (i, line) in texts(&before, "recipe").iter().enumerate() {
        assert_eq!(texts(&after, "name")[i], texts(&before, "name")[i]);
        assert_eq!(texts(&after, "recipe")[i] == *line, i != at, "{}", texts(&before, "name")[i]);
    }
    assert_eq!(texts(&after, "from")[at], "kept");
    let (gone, _) = run(&Sketch { remove: vec![name.clone()], ..sketch.clone() });
    assert_eq!(texts(&gone, "name").len() + 1, texts(&before, "name").len());
    // Land changes only where the mountain was and where it is now.
    let frame = Frame::square(SIZE_M, SAMPLES).unwrap();
    let (old_at, new_at) = (old.at_m, moved.at_m);
    let mut changed = 0;
    for row in 0..SAMPLES {
        for col in 0..SAMPLES {
            let far = |p: [f64; 2]| math::hypot(frame.x_m(col) - p[0], frame.y_m(row) - p[1]);
            let near_old = far(old_at) < old.radius_m;
            let same = heights(&before).row(row)[col].to_bits();
            let now = heights(&after).row(row)[col].to_bits();
            assert!(same == now || near_old || far(new_at) < moved.radius_m);
            assert!(same == heights(&gone).row(row)[col].to_bits() || near_old);
            changed += usize::from(same != now);
        }
    }
    assert!(changed > 100);
    // It stays when all the rest is another one.
    let (other, _) =
        run_on(&Sketch { keep: vec![moved.into()], ..sketch }, slope(SAMPLES), &Ctx::new(Seed(99)));
    assert!(texts(&other, "name").contains(&name));
    assert!(texts(&other, "recipe").iter().any(|line| line.contains("5000.0, 6800.0")));
}

/// The layer as earlier versions wrote it: the column of the seed had another name.
fn with_former_column(layer: &VectorLayer) -> VectorLayer {
    let mut former = VectorLayer::new(Shape::Lines);
    for line in 0..layer.len() {
        former.push_parts(layer.parts(line).map(|part| layer.vertices()[part].to_vec()));
    }
    for (name, column) in layer.feature_attributes() {
        let name = if name == "seed" { "luck" } else { name.as_str() }; // formerly
        assert!(former.set_feature_attribute(name, column.clone()));
    }
    former
}

#[test]
fn what_is_written_down_makes_the_same_land() {
    let sketch = Sketch { fidelity: 0.7, fill_forest_pct: 20.0, fill_lake_pct: 2.0, hold: true, ..full() };
    let (made, _) = run(&sketch);
    let text = fragment(made.vector(FEATURES).unwrap()).unwrap();
    assert_eq!(fragment(&with_former_column(made.vector(FEATURES).unwrap())).unwrap(), text);
    let recipe: toml::Table = toml::from_str(&text).unwrap();
    let steps = recipe["step"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    let features: Features = steps[0]["params"].clone().try_into().unwrap();
    let forest: Polygon = steps[1]["params"].clone().try_into().unwrap();
    // As in any recipe: another seed, and checked like what a person writes.
    let again = features.apply(slope(SAMPLES), &Ctx::new(Seed(5))).unwrap();
    let again = forest.apply(again, &Ctx::new(Seed(6))).unwrap();
    for name in ["height", "water", "mask.forest"] {
        let name = LayerName::fixed(name);
        let (LayerData::F32(a), LayerData::F32(b)) = (&made.layers()[&name], &again.layers()[&name]) else {
            panic!()
        };
        assert_eq!(a, b, "{name}");
    }
    assert_eq!(made.vector("rivers"), again.vector("rivers"));
    assert_eq!(made.vector(HOLD), again.vector(HOLD));
}

#[test]
fn the_list_is_the_same_at_any_number_of_samples() {
    let sketch = Sketch { fidelity: 0.6, fill_hill_pct: 5.0, fill_mountain_pct: 10.0, ..full() };
    let list = |samples| texts(&run_on(&sketch, slope(samples), &Ctx::new(Seed(11))).0, "recipe").to_vec();
    assert_eq!(list(513), list(1025));
}

#[test]
fn number_and_size_are_kept_to() {
    let count = |number, size_m| {
        let shapes = vec![Drawn { number, size_m, ..drawn_mountain() }];
        let (made, _) = run(&Sketch { shapes, ..bare() });
        texts(&made, "kind").iter().filter(|kind| *kind == "mountain").count()
    };
    assert_eq!(count(Some(1), None), 1);
    assert_eq!(count(Some(7), None), 7);
    assert!(count(None, Some(250.0)) > 2 * count(None, Some(600.0)));
}

#[test]
fn bad_drawings_get_a_sentence() {
    let said = |sketch: Sketch| sketch.faults().first().map(ToString::to_string).unwrap_or_default();
    let line = shape(Kind::Lake, &[[0.0, 0.0], [9.0, 9.0]], 0.0, true);
    assert_eq!(
        said(Sketch { shapes: vec![line], ..bare() }),
        "shapes[0].points_m: a closed shape needs at least 3 corners, found 2"
    );
    let flat = Picture { over_m: Some([0.0, 0.0, 0.0, 9.0]), ..picture(Kind::Hill) };
    assert!(
        said(Sketch { pictures: vec![flat], ..bare() }).starts_with("pictures[0].over_m: covers no area")
    );
    let nameless = Lake::new([0.0, 0.0], 50.0, 3.0);
    assert!(
        said(Sketch { keep: vec![nameless.into()], ..bare() }).starts_with("keep[0]: this lake has no name")
    );
    let message = said(Sketch { forest_to: layer::WATER.name(), ..bare() });
    assert!(message.contains("is written by this step itself"), "{message}");
}

/// Lines painted with a brush of a width.
fn brushed(lines: &[Vec<[f64; 2]>], wide: f64) -> Raster<u8> {
    let frame = Frame::square(SIZE_M, 700).unwrap();
    let mut picture = Raster::filled(700, 700, 0u8);
    let mut near = crate::brush::Near::default();
    for line in lines {
        let path = crate::brush::Path::new(line, false, 0.5 * wide);
        for (row, out) in picture.as_mut_slice().chunks_mut(700).enumerate() {
            path.nearest(&frame, row, 0..700, &mut near);
            let inside =
                out.iter_mut().zip(&near.distance2).filter(|(_, d2)| **d2 < (0.25 * wide * wide) as f32);
            inside.for_each(|(v, _)| *v = 255);
        }
    }
    picture
}

/// Rivers that part, meet and cross on [`slope`].
fn networks() -> Vec<(&'static str, Vec<Vec<[f64; 2]>>)> {
    let island = |x: f64, y: f64| {
        let corner = |i: i32| {
            let turn = std::f64::consts::TAU * f64::from(i) / 24.0;
            [x + 500.0 * math::sin(turn), y + 900.0 * math::cos(turn)]
        };
        (0..=24).map(corner).collect::<Vec<_>>()
    };
    vec![
        (
            "a fork with long arms",
            vec![
                vec![[1500.0, 7600.0], [2600.0, 6400.0], [4000.0, 3600.0], [4100.0, 600.0]],
                vec![[7200.0, 7700.0], [5600.0, 6000.0], [4000.0, 3600.0]],
            ],
        ),
        (
            "a crossing",
            vec![
                vec![[1500.0, 7000.0], [4000.0, 4200.0], [6800.0, 800.0]],
                vec![[6900.0, 7200.0], [4000.0, 4200.0], [1600.0, 700.0]],
            ],
        ),
        (
            "an island",
            vec![
                vec![[4000.0, 7800.0], [4000.0, 5600.0]],
                island(4000.0, 4700.0),
                vec![[4000.0, 3800.0], [4200.0, 700.0]],
            ],
        ),
        (
            "three rivers that meet",
            vec![
                vec![[4000.0, 7800.0], [4000.0, 4000.0], [4100.0, 700.0]],
                vec![[1200.0, 6800.0], [4000.0, 4000.0]],
                vec![[7000.0, 6500.0], [4000.0, 4000.0]],
            ],
        ),
        (
            "a delta",
            vec![
                vec![[4000.0, 7800.0], [4000.0, 3200.0], [2600.0, 600.0]],
                vec![[4000.0, 3200.0], [5600.0, 600.0]],
            ],
        ),
        ("a ring", vec![island(4200.0, 4600.0)]),
        (
            "tributaries of tributaries",
            vec![
                vec![[4000.0, 7800.0], [4100.0, 4000.0], [3900.0, 700.0]],
                vec![[7600.0, 7700.0], [6200.0, 5200.0], [4050.0, 3000.0]],
                vec![[7700.0, 4900.0], [6200.0, 5200.0]],
                vec![[1000.0, 5000.0], [4050.0, 2400.0]],
            ],
        ),
    ]
}

/// No river rises, none stands on a dyke, none is dammed, and the ends of those that meet lie in another.
fn assert_network(made: &Terrain, wide: f64, what: &str) {
    assert_falls(made);
    let before = slope(SAMPLES);
    let (now, old) = (heights(made), heights(&before));
    let raised = now.as_slice().iter().zip(old.as_slice()).map(|(a, b)| a - b).fold(0.0, f32::max);
    // Banks are level across, so on a slope their lower side is raised.
    assert!(f64::from(raised) < 4.0 + 0.03 * wide, "{what}: a dyke of {raised} m");
    let rivers = made.vector("rivers").unwrap();
    let frame = made.frame();
    for line in 0..rivers.len() {
        let vertices: Vec<[f64; 3]> =
            rivers.parts(line).flat_map(|part| rivers.vertices()[part].to_vec()).collect();
        let mut lowest = f64::INFINITY;
        for [x, y, _] in &vertices {
            let [col, row] = frame.locate(*x, *y);
            let ground = f64::from(now.bilinear(col, row));
            assert!(
                ground < lowest + 1.5,
                "{what}: river {line} is dammed, {lowest} to {ground} at {x}, {y}"
            );
            lowest = lowest.min(ground);
        }
        let [x, y, bed] = vertices[vertices.len() - 1];
        let [col, row] = frame.locate(x, y);
        if old.bilinear(col, row) > 1.0 && x > 50.0 && y > 50.0 && x < SIZE_M - 50.0 {
            let met = (0..rivers.len()).filter(|other| *other != line).any(|other| {
                let parts = rivers.parts(other).flat_map(|part| rivers.vertices()[part].to_vec());
                parts
                    .into_iter()
                    .any(|p| math::hypot(p[0] - x, p[1] - y) < 1.0 && p[2] <= bed + 1e-6 && bed - p[2] < 8.0)
            });
            assert!(met, "{what}: river {line} ends on land at {x:.0}, {y:.0}");
        }
    }
}

#[test]
fn painted_rivers_that_meet_make_no_dyke() {
    for (what, lines) in networks() {
        for wide in [40.0, 110.0] {
            let sketch = Sketch { pictures: vec![picture(Kind::River)], ..bare() };
            let (made, _) = with_picture(&sketch, brushed(&lines, wide));
            let drawn: Vec<[f64; 2]> = lines.iter().flat_map(|line| along(line, 10.0)).collect();
            let share = followed(&made, &drawn, (2.0 * SIZE_M / 512.0).max(0.5 * wide));
            println!(
                "{what}, {wide} m wide: {:.1} % followed, {} rivers",
                100.0 * share,
                made.vector("rivers").unwrap().len()
            );
            assert_network(&made, wide, what);
            assert!(share > 0.95, "{what}: {share}");
        }
    }
}

#[test]
fn drawn_rivers_that_meet_make_no_dyke() {
    for (what, lines) in networks() {
        for fidelity in [1.0, 0.7] {
            let shapes: Vec<Drawn> = lines.iter().map(|line| shape(Kind::River, line, 25.0, false)).collect();
            let (made, _) = run(&Sketch { shapes, fidelity, ..bare() });
            println!("{what}: {} rivers", made.vector("rivers").unwrap().len());
            assert_network(&made, 50.0, what);
            if fidelity == 1.0 {
                let drawn: Vec<[f64; 2]> = lines.iter().flat_map(|line| along(line, 10.0)).collect();
                let share = followed(&made, &drawn, 2.0 * SIZE_M / 512.0);
                assert!(share > 0.95, "{what}: {share}");
            }
        }
    }
    // Lines keep their names where they meet.
    let (_, lines) = networks().remove(0);
    let names = ["Long Water", "Brook"];
    let shapes = lines
        .iter()
        .zip(names)
        .map(|(line, name)| Drawn { name: Some(name.to_owned()), ..shape(Kind::River, line, 25.0, false) });
    let (made, _) = run(&Sketch { shapes: shapes.collect(), ..bare() });
    for name in names {
        let count = texts(&made, "name").iter().filter(|n| n.starts_with(name)).count();
        assert_eq!(count, 1, "{name} of {:?}", texts(&made, "name"));
    }
}

/// How much higher the land is than before, at most.
fn highest_rise(made: &Terrain, before: &Terrain) -> f64 {
    let rise = heights(made).as_slice().iter().zip(heights(before).as_slice()).map(|(a, b)| a - b);
    f64::from(rise.fold(0.0, f32::max))
}

#[test]
fn asked_heights_are_kept_within_five_per_cent() {
    let before = slope(SAMPLES);
    for seed in [1, 5, 11, 99] {
        for (kind, asked, size_m) in [
            (Kind::Mountain, 1000.0, None),
            (Kind::Mountain, 300.0, Some(350.0)),
            (Kind::Hill, 50.0, None),
            (Kind::Hill, 120.0, Some(400.0)),
            (Kind::Dune, 25.0, None),
        ] {
            for (number, fidelity) in [(None, 1.0), (Some(1), 1.0), (None, 0.6)] {
                let drawn = Drawn {
                    height_m: Some(asked),
                    size_m,
                    number,
                    ..shape(kind, &ring_of_mountains(), 0.0, true)
                };
                let sketch = Sketch { shapes: vec![drawn], fidelity, ..bare() };
                let (made, _) = run_on(&sketch, slope(SAMPLES), &Ctx::new(Seed(seed)));
                let found = highest_rise(&made, &before);
                assert!((found / asked - 1.0).abs() < 0.05, "{kind:?} of {asked} m is {found} m high");
            }
        }
    }
    // Filled ones too.
    let filled = Sketch { fill_mountain_pct: 15.0, mountain_height_m: 800.0, ..bare() };
    let found = highest_rise(&run(&filled).0, &before);
    assert!((760.0..1000.0).contains(&found), "{found}");
}

#[test]
fn sketching_on_land_at_0_m_works() {
    let frame = Frame::square(SIZE_M, SAMPLES).unwrap();
    let mut level = Terrain::new(frame);
    level.set(layer::HEIGHT, Raster::filled(SAMPLES, SAMPLES, 0.0));
    let (made, notes) = run_on(&full(), level.clone(), &Ctx::new(Seed(11)));
    let kinds = texts(&made, "kind");
    for kind in ["massif", "mountain", "lake", "river"] {
        assert!(kinds.iter().any(|k| k == kind), "no {kind} among {kinds:?}");
    }
    assert!(!notes.iter().any(|note| note.contains("in the sea")), "{notes:?}");
    assert_falls(&made);
    let drawn = along(&course(), 10.0);
    let share = followed(&made, &drawn, 32.0);
    assert!(share >= 0.95, "{share}");
    let water: Vec<bool> = made.get(layer::WATER).unwrap().as_slice().iter().map(|w| *w > 0.0).collect();
    let lakes = overlap(&inside(vec![pond()]), &water);
    assert!(lakes >= 0.9, "{lakes}");
    // Land at 0 m is filled as any other.
    let (made, _) = run_on(&Sketch::default(), level, &Ctx::new(Seed(11)));
    for kind in ["massif", "hill", "river", "lake", "forest"] {
        assert!(texts(&made, "kind").iter().any(|k| k == kind), "no {kind}");
    }
}

#[test]
fn shapes_that_touch_keep_their_own_properties() {
    let square = |x: f64| vec![[x, 4000.0], [x + 1800.0, 4000.0], [x + 1800.0, 6000.0], [x, 6000.0]];
    let named = |kind, x, name: &str, height_m| Drawn {
        name: Some(name.to_owned()),
        height_m: Some(height_m),
        number: Some(3),
        ..shape(kind, &square(x), 0.0, true)
    };
    for kind in [Kind::Mountain, Kind::Hill] {
        // They share a side, or one lies over a part of the other.
        for x in [3800.0, 3000.0] {
            let shapes = vec![named(kind, 2000.0, "West", 200.0), named(kind, x, "East", 800.0)];
            let (made, _) = run(&Sketch { shapes, ..bare() });
            let count = |name: &str| {
                let all = texts(&made, "name").iter().zip(texts(&made, "kind"));
                all.filter(|(n, k)| n.starts_with(name) && k.as_str() == kind.word()).count()
            };
            assert_eq!((count("West"), count("East")), (3, 3), "{kind:?}");
            let before = slope(SAMPLES);
            let rise = |from: f64, to: f64| {
                let mut most = 0.0f32;
                for row in 0..SAMPLES {
                    for col in 0..SAMPLES {
                        if (from..to).contains(&before.frame().x_m(col)) {
                            most = most.max(heights(&made).row(row)[col] - heights(&before).row(row)[col]);
                        }
                    }
                }
                most
            };
            let (west, east) = (rise(0.0, x - 600.0), rise(x, SIZE_M));
            assert!(west < 260.0 && west > 100.0, "{kind:?}: {west}");
            assert!((760.0..900.0).contains(&east), "{kind:?}: {east}");
        }
    }
}

#[test]
fn filled_mountains_keep_off_those_that_are_drawn() {
    let west = vec![[0.0, 0.0], [3600.0, 0.0], [3600.0, SIZE_M], [0.0, SIZE_M]];
    let mut near = 0;
    let mut all = 0;
    for seed in 0..6 {
        let shapes = vec![shape(Kind::Mountain, &west, 0.0, true)];
        let sketch =
            Sketch { shapes, fidelity: 0.5, fill_mountain_pct: 12.0, mountain_size_m: 500.0, ..bare() };
        let (made, _) = run_on(&sketch, slope(SAMPLES), &Ctx::new(Seed(seed)));
        let rows = texts(&made, "kind").iter().zip(texts(&made, "from")).zip(texts(&made, "name"));
        for ((kind, from), name) in rows {
            if kind == "massif" && from == "filled" {
                let x: f64 = name.split(' ').nth(1).unwrap().parse().unwrap();
                all += 1;
                near += usize::from(x < 4400.0);
            }
        }
    }
    println!("{near} of {all} filled mountains stand at the drawn ones");
    assert!(all >= 6, "{all}");
    assert!(near * 6 <= all, "{near} of {all}");
}

#[test]
fn a_name_that_is_not_there_cannot_be_removed_unseen() {
    let (made, _) = run(&full());
    let name = texts(&made, "name").iter().find(|name| name.starts_with("mountain")).unwrap().clone();
    let wrong = name.replace("mountain", "montain");
    let sketch = Sketch { remove: vec![wrong.clone(), name.clone()], ..full() };
    let (_, notes) = run(&sketch);
    let said: Vec<&String> = notes.iter().filter(|note| note.starts_with("remove")).collect();
    assert_eq!(said.len(), 1, "{notes:?}");
    assert_eq!(
        *said[0],
        format!("remove: this sketch has no feature named {wrong:?}; did you mean {name:?}?")
    );
}

#[test]
fn lakes_of_400_m_lie_where_they_are_drawn_in_a_world_of_24_km() {
    // 47 m a cell of the lattice; samples of 23 m.
    let frame = Frame::square(24_000.0, 1025).unwrap();
    let mut land = Terrain::new(frame);
    land.set(layer::HEIGHT, Raster::from_fn(1025, 1025, |c, r| 100.0 + 0.02 * (c + r) as f32));
    for (i, at) in [[2011.0, 5003.0], [14_407.0, 13_900.0], [6300.0, 20_606.0]].into_iter().enumerate() {
        let ring = outline(at, 200.0, 40);
        let op = Polygon { rings_m: vec![ring.clone()], falloff_m: 0.0, ..Polygon::default() };
        let drawn = op.apply(land.clone(), &Ctx::silent()).unwrap();
        let drawn: Vec<bool> = drawn.get(layer::MASK).unwrap().as_slice().iter().map(|v| *v > 0.0).collect();
        let picture_of = |pixels: usize| {
            let made =
                op.apply(Terrain::new(Frame::square(24_000.0, pixels).unwrap()), &Ctx::silent()).unwrap();
            made.get(layer::MASK).unwrap().map(|v| if v > 0.0 { 255 } else { 0 })
        };
        let files = Given { picture: picture_of(2001), features: orogen_core::Features::default() };
        for sketch in [
            Sketch { shapes: vec![shape(Kind::Lake, &ring, 0.0, true)], ..bare() },
            Sketch { pictures: vec![picture(Kind::Lake)], ..bare() },
        ] {
            let ctx = Ctx::new(Seed(11)).with_files(&files);
            let (made, _) = run_on(&sketch, land.clone(), &ctx);
            let water: Vec<bool> =
                made.get(layer::WATER).unwrap().as_slice().iter().map(|w| *w > 0.0).collect();
            let same = overlap(&drawn, &water);
            println!("lake {i} of 400 m in 24 km: {same:.3}");
            assert!(same >= 0.9, "lake {i}: {same}");
        }
    }
}

#[test]
fn lakes_of_400_m_lie_where_they_are_drawn() {
    for (i, at) in
        [[2011.0, 5003.0], [4407.0, 3900.0], [6300.0, 6606.0], [3333.0, 2718.0]].into_iter().enumerate()
    {
        let ring = outline(at, 200.0, 40);
        let sketch = Sketch { shapes: vec![shape(Kind::Lake, &ring, 0.0, true)], ..bare() };
        let (made, _) = run(&sketch);
        let water = |made: &Terrain| -> Vec<bool> {
            made.get(layer::WATER).unwrap().as_slice().iter().map(|w| *w > 0.0).collect()
        };
        let same = overlap(&inside(vec![ring.clone()]), &water(&made));
        let sketch = Sketch { pictures: vec![picture(Kind::Lake)], ..bare() };
        for samples in [500, 1400] {
            let (made, _) = with_picture(&sketch, painted(ring.clone(), samples));
            let painted = overlap(&inside(vec![ring.clone()]), &water(&made));
            println!("lake {i}: drawn {same:.3}, painted with {samples} pixels {painted:.3}");
            assert!(same >= 0.9 && painted >= 0.9, "lake {i}: {same} and {painted}");
        }
    }
}

/// Rough land, all of it above 0 m.
fn rough(seed: u64, amplitude_m: f64, wavelength_m: f64) -> Terrain {
    let noise = crate::source::Noise {
        amplitude_m: orogen_core::Coef::Const(amplitude_m),
        wavelength_m,
        octaves: 6,
        ..crate::source::Noise::default()
    };
    let flat = Terrain::new(Frame::square(SIZE_M, SAMPLES).unwrap());
    let mut terrain = noise.apply(flat, &Ctx::new(Seed(seed))).unwrap();
    let lowest = heights(&terrain).range().unwrap().0;
    let height = heights(&terrain).map(|h| h - lowest + 30.0);
    terrain.set(layer::HEIGHT, height);
    terrain
}

/// Networks whose junctions may lie anywhere: on divides, in hollows, inland.
fn anywhere() -> Vec<(&'static str, Vec<Vec<[f64; 2]>>)> {
    vec![
        (
            "Y",
            vec![
                vec![[2000.0, 7000.0], [4000.0, 4000.0]],
                vec![[6000.0, 7000.0], [4000.0, 4000.0]],
                vec![[4000.0, 4000.0], [4000.0, 0.0]],
            ],
        ),
        (
            "comb",
            vec![
                vec![[1000.0, 7500.0], [4000.0, 4000.0], [4500.0, 0.0]],
                vec![[2500.0, 7600.0], [2700.0, 5500.0]],
                vec![[6500.0, 7600.0], [4100.0, 3500.0]],
                vec![[7600.0, 4000.0], [4300.0, 2000.0]],
                vec![[500.0, 3500.0], [4400.0, 1500.0]],
            ],
        ),
        (
            "inland",
            vec![
                vec![[2500.0, 6000.0], [4000.0, 4000.0]],
                vec![[5500.0, 6000.0], [4000.0, 4000.0]],
                vec![[4000.0, 4000.0], [4000.0, 2500.0]],
            ],
        ),
        ("X", vec![vec![[1500.0, 7000.0], [6500.0, 800.0]], vec![[6500.0, 7000.0], [1500.0, 800.0]]]),
        (
            "long arm",
            vec![
                vec![[500.0, 7800.0], [3000.0, 5000.0], [7800.0, 4800.0]],
                vec![[3000.0, 5000.0], [2900.0, 0.0]],
            ],
        ),
        (
            "loop",
            vec![
                vec![[4000.0, 8000.0], [4000.0, 6000.0], [2500.0, 4000.0], [4000.0, 2000.0], [4000.0, 0.0]],
                vec![[4000.0, 6000.0], [5500.0, 4000.0], [4000.0, 2000.0]],
            ],
        ),
    ]
}

/// How far the ground along rivers climbs, how far ends that meet lie apart, and how far a bed lies above the land that
/// was: the most of each, in metres.
fn figures_of(made: &Terrain, before: &Terrain) -> [f64; 3] {
    let (now, old, frame) = (heights(made), heights(before), made.frame());
    let rivers = made.vector("rivers").unwrap();
    let at = |of: &Raster<f32>, p: [f64; 2]| {
        let [col, row] = frame.locate(p[0], p[1]);
        f64::from(of.bilinear(col.clamp(0.0, 512.0), row.clamp(0.0, 512.0)))
    };
    let (mut climb, mut apart, mut raised) = (0.0f64, 0.0f64, 0.0f64);
    let mut ends: Vec<[f64; 3]> = Vec::new();
    for line in 0..rivers.len() {
        let v: Vec<[f64; 3]> = rivers.parts(line).flat_map(|part| rivers.vertices()[part].to_vec()).collect();
        let way = along(&v.iter().map(|p| [p[0], p[1]]).collect::<Vec<_>>(), 10.0);
        let mut lowest = f64::INFINITY;
        for p in &way {
            let ground = at(now, *p);
            climb = climb.max(ground - lowest);
            lowest = lowest.min(ground);
            raised = raised.max(ground - at(old, *p));
        }
        ends.extend([v[0], v[v.len() - 1]]);
    }
    for a in &ends {
        for b in ends.iter().filter(|b| math::hypot(a[0] - b[0], a[1] - b[1]) < 1.0) {
            apart = apart.max((a[2] - b[2]).abs());
        }
    }
    [climb, apart, raised]
}

#[test]
fn arms_of_any_network_run_downhill_and_meet_at_one_height() {
    for (amplitude_m, wavelength_m, seed) in [(300.0, 3000.0, 6), (80.0, 6000.0, 0)] {
        let before = rough(seed, amplitude_m, wavelength_m);
        for (what, lines) in anywhere() {
            for painted in [false, true] {
                let made = if painted {
                    let given = Given { picture: brushed(&lines, 60.0), features: Default::default() };
                    let sketch = Sketch { pictures: vec![picture(Kind::River)], ..bare() };
                    let ctx = Ctx::new(Seed(11)).with_files(&given);
                    run_on(&sketch, before.clone(), &ctx).0
                } else {
                    let shapes = lines.iter().map(|line| shape(Kind::River, line, 30.0, false)).collect();
                    run_on(&Sketch { shapes, ..bare() }, before.clone(), &Ctx::new(Seed(11))).0
                };
                let [climb, apart, raised] = figures_of(&made, &before);
                let land = format!("{what} on land {seed}, painted {painted}");
                println!("{land}: climbs {climb:.1} m, apart {apart:.2} m, raised {raised:.1} m");
                assert_falls(&made);
                assert!(climb < 2.0, "{land}: the ground along a river climbs by {climb} m");
                assert!(apart < 0.1, "{land}: ends that meet lie {apart} m apart");
                assert!(raised < 5.0, "{land}: a bed lies {raised} m above the land");
            }
        }
    }
}

#[test]
fn a_river_drawn_across_the_sea_ends_at_the_shore() {
    // Land, 3 km of sea 200 m deep, land.
    let frame = Frame::square(SIZE_M, SAMPLES).unwrap();
    let mut before = Terrain::new(frame);
    let height = Raster::from_fn(SAMPLES, SAMPLES, |col, _| {
        let x = (frame.x_m(col) - 4000.0).abs();
        if x < 1500.0 { -200.0 } else { (60.0 + 0.01 * x) as f32 }
    });
    before.set(layer::HEIGHT, height);
    let line = [[500.0, 4000.0], [7500.0, 4200.0]];
    let sketch = Sketch { shapes: vec![shape(Kind::River, &line, 40.0, false)], ..bare() };
    let (made, notes) = run_on(&sketch, before.clone(), &Ctx::new(Seed(11)));
    assert!(notes.iter().any(|note| note.contains("crosses the sea")), "{notes:?}");
    // Further from the shore than the river is wide, the floor of the sea is as it was.
    for row in 0..SAMPLES {
        for col in (0..SAMPLES).filter(|col| (frame.x_m(*col) - 4000.0).abs() < 1400.0) {
            assert_eq!(heights(&made).row(row)[col], -200.0, "at {}, {}", frame.x_m(col), frame.y_m(row));
        }
    }
    // A river on either side, from land to the sea.
    assert_falls(&made);
    let rivers = made.vector("rivers").unwrap();
    assert_eq!(rivers.len(), 2);
    for i in 0..2 {
        let part: Vec<[f64; 3]> = rivers.parts(i).flat_map(|part| rivers.vertices()[part].to_vec()).collect();
        let from_shore = |p: &[f64; 3]| (p[0] - 4000.0).abs() - 1500.0;
        let (first, last) = (from_shore(&part[0]), from_shore(&part[part.len() - 1]));
        assert!(first > 1500.0 && last.abs() < 20.0, "from {first} m to {last} m off the shore");
    }
    let [climb, _, _] = figures_of(&made, &before);
    assert!(climb < 2.0, "climbs by {climb} m");
}

#[test]
fn a_river_drawn_from_sea_to_sea_runs_down_both_sides() {
    // A ridge of 120 m between two seas.
    let frame = Frame::square(SIZE_M, SAMPLES).unwrap();
    let mut before = Terrain::new(frame);
    let height =
        Raster::from_fn(SAMPLES, SAMPLES, |col, _| (120.0 - 0.06 * (frame.x_m(col) - 4000.0).abs()) as f32);
    before.set(layer::HEIGHT, height);
    let line = [[300.0, 4000.0], [7900.0, 4200.0]];
    let sketch = Sketch { shapes: vec![shape(Kind::River, &line, 30.0, false)], ..bare() };
    let (made, _) = run_on(&sketch, before.clone(), &Ctx::new(Seed(11)));
    assert_falls(&made);
    assert_eq!(made.vector("rivers").unwrap().len(), 2);
    let [climb, apart, raised] = figures_of(&made, &before);
    assert!(climb < 2.0 && apart < 0.1 && raised < 5.0, "{climb} m, {apart} m, {raised} m");
}
