//! Exact Euclidean distances on a grid, in time linear in its cells.
//!
//! **After** Felzenszwalb & Huttenlocher, "Distance transforms of sampled functions", Theory Comput. 8 (2012): along
//! columns first, then the lower envelope of parabolas along every row.

use rayon::prelude::*;

/// For every place `p` of a line the least of `values[q] + ((p − q) · spacing)²` over all `q`, into `out`. An infinite value
/// takes no part; where all are infinite so is the result.
pub fn lower_envelope(values: &[f64], spacing: f64, out: &mut [f64]) {
    // The places whose parabolas are lowest somewhere, and from where on each is.
    let mut lowest: Vec<(usize, f64)> = Vec::new();
    for (q, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        let x = q as f64 * spacing;
        let mut from = f64::NEG_INFINITY;
        while let Some(&(p, start)) = lowest.last() {
            let w = p as f64 * spacing;
            let meet = ((value + x * x) - (values[p] + w * w)) / (2.0 * (x - w));
            if meet > start {
                from = meet;
                break;
            }
            lowest.pop();
        }
        lowest.push((q, from));
    }
    let mut k = 0;
    for (q, out) in out.iter_mut().enumerate() {
        let x = q as f64 * spacing;
        while k + 1 < lowest.len() && lowest[k + 1].1 < x {
            k += 1;
        }
        *out = lowest.get(k).map_or(f64::INFINITY, |&(p, _)| {
            let apart = (q as f64 - p as f64) * spacing;
            apart * apart + values[p]
        });
    }
}

/// Distance in cells from every cell to the nearest one that is `marked`; infinite where none is.
#[must_use]
pub fn to_nearest(marked: &[bool], cols: usize) -> Vec<f32> {
    let cols = cols.max(1);
    let mut squared = vec![f64::INFINITY; marked.len()];
    for col in 0..cols.min(marked.len()) {
        // Up and down the column, in cells; infinity stays infinite.
        let mut last = f64::INFINITY;
        for i in (col..marked.len()).step_by(cols) {
            last = if marked[i] { 0.0 } else { last + 1.0 };
            squared[i] = last;
        }
        last = f64::INFINITY;
        for i in (col..marked.len()).step_by(cols).rev() {
            last = if marked[i] { 0.0 } else { last + 1.0 };
            let nearest = squared[i].min(last);
            squared[i] = nearest * nearest;
        }
    }
    let mut distances = vec![0.0; marked.len()];
    distances.par_chunks_mut(cols).zip(squared.par_chunks(cols)).for_each_init(
        || vec![0.0; cols],
        |line, (out, squared)| {
            lower_envelope(squared, 1.0, line);
            for (out, square) in out.iter_mut().zip(line) {
                *out = square.sqrt() as f32;
            }
        },
    );
    distances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_agree_with_looking_at_every_mark() {
        let cols = 13;
        for share in [2, 5, 11, 60] {
            let marked: Vec<bool> = (0..cols * 11).map(|i| (i * 7 + i / cols) % share == 1).collect();
            for (i, found) in to_nearest(&marked, cols).into_iter().enumerate() {
                let apart = |k: usize| {
                    let across = (k % cols) as f64 - (i % cols) as f64;
                    let down = (k / cols) as f64 - (i / cols) as f64;
                    (across * across + down * down).sqrt() as f32
                };
                let nearest =
                    (0..marked.len()).filter(|k| marked[*k]).map(apart).fold(f32::INFINITY, f32::min);
                assert_eq!(found, nearest, "cell {i}, one of {share}");
            }
        }
    }

    #[test]
    fn without_a_mark_everything_is_infinitely_far_and_marks_are_at_zero() {
        assert!(to_nearest(&[false; 12], 4).iter().all(|d| d.is_infinite()));
        assert_eq!(to_nearest(&[true; 12], 4), [0.0; 12]);
        assert!(to_nearest(&[], 0).is_empty());
    }

    #[test]
    fn the_envelope_is_the_least_of_all_parabolas() {
        let values = [9.0, f64::INFINITY, 0.5, 40.0, 2.0, 2.0];
        let mut out = [0.0; 6];
        lower_envelope(&values, 1.5, &mut out);
        for (p, out) in out.into_iter().enumerate() {
            let parabola = |q: usize| values[q] + 2.25 * (p as f64 - q as f64) * (p as f64 - q as f64);
            assert!((out - (0..6).map(parabola).fold(f64::INFINITY, f64::min)).abs() < 1e-12, "place {p}");
        }
    }
}
