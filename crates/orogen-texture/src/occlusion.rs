//! Ambient occlusion: how much of the sky a place sees over the heights around it.

use crate::field::Field;

/// Azimuths that are looked along, as steps of the grid, and their lengths.
const AZIMUTHS: [([isize; 2], f32); 8] = [
    ([1, 0], 1.0),
    ([1, 1], 1.414_213_5),
    ([0, 1], 1.0),
    ([-1, 1], 1.414_213_5),
    ([-1, 0], 1.0),
    ([-1, -1], 1.414_213_5),
    ([0, -1], 1.0),
    ([1, -1], 1.414_213_5),
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
    Field::from_cells(size, |col, row| {
        let here = height_m.row(row)[col];
        let mut light = 0.0;
        for ([dx, dy], length) in AZIMUTHS {
            let mut steepest = 0.0f32;
            for &step in &steps {
                let there = height_m.at(col as isize + dx * step, row as isize + dy * step);
                steepest = steepest.max((there - here) / (step as f32 * spacing * length));
            }
            light += 1.0 / (1.0 + steepest * steepest);
        }
        light / AZIMUTHS.len() as f32
    })
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
