# jax_mesh.py - peer of tp, sequence and zero: jax.jit over a mesh of devices.
#
# SPDX-License-Identifier: Apache-2.0
#
# The batch is split over dp, heads and feed-forward parts over tp (Megatron's
# shardings). With --sequence tp also splits the sequence between them; with
# --zero3 dp also splits parameters and averages (fully sharded). XLA's
# partitioner adds the collectives; with --collectives these are printed instead
# of times.
"""One process, dp x tp host devices, one jitted and sharded training step."""

import json
import os

import measure


def parse_arguments():
    parser = measure.options(__doc__)
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--sequence", action="store_true")
    parser.add_argument("--zero3", action="store_true")
    parser.add_argument("--collectives", action="store_true",
                        help="print what the step sends, and end")
    return parser.parse_args()


def run(args):
    import jax  # reads XLA_FLAGS, which main() sets
    import jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    import hlo
    import jax_gpt
    import parameters

    mesh = jax.make_mesh((args.dp, args.tp), ("dp", "tp"),
                         axis_types=(AxisType.Auto,) * 2)
    train, shardings = jax_gpt.training_step(args, mesh, args.sequence,
                                             args.zero3)
    shapes = jax_gpt.partitions(args)
    initial = {name: value.reshape(shapes[name][0])
               for name, value in parameters.initial(args).items()}
    values = jax_gpt.start(args, initial, shardings,
                           NamedSharding(mesh, PartitionSpec("dp")))
    if args.collectives:
        p, m, v, tokens, labels = values
        compiled = train.lower(p, m, v, jnp.float32(1), tokens[0],
                               labels[0]).compile()
        print(json.dumps(hlo.collectives(compiled.as_text(),
                                         args.dp * args.tp)))
        return
    words = [f"{axis}={size}" for axis, size in (("dp", args.dp),
                                                 ("tp", args.tp)) if size > 1]
    words += ["sequence"] * args.sequence + ["zero 3"] * args.zero3 + ["bf16"] * args.autocast
    jax_gpt.time_training(" ".join(["JAX jit", *words]), args, train, *values)


def main():
    args = parse_arguments()
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") +
        f" --xla_force_host_platform_device_count={args.dp * args.tp}")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    run(args)


if __name__ == "__main__":
    main()
