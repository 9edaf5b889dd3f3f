//! What follows from what in a terrain, so that nothing stale survives a change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::layer::LayerName;

/// One thing that a terrain holds, by its kind and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// A raster.
    Layer(LayerName),
    /// Points, lines or polygons.
    Vectors(LayerName),
    /// Things that stand on the ground.
    Instances(LayerName),
}

impl Part {
    /// The name, if it is a raster.
    #[must_use]
    pub fn into_layer(self) -> Option<LayerName> {
        if let Self::Layer(name) = self { Some(name) } else { None }
    }

    /// The name, if it is a vector layer.
    #[must_use]
    pub fn into_vectors(self) -> Option<LayerName> {
        if let Self::Vectors(name) = self { Some(name) } else { None }
    }

    /// The name, if it is a layer of instances.
    #[must_use]
    pub fn into_instances(self) -> Option<LayerName> {
        if let Self::Instances(name) = self { Some(name) } else { None }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer(name) => write!(f, "layer {:?}", name.as_str()),
            Self::Vectors(name) => write!(f, "vectors {:?}", name.as_str()),
            Self::Instances(name) => write!(f, "instances {:?}", name.as_str()),
        }
    }
}

/// For each part that was computed from others, all that it follows from, directly or through others.
///
/// A part without an entry follows from nothing: it was made for its own sake and stays until it is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(Part, BTreeSet<Part>)>", into = "Vec<(Part, BTreeSet<Part>)>")]
pub struct Provenance(BTreeMap<Part, BTreeSet<Part>>);

impl Provenance {
    /// All that a part follows from.
    pub fn of(&self, part: &Part) -> impl Iterator<Item = &Part> {
        self.0.get(part).into_iter().flatten()
    }

    /// Whether a part follows from another.
    #[must_use]
    pub fn follows(&self, part: &Part, from: &Part) -> bool {
        self.0.get(part).is_some_and(|all| all.contains(from))
    }

    /// The parts that follow from another one.
    pub fn followers<'a>(&'a self, from: &'a Part) -> impl Iterator<Item = &'a Part> {
        self.0.iter().filter(move |(_, all)| all.contains(from)).map(|(part, _)| part)
    }

    /// Every part that follows from something, with all that it follows from.
    pub fn iter(&self) -> impl Iterator<Item = (&Part, &BTreeSet<Part>)> {
        self.0.iter()
    }

    /// Notes that a part was computed from others, and thereby from all that those follow from.
    pub fn record(&mut self, part: Part, from: impl IntoIterator<Item = Part>) {
        let mut all = BTreeSet::new();
        for parent in from {
            all.extend(self.of(&parent).cloned());
            all.insert(parent);
        }
        all.remove(&part);
        if all.is_empty() {
            self.0.remove(&part);
        } else {
            self.0.insert(part, all);
        }
    }

    /// Forgets what a part followed from.
    pub fn forget(&mut self, part: &Part) {
        self.0.remove(part);
    }
}

impl From<Vec<(Part, BTreeSet<Part>)>> for Provenance {
    fn from(entries: Vec<(Part, BTreeSet<Part>)>) -> Self {
        entries.into_iter().collect()
    }
}

impl From<Provenance> for Vec<(Part, BTreeSet<Part>)> {
    fn from(provenance: Provenance) -> Self {
        provenance.0.into_iter().collect()
    }
}

impl FromIterator<(Part, BTreeSet<Part>)> for Provenance {
    fn from_iter<I: IntoIterator<Item = (Part, BTreeSet<Part>)>>(entries: I) -> Self {
        Self(entries.into_iter().filter(|(_, all)| !all.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_a_follower_follows_from_the_first() {
        let [height, climate, biome] =
            ["height", "temperature", "biome"].map(|name| Part::Layer(LayerName::fixed(name)));
        let mut provenance = Provenance::default();
        provenance.record(climate.clone(), [height.clone()]);
        provenance.record(biome.clone(), [climate.clone()]);
        assert!(provenance.follows(&biome, &height));
        assert_eq!(provenance.followers(&height).collect::<Vec<_>>(), [&biome, &climate]);
        // What is made from itself still follows from what it followed from.
        provenance.record(biome.clone(), [biome.clone()]);
        assert_eq!(provenance.of(&biome).collect::<Vec<_>>(), [&height, &climate]);
        provenance.record(biome.clone(), []);
        assert_eq!(provenance.of(&biome).count(), 0);
    }
}
