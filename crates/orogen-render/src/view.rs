//! Where to stand: a view that a photographer would take, with something near, a subject and a sky.

use orogen_core::{Cancel, Seed, layer, math};
use rayon::prelude::*;

use crate::camera::{Camera, curve_m};
use crate::error::RenderError;
use crate::land::Land;
use crate::overview::Overview;
use crate::picture::{Aim, Height, Options};
use crate::sun::Moment;
use crate::vec3::{Vec3, add, direction, dot, scale, sub, toward};

/// The camera and the hour of a picture, without making it.
///
/// # Errors
/// When a place cannot be.
pub fn find(
    land: &dyn Land,
    overview: &Overview,
    options: &Options,
) -> Result<(Camera, Moment), RenderError> {
    let aspect = f64::from(options.size[0].max(1)) / f64::from(options.size[1].max(1));
    let place = land.place();
    let (latitude, longitude) = (place.latitude_deg.unwrap_or(45.0), place.longitude_deg.unwrap_or(0.0));
    let north = place.north_deg.unwrap_or(0.0);
    choose(overview, options, aspect, &|moment| {
        let sun = crate::sun::sun(moment, latitude, longitude);
        (sun.azimuth_deg + north, sun.altitude_deg)
    })
}

/// The camera and the hour that are asked for, or good ones where nothing is said.
///
/// # Errors
/// When a place cannot be.
pub fn choose(
    overview: &Overview,
    options: &Options,
    aspect: f64,
    sun: &dyn Fn(&Moment) -> (f64, f64),
) -> Result<(Camera, Moment), RenderError> {
    let extent = overview.frame.extent();
    let middle = [0, 1].map(|i| 0.5 * (extent.min[i] + extent.max[i]));
    let surface = |[x, y]: [f64; 2]| {
        overview.height_at(x, y).max(if overview.is_sea(x, y) { 0.0 } else { f64::NEG_INFINITY })
    };
    let at_height = |place: [f64; 2], height: Height| match height {
        Height::Ground(above) => [place[0], place[1], surface(place) + above],
        Height::Sea(above) => [place[0], place[1], above],
    };
    let on_ground = |place: [f64; 2]| [place[0], place[1], surface(place)];
    let camera = match options.aim {
        Aim::Place { eye, height, target } => {
            for place in [Some(eye), target].into_iter().flatten().flatten() {
                refuse_far(place)?;
            }
            let eye = at_height(eye, height);
            Camera {
                eye,
                target: on_ground(target.unwrap_or(middle)),
                view_deg: options.view_deg,
                wide_m: None,
            }
        }
        Aim::From { target, azimuth_deg, distance_m, height } => {
            let target = target.unwrap_or(middle);
            let size = extent.size();
            let distance_m = distance_m.unwrap_or(0.5 * size[0].max(size[1]));
            let height = height.unwrap_or(Height::Ground(0.2 * distance_m));
            for place in [target[0], target[1], distance_m, azimuth_deg] {
                refuse_far(place)?;
            }
            let az = azimuth_deg.to_radians();
            let eye = [target[0] - distance_m * math::sin(az), target[1] - distance_m * math::cos(az)];
            Camera {
                eye: at_height(eye, height),
                target: on_ground(target),
                view_deg: options.view_deg,
                wide_m: None,
            }
        }
        Aim::Exact(camera) => camera,
        Aim::Parallel { target, azimuth_deg, altitude_deg, wide_m } => {
            let target = target.unwrap_or(middle);
            for place in [target[0], target[1], azimuth_deg] {
                refuse_far(place)?;
            }
            if !(0.0..=90.0).contains(&altitude_deg) {
                return Err(RenderError::Call(format!(
                    "an altitude of {altitude_deg}° is outside 0° to 90°"
                )));
            }
            parallel(overview, on_ground(target), [azimuth_deg, altitude_deg], wide_m, aspect)
        }
        Aim::Found => found(overview, options, aspect, 0, sun),
        Aim::FoundNext(after) => found(overview, options, aspect, after, sun),
    };
    let moment = if options.any_hour { good_hour(&camera, &options.moment, sun) } else { options.moment };
    Ok((camera, moment))
}

/// An eye with parallel looks at a place, from outside the land.
fn parallel(
    overview: &Overview,
    target: Vec3,
    [azimuth_deg, altitude_deg]: [f64; 2],
    wide_m: Option<f64>,
    aspect: f64,
) -> Camera {
    let back = toward(azimuth_deg + 180.0, altitude_deg);
    let extent = overview.frame.extent();
    let camera = |target: Vec3, wide: f64| {
        let eye = add(target, scale(back, wide));
        Camera { eye, target, view_deg: 55.0, wide_m: Some(wide) }
    };
    if let Some(wide) = wide_m {
        return camera(target, wide);
    }
    // As wide as shows all corners of the land, with a margin.
    let [right, up, _] = camera(target, 1.0).axes();
    let mut half = [0f64; 2];
    for x in [extent.min[0], extent.max[0]] {
        for y in [extent.min[1], extent.max[1]] {
            for z in [overview.range[0].max(0.0), overview.range[1].max(0.0)] {
                let to = sub([x, y, z], target);
                half = [half[0].max(dot(to, right).abs()), half[1].max(dot(to, up).abs())];
            }
        }
    }
    camera(target, 2.0 * 1.02 * half[0].max(half[1] * aspect))
}

fn refuse_far(place: f64) -> Result<(), RenderError> {
    const MOST: f64 = 1e8;
    if (-MOST..=MOST).contains(&place) {
        Ok(())
    } else {
        Err(RenderError::Call(format!("{place} m is outside -{MOST:e} to {MOST:e} m")))
    }
}

/// The ground or the water at a place, as finely as tiles show it.
///
/// # Errors
/// When the land cannot be made.
pub fn ground_at(
    land: &dyn Land,
    overview: &Overview,
    x: f64,
    y: f64,
    cancel: &Cancel,
) -> Result<f64, RenderError> {
    let sea = if overview.is_sea(x, y) { 0.0 } else { f64::NEG_INFINITY };
    let extent = overview.frame.extent();
    let inside = (extent.min[0]..=extent.max[0]).contains(&x) && (extent.min[1]..=extent.max[1]).contains(&y);
    if !inside {
        return Ok(if overview.sea_at_edge() > 0.5 { 0.0 } else { f64::NEG_INFINITY });
    }
    let step = land.finest_m().max(0.5);
    let around =
        orogen_core::Rect { min: [x - 4.0 * step, y - 4.0 * step], max: [x + 4.0 * step, y + 4.0 * step] };
    let around = around.intersection(&extent).unwrap_or(around);
    let coarse = overview.height_at(x, y);
    let Some(frame) = land.frame().part(&around, [step, step]).ok().flatten() else {
        return Ok(coarse.max(sea));
    };
    if frame.cols() < 2 || frame.rows() < 2 {
        return Ok(coarse.max(sea));
    }
    let made = land.window(frame, &overview.layers, cancel)?;
    let height = made.get(layer::HEIGHT)?;
    let [col, row] = frame.locate(x, y);
    let [col, row] = [col.clamp(0.0, (frame.cols() - 1) as f64), row.clamp(0.0, (frame.rows() - 1) as f64)];
    let ground = f64::from(height.bilinear(col, row));
    let water = made.get(layer::WATER).map_or(0.0, |water| f64::from(water.bilinear(col, row)));
    Ok(if ground.is_finite() { (ground + water.max(0.0)).max(sea) } else { coarse.max(sea) })
}

/// Angles between the look and the sun, on the map, that model the land well: light from the side, a little from behind.
fn side_light(look_deg: f64, sun_deg: f64) -> f64 {
    let off = (sun_deg - look_deg + 540.0).rem_euclid(360.0) - 180.0;
    // 0 with the sun in the face.
    let off = off.abs();
    (1.0 - ((off - 105.0) / 75.0).abs()).clamp(0.0, 1.0)
}

/// The hour of the day that lights a view best: the sun at the side, low enough for shadows and high enough to reach valleys.
fn good_hour(camera: &Camera, moment: &Moment, sun: &dyn Fn(&Moment) -> (f64, f64)) -> Moment {
    let look = [camera.target[0] - camera.eye[0], camera.target[1] - camera.eye[1]];
    let look_deg = math::atan2(look[0], look[1]).to_degrees();
    let hours = (0..96).map(|i| Moment { hour: f64::from(i) * 0.25, ..*moment });
    let worth = |moment: &Moment| {
        let (azimuth, altitude) = sun(moment);
        if altitude < 4.0 {
            return altitude * 0.01 - 1.0;
        }
        // A plan is read better without long shadows.
        let best = if camera.wide_m.is_some() { 44.0 } else { 24.0 };
        let height = 1.0 - ((altitude - best) / 30.0).abs();
        side_light(look_deg, azimuth) + height.max(-1.0)
    };
    hours.max_by(|a, b| worth(a).total_cmp(&worth(b))).unwrap_or(*moment)
}

/// Rays across and down by which a view is judged.
const RAYS: [usize; 2] = [40, 24];
/// Views that are tried.
const TRIED: u64 = 420;

/// The best of many views.
fn found(
    overview: &Overview,
    options: &Options,
    aspect: f64,
    after: usize,
    sun: &dyn Fn(&Moment) -> (f64, f64),
) -> Camera {
    let extent = overview.frame.extent();
    let size = extent.size();
    let wide = size[0].min(size[1]);
    let relief = (overview.range[1] - overview.range[0].max(0.0)).max(1.0);
    let seed = Seed::from_text("view");
    // Somewhere near the heights, or anywhere.
    let subjects = subjects(overview);
    let candidates: Vec<Camera> = (0..TRIED)
        .map(|i| {
            let random = |j: u64| seed.unit(i * 8 + j);
            let subject = subjects[(random(0) * subjects.len() as f64) as usize % subjects.len()];
            let azimuth = random(1) * std::f64::consts::TAU;
            let far = relief * (2.5 + 7.0 * random(2));
            let far = far.clamp(0.08 * wide, 0.42 * wide);
            let inside = |at: f64, axis: usize| {
                let margin = 0.01 * size[axis];
                at.clamp(extent.min[axis] + margin, extent.max[axis] - margin)
            };
            let place = [
                inside(subject[0] + far * math::sin(azimuth), 0),
                inside(subject[1] + far * math::cos(azimuth), 1),
            ];
            let ground = overview.height_at(place[0], place[1]).max(0.0);
            // From a hill or a drone, not from a plane.
            let above = relief * (0.03 + 0.30 * random(3) * random(3));
            let eye = [place[0], place[1], ground + above.max(6.0)];
            // The subject stands above the middle; the target lies some way down its slope.
            let target_z = subject[2] * (0.15 + 0.4 * random(4));
            Camera {
                eye,
                target: [subject[0], subject[1], target_z],
                view_deg: options.view_deg,
                wide_m: None,
            }
        })
        .collect();
    let hours: Vec<Moment> = candidates
        .iter()
        .map(|camera| if options.any_hour { good_hour(camera, &options.moment, sun) } else { options.moment })
        .collect();
    let suns: Vec<(f64, f64)> = hours.iter().map(sun).collect();
    let worth: Vec<f64> = (0..candidates.len())
        .into_par_iter()
        .map(|i| judge(overview, &candidates[i], aspect, relief, suns[i]))
        .collect();
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]));
    // Each unlike those before: from elsewhere, or another way.
    let mut kept: Vec<Camera> = Vec::new();
    for &i in &order {
        let look = |camera: &Camera| direction(sub(camera.target, camera.eye), [0.0, 1.0, 0.0]);
        let is_like = |other: &Camera| {
            let apart = sub(other.eye, candidates[i].eye);
            math::hypot(apart[0], apart[1]) < 0.16 * wide && dot(look(other), look(&candidates[i])) > 0.75
        };
        if !kept.iter().any(is_like) {
            kept.push(candidates[i]);
        }
        if kept.len() > after {
            break;
        }
    }
    // Where there are fewer, from the first again.
    kept[after % kept.len()]
}

/// Peaks: the highest places, some way from each other.
fn subjects(overview: &Overview) -> Vec<Vec3> {
    const MOST: usize = 6;
    let extent = overview.frame.extent();
    let size = extent.size();
    const GRID: usize = 96;
    let mut places: Vec<Vec3> = (0..GRID * GRID)
        .map(|i| {
            let share = |i: usize| 0.08 + 0.84 * i as f64 / (GRID - 1) as f64;
            let (x, y) =
                (extent.min[0] + share(i % GRID) * size[0], extent.min[1] + share(i / GRID) * size[1]);
            [x, y, overview.height_at(x, y)]
        })
        .collect();
    places.sort_by(|a, b| b[2].total_cmp(&a[2]));
    let mut kept: Vec<Vec3> = Vec::new();
    let apart = 0.12 * size[0].min(size[1]);
    for place in places {
        if kept.iter().all(|other| math::hypot(other[0] - place[0], other[1] - place[1]) > apart) {
            kept.push(place);
        }
        if kept.len() == MOST {
            break;
        }
    }
    kept
}

/// How good a view is: how much of it is sky, near, far, water, and how the light falls.
fn judge(overview: &Overview, camera: &Camera, aspect: f64, relief: f64, sun: (f64, f64)) -> f64 {
    let [right, up, forward] = camera.axes();
    let [half_x, half_y] = camera.half(aspect);
    let [cols, rows] = RAYS;
    let extent = overview.frame.extent();
    let wide = extent.size()[0].max(extent.size()[1]);
    let (mut sky, mut water, mut near, mut beyond, mut depths, mut rise) =
        (0.0, 0.0, 0.0, 0.0, [0.0f64; 8], 0.0f64);
    let (mut top, mut slopes) = (vec![0usize; cols], 0.0);
    for row in 0..rows {
        for col in 0..cols {
            let u = half_x * (2.0 * (col as f64 + 0.5) / cols as f64 - 1.0);
            let v = half_y * (1.0 - 2.0 * (row as f64 + 0.5) / rows as f64);
            let way = direction(add(forward, add(scale(right, u), scale(up, v))), forward);
            match march(overview, camera.eye, way, wide) {
                None => {
                    if row == top[col] {
                        top[col] = row + 1;
                    }
                    sky += 1.0;
                }
                Some((place, far)) => {
                    let inside = (0..2).all(|i| (extent.min[i]..=extent.max[i]).contains(&place[i]));
                    if !inside {
                        beyond += 1.0;
                    } else if place[2] <= 0.5 && overview.is_sea(place[0], place[1]) {
                        water += 1.0;
                    } else {
                        rise = rise.max(place[2]);
                        slopes += 1.0;
                    }
                    if far < 0.25 * relief {
                        near += 1.0;
                    }
                    let at = (math::log2((far / (0.02 * wide)).max(1.0)) * 1.6) as usize;
                    depths[at.min(7)] += 1.0;
                }
            }
        }
    }
    let all = (cols * rows) as f64;
    let share = |x: f64| x / all;
    let entropy: f64 = depths.iter().filter(|d| **d > 0.0).map(|d| -share(*d) * math::ln(share(*d))).sum();
    // A skyline that is not a line.
    let mean = top.iter().sum::<usize>() as f64 / cols as f64;
    let skyline = (top.iter().map(|t| (*t as f64 - mean) * (*t as f64 - mean)).sum::<f64>() / cols as f64)
        .sqrt()
        / rows as f64;
    let look = [camera.target[0] - camera.eye[0], camera.target[1] - camera.eye[1]];
    let side = side_light(math::atan2(look[0], look[1]).to_degrees(), sun.0);
    let has_sea = overview.sea_at_edge() > 0.3;
    let wish = |x: f64, best: f64, slack: f64| 1.0 - ((x - best) / slack).abs().min(1.5);
    1.4 * wish(share(sky), 0.30, 0.22)
        + 0.9 * entropy
        + 5.0 * skyline.min(0.16)
        + 0.8 * (rise / overview.range[1].max(1.0))
        + 0.9 * share(slopes)
        + if has_sea { 0.9 * wish(share(water), 0.16, 0.2) } else { 0.0 }
        - 2.5 * (share(near) - 0.12).max(0.0)
        - if has_sea { 0.3 } else { 3.0 } * share(beyond)
        + 0.5 * side
}

/// Where a look meets the land or the sea, and how far away.
fn march(overview: &Overview, eye: Vec3, way: Vec3, wide: f64) -> Option<(Vec3, f64)> {
    let mut far = 0.0;
    let mut step = 0.0015 * wide;
    let spacing = overview.frame.spacing_m()[0];
    while far < 2.5 * wide {
        far += step;
        // Longer steps farther out, where less is seen.
        step = (0.02 * far).max(0.5 * spacing);
        let place = add(eye, scale(way, far));
        if place[2] > overview.range[1] && way[2] >= 0.0 {
            return None;
        }
        let ground = overview.height_at(place[0], place[1]).max(0.0) - curve_m(far);
        if place[2] <= ground {
            return Some(([place[0], place[1], ground], far));
        }
    }
    None
}
