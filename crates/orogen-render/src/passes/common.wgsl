// What all passes share: the eye, the sun, the air. Places are relative to the eye, in metres: x east, y north, z up.

struct Scene {
    clip: mat4x4<f32>,
    // Right and up to the edges of the picture, and forward.
    rays: array<vec4<f32>, 3>,
    // Height of the eye, 1 / (2 · radius of the Earth), nearest depth, exposure.
    eye: vec4<f32>,
    // Direction to the sun, tangent of its altitude.
    sun: vec4<f32>,
    // The sun's light on the ground; half its width as a tangent.
    sun_light: vec4<f32>,
    // Light of the sky on surfaces: constant, and by x, y, z of the normal.
    sky: array<vec4<f32>, 4>,
    // Light that level ground sends back.
    bounce: vec4<f32>,
    // Width and height of the picture, and 1 / those.
    size: vec4<f32>,
    // Shift of this sample, in pixels; up to where plants are drawn, 0 without any; shift of its thresholds.
    shift: vec4<f32>,
    // Squares of shade; slices of air; their reach in metres; 1 / side of a square in samples.
    counts: vec4<f32>,
    // West and north edges of the squares of shade, 1 / their side.
    squares: array<vec4<f32>, 6>,
    // Place of the eye in the noise at three sizes, 1 / their sides.
    noise: array<vec4<f32>, 3>,
    // The same for waves.
    waves: array<vec4<f32>, 2>,
    // Cosines and sines of the sun's and the wind's direction.
    turns: vec4<f32>,
    // Transmittance of red, green and blue as powers of what the block of air says; seconds since the beginning.
    air: vec4<f32>,
    // How dark the night is, from 0 by day to 1; share of the sky under clouds; unused; 1 where surfaces mirror
    // light as Blinn has it.
    mood: vec4<f32>,
    // Fog in valleys: its density (1/m), 1 / its height above their floors, how far it is looked for in metres; unused.
    fog: vec4<f32>,
    // Place of the eye in the noise of the clouds, unused.
    clouds: vec4<f32>,
    // What the lamp sees of the squares near the eye, from places relative to the eye.
    cascades: array<mat4x4<f32>, 3>,
    // The width of a sample of each; 1 where there are such squares.
    near: vec4<f32>,
    // By material, four each: place of the eye in the texture and 1 / its side; mean colour and roughness; the map against
    // repetition (1 / side, cosine, sine, its layer or -1); place of the eye in that, layer of the texture, fineness.
    materials: array<vec4<f32>, 96>,
    // Whether looks are parallel, how far they reach; whether the sky is left out; unused.
    view: vec4<f32>,
    overlay: Overlay,
}

@group(0) @binding(0) var<uniform> scene: Scene;
@group(0) @binding(1) var clamped: sampler;
@group(0) @binding(2) var repeated: sampler;
@group(0) @binding(3) var sky_table: texture_2d<f32>;
@group(0) @binding(4) var air_block: texture_3d<f32>;
@group(0) @binding(5) var shades: texture_2d_array<f32>;
@group(0) @binding(6) var noises: texture_2d<f32>;
@group(0) @binding(7) var wave_slopes: texture_2d<f32>;
@group(0) @binding(8) var fogs: texture_2d<f32>;
@group(0) @binding(9) var shadows: texture_depth_2d_array;
@group(0) @binding(10) var compared: sampler_comparison;
@group(0) @binding(11) var overlay_maps: texture_2d_array<f32>;

const PI: f32 = 3.14159265;

// Land sinks below the plane through the eye's foot.
fn curved(place: vec3<f32>) -> vec3<f32> {
    return vec3(place.xy, place.z - dot(place.xy, place.xy) * scene.eye.y);
}

fn to_clip(place: vec3<f32>) -> vec4<f32> {
    return scene.clip * vec4(place, 1.0);
}

// The direction of the look at a place.
fn look_at(place: vec3<f32>) -> vec3<f32> {
    return select(normalize(place), scene.rays[2].xyz, scene.view.x > 0.5);
}

// How far away a place is, along the look at it.
fn distance_to(place: vec3<f32>) -> f32 {
    return select(length(place), dot(place, scene.rays[2].xyz), scene.view.x > 0.5);
}

// How far away a depth is, along a look.
fn distance_of(depth: f32, way: vec3<f32>) -> f32 {
    if scene.view.x > 0.5 {
        return (0.5 - depth) * 2.0 * scene.view.y;
    }
    return scene.eye.z / max(depth, 1e-9) / dot(way, normalize(scene.rays[2].xyz));
}

// The light of the sky from a direction.
fn sky_light(way: vec3<f32>) -> vec3<f32> {
    // From the direction of the sun, once around.
    let x = dot(way.xy, scene.turns.xy);
    let y = way.y * scene.turns.x - way.x * scene.turns.y;
    let u = atan2(y, x) / (2.0 * PI);
    let up = asin(clamp(way.z, -1.0, 1.0)) / (0.5 * PI);
    let v = 0.5 + 0.5 * sign(up) * sqrt(abs(up));
    let columns = f32(textureDimensions(sky_table).x);
    return textureSampleLevel(sky_table, repeated, vec2(u + 0.5 / columns, v), 0.0).rgb;
}

// What the air before a place leaves of its light, and adds.
fn through_air(light: vec3<f32>, place: vec3<f32>, pixel: vec2<f32>) -> vec3<f32> {
    // A plan is drawn without air.
    if scene.view.x > 0.5 {
        return light;
    }
    let slices = scene.counts.y;
    let slice = sqrt(length(place) / scene.counts.z) * slices;
    // Slices end where their number says; the first begins at the eye.
    let w = (slice - 0.5) / slices;
    let air = textureSampleLevel(air_block, clamped, vec3(pixel * scene.size.zw, w), 0.0);
    let near = clamp(slice, 0.0, 1.0);
    let kept = pow(vec3(max(mix(1.0, air.a, near), 1e-4)), scene.air.rgb);
    return through_fog(light, place) * kept + air.rgb * near;
}

struct Shade {
    // The share of the sun's disk, of the sky, and whether there is sea; metres to the shore.
    sun: f32,
    sky: f32,
    sea: f32,
    shore: f32,
}

fn shade_in(square: u32, place: vec2<f32>) -> Shade {
    let box = scene.squares[square];
    let at = vec2(place.x - box.x, box.y - place.y) * box.z;
    let side = scene.counts.w;
    // Samples lie on the edges.
    let uv = at * (1.0 - side) + 0.5 * side;
    let found = textureSampleLevel(shades, clamped, uv, i32(square), 0.0);
    // The sun has a width, and the horizon is as exact as its samples.
    let blur = scene.sun_light.w + 0.015 * (1.0 + scene.sun.w * scene.sun.w);
    let sun = smoothstep(-blur, blur, scene.sun.w - found.r);
    return Shade(sun, found.g, found.b, found.a);
}

fn shade_at(place: vec2<f32>) -> Shade {
    let last = u32(scene.counts.x) - 1u;
    var square = 0u;
    var inside = 1.0;
    for (var i = last; i > 0u; i--) {
        let box = scene.squares[i];
        let at = vec2(place.x - box.x, box.y - place.y) * box.z;
        let edge = min(min(at.x, at.y), min(1.0 - at.x, 1.0 - at.y));
        if edge > 0.0 {
            square = i;
            inside = smoothstep(0.0, 0.12, edge);
            break;
        }
    }
    let own = shade_in(square, place);
    if inside >= 1.0 || square == 0u {
        return own;
    }
    let outer = shade_in(square - 1u, place);
    return Shade(mix(outer.sun, own.sun, inside), mix(outer.sky, own.sky, inside), mix(outer.sea, own.sea, inside), mix(outer.shore, own.shore, inside));
}

// The light of the whole sky on a surface.
fn sky_on(normal: vec3<f32>) -> vec3<f32> {
    let light = scene.sky[0].rgb + scene.sky[1].rgb * normal.x + scene.sky[2].rgb * normal.y + scene.sky[3].rgb * normal.z;
    return max(light, vec3(0.0));
}

struct Near {
    // The share of the lamp's light that what is near leaves: land and what stands on it, as the lamp sees them.
    light: f32,
    // How far nothing is known of that.
    open: f32,
}

// Evenly spread thresholds from 0 to 1, other ones for each sample of a pixel.
fn threshold(pixel: vec2<f32>) -> f32 {
    return fract(52.9829189 * fract(dot(floor(pixel), vec2(0.06711056, 0.00583715))) + scene.shift.w);
}

// What near squares say of a place, by one look (a mean of four samples) or by four, which are soft for two samples around.
fn near_light(place: vec3<f32>, normal: vec3<f32>, pixel: vec2<f32>, looks: i32) -> Near {
    if scene.near.w <= 0.0 {
        return Near(1.0, 1.0);
    }
    let drawn = threshold(pixel);
    for (var i = 0u; i < 3u; i++) {
        // A little off the surface, so that it does not shade itself: more where a sample of the shadow is wide.
        let texel = scene.near[i];
        let off = place + (normal * 1.6 + scene.sun.xyz) * texel;
        let seen = scene.cascades[i] * vec4(off, 1.0);
        let edge = max(abs(seen.x), abs(seen.y));
        if edge >= 0.98 || seen.z <= 0.0 || seen.z >= 1.0 {
            continue;
        }
        // The next square takes over before this one ends: each pixel is drawn from one of them.
        let begin = select(0.80, 0.55, i == 2u);
        let share = 1.0 - smoothstep(begin, 0.98, edge);
        if i < 2u && share < 1.0 && drawn >= share {
            continue;
        }
        let uv = vec2(0.5 + 0.5 * seen.x, 0.5 - 0.5 * seen.y);
        let step = 1.0 / f32(textureDimensions(shadows).x);
        var light = 0.0;
        if looks == 1 {
            let aside = (vec2(drawn, fract(drawn * 7.7)) - 0.5) * 2.0 * step;
            light = textureSampleCompareLevel(shadows, compared, uv + aside, i32(i), seen.z);
        } else {
            // Moved from sample to sample.
            let at = uv + scene.shift.xy * 0.8 * step;
            for (var k = 0; k < 4; k++) {
                let turn = vec2(f32(k & 1), f32(k >> 1)) * 2.0 - 1.0;
                let aside = (turn + vec2(turn.y, -turn.x) * 0.4) * 0.95 * step;
                light += 0.25 * textureSampleCompareLevel(shadows, compared, at + aside, i32(i), seen.z);
            }
        }
        let open = select(0.0, 1.0 - share, i == 2u);
        return Near(mix(light, 1.0, open), open);
    }
    return Near(1.0, 1.0);
}

// How high above the floor of its valley a place is, as a share of the height of fog, and how thick fog is over that floor.
fn fog_at(place: vec3<f32>) -> vec2<f32> {
    let box = scene.squares[0];
    let found = textureSampleLevel(fogs, clamped, vec2(place.x - box.x, box.y - place.y) * box.z, 0.0).rg;
    let patches = textureSampleLevel(noises, repeated, place.xy * scene.noise[2].z + scene.noise[2].xy, 0.0);
    let above = place.z + scene.eye.x + dot(place.xy, place.xy) * scene.eye.y - found.r;
    // Its top is higher here and lower there.
    return vec2(above * scene.fog.y - 0.6 * (patches.x - 0.5), found.g * (0.4 + 1.2 * patches.y));
}

// Fog below a height, where it is whole up to a half and thins out to the top.
fn fog_below(above: f32) -> f32 {
    let ramp = clamp(above, 0.5, 1.0);
    return min(above, 0.5) + (2.0 * ramp - ramp * ramp - 0.75);
}

// What fog before a place leaves of its light, and adds.
fn through_fog(light: vec3<f32>, place: vec3<f32>) -> vec3<f32> {
    if scene.fog.x <= 0.0 {
        return light;
    }
    const STEPS: i32 = 12;
    let whole = length(place);
    let far = min(whole, scene.fog.z);
    let way = place / max(whole, 1e-3);
    var depth = 0.0;
    var before = 0.0;
    var from_ = fog_at(vec3(0.0));
    for (var i = 0; i < STEPS; i++) {
        let share = (f32(i) + 1.0) / f32(STEPS);
        let end = far * share * share;
        let to = fog_at(way * end);
        // The mean along the step, as if heights ran straight between its ends.
        let rise = to.x - from_.x;
        let mean = (fog_below(to.x) - fog_below(from_.x)) / select(rise, 1.0, abs(rise) < 1e-3);
        let level = 1.0 - 2.0 * clamp(to.x - 0.5, 0.0, 0.5);
        depth += (end - before) * scene.fog.x * 0.5 * (from_.y + to.y) * select(mean, level, abs(rise) < 1e-3);
        before = end;
        from_ = to;
    }
    let kept = exp(-depth);
    let turn = dot(way, scene.sun.xyz);
    let forward = 0.07 + 0.30 * pow(max(0.5 + 0.5 * turn, 0.0), 8.0);
    let own = sky_on(vec3(0.0, 0.0, 1.0)) * 0.30 + scene.sun_light.rgb * forward * smoothstep(-0.02, 0.12, scene.sun.z);
    return light * kept + own * (1.0 - kept);
}

fn fresnel(reflected: f32, cosine: f32) -> f32 {
    let x = clamp(1.0 - cosine, 0.0, 1.0);
    let square = x * x;
    return reflected + (1.0 - reflected) * square * square * x;
}

// Light mirrored by facets (Trowbridge and Reitz, with the masking of Smith), times the cosine of the light.
fn mirrored(normal: vec3<f32>, eye: vec3<f32>, light: vec3<f32>, roughness: f32, reflected: f32) -> f32 {
    let between = normalize(eye + light);
    let n_l = dot(normal, light);
    let n_e = max(dot(normal, eye), 1e-3);
    if n_l <= 0.0 {
        return 0.0;
    }
    let g = max(roughness * roughness, 2e-3);
    let g2 = g * g;
    let n_h = max(dot(normal, between), 0.0);
    if scene.mood.w > 0.5 {
        // Blinn's lobe, as wide.
        let sharp = 2.0 / g2 - 2.0;
        return (sharp + 2.0) / (8.0 * PI) * pow(n_h, max(sharp, 0.0)) * fresnel(reflected, dot(light, between)) * n_l;
    }
    let below = n_h * n_h * (g2 - 1.0) + 1.0;
    let facets = g2 / (PI * below * below);
    let seen = 0.5 / (n_l * sqrt(n_e * n_e * (1.0 - g2) + g2) + n_e * sqrt(n_l * n_l * (1.0 - g2) + g2));
    return facets * seen * fresnel(reflected, dot(light, between)) * n_l;
}

// Light scattered in the surface, times the cosine of the light: what is not mirrored. Where the look grazes a smooth surface more
// is mirrored than Fresnel's share by the half vector says: without that a white surface would send back more than it gets.
fn scattered(normal: vec3<f32>, eye: vec3<f32>, light: vec3<f32>, roughness: f32, reflected: f32) -> f32 {
    let between = normalize(eye + light);
    let grazing = clamp(1.0 - dot(normal, eye), 0.0, 1.0);
    let square = grazing * grazing;
    let lost = reflected + (max(1.0 - roughness, reflected) - reflected) * square * square * grazing;
    return max(dot(normal, light), 0.0) * (1.0 - max(fresnel(reflected, dot(light, between)), lost)) / PI;
}
