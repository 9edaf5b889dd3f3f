"""Hydrology against independent programs: RichDEM and pyflwdir for filling, pyflwdir and SurtGIS for the ways down and adding up.

SurtGIS fills with a slope of its own; RichDEM takes the lowest neighbour for the steepest: neither is asked for that.
"""

import heapq
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyflwdir
import pytest
import rasterio
import richdem
import surtgis

import orogen

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "dem"
CELL_M = 30.0
# Clockwise from north, as (column, row).
D8 = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)]
# The same in the numbers of SurtGIS and of pyflwdir; the last is not a direction.
THEIR_D8 = {3: 64, 2: 128, 1: 1, 8: 2, 7: 4, 6: 8, 5: 16, 4: 32, 0: 0}

Heights = npt.NDArray[np.float32]


def models() -> list[str]:
    names = sorted(path.stem for path in DATA.glob("*.tif"))
    if not names:
        pytest.skip("no real models here")
    return names


def read(name: str) -> Heights:
    with rasterio.open(DATA / f"{name}.tif") as model:
        return np.ascontiguousarray(model.read(1), dtype=np.float32)


def land(z: Heights) -> orogen.Terrain:
    return orogen.Terrain.from_array(z, spacing_m=CELL_M)


def draining(z: Heights) -> Heights:
    """Land without pits or level ground: a priority flood that rises by a different centimetre or two at every sample."""
    random = np.random.default_rng(3)
    z = z + random.random(z.shape, dtype=np.float32)
    rise = (0.01 + 0.01 * random.random(z.shape)).astype(np.float32)
    rows, cols = z.shape
    seen = np.ones(z.shape, dtype=bool)
    seen[1:-1, 1:-1] = False
    queue = [(float(z[row, col]), int(row), int(col)) for row, col in np.argwhere(seen)]
    heapq.heapify(queue)
    while queue:
        level, row, col = heapq.heappop(queue)
        for dc, dr in D8:
            r, c = row + dr, col + dc
            if 0 <= r < rows and 0 <= c < cols and not seen[r, c]:
                seen[r, c] = True
                z[r, c] = max(z[r, c], np.float32(level) + rise[r, c])
                heapq.heappush(queue, (float(z[r, c]), r, c))
    return z


def tied(z: Heights) -> npt.NDArray[np.bool_]:
    """Where two ways down are equally steep within rounding: there Orogen takes the first clockwise from north."""
    rows, cols = z.shape
    padded = np.full((rows + 2, cols + 2), np.inf)
    padded[1:-1, 1:-1] = z
    slopes = [(z - padded[1 + dr : 1 + dr + rows, 1 + dc : 1 + dc + cols]) / np.hypot(dc, dr) for dc, dr in D8]
    second, best = np.sort(np.stack(slopes), axis=0)[-2:]
    return (best > 0) & (best - second <= 1e-6 * best)


@pytest.mark.filterwarnings("ignore")
def test_filled_land_is_that_of_others_on_every_model() -> None:
    for name in models():
        z = read(name)
        flooded, _ = pyflwdir.dem.fill_depressions(z, nodata=-1e9)
        # A copy: where numbers stand for missing heights, the two others do not agree, and one fills in place.
        filled = np.asarray(richdem.FillDepressions(richdem.rdarray(z.copy(), no_data=-1e9)))
        t = land(z)
        t.apply("water.fill", sea=False)
        same = [np.array_equal(t["height"], theirs) for theirs in (flooded, filled)]
        assert any(same) and all(same) == np.array_equal(flooded, filled), (name, same)
        both = land(z)
        both.apply("water.flow", sea=False, fill=True)
        assert np.array_equal(both["height"], t["height"]), name


@pytest.mark.filterwarnings("ignore")
def test_flow_is_that_of_others_cell_by_cell() -> None:
    for name in ["big_tujunga", "jacksboro_fault"]:
        if name not in models():
            pytest.skip("no such model here")
        z = draining(read(name)[:220, :260])
        ways = np.asarray(surtgis.flow_direction_d8(z.astype(np.float64), CELL_M))
        d8 = np.vectorize(THEIR_D8.get, otypes=[np.uint8])(ways)
        network = pyflwdir.from_array(d8, ftype="d8", check_ftype=False)
        # Downstream of a tie everything may differ.
        sound = network.accuflux(tied(z).astype(np.float64)) == 0
        assert sound.mean() > 0.99
        t = land(z)
        t.apply("water.flow", sea=False)
        ours = np.rint(t["flow"].astype(np.float64) / CELL_M**2).astype(np.int64)
        assert np.array_equal(ours[sound], network.upstream_area()[sound]), name
        # SurtGIS counts what comes in, without the cell itself.
        assert np.array_equal(ours[sound], np.asarray(surtgis.flow_accumulation_d8(ways, CELL_M))[sound] + 1), name

        # The watershed of the largest river on the map's inside.
        inside = np.where(sound, ours, 0)
        inside[[0, -1], :] = inside[:, [0, -1]] = 0
        row, col = np.unravel_index(inside.argmax(), z.shape)
        theirs = network.basins(idxs=np.array([row * z.shape[1] + col])) == 1
        place = (col * CELL_M, (z.shape[0] - 1 - row) * CELL_M)
        assert np.array_equal(t.watershed(place, snap_m=0.0, sea=False) == 1, theirs)
        assert theirs.sum() == ours[row, col]


def test_soundness_of_real_land() -> None:
    """After breaching and after lakes, filling finds nothing to fill."""
    for name in models()[:4]:
        z = read(name)[:300, :300]
        t = land(z)
        t.apply("water.breach", sea=False, max_depth_m=30.0)
        breached = t["height"].copy()
        t.apply("water.fill", sea=False)
        assert np.array_equal(t["height"], breached), name

        t = land(z)
        t.apply("water.lakes", sea=False)
        surface = t["height"].astype(np.float64) + t["water"]
        t = land(surface.astype(np.float32))
        t.apply("water.fill", sea=False)
        assert np.abs(t["height"] - surface).max() < 1e-3, name


def test_places_outside_are_reported() -> None:
    t = land(np.zeros((5, 5), dtype=np.float32))
    with pytest.raises(orogen.OrogenError, match="watershed.*outside the land"):
        t.watershed((-100.0, 0.0))
    with pytest.raises(orogen.OrogenError, match="snap_m"):
        t.watershed((0.0, 0.0), snap_m=-1.0)
