//! ASCII grid decoding: any bytes give an elevation model or a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orogen_io::{Limits, ascii_grid};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { max_samples: 1 << 20, ..Limits::default() };
    let _ = ascii_grid::decode(bytes, &limits);
});
