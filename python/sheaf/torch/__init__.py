"""Checkpoints of PyTorch (``torch.distributed.checkpoint``) as one multifile instead of one file per rank.

import torch.distributed.checkpoint as dcp
from sheaf.torch import SheafReader, SheafWriter

dcp.save(state, storage_writer=SheafWriter("step-100.sion"))
dcp.load(state, storage_reader=SheafReader("step-100.sion"))
"""

from __future__ import annotations

from .reader import SheafReader
from .writer import SheafWriter

__all__ = ["SheafWriter", "SheafReader"]
