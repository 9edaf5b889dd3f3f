//! A terrain: one frame with its layers and vectors, shared until written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::OpError;
use crate::frame::Frame;
use crate::instances::Instances;
use crate::kinds::{Kind, LayerData, Sample, Weight};
use crate::layer::{Layer, LayerName};
use crate::place::Place;
use crate::provenance::{Part, Provenance};
use crate::raster::Raster;
use crate::values::{self, Values};
use crate::vector::VectorLayer;
use crate::weights;

/// All that a terrain holds besides its frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Rasters, by name.
    pub layers: BTreeMap<LayerName, LayerData>,
    /// Points, lines and polygons, by name.
    pub vectors: BTreeMap<LayerName, Arc<VectorLayer>>,
    /// Things that stand on the ground, by name.
    pub instances: BTreeMap<LayerName, Arc<Instances>>,
    /// What each of them follows from.
    pub provenance: Provenance,
}

/// One frame with its named layers and vectors. Cloning shares the layers; writing copies the written one only.
///
/// A terrain knows what each part was computed from. Setting a part drops all that follow from it.
#[derive(Clone, Debug)]
pub struct Terrain {
    frame: Frame,
    /// Boxed: terrains are handed about by value.
    place: Box<Place>,
    parts: Parts,
    /// The layers whose values were looked at since they were set, so that nobody looks twice.
    known: BTreeMap<LayerName, Values>,
}

impl PartialEq for Terrain {
    /// The same land, however it came to be.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.parts, &other.parts);
        self.frame == other.frame
            && self.place == other.place
            && a.layers == b.layers
            && a.vectors == b.vectors
            && a.instances == b.instances
    }
}

impl Terrain {
    /// A terrain without layers.
    #[must_use]
    pub fn new(frame: Frame) -> Self {
        Self { frame, place: Box::default(), parts: Parts::default(), known: BTreeMap::new() }
    }

    /// A terrain of given parts, `None` when a layer does not match the shape of the frame. Unlike setting the layers
    /// one by one, this drops nothing: the parts belong together already.
    #[must_use]
    pub fn from_parts(frame: Frame, parts: Parts) -> Option<Self> {
        let fits = parts.layers.values().all(|data| data.shape() == (frame.cols(), frame.rows()));
        fits.then_some(Self { frame, place: Box::default(), parts, known: BTreeMap::new() })
    }

    /// All that it holds, leaving the frame behind.
    #[must_use]
    pub fn into_parts(self) -> Parts {
        self.parts
    }

    /// Where it lies.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Where on Earth its world lies, as far as that is known.
    #[must_use]
    pub fn place(&self) -> Place {
        *self.place
    }

    /// Says where on Earth its world lies. No part follows from that: what an operator makes of it is made anew.
    pub fn set_place(&mut self, place: Place) {
        *self.place = place;
    }

    /// A well-known layer.
    ///
    /// # Errors
    /// When there is no such layer here, or it holds another kind of number.
    pub fn get<T: Sample>(&self, layer: Layer<T>) -> Result<&Raster<T>, OpError> {
        self.get_named(&layer.name())
    }

    /// A well-known layer, to keep while the terrain changes.
    ///
    /// # Errors
    /// As [`Terrain::get`].
    pub fn shared<T: Sample>(&self, layer: Layer<T>) -> Result<Arc<Raster<T>>, OpError> {
        self.get(layer)?;
        let data = self.parts.layers.get(&layer.name()).and_then(T::view);
        data.cloned().ok_or_else(|| self.missing(&layer.name()))
    }

    /// A layer by name.
    ///
    /// # Errors
    /// As [`Terrain::get`].
    pub fn get_named<T: Sample>(&self, name: &LayerName) -> Result<&Raster<T>, OpError> {
        let data = self.parts.layers.get(name).ok_or_else(|| self.missing(name))?;
        T::view(data).map(AsRef::as_ref).ok_or_else(|| OpError::LayerKind {
            name: name.clone(),
            found: data.kind(),
            wanted: T::KIND,
        })
    }

    /// Sets a well-known layer and drops what was derived from it.
    pub fn set<T: Sample>(&mut self, layer: Layer<T>, raster: Raster<T>) {
        self.set_named(layer.name(), raster.into());
    }

    /// Sets a layer by name and drops what was derived from it.
    ///
    /// # Panics
    /// When the raster does not match the shape of the frame: a bug in the operator, never caused by its input.
    pub fn set_named(&mut self, name: LayerName, data: LayerData) {
        assert_eq!(
            data.shape(),
            (self.frame.cols(), self.frame.rows()),
            "layer {name} does not match the frame"
        );
        self.drop_followers(&Part::Layer(name.clone()));
        self.parts.layers.insert(name, data);
    }

    /// Sets a family of weights as a whole, from shares of any size ([`crate::weights`]); others of the family are removed.
    ///
    /// # Errors
    /// When a name belongs to another family, or a raster does not match the shape of the frame.
    pub fn set_weights(
        &mut self,
        family: &str,
        shares: &BTreeMap<LayerName, &Raster<f32>>,
    ) -> Result<(), OpError> {
        let (cols, rows) = (self.frame.cols(), self.frame.rows());
        for (name, raster) in shares {
            self.check_member(family, name, (raster.cols(), raster.rows()))?;
        }
        let rasters: Vec<&Raster<f32>> = shares.values().copied().collect();
        let made = weights::from_shares(cols, rows, rasters.len(), |member, row, out| {
            out.copy_from_slice(rasters[member].row(row));
        });
        self.set_rounded_weights(family, shares.keys().cloned().zip(made).collect())
    }

    /// As [`Terrain::set_weights`], of weights that are rounded already, to sums of 255 or 0.
    ///
    /// # Errors
    /// As [`Terrain::set_weights`].
    pub fn set_rounded_weights(
        &mut self,
        family: &str,
        made: BTreeMap<LayerName, Raster<Weight>>,
    ) -> Result<(), OpError> {
        for (name, raster) in &made {
            self.check_member(family, name, (raster.cols(), raster.rows()))?;
        }
        let of_family = |(name, data): (&LayerName, &LayerData)| {
            (data.kind() == Kind::Weight && name.family() == family).then(|| name.clone())
        };
        let old: Vec<LayerName> = self.parts.layers.iter().filter_map(of_family).collect();
        for name in old {
            self.drop_followers(&Part::Layer(name.clone()));
            self.parts.layers.remove(&name);
        }
        made.into_iter().for_each(|(name, raster)| self.set_named(name, raster.into()));
        Ok(())
    }

    /// Whether a raster may be a member of a family here.
    fn check_member(&self, family: &str, name: &LayerName, shape: (usize, usize)) -> Result<(), OpError> {
        if name.family() != family {
            return Err(OpError::Failed(format!("layer {name:?} does not belong to the weights {family:?}")));
        }
        if shape != (self.frame.cols(), self.frame.rows()) {
            return Err(self.other_shape(name, shape));
        }
        Ok(())
    }

    /// Sets a layer that comes from outside, and drops what was derived from it.
    ///
    /// # Errors
    /// When the raster does not match the shape of the frame, or holds a value that no land has (see [`values`]).
    pub fn accept(&mut self, name: LayerName, data: LayerData) -> Result<(), OpError> {
        let (cols, rows) = data.shape();
        if (cols, rows) != (self.frame.cols(), self.frame.rows()) {
            return Err(self.other_shape(&name, (cols, rows)));
        }
        let values = values_of(&name, &data)?;
        self.set_named(name.clone(), data);
        self.known.insert(name, values);
        Ok(())
    }

    /// Looks at the values of some layers; those that are not here hold nothing. What was looked at is remembered.
    ///
    /// # Errors
    /// When a layer holds a value that no land has (see [`values`]).
    pub fn check_values(&mut self, names: &[LayerName]) -> Result<Values, OpError> {
        let mut holes = false;
        for name in names {
            let values = self.values(name)?;
            if self.parts.layers.contains_key(name) {
                self.known.insert(name.clone(), values);
            }
            holes |= values.holes;
        }
        Ok(Values { holes })
    }

    /// What the values of a layer are like; one that is not here holds nothing.
    ///
    /// # Errors
    /// When it holds a value that no land has (see [`values`]).
    pub fn values(&self, name: &LayerName) -> Result<Values, OpError> {
        match (self.known.get(name), self.parts.layers.get(name)) {
            (Some(values), _) => Ok(*values),
            (None, Some(data)) => values_of(name, data),
            (None, None) => Ok(Values::default()),
        }
    }

    /// Changes a layer in place (copying it first if shared) and drops what was derived from it.
    ///
    /// # Errors
    /// As [`Terrain::get`].
    pub fn update<T: Sample>(
        &mut self,
        name: &LayerName,
        f: impl FnOnce(&mut Raster<T>),
    ) -> Result<(), OpError> {
        self.get_named::<T>(name)?;
        self.drop_followers(&Part::Layer(name.clone()));
        if let Some(raster) = self.parts.layers.get_mut(name).and_then(T::view_mut) {
            f(Arc::make_mut(raster));
        }
        Ok(())
    }

    /// All layers, in the order of their names.
    #[must_use]
    pub fn layers(&self) -> &BTreeMap<LayerName, LayerData> {
        &self.parts.layers
    }

    /// All vectors, in the order of their names.
    #[must_use]
    pub fn vectors(&self) -> &BTreeMap<LayerName, Arc<VectorLayer>> {
        &self.parts.vectors
    }

    /// A vector layer, if there is one of that name.
    #[must_use]
    pub fn vector(&self, name: &str) -> Option<&VectorLayer> {
        self.parts.vectors.get(name).map(AsRef::as_ref)
    }

    /// Sets a vector layer and drops what was derived from it.
    pub fn set_vector(&mut self, name: impl Into<LayerName>, vectors: impl Into<Arc<VectorLayer>>) {
        let name = name.into();
        self.drop_followers(&Part::Vectors(name.clone()));
        self.parts.vectors.insert(name, vectors.into());
    }

    /// All that stands on the ground, in the order of the names.
    #[must_use]
    pub fn instances(&self) -> &BTreeMap<LayerName, Arc<Instances>> {
        &self.parts.instances
    }

    /// Sets things that stand on the ground and drops what was derived from them. They are stood on the heights, where
    /// there are some.
    pub fn set_instances(&mut self, name: impl Into<LayerName>, instances: impl Into<Arc<Instances>>) {
        let (name, mut instances) = (name.into(), instances.into());
        self.drop_followers(&Part::Instances(name.clone()));
        if let Ok(height) = self.get(crate::layer::HEIGHT) {
            Arc::make_mut(&mut instances).set_ground(&self.frame, height);
        }
        self.parts.instances.insert(name, instances);
    }

    /// Removes a layer.
    pub fn remove(&mut self, name: &LayerName) -> Option<LayerData> {
        self.known.remove(name);
        self.parts.provenance.forget(&Part::Layer(name.clone()));
        self.parts.layers.remove(name)
    }

    /// Keeps only the parts that `wanted` says yes to.
    pub fn retain(&mut self, mut wanted: impl FnMut(&Part) -> bool) {
        let mut gone: Vec<Part> = self.parts.layers.keys().cloned().map(Part::Layer).collect();
        gone.extend(self.parts.vectors.keys().cloned().map(Part::Vectors));
        gone.extend(self.parts.instances.keys().cloned().map(Part::Instances));
        gone.retain(|part| !wanted(part));
        gone.iter().for_each(|part| self.drop_part(part));
    }

    /// Whether it holds a part.
    #[must_use]
    pub fn has(&self, part: &Part) -> bool {
        match part {
            Part::Layer(name) => self.parts.layers.contains_key(name),
            Part::Vectors(name) => self.parts.vectors.contains_key(name),
            Part::Instances(name) => self.parts.instances.contains_key(name),
        }
    }

    /// What each part follows from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.parts.provenance
    }

    /// Replaces what is known of where parts come from; what is said of parts that are not here is left out.
    pub(crate) fn set_provenance(&mut self, provenance: Provenance) {
        let here = provenance.iter().filter(|(part, _)| self.has(part));
        self.parts.provenance = here.map(|(part, all)| (part.clone(), all.clone())).collect();
    }

    /// Notes what a part was computed from; all that those follow from counts too.
    pub fn record(&mut self, part: Part, from: impl IntoIterator<Item = Part>) {
        self.parts.provenance.record(part, from);
    }

    /// The part on a window of the frame; vectors stay whole, instances are those in it, its northern and eastern edges left
    /// out. `None` when the window is not part of this frame.
    #[must_use]
    pub fn crop(&self, window: &Frame) -> Option<Self> {
        let (col, row) = self.frame.offset_of(window)?;
        let (cols, rows) = (window.cols(), window.rows());
        let layers = &self.parts.layers;
        let layers =
            layers.iter().map(|(name, data)| (name.clone(), data.crop(col, row, cols, rows))).collect();
        // A part of a layer with holes may have none: only what holds of every part is still known.
        let known = self.known.iter().filter(|(_, values)| !values.holes);
        let known = known.map(|(name, values)| (name.clone(), *values)).collect();
        let vectors = self.parts.vectors.clone();
        let extent = window.extent();
        let instances = self.parts.instances.iter();
        let instances = instances.map(|(name, all)| (name.clone(), Arc::new(all.crop(&extent)))).collect();
        let parts = Parts { layers, vectors, instances, provenance: self.parts.provenance.clone() };
        Some(Self { frame: *window, place: self.place.clone(), parts, known })
    }

    fn other_shape(&self, name: &LayerName, (cols, rows): (usize, usize)) -> OpError {
        OpError::Failed(format!(
            "layer {name:?} has {cols} x {rows} samples and does not match the frame of {} x {}",
            self.frame.cols(),
            self.frame.rows()
        ))
    }

    /// The sentence for a layer that is not here.
    #[must_use]
    pub fn missing(&self, name: &LayerName) -> OpError {
        OpError::MissingLayer { name: name.clone(), available: self.layers().keys().cloned().collect() }
    }

    /// Drops what follows from a part that is about to change, and what was known of it.
    fn drop_followers(&mut self, from: &Part) {
        let followers: Vec<Part> = self.parts.provenance.followers(from).cloned().collect();
        followers.iter().for_each(|part| self.drop_part(part));
        self.parts.provenance.forget(from);
        if let Part::Layer(name) = from {
            self.known.remove(name);
        }
    }

    fn drop_part(&mut self, part: &Part) {
        self.parts.provenance.forget(part);
        match part {
            Part::Layer(name) => {
                self.known.remove(name);
                self.parts.layers.remove(name);
            }
            Part::Vectors(name) => {
                self.parts.vectors.remove(name);
            }
            Part::Instances(name) => {
                self.parts.instances.remove(name);
            }
        }
    }
}

fn values_of(name: &LayerName, data: &LayerData) -> Result<Values, OpError> {
    match data {
        LayerData::F32(raster) => values::check(name, raster),
        // Every whole number is a value.
        _ => Ok(Values::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{HEIGHT, MASK, SLOPE};
    use crate::vector::Shape;

    fn flat() -> Terrain {
        let mut terrain = Terrain::new(Frame::square(100.0, 3).unwrap());
        terrain.set(HEIGHT, Raster::filled(3, 3, 1.0));
        terrain
    }

    #[test]
    fn setting_height_drops_what_follows_from_it() {
        let mut terrain = flat();
        terrain.set(SLOPE, Raster::filled(3, 3, 0.0));
        terrain.set(MASK, Raster::filled(3, 3, 1.0));
        terrain.set_vector("rivers", VectorLayer::new(Shape::Lines));
        terrain.set_vector("polygons", VectorLayer::new(Shape::Polygons));
        for part in [Part::Layer(SLOPE.name()), Part::Vectors("rivers".into())] {
            terrain.record(part, [Part::Layer(HEIGHT.name())]);
        }
        terrain.set(HEIGHT, Raster::filled(3, 3, 2.0));
        let names: Vec<&str> = terrain.layers().keys().map(LayerName::as_str).collect();
        assert_eq!(names, ["height", "mask"]);
        assert!(terrain.vector("rivers").is_none());
        assert!(terrain.vector("polygons").is_some());
    }

    #[test]
    fn writing_a_clone_leaves_the_original() {
        let original = flat();
        let mut copy = original.clone();
        assert!(copy.layers()[&HEIGHT.name()].same_allocation(&original.layers()[&HEIGHT.name()]));
        copy.update::<f32>(&HEIGHT.name(), |h| h.as_mut_slice()[0] = 9.0).unwrap();
        assert_eq!(original.get(HEIGHT).unwrap().as_slice()[0], 1.0);
        assert_eq!(copy.get(HEIGHT).unwrap().as_slice()[0], 9.0);
    }

    #[test]
    fn values_are_looked_at_again_after_every_change() {
        let (mut terrain, height) = (flat(), HEIGHT.name());
        let names = [height.clone()];
        assert_eq!(terrain.check_values(&names), Ok(Values { holes: false }));
        terrain.update::<f32>(&height, |h| h.as_mut_slice()[4] = f32::NAN).unwrap();
        assert_eq!(terrain.check_values(&names), Ok(Values { holes: true }));
        let part = terrain.crop(&terrain.frame().window(0, 0, 2, 1)).unwrap();
        assert_eq!(part.values(&height), Ok(Values { holes: false }));
        terrain.set(HEIGHT, Raster::filled(3, 3, f32::INFINITY));
        assert!(terrain.check_values(&names).is_err());
        terrain.remove(&height);
        assert_eq!(terrain.check_values(&names), Ok(Values { holes: false }));
    }

    #[test]
    fn what_comes_from_outside_is_refused_before_it_replaces_anything() {
        let mut terrain = flat();
        let infinite = LayerData::F32(Arc::new(Raster::filled(3, 3, f32::NEG_INFINITY)));
        assert!(matches!(terrain.accept(HEIGHT.name(), infinite), Err(OpError::Value { .. })));
        let narrow = LayerData::F32(Arc::new(Raster::filled(2, 3, 0.0)));
        assert!(terrain.accept(HEIGHT.name(), narrow).is_err());
        assert_eq!(terrain, flat());
        let other = LayerData::F32(Arc::new(Raster::filled(3, 3, 2.0)));
        terrain.accept(HEIGHT.name(), other).unwrap();
        assert_eq!(terrain.get(HEIGHT).unwrap().as_slice()[0], 2.0);
    }

    #[test]
    fn a_missing_layer_is_named_together_with_what_there_is() {
        let message = flat().get(SLOPE).unwrap_err().to_string();
        assert_eq!(message, "no layer \"slope\" here; available: height");
    }
}
