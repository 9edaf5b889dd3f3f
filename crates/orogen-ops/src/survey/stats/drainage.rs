//! Rivers and pits: what water makes of the land.

use orogen_core::{Ctx, D8, OpError, Raster, math};
use serde::Serialize;

use super::line;
use crate::drainage::{self, area};

/// Cells drained where a channel begins.
const CHANNEL: u32 = 100;
/// Cells over which the slope of a channel is measured.
const REACH: usize = 10;

/// The drainage of the land.
#[derive(Clone, Debug, Serialize)]
pub struct Drainage {
    /// Share of land samples lower than all neighbours.
    pub pit_share: f64,
    /// Share of land samples that filling raises.
    pub depression_share: f64,
    /// Length of channels by area, in kilometres a square kilometre.
    pub density_km_per_km2: f64,
    /// Exponent `h` of Hack's law, length of the longest stream ∝ area^h; none without a network.
    pub hack: Option<f64>,
    /// Exponent of slope ∝ area^-theta along channels.
    pub concavity: Option<f64>,
    /// Streams of each Strahler order.
    pub orders: Vec<u64>,
    /// How many times fewer streams there are of each next order, mean.
    pub bifurcation_ratio: Option<f64>,
    /// How many times longer streams of each next order are, mean.
    pub length_ratio: Option<f64>,
}

/// Measures it.
pub fn measure(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    sea_m: f32,
    ctx: &Ctx<'_>,
) -> Result<Drainage, OpError> {
    let (cols, rows) = (height.cols(), height.rows());
    let found = drainage::drainage(height, spacing_m, sea_m, ctx)?;
    let area = area::cells(&found.ways, &found.ways.donors());
    let (area, ways) = (area.as_slice(), &found.ways);
    let cells = cols * rows;
    let mut filled = height.clone();
    found.basins.fill(&mut filled);
    let land = height.as_slice().iter().filter(|&&h| h > sea_m).count() as f64;
    let raised = filled.as_slice().iter().zip(height.as_slice()).filter(|(f, h)| f > h).count() as f64;

    let lengths = D8.map(|(dc, dr)| math::hypot(f64::from(dc) * spacing_m[0], f64::from(dr) * spacing_m[1]));
    let length = |cell: usize| lengths.get(ways.0.as_slice()[cell] as usize).copied().unwrap_or(0.0);
    // Upstream first: by area, which grows downstream; equal areas never drain to each other.
    let mut order: Vec<u32> =
        (0..cells as u32).filter(|&cell| height.as_slice()[cell as usize] > sea_m).collect();
    order.sort_unstable_by_key(|&cell| (area[cell as usize], cell));

    let mut longest = vec![0f32; cells];
    let mut strahler = vec![0u8; cells];
    // Of the channels that come in: the highest order, and how many have it.
    let mut incoming = vec![(0u8, 0u8, 0u8); cells];
    let mut stream_lengths: Vec<[f64; 2]> = Vec::new();
    let mut channel_m = 0.0;
    for &cell in &order {
        let cell = cell as usize;
        let is_channel = area[cell] >= CHANNEL;
        let (best, same, _) = incoming[cell];
        if is_channel {
            strahler[cell] = if best == 0 { 1 } else { best + u8::from(same > 1) };
            channel_m += length(cell);
            let at = strahler[cell] as usize;
            if stream_lengths.len() < at {
                stream_lengths.resize(at, [0.0; 2]);
            }
            stream_lengths[at - 1][0] += length(cell);
            if strahler[cell] != best {
                stream_lengths[at - 1][1] += 1.0;
            }
        }
        if let Some(next) = ways.next(cell) {
            longest[next] = longest[next].max(longest[cell] + length(cell) as f32);
            if is_channel {
                let into = &mut incoming[next];
                into.2 = into.2.saturating_add(1);
                if strahler[cell] > into.0 {
                    (into.0, into.1) = (strahler[cell], 1);
                } else if strahler[cell] == into.0 {
                    into.1 = into.1.saturating_add(1);
                }
            }
        }
    }
    // Hack's law over all basins that end at a confluence.
    let meets = |cell: usize| ways.next(cell).is_some_and(|next| incoming[next].2 > 1);
    let hack: Vec<[f64; 2]> = (0..cells)
        .filter(|&cell| area[cell] >= CHANNEL && longest[cell] > 0.0 && meets(cell))
        .map(|cell| {
            let m2 = f64::from(area[cell]) * spacing_m[0] * spacing_m[1];
            [math::ln(m2), math::ln(f64::from(longest[cell]))]
        })
        .collect();
    let orders: Vec<u64> = stream_lengths.iter().map(|s| s[1] as u64).collect();
    let falls = orders.windows(2).filter(|w| w[1] > 0).map(|w| w[0] as f64 / w[1] as f64);
    let grows = stream_lengths
        .windows(2)
        .filter(|w| w[1][1] > 0.0 && w[0][0] > 0.0)
        .map(|w| (w[1][0] / w[1][1]) / (w[0][0] / w[0][1]));
    let land_km2 = land * spacing_m[0] * spacing_m[1] * 1e-6;
    Ok(Drainage {
        pit_share: pits(height, sea_m) / land,
        depression_share: raised / land,
        density_km_per_km2: channel_m * 1e-3 / land_km2,
        hack: line(&hack).map(|l| l[0]),
        concavity: concavity(&filled, area, ways, &length, spacing_m),
        bifurcation_ratio: mean(falls),
        length_ratio: mean(grows),
        orders,
    })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then_some(sum / count)
}

/// Inner samples lower than all eight neighbours.
fn pits(height: &Raster<f32>, sea_m: f32) -> f64 {
    let mut count = 0.0;
    for row in 1..height.rows().saturating_sub(1) {
        for col in 1..height.cols().saturating_sub(1) {
            let here = height.row(row)[col];
            let lowest = D8.iter().all(|&(dc, dr)| {
                here < height.row(row.wrapping_add_signed(dr as isize))[col.wrapping_add_signed(dc as isize)]
            });
            count += f64::from(u8::from(lowest && here > sea_m));
        }
    }
    count
}

/// Slope of channels over ten cells against area: means over fifths of a decade, then a line.
fn concavity(
    filled: &Raster<f32>,
    area: &[u32],
    ways: &drainage::Ways,
    length: &dyn Fn(usize) -> f64,
    spacing_m: [f64; 2],
) -> Option<f64> {
    let mut bins: Vec<[f64; 2]> = Vec::new();
    let cell_m2 = spacing_m[0] * spacing_m[1];
    for (cell, &drained) in area.iter().enumerate() {
        if drained < CHANNEL {
            continue;
        }
        let (mut at, mut far) = (cell, 0.0);
        for _ in 0..REACH {
            let Some(next) = ways.next(at) else { break };
            far += length(at);
            at = next;
        }
        let drop = f64::from(filled.as_slice()[cell]) - f64::from(filled.as_slice()[at]);
        if far > 0.0 && drop > 0.0 {
            let bin = (math::ln(f64::from(drained)) / math::ln(10.0) * 5.0) as usize;
            if bins.len() <= bin {
                bins.resize(bin + 1, [0.0; 2]);
            }
            bins[bin][0] += drop / far;
            bins[bin][1] += 1.0;
        }
    }
    let points: Vec<[f64; 2]> = bins
        .iter()
        .enumerate()
        .filter(|(_, bin)| bin[1] >= 10.0)
        .map(|(i, bin)| {
            let cells = math::exp((i as f64 + 0.5) / 5.0 * math::ln(10.0));
            [math::ln(cells * cell_m2), math::ln(bin[0] / bin[1])]
        })
        .collect();
    line(&points).map(|l| -l[0])
}
