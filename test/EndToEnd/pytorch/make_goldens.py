# make_goldens.py - the numbers of another implementation, for our tests.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: nothing. Out, beside this file: initial parameters and batches of a tiny
# GPT-2, and for each case of goldens.json what PyTorch makes of them: losses
# in f64 and f32, and the final parameters in f64. See README.md for the rules.
"""Records a few training steps of PyTorch. Needs torch and safetensors."""

import argparse
import json
import math
import os
import sys
import zlib

import numpy as np
import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../benchmarks/peers"))
import gpt  # noqa: E402 (found through the line above)
import parameters  # noqa: E402

STEPS = 5
MODEL = dict(layers=3, hidden=16, heads=2, seq=8, batch=8, vocab=32)

# Names and values of the optimizer options are those of pp's `parallelize`.
OPTIMIZERS = {
    "sgd": dict(optimizer="sgd", lr=0.1),
    "momentum": dict(optimizer="momentum", lr=0.05, momentum=0.9),
    "adam": dict(optimizer="adam", lr=0.01),
    "adamw": dict(optimizer="adamw", lr=0.01),
    # Between the norms of AdamW: some of its steps are clipped, some are not.
    "sgd-clip": dict(optimizer="sgd", lr=0.1, clip=1.0),
    "adamw-clip": dict(optimizer="adamw", lr=0.01, clip=1.0),
    "adamw-cosine": dict(optimizer="adamw", lr=0.01, warmup=2,
                         decay="cosine", steps=10),
}
# An optimizer knows nothing of ties: of untied models two do.
UNTIED = "sgd", "adamw"


def build(tied, dtype):
    """Values of everyday size, biases and norms included, so that a parameter
    that is left out or applied twice shows in the loss."""
    dimensions = argparse.Namespace(**MODEL, tied=tied)
    arrays = {}
    for name, shape in parameters.shapes(dimensions).items():
        mean = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
        generator = np.random.default_rng(zlib.crc32(name.encode()))
        arrays[name] = generator.normal(mean, 0.2, shape)
    return gpt.GPT(dimensions).double().load(arrays).to(dtype)


def make_optimizer(model, options):
    kind, lr = options["optimizer"], options["lr"]
    trained = model.parameters()
    if kind == "adam":
        return torch.optim.Adam(trained, lr=lr)
    if kind == "adamw":
        return torch.optim.AdamW(trained, lr=lr)
    return torch.optim.SGD(trained, lr=lr,
                           momentum=options.get("momentum", 0.0))


def learning_rate(options, t):
    """The rate of step t, counted from 1: rises linearly over `warmup` steps,
    then stays, or falls to 0 at `steps` along half a cosine."""
    lr, warmup = options["lr"], options.get("warmup", 0)
    if t <= warmup:
        return lr * t / warmup
    if options.get("decay", "constant") == "constant":
        return lr
    progress = min(1.0, (t - warmup) / (options["steps"] - warmup))
    return lr * 0.5 * (1 + math.cos(math.pi * progress))


def train(tied, options, dtype, tokens, labels):
    """Returns the losses and the model after STEPS."""
    model = build(tied, dtype)
    optimizer = make_optimizer(model, options)
    losses = []
    for i in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(options, i + 1)
        optimizer.zero_grad()
        loss = gpt.cross_entropy(model(tokens[i]), labels[i])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(),
                                       options.get("clip", float("inf")))
        optimizer.step()
        losses.append(loss.item())
    return losses, model


def make_batches():
    """tokens.npy and labels.npy: [steps * batch, seq], consumed in order."""
    rng = np.random.default_rng(7)
    shape = (STEPS * MODEL["batch"], MODEL["seq"])
    os.makedirs(os.path.join(HERE, "data"), exist_ok=True)
    for name in "tokens", "labels":
        values = rng.integers(0, MODEL["vocab"], shape, dtype=np.int32)
        np.save(os.path.join(HERE, "data", name + ".npy"), values)
        steps = values.reshape(STEPS, MODEL["batch"], MODEL["seq"])
        yield torch.from_numpy(steps).long()


def save(model, name):
    tensors = {k: v.detach().contiguous() for k, v in model.named_parameters()}
    path = os.path.join(HERE, name)
    save_file(tensors, path)
    os.chmod(path, 0o644)
    return name


def write_cases(name, facts, cases):
    """A line for each case."""
    head = {"torch": torch.__version__, "steps": STEPS, **facts}
    with open(os.path.join(HERE, name), "w") as out:
        out.write(json.dumps(head)[:-1] + ', "cases": [\n' +
                  ",\n".join(map(json.dumps, cases)) + "\n]}\n")


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    tokens, labels = make_batches()
    cases = []
    for tied in False, True:
        embeddings = "tied" if tied else "untied"
        initial = save(build(tied, torch.float64),
                       f"{embeddings}-initial.safetensors")
        for name, options in OPTIMIZERS.items():
            if not tied and name not in UNTIED:
                continue
            losses, model = train(tied, options, torch.float64, tokens, labels)
            losses32, _ = train(tied, options, torch.float32, tokens, labels)
            case = f"{embeddings}-{name}"
            cases.append({
                "name": case, "model": {"tied": tied}, "options": options,
                "initial": initial,
                # Clipping and rates change factors, which the losses show.
                **({} if "-" in name else
                   {"final": save(model, case + ".safetensors")}),
                "losses_f64": losses, "losses_f32": losses32,
            })
            print(f"{case:22} loss {losses[0]:.6f} -> {losses[-1]:.6f}, "
                  f"f32 differs by "
                  f"{max(abs(a - b) for a, b in zip(losses, losses32)):.1e}")
    write_cases("goldens.json", {"family": "gpt", "model": MODEL}, cases)


if __name__ == "__main__":
    main()
