"""Questions and answers, one per line: what every peer in Python speaks with ``cargo xtask bench --peers``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def serve(questions: dict[str, Callable[..., float]]) -> None:
    """Answers ``name argument argument ...`` by ``ok NUMBER``, or by ``no SENTENCE`` when that fails."""
    # Peers that talk do so elsewhere: only answers go out.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        name, *arguments = line.split()
        try:
            answer = f"ok {questions[name](*arguments)!r}"
        except Exception as error:  # noqa: BLE001 - whatever a peer raises becomes a sentence
            answer = "no " + " ".join(f"{type(error).__name__}: {error}".split())
        print(answer, file=answers, flush=True)
