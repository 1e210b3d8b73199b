"""The byte pattern of golden files and conformance tests."""


def content(rank: int, offset: int, size: int) -> bytes:
    """Returns the bytes [offset, offset+size) of f(rank, k) = (17*rank + 5*k + k//251) mod 256."""
    return bytes((17 * rank + 5 * k + k // 251) & 255 for k in range(offset, offset + size))


def record_value(key: int, index: int, size: int) -> bytes:
    """Returns the value of the index-th record of a task: byte q is f((key mod 256) + index, q)."""
    return content((key & 255) + index, 0, size)
