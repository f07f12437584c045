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


def main():
    failures = 0
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
