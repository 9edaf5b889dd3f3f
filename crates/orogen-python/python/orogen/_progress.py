"""Progress of long calls on standard error: tqdm's bar in notebooks and terminals; plain lines elsewhere or without tqdm."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Tell = Callable[[str, float], None]
Progress = bool | Tell
"""``True`` shows progress, a function is called with the name of the step and the share done of it."""


@contextmanager
def reporter(wanted: Progress) -> Iterator[Tell | None]:
    """A function that shows how far a call is; ``None`` when not wanted."""
    if not wanted:
        yield None
        return
    shown = _Call(wanted) if callable(wanted) else _shown()
    try:
        yield shown.tell
    except BaseException:
        shown.close(done=False)
        raise
    shown.close(done=True)


def _shown() -> _Bar | _Lines:
    """What fits where we are."""
    tqdm = _tqdm()
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if tqdm is not None and (terminal or _in_notebook()):
        return _Bar(tqdm)
    return _Lines()


def _tqdm() -> Any:
    """The bar that fits where we are (``pip install orogen[progress]``), if it is installed."""
    try:
        return importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class _Call:
    """A function of the caller's; it also hears that the last step is done."""

    def __init__(self, function: Tell) -> None:
        self.function, self.step, self.share = function, "", 1.0

    def tell(self, label: str, share: float) -> None:
        self.step, self.share = label, share
        self.function(label, share)

    def close(self, done: bool) -> None:
        if done and self.share < 1.0:
            self.function(self.step, 1.0)


class _Bar:
    """A bar of tqdm for each step."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm, self.bar, self.step = tqdm, None, ""

    def tell(self, label: str, share: float) -> None:
        if self.bar is None or label != self.step:
            self.close(done=True)
            self.step = label
            form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
            self.bar = self.tqdm(total=1.0, desc=label, bar_format=form, leave=True, file=sys.stderr, dynamic_ncols=True)
        bar: Any = self.bar
        bar.n = share
        bar.refresh()

    def close(self, done: bool) -> None:
        bar: Any = self.bar
        if bar is not None:
            if done:
                bar.n = 1.0
                bar.refresh()
            bar.close()
            self.bar = None


class _Lines:
    """One line for each step, without control characters."""

    def __init__(self) -> None:
        self.step: str | None = None

    def tell(self, label: str, share: float) -> None:
        if label != self.step and sys.stderr is not None:
            self.step = label
            sys.stderr.write(f"{label}\n")
            sys.stderr.flush()

    def close(self, done: bool) -> None:
        pass
