// Water: the sea around the eye, lakes and rivers tile by tile. What lies under it was drawn before.

@group(1) @binding(0) var under: texture_2d<f32>;
@group(1) @binding(1) var under_depth: texture_depth_2d;

struct Vertex {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
    // 1 for the sea, 0 for a lake or a river.
    @location(1) @interpolate(flat) sea: f32,
    // Where the water runs to, as steep as its surface falls.
    @location(2) flow: vec2<f32>,
}

@vertex
fn sea_vertex(@location(0) at: vec2<f32>) -> Vertex {
    var out: Vertex;
    out.place = curved(vec3(at, -scene.eye.x));
    out.position = to_clip(out.place);
    out.sea = 1.0;
    out.flow = vec2(0.0);
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
    // Vertices at the rim stand as those beside them do.
    let at = clamp(vec2<i32>(i32(index % SIDE), i32(index / SIDE)), vec2(1), vec2(i32(QUADS) - 1));
    let layer = i32(tile.w);
    let east = textureLoad(own_vertices, at + vec2(1, 0), layer, 0).w - textureLoad(own_vertices, at - vec2(1, 0), layer, 0).w;
    let south = textureLoad(own_vertices, at + vec2(0, 1), layer, 0).w - textureLoad(own_vertices, at - vec2(0, 1), layer, 0).w;
    let falls = vec2(-east, south) / (2.0 * tile.z);
    // What falls more steeply is the edge of the water, not its way.
    out.flow = select(falls * (1.0 - smoothstep(0.5, 1.0, length(falls))), vec2(0.0), tile.z > 12.0);
    return out;
}

// The land that a look along a mirrored way meets on the picture: its light, and how far it counts.
fn land_in(place: vec3<f32>, way: vec3<f32>, far: f32) -> vec4<f32> {
    // Depth falls evenly there, and a plan is not looked at for its mirrors.
    if scene.view.x > 0.5 {
        return vec4(0.0);
    }
    const STEPS: i32 = 24;
    let forward = normalize(scene.rays[2].xyz);
    let size = vec2<i32>(scene.size.xy);
    // Steps grow with the way: near things are met exactly.
    var before = 0.0;
    var t = max(0.010 * far, 0.15);
    let jitter = fract(52.9829189 * fract(dot(floor(place.xy * 7.0 / max(0.002 * far, 0.01)), vec2(0.06711056, 0.00583715))));
    t *= 0.7 + 0.6 * jitter;
    for (var i = 0; i < STEPS; i++) {
        var at = place + way * t;
        var clip = to_clip(at);
        if clip.w <= scene.eye.z {
            break;
        }
        var uv = vec2(0.5 + 0.5 * clip.x / clip.w, 0.5 - 0.5 * clip.y / clip.w);
        if any(uv <= vec2(0.0)) || any(uv >= vec2(1.0)) {
            break;
        }
        var texel = min(vec2<i32>(uv * scene.size.xy), size - 1);
        var depth = textureLoad(under_depth, texel, 0);
        if depth > clip.z / clip.w {
            // Behind something: it is met if the way came from before it.
            var low = before;
            var high = t;
            for (var k = 0; k < 5; k++) {
                let middle = 0.5 * (low + high);
                at = place + way * middle;
                clip = to_clip(at);
                uv = vec2(0.5 + 0.5 * clip.x / clip.w, 0.5 - 0.5 * clip.y / clip.w);
                texel = clamp(vec2<i32>(uv * scene.size.xy), vec2(0), size - 1);
                depth = textureLoad(under_depth, texel, 0);
                if depth > clip.z / clip.w {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            let there = scene.eye.z / max(depth, 1e-9);
            let thick = abs(clip.w - there);
            let inside = smoothstep(vec2(0.0), vec2(0.06), uv) * smoothstep(vec2(1.0), vec2(0.94), uv);
            if thick < 0.35 * (t - before) + 0.02 * clip.w {
                // What lies behind it in the picture is another thing.
                return vec4(textureLoad(under, texel, 0).rgb, inside.x * inside.y);
            }
        }
        before = t;
        t *= 1.5;
    }
    return vec4(0.0);
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
    let far = distance_to(in.place);
    let way = look_at(in.place);
    let eye = -way;
    // Metres of water along the look, and straight down.
    let below = max(distance_of(depth, way) - far, 0.0);
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
    // A river is drawn out along its way, the faster it runs the rougher, and white where it falls.
    let falls = length(in.flow);
    var white = 0.0;
    if falls > 0.001 {
        let along = in.flow / falls;
        let run = along * (min(9.0 * sqrt(falls), 4.0) * scene.air.w);
        var streaks = 0.0;
        for (var i = -2; i <= 2; i++) {
            let at = (in.place.xy - run + along * (1.3 * f32(i))) * 3.1 * scene.noise[0].z + scene.noise[0].xy * 3.1;
            streaks += 0.2 * textureSampleGrad(noises, repeated, at, dx * 3.1 * scene.noise[0].z, dy * 3.1 * scene.noise[0].z).y;
        }
        white = smoothstep(0.015, 0.10, falls) * smoothstep(0.50, 0.66, streaks);
        let aside = vec2(-along.y, along.x) * (streaks - 0.5) * min(0.1 + 3.0 * falls, 0.6);
        slope += aside;
        rough += 0.02 * smoothstep(0.01, 0.2, falls);
    }
    let normal = normalize(vec3(-slope, 1.0));

    // A look that grazes rough water meets the faces turned toward it.
    let spread = sqrt(rough);
    let cosine = max(dot(normal, eye), 0.0) + 0.35 * spread;
    let mirror_share = 0.02 + 0.98 * pow(1.0 - min(cosine, 1.0), 5.0 * exp(-2.69 * spread)) / (1.0 + 22.7 * pow(spread, 1.5));
    var mirror = reflect(way, normal);
    mirror = normalize(vec3(mirror.xy, abs(mirror.z) + 0.6 * spread));
    var sky = sky_light(mirror) * mix(1.0, shade.sky, 0.7);
    if mirror_share > 0.03 {
        // Waves draw a mirror image out; what is too small to be drawn makes it softer.
        let land = land_in(in.place, normalize(vec3(mirror.xy, mirror.z + 0.02 * spread)), far);
        sky = mix(sky, land.rgb, land.a);
    }

    let lit = scene.sun_light.rgb * shade.sun * near_light(in.place, vec3(0.0, 0.0, 1.0), in.position.xy, 1).light;
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

    // Foam: a seam where the water ends, and breakers before it that run along the shore.
    let wide = max(length(dx), length(dy));
    let drift = textureSampleGrad(noises, repeated, in.place.xy * scene.noise[0].z + scene.noise[0].xy, dx * scene.noise[0].z, dy * scene.noise[0].z);
    let shore = shade.shore;
    let seam = 1.0 - smoothstep(0.05, 0.16 + 0.30 * drift.y, deep);
    let waves = shore / 17.0 + 1.6 * gusts.z + 0.5 * drift.x - scene.air.w * 0.12;
    let phase = fract(waves);
    // Steep toward the land, fraying out behind.
    let crest = smoothstep(0.0, 0.06, phase) * (1.0 - smoothstep(0.06, 0.34, phase));
    let breaking = smoothstep(75.0, 20.0, shore) * smoothstep(4.5, 1.6, deep) * smoothstep(0.46, 0.66, gusts.w * 0.6 + drift.z * 0.4);
    let lace = mix(smoothstep(0.35, 0.65, drift.w), 1.0, smoothstep(0.12, 0.06, phase));
    let fades = 1.0 - smoothstep(3.0, 22.0, wide);
    let foam = clamp(0.85 * seam * smoothstep(20.0, 8.0, shore) + 0.8 * crest * breaking * lace * fades, 0.0, 0.9) * in.sea;
    light = mix(light, vec3(0.72) * down / PI, max(foam, 0.85 * white));

    // No edge where it is a hand deep.
    let shallow = smoothstep(0.0, 0.12, deep);
    return vec4(mix(bottom, through_air(light, in.place, pixel), shallow), 1.0);
}
