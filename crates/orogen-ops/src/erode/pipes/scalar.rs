//! The same storm as a plain loop over the whole grid, one thing after the other.

use super::laws::{CellInput, Column, End, Laws, Moved};
use super::tiles::{Fixed, State};
use super::weather::Weather;

/// Where the pipes lead that a cell owns, and where those come from that others own.
const OUT: [(isize, isize); 4] = [(1, 0), (0, 1), (1, 1), (-1, 1)];
const INTO: [(isize, isize); 4] = [(-1, 0), (0, -1), (-1, -1), (1, -1)];
/// West, east, north, south, then the corners.
const AROUND: [(isize, isize); 8] = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)];

/// A cell as its pipes see it.
struct Head {
    energy: f32,
    keeps: f32,
    load: f32,
    able: f32,
    yields: f32,
}

/// Advances a state by a pass.
pub(super) fn pass(
    laws: &Laws,
    fixed: &Fixed,
    weather: &Weather<'_>,
    advect: bool,
    steps: usize,
    now: &State,
) -> State {
    let (cols, rows) = (now.cols, now.rows);
    let n = cols * rows;
    let live: Vec<f32> = fixed.live.iter().map(|&l| f32::from(l)).collect();
    let mut given = vec![CellInput::default(); n];
    for row in 0..rows {
        let line = row * cols..(row + 1) * cols;
        let [mut rain, mut soft, mut sinks, mut stays] = [0; 4].map(|_| vec![0.0; cols]);
        weather.fill(
            row,
            0,
            &live[line.clone()],
            &now.planes[0][line.clone()],
            &now.planes[1][line],
            &mut rain,
            &mut soft,
            &mut sinks,
            &mut stays,
        );
        for i in 0..cols {
            let live = live[row * cols + i];
            given[row * cols + i] =
                CellInput { live, rain: rain[i], soft: soft[i], sinks: sinks[i], stays: stays[i] };
        }
    }
    let mut state = now.clone();
    for _ in 0..steps {
        state = step(laws, fixed, &given, advect, &state);
    }
    state
}

fn step(laws: &Laws, fixed: &Fixed, given: &[CellInput], advect: bool, old: &State) -> State {
    let (cols, rows) = (old.cols, old.rows);
    let n = cols * rows;
    // Beyond the ring there is nothing: 0 in all planes.
    let at = |i: usize, (dc, dr): (isize, isize)| -> Option<usize> {
        let (c, r) = ((i % cols).checked_add_signed(dc)?, (i / cols).checked_add_signed(dr)?);
        (c < cols && r < rows).then_some(r * cols + c)
    };
    let [rock, loose, water, load, speeds @ ..] = &old.planes;
    let bed: Vec<f32> = (0..n).map(|i| fixed.base[i] + (rock[i] + loose[i])).collect();
    let surface: Vec<f32> = (0..n).map(|i| bed[i] + given[i].live * water[i]).collect();
    let value = |plane: &[f32], i: usize, way: (isize, isize)| at(i, way).map_or(0.0, |j| plane[j]);
    let head = |i: usize| {
        let out = std::array::from_fn(|k| speeds[k][i]);
        let square = laws.square(out, std::array::from_fn(|k| value(&speeds[k], i, INTO[k])));
        let speed = square.sqrt();
        let (steep, yields) = laws.steep(bed[i], AROUND.map(|way| value(&bed, i, way)));
        let (keeps, load) = Laws::left(water[i], load[i], laws.rubbed(water[i], speed, steep));
        let energy = laws.energy(surface[i], given[i].live, square);
        Head { energy, keeps, load, able: laws.able(speed, steep), yields }
    };
    let heads: Vec<Head> = (0..n).map(head).collect();
    let end = |i: usize| End {
        bed: bed[i],
        surface: surface[i],
        energy: heads[i].energy,
        keeps: heads[i].keeps,
        load: heads[i].load,
    };
    let pipes = |i: usize| -> [Moved; 4] {
        std::array::from_fn(|k| laws.pipe(k, speeds[k][i], end(i), at(i, OUT[k]).map_or(End::default(), end)))
    };
    let moved: Vec<[Moved; 4]> = (0..n).map(pipes).collect();
    let mut new = old.clone();
    for i in 0..n {
        let out = moved[i];
        let into: [Moved; 4] =
            std::array::from_fn(|k| at(i, INTO[k]).map_or(Moved::default(), |j| moved[j][k]));
        let carried = if advect {
            let [x, y] = laws.comes_from(out.map(|m| m.speed), into.map(|m| m.speed));
            let row = |dr: isize| [-1, 0, 1].map(|dc| value(load, i, (dc, dr)));
            Laws::traced(x, y, row(-1), row(0), row(1))
        } else {
            load[i] - Laws::leaves(out.map(|m| m.ground), into.map(|m| m.ground))
        };
        let was = Column { rock: rock[i], loose: loose[i], water: water[i], load: load[i] };
        let leaves = Laws::leaves(out.map(|m| m.water), into.map(|m| m.water));
        let is = laws.column(was, given[i], leaves, carried, heads[i].able, heads[i].yields);
        let values = [is.rock, is.loose, is.water, is.load];
        for (plane, v) in values.into_iter().chain(out.map(|m| m.speed)).enumerate() {
            new.planes[plane][i] = v;
        }
    }
    new
}
