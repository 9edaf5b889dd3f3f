"""Terrains."""

from __future__ import annotations

import base64
import html
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt

from orogen import _orogen
from orogen._apply import Applies
from orogen._errors import OrogenBusyError, OrogenKeyError, OrogenValueError
from orogen._instances import InstanceLayers, edits_text, records_of
from orogen._numbers import (
    epsg_of,
    floats,
    ids_of,
    memory_of,
    number,
    pair,
    path_of,
    place,
    samples_of,
    seed_of,
    shown,
    spacing_of,
    text_of,
    texts_of,
)
from orogen._progress import Progress, Tell, reporter
from orogen._render import Renders
from orogen._steps import Step
from orogen._vectors import Vectors

Number = SupportsFloat
Metres = Iterable[SupportsFloat]
"""A pair of coordinates or lengths."""

PICTURE_PX = 768
"""Longest side of the map that notebooks show."""


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
    loops: bool = False
    """Whether copies laid side by side join: the last column and row are the first ones again."""

    @property
    def size_m(self) -> tuple[float, float]:
        """Distance between the outermost samples."""
        return self.max_m[0] - self.min_m[0], self.max_m[1] - self.min_m[1]


@dataclass(frozen=True)
class Place:
    """Where on Earth a land lies, as far as that is known."""

    latitude_deg: float | None
    """Latitude of the middle of the whole land, in degrees north."""
    longitude_deg: float | None
    """Longitude of the middle of the whole land, in degrees east."""
    crs: str | None
    """The coordinate system of saved files, such as ``"EPSG:32633"``."""
    north_deg: float | None
    """Direction of true north, in degrees clockwise from the y axis."""


@dataclass(frozen=True)
class Tin:
    """Land as triangles."""

    vertices: npt.NDArray[np.float64]
    """[n, 3]: x, y, z in metres."""
    triangles: npt.NDArray[np.uint32]
    """[m, 3]: three vertices each, counter-clockwise seen from above."""


class Terrain(Applies, Renders):
    """One frame with named layers (rasters) and vectors.

    It reads like a dictionary of layers: ``t["height"]``, ``"slope" in t``, ``for name in t``, ``t.keys()``, ``len(t)``.
    """

    _inner: _orogen.Terrain
    _steps: list[Step]

    def __init__(self) -> None:
        raise TypeError("make a Terrain with orogen.build, orogen.read, Terrain.flat or Terrain.from_array")

    @classmethod
    def _of(cls, inner: _orogen.Terrain, steps: Sequence[Step] = ()) -> Terrain:
        terrain = cls.__new__(cls)
        terrain._inner = inner
        terrain._steps = list(steps)
        return terrain

    @staticmethod
    def flat(
        *,
        samples: SupportsIndex | Iterable[SupportsIndex] = 513,
        size_m: Number | Metres | None = None,
        spacing_m: Number | Metres | None = None,
        origin_m: Metres = (0.0, 0.0),
        loops: bool = False,
        crs: str | int | object | None = None,
        seed: str | int = "orogen",
        memory_bytes: SupportsIndex | None = None,
    ) -> Terrain:
        """Flat ground at sea level, ``size_m`` metres wide (4096 by default) or with samples ``spacing_m`` apart.

        ``samples`` and both lengths are one number, or one for x and one for y. ``crs`` is a coordinate system in metres
        (``"EPSG:32633"``) that saved files name; ``origin_m`` is the south-west sample in it. With ``loops`` operators join
        opposite edges, so that copies of the land fit together: its last column and row are the first ones again.
        """
        cols, rows = samples_of(samples)
        if spacing_m is not None:
            if size_m is not None:
                raise OrogenValueError("give either size_m or spacing_m, not both")
            x, y = spacing_of(spacing_m)
            size = (x * (cols - 1), y * (rows - 1))
        else:
            size = pair("size_m", 4096.0 if size_m is None else size_m)
        origin = place("origin_m", origin_m)
        memory = memory_of(memory_bytes)
        inner = _orogen.Terrain.flat((cols, rows), size, origin, bool(loops), epsg_of(crs), seed_of(seed), memory)
        return Terrain._of(inner)

    @staticmethod
    def from_array(
        z: npt.ArrayLike,
        *,
        spacing_m: Number | Metres,
        origin_m: Metres = (0.0, 0.0),
        loops: bool = False,
        crs: str | int | object | None = None,
        seed: str | int = "orogen",
        memory_bytes: SupportsIndex | None = None,
    ) -> Terrain:
        """Heights in metres from an array [rows, columns], row 0 in the north.

        NaN and masked values are holes; heights must lie within 1e7 m of zero. ``spacing_m``, ``origin_m``,
        ``loops`` and ``crs`` are as in ``flat``.
        """
        heights = floats("z", z, memory_bytes=memory_of(memory_bytes))
        spacing, origin = spacing_of(spacing_m), place("origin_m", origin_m)
        inner = _orogen.Terrain.from_array(heights, spacing, origin, bool(loops), epsg_of(crs), seed_of(seed))
        return Terrain._of(inner)

    def __getitem__(self, layer: str) -> npt.NDArray[Any]:
        """A layer as a read-only view [rows, columns], row 0 in the north."""
        return self._inner.layer(self._known(layer))

    def __setitem__(self, layer: str, values: npt.ArrayLike) -> None:
        """Sets a layer; layers derived from it are dropped. One number fills it.

        Ids (``basin``, ``biome``) stay whole numbers; any other layer holds 32-bit floats, unless ``set_ids`` made it.
        """
        cols, rows = self.frame.samples
        name = text_of("layer", layer)
        kind = _orogen.Terrain.known_kind(name)
        if kind == "weight":
            raise OrogenValueError(f"layer {shown(name)} is one of a family of weights; set them together by set_weights")
        if kind != "float32":
            ids = ids_of(f"layer {shown(name)}", values, np.dtype(kind), shape=(rows, cols))
            return self._inner.set_ids(name, ids)
        return self._inner.set_layer(name, floats(f"layer {shown(name)}", values, shape=(rows, cols)))

    def set_ids(self, layer: str, values: npt.ArrayLike) -> None:
        """Sets a layer of ids: unsigned whole numbers of 8, 16 or 32 bits (``uint8``, ``uint16``, ``uint32``).

        They are never mixed: a mask switches them at one half, and a finer window has those of the nearest sample.
        """
        cols, rows = self.frame.samples
        name = text_of("layer", layer)
        array = np.asarray(values)
        if array.dtype not in (np.uint8, np.uint16, np.uint32):
            raise OrogenValueError(f"layer {shown(name)}: ids are uint8, uint16 or uint32, not {array.dtype.name}")
        self._inner.set_ids(name, ids_of(f"layer {shown(name)}", array, array.dtype, shape=(rows, cols)))

    def set_weights(self, family: str, shares: Mapping[str, npt.ArrayLike]) -> None:
        """Sets a family of weights as a whole: ``t.set_weights("material", {"rock": a, "sand": b})``.

        Shares may be of any size; they become bytes that sum to 255 at every sample, or to 0 where no share is above 0. The
        layers are called ``material.rock`` and so on; others of the family are removed.
        """
        cols, rows = self.frame.samples
        word = text_of("family", family)
        names = {f"{word}.{text_of('name', name)}": values for name, values in shares.items()}
        arrays = {name: floats(f"layer {shown(name)}", values, shape=(rows, cols)) for name, values in names.items()}
        self._inner.set_weights(word, arrays)

    @property
    def instances(self) -> InstanceLayers:
        """Things that stand on the ground, by name: ``t.instances["plants"]`` is an array of records (``orogen.INSTANCE``)."""
        return InstanceLayers(self._inner)

    def species(self, layer: str) -> list[str]:
        """The names of the species of a layer of things, by their numbers."""
        return self.instances._found(layer)[0]

    def set_instances(self, layer: str, things: npt.ArrayLike, *, species: Iterable[str]) -> None:
        """Sets things that stand on the ground, from an array of records with the fields ``x``, ``y`` and any others of
        ``orogen.INSTANCE``. They are stood on the heights; ids are 1, 2, 3 and so on where they are left out."""
        self._inner.set_instances(text_of("layer", layer), texts_of("species", species), records_of(things))

    def edit_instances(self, layer: str, edits: Iterable[Mapping[str, Any]]) -> list[str]:
        """Changes things by hand, one edit after the other, and gives a sentence for each that could not be made.

        An edit is ``{"edit": "remove", "id": ...}``, ``{"edit": "move", "id": ..., "to_m": (x, y)}``,
        ``{"edit": "change", "id": ..., "looks": {"species": "oak", "scale": 1.2}}`` or
        ``{"edit": "add", "at_m": (x, y), "looks": {"species": "oak"}}``. Looks are ``species``, ``yaw_deg``, ``scale``,
        ``tilt_deg``, ``tilt_to_deg``, ``age`` and ``health`` (0 to 1). An id is the number in the array, or its 16
        hexadecimal digits.
        """
        return self._inner.edit_instances(text_of("layer", layer), edits_text(edits))

    def __delitem__(self, layer: str) -> None:
        """Removes a layer."""
        self._inner.remove_layer(self._known(layer))

    def _known(self, layer: str) -> str:
        """A name that some terrain may have a layer of."""
        try:
            return text_of("layer", layer)
        except OrogenValueError:
            raise OrogenKeyError(f"no layer {shown(layer)} here; available: {', '.join(self.layers)}") from None

    def __contains__(self, layer: object) -> bool:
        return layer in self.layers

    def __iter__(self) -> Iterator[str]:
        """The names of the layers."""
        return iter(self.layers)

    def __len__(self) -> int:
        """The number of layers."""
        return len(self.layers)

    def __bool__(self) -> bool:
        return True

    def keys(self) -> list[str]:
        """Names of the layers."""
        return self.layers

    def values(self) -> list[npt.NDArray[Any]]:
        """The layers."""
        return [self[name] for name in self.layers]

    def items(self) -> list[tuple[str, npt.NDArray[Any]]]:
        """The layers with their names."""
        return [(name, self[name]) for name in self.layers]

    def get(self, layer: str, default: Any = None) -> Any:
        """A layer, or ``default`` where there is none of that name."""
        try:
            return self[layer]
        except OrogenKeyError:
            return default

    def __repr__(self) -> str:
        cols, rows = self.frame.samples
        try:
            layers = ", ".join(self.layers) or "no layers"
        except OrogenBusyError:
            layers = "being changed by another thread"
        return f"<orogen.Terrain {cols} x {rows}: {layers}>"

    def _repr_png_(self) -> bytes | None:
        """A map for notebooks."""
        return self._inner.picture(PICTURE_PX)

    def _repr_html_(self) -> str:
        """A map and a table for notebooks."""
        frame = self.frame
        (x0, y0), (x1, y1) = frame.min_m, frame.max_m
        facts = {
            "samples": "{} x {}".format(*frame.samples),
            "spacing": "{:g} x {:g} m".format(*frame.spacing_m),
            "from, to": f"({x0:g}, {y0:g}), ({x1:g}, {y1:g}) m",
            "coordinates": self.crs or "its own",
            "seed": self.seed,
        }
        if self.file_crs != self.crs:
            facts["coordinates of files"] = str(self.file_crs)
        rows = [(name, value) for name, value in facts.items()]
        for name, values in self.items():
            known = values[~np.isnan(values)]
            unit = _orogen.Terrain.unit(name)
            spread = f"{known.min():g} to {known.max():g} {unit}" if known.size else "holes only"
            rows.append((name, spread))
        rows += [(name, repr(vectors).strip("<>")) for name, vectors in self.vectors.items()]
        cells = "".join(f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        png = self._repr_png_()
        picture = f'<img src="data:image/png;base64,{base64.b64encode(png).decode()}" width="384">' if png else ""
        return f"<div>{picture}<table>{cells}</table></div>"

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The outline of the land, as GeoJSON has it, in the terrain's own coordinates."""
        (x0, y0), (x1, y1) = self.frame.min_m, self.frame.max_m
        ring = [[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]]
        return {
            "type": "Feature",
            "bbox": [x0, y0, x1, y1],
            "geometry": {"type": "Polygon", "coordinates": [ring]},
            "properties": {"seed": self.seed, "crs": self.crs, "layers": self.layers},
        }

    def __copy__(self) -> Terrain:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Terrain:
        # Layers are never written to while they are shared.
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._inner.parts(), dict(self.items()), self._steps)

    @property
    def layers(self) -> list[str]:
        """Names of the layers."""
        return self._inner.layer_names()

    @property
    def frame(self) -> Frame:
        """Where the terrain lies."""
        return Frame(*self._inner.frame())

    @property
    def x(self) -> npt.NDArray[np.float64]:
        """Easting of every column, in metres, from west to east."""
        return np.asarray(self._inner.coordinates()[0])

    @property
    def y(self) -> npt.NDArray[np.float64]:
        """Northing of every row, in metres, from north to south as the rows are."""
        return np.asarray(self._inner.coordinates()[1])

    @property
    def crs(self) -> str | None:
        """The coordinate system of the frame, ``x``, ``y`` and the vectors, such as ``"EPSG:32633"``.

        ``None`` for coordinates of its own, as those of a model read in degrees or feet (see ``file_crs``), and for a
        system without a number.
        """
        return None if self._inner.epsg is None else f"EPSG:{self._inner.epsg}"

    @property
    def place(self) -> Place | None:
        """Where on Earth the land lies, by ``[place]`` of its recipe or the file of its heights; ``None`` if neither says."""
        latitude, longitude, epsg, north = self._inner.earth
        if latitude is None and longitude is None and epsg is None and north is None:
            return None
        return Place(latitude, longitude, None if epsg is None else f"EPSG:{epsg}", north)

    @property
    def file_crs(self) -> str | None:
        """The coordinate system that saved GeoTIFF and GeoJSON files are in.

        It is ``crs``, or for a model read in degrees or feet that of its file.
        """
        return None if self._inner.file_epsg is None else f"EPSG:{self._inner.file_epsg}"

    @property
    def seed(self) -> str:
        """The seed of what is done to this terrain."""
        return self._inner.seed

    @property
    def steps(self) -> list[Step]:
        """What was done to this terrain, with the figures that each operator measured of its work."""
        return list(self._steps)

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

    def tin(self, *, max_error_m: Number = 1.0, method: str = "greedy", progress: Progress = False) -> Tin:
        """The land as few triangles, no sample further than ``max_error_m`` above or below them.

        ``method`` is ``greedy`` (few triangles) or ``hierarchy`` (right triangles: more of them, sooner).
        """
        if method not in ("greedy", "hierarchy"):
            raise OrogenValueError(f"tin: method: expected 'greedy' or 'hierarchy', found {shown(method)}")
        error_m = number("max_error_m", max_error_m)
        with reporter(progress) as tell:
            return Tin(*self._inner.tin(error_m, method == "hierarchy", tell))

    def viewshed(
        self,
        at_m: Metres,
        *,
        observer_m: Number = 2.0,
        target_m: Number = 0.0,
        curvature: Number = 6 / 7,
        range_m: Number = math.inf,
        exact: bool = False,
        progress: Progress = False,
    ) -> npt.NDArray[np.uint8]:
        """What is seen from a place: 1 seen, 0 hidden, 255 a hole.

        ``curvature`` is 0 for a flat Earth, 1 without air, 6/7 with the usual refraction. ``exact`` follows the sight line
        to every sample, which takes longer.
        """
        heights = (number("observer_m", observer_m), number("target_m", target_m))
        bend, far = number("curvature", curvature), number("range_m", range_m)
        with reporter(progress) as tell:
            return self._inner.viewshed(place("at_m", at_m), heights, bend, far, bool(exact), tell)

    def watershed(
        self, at_m: Metres, *, snap_m: Number = 100.0, sea: bool = True, progress: Progress = False
    ) -> npt.NDArray[np.uint8]:
        """What drains through a place: 1 does, 0 does not, 255 a hole.

        The place moves to the sample of the most flow within ``snap_m``. With ``sea``, land at or below 0 m is sea.
        """
        snap = number("snap_m", snap_m)
        if not 0.0 <= snap <= 1e5:
            raise OrogenValueError(f"watershed: snap_m: {snap} is outside 0 to 100000")
        with reporter(progress) as tell:
            return self._inner.watershed(place("at_m", at_m), snap, bool(sea), tell)

    def _taken(self, look: dict[str, Any], tell: Tell | None) -> npt.NDArray[np.uint8]:
        return self._inner.render(look, tell)

    def copy(self) -> Terrain:
        """A copy that shares the layers until one of the two is changed."""
        return Terrain._of(self._inner.copy(), self._steps)

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        kinds: str | Iterable[str] | None = None,
        progress: Progress = False,
    ) -> list[Path]:
        """Writes files and returns their paths. Files appear whole or not at all.

        ``kinds`` is one kind or several (``"geotiff"``, ``["geotiff", "relief"]``); by default, all default kinds.
        GeoTIFF and GeoJSON name the coordinate system of the terrain.
        """
        names = None if kinds is None else texts_of("kinds", kinds)
        with reporter(progress) as tell:
            return sorted(Path(path) for path in self._inner.save(path_of(folder), names, tell))

    def _vectors(self, name: str, shape: str = "lines") -> Vectors:
        columns = self._inner.vectors(name)
        return Vectors(shape, np.empty((0, 3)), [], {}, {}) if columns is None else Vectors(*columns)


def _unpickled(
    parts: tuple[str, str | None, str, dict[str, bytes], str, dict[str, bytes], str, str],
    layers: dict[str, npt.NDArray[Any]],
    steps: list[Step],
) -> Terrain:
    """The terrain of what ``Terrain.__reduce__`` gave."""
    return Terrain._of(_orogen.Terrain.from_parts(*parts, layers), steps)
