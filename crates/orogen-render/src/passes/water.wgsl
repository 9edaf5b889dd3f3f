// Water: the sea around the eye, lakes and rivers tile by tile. What lies under it was drawn before.

@group(1) @binding(0) var under: texture_2d<f32>;
@group(1) @binding(1) var under_depth: texture_depth_2d;

struct Vertex {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
    // 1 for the sea, 0 for a lake or a river.
    @location(1) @interpolate(flat) sea: f32,
}

@vertex
fn sea_vertex(@location(0) at: vec2<f32>) -> Vertex {
    var out: Vertex;
    out.place = curved(vec3(at, -scene.eye.x));
    out.position = to_clip(out.place);
    out.sea = 1.0;
    return out;
}

@vertex
fn lake_vertex(
    @builtin(vertex_index) index: u32,
    @location(0) tile: vec4<f32>,
    @location(3) morph: vec4<f32>,
) -> Vertex {
    var out: Vertex;
    out.place = tile_vertex(index, tile, morph.x).surface;
    out.position = to_clip(out.place);
    out.sea = 0.0;
    return out;
}

fn distance_of(depth: f32, forward: f32) -> f32 {
    return scene.eye.z / max(depth, 1e-9) / forward;
}

@fragment
fn fragment(in: Vertex) -> @location(0) vec4<f32> {
    let dx = dpdx(in.place.xy);
    let dy = dpdy(in.place.xy);
    let texel = vec2<i32>(in.position.xy);
    let depth = textureLoad(under_depth, texel, 0);
    if depth > in.position.z {
        discard;
    }
    let shade = shade_at(in.place.xy);
    if in.sea > 0.5 && shade.sea < 0.02 {
        discard;
    }
    let pixel = in.position.xy - scene.shift.xy;
    let far = length(in.place);
    let way = in.place / far;
    let eye = -way;
    let forward = dot(way, normalize(scene.rays[2].xyz));
    // Metres of water along the look, and straight down.
    let below = max(distance_of(depth, forward) - far, 0.0);
    let deep = min(below * max(-way.z, 0.002), 400.0);

    // Waves: long ones and short ones; what is finer than the pixel makes the surface rough instead.
    let calm = mix(0.28, 1.0, in.sea) * smoothstep(0.0, 1.5, deep + 0.25);
    var slope = vec2(0.0);
    var rough = 0.0012;
    for (var i = 0u; i < 2u; i++) {
        let at = scene.waves[i];
        let turned = vec2(
            scene.turns.z * in.place.x - scene.turns.w * in.place.y,
            scene.turns.w * in.place.x + scene.turns.z * in.place.y,
        );
        let dx2 = vec2(scene.turns.z * dx.x - scene.turns.w * dx.y, scene.turns.w * dx.x + scene.turns.z * dx.y);
        let dy2 = vec2(scene.turns.z * dy.x - scene.turns.w * dy.y, scene.turns.w * dy.x + scene.turns.z * dy.y);
        let found = textureSampleGrad(wave_slopes, repeated, turned * at.z + at.xy, dx2 * at.z, dy2 * at.z);
        let local = vec2(
            scene.turns.z * found.x + scene.turns.w * found.y,
            -scene.turns.w * found.x + scene.turns.z * found.y,
        );
        slope += local * at.w;
        // The mean square of slopes less the square of the mean.
        rough += max(found.z - dot(found.xy, found.xy), 0.0) * at.w * at.w;
    }
    // Gusts roughen the water in patches.
    let gusts = textureSampleGrad(noises, repeated, in.place.xy * scene.noise[2].z + scene.noise[2].xy, dx * scene.noise[2].z, dy * scene.noise[2].z);
    let wind = calm * (0.75 + 0.5 * gusts.x);
    slope *= wind;
    rough = rough * wind * wind + 0.0004;
    let normal = normalize(vec3(-slope, 1.0));

    // A look that grazes rough water meets the faces turned toward it.
    let spread = sqrt(rough);
    let cosine = max(dot(normal, eye), 0.0) + 0.35 * spread;
    let mirror_share = 0.02 + 0.98 * pow(1.0 - min(cosine, 1.0), 5.0 * exp(-2.69 * spread)) / (1.0 + 22.7 * pow(spread, 1.5));
    var mirror = reflect(way, normal);
    mirror = normalize(vec3(mirror.xy, abs(mirror.z) + 0.6 * spread));
    let sky = sky_light(mirror) * mix(1.0, shade.sky, 0.7);

    let lit = scene.sun_light.rgb * shade.sun;
    let down = lit * max(scene.sun.z, 0.0) * 0.95 + sky_on(vec3(0.0, 0.0, 1.0)) * shade.sky;
    // What water takes of red, green and blue in a metre, and what it sends back where it is deep.
    let takes = mix(vec3(0.55, 0.16, 0.18), vec3(0.42, 0.085, 0.060), in.sea);
    let body = mix(vec3(0.014, 0.034, 0.030), vec3(0.006, 0.030, 0.046), in.sea) * down / PI;
    let bent = sqrt(1.0 - (1.0 - way.z * way.z) / 1.796);
    let path = deep / bent + deep / max(sqrt(1.0 - (1.0 - scene.sun.z * scene.sun.z) / 1.796), 0.3);
    let kept = exp(-takes * path);
    let bottom = textureLoad(under, texel, 0).rgb;
    var light = mix(bottom * kept + body * (1.0 - kept), sky, mirror_share);
    let glint = max(sqrt(2.0 * rough), 0.02);
    light += lit * mirrored(normal, eye, scene.sun.xyz, sqrt(glint), 0.02);

    // Foam where waves run up the shore.
    let wide = max(length(dx), length(dy));
    let drift = textureSampleGrad(noises, repeated, in.place.xy * scene.noise[0].z + scene.noise[0].xy, dx * scene.noise[0].z, dy * scene.noise[0].z);
    // Lines that run along the shore, broken up, and a thin seam at the very edge.
    let reach = deep + 0.5 * (drift.y - 0.5);
    let seam = 1.0 - smoothstep(0.02, 0.22, reach);
    let line = smoothstep(0.16, 0.0, abs(reach - 0.55 - 0.35 * (gusts.z - 0.5))) * smoothstep(0.45, 0.62, drift.z);
    let foam = clamp(0.8 * seam + 0.55 * line, 0.0, 1.0) * in.sea * (0.35 + 0.65 * smoothstep(0.3, 0.6, drift.w))
        * (1.0 - smoothstep(2.0, 14.0, wide));
    light = mix(light, vec3(0.75) * down / PI, clamp(foam, 0.0, 0.85));

    // No edge where it is a hand deep.
    let shallow = smoothstep(0.0, 0.12, deep);
    return vec4(mix(bottom, through_air(light, in.place, pixel), shallow), 1.0);
}
