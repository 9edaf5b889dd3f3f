//! What was drawn: strokes and polygons of the recipe, lines and polygons of a file, pictures.

use orogen_core::{Ctx, FeatureSet, Frame, OpError, Property, Raster, Rect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Sketch;
use super::density::{KINDS, Kind};
use super::lattice::Lattice;
use crate::brush::{Near, Path};
use crate::mask::polygon;
use crate::source::{Map, covered};

/// A shape drawn in the recipe: a stroke of a brush, or what lies inside a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// What it shows.
    pub kind: Kind,
    /// What the features made of it are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 60))]
    pub name: Option<String>,
    /// The line, (x, y) each; one point makes a dab.
    #[schemars(length(min = 1, max = 10_000), inner(inner(range(min = -1e9, max = 1e9))), extend("x-unit" = "m"))]
    pub points_m: Vec<[f64; 2]>,
    /// Half the width of the stroke; half the width of a river. 0 takes the default.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 2000.0]))]
    pub radius_m: f64,
    /// Fills the line: what lies inside is drawn too.
    #[serde(default)]
    pub closed: bool,
    /// Height of mountains, hills or dunes, or depth of a lake; the sketch's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [10.0, 3000.0]))]
    pub height_m: Option<f64>,
    /// How many mountains or hills; as many as fit when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub number: Option<u32>,
    /// Radius of a mountain or hill, or distance from dune to dune; the sketch's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 5000.0]))]
    pub size_m: Option<f64>,
}

/// A picture with one layer of the drawing: white, or not transparent, where it is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// What it shows.
    pub kind: Kind,
    /// The file, a PNG, relative to the recipe.
    #[schemars(extend("x-kind" = "file", "maxLength" = 4096))]
    pub path: String,
    /// What it is stretched over: west, south, east and north; the whole world when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub over_m: Option<[f64; 4]>,
    /// Takes what is black, or transparent, as drawn.
    #[serde(default)]
    pub invert: bool,
    /// Height of mountains, hills or dunes, or depth of lakes; the sketch's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [10.0, 3000.0]))]
    pub height_m: Option<f64>,
    /// How many mountains or hills in each shape; as many as fit when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub number: Option<u32>,
    /// Radius of a mountain or hill, or distance from dune to dune; the sketch's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 5000.0]))]
    pub size_m: Option<f64>,
    /// Width of rivers; as drawn when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-3, max = 1e5), extend("x-unit" = "m", "x-slider" = [1.0, 300.0]))]
    pub width_m: Option<f64>,
}

/// What is wanted of a shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Item {
    pub name: Option<String>,
    pub height_m: Option<f64>,
    pub number: Option<u32>,
    /// Whether the number is that of each shape, as in pictures, where one item has many.
    pub each: bool,
    pub size_m: Option<f64>,
    pub width_m: Option<f64>,
}

/// The course of a river as drawn.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub item: Item,
    pub points: Vec<[f64; 2]>,
}

/// The drawing on the lattice: by kind, 0 where nothing is drawn, else the number of an item, counted from 1.
pub(super) struct Canvas {
    pub items: Vec<Item>,
    pub layers: [Vec<u32>; KINDS],
    /// How much of each cell is drawn, by kind, in 255ths: outlines are finer than cells.
    pub cover: [Vec<u8>; KINDS],
    pub courses: Vec<Course>,
}

/// Parts of a side of a cell by which its cover is counted.
const PARTS: usize = 4;

impl Canvas {
    /// Everything that was drawn.
    pub fn new(sketch: &Sketch, lattice: &Lattice, world: &Rect, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let layers = std::array::from_fn(|_| vec![0; lattice.len()]);
        let cover = std::array::from_fn(|_| vec![0; lattice.len()]);
        let mut canvas = Self { items: Vec::new(), layers, cover, courses: Vec::new() };
        for picture in &sketch.pictures {
            canvas.picture(picture, lattice, world, &*ctx.files().drawing(&picture.path)?);
            ctx.tick(0, 1)?;
        }
        if !sketch.path.is_empty() {
            canvas.file(sketch, lattice, world, ctx)?;
        }
        for drawn in &sketch.shapes {
            let radius = drawn.radius_m;
            let item = Item {
                name: drawn.name.clone(),
                height_m: drawn.height_m,
                number: drawn.number,
                each: false,
                size_m: drawn.size_m,
                width_m: (drawn.kind == Kind::River && radius > 0.0).then_some(2.0 * radius),
            };
            if drawn.kind == Kind::River && !drawn.closed {
                canvas.courses.push(Course { item, points: drawn.points_m.clone() });
                continue;
            }
            let usual = if drawn.closed { 0.0 } else { 0.7 * sketch.size_m(drawn.kind, lattice) };
            let radius = if radius > 0.0 { radius } else { usual };
            let number = canvas.item(item);
            let filled = drawn.closed && canvas.fill(drawn.kind, number, &[&drawn.points_m], lattice);
            if !filled || radius > 0.0 {
                let line = if drawn.closed {
                    [&drawn.points_m[..], &drawn.points_m[..1]].concat()
                } else {
                    drawn.points_m.clone()
                };
                canvas.stroke(drawn.kind, number, &line, radius, lattice);
            }
        }
        Ok(canvas)
    }

    fn item(&mut self, item: Item) -> u32 {
        self.items.push(item);
        self.items.len() as u32
    }

    /// Marks what a brush touches; one cell at least.
    fn stroke(&mut self, kind: Kind, item: u32, points: &[[f64; 2]], radius: f64, lattice: &Lattice) {
        let radius = radius.max(0.71 * lattice.cell);
        let path = Path::new(points, false, radius);
        let Some((cols, rows)) = path.touches(&lattice.frame) else { return };
        let limit = (radius * radius) as f32;
        let mut near = Near::default();
        for row in rows {
            path.nearest(&lattice.frame, row, cols.clone(), &mut near);
            let start = row * lattice.cols() + cols.start;
            let out = &mut self.layers[kind as usize][start..start + cols.len()];
            out.iter_mut().zip(&near.distance2).filter(|(_, d2)| **d2 <= limit).for_each(|(v, _)| *v = item);
            let cover = &mut self.cover[kind as usize][start..start + cols.len()];
            for (cover, d2) in cover.iter_mut().zip(&near.distance2) {
                // The edge of the brush passes through a cell as a line does, nearly.
                let inside = (radius - f64::from(d2.sqrt())) / lattice.cell + 0.5;
                *cover = (*cover).max((255.0 * inside.clamp(0.0, 1.0)) as u8);
            }
        }
    }

    /// Marks what lies inside rings; `false` when no cell does.
    fn fill(&mut self, kind: Kind, item: u32, rings: &[&[[f64; 2]]], lattice: &Lattice) -> bool {
        let edges: Vec<[[f64; 2]; 2]> = (rings.iter())
            .flat_map(|ring| (0..ring.len()).map(|i| [ring[i], ring[(i + 1) % ring.len()]]))
            .collect();
        let mut within = vec![0.0; lattice.cols()];
        let mut any = false;
        for (row, out) in self.layers[kind as usize].chunks_mut(lattice.cols()).enumerate() {
            within.fill(0.0);
            polygon::fill(&edges, &lattice.frame, row, &mut within);
            for (out, _) in out.iter_mut().zip(&within).filter(|(_, w)| **w > 0.0) {
                *out = item;
                any = true;
            }
        }
        // Lines between the cells' own tell how much of a cell is inside.
        let [west, south] = lattice.frame.extent().min;
        let (cols, rows) = (lattice.cols(), lattice.rows());
        let fine = lattice.cell / PARTS as f64;
        let first = [west - 0.5 * lattice.cell + 0.5 * fine, south - 0.5 * lattice.cell + 0.5 * fine];
        let size = [(cols * PARTS - 1) as f64 * fine, (rows * PARTS - 1) as f64 * fine];
        let Ok(frame) = Frame::new(first, size, [cols * PARTS, rows * PARTS]) else { return any };
        let (low, high) = edges
            .iter()
            .flatten()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p[1]), b.max(p[1])));
        let mut fine = vec![0.0; cols * PARTS];
        for (row, cover) in self.cover[kind as usize].chunks_mut(cols).enumerate() {
            let y = lattice.frame.y_m(row);
            if y < low - lattice.cell || y > high + lattice.cell {
                continue;
            }
            let mut counts = vec![0u32; cols];
            for part in 0..PARTS {
                fine.fill(0.0);
                polygon::fill(&edges, &frame, row * PARTS + part, &mut fine);
                for (count, parts) in counts.iter_mut().zip(fine.chunks(PARTS)) {
                    *count += parts.iter().filter(|w| **w > 0.0).count() as u32;
                }
            }
            for (cover, count) in cover.iter_mut().zip(counts) {
                *cover = (*cover).max((255 * count / (PARTS * PARTS) as u32) as u8);
            }
        }
        any
    }

    fn picture(&mut self, picture: &Picture, lattice: &Lattice, world: &Rect, drawing: &Raster<u8>) {
        let over = picture
            .over_m
            .map_or(*world, |[west, south, east, north]| Rect { min: [west, south], max: [east, north] });
        let item = self.item(Item {
            name: None,
            height_m: picture.height_m,
            number: picture.number,
            each: true,
            size_m: picture.size_m,
            width_m: picture.width_m,
        });
        let [width, depth] = over.size();
        let (cols, rows) = (drawing.cols() as f64, drawing.rows() as f64);
        let drawn = |value: u8| (value >= 128) != picture.invert;
        let layer = &mut self.layers[picture.kind as usize];
        let cover = &mut self.cover[picture.kind as usize];
        if width / cols >= lattice.cell || depth / rows >= lattice.cell {
            // Pixels larger than cells: their edges go straight from middle to middle.
            let pixels = drawing.map(f32::from);
            for (i, out) in layer.iter_mut().enumerate() {
                let [x, y] = lattice.place(i);
                let (u, v) = ((x - over.min[0]) / width, (over.max[1] - y) / depth);
                if (0.0..=1.0).contains(&u) && (0.0..=1.0).contains(&v) {
                    let value = pixels.bilinear(u * cols - 0.5, v * rows - 0.5);
                    if (value >= 127.5) != picture.invert {
                        *out = item;
                    }
                    let value = if picture.invert { 255.0 - value } else { value };
                    cover[i] = cover[i].max(value as u8);
                }
            }
            return;
        }
        // Pixels smaller than cells: a cell is drawn when half of its pixels are.
        let mut counts = vec![[0u32; 2]; lattice.len()];
        for row in 0..drawing.rows() {
            let y = over.max[1] - (row as f64 + 0.5) / rows * depth;
            for (col, value) in drawing.row(row).iter().enumerate() {
                let x = over.min[0] + (col as f64 + 0.5) / cols * width;
                if let Some(cell) = lattice.cell_at([x, y]) {
                    counts[cell][0] += 1;
                    counts[cell][1] += u32::from(drawn(*value));
                }
            }
        }
        let whole = |cell: usize| counts[cell][1] > 0 && 2 * counts[cell][1] >= counts[cell][0];
        for cell in 0..lattice.len() {
            // What is finer than a cell is not lost.
            let lone = counts[cell][1] > 0
                && (picture.kind == Kind::River
                    || !lattice.neighbours_of(cell).any(|(other, _)| whole(other)));
            if whole(cell) || lone {
                layer[cell] = item;
            }
            let share = 255 * counts[cell][1] / counts[cell][0].max(1);
            cover[cell] = cover[cell].max(share as u8);
        }
    }

    /// Lines and polygons of a file; their property `kind` says what they show.
    fn file(
        &mut self,
        sketch: &Sketch,
        lattice: &Lattice,
        world: &Rect,
        ctx: &Ctx<'_>,
    ) -> Result<(), OpError> {
        let features = ctx.files().features(&sketch.path)?;
        let sets = [&features.points, &features.lines, &features.polygons];
        let all = sets.iter().flat_map(|set| set.vectors().vertices()).map(|p| [p[0], p[1]]);
        let Some(covered) = covered(all) else {
            let reason = String::from("it has no points, lines or polygons");
            return Err(OpError::File { path: sketch.path.clone(), reason });
        };
        let map = Map::new(sketch.placement, &covered, world, [0.0; 2]);
        for (which, set) in sets.into_iter().enumerate() {
            for feature in 0..set.vectors().len() {
                let kind = kind_of(set, feature, &sketch.path)?;
                let item = item_of(set, feature);
                let radius = number(set, feature, "radius_m").unwrap_or(0.0).max(0.0);
                let parts: Vec<Vec<[f64; 2]>> = set
                    .vectors()
                    .parts(feature)
                    .map(|part| {
                        set.vectors().vertices()[part].iter().map(|p| map.place([p[0], p[1]])).collect()
                    })
                    .collect();
                if which == 1 && kind == Kind::River {
                    let course = |points| Course { item: item.clone(), points };
                    self.courses.extend(parts.into_iter().map(course));
                    continue;
                }
                let item = self.item(item);
                let usual = 0.7 * sketch.size_m(kind, lattice);
                let radius = if radius > 0.0 || which == 2 { radius } else { usual };
                for part in &parts {
                    if which < 2 {
                        self.stroke(kind, item, part, radius, lattice);
                    }
                }
                if which == 2 {
                    let rings: Vec<&[[f64; 2]]> = parts.iter().map(Vec::as_slice).collect();
                    if !self.fill(kind, item, &rings, lattice) {
                        // Smaller than a cell.
                        let corner: Vec<[f64; 2]> = parts.iter().flatten().take(1).copied().collect();
                        self.stroke(kind, item, &corner, 0.0, lattice);
                    }
                }
                ctx.tick(0, 1)?;
            }
        }
        Ok(())
    }
}

fn number(set: &FeatureSet, feature: usize, name: &str) -> Option<f64> {
    set.property(feature, name).and_then(Property::number)
}

fn kind_of(set: &FeatureSet, feature: usize, path: &str) -> Result<Kind, OpError> {
    let fail = |found: &str| {
        let words = Kind::ALL.map(Kind::word).join(", ");
        let reason = format!(
            "feature {} has {found}; the property \"kind\" must be one of {words}",
            set.number(feature)
        );
        Err(OpError::File { path: path.to_owned(), reason })
    };
    match set.property(feature, "kind") {
        Some(Property::Text(word)) => match Kind::parse(word.trim()) {
            Some(kind) => Ok(kind),
            None => fail(&format!("the kind {word:?}")),
        },
        Some(_) => fail("a kind that is not a string"),
        None => fail("no kind"),
    }
}

/// What the properties of a feature ask for; numbers out of range are ignored.
fn item_of(set: &FeatureSet, feature: usize) -> Item {
    let positive = |name: &str, most: f64| number(set, feature, name).filter(|v| *v > 0.0 && *v <= most);
    Item {
        name: match set.property(feature, "name") {
            Some(Property::Text(name)) => Some(name.chars().filter(|c| !c.is_control()).take(60).collect()),
            _ => None,
        },
        height_m: positive("height_m", 20_000.0),
        number: positive("number", 1000.0).map(|v| (v as u32).max(1)),
        each: false,
        size_m: positive("size_m", 1e6),
        width_m: positive("width_m", 1e5),
    }
}
