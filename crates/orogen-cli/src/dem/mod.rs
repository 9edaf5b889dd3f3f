//! `orogen dem`: the surveyor's tools on any elevation model, one tool in each file.

mod aspect;
mod basins;
mod breach;
mod contours;
mod curvature;
mod cutfill;
mod faults;
mod fill;
mod flow;
mod hillshade;
mod intervisibility;
mod job;
mod memory;
mod parse;
mod profile;
mod raster;
mod rivers;
mod ruggedness;
mod sample;
mod slope;
mod stats;
mod tin;
mod viewshed;
mod watershed;

use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

use crate::args::whole;

/// `orogen dem`
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Places are given in the coordinates of the file itself (metres, feet, or
degrees as LONGITUDE,LATITUDE); distances and heights are metres. Results lie
where their source does. Holes stay holes and do not spread. Maps are
GeoTIFFs, or grey pictures where OUT ends in png. `-` is standard input or
output; --format says what is written there.

Examples:
  orogen dem hillshade alps.tif shade.tif
  orogen dem slope alps.tif               alps-slope.tif here
  orogen dem slope alps.tif slope.png     a picture
  curl -s URL | orogen dem slope - - > slope.tif
  orogen dem TOOL --help                  what a tool takes, with examples")]
pub struct Dem {
    /// The tool to run.
    #[command(subcommand)]
    pub tool: Tool,
}

/// The tools.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// The light of a far sun on the ground, as on printed maps.
    Hillshade(hillshade::Args),
    /// How steep the ground is, in degrees.
    Slope(slope::Args),
    /// Which way the ground faces, in degrees clockwise from north.
    Aspect(aspect::Args),
    /// Where the ground bulges and where it is hollow, in 1/m.
    Curvature(curvature::Args),
    /// How much the ground differs from the ground beside it, in metres.
    Ruggedness(ruggedness::Args),
    /// Lines of equal height.
    Contours(contours::Args),
    /// Heights at places, stepped or bilinear.
    Sample(sample::Args),
    /// Heights along a line, as a table or a plot.
    Profile(profile::Args),
    /// Volumes above and below a level or another model.
    Cutfill(cutfill::Args),
    /// What can be seen from a place.
    Viewshed(viewshed::Args),
    /// Which of many places see one another.
    Intervisibility(intervisibility::Args),
    /// The ground as few triangles, to a largest error.
    Tin(tin::Args),
    /// The ground without depressions.
    Fill(fill::Args),
    /// The ground with an outlet cut from every depression.
    Breach(breach::Args),
    /// What is wrong with the model, where, and how to repair it.
    Faults(faults::Args),
    /// The area that drains through each place, in square metres.
    Flow(flow::Args),
    /// Rivers as lines, with order, discharge, width and depth.
    Rivers(rivers::Args),
    /// The land that drains to each outlet, numbered or as outlines.
    Basins(basins::Args),
    /// The land that drains through a place, as a mask and an outline.
    Watershed(watershed::Args),
    /// The numbers that tell real land from noise.
    Stats(stats::Args),
}

/// What every tool takes.
#[derive(Clone, Debug, ClapArgs)]
pub struct Common {
    /// The elevation model: tif, tiff, asc, png, r16, r32 or raw; `-` for a tif, asc or png on standard input.
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Band of a GeoTIFF that is the height, counted from 1 [default: the first]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(65535))]
    pub band: Option<u32>,
    /// Largest model to read, in samples, such as 4e9 [default: as many as fit into free memory]
    #[arg(long, value_name = "N", value_parser = parse::number(1.0, 1e15), allow_hyphen_values = true)]
    pub max_samples: Option<f64>,
    /// Format to write, such as tif or geojson [default: by the ending of OUT]
    #[arg(long, value_name = "ENDING")]
    pub format: Option<String>,
    /// Distance between samples in metres, for files that do not give it.
    #[arg(long, value_name = "M", value_parser = parse::number(1e-6, 1e9), allow_hyphen_values = true)]
    pub spacing: Option<f64>,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1024))]
    pub threads: Option<u16>,
    /// Print a summary as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    /// Print only errors.
    #[arg(long, short)]
    pub quiet: bool,
}

impl Common {
    /// The name of the model, for files and titles made from it.
    pub fn stem(&self) -> String {
        self.stem_os().to_string_lossy().into_owned()
    }

    /// The same as the system has it: names need not be text.
    pub fn stem_os(&self) -> OsString {
        match self.input.to_str() {
            Some("-") => OsString::from("stdin"),
            _ => self.input.file_stem().unwrap_or_default().to_owned(),
        }
    }
}

impl Tool {
    fn common(&self) -> &Common {
        match self {
            Self::Hillshade(args) => &args.common,
            Self::Slope(args) => &args.common,
            Self::Aspect(args) => &args.common,
            Self::Curvature(args) => &args.common,
            Self::Ruggedness(args) => &args.common,
            Self::Contours(args) => &args.common,
            Self::Tin(args) => &args.common,
            Self::Fill(args) => &args.common,
            Self::Breach(args) => &args.common,
            Self::Faults(args) => &args.common,
            Self::Flow(args) => &args.common,
            Self::Rivers(args) => &args.common,
            Self::Basins(args) => &args.common,
            Self::Watershed(args) => &args.common,
            Self::Stats(args) => &args.common,
            Self::Intervisibility(args) => &args.common,
            Self::Viewshed(args) => &args.common,
            Self::Cutfill(args) => &args.common,
            Self::Profile(args) => &args.common,
            Self::Sample(args) => &args.common,
        }
    }

    fn run(&self) -> Result<()> {
        match self {
            Self::Hillshade(args) => hillshade::run(args),
            Self::Slope(args) => slope::run(args),
            Self::Aspect(args) => aspect::run(args),
            Self::Curvature(args) => curvature::run(args),
            Self::Ruggedness(args) => ruggedness::run(args),
            Self::Contours(args) => contours::run(args),
            Self::Tin(args) => tin::run(args),
            Self::Fill(args) => fill::run(args),
            Self::Breach(args) => breach::run(args),
            Self::Faults(args) => faults::run(args),
            Self::Flow(args) => flow::run(args),
            Self::Rivers(args) => rivers::run(args),
            Self::Basins(args) => basins::run(args),
            Self::Watershed(args) => watershed::run(args),
            Self::Stats(args) => stats::run(args),
            Self::Intervisibility(args) => intervisibility::run(args),
            Self::Viewshed(args) => viewshed::run(args),
            Self::Cutfill(args) => cutfill::run(args),
            Self::Profile(args) => profile::run(args),
            Self::Sample(args) => sample::run(args),
        }
    }
}

pub fn run(args: &Dem) -> Result<()> {
    let threads = args.tool.common().threads.map(usize::from);
    orogen::with_threads(threads, || args.tool.run())?
}
