//! The TIFF container: a header and one directory of tagged arrays.

use std::collections::BTreeMap;

use super::FORMAT;
use crate::error::FormatError;

/// Where the array of a tag lies in the file.
#[derive(Clone, Copy)]
struct Entry {
    kind: u16,
    count: usize,
    at: usize,
}

/// The first directory of a TIFF file.
pub(super) struct Directory<'a> {
    pub bytes: &'a [u8],
    pub little_endian: bool,
    entries: BTreeMap<u16, Entry>,
}

/// Bytes of one value of a TIFF field type; `None` for types that are not defined.
fn size_of_kind(kind: u16) -> Option<usize> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 | 16 | 17 | 18 => Some(8),
        _ => None,
    }
}

fn broken(reason: impl Into<String>) -> FormatError {
    FormatError::broken(FORMAT, reason)
}

impl<'a> Directory<'a> {
    /// Reads the header and the first directory; a tag of an unknown type is passed over.
    pub fn read(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let little_endian = match bytes.get(..2) {
            Some(b"II") => true,
            Some(b"MM") => false,
            _ => return Err(broken("it does not start with the letters II or MM")),
        };
        let mut directory = Self { bytes, little_endian, entries: BTreeMap::new() };
        let big = match directory.unsigned(2, 2)? {
            42 => false,
            43 => true,
            other => return Err(broken(format!("its version is {other}; 42 and 43 are TIFF"))),
        };
        let (start_at, word) = if big { (8, 8) } else { (4, 4) };
        let start = directory.offset(start_at, word)?;
        let (count_size, entry_size) = if big { (8, 20) } else { (2, 12) };
        let count = directory.unsigned(start, count_size)?;
        let room = (bytes.len().saturating_sub(start) / entry_size) as u64;
        if count > room {
            return Err(broken(format!(
                "its directory promises {count} tags, but the file has room for {room}"
            )));
        }
        for i in 0..count as usize {
            let at = start + count_size + i * entry_size;
            let tag = directory.unsigned(at, 2)? as u16;
            let kind = directory.unsigned(at + 2, 2)? as u16;
            let count = directory.unsigned(at + 4, word)?;
            let Some(size) = size_of_kind(kind) else { continue };
            let length = usize::try_from(count).ok().and_then(|n| n.checked_mul(size));
            let value_at = at + 4 + word;
            let entry = match length {
                Some(length) if length <= word => Entry { kind, count: length / size, at: value_at },
                _ => {
                    let at = directory.offset(value_at, word)?;
                    let length = length.filter(|&length| length <= bytes.len().saturating_sub(at));
                    let Some(length) = length else {
                        return Err(broken(format!(
                            "the {count} values of tag {tag} run past the end of the file"
                        )));
                    };
                    Entry { kind, count: length / size, at }
                }
            };
            directory.entries.entry(tag).or_insert(entry);
        }
        Ok(directory)
    }

    /// An unsigned number of 1 to 8 bytes.
    fn unsigned(&self, at: usize, size: usize) -> Result<u64, FormatError> {
        let bytes = at.checked_add(size).and_then(|end| self.bytes.get(at..end));
        let bytes = bytes
            .ok_or_else(|| broken(format!("it ends after {} bytes, in its header", self.bytes.len())))?;
        let fold = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
        Ok(if self.little_endian { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) })
    }

    fn offset(&self, at: usize, size: usize) -> Result<usize, FormatError> {
        let offset = self.unsigned(at, size)?;
        usize::try_from(offset).ok().filter(|&offset| offset < self.bytes.len()).ok_or_else(|| {
            broken(format!("it points to byte {offset}, past its end at {}", self.bytes.len()))
        })
    }

    /// Number of values of a tag, 0 when it is absent.
    pub fn count(&self, tag: u16) -> usize {
        self.entries.get(&tag).map_or(0, |entry| entry.count)
    }

    /// The values of a tag as whole numbers; `None` when it is absent.
    pub fn whole_numbers(&self, tag: u16) -> Result<Option<Vec<u64>>, FormatError> {
        let Some(&entry) = self.entries.get(&tag) else { return Ok(None) };
        let size = match entry.kind {
            1 | 7 => 1,
            3 => 2,
            4 | 13 => 4,
            16 | 18 => 8,
            other => return Err(broken(format!("tag {tag} has type {other}; it should hold whole numbers"))),
        };
        (0..entry.count).map(|i| self.unsigned(entry.at + i * size, size)).collect::<Result<_, _>>().map(Some)
    }

    /// The first value of a tag, or what holds when it is absent.
    pub fn whole_number(&self, tag: u16, or: Option<u64>) -> Result<u64, FormatError> {
        let found = self.whole_numbers(tag)?.and_then(|values| values.first().copied());
        found.or(or).ok_or_else(|| broken(format!("it has no tag {tag}")))
    }

    /// The values of a tag as doubles; empty when it is absent.
    pub fn doubles(&self, tag: u16) -> Result<Vec<f64>, FormatError> {
        match self.entries.get(&tag) {
            None => Ok(Vec::new()),
            Some(&Entry { kind: 12, count, at }) => {
                (0..count).map(|i| Ok(f64::from_bits(self.unsigned(at + 8 * i, 8)?))).collect()
            }
            Some(entry) => Err(broken(format!("tag {tag} has type {}; it should hold doubles", entry.kind))),
        }
    }

    /// The text of a tag up to its closing zero; `None` when it is absent or no text.
    pub fn text(&self, tag: u16) -> Option<&'a str> {
        let entry = self.entries.get(&tag).filter(|entry| entry.kind == 2)?;
        let bytes = self.bytes.get(entry.at..)?.get(..entry.count)?;
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..end]).ok()
    }
}

/// The values of a tag to be written.
pub(super) enum Field {
    Text(String),
    Shorts(Vec<u16>),
    Doubles(Vec<f64>),
    /// Numbers as wide as the container's offsets.
    Words(Vec<u64>),
    /// One number per chunk: where it starts.
    ChunkOffsets,
}

/// A little-endian TIFF of one directory and its chunks; BigTIFF when four bytes cannot reach the end.
///
/// The fields must come in the order of their tags.
pub(super) fn write(fields: &[(u16, Field)], chunks: &[Vec<u8>]) -> Vec<u8> {
    let data: usize = chunks.iter().map(Vec::len).sum();
    let big = data + (1 << 20) + 16 * chunks.len() > u32::MAX as usize;
    let word = if big { 8 } else { 4 };
    let put_word = |out: &mut Vec<u8>, value: u64| out.extend_from_slice(&value.to_le_bytes()[..word]);

    let encode = |field: &Field, offsets: &[u64]| -> (u16, usize, Vec<u8>) {
        let mut out = Vec::new();
        match field {
            Field::Text(text) => {
                out.extend_from_slice(text.as_bytes());
                out.push(0);
                (2, out.len(), out)
            }
            Field::Shorts(values) => {
                values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
                (3, values.len(), out)
            }
            Field::Doubles(values) => {
                values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
                (12, values.len(), out)
            }
            Field::Words(values) => {
                values.iter().for_each(|&v| put_word(&mut out, v));
                (if big { 16 } else { 4 }, values.len(), out)
            }
            Field::ChunkOffsets => {
                offsets.iter().for_each(|&v| put_word(&mut out, v));
                (if big { 16 } else { 4 }, offsets.len(), out)
            }
        }
    };

    // Header, directory, long arrays, chunks. The length of every array is known before the offsets are.
    let header = if big { 16 } else { 8 };
    let directory = if big { 8 + 20 * fields.len() + 8 } else { 2 + 12 * fields.len() + 4 };
    let placeholder = vec![0; chunks.len()];
    let mut arrays_at = header + directory;
    let mut chunks_at = arrays_at;
    for (_, field) in fields {
        let length = encode(field, &placeholder).2.len();
        chunks_at += if length > word { length.next_multiple_of(8) } else { 0 };
    }
    let mut offsets = Vec::with_capacity(chunks.len());
    let mut at = chunks_at as u64;
    for chunk in chunks {
        offsets.push(at);
        at += chunk.len() as u64;
    }

    let mut out = Vec::with_capacity(chunks_at + data);
    out.extend_from_slice(b"II");
    if big {
        out.extend_from_slice(&[43, 0, 8, 0, 0, 0]);
        put_word(&mut out, 16);
        out.extend_from_slice(&(fields.len() as u64).to_le_bytes());
    } else {
        out.extend_from_slice(&[42, 0]);
        put_word(&mut out, 8);
        out.extend_from_slice(&(fields.len() as u16).to_le_bytes());
    }
    let mut arrays = Vec::with_capacity(chunks_at - arrays_at);
    for (tag, field) in fields {
        let (kind, count, mut bytes) = encode(field, &offsets);
        out.extend_from_slice(&tag.to_le_bytes());
        out.extend_from_slice(&kind.to_le_bytes());
        put_word(&mut out, count as u64);
        if bytes.len() <= word {
            bytes.resize(word, 0);
            out.extend_from_slice(&bytes);
        } else {
            put_word(&mut out, arrays_at as u64);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            arrays_at += bytes.len();
            arrays.extend_from_slice(&bytes);
        }
    }
    put_word(&mut out, 0);
    out.extend_from_slice(&arrays);
    for chunk in chunks {
        out.extend_from_slice(chunk);
    }
    out
}
