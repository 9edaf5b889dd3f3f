"""Peers written here as plain loops and compiled by numba, two threads: what one gets without our tricks."""

from __future__ import annotations

import time

import numba
import numpy as np
from answers import serve
from land import CELL_M, land


@numba.njit(parallel=True, fastmath=True)
def run_drops(height, brush, weights, xs, ys, steps, inertia, capacity, takes, settles):
    """Drops of Beyer's kind: each changes the land at once, with no heed of the others."""
    rows, cols = height.shape
    for drop in numba.prange(len(xs)):
        x, y, dx, dy = xs[drop], ys[drop], 0.0, 0.0
        speed, load = 1.0, 0.0
        for step in range(steps):
            col, row = int(x), int(y)
            fx, fy = x - col, y - row
            a, b = height[row, col], height[row, col + 1]
            c, d = height[row + 1, col], height[row + 1, col + 1]
            gx = (b - a) * (1 - fy) + (d - c) * fy
            gy = (c - a) * (1 - fx) + (d - b) * fx
            here = a * (1 - fx) * (1 - fy) + b * fx * (1 - fy) + c * (1 - fx) * fy + d * fx * fy
            dx, dy = dx * inertia - gx * (1 - inertia), dy * inertia - gy * (1 - inertia)
            length = np.sqrt(dx * dx + dy * dy)
            if length < 1e-9:
                break
            dx, dy = dx / length, dy / length
            x, y = x + dx, y + dy
            if x < 0 or y < 0 or x >= cols - 1 or y >= rows - 1:
                break
            c2, r2 = int(x), int(y)
            ex, ey = x - c2, y - r2
            there = (height[r2, c2] * (1 - ex) + height[r2, c2 + 1] * ex) * (1 - ey) + (
                height[r2 + 1, c2] * (1 - ex) + height[r2 + 1, c2 + 1] * ex
            ) * ey
            fall = here - there
            water = 1.0 - step / steps
            able = max(fall, 0.01) * speed * water * capacity
            if load > able or fall < 0:
                give = min(-fall, load) if fall < 0 else (load - able) * settles
                load -= give
                height[row, col] += give * (1 - fx) * (1 - fy)
                height[row, col + 1] += give * fx * (1 - fy)
                height[row + 1, col] += give * (1 - fx) * fy
                height[row + 1, col + 1] += give * fx * fy
            else:
                take = min((able - load) * takes, fall)
                for i in range(len(weights)):
                    r3, c3 = row + brush[i, 0], col + brush[i, 1]
                    if 0 <= r3 < rows and 0 <= c3 < cols:
                        height[r3, c3] -= take * weights[i]
                load += take
            speed = np.sqrt(max(0.0, speed * speed + fall))


def droplets(samples: str, drops: str, steps: str, radius: str) -> float:
    """Seconds for so many drops of so many steps, with a brush of a radius in cells."""
    numba.set_num_threads(2)
    height = land(int(samples))["height"].astype(np.float32) / CELL_M
    reach = np.arange(-int(radius), int(radius) + 1)
    rows, cols = (part.ravel() for part in np.meshgrid(reach, reach, indexing="ij"))
    weights = np.maximum(0.0, int(radius) - np.hypot(rows, cols))
    brush = np.stack([rows, cols], axis=1)[weights > 0]
    weights = (weights[weights > 0] / weights.sum()).astype(np.float32)
    random = np.random.default_rng(7)
    xs, ys = random.uniform(0, int(samples) - 1.001, (2, int(drops))).astype(np.float32)
    task = (np.int64(int(steps)), np.float32(0.3), np.float32(4.0), np.float32(0.3), np.float32(0.3))
    run_drops(height.copy(), brush, weights, xs[:64], ys[:64], *task)
    start = time.perf_counter()
    run_drops(height, brush, weights, xs, ys, *task)
    return time.perf_counter() - start


serve({"droplets": droplets})
