"""Errors: each is an ``OrogenError`` and also the built-in exception that Python programs catch."""

from __future__ import annotations


class OrogenError(Exception):
    """What went wrong, in a sentence."""


class OrogenValueError(OrogenError, ValueError):
    """The call or the recipe is wrong: an unknown operator, a value out of range, an array of the wrong shape."""


class OrogenKeyError(OrogenError, KeyError):
    """No layer of that name."""

    def __str__(self) -> str:
        """The sentence as it is; a ``KeyError`` would put it in quotes."""
        return Exception.__str__(self)


class OrogenFileError(OrogenError, OSError):
    """A file cannot be read or written."""


class OrogenFileNotFoundError(OrogenFileError, FileNotFoundError):
    """No such file."""


class OrogenMemoryError(OrogenError, MemoryError):
    """The land would need more memory than allowed or available."""


class OrogenBusyError(OrogenError, RuntimeError):
    """Another thread is changing the terrain."""
