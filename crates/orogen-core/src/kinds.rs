//! The kinds of number that a layer may hold, and what is done to a layer whatever its kind.
//!
//! The list at the end of this file's types is the only one: a new kind is a line there and one in [`each_kind`].

use std::fmt;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use crate::raster::Raster;

/// A share of a family of layers, in 1/255: the weights of `material.rock`, `material.sand` and so on at a sample sum to
/// exactly 255 (see [`crate::weights`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(transparent)]
pub struct Weight(pub u8);

impl From<Weight> for f64 {
    fn from(weight: Weight) -> Self {
        weight.0.into()
    }
}

/// Kinds of number a layer may hold.
pub trait Sample: Pod + Default + PartialOrd + Into<f64> + Send + Sync {
    /// Which kind this is.
    const KIND: Kind;
    /// The plain number that it is kept as, for files and other programs.
    type Plain: Pod;
    /// The raster, if it holds this kind.
    fn view(data: &LayerData) -> Option<&Arc<Raster<Self>>>;
    /// The raster for writing, if it holds this kind.
    fn view_mut(data: &mut LayerData) -> Option<&mut Arc<Raster<Self>>>;
    /// Wraps a raster.
    fn wrap(raster: Arc<Raster<Self>>) -> LayerData;

    /// Values as the plain numbers that they are kept as.
    #[must_use]
    fn plain(values: &[Self]) -> &[Self::Plain] {
        bytemuck::cast_slice(values)
    }

    /// The value that is kept as a plain number.
    #[must_use]
    fn from_plain(number: Self::Plain) -> Self {
        bytemuck::cast(number)
    }
}

/// Does something to the raster of a [`LayerData`], whatever kind of number it holds: `each_kind!(data, raster => ...)`.
///
/// The body is compiled once for each kind, so it may call functions that are generic over [`Sample`].
#[macro_export]
macro_rules! each_kind {
    ($data:expr, $raster:pat => $body:expr) => {
        match $data {
            $crate::LayerData::F32($raster) => $body,
            $crate::LayerData::U8($raster) => $body,
            $crate::LayerData::U16($raster) => $body,
            $crate::LayerData::U32($raster) => $body,
            $crate::LayerData::Weight($raster) => $body,
        }
    };
}

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident: $type:ty, kept as $plain:ty, $words:literal;)*) => {
        /// The values of a layer, shared between terrains until one of them writes.
        #[derive(Clone, Debug, PartialEq)]
        pub enum LayerData {
            $($(#[$about])* $kind(Arc<Raster<$type>>),)*
        }

        /// Which kind of number a layer holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Kind {
            $($(#[$about])* $kind,)*
        }

        impl Kind {
            /// In words, for messages.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$kind => $words,)*
                }
            }

            /// A layer of zeros.
            #[must_use]
            pub fn zeros(self, cols: usize, rows: usize) -> LayerData {
                match self {
                    $(Self::$kind => Raster::filled(cols, rows, <$type>::default()).into(),)*
                }
            }
        }

        $(impl Sample for $type {
            const KIND: Kind = Kind::$kind;
            type Plain = $plain;
            fn view(data: &LayerData) -> Option<&Arc<Raster<Self>>> {
                if let LayerData::$kind(raster) = data { Some(raster) } else { None }
            }
            fn view_mut(data: &mut LayerData) -> Option<&mut Arc<Raster<Self>>> {
                if let LayerData::$kind(raster) = data { Some(raster) } else { None }
            }
            fn wrap(raster: Arc<Raster<Self>>) -> LayerData {
                LayerData::$kind(raster)
            }
        })*
    };
}

kinds! {
    /// Measured values; NaN is a hole.
    F32: f32, kept as f32, "32-bit floats";
    /// Small ids and flags.
    U8: u8, kept as u8, "bytes";
    /// Ids up to 65,535.
    U16: u16, kept as u16, "16-bit whole numbers";
    /// Ids up to 4,294,967,295.
    U32: u32, kept as u32, "32-bit whole numbers";
    /// Shares of a family.
    Weight: Weight, kept as u8, "weights";
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl<T: Sample> From<Raster<T>> for LayerData {
    fn from(raster: Raster<T>) -> Self {
        T::wrap(Arc::new(raster))
    }
}

impl<T: Sample> From<Arc<Raster<T>>> for LayerData {
    fn from(raster: Arc<Raster<T>>) -> Self {
        T::wrap(raster)
    }
}

impl LayerData {
    /// Columns and rows.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        each_kind!(self, raster => (raster.cols(), raster.rows()))
    }

    /// Which kind of number it holds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        fn kind<T: Sample>(_: &Raster<T>) -> Kind {
            T::KIND
        }
        each_kind!(self, raster => kind(raster))
    }

    /// The values as bytes in the machine's order.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        each_kind!(self, raster => bytemuck::cast_slice(raster.as_slice()))
    }

    /// The values as bytes for writing; copied first if shared.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        each_kind!(self, raster => bytemuck::cast_slice_mut(Arc::make_mut(raster).as_mut_slice()))
    }

    /// Whether both share one allocation: equal without looking.
    #[must_use]
    pub fn same_allocation(&self, other: &Self) -> bool {
        std::ptr::eq(self.bytes(), other.bytes()) && self.kind() == other.kind()
    }

    /// Whether both hold the same bits; all NaN are one, as which NaN comes out of a sum is not fixed by the language.
    #[must_use]
    pub fn same_bits(&self, other: &Self) -> bool {
        self.first_difference(other).is_ok_and(|place| place.is_none())
    }

    /// Where both differ first, in the order of the samples, and the two values there, all NaN being one.
    ///
    /// # Errors
    /// A sentence when they hold different kinds, or their shapes differ.
    pub fn first_difference(&self, other: &Self) -> Result<Option<(usize, [f64; 2])>, String> {
        fn differ<T: Sample>(a: T, b: T) -> bool {
            // Zeros of different signs are equal but not the same.
            let (x, y): (f64, f64) = (a.into(), b.into());
            bytemuck::bytes_of(&a) != bytemuck::bytes_of(&b) && !(x.is_nan() && y.is_nan())
        }
        fn first<T: Sample>(a: &Raster<T>, b: &Arc<Raster<T>>) -> Option<(usize, [f64; 2])> {
            let mut pairs = a.as_slice().iter().zip(b.as_slice());
            let at = pairs.position(|(&a, &b)| differ(a, b))?;
            Some((at, [a.as_slice()[at].into(), b.as_slice()[at].into()]))
        }
        if self.shape() != other.shape() || self.kind() != other.kind() {
            let what = |data: &Self| format!("{} x {} {}", data.shape().0, data.shape().1, data.kind());
            return Err(format!("one holds {}, the other {}", what(self), what(other)));
        }
        Ok(each_kind!(self, a => Sample::view(other).and_then(|b| first(a, b))))
    }

    /// Smallest and largest value; holes are passed over.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        fn of_ids<T: Sample>(raster: &Raster<T>) -> Option<(f64, f64)> {
            let mut values = raster.as_slice().iter().copied();
            let first = values.next()?;
            let wider = |(low, high), v| (if v < low { v } else { low }, if v > high { v } else { high });
            let (low, high) = values.fold((first, first), wider);
            Some((low.into(), high.into()))
        }
        match self {
            Self::F32(raster) => raster.range().map(|(low, high)| (low.into(), high.into())),
            ids => each_kind!(ids, raster => of_ids(raster)),
        }
    }

    /// The part that starts at a column and row.
    #[must_use]
    pub fn crop(&self, col: usize, row: usize, cols: usize, rows: usize) -> Self {
        if self.shape() == (cols, rows) {
            return self.clone();
        }
        each_kind!(self, raster => raster.crop(col, row, cols, rows).into())
    }

    /// Puts a part of the same kind back where it was cut out; `false` where it has another kind or does not fit.
    #[must_use]
    pub fn paste(&mut self, col: usize, row: usize, part: &Self) -> bool {
        let ((cols, rows), (width, height)) = (self.shape(), part.shape());
        if self.kind() != part.kind() || col + width > cols || row + height > rows {
            return false;
        }
        let size = part.bytes().len() / (width * height).max(1);
        let whole = self.bytes_mut();
        for (r, line) in part.bytes().chunks(width * size).enumerate() {
            let start = ((row + r) * cols + col) * size;
            whole[start..start + line.len()].copy_from_slice(line);
        }
        true
    }

    /// Samples of this layer on another grid: for each column and row there, the column and row here that is taken.
    #[must_use]
    pub fn picked(&self, cols: &[usize], rows: &[usize]) -> Self {
        each_kind!(self, raster => {
            Raster::from_fn(cols.len(), rows.len(), |col, row| raster.row(rows[row])[cols[col]]).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_keeps_its_bits_as_bytes_and_in_a_crop() {
        let big = (1 << 24) + 1;
        let all: [LayerData; 5] = [
            Raster::from_fn(3, 2, |col, row| (col + 3 * row) as f32 - 0.0).into(),
            Raster::from_fn(3, 2, |col, row| (col + 3 * row) as u8).into(),
            Raster::from_fn(3, 2, |col, row| 65_530 + (col + 3 * row) as u16).into(),
            Raster::from_fn(3, 2, |col, row| big + (col + 3 * row) as u32).into(),
            Raster::from_fn(3, 2, |col, row| Weight(250 + (col + 3 * row) as u8)).into(),
        ];
        for data in all {
            let mut copy = data.kind().zeros(3, 2);
            assert!(!copy.same_bits(&data));
            copy.bytes_mut().copy_from_slice(data.bytes());
            assert!(copy.same_bits(&data) && copy == data && !copy.same_allocation(&data));
            let (low, high) = data.range().unwrap();
            assert_eq!(high - low, 5.0, "{}", data.kind());
            let corner = data.crop(2, 1, 1, 1);
            assert_eq!(corner.range(), Some((high, high)));
            assert_eq!(data.picked(&[2], &[1]), corner);
        }
    }

    #[test]
    fn differences_are_found_by_bits() {
        let of = |values: [f32; 2]| LayerData::from(Raster::from_vec(2, 1, values.to_vec()).unwrap());
        assert!(of([f32::NAN, 1.0]).same_bits(&of([-f32::NAN, 1.0])));
        assert_eq!(of([1.0, 0.0]).first_difference(&of([1.0, -0.0])).unwrap().unwrap().0, 1);
        let ids = LayerData::from(Raster::filled(2, 1, 1u16));
        let words = of([1.0, 1.0]).first_difference(&ids).unwrap_err();
        assert_eq!(words, "one holds 2 x 1 32-bit floats, the other 2 x 1 16-bit whole numbers");
    }
}
