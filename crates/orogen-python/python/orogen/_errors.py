"""Errors: each is an ``OrogenError`` and also the built-in exception that Python programs catch."""

from __future__ import annotations

MOST_LINES = 24
"""Lines of a message: a screenful."""
LONGEST_LINE = 400
"""Characters of a line of a message."""


def cut(text: str) -> str:
    """The first lines of a message, and the first characters of each: names and values in it may be of any length."""
    lines = text.splitlines()
    shown = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..." for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"... and {len(lines) - MOST_LINES} more lines")
    return "\n".join(shown)


class OrogenError(Exception):
    """What went wrong, in a sentence."""

    def __init__(self, *args: object) -> None:
        # The sentence comes first, or after the number of an ``OSError``; the name of a file is kept whole.
        short = [cut(arg) if isinstance(arg, str) else arg for arg in args[:2]]
        super().__init__(*short, *args[2:])


class OrogenValueError(OrogenError, ValueError):
    """The call or the recipe is wrong: an unknown operator, a value out of range, an array of the wrong shape."""


class OrogenKeyError(OrogenError, KeyError):
    """No layer of that name."""

    def __str__(self) -> str:
        """The sentence as it is; a ``KeyError`` would put it in quotes."""
        return Exception.__str__(self)


class OrogenFileError(OrogenError, OSError):
    """A file cannot be read or written; ``filename`` is its path, ``errno`` the number of the system's error, if any."""

    def __str__(self) -> str:
        """The sentence alone; an ``OSError`` would put its number before it and the path after it."""
        return Exception.__str__(self) if self.strerror is None else str(self.strerror)


class OrogenFileNotFoundError(OrogenFileError, FileNotFoundError):
    """No such file."""


class OrogenMemoryError(OrogenError, MemoryError):
    """The land would need more memory than allowed or available."""


class OrogenBusyError(OrogenError, RuntimeError):
    """Another thread is changing the terrain."""
