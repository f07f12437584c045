#!/usr/bin/env python3
# torch_names.py - the text of exported models: names, roles, places, constants.
#
# SPDX-License-Identifier: Apache-2.0
#
# torch_models.py compares numbers; this test compares what plans and remarks rely
# on. Needs torch.
"""Looks at the text of exported models."""
import re
import sys

import peers

peers.need("torch")
import torch  # noqa: E402 (found through the line above)
import torch.nn.functional as F

import pp


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(8, 24)
        self.out = torch.nn.Linear(8, 8)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        q, k, v = (a.unflatten(-1, (2, 4)).transpose(1, 2) for a in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).flatten(2))


class Model(torch.nn.Module):
    """Tied embeddings, a frozen bias, dropout, and a block that is called twice, whose
    product so stays as it is."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.block, self.other = Block(), Block()
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(8, 16)
        self.head.weight = self.embed.weight
        self.head.bias.requires_grad_(False)
        self.unread = torch.nn.Parameter(torch.ones(3))

    def forward(self, tokens):
        return self.head(self.drop(self.other(self.block(self.block(self.embed(tokens))))))


def loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


HERE = r'"[^"]*torch_names\.py":\d+:9'
EXPECTED = [
    # Arguments.
    r'tensor<16x8xf32> \{pp.name = "embed.weight", pp.role = #pp.role<param>, pp.init = #pp.init<normal, ',
    r'tensor<3x8x8xf32> \{pp.name = "other.qkv.weight".*pp.stored_shape = array<i64: 24, 8>\}',
    r'tensor<3x8xf32> \{pp.name = "other.qkv.bias".*pp.stored_shape = array<i64: 24>\}',
    r'tensor<24x8xf32> \{pp.name = "block.qkv.weight".*\}',
    r'tensor<i64> \{pp.name = "block.calls", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>\}',
    r'tensor<4x6xi64> \{pp.name = "tokens", pp.role = #pp.role<input>, '
    r'pp.dims = \["batch", "sequence"\], pp.bound = 16\}',
    r'tensor<4x6xi64> \{pp.name = "labels", pp.role = #pp.role<label>, pp.dims = .*, pp.bound = 16\}',
    r'pp.name = "dropout.seed", pp.role = #pp.role<state>',
    # Results.
    r'tensor<f32> \{pp.name = "loss", pp.role = #pp.role<loss>\}',
    r'tensor<i64> \{pp.name = "block.calls", pp.role = #pp.role<state>\}',
    # Values, and what is known.
    r'pp.name %\d+ "embed.embedded" dims \["batch", "sequence", ""\]',
    r'pp.name %\d+ "block.query" dims \["batch", "head", "sequence", ""\]', r'"block.mixed.1" dims',
    r'pp.name %\d+ "logits" dims \["batch", "", ""\]',
    r'pp.iota dim 1 : tensor<6x6xi32>', r'pp.if_training %\d+ else %\d+',
    # Places.
    rf'loc\("block.qkv"\({HERE}\)\)', r'loc\("loss"\)',
]
FORBIDDEN = ["head.weight", "unread", "head.bias\", pp.role"]


def check(condition, message, problems):
    if not condition:
        problems.append(message)


def main():
    problems = []
    tokens = torch.zeros(4, 6, dtype=torch.long)
    model = pp.torch.export(Model(), loss, (tokens, tokens))
    for pattern in EXPECTED:
        check(re.search(pattern, model.text), f"expects {pattern!r}", problems)
    for text in FORBIDDEN:
        check(text not in model.text, f"expects no {text!r}", problems)
    kept = {f"{block}.{name}" for block in ("block", "other")
            for name in ("qkv.weight", "qkv.bias", "out.weight", "out.bias", "calls")} | {"embed.weight"}
    check(set(model.tensors) == kept, f"got tensors {list(model.tensors)}", problems)
    check(model.unused == ["unread"], f"got unused {model.unused}", problems)
    check(model.tensors["other.qkv.weight"][:2] == ("F32", (24, 8)), "expects the file to have PyTorch's shape",
          problems)
    check(model.batch == {"tokens": (4, 6), "labels": (4, 6)}, f"got batch {model.batch}", problems)
    if problems:
        print(model.text, *problems, sep="\n")
        return 1
    print("all names as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
