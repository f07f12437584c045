# _arrays.py - arrays of other libraries, as memory.
#
# SPDX-License-Identifier: Apache-2.0
#
# An array of numpy, PyTorch or JAX, or any object with a buffer or DLPack, is
# read where it lies if it is dense and row-major there. No framework is
# imported: an array that is given says which it is.
"""Arrays into and out of the library."""

import sys

import numpy as np

from ._elements import NUMPY, TORCH, numpy_type

ELEMENT_OF = {kind: name for name, kind in NUMPY.items()}


class Memory:
    """Dense row-major values. `copied` counts the bytes that had to be copied for it."""

    def __init__(self, name, value, element, shape, shapes_too=()):
        self.owner, self.copied = value, 0
        torch = sys.modules.get("torch")
        if torch and isinstance(value, torch.Tensor):
            self._of_torch(torch, name, value.detach())
        else:
            self._of_numpy(name, value)
        if tuple(self.shape) not in (tuple(shape), *shapes_too):
            raise ValueError(f"{name}: expects shape {list(shape)}, got {list(self.shape)}")
        if self.element != element:
            self._convert(name, element)
        self._lay_out()

    def _of_torch(self, torch, name, tensor):
        if tensor.device.type != "cpu":
            raise TypeError(f"{name}: expects a tensor in the processor's memory, got one on {tensor.device}: "
                            "pass tensor.cpu()")
        if tensor.dtype is torch.bfloat16:
            self.array, self.element = tensor.view(torch.int16).numpy(), "bf16"
        else:
            try:
                self.array = tensor.resolve_conj().resolve_neg().numpy()
            except TypeError as error:
                raise TypeError(f"{name}: {error}") from None
            self.element = ELEMENT_OF.get(self.array.dtype)
        self.given, self.shape = str(tensor.dtype), tensor.shape

    def _of_numpy(self, name, value):
        if not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
            array = np.from_dlpack(value)
        else:
            array = np.asarray(value)
        if array.dtype == object:
            raise TypeError(f"{name}: expects an array of numbers, got {type(value).__name__}")
        self.given, self.shape = str(array.dtype), array.shape
        self.element = "bf16" if self.given == "bfloat16" else ELEMENT_OF.get(array.dtype)
        if array.dtype.byteorder not in "=|" and array.dtype.newbyteorder("=") in ELEMENT_OF:
            array = array.astype(array.dtype.newbyteorder("="))
            self.copied += array.nbytes
            self.element = ELEMENT_OF[array.dtype]
        self.array = array

    def _convert(self, name, element):
        """Integers of another width, if they fit: libraries differ in the default."""
        wanted = numpy_type(element)
        if element == "i32" and self.array.dtype == np.uint32:  # a key of JAX, of which pp has the bits
            self.array = self.array.view(wanted)
            return
        if self.element in ("i32", "i64", "i8") and element in ("i32", "i64", "i8"):
            limits = np.iinfo(wanted)
            if self.array.size and (self.array.min() < limits.min or self.array.max() > limits.max):
                raise ValueError(f"{name}: expects values that fit {element}, got {self.array.min()} to "
                                 f"{self.array.max()}")
            self.array = self.array.astype(wanted)
            self.copied += self.array.nbytes
            return
        way = f"tensor.to({TORCH[element]})" if self.given.startswith("torch.") else f"array.astype({str(wanted)!r})"
        raise TypeError(f"{name}: expects elements of {element}, got {self.given}: convert them, for example by {way}")

    def _lay_out(self):
        if not self.array.flags.c_contiguous:
            self.array = np.ascontiguousarray(self.array)
            self.copied += self.array.nbytes

    @property
    def address(self):
        return self.array.ctypes.data

    @property
    def bytes(self):
        return self.array.nbytes


def as_torch(array, element):
    import torch
    if element == "bf16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
