# gpt.py - the model of all PyTorch peers, and of the recorded numbers in test/.
#
# SPDX-License-Identifier: Apache-2.0
#
# Pre-norm GPT-2 with the parameter names and shapes of Hugging Face, which are
# those of `pp-model gpt`: learned positions, biases, tanh GELU, layer norm
# epsilon 1e-5. A model may hold a slice of the layers: a pipeline stage.
"""GPT-2 in PyTorch, as a whole or as one pipeline stage."""

import torch
from torch import nn
from torch.nn import functional as F


class Conv1D(nn.Module):
    """x @ weight + bias with weight [in, out], as GPT-2 stores it."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        y = torch.addmm(self.bias, rows, self.weight)
        return y.view(*x.shape[:-1], -1)


class Attention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = Conv1D(hidden, 3 * hidden)
        self.c_proj = Conv1D(hidden, hidden)

    def forward(self, x):
        batch, seq, hidden = x.shape
        q, k, v = (t.view(batch, seq, self.heads, -1).transpose(1, 2)
                   for t in self.c_attn(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(batch, seq, hidden))


class MLP(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.c_fc = Conv1D(hidden, 4 * hidden)
        self.c_proj = Conv1D(4 * hidden, hidden)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(hidden, eps=1e-5)
        self.attn = Attention(hidden, heads)
        self.ln_2 = nn.LayerNorm(hidden, eps=1e-5)
        self.mlp = MLP(hidden)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """The layers [first, last) of the model; all of them unless told.

    The stage with layer 0 embeds tokens, the one with the last layer returns
    logits; between stages travel activations [batch, seq, hidden]. A last
    stage without the first has a copy of a tied embedding as its lm_head.
    """

    def __init__(self, args, first=0, last=None):
        super().__init__()
        last = args.layers if last is None else last
        self.embeds, self.projects = first == 0, last == args.layers
        self.shares_embedding = args.tied and self.embeds
        if self.embeds:
            self.wte = nn.Embedding(args.vocab, args.hidden)
            self.wpe = nn.Embedding(args.seq, args.hidden)
        self.h = nn.ModuleDict({str(i): Block(args.hidden, args.heads)
                                for i in range(first, last)})
        if self.projects:
            self.ln_f = nn.LayerNorm(args.hidden, eps=1e-5)
            if not self.shares_embedding:
                self.lm_head = nn.Linear(args.hidden, args.vocab, bias=False)

    def load(self, arrays):
        """Takes this model's parameters out of numpy arrays by name."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name == "lm_head.weight" and name not in arrays:
                    name = "wte.weight"
                parameter.copy_(torch.from_numpy(arrays[name]))
        return self

    def forward(self, x):
        if self.embeds:
            x = self.wte(x) + self.wpe.weight
        for block in self.h.values():
            x = block(x)
        if not self.projects:
            return x
        x = self.ln_f(x)
        if self.shares_embedding:
            return F.linear(x, self.wte.weight)
        return self.lm_head(x)


def cross_entropy(logits, labels):
    """The mean over all tokens."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())
