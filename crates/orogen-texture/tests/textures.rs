//! Promises that every texture keeps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::sync::OnceLock;

use orogen_core::{Seed, math};
use orogen_texture::color::{from_srgb, luminance, mean};
use orogen_texture::{Detail, Maps, Texture, TextureError};
use rayon::prelude::*;

const SIZE: usize = 256;

/// All textures, made once.
fn all() -> &'static [Maps] {
    static ALL: OnceLock<Vec<Maps>> = OnceLock::new();
    ALL.get_or_init(|| {
        Texture::ALL.par_iter().map(|texture| texture.make(SIZE, Seed::from_text("test")).unwrap()).collect()
    })
}

/// Numbers of a map that must be seamless.
fn channels(maps: &Maps) -> Vec<(&'static str, Vec<f32>)> {
    vec![
        ("albedo", maps.albedo.iter().map(|&pixel| luminance(from_srgb(pixel))).collect()),
        ("height", maps.height.as_slice().to_vec()),
        ("normal x", maps.normal.iter().map(|n| n[0]).collect()),
        ("normal y", maps.normal.iter().map(|n| n[1]).collect()),
        ("roughness", maps.roughness.as_slice().to_vec()),
        ("occlusion", maps.occlusion.as_slice().to_vec()),
    ]
}

#[test]
fn opposite_edges_meet_as_neighbours_inside_do() {
    for maps in all() {
        for (what, values) in channels(maps) {
            for across in [true, false] {
                let at = |line: usize, i: usize| {
                    let line = line % SIZE;
                    if across { values[i * SIZE + line] } else { values[line * SIZE + i] }
                };
                // The mean step from each line to the next; the last of them crosses the seam.
                let steps: Vec<f64> = (0..SIZE)
                    .map(|line| {
                        (0..SIZE).map(|i| f64::from((at(line + 1, i) - at(line, i)).abs())).sum::<f64>()
                    })
                    .map(|sum| sum / SIZE as f64)
                    .collect();
                let (seam, inside) = (steps[SIZE - 1], &steps[..SIZE - 1]);
                let average = inside.iter().sum::<f64>() / inside.len() as f64;
                let most = inside.iter().copied().fold(0.0, f64::max);
                let spread = (inside.iter().map(|s| (s - average) * (s - average)).sum::<f64>()
                    / inside.len() as f64)
                    .sqrt();
                let name = maps.texture.name();
                assert!(
                    seam <= most && seam <= average + 4.0 * spread,
                    "{name}, {what}: {seam} beside {average}"
                );
                assert!(seam >= average - 4.0 * spread, "{name}, {what}: {seam} beside {average}");
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            Texture::ALL
                .iter()
                .map(|t| t.make(64, Seed::from_text("threads")).unwrap())
                .collect::<Vec<Maps>>()
        })
    };
    let one = on(1);
    assert!(one == on(3));
}

#[test]
fn the_bits_are_pinned() {
    // Textures that change without anybody meaning it would not match those that were exported before. A change that is meant
    // changes this number.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for texture in [Texture::Limestone, Texture::Scree, Texture::Grass, Texture::Ice] {
        let maps = texture.make(64, Seed::from_text("pinned")).unwrap();
        let heights = maps.height.as_slice().iter().flat_map(|h| h.to_bits().to_le_bytes());
        for byte in maps.albedo.iter().flatten().copied().chain(heights) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(hash, 0x263d_453a_f977_f31f, "found {hash:#018x}");
}

#[test]
fn normals_have_length_one_and_are_those_of_the_heights() {
    for maps in all() {
        let spacing = f64::from(maps.size_m) / SIZE as f64;
        let height = |col: usize, row: usize| {
            f64::from(maps.height.row(row % SIZE)[col % SIZE]) * f64::from(maps.height_range_m)
        };
        for row in (0..SIZE).step_by(7) {
            for col in (0..SIZE).step_by(5) {
                let [x, y, z] = maps.normal[row * SIZE + col].map(f64::from);
                let length = (x * x + y * y + z * z).sqrt();
                assert!((length - 1.0).abs() < 1e-5 && z > 0.0, "{}", maps.texture.name());
                let rise_right = (height(col + 1, row) - height(col + SIZE - 1, row)) / (2.0 * spacing);
                let rise_up = (height(col, row + SIZE - 1) - height(col, row + 1)) / (2.0 * spacing);
                assert!(
                    (x / z + rise_right).abs() < 2e-3 * (1.0 + rise_right.abs()),
                    "{}",
                    maps.texture.name()
                );
                assert!((y / z + rise_up).abs() < 2e-3 * (1.0 + rise_up.abs()), "{}", maps.texture.name());
            }
        }
    }
}

#[test]
fn mean_colours_are_those_of_the_table() {
    for maps in all() {
        let (found, said) = (mean(&maps.albedo), maps.texture.mean_color());
        for c in 0..3 {
            let name = maps.texture.name();
            assert!((found[c] / said[c] - 1.0).abs() < 0.01, "{name}: {found:?} is not {said:?}");
        }
    }
    // What is known of real ground.
    let bright = |texture: Texture| luminance(texture.mean_color());
    assert!((0.1..0.2).contains(&bright(Texture::Grass)));
    assert!(bright(Texture::Snow) > 0.84);
    assert!((0.07..0.09).contains(&bright(Texture::Basalt)));
    assert!((0.32..0.38).contains(&bright(Texture::Sand)));
}

#[test]
fn values_are_in_range_and_use_it() {
    for maps in all() {
        let name = maps.texture.name();
        assert_eq!(maps.height.range(), (0.0, 1.0), "{name}");
        assert!((0.01..0.6).contains(&maps.height_range_m), "{name}: {} m", maps.height_range_m);
        assert!((1.0..=4.0).contains(&maps.size_m), "{name}");
        for field in [&maps.roughness, &maps.occlusion] {
            let (low, high) = field.range();
            assert!(low >= 0.0 && high <= 1.0 && high > low, "{name}: {low} to {high}");
        }
        // Colours of the ground are muted: none is as pure as paint.
        for &pixel in &maps.albedo {
            let [r, g, b] = from_srgb(pixel);
            let (most, least) = (r.max(g).max(b), r.min(g).min(b));
            assert!(most < 0.05 || least / most > 0.06, "{name}: {pixel:?}");
        }
    }
}

/// The brightness of a texture in 64 x 64 blocks, less its mean.
fn blocks(maps: &Maps) -> Vec<f64> {
    let step = maps.size / 64;
    let share = 1.0 / (step * step) as f64;
    let mut blocks = vec![0.0; 64 * 64];
    for (i, &pixel) in maps.albedo.iter().enumerate() {
        let (col, row) = (i % maps.size / step, i / maps.size / step);
        blocks[row * 64 + col] += f64::from(luminance(from_srgb(pixel))) * share;
    }
    let mean = blocks.iter().sum::<f64>() / blocks.len() as f64;
    blocks.iter().map(|b| b / mean - 1.0).collect()
}

/// The power of each wave across 64 x 64 blocks.
fn spectrum(blocks: &[f64]) -> Vec<f64> {
    let wave: Vec<[f64; 2]> = (0..64)
        .map(|i| {
            let angle = std::f64::consts::TAU * f64::from(i) / 64.0;
            [math::cos(angle), math::sin(angle)]
        })
        .collect();
    // Along rows, then along columns.
    let transform = |input: &[[f64; 2]]| -> Vec<[f64; 2]> {
        let mut out = vec![[0.0; 2]; 64 * 64];
        for row in 0..64 {
            for k in 0..64 {
                for i in 0..64 {
                    let ([re, im], [c, s]) = (input[row * 64 + i], wave[k * i % 64]);
                    // Stored turned, so that the second pass runs along the other side.
                    out[k * 64 + row][0] += re * c + im * s;
                    out[k * 64 + row][1] += im * c - re * s;
                }
            }
        }
        out
    };
    let input: Vec<[f64; 2]> = blocks.iter().map(|&b| [b, 0.0]).collect();
    transform(&transform(&input)).iter().map(|[re, im]| re * re + im * im).collect()
}

#[test]
fn no_wave_stands_out_that_tiling_would_show() {
    for maps in all() {
        let (name, power) = (maps.texture.name(), spectrum(&blocks(maps)));
        let total: f64 = power.iter().sum();
        // Once across the tile: what shows as a lattice from afar.
        let broad: f64 = (0..64)
            .flat_map(|y| (0..64).map(move |x| (x, y)))
            .filter(|&(x, y): &(usize, usize)| x.min(64 - x) <= 1 && y.min(64 - y) <= 1)
            .map(|(x, y)| power[y * 64 + x])
            .sum();
        assert!(broad < 0.05 * total, "{name}: {:.3} of its contrast is as broad as the tile", broad / total);
        // Beds lie level and ripples follow each other; nothing else has one wave above all.
        let most = power.iter().copied().fold(0.0, f64::max) / total;
        let allowed = if matches!(maps.texture, Texture::Sandstone | Texture::Sand) { 0.25 } else { 0.03 };
        assert!(most < allowed, "{name}: one wave has {most:.3} of its contrast");
    }
}

#[test]
fn fewer_samples_show_the_same_ground() {
    for texture in [Texture::Granite, Texture::Basalt, Texture::Gravel, Texture::Grass, Texture::ForestFloor]
    {
        let [a, b] = [512, 1024].map(|size| blocks(&texture.make(size, Seed::from_text("test")).unwrap()));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let likeness = product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt();
        assert!(likeness > 0.85, "{}: {likeness:.2}", texture.name());
    }
}

#[test]
fn another_seed_gives_another_piece_of_the_same_ground() {
    for texture in [Texture::Granite, Texture::Grass, Texture::Gravel] {
        let [a, b] = ["a", "b"].map(|seed| texture.make(64, Seed::from_text(seed)).unwrap());
        assert_ne!(a.albedo, b.albedo);
        assert!((a.height_range_m / b.height_range_m - 1.0).abs() < 0.5);
    }
}

#[test]
fn detail_patterns_leave_the_mean_and_do_not_repeat_with_the_tile() {
    let mut turned = 0;
    for maps in all() {
        match &maps.detail {
            Detail::Turned { turn_deg, scale } => {
                turned += 1;
                assert!((10.0..80.0).contains(turn_deg) && *scale > 1.5);
            }
            Detail::Pattern(pattern) => {
                for c in 0..3 {
                    let mean = pattern.factor.iter().map(|f| f64::from(f[c])).sum::<f64>()
                        / pattern.factor.len() as f64;
                    assert!((mean - 1.0).abs() < 0.01, "{}: {mean}", maps.texture.name());
                }
                assert!(pattern.factor.iter().flatten().all(|f| (0.0..2.0).contains(f)));
                let tiles = pattern.size_m / maps.size_m;
                assert!(tiles > 8.0 && (tiles - tiles.round()).abs() > 0.05, "{}", maps.texture.name());
            }
        }
    }
    assert!(turned >= 5, "loose ground is averaged with itself");
}

#[test]
fn levels_halve_down_to_the_mean_colour() {
    for maps in all() {
        let levels = maps.levels();
        assert_eq!(levels.iter().map(|l| l.size).collect::<Vec<_>>(), [256, 128, 64, 32, 16, 8, 4, 2, 1]);
        let [r, g, b, _] = levels[8].albedo_height[0];
        let last = from_srgb([r, g, b]);
        for (found, said) in last.iter().zip(maps.texture.mean_color()) {
            assert!((found - said).abs() < 0.02 * said + 0.002, "{}", maps.texture.name());
        }
        // Averaging rough ground leaves it rough.
        assert!(levels[8].surface[0][2] >= levels[0].surface.iter().map(|s| s[2]).min().unwrap());
    }
}

#[test]
fn a_size_that_does_not_suit_and_an_unknown_name_get_a_sentence() {
    for size in [0, 1, 32, 100, 1000, 4096, usize::MAX] {
        let error = Texture::Sand.make(size, Seed(1)).unwrap_err();
        assert_eq!(error, TextureError::Size(size));
        assert!(
            error.to_string().ends_with("a power of two from 64 to 2048 samples along a side"),
            "{error}"
        );
    }
    let error = Texture::named("granit").unwrap_err().to_string();
    assert_eq!(error, "no such texture \"granit\"; did you mean \"granite\"?");
    assert_eq!(Texture::named("qqqq").unwrap_err().to_string(), "no such texture \"qqqq\"");
    assert_eq!(Texture::ALL.len(), 17);
    for &texture in Texture::ALL {
        assert_eq!(Texture::named(texture.name()), Ok(texture));
    }
}
