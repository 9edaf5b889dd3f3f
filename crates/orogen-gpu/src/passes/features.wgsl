// Features on heights, one after the other: the twin of shape/features/mod.rs.
//
// Each is listed by where its numbers are, and by its kind with the run that it belongs to: rivers that follow each
// other are one run, and make all banks before all beds.

@fragment
fn fragment(pixel: Pixel) -> @location(0) f32 {
    let at = sample_of(pixel);
    var h = height_before(pixel);
    var run = 0u;
    for (var i = 0u; i < pixel.list.y; i++) {
        let feature = number(pixel.list.x + i);
        let kind = feature.y & 0xffu;
        if run != feature.y >> 8u {
            h = min(h, bed);
            bed = FAR;
            run = feature.y >> 8u;
        }
        if kind < 5u {
            h = round_feature(kind, feature.x, at, h);
        } else if kind < 8u {
            h = line_feature(kind, feature.x, at, h);
        } else {
            h = area_feature(kind, feature.x, at, h);
        }
    }
    return min(h, bed);
}
