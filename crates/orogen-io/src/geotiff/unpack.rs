//! Chunks (strips and tiles) from their packed bytes to plain samples, one compression after the other.

use std::io::Read as _;

use lerc::Sample;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::container::Directory;
use super::decode::{SampleKind, unsupported};
use super::source::{Source, sized};
use super::tag;
use crate::error::FormatError;

/// How the samples of a chunk are packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Packing {
    None,
    Deflate,
    Lzw,
    PackBits,
    Zstd,
    /// Limited error raster compression, its result packed once more or not.
    Lerc(LercWrap),
}

/// What a LERC blob is packed with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LercWrap {
    None,
    Deflate,
    Zstd,
}

const READ_HERE: &str =
    "none, LZW, deflate, PackBits, ZSTD or LERC; `gdal_translate -co COMPRESS=DEFLATE` converts others";

impl Packing {
    pub fn read(directory: &Directory<'_>) -> Result<Self, FormatError> {
        Ok(match directory.whole_number(tag::COMPRESSION, Some(1))? {
            1 => Self::None,
            5 => Self::Lzw,
            8 | 32946 => Self::Deflate,
            32773 => Self::PackBits,
            50000 => Self::Zstd,
            34887 => {
                let parameters = directory.first_whole_numbers(tag::LERC_PARAMETERS, 2)?.unwrap_or_default();
                Self::Lerc(match parameters.get(1) {
                    None | Some(0) => LercWrap::None,
                    Some(1) => LercWrap::Deflate,
                    Some(2) => LercWrap::Zstd,
                    Some(other) => {
                        return Err(unsupported(
                            format!("LERC compression packed again by method {other}"),
                            "LERC alone or with deflate or ZSTD",
                        ));
                    }
                })
            }
            other => {
                let found = match name_of(other) {
                    Some(name) => format!("{name} compression ({other})"),
                    None => format!("a compression without a common name ({other})"),
                };
                return Err(unsupported(found, READ_HERE));
            }
        })
    }

    /// The most bytes that one packed byte can stand for: 1,032 by deflate, some 2,600 by LZW, 64 by PackBits; by ZSTD a
    /// block of 128 KiB in 4 bytes; by LERC a whole tile of one height in some 90 bytes. A chunk that claims more is
    /// refused before its memory is reserved.
    pub fn most_bytes_per_packed_byte(self) -> usize {
        match self {
            Self::None => 1,
            Self::Deflate | Self::Lzw | Self::PackBits => 4096,
            Self::Zstd => 1 << 15,
            Self::Lerc(_) => 1 << 20,
        }
    }
}

/// The names that programs use for compressions that are not read here.
fn name_of(number: u64) -> Option<&'static str> {
    Some(match number {
        2 => "CCITT RLE",
        3 => "CCITT fax 3",
        4 => "CCITT fax 4",
        6 => "old-style JPEG",
        7 => "JPEG",
        32766 => "NeXT",
        32771 => "CCITT RLE word",
        32809 => "ThunderScan",
        34661 => "JBIG",
        34676 | 34677 => "SGI Log",
        33003 | 33004 | 33005 | 34712 => "JPEG 2000",
        34892 => "lossy JPEG (DNG)",
        34925 => "LZMA",
        34933 => "PNG",
        50001 => "WebP",
        50002 | 52546 => "JPEG XL",
        _ => return None,
    })
}

/// What an unpacked chunk holds.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    pub kind: SampleKind,
    pub cols: usize,
    pub rows: usize,
    /// Samples of a pixel.
    pub stride: usize,
}

impl Chunk {
    fn samples(&self) -> usize {
        self.cols * self.rows * self.stride
    }

    pub fn bytes(&self) -> usize {
        self.samples() * self.kind.bytes()
    }

    /// No packer makes twice as much of its input. Many chunks that each claim the whole file would cost long reading.
    pub fn most_packed(&self) -> usize {
        2 * self.bytes() + 4096
    }
}

/// What a thread unpacks chunks with, one after the other.
#[derive(Default)]
pub(super) struct Bench {
    packed: Vec<u8>,
    blob: Vec<u8>,
    raw: Vec<u8>,
    inflate: Option<flate2::Decompress>,
    lzw: Option<weezl::decode::Decoder>,
    zstd: Option<FrameDecoder>,
}

impl Bench {
    /// Whether a packed chunk can be as large as it should, as far as it says so itself: only LERC does.
    pub fn fits(
        &mut self,
        source: &Source<'_>,
        packing: Packing,
        at: usize,
        length: usize,
        chunk: &Chunk,
    ) -> Result<bool, FormatError> {
        let Packing::Lerc(wrap) = packing else { return Ok(true) };
        let most = chunk.most_packed();
        let Some(packed) = source.view(at, length.min(most), &mut self.packed)? else { return Ok(false) };
        let blob = lerc_blob(wrap, packed, most, &mut self.blob, &mut self.inflate, &mut self.zstd);
        Ok(blob.is_some_and(|blob| lerc_lies_together(blob, chunk).is_some()))
    }

    /// Exactly the bytes of a chunk from its packed ones, `None` when they hold fewer or are damaged.
    pub fn unpack(
        &mut self,
        source: &Source<'_>,
        packing: Packing,
        at: usize,
        length: usize,
        chunk: &Chunk,
    ) -> Result<Option<&mut [u8]>, FormatError> {
        let wanted = chunk.bytes();
        if packing == Packing::None {
            if length < wanted {
                return Ok(None);
            }
            let raw = sized(&mut self.raw, wanted);
            return Ok(source.fill(at, raw)?.then_some(raw));
        }
        if wanted / packing.most_bytes_per_packed_byte() > length {
            return Ok(None);
        }
        let most_packed = chunk.most_packed();
        let Some(packed) = source.view(at, length.min(most_packed), &mut self.packed)? else {
            return Ok(None);
        };
        if let Packing::Lerc(wrap) = packing {
            let (inflate, zstd) = (&mut self.inflate, &mut self.zstd);
            let blob = lerc_blob(wrap, packed, most_packed, &mut self.blob, inflate, zstd);
            // The blob says how large it is: asked before memory is reserved, as a few bytes can stand for a whole tile.
            let Some(blob) = blob.filter(|blob| lerc_lies_together(blob, chunk).is_some()) else {
                return Ok(None);
            };
            let raw = sized(&mut self.raw, wanted);
            return Ok(unpack_lerc(blob, chunk, raw).map(|()| raw));
        }
        let raw = sized(&mut self.raw, wanted);
        let done = match packing {
            Packing::None | Packing::Lerc(_) => false,
            Packing::Deflate => inflate(&mut self.inflate, packed, raw) == Some(wanted),
            Packing::Lzw => unpack_lzw(&mut self.lzw, packed, raw),
            Packing::PackBits => unpack_bits(packed, raw).is_some(),
            Packing::Zstd => unpack_zstd(&mut self.zstd, packed, raw, wanted) == Some(wanted),
        };
        Ok(done.then_some(raw))
    }
}

/// Fills `raw` as far as the packed bytes reach and says how far that is; `None` when they are damaged.
fn inflate(decoder: &mut Option<flate2::Decompress>, packed: &[u8], raw: &mut [u8]) -> Option<usize> {
    let decoder = decoder.get_or_insert_with(|| flate2::Decompress::new(true));
    decoder.reset(true);
    decoder.decompress(packed, raw, flate2::FlushDecompress::Finish).ok()?;
    usize::try_from(decoder.total_out()).ok()
}

fn unpack_lzw(decoder: &mut Option<weezl::decode::Decoder>, packed: &[u8], raw: &mut [u8]) -> bool {
    let decoder =
        decoder.get_or_insert_with(|| weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8));
    decoder.reset();
    let (mut read, mut written) = (0, 0);
    while written < raw.len() {
        let step = decoder.decode_bytes(&packed[read..], &mut raw[written..]);
        let idle = step.consumed_in == 0 && step.consumed_out == 0;
        (read, written) = (read + step.consumed_in, written + step.consumed_out);
        if written < raw.len() && (idle || matches!(step.status, Ok(weezl::LzwStatus::Done) | Err(_))) {
            return false;
        }
    }
    true
}

fn unpack_bits(packed: &[u8], raw: &mut [u8]) -> Option<()> {
    let (mut read, mut written) = (0, 0);
    while written < raw.len() {
        let head = *packed.get(read)? as i8;
        read += 1;
        if head >= 0 {
            let run = head as usize + 1;
            let run_fits = run.min(raw.len() - written);
            raw[written..][..run_fits].copy_from_slice(packed.get(read..read + run)?.get(..run_fits)?);
            (read, written) = (read + run, written + run_fits);
        } else if head != -128 {
            let run = (1 - isize::from(head)) as usize;
            let run_fits = run.min(raw.len() - written);
            raw[written..][..run_fits].fill(*packed.get(read)?);
            (read, written) = (read + 1, written + run_fits);
        }
    }
    Some(())
}

/// The blob of a LERC chunk, at most so many bytes of it.
fn lerc_blob<'b>(
    wrap: LercWrap,
    packed: &'b [u8],
    most: usize,
    buffer: &'b mut Vec<u8>,
    decoder: &mut Option<flate2::Decompress>,
    zstd: &mut Option<FrameDecoder>,
) -> Option<&'b [u8]> {
    match wrap {
        LercWrap::None => Some(packed),
        LercWrap::Deflate => unwrap_lerc(buffer, packed.len(), most, |blob| inflate(decoder, packed, blob)),
        LercWrap::Zstd => {
            unwrap_lerc(buffer, packed.len(), most, |blob| unpack_zstd(zstd, packed, blob, most))
        }
    }
}

/// A LERC blob that is packed once more. Room grows with what is found: the packed bytes do not
/// say how long the blob is.
fn unwrap_lerc(
    buffer: &mut Vec<u8>,
    packed_bytes: usize,
    most: usize,
    mut unpack: impl FnMut(&mut [u8]) -> Option<usize>,
) -> Option<&[u8]> {
    let mut room = (8 * packed_bytes + 4096).min(most);
    let length = loop {
        let found = unpack(sized(buffer, room))?;
        if found < room || room == most {
            break found;
        }
        room = room.saturating_mul(8).min(most);
    };
    Some(&buffer[..length])
}

/// As [`inflate`], for ZSTD; the packed bytes stand for at most so many.
fn unpack_zstd(
    decoder: &mut Option<FrameDecoder>,
    packed: &[u8],
    raw: &mut [u8],
    most: usize,
) -> Option<usize> {
    // Magic number, descriptor and, unless the whole frame is one segment, the size of the window, which the decoder
    // reserves. Writers name that of their level, up to 128 MiB; a chunk looks back no further than its own start.
    const SINGLE_SEGMENT: u8 = 1 << 5;
    const LEAST_WINDOW_LOG: u32 = 17;
    let window_log = most.next_power_of_two().trailing_zeros().max(LEAST_WINDOW_LOG);
    let (mut head, tail) = packed.split_first_chunk::<6>().map(|(head, tail)| (*head, tail))?;
    if head[4] & SINGLE_SEGMENT == 0 {
        head[5] = head[5].min(((window_log - 10).min(31) << 3) as u8);
    }
    let decoder = decoder.get_or_insert_with(FrameDecoder::new);
    decoder.set_max_window_size(1 << window_log.min(40));
    let mut packed = head.chain(tail);
    decoder.reset(&mut packed).ok()?;
    let mut written = 0;
    while written < raw.len() {
        if !decoder.is_finished() {
            let most = BlockDecodingStrategy::UptoBytes(raw.len());
            decoder.decode_blocks(&mut packed, most).ok()?;
        }
        let count = decoder.read(&mut raw[written..]).ok()?;
        written += count;
        if count == 0 && decoder.is_finished() {
            break;
        }
    }
    Some(written)
}

/// The samples of a LERC blob; pixels that it leaves out are NaN in files of floats. Bytes come in the order of a
/// little-endian machine whatever the file's is: libtiff packs samples after it has brought them into the file's order.
fn unpack_lerc(blob: &[u8], chunk: &Chunk, raw: &mut [u8]) -> Option<()> {
    match chunk.kind {
        SampleKind::U8 => lerc_samples(blob, chunk, raw, None, u8::to_le_bytes),
        SampleKind::I8 => lerc_samples(blob, chunk, raw, None, i8::to_le_bytes),
        SampleKind::U16 => lerc_samples(blob, chunk, raw, None, u16::to_le_bytes),
        SampleKind::I16 => lerc_samples(blob, chunk, raw, None, i16::to_le_bytes),
        SampleKind::U32 => lerc_samples(blob, chunk, raw, None, u32::to_le_bytes),
        SampleKind::I32 => lerc_samples(blob, chunk, raw, None, i32::to_le_bytes),
        SampleKind::F32 => lerc_samples(blob, chunk, raw, Some(f32::NAN), f32::to_le_bytes),
        SampleKind::F64 => lerc_samples(blob, chunk, raw, Some(f64::NAN), f64::to_le_bytes),
    }
}

/// Whether the samples of a pixel lie together in a LERC blob, or, where bands have holes of their own, each band lies by itself;
/// `None` where the blob is not as large as the chunk.
fn lerc_lies_together(blob: &[u8], chunk: &Chunk) -> Option<bool> {
    let about = lerc::decode_info(blob).ok()?;
    let shape = [about.width, about.height, about.depth, about.bands].map(|n| n as usize);
    let together = shape == [chunk.cols, chunk.rows, chunk.stride, 1];
    (together || shape == [chunk.cols, chunk.rows, 1, chunk.stride]).then_some(together)
}

fn lerc_samples<T: Sample + Default, const N: usize>(
    blob: &[u8],
    chunk: &Chunk,
    raw: &mut [u8],
    hole: Option<T>,
    bytes: impl Fn(T) -> [u8; N],
) -> Option<()> {
    let together = lerc_lies_together(blob, chunk)?;
    let (pixels, stride) = (chunk.cols * chunk.rows, chunk.stride);
    let mut samples = vec![T::default(); pixels * stride];
    match hole {
        Some(hole) => lerc::decode_into_with_nodata(blob, &mut samples, hole).ok()?,
        None => lerc::decode_into(blob, &mut samples).ok()?,
    };
    for (i, out) in raw.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        *out = bytes(samples[if together { i } else { i % stride * pixels + i / stride }]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pack_bits_are_runs_and_copies() {
        let mut raw = [0; 7];
        // Three bytes as they are, a byte that means nothing, four times the next.
        assert!(unpack_bits(&[2, 1, 2, 3, 0x80, 0xFD, 9], &mut raw).is_some());
        assert_eq!(raw, [1, 2, 3, 9, 9, 9, 9]);
        assert!(unpack_bits(&[2, 1, 2], &mut raw).is_none());
    }
}
