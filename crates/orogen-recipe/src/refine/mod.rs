//! What a `World` step found on the recipe's frame, brought to windows of other spacings.

mod octaves;
mod worn;

use std::collections::BTreeMap;
use std::sync::Arc;

use orogen_core::instances::Instances;
use orogen_core::vector::VectorLayer;
use orogen_core::{
    Ctx, Frame, LayerData, LayerName, OpError, Part, Provenance, Raster, Refiner, Solved, Terrain, Weight,
    layer, weights,
};

use self::worn::Worn;
use crate::check::Step;
use crate::run::cut;

pub(crate) use self::octaves::halo_m;

/// What a `World` step changed: worked out once, for all windows.
///
/// A window gets its own input and, interpolated, what the step changed on the recipe's frame; where the step wears the
/// land, what finer samples show of the land before is held to what worn land bears. Layers that the step made from nothing are interpolated themselves, kept to their range; ids come from the nearest sample; weights are
/// interpolated and sum to 255 again; vectors are those of the recipe's frame. At last the operator may have its say.
pub(crate) struct Refinement {
    base: Frame,
    changes: BTreeMap<LayerName, Change>,
    /// Families of weights that the step wrote, each whole.
    families: BTreeMap<String, BTreeMap<LayerName, Arc<Raster<Weight>>>>,
    vectors: BTreeMap<LayerName, Arc<VectorLayer>>,
    /// Cropped to each window, and stood on its finer ground.
    instances: BTreeMap<LayerName, Arc<Instances>>,
    /// Of what the step wrote.
    provenance: Provenance,
    refiner: Option<Box<dyn Refiner>>,
}

#[derive(Debug)]
enum Change {
    /// Goes on top of what the window has.
    Added(Raster<f32>),
    /// Height that was worn.
    Worn(Box<Worn>),
    /// Was not there before; with its least and greatest value and, if it has holes, without them.
    Made(Arc<Raster<f32>>, (f32, f32), Option<Raster<f32>>),
    /// Ids of any kind.
    Ids(LayerData),
}

impl Change {
    /// Holes of a window are those of its own input.
    fn added(after: &Raster<f32>, before: &Raster<f32>) -> Self {
        let change = difference(after, before);
        Self::Added(change.bridged().unwrap_or(change))
    }

    fn made(raster: &Arc<Raster<f32>>) -> Self {
        let range = raster.range().unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
        Self::Made(raster.clone(), range, raster.bridged())
    }
}

impl Refinement {
    /// From a step's input and result on the recipe's frame. `held` says that what the input shows at finer samples was held
    /// to the slope of its land before.
    ///
    /// # Errors
    /// When the operator fails to prepare its own way.
    pub fn new(
        step: &Step,
        held: bool,
        input: Option<&Terrain>,
        solved: &Terrain,
        ctx: &Ctx<'_>,
    ) -> Result<Self, OpError> {
        let layers = &step.layers;
        let change = |name: &LayerName| {
            let before = input.and_then(|input| input.layers().get(name));
            let change = match (solved.layers().get(name)?, before) {
                (LayerData::F32(out), Some(LayerData::F32(before)))
                    if step.op.wears() && *name == layer::HEIGHT.name() =>
                {
                    Change::Worn(Box::new(Worn::new(before, out, solved, held)))
                }
                (LayerData::F32(out), Some(LayerData::F32(before))) => Change::added(out, before),
                (LayerData::F32(out), _) => Change::made(out),
                // Together with the others of its family.
                (LayerData::Weight(_), _) => return None,
                (ids, _) => Change::Ids(ids.clone()),
            };
            Some((name.clone(), change))
        };
        let mut families: BTreeMap<String, BTreeMap<_, _>> = BTreeMap::new();
        for name in &layers.writes {
            if let Some(LayerData::Weight(raster)) = solved.layers().get(name) {
                families.entry(name.family().to_owned()).or_default().insert(name.clone(), raster.clone());
            }
        }
        let kept = layers.keeps.iter().cloned().filter_map(Part::into_vectors);
        let vectors = layers.writes_vectors.iter().cloned().chain(kept);
        Ok(Self {
            base: *solved.frame(),
            changes: layers.writes.iter().filter_map(change).collect(),
            families,
            vectors: vectors
                .filter_map(|name| Some((name.clone(), solved.vectors().get(&name)?.clone())))
                .collect(),
            instances: (layers.writes_instances.iter())
                .filter_map(|name| Some((name.clone(), solved.instances().get(name)?.clone())))
                .collect(),
            provenance: solved.provenance().clone(),
            refiner: step.op.refiner(Solved { before: input, after: solved }, ctx)?,
        })
    }

    /// Bytes that it keeps in memory.
    pub fn bytes(&self) -> u64 {
        let size = |change: &Change| match change {
            Change::Added(raster) => 4 * raster.as_slice().len(),
            Change::Worn(worn) => worn.size_bytes(),
            Change::Made(raster, _, filled) => {
                4 * raster.as_slice().len() * if filled.is_some() { 2 } else { 1 }
            }
            Change::Ids(ids) => ids.bytes().len(),
        };
        let weights = self.families.values().flat_map(BTreeMap::values);
        let weights = weights.map(|raster| raster.as_slice().len()).sum::<usize>();
        let things = self.instances.values().map(|all| all.size_bytes()).sum::<usize>();
        let own = self.refiner.as_ref().map_or(0, |refiner| refiner.size_bytes());
        (self.changes.values().map(size).sum::<usize>() + weights + things + own) as u64
    }

    /// The step's result on a window of another lattice; the input covers the halo around it.
    pub fn apply(&self, wide: Terrain, frame: &Frame, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        // Height around the window, where it is needed to tell octaves apart.
        let mut around = match self.changes.get(&layer::HEIGHT.name()) {
            Some(Change::Worn(worn)) => Some(worn.window(&wide, frame)?),
            _ => None,
        };
        let mut input = cut(wide, frame)?;
        let (cols, rows) = places(&self.base, frame);
        let nearest = |at: &[f64], count: usize| -> Vec<usize> {
            at.iter().map(|at| at.round().clamp(0.0, (count - 1) as f64) as usize).collect()
        };
        let (nearest_cols, nearest_rows) =
            (nearest(&cols, self.base.cols()), nearest(&rows, self.base.rows()));
        for (name, change) in &self.changes {
            let data = match change {
                Change::Added(change) => {
                    let mut sum = change.bicubic_grid(&cols, &rows);
                    let fine: &Raster<f32> = input.get_named(name)?;
                    for (sum, fine) in sum.as_mut_slice().iter_mut().zip(fine.as_slice()) {
                        *sum += fine;
                    }
                    sum.into()
                }
                Change::Worn(_) => match around.take() {
                    Some(height) => height.into(),
                    None => continue,
                },
                Change::Made(raster, (low, high), filled) => {
                    let mut made = filled.as_ref().unwrap_or(raster).bicubic_grid(&cols, &rows);
                    made.as_mut_slice().iter_mut().for_each(|value| *value = value.clamp(*low, *high));
                    if filled.is_some() {
                        let land = input.get(layer::HEIGHT).ok();
                        for (row, &from) in nearest_rows.iter().enumerate() {
                            for (col, &near) in nearest_cols.iter().enumerate() {
                                let hole = land.is_some_and(|land: &Raster<f32>| land.row(row)[col].is_nan());
                                if hole || raster.row(from)[near].is_nan() {
                                    made.as_mut_slice()[row * cols.len() + col] = f32::NAN;
                                }
                            }
                        }
                    }
                    made.into()
                }
                Change::Ids(ids) => ids.picked(&nearest_cols, &nearest_rows),
            };
            input.set_named(name.clone(), data);
        }
        for (family, members) in &self.families {
            // What an earlier step made of the family does not belong to this one.
            let old = weights::families(input.layers()).remove(family.as_str()).unwrap_or_default();
            let old: Vec<LayerName> = old.into_iter().map(|(name, _)| name.clone()).collect();
            for name in old.iter().filter(|name| !members.contains_key(*name)) {
                input.remove(name);
            }
            let rasters: Vec<_> = members.values().cloned().collect();
            let finer = weights::between(&rasters, &cols, &rows);
            members
                .keys()
                .cloned()
                .zip(finer)
                .for_each(|(name, raster)| input.set_named(name, raster.into()));
        }
        for (name, vectors) in &self.vectors {
            input.set_vector(name.clone(), vectors.clone());
        }
        for (name, all) in &self.instances {
            input.set_instances(name.clone(), all.crop(&frame.extent()));
        }
        let instances = self.instances.keys().cloned().map(Part::Instances);
        let weights = self.families.values().flat_map(BTreeMap::keys);
        let written = self.changes.keys().chain(weights).cloned().map(Part::Layer);
        let vectors = self.vectors.keys().cloned().map(Part::Vectors);
        for part in written.chain(vectors).chain(instances) {
            let from: Vec<Part> = self.provenance.of(&part).cloned().collect();
            input.record(part, from);
        }
        match &self.refiner {
            Some(refiner) => refiner.refine(input, ctx),
            None => Ok(input),
        }
    }
}

/// Where columns and rows of a frame lie on another, in its samples.
fn places(base: &Frame, frame: &Frame) -> (Vec<f64>, Vec<f64>) {
    let cols = (0..frame.cols()).map(|col| base.locate(frame.x_m(col), 0.0)[0]).collect();
    let rows = (0..frame.rows()).map(|row| base.locate(0.0, frame.y_m(row))[1]).collect();
    (cols, rows)
}

fn difference(after: &Raster<f32>, before: &Raster<f32>) -> Raster<f32> {
    let mut out = Raster::filled(after.cols(), after.rows(), 0.0);
    out.par_rows(|row, values| {
        for ((value, a), b) in values.iter_mut().zip(after.row(row)).zip(before.row(row)) {
            *value = a - b;
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::{Ctx, Seed};

    #[test]
    fn holes_do_not_grow_in_finer_windows() {
        let base = Frame::square(320.0, 17).unwrap();
        let hole = |c: usize, r: usize| (6..8).contains(&c) && r == 9;
        let raster = |height: f32| {
            Raster::from_fn(17, 17, |c, r| if hole(c, r) { f32::NAN } else { height + (c * r) as f32 })
        };
        let (before, after) = (raster(500.0), raster(480.0));
        let refinement = Refinement {
            base,
            changes: BTreeMap::from([
                (layer::HEIGHT.name(), Change::added(&after, &before)),
                (layer::SEDIMENT.name(), Change::made(&Arc::new(raster(3.0)))),
            ]),
            families: BTreeMap::new(),
            vectors: BTreeMap::new(),
            instances: BTreeMap::new(),
            provenance: Terrain::new(base).provenance().clone(),
            refiner: None,
        };
        let window = base.resampled(&base.extent(), [4.0, 4.0]).unwrap();
        let mut input = Terrain::new(window);
        // A hole of the finer land, half a sample of the recipe's wider than that.
        let is_hole = |c: usize, r: usize| (28..=37).contains(&c) && (43..=47).contains(&r);
        let own = Raster::from_fn(window.cols(), window.rows(), |c, r| {
            if is_hole(c, r) { f32::NAN } else { 500.0 + (c * r) as f32 / 25.0 }
        });
        input.set(layer::HEIGHT, own);
        let ctx = Ctx::new(Seed::from_text("holes")).in_world(base);
        let made = refinement.apply(input, &window, &ctx).unwrap();
        for name in [layer::HEIGHT, layer::SEDIMENT] {
            let raster = made.get(name).unwrap();
            for r in 0..window.rows() {
                for c in 0..window.cols() {
                    assert_eq!(raster.row(r)[c].is_nan(), is_hole(c, r), "{:?} at {c} {r}", name.name());
                }
            }
        }
    }
}
