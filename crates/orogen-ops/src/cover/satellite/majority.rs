//! A vote among the pixels around.

use orogen_core::{Cancelled, Ctx, Raster};
use rayon::prelude::*;

/// Classes, with 0 for none.
const KINDS: usize = 8;

/// Rows that a thread takes at a time; those above and below are counted again.
const ROWS: usize = 64;

/// Gives every pixel the class that most of the square around it has, `reach` pixels to each side. A pixel keeps its own class
/// in a tie that it takes part in, else the lowest number wins. Holes stay and have no vote.
///
/// Counts of columns move down row by row, and the square moves along them: the cost does not grow with the reach.
pub fn vote(classes: &Raster<u8>, reach: usize, ctx: &Ctx<'_>) -> Result<Raster<u8>, Cancelled> {
    if reach == 0 {
        return Ok(classes.clone());
    }
    let (cols, rows) = (classes.cols(), classes.rows());
    let mut out = classes.clone();
    out.as_mut_slice().par_chunks_mut(cols * ROWS).enumerate().try_for_each(|(chunk, out)| {
        ctx.stop_if_asked()?;
        let first = chunk * ROWS;
        let mut columns = vec![[0u16; KINDS]; cols];
        let count = |columns: &mut Vec<[u16; KINDS]>, row: usize, by: i16| {
            for (column, &class) in columns.iter_mut().zip(classes.row(row)) {
                let count = &mut column[usize::from(class).min(KINDS - 1)];
                *count = count.wrapping_add_signed(by);
            }
        };
        for row in first.saturating_sub(reach)..(first + reach).min(rows) {
            count(&mut columns, row, 1);
        }
        for (row, line) in (first..).zip(out.chunks_exact_mut(cols)) {
            if row + reach < rows {
                count(&mut columns, row + reach, 1);
            }
            elect(&columns, classes.row(row), reach, line);
            if let Some(above) = row.checked_sub(reach) {
                count(&mut columns, above, -1);
            }
        }
        Ok(())
    })?;
    Ok(out)
}

/// The classes of a row, given the counts of the columns around it.
fn elect(columns: &[[u16; KINDS]], own: &[u8], reach: usize, line: &mut [u8]) {
    let mut square = [0u32; KINDS];
    let add = |square: &mut [u32; KINDS], column: &[u16; KINDS], sign: bool| {
        for (sum, &count) in square.iter_mut().zip(column) {
            *sum = if sign { *sum + u32::from(count) } else { *sum - u32::from(count) };
        }
    };
    for column in &columns[..reach.min(columns.len())] {
        add(&mut square, column, true);
    }
    for (col, value) in line.iter_mut().enumerate() {
        if let Some(column) = columns.get(col + reach) {
            add(&mut square, column, true);
        }
        let own = own[col];
        if own != 0 {
            let best =
                (1..KINDS).fold(
                    usize::from(own),
                    |best, class| {
                        if square[class] > square[best] { class } else { best }
                    },
                );
            *value = best as u8;
        }
        if let Some(left) = col.checked_sub(reach) {
            add(&mut square, &columns[left], false);
        }
    }
}
