//! Ambient occlusion: how much of the sky a place sees over the heights around it.

use std::f32::consts::SQRT_2;

use crate::field::Field;

/// Azimuths that are looked along, as steps of the grid, and their lengths.
const AZIMUTHS: [([isize; 2], f32); 8] = [
    ([1, 0], 1.0),
    ([1, 1], SQRT_2),
    ([0, 1], 1.0),
    ([-1, 1], SQRT_2),
    ([-1, 0], 1.0),
    ([-1, -1], SQRT_2),
    ([0, -1], 1.0),
    ([1, -1], SQRT_2),
];

/// The share of light from an even sky that reaches each sample of heights in metres, 0 to 1.
///
/// Along each of eight azimuths the steepest rise `t` within `reach_m` is found, at distances that grow by half. Sky above an
/// elevation of `atan t` gives level ground the share `cos² = 1 / (1 + t²)` of its light; the mean over azimuths is
/// the result.
#[must_use]
pub fn occlusion(height_m: &Field, size_m: f32, reach_m: f32) -> Field {
    let size = height_m.size();
    let spacing = size_m / size as f32;
    let reach = ((reach_m / spacing) as isize).clamp(1, size as isize / 2);
    let mut steps: Vec<isize> = vec![1];
    while let Some(&last) = steps.last() {
        let next = last + (last / 2).max(1);
        if next > reach {
            break;
        }
        steps.push(next);
    }
    // A row at a time, so that the innermost loop runs along plain slices.
    Field::from_rows(size, |row, light| {
        let here = height_m.row(row);
        let mut steepest = vec![0.0f32; size];
        for ([dx, dy], length) in AZIMUTHS {
            steepest.fill(0.0);
            for &step in &steps {
                let there = height_m.row((row as isize + dy * step) as usize & (size - 1));
                let shift = (dx * step) as usize & (size - 1);
                let share = 1.0 / (step as f32 * spacing * length);
                let (before, after) = (&there[shift..], &there[..shift]);
                rises(&mut steepest[..size - shift], &here[..size - shift], before, share);
                rises(&mut steepest[size - shift..], &here[size - shift..], after, share);
            }
            for (light, t) in light.iter_mut().zip(&steepest) {
                *light += 1.0 / (1.0 + t * t) / AZIMUTHS.len() as f32;
            }
        }
    })
}

/// Keeps the steepest rise so far and the one from here to there.
#[inline]
fn rises(steepest: &mut [f32], here: &[f32], there: &[f32], share: f32) {
    for ((steepest, here), there) in steepest.iter_mut().zip(here).zip(there) {
        let rise = (there - here) * share;
        *steepest = if rise > *steepest { rise } else { *steepest };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_ground_sees_the_whole_sky_and_a_gap_little_of_it() {
        let flat = Field::from_cells(64, |_, _| 3.0);
        assert!(occlusion(&flat, 2.0, 0.5).as_slice().iter().all(|&v| v == 1.0));
        let gap = Field::from_cells(64, |col, _| if col == 0 { 0.0 } else { 0.5 });
        let seen = occlusion(&gap, 2.0, 0.5);
        // Open along the gap, all but closed across it.
        assert!((0.2..0.35).contains(&seen.at(0, 10)), "{}", seen.at(0, 10));
        assert_eq!(seen.at(1, 10), 1.0);
    }
}
