"""Peers from PyPI, each imported when it is first asked for."""

from __future__ import annotations

import time

import numpy as np
from answers import serve
from land import land


def fastnoiselite(basis: str, wavelength: str) -> float:
    """fBm of 8 octaves on 4096 x 4096 samples, from an array of places; one thread."""
    from pyfastnoiselite.pyfastnoiselite import FastNoiseLite, FractalType, NoiseType

    noise = FastNoiseLite(7)
    noise.noise_type = {"perlin": NoiseType.NoiseType_Perlin, "simplex": NoiseType.NoiseType_OpenSimplex2}[basis]
    noise.fractal_type = FractalType.FractalType_FBm
    noise.fractal_octaves = 8
    noise.frequency = 1.0 / float(wavelength)
    side = 4096
    start = time.perf_counter()
    y, x = np.meshgrid(np.arange(side, dtype=np.float32), np.arange(side, dtype=np.float32), indexing="ij")
    heights = noise.gen_from_coords(np.stack([x.ravel(), y.ravel()])).reshape(side, side)
    seconds = time.perf_counter() - start
    if not np.isfinite(heights[::64, ::64]).all():
        raise ValueError("found heights that are no numbers")
    return seconds


def delatin(samples: str) -> float:
    """Greedy insertion to 1 m."""
    from pydelatin import Delatin

    height = np.ascontiguousarray(land(int(samples))["height"])
    start = time.perf_counter()
    Delatin(height, max_error=1).triangles
    return time.perf_counter() - start


def delatin_triangles(samples: str) -> float:
    from pydelatin import Delatin

    return float(len(Delatin(np.ascontiguousarray(land(int(samples))["height"]), max_error=1).triangles))


def martini(samples: str) -> float:
    """The hierarchy of right triangles to 1 m; what depends on the number of samples alone is made before."""
    from pymartini import Martini

    height = np.ascontiguousarray(land(int(samples))["height"])
    kit = Martini(int(samples))
    start = time.perf_counter()
    kit.create_tile(height.astype(np.float32)).get_mesh(1)
    return time.perf_counter() - start


serve(
    {
        "fastnoiselite": fastnoiselite,
        "delatin": delatin,
        "delatin_triangles": delatin_triangles,
        "martini": martini,
    }
)
