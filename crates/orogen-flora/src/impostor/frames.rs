//! Where frames are seen from.

use orogen_core::math;

use super::Form;
use crate::frame::{Vec3, cross, scaled, unit};

/// Octahedral frames along a side of the atlas.
pub const SIDE: usize = 8;

/// How a frame is seen: from far away, without perspective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameView {
    /// Towards the viewer; of length 1.
    pub back: [f64; 3],
    /// Where columns run to.
    pub right: [f64; 3],
    /// Where rows come from.
    pub up: [f64; 3],
}

impl FrameView {
    /// The view from a side; upright, or from exactly above with north on top.
    #[must_use]
    pub fn from(back: [f64; 3]) -> Self {
        let back = unit(back);
        let right = if back[2].abs() > 0.9999 {
            [back[2].signum(), 0.0, 0.0]
        } else {
            unit(cross([0.0, 0.0, 1.0], back))
        };
        Self { back, right, up: cross(back, right) }
    }
}

/// The frames of a form, row by row.
pub fn frames(form: Form) -> Vec<FrameView> {
    match form {
        Form::Octahedral => {
            let place = |k: usize| 2.0 * k as f64 / (SIDE - 1) as f64 - 1.0;
            (0..SIDE * SIDE)
                .map(|frame| FrameView::from(direction([place(frame % SIDE), place(frame / SIDE)])))
                .collect()
        }
        Form::Quads => upright(8),
        Form::Crossed => upright(3),
        Form::Axial => upright(1),
    }
}

/// Views from `count` sides that halve the horizon evenly, the first from the south; the back of each is the view from the
/// other side.
fn upright(count: usize) -> Vec<FrameView> {
    (0..count)
        .map(|k| {
            let angle = std::f64::consts::PI * k as f64 / count as f64;
            FrameView::from([math::sin(angle), -math::cos(angle), 0.0])
        })
        .collect()
}

/// The direction that a place on the square, from -1 to 1 along both sides, stands for. Its rim is the horizon, its middle above.
pub fn direction([s, t]: [f64; 2]) -> Vec3 {
    let (x, y) = (0.5 * (s + t), 0.5 * (s - t));
    unit([x, y, 1.0 - x.abs() - y.abs()])
}

/// The place on the square of a direction; of one below the horizon, that of the horizon above it.
pub fn place(way: Vec3) -> [f64; 2] {
    let [x, y, z] = [way[0], way[1], way[2].max(0.0)];
    let all = x.abs() + y.abs() + z;
    if all < 1e-12 {
        return [0.0, 0.0];
    }
    let [x, y, _] = scaled([x, y, z], 1.0 / all);
    [x + y, x - y]
}

/// The three frames around a direction, and their shares.
pub fn nearest(way: Vec3) -> [(usize, f64); 3] {
    let grid = place(way).map(|v| ((0.5 + 0.5 * v) * (SIDE - 1) as f64).clamp(0.0, (SIDE - 1) as f64));
    let cell = grid.map(|v| (v as usize).min(SIDE - 2));
    let [s, t] = [0, 1].map(|k| grid[k] - cell[k] as f64);
    let frame = |col: usize, row: usize| (cell[1] + row) * SIDE + cell[0] + col;
    if s + t < 1.0 {
        [(frame(0, 0), 1.0 - s - t), (frame(1, 0), s), (frame(0, 1), t)]
    } else {
        [(frame(1, 1), s + t - 1.0), (frame(0, 1), 1.0 - s), (frame(1, 0), 1.0 - t)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::dot;

    #[test]
    fn places_and_directions_are_one_to_one() {
        for row in 0..=20 {
            for col in 0..=20 {
                let from = [col, row].map(|v| f64::from(v) / 10.0 - 1.0);
                let way = direction(from);
                assert!((dot(way, way) - 1.0).abs() < 1e-12 && way[2] > -1e-12);
                let back = place(way);
                assert!((0..2).all(|k| (back[k] - from[k]).abs() < 1e-9), "{from:?} {back:?}");
            }
        }
        assert_eq!(place([0.0, 0.0, -1.0]), [0.0, 0.0]);
    }

    #[test]
    fn shares_sum_to_one_and_a_frames_own_direction_is_itself() {
        let all = frames(Form::Octahedral);
        for (number, frame) in all.iter().enumerate() {
            let found = nearest(frame.back);
            let own: f64 = found.iter().filter(|(at, _)| *at == number).map(|(_, share)| share).sum();
            assert!((own - 1.0).abs() < 1e-9, "{number}: {found:?}");
        }
        for k in 0..500 {
            let angle = 0.37 * f64::from(k);
            let way = unit([math::cos(angle), math::sin(angle), f64::from(k % 40) / 20.0 - 0.4]);
            let found = nearest(way);
            assert!((found.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(found.iter().all(|(at, share)| *at < 64 && (-1e-9..=1.0 + 1e-9).contains(share)));
            // None of them looks from far beside it, and those from near have most of it.
            let horizon = unit([way[0], way[1], way[2].max(0.0)]);
            let near: f64 = found.iter().map(|(at, share)| share * dot(all[*at].back, horizon)).sum();
            assert!(near > 0.94, "{way:?}: {near}");
        }
    }

    #[test]
    fn axes_are_at_right_angles_and_right_handed() {
        for form in Form::ALL {
            let [across, down] = form.layout();
            assert_eq!(frames(form).len(), across * down);
            for frame in frames(form) {
                let crossed = cross(frame.right, frame.up);
                assert!((0..3).all(|k| (crossed[k] - frame.back[k]).abs() < 1e-12), "{frame:?}");
                assert!(frame.up[2] > -1e-12);
            }
        }
    }
}
