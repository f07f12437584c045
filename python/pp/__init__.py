# __init__.py - the doors into pp from Python.
#
# SPDX-License-Identifier: Apache-2.0
"""Turns models of other frameworks into modules that pp-opt and pp-run read.

    import pp
    model = pp.torch.export(module, loss, example_batch)
    model.save("model.mlir")                # and model.safetensors

A framework is imported when its door is first used.
"""

import importlib

from ._model import ExportError, Model

__all__ = ["ExportError", "Model", "torch"]


def __getattr__(name):
    if name == "torch":
        return importlib.import_module("pp.torch")
    raise AttributeError(f"module 'pp' has no attribute {name!r}")
