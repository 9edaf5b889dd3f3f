//! From a species to a plant.
//!
//! Every random number is a hash of the seed, the stem's place in the tree and what it is for, so that turning one parameter
//! changes nothing else. What has to come out even over many stems (splits, branches, leaves) is carried on from stem to stem,
//! level by level, as in Arbaro.

use orogen_core::{Seed, math};

use crate::frame::{Frame, Vec3, add, cross, dot, scaled, unit};
use crate::kinds;
use crate::kinds::climb::Way;
use crate::skeleton::{Leaf, Node, Skeleton, Stem};
use crate::species::{Climb, Level, Shape, Species, SpeciesError};

/// Most stems, points along them and leaves of a plant: a real tree with all its leaves has fewer.
const MOST: usize = 4_000_000;

/// Stems shorter than this are not made, in metres.
const SHORTEST_M: f64 = 5e-4;

/// Why a plant was not made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GrowError {
    /// The species is not one.
    #[error(transparent)]
    Species(#[from] SpeciesError),
    /// The plant would be too large to hold.
    #[error(
        "the plant has more than {0} stems or leaves; fewer branches, splits or leaves make a smaller one"
    )]
    TooLarge(usize),
}

/// Grows a plant. The same seed gives the same plant, any other another of the same species.
///
/// # Errors
/// When the species has numbers that make no plant, or too many stems and leaves.
pub fn grow(species: &Species, seed: Seed) -> Result<Skeleton, GrowError> {
    grow_within(species, seed, MOST)
}

/// Grows a plant that has no more than so many stems, so many points along them and so many leaves: for species that strangers
/// made.
///
/// # Errors
/// As those of [`grow`].
pub fn grow_within(species: &Species, seed: Seed, most: usize) -> Result<Skeleton, GrowError> {
    species.check()?;
    if let Some(stone) = &species.stone {
        return Ok(kinds::stone::lie(species, stone, seed.child("plant")));
    }
    if let Some(wood) = &species.dead_wood {
        return kinds::dead_wood::lie(species, wood, seed);
    }
    if let Some(climb) = &species.climb {
        return climb_within(species, climb, seed, &kinds::climb::post(climb), most);
    }
    let mut growing = Growing::new(species, seed, most);
    growing.trunks()?;
    Ok(growing.plant)
}

/// Grows a plant on another: what climbs goes round its trunk and hangs from its branches. Others stand as they would alone.
///
/// # Errors
/// As those of [`grow`].
pub fn grow_on(species: &Species, seed: Seed, host: &Skeleton) -> Result<Skeleton, GrowError> {
    let Some(climb) = &species.climb else { return grow(species, seed) };
    species.check()?;
    climb_within(species, climb, seed, host, MOST)
}

fn climb_within(
    species: &Species,
    climb: &Climb,
    seed: Seed,
    host: &Skeleton,
    most: usize,
) -> Result<Skeleton, GrowError> {
    let ways = kinds::climb::ways(species, climb, seed.child("climb"), host, most);
    let mut growing = Growing::new(species, seed, most);
    growing.along(&ways)?;
    Ok(growing.plant)
}

/// What a random number is for; those of one stem that are drawn many times have a range of their own.
#[derive(Clone, Copy)]
enum For {
    Scale,
    TrunkScale,
    TrunkTurn,
    TrunkLean,
    TrunkPlace,
    TrunkSpread,
    Length,
    Curve,
    CurveSide,
    Split,
    SplitTurn,
    SplitSide,
    ChildPlace,
    ChildTurn,
    ChildLean,
    LeafPlace,
    LeafTurn,
    LeafLean,
    Break,
    BreakPlace,
    LeafSize,
    Flower,
    FlowerTurn,
}

/// What is carried on from stem to stem of a level, so that sums come out even.
#[derive(Clone, Copy, Default)]
struct Carried {
    splits: f64,
    children: f64,
    leaves: f64,
}

impl Carried {
    /// How many whole things a share comes to this time.
    fn whole(carried: &mut f64, share: f64) -> u32 {
        let count = (share + *carried + 0.5).floor().max(0.0);
        *carried -= count - share;
        count as u32
    }
}

struct Growing<'a> {
    species: &'a Species,
    seed: Seed,
    plant: Skeleton,
    carried: [Carried; 4],
    /// Most stems, nodes, leaves and flowers.
    most: usize,
    /// Work that is left, in pieces, tries and children, most of which come to something.
    left: u64,
}

/// A stem while it grows.
#[derive(Clone, Copy)]
struct Shoot {
    /// Hash of its place in the tree.
    path: Seed,
    level: usize,
    parent: Option<u32>,
    is_clone: bool,
    offset_m: f64,
    length_m: f64,
    radius_m: f64,
    /// How long children may be, as a share of it.
    child_length: f64,
    /// Children and leaves a piece.
    children: f64,
    leaves: f64,
    /// What the parent was like, for what depends on it.
    parent_radius_m: f64,
    /// Turned so far round it, in degrees, or the side of the last child.
    turned: f64,
    leaf_turned: f64,
    /// What bends it back after a split, a piece.
    back_deg: f64,
    /// Clones that it split into so far, for their paths.
    clones: u64,
}

impl Shoot {
    /// A trunk that has no size yet.
    fn trunk(path: Seed) -> Self {
        Self {
            path,
            level: 0,
            parent: None,
            is_clone: false,
            offset_m: 0.0,
            length_m: 0.0,
            radius_m: 0.0,
            child_length: 0.0,
            children: 0.0,
            leaves: 0.0,
            parent_radius_m: 0.0,
            turned: 0.0,
            leaf_turned: 0.0,
            back_deg: 0.0,
            clones: 0,
        }
    }
}

impl<'a> Growing<'a> {
    fn new(species: &'a Species, seed: Seed, most: usize) -> Self {
        let mut plant = Skeleton::default();
        let seed = seed.child("plant");
        plant.scale_m = species.height_m + vary(seed, For::Scale, 0, species.height_vary_m);
        Self { species, seed, plant, carried: [Carried::default(); 4], most, left: 32 * most as u64 }
    }

    /// Counts work, so that no species takes for ever and comes to nothing.
    fn spend(&mut self, work: usize) -> Result<(), GrowError> {
        self.left = self.left.saturating_sub(work as u64);
        if self.left == 0 { Err(GrowError::TooLarge(self.most)) } else { Ok(()) }
    }

    fn trunks(&mut self) -> Result<(), GrowError> {
        let level = self.species.levels[0];
        let mut turned = 0.0;
        for number in 0..level.branches {
            let path = Seed(self.seed.bits(u64::from(number)));
            let index = 0;
            let turn = if level.rotate_deg >= 0.0 {
                turned =
                    (turned + level.rotate_deg + vary(path, For::TrunkTurn, index, level.rotate_vary_deg))
                        % 360.0;
                turned
            } else {
                turned = if turned == 1.0 { -1.0 } else { 1.0 };
                turned * (180.0 + level.rotate_deg + vary(path, For::TrunkTurn, index, level.rotate_vary_deg))
            };
            let lean = level.down_deg + vary(path, For::TrunkLean, index, level.down_vary_deg);
            let around = vary(path, For::TrunkPlace, index, 180.0).to_radians();
            let far = vary(path, For::TrunkSpread, index, level.branch_spread);
            let mut frame = Frame::UPRIGHT.rolled(turn).bent(lean);
            frame.at = [far * math::sin(around), far * math::cos(around), 0.0];
            let length_m =
                (level.length + vary(path, For::Length, index, level.length_vary)) * self.plant.scale_m;
            let shoot = Shoot { length_m, radius_m: length_m * self.species.ratio, ..Shoot::trunk(path) };
            self.stem(shoot, frame, None)?;
        }
        Ok(())
    }

    /// Makes trunks that go along given ways.
    fn along(&mut self, ways: &[Way]) -> Result<(), GrowError> {
        let level = self.species.levels[0];
        for (number, way) in ways.iter().enumerate() {
            let pieces = way.frames.len() as u32 - 1;
            let length_m = way.piece_m * f64::from(pieces);
            let path = Seed(self.seed.child("way").bits(number as u64));
            let mut shoot = Shoot { length_m, radius_m: way.radius_m, ..Shoot::trunk(path) };
            self.plant.scale_m = self.plant.scale_m.max(length_m);
            self.expect(&mut shoot, None);
            // The way has its own pieces; what stands on it is spread over them.
            let share = f64::from(level.pieces) / f64::from(pieces);
            shoot.children *= share * way.leafy;
            shoot.leaves *= share * way.leafy;
            let stem = self.plant.stems.len() as u32;
            self.spend(way.frames.len())?;
            if self.plant.nodes.len() + way.frames.len() > self.most {
                return Err(GrowError::TooLarge(self.most));
            }
            let mut waiting = Vec::new();
            let first = self.plant.nodes.len() as u32;
            for (piece, frame) in way.frames.iter().enumerate() {
                let node = self.node(&shoot, *frame, piece as f64 * way.piece_m);
                self.plant.nodes.push(node);
            }
            self.plant.stems.push(Stem {
                level: 0,
                parent: None,
                is_clone: false,
                length_m: length_m as f32,
                radius_m: self.plant.nodes[first as usize].radius_m,
                offset_m: 0.0,
                first,
                count: pieces + 1,
            });
            for (piece, frame) in way.frames.iter().enumerate().take(pieces as usize) {
                self.children(&mut shoot, stem, *frame, piece as u32, way.piece_m, &mut waiting)?;
                self.leaves(&mut shoot, stem, *frame, piece as u32, way.piece_m)?;
            }
            for (child, frame) in waiting {
                self.stem(child, frame, Some(&shoot))?;
            }
        }
        Ok(())
    }

    /// The level that leaves stand on.
    fn leaf_level(&self) -> usize {
        usize::from(self.species.leaves.level).min(self.species.levels.len() - 1)
    }

    /// Works out how many children and leaves a shoot has, given its parent.
    fn expect(&self, shoot: &mut Shoot, parent: Option<&Shoot>) {
        let species = self.species;
        let pieces = f64::from(species.levels[shoot.level].pieces);
        if let Some(next) = species.levels.get(shoot.level + 1) {
            shoot.child_length = next.length + vary(shoot.path, For::Length, 1, next.length_vary);
            let most = f64::from(next.branches);
            let count = match (shoot.level, parent) {
                (0, _) | (_, None) => most / (1.0 - species.bare_share),
                (1, Some(parent)) => {
                    let share = shoot.length_m / parent.length_m / parent.child_length;
                    (most * (0.2 + 0.8 * share)).floor()
                }
                (_, Some(parent)) => (most * (1.0 - 0.5 * shoot.offset_m / parent.length_m)).floor(),
            };
            let bare = if shoot.level > 0 { next.bare_share } else { 0.0 };
            shoot.children = count / (1.0 - bare) / pieces;
        }
        if shoot.level == self.leaf_level() {
            let leaves = &species.leaves;
            let along = parent.map_or(0.0, |parent| shoot.offset_m / parent.length_m);
            let count = f64::from(leaves.count.unsigned_abs()) / (leaves.along[1] - leaves.along[0])
                * leaves.spread.ratio(along, &species.prune)
                * leaves.quality;
            shoot.leaves = count / pieces;
        }
    }

    /// Makes a stem with all that stands on it.
    fn stem(&mut self, mut shoot: Shoot, frame: Frame, parent: Option<&Shoot>) -> Result<(), GrowError> {
        if shoot.level > 0 && self.species.prune.ratio > 0.0 {
            self.prune(&mut shoot, frame)?;
        }
        // Nothing grows from where the parent has met the ground.
        if shoot.length_m < SHORTEST_M || frame.at[2] < 0.0 {
            return Ok(());
        }
        self.expect(&mut shoot, parent);
        self.pieces(shoot, frame, 0)
    }

    /// Makes the pieces of a stem from one on.
    fn pieces(&mut self, mut shoot: Shoot, mut frame: Frame, first: u32) -> Result<(), GrowError> {
        if self.plant.stems.len() >= self.most || self.plant.nodes.len() >= self.most {
            return Err(GrowError::TooLarge(self.most));
        }
        let level = self.species.levels[shoot.level];
        self.spend(level.pieces as usize)?;
        let piece_m = shoot.length_m / f64::from(level.pieces);
        let number = self.plant.stems.len() as u32;
        // Nodes of one stem lie in a row, and its children are made on the way: they wait here.
        let mut nodes = vec![self.node(&shoot, frame, f64::from(first) * piece_m)];
        self.plant.stems.push(Stem {
            level: shoot.level as u8,
            parent: shoot.parent,
            is_clone: shoot.is_clone,
            length_m: shoot.length_m as f32,
            radius_m: self.radius(&shoot, 0.0) as f32,
            offset_m: shoot.offset_m as f32,
            first: 0,
            count: 0,
        });
        let mut waiting = Vec::new();
        let end = self.broken_after(&shoot, level.pieces).max(first + 1);
        for piece in first..end {
            if piece > 0 {
                frame = self.turned(&shoot, frame, piece);
            }
            nodes[(piece - first) as usize].along = frame.z.map(|v| v as f32);
            self.children(&mut shoot, number, frame, piece, piece_m, &mut waiting)?;
            self.leaves(&mut shoot, number, frame, piece, piece_m)?;
            let share = above_ground(frame, piece_m);
            frame = frame.forward(share * piece_m);
            nodes.push(self.node(&shoot, frame, (f64::from(piece) + share) * piece_m));
            if share < 1.0 {
                break;
            }
            if piece + 1 < end {
                self.split(&mut shoot, number, &mut frame, piece)?;
            }
        }
        if end == level.pieces {
            self.flower(&shoot, number, frame)?;
        }
        let stem = &mut self.plant.stems[number as usize];
        (stem.first, stem.count) = (self.plant.nodes.len() as u32, nodes.len() as u32);
        self.plant.nodes.append(&mut nodes);
        for (child, frame) in waiting {
            self.stem(child, frame, Some(&shoot))?;
        }
        Ok(())
    }

    /// How many pieces of a stem are left: all, unless it is broken off. Trunks break less often, and higher up.
    fn broken_after(&self, shoot: &Shoot, pieces: u32) -> u32 {
        let (chance, lowest) = if shoot.level == 0 { (0.5, 0.6) } else { (1.0, 0.2) };
        let drawn = |what: For| 0.5 + 0.5 * vary(shoot.path, what, 0, 1.0);
        if drawn(For::Break) >= chance * self.species.broken_share {
            return pieces;
        }
        let share = lowest + (0.9 - lowest) * drawn(For::BreakPlace);
        ((share * f64::from(pieces)).ceil() as u32).clamp(1, pieces)
    }

    fn node(&self, shoot: &Shoot, frame: Frame, from_foot_m: f64) -> Node {
        Node {
            at: frame.at.map(|v| v as f32),
            along: frame.z.map(|v| v as f32),
            radius_m: self.radius(shoot, from_foot_m) as f32,
            from_foot_m: from_foot_m as f32,
        }
    }

    /// Which way a stem goes on with a piece.
    fn turned(&self, shoot: &Shoot, frame: Frame, piece: u32) -> Frame {
        let level = &self.species.levels[shoot.level];
        let pieces = f64::from(level.pieces);
        let curve = if level.curve_back_deg == 0.0 {
            level.curve_deg / pieces
        } else if 2 * piece < level.pieces {
            2.0 * level.curve_deg / pieces
        } else {
            2.0 * level.curve_back_deg / pieces
        };
        let index = u64::from(piece);
        let mut frame = frame.bent(curve + shoot.back_deg);
        if level.curve_vary_deg > 0.0 {
            let by = vary(shoot.path, For::Curve, index, level.curve_vary_deg) / pieces;
            frame = frame.bent_to(by, 180.0 + vary(shoot.path, For::CurveSide, index, 180.0));
        } else if level.curve_vary_deg < 0.0 {
            // A helix: a steady bend, and a turn that carries it round.
            frame = frame.bent(-level.curve_vary_deg / pieces).rolled(360.0 / pieces);
        }
        if self.species.attraction_up != 0.0 && shoot.level >= 2 {
            let lean = math::acos(frame.z[2].clamp(-1.0, 1.0));
            let by = self.species.attraction_up * (lean * math::sin(lean)).abs() / pieces;
            let axis = [frame.z[1], -frame.z[0], 0.0];
            if dot(axis, axis) > 1e-12 {
                frame = frame.about(unit(axis), by.to_degrees());
            }
        }
        frame
    }

    /// Radius at a distance from the foot.
    fn radius(&self, shoot: &Shoot, from_foot_m: f64) -> f64 {
        let level = &self.species.levels[shoot.level];
        let along = (from_foot_m / shoot.length_m).clamp(0.0, 1.0);
        let radius = tapered(level.taper, shoot.radius_m, shoot.length_m, along);
        if shoot.level > 0 {
            return radius;
        }
        let flare = flare(self.species.flare, along);
        let vary = vary(shoot.path, For::TrunkScale, 0, self.species.trunk_scale_vary);
        radius * flare * (self.species.trunk_scale + vary)
    }

    /// Children of a piece; they are grown once the stem is there.
    fn children(
        &mut self,
        shoot: &mut Shoot,
        number: u32,
        frame: Frame,
        piece: u32,
        piece_m: f64,
        waiting: &mut Vec<(Shoot, Frame)>,
    ) -> Result<(), GrowError> {
        let Some(next) = self.species.levels.get(shoot.level + 1).copied() else { return Ok(()) };
        let start_m = f64::from(piece) * piece_m;
        let bare_m = match shoot.level {
            0 => self.species.bare_share * self.plant.scale_m,
            _ => next.bare_share * shoot.length_m,
        };
        let (share, from) = match shoot.level {
            _ if bare_m > 0.0 && start_m + piece_m <= bare_m => return Ok(()),
            _ if start_m < bare_m => (1.0 - (bare_m - start_m) / piece_m, (bare_m - start_m) / piece_m),
            _ if shoot.level > 0 && piece == 0 => (1.0, (shoot.parent_radius_m / piece_m).min(1.0)),
            _ => (1.0, 0.0),
        };
        let count = Carried::whole(&mut self.carried[shoot.level].children, share * shoot.children);
        self.spend(count as usize)?;
        if self.plant.stems.len() + waiting.len() + count as usize > self.most {
            return Err(GrowError::TooLarge(self.most));
        }
        let apart = (1.0 - from) / f64::from(count.max(1)) * next.branch_spread.min(1.0);
        for k in 0..count {
            let index = u64::from(piece) << 16 | u64::from(k);
            let shift = vary(shoot.path, For::ChildPlace, index, 0.25 * apart);
            let at = from + apart * (0.5 + f64::from(k)) + shift;
            let offset_m = start_m + at * piece_m;
            let length_m = self.child_length(shoot, offset_m);
            let path = Seed(shoot.path.child("child").bits(index));
            let parent_radius_m = self.radius(shoot, offset_m);
            let child = Shoot {
                path,
                level: shoot.level + 1,
                parent: Some(number),
                is_clone: false,
                offset_m,
                length_m,
                radius_m: (shoot.radius_m * math::pow(length_m / shoot.length_m, self.species.ratio_power))
                    .max(self.species.thinnest_m)
                    .min(parent_radius_m),
                child_length: 0.0,
                children: 0.0,
                leaves: 0.0,
                parent_radius_m,
                turned: 0.0,
                leaf_turned: 0.0,
                back_deg: 0.0,
                clones: 0,
            };
            let angles = [next.down_deg, next.down_vary_deg, next.rotate_deg, next.rotate_vary_deg];
            let draws = [For::ChildLean, For::ChildTurn];
            let along = self.lean_along(shoot, offset_m);
            let toward = side(shoot.path, index, angles, draws, along, &mut shoot.turned);
            let mut place = frame.forward(at * piece_m);
            place = place.rolled(toward[1]).bent(toward[0]);
            waiting.push((child, place));
        }
        Ok(())
    }

    /// How much of a lean that changes along the stem a child has: -1 at the foot to 1 at the top, about.
    fn lean_along(&self, shoot: &Shoot, offset_m: f64) -> f64 {
        let length =
            if shoot.level == 0 { shoot.length_m * (1.0 - self.species.bare_share) } else { shoot.length_m };
        let at = (shoot.length_m - offset_m) / length;
        1.0 - 2.0 * Shape::Conical.ratio(at, &self.species.prune)
    }

    fn child_length(&self, shoot: &Shoot, offset_m: f64) -> f64 {
        if shoot.level > 0 {
            return (shoot.child_length * (shoot.length_m - 0.6 * offset_m)).max(0.0);
        }
        let crown_m = shoot.length_m - self.species.bare_share * self.plant.scale_m;
        let at = ((shoot.length_m - offset_m) / crown_m.max(1e-9)).clamp(0.0, 1.0);
        (shoot.length_m * shoot.child_length * self.species.shape.ratio(at, &self.species.prune)).max(0.0)
    }

    fn leaves(
        &mut self,
        shoot: &mut Shoot,
        number: u32,
        frame: Frame,
        piece: u32,
        piece_m: f64,
    ) -> Result<(), GrowError> {
        if shoot.leaves <= 0.0 {
            return Ok(());
        }
        let leaves = &self.species.leaves;
        let level = self.species.levels[shoot.level];
        if leaves.count < 0 {
            if piece + 1 == level.pieces {
                return self.fan(shoot, number, frame.forward(piece_m));
            }
            return Ok(());
        }
        let from = if piece == 0 { (shoot.parent_radius_m / piece_m).min(1.0) } else { 0.0 };
        let count = Carried::whole(&mut self.carried[shoot.level].leaves, shoot.leaves);
        self.spend(count as usize)?;
        if self.plant.leaves.len() + count as usize > self.most {
            return Err(GrowError::TooLarge(self.most));
        }
        let apart = (1.0 - from) / f64::from(count.max(1));
        let angles = [leaves.down_deg, leaves.down_vary_deg, leaves.rotate_deg, leaves.rotate_vary_deg];
        for k in 0..count {
            let index = u64::from(piece) << 16 | u64::from(k);
            let at =
                from + apart * (0.5 + f64::from(k)) + vary(shoot.path, For::LeafPlace, index, 0.5 * apart);
            let offset_m = (f64::from(piece) + at) * piece_m;
            let share = offset_m / shoot.length_m;
            if !(leaves.along[0]..=leaves.along[1]).contains(&share) {
                continue;
            }
            let along = self.lean_along(shoot, offset_m);
            let toward = side(
                shoot.path,
                index,
                angles,
                [For::LeafLean, For::LeafTurn],
                along,
                &mut shoot.leaf_turned,
            );
            let mut place = frame.forward(at * piece_m).rolled(toward[1]).bent(toward[0]);
            if leaves.flat {
                place.y = unit(add(frame.y, scaled(place.z, -dot(frame.y, place.z))));
                place.x = cross(place.y, place.z);
            }
            self.leaf(number, place, self.leaf_size(shoot, index, share));
        }
        Ok(())
    }

    /// Leaves in a fan at the end of a stem.
    fn fan(&mut self, shoot: &Shoot, number: u32, end: Frame) -> Result<(), GrowError> {
        let level = &self.species.levels[shoot.level];
        let [from, to] = self.species.leaves.along;
        let count = (shoot.leaves * f64::from(level.pieces) * (to - from) + 0.5) as u32;
        if self.plant.leaves.len() + count as usize > self.most {
            return Err(GrowError::TooLarge(self.most));
        }
        let leaves = &self.species.leaves;
        let wide = if count > 1 { leaves.rotate_deg / f64::from(count - 1) } else { 0.0 };
        for k in 0..count {
            let across = (f64::from(k) - 0.5 * f64::from(count.saturating_sub(1))) * wide;
            let lean =
                leaves.down_deg + vary(shoot.path, For::LeafLean, u64::from(k), leaves.down_vary_deg.abs());
            let turn = vary(shoot.path, For::LeafTurn, u64::from(k), leaves.rotate_vary_deg);
            let size = self.leaf_size(shoot, u64::from(k), 0.0);
            self.leaf(number, end.about(end.y, across + turn).bent(lean), size);
        }
        Ok(())
    }

    /// Length of a leaf against that of the species.
    fn leaf_size(&self, shoot: &Shoot, index: u64, along: f64) -> f64 {
        let leaves = &self.species.leaves;
        let drawn = 0.5 + 0.5 * vary(shoot.path, For::LeafSize, index, 1.0);
        (1.0 - leaves.length_vary * drawn) * (1.0 - leaves.shrink * along)
    }

    /// What stands at the end of a stem.
    fn flower(&mut self, shoot: &Shoot, number: u32, end: Frame) -> Result<(), GrowError> {
        let flowers = &self.species.flowers;
        if flowers.share == 0.0 || shoot.level < usize::from(flowers.level) || end.at[2] < 0.0 {
            return Ok(());
        }
        if 0.5 + 0.5 * vary(shoot.path, For::Flower, 0, 1.0) >= flowers.share {
            return Ok(());
        }
        if self.plant.flowers.len() >= self.most {
            return Err(GrowError::TooLarge(self.most));
        }
        let mut end = end.rolled(vary(shoot.path, For::FlowerTurn, 0, 180.0));
        let lean = end.lean_deg();
        let axis = cross(end.z, [0.0, 0.0, 1.0]);
        if flowers.bend > 0.0 && dot(axis, axis) > 1e-12 {
            end = end.about(unit(axis), flowers.bend * lean);
        }
        let [along, up] = if flowers.flat { [end.y, end.z] } else { [end.z, end.y] };
        self.plant.flowers.push(Leaf {
            at: end.at.map(|v| v as f32),
            along: along.map(|v| v as f32),
            up: up.map(|v| v as f32),
            size: (1.0 + vary(shoot.path, For::Flower, 1, 0.2)) as f32,
            stem: number,
        });
        Ok(())
    }

    /// A leaf that goes along a frame, turned towards the light.
    fn leaf(&mut self, number: u32, frame: Frame, size: f64) {
        let mut frame = frame;
        let bend = self.species.leaves.bend;
        if bend > 0.0 {
            // First round the trunk until it looks outwards, then up.
            let outward = math::atan2(frame.at[1], frame.at[0]);
            let facing = math::atan2(frame.y[1], frame.y[0]);
            let turn = math::atan2(math::sin(outward - facing), math::cos(outward - facing));
            frame = frame.about([0.0, 0.0, 1.0], bend * turn.to_degrees());
            let lean = math::acos(frame.y[2].clamp(-1.0, 1.0));
            let axis = cross(frame.y, [0.0, 0.0, 1.0]);
            if dot(axis, axis) > 1e-12 {
                frame = frame.about(unit(axis), bend * lean.to_degrees());
            }
        }
        if frame.at[2] < 0.0 {
            return;
        }
        self.plant.leaves.push(Leaf {
            at: frame.at.map(|v| v as f32),
            along: frame.z.map(|v| v as f32),
            up: frame.y.map(|v| v as f32),
            size: size as f32,
            stem: number,
        });
    }

    /// Lets a stem split after a piece: clones go on beside it.
    fn split(
        &mut self,
        shoot: &mut Shoot,
        number: u32,
        frame: &mut Frame,
        piece: u32,
    ) -> Result<(), GrowError> {
        let level = self.species.levels[shoot.level];
        let at_foot = shoot.level == 0 && piece == 0 && self.species.base_splits > 0;
        let count = if at_foot {
            self.species.base_splits
        } else {
            Carried::whole(&mut self.carried[shoot.level].splits, level.splits)
        };
        if count == 0 {
            return Ok(());
        }
        // What stands on the stem is shared out among all that it splits into; leaves are not.
        shoot.children /= f64::from(count + 1);
        for k in 0..count {
            let (clone, turned) = self.clone_of(shoot, Some(number), *frame, piece, [k, count]);
            self.pieces(clone, turned, piece + 1)?;
        }
        *frame = self.parted(shoot, *frame, piece, None, at_foot);
        Ok(())
    }

    /// One of the stems that another splits into, and which way it goes.
    fn clone_of(
        &self,
        shoot: &mut Shoot,
        parent: Option<u32>,
        frame: Frame,
        piece: u32,
        [k, count]: [u32; 2],
    ) -> (Shoot, Frame) {
        shoot.clones += 1;
        let path = Seed(shoot.path.child("clone").bits(shoot.clones));
        let mut clone = Shoot { path, is_clone: true, parent, clones: 0, ..*shoot };
        let round = 360.0 / f64::from(count + 1) * f64::from(k + 1);
        let at_foot = shoot.level == 0 && piece == 0 && self.species.base_splits > 0;
        let turned = self.parted(&mut clone, frame, piece, Some(round), at_foot);
        (clone, turned)
    }

    /// Which way one of the stems goes that another splits into; `round` is how far round it the clone stands.
    fn parted(
        &self,
        shoot: &mut Shoot,
        frame: Frame,
        piece: u32,
        round: Option<f64>,
        at_foot: bool,
    ) -> Frame {
        let level = &self.species.levels[shoot.level];
        let index = u64::from(piece);
        let lean = frame.lean_deg();
        let angle =
            (level.split_deg + vary(shoot.path, For::Split, index, level.split_vary_deg) - lean).max(0.0);
        let left = f64::from(level.pieces - piece - 1);
        // Bent back over what is left, so that the crown keeps its way.
        shoot.back_deg = -angle / left;
        let mut turned = frame.bent(angle);
        if let Some(round) = round {
            let turn = if at_foot {
                round + vary(shoot.path, For::SplitTurn, index, level.split_vary_deg)
            } else {
                let chance = 0.5 + 0.5 * vary(shoot.path, For::SplitTurn, index, 1.0);
                let turn = 20.0 + 0.75 * (30.0 + (lean - 90.0).abs()) * chance * chance;
                if vary(shoot.path, For::SplitSide, index, 1.0) < 0.0 { -turn } else { turn }
            };
            turned = turned.about([0.0, 0.0, 1.0], turn);
        }
        turned
    }

    /// Shortens a stem until it ends within the outline, as far as the species wants.
    fn prune(&mut self, shoot: &mut Shoot, frame: Frame) -> Result<(), GrowError> {
        let wanted = shoot.length_m;
        let shortest = 0.001 * self.plant.scale_m;
        let mut length = wanted;
        while length > shortest {
            let mut carried = self.carried[shoot.level].splits;
            let shorter = Shoot { length_m: length, ..*shoot };
            let mut left = self.left;
            let inside = self.inside(shorter, frame, 0, &mut carried, &mut left);
            self.left = left;
            self.spend(1)?;
            let Some(inside) = inside else { break };
            // By a fifteenth at least, and by half at most.
            length = inside.max(0.5 * length).min(length - wanted / 15.0);
        }
        shoot.length_m = wanted + self.species.prune.ratio * (length.max(0.0) - wanted);
        shoot.radius_m *= math::pow(shoot.length_m / wanted, self.species.ratio_power);
        Ok(())
    }

    /// How much of a stem, and of what it splits into, lies within the outline; `None` where all of it does.
    fn inside(
        &self,
        mut shoot: Shoot,
        mut frame: Frame,
        first: u32,
        carried: &mut f64,
        left: &mut u64,
    ) -> Option<f64> {
        let level: &Level = &self.species.levels[shoot.level];
        let piece_m = shoot.length_m / f64::from(level.pieces);
        for piece in first..level.pieces {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return Some(0.0);
            }
            if piece > 0 {
                frame = self.turned(&shoot, frame, piece);
            }
            frame = frame.forward(piece_m);
            if !self.holds(frame.at) {
                return Some(f64::from(piece) * piece_m);
            }
            let count = if piece + 1 < level.pieces { Carried::whole(carried, level.splits) } else { 0 };
            for k in 0..count {
                let (clone, turned) = self.clone_of(&mut shoot, None, frame, piece, [k, count]);
                if let Some(inside) = self.inside(clone, turned, piece + 1, carried, left) {
                    return Some(inside);
                }
            }
            if count > 0 {
                frame = self.parted(&mut shoot, frame, piece, None, false);
            }
        }
        None
    }

    fn holds(&self, at: Vec3) -> bool {
        let (scale, prune) = (self.plant.scale_m, &self.species.prune);
        let down = (scale - at[2]) / (scale * (1.0 - self.species.bare_share));
        math::hypot(at[0], at[1]) / scale < prune.width * Shape::Envelope.ratio(down, prune)
    }
}

/// Depth in the ground at which stems end, in metres: enough to leave no gap.
const GROUND_M: f64 = 0.02;

/// Share of a piece that lies above the ground.
fn above_ground(frame: Frame, piece_m: f64) -> f64 {
    let falls = -frame.z[2] * piece_m;
    if frame.at[2] + GROUND_M >= falls { 1.0 } else { (frame.at[2] + GROUND_M) / falls }
}

/// A number from minus to plus `by`, for a stem, a purpose and an index.
fn vary(path: Seed, what: For, index: u64, by: f64) -> f64 {
    (2.0 * Seed(path.bits(what as u64)).unit(index) - 1.0) * by
}

/// Lean and turn of a child, in degrees. A turn below 0 sets children to either side in turn.
fn side(
    path: Seed,
    index: u64,
    [down, down_vary, rotate, rotate_vary]: [f64; 4],
    [lean, turn]: [For; 2],
    along: f64,
    turned: &mut f64,
) -> [f64; 2] {
    let down =
        if down_vary >= 0.0 { down + vary(path, lean, index, down_vary) } else { down + down_vary * along };
    let vary = vary(path, turn, index, rotate_vary);
    if rotate >= 0.0 {
        *turned = (*turned + rotate + vary + 360.0) % 360.0;
        return [down, *turned];
    }
    *turned = if *turned == 1.0 { -1.0 } else { 1.0 };
    [down, *turned * (180.0 + rotate + vary)]
}

/// How much wider a trunk is near its foot, at a share of its length.
pub(crate) fn flare(by: f64, along: f64) -> f64 {
    let near = (1.0 - 8.0 * along).max(0.0);
    by * (math::pow(100.0, near) - 1.0) / 100.0 + 1.0
}

/// Radius along a stem, by its taper: equations of the paper's section 4.3.
pub(crate) fn tapered(taper: f64, radius: f64, length: f64, along: f64) -> f64 {
    let unit = match taper {
        t if t < 1.0 => t,
        t if t < 2.0 => 2.0 - t,
        _ => 0.0,
    };
    let tapered = radius * (1.0 - unit * along);
    if taper <= 1.0 {
        return tapered;
    }
    let left = (1.0 - along) * length;
    let depth = if taper < 2.0 || left < tapered { 1.0 } else { taper - 2.0 };
    let round = if taper < 2.0 {
        left
    } else {
        (left - 2.0 * tapered * (left / (2.0 * tapered) + 0.5).floor()).abs()
    };
    if taper < 2.0 && round >= tapered {
        return tapered;
    }
    (1.0 - depth) * tapered
        + depth * (tapered * tapered - (round - tapered) * (round - tapered)).max(0.0).sqrt()
}
