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
    shape: str = "lines"
    """``points``, ``lines`` or ``polygons``: what it is one of."""

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """As GeoJSON has it, in metres of the terrain's own coordinates: shapely, geopandas and others take it."""
        parts = [self.points, *self.holes]
        if self.shape == "polygons":
            # Rings close there by repeating their first vertex.
            rings = [np.concatenate([part, part[:1]]).tolist() for part in parts]
            geometry: dict[str, Any] = {"type": "Polygon", "coordinates": rings}
        elif self.shape == "points":
            geometry = {"type": "Point", "coordinates": self.points[0].tolist()}
        elif len(parts) > 1:
            geometry = {"type": "MultiLineString", "coordinates": [part.tolist() for part in parts]}
        else:
            geometry = {"type": "LineString", "coordinates": self.points.tolist()}
        properties = {name: _plain(value) for name, value in self.attributes.items()}
        return {"type": "Feature", "geometry": geometry, "properties": properties}


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
            raise IndexError(f"index {index} is out of range for {len(self)} features")
        spans = self._parts[index]
        attributes = {name: column[index] for name, column in self.attributes.items()}
        if spans:
            start, end = spans[0][0], spans[-1][1]
            attributes |= {name: column[start:end] for name, column in self.vertex_attributes.items()}
        rings = [self.vertices[a:b] for a, b in spans] or [self.vertices[:0]]
        return Feature(rings[0], rings[1:], attributes, self.shape)

    def __iter__(self) -> Iterator[Feature]:
        return (self[i] for i in range(len(self)))

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """A GeoJSON feature collection: ``geopandas.GeoDataFrame.from_features(t.rivers)`` takes it."""
        return {"type": "FeatureCollection", "features": [feature.__geo_interface__ for feature in self]}

    def __repr__(self) -> str:
        return f"<{len(self)} {self.shape}>"


def _plain(value: Any) -> Any:
    """A value of JSON."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
