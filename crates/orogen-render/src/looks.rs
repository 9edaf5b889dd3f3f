//! What light, shadow, fog and water look like on small lands that show one thing each.

use std::sync::Arc;

use orogen_core::{Cancel, Frame, Raster, Terrain, layer, math};

use crate::gpu::Gpu;
use crate::land::Land;
use crate::materials::Materials;
use crate::overview::Overview;
use crate::picture::{Aim, Height, Options, render};
use crate::sun::Moment;

/// A land 4 km wide, by a height for every place.
fn land(height: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    const SAMPLES: usize = 257;
    let frame = Frame::square(4000.0, SAMPLES).unwrap();
    let mut land = Terrain::new(frame);
    let raster = Raster::from_fn(SAMPLES, SAMPLES, |c, r| height(frame.x_m(c), frame.y_m(r)) as f32);
    land.set(layer::HEIGHT, raster);
    land
}

fn at(eye: [f64; 2], above: f64, target: [f64; 2], hour: f64) -> Options {
    Options {
        size: [96, 64],
        samples: 1,
        quality: 1.0,
        clouds: 0.0,
        fog: Some(0.0),
        any_hour: false,
        moment: Moment { year: 2026, month: 7, day: 10, hour },
        aim: Aim::Place { eye, height: Height::Ground(above), target: Some(target) },
        ..Options::default()
    }
}

fn taken(land: Terrain, options: &Options) -> Raster<[u8; 3]> {
    let gpu = Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one");
    let land: Arc<dyn Land> = Arc::new(land);
    let materials = Arc::new(Materials::of_layers(&[]));
    render(&gpu, &land, &materials, options, &Cancel::new(), &|_| {}).unwrap().picture
}

fn brightness(picture: &Raster<[u8; 3]>, cols: std::ops::Range<usize>, rows: std::ops::Range<usize>) -> f64 {
    let count = (cols.len() * rows.len() * 3) as f64;
    let sum: f64 = rows
        .map(|r| picture.row(r)[cols.clone()].as_flattened().iter().map(|b| f64::from(*b)).sum::<f64>())
        .sum();
    sum / count
}

/// A wall from north to south through the middle, seen from above in the south.
fn walled() -> Terrain {
    land(|x, _| 100.0 + 160.0 * math::exp(-((x - 2000.0) / 60.0) * ((x - 2000.0) / 60.0)))
}

#[test]
fn shadows_fall_away_from_the_sun() {
    let sides = |hour: f64| {
        let picture = taken(walled(), &at([2000.0, 1400.0], 500.0, [2000.0, 2000.0], hour));
        // The feet of the wall, left and right of it.
        (brightness(&picture, 26..38, 20..44), brightness(&picture, 58..70, 20..44))
    };
    let (west, east) = sides(6.5);
    assert!(east > west * 1.3, "in the morning: {west} in the west, {east} in the east");
    let (west, east) = sides(17.5);
    assert!(west > east * 1.3, "in the evening: {west} in the west, {east} in the east");
}

#[test]
fn every_hour_has_its_light_and_no_pixel_is_lost() {
    let mut found = Vec::new();
    for hour in [0.0, 3.0, 4.5, 6.0, 9.0, 12.0, 18.0, 20.5, 21.5] {
        let options =
            Options { clouds: 0.5, fog: Some(0.5), ..at([2000.0, 500.0], 60.0, [2000.0, 2500.0], hour) };
        let hilly = land(|x, y| 120.0 * math::sin(x / 350.0) * math::cos(y / 410.0) + 30.0);
        let picture = taken(hilly, &options);
        let black = picture.as_slice().iter().filter(|p| **p == [0; 3]).count();
        assert_eq!(black, 0, "pixels without light at {hour}");
        found.push(brightness(&picture, 0..96, 0..64));
    }
    let [midnight, .., noon, _, _, _] = found[..] else { panic!("{found:?}") };
    assert!(midnight > 6.0 && midnight < 75.0, "night is dark, not black: {found:?}");
    assert!(noon > 1.6 * midnight && noon < 235.0, "{found:?}");
}

#[test]
fn water_mirrors_the_mountain_behind_it() {
    // Sea; behind it on the left a mountain, on the right nothing but sky.
    let shore = |x: f64, y: f64| {
        let inland = math::smoothstep(2000.0, 2300.0, y as f32);
        let left = 1.0 - math::smoothstep(1900.0, 2100.0, x as f32);
        f64::from(-30.0 + inland * left * 700.0)
    };
    let picture = taken(land(shore), &at([2000.0, 700.0], 6.0, [2000.0, 2000.0], 12.0));
    let middle =
        (0..64).find(|r| brightness(&picture, 90..96, *r..r + 1) < 0.8 * brightness(&picture, 90..96, 0..8));
    let horizon = middle.expect("a horizon over the sea");
    let rows = horizon + 4..horizon + 12;
    let blue = |cols: std::ops::Range<usize>| {
        let of = |p: &[u8; 3]| f64::from(p[2]) - f64::from(p[0]);
        rows.clone().map(|r| picture.row(r)[cols.clone()].iter().map(of).sum::<f64>()).sum::<f64>()
            / (rows.len() * cols.len()) as f64
    };
    let (mountain, sky) = (blue(4..40), blue(60..92));
    assert!(mountain < 0.75 * sky, "before the mountain {mountain}, before the sky {sky}");
}

#[test]
fn fog_lies_in_valleys_alone() {
    // A valley from west to east in the north, a plain in the south, the sea in the far south.
    let height = |_: f64, y: f64| {
        let valley = (y - 3000.0) / 330.0;
        let crests = 400.0 * math::exp(-(valley.abs() - 1.6) * (valley.abs() - 1.6) * 2.0);
        if y < 500.0 { -20.0 } else { 20.0 + crests }
    };
    let overview = Overview::of(&land(height), &Cancel::new()).unwrap();
    let map = crate::fog::map(&overview);
    let fog = |y: f64| {
        let side = crate::fog::FOG_SIDE;
        let row = (((4000.0 - y) / 4000.0) * side as f64) as usize;
        map[row.min(side - 1) * side + side / 2]
    };
    let ([floor, valley], [_, plain], [_, sea]) = (fog(3000.0), fog(1300.0), fog(100.0));
    assert!((10.0..120.0).contains(&floor) && valley > 0.35, "{floor} {valley}");
    assert!(plain < 0.25 * valley && sea < 0.01, "{plain} {sea}");
    // It takes the view of the valley's floor, and none of the crest's.
    let view = |fog: f64| Options { fog: Some(fog), ..at([2000.0, 2400.0], 1500.0, [2000.0, 3000.0], 7.0) };
    let (clear, foggy) = (taken(land(height), &view(0.0)), taken(land(height), &view(2.0)));
    let changed = |rows: std::ops::Range<usize>| {
        let sum: f64 = rows
            .clone()
            .flat_map(|r| (0..96).map(move |c| (c, r)))
            .map(|(c, r)| f64::from(clear.row(r)[c][0].abs_diff(foggy.row(r)[c][0])))
            .sum();
        sum / (96 * rows.len()) as f64
    };
    assert!(changed(20..44) > 3.0, "{}", changed(20..44));
}

/// Light from all around on surfaces of every roughness under every look: what comes back from white is about what came, a little
/// more by the error of the sum at most, and less where rough facets hide each other.
#[test]
fn a_white_surface_in_a_furnace_is_white() {
    const SIZE: u32 = 16;
    let gpu = Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one");
    let text = format!(
        "{}\n{}",
        // Facets, whatever the scene says: there is none.
        crate::passes::COMMON.replace("scene.mood.w > 0.5", "false"),
        "
        @vertex
        fn vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
            return vec4(vec2(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0, 0.0, 1.0);
        }
        @fragment
        fn fragment(@builtin(position) at: vec4<f32>) -> @location(0) f32 {
            let roughness = 0.3 + 0.7 * at.x / 16.0;
            let z = at.y / 16.0;
            let eye = vec3(sqrt(1.0 - z * z), 0.0, z);
            var sum = 0.0;
            for (var i = 0; i < 120; i++) {
                for (var k = 0; k < 240; k++) {
                    let up = (f32(i) + 0.5) / 120.0;
                    let turn = 2.0 * PI * (f32(k) + 0.5) / 240.0;
                    let side = sqrt(1.0 - up * up);
                    let light = vec3(side * cos(turn), side * sin(turn), up);
                    let n = vec3(0.0, 0.0, 1.0);
                    sum += mirrored(n, eye, light, roughness, 0.04) + scattered(n, eye, light, roughness, 0.04);
                }
            }
            return sum * 2.0 * PI / (120.0 * 240.0);
        }"
    );
    let shader = gpu.shader("furnace", text);
    let pipeline = crate::passes::test_pipeline(&gpu, &shader, wgpu::TextureFormat::R32Float);
    let target = gpu.target("furnace", [SIZE; 2], wgpu::TextureFormat::R32Float);
    let view = target.create_view(&wgpu::TextureViewDescriptor::default());
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                    store: wgpu::StoreOp::Store,
                },
            })],
            ..Default::default()
        });
        pass.set_pipeline(&pipeline);
        pass.draw(0..3, 0..1);
    }
    gpu.queue.submit([encoder.finish()]);
    let bytes = gpu.read(&target).unwrap();
    for (i, b) in bytes.chunks_exact(4).enumerate() {
        let back = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        assert!((0.7..=1.02).contains(&back), "{back} comes back at {},{}", i % 16, i / 16);
    }
}
