//! A golden picture of the whole main job: small, and compared as the eye would.
//!
//! Renew it with `cargo xtask goldens` after a change that was meant, and look at it.

use std::path::{Path, PathBuf};

use orogen::io::{png8, relief};
use orogen::prelude::*;

/// Mean difference of brightness and colour over blocks of 4 x 4 pixels, of 255, that nobody sees.
const MOST_DIFFERENT: f64 = 1.0;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn the_island_looks_as_it_did() {
    let recipe = Recipe::parse("island.toml", orogen::presets::preset("island").unwrap().text.as_bytes()).unwrap();
    let mut options = BuildOptions::default();
    options.overrides.samples = Some(257);
    let built = orogen::build(&recipe, &options, &Unobserved).unwrap();
    let picture = relief::render(&built.terrain, &relief::ReliefStyle::default()).unwrap();
    let png = png8::encode(&picture);

    let path = golden("island.png");
    if std::env::var_os("OROGEN_RENEW_GOLDENS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &png).unwrap();
    }
    let expected = decode(&std::fs::read(&path).expect("the golden picture is there"));
    let difference = difference(&expected, &decode(&png));
    if difference > MOST_DIFFERENT {
        let seen = std::env::temp_dir().join("orogen-golden-island.png");
        std::fs::write(&seen, &png).unwrap();
        panic!("the island differs from its golden picture by {difference:.2}; what came out is {}", seen.display());
    }
}

#[test]
fn the_comparison_sees_a_change() {
    let expected = decode(&std::fs::read(golden("island.png")).expect("the golden picture is there"));
    let mut other = Image { width: expected.width, rgb: expected.rgb.clone() };
    other.rgb.rotate_left(3 * 12);
    assert!(difference(&expected, &other) > MOST_DIFFERENT, "a shift of 12 pixels must be seen");
}

struct Image {
    width: usize,
    rgb: Vec<u8>,
}

fn decode(png: &[u8]) -> Image {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    Image { width: info.width as usize, rgb }
}

/// Mean absolute difference after averaging blocks, so that neither single pixels nor last bits count.
fn difference(a: &Image, b: &Image) -> f64 {
    assert_eq!((a.width, a.rgb.len()), (b.width, b.rgb.len()), "the sizes differ");
    let blocks = |image: &Image| {
        let across = image.width.div_ceil(4);
        let height = image.rgb.len() / 3 / image.width;
        let mut sums = vec![[0.0f64; 4]; across * height.div_ceil(4)];
        for (i, pixel) in image.rgb.chunks_exact(3).enumerate() {
            let block = &mut sums[(i / image.width / 4) * across + i % image.width / 4];
            for channel in 0..3 {
                block[channel] += f64::from(pixel[channel]);
            }
            block[3] += 1.0;
        }
        sums
    };
    let (a, b) = (blocks(a), blocks(b));
    let sum: f64 = a.iter().zip(&b).map(|(a, b)| (0..3).map(|c| (a[c] / a[3] - b[c] / b[3]).abs()).sum::<f64>()).sum();
    sum / (3 * a.len()) as f64
}
