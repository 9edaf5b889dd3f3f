//! `orogen textures`: seamless textures of the ground.

use std::time::Instant;

use anyhow::Result;
use orogen::io::Existing;
use orogen::texture::Texture;
use orogen::{BuildError, TextureOptions, save_textures};

use crate::args::Textures;
use crate::{output, signals};

pub fn run(args: &Textures) -> Result<()> {
    if args.list {
        let width = Texture::ALL.iter().map(|texture| texture.name().len()).max().unwrap_or(0);
        let line = |texture: &Texture| format!("{:<width$}  {}\n", texture.name(), texture.about());
        return output::print(&Texture::ALL.iter().map(line).collect::<String>());
    }
    let start = Instant::now();
    let mut textures = Vec::new();
    for name in &args.names {
        let texture = Texture::named(name).map_err(|error| {
            let names: Vec<&str> = Texture::ALL.iter().map(|texture| texture.name()).collect();
            BuildError::Call(format!("{error} (available: {})", names.join(", ")))
        })?;
        // Named twice is made once.
        if !textures.contains(&texture) {
            textures.push(texture);
        }
    }
    let cancel = signals::cancel_on_signal()?;
    let options = TextureOptions {
        textures: &textures,
        size: args.size,
        seed: &args.seed,
        sheet: args.sheet,
        existing: if args.force { Existing::Replace } else { Existing::Keep },
        cancel: &cancel,
        done: &|texture| {
            if !args.quiet {
                eprintln!("{}", texture.name());
            }
        },
    };
    let files = save_textures(&options, &args.out)?;
    if !args.quiet {
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("{}: {} files, {seconds:.2} s", args.out.display(), files.len());
    }
    Ok(())
}
