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
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, NamedSharding, PartitionSpec  # noqa: E402

import jax_gpt  # noqa: E402
import measure  # noqa: E402
import parameters  # noqa: E402


def matrix_rate():
    a = jax.device_put(np.ones((1024, 1024), np.float32), jax.devices()[0])
    product = jax.jit(jnp.matmul)
    return measure.matrix_rate(lambda: product(a, a).block_until_ready())


def main():
    args = measure.options(__doc__).parse_args()
    mesh = jax.make_mesh((DEVICES,), ("tp",), axis_types=(AxisType.Auto,))
    train, shardings = jax_gpt.training_step(args, mesh)
    shapes = jax_gpt.partitions(args)
    initial = {name: value.reshape(shapes[name][0])
               for name, value in parameters.initial(args).items()}
    p, m, v = ({name: jax.device_put(scale * x, shardings[name])
                for name, x in initial.items()} for scale in (1, 0, 0))
    replicated = NamedSharding(mesh, PartitionSpec())
    tokens, labels = ([jax.device_put(x, replicated) for x in batches]
                      for batches in measure.text_batches(
                          args.data, args.warmup + args.steps, args.batch,
                          args.seq))

    def step(i):
        nonlocal p, m, v
        loss, p, m, v = train(p, m, v, jnp.float32(i + 1), tokens[i],
                              labels[i])
        jax.block_until_ready(p)
        return loss

    milliseconds, loss = measure.time_steps(step, args)
    measure.report("JAX jit tp=2", "jax " + jax.__version__, milliseconds,
                   loss, matrix_rate())


if __name__ == "__main__":
    main()
