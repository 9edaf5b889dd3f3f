//! What lies under the land: how fast it rises, and the beds it is made of.

pub mod beds;
mod line;
pub mod outcrop;
pub mod strata;
pub mod uplift;
pub(crate) mod variety;

pub use beds::{Bed, Places, STRATA, Strata as Beds};
pub use outcrop::Outcrop;
pub use strata::Strata;
pub use uplift::Uplift;

#[cfg(test)]
mod tests {
    use orogen_core::{AnyOp, Ctx, Frame, Raster, Seed, Terrain, layer, math};

    use super::strata::{At, Bed, Fault};
    use super::{Beds, Strata};
    use crate::erode::{Coast, Creep, Droplets, Glacier, Musgrave, Pipes, Thermal};

    const SIDE: usize = 65;
    const CELL_M: f64 = 20.0;

    /// A slope that rises from the sea to the north, mirrored about its middle, with hard rock in the west and soft rock in the east.
    fn land() -> Terrain {
        let mut terrain = Terrain::new(Frame::square((SIDE - 1) as f64 * CELL_M, SIDE).unwrap());
        let height = Raster::from_fn(SIDE, SIDE, |col, row| {
            let (off, north) = (col.abs_diff(SIDE / 2) as f64, (SIDE - 1 - row) as f64);
            let ribs = 6.0 * math::cos(0.9 * off) + 4.0 * math::cos(0.37 * off + 0.5 * north);
            ((north - 14.0) * 1.0 * CELL_M + ribs) as f32
        });
        terrain.set(layer::HEIGHT, height);
        let bed = |hardness: f64, talus_deg: f64| Bed {
            thickness_m: 5000.0,
            hardness,
            talus_deg,
            ..Bed::default()
        };
        let middle = (SIDE / 2) as f64 * CELL_M;
        let points = vec![At { x_m: middle, y_m: 0.0 }, At { x_m: middle, y_m: 1000.0 }];
        let strata = Strata {
            beds: vec![bed(0.95, 80.0), bed(0.1, 35.0)],
            top_m: 4000.0,
            repeats: false,
            uneven_m: 0.0,
            faults: vec![Fault { points, throw_m: -5000.0, reach_m: 0.0 }],
            ..Strata::default()
        };
        strata.apply(terrain, &Ctx::new(Seed(2))).unwrap()
    }

    #[test]
    fn every_erosion_wears_soft_beds_more_than_hard_ones() {
        let before = land();
        let strata = Beds::of(&before).unwrap();
        assert!(
            strata.at(100.0, 600.0, 300.0).hardness > 0.9 && strata.at(1000.0, 600.0, 300.0).hardness < 0.2
        );
        let operators: [(Box<dyn AnyOp>, f64); 7] = [
            (Box::new(Thermal { reach_m: 60.0, ..Thermal::default() }), 3.0),
            (Box::new(Musgrave { slide_m: 0.0, travel_m: 600.0, ..Musgrave::default() }), 1.5),
            (
                Box::new(Droplets {
                    talus_deg: 80.0,
                    rounds: 10,
                    drops_per_km2: 8000.0,
                    rain_m: 5.0,
                    ..Droplets::default()
                }),
                1.5,
            ),
            (
                Box::new(Pipes {
                    soil_m: 0.0.into(),
                    duration_s: 120.0,
                    runoff_s: 20.0,
                    bank_deg: 90.0,
                    ..Pipes::default()
                }),
                1.3,
            ),
            (Box::new(Creep { soil_m: 0.0.into(), duration_yr: 1e5, ..Creep::default() }), 2.0),
            (
                Box::new(Glacier {
                    duration_yr: 20_000.0,
                    equilibrium_m: 200.0,
                    snow_m_per_yr: 2.0,
                    variety: 0.0,
                    steps: 6,
                    ..Glacier::default()
                }),
                2.0,
            ),
            (Box::new(Coast { wind_deg: 0.0, variety: 0.0, duration_yr: 2000.0, ..Coast::default() }), 2.0),
        ];
        for (operator, least) in operators {
            let after = operator.apply(before.clone(), &Ctx::new(Seed(2))).unwrap();
            let (old, new) = (before.get(layer::HEIGHT).unwrap(), after.get(layer::HEIGHT).unwrap());
            let worn = |cols: std::ops::Range<usize>| -> f64 {
                let cells = (0..SIDE).flat_map(|row| cols.clone().map(move |col| (row, col)));
                cells.map(|(row, col)| f64::from((old.row(row)[col] - new.row(row)[col]).max(0.0))).sum()
            };
            let (hard, soft) = (worn(2..SIDE / 2 - 2), worn(SIDE / 2 + 3..SIDE - 2));
            assert!(
                soft > least * hard && soft > 1.0,
                "{}: {hard} of the hard, {soft} of the soft",
                operator.id()
            );
            assert!(new.as_slice().iter().all(|h| h.is_finite()));
        }
    }
}
