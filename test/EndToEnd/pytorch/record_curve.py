# record_curve.py - PyTorch's loss curve of the main job.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: the initial parameters that `pp-run --steps=0 --save=FILE` wrote for
# `pp-model gpt` of the dimensions below, and the text. Out: curve.json, the
# loss of each step before its update. The batches follow the rule of
# `pp-run --data=text:FILE`, which benchmarks/peers/measure.py writes down.
"""Trains the main job's GPT in PyTorch, f32, and records its losses."""

import json
import os
import sys

import torch
from safetensors.numpy import load_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../benchmarks/peers"))
import gpt  # noqa: E402 (found through the line above)
import measure  # noqa: E402


def load(model, path):
    arrays = load_file(path)
    expected = {name for name, _ in model.named_parameters()}
    if arrays.keys() != expected:
        sys.exit(f"error: {path}: expects the parameters "
                 f"{sorted(expected)}, got {sorted(arrays)}")
    return model.load(arrays)


def main():
    parser = measure.options(__doc__)
    parser.set_defaults(steps=800, warmup=0)
    parser.add_argument("--parameters", required=True,
                        help="initial values, a .safetensors file")
    parser.add_argument("--out", default=os.path.join(HERE, "curve.json"))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = load(gpt.GPT(args), args.parameters)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    tokens, labels = measure.text_batches(args.data, args.steps, args.batch,
                                          args.seq)
    losses = []
    for i in range(args.steps):
        optimizer.zero_grad()
        loss = gpt.cross_entropy(model(torch.from_numpy(tokens[i]).long()),
                                 torch.from_numpy(labels[i]).long())
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 6))
        if i % 50 == 0:
            print(f"step {i}: loss {losses[-1]:.4f}", flush=True)
    keys = ("layers", "hidden", "heads", "seq", "batch", "vocab", "tied", "lr")
    with open(args.out, "w") as out:
        json.dump({"torch": torch.__version__, "optimizer": "adamw",
                   "model": {key: getattr(args, key) for key in keys},
                   "losses": losses}, out)
        out.write("\n")


if __name__ == "__main__":
    main()
