//! How the normals within a sample vary, so that it is as bright under any sun as what it is the mean of.

use super::draw::Surfel;

/// What is known of the normals of a frame beyond the mean of each sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relief {
    /// Shares of the variance of normals within samples, as xx, yy, zz, xy, xz and yz; the first three sum to 1.
    pub spread: [f32; 6],
    /// How much brighter the sun makes the whole frame than its samples say, in red, green and blue, by the sun's direction:
    /// factors of x, y, z, xx, yy, zz, xy, xz and yz.
    pub gains: [[f32; 9]; 3],
}

/// Least and greatest gain.
const GAINS: [f32; 2] = [0.5, 2.0];

impl Relief {
    /// For samples that are one surface each.
    pub const FLAT: Self =
        Self { spread: [0.0; 6], gains: [[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]; 3] };

    /// The sun's light on a sample, as a share of that on a surface that looks at the sun: what its front gets, and what comes
    /// through from behind.
    #[must_use]
    pub fn sun_on(&self, surfel: &Surfel, sun: [f32; 3]) -> f32 {
        let along: f32 = (0..3).map(|k| surfel.normal[k] * sun[k]).sum();
        let part: f32 = self.spread.iter().zip(squares(sun)).zip(TWICE).map(|((s, q), n)| s * q * n).sum();
        let size = mean_size(surfel.normal, along, part);
        // The means of max(0, x) and max(0, -x).
        0.5 * (size + along) + surfel.through * 0.5 * (size - along)
    }

    /// What the sun's light on the frame is multiplied by.
    #[must_use]
    pub fn gain(&self, sun: [f32; 3]) -> [f32; 3] {
        let terms = terms(sun);
        self.gains.map(|gains| {
            let sum: f32 = gains.iter().zip(terms).map(|(gain, term)| gain * term).sum();
            sum.clamp(GAINS[0], GAINS[1])
        })
    }
}

/// How often a product of two axes comes up in a square.
const TWICE: [f32; 6] = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];

fn squares([x, y, z]: [f32; 3]) -> [f32; 6] {
    [x * x, y * y, z * z, x * y, x * z, y * z]
}

fn terms(sun: [f32; 3]) -> [f32; 9] {
    let [a, b, c, d, e, f] = squares(sun);
    [sun[0], sun[1], sun[2], a, b, c, d, e, f]
}

/// The mean of |n · sun| over the normals n of a sample, of which their mean and `along`, its product with the sun, are known.
///
/// The shorter the mean, the more they vary: the variance over all axes is what its square lacks to 1, and `part` of it lies
/// along the sun. What they have in common with the sun is taken to be spread evenly.
fn mean_size(mean: [f32; 3], along: f32, part: f32) -> f32 {
    let all = (1.0 - mean.iter().map(|v| v * v).sum::<f32>()).max(0.0);
    let half = (3.0 * all * part).max(0.0).sqrt();
    if half > along.abs() { (along * along + half * half) / (2.0 * half) } else { along.abs() }
}

/// Suns that the gains are taken from, all above the horizon.
const SUNS: usize = 24;

fn suns() -> [[f32; 3]; SUNS] {
    std::array::from_fn(|k| {
        let up = (k as f64 + 0.5) / SUNS as f64;
        let turn = 2.399_963 * k as f64;
        let level = (1.0 - up * up).sqrt();
        [level * orogen_core::math::cos(turn), level * orogen_core::math::sin(turn), up].map(|v| v as f32)
    })
}

/// Gathers the relief of a frame from the points of its samples.
pub struct Gathered {
    suns: [[f32; 3]; SUNS],
    /// Of all points: their weight times the products of their normals, and what each sun gives them.
    squares: [f64; 6],
    sunlit: [[f64; 3]; SUNS],
    /// Means of samples, and what they cover.
    means: Vec<(Surfel, f32)>,
}

impl Gathered {
    pub fn new() -> Self {
        Self { suns: suns(), squares: [0.0; 6], sunlit: [[0.0; 3]; SUNS], means: Vec::new() }
    }

    /// Takes a point into account: what it weighs beside others of its sample, and what it covers.
    pub fn point(&mut self, surfel: &Surfel, weight: f32, cover: f32) {
        for (sum, square) in self.squares.iter_mut().zip(squares(surfel.normal)) {
            *sum += f64::from(weight * square);
        }
        let color = surfel.color.map(|v| v * cover);
        for (sum, sun) in self.sunlit.iter_mut().zip(&self.suns) {
            let along: f32 = (0..3).map(|k| surfel.normal[k] * sun[k]).sum();
            let lit = along.max(0.0) + surfel.through * (-along).max(0.0);
            for k in 0..3 {
                sum[k] += f64::from(color[k] * lit);
            }
        }
    }

    /// Takes a sample into account, which is the mean of its points.
    pub fn mean(&mut self, surfel: &Surfel, weight: f32, cover: f32) {
        for (sum, square) in self.squares.iter_mut().zip(squares(surfel.normal)) {
            *sum -= f64::from(weight * square);
        }
        self.means.push((*surfel, cover));
    }

    pub fn finish(&self) -> Relief {
        let all = self.squares[0] + self.squares[1] + self.squares[2];
        let third = 1.0 / 3.0;
        // Where all samples are flat, nothing varies.
        let spread = if all > 1e-9 {
            self.squares.map(|v| (v / all) as f32)
        } else {
            [third, third, third, 0.0, 0.0, 0.0]
        };
        let mut relief = Relief { spread, ..Relief::FLAT };
        // What the samples give under each sun.
        let found: Vec<[f64; 3]> = self
            .suns
            .iter()
            .map(|sun| {
                let mut sum = [0.0; 3];
                for (surfel, cover) in &self.means {
                    let lit = relief.sun_on(surfel, *sun) * cover;
                    for k in 0..3 {
                        sum[k] += f64::from(surfel.color[k] * lit);
                    }
                }
                sum
            })
            .collect();
        for channel in 0..3 {
            // The gains that make the whole frame as bright as its points under all suns, by least squares; a little is held to 1,
            // as not all of them differ under these suns.
            let mut normal = [[0.0f64; 9]; 9];
            let mut wanted = [0.0f64; 9];
            let total: f64 =
                self.means.iter().map(|(surfel, cover)| f64::from(surfel.color[channel] * cover)).sum();
            for (number, sun) in self.suns.iter().enumerate() {
                let (sunlit, found) = (self.sunlit[number][channel], found[number][channel]);
                // Where the sun gives little, the sky gives most.
                let each = 1.0 / (sunlit + 0.15 * total).max(1e-30);
                let terms = terms(*sun).map(|term| f64::from(term) * found * each);
                let missing = (sunlit - found) * each;
                for i in 0..9 {
                    wanted[i] += terms[i] * missing;
                    for j in 0..9 {
                        normal[i][j] += terms[i] * terms[j];
                    }
                }
            }
            for (i, row) in normal.iter_mut().enumerate() {
                row[i] += 1e-4;
            }
            for (gain, more) in relief.gains[channel].iter_mut().zip(solved(normal, wanted)) {
                *gain += more as f32;
            }
        }
        relief
    }
}

/// The solution of a symmetric, positive definite system, by elimination.
fn solved(mut rows: [[f64; 9]; 9], mut right: [f64; 9]) -> [f64; 9] {
    for pivot in 0..9 {
        for below in pivot + 1..9 {
            let factor = rows[below][pivot] / rows[pivot][pivot];
            for col in pivot..9 {
                rows[below][col] -= factor * rows[pivot][col];
            }
            right[below] -= factor * right[pivot];
        }
    }
    for pivot in (0..9).rev() {
        let known: f64 = (pivot + 1..9).map(|col| rows[pivot][col] * right[col]).sum();
        right[pivot] = (right[pivot] - known) / rows[pivot][pivot];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::math;

    /// The mean of |n · sun| over caps of all sizes is what a sum over many normals gives, to a twentieth.
    #[test]
    fn the_light_on_many_normals_is_known_from_their_mean() {
        for rim in [0.99f64, 0.8, 0.5, 0.0, -0.5] {
            for angle in 0..=9 {
                let lean = f64::from(angle) * 0.1745;
                let sun = [math::sin(lean), 0.0, math::cos(lean)];
                let (mut mean, mut size, mut square) = (0.0, 0.0, 0.0);
                let (rings, sides) = (200, 100);
                for ring in 0..rings {
                    let z = rim + (1.0 - rim) * (f64::from(ring) + 0.5) / f64::from(rings);
                    let wide = (1.0 - z * z).sqrt();
                    for side in 0..sides {
                        let turn = std::f64::consts::TAU * (f64::from(side) + 0.5) / f64::from(sides);
                        let x = sun[0] * wide * math::cos(turn) + sun[2] * z;
                        let share = 1.0 / f64::from(rings * sides);
                        size += x.abs() * share;
                        mean += z * share;
                        square += x * x * share;
                    }
                }
                let along = mean * sun[2];
                let part = (square - along * along) / (1.0 - mean * mean);
                let found = mean_size([0.0, 0.0, mean as f32], along as f32, part as f32);
                assert!((f64::from(found) - size).abs() < 0.05, "{rim} {angle}: {found} for {size}");
            }
        }
    }
}
