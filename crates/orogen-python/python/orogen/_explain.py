"""Why a place is as it is."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """A factor of what was found."""

    name: str
    """What was measured."""
    value: float | None
    """Its value there; none where the land has no such layer."""
    unit: str
    """Its unit; empty for plain numbers."""
    weight: float | None
    """How much it weighs, from 0 to 1, where it is a weight."""
    says: str
    """The rule that weighs it, or what it does, in words."""


@dataclass(frozen=True)
class Reason:
    """One thing that was found at a place."""

    of: str
    """What it is about: "temperature", "biome", "material grass", "oak"."""
    found: str
    """What was found, in words."""
    because: list[Cause]
    """What led to it."""


@dataclass(frozen=True)
class Explanation:
    """What is known of a place, and why; as text it reads as ``orogen explain`` prints it."""

    place_m: tuple[float, float]
    """Metres to the east and to the north."""
    height_m: float | None
    """Height there; none in a hole."""
    reasons: list[Reason]
    """What was found, in the order of the steps."""
    text: str
    """All of it as lines of text."""

    def __str__(self) -> str:
        return self.text

    @staticmethod
    def _of(found: str, text: str) -> Explanation:
        known = json.loads(found)
        reasons = [
            Reason(reason["of"], reason["found"], [Cause(**cause) for cause in reason["because"]])
            for reason in known["reasons"]
        ]
        east, north = known["place_m"]
        return Explanation((east, north), known["height_m"], reasons, text)
