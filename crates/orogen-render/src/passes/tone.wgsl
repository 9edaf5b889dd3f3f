// From light to a picture: each sample is exposed and toned, then their mean is written.

struct Tone {
    // Exposure, share of this sample, strength of the colours, how dark the night is.
    values: vec4<f32>,
}

@group(0) @binding(0) var light: texture_2d<f32>;
@group(0) @binding(1) var<uniform> tone: Tone;

@vertex
fn vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return vec4(vec2(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0, 0.0, 1.0);
}

// The curve of film, as AgX has it: a log scale of 16.5 stops, and a polynomial near its curve.
fn filmic(color: vec3<f32>) -> vec3<f32> {
    let into = mat3x3<f32>(
        vec3(0.842479062, 0.0423282423, 0.0423756549),
        vec3(0.0784336, 0.878468636, 0.0784336),
        vec3(0.0792237451, 0.0791661275, 0.879142974),
    );
    let back = mat3x3<f32>(
        vec3(1.196879005, -0.0528968518, -0.0529716355),
        vec3(-0.0980208811, 1.15190313, -0.0980434501),
        vec3(-0.0990297441, -0.0989611768, 1.15107367),
    );
    let x = clamp((log2(max(into * color, vec3(1e-10))) + 12.47393) / 16.5, vec3(0.0), vec3(1.0));
    let x2 = x * x;
    let x4 = x2 * x2;
    var y = 15.5 * x4 * x2 - 40.14 * x4 * x + 31.96 * x4 - 6.868 * x2 * x + 0.4298 * x2 + 0.1191 * x - 0.00232;
    // More contrast and colour than the plain curve has.
    y = pow(max(y, vec3(0.0)), vec3(1.62));
    let grey = dot(y, vec3(0.2126, 0.7152, 0.0722));
    y = grey + tone.values.z * (y - grey);
    return pow(clamp(back * y, vec3(0.0), vec3(1.0)), vec3(2.2));
}

@fragment
fn add(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let sample = textureLoad(light, vec2<i32>(position.xy), 0);
    // Where there is no sky, a sample leaves nothing.
    let share = tone.values.y * clamp(sample.a, 0.0, 1.0);
    var found = max(sample.rgb, vec3(0.0)) * tone.values.x;
    // By night the eye sees little colour, and blue better than red.
    let grey = dot(found, vec3(0.15, 0.55, 0.30));
    found = mix(found, grey * vec3(0.62, 0.86, 1.30), 0.72 * tone.values.w);
    return vec4(filmic(found) * share, share);
}

fn encoded(c: vec3<f32>) -> vec3<f32> {
    return select(1.055 * pow(max(c, vec3(1e-6)), vec3(1.0 / 2.4)) - 0.055, 12.92 * c, c <= vec3(0.0031308));
}

@fragment
fn write(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let sum = textureLoad(light, vec2<i32>(position.xy), 0);
    let found = sum.rgb / max(sum.a, 1e-3);
    // Less than a step of the bytes, against bands in the sky.
    let dither = fract(52.9829189 * fract(dot(floor(position.xy), vec2(0.06711056, 0.00583715)))) - 0.5;
    return vec4(encoded(found) + dither / 255.0, clamp(sum.a, 0.0, 1.0));
}
