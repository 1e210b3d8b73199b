"""SheafWriter: writes a checkpoint as one multifile, in which every rank writes its own part."""

from __future__ import annotations

import os
import secrets
import zlib
from typing import Any, Dict, List, Optional, Union

from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner
from torch.distributed.checkpoint.storage import StorageWriter, WriteResult
from torch.futures import Future

from .._library import library
from ..background import wait_if_pending
from ..checkpoint import INDEX_TASK, Index, Place
from ..errors import Error, InvalidArgumentError
from ..parallel import Opener
from ..tasks_of_process import MappedWriter
from ..words import words_of
from ..writer import serial_writer
from .group import TorchGroup
from .layout import StreamLayout, buffers_of, lay_out
from .metadata import index_of

Path = Union[str, "os.PathLike[str]"]

_INDEX_ROOM = 1 << 16  # bytes for an index of unknown length; a longer one needs a second chunk
_ROOM_OF_AN_ITEM = 512


class SheafWriter(StorageWriter):
    """Writes a checkpoint to the multifile ``path``.

    The checkpoint appears under its name, and replaces an existing one, when it is complete. Until then it
    has a temporary name (``sheaf leftovers``).

    - ``process_group``: must be the group passed to the save, if any; it has to transfer CPU tensors.
      ``no_dist``: as in the save.
    - ``durable``: a save returns when the checkpoint would survive a power failure.
    - ``overwrite`` False: an existing checkpoint is an error.
    - ``compress``: "zstd", "zstd:LEVEL", "gzip", "gzip:LEVEL" or "lz4".
    - ``words``: further words of the open mode (docs/api-sion.md).

    Reuse the writer for several saves: while plans and sizes stay the same, ranks do not send them again."""

    def __init__(
        self,
        path: Path,
        *,
        process_group: Any = None,
        no_dist: bool = False,
        durable: bool = True,
        checksums: bool = True,
        overwrite: bool = True,
        compress: Optional[str] = None,
        words: str = "",
    ) -> None:
        super().__init__()
        self.path = os.fspath(path)
        self.durable = durable
        self.overwrite = overwrite
        self._words = words_of(
            checksums=checksums, journal=False, durable=durable, compress=compress, words=words
        )
        self._process_group = process_group
        self._no_dist = no_dist
        self._forget()
        self.reset()

    def _forget(self) -> None:
        self._sent: "Dict[MetadataIndex, Place]" = {}  # sent by this rank to the coordinator
        self._generation = (
            0  # number of the save that sent it; unless equal on all ranks, everything is sent again
        )
        self._known: "List[Dict[MetadataIndex, Place]]" = []  # at the coordinator: received from all ranks
        self._body = ""  # of the index of `_metadata`
        self._metadata: Optional[Metadata] = None

    def __getstate__(self) -> Dict[str, Any]:
        """Used for savers in another process: they communicate over their own process group and start
        without state."""
        state = dict(self.__dict__, _process_group=None, _group=None)
        state.update(_sent={}, _generation=0, _known=[], _body="", _metadata=None)
        return state

    def reset(self, checkpoint_id: Optional[Path] = None) -> None:
        """Starts a save. ``checkpoint_id``: path of its multifile; None: unchanged."""
        if checkpoint_id:
            self.path = os.fspath(checkpoint_id)
        self.save_id = secrets.token_hex(8)
        self._coordinator = True
        self._target = self.path
        self._temporary: Optional[str] = None
        self._index_room = _INDEX_ROOM
        self._told_all = True
        self._group: Optional[TorchGroup] = None

    @property
    def checkpoint_id(self) -> str:
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Path) -> bool:
        """Returns whether this is a path of a file in a directory that exists or can be created."""
        name = os.fspath(checkpoint_id)
        if not isinstance(name, str) or not name or "://" in name or os.path.isdir(name):
            return False
        above = os.path.dirname(os.path.abspath(name))
        while not os.path.exists(above):
            above = os.path.dirname(above)
        return os.path.isdir(above) and os.access(above, os.W_OK)

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(checkpoint_id=self.path, save_id=self.save_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """``use_collectives`` False: every rank writes its own checkpoint, to ``path_of_rank(path,
        rank)``."""
        together = bool(kwargs.get("use_collectives", True))
        self._coordinator = is_coordinator or not together
        self._target = self.path if together else path_of_rank(self.path, int(kwargs["rank"]))
        self._group = TorchGroup(self._process_group, alone=self._no_dist or not together)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        if os.path.isdir(self._target):
            raise InvalidArgumentError(
                f"'{self._target}' is a directory; a checkpoint is a file", path=self._target
            )
        if not self.overwrite and os.path.exists(self._target):
            raise InvalidArgumentError(
                f"'{self._target}' exists already, and overwrite is False", path=self._target
            )
        os.makedirs(os.path.dirname(os.path.abspath(self._target)), exist_ok=True)
        return plan

    def prepare_global_plan(self, plans: List[SavePlan]) -> List[SavePlan]:
        items = sum(len(plan.items) for plan in plans)
        self._index_room = max(
            _INDEX_ROOM, items * _ROOM_OF_AN_ITEM, len(self._body) + _ROOM_OF_AN_ITEM
        )
        return plans

    # --- writing ----------------------------------------------------------------------------------

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> "Future[List[WriteResult]]":
        """Writes the data of this rank. Collective. The result lists only items with a location that
        differs from the previous save."""
        group = (
            self._group
            if self._group is not None
            else TorchGroup(self._process_group, alone=self._no_dist)
        )
        layout, problem = StreamLayout(), None
        try:
            library("saving a checkpoint")
            layout = lay_out(plan, planner, 1 + group.rank)
        except Exception as error:
            problem = error
        token = self._agree(group, layout, problem)
        temporary = f"{self._target}.sheaf-tmp.{token:016x}"
        self._write(group, temporary, layout, planner)
        self._temporary = temporary
        places = layout.places
        told = (
            places
            if self._told_all
            else {index: place for index, place in places.items() if self._sent[index] != place}
        )
        self._sent, self._generation = places, token
        future: "Future[List[WriteResult]]" = Future()
        future.set_result([WriteResult(index, place.bytes, place) for index, place in told.items()])
        return future

    def _agree(self, group: TorchGroup, layout: StreamLayout, problem: Optional[Exception]) -> int:
        """Returns the coordinator's number of this save. Checks that all ranks can continue, with the same
        file and with the information sent in an earlier save."""
        same = layout.places.keys() == self._sent.keys()
        generation = self._generation if same else 0
        path = zlib.crc32(os.path.basename(self._target).encode("utf-8", "surrogateescape"))
        token = secrets.randbits(62) | 1 if self._coordinator else 0
        failed, number, newest, oldest, path_high, path_low, coordinators = group.largest(
            [
                int(problem is not None),
                token,
                generation,
                -generation,
                path,
                -path,
                1 + group.rank if self._coordinator else 0,
            ]
        )
        if problem is not None:
            raise problem
        if failed:
            raise Error(
                f"'{self._target}': another rank could not prepare the save", path=self._target
            )
        if path_high != -path_low:
            raise InvalidArgumentError(
                f"'{self._target}': other ranks save into another file", path=self._target
            )
        if not coordinators:
            raise InvalidArgumentError(
                f"'{self._target}': no rank coordinates the save: its process group is another one than that "
                "of the writer (process_group, no_dist)",
                path=self._target,
            )
        self._told_all = not (newest == -oldest and generation != 0)
        return number

    def _write(
        self, group: TorchGroup, temporary: str, layout: StreamLayout, planner: SavePlanner
    ) -> None:
        """Writes and closes on all ranks. If one fails, all fail and no file remains."""
        tasks, sizes = [1 + group.rank], [max(layout.bytes, 1)]
        if self._coordinator:
            tasks, sizes = [INDEX_TASK, *tasks], [self._index_room, *sizes]
        file = MappedWriter(Opener(group), temporary, tasks, sizes, -1, self._words)
        problem: Optional[BaseException] = None
        try:
            file[1 + group.rank].writev(buffers_of(layout, planner))
        except BaseException as error:
            problem = error
        try:
            file.close()
            wait_if_pending(file.save)  # the coordinator appends to the file
        except Error as error:
            problem = problem or error
        (failed,) = group.largest([int(problem is not None)])
        if failed and self._coordinator:
            _remove(temporary)
        if problem is not None:
            raise problem
        if failed:
            raise Error(
                f"'{self._target}': another rank could not write its part", path=self._target
            )

    # --- the end, at the coordinator --------------------------------------------------------------

    def finish(self, metadata: Metadata, results: List[List[WriteResult]]) -> None:
        """Writes the index and gives the checkpoint its name."""
        temporary, self._temporary = self._temporary, None
        if temporary is None:
            raise InvalidArgumentError(
                f"'{self._target}': nothing was written that could be finished", path=self._target
            )
        try:
            text = Index.text(self._body_for(metadata, results), self.save_id)
            with serial_writer(temporary, "a", "journal=off") as file:
                file[INDEX_TASK].write(text)
            self._commit(temporary)
        except BaseException:
            self._forget()
            _remove(temporary)
            raise

    def _body_for(self, metadata: Metadata, results: List[List[WriteResult]]) -> str:
        told: "List[Dict[MetadataIndex, Place]]" = [
            {one.index: one.storage_data for one in of_rank} for of_rank in results
        ]
        if self._told_all:
            self._known = told
        else:
            for known, news in zip(self._known, told):
                known.update(news)
        if self._told_all or any(told) or metadata is not self._metadata:
            places = {index: place for known in self._known for index, place in known.items()}
            self._body, self._metadata = index_of(metadata, places, self._target).body(), metadata
        return self._body

    def _commit(self, temporary: str) -> None:
        if self.durable:
            _sync(temporary, os.O_RDWR)
        os.replace(temporary, self._target)
        if self.durable:
            _sync(os.path.dirname(os.path.abspath(self._target)), os.O_RDONLY)


def path_of_rank(path: str, rank: int) -> str:
    """Returns the path used by a rank that saves without collectives (``use_collectives=False``):
    ``step.sion`` becomes ``step.rank3.sion``."""
    front, suffix = os.path.splitext(path)
    return f"{front}.rank{rank}{suffix}"


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


__all__ = ["SheafWriter", "path_of_rank"]
