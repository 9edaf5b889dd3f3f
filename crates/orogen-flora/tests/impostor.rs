//! Impostors look like the meshes they stand for.
#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::sync::LazyLock;

use orogen_core::{Seed, math};
use orogen_flora::{
    Form, Growth, IMPOSTOR_LEVEL, Impostor, ImpostorError, Light, Mesh, PlantMesh, Season, Surface, View,
    grow, impostor, lod, mesh_pictures, species, surface,
};
use rayon::prelude::*;

/// A broad crown, a narrow cone, a column, an umbrella, a palm.
const HABITS: [&str; 5] = ["oak", "spruce", "cypress", "stone_pine", "coconut_palm"];
const SAMPLES: usize = 128;

struct Made {
    name: &'static str,
    mesh: PlantMesh,
    surface: Surface,
}

fn made(name: &'static str) -> Made {
    let species = species(name).unwrap().unwrap().at(&Growth::MATURE).unwrap();
    let plant = grow(&species, Seed(3)).unwrap();
    Made {
        name,
        mesh: lod(&species, &plant, IMPOSTOR_LEVEL),
        surface: surface(&species, Season::Summer, 256),
    }
}

static PLANTS: LazyLock<Vec<Made>> = LazyLock::new(|| HABITS.par_iter().map(|name| made(name)).collect());

/// Directions to viewers that spiral from near the horizon to near the zenith; none is that of a frame.
fn viewers(count: usize) -> Vec<[f64; 3]> {
    (0..count)
        .map(|k| {
            let up = 0.03 + 0.94 * (k as f64 + 0.5) / count as f64;
            let turn = 2.399_963 * k as f64 + 0.1;
            let level = (1.0 - up * up).sqrt();
            [level * math::cos(turn), level * math::sin(turn), up]
        })
        .collect()
}

/// The sun from eight sides, at four heights.
fn suns() -> Vec<Light> {
    (0..8)
        .map(|k| {
            let turn = std::f64::consts::FRAC_PI_4 * f64::from(k);
            Light::day([math::cos(turn), math::sin(turn), [0.2, 0.5, 0.9, 2.0][k as usize % 4]])
        })
        .collect()
}

/// The view at the distance where the impostor takes over: its samples are pixels.
fn view(impostor: &Impostor, back: [f64; 3]) -> View {
    let wide = 2.0 * impostor.half_m[0].max(impostor.half_m[1]);
    View { middle: impostor.middle, toward: back.map(|v| -v), width_m: wide, size: [SAMPLES, SAMPLES] }
}

/// How a picture of the impostor differs from that of the mesh, from one side.
struct Differs {
    back: [f64; 3],
    /// Of the area, as a share of it.
    area: f64,
    /// Of the mean colour as it is shown (sRGB, 0 to 1): the worst channel under the worst sun.
    shown: f64,
    /// Of the mean light, as a share of it: the worst channel under the worst sun.
    light: f64,
}

fn differences(made: &Made, form: Form, viewers: &[[f64; 3]]) -> Vec<Differs> {
    let stand_in = impostor(&made.mesh, &made.surface, form, SAMPLES).unwrap();
    let suns = suns();
    let encoded = |v: f64| if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * math::pow(v, 1.0 / 2.4) - 0.055 };
    viewers
        .par_iter()
        .map(|back| {
            let view = view(&stand_in, *back);
            let true_ones = mesh_pictures(&made.mesh, &made.surface, &view, &suns).unwrap();
            let ours = stand_in.pictures(&view, &suns);
            let mut differs = Differs {
                back: *back,
                area: (ours[0].area() / true_ones[0].area() - 1.0).abs(),
                shown: 0.0,
                light: 0.0,
            };
            for (a, b) in ours.iter().zip(&true_ones) {
                for (a, b) in a.mean().into_iter().zip(b.mean()) {
                    differs.light = differs.light.max((a / b - 1.0).abs());
                    differs.shown = differs.shown.max((encoded(a) - encoded(b)).abs());
                }
            }
            differs
        })
        .collect()
}

/// Compares all plants from many sides: what the bounds of area, colour as shown and light are, and in how many views of a hundred
/// the area may be off by up to a quarter more.
fn hold(form: Form, viewers: &[[f64; 3]], [area, shown, light]: [f64; 3], but: f64) {
    let mut wrong = Vec::new();
    let mut off = Vec::new();
    for made in PLANTS.iter() {
        let found = differences(made, form, viewers);
        for Differs { back, area: a, shown: s, light: l } in found {
            if a > area {
                off.push(format!("{} from {back:.2?}: {a:.3}", made.name));
            }
            if a > 1.25 * area || s > shown || l > light {
                wrong
                    .push(format!("{} from {back:.2?}: area {a:.3}, colour {s:.3}, light {l:.3}", made.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let all = (viewers.len() * PLANTS.len()) as f64;
    assert!(
        off.len() as f64 <= 0.01 * but * all,
        "more than {area} off, of {all} views:\n{}",
        off.join("\n")
    );
}

#[test]
fn octahedral_impostors_look_like_their_meshes_from_between_their_frames() {
    let viewers = viewers(26);
    let stand_in = impostor(&PLANTS[0].mesh, &PLANTS[0].surface, Form::Octahedral, 16).unwrap();
    for back in &viewers {
        let nearest =
            stand_in.frames.iter().map(|frame| (0..3).map(|k| frame.back[k] * back[k]).sum::<f64>());
        assert!(nearest.fold(0.0, f64::max) < 0.9999, "{back:?} is a frame's own");
    }
    // Strict bounds of area hold in 128 of 130 views, and in the others a twentieth is missed by less than a hundredth. The light, unlike the colour as shown, misses a fiftieth where the sun is
    // behind the plant and little of it comes through.
    hold(Form::Octahedral, &viewers, [0.05, 0.02, 0.09], 2.0);
}

#[test]
fn frames_are_what_the_mesh_looks_like_from_their_own_directions() {
    let stand_in = impostor(&PLANTS[0].mesh, &PLANTS[0].surface, Form::Octahedral, 16).unwrap();
    let viewers: Vec<[f64; 3]> = stand_in.frames.iter().step_by(5).map(|frame| frame.back).collect();
    hold(Form::Octahedral, &viewers, [0.002, 0.01, 0.05], 0.0);
}

#[test]
fn eight_quads_look_like_their_mesh_from_the_ground() {
    // Between their views, which begin in the south; then from behind, where quads show the same leaves the other way round.
    let from = |begin: f64| -> Vec<[f64; 3]> {
        (0..7)
            .map(|k| {
                let turn = begin + std::f64::consts::FRAC_PI_8 * (f64::from(k) + 0.4);
                [math::sin(turn), -math::cos(turn), 0.0]
            })
            .collect()
    };
    hold(Form::Quads, &from(0.0), [0.05, 0.02, 0.12], 0.0);
    hold(Form::Quads, &from(std::f64::consts::PI), [0.05, 0.06, 0.4], 0.0);
}

#[test]
fn the_same_for_any_number_of_threads() {
    let made = &PLANTS[1];
    let drawn = [1, 2, 5].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| impostor(&made.mesh, &made.surface, Form::Octahedral, 32).unwrap())
    });
    assert!(drawn[0] == drawn[1] && drawn[0] == drawn[2]);
}

#[test]
fn edges_have_the_colour_of_leaves_and_frames_do_not_touch() {
    let made = &PLANTS[0];
    for form in Form::ALL {
        let stand_in = impostor(&made.mesh, &made.surface, form, 64).unwrap();
        let wide = form.layout()[0] * 64;
        let covered = stand_in.color.iter().filter(|texel| texel[3] > 0).count();
        assert!(covered * 10 > stand_in.color.len(), "{form:?}: {covered}");
        for (i, texel) in stand_in.color.iter().enumerate() {
            let (col, row) = (i % wide % 64, i / wide % 64);
            if col == 0 || row == 0 || col == 63 || row == 63 {
                assert_eq!(texel[3], 0, "{form:?} {i}");
            }
            // Clear samples are not black: they have what is beside them.
            assert!(texel[1] > 8, "{form:?} {i}: {texel:?}");
        }
    }
}

#[test]
fn quads_stand_on_one_axis_and_show_their_own_frames() {
    let made = &PLANTS[0];
    for (form, count) in [(Form::Octahedral, 1), (Form::Quads, 8), (Form::Crossed, 3), (Form::Axial, 1)] {
        let stand_in = impostor(&made.mesh, &made.surface, form, 16).unwrap();
        let quads = stand_in.mesh();
        assert_eq!(quads.triangles(), 2 * count, "{form:?}");
        if form != Form::Octahedral {
            let corners = quads.positions.chunks_exact(4);
            assert!(corners.into_iter().all(|four| (four[0][0] + four[1][0]).abs() < 1e-3));
            let mut areas = quads.uvs.chunks_exact(4).map(|uv| (uv[1][0] - uv[0][0]) * (uv[0][1] - uv[2][1]));
            assert!(areas.all(|area| (area * count as f32 - 1.0).abs() < 1e-5), "{form:?}");
        }
    }
}

#[test]
fn what_cannot_be_drawn_gets_a_sentence() {
    let surface = &PLANTS[0].surface;
    let draw =
        |bark: Mesh| impostor(&PlantMesh { bark, leaves: Mesh::default() }, surface, Form::Octahedral, 16);
    assert_eq!(draw(Mesh::default()), Err(ImpostorError::Empty));
    let triangle = |size: f32| Mesh {
        positions: vec![[0.0; 3], [size, 0.0, 0.0], [0.0, 0.0, size]],
        normals: vec![[0.0, -1.0, 0.0]; 3],
        uvs: vec![[0.0; 2]; 3],
        indices: vec![0, 1, 2],
        ..Mesh::default()
    };
    let one = draw(triangle(1.0)).unwrap();
    assert!(one.color.iter().any(|texel| texel[3] == 255) && one.fade(1080, 60.0).near_m > 0.0);
    for size in [f32::MAX, 1e9, 1e-7, 0.0] {
        assert!(matches!(draw(triangle(size)), Err(ImpostorError::Size(_))), "{size}");
    }
    for size in [f32::NAN, f32::INFINITY] {
        assert_eq!(draw(triangle(size)), Err(ImpostorError::NotFinite("bark")));
    }
    assert_eq!(draw(Mesh { indices: vec![0, 1, 7], ..triangle(1.0) }), Err(ImpostorError::Corners("bark")));
    assert_eq!(draw(Mesh { normals: Vec::new(), ..triangle(1.0) }), Err(ImpostorError::Corners("bark")));
    for samples in [0, 1, 100, 8192, usize::MAX] {
        let error = impostor(&PLANTS[0].mesh, surface, Form::Axial, samples).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{samples} samples along a frame is not a power of two from 16 to 256")
        );
    }
    assert_eq!(ImpostorError::Empty.to_string(), "the plant has no triangles, so there is nothing to draw");
}
