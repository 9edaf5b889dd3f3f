//! Plants from straight above: a circle each, as wide as its crown, in the colour of its species.

use orogen_core::instances::Instances;
use orogen_core::{Frame, Raster, Rect};
use rayon::prelude::*;

use crate::png8::Picture;

/// Rows of pixels that are drawn together.
const BAND: usize = 32;
/// Bare ground, and water.
const PAPER: [f64; 3] = [234.0, 230.0, 216.0];
const WATER: [f64; 3] = [176.0, 204.0, 220.0];
/// How much of what lies below a crown it hides.
const OPAQUE: f64 = 0.86;
/// Outlines are this much darker than crowns.
const OUTLINE: f64 = 0.62;

/// Colours that differ clearly side by side, for species in their order; they start over after the last.
pub const COLORS: [[u8; 3]; 10] = [
    [58, 110, 68],
    [222, 178, 74],
    [146, 184, 106],
    [190, 96, 64],
    [84, 136, 158],
    [150, 112, 158],
    [226, 146, 108],
    [52, 84, 110],
    [172, 156, 118],
    [206, 110, 140],
];

/// The ground below the plants.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// Its samples.
    pub frame: &'a Frame,
    /// Heights, in metres.
    pub height: &'a Raster<f32>,
    /// Depths of water, where they are known.
    pub water: Option<&'a Raster<f32>>,
}

/// What a plan shows.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The plants.
    pub plants: &'a Instances,
    /// Radius of a usual crown of each species, in metres.
    pub radii_m: &'a [f64],
    /// Which part of the world.
    pub rect: Rect,
    /// How many pixels wide.
    pub wide_px: usize,
    /// The ground; plain paper without.
    pub ground: Option<Ground<'a>>,
}

#[derive(Clone, Copy)]
struct Circle {
    /// In pixels.
    at: [f64; 2],
    radius: f64,
    color: [f64; 3],
    id: u64,
}

impl Plan<'_> {
    /// The picture, north up; small crowns lie below large ones.
    #[must_use]
    pub fn draw(&self) -> Picture {
        let [width, depth] = self.rect.size();
        let wide = self.wide_px.max(1);
        let per_m = wide as f64 / width;
        let tall = ((depth * per_m).round() as usize).clamp(1, 8 * wide);
        let bands = tall.div_ceil(BAND);
        let mut by_band: Vec<Vec<Circle>> = vec![Vec::new(); bands];
        for (place, thing) in self.plants.iter() {
            let species = usize::from(thing.species);
            let usual = self.radii_m.get(species).copied().unwrap_or(1.0);
            let circle = Circle {
                at: [(place[0] - self.rect.min[0]) * per_m, (self.rect.max[1] - place[1]) * per_m],
                // A dot at least, or a plan of a whole forest would be empty.
                radius: (usual * f64::from(thing.scale) / 4096.0 * per_m).max(0.6),
                color: COLORS[species % COLORS.len()].map(f64::from),
                id: thing.id,
            };
            let row = |y: f64| ((y / BAND as f64).max(0.0) as usize).min(bands - 1);
            for band in row(circle.at[1] - circle.radius - 1.0)..=row(circle.at[1] + circle.radius + 1.0) {
                by_band[band].push(circle);
            }
        }
        let drawn: Vec<Vec<[u8; 3]>> = (by_band.into_par_iter().enumerate())
            .map(|(band, mut circles)| {
                circles.sort_unstable_by(|a, b| a.radius.total_cmp(&b.radius).then(a.id.cmp(&b.id)));
                self.band(band * BAND..((band + 1) * BAND).min(tall), wide, per_m, &circles)
            })
            .collect();
        let pixels: Vec<[u8; 3]> = drawn.into_iter().flatten().collect();
        Raster::from_vec(wide, tall, pixels).unwrap_or_else(|| Raster::filled(1, 1, [255; 3]))
    }

    fn band(
        &self,
        rows: std::ops::Range<usize>,
        wide: usize,
        per_m: f64,
        circles: &[Circle],
    ) -> Vec<[u8; 3]> {
        let first = rows.start;
        let mut pixels: Vec<[f64; 3]> = rows
            .clone()
            .flat_map(|row| (0..wide).map(move |col| (col, row)))
            .map(|(col, row)| {
                let x = self.rect.min[0] + (col as f64 + 0.5) / per_m;
                self.ground_at([x, self.rect.max[1] - (row as f64 + 0.5) / per_m])
            })
            .collect();
        for circle in circles {
            let span = |axis: usize, from: usize, to: usize| {
                let low = (circle.at[axis] - circle.radius - 1.0).floor().max(from as f64) as usize;
                let high = (circle.at[axis] + circle.radius + 2.0).max(from as f64) as usize;
                low..high.min(to)
            };
            let line = (0.12 * circle.radius).clamp(0.5, 2.0);
            for row in span(1, rows.start, rows.end) {
                for col in span(0, 0, wide) {
                    let [dx, dy] = [col as f64 + 0.5 - circle.at[0], row as f64 + 0.5 - circle.at[1]];
                    let apart = (dx * dx + dy * dy).sqrt();
                    let inside = (circle.radius - apart + 0.5).clamp(0.0, 1.0);
                    if inside <= 0.0 {
                        continue;
                    }
                    // Darker at the rim, lighter towards the sun in the north-west.
                    let rim = (apart - (circle.radius - line) + 0.5).clamp(0.0, 1.0);
                    let sun = 1.0 - 0.10 * (dx + dy) / circle.radius;
                    let light = sun * (1.0 - rim * (1.0 - OUTLINE));
                    let pixel = &mut pixels[(row - first) * wide + col];
                    for (value, own) in pixel.iter_mut().zip(circle.color) {
                        *value += inside * OPAQUE * ((own * light).min(255.0) - *value);
                    }
                }
            }
        }
        pixels.into_iter().map(|pixel| pixel.map(|value| value.round() as u8)).collect()
    }

    /// Paper, shaded a little by the slope of the ground, or water.
    fn ground_at(&self, [x, y]: [f64; 2]) -> [f64; 3] {
        let Some(Ground { frame, height, water }) = self.ground else { return PAPER };
        let [col, row] = frame.locate(x, y);
        let is_wet = water.is_some_and(|water| water.bilinear(col, row) > 0.05);
        let here = height.bilinear(col, row);
        if is_wet || here < 0.0 {
            return WATER;
        }
        let [dx, dy] = frame.spacing_m();
        let east = f64::from(height.bilinear(col + 0.5, row) - height.bilinear(col - 0.5, row)) / dx;
        let north = f64::from(height.bilinear(col, row - 0.5) - height.bilinear(col, row + 0.5)) / dy;
        // Light from the north-west.
        let light = 1.0 + 0.09 * ((east - north) / (1.0 + (east * east + north * north)).sqrt());
        if light.is_nan() { PAPER } else { PAPER.map(|value| (value * light).clamp(0.0, 255.0)) }
    }
}

#[cfg(test)]
mod tests {
    use orogen_core::instances::Instance;

    use super::*;

    fn plants() -> Instances {
        let thing = |id, species, scale| Instance { id, species, scale, ..Instance::default() };
        let names = vec![String::from("oak"), String::from("hazel")];
        let things = [([25.0, 75.0], thing(1, 0, 4096)), ([70.0, 20.0], thing(2, 1, 2048))];
        Instances::new(names, things).unwrap()
    }

    fn plan(plants: &Instances) -> Plan<'_> {
        let rect = Rect { min: [0.0; 2], max: [100.0; 2] };
        Plan { plants, radii_m: &[10.0, 4.0], rect, wide_px: 200, ground: None }
    }

    #[test]
    fn a_circle_is_as_wide_as_the_crown_and_has_the_colour_of_its_species() {
        let plants = plants();
        let picture = plan(&plants).draw();
        assert_eq!((picture.cols(), picture.rows()), (200, 200));
        let paper = PAPER.map(|v| v as u8);
        let near = |pixel: [u8; 3], color: [u8; 3]| (0..3).all(|i| pixel[i].abs_diff(color[i]) < 40);
        // The oak in the north-west, 20 pixels in radius; the hazel of half its size in the south-east, 4.
        assert!(near(picture.row(50)[50], COLORS[0]) && near(picture.row(160)[140], COLORS[1]));
        assert!(picture.row(50)[50 + 18] != paper && picture.row(50)[50 + 22] == paper);
        assert!(picture.row(160)[140 + 3] != paper && picture.row(160)[140 + 6] == paper);
    }

    #[test]
    fn threads_change_nothing() {
        let plants = plants();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| plan(&plants).draw())
        };
        assert_eq!(on(1).as_slice(), on(3).as_slice());
    }
}
