//! The bytes of a file, in memory or still on disk.

use std::borrow::Cow;
use std::fs::File;
use std::io;

use super::FORMAT;
use crate::error::FormatError;

/// Where bytes come from. Those on disk are read where they are asked for, so that a grid without compression goes from
/// the file into its raster and nowhere between.
#[derive(Clone)]
pub(super) enum Source<'a> {
    Memory(&'a [u8]),
    Disk { file: &'a File, length: usize },
}

impl<'a> Source<'a> {
    /// The bytes of an open file, as many as it has now.
    pub fn disk(file: &'a File) -> Result<Self, FormatError> {
        let length = file.metadata().map_err(unreadable)?.len();
        let length = usize::try_from(length).map_err(|_| {
            FormatError::broken(FORMAT, format!("it has {length} bytes, too many for this machine"))
        })?;
        Ok(Self::Disk { file, length })
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::Disk { length, .. } => *length,
        }
    }

    /// Whether so many bytes lie there.
    pub fn holds(&self, at: usize, length: usize) -> bool {
        at.checked_add(length).is_some_and(|end| end <= self.len())
    }

    /// So many bytes from one on; `None` past the end, before memory is reserved for them.
    pub fn get(&self, at: usize, length: usize) -> Result<Option<Cow<'a, [u8]>>, FormatError> {
        if !self.holds(at, length) {
            return Ok(None);
        }
        match self {
            Self::Memory(bytes) => Ok(Some(Cow::Borrowed(&bytes[at..at + length]))),
            Self::Disk { file, .. } => {
                let mut found = vec![0; length];
                read_at(file, at as u64, &mut found).map_err(unreadable)?;
                Ok(Some(Cow::Owned(found)))
            }
        }
    }

    /// Fills `out` from a byte on; `false` past the end.
    pub fn fill(&self, at: usize, out: &mut [u8]) -> Result<bool, FormatError> {
        if !self.holds(at, out.len()) {
            return Ok(false);
        }
        match self {
            Self::Memory(bytes) => out.copy_from_slice(&bytes[at..at + out.len()]),
            Self::Disk { file, .. } => read_at(file, at as u64, out).map_err(unreadable)?,
        }
        Ok(true)
    }

    /// As [`Source::get`], in a buffer that is used again and again.
    pub fn view<'b>(
        &'b self,
        at: usize,
        length: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<&'b [u8]>, FormatError> {
        if !self.holds(at, length) {
            return Ok(None);
        }
        match self {
            Self::Memory(bytes) => Ok(Some(&bytes[at..at + length])),
            Self::Disk { file, .. } => {
                let found = sized(buffer, length);
                read_at(file, at as u64, found).map_err(unreadable)?;
                Ok(Some(found))
            }
        }
    }
}

/// So much of a buffer, which grows where it must and is left as it is otherwise.
pub(super) fn sized(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    &mut buffer[..length]
}

fn unreadable(e: io::Error) -> FormatError {
    match e.kind() {
        io::ErrorKind::UnexpectedEof => FormatError::broken(FORMAT, "it was truncated while it was read"),
        _ => FormatError::Unreadable(e.to_string()),
    }
}

/// Reads without a place in the file that threads would have to share.
#[cfg(unix)]
fn read_at(file: &File, at: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, at)
}

/// Where there are no files, none is open.
#[cfg(not(any(unix, windows)))]
fn read_at(_file: &File, _at: u64, _out: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(windows)]
fn read_at(file: &File, mut at: u64, mut out: &mut [u8]) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => (at, out) = (at + count as u64, &mut out[count..]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
