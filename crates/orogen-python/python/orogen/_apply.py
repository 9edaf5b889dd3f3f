"""``Terrain.apply``: every operator of the catalogue through one call. Its types are generated (``_apply.pyi``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orogen._progress import reporter

if TYPE_CHECKING:
    from orogen import _orogen
    from orogen._terrain import Terrain


class Applies:
    """What has operators applied to it."""

    _inner: _orogen.Terrain

    def apply(
        self,
        op: str,
        *,
        id: str | None = None,
        with_: Terrain | None = None,
        mask: str | None = None,
        threads: int | None = None,
        progress: bool = False,
        **params: Any,
    ) -> None:
        """Applies an operator in place; on an error the terrain stays as it was.

        ``id`` names the step, so that the same operator applied twice draws other numbers. ``with_`` is the second
        terrain of operators that combine two. ``mask`` names a layer (0 to 1) that limits where it acts.
        ``threads`` is how many to use; without it, all there are. The result does not depend on it.
        """
        with reporter(progress) as tell:
            self._inner.apply(op, id, None if with_ is None else with_._inner, mask, threads, tell, params)
