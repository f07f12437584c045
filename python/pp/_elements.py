# _elements.py - the element types.
#
# SPDX-License-Identifier: Apache-2.0
"""What pp, the frameworks and safetensors call the types of elements."""

import numpy as np

# pp's name: that of NumPy, PyTorch and JAX, and that of safetensors.
NAMES = {"f64": ("float64", "F64"), "f32": ("float32", "F32"), "bf16": ("bfloat16", "BF16"), "f16": ("float16", "F16"),
         "i64": ("int64", "I64"), "i32": ("int32", "I32"), "i8": ("int8", "I8"), "i1": ("bool", "BOOL")}
FLOATS = "bf16", "f16", "f32", "f64"
SAFETENSORS = {name: stored for name, (_, stored) in NAMES.items()}
TORCH = {name: f"torch.{its}" for name, (its, _) in NAMES.items()}
# NumPy has no bf16 of its own.
NUMPY = {name: np.dtype(its) for name, (its, _) in NAMES.items() if name != "bf16"}


def numpy_type(element):
    """The type of NumPy; bf16 is that of ml_dtypes, which JAX brings, or without it its bits."""
    if element != "bf16":
        return NUMPY[element]
    try:
        import ml_dtypes
        return np.dtype(ml_dtypes.bfloat16)
    except ImportError:
        return np.dtype(np.uint16)
