//! Points, lines and polygons with properties, as a file gave them.
//!
//! Properties are kept sparsely, by name, and once for all geometries of a feature: a file whose features all have different
//! ones, or many geometries under one long text, takes no more memory than its own text accounts for.

use std::collections::BTreeMap;

use crate::vector::{Point, Shape, VectorLayer};

/// A property of a feature; nothing, lists and tables are not kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// A text.
    Text(String),
}

impl Property {
    /// The number, also if written as text; `None` when it is not a number or not finite.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            Self::Flag(_) => None,
        };
        number.filter(|number: &f64| number.is_finite())
    }
}

/// What a file of features holds, sorted by shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Points; a feature of several has a part for each.
    pub points: FeatureSet,
    /// Lines; a feature of several has a part for each.
    pub lines: FeatureSet,
    /// Polygons, outer ring first; a feature of several polygons comes as several features with its number.
    pub polygons: FeatureSet,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            points: FeatureSet::new(Shape::Points),
            lines: FeatureSet::new(Shape::Lines),
            polygons: FeatureSet::new(Shape::Polygons),
        }
    }
}

impl Features {
    /// Whether there is nothing at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.vectors.is_empty() && self.lines.vectors.is_empty() && self.polygons.vectors.is_empty()
    }
}

/// Features of one shape. A vertex without a height has NaN as its third coordinate.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureSet {
    vectors: VectorLayer,
    numbers: Vec<u32>,
    /// Which properties each has: the same for several geometries of one feature of the file.
    owners: Vec<u32>,
    /// By name: which owner has what, in the order of owners.
    properties: BTreeMap<String, Vec<(u32, Property)>>,
}

impl FeatureSet {
    /// About how many bytes of memory they take.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let numbers = size_of_val(self.numbers.as_slice()) + size_of_val(self.owners.as_slice());
        let properties = self.properties.values().map(|column| size_of_val(column.as_slice()));
        self.vectors.size_bytes() + numbers + properties.sum::<usize>()
    }

    /// No features yet.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            vectors: VectorLayer::new(shape),
            numbers: Vec::new(),
            owners: Vec::new(),
            properties: BTreeMap::new(),
        }
    }

    /// Adds a feature; `number` tells which of the file it was, counted from 1.
    pub fn push<P: IntoIterator<Item = Point>>(&mut self, number: u32, parts: impl IntoIterator<Item = P>) {
        self.vectors.push_parts(parts);
        self.numbers.push(number);
        self.owners.push(self.owners.last().map_or(0, |last| last + 1));
    }

    /// Adds a further geometry of the feature added last, with its number and properties.
    pub fn push_sibling<P: IntoIterator<Item = Point>>(&mut self, parts: impl IntoIterator<Item = P>) {
        let (Some(&number), Some(&owner)) = (self.numbers.last(), self.owners.last()) else {
            return self.push(1, parts);
        };
        self.vectors.push_parts(parts);
        self.numbers.push(number);
        self.owners.push(owner);
    }

    /// Gives the feature added last, with its siblings, a property; of two with one name the later stays. `true` when the name is new.
    pub fn set_property(&mut self, name: &str, value: Property) -> bool {
        let Some(&last) = self.owners.last() else { return false };
        let entry = (last, value);
        match self.properties.get_mut(name) {
            Some(column) => {
                if column.last().is_some_and(|(owner, _)| *owner == last) {
                    column.pop();
                }
                column.push(entry);
                false
            }
            None => {
                self.properties.insert(name.to_owned(), vec![entry]);
                true
            }
        }
    }

    /// The places, part by part.
    #[must_use]
    pub fn vectors(&self) -> &VectorLayer {
        &self.vectors
    }

    /// Which feature of the file this one was, counted from 1; 0 when there is none.
    #[must_use]
    pub fn number(&self, feature: usize) -> u32 {
        self.numbers.get(feature).copied().unwrap_or(0)
    }

    /// A property of a feature.
    #[must_use]
    pub fn property(&self, feature: usize, name: &str) -> Option<&Property> {
        let (column, owner) = (self.properties.get(name)?, self.owners.get(feature)?);
        let at = column.binary_search_by_key(owner, |(owner, _)| *owner).ok()?;
        column.get(at).map(|(_, value)| value)
    }

    /// The names of all properties that any feature has, sorted.
    pub fn property_names(&self) -> impl Iterator<Item = &str> {
        self.properties.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_belong_to_their_feature() {
        let mut set = FeatureSet::new(Shape::Points);
        assert!(!set.set_property("early", Property::Flag(true)));
        for number in [4, 7, 9] {
            set.push(number, [[[0.0, 1.0, f64::NAN]]]);
            if number != 7 {
                set.set_property("ele", Property::Text(String::from("12")));
                set.set_property("ele", Property::Text(format!(" {number}.5 ")));
            }
        }
        assert_eq!((set.number(1), set.number(3)), (7, 0));
        let ele = |feature| set.property(feature, "ele").and_then(Property::number);
        assert_eq!([ele(0), ele(1), ele(2)], [Some(4.5), None, Some(9.5)]);
        assert_eq!(set.property_names().collect::<Vec<_>>(), ["ele"]);
        assert_eq!(Property::Number(f64::INFINITY).number(), None);
    }

    #[test]
    fn siblings_share_their_properties() {
        let mut set = FeatureSet::new(Shape::Points);
        let name = |set: &FeatureSet, feature| match set.property(feature, "name") {
            Some(Property::Text(name)) => name.clone(),
            other => format!("{other:?}"),
        };
        for number in [3, 8] {
            set.push(number, [[[0.0, 1.0, f64::NAN]]]);
            set.push_sibling([[[2.0, 1.0, f64::NAN]]]);
            set.set_property("name", Property::Text(number.to_string()));
            set.push_sibling([[[4.0, 1.0, f64::NAN]]]);
        }
        let found: Vec<_> = (0..7).map(|i| (set.number(i), name(&set, i))).collect();
        let of = |number: u32| (number, number.to_string());
        assert_eq!(found[..6], [of(3), of(3), of(3), of(8), of(8), of(8)]);
        assert_eq!(found[6], (0, String::from("None")));
    }
}
