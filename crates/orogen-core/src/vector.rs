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
    /// Numbers that need no more than seven digits.
    F32(Vec<f32>),
    /// Small whole numbers.
    U8(Vec<u8>),
    /// Whole numbers up to 65,535.
    U16(Vec<u16>),
    /// Names of which there are few, by their number in a table.
    Category(Categories),
}

/// Names of which there are few, each kept once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Categories {
    names: Vec<String>,
    of: Vec<u16>,
}

impl Categories {
    /// Names in a table, and the number in it of each entry; `None` when a number is not in the table.
    #[must_use]
    pub fn new(names: Vec<String>, of: Vec<u16>) -> Option<Self> {
        of.iter().all(|&number| usize::from(number) < names.len()).then_some(Self { names, of })
    }

    /// Entries by their names, which get numbers in the order in which they come; `None` when there are more than 65,536.
    #[must_use]
    pub fn from_names<'a>(entries: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let (mut numbers, mut made) = (BTreeMap::new(), Self::default());
        for name in entries {
            let number = match numbers.get(name) {
                Some(number) => *number,
                None => {
                    let number = u16::try_from(made.names.len()).ok()?;
                    made.names.push(name.to_owned());
                    numbers.insert(name, number);
                    number
                }
            };
            made.of.push(number);
        }
        Some(made)
    }

    /// The table.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number in the table of each entry.
    #[must_use]
    pub fn numbers(&self) -> &[u16] {
        &self.of
    }

    /// The name of an entry.
    #[must_use]
    pub fn name(&self, entry: usize) -> &str {
        &self.names[usize::from(self.of[entry])]
    }
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
            Self::F32(v) => v.len(),
            Self::U8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::Category(v) => v.of.len(),
        }
    }

    /// An entry as a number, `None` for names.
    #[must_use]
    pub fn number(&self, entry: usize) -> Option<f64> {
        match self {
            Self::Number(v) => Some(v[entry]),
            Self::Integer(v) => Some(v[entry] as f64),
            Self::Flag(v) => Some(f64::from(u8::from(v[entry]))),
            Self::F32(v) => Some(v[entry].into()),
            Self::U8(v) => Some(v[entry].into()),
            Self::U16(v) => Some(v[entry].into()),
            Self::Text(_) | Self::Category(_) => None,
        }
    }

    /// An entry as a name, `None` for numbers.
    #[must_use]
    pub fn text(&self, entry: usize) -> Option<&str> {
        match self {
            Self::Text(v) => Some(&v[entry]),
            Self::Category(v) => Some(v.name(entry)),
            _ => None,
        }
    }

    /// Bytes in memory, about.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Number(v) => size_of_val(v.as_slice()),
            Self::Integer(v) => size_of_val(v.as_slice()),
            Self::Flag(v) => v.len(),
            Self::Text(v) => v.iter().map(|text| size_of::<String>() + text.len()).sum(),
            Self::F32(v) => size_of_val(v.as_slice()),
            Self::U8(v) => v.len(),
            Self::U16(v) => size_of_val(v.as_slice()),
            Self::Category(v) => size_of_val(v.of.as_slice()),
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
            (Column::F32(a), Column::F32(b)) => {
                let same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
                a.len() == b.len() && a.iter().zip(b).all(same)
            }
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

    /// Bytes in memory, about.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let columns = self.feature_attributes.values().chain(self.vertex_attributes.values());
        size_of_val(self.vertices.as_slice())
            + size_of_val(self.parts.as_slice())
            + size_of_val(self.features.as_slice())
            + columns.map(Column::size_bytes).sum::<usize>()
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

    #[test]
    fn few_names_are_kept_once() {
        let names = ["pine", "oak", "pine", "", "oak"];
        let column = Column::Category(Categories::from_names(names).unwrap());
        assert_eq!((0..5).map(|i| column.text(i).unwrap()).collect::<Vec<_>>(), names);
        assert_eq!(column.number(0), None);
        let many = vec![String::from("a species of pine"); 10_000];
        let wide = Column::Text(many.clone()).size_bytes();
        let compact = Column::Category(Categories::from_names(many.iter().map(String::as_str)).unwrap());
        assert!(compact.size_bytes() * 20 <= wide, "{} and {wide} bytes", compact.size_bytes());
        assert_eq!(Categories::new(vec![String::from("oak")], vec![0, 1]), None);
        let all: Vec<String> = (0..65_537).map(|i| i.to_string()).collect();
        assert_eq!(Categories::from_names(all.iter().map(String::as_str)), None);
        assert_eq!(
            Categories::from_names(all[1..].iter().map(String::as_str)).unwrap().names().len(),
            65_536
        );
    }

    #[test]
    fn compact_numbers_read_as_numbers() {
        for column in [
            Column::F32(vec![3.0, 7.0]),
            Column::U8(vec![3, 7]),
            Column::U16(vec![3, 7]),
            Column::Integer(vec![3, 7]),
            Column::Number(vec![3.0, 7.0]),
        ] {
            assert_eq!((column.number(0), column.number(1), column.text(0)), (Some(3.0), Some(7.0), None));
        }
        let layer = |column: Column| {
            let mut points = VectorLayer::new(Shape::Points);
            points.push([[0.0; 3]]);
            assert!(points.set_feature_attribute("age", column));
            points
        };
        assert_eq!(layer(Column::F32(vec![f32::NAN])), layer(Column::F32(vec![f32::NAN])));
        assert_ne!(layer(Column::F32(vec![1.0])), layer(Column::Number(vec![1.0])));
    }
}
