//! EXR, glb and obj, read back by readers that are not ours; and the view from the side.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test may stop")]

use std::io::Cursor;

use exr::prelude::{ReadChannels, ReadLayers};
use orogen_core::testkit::hills;
use orogen_core::{Cancel, Cell, Frame, Raster, Terrain, layer};
use orogen_io::mesh::Surface;
use orogen_io::oblique::{self, View};
use orogen_io::{About, OutputFolder, glb, obj};

const ABOUT: About<'static> = About { layer: "height", unit: "m", seed: "7" };
const ORIGIN: [f64; 2] = [623_456.5, -1_198_765.25];

/// Gentle ground with a peak in the north-east corner.
fn marked(cols: usize, rows: usize) -> Terrain {
    let size = [10.0 * (cols - 1) as f64, 5.0 * (rows - 1) as f64];
    let mut terrain = Terrain::new(Frame::new(ORIGIN, size, [cols, rows]).unwrap());
    let mut height = Raster::from_fn(cols, rows, |c, r| 0.01 * c as f32 + 0.003 * r as f32 - 2.0);
    height[Cell { col: cols - 2, row: 1 }] = 100.0;
    terrain.set(layer::HEIGHT, height);
    terrain
}

fn displaced(mut terrain: Terrain) -> Terrain {
    let (cols, rows) = (terrain.frame().cols(), terrain.frame().rows());
    for (layer, value) in [(layer::DISPLACE_X, 1.5), (layer::DISPLACE_Y, -2.5), (layer::DISPLACE_Z, 0.25)] {
        terrain.set(layer, Raster::from_fn(cols, rows, |c, r| value + 0.001 * (c + r) as f32));
    }
    terrain
}

fn exr_bytes(channels: [&Raster<f32>; 3]) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    orogen_io::exr::write(channels, -9.0, &ABOUT, &mut out).unwrap();
    out.into_inner()
}

/// Red, green and blue of every pixel, row by row.
fn read_exr(bytes: &[u8]) -> (usize, Vec<[f32; 3]>) {
    let image = exr::prelude::read()
        .no_deep_data()
        .largest_resolution_level()
        .rgb_channels(
            |size, _| (size.width(), vec![[0f32; 3]; size.area()]),
            |(width, pixels): &mut (usize, Vec<[f32; 3]>), at, (r, g, b): (f32, f32, f32)| {
                pixels[at.y() * *width + at.x()] = [r, g, b];
            },
        )
        .first_valid_layer()
        .all_attributes()
        .from_buffered(Cursor::new(bytes))
        .unwrap();
    let comment = image.layer_data.attributes.comments.as_ref().unwrap().to_string();
    assert_eq!(comment, "height in m, row 0 north, seed \"7\"");
    image.layer_data.channel_data.pixels
}

#[test]
fn an_exr_comes_back_bit_for_bit_with_north_on_top() {
    // Sizes that do and do not fill the last block; noise that cannot be packed is stored as it is.
    for (cols, rows) in [(40, 33), (3, 2), (257, 64)] {
        let terrain = displaced(marked(cols, rows));
        let height = terrain.get(layer::HEIGHT).unwrap();
        let (width, pixels) = read_exr(&exr_bytes([height; 3]));
        assert_eq!((width, pixels.len()), (cols, cols * rows));
        for (pixel, value) in pixels.iter().zip(height.as_slice()) {
            assert_eq!(pixel.map(f32::to_bits), [value.to_bits(); 3]);
        }
        let highest = (0..pixels.len()).max_by(|&a, &b| pixels[a][0].total_cmp(&pixels[b][0])).unwrap();
        assert_eq!((highest % cols, highest / cols), (cols - 2, 1), "the peak is in the north-east");

        let [x, y, z] =
            [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z].map(|l| terrain.get(l).unwrap());
        let (_, pixels) = read_exr(&exr_bytes([x, y, z]));
        for (i, pixel) in pixels.iter().enumerate() {
            assert_eq!(*pixel, [x.as_slice()[i], y.as_slice()[i], z.as_slice()[i]]);
        }
    }
}

#[test]
fn an_exr_of_noise_comes_back_too_and_holes_get_a_value() {
    let mut noise = Raster::from_fn(50, 40, |c, r| {
        let bits = orogen_core::Seed(3).bits2(c as i64, r as i64) as u32;
        f32::from_bits(bits & 0xbfff_ffff)
    });
    noise[Cell { col: 7, row: 9 }] = f32::NAN;
    let (_, pixels) = read_exr(&exr_bytes([&noise; 3]));
    for (i, (pixel, value)) in pixels.iter().zip(noise.as_slice()).enumerate() {
        let wanted = if i == 9 * 50 + 7 { -9.0 } else { *value };
        assert_eq!(pixel[0].to_bits(), wanted.to_bits());
    }
}

struct Read {
    places: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    indices: Vec<u32>,
    translation: [f32; 3],
}

fn read_glb(terrain: &Terrain) -> Read {
    let mut bytes = Vec::new();
    glb::write(&Surface::of(terrain).unwrap(), "terrain", "7", &mut bytes).unwrap();
    let file = gltf::Gltf::from_slice(&bytes).unwrap();
    let node = file.nodes().next().unwrap();
    let translation = node.transform().decomposed().0;
    let mesh = node.mesh().unwrap();
    let primitive = mesh.primitives().next().unwrap();
    let reader = primitive.reader(|_| file.blob.as_deref());
    let read = Read {
        places: reader.read_positions().unwrap().collect(),
        normals: reader.read_normals().unwrap().collect(),
        uvs: reader.read_tex_coords(0).unwrap().into_f32().collect(),
        indices: reader.read_indices().unwrap().into_u32().collect(),
        translation,
    };
    let bounds = primitive.bounding_box();
    let ends = |i: usize| {
        let values = read.places.iter().map(|p| p[i]);
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
    };
    for i in 0..3 {
        assert_eq!((bounds.min[i], bounds.max[i]), ends(i));
    }
    read
}

#[test]
fn a_glb_has_east_along_x_and_north_against_z() {
    let terrain = marked(30, 20);
    let read = read_glb(&terrain);
    assert_eq!((read.places.len(), read.indices.len()), (600, 6 * 29 * 19));
    let top = (0..600).max_by(|&a, &b| read.places[a][1].total_cmp(&read.places[b][1])).unwrap();
    // 28 columns of 10 m to the east, 18 rows of 5 m to the north, from the south-west sample.
    assert_eq!(read.places[top], [280.0, 100.0, -90.0]);
    assert_eq!(read.translation, [ORIGIN[0] as f32, 0.0, -ORIGIN[1] as f32]);
    // On a picture with north on top it is near the upper right corner.
    assert_eq!(read.uvs[top], [28.0 / 29.0, 1.0 / 19.0]);
}

#[test]
fn triangles_are_wound_to_face_up_and_normals_have_unit_length() {
    let mut terrain = marked(25, 25);
    terrain.set(layer::HEIGHT, hills(25, 20.0));
    let read = read_glb(&terrain);
    for three in read.indices.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|i| read.places[three[i] as usize]);
        // The y of the cross product of both sides.
        let up = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2]);
        assert!((up - 50.0).abs() < 0.1, "{up}");
    }
    for n in &read.normals {
        assert!((n.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5 && n[1] > 0.0);
    }
}

#[test]
fn a_mesh_is_moved_by_the_displacement() {
    let (flat, moved) = (read_glb(&marked(12, 9)), read_glb(&displaced(marked(12, 9))));
    for (i, (a, b)) in flat.places.iter().zip(&moved.places).enumerate() {
        let more = 0.001 * (i % 12 + i / 12) as f32;
        let wanted = [a[0] + 1.5 + more, a[1] + 0.25 + more, a[2] + 2.5 - more];
        assert!((0..3).all(|k| (b[k] - wanted[k]).abs() < 1e-4), "{b:?} is not {wanted:?}");
    }
}

#[test]
fn holes_are_left_out_and_leave_no_loose_numbers() {
    let mut terrain = marked(6, 5);
    terrain.update::<f32>(&layer::HEIGHT.name(), |h| h[Cell { col: 2, row: 2 }] = f32::NAN).unwrap();
    let read = read_glb(&terrain);
    assert_eq!(read.places.len(), 29);
    // Four cells lose the corner and keep the opposite triangle.
    assert_eq!(read.indices.len() / 3, 2 * 5 * 4 - 4);
    assert!(read.indices.iter().all(|&i| i < 29) && read.places.iter().flatten().all(|v| v.is_finite()));
    // No triangle spans more than a cell.
    for three in read.indices.chunks(3) {
        let xs = [0, 1, 2].map(|i| read.places[three[i] as usize][0]);
        assert!(xs.iter().fold(0f32, |m, x| m.max((x - xs[0]).abs())) <= 10.0);
    }
    terrain.set(layer::HEIGHT, Raster::filled(6, 5, f32::NAN));
    assert!(Surface::of(&terrain).unwrap_err().to_string().contains("there are none"));
}

#[test]
fn an_obj_says_the_same_as_the_glb() {
    let terrain = displaced(marked(7, 6));
    let mut bytes = Vec::new();
    obj::write(&Surface::of(&terrain).unwrap(), "terrain", "7", &mut bytes).unwrap();
    let (text, read) = (String::from_utf8(bytes).unwrap(), read_glb(&terrain));
    let numbers = |key: &str| -> Vec<Vec<f32>> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(key));
        lines.map(|line| line.split(['/', ' ']).map(|n| n.parse().unwrap()).collect()).collect()
    };
    assert_eq!(numbers("v "), read.places.iter().map(|p| p.to_vec()).collect::<Vec<_>>());
    let faces: Vec<u32> =
        numbers("f ").iter().flat_map(|f| [f[0], f[3], f[6]]).map(|n| n as u32 - 1).collect();
    assert_eq!(faces, read.indices);
    for (vt, uv) in numbers("vt ").iter().zip(&read.uvs) {
        assert!((vt[0] - uv[0]).abs() < 1e-5 && (vt[1] - (1.0 - uv[1])).abs() < 1e-5);
    }
    assert_eq!(numbers("vn ").len(), read.normals.len());
}

#[test]
fn a_mesh_beyond_the_lengths_of_the_format_is_refused() {
    assert!(glb::too_large(1025 * 1025, 2 * 1024 * 1024).is_none());
    let why = glb::too_large(16385 * 16385, 2 * 16384 * 16384).unwrap();
    assert!(why.contains("at most 4294967295"), "{why}");
}

#[test]
fn streamed_files_have_the_bytes_and_the_hash_of_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = OutputFolder::new(folder.path()).unwrap();
    let (terrain, cancel) = (marked(70, 70), Cancel::new());
    let mut wanted = Vec::new();
    glb::write(&Surface::of(&terrain).unwrap(), "terrain", "7", &mut wanted).unwrap();
    let written = output
        .write_with("a.glb", &cancel, |out| glb::write(&Surface::of(&terrain).unwrap(), "terrain", "7", out))
        .unwrap();
    let height = terrain.get(layer::HEIGHT).unwrap();
    output.write_with("a.exr", &cancel, |out| orogen_io::exr::write([height; 3], 0.0, &ABOUT, out)).unwrap();
    let failed = output.write_with("b.glb", &cancel, |_| Err(std::io::Error::other("disk on fire")));
    assert!(failed.unwrap_err().to_string().contains("disk on fire"));
    let sidecar = orogen_io::exr::sidecar(terrain.frame(), &ABOUT, None, &written);
    assert_eq!((sidecar.cols, sidecar.rows, sidecar.bits), (Some(70), Some(70), Some(32)));
    drop(output);
    assert_eq!(written.bytes, wanted.len() as u64);
    use sha2::Digest;
    let hash: [u8; 32] = sha2::Sha256::digest(&wanted).into();
    assert_eq!(written.sha256, hash);
}

#[test]
fn the_view_from_the_side_shows_land_before_sky() {
    let mut terrain = marked(65, 65);
    terrain.set(layer::HEIGHT, hills(65, 40.0));
    let view = View { width_px: 120, ..View::default() };
    let picture = oblique::render(&terrain, &view).unwrap();
    assert_eq!(picture.cols(), 120);
    let (sky, ground) = (picture.row(0)[1], picture.row(picture.rows() * 2 / 3)[60]);
    assert!(sky[2] > sky[0], "the sky is blue: {sky:?}");
    assert!(ground[2] < ground[0], "the ground is not: {ground:?}");
    assert_eq!(picture, oblique::render(&terrain, &view).unwrap());
}
