//! Snapshots of a step that lets time go by: its layers `film.water_1`, `film.change_1` and so on, as land of that time.

use orogen_core::{LayerName, Raster, Terrain, layer};

/// The numbers of the snapshots among the layers of a terrain, in order of time.
pub(crate) fn shots<'a>(layers: impl Iterator<Item = &'a LayerName>) -> Vec<u32> {
    let number = |name: &LayerName| name.as_str().strip_prefix("film.change_")?.parse().ok();
    let mut shots: Vec<u32> = layers.filter_map(number).collect();
    shots.sort_unstable();
    shots
}

/// The land as it was at a snapshot, with the water of that time; `None` when its layers are not there.
///
/// The last snapshot is the outcome of the step, so heights go back from there: what later steps did shows in all of them.
pub(crate) fn land_at(terrain: &Terrain, shot: u32) -> Option<Terrain> {
    let film = |what: &str, shot: u32| {
        terrain.get_named::<f32>(&LayerName::parse(&format!("film.{what}_{shot}"))?).ok()
    };
    let (then, last) = (film("change", shot)?, film("change", *shots(terrain.layers().keys()).last()?)?);
    let now = terrain.get(layer::HEIGHT).ok()?;
    let height = Raster::from_fn(now.cols(), now.rows(), |col, row| {
        now.row(row)[col] - (last.row(row)[col] - then.row(row)[col])
    });
    let mut land = Terrain::new(*terrain.frame());
    land.set(layer::HEIGHT, height);
    if let Some(water) = film("water", shot) {
        land.set(layer::WATER, water.clone());
    }
    Some(land)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::{Frame, LayerData};

    #[test]
    fn heights_go_back_from_the_last_snapshot() {
        let mut terrain = Terrain::new(Frame::square(10.0, 2).unwrap());
        let mut set = |name: &str, value: f32| {
            let data = LayerData::F32(Raster::filled(2, 2, value).into());
            terrain.set_named(LayerName::parse(name).unwrap(), data);
        };
        set("height", 100.0);
        for (shot, change) in [(1, -1.0), (2, -4.0), (10, -9.0)] {
            set(&format!("film.change_{shot}"), change);
            set(&format!("film.water_{shot}"), 0.1 * shot as f32);
        }
        assert_eq!(shots(terrain.layers().keys()), [1, 2, 10]);
        let height = |shot: u32| land_at(&terrain, shot).unwrap().get(layer::HEIGHT).unwrap().as_slice()[0];
        assert_eq!([height(1), height(2), height(10)], [108.0, 105.0, 100.0]);
        assert_eq!(land_at(&terrain, 2).unwrap().get(layer::WATER).unwrap().as_slice()[0], 0.2);
        assert!(land_at(&terrain, 3).is_none());
    }
}
