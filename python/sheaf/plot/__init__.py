"""Plots of multifiles and of measurements: ``sheaf plot``, and the same as functions. Needs matplotlib.

>>> import sheaf, sheaf.plot, tempfile
>>> directory = tempfile.mkdtemp()
>>> with sheaf.open(directory + "/a.sion", "w", tasks=4) as f:
...     sizes = [stream.write(bytes(1000 * stream.task)) for stream in f]
>>> layout = sheaf.plot.survey(directory + "/a.sion")
>>> sheaf.plot.draw(layout).savefig(directory + "/a.png")
"""

from __future__ import annotations

from .bandwidth import draw_bandwidths
from .page import write_page
from .pictures import draw
from .survey import Damage, Layout, survey

__all__ = ["survey", "draw", "write_page", "draw_bandwidths", "Layout", "Damage"]
