"""Peers from PyPI, each imported when it is first asked for."""

from __future__ import annotations

import time

import numpy as np
from answers import serve
from land import CELL_M, land


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
        raise ValueError("some heights are not numbers")
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


def fill(samples: str) -> float:
    """Depressions raised to their brims: by RichDEM where it is installed (it does not build everywhere), else by TopoToolbox."""
    height = np.ascontiguousarray(land(int(samples))["height"])
    try:
        import richdem
    except ImportError:
        import topotoolbox

        grid = topotoolbox.GridObject()
        grid.z, grid.cellsize = height, CELL_M
        start = time.perf_counter()
        grid.fillsinks()
        return time.perf_counter() - start
    ground = richdem.rdarray(height, no_data=-9999)
    start = time.perf_counter()
    richdem.FillDepressions(ground)
    return time.perf_counter() - start


def ways(samples: str) -> float:
    """D8 directions by pysheds; its first run compiles, and is not counted."""
    from affine import Affine
    from pysheds.grid import Grid
    from pysheds.view import Raster, ViewFinder

    height = land(int(samples))["height"].astype(np.float64)
    view = ViewFinder(affine=Affine(CELL_M, 0, 0, 0, -CELL_M, 0), shape=height.shape, nodata=np.float64(-9999))
    ground, grid = Raster(height, view), Grid()
    grid.viewfinder = view
    start = time.perf_counter()
    grid.flowdir(ground)
    return time.perf_counter() - start


def accumulation(samples: str) -> float:
    """Areas added up along given directions by SurtGIS."""
    import surtgis

    directions = surtgis.flow_direction_d8(land(int(samples))["height"].astype(np.float64), CELL_M)
    start = time.perf_counter()
    surtgis.flow_accumulation_d8(directions, CELL_M)
    return time.perf_counter() - start


def hydrology(samples: str) -> float:
    """The fastest of each, one after the other."""
    return fill(samples) + ways(samples) + accumulation(samples)


def rain(samples: str) -> float:
    """Orographic rain of one wind."""
    from orographic_precipitation import compute_orographic_precip

    height = land(int(samples))["height"].astype(np.float64)
    air = {"wind_speed": 10, "wind_dir": 250, "conv_time": 1000, "fall_time": 1000, "nm": 0.005, "hw": 2500, "cw": 0.008}
    start = time.perf_counter()
    compute_orographic_precip(height, CELL_M, CELL_M, latitude=0, precip_base=1, **air)
    return time.perf_counter() - start


serve(
    {
        "fill": fill,
        "ways": ways,
        "accumulation": accumulation,
        "hydrology": hydrology,
        "fastnoiselite": fastnoiselite,
        "delatin": delatin,
        "delatin_triangles": delatin_triangles,
        "martini": martini,
        "rain": rain,
    }
)
