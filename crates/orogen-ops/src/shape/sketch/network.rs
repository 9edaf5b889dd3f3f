//! Rivers as a network: arms between places where they meet, each with a direction, and heights that fall along all of
//! them.
//!
//! Arms run downstream and never in a circle. Water may part (round an island, in a delta) as well as meet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use orogen_core::{Seed, math};

use super::lattice::soften;
use super::water::{End, Land, Mouth, Stream, key};

/// Fall of a river on level ground.
const LEAST_FALL: f64 = 3e-4;

/// How far from a place that arms leave they stay level, in widths of the widest.
const POOL: f64 = 1.5;

/// Rivers, arm by arm.
#[derive(Default)]
pub(super) struct Network {
    /// Downstream, each.
    pub arms: Vec<Stream>,
    /// Heights of the banks along each arm.
    pub levels: Vec<Vec<f64>>,
}

/// The places where arms begin and end.
struct Nodes {
    places: Vec<[f64; 2]>,
    /// Node at the first and last point of each arm.
    ends: Vec<[usize; 2]>,
    /// Arms by the node they have an end at; one that returns to its node is there twice.
    at: Vec<Vec<usize>>,
}

impl Nodes {
    fn new(arms: &[Stream]) -> Self {
        let mut numbers: BTreeMap<[u64; 2], usize> = BTreeMap::new();
        let mut nodes = Self { places: Vec::new(), ends: Vec::new(), at: Vec::new() };
        for (arm, stream) in arms.iter().enumerate() {
            let ends = [stream.points[0], stream.points[stream.points.len() - 1]].map(|p| {
                *numbers.entry(p.map(|v| (v + 0.0).to_bits())).or_insert_with(|| {
                    nodes.places.push(p);
                    nodes.at.push(Vec::new());
                    nodes.places.len() - 1
                })
            });
            ends.iter().for_each(|node| nodes.at[*node].push(arm));
            nodes.ends.push(ends);
        }
        nodes
    }

    /// Arms from which water comes to an arm, itself included.
    fn upstream(&self, arm: usize) -> Vec<bool> {
        let mut found = vec![false; self.ends.len()];
        found[arm] = true;
        let mut left = vec![arm];
        while let Some(arm) = left.pop() {
            let start = self.ends[arm][0];
            for other in &self.at[start] {
                if self.ends[*other][1] == start && !found[*other] {
                    found[*other] = true;
                    left.push(*other);
                }
            }
        }
        found
    }

    /// Arms in an order in which water comes to each before it leaves it.
    fn downstream(&self) -> Vec<usize> {
        let mut waits: Vec<usize> =
            (0..self.places.len()).map(|node| self.ends.iter().filter(|e| e[1] == node).count()).collect();
        let mut order = Vec::with_capacity(self.ends.len());
        let mut ready: BTreeMap<usize, ()> =
            (0..waits.len()).filter(|node| waits[*node] == 0).map(|node| (node, ())).collect();
        while let Some((node, ())) = ready.pop_first() {
            for arm in self.at[node].iter().filter(|arm| self.ends[**arm][0] == node) {
                order.push(*arm);
                let end = self.ends[*arm][1];
                waits[end] -= 1;
                if waits[end] == 0 {
                    ready.insert(end, ());
                }
            }
        }
        order
    }
}

impl Network {
    /// Gives drawn arms a direction each: downhill, and where a hollow lies in the way, on by the lowest way out of it.
    pub fn new(arms: Vec<Stream>, land: &Land<'_>, notes: &mut Vec<String>) -> Self {
        let arms: Vec<Stream> = arms.into_iter().flat_map(|arm| ashore(arm, land, notes)).collect();
        let alone = Nodes::new(&arms);
        let rings: Vec<bool> = alone.ends.iter().map(|[a, b]| a == b && alone.at[*a].len() == 2).collect();
        let mut arms: Vec<Stream> =
            arms.into_iter().zip(rings).flat_map(|(arm, is_ring)| opened(arm, is_ring, land)).collect();
        let nodes = Nodes::new(&arms);
        let is_leaf = |node: usize| nodes.at[node].len() == 1;
        let tenth = |arm: usize, last: bool| {
            let points = &arms[arm].points;
            let n = points.len();
            let part = if last { n - (n / 10).max(1)..n } else { 0..(n / 10).max(1) };
            let count = part.len() as f64;
            points[part].iter().map(|p| land.at(*p)).sum::<f64>() / count
        };
        let heights: Vec<f64> = (0..nodes.places.len())
            .map(|node| match nodes.at[node][..] {
                [arm] => tenth(arm, nodes.ends[arm][1] == node),
                _ => land.at(nodes.places[node]),
            })
            .collect();
        // The end of an arm that water leaves by, as far as the arm alone shows it.
        let is_mouth = |node: usize| {
            let arm = nodes.at[node][0];
            let last = nodes.ends[arm][1] == node;
            let other = nodes.ends[arm][usize::from(!last)];
            if arms[arm].spring.is_some() {
                return arms[arm].spring == Some(if last { End::First } else { End::Last });
            }
            if land.is_shore(nodes.places[node]) {
                return true;
            }
            if last { heights[node] <= heights[other] } else { heights[node] < heights[other] }
        };
        let mut sequence = vec![usize::MAX; nodes.places.len()];
        let mut heap = BinaryHeap::new();
        let whole = parts(&nodes);
        for part in &whole {
            let leaves: Vec<usize> = part.iter().copied().filter(|node| is_leaf(*node)).collect();
            let mut mouths: Vec<usize> = leaves.iter().copied().filter(|node| is_mouth(*node)).collect();
            // The foot of a loop at the end of a river is an end too.
            mouths.extend(part.iter().copied().filter(|node| match nodes.at[*node][..] {
                [a, b] if a != b => {
                    let other = |arm: usize| nodes.ends[arm].into_iter().find(|end| end != node);
                    let top = other(a).filter(|top| other(b) == Some(*top));
                    top.is_some_and(|top| heights[*node] < heights[top] && part.len() > 2)
                }
                _ => false,
            }));
            if mouths.is_empty() {
                let free = |node: &usize| arms[nodes.at[*node][0]].spring.is_none();
                let lowest = |list: &mut dyn Iterator<Item = usize>| {
                    list.min_by(|a, b| heights[*a].total_cmp(&heights[*b]).then(a.cmp(b)))
                };
                let among = lowest(&mut leaves.iter().copied().filter(free));
                mouths.extend(among.or_else(|| lowest(&mut part.iter().copied())));
            }
            heap.extend(mouths.into_iter().map(|node| Reverse((above_all(heights[node]), node))));
        }
        let mut level = vec![f64::NEG_INFINITY; nodes.places.len()];
        let mut count = 0;
        while let Some(Reverse((_, node))) = heap.pop() {
            if sequence[node] != usize::MAX {
                continue;
            }
            sequence[node] = count;
            count += 1;
            let here = level[node].max(heights[node]);
            for arm in &nodes.at[node] {
                let [a, b] = nodes.ends[*arm];
                let other = if a == node { b } else { a };
                if sequence[other] != usize::MAX {
                    continue;
                }
                let barrier = arms[*arm].points.iter().map(|p| land.at(*p)).fold(here, f64::max);
                if level[other] == f64::NEG_INFINITY || barrier < level[other] {
                    level[other] = barrier;
                    heap.push(Reverse((above_all(barrier.max(heights[other])), other)));
                }
            }
        }
        for (arm, [a, b]) in arms.iter_mut().zip(&nodes.ends) {
            if sequence[*a] < sequence[*b] {
                arm.reverse();
            }
        }
        Self { arms, levels: Vec::new() }
    }

    /// Leads every river that ends on land on to water, and says so. Then filled rivers from their springs.
    pub fn run_on(&mut self, springs: Vec<Stream>, land: &Land<'_>, seed: Seed, notes: &mut Vec<String>) {
        let mut cells = vec![[0u32; 2]; land.lattice.len()];
        for arm in 0..self.arms.len() {
            self.mark(arm, land, &mut cells);
        }
        let nodes = Nodes::new(&self.arms);
        let mut ends: Vec<usize> = (0..self.arms.len())
            .filter(|arm| {
                nodes.at[nodes.ends[*arm][1]].iter().all(|other| nodes.ends[*other][1] == nodes.ends[*arm][1])
            })
            .collect();
        // One of those that end in a place leads on.
        ends.sort_by_key(|arm| nodes.ends[*arm][1]);
        ends.dedup_by_key(|arm| nodes.ends[*arm][1]);
        ends.sort_by(|a, b| self.arms[*b].length().total_cmp(&self.arms[*a].length()).then(a.cmp(b)));
        for (i, mut arm) in ends.into_iter().enumerate() {
            let end = nodes.ends[arm][1];
            if nodes.at[end].len() > 1 && self.arms[arm].points.len() > 1 {
                // Where several end, an arm of its own leads on.
                let on = self.arms[arm].beginning_at(nodes.places[end]);
                self.arms.push(on);
                arm = self.arms.len() - 1;
            }
            self.lead_on(arm, land, &mut cells, Seed(seed.bits(i as u64)), notes);
        }
        for spring in springs {
            self.arms.push(spring);
            let arm = self.arms.len() - 1;
            self.lead_on(arm, land, &mut cells, seed, notes);
        }
        self.arms.retain(|arm| arm.points.len() > 1);
    }

    /// Notes the cells that an arm runs through, and those beside it that its bed may reach.
    fn mark(&self, arm: usize, land: &Land<'_>, cells: &mut [[u32; 2]]) {
        let (cols, rows) = (land.lattice.cols() as isize, land.lattice.rows() as isize);
        let beside = (self.arms[arm].width / land.lattice.cell).ceil() as isize + 1;
        let mut last = usize::MAX;
        for p in &self.arms[arm].points {
            let Some(cell) = land.lattice.cell_at(*p).filter(|cell| *cell != last) else { continue };
            last = cell;
            cells[cell][0] = arm as u32 + 1;
            let (col, row) = (cell as isize % cols, cell as isize / cols);
            for r in (row - beside).max(0)..=(row + beside).min(rows - 1) {
                for c in (col - beside).max(0)..=(col + beside).min(cols - 1) {
                    cells[(r * cols + c) as usize][1] = arm as u32 + 1;
                }
            }
        }
    }

    /// Leads the end of an arm on to water, if it lies on land.
    fn lead_on(
        &mut self,
        arm: usize,
        land: &Land<'_>,
        cells: &mut [[u32; 2]],
        seed: Seed,
        notes: &mut Vec<String>,
    ) {
        let upstream = Nodes::new(&self.arms).upstream(arm);
        let Some(last) = self.arms[arm].points.last().copied() else { return };
        // Rivers that water does not come from; those it comes from are in the way.
        let river = |cell: usize| match cells[cell][0] {
            0 => None,
            other => Some((!upstream[other as usize - 1]).then_some(other as usize - 1)),
        };
        // And it keeps off the latter, if it can: their beds lie higher.
        let off = 4.0 * (self.arms[arm].width + land.lattice.cell);
        let keeping_off = |cell: usize| match cells[cell] {
            [0, beside] if beside > 0 && upstream[beside as usize - 1] => {
                let p = land.lattice.place(cell);
                (math::hypot(p[0] - last[0], p[1] - last[1]) > off).then_some(None)
            }
            _ => river(cell),
        };
        let called = self.arms[arm].called();
        let joined = match land.mouth_near(last, &river) {
            Some((Mouth::River(other), _)) => Some(other),
            Some(_) => None,
            None => {
                let way = land.way(last, seed, &keeping_off).or_else(|| land.way(last, seed, &river));
                let Some((mut way, mouth)) = way else { return };
                soften(&mut way, false, 6);
                let before = self.arms[arm].length();
                way.iter().skip(1).for_each(|p| self.arms[arm].push(*p));
                let (into, other) = match mouth {
                    Mouth::Sea => ("the sea", None),
                    Mouth::Lake => ("a lake", None),
                    Mouth::River(other) => ("another river", Some(other)),
                    Mouth::Border => ("the border", None),
                };
                if self.arms[arm].drawn {
                    let more = self.arms[arm].length() - before;
                    notes
                        .push(format!("{called} ended on land; it was extended to {into}, {more:.0} m away"));
                }
                other
            }
        };
        if let Some(other) = joined {
            self.join(arm, other, land, cells);
        }
        self.mark(arm, land, cells);
    }

    /// Lets an arm end in another, which is parted there.
    fn join(&mut self, arm: usize, into: usize, land: &Land<'_>, cells: &mut [[u32; 2]]) {
        let Some(last) = self.arms[arm].points.last().copied() else { return };
        let points = &self.arms[into].points;
        let far = |i: &usize| {
            let d = [points[*i][0] - last[0], points[*i][1] - last[1]];
            d[0] * d[0] + d[1] * d[1]
        };
        let Some(nearest) = (0..points.len()).min_by(|a, b| far(a).total_cmp(&far(b))) else { return };
        let at = points[nearest];
        if at != last {
            self.arms[arm].push(at);
        }
        if nearest > 0 && nearest + 1 < self.arms[into].points.len() {
            let (before, after) = self.arms[into].parted(nearest, at);
            // The number stays with the lower part: its end may still have to be led on.
            self.arms[into] = after.without_repeats();
            self.arms.push(before);
            self.mark(self.arms.len() - 1, land, cells);
        }
    }

    /// Works out heights: every arm begins at the height where those above it end, follows the land downhill and cuts
    /// through what rises. Arms that begin where none ends, as on a divide, begin at one height, that of the land. Lakes that lie higher than a river that runs into them are drawn down.
    pub fn fall(&mut self, land: &mut Land<'_>) {
        let nodes = Nodes::new(&self.arms);
        let order = nodes.downstream();
        let cell = land.lattice.cell;
        // How far it is to still water or the border, by the longest way: level ground falls by that.
        let mut far = vec![0.0f64; nodes.places.len()];
        let mut ground: Vec<Vec<f64>> = vec![Vec::new(); self.arms.len()];
        for arm in order.iter().rev() {
            let points = &self.arms[*arm].points;
            let mut left = far[nodes.ends[*arm][1]];
            let mut along: Vec<f64> = Vec::with_capacity(points.len());
            for p in points.iter().rev() {
                left = if land.lake_at(*p) > 0 { 0.0 } else { left + 1.0 };
                along.push(land.at(*p).max(0.0) + LEAST_FALL * cell * left);
            }
            along.reverse();
            ground[*arm] = along;
            let start = nodes.ends[*arm][0];
            far[start] = far[start].max(left);
        }
        // Beds that leave a place overlap for a while. So long none falls, or it would take the ground from the others.
        let mut widest = vec![0.0f64; nodes.places.len()];
        for (arm, ends) in self.arms.iter().zip(&nodes.ends) {
            ends.iter().for_each(|node| widest[*node] = widest[*node].max(arm.width));
        }
        let pools: Vec<[usize; 2]> = (self.arms.iter().zip(&nodes.ends))
            .map(|(arm, ends)| {
                let n = arm.points.len();
                let pool = |node: usize, back: bool| {
                    let place = |k: usize| arm.points[if back { n - 1 - k } else { k }];
                    if nodes.at[node].len() < 2 || land.lake_at(place(0)) > 0 {
                        // A mouth is level for a step, or the bed would fall on beyond it.
                        return usize::from(back && n > 2);
                    }
                    let (first, wide) = (place(0), POOL * widest[node] + cell);
                    let out =
                        |k: &usize| math::hypot(place(*k)[0] - first[0], place(*k)[1] - first[1]) > wide;
                    (0..n).find(out).unwrap_or(n - 1).min((n - 1) / 2)
                };
                [pool(ends[0], false), pool(ends[1], true)]
            })
            .collect();
        for (ground, [pool, _]) in ground.iter_mut().zip(&pools).filter(|(_, pools)| pools[0] > 0) {
            let lowest = ground.iter().take(pool + 1).copied().fold(f64::INFINITY, f64::min);
            ground.iter_mut().take(pool + 1).for_each(|h| *h = lowest);
        }
        // Where water parts and none comes in, the land gives the height.
        let mut tops = vec![f64::INFINITY; nodes.places.len()];
        for (ground, [start, _]) in ground.iter().zip(&nodes.ends) {
            if nodes.at[*start].len() > 1 && land.lake_at(nodes.places[*start]) == 0 {
                tops[*start] = tops[*start].min(ground.first().copied().unwrap_or(f64::INFINITY));
            }
        }
        let lakes: Vec<Vec<usize>> = self
            .arms
            .iter()
            .map(|arm| arm.points.iter().map(|p| land.lake_at(*p) as usize).collect())
            .collect();
        let mut ends = Vec::new();
        // A round more than there are lakes: so far one can draw down another.
        for _ in 0..land.levels.len() + 2 {
            ends.clone_from(&tops);
            let mut drawn_down = false;
            for arm in &order {
                let [start, end] = nodes.ends[*arm];
                let mut level = ends[start];
                for (ground, lake) in ground[*arm].iter().zip(&lakes[*arm]) {
                    if *lake > 0 {
                        let of_lake = &mut land.levels[lake - 1];
                        drawn_down |= level < *of_lake;
                        *of_lake = of_lake.min(level);
                        level = *of_lake;
                    } else {
                        level = level.min(*ground);
                    }
                }
                ends[end] = ends[end].min(level);
            }
            if !drawn_down {
                break;
            }
        }
        self.levels = vec![Vec::new(); self.arms.len()];
        for arm in &order {
            let [start, end] = nodes.ends[*arm];
            self.levels[*arm] =
                falling(&ground[*arm], &lakes[*arm], &land.levels, [ends[start], ends[end]], pools[*arm]);
        }
    }

    /// Whole rivers, a list of arms each: main stems first. Where arms meet, one goes on and the others end there.
    pub fn stems(&self) -> Vec<Vec<usize>> {
        let nodes = Nodes::new(&self.arms);
        let order = nodes.downstream();
        let lengths: Vec<f64> = self.arms.iter().map(Stream::length).collect();
        let (mut above, mut below) = (vec![0.0f64; nodes.places.len()], vec![0.0f64; nodes.places.len()]);
        for arm in &order {
            let [a, b] = nodes.ends[*arm];
            above[b] = above[b].max(above[a] + lengths[*arm]);
        }
        for arm in order.iter().rev() {
            let [a, b] = nodes.ends[*arm];
            below[a] = below[a].max(below[b] + lengths[*arm]);
        }
        let mut next = vec![None; self.arms.len()];
        let mut has_before = vec![false; self.arms.len()];
        for node in 0..nodes.places.len() {
            let leaving = nodes.at[node].iter().copied().filter(|arm| nodes.ends[*arm][0] == node);
            let down = |arm: usize| lengths[arm] + below[nodes.ends[arm][1]];
            let Some(on) = leaving.max_by(|a, b| down(*a).total_cmp(&down(*b)).then(b.cmp(a))) else {
                continue;
            };
            let coming = nodes.at[node].iter().copied().filter(|arm| nodes.ends[*arm][1] == node);
            let rank = |arm: usize| {
                let own = self.arms[arm].drawing == self.arms[on].drawing && self.arms[on].drawn;
                (own, lengths[arm] + above[nodes.ends[arm][0]])
            };
            let main = coming.max_by(|a, b| {
                let (a, b) = ((rank(*a), *a), (rank(*b), *b));
                a.0.0.cmp(&b.0.0).then(a.0.1.total_cmp(&b.0.1)).then(b.1.cmp(&a.1))
            });
            if let Some(main) = main {
                next[main] = Some(on);
                has_before[on] = true;
            }
        }
        let mut stems: Vec<Vec<usize>> = Vec::new();
        for arm in order.iter().filter(|arm| !has_before[**arm]) {
            let mut stem = vec![*arm];
            let mut at = *arm;
            while let Some(on) = next[at] {
                stem.push(on);
                at = on;
            }
            stems.push(stem);
        }
        let length = |stem: &[usize]| stem.iter().map(|arm| lengths[*arm]).sum::<f64>();
        stems.sort_by(|a, b| length(b).total_cmp(&length(a)));
        stems
    }

    /// Depth of the bed along each arm, by its widths: no bed is shallower than those it comes from, lakes start again.
    pub fn depths(&self, widths: &[Vec<f64>], is_lake: impl Fn([f64; 2]) -> bool) -> Vec<Vec<f64>> {
        let nodes = Nodes::new(&self.arms);
        let own = |width: f64| (0.06 * width + 0.6).min(25.0);
        let mut at = vec![0.0f64; nodes.places.len()];
        for (widths, [start, _]) in widths.iter().zip(&nodes.ends) {
            at[*start] = at[*start].max(widths.first().map_or(0.0, |width| own(*width)));
        }
        let mut depths = vec![Vec::new(); self.arms.len()];
        for arm in nodes.downstream() {
            let [start, end] = nodes.ends[arm];
            let mut depth = at[start];
            for (p, width) in self.arms[arm].points.iter().zip(&widths[arm]) {
                depth = depth.max(own(*width));
                depths[arm].push(depth);
                if is_lake(*p) {
                    depth = 0.0;
                }
            }
            at[end] = at[end].max(depth);
        }
        // Where arms meet, all are as deep as the deepest.
        for (depths, [_, end]) in depths.iter_mut().zip(&nodes.ends) {
            if let Some(last) = depths.last_mut() {
                *last = last.max(at[*end]);
            }
        }
        depths
    }

    /// Arms at the first place of which no water comes in.
    pub fn springs(&self) -> Vec<bool> {
        let nodes = Nodes::new(&self.arms);
        let ends = |node: usize| nodes.at[node].iter().any(|arm| nodes.ends[*arm][1] == node);
        nodes.ends.iter().map(|[start, _]| !ends(*start)).collect()
    }
}

/// Heights as numbers that sort like them.
fn above_all(height: f64) -> u64 {
    key(height + 1e6)
}

/// Nodes that hang together.
fn parts(nodes: &Nodes) -> Vec<Vec<usize>> {
    let mut seen = vec![false; nodes.places.len()];
    let mut found = Vec::new();
    for start in 0..seen.len() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        let (mut part, mut next) = (vec![start], 0);
        while let Some(&node) = part.get(next) {
            next += 1;
            for other in nodes.at[node].iter().flat_map(|arm| nodes.ends[*arm]) {
                if !seen[other] {
                    seen[other] = true;
                    part.push(other);
                }
            }
        }
        found.push(part);
    }
    found
}

/// The parts of an arm that lie on land. It ends where it comes to the sea and begins again where it leaves it; a part with
/// the sea at both ends is parted at its highest place, so that water runs down either side.
fn ashore(arm: Stream, land: &Land<'_>, notes: &mut Vec<String>) -> Vec<Stream> {
    let n = arm.points.len();
    let wet: Vec<bool> = arm.points.iter().map(|p| land.is_sea(*p)).collect();
    if !wet.contains(&true) {
        return vec![arm];
    }
    let mut found = Vec::new();
    let mut i = 0;
    while i < n {
        if wet[i] {
            i += 1;
            continue;
        }
        let end = (i..n).find(|k| wet[*k]).unwrap_or(n);
        let mut piece = arm.clone();
        piece.points = arm.points[i..end].to_vec();
        piece.gorge = arm.gorge[i..end].to_vec();
        piece.spring = arm.spring.filter(|spring| match spring {
            End::First => i == 0,
            End::Last => end == n,
        });
        if i > 0 {
            piece.points.insert(0, land.shore(arm.points[i], arm.points[i - 1]));
            piece.gorge.insert(0, arm.gorge[i]);
        }
        if end < n {
            piece.push(land.shore(arm.points[end - 1], arm.points[end]));
        }
        let piece = piece.without_repeats();
        // An islet of one place has no river.
        if end - i > 1 {
            found.push((piece, i > 0 && end < n));
        }
        i = end;
    }
    if found.len() > 1 {
        notes.push(format!("{} crosses the sea; it ends at the shore and begins again beyond", arm.called()));
    }
    let part = |(piece, between): (Stream, bool)| {
        let height = |i: &usize| land.at(piece.points[*i]);
        let inner = 1..piece.points.len().saturating_sub(1);
        match inner.max_by(|a, b| height(a).total_cmp(&height(b))) {
            Some(top) if between => {
                let (before, after) = piece.parted(top, piece.points[top]);
                vec![before, after]
            }
            _ => vec![piece],
        }
    };
    found.into_iter().flat_map(part).filter(|piece| piece.points.len() > 1).collect()
}

/// An arm that returns to where it begins, parted so that water runs down both sides: at its highest place, or at its
/// lowest where it begins above most of it. A ring of its own begins at its lowest place.
fn opened(mut arm: Stream, is_ring: bool, land: &Land<'_>) -> Vec<Stream> {
    let n = arm.points.len();
    if n < 4 || arm.points[0] != arm.points[n - 1] {
        return vec![arm];
    }
    let lowest = |arm: &Stream| {
        (1..n - 1).min_by(|a, b| land.at(arm.points[*a]).total_cmp(&land.at(arm.points[*b]))).unwrap_or(n / 2)
    };
    if is_ring {
        let start = lowest(&arm);
        arm.truncate(n - 1);
        arm.points.rotate_left(start);
        arm.gorge.rotate_left(start);
        let first = arm.points[0];
        arm.push(first);
    }
    let height = |i: usize| land.at(arm.points[i]);
    let low = lowest(&arm);
    let high = (1..n - 1).max_by(|a, b| height(*a).total_cmp(&height(*b))).unwrap_or(n / 2);
    let at = if !is_ring && height(0) - height(low) > height(high) - height(0) { low } else { high };
    let (before, after) = arm.parted(at, arm.points[at]);
    vec![before, after]
}

/// Heights along an arm that begins and ends at given ones, smooth and never rising; level for the first and last
/// `pools` places.
fn falling(
    ground: &[f64],
    lakes: &[usize],
    levels: &[f64],
    [first, last]: [f64; 2],
    pools: [usize; 2],
) -> Vec<f64> {
    let n = ground.len();
    let mut level = first;
    let mut z: Vec<f64> = Vec::with_capacity(n);
    for (i, (ground, lake)) in ground.iter().zip(lakes).enumerate() {
        // Where arms meet, they have the height of the place, whatever the least fall makes of it along each.
        let met = i == 0 && first.is_finite();
        level = if *lake > 0 {
            levels[lake - 1]
        } else if met {
            first
        } else {
            level.min(*ground)
        };
        z.push(level);
    }
    // Each part between lakes by itself.
    let mut i = 0;
    while i < n {
        if lakes[i] > 0 {
            i += 1;
            continue;
        }
        let end = (i..n).find(|k| lakes[*k] > 0).unwrap_or(n);
        let top = if i > 0 { levels[lakes[i - 1] - 1] } else { first };
        let foot = if end < n { levels[lakes[end] - 1] } else { last };
        let part = &mut z[i..end];
        let m = part.len();
        let reach = 10.min(m / 3);
        let level_for = if i == 0 { pools[0] } else { 0 };
        let level_from = m - 1 - if end == n { pools[1].min(m - 1) } else { 0 };
        // Means of falling numbers fall.
        let means: Vec<f64> = (0..m)
            .map(|k| {
                // Both ends of what is taken move on with the place.
                let reach = if level_for > 0 { reach.min(k.saturating_sub(level_for)) } else { reach };
                let near = &part[k.saturating_sub(reach)..(k + reach + 1).min(m)];
                near.iter().sum::<f64>() / near.len() as f64
            })
            .collect();
        for (k, mean) in means.into_iter().enumerate() {
            let ease = |steps: usize| (steps as f64 / reach.max(1) as f64).min(1.0);
            let from_top = if top.is_finite() { top - (top - mean).max(0.0) * ease(k) } else { mean };
            // What is smoother than the land may lie above it, as on a dyke, where the land falls away.
            part[k] = (foot + (from_top - foot).max(0.0) * ease(level_from.saturating_sub(k))).min(part[k]);
        }
        i = end;
    }
    z
}
