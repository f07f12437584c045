# hlo.py - what a module sends that XLA compiled.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: the text of a compiled module. Out: calls and bytes by kind. Bytes are those that a device sends with ring
# algorithms, as pp counts: of S bytes over n devices a gather, a scatter and an exchange send (n-1)/n S, an all_reduce
# twice that.
"""Collectives and their bytes in compiled HLO."""

import collections
import math
import re

ELEMENT = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "f16": 2, "pred": 1,
           "s8": 1, "u8": 1, "f64": 8, "s64": 8, "u64": 8}
COLLECTIVE = re.compile(
    r" = (.*?) (all-to-all|all-gather|all-reduce|reduce-scatter|"
    r"collective-permute)(?:-start)?\(")
GROUPS = re.compile(r"replica_groups=(?:\{\{([\d,]+)\}|\[\d+,(\d+)\]<=)")


def group_size(line, devices):
    match = GROUPS.search(line)
    if not match:
        return devices
    return int(match[2]) if match[2] else match[1].count(",") + 1


def result_bytes(shapes):
    return sum(ELEMENT[element] * math.prod(int(n) for n in dims.split(",") if n)
               for element, dims in re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]",
                                               shapes))


def collectives(text, devices):
    """Kind -> calls and bytes that a device sends. No loop is looked into."""
    found = collections.defaultdict(lambda: [0, 0])
    for line in text.splitlines():
        if not (match := COLLECTIVE.search(line)):
            continue
        size, n = result_bytes(match[1]), group_size(line, devices)
        of = {"all-reduce": 2 * (n - 1) / n, "reduce-scatter": n - 1,
              "collective-permute": 1}
        found[match[2]][0] += 1
        found[match[2]][1] += size * of.get(match[2], (n - 1) / n)
    return {kind.replace("-", "_"): {"calls": calls, "wire_bytes": round(size)}
            for kind, (calls, size) in found.items()}
