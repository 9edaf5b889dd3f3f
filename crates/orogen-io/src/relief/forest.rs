//! Forests on a map: crowns that throw light and shade, not dots.

use orogen_core::{Raster, Seed, Terrain, layer, math};

use crate::color::{Light, light_of};

/// How rough a closed wood looks, as a grade from one pixel to the next.
const ROUGH: f32 = 0.9;
/// How much brighter and darker single crowns are than their mean.
const TONE: f32 = 0.42;
/// Leaves shade each other: how much darker a closed wood is than a leaf.
const SHADE: f32 = 0.14;
/// Metres a pixel up to which single trees are seen, and from which they are not.
const SINGLE_M: [f32; 2] = [4.0, 28.0];
/// How far they stand out then.
const FAR: f32 = 0.3;
/// Pixels from crown to crown, for the two sizes of them.
const CROWNS_PX: [f32; 2] = [2.3, 6.1];

/// The crowns of a terrain.
pub(super) struct Forest<'a> {
    cover: &'a Raster<f32>,
    height: &'a Raster<f32>,
    color: [&'a Raster<f32>; 3],
    cell_m: [f32; 2],
    /// How much single trees stand out, from 0 to 1: from afar thin woods are a haze, not dots.
    single: f32,
}

/// What crowns make of a pixel.
pub(super) struct Crown {
    /// How much of it they cover.
    pub share: f32,
    pub color: Light,
    /// What they add to the rise to the east and to the south.
    pub grade: [f32; 2],
}

impl<'a> Forest<'a> {
    /// `None` where nothing is known of crowns.
    pub fn of(terrain: &'a Terrain) -> Option<Self> {
        let get = |layer| terrain.get(layer).ok();
        let [red, green, blue] = layer::CANOPY_COLOR;
        let color = [get(red)?, get(green)?, get(blue)?];
        let cell_m = terrain.frame().spacing_m().map(|m| m as f32);
        let single = 1.0 - (1.0 - FAR) * math::smoothstep(SINGLE_M[0], SINGLE_M[1], cell_m[0].max(cell_m[1]));
        let (cover, height) = (get(layer::CANOPY_COVER)?, get(layer::CANOPY_HEIGHT)?);
        Some(Self { cover, height, color, cell_m, single })
    }

    /// The crowns of a pixel; `None` where there are none.
    pub fn at(&self, col: usize, row: usize) -> Option<Crown> {
        let cover = self.cover.row(row)[col];
        if cover.is_nan() || cover <= 0.004 {
            return None;
        }
        let (x, y) = (col as f32, row as f32);
        let crowns = crowns(x, y);
        // Ground that shows between crowns lies in their shade: gaps are seen as less than they are. Single trees stand out of
        // thin woods.
        let gap = 1.0 - cover.min(1.0);
        let open = gap * gap * gap;
        let apart = 2.4 * self.single * (crowns - 0.5);
        let share = (1.0 - open + apart * open.min(1.0 - open)).clamp(0.0, 1.0);
        let [red, green, blue] =
            self.color.map(|raster| (255.0 * raster.row(row)[col]).clamp(0.0, 255.0) as u8);
        let tone = (1.0 + TONE * (2.0 * crowns - 1.0)) * (1.0 - SHADE * share);
        let (cols, rows) = (self.cover.cols() as isize, self.cover.rows() as isize);
        let top = |dc: isize, dr: isize| {
            let (c, r) = ((col as isize + dc).clamp(0, cols - 1), (row as isize + dr).clamp(0, rows - 1));
            let high = self.cover.row(r as usize)[c as usize] * self.height.row(r as usize)[c as usize];
            if high.is_nan() { 0.0 } else { high }
        };
        // Edges of woods rise as their trees do, as far as a pixel shows it.
        let edge = [
            (top(1, 0) - top(-1, 0)) / (2.0 * self.cell_m[0]),
            (top(0, 1) - top(0, -1)) / (2.0 * self.cell_m[1]),
        ];
        let rough = [
            self::crowns(x + 1.0, y) - self::crowns(x - 1.0, y),
            self::crowns(x, y + 1.0) - self::crowns(x, y - 1.0),
        ];
        let grade = [0, 1].map(|axis| edge[axis].clamp(-0.6, 0.6) + ROUGH * share * rough[axis]);
        Some(Crown { share, color: light_of([red, green, blue]).map(|v| v * tone), grade })
    }
}

/// How high crowns stand at a place of the picture, from 0 to 1: waves of two lengths.
fn crowns(x: f32, y: f32) -> f32 {
    0.62 * bumps(x / CROWNS_PX[0], y / CROWNS_PX[0], Seed(11))
        + 0.38 * bumps(x / CROWNS_PX[1], y / CROWNS_PX[1], Seed(12))
}

/// Smooth random bumps, one for each unit.
fn bumps(x: f32, y: f32, seed: Seed) -> f32 {
    let (left, up) = (x.floor(), y.floor());
    let ease = |t: f32| t * t * (3.0 - 2.0 * t);
    let (s, t) = (ease(x - left), ease(y - up));
    let at = |dc: i64, dr: i64| seed.unit2(left as i64 + dc, up as i64 + dr) as f32;
    let (north, south) = (at(0, 0) + s * (at(1, 0) - at(0, 0)), at(0, 1) + s * (at(1, 1) - at(0, 1)));
    north + t * (south - north)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Frame;

    #[test]
    fn a_closed_wood_hides_the_ground_and_open_land_has_no_crowns() {
        let mut terrain = Terrain::new(Frame::square(640.0, 65).unwrap());
        assert!(Forest::of(&terrain).is_none());
        let cover = Raster::from_fn(65, 65, |col, _| if col < 20 { 0.0 } else { 0.55 });
        terrain.set(layer::CANOPY_COVER, cover);
        terrain.set(layer::CANOPY_HEIGHT, Raster::filled(65, 65, 15.0));
        for layer in layer::CANOPY_COLOR {
            terrain.set(layer, Raster::filled(65, 65, 0.3));
        }
        let forest = Forest::of(&terrain).unwrap();
        assert!(forest.at(10, 30).is_none());
        let (mut sum, mut least, mut most) = (0.0, f32::INFINITY, 0.0f32);
        for col in 25..60 {
            let crown = forest.at(col, 30).unwrap();
            sum += crown.share / 35.0;
            (least, most) = (least.min(crown.color[1]), most.max(crown.color[1]));
        }
        assert!(sum > 0.8, "{sum} of the ground is hidden");
        assert!(most > 1.3 * least, "crowns differ: {least} to {most}");
    }
}
