"""Terrains."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orogen import _orogen
from orogen._apply import Applies
from orogen._vectors import Vectors

Pair = float | tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """Where a grid of samples lies in the world; x is east, y is north, in metres."""

    samples: tuple[int, int]
    """Columns and rows."""
    spacing_m: tuple[float, float]
    """Distance between neighbouring samples."""
    min_m: tuple[float, float]
    """South-west sample."""
    max_m: tuple[float, float]
    """North-east sample."""

    @property
    def size_m(self) -> tuple[float, float]:
        """Distance between the outermost samples."""
        return self.max_m[0] - self.min_m[0], self.max_m[1] - self.min_m[1]


class Terrain(Applies):
    """One frame with named layers (rasters) and vectors."""

    _inner: _orogen.Terrain

    def __init__(self) -> None:
        raise TypeError("make a Terrain with orogen.build, Terrain.flat or Terrain.from_array")

    @classmethod
    def _of(cls, inner: _orogen.Terrain) -> Terrain:
        terrain = cls.__new__(cls)
        terrain._inner = inner
        return terrain

    @staticmethod
    def flat(
        *,
        samples: int | tuple[int, int] = 513,
        size_m: Pair = 4096.0,
        origin_m: tuple[float, float] = (0.0, 0.0),
        seed: str | int = "orogen",
        memory_bytes: int | None = None,
    ) -> Terrain:
        """Flat ground at sea level."""
        cols, rows = (samples, samples) if isinstance(samples, int) else samples
        return Terrain._of(_orogen.Terrain.flat((cols, rows), _pair(size_m), origin_m, str(seed), memory_bytes))

    @staticmethod
    def from_array(
        z: npt.ArrayLike,
        *,
        spacing_m: Pair,
        origin_m: tuple[float, float] = (0.0, 0.0),
        seed: str | int = "orogen",
    ) -> Terrain:
        """Heights in metres from an array [rows, columns], row 0 in the north; NaN is a hole."""
        return Terrain._of(_orogen.Terrain.from_array(_floats(z), _pair(spacing_m), origin_m, str(seed)))

    def __getitem__(self, layer: str) -> npt.NDArray[Any]:
        """A layer as a read-only view [rows, columns], row 0 in the north."""
        return self._inner.layer(layer)

    def __setitem__(self, layer: str, values: npt.ArrayLike) -> None:
        """Sets a layer; layers derived from it are dropped."""
        self._inner.set_layer(layer, _floats(values))

    def __contains__(self, layer: object) -> bool:
        return layer in self.layers

    def __repr__(self) -> str:
        cols, rows = self.frame.samples
        return f"<orogen.Terrain {cols} x {rows}: {', '.join(self.layers) or 'no layers'}>"

    @property
    def layers(self) -> list[str]:
        """Names of the layers."""
        return self._inner.layer_names()

    @property
    def frame(self) -> Frame:
        """Where the terrain lies."""
        return Frame(*self._inner.frame())

    @property
    def seed(self) -> str:
        """The seed of what is done to this terrain."""
        return self._inner.seed

    @property
    def vectors(self) -> dict[str, Vectors]:
        """All vector layers by name."""
        return {name: self._vectors(name) for name in self._inner.vector_names()}

    @property
    def rivers(self) -> Vectors:
        """Rivers as lines with width and discharge; empty where no step made any."""
        return self._vectors("rivers")

    @property
    def lakes(self) -> Vectors:
        """Lakes as polygons; empty where no step made any."""
        return self._vectors("lakes", "polygons")

    @property
    def plants(self) -> Vectors:
        """Plants as points; empty where no step made any."""
        return self._vectors("plants", "points")

    def copy(self) -> Terrain:
        """A copy that shares the layers until one of the two is changed."""
        return Terrain._of(self._inner.copy())

    def save(self, folder: str | os.PathLike[str], *, kinds: Iterable[str] | None = None) -> list[Path]:
        """Writes files (all default kinds, or those named) and gives their paths. Files appear whole or not at all."""
        written = self._inner.save(os.fspath(folder), None if kinds is None else list(kinds))
        return [Path(path) for path in written]

    def _vectors(self, name: str, shape: str = "lines") -> Vectors:
        columns = self._inner.vectors(name)
        return Vectors(shape, np.empty((0, 3)), [], {}, {}) if columns is None else Vectors(*columns)


def _pair(value: Pair) -> tuple[float, float]:
    return value if isinstance(value, tuple) else (float(value), float(value))


def _floats(values: npt.ArrayLike) -> npt.NDArray[np.float32]:
    array = np.asarray(values, dtype=np.float32)
    if array.ndim != 2:
        raise _orogen.OrogenError(f"expected an array [rows, columns], found {array.ndim} dimensions")
    return array
