//! Packing bytes with deflate.

use flate2::{Compress, Compression, FlushCompress, Status};

/// A zlib stream; the same bytes for the same input.
pub(crate) fn zlib(raw: &[u8], level: u32) -> Vec<u8> {
    Packer::new(level).zlib(raw)
}

/// Packs one stream after the other, each as if it were the first, with the tables and the room of the last.
pub(crate) struct Packer {
    state: Compress,
    room: Vec<u8>,
}

impl Packer {
    pub fn new(level: u32) -> Self {
        Self { state: Compress::new(Compression::new(level), true), room: Vec::new() }
    }

    /// A zlib stream.
    pub fn zlib(&mut self, raw: &[u8]) -> Vec<u8> {
        self.state.reset();
        self.room.clear();
        loop {
            // What cannot be packed grows by a few bytes in some thousand.
            self.room.reserve(raw.len() + raw.len() / 256 + 64);
            let read = usize::try_from(self.state.total_in()).unwrap_or(usize::MAX).min(raw.len());
            let done = self.state.compress_vec(&raw[read..], &mut self.room, FlushCompress::Finish);
            debug_assert!(done.is_ok(), "{done:?}");
            if !matches!(done, Ok(Status::Ok | Status::BufError)) {
                return self.room.clone();
            }
        }
    }
}
