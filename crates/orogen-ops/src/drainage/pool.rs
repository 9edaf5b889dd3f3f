//! Rasters used again: on large maps fresh memory costs more than most of what is done in it.

use orogen_core::Raster;

use super::Drainage;

/// Rasters that are no longer needed, for reuse at the same size.
#[derive(Debug, Default)]
pub struct RasterPool {
    bytes: Vec<Raster<u8>>,
    words: Vec<Raster<u32>>,
}

impl RasterPool {
    /// Takes what a drainage consisted of.
    pub fn take(&mut self, drainage: Drainage) {
        self.take_bytes(drainage.ways.0);
        self.take_words(drainage.basins.labels);
    }

    /// Takes a raster.
    pub fn take_bytes(&mut self, raster: Raster<u8>) {
        self.bytes.push(raster);
    }

    /// Takes a raster.
    pub fn take_words(&mut self, raster: Raster<u32>) {
        self.words.push(raster);
    }

    /// A raster whose values are to be written, all of them.
    pub(super) fn bytes(&mut self, cols: usize, rows: usize) -> Raster<u8> {
        pick(&mut self.bytes, cols, rows).unwrap_or_else(|| Raster::filled(cols, rows, 0))
    }

    /// The same of numbers.
    pub(super) fn words(&mut self, cols: usize, rows: usize) -> Raster<u32> {
        pick(&mut self.words, cols, rows).unwrap_or_else(|| Raster::filled(cols, rows, 0))
    }

    /// A raster of zeros.
    pub(super) fn zeros(&mut self, cols: usize, rows: usize) -> Raster<u32> {
        match pick(&mut self.words, cols, rows) {
            Some(mut raster) => {
                raster.par_rows(|_, row| row.fill(0));
                raster
            }
            None => Raster::filled(cols, rows, 0),
        }
    }
}

fn pick<T>(pool: &mut Vec<Raster<T>>, cols: usize, rows: usize) -> Option<Raster<T>> {
    pool.pop().filter(|raster| (raster.cols(), raster.rows()) == (cols, rows))
}
