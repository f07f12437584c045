#!/usr/bin/env python3
# torch_edges.py - values and gradients where functions bend, break or are easily taken for others.
#
# SPDX-License-Identifier: Apache-2.0
#
# Each case is a loss of a parameter `p` and an input `x`, in f64: its value and the
# gradient of p are those of PyTorch, or the export refuses it and says why. Needs
# torch; without it the test is skipped.
"""Compares edges of exported ops with PyTorch."""
import sys

import peers

peers.need("torch")
import torch  # noqa: E402 (found through the line above)
import torch.nn.functional as F

import pp

NAN, INF = float("nan"), float("inf")
BOUND = 1e-7  # PyTorch's hardsigmoid has a factor in f32


def vector(*values):
    return torch.tensor(values, dtype=torch.float64)


def identity_gradient(x):
    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.round()

        @staticmethod
        def backward(context, gradient):
            return gradient

    return Rounded.apply(x)


def hooked(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient * 0)
    return y


def checkpointed(is_reentrant):
    import torch.utils.checkpoint as c
    return lambda p, x: c.checkpoint(lambda q: (q * x).sin(), p, use_reentrant=is_reentrant).sum()


def attend(mask):
    return lambda p, x: (F.scaled_dot_product_attention(
        p.reshape(1, 1, 3, 4), x.reshape(1, 1, 3, 4), x.reshape(1, 1, 3, 4) * 2, mask) ** 2).sum()


def smallest(p, x):
    """x is -1: the order of integers of which the smallest has no negative, and their quotients."""
    i = torch.tensor([5, -2**31, 2**31 - 1, -7, 0, 1, 2, 3, 4, 6, 8, 9], dtype=torch.int32) * x.to(torch.int32)
    i = -i  # not known when it is exported
    least, where = i.min(0)
    order = i.argsort() + i.topk(3, largest=False)[1].sum() + where + (i // 3) % 7 + (i // -3) % 5
    return (p * (order + least % 11)).sum() + (p * (i > 0).sort().values).sum()


def behind_all(p, x):
    """x is NaN: where a sort puts it."""
    mixed = torch.where(torch.arange(12) % 5 == 2, x, p)
    order, least = mixed.argsort(), mixed.topk(4, largest=False)[1]
    return (p * order).sum() + (p[:4] * least).sum()


ROWS = vector(0, 0, 0, 1, 2, 3, 2, 2, 2, -1, 5, 4).reshape(4, 3)
BENDS = vector(-4, -3, -1, -0.5, 0, 0.5, 1, 3, 4, 6, 7, 40)
FAR = vector(-40, -20, -3, -1e-9, 0, 1e-9, .5, 1, 3, 7, 20, 709)
ONES = torch.ones(12, dtype=torch.float64)
LINE = torch.linspace(-2, 2, 12, dtype=torch.float64)
LOGITS = torch.sin(torch.arange(12, dtype=torch.float64)).reshape(4, 3)
IMAGE = torch.sin(torch.arange(64, dtype=torch.float64)).reshape(1, 1, 8, 8)
LABELS = torch.tensor([0, 2, 1, 0])

# A name; the loss; p; x; what the export refuses it with, or nothing.
CASES = [
    ("autograd.Function", lambda p, x: (identity_gradient(p) * x).sum(), LINE, LINE, "gradient of its own"),
    ("Tensor.register_hook", lambda p, x: (hooked(p) * x).sum(), LINE, LINE, "register_hook"),
    ("checkpoint, reentrant", checkpointed(True), LINE, LINE, None),
    ("checkpoint", checkpointed(False), LINE, LINE, None),
    ("norm of a zero row", lambda p, x: (p.norm(dim=1) * x[:4]).sum(), ROWS, LINE, None),
    ("norm 1, inf, 3", lambda p, x: sum(p.norm(o, dim=1).sum() for o in (1, INF, 3)) * x[0], ROWS + 0.25, LINE, None),
    ("normalize", lambda p, x: (F.normalize(p, dim=1) * x.reshape(4, 3)).sum(), ROWS, LINE, None),
    ("std of equals", lambda p, x: (p.std(dim=1) * x[:4]).sum(), ROWS, LINE, None),
    ("relu6", lambda p, x: (F.relu6(p) * x).sum(), BENDS, LINE, None),
    ("hardtanh to 1", lambda p, x: (torch.nn.Hardtanh(0, 1)(p) * x).sum(), BENDS, LINE, None),
    ("sinc", lambda p, x: (torch.sinc(p) * x).sum(), BENDS, LINE, None),
    ("max and min of all", lambda p, x: (p.max() * x[0] + p.min() * x[1]), ROWS, LINE, None),
    ("integers to the power of integers", lambda p, x: (p * (2 ** x.long())).sum(), LINE, LINE, "convert one of them"),
    ("argmax of all", lambda p, x: (p * p.argmax()).sum() * x[0], ROWS, LINE, None),
    ("smallest integers", smallest, LINE, torch.full((12,), -1.0, dtype=torch.float64), None),
    ("NaN behind all", behind_all, LINE, torch.full((12,), NAN, dtype=torch.float64), None),
    ("hardtanh", lambda p, x: (F.hardtanh(p) * x).sum(), BENDS, LINE, None),
    ("hardsigmoid", lambda p, x: (F.hardsigmoid(p) * x).sum(), BENDS, LINE, None),
    ("hardswish", lambda p, x: (F.hardswish(p) * x).sum(), BENDS, LINE, None),
    ("clamp", lambda p, x: (p.clamp(-1, 3) * x).sum(), BENDS, LINE, None),
    ("relu of NaN", lambda p, x: F.relu(p * x).sum(), ONES, LINE.clone().fill_(NAN), None),
    ("clamp of NaN", lambda p, x: (p * x).clamp(-1, 1).sum(), ONES, LINE.clone().fill_(NAN), None),
    ("sinh", lambda p, x: (torch.sinh(p) * x).sum(), FAR, LINE, None),
    ("cosh", lambda p, x: (torch.cosh(p) * x).sum(), FAR, LINE, None),
    ("remainder of floats", lambda p, x: (p % 0.1 * x).sum(), LINE, LINE, "remainder"),
    ("floor division of floats", lambda p, x: ((p // 0.1) * x).sum() + p.sum(), LINE, LINE, "floor"),
    ("comparison with a wider type", lambda p, x: (p * (x.float() > torch.tensor(0.1, dtype=torch.float64))).sum(),
     LINE, torch.full((12,), 0.1, dtype=torch.float64), None),
    ("label smoothing of probabilities",
     lambda p, x: F.cross_entropy(p, x.reshape(4, 3).abs().softmax(1), label_smoothing=0.2), LOGITS, LINE, None),
    ("interpolate, nearest, by a factor", lambda p, x: (F.interpolate(
        p.reshape(1, 1, 10), scale_factor=0.35) ** 2 * x[0]).sum(), LINE[:10].clone(), LINE, None),
    ("interpolate, nearest, by 2.3", lambda p, x: (F.interpolate(
        p.reshape(1, 1, 3), scale_factor=2.3) ** 2 * x[0]).sum(), LINE[:3].clone(), LINE, None),
    ("interpolate, bicubic, by 1.2", lambda p, x: (F.interpolate(
        p.reshape(1, 1, 4, 3), scale_factor=1.2, mode="bicubic") ** 3 * x[0]).sum(), LINE, LINE, None),
    ("index_put at a mask", lambda p, x: (p.index_put((x > 0,), p[:1], accumulate=True) * x).sum(), LINE, LINE, "mask"),
    ("embedding by frequency", lambda p, x: F.embedding(
        torch.tensor([0, 0, 1]), p, scale_grad_by_freq=True).sum() * x[0], ROWS, LINE, "scale_grad_by_freq"),
    ("a row that a mask hides", attend(torch.tensor([[True, True, False], [False, False, False], [True, False, True]])),
     LINE, LINE.flip(0), None),
    ("dropout of a constant", lambda p, x: (p * F.dropout(torch.ones_like(x), 0.5) * x).sum() * 0 + p.sum(), LINE, LINE,
     None),
    ("any by sums of bools", lambda p, x: (p * ((x > 0) + (x < -1)) * ((x > 0) * (x < 1.5))).sum(), LINE, LINE, None),
    ("a power of integers", lambda p, x: (p * (x.long() ** 5)).sum(), LINE, LINE * 2, None),
    ("softmax of a scalar", lambda p, x: p.sum().softmax(0) * x[0] + p.sum() * x[1], LINE, LINE, None),
    ("avg_pool at borders", lambda p, x: (F.avg_pool2d(
        p, 3, 2, 1, ceil_mode=True, count_include_pad=False) ** 2 * x[0]).sum(), IMAGE, LINE, None),
    ("avg_pool at borders that count", lambda p, x: (F.avg_pool2d(
        p, (3, 2), 3, (1, 0), ceil_mode=True) ** 2 * x[0]).sum(), IMAGE, LINE, None),
]
# A loss of logits p and labels; the labels of the example; those of the step.
LABELLED = [
    ("an ignored class", lambda p, y: F.cross_entropy(p, y, ignore_index=2), torch.tensor([0, 1, 1, 0]), LABELS),
    ("labels that are ignored by value", lambda p, y: F.cross_entropy(p, torch.where(y == 2, -100, y)),
     torch.tensor([0, 1, 1, 0]), LABELS),
]


# PyTorch's gradient is not that of what it computes: central differences judge.
BY_DIFFERENCES = "interpolate, nearest, by 2.3", "interpolate, bicubic, by 1.2"


class Loss(torch.nn.Module):
    def __init__(self, function, p):
        super().__init__()
        self.function, self.p = function, torch.nn.Parameter(p.clone())

    def forward(self, x):
        return self.function(self.p, x)


def differs(ours, theirs):
    """The largest relative difference; 0 for two that are not numbers."""
    ours, theirs = torch.as_tensor(ours, dtype=torch.float64), theirs.detach()
    if (ours.isnan() != theirs.isnan()).any():
        return NAN
    ours, theirs = ours.nan_to_num(), theirs.nan_to_num()
    return float(((ours - theirs).abs() / theirs.abs().clamp(min=1e-3)).max())


def slopes(function, p, x, step=1e-5):
    """Central differences."""
    units = torch.eye(p.numel(), dtype=p.dtype).reshape(-1, *p.shape) * step
    return torch.stack([(function(p + u, x) - function(p - u, x)) / (2 * step) for u in units]).reshape(p.shape)


def compare(function, p, example, batch, by_differences):
    """Of the loss and of the gradient, or what the export says."""
    module = Loss(function, p)
    try:
        model = pp.torch.export(module, None, (example,))
    except pp.ExportError as error:
        return str(error)
    theirs = module(batch)
    theirs.backward()
    try:
        with pp.Trainer(model, "", optimizer="sgd", lr=1) as trainer:
            ours = trainer.step((batch,))
            gradient = p - trainer.parameters()["p"]
    except pp.TrainerError as error:  # a loss that is not finite
        if theirs.isfinite():
            return str(error)
        return 0.0, 0.0
    if not theirs.isfinite():
        return "a finite loss" if ours == ours else (0.0, 0.0)
    expected = slopes(function, p, batch) if by_differences else module.p.grad
    return differs(ours, theirs), differs(gradient, expected)


def main():
    failed = 0
    cases = [(name, function, p, x, x, refusal) for name, function, p, x, refusal in CASES]
    cases += [(name, function, LOGITS, *labels, None) for name, function, *labels in LABELLED]
    for name, function, p, example, batch, refusal in cases:
        torch.manual_seed(0)
        got = compare(function, p, example, batch, name in BY_DIFFERENCES)
        if isinstance(got, str):
            holds = bool(refusal) and refusal in got
        else:
            holds = not refusal and all(value <= BOUND for value in got)
        failed += not holds
        print(f"{'ok' if holds else 'DIFFERS':8}{name}{'' if holds else f': {got}'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
