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
    // Shift of this sample, in pixels; up to where plants are drawn, 0 without any; the last is unused.
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
    // By material, four each: place of the eye in the texture and 1 / its side; mean colour and roughness; the map against
    // repetition (1 / side, cosine, sine, its layer or -1); place of the eye in that, layer of the texture, fineness.
    materials: array<vec4<f32>, 96>,
}

@group(0) @binding(0) var<uniform> scene: Scene;
@group(0) @binding(1) var clamped: sampler;
@group(0) @binding(2) var repeated: sampler;
@group(0) @binding(3) var sky_table: texture_2d<f32>;
@group(0) @binding(4) var air_block: texture_3d<f32>;
@group(0) @binding(5) var shades: texture_2d_array<f32>;
@group(0) @binding(6) var noises: texture_2d<f32>;
@group(0) @binding(7) var wave_slopes: texture_2d<f32>;

const PI: f32 = 3.14159265;

// Land sinks below the plane through the eye's foot.
fn curved(place: vec3<f32>) -> vec3<f32> {
    return vec3(place.xy, place.z - dot(place.xy, place.xy) * scene.eye.y);
}

fn to_clip(place: vec3<f32>) -> vec4<f32> {
    return scene.clip * vec4(place, 1.0);
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
    let slices = scene.counts.y;
    let slice = sqrt(length(place) / scene.counts.z) * slices;
    // Slices end where their number says; the first begins at the eye.
    let w = (slice - 0.5) / slices;
    let air = textureSampleLevel(air_block, clamped, vec3(pixel * scene.size.zw, w), 0.0);
    let near = clamp(slice, 0.0, 1.0);
    return light * mix(1.0, air.a, near) + air.rgb * near;
}

struct Shade {
    // The share of the sun's disk, of the sky, and whether there is sea.
    sun: f32,
    sky: f32,
    sea: f32,
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
    return Shade(sun, found.g, found.b);
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
    return Shade(mix(outer.sun, own.sun, inside), mix(outer.sky, own.sky, inside), mix(outer.sea, own.sea, inside));
}

// The light of the whole sky on a surface.
fn sky_on(normal: vec3<f32>) -> vec3<f32> {
    let light = scene.sky[0].rgb + scene.sky[1].rgb * normal.x + scene.sky[2].rgb * normal.y + scene.sky[3].rgb * normal.z;
    return max(light, vec3(0.0));
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
    let below = n_h * n_h * (g2 - 1.0) + 1.0;
    let facets = g2 / (PI * below * below);
    let seen = 0.5 / (n_l * sqrt(n_e * n_e * (1.0 - g2) + g2) + n_e * sqrt(n_l * n_l * (1.0 - g2) + g2));
    return facets * seen * fresnel(reflected, dot(light, between)) * n_l;
}

// Light scattered in the surface, times the cosine of the light: what is not mirrored.
fn scattered(normal: vec3<f32>, eye: vec3<f32>, light: vec3<f32>, reflected: f32) -> f32 {
    let between = normalize(eye + light);
    return max(dot(normal, light), 0.0) * (1.0 - fresnel(reflected, dot(light, between))) / PI;
}
