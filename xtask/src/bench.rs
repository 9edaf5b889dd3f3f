//! Benchmarks, read as multiples of the reference kernel in the same run.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::{cargo, run, target};

/// Runs the benchmarks and prints the figures of the issues beside what they should be.
pub fn run_all() -> Result<()> {
    for bench in ["foundation", "features"] {
        run(&mut cargo(&["bench", "-p", "orogen", "--bench", bench, "--", "--noplot", "--quiet"]))?;
    }
    let reference = |size: usize| seconds(&format!("reference/{size}"));
    let build = |size: usize| seconds(&format!("island_build/{size}"));
    println!("\nthe machine");
    for threads in [1, 2] {
        let bytes = 3.0 * 4.0 * f64::from(1 << 24);
        println!(
            "  triad, {threads} thread(s): {:.1} GB/s",
            bytes / seconds(&format!("triad/{threads}"))? / 1e9
        );
    }
    for size in [513, 1025, 2049] {
        println!("  reference kernel at {size}: {:.3} s", reference(size)?);
    }
    let arithmetic = seconds("arithmetic/1")? / seconds("arithmetic/2")?;
    println!("  a second core is worth {arithmetic:.2}");

    println!("\nfigures");
    figure(
        "island at 1025, export included, in reference kernels",
        build(1025)? / reference(1025)?,
        "at most 8",
    );
    let cells = |size: f64| size * size;
    let growth = build(2049)? / build(513)? / (cells(2049.0) / cells(513.0));
    figure("growth from 513 to 2049, against linear in cells", growth, "at most 1.05");
    let raster = |threads: usize| -> Result<f64> {
        Ok(seconds(&format!("island_operator_{threads}/1025"))?
            - seconds(&format!("island_operator_{threads}/2"))?)
    };
    figure(
        "raster part, 1 thread over 2",
        raster(1)? / raster(2)?,
        "at least 1.7 where the machine gives 1.9",
    );
    figure(
        "polygon map alone, in reference kernels",
        seconds("island_operator_2/2")? / reference(1025)?,
        "-",
    );
    figure("raster part alone, in reference kernels", raster(2)? / reference(1025)?, "-");
    figure("export alone, in reference kernels", seconds("island_export/1025")? / reference(1025)?, "-");
    let voronoi = seconds("voronoi_100000/graph")? / seconds("voronoi_100000/library")?;
    figure("Voronoi graph of 100,000, against 3 bare triangulations", voronoi, "at most 1.5");
    figure(
        "10,000 features on 2049, in reference kernels there",
        seconds("features/10000")? / seconds("features/reference")?,
        "at most 0.5",
    );
    for size in [1025usize, 2049, 4097] {
        let peak = peak_bytes(size)?;
        let samples = (size * size) as f64;
        let name = format!("peak memory at {size}: {:.0} MB; beyond 100 MB, bytes a cell", peak / 1e6);
        figure(&name, (peak - 100e6).max(0.0) / samples, "at most 60");
    }
    curves()?;
    cover()?;
    session()?;
    plants()?;
    previews()
}

/// Plants as geometry, by the time of one thread.
fn plants() -> Result<()> {
    run(&mut cargo(&["bench", "-p", "orogen-flora", "--bench", "plants", "--", "--noplot", "--quiet"]))?;
    let of = |name: &str| seconds(&format!("plants/{name}"));
    println!("\nplants, in reference kernels at 1025");
    figure("a whole black tupelo, grown and meshed", of("tupelo")? / of("reference")?, "at most 1.5");
    figure("its mesh alone", of("mesh")? / of("reference")?, "-");
    for level in 0..4 {
        let share = of(&format!("level_{level}"))? / of("reference")?;
        figure(&format!("its level of detail {level}"), share, "-");
    }
    figure("1000 trees at level 2 from 40 species and seeds, in s", of("forest")?, "at most 10");
    Ok(())
}

/// What a session asks for a tile of 65 x 65 samples.
fn session() -> Result<()> {
    run(&mut cargo(&["bench", "-p", "orogen", "--bench", "session", "--", "--noplot", "--quiet"]))?;
    let of = |name: &str| seconds(&format!("session/{name}"));
    println!("\na session");
    figure(
        "a tile of noise and 20 features, over the bare kernels",
        of("points")? / of("kernels")?,
        "at most 1.2",
    );
    figure("a tile of island, steps solved, in ms", 1000.0 * of("island")?, "at most 1");
    figure("tiles of island a second on two threads", 100.0 / of("island_100_tiles")?, "at least 2000");
    figure(
        "a stroke changed before 10 steps at 1025, over a clean build",
        of("edit")? / of("clean")?,
        "at most 0.1",
    );
    figure("a cached build of island starts, in ms", 1000.0 * cached_start_s()?, "at most 50");
    Ok(())
}

/// How long a build takes until it has the land, where all of it is in the cache: the best of a few.
fn cached_start_s() -> Result<f64> {
    let cache = target().join("bench-cache");
    remove(&cache)?;
    let mut best = f64::INFINITY;
    // The first fills the cache.
    for turn in 0..6 {
        let manifest = island(1025, &["--kinds", "geotiff"], |command| {
            command.env("OROGEN_CACHE_DIR", &cache);
        })?;
        let steps = manifest["steps"].as_array().context("the manifest has no steps")?;
        if turn > 0 {
            best = best.min(steps.iter().filter_map(|step| step["seconds"].as_f64()).sum());
        }
    }
    remove(&cache)?;
    Ok(best)
}

/// How far presets at 513 samples are from the same land at 4097.
fn previews() -> Result<()> {
    println!("\npresets at 513 samples against 4097, per cent of the relief");
    for preset in orogen::presets::PRESETS {
        let off = preset.preview_error(513, 4097).with_context(|| preset.name)?;
        figure(preset.name, 100.0 * off, "at most 3");
    }
    Ok(())
}

/// Ground materials and biomes on 4096 x 4096 samples, beside noise there.
fn cover() -> Result<()> {
    run(&mut cargo(&["bench", "-p", "orogen", "--bench", "cover", "--", "--noplot", "--quiet"]))?;
    let of = |name: &str| seconds(&format!("cover/{name}"));
    println!("\ncover at 4096, in simplex fBm of 8 octaves there");
    figure("12 materials by 6 parameters", of("materials")? / of("simplex")?, "at most 10");
    figure("biomes", of("biomes")? / of("simplex")?, "at most 2");
    println!("\nplants, millions a second on all threads");
    let asked = |name: &str| match name {
        "disks_4_1" => "at least 8",
        "disks_full_1" => "at least 2",
        _ => "-",
    };
    for kind in ["disks_4", "disks_12", "disks_full"] {
        for distance in [1, 2, 4, 8] {
            let name = format!("{kind}_{distance}");
            let rate = 1.0 / nanoseconds_each(&format!("plants/{name}"))? * 1e3;
            figure(&format!("Poisson {name}"), rate, asked(&name));
        }
    }
    figure("grass of a tile", 1e3 / nanoseconds_each("plants/grass")?, "at least 5");
    Ok(())
}

/// Feature curves: the solver against the plain iteration, its growth, and what an edit costs.
fn curves() -> Result<()> {
    run(&mut cargo(&["bench", "-p", "orogen", "--bench", "curves", "--", "--noplot", "--quiet"]))?;
    let of = |name: &str| seconds(&format!("curves/{name}"));
    println!(
        "\ncurves, 20 of them at 1025: {:.3} s apart, {:.3} s together",
        of("apart/1025")?,
        of("together/1025")?
    );
    figure(
        "plain iteration to the same residual, over the solver",
        of("jacobi")? / of("solver")?,
        "at least 30",
    );
    for name in ["apart", "together"] {
        let growth = of(&format!("{name}/4097"))?
            / of(&format!("{name}/1025"))?
            / (4097.0 * 4097.0 / (1025.0 * 1025.0));
        figure(&format!("{name}: growth from 1025 to 4097, against linear in cells"), growth, "at most 1.05");
    }
    figure("one point moved, over the first solve", of("moved")? / of("apart/1025")?, "at most 0.1");
    Ok(())
}

fn figure(name: &str, value: f64, wanted: &str) {
    println!("  {name:<62} {value:>7.2}   {wanted}");
}

/// The median of a benchmark for each of the things that it says it makes.
fn nanoseconds_each(name: &str) -> Result<f64> {
    let path = target().join("criterion").join(name).join("new/benchmark.json");
    let text = std::fs::read(&path).with_context(|| format!("no result for {name}"))?;
    let about: Value = serde_json::from_slice(&text)?;
    let count = about["throughput"]["Elements"].as_f64().with_context(|| format!("no count for {name}"))?;
    Ok(1e9 * seconds(name)? / count)
}

/// The median of a benchmark.
fn seconds(name: &str) -> Result<f64> {
    let path = target().join("criterion").join(name).join("new/estimates.json");
    let text = std::fs::read(&path).with_context(|| format!("no result for {name}"))?;
    let estimates: Value = serde_json::from_slice(&text)?;
    estimates["median"]["point_estimate"]
        .as_f64()
        .map(|ns| ns / 1e9)
        .with_context(|| format!("no median for {name}"))
}

/// The most memory a build of the island needs, as its manifest says.
fn peak_bytes(size: usize) -> Result<f64> {
    let manifest = island(size, &["--no-cache", "--threads", "2"], |_| {})?;
    manifest["peak_memory_bytes"].as_f64().context("the manifest has no peak")
}

/// The manifest of a build of the island.
fn island(size: usize, more: &[&str], prepare: impl Fn(&mut Command)) -> Result<Value> {
    let out = target().join("bench-out");
    let size = size.to_string();
    let out_text = out.to_string_lossy();
    let args = ["run", "--release", "--quiet", "--", "build", "recipes/island.toml", "--quiet", "--json"];
    let mut command = cargo(&args);
    command.args(["--samples", &size, "--out", &out_text]).args(more);
    prepare(&mut command);
    let output = command.output()?;
    remove(&out)?;
    serde_json::from_slice(&output.stdout).context("the build printed no manifest")
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}
