//! Vector layers as bytes: what the cache and pickled terrains keep of them. Little-endian, every count before what it counts.

use orogen_core::vector::{Categories, Column, Point, Shape, VectorLayer};

/// The bytes of a layer.
#[must_use]
pub fn encode(layer: &VectorLayer) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + size_of_val(layer.vertices()));
    out.push(match layer.shape() {
        Shape::Points => 0,
        Shape::Lines => 1,
        Shape::Polygons => 2,
    });
    count(&mut out, layer.len());
    for feature in 0..layer.len() {
        let parts = layer.parts(feature);
        count(&mut out, parts.len());
        parts.for_each(|part| count(&mut out, part.len()));
    }
    for vertex in layer.vertices() {
        vertex.iter().for_each(|x| out.extend(x.to_le_bytes()));
    }
    for attributes in [layer.feature_attributes(), layer.vertex_attributes()] {
        count(&mut out, attributes.len());
        for (name, column) in attributes {
            text(&mut out, name);
            count(&mut out, column.len());
            match column {
                Column::Number(v) => {
                    out.push(0);
                    v.iter().for_each(|x| out.extend(x.to_le_bytes()));
                }
                Column::Integer(v) => {
                    out.push(1);
                    v.iter().for_each(|x| out.extend(x.to_le_bytes()));
                }
                Column::Flag(v) => {
                    out.push(2);
                    out.extend(v.iter().map(|&b| u8::from(b)));
                }
                Column::Text(v) => {
                    out.push(3);
                    v.iter().for_each(|t| text(&mut out, t));
                }
                Column::F32(v) => {
                    out.push(4);
                    v.iter().for_each(|x| out.extend(x.to_le_bytes()));
                }
                Column::U8(v) => {
                    out.push(5);
                    out.extend(v);
                }
                Column::U16(v) => {
                    out.push(6);
                    v.iter().for_each(|x| out.extend(x.to_le_bytes()));
                }
                Column::Category(v) => {
                    out.push(7);
                    v.numbers().iter().for_each(|x| out.extend(x.to_le_bytes()));
                    count(&mut out, v.names().len());
                    v.names().iter().for_each(|name| text(&mut out, name));
                }
            }
        }
    }
    out
}

fn count(out: &mut Vec<u8>, n: usize) {
    out.extend((n as u64).to_le_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    count(out, text.len());
    out.extend(text.as_bytes());
}

/// The layer of some bytes, `None` when they are not those of one.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<VectorLayer> {
    let mut from = Bytes(bytes);
    let shape = match from.byte()? {
        0 => Shape::Points,
        1 => Shape::Lines,
        2 => Shape::Polygons,
        _ => return None,
    };
    let mut features: Vec<Vec<usize>> = Vec::new();
    for _ in 0..from.count(8)? {
        let mut parts = Vec::new();
        for _ in 0..from.count(8)? {
            parts.push(usize::try_from(from.u64()?).ok()?);
        }
        features.push(parts);
    }
    let mut layer = VectorLayer::new(shape);
    for parts in features {
        let mut vertices: Vec<Vec<Point>> = Vec::new();
        for n in parts {
            from.fits(n, size_of::<Point>())?;
            let mut part = Vec::with_capacity(n);
            for _ in 0..n {
                part.push([from.f64()?, from.f64()?, from.f64()?]);
            }
            vertices.push(part);
        }
        layer.push_parts(vertices);
    }
    for of_features in [true, false] {
        for _ in 0..from.count(17)? {
            let name = from.text()?;
            let n = usize::try_from(from.u64()?).ok()?;
            let kind = from.byte()?;
            let size = match kind {
                2 | 5 => 1,
                6 | 7 => 2,
                4 => 4,
                _ => 8,
            };
            from.fits(n, size)?;
            let column = match kind {
                0 => Column::Number((0..n).map(|_| from.f64()).collect::<Option<_>>()?),
                1 => Column::Integer((0..n).map(|_| from.u64().map(|x| x as i64)).collect::<Option<_>>()?),
                2 => Column::Flag((0..n).map(|_| from.byte().map(|b| b != 0)).collect::<Option<_>>()?),
                3 => Column::Text((0..n).map(|_| from.text()).collect::<Option<_>>()?),
                4 => {
                    Column::F32((0..n).map(|_| from.array().map(f32::from_le_bytes)).collect::<Option<_>>()?)
                }
                5 => Column::U8(from.take(n)?.to_vec()),
                6 => {
                    Column::U16((0..n).map(|_| from.array().map(u16::from_le_bytes)).collect::<Option<_>>()?)
                }
                7 => {
                    let numbers: Vec<u16> =
                        (0..n).map(|_| from.array().map(u16::from_le_bytes)).collect::<Option<_>>()?;
                    let names = (0..from.count(8)?).map(|_| from.text()).collect::<Option<_>>()?;
                    Column::Category(Categories::new(names, numbers)?)
                }
                _ => return None,
            };
            let set = if of_features {
                layer.set_feature_attribute(&name, column)
            } else {
                layer.set_vertex_attribute(&name, column)
            };
            if !set {
                return None;
            }
        }
    }
    from.0.is_empty().then_some(layer)
}

/// Bytes not read yet.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn f64(&mut self) -> Option<f64> {
        self.u64().map(f64::from_bits)
    }

    /// A count of things of at least `size` bytes each that the rest can hold.
    fn count(&mut self, size: usize) -> Option<usize> {
        let n = usize::try_from(self.u64()?).ok()?;
        self.fits(n, size).map(|()| n)
    }

    fn fits(&self, n: usize, size: usize) -> Option<()> {
        (n.checked_mul(size)? <= self.0.len()).then_some(())
    }

    fn text(&mut self) -> Option<String> {
        let n = self.count(1)?;
        String::from_utf8(self.take(n)?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> VectorLayer {
        let mut layer = VectorLayer::new(Shape::Polygons);
        layer.push_parts([vec![[0.1, -0.0, f64::NAN], [1.0, 2.0, 3.0]], vec![], vec![[4.0; 3]]]);
        layer.push([[7.0, 8.0, 9.0]]);
        assert!(layer.set_feature_attribute("name", Column::Text(vec![String::from("Ö"), String::new()])));
        assert!(layer.set_feature_attribute("ocean", Column::Flag(vec![true, false])));
        assert!(layer.set_feature_attribute("id", Column::Integer(vec![-1, i64::MAX])));
        let kinds = Categories::from_names(["lake", "sea"]).unwrap();
        assert!(layer.set_feature_attribute("kind", Column::Category(kinds)));
        assert!(layer.set_feature_attribute("age", Column::U8(vec![0, 255])));
        assert!(layer.set_feature_attribute("species", Column::U16(vec![65535, 1])));
        assert!(layer.set_vertex_attribute("depth_m", Column::F32(vec![0.1, f32::NAN, -0.0, 1e30])));
        assert!(layer.set_vertex_attribute("width_m", Column::Number(vec![0.1, 0.2, 0.3, f64::INFINITY])));
        layer
    }

    #[test]
    fn bytes_give_the_same_layer() {
        let bytes = encode(&sample());
        let back = decode(&bytes).unwrap();
        // NaN differs from itself, so bytes are compared.
        assert_eq!(encode(&back), bytes);
        assert_eq!(back.feature_attributes(), sample().feature_attributes());
        assert_eq!(back.parts(0).collect::<Vec<_>>(), vec![0..2, 2..2, 2..3]);
        assert_eq!(decode(&encode(&VectorLayer::new(Shape::Lines))), Some(VectorLayer::new(Shape::Lines)));
    }

    #[test]
    fn cut_or_changed_bytes_never_panic_nor_grow() {
        let bytes = encode(&sample());
        for n in 0..bytes.len() {
            assert_eq!(decode(&bytes[..n]), None, "cut at {n}");
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[n] = value;
                let _ = decode(&changed);
            }
        }
    }
}
