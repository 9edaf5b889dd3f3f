//! GeoTIFF: elevation models in, layers out.
//!
//! The container is read and written here rather than by a library: a reader for strangers' files needs every
//! size checked before memory is reserved, and a writer needs the floating-point predictor and tiles packed in
//! parallel. Tests hold both against the `tiff` crate and GDAL.
//!
//! **Read** Classic and BigTIFF, either byte order, strips or tiles; 8, 16 and 32-bit integers, 32 and 64-bit
//! floats; no compression, deflate, LZW, PackBits, ZSTD and LERC, with predictors 2 and 3; missing (sparse) chunks. The
//! first band is the height unless another is asked for; colour images are refused unless one of their bands is.
//! `GDAL_NODATA`, samples that an internal mask leaves out and values that are not finite become NaN. GDAL's scale and offset of the band are applied. Heights in
//! feet become metres where the band's unit or the vertical coordinate system says so; the band's unit goes first, as in
//! GDAL. Coordinates in degrees become metres on the WGS84 ellipsoid at the model's middle latitude, those in feet too.
//!
//! **Written** Cloud-optimised GeoTIFF: tiles, deflate with the floating-point predictor, smaller copies; or strips without
//! compression. Samples are vertices (`PixelIsPoint`), north up, holes are `GDAL_NODATA`, and the coordinate system is a local one
//! in metres unless a place is given.

mod cog;
mod container;
mod decode;
mod earth;
mod encode;
mod georef;
mod mask;
mod meaning;
mod place;
mod source;
mod unpack;

pub use decode::{decode, decode_band, decode_file, decode_file_band, decode_placed, georeference_of_file};
pub use encode::{
    Compression, encode_f32, encode_f32_at, encode_u8, encode_u8_at, write_f32_at, write_layer_at,
    write_whole_at,
};
pub use place::Place;

const FORMAT: &str = "GeoTIFF";

/// Numbers of the TIFF tags used here.
mod tag {
    pub const SUBFILE: u16 = 254;
    pub const WIDTH: u16 = 256;
    pub const HEIGHT: u16 = 257;
    pub const BITS: u16 = 258;
    pub const COMPRESSION: u16 = 259;
    pub const PHOTOMETRIC: u16 = 262;
    pub const STRIP_OFFSETS: u16 = 273;
    pub const SAMPLES_PER_PIXEL: u16 = 277;
    pub const ROWS_PER_STRIP: u16 = 278;
    pub const STRIP_BYTES: u16 = 279;
    pub const PLANAR: u16 = 284;
    pub const SOFTWARE: u16 = 305;
    pub const PREDICTOR: u16 = 317;
    pub const TILE_WIDTH: u16 = 322;
    pub const TILE_HEIGHT: u16 = 323;
    pub const TILE_OFFSETS: u16 = 324;
    pub const TILE_BYTES: u16 = 325;
    pub const SAMPLE_FORMAT: u16 = 339;
    pub const PIXEL_SCALE: u16 = 33550;
    pub const TIEPOINT: u16 = 33922;
    pub const TRANSFORMATION: u16 = 34264;
    pub const GEO_KEYS: u16 = 34735;
    pub const GEO_DOUBLES: u16 = 34736;
    pub const GEO_TEXT: u16 = 34737;
    pub const GDAL_METADATA: u16 = 42112;
    pub const GDAL_NODATA: u16 = 42113;
    pub const LERC_PARAMETERS: u16 = 50674;
}

/// Numbers of the GeoTIFF keys used here.
mod key {
    pub const MODEL_TYPE: u16 = 1024;
    pub const RASTER_TYPE: u16 = 1025;
    pub const CITATION: u16 = 1026;
    pub const GEOGRAPHIC_SYSTEM: u16 = 2048;
    pub const PROJECTED_SYSTEM: u16 = 3072;
    pub const LINEAR_UNIT: u16 = 3076;
    pub const LINEAR_UNIT_SIZE: u16 = 3077;
    pub const VERTICAL_SYSTEM: u16 = 4096;
    pub const VERTICAL_UNIT: u16 = 4099;
}
