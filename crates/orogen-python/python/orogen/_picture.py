"""Pictures of terrains."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from orogen import _orogen
from orogen._errors import OrogenError, OrogenValueError
from orogen._numbers import number, path_of, place, text_of, texts_of, whole
from orogen._progress import Progress, reporter


class Picture(np.ndarray[Any, np.dtype[np.uint8]]):
    """Rows, columns and colours in sRGB: red, green, blue, and alpha where the sky was left out. Notebooks show it."""

    eye_m: tuple[float, float, float]
    """Where the camera was: east, north, above the sea."""
    target_m: tuple[float, float, float]
    """What it looked at."""
    hour: float
    """Local time of the sun."""
    sun_deg: tuple[float, float]
    """The sun: azimuth clockwise from north, and height above the horizon."""
    legend: list[str]
    """What the colours of an overlay mean."""

    def _repr_png_(self) -> bytes | None:
        """The picture as a PNG; notebooks show it."""
        if self.dtype != np.uint8 or self.ndim != 3 or self.shape[2] not in (3, 4) or 0 in self.shape:
            return None
        return self.png()

    def png(self) -> bytes:
        """The bytes of a PNG."""
        return _orogen.png(np.ascontiguousarray(np.asarray(self)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a PNG."""
        with open(path_of(path), "wb") as file:
            file.write(self.png())


def hour_of(time: float | str | None) -> float | None:
    """An hour such as 16.5 or ``"16:30"``."""
    if time is None:
        return None
    if isinstance(time, str):
        hours, colon, minutes = time.partition(":")
        if not (hours.isdecimal() and (not colon or (minutes.isdecimal() and int(minutes) < 60))):
            raise OrogenValueError(f'time: expected an hour such as "16:30" or 16.5, found {time!r}')
        found = int(hours) + (int(minutes) / 60.0 if colon else 0.0)
    else:
        found = number("time", time)
    if not 0.0 <= found <= 24.0:
        raise OrogenValueError(f"time: {time} is outside 0 to 24")
    return found


def _whole(name: str, value: Any, most: int) -> int:
    found = whole(name, value)
    if not 1 <= found <= most:
        raise OrogenValueError(f"{name}: {found} is outside 1 to {most}")
    return found


def _place(name: str, value: Iterable[Any] | None) -> tuple[float, float] | None:
    return None if value is None else place(name, value)


def _number(name: str, value: Any) -> float | None:
    return None if value is None else number(name, value)


def render(
    inner: _orogen.Terrain,
    size: Iterable[Any],
    samples: Any,
    camera: Iterable[Any] | None,
    target: Iterable[Any] | None,
    azimuth: Any,
    distance_m: Any,
    height_m: Any,
    altitude_m: Any,
    steep: Any,
    across_m: Any,
    time: float | str | None,
    date: str,
    view_deg: Any,
    haze: Any,
    exposure_ev: Any,
    quality: Any,
    soft_sun: bool,
    clear_sky: bool,
    overlay: str | Iterable[str],
    opacity: Any,
    device: str | None,
    progress: Progress,
) -> Picture:
    """The work of ``Terrain.render``."""
    if not hasattr(_orogen, "render"):
        raise OrogenError("this package was built without the feature \"render\", so it takes no pictures")
    sides = [_whole("size", side, 1 << 20) for side in size]
    if len(sides) != 2:
        raise OrogenValueError("size: expected a width and a height in pixels")
    words = [word.strip() for text in texts_of("overlay", overlay) for word in text.split(",")]
    with reporter(progress) as tell:
        array, (eye, to, hour, sun, legend) = _orogen.render(
            inner,
            size=(sides[0], sides[1]),
            samples=_whole("samples", samples, 1024),
            camera=_place("camera", camera),
            target=_place("target", target),
            azimuth=_number("azimuth", azimuth),
            distance_m=_number("distance_m", distance_m),
            height_m=_number("height_m", height_m),
            altitude_m=_number("altitude_m", altitude_m),
            parallel=_number("steep", steep),
            across_m=_number("across_m", across_m),
            hour=hour_of(time),
            date=text_of("date", date),
            view_deg=number("view_deg", view_deg),
            haze=number("haze", haze),
            exposure_ev=number("exposure_ev", exposure_ev),
            quality=number("quality", quality),
            soft_sun=bool(soft_sun),
            clear_sky=bool(clear_sky),
            overlay=[word for word in words if word],
            opacity=number("opacity", opacity),
            device=None if device is None else text_of("device", device),
            progress=tell,
        )
    picture = array.view(Picture)
    picture.eye_m = (eye[0], eye[1], eye[2])
    picture.target_m = (to[0], to[1], to[2])
    picture.hour = hour
    picture.sun_deg = (sun[0], sun[1])
    picture.legend = legend
    return picture
