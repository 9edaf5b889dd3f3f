// Features on heights, one after the other: the twin of shape/features/mod.rs.
//
// Each is listed by where its numbers are and its kind: mountain 0, volcano 1, crater 2, level ground 3, dunes 4.

@fragment
fn fragment(pixel: Pixel) -> @location(0) f32 {
    let at = sample_of(pixel);
    var h = height_before(pixel);
    for (var i = 0u; i < pixel.list.y; i++) {
        let feature = number(pixel.list.x + i);
        h = round_feature(feature.y, feature.x, at, h);
    }
    return h;
}
