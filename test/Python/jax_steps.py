#!/usr/bin/env python3
# jax_steps.py - training steps of JAX and optax, exported and compared with JAX.
#
# SPDX-License-Identifier: Apache-2.0
#
# In f64: losses, parameters and states of three steps on one device, and
# --verify under plans. Needs JAX and optax; without them the test is skipped.
"""Compares exported training steps with JAX.

  jax_steps.py --bin=build/bin --case=adamw
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import peers

peers.need("jax", "optax", "safetensors")
import jax  # noqa: E402 (found through the line above)
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import load_file

import jax_losses
import pp

BOUND = 1e-10
STEPS = 3
PLANS = ("dp=2", "tp=2", "dp=2 zero=1", "dp=2 zero=2", "dp=2 zero=3", "dp=2 microbatches=2", "pp=2",
         "pp=2 microbatches=2")


def update_by(optimizer, model):
    """A step as users of optax write it."""
    def step(params, opt_state, batch):
        loss, gradients = jax.value_and_grad(model.loss)(params, **batch)
        updates, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return step, optimizer.init(model.params)


def sgd():
    model = jax_losses.mlp()
    return model, *update_by(optax.sgd(0.1), model)


def momentum():
    model = jax_losses.mlp()
    return model, *update_by(optax.sgd(0.1, momentum=0.9, nesterov=True), model)


def adamw():
    model = jax_losses.mlp()
    return model, *update_by(optax.adamw(optax.cosine_decay_schedule(0.01, 10), weight_decay=0.1), model)


def clipped():
    model = jax_losses.gpt()
    return model, *update_by(optax.chain(optax.clip_by_global_norm(0.1), optax.adamw(0.01)), model)


def scan():
    model = jax_losses.scan()
    return model, *update_by(optax.adam(0.01), model)


CASES = [sgd, momentum, adamw, clipped, scan]


def worst_difference(ours, theirs):
    """The largest |ours - theirs| / max(|theirs|, 1e-6 |all|) of the leaves of trees."""
    norm = lambda value: float(np.linalg.norm(np.ravel(value)))
    ours, theirs = (jax.tree_util.tree_leaves_with_path(tree) for tree in (ours, theirs))
    least = 1e-6 * sum(norm(value)**2 for _, value in theirs)**0.5
    return max((norm(np.asarray(a) - np.asarray(b)) / max(norm(b), least, 1e-300), jax.tree_util.keystr(path))
               for (path, b), (_, a) in zip(theirs, ours))


class Case:
    def __init__(self, build, args, folder):
        self.model, self.step, self.opt_state = build()
        self.args, self.folder = args, folder
        self.problems = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *options):
        command = ["pp-run", self.path("model.mlir"), f"--data=npy:{self.folder}", "--quiet",
                   f"--parameters={self.path('model.safetensors')}", *options]
        done = subprocess.run([os.path.join(self.args.bin, command[0]), *command[1:]], capture_output=True, text=True,
                              timeout=300)
        return done.returncode, done.stderr

    def judge(self, what, error, name=""):
        print(f"  {what:24} {error:.1e} {'ok' if error <= BOUND else 'DIFFERS ' + name}", flush=True)
        if not error <= BOUND:
            self.problems.append(what)

    def check(self):
        given = self.model
        exported = pp.jax.export_step(self.step, given.params, self.opt_state, given.batch, labels=given.labels,
                                      dims=given.dims)
        exported.save(self.path("model.mlir"))
        exported.save_batches(self.folder, [jax.tree.map(np.asarray, given.batch)])
        code, said = self.run(f"--steps={STEPS}", f"--save={self.path('after.safetensors')}",
                              f"--report={self.path('report.json')}")
        if code:
            self.problems.append(f"pp-run: exit code {code}\n{said[-3000:]}")
            return
        trees, losses = (given.params, self.opt_state), []
        for _ in range(STEPS):
            *trees, loss = jax.jit(self.step)(*trees, given.batch)[:3]
            losses.append(float(loss))
        with open(self.path("report.json")) as file:
            ours = [step["loss"] for step in json.load(file)["steps"]]
        self.judge("losses", max(abs(a - b) / abs(b) for a, b in zip(ours, losses)))
        after = exported.to_trees(load_file(self.path("after.safetensors")))
        self.judge("parameters", *worst_difference(after[0], trees[0]))
        if jax.tree.leaves(self.opt_state):
            self.judge("states", *worst_difference(after[1], trees[1]))
        for plan in PLANS:
            code, said = self.run("--steps=2", "--verify", f"--parallelize={plan}")
            print(f"  {plan:24} {'FAILS' if code else 'verified'}", flush=True)
            if code:
                self.problems.append(f"{plan}: exit code {code}\n{said[-3000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of pp's tools")
    parser.add_argument("--case", help="run these cases only, separated by commas")
    args = parser.parse_args()
    os.environ["PP_BIN"] = os.path.abspath(args.bin)
    jax.config.update("jax_enable_x64", True)
    failed = []
    for build in CASES:
        if args.case and build.__name__ not in args.case.split(","):
            continue
        print(build.__name__, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            case = Case(build, args, folder)
            try:
                case.check()
            except pp.ExportError as error:
                case.problems.append(str(error))
            if case.problems:
                print(*case.problems, sep="\n")
                failed.append(build.__name__)
    print(f"failed: {', '.join(failed)}" if failed else "all agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
