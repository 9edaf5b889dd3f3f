"""Plants as arrays and files."""

import json
import struct
from pathlib import Path

import numpy as np
import orogen
import pytest


def test_a_plant_has_arrays_that_fit_together() -> None:
    oak = orogen.plant("oak", seed=3, lod=2)
    assert oak.vertices.shape == oak.normals.shape == (len(oak.uvs), 3)
    assert oak.indices.max() == len(oak.vertices) - 1
    assert np.allclose(np.linalg.norm(oak.normals, axis=1), 1.0, atol=1e-3)
    assert 8.0 < oak.height_m < 30.0
    bones = oak.skeleton
    first, count = bones.stems[:, 0], bones.stems[:, 1]
    assert (first + count).max() == len(bones.nodes) == len(bones.radii_m)
    assert bones.parents[0] == -1 and (bones.parents < np.arange(len(bones.parents))).all()
    again, other = orogen.plant("oak", seed=3, lod=2), orogen.plant("oak", seed=4, lod=2)
    assert np.array_equal(oak.vertices, again.vertices)
    assert len(other.vertices) != len(oak.vertices) or not np.array_equal(oak.vertices, other.vertices)


def test_winter_is_bare_and_levels_have_budgets() -> None:
    assert len(orogen.plant("birch", season="winter", lod=3).leaves.indices) == 0
    sizes = [len(orogen.plant("birch", lod=lod).indices) for lod in (1, 2, 3)]
    assert sizes == sorted(sizes, reverse=True)


def test_a_file_is_saved_once(tmp_path: Path) -> None:
    path = tmp_path / "pine.glb"
    pine = orogen.plant("pine", lod=3)
    pine.save(path)
    data = path.read_bytes()
    assert data[:4] == b"glTF" and struct.unpack_from("<I", data, 8) == (len(data),)
    length = struct.unpack_from("<I", data, 12)[0]
    assert json.loads(data[20 : 20 + length])["materials"][1]["alphaMode"] == "MASK"
    with pytest.raises(FileExistsError):
        pine.save(path)


def test_wrong_names_get_the_nearest() -> None:
    assert "oak" in orogen.plants()
    with pytest.raises(orogen.OrogenValueError, match='did you mean "birch"'):
        orogen.plant("brich")
    with pytest.raises(orogen.OrogenValueError, match="outside 0 to 3"):
        orogen.plant("oak", lod=4)
    with pytest.raises(orogen.OrogenValueError, match="monsoon"):
        orogen.plant("oak", season="monsoon")  # type: ignore[arg-type]


def test_a_species_of_ones_own_is_a_file(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text("height_m = 2.0\nheight_vary_m = 0.1\n[[levels]]\nbranches = 1\nlength = 1.0\ndown_deg = 0.0\n")
    assert 1.0 < orogen.plant(own, lod=3).height_m < 3.0
    assert orogen.plant(str(own), lod=3).species == str(own)
    own.write_text("height_m = -2.0\n")
    with pytest.raises(orogen.OrogenFileError, match="line 1: height_m"):
        orogen.plant(own)
