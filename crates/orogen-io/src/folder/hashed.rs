//! Hashing a file while it is written.

use std::io::{self, Read, Seek, SeekFrom, Write};

use orogen_core::Cancel;
use sha2::{Digest as _, Sha256};

use super::Written;
use crate::watched::Watched;

/// A file that is hashed as it is written. Only one whose writer goes back to fill in a table is read again for it.
#[derive(Debug)]
pub struct Hashed<'f, F> {
    file: &'f F,
    /// Where the next byte goes.
    at: u64,
    /// How many bytes from the start are in the hash.
    hashed: u64,
    sha256: Sha256,
    /// Whether a byte was written anywhere but at the end.
    went_back: bool,
}

impl<'f, F> Hashed<'f, F>
where
    &'f F: Read + Write + Seek,
{
    /// Writes to a file from its start, which is empty.
    pub(super) fn new(file: &'f F) -> Self {
        Self { file, at: 0, hashed: 0, sha256: Sha256::new(), went_back: false }
    }

    /// Size and hash of the whole file.
    pub(super) fn finish(self, cancel: &Cancel) -> io::Result<Written> {
        if !self.went_back {
            return Ok(Written { sha256: self.sha256.finalize().into(), bytes: self.hashed });
        }
        let mut file = self.file;
        file.rewind()?;
        let mut again = Sink::default();
        io::copy(&mut io::BufReader::with_capacity(1 << 20, file), &mut Watched::new(&mut again, cancel))?;
        Ok(Written { sha256: again.sha256.finalize().into(), bytes: again.bytes })
    }
}

impl<'f, F> Write for Hashed<'f, F>
where
    &'f F: Write,
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file;
        let count = file.write(bytes)?;
        if count > 0 {
            if self.at == self.hashed {
                self.sha256.update(&bytes[..count]);
                self.hashed += count as u64;
            } else {
                self.went_back = true;
            }
            self.at += count as u64;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut file = self.file;
        file.flush()
    }
}

impl<'f, F> Seek for Hashed<'f, F>
where
    &'f F: Seek,
{
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut file = self.file;
        self.at = file.seek(to)?;
        Ok(self.at)
    }
}

/// Takes the size and the hash of what is written to it.
#[derive(Default)]
struct Sink {
    sha256: Sha256,
    bytes: u64,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sha256.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_file_however_it_was_written() {
        let written = |write: &dyn Fn(&mut Hashed<'_, std::fs::File>)| {
            let file = tempfile::tempfile().unwrap();
            let mut out = Hashed::new(&file);
            write(&mut out);
            let went_back = out.went_back;
            let found = out.finish(&Cancel::new()).unwrap();
            let mut bytes = Vec::new();
            let mut file = &file;
            file.rewind().unwrap();
            file.read_to_end(&mut bytes).unwrap();
            assert_eq!(found, Written { sha256: Sha256::digest(&bytes).into(), bytes: bytes.len() as u64 });
            went_back
        };
        assert!(!written(&|out| {
            out.write_all(b"one after").unwrap();
            // Looking where one is changes nothing.
            out.stream_position().unwrap();
            out.write_all(b" the other").unwrap();
        }));
        assert!(written(&|out| {
            out.write_all(b"____ and the rest").unwrap();
            out.rewind().unwrap();
            out.write_all(b"head").unwrap();
            out.seek(SeekFrom::End(0)).unwrap();
            out.write_all(b", and more").unwrap();
        }));
        assert!(written(&|out| {
            out.seek(SeekFrom::Start(9)).unwrap();
            out.write_all(b"after a gap").unwrap();
        }));
    }
}
