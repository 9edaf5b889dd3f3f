"""Progress of long calls on standard error: a bar in notebooks and terminals, plain lines elsewhere."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Tell = Callable[[str, float], None]
Progress = bool | Tell
"""``True`` shows progress, a function is called with the name of the step and the share done of it."""


@contextmanager
def reporter(wanted: Progress) -> Iterator[Tell | None]:
    """A function that shows how far a call is; ``None`` when not wanted."""
    if callable(wanted):
        yield wanted
    elif not wanted:
        yield None
    else:
        shown: _Bar | _Line | _Lines
        tqdm = _tqdm()
        terminal = sys.stderr is not None and sys.stderr.isatty()
        if tqdm is not None and (terminal or _in_notebook()):
            shown = _Bar(tqdm)
        else:
            shown = _Line() if terminal else _Lines()
        try:
            yield shown.tell
        finally:
            shown.close()


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


class _Bar:
    """A bar of tqdm for each step."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm, self.bar, self.step = tqdm, None, ""

    def tell(self, label: str, share: float) -> None:
        if self.bar is None or label != self.step:
            self._end()
            self.step = label
            form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
            self.bar = self.tqdm(total=1.0, desc=label, bar_format=form, leave=True, file=sys.stderr)
        bar: Any = self.bar
        bar.n = share
        bar.refresh()

    def _end(self) -> None:
        if self.bar is not None:
            self.bar.n = 1.0
            self.bar.refresh()
            self.bar.close()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class _Line:
    """One line that is written over and over, in a terminal."""

    def __init__(self) -> None:
        self.step, self.start, self.wrote = "", time.monotonic(), False

    def tell(self, label: str, share: float) -> None:
        now = time.monotonic()
        if label != self.step:
            self.step, self.start = label, now
        elapsed = now - self.start
        left = f"{elapsed * (1.0 - share) / share:4.0f} s left" if share > 0.01 and elapsed > 0.5 else ""
        sys.stderr.write(f"\r\x1b[K{label} {share:4.0%} {left}")
        sys.stderr.flush()
        self.wrote = True

    def close(self) -> None:
        if self.wrote:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class _Lines:
    """One line for each step, in a file or a log: no control characters."""

    def __init__(self) -> None:
        self.step: str | None = None

    def tell(self, label: str, share: float) -> None:
        if label != self.step and sys.stderr is not None:
            self.step = label
            sys.stderr.write(f"{label}\n")
            sys.stderr.flush()

    def close(self) -> None:
        pass
