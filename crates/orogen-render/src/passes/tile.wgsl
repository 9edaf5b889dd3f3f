// The vertices of tiles: own ones, those of the next coarser tile's surface, and the outlines on which neighbours agree.

@group(2) @binding(0) var own_vertices: texture_2d_array<f32>;
@group(2) @binding(1) var coarse_vertices: texture_2d_array<f32>;
@group(2) @binding(2) var outlines: texture_2d<f32>;

const QUADS: u32 = 64u;
const SIDE: u32 = 65u;

struct TileVertex {
    // Relative to the eye.
    place: vec3<f32>,
    // The surface of the water there.
    surface: vec3<f32>,
    uv: vec2<f32>,
}

// `tile`: north-west corner relative to the eye, side of a quad, layer; `morph`: how far it has changed over to the coarser one.
fn tile_vertex(index: u32, tile: vec4<f32>, morph: f32) -> TileVertex {
    let at = vec2(index % SIDE, index / SIDE);
    let layer = i32(tile.w);
    var vertex: vec4<f32>;
    if at.y == 0u {
        vertex = textureLoad(outlines, vec2(i32(at.x), layer), 0);
    } else if at.y == QUADS {
        vertex = textureLoad(outlines, vec2(i32(SIDE + at.x), layer), 0);
    } else if at.x == 0u {
        vertex = textureLoad(outlines, vec2(i32(2u * SIDE + at.y), layer), 0);
    } else if at.x == QUADS {
        vertex = textureLoad(outlines, vec2(i32(3u * SIDE + at.y), layer), 0);
    } else {
        vertex = textureLoad(own_vertices, vec2<i32>(at), layer, 0);
        if morph > 0.0 {
            vertex = mix(vertex, textureLoad(coarse_vertices, vec2<i32>(at), layer, 0), morph);
        }
    }
    let flat_place = tile.xy + vec2(f32(at.x), -f32(at.y)) * tile.z + vertex.xy;
    var out: TileVertex;
    out.place = curved(vec3(flat_place, vertex.z - scene.eye.x));
    out.surface = curved(vec3(flat_place, vertex.w - scene.eye.x));
    out.uv = vec2<f32>(at) / f32(QUADS);
    return out;
}
