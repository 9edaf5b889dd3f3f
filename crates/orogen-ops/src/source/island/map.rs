//! The polygon map: sea and lakes, elevation, rivers, climate and biomes on the graph.
//!
//! Elevation here is the paper's: 0 at the coast, 1 on the highest polygon corner, -1 at the deepest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use orogen_core::biome::Biome;
use orogen_core::{Ctx, OpError, Seed, math};

use super::edit::{Edit, Mode, Quantity};
use super::graph::{self, CenterIx, CornerIx, Graph, Locator};
use super::land::Scale;
use super::{Island, Place};
use crate::noise::Noise;

/// No index.
pub(super) const NONE: u32 = u32::MAX;
/// Progress when edits are applied.
const EDIT_PERCENT: usize = 20;
/// Polygons by default.
const USUAL_POLYGONS: f64 = 4000.0;
/// Volume at which a river is half of what the greatest can be.
pub(super) const GREAT_VOLUME: f64 = 16.0;
/// The noise of equation 1 is 1 on average and varies by this times ours.
const SHAPE_CONTRAST: f64 = 1.6;
/// Moisture of the smallest stream; the greatest river has 1.
const STREAM_MOISTURE: f64 = 0.5;
/// Length of a polygon's side against the root of its area, as in a hexagon.
const SIDE: f64 = 0.62;
/// How much longer ways along the sides of polygons are than ways across: a step of moisture is counted along sides.
const ACROSS: f64 = 1.12;
/// Lattice cells of the clouds across half the shorter side.
const CLOUDS: f64 = 2.0;
/// How far the lowest land polygon lies above the coast, in steps.
const LOWEST_LAND: f64 = 0.3;
/// Corners (of such a map) tried for each spring wanted.
const TRIES_PER_SPRING: f64 = 16.0;
/// Fewest steps (of a map of as many polygons as by default) from a spring to the sea or to another river.
const SHORTEST_RIVER: f64 = 5.0;
/// Corners (of such a map) that a spring drains at least: none lies on a crest.
const SPRING_CATCHMENT: f64 = 3.0;
/// Elevation of the highest spring: above, snow stays.
const HIGHEST_SPRING: f64 = 0.7;
/// Steps (of such a map) before it joins another river in which a river may come near it.
const CONFLUENCE: u32 = 3;
/// Steps (of such a map) between the mouths of two rivers, unless springs may lie anywhere.
const MOUTH_SPACING: u32 = 4;
/// Volume that a lake gives its outlet, and what each of its polygons (of such a map) adds.
const LAKE_VOLUME: (f64, f64) = (3.0, 1.0);
/// How much the floor of the sea is shelf and slope; the rest falls evenly.
const SHELF: f64 = 0.8;

/// A value for each centre or each corner.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub elevation: Vec<f64>,
    pub temperature: Vec<f64>,
    pub moisture: Vec<f64>,
}

/// The graph and all that is known about its parts. Flags, lakes and biomes belong to centres.
pub(super) struct Map {
    pub graph: Graph,
    pub locator: Locator,
    /// Width of a polygon, on average.
    pub width: f64,
    /// A step against one on a square map of as many polygons as by default: what moisture and rivers count in, so
    /// that more polygons make finer land and not drier.
    pub step: f64,
    pub ocean: Vec<bool>,
    /// Number of the lake, `NONE` elsewhere.
    pub lake: Vec<u32>,
    /// Elevation of each lake.
    pub lake_level: Vec<f64>,
    /// The corner by which each lake's water leaves, `NONE` where nothing is lower.
    pub lake_outlet: Vec<u32>,
    /// Land beside the ocean.
    pub coast: Vec<bool>,
    pub biome: Vec<Biome>,
    /// What the biome would be on dry ground: for lakes, whose shore may wander.
    pub dry_biome: Vec<Biome>,
    /// The biome of the climate alone: no beach, no lake, no ocean.
    pub climate: Vec<Biome>,
    pub center: Values,
    pub corner: Values,
    /// Where water goes from each corner; `NONE` at the sea and in it.
    pub down: Vec<u32>,
    /// Land corners, each after the one that its water goes to.
    pub order: Vec<u32>,
    /// Water in the river at each corner; 0 where there is none.
    pub volume: Vec<u32>,
    seed: Seed,
}

impl Map {
    pub fn grow(params: &Island, place: &Place, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let seed = ctx.seed();
        let [hx, hy] = place.half;
        let rect = graph::Rect { min: [-hx, -hy], max: [hx, hy] };
        let random = seed.child("points");
        let mut points: Vec<[f64; 2]> = (0..u64::from(params.polygons))
            .map(|i| [(2.0 * random.unit(2 * i) - 1.0) * hx, (2.0 * random.unit(2 * i + 1) - 1.0) * hy])
            .collect();
        graph::sort_in_rows(&mut points, rect);
        for round in 0..params.relax {
            ctx.tick(round as usize, 20 * (params.relax as usize + 1))?;
            points = graph::relax(&points, rect, 1).map_err(failed)?;
        }
        let graph = Graph::voronoi(&points, rect).map_err(failed)?;
        ctx.tick(6, 100)?;
        let locator = Locator::new(&graph);
        let (centers, corners) = (graph.centers().len(), graph.corners().len());
        let mut map = Self {
            width: (rect.area() / centers as f64).sqrt(),
            step: (rect.area() / centers as f64 * USUAL_POLYGONS / 4.0).sqrt(),
            ocean: vec![false; centers],
            lake: vec![NONE; centers],
            lake_level: Vec::new(),
            lake_outlet: Vec::new(),
            coast: vec![false; centers],
            biome: vec![Biome::Ocean; centers],
            dry_biome: vec![Biome::Beach; centers],
            climate: vec![Biome::Beach; centers],
            center: Values::default(),
            corner: Values::default(),
            down: vec![NONE; corners],
            order: Vec::new(),
            volume: vec![0; corners],
            graph,
            locator,
            seed,
        };
        let water = map.water(params, place);
        map.flood(&water);
        map.number_lakes(&water);
        map.raise(params);
        ctx.tick(8, 100)?;
        map.settle(params, &[], place, 8, ctx)?;
        Ok(map)
    }

    /// Applies the edits to the map, then works out again what follows from them.
    pub fn edit(
        &mut self,
        params: &Island,
        place: &Place,
        scale: &Scale,
        ctx: &Ctx<'_>,
    ) -> Result<(), OpError> {
        let before = self.center.elevation.clone();
        let contrast = params.contrast;
        self.apply(&params.edits, Quantity::Elevation, place, ctx, |map, weight, mode, value| {
            let old = scale.elevation_to_m(*map, contrast);
            let new = change(old, weight, mode, value);
            if new != old {
                *map = scale.elevation_of_m(new, contrast);
            }
        })?;
        if self.center.elevation != before {
            self.reflood();
        }
        self.settle(params, &params.edits, place, EDIT_PERCENT, ctx)
    }

    /// Whether every polygon at the frame's border is sea, as all are until one is edited.
    pub fn border_is_sea(&self) -> bool {
        self.graph.center_ixs().all(|c| self.ocean[c.at()] || !self.graph.is_border_center(c))
    }

    pub fn is_water(&self, c: usize) -> bool {
        self.ocean[c] || self.lake[c] != NONE
    }

    /// Which centres are water: equations 1 and 2 at the corners, then the share of wet corners.
    fn water(&self, params: &Island, place: &Place) -> Vec<bool> {
        let seed = self.seed.child("shape");
        let graph = &self.graph;
        let octaves: Vec<(Noise, [f64; 2], f64, f64)> = (0..=u64::from(params.shape_octaves))
            .scan((0.5 * params.shape_frequency, params.shape_amplitude), |(frequency, amplitude), i| {
                let octave = Seed(seed.bits(i));
                let shift = [octave.unit(0) * 256.0, octave.unit(1) * 256.0];
                let this = (Noise::new(octave), shift, *frequency, *amplitude);
                *frequency *= params.shape_lacunarity;
                *amplitude /= params.shape_falloff;
                Some(this)
            })
            .collect();
        let wet: Vec<bool> = (graph.corners().iter())
            .map(|&[x, y]| {
                let noise: f64 = (octaves.iter())
                    .map(|(noise, shift, frequency, amplitude)| {
                        let value = f64::from(noise.at(x * frequency + shift[0], y * frequency + shift[1]));
                        (1.0 + SHAPE_CONTRAST * value) * amplitude
                    })
                    .sum();
                let (x, y) = (x / place.half[0], y / place.half[1]);
                noise < params.size_offset + params.distance_scale * (x * x + y * y)
            })
            .collect();
        let mut water: Vec<bool> = (graph.center_ixs())
            .map(|c| {
                let corners = graph.center_corners(c);
                let count = corners.iter().filter(|q| wet[q.at()]).count();
                graph.is_border_center(c) || count as f64 >= params.water_share * corners.len() as f64
            })
            .collect();
        if water.iter().all(|&w| w) {
            // A seed, or a few polygons, may leave nothing: the inner polygon nearest the middle is land then.
            let length = |c: &CenterIx| math::hypot(graph.center(*c)[0], graph.center(*c)[1]);
            let inner = graph.center_ixs().filter(|&c| !graph.is_border_center(c));
            if let Some(c) = inner.min_by(|a, b| length(a).total_cmp(&length(b))) {
                water[c.at()] = false;
            }
        }
        water
    }

    /// The ocean: water that can be reached from the border over water.
    fn flood(&mut self, water: &[bool]) {
        let graph = &self.graph;
        let border = graph.center_ixs().filter(|&c| graph.is_border_center(c));
        let mut ocean = vec![false; water.len()];
        for c in border {
            self.connected(c, |c| water[c] && !ocean[c]).iter().for_each(|c| ocean[c.at()] = true);
        }
        self.ocean = ocean;
        self.coast = (graph.center_ixs())
            .map(|c| !self.ocean[c.at()] && graph.center_neighbors(c).any(|n| self.ocean[n.at()]))
            .collect();
    }

    /// Numbers the lakes: water that is not ocean.
    fn number_lakes(&mut self, water: &[bool]) {
        let mut lake = vec![NONE; water.len()];
        let mut count = 0;
        for c in self.graph.center_ixs() {
            let part = self.connected(c, |c| water[c] && !self.ocean[c] && lake[c] == NONE);
            part.iter().for_each(|c| lake[c.at()] = count);
            count += u32::from(!part.is_empty());
        }
        self.lake = lake;
        self.lake_level = vec![0.0; count as usize];
    }

    /// The centres that can be reached from one over centres that all pass; none if that one does not.
    fn connected(&self, from: CenterIx, pass: impl Fn(usize) -> bool) -> Vec<CenterIx> {
        if !pass(from.at()) {
            return Vec::new();
        }
        let mut found = vec![from];
        let mut met = std::collections::BTreeSet::from([from]);
        let mut next = 0;
        while let Some(&c) = found.get(next) {
            next += 1;
            for n in self.graph.center_neighbors(c) {
                if pass(n.at()) && met.insert(n) {
                    found.push(n);
                }
            }
        }
        found
    }

    /// (touches ocean, touches land or lake) for a corner.
    fn touches(&self, q: CornerIx) -> (bool, bool) {
        let mut touch = (false, false);
        for c in self.graph.corner_touches(q) {
            if self.ocean[c.at()] {
                touch.0 = true;
            } else {
                touch.1 = true;
            }
        }
        touch
    }

    /// Elevation by distance from the coast: outwards over the corners, up on land and down at sea.
    ///
    /// Steps are 1, times a noise where the land is rugged, and 0 along lakes, so the nearest corner goes first
    /// (with equal steps that is breadth first) and every land corner has a neighbour that is no higher. The floor of
    /// the sea is calm: its steps are alike, and make a shelf, a slope and a plain.
    fn raise(&mut self, params: &Island) {
        let graph = &self.graph;
        let corners = graph.corners().len();
        let touches: Vec<(bool, bool)> = graph.corner_ixs().map(|q| self.touches(q)).collect();
        let seed = self.seed.child("rise");
        let octaves: [(Noise, [f64; 2]); 3] = std::array::from_fn(|i| {
            let octave = Seed(seed.bits(i as u64));
            (Noise::new(octave), [octave.unit(0) * 256.0, octave.unit(1) * 256.0])
        });
        let step = |q: CornerIx| {
            let [x, y] = graph.corner(q);
            let mut noise = 0.0;
            let (mut frequency, mut amplitude) = (2.5, 1.0);
            for (octave, shift) in &octaves {
                noise += amplitude * f64::from(octave.at(x * frequency + shift[0], y * frequency + shift[1]));
                frequency *= 2.0;
                amplitude *= 0.7;
            }
            math::exp2(2.5 * params.ruggedness * noise)
        };
        let lake_edge = |e: graph::EdgeIx| {
            let edge = graph.edge(e);
            let is_lake = |c: CenterIx| self.lake[c.at()] != NONE;
            is_lake(edge.d0) || edge.d1.is_some_and(is_lake)
        };
        let mut distance = vec![f64::INFINITY; corners];
        let mut heap = BinaryHeap::new();
        for q in graph.corner_ixs() {
            if touches[q.at()] == (true, true) {
                distance[q.at()] = 0.0;
                heap.push(Reverse((0u64, q.0)));
            }
        }
        while let Some(Reverse((bits, q))) = heap.pop() {
            let here = f64::from_bits(bits);
            let q = CornerIx(q);
            if here > distance[q.at()] {
                continue;
            }
            for (&e, n) in graph.corner_edges(q).iter().zip(graph.corner_adjacent(q)) {
                let there = here
                    + match (lake_edge(e), touches[n.at()].1) {
                        (true, _) => 0.0,
                        (_, true) => step(n),
                        _ => 1.0,
                    };
                if there < distance[n.at()] {
                    distance[n.at()] = there;
                    // Bits of positive numbers are in the order of the numbers.
                    heap.push(Reverse((there.to_bits(), n.0)));
                }
            }
        }
        let sea = |q: usize| !touches[q].1;
        let farthest = |at_sea: bool| {
            let far = (0..corners).filter(|&q| sea(q) == at_sea && distance[q].is_finite());
            far.map(|q| distance[q]).fold(0.0, f64::max).max(1e-9)
        };
        let (summit, abyss) = (farthest(false), farthest(true));
        self.corner.elevation = (0..corners)
            .map(|q| match (distance[q].is_finite(), sea(q)) {
                (false, _) => -1.0,
                (true, true) => -sea_floor(distance[q] / abyss),
                (true, false) => distance[q] / summit,
            })
            .collect();
        for c in graph.center_ixs() {
            if let (Some(level), Some(q)) =
                (self.lake_level.get_mut(self.lake[c.at()] as usize), graph.center_corners(c).first())
            {
                *level = self.corner.elevation[q.at()];
            }
        }
        // An islet all of whose corners are coast must still be land, a bay all of whose corners are coast still sea.
        let (low, shallow) = (LOWEST_LAND / summit.max(1.0), -LOWEST_LAND / abyss.max(1.0));
        self.center.elevation = self.averages(&self.corner.elevation);
        for c in 0..self.ocean.len() {
            let elevation = &mut self.center.elevation[c];
            *elevation = match (self.ocean[c], self.lake_level.get(self.lake[c] as usize)) {
                (true, _) => elevation.min(shallow),
                (_, Some(level)) => *level,
                _ => elevation.max(low),
            };
        }
    }

    /// After elevations were edited: what lies below zero is sea where the border's sea can reach it, lakes are
    /// level again, and a hollow below the sea that the sea cannot reach is a lake at sea level.
    fn reflood(&mut self) {
        let old_lake = std::mem::take(&mut self.lake);
        let old_level = std::mem::take(&mut self.lake_level);
        // A lake moves by what its polygons move on average; one that nothing touched stays to the bit.
        let mut moved = vec![(0.0, 0.0); old_level.len()];
        for (c, &lake) in old_lake.iter().enumerate() {
            if let Some((sum, count)) = moved.get_mut(lake as usize) {
                *sum += self.center.elevation[c] - old_level[lake as usize];
                *count += 1.0;
            }
        }
        for (c, &lake) in old_lake.iter().enumerate() {
            if let Some((sum, count)) = moved.get(lake as usize) {
                self.center.elevation[c] = old_level[lake as usize] + sum / count;
            }
        }
        let water: Vec<bool> =
            (0..old_lake.len()).map(|c| old_lake[c] != NONE || self.center.elevation[c] < 0.0).collect();
        // A lake above the sea stays one even where its neighbour was sunk: only water below zero joins the sea.
        let below: Vec<bool> = self.center.elevation.iter().map(|&e| e < 0.0).collect();
        self.flood(&below);
        self.number_lakes(&water);
        for c in 0..water.len() {
            if let Some(level) = self.lake_level.get_mut(self.lake[c] as usize) {
                *level = self.center.elevation[c].max(0.0);
            }
        }
        for c in self.graph.center_ixs() {
            if let Some(&level) = self.lake_level.get(self.lake[c.at()] as usize) {
                self.center.elevation[c.at()] = level;
                for q in self.graph.center_corners(c) {
                    self.corner.elevation[q.at()] = level;
                }
            }
        }
        for q in self.graph.corner_ixs() {
            if !self.touches(q).0 {
                let elevation = &mut self.corner.elevation[q.at()];
                *elevation = elevation.max(0.0);
            }
        }
    }

    /// What follows from elevation: drainage, rivers, temperature, moisture, biomes.
    fn settle(
        &mut self,
        params: &Island,
        edits: &[Edit],
        place: &Place,
        percent: usize,
        ctx: &Ctx<'_>,
    ) -> Result<(), OpError> {
        self.drain();
        self.join_lakes();
        self.spring(params);
        ctx.tick(percent, 100)?;
        let temperature = |e: &f64| params.coast_c + (params.summit_c - params.coast_c) * e.max(0.0);
        self.corner.temperature = self.corner.elevation.iter().map(temperature).collect();
        self.center.temperature = self.averages(&self.corner.temperature);
        self.moisten(params);
        self.center.moisture = self.averages(&self.corner.moisture);
        self.apply(edits, Quantity::Temperature, place, ctx, |old, weight, mode, value| {
            *old = change(*old, weight, mode, value);
        })?;
        self.apply(edits, Quantity::Moisture, place, ctx, |old, weight, mode, value| {
            *old = change(*old, weight, mode, value).clamp(0.0, 1.0);
        })?;
        // Not the final scale: an edit must not turn a far coast into beach.
        let scale = Scale { land_m: params.peak_m, sea_m: params.sea_depth_m };
        for c in 0..self.ocean.len() {
            let climate = Biome::of_climate(self.center.temperature[c], self.center.moisture[c]);
            let height_m = scale.elevation_to_m(self.center.elevation[c], params.contrast);
            // Of such polygons only the strip along the sea will be.
            let beach = self.ocean[c] || self.coast[c] && self.lake[c] == NONE && height_m < params.beach_m;
            self.climate[c] = climate;
            self.dry_biome[c] = if beach { Biome::Beach } else { climate };
            self.biome[c] = match (self.ocean[c], self.lake[c]) {
                (true, _) => Biome::Ocean,
                (_, NONE) => self.dry_biome[c],
                _ => Biome::Lake,
            };
        }
        Ok(())
    }

    /// Where water goes: flooded from the sea inland, lowest corner first, so that even an edited hollow has a way
    /// out; then each corner's water takes the steepest way down, or, on the level, the way the flood came.
    fn drain(&mut self) {
        let graph = &self.graph;
        let corners = graph.corners().len();
        let touches: Vec<(bool, bool)> = graph.corner_ixs().map(|q| self.touches(q)).collect();
        let land = |q: usize| touches[q].1;
        self.down = vec![NONE; corners];
        self.order.clear();
        let mut level = vec![f64::INFINITY; corners];
        let mut heap = BinaryHeap::new();
        let any_sea = touches.contains(&(true, true));
        let mut rank = 0u32;
        for q in graph.corner_ixs() {
            let outlet = if any_sea { touches[q.at()] == (true, true) } else { graph.is_border_corner(q) };
            if outlet {
                level[q.at()] = self.corner.elevation[q.at()].max(0.0);
                heap.push(Reverse((level[q.at()].to_bits(), rank, q.0)));
                rank += 1;
            }
        }
        while let Some(Reverse((_, _, q))) = heap.pop() {
            let q = CornerIx(q);
            self.order.push(q.0);
            for n in graph.corner_adjacent(q) {
                if land(n.at()) && level[n.at()] == f64::INFINITY {
                    level[n.at()] = self.corner.elevation[n.at()].max(level[q.at()]);
                    self.down[n.at()] = q.0;
                    heap.push(Reverse((level[n.at()].to_bits(), rank, n.0)));
                    rank += 1;
                }
            }
        }
        for &q in &self.order {
            if self.down[q as usize] == NONE {
                continue;
            }
            let q = CornerIx(q);
            let here = graph.corner(q);
            let mut steepest = 0.0;
            for n in graph.corner_adjacent(q) {
                let there = graph.corner(n);
                let distance = math::hypot(there[0] - here[0], there[1] - here[1]);
                let slope = (level[q.at()] - level[n.at()]) / distance.max(1e-12);
                if land(n.at()) && slope > steepest {
                    steepest = slope;
                    self.down[q.at()] = n.0;
                }
            }
        }
    }

    /// Gives each lake one outlet, the corner that the flood met first, and leads the water of its other corners
    /// there along the lake. Water goes to a corner that the flood met earlier, or on to such a corner, so it still
    /// never goes round; the order is worked out again.
    fn join_lakes(&mut self) {
        let graph = &self.graph;
        let lake_of = |q: CornerIx| graph.corner_touches(q).map(|c| self.lake[c.at()]).min().unwrap_or(NONE);
        self.lake_outlet = vec![NONE; self.lake_level.len()];
        let mut met = vec![false; self.down.len()];
        for &outlet in &self.order {
            let lake = lake_of(CornerIx(outlet));
            if lake == NONE || self.lake_outlet[lake as usize] != NONE {
                continue;
            }
            self.lake_outlet[lake as usize] = outlet;
            met[outlet as usize] = true;
            let mut found = vec![CornerIx(outlet)];
            let mut next = 0;
            while let Some(&q) = found.get(next) {
                next += 1;
                for (&e, n) in graph.corner_edges(q).iter().zip(graph.corner_adjacent(q)) {
                    let edge = graph.edge(e);
                    let wet = |c: CenterIx| self.lake[c.at()] == lake;
                    let along = wet(edge.d0) || edge.d1.is_some_and(wet);
                    if along && lake_of(n) == lake && !met[n.at()] {
                        met[n.at()] = true;
                        self.down[n.at()] = q.0;
                        found.push(n);
                    }
                }
            }
        }
        let mut steps = vec![NONE; self.down.len()];
        let mut path = Vec::new();
        for &q in &self.order {
            let mut at = q;
            while at != NONE && steps[at as usize] == NONE {
                path.push(at);
                at = self.down[at as usize];
            }
            let first = if at == NONE { 0 } else { steps[at as usize] + 1 };
            for (q, count) in path.drain(..).rev().zip(first..) {
                steps[q as usize] = count;
            }
        }
        self.order.sort_by_key(|&q| steps[q as usize]);
    }

    /// Rivers out of lakes and from random springs. Every step adds one to the volume, and joining rivers add up.
    fn spring(&mut self, params: &Island) {
        let graph = &self.graph;
        let corners = graph.corners().len();
        self.volume = vec![0; corners];
        let mut is_river = vec![false; corners];
        let mut polygons = vec![0u32; self.lake_level.len()];
        for &lake in &self.lake {
            if let Some(count) = polygons.get_mut(lake as usize) {
                *count += 1;
            }
        }
        for (&outlet, count) in self.lake_outlet.iter().zip(polygons) {
            if self.down.get(outlet as usize).is_some_and(|&down| down != NONE) {
                let water = LAKE_VOLUME.0 + LAKE_VOLUME.1 * f64::from(count) * self.step * self.step;
                self.volume[outlet as usize] = (water / self.step).round().clamp(1.0, 1e6) as u32;
                let path = self.way_down(outlet, &is_river);
                path.iter().for_each(|&q| is_river[q as usize] = true);
            }
        }
        let mut catchment = vec![1.0; corners];
        for &q in self.order.iter().rev() {
            let down = self.down[q as usize];
            if down != NONE {
                catchment[down as usize] += catchment[q as usize];
            }
        }
        let shortest = (SHORTEST_RIVER / self.step).max(2.0) as usize;
        let least = SPRING_CATCHMENT / (self.step * self.step);
        let suits = |q: CornerIx| {
            self.down[q.at()] != NONE
                && catchment[q.at()] >= least
                && self.corner.elevation[q.at()] <= HIGHEST_SPRING
                && graph.corner_touches(q).all(|c| !self.is_water(c.at()))
        };
        let mut stream = self.seed.child("springs").stream();
        let mut search = Search { seen: vec![0; corners], count: 0 };
        // A finer map has more steps to the same distance. A coarser one needs as many all the same, or courses cross.
        let steps = |steps: u32| (f64::from(steps) / self.step).round().max(f64::from(steps)) as u32;
        let around = params.river_spacing - 1;
        let (beside, mouths) = (steps(around.min(2)), steps(around.min(1) * MOUTH_SPACING));
        let (around, confluence) = (steps(around), steps(CONFLUENCE) as usize);
        // Where enough water comes together is a smaller share of a finer map's corners, so there more are tried, and a
        // spring may lie a few steps further down: as far as from one corner of the usual map to the next.
        let further = (1.0 / self.step).round().max(1.0) as usize - 1;
        let tries = f64::from(params.rivers) * TRIES_PER_SPRING / self.step.min(1.0);
        let mut found = 0;
        for _ in 0..tries as u64 {
            let mut q = CornerIx(stream.below(corners) as u32);
            for _ in 0..further {
                if !suits(q) && self.down[q.at()] != NONE {
                    q = CornerIx(self.down[q.at()]);
                }
            }
            if found == params.rivers {
                break;
            }
            if !suits(q) || self.river_within(q, around, &is_river, &mut search) {
                continue;
            }
            let path = self.way_down(q.0, &is_river);
            // Two mouths keep apart too, or both would be led out over one polygon of the sea.
            let mouth = path.last().filter(|&&q| self.down[q as usize] == NONE);
            let alone = if mouth.is_some() { path.len() } else { path.len().saturating_sub(confluence) };
            if path.len() < shortest
                || mouth.is_some_and(|&q| self.river_within(CornerIx(q), mouths, &is_river, &mut search))
                || path[..alone]
                    .iter()
                    .any(|&q| self.river_within(CornerIx(q), beside, &is_river, &mut search))
            {
                continue;
            }
            found += 1;
            path.iter().for_each(|&q| is_river[q as usize] = true);
        }
        for &q in self.order.iter().rev() {
            if is_river[q as usize] {
                self.volume[q as usize] += 1;
                let down = self.down[q as usize];
                if down != NONE {
                    self.volume[down as usize] += self.volume[q as usize];
                }
            }
        }
    }

    /// The corners from one down to the sea, or to just before a river.
    fn way_down(&self, from: u32, is_river: &[bool]) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = from;
        while at != NONE && !is_river[at as usize] {
            path.push(at);
            at = self.down[at as usize];
        }
        path
    }

    /// Whether a river runs within so many steps of a corner.
    fn river_within(&self, from: CornerIx, steps: u32, is_river: &[bool], search: &mut Search) -> bool {
        search.count += 1;
        let Search { seen, count: search } = search;
        let search = *search;
        let mut ring = vec![from];
        seen[from.at()] = search;
        for step in 0..=steps {
            if ring.iter().any(|q| is_river[q.at()]) {
                return true;
            }
            if step == steps {
                break;
            }
            let mut next = Vec::new();
            for &q in &ring {
                for n in self.graph.corner_adjacent(q) {
                    if seen[n.at()] != search {
                        seen[n.at()] = search;
                        next.push(n);
                    }
                }
            }
            ring = next;
        }
        false
    }

    /// Moisture at the corners: from rivers by their volume, from lakes and from rain on high ground, a share
    /// less with every step's length.
    fn moisten(&mut self, params: &Island) {
        let graph = &self.graph;
        // A step of the usual map: with more polygons moisture takes more steps, each shorter, and spreads as far.
        let step = SIDE * self.width / self.step;
        let dries = ACROSS * math::log2(params.moisture_spread.max(1e-300)) / step;
        let seed = self.seed.child("rain");
        let (clouds, shift) = (Noise::new(seed), [seed.unit(0) * 256.0, seed.unit(1) * 256.0]);
        let mut moisture: Vec<f64> = (graph.corner_ixs())
            .map(|q| {
                if graph.corner_touches(q).any(|c| self.lake[c.at()] != NONE) {
                    return 1.0;
                }
                let volume = f64::from(self.volume[q.at()]) * self.step;
                let greatness = volume / (volume + GREAT_VOLUME);
                let river =
                    if volume > 0.0 { STREAM_MOISTURE + (1.0 - STREAM_MOISTURE) * greatness } else { 0.0 };
                let [x, y] = graph.corner(q);
                let cloud = clouds.at(x * CLOUDS + shift[0], y * CLOUDS + shift[1]);
                let share = (0.6 + f64::from(cloud)).clamp(0.0, 1.0);
                river.max(params.rain * share * self.corner.elevation[q.at()].clamp(0.0, 1.0))
            })
            .collect();
        let mut heap: BinaryHeap<(u64, Reverse<u32>)> = (moisture.iter().enumerate())
            .filter(|(_, m)| **m > 0.0)
            .map(|(q, m)| (m.to_bits(), Reverse(q as u32)))
            .collect();
        while let Some((bits, Reverse(q))) = heap.pop() {
            let q = CornerIx(q);
            if f64::from_bits(bits) < moisture[q.at()] {
                continue;
            }
            let [x, y] = graph.corner(q);
            // Across polygons, not along their sides, where detours would grow with the number of steps.
            for &n in graph.corner_touches(q).flat_map(|c| graph.center_corners(c)) {
                let [nx, ny] = graph.corner(n);
                let there = moisture[q.at()] * math::exp2(dries * math::hypot(nx - x, ny - y));
                if there > moisture[n.at()] && there > 1e-6 {
                    moisture[n.at()] = there;
                    heap.push((there.to_bits(), Reverse(n.0)));
                }
            }
        }
        self.corner.moisture = moisture;
    }

    /// The average over the corners of each centre.
    fn averages(&self, corner: &[f64]) -> Vec<f64> {
        let graph = &self.graph;
        (graph.center_ixs())
            .map(|c| {
                let corners = graph.center_corners(c);
                corners.iter().map(|q| corner[q.at()]).sum::<f64>() / corners.len().max(1) as f64
            })
            .collect()
    }

    /// Runs `f(value, weight, mode, operand)` on the values of one quantity that the edits touch.
    fn apply(
        &mut self,
        edits: &[Edit],
        quantity: Quantity,
        place: &Place,
        ctx: &Ctx<'_>,
        f: impl Fn(&mut f64, f64, Mode, f64),
    ) -> Result<(), OpError> {
        let pick = |values: &mut Values| -> Vec<f64> {
            std::mem::take(match quantity {
                Quantity::Elevation => &mut values.elevation,
                Quantity::Temperature => &mut values.temperature,
                Quantity::Moisture => &mut values.moisture,
            })
        };
        let (mut center, mut corner) = (pick(&mut self.center), pick(&mut self.corner));
        for edit in edits {
            let Some((mode, value)) = edit.change(quantity) else { continue };
            ctx.tick(EDIT_PERCENT, 100)?;
            match edit {
                Edit::Polygon { index, at_m, .. } => {
                    let c = match (index, at_m) {
                        (_, Some(at_m)) => self.locator.locate(place.to_map(*at_m)),
                        (index, _) => CenterIx(index.unwrap_or(0)),
                    };
                    if let Some(old) = center.get_mut(c.at()) {
                        f(old, 1.0, mode, value);
                        for q in self.graph.center_corners(c) {
                            f(&mut corner[q.at()], 1.0, mode, value);
                        }
                    }
                }
                Edit::Brush { points_m, radius_m, strength, .. } => {
                    let radius = radius_m / place.unit_m;
                    let stroke: Vec<[f64; 2]> = points_m.iter().map(|&p| place.to_map(p)).collect();
                    let bounds = [0, 1].map(|axis| {
                        let values = || stroke.iter().map(|p| p[axis]);
                        values().fold(f64::INFINITY, f64::min) - radius
                            ..=values().fold(f64::NEG_INFINITY, f64::max) + radius
                    });
                    let weight = |p: [f64; 2]| {
                        if !bounds[0].contains(&p[0]) || !bounds[1].contains(&p[1]) {
                            return 0.0;
                        }
                        let near = (distance2_to_stroke(p, &stroke) / (radius * radius)).min(1.0);
                        strength * (1.0 - near) * (1.0 - near)
                    };
                    for (old, &p) in center.iter_mut().zip(self.graph.centers()) {
                        f(old, weight(p), mode, value);
                    }
                    for (old, &p) in corner.iter_mut().zip(self.graph.corners()) {
                        f(old, weight(p), mode, value);
                    }
                }
            }
        }
        let put = |values: &mut Values, back: Vec<f64>| match quantity {
            Quantity::Elevation => values.elevation = back,
            Quantity::Temperature => values.temperature = back,
            Quantity::Moisture => values.moisture = back,
        };
        put(&mut self.center, center);
        put(&mut self.corner, corner);
        Ok(())
    }
}

/// Marks of corners that were looked at: `seen` holds the number of the last search that did.
struct Search {
    seen: Vec<u64>,
    count: u64,
}

/// How deep the sea lies, 0 to 1, at a distance from the coast, 0 to 1.
fn sea_floor(out: f64) -> f64 {
    let t = out * (2.0 - out);
    out + SHELF * (t * t * (3.0 - 2.0 * t) - out)
}

fn failed(error: graph::GraphError) -> OpError {
    OpError::Failed(format!("the polygon map could not be made: {error}"))
}

fn change(old: f64, weight: f64, mode: Mode, value: f64) -> f64 {
    match mode {
        Mode::Set => old + weight * (value - old),
        Mode::Add => old + weight * value,
    }
}

/// Square of the distance from a place to a polyline.
fn distance2_to_stroke(p: [f64; 2], stroke: &[[f64; 2]]) -> f64 {
    let mut nearest = f64::INFINITY;
    for (i, &a) in stroke.iter().enumerate() {
        let b = stroke.get(i + 1).copied().unwrap_or(a);
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        let length2 = dx * dx + dy * dy;
        let along = (p[0] - a[0]) * dx + (p[1] - a[1]) * dy;
        let t = if length2 > 0.0 { (along / length2).clamp(0.0, 1.0) } else { 0.0 };
        let (ex, ey) = (p[0] - a[0] - t * dx, p[1] - a[1] - t * dy);
        nearest = nearest.min(ex * ex + ey * ey);
    }
    nearest
}
