"""What a call may not do: end the interpreter, work on values that are none, or speak in riddles."""

import errno
import pickle
import subprocess
import sys
import threading
import time
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import rasterio

import orogen

ISLAND = Path(__file__).resolve().parents[3] / "recipes" / "island.toml"


def test_shapes_that_memory_cannot_hold_are_a_memory_error() -> None:
    huge = np.broadcast_to(np.float32(0.0), (10**6, 10**6))
    with pytest.raises(MemoryError, match="more than the limit of 8 GiB"):
        orogen.Terrain.from_array(huge, spacing_m=1.0)
    for call in (
        lambda: orogen.Terrain.from_array(huge, spacing_m=1.0, memory_bytes=2**62),
        lambda: orogen.Terrain.flat(samples=10**6, memory_bytes=2**62),
        lambda: orogen.Terrain.flat(samples=10**18, memory_bytes=2**62),
        lambda: orogen.build(ISLAND, samples=500_000, memory_bytes=2**62),
        lambda: orogen.build(ISLAND, samples=65, spacing_m=0.01, memory_bytes=2**62),
    ):
        with pytest.raises((MemoryError, ValueError), match="memory") as caught:
            call()
        assert isinstance(caught.value, orogen.OrogenError)
    t = orogen.Terrain.flat(samples=9)
    with pytest.raises((MemoryError, ValueError)):
        t["mask"] = huge


def test_an_interpreter_short_of_memory_survives() -> None:
    script = """
import resource, orogen
t = orogen.Terrain.flat(samples=4097, size_m=4096.0)
resource.setrlimit(resource.RLIMIT_AS, (1_000_000_000, 1_000_000_000))
for call in (lambda: orogen.Terrain.flat(samples=8193, size_m=1e4), lambda: t.apply("survey.slope") or t.copy()):
    try:
        call()
    except MemoryError as e:
        print("refused:", e)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "refused: 8193 x 8193 samples need about" in done.stdout


def test_heights_beyond_any_land_are_refused_with_their_place() -> None:
    for value, shown in [(np.inf, "inf"), (-np.inf, "-inf"), (1e300, "inf"), (2e7, "2e7")]:
        z = np.zeros((3, 4))
        z[1, 2] = value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=f'layer "height" holds {shown} at column 2, row 1; heights must lie within 1e7 m'):
                orogen.Terrain.from_array(z, spacing_m=1.0)
    t = orogen.Terrain.flat(samples=3)
    with pytest.raises(ValueError, match='layer "mask" holds inf at column 0, row 0; values must be finite'):
        t["mask"] = np.full((3, 3), np.inf)
    t["flow"] = np.full((3, 3), 1e30)
    assert np.isnan(orogen.Terrain.from_array(np.full((3, 3), np.nan), spacing_m=1.0)["height"]).all()


def test_masked_values_are_holes() -> None:
    z = np.ma.masked_equal(np.array([[1, 2], [-9999, 4]], dtype=np.int16), -9999)
    assert np.array_equal(
        orogen.Terrain.from_array(z, spacing_m=1.0)["height"], [[1, 2], [np.nan, 4]], equal_nan=True
    )


def test_numpy_scalars_are_numbers_everywhere() -> None:
    f, i, zero_d = np.float32, np.int64, np.array
    t = orogen.Terrain.flat(samples=i(33), size_m=f(640), origin_m=np.array([1.0, 2.0]), seed=i(7))
    assert t.frame.samples == (33, 33) and t.frame.min_m == (1.0, 2.0) and t.seed == "7"
    assert orogen.Terrain.flat(samples=np.array([9, 5]), size_m=[80, 40]).frame.samples == (9, 5)
    assert orogen.Terrain.flat(samples=zero_d(9), size_m=zero_d(80.0)).frame.spacing_m == (10.0, 10.0)
    z = np.zeros((5, 9), dtype=np.uint8)
    assert orogen.Terrain.from_array(z, spacing_m=np.array([3.0, 4.0])).frame.spacing_m == (3.0, 4.0)
    for number in (f(3), np.float16(3), i(3), np.uint8(3), zero_d(3), zero_d(3.0), Decimal(3), 3):
        land = t.copy()
        land.apply("combine.add", operand=number, threads=i(1))
        assert (land["height"] == 3.0).all(), repr(number)
    t.apply("water.rivers", sea=np.bool_(True))
    t.apply("water.rivers", sea=zero_d(False))
    # Nested: arrays in tables in lists.
    t.apply("source.island", polygons=i(60), edits=[{"kind": "polygon", "at_m": np.array([320.0, 320.0]), "elevation_m": f(40)}])
    t.apply("mask.polygon", rings_m=np.array([[[0, 0], [300, 0], [300, 300]]], dtype=f))
    t["mask"] = f(0.5)
    assert (t["mask"] == 0.5).all()
    place = np.array([320.0, 320.0], dtype=f)
    t.viewshed(place, observer_m=f(2), target_m=i(0), curvature=f(0), range_m=i(500), exact=np.bool_(False))
    t.watershed(place, snap_m=f(10), sea=np.bool_(True))
    t.tin(max_error_m=f(5))
    t.contours(interval_m=f(10), base_m=i(0), smooth=np.bool_(False))
    options = {"island.polygons": i(300), "island.peak_m": f(500), "rivers.enabled": np.bool_(True)}
    built = orogen.build(ISLAND, samples=i(65), seed=i(3), threads=i(1), set=options, spacing_m=f(1000), cache=np.bool_(False))
    assert built.frame.samples == (41, 41)


def test_what_is_no_number_is_said_by_name() -> None:
    for call, sentence in [
        (lambda: orogen.Terrain.flat(samples=2.5), "samples: 2.5 is not a whole number"),
        (lambda: orogen.Terrain.flat(samples=(3, 3, 3)), "samples: .* is not a number of columns"),
        (lambda: orogen.Terrain.flat(size_m="wide"), "size_m: 'wide' is not"),
        (lambda: orogen.Terrain.flat(size_m=10.0, spacing_m=1.0), "either size_m or spacing_m"),
        (lambda: orogen.Terrain.flat().viewshed((1.0,)), "at_m: .* is not 2 numbers"),
        (lambda: orogen.build(ISLAND, window=(0, 0, 1)), "window: .* is not 4 numbers"),
        (lambda: orogen.build(ISLAND, window=(5, 0, 1, 1)), "window: .* is not a west, south, east and north"),
        (lambda: orogen.build(ISLAND, spacing_m=-1), "spacing_m: -1 is not a valid length"),
        (lambda: orogen.Terrain.from_array([1.0, 2.0], spacing_m=1.0), "1 dimensions"),
        (lambda: orogen.Terrain.flat(crs="EPSG:4326"), "is in degrees"),
        (lambda: orogen.Terrain.flat(crs="here"), "'here' is not a coordinate system"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            call()


def test_too_much_memory_is_a_memory_error_everywhere(tmp_path: Path) -> None:
    orogen.Terrain.flat(samples=33).save(tmp_path, kinds="geotiff")
    for call in (
        lambda: orogen.build(ISLAND, samples=129, memory_bytes=1000),
        lambda: orogen.build(ISLAND, spacing_m=1.0, memory_bytes=200 << 20),
        lambda: orogen.read(tmp_path / "height.tif", memory_bytes=1000),
        lambda: orogen.Terrain.flat(samples=129, memory_bytes=1000),
        lambda: orogen.Terrain.from_array(np.zeros((129, 129)), spacing_m=1.0, memory_bytes=1000),
    ):
        with pytest.raises(orogen.OrogenMemoryError, match="memory_bytes=") as caught:
            call()
        assert "--" not in str(caught.value) and " 0 MiB" not in str(caught.value)
    # A recipe that is wrong besides is wrong with more memory too.
    with pytest.raises(orogen.OrogenValueError, match="(?s)polygonz.*the limit of 1000 bytes"):
        orogen.build(ISLAND, samples=129, memory_bytes=1000, set={"island.polygonz": 3})


def test_all_faults_of_a_recipe_come_at_once(tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        '[[step]]\nid = "a"\nop = "source.dem"\nparams = { path = "no.tif" }\n'
        '[[step]]\nid = "b"\nop = "erode.thermal"\nmask = "mask.none"\nparams = { talus = 3 }\n'
    )
    with pytest.raises(orogen.OrogenValueError) as caught:
        orogen.build(recipe, set={"nope.x": 1})
    for part in ('file "no.tif": no such file', "talus: no such parameter", 'no layer "mask.none"', "set nope.x: "):
        assert part in str(caught.value), str(caught.value)
    with pytest.raises(orogen.OrogenValueError, match='set: "nope" does not name a step and a parameter'):
        orogen.build(recipe, set={"nope": 1})


def test_only_numbers_become_layers() -> None:
    t = orogen.Terrain.flat(samples=3)
    records = np.zeros((3, 3), dtype=[("z", np.float32)])
    for values in (None, "abc", [[None] * 3] * 3, [["1"] * 3] * 3, [[1], [1, 2]], records, np.full((3, 3), 1j)):
        with pytest.raises(orogen.OrogenValueError, match="layer 'height': "):
            t["height"] = values
        with pytest.raises(orogen.OrogenValueError, match="z: "):
            orogen.Terrain.from_array(values, spacing_m=1.0)
    with pytest.raises(orogen.OrogenValueError, match=r"values of type datetime64\[s\] are not real numbers"):
        t["height"] = np.zeros((3, 3), dtype="datetime64[s]")
    assert (t["height"] == 0.0).all()
    t["height"] = [[Decimal(1), 2, True]] * 3
    assert t["height"][0].tolist() == [1.0, 2.0, 1.0]


def test_no_plain_exception_escapes(tmp_path: Path) -> None:
    t, z = orogen.Terrain.flat(samples=3), np.zeros((3, 3))
    for call, sentence in [
        (lambda: orogen.Terrain.flat(samples=2**63), "samples: 9223372036854775808 is too large"),
        (lambda: orogen.Terrain.flat(samples=10**5000), "samples: a value of type int is too large"),
        (lambda: orogen.Terrain.from_array(z, spacing_m=10**400), "spacing_m: 1000*... is too large"),
        (lambda: orogen.Terrain.from_array(z, spacing_m=-1), "spacing_m: -1 is not a valid length in metres"),
        (lambda: orogen.Terrain.flat(samples=9, spacing_m=-1), "spacing_m: -1 is not a valid length in metres"),
        (lambda: orogen.Terrain.flat(seed="\ud800"), "seed: .* is not valid Unicode"),
        (lambda: orogen.build(ISLAND, memory_bytes=-1), "memory_bytes: -1 is not a number of bytes"),
        (lambda: orogen.build(ISLAND, set=[("a.b", 1)]), "set: .* is not a dictionary"),
        (lambda: orogen.read("\ud800.tif"), "is not a path"),
        (lambda: t.apply("combine.add", with_=1e300), r"with_: 1e\+300 is not a terrain"),
        (lambda: t.apply("combine.blend"), "^combine.blend combines two terrains; give the second as with_=$"),
        (lambda: t.apply("erode.thermal", with_=t), "^erode.thermal takes no second terrain; leave out with_=$"),
        (lambda: t.apply("combine.add", operand=10**5000), "operand: the whole number is too large"),
        (lambda: t.__setitem__("\ud800", z), "layer: .* is not valid Unicode"),
        (lambda: t.save(tmp_path, kinds=5), "kinds: 5 is not a string"),
    ]:
        with pytest.raises(orogen.OrogenValueError, match=sentence):
            call()
    for name in ("\ud800", 3):
        with pytest.raises(orogen.OrogenKeyError, match="no layer .* here; available: height"):
            t[name]


def test_messages_are_cut(tmp_path: Path) -> None:
    t, long = orogen.Terrain.flat(samples=3), "x" * 10_000_000
    for call in (
        lambda: t.apply(long),
        lambda: t[long],
        lambda: t.__setitem__(long, 1.0),
        lambda: t.save(tmp_path, kinds=long),
        lambda: orogen.Terrain.flat(crs=long),
        lambda: orogen.Terrain.flat(samples=[3] * 100_000),
        lambda: orogen.read(long),
        lambda: t.apply("combine.add", **{long: 1}),
    ):
        with pytest.raises(orogen.OrogenError) as caught:
            call()
        assert len(str(caught.value)) < 1000
    recipe = tmp_path / "r.toml"
    recipe.write_text("= \n" * 1000)
    with pytest.raises(orogen.OrogenValueError) as caught:
        orogen.build(recipe)
    assert len(str(caught.value).splitlines()) == 25


def test_errors_about_files_say_which(tmp_path: Path) -> None:
    missing = tmp_path / "no.tif"
    for call in (lambda: orogen.read(missing), lambda: orogen.build(missing), lambda: open(missing)):
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert caught.value.errno == errno.ENOENT and caught.value.filename in (str(missing), missing)
        assert pickle.loads(pickle.dumps(caught.value)).filename == caught.value.filename
    with pytest.raises(FileNotFoundError) as caught:
        orogen.read(missing)
    assert str(caught.value) == f"{missing}: no such file"
    profile = {"driver": "GTiff", "width": 3, "height": 3, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    wild = tmp_path / "wild.tif"
    with rasterio.open(wild, "w", transform=rasterio.transform.from_origin(0, 9, 3, 3), **profile) as tif:
        tif.write(np.full((3, 3), 1e30, np.float32), 1)
    with pytest.raises(orogen.OrogenValueError, match='wild.tif: layer "height" holds 1e30'):
        orogen.read(wild)


def test_a_terrain_in_use_by_another_thread_says_so() -> None:
    t = orogen.Terrain.flat(samples=1025, size_m=8192.0)
    t.apply("source.noise")
    started, went_wrong = threading.Event(), []

    def change() -> None:
        try:
            t.apply("erode.droplets", progress=lambda *_: started.set())
        except Exception as error:
            went_wrong.append(error)

    thread = threading.Thread(target=change)
    thread.start()
    assert started.wait(60)
    calls = [
        lambda: t["height"],
        lambda: t.apply("combine.add", operand=1.0),
        lambda: t.__setitem__("mask", np.zeros((1025, 1025))),
        lambda: t.copy(),
        lambda: t.save("nowhere"),
        lambda: orogen.Terrain.flat(samples=1025).apply("combine.add", with_=t),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match='being changed by "erode.droplets" in another thread') as caught:
            call()
        assert isinstance(caught.value, orogen.OrogenError)
    assert "being changed by another thread" in repr(t) and t.frame.samples == (1025, 1025)
    thread.join()
    assert not went_wrong
    assert t["height"].shape == (1025, 1025), "afterwards all is as before"


def test_readers_do_not_disturb_one_another() -> None:
    t = orogen.Terrain.flat(samples=257, size_m=2048.0)
    t.apply("source.noise")
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(t.tin(max_error_m=5.0))) for _ in range(4)]
    for thread in threads:
        thread.start()
    t.apply("combine.add", with_=t)
    for thread in threads:
        thread.join()
    assert len(results) == 4


def test_errors_are_also_those_that_python_people_catch(tmp_path: Path) -> None:
    t = orogen.Terrain.flat(samples=9)
    (tmp_path / "bad.tif").write_bytes(b"no picture")
    for call, kind in [
        (lambda: orogen.build("no.toml"), FileNotFoundError),
        (lambda: orogen.read("no.tif"), FileNotFoundError),
        (lambda: orogen.read("no.tif"), OSError),
        (lambda: t.apply("source.dem", path="no.asc"), FileNotFoundError),
        (lambda: orogen.read(tmp_path / "bad.tif"), OSError),
        (lambda: t.save(tmp_path / "bad.tif"), OSError),
        (lambda: t["no"], KeyError),
        (lambda: t.__delitem__("no"), KeyError),
        (lambda: t.apply("combine.ad"), ValueError),
        (lambda: t.apply("combine.add", operand=np.nan), ValueError),
        (lambda: t.save(tmp_path, kinds="geotif"), ValueError),
        (lambda: orogen.describe("combine.ad"), ValueError),
        (lambda: orogen.build(ISLAND, set={"iland.polygons": 3}), ValueError),
        (lambda: orogen.build(ISLAND, threads=0), ValueError),
    ]:
        with pytest.raises(kind) as caught:
            call()
        assert isinstance(caught.value, orogen.OrogenError)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(KeyError) as missing:
        t["no"]
    assert str(missing.value) == 'no layer "no" here; available: height'


def test_other_work_goes_on_while_a_terrain_is_changed() -> None:
    t = orogen.Terrain.flat(samples=513, size_m=4096.0)
    shares: list[float] = []
    t.apply("erode.droplets", progress=lambda name, share: shares.append(share) or time.sleep(0))
    assert all(0.0 <= share <= 1.0 for share in shares)
