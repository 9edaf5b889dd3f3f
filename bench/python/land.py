"""Ground that every surveyor in Python is given: mountains of 8 octaves, cells of 10 m."""

from __future__ import annotations

from functools import cache

import orogen

CELL_M = 10.0


@cache
def land(samples: int) -> orogen.Terrain:
    terrain = orogen.Terrain.flat(samples=samples, size_m=(samples - 1) * CELL_M, seed="7")
    terrain.apply("source.noise", basis="simplex", octaves=8, wavelength_m=10_000.0, amplitude_m=1500.0)
    return terrain
