"""From file to file: the program ``orogen dem``, whose path is the argument, and what the program ``gdaldem`` calls.

GDAL is the library that the rasterio wheel carries and is spared the start of a process; ours is a process each time.
"""

from __future__ import annotations

import ctypes as c
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import rasterio
from answers import serve
from land import CELL_M, land

OROGEN = sys.argv[1]
KEPT = tempfile.TemporaryDirectory(prefix="orogen-bench-")
FOLDER = Path(KEPT.name)
GDAL = c.CDLL(str(next((Path(rasterio.__file__).parents[1] / "rasterio.libs").glob("libgdal*"))))
for name in ("GDALOpen", "GDALDEMProcessingOptionsNew", "GDALDEMProcessing"):
    getattr(GDAL, name).restype = c.c_void_p
GDAL.GDALAllRegister()


@cache
def model(samples: int, form: str) -> Path:
    """The land as a GeoTIFF, ``plain`` or by ``deflate``."""
    path = FOLDER / f"{samples}-{form}.tif"
    place = rasterio.transform.from_origin(0, samples * CELL_M, CELL_M, CELL_M)
    packed = {"compress": "deflate", "predictor": 3, "tiled": True} if form == "deflate" else {}
    size = {"width": samples, "height": samples, "count": 1, "dtype": "float32", "transform": place}
    with rasterio.open(path, "w", driver="GTiff", **size, **packed) as file:
        file.write(land(samples)["height"], 1)
    return path


def fresh(name: str) -> Path:
    out = FOLDER / name
    out.unlink(missing_ok=True)
    return out


def ours(tool: str, samples: str, form: str) -> float:
    source, out = model(int(samples), form), fresh("ours.tif")
    packing = "deflate" if form == "deflate" else "none"
    start = time.perf_counter()
    subprocess.run([OROGEN, "dem", tool, source, out, "--quiet", "--compress", packing], check=True)
    return time.perf_counter() - start


def theirs(tool: str, samples: str, form: str) -> float:
    source, out = model(int(samples), form), fresh("theirs.tif")
    options = ["-of", "GTiff", "-compute_edges"]
    if form == "deflate":
        options += ["-co", "COMPRESS=DEFLATE"] + ([] if tool == "hillshade" else ["-co", "PREDICTOR=3"])
    words = (c.c_char_p * (len(options) + 1))(*[word.encode() for word in options], None)
    fault = c.c_int(0)
    start = time.perf_counter()
    found = c.c_void_p(GDAL.GDALOpen(bytes(source), 0))
    chosen = c.c_void_p(GDAL.GDALDEMProcessingOptionsNew(words, None))
    made = GDAL.GDALDEMProcessing(bytes(out), found, tool.encode(), None, chosen, c.byref(fault))
    GDAL.GDALClose(c.c_void_p(made))
    GDAL.GDALClose(found)
    seconds = time.perf_counter() - start
    GDAL.GDALDEMProcessingOptionsFree(chosen)
    if not made or fault.value:
        raise ValueError(f"gdaldem {tool} failed")
    return seconds


def per_sample(tool: str, samples: str) -> float:
    """Ours a million samples, less the start of the program: what a map of hardly anything takes."""
    return (ours(tool, samples, "plain") - ours(tool, "16", "plain")) / (int(samples) ** 2 / 1e6)


serve({"ours": ours, "theirs": theirs, "per_sample": per_sample})
