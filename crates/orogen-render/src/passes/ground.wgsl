// The ground: tiles of heights, covered by up to eight materials each.

@group(1) @binding(0) var slopes: texture_2d_array<f32>;
@group(1) @binding(1) var weights: texture_2d_array<f32>;
@group(1) @binding(2) var more_weights: texture_2d_array<f32>;
@group(1) @binding(3) var covers: texture_2d_array<f32>;
@group(1) @binding(4) var albedos: texture_2d_array<f32>;
@group(1) @binding(5) var surfaces: texture_2d_array<f32>;
@group(1) @binding(6) var patterns: texture_2d_array<f32>;

const TEXELS: f32 = 129.0;
const NO_MATERIAL: u32 = 255u;

struct Vertex {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
    @location(1) uv: vec2<f32>,
    @location(2) @interpolate(flat) layer: u32,
    @location(3) @interpolate(flat) palette: vec4<u32>,
    @location(4) @interpolate(flat) more: vec4<u32>,
}

// From where on plants are no longer drawn one by one: what their crowns do to the ground instead, from 0 to 1.
fn without_plants(far: f32) -> f32 {
    return smoothstep(0.62, 0.95, far / max(scene.shift.z, 1.0));
}

// How much higher crowns make far ground.
fn canopy_height(index: u32, layer: i32, place: vec3<f32>) -> f32 {
    let texel = vec2<i32>(vec2(index % SIDE, index / SIDE) * 2u);
    let share = smoothstep(0.12, 0.45, textureLoad(covers, texel, layer, 0).a);
    let far = without_plants(length(place));
    if share * far <= 0.0 {
        return 0.0;
    }
    let high = textureLoad(slopes, texel, layer, 0).a;
    let at = scene.noise[0];
    let uneven = textureSampleLevel(noises, repeated, place.xy * at.z * 0.7 + at.xy, 0.0).w;
    return high * share * far * (0.62 + 0.3 * uneven);
}

@vertex
fn vertex(
    @builtin(vertex_index) index: u32,
    // North-west corner relative to the eye, side of a quad, layer.
    @location(0) tile: vec4<f32>,
    @location(1) palette: vec4<u32>,
    @location(2) more: vec4<u32>,
    // How far it has changed over to the next coarser tile; the layer of that, and the place in it.
    @location(3) morph: vec4<f32>,
) -> Vertex {
    let found = tile_vertex(index, tile, morph.x);
    let crowns = canopy_height(index, i32(tile.w), found.place);
    var out: Vertex;
    out.place = found.place + vec3(0.0, 0.0, crowns);
    out.position = to_clip(out.place);
    out.uv = found.uv;
    out.layer = u32(tile.w);
    out.palette = palette;
    out.more = more;
    return out;
}

// Where on the ground a pixel is.
struct Point {
    place: vec3<f32>,
    dx: vec3<f32>,
    dy: vec3<f32>,
    // Shares of the three ways to look at a texture: along x, y and z; those that count, and how many they are.
    planes: vec3<f32>,
    order: vec3<u32>,
    ways: u32,
    // Metres of ground across the pixel.
    wide: f32,
}

struct Ground {
    color: vec3<f32>,
    height: f32,
    // By how much the normal is moved.
    tilt: vec3<f32>,
    roughness: f32,
    open: f32,
}

// Processors that draw skip no branch but end loops: what may be left out is a turn of a loop wherever it can be.

// The ways to look at textures, the one with the largest share first.
fn ways_of(planes: vec3<f32>) -> vec4<u32> {
    var first = 2u;
    if planes.x > planes.z && planes.x >= planes.y {
        first = 0u;
    } else if planes.y > planes.z {
        first = 1u;
    }
    var second = (first + 1u) % 3u;
    var third = (first + 2u) % 3u;
    if planes[third] > planes[second] {
        let other = second;
        second = third;
        third = other;
    }
    let ways = 1u + select(0u, 1u, planes[second] > 0.04) + select(0u, 1u, planes[third] > 0.04);
    return vec4(first, second, third, ways);
}

// A place as one way to look has it, and back.
fn onto(way: u32, place: vec3<f32>) -> vec2<f32> {
    return select(vec2(select(place.x, place.y, way == 0u), -place.z), vec2(place.x, -place.y), way == 2u);
}

fn from_way(way: u32, tilt: vec2<f32>) -> vec3<f32> {
    return select(vec3(select(tilt.x, 0.0, way == 0u), select(0.0, tilt.x, way == 0u), tilt.y), vec3(tilt, 0.0), way == 2u);
}

// Beds of rock, seen where it is steep: bands by height, a little uneven. `uneven` is a noise of the place.
fn beds(point: Point, uneven: f32) -> vec4<f32> {
    let z = point.place.z + scene.eye.x + dot(point.place.xy, point.place.xy) * scene.eye.y + 5.0 * uneven;
    let at = vec2(0.371, z / 170.0);
    let dx = vec2(0.0, point.dx.z / 170.0);
    let dy = vec2(0.0, point.dy.z / 170.0);
    let here = textureSampleGrad(noises, repeated, at, dx, dy) * 2.0 - 1.0;
    let above = textureSampleGrad(noises, repeated, at + vec2(0.0, 1.5 / 170.0), dx, dy) * 2.0 - 1.0;
    let steep = 1.0 - point.planes.z;
    // Colours, and how far harder beds stand out.
    return vec4(vec3(1.0) + steep * (here.x * vec3(0.34, 0.36, 0.38) + here.y * vec3(0.10, 0.0, -0.12)), steep * (here.z - above.z));
}

fn material(number: u32, weight: f32, point: Point, bed: vec4<f32>) -> Ground {
    let where_ = scene.materials[4u * number];
    let mean = scene.materials[4u * number + 1u];
    let turned = scene.materials[4u * number + 2u];
    let other = scene.materials[4u * number + 3u];
    let layer = i32(other.z);
    let fine = 1.0 / where_.w;
    // Where a pixel holds the whole texture, its mean is what is seen.
    let near = 1.0 - smoothstep(0.35, 0.9, point.wide / fine);
    let at = where_.xyz + point.place * where_.w;
    // What is left of the texture from afar: itself once more, larger and larger, so that rock is rock from any distance. Each
    // step is four times as large; the places of the eye repeat after four steps.
    let periods = point.wide / fine;
    let level = clamp(log2(periods * 150.0) * 0.5, 0.0, 3.999);
    let step = floor(level);
    let far = select(0.0, fract(other.w), periods > 0.008 && weight > 0.12);
    let texels = f32(textureDimensions(albedos).x);
    var sum = Ground(vec3(0.0), 0.0, vec3(0.0), 0.0, 0.0);
    var afar = vec3(0.0);
    var afar_tilt = vec3(0.0);
    for (var k = 0u; k < point.ways; k++) {
        let way = point.order[k];
        let share = point.planes[way];
        let uv = onto(way, at);
        let dx = onto(way, point.dx) * where_.w;
        let dy = onto(way, point.dy) * where_.w;
        let albedo = textureSampleGrad(albedos, repeated, uv, layer, dx, dy);
        let surface = textureSampleGrad(surfaces, repeated, uv, layer, dx, dy);
        var color = albedo.rgb;
        if turned.w < 0.0 && near > 0.0 {
            // The texture once more, turned and larger.
            let turn = mat2x2<f32>(turned.y, turned.z, -turned.z, turned.y) * turned.x;
            color = 0.5 * (color + textureSampleGrad(albedos, repeated, turn * uv + other.xy, layer, turn * dx, turn * dy).rgb);
        }
        sum.color += share * color;
        sum.height += share * albedo.a;
        sum.tilt += share * from_way(way, surface.xy * 2.0 - 1.0);
        sum.roughness += share * surface.z;
        sum.open += share * surface.w;
        // Two steps; the lesser counts little where it is seen from far away.
        for (var i = 0u; i < 2u; i++) {
            let by = exp2(-2.0 * (step + f32(i)));
            var part = select(1.0 - fract(level), fract(level), i == 1u) * pow(0.86, step + f32(i)) * share * far;
            if step + f32(i) < 0.5 {
                part = 0.0;
            }
            // By level, which is much cheaper than by slopes of the place: only the mean across a pixel counts.
            let lod = max(log2(periods * by * texels) - 0.5, 0.0);
            afar += part * (textureSampleLevel(albedos, repeated, uv * by, layer, lod).rgb / mean.rgb - 1.0);
            let tilt = textureSampleLevel(surfaces, repeated, uv * by, layer, lod).xy;
            afar_tilt += part * from_way(way, tilt * 2.0 - 1.0);
        }
    }
    var out: Ground;
    out.color = mix(mean.rgb, sum.color, near);
    out.height = mix(0.5, sum.height, near);
    out.tilt = sum.tilt * near;
    out.roughness = mix(mean.a, sum.roughness, near);
    out.open = mix(1.0, sum.open, near);
    if turned.w >= 0.0 {
        // A pattern much larger than the texture; on walls it is seen from the side.
        let level_at = vec2(point.place.x, -point.place.y) * turned.x + other.xy;
        let dx = vec2(point.dx.x, -point.dx.y) * turned.x;
        let dy = vec2(point.dy.x, -point.dy.y) * turned.x;
        let factor = textureSampleGrad(patterns, repeated, level_at, i32(turned.w), dx, dy).rgb * (255.0 / 128.0);
        out.color *= mix(vec3(1.0), factor, point.planes.z);
    }
    out.color *= max(vec3(1.0) + 1.3 * afar, vec3(0.2));
    out.tilt += 1.2 * afar_tilt;
    let bedded = select(0.0, floor(other.w) / 8.0, point.planes.z < 0.9 && weight > 0.12);
    out.color *= mix(vec3(1.0), max(bed.rgb, vec3(0.25)), bedded);
    out.tilt.z -= bedded * bed.w * 1.2;
    return out;
}

// The noise at one of its sizes, in four channels of mean 0.
fn noise(size: u32, place: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>) -> vec4<f32> {
    let at = scene.noise[size];
    return textureSampleGrad(noises, repeated, place * at.z + at.xy, dx * at.z, dy * at.z) * 2.0 - 1.0;
}

@fragment
fn fragment(in: Vertex) -> @location(0) vec4<f32> {
    let dx = dpdx(in.place);
    let dy = dpdy(in.place);
    let layer = i32(in.layer);
    // Samples lie on the edges of the tile.
    let uv = (in.uv * (TEXELS - 1.0) + 0.5) / TEXELS;
    let slope = textureSampleLevel(slopes, clamped, uv, layer, 0.0);
    let cover = textureSampleLevel(covers, clamped, uv, layer, 0.0);
    let first = textureSampleLevel(weights, clamped, uv, layer, 0.0);
    let second = textureSampleLevel(more_weights, clamped, uv, layer, 0.0);

    let smooth_normal = normalize(vec3(-slope.xy, 1.0));
    let far = length(in.place);
    let eye = -look_at(in.place);
    let pixel = in.position.xy - scene.shift.xy;

    // cos 55° and cos 35°.
    var planes = smoothstep(vec3(0.57357644), vec3(0.81915204), abs(smooth_normal));
    planes /= planes.x + planes.y + planes.z;
    let wide = max(length(dx), length(dy));
    // A little sharper than the longer side of the pixel asks for: samples are averaged afterwards.
    let ways = ways_of(planes);
    let point = Point(in.place, dx * 0.7, dy * 0.7, planes, ways.xyz, ways.w, min(length(dx), length(dy)) * 0.6 + wide * 0.2);

    let broad = noise(2u, in.place.xy, dx.xy, dy.xy);
    let middle = noise(1u, in.place.xy, dx.xy, dy.xy);
    let small = noise(0u, in.place.xy, dx.xy, dy.xy);

    // Layer upon layer, by height and weight.
    var ground = Ground(vec3(0.2), 0.0, vec3(0.0), 0.9, 1.0);
    var height = -1.0;
    let ragged = 0.5 * middle.x + 0.5 * small.y;
    let bed = beds(point, middle.x + 0.4 * small.x);
    // What lies so far below the strongest that it never comes through is left out.
    let strong = max(first, second);
    let least = max(max(max(strong.x, strong.y), max(strong.z, strong.w)) - 0.7, 0.03);
    var found: array<vec2<f32>, 8>;
    var count = 0u;
    for (var i = 0u; i < 8u; i++) {
        let number = select(in.more[i & 3u], in.palette[i & 3u], i < 4u);
        let weight = select(second[i & 3u], first[i & 3u], i < 4u);
        if number != NO_MATERIAL && weight >= least {
            found[count] = vec2(f32(number), weight);
            count += 1u;
        }
    }
    for (var i = 0u; i < count; i++) {
        let number = u32(found[i].x);
        let weight = found[i].y;
        // Edges between materials are ragged, whatever the spacing of the weights.
        let one = material(number, weight, point, bed);
        if height < 0.0 {
            ground = one;
            height = one.height + weight;
        } else {
            let own = one.height + weight + ragged * 0.25 * (1.0 - weight) * select(-1.0, 1.0, (number & 1u) == 0u);
            var share = smoothstep(height - 0.4, height + 0.4, own);
            share *= smoothstep(0.0, 0.12, weight);
            ground.color = mix(ground.color, one.color, share);
            ground.tilt = mix(ground.tilt, one.tilt, share);
            ground.roughness = mix(ground.roughness, one.roughness, share);
            ground.open = mix(ground.open, one.open, share);
            height = mix(height, own, share);
        }
    }

    // No two places are alike: broad differences of brightness, and of dry and lush.
    let tone = 1.0 + 0.10 * broad.x + 0.10 * middle.y + 0.07 * small.z;
    let dry = 0.5 * broad.y + 0.5 * middle.z;
    var color = ground.color * tone * (vec3(1.0) + dry * vec3(0.07, 0.02, -0.06));
    var normal = normalize(smooth_normal + ground.tilt * 0.9);
    var open = ground.open;
    var roughness = ground.roughness;

    var under_sun = 1.0;
    var under_sky = 1.0;
    // Crowns of trees where there are no plants: their colour, and light and shade between them.
    if cover.a > 0.01 {
        // Two noises of unlike size, turned apart: their sum repeats nowhere near, and along no axis.
        let first_turn = mat2x2<f32>(0.66, 0.46, -0.46, 0.66);
        let second_turn = mat2x2<f32>(-0.26, 0.49, -0.49, -0.26);
        let at_first = first_turn * in.place.xy;
        let at_second = second_turn * in.place.xy;
        let one = noise(0u, at_first, first_turn * dx.xy, first_turn * dy.xy).w;
        let other = noise(0u, at_second, second_turn * dx.xy, second_turn * dy.xy).w;
        let crowns = 0.55 * one + 0.75 * other;
        let clumps = clamp(0.5 + 0.5 * (crowns + 0.5 * middle.w), 0.0, 1.0);
        let closed = smoothstep(0.0, 1.0, cover.a * 1.7 + (clumps - 0.5) * 0.9 - 0.2);
        // Where plants are drawn the ground shows between them, in their shade.
        let without = without_plants(far);
        let share = closed * without;
        under_sun = mix(mix(0.15, 1.0, exp(-1.5 * cover.a / max(scene.sun.z, 0.3))), 1.0, without);
        under_sky = mix(1.0 - 0.4 * cover.a, 1.0, without);
        // Crowns shade each other: a forest is darker than its leaves.
        let leaves = pow(cover.rgb, vec3(2.2)) * (0.34 + 0.34 * clumps) * tone * (vec3(1.0) + 0.12 * vec3(middle.z, 0.3 * middle.z, -middle.z));
        color = mix(color, leaves, share);
        let e = 1.6;
        let ex = noise(0u, at_first + vec2(e, 0.0), first_turn * dx.xy, first_turn * dy.xy).w - one;
        let ey = noise(0u, at_first + vec2(0.0, e), first_turn * dx.xy, first_turn * dy.xy).w - one;
        let fx = noise(0u, at_second + vec2(e, 0.0), second_turn * dx.xy, second_turn * dy.xy).w - other;
        let fy = noise(0u, at_second + vec2(0.0, e), second_turn * dx.xy, second_turn * dy.xy).w - other;
        // Back to the axes of the land.
        let rise = 0.9 * (vec2(ex, ey) * first_turn) + 1.3 * (vec2(fx, fy) * second_turn);
        let bumps = vec3(-rise, 0.0) * 1.7 * share;
        normal = normalize(mix(normal, smooth_normal, share) + bumps);
        open *= mix(1.0, 0.55 + 0.45 * clumps, share);
        roughness = mix(roughness, 0.95, share);
    }

    let painted = overlay(in.place, slope.xy, in.uv * f32(QUADS), dx, dy);
    color = color * (1.0 - painted.a) + painted.rgb;
    roughness = mix(roughness, 0.9, painted.a);

    // A river narrower than the samples.
    let wet = slope.z * (1.0 - painted.a);
    let shade = shade_at(in.place.xy);
    // Ground at the shore is damp, and dark.
    let above = in.place.z + scene.eye.x + dot(in.place.xy, in.place.xy) * scene.eye.y;
    let damp = shade.sea * (1.0 - smoothstep(0.1, 1.6, above + 0.4 * middle.x));
    color *= mix(1.0, 0.55, damp);
    roughness = mix(roughness, 0.45, damp * 0.6);

    let reflected = 0.04;
    let near = near_light(in.place, smooth_normal, in.position.xy, 4);
    // The crowns above throw their shadows where squares know them; beyond, their mean is all there is.
    let lit = scene.sun_light.rgb * shade.sun * near.light * mix(1.0, under_sun, near.open);
    var light = color * lit * scattered(normal, eye, scene.sun.xyz, roughness, reflected) * mix(1.0, open, 0.35);
    light += lit * mirrored(normal, eye, scene.sun.xyz, roughness, reflected) * open;
    // Light of the sky, and of the ground around where it hides the sky.
    open *= under_sky;
    let seen = shade.sky * open;
    light += color / PI * (sky_on(normal) * seen + scene.bounce.rgb * (1.0 - shade.sky * (0.5 + 0.5 * normal.z)) * open) * (1.0 - reflected);
    if wet > 0.004 {
        let mirror = reflect(-eye, normalize(mix(smooth_normal, vec3(0.0, 0.0, 1.0), 0.8)));
        let share = fresnel(0.02, max(eye.z, 0.05));
        let body = vec3(0.012, 0.030, 0.032) / PI * (lit * scene.sun.z + sky_on(vec3(0.0, 0.0, 1.0)) * shade.sky);
        let river = mix(body, sky_light(vec3(mirror.xy, abs(mirror.z) + 0.02)) * shade.sky, share);
        light = mix(light, river, clamp(wet, 0.0, 1.0));
    }
    return vec4(through_air(light, in.place, pixel), 1.0);
}
