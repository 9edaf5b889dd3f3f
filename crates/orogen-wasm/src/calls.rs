//! What JavaScript calls. Texts go through two buffers in the module's memory, whose places it asks for.
//!
//! ```js
//! const at = wasm.input(bytes.length);                        // room for a name and a recipe, one after the other
//! new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
//! const length = wasm.recipe(name_length, 257);               // builds it
//! text(wasm.memory.buffer, wasm.output(), length);            // hashes, or "error: " and a sentence
//! ```
#![expect(unsafe_code, reason = "a name that the outside calls is `unsafe(no_mangle)`")]

use std::sync::{Mutex, PoisonError};

static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static OUTPUT: Mutex<String> = Mutex::new(String::new());

/// Makes room for so many bytes of input, and tells where it is.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let mut input = INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    input.clear();
    input.resize(length, 0);
    input.as_mut_ptr()
}

/// Where the last answer is.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Builds the recipe of the input, whose first bytes are its name; the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn recipe(name_length: usize, samples: usize) -> usize {
    let input = std::mem::take(&mut *INPUT.lock().unwrap_or_else(PoisonError::into_inner));
    let text = String::from_utf8_lossy(&input);
    let answer = match text.split_at_checked(name_length) {
        Some((name, text)) => crate::recipe_hashes(name, text, samples),
        None => Err(format!("the input has no name of {name_length} bytes")),
    };
    answer_with(answer)
}

/// The hash of one operator's results; the length of the answer, 0 past the last operator.
#[unsafe(no_mangle)]
pub extern "C" fn operator(index: usize) -> usize {
    answer_with(Ok(crate::operator_hash(index).unwrap_or_default()))
}

fn answer_with(answer: Result<String, String>) -> usize {
    let text = answer.unwrap_or_else(|sentence| format!("error: {sentence}\n"));
    let length = text.len();
    *OUTPUT.lock().unwrap_or_else(PoisonError::into_inner) = text;
    length
}
