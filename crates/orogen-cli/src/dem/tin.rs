//! `orogen dem tin`

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use orogen::BuildError;
use orogen::io::triangles::Triangles;
use orogen::ops::survey::tin::{self, LEAST_ERROR_M, Tin};
use serde_json::json;

use super::job::{Job, Model};
use super::{Common, parse};

/// `orogen dem tin`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Axes are x east, y up, z south, in metres from the south-west sample of the
model; vertices are samples of it.

Examples:
  orogen dem tin alps.tif alps.glb --max-error 5
  orogen dem tin alps.tif alps.obj --max-error 5 --method hierarchy")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The mesh to write, glb or obj [default: IN-tin.glb here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// How far a sample may lie above or below its triangle, in metres.
    #[arg(long, value_name = "M", default_value = "1", value_parser = parse::number(LEAST_ERROR_M, 1e6), allow_hyphen_values = true)]
    pub max_error: f64,
    /// How triangles are chosen.
    #[arg(long, value_name = "METHOD", default_value = "greedy")]
    pub method: Method,
}

/// How triangles are chosen.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Method {
    /// The sample that is furthest off becomes a vertex, again and again: few triangles.
    Greedy,
    /// Right triangles, each half of another: more of them, in a fraction of the time.
    Hierarchy,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("tin", &args.common)?;
    let ending = job.ending(args.out.as_deref(), &["glb", "obj"])?;
    let model = job.read()?;
    let found = job.work(|ctx| match args.method {
        Method::Greedy => tin::greedy(&model.height, args.max_error, ctx),
        Method::Hierarchy => tin::hierarchy(&model.height, args.max_error, ctx),
    })?;
    let name = args.common.stem();
    let mesh = mesh(&found, &model);
    let file = match ending {
        "obj" => mesh.to_obj(&name),
        _ => mesh.to_glb(&name).ok_or_else(|| {
            let count = found.triangles.len();
            let text = format!(
                "cannot write {count} triangles as glb, which holds from 1 triangle up to 4 GiB; use obj"
            );
            BuildError::Write(format!("{}: {text}", args.common.input.display()))
        })?,
    };
    let (vertices, triangles) = (found.vertices.len(), found.triangles.len());
    let facts = vec![("vertices", json!(vertices)), ("triangles", json!(triangles))];
    job.write(
        args.out.as_deref(),
        ending,
        &file,
        facts,
        &format!("{triangles} triangles, {vertices} vertices"),
    )
}

fn mesh(tin: &Tin, model: &Model) -> Triangles {
    let [dx, dy] = model.place.spacing_m();
    let south = model.height.rows() - 1;
    let place = |&[col, row]: &[u32; 2]| {
        let (col, row) = (col as usize, row as usize);
        [(col as f64 * dx) as f32, model.height.row(row)[col], -((south - row) as f64 * dy) as f32]
    };
    Triangles { vertices: tin.vertices.iter().map(place).collect(), triangles: tin.triangles.clone() }
}
