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


class Step(Interface):
    """A compiled step. Parameters and states are given once and stay on the devices:

        step = pp.xla.Step("step.mlir")
        step.start(parameters)                     # states start from zeros
        loss = step(tokens=tokens, labels=labels)["loss"]
        step.values()                              # whole, as files have them
    """

    def __init__(self, path):
        super().__init__(path)
        client = jax.extend.backend.get_backend()
        self.devices = client.local_devices()[:self.replicas]
        if len(self.devices) < self.replicas:
            raise ValueError(f"{path} expects {self.replicas} devices, got {len(self.devices)}; "
                             "XLA_FLAGS=--xla_force_host_platform_device_count=N makes N of a CPU")
        options = xla_client.CompileOptions()
        options.num_replicas, options.num_partitions = self.replicas, 1
        options.device_assignment = xla_client.DeviceAssignment.create(
            np.arange(self.replicas).reshape(self.replicas, 1))
        with open(path) as file:
            self._executable = client.compile_and_load(
                file.read(), _jax.DeviceList(tuple(self.devices)), options)
        # Every device has a tensor of its own: to JAX they look like copies.
        self._sharding = jax.sharding.NamedSharding(
            jax.sharding.Mesh(np.array(self.devices), ("replica",)), jax.sharding.PartitionSpec())
        self._kept = {}

    def _put(self, tensor, value):
        parts = [jax.device_put(tensor.split(value, index), device)
                 for index, device in enumerate(self.devices)]
        return self._array(tensor, parts)

    def _array(self, tensor, parts):
        return jax.make_array_from_single_device_arrays(tuple(tensor.shape), self._sharding, parts)

    def start(self, parameters):
        """Takes parameters, and states that do not start from zeros or a constant, by name."""
        for tensor in self.arguments:
            if tensor.role in ("param", "state"):
                value = (parameters[tensor.name] if tensor.name in parameters
                         else tensor.initial())
                self._kept[tensor.name] = self._put(tensor, tensor.from_stored(value))

    def __call__(self, **batch):
        """Runs a step; returns the loss and what else is no parameter or state, by name."""
        arguments = [self._kept[tensor.name] if tensor.role in ("param", "state")
                     else self._put(tensor, tensor.from_stored(batch[tensor.name]))
                     for tensor in self.arguments]
        done = self._executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        others = {}
        for tensor, parts in zip(self.results, done):
            if tensor.role in ("param", "state"):
                self._kept[tensor.name] = self._array(tensor, parts)
            else:
                others[tensor.name] = tensor.to_stored(tensor.join(map(np.asarray, parts)))
        return others

    def values(self):
        """The whole parameters and states, as files have them, by name."""
        return {tensor.name: tensor.to_stored(tensor.join(
                    [np.asarray(part.data) for part in self._kept[tensor.name].addressable_shards]))
                for tensor in self.arguments if tensor.name in self._kept}
