"""Pictures as arrays."""

from datetime import date, time
from pathlib import Path

import numpy as np
import orogen
import pytest

RECIPE = """
seed = "7"
frame = { size_m = 4096.0, samples = 65 }

[[step]]
id = "hills"
op = "source.noise"
params = { amplitude_m = 300.0, wavelength_m = 1500.0 }

[[step]]
id = "up"
op = "combine.add"
params = { operand = 400.0 }
"""

SMALL = {"samples_per_pixel": 1, "quality": 2.0}


def hills() -> orogen.Terrain:
    x = np.linspace(0.0, 12.0, 65)
    return orogen.Terrain.from_array(300.0 + 120.0 * np.sin(x)[None, :] * np.cos(x)[:, None], spacing_m=64.0)


def test_a_terrain_and_a_session_give_pictures_with_sky_and_ground(tmp_path: Path) -> None:
    recipe = tmp_path / "hills.toml"
    recipe.write_text(RECIPE)
    for land in (hills(), orogen.Session(recipe)):
        picture = land.render((96, 54), azimuth_deg=30, time="15:00", clouds=0.0, **SMALL)
        assert isinstance(picture, orogen.Picture)
        assert picture.shape == (54, 96, 3) and picture.dtype == np.uint8
        top, bottom = picture[1].mean(axis=0), picture[-2].mean(axis=0)
        assert top[2] > top[0] + 10, "the sky is blue"
        assert abs(float(bottom[2]) - float(bottom[0])) < 60 and picture.std() > 10
        again = land.render((96, 54), azimuth_deg=30, time=time(15), date=date(2026, 7, 10), clouds=0.0, **SMALL)
        assert np.array_equal(picture, again)


def test_a_picture_is_shown_by_notebooks_and_saved_once(tmp_path: Path) -> None:
    picture = hills().render((32, 18), map=True, overlay="height,contours=50", **SMALL)
    png = picture._repr_png_()
    assert png is not None and png[:8] == b"\x89PNG\r\n\x1a\n"
    path = picture.save(tmp_path / "map.png")
    assert path.read_bytes() == png
    with pytest.raises(FileExistsError):
        picture.save(path)
    assert picture[0]._repr_png_() is None, "a row of a picture is not a picture"
    assert picture[::2, ::2]._repr_png_() is not None


def test_progress_names_what_is_done() -> None:
    said: list[tuple[str, float]] = []
    hills().render((32, 18), map=True, progress=lambda name, share: said.append((name, share)), **SMALL)
    assert said[-1][0] == "picture" and [name for name, _ in said][0] == "textures"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": (0, 10)}, "size: 0 is outside 1 to 16384"),
        ({"size": 3}, "width and height"),
        ({"size": (64, 36), "time": "25:00"}, "25:00"),
        ({"size": (64, 36), "date": "2026-02-30"}, "day 30 is outside 1 to 28"),
        ({"size": (64, 36), "samples_per_pixel": 0}, "samples_per_pixel: 0 is outside 1 to 1024"),
        ({"size": (64, 36), "overlay": "hight"}, "hight"),
        ({"size": (64, 36), "haze": float("nan")}, "haze"),
        ({"size": (64, 36), "camera": (1e12, 0)}, "1000000000000 m is outside"),
        ({"size": (64, 36), "height_m": 1, "altitude_m": 2}, "not both"),
        ({"size": (64, 36), "map": True, "camera": (0, 0)}, "leave out camera"),
        ({"size": (64, 36), "device": "no such card"}, "no such card"),
    ],
)
def test_what_cannot_be_gets_a_sentence(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(orogen.OrogenValueError, match=message):
        hills().render(**{**SMALL, **arguments})  # type: ignore[arg-type]


def test_a_camera_under_ground_is_told() -> None:
    with pytest.raises(orogen.OrogenValueError, match="under ground"):
        hills().render((32, 18), camera=(2000, 2000), altitude_m=-500, **SMALL)
