"""GDAL in memory, through the library that the rasterio wheel carries; one thread, as it has no other way."""

from __future__ import annotations

import ctypes as c
import time
from functools import cache
from pathlib import Path

import rasterio
from answers import serve
from land import CELL_M, land

LIBRARY = c.CDLL(str(next((Path(rasterio.__file__).parents[1] / "rasterio.libs").glob("libgdal*"))))


def call(name: str, result: object, *arguments: object) -> int:
    function = getattr(LIBRARY, name)
    function.restype = result
    return function(*[c.c_void_p(a) if isinstance(a, int) and a > 1 << 31 else a for a in arguments])


call("GDALAllRegister", None)


def words(*texts: str) -> object:
    return (c.c_char_p * (len(texts) + 1))(*[text.encode() for text in texts], None)


@cache
def model(samples: int) -> int:
    """The land as a raster in memory; the band of it."""
    height = land(samples)["height"]
    found = call("GDALCreate", c.c_void_p, call("GDALGetDriverByName", c.c_void_p, b"MEM"), b"", samples, samples, 1, 6, None)
    call("GDALSetGeoTransform", c.c_int, found, (c.c_double * 6)(0, CELL_M, 0, samples * CELL_M, 0, -CELL_M))
    band = call("GDALGetRasterBand", c.c_void_p, found, 1)
    data = height.ctypes.data_as(c.c_void_p)
    if call("GDALRasterIO", c.c_int, band, 1, 0, 0, samples, samples, data, samples, samples, 6, 0, 0) != 0:
        raise ValueError("the land could not be given to GDAL")
    return found


def dem(mode: str, samples: str) -> float:
    source = model(int(samples))
    options = call("GDALDEMProcessingOptionsNew", c.c_void_p, words("-of", "MEM", "-compute_edges"), None)
    fault = c.c_int(0)
    start = time.perf_counter()
    found = call("GDALDEMProcessing", c.c_void_p, b"", source, mode.encode(), None, options, c.byref(fault))
    seconds = time.perf_counter() - start
    if not found:
        raise ValueError(f"gdaldem {mode} failed")
    call("GDALClose", c.c_int, found)
    return seconds


def contours(interval: str, samples: str) -> float:
    band = call("GDALGetRasterBand", c.c_void_p, model(int(samples)), 1)
    store = call("GDALCreate", c.c_void_p, call("GDALGetDriverByName", c.c_void_p, b"Memory"), b"", 0, 0, 0, 0, None)
    layer = call("GDALDatasetCreateLayer", c.c_void_p, store, b"contours", None, 2, None)
    call("OGR_L_CreateField", c.c_int, layer, call("OGR_Fld_Create", c.c_void_p, b"level", 2), 1)
    start = time.perf_counter()
    failed = call(
        "GDALContourGenerateEx", c.c_int, band, layer, words(f"LEVEL_INTERVAL={interval}", "ELEV_FIELD=0"), None, None
    )
    seconds = time.perf_counter() - start
    call("GDALClose", c.c_int, store)
    if failed:
        raise ValueError("gdal_contour failed")
    return seconds


def viewshed(samples: str) -> float:
    side = int(samples)
    band = call("GDALGetRasterBand", c.c_void_p, model(side), 1)
    middle = (side // 2 + 0.5) * CELL_M
    numbers = [c.c_double(v) for v in (middle, side * CELL_M - middle, 2, 0, 255, 0, 0, -1, 0.85714)]
    start = time.perf_counter()
    found = call(
        "GDALViewshedGenerate", c.c_void_p, band, b"MEM", b"", None, *numbers, 2, c.c_double(0), None, None, 1, None
    )
    seconds = time.perf_counter() - start
    call("GDALClose", c.c_int, found)
    return seconds


serve({"dem": dem, "contours": contours, "viewshed": viewshed})
