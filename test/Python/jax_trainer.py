#!/usr/bin/env python3
# jax_trainer.py - pp.Trainer against JAX's own steps.
#
# SPDX-License-Identifier: Apache-2.0
#
# Three steps of plain descent under a plan, and as many of JAX, in f64: losses, and
# the pytrees that come back. Needs JAX; without it the test is skipped.
"""Compares trainers with JAX."""
import sys

import peers

peers.need("jax")
import jax  # noqa: E402 (found through the line above)
import numpy as np

import jax_losses
import pp

jax.config.update("jax_enable_x64", True)

RATE, BOUND = 0.1, 1e-10
# A loss of jax_losses.py, and the plan.
CASES = [(jax_losses.gpt, "dp=2 tp=2"), (jax_losses.scan, "pp=2 microbatches=2"), (jax_losses.running, "dp=2")]


def check_forms():
    """Arrays of NumPy and Python's numbers as parameters, of which some are given anew; entries of the batch that the
    loss does not read, and keys; a step whose loss stands before a dictionary of numbers."""
    jax.config.update("jax_enable_x64", False)
    try:
        numbers = np.random.default_rng(3)
        params = {"w": numbers.normal(size=(4, 2)), "scale": 2.0}
        batch = numbers.normal(size=(8, 4)).astype("f"), np.ones((8, 3), "f"), jax.random.key_data(jax.random.key(5))

        def loss(params, x, unread, key):
            kept = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.5, (8, 4))
            return (((x * kept) @ params["w"] * params["scale"]) ** 2).mean()

        def step(params, opt_state, x, unread, key):
            value, gradients = jax.value_and_grad(loss)(params, x, unread, key)
            params = jax.tree.map(lambda p, g: p - RATE * g, params, gradients)
            return params, opt_state, value, {"norm": sum(jax.numpy.vdot(g, g) for g in jax.tree.leaves(gradients))}

        other = params | {"scale": np.float32(0.5)}
        found = []
        dims = {"key": ("word",)}
        model = pp.jax.export(loss, params, batch, labels=(), dims=dims)
        with pp.Trainer(model, "dp=2", parameters={"scale": np.float32(0.5)}) as trainer:
            found.append((trainer.step(batch), loss(other, *batch)))
        whole = {"w": params["w"].astype("f"), "scale": np.float32(2)}
        with pp.Trainer(pp.jax.export_step(step, whole, {}, batch, labels=(), dims=dims), "") as trainer:
            found.append((trainer.step(dict(zip(("x", "unread", "key"), batch))), loss(params, *batch)))
            if list(trainer.metrics) != ["norm"]:
                print("got metrics", list(trainer.metrics))
                return False
        print("forms", found)
        return all(abs(ours / float(theirs) - 1) < 1e-5 for ours, theirs in found)
    finally:
        jax.config.update("jax_enable_x64", True)


def main():
    failures = 0 if check_forms() else 1
    for build, plan in CASES:
        case = build()
        given = (case.params,) if case.states is None else (case.params, case.states)
        batch = tuple(np.asarray(value) for value in case.batch.values())
        model = pp.jax.export(case.loss, case.params, batch, states=case.states, labels=case.labels)
        step = jax.jit(jax.value_and_grad(case.loss, has_aux=case.states is not None))
        worst = 0.0
        with pp.Trainer(model, plan, optimizer="sgd", lr=RATE) as trainer:
            for _ in range(3):
                value, gradients = step(*given, *batch)
                value, *states = value if case.states is not None else (value,)
                given = (jax.tree.map(lambda p, g: p - RATE * g, given[0], gradients), *states)
                worst = max(worst, abs(trainer.step(batch) / float(value) - 1))
            ours = trainer.trees()
        ours = jax.tree.leaves(ours)
        theirs = jax.tree.leaves(given if case.states is not None else given[0])
        worst = max(worst, *(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-3)) for a, b in zip(ours, theirs)))
        print(f"{build.__name__:8} {plan:22} {worst:.1e} {'ok' if worst <= BOUND else 'DIFFERS'}", flush=True)
        failures += not worst <= BOUND
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
