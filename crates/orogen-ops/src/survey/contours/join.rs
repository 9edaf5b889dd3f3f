//! From pieces of contours in bands to whole contours.

use orogen_core::{Cancelled, Ctx, OpError};
use rayon::prelude::*;

use super::band::{Band, Chain, End};
use super::{Levels, Lines, room_for};

const NONE: u32 = u32::MAX;
/// Pieces, contours or vertices between two looks whether to go on.
const BETWEEN_LOOKS: usize = 1 << 16;

/// A chain of a band.
#[derive(Clone, Copy)]
struct Piece<'a> {
    chain: &'a Chain,
    points: &'a [[f64; 2]],
}

/// A whole contour as a row of pieces.
struct Whole {
    level: i32,
    closed: bool,
    pieces: std::ops::Range<usize>,
    vertices: usize,
}

/// Joins the chains of all bands; `place` makes a vertex of a point and a level.
///
/// # Errors
/// When cancelled, or when there is no memory for the vertices.
pub(super) fn join<P: Copy + Default + Send>(
    bands: &[Band],
    levels: &Levels,
    place: impl Fn([f64; 2], f64) -> P + Sync,
    ctx: &Ctx<'_>,
) -> Result<Lines<P>, OpError> {
    let mut all = Vec::new();
    room_for(&mut all, bands.iter().map(|band| band.chains.len()).sum())?;
    for band in bands {
        all.extend(pieces(band));
        ctx.stop_if_asked()?;
    }
    let pieces: Vec<Piece<'_>> = all;
    let next = links(bands, &pieces, ctx)?;
    let mut has_last = vec![false; pieces.len()];
    next.iter().filter(|&&n| n != NONE).for_each(|&n| has_last[n as usize] = true);

    let (mut order, mut wholes) = (Vec::with_capacity(pieces.len()), Vec::new());
    let mut done = vec![false; pieces.len()];
    let mut follow = |start: usize, done: &mut Vec<bool>| {
        let (from, mut at, mut vertices) = (order.len(), start, 1);
        loop {
            done[at] = true;
            order.push(at);
            // The first point of a piece is the last of the one before it.
            vertices += pieces[at].points.len() - 1;
            match next[at] {
                NONE => break,
                n if done[n as usize] => break,
                n => at = n as usize,
            }
        }
        let closed = pieces[start].chain.start == End::Ring || next[at] == start as u32;
        if vertices >= if closed { 4 } else { 2 } {
            wholes.push(Whole {
                level: pieces[start].chain.level,
                closed,
                pieces: from..order.len(),
                vertices,
            });
        }
    };
    // Lines with a start, then rings.
    for rings in [false, true] {
        for i in 0..pieces.len() {
            look(i, ctx)?;
            if !done[i] && (rings || !has_last[i]) {
                follow(i, &mut done);
            }
        }
    }
    // By level; the sort is stable, so what was found first stays first.
    wholes.sort_by_key(|whole| whole.level);

    let mut end = 0;
    let ends: Vec<usize> = wholes
        .iter()
        .map(|whole| {
            end += whole.vertices;
            end
        })
        .collect();
    let mut vertices = Vec::new();
    room_for(&mut vertices, end)?;
    while vertices.len() < end {
        // The system gives memory as it is first touched, which takes its time.
        ctx.stop_if_asked()?;
        vertices.resize(end.min(vertices.len() + 64 * BETWEEN_LOOKS), P::default());
    }
    let mut rest = &mut vertices[..];
    let mut parts = Vec::with_capacity(wholes.len());
    for (i, whole) in wholes.iter().enumerate() {
        look(i, ctx)?;
        let (part, others) = rest.split_at_mut(whole.vertices);
        rest = others;
        parts.push((whole, part));
    }
    parts.into_par_iter().with_min_len(64).try_for_each(|(whole, part)| {
        ctx.stop_if_asked()?;
        let points = order[whole.pieces.clone()]
            .iter()
            .enumerate()
            .flat_map(|(i, &piece)| &pieces[piece].points[usize::from(i > 0)..]);
        let level_m = levels.height_m(whole.level);
        for (out, &point) in part.iter_mut().zip(points) {
            *out = place(point, level_m);
        }
        Ok::<(), Cancelled>(())
    })?;
    Ok(Lines {
        levels_m: wholes.iter().map(|whole| levels.height_m(whole.level)).collect(),
        closed: wholes.iter().map(|whole| whole.closed).collect(),
        ends,
        vertices,
    })
}

/// Looks now and then whether to go on.
fn look(count: usize, ctx: &Ctx<'_>) -> Result<(), Cancelled> {
    if count.is_multiple_of(BETWEEN_LOOKS) { ctx.stop_if_asked() } else { Ok(()) }
}

fn pieces(band: &Band) -> impl Iterator<Item = Piece<'_>> {
    let mut start = 0;
    band.chains.iter().map(move |chain| {
        let points = &band.points[start..chain.points_end];
        start = chain.points_end;
        Piece { chain, points }
    })
}

/// The piece that goes on where each one ends.
fn links(bands: &[Band], pieces: &[Piece<'_>], ctx: &Ctx<'_>) -> Result<Vec<u32>, Cancelled> {
    // For each band, which piece starts at each crossing of its first and of its last row.
    let mut starts: Vec<[Vec<u32>; 2]> =
        bands.iter().map(|band| band.rims.map(|rim| vec![NONE; rim])).collect();
    let mut id = 0;
    for (band, starts) in bands.iter().zip(&mut starts) {
        ctx.stop_if_asked()?;
        for chain in &band.chains {
            match chain.start {
                End::North(rank) => starts[0][rank as usize] = id,
                End::South(rank) => starts[1][rank as usize] = id,
                End::Free | End::Ring => {}
            }
            id += 1;
        }
    }
    let mut next = Vec::with_capacity(pieces.len());
    for (index, band) in bands.iter().enumerate() {
        ctx.stop_if_asked()?;
        next.extend(band.chains.iter().map(|chain| match chain.end {
            // Both bands count the crossings of their common row alike.
            End::North(rank) if index > 0 => starts[index - 1][1][rank as usize],
            End::South(rank) if index + 1 < bands.len() => starts[index + 1][0][rank as usize],
            _ => NONE,
        }));
    }
    Ok(next)
}
