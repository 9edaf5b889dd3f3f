use super::*;
use orogen_core::{Files, Georeference, Seed};

/// An image of three or four bands under every name.
struct Image {
    bands: Vec<Raster<f32>>,
    place: Option<Georeference>,
}

impl Files for Image {
    fn fingerprint(&self, _: &str) -> Result<[u8; 32], OpError> {
        Ok([0; 32])
    }

    fn elevation(&self, path: &str) -> Result<Arc<Elevation>, OpError> {
        self.image_band(path, 1)
    }

    fn image_band(&self, path: &str, band: u32) -> Result<Arc<Elevation>, OpError> {
        let height = self.bands.get(band as usize - 1).cloned();
        let reason = || format!("there is no band {band}");
        let height = height.ok_or_else(|| OpError::File { path: path.to_owned(), reason: reason() })?;
        Ok(Arc::new(Elevation { height, spacing_m: None, north_west_m: None }))
    }

    fn georeference(&self, _: &str) -> Result<Option<Georeference>, OpError> {
        Ok(self.place)
    }
}

/// Stripes from west to east: pale rock, forest, meadow, sea, beach. All in one haze.
const STRIPES: [[f32; 3]; 5] = [
    [210.0, 208.0, 205.0],
    [40.0, 62.0, 38.0],
    [120.0, 170.0, 80.0],
    [20.0, 90.0, 150.0],
    [235.0, 212.0, 160.0],
];
const SHOWN: [LandClass; 5] =
    [LandClass::Rock, LandClass::Forest, LandClass::Grass, LandClass::Sea, LandClass::Sand];

fn stripes(scale: f32, haze: [f32; 3]) -> Image {
    let band = |band: usize| {
        Raster::from_fn(100, 40, |col, row| {
            // A few black and white pixels, as any image has.
            let light = match row {
                0 => 0.0,
                1 => 255.0,
                _ => STRIPES[col / 20][band],
            };
            scale * (light + haze[band])
        })
    };
    Image { bands: (0..3).map(band).collect(), place: None }
}

fn run(op: &Satellite, files: &Image, height: f32) -> Result<Raster<u8>, OpError> {
    let mut terrain = Terrain::new(Frame::new([0.0, 0.0], [990.0, 390.0], [100, 40]).unwrap());
    terrain.set(layer::HEIGHT, Raster::filled(100, 40, height));
    let terrain = op.apply(terrain, &Ctx::silent().with_files(files))?;
    Ok(terrain.get(layer::SATELLITE)?.clone())
}

#[test]
fn colours_are_told_through_haze_and_at_any_brightness() {
    let op = Satellite { haze: 1.0, ..Satellite::default() };
    for (scale, haze) in [(1.0, [0.0; 3]), (1.0, [20.0, 35.0, 60.0]), (257.0, [40.0, 80.0, 150.0])] {
        let classes = run(&op, &stripes(scale, haze), 5.0).unwrap();
        for (stripe, class) in SHOWN.iter().enumerate() {
            for col in stripe * 20 + 2..stripe * 20 + 18 {
                assert_eq!(LandClass::from_id(classes.row(20)[col]), Some(*class), "{scale} {haze:?}");
            }
        }
    }
    let hazy = Satellite { haze: 0.0, ..Satellite::default() };
    let classes = run(&hazy, &stripes(1.0, [40.0, 80.0, 150.0]), 5.0).unwrap();
    assert_ne!(LandClass::from_id(classes.row(20)[30]), Some(LandClass::Forest), "haze hides forests");
}

#[test]
fn high_ground_is_never_sea_and_the_coast_is_left_to_the_land() {
    let op = Satellite { haze: 1.0, coast_m: Some(3.0), ..Satellite::default() };
    let files = stripes(1.0, [0.0; 3]);
    assert_eq!(run(&op, &files, 5.0).unwrap().row(20)[70], LandClass::Sea.id());
    assert!(run(&op, &files, 50.0).unwrap().as_slice().iter().all(|class| *class != LandClass::Sea.id()));
    assert!(run(&op, &files, 2.0).unwrap().as_slice().iter().all(|class| *class == 0));
}

#[test]
fn leaves_are_told_by_near_infrared() {
    let mut files = stripes(1.0, [0.0; 3]);
    // Grey throughout; the left half has leaves.
    for band in &mut files.bands {
        *band = Raster::from_fn(100, 40, |_, row| if row < 20 { 80.0 } else { 200.0 });
    }
    files.bands.push(Raster::from_fn(100, 40, |col, _| if col < 50 { 240.0 } else { 90.0 }));
    let op = Satellite { near_infrared: Some(4), haze: 0.0, ..Satellite::default() };
    let classes = run(&op, &files, 50.0).unwrap();
    assert_eq!(classes.row(5)[10], LandClass::Forest.id());
    assert_ne!(classes.row(5)[90], LandClass::Forest.id());
    let missing = Satellite { near_infrared: Some(9), ..op };
    assert!(run(&missing, &files, 50.0).unwrap_err().to_string().contains("there is no band 9"));
}

#[test]
fn a_vote_is_that_of_counting_every_square() {
    let classes = Raster::from_fn(70, 150, |col, row| (Seed(4).bits2(col as i64, row as i64) % 5) as u8);
    for reach in [0usize, 1, 3, 16, 80] {
        let fast = majority::vote(&classes, reach, &Ctx::silent()).unwrap();
        for (col, row) in [(0, 0), (1, 63), (2, 64), (69, 149), (35, 70), (60, 127), (5, 128)] {
            let own = classes.row(row)[col];
            let mut counts = [0; 8];
            for r in row.saturating_sub(reach)..=(row + reach).min(149) {
                for c in col.saturating_sub(reach)..=(col + reach).min(69) {
                    counts[usize::from(classes.row(r)[c])] += 1;
                }
            }
            let most = counts[1..].iter().max().unwrap();
            let first = 1 + counts[1..].iter().position(|count| count == most).unwrap();
            let expected = match own {
                0 => 0,
                own if counts[usize::from(own)] == *most => own,
                _ => first as u8,
            };
            assert_eq!(fast.row(row)[col], expected, "{reach} at {col}, {row}");
        }
    }
}

#[test]
fn an_image_that_lies_elsewhere_or_nowhere_gets_a_sentence() {
    let mut files = stripes(1.0, [0.0; 3]);
    let sentence = |op: &Satellite, files: &Image| run(op, files, 5.0).unwrap_err().to_string();
    let away = Satellite {
        placement: Placement::Corners,
        corners_m: Some([[5000.0, 0.0], [6000.0, 1000.0]]),
        ..Satellite::default()
    };
    assert!(sentence(&away, &files).contains("it lies outside the world: its middle is at 5500, 500 m"));
    let own = Satellite { placement: Placement::Georeference, ..Satellite::default() };
    assert!(sentence(&own, &files).contains("it does not say in which coordinate system it lies"));
    files.place =
        Some(Georeference { middle_deg: None, crs: Some((32631, [0.0, 0.0])), size_m: [990.0, 390.0] });
    assert!(sentence(&own, &files).contains("the recipe's place does not say"));
    files.bands.iter_mut().for_each(|band| *band = Raster::filled(100, 40, f32::NAN));
    assert!(sentence(&Satellite::default(), &files).contains("it shows nothing"));
    let faults = Satellite { placement: Placement::Corners, ..Satellite::default() }.faults();
    assert_eq!(faults[0].message, "an image placed by its corners needs `corners_m`");
}

#[test]
fn hues_are_those_of_the_colour_wheel() {
    for (rgb, hsv) in [
        ([1.0, 0.0, 0.0], [0.0, 1.0, 1.0]),
        ([0.0, 0.5, 0.0], [120.0, 1.0, 0.5]),
        ([0.25, 0.25, 0.5], [240.0, 0.5, 0.5]),
        ([1.0, 0.0, 0.5], [330.0, 1.0, 1.0]),
        ([0.3, 0.3, 0.3], [0.0, 0.0, 0.3]),
    ] {
        assert_eq!(classes::hsv(rgb), hsv);
    }
}
