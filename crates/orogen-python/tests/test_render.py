"""Pictures of terrains."""

from pathlib import Path

import numpy as np
import orogen
import pytest


@pytest.fixture(scope="module")
def hills() -> orogen.Terrain:
    land = orogen.Terrain.flat(samples=65, size_m=4096.0)
    y, x = np.mgrid[0:65, 0:65]
    land["height"] = 200.0 + 150.0 * np.sin(x / 9.0) * np.cos(y / 7.0)
    land["mine"] = x.astype(np.float32)
    return land


def test_a_picture_is_an_array_that_notebooks_show(hills: orogen.Terrain, tmp_path: Path) -> None:
    picture = hills.render(size=(96, 54), samples=1, quality=2.0)
    assert picture.shape == (54, 96, 3) and picture.dtype == np.uint8
    png = picture._repr_png_()
    assert png is not None and png.startswith(b"\x89PNG")
    picture.save(tmp_path / "view.png")
    assert (tmp_path / "view.png").read_bytes() == png
    # Sky above, ground below.
    assert picture[2, :, 2].mean() > picture[-2, :, 2].mean()
    assert 0.0 <= picture.hour <= 24.0 and picture.eye_m[2] > 0.0 and picture.sun_deg[1] > 0.0
    # A part of it is an array like any other.
    assert picture[:, :, 0]._repr_png_() is None and picture[10:20, 5:9]._repr_png_() is not None


def test_maps_overlays_and_clear_skies(hills: orogen.Terrain) -> None:
    plain = hills.render(size=(64, 64), samples=1, quality=2.0, steep=90, time=12)
    painted = hills.render(size=(64, 64), samples=1, quality=2.0, steep=90, time="12:00", overlay="mine,contours=50")
    assert np.abs(plain.astype(int) - painted.astype(int)).mean() > 5.0
    assert painted.legend[0].startswith("mine: ") and painted.legend[1] == "contours every 50 m"
    clear = hills.render(size=(64, 36), samples=1, quality=2.0, clear_sky=True, azimuth=0, time=15)
    assert clear.shape[2] == 4 and {0, 255} <= set(np.unique(clear[:, :, 3]))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ({"size": (0, 5)}, "outside 1"),
        ({"size": (5,)}, "width"),
        ({"size": (64, 1 << 19)}, "pixels is outside"),
        ({"samples": 0}, "outside 1 to 1024"),
        ({"camera": (1e9, 0)}, "outside"),
        ({"camera": (2000, 2000), "altitude_m": -500}, "under ground"),
        ({"overlay": "nothing"}, "no layer"),
        ({"overlay": "contours=x"}, "contours"),
        ({"time": "25:99"}, "time"),
        ({"date": "2026-02-30"}, "day 30"),
        ({"steep": 100}, "altitude"),
    ],
)
def test_bad_calls_get_a_sentence(hills: orogen.Terrain, call: dict[str, object], says: str) -> None:
    with pytest.raises(orogen.OrogenValueError, match=says):
        hills.render(**{"size": (32, 18), "samples": 1, "quality": 1.0, **call})  # type: ignore[arg-type]


def test_a_device_that_is_not_there_is_named(hills: orogen.Terrain) -> None:
    with pytest.raises(orogen.OrogenError, match="no such card"):
        hills.render(size=(32, 18), samples=1, device="no such card")
