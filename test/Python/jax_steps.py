#!/usr/bin/env python3
# jax_steps.py - training steps of JAX and optax, exported and compared with JAX.
#
# SPDX-License-Identifier: Apache-2.0
#
# Losses, parameters and states of three steps on one device, and --verify under
# plans; in f64, and some in f32. Needs JAX and optax; without them the test is skipped.
"""Compares exported training steps with JAX.

  jax_steps.py --bin=build/bin --case=adamw
"""
import dataclasses
import json
import os
import subprocess
import sys
from typing import Callable

import peers

peers.need("jax", "optax", "safetensors")
import jax  # noqa: E402 (found through the line above)
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import load_file

import jax_losses
import pp
from comparing import JaxCase, run_cases, worst_difference

BOUNDS = {"f64": 1e-10, "f32": 1e-5}
STEPS = 3
ZERO = ("dp=2 zero=1", "dp=2 zero=2", "dp=2 zero=3")
PLANS = ("dp=2", "tp=2", *ZERO, "dp=2 microbatches=2", "pp=2", "pp=2 microbatches=2")


@dataclasses.dataclass
class Training:
    model: jax_losses.Model
    step: Callable
    opt_state: object
    plans: tuple = PLANS


def update_by(optimizer, model, **options):
    """A step as users of optax write it."""
    def step(params, opt_state, batch):
        loss, gradients = jax.value_and_grad(model.loss)(params, **batch)
        updates, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return Training(model, step, optimizer.init(model.params), **options)


def sgd():
    return update_by(optax.sgd(0.1), jax_losses.mlp())


def adamw():
    """A schedule, and a momentum that begins at other numbers than zero."""
    optimizer = optax.adamw(optax.cosine_decay_schedule(0.01, 10), weight_decay=0.1)
    training = update_by(optimizer, jax_losses.mlp())
    params, training.opt_state, _ = training.step(training.model.params, training.opt_state, training.model.batch)
    training.model.params = params
    return training


def adafactor():
    """States of a shape of their own."""
    return update_by(optax.adafactor(0.01, min_dim_size_to_factor=4), jax_losses.gpt(), plans=("dp=2 zero=1", "tp=2"))


def accumulated():
    """An update in every second step."""
    return update_by(optax.MultiSteps(optax.adam(0.01), 2), jax_losses.mlp(), plans=("dp=2 zero=1", "pp=2"))


def finite():
    """An update if all gradients are finite: a truth value of all stages."""
    return update_by(optax.apply_if_finite(optax.adam(0.01), 3), jax_losses.mlp(), plans=("dp=2 zero=1", "pp=2"))


def scheduled():
    """A rate that each step writes into the state, and none reads there."""
    rate = optax.linear_schedule(0.1, 0.01, 10)
    return update_by(optax.inject_hyperparams(optax.adam)(learning_rate=rate), jax_losses.mlp(), plans=("dp=2 zero=1",))


def frozen():
    """Parameters that stay, and an average of the others."""
    model = jax_losses.mlp()
    layers = {"layers": [{"w": "still", "b": "moving"}, *[{"w": "moving", "b": "moving"}] * 2]}
    optimizer = optax.chain(optax.partition({"moving": optax.sgd(0.1, momentum=0.9), "still": optax.set_to_zero()},
                                            layers), optax.ema(0.9))
    return update_by(optimizer, model, plans=("dp=2 zero=3", "pp=2"))


def clipped():
    """A tied embedding, and a norm over all gradients."""
    return update_by(optax.chain(optax.clip_by_global_norm(0.1), optax.adamw(0.01)), jax_losses.gpt())


def scan():
    """Stacked layers with checkpoints."""
    return update_by(optax.adam(0.01), jax_losses.scan(), plans=("dp=2", "tp=2", "dp=2 zero=3", "pp=2"))


def switch():
    return update_by(optax.lion(0.01), jax_losses.switch(), plans=("dp=2 zero=2", "pp=2 microbatches=2"))


def convolutions():
    return update_by(optax.sgd(0.01), jax_losses.convolutions(), plans=("dp=2", "tp=2", "pp=2 microbatches=2"))


def dropout():
    """A key that the step splits."""
    model = jax_losses.mlp()
    optimizer = optax.adam(0.01)

    def lose(params, key, x, y):
        kept = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.8, x.shape)
        return model.loss(params, jnp.where(kept, x / 0.8, 0), y)

    def step(params, opt_state, x, y):
        key, moments = opt_state
        key, now = jax.random.key_data(jax.random.split(jax.random.wrap_key_data(key)))
        loss, gradients = jax.value_and_grad(lose)(params, now, x, y)
        updates, moments = optimizer.update(gradients, moments)
        return optax.apply_updates(params, updates), (key, moments), loss

    key = jax.random.key_data(jax.random.key(3))
    return Training(model, lambda params, opt_state, batch: step(params, opt_state, **batch),
                    (key, optimizer.init(model.params)), plans=("dp=2", "tp=2", "dp=2 microbatches=2", "pp=2"))


def batch_norm():
    """Running means beside the optimizer's states, and a metric."""
    model = jax_losses.running()
    optimizer = optax.adam(0.01)

    def step(params, opt_state, batch):
        function = jax.value_and_grad(model.loss, has_aux=True)
        (loss, stats), gradients = function(params, opt_state["stats"], **batch)
        updates, moments = optimizer.update(gradients, opt_state["moments"])
        report = {"norm": optax.global_norm(gradients)}
        return optax.apply_updates(params, updates), {"stats": stats, "moments": moments}, loss, report

    return Training(model, step, {"stats": model.states, "moments": optimizer.init(model.params)},
                    plans=("dp=2 zero=1", "tp=2"))


CASES = [sgd, adamw, adafactor, accumulated, finite, scheduled, frozen, clipped, scan, switch, convolutions, dropout,
         batch_norm]
IN_F32 = [sgd, adamw]


class Case(JaxCase):
    def __init__(self, build, precision, args, folder):
        super().__init__(precision, BOUNDS[precision], args, folder)
        self.training = build()

    def run(self, *options):
        command = ["pp-run", self.path("model.mlir"), f"--data=npy:{self.folder}", "--quiet",
                   f"--parameters={self.path('model.safetensors')}", *options]
        done = subprocess.run([os.path.join(self.args.bin, command[0]), *command[1:]], capture_output=True, text=True,
                              timeout=300)
        return done.returncode, done.stderr

    def check(self):
        given, step, opt_state = self.training.model, self.training.step, self.training.opt_state
        exported = pp.jax.export_step(step, given.params, opt_state, given.batch, labels=given.labels,
                                      dims=given.dims)
        exported.save(self.path("model.mlir"))
        exported.save_batches(self.folder, [jax.tree.map(np.asarray, given.batch)])
        code, said = self.run(f"--steps={STEPS}", f"--save={self.path('after.safetensors')}",
                              f"--report={self.path('report.json')}")
        if code:
            self.problems.append(f"pp-run: exit code {code}\n{said[-3000:]}")
            return
        trees, losses = (given.params, opt_state), []
        for _ in range(STEPS):
            *trees, loss = jax.jit(step)(*trees, given.batch)[:3]
            losses.append(float(loss))
        with open(self.path("report.json")) as file:
            ours = [step["loss"] for step in json.load(file)["steps"]]
        self.judge("losses", max(abs(a - b) / abs(b) for a, b in zip(ours, losses)))
        after = exported.to_trees(load_file(self.path("after.safetensors")))
        self.judge("parameters", *worst_difference(after[0], trees[0]))
        if jax.tree.leaves(opt_state):
            self.judge("states", *worst_difference(after[1], trees[1]))
        for plan in self.training.plans if self.precision == "f64" else ():
            code, said = self.run("--steps=2", "--verify", f"--parallelize={plan}")
            print(f"  {plan:24} {'FAILS' if code else 'verified'}", flush=True)
            if code:
                self.problems.append(f"{plan}: exit code {code}\n{said[-3000:]}")


def main():
    return run_cases(__doc__, [*((build, "f64") for build in CASES), *((build, "f32") for build in IN_F32)], Case)


if __name__ == "__main__":
    sys.exit(main())
