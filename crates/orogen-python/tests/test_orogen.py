"""The package as a user meets it."""

import json
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import rasterio

import orogen

ROOT = Path(__file__).resolve().parents[3]
ISLAND = ROOT / "recipes" / "island.toml"
DATA = ROOT.parent / "shared" / "data" / "dem"


def island(samples: int = 129, **options: object) -> orogen.Terrain:
    return orogen.build(ISLAND, samples=samples, set={"island.polygons": 600}, **options)


def mapped(seed: str) -> orogen.Terrain:
    """A small island with climate and biomes, of one step."""
    t = orogen.Terrain.flat(samples=65, size_m=8192.0, seed=seed)
    t.apply("source.island", polygons=600)
    return t


def test_build_gives_the_land_of_the_recipe() -> None:
    t = orogen.build(ISLAND, samples=129, seed="42")
    assert t["height"].shape == (129, 129)
    assert t["height"].dtype == np.float32
    assert {"height", "temperature", "moisture", "biome"} <= set(t.layers)
    assert t["biome"].dtype == np.uint8
    assert t["height"].min() < 0 < t["height"].max()
    assert t.frame.samples == (129, 129)
    assert t.frame.size_m == (40000.0, 40000.0)


def test_seed_samples_and_threads() -> None:
    a, b = island(seed=1), island(seed="1", threads=1, cache=False)
    assert np.array_equal(a["height"], b["height"])
    assert not np.array_equal(a["height"], island(seed=2)["height"])


def test_layers_are_views_that_cannot_be_written() -> None:
    t = island()
    a, b = t["height"], t["height"]
    assert np.shares_memory(a, b)
    with pytest.raises(ValueError):
        a[0, 0] = 1.0
    before = a.copy()
    t.apply("combine.add", operand=5.0)
    del t
    assert np.array_equal(a, before), "a view keeps what it showed"


def test_from_array_keeps_rows_and_spacing() -> None:
    z = np.arange(12, dtype=np.float64).reshape(3, 4)
    t = orogen.Terrain.from_array(z, spacing_m=30.0, seed="7")
    assert np.array_equal(t["height"], z.astype(np.float32))
    assert t.frame.samples == (4, 3)
    assert t.frame.spacing_m == (30.0, 30.0)
    assert t.frame.size_m == (90.0, 60.0)


def test_every_operator_is_reached_by_apply() -> None:
    for operator in orogen.operators():
        t, other = mapped("7"), mapped("other")
        t["slope"] = np.full((65, 65), 10.0)
        t["rain"], t["wind"] = np.full((65, 65), 900.0), np.full((65, 65), 5.0)
        t.apply("rock.strata")
        params = {}
        # Where the path is empty by default, the operator makes up its data.
        if operator["params"].get("properties", {}).get("path", {}).get("default"):
            kind = "relief" if operator["id"] == "cover.satellite" else "r32"
            params["path"] = str(t.save(_tmp(), kinds=[kind])[0])
        t.apply(operator["id"], with_=other if operator["reads_second"] else None, **params)
        for layer in operator["writes"]:
            assert layer in t.layers, operator["id"]


def _tmp() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp())


def test_a_mask_limits_where_an_operator_acts() -> None:
    t = orogen.Terrain.flat(samples=9, size_m=80.0)
    mask = np.zeros((9, 9))
    mask[4, 4] = 1.0
    t["mask"] = mask
    t.apply("combine.add", operand=3.0, mask="mask")
    assert np.array_equal(t["height"], 3.0 * mask.astype(np.float32))


def test_rivers_and_polygons() -> None:
    t = island(257)
    assert len(t.rivers) > 0
    river = t.rivers[0]
    assert river.points.shape[1] == 3
    assert np.all(np.diff(river.points[:, 2]) <= 1e-9), "no river rises downstream"
    polygons = t.vectors["polygons"]
    assert polygons.shape == "polygons" and len(polygons) == 600
    assert len(t.lakes) >= 0 and len(t.plants) == 0


def test_the_river_network_of_a_terrain() -> None:
    t = island(257)
    before = t["height"].copy()
    reaches = t.river_network(rain_mm_per_yr=1500.0)
    assert len(reaches) > 10
    for reach in reaches:
        assert np.all(np.diff(reach.points[:, 2]) <= 0.0), "no river rises downstream"
        into = reach.attributes["into"]
        assert into == -1 or reaches[into].attributes["order"] >= reach.attributes["order"]
    assert np.array_equal(t["height"], before)


def test_saved_files_open_in_gdal(tmp_path: Path) -> None:
    t = island(129)
    written = t.save(tmp_path / "out", kinds=["geotiff", "png16", "r32", "ascii", "geojson", "relief"])
    assert all(path.exists() for path in written)
    with rasterio.open(tmp_path / "out" / "height.tif") as tif:
        assert (tif.width, tif.height) == (129, 129)
        assert np.array_equal(tif.read(1), t["height"])
        assert tif.nodata == -9999 and tif.units == ("m",) and tif.descriptions == ("height",)
        assert "Orogen local" in tif.crs.to_wkt() and 'UNIT["metre",1' in tif.crs.to_wkt()
        assert tif.tags()["AREA_OR_POINT"] == "Point"
        # Samples are vertices: the middle of the first pixel is the first sample.
        x, y = tif.transform * (0.5, 0.5)
        assert (x, y) == pytest.approx((t.frame.min_m[0], t.frame.max_m[1]))
        assert tif.transform.e < 0
    with rasterio.open(tmp_path / "out" / "height.asc") as asc:
        assert np.allclose(asc.read(1), t["height"], atol=1e-3)
    with rasterio.open(tmp_path / "out" / "height.png") as png:
        sidecar = json.loads((tmp_path / "out" / "height.png.json").read_text())
        metres = sidecar["min"] + png.read(1) / 65535.0 * (sidecar["max"] - sidecar["min"])
        assert np.abs(metres - t["height"]).max() < (sidecar["max"] - sidecar["min"]) / 65535
    rivers = json.loads((tmp_path / "out" / "rivers.geojson").read_text())
    assert rivers["type"] == "FeatureCollection" and len(rivers["features"]) == len(t.rivers)


def test_geotiffs_are_cloud_optimised(tmp_path: Path) -> None:
    from rio_cogeo.cogeo import cog_validate

    t = orogen.Terrain.flat(samples=(1025, 700), size_m=(10240.0, 6990.0), seed="cog")
    t.apply("source.noise", wavelength_m=4000.0, amplitude_m=900.0)
    t.apply("water.basins")
    t["temperature"], t["moisture"] = np.full(t["height"].shape, 9.0), np.full(t["height"].shape, 0.5)
    t.apply("cover.biomes")
    small = orogen.Terrain.flat(samples=65, size_m=640.0, seed="cog")
    t.save(tmp_path / "large", kinds="geotiff")
    small.save(tmp_path / "small", kinds="geotiff")
    files = sorted(tmp_path.glob("*/*.tif"))
    assert {"height.tif", "basin.tif", "biome.tif"} <= {path.name for path in files}
    for path in files:
        valid, errors, warnings = cog_validate(path, strict=True, quiet=True)
        assert valid and not errors and not warnings, (path, errors, warnings)
    with rasterio.open(tmp_path / "large" / "height.tif") as tif:
        assert tif.overviews(1) == [2, 4, 8]
        assert tif.tags(ns="IMAGE_STRUCTURE").get("LAYOUT") == "COG"
        assert np.array_equal(tif.read(1), t["height"])
        # Measured values are averaged.
        half = tif.read(1, out_shape=(350, 513))
        means = t["height"][:, :1024].astype(np.float64).reshape(350, 2, 512, 2).mean(axis=(1, 3))
        assert np.allclose(half[:, :512], means, atol=1e-3)
    for name in ["biome", "basin"]:
        with rasterio.open(tmp_path / "large" / f"{name}.tif") as tif:
            assert np.array_equal(tif.read(1), t[name])
            coarse = tif.read(1, out_shape=(175, 257))
            assert set(np.unique(coarse)) <= set(np.unique(t[name])), "no id that is not in the land"


def test_a_place_on_earth_is_kept_and_written(tmp_path: Path) -> None:
    recipe = tmp_path / "alps.toml"
    recipe.write_text(
        """
frame = { size_m = 2000.0, samples = 65, origin_m = [600000.0, 5140000.0] }
[place]
latitude_deg = 46.4
crs = "EPSG:32632"
[[step]]
id = "hills"
op = "source.noise"
"""
    )
    t = orogen.build(recipe)
    assert t.place == orogen.Place(46.4, None, "EPSG:32632", None)
    assert t.crs == "EPSG:32632"
    assert pickle.loads(pickle.dumps(t)).place == t.place
    assert t.copy().place == t.place
    assert orogen.build(recipe, window=(600500.0, 5140500.0, 601000.0, 5141000.0)).place == t.place
    assert orogen.Terrain.flat(samples=3).place is None
    t.save(tmp_path / "out", kinds=["geotiff", "png16"])
    with rasterio.open(tmp_path / "out" / "height.tif") as tif:
        assert tif.crs.to_epsg() == 32632
        assert tif.tags()["OROGEN_LATITUDE_DEG"] == "46.4"
        assert tif.transform * (0.5, 0.5) == pytest.approx((600000.0, 5142000.0))
    sidecar = json.loads((tmp_path / "out" / "height.png.json").read_text())
    assert sidecar["crs"] == "EPSG:32632" and sidecar["latitude_deg"] == 46.4
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["place"]["crs"]["epsg"] == 32632
    # A model tells where it lies, and goes on to tell it.
    model = orogen.read(tmp_path / "out" / "height.tif")
    assert model.place is not None and model.place.crs == "EPSG:32632"
    assert model.place.latitude_deg == pytest.approx(46.41, abs=0.02)
    assert model.place.longitude_deg == pytest.approx(10.31, abs=0.02)


def test_overhangs_are_saved_as_mesh_and_floats(tmp_path: Path) -> None:
    t = orogen.Terrain.flat(samples=65, size_m=640.0, seed="7")
    t.apply("source.noise", wavelength_m=400.0, amplitude_m=120.0)
    t.apply("shape.overhang", from_deg=20.0, full_deg=40.0)
    assert np.abs(t["displace.x"]).max() > 1.0
    written = t.save(tmp_path, kinds=["exr", "mesh"])
    names = sorted(path.name for path in written)
    assert [name for name in names if not name.endswith(".json")] == [
        "displacement_xyz.exr",
        "height.exr",
        "terrain.glb",
    ]
    assert (tmp_path / "height.exr").read_bytes()[:4] == b"\x76\x2f\x31\x01"
    assert (tmp_path / "terrain.glb").read_bytes()[:4] == b"glTF"


@pytest.mark.skipif(not DATA.exists(), reason="the real elevation models are not beside the repository")
def test_real_models_are_read_as_gdal_reads_them(tmp_path: Path) -> None:
    for path in sorted(DATA.glob("*.tif")):
        with rasterio.open(path) as tif:
            z = tif.read(1).astype(np.float32)
            if tif.nodata is not None:
                z[z == tif.nodata] = np.nan
        rows, cols = z.shape
        t = orogen.Terrain.flat(samples=(cols, rows), size_m=(float(cols - 1), float(rows - 1)))
        t.apply("source.dem", path=str(path), placement="fit", fill_holes=False)
        assert np.allclose(t["height"], z, atol=1e-2, equal_nan=True), path.name


def test_errors_are_the_sentences_of_the_command_line() -> None:
    t = orogen.Terrain.flat(samples=9)
    for op, params, sentence in [
        ("combine.ad", {}, 'did you mean "combine.add"?'),
        ("combine.add", {"operand": float("nan")}, "operand: NaN is"),
        ("combine.add", {"operant": 1.0}, 'did you mean "operand"?'),
        ("survey.hillshade", {"altitude_deg": 900.0}, "altitude_deg: 900.0 is outside"),
        ("combine.add", {"operand": object()}, "operand: a value of type object is not a number"),
    ]:
        with pytest.raises(orogen.OrogenError) as caught:
            t.apply(op, **params)
        assert sentence in str(caught.value)
    with pytest.raises(orogen.OrogenError, match="no.toml"):
        orogen.build("no.toml")
    with pytest.raises(orogen.OrogenError, match="iland"):
        orogen.build(ISLAND, set={"iland.polygons": 3})
    with pytest.raises(KeyError, match="slope"):
        t["slope"]
    with pytest.raises(orogen.OrogenError, match="9 rows"):
        t["mask"] = np.zeros((3, 3))


def test_apply_takes_threads() -> None:
    heights = []
    for threads in (1, 3, None):
        t = orogen.Terrain.flat(samples=65, size_m=4096.0, seed="7")
        t.apply("source.noise", threads=threads)
        heights.append(t["height"])
    assert all(np.array_equal(heights[0], h) for h in heights)
    with pytest.raises(orogen.OrogenError, match="threads: 0 is outside 1 to 1024"):
        t.apply("source.noise", threads=0)


def test_other_threads_go_on_during_a_build() -> None:
    count, stop = 0, threading.Event()

    def work() -> None:
        nonlocal count
        while not stop.is_set():
            count += 1
            time.sleep(0.001)

    thread = threading.Thread(target=work)
    thread.start()
    orogen.build(ISLAND, samples=1025, cache=False)
    stop.set()
    thread.join()
    assert count > 20, "the interpreter was held"


def test_ctrl_c_stops_a_build() -> None:
    # A shell that starts the tests in the background may ignore interrupts, and children inherit that.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    build = f"orogen.build({str(ISLAND)!r}, samples=8193, cache=False, memory_bytes=2**40)"
    script = f"{heed}; import orogen; print('go', flush=True); {build}"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "go\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, stderr = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in stderr
    assert time.monotonic() - start < 10


def test_progress_is_shown_when_asked(capfd: pytest.CaptureFixture[str]) -> None:
    orogen.build(ISLAND, samples=1025, cache=False, progress=True)
    assert "island" in capfd.readouterr().err
    island(65)
    assert capfd.readouterr().err == ""


def test_calls_that_ask_for_too_much_or_nothing_are_refused():
    with pytest.raises(orogen.OrogenError, match="need about .* of memory, more than the limit of"):
        orogen.Terrain.flat(samples=10**6, size_m=1000.0)
    with pytest.raises(orogen.OrogenError, match="samples: -1 is not a whole number"):
        orogen.Terrain.flat(samples=-1, size_m=1000.0)
    with pytest.raises(orogen.OrogenError, match="samples: -1 is not a whole number"):
        orogen.build(ISLAND, samples=-1)
    flat = orogen.Terrain.flat(samples=9, size_m=1000.0)
    with pytest.raises(orogen.OrogenError, match="^peak_m: a value of type object is not a number"):
        flat.apply("source.island", peak_m=object())


def test_a_session_answers_for_windows_from_many_threads() -> None:
    session = orogen.Session(ISLAND, samples=65, set={"island.polygons": 600}, cache=False)
    assert "height" in session.layers and session.kept_bytes == 0
    window, found = (18000.0, 18000.0, 22000.0, 22000.0), {}

    def ask(number: int) -> None:
        found[number] = session.tile(window=window, spacing_m=250.0, layers=["height"])

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and session.kept_bytes > 0
    options = {"samples": 65, "set": {"island.polygons": 600}, "cache": False}
    built = orogen.build(ISLAND, window=window, spacing_m=250.0, **options)
    for tile in found.values():
        assert tile.layers == ["height"] and tile.frame == built.frame
        assert np.array_equal(tile["height"], built["height"])
    whole = session.tile()
    assert sorted(whole.keys()) == sorted(session.layers) and len(whole.rivers) > 0


def test_a_session_lets_other_threads_run() -> None:
    session = orogen.Session(ISLAND, samples=257, cache=False)
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    session.tile(layers="height")
    done.set()
    other.join()
    assert counted[0] > 20


def test_a_session_makes_the_plants_of_a_window() -> None:
    session = orogen.Session(ISLAND, samples=65)
    window = (20000.0, 20000.0, 20150.0, 20100.0)
    plants, species = session.plants(window=window)
    assert plants.dtype == orogen.INSTANCE and len(plants) > 50 and "oak" in species
    assert plants["species"].max() < len(species) and np.isfinite(plants["z"]).all()
    assert ((plants["x"] >= 20000) & (plants["x"] < 20150) & (plants["y"] >= 20000) & (plants["y"] < 20100)).all()
    part, _ = session.plants(window=(20050.0, 20000.0, 20100.0, 20100.0))
    inside = plants[(plants["x"] >= 20050) & (plants["x"] < 20100)]
    assert sorted(part["id"]) == sorted(inside["id"])
    with pytest.raises(orogen.OrogenValueError, match="lies outside the land"):
        session.plants(window=(-500, 0, -100, 1000))


def test_a_place_says_why_it_is_as_it_is() -> None:
    found = orogen.explain(ISLAND, (20000, 20000), samples=65)
    assert found.place_m == (20000.0, 20000.0) and found.height_m is not None and found.height_m > 0
    about = [reason.of for reason in found.reasons]
    assert about[0] == "temperature" and "biome" in about and any(of.startswith("material ") for of in about)
    cause = found.reasons[0].because[0]
    assert cause.unit == "degC" and cause.weight is None and str(found).startswith("20000, 20000 m, height")
    with pytest.raises(orogen.OrogenValueError, match="lies outside the land"):
        orogen.explain(ISLAND, (-1, 0), samples=65)
    with pytest.raises(orogen.OrogenValueError, match="place: 5 is not two numbers"):
        orogen.explain(ISLAND, 5, samples=65)  # type: ignore[arg-type]


def test_a_session_refuses_what_is_wrong() -> None:
    session = orogen.Session(ISLAND, samples=65)
    with pytest.raises(orogen.OrogenValueError, match="gives no .*nothere"):
        session.tile(layers=["nothere"])
    with pytest.raises(orogen.OrogenValueError, match="is not a west, south, east and north edge"):
        session.tile(window=(5, 0, 1, 1))
    with pytest.raises(orogen.OrogenValueError, match="reaches beyond"):
        session.tile(window=(-500, 0, 500, 1000))
    with pytest.raises(orogen.OrogenValueError, match="polygonz"):
        orogen.Session(ISLAND, set={"island.polygonz": 3})
    with pytest.raises(orogen.OrogenFileNotFoundError):
        orogen.Session("nowhere.toml")


def test_land_that_loops_can_be_made() -> None:
    def land(loops: bool) -> orogen.Terrain:
        made = orogen.Terrain.flat(samples=65, size_m=4096.0, loops=loops, seed="7")
        made.apply("source.noise", basis="perlin", wavelength_m=1024.0, period_m=4096.0 if loops else 0.0)
        return made

    plain, looped = land(False), land(True)
    assert (plain.frame.loops, looped.frame.loops) == (False, True)
    height = looped["height"]
    assert np.array_equal(height[:, 0], height[:, -1]) and np.array_equal(height[0], height[-1])
    assert not np.array_equal(plain["height"][:, 0], plain["height"][:, -1])
    again = orogen.Terrain.from_array(height, spacing_m=64.0, loops=True)
    again.apply("shape.blur", radius_m=200.0)
    assert np.array_equal(again["height"][:, 0], again["height"][:, -1])
    assert pickle.loads(pickle.dumps(again)).frame == again.frame
