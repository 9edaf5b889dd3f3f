//! `instances`: things that stand on the ground as `<name>.csv`.

use orogen_core::{Frame, LayerName};
use orogen_io::instances_csv;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames, no_such};
use crate::error::BuildError;

/// Digits after the point that keep a millimetre, in metres or feet and in degrees.
const DIGITS: usize = 3;
const DIGITS_OF_DEGREES: usize = 8;

/// Things that stand on the ground (plants, stones) as `<name>.csv`, a line each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Instances {
    /// Which things to write; without any, all.
    #[schemars(length(max = 64))]
    pub instances: Vec<LayerName>,
}

impl Instances {
    fn writes(&self, name: &LayerName) -> bool {
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
        wanted.map(|name| format!("{name}.csv")).collect()
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
            Ok(())
        })
    }
}
