"""What `mypy --strict` must accept: the package's types as a user meets them."""

from pathlib import Path

import numpy as np

import orogen

terrain: orogen.Terrain = orogen.Terrain.flat(samples=33, size_m=1000.0, seed=7)
terrain.apply("combine.add", operand=100.0)
terrain.apply("mask.height", min_m=50.0, max_m=200.0)
terrain.apply("combine.multiply", operand=2.0, mask="mask")
other = terrain.copy()
terrain.apply("combine.max", with_=other, smooth_m=5.0)
height = terrain["height"]
terrain["height"] = np.zeros((33, 33))
names: list[str] = terrain.layers
size: tuple[float, float] = terrain.frame.size_m
river_count: int = len(terrain.rivers)
line_count: int = len(terrain.contours(interval_m=20.0))
reach_count: int = len(terrain.river_network(rain_mm_per_yr=1500.0))
triangle_count: int = terrain.tin(max_error_m=2.0).triangles.shape[0]
seen: int = int((terrain.viewshed((500.0, 500.0)) == 1).sum())
upstream: int = int((terrain.watershed((500.0, 500.0)) == 1).sum())
written: list[Path] = terrain.save("out", kinds=["geotiff"])
written = terrain.save("out", kinds="geotiff", progress=lambda name, share: None)
terrain.apply("combine.add", operand=np.float32(3), threads=np.int64(2))
terrain.apply("water.rivers", rain_mm_per_yr=np.float64(900), progress=True)
model: orogen.Terrain = orogen.read("model.tif", window=(0, 0, 100, 100), crs="EPSG:32633")
part: orogen.Terrain = orogen.build(Path("recipe.toml"), window=np.array([0.0, 0.0, 1.0, 1.0]), spacing_m=5, crs=25832)
eastings: float = float(part.x[0])
session = orogen.Session(Path("recipe.toml"), samples=129, set={"island.polygons": 800})
tile: orogen.Terrain = session.tile(window=(0, 0, 100, 100), spacing_m=1, layers=["height"])
made: list[str] = session.layers
system: str | None = part.crs
system = part.file_crs
for step in part.steps:
    measured: dict[str, float] = step.figures
outline: dict[str, object] = part.__geo_interface__
text: str = orogen.describe("erode.thermal")
for layer in terrain:
    values = terrain[layer]
try:
    terrain["no"]
except orogen.OrogenKeyError as missing:
    as_key: KeyError = missing
catalogue = orogen.operators()
view: orogen.Picture = terrain.render((320, 180), time="16:30", overlay=["height", "contours"])
view = session.render(camera=(100, 200), target=np.array([300.0, 400.0]), height_m=np.float32(2))
saved: Path = view.save("view.png")
