"""Reads and compares safetensors files, with what every Python has.

SPDX-License-Identifier: Apache-2.0
"""
import array
import json
import math
import struct


def read(path):
    """By name, the values as floating-point numbers."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        begin, end = (8 + size + place for place in entry["data_offsets"])
        found[name] = values(entry["dtype"], data[begin:end])
    return found


def values(dtype, data):
    if dtype == "BF16":  # the upper half of an f32
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        return array.array("f", bytes(wide))
    if dtype == "F16":
        return array.array("f", struct.unpack(f"<{len(data) // 2}e", data))
    codes = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "I8": "b", "U8": "B", "BOOL": "B"}
    if dtype not in codes:
        raise ValueError(f"expects a type of {', '.join(codes)}, BF16 or F16, got {dtype}")
    return array.array(codes[dtype], data)


def difference(found, expected):
    """The largest one of a tensor, relative to its largest value, and whose it is. What is no
    number, or is missing, is infinitely far."""
    if found.keys() != expected.keys():
        return math.inf, f"expects {sorted(expected)}, got {sorted(found)}"
    worst, where = 0.0, ""
    for name, right in expected.items():
        left = found[name]
        if len(left) != len(right):
            return math.inf, name
        scale = max((abs(value) for value in right), default=0) or 1.0
        far = max((abs(a - b) for a, b in zip(left, right)), default=0.0) / scale
        if not math.isfinite(sum(left)):
            far = math.inf
        if far > worst:
            worst, where = far, name
    return worst, where
