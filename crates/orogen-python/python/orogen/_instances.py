"""Things that stand on the ground by the million: plants, stones."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from orogen import _orogen
from orogen._errors import OrogenKeyError, OrogenValueError
from orogen._numbers import shown

INSTANCE = np.dtype(
    [
        ("id", np.uint64),
        ("x", np.float64),
        ("y", np.float64),
        ("z", np.float32),
        ("species", np.uint16),
        ("yaw", np.uint16),
        ("scale", np.uint16),
        ("tag", np.uint16),
        ("tilt", np.uint8),
        ("tilt_to", np.uint8),
        ("age", np.uint8),
        ("health", np.uint8),
    ]
)
"""One thing, 40 bytes.

- ``id``: never changes while the step that made it stays; edits refer to it
- ``x``, ``y``: metres, to the millimetre; ``z``: height of the ground in metres, NaN where there is none
- ``species``: number in ``Terrain.species``
- ``yaw``: turn to the left, in 1/65536 of a full turn
- ``scale``: size against the usual one, in 1/4096
- ``tilt``: how far it leans, in degrees; ``tilt_to``: which way, to the left of east, in 1/256 of a full turn
- ``age``: 0 (seedling) to 255 (as old as it gets); ``health``: 0 (dead) to 255
- ``tag``: whatever the step that made it wants to say
"""

# What a thing is like of which nothing else is said.
_USUAL = {"z": np.nan, "scale": 4096, "age": 255, "health": 255}


class InstanceLayers(Mapping[str, npt.NDArray[np.void]]):
    """Layers of things by name, each an array of ``INSTANCE``. The arrays are copies: set them to change the terrain."""

    def __init__(self, inner: _orogen.Terrain) -> None:
        self._inner = inner

    def __getitem__(self, name: str) -> npt.NDArray[np.void]:
        return self._found(name)[1].view(INSTANCE)

    def __iter__(self) -> Iterator[str]:
        return iter(self._inner.instance_names())

    def __len__(self) -> int:
        return len(self._inner.instance_names())

    def __repr__(self) -> str:
        return f"InstanceLayers({', '.join(self)})"

    def _found(self, name: object) -> tuple[list[str], npt.NDArray[np.uint8]]:
        found = self._inner.instances(name) if isinstance(name, str) else None
        if found is None:
            raise OrogenKeyError(f"no instances {shown(name)} here; available: {', '.join(self)}")
        return found


def records_of(things: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """The bytes of things of which some fields are given."""
    given = np.asarray(things)
    names = given.dtype.names
    if names is None or given.ndim != 1:
        raise OrogenValueError("instances: expected an array of records with the fields x and y; see orogen.INSTANCE")
    assert INSTANCE.names is not None
    for name in names:
        if name not in INSTANCE.names:
            raise OrogenValueError(f"instances: no such field {shown(name)}; fields are {', '.join(INSTANCE.names)}")
    for name in ("x", "y"):
        if name not in names:
            raise OrogenValueError(f"instances: the field {name} is missing")
    all_things = np.zeros(len(given), INSTANCE)
    for name in INSTANCE.names:
        if name in names:
            all_things[name] = _fitting(name, given[name], INSTANCE[name])
        elif name == "id":
            all_things[name] = np.arange(1, len(given) + 1)
        else:
            all_things[name] = _USUAL.get(name, 0)
    if "id" in names and len(np.unique(all_things["id"])) < len(all_things):
        raise OrogenValueError("instances: two things have the same id")
    return all_things.view(np.uint8)


def edits_text(edits: Iterable[Mapping[str, Any]]) -> str:
    """Edits as the JSON that the library reads."""
    plain = []
    for edit in edits:
        one = dict(edit)
        if "id" in one and not isinstance(one["id"], str):
            one["id"] = f"{operator.index(one['id']):016x}"
        plain.append(one)
    return json.dumps(plain, default=_number)


def _number(value: object) -> float:
    """A number of NumPy, which JSON does not know."""
    if isinstance(value, np.generic):
        return float(value)
    raise OrogenValueError(f"edits: {shown(value)} is not a number, a text, a list or a table")


def _fitting(name: str, values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Values of a field, refused where its type cannot hold them."""
    if values.dtype.kind not in ("biuf" if dtype.kind == "f" else "biu"):
        raise OrogenValueError(f"instances: the field {name} holds {values.dtype.name}, not {dtype.name}")
    if dtype.kind == "u" and values.size:
        most = np.iinfo(dtype).max
        for value in (int(values.min()), int(values.max())):
            if not 0 <= value <= most:
                raise OrogenValueError(f"instances: {name}: {value} is outside 0 to {most}")
    return values.astype(dtype)
