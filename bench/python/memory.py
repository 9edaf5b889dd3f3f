"""Prints the most bytes held at once while a source runs, beyond those held before.

A process of its own: what an earlier task left with the allocator would hide what this one needs.
Arguments: the operator, samples a side, and settings as `name=number`.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import orogen


def run(op: str, samples: int, params: dict[str, float]) -> None:
    terrain = orogen.Terrain.flat(samples=samples, size_m=float(samples - 1), seed="7")
    terrain.apply(op, threads=2, **params)
    if terrain["height"].shape != (samples, samples):
        raise ValueError(f"found heights of shape {terrain['height'].shape}")


def status(field: str) -> int:
    """A line of the kernel's account of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"this kernel tells no {field}")


def main(op: str, samples: str, *settings: str) -> None:
    params = {name: float(number) for name, number in (setting.split("=") for setting in settings)}
    run(op, 65, params)
    gc.collect()
    before = status("VmRSS")
    run(op, int(samples), params)
    print(status("VmHWM") - before)


main(*sys.argv[1:])
