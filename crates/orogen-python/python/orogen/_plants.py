"""Plants as arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt

from orogen import _orogen
from orogen._numbers import number, path_of, seed_of, text_of, whole

# One by one: the checker of stubs knows no list of words.
Season = Literal["spring"] | Literal["summer"] | Literal["autumn"] | Literal["winter"]


@dataclass(frozen=True, eq=False)
class PlantPart:
    """Triangles of bark or of leaves: metres, z up."""

    #: Places of the corners, n x 3.
    vertices: npt.NDArray[np.float32]
    #: Unit normals, n x 3.
    normals: npt.NDArray[np.float32]
    #: Places on the texture, n x 2.
    uvs: npt.NDArray[np.float32]
    #: Corners of the triangles, m x 3, counter-clockwise from outside.
    indices: npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Stems as lines of nodes with radii."""

    #: Places of the nodes, n x 3; those of a stem in a row from its foot.
    nodes: npt.NDArray[np.float32]
    #: Radius at each node.
    radii_m: npt.NDArray[np.float32]
    #: First node of each stem, and how many it has.
    stems: npt.NDArray[np.uint32]
    #: The stem that each stands on; -1 for trunks.
    parents: npt.NDArray[np.int64]
    #: 0 for trunks, 1 for their branches and so on.
    levels: npt.NDArray[np.uint8]
    #: Where leaves stand, k x 3.
    leaves: npt.NDArray[np.float32]


class Plant:
    """A plant that has grown."""

    def __init__(self, inner: _orogen.Plant, name: str, lod: int | None) -> None:
        self._inner = inner
        self._lod = lod
        #: The name of its species.
        self.species = name
        bark, leaves = inner.mesh(lod)
        #: Trunk, branches and twigs.
        self.bark = PlantPart(**bark)
        #: Leaves, as cards with textures that are cut out.
        self.leaves = PlantPart(**leaves)
        #: What it was made from.
        self.skeleton = Skeleton(**inner.skeleton())

    @property
    def height_m(self) -> float:
        """Height of its highest twig."""
        return float(self._inner.height_m())

    @property
    def vertices(self) -> npt.NDArray[np.float32]:
        """Corners of bark, then of leaves."""
        return np.concatenate([self.bark.vertices, self.leaves.vertices])

    @property
    def normals(self) -> npt.NDArray[np.float32]:
        """Their normals."""
        return np.concatenate([self.bark.normals, self.leaves.normals])

    @property
    def uvs(self) -> npt.NDArray[np.float32]:
        """Their places on the textures."""
        return np.concatenate([self.bark.uvs, self.leaves.uvs])

    @property
    def indices(self) -> npt.NDArray[np.uint32]:
        """Triangles over all of them."""
        shifted = self.leaves.indices + np.uint32(len(self.bark.vertices))
        return np.concatenate([self.bark.indices, shifted])

    def glb(self, *, levels: bool = False) -> bytes:
        """A glb file with textures inside; with ``levels`` all levels of detail in one (``MSFT_lod``)."""
        return self._inner.glb(self._lod, bool(levels))

    def save(self, path: str | os.PathLike[str], *, levels: bool = False) -> None:
        """Writes ``glb()`` to a file, which must not exist."""
        with open(path_of(path), "xb") as file:
            file.write(self.glb(levels=levels))

    def __repr__(self) -> str:
        triangles = len(self.bark.indices) + len(self.leaves.indices)
        return f"<orogen.Plant {self.species}, {self.height_m:.1f} m, {triangles} triangles>"


def plant(
    species: str | os.PathLike[str],
    *,
    seed: str | int = "orogen",
    age: SupportsFloat = 0.5,
    vigour: SupportsFloat = 1.0,
    season: Season = "summer",
    lod: SupportsIndex | None = 0,
) -> Plant:
    """Grows a plant: ``orogen.plant("oak", seed=3)``.

    ``age`` is the share of its life that has gone by (0.06 a sapling, 0.5 in its prime, 0.95 old), ``vigour`` runs from 0
    (dead) to 1. A species of your own is a file, by a path that ends in ``.toml``, or in ``.xml`` as Arbaro writes it. ``lod`` is the level of detail, 0 (about 60,000 triangles) to 3 (about 800); ``None`` gives every leaf.
    """
    name = path_of(species) if isinstance(species, os.PathLike) else text_of("species", species)
    inner = _orogen.plant(
        name,
        seed=seed_of(seed),
        age=number("age", age),
        vigour=number("vigour", vigour),
        season=text_of("season", season),
    )
    return Plant(inner, name, None if lod is None else whole("lod", lod))


def plants() -> list[str]:
    """Names of all species."""
    return _orogen.plant_names()
