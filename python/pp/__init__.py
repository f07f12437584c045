# __init__.py - the doors into pp from Python.
#
# SPDX-License-Identifier: Apache-2.0
"""Turns models of other frameworks into modules that pp-opt and pp-run read.

    import pp
    model = pp.torch.export(module, loss, example_batch)    # of PyTorch
    model = pp.jax.export(loss, params, example_batch)      # of JAX
    model.save("model.mlir")                # and model.safetensors

A framework is imported when its door is first used.
"""

import importlib

from ._model import ExportError, Model

__all__ = ["ExportError", "Model", "jax", "torch"]


def __getattr__(name):
    if name in ("jax", "torch"):
        return importlib.import_module(f"pp.{name}")
    raise AttributeError(f"module 'pp' has no attribute {name!r}")
