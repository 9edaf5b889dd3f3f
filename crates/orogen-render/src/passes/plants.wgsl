// What meshes and impostors of plants share: where a plant stands, its light, and how it fades.
// Plants have axes of their own: z up their stem, the foot at the origin, metres.

struct Kind {
    // The middle of the impostor's frames; half their side.
    middle: vec4<f32>,
    // Radius, half the height and half the depth around the middle; samples along a frame.
    reach: vec4<f32>,
    // Height; how strongly the wind bends it; the rest is unused.
    body: vec4<f32>,
}

struct Now {
    // Seconds, how strong the wind is, pixels of a metre at a distance of one; the last is unused.
    clock: vec4<f32>,
    // Where the wind blows to; the rest is unused.
    wind: vec4<f32>,
}

@group(1) @binding(0) var<uniform> kind: Kind;
@group(1) @binding(1) var leaves: texture_2d<f32>;
@group(1) @binding(2) var leaves_more: texture_2d<f32>;
@group(1) @binding(3) var bark: texture_2d<f32>;
@group(1) @binding(4) var far_color: texture_2d<f32>;
@group(1) @binding(5) var far_normal: texture_2d<f32>;
@group(1) @binding(6) var far_depth: texture_2d<f32>;
@group(2) @binding(0) var<uniform> now: Now;

// The axes of a plant in the land, by columns: turned, then leant.
fn axes(turn: vec4<f32>) -> mat3x3<f32> {
    let u = turn.zw;
    let z = sqrt(max(1.0 - dot(u, u), 0.0));
    let k = 1.0 / (1.0 + z);
    let lean = mat3x3<f32>(
        vec3(1.0 - k * u.x * u.x, -k * u.x * u.y, -u.x),
        vec3(-k * u.x * u.y, 1.0 - k * u.y * u.y, -u.y),
        vec3(u.x, u.y, z),
    );
    let c = turn.x;
    let s = turn.y;
    return lean * mat3x3<f32>(vec3(c, s, 0.0), vec3(-s, c, 0.0), vec3(0.0, 0.0, 1.0));
}

// What a plant's own shade leaves of the sun on it in the mean, and what comes through leaves and from leaf to leaf in full shade.
const OWN_SHADE: f32 = 0.72;
const THROUGH: f32 = 0.14;

// What the air and the fog before a place add to its light, and the share of it that they leave.
fn air_at(place: vec3<f32>, clip: vec4<f32>) -> vec4<f32> {
    let at = clip.xy / max(clip.w, 1e-3);
    let pixel = vec2(0.5 + 0.5 * at.x, 0.5 - 0.5 * at.y) * scene.size.xy;
    let added = through_air(vec3(0.0), place, pixel);
    let kept = through_air(vec3(1.0), place, pixel) - added;
    return vec4(added, dot(kept, vec3(0.33333)));
}

// What others around leave of sun and sky at a height within the crowns: 0 at the ground, 1 at their top. The sun's share is a
// mean, for where no near square knows better.
fn among(above: f32, cover: f32, near: Near) -> vec2<f32> {
    let below = clamp(1.0 - above, 0.0, 1.0);
    let sun = mix(THROUGH, 1.0, exp(-1.5 * cover * below / max(scene.sun.z, 0.3))) * OWN_SHADE;
    return vec2(mix(THROUGH, 1.0, near.light) * mix(1.0, sun, near.open), 1.0 - 0.42 * cover * below);
}

// Old and ill leaves are paler; no two plants have quite the same colour.
fn tinted(color: vec3<f32>, state: vec4<f32>) -> vec3<f32> {
    let hue = state.y - 0.5;
    let own = color * (1.0 + 0.30 * (fract(state.y * 7.31) - 0.5)) * (vec3(1.0) + hue * vec3(0.30, 0.05, -0.16));
    let grey = dot(own, vec3(0.3, 0.6, 0.1));
    return mix(vec3(1.25, 1.0, 0.62) * grey, own, smoothstep(0.05, 0.75, state.x));
}

// The light of a leaf or a piece of bark: the sun on its front, what shines through from behind, sky and ground. `normal` may be
// the mean of many, shorter the more they differ.
fn lit(color: vec3<f32>, normal: vec3<f32>, through: f32, shade: vec2<f32>, crowd: vec2<f32>) -> vec3<f32> {
    let along = dot(normal, scene.sun.xyz);
    let vary = sqrt(max(1.0 - dot(normal, normal), 0.0));
    var size = abs(along);
    if vary > size {
        size = (along * along + vary * vary) / (2.0 * vary);
    }
    let sun = 0.5 * (size + along) + through * 0.5 * (size - along);
    let above = 0.5 + 0.5 * normal.z;
    let sky = mix(sky_on(normal), sky_on(vec3(0.0, 0.0, 1.0)), 0.35 * through) * shade.y * crowd.y;
    let ground = scene.bounce.rgb * (1.0 - above) * crowd.y * 0.8;
    return color / PI * (scene.sun_light.rgb * shade.x * crowd.x * sun + sky + ground);
}
