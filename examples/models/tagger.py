#!/usr/bin/env python3
"""Checks tagger.mlir against NumPy: the loss, and its gradient along random directions.

SPDX-License-Identifier: Apache-2.0

  python3 tagger.py tagger.mlir pp-run

In f64, where a loss that is right agrees to about 1e-15, and slopes to what differences allow. A
step of plain descent with the rate 1 takes the gradient away, so that the saved parameters tell
it. Needs numpy, safetensors.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

model, pp_run = Path(sys.argv[1]), sys.argv[2]
random = np.random.default_rng(0)
weights = {name: random.normal(0, 0.3, shape)
           for name, shape in {"embed.weight": (64, 32), "ff.up.weight": (32, 96), "ff.down.weight": (48, 32),
                               "head.weight": (32, 8)}.items()}
tokens, labels = random.integers(64, size=(8, 16), dtype=np.int32), random.integers(8, size=(8, 16), dtype=np.int32)


def loss(weights):
    x = weights["embed.weight"][tokens]
    gate, value = np.split(x @ weights["ff.up.weight"], 2, axis=-1)
    y = x + (gate / (1 + np.exp(-gate)) * value) @ weights["ff.down.weight"]
    logits = y @ weights["head.weight"]
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return -np.take_along_axis(logs, labels[..., None], -1).mean()


with tempfile.TemporaryDirectory() as folder:
    place = Path(folder)
    (place / "model.mlir").write_text(model.read_text().replace("f32", "f64"))
    np.save(place / "tokens.npy", tokens)
    np.save(place / "labels.npy", labels)
    save_file(weights, place / "before.safetensors")
    subprocess.run([pp_run, place / "model.mlir", "--parallelize=optimizer=sgd lr=1", "--steps=1", f"--data=npy:{place}",
                    f"--parameters={place}/before.safetensors", f"--save={place}/after.safetensors",
                    f"--report={place}/report.json", "--quiet"], check=True)
    ours = json.loads((place / "report.json").read_text())["steps"][0]["loss"]
    after = load_file(place / "after.safetensors")

of_loss, of_slopes = abs(ours / loss(weights) - 1), 0.0
for _ in range(4):
    way = {name: random.normal(size=value.shape) for name, value in weights.items()}
    slope = sum(((weights[name] - after[name]) * way[name]).sum() for name in way)
    ahead, behind = (loss({name: weights[name] + step * way[name] for name in way}) for step in (1e-5, -1e-5))
    of_slopes = max(of_slopes, abs(slope / ((ahead - behind) / 2e-5) - 1))
print(f"the loss differs by {of_loss:.0e}, slopes by {of_slopes:.0e}")
sys.exit(1 if of_loss > 1e-12 or of_slopes > 1e-6 else 0)
