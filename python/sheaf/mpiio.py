"""MPI-IO of mpi4py through Sheaf's drop-in (docs/api-mpiio.md), without changes to the environment of the
program:

    import sheaf.mpiio
    sheaf.mpiio.enable()          # before mpi4py.MPI is imported
    from mpi4py import MPI

``MPI.File`` then uses the drop-in, under Open MPI, MPICH and their derivatives.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import List, Optional

from ._library import PARTS, available, library
from .errors import UnsupportedError

NAME = "libsheaf_mpiio.so"
_enabled: List[ctypes.CDLL] = []


def find() -> Optional[str]:
    """Returns the path of the drop-in: ``SHEAF_DROP_IN`` (a file), or beside the library in use or that of
    a source tree."""
    told = os.environ.get("SHEAF_DROP_IN")
    places = [told] if told else []
    if available():
        places.append(os.path.join(library().directory, NAME))
    places.append(str(PARTS.parent.parent / "build" / "lib" / NAME))
    return next((place for place in places if place and os.path.exists(place)), None)


def enabled() -> bool:
    """Returns whether this process uses the drop-in, through :func:`enable` or ``LD_PRELOAD``."""
    if _enabled:
        return True
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return any(f"/{NAME}" in line for line in maps)


def enable() -> str:
    """Makes ``MPI.File`` of mpi4py use the drop-in in this process, and returns its path. Must be called
    before mpi4py.MPI is imported, because that binds the calls; otherwise raises an error."""
    path = find()
    if path is None:
        raise UnsupportedError(
            f"the drop-in {NAME} is not here: it belongs to an installation of Sheaf with MPI; set SHEAF_DROP_IN to "
            "where it is"
        )
    if not enabled():
        if "mpi4py.MPI" in sys.modules:
            raise UnsupportedError(
                "mpi4py.MPI has been imported already: call sheaf.mpiio.enable() before, or start the program "
                f"with LD_PRELOAD={path}",
                path=path,
            )
        _enabled.append(ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL))
    return path
