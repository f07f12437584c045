# indices_outside.py - a batch with indices that name no row.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a folder. Out: x.npy and indices.npy in it.
"""Writes x.npy and indices.npy, of which some are below 0 and some too large."""
import os, struct, sys

def write(name, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)

write("x.npy", "<f8", (13, 3, 3), struct.pack("<117d", *(0.37 * (i * 7 % 11) - 1.7 for i in range(117))))
write("indices.npy", "<i4", (13, 3), struct.pack("<39i", *(i * 5 % 9 - 1 for i in range(39))))
