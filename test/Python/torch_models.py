#!/usr/bin/env python3
# torch_models.py - models of PyTorch, exported and compared with PyTorch.
#
# SPDX-License-Identifier: Apache-2.0
#
# For each case: the loss and every gradient in f64 and f32, parameters and states
# after three steps of AdamW in f64, and --verify under plans. The gradient is
# what a step of plain descent takes away. Needs torch and transformers;
# without them it is skipped.
"""Compares exported models with PyTorch.

  torch_models.py --bin=build/bin --case=gpt2
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

import peers

peers.need("torch", "transformers", "safetensors")
import torch  # noqa: E402 (found through the line above)

import pp
import torch_cases

PLANS = "dp=2", "tp=2", "pp=2 microbatches=2", "dp=2 zero=3"
BOUNDS = {torch.float64: 1e-10, torch.float32: 1e-5}
RATE = 1024.0  # of the step whose difference is the gradient: large, so that little is lost
STEPS = 3


class Widened(torch.overrides.TorchFunctionMode):
    """Computes in f64 what a model computes in f32 whatever its type is: norms
    and softmax of transformers."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        widen = lambda v: torch.float64 if v is torch.float32 else v
        kwargs = {key: widen(value) for key, value in (kwargs or {}).items()}
        if function is torch.Tensor.float:
            return args[0].double()
        return function(*[widen(a) for a in args], **kwargs)


def read(path):
    from safetensors.torch import load_file
    return load_file(path)


def differences(ours, theirs, share=1e-4):
    """The largest relative difference, and its tensor: of norms, a norm counting
    at least this share of that of all tensors together."""
    whole = sum(float(t.double().norm())**2 for t in theirs.values())**0.5
    worst = 0.0, "none"
    for name, tensor in theirs.items():
        difference = float((ours[name].double() - tensor.double()).norm())
        worst = max(worst, (difference / max(float(tensor.double().norm()), share * whole, 1e-300), name))
    return worst


class Case:
    def __init__(self, name, make, args, folder):
        self.name, self.make, self.args, self.folder = name, make, args, folder
        self.plans = PLANS
        self.problems = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def pp_run(self, *options):
        done = subprocess.run([os.path.join(self.args.bin, "pp-run"), self.path("model.mlir"), "--quiet", *options],
                              capture_output=True, text=True, timeout=900)
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode} of pp-run {' '.join(options)}\n"
                               f"{done.stdout[-2000:]}{done.stderr[-3000:]}")

    def train(self, optimizer, steps):
        """Losses and tensors of pp."""
        self.pp_run(f"--parallelize={optimizer}", f"--steps={steps}", f"--data=npy:{self.folder}",
                    f"--parameters={self.path('model.safetensors')}", f"--save={self.path('after.safetensors')}",
                    f"--report={self.path('report.json')}")
        with open(self.path("report.json")) as file:
            losses = [step["loss"] for step in json.load(file)["steps"]]
        return losses, read(self.path("after.safetensors"))

    def judge(self, what, error, bound):
        verdict = "ok" if error[0] <= bound else "DIFFERS"
        print(f"  {what:24} {error[0]:.1e} {verdict if error[0] <= bound else verdict + ' ' + error[1]}", flush=True)
        if not error[0] <= bound:
            self.problems.append(what)

    def check(self, dtype):
        torch.manual_seed(0)
        module, loss, batches, export = self.make()
        self.plans = export.pop("plans", PLANS)
        is_widened = export.pop("widened", True)
        # Of AdamW: 1e-8 amplifies the rounding of gradients that are nearly zero.
        self.eps = export.pop("eps", 1e-8)
        module = module.to(dtype)
        batches = [{k: v.to(dtype) if v.is_floating_point() else v for k, v in b.items()} for b in batches]
        mode = Widened() if is_widened and dtype == torch.float64 else contextlib.nullcontext()
        with mode:
            begin = time.time()
            model = pp.torch.export(module, loss, batches[0], **export)
        model.save(self.path("model.mlir"))
        model.save_batches(self.folder, batches)
        print(f"  {str(dtype)[6:]}: {model.text.count(chr(10))} lines in {time.time() - begin:.1f} s, "
              f"{len(model.tensors)} tensors", flush=True)
        before = read(self.path("model.safetensors"))
        keys = [n for n, p in module.named_parameters() if p.requires_grad and n in before]

        losses, after = self.train(f"optimizer=sgd lr={RATE}", 1)
        ours = {n: (before[n].double() - after[n].double()) / RATE for n in keys}
        value = self.step(module, loss, batches[0], mode)
        self.judge("loss", (abs(losses[0] - value) / abs(value), "loss"), BOUNDS[dtype])
        theirs = {n: module.get_parameter(n).grad for n in keys}
        # A gradient that is zero but for rounding, as of a key's bias, is not compared with itself.
        self.judge("gradients", differences(ours, theirs, 1e-4 if dtype == torch.float64 else 1e-3), BOUNDS[dtype])
        for name, p in module.named_parameters():
            if name not in keys and p.grad is not None and p.requires_grad:
                self.problems.append(f"gradient of {name} is missing")
        if dtype == torch.float64:
            self.check_training(module, loss, batches, mode, before)
            if not self.args.no_plans:
                self.check_plans()

    def step(self, module, loss, batch, mode):
        module.zero_grad()
        with mode:
            if loss is None:
                output = module(**batch)
                value = output["loss"]
            else:
                labels = [v for k, v in batch.items() if k.startswith("label")]
                value = loss(module(**{k: v for k, v in batch.items() if not k.startswith("label")}), *labels)
            value.backward()
        return value.item()

    def check_training(self, module, loss, batches, mode, before):
        losses, after = self.train(f"optimizer=adamw lr=1e-3 eps={self.eps}", STEPS)
        # The step above has changed running statistics: begin anew.
        with torch.no_grad():
            for name, tensor in list(module.named_parameters()) + list(module.named_buffers()):
                if name in before:
                    tensor.copy_(before[name])
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, eps=self.eps)
        theirs = []
        for batch in batches[:STEPS]:
            theirs.append(self.step(module, loss, batch, mode))
            optimizer.step()
        whole = dict(module.named_parameters()) | dict(module.named_buffers())
        self.judge("losses of AdamW", (max(abs(a - b) / abs(b) for a, b in zip(losses, theirs)), "loss"), 1e-10)
        self.judge("tensors after AdamW", differences(after, {n: whole[n].detach() for n in before}), 1e-10)

    def check_plans(self):
        for plan in self.plans:
            try:
                self.pp_run(f"--parallelize={plan}", "--verify", "--steps=2", f"--data=npy:{self.folder}",
                            f"--parameters={self.path('model.safetensors')}", f"--report={self.path('v.json')}")
                with open(self.path("v.json")) as file:
                    verify = json.load(file)["verify"]
                print(f"  {plan:24} verified {json.dumps(verify)[:150]}", flush=True)
            except RuntimeError as error:
                print(f"  {plan:24} FAILS {error}")
                self.problems.append(plan)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of pp's tools")
    parser.add_argument("--case", help="run these cases only, separated by commas")
    parser.add_argument("--no-plans", action="store_true", help="one device alone")
    parser.add_argument("--keep", help="folder to leave the files in")
    args = parser.parse_args()
    torch.set_num_threads(1)
    chosen = args.case.split(",") if args.case else list(torch_cases.CASES)
    failed = []
    for name in chosen:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(args.keep, name) if args.keep else scratch
            os.makedirs(folder, exist_ok=True)
            case = Case(name, torch_cases.CASES[name], args, folder)
            for dtype in torch.float32, torch.float64:
                try:
                    case.check(dtype)
                except (pp.ExportError, RuntimeError) as error:
                    print(f"  FAILS {error}")
                    case.problems.append(str(error).splitlines()[0])
            if case.problems:
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
