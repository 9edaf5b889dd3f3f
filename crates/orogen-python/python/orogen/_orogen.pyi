"""The compiled part. Use ``orogen``, not this."""

from typing import Any, final

import numpy as np
import numpy.typing as npt

from orogen._progress import Tell
from orogen._steps import StepTuple

__version__: str

def operators_json() -> str: ...
def operators_text() -> str: ...
def describe(op: str) -> str: ...
def build(
    path: str,
    *,
    samples: int | None,
    seed: str | None,
    threads: int | None,
    set: dict[str, object],
    window: tuple[float, float, float, float] | None,
    spacing_m: float | None,
    crs: int | None,
    cache: bool,
    memory: int | None,
    progress: Tell | None,
) -> tuple[Terrain, list[StepTuple]]: ...
def explain(
    path: str,
    place: tuple[float, float],
    *,
    samples: int | None,
    seed: str | None,
    set: dict[str, object],
    cache: bool,
    memory: int | None,
    progress: Tell | None,
) -> tuple[str, str]: ...
def read(
    path: str,
    *,
    spacing_m: tuple[float, float] | None,
    window: tuple[float, float, float, float] | None,
    crs: int | None,
    seed: str,
    memory: int | None,
) -> Terrain: ...

def plant(name: str, *, seed: str, age: float, vigour: float, season: str) -> Plant: ...
def plant_names() -> list[str]: ...
def png(picture: npt.NDArray[np.uint8]) -> bytes: ...

@final
class Plant:
    def mesh(self, lod: int | None) -> tuple[dict[str, npt.NDArray[Any]], dict[str, npt.NDArray[Any]]]: ...
    def skeleton(self) -> dict[str, npt.NDArray[Any]]: ...
    def glb(self, lod: int | None, levels: bool) -> bytes: ...
    def height_m(self) -> float: ...

@final
class Session:
    def __new__(
        cls,
        path: str,
        *,
        samples: int | None,
        seed: str | None,
        set: dict[str, object],
        crs: int | None,
        cache: bool,
        memory: int | None,
    ) -> Session: ...
    def tile(
        self,
        window: tuple[float, float, float, float] | None,
        spacing_m: float | None,
        layers: list[str],
        progress: Tell | None,
    ) -> Terrain: ...
    def plants(
        self,
        window: tuple[float, float, float, float] | None,
        progress: Tell | None,
    ) -> tuple[list[str], npt.NDArray[np.uint8]]: ...
    def render(self, look: dict[str, Any], progress: Tell | None) -> npt.NDArray[np.uint8]: ...
    def layer_names(self) -> list[str]: ...
    def kept_bytes(self) -> int: ...

@final
class Terrain:
    @staticmethod
    def flat(
        samples: tuple[int, int],
        size_m: tuple[float, float],
        origin_m: tuple[float, float],
        loops: bool,
        crs: int | None,
        seed: str,
        memory: int | None,
    ) -> Terrain: ...
    @staticmethod
    def from_array(
        z: npt.NDArray[np.float32],
        spacing_m: tuple[float, float],
        origin_m: tuple[float, float],
        loops: bool,
        crs: int | None,
        seed: str,
    ) -> Terrain: ...
    def apply(
        self,
        op: str,
        id: str | None,
        second: Terrain | None,
        mask: str | None,
        threads: int | None,
        progress: Tell | None,
        params: dict[str, Any],
    ) -> StepTuple: ...
    def layer(self, name: str) -> npt.NDArray[Any]: ...
    def set_layer(self, name: str, values: npt.NDArray[np.float32]) -> None: ...
    def remove_layer(self, name: str) -> None: ...
    def layer_names(self) -> list[str]: ...
    @staticmethod
    def unit(name: str) -> str: ...
    def vector_names(self) -> list[str]: ...
    def instance_names(self) -> list[str]: ...
    def instances(self, name: str) -> tuple[list[str], npt.NDArray[np.uint8]] | None: ...
    def set_instances(self, name: str, species: list[str], records: npt.NDArray[np.uint8]) -> None: ...
    def edit_instances(self, name: str, edits: str) -> list[str]: ...
    def remove_instances(self, name: str) -> None: ...
    def set_ids(self, name: str, values: npt.NDArray[Any]) -> None: ...
    def set_weights(self, family: str, shares: dict[str, npt.NDArray[np.float32]]) -> None: ...
    @staticmethod
    def known_kind(name: str) -> str: ...
    def vectors(
        self, name: str
    ) -> tuple[str, npt.NDArray[np.float64], list[list[tuple[int, int]]], dict[str, Any], dict[str, Any]] | None: ...
    def tin(
        self, max_error_m: float, hierarchy: bool, progress: Tell | None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint32]]: ...
    def viewshed(
        self,
        at_m: tuple[float, float],
        heights_m: tuple[float, float],
        curvature: float,
        range_m: float,
        exact: bool,
        progress: Tell | None,
    ) -> npt.NDArray[np.uint8]: ...
    def watershed(
        self, at_m: tuple[float, float], snap_m: float, sea: bool, progress: Tell | None
    ) -> npt.NDArray[np.uint8]: ...
    def frame(self) -> tuple[tuple[int, int], tuple[float, float], tuple[float, float], tuple[float, float], bool]: ...
    def coordinates(self) -> tuple[list[float], list[float]]: ...
    @property
    def seed(self) -> str: ...
    @property
    def epsg(self) -> int | None: ...
    @property
    def earth(self) -> tuple[float | None, float | None, int | None, float | None]: ...
    @property
    def file_epsg(self) -> int | None: ...
    def copy(self) -> Terrain: ...
    def picture(self, most: int) -> bytes | None: ...
    def render(self, look: dict[str, Any], progress: Tell | None) -> npt.NDArray[np.uint8]: ...
    def parts(self) -> tuple[str, str | None, str, dict[str, bytes], str, dict[str, bytes], str, str]: ...
    @staticmethod
    def from_parts(
        frame: str,
        place: str | None,
        seed: str,
        vectors: dict[str, bytes],
        provenance: str,
        instances: dict[str, bytes],
        kinds: str,
        earth: str,
        layers: dict[str, npt.NDArray[Any]],
    ) -> Terrain: ...
    def save(self, folder: str, kinds: list[str] | None, progress: Tell | None) -> list[str]: ...
