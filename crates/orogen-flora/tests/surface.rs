//! Bark repeats, leaves have their colour and keep their coverage, threads change nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use orogen_core::Seed;
use orogen_flora::{BarkKind, LeafMaps, Outline, Season, Species, leaf_maps, levels, names, species};
use orogen_texture::color::{from_srgb, mean};

const SIZE: usize = 128;

fn oak() -> Species {
    species("oak").unwrap().unwrap()
}

#[test]
fn bark_repeats_has_its_color_and_unit_normals() {
    let color = [110, 92, 74];
    for &kind in BarkKind::ALL {
        let maps = kind.make(SIZE, color, Seed(7));
        assert_eq!(maps.albedo.len(), SIZE * SIZE, "{}", kind.name());
        let found = mean(&maps.albedo);
        for (found, wanted) in found.iter().zip(from_srgb(color)) {
            assert!((found / wanted - 1.0).abs() < 0.03, "{}: {found} for {wanted}", kind.name());
        }
        for n in &maps.normal {
            let length: f32 = n.iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-4 && n[2] > 0.0, "{}: {n:?}", kind.name());
        }
        assert!(maps.height_range_m > 1e-4 && maps.height_range_m < 2.0, "{}", kind.name());
        // Across the edges heights change no more than inside.
        let step = |a: (isize, isize), b: (isize, isize)| {
            f64::from((maps.height.at(a.0, a.1) - maps.height.at(b.0, b.1)).abs())
        };
        let n = SIZE as isize;
        let across = |col: isize| (0..n).map(|i| step((col, i), (col + 1, i))).sum::<f64>();
        let along = |row: isize| (0..n).map(|i| step((i, row), (i, row + 1))).sum::<f64>();
        let worst = |f: &dyn Fn(isize) -> f64| (0..n - 1).map(f).fold(0.0, f64::max);
        assert!(across(n - 1) <= 1.2 * worst(&across), "{}", kind.name());
        assert!(along(n - 1) <= 1.2 * worst(&along), "{}", kind.name());
    }
}

fn coverage(maps: &LeafMaps) -> f64 {
    maps.albedo.iter().filter(|p| p[3] >= 128).count() as f64 / maps.albedo.len() as f64
}

#[test]
fn every_outline_paints_four_twigs_that_touch_their_stalk_and_no_edge() {
    for &outline in Outline::ALL {
        let mut plant = oak();
        plant.leaves.outline = Some(outline);
        plant.leaves.width_share = 0.5;
        let maps = leaf_maps(&plant, Season::Summer, SIZE, Seed(3));
        let alpha = |col: usize, row: usize| maps.albedo[row * SIZE + col][3];
        let half = SIZE / 2;
        for cell in 0..4 {
            let [left, top] = [cell % 2 * half, cell / 2 * half];
            let inside = (0..half * half).filter(|i| alpha(left + i % half, top + i / half) >= 128).count();
            let share = inside as f64 / (half * half) as f64;
            assert!((0.03..0.95).contains(&share), "{}: {share} of a cell", outline.name());
            for i in 0..half {
                assert_eq!(alpha(left, top + i), 0, "{}", outline.name());
                assert_eq!(alpha(left + half - 1, top + i), 0, "{}", outline.name());
                assert_eq!(alpha(left + i, top + half - 1), 0, "{}", outline.name());
            }
            let foot = (0..half).any(|i| alpha(left + i, top) > 0 || alpha(left + i, top + 1) > 0);
            assert!(foot, "{}: nothing at the stalk", outline.name());
        }
    }
}

#[test]
fn leaves_have_the_color_of_their_season_and_no_dark_fringe() {
    for season in [Season::Spring, Season::Summer, Season::Autumn] {
        let maps = leaf_maps(&oak(), season, SIZE, Seed(3));
        let wanted = from_srgb(oak().leaf_color(season));
        let (mut sum, mut cover) = ([0.0f64; 3], 0.0);
        for p in &maps.albedo {
            let weight = f64::from(p[3]) / 255.0;
            let light = from_srgb([p[0], p[1], p[2]]);
            sum = [0, 1, 2].map(|k| sum[k] + weight * f64::from(light[k]));
            cover += weight;
        }
        for k in 0..3 {
            let found = sum[k] / cover;
            assert!(
                (found / f64::from(wanted[k]) - 1.0).abs() < 0.04,
                "{season:?}: {found} for {}",
                wanted[k]
            );
        }
        // What is clear has a colour like what is covered, not black.
        let clear: Vec<[u8; 3]> =
            maps.albedo.iter().filter(|p| p[3] < 20).map(|p| [p[0], p[1], p[2]]).collect();
        assert!(mean(&clear)[1] > 0.4 * wanted[1], "{season:?}: {:?}", mean(&clear));
    }
}

#[test]
fn smaller_pictures_cover_as_much() {
    for name in ["oak", "pine", "spruce", "acacia"] {
        let plant = species(name).unwrap().unwrap();
        let all = levels(&leaf_maps(&plant, Season::Summer, 256, Seed(3)));
        assert_eq!(all.len(), 8);
        let wanted = coverage(&all[0]);
        for level in all.iter().filter(|level| level.size >= 16) {
            let found = coverage(level);
            assert!((found / wanted - 1.0).abs() < 0.1, "{name} at {}: {found} for {wanted}", level.size);
        }
    }
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let made = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| orogen_flora::surface(&oak(), Season::Autumn, SIZE))
    };
    assert!(made(1) == made(7));
}

#[test]
fn every_species_says_how_its_bark_is_built_and_has_leaves_of_some_outline() {
    for name in names() {
        let plant = species(name).unwrap().unwrap();
        let surface = orogen_flora::surface(&plant, Season::Summer, 64);
        assert_eq!(surface.leaves.is_some(), plant.leaves.count != 0, "{name}");
        assert_eq!(surface.bark.kind, plant.bark_kind, "{name}");
    }
    assert_eq!(Outline::of_form("tuft"), Outline::Pine);
    assert_eq!(Outline::of_form("daisy"), Outline::Daisy);
    assert!(Species::from_toml("bark_kind = \"shiny\"").is_err_and(|e| e.to_string().contains("shiny")));
}
