//! Vectors: points, lines and polygons with attributes, in columns.
//!
//! Attributes are columns rather than a map per feature, so that a million plants cost a few arrays.

use std::collections::BTreeMap;

/// A place in the world, (x, y, z) in metres.
pub type Point = [f64; 3];

/// What the features of a layer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One part of one vertex each.
    Points,
    /// Parts are polylines.
    Lines,
    /// The first part is the outer ring, others are holes; rings are not closed by repeating a vertex.
    Polygons,
}

/// A column of attributes.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers.
    Number(Vec<f64>),
    /// Whole numbers: ids and counts.
    Integer(Vec<i64>),
    /// Yes or no.
    Flag(Vec<bool>),
    /// Names.
    Text(Vec<String>),
}

impl Column {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Number(v) => v.len(),
            Self::Integer(v) => v.len(),
            Self::Flag(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Features of one shape with their attributes. A vertex whose z is NaN has no height of its own.
#[derive(Clone, Debug)]
pub struct VectorLayer {
    shape: Shape,
    vertices: Vec<Point>,
    /// Start of each part in `vertices`, and the end of the last.
    parts: Vec<usize>,
    /// Start of each feature in `parts`, and the end of the last.
    features: Vec<usize>,
    feature_attributes: BTreeMap<String, Column>,
    vertex_attributes: BTreeMap<String, Column>,
}

impl PartialEq for VectorLayer {
    /// Two vertices without a height are equal, as are two numbers that are not there.
    fn eq(&self, other: &Self) -> bool {
        let number = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        let column = |a: &Column, b: &Column| match (a, b) {
            (Column::Number(a), Column::Number(b)) => a.len() == b.len() && a.iter().zip(b).all(number),
            (a, b) => a == b,
        };
        let columns = |a: &BTreeMap<String, Column>, b: &BTreeMap<String, Column>| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && column(a.1, b.1))
        };
        self.shape == other.shape
            && self.parts == other.parts
            && self.features == other.features
            && self.vertices.len() == other.vertices.len()
            && self.vertices.as_flattened().iter().zip(other.vertices.as_flattened()).all(number)
            && columns(&self.feature_attributes, &other.feature_attributes)
            && columns(&self.vertex_attributes, &other.vertex_attributes)
    }
}

impl VectorLayer {
    /// A layer without features.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            vertices: Vec::new(),
            parts: vec![0],
            features: vec![0],
            feature_attributes: BTreeMap::new(),
            vertex_attributes: BTreeMap::new(),
        }
    }

    /// Lines of one part each: where each ends in `vertices`; it starts where the one before ends.
    #[must_use]
    pub fn lines(vertices: Vec<Point>, ends: &[usize]) -> Self {
        assert_eq!(
            ends.last().copied().unwrap_or(0),
            vertices.len(),
            "the last line ends with the last vertex"
        );
        assert!(ends.is_sorted(), "lines lie one after another");
        let parts = std::iter::once(0).chain(ends.iter().copied()).collect();
        Self { vertices, parts, features: (0..=ends.len()).collect(), ..Self::new(Shape::Lines) }
    }

    /// Adds a feature of one part.
    pub fn push(&mut self, vertices: impl IntoIterator<Item = Point>) {
        self.push_parts([vertices]);
    }

    /// Adds a feature of several parts (an outer ring and its holes, say).
    pub fn push_parts<P: IntoIterator<Item = Point>>(&mut self, parts: impl IntoIterator<Item = P>) {
        for part in parts {
            self.vertices.extend(part);
            self.parts.push(self.vertices.len());
        }
        self.features.push(self.parts.len() - 1);
    }

    /// Sets an attribute of the features; `false` (and nothing set) when it has not one entry per feature.
    #[must_use]
    pub fn set_feature_attribute(&mut self, name: &str, column: Column) -> bool {
        let fits = column.len() == self.len();
        if fits {
            self.feature_attributes.insert(name.to_owned(), column);
        }
        fits
    }

    /// Sets an attribute of the vertices; `false` (and nothing set) when it has not one entry per vertex.
    #[must_use]
    pub fn set_vertex_attribute(&mut self, name: &str, column: Column) -> bool {
        let fits = column.len() == self.vertices.len();
        if fits {
            self.vertex_attributes.insert(name.to_owned(), column);
        }
        fits
    }

    /// What the features are.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of features.
    #[must_use]
    pub fn len(&self) -> usize {
        self.features.len() - 1
    }

    /// Whether it has no feature.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All vertices of all features.
    #[must_use]
    pub fn vertices(&self) -> &[Point] {
        &self.vertices
    }

    /// The parts of a feature, each as a range of [`VectorLayer::vertices`].
    pub fn parts(&self, feature: usize) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> + '_ {
        (self.features[feature]..self.features[feature + 1]).map(|p| self.parts[p]..self.parts[p + 1])
    }

    /// Attributes with one entry per feature.
    #[must_use]
    pub fn feature_attributes(&self) -> &BTreeMap<String, Column> {
        &self.feature_attributes
    }

    /// Attributes with one entry per vertex.
    #[must_use]
    pub fn vertex_attributes(&self) -> &BTreeMap<String, Column> {
        &self.vertex_attributes
    }

    /// The numbers of a feature attribute, `None` when it is absent or no number.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Option<&[f64]> {
        match self.feature_attributes.get(name) {
            Some(Column::Number(v)) => Some(v),
            _ => None,
        }
    }

    /// The numbers of a vertex attribute, `None` when it is absent or no number.
    #[must_use]
    pub fn vertex_numbers(&self, name: &str) -> Option<&[f64]> {
        match self.vertex_attributes.get(name) {
            Some(Column::Number(v)) => Some(v),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_attributes_line_up() {
        let mut lakes = VectorLayer::new(Shape::Polygons);
        let ring = |s: f64| vec![[0.0, 0.0, 1.0], [s, 0.0, 1.0], [0.0, s, 1.0]];
        lakes.push_parts([ring(10.0), ring(1.0)]);
        lakes.push(ring(5.0));
        assert_eq!(lakes.len(), 2);
        assert_eq!(lakes.parts(0).collect::<Vec<_>>(), vec![0..3, 3..6]);
        assert_eq!(lakes.parts(1).collect::<Vec<_>>(), vec![6..9]);
        assert!(lakes.set_feature_attribute("level", Column::Number(vec![1.0, 2.0])));
        assert!(!lakes.set_feature_attribute("level", Column::Number(vec![1.0])));
        assert_eq!(lakes.numbers("level"), Some(&[1.0, 2.0][..]));
    }
}
