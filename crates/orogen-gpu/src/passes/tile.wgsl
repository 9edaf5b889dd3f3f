// A batch of tiles: each is a rectangle of the texture that is drawn into, with numbers of its own.

// What tiles look up: two words each, as they come from the processor.
@group(0) @binding(0) var numbers: texture_2d<u32>;
// Heights of the step before.
@group(0) @binding(1) var before: texture_2d<f32>;

// Numbers in a row of the texture.
const WIDE: u32 = 2048u;

fn number(i: u32) -> vec2<u32> {
    return textureLoad(numbers, vec2<i32>(vec2<u32>(i % WIDE, i / WIDE)), 0).xy;
}

// Two numbers that are floats.
fn pair(i: u32) -> vec2<f32> {
    return bitcast<vec2<f32>>(number(i));
}

struct Pixel {
    @builtin(position) position: vec4<f32>,
    // Its corner in the texture, columns and rows.
    @location(0) @interpolate(flat) tile: vec4<u32>,
    // Where its numbers start, and how many there are of what they list.
    @location(1) @interpolate(flat) list: vec2<u32>,
}

// `of` holds the list and the size of the texture.
@vertex
fn vertex(@builtin(vertex_index) corner: u32, @location(0) tile: vec4<u32>, @location(1) of_list: vec4<u32>) -> Pixel {
    let at = tile.xy + tile.zw * vec2<u32>(corner & 1u, corner >> 1u);
    let share = vec2<f32>(at) / vec2<f32>(of_list.zw);
    return Pixel(vec4<f32>(2.0 * share.x - 1.0, 1.0 - 2.0 * share.y, 0.0, 1.0), tile, of_list.xy);
}

// Column and row within the tile.
fn sample_of(pixel: Pixel) -> vec2<u32> {
    return vec2<u32>(pixel.position.xy) - pixel.tile.xy;
}

fn height_before(pixel: Pixel) -> f32 {
    return textureLoad(before, vec2<i32>(pixel.position.xy), 0).x;
}
