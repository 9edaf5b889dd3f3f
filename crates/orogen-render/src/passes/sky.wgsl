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
    var light = sky_light(way);
    // A little larger than it is, as on a photograph, and as bright in all.
    let turn = acos(clamp(dot(way, scene.sun.xyz), -1.0, 1.0));
    let disk = 1.0 - smoothstep(0.0045, 0.0060, turn);
    if way.z > -0.01 {
        light += disk * scene.sun_light.rgb * 60.0;
    }
    return vec4(light, 1.0);
}
