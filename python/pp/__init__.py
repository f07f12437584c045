# __init__.py - the doors into pp from Python.
#
# SPDX-License-Identifier: Apache-2.0
"""Partitions the training of models of other frameworks.

    import pp
    model = pp.torch.export(module, loss, example_batch)    # of PyTorch
    model = pp.jax.export(loss, params, example_batch)      # of JAX
    with pp.Trainer(model, "dp=2 tp=2") as trainer:
        loss = trainer.step(batch)

A framework is imported when its door is first used, and the library of pp by the
first trainer.
"""

import importlib

from ._library import CompileError, TrainerError
from ._model import ExportError, Model
from .trainer import Trainer

__all__ = ["CompileError", "ExportError", "Model", "Trainer", "TrainerError", "jax", "torch"]


def __getattr__(name):
    if name in ("jax", "torch"):
        return importlib.import_module(f"pp.{name}")
    raise AttributeError(f"module 'pp' has no attribute {name!r}")
