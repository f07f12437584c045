#!/usr/bin/env python3
# torch_errors.py - what pp.torch.export refuses, and how it says so.
#
# SPDX-License-Identifier: Apache-2.0
#
# An error is one line with the user's line of source, or the tensor's name, and
# what to change. Needs torch.
"""Compares the errors of pp.torch.export with what they should say."""
import sys

import peers

peers.need("torch")
import torch  # noqa: E402 (found through the line above)
import torch.nn.functional as F

import pp
from comparing import judge_errors

HERE = r"torch_errors\.py:\d+: "
X, LABELS = torch.randn(3, 4), torch.tensor([0, 3, 1])


class Layer(torch.nn.Module):
    """A linear layer, and what a case does with its result."""

    def __init__(self, function):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.function = function

    def forward(self, x):
        return self.function(self.linear(x))


class Parts(torch.nn.Module):
    """A parameter that is a row of another."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.ones(4, 4))
        self.row = torch.nn.Parameter(self.table.data[0])

    def forward(self, x):
        return x @ self.table * self.row


class SameName(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.x = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.x


def branch(h):
    if h.sum() > 0:
        return h
    return -h


def identity(h):
    return h


def cases():
    """(module, loss, batch, what the error says)."""
    batch = X, LABELS
    plain = F.cross_entropy
    yield Layer(lambda h: torch.atan2(h, h)), plain, batch, HERE + r"at Layer: aten\.atan2\.default has no form"
    yield Layer(branch), plain, batch, HERE + "control flow depends on data.*use torch.where"
    yield Layer(lambda h: h[h > 0]), lambda h, _: h.sum(), batch, HERE + "at Layer: .*shape that depends on data"
    yield Layer(lambda h: h * h.sum().item()), plain, batch, HERE + r"at Layer: .*leave out \.item"
    yield Layer(lambda h: torch.view_as_complex(h.reshape(3, 2, 2)).abs()), plain, batch, \
        HERE + "at Layer: .*no complex numbers.*cos and sin"
    yield Layer(lambda h: h + torch.randn_like(h)), plain, batch, HERE + ".*dropout alone: use torch.nn.Dropout"
    yield Layer(lambda h: h @ torch.ones(5, 5)), plain, batch, HERE + "torch.export refuses the model: .*dim"
    yield Layer(identity), lambda h, y: F.cross_entropy(h, y, reduction="none"), batch, \
        r"one floating-point number, got tensor<3xf32>: reduce it"
    yield Layer(identity), lambda h, _: h.argmax(), batch, "one floating-point number, got tensor<i64>"
    yield Layer(identity), None, (X,), r"one floating-point number, got tensor<3x4xf32>"
    yield Layer(identity), plain, {"x": X}, r'expects labels in the example batch.*"label\.\.\.", got \[.x.\]'
    yield Layer(lambda h: h.mul_(2)), None, {"x": X, "labels": LABELS}, "unexpected keyword argument 'labels'"
    yield Layer(lambda h: F.max_pool1d(h[None], 2, return_indices=True)[1][0] * h[:, :2]), plain, batch, \
        HERE + "at Layer: result 1 of aten.max_pool.* has no form"
    yield torch.nn.Identity(), plain, (X.to(torch.int16), LABELS), 'input "input": expects one of .* got torch.int16'
    yield Layer(identity), plain, ([X], LABELS), 'expects tensors in the example batch, got list of tensors for "x"'
    for loss in lambda h, _: h.detach().mean(), lambda h, _: h.argmax(1).double().mean():
        yield Layer(identity), loss, batch, r"a loss with a gradient, got one that no trained parameter reaches.*detach\(\)"
    yield Layer(identity).requires_grad_(False), plain, batch, "a loss with a gradient, got one that no trained"
    yield Parts(), plain, batch, "memory of their own, got .* that is a part or view"
    yield SameName(), plain, batch, 'one argument of each name, got two of "x": rename'
    hooked = Layer(identity)
    hooked.linear.weight.register_post_accumulate_grad_hook(lambda p: None)
    yield hooked, plain, batch, "parameters without hooks, got one of linear.weight: remove it"
    hooked = Layer(identity)
    hooked.linear.register_full_backward_hook(lambda *_: None)
    yield hooked, plain, batch, "modules without hooks of gradients, got one at linear: remove it"
    yield ChangesInput(), plain, batch, 'stay as they are, got a change of "x" in place: change a copy'


class ChangesInput(Layer):
    def __init__(self):
        super().__init__(identity)

    def forward(self, x):
        x.mul_(2)
        return super().forward(x)


def main():
    return judge_errors([(lambda given=given: pp.torch.export(*given), expected) for *given, expected in cases()])


if __name__ == "__main__":
    sys.exit(main())
