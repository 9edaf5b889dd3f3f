"""Pictures of a land."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import date as Date
from datetime import time as Time
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt

from orogen import _orogen
from orogen._errors import OrogenValueError
from orogen._numbers import number, path_of, place, shown, text_of, texts_of, whole
from orogen._progress import Progress, Tell, reporter

Place = Iterable[SupportsFloat]
"""Metres east and north."""


class Picture(np.ndarray[Any, np.dtype[np.uint8]]):
    """A picture: an array [rows, columns, 3] of red, green and blue, which notebooks show."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a PNG file and returns its path. A file that is there is left alone: that is a ``FileExistsError``."""
        to = Path(path_of(path))
        data = self._png()
        with to.open("xb") as file:
            file.write(data)
        return to

    def _png(self) -> bytes:
        if self.ndim != 3 or self.shape[2] != 3 or self.dtype != np.uint8 or 0 in self.shape:
            raise OrogenValueError("only an array [rows, columns, 3] of bytes is a picture")
        return _orogen.png(np.ascontiguousarray(self))

    def _repr_png_(self) -> bytes | None:
        try:
            return self._png()
        except OrogenValueError:
            return None


class Renders:
    """Something that pictures can be taken of."""

    def _taken(self, look: dict[str, Any], tell: Tell | None) -> npt.NDArray[np.uint8]:
        raise NotImplementedError

    def render(
        self,
        size: Iterable[SupportsIndex] = (1280, 720),
        *,
        camera: Place | None = None,
        height_m: SupportsFloat | None = None,
        altitude_m: SupportsFloat | None = None,
        target: Place | None = None,
        azimuth_deg: SupportsFloat | None = None,
        distance_m: SupportsFloat | None = None,
        map: bool = False,
        ortho: bool = False,
        steep_deg: SupportsFloat = 35.0,
        across_m: SupportsFloat | None = None,
        view_deg: SupportsFloat = 55.0,
        time: str | SupportsFloat | Time | None = None,
        date: str | Date = "2026-07-10",
        haze: SupportsFloat = 1.0,
        clouds: SupportsFloat = 0.4,
        fog: SupportsFloat | None = None,
        exposure_ev: SupportsFloat = 0.0,
        samples_per_pixel: SupportsIndex = 4,
        accumulate: bool = False,
        quality: SupportsFloat = 6.0,
        plain: bool = False,
        plants: bool = True,
        overlay: str | Iterable[str] = (),
        opacity: SupportsFloat = 0.9,
        device: str | None = None,
        progress: Progress = False,
    ) -> Picture:
        """A picture of the land, ``size`` pixels wide and high: an array [rows, columns, 3], which notebooks show.

        By default a good view in good light is looked for. ``camera`` is where it is taken from instead, metres east and
        north, ``height_m`` above the ground or ``altitude_m`` above the sea, towards ``target``; or ``azimuth_deg`` and
        ``distance_m`` say from where the target is looked at. ``map`` looks straight down, ``ortho`` from ``azimuth_deg``
        without a vanishing point, down by ``steep_deg``, ``across_m`` metres wide. ``time`` is the hour (``"16:30"`` or
        16.5). ``accumulate`` takes at least 64 samples of each pixel and a sun as wide as it is. ``overlay`` paints the
        ground: ``"height"``, ``"slope"``, ``"biome"``, ``"material"``, ``"water"`` or any layer, with ``"contours"``
        and others. ``device`` is a part of the name of the graphics adapter. Without an adapter this is an
        ``OrogenValueError`` that says what to install.

        A ``Terrain`` is known at its samples only; a ``Session`` shows all detail that its recipe has, and its plants.
        """
        if (map or ortho) and not (camera is None and distance_m is None and height_m is None and altitude_m is None):
            raise OrogenValueError("parallel looks have no camera; leave out camera, distance_m, height_m and altitude_m")
        if height_m is not None and altitude_m is not None:
            raise OrogenValueError("give either height_m or altitude_m, not both")
        if map and (ortho or azimuth_deg is not None):
            raise OrogenValueError("a map looks straight down, north up; leave out ortho and azimuth_deg")
        if camera is not None and (azimuth_deg is not None or distance_m is not None):
            raise OrogenValueError("give either camera or azimuth_deg and distance_m, not both")
        samples = whole("samples_per_pixel", samples_per_pixel)
        look = {
            "size": _pixels(size),
            "samples": _count("samples_per_pixel", max(samples, 64) if accumulate and samples > 0 else samples, 1024),
            "camera": None if camera is None else place("camera", camera),
            "height_m": _maybe("height_m", height_m),
            "altitude_m": _maybe("altitude_m", altitude_m),
            "target": None if target is None else place("target", target),
            "azimuth_deg": _maybe("azimuth_deg", azimuth_deg),
            "distance_m": _maybe("distance_m", distance_m),
            "steep_deg": 90.0 if map else number("steep_deg", steep_deg) if ortho else None,
            "across_m": _maybe("across_m", across_m),
            "view_deg": number("view_deg", view_deg),
            "time": None if time is None else _clock(time),
            "date": date.isoformat() if isinstance(date, Date) else text_of("date", date),
            "haze": number("haze", haze),
            "clouds": number("clouds", clouds),
            "fog": _maybe("fog", fog),
            "exposure_ev": number("exposure_ev", exposure_ev),
            "quality": number("quality", quality),
            "soft_sun": bool(accumulate),
            "plain": bool(plain),
            "plants": bool(plants),
            "overlay": [word for text in texts_of("overlay", overlay) for word in text.split(",") if word.strip()],
            "opacity": number("opacity", opacity),
            "device": None if device is None else text_of("device", device),
        }
        with reporter(progress) as tell:
            return self._taken(look, tell).view(Picture)


def _maybe(name: str, value: SupportsFloat | None) -> float | None:
    return None if value is None else number(name, value)


def _count(name: str, value: int, most: int) -> int:
    if not 1 <= value <= most:
        raise OrogenValueError(f"{name}: {value} is outside 1 to {most}")
    return value


def _pixels(size: Iterable[SupportsIndex]) -> tuple[int, int]:
    try:
        width, height = (whole("size", side) for side in size)
    except (TypeError, ValueError) as error:
        if isinstance(error, OrogenValueError):
            raise
        raise OrogenValueError(f"size: {shown(size)} is not two numbers of pixels, width and height") from None
    return _count("size", width, 16384), _count("size", height, 16384)


def _clock(time: str | SupportsFloat | Time) -> str:
    if isinstance(time, Time):
        return f"{time.hour}:{time.minute:02}"
    return text_of("time", time) if isinstance(time, str) else repr(number("time", time))
