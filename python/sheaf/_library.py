"""The C library used by this package: how it is found, and its calls.

It is searched in this order: ``SHEAF_LIBRARY`` (a file, or a directory with ``libsheaf.so.1``), the package
itself (wheels), the build directory of a source tree, and the system's library path. The calls are those of
``sion.h``, ``sheaf.h`` and ``sheaf_tools.h``. Every call releases the GIL.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int, c_longlong, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from .errors import Error, error_of

NAME = "libsheaf.so.1"
PARTS = Path(__file__).resolve().parent

PROGRESS = CFUNCTYPE(c_int, c_void_p, c_longlong, c_longlong)
FINDING = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, c_char_p)
NAME_VISIT = CFUNCTYPE(c_int, c_void_p, c_longlong, c_char_p, c_longlong)


class MultifileInfoStruct(ctypes.Structure):
    """The C structure sheaf_multifile_info."""

    _fields_ = [
        ("tasks", c_longlong),
        ("rounds", c_longlong),
        ("bytes", c_longlong),
        ("files", c_int),
        ("block_size", c_int),
        ("format_version", c_int),
        ("library_version", c_int),
        ("key_value", c_int),
        ("closed", c_int),
        ("checksums", c_int),
        ("compressed", c_int),
        ("big_endian", c_int),
    ]


class TaskInfoStruct(ctypes.Structure):
    """The C structure sheaf_task_info."""

    _fields_ = [
        ("file", c_int),
        ("local_rank", c_int),
        ("global_rank", c_longlong),
        ("chunk_size", c_longlong),
        ("chunks", c_longlong),
        ("stored_bytes", c_longlong),
        ("bytes", c_longlong),
    ]


class ChunkStruct(ctypes.Structure):
    """The C structure sheaf_chunk."""

    _fields_ = [("offset", c_longlong), ("size", c_longlong), ("bytes", c_longlong)]


class SaveEntryStruct(ctypes.Structure):
    """The C structure sheaf_save_entry."""

    _fields_ = [
        ("name", c_char_p),
        ("temporary", c_char_p),
        ("state", c_char_p),
        ("error", c_char_p),
        ("age", c_double),
        ("rate", c_double),
        ("bytes", c_longlong),
        ("written", c_longlong),
        ("tasks", c_longlong),
        ("hosts", c_int),
    ]


SAVE_VISIT = CFUNCTYPE(c_int, c_void_p, POINTER(SaveEntryStruct))

_INT_P = POINTER(c_int)
_LONG_P = POINTER(c_longlong)
_CALLS: Dict[str, Tuple[Any, List[Any]]] = {
    "sheaf_last_error": (c_char_p, []),
    "sheaf_last_error_kind": (c_char_p, [_INT_P, _INT_P]),
    "sheaf_print_errors": (c_int, [c_int]),
    "sheaf_version": (c_char_p, []),
    "sheaf_abandon": (c_int, [c_int]),
    "sion_open": (
        c_int,
        [c_char_p, c_char_p, _INT_P, _INT_P, POINTER(_LONG_P), _INT_P, POINTER(_INT_P), c_void_p],
    ),
    "sion_open_rank": (c_int, [c_char_p, c_char_p, _LONG_P, _INT_P, _INT_P, c_void_p]),
    "sion_close": (c_int, [c_int]),
    "sion_fwrite": (c_size_t, [c_void_p, c_size_t, c_size_t, c_int]),
    "sion_fread": (c_size_t, [c_void_p, c_size_t, c_size_t, c_int]),
    "sion_coll_fwrite": (c_size_t, [c_void_p, c_size_t, c_size_t, c_int]),
    "sion_coll_fread": (c_size_t, [c_void_p, c_size_t, c_size_t, c_int]),
    "sion_flush": (c_int, [c_int]),
    "sion_ensure_free_space": (c_int, [c_int, c_longlong]),
    "sion_feof": (c_int, [c_int]),
    "sion_seek": (c_int, [c_int, c_int, c_int, c_longlong]),
    "sion_get_bytes_written": (c_longlong, [c_int]),
    "sion_get_bytes_read": (c_longlong, [c_int]),
    "sion_get_position": (c_longlong, [c_int]),
    "sion_get_locations": (c_int, [c_int, _INT_P, *[c_void_p] * 7]),
    "sion_get_current_location": (c_int, [c_int, _INT_P, _LONG_P, _INT_P, POINTER(_LONG_P)]),
    "sion_get_number_of_files": (c_int, [c_int]),
    "sion_get_keyval_mode": (c_int, [c_int]),
    "sion_endianness_swap_needed": (c_int, [c_int]),
    "sion_dup": (c_int, [c_int, c_int, c_int, c_uint64]),
    "sion_dedup": (c_int, [c_int]),
    "sion_fwrite_key": (c_size_t, [c_void_p, c_uint64, c_size_t, c_size_t, c_int]),
    "sion_fread_key": (c_size_t, [c_void_p, c_uint64, c_size_t, c_size_t, c_int]),
    "sion_fread_key_iterator_reset": (c_int, [c_int]),
    "sion_fread_key_iterator_next": (c_int, [c_int, POINTER(c_uint64), POINTER(c_size_t)]),
    "sion_key_full_scan": (c_int, [c_int]),
    "sion_key_list_iterator_reset": (c_int, [c_int]),
    "sion_key_list_iterator_next": (c_int, [c_int, POINTER(c_uint64)]),
    "sion_key_get_stat": (c_int, [c_int, c_uint64, c_void_p]),
    "sion_seek_key": (c_int, [c_int, c_uint64, c_int, c_longlong]),
    "sion_generic_create_api": (c_int, [c_char_p]),
    "sion_generic_paropen": (
        c_int,
        [
            c_int,
            c_char_p,
            c_char_p,
            _LONG_P,
            _INT_P,
            c_void_p,
            c_int,
            c_int,
            _INT_P,
            _INT_P,
            _INT_P,
            _INT_P,
            c_void_p,
            c_void_p,
        ],
    ),
    "sion_generic_parclose": (c_int, [c_int]),
    "sion_generic_paropen_mapped": (
        c_int,
        [
            c_int,
            c_char_p,
            c_char_p,
            _INT_P,
            c_void_p,
            c_int,
            c_int,
            _INT_P,
            POINTER(_INT_P),
            POINTER(_LONG_P),
            POINTER(_INT_P),
            POINTER(_INT_P),
            _INT_P,
            c_void_p,
        ],
    ),
    "sion_generic_parclose_mapped": (c_int, [c_int]),
    "sheaf_metadata_open": (c_void_p, [c_char_p, c_int]),
    "sheaf_metadata_open_small": (c_void_p, [c_char_p, c_int, _LONG_P]),
    "sheaf_metadata_stream": (c_int, [c_void_p, c_longlong, c_char_p]),
    "sheaf_metadata_close": (None, [c_void_p]),
    "sheaf_metadata_info": (c_int, [c_void_p, POINTER(MultifileInfoStruct)]),
    "sheaf_metadata_path": (c_char_p, [c_void_p, c_int]),
    "sheaf_metadata_tasks": (c_longlong, [c_void_p, c_longlong, c_longlong, c_int, POINTER(TaskInfoStruct)]),
    "sheaf_metadata_chunks": (
        c_longlong,
        [c_void_p, c_longlong, c_longlong, c_longlong, POINTER(ChunkStruct)],
    ),
    "sheaf_metadata_names": (c_longlong, [c_void_p, NAME_VISIT, c_void_p]),
    "sheaf_verify": (c_int, [c_char_p, c_int, PROGRESS, FINDING, c_void_p]),
    "sheaf_repair": (c_int, [c_char_p, c_char_p, c_int, PROGRESS, FINDING, c_void_p]),
    "sheaf_split": (c_int, [c_char_p, c_char_p, c_int, _LONG_P, c_longlong, c_int, PROGRESS, c_void_p]),
    "sheaf_parclose_async": (c_void_p, [c_int]),
    "sheaf_save_of": (c_void_p, [c_char_p]),
    "sheaf_save_test": (c_int, [c_void_p]),
    "sheaf_save_wait": (c_int, [c_void_p, c_int]),
    "sheaf_save_progress": (c_int, [c_void_p, _LONG_P, _LONG_P]),
    "sheaf_save_generation": (c_int, [c_void_p, c_char_p]),
    "sheaf_generation": (c_int, [c_int, c_char_p]),
    "sheaf_save_free": (None, [c_void_p]),
    "sheaf_latest": (c_longlong, [c_char_p, c_void_p, c_uint64]),
    "sheaf_list_saves": (c_longlong, [c_char_p, SAVE_VISIT, c_void_p]),
    "sheaf_defrag": (c_int, [c_char_p, c_char_p, c_int, c_char_p, c_int, PROGRESS, c_void_p]),
}


def generation_of(call: Any, handle: Any) -> str:
    """Returns the digits that ``call``, sheaf_generation or sheaf_save_generation, stores; "" if it fails."""
    digits = ctypes.create_string_buffer(33)  # SHEAF_GENERATION_SIZE
    return digits.value.decode() if call(handle, digits) else ""


def candidates() -> List[str]:
    """Returns the paths at which the library is searched, in order of preference."""
    told = os.environ.get("SHEAF_LIBRARY")
    if told:
        return [os.path.join(told, NAME) if os.path.isdir(told) else told]
    places = [PARTS / "lib" / NAME, PARTS.parent.parent / "build" / "lib" / NAME]
    return [str(place) for place in places if place.exists()] + [NAME]


class Library:
    """The calls of the library as attributes."""

    def __init__(self, calls: ctypes.CDLL, path: str) -> None:
        self.calls = calls
        self.path = path
        for name, (result, arguments) in _CALLS.items():
            try:
                call = getattr(calls, name)
            except AttributeError:
                raise ImportError(
                    f"'{path}' is of another version than this Python package: it has no {name}"
                ) from None
            call.restype = result
            call.argtypes = arguments
            setattr(self, name, call)
        calls.sheaf_print_errors(0)
        # At exit no code catches exceptions, so unclosed multifiles are reported on stderr.
        atexit.register(calls.sheaf_print_errors, 1)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    @property
    def directory(self) -> str:
        return os.path.dirname(self.path)

    def error(self, path: Optional[str], task: Optional[int] = None, offset: Optional[int] = None) -> Error:
        """Returns the exception for the last failed call of this thread."""
        number, of_task = c_int(0), c_int(-1)
        kind = self.calls.sheaf_last_error_kind(ctypes.byref(number), ctypes.byref(of_task)).decode()
        message = self.calls.sheaf_last_error().decode("utf-8", "replace").partition(": ")[2]
        if task is None and of_task.value >= 0:
            task = of_task.value
        return error_of(kind, message, path=path, task=task, offset=offset, errno=number.value or None)


_found: Optional[Library] = None
_problem: Optional[str] = None


def _load() -> None:
    global _found, _problem
    if not sys.platform.startswith("linux"):
        _problem = f"the library is not built for {sys.platform}"
        return
    problems: List[str] = []
    for place in candidates():
        try:
            _found = Library(ctypes.CDLL(place), place)
            return
        except OSError as error:
            problems.append(str(error))
    _problem = "; ".join(problems)
    if os.environ.get("SHEAF_LIBRARY"):
        raise ImportError(f"SHEAF_LIBRARY: {_problem}")


def available() -> bool:
    """Returns whether the C library was found. Without it, the pure Python reader and writer are used."""
    if _found is None and _problem is None:
        _load()
    return _found is not None


def library(what: str = "this") -> Library:
    """Returns the library. Raises UnsupportedError, which names ``what`` as unavailable, if it is missing."""
    if not available():
        raise error_of(
            "unsupported",
            f"{what} needs the library libsheaf, which is not here ({_problem}); "
            "set SHEAF_LIBRARY to where it is",
        )
    assert _found is not None
    return _found
