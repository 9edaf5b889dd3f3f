// A field of noise over the world: octaves, fractal, warp, stretch and period. The twin of noise/field.rs.
//
// Where samples lie on the lattice of an octave comes from the processor, in cells and shares of a cell: for each octave a
// number for every column and then one for every row, so that samples that two tiles share have the same bits in both.

override BASIS: u32 = 0u;
override EVEN: bool = false;
override FRACTAL: u32 = 0u;
// Lattices that do not run along the columns and rows have numbers for both axes for each column and row.
override SLANTED: bool = false;
override WARPED: bool = false;

const MOST_OCTAVES: u32 = 24u;
const MOST_BENDS: u32 = 16u;

struct Field {
    // What Worley's distances count; translate and scale of the fractal.
    counts: vec2<f32>,
    shape: vec2<f32>,
    // Factors and what is added: of an octave's noise, and of the sum.
    unit: vec2<f32>,
    last: vec2<f32>,
    // Rows of the matrix that turns and stretches.
    turn: vec4<f32>,
    // What is added to the displacements to the east and north.
    bend_last: vec4<f32>,
    // Octaves, and those of the displacement.
    sizes: vec4<u32>,
    octaves: array<Octave, MOST_OCTAVES>,
    // Cells per metre, across and up.
    cells_per_m: array<vec4<f32>, MOST_OCTAVES>,
    east: array<Octave, MOST_BENDS>,
    north: array<Octave, MOST_BENDS>,
}

@group(0) @binding(2) var<uniform> field: Field;


// A place whose axes run along columns and rows.
fn straight_place(first: u32, at: vec2<u32>, cols: u32) -> Place {
    let x = number(first + at.x);
    let y = number(first + cols + at.y);
    return Place(vec2<u32>(x.x, y.x), vec2<f32>(bitcast<f32>(x.y), bitcast<f32>(y.y)));
}

// Goes on from a cell by a number of cells, which may be negative, around a period.
fn moved_cell(cell: u32, by: i32, period: u32) -> u32 {
    if period == 0u {
        return cell + bitcast<u32>(by);
    }
    let turns = i32(period);
    return u32((((bitcast<i32>(cell) + by % turns) % turns) + turns) % turns);
}

fn moved(place: Place, by: vec2<f32>, period: vec2<u32>) -> Place {
    let at = place.share + by;
    let whole = floor(at);
    let cells = vec2<i32>(whole);
    return Place(
        vec2<u32>(moved_cell(place.cell.x, cells.x, period.x), moved_cell(place.cell.y, cells.y, period.y)),
        at - whole,
    );
}

fn place_of(first: u32, at: vec2<u32>, size: vec2<u32>) -> Place {
    if SLANTED {
        let x = straight_place(first, at, size.x);
        let y = straight_place(first + size.x + size.y, at, size.x);
        // The parts of columns and of rows add up.
        let start = Place(vec2<u32>(x.cell.x + x.cell.y, y.cell.x + y.cell.y), vec2<f32>(0.0));
        return moved(start, vec2<f32>(x.share.x + x.share.y, y.share.x + y.share.y), vec2<u32>(0u));
    }
    return straight_place(first, at, size.x);
}

fn basis(at: Place, octave: Octave) -> f32 {
    switch BASIS {
        case 0u: {
            if EVEN {
                return even_value(at, octave);
            }
            return value(at, octave);
        }
        case 1u: { return perlin(at, octave, EVEN); }
        case 2u: { return simplex(at, octave, EVEN); }
        case 3u: { return worley(at, octave, field.counts); }
        default: { return white(at, octave); }
    }
}

@fragment
fn fragment(pixel: Pixel) -> @location(0) f32 {
    let at = sample_of(pixel);
    let size = pixel.tile.zw;
    var first = pixel.list.x;
    let stride = size.x + size.y;
    var bend = vec2<f32>(0.0);
    if WARPED {
        bend = field.bend_last.xy;
        for (var i = 0u; i < field.sizes.y; i++) {
            bend.x += field.east[i].weight * simplex(straight_place(first, at, size.x), field.east[i], false);
            first += stride;
        }
        for (var i = 0u; i < field.sizes.y; i++) {
            bend.y += field.north[i].weight * simplex(straight_place(first, at, size.x), field.north[i], false);
            first += stride;
        }
        bend = vec2<f32>(dot(field.turn.xy, bend), dot(field.turn.zw, bend));
    }
    var state = vec2<f32>(field.last.y, 0.0);
    for (var i = 0u; i < field.sizes.x; i++) {
        let octave = field.octaves[i];
        var place = place_of(first, at, size);
        if WARPED {
            place = moved(place, bend * field.cells_per_m[i].xy, octave.period);
        }
        let noise = basis(place, octave);
        if FRACTAL == SUM {
            state.x += octave.weight * noise;
        } else {
            let n = field.unit.x * noise + field.unit.y;
            if i == 0u {
                state = fractal_first(FRACTAL, field.shape, n);
            } else {
                state = fractal_next(FRACTAL, field.shape, octave.weight, state, n);
            }
        }
        first += stride * select(1u, 2u, SLANTED);
    }
    if FRACTAL == SUM {
        return state.x;
    }
    return state.x * field.last.x + field.last.y;
}
