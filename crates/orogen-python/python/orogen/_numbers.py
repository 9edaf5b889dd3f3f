"""Numbers as people write them: Python's own, NumPy's, arrays of one number."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt

from orogen import _memory
from orogen._errors import OrogenValueError

Window = tuple[float, float, float, float]


def whole(name: str, value: SupportsIndex) -> int:
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise OrogenValueError(f"{name}: {value!r} is not a whole number") from None


def number(name: str, value: SupportsFloat) -> float:
    """A number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise OrogenValueError(f"{name}: {value!r} is not a number") from None


def numbers(name: str, value: Iterable[SupportsFloat], count: int) -> tuple[float, ...]:
    """So many numbers."""
    try:
        values = tuple(float(v) for v in value)
    except (TypeError, ValueError):
        values = ()
    if len(values) != count:
        raise OrogenValueError(f"{name}: {value!r} is not {count} numbers")
    return values


def pair(name: str, value: SupportsFloat | Iterable[SupportsFloat]) -> tuple[float, float]:
    """One number for x and y, or one for each."""
    both: Any = value
    x, y = numbers(name, both, 2) if _is_list(value) else (number(name, both),) * 2
    return x, y


def _is_list(value: object) -> bool:
    """Whether a value is several; an array without dimensions is one."""
    return isinstance(value, Iterable) and not isinstance(value, str) and getattr(value, "ndim", 1) > 0


def place(name: str, value: Iterable[SupportsFloat]) -> tuple[float, float]:
    """A place, (x, y)."""
    x, y = numbers(name, value, 2)
    return x, y


def window_of(value: Iterable[SupportsFloat] | None) -> Window | None:
    """West, south, east and north in metres."""
    if value is None:
        return None
    west, south, east, north = numbers("window", value, 4)
    return west, south, east, north


def samples_of(value: SupportsIndex | Iterable[SupportsIndex]) -> tuple[int, int]:
    """Columns and rows, from one number or two."""
    both: Any = value
    counts = [whole("samples", v) for v in (both if _is_list(value) else (both, both))]
    if len(counts) != 2:
        raise OrogenValueError(f"samples: {value!r} is not a number of columns and one of rows")
    return counts[0], counts[1]


def epsg_of(crs: str | int | object | None) -> int | None:
    """The number of a coordinate system in metres: ``32633``, ``"EPSG:32633"``, or an object with ``to_epsg()``."""
    if crs is None:
        return None
    code: Any = crs
    if hasattr(crs, "to_epsg"):
        code = code.to_epsg()
    elif isinstance(crs, str):
        found = re.fullmatch(r"(?:epsg:)?\s*(\d+)", crs.strip(), re.IGNORECASE)
        code = int(found[1]) if found else None
    try:
        epsg = operator.index(code)
    except TypeError:
        epsg = 0
    if not 1024 <= epsg < 32767:
        raise OrogenValueError(f'crs: {crs!r} is not a coordinate system such as "EPSG:32633"')
    # The register keeps systems in degrees here, with few elsewhere.
    if 4000 <= epsg < 5000:
        raise OrogenValueError(f"crs: EPSG:{epsg} is in degrees; use a projected system in metres")
    return epsg


def floats(values: npt.ArrayLike, *, memory_bytes: int | None = None) -> npt.NDArray[np.float32]:
    """Values as an array [rows, columns] of 32-bit floats; masked ones become NaN."""
    dimensions = np.ndim(values)
    if dimensions != 2:
        raise OrogenValueError(f"expected an array [rows, columns], found {dimensions} dimensions")
    rows, cols = np.shape(values)
    # Before the copy: an array may show more samples than there are, as those of `broadcast_to` do.
    _memory.hold(cols, rows, 4.0, _memory.DEFAULT_BYTES if memory_bytes is None else memory_bytes)
    # What is too large for a float becomes infinite, and infinite values are refused with their place.
    with np.errstate(over="ignore"):
        if isinstance(values, np.ma.MaskedArray):
            return np.ma.filled(np.ma.asarray(values, dtype=np.float32), np.nan)
        return np.asarray(values, dtype=np.float32)


def path_of(path: str | os.PathLike[str]) -> str:
    """A path as text, ``~`` for the home folder."""
    return os.path.expanduser(os.fspath(path))
