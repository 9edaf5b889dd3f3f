//! The one list of operators: whatever is not named here does not exist for recipes, help, manual or Python.

use orogen_core::{Catalog, Operator};
use orogen_ops::{combine, mask, shape, source, survey};

/// Every operator there is.
#[must_use]
pub fn catalog() -> Catalog {
    Catalog::new([
        Operator::of::<combine::Add>(),
        Operator::of::<combine::Blend>(),
        Operator::of::<combine::Max>(),
        Operator::of::<combine::Min>(),
        Operator::of::<combine::Multiply>(),
        Operator::of::<mask::Aspect>(),
        Operator::of::<mask::Brush>(),
        Operator::of::<mask::Curvature>(),
        Operator::of::<mask::Distance>(),
        Operator::of::<mask::Height>(),
        Operator::of::<mask::Layer>(),
        Operator::of::<mask::Noise>(),
        Operator::of::<mask::Polygon>(),
        Operator::of::<mask::Slope>(),
        Operator::of::<shape::Blur>(),
        Operator::of::<shape::Curves>(),
        Operator::of::<shape::Features>(),
        Operator::of::<shape::Gullies>(),
        Operator::of::<shape::Overhang>(),
        Operator::of::<shape::Paint>(),
        Operator::of::<shape::Plain>(),
        Operator::of::<shape::Plateau>(),
        Operator::of::<shape::Remap>(),
        Operator::of::<shape::Terrace>(),
        Operator::of::<shape::Turbulence>(),
        Operator::of::<shape::Valley>(),
        Operator::of::<shape::Warp>(),
        Operator::of::<shape::Window>(),
        Operator::of::<source::Contours>(),
        Operator::of::<source::Cracks>(),
        Operator::of::<source::Dem>(),
        Operator::of::<source::Deposition>(),
        Operator::of::<source::DiamondSquare>(),
        Operator::of::<source::Dunes>(),
        Operator::of::<source::Faults>(),
        Operator::of::<source::Island>(),
        Operator::of::<source::Midpoint>(),
        Operator::of::<source::Noise>(),
        Operator::of::<source::Planet>(),
        Operator::of::<source::Points>(),
        Operator::of::<source::Random>(),
        Operator::of::<source::Squig>(),
        Operator::of::<source::Subdivision>(),
        Operator::of::<survey::Contours>(),
        Operator::of::<survey::Hillshade>(),
        Operator::of::<survey::Slope>(),
    ])
}
