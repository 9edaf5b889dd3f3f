//! The land under the ice: the lattice that ice is solved on, the ice and the rock there, and the way back to the frame.

use std::sync::Arc;

use orogen_core::{Cancelled, Ctx, Frame, OpError, Raster, Terrain, layer, math};

use super::climate::{self, Climate, for_neighbours, from_the_top};
use super::flow::{Flow, Law};
use super::wear::{self, Carried, Carrier};
use super::{Glacier, ICE_STEP_YR};
use crate::drainage::check_size;
use crate::erode::stream_power::nodes::Nodes;
use crate::erode::stream_power::rock;
use crate::erode::stream_power::slopes;
use crate::held_lines;
use crate::rock::beds::{Places, Strata};
use crate::rock::variety::Variety;
use crate::water::sea_level;

/// Cells along the longer side of the lattice, at most.
const CELLS: f64 = 256.0;
/// Cells are no finer than this, in metres: ice does not know of less than its own thickness.
const FINEST_M: f64 = 60.0;
/// A lattice has so many cells along the longer side at least, where the frame has.
const FEWEST: f64 = 32.0;
/// Weight of sea water against that of ice.
const FLOATS: f32 = 1028.0 / 917.0;
/// Wear that grinds off two thirds of what is rough between the nodes, in metres.
const GRINDS_M: f32 = 30.0;
/// Share of what is rough between the nodes that wear never takes.
const ROUGH_LEFT: f32 = 0.05;
/// A step of the rock takes no more than this share of a cell's width.
const DEEPEST: f64 = 0.25;
/// Over how much ground wear is the mean, in metres: blocks are plucked and tools turn, so that no cell is worn by itself.
const GROUND_M: f64 = 150.0;
/// Till is worn so many times faster than rock.
const TILL_SOFT: f32 = 8.0;

/// The lattice that ice is solved on.
pub struct Lattice {
    nodes: Nodes,
}

impl Lattice {
    /// The one that rock is worn on in the end, made coarser so many times.
    pub fn over(frame: &Frame, coarser: f64) -> Self {
        let [w, h] = frame.size_m();
        let most = (frame.cols().max(frame.rows()) - 1) as f64;
        let cells = (w.max(h) / FINEST_M).clamp(FEWEST, CELLS).min(most);
        Self { nodes: Nodes::even(frame, (cells / coarser).max(1.0)) }
    }

    pub fn len(&self) -> usize {
        self.nodes.cols * self.nodes.rows
    }

    /// The frame of its nodes.
    fn frame(&self, frame: &Frame) -> Result<Frame, OpError> {
        let rect = frame.extent();
        Frame::new(rect.min, rect.size(), [self.nodes.cols, self.nodes.rows])
            .map_err(|error| OpError::Internal(error.to_string()))
    }
}

/// Volumes of ice, in cubic metres.
#[derive(Clone, Copy, Debug, Default)]
pub struct IceBalance {
    pub snow_m3: f64,
    pub melted_m3: f64,
    pub calved_m3: f64,
    pub left_m3: f64,
}

/// Ice and rock on the lattice.
pub struct Land {
    params: Glacier,
    climate: Climate,
    lattice: Lattice,
    /// The ground before, and now: rock and till; holes are NaN.
    before: Raster<f32>,
    pub ground: Raster<f32>,
    pub till: Raster<f32>,
    pub ice: Raster<f32>,
    /// Depth that ice has worn.
    ground_off: Raster<f32>,
    /// Metres a year that ice sliding at 100 m a year takes.
    softness: Raster<f32>,
    /// Steepest slope that stands.
    grade: Raster<f32>,
    beds: Option<Beds>,
    /// The equilibrium line in the coldest time, where it differs from place to place.
    line: Option<Raster<f32>>,
    /// How much higher it is now.
    rise_m: f32,
    kept: Option<Raster<bool>>,
    held: Option<Arc<Raster<bool>>>,
    flow: Flow,
    pub balance: IceBalance,
    /// Rock that was worn, and what became of it.
    pub worn_m3: f64,
    pub carried: Carried,
}

impl Land {
    pub fn new(
        params: &Glacier,
        lattice: Lattice,
        terrain: &Terrain,
        ctx: &Ctx<'_>,
    ) -> Result<Self, OpError> {
        let height = terrain.shared(layer::HEIGHT)?;
        check_size(&height)?;
        let nodes = &lattice.nodes;
        let before = nodes.thin(&height);
        let (cols, rows) = (nodes.cols, nodes.rows);
        let own = lattice.frame(terrain.frame())?;
        let variety =
            Variety { strength: params.variety, wavelength_m: params.variety_wavelength_m, octaves: 3 };
        let rock = variety.softness(&own, &ctx.world(terrain), ctx.seed());
        ctx.stop_if_asked()?;
        let wear = params.wear_mm_per_yr.on(terrain)?;
        let wear = match &params.wear_mm_per_yr {
            orogen_core::Coef::Const(value) => Raster::filled(cols, rows, *value as f32),
            orogen_core::Coef::Layer(_) => {
                nodes.thin(&Raster::from_fn(height.cols(), height.rows(), |c, r| wear.at(c, r)))
            }
        };
        let soft = Raster::from_fn(cols, rows, |c, r| {
            let wear = wear.row(r)[c];
            // A layer's hole is not worn.
            if wear > 0.0 { wear * 1e-3 * rock.row(r)[c] } else { 0.0 }
        });
        let line = match terrain.get(layer::TEMPERATURE) {
            Ok(temperature) if params.by_temperature => {
                let there = nodes.thin(temperature);
                Some(climate::line_by_temperature(
                    &before,
                    &there,
                    params.equilibrium_c,
                    params.equilibrium_m,
                ))
            }
            _ => None,
        };
        let held = held_lines::held_samples(terrain);
        let sea_m = sea_level(params.sea);
        let law = Law::new(params.softness, params.sliding_m_per_yr, nodes.spacing_m, sea_m);
        let steepest = steepest_of(&rock, params.talus_deg);
        let beds = match Strata::of(terrain) {
            Some(strata) => Some(Beds {
                places: rock::under(&Arc::new(strata), terrain.frame(), nodes, ctx)?,
                variety: steepest_of(&rock, 45.0),
                stood: standing(&before, Raster::filled(cols, rows, 0.0), nodes.spacing_m),
            }),
            None => None,
        };
        Ok(Self {
            params: params.clone(),
            climate: Climate::of(params),
            grade: standing(&before, steepest, nodes.spacing_m),
            beds,
            ground: before.clone(),
            before,
            till: Raster::filled(cols, rows, 0.0),
            ice: Raster::filled(cols, rows, 0.0),
            ground_off: Raster::filled(cols, rows, 0.0),
            softness: soft,
            line,
            rise_m: 0.0,
            kept: held.as_ref().map(|held| nodes.thin_flags(held)),
            held: held.map(Arc::new),
            flow: Flow::new(law, cols, rows),
            lattice,
            balance: IceBalance::default(),
            worn_m3: 0.0,
            carried: Carried::default(),
        })
    }

    /// The same on a finer lattice: what changed is brought there, and as much ice.
    pub fn on_finer(self, lattice: Lattice, terrain: &Terrain, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let mut finer = Self::new(&self.params, lattice, terrain, ctx)?;
        let (nodes, coarse) = (&finer.lattice.nodes, &self.lattice.nodes);
        let filled = |raster: &Raster<f32>| raster.map(|v| if v.is_nan() { 0.0 } else { v });
        let refined = |raster: &Raster<f32>| nodes.refine(coarse, &filled(raster), None, ctx);
        let change = refined(&Raster::from_fn(coarse.cols, coarse.rows, |c, r| {
            self.ground.row(r)[c] - self.before.row(r)[c]
        }));
        let (surface, ice) = (refined(&self.surface(&self.bed())), refined(&self.ice));
        let (till, ground_off) = (refined(&self.till), refined(&self.ground_off));
        ctx.stop_if_asked()?;
        for cell in 0..finer.ground.as_slice().len() {
            let g = &mut finer.ground.as_mut_slice()[cell];
            if g.is_nan() {
                continue;
            }
            *g += change.as_slice()[cell];
            if ice.as_slice()[cell] > 1.0 {
                finer.ice.as_mut_slice()[cell] = (surface.as_slice()[cell] - *g).max(0.0);
            }
            // A spline swings over; what it adds to the deepest till counts as rock.
            finer.till.as_mut_slice()[cell] = till.as_slice()[cell].clamp(0.0, self.params.till_m as f32);
            finer.ground_off.as_mut_slice()[cell] = ground_off.as_slice()[cell].max(0.0);
        }
        let (had, has) = (self.ice.sum_f64() * self.cell_m2(), finer.ice.sum_f64() * finer.cell_m2());
        if has > 0.0 {
            let by = (had / has) as f32;
            finer.ice.as_mut_slice().iter_mut().for_each(|h| *h *= by);
        } else {
            finer.balance.left_m3 += had;
        }
        finer.balance.snow_m3 += self.balance.snow_m3;
        finer.balance.melted_m3 += self.balance.melted_m3;
        finer.balance.calved_m3 += self.balance.calved_m3;
        finer.balance.left_m3 += self.balance.left_m3;
        finer.worn_m3 = self.worn_m3;
        finer.carried = self.carried;
        Ok(finer)
    }

    pub fn cell_m2(&self) -> f64 {
        let [dx, dy] = self.lattice.nodes.spacing_m;
        dx * dy
    }

    fn line_m(&self, cell: usize) -> f32 {
        let lowest = match &self.line {
            Some(line) => line.as_slice()[cell],
            None => self.params.equilibrium_m as f32,
        };
        lowest + self.rise_m
    }

    /// The bed as ice meets it: holes are walls.
    fn bed(&self) -> Raster<f32> {
        let wall = self.ground.range().map_or(0.0, |range| range.1) + 1000.0;
        self.ground.map(|b| if b.is_nan() { wall } else { b })
    }

    fn surface(&self, bed: &Raster<f32>) -> Raster<f32> {
        let sea_m = sea_level(self.params.sea);
        Raster::from_fn(bed.cols(), bed.rows(), |c, r| (bed.row(r)[c] + self.ice.row(r)[c]).max(sea_m))
    }

    /// Lets snow fall, ice flow and melt for some years, after a share of the whole time.
    pub fn season(&mut self, share: f64, years: f64, ctx: &Ctx<'_>) -> Result<(), Cancelled> {
        self.rise_m = (self.params.warm_rise_m * climate::warmth(share, self.params.ice_ages)) as f32;
        let spacing_m = self.lattice.nodes.spacing_m;
        let bed = self.bed();
        let surface = self.surface(&bed);
        let order = from_the_top(&surface);
        let snow =
            climate::snow(&surface, &self.ground, |cell| self.line_m(cell), &order, spacing_m, self.climate);
        drop((surface, order));
        let steps = (years / ICE_STEP_YR).ceil().max(1.0);
        let dt_yr = years / steps;
        for _ in 0..steps as u32 {
            self.snow_and_melt(&snow, &bed, dt_yr);
            let left = self.flow.step(&mut self.ice, &bed, dt_yr, ctx)?;
            self.balance.left_m3 += left.over_edge_m3;
            self.calve(&bed);
        }
        Ok(())
    }

    fn snow_and_melt(&mut self, snow: &Raster<f32>, bed: &Raster<f32>, dt_yr: f64) {
        let dt = dt_yr as f32;
        let mut ice = std::mem::replace(&mut self.ice, Raster::filled(1, 1, 0.0));
        let (mut gained, mut lost) = (0.0, 0.0);
        for (cell, (h, &b)) in ice.as_mut_slice().iter_mut().zip(bed.as_slice()).enumerate() {
            let fallen = snow.as_slice()[cell] * dt;
            let there = *h + fallen;
            if there > 0.0 {
                let melt = self.climate.loss(self.line_m(cell) - (b + there)) * dt;
                let stays = (there - melt).max(0.0);
                gained += f64::from(fallen);
                lost += f64::from(*h) + f64::from(fallen) - f64::from(stays);
                *h = stays;
            }
        }
        self.ice = ice;
        self.balance.snow_m3 += gained * self.cell_m2();
        self.balance.melted_m3 += lost * self.cell_m2();
    }

    /// Ice that floats breaks off.
    fn calve(&mut self, bed: &Raster<f32>) {
        if !self.params.sea {
            return;
        }
        let mut ice = std::mem::replace(&mut self.ice, Raster::filled(1, 1, 0.0));
        let mut gone = 0.0;
        for (h, &b) in ice.as_mut_slice().iter_mut().zip(bed.as_slice()) {
            if *h > 0.0 && floats(b, *h) {
                gone += f64::from(*h);
                *h = 0.0;
            }
        }
        self.ice = ice;
        self.balance.calved_m3 += gone * self.cell_m2();
    }

    /// Wears rock for some years under the ice as it is now, and lays down what it carries.
    pub fn wear(&mut self, years: f64) {
        let nodes = &self.lattice.nodes;
        let (cols, rows, spacing_m) = (nodes.cols, nodes.rows, nodes.spacing_m);
        let cell_m2 = self.cell_m2();
        let bed = self.bed();
        let surface = self.surface(&bed);
        let order = from_the_top(&surface);
        let fluxes = self.flow.fluxes(&self.ice, &bed, ICE_STEP_YR);
        let speed = wear::sliding(&self.ice, &fluxes, &self.flow.law);
        let by_slopes = wear::by_slopes(&bed, &surface, spacing_m);
        let rate = Raster::from_fn(cols, rows, |c, r| wear::rate(speed.row(r)[c]) * by_slopes.row(r)[c]);
        let rate = wear::smoothed(rate, spacing_m, GROUND_M);
        drop((speed, by_slopes));
        let back_m = self.params.frost_mm_per_yr * 1e-3 * years;
        let frost = self.through_beds(wear::frost(&self.ground, &self.ice, back_m, spacing_m));
        let deepest = (DEEPEST * spacing_m[0].min(spacing_m[1])) as f32;
        let is_kept = |cell: usize| self.kept.as_ref().is_some_and(|kept| kept.as_slice()[cell]);
        let level =
            Raster::from_fn(cols, rows, |c, r| self.softness.row(r)[c] * rate.row(r)[c] * years as f32);
        let in_beds = self.through_beds(level.clone());
        let most = in_beds.range().map_or(0.0, |range| range.1).min(deepest);
        let humps = wear::by_humps(&bed, most, spacing_m);
        // Ice takes till first, then rock; frost takes faces.
        for cell in 0..cols * rows {
            let g = &mut self.ground.as_mut_slice()[cell];
            if g.is_nan() || is_kept(cell) {
                continue;
            }
            let could = level.as_slice()[cell] * humps.as_slice()[cell];
            let of_till = (could * TILL_SOFT).min(self.till.as_slice()[cell]);
            let of_rock = could - of_till / TILL_SOFT;
            let of_rock = match &self.beds {
                Some(beds) => beds.places.worn(cell, *g - of_till, of_rock.max(0.0)),
                None => of_rock,
            };
            let of_rock = of_rock.min(deepest).max(0.0);
            self.ground_off.as_mut_slice()[cell] += of_rock;
            *g -= of_till + of_rock + frost.as_slice()[cell].min(deepest);
        }
        // What stands too steep falls.
        if let Some(beds) = &self.beds {
            self.grade = beds.grade(&self.ground, &self.till, spacing_m);
        }
        if self.params.talus_deg < 90.0 {
            slopes::give_way(&mut self.ground, spacing_m, (&self.grade, 1.0), 0.0, f32::NEG_INFINITY, None);
        }
        let mut load = Raster::filled(cols, rows, 0.0f32);
        for (cell, load) in load.as_mut_slice().iter_mut().enumerate() {
            let g = &mut self.ground.as_mut_slice()[cell];
            if g.is_nan() {
                continue;
            }
            if is_kept(cell) {
                *g = bed.as_slice()[cell];
            }
            *load = bed.as_slice()[cell] - *g;
            let till = &mut self.till.as_mut_slice()[cell];
            *till = (*till - *load).max(0.0);
        }
        self.worn_m3 += load.sum_f64() * cell_m2;

        let melt = Raster::from_fn(cols, rows, |c, r| {
            let cell = r * cols + c;
            let thick = self.ice.as_slice()[cell];
            if thick > 0.0 { self.climate.loss(self.line_m(cell) - surface.as_slice()[cell]) } else { 0.0 }
        });
        let till_was = self.till.clone();
        let (sea, ice) = (self.params.sea, &self.ice);
        let at_edge = |cell: usize| {
            let (col, row) = (cell % cols, cell / cols);
            col == 0 || row == 0 || col + 1 == cols || row + 1 == rows
        };
        let leaves =
            |cell: usize| at_edge(cell) || (sea && floats(bed.as_slice()[cell], ice.as_slice()[cell]));
        let carried = Carrier {
            order: &order,
            surface: &surface,
            ground: &self.ground,
            fluxes: &fluxes,
            melt: &melt,
            calves: &leaves,
            kept: &is_kept,
            spacing_m,
            till_m: self.params.till_m,
        }
        .carry(&load, &mut self.till);
        for ((g, &till), &was) in
            self.ground.as_mut_slice().iter_mut().zip(self.till.as_slice()).zip(till_was.as_slice())
        {
            *g += till - was;
        }
        self.carried.laid_m3 += carried.laid_m3;
        self.carried.left_m3 += carried.left_m3;
    }

    /// What wears so much of middling rock at each node, in the beds that lie there.
    fn through_beds(&self, mut depth: Raster<f32>) -> Raster<f32> {
        let Some(beds) = &self.beds else { return depth };
        let cols = depth.cols();
        depth.par_rows(|row, out| {
            for (col, depth) in out.iter_mut().enumerate().filter(|(_, depth)| **depth > 0.0) {
                let z_m = self.ground.row(row)[col] - self.till.row(row)[col];
                *depth = beds.places.worn(row * cols + col, z_m, *depth);
            }
        });
        depth
    }

    /// Rock and till that the ground has lost, in cubic metres.
    #[cfg(test)]
    pub fn lost_m3(&self) -> f64 {
        let lost = |(before, now): (&f32, &f32)| f64::from(*before) - f64::from(*now);
        self.before.as_slice().iter().zip(self.ground.as_slice()).map(lost).sum::<f64>() * self.cell_m2()
    }

    /// Reports volumes.
    pub fn report(&self, melts: bool, ctx: &Ctx<'_>) {
        let ice = self.ice.sum_f64() * self.cell_m2();
        let (left_there, melted) = if melts { (0.0, ice) } else { (ice, 0.0) };
        ctx.report("snow", self.balance.snow_m3, "m3");
        ctx.report("melted", self.balance.melted_m3 + melted, "m3");
        ctx.report("calved", self.balance.calved_m3, "m3");
        ctx.report("ice_left_map", self.balance.left_m3, "m3");
        ctx.report("ice", left_there, "m3");
        ctx.report("worn", self.worn_m3, "m3");
        ctx.report("laid", self.carried.laid_m3, "m3");
        ctx.report("left", self.carried.left_m3, "m3");
    }

    /// What has become of the land of a frame.
    pub fn on(&self, mut terrain: Terrain, melts: bool, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let before = terrain.shared(layer::HEIGHT)?;
        let (cols, rows) = (before.cols(), before.rows());
        let nodes = &self.lattice.nodes;
        let fine = Nodes::even(terrain.frame(), f64::INFINITY);
        let filled = |raster: &Raster<f32>| raster.map(|v| if v.is_nan() { 0.0 } else { v });
        // Without holes, which would spread.
        let refined = |raster: &Raster<f32>| fine.refine(nodes, &filled(raster), None, ctx);
        let mut height = Raster::clone(&before);
        let is_same = (nodes.cols, nodes.rows) == (cols, rows);
        let change = refined(&Raster::from_fn(nodes.cols, nodes.rows, |c, r| {
            self.ground.row(r)[c] - self.before.row(r)[c]
        }));
        ctx.stop_if_asked()?;
        height.par_rows(|row, out| {
            out.iter_mut().zip(change.row(row)).for_each(|(h, change)| *h += change);
        });
        drop(change);
        if !is_same {
            let (smooth, worn) = (fine.refine(nodes, &self.before, None, ctx), refined(&self.ground_off));
            ctx.stop_if_asked()?;
            height.par_rows(|row, out| {
                for (col, h) in out.iter_mut().enumerate() {
                    let rough = before.row(row)[col] - smooth.row(row)[col];
                    let ground_off = 1.0 - math::f32::exp(-worn.row(row)[col].max(0.0) / GRINDS_M);
                    // Beside holes there is no telling what is rough.
                    if !rough.is_nan() {
                        *h -= rough * ground_off * (1.0 - ROUGH_LEFT);
                    }
                }
            });
        }
        let to_frame = |raster: &Raster<f32>| {
            let mut layer = refined(raster);
            // Between its samples a spline swings over.
            let most = raster.range().map_or(0.0, |(_, most)| most.max(0.0));
            layer.par_rows(|row, out| {
                for (value, h) in out.iter_mut().zip(before.row(row)) {
                    *value = if h.is_nan() { f32::NAN } else { value.clamp(0.0, most) };
                }
            });
            layer
        };
        let sediment = to_frame(&self.till);
        if let Some(held) = &self.held {
            height.par_rows(|row, out| {
                for (col, h) in out.iter_mut().enumerate().filter(|(col, _)| held.row(row)[*col]) {
                    *h = before.row(row)[col];
                }
            });
        }
        let mut ice = before.map(|h| if h.is_nan() { h } else { 0.0 });
        if !melts {
            // The surface is smooth, whatever lies below it.
            let (surface, there) = (refined(&self.surface(&self.ground)), refined(&self.ice));
            ctx.stop_if_asked()?;
            ice.par_rows(|row, out| {
                for (col, ice) in out.iter_mut().enumerate().filter(|(_, ice)| !ice.is_nan()) {
                    if there.row(row)[col] > 0.5 {
                        *ice = (surface.row(row)[col] - height.row(row)[col]).max(0.0);
                    }
                }
            });
        }
        terrain.set(layer::HEIGHT, height);
        terrain.set(layer::SEDIMENT, sediment);
        terrain.set(layer::ICE, ice);
        Ok(terrain)
    }
}

/// Whether ice of a thickness floats in the sea over a bed.
fn floats(bed_m: f32, ice_m: f32) -> bool {
    bed_m < 0.0 && ice_m < -bed_m * FLOATS
}

/// Beds under the nodes.
struct Beds {
    places: Places,
    /// How much steeper than middling rock of its bed rock stands, from place to place.
    variety: Raster<f32>,
    /// Slopes that stood before.
    stood: Raster<f32>,
}

impl Beds {
    /// Steepest slope that stands, in the beds that the ground has come down to, and at least what stood before.
    fn grade(&self, ground: &Raster<f32>, till: &Raster<f32>, [dx, dy]: [f64; 2]) -> Raster<f32> {
        let (cols, far_m) = (ground.cols(), dx.min(dy) as f32);
        Raster::from_fn(cols, ground.rows(), |col, row| {
            let z_m = ground.row(row)[col] - till.row(row)[col];
            let bears = self.variety.row(row)[col] * self.places.grade(row * cols + col, z_m, far_m);
            bears.max(self.stood.row(row)[col])
        })
    }
}

/// Steepest slope that rock bears where middling rock bears `talus_deg`, by how soft it is.
fn steepest_of(softness: &Raster<f32>, talus_deg: f64) -> Raster<f32> {
    let talus = math::tan(talus_deg.min(89.9).to_radians());
    softness.map(|soft| (talus * math::pow(f64::from(soft), -0.4)) as f32)
}

/// Steepest slope that stands: what rock bears, and at least what stood before.
fn standing(ground: &Raster<f32>, bears: Raster<f32>, spacing_m: [f64; 2]) -> Raster<f32> {
    let (cols, rows) = (ground.cols(), ground.rows());
    let [dx, dy] = spacing_m;
    Raster::from_fn(cols, rows, |col, row| {
        let here = ground.row(row)[col];
        let mut steepest = bears.row(row)[col];
        for_neighbours(col, row, cols, rows, spacing_m, |there, far_m| {
            let slope = (here - ground.as_slice()[there]) / far_m;
            steepest = if slope > steepest { slope } else { steepest };
        });
        for (c, r) in [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)] {
            let (Some(there_c), Some(there_r)) = (col.checked_add_signed(c), row.checked_add_signed(r))
            else {
                continue;
            };
            if there_c < cols && there_r < rows {
                let far_m = math::hypot(c as f64 * dx, r as f64 * dy) as f32;
                let slope = (here - ground.row(there_r)[there_c]) / far_m;
                steepest = if slope > steepest { slope } else { steepest };
            }
        }
        steepest
    })
}
