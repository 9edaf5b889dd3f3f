"""Orogen through its Python package."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from answers import serve
from land import CELL_M, islands, land

import orogen


def timed(samples: int, op: str, threads: str, **params: Any) -> float:
    """Seconds from nothing to an array of heights."""
    start = time.perf_counter()
    terrain = orogen.Terrain.flat(samples=samples, size_m=float(samples - 1), seed="7")
    terrain.apply(op, threads=int(threads), **params)
    height = terrain["height"]
    seconds = time.perf_counter() - start
    if height.shape != (samples, samples):
        raise ValueError(f"found heights of shape {height.shape}")
    return seconds


def noise(basis: str, wavelength: str, threads: str) -> float:
    return timed(4096, "source.noise", threads, basis=basis, octaves=8, hurst=0.9, wavelength_m=float(wavelength))


def bent_noise(basis: str, kind: str, threads: str) -> float:
    bends = {"warped": {"warp_m": 50.0, "warp_wavelength_m": 1024.0}, "turned": {"stretch": 2.0, "rotation_deg": 30.0}}
    return timed(4096, "source.noise", threads, basis=basis, octaves=8, wavelength_m=1024.0, **bends[kind])


def diamond_square(samples: str, threads: str) -> float:
    return timed(int(samples), "source.diamond_square", threads)


def faults(samples: str, count: str, profile: str, threads: str) -> float:
    side = int(samples) - 1
    return timed(int(samples), "source.faults", threads, faults=int(count), profile=profile, width_m=side / 50)


def survey(op: str, samples: str, **params: Any) -> float:
    """Seconds of a survey operator on land that is there already."""
    terrain = land(int(samples)).copy()
    start = time.perf_counter()
    terrain.apply(op, **params)
    return time.perf_counter() - start


# What keeps long operators short, and rock the same however far it goes, where their growth alone is asked for.
BRIEF: dict[str, dict[str, Any]] = {
    "erode.coast": {"duration_yr": 150.0, "variety": 0.0},
    "erode.droplets": {"drops_per_km2": 100.0, "travel_m": 500.0},
    "erode.musgrave": {"travel_m": 150.0},
    "erode.stream_power": {"coarse_first": False, "steps": 4},
    "erode.wind": {"duration_yr": 2.0},
}


def brief(op: str, samples: str) -> float:
    """Seconds of an operator, made short, on the same island again and again."""
    terrain = islands(int(samples)).copy()
    start = time.perf_counter()
    terrain.apply(op, **BRIEF.get(op, {}))
    return time.perf_counter() - start


def contours(interval: str, samples: str) -> float:
    return survey("survey.contours", samples, interval_m=float(interval))


def viewshed(samples: str) -> float:
    terrain = land(int(samples))
    middle = (int(samples) // 2) * CELL_M
    start = time.perf_counter()
    terrain.viewshed((middle, (int(samples) - 1) * CELL_M - middle), curvature=0.0)
    return time.perf_counter() - start


def hydrology(samples: str) -> float:
    """Filling, D8 directions and accumulation: one step, as the areas need the other two anyway."""
    return survey("water.flow", samples, fill=True, sea=False)


def fill(samples: str) -> float:
    return survey("water.fill", samples, sea=False)


def storm(samples: str, steps: int) -> tuple[float, float]:
    """Seconds and steps of a storm of at least so many steps: 2.25 s each, shorter where water outruns 2 m/s."""
    terrain = land(int(samples)).copy()
    rain = {"rain_mm_per_h": 100.0, "roughness": 10.0, "duration_s": 2.25 * steps, "runoff_s": 0.0, "sea": False}
    start = time.perf_counter()
    terrain.apply("erode.pipes", threads=2, **rain)
    return time.perf_counter() - start, terrain.steps[-1].figures["steps"]


def pipes(samples: str, steps: str) -> float:
    """Seconds for so many steps of a storm."""
    seconds, taken = storm(samples, int(steps))
    return seconds * int(steps) / taken


def more_pipes(samples: str, steps: str) -> float:
    """Seconds for so many steps more, without what comes before the first and after the last."""
    short, few = storm(samples, int(steps))
    long, many = storm(samples, 2 * int(steps))
    return (long - short) * int(steps) / (many - few)


def stream_power(samples: str, steps: str) -> float:
    """Seconds for a step of what peers do: ways, depressions, areas and incision, all on the finest lattice."""
    bare = {"coarse_first": False, "creep_m2_per_yr": 0.0, "talus_deg": 90.0, "variety": 0.0, "sea": False}
    rivers = {"uplift_mm_per_yr": 0.0, "incision_mm_per_yr": 3.0, "hollow_m2": 0.0, "beyond_m": 0.0}
    time_yr = 1e4 * int(steps)
    return survey("erode.stream_power", samples, threads=2, steps=int(steps), duration_yr=time_yr, **bare, **rivers) / int(steps)


def tin(method: str, samples: str) -> float:
    terrain = land(int(samples))
    start = time.perf_counter()
    terrain.tin(max_error_m=1.0, method=method)
    return time.perf_counter() - start


def triangles(samples: str) -> float:
    return float(len(land(int(samples)).tin(max_error_m=1.0).triangles))


def droplets(samples: str, drops: str, steps: str, radius: str) -> float:
    """Seconds for so many drops of so many steps, which work a radius in cells to either side."""
    terrain = land(int(samples)).copy()
    area_km2 = ((int(samples) - 1) * CELL_M / 1000.0) ** 2
    start = time.perf_counter()
    terrain.apply(
        "erode.droplets",
        threads=2,
        drops_per_km2=float(drops) / area_km2,
        travel_m=int(steps) * CELL_M,
        radius_m=int(radius) * CELL_M,
        rounds=10,
    )
    return time.perf_counter() - start


def per_sample(question: str, *arguments: str) -> float:
    """Seconds a million samples of a question whose last argument is the number of samples a side."""
    return QUESTIONS[question](*arguments) / (int(arguments[-1]) ** 2 / 1e6)


def memory(*task: str) -> float:
    """The most bytes held at once while a source runs, in a process of its own."""
    script = Path(__file__).with_name("memory.py")
    return float(subprocess.run([sys.executable, script, *task], capture_output=True, check=True, text=True).stdout)


QUESTIONS: dict[str, Callable[..., float]] = {
    "noise": noise,
    "bent_noise": bent_noise,
    "diamond_square": diamond_square,
    "faults": faults,
    "droplets": droplets,
    "memory": memory,
    "brief": brief,
    "per_sample": per_sample,
    "survey": survey,
    "contours": contours,
    "hydrology": hydrology,
    "fill": fill,
    "viewshed": viewshed,
    "pipes": pipes,
    "more_pipes": more_pipes,
    "stream_power": stream_power,
    "tin": tin,
    "triangles": triangles,
}

serve(QUESTIONS)
