//! `orogen dem breach`

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use orogen::core::OpError;
use orogen::io::About;
use orogen::ops::drainage::breach::{Breaching, breach};
use serde_json::json;

use super::flow::Sea;
use super::job::Job;
use super::raster::{ENDINGS, Packing};
use super::{Common, parse};

/// `orogen dem breach`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every pit gets a channel to lower ground, to the edge of the model, beside a
hole or into the sea: of all channels the one that cuts away the least. Its
floor is level with the pit, and it is one sample wide. Dams of roads and
bridges are opened that way, where `orogen dem fill` would drown the valley
behind them.

Examples:
  orogen dem breach alps.tif drained.tif
  orogen dem breach lidar.tif drained.tif --max-depth 10 --max-length 100
  orogen dem breach island.tif --sea 0 --rest leave")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-breach.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// Deepest cut in metres; pits behind higher dams are the rest.
    #[arg(long, value_name = "M", default_value = "50", value_parser = parse::number(0.0, 1e5), allow_hyphen_values = true)]
    pub max_depth: f64,
    /// How far a channel may lead from the level ground of its pit, in metres.
    #[arg(long, value_name = "M", default_value = "2000", value_parser = parse::number(0.0, 1e6), allow_hyphen_values = true)]
    pub max_length: f64,
    /// What becomes of pits that no channel within these limits drains.
    #[arg(long, value_name = "WHAT", default_value = "fill")]
    pub rest: Rest,
    #[command(flatten)]
    pub sea: Sea,
}

/// What becomes of pits that are not breached.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Rest {
    /// They are filled to where they spill.
    Fill,
    /// They stay.
    Leave,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("breach", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let mut model = job.read()?;
    let [dx, dy] = model.place.spacing_m();
    let how = Breaching {
        spacing_m: [dx, dy],
        sea_m: args.sea.level_m(),
        depth_m: args.max_depth as f32,
        length_m: args.max_length,
        fill: args.rest == Rest::Fill,
        floors: None,
    };
    let height = &mut model.height;
    let done = job.work(|ctx| -> Result<_, OpError> { breach(height, &how, ctx) })?;
    let (cut_m3, filled_m3) = (done.cut_m * dx * dy, done.filled_m * dx * dy);
    let facts = vec![
        ("channels", json!(done.channels)),
        ("cut_m3", json!(cut_m3)),
        ("depressions_filled", json!(done.filled)),
        ("filled_m3", json!(filled_m3)),
        ("depressions_left", json!(done.left)),
    ];
    let said = format!(
        "{} channels cut ({cut_m3:.0} m3), {} depressions filled ({filled_m3:.0} m3), {} left",
        done.channels, done.filled, done.left
    );
    let about = About { layer: "height", unit: "m", seed: "" };
    let (height, range) = (&model.height, model.height.range());
    job.write_floats(args.out.as_deref(), args.packing, &model, height, range, &about, facts, Some(said))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use orogen::ops::water::Breach;

    use super::*;

    #[derive(clap::Parser)]
    struct Call {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn its_defaults_are_those_of_the_operator() {
        let Call { args } = Call::parse_from(["breach", "in.tif"]);
        let op = Breach::default();
        assert_eq!((args.max_depth, args.max_length), (op.max_depth_m, op.max_length_m));
        assert_eq!(args.rest, Rest::Fill);
    }
}
