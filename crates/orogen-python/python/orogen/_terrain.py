"""Terrains."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orogen import _orogen
from orogen._apply import Applies
from orogen._progress import reporter
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


@dataclass(frozen=True)
class Tin:
    """Land as triangles."""

    vertices: npt.NDArray[np.float64]
    """[n, 3]: x, y, z in metres."""
    triangles: npt.NDArray[np.uint32]
    """[m, 3]: three vertices each, counter-clockwise seen from above."""


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

    def contours(self, *, interval_m: float = 50.0, base_m: float = 0.0, smooth: bool = False) -> Vectors:
        """Lines of equal height, each with its ``level_m`` and whether it is ``closed``; the terrain stays as it is."""
        land = self.copy()
        land.apply("survey.contours", interval_m=interval_m, base_m=base_m, smooth=smooth)
        return land._vectors("contours")

    def river_network(
        self,
        *,
        rain_mm_per_yr: float | str = 1000.0,
        runoff: float = 0.5,
        spring_m3_per_s: float = 0.005,
        spring_m2: float = 0.0,
        sea: bool = True,
    ) -> Vectors:
        """Rivers that this land would have, each reach with ``order``, ``discharge_m3s``, ``width_m`` and ``into``.

        The terrain stays as it is; ``apply("water.rivers")`` cuts them in, and ``rivers`` has those that steps made.
        """
        land = self.copy()
        land.apply(
            "water.rivers",
            rain_mm_per_yr=rain_mm_per_yr,
            runoff=runoff,
            spring_m3_per_s=spring_m3_per_s,
            spring_m2=spring_m2,
            sea=sea,
        )
        return land._vectors("rivers")

    def tin(self, *, max_error_m: float = 1.0, method: str = "greedy", progress: bool = False) -> Tin:
        """The land as few triangles, no sample further than ``max_error_m`` above or below them.

        ``method`` is ``greedy`` (few triangles) or ``hierarchy`` (right triangles: more of them, sooner).
        """
        if method not in ("greedy", "hierarchy"):
            raise _orogen.OrogenError(f"tin: method: found {method!r}, allowed are 'greedy' and 'hierarchy'")
        with reporter(progress) as tell:
            return Tin(*self._inner.tin(float(max_error_m), method == "hierarchy", tell))

    def viewshed(
        self,
        at_m: tuple[float, float],
        *,
        observer_m: float = 2.0,
        target_m: float = 0.0,
        curvature: float = 6 / 7,
        range_m: float = math.inf,
        exact: bool = False,
        progress: bool = False,
    ) -> npt.NDArray[np.uint8]:
        """What is seen from a place: 1 seen, 0 hidden, 255 a hole.

        ``curvature`` is 0 for a flat Earth, 1 without air, 6/7 with the usual refraction. ``exact`` follows the sight line
        to every sample, which takes longer.
        """
        with reporter(progress) as tell:
            return self._inner.viewshed(at_m, (observer_m, target_m), curvature, range_m, exact, tell)

    def watershed(
        self, at_m: tuple[float, float], *, snap_m: float = 100.0, sea: bool = True, progress: bool = False
    ) -> npt.NDArray[np.uint8]:
        """What drains through a place: 1 does, 0 does not, 255 a hole.

        The place moves to the sample of the most flow within ``snap_m``. With ``sea``, land at or below 0 m is sea.
        """
        if not 0.0 <= snap_m <= 1e5:
            raise _orogen.OrogenError(f"watershed: snap_m: found {snap_m}, allowed is 0 to 100000")
        with reporter(progress) as tell:
            return self._inner.watershed(at_m, float(snap_m), sea, tell)

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
