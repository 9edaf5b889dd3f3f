//! Where drawn rivers meet: lines that touch or cross are parted there and share the place.

use orogen_core::math;

use super::lattice::Lattice;
use super::water::Stream;

/// How near, in cells, the end of a line counts as touching another; wide ones touch where their banks do.
const TOUCH: f64 = 2.0;
/// But not further, in cells.
const MOST_TOUCH: f64 = 8.0;
/// A line that comes back to itself within so many cells makes a bend, no loop.
const LOOP: f64 = 8.0;
/// Segments of one cell that are looked at: a scribble has no more junctions than it can show.
const MOST_IN_CELL: usize = 24;
/// Places at which lines are parted, at most.
const MOST_CUTS: usize = 4000;

/// A place on a line: number of the segment, share of it.
#[derive(Clone, Copy, PartialEq)]
struct Cut {
    line: usize,
    segment: usize,
    share: f64,
    at: [f64; 2],
}

fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    math::hypot(b[0] - a[0], b[1] - a[1])
}

/// Parts lines where they meet. Ends that meet have the same place to the bit.
pub(super) fn parted(mut streams: Vec<Stream>, lattice: &Lattice) -> Vec<Stream> {
    let index = Index::new(&streams, lattice);
    let mut cuts = index.crossings(&streams);
    // An end that touches a line runs on to it.
    for line in 0..streams.len() {
        for end in [0, streams[line].points.len() - 1] {
            let at = streams[line].points[end];
            let Some((place, cut)) = index.touched(&streams, line, end) else { continue };
            let stream = &mut streams[line];
            if apart(at, place) > 0.0 {
                // At the front, segments of this line would count one more.
                if end == 0 {
                    stream.points[0] = place;
                } else {
                    stream.push(place);
                }
            }
            if streams[line].points.len() == 1 {
                break;
            }
            cuts.extend(cut);
        }
    }
    cuts.truncate(MOST_CUTS);
    cuts.sort_by(|a, b| {
        a.line.cmp(&b.line).then(a.segment.cmp(&b.segment)).then(a.share.total_cmp(&b.share))
    });
    let mut found: Vec<Stream> = Vec::new();
    for (line, stream) in streams.into_iter().enumerate() {
        let here = cuts.iter().filter(|cut| cut.line == line);
        let (mut rest, mut taken) = (stream, 0);
        for cut in here {
            // The first point beyond the cut, in what is left. At an end of it nothing has to be parted: ends that are
            // near each other become one.
            let next = (cut.segment + 1).saturating_sub(taken);
            let n = rest.points.len();
            let near = |p: [f64; 2]| apart(p, cut.at) < lattice.cell;
            let at_end = (next <= 3 && near(rest.points[0])) || (next + 3 >= n && near(rest.points[n - 1]));
            if next == 0 || next >= n || at_end {
                continue;
            }
            let (before, after) = rest.parted(next, cut.at);
            // What is left begins with the cut itself.
            taken = cut.segment;
            found.push(before);
            rest = after;
        }
        found.push(rest);
    }
    gathered(found, lattice)
}

/// Brings ends that are near each other to one place, and drops what is nothing then.
fn gathered(mut streams: Vec<Stream>, lattice: &Lattice) -> Vec<Stream> {
    let mut places: Vec<[f64; 2]> = Vec::new();
    for stream in &mut streams {
        for last in [false, true] {
            let Some(p) = (if last { stream.points.last_mut() } else { stream.points.first_mut() }) else {
                continue;
            };
            match places.iter().find(|q| apart(**q, *p) <= 1.5 * lattice.cell) {
                Some(q) => *p = *q,
                None => places.push(*p),
            }
        }
    }
    let mut kept: Vec<Stream> = Vec::new();
    let ends = |s: &Stream| [s.points[0], s.points[s.points.len() - 1]];
    for stream in streams {
        let [a, b] = ends(&stream);
        let length = stream.length();
        if stream.points.len() > 1 && a == b && length < LOOP * lattice.cell {
            continue;
        }
        // Two lines drawn over each other are one.
        let middle = stream.points[stream.points.len() / 2];
        let twice = kept.iter().any(|other| {
            let [c, d] = ends(other);
            let same = (a, b) == (c, d) || (a, b) == (d, c);
            same && stream.points.len() > 1
                && other.points.iter().any(|p| apart(*p, middle) <= TOUCH * lattice.cell)
                && (other.length() - length).abs() <= TOUCH * lattice.cell
        });
        if !twice {
            kept.push(stream);
        }
    }
    // Stubs that overshoot what they run into.
    let all: Vec<[f64; 2]> = kept.iter().flat_map(&ends).collect();
    let meet = |p: [f64; 2]| all.iter().filter(|q| **q == p).count();
    kept.retain(|stream| {
        let [a, b] = ends(stream);
        let least = (TOUCH * lattice.cell).max(stream.width);
        let short = stream.points.len() > 1 && stream.length() < 1.5 * least;
        !(short && ((meet(a) == 1 && meet(b) > 2) || (meet(b) == 1 && meet(a) > 2)))
    });
    kept
}

/// Segments by the cell that their middle lies in.
struct Index {
    cell: f64,
    /// Cell, line, segment; sorted.
    all: Vec<([i64; 2], usize, usize)>,
}

impl Index {
    fn new(streams: &[Stream], lattice: &Lattice) -> Self {
        let mut all = Vec::new();
        for (line, stream) in streams.iter().enumerate() {
            for (segment, pair) in stream.points.windows(2).enumerate() {
                let middle = [0, 1].map(|k| 0.5 * (pair[0][k] + pair[1][k]));
                all.push((Self::cell_of(middle, lattice.cell), line, segment));
            }
        }
        all.sort_unstable();
        Self { cell: lattice.cell, all }
    }

    fn cell_of(at: [f64; 2], cell: f64) -> [i64; 2] {
        at.map(|v| (v / cell).floor() as i64)
    }

    /// Segments within some cells of a place.
    fn near(&self, at: [f64; 2], cells: i64) -> impl Iterator<Item = (usize, usize)> + '_ {
        let [x, y] = Self::cell_of(at, self.cell);
        let columns = (x - cells)..=(x + cells);
        columns
            .flat_map(move |x| (y - cells..=y + cells).map(move |y| [x, y]))
            .flat_map(move |cell| {
                let from = self.all.partition_point(|(c, ..)| *c < cell);
                self.all[from..].iter().take_while(move |(c, ..)| *c == cell).take(MOST_IN_CELL)
            })
            .map(|(_, line, segment)| (*line, *segment))
    }

    /// Where two lines cross, or one crosses itself: a cut of each.
    fn crossings(&self, streams: &[Stream]) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (_, line, segment) in &self.all {
            let (line, segment) = (*line, *segment);
            let (a, b) = (streams[line].points[segment], streams[line].points[segment + 1]);
            for (other, k) in self.near([0, 1].map(|i| 0.5 * (a[i] + b[i])), 2) {
                if cuts.len() >= MOST_CUTS {
                    return cuts;
                }
                if (other, k) <= (line, segment) {
                    continue;
                }
                let along = (k.max(segment) - k.min(segment)) as f64 * apart(a, b) / self.cell;
                if other == line && along < LOOP {
                    continue;
                }
                let (c, d) = (streams[other].points[k], streams[other].points[k + 1]);
                let Some([t, u]) = crossing([a, b], [c, d]) else { continue };
                let at = [0, 1].map(|i| a[i] + t * (b[i] - a[i]));
                // Lines that meet at their ends do so anyway.
                let ends = |s: &Stream| [s.points[0], s.points[s.points.len() - 1]];
                let shared = ends(&streams[line]).into_iter().any(|p| {
                    apart(p, at) < self.cell && ends(&streams[other]).iter().any(|q| apart(*q, p) < self.cell)
                });
                if !shared {
                    cuts.push(Cut { line, segment, share: t, at });
                    cuts.push(Cut { line: other, segment: k, share: u, at });
                }
            }
        }
        cuts
    }

    /// The place on another line, or far along on its own, that an end touches, and the cut there; no cut where the other
    /// ends there too.
    fn touched(&self, streams: &[Stream], line: usize, end: usize) -> Option<([f64; 2], Option<Cut>)> {
        let at = streams[line].points[end];
        let step = apart(streams[line].points[0], *streams[line].points.get(1)?).max(1e-9);
        let ends = |s: &Stream| [s.points[0], s.points[s.points.len() - 1]];
        let met = |(other, s): (usize, &Stream)| other != line && ends(s).contains(&at);
        if streams.iter().enumerate().any(met) {
            return None;
        }
        let touch = |other: usize| {
            (TOUCH * self.cell)
                .max((0.5 * (streams[line].width + streams[other].width)).min(MOST_TOUCH * self.cell))
        };
        let widest = streams.iter().map(|s| s.width).fold(0.0, f64::max);
        let cells = (widest / self.cell).clamp(TOUCH, MOST_TOUCH).ceil() as i64 + 2;
        let mut best: Option<(f64, Cut)> = None;
        for (other, k) in self.near(at, cells) {
            if other == line && k.abs_diff(end) as f64 * step < LOOP * self.cell {
                continue;
            }
            let (c, d) = (streams[other].points[k], streams[other].points[k + 1]);
            let way = [d[0] - c[0], d[1] - c[1]];
            let length2 = (way[0] * way[0] + way[1] * way[1]).max(1e-18);
            let share = (((at[0] - c[0]) * way[0] + (at[1] - c[1]) * way[1]) / length2).clamp(0.0, 1.0);
            let place = [c[0] + share * way[0], c[1] + share * way[1]];
            let far = apart(at, place);
            // A line beside itself is a bend unless it comes very near.
            let most = if other == line { TOUCH * self.cell } else { touch(other) };
            if far <= most && best.is_none_or(|(least, _)| far < least) {
                best = Some((far, Cut { line: other, segment: k, share, at: place }));
            }
        }
        let (_, cut) = best?;
        let near_end = ends(&streams[cut.line]).into_iter().find(|p| apart(*p, cut.at) < 1.5 * self.cell);
        match near_end {
            Some(_) if cut.line == line => None,
            Some(place) => Some((place, None)),
            None => Some((cut.at, Some(cut))),
        }
    }
}

/// Shares of two segments at which they cross.
fn crossing([a, b]: [[f64; 2]; 2], [c, d]: [[f64; 2]; 2]) -> Option<[f64; 2]> {
    let (r, s) = ([b[0] - a[0], b[1] - a[1]], [d[0] - c[0], d[1] - c[1]]);
    let across = r[0] * s[1] - r[1] * s[0];
    if across == 0.0 {
        return None;
    }
    let q = [c[0] - a[0], c[1] - a[1]];
    let t = (q[0] * s[1] - q[1] * s[0]) / across;
    let u = (q[0] * r[1] - q[1] * r[0]) / across;
    ((0.0..=1.0).contains(&t) && (0.0..=1.0).contains(&u)).then_some([t, u])
}

#[cfg(test)]
mod tests {
    use super::super::drawn::Item;
    use super::*;
    use orogen_core::Rect;

    fn lines(drawn: &[&[[f64; 2]]]) -> Vec<Stream> {
        let lattice = Lattice::new(&Rect { min: [0.0; 2], max: [1000.0; 2] }, 10.0).unwrap();
        let along = |line: &[[f64; 2]]| {
            let mut points = vec![line[0]];
            for pair in line.windows(2) {
                let n = (apart(pair[0], pair[1]) / 7.0).ceil() as usize;
                points.extend((1..=n).map(|i| {
                    let t = i as f64 / n as f64;
                    [0, 1].map(|k| pair[0][k] + t * (pair[1][k] - pair[0][k]))
                }));
            }
            points
        };
        let stream = |(i, line): (usize, &&[[f64; 2]])| {
            Stream::new(Item::default(), along(line), 20.0, true).of_drawing(i as u32)
        };
        parted(drawn.iter().enumerate().map(stream).collect(), &lattice)
    }

    #[test]
    fn lines_are_parted_where_they_meet_and_nowhere_else() {
        let count = |drawn: &[&[[f64; 2]]]| lines(drawn).len();
        assert_eq!(count(&[&[[100.0, 100.0], [900.0, 900.0]]]), 1);
        // A fork whose end falls a little short, or overshoots; a crossing; a loop of one line.
        let stem: &[[f64; 2]] = &[[500.0, 900.0], [500.0, 100.0]];
        assert_eq!(count(&[stem, &[[100.0, 900.0], [488.0, 500.0]]]), 3);
        assert_eq!(count(&[stem, &[[100.0, 900.0], [512.0, 500.0]]]), 3);
        assert_eq!(count(&[stem, &[[100.0, 300.0], [900.0, 700.0]]]), 4);
        assert_eq!(
            count(&[&[[100.0, 500.0], [800.0, 500.0], [800.0, 800.0], [400.0, 800.0], [400.0, 100.0]]]),
            3
        );
        // Apart, and one drawn over the other.
        assert_eq!(count(&[stem, &[[600.0, 900.0], [600.0, 100.0]]]), 2);
        assert_eq!(count(&[stem, stem]), 1);
        // Ends that meet have one place.
        let found = lines(&[stem, &[[100.0, 900.0], [488.0, 500.0]]]);
        let ends: Vec<[f64; 2]> =
            found.iter().flat_map(|s| [s.points[0], s.points[s.points.len() - 1]]).collect();
        assert_eq!(ends.iter().filter(|p| ends.iter().filter(|q| q == p).count() == 3).count(), 3);
    }
}
