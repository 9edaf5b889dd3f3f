//! Beds and banks on samples of any spacing.

use orogen_core::{Frame, Raster, math};
use rayon::prelude::*;

use super::super::profile::{bed, shown_share};
use super::curves::{Curves, Node};

/// Rows that are cut together.
const BAND: usize = 16;
/// Cells of the recipe's lattice to a side of a tile of the index.
const TILE: f64 = 16.0;
/// Half the width that a river is cut at least, in samples: no sample that its line crosses stands in its way.
const LEAST_HALF: f64 = 0.5;
/// How fast ground beside the water rises that had to be filled, and to what share of the depth.
const LIP: [f64; 2] = [0.05, 0.5];

/// All pieces of all rivers, and where to find those near a place.
///
/// A sample looks at the nearest piece of each river, so that what lies up and down the stream does not count:
///
/// ```text
/// in the water      bed = z − d (1 − (off/half)²)
/// on its banks      z + (h − z) s(out/bank)
/// in its valley     z + 0.6 S out ≤ h ≤ z + 1.3 S out,  fading out over the valley
/// ```
///
/// `S` is the slope of the valley's side. Of several rivers the lower counts. Valleys are held before anything is cut.
#[derive(Debug, Default)]
pub(super) struct Beds {
    pieces: Vec<Piece>,
    /// South-west corner of the first tile, and the side of a tile.
    origin: [f64; 2],
    tile_m: f64,
    tiles: [usize; 2],
    /// Where the pieces of each tile begin in `of_tiles`.
    starts: Vec<u32>,
    of_tiles: Vec<u32>,
}

/// A straight piece of a river.
#[derive(Clone, Copy, Debug)]
struct Piece {
    river: u32,
    a: Node,
    b: Node,
    length: f64,
    /// How far from it land is changed.
    reach: f64,
}

/// How much less and more steep than the valley's side ground beside the water may be.
const SIDES: [f64; 2] = [0.6, 1.3];

/// From so many samples wide rivers are shown as water, at least so deep.
const BROOK: f64 = 0.3;
const FILM_M: f64 = 0.02;

/// What a sample sees of a river.
#[derive(Clone, Copy, Debug)]
struct Hit {
    /// By which the nearest piece of a river is found.
    key: f64,
    off: f64,
    z: f64,
    /// As it is, and half of it as it is cut.
    width: f64,
    half: f64,
    depth: f64,
    bank: f64,
    valley: f64,
    /// How steep the side of the valley is here.
    side: f64,
}

const NONE: Hit = Hit {
    key: f64::INFINITY,
    off: f64::INFINITY,
    z: 0.0,
    width: 0.0,
    half: 0.0,
    depth: 0.0,
    bank: 0.0,
    valley: 0.0,
    side: 0.0,
};

impl Beds {
    pub fn new(base: &Frame, curves: &Curves) -> Self {
        let mut pieces = Vec::new();
        for (river, chain) in curves.chains.iter().enumerate() {
            for pair in chain.windows(2).filter(|pair| !(pair[0].lake && pair[1].lake)) {
                let [a, b] = [pair[0], pair[1]];
                let reach = |n: &Node| 0.5 * n.width + n.bank.max(n.valley);
                let length = math::hypot(b.at[0] - a.at[0], b.at[1] - a.at[1]);
                pieces.push(Piece { river: river as u32, a, b, length, reach: reach(&a).max(reach(&b)) });
            }
        }
        let extent = base.extent();
        let [dx, dy] = base.spacing_m();
        let tile_m = TILE * dx.max(dy);
        let tiles = extent.size().map(|side| (side / tile_m).ceil().max(1.0) as usize);
        let mut beds =
            Self { pieces, origin: extent.min, tile_m, tiles, starts: Vec::new(), of_tiles: Vec::new() };
        // Counted, then laid down in the order of the pieces.
        let mut counts = vec![0u32; tiles[0] * tiles[1] + 1];
        for piece in &beds.pieces {
            beds.tiles_in(&piece.rect(0.0)).for_each(|tile| counts[tile + 1] += 1);
        }
        for i in 1..counts.len() {
            counts[i] += counts[i - 1];
        }
        let mut of_tiles = vec![0u32; counts.last().copied().unwrap_or(0) as usize];
        let mut next = counts.clone();
        for (number, piece) in beds.pieces.iter().enumerate() {
            for tile in beds.tiles_in(&piece.rect(0.0)) {
                of_tiles[next[tile] as usize] = number as u32;
                next[tile] += 1;
            }
        }
        (beds.starts, beds.of_tiles) = (counts, of_tiles);
        beds
    }

    /// Bytes that it keeps in memory.
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.pieces.as_slice()) + 4 * (self.starts.len() + self.of_tiles.len())
    }

    /// The tiles that a rectangle touches; what lies outside the map counts to its edge.
    fn tiles_in(&self, rect: &[[f64; 2]; 2]) -> impl Iterator<Item = usize> + use<> {
        let span = |axis: usize| {
            let tile = |at: f64| {
                ((at - self.origin[axis]) / self.tile_m).floor().clamp(0.0, (self.tiles[axis] - 1) as f64)
                    as usize
            };
            tile(rect[0][axis])..=tile(rect[1][axis])
        };
        let (x, y, cols) = (span(0), span(1), self.tiles[0]);
        y.flat_map(move |row| x.clone().map(move |col| row * cols + col))
    }

    /// Cuts beds and banks into the ground of a window and lays water into them. Where `levels` says that a lake stands,
    /// and at sea, nothing is changed.
    pub fn cut(
        &self,
        frame: &Frame,
        sea_m: f32,
        levels: &Raster<f32>,
        height: &mut Raster<f32>,
        water: &mut Raster<f32>,
    ) {
        let [dx, dy] = frame.spacing_m();
        let spacing = dx.max(dy);
        let least_half = LEAST_HALF * spacing;
        let extent = frame.extent().grown([spacing; 2]);
        let mut near: Vec<u32> = (self.tiles_in(&[extent.min, extent.max]))
            .flat_map(|tile| &self.of_tiles[self.starts[tile] as usize..self.starts[tile + 1] as usize])
            .copied()
            .collect();
        near.sort_unstable();
        near.dedup();
        near.retain(|&number| {
            let [low, high] = self.pieces[number as usize].rect(spacing);
            (0..2).all(|axis| low[axis] <= extent.max[axis] && high[axis] >= extent.min[axis])
        });
        if near.is_empty() {
            return;
        }
        let cols = frame.cols();
        let heights = height.as_mut_slice().par_chunks_mut(cols * BAND);
        heights.zip(water.as_mut_slice().par_chunks_mut(cols * BAND)).enumerate().for_each(
            |(band, (height, water))| {
                let first = band * BAND;
                let levels = &levels.as_slice()[first * cols..first * cols + height.len()];
                let hits = self.hits(frame, &near, first, height.len() / cols, least_half);
                apply(&hits, sea_m, spacing, levels, height, water);
            },
        );
    }

    /// What each sample of a band of rows sees of each river that it is near.
    fn hits(
        &self,
        frame: &Frame,
        near: &[u32],
        first: usize,
        rows: usize,
        least_half: f64,
    ) -> Vec<(u32, Hit)> {
        let cols = frame.cols();
        let [dx, dy] = frame.spacing_m();
        let (west, north) = (frame.x_m(0), frame.y_m(first));
        let mut hits = Vec::new();
        let mut nearest: Vec<Hit> = Vec::new();
        let mut touched: Vec<u32> = Vec::new();
        let mut river = u32::MAX;
        for &number in near {
            let piece = &self.pieces[number as usize];
            let [low, high] = piece.rect(least_half);
            let clamp = |at: f64, count: usize| at.clamp(0.0, count as f64) as usize;
            // A sample more than needed, so that no rounding leaves one out.
            let (from_row, to_row) = (
                clamp(((north - high[1]) / dy).floor() - 1.0, rows),
                clamp(((north - low[1]) / dy).ceil() + 2.0, rows),
            );
            if from_row >= to_row {
                continue;
            }
            let (from_col, to_col) = (
                clamp(((low[0] - west) / dx).floor() - 1.0, cols),
                clamp(((high[0] - west) / dx).ceil() + 2.0, cols),
            );
            if piece.river != river {
                flush(&mut nearest, &mut touched, &mut hits);
                river = piece.river;
            }
            if nearest.is_empty() {
                nearest = vec![NONE; cols * rows];
            }
            for row in from_row..to_row {
                let y = frame.y_m(first + row);
                for col in from_col..to_col {
                    let x = frame.x_m(col);
                    let (off, t, beside) = piece.off(x, y);
                    if off > piece.reach + least_half {
                        continue;
                    }
                    // Ends count where nothing lies beside.
                    let key = if beside { off } else { off + piece.length };
                    let slot = &mut nearest[row * cols + col];
                    if key < slot.key {
                        if slot.key == f64::INFINITY {
                            touched.push((row * cols + col) as u32);
                        }
                        *slot = Hit { key, ..piece.hit((x, y), off, t, least_half) };
                    }
                }
            }
        }
        flush(&mut nearest, &mut touched, &mut hits);
        hits
    }
}

fn flush(nearest: &mut [Hit], touched: &mut Vec<u32>, hits: &mut Vec<(u32, Hit)>) {
    for at in touched.drain(..) {
        hits.push((at, std::mem::replace(&mut nearest[at as usize], NONE)));
    }
}

/// Fills and cuts a band.
fn apply(
    hits: &[(u32, Hit)],
    sea_m: f32,
    spacing_m: f64,
    levels: &[f32],
    height: &mut [f32],
    water: &mut [f32],
) {
    let step = |share: f64| {
        let share = share.clamp(0.0, 1.0);
        share * share * (3.0 - 2.0 * share)
    };
    let is_land = |at: usize, h: f32| h > sea_m && levels[at] == f32::NEG_INFINITY;
    let lands: Vec<bool> = hits.iter().map(|(at, _)| is_land(*at as usize, height[*at as usize])).collect();
    for ((at, hit), _) in hits.iter().zip(&lands).filter(|(_, land)| **land) {
        let h = &mut height[*at as usize];
        let out = (hit.off - hit.half).max(0.0);
        let rise = hit.side * out;
        let least = hit.z + SIDES[0] * rise + (LIP[0] * out).min(LIP[1] * hit.depth);
        let most = hit.z + SIDES[1] * rise + hit.depth + LIP[0] * out;
        let here = f64::from(*h);
        *h += ((here.max(least).min(most.max(least)) - here) * (1.0 - step(out / hit.valley))) as f32;
    }
    // Banks are cut into the ground as it was filled.
    let ground: Vec<f32> = hits.iter().map(|(at, _)| height[*at as usize]).collect();
    for (((at, hit), ground), _) in hits.iter().zip(&ground).zip(&lands).filter(|(_, land)| **land) {
        let out = hit.off - hit.half;
        let (h, z) = (f64::from(*ground), hit.z);
        if out >= hit.bank || (out > 0.0 && h <= z) {
            continue;
        }
        let to = if out > 0.0 {
            z + (h - z) * step(out / hit.bank)
        } else {
            let across = hit.off / hit.half;
            let samples = hit.width / spacing_m;
            let shown = hit.depth * shown_share(samples) * (1.0 - across * across);
            // Brooks are at least wet, so that all that asks for water finds them.
            let shown = if samples > BROOK { shown.max(FILM_M.min(hit.depth)) } else { shown };
            bed(z as f32, shown, sea_m)
        };
        let height = &mut height[*at as usize];
        *height = height.min(to as f32);
    }
    // Water lies where a river has its width, at the height of the lowest that is there.
    for ((at, hit), _) in hits.iter().zip(&lands).filter(|((_, hit), land)| **land && hit.off < hit.half) {
        let (h, water) = (height[*at as usize], &mut water[*at as usize]);
        let depth = hit.z as f32 - h;
        // Less is rounding.
        let depth = if depth > 1e-3 { depth } else { 0.0 };
        *water = if *water > 0.0 { water.min(depth) } else { depth };
    }
}

impl Piece {
    /// The corners of what it can be felt in, and so much more.
    fn rect(&self, more_m: f64) -> [[f64; 2]; 2] {
        let by = self.reach + more_m;
        [
            [0, 1].map(|axis| self.a.at[axis].min(self.b.at[axis]) - by),
            [0, 1].map(|axis| self.a.at[axis].max(self.b.at[axis]) + by),
        ]
    }

    /// Distance from the line, how far along it, and whether the place lies beside it rather than before or beyond, at a place.
    ///
    /// Across is where the direction of the line points, which turns from one end of the piece to the other: so neighbouring pieces
    /// share the places beside them without a gap, and heights along the line carry over to its sides without a facet.
    #[inline]
    fn off(&self, x: f64, y: f64) -> (f64, f64, bool) {
        let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let (to_a, to_b) = ([x - self.a.at[0], y - self.a.at[1]], [x - self.b.at[0], y - self.b.at[1]]);
        let (first, last) = (dot(to_a, self.a.along), dot(to_b, self.b.along));
        let piece = [self.b.at[0] - self.a.at[0], self.b.at[1] - self.a.at[1]];
        let (t, beside) = if first < 0.0 {
            (0.0, false)
        } else if last > 0.0 {
            (1.0, false)
        } else {
            // The place is across from where its distance along the turning direction is 0: a t² + b t + c.
            let turn = [self.b.along[0] - self.a.along[0], self.b.along[1] - self.a.along[1]];
            let (c, a) = (first, -dot(piece, turn));
            let b = last - first - a;
            let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
            // The root that does not cancel; b is negative where the line goes forwards.
            let t = if b < 0.0 { 2.0 * c / (root - b) } else { first / (first - last).max(1e-12) };
            (t.clamp(0.0, 1.0), true)
        };
        (math::hypot(to_a[0] - t * piece[0], to_a[1] - t * piece[1]), t, beside)
    }

    fn hit(&self, (x, y): (f64, f64), off: f64, t: f64, least_half: f64) -> Hit {
        let mix = |of: fn(&Node) -> f64| of(&self.a) + (of(&self.b) - of(&self.a)) * t;
        let along = [self.b.at[0] - self.a.at[0], self.b.at[1] - self.a.at[1]];
        let cross = along[0] * (y - self.a.at[1]) - along[1] * (x - self.a.at[0]);
        let per = math::hypot(along[0], along[1]) * off;
        // 1 on the left, -1 on the right, between the two beyond an end.
        let left = if per > 0.0 { (cross / per).clamp(-1.0, 1.0) } else { 0.0 };
        let (l, r) = (mix(|n| n.sides[0]), mix(|n| n.sides[1]));
        Hit {
            key: off,
            off,
            z: mix(|n| n.z),
            width: mix(|n| n.width),
            half: (0.5 * mix(|n| n.width)).max(least_half),
            depth: mix(|n| n.depth),
            bank: mix(|n| n.bank),
            valley: mix(|n| n.valley),
            side: 0.5 * ((l + r) + (l - r) * left),
        }
    }
}
