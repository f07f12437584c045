#!/usr/bin/env python3
# torch_trainer.py - pp.Trainer against PyTorch's own steps.
#
# SPDX-License-Identifier: Apache-2.0
#
# Three steps of AdamW on 2 x 2 ranks, and as many of PyTorch: losses, parameters
# put back into the module, inputs that are not copied. Needs torch and
# transformers; without them it is skipped.
"""Compares trainers with PyTorch."""
import contextlib
import copy
import sys

import peers

peers.need("torch", "transformers", "safetensors")
import torch  # noqa: E402 (found through the line above)
import torch.nn.functional as F
import transformers

import pp
from torch_models import Widened, differences

PLAN = "dp=2 tp=2"
BOUNDS = {torch.float64: 1e-10, torch.float32: 1e-5}
PROBLEMS = []


def mlp():
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    return module, F.cross_entropy, lambda: {"input": torch.randn(8, 8), "labels": torch.randint(0, 4, (8,))}


def llama():
    config = transformers.LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, vocab_size=48,
                                      num_attention_heads=4, num_key_value_heads=2, use_cache=False)

    def make():
        tokens = torch.randint(0, 48, (4, 8))
        return {"input_ids": tokens, "labels": tokens}
    return transformers.LlamaForCausalLM(config), None, make


class Normalized(torch.nn.Module):
    def forward(self, x):
        return F.batch_norm(x, None, None, training=True)


def normalized():
    """The compiler's errors show the user's line."""
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), Normalized())
    pp.Trainer(pp.torch.export(module, F.mse_loss, (torch.ones(4, 4), torch.ones(4, 4)), labels=1), microbatches=2)


def value(module, loss, batch):
    if loss is None:
        return module(**batch).loss
    return loss(module(batch["input"]), batch["labels"])


def judge(what, error, bound):
    print(f"  {what:12} {error:.1e} {'ok' if error <= bound else 'DIFFERS'}", flush=True)
    if not error <= bound:
        PROBLEMS.append(what)


def check(make, dtype):
    torch.manual_seed(0)
    module, loss, make_batch = make()
    module = module.to(dtype).train()
    batches = [{k: v.to(dtype) if v.is_floating_point() else v for k, v in make_batch().items()} for _ in range(3)]
    ours = copy.deepcopy(module)
    with Widened() if dtype is torch.float64 else contextlib.nullcontext():
        model = pp.torch.export(ours, loss, batches[0])
        # In f32 an eps that does not amplify the rounding of gradients near zero.
        eps = 1e-8 if dtype is torch.float64 else 1e-6
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, eps=eps)
        theirs = []
        for batch in batches:
            optimizer.zero_grad()
            result = value(module, loss, batch)
            result.backward()
            optimizer.step()
            theirs.append(result.item())
    with pp.Trainer(model, PLAN, optimizer="adamw", lr=1e-3, eps=eps) as trainer:
        for batch, expected in zip(batches, theirs):
            judge("loss", abs(trainer.step(batch) - expected) / abs(expected), BOUNDS[dtype])
            if trainer.copied:
                PROBLEMS.append(f"{trainer.copied} bytes of {list(batch)} are copied")
        if any(not isinstance(tensor, torch.Tensor) for tensor in trainer.parameters().values()):
            PROBLEMS.append("parameters are no tensors")
        trainer.copy_to(torch.nn.DataParallel(torch.compile(ours)))
        if dtype is torch.float32:
            trainer.verify(batches[0])
    judge("parameters", differences(*({n: p.detach() for n, p in m.named_parameters()} for m in (ours, module)))[0], BOUNDS[dtype])
    # The module computes with them.
    with Widened() if dtype is torch.float64 else contextlib.nullcontext(), torch.no_grad():
        after, expected = (value(m, loss, batches[0]).item() for m in (ours, module))
    judge("loss after", abs(after - expected) / abs(expected), BOUNDS[dtype])


def check_tensors():
    """Tensors that cannot be read where they lie, and modules of another model."""
    module, loss, make_batch = mlp()
    batch = make_batch()
    with pp.Trainer(pp.torch.export(module, loss, batch), PLAN) as trainer:
        bad = [
            (lambda: trainer.step(batch | {"input": batch["input"].to("meta")}), TypeError, "got one on meta"),
            (lambda: trainer.step(batch | {"input": batch["input"].double()}), TypeError, "got torch.float64"),
            (lambda: trainer.step(batch | {"input": batch["input"].bfloat16()}), TypeError, "got torch.bfloat16"),
            (lambda: trainer.step(batch | {"input": batch["input"].to_sparse()}), TypeError, "input: "),
            (lambda: trainer.copy_to(torch.nn.Linear(2, 2)), ValueError, "expects a module with parameters such as"),
            (lambda: trainer.copy_to(torch.nn.Sequential(torch.nn.Linear(9, 16))), ValueError,
             "0.weight: expects shape [16, 8], got [16, 9]"),
            (normalized, pp.CompileError, "        return F.batch_norm(x, None, None, training=True)\n        ^"),
        ]
        for act, kind, text in bad:
            try:
                act()
                PROBLEMS.append(f"{text}: nothing is raised")
            except Exception as error:
                if type(error) is not kind or text not in str(error):
                    PROBLEMS.append(f"{text}: got {type(error).__name__} {error}")
        transposed = batch["input"].t().contiguous().t()
        trainer.step(batch | {"input": transposed})
        if trainer.copied != transposed.nbytes:
            PROBLEMS.append(f"of a transposed tensor {trainer.copied} bytes are copied")
        before = {name: value.clone() for name, value in trainer.parameters().items()}
        trainer.step(batch)
        trainer.load(before)
        if any(not torch.equal(value, before[name]) for name, value in trainer.parameters().items()):
            PROBLEMS.append("loaded tensors are not those that are read")


check_tensors()
for make in mlp, llama:
    for dtype in BOUNDS:
        print(f"{make.__name__}, {str(dtype)[6:]}", flush=True)
        check(make, dtype)
print("\n".join(f"problem: {problem}" for problem in PROBLEMS) or "ok")
sys.exit(bool(PROBLEMS))
