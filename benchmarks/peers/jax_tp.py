# jax_tp.py - peer of the tp=2 row: jax.jit with Megatron's shardings.
#
# SPDX-License-Identifier: Apache-2.0
"""One process, two host devices, one jitted and sharded training step."""

import os

DEVICES = 2
os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") +
                           f" --xla_force_host_platform_device_count={DEVICES}")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402 (reads XLA_FLAGS when imported)
from jax.sharding import AxisType, NamedSharding, PartitionSpec  # noqa: E402

import jax_gpt  # noqa: E402
import measure  # noqa: E402
import parameters  # noqa: E402


def main():
    args = measure.options(__doc__).parse_args()
    mesh = jax.make_mesh((DEVICES,), ("tp",), axis_types=(AxisType.Auto,))
    train, shardings = jax_gpt.training_step(args, mesh)
    shapes = jax_gpt.partitions(args)
    initial = {name: value.reshape(shapes[name][0])
               for name, value in parameters.initial(args).items()}
    replicated = NamedSharding(mesh, PartitionSpec())
    jax_gpt.time_training("JAX jit tp=2", args, train, *jax_gpt.start(
        args, initial, shardings, replicated))


if __name__ == "__main__":
    main()
