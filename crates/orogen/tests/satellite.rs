//! Crowns and bare ground of a real image against the surface model under it (Mont Ventoux: pines on limestone), and the three
//! ways of using an image.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen_core::testkit::surveyed_model;
use orogen_core::{Ctx, Frame, LandClass, Op, Raster, Terrain, layer};
use orogen_io::{FolderFiles, Limits, elevation};
use orogen_ops::cover::Satellite;

/// How far a sample stands above the mean of what is within 5 m of it; a hole where some of that is missing.
fn above_its_surroundings(surface: &Raster<f32>) -> Raster<f32> {
    const REACH: isize = 10;
    Raster::from_fn(surface.cols(), surface.rows(), |col, row| {
        let mut sum = 0.0;
        for down in -REACH..=REACH {
            for aside in -REACH..=REACH {
                sum += surface.clamped(col as isize + aside, row as isize + down);
            }
        }
        let side = (2 * REACH + 1) as f32;
        surface.row(row)[col] - sum / (side * side)
    })
}

#[test]
fn forest_in_an_image_is_what_stands_above_the_ground() {
    let Some(model) = surveyed_model("ventoux_dsm.tif") else { return };
    let (surface, _) = elevation::read_placed(&model, &Limits::default()).unwrap();
    let surface = surface.height;
    let (cols, rows) = (surface.cols(), surface.rows());
    let mut terrain = Terrain::new(Frame::new([0.0, 0.0], [199.5, 53.0], [cols, rows]).unwrap());
    terrain.set(layer::HEIGHT, surface.clone());
    let images = model.parent().unwrap().parent().unwrap().join("rgb");
    let files = FolderFiles::new(images, Limits::default());
    let op = Satellite { path: String::from("ventoux_ortho.tif"), ..Satellite::default() };
    let terrain = op.apply(terrain, &Ctx::silent().with_files(&files)).unwrap();
    let classes = terrain.get(layer::SATELLITE).unwrap();
    let above = above_its_surroundings(&surface);
    // Of the crowns that stand out and of the ground that lies lower than its surroundings: how much is green.
    let green = |is_meant: &dyn Fn(f32) -> bool| {
        let (mut all, mut green) = (0, 0);
        for (class, above) in classes.as_slice().iter().zip(above.as_slice()) {
            let Some(class) = LandClass::from_id(*class) else { continue };
            if is_meant(*above) {
                all += 1;
                green += usize::from(class >= LandClass::Grass);
            }
        }
        assert!(all > 2000, "{all} samples");
        green as f64 / all as f64
    };
    let (crowns, ground) = (green(&|above| above > 0.6), green(&|above| above < -0.3));
    assert!(crowns > 0.8, "{crowns} of the crowns are green");
    assert!(ground < 0.35, "{ground} of the ground between them is green");
    assert!(classes.as_slice().iter().all(|class| *class != LandClass::Sea.id()), "500 m above the sea");
}

/// A few bytes may stand for gigabytes: the sizes are read before any memory is taken.
#[test]
fn an_image_that_is_huge_gets_a_sentence() {
    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let named: Vec<u8> = kind.iter().chain(data).copied().collect();
        let crc = !named.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
            })
        });
        [&(data.len() as u32).to_be_bytes()[..], &named, &crc.to_be_bytes()].concat()
    }
    let dir = tempfile::tempdir().unwrap();
    let side = 200_000u32.to_be_bytes();
    let header = [&side[..], &side, &[8, 2, 0, 0, 0]].concat();
    let png =
        [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &header), &chunk(b"IDAT", &[]), &chunk(b"IEND", &[])];
    std::fs::write(dir.path().join("huge.png"), png.concat()).unwrap();
    let recipe = "seed = \"huge\"\nframe = { size_m = 1000.0, samples = 33 }\n\
                  [[step]]\nid = \"land\"\nop = \"source.noise\"\n\
                  [[step]]\nid = \"seen\"\nop = \"cover.satellite\"\nparams = { path = \"huge.png\" }\n";
    let recipe = orogen::prelude::Recipe::parse("huge.toml", recipe.as_bytes()).unwrap();
    let options = orogen::BuildOptions { base: Some(dir.path().to_owned()), ..Default::default() };
    let said = orogen::build(&recipe, &options, &orogen::prelude::Unobserved).unwrap_err().to_string();
    assert!(said.contains("huge.png") && said.contains("200000 x 200000"), "{said}");
}
