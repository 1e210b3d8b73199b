"""Words of the open mode (docs/api-sion.md) from keyword arguments."""

from __future__ import annotations

from typing import Dict, List, Optional, Union

from .errors import InvalidArgumentError


def as_mode(direction: str, words: str) -> str:
    """Returns the open mode. The word ``strict`` makes unknown words errors."""
    return ",".join(part for part in (direction, words, "strict") if part)


def words_of(
    *,
    keyval: bool = False,
    atomic: bool = False,
    durable: bool = False,
    checksums: bool = True,
    journal: bool = True,
    compress: Optional[str] = None,
    shuffle: Optional[int] = None,
    frame: Optional[Union[int, str]] = None,
    byteorder: Optional[str] = None,
    words: str = "",
) -> str:
    """Returns the words for all arguments that differ from their defaults, followed by ``words``.

    >>> words_of(atomic=True, compress="zstd:3", words="buffer=1m")
    'atomic,compress=zstd:3,buffer=1m'
    """
    switches: Dict[str, bool] = {
        "keyval": keyval,
        "atomic": atomic,
        "durable": durable,
        "checksums=off": not checksums,
        "journal=off": not journal,
    }
    found: List[str] = [word for word, on in switches.items() if on]
    for name, value in (("compress", compress), ("shuffle", shuffle), ("frame", frame)):
        if value is not None:
            if "," in str(value):
                raise InvalidArgumentError(f"{name}={value!r} is more than one value")
            found.append(f"{name}={value}")
    if byteorder is not None:
        if byteorder not in ("little", "big"):
            raise InvalidArgumentError(f"byteorder is 'little' or 'big', not {byteorder!r}")
        found.append(f"endianness={byteorder}")
    if words:
        found.append(words)
    return ",".join(found)
