//! `orogen dem faults`

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use orogen::core::vector::{Column, Shape, VectorLayer};
use orogen::ops::survey::faults::{Fault, Faults, Kind, faults, rises_along};
use orogen::ops::survey::sample::{Between, sample};
use serde_json::{Value, json};

use super::flow::Sea;
use super::job::{Job, Model};
use super::{Common, parse};

/// `orogen dem faults`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Finds
  sinks           ground without a way down
  rising rivers   rivers that would have to climb, over a dam, a bridge or a
                  bad sample
  sloping lakes   ground as smooth as water and shut in by higher ground that
                  is not level
  seams           straight lines along rows or columns where the ground jumps,
                  as between tiles
  terraces        heights in whole steps all over the model
The report says where each is, how large it is and how to repair it. A geojson
has all of them as points, with `kind`, `size_m`, `length_m`, `area_m2`, the
other end `to_x`, `to_y`, and `mend`.

Examples:
  orogen dem faults alps.tif
  orogen dem faults alps.tif faults.geojson --min-size 2 --sea 0
  orogen dem faults alps.tif --rivers streams.geojson --json")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The file to write, geojson or csv [default: a report on standard output]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// Smallest fault in metres: depth of a sink, rise of a river, slope of a lake from end to end, height of a step.
    #[arg(long, value_name = "M", default_value = "0.5", value_parser = parse::number(0.001, 1e5), allow_hyphen_values = true)]
    pub min_size: f64,
    /// Land that makes a river, in square metres.
    #[arg(long, value_name = "M2", default_value = "1e6", value_parser = parse::number(0.0, 1e15), allow_hyphen_values = true)]
    pub river_area: f64,
    /// A GeoJSON file of rivers to follow besides those of the ground: by their own heights, or those of the ground where
    /// they have none.
    #[arg(long, value_name = "FILE")]
    pub rivers: Option<PathBuf>,
    /// Faults of each kind that the report lists, the largest first; files have all.
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    pub most: u32,
    #[command(flatten)]
    pub sea: Sea,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("faults", &args.common)?.reading(&args.rivers);
    let out = job.asked_file(args.out.as_deref());
    let ending = job.ending(out, &["geojson", "json", "csv"])?;
    let drawn = args.rivers.as_ref().map(|path| parse::lines_of(path)).transpose()?;
    let model = job.read()?;
    let params = Faults { least_m: args.min_size, river_m2: args.river_area, sea_m: args.sea.level_m() };
    let mut found = job.work(|ctx| faults(&model.height, model.place.spacing_m(), &params, ctx))?;
    for line in drawn.iter().flatten() {
        found.extend(rises_of(line, &model, args.min_size));
    }
    found.sort_by(|a, b| a.kind.cmp(&b.kind).then(b.size_m.total_cmp(&a.size_m)));
    let counts: Vec<(Kind, usize)> =
        Kind::ALL.into_iter().map(|kind| (kind, found.iter().filter(|f| f.kind == kind).count())).collect();
    let said = match found.len() {
        0 => String::from("no faults"),
        1 => format!("1 fault: {}", in_words(&counts)),
        count => format!("{count} faults: {}", in_words(&counts)),
    };
    let is_file = out.is_some() || args.common.format.is_some();
    if is_file {
        let facts = vec![("faults", counts_json(&counts))];
        return match ending {
            "csv" => job.write(out, ending, table(&found, &model).as_bytes(), facts, &said),
            _ => job.write_vectors(out, ending, &model, ("faults", &vectors(&found, &model)), facts, &said),
        };
    }
    let most = args.most as usize;
    let listed = |kind: Kind| found.iter().filter(move |fault| fault.kind == kind).take(most);
    let places: Vec<Value> = Kind::ALL.into_iter().flat_map(listed).map(|f| as_json(f, &model)).collect();
    let facts = vec![("faults", counts_json(&counts)), ("places", json!(places))];
    let mut text = String::new();
    for &(kind, count) in counts.iter().filter(|(_, count)| *count > 0) {
        let rest = if count > most { format!(", the largest {most}") } else { String::new() };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {count}{rest}", plural(kind));
        for fault in listed(kind) {
            let _ = writeln!(text, "  {}", sentence(fault, &model));
        }
        let _ = writeln!(text, "  to repair: {}\n", mend(kind));
    }
    job.write_text(None, &text, facts, &said)
}

/// How to repair a fault.
fn mend(kind: Kind) -> &'static str {
    match kind {
        Kind::Sink => {
            "`orogen dem breach IN OUT` cuts an outlet, `orogen dem fill IN OUT` raises the ground to its brim"
        }
        Kind::RisingRiver => {
            "`orogen dem breach IN OUT` cuts through what dams the river; `orogen dem rivers IN OUT.tif` cuts beds that fall"
        }
        Kind::SlopingLake => {
            "a recipe with `source.dem`, then `shape.features` with a plateau of the lake's outline at its lowest level"
        }
        Kind::Seam => "a recipe with `source.dem`, then `shape.blur` under a `mask.polygon` along the seam",
        Kind::Terraces => {
            "`orogen dem contours IN lines.geojson`, then a recipe with `source.contours`, which lays smooth ground through the lines"
        }
    }
}

fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Sink => "sinks",
        Kind::RisingRiver => "rising rivers",
        Kind::SlopingLake => "sloping lakes",
        Kind::Seam => "seams",
        Kind::Terraces => "terraces",
    }
}

fn in_words(counts: &[(Kind, usize)]) -> String {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    some.map(|(kind, count)| format!("{count} {}", if *count == 1 { kind.name() } else { plural(*kind) }))
        .collect::<Vec<_>>()
        .join(", ")
}

fn counts_json(counts: &[(Kind, usize)]) -> Value {
    counts.iter().map(|(kind, count)| (plural(*kind).replace(' ', "_"), json!(count))).collect()
}

/// Ends of a fault in the coordinates of the file.
fn ends(fault: &Fault, model: &Model) -> [[f64; 2]; 2] {
    [model.place.at(fault.at), model.place.at(fault.to)]
}

fn sentence(fault: &Fault, model: &Model) -> String {
    let [[x, y], [x1, y1]] = ends(fault, model);
    let (size, length, area) = (fault.size_m, fault.length_m, fault.area_m2);
    match fault.kind {
        Kind::Sink => format!("{x},{y}: {size:.2} m deep on {area:.0} m2"),
        Kind::RisingRiver => format!("{x},{y}: rises by {size:.2} m over {length:.0} m, to {x1},{y1}"),
        Kind::SlopingLake => format!("{x},{y}: falls by {size:.2} m to {x1},{y1}, on {area:.0} m2"),
        Kind::Seam => format!("{x},{y} to {x1},{y1}: a jump of {size:.2} m along {length:.0} m"),
        Kind::Terraces => format!("the whole model: heights in steps of {size} m"),
    }
}

fn as_json(fault: &Fault, model: &Model) -> Value {
    let [at, to] = ends(fault, model);
    json!({
        "kind": fault.kind.name(), "at": at, "to": to, "size_m": fault.size_m,
        "length_m": fault.length_m, "area_m2": fault.area_m2, "mend": mend(fault.kind),
    })
}

fn table(found: &[Fault], model: &Model) -> String {
    let mut text = String::from("kind,x,y,to_x,to_y,size_m,length_m,area_m2\n");
    for fault in found {
        let [[x, y], [x1, y1]] = ends(fault, model);
        let (kind, size, length, area) = (fault.kind.name(), fault.size_m, fault.length_m, fault.area_m2);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{kind},{x},{y},{x1},{y1},{size},{length},{area}");
    }
    text
}

/// Every fault as a point.
fn vectors(found: &[Fault], model: &Model) -> VectorLayer {
    let mut points = VectorLayer::new(Shape::Points);
    let (mut to_x, mut to_y) = (Vec::new(), Vec::new());
    for fault in found {
        let [[x, y], to] = ends(fault, model);
        points.push([[x, y, 0.0]]);
        to_x.push(to[0]);
        to_y.push(to[1]);
    }
    let numbers = |of: fn(&Fault) -> f64| Column::Number(found.iter().map(of).collect());
    let words = |of: fn(Kind) -> &'static str| {
        Column::Text(found.iter().map(|fault| of(fault.kind).to_owned()).collect())
    };
    // One entry for each fault, so all fit.
    let _ = points.set_feature_attribute("kind", words(Kind::name));
    let _ = points.set_feature_attribute("mend", words(mend));
    let _ = points.set_feature_attribute("size_m", numbers(|fault| fault.size_m));
    let _ = points.set_feature_attribute("length_m", numbers(|fault| fault.length_m));
    let _ = points.set_feature_attribute("area_m2", numbers(|fault| fault.area_m2));
    let _ = points.set_feature_attribute("to_x", Column::Number(to_x));
    let _ = points.set_feature_attribute("to_y", Column::Number(to_y));
    points
}

/// Where a drawn river rises.
fn rises_of(line: &[[f64; 3]], model: &Model, least_m: f64) -> Vec<Fault> {
    let places: Vec<[f64; 2]> = line.iter().map(|[x, y, _]| model.place.cell_of([*x, *y])).collect();
    // A line without heights has 0 or nothing in all places.
    let has_heights = line.iter().any(|[_, _, z]| z.is_finite() && *z != 0.0);
    let ground = |place: &[f64; 2]| sample(&model.height, *place, Between::Bilinear);
    let heights: Vec<f32> = if has_heights {
        line.iter().map(|[_, _, z]| *z as f32).collect()
    } else {
        places.iter().map(ground).collect()
    };
    let [dx, dy] = model.place.spacing_m();
    let length_m = |a: usize, b: usize| -> f64 {
        let part = &places[a.min(b)..=a.max(b)];
        let step_m = |p: &[[f64; 2]]| {
            let (x, y) = ((p[1][0] - p[0][0]) * dx, (p[1][1] - p[0][1]) * dy);
            (x * x + y * y).sqrt()
        };
        part.windows(2).map(step_m).sum()
    };
    let rises = rises_along(&heights, least_m);
    let fault = |[low, top]: [usize; 2]| Fault {
        kind: Kind::RisingRiver,
        at: places[low],
        to: places[top],
        size_m: f64::from(heights[top]) - f64::from(heights[low]),
        length_m: length_m(low, top),
        area_m2: 0.0,
    };
    rises.into_iter().map(fault).collect()
}
