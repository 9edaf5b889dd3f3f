"""Peers that wear land down by rivers, each imported when it is first asked for."""

from __future__ import annotations

import time

import numpy as np
from answers import serve
from land import CELL_M, land

# As `ours.py` sets them: metres a year at slope 1 where 1 m2 is drained, and years.
INCISION = 3e-6
STEP_YR = 1e4


def fastscapelib(samples: str, steps: str) -> float:
    """Seconds for a step: ways, depressions by a minimum spanning tree, areas and incision."""
    import fastscapelib as fs

    height = land(int(samples))["height"].astype(np.float64)
    grid = fs.RasterGrid(height.shape, [CELL_M, CELL_M], fs.NodeStatus.FIXED_VALUE)
    flow = fs.FlowGraph(grid, [fs.SingleFlowRouter(), fs.MSTSinkResolver()])
    eroder = fs.SPLEroder(flow, INCISION, 0.5, 1.0)
    start = time.perf_counter()
    for _ in range(int(steps)):
        flow.update_routes(height)
        height -= eroder.erode(height, flow.accumulate(1.0), STEP_YR)
    return (time.perf_counter() - start) / int(steps)


def landlab(samples: str, steps: str) -> float:
    """Seconds for a step: ways, areas and incision; pits stay pits."""
    from landlab import RasterModelGrid
    from landlab.components import FastscapeEroder, FlowAccumulator

    grid = RasterModelGrid((int(samples), int(samples)), xy_spacing=CELL_M)
    grid.add_field("topographic__elevation", land(int(samples))["height"].astype(np.float64).ravel(), at="node")
    flow = FlowAccumulator(grid, flow_director="FlowDirectorD8")
    eroder = FastscapeEroder(grid, K_sp=INCISION, m_sp=0.5, n_sp=1.0)
    flow.run_one_step()
    start = time.perf_counter()
    for _ in range(int(steps)):
        flow.run_one_step()
        eroder.run_one_step(STEP_YR)
    return (time.perf_counter() - start) / int(steps)


serve({"fastscapelib": fastscapelib, "landlab": landlab})
