"""Errors: each is an ``OrogenError`` and also the built-in exception that Python programs catch."""

from __future__ import annotations


class OrogenError(Exception):
    """What went wrong, in the sentence the command line prints."""


class OrogenValueError(OrogenError, ValueError):
    """The call or the recipe is wrong: an unknown operator, a value out of range, an array of another shape."""


class OrogenKeyError(OrogenError, KeyError):
    """There is no layer of that name."""

    def __str__(self) -> str:
        """The sentence as it is; a ``KeyError`` would put it in quotes."""
        return Exception.__str__(self)


class OrogenFileError(OrogenError, OSError):
    """A file cannot be read or written."""


class OrogenFileNotFoundError(OrogenFileError, FileNotFoundError):
    """There is no such file."""


class OrogenMemoryError(OrogenError, MemoryError):
    """The land would need more memory than is allowed or there is."""


class OrogenBusyError(OrogenError, RuntimeError):
    """Another thread is changing the terrain."""
