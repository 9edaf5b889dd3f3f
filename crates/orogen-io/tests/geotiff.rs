//! GeoTIFF against other programs' files: what GDAL wrote in every layout, real elevation models, and the `tiff` crate
//! as a second reader of our own files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test may stop")]

use std::io::Cursor;
use std::path::Path;

use orogen_core::testkit::{assert_close, hills, surveyed_model};
use orogen_core::{Cell, Elevation, Frame, LayerData, Raster, Sample, Weight};
use orogen_io::geotiff::{Compression, Place};
use orogen_io::{About, FormatError, Limits, elevation, geotiff};

fn gdal_file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/geotiff").join(name);
    std::fs::read(path.with_extension("tif")).unwrap()
}

fn decode(bytes: &[u8]) -> Result<Elevation, FormatError> {
    geotiff::decode(bytes, &Limits::default())
}

/// GDAL wrote the value `col + 7 row` (the rest of a division by 100 into 8 signed bits) into 20 x 17 samples, with a hole at column 3 of row 2.
fn assert_values(name: &str, height: &Raster<f32>, hole: bool) {
    assert_eq!((height.cols(), height.rows()), (20, 17), "{name}");
    for row in 0..17 {
        for col in 0..20 {
            let found = height[Cell { col, row }];
            if hole && (col, row) == (3, 2) {
                assert!(found.is_nan(), "{name}: the hole holds {found}");
            } else {
                let wanted = if name.starts_with("i8") { (col + 7 * row) % 100 } else { col + 7 * row };
                assert_eq!(found, wanted as f32, "{name}: column {col} of row {row}");
            }
        }
    }
}

#[test]
fn what_an_internal_mask_of_gdal_leaves_out_is_a_hole() {
    for name in ["f32_mask_strips", "i16_mask_tiles_deflate"] {
        let file = gdal_file(name);
        let model = decode(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_values(name, &model.height, true);
        // A list of directories that runs in circles ends too: the last one points to itself.
        let mut circle = file.clone();
        let word =
            |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let end_of = |bytes: &[u8], at: usize| {
            at + 2 + 12 * usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()))
        };
        let first = word(&file, 4);
        let first_end = end_of(&file, first);
        circle[first_end..first_end + 4].copy_from_slice(&(first as u32).to_le_bytes());
        assert_values(name, &decode(&circle).unwrap().height, false);
        // A mask whose bits are not there is an error, not ground in its holes.
        let mask = word(&file, first_end);
        let mut damaged = file.clone();
        for entry in (mask + 2..end_of(&file, mask)).step_by(12) {
            let number = |at: usize| u16::from_le_bytes(file[entry + at..entry + at + 2].try_into().unwrap());
            // The only strip, whose place stands in the directory itself.
            if number(0) == 273 && number(4) == 1 {
                damaged[entry + 8..entry + 12].copy_from_slice(&u32::MAX.to_le_bytes());
            }
        }
        assert_eq!(decode(&damaged).is_err(), damaged != file, "{name}");
    }
}

#[test]
fn every_layout_that_gdal_writes() {
    for name in [
        "f32_deflate_p3_strips",
        "f32_deflate_p3_tiles",
        "f64_deflate_p3_tiles",
        "f64_lzw_strips",
        "f32_lzw_p2_tiles",
        "i16_deflate_p2_tiles",
        "i16_big_endian_p2",
        "f32_big_endian_p3",
        "f32_big_endian_plain",
        "u16_lzw_p2_strips",
        "u8_packbits",
        "i8_plain",
        "i32_plain_tiles",
        "u32_lzw_p2",
        "bigtiff_f32",
        "bigtiff_i16_tiles",
        "two_bands_pixels",
        "two_bands_planes",
        "scaled_u16",
        "scaled_i16_zstd_tiles",
        "scaled_f32",
        "f32_zstd_p3_strips",
        "f64_zstd_p3_tiles",
        "f32_zstd22",
        "f32_lerc",
        "f32_lerc_deflate_tiles",
        "i16_lerc_zstd",
        "f32_lerc_two_bands",
        "three_bands_pixels_p3",
        "three_bands_planes_p2",
        "f32_nan_holes",
    ] {
        let model = decode(&gdal_file(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_values(name, &model.height, true);
        // Corner of the first pixel at (1000, 5000), pixels of 30 m: the first sample lies in its middle.
        assert_eq!(model.spacing_m, Some([30.0, 30.0]), "{name}");
        assert_eq!(model.north_west_m, Some([1015.0, 4985.0]), "{name}");
    }
}

/// In both files of three bands the second holds 1000 more than the first, and the third 2000 less the first. Of the one in
/// planes, GDAL was given an offset of -1000 m for the second.
#[test]
fn one_of_several_bands_is_read_with_its_own_offset() {
    let band = |name: &str, band: u32| {
        geotiff::decode_band(&gdal_file(name), Some(band), &Limits::default()).map(|(model, _)| model.height)
    };
    for (name, second) in [("three_bands_pixels_p3", 1000.0), ("three_bands_planes_p2", 0.0)] {
        assert_values(name, &band(name, 1).unwrap(), true);
        assert_values(name, &band(name, 2).unwrap().map(|h| h - second), true);
        assert_values(name, &band(name, 3).unwrap().map(|h| 2000.0 - h), true);
        let message = band(name, 4).unwrap_err().to_string();
        assert_eq!(message, "no band 4; the file has bands 1 to 3");
        assert_eq!(band(name, 0).unwrap_err().to_string(), "no band 0; the file has bands 1 to 3");
    }
    assert_values("lerc", &band("f32_lerc_two_bands", 2).unwrap().map(|h| h - 1000.0), true);
    // Bands with holes of their own lie one after the other in a LERC blob; GDAL packs what is in the file's byte order.
    let own_holes = band("f32_lerc_own_holes", 2).unwrap();
    assert_values("lerc", &own_holes.map(|h| h - 1000.0), false);
    assert_values("lerc", &band("f32_lerc_own_holes", 1).unwrap(), true);
    assert_values("lerc", &band("i32_lerc_big_endian", 1).unwrap(), true);
    // A colour image is refused unless one of its bands is asked for.
    assert!(band("refused_rgb", 2).is_ok());
}

#[test]
fn heights_in_feet_become_metres() {
    for name in ["feet_band_unit", "us_feet_band_unit", "feet_vertical_key", "us_feet_vertical_key"] {
        let (model, place) = geotiff::decode_placed(&gdal_file(name), &Limits::default()).unwrap();
        for (i, &h) in model.height.as_slice().iter().enumerate() {
            assert_close!(h, (i % 20 + 7 * (i / 20)) as f32, abs = 1e-4);
        }
        // What is written from it is in metres and must not say feet.
        let again = geotiff::encode_f32_at(&model.height, &place.unwrap(), &ABOUT);
        assert_eq!(decode(&again).unwrap().height, model.height, "{name}");
    }
}

#[test]
fn positions_in_every_form() {
    // GDAL keeps the corner at (1000, 5000) whether pixels are areas or points.
    let point = decode(&gdal_file("point")).unwrap();
    assert_eq!(point.north_west_m, Some([1015.0, 4985.0]));
    // The same land with its rows from south to north.
    let south_up = decode(&gdal_file("south_up")).unwrap();
    assert_eq!(south_up.height[Cell { col: 2, row: 0 }], (2 + 7 * 16) as f32);
    assert_eq!(south_up.height[Cell { col: 2, row: 16 }], 2.0);
    assert!(south_up.height[Cell { col: 3, row: 14 }].is_nan());
    assert_eq!(south_up.spacing_m, Some([30.0, 30.0]));
    assert_eq!(south_up.north_west_m, Some([1015.0, 4490.0 + 16.5 * 30.0]));
    // A thousandth of a degree at latitude 46.5.
    let geographic = decode(&gdal_file("geographic")).unwrap();
    let [x, y] = geographic.spacing_m.unwrap();
    assert_close!(x, 76.762, abs = 0.002);
    assert_close!(y, 111.161, abs = 0.002);
    let nowhere = decode(&gdal_file("no_position")).unwrap();
    assert_eq!((nowhere.spacing_m, nowhere.north_west_m), (None, None));
    assert_values("no_position", &nowhere.height, true);
}

#[test]
fn missing_tiles_are_holes() {
    let sparse = decode(&gdal_file("sparse_tiles")).unwrap();
    assert!(sparse.height.as_slice().iter().all(|h| h.is_nan()));
}

#[test]
fn refusals_say_what_was_found_and_what_is_allowed() {
    let message = |name: &str| decode(&gdal_file(name)).unwrap_err().to_string();
    let rgb = message("refused_rgb");
    assert!(rgb.contains("3 bands of colour model 2") && rgb.contains("supported: a grey image"), "{rgb}");
    assert!(message("refused_rotated").contains("rotated"));
    for (name, says) in [
        ("refused_jpeg", "this GeoTIFF has JPEG compression (7); supported: none, LZW, deflate"),
        ("refused_webp", "WebP compression (50001)"),
        ("refused_lzma", "LZMA compression (34925)"),
    ] {
        assert!(message(name).contains(says), "{}", message(name));
    }
    assert!(message("refused_complex").contains("64 bits in format 6"));
    assert!(message("broken_huge_width").contains("4294967295 x 17 samples is too large"));
    let png = decode(b"\x89PNG\r\n\x1a\n0123").unwrap_err().to_string();
    assert_eq!(png, "not a valid GeoTIFF: it does not start with the letters II or MM");
}

#[test]
fn the_limit_on_samples_is_kept() {
    let file = gdal_file("f32_deflate_p3_strips");
    let limits = |max_samples| Limits { max_samples, ..Limits::default() };
    assert!(geotiff::decode(&file, &limits(340)).is_ok());
    let refused = geotiff::decode(&file, &limits(339)).unwrap_err();
    assert_eq!(refused, FormatError::TooLarge { cols: 20, rows: 17, allowed: 339, advice: "" });
}

const ABOUT: About<'static> = About { layer: "height", unit: "m", seed: "a <b> & c" };

fn frame_of<T>(raster: &Raster<T>) -> Frame {
    let (cols, rows) = (raster.cols().max(2), raster.rows().max(2));
    let whole =
        Frame::new([512.5, -100.0], [10.0 * (cols - 1) as f64, 5.0 * (rows - 1) as f64], [cols, rows]);
    whole.unwrap().window(0, 0, raster.cols(), raster.rows())
}

/// A float file, packed in either way.
fn encoded(raster: &Raster<f32>, compression: Compression) -> Vec<u8> {
    let frame = frame_of(raster);
    if compression == Compression::Deflate {
        return geotiff::encode_f32(raster, &frame, &ABOUT);
    }
    let place = Place::local([frame.x_m(0), frame.y_m(0)], frame.spacing_m());
    let mut file = Cursor::new(Vec::new());
    geotiff::write_f32_at(&mut file, raster, raster.range(), &place, &ABOUT, compression).unwrap();
    file.into_inner()
}

const BOTH: [Compression; 2] = [Compression::None, Compression::Deflate];

fn bits(raster: &Raster<f32>) -> Vec<u32> {
    raster.as_slice().iter().map(|v| if v.is_nan() { 0x7fc0_0000 } else { v.to_bits() }).collect()
}

#[test]
fn a_file_on_disk_reads_as_its_bytes_do() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/geotiff");
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let from_bytes = geotiff::decode_placed(&std::fs::read(&path).unwrap(), &Limits::default());
        let file = std::fs::File::open(&path).unwrap();
        match (from_bytes, geotiff::decode_file(&file, &Limits::default())) {
            (Ok((bytes, place)), Ok((disk, same_place))) => {
                assert_eq!(bits(&bytes.height), bits(&disk.height), "{}", path.display());
                assert_eq!(place, same_place, "{}", path.display());
            }
            (Err(bytes), Err(disk)) => assert_eq!(bytes, disk, "{}", path.display()),
            (bytes, disk) => panic!("{}: {bytes:?}, {disk:?}", path.display()),
        }
        count += 1;
    }
    assert!(count > 20, "{count} files");
}

#[test]
fn floats_come_back_bit_for_bit() {
    let odd = |col: usize, row: usize| match (col * 31 + row * 17) % 11 {
        0 => f32::NAN,
        1 => -0.0,
        2 => f32::MIN_POSITIVE,
        3 => f32::MAX,
        4 => -9999.5,
        k => (k as f32).sqrt() * 1e3 - 2e3,
    };
    for (cols, rows) in [(1, 1), (1, 40), (40, 1), (17, 5), (33, 33), (1025, 67)] {
        let raster = Raster::from_fn(cols, rows, odd);
        let frame = frame_of(&raster);
        for compression in BOTH {
            let model = decode(&encoded(&raster, compression)).unwrap();
            assert_eq!(bits(&model.height), bits(&raster), "{cols} x {rows}");
            assert_eq!(model.spacing_m, Some(frame.spacing_m()));
            assert_eq!(model.north_west_m, Some([frame.x_m(0), frame.y_m(0)]));
        }
    }
}

#[test]
fn a_sample_with_the_usual_nodata_value_is_no_hole() {
    let mut raster = Raster::filled(4, 4, -9999.0);
    raster[Cell { col: 1, row: 2 }] = f32::NAN;
    for compression in BOTH {
        let model = decode(&encoded(&raster, compression)).unwrap();
        assert_eq!(model.height[Cell { col: 0, row: 0 }], -9999.0);
        assert!(model.height[Cell { col: 1, row: 2 }].is_nan());
    }
}

#[test]
fn another_reader_sees_the_same() {
    use tiff::decoder::{Decoder, DecodingResult};
    use tiff::tags::Tag;
    let raster = hills(130, 800.0);
    for compression in BOTH {
        let mut reader = Decoder::new(Cursor::new(encoded(&raster, compression))).unwrap();
        assert_eq!(reader.dimensions().unwrap(), (130, 130));
        assert_eq!(reader.get_tag_ascii_string(Tag::GdalNodata).unwrap(), "-9999");
        let metadata = reader.get_tag_ascii_string(Tag::Unknown(42112)).unwrap();
        assert!(metadata.contains("role=\"unittype\">m</Item>"), "{metadata}");
        assert!(metadata.contains("a &amp;lt;b&amp;gt; &amp;amp; c"), "{metadata}");
        let DecodingResult::F32(values) = reader.read_image().unwrap() else { panic!("not floats") };
        assert_eq!(values, raster.as_slice());
    }

    let ids = Raster::from_fn(70, 300, |c, r| ((c * r) % 256) as u8);
    let about = About { layer: "biome", unit: "id", seed: "" };
    let mut plain = Cursor::new(Vec::new());
    let place = Place::local([0.0, 0.0], [1.0, 1.0]);
    geotiff::write_whole_at(&mut plain, &ids, &place, None, &about, Compression::None).unwrap();
    for file in [geotiff::encode_u8(&ids, &frame_of(&ids), &about), plain.into_inner()] {
        let DecodingResult::U8(values) = Decoder::new(Cursor::new(file)).unwrap().read_image().unwrap()
        else {
            panic!("not bytes")
        };
        assert_eq!(values, ids.as_slice());
    }
}

#[test]
fn ids_of_any_size_are_exact() {
    use tiff::decoder::{Decoder, DecodingResult};
    let about = About { layer: "basin", unit: "id", seed: "" };
    let place = Place::local([0.0, 0.0], [1.0, 1.0]);
    // Beyond 2^24 floats cannot tell neighbours apart.
    let large = Raster::from_fn(70, 300, |c, r| (1 << 24) + (c * r) as u32);
    let small = Raster::from_fn(70, 300, |c, r| 40_000 + (c * r) as u16);
    let shares = Raster::from_fn(70, 300, |c, r| Weight(((c * r) % 256) as u8));
    for compression in BOTH {
        let read = |data: LayerData| {
            let mut file = Cursor::new(Vec::new());
            geotiff::write_layer_at(&mut file, &data, &place, &about, compression).unwrap();
            let file = file.into_inner();
            let text = String::from_utf8_lossy(&file).into_owned();
            let (low, _) = data.range().unwrap();
            assert!(text.contains(&format!("STATISTICS_MINIMUM\" sample=\"0\">{low}<")), "{}", data.kind());
            Decoder::new(Cursor::new(file)).unwrap().read_image().unwrap()
        };
        let DecodingResult::U32(values) = read(large.clone().into()) else { panic!("not 32 bits") };
        assert_eq!(values, large.as_slice());
        let DecodingResult::U16(values) = read(small.clone().into()) else { panic!("not 16 bits") };
        assert_eq!(values, small.as_slice());
        let DecodingResult::U8(values) = read(shares.clone().into()) else { panic!("not 8 bits") };
        assert_eq!(values, Weight::plain(shares.as_slice()));
    }
}

#[test]
fn the_range_of_bytes_passes_over_holes() {
    let range = |values: Vec<u8>, hole: Option<u8>| {
        let raster = Raster::from_vec(values.len(), 1, values).unwrap();
        let file = geotiff::encode_u8_at(&raster, &Place::local([0.0, 0.0], [1.0, 1.0]), hole, &ABOUT);
        let text = String::from_utf8_lossy(&file).into_owned();
        let item = |name: &str| {
            let (_, rest) = text.split_once(&format!("STATISTICS_{name}\" sample=\"0\">"))?;
            rest.split_once('<')?.0.parse::<f64>().ok()
        };
        item("MINIMUM").zip(item("MAXIMUM"))
    };
    assert_eq!(range(vec![7, 0, 9, 255], None), Some((0.0, 255.0)));
    assert_eq!(range(vec![7, 0, 9, 255], Some(0)), Some((7.0, 255.0)));
    assert_eq!(range(vec![7, 0, 9, 255], Some(255)), Some((0.0, 9.0)));
    let many: Vec<u8> = (0..1000).map(|i| if i == 777 { 3 } else { 20 + (i % 200) as u8 }).collect();
    assert_eq!(range(many.clone(), None), Some((3.0, 219.0)));
    assert_eq!(range(many, Some(3)), Some((20.0, 219.0)));
    assert_eq!(range(vec![255; 3], Some(255)), None);
    assert_eq!(range(vec![0; 3], Some(0)), None);
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let raster = hills(700, 1200.0);
    for compression in BOTH {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| encoded(&raster, compression))
        };
        assert_eq!(with(1), with(3));
    }
}

/// Name, samples, cell size and range in metres.
type Listed = (&'static str, [usize; 2], [f64; 2], [f32; 2]);

/// Samples, cell size and range of the shared models. The list's cells follow from a sphere, ours from the ellipsoid:
/// they agree to half a percent. Models on a metric grid agree exactly.
const MODELS: [Listed; 10] = [
    ("alps_gotthard", [1201, 1201], [63.86, 92.61], [187.0, 4173.0]),
    ("tablelands_nsw", [1201, 1201], [75.52, 92.61], [7.0, 1604.0]),
    ("white_mtns_nh", [1201, 1201], [66.17, 92.61], [115.0, 1908.0]),
    ("riviera_nice", [1201, 1201], [67.29, 92.61], [-11.0, 2064.0]),
    ("reunion_island", [785, 662], [86.53, 92.61], [-1.0, 3051.0]),
    ("big_tujunga", [1197, 643], [30.0, 30.0], [315.0, 2295.0]),
    ("jacksboro_fault", [403, 344], [74.48, 92.61], [236.0, 1076.0]),
    ("st_helens", [327, 468], [30.0, 30.0], [682.0, 2543.0]),
    ("ecuador_rainforest", [383, 415], [10.0, 10.0], [1711.2, 3164.2]),
    ("hawaii_topobathy", [299, 209], [3473.35, 3700.84], [-6134.0, 4000.0]),
];

#[test]
fn real_models_have_the_listed_size_and_range() {
    for (name, samples, cell_m, range_m) in MODELS {
        let Some(path) = surveyed_model(&format!("{name}.tif")) else { continue };
        let model = elevation::read(&path, &Limits::default()).unwrap();
        assert_eq!([model.height.cols(), model.height.rows()], samples, "{name}");
        let spacing_m = model.spacing_m.unwrap();
        let tolerance = if cell_m[0] == cell_m[1] { 0.0 } else { 0.005 };
        for axis in 0..2 {
            assert_close!(spacing_m[axis], cell_m[axis], rel = tolerance);
        }
        let (low, high) = model.height.range().unwrap();
        assert!(
            (low - range_m[0]).abs() < 0.06 && (high - range_m[1]).abs() < 0.06,
            "{name}: {low} to {high}"
        );
    }
    if let Some(path) = surveyed_model("st_helens.tif") {
        let st_helens = elevation::read(&path, &Limits::default()).unwrap();
        assert_eq!(st_helens.north_west_m, Some([557_820.0, 5_121_990.0]));
    }
}

#[test]
fn a_result_keeps_the_coordinates_of_its_source() {
    for name in ["f32_lzw_p2_tiles", "geographic", "point", "south_up"] {
        let (model, place) = geotiff::decode_placed(&gdal_file(name), &Limits::default()).unwrap();
        let place = place.unwrap();
        let again = geotiff::encode_f32_at(&model.height, &place, &ABOUT);
        let (model_again, place_again) = geotiff::decode_placed(&again, &Limits::default()).unwrap();
        assert_eq!(place_again, Some(place));
        assert_eq!(model_again.spacing_m, model.spacing_m);
        assert_eq!(model_again.north_west_m, model.north_west_m);
    }
}

#[test]
fn a_packed_file_has_smaller_copies_that_another_reader_finds() {
    use tiff::decoder::{Decoder, DecodingResult};
    use tiff::tags::Tag;
    let raster = Raster::from_fn(1025, 700, |c, r| (c / 4) as f32 + 1000.0 * (r / 4) as f32);
    let file = geotiff::encode_f32(&raster, &frame_of(&raster), &ABOUT);
    let mut reader = Decoder::new(Cursor::new(&file)).unwrap();
    let mut shapes = Vec::new();
    let mut starts = Vec::new();
    loop {
        shapes.push(reader.dimensions().unwrap());
        starts.push(reader.get_tag_u32_vec(Tag::TileOffsets).unwrap()[0]);
        // Blocks of four by four samples are level, so that two halvings keep them.
        let DecodingResult::F32(values) = reader.read_image().unwrap() else { panic!("not floats") };
        let (scale, cols) = (1025usize.div_ceil(shapes.last().unwrap().0 as usize), shapes.last().unwrap().0);
        if scale <= 4 {
            let at = |i: usize| (i % cols as usize * scale, i / cols as usize * scale);
            assert!(values.iter().enumerate().all(|(i, v)| *v == raster.row(at(i).1)[at(i).0]), "{scale}");
        }
        assert!(reader.get_tag_ascii_string(Tag::GdalNodata).is_ok());
        if !reader.more_images() {
            break;
        }
        reader.next_image().unwrap();
    }
    assert_eq!(shapes, [(1025, 700), (513, 350), (257, 175), (129, 88)]);
    // The smallest comes first, so that the start of the file shows all of the land.
    assert!(starts.is_sorted_by(|a, b| a > b), "{starts:?}");
    assert!(file[8..].starts_with(b"GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\nLAYOUT=IFDS_BEFORE_DATA\n"));
    assert_eq!(decode(&file).unwrap().height, raster);
}

#[test]
fn a_small_file_of_one_huge_strip_is_held_to_the_memory_allowed() {
    // All of one value, in one strip of doubles: some kilobytes that unpack to 128 MB beside 64 MB of samples.
    let side = 4096u32;
    let mut file = Cursor::new(Vec::new());
    {
        use tiff::encoder::{Compression, TiffEncoder, colortype::Gray64Float};
        let mut encoder = TiffEncoder::new(&mut file)
            .unwrap()
            .with_compression(Compression::Deflate(tiff::encoder::compression::DeflateLevel::Best));
        let mut image = encoder.new_image::<Gray64Float>(side, side).unwrap();
        image.rows_per_strip(side).unwrap();
        image.write_data(&vec![5.0; (side * side) as usize]).unwrap();
    }
    let file = file.into_inner();
    assert!(file.len() < 1 << 20, "{}", file.len());
    let read = |max_bytes_memory| {
        let limits = Limits { max_bytes_memory, advice: "; allow more", ..Limits::default() };
        geotiff::decode(&file, &limits).map(|model| model.height.range()).map_err(|e| e.to_string())
    };
    assert_eq!(read(256 << 20), Ok(Some((5.0, 5.0))));
    assert_eq!(
        read(128 << 20).unwrap_err(),
        "reading it takes 201 MB of memory, more than the 134 MB allowed; allow more"
    );
}
