// Near plants: meshes, many of each.

struct Vertex {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
    @location(1) normal: vec3<f32>,
    // Light through the leaves; height among the crowns around; the sun and the sky of the land.
    @location(2) open: vec4<f32>,
    @location(3) air: vec4<f32>,
    @location(4) @interpolate(flat) shares: vec4<f32>,
    @location(5) @interpolate(flat) state: vec4<f32>,
    @location(6) @interpolate(flat) leaf: f32,
    @location(7) place: vec3<f32>,
}

// Where a corner is, away from the foot of its plant.
fn away_at(foot: vec4<f32>, turn: vec4<f32>, state: vec4<f32>, at: vec3<f32>, sway: vec4<f32>) -> vec3<f32> {
    let own = axes(turn);
    var away = own * at * foot.w;
    // The whole plant leans with gusts, its branches swing, its leaves tremble.
    let give = (1.0 - sway.x) * now.clock.y;
    if give > 0.0 {
        let time = now.clock.x;
        let phase = state.z * 6.283;
        let gust = 0.6 + 0.4 * sin(time * 0.8 + phase - 0.06 * dot(foot.xy, now.wind.xy));
        let tall = kind.body.x * foot.w;
        let swing = sin(time * 2.1 + phase + sway.y * 6.283);
        let tremble = sway.z * sin(time * 9.0 + sway.y * 40.0 + phase);
        away += vec3(now.wind.xy * (0.05 * gust + 0.012 * swing) * give * tall * kind.body.y, 0.0);
        away.z += (0.008 * swing * tall * give + 0.02 * tremble * now.clock.y) * kind.body.y;
    }
    return away;
}

@vertex
fn vertex(
    @location(0) foot: vec4<f32>,
    @location(1) turn: vec4<f32>,
    @location(2) shares: vec4<f32>,
    @location(3) state: vec4<f32>,
    @location(4) at: vec3<f32>,
    @location(5) normal: vec4<f32>,
    @location(6) uv: vec2<f32>,
    @location(7) sway: vec4<f32>,
) -> Vertex {
    let away = away_at(foot, turn, state, at, sway);
    let place = curved(foot.xyz + away);
    var out: Vertex;
    out.position = to_clip(place);
    out.uv = uv;
    out.normal = axes(turn) * normal.xyz;
    let shade = shade_at(place.xy);
    let tall = max(kind.body.x * foot.w, 0.01);
    let above = away.z / tall / max(2.0 * shares.w, 0.05);
    out.open = vec4(0.4 + 0.6 * sway.w, above, shade.sun, shade.sky);
    out.air = air_at(place, out.position);
    out.shares = shares;
    out.state = state;
    out.leaf = normal.w;
    out.place = place;
    return out;
}

// How a texel's normal stands: the surface may look either way.
fn facing(normal: vec3<f32>, eye: vec3<f32>, leaf: bool) -> vec3<f32> {
    let unit = normalize(normal);
    return select(unit, -unit, leaf && dot(unit, eye) < 0.0);
}

@fragment
fn fragment(in: Vertex) -> @location(0) vec4<f32> {
    let dx = dpdx(in.uv);
    let dy = dpdy(in.uv);
    let at = threshold(in.position.xy);
    if at < in.shares.x || at >= in.shares.y {
        discard;
    }
    let leaf = in.leaf > 0.5;
    var color = vec3(0.0);
    var through = 0.0;
    if leaf {
        let found = textureSampleGrad(leaves, repeated, in.uv, dx * 0.7, dy * 0.7);
        if found.a < 0.5 {
            discard;
        }
        through = textureSampleGrad(leaves_more, repeated, in.uv, dx, dy).z;
        color = tinted(found.rgb, in.state);
    } else {
        color = textureSampleGrad(bark, repeated, in.uv, dx, dy).rgb;
    }
    let normal = facing(in.normal, -in.place, leaf);
    // Leaves hang any way: only bark is looked at from its own side.
    let near = near_light(in.place, select(normal, vec3(0.0), leaf), in.position.xy, 1);
    let light = lit(color * in.open.x, normal, through, in.open.zw, among(in.open.y, in.shares.z, near));
    return vec4(light * in.air.a + in.air.rgb, 1.0);
}

// What the lamp sees of a corner.
struct Cast {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
    @location(1) @interpolate(flat) leaf: f32,
}

@vertex
fn cast_vertex(
    @location(0) foot: vec4<f32>,
    @location(1) turn: vec4<f32>,
    @location(2) shares: vec4<f32>,
    @location(3) state: vec4<f32>,
    @location(4) at: vec3<f32>,
    @location(5) normal: vec4<f32>,
    @location(6) uv: vec2<f32>,
    @location(7) sway: vec4<f32>,
) -> Cast {
    return Cast(to_clip(curved(foot.xyz + away_at(foot, turn, state, at, sway))), uv, normal.w);
}

@fragment
fn cast_fragment(in: Cast) {
    let dx = dpdx(in.uv);
    let dy = dpdy(in.uv);
    if in.leaf > 0.5 && textureSampleGrad(leaves, repeated, in.uv, dx, dy).a < 0.5 {
        discard;
    }
}
