# jax_compile.py - JAX's time to trace, partition and compile a training step.
#
# SPDX-License-Identifier: Apache-2.0
#
# Shapes only: no parameter is allocated and nothing runs. The batch is split
# over dp, the rest as in jax_gpt.py.
"""Compiles a large GPT's step for dp x tp host devices. Prints JSON."""

import json
import os
import sys
import time

import measure


def parse_arguments():
    parser = measure.options(__doc__)
    parser.add_argument("--dp", type=int, default=8)
    parser.add_argument("--tp", type=int, default=8)
    return parser.parse_args()


def compile_step(args):
    import jax  # reads XLA_FLAGS, which main() sets
    import jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    import jax_gpt

    mesh = jax.make_mesh((args.dp, args.tp), ("dp", "tp"),
                         axis_types=(AxisType.Auto,) * 2)
    train, shardings = jax_gpt.training_step(args, mesh)
    p = {name: jax.ShapeDtypeStruct(shape, jnp.float32,
                                    sharding=shardings[name])
         for name, (shape, _) in jax_gpt.partitions(args).items()}
    ids = jax.ShapeDtypeStruct(
        (args.batch, args.seq), jnp.int32,
        sharding=NamedSharding(mesh, PartitionSpec("dp")))
    t = jax.ShapeDtypeStruct((), jnp.float32)

    start = time.perf_counter()
    lowered = train.lower(p, p, p, t, ids, ids)
    traced = time.perf_counter()
    lowered.compile()
    end = time.perf_counter()
    return {"version": "jax " + jax.__version__,
            "trace_seconds": traced - start, "compile_seconds": end - traced}


def main():
    args = parse_arguments()
    os.environ["XLA_FLAGS"] = ("--xla_force_host_platform_device_count="
                               f"{args.dp * args.tp}")
    os.environ["JAX_PLATFORMS"] = "cpu"
    json.dump(compile_step(args), sys.stdout)
    print()


if __name__ == "__main__":
    main()
