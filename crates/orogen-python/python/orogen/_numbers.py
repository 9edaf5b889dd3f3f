"""Numbers as people write them: Python's own, NumPy's, arrays of one number."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Iterable
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt

from orogen import _epsg, _memory
from orogen._errors import OrogenValueError

Window = tuple[float, float, float, float]


def shown(value: object) -> str:
    """A value in a message, cut when it is long."""
    try:
        text = repr(value)
    except Exception:  # such as a whole number of more digits than Python prints
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def whole(name: str, value: SupportsIndex) -> int:
    """A whole number."""
    try:
        found = operator.index(value)
    except TypeError:
        raise OrogenValueError(f"{name}: {shown(value)} is not a whole number") from None
    if not -(2**63) <= found < 2**63:
        raise OrogenValueError(f"{name}: {shown(value)} is too large")
    return found


def memory_of(value: SupportsIndex | None) -> int | None:
    """A number of bytes, ``None`` for the default."""
    if value is None:
        return None
    found = whole("memory_bytes", value)
    if found < 0:
        raise OrogenValueError(f"memory_bytes: {found} is not a number of bytes")
    return found


def number(name: str, value: SupportsFloat) -> float:
    """A number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise OrogenValueError(f"{name}: {shown(value)} is not a number") from None
    except OverflowError:
        raise OrogenValueError(f"{name}: {shown(value)} is too large") from None


def numbers(name: str, value: Iterable[SupportsFloat], count: int) -> tuple[float, ...]:
    """So many numbers."""
    try:
        values = tuple(float(v) for v in value)
    except (TypeError, ValueError, OverflowError):
        values = ()
    if len(values) != count:
        raise OrogenValueError(f"{name}: {shown(value)} is not {count} numbers")
    return values


def text_of(name: str, value: str) -> str:
    """A text, which the compiled part can take."""
    if not isinstance(value, str):
        raise OrogenValueError(f"{name}: {shown(value)} is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OrogenValueError(f"{name}: {shown(value)} is not valid Unicode") from None
    return value


def texts_of(name: str, values: str | Iterable[str]) -> list[str]:
    """One text or several."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [text_of(name, values)]
    return [text_of(name, value) for value in values]


def seed_of(value: str | int) -> str:
    """A seed, from a text or a number."""
    try:
        return text_of("seed", str(value))
    except ValueError as error:
        if isinstance(error, OrogenValueError):
            raise
        raise OrogenValueError("seed: the number has too many digits") from None


def pair(name: str, value: SupportsFloat | Iterable[SupportsFloat]) -> tuple[float, float]:
    """One number for x and y, or one for each."""
    both: Any = value
    x, y = numbers(name, both, 2) if _is_list(value) else (number(name, both),) * 2
    return x, y


def spacing_of(value: SupportsFloat | Iterable[SupportsFloat]) -> tuple[float, float]:
    """Distance between samples for x and y."""
    x, y = pair("spacing_m", value)
    for m in (x, y):
        if not 0.0 < m < math.inf:
            raise OrogenValueError(f"spacing_m: {m:g} is not a valid length in metres")
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
        raise OrogenValueError(f"samples: {shown(value)} is not a number of columns and one of rows")
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
        raise OrogenValueError(f'crs: {shown(crs)} is not a coordinate system such as "EPSG:32633"')
    if problem := _epsg.problem(epsg):
        raise OrogenValueError(f"crs: EPSG:{epsg} {problem}; use a projected system in metres")
    return epsg


def floats(
    name: str, values: npt.ArrayLike, *, shape: tuple[int, int] | None = None, memory_bytes: int | None = None
) -> npt.NDArray[np.float32]:
    """Values as an array [rows, columns] of 32-bit floats; masked ones become NaN. With a shape, one number fills it."""
    array = _real(name, values)
    if shape is not None and array.ndim == 0:
        one = np.ma.asarray(array, dtype=np.float64)
        array = np.broadcast_to(np.ma.filled(one, np.nan), shape)
    if array.ndim != 2:
        raise OrogenValueError(f"{name}: expected an array [rows, columns], found {array.ndim} dimensions")
    rows, cols = array.shape
    # Before the copy: an array may show more samples than there are, as those of `broadcast_to` do.
    _memory.hold(cols, rows, 4.0, _memory.DEFAULT_BYTES if memory_bytes is None else memory_bytes)
    # What is too large for a float becomes infinite, and infinite values are refused with their place.
    with np.errstate(over="ignore"):
        if isinstance(array, np.ma.MaskedArray):
            return np.ma.filled(np.ma.asarray(array, dtype=np.float32), np.nan)
        return np.asarray(array, dtype=np.float32)


def ids_of(name: str, values: npt.ArrayLike, dtype: np.dtype[Any], *, shape: tuple[int, int]) -> npt.NDArray[Any]:
    """Values as an array [rows, columns] of whole numbers of a type; one number fills it."""
    array = _real(name, values)
    if isinstance(array, np.ma.MaskedArray):
        raise OrogenValueError(f"{name}: ids have no masked values; use 0 for none")
    if array.ndim == 0:
        array = np.broadcast_to(array, shape)
    if array.ndim != 2:
        raise OrogenValueError(f"{name}: expected an array [rows, columns], found {array.ndim} dimensions")
    rows, cols = array.shape
    _memory.hold(cols, rows, float(dtype.itemsize), _memory.DEFAULT_BYTES)
    most = np.iinfo(dtype).max
    if array.dtype.kind == "f" and array.size and not (np.isfinite(array).all() and (array == np.floor(array)).all()):
        raise OrogenValueError(f"{name}: ids must be whole numbers")
    for value in (array.min(), array.max()) if array.size else ():
        if not 0 <= value <= most:
            raise OrogenValueError(f"{name}: {value} is outside 0 to {most}")
    return np.ascontiguousarray(array, dtype=dtype)


def _real(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Values as an array of real numbers. What NumPy would turn into numbers without being asked is refused: ``None``,
    texts, dates, records, complex numbers."""
    array: npt.NDArray[Any]
    try:
        array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise OrogenValueError(f"{name}: the values do not form an array of numbers") from None
    if array.dtype.kind == "O":
        return _plain(name, np.ma.filled(array, np.nan) if isinstance(array, np.ma.MaskedArray) else array)
    if array.dtype.kind not in "biuf":
        raise OrogenValueError(f"{name}: values of type {array.dtype.name} are not real numbers")
    return array


def _plain(name: str, objects: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Python objects that are numbers: fractions, decimals, whole numbers of any size."""
    for value in objects.flat:
        if value is None or isinstance(value, (str, bytes)):
            raise OrogenValueError(f"{name}: {shown(value)} is not a number")
    try:
        return objects.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise OrogenValueError(f"{name}: the values are not all numbers that fit into a float") from None


def path_of(path: str | os.PathLike[str]) -> str:
    """A path as text, ``~`` for the home folder."""
    try:
        text = os.fsdecode(path)
        os.fsencode(text)
    except (TypeError, UnicodeError):
        raise OrogenValueError(f"{shown(path)} is not a path") from None
    return os.path.expanduser(text)
