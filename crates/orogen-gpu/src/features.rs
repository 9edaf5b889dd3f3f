//! `shape.features` on the device.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use orogen_core::{Frame, Rect, Seed};
use orogen_ops::noise::{Noise, WaveParts};
use orogen_ops::shape::Features;
use orogen_ops::shape::features::Feature;
use orogen_ops::shape::features::ready::{
    Arc as LineArc, Area, AreaForm, Flat, Form, Fractal, Profile, Ready, Round, Sand, Shape, Trace,
};

use crate::numbers::Numbers;

/// Features that are laid on heights.
#[derive(Clone)]
pub(crate) struct FeatureStep {
    op: Features,
    seed: Seed,
    /// How high the highest of them is.
    pub relief_m: f64,
    /// The features for some spacings: finer ones have finer noise.
    ready: Arc<Mutex<BySpacing>>,
}

/// Features by the spacing that they are for, in bits.
type BySpacing = BTreeMap<u64, Arc<Vec<Ready>>>;

/// Spacings that are remembered.
const MOST_SPACINGS: usize = 24;

impl std::fmt::Debug for FeatureStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FeatureStep({} features)", self.op.features.len())
    }
}

impl FeatureStep {
    /// The step of these parameters.
    pub fn of(op: &Features, seed: Seed) -> Self {
        let mut relief_m = 0f64;
        for feature in &op.features {
            relief_m = relief_m.max(height_m(feature).abs());
        }
        Self { op: op.clone(), seed, relief_m, ready: Arc::default() }
    }

    /// The features for the spacing of a frame.
    fn ready(&self, frame: &Frame) -> Arc<Vec<Ready>> {
        let [dx, dy] = frame.spacing_m();
        let key = dx.max(dy).to_bits();
        let known = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return found.clone();
        }
        let made = Arc::new(self.op.ready(frame, self.seed));
        let mut known = known();
        if known.len() >= MOST_SPACINGS {
            known.clear();
        }
        known.insert(key, made.clone());
        made
    }

    /// The features that a tile meets: where their list starts, and how many there are.
    pub fn list(&self, frame: &Frame, numbers: &mut Numbers) -> [u32; 2] {
        let mut listed = Vec::new();
        // Rivers that follow each other are one run.
        let (mut run, mut river) = (0, false);
        for ready in &*self.ready(frame) {
            let is_river = matches!(ready, Ready::Line(line) if matches!(line.profile, Profile::River));
            run += u32::from(!(is_river && river));
            river = is_river;
            let found = match ready {
                Ready::Round(feature) => round(feature, frame, numbers),
                Ready::Line(feature) => line(feature, frame, numbers),
                Ready::Area(feature) => area(feature, frame, numbers),
            };
            listed.extend(found.map(|(first, kind)| [first, kind | (run << 8)]));
        }
        let first = numbers.next();
        listed.iter().for_each(|pair| numbers.push(*pair));
        [first, listed.len() as u32]
    }
}

/// The samples of a tile that something touches.
struct Part {
    low: [usize; 2],
    size: [usize; 2],
}

impl Part {
    /// Those in a rectangle.
    fn of(frame: &Frame, rect: &Rect) -> Option<Self> {
        let [west, north] = frame.locate(rect.min[0], rect.max[1]);
        let [east, south] = frame.locate(rect.max[0], rect.min[1]);
        let along = |from: f64, to: f64, count: usize| {
            let low = from.floor().clamp(0.0, count as f64) as usize;
            let high = (to.ceil() + 1.0).clamp(0.0, count as f64) as usize;
            (low < high).then_some((low, high - low))
        };
        let (x, cols) = along(west, east, frame.cols())?;
        let (y, rows) = along(north, south, frame.rows())?;
        Some(Self { low: [x, y], size: [cols, rows] })
    }

    fn pair(&self) -> [u32; 2] {
        [self.low, self.size].map(|[x, y]| x as u32 | (y as u32) << 16)
    }

    /// Eastings of its columns and northings of its rows, from a place.
    fn places(&self, frame: &Frame, from: [f64; 2]) -> [Vec<f64>; 2] {
        [
            (self.low[0]..self.low[0] + self.size[0]).map(|col| frame.x_m(col) - from[0]).collect(),
            (self.low[1]..self.low[1] + self.size[1]).map(|row| frame.y_m(row) - from[1]).collect(),
        ]
    }
}

/// A feature around a point: where its numbers are, and its kind.
fn round(feature: &Round, frame: &Frame, numbers: &mut Numbers) -> Option<(u32, u32)> {
    let part = Part::of(frame, &feature.bounds())?;
    let places = part.places(frame, feature.at);
    let dunes = match &feature.form {
        Form::Sand(sand) => sand.way,
        _ => [0.0; 2],
    };
    let table = numbers.next();
    for (axis, places) in places.iter().enumerate() {
        for at in places {
            let dunes = at * dunes[axis];
            numbers.push_floats([*at as f32, (dunes - dunes.floor()) as f32]);
        }
    }
    let mut noise = |fractal: &Fractal| fractal_table(fractal, &places, numbers);
    let outline = feature.outline.as_ref().map(|(wander, fractal)| (*wander, noise(fractal)));
    let (kind, form) = match &feature.form {
        Form::Peak(peak) => {
            let rough = peak.fractal.as_ref().map(|(rough, fractal)| (*rough, noise(fractal)));
            let (rough, fractal) = rough.unwrap_or((0.0, 0));
            let (kind, a, b) = match peak.shape {
                Shape::Mountain { height, pointed } => (0, [height, pointed], [0.0; 2]),
                Shape::Volcano { height, depth, rim, per_flank } => (1, [height, depth], [rim, per_flank]),
                Shape::Crater { depth, rim, peak } => (2, [depth, rim], [peak, 0.0]),
            };
            let bits = |pair: [f32; 2]| pair.map(f32::to_bits);
            (kind, vec![[rough.to_bits(), fractal], bits([peak.middle, 0.0]), bits(a), bits(b)])
        }
        Form::Flat(flat) => (3, flat_numbers(flat)),
        Form::Sand(sand) => (4, sand_numbers(sand, &mut noise)),
    };
    let (wander, outline) = outline.unwrap_or((0.0, 0));
    let first = numbers.next();
    numbers.push(part.pair());
    numbers.push([table, outline]);
    numbers.push_floats([(1.0 / feature.radius) as f32, feature.strength]);
    numbers.push_floats([wander, 0.0]);
    form.iter().for_each(|pair| numbers.push(*pair));
    Some((first, kind))
}

/// A number as two floats: what `split.wgsl` takes the difference of.
fn split(x: f64) -> [f32; 2] {
    let near = x as f32;
    [near, (x - f64::from(near)) as f32]
}

/// The difference of two such numbers, with the bits of the device.
fn difference(a: [f32; 2], b: [f32; 2]) -> f32 {
    (a[0] - b[0]) + (a[1] - b[1])
}

/// A feature along a line: where its numbers are, and its kind.
fn line(feature: &Trace, frame: &Frame, numbers: &mut Numbers) -> Option<(u32, u32)> {
    let spline = &feature.spline;
    // With a little to spare: an arc that hardly counts must count in both of two tiles that share a sample.
    let reach = 1.001 * (feature.reach + 2.0 * spline.bow);
    let (mut arcs, mut touched) = (Vec::new(), None::<Rect>);
    for (i, arc) in spline.arcs.iter().enumerate() {
        let around = spline.bounds(i).grown([reach; 2]);
        if around.intersection(&frame.extent()).is_some() {
            touched = Some(touched.map_or(around, |rect| rect.union(&around)));
            arcs.push(arc);
        }
    }
    let part = Part::of(frame, &touched?)?;
    let places = part.places(frame, spline.origin);
    let table = numbers.next();
    places.iter().flatten().for_each(|at| numbers.push_floats(split(*at)));
    let (wander, fractal) = match &feature.wander {
        Some((wander, fractal)) => {
            (*wander, fractal_table(fractal, &part.places(frame, feature.at), numbers))
        }
        None => (0.0, 0),
    };
    let of_arcs = numbers.next();
    arcs.iter().copied().chain(&spline.beyond).for_each(|arc| arc_numbers(arc, numbers));
    let (kind, shape) = match feature.profile {
        Profile::Ridge { pointed } => (5, [pointed, 0.0]),
        Profile::Canyon { floor, ledges } => (6, [floor, ledges]),
        Profile::River => (7, [0.0; 2]),
    };
    let first = numbers.next();
    numbers.push(part.pair());
    numbers.push([table, fractal]);
    numbers.push_floats([feature.reach as f32, feature.strength]);
    numbers.push_floats([feature.floor as f32, wander]);
    numbers.push([of_arcs, arcs.len() as u32]);
    numbers.push_floats(shape);
    numbers.push_floats([spline.bow as f32, 0.0]);
    Some((first, kind))
}

/// An arc, as `spline.wgsl` has it.
fn arc_numbers(arc: &LineArc, numbers: &mut Numbers) {
    let [x, y] = arc.from;
    let [_, c1, c2, c3] = arc.c.map(|c| c.map(|v| v as f32));
    let ([a, b, c, d], [e, f, g, h]) = (arc.values.map(|v| v as f32), arc.rise.map(|v| v as f32));
    let along = arc.along.map(|v| v as f32);
    let length = [arc.length as f32, 0.0];
    for pair in [split(x), split(y), along, length, c1, c2, c3, [a, b], [c, d], [e, f], [g, h]] {
        numbers.push_floats(pair);
    }
}

/// A feature with an outline: where its numbers are, and its kind.
fn area(feature: &Area, frame: &Frame, numbers: &mut Numbers) -> Option<(u32, u32)> {
    let part = Part::of(frame, &feature.bounds())?;
    let places = part.places(frame, feature.at);
    let dunes = match &feature.form {
        AreaForm::Sand { sand, .. } => sand.way,
        _ => [0.0; 2],
    };
    let [xs, ys] = places.clone().map(|places| -> Vec<[f32; 2]> { places.into_iter().map(split).collect() });
    // With a little to spare, as for lines.
    let reach = 1.01 * feature.reach;
    let (west, east) = (places[0][0] - reach, places[0][places[0].len() - 1] + reach);
    let (north, south) = (places[1][0] + reach, places[1][places[1].len() - 1] - reach);
    let mut crossed = vec![false; ys.len()];
    let mut edges = Vec::new();
    for edge in &feature.edges {
        let [a, b] = edge.map(|corner| [corner[0] - feature.at[0], corner[1] - feature.at[1]]);
        if a[0].min(b[0]) > east || a[1].min(b[1]) > north || a[1].max(b[1]) < south {
            continue;
        }
        if a[0].max(b[0]) >= west {
            edges.push([a, b]);
            continue;
        }
        let [a, b] = [split(a[1]), split(b[1])];
        for (crossed, y) in crossed.iter_mut().zip(&ys) {
            *crossed ^= (difference(*y, a) >= 0.0) != (difference(*y, b) >= 0.0);
        }
    }
    let table = numbers.next();
    xs.iter().chain(&ys).for_each(|at| numbers.push_floats(*at));
    let phase = |at: f64, axis: usize| {
        let dunes = at * dunes[axis];
        ((dunes - dunes.floor()) as f32).to_bits()
    };
    places[0].iter().for_each(|at| numbers.push([phase(*at, 0), 0]));
    places[1].iter().zip(&crossed).for_each(|(at, odd)| numbers.push([phase(*at, 1), u32::from(*odd)]));
    let of_edges = numbers.next();
    for place in edges.iter().flatten().flatten() {
        numbers.push_floats(split(*place));
    }
    let mut noise = |fractal: &Fractal| fractal_table(fractal, &places, numbers);
    let (kind, fractal, scale, outside, form) = match &feature.form {
        AreaForm::Slope(slope) => {
            let fractal = slope.fractal.as_ref().map_or(0, &mut noise);
            let form = vec![[slope.height, slope.rough].map(f32::to_bits)];
            (8, fractal, [slope.apron, slope.per_m], 0.0, form)
        }
        AreaForm::Flat { flat, shore, inside, outside } => {
            (9, 0, [*shore, *inside], *outside, flat_numbers(flat))
        }
        AreaForm::Sand { sand, per_m } => (10, 0, [0.0, *per_m], 0.0, sand_numbers(sand, &mut noise)),
    };
    let first = numbers.next();
    numbers.push(part.pair());
    numbers.push([table, fractal]);
    numbers.push([of_edges, edges.len() as u32]);
    numbers.push_floats([feature.strength, 0.0]);
    numbers.push_floats(scale);
    numbers.push_floats([outside, 0.0]);
    form.iter().for_each(|pair| numbers.push(*pair));
    Some((first, kind))
}

fn flat_numbers(flat: &Flat) -> Vec<[u32; 2]> {
    // A bowl of no depth is level: the cubic is taken times 0.
    [[flat.level, flat.depth], [flat.rim_height, flat.shore]].map(|pair| pair.map(f32::to_bits)).to_vec()
}

fn sand_numbers(sand: &Sand, noise: &mut dyn FnMut(&Fractal) -> u32) -> Vec<[u32; 2]> {
    let waver = if sand.wander > 0.0 { noise(&sand.fractal) } else { 0 };
    let breaks = sand.breaks.as_ref().map(|(share, fractal)| (*share, noise(fractal)));
    let (share, breaks) = breaks.unwrap_or((0.0, 0));
    vec![
        [sand.height, sand.wander].map(f32::to_bits),
        [sand.middle, sand.per_m].map(f32::to_bits),
        [waver, 0],
        [breaks, share.to_bits()],
    ]
}

/// The tables of a fractal on some columns and rows, as offsets from where it starts; where its header is.
fn fractal_table(fractal: &Fractal, places: &[Vec<f64>; 2], numbers: &mut Numbers) -> u32 {
    let waves = fractal.waves();
    let tables: Vec<[[u32; 2]; 2]> = waves.iter().map(|wave| wave_table(wave, places, numbers)).collect();
    let header = numbers.next();
    numbers.push([u32::from(fractal.ridged), waves.len() as u32]);
    tables.iter().flatten().for_each(|pair| numbers.push(*pair));
    header
}

/// The gradients that columns and rows meet in one octave, and where they lie among them.
fn wave_table(wave: &WaveParts, places: &[Vec<f64>; 2], numbers: &mut Numbers) -> [[u32; 2]; 2] {
    let mut low = [0i64; 2];
    let mut counts = [0i64; 2];
    let split: [Vec<(i64, f32)>; 2] = [0, 1].map(|axis| {
        let at = |place: &f64| Noise::split(place * wave.per_m[axis] + wave.shift[axis]);
        places[axis].iter().map(at).collect()
    });
    for axis in [0, 1] {
        let cells = || split[axis].iter().map(|(cell, _)| *cell);
        low[axis] = cells().min().unwrap_or(0);
        // One lattice point more than cells, and one for the far side of the last.
        counts[axis] = cells().max().unwrap_or(0) - low[axis] + 2;
    }
    let gradients = numbers.next();
    for row in 0..counts[1] {
        for col in 0..counts[0] {
            numbers.push_floats(wave.noise.gradient(low[0] + col, low[1] + row));
        }
    }
    let lines = numbers.next();
    for (axis, split) in split.iter().enumerate() {
        split.iter().for_each(|(cell, share)| numbers.push_place(((cell - low[axis]) as u32, *share)));
    }
    [[wave.weight.to_bits(), gradients], [counts[0] as u32, lines]]
}

/// How high a feature stands, or the level that it has.
fn height_m(feature: &Feature) -> f64 {
    match feature {
        Feature::Mountain(f) => f.height_m,
        Feature::Massif(f) => f.height_m,
        Feature::Hill(f) => f.height_m,
        Feature::DuneField(f) => f.height_m,
        Feature::Lake(f) => f.level_m.abs() + f.depth_m,
        Feature::Plateau(f) => f.level_m,
        Feature::Ridge(f) => f.points.iter().filter_map(|p| p.height_m).fold(f.height_m, f64::max),
        Feature::Canyon(f) => f.points.iter().filter_map(|p| p.depth_m).fold(f.depth_m, f64::max),
        Feature::Crater(f) => f.depth_m + f.rim_m + f.peak_m,
        Feature::Volcano(f) => f.height_m,
        Feature::River(f) => f.points.iter().filter_map(|p| p.z_m).map(f64::abs).fold(0.0, f64::max),
    }
}
