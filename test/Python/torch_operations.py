# torch_operations.py - one module that has every op.
#
# SPDX-License-Identifier: Apache-2.0
#
# Each function gets an input times a parameter of its own, and the loss is the sum
# of the mean squares of all results: so a wrong op shows by its name, in the
# gradient of its parameter. hardsigmoid is left out, as PyTorch's gradient of it
# is rounded to f32.
"""Ops of PyTorch for the case `operations` of torch_models.py."""

import torch
import torch.nn.functional as F


def assigned(x):
    y = x.clone()
    y[:, 1] = 0
    y[:, 2:4] = x[:, :2]
    y[x > 1] = 0.5
    return y


def attended(x, **options):
    q = x[:, None]
    return F.scaled_dot_product_attention(q, q, q, **options)


def ungraded(x):
    with torch.no_grad():
        factor = x * 2
        with torch.enable_grad():
            other = x * factor
    return x * factor + x * other + x * x.detach()


MATRIX, IMAGE, SIGNAL, VOLUME = (5, 6), (2, 7, 8), (2, 9), (2, 4, 4, 4)
OPERATIONS = {
    MATRIX: {
        "ungraded": ungraded, "floor": lambda x: x * torch.floor(3 * x),
        "ceil": lambda x: x * torch.ceil(3 * x),
        "trunc": lambda x: x * torch.trunc(3 * x), "round": lambda x: x * torch.round(3 * x),
        "expm1": torch.expm1, "sinh": torch.sinh,
        "cosh": torch.cosh, "tan": lambda x: torch.tan(x / 4), "exp2": torch.exp2,
        "log2": lambda x: torch.log2(x.abs() + 1),
        "reciprocal": lambda x: 1 / (x * x + 1), "power": lambda x: (x * x + 1)**1.7,
        "sqrt": lambda x: (x * x + 1)**0.5,
        "largest": lambda x: x.max(1)[0] * 2 + x.min(1)[0], "amax": lambda x: x.amax(2) + x.amin(2),
        "topk": lambda x: x.topk(2, -1)[0] + x.topk(2, -1, largest=False)[0],
        "sort": lambda x: x.sort(-1)[0] * x + x.sort(1, descending=True)[0],
        "cumsum": lambda x: x.cumsum(1), "std": lambda x: x.std(-1) + x.var(2, unbiased=False),
        "norm": lambda x: F.normalize(x, dim=-1) + torch.linalg.norm(x, dim=1, keepdim=True),
        "logsumexp": lambda x: x.logsumexp(-1), "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x),
        "tril": lambda x: torch.tril(x @ x.transpose(1, 2)) + torch.triu(x @ x.mT, 1),
        "where": lambda x: torch.where(x > 0, x, x * x),
        "clamp": lambda x: x.clamp(-.5, .5) + x.clamp(min=0.1),
        "logic": lambda x: x * (((x > 0) & (x < 1)) | ~((x < -1) ^ (x > 0.5))),
        "isinf": lambda x: x * torch.isinf(x).logical_not(),
        "scatter": lambda x: x.scatter(1, x.argmax(1, keepdim=True), 2.0),
        "scatter_add": lambda x: x.scatter_add(1, x.argmax(1, keepdim=True), x[:, :1]),
        "index_add": lambda x: x.index_add(1, torch.tensor([0, 2]), x[:, :2]), "assigned": assigned,
        "take_along": lambda x: torch.gather(x, 1, x.argmax(1, keepdim=True)),
        "indices": lambda x: x[:, [0, 2, 1], [1, 1, 0]], "from_end": lambda x: x[:, :, torch.tensor([-1, 0])],
        "rows": lambda x: x[torch.arange(x.shape[0]), x.sum(2).argmax(1)],
        "select": lambda x: x.index_select(2, torch.tensor([3, 1])),
        "chunk": lambda x: torch.cat(x.chunk(3, -1)[::-1], -1) * x,
        "stack": lambda x: torch.stack([x, 2 * x], 1).unbind(2)[0],
        "repeat": lambda x: x.repeat(1, 2, 3) * 2, "interleave": lambda x: x.repeat_interleave(3, dim=1),
        "outer": lambda x: x[:, :, None] * x[:, None], "roll": lambda x: x * torch.roll(x, (1, -2), (1, 2)),
        "flip": lambda x: x * x.flip(1, 2),
        "pads": lambda x: F.pad(F.pad(x, (1, 2), mode="reflect"), (2, -1), value=3.0),
        "strides": lambda x: x[:, 1::2, ::3],
        "squeeze": lambda x: x[:, :1].squeeze(1).unsqueeze(0).expand(2, -1, -1),
        "mish": F.mish, "hardswish": F.hardswish, "selu": F.selu, "celu": F.celu, "softsign": F.softsign,
        "elu": F.elu,
        "logsigmoid": F.logsigmoid, "softplus": F.softplus, "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "leaky": F.leaky_relu, "relu6": F.relu6, "silu": F.silu, "tanhshrink": F.tanhshrink, "glu": F.glu,
        "softmax": lambda x: x.softmax(1) + x.log_softmax(-1),
        "causal": lambda x: attended(x, is_causal=True),
        "masked": lambda x: attended(x, attn_mask=torch.tensor([[True, True, False, True, True]])),
        "layer_norm": lambda x: F.layer_norm(x, (5, 6)), "rms_norm": lambda x: F.rms_norm(x, (6,), eps=1e-5),
        "huber": lambda x: F.huber_loss(x, 2 * x, reduction="none") + F.smooth_l1_loss(x, x * x, reduction="none"),
        "entropy": lambda x: F.binary_cross_entropy_with_logits(x, x.detach().sigmoid(), reduction="none"),
        "likelihood": lambda x: F.nll_loss(x.log_softmax(1), torch.zeros(x.shape[0], 6).long() + 2),
        "smoothed": lambda x: F.cross_entropy(x, torch.ones(x.shape[0], 6).long(), label_smoothing=0.2),
    },
    IMAGE: {
        "max_pool": lambda x: F.max_pool2d(x, 3, 2, 1),
        "max_ceil": lambda x: F.max_pool2d(x, 3, 2, 0, ceil_mode=True),
        "avg_pool": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        "avg_ceil": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
        "adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 5)),
        "adaptive_even": lambda x: F.adaptive_avg_pool2d(x, (7, 4)),
        "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        "corners": lambda x: F.interpolate(x, size=(9, 5), mode="bilinear", align_corners=True),
        "bicubic": lambda x: F.interpolate(x, size=(9, 11), mode="bicubic"),
        "nearest": lambda x: F.interpolate(x, size=(9, 5)),
        "doubled": lambda x: F.interpolate(x, scale_factor=2), "unfold": lambda x: F.unfold(x, 2),
        "shuffle": lambda x: F.pixel_unshuffle(x[:, :, :6], 2), "instance": lambda x: F.instance_norm(x),
        "group": lambda x: F.group_norm(x, 2),
    },
    SIGNAL: {
        "max_pool1": lambda x: F.max_pool1d(x, 3, 2, 1), "avg_pool1": lambda x: F.avg_pool1d(x, 3, 2, 1),
        "conv1": lambda x: F.conv1d(x, torch.arange(12.0).to(x.dtype).reshape(4, 1, 3), stride=2, padding=1, groups=2),
        "transposed": lambda x: F.conv_transpose1d(x, torch.arange(24.0).to(x.dtype).reshape(2, 3, 4), stride=3,
                                                   padding=1, output_padding=2, dilation=2),
    },
    VOLUME: {
        "max_pool3": lambda x: F.max_pool3d(x, 2), "dilated": lambda x: F.conv3d(
            x, torch.arange(32.0).to(x.dtype).reshape(2, 2, 2, 2, 2) / 8, padding=1, dilation=2),
    },
}


class Operations(torch.nn.Module):
    """The sum of all, each with a factor of its own."""

    def __init__(self):
        super().__init__()
        names = [name for group in OPERATIONS.values() for name in group]
        self.factors = torch.nn.ParameterDict({name: torch.ones(1) for name in names})

    def forward(self, **inputs):
        loss = 0
        for index, group in enumerate(OPERATIONS.values()):
            for name, function in group.items():
                y = function(inputs[f"x{index}"] * self.factors[name])
                loss = loss + (y * y).mean()
        return {"loss": loss}
