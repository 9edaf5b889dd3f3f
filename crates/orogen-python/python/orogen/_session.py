"""A recipe made ready to answer for any window."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt

from orogen import _orogen
from orogen._errors import OrogenValueError
from orogen._instances import INSTANCE
from orogen._numbers import epsg_of, memory_of, number, path_of, seed_of, shown, text_of, whole, window_of
from orogen._progress import Progress, Tell, reporter
from orogen._render import Renders
from orogen._terrain import Terrain


class Session(Renders):
    """A recipe made ready to answer for any window, from any thread.

    Steps that reach the whole world are solved once, when a window first needs them, and kept in memory; then a window
    costs no more than its own samples. Every answer equals what ``orogen.build`` gives for that window.
    """

    _inner: _orogen.Session
    _recipe: str

    def __init__(
        self,
        recipe: str | os.PathLike[str],
        *,
        samples: SupportsIndex | None = None,
        seed: str | int | None = None,
        set: Mapping[str, object] | None = None,
        crs: str | int | object | None = None,
        cache: bool = True,
        memory_bytes: SupportsIndex | None = None,
    ) -> None:
        """Reads and checks a recipe file; nothing is worked out yet. The arguments are those of ``orogen.build``."""
        if set is not None and not isinstance(set, Mapping):
            raise OrogenValueError(f'set: {shown(set)} is not a dictionary such as {{"island.polygons": 800}}')
        self._recipe = path_of(recipe)
        self._inner = _orogen.Session(
            self._recipe,
            samples=None if samples is None else whole("samples", samples),
            seed=None if seed is None else seed_of(seed),
            set=dict(set or {}),
            crs=epsg_of(crs),
            cache=bool(cache),
            memory=memory_of(memory_bytes),
        )

    def tile(
        self,
        *,
        window: Iterable[SupportsFloat] | None = None,
        spacing_m: SupportsFloat | None = None,
        layers: str | Iterable[str] | None = None,
        progress: Progress = False,
    ) -> Terrain:
        """The land of a window, (west, south, east, north) in metres, with samples ``spacing_m`` apart.

        ``layers`` names the layers that are wanted: only the steps that they need are worked out. Without it the terrain
        has all layers and vectors. Other Python threads run meanwhile and may ask for windows too. Ctrl-C stops the work.
        """
        wanted = [layers] if isinstance(layers, str) else layers or []
        with reporter(progress) as tell:
            inner = self._inner.tile(
                window_of(window),
                None if spacing_m is None else number("spacing_m", spacing_m),
                [text_of("layers", name) for name in wanted],
                tell,
            )
        return Terrain._of(inner)

    def plants(
        self,
        *,
        window: Iterable[SupportsFloat] | None = None,
        progress: Progress = False,
    ) -> tuple[npt.NDArray[np.void], list[str]]:
        """The plants of a window, (west, south, east, north) in metres: an array of ``orogen.INSTANCE`` and the names of its species.

        Recipes keep how dense plants stand; the plants themselves are made where somebody looks, the same ones in every window.
        Without a window all of the land has them: millions, where it is wooded.
        """
        with reporter(progress) as tell:
            species, records = self._inner.plants(window_of(window), tell)
        return records.view(INSTANCE), species

    def _taken(self, look: dict[str, Any], tell: Tell | None) -> npt.NDArray[np.uint8]:
        return self._inner.render(look, tell)

    @property
    def layers(self) -> list[str]:
        """Names of the layers that the recipe makes."""
        return self._inner.layer_names()

    @property
    def kept_bytes(self) -> int:
        """Memory that solved steps take; the session drops those that were not used for longest when it is over 2 GiB."""
        return self._inner.kept_bytes()

    def __repr__(self) -> str:
        return f"<orogen.Session {self._recipe}: {', '.join(self.layers)}>"
