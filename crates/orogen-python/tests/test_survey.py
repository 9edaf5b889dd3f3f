"""Survey tools against GDAL's own, through the library that the rasterio wheel carries."""

import ctypes as c
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import rasterio

import orogen

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "dem"
CELL_M = 30.0


class Gdal:
    """The few calls that are needed."""

    def __init__(self) -> None:
        libraries = sorted((Path(rasterio.__file__).parents[1] / "rasterio.libs").glob("libgdal*"))
        if not libraries:
            pytest.skip("this rasterio comes without a GDAL of its own")
        self.lib = c.CDLL(str(libraries[0]))
        self.call("GDALAllRegister", None)

    def call(self, name: str, result: object, *args: object) -> c.c_void_p:
        function = getattr(self.lib, name)
        function.restype = result
        return function(*[c.c_void_p(arg) if isinstance(arg, int) and arg > 1 << 31 else arg for arg in args])

    def model(self, z: npt.NDArray[np.float32]) -> int:
        rows, cols = z.shape
        driver = self.call("GDALGetDriverByName", c.c_void_p, b"MEM")
        model = self.call("GDALCreate", c.c_void_p, driver, b"", cols, rows, 1, 6, None)
        self.call("GDALSetGeoTransform", c.c_int, model, (c.c_double * 6)(0, CELL_M, 0, rows * CELL_M, 0, -CELL_M))
        self.io(model, z, 1)
        return model

    def io(self, model: int, z: npt.NDArray[np.float32], write: int) -> None:
        rows, cols = z.shape
        band = self.call("GDALGetRasterBand", c.c_void_p, model, 1)
        data = z.ctypes.data_as(c.c_void_p)
        assert self.call("GDALRasterIO", c.c_int, band, write, 0, 0, cols, rows, data, cols, rows, 6, 0, 0) == 0

    def read(self, model: int, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        z = np.empty(shape, np.float32)
        self.io(model, z, 0)
        return z

    def dem(self, z: npt.NDArray[np.float32], mode: str) -> npt.NDArray[np.float32]:
        words = [b"-of", b"MEM", b"-compute_edges", None]
        options = self.call("GDALDEMProcessingOptionsNew", c.c_void_p, (c.c_char_p * 4)(*words), None)
        fault = c.c_int(0)
        result = self.call(
            "GDALDEMProcessing", c.c_void_p, b"", self.model(z), mode.encode(), None, options, c.byref(fault)
        )
        return self.read(result, z.shape)

    def viewshed(self, z: npt.NDArray[np.float32], col: int, row: int, heights: tuple[float, float]) -> npt.NDArray[np.bool_]:
        band = self.call("GDALGetRasterBand", c.c_void_p, self.model(z), 1)
        place = ((col + 0.5) * CELL_M, (z.shape[0] - row - 0.5) * CELL_M)
        # Seen 255, all else 0; without a coordinate system GDAL takes the Earth for flat. Mode 2 is its default.
        numbers = [c.c_double(v) for v in (*place, *heights, 255, 0, 0, -1, 0.85714)]
        result = self.call(
            "GDALViewshedGenerate", c.c_void_p, band, b"MEM", b"", None, *numbers, 2, c.c_double(0), None, None, 1, None
        )
        return self.read(result, z.shape) == 255

    def contours(self, z: npt.NDArray[np.float32], interval: int) -> dict[float, float]:
        """Length of the contours of each level."""
        driver = self.call("GDALGetDriverByName", c.c_void_p, b"Memory")
        store = self.call("GDALCreate", c.c_void_p, driver, b"", 0, 0, 0, 0, None)
        layer = self.call("GDALDatasetCreateLayer", c.c_void_p, store, b"c", None, 2, None)
        field = self.call("OGR_Fld_Create", c.c_void_p, b"level", 2)
        self.call("OGR_L_CreateField", c.c_int, layer, field, 1)
        words = [f"LEVEL_INTERVAL={interval}".encode(), b"ELEV_FIELD=0", None]
        band = self.call("GDALGetRasterBand", c.c_void_p, self.model(z), 1)
        assert self.call("GDALContourGenerateEx", c.c_int, band, layer, (c.c_char_p * 3)(*words), None, None) == 0
        lengths: dict[float, float] = {}
        while feature := self.call("OGR_L_GetNextFeature", c.c_void_p, layer):
            level = float(self.call("OGR_F_GetFieldAsDouble", c.c_double, feature, 0))
            line = self.call("OGR_F_GetGeometryRef", c.c_void_p, feature)
            lengths[level] = lengths.get(level, 0.0) + float(self.call("OGR_G_Length", c.c_double, line))
        return lengths


@pytest.fixture(scope="module")
def gdal() -> Gdal:
    return Gdal()


def real(name: str) -> npt.NDArray[np.float32]:
    if not (DATA / f"{name}.tif").exists():
        pytest.skip("no real models here")
    with rasterio.open(DATA / f"{name}.tif") as model:
        return np.ascontiguousarray(model.read(1)[:400, :500], dtype=np.float32)


def land(z: npt.NDArray[np.float32]) -> orogen.Terrain:
    return orogen.Terrain.from_array(z, spacing_m=CELL_M)


def inner(z: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Without the four corners, which gdaldem carries on otherwise."""
    return np.concatenate([z[0, 1:-1], z[1:-1].ravel(), z[-1, 1:-1]])


def test_slope_and_hillshade_are_those_of_gdaldem(gdal: Gdal) -> None:
    z = real("big_tujunga")
    t = land(z)
    t.apply("survey.slope")
    t.apply("survey.hillshade")
    assert np.abs(inner(t["slope"]) - inner(gdal.dem(z, "slope"))).max() < 1e-3
    shade = np.floor(1.5 + 254.0 * t["hillshade"])
    assert np.abs(inner(shade) - inner(gdal.dem(z, "hillshade"))).max() <= 1


def test_what_is_seen_is_what_gdal_viewshed_sees(gdal: Gdal) -> None:
    z = real("big_tujunga")
    t = land(z)
    rows = z.shape[0]
    for col, row, heights in [(250, 200, (2.0, 0.0)), (0, 0, (10.0, 2.0)), (420, 399, (1.7, 0.0))]:
        place = (col * CELL_M, (rows - 1 - row) * CELL_M)
        ours = t.viewshed(place, observer_m=heights[0], target_m=heights[1], curvature=0.0) == 1
        theirs = gdal.viewshed(z, col, row, heights)
        assert (ours == theirs).mean() >= 0.995
        exact = t.viewshed(place, observer_m=heights[0], target_m=heights[1], curvature=0.0, exact=True) == 1
        assert (ours == exact).mean() >= 0.9


def test_contours_are_as_long_as_those_of_gdal(gdal: Gdal) -> None:
    z = real("big_tujunga") + np.float32(0.37)
    lengths: dict[float, float] = {}
    for line in land(z).contours(interval_m=50):
        steps = np.diff(line.points[:, :2], axis=0)
        level = line.attributes["level_m"]
        lengths[level] = lengths.get(level, 0.0) + float(np.hypot(steps[:, 0], steps[:, 1]).sum())
    theirs = gdal.contours(z, 50)
    assert lengths.keys() == theirs.keys()
    # GDAL goes on for half a cell beyond the outermost samples.
    for level, length in theirs.items():
        assert abs(lengths[level] - length) < 0.03 * length + 20 * CELL_M, level


def test_triangles_stay_within_the_error() -> None:
    z = real("st_helens")[:200, :200]
    z[z < 0] = np.nan
    for method in ("greedy", "hierarchy"):
        tin = land(z).tin(max_error_m=10.0, method=method)
        assert tin.vertices.shape[1] == 3 and tin.triangles.max() < len(tin.vertices)
        assert np.isfinite(tin.vertices).all()
    with pytest.raises(orogen.OrogenError, match="maximum error of 0"):
        land(z).tin(max_error_m=0.0)
    with pytest.raises(orogen.OrogenError, match="expected 'greedy' or 'hierarchy'"):
        land(z).tin(method="best")
    with pytest.raises(orogen.OrogenError, match="outside the land"):
        land(z).viewshed((-100.0, 0.0))
