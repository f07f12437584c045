# xla.py - runs exported steps with XLA, through JAX.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: what pp-opt --emit=stablehlo wrote, and whole tensors by name. Out: whole
# results. Replica i runs on JAX's device i.
"""pp.xla.Step(path) runs an exported training step on JAX's devices."""

import jax
import jax.extend
import numpy as np
from jaxlib import _jax, xla_client

from .exported import Interface


class Program:
    """A module of StableHLO, compiled for devices, each of which has tensors of its own."""

    def __init__(self, module, devices):
        options = xla_client.CompileOptions()
        options.num_replicas, options.num_partitions = len(devices), 1
        options.device_assignment = xla_client.DeviceAssignment.create(
            np.array([[device.id] for device in devices]))
        self.devices = devices
        self._executable = jax.extend.backend.get_backend().compile_and_load(
            module, _jax.DeviceList(tuple(devices)), options)
        # To JAX the tensors of all devices look like copies of one.
        self._sharding = jax.sharding.NamedSharding(
            jax.sharding.Mesh(np.array(devices), ("replica",)), jax.sharding.PartitionSpec())

    def array(self, parts):
        """An argument, from a tensor for each device."""
        parts = [jax.device_put(part, device) for part, device in zip(parts, self.devices)]
        return jax.make_array_from_single_device_arrays(parts[0].shape, self._sharding, parts)

    def __call__(self, arguments):
        """For each result a list with the tensor of every device."""
        done = self._executable.execute_sharded(arguments)
        return done.disassemble_into_single_device_arrays()


def _check_names(what, names, given):
    if not hasattr(given, "keys"):
        raise TypeError(f"expects a dict of {what} by name, got {type(given).__name__}")
    if unknown := [name for name in given if name not in names]:
        raise ValueError(f"expects names of {what}, {', '.join(names)}, got {unknown[0]!r}")


class Step(Interface):
    """A compiled step. Parameters and states are given once and stay on the devices:

        step = pp.xla.Step("step.mlir")
        step.start(parameters)                     # states start from zeros
        loss = step(tokens=tokens, labels=labels)["loss"]
        step.values()                              # whole, as files have them
    """

    def __init__(self, path):
        super().__init__(path)
        if "positions" in self.entries:
            raise ValueError(f"{path} is a pipeline of {len(self.entries['positions'])} stages, which call each other as "
                             f"{path}.json says: pp.xla.Step runs steps without stages; leave pp out of the plan")
        devices = jax.local_devices()[:self.replicas]
        if len(devices) < self.replicas:
            raise ValueError(f"{path} expects {self.replicas} devices, got {len(devices)}; "
                             "XLA_FLAGS=--xla_force_host_platform_device_count=N makes N of a CPU")
        if not jax.config.jax_enable_x64 and any(
                tensor.element_type.endswith("64") for tensor in self.arguments):
            raise ValueError(f"{path} has values of 64 bits; "
                             "jax.config.update('jax_enable_x64', True) lets JAX have them")
        with open(path) as file:
            self._program = Program(file.read(), devices)
        self._kept = {}

    def _put(self, tensor, value):
        whole = tensor.from_stored(tensor.checked(value))
        return self._program.array([tensor.split(whole, index) for index in range(self.replicas)])

    def start(self, parameters):
        """Takes parameters, and states that do not start from zeros or a constant, by name."""
        kept = [tensor.name for tensor in self.arguments if tensor.role in ("param", "state")]
        _check_names("parameters and states", kept, parameters)
        for tensor in self.arguments:
            random = tensor.role in ("param", "state") and tensor.init["kind"] not in ("zeros", "constant")
            if random and tensor.name not in parameters:
                raise ValueError(f"expects a value of {tensor.name!r}, which starts from random numbers, got none")
        for tensor in self.arguments:
            if tensor.role in ("param", "state"):
                value = (parameters[tensor.name] if tensor.name in parameters
                         else tensor.initial())
                self._kept[tensor.name] = self._put(tensor, value)

    def __call__(self, **batch):
        """Runs a step; returns the loss and what else is no parameter or state, by name."""
        if not self._kept and any(tensor.role in ("param", "state") for tensor in self.arguments):
            raise ValueError("expects start(parameters) before the first step")
        inputs = [tensor.name for tensor in self.arguments if tensor.name not in self._kept]
        _check_names("inputs", inputs, batch)
        if missing := [name for name in inputs if name not in batch]:
            raise ValueError(f"expects a batch of {', '.join(inputs)}, got none of {missing[0]!r}")
        done = self._program([self._kept[tensor.name] if tensor.name in self._kept
                              else self._put(tensor, batch[tensor.name])
                              for tensor in self.arguments])
        others = {}
        for tensor, parts in zip(self.results, done):
            if tensor.name in self._kept:
                self._kept[tensor.name] = self._program.array(parts)
            else:
                others[tensor.name] = tensor.to_stored(tensor.join(map(np.asarray, parts)))
        return others

    def values(self):
        """The whole parameters and states, as files have them, by name."""
        return {tensor.name: tensor.to_stored(tensor.join(
                    [np.asarray(part.data) for part in self._kept[tensor.name].addressable_shards]))
                for tensor in self.arguments if tensor.name in self._kept}
