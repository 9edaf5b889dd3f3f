//! How the ground rises, measured over a length in metres, so that finer samples of the same land say the same.

use orogen_core::Raster;

/// The gradient of heights without holes, over a length.
pub struct Ground<'a> {
    height: &'a Raster<f32>,
    spacing_m: [f64; 2],
    /// Samples to either side.
    half: [usize; 2],
}

impl<'a> Ground<'a> {
    /// Measured over so many metres, or two samples where they lie farther apart.
    pub fn over(height: &'a Raster<f32>, spacing_m: [f64; 2], over_m: f64) -> Self {
        let half = spacing_m.map(|spacing| ((over_m / 2.0 / spacing).round().min(1e6) as usize).max(1));
        Self { height, spacing_m, half }
    }

    /// Rise a metre to the east and to the north: differences over the length, twice by the own row or column and once by
    /// those half the length away. A plane has its own gradient up to the edges.
    #[inline]
    pub fn gradient(&self, col: usize, row: usize) -> (f32, f32) {
        let [across, down] = self.half;
        let (west, east) = (col.saturating_sub(across), (col + across).min(self.height.cols() - 1));
        let (north, south) = (row.saturating_sub(down), (row + down).min(self.height.rows() - 1));
        let [n, m, s] = [north, row, south].map(|row| {
            let line = self.height.row(row);
            [line[west], line[col], line[east]]
        });
        let per =
            |count: usize, spacing: f64| if count > 0 { 1.0 / (4.0 * count as f64 * spacing) } else { 0.0 };
        let (dx, dy) =
            (per(east - west, self.spacing_m[0]) as f32, per(south - north, self.spacing_m[1]) as f32);
        let p = ((n[2] - n[0]) + 2.0 * (m[2] - m[0]) + (s[2] - s[0])) * dx;
        let q = ((n[0] - s[0]) + 2.0 * (n[1] - s[1]) + (n[2] - s[2])) * dy;
        (p, q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_has_its_gradient_everywhere() {
        let plane = Raster::from_fn(40, 30, |c, r| 2.0 * c as f32 + 3.0 * r as f32);
        for over_m in [1.0, 60.0, 1e9] {
            let ground = Ground::over(&plane, [10.0, 20.0], over_m);
            for (col, row) in [(0, 0), (20, 15), (39, 29), (3, 29)] {
                let (p, q) = ground.gradient(col, row);
                assert!((p - 0.2).abs() < 1e-6 && (q + 0.15).abs() < 1e-6, "{over_m}: {p} {q}");
            }
        }
    }
}
