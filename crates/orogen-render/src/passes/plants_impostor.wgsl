// Far plants: a quad that looks at the eye, with what the plant looks like from the three nearest of 64 sides.

const SIDE: f32 = 8.0;
// How far what depth says is followed, aside, and up and down from above.
const ASIDE: f32 = 0.5;
const UPWARDS: f32 = 0.5;

struct Vertex {
    @builtin(position) position: vec4<f32>,
    // Where the frames are looked at if the plant were flat, from 0 to 1 on each.
    @location(0) first: vec4<f32>,
    @location(1) last: vec2<f32>,
    // By how much depth moves that.
    @location(2) @interpolate(flat) shift: vec4<f32>,
    @location(3) @interpolate(flat) shift_last: vec2<f32>,
    // Frames by column and row.
    @location(4) @interpolate(flat) frames: vec4<f32>,
    @location(5) @interpolate(flat) frame_last: vec2<f32>,
    // Shares of the frames; the level of the textures.
    @location(6) @interpolate(flat) parts: vec4<f32>,
    @location(7) @interpolate(flat) shares: vec4<f32>,
    @location(8) @interpolate(flat) state: vec4<f32>,
    // Height above the foot as a share of the plant's; by how much depth lowers it; the sun and the sky of the land.
    @location(9) open: vec4<f32>,
    @location(10) air: vec4<f32>,
    @location(11) @interpolate(flat) turn: vec4<f32>,
    // On the quad, relative to the eye; metres by which depth moves that away from it.
    @location(12) place: vec4<f32>,
}

struct Frame {
    back: vec3<f32>,
    right: vec3<f32>,
    up: vec3<f32>,
}

fn frame_of(back: vec3<f32>) -> Frame {
    var right = vec3(sign(back.z), 0.0, 0.0);
    if abs(back.z) <= 0.9999 {
        right = normalize(vec3(-back.y, back.x, 0.0));
    }
    return Frame(back, right, cross(back, right));
}

// The frame of a place on the grid.
fn frame_at(grid: vec2<f32>) -> Frame {
    let st = 2.0 * grid / (SIDE - 1.0) - 1.0;
    let x = 0.5 * (st.x + st.y);
    let y = 0.5 * (st.x - st.y);
    return frame_of(normalize(vec3(x, y, 1.0 - abs(x) - abs(y))));
}

struct Look {
    uv: vec2<f32>,
    shift: vec2<f32>,
}

// Where a ray through a place meets a frame, and by how much a metre of depth moves that.
fn on_frame(grid: vec2<f32>, place: vec3<f32>, back: vec3<f32>) -> Look {
    let frame = frame_at(grid);
    let slope = max(dot(back, frame.back), 0.3);
    let level = -dot(place, frame.back) / slope;
    let down = max(back.z, 0.0);
    let followed = vec2(ASIDE, UPWARDS * down * down);
    let ways = vec2(dot(back, frame.right), dot(back, frame.up));
    let at = vec2(dot(place, frame.right), dot(place, frame.up)) + level * (0.5 + 0.5 * followed) * ways;
    let flip = vec2(0.5, -0.5) / kind.middle.w;
    return Look(vec2(0.5) + at * flip, -followed * ways / slope * flip);
}

// A corner of the quad that looks along `back`, from the middle of the plant: two triangles.
fn on_quad(index: u32, back: vec3<f32>) -> vec3<f32> {
    let quad = frame_of(back);
    let wide = kind.reach.x;
    let level = sqrt(max(1.0 - back.z * back.z, 0.0));
    let tall = sqrt(kind.reach.y * kind.reach.y * level * level + wide * wide * back.z * back.z);
    // 0 1 2, 2 1 3.
    let k = select(index, select(5u - index, 3u, index == 5u), index > 2u);
    let corner = vec2(f32(k & 1u), f32(k >> 1u)) * 2.0 - 1.0;
    return quad.right * corner.x * wide + quad.up * corner.y * tall;
}

// Where the direction to the viewer lies among the frames.
fn on_grid(back: vec3<f32>) -> vec2<f32> {
    let all = abs(back.x) + abs(back.y) + max(back.z, 0.0);
    let flat_way = back.xy / all;
    let st = vec2(flat_way.x + flat_way.y, flat_way.x - flat_way.y);
    return clamp((0.5 + 0.5 * st) * (SIDE - 1.0), vec2(0.0), vec2(SIDE - 1.0));
}

@vertex
fn vertex(
    @builtin(vertex_index) index: u32,
    @location(0) foot: vec4<f32>,
    @location(1) turn: vec4<f32>,
    @location(2) shares: vec4<f32>,
    @location(3) state: vec4<f32>,
) -> Vertex {
    let own = axes(turn);
    let middle = curved(foot.xyz + own * kind.middle.xyz * foot.w);
    let far = length(middle);
    let back = transpose(own) * (-middle / far);
    let place = on_quad(index, back);
    let on_land = middle + own * place * foot.w;

    var out: Vertex;
    out.position = to_clip(on_land);
    out.place = vec4(on_land, foot.w);
    // The three frames around the direction to the eye.
    let grid = on_grid(back);
    let cell = min(floor(grid), vec2(SIDE - 2.0));
    let t = grid - cell;
    var one = cell;
    let two = cell + vec2(1.0, 0.0);
    let three = cell + vec2(0.0, 1.0);
    var parts = vec3(1.0 - t.x - t.y, t.x, t.y);
    if t.x + t.y >= 1.0 {
        one = cell + vec2(1.0);
        parts = vec3(t.x + t.y - 1.0, 1.0 - t.y, 1.0 - t.x);
    }
    let a = on_frame(one, place, back);
    let b = on_frame(two, place, back);
    let c = on_frame(three, place, back);
    out.first = vec4(a.uv, b.uv);
    out.last = c.uv;
    out.shift = vec4(a.shift, b.shift);
    out.shift_last = c.shift;
    out.frames = vec4(one, two);
    out.frame_last = three;
    // Samples of a frame that a pixel takes.
    let pixel_m = far / now.clock.z;
    let sample_m = 2.0 * kind.middle.w * foot.w / kind.reach.w;
    out.parts = vec4(parts, clamp(log2(pixel_m / sample_m), 0.0, 4.0));
    out.shares = shares;
    out.state = state;
    out.turn = turn;
    let shade = shade_at(middle.xy);
    let tall_m = max(kind.body.x, 0.01);
    out.open = vec4((kind.middle.z + place.z) / tall_m, back.z / tall_m, shade.sun, shade.sky);
    out.air = air_at(middle, out.position);
    return out;
}

struct Found {
    color: vec4<f32>,
    normal: vec4<f32>,
    depth: f32,
}

fn in_atlas(frame: vec2<f32>, uv: vec2<f32>, level: f32) -> vec2<f32> {
    // Not into the frame beside it.
    let edge = 0.5 * exp2(level) / kind.reach.w;
    return (frame + clamp(uv, vec2(edge), vec2(1.0 - edge))) / SIDE;
}

fn depth_at(frame: vec2<f32>, uv: vec2<f32>, level: f32) -> f32 {
    let found = textureSampleLevel(far_depth, clamped, in_atlas(frame, uv, level), level).r;
    return (2.0 * found - 1.0) * kind.reach.z;
}

fn found_at(frame: vec2<f32>, uv: vec2<f32>, shift: vec2<f32>, level: f32) -> Found {
    var at = uv;
    var depth = 0.0;
    // Where plants are small their depth makes no difference of a pixel.
    if level < 2.5 {
        depth = depth_at(frame, at, level);
        at = uv + depth * shift;
        depth = depth_at(frame, at, level);
        at = uv + depth * shift;
    }
    let place = in_atlas(frame, at, level);
    return Found(
        textureSampleLevel(far_color, clamped, place, level),
        textureSampleLevel(far_normal, clamped, place, level),
        depth,
    );
}

@fragment
fn fragment(in: Vertex) -> @location(0) vec4<f32> {
    let at = threshold(in.position.xy);
    if at < in.shares.x || at >= in.shares.y {
        discard;
    }
    let level = in.parts.w;
    var color = vec3(0.0);
    var normal = vec4(0.0);
    var cover = 0.0;
    var depth = 0.0;
    var frames = array<vec2<f32>, 3>(in.frames.xy, in.frames.zw, in.frame_last);
    var uvs = array<vec2<f32>, 3>(in.first.xy, in.first.zw, in.last);
    var shifts = array<vec2<f32>, 3>(in.shift.xy, in.shift.zw, in.shift_last);
    // All three sides, or one of them by chance: far away nobody tells them apart.
    let drawn = fract(at * 5.77 + 0.31);
    let some = select(select(2u, 1u, drawn < in.parts.x + in.parts.y), 0u, drawn < in.parts.x);
    let all = level < 1.5;
    for (var i = select(some, 0u, all); i < select(some + 1u, 3u, all); i++) {
        let found = found_at(frames[i], uvs[i], shifts[i], level);
        let part = select(1.0, in.parts[i], all) * found.color.a;
        cover += part;
        color += part * found.color.rgb;
        normal += part * vec4(found.normal.xyz * 2.0 - 1.0, found.normal.a);
        depth += part * found.depth;
    }
    // As dense as what they cover: thresholds alone would close the gaps of a crown.
    if cover < max(fract(at * 3.33 + 0.17), 0.02) {
        discard;
    }
    color = tinted(color / cover, in.state);
    normal /= cover;
    let above = (in.open.x - depth / cover * in.open.y) / max(2.0 * in.shares.w, 0.05);
    let place = in.place.xyz + normalize(in.place.xyz) * (depth / cover * in.place.w);
    let near = near_light(place, vec3(0.0), in.position.xy, 1);
    let light = lit(color, axes(in.turn) * normal.xyz, normal.a, in.open.zw, among(above, in.shares.z, near));
    return vec4(light * in.air.a + in.air.rgb, 1.0);
}

// What the lamp sees of a plant: the nearest of its pictures.
struct Cast {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
    @location(1) @interpolate(flat) frame: vec2<f32>,
    // The level of the textures; by how much a metre of depth moves it away from the lamp.
    @location(2) @interpolate(flat) fine: vec2<f32>,
}

@vertex
fn cast_vertex(
    @builtin(vertex_index) index: u32,
    @location(0) foot: vec4<f32>,
    @location(1) turn: vec4<f32>,
    @location(2) shares: vec4<f32>,
    @location(3) state: vec4<f32>,
) -> Cast {
    let own = axes(turn);
    let middle = curved(foot.xyz + own * kind.middle.xyz * foot.w);
    let back = transpose(own) * scene.sun.xyz;
    let place = on_quad(index, back);
    let frame = floor(on_grid(back) + 0.5);
    // What the lamp sees is so wide and so deep.
    let across = vec3(scene.clip[0].x, scene.clip[1].x, scene.clip[2].x);
    let along = vec3(scene.clip[0].z, scene.clip[1].z, scene.clip[2].z);
    let sample_m = 2.0 * kind.middle.w * foot.w / kind.reach.w;
    let level = clamp(log2(2.0 * scene.size.z / length(across) / sample_m), 0.0, 4.0);
    let uv = on_frame(frame, place, back).uv;
    return Cast(to_clip(middle + own * place * foot.w), uv, frame, vec2(level, foot.w * length(along)));
}

struct Deep {
    @builtin(frag_depth) depth: f32,
}

@fragment
fn cast_fragment(in: Cast) -> Deep {
    let found = textureSampleLevel(far_color, clamped, in_atlas(in.frame, in.uv, in.fine.x), in.fine.x);
    if found.a < 0.4 || any(in.uv < vec2(0.0)) || any(in.uv > vec2(1.0)) {
        discard;
    }
    // A little behind what it shows, so that it does not shade itself.
    let depth = depth_at(in.frame, in.uv, in.fine.x) + 0.04 * kind.body.x;
    return Deep(in.position.z - depth * in.fine.y);
}
