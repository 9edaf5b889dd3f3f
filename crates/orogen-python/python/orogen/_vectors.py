"""Vectors: rivers, polygons, points with their attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Feature:
    """One point, line or polygon."""

    points: npt.NDArray[np.float64]
    """Vertices, [n, 3]: x, y, z in metres. Of a polygon, the outer ring."""
    holes: list[npt.NDArray[np.float64]]
    """Further parts: the holes of a polygon."""
    attributes: dict[str, Any]
    """One value for the feature, or an array with one value per vertex."""


class Vectors(Sequence[Feature]):
    """The features of one vector layer, kept in columns."""

    def __init__(self, shape: str, vertices: npt.NDArray[np.float64], parts: list[list[tuple[int, int]]],
                 features: dict[str, Any], per_vertex: dict[str, Any]) -> None:
        self.shape = shape
        """``points``, ``lines`` or ``polygons``."""
        self.vertices = vertices
        """All vertices of all features, [n, 3]."""
        self.attributes = features
        """Columns with one entry per feature."""
        self.vertex_attributes = per_vertex
        """Columns with one entry per vertex."""
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    @overload
    def __getitem__(self, index: int) -> Feature: ...
    @overload
    def __getitem__(self, index: slice) -> list[Feature]: ...
    def __getitem__(self, index: int | slice) -> Feature | list[Feature]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self)} features, found the index {index}")
        spans = self._parts[index]
        attributes = {name: column[index] for name, column in self.attributes.items()}
        if spans:
            start, end = spans[0][0], spans[-1][1]
            attributes |= {name: column[start:end] for name, column in self.vertex_attributes.items()}
        rings = [self.vertices[a:b] for a, b in spans] or [self.vertices[:0]]
        return Feature(rings[0], rings[1:], attributes)

    def __iter__(self) -> Iterator[Feature]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} {self.shape}>"
