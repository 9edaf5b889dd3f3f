//! Things that stand on the ground by the million: plants, stones.
//!
//! They lie sorted by squares of [`CELL_M`] metres, so that what stands in a window is a few ranges of memory, and each
//! takes 32 bytes.

use bytemuck::{Pod, Zeroable};

use crate::frame::{Frame, Rect};
use crate::raster::Raster;
use crate::rng::Seed;

/// Side of the squares by which things are sorted, in metres.
pub const CELL_M: u32 = 256;

const MM: i64 = 1000;
const CELL_MM: i64 = CELL_M as i64 * MM;

/// One thing that stands on the ground.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Instance {
    /// Never changes while its step, its place in the pattern and its number there stay: edits by hand refer to it.
    pub id: u64,
    /// Millimetres east of its square's western edge.
    pub x_mm: u32,
    /// Millimetres north of its square's southern edge.
    pub y_mm: u32,
    /// Height of the ground it stands on, in metres; NaN until it was set.
    pub z_m: f32,
    /// Which species of the layer's list.
    pub species: u16,
    /// Turn to the left, in 1/65536 of a full turn.
    pub yaw: u16,
    /// Size against the usual one, in 1/4096.
    pub scale: u16,
    /// How far it leans, in degrees.
    pub tilt_deg: u8,
    /// Which way it leans, to the left of east, in 1/256 of a full turn.
    pub tilt_to: u8,
    /// From 0 (seedling) to 255 (as old as it gets).
    pub age: u8,
    /// From 0 (dead) to 255 (in full health).
    pub health: u8,
    /// Whatever the step that made it wants to say.
    pub tag: u16,
}

/// The id of the `k`-th thing that a step put into a cell of its pattern.
#[must_use]
pub fn id(step: Seed, cell: [i64; 2], k: u32) -> u64 {
    Seed(step.bits2(cell[0], cell[1])).bits(u64::from(k))
}

/// Things of several species, sorted by squares.
#[derive(Clone, Debug, Default)]
pub struct Instances {
    /// Names of the species.
    species: Vec<String>,
    /// Squares that hold something, in the order of (row, column), and where each starts.
    cells: Vec<CellStart>,
    things: Vec<Instance>,
}

impl PartialEq for Instances {
    /// Two things without a height are equal.
    fn eq(&self, other: &Self) -> bool {
        let bytes = |things| bytemuck::cast_slice::<Instance, u8>(things);
        self.species == other.species
            && self.cells == other.cells
            && bytes(self.things.as_slice()) == bytes(other.things.as_slice())
    }
}

/// Where the things of a square start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct CellStart {
    /// Squares east of the world's zero.
    col: i32,
    /// Squares north of it.
    row: i32,
    start: u32,
}

/// Why things cannot be taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InstancesError {
    /// A place that whole millimetres in 32-bit squares cannot say.
    #[error("a thing at {0}, {1} m lies too far from the world's zero")]
    TooFar(f64, f64),
    /// More than 32 bits can count.
    #[error("{0} things are more than the 4294967295 that a layer can hold")]
    TooMany(usize),
    /// The bytes are not those of a layer of things.
    #[error("these are not the bytes of a layer of things")]
    Bytes,
}

impl Instances {
    /// Sorts things by place; each is given with its place in world metres, which is rounded to whole millimetres. Those of
    /// one square are sorted by id, so that the order in which they come does not matter.
    ///
    /// # Errors
    /// When a place is too far away or there are too many.
    pub fn new(
        species: Vec<String>,
        things: impl IntoIterator<Item = ([f64; 2], Instance)>,
    ) -> Result<Self, InstancesError> {
        let mut placed = Vec::new();
        for (place, mut thing) in things {
            let far = || InstancesError::TooFar(place[0], place[1]);
            // Beyond that a millimetre is not a whole step of a 64-bit number any more.
            if !place.iter().all(|m| m.abs() < 4e11) {
                return Err(far());
            }
            let [x, y] = place.map(|m| (m * MM as f64).round() as i64);
            let cell = [x, y].map(|mm| i32::try_from(mm.div_euclid(CELL_MM)));
            let [Ok(col), Ok(row)] = cell else { return Err(far()) };
            [thing.x_mm, thing.y_mm] = [x, y].map(|mm| mm.rem_euclid(CELL_MM) as u32);
            placed.push(((row, col), thing));
        }
        if u32::try_from(placed.len()).is_err() {
            return Err(InstancesError::TooMany(placed.len()));
        }
        placed.sort_unstable_by_key(|(cell, thing)| (*cell, thing.id, thing.x_mm, thing.y_mm));
        let mut cells: Vec<CellStart> = Vec::new();
        for (i, ((row, col), _)) in placed.iter().enumerate() {
            if cells.last().is_none_or(|last| (last.row, last.col) != (*row, *col)) {
                cells.push(CellStart { col: *col, row: *row, start: i as u32 });
            }
        }
        Ok(Self { species, cells, things: placed.into_iter().map(|(_, thing)| thing).collect() })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Names of the species, by their numbers.
    #[must_use]
    pub fn species(&self) -> &[String] {
        &self.species
    }

    /// Bytes in memory.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.things.as_slice()) + size_of_val(self.cells.as_slice())
    }

    /// Everything with its place in world metres.
    pub fn iter(&self) -> impl Iterator<Item = ([f64; 2], &Instance)> {
        (0..self.cells.len()).flat_map(move |i| {
            let cell = self.cells[i];
            self.things[self.range(i)].iter().map(move |thing| (cell.place(thing), thing))
        })
    }

    /// What stands in a rectangle, its southern and western edges included, the others not: of tiles that meet, each
    /// thing belongs to one.
    #[must_use]
    pub fn crop(&self, rect: &Rect) -> Self {
        let [south, north] = [rect.min[1], rect.max[1]].map(|m| (m / f64::from(CELL_M)).floor());
        let first = self.cells.partition_point(|cell| f64::from(cell.row) < south);
        let last = self.cells.partition_point(|cell| f64::from(cell.row) <= north);
        let side = f64::from(CELL_M);
        let mut made = Self { species: self.species.clone(), ..Self::default() };
        for i in first..last {
            let cell = self.cells[i];
            let west = f64::from(cell.col) * side;
            if west >= rect.max[0] || west + side <= rect.min[0] {
                continue;
            }
            let start = made.things.len();
            let inside = |place: [f64; 2]| {
                (0..2).all(|axis| place[axis] >= rect.min[axis] && place[axis] < rect.max[axis])
            };
            let things = self.things[self.range(i)].iter();
            made.things.extend(things.filter(|thing| inside(cell.place(thing))).copied());
            if made.things.len() > start {
                made.cells.push(CellStart { start: start as u32, ..cell });
            }
        }
        made
    }

    /// Stands everything on the ground: heights between samples are those of the plane of four, as meshes have them.
    pub fn set_ground(&mut self, frame: &Frame, height: &Raster<f32>) {
        for i in 0..self.cells.len() {
            let (cell, range) = (self.cells[i], self.range(i));
            for thing in &mut self.things[range] {
                let [x, y] = cell.place(thing);
                let [col, row] = frame.locate(x, y);
                thing.z_m = height.bilinear(col, row);
            }
        }
    }

    /// All of it as bytes, little-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let count = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u64).to_le_bytes());
        count(&mut bytes, self.species.len());
        for name in &self.species {
            count(&mut bytes, name.len());
            bytes.extend(name.as_bytes());
        }
        count(&mut bytes, self.cells.len());
        bytes.extend(bytemuck::cast_slice::<_, u8>(&self.cells));
        count(&mut bytes, self.things.len());
        bytes.extend(bytemuck::cast_slice::<_, u8>(&self.things));
        bytes
    }

    /// What [`Instances::to_bytes`] gave.
    ///
    /// # Errors
    /// When the bytes are others.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, InstancesError> {
        let rest = &mut bytes;
        let mut species = Vec::new();
        for _ in 0..take_count(rest)? {
            let length = take_count(rest)?;
            let name = take(rest, length)?.to_vec();
            species.push(String::from_utf8(name).map_err(|_| InstancesError::Bytes)?);
        }
        let cells: Vec<CellStart> = take_all(rest)?;
        let things: Vec<Instance> = take_all(rest)?;
        let starts = cells.iter().map(|cell| cell.start);
        let sorted = cells.is_sorted_by(|a, b| (a.row, a.col) < (b.row, b.col))
            && starts.clone().is_sorted_by(|a, b| a < b)
            && starts.clone().next().unwrap_or(0) == 0
            && starts.clone().next_back().is_none_or(|last| (last as usize) < things.len())
            && (cells.is_empty() == things.is_empty());
        let known = things.iter().all(|thing| usize::from(thing.species) < species.len());
        if !rest.is_empty() || !sorted || !known {
            return Err(InstancesError::Bytes);
        }
        Ok(Self { species, cells, things })
    }

    fn range(&self, cell: usize) -> std::ops::Range<usize> {
        let end = self.cells.get(cell + 1).map_or(self.things.len(), |next| next.start as usize);
        self.cells[cell].start as usize..end
    }
}

impl CellStart {
    fn place(self, thing: &Instance) -> [f64; 2] {
        let metres = |cell: i32, mm: u32| (i64::from(cell) * CELL_MM + i64::from(mm)) as f64 / MM as f64;
        [metres(self.col, thing.x_mm), metres(self.row, thing.y_mm)]
    }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], InstancesError> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(InstancesError::Bytes)?;
    *bytes = rest;
    Ok(taken)
}

fn take_count(bytes: &mut &[u8]) -> Result<usize, InstancesError> {
    let count = take(bytes, 8)?.try_into().map_err(|_| InstancesError::Bytes)?;
    usize::try_from(u64::from_le_bytes(count)).map_err(|_| InstancesError::Bytes)
}

fn take_all<T: Pod>(bytes: &mut &[u8]) -> Result<Vec<T>, InstancesError> {
    let count = take_count(bytes)?;
    let size = count.checked_mul(size_of::<T>()).ok_or(InstancesError::Bytes)?;
    let taken = take(bytes, size)?;
    let mut all = vec![T::zeroed(); count];
    bytemuck::cast_slice_mut(&mut all).copy_from_slice(taken);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(id: u64) -> Instance {
        Instance { id, scale: 4096, health: 255, z_m: f32::NAN, ..Zeroable::zeroed() }
    }

    /// Things at pseudo-random places of a square of 3 km that lies across the world's zero.
    fn wood(count: u64) -> Instances {
        let places = (0..count).map(|i| {
            let at = |axis: u64| Seed(7).unit(2 * i + axis) * 3000.0 - 1000.0;
            ([at(0), at(1)], thing(i))
        });
        Instances::new(vec![String::from("oak")], places).unwrap()
    }

    #[test]
    fn a_thing_takes_32_bytes() {
        assert_eq!(size_of::<Instance>(), 32);
        let wood = wood(100_000);
        assert!(wood.size_bytes() <= 32 * 100_000 + 12 * 200);
    }

    #[test]
    fn of_tiles_that_meet_each_thing_belongs_to_one() {
        let wood = wood(20_000);
        let mut found = Vec::new();
        for col in 0..5 {
            for row in 0..4 {
                let min = [f64::from(col) * 600.0 - 1000.0, f64::from(row) * 750.0 - 1000.0];
                let part = wood.crop(&Rect { min, max: [min[0] + 600.0, min[1] + 750.0] });
                found.extend(part.iter().map(|(_, thing)| thing.id));
            }
        }
        found.sort_unstable();
        assert_eq!(found, (0..20_000).collect::<Vec<_>>());
    }

    #[test]
    fn the_edge_belongs_to_the_east_and_the_north() {
        let one = Instances::new(vec![String::from("oak")], [([256.0, 512.0], thing(1))]).unwrap();
        let count = |min: [f64; 2], max: [f64; 2]| one.crop(&Rect { min, max }).len();
        assert_eq!(count([0.0, 0.0], [256.0, 600.0]), 0);
        assert_eq!(count([256.0, 0.0], [512.0, 512.0]), 0);
        assert_eq!(count([256.0, 512.0], [257.0, 513.0]), 1);
    }

    #[test]
    fn neither_order_nor_bytes_change_anything() {
        let wood = wood(3000);
        let mut things: Vec<_> = wood.iter().map(|(place, thing)| (place, *thing)).collect();
        things.reverse();
        let again = Instances::new(wood.species().to_vec(), things).unwrap().to_bytes();
        assert_eq!(again, wood.to_bytes());
        assert_eq!(Instances::from_bytes(&again).unwrap().to_bytes(), again);
        for cut in [0, 7, 20, again.len() - 1] {
            assert!(Instances::from_bytes(&again[..cut]).is_err());
        }
    }

    #[test]
    fn things_stand_on_the_ground() {
        let frame = Frame::square(1000.0, 11).unwrap();
        let slope = Raster::from_fn(11, 11, |col, _| 10.0 * col as f32);
        let mut one = Instances::new(vec![String::from("oak")], [([250.0, 300.0], thing(1))]).unwrap();
        one.set_ground(&frame, &slope);
        assert_eq!(one.iter().next().unwrap().1.z_m, 25.0);
    }

    #[test]
    fn places_beyond_all_bounds_are_refused() {
        for far in [1e15, f64::NAN, f64::INFINITY] {
            assert!(Instances::new(Vec::new(), [([far, 0.0], thing(1))]).is_err());
        }
    }
}
