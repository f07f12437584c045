# _attention.py - torch.nn.MultiheadAttention, the batch before the sequence.
#
# SPDX-License-Identifier: Apache-2.0
#
# PyTorch's function merges batch and heads into one dimension behind the sequence,
# and its output's rows have the sequence before the batch: no device could take a
# part of the batch. Here the dimensions stay apart, and query, key and value are
# equal parts of a product's columns, whose heads devices can split.
"""Multi-head attention with dimensions that stay apart."""

import contextlib
import functools

import torch
import torch.nn.functional as F
from torch.nn.modules import transformer

def _attend(original, query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k,
            bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
            need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
            k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True,
            is_causal=False):
    """What `original`, PyTorch's function, computes, with its names; inputs are [sequence, batch, hidden]."""
    is_plain = query.dim() == 3 and bias_k is None and static_k is None and static_v is None and not add_zero_attn
    if not is_plain or (is_causal and attn_mask is None):
        return original(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                        add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training, key_padding_mask,
                        need_weights, attn_mask, use_separate_proj_weight, q_proj_weight, k_proj_weight,
                        v_proj_weight, static_k, static_v, average_attn_weights, is_causal)
    q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias, (q_proj_weight, k_proj_weight, v_proj_weight)
                       if use_separate_proj_weight else None)
    q, k, v = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))
    mask = _mask(attn_mask, key_padding_mask, q, k.shape[2])
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        weights = (scores if mask is None else scores + mask).softmax(-1)
        weights = F.dropout(weights, dropout_p) if dropout_p else weights
        mixed = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        mixed, weights = F.scaled_dot_product_attention(q, k, v, mask, dropout_p), None
    y = F.linear(mixed.transpose(1, 2).flatten(2), out_proj_weight, out_proj_bias)
    return y.transpose(0, 1), weights


def _project(query, key, value, weight, bias, weights):
    """Query, key and value, [batch, sequence, hidden]."""
    if weights is None and query is key and key is value:
        return F.linear(query.transpose(0, 1), weight, bias).chunk(3, -1)
    hidden = query.shape[-1]
    if weights is None:
        weights = weight.view(3, hidden, hidden).unbind(0)
    biases = (None,) * 3 if bias is None else bias.view(3, hidden).unbind(0)
    return [F.linear(x.transpose(0, 1), w, b) for x, w, b in zip((query, key, value), weights, biases)]


def _mask(mask, padding, q, keys):
    """What is added to scores, that broadcasts to [batch, head, sequence, key]."""
    batch, heads, queries, _ = q.shape
    if mask is not None:
        expected = (queries, keys) if mask.dim() == 2 else (batch * heads, queries, keys)
        if mask.shape != expected:
            raise RuntimeError(f"expects attn_mask of shape {[queries, keys]} or {[batch * heads, queries, keys]}, got "
                               f"{list(mask.shape)}")
        mask = _summand(mask, q)
        mask = mask.view(*q.shape[:2], *mask.shape[1:]) if mask.dim() == 3 else mask
    if padding is None:
        return mask
    if padding.shape != (batch, keys):
        raise RuntimeError(f"expects key_padding_mask of shape {[batch, keys]}, got {list(padding.shape)}")
    padding = _summand(padding, q)[:, None, None, :]
    return padding if mask is None else mask + padding


def _summand(mask, q):
    if mask.dtype is not torch.bool:
        return mask.to(q.dtype)
    return torch.zeros_like(mask, dtype=q.dtype).masked_fill(mask, float("-inf"))


@contextlib.contextmanager
def batch_first():
    """Meanwhile, multi-head attention is computed as above."""
    before = F.multi_head_attention_forward, transformer._detect_is_causal_mask
    F.multi_head_attention_forward = functools.wraps(before[0])(
        lambda *args, **kwargs: _attend(before[0], *args, **kwargs))
    # It looks at a mask's values only to use another kernel.
    transformer._detect_is_causal_mask = lambda mask, is_causal=None, size=None: bool(is_causal)
    try:
        yield
    finally:
        F.multi_head_attention_forward, transformer._detect_is_causal_mask = before
