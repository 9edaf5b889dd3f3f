//! Stems as closed tubes.
//!
//! A branch begins a little inside its parent, on a ring that follows the parent's surface, and widens towards it like the
//! collar of a real branch, with normals that turn into the parent's. What a stem splits into goes on from a ring within it.
//! No hole is cut: every tube is closed by itself, so that a stem can be dropped and nothing gapes.

use std::f64::consts::TAU;

use orogen_core::{Seed, math};

use super::course::drawn;
use super::light::Light;
use super::tint::Tint;
use super::wind::Sway;
use super::{BARK_M, Courses, Mesh, Plan, Point};
use crate::frame::{Vec3, add, between, cross, dot, scaled, sub, unit};
use crate::skeleton::Skeleton;
use crate::species::Species;

/// How a stem is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StemPlan {
    /// Corners around it; 0 where it is not drawn.
    pub sides: u16,
    /// Factor on its radius.
    pub wider: f32,
}

impl StemPlan {
    pub const NONE: Self = Self { sides: 0, wider: 1.0 };
}

/// Fewest corners around a stem that has a collar.
const COLLAR_SIDES: u16 = 6;
/// Where the rings of a collar are, from the parent's surface to its end.
const COLLAR_AT: [f64; 4] = [0.0, 0.2, 0.5, 1.0];
/// How much wider a branch is where it leaves its parent.
const COLLAR_FLARE: f64 = 0.8;
/// How far a collar reaches beyond the parent's surface, in radii of the branch.
const COLLAR_REACH: f64 = 2.2;
/// Widest that a branch may be where it begins, against its parent.
const WIDEST_FOOT: f64 = 0.82;
/// How deep trunks go on below the ground, in radii, so that none hangs in the air on a slope.
const ROOT: f64 = 0.6;
/// How much of their depth lobes add to the outline of a stem, seen from all sides.
const OUTLINE: f64 = 0.8;
/// A stem ends in a point where it gets thinner than this share of the ring before.
const POINTED: f64 = 0.22;

/// A place along a stem that is drawn.
#[derive(Clone, Copy)]
struct Station {
    at: Vec3,
    along: Vec3,
    across: Vec3,
    radius: f64,
    /// Change of the radius along the stem.
    slope: f64,
    from_foot: f64,
    /// Place on the texture.
    v: f64,
}

impl Station {
    fn toward(&self, next: &Self, t: f64) -> Self {
        let mix = |a: f64, b: f64| a + t * (b - a);
        Self {
            at: between(self.at, next.at, t),
            along: unit(between(self.along, next.along, t)),
            across: unit(between(self.across, next.across, t)),
            radius: mix(self.radius, next.radius),
            slope: mix(self.slope, next.slope),
            from_foot: mix(self.from_foot, next.from_foot),
            v: mix(self.v, next.v),
        }
    }
}

/// How bark lies around a stem: the same for all that a stem splits into.
#[derive(Clone, Copy)]
struct Skin {
    /// Repeats of the texture around it.
    around: f64,
    /// Whether it runs to the far side and back, which needs no seam: for stems thinner than the texture.
    is_mirrored: bool,
    /// Where it begins.
    start: f64,
    /// Radius at which the grain has its size.
    radius: f64,
}

impl Skin {
    fn of(girth: f64, lobes: u32, stem: u32) -> Self {
        let around = TAU * girth / BARK_M;
        let start = Seed(u64::from(stem)).unit(1);
        if lobes >= 8 {
            // Every rib has the same part of the texture.
            let fits = (1..=lobes).filter(|n| lobes.is_multiple_of(*n));
            let nearest = fits.min_by(|a, b| {
                let off = |n: u32| (math::ln(f64::from(n) / around.max(1e-6))).abs();
                off(*a).total_cmp(&off(*b))
            });
            return Self {
                around: f64::from(nearest.unwrap_or(1)),
                is_mirrored: false,
                start: 0.0,
                radius: girth,
            };
        }
        if around < 1.5 {
            return Self { around: around.max(0.02), is_mirrored: true, start, radius: girth };
        }
        Self { around: around.round(), is_mirrored: false, start, radius: girth }
    }

    fn u(&self, share: f64) -> f64 {
        self.start + self.around * if self.is_mirrored { 0.5 - (share - 0.5).abs() } else { share }
    }

    /// How much further v runs over a length: the grain gets finer with thinner wood, but less so than around it.
    fn run(&self, length: f64, radius: f64) -> f64 {
        length / (BARK_M * (radius / self.radius).sqrt().clamp(0.4, 1.5))
    }
}

/// What was drawn of a stem, for its children.
#[derive(Clone, Copy)]
struct Tube {
    first: u32,
    count: u32,
    sides: u16,
    lobes: u32,
    skin: Skin,
}

struct Builder<'a> {
    species: &'a Species,
    plant: &'a Skeleton,
    courses: &'a Courses,
    plan: &'a Plan,
    light: &'a Light,
    sway: &'a Sway,
    tint: Tint,
    stations: Vec<Station>,
    tubes: Vec<Option<Tube>>,
    /// Cosines and sines around, by the number of sides.
    circles: Vec<Vec<[f64; 2]>>,
    mesh: Mesh,
}

/// The bark of a plant.
pub fn tubes(
    species: &Species,
    plant: &Skeleton,
    courses: &Courses,
    plan: &Plan,
    light: &Light,
    sway: &Sway,
) -> Mesh {
    let most = plan.stems.iter().map(|stem| stem.sides).max().unwrap_or(0);
    let mut circles = vec![Vec::new(); usize::from(most) + 1];
    for stem in plan.stems.iter().filter(|stem| stem.sides > 0) {
        let circle = &mut circles[usize::from(stem.sides)];
        if circle.is_empty() {
            circle.extend((0..stem.sides).map(|side| {
                let turn = TAU * f64::from(side) / f64::from(stem.sides);
                [math::cos(turn), math::sin(turn)]
            }));
        }
    }
    let mut builder = Builder {
        species,
        plant,
        courses,
        plan,
        light,
        sway,
        tint: Tint::new(species, plant, courses),
        stations: Vec::with_capacity(plan.keep.iter().filter(|keep| **keep).count()),
        tubes: Vec::with_capacity(plant.stems.len()),
        circles,
        mesh: Mesh::default(),
    };
    let (corners, triangles) = builder.size();
    builder.mesh.reserve(corners, triangles);
    for stem in 0..plant.stems.len() as u32 {
        let tube = builder.tube(stem);
        builder.tubes.push(tube);
    }
    builder.mesh
}

/// About how many triangles a tube has over so many points.
pub fn triangles(points: usize, sides: u16, has_parent: bool) -> usize {
    let collar = if has_parent && sides >= COLLAR_SIDES { COLLAR_AT.len() - 1 } else { 0 };
    let sides = usize::from(sides);
    // Rings, a point at the end, a lid at the foot.
    (points + collar).saturating_sub(2) * 2 * sides + sides + sides.saturating_sub(2)
}

impl Builder<'_> {
    /// About how many corners and triangles all tubes have, not less.
    fn size(&self) -> (usize, usize) {
        let (mut corners, mut triangles) = (0, 0);
        for (stem, plan) in self.plan.stems.iter().enumerate().filter(|(_, plan)| plan.sides > 0) {
            let range = self.courses.range(stem);
            let points = self.plan.keep[range].iter().filter(|keep| **keep).count();
            let rings = points + if plan.sides >= COLLAR_SIDES { COLLAR_AT.len() } else { 1 };
            let wide = usize::from(plan.sides);
            corners += rings * wide + if plan.sides >= COLLAR_SIDES { rings + wide } else { 1 };
            triangles += 2 * wide * rings;
        }
        (corners, triangles)
    }

    /// Draws a stem, if it is to be drawn and its parent was.
    fn tube(&mut self, stem: u32) -> Option<Tube> {
        let index = stem as usize;
        let (made, plan) = (&self.plant.stems[index], self.plan.stems[index]);
        let range = self.courses.range(index);
        if plan.sides == 0 || range.len() < 2 {
            return None;
        }
        let parent = match made.parent {
            Some(parent) => Some(self.tubes[parent as usize]?),
            None => None,
        };
        let grown = if self.plan.lobes { self.courses.lobes(self.species, made) } else { 0 };
        // Planks need a ridge and a groove each, round lobes more.
        let fewest = if self.species.planks > 0.0 { 2 } else { 3 };
        let lobes = if u32::from(plan.sides) >= fewest * grown { grown } else { 0 };
        let skin = match parent {
            Some(parent) if made.is_clone => parent.skin,
            _ => Skin::of(self.courses.girth(index), lobes, stem),
        };
        let mut tube = Tube { first: self.stations.len() as u32, count: 0, sides: plan.sides, lobes, skin };
        // Where the parent is at the foot.
        let on_parent = parent.map(|parent| {
            // What splits off takes over the way the parent came, before it turned aside itself.
            let at = if made.is_clone {
                self.courses.points[range.start].from_foot - 1e-6
            } else {
                f64::from(made.offset_m)
            };
            (parent, self.station_at(&parent, at))
        });
        // Lobes that cannot be drawn make it wider: what is seen of them is their outline.
        let wider = if lobes < grown { 1.0 + OUTLINE * self.species.lobe_depth } else { 1.0 };
        self.lay(
            index,
            &mut tube,
            wider * f64::from(plan.wider),
            on_parent.as_ref().map(|(_, station)| station),
        );
        let first_ring = self.mesh.positions.len() as u32;
        let mut rings = 0;
        let mut from = 0;
        match on_parent {
            None => {
                let foot = self.stations[tube.first as usize];
                let depth = ROOT * foot.radius;
                let root = Station {
                    at: sub(foot.at, [0.0, 0.0, depth]),
                    from_foot: foot.from_foot - depth,
                    v: foot.v - skin.run(depth, foot.radius),
                    slope: 0.0,
                    ..foot
                };
                self.ring(stem, &tube, &root);
                rings += 1;
            }
            Some((_, on_parent)) if made.is_clone => {
                // A ring within what it split from, so that it goes on from there without a gap.
                let foot = self.stations[tube.first as usize];
                let piece = sub(self.stations[tube.first as usize + 1].at, foot.at);
                let back = (0.7 * foot.radius).min(0.4 * dot(piece, piece).sqrt());
                let inner = Station {
                    at: sub(foot.at, scaled(on_parent.along, back)),
                    along: on_parent.along,
                    across: on_parent.across,
                    radius: 0.9 * foot.radius,
                    from_foot: foot.from_foot - back,
                    v: foot.v - skin.run(back, foot.radius),
                    slope: 0.0,
                };
                self.ring(stem, &tube, &inner);
                rings += 1;
            }
            Some((parent, on_parent)) => {
                (rings, from) = self.collar(stem, &tube, &parent, &on_parent);
            }
        }
        for station in from..tube.count {
            let place = self.stations[(tube.first + station) as usize];
            let before = self.stations[(tube.first + station.max(1) - 1) as usize];
            let is_end = station + 1 == tube.count;
            if is_end && rings > 0 && place.radius < (POINTED * before.radius).max(2.0 * drawn(0.0)) {
                self.point(stem, &tube, &place, first_ring, rings);
                self.lid(first_ring, &tube);
                return Some(tube);
            }
            self.ring(stem, &tube, &place);
            rings += 1;
        }
        self.join(first_ring, &tube, rings);
        self.end(stem, &tube, first_ring, rings);
        self.lid(first_ring, &tube);
        Some(tube)
    }

    /// Corners of one ring.
    fn wide(&self, tube: &Tube) -> u32 {
        u32::from(tube.sides) + u32::from(!tube.skin.is_mirrored)
    }

    /// Works out the stations of a stem.
    fn lay(&mut self, stem: usize, tube: &mut Tube, wider: f64, on_parent: Option<&Station>) {
        let made = &self.plant.stems[stem];
        let range = self.courses.range(stem);
        let keep = &self.plan.keep[range.clone()];
        let mut points: Vec<Point> =
            self.courses.points[range].iter().zip(keep).filter(|(_, keep)| **keep).map(|(p, _)| *p).collect();
        if let Some(parent) = on_parent {
            // The parent may be drawn straighter than it grew.
            points[0].at = parent.at;
        }
        let count = points.len();
        let ahead = |from: usize| unit(sub(points[from + 1].at, points[from].at));
        let mut across = None;
        let mut v = on_parent.filter(|_| made.is_clone).map_or(tube.skin.start, |parent| parent.v);
        for number in 0..count {
            let point = points[number];
            let along = if number == 0 {
                match on_parent {
                    Some(parent) if made.is_clone => unit(add(ahead(0), parent.along)),
                    _ => ahead(0),
                }
            } else if number + 1 == count {
                ahead(number - 1)
            } else {
                let both = add(ahead(number - 1), ahead(number));
                if dot(both, both) > 0.01 { unit(both) } else { ahead(number - 1) }
            };
            let last: Vec3 = across.unwrap_or_else(|| match on_parent {
                Some(parent) if made.is_clone => parent.across,
                _ => any_across(along),
            });
            // What was across, without what now goes along: the ring does not twist.
            let turned = sub(last, scaled(along, dot(last, along)));
            let turned = if dot(turned, turned) > 1e-6 { unit(turned) } else { any_across(along) };
            across = Some(turned);
            let [before, after] = [points[number.saturating_sub(1)], points[(number + 1).min(count - 1)]];
            let mut radius = drawn(point.radius * wider);
            if number > 0 {
                v += tube.skin.run(point.from_foot - before.from_foot, 0.5 * (point.radius + before.radius));
            } else if made.is_clone {
                // What it split from covers it where both are.
                radius *= 0.985;
            }
            let slope = wider * (after.radius - before.radius) / (after.from_foot - before.from_foot);
            self.stations.push(Station {
                at: point.at,
                along,
                across: turned,
                radius,
                slope: slope.clamp(-3.0, 3.0),
                from_foot: point.from_foot,
                v,
            });
        }
        tube.count = count as u32;
    }

    /// A stem at a distance from its foot.
    fn station_at(&self, tube: &Tube, from_foot: f64) -> Station {
        let stations = &self.stations[tube.first as usize..][..tube.count as usize];
        let after =
            stations.iter().position(|s| s.from_foot > from_foot).unwrap_or(stations.len() - 1).max(1);
        let [a, b] = [&stations[after - 1], &stations[after]];
        let t = ((from_foot - a.from_foot) / (b.from_foot - a.from_foot)).clamp(0.0, 1.0);
        let mut found = a.toward(b, t);
        // Pieces are straight between their rings, whatever the rings lean.
        if t > 0.0 && t < 1.0 {
            found.along = unit(sub(b.at, a.at));
        }
        found
    }

    /// The rings where a branch leaves its parent, and the first station after them.
    fn collar(&mut self, stem: u32, tube: &Tube, parent: &Tube, on_parent: &Station) -> (u32, u32) {
        let foot = self.stations[tube.first as usize];
        let end = self.stations[(tube.first + tube.count - 1) as usize];
        let length = end.from_foot - foot.from_foot;
        let has_collar = tube.sides >= COLLAR_SIDES;
        // The parent is a little thinner than its radius says: between corners, and between lobes.
        let facets =
            self.circles[usize::from(parent.sides)].get(1).map_or(0.5, |[cos, _]| ((1.0 + cos) * 0.5).sqrt());
        let lobed = if parent.lobes > 0 { 1.0 - self.species.lobe_depth } else { 1.0 };
        let thick = 0.96 * on_parent.radius * facets * lobed;
        let flare = if has_collar { COLLAR_FLARE } else { 0.0 };
        let wide = (foot.radius * (1.0 + flare)).min(WIDEST_FOOT * thick);
        let ahead = foot.along;
        let circle = std::mem::take(&mut self.circles[usize::from(tube.sides)]);
        let other = cross(foot.along, foot.across);
        // Where the line from each corner leaves the parent.
        let aside = |v: Vec3| sub(v, scaled(on_parent.along, dot(v, on_parent.along)));
        let way = aside(ahead);
        let steep = dot(way, way);
        let exits: Option<Vec<f64>> = (steep > 0.01).then(|| {
            let leave = |[cos, sin]: &[f64; 2]| {
                let out = aside(add(scaled(foot.across, wide * cos), scaled(other, wide * sin)));
                let b = dot(out, way);
                let c = dot(out, out) - thick * thick;
                (-b + (b * b - steep * c).max(0.0).sqrt()) / steep
            };
            circle.iter().map(leave).collect()
        });
        let first_piece = self.stations[tube.first as usize + 1].from_foot - foot.from_foot;
        let fits = |far: f64| far < 0.6 * length && far < 1.5 * first_piece;
        let farthest = exits.as_ref().map(|exits| exits.iter().copied().fold(0.0, f64::max));
        let exits = match (exits, farthest) {
            (Some(exits), Some(far)) if fits(far) => exits,
            // It runs along its parent, or hardly comes out of it: it begins in its middle.
            _ => {
                self.circles[usize::from(tube.sides)] = circle;
                let inner = Station { radius: foot.radius.min(WIDEST_FOOT * thick), ..foot };
                self.ring(stem, tube, &inner);
                return (1, 1);
            }
        };
        let far = farthest.unwrap_or(0.0);
        let reach = if has_collar { (COLLAR_REACH * foot.radius).min(0.5 * (length - far)) } else { 0.0 };
        let collar_end = far + reach;
        let at: &[f64] = if has_collar { &COLLAR_AT } else { &COLLAR_AT[..1] };
        for share in at {
            let left = (1.0 - share) * (1.0 - share);
            for side in 0..self.wide(tube) {
                let turn = (side % u32::from(tube.sides)) as usize;
                let [cos, sin] = circle[turn];
                // A little inside the parent, so that nothing shows between its corners.
                let start = (exits[turn] - 0.12 * wide - 0.03 * thick).max(0.0);
                let along = start + share * (collar_end - start);
                let place = self.station_at(tube, foot.from_foot + along);
                let radius = place.radius + left * (wide - place.radius);
                let slope = place.slope
                    - 2.0 * (1.0 - share) * (wide - place.radius) / (collar_end - start).max(1e-6);
                let own = cross(place.along, place.across);
                let out = add(scaled(place.across, cos), scaled(own, sin));
                let at = add(place.at, scaled(out, radius));
                let normal = unit(sub(out, scaled(place.along, slope.clamp(-2.0, 2.0))));
                // From the parent's surface to its own.
                let parents = unit(aside(sub(at, on_parent.at)));
                let blend = if has_collar { left } else { 0.0 };
                let normal = unit(between(normal, parents, blend));
                let u = tube.skin.u(f64::from(side) / f64::from(tube.sides));
                self.corner(stem, &place, at, normal, [u, place.v]);
            }
        }
        self.circles[usize::from(tube.sides)] = circle;
        let stations = &self.stations[tube.first as usize..][..tube.count as usize];
        let beyond = foot.from_foot + collar_end + 0.25 * foot.radius;
        let next = stations.iter().position(|s| s.from_foot > beyond).unwrap_or(stations.len() - 1);
        (at.len() as u32, next.max(1) as u32)
    }

    fn corner(&mut self, stem: u32, place: &Station, at: Vec3, normal: Vec3, uv: [f64; 2]) {
        let at = at.map(|v| v as f32);
        let give = self.sway.give(stem, place.from_foot);
        let branch = self.sway.branch(stem);
        let sway = [255 - give, self.sway.phase(stem), 0, self.light.at(at)];
        self.mesh.corner(at, normal.map(|v| v as f32), uv.map(|v| v as f32), sway, branch);
        self.mesh.tints.push(self.tint.of(self.plant.stems[stem as usize].level, place.radius));
    }

    /// Corners around a station; where the texture has a seam the first is there twice.
    fn ring(&mut self, stem: u32, tube: &Tube, place: &Station) {
        let circle = std::mem::take(&mut self.circles[usize::from(tube.sides)]);
        let other = cross(place.along, place.across);
        let depth = self.species.lobe_depth;
        for side in 0..self.wide(tube) {
            let turn = (side % u32::from(tube.sides)) as usize;
            let [cos, sin] = circle[turn];
            let out = add(scaled(place.across, cos), scaled(other, sin));
            let (mut radius, mut normal) = (place.radius, out);
            if tube.lobes > 0 {
                let angle = TAU * f64::from(tube.lobes) * turn as f64 / f64::from(tube.sides);
                let planks = self.species.planks;
                let [plain, slope] = if planks > 0.0 {
                    let [round, sharp] = [[math::sin(angle), math::cos(angle)], plank(angle)];
                    // Planks are what the foot is wider than the trunk.
                    let run = (place.radius - tube.skin.radius).max(0.0);
                    [0, 1].map(|k| (1.0 - planks) * place.radius * depth * round[k] + planks * run * sharp[k])
                } else {
                    [place.radius * depth * math::sin(angle), place.radius * depth * math::cos(angle)]
                };
                radius += plain;
                // Against the way the radius changes around.
                let change = slope * f64::from(tube.lobes) / radius;
                let round = sub(scaled(other, cos), scaled(place.across, sin));
                normal = sub(out, scaled(round, change));
            }
            let normal = unit(sub(normal, scaled(place.along, place.slope)));
            let at = add(place.at, scaled(out, radius));
            let u = tube.skin.u(f64::from(side) / f64::from(tube.sides));
            self.corner(stem, place, at, normal, [u, place.v]);
        }
        self.circles[usize::from(tube.sides)] = circle;
    }

    /// Triangles between the rings.
    fn join(&mut self, first: u32, tube: &Tube, rings: u32) {
        let (wide, sides) = (self.wide(tube), u32::from(tube.sides));
        for ring in 1..rings {
            let [low, high] = [first + (ring - 1) * wide, first + ring * wide];
            for side in 0..sides {
                let next = (side + 1) % wide;
                let [a, b, c, d] = [low + side, low + next, high + next, high + side];
                self.mesh.indices.extend([a, b, c, a, c, d]);
            }
        }
    }

    /// A pointed end.
    fn point(&mut self, stem: u32, tube: &Tube, place: &Station, first: u32, rings: u32) {
        self.join(first, tube, rings);
        let u = tube.skin.u(0.5);
        let tip = self.mesh.positions.len() as u32;
        self.corner(stem, place, place.at, place.along, [u, place.v]);
        let (wide, sides) = (self.wide(tube), u32::from(tube.sides));
        let last = first + (rings - 1) * wide;
        for side in 0..sides {
            self.mesh.indices.extend([last + side, last + (side + 1) % wide, tip]);
        }
    }

    /// A flat end: cut wood, with corners of its own where it is wide enough to be seen.
    fn end(&mut self, stem: u32, tube: &Tube, first: u32, rings: u32) {
        let (wide, sides) = (self.wide(tube), u32::from(tube.sides));
        let last = first + (rings - 1) * wide;
        if tube.sides < COLLAR_SIDES {
            for side in 1..sides - 1 {
                self.mesh.indices.extend([last, last + side, last + side + 1]);
            }
            return;
        }
        let place = self.stations[(tube.first + tube.count - 1) as usize];
        let own = self.mesh.positions.len() as u32;
        let other = cross(place.along, place.across);
        for side in 0..sides {
            let at = self.mesh.positions[(last + side) as usize].map(f64::from);
            let from = sub(at, place.at);
            let uv = [dot(from, place.across) / BARK_M, place.v + dot(from, other) / BARK_M];
            self.corner(stem, &place, at, place.along, uv);
        }
        for side in 1..sides - 1 {
            self.mesh.indices.extend([own, own + side, own + side + 1]);
        }
    }

    /// A lid at the foot, which lies within the parent or the ground.
    fn lid(&mut self, first: u32, tube: &Tube) {
        for side in 1..u32::from(tube.sides) - 1 {
            self.mesh.indices.extend([first, first + side + 1, first + side]);
        }
    }
}

/// How far a plank stands out at an angle about its own, and how that changes; 0 on average is not asked for: the trunk shows
/// between them.
fn plank(angle: f64) -> [f64; 2] {
    let half = 0.5 + 0.5 * math::cos(angle);
    let ridge = half * half * half * half;
    // The flanks between few corners are less steep than the ridge itself.
    [1.25 * ridge - 0.85, -1.25 * 2.0 * half * math::sin(angle)]
}

/// A direction at right angles to another.
fn any_across(along: Vec3) -> Vec3 {
    let axis = if along[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    unit(sub(axis, scaled(along, dot(axis, along))))
}
