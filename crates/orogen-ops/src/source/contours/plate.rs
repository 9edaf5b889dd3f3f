//! A thin plate that passes through given heights: the smoothest surface on a lattice that does.
//!
//! Minimises, over the heights h of the lattice's nodes, in units of its spacing,
//!
//! ```text
//! ½ Σ w (h_xx² + h_yy² + 2 h_xy²) + ½ Σ m (h_x² + h_y²)        subject to   Σ b_k h_k = z   for every pin
//! ```
//!
//! where a pin is a height at a place between nodes (b: weights of the four nodes round it), w is the stiffness of the plate and m the
//! tension of a membrane. Steps go down the gradient with momentum (Nesterov), each followed by a projection onto every
//! pin in turn: a place where that stands still is the minimum under the pins. Coarse lattices come first and hand on
//! what they found, so long waves are right before short ones begin.

use orogen_core::Cancelled;
use rayon::prelude::*;

use super::bounds::HeightBounds;

/// A lattice of nodes, row 0 in the south.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lattice {
    pub origin_m: [f64; 2],
    pub spacing_m: f64,
    pub cols: usize,
    pub rows: usize,
    /// How many columns and rows lie in the world; those beyond make it possible to halve.
    pub inside: [usize; 2],
}

impl Lattice {
    /// The lattice of twice the spacing; `None` when it would have hardly any nodes.
    fn coarser(&self) -> Option<Self> {
        let (cells_x, cells_y) = (self.cols - 1, self.rows - 1);
        if cells_x % 2 == 1 || cells_y % 2 == 1 || cells_x.min(cells_y) < 8 {
            return None;
        }
        let inside = self.inside.map(|count| (count - 1) / 2 + 1);
        let (cols, rows) = (cells_x / 2 + 1, cells_y / 2 + 1);
        Some(Self { spacing_m: 2.0 * self.spacing_m, cols, rows, inside, ..*self })
    }

    pub fn nodes(&self) -> usize {
        self.cols * self.rows
    }

    /// Column and row, as fractions, of a place.
    pub fn locate(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [(x - self.origin_m[0]) / self.spacing_m, (y - self.origin_m[1]) / self.spacing_m]
    }
}

/// A height between nodes: along a side of the lattice by the cubic that samples are read with, in a cell bilinear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pin {
    pub nodes: [u32; 4],
    pub weights: [f32; 4],
    pub z: f32,
}

/// What the plate is made of at each node: stiffness and tension.
pub(super) struct Stuff {
    pub stiffness: Vec<f32>,
    pub tension: Vec<f32>,
}

impl Stuff {
    /// Plate where a mark is 0, with so little of a membrane that it only decides what nothing else does; membrane
    /// where it is 1. A membrane weighs four times as much on a lattice of twice the spacing.
    pub fn of(marks: &[f32], halvings: u32) -> Self {
        let growth = (1u32 << (2 * halvings.min(8))) as f32;
        let taut = (0.25 * growth).min(4.0);
        Self {
            stiffness: marks.iter().map(|mark| 1.0 - 0.995 * mark).collect(),
            tension: marks.iter().map(|mark| (1e-6 * growth).min(1e-2) + taut * mark).collect(),
        }
    }
}

/// Marks on the lattice of twice the spacing: the greatest round about.
fn coarse_marks(marks: &[f32], from: &Lattice, to: &Lattice) -> Vec<f32> {
    (0..to.nodes())
        .map(|i| {
            let (col, row) = (2 * (i % to.cols), 2 * (i / to.cols));
            let rows = row.saturating_sub(1)..=(row + 1).min(from.rows - 1);
            let cols = col.saturating_sub(1)..=(col + 1).min(from.cols - 1);
            rows.flat_map(|r| cols.clone().map(move |c| marks[r * from.cols + c])).fold(0.0, f32::max)
        })
        .collect()
}

/// How a plate is worked out.
pub(super) struct Work<'a> {
    /// The pins of any lattice.
    pub pins: &'a dyn Fn(&Lattice) -> Vec<Pin>,
    /// Steps on each lattice but the coarsest.
    pub rounds: usize,
    /// Called every [`TICK`] steps.
    pub tick: &'a dyn Fn() -> Result<(), Cancelled>,
}

/// Steps between two reports.
pub(super) const TICK: usize = 10;

/// Steps on the coarsest lattice, which has no better guess to start from, and hardly any nodes.
pub(super) const COARSEST: usize = 1500;

/// The plate through pins, from the coarsest lattice to this one, which is so many halvings from the finest.
pub(super) fn solve(
    lattice: &Lattice,
    halvings: u32,
    marks: &[f32],
    work: &Work<'_>,
) -> Result<Vec<f32>, Cancelled> {
    let pins = (work.pins)(lattice);
    let (first, rounds) = match lattice.coarser() {
        Some(coarse) => {
            let found = solve(&coarse, halvings + 1, &coarse_marks(marks, lattice, &coarse), work)?;
            // Where nodes are few, steps cost nothing.
            (refined(&found, &coarse, lattice), work.rounds * (1 + halvings.min(4) as usize))
        }
        None => {
            let mean = pins.iter().map(|pin| f64::from(pin.z)).sum::<f64>() / pins.len().max(1) as f64;
            (vec![mean as f32; lattice.nodes()], COARSEST)
        }
    };
    relaxed(first, lattice, &pins, &Stuff::of(marks, halvings), None, rounds, work.tick)
}

/// The heights of a coarse lattice on one of half the spacing, by cubics.
fn refined(coarse: &[f32], from: &Lattice, to: &Lattice) -> Vec<f32> {
    let at = |col: isize, row: isize| {
        let col = col.clamp(0, from.cols as isize - 1) as usize;
        let row = row.clamp(0, from.rows as isize - 1) as usize;
        coarse[row * from.cols + col]
    };
    // Beyond an edge the surface goes on straight.
    let node = |col: isize, row: isize| {
        let (c, r) = (col.clamp(0, from.cols as isize - 1), row.clamp(0, from.rows as isize - 1));
        at(c, r) + (at(c, r) - at(2 * c - col, 2 * r - row)) * f32::from(u8::from(c != col || r != row))
    };
    let half = |a: f32, b: f32, c: f32, d: f32| 0.5625 * (b + c) - 0.0625 * (a + d);
    let mut out = vec![0.0; to.nodes()];
    out.par_chunks_mut(to.cols).with_min_len(BLOCK).enumerate().for_each(|(row, values)| {
        let r = (row / 2) as isize;
        for (col, value) in values.iter_mut().enumerate() {
            let c = (col / 2) as isize;
            let line = |r: isize| {
                if col % 2 == 0 {
                    node(c, r)
                } else {
                    half(node(c - 1, r), node(c, r), node(c + 1, r), node(c + 2, r))
                }
            };
            *value =
                if row % 2 == 0 { line(r) } else { half(line(r - 1), line(r), line(r + 1), line(r + 2)) };
        }
    });
    out
}

/// So many steps towards the minimum from a first guess, with every node between its bounds if it has any.
pub(super) fn relaxed(
    first: Vec<f32>,
    lattice: &Lattice,
    pins: &[Pin],
    stuff: &Stuff,
    bounds: Option<&HeightBounds>,
    rounds: usize,
    tick: &dyn Fn() -> Result<(), Cancelled>,
) -> Result<Vec<f32>, Cancelled> {
    let cols = lattice.cols;
    let mut now = first;
    project(&mut now, pins);
    let mut ahead = now.clone();
    let mut next = vec![0.0; lattice.nodes()];
    let mut bends = Bends::new(lattice);
    let mut momentum = 1.0f64;
    for round in 0..rounds {
        if round % TICK == 0 {
            tick()?;
        }
        bends.bend(&ahead, lattice, stuff);
        bends.step(&ahead, lattice, stuff, &mut next);
        bounds.inspect(|bounds| bounds.keep(&mut next));
        project(&mut next, pins);
        // Where the last move and the next disagree, momentum has carried too far: start afresh.
        let too_far = dot(cols, &ahead, &next, &now) > 0.0;
        let grown = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        let push = if too_far { 0.0 } else { ((momentum - 1.0) / grown) as f32 };
        momentum = if too_far { 1.0 } else { grown };
        ahead.par_chunks_mut(cols).with_min_len(BLOCK).enumerate().for_each(|(row, values)| {
            let (next, now) = (&next[row * cols..][..cols], &now[row * cols..][..cols]);
            for (value, (next, now)) in values.iter_mut().zip(next.iter().zip(now)) {
                *value = next + push * (next - now);
            }
        });
        std::mem::swap(&mut now, &mut next);
    }
    for _ in 0..20 {
        bounds.inspect(|bounds| bounds.keep(&mut now));
        project(&mut now, pins);
    }
    Ok(now)
}

/// Rows that a thread takes at least.
const BLOCK: usize = 32;

/// `(ahead − next) · (next − now)`, each row by itself and then the rows in order.
fn dot(cols: usize, ahead: &[f32], next: &[f32], now: &[f32]) -> f64 {
    let rows: Vec<f64> = ahead
        .par_chunks(cols)
        .with_min_len(BLOCK)
        .zip(next.par_chunks(cols))
        .zip(now.par_chunks(cols))
        .map(|((ahead, next), now)| {
            ahead.iter().zip(next).zip(now).map(|((a, n), o)| f64::from((a - n) * (n - o))).sum()
        })
        .collect();
    rows.iter().sum()
}

/// Moves the nodes round each pin, in turn, by the least that puts the surface onto it.
fn project(h: &mut [f32], pins: &[Pin]) {
    for pin in pins {
        let (mut found, mut norm) = (0.0, 0.0);
        for (node, weight) in pin.nodes.iter().zip(pin.weights) {
            found += weight * h[*node as usize];
            norm += weight * weight;
        }
        let push = (pin.z - found) / norm;
        for (node, weight) in pin.nodes.iter().zip(pin.weights) {
            h[*node as usize] += weight * push;
        }
    }
}

/// Second differences times stiffness, and what follows from them; buffers that every step uses again.
struct Bends {
    xx: Vec<f32>,
    yy: Vec<f32>,
    /// Of the cell whose south-west node this is.
    xy: Vec<f32>,
}

impl Bends {
    fn new(lattice: &Lattice) -> Self {
        let zero = || vec![0.0; lattice.nodes()];
        Self { xx: zero(), yy: zero(), xy: zero() }
    }

    fn bend(&mut self, h: &[f32], lattice: &Lattice, stuff: &Stuff) {
        let (cols, rows) = (lattice.cols, lattice.rows);
        let rows_of = self
            .xx
            .par_chunks_mut(cols)
            .with_min_len(BLOCK)
            .zip(self.yy.par_chunks_mut(cols))
            .zip(self.xy.par_chunks_mut(cols));
        rows_of.enumerate().for_each(|(row, ((xx, yy), xy))| {
            let here = &h[row * cols..][..cols];
            let stiff = &stuff.stiffness[row * cols..][..cols];
            for c in 1..cols - 1 {
                xx[c] = stiff[c] * (here[c - 1] - 2.0 * here[c] + here[c + 1]);
            }
            if row > 0 && row + 1 < rows {
                let (south, north) = (&h[(row - 1) * cols..][..cols], &h[(row + 1) * cols..][..cols]);
                for c in 0..cols {
                    yy[c] = stiff[c] * (south[c] - 2.0 * here[c] + north[c]);
                }
            }
            if row + 1 < rows {
                let north = &h[(row + 1) * cols..][..cols];
                for c in 0..cols - 1 {
                    xy[c] = 2.0 * stiff[c] * (here[c] - here[c + 1] - north[c] + north[c + 1]);
                }
            }
        });
    }

    /// One step down the gradient, into `out`.
    fn step(&self, h: &[f32], lattice: &Lattice, stuff: &Stuff, out: &mut [f32]) {
        let (cols, rows) = (lattice.cols, lattice.rows);
        // The greatest eigenvalue: 64 for the plate and 8 for the membrane.
        const STEP: f32 = 1.0 / 72.0;
        out.par_chunks_mut(cols).with_min_len(BLOCK).enumerate().for_each(|(row, out)| {
            let at = row * cols;
            let (xx, yy, xy) = (&self.xx[at..][..cols], &self.yy[at..][..cols], &self.xy[at..][..cols]);
            let (here, tension) = (&h[at..][..cols], &stuff.tension[at..][..cols]);
            for c in 0..cols {
                out[c] = -2.0 * (xx[c] + yy[c]) + xy[c];
            }
            for c in 1..cols {
                out[c] += xx[c - 1] - xy[c - 1];
                out[c - 1] += xx[c];
                let pull = 0.5 * (tension[c] + tension[c - 1]) * (here[c] - here[c - 1]);
                out[c] += pull;
                out[c - 1] -= pull;
            }
            if row > 0 {
                let below = at - cols;
                let (yy, xy) = (&self.yy[below..][..cols], &self.xy[below..][..cols]);
                let (south, slack) = (&h[below..][..cols], &stuff.tension[below..][..cols]);
                for c in 0..cols {
                    out[c] += yy[c] - xy[c] + 0.5 * (tension[c] + slack[c]) * (here[c] - south[c]);
                }
                for c in 1..cols {
                    out[c] += xy[c - 1];
                }
            }
            if row + 1 < rows {
                let above = at + cols;
                let yy = &self.yy[above..][..cols];
                let (north, slack) = (&h[above..][..cols], &stuff.tension[above..][..cols]);
                for c in 0..cols {
                    out[c] += yy[c] + 0.5 * (tension[c] + slack[c]) * (here[c] - north[c]);
                }
            }
            for c in 0..cols {
                out[c] = here[c] - STEP * out[c];
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATTICE: Lattice =
        Lattice { origin_m: [0.0, 0.0], spacing_m: 1.0, cols: 17, rows: 17, inside: [17, 17] };

    fn square(x: f64) -> f64 {
        x * x
    }

    fn energy(h: &[f32], lattice: &Lattice, stuff: &Stuff) -> f64 {
        let at = |c: usize, r: usize| f64::from(h[r * lattice.cols + c]);
        let mut sum = 0.0;
        for r in 0..lattice.rows {
            for c in 0..lattice.cols {
                let w = f64::from(stuff.stiffness[r * lattice.cols + c]);
                let m = |c: usize, r: usize| f64::from(stuff.tension[r * lattice.cols + c]);
                let (inner_c, inner_r) =
                    ((1..lattice.cols - 1).contains(&c), (1..lattice.rows - 1).contains(&r));
                if inner_c {
                    sum += w * square(at(c - 1, r) - 2.0 * at(c, r) + at(c + 1, r));
                }
                if inner_r {
                    sum += w * square(at(c, r - 1) - 2.0 * at(c, r) + at(c, r + 1));
                }
                if c + 1 < lattice.cols && r + 1 < lattice.rows {
                    sum += 2.0 * w * square(at(c, r) - at(c + 1, r) - at(c, r + 1) + at(c + 1, r + 1));
                }
                if c > 0 {
                    sum += 0.5 * (m(c, r) + m(c - 1, r)) * square(at(c, r) - at(c - 1, r));
                }
                if r > 0 {
                    sum += 0.5 * (m(c, r) + m(c, r - 1)) * square(at(c, r) - at(c, r - 1));
                }
            }
        }
        0.5 * sum
    }

    #[test]
    fn a_step_goes_down_the_gradient_of_the_energy() {
        let seed = orogen_core::Seed(3);
        let random = |k: u64| (0..289u64).map(|i| seed.unit(1000 * k + i) as f32).collect::<Vec<f32>>();
        let (h, stuff) = (random(0), Stuff { stiffness: random(1), tension: random(2) });
        let mut bends = Bends::new(&LATTICE);
        bends.bend(&h, &LATTICE, &stuff);
        let mut stepped = vec![0.0; 289];
        bends.step(&h, &LATTICE, &stuff, &mut stepped);
        for node in [0, 5, 16, 17, 40, 100, 144, 271, 272, 288] {
            let (mut up, mut down) = (h.clone(), h.clone());
            up[node] += 0.01;
            down[node] -= 0.01;
            let slope = (energy(&up, &LATTICE, &stuff) - energy(&down, &LATTICE, &stuff)) / 0.02;
            let found = f64::from((h[node] - stepped[node]) * 72.0);
            assert!((slope - found).abs() < 2e-3 * (1.0 + slope.abs()), "node {node}: {slope} and {found}");
        }
    }

    #[test]
    fn a_plane_through_pins_is_found_and_kept() {
        let pins = |lattice: &Lattice| {
            [[2.3, 3.1], [12.9, 4.4], [7.7, 14.2], [3.0, 11.0]]
                .iter()
                .map(|&p| {
                    let [u, v] = lattice.locate(p);
                    let (c, r) = (u.floor(), v.floor());
                    let (s, t) = ((u - c) as f32, (v - r) as f32);
                    let n = (r as usize * lattice.cols + c as usize) as u32;
                    Pin {
                        nodes: [n, n + 1, n + lattice.cols as u32, n + lattice.cols as u32 + 1],
                        weights: [(1.0 - s) * (1.0 - t), s * (1.0 - t), (1.0 - s) * t, s * t],
                        z: (5.0 + 2.0 * p[0] - p[1]) as f32,
                    }
                })
                .collect()
        };
        let work = Work { pins: &pins, rounds: 400, tick: &|| Ok(()) };
        let h = solve(&LATTICE, 0, &[0.0; 289], &work).unwrap();
        for (i, h) in h.iter().enumerate() {
            let truth = 5.0 + 2.0 * (i % 17) as f32 - (i / 17) as f32;
            assert!((h - truth).abs() < 0.2, "node {i}: {h} instead of {truth}");
        }
    }

    #[test]
    fn refining_keeps_a_quadratic_inside() {
        let coarse = LATTICE.coarser().unwrap();
        let f = |x: f64, y: f64| 0.1 * x * x - 0.05 * x * y + 3.0 * y;
        let from: Vec<f32> =
            (0..81).map(|i| f(f64::from(i % 9) * 2.0, f64::from(i / 9) * 2.0) as f32).collect();
        let fine = refined(&from, &coarse, &LATTICE);
        for r in 3..14 {
            for c in 3..14 {
                assert!((fine[r * 17 + c] - f(c as f64, r as f64) as f32).abs() < 1e-4);
            }
        }
    }
}
