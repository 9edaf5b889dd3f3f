"""Whole natural environments from a few lines of text.

>>> import orogen
>>> t = orogen.Terrain.flat(samples=65, size_m=4096.0, seed="7")
>>> t["height"].shape
(65, 65)
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from orogen import _orogen
from orogen._orogen import OrogenError, __version__
from orogen._progress import reporter
from orogen._terrain import Frame, Terrain, Tin
from orogen._vectors import Feature, Vectors

__all__ = ["Feature", "Frame", "OrogenError", "Terrain", "Tin", "Vectors", "__version__", "build", "operators"]


def build(
    recipe: str | os.PathLike[str],
    *,
    samples: int | None = None,
    seed: str | int | None = None,
    threads: int | None = None,
    set: Mapping[str, object] | None = None,
    cache: bool = True,
    memory_bytes: int | None = None,
    progress: bool = False,
) -> Terrain:
    """Evaluates a recipe file and gives its land; writes nothing but the cache.

    ``set`` changes parameters, as ``--set`` does on the command line: ``{"island.polygons": 800}``.
    Ctrl-C stops the build.
    """
    with reporter(progress) as tell:
        inner = _orogen.build(
            os.fspath(recipe),
            samples=samples,
            seed=None if seed is None else str(seed),
            threads=threads,
            set=[f"{key}={_toml(value)}" for key, value in (set or {}).items()],
            cache=cache,
            memory=memory_bytes,
            progress=tell,
        )
    return Terrain._of(inner)


def operators() -> list[dict[str, Any]]:
    """The operator catalogue: id, version, layers and the JSON schema of the parameters of each."""
    catalogue: list[dict[str, Any]] = json.loads(_orogen.operators_json())["operators"]
    return catalogue


def _toml(value: object) -> str:
    """A value as TOML text."""
    if isinstance(value, (bool, str)):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, (int, float)):
        return repr(value)
    raise OrogenError(f"found a value of type {type(value).__name__}, allowed are numbers, texts, lists and tables")
