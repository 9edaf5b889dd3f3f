//! Our speed beside that of others: `cargo xtask bench --peers`.
//!
//! Each library measured has a runner: a program that reads one question a line and answers `ok NUMBER` or `no SENTENCE`.
//! Orogen answers through its Python package (`bench/python/ours.py`). Every figure is asked in rounds, ours and theirs
//! by turns, so that whatever else the machine does meets both; medians are compared. A peer that cannot be installed or
//! built is skipped with a message.
//!
//! To add a peer from PyPI: its name to `PACKAGES`, a script in `bench/python` to `RUNNERS`, its questions to `FIGURES`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, has, run, target};

/// What the environment needs to build anything at all.
const TOOLS: &[&str] = &["maturin==1.16.*", "numpy>=2", "cmake<4", "libclang"];

/// Peers on PyPI, each installed by itself.
const PACKAGES: &[&str] = &[
    "pyfastnoiselite",
    "rasterio",
    "orographic_precipitation",
    "pydelatin",
    "pymartini",
    "topotoolbox",
    "pysheds",
    "surtgis",
    "numba",
    "fastscapelib",
    // The newest that goes with this Python, which landlab does not ask for. RichDEM comes with landlab.
    "requireit==0.8.0",
    "landlab",
];

/// Who answers: a name, and how it is started.
const RUNNERS: &[(&str, Start)] = &[
    ("orogen", Start::Python("bench/python/ours.py")),
    ("yardstick", Start::Yardstick),
    ("rust", Start::Peers),
    ("pypi", Start::Python("bench/python/pypi.py")),
    ("gdal", Start::Python("bench/python/gdal.py")),
    ("files", Start::Program("bench/python/files.py")),
    ("numba-pipes", Start::Python("bench/python/pipes.py")),
    ("numba", Start::Python("bench/python/compiled.py")),
    ("landscapes", Start::Python("bench/python/landscapes.py")),
];

/// How a runner is started.
#[derive(Clone, Copy)]
enum Start {
    /// A script in the environment.
    Python(&'static str),
    /// The same, given the program `orogen`; it answers for both sides.
    Program(&'static str),
    /// The example `yardstick` of the crate `orogen`.
    Yardstick,
    /// The program of `bench/peers`.
    Peers,
}

/// What is asked and what the answer is held against.
struct Figure {
    what: &'static str,
    /// What `orogen` is asked.
    ours: &'static str,
    theirs: Theirs,
    /// Samples made (or drops run), in millions, where the answer is a time; 0 where it is a number of things.
    samples: f64,
    /// The most that ours may be, as a multiple of theirs; none where the issues ask for none.
    most: Option<f64>,
}

enum Theirs {
    /// A runner and what it is asked.
    Asked(&'static str, &'static str),
    /// Bytes of a raster of so many samples a side.
    Raster(usize),
}

const NOISE: f64 = 4096.0 * 4096.0 / 1e6;
const SQUARE: f64 = 4097.0 * 4097.0 / 1e6;
const BROKEN: f64 = 2049.0 * 2049.0 / 1e6;

const fn figure(
    what: &'static str,
    ours: &'static str,
    theirs: Theirs,
    samples: f64,
    most: Option<f64>,
) -> Figure {
    Figure { what, ours, theirs, samples, most }
}

/// A figure against a crate of `bench/peers`.
const fn noise(what: &'static str, ours: &'static str, theirs: &'static str) -> Figure {
    figure(what, ours, Theirs::Asked("rust", theirs), NOISE, Some(1.0))
}

/// A survey tool on 4096 x 4096 samples against GDAL's.
const fn gdal(what: &'static str, ours: &'static str, theirs: &'static str, most: f64) -> Figure {
    figure(what, ours, Theirs::Asked("gdal", theirs), NOISE, Some(most))
}

/// A survey tool from file to file against `gdaldem`; one runner answers for both sides.
const fn files(what: &'static str, ours: &'static str, theirs: &'static str) -> Figure {
    figure(what, ours, Theirs::Asked("files", theirs), NOISE, Some(1.0))
}

/// A million Poisson disks on 512 x 512, two threads of ours against one of a crate that has no more.
const fn points(what: &'static str, ours: &'static str, theirs: &'static str) -> Figure {
    figure(what, ours, Theirs::Asked("rust", theirs), 1.0, Some(0.1))
}

/// Triangles of 1025 x 1025 samples against a package's.
const fn tin(what: &'static str, ours: &'static str, theirs: &'static str) -> Figure {
    figure(what, ours, Theirs::Asked("pypi", theirs), 1025.0 * 1025.0 / 1e6, Some(1.0))
}

/// What a sample costs on 8192 x 8192 samples against 1024 x 1024, where the cost is linear in the samples.
const fn growth(what: &'static str, ours: &'static str, theirs: &'static str) -> Figure {
    figure(what, ours, Theirs::Asked("orogen", theirs), 1.0, Some(1.1))
}

/// The same where the method sorts: n log n.
const fn sorting(what: &'static str, ours: &'static str, theirs: &'static str) -> Figure {
    figure(what, ours, Theirs::Asked("orogen", theirs), 1.0, Some(1.1 * 26.0 / 20.0))
}

const FIGURES: &[Figure] = &[
    noise("fBm simplex, fastnoise2, 1 thread", "noise simplex 1024 1", "fastnoise2 simplex 1024 1"),
    noise("fBm simplex, fastnoise2, 2 threads", "noise simplex 1024 2", "fastnoise2 simplex 1024 2"),
    noise("fBm Perlin, fastnoise2, 1 thread", "noise perlin 1024 1", "fastnoise2 perlin 1024 1"),
    noise("fBm Perlin, fastnoise2, 2 threads", "noise perlin 1024 2", "fastnoise2 perlin 1024 2"),
    noise("  waves from 64 samples, simplex, 1", "noise simplex 64 1", "fastnoise2 simplex 64 1"),
    noise("  waves from 64 samples, Perlin, 1", "noise perlin 64 1", "fastnoise2 perlin 64 1"),
    noise("fBm simplex, fastnoise-lite, 1 thread", "noise simplex 1024 1", "fastnoise-lite simplex 1024 1"),
    noise("fBm Perlin, fastnoise-lite, 1 thread", "noise perlin 1024 1", "fastnoise-lite perlin 1024 1"),
    noise("fBm simplex, noise, 1 thread", "noise simplex 1024 1", "noise simplex 1024 1"),
    noise("fBm Perlin, noise, 1 thread", "noise perlin 1024 1", "noise perlin 1024 1"),
    noise("fBm simplex, simdnoise, 1 thread", "noise simplex 1024 1", "simdnoise simplex 1024 1"),
    noise("fBm simplex, simdnoise, 2 threads", "noise simplex 1024 2", "simdnoise simplex 1024 2"),
    figure(
        "fBm Perlin, pyfastnoiselite, 1 thread",
        "noise perlin 1024 1",
        Theirs::Asked("pypi", "fastnoiselite perlin 1024"),
        NOISE,
        Some(1.0),
    ),
    figure(
        "stretched and turned simplex, straight, 1",
        "bent_noise simplex turned 1",
        Theirs::Asked("orogen", "noise simplex 1024 1"),
        NOISE,
        Some(2.0),
    ),
    figure(
        "warped simplex, straight, 1",
        "bent_noise simplex warped 1",
        Theirs::Asked("orogen", "noise simplex 1024 1"),
        NOISE,
        Some(2.0),
    ),
    figure(
        "diamond-square 4097, a pass that writes, 2",
        "diamond_square 4097 2",
        Theirs::Asked("yardstick", "write 4097 2"),
        SQUARE,
        Some(6.0),
    ),
    figure(
        "1000 faults 2049, step, reference kernel",
        "faults 2049 1000 step 2",
        Theirs::Asked("yardstick", "reference 2049"),
        BROKEN,
        Some(0.25),
    ),
    figure(
        "1000 faults 2049, sine, reference kernel",
        "faults 2049 1000 sine 2",
        Theirs::Asked("yardstick", "reference 2049"),
        BROKEN,
        Some(0.25),
    ),
    figure(
        "1000 faults 2049, cosine, reference kernel",
        "faults 2049 1000 cosine 2",
        Theirs::Asked("yardstick", "reference 2049"),
        BROKEN,
        Some(0.25),
    ),
    figure(
        "1000 faults 2049, cut-off, reference kernel",
        "faults 2049 1000 cut_off 2",
        Theirs::Asked("yardstick", "reference 2049"),
        BROKEN,
        Some(0.25),
    ),
    gdal("hillshade, GDAL", "survey survey.hillshade 4096", "dem hillshade 4096", 0.2),
    gdal("slope, GDAL", "survey survey.slope 4096", "dem slope 4096", 0.2),
    figure(
        "rain 2048, orographic_precipitation",
        "survey climate.rain 2048",
        Theirs::Asked("pypi", "rain 2048"),
        2048.0 * 2048.0 / 1e6,
        Some(0.1),
    ),
    points("Poisson disks, 4 rounds, poisson-diskus", "disks 1 4 2", "poisson-diskus disks 1 1"),
    points("Poisson disks, 4 rounds, fast_poisson", "disks 1 4 2", "fast_poisson disks 1 1"),
    points("  as many as fit, fast_poisson", "disks 1 full 2", "fast_poisson disks 1 1"),
    files("hillshade of a file, gdaldem", "ours hillshade 4096 plain", "theirs hillshade 4096 plain"),
    files("slope of a file, gdaldem", "ours slope 4096 plain", "theirs slope 4096 plain"),
    files("  hillshade, deflated, gdaldem", "ours hillshade 4096 deflate", "theirs hillshade 4096 deflate"),
    files("  slope, deflated, gdaldem", "ours slope 4096 deflate", "theirs slope 4096 deflate"),
    gdal("contours every 20 m, GDAL", "contours 20 4096", "contours 20 4096", 1.0 / 3.0),
    gdal("viewshed, GDAL", "viewshed 4096", "viewshed 4096", 0.5),
    // RichDEM (or TopoToolbox), pysheds and SurtGIS, the fastest at each.
    figure(
        "fill, D8 and areas 4096, best of each",
        "hydrology 4096",
        Theirs::Asked("pypi", "hydrology 4096"),
        NOISE,
        Some(0.5),
    ),
    figure("  fill alone", "fill 4096", Theirs::Asked("pypi", "fill 4096"), NOISE, None),
    figure(
        "200 steps of pipes 1024, numba, 2",
        "pipes 1024 200",
        Theirs::Asked("numba-pipes", "numba_pipes 1024 200"),
        200.0 * 1024.0 * 1024.0 / 1e6,
        Some(0.4),
    ),
    figure(
        "a step of pipes 8192, 64 of 1024",
        "more_pipes 8192 16",
        Theirs::Asked("orogen", "more_pipes 1024 1024"),
        16.0 * 8192.0 * 8192.0 / 1e6,
        Some(1.1),
    ),
    figure(
        "a step of stream power 2048, fastscapelib",
        "stream_power 2048 10",
        Theirs::Asked("landscapes", "fastscapelib 2048 3"),
        2048.0 * 2048.0 / 1e6,
        Some(0.25),
    ),
    figure(
        "a step of stream power 1024, landlab",
        "stream_power 1024 20",
        Theirs::Asked("landscapes", "landlab 1024 5"),
        1024.0 * 1024.0 / 1e6,
        Some(0.25),
    ),
    tin("triangles to 1 m, pydelatin", "tin greedy 1025", "delatin 1025"),
    tin("hierarchy to 1 m, pymartini", "tin hierarchy 1025", "martini 1025"),
    figure(
        "number of triangles to 1 m, pydelatin",
        "triangles 1025",
        Theirs::Asked("pypi", "delatin_triangles 1025"),
        0.0,
        Some(1.0),
    ),
    figure(
        "4 M drops of 64 steps 1025, numba, 2",
        "droplets 1025 4000000 64 3",
        Theirs::Asked("numba", "droplets 1025 4000000 64 3"),
        4.0,
        Some(1.0 / 3.0),
    ),
    growth(
        "growth of hillshade",
        "per_sample survey survey.hillshade 8192",
        "per_sample survey survey.hillshade 1024",
    ),
    growth("growth of slope", "per_sample survey survey.slope 8192", "per_sample survey survey.slope 1024"),
    figure(
        "growth of curvature, from file to file less the start",
        "per_sample curvature 8192",
        Theirs::Asked("files", "per_sample curvature 1024"),
        1.0,
        Some(1.1),
    ),
    figure(
        "growth of ruggedness, from file to file less the start",
        "per_sample ruggedness 8192",
        Theirs::Asked("files", "per_sample ruggedness 1024"),
        1.0,
        Some(1.1),
    ),
    growth("growth of contours", "per_sample contours 20 8192", "per_sample contours 20 1024"),
    growth("growth of viewshed", "per_sample viewshed 8192", "per_sample viewshed 1024"),
    sorting("growth of TIN, greedy", "per_sample tin greedy 8192", "per_sample tin greedy 1024"),
    growth("growth of hierarchy", "per_sample tin hierarchy 8193", "per_sample tin hierarchy 1025"),
    sorting("growth of fill", "per_sample fill 8192", "per_sample fill 1024"),
    sorting("growth of flow", "per_sample hydrology 8192", "per_sample hydrology 1024"),
    sorting("growth of breach", "per_sample brief water.breach 8192", "per_sample brief water.breach 1024"),
    sorting("growth of basins", "per_sample brief water.basins 8192", "per_sample brief water.basins 1024"),
    sorting("growth of rivers", "per_sample brief water.rivers 8192", "per_sample brief water.rivers 1024"),
    sorting("growth of lakes", "per_sample brief water.lakes 8192", "per_sample brief water.lakes 1024"),
    growth("growth of sea", "per_sample brief water.sea 8192", "per_sample brief water.sea 1024"),
    sorting(
        "growth of stream power",
        "per_sample brief erode.stream_power 8192",
        "per_sample brief erode.stream_power 1024",
    ),
    sorting(
        "growth of alluvium",
        "per_sample brief erode.alluvium 8192",
        "per_sample brief erode.alluvium 1024",
    ),
    growth("growth of thermal", "per_sample brief erode.thermal 8192", "per_sample brief erode.thermal 1024"),
    growth(
        "growth of droplets",
        "per_sample brief erode.droplets 8192",
        "per_sample brief erode.droplets 1024",
    ),
    growth(
        "growth of musgrave",
        "per_sample brief erode.musgrave 8192",
        "per_sample brief erode.musgrave 1024",
    ),
    growth("growth of wind", "per_sample brief erode.wind 8192", "per_sample brief erode.wind 1024"),
    growth("growth of coast", "per_sample brief erode.coast 8192", "per_sample brief erode.coast 1024"),
    figure("memory of noise, rasters", "memory source.noise 4096", Theirs::Raster(4096), 0.0, Some(2.0)),
    figure(
        "memory of diamond-square, rasters",
        "memory source.diamond_square 4097",
        Theirs::Raster(4097),
        0.0,
        Some(2.0),
    ),
    figure("memory of faults, rasters", "memory source.faults 4096", Theirs::Raster(4096), 0.0, Some(2.0)),
    // 6 GB are 22 rasters.
    figure(
        "memory of pipes, rasters",
        "memory erode.pipes 8192 duration_s=20 runoff_s=0",
        Theirs::Raster(8192),
        0.0,
        Some(22.0),
    ),
    figure("memory of ridges, rasters", "memory source.ridges 2049", Theirs::Raster(2049), 0.0, Some(2.0)),
    figure("memory of squig, rasters", "memory source.squig 2049", Theirs::Raster(2049), 0.0, Some(2.0)),
    // Some 16,000 points.
    figure(
        "memory of points, rasters",
        "memory source.points 2049 survey_m=16",
        Theirs::Raster(2049),
        0.0,
        Some(2.0),
    ),
    figure(
        "memory of contours, rasters",
        "memory source.contours 2049",
        Theirs::Raster(2049),
        0.0,
        Some(2.0),
    ),
];

/// Rounds for quick answers; slow ones end after [`LONG`], but not before [`FEWEST`].
const ROUNDS: usize = 9;
const FEWEST: usize = 3;
const LONG: Duration = Duration::from_secs(12);

/// Installs and builds what is needed, asks all figures whose name contains one of `only` (all, if it is empty), and
/// prints them.
pub fn compare(only: &[&str]) -> Result<()> {
    let is_asked = |figure: &&Figure| only.is_empty() || only.iter().any(|part| figure.what.contains(part));
    let figures: Vec<&Figure> = FIGURES.iter().filter(is_asked).collect();
    if figures.is_empty() {
        let names: Vec<&str> = FIGURES.iter().map(|f| f.what.trim()).collect();
        bail!("no figure has {} in its name; available:\n  {}", only.join(" or "), names.join("\n  "));
    }
    let venv = environment()?;
    let asked = |name: &str| {
        name == "orogen"
            || figures.iter().any(|f| own(f) == name)
            || figures.iter().any(|f| matches!(f.theirs, Theirs::Asked(runner, _) if runner == name))
    };
    let mut runners = BTreeMap::new();
    for (name, start) in RUNNERS.iter().filter(|(name, _)| asked(name)) {
        match command(*start, &venv).and_then(|mut command| Runner::start(&mut command)) {
            Ok(runner) => drop(runners.insert(*name, runner)),
            Err(error) if *name == "orogen" => return Err(error),
            Err(error) => println!("{name} skipped: {error:#}"),
        }
    }
    println!(
        "\n{:<44} {:>14} {:>14} {:>8}  {:<12} met",
        "figure, whom it is held against, threads", "ours", "theirs", "ratio", "asked"
    );
    for figure in figures {
        match measure(figure, &mut runners) {
            Ok(row) => println!("{row}"),
            Err(error) => println!("{:<44} skipped: {error:#}", figure.what),
        }
    }
    Ok(())
}

/// Who answers for us.
fn own(figure: &Figure) -> &'static str {
    match figure.theirs {
        Theirs::Asked("files", _) => "files",
        _ if figure.ours.starts_with("disks ") => "yardstick",
        _ => "orogen",
    }
}

/// Asks a figure in rounds, and puts the medians into a line of the table.
fn measure(figure: &Figure, runners: &mut BTreeMap<&'static str, Runner>) -> Result<String> {
    let mut ask = |runner: &str, question: &str| -> Result<f64> {
        runners.get_mut(runner).with_context(|| format!("{runner} is not running"))?.ask(question)
    };
    let own = own(figure);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let start = Instant::now();
    // The first answers warm up caches and clocks, and are not counted.
    ask(own, figure.ours)?;
    if let Theirs::Asked(runner, question) = figure.theirs {
        ask(runner, question)?;
    }
    for round in 0..ROUNDS {
        if round >= FEWEST && start.elapsed() > LONG {
            break;
        }
        ours.push(ask(own, figure.ours)?);
        theirs.push(match figure.theirs {
            Theirs::Asked(runner, question) => ask(runner, question)?,
            Theirs::Raster(side) => (4 * side * side) as f64,
        });
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    let shown = |value: f64| match figure.theirs {
        Theirs::Asked(..) if figure.samples == 0.0 => format!("{value:.0}"),
        Theirs::Asked(..) => format!("{:.1} M/s", figure.samples / value),
        Theirs::Raster(_) => format!("{:.1} MB", value / 1e6),
    };
    // A ratio of times or of bytes: less is better.
    let ratio = ours / theirs;
    let asked =
        figure.most.map_or(String::from("-"), |most| format!("at most {}", (1000.0 * most).round() / 1000.0));
    let met = figure.most.map_or("-", |most| if ratio <= most { "yes" } else { "NO" });
    Ok(format!(
        "{:<44} {:>14} {:>14} {ratio:>8.3}  {asked:<12} {met}",
        figure.what,
        shown(ours),
        shown(theirs)
    ))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A program that answers questions.
struct Runner {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Runner {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let questions = child.stdin.take().context("no way to ask")?;
        let answers = BufReader::new(child.stdout.take().context("no way to listen")?);
        Ok(Self { child, questions, answers })
    }

    fn ask(&mut self, question: &str) -> Result<f64> {
        writeln!(self.questions, "{question}")
            .and_then(|()| self.questions.flush())
            .context("it has ended")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        match answer.trim().split_once(' ') {
            Some(("ok", number)) => number.parse().with_context(|| format!("{number:?} is not a number")),
            Some(("no", sentence)) => bail!("{sentence}"),
            _ => bail!("unexpected answer to {question:?}: {answer:?}"),
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // One that is still alive has nothing left to do, and one that is not cannot be stopped: neither is a fault.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a runner is started, once it is built.
fn command(start: Start, venv: &Path) -> Result<Command> {
    match start {
        Start::Python(script) => {
            let mut command = Command::new(venv.join("bin/python"));
            command.arg(script);
            Ok(command)
        }
        Start::Program(script) => {
            run(&mut cargo(&["build", "--release", "--quiet", "-p", "orogen-cli"]))?;
            let mut command = Command::new(venv.join("bin/python"));
            command.arg(script).arg(target().join("release/orogen"));
            Ok(command)
        }
        Start::Yardstick => {
            run(&mut cargo(&["build", "--release", "--quiet", "-p", "orogen", "--example", "yardstick"]))?;
            Ok(Command::new(target().join("release/examples/yardstick")))
        }
        Start::Peers => {
            let folder = target().join("peers");
            let build = |features: &[&str]| -> Result<()> {
                let mut command = cargo(&["build", "--release", "--quiet", "--locked"]);
                command.args(["--manifest-path", "bench/peers/Cargo.toml", "--target-dir"]).arg(&folder);
                with_cpp(&mut command, venv);
                run(command.args(features))
            };
            if let Err(error) = build(&["--features", "fastnoise2"]) {
                println!("fastnoise2 skipped: {error:#}");
                build(&[])?;
            }
            Ok(Command::new(folder.join("release/orogen-peers")))
        }
    }
}

/// Lets a build find the CMake and the libclang of the environment.
fn with_cpp(command: &mut Command, venv: &Path) {
    let mut path = vec![venv.join("bin")];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    if let Ok(path) = std::env::join_paths(path) {
        command.env("PATH", path);
    }
    let place = "import clang, os; print(os.path.join(os.path.dirname(clang.__file__), 'native'))";
    if let Some(folder) = printed(Command::new(venv.join("bin/python")).args(["-c", place])) {
        command.env("LIBCLANG_PATH", folder);
    }
    // That libclang comes without the headers of a compiler; those of the installed compiler do.
    if let Some(folder) = printed(Command::new("cc").arg("-print-file-name=include")) {
        command.env("BINDGEN_EXTRA_CLANG_ARGS", format!("-I{folder}"));
    }
}

fn printed(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The environment with the tools, the peers and our own package, freshly built.
fn environment() -> Result<PathBuf> {
    let venv = target().join("peers/venv");
    let pip = venv.join("bin/pip");
    if !venv.exists() {
        if !has("python3", &["-c", "import ensurepip, venv"]) {
            crate::shell::apt(&["python3", "python3-venv", "python3-dev"])?;
        }
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let installed = venv.join("installed.txt");
    let wanted = TOOLS.join("\n");
    if std::fs::read_to_string(&installed).ok().as_deref() != Some(&wanted) {
        run(Command::new(&pip).args(["install", "--quiet"]).args(TOOLS))?;
        std::fs::write(&installed, wanted)?;
    }
    for package in PACKAGES {
        let name = package.split('=').next().unwrap_or(package);
        let there = Command::new(&pip).args(["show", "--quiet", name]).status().is_ok_and(|s| s.success());
        if !there && let Err(error) = run(Command::new(&pip).args(["install", "--quiet", package])) {
            println!("{package} skipped: {error:#}");
        }
    }
    let wheels = target().join("peers/wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    run(Command::new(venv.join("bin/maturin"))
        .args(["build", "--quiet", "--release", "--interpreter"])
        .arg(venv.join("bin/python"))
        .arg("--out")
        .arg(&wheels))?;
    for wheel in std::fs::read_dir(&wheels)? {
        run(Command::new(&pip)
            .args(["install", "--quiet", "--force-reinstall", "--no-deps"])
            .arg(wheel?.path()))?;
    }
    Ok(venv)
}
