"""Progress of long calls on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[str, float], None]


@contextmanager
def reporter(wanted: bool) -> Iterator[Tell | None]:
    """A function that shows how far a call is, with the time left; ``None`` when nobody asked."""
    if not wanted:
        yield None
        return
    step, start, wrote = "", time.monotonic(), False

    def tell(label: str, share: float) -> None:
        nonlocal step, start, wrote
        now = time.monotonic()
        if label != step:
            step, start = label, now
        elapsed = now - start
        left = f"{elapsed * (1.0 - share) / share:4.0f} s left" if share > 0.01 and elapsed > 0.5 else ""
        sys.stderr.write(f"\r\x1b[K{label} {share:4.0%} {left}")
        sys.stderr.flush()
        wrote = True

    try:
        yield tell
    finally:
        if wrote:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
