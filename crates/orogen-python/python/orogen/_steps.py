"""What was done to a terrain."""

from __future__ import annotations

from dataclasses import dataclass

StepTuple = tuple[str, str, float, bool, list[str], list[tuple[str, float, str]]]
"""A step as the compiled part gives it; the last are its figures: name, value, unit."""


@dataclass(frozen=True)
class Step:
    """One operator that was applied."""

    id: str
    """Name of the step."""
    op: str
    """The operator."""
    seconds: float
    """How long it took."""
    cached: bool
    """Whether its result came from the cache."""
    warnings: list[str]
    """Warnings."""
    figures: dict[str, float]
    """What the operator measured of its own work, by name, such as a mass balance."""
    units: dict[str, str]
    """Units of the figures; empty for plain numbers."""

    @staticmethod
    def _of(step: StepTuple) -> Step:
        id, op, seconds, cached, warnings, figures = step
        values = {name: value for name, value, _ in figures}
        return Step(id, op, seconds, cached, warnings, values, {name: unit for name, _, unit in figures})
