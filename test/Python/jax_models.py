#!/usr/bin/env python3
# jax_models.py - losses of JAX, exported and compared with JAX.
#
# SPDX-License-Identifier: Apache-2.0
#
# For each loss of jax_losses.py and flax_losses.py, in f64 and f32: its value,
# every gradient and new state; in f64 also --verify under plans. The gradient is
# what a step of plain descent takes away. The generic form of StableHLO has to
# give the same model. Needs JAX; without it the test is skipped.
"""Compares exported losses with JAX.

  jax_models.py --bin=build/bin --case=gpt,scan
"""
import itertools
import json
import os
import subprocess
import sys

import peers

peers.need("jax", "safetensors")
import jax  # noqa: E402 (found through the line above)
import numpy as np
from safetensors.numpy import load_file

import jax_losses
import pp
from comparing import JaxCase, run_cases, worst_difference

# Relative, of a tensor's Euclidean norm; and the part of all tensors' norm below which one counts as that part.
BOUNDS = {"f64": (1e-10, 1e-6), "f32": (1e-5, 1e-3)}
RATE = 2.0**20  # so large that the parameter's rounding does not hide the gradient


class Case(JaxCase):
    def __init__(self, build, precision, args, folder):
        bound, self.least = BOUNDS[precision]
        super().__init__(precision, bound, args, folder)
        self.loss = build()

    def call(self, tool, *options):
        done = subprocess.run([os.path.join(self.args.bin, tool), *options], capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            self.problems.append(f"{tool} {' '.join(options)}: exit code {done.returncode}\n{done.stderr[-3000:]}")
        return done

    def check(self):
        case = self.loss
        given = (case.params,) if case.states is None else (case.params, case.states)
        model = pp.jax.export(case.loss, case.params, tuple(case.batch.values()), states=case.states,
                              labels=case.labels, dims=case.dims)
        if "sharding" in model.text:
            free = pp.jax.export(case.loss, case.params, tuple(case.batch.values()), labels=case.labels,
                                 keep_shardings=False)
            if "sharding" in free.text or "pp.mesh" in free.text:
                self.problems.append("expects no shardings without keep_shardings")
        model.save(self.path("model.mlir"))
        model.save_batches(self.folder, [tuple(np.asarray(value) for value in case.batch.values())])
        if self.precision == "f64":
            self.check_generic_form(case, given)
        value, gradients = jax.jit(jax.value_and_grad(case.loss, has_aux=case.states is not None))(
            *given, *case.batch.values())
        value, states = value if case.states is not None else (value, None)
        self.call("pp-run", self.path("model.mlir"), f"--data=npy:{self.folder}", "--quiet", "--steps=1",
                  f"--parameters={self.path('model.safetensors')}", f"--parallelize=optimizer=sgd lr={RATE:.0f}",
                  f"--save={self.path('after.safetensors')}", f"--report={self.path('report.json')}")
        if self.problems:
            return
        with open(self.path("report.json")) as file:
            ours = json.load(file)["steps"][0]["loss"]
        self.judge("loss", abs(ours - float(value)) / abs(float(value)))
        after = model.to_trees(load_file(self.path("after.safetensors")))
        after, new = after if case.states is not None else (after, None)
        taken = jax.tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / RATE, case.params, after)
        self.judge("gradients", *worst_difference(taken, gradients, self.least))
        if states is not None:
            self.judge("states", *worst_difference(new, states, self.least))
        for plan in case.partitions if self.precision == "f64" else ():
            done = self.call("pp-run", self.path("model.mlir"), f"--data=npy:{self.folder}", "--quiet", "--steps=1",
                             f"--parameters={self.path('model.safetensors')}", "--verify",
                             f"--parallelize={plan} optimizer=sgd lr=0.1")
            print(f"  {plan:24} {'FAILS' if done.returncode else 'verified'}", flush=True)

    def check_generic_form(self, case, given):
        lowered = jax.jit(case.loss).lower(*given, *case.batch.values())
        ops = {}
        for form in True, False:
            text = lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=form,
                                                                      enable_debug_info=True)
            with open(self.path("loss.mlir"), "w") as file:
                file.write(text)
            inputs = [name for name in case.batch if name not in case.labels]
            ops[form] = self.call("pp-opt", self.path("loss.mlir"), f"--inputs={','.join(inputs)}",
                                  f"--labels={','.join(case.labels)}",
                                  *(["--states=states"] if case.states is not None else [])).stdout
        if ops[True] != ops[False]:
            self.problems.append("expects the same model of both forms of StableHLO")


def flax_cases():
    try:
        import flax_losses
    except ModuleNotFoundError:
        print("left out: the cases of Flax, which is not installed")
        return []
    return flax_losses.CASES


def main():
    return run_cases(__doc__, itertools.product(jax_losses.CASES + flax_cases(), BOUNDS), Case)


if __name__ == "__main__":
    sys.exit(main())
