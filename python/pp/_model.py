# _model.py - an exported model: its text, and its parameters.
#
# SPDX-License-Identifier: Apache-2.0
#
# Arrays are triples (element type of safetensors, shape, bytes), since numpy
# lacks bf16.
"""An exported model, and the files that pp reads."""

import json
import os

import numpy as np


class ExportError(Exception):
    """A model that pp cannot take, with the line that says so and what to change."""


def name_entries(batch, given, names):
    """A sequence as a dict: in the order of the example batch if it is as long, else of what the model reads. None if
    it is neither."""
    order = given if len(batch) == len(given) else names
    return dict(zip(order, batch)) if len(batch) == len(order) else None


def unwrapped(module):
    """The module that torch.compile and DataParallel wrap, whose names are those of its files."""
    while True:
        is_parallel = type(module).__name__ in ("DataParallel", "DistributedDataParallel")
        inner = module.module if is_parallel else getattr(module, "_orig_mod", None)
        if inner is None:
            return module
        module = inner


class Model:
    """A module of level 1 with the values of its parameters and states."""

    def __init__(self, text, tensors, batch, unused, given=(), framework=None):
        self.text = text
        self.tensors = tensors  # name -> (safetensors type, shape, bytes)
        self.batch = batch  # name -> shape of each input and label
        self.given = tuple(given)  # names of the example batch, those that the loss does not read too
        self.framework = framework  # whose tensors a trainer returns; None: numpy
        self.unused = unused  # parameters that the loss does not depend on

    def save(self, path, parameters=None):
        """Writes the module, and beside it (or to `parameters`) its tensors."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)
        parameters = parameters or os.path.splitext(path)[0] + ".safetensors"
        write_safetensors(parameters, self.tensors)

    def save_batches(self, folder, batches):
        """Writes batches (dicts, or sequences in the order of `batch`) as the
        files of --data=npy:FOLDER."""
        rows = {name: [] for name in self.batch}
        for index, batch in enumerate(batches):
            named = batch if isinstance(batch, dict) else name_entries(batch, self.given, list(rows))
            if named is None or not rows.keys() <= named.keys():
                raise ExportError(f"batch {index}: expects {', '.join(rows)}, as in the example batch, got " +
                                  (", ".join(named) if named is batch else f"{len(batch)} arrays"))
            for name, arrays in rows.items():
                array = np.asarray(named[name])
                if array.shape != self.batch[name]:
                    raise ExportError(
                        f"batch {index}: expects {name} of shape {list(self.batch[name])}, "
                        f"as in the example batch, got {list(array.shape)}")
                arrays.append(array)
        os.makedirs(folder, exist_ok=True)
        for name, arrays in rows.items():
            np.save(os.path.join(folder, name + ".npy"), np.concatenate(arrays))


def write_safetensors(path, tensors):
    """Writes name -> (type, shape, bytes)."""
    header, begin = {"__metadata__": {"format": "pt"}}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [begin, begin + len(data)]}
        begin += len(data)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for _, _, data in tensors.values():
            file.write(data)
