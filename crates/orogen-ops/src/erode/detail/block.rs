//! One block of one level: gullies, spurs, fans and scree on the land of the level above.

use orogen_core::{Seed, math};

use super::flow::Flow;
use super::ribs::Fall;
use super::square::{COUNT, Doubling, SIDE, blurred, doubled, slope2_of, softened};
use crate::rock::beds::Places;

/// Times that water finds its way and cuts at each level.
const ROUNDS: usize = 2;
/// Unevenness that decides between ways down, in drops over a cell.
const UNEVEN: f32 = 0.25;
/// Part of it in waves of some ten cells, which lead gullies together.
const WANDER: f32 = 4.0;
/// Height of ribs, in drops over a cell.
const RIBS: f32 = 3.2;
/// Samples along the side of the ground that drains into a hollow between ribs.
const RIB_CELLS: f32 = 9.0;
/// How many times the area around has to drain through a place for a gully to go on there.
const GATHERED: f32 = 0.7;
/// How much that differs between weak and firm rock, below 1.
const PATCHY: f32 = 0.4;
/// Share of the water beside a place that counts for it.
const BESIDE: f32 = 0.6;
/// Slopes from which on ground is a wall, in part and in full.
const WALL: [f32; 2] = [0.85, 1.15];
/// How far ground lies below that around it, in cells, where scree gathers.
const HOLLOW: f32 = 0.6;
/// Share of the side of the drained area that a bed is cut towards, over all rounds, at strength 1.
const DEPTH: f32 = 0.5;
/// Cells along the side of the largest area that still adds to cutting: wider valleys belong to the levels above.
const LARGEST_CELLS: f32 = 24.0;
/// Slope of ground so flat that water lays down as much as it cuts.
const FLAT: f32 = 0.1;
/// Share of a gully's water that is spread over its bed.
const BED: f32 = 0.6;
/// Part of the slope at which loose ground slides, where what is carried comes to rest without water.
const REST: f32 = 0.8;
/// Slope of the change as a share of the slope of the land, at most.
const SHARE: f32 = 0.7;
/// Share of the change that is spread over the samples beside, so that no single sample stands out.
const SOFT: f32 = 0.4;
/// Depth in cells of pits that fill up.
const SHALLOW_CELLS: f32 = 0.3;
/// Beds are cut no more than this many times as deep as middling rock.
const SOFTEST: f32 = 4.0;
/// Sweeps in which ground that is too steep slides.
const SLIDES: usize = 12;

/// What decides how a block is cut.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    /// Area that cuts a gully at slope 1.
    pub channel_m2: f32,
    /// Slope at which loose ground slides.
    pub talus: f32,
    /// Length over which creep rounds the ground.
    pub creep_m: f32,
    /// Distance between samples of the level.
    pub spacing_m: [f32; 2],
    /// Randomness of the level.
    pub seed: Seed,
}

/// What a block starts from, on the solved square.
pub struct Ground<'a> {
    /// The coarse land.
    pub smooth: &'a [f32],
    /// What the levels above changed, on samples of the level above.
    pub change: &'a [f32],
    /// The area drained at samples of the level above.
    pub area: &'a [f32],
    /// Whether the first column and row lie between two of the level above.
    pub odd: [bool; 2],
    /// How much of the change is wanted at a sample, from 0.
    pub give: &'a [f32],
    /// Rock below the samples, if there are beds.
    pub beds: Option<&'a Places>,
    /// Indices of columns on the lattice of the level, for randomness.
    pub cols: &'a [i64],
    /// Indices of rows.
    pub rows: &'a [i64],
}

/// What the levels up to this one changed, and drained areas, on the solved square.
pub fn solve(ground: &Ground<'_>, cutting: &Cutting) -> (Vec<f32>, Vec<f32>) {
    let [dx, dy] = cutting.spacing_m;
    let cell_m = (dx * dy).sqrt();
    let above = doubled(ground.change, Doubling::Through, ground.odd);
    // Two samples of this level share what crosses at one of the level above.
    let mut inflow = doubled(ground.area, Doubling::Within, ground.odd);
    inflow.iter_mut().for_each(|area| *area *= 0.5);
    if ground.give.iter().all(|&give| give <= 0.0) {
        return (above, inflow);
    }
    let start: Vec<f32> = ground.smooth.iter().zip(&above).map(|(s, c)| s + c).collect();
    let fall = Fall::of(&start, cutting.spacing_m);
    let slope = slope2_of(&blurred(start.clone(), 2, 1), cutting.spacing_m);
    let slope = blurred(slope.into_iter().map(f32::sqrt).collect(), 2, 1);
    let ribs = fall.ribs(Seed(cutting.seed.bits(1)), ground.cols, ground.rows);
    let Chance { uneven, patches } = Chance::new(ground, cutting);
    // Gullies begin where less water is enough on steep ground, and not everywhere alike.
    let head: Vec<f32> = (slope.iter().zip(&patches))
        .map(|(s, patch)| cutting.channel_m2 / (s * s + 0.02) * (1.0 + patch) / (1.0 - patch))
        .collect();
    // Weak rock has many gullies, firm rock few.
    let many: Vec<f32> =
        patches.iter().map(|patch| (1.0 + PATCHY * patch) / (1.0 - PATCHY * patch)).collect();
    let largest = (LARGEST_CELLS * cell_m) * (LARGEST_CELLS * cell_m);
    let bare = without_scree(&start, &slope, cutting);

    // Slopes have hollows and spurs before water cuts, where gullies of their width can be.
    let wide2 = RIB_CELLS * RIB_CELLS * cell_m * cell_m;
    let raised = |i: usize| {
        let bold = (1.0 + 0.8 * patches[i]) * wide2 / (wide2 + head[i]);
        let steep = slope[i] * slope[i] / (slope[i] * slope[i] + FLAT * FLAT);
        RIBS * cell_m * fall.slope[i] * ribs[i] * bold * steep * bare[i] * ground.give[i].min(1.5)
    };
    let mut now: Vec<f32> = start.iter().enumerate().map(|(i, start)| start + raised(i)).collect();
    let ribbed = now.clone();
    let mut lift = vec![0.0; COUNT];
    let mut drained = Vec::new();
    for round in 0..ROUNDS {
        let routed: Vec<f32> = (0..COUNT).map(|i| now[i] + UNEVEN * cell_m * slope[i] * uneven[i]).collect();
        let flow = Flow::over(&routed, &inflow, cutting.spacing_m);
        // Gullies begin where water has come together, not where a long slope has much of it everywhere.
        let around = blurred(flow.area.iter().map(|area| area.sqrt().sqrt()).collect(), 2, 2);
        // Where water comes down at every other sample, that is the lattice, not a gully.
        let beside = softened(&flow.area);
        let mut drive: Vec<f32> = vec![0.0; COUNT];
        for i in 0..COUNT {
            let (area, s2) = (flow.area[i], slope[i] * slope[i]);
            let side = (area * largest / (area + largest)).sqrt();
            let a2 = around[i] * around[i];
            let least = head[i].max(GATHERED * many[i] * a2 * a2);
            let wet = area + BESIDE * (beside[i] - area);
            let beyond_head = (1.0 - (least / wet).sqrt()).max(0.0);
            let steep = s2 * s2 / (s2 * s2 + FLAT * FLAT * FLAT * FLAT);
            drive[i] = DEPTH / ROUNDS as f32 * ground.give[i] * side * beyond_head * steep * bare[i];
            if let Some(beds) = ground.beds {
                drive[i] *= beds.rock(i, now[i]).softness().min(SOFTEST);
            }
        }
        let spread = softened(&drive);
        drive.iter_mut().zip(&spread).for_each(|(drive, spread)| *drive += BED * (spread - *drive));
        if round == 0 {
            // What is cut rises again nearby, so that the land as a whole stays and crests are sharp.
            lift = blurred(drive.iter().zip(&slope).map(|(d, s)| d * s).collect(), 2, 2);
            // Areas differ from sample to sample by chance; the land must not.
            lift = blurred(lift, 1, 1);
        }
        flow.cut(&mut now, &drive, &lift, SHALLOW_CELLS * cell_m);
        if round + 1 == ROUNDS {
            let loose = (0..COUNT).map(|i| (ribbed[i] + ROUNDS as f32 * lift[i] - now[i]).max(0.0)).collect();
            // The more water, the gentler the slope on which it still carries.
            let bearing: Vec<f32> = (flow.area.iter().zip(&head))
                .map(|(area, head)| REST * cutting.talus.min(0.8) / (1.0 + area / head).sqrt())
                .collect();
            flow.lay(&mut now, loose, &bearing);
        }
        now = crept(now, cutting);
        drained = flow.area;
    }

    // Nothing is left of the change at the scale of the level above.
    let mut change: Vec<f32> = now.iter().zip(&start).map(|(a, b)| a - b).collect();
    let coarse = blurred(change.clone(), 1, 2);
    change.iter_mut().zip(&coarse).for_each(|(change, coarse)| *change -= coarse);
    let soft = softened(&change);
    change.iter_mut().zip(&soft).for_each(|(change, soft)| *change += SOFT * (soft - *change));
    let steep = blurred(slope2_of(&change, cutting.spacing_m), 2, 2);
    let limit = blurred(slope.clone(), 1, 2);
    let held = (steep.iter().zip(&limit))
        .map(|(steep, limit)| SHARE * limit / (SHARE * limit * SHARE * limit + steep + 1e-12).sqrt())
        .collect();
    let held = blurred(held, 1, 1);
    for i in 0..COUNT {
        now[i] = start[i] + change[i] * held[i] * ground.give[i].min(1.0);
    }
    let own = slope2_of(ground.smooth, cutting.spacing_m);
    let talus = |i: usize| ground.beds.map_or(cutting.talus, |beds| beds.rock(i, now[i]).grade);
    // A little below, as few sweeps do not reach it.
    let limit2 =
        own.iter().enumerate().map(|(i, own)| own.max((0.95 * talus(i)) * (0.95 * talus(i)))).collect();
    let now = slid(now, limit2, ground.give, cutting);
    // Sliding and interpolation end where nothing is wanted.
    let change = |i: usize| if ground.give[i] > 0.0 { now[i] - ground.smooth[i] } else { 0.0 };
    ((0..COUNT).map(change).collect(), drained)
}

/// Randomness of a block.
struct Chance {
    /// What decides between ways down, about -1 to 1. It guides the water only: the land itself stays without grain.
    uneven: Vec<f32>,
    /// Where gullies begin early (below 0) and late, -0.9 to 0.9, in patches of some ten cells.
    patches: Vec<f32>,
}

impl Chance {
    fn new(ground: &Ground<'_>, cutting: &Cutting) -> Self {
        let [mut fine, mut wide, mut patches] = [0; 3].map(|_| Vec::with_capacity(COUNT));
        let unit = |bits: u64| (bits & 0xf_ffff) as f32 / 524_288.0 - 1.0;
        for &row in ground.rows {
            for &col in ground.cols {
                let bits = cutting.seed.bits2(col, row);
                fine.push(unit(bits));
                wide.push(unit(bits >> 20));
                patches.push(unit(bits >> 40));
            }
        }
        let near = blurred(fine.clone(), 1, 1);
        let wide = blurred(wide, 2, 2);
        let mut patches = blurred(patches, 2, 3);
        // What smoothing leaves of random numbers is brought back to their size.
        patches.iter_mut().for_each(|patch| *patch = (8.0 * *patch).clamp(-0.9, 0.9));
        let uneven = (0..COUNT).map(|i| 0.4 * fine[i] + 0.9 * near[i] + WANDER * wide[i]).collect();
        Self { uneven, patches }
    }
}

/// Share of water that runs on the ground instead of seeping away: little on scree, which lies in the hollow below walls at less
/// than its talus slope, and less on walls than on slopes, as they stand by being hard.
fn without_scree(start: &[f32], slope: &[f32], cutting: &Cutting) -> Vec<f32> {
    let cell_m = (cutting.spacing_m[0] * cutting.spacing_m[1]).sqrt();
    let wall: Vec<f32> = slope.iter().map(|&s| math::smoothstep(WALL[0], WALL[1], s)).collect();
    let near_wall = blurred(wall, 2, 4);
    let wide = blurred(start.to_vec(), 2, 4);
    (0..COUNT)
        .map(|i| {
            let hollow = (wide[i] - start[i]) / cell_m;
            let scree = math::smoothstep(0.0, 0.25, near_wall[i])
                * math::smoothstep(0.0, HOLLOW, hollow)
                * (1.0 - math::smoothstep(0.9 * WALL[0], WALL[0], slope[i]));
            let steep = slope[i] / cutting.talus;
            (1.0 - 0.85 * scree) / (1.0 + steep * steep * steep * steep)
        })
        .collect()
}

/// Creep that grows towards the talus slope (Roering et al. 1999), as far as a step stays stable.
fn crept(mut height: Vec<f32>, cutting: &Cutting) -> Vec<f32> {
    /// What two neighbours exchange in a sweep of their difference, on flat ground; and in all sweeps of a round.
    const SWEEP: f32 = 0.08;
    const LEAST: f32 = 0.03;
    const MOST: f32 = 0.32;
    let [dx, dy] = cutting.spacing_m;
    let wanted = |d: f32| (cutting.creep_m * cutting.creep_m / (d * d) / ROUNDS as f32).clamp(LEAST, MOST);
    let sweeps = (wanted(dx).max(wanted(dy)) / SWEEP).ceil().max(1.0);
    let (rate_x, rate_y) = (wanted(dx) / sweeps, wanted(dy) / sweeps);
    let critical = 1.25 * cutting.talus;
    let (per_x, per_y) = (1.0 / (dx * critical), 1.0 / (dy * critical));
    // From a sample to the one before it.
    let flux = |here: f32, before: f32, rate: f32, per_m: f32| {
        let steep = (here - before) * per_m;
        rate / (1.0 - steep * steep).max(0.5) * (here - before)
    };
    let (mut from_north, mut from_south) = ([0.0; SIDE], [0.0; SIDE]);
    let mut across = [0.0; SIDE];
    for _ in 0..sweeps as usize {
        from_north.fill(0.0);
        for row in 0..SIDE {
            let (here, south) = height[row * SIDE..].split_at_mut(SIDE);
            for i in 1..SIDE {
                across[i] = flux(here[i], here[i - 1], rate_x, per_x);
            }
            match south.get(..SIDE) {
                Some(south) => {
                    for i in 0..SIDE {
                        from_south[i] = flux(south[i], here[i], rate_y, per_y);
                    }
                }
                None => from_south.fill(0.0),
            }
            // The rim stays.
            if row > 0 && row < SIDE - 1 {
                for i in 1..SIDE - 1 {
                    here[i] += (across[i + 1] - across[i]) + (from_south[i] - from_north[i]);
                }
            }
            std::mem::swap(&mut from_north, &mut from_south);
        }
    }
    height
}

/// Ground whose squared slope is beyond a limit slides.
fn slid(mut height: Vec<f32>, limit2: Vec<f32>, give: &[f32], cutting: &Cutting) -> Vec<f32> {
    /// What two neighbours exchange of their difference at most: no new peak, no new pit.
    const MOST: f32 = 0.22;
    /// Ground so much too steep slides as fast as it can.
    const EXCESS: f32 = 0.2;
    for _ in 0..SLIDES {
        let mut loose = slope2_of(&height, cutting.spacing_m);
        let mut any = false;
        for i in 0..COUNT {
            if loose[i] > limit2[i] && give[i] > 0.0 {
                any |= loose[i] > 1.05 * limit2[i];
                loose[i] = MOST * ((1.0 - (limit2[i] / loose[i]).sqrt()) / EXCESS).min(1.0);
            } else {
                loose[i] = 0.0;
            }
        }
        if !any {
            break;
        }
        let last = height.clone();
        for row in 1..SIDE - 1 {
            for i in row * SIDE + 1..(row + 1) * SIDE - 1 {
                let from = |j: usize| 0.5 * (loose[i] + loose[j]) * (last[j] - last[i]);
                height[i] += (from(i - 1) + from(i + 1)) + (from(i - SIDE) + from(i + SIDE));
            }
        }
    }
    height
}
