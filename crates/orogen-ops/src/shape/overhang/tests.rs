use super::*;
use crate::shape::Terrace;
use crate::source;
use crate::test_support;
use orogen_core::Seed;

const SIDE_M: f64 = 960.0;

fn land(height: Raster<f32>) -> Terrain {
    let mut terrain = Terrain::new(Frame::square(SIDE_M, height.cols()).unwrap());
    terrain.set(layer::HEIGHT, height);
    terrain
}

/// Level ground with a cliff along a winding line, 90 m high and as steep as `width_m` makes it.
fn winding_cliff(samples: usize, width_m: f32) -> Terrain {
    let cell = SIDE_M as f32 / (samples - 1) as f32;
    land(Raster::from_fn(samples, samples, |col, row| {
        let (x, y) = (col as f32 * cell, row as f32 * cell);
        let line = 480.0 + 90.0 * math::f32::sin(y / 140.0) + 25.0 * math::f32::sin(y / 41.0);
        90.0 * smoothstep(-0.5 * width_m, 0.5 * width_m, x - line) + 0.02 * x
    }))
}

fn mountains(samples: usize) -> Terrain {
    let noise =
        source::Noise { amplitude_m: 140.0.into(), wavelength_m: 500.0, octaves: 8, ..Default::default() };
    noise.apply(Terrain::new(Frame::square(SIDE_M, samples).unwrap()), &Ctx::new(Seed(5))).unwrap()
}

fn terraces(samples: usize) -> Terrain {
    let steps = Terrace { step_m: 80.0, riser: 0.2, strength: Coef::Const(1.0), ..Default::default() };
    steps.apply(mountains(samples), &Ctx::new(Seed(6))).unwrap()
}

fn lean_over(op: &Overhang, land: Terrain) -> Terrain {
    op.apply(land, &Ctx::new(Seed(7))).unwrap()
}

/// Triangles of the moved land: corners as numbers and as places.
struct Mesh {
    places: Vec<[f64; 3]>,
    triangles: Vec<[usize; 3]>,
}

impl Mesh {
    fn of(terrain: &Terrain) -> Self {
        let (frame, height) = (terrain.frame(), terrain.get(layer::HEIGHT).unwrap());
        let [x, y, z] = [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z]
            .map(|layer| terrain.get(layer).unwrap().as_slice());
        let cols = frame.cols();
        let places = (0..frame.len())
            .map(|i| {
                let (col, row) = (i % cols, i / cols);
                [
                    frame.x_m(col) + f64::from(x[i]),
                    frame.y_m(row) + f64::from(y[i]),
                    f64::from(height.as_slice()[i]) + f64::from(z[i]),
                ]
            })
            .collect();
        let quads = (0..frame.rows() - 1).flat_map(|r| (0..cols - 1).map(move |c| r * cols + c));
        let triangles = quads.flat_map(|i| [[i, i + cols, i + 1], [i + 1, i + cols, i + cols + 1]]).collect();
        Self { places, triangles }
    }

    fn corners(&self, triangle: usize) -> [[f64; 3]; 3] {
        self.triangles[triangle].map(|corner| self.places[corner])
    }

    /// Triangles by the square of `cell` metres that they lie over.
    fn by_place(&self, cell: f64) -> std::collections::BTreeMap<(i64, i64), Vec<usize>> {
        let mut found: std::collections::BTreeMap<_, Vec<usize>> = Default::default();
        for triangle in 0..self.triangles.len() {
            let corners = self.corners(triangle);
            let ends = [0, 1].map(|axis| {
                let values = corners.map(|corner| (corner[axis] / cell).floor() as i64);
                (values.into_iter().min().unwrap(), values.into_iter().max().unwrap())
            });
            for x in ends[0].0..=ends[0].1 {
                for y in ends[1].0..=ends[1].1 {
                    found.entry((x, y)).or_default().push(triangle);
                }
            }
        }
        found
    }

    /// Pairs of triangles that pass through each other.
    fn crossings(&self) -> usize {
        let mut found = std::collections::BTreeSet::new();
        for near in self.by_place(12.0).values() {
            for &a in near {
                for &b in near {
                    if a != b && self.pierces(a, b) {
                        found.insert((a.min(b), a.max(b)));
                    }
                }
            }
        }
        found.len()
    }

    /// Whether an edge of one triangle passes through another that it does not touch.
    fn pierces(&self, a: usize, b: usize) -> bool {
        let (ta, tb) = (self.triangles[a], self.triangles[b]);
        (0..3).any(|i| {
            let (from, to) = (ta[i], ta[(i + 1) % 3]);
            !tb.contains(&from)
                && !tb.contains(&to)
                && passes(self.places[from], self.places[to], self.corners(b))
        })
    }

    /// How often upright lines through the middles of a lattice meet the surface.
    fn hits(&self, margin_m: f64) -> Vec<usize> {
        let by_place = self.by_place(12.0);
        let mut counts = Vec::new();
        let lines = 150;
        for i in 0..lines {
            for j in 0..lines {
                let at = |k: usize| {
                    margin_m + (SIDE_M - 2.0 * margin_m) * (k as f64 + 0.4142) / f64::from(lines as u32)
                };
                let (x, y) = (at(i), at(j) + 0.0377);
                let cell = ((x / 12.0).floor() as i64, (y / 12.0).floor() as i64);
                let near = by_place.get(&cell).map_or(&[][..], Vec::as_slice);
                let hit = |t: &&usize| passes([x, y, -1e4], [x, y, 1e4], self.corners(**t));
                counts.push(near.iter().filter(hit).count());
            }
        }
        counts
    }
}

/// Whether a line from `p` to `q` passes through a triangle.
fn passes(p: [f64; 3], q: [f64; 3], [a, b, c]: [[f64; 3]; 3]) -> bool {
    let minus = |u: [f64; 3], v: [f64; 3]| [u[0] - v[0], u[1] - v[1], u[2] - v[2]];
    let volume = |o: [f64; 3], u: [f64; 3], v: [f64; 3], w: [f64; 3]| {
        let (u, v, w) = (minus(u, o), minus(v, o), minus(w, o));
        u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0])
            + u[2] * (v[0] * w[1] - v[1] * w[0])
    };
    let sides = volume(p, a, b, c) * volume(q, a, b, c);
    let turns = [volume(p, q, a, b), volume(p, q, b, c), volume(p, q, c, a)];
    sides < 0.0 && (turns.iter().all(|v| *v > 0.0) || turns.iter().all(|v| *v < 0.0))
}

fn all_lands(samples: usize) -> [(&'static str, Terrain); 4] {
    [
        ("steep cliff", winding_cliff(samples, 30.0)),
        ("cliff of one cell", winding_cliff(samples, 1.0)),
        ("mountains", mountains(samples)),
        ("terraces", terraces(samples)),
    ]
}

#[test]
fn cliffs_hang_over_where_asked_and_nowhere_else() {
    let [(_, cliff), .., (_, terraces)] = all_lands(161);
    for (undercut, land) in [(0.0, &cliff), (0.5, &cliff), (1.0, &cliff), (0.5, &terraces)] {
        let op = Overhang { undercut, variety: 0.0, ..Overhang::default() };
        let hits = Mesh::of(&lean_over(&op, land.clone())).hits(60.0);
        let three = hits.iter().filter(|&&count| count == 3).count();
        assert!(three > 50, "undercut {undercut}: {three} of {} lines meet it three times", hits.len());
        assert!(
            hits.iter().all(|count| count % 2 == 1),
            "undercut {undercut}: a line leaves on the wrong side"
        );
        let none = Overhang { strength: Coef::Const(0.0), ..op };
        let hits = Mesh::of(&lean_over(&none, land.clone())).hits(60.0);
        assert!(hits.iter().all(|&count| count == 1));
    }
}

#[test]
fn no_two_triangles_cross() {
    for samples in [97, 161] {
        for (name, land) in all_lands(samples) {
            for undercut in [0.0, 0.5, 1.0] {
                for (lean_m, radius_m) in [(40.0, 150.0), (90.0, 60.0)] {
                    let op = Overhang {
                        undercut,
                        lean_m,
                        radius_m,
                        lean_deg: 70.0,
                        variety: 1.0,
                        ..Overhang::default()
                    };
                    let crossings = Mesh::of(&lean_over(&op, land.clone())).crossings();
                    assert_eq!(crossings, 0, "{name} of {samples} samples with {op:?}");
                }
            }
        }
    }
}

/// Without its limit the shear does fold the land, so the test above can fail.
#[test]
fn the_test_for_crossings_finds_them() {
    let mut folded = lean_over(&Overhang::default(), mountains(97));
    for layer in [layer::DISPLACE_X, layer::DISPLACE_Y] {
        folded
            .update::<f32>(&layer.name(), |values| {
                values.par_rows(|_, row| row.iter_mut().for_each(|v| *v *= 6.0))
            })
            .unwrap();
    }
    assert!(Mesh::of(&folded).crossings() > 0);
}

#[test]
fn nothing_moves_further_than_it_may_and_walls_keep_their_length() {
    for (name, land) in all_lands(129) {
        let op = Overhang { lean_m: 25.0, ..Overhang::default() };
        let moved = lean_over(&op, land);
        let [x, y, z] = [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z]
            .map(|layer| moved.get(layer).unwrap().as_slice());
        let aside = x.iter().zip(y).map(|(x, y)| (x * x + y * y).sqrt());
        let furthest = aside.fold(0.0, f32::max);
        assert!((5.0..=25.001).contains(&furthest), "{name}: {furthest}");
        assert!(z.iter().all(|z| z.abs() <= furthest), "{name}: a wall turns less than it moves aside");
    }
}

/// The top of a cliff moves outwards (west), its foot does not, and the other way round.
#[test]
fn undercut_chooses_what_moves() {
    let moved = |undercut: f64, x_m: f64| {
        let op = Overhang { undercut, variety: 0.0, ..Overhang::default() };
        let land = lean_over(&op, winding_cliff(161, 30.0));
        let col = (x_m / SIDE_M * 160.0).round() as usize;
        let line = |row: usize| land.get(layer::DISPLACE_X).unwrap().row(row)[col];
        // Where the cliff runs due north and lies furthest east or west.
        line(80)
    };
    let at = 480.0 + 90.0 * math::sin(480.0 / 140.0) + 25.0 * math::sin(480.0 / 41.0);
    let (foot, top) = (at - 20.0, at + 20.0);
    assert!(
        moved(0.0, top) < -15.0 && moved(0.0, foot).abs() < 5.0,
        "{} {}",
        moved(0.0, top),
        moved(0.0, foot)
    );
    assert!(
        moved(1.0, foot) > 15.0 && moved(1.0, top).abs() < 5.0,
        "{} {}",
        moved(1.0, top),
        moved(1.0, foot)
    );
}

#[test]
fn gentle_land_and_a_strength_of_zero_leave_all_in_place() {
    let zero = |terrain: &Terrain| {
        [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z]
            .into_iter()
            .all(|layer| terrain.get(layer).unwrap().as_slice().iter().all(|v| *v == 0.0))
    };
    assert!(zero(&lean_over(&Overhang::default(), winding_cliff(129, 300.0))));
    let none = Overhang { strength: Coef::Const(0.0), ..Overhang::default() };
    assert!(zero(&lean_over(&none, winding_cliff(129, 10.0))));
}

#[test]
fn setting_height_afterwards_drops_the_displacement() {
    let mut moved = lean_over(&Overhang::default(), winding_cliff(65, 30.0));
    assert!(moved.get(layer::DISPLACE_Y).is_ok());
    moved.set(layer::HEIGHT, Raster::filled(65, 65, 0.0));
    assert!(moved.get(layer::DISPLACE_Y).is_err());
}

#[test]
fn windows_equal_the_whole() {
    for undercut in [0.2, 0.5] {
        for (radius_m, lean_m) in [(77.7, 33.3), (5.0, 90.0), (200.0, 0.0)] {
            let op = Overhang {
                undercut,
                radius_m,
                lean_m,
                from_deg: 20.0,
                full_deg: 30.0,
                ..Overhang::default()
            };
            test_support::assert_windows(&op);
        }
    }
}

#[test]
fn a_band_that_ends_before_it_starts_is_refused() {
    let op = Overhang { from_deg: 70.0, ..Overhang::default() };
    assert_eq!(op.faults()[0].to_string(), "from_deg: 70 is above full_deg (60)");
}
