"""Sessions of libpprt.so in this process, and the values that go in and come out.

SPDX-License-Identifier: Apache-2.0

The names are those of pprt.h. Inputs are drawn by the tensor's name and the step
alone, from numbers that every element type has exactly: so a program's values can
be computed in one type elsewhere, and compared.
"""
import array
import ctypes
import hashlib
import random
import struct

import tensors

PARAMETER, STATE, INPUT, LABEL, LOSS = range(5)
ELEMENTS = ["F32", "F64", "BF16", "I32", "I64", "BOOL", "F16", "I8"]
CODES = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "BOOL": "B", "I8": "b"}


class CTensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_int), ("element", ctypes.c_int),
                ("dimensions", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_uint64)),
                ("bytes", ctypes.c_uint64), ("bound", ctypes.c_uint64)]


class COptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads_per_rank", ctypes.c_uint32),
                ("hang_timeout_seconds", ctypes.c_double), ("device", ctypes.c_char_p),
                ("world", ctypes.c_void_p), ("is_interrupted", ctypes.c_void_p),
                ("user", ctypes.c_void_p), ("no_graph", ctypes.c_int)]


class Refused(Exception):
    """`code` is an exit code of the tools."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Runtime:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.pprt_error.restype = ctypes.c_char_p
        self.library.pprt_argument_count.restype = ctypes.c_uint32
        self.library.pprt_output_count.restype = ctypes.c_uint32

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise Refused(code, f"{name}: {self.library.pprt_error().decode(errors='replace')}")

    def train(self, artifact, steps, device, graph=True):
        """The losses of so many steps, and all that was trained: bytes and type by name."""
        options = COptions(ctypes.sizeof(COptions), device=device.encode(), no_graph=not graph)
        session = ctypes.c_void_p()
        self.call("pprt_open", str(artifact).encode(), ctypes.byref(options),
                  ctypes.byref(session))
        try:
            return self.run(session, steps)
        finally:
            self.library.pprt_close(session)

    def tensors(self, session, kind):
        for number in range(getattr(self.library, f"pprt_{kind}_count")(session)):
            its = CTensor()
            self.call(f"pprt_{kind}", session, ctypes.c_uint32(number), ctypes.byref(its))
            yield ctypes.c_uint32(number), its

    def read(self, call, session, number, its):
        values = ctypes.create_string_buffer(its.bytes)
        self.call(call, session, number, values, ctypes.c_uint64(its.bytes))
        return values.raw

    def run(self, session, steps):
        arguments = list(self.tensors(session, "argument"))
        loss = next(found for found in self.tensors(session, "output") if found[1].role == LOSS)
        self.call("pprt_initialize", session, ctypes.c_uint64(0))
        losses = []
        for step in range(steps):
            for number, its in arguments:
                if its.role in (INPUT, LABEL):
                    values = draw(its, step)
                    self.call("pprt_set", session, number, values, ctypes.c_uint64(len(values)))
            if step == 0:
                self.call("pprt_begin", session)
            self.call("pprt_step", session)
            value = self.read("pprt_get_output", session, *loss)
            losses.append(tensors.values(ELEMENTS[loss[1].element], value)[0])
        self.call("pprt_end", session)
        return losses, {its.name.decode(): (ELEMENTS[its.element],
                                            self.read("pprt_get", session, number, its))
                        for number, its in arguments if its.role in (PARAMETER, STATE)}


def draw(its, step):
    """A batch of an input or label."""
    element, count = ELEMENTS[its.element], 1
    for dimension in range(its.dimensions):
        count *= its.shape[dimension]
    numbers = random.Random(f"{its.name.decode()} {step}")
    if element in ("I8", "I32", "I64", "BOOL"):
        bound = 2 if element == "BOOL" else its.bound or 2
        return array.array(CODES[element],
                           (int(numbers.random() * bound) for _ in range(count))).tobytes()
    values = (int(numbers.random() * 256 - 128) / 64 for _ in range(count))
    if element == "BF16":  # the upper half of an f32, of which the lower one is 0
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    if element == "F16":
        return struct.pack(f"<{count}e", *values)
    return array.array(CODES[element], values).tobytes()


def digest(losses, values):
    """Of all bits."""
    found = hashlib.sha256(struct.pack(f"<{len(losses)}d", *losses))
    for name in sorted(values):
        found.update(values[name][1])
    return found.hexdigest()[:16]
