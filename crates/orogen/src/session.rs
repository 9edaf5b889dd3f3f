//! A session over a recipe, with the operators of the catalogue.

use std::collections::BTreeSet;
use std::sync::Arc;

use orogen_core::{Cancel, Frame, LayerName, Part, Terrain};
use orogen_recipe::{Cache, Plan, Recipe, Session, SessionOptions, TileError};

use crate::build::{BuildOptions, Window, check, files, window};
use crate::error::BuildError;

/// Makes a recipe ready to answer for any window, from any thread. Of the options, changes to the recipe, bounds and the
/// folder of its files count.
///
/// # Errors
/// When the recipe is wrong.
pub fn session(
    recipe: &Recipe,
    options: &BuildOptions<'_>,
    cache: Option<Arc<Cache>>,
) -> Result<Session, BuildError> {
    let (checked, _) = check(recipe, options)?;
    let whole = Plan::new(&checked, *checked.frame())?;
    let files = Arc::new(files(options, checked.bytes_beside(&whole)));
    Ok(Session::new(checked, SessionOptions { files, cache, ..SessionOptions::default() }))
}

/// The samples of a part of a session's land; all of the recipe's own for `None`.
///
/// # Errors
/// When there is no such part.
pub fn tile_frame(session: &Session, part: Option<Window>) -> Result<Frame, BuildError> {
    window(session.checked(), part)
}

/// Some layers of a window of a session over a recipe, as [`Session::tile`]; errors say where they are in the recipe.
///
/// # Errors
/// As [`Session::tile`].
pub fn tile(
    session: &Session,
    recipe: &Recipe,
    frame: Frame,
    layers: &[LayerName],
    cancel: &Cancel,
) -> Result<Terrain, BuildError> {
    session.tile(frame, layers, cancel).map_err(|error| of_tile(error, recipe))
}

/// As [`tile`], for any kind of parts.
pub(crate) fn tile_parts(
    session: &Session,
    recipe: &Recipe,
    frame: Frame,
    parts: &BTreeSet<Part>,
    cancel: &Cancel,
) -> Result<Terrain, BuildError> {
    session.parts(frame, parts, cancel).map_err(|error| of_tile(error, recipe))
}

fn of_tile(error: TileError, recipe: &Recipe) -> BuildError {
    match error {
        TileError::Plan(error) => error.into(),
        TileError::Run(error) => BuildError::of_run(error, recipe),
    }
}
