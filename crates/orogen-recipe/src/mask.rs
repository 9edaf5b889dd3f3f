//! A step limited to where a mask is set.

use std::collections::BTreeSet;
use std::sync::Arc;

use orogen_core::weights;
use orogen_core::{Kind, LayerData, LayerName, OpError, Parts, Raster, Sample, Terrain, Weight, each_kind};

/// Limits a step to its mask: where the mask is 0 everything stays as before, where it is 1 the step has its way.
///
/// Measured values are mixed in proportion, as are weights, which sum to 255 afterwards as before; ids switch at one half;
/// a layer that was not there before counts as 0. Holes of the mask count as 0. Vectors are the step's own: they have no
/// samples to mix.
///
/// # Errors
/// When the terrain before the step has no such mask.
pub fn limit_to_mask(
    before: &Terrain,
    after: Terrain,
    mask: &LayerName,
    writes: &[LayerName],
) -> Result<Terrain, OpError> {
    let mask: &Raster<f32> = before.get_named(mask)?;
    let frame = *after.frame();
    let mut parts = after.into_parts();
    let mut families = BTreeSet::new();
    for name in writes {
        let Some(data) = parts.layers.get_mut(name) else { continue };
        let before = before.layers().get(name);
        match data {
            LayerData::F32(after) => mix(Arc::make_mut(after), before.and_then(Sample::view), mask),
            // Together with the others of its family.
            LayerData::Weight(_) => drop(families.insert(name.family())),
            ids => {
                each_kind!(ids, after => switch(Arc::make_mut(after), before.and_then(Sample::view), mask));
            }
        }
    }
    families.into_iter().for_each(|family| mix_family(&mut parts, before, family, mask));
    Terrain::from_parts(frame, parts)
        .ok_or_else(|| OpError::Internal(String::from("a masked layer does not match the frame")))
}

fn mix(after: &mut Raster<f32>, before: Option<&Arc<Raster<f32>>>, mask: &Raster<f32>) {
    after.par_rows(|row, out| {
        for (col, value) in out.iter_mut().enumerate() {
            let old = before.map_or(0.0, |raster| raster.row(row)[col]);
            *value = mixed(old, *value, mask.row(row)[col]);
        }
    });
}

fn mixed(old: f32, new: f32, share: f32) -> f32 {
    // The ends are taken as they are, so that rounding (or a hole) changes nothing there.
    if share >= 1.0 {
        new
    } else if share > 0.0 {
        old + (new - old) * share
    } else {
        old
    }
}

fn switch<T: Sample>(after: &mut Raster<T>, before: Option<&Arc<Raster<T>>>, mask: &Raster<f32>) {
    after.par_rows(|row, out| {
        for (col, value) in out.iter_mut().enumerate() {
            if mask.row(row)[col] >= 0.5 {
                continue;
            }
            *value = before.map_or(T::default(), |raster| raster.row(row)[col]);
        }
    });
}

/// Mixes all weights of a family, those too that only one of the two has.
fn mix_family(parts: &mut Parts, before: &Terrain, family: &str, mask: &Raster<f32>) {
    let both = parts.layers.iter().chain(before.layers());
    let names: BTreeSet<LayerName> = both
        .filter(|(name, data)| data.kind() == Kind::Weight && name.family() == family)
        .map(|(name, _)| name.clone())
        .collect();
    let of = |layers: &std::collections::BTreeMap<LayerName, LayerData>| -> Vec<Option<Arc<Raster<Weight>>>> {
        names.iter().map(|name| layers.get(name).and_then(Weight::view).cloned()).collect()
    };
    let (old, new) = (of(before.layers()), of(&parts.layers));
    let at = |raster: &Option<Arc<Raster<Weight>>>, col: usize, row: usize| {
        raster.as_ref().map_or(0.0, |raster| f32::from(raster.row(row)[col].0))
    };
    let made = weights::from_shares(mask.cols(), mask.rows(), names.len(), |member, row, out| {
        for (col, value) in out.iter_mut().enumerate() {
            *value = mixed(at(&old[member], col, row), at(&new[member], col, row), mask.row(row)[col]);
        }
    });
    parts.layers.extend(names.into_iter().zip(made.into_iter().map(LayerData::from)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::layer::{BASIN, HEIGHT, MASK};
    use orogen_core::{Frame, Seed};

    fn land(seed: u64, members: &[&'static str]) -> Terrain {
        let at_random = |seed: u64, col: usize, row: usize| Seed(seed).unit2(col as i64, row as i64) as f32;
        let mut land = Terrain::new(Frame::square(100.0, 21).unwrap());
        land.set(HEIGHT, Raster::from_fn(21, 21, |col, row| at_random(seed, col, row)));
        land.set(BASIN, Raster::filled(21, 21, (1 << 24) + seed as u32));
        land.set(MASK, Raster::from_fn(21, 21, |col, _| if col == 7 { f32::NAN } else { col as f32 / 20.0 }));
        let shares: Vec<_> = (0..members.len() as u64)
            .map(|i| Raster::from_fn(21, 21, |col, row| at_random(seed + 10 * i, col, row)))
            .collect();
        let shares = members.iter().map(|name| LayerName::from(*name)).zip(&shares).collect();
        land.set_weights("material", &shares).unwrap();
        land
    }

    #[test]
    fn weights_sum_to_255_under_any_mask() {
        let before = land(1, &["material.rock", "material.sand"]);
        let after = land(2, &["material.rock", "material.scree", "material.snow"]);
        let writes = ["material.rock", "material.scree", "material.snow", "basin"].map(LayerName::from);
        let made = limit_to_mask(&before, after.clone(), &MASK.name(), &writes).unwrap();
        let families = weights::families(made.layers());
        let family = &families["material"];
        assert_eq!(family.len(), 4);
        assert_eq!(weights::unsound(family), None);
        let weight = |land: &Terrain, name: &'static str, col: usize| {
            land.get_named::<Weight>(&name.into()).map_or(0, |raster| raster.row(3)[col].0)
        };
        for name in ["material.rock", "material.sand", "material.scree", "material.snow"] {
            // Column 0 and the hole of the mask are as before, the last is as the step has it.
            for (col, land) in [(0, &before), (7, &before), (20, &after)] {
                assert_eq!(weight(&made, name, col), weight(land, name, col), "{name} in column {col}");
            }
            let (old, new) = (f32::from(weight(&before, name, 10)), f32::from(weight(&after, name, 10)));
            assert!((f32::from(weight(&made, name, 10)) - 0.5 * (old + new)).abs() <= 1.0, "{name}");
        }
        let basin = made.get(BASIN).unwrap();
        assert_eq!([basin.row(0)[9], basin.row(0)[10]], [(1 << 24) + 1, (1 << 24) + 2]);
    }

    #[test]
    fn a_family_that_was_not_there_is_whole_wherever_the_mask_is_set() {
        let (before, after) = (land(1, &[]), land(2, &["material.rock", "material.snow"]));
        let writes = ["material.rock", "material.snow"].map(LayerName::from);
        let made = limit_to_mask(&before, after, &MASK.name(), &writes).unwrap();
        let families = weights::families(made.layers());
        let sum =
            |col: usize| families["material"].iter().map(|(_, r)| u32::from(r.row(5)[col].0)).sum::<u32>();
        assert_eq!([0, 1, 7, 8, 20].map(sum), [0, 255, 0, 255, 255]);
    }
}
