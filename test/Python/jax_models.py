#!/usr/bin/env python3
# jax_models.py - losses of JAX, exported and compared with JAX.
#
# SPDX-License-Identifier: Apache-2.0
#
# For each loss of jax_losses.py, in f64: its value, every gradient and new state,
# and --verify under plans. The gradient is what a step of plain descent takes
# away. The generic form of StableHLO has to give the same model. Needs JAX;
# without it the test is skipped.
"""Compares exported losses with JAX.

  jax_models.py --bin=build/bin --case=gpt,scan
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import peers

peers.need("jax", "safetensors")
import jax  # noqa: E402 (found through the line above)
import numpy as np
from safetensors.numpy import load_file

import jax_losses
import pp

BOUND = 1e-10  # relative, of a tensor's Euclidean norm


def worst_difference(ours, theirs):
    """The largest |ours - theirs| / max(|theirs|, 1e-6 |all|) of the leaves of trees, as --verify has it."""
    norm = lambda value: float(np.linalg.norm(np.ravel(value)))
    ours, theirs = (jax.tree_util.tree_leaves_with_path(tree) for tree in (ours, theirs))
    least = 1e-6 * sum(norm(value)**2 for _, value in theirs)**0.5
    return max((norm(a - b) / max(norm(b), least, 1e-300), jax.tree_util.keystr(path))
               for (path, b), (_, a) in zip(theirs, ours))


class Case:
    def __init__(self, build, args, folder):
        self.name, self.loss, self.args, self.folder = build.__name__, build(), args, folder
        self.problems = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, tool, *options):
        done = subprocess.run([os.path.join(self.args.bin, tool), *options], capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            self.problems.append(f"{tool} {' '.join(options)}: exit code {done.returncode}\n{done.stderr[-3000:]}")
        return done

    def judge(self, what, error, name=""):
        print(f"  {what:24} {error:.1e} {'ok' if error <= BOUND else 'DIFFERS ' + name}", flush=True)
        if not error <= BOUND:
            self.problems.append(what)

    def check(self):
        case = self.loss
        given = (case.params,) if case.states is None else (case.params, case.states)
        model = pp.jax.export(case.loss, case.params, tuple(case.batch.values()), states=case.states,
                              labels=case.labels, dims=case.dims)
        model.save(self.path("model.mlir"))
        model.save_batches(self.folder, [tuple(np.asarray(value) for value in case.batch.values())])
        self.check_generic_form(case, given)
        value, gradients = jax.jit(jax.value_and_grad(case.loss, has_aux=case.states is not None))(
            *given, *case.batch.values())
        value, states = value if case.states is not None else (value, None)
        self.call("pp-run", self.path("model.mlir"), f"--data=npy:{self.folder}", "--quiet", "--steps=1",
                  f"--parameters={self.path('model.safetensors')}", "--parallelize=optimizer=sgd lr=1",
                  f"--save={self.path('after.safetensors')}", f"--report={self.path('report.json')}")
        if self.problems:
            return
        with open(self.path("report.json")) as file:
            ours = json.load(file)["steps"][0]["loss"]
        self.judge("loss", abs(ours - float(value)) / abs(float(value)))
        after = model.to_trees(load_file(self.path("after.safetensors")))
        after, new = after if case.states is not None else (after, None)
        taken = jax.tree.map(lambda a, b: np.asarray(a) - np.asarray(b), case.params, after)
        self.judge("gradients", *worst_difference(taken, gradients))
        if states is not None:
            self.judge("states", *worst_difference(new, states))
        for plan in case.partitions:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of pp's tools")
    parser.add_argument("--case", help="run these cases only, separated by commas")
    args = parser.parse_args()
    os.environ["PP_BIN"] = os.path.abspath(args.bin)
    failed = []
    for build in jax_losses.CASES:
        if args.case and build.__name__ not in args.case.split(","):
            continue
        print(build.__name__, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            case = Case(build, args, folder)
            if not case.loss:
                print("  left out: not installed")
                continue
            try:
                case.check()
            except pp.ExportError as error:
                case.problems.append(str(error))
            if case.problems:
                print(*case.problems, sep="\n")
                failed.append(case.name)
    print(f"failed: {', '.join(failed)}" if failed else "all agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
