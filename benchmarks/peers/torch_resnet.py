# torch_resnet.py - peer of the row of ResNet-18: PyTorch on one device.
#
# SPDX-License-Identifier: Apache-2.0
"""Trains a residual network in PyTorch, eager or compiled. Prints JSON."""

import argparse
import os

import numpy as np
import torch
from safetensors.torch import load_file

import images
import torch_common


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in dict(depth=18, batch=32, classes=10, threads=2,
                            warmup=3, steps=10).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--norm", default="batch")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--data", required=True, help="images.npy, labels.npy")
    parser.add_argument("--parameters", required=True)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = images.ResNet(args.depth, args.norm, args.classes)
    model.load_state_dict(load_file(args.parameters))
    layout = (torch.channels_last if args.channels_last
              else torch.contiguous_format)
    model = model.to(memory_format=layout)
    load = lambda name: torch.from_numpy(
        np.load(os.path.join(args.data, name + ".npy")))
    pictures = load("images").permute(0, 3, 1, 2).contiguous(memory_format=layout)
    labels = load("labels").long()
    steps = [slice(i * args.batch, (i + 1) * args.batch)
             for i in range(args.warmup + args.steps)]

    def forward(x, y):
        return torch.nn.functional.cross_entropy(model(x), y)

    torch_common.time_training(
        ", channels last" if args.channels_last else "", args,
        torch_common.adamw(model, args), forward,
        [[values[rows] for rows in steps] for values in (pictures, labels)])


if __name__ == "__main__":
    main()
