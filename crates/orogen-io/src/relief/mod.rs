//! A shaded, coloured map of a terrain, one pixel a sample.
//!
//! The land is lit by a strong sun and three weak ones (so that no slope is lost along the strong one's rays), by the
//! sky that each valley sees, and loses light in the shadow of mountains. It has the colours of its materials where it has some, is tinted
//! by biome where there are biomes and by height elsewhere, steep ground turns to rock, sand lies over both, and drainage basins have their own colours. The sea is bright over its shelf and carries water lines along
//! the coast; rivers and lakes are drawn with soft edges. Every width follows from the size of the picture, so a small
//! build looks like a large one seen from afar.

mod basins;
mod biome;
mod coarse;
mod coloring;
mod forest;
mod light;
mod palette;
mod rivers;
mod water;

use orogen_core::biome::{BIOMES, Biome};
use orogen_core::{Cancel, OpError, Raster, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::color::{Display, Light, Ramp, light_of, mix};
use crate::ground;
use crate::png8::Picture;
use basins::Basins;
use coarse::Coarse;
pub use coloring::Coloring;
use forest::Forest;
use light::{Suns, Wide};
use palette::Colors;
pub use palette::Palette;
use water::{HOLE, LAKE, LAND, Offshore, SEA};

/// How a relief map is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct ReliefStyle {
    /// Colours of land without biomes.
    pub palette: Palette,
    /// What the colours of land follow from.
    pub coloring: Coloring,
    /// Where the sun stands, clockwise from north.
    #[schemars(range(min = -360.0, max = 360.0), extend("x-unit" = "deg"))]
    pub sun_from_deg: f64,
    /// How high the sun stands above the horizon.
    #[schemars(range(min = 1.0, max = 90.0), extend("x-unit" = "deg"))]
    pub sun_height_deg: f64,
    /// Vertical exaggeration; when left out, one is chosen from the land's own steepness.
    #[schemars(range(min = 0.01, max = 1000.0))]
    pub exaggeration: Option<f64>,
    /// Colours by ground material, where `cover.materials` has laid some.
    pub materials: bool,
    /// Draws woods, where `cover.scatter` has let some grow.
    pub forests: bool,
    /// Colours by biome, where the terrain has a `biome` layer.
    pub biomes: bool,
    /// Colours by drainage basin, where `water.basins` has found some.
    pub basins: bool,
    /// Draws the rivers.
    pub rivers: bool,
    /// Draws lines of equal height, where `survey.contours` has made some.
    pub contours: bool,
    /// Width of a paper-coloured border, in pixels.
    #[schemars(range(min = 0, max = 4096))]
    pub border_px: usize,
}

impl Default for ReliefStyle {
    fn default() -> Self {
        Self {
            palette: Palette::Temperate,
            coloring: Coloring::Natural,
            sun_from_deg: 315.0,
            sun_height_deg: 42.0,
            exaggeration: None,
            materials: true,
            forests: true,
            biomes: true,
            basins: true,
            rivers: true,
            contours: true,
            border_px: 0,
        }
    }
}

/// Sea by depth: a bright shelf, then deeper and deeper blue.
const SEA_STOPS: [(f32, [u8; 3]); 5] = [
    (0.00, [176, 213, 211]),
    (0.12, [146, 195, 205]),
    (0.35, [101, 160, 188]),
    (0.65, [67, 122, 163]),
    (1.00, [42, 86, 132]),
];
const LAKE_WATER: [u8; 3] = BIOMES[Biome::Lake as usize].color;
const RIVER_WATER: [u8; 3] = [64, 124, 172];
const SHORE: [u8; 3] = [62, 96, 118];
const WATER_LINE: [u8; 3] = [222, 238, 238];
const PAPER: [u8; 3] = [238, 232, 218];
/// Lines of equal height, as on printed maps.
const CONTOUR_INK: [u8; 3] = [92, 58, 30];
const DIVIDE_INK: [u8; 3] = [74, 66, 70];
/// Sand, and the depths in metres between which it comes to hide the ground.
const SAND: [u8; 3] = [232, 214, 170];
const SAND_M: [f32; 2] = [0.02, 0.7];
/// How much of the colour of the ground is its sand's, and its basin's.
const SAND_SHARE: f32 = 0.85;
const BASIN_SHARE: f32 = 0.72;

/// Ground is darker than maps are: how much brighter it is drawn, dark and bright ground, and between which brightnesses.
const COVER_LIFT: [f32; 2] = [1.6, 1.15];
const BRIGHT: [f32; 2] = [0.2, 0.45];
/// The same of woods, which stay darker than meadows.
const WOODS_LIFT: f32 = 1.8;
/// How much of its own hue ground loses to the air above it.
const PALE: f32 = 0.1;
/// How much of the colour of bare rock is that of the palette, where that knows of beds.
const BEDS_SHARE: f32 = 0.8;

/// Colour of the light of the sky and of the sun: shadows are cool, sunlit slopes warm.
const SKY: Light = [0.86, 0.97, 1.16];
const SUN: Light = [1.06, 1.0, 0.90];
/// Brightness of flat, open ground: mountains see less of sun and sky, and a map of them is not to be dark.
const EXPOSURE: f32 = 1.1;
/// Share of the light on flat, open ground that comes from the sky.
const SKY_LIGHT: f32 = 0.38;
/// Shares of the fine and of the coarse land in the slopes that are lit: fine texture on readable landforms.
const FINE: f32 = 0.85;
const COARSE: f32 = 0.42;

/// Draws the map of a terrain.
///
/// # Errors
/// When the terrain has no `height` layer.
pub fn render(terrain: &Terrain, style: &ReliefStyle) -> Result<Picture, OpError> {
    render_unless_cancelled(terrain, style, &Cancel::new())
}

/// As [`render`], until the switch is thrown.
///
/// # Errors
/// As [`render`], and soon after the work is cancelled.
pub fn render_unless_cancelled(
    terrain: &Terrain,
    style: &ReliefStyle,
    cancel: &Cancel,
) -> Result<Picture, OpError> {
    let go_on = || if cancel.is_cancelled() { Err(OpError::Cancelled) } else { Ok(()) };
    let height = terrain.get(layer::HEIGHT)?;
    let frame = terrain.frame();
    let (cols, rows) = (height.cols(), height.rows());
    let kinds = water::kinds(terrain, height);
    go_on()?;
    let wide = Wide::new(height, frame, style);
    go_on()?;
    let offshore = Offshore::new(&kinds);
    go_on()?;
    let ground = Ground::new(terrain, height, &kinds, style);
    let sea = Sea::new(height);
    let lines = |drawn: bool, name: &str| {
        drawn.then(|| terrain.vector(name)).flatten().and_then(|lines| rivers::coverage(lines, frame))
    };
    let (rivers, contours) = (lines(style.rivers, "rivers"), lines(style.contours, "contours"));
    let natural = style.coloring == Coloring::Natural;
    let cover = (natural && style.materials).then(|| ground::Ground::of(terrain)).flatten();
    let rocks = if cover.is_some() && style.palette.has_beds() { ground::rocks(terrain) } else { Vec::new() };
    let forest = (natural && style.forests).then(|| Forest::of(terrain)).flatten();
    let pattern = coloring::pattern(terrain, style.coloring);
    // Materials know of sand already, and the other ideas of colour of nothing but theirs.
    let sand = if natural && cover.is_none() { terrain.get(layer::SAND).ok() } else { None };
    let basins = style.basins.then(|| terrain.get(layer::BASIN).ok()).flatten().map(Basins::new);
    let suns = Suns::new(style.sun_from_deg, style.sun_height_deg);
    let display = Display::new();
    let [river, shore, lake, paper] = [RIVER_WATER, SHORE, LAKE_WATER, PAPER].map(light_of);
    let [ink, divide, grains] = [CONTOUR_INK, DIVIDE_INK, SAND].map(light_of);
    let cell_m = frame.spacing_m().map(|s| s as f32);

    let mut picture = Raster::filled(cols, rows, [0u8; 3]);
    picture.par_rows(|row, out| {
        if cancel.is_cancelled() {
            return;
        }
        let mut blend = Vec::new();
        let mut line = |grid: &Coarse, raster: &Raster<f32>| {
            let mut fine = vec![0f32; cols];
            grid.fine_row(raster, row, &mut blend, &mut fine);
            fine
        };
        let [wide_x, wide_y] = [&wide.grade_x, &wide.grade_y].map(|raster| line(&wide.grid, raster));
        let [sky, shadow] = [&wide.sky, &wide.shadow].map(|raster| line(&wide.grid, raster));
        let distance = line(&offshore.grid, &offshore.distance);
        let mut covered = Vec::new();
        if let Some(cover) = &cover {
            cover.row(row, &mut covered);
        }
        let tint = ground.tints.as_ref().map(|(grid, channels)| [0, 1, 2].map(|i| line(grid, &channels[i])));
        let (north, south) = (row.saturating_sub(1), (row + 1).min(rows - 1));
        let lines = [height.row(north), height.row(row), height.row(south)];
        let kind_lines = [kinds.row(north), kinds.row(row), kinds.row(south)];

        for (col, out) in out.iter_mut().enumerate() {
            let (west, east) = (col.saturating_sub(1), (col + 1).min(cols - 1));
            let h = lines[1][col];
            let (grade_x, grade_y) = grades(&lines, west, col, east, cell_m);
            let around = Around::new(&kind_lines, west, col, east);
            if around.holes == 1.0 {
                *out = display.srgb(paper);
                continue;
            }
            let crown = forest.as_ref().and_then(|forest| forest.at(col, row));
            let [over_x, over_y] = crown.as_ref().map_or([0.0; 2], |crown| crown.grade);
            // Open sea, half of many maps, needs no light on land.
            let (lit, open) = if around.sea < 1.0 {
                let lift = wide.exaggeration;
                let lit = suns.light(
                    FINE * (grade_x * lift + over_x) + COARSE * wide_x[col],
                    FINE * (grade_y * lift + over_y) + COARSE * wide_y[col],
                    0.75 * shadow[col],
                );
                (lit, (1.0 - 1.35 * (1.0 - sky[col])).max(0.15))
            } else {
                (1.0, 1.0)
            };

            let mut color = [0f32; 3];
            if around.land > 0.0 {
                let steep = (grade_x * grade_x + grade_y * grade_y).sqrt();
                let mut base = match covered.get(col) {
                    Some(color) => {
                        let plain = lifted(*color);
                        let bare: f32 = rocks.iter().map(|rock| f32::from(rock.row(row)[col].0)).sum();
                        if bare > 0.0 { mix(plain, ground.bed(h), BEDS_SHARE * bare / 255.0) } else { plain }
                    }
                    None => {
                        let tint = tint.as_ref().map(|t| [t[0][col], t[1][col], t[2][col]]);
                        let pattern = pattern.as_ref().map_or(0.0, |pattern| pattern.row(row)[col]);
                        ground.color(h.max(0.0), steep, tint, pattern)
                    }
                };
                if let Some(sand) = sand {
                    // A hole in the layer compares as no sand.
                    let deep = sand.row(row)[col];
                    if deep > SAND_M[0] {
                        base = mix(base, grains, SAND_SHARE * math::smoothstep(SAND_M[0], SAND_M[1], deep));
                    }
                }
                if let Some(crown) = &crown {
                    base = mix(base, pale(crown.color.map(|v| v * WOODS_LIFT)), crown.share);
                }
                if let Some(basins) = &basins {
                    let (color, share, edge) = basins.at(col, row);
                    base = mix(mix(base, color, BASIN_SHARE * share), divide, 0.6 * share * edge);
                }
                let mut land = shone(base, lit, open);
                if let Some(contours) = &contours {
                    land = mix(land, ink, 0.8 * contours.row(row)[col]);
                }
                if let Some(rivers) = &rivers {
                    let cover = rivers.row(row)[col];
                    if cover > 0.0 {
                        land = mix(land, shone(river, 0.5 + 0.5 * lit, open), 0.92 * cover);
                    }
                }
                add(&mut color, land, around.land);
            }
            if around.sea > 0.0 {
                let bed = if sea.has_bed { suns.light(0.55 * grade_x, 0.55 * grade_y, 0.0) } else { 1.0 };
                let surface = sea.color((-h).max(0.0), distance[col]);
                add(&mut color, surface.map(|v| v * (0.72 + 0.28 * bed)), around.sea);
            }
            if around.lake > 0.0 {
                add(&mut color, shone(lake, 0.8 + 0.2 * lit, 0.5 + 0.5 * open), around.lake);
            }
            if around.holes > 0.0 {
                add(&mut color, paper, around.holes);
            }
            // A thin dark line where land and water meet.
            let wet = around.sea + around.lake;
            let edge = 4.0 * wet * around.land;
            *out = display.srgb(mix(color, shore, 0.5 * edge.min(1.0)));
        }
    });
    go_on()?;
    Ok(bordered(picture, style.border_px))
}

/// Bare ground as it is drawn.
#[inline]
fn lifted(color: Light) -> Light {
    let lift = math::lerp(COVER_LIFT[0], COVER_LIFT[1], math::smoothstep(BRIGHT[0], BRIGHT[1], gray(color)));
    pale(color.map(|v| v * lift))
}

/// A colour with less of its hue, as bright as it was.
#[inline]
fn pale(color: Light) -> Light {
    mix(color, [gray(color); 3], PALE)
}

/// How bright a colour is.
#[inline]
fn gray(color: Light) -> f32 {
    0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2]
}

/// Ground under the sun and the sky.
#[inline]
fn shone(base: Light, lit: f32, open: f32) -> Light {
    let (sun, sky) = (EXPOSURE * (1.0 - SKY_LIGHT) * lit, EXPOSURE * SKY_LIGHT * open);
    [0, 1, 2].map(|i| {
        let light = sun * SUN[i] + sky * SKY[i];
        // Bright slopes approach the full light instead of running into it.
        let bright = base[i] * light;
        if bright > 0.7 { 0.7 + 0.3 * (1.0 - 1.0 / (1.0 + (bright - 0.7) / 0.3)) } else { bright }
    })
}

#[inline]
fn add(color: &mut Light, part: Light, share: f32) {
    for i in 0..3 {
        color[i] += part[i] * share;
    }
}

/// Rise to the east and to the south; a hole counts as level with the sample itself.
#[inline]
fn grades(lines: &[&[f32]; 3], west: usize, col: usize, east: usize, cell_m: [f32; 2]) -> (f32, f32) {
    let here = lines[1][col];
    let or_here = |h: f32| if h.is_nan() { here } else { h };
    let x = (or_here(lines[1][east]) - or_here(lines[1][west])) / ((east - west).max(1) as f32 * cell_m[0]);
    let y = (or_here(lines[2][col]) - or_here(lines[0][col])) / (2.0 * cell_m[1]);
    (if x.is_nan() { 0.0 } else { x }, if y.is_nan() { 0.0 } else { y })
}

/// What lies in and round a sample, as shares: the soft edges of land and water.
struct Around {
    land: f32,
    sea: f32,
    lake: f32,
    holes: f32,
}

impl Around {
    #[inline]
    fn new(kinds: &[&[u8]; 3], west: usize, col: usize, east: usize) -> Self {
        let here = kinds[1][col];
        let alike = kinds.iter().all(|line| line[west] == here && line[col] == here && line[east] == here);
        let mut shares = [0f32; 4];
        if alike {
            shares[usize::from(here)] = 1.0;
        } else {
            for (line, weight) in kinds.iter().zip([1.0, 2.0, 1.0]) {
                for (col, across) in [(west, 1.0), (col, 2.0), (east, 1.0)] {
                    shares[usize::from(line[col])] += weight * across / 16.0;
                }
            }
        }
        let share = |kind: u8| shares[usize::from(kind)];
        Self { land: share(LAND), sea: share(SEA), lake: share(LAKE), holes: share(HOLE) }
    }
}

/// What colours the land.
struct Ground {
    colors: Colors,
    coloring: Coloring,
    low: f32,
    high: f32,
    /// How far up the ramp the highest land reaches: low hills end in meadows, not in snow.
    top: f32,
    /// Biome colours, softened over their borders.
    tints: Option<(Coarse, [Raster<f32>; 3])>,
}

impl Ground {
    fn new(terrain: &Terrain, height: &Raster<f32>, kinds: &Raster<u8>, style: &ReliefStyle) -> Self {
        let (low, high) = height.range().unwrap_or((0.0, 1.0));
        let (low, high) = (low.max(0.0), high.max(1e-3));
        let colors = style.palette.colors();
        let by_metres = math::lerp(0.5, 1.0, math::smoothstep(200.0, 2600.0, high));
        let top = if colors.by_metres { by_metres } else { 1.0 };
        let biomes = (style.biomes && style.coloring == Coloring::Natural)
            .then(|| terrain.get(layer::BIOME).ok())
            .flatten();
        let tints = biomes.map(|biomes| biome::tints(biomes, kinds, colors.ramp.at(0.0)));
        Self { colors, coloring: style.coloring, low, high, top, tints }
    }

    /// How far up from the lowest to the highest land.
    #[inline]
    fn share(&self, height: f32) -> f32 {
        ((height - self.low) / (self.high - self.low).max(1e-3)).clamp(0.0, 1.0)
    }

    /// The colour of the bed of rock at a height.
    #[inline]
    fn bed(&self, height: f32) -> Light {
        self.colors.ramp.at(self.share(height) * self.top)
    }

    #[inline]
    fn color(&self, height: f32, steep: f32, tint: Option<Light>, pattern: f32) -> Light {
        let t = self.share(height);
        let colors = &self.colors;
        match tint {
            // Biomes say the colour; height only brightens it towards the tops.
            Some(tint) => {
                let bare = math::smoothstep(colors.bare[0], colors.bare[1], steep);
                mix(tint.map(|v| v * (0.94 + 0.16 * t)), colors.rock, 0.5 * bare)
            }
            None => self.coloring.color(colors, self.top, t, steep, pattern),
        }
    }
}

/// What colours the sea.
struct Sea {
    ramp: Ramp,
    line: Light,
    /// A sea without a bed (that of most elevation models) is coloured by distance from the coast alone.
    has_bed: bool,
    deepest: f32,
    /// Pixels in a thousandth of the picture's longer side.
    pixel: f32,
}

impl Sea {
    fn new(height: &Raster<f32>) -> Self {
        let (low, high) = height.range().unwrap_or((0.0, 1.0));
        let deepest = (-low).max(0.0);
        let pixel = (height.cols().max(height.rows()) as f32 / 1000.0).max(0.25);
        let (ramp, line) = (Ramp::new(&SEA_STOPS), light_of(WATER_LINE));
        Self { ramp, line, has_bed: deepest > 0.02 * (high - low), deepest, pixel }
    }

    #[inline]
    fn color(&self, depth: f32, distance: f32) -> Light {
        let out = distance / self.pixel;
        let far = out / (out + 90.0);
        let t =
            if self.deepest > 0.0 { 0.68 * (depth / self.deepest).sqrt() + 0.32 * far } else { 0.75 * far };
        let water = self.ramp.at(t);
        mix(water, self.line, water_line(out, self.pixel))
    }
}

/// Lines along the coast that widen and fade on their way out, as engravers draw water.
#[inline]
fn water_line(out: f32, pixel: f32) -> f32 {
    const LINES: [(f32, f32); 4] = [(5.0, 0.34), (12.0, 0.24), (22.0, 0.16), (36.0, 0.10)];
    let half = 1.1f32.max(0.8 / pixel);
    if out > LINES[3].0 + half {
        return 0.0;
    }
    let mut strongest = 0f32;
    for (at, strength) in LINES {
        let off = ((out - at) / half).abs();
        strongest = strongest.max(strength * (1.0 - off).max(0.0));
    }
    strongest * pixel.min(1.0)
}

/// The picture within a border of paper and a thin dark line.
fn bordered(picture: Picture, border_px: usize) -> Picture {
    let border = border_px.min(4096);
    if border == 0 {
        return picture;
    }
    let (cols, rows) = (picture.cols(), picture.rows());
    Raster::from_fn(cols + 2 * border, rows + 2 * border, |col, row| {
        let inside = |at: usize, size: usize| at.checked_sub(border).filter(|&i| i < size);
        match (inside(col, cols), inside(row, rows)) {
            (Some(c), Some(r)) => picture.row(r)[c],
            _ => {
                let near = |at: usize, size: usize| at + 2 >= border && at < border + size + 2;
                if near(col, cols) && near(row, rows) { [92, 86, 78] } else { PAPER }
            }
        }
    })
}

/// The colour of a biome by its number; `None` for a number that is not a biome.
#[must_use]
pub fn biome_color(id: u8) -> Option<[u8; 3]> {
    Biome::from_id(id).map(|biome| biome.info().color)
}
