//! `instances`: things that stand on the ground as `<name>.csv`, a few of them as `<name>.geojson` too, and on request a plan.

use orogen_core::edits::Id;
use orogen_core::vector::{Categories, Column, Shape, VectorLayer};
use orogen_core::{Frame, LayerName, Terrain, layer, species};
use orogen_io::plan::{Ground, Plan};
use orogen_io::png8::{self, Picture};
use orogen_io::{geojson, instances_csv};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames, no_such};
use crate::error::BuildError;

/// Digits after the point that keep a millimetre, in metres or feet and in degrees.
const DIGITS: usize = 3;
const DIGITS_OF_DEGREES: usize = 8;

/// From so many on GeoJSON, three times as long as the table, is not written.
const MANY: usize = 100_000;

/// Things that stand on the ground (plants, stones) as `<name>.csv`, a line each; fewer than 100,000 as `<name>.geojson` too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Instances {
    /// Which things to write; without any, all.
    #[schemars(length(max = 64))]
    pub instances: Vec<LayerName>,
    /// Width of a picture from above, `<name>.png`, with a circle for each thing by species and crown; none is drawn without it.
    #[schemars(range(min = 64, max = 8192))]
    pub plan_px: Option<u32>,
}

impl Instances {
    pub(super) fn writes(&self, name: &LayerName) -> bool {
        self.instances.is_empty() || self.instances.contains(name)
    }
}

impl Export for Instances {
    const NAME: &'static str = "instances";

    fn refuses(&self, _: &Frame, parts: &PartNames<'_>) -> Option<String> {
        no_such(parts.instances, self.instances.iter(), "instances")
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        let wanted = parts.instances.iter().filter(|name| self.writes(name));
        let names = |name: &LayerName| {
            let few = (!parts.vectors.contains(name)).then(|| format!("{name}.geojson"));
            let plan = self.plan_px.map(|_| format!("{name}.png"));
            [Some(format!("{name}.csv")), few, plan]
        };
        wanted.flat_map(names).flatten().collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let place = land.real_place();
        let digits =
            if place.is_some_and(|place| place.is_geographic()) { DIGITS_OF_DEGREES } else { DIGITS };
        let at = |[x, y]: [f64; 2]| place.map_or([x, y], |place| place.at(land.frame().locate(x, y)));
        let wanted: Vec<_> =
            land.terrain().instances().iter().filter(|(name, _)| self.writes(name)).collect();
        wanted.into_par_iter().try_for_each(|(name, things)| {
            out.write(&format!("{name}.csv"), &Facts::named(name.as_str()), |out| {
                instances_csv::write(things, at, digits, out)
            })?;
            if let Some(wide_px) = self.plan_px {
                let picture = plan(land.terrain(), things, wide_px as usize);
                out.write(&format!("{name}.png"), &Facts::named(name.as_str()), |out| {
                    png8::write_picture(&picture, out)
                })?;
            }
            // Vectors of the same name have that file.
            if things.len() >= MANY || land.terrain().vectors().contains_key(name) {
                return Ok(());
            }
            let system = place.map_or_else(geojson::System::local, geojson::System::of);
            let points = points(things, at);
            out.write(&format!("{name}.geojson"), &Facts::named(name.as_str()), |out| {
                geojson::write_in(&points, name.as_str(), &system, out)
            })?;
            Ok(())
        })
    }
}

/// Radius of crowns of species that are not in the table, in metres.
const USUAL_M: f64 = 2.0;

/// Things from above, over all of a terrain.
#[must_use]
pub fn plan(land: &Terrain, things: &orogen_core::instances::Instances, wide_px: usize) -> Picture {
    let radius_m = |name: &String| species::named(name).map_or(USUAL_M, |known| known.radius_m);
    let radii_m: Vec<f64> = things.species().iter().map(radius_m).collect();
    let height = land.get(layer::HEIGHT).ok();
    let water = land.get(layer::WATER).ok();
    let ground = height.map(|height| Ground { frame: land.frame(), height, water });
    Plan { plants: things, radii_m: &radii_m, rect: land.frame().extent(), wide_px, ground }.draw()
}

/// Things as points with what the table says of them.
fn points(things: &orogen_core::instances::Instances, at: impl Fn([f64; 2]) -> [f64; 2]) -> VectorLayer {
    let mut layer = VectorLayer::new(Shape::Points);
    for (place, thing) in things.iter() {
        let [x, y] = at(place);
        layer.push([[x, y, f64::from(thing.z_m)]]);
    }
    let all = || things.iter().map(|(_, thing)| thing);
    let numbers =
        |of: fn(&orogen_core::instances::Instance) -> f64| Column::F32(all().map(|t| of(t) as f32).collect());
    let species = Categories::new(things.species().to_vec(), all().map(|thing| thing.species).collect());
    // One entry for each thing, so every column fits.
    let columns = [
        Some(("id", Column::Text(all().map(|thing| Id(thing.id).to_string()).collect()))),
        species.map(|species| ("species", Column::Category(species))),
        Some(("yaw_deg", numbers(|thing| f64::from(thing.yaw) * 360.0 / 65536.0))),
        Some(("scale", numbers(|thing| f64::from(thing.scale) / 4096.0))),
        Some(("tilt_deg", numbers(|thing| thing.tilt_deg.into()))),
        Some(("tilt_to_deg", numbers(|thing| f64::from(thing.tilt_to) * 360.0 / 256.0))),
        Some(("age", numbers(|thing| f64::from(thing.age) / 255.0))),
        Some(("health", numbers(|thing| f64::from(thing.health) / 255.0))),
    ];
    for (name, column) in columns.into_iter().flatten() {
        let _fits = layer.set_feature_attribute(name, column);
    }
    layer
}
