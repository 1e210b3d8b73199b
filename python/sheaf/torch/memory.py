"""The bytes of tensors, as buffers for the streams of a multifile, and the ranges of a region in a stored
chunk."""

from __future__ import annotations

import ctypes
from typing import Any, List, Sequence, Tuple

import torch

_view = ctypes.pythonapi.PyMemoryView_FromMemory
_view.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_view.restype = ctypes.py_object
_READ, _WRITE = 0x100, 0x200


def size_of(tensor: "torch.Tensor") -> int:
    return tensor.numel() * tensor.element_size()


def is_plain(tensor: "torch.Tensor") -> bool:
    """Returns whether the tensor consists of its elements only; quantized, sparse and nested tensors
    contain more."""
    return (
        tensor.layout == torch.strided
        and not tensor.is_quantized
        and not tensor.is_nested
        and tensor.device.type != "meta"
    )


def as_elements(tensor: "torch.Tensor") -> "torch.Tensor":
    """Returns the elements in row-major order in CPU memory, without a copy if they are stored like that."""
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()


def memory_of(tensor: "torch.Tensor", writable: bool = False) -> memoryview:
    """Returns the memory of a contiguous CPU tensor, valid while the tensor lives."""
    size = size_of(tensor)
    if size == 0:
        return memoryview(b"")
    found: memoryview = _view(tensor.data_ptr(), size, _WRITE if writable else _READ)
    return found


def dtype_of(name: str) -> "torch.dtype":
    """Returns the dtype with the given name, which is ``str(dtype)`` without "torch."."""
    found: Any = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"PyTorch {torch.__version__} knows no dtype '{name}'")
    return found


def ranges(
    shape: Sequence[int], offsets: Sequence[int], lengths: Sequence[int]
) -> Tuple[int, List[int]]:
    """Returns (elements, begins) of the equally long pieces that make up a region of an array stored in
    row-major order. All numbers are in elements.

    >>> ranges((4, 6), (1, 0), (2, 6)), ranges((4, 6), (1, 2), (2, 3))
    ((12, [6]), (3, [8, 14]))
    """
    length, weight, begins, whole = 1, 1, [0], True
    for extent, offset, count in zip(reversed(shape), reversed(offsets), reversed(lengths)):
        if whole:
            length *= count
            begins[0] += offset * weight
            whole = count == extent
        else:
            begins = [
                begin + index * weight
                for index in range(offset, offset + count)
                for begin in begins
            ]
        weight *= extent
    return length, begins


__all__ = ["size_of", "is_plain", "as_elements", "memory_of", "dtype_of", "ranges"]
