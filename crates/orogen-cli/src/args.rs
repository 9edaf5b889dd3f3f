//! The arguments of the command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use orogen::ExportKind;
use orogen::core::Rect;
use orogen::flora::{Fineness, Form, LEVELS, PlantFile, Season};

use crate::dem::Dem;

/// Make whole natural environments from a few lines of text.
#[derive(Debug, Parser)]
#[command(
    name = "orogen",
    version,
    after_help = "\
Examples:
  orogen new --seed 42 my-island.toml  a commented recipe to start from
  orogen build my-island.toml          land, maps, manifest in out/my-island
  orogen dem hillshade alps.tif        a survey tool on an elevation model
  orogen ops source.island             an operator and its parameters"
)]
pub struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented starter recipe.
    New(New),
    /// Build a recipe and write its files.
    Build(Box<Build>),
    /// List all faults of a recipe with their lines, without running it.
    Check(Check),
    /// Say why a place has its temperature, its biome, its materials and its plants.
    Explain(Explain),
    /// Measure and repair any elevation model.
    Dem(Box<Dem>),
    /// List the operators, or show one in full.
    Ops(Ops),
    /// Print the JSON schema of recipes, for editors and other programs.
    #[command(after_help = "\
Example:
  orogen schema > recipe.schema.json   for the editor's TOML settings")]
    Schema,
    /// Make a picture of a land: ground, water, sky and light.
    #[cfg(feature = "render")]
    Render(Box<Render>),
    /// Fly over a land: frames, or a film.
    #[cfg(feature = "render")]
    Fly(Box<Fly>),
    /// Make seamless textures of the ground: rock, soil, grass, snow ...
    Textures(Textures),
    /// Grow a plant as a glb file, list the species, or draw all of them.
    Plants(Plants),
}

/// `orogen new`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen new                              island.toml here
  orogen new --seed \"my world\" world.toml
  orogen new --list                       all presets")]
pub struct New {
    /// The landscape to start from.
    #[arg(long, value_name = "NAME", default_value = "island")]
    pub preset: String,
    /// The world seed, any text [default: the preset's own]
    #[arg(long, value_name = "TEXT")]
    pub seed: Option<String>,
    /// Where to write; `-` for standard output [default: PRESET.toml]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Replace FILE if it exists.
    #[arg(long)]
    pub force: bool,
    /// List the presets and write nothing.
    #[arg(long)]
    pub list: bool,
}

/// `orogen build`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen build recipes/island.toml
  orogen build recipes/island.toml --samples 2049 --seed 42 --out out/big
  orogen build recipes/island.toml --set island.polygons=8000
  orogen build recipes/island.toml --window 20000,20000,22000,22000 \\
      --spacing 4
  orogen build recipes/island.toml --kinds png16,relief --no-sea-floor
  orogen build recipes/weiss.toml --window 7500,4000,8000,4500 --plants")]
pub struct Build {
    /// The recipe.
    #[arg(value_name = "RECIPE")]
    pub recipe: PathBuf,
    /// Folder to write to [default: out/RECIPE-NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace files in DIR that Orogen did not write there, or that have changed since.
    #[arg(long)]
    pub force: bool,
    /// Changes to the recipe.
    #[command(flatten)]
    pub changes: Changes,
    #[arg(long, value_name = "KIND,KIND", value_delimiter = ',', value_parser = parse_kind, help = kinds_help())]
    pub kinds: Vec<ExportKind>,
    /// Write heights below sea level as sea level (0 m) in every file of heights; the picture and the other layers keep the
    /// sea floor.
    #[arg(long)]
    pub no_sea_floor: bool,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1024))]
    pub threads: Option<u16>,
    /// Build only this part of the frame: west, south, east, north, in metres.
    #[arg(long, value_name = "X0,Y0,X1,Y1", value_parser = parse_window, allow_hyphen_values = true)]
    pub window: Option<Rect>,
    /// Distance between samples in metres [default: the recipe's own]
    #[arg(long, value_name = "M", value_parser = parse_length, allow_hyphen_values = true)]
    pub spacing: Option<f64>,
    /// Write every plant of the land as plants.csv; fewer than 100,000 also as plants.geojson.
    #[arg(long)]
    pub plants: bool,
    /// Take no picture of the land (view.png); the variable OROGEN_NO_VIEW says so for every build.
    #[cfg(feature = "render")]
    #[arg(long)]
    pub no_view: bool,
    /// Compute everything; neither use nor fill the cache.
    #[arg(long)]
    pub no_cache: bool,
    /// Print the manifest on standard output.
    #[arg(long)]
    pub json: bool,
    /// Print only errors.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Changes to a recipe from the command line.
#[derive(Debug, ClapArgs)]
pub struct Changes {
    /// Samples along the longer side [default: the recipe's own]
    #[arg(long, value_name = "N", value_parser = parse_samples, allow_hyphen_values = true)]
    pub samples: Option<usize>,
    /// The world seed, any text [default: the recipe's own]
    #[arg(long, value_name = "TEXT")]
    pub seed: Option<String>,
    /// Change a parameter of a step, or an option of an export (relief.coloring=stripes); may be given several times.
    #[arg(long, value_name = "STEP.PARAM=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Memory a build may use, such as 500M or 16G.
    #[arg(long, value_name = "SIZE", default_value = "8G", value_parser = parse_bytes)]
    pub memory: u64,
}

/// `orogen check`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen check my-island.toml
  orogen check my-island.toml --set island.peak_m=900
  orogen check my-island.toml --json      for editors")]
pub struct Check {
    /// The recipe.
    #[arg(value_name = "RECIPE")]
    pub recipe: PathBuf,
    /// Changes to the recipe.
    #[command(flatten)]
    pub changes: Changes,
    /// Print the findings as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `orogen explain`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen explain my-island.toml 1200,3400
  orogen explain my-island.toml 1200,3400 --samples 257    from a preview
  orogen explain my-island.toml 1200,3400 --json")]
pub struct Explain {
    /// The recipe.
    #[arg(value_name = "RECIPE")]
    pub recipe: PathBuf,
    /// The place: metres east and metres north.
    #[arg(value_name = "X,Y", allow_hyphen_values = true)]
    pub place: String,
    /// Changes to the recipe.
    #[command(flatten)]
    pub changes: Changes,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `orogen ops`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen ops                              one line for each operator
  orogen ops source.island                one operator with all its parameters
  orogen ops --json                       everything, for programs")]
pub struct Ops {
    /// The operator to show [default: list all]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `orogen render`
#[cfg(feature = "render")]
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen render recipes/island.toml -o view.png
  orogen render out/island --time 19:00 --date 2026-09-20 -o dusk.png
  orogen render my.toml --camera 1200,3400 --height 80 --target 4000,9000
  orogen render my.toml --ortho --azimuth 30 --overlay height,contours
  orogen render my.toml --map --overlay biome -o biomes.png
  orogen render my.toml --without erosion -o difference.png
  orogen render my.toml --sheet --time 6:00,9:00,12:00,18:00 -o day.png
  orogen render alps.tif --drape photo.tif --draw huts.geojson -o alps.png")]
pub struct Render {
    /// Recipes, folders of earlier builds, or elevation models; several for a contact sheet.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The picture to write.
    #[arg(long, short, value_name = "PNG", default_value = "view.png")]
    pub output: PathBuf,
    /// Where from, when and how.
    #[command(flatten)]
    pub look: Look,
    /// Where the camera is: metres east and north; several times for a contact sheet [default: a good view is looked for]
    #[arg(long, value_name = "X,Y", value_parser = parse_place, allow_hyphen_values = true, conflicts_with_all = ["azimuth", "distance"])]
    pub camera: Vec<[f64; 2]>,
    /// What the camera looks at [default: the middle of the land]
    #[arg(long, value_name = "X,Y", value_parser = parse_place, allow_hyphen_values = true)]
    pub target: Option<[f64; 2]>,
    /// The direction in which the camera looks, clockwise from north, in degrees; several for a contact sheet.
    #[arg(long, value_name = "DEG", value_delimiter = ',', value_parser = parse_number, allow_hyphen_values = true)]
    pub azimuth: Vec<f64>,
    /// How far the camera is from its target on the map, in metres [default: half the size of the land]
    #[arg(long, value_name = "M", value_parser = parse_length, allow_hyphen_values = true)]
    pub distance: Option<f64>,
    /// Height of the camera above the ground or the water, in metres [default: a fifth of the distance to the target]
    #[arg(long, value_name = "M", value_parser = parse_number, allow_hyphen_values = true, conflicts_with = "altitude")]
    pub height: Option<f64>,
    /// Height of the camera above the sea, in metres.
    #[arg(long, value_name = "M", value_parser = parse_number, allow_hyphen_values = true)]
    pub altitude: Option<f64>,
    /// Parallel looks instead of perspective, as in a plan: from --azimuth, looking down by --steep.
    #[arg(long, conflicts_with_all = ["camera", "distance", "height", "altitude"])]
    pub ortho: bool,
    /// As a map: parallel looks straight down, north up.
    #[arg(long, conflicts_with_all = ["camera", "distance", "height", "altitude", "azimuth", "ortho"])]
    pub map: bool,
    /// With --ortho: how steeply it looks down, in degrees; 90 is straight down.
    #[arg(long, value_name = "DEG", default_value_t = 35.0, value_parser = parse_number, allow_hyphen_values = true)]
    pub steep: f64,
    /// With --ortho and --map: metres across the picture [default: all of the land]
    #[arg(long, value_name = "M", value_parser = parse_length, allow_hyphen_values = true)]
    pub across: Option<f64>,
    /// Local times of the sun, such as 16:30; several for a contact sheet [default: when the light is good]
    #[arg(long, value_name = "H:MM", value_delimiter = ',', value_parser = orogen_render::Moment::parse_hour, allow_hyphen_values = true)]
    pub time: Vec<f64>,
    /// Contact sheet: a picture of every FILE, from every camera or azimuth, at every time.
    #[arg(long)]
    pub sheet: bool,
    /// With --sheet: so many good views of each FILE.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u16>(64), conflicts_with_all = ["camera", "azimuth", "ortho", "map"])]
    pub views: u16,
    /// Paint the ground by height, slope, biome, material, water (the deeper the bluer) or any layer; contours (or contours=50),
    /// wireframe and tiles may be added.
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',')]
    pub overlay: Vec<String>,
    /// How much of the ground an overlay hides, from 0 to 1.
    #[arg(long, value_name = "X", default_value_t = 0.9, value_parser = parse_number, allow_hyphen_values = true)]
    pub opacity: f64,
    /// Lay an image on the ground: a GeoTIFF where it says, or IMAGE@X0,Y0,X1,Y1 (west, south, east, north), or IMAGE@ and the four
    /// corners, clockwise from the left upper one; may be given several times.
    #[arg(long, value_name = "IMAGE")]
    pub drape: Vec<String>,
    /// Draw points, lines and areas of a GeoJSON file on the ground; may be given several times.
    #[arg(long, value_name = "GEOJSON")]
    pub draw: Vec<PathBuf>,
    /// Compare with another state of the land: a recipe, a folder or an elevation model.
    #[arg(long, value_name = "FILE", conflicts_with = "sheet")]
    pub against: Option<PathBuf>,
    /// Compare with the recipe without a step: what the step does.
    #[arg(long, value_name = "STEP", conflicts_with_all = ["sheet", "against"])]
    pub without: Option<String>,
    /// With --against and --without: the two states side by side, instead of what they differ by.
    #[arg(long)]
    pub side_by_side: bool,
    /// Draw no legend.
    #[arg(long)]
    pub no_legend: bool,
    /// Leave the sky out: the picture is clear there.
    #[arg(long)]
    pub clear_sky: bool,
    /// Also write how far away everything is: a .exr of metres, or a .png of 16 bits.
    #[arg(long, value_name = "FILE", conflicts_with = "sheet")]
    pub depth: Option<PathBuf>,
    /// Changes to the recipe.
    #[command(flatten)]
    pub changes: Changes,
    /// Replace PNG if it exists.
    #[arg(long)]
    pub force: bool,
    /// Print only errors.
    #[arg(long, short)]
    pub quiet: bool,
}

/// What a picture and a flight have in common.
#[cfg(feature = "render")]
#[derive(Debug, ClapArgs)]
pub struct Look {
    /// Pixels, width and height.
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = parse_size)]
    pub size: [u32; 2],
    /// Samples of each pixel: more give smoother edges and take longer.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole::<u32>(1024))]
    pub samples_per_pixel: u32,
    /// For clean stills: at least 64 samples, and the sun as wide as it is, so that shadows are soft.
    #[arg(long)]
    pub accumulate: bool,
    /// The angle from the left to the right edge of the picture, in degrees.
    #[arg(long, value_name = "DEG", default_value_t = 55.0, value_parser = parse_number, allow_hyphen_values = true)]
    pub view: f64,
    /// The day.
    #[arg(long, value_name = "Y-M-D", default_value = "2026-07-10", value_parser = orogen_render::Moment::parse_date)]
    pub date: (i32, u32, u32),
    /// How hazy the air is; 1 is a clear day.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = parse_number, allow_hyphen_values = true)]
    pub haze: f64,
    /// The share of the sky under clouds.
    #[arg(long, value_name = "X", default_value_t = 0.4, value_parser = parse_number, allow_hyphen_values = true)]
    pub clouds: f64,
    /// How thick the fog in valleys is; 1 is a foggy morning [default: by the hour]
    #[arg(long, value_name = "X", value_parser = parse_number, allow_hyphen_values = true)]
    pub fog: Option<f64>,
    /// Mirror light by Blinn's lobe instead of facets.
    #[arg(long)]
    pub plain: bool,
    /// Stops to brighten (or, below 0, darken) the picture by.
    #[arg(long, value_name = "EV", default_value_t = 0.0, value_parser = parse_number, allow_hyphen_values = true)]
    pub exposure: f64,
    /// How finely the land is drawn.
    #[arg(long, value_name = "T", default_value_t = 6.0, value_parser = parse_number, allow_hyphen_values = true)]
    pub quality: f64,
    /// Part of the name of the graphics adapter to use [default: the system's own choice]
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Let the graphics adapter make heights too: recipes of noise and features alone, faster where it is a real one.
    #[arg(long)]
    pub device_land: bool,
}

/// `orogen fly`
#[cfg(feature = "render")]
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen fly recipes/island.toml -o flight           PNG frames in flight/
  orogen fly recipes/alps.toml -o alps.mp4 --seconds 20
  orogen fly my.toml -o film.webm --through 1000,2000,300 \\
      --through 4000,5000,200 --through 9000,5500,400 --target 5000,5000")]
pub struct Fly {
    /// The recipe, the folder of an earlier build, or an elevation model.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A folder for PNG frames, or a film: .mp4 or .webm, which ffmpeg makes.
    #[arg(long, short, value_name = "DIR-OR-FILM", default_value = "flight")]
    pub output: PathBuf,
    /// How long the flight takes.
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = parse_number, allow_hyphen_values = true)]
    pub seconds: f64,
    /// Frames a second.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = whole::<u32>(240))]
    pub fps: u32,
    /// A place that the flight leads through: metres east, north and above the ground; two or more [default: a path is looked for]
    #[arg(long, value_name = "X,Y,H", value_parser = parse_waypoint, allow_hyphen_values = true)]
    pub through: Vec<[f64; 3]>,
    /// What the camera looks at all the time [default: where it flies to]
    #[arg(long, value_name = "X,Y", value_parser = parse_place, allow_hyphen_values = true)]
    pub target: Option<[f64; 2]>,
    /// Local time of the sun [default: when the light is good]
    #[arg(long, value_name = "H:MM", value_parser = orogen_render::Moment::parse_hour, allow_hyphen_values = true)]
    pub time: Option<f64>,
    /// Local time of the sun at the end: it moves.
    #[arg(long, value_name = "H:MM", requires = "time", value_parser = orogen_render::Moment::parse_hour, allow_hyphen_values = true)]
    pub until: Option<f64>,
    /// How and with what.
    #[command(flatten)]
    pub look: Look,
    /// Changes to the recipe.
    #[command(flatten)]
    pub changes: Changes,
    /// Replace frames of another flight, or the film.
    #[arg(long)]
    pub force: bool,
    /// Print only errors.
    #[arg(long, short)]
    pub quiet: bool,
}

/// `orogen textures`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen textures                         all of them, in out/textures
  orogen textures granite moss --size 512 --out out/rock
  orogen textures --sheet --size 256      with a picture of them side by side
  orogen textures --list")]
pub struct Textures {
    /// The textures to make [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Folder to write to.
    #[arg(long, value_name = "DIR", default_value = "out/textures")]
    pub out: PathBuf,
    /// Samples along a side: a power of two from 64 to 2048.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub size: usize,
    /// The seed, any text.
    #[arg(long, value_name = "TEXT", default_value = "orogen")]
    pub seed: String,
    /// Also write sheet.png: every texture lit by a sun, three by three tiles.
    #[arg(long)]
    pub sheet: bool,
    /// Replace files in DIR that Orogen did not write there, or that have changed since.
    #[arg(long)]
    pub force: bool,
    /// List the textures and write nothing.
    #[arg(long)]
    pub list: bool,
    /// Print only errors.
    #[arg(long, short)]
    pub quiet: bool,
}

/// `orogen plants`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  orogen plants oak                         oak.glb here
  orogen plants birch --seed 7 --age 0.1 --season autumn -o birch.glb
  orogen plants spruce --lod 2 -o far.glb   about 4,000 triangles
  orogen plants spruce --lod all            four levels in a file (MSFT_lod)
  orogen plants --sheet plants.png          all species side by side
  orogen plants --list --json")]
pub struct Plants {
    /// The species to grow.
    #[arg(value_name = "SPECIES", required_unless_present_any = ["list", "sheet"], conflicts_with_all = ["list", "sheet"])]
    pub species: Option<String>,
    /// The seed, any text: another seed is another plant of the species.
    #[arg(long, value_name = "TEXT", default_value = "orogen")]
    pub seed: String,
    /// Share of its life that has gone by: 0.06 a sapling, 0.5 in its prime, 0.95 old.
    #[arg(long, value_name = "A", default_value = "0.5", value_parser = parse_share, allow_hyphen_values = true)]
    pub age: f64,
    /// How well it does, from 0 (dead) to 1.
    #[arg(long, value_name = "V", default_value = "1", value_parser = parse_share, allow_hyphen_values = true)]
    pub vigour: f64,
    /// The time of the year: spring, summer, autumn or winter.
    #[arg(long, value_name = "S", default_value = "summer", value_parser = parse_season)]
    pub season: Season,
    /// Level of detail, from 0 (about 60,000 triangles) to 3 (about 800); `full` for every leaf, `all` for four levels in a file.
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_lod, allow_hyphen_values = true)]
    pub lod: PlantFile,
    /// Where to write; `-` for standard output [default: SPECIES.glb]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write an impostor instead, pictures that stand in for the plant far away: `octahedral` (8 by 8 views), `quads` (eight
    /// upright views), `crossed` (three) or `axial` (one). FILE is its JSON; the pictures lie beside it.
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "octahedral", value_parser = parse_form, conflicts_with_all = ["list", "sheet", "lod"])]
    pub impostor: Option<Form>,
    /// Draw all species side by side into a PNG instead.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "out"])]
    pub sheet: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
    /// List the species and write nothing.
    #[arg(long)]
    pub list: bool,
    /// With --list: as JSON.
    #[arg(long, requires = "list")]
    pub json: bool,
    /// Print only errors.
    #[arg(long, short)]
    pub quiet: bool,
}

fn parse_share(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim().parse().map_err(|_| format!("expected a number, found {text:?}"))?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(format!("{text} is outside 0 to 1")) }
}

fn parse_season(text: &str) -> Result<Season, String> {
    match text {
        "spring" => Ok(Season::Spring),
        "summer" => Ok(Season::Summer),
        "autumn" => Ok(Season::Autumn),
        "winter" => Ok(Season::Winter),
        _ => Err(String::from("expected spring, summer, autumn or winter")),
    }
}

fn parse_form(text: &str) -> Result<Form, String> {
    Form::ALL
        .into_iter()
        .find(|form| form.name() == text)
        .ok_or_else(|| String::from("expected octahedral, quads, crossed or axial"))
}

fn parse_lod(text: &str) -> Result<PlantFile, String> {
    match text {
        "full" => Ok(PlantFile::One(Fineness::Full)),
        "all" => Ok(PlantFile::Levels),
        _ => {
            let level: i64 = text
                .parse()
                .map_err(|_| format!("expected a level from 0 to 3, full or all, found {text:?}"))?;
            let inside = u8::try_from(level).ok().filter(|level| *level < LEVELS);
            inside
                .map(|level| PlantFile::One(Fineness::Level(level)))
                .ok_or_else(|| format!("{level} is outside 0 to {}", LEVELS - 1))
        }
    }
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a size such as 500M or 16G, found {text:?}");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1u64 << 40,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    if !(0.0..=1e15).contains(&number) {
        return Err(wrong());
    }
    Ok((number * unit as f64) as u64)
}

/// What `--kinds` is for, with the kinds there are.
fn kinds_help() -> String {
    let kinds: Vec<&str> = ExportKind::names().collect();
    format!("Kinds of files to write instead of those in the recipe: {}", kinds.join(", "))
}

fn parse_kind(text: &str) -> Result<ExportKind, String> {
    ExportKind::parse(text.trim())
}

fn parse_samples(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| *n >= 2)
        .ok_or_else(|| format!("expected a whole number of at least 2, found {text:?}"))
}

/// A whole number from 1 on.
pub fn whole<T: TryFrom<u64>>(
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number: i128 =
            text.trim().parse().map_err(|_| format!("expected a whole number, found {text:?}"))?;
        let inside = u64::try_from(number).ok().filter(|n| (1..=most).contains(n));
        inside.and_then(|n| T::try_from(n).ok()).ok_or_else(|| format!("{number} is outside 1 to {most}"))
    }
}

fn parse_length(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|m| (1e-6..=1e9).contains(m))
        .ok_or_else(|| format!("expected a positive number of metres, found {text:?}"))
}

#[cfg(feature = "render")]
fn parse_size(text: &str) -> Result<[u32; 2], String> {
    let wrong = || format!("expected pixels such as 1280x720, found {text:?}");
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let side = |text: &str| {
        let number: u64 = text.trim().parse().map_err(|_| wrong())?;
        u32::try_from(number)
            .ok()
            .filter(|n| (1..=8192).contains(n))
            .ok_or_else(|| format!("{number} is outside 1 to 8192"))
    };
    Ok([side(width)?, side(height)?])
}

#[cfg(feature = "render")]
fn parse_number(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|n: &f64| n.is_finite())
        .ok_or_else(|| format!("expected a number, found {text:?}"))
}

#[cfg(feature = "render")]
fn parse_place(text: &str) -> Result<[f64; 2], String> {
    let wrong = || format!("expected two numbers in metres (east, north), found {text:?}");
    let (x, y) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| parse_number(text.trim()).map_err(|_| wrong());
    Ok([number(x)?, number(y)?])
}

#[cfg(feature = "render")]
fn parse_waypoint(text: &str) -> Result<[f64; 3], String> {
    let wrong =
        || format!("expected three numbers in metres (east, north, above the ground), found {text:?}");
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|text| parse_number(text.trim())).collect();
    match numbers.as_deref() {
        Ok(&[x, y, h]) if h > 0.0 => Ok([x, y, h]),
        Ok(&[_, _, h]) => Err(format!("a camera {h} m above the ground is under ground")),
        _ => Err(wrong()),
    }
}

fn parse_window(text: &str) -> Result<Rect, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|t| t.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[x0, y0, x1, y1]) if [x0, y0, x1, y1].iter().all(|n| n.is_finite()) => {
            if x1 <= x0 {
                return Err(format!("the east side ({x1}) is not east of the west side ({x0})"));
            }
            if y1 <= y0 {
                return Err(format!("the north side ({y1}) is not north of the south side ({y0})"));
            }
            Ok(Rect { min: [x0, y0], max: [x1, y1] })
        }
        _ => Err(format!("expected four numbers in metres (west, south, east, north), found {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(parse_bytes("500M"), Ok(500 << 20));
        assert_eq!(parse_bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_bytes("12"), Ok(12));
        for wrong in ["", "G", "-1G", "nan", "3X", "1e99"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_out_of_bounds_get_our_sentence() {
        let threads = whole::<u16>(1024);
        assert_eq!(threads("1024"), Ok(1024));
        assert_eq!(threads("0"), Err(String::from("0 is outside 1 to 1024")));
        assert_eq!(threads("-3"), Err(String::from("-3 is outside 1 to 1024")));
        assert_eq!(threads("70000"), Err(String::from("70000 is outside 1 to 1024")));
        assert!(threads("two").is_err_and(|e| e.contains("whole number")));
    }

    #[test]
    fn a_window_inside_out_says_which_side_is_wrong() {
        assert!(parse_window("5,0,1,1").is_err_and(|e| e.contains("east")));
        assert!(parse_window("0,5,1,1").is_err_and(|e| e.contains("north")));
    }

    #[test]
    fn windows_are_four_ordered_numbers() {
        assert!(parse_window("0,0,10,20").is_ok());
        for wrong in ["", "0,0,10", "10,0,0,20", "0,0,nan,1", "a,b,c,d", "0,0,x,10,20"] {
            assert!(parse_window(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_text_of_help_fits_eighty_columns_without_being_wrapped_again() {
        use clap::CommandFactory as _;
        fn check(command: &clap::Command) {
            for text in [command.get_after_help(), command.get_after_long_help()].into_iter().flatten() {
                for line in text.to_string().lines() {
                    assert!(line.chars().count() < 80, "{}: {line}", command.get_name());
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&Args::command());
    }

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }
}
