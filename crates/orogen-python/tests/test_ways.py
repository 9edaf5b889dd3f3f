"""Terrains the way Python people expect things to be."""

import copy
import fcntl
import io
import json
import os
import pickle
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest
import rasterio

import orogen
from orogen import _progress

ROOT = Path(__file__).resolve().parents[3]
ISLAND = ROOT / "recipes" / "island.toml"
DATA = ROOT.parent / "shared" / "data" / "dem"


def land(samples: int = 65) -> orogen.Terrain:
    t = orogen.Terrain.flat(samples=samples, size_m=8192.0, origin_m=(0.1, 1e6 + 0.3), seed="7", crs=32633)
    t.apply("source.island", polygons=600)
    return t


def same(a: orogen.Terrain, b: orogen.Terrain) -> None:
    assert a.frame == b.frame and a.seed == b.seed and a.crs == b.crs and a.steps == b.steps
    assert np.array_equal(a.x, b.x) and np.array_equal(a.y, b.y)
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype and np.array_equal(a[name], b[name], equal_nan=True)
    assert a.vectors.keys() == b.vectors.keys()
    for name, vectors in a.vectors.items():
        assert vectors.__geo_interface__ == b.vectors[name].__geo_interface__


def test_pickles_and_copies_are_the_same_land(tmp_path: Path) -> None:
    t = land()
    t["height"] = np.where(t["height"] > 300, np.nan, t["height"])
    t.apply("water.rivers")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        same(t, pickle.loads(pickle.dumps(t, protocol)))
    for other in (copy.copy(t), copy.deepcopy(t), t.copy()):
        same(t, other)
        other["height"] = 0.0
        assert not np.array_equal(other["height"], t["height"])
    # What is pickled goes on as it would have.
    a, b = land(), pickle.loads(pickle.dumps(land()))
    a.apply("source.noise")
    b.apply("source.noise")
    assert np.array_equal(a["height"], b["height"])
    a.save(tmp_path / "a", kinds="geotiff")
    b.save(tmp_path / "b", kinds="geotiff")
    assert (tmp_path / "a/height.tif").read_bytes() == (tmp_path / "b/height.tif").read_bytes()


def test_a_terrain_reads_like_a_dictionary() -> None:
    t = land()
    names = ["biome", "height", "moisture", "temperature"]
    assert list(t) == t.keys() == t.layers == names and len(t) == 4
    assert "height" in t and "slope" not in t and 3 not in t
    assert [name for name, _ in t.items()] == names and len(t.values()) == 4
    assert dict(t)["height"].shape == (65, 65)
    assert t.get("slope") is None and t.get("height") is not None
    del t["biome"]
    assert "biome" not in t
    assert bool(t)


def test_coordinates_belong_to_rows_and_columns() -> None:
    t = orogen.Terrain.flat(samples=(5, 3), spacing_m=(10.0, 20.0), origin_m=(100.0, 200.0))
    assert t.x.tolist() == [100.0, 110.0, 120.0, 130.0, 140.0]
    assert t.y.tolist() == [240.0, 220.0, 200.0]
    assert t.frame.min_m == (100.0, 200.0) and t.frame.max_m == (140.0, 240.0)


def test_windows_are_parts_of_the_whole() -> None:
    options = {"island.polygons": 600}
    whole = orogen.build(ISLAND, samples=129, set=options)
    part = orogen.build(ISLAND, samples=129, set=options, window=(10000.0, 15000.0, 20000.0, 30000.0))
    assert part.frame.min_m == (10000.0, 15000.0) and part.frame.max_m == (20000.0, 30000.0)
    cols = np.searchsorted(whole.x, [part.x[0], part.x[-1]])
    rows = len(whole.y) - 1 - np.searchsorted(whole.y[::-1], [part.y[0], part.y[-1]])
    assert np.array_equal(whole["height"][rows[0] : rows[1] + 1, cols[0] : cols[1] + 1], part["height"])
    fine = orogen.build(ISLAND, samples=129, set=options, window=(20000, 20000, 21000, 21000), spacing_m=20)
    assert fine.frame.samples == (51, 51) and fine.frame.spacing_m == (20.0, 20.0)


def test_files_lie_in_the_coordinate_system_of_the_terrain(tmp_path: Path) -> None:
    t = land()
    t.save(tmp_path, kinds=("geotiff", "geojson"))
    with rasterio.open(tmp_path / "height.tif") as tif:
        assert tif.crs.to_epsg() == 32633
        x, y = tif.transform @ (0.5, 0.5)
        assert (x, y) == pytest.approx((t.x[0], t.y[0]))
    rivers = json.loads((tmp_path / "rivers.geojson").read_text())
    assert rivers["crs"]["properties"]["name"] == "urn:ogc:def:crs:EPSG::32633"
    first = rivers["features"][0]["geometry"]["coordinates"][0]
    assert first[:2] == pytest.approx(t.rivers[0].points[0, :2], abs=1e-3)
    back = orogen.read(tmp_path / "height.tif")
    assert back.crs == t.crs == "EPSG:32633" and back.frame.samples == t.frame.samples
    assert np.allclose(back.x, t.x) and np.allclose(back.y, t.y) and np.array_equal(back["height"], t["height"])
    part = orogen.read(tmp_path / "height.tif", window=(2000, 1_001_000, 4000, 1_003_000))
    part.save(tmp_path / "part", kinds="geotiff")
    with rasterio.open(tmp_path / "part/height.tif") as tif:
        assert tif.crs.to_epsg() == 32633
        assert (tif.transform @ (0.5, 0.5)) == pytest.approx((part.x[0], part.y[0]))
    with pytest.raises(ValueError, match="does not lie inside the model"):
        orogen.read(tmp_path / "height.tif", window=(-5000, 1_001_000, 4000, 1_003_000))
    assert orogen.Terrain.flat(samples=3, crs=rasterio.crs.CRS.from_epsg(25832)).crs == "EPSG:25832"


def test_models_in_degrees_come_back_in_degrees(tmp_path: Path) -> None:
    path = tmp_path / "degrees.tif"
    z = np.arange(30, dtype=np.float32).reshape(5, 6)
    place = rasterio.transform.from_origin(7.0, 46.0, 0.001, 0.001)
    profile = {"driver": "GTiff", "width": 6, "height": 5, "count": 1, "dtype": "float32", "crs": "EPSG:4326"}
    with rasterio.open(path, "w", transform=place, **profile) as tif:
        tif.write(z, 1)
    t = orogen.read(path)
    assert t.frame.min_m == (0.0, 0.0) and 70 < t.frame.spacing_m[0] < 80 and 110 < t.frame.spacing_m[1] < 112
    t.apply("survey.contours", interval_m=5.0)
    t.save(tmp_path / "out", kinds=["geotiff", "geojson"])
    with rasterio.open(tmp_path / "out/height.tif") as tif:
        assert tif.crs.to_epsg() == 4326 and tif.transform.almost_equals(place)
    # Coordinates in metres are not said to be degrees; files are.
    assert t.crs is None and t.file_crs == "EPSG:4326"
    assert t.__geo_interface__["properties"]["crs"] is None and "EPSG:4326" in t._repr_html_()
    assert t.copy().file_crs == t.file_crs
    line = json.loads((tmp_path / "out/contours.geojson").read_text())["features"][0]["geometry"]["coordinates"]
    assert all(6.99 < x < 7.01 and 45.99 < y < 46.01 for x, y, *_ in line)
    same(t, pickle.loads(pickle.dumps(t)))


def test_real_models_are_read() -> None:
    paths = sorted(DATA.glob("*.tif"))
    if not paths:
        pytest.skip("there is no ../shared/data/dem")
    for path in paths[:3]:
        t = orogen.read(path)
        with rasterio.open(path) as tif:
            assert t.frame.samples == (tif.width, tif.height)


def test_a_file_without_spacing_asks_for_it(tmp_path: Path) -> None:
    orogen.Terrain.flat(samples=5).save(tmp_path, kinds="png16")
    (tmp_path / "height.png.json").unlink()
    with pytest.raises(ValueError, match="give it in metres with spacing_m="):
        orogen.read(tmp_path / "height.png")
    assert orogen.read(tmp_path / "height.png", spacing_m=30).frame.spacing_m == (30.0, 30.0)


def test_a_call_may_not_contradict_the_file(tmp_path: Path) -> None:
    t = land()
    assert t.file_crs == t.crs == "EPSG:32633"
    t.save(tmp_path, kinds="geotiff")
    path = tmp_path / "height.tif"
    for options, sentence in [
        ({"spacing_m": 30}, "has its own sample spacing, 128 x 128 m; leave out spacing_m="),
        ({"crs": 25832}, "names its own coordinate system, EPSG:32633; leave out crs="),
    ]:
        with pytest.raises(orogen.OrogenValueError, match=sentence):
            orogen.read(path, **options)
    same_place = orogen.read(path, spacing_m=128, crs="EPSG:32633")
    assert same_place.frame == orogen.read(path).frame and same_place.crs == "EPSG:32633"
    # A file in metres that names no system gets one; one in degrees cannot be in metres.
    orogen.Terrain.flat(samples=5, origin_m=(100.0, 200.0)).save(tmp_path / "own", kinds="ascii")
    named = orogen.read(tmp_path / "own/height.asc", crs=25832)
    assert named.crs == "EPSG:25832" and named.frame.min_m == (100.0, 200.0)


def test_vectors_are_geojson_to_other_libraries() -> None:
    shape = pytest.importorskip("shapely.geometry").shape
    t = land(129)
    outline = shape(t.__geo_interface__["geometry"])
    assert outline.is_valid and outline.bounds == (*t.frame.min_m, *t.frame.max_m)
    kinds = {"rivers": "LineString", "polygons": "Polygon"}
    for name, kind in kinds.items():
        collection = t.vectors[name].__geo_interface__
        assert json.loads(json.dumps(collection)) == collection, "plain values only"
        assert len(collection["features"]) == len(t.vectors[name])
        for feature in collection["features"]:
            assert shape(feature["geometry"]).geom_type == kind
    for line in t.contours(interval_m=100.0)[:20]:
        assert shape(line.__geo_interface__["geometry"]).length > 0.0
        assert line.__geo_interface__["properties"]["level_m"] % 100 == 0
    points = orogen.Vectors("points", np.array([[1.0, 2.0, 3.0]]), [[(0, 1)]], {"n": np.array([4])}, {})
    assert points[0].__geo_interface__ == {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [1.0, 2.0, 3.0]},
        "properties": {"n": 4},
    }


def test_notebooks_show_a_map() -> None:
    t = orogen.Terrain.flat(samples=(2000, 500), size_m=(4e4, 1e4), seed='<b>"x"')
    t.apply("source.noise")
    png = t._repr_png_()
    assert png is not None and png.startswith(b"\x89PNG")
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (667, 167)
    text = t._repr_html_()
    assert "2000 x 500" in text and "&lt;b&gt;" in text and "<b>" not in text and "base64," in text
    del t["height"]
    assert t._repr_png_() is None and "<img" not in t._repr_html_()


def test_one_kind_of_file_may_be_a_plain_text(tmp_path: Path) -> None:
    t = land()
    names = [path.name for path in t.save(tmp_path / "a", kinds="geotiff")]
    assert names == [path.name for path in t.save(tmp_path / "b", kinds=["geotiff"])] and "height.tif" in names


def test_steps_tell_what_was_measured() -> None:
    t = orogen.build(ISLAND, samples=65, set={"island.polygons": 300})
    assert t.steps[0].id == "island" and [step.op for step in t.steps[-2:]] == ["cover.materials", "cover.scatter"]
    flat = orogen.Terrain.flat(samples=33, size_m=330.0)
    flat.apply("source.noise", amplitude_m=20.0)
    flat.apply("erode.pipes", id="rain", duration_s=30.0)
    step = flat.steps[-1]
    assert step.id == "rain" and step.op == "erode.pipes" and step.seconds > 0 and not step.cached
    assert step.figures and step.figures.keys() == step.units.keys()
    assert all(np.isfinite(value) for value in step.figures.values())


def test_help_names_the_parameters_of_every_operator() -> None:
    text = orogen.Terrain.apply.__doc__ or ""
    for operator in orogen.operators():
        part = text.split(f"\n{operator['id']}\n", 1)[1].split("\n\n", 1)[0]
        for name in operator["params"].get("properties", {}):
            assert f"- {name} = " in part, f"{operator['id']}.{name}"
        assert operator["summary"][:20] in orogen.describe(operator["id"])


BUILD = f"import orogen; orogen.build({str(ISLAND)!r}, samples=1025, cache=False, progress=True)"


def test_progress_has_no_control_characters_in_a_file() -> None:
    done = subprocess.run([sys.executable, "-c", BUILD], capture_output=True, text=True, check=True)
    assert "rivers (erode.stream_power)\n" in done.stderr
    assert "\x1b" not in done.stderr and "\r" not in done.stderr


@pytest.mark.parametrize("without_tqdm", [False, True])
def test_progress_is_a_bar_in_a_terminal_where_tqdm_is_installed(without_tqdm: bool) -> None:
    hide = "import sys; sys.modules['tqdm.auto'] = None; " if without_tqdm else ""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", hide + BUILD])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert os.waitpid(pid, 0)[1] == 0, shown
    assert b"erode.stream_power" in shown
    if without_tqdm:
        assert b"%" not in shown and b"\x1b" not in shown, "a line for each step"
    else:
        assert b"\r" in shown and b"%" in shown


def test_every_step_has_a_line_in_a_file_however_quick_it_is(tmp_path: Path) -> None:
    script = f"import orogen; print(len(orogen.build({str(ISLAND)!r}, samples=65, progress=True).steps))"
    environment = {**os.environ, "OROGEN_CACHE_DIR": str(tmp_path)}
    for _ in range(2):  # the second time all steps come from the cache
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
        assert len(done.stderr.splitlines()) == int(done.stdout), done.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_end_at_100_percent_and_those_of_failed_work_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    t = orogen.Terrain.flat(samples=65, size_m=640.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    orogen.build(ISLAND, samples=65, cache=False, progress=True)
    t.apply("source.noise", progress=True)
    t.tin(progress=True)
    ends = [line.split("\r")[-1] for line in terminal.getvalue().split("\n") if line.strip()]
    assert len(ends) > 4 and all("100%" in end for end in ends), ends
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ZeroDivisionError), _progress.reporter(True) as tell:
        assert tell is not None
        tell("half", 0.5)
        raise ZeroDivisionError
    assert "50%" in sys.stderr.getvalue() and "100%" not in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_progress_may_be_a_function_and_stops_what_it_raises_in() -> None:
    heard: list[tuple[str, float]] = []
    orogen.build(ISLAND, samples=513, cache=False, progress=lambda name, share: heard.append((name, share)))
    assert any("erode.stream_power" in name for name, _ in heard) and all(0 <= share <= 1 for _, share in heard)
    assert {name for name, share in heard if share == 1.0} == {name for name, _ in heard}, "each step ends at 1"
    heard.clear()
    orogen.Terrain.flat(samples=3).apply("combine.add", operand=1.0, progress=lambda *at: heard.append(at))
    assert heard[0] == ("combine.add", 0.0) and heard[-1] == ("combine.add", 1.0)

    def stop(name: str, share: float) -> None:
        raise ZeroDivisionError(name)

    with pytest.raises(ZeroDivisionError):
        orogen.build(ISLAND, samples=513, cache=False, progress=stop)


def test_ids_beyond_what_floats_can_tell_apart() -> None:
    t = orogen.Terrain.flat(samples=5, size_m=40.0)
    ids = (2**24 + np.arange(25, dtype=np.uint32)).reshape(5, 5)
    t["basin"] = ids
    assert t["basin"].dtype == np.uint32
    assert np.array_equal(t["basin"], ids)
    back = pickle.loads(pickle.dumps(t))
    assert back["basin"].dtype == np.uint32
    assert np.array_equal(back["basin"], ids)
    t["biome"] = np.full((5, 5), 7.0)
    assert t["biome"].dtype == np.uint8
    t.set_ids("zone", np.full((5, 5), 40_000, np.uint16))
    assert t["zone"].dtype == np.uint16
    # Heights stay floats, whatever they come from.
    t["height"] = np.ones((5, 5), np.uint16)
    assert t["height"].dtype == np.float32
    for wrong, said in [(-1, "-1 is outside 0 to 4294967295"), (0.5, "whole numbers"), (np.nan, "whole numbers")]:
        with pytest.raises(orogen.OrogenValueError, match=said):
            t["basin"] = wrong
    with pytest.raises(orogen.OrogenValueError, match="not float64"):
        t.set_ids("zone", np.zeros((5, 5)))
    with pytest.raises(orogen.OrogenValueError, match="does not match"):
        t.set_ids("zone", np.zeros((4, 5), np.uint8))


def test_ids_are_exact_in_files(tmp_path: Path) -> None:
    t = orogen.Terrain.flat(samples=5, size_m=40.0)
    ids = (2**24 + np.arange(25, dtype=np.uint32)).reshape(5, 5)
    t["basin"] = ids
    t.save(tmp_path, kinds="geotiff")
    with rasterio.open(tmp_path / "basin.tif") as file:
        assert np.array_equal(file.read(1), ids)


def test_a_family_of_weights_sums_to_255() -> None:
    t = orogen.Terrain.flat(samples=33, size_m=320.0)
    rng = np.random.default_rng(5)
    t.set_weights("material", {"rock": rng.random((33, 33)), "sand": rng.random((33, 33)), "snow": 0.1})
    t = pickle.loads(pickle.dumps(t))
    names = ["material.rock", "material.sand", "material.snow"]
    assert [name for name in t.layers if name.startswith("material.")] == names
    assert {t[name].dtype for name in names} == {np.dtype(np.uint8)}
    assert (sum(t[name].astype(int) for name in names) == 255).all()
    t.set_weights("material", {"rock": 1.0, "ice": 1.0})
    assert [name for name in t.layers if name.startswith("material.")] == ["material.ice", "material.rock"]
    assert (t["material.ice"] == 128).all()
    with pytest.raises(orogen.OrogenValueError, match="set_weights"):
        t["material.rock"] = 255


def test_things_are_records_and_can_be_changed_by_hand(tmp_path: Path) -> None:
    t = orogen.Terrain.flat(samples=11, size_m=1000.0)
    t["height"] = np.broadcast_to(np.linspace(0.0, 100.0, 11), (11, 11))
    assert len(t.instances) == 0
    plants = np.zeros(1000, orogen.INSTANCE)
    rng = np.random.default_rng(3)
    plants["id"] = rng.permutation(1000).astype(np.uint64) + np.uint64(2**63)
    plants["x"], plants["y"] = np.round(rng.random((2, 1000)) * 999.0, 3)
    plants["species"], plants["yaw"], plants["scale"], plants["health"] = 1, 16384, 4096, 200
    t.set_instances("plants", plants, species=["oak", "pine"])
    assert list(t.instances) == ["plants"]
    assert t.species("plants") == ["oak", "pine"]
    found = t.instances["plants"]
    assert found.dtype == orogen.INSTANCE
    assert found.itemsize == 40
    order, wanted = np.argsort(found["id"]), np.sort(plants, order="id")
    for name in orogen.INSTANCE.names or ():
        if name != "z":
            assert np.array_equal(found[name][order], wanted[name]), name
    # They stand on the slope.
    assert np.allclose(found["z"], found["x"] / 10.0, atol=1e-3)
    back = pickle.loads(pickle.dumps(t))
    assert np.array_equal(back.instances["plants"], found)

    first, second = int(wanted["id"][0]), int(wanted["id"][1])
    said = t.edit_instances(
        "plants",
        [
            {"edit": "remove", "id": first},
            {"edit": "move", "id": second, "to_m": (500.0, 250.0)},
            {"edit": "change", "id": wanted["id"][2], "looks": {"species": "birch", "scale": np.float32(1.5)}},
            {"edit": "add", "at_m": (10.0, 20.0), "looks": {"species": "oak"}},
            {"edit": "remove", "id": first},
        ],
    )
    assert said == [f"edit 4: there is no thing with the id {first:016x}"]
    now = t.instances["plants"]
    assert len(now) == 1000
    assert first not in now["id"]
    moved = now[now["id"] == second][0]
    assert (moved["x"], moved["y"], moved["z"]) == (500.0, 250.0, 50.0)
    assert t.species("plants") == ["oak", "pine", "birch"]
    assert now[now["id"] == wanted["id"][2]][0]["scale"] == 6144

    few = np.array([(1.0, 2.0)], dtype=[("x", float), ("y", float)])
    t.set_instances("stones", few, species=["granite"])
    assert t.instances["stones"]["id"].tolist() == [1]
    with pytest.raises(orogen.OrogenValueError, match="the field y is missing"):
        t.set_instances("stones", np.zeros(1, dtype=[("x", float)]), species=["granite"])
    with pytest.raises(orogen.OrogenValueError, match="species 0 is not one of the 0"):
        t.set_instances("stones", few, species=[])
    with pytest.raises(orogen.OrogenValueError, match="same id"):
        t.set_instances("stones", np.zeros(2, orogen.INSTANCE), species=["granite"])
    with pytest.raises(orogen.OrogenKeyError, match="no instances 'trees' here; available: plants, stones"):
        t.instances["trees"]
