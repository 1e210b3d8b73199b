"""XXH3 (64 bits) and CRC32C, which protect the extensions and journals of docs/format.md. Simple and slow."""

from __future__ import annotations

import struct

_M64 = (1 << 64) - 1
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at:at + 4], "little")


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at:at + 8], "little")


def _folded(a: int, b: int) -> int:
    product = a * b
    return (product & _M64) ^ (product >> 64)


def _avalanche(h: int) -> int:
    h ^= h >> 37
    h = (h * 0x165667919E3779F9) & _M64
    return h ^ (h >> 32)


def _avalanche64(h: int) -> int:
    h ^= h >> 33
    h = (h * _P64_2) & _M64
    h ^= h >> 29
    h = (h * _P64_3) & _M64
    return h ^ (h >> 32)


def _mix16(data: bytes, at: int, secret: int, seed: int) -> int:
    return _folded(_u64(data, at) ^ ((_u64(_SECRET, secret) + seed) & _M64),
                   _u64(data, at + 8) ^ ((_u64(_SECRET, secret + 8) - seed) & _M64))


def xxh3(data: bytes, seed: int = 0) -> int:
    """Returns the 64-bit XXH3. A seed is supported for at most 240 bytes, which suffices for journals."""
    n = len(data)
    if n <= 16:
        return _up_to_16(data, seed)
    if n <= 128:
        h = n * _P64_1
        for i in range((n - 1) // 32, -1, -1):
            h += _mix16(data, 16 * i, 32 * i, seed) + _mix16(data, n - 16 * (i + 1), 32 * i + 16, seed)
        return _avalanche(h & _M64)
    if n <= 240:
        h = n * _P64_1
        for i in range(8):
            h += _mix16(data, 16 * i, 16 * i, seed)
        h = _avalanche(h & _M64)
        for i in range(8, n // 16):
            h += _mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
        h += _mix16(data, n - 16, 136 - 17, seed)
        return _avalanche(h & _M64)
    if seed:
        raise ValueError("a seed for more than 240 bytes")
    return _long(data)


def _up_to_16(data: bytes, seed: int) -> int:
    n = len(data)
    if n > 8:
        low = (_u64(_SECRET, 24) ^ _u64(_SECRET, 32)) + seed
        high = (_u64(_SECRET, 40) ^ _u64(_SECRET, 48)) - seed
        a, b = _u64(data, 0) ^ (low & _M64), _u64(data, n - 8) ^ (high & _M64)
        swapped = int.from_bytes(a.to_bytes(8, "little"), "big")
        return _avalanche((n + swapped + b + _folded(a, b)) & _M64)
    if n >= 4:
        seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
        key = ((_u64(_SECRET, 8) ^ _u64(_SECRET, 16)) - seed) & _M64
        h = (_u32(data, n - 4) + (_u32(data, 0) << 32)) ^ key
        h ^= ((h << 49 | h >> 15) ^ (h << 24 | h >> 40)) & _M64
        h = (h * 0x9FB21C651E98DF25) & _M64
        h ^= (h >> 35) + n
        h = (h * 0x9FB21C651E98DF25) & _M64
        return h ^ (h >> 28)
    if n > 0:
        both = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return _avalanche64(both ^ ((_u32(_SECRET, 0) ^ _u32(_SECRET, 4)) + seed & _M64))
    return _avalanche64((seed ^ _u64(_SECRET, 56) ^ _u64(_SECRET, 64)) & _M64)


def _accumulate(sums: list[int], data: bytes, at: int, secret: int) -> None:
    words = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", _SECRET, secret)
    for i in range(8):
        keyed = words[i] ^ keys[i]
        sums[i ^ 1] = (sums[i ^ 1] + words[i]) & _M64
        sums[i] = (sums[i] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & _M64


def _long(data: bytes) -> int:
    sums = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]
    n, last_key = len(data), len(_SECRET) - 64
    stripes = last_key // 8  # per block
    block = 64 * stripes
    blocks = (n - 1) // block
    for b in range(blocks):
        for s in range(stripes):
            _accumulate(sums, data, b * block + 64 * s, 8 * s)
        for i, key in enumerate(struct.unpack_from("<8Q", _SECRET, last_key)):
            sums[i] = ((sums[i] ^ (sums[i] >> 47) ^ key) * _P32_1) & _M64
    for s in range((n - 1 - block * blocks) // 64):
        _accumulate(sums, data, block * blocks + 64 * s, 8 * s)
    _accumulate(sums, data, n - 64, last_key - 7)
    h = n * _P64_1
    for i in range(4):
        h += _folded(sums[2 * i] ^ _u64(_SECRET, 11 + 16 * i), sums[2 * i + 1] ^ _u64(_SECRET, 19 + 16 * i))
    return _avalanche(h & _M64)


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    """Returns the CRC with the Castagnoli polynomial, as in RFC 3720."""
    state = 0xFFFFFFFF
    for byte in data:
        state = state >> 8 ^ _CRC[(state ^ byte) & 0xFF]
    return state ^ 0xFFFFFFFF
