// What lies beyond the edge of the land: ground that goes on as the edge was and flattens out, soon lost in haze.

struct Vertex {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) color: vec3<f32>,
}

@vertex
fn vertex(@location(0) at: vec3<f32>, @location(1) normal: vec3<f32>, @location(2) color: vec3<f32>) -> Vertex {
    var out: Vertex;
    out.place = curved(at);
    out.position = to_clip(out.place);
    out.normal = normal;
    out.color = color;
    return out;
}

@fragment
fn fragment(in: Vertex) -> @location(0) vec4<f32> {
    let dx = dpdx(in.place.xy);
    let dy = dpdy(in.place.xy);
    let eye = -look_at(in.place);
    let pixel = in.position.xy - scene.shift.xy;
    var tone = 1.0;
    for (var i = 1u; i < 3u; i++) {
        let at = scene.noise[i];
        let found = textureSampleGrad(noises, repeated, in.place.xy * at.z + at.xy, dx * at.z, dy * at.z);
        tone += 0.22 * (found[i] - 0.5);
    }
    let normal = normalize(in.normal);
    let shade = shade_at(in.place.xy);
    let color = in.color * tone;
    var light = color * scene.sun_light.rgb * shade.sun * scattered(normal, eye, scene.sun.xyz, 0.95, 0.04);
    light += color / PI * sky_on(normal) * shade.sky;
    return vec4(through_air(light, in.place, pixel), 1.0);
}
