//! The colour of the ground by its materials: what a colour map is baked from.

use orogen_core::{Raster, Terrain, Weight, layer, material, math, weights};

use crate::color::{Display, Light, light_of};
use crate::png8::Picture;

/// Grades of slope between which ground darkens, and by how much: steep ground lies in its own shade and holds no dust.
const STEEP: [f32; 2] = [0.3, 1.3];
const STEEP_DARKER: f32 = 0.18;
/// How much brighter than its mean colour the driest ground is, and how much darker the wettest.
const MOIST: f32 = 0.14;

/// The weights of the materials of a terrain with their colours.
pub(crate) struct Ground<'a> {
    members: Vec<(&'a Raster<Weight>, Light)>,
    moisture: Option<&'a Raster<f32>>,
}

impl<'a> Ground<'a> {
    /// `None` where the terrain has no materials.
    pub fn of(terrain: &'a Terrain) -> Option<Self> {
        let mut families = weights::families(terrain.layers());
        let members = families.remove("material").filter(|members| !members.is_empty())?;
        let color = |name| material::of_layer(name).map_or(material::UNKNOWN, |info| info.color);
        let members = members.into_iter().map(|(name, raster)| (raster, light_of(color(name)))).collect();
        Some(Self { members, moisture: terrain.get(layer::MOISTURE).ok() })
    }

    /// The colours along a row; black where there is no material.
    pub fn row(&self, row: usize, out: &mut Vec<Light>) {
        out.clear();
        let Some((first, _)) = self.members.first() else { return };
        out.resize(first.cols(), [0.0; 3]);
        for (raster, color) in &self.members {
            for (sum, weight) in out.iter_mut().zip(raster.row(row)) {
                if weight.0 > 0 {
                    let share = f32::from(weight.0) / 255.0;
                    *sum = [0, 1, 2].map(|i| sum[i] + share * color[i]);
                }
            }
        }
        if let Some(moisture) = self.moisture {
            for (color, moist) in out.iter_mut().zip(moisture.row(row)) {
                // A hole is neither wet nor dry.
                let dry = if moist.is_nan() { 0.0 } else { 1.0 - 2.0 * moist.clamp(0.0, 1.0) };
                *color = color.map(|v| v * (1.0 + MOIST * dry));
            }
        }
    }
}

/// The weights of whatever rock there is.
pub(crate) fn rocks(terrain: &Terrain) -> Vec<&Raster<Weight>> {
    const ROCKS: [&str; 4] = ["granite", "limestone", "basalt", "sandstone"];
    let mut families = weights::families(terrain.layers());
    let members = families.remove("material").unwrap_or_default();
    let is_rock = |name| material::of_layer(name).is_some_and(|info| ROCKS.contains(&info.name));
    members.into_iter().filter(|(name, _)| is_rock(name)).map(|(_, raster)| raster).collect()
}

/// The colour map of a terrain, a pixel a sample: the mean colours of its materials by their weights, darker where steep or wet and
/// brighter where dry, without light or shadow. `None` where there are no materials.
#[must_use]
pub fn color_map(terrain: &Terrain) -> Option<Picture> {
    let ground = Ground::of(terrain)?;
    let height = terrain.get(layer::HEIGHT).ok();
    let [dx, dy] = terrain.frame().spacing_m().map(|m| m as f32);
    let display = Display::new();
    let (cols, rows) = (terrain.frame().cols(), terrain.frame().rows());
    let mut picture = Raster::filled(cols, rows, [0u8; 3]);
    picture.par_rows(|row, out| {
        let mut colors = Vec::new();
        ground.row(row, &mut colors);
        let (north, south) = (row.saturating_sub(1), (row + 1).min(rows - 1));
        for (col, (out, color)) in out.iter_mut().zip(&colors).enumerate() {
            let steep = height.map_or(0.0, |height| {
                let (west, east) = (col.saturating_sub(1), (col + 1).min(cols - 1));
                let x = (height.row(row)[east] - height.row(row)[west]) / ((east - west).max(1) as f32 * dx);
                let y =
                    (height.row(south)[col] - height.row(north)[col]) / ((south - north).max(1) as f32 * dy);
                let steep = (x * x + y * y).sqrt();
                if steep.is_nan() { 0.0 } else { steep }
            });
            let light = 1.0 - STEEP_DARKER * math::smoothstep(STEEP[0], STEEP[1], steep);
            *out = display.srgb(color.map(|v| v * light));
        }
    });
    Some(picture)
}
