# _experts.py - mixtures of experts of transformers.
#
# SPDX-License-Identifier: Apache-2.0
#
# What transformers does with the tokens of an expert has shapes that depend on
# data, or makes a copy of an expert for each token. Here each expert computes
# every token, and a token's shares weigh the results: the same values, by
# products whose experts (`ep`) and columns (`tp`) devices can split.
"""Each expert on all tokens, as ops of our own and what these are in pp."""

import contextlib
import sys

import torch

from ._aten import op
from ._gradients import LIBRARY

LIBRARY.define("expert_tokens(Tensor x, str name) -> Tensor")
LIBRARY.impl("expert_tokens", lambda x, name: x.clone(), "CompositeExplicitAutograd")
LIBRARY.define("expert_columns(Tensor x, Tensor weight, Tensor? bias, bool is_transposed) -> Tensor")
LIBRARY.define("expert_sums(Tensor x, Tensor share, Tensor weight, Tensor? bias, bool is_transposed) -> Tensor")
NAME = "pp"  # of this implementation, among those of transformers


def _inner_first(weight, is_transposed):
    """[expert, in, out]"""
    return weight if is_transposed else weight.transpose(1, 2)


def _expert_columns(x, weight, bias, is_transposed):
    """[expert, token, out] of x, which is [1, token, in]."""
    y = x @ _inner_first(weight, is_transposed)
    return y if bias is None else y + bias[:, None]


def _expert_sums(x, share, weight, bias, is_transposed):
    """[1, token, out] of x, which is [expert, token, in], and the shares [token, expert]."""
    y = torch.einsum("eti,eio->to", x * share.T[..., None], _inner_first(weight, is_transposed))
    return (y if bias is None else y + share @ bias)[None]


LIBRARY.impl("expert_columns", _expert_columns, "CompositeExplicitAutograd")
LIBRARY.impl("expert_sums", _expert_sums, "CompositeExplicitAutograd")


def all_experts(module, tokens, index, weights):
    """An experts function of transformers, for tokens [token, hidden] and the chosen
    experts and their weights [token, choice]."""
    ops = torch.ops.pp
    bias = (lambda name: getattr(module, name)) if module.has_bias else lambda name: None
    numbers = torch.arange(module.num_experts, device=index.device)
    share = ((index[..., None] == numbers) * weights[..., None]).sum(1).to(tokens.dtype)
    x = ops.expert_tokens(tokens[None], "tokens")
    if module.has_gate:
        h = module._apply_gate(ops.expert_columns(x, module.gate_up_proj, bias("gate_up_proj_bias"),
                                                  module.is_transposed))
    else:
        h = module.act_fn(ops.expert_columns(x, module.up_proj, bias("up_proj_bias"), module.is_transposed))
    y = ops.expert_sums(h, share, module.down_proj, bias("down_proj_bias"), module.is_transposed)
    return ops.expert_tokens(y, "mixed")[0]


@contextlib.contextmanager
def on_all_tokens(module):
    """Meanwhile, mixtures of experts compute as above."""
    interface = sys.modules.get("transformers.integrations.moe")
    parts = [part for part in module.modules() if hasattr(type(part), "_apply_gate")] if interface else []
    for part in parts:
        if part.has_post_expert_norm:
            parts = []  # which is not linear in the shares: as the configuration says
    before = [(part.config, part.config._experts_implementation) for part in parts]
    if parts:
        interface.ALL_EXPERTS_FUNCTIONS.register(NAME, all_experts)
    try:
        for config, _ in before:
            config._experts_implementation = NAME
        yield
    finally:
        for config, implementation in reversed(before):
            config._experts_implementation = implementation


# What they are in pp.


@op("expert_tokens.default")
def expert_tokens(x, out, a, name):
    return x.name(name, a, ["expert", "batch", ""])


def columns_of(x, a, weight, bias, is_transposed, groups=1):
    """The product, [expert, token, out], with `out` as [groups, columns] if these
    are several; None if the parameters are used elsewhere, too."""
    g, column = x.graph, 2 if is_transposed else 1
    if groups > 1:
        if not all(x.is_used_once(v) for v in (weight, bias) if v is not None):
            return None
        for value, place in ((weight, column), (bias, 1)):
            if value is not None:
                shape = value.shape
                x.store_as(value, (*shape[:place], groups, shape[place] // groups, *shape[place + 1:]))
    for value in (weight, bias):
        if value is not None:
            x.name_dims(value, ["expert"] + [""] * (value.rank - 1))
    inner = 1 if is_transposed else weight.rank - 1
    y = g.dot(g.reshape(a, a.shape[1:]), weight, ([], []), ([1], [inner]))
    y = g.transpose(y, [1, 0, *range(2, y.rank)])
    return y if bias is None else g.binary("add", y, g.broadcast(bias, [0, *range(2, y.rank)], y.shape))


@op("expert_columns.default")
def expert_columns(x, out, a, weight, bias, is_transposed):
    return columns_of(x, a, weight, bias, is_transposed)


@op("expert_sums.default")
def expert_sums(x, out, a, share, weight, bias, is_transposed):
    g = x.graph
    for value in (weight, bias):
        if value is not None:
            x.name_dims(value, ["expert"] + [""] * (value.rank - 1))
    weighed = g.binary("mul", a, g.broadcast(g.transpose(share, [1, 0]), [0, 1], a.shape))
    y = g.dot(weighed, weight, ([], []), ([0, 2], [0, 1 if is_transposed else 2]))
    if bias is not None:
        y = g.binary("add", y, g.dot(share, bias, ([], []), ([1], [0])))
    return g.reshape(y, out.shape)
