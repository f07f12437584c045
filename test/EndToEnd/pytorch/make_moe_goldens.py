# make_moe_goldens.py - PyTorch's numbers of a mixture of experts.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: nothing. Out, beside this file: moe.json, initial and final parameters,
# as make_goldens.py writes them for GPT-2. Tokens are routed one by one, as the
# definition in docs/Models.md says it, with none of pp's tensor operations.
"""Records a few training steps of PyTorch. Needs torch and safetensors."""

import argparse
import math
import zlib
from fractions import Fraction

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import make_goldens as common
from make_goldens import gpt

MODEL = dict(layers=2, hidden=8, heads=2, seq=8, batch=8, vocab=32)
MOE = {"experts": 4, "moe-every": 2}

# Options of pp-model and of `parallelize`. Capacities of the last two are 2:
# with 8 tokens, 4 experts and one or two choices most sequences drop some.
CASES = {
    "top1": ({"top-k": 1, "capacity-factor": 4.0}, "sgd"),
    "top2": ({"top-k": 2, "capacity-factor": 2.0}, "adamw"),
    "top1-dropping": ({"top-k": 1, "capacity-factor": 1.0,
                       "aux-weight": 0.1}, "adamw"),
    "top2-dropping": ({"top-k": 2, "capacity-factor": 0.5}, "sgd"),
    "every-block": ({"top-k": 2, "capacity-factor": 1.25, "moe-every": 1},
                    "sgd"),
}


class Linears(nn.Module):
    """One linear layer for each expert."""

    def __init__(self, experts, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(experts, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(experts, outputs))

    def forward(self, expert, x):
        return x @ self.weight[expert] + self.bias[expert]


class Router(nn.Module):
    def __init__(self, hidden, experts):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden, experts))


class Experts(nn.Module):
    def __init__(self, hidden, experts):
        super().__init__()
        self.c_fc = Linears(experts, hidden, 4 * hidden)
        self.c_proj = Linears(experts, 4 * hidden, hidden)

    def forward(self, expert, x):
        inner = F.gelu(self.c_fc(expert, x), approximate="tanh")
        return self.c_proj(expert, inner)


class Moe(nn.Module):
    def __init__(self, hidden, options):
        super().__init__()
        self.num_experts, self.k = options["experts"], options["top-k"]
        self.factor = options["capacity-factor"]
        self.router = Router(hidden, self.num_experts)
        self.experts = Experts(hidden, self.num_experts)

    def route(self, tokens):
        """One sequence: what each token becomes, the auxiliary loss, and how
        many choices were dropped."""
        # The factor is a decimal: 1.1 * 10 are 11 places.
        capacity = math.ceil(Fraction(str(self.factor)) * self.k *
                             len(tokens) / self.num_experts)
        p = torch.softmax(tokens @ self.router.weight, dim=-1)
        choices = [sorted(range(self.num_experts),
                          key=lambda e, s=s: (-p[s, e].item(), e))[:self.k]
                   for s in range(len(tokens))]
        filled, dropped = [0] * self.num_experts, 0
        result = [torch.zeros_like(token) for token in tokens]
        for i in range(self.k):
            for s, token in enumerate(tokens):
                expert = choices[s][i]
                if filled[expert] == capacity:
                    dropped += 1
                    continue
                filled[expert] += 1
                gate = p[s, expert]
                if self.k > 1:
                    gate = gate / sum(p[s, e] for e in choices[s])
                result[s] = result[s] + gate * self.experts(expert, token)
        mean = p.mean(dim=0)
        auxiliary = self.num_experts * sum(
            sum(chosen[0] == e for chosen in choices) / len(tokens) * mean[e]
            for e in range(self.num_experts))
        return torch.stack(result), auxiliary, dropped

    def forward(self, x):
        routed = [self.route(sequence) for sequence in x]
        self.auxiliary = sum(auxiliary for _, auxiliary, _ in routed) / len(x)
        self.dropped = sum(dropped for _, _, dropped in routed)
        return torch.stack([y for y, _, _ in routed])


class MoeBlock(gpt.Block):
    def __init__(self, hidden, heads, options):
        super().__init__(hidden, heads)
        del self.mlp
        self.moe = Moe(hidden, options)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.moe(self.ln_2(x))


class MoeGPT(gpt.GPT):
    def __init__(self, args, options):
        super().__init__(args)
        every = options["moe-every"]
        for layer in range(every - 1, args.layers, every):
            self.h[str(layer)] = MoeBlock(args.hidden, args.heads, options)
        self.aux_weight = options.get("aux-weight", 0.01)

    def moes(self):
        return [block.moe for block in self.h.values()
                if isinstance(block, MoeBlock)]

    def loss(self, tokens, labels):
        loss = gpt.cross_entropy(self(tokens), labels)
        self.auxiliary = sum(moe.auxiliary for moe in self.moes())
        return loss + self.aux_weight * self.auxiliary


def build(options, dtype):
    """Routers spread tokens well, so that the order of probabilities is no
    matter of rounding."""
    model = MoeGPT(argparse.Namespace(**MODEL, tied=True), options).double()
    arrays = {}
    for name, parameter in model.named_parameters():
        mean = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
        generator = np.random.default_rng(zlib.crc32(name.encode()))
        arrays[name] = generator.normal(
            mean, 0.5 if "router" in name else 0.2, tuple(parameter.shape))
    return model.load(arrays).to(dtype)


def train(options, optimizer, dtype, tokens, labels):
    """Returns losses, metrics and the model after common.STEPS."""
    model = build(options, dtype)
    updates = common.make_optimizer(model, optimizer)
    losses, auxiliary, dropped = [], [], []
    choices = MODEL["batch"] * MODEL["seq"] * options["top-k"]
    for i in range(common.STEPS):
        updates.zero_grad()
        loss = model.loss(tokens[i], labels[i])
        loss.backward()
        updates.step()
        losses.append(loss.item())
        auxiliary.append(model.auxiliary.item())
        dropped.append(sum(moe.dropped for moe in model.moes()) /
                       (choices * len(model.moes())))
    return losses, auxiliary, dropped, model


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    tokens, labels = common.make_batches()
    cases = []
    for name, (choice, update) in CASES.items():
        options, optimizer = {**MOE, **choice}, common.OPTIMIZERS[update]
        losses, auxiliary, dropped, model = train(
            options, optimizer, torch.float64, tokens, labels)
        losses32, _, dropped32, _ = train(options, optimizer, torch.float32,
                                          tokens, labels)
        if dropped != dropped32:
            raise ValueError(f"{name}: expects no choice to depend on rounding")
        cases.append({
            "name": name, "model": options, "options": optimizer,
            "initial": common.save(
                build(options, torch.float64),
                f"moe-initial-every-{options['moe-every']}.safetensors"),
            "final": common.save(model, f"moe-{name}.safetensors"),
            "losses_f64": losses, "losses_f32": losses32,
            "metrics": {"aux_loss": auxiliary, "dropped": dropped},
        })
        print(f"{name:16} loss {losses[0]:.6f} -> {losses[-1]:.6f}, "
              f"dropped {dropped[0]:.3f} -> {dropped[-1]:.3f}, f32 differs by "
              f"{max(abs(a - b) for a, b in zip(losses, losses32)):.1e}")
    common.write_cases("moe.json", {"family": "moe", "model": MODEL}, cases)


if __name__ == "__main__":
    main()
