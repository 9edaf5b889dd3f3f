"""Questions and answers, one per line: what every peer in Python speaks with ``cargo xtask bench --peers``."""

from __future__ import annotations

import sys
from collections.abc import Callable


def serve(questions: dict[str, Callable[..., float]]) -> None:
    """Answers ``name argument argument ...`` by ``ok NUMBER``, or by ``no SENTENCE`` when that fails."""
    for line in sys.stdin:
        name, *arguments = line.split()
        try:
            answer = f"ok {questions[name](*arguments)!r}"
        except Exception as error:  # noqa: BLE001 - whatever a peer raises becomes a sentence
            answer = "no " + " ".join(f"{type(error).__name__}: {error}".split())
        print(answer, flush=True)
