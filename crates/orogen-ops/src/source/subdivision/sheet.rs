//! A window of the world's lattice of equilateral triangles, and the smooth surface over it.

use orogen_core::{Raster, Rect, Seed};

/// Height of a triangle of edge 1.
const TALL: f64 = 0.866_025_403_784_438_6;

/// A point of the lattice: `half` half edges along its line, on line `line`. Both are even or both are odd.
///
/// ```text
/// lines run west to east:  x = half · s/2,  y = line · s·√3/2        turned: x and y change places
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub half: i64,
    pub line: i64,
    /// Whether lines run south to north.
    pub turned: bool,
    /// Column and row in storage, of the world.
    pub x: i64,
    pub y: i64,
}

impl Place {
    #[inline]
    pub fn new(half: i64, line: i64, turned: bool) -> Self {
        let (x, y) = if turned { (line, half >> 1) } else { (half >> 1, line) };
        Self { half, line, turned, x, y }
    }

    #[inline]
    fn stored(x: i64, y: i64, turned: bool) -> Self {
        let (half, line) = if turned { (2 * y + (x & 1), x) } else { (2 * x + (y & 1), y) };
        Self { half, line, turned, x, y }
    }

    /// The six neighbours, counter-clockwise from the one further along the line (clockwise when turned).
    #[inline]
    pub fn neighbours(&self) -> [Self; 6] {
        let to = |half: i64, line: i64| Self::new(self.half + half, self.line + line, self.turned);
        [to(2, 0), to(1, 1), to(-1, 1), to(-2, 0), to(-1, -1), to(1, -1)]
    }

    /// Where the point lies in a lattice of such edges, in metres.
    pub fn position_m(&self, edge_m: f64) -> [f64; 2] {
        let along = 0.5 * self.half as f64 * edge_m;
        let across = self.line as f64 * TALL * edge_m;
        if self.turned { [across, along] } else { [along, across] }
    }
}

/// Values at the points of a lattice on a window.
pub(super) struct Sheet {
    edge_m: f64,
    turned: bool,
    /// Column and row of the first value, of the world; rows go north.
    first: [i64; 2],
    values: Raster<f32>,
}

impl Sheet {
    /// A lattice of zeros that covers a rectangle.
    pub fn new(edge_m: f64, turned: bool, extent: &Rect) -> Self {
        let step = if turned { [edge_m * TALL, edge_m] } else { [edge_m, edge_m * TALL] };
        // Every second line lies half an edge further along.
        let low = [0, 1].map(|k| (extent.min[k] / step[k] - 0.5).floor() as i64);
        let high = [0, 1].map(|k| (extent.max[k] / step[k]).ceil() as i64);
        let size = [0, 1].map(|k| (high[k] - low[k] + 1).max(1) as usize);
        Self { edge_m, turned, first: low, values: Raster::filled(size[0], size[1], 0.0) }
    }

    /// A finer lattice of zeros that covers a rectangle.
    pub fn blank(&self, scheme: super::Scheme, edge_m: f64, extent: &Rect) -> Self {
        Self::new(edge_m, self.turned != (scheme == super::Scheme::Sqrt3), extent)
    }

    /// The same window, of zeros.
    pub fn clone_shape(&self) -> Self {
        let values = Raster::filled(self.values.cols(), self.values.rows(), 0.0);
        Self { values, ..*self }
    }

    /// How many values it holds.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.values.as_slice().len()
    }

    pub fn edge_m(&self) -> f64 {
        self.edge_m
    }

    /// Sets every value to `f(place, seed of its row)`, in any order on any thread.
    pub fn fill(&mut self, f: impl Fn(Place, Seed) -> f32 + Sync, seed: Seed) {
        let (first, turned) = (self.first, self.turned);
        self.values.par_rows(|row, out| {
            let y = first[1] + row as i64;
            let own_seed = Seed(seed.bits(y as u64));
            for (col, v) in out.iter_mut().enumerate() {
                *v = f(Place::stored(first[0] + col as i64, y, turned), own_seed);
            }
        });
    }

    /// The value of a point; beyond the window that of its border, which only the border itself needs.
    #[inline]
    pub fn at(&self, place: &Place) -> f32 {
        self.values.clamped((place.x - self.first[0]) as isize, (place.y - self.first[1]) as isize)
    }

    /// The height of the surface at a place in metres.
    pub fn height(&self, x: f64, y: f64) -> f32 {
        let (along, across) = if self.turned { (y, x) } else { (x, y) };
        let line = across / (self.edge_m * TALL);
        let slant = along / self.edge_m - 0.5 * line;
        let (k, i) = (line.floor(), slant.floor());
        let (fk, fi) = ((line - k) as f32, (slant - i) as f32);
        let (k, i) = (k as i64, i as i64);
        // Point `i + a` of line `k + b`, counted along the slanted axis. Windows hold all that their samples need.
        let cols = self.values.cols() as i64;
        let along = if self.turned { cols } else { 1 };
        let lines: [i64; 4] = std::array::from_fn(|n| {
            let line = k - 1 + n as i64;
            let at = i + (line >> 1);
            let (x, y) = if self.turned { (line, at) } else { (at, line) };
            (y - self.first[1]) * cols + x - self.first[0]
        });
        let values = self.values.as_slice();
        let p = |a: i64, b: i64| {
            values.get((lines[(b + 1) as usize] + a * along) as usize).copied().unwrap_or(0.0)
        };
        if fi + fk < 1.0 {
            spline([1.0 - fi - fk, fi, fk], p)
        } else {
            // The other half of the rhombus: the same, turned by half a circle.
            spline([fi + fk - 1.0, 1.0 - fi, 1.0 - fk], |a, b| p(1 - a, 1 - b))
        }
    }
}

/// The quartic box spline of three directions on one triangle: what Loop's subdivision ends in.
///
/// `u v w` are the shares of its corners (0, 0), (1, 0) and (0, 1); `p(a, b)` is the point a, b steps from the first.
#[inline]
fn spline([u, v, w]: [f32; 3], p: impl Fn(i64, i64) -> f32) -> f32 {
    let own = |u: f32, v: f32, w: f32| {
        let (u2, v2, w2, vw) = (u * u, v * v, w * w, v * w);
        6.0 * u2 * u2
            + 24.0 * u2 * u * (v + w)
            + u2 * (24.0 * (v2 + w2) + 60.0 * vw)
            + u * (8.0 * (v2 * v + w2 * w) + 36.0 * vw * (v + w))
            + (v2 * v2 + w2 * w2 + 6.0 * vw * (v2 + w2) + 12.0 * v2 * w2)
    };
    // The point across the edge of the corners v and w.
    let beyond = |u: f32, v: f32, w: f32| {
        let (v2, w2, vw) = (v * v, w * w, v * w);
        v2 * v2
            + w2 * w2
            + 6.0 * vw * (v2 + w2)
            + 12.0 * v2 * w2
            + u * (2.0 * (v2 * v + w2 * w) + 6.0 * vw * (v + w))
    };
    // A point behind the corner u, on the side of v.
    let behind = |u: f32, v: f32| u * u * u * (u + 2.0 * v);
    let corners = own(u, v, w) * p(0, 0) + own(v, w, u) * p(1, 0) + own(w, u, v) * p(0, 1);
    let across = beyond(u, v, w) * p(1, 1) + beyond(v, w, u) * p(-1, 1) + beyond(w, u, v) * p(1, -1);
    let outer = (behind(u, v) * p(0, -1) + behind(u, w) * p(-1, 0))
        + (behind(v, u) * p(2, -1) + behind(v, w) * p(2, 0))
        + (behind(w, u) * p(-1, 2) + behind(w, v) * p(0, 2));
    (corners + across + outer) * (1.0 / 12.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    fn sheet(turned: bool, f: impl Fn([f64; 2]) -> f64 + Sync) -> Sheet {
        let extent = Rect { min: [-300.0, -250.0], max: [320.0, 280.0] };
        let mut sheet = Sheet::new(17.0, turned, &extent);
        sheet.fill(|place, _| f(place.position_m(17.0)) as f32, Seed(0));
        sheet
    }

    #[test]
    fn planes_are_met_exactly() {
        for turned in [false, true] {
            let plane = |[x, y]: [f64; 2]| 3.0 * x - 2.0 * y + 5.0;
            let sheet = sheet(turned, plane);
            for k in 0..500 {
                let place = [400.0 * Seed(1).unit(2 * k) - 200.0, 400.0 * Seed(1).unit(2 * k + 1) - 200.0];
                assert_close!(sheet.height(place[0], place[1]), plane(place), abs = 2e-3);
            }
        }
    }

    #[test]
    fn a_point_spreads_by_the_weights_of_the_limit_surface() {
        for turned in [false, true] {
            let mut sheet = sheet(turned, |_| 0.0);
            let middle = Place::new(0, 0, turned);
            sheet.fill(|place, _| if place == middle { 12.0 } else { 0.0 }, Seed(0));
            assert_close!(sheet.height(0.0, 0.0), 6.0, abs = 1e-4);
            for near in middle.neighbours() {
                let [x, y] = near.position_m(17.0);
                assert_close!(sheet.height(x, y), 1.0, abs = 1e-4);
            }
        }
    }

    #[test]
    fn the_surface_has_no_crease_between_triangles() {
        // Along a line through many triangles, slopes of neighbouring stretches differ by what a curve allows: with
        // stretches half as long, half as much. A crease would differ by as much.
        for turned in [false, true] {
            let sheet = sheet(turned, |[x, y]| 40.0 * Seed(9).unit2((x * 8.0) as i64, (y * 8.0) as i64));
            let bend = |step: f64| {
                let at = |k: i64| f64::from(sheet.height(0.31 * k as f64 * step, 0.77 * k as f64 * step));
                let n = (200.0 / step) as i64;
                (-n..n).map(|k| ((at(k + 1) + at(k - 1) - 2.0 * at(k)) / step).abs()).fold(0.0f64, f64::max)
            };
            let ratio = bend(1.0) / bend(0.5);
            assert!((1.7..2.3).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn windows_agree_on_places() {
        let small = Sheet::new(17.0, true, &Rect { min: [40.0, 30.0], max: [90.0, 80.0] });
        let place = Place::stored(small.first[0] + 2, small.first[1] + 1, true);
        assert_eq!(Place::new(place.half, place.line, true), place);
        assert_eq!((place.half - place.line).rem_euclid(2), 0);
    }
}
