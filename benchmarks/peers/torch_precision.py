# torch_precision.py - peer of precision.py: PyTorch in f64, in f32, or with autocast.
#
# SPDX-License-Identifier: Apache-2.0
#
# Parameters are in f32 under autocast, which bf16 and f16 mean here; f16 also scales the loss, as GradScaler does by
# default, and skips steps whose gradients are not finite.
"""Trains GPT from given parameters in one precision. Prints JSON: the losses."""

import json

import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file

import gpt
import measure
import torch_common

LOW = {"bf16": torch.bfloat16, "f16": torch.float16}


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--precision", choices=("f64", "f32", *LOW), required=True)
    parser.add_argument("--optimizer", choices=("adamw", "sgd"), default="adamw")
    parser.add_argument("--parameters", required=True, help="file to start from")
    parser.add_argument("--save", help="file for the parameters at the end")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = gpt.GPT(args).load(load_file(args.parameters))
    if args.precision == "f64":
        model.double()
    optimizer = (torch_common.adamw(model, args) if args.optimizer == "adamw"
                 else torch.optim.SGD(model.parameters(), lr=args.lr))
    scaler = torch.amp.GradScaler("cpu", enabled=args.precision == "f16")
    losses = []
    for tokens, labels in zip(*torch_common.batches(args)):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", LOW.get(args.precision), enabled=args.precision in LOW):
            loss = gpt.cross_entropy(model(tokens), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    if args.save:
        save_file({name: value.detach() for name, value in model.named_parameters()}, args.save)
    print(json.dumps({"losses": losses}))


if __name__ == "__main__":
    main()
