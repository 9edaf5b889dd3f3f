"""The compiled part. Use ``orogen``, not this."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
import numpy.typing as npt

__version__: str

class OrogenError(Exception): ...

def operators_json() -> str: ...
def build(
    path: str,
    *,
    samples: int | None,
    seed: str | None,
    threads: int | None,
    set: list[str],
    cache: bool,
    memory: int | None,
    progress: Callable[[str, float], None] | None,
) -> Terrain: ...

@final
class Terrain:
    @staticmethod
    def flat(
        samples: tuple[int, int],
        size_m: tuple[float, float],
        origin_m: tuple[float, float],
        seed: str,
        memory: int | None,
    ) -> Terrain: ...
    @staticmethod
    def from_array(
        z: npt.NDArray[np.float32], spacing_m: tuple[float, float], origin_m: tuple[float, float], seed: str
    ) -> Terrain: ...
    def apply(
        self,
        op: str,
        id: str | None,
        second: Terrain | None,
        mask: str | None,
        threads: int | None,
        progress: Callable[[str, float], None] | None,
        params: dict[str, Any],
    ) -> None: ...
    def layer(self, name: str) -> npt.NDArray[Any]: ...
    def set_layer(self, name: str, values: npt.NDArray[np.float32]) -> None: ...
    def layer_names(self) -> list[str]: ...
    def vector_names(self) -> list[str]: ...
    def vectors(
        self, name: str
    ) -> tuple[str, npt.NDArray[np.float64], list[list[tuple[int, int]]], dict[str, Any], dict[str, Any]] | None: ...
    def tin(
        self, max_error_m: float, hierarchy: bool, progress: Callable[[str, float], None] | None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint32]]: ...
    def viewshed(
        self,
        at_m: tuple[float, float],
        heights_m: tuple[float, float],
        curvature: float,
        range_m: float,
        exact: bool,
        progress: Callable[[str, float], None] | None,
    ) -> npt.NDArray[np.uint8]: ...
    def watershed(
        self, at_m: tuple[float, float], snap_m: float, sea: bool, progress: Callable[[str, float], None] | None
    ) -> npt.NDArray[np.uint8]: ...
    def frame(self) -> tuple[tuple[int, int], tuple[float, float], tuple[float, float], tuple[float, float]]: ...
    @property
    def seed(self) -> str: ...
    def copy(self) -> Terrain: ...
    def save(self, folder: str, kinds: list[str] | None) -> list[str]: ...
