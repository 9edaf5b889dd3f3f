// The sky behind everything, with the sun's disk.

struct Vertex {
    @builtin(position) position: vec4<f32>,
    @location(0) way: vec3<f32>,
}

@vertex
fn vertex(@builtin(vertex_index) index: u32) -> Vertex {
    // One triangle that covers the picture.
    let at = vec2(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    var out: Vertex;
    out.position = vec4(at, 0.0, 1.0);
    let moved = at - vec2(scene.shift.x, -scene.shift.y) * 2.0 * scene.size.zw;
    out.way = scene.rays[2].xyz + moved.x * scene.rays[0].xyz + moved.y * scene.rays[1].xyz;
    return out;
}

// How much cloud there is along a look that meets their layer at a place, in kilometres; wide is a pixel there.
fn cloud(at: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>) -> f32 {
    let cover = scene.mood.y;
    var sum = 0.0;
    var turned = at;
    var dx2 = dx;
    var dy2 = dy;
    // Unlike sizes, turned against each other, so that nothing repeats.
    let turn = mat2x2<f32>(0.80, 0.60, -0.60, 0.80);
    var strength = 0.62;
    var size = 1.0 / 31.0;
    for (var i = 0u; i < 4u; i++) {
        let found = textureSampleGrad(noises, repeated, turned * size, dx2 * size, dy2 * size);
        sum += strength * (found[i] * 2.0 - 1.0);
        turned = turn * turned + vec2(3.7, 9.1);
        dx2 = turn * dx2;
        dy2 = turn * dy2;
        size *= 3.3;
        strength *= 0.5;
    }
    return clamp((sum + cover * 1.3 - 0.72) * 2.2, 0.0, 1.0);
}

// Thin high cloud, drawn out by the wind.
fn veil(at: vec2<f32>, dx: vec2<f32>, dy: vec2<f32>) -> f32 {
    let along = mat2x2<f32>(0.0065, -0.036, 0.0030, 0.078);
    let p = along * at;
    let one = textureSampleGrad(noises, repeated, p, along * dx, along * dy);
    let bend = p * 1.7 + 0.10 * one.xy;
    let two = textureSampleGrad(noises, repeated, bend, along * dx * 1.7, along * dy * 1.7);
    let broad = textureSampleGrad(noises, repeated, at / 190.0, dx / 190.0, dy / 190.0);
    let strands = clamp(1.6 * (0.55 * one.z + 0.45 * two.y - 0.42), 0.0, 1.0);
    return 0.8 * strands * smoothstep(0.66 - 0.5 * scene.mood.y, 1.0, broad.x + 0.35 * one.w);
}

// Where a look leaves a sphere so many kilometres above the sea, as a distance.
fn to_layer(way: vec3<f32>, above: f32) -> f32 {
    let ground = 6371.0;
    let eye = ground + scene.eye.x * 0.001;
    let up = eye * way.z;
    return sqrt(max(up * up + (ground + above) * (ground + above) - eye * eye, 0.0)) - up;
}

fn stars(way: vec3<f32>) -> vec3<f32> {
    // Cells on the faces of a cube.
    let size = abs(way);
    var face = vec3(way.yz / size.x, select(1.0, 4.0, way.x < 0.0));
    if size.y > size.x && size.y > size.z {
        face = vec3(way.zx / size.y, select(2.0, 5.0, way.y < 0.0));
    } else if size.z > size.x {
        face = vec3(way.xy / size.z, select(3.0, 6.0, way.z < 0.0));
    }
    let at = face.xy * 90.0;
    let cell = floor(at);
    var h = fract(sin(vec3(dot(cell, vec2(127.1, 311.7)), dot(cell, vec2(269.5, 183.3)), dot(cell, vec2(419.2, 371.9))) + face.z * 17.31) * 43758.547);
    let off = at - cell - (0.2 + 0.6 * h.xy);
    // A star is as wide as a pixel, and few are bright.
    let wide = max(90.0 * 1.3 * length(scene.rays[0].xyz) * scene.size.z, 0.02);
    let bright = 1.6 * pow(h.z, 9.0) + 7.0 * pow(h.z, 90.0);
    let disk = exp(-dot(off, off) / (wide * wide)) * bright;
    return disk * mix(vec3(1.0, 0.86, 0.72), vec3(0.75, 0.86, 1.0), fract(h.z * 97.0)) * min(0.02 / (wide * wide), 1.0);
}

@fragment
fn fragment(in: Vertex) -> @location(0) vec4<f32> {
    // Left out for a montage; with parallel looks there is none, but paper.
    if scene.view.z > 0.5 {
        return vec4(0.0);
    }
    if scene.view.x > 0.5 {
        return vec4(vec3(1.6) / scene.eye.w, 1.0);
    }
    let way = normalize(in.way);
    let pixel = in.position.xy - scene.shift.xy;
    var light = sky_light(way);
    // The pixel's width, as an angle.
    let wide = 2.0 * length(scene.rays[0].xyz) * scene.size.z;
    // A little larger than it is, as on a photograph, and as bright in all.
    let turn = acos(clamp(dot(way, scene.sun.xyz), -1.0, 1.0));
    let disk = 1.0 - smoothstep(0.0045, 0.0060, turn);
    var behind = vec3(0.0);
    if scene.mood.x > 0.0 && way.z > 0.0 {
        // As bright as the eye that has adapted sees them.
        behind += stars(way) * scene.mood.x * smoothstep(0.0, 0.25, way.z) * 0.55 / scene.eye.w;
    }
    if way.z > -0.01 {
        behind += disk * scene.sun_light.rgb * 60.0;
    }
    if scene.mood.y <= 0.0 || way.z < 0.004 {
        return vec4(light + behind, 1.0);
    }
    let phase = dot(way, scene.sun.xyz);
    // Light that comes through toward the eye, and all around.
    let forward = 0.10 + 0.9 * pow(max(0.5 + 0.5 * phase, 0.0), 24.0) + 0.25 * pow(max(0.5 + 0.5 * phase, 0.0), 4.0);
    let around = sky_on(vec3(0.0, 0.0, 1.0)) / PI;
    let lit = scene.sun_light.rgb;

    // High ice.
    let high = to_layer(way, 9.0);
    let at_high = way.xy * high + scene.clouds.xy;
    let grazing = high / 9.0;
    let spread = vec2(wide * high * grazing, 0.0);
    let ice = veil(at_high, spread, spread.yx) * smoothstep(0.0, 0.10, way.z);
    let ice_light = lit * (0.06 + 0.34 * forward) + around * 0.6;
    light = mix(light + behind, ice_light + behind, ice * 0.55);

    // Heaps of cloud below it.
    let low = to_layer(way, 2.4);
    if scene.eye.x < 2200.0 && low < 90.0 {
        let at_low = way.xy * low + scene.clouds.xy;
        let steep = wide * low * max(low / 2.4, 1.0) * 0.5;
        let step = vec2(steep, 0.0);
        let here = cloud(at_low, step, step.yx);
        if here > 0.0 {
            // What lies toward the sun takes of its light.
            let toward = scene.sun.xy / max(length(scene.sun.xy), 0.05) * 0.35;
            let other = cloud(at_low + toward, step, step.yx);
            let thick = here * here * (3.0 - 2.0 * here);
            let shaded = exp(-1.5 * other - 0.9 * thick);
            let body = lit * (0.30 * shaded + 0.10 * forward * (1.0 - thick)) + around * (1.05 - 0.45 * thick);
            let seen = through_air(body, way * low * 1000.0, pixel);
            light = mix(light, seen, smoothstep(0.0, 0.55, here) * smoothstep(90.0, 45.0, low));
        }
    }
    return vec4(light, 1.0);
}
