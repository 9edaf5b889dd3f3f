use super::*;

const SIDE: f64 = 240.0;

fn kinds() -> [Kind; 3] {
    let kind =
        |radius_m, height_m, age_yr, seeds_m, shade| Kind { radius_m, height_m, age_yr, seeds_m, shade };
    [kind(3.0, 20.0, 200.0, 15.0, 0.3), kind(2.5, 16.0, 150.0, 12.0, 0.3), kind(1.5, 5.0, 60.0, 8.0, 0.8)]
}

/// Three species alike, so that none drives the others out.
const ALIKE: Kind = Kind { radius_m: 2.5, height_m: 16.0, age_yr: 150.0, seeds_m: 8.0, shade: 0.3 };

fn of<W: Fn(usize, [f64; 2]) -> f64 + Sync>(kinds: &[Kind], home: W) -> Ecosystem<'_, W> {
    Ecosystem {
        kinds,
        home,
        bounds: Rect { min: [0.0; 2], max: [SIDE; 2] },
        loops: false,
        seed: Seed(7),
        years_a_round: 10.0,
        seeds: 1.0,
        first_per_m2: 0.004,
        strays_per_m2: 0.0,
    }
}

fn run<W: Fn(usize, [f64; 2]) -> f64 + Sync>(ecosystem: &Ecosystem<'_, W>, rounds: usize) -> Vec<Tree> {
    ecosystem.run(rounds, &Ctx::silent(), |_, _| {}).unwrap().trees().copied().collect()
}

fn count(trees: &[Tree], species: u16) -> usize {
    trees.iter().filter(|tree| tree.species == species).count()
}

/// Pairs of one species up to a distance against those that chance would make: Ripley's K over that of random places.
fn ripley(trees: &[Tree], species: u16, within_m: f64) -> f64 {
    let own: Vec<&Tree> = trees.iter().filter(|tree| tree.species == species).collect();
    // Only trees whose circle lies inside count, so the edge needs no correction.
    let inner = |tree: &&&Tree| tree.place.iter().all(|m| (within_m..SIDE - within_m).contains(m));
    let centres: Vec<_> = own.iter().filter(inner).collect();
    let near = |a: &Tree, b: &Tree| {
        let [dx, dy] = [0, 1].map(|axis| a.place[axis] - b.place[axis]);
        a.id != b.id && dx * dx + dy * dy < within_m * within_m
    };
    let pairs: usize = centres.iter().map(|a| own.iter().filter(|b| near(a, b)).count()).sum();
    let expected = own.len() as f64 / (SIDE * SIDE) * std::f64::consts::PI * within_m * within_m;
    pairs as f64 / (centres.len() as f64 * expected)
}

#[test]
fn species_cluster() {
    let trees = run(&of(&[ALIKE; 3], |_, _| 0.8), 40);
    for species in 0..3 {
        let found = ripley(&trees, species, 20.0);
        assert!(found > 1.25, "K of species {species} is {found} times that of chance");
    }
    // The same places with species dealt out at random do not.
    let dealt: Vec<Tree> =
        trees.iter().map(|tree| Tree { species: (Seed(tree.id).bits(9) % 3) as u16, ..*tree }).collect();
    for species in 0..3 {
        let found = ripley(&dealt, species, 20.0);
        assert!(
            (0.85..1.15).contains(&found),
            "K of dealt species {species} is {found} times that of chance"
        );
    }
}

#[test]
fn nothing_grows_outside_its_area() {
    let home = |species: usize, [x, _]: [f64; 2]| if (x < 120.0) == (species == 0) { 0.8 } else { 0.0 };
    let trees = run(&Ecosystem { strays_per_m2: 0.001, ..of(&kinds(), home) }, 30);
    assert!(trees.iter().all(|tree| (tree.place[0] < 120.0) == (tree.species == 0)));
    assert!(count(&trees, 0) > 100 && count(&trees, 1) > 100);
}

#[test]
fn it_ends_in_balance() {
    let mut counts = Vec::new();
    let kinds = kinds();
    let ecosystem = of(&kinds, |_, _| 0.8);
    ecosystem.run(120, &Ctx::silent(), |_, forest| counts.push(forest.len())).unwrap();
    let late = &counts[80..];
    let (least, most) = (late.iter().min().unwrap(), late.iter().max().unwrap());
    assert!(*least > 400 && (*most as f64) < 1.2 * *least as f64, "{counts:?}");
}

#[test]
fn what_needs_light_loses_under_shade() {
    let tall = Kind { shade: 0.1, ..ALIKE };
    let bears = Kind { shade: 0.9, ..ALIKE };
    let trees = run(&of(&[tall, bears], |_, _| 0.8), 60);
    assert!(count(&trees, 1) > 3 * count(&trees, 0), "{} and {}", count(&trees, 0), count(&trees, 1));
    // Alike in that, neither wins by so much.
    let trees = run(&of(&[tall, tall], |_, _| 0.8), 60);
    assert!(count(&trees, 1) < 2 * count(&trees, 0) && count(&trees, 0) < 2 * count(&trees, 1));
    // Below crowns stands what bears their shade.
    let kinds = kinds();
    let trees = run(&of(&kinds, |_, _| 0.8), 60);
    let stages = Stages::new(&kinds, 10.0);
    let covered = |tree: &Tree| {
        trees.iter().any(|other| {
            let [dx, dy] = [0, 1].map(|axis| tree.place[axis] - other.place[axis]);
            let stage = stages.of(other);
            stage.height_m > 2.0 * stages.of(tree).height_m
                && dx * dx + dy * dy < stage.radius_m * stage.radius_m
        })
    };
    assert!(trees.iter().any(|tree| tree.species == 2 && covered(tree)));
    assert!(trees.iter().all(|tree| tree.species == 2 || !covered(tree)));
}

#[test]
fn the_fitter_species_wins_its_ground() {
    let home = |species: usize, [x, _]: [f64; 2]| if (x < 120.0) == (species == 0) { 0.9 } else { 0.5 };
    let trees = run(&of(&[ALIKE; 2], home), 60);
    let west: Vec<Tree> = trees.iter().filter(|tree| tree.place[0] < 100.0).copied().collect();
    let east: Vec<Tree> = trees.iter().filter(|tree| tree.place[0] > 140.0).copied().collect();
    assert!(count(&west, 0) > 5 * count(&west, 1), "{} and {}", count(&west, 0), count(&west, 1));
    assert!(count(&east, 1) > 5 * count(&east, 0), "{} and {}", count(&east, 1), count(&east, 0));
}

#[test]
fn a_snapshot_is_the_run_that_ends_there() {
    let kinds = kinds();
    let ecosystem = of(&kinds, |_, _| 0.8);
    let mut kept = Vec::new();
    let keep = |round, forest: &Forest| {
        if round == 17 {
            kept = forest.trees().copied().collect();
        }
    };
    ecosystem.run(30, &Ctx::silent(), keep).unwrap();
    assert!(kept.len() > 100);
    assert_eq!(kept, run(&ecosystem, 17));
}

#[test]
fn no_two_of_a_storey_collide() {
    let kinds = kinds();
    for loops in [false, true] {
        let trees = run(&Ecosystem { loops, ..of(&kinds, |_, _| 0.8) }, 40);
        let stages = Stages::new(&kinds, 10.0);
        let mut over_the_seam = 0;
        for (i, a) in trees.iter().enumerate() {
            for b in trees[..i].iter().filter(|b| b.species < 2 && a.species < 2) {
                let [dx, dy] = [0, 1].map(|axis| {
                    let along = (a.place[axis] - b.place[axis]).abs();
                    if loops { along.min(SIDE - along) } else { along }
                });
                let (apart, least) =
                    ((dx * dx + dy * dy).sqrt(), stages.of(a).radius_m + stages.of(b).radius_m);
                assert!(apart >= least - 1e-9, "{apart} m instead of {least}");
                let plain = (a.place[0] - b.place[0]).abs().max((a.place[1] - b.place[1]).abs());
                over_the_seam += usize::from(apart < least + 1.0 && plain > SIDE / 2.0);
            }
        }
        assert_eq!(over_the_seam > 3, loops, "neighbours over the seam: {over_the_seam}");
    }
}

#[test]
fn threads_change_nothing() {
    let made = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&of(&kinds(), |_, _| 0.8), 12))
    };
    let one = made(1);
    assert!(one.len() > 100);
    assert_eq!(one, made(8));
}

/// How many stand on a square of the grown radius: what memory and work are estimated by.
#[test]
fn forests_are_as_crowded_as_declared() {
    for kinds in [&[ALIKE][..], &[ALIKE; 3], &kinds()] {
        let trees = run(&of(kinds, |_, _| 0.9), 60);
        let packed: f64 =
            kinds.iter().map(|k| 1.0 / (k.radius_m * k.radius_m)).sum::<f64>() / kinds.len() as f64;
        let found = trees.len() as f64 / (SIDE * SIDE * packed);
        println!("{found:.3} on a square of the radius");
        assert!(found < super::super::PACKED && found > 0.4 * super::super::PACKED, "{found}");
    }
}
