"""Coordinate systems are judged by the EPSG register, not by the size of their number."""

import epsg_register
import numpy as np
import pytest

import orogen
from orogen import _epsg


def test_systems_in_metres_are_taken_and_others_are_refused_by_what_they_are() -> None:
    for code in (32633, 25832, 3857, 4647, 4491, 4087, 2056, 27700):
        assert orogen.Terrain.flat(samples=9, size_m=9.0, crs=f"EPSG:{code}").crs == f"EPSG:{code}"
    for code, what in [
        (4326, "is in degrees"),
        (6318, "is in degrees"),
        (2225, "is not in metres"),
        (5703, "is a system of heights only"),
        (4978, "is not a system of eastings and northings"),
        (7415, "is not a system of eastings and northings"),
    ]:
        with pytest.raises(ValueError, match=f"crs: EPSG:{code} {what}; use a projected system in metres"):
            orogen.Terrain.from_array(np.zeros((3, 3)), spacing_m=1.0, crs=code)


def test_the_table_agrees_with_the_register() -> None:
    version, kinds = epsg_register.register(epsg_register.database())
    names = {
        "DEGREES": "is in degrees",
        "OTHER_UNITS": "is not in metres",
        "HEIGHTS": "is a system of heights only",
        "OTHER": "is not a system of eastings and northings",
        "METRES": None,
    }
    assert len(kinds) > 7000
    wrong = {code for code, kind in kinds.items() if _epsg.problem(code) != names[kind]}
    # Another version may have systems that the table does not know yet; it does not change the kind of others.
    assert not wrong or (version != _epsg.VERSION and all(_epsg.problem(code) is None for code in wrong)), sorted(wrong)[:20]
