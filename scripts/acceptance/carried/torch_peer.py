"""PyTorch on the model, batches and parameters of pp, beside part `speed`.

SPDX-License-Identifier: Apache-2.0

Attention is scaled_dot_product_attention, the optimizer fused AdamW. `--mode` says
what is rounded: autocast (parameters and optimizer in f32, products in bf16), bf16
(all of it), tf32 or f32; and whether torch.compile is used. For each line that is
read a round of steps is made, the first one behind the warm-up, and a line of JSON
printed. Needs no numpy.
"""
import argparse
import json
import struct
import sys
import time

import gpt
import torch

TYPES = {"F32": torch.float32, "F64": torch.float64, "BF16": torch.bfloat16,
         "F16": torch.float16}


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in "layers", "hidden", "heads", "seq", "batch", "vocab", "warmup", "steps":
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in "mode", "device", "initial", "data":
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    args.tied = True
    return args


def read(path):
    """A safetensors file's tensors, by name."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] in TYPES and end > begin:
            found[name] = torch.frombuffer(data, dtype=TYPES[entry["dtype"]], offset=begin,
                                           count=(end - begin) //
                                           TYPES[entry["dtype"]].itemsize)
    return found


class Batches:
    """The rule of pp-run --data=text:FILE: bytes are tokens, labels the next ones."""

    def __init__(self, args):
        with open(args.data, "rb") as file:
            self.text = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).long()
        self.args = args

    def of(self, step):
        batch, seq = self.args.batch, self.args.seq
        rows = torch.arange(step * batch, (step + 1) * batch)
        index = ((rows * seq) % (len(self.text) - seq - 1))[:, None] + torch.arange(seq)
        return self.text[index].to(self.args.device), self.text[index + 1].to(self.args.device)


class Training:
    def __init__(self, args):
        modes = args.mode.split()
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "tf32" in modes
        values = read(args.initial)
        model = gpt.GPT(args)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(values[name].reshape(parameter.shape))
        model = model.to(args.device, torch.bfloat16 if "bf16" in modes else torch.float32)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        self.batches, self.made, self.device = Batches(args), 0, args.device
        self.casts = "autocast" in modes

        def forward(x, y):
            return gpt.cross_entropy(model(x), y)

        self.forward = torch.compile(forward) if "compile" in modes else forward

    def step(self):
        x, y = self.batches.of(self.made)
        self.made += 1
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.casts):
            loss = self.forward(x, y)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def round(self, count):
        times = []
        for _ in range(count):
            begun = time.perf_counter()
            loss = self.step()
            times.append(1e3 * (time.perf_counter() - begun))
        if self.device == "cuda":
            torch.cuda.empty_cache()  # others take their turns
        return {"ms": times, "loss": loss}


def main():
    args = options()
    training = Training(args)
    for number, _ in enumerate(sys.stdin):
        its = training.round(args.steps + (0 if number else args.warmup))
        its["ms"] = its["ms"][-args.steps:]
        print(json.dumps(its), flush=True)


if __name__ == "__main__":
    main()
