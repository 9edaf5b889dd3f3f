"""Memory: grids that do not fit are refused before they are made."""

from __future__ import annotations

import math

import numpy as np

from orogen._errors import OrogenMemoryError

DEFAULT_BYTES = 8 << 30
"""What a call may use by default."""


def hold(cols: float, rows: float, bytes_per_sample: float, allowed_bytes: int | None = None) -> None:
    """Raises a ``MemoryError`` where a grid needs more than allowed, or more than the machine has.

    An allocation that fails in the compiled part ends the interpreter, so the memory is allocated here first; nothing
    is written to it, and it is freed at once.
    """
    needed = cols * rows * bytes_per_sample
    grid = f"{cols:.0f} x {rows:.0f} samples need about {_text(needed)} of memory"
    if allowed_bytes is not None and needed > allowed_bytes:
        raise OrogenMemoryError(f"{grid}, more than the limit of {_text(allowed_bytes)}; raise it with memory_bytes=")
    try:
        np.empty(math.ceil(needed), np.uint8)
    except (MemoryError, ValueError, OverflowError):
        raise OrogenMemoryError(f"{grid}, which this machine does not have") from None


def _text(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{round(size, 1):g} {unit}"
        size /= 1024
    return "1024 TiB or more"
