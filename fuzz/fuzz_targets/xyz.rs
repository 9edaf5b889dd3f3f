//! Point table decoding: any bytes give features or a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orogen_io::{Limits, xyz};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { max_vertices: 1 << 16, ..Limits::default() };
    let _ = xyz::decode(bytes, &limits);
});
