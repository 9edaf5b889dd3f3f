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
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
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

/// A thing with its place in world metres, as other programs take it. Numbers of [`Instance`] are as they are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Placed {
    /// As [`Instance::id`].
    pub id: u64,
    /// Metres to the east.
    pub x_m: f64,
    /// Metres to the north.
    pub y_m: f64,
    /// As [`Instance::z_m`].
    pub z_m: f32,
    /// As [`Instance::species`].
    pub species: u16,
    /// As [`Instance::yaw`].
    pub yaw: u16,
    /// As [`Instance::scale`].
    pub scale: u16,
    /// As [`Instance::tag`].
    pub tag: u16,
    /// As [`Instance::tilt_deg`].
    pub tilt_deg: u8,
    /// As [`Instance::tilt_to`].
    pub tilt_to: u8,
    /// As [`Instance::age`].
    pub age: u8,
    /// As [`Instance::health`].
    pub health: u8,
}

impl Placed {
    fn new([x_m, y_m]: [f64; 2], thing: &Instance) -> Self {
        let Instance { id, x_mm: _, y_mm: _, z_m, species, yaw, scale, tilt_deg, tilt_to, age, health, tag } =
            *thing;
        Self { id, x_m, y_m, z_m, species, yaw, scale, tag, tilt_deg, tilt_to, age, health }
    }

    fn thing(self) -> ([f64; 2], Instance) {
        let Self { id, x_m, y_m, z_m, species, yaw, scale, tag, tilt_deg, tilt_to, age, health } = self;
        let (x_mm, y_mm) = (0, 0);
        let thing =
            Instance { id, x_mm, y_mm, z_m, species, yaw, scale, tilt_deg, tilt_to, age, health, tag };
        ([x_m, y_m], thing)
    }
}

/// Whether whole millimetres in squares can say a place: it is a number, and not too far from the world's zero.
#[must_use]
pub fn can_stand(place: [f64; 2]) -> bool {
    // Beyond that a millimetre is not a whole step of a 64-bit number any more.
    place.iter().all(|m| m.abs() < 4e11)
}

/// Why things cannot be taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InstancesError {
    /// A place that whole millimetres in 32-bit squares cannot say.
    #[error("an instance at {0}, {1} m lies too far from the origin of the world")]
    TooFar(f64, f64),
    /// A species that is not in the list.
    #[error("the species {0} is not one of the {1} that the layer has")]
    Species(u16, usize),
    /// More than 32 bits can count.
    #[error("{0} instances are more than the 4294967295 that a layer can hold")]
    TooMany(usize),
    /// The bytes are not those of a layer of instances.
    #[error("these are not the bytes of a layer of instances")]
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
            if !can_stand(place) {
                return Err(far());
            }
            if usize::from(thing.species) >= species.len() {
                return Err(InstancesError::Species(thing.species, species.len()));
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

    /// Everything as records of [`Placed`], in the machine's byte order.
    #[must_use]
    pub fn records(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() * size_of::<Placed>());
        self.iter().for_each(|(place, thing)| bytes.extend(bytemuck::bytes_of(&Placed::new(place, thing))));
        bytes
    }

    /// Things from records of [`Placed`].
    ///
    /// # Errors
    /// As [`Instances::new`], and when the bytes are not a whole number of records.
    pub fn from_records(species: Vec<String>, bytes: &[u8]) -> Result<Self, InstancesError> {
        let (records, rest) = bytes.as_chunks::<{ size_of::<Placed>() }>();
        if !rest.is_empty() {
            return Err(InstancesError::Bytes);
        }
        Self::new(
            species,
            records.iter().map(|record| bytemuck::pod_read_unaligned::<Placed>(record).thing()),
        )
    }

    /// What stands in a rectangle, its southern and western edges included, the others not: of tiles that meet, each
    /// thing belongs to one.
    #[must_use]
    pub fn crop(&self, rect: &Rect) -> Self {
        let mut made = Self { species: self.species.clone(), ..Self::default() };
        for i in self.squares(rect) {
            let cell = self.cells[i];
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

    /// The squares that a rectangle touches: a few runs of them, each found by bisection.
    fn squares(&self, rect: &Rect) -> impl Iterator<Item = usize> {
        let [min, max] = [rect.min, rect.max].map(|corner| {
            // Squares beyond 32 bits hold nothing; the cast keeps to the last one.
            corner.map(|m| (m / f64::from(CELL_M)).floor() as i32)
        });
        let before =
            |row: i32, col: i32| self.cells.partition_point(|cell| (cell.row, cell.col) < (row, col));
        let mut next = before(min[1], min[0]);
        std::iter::from_fn(move || {
            while let Some(cell) = self.cells.get(next) {
                if cell.row > max[1] {
                    return None;
                }
                if cell.col > max[0] {
                    // On to the next row that holds anything.
                    next = before(cell.row.checked_add(1)?, min[0]);
                } else if cell.col < min[0] {
                    next = before(cell.row, min[0]);
                } else {
                    next += 1;
                    return Some(next - 1);
                }
            }
            None
        })
    }

    /// How many things a crop looks at.
    #[cfg(test)]
    fn looked_at(&self, rect: &Rect) -> usize {
        self.squares(rect).map(|i| self.range(i).len()).sum()
    }

    /// Stands everything on the ground: heights between samples are those of the plane of four, as meshes have them. What lies
    /// beyond the frame keeps the height that it has, or gets that of the edge.
    pub fn set_ground(&mut self, frame: &Frame, height: &Raster<f32>) {
        let Rect { min, max } = frame.extent();
        for i in 0..self.cells.len() {
            let (cell, range) = (self.cells[i], self.range(i));
            for thing in &mut self.things[range] {
                let [x, y] = cell.place(thing);
                let inside = x >= min[0] && x <= max[0] && y >= min[1] && y <= max[1];
                if inside || thing.z_m.is_nan() {
                    let [col, row] = frame.locate(x, y);
                    thing.z_m = height.bilinear(col, row);
                }
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
    fn records_keep_every_number() {
        assert_eq!(size_of::<Placed>(), 40);
        let wood = wood(500);
        let records = wood.records();
        assert_eq!(records.len(), 500 * 40);
        let again = Instances::from_records(wood.species().to_vec(), &records).unwrap();
        assert_eq!(again, wood);
        assert_eq!(Instances::from_records(Vec::new(), &records[1..]), Err(InstancesError::Bytes));
        assert_eq!(Instances::from_records(Vec::new(), &records), Err(InstancesError::Species(0, 0)));
    }

    #[test]
    fn a_crop_costs_what_it_holds_and_not_what_there_is() {
        // 64 km of wood, of which a window of 1 km is wanted: less than a thousandth.
        let side = 64_000.0;
        let places = (0..1_000_000u64).map(|i| {
            let at = |axis: u64| Seed(7).unit(2 * i + axis) * side;
            ([at(0), at(1)], thing(i))
        });
        let wood = Instances::new(vec![String::from("oak")], places).unwrap();
        let window = Rect { min: [20_000.0, 30_000.0], max: [21_000.0, 31_000.0] };
        let part = wood.crop(&window);
        let looked_at = wood.looked_at(&window);
        assert!(part.len() > 150, "{} things", part.len());
        // Squares that the window touches: 5 by 5 of 256 m, 1.64 km2 for its 1 km2.
        assert!(looked_at < 3 * part.len(), "{looked_at} looked at for {}", part.len());
        assert!(looked_at * 1000 < wood.len(), "{looked_at} of {}", wood.len());
    }

    #[test]
    fn places_beyond_all_bounds_are_refused() {
        for far in [1e15, f64::NAN, f64::INFINITY] {
            assert!(Instances::new(vec![String::from("oak")], [([far, 0.0], thing(1))]).is_err());
        }
    }
}
