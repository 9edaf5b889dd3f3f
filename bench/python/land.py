"""Ground that every surveyor in Python is given, in cells of 10 m."""

from __future__ import annotations

from functools import cache

import numpy as np

import orogen

CELL_M = 10.0


@cache
def land(samples: int) -> orogen.Terrain:
    """Mountains of 8 octaves."""
    terrain = orogen.Terrain.flat(samples=samples, size_m=(samples - 1) * CELL_M, seed="7")
    terrain.apply("source.noise", basis="simplex", octaves=8, wavelength_m=10_000.0, amplitude_m=1500.0)
    return terrain


@cache
def islands(samples: int) -> orogen.Terrain:
    """One land of 1024 x 1024 samples, sea along its edge, again and again: nothing but the number of samples grows."""
    height = land(1024)["height"]
    away = np.abs(np.linspace(-1.0, 1.0, 1024, dtype=np.float32)) ** 4
    island = height + 1500.0 - 6000.0 * np.maximum(away[:, None], away[None, :])
    times = samples // 1024
    return orogen.Terrain.from_array(np.tile(island, (times, times)), spacing_m=CELL_M, seed="7")
