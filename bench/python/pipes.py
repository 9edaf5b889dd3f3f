"""Equations 10 to 22 of the paper that `erode.pipes` follows, plainly, with numba on two threads."""

from __future__ import annotations

import time

import numba
import numpy as np
from answers import serve

numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))

GRAVITY = np.float32(10.0)
CAPACITY = np.float32(0.1)
TAKES = np.float32(0.002)
DRIES = np.float32(0.1)
DT = np.float32(0.01)
ONE, NOTHING = np.float32(1.0), np.float32(0.0)


@numba.njit(parallel=True, fastmath=False, cache=False)
def flow(b, d, rain, f, g):
    """Rain (10) and the flux out of every cell to the left, right, top and bottom (11 to 13)."""
    rows, cols = b.shape
    for y in numba.prange(rows):
        for x in range(cols):
            here = d[y, x] + DT * rain[y, x]
            level = b[y, x] + here
            out_l = out_r = out_t = out_b = NOTHING
            if x > 0:
                out_l = max(NOTHING, f[0, y, x] + DT * GRAVITY * (level - b[y, x - 1] - d[y, x - 1]))
            if x < cols - 1:
                out_r = max(NOTHING, f[1, y, x] + DT * GRAVITY * (level - b[y, x + 1] - d[y, x + 1]))
            if y > 0:
                out_t = max(NOTHING, f[2, y, x] + DT * GRAVITY * (level - b[y - 1, x] - d[y - 1, x]))
            if y < rows - 1:
                out_b = max(NOTHING, f[3, y, x] + DT * GRAVITY * (level - b[y + 1, x] - d[y + 1, x]))
            total = (out_l + out_r + out_t + out_b) * DT
            share = ONE
            if total > here:
                share = here / total
            g[0, y, x] = out_l * share
            g[1, y, x] = out_r * share
            g[2, y, x] = out_t * share
            g[3, y, x] = out_b * share


@numba.njit(parallel=True, fastmath=False, cache=False)
def erode(b, d, s, rain, g, u, v, b2, d2, s2):
    """Water (14, 15), speed (16), slope (17), capacity (18), erosion and deposition (19, 20), evaporation (22)."""
    rows, cols = b.shape
    low, high, half = np.float32(0.005), np.float32(0.5), np.float32(0.5)
    for y in numba.prange(rows):
        for x in range(cols):
            from_l = g[1, y, x - 1] if x > 0 else NOTHING
            from_r = g[0, y, x + 1] if x < cols - 1 else NOTHING
            from_t = g[3, y - 1, x] if y > 0 else NOTHING
            from_b = g[2, y + 1, x] if y < rows - 1 else NOTHING
            was = d[y, x] + DT * rain[y, x]
            out = g[0, y, x] + g[1, y, x] + g[2, y, x] + g[3, y, x]
            now = was + DT * (from_l + from_r + from_t + from_b - out)
            mean = half * (was + now)
            speed_x = speed_y = NOTHING
            if mean > np.float32(1e-6):
                speed_x = half * (from_l - g[0, y, x] + g[1, y, x] - from_r) / mean
                speed_y = half * (from_t - g[2, y, x] + g[3, y, x] - from_b) / mean
            here = b[y, x]
            slope = NOTHING
            if x > 0:
                slope = max(slope, abs(here - b[y, x - 1]))
            if x < cols - 1:
                slope = max(slope, abs(here - b[y, x + 1]))
            if y > 0:
                slope = max(slope, abs(here - b[y - 1, x]))
            if y < rows - 1:
                slope = max(slope, abs(here - b[y + 1, x]))
            slope = min(max(slope, low), high)
            able = CAPACITY * slope * np.sqrt(speed_x * speed_x + speed_y * speed_y)
            moved = TAKES * (able - s[y, x])
            b2[y, x] = here - moved
            s2[y, x] = s[y, x] + moved
            d2[y, x] = now * (ONE - DRIES * DT)
            u[y, x] = speed_x
            v[y, x] = speed_y


@numba.njit(parallel=True, fastmath=False, cache=False)
def carry(s, u, v, s2):
    """Sediment traced back along the speed (21)."""
    rows, cols = s.shape
    for y in numba.prange(rows):
        for x in range(cols):
            px = min(max(np.float32(x) - u[y, x] * DT, NOTHING), np.float32(cols - 1))
            py = min(max(np.float32(y) - v[y, x] * DT, NOTHING), np.float32(rows - 1))
            x0, y0 = int(px), int(py)
            x1, y1 = min(x0 + 1, cols - 1), min(y0 + 1, rows - 1)
            tx, ty = px - np.float32(x0), py - np.float32(y0)
            top = s[y0, x0] + (s[y0, x1] - s[y0, x0]) * tx
            low = s[y1, x0] + (s[y1, x1] - s[y1, x0]) * tx
            s2[y, x] = top + (low - top) * ty


def numba_pipes(samples: str, steps: str) -> float:
    """Seconds for so many steps, made once before for the compiler."""
    n = int(samples)
    y, x = np.mgrid[0:n, 0:n].astype(np.float32)
    height = 20 * np.sin(x / 70) * np.cos(y / 53) + np.random.default_rng(7).random((n, n), np.float32)
    b, rain = height.astype(np.float32), np.full((n, n), 0.1, np.float32)
    plane = lambda: np.zeros((n, n), np.float32)  # noqa: E731
    d, s, u, v, b2, d2, s2 = (plane() for _ in range(7))
    f, g = np.zeros((4, n, n), np.float32), np.zeros((4, n, n), np.float32)
    seconds = 0.0
    for step in range(int(steps) + 1):
        start = time.perf_counter()
        flow(b, d, rain, f, g)
        erode(b, d, s, rain, g, u, v, b2, d2, s2)
        carry(s2, u, v, s)
        b, b2, d, d2, f, g = b2, b, d2, d, g, f
        if step > 0:
            seconds += time.perf_counter() - start
    if not np.isfinite(b).all():
        raise ValueError("the heights are not numbers")
    return seconds


if __name__ == "__main__":
    serve({"numba_pipes": numba_pipes})
