//! Filters over the square of samples on which a block is solved.

/// Samples of a block along a side, without the margin around it.
pub const CORE: usize = 128;
/// Samples beyond the core that are kept, over which neighbouring blocks fade into each other.
pub const APRON: usize = 8;
/// Samples beyond the core that are solved.
pub const MARGIN: usize = 24;
/// Samples of what is solved along a side.
pub const SIDE: usize = CORE + 2 * MARGIN;
/// Samples of what is kept along a side.
pub const KEPT: usize = CORE + 2 * APRON + 1;
/// Samples of the level above around a block that interpolation reaches.
pub const REACH: usize = 3;
/// Samples of the level above that a block needs along a side.
pub const PARENT: usize = SIDE / 2 + 1 + 2 * REACH;
/// Samples of what is solved.
pub const COUNT: usize = SIDE * SIDE;

/// How values of the level above become twice as many a side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubling {
    /// A cubic spline nearly through the samples.
    Through,
    /// A cubic B-spline: never outside what the samples span.
    Within,
}

/// Twice as many samples a side. The first solved sample lies on sample [`REACH`] of the level above, or (`odd`) half a step
/// behind it.
pub fn doubled(parent: &[f32], how: Doubling, [odd_col, odd_row]: [bool; 2]) -> Vec<f32> {
    let (even, odd): ([f32; 5], [f32; 6]) = match how {
        Doubling::Through => (
            [-1.0, 4.0, 30.0, 4.0, -1.0].map(|w: f32| w / 36.0),
            [-1.0, -15.0, 160.0, 160.0, -15.0, -1.0].map(|w: f32| w / 288.0),
        ),
        Doubling::Within => (
            [0.0, 1.0, 4.0, 1.0, 0.0].map(|w: f32| w / 6.0),
            [0.0, 1.0, 23.0, 23.0, 1.0, 0.0].map(|w: f32| w / 48.0),
        ),
    };
    let mut wide = vec![0.0; PARENT * SIDE];
    for (line, out) in parent.chunks_exact(PARENT).zip(wide.chunks_exact_mut(SIDE)) {
        for (col, value) in out.iter_mut().enumerate() {
            let at = col + usize::from(odd_col);
            let from = &line[at / 2 + REACH - 2..];
            *value = if at % 2 == 0 {
                even.iter().zip(from).map(|(w, v)| w * v).sum()
            } else {
                odd.iter().zip(from).map(|(w, v)| w * v).sum()
            };
        }
    }
    let mut out = vec![0.0; COUNT];
    for (row, out) in out.chunks_exact_mut(SIDE).enumerate() {
        let at = row + usize::from(odd_row);
        let from = at / 2 + REACH - 2;
        let weights: &[f32] = if at % 2 == 0 { &even } else { &odd };
        for (k, weight) in weights.iter().enumerate() {
            let line = &wide[(from + k) * SIDE..][..SIDE];
            out.iter_mut().zip(line).for_each(|(out, v)| *out += weight * v);
        }
    }
    out
}

/// Binomial smoothing over five samples that lie `stride` apart, several times. Beyond the edge its samples go on.
pub fn blurred(mut values: Vec<f32>, times: usize, stride: usize) -> Vec<f32> {
    const WEIGHTS: [f32; 3] = [0.375, 0.25, 0.0625];
    let mut padded = vec![0.0; SIDE + 4 * stride];
    let mut other = vec![0.0; COUNT];
    for _ in 0..times {
        for (line, out) in values.chunks_exact(SIDE).zip(other.chunks_exact_mut(SIDE)) {
            padded[..2 * stride].fill(line[0]);
            padded[2 * stride..][..SIDE].copy_from_slice(line);
            padded[2 * stride + SIDE..].fill(line[SIDE - 1]);
            let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|k| &padded[k * stride..][..SIDE]);
            for i in 0..SIDE {
                out[i] = WEIGHTS[0] * c[i] + WEIGHTS[1] * (b[i] + d[i]) + WEIGHTS[2] * (a[i] + e[i]);
            }
        }
        for (row, out) in values.chunks_exact_mut(SIDE).enumerate() {
            let near = |k: usize| (row + k * stride).saturating_sub(2 * stride).min(SIDE - 1);
            let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|k| &other[near(k) * SIDE..][..SIDE]);
            for i in 0..SIDE {
                out[i] = WEIGHTS[0] * c[i] + WEIGHTS[1] * (b[i] + d[i]) + WEIGHTS[2] * (a[i] + e[i]);
            }
        }
    }
    values
}

/// Weighted 1, 2, 1 along rows and columns. The rim stays.
pub fn softened(values: &[f32]) -> Vec<f32> {
    let mut wide = values.to_vec();
    for (line, out) in values.chunks_exact(SIDE).zip(wide.chunks_exact_mut(SIDE)) {
        for i in 1..SIDE - 1 {
            out[i] = 0.5 * line[i] + 0.25 * (line[i - 1] + line[i + 1]);
        }
    }
    let mut out = wide.clone();
    for row in 1..SIDE - 1 {
        let [north, here, south] = [row - 1, row, row + 1].map(|row| &wide[row * SIDE..][..SIDE]);
        let out = &mut out[row * SIDE..][..SIDE];
        for i in 0..SIDE {
            out[i] = 0.5 * here[i] + 0.25 * (north[i] + south[i]);
        }
    }
    out
}

/// The squared slope at each sample, over two cells.
pub fn slope2_of(height: &[f32], [dx, dy]: [f32; 2]) -> Vec<f32> {
    let mut out = vec![0.0; COUNT];
    for (row, out) in out.chunks_exact_mut(SIDE).enumerate() {
        let (above, below) = (row.saturating_sub(1), (row + 1).min(SIDE - 1));
        let per_y = 1.0 / ((below - above) as f32 * dy);
        let line = |row: usize| &height[row * SIDE..][..SIDE];
        let (north, here, south) = (line(above), line(row), line(below));
        for col in 0..SIDE {
            let (west, east) = (col.saturating_sub(1), (col + 1).min(SIDE - 1));
            let p = (here[east] - here[west]) / ((east - west) as f32 * dx);
            let q = (south[col] - north[col]) * per_y;
            out[col] = p * p + q * q;
        }
    }
    out
}
