"""Whole natural environments from a few lines of text.

>>> import orogen
>>> t = orogen.Terrain.flat(samples=65, size_m=4096.0, seed="7")
>>> t["height"].shape
(65, 65)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat, SupportsIndex

from orogen import _orogen
from orogen._errors import (
    OrogenBusyError,
    OrogenError,
    OrogenFileError,
    OrogenFileNotFoundError,
    OrogenKeyError,
    OrogenMemoryError,
    OrogenValueError,
)
from orogen._explain import Cause, Explanation, Reason
from orogen._instances import INSTANCE, InstanceLayers
from orogen._numbers import epsg_of, memory_of, number, path_of, seed_of, shown, spacing_of, text_of, whole, window_of
from orogen._orogen import __version__
from orogen._plants import Plant, PlantPart, Skeleton, plant, plants
from orogen._progress import Progress, reporter
from orogen._render import Picture
from orogen._session import Session
from orogen._steps import Step
from orogen._terrain import Frame, Place, Terrain, Tin
from orogen._vectors import Feature, Vectors

__all__ = [
    "INSTANCE",
    "Cause",
    "Explanation",
    "Feature",
    "Frame",
    "InstanceLayers",
    "OrogenBusyError",
    "OrogenError",
    "OrogenFileError",
    "OrogenFileNotFoundError",
    "OrogenKeyError",
    "OrogenMemoryError",
    "OrogenValueError",
    "Picture",
    "Place",
    "Plant",
    "PlantPart",
    "Reason",
    "Session",
    "Skeleton",
    "Step",
    "Terrain",
    "Tin",
    "Vectors",
    "__version__",
    "build",
    "describe",
    "explain",
    "operators",
    "plant",
    "plants",
    "read",
]


def build(
    recipe: str | os.PathLike[str],
    *,
    samples: SupportsIndex | None = None,
    seed: str | int | None = None,
    threads: SupportsIndex | None = None,
    set: Mapping[str, object] | None = None,
    window: Iterable[SupportsFloat] | None = None,
    spacing_m: SupportsFloat | None = None,
    crs: str | int | object | None = None,
    cache: bool = True,
    memory_bytes: SupportsIndex | None = None,
    progress: Progress = False,
) -> Terrain:
    """Builds a recipe file and returns its terrain; writes nothing but the cache.

    ``set`` changes parameters: ``{"island.polygons": 800}``. ``window`` is the part to build, (west, south, east, north)
    in metres, and ``spacing_m`` the distance between its samples. ``crs`` is a coordinate system in metres
    (``"EPSG:32633"``) that saved files name. ``progress`` shows progress, or is a function of the name of a step and
    the share done. Ctrl-C stops the build.
    """
    if set is not None and not isinstance(set, Mapping):
        raise OrogenValueError(f'set: {shown(set)} is not a dictionary such as {{"island.polygons": 800}}')
    with reporter(progress) as tell:
        inner, steps = _orogen.build(
            path_of(recipe),
            samples=None if samples is None else whole("samples", samples),
            seed=None if seed is None else seed_of(seed),
            threads=None if threads is None else whole("threads", threads),
            set=dict(set or {}),
            window=window_of(window),
            spacing_m=None if spacing_m is None else number("spacing_m", spacing_m),
            crs=epsg_of(crs),
            cache=bool(cache),
            memory=memory_of(memory_bytes),
            progress=tell,
        )
    return Terrain._of(inner, [Step._of(step) for step in steps])


def explain(
    recipe: str | os.PathLike[str],
    place: Iterable[SupportsFloat],
    *,
    samples: SupportsIndex | None = None,
    seed: str | int | None = None,
    set: Mapping[str, object] | None = None,
    cache: bool = True,
    memory_bytes: SupportsIndex | None = None,
    progress: Progress = False,
) -> Explanation:
    """Says why a place, (east, north) in metres, has its temperature, biome, ground materials and plants.

    Builds the recipe, which is quick where it was built before. The other arguments are those of ``orogen.build``.
    """
    if set is not None and not isinstance(set, Mapping):
        raise OrogenValueError(f'set: {shown(set)} is not a dictionary such as {{"island.polygons": 800}}')
    try:
        east, north = (number("place", value) for value in place)
    except (TypeError, ValueError) as error:
        if isinstance(error, OrogenError):
            raise
        raise OrogenValueError(f"place: {shown(place)} is not two numbers, metres east and north") from None
    with reporter(progress) as tell:
        found, text = _orogen.explain(
            path_of(recipe),
            (east, north),
            samples=None if samples is None else whole("samples", samples),
            seed=None if seed is None else seed_of(seed),
            set=dict(set or {}),
            cache=bool(cache),
            memory=memory_of(memory_bytes),
            progress=tell,
        )
    return Explanation._of(found, text)


def read(
    path: str | os.PathLike[str],
    *,
    spacing_m: SupportsFloat | Iterable[SupportsFloat] | None = None,
    window: Iterable[SupportsFloat] | None = None,
    crs: str | int | object | None = None,
    seed: str | int = "orogen",
    memory_bytes: SupportsIndex | None = None,
) -> Terrain:
    """Reads an elevation model: GeoTIFF, ASCII grid, 16-bit PNG or raw samples.

    A model in metres keeps its coordinates. One in degrees or feet lies in metres from its south-west sample; saved as
    GeoTIFF or GeoJSON it lies where it was. ``spacing_m`` is for files that do not give the distance between their samples,
    ``crs`` for those that do not name their coordinate system; where the file says otherwise, it is an error. ``window`` is
    the part to keep, (west, south, east, north).
    """
    inner = _orogen.read(
        path_of(path),
        spacing_m=None if spacing_m is None else spacing_of(spacing_m),
        window=window_of(window),
        crs=epsg_of(crs),
        seed=seed_of(seed),
        memory=memory_of(memory_bytes),
    )
    return Terrain._of(inner)


def operators() -> list[dict[str, Any]]:
    """The operator catalogue: id, version, layers and the JSON schema of the parameters of each."""
    catalogue: list[dict[str, Any]] = json.loads(_orogen.operators_json())["operators"]
    return catalogue


def describe(op: str) -> str:
    """What an operator does and its parameters, to print: every parameter with its default, range and meaning."""
    return _orogen.describe(text_of("op", op))
