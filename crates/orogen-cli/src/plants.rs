//! `orogen plants`: a plant as a glb file, the species, a picture of all of them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use orogen::BuildError;
use orogen::flora::{Growth, Outlook, outlooks, plant, plant_glb, plant_impostor, plant_name, plant_sheet};
use orogen::io::png8;

use crate::args::Plants;
use crate::output;

pub fn run(args: &Plants) -> Result<()> {
    if args.list {
        return list(args.json);
    }
    let start = Instant::now();
    let growth = Growth { age: args.age, vigour: args.vigour, season: args.season };
    if let (Some(form), Some(name)) = (args.impostor, &args.species) {
        let usual = || PathBuf::from(format!("{}_impostor.json", plant_name(name)));
        let file = args.out.clone().unwrap_or_else(usual);
        let stem = output::json_stem(&file)?;
        let files = plant_impostor(&plant(name, &args.seed, growth)?, &stem, form)?;
        output::write_beside(&file, &files, args.force)?;
        if !args.quiet {
            let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
            let seconds = start.elapsed().as_secs_f64();
            eprintln!("{} and three pictures: {:.1} MB, {seconds:.2} s", file.display(), bytes as f64 / 1e6);
        }
        return Ok(());
    }
    let (file, bytes) = match (&args.sheet, &args.species) {
        (Some(file), _) => {
            output::refuse_existing(file, args.force)?;
            (file.clone(), png8::encode(&plant_sheet(&args.seed, growth)?))
        }
        (None, Some(species)) => {
            let name = plant_name(species);
            let file = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.glb")));
            output::refuse_existing(&file, args.force)?;
            (file, plant_glb(&plant(species, &args.seed, growth)?, &name, args.lod)?)
        }
        (None, None) => {
            let what =
                "SPECIES is missing; `orogen plants --list` names all, a file of your own does as well";
            return Err(BuildError::Call(String::from(what)).into());
        }
    };
    if file == Path::new("-") {
        return output::print_bytes(&bytes);
    }
    output::write_file(&file, &bytes, args.force)?;
    if !args.quiet {
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("{}: {:.1} MB, {seconds:.2} s", file.display(), bytes.len() as f64 / 1e6);
    }
    Ok(())
}

fn list(json: bool) -> Result<()> {
    let all = outlooks()?;
    if json {
        return output::print_json(&all);
    }
    let width = all.iter().map(|species| species.name.len()).max().unwrap_or(0);
    let line = |species: &Outlook| {
        let [low, high] = species.height_range_m;
        format!("{:<width$}  {:>12}  {}\n", species.name, format!("{low} to {high} m"), species.about)
    };
    output::print(&all.iter().map(line).collect::<String>())
}
