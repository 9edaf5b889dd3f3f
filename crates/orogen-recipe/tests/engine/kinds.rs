//! Ids, weights and instances on their way through windows, masks and the cache.

use std::collections::BTreeSet;

use orogen_core::layer::BASIN;
use orogen_core::{Frame, Terrain, weights};
use orogen_recipe::{Cache, Plan, RunOptions, run};

use crate::fakes::{FIRST_ID, assert_same_bits, build, checked};

fn recipe(seed: &str, rest: &str) -> String {
    format!(
        "seed = {seed:?}\nframe = {{ size_m = [1000, 800], samples = [101, 81], origin_m = [123.25, -77.5] }}\n\
         [[step]]\nid = \"a\"\nop = \"source.waves\"\n\
         [[step]]\nid = \"m\"\nop = \"mask.east\"\n\
         [[step]]\nid = \"c\"\nop = \"cover.parcels\"\n{rest}"
    )
}

fn assert_whole_weights(terrain: &Terrain, members: usize) {
    let families = weights::families(terrain.layers());
    assert_eq!(families["material"].len(), members);
    assert_eq!(weights::unsound(&families["material"]), None);
    let sum =
        |at: usize| families["material"].iter().map(|(_, r)| u32::from(r.as_slice()[at].0)).sum::<u32>();
    assert!((0..terrain.frame().len()).all(|at| sum(at) == weights::WHOLE));
}

fn finer(base: &Frame, by: f64) -> Frame {
    let [dx, dy] = base.spacing_m();
    let whole = base.resampled(&base.extent(), [dx / by, dy / by]).unwrap();
    whole.window(7, 5, whole.cols() / 2, whole.rows() / 2)
}

#[test]
fn ids_and_weights_are_exact_in_windows_of_any_spacing() {
    let checked = checked(&recipe("kinds", ""));
    let base = *checked.frame();
    let whole = build(&checked, base);
    assert_whole_weights(&whole, 2);
    let known: BTreeSet<u32> = whole.get(BASIN).unwrap().as_slice().iter().copied().collect();
    assert_eq!(known.first(), Some(&FIRST_ID));
    assert_same_bits(&whole, &build(&checked, base.window(3, 4, 41, 30)), "a window of the same lattice");
    for by in [2.0, 3.0, 1.7, 7.3] {
        let window = finer(&base, by);
        let part = build(&checked, window);
        assert_whole_weights(&part, 2);
        let ids = part.get(BASIN).unwrap();
        for row in 0..window.rows() {
            for col in 0..window.cols() {
                let [c, r] = base.locate(window.x_m(col), window.y_m(row)).map(|at| at.round() as isize);
                assert_eq!(ids.row(row)[col], whole.get(BASIN).unwrap().clamped(c, r));
            }
        }
    }
}

#[test]
fn a_family_is_replaced_as_a_whole_and_masked_as_one() {
    // The second step knows one material more; under a mask both have their share.
    let again = "[[step]]\nid = \"d\"\nop = \"cover.parcels\"\nparams = { snow = true }\n";
    let fewer = "[[step]]\nid = \"e\"\nop = \"cover.parcels\"\n";
    for (rest, members) in [
        (format!("params = {{ snow = true }}\n{fewer}"), 2),
        (format!("{again}mask = \"mask\"\n"), 3),
        (format!("params = {{ snow = true }}\n{fewer}mask = \"mask\"\n"), 3),
    ] {
        let checked = checked(&recipe("families", &rest));
        let base = *checked.frame();
        assert_whole_weights(&build(&checked, base), members);
        for by in [1.0, 3.0, 2.6] {
            assert_whole_weights(&build(&checked, finer(&base, by)), members);
        }
    }
}

#[test]
fn every_kind_comes_back_from_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let checked = checked(&recipe("stored", ""));
    let fresh = build(&checked, *checked.frame());
    for _ in 0..2 {
        let cache = Cache::open(dir.path(), 1 << 30).unwrap();
        let options = RunOptions { cache: Some(&cache), ..RunOptions::default() };
        let found = run(&checked, &Plan::whole(&checked).unwrap(), &options).unwrap().terrain;
        assert_eq!(found, fresh);
        assert_eq!(found.layers()["material.rock"].kind(), orogen_core::Kind::Weight);
        assert!(found.get(BASIN).unwrap().as_slice().contains(&FIRST_ID));
    }
}

#[test]
fn of_tiles_that_meet_each_plant_stands_on_one() {
    let checked = checked(&recipe("plants", ""));
    let base = *checked.frame();
    let ids = |terrain: &Terrain| -> Vec<u64> {
        terrain.instances()["plants"].iter().map(|(_, plant)| plant.id).collect()
    };
    let mut all = ids(&build(&checked, base));
    all.sort_unstable();
    assert!(all.len() > 2900 && all.windows(2).all(|pair| pair[0] < pair[1]), "{} plants", all.len());
    for by in [1.0, 3.0] {
        let [dx, dy] = base.spacing_m();
        let lattice = base.resampled(&base.extent(), [dx / by, dy / by]).unwrap();
        let (wide, tall) = (lattice.cols() - 1, lattice.rows() - 1);
        let mut found = Vec::new();
        for col in 0..4 {
            for row in 0..5 {
                // Tiles share the samples along their edges.
                let tile = lattice.window(
                    (col * wide / 4) as i64,
                    (row * tall / 5) as i64,
                    wide / 4 + 1,
                    tall / 5 + 1,
                );
                found.extend(ids(&build(&checked, tile)));
            }
        }
        found.sort_unstable();
        assert_eq!(found, all, "tiles of a spacing divided by {by}");
    }
}
