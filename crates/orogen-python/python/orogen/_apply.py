"""``Terrain.apply``: every operator of the catalogue through one call. Its types are generated (``_apply.pyi``)."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, SupportsIndex

from orogen import _orogen
from orogen._errors import OrogenValueError
from orogen._numbers import shown, text_of, whole
from orogen._progress import Progress, reporter
from orogen._steps import Step

if TYPE_CHECKING:
    from orogen._terrain import Terrain


class Applies:
    """Something that operators can be applied to."""

    _inner: _orogen.Terrain
    _steps: list[Step]

    def apply(
        self,
        op: str,
        *,
        id: str | None = None,
        with_: Terrain | None = None,
        mask: str | None = None,
        threads: SupportsIndex | None = None,
        progress: Progress = False,
        **params: Any,
    ) -> None:
        """Applies an operator in place; on an error the terrain stays as it was.

        ``id`` names the step, so that the same operator applied twice draws other numbers. ``with_`` is the second
        terrain of operators that combine two. ``mask`` names a layer (0 to 1) that limits where it acts.
        ``threads`` is how many to use; by default all. The result does not depend on it.
        ``progress`` shows progress, or is a function of the name of the operator and the share done.

        The operators and their parameters (``print(orogen.describe("erode.thermal"))`` shows one in full):

        """
        count = None if threads is None else whole("threads", threads)
        name, layer = None if id is None else text_of("id", id), None if mask is None else text_of("mask", mask)
        if with_ is not None and not isinstance(with_, Applies):
            raise OrogenValueError(f"with_: {shown(with_)} is not a terrain")
        second = None if with_ is None else with_._inner
        with reporter(progress) as tell:
            step = self._inner.apply(text_of("op", op), name, second, layer, count, tell, params)
        self._steps.append(Step._of(step))


# Where Python drops docstrings (-OO) there is nothing to add to.
if Applies.apply.__doc__:
    Applies.apply.__doc__ = inspect.cleandoc(Applies.apply.__doc__) + "\n\n" + _orogen.operators_text()
