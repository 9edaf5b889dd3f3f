//! Impostors look like the meshes they stand for.
#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::sync::LazyLock;

use orogen_core::{Seed, math};
use orogen_flora::{
    Form, FrameView, Growth, IMPOSTOR_LEVEL, Impostor, ImpostorError, Light, Mesh, PlantMesh, Season, Surface, View,
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
    Made { name, mesh: lod(&species, &plant, IMPOSTOR_LEVEL), surface: surface(&species, Season::Summer, 256) }
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

/// Worst differences from the mesh: of the area, and of a channel of the mean colour, as shares of the mesh's.
fn worst(made: &Made, form: Form, viewers: &[[f64; 3]]) -> Vec<(f64, f64)> {
    let stand_in = impostor(&made.mesh, &made.surface, form, SAMPLES).unwrap();
    let suns = suns();
    viewers
        .par_iter()
        .map(|back| {
            let view = view(&stand_in, *back);
            let true_ones = mesh_pictures(&made.mesh, &made.surface, &view, &suns).unwrap();
            let ours = stand_in.pictures(&view, &suns);
            let area = ours[0].area() / true_ones[0].area() - 1.0;
            let color = ours.iter().zip(&true_ones).flat_map(|(a, b)| {
                let (a, b) = (a.mean(), b.mean());
                if std::env::var("LUM").is_ok() {
                    let lum = |c: [f64; 3]| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
                    return [lum(a) / lum(b) - 1.0; 3];
                }
                [0, 1, 2].map(|k| a[k] / b[k] - 1.0)
            });
            let color = color.fold(0.0, |worst: f64, v| if v.abs() > worst.abs() { v } else { worst });
            (area, color)
        })
        .collect()
}

fn hold(form: Form, viewers: &[[f64; 3]], [area, color]: [f64; 2]) {
    let mut wrong = Vec::new();
    for made in PLANTS.iter() {
        let found = worst(made, form, viewers);
        let text: Vec<String> =
            found.iter().map(|(area, color)| format!("{:+.1}/{:+.1}", 100.0 * area, 100.0 * color)).collect();
        println!("{}: area/colour % {}", made.name, text.join(" "));
        for ((a, c), back) in found.iter().zip(viewers) {
            if a.abs() > area || c.abs() > color {
                wrong.push(format!("{} from {back:.2?}: area {a:+.3}, colour {c:+.3}", made.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn octahedral_impostors_look_like_their_meshes_from_between_their_frames() {
    let viewers = viewers(26);
    let stand_in = impostor(&PLANTS[0].mesh, &PLANTS[0].surface, Form::Octahedral, 16).unwrap();
    for back in &viewers {
        let nearest = stand_in.frames.iter().map(|frame| (0..3).map(|k| frame.back[k] * back[k]).sum::<f64>());
        assert!(nearest.fold(0.0, f64::max) < 0.9999, "{back:?} is a frame's own");
    }
    hold(Form::Octahedral, &viewers, [0.05, 0.02]);
}

#[test]
fn zz_frames_own() {
    let stand_in = impostor(&PLANTS[0].mesh, &PLANTS[0].surface, Form::Octahedral, 16).unwrap();
    let viewers: Vec<[f64; 3]> = stand_in.frames.iter().step_by(5).map(|f| f.back).collect();
    hold(Form::Octahedral, &viewers, [0.05, 0.02]);
}
