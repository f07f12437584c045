# exported.py - what pp-opt --emit=stablehlo says of arguments and results.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: an entry of FILE.json. Out: the parts of a whole tensor that each replica
# has, and back. NumPy alone, for any runtime.
"""Divides tensors over the replicas of an exported step, and joins them."""

import json
import math

import numpy as np

from ._elements import numpy_type


class Tensor:
    """An argument or result: name, role, element_type, shape (of a replica), global_shape."""

    def __init__(self, entry, mesh):
        self.__dict__.update(entry)
        self.mesh = mesh
        self.dtype = numpy_type(self.element_type)
        time = [axis["axis"] for axis in mesh if axis["kind"] == "time"]
        self.is_per_micro_batch = any(axis in time for axes in self.sharding for axis in axes)
        self.unpadded_shape = entry.get("unpadded_shape", self.global_shape)
        self._order = entry.get("stored_order", list(range(len(self.global_shape))))
        self.stored_shape = entry.get("stored_shape",
                                      [self.unpadded_shape[dim] for dim in self._order])

    def checked(self, value):
        """A tensor as files have it, if it is one: of that shape, and of numbers that fit."""
        value = np.asarray(value)
        if list(value.shape) != list(self.stored_shape):
            raise ValueError(f"{self.name}: expects shape {list(self.stored_shape)}, got {list(value.shape)}")
        if not np.issubdtype(self.dtype, np.integer) or value.dtype == self.dtype:
            return value
        if not np.issubdtype(value.dtype, np.integer) or (
                value.size and (value.min() < np.iinfo(self.dtype).min or value.max() > np.iinfo(self.dtype).max)):
            raise ValueError(f"{self.name}: expects integers of {self.element_type}, got {value.dtype}")
        return value

    def from_stored(self, value):
        """A tensor as files have it, in the model's shape and with its padding."""
        value = np.asarray(value).reshape([self.unpadded_shape[dim] for dim in self._order])
        return self.padded(value.transpose(np.argsort(self._order)))

    def padded(self, value):
        """A tensor of the model's shape, with zeros behind."""
        padded = np.zeros(self.global_shape, self.dtype)
        padded[tuple(map(slice, self.unpadded_shape))] = value
        return padded

    def to_stored(self, value):
        """The tensor as files have it."""
        value = value[tuple(map(slice, self.unpadded_shape))]
        return value.transpose(self._order).reshape(self.stored_shape)

    def initial(self):
        """What a tensor starts from whose `init` is not random, as files have it."""
        value = {"zeros": 0, "constant": self.init["a"]}[self.init["kind"]]
        return np.full(self.stored_shape, value, self.dtype)

    def _places(self, replica):
        """The part of the whole that a replica has in each micro-batch."""
        devices = [axis for axis in self.mesh if axis["kind"] == "space"]
        counts = [axis["size"] for axis in devices]
        coordinates = dict(zip((axis["axis"] for axis in devices),
                               np.unravel_index(replica, counts) if counts else ()))
        sizes = {axis["axis"]: axis["size"] for axis in self.mesh}
        time = next((axis for axis in self.mesh if axis["kind"] == "time"), None)
        for step in range(time["size"] if self.is_per_micro_batch else 1):
            if time:
                coordinates[time["axis"]] = step
            place = []
            for size, axes in zip(self.global_shape, self.sharding):
                index = 0
                for axis in axes:
                    index = index * sizes[axis] + coordinates[axis]
                part = size // math.prod(sizes[axis] for axis in axes)
                place.append(slice(index * part, (index + 1) * part))
            yield tuple(place)

    def split(self, value, replica):
        """The part of a whole tensor that a replica takes."""
        parts = [value[place] for place in self._places(replica)]
        return np.stack(parts) if self.is_per_micro_batch else np.asarray(parts[0])

    def join(self, parts):
        """The whole tensor of every replica's part."""
        value = np.empty(self.global_shape, self.dtype)
        for replica, part in enumerate(parts):
            rows = part if self.is_per_micro_batch else [part]
            for place, row in zip(self._places(replica), rows):
                value[place] = row
        return value


class Interface:
    """The arguments and results of the step in `path`."""

    def __init__(self, path):
        with open(f"{path}.json") as file:
            entries = json.load(file)
        self.entries = entries
        self.replicas = entries["replicas"]
        self.arguments = [Tensor(entry, entries["mesh"]) for entry in entries["arguments"]]
        self.results = [Tensor(self._with_layout(entry), entries["mesh"])
                        for entry in entries["results"]]

    def _with_layout(self, entry):
        """A result that updates an argument lies in files as that does."""
        if "updates" not in entry:
            return entry
        argument = self.entries["arguments"][entry["updates"]]
        return {key: argument[key] for key in ("stored_shape", "stored_order")
                if key in argument} | entry
