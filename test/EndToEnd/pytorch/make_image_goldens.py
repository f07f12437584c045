# make_image_goldens.py - PyTorch's numbers of networks on images.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: nothing. Out, beside this file: images.json, and for each of its cases
# initial and final parameters, with the running statistics of batch norm, in
# f64. Batches are written below images/. See README.md for the rules.
"""Records a few training steps of PyTorch. Needs torch and safetensors."""

import os
import sys
import zlib

import numpy as np
import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../benchmarks/peers"))
import images  # noqa: E402 (found through the line above)
import make_goldens  # noqa: E402

OPTIMIZER = dict(optimizer="momentum", lr=0.02, momentum=0.9)
CASES = {
    "resnet-batch": ("resnet", dict(depth=18, image=32, classes=7, batch=4,
                                    width=4, norm="batch")),
    "unet": ("unet", dict(depth=2, image=12, channels=3, classes=3, batch=4,
                          width=4, groups=2)),
}


def build(family, sizes):
    """Values of everyday size, so that what is left out or applied twice shows
    in the loss."""
    model = images.build(family, **{k: v for k, v in sizes.items()
                                    if k not in ("image", "batch")}).double()
    with torch.no_grad():
        for name, value in model.named_parameters():
            generator = np.random.default_rng(zlib.crc32(name.encode()))
            fan = value[0].numel() if value.dim() > 1 else 0
            mean = 1.0 if value.dim() == 1 and name.endswith("weight") else 0.0
            deviation = (2 / fan)**0.5 if fan else 0.2
            value.copy_(torch.from_numpy(
                generator.normal(mean, deviation, tuple(value.shape))))
    return model


def make_batches(family, sizes, folder):
    """images.npy, [steps * batch, height, width, channels], and labels.npy."""
    rng = np.random.default_rng(7)
    side, count = sizes["image"], make_goldens.STEPS * sizes["batch"]
    pictures = rng.normal(0, 1, (count, side, side, sizes.get("channels", 3)))
    shape = (count,) if family == "resnet" else (count, side, side)
    labels = rng.integers(0, sizes["classes"], shape, dtype=np.int32)
    os.makedirs(folder, exist_ok=True)
    # What f32 holds exactly takes half the room.
    pictures = pictures.astype(np.float32)
    np.save(os.path.join(folder, "images.npy"), pictures)
    np.save(os.path.join(folder, "labels.npy"), labels)
    split = (make_goldens.STEPS, sizes["batch"])
    pictures = torch.from_numpy(pictures).double().permute(0, 3, 1, 2)
    return (pictures.reshape(*split, *pictures.shape[1:]),
            torch.from_numpy(labels).long().reshape(*split, *labels.shape[1:]))


def train(family, sizes, pictures, labels):
    model = build(family, sizes)
    optimizer = torch.optim.SGD(model.parameters(), lr=OPTIMIZER["lr"],
                                momentum=OPTIMIZER["momentum"])
    losses = []
    for x, y in zip(pictures, labels):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model


def save(model, name):
    tensors = {k: v.detach().contiguous() for k, v in model.state_dict().items()}
    save_file(tensors, os.path.join(HERE, name))
    os.chmod(os.path.join(HERE, name), 0o644)
    return name


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    cases = []
    for name, (family, sizes) in CASES.items():
        data = os.path.join("images", family)
        batches = make_batches(family, sizes, os.path.join(HERE, data))
        initial = save(build(family, sizes), f"{name}-initial.safetensors")
        losses, model = train(family, sizes, *batches)
        cases.append({"name": name, "family": family, "model": sizes,
                      "options": OPTIMIZER, "data": data, "initial": initial,
                      "final": save(model, f"{name}.safetensors"),
                      "losses_f64": losses})
        print(f"{name:14} loss {losses[0]:.6f} -> {losses[-1]:.6f}")
    make_goldens.write_cases("images.json", {}, cases)


if __name__ == "__main__":
    main()
