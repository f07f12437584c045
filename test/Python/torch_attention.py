#!/usr/bin/env python3
# torch_attention.py - PyTorch's multi-head attention as exports compute it.
#
# SPDX-License-Identifier: Apache-2.0
#
# Every form of nn.MultiheadAttention with its own dimensions apart gives PyTorch's
# output, weights and gradients in f64, or refuses what PyTorch refuses. Needs torch;
# without it the test is skipped.
"""Compares pp's multi-head attention with PyTorch's."""
import sys

import peers

peers.need("torch")
import torch  # noqa: E402 (found through the line above)

import pp
from pp._attention import batch_first

BATCH, QUERIES, KEYS, HIDDEN, HEADS = 3, 4, 5, 8, 2
ANY = torch.randn(QUERIES, KEYS).double()
CAUSAL = torch.nn.Transformer.generate_square_subsequent_mask(QUERIES)
PADDED = torch.zeros(BATCH, KEYS, dtype=torch.bool)
PADDED[1, 3:] = True
SELF = {"is_self": True}
# Options of the module, those of its call, and whether query, key and value are one.
CASES = [
    ({}, {}),
    ({"bias": False}, {"need_weights": False}),
    ({"batch_first": True}, {"average_attn_weights": False}),
    ({"kdim": 6, "vdim": 7}, {}),
    ({"add_bias_kv": True}, {}),
    ({"add_zero_attn": True}, {}),
    ({}, {"attn_mask": ANY}),
    ({}, {"attn_mask": ANY > 0.5}),
    ({}, {"attn_mask": ANY.expand(BATCH * HEADS, -1, -1)}),
    ({}, {"key_padding_mask": PADDED}),
    ({}, {"key_padding_mask": PADDED, "attn_mask": ANY, "need_weights": False}),
    ({}, {"attn_mask": CAUSAL.double(), "is_causal": True, **SELF}),
    ({}, {"attn_mask": CAUSAL.double(), "is_causal": True, "need_weights": False, **SELF}),
    ({}, {"unbatched": True}),
    ({}, {"attn_mask": ANY[:, :-1]}),
    ({}, {"attn_mask": ANY.expand(2 * BATCH * HEADS, -1, -1)}),
    ({}, {"key_padding_mask": PADDED[:-1]}),
    ({}, {"is_causal": True, **SELF}),
]


def run(module, call):
    """Output, weights and gradients; the text of an error."""
    torch.manual_seed(1)
    options = dict(call)
    sizes = [(QUERIES, module.embed_dim), (KEYS, module.kdim), (KEYS, module.vdim)]
    batch = () if options.pop("unbatched", False) else (BATCH,)
    inputs = [torch.randn(*batch, *size).double() for size in sizes]
    if batch and not module.batch_first:
        inputs = [x.transpose(0, 1) for x in inputs]
    if options.pop("is_self", False):
        inputs = inputs[:1] * 3
    module.zero_grad()
    try:
        output, weights = module(*inputs, **options)
    except (RuntimeError, AssertionError) as error:
        return str(error)
    (output.sin().sum() + (0 if weights is None else weights.cos().sum())).backward()
    return [output, weights, *(p.grad for p in module.parameters())]


def compare(options, call):
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(HIDDEN, HEADS, **options).double()
    theirs = run(module, call)
    theirs = theirs if isinstance(theirs, str) else [None if x is None else x.clone() for x in theirs]
    with batch_first():
        ours = run(module, call)
    if isinstance(ours, str) or isinstance(theirs, str):
        return "" if isinstance(ours, str) and isinstance(theirs, str) else f"got {str(ours)[:80]}, and of PyTorch {str(theirs)[:80]}"
    far = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True))
           if (a is None) != (b is None) or a is not None and (a.shape != b.shape or (a - b).abs().max() > 1e-12)]
    return f"results {far} differ" if far else ""


class Masked(torch.nn.Module):
    """An encoder whose mask PyTorch inspects for being causal."""

    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(HIDDEN, HEADS, 16, dropout=0.0, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.register_buffer("mask", CAUSAL)

    def forward(self, x):
        return self.encoder(x, mask=self.mask)


def main():
    errors = [f"{options} {list(call)}: {error}" for options, call in CASES if (error := compare(options, call))]
    pp.torch.export(Masked(), torch.nn.functional.mse_loss,
                    (torch.randn(BATCH, QUERIES, HIDDEN), torch.randn(BATCH, QUERIES, HIDDEN)))
    print("\n".join(errors) or f"{len(CASES)} forms of attention are PyTorch's")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
