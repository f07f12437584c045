# parameters.py - the initial values that all peers start from.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: the model's dimensions. Out: arrays under the names and in the shapes of
# Hugging Face's GPT-2. A value depends on its parameter's name alone, so that
# every stage of a pipeline, and every framework, starts from the same model
# and must report the same loss. As a program it writes them for pp-run.
"""GPT's initial parameters as numpy arrays, or as a safetensors file."""

import zlib

import numpy as np


def shapes(args):
    """Name -> shape of every parameter."""
    hidden = args.hidden
    result = {"wte.weight": (args.vocab, hidden),
              "wpe.weight": (args.seq, hidden)}

    def layer_norm(name):
        result[name + ".weight"] = result[name + ".bias"] = (hidden,)

    def dense(name, inputs, outputs):
        result[name + ".weight"] = (inputs, outputs)
        result[name + ".bias"] = (outputs,)

    for i in range(args.layers):
        layer_norm(f"h.{i}.ln_1")
        dense(f"h.{i}.attn.c_attn", hidden, 3 * hidden)
        dense(f"h.{i}.attn.c_proj", hidden, hidden)
        layer_norm(f"h.{i}.ln_2")
        dense(f"h.{i}.mlp.c_fc", hidden, 4 * hidden)
        dense(f"h.{i}.mlp.c_proj", 4 * hidden, hidden)
    layer_norm("ln_f")
    if not args.tied:
        result["lm_head.weight"] = (args.vocab, hidden)
    return result


def initial_value(name, shape, layers):
    """The rule of pp-model: embeddings normal(0.02), matrices
    normal(1/sqrt(inputs)), residual projections also by 1/sqrt(2 layers)."""
    if name.endswith("bias"):
        return np.zeros(shape, np.float32)
    if "ln_" in name:
        return np.ones(shape, np.float32)
    embedding = name.startswith(("wte", "wpe", "lm_head"))
    deviation = 0.02 if embedding else shape[0]**-0.5
    if name.endswith("c_proj.weight"):
        deviation /= (2 * layers)**0.5
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return generator.normal(0, deviation, shape).astype(np.float32)


def initial(args):
    return {name: initial_value(name, shape, args.layers)
            for name, shape in shapes(args).items()}


def main():
    import safetensors.numpy

    import measure
    parser = measure.options(__doc__)
    parser.add_argument("--out", required=True, help="file to write")
    args = parser.parse_args()
    safetensors.numpy.save_file(initial(args), args.out)


if __name__ == "__main__":
    main()
