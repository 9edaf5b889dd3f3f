"""The table of `_epsg.py`, made from the copy of the EPSG register that PROJ comes with.

``python crates/orogen-python/tests/epsg_register.py`` writes it anew; `test_epsg.py` compares it.
"""

import sqlite3
import sys
import textwrap
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "python" / "orogen" / "_epsg.py"

KINDS = {
    "geographic 2D": "DEGREES",
    "geographic 3D": "DEGREES",
    "vertical": "HEIGHTS",
    "geocentric": "OTHER",
    "compound": "OTHER",
    "engineering": "OTHER",
}

METRE = "9001"

UNITS = """
select p.code, a.uom_code from projected_crs p join axis a
on a.coordinate_system_auth_name = p.coordinate_system_auth_name and a.coordinate_system_code = p.coordinate_system_code
where p.auth_name = 'EPSG' and a.coordinate_system_order = 1
"""


def database() -> Path:
    """PROJ's database, which rasterio comes with."""
    import rasterio

    return Path(rasterio.__file__).parent / "proj_data" / "proj.db"


def register(path: Path) -> tuple[str, dict[int, str]]:
    """The version of the register, and the kind of every system that a GeoTIFF can name: `METRES` or one of `_epsg.py`."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        (version,) = db.execute("select value from metadata where key = 'EPSG.VERSION'").fetchone()
        kinds = {int(code): "METRES" if str(unit) == METRE else "OTHER_UNITS" for code, unit in db.execute(UNITS)}
        for code, kind in db.execute("select code, type from crs_view where auth_name = 'EPSG'"):
            if kind != "projected":
                kinds[int(code)] = KINDS[kind]
    return version, {code: kind for code, kind in kinds.items() if 1024 <= code < 32767}


def runs(codes: list[int]) -> str:
    """`4326 6318-6322`: single codes and runs of codes that follow one another."""
    found: list[list[int]] = []
    for code in sorted(codes):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def main() -> None:
    version, kinds = register(database())
    text = TABLE.read_text()
    head, tail = text.split("# Table\n")[0], text.split("# End of the table\n")[1]
    lines = [f'VERSION = "{version}"', '"""Version of the register."""', ""]
    for name in ("DEGREES", "OTHER_UNITS", "HEIGHTS", "OTHER"):
        codes = runs([code for code, kind in kinds.items() if kind == name])
        lines += [f'{name} = """', *textwrap.wrap(codes, 120, break_on_hyphens=False), '"""']
    TABLE.write_text(f"{head}# Table\n" + "\n".join(lines) + f"\n# End of the table\n{tail}")
    sys.stdout.write(f"{TABLE}: {len(kinds)} systems of EPSG {version}\n")


if __name__ == "__main__":
    main()
