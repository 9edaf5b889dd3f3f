//! What a file says about itself.

/// Where a layer comes from, for the files that can carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About<'a> {
    /// Name of the layer.
    pub layer: &'a str,
    /// Unit of its values; empty for plain numbers.
    pub unit: &'a str,
    /// The world seed it was made from; empty when there is none.
    pub seed: &'a str,
}

/// Name and version of the program that wrote a file.
pub(crate) const SOFTWARE: &str = concat!("Orogen ", env!("CARGO_PKG_VERSION"));

/// Name of the coordinate system of every file: metres from an origin of the world's own.
pub(crate) const LOCAL_CRS: &str = "Orogen local";

/// What stands for a hole in formats that cannot hold NaN, unless a sample has this very value; `range` is that of the
/// values.
pub(crate) fn nodata_value(values: &[f32], range: Option<(f32, f32)>) -> f32 {
    const USUAL: f32 = -9999.0;
    let reached = range.is_some_and(|(low, high)| (low..=high).contains(&USUAL));
    if reached && values.contains(&USUAL) { f32::MIN } else { USUAL }
}
