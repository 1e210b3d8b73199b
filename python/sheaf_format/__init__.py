"""Independent reader and writer of the multifile format, written from docs/format.md alone.

It shares no code with the library and is used to verify it. Plain Python without dependencies, written for clarity, not speed.

    with Multifile("data.sion") as multifile:
        for piece in multifile.stream(3): ...

    write(MultifileSpec("data.sion", [TaskSpec(chunk=1000, globalrank=0, blocks=[b"abc"])], fsblksize=512))
"""

from .describe import describe, sha256
from .errors import FormatError
from .extensions import verify
from .header import KEYVAL_INLINE, KEYVAL_NONE, KEYVAL_UNSET
from .journal import RecoveredFile
from .keyval import Record
from .multifile import Multifile, Task
from .physical import PhysicalFile
from .writer import ChunkFiller, Kind, MultifileSpec, TaskSpec, cut, encode, fill, write

__all__ = [
    "ChunkFiller", "FormatError", "KEYVAL_INLINE", "KEYVAL_NONE", "KEYVAL_UNSET", "Kind", "Multifile",
    "MultifileSpec", "PhysicalFile", "Record", "RecoveredFile", "Task", "TaskSpec", "cut", "describe", "encode", "fill", "sha256",
    "verify", "write",
]
