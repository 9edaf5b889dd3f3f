//! The TIFF container: a header and one directory of tagged arrays.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::FORMAT;
use super::source::Source;
use crate::error::FormatError;

/// Where the array of a tag lies in the file.
#[derive(Clone, Copy)]
struct Entry {
    kind: u16,
    count: usize,
    at: usize,
}

/// A directory of a TIFF file: what it says of one image.
pub(super) struct Directory<'a> {
    pub source: Source<'a>,
    pub little_endian: bool,
    /// Numbers and offsets have 8 bytes (BigTIFF) instead of 4.
    big: bool,
    entries: BTreeMap<u16, Entry>,
    /// Where it lies.
    pub start: u64,
    /// Where the next directory lies, 0 after the last.
    next: u64,
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
    pub fn read(source: Source<'a>) -> Result<Self, FormatError> {
        let letters = source.get(0, 2)?;
        let little_endian = match letters.as_deref() {
            Some(b"II") => true,
            Some(b"MM") => false,
            _ => return Err(broken("it does not start with the letters II or MM")),
        };
        let mut directory =
            Self { source, little_endian, big: false, entries: BTreeMap::new(), start: 0, next: 0 };
        directory.big = match directory.unsigned(2, 2)? {
            42 => false,
            43 => true,
            other => return Err(broken(format!("its version is {other}; a TIFF has 42 or 43"))),
        };
        let (start_at, word) = if directory.big { (8, 8) } else { (4, 4) };
        let start = directory.unsigned(start_at, word)?;
        directory.read_at(start)
    }

    /// The directory after this one; `None` after the last. What follows the first is extra (masks, smaller copies): one that
    /// is damaged counts as none.
    pub fn next(&self) -> Option<Self> {
        let empty = Self {
            source: self.source.clone(),
            little_endian: self.little_endian,
            big: self.big,
            entries: BTreeMap::new(),
            start: 0,
            next: 0,
        };
        if self.next == 0 { None } else { empty.read_at(self.next).ok() }
    }

    /// Fills an empty directory from a place in the file.
    fn read_at(self, start: u64) -> Result<Self, FormatError> {
        let mut directory = self;
        directory.start = start;
        let start = directory.offset(start)?;
        let word = if directory.big { 8 } else { 4 };
        let (count_size, entry_size) = if directory.big { (8, 20) } else { (2, 12) };
        let count = directory.unsigned(start, count_size)?;
        let room = (directory.source.len().saturating_sub(start) / entry_size) as u64;
        if count > room {
            return Err(broken(format!(
                "its directory declares {count} tags, but the file has room for {room}"
            )));
        }
        let entries_at = start + count_size;
        let entries = directory.bytes(entries_at, count as usize * entry_size)?;
        for (i, entry) in entries.chunks_exact(entry_size).enumerate() {
            let number = |at: usize, size: usize| directory.number(&entry[at..at + size]);
            let (tag, kind, count) = (number(0, 2) as u16, number(2, 2) as u16, number(4, word));
            let Some(size) = size_of_kind(kind) else { continue };
            let length = usize::try_from(count).ok().and_then(|n| n.checked_mul(size));
            let entry = match length {
                Some(length) if length <= word => {
                    Entry { kind, count: length / size, at: entries_at + i * entry_size + 4 + word }
                }
                _ => {
                    let at = directory.offset(number(4 + word, word))?;
                    let length = length.filter(|&length| length <= directory.source.len() - at);
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
        // A file that ends here has no further directory.
        let end = directory.source.get(entries_at + entries.len(), word)?;
        directory.next = end.map_or(0, |bytes| directory.number(&bytes));
        Ok(directory)
    }

    /// Bytes that should be there.
    fn bytes(&self, at: usize, length: usize) -> Result<Cow<'a, [u8]>, FormatError> {
        self.source
            .get(at, length)?
            .ok_or_else(|| broken(format!("it ends after {} bytes, in its header", self.source.len())))
    }

    /// An unsigned number of 1 to 8 bytes.
    fn number(&self, bytes: &[u8]) -> u64 {
        let fold = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
        if self.little_endian { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) }
    }

    fn unsigned(&self, at: usize, size: usize) -> Result<u64, FormatError> {
        Ok(self.number(&self.bytes(at, size)?))
    }

    /// A place in the file.
    fn offset(&self, offset: u64) -> Result<usize, FormatError> {
        usize::try_from(offset).ok().filter(|&offset| offset < self.source.len()).ok_or_else(|| {
            broken(format!("it points to byte {offset}, past its end at {}", self.source.len()))
        })
    }

    /// Number of values of a tag, 0 when it is absent.
    pub fn count(&self, tag: u16) -> usize {
        self.entries.get(&tag).map_or(0, |entry| entry.count)
    }

    /// The values of a tag as whole numbers; `None` when it is absent.
    pub fn whole_numbers(&self, tag: u16) -> Result<Option<Vec<u64>>, FormatError> {
        self.first_whole_numbers(tag, usize::MAX)
    }

    /// The first values of a tag, at most so many.
    pub fn first_whole_numbers(&self, tag: u16, most: usize) -> Result<Option<Vec<u64>>, FormatError> {
        let Some(&entry) = self.entries.get(&tag) else { return Ok(None) };
        let size = match entry.kind {
            1 | 7 => 1,
            3 => 2,
            4 | 13 => 4,
            16 | 18 => 8,
            other => return Err(broken(format!("tag {tag} has type {other}; expected whole numbers"))),
        };
        let bytes = self.bytes(entry.at, entry.count.min(most) * size)?;
        Ok(Some(bytes.chunks_exact(size).map(|bytes| self.number(bytes)).collect()))
    }

    /// The first value of a tag, or what holds when it is absent.
    pub fn whole_number(&self, tag: u16, or: Option<u64>) -> Result<u64, FormatError> {
        let found = self.first_whole_numbers(tag, 1)?.and_then(|values| values.first().copied());
        found.or(or).ok_or_else(|| broken(format!("it has no tag {tag}")))
    }

    /// The values of a tag as doubles; empty when it is absent.
    pub fn doubles(&self, tag: u16) -> Result<Vec<f64>, FormatError> {
        match self.entries.get(&tag) {
            None => Ok(Vec::new()),
            Some(&Entry { kind: 12, count, at }) => {
                let bytes = self.bytes(at, 8 * count)?;
                Ok(bytes.chunks_exact(8).map(|bytes| f64::from_bits(self.number(bytes))).collect())
            }
            Some(entry) => Err(broken(format!("tag {tag} has type {}; expected doubles", entry.kind))),
        }
    }

    /// The text of a tag up to its closing zero; `None` when it is absent or no text.
    pub fn text(&self, tag: u16) -> Result<Option<String>, FormatError> {
        let Some(entry) = self.entries.get(&tag).filter(|entry| entry.kind == 2) else { return Ok(None) };
        let bytes = self.bytes(entry.at, entry.count)?;
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        Ok(std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned))
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
    /// One number per chunk: how long it is.
    ChunkLengths,
}

/// Where a strip or a tile lies in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    pub at: u64,
    pub length: u64,
}

/// Whether four bytes may not reach the end of a file with so many bytes of samples, so that it must be a BigTIFF.
pub(super) fn needs_wide_offsets(data: u64) -> bool {
    // Directories with all their arrays take far less than what is set aside for them here: a hundredth of the samples.
    data + data / 100 + (1 << 20) > u64::from(u32::MAX)
}

/// The fields of an image, in the order of their tags, and where its chunks lie.
pub(super) type Image<'a> = (Vec<(u16, Field)>, &'a [Chunk]);

/// The head of a little-endian TIFF of one image: all of it but its chunks, which follow one another and are so long.
///
/// The fields must come in the order of their tags.
pub(super) fn head_of_one(fields: Vec<(u16, Field)>, lengths: &[u64]) -> Vec<u8> {
    let big = needs_wide_offsets(lengths.iter().sum());
    let mut chunks: Vec<Chunk> = lengths.iter().map(|&length| Chunk { at: 0, length }).collect();
    let images = [(fields, &chunks[..])];
    // Its own length does not depend on where the chunks are.
    let mut at = head(big, &[], &images).len() as u64;
    let [(fields, _)] = images;
    for chunk in &mut chunks {
        chunk.at = at;
        at += chunk.length;
    }
    head(big, &[], &[(fields, &chunks)])
}

/// The head of a little-endian TIFF, BigTIFF if need be: header, a note for programs that know where to look, and for each
/// image its directory and the arrays of its fields, which must come in the order of their tags.
pub(super) fn head(big: bool, note: &[u8], images: &[Image<'_>]) -> Vec<u8> {
    let word = if big { 8 } else { 4 };
    let put_word = |out: &mut Vec<u8>, value: u64| out.extend_from_slice(&value.to_le_bytes()[..word]);
    let mut out = b"II".to_vec();
    out.extend_from_slice(if big { &[43, 0, 8, 0, 0, 0] } else { &[42, 0] });
    let first = (out.len() + word + note.len()).next_multiple_of(2);
    put_word(&mut out, first as u64);
    out.extend_from_slice(note);
    out.resize(first, 0);
    for (i, (fields, chunks)) in images.iter().enumerate() {
        let entries = if big { 8 + 20 * fields.len() + 8 } else { 2 + 12 * fields.len() + 4 };
        let arrays_at = out.len() + entries;
        let mut arrays = Vec::new();
        let count = fields.len() as u64;
        out.extend_from_slice(&count.to_le_bytes()[..if big { 8 } else { 2 }]);
        for (tag, field) in fields {
            let (kind, count, mut bytes) = encode(field, chunks, big);
            out.extend_from_slice(&tag.to_le_bytes());
            out.extend_from_slice(&kind.to_le_bytes());
            put_word(&mut out, count as u64);
            if bytes.len() <= word {
                bytes.resize(word, 0);
                out.extend_from_slice(&bytes);
            } else {
                put_word(&mut out, (arrays_at + arrays.len()) as u64);
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                arrays.extend_from_slice(&bytes);
            }
        }
        let end = arrays_at + arrays.len();
        put_word(&mut out, if i + 1 < images.len() { end as u64 } else { 0 });
        out.extend_from_slice(&arrays);
    }
    out
}

/// Type, count and bytes of a field.
fn encode(field: &Field, chunks: &[Chunk], big: bool) -> (u16, usize, Vec<u8>) {
    let words = |values: &mut dyn Iterator<Item = u64>| {
        let mut out = Vec::new();
        values.for_each(|v| out.extend_from_slice(&v.to_le_bytes()[..if big { 8 } else { 4 }]));
        let kind = if big { 16 } else { 4 };
        (kind, out.len() / if big { 8 } else { 4 }, out)
    };
    match field {
        Field::Text(text) => {
            let out = [text.as_bytes(), &[0]].concat();
            (2, out.len(), out)
        }
        Field::Shorts(values) => (3, values.len(), values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Field::Doubles(values) => (12, values.len(), values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Field::Words(values) => words(&mut values.iter().copied()),
        Field::ChunkOffsets => words(&mut chunks.iter().map(|chunk| chunk.at)),
        Field::ChunkLengths => words(&mut chunks.iter().map(|chunk| chunk.length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_in_both_widths() {
        let fields = || {
            vec![
                (256, Field::Words(vec![70_000])),
                (258, Field::Shorts(vec![8, 16, 32, 64, 128])),
                (273, Field::ChunkOffsets),
                (279, Field::ChunkLengths),
                (305, Field::Text(String::from("name"))),
                (33550, Field::Doubles(vec![0.1, -2.0])),
            ]
        };
        let chunks = [(1000, 3), (1003, 0), (1003, 9)].map(|(at, length)| Chunk { at, length });
        for big in [false, true] {
            let images = [(fields(), &chunks[..]), (fields(), &chunks[..1])];
            let mut bytes = head(big, b"an odd note", &images);
            bytes.resize(1012, 0);
            let directory = Directory::read(Source::Memory(&bytes)).unwrap();
            assert_eq!(directory.start % 2, 0);
            assert_eq!(directory.whole_number(256, None), Ok(70_000));
            assert_eq!(directory.whole_numbers(258), Ok(Some(vec![8, 16, 32, 64, 128])));
            assert_eq!(directory.text(305).unwrap().as_deref(), Some("name"));
            assert_eq!(directory.doubles(33550), Ok(vec![0.1, -2.0]));
            assert_eq!(directory.count(259), 0);
            assert_eq!(directory.whole_numbers(273), Ok(Some(vec![1000, 1003, 1003])));
            assert_eq!(directory.whole_numbers(279), Ok(Some(vec![3, 0, 9])));
            assert_eq!(directory.first_whole_numbers(279, 1), Ok(Some(vec![3])));
            let second = directory.next().unwrap();
            assert_eq!(second.whole_numbers(273), Ok(Some(vec![1000])));
            assert!(second.next().is_none());
        }
    }

    #[test]
    fn chunks_of_one_image_follow_its_head() {
        let fields = vec![(273, Field::ChunkOffsets), (279, Field::ChunkLengths)];
        let mut bytes = head_of_one(fields, &[3, 0, 9]);
        let at = bytes.len() as u64;
        bytes.resize(bytes.len() + 12, 0);
        let directory = Directory::read(Source::Memory(&bytes)).unwrap();
        assert_eq!(directory.whole_numbers(273), Ok(Some(vec![at, at + 3, at + 3])));
        assert!(directory.next().is_none());
    }
}
