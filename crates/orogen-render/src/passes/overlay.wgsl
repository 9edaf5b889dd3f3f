// What is painted over the ground: a ramp by height or slope, maps, contours, the net of vertices, levels of tiles.

struct Overlay {
    // By map: west and north edge relative to the eye, 1 / width, 1 / height.
    maps: array<vec4<f32>, 3>,
    // Maps; what the ramp shows (1 height, 2 slope in degrees); how much it hides; number of its colours.
    what: vec4<f32>,
    // The first value, 1 / the range; metres between contours, strength of the net.
    range: vec4<f32>,
    // Strength of the colours of levels; the side of the whole land; unused.
    tiles: vec4<f32>,
    // Colours, and where in the ramp they are.
    stops: array<vec4<f32>, 12>,
}

// A colour times alpha, over another.
fn over(top: vec4<f32>, below: vec4<f32>) -> vec4<f32> {
    return top + below * (1.0 - top.a);
}

fn ramp(share: f32) -> vec3<f32> {
    var color = scene.overlay.stops[0].rgb;
    let count = u32(scene.overlay.what.w);
    for (var i = 1u; i < count; i++) {
        let from_ = scene.overlay.stops[i - 1u].w;
        let to = scene.overlay.stops[i].w;
        color = mix(color, scene.overlay.stops[i].rgb, clamp((share - from_) / max(to - from_, 1e-5), 0.0, 1.0));
    }
    return color;
}

fn level_color(level: i32) -> vec3<f32> {
    var colors = array<vec3<f32>, 8>(
        vec3(0.112, 0.078, 0.361), vec3(0.032, 0.246, 0.509), vec3(0.133, 0.539, 0.376), vec3(0.407, 0.723, 0.371),
        vec3(0.991, 0.745, 0.258), vec3(0.982, 0.418, 0.120), vec3(0.905, 0.153, 0.056), vec3(0.665, 0.048, 0.078),
    );
    return colors[((level % 8) + 8) % 8];
}

// A line a pixel or two wide where a number is whole; `across` is by how much the number changes over a pixel.
fn line(number: f32, across: f32, pixels: f32) -> f32 {
    let off = abs(fract(number + 0.5) - 0.5) / max(across, 1e-9);
    // Where lines are closer than they are wide there is none.
    return (1.0 - smoothstep(0.5 * pixels - 0.5, 0.5 * pixels + 0.5, off)) * (1.0 - smoothstep(0.2, 0.45, across));
}

// The overlay at a place of the ground, times its alpha. `grid` counts vertices of the tile.
fn overlay(place: vec3<f32>, slope: vec2<f32>, grid: vec2<f32>, dx: vec3<f32>, dy: vec3<f32>) -> vec4<f32> {
    let what = scene.overlay.what;
    let range = scene.overlay.range;
    let tiles = scene.overlay.tiles;
    let grid_x = dpdx(grid);
    let grid_y = dpdy(grid);
    let height = place.z + scene.eye.x + dot(place.xy, place.xy) * scene.eye.y;
    // The contour that is nearest runs where the height is a whole number of intervals.
    let level = height / max(range.z, 1e-3);
    let climb = vec2(dpdx(level), dpdy(level));
    var found = vec4(0.0);
    if what.y > 0.5 {
        var value = height;
        if what.y > 1.5 {
            value = degrees(atan(length(slope)));
        }
        // The floor of the sea is not low land.
        let shown = select(what.z, 0.0, what.y < 1.5 && range.x >= 0.0 && height < -0.5);
        found = vec4(ramp(clamp((value - range.x) * range.y, 0.0, 1.0)), 1.0) * shown;
    }
    if tiles.x > 0.5 {
        let quad = length(dx.xy) / max(length(grid_x), 1e-12);
        let own = i32(round(log2(tiles.y / (64.0 * quad))));
        found = over(vec4(level_color(own), 1.0) * what.z, found);
    }
    let last = i32(what.x) - 1;
    for (var i = last; i >= 0; i--) {
        let map = scene.overlay.maps[i];
        let at = vec2(place.x - map.x, map.y - place.y) * map.zw;
        if all(at >= vec2(0.0)) && all(at <= vec2(1.0)) {
            found = over(textureSampleLevel(overlay_maps, clamped, at, i, 0.0), found);
            break;
        }
    }
    if range.z > 0.0 {
        let across = length(climb);
        let fine = line(level, across, 1.1) * 0.55;
        let bold = line(level * 0.2, across * 0.2, 2.0) * 0.8;
        found = over(vec4(vec3(0.035, 0.018, 0.008), 1.0) * max(fine, bold), found);
    }
    if range.w > 0.5 {
        let net = max(line(grid.x, length(vec2(grid_x.x, grid_y.x)), 1.0), line(grid.y, length(vec2(grid_x.y, grid_y.y)), 1.0));
        let slant = line(grid.x + grid.y, length(vec2(grid_x.x + grid_x.y, grid_y.x + grid_y.y)), 1.0);
        found = over(vec4(vec3(0.01), 1.0) * max(net, slant * 0.6) * 0.85, found);
    }
    return found;
}
