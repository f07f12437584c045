#!/usr/bin/env python3
"""Compares imported JAX losses with JAX: the loss and every gradient, and partitioned programs.

SPDX-License-Identifier: Apache-2.0

In f64. A step of SGD with the rate 1 subtracts the gradient, so that what
training saves tells it. Needs JAX, NumPy and safetensors of this Python or of
.venv-peers; without them the test is skipped.

  jax_models.py --bin=build/bin [--only=gpt,scan] [--keep]
"""
import importlib.util
import json
import os
import pathlib
import sys

import scratch

BOUND = 1e-10  # relative, of a tensor's Euclidean norm


def find_jax():
    """Goes on in a Python that has JAX; false if there is none."""
    if importlib.util.find_spec("jax") and importlib.util.find_spec("safetensors"):
        return True
    peers = pathlib.Path(__file__).resolve().parents[2] / ".venv-peers/bin/python"
    if not peers.exists() or sys.executable == str(peers):
        return False
    os.execv(peers, [str(peers), *sys.argv])


def worst_difference(ours, theirs):
    """The largest |ours - theirs| / max(|theirs|, 1e-6 |all|) of tensors, as --verify has it."""
    import numpy as np
    norm = lambda value: float(np.linalg.norm(np.ravel(value)))
    least = 1e-6 * sum(norm(value) ** 2 for value in theirs.values()) ** 0.5
    return max((norm(ours[name] - theirs[name]) / max(norm(theirs[name]), least), name)
               for name in theirs)


def name_of(path):
    """As the import names a parameter of that pytree path."""
    import jax
    keys = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", None))))
            for key in path]
    return ".".join(keys[1:] if keys[0] == "params" else keys)


def flatten(tree, stack):
    """Arrays by name; those below the path `stack` have a row for each layer."""
    import jax
    import numpy as np
    result = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        name = name_of(path)
        if not stack or not name.startswith(stack + "."):
            result[name] = np.ascontiguousarray(leaf)
            continue
        for layer, row in enumerate(leaf):
            result[f"{stack}.{layer}{name[len(stack):]}"] = np.ascontiguousarray(row)
    return result


def import_loss(tools, model, form):
    """Writes loss.mlir in that form, and model.mlir."""
    import jax
    lowered = jax.jit(model.loss).lower(model.params, *model.batch.values())
    if form == "pretty":
        text = lowered.as_text(debug_info=True)
    else:
        text = lowered.compiler_ir("stablehlo").operation.get_asm(
            print_generic_op_form=True, enable_debug_info=True)
    (tools.folder / "loss.mlir").write_text(text)
    return tools.make("pp-opt", "loss.mlir", f"--inputs={','.join(model.inputs)}",
                      f"--labels={','.join(model.labels)}", "--mlir-print-debuginfo")


def compare(tools, judge, model):
    """The loss and gradients against jax.value_and_grad."""
    import jax
    import numpy as np
    from safetensors.numpy import load_file, save_file
    loss, gradients = jax.jit(jax.value_and_grad(model.loss))(model.params, *model.batch.values())
    before, gradients = (flatten(tree, model.stack) for tree in (model.params, gradients))
    save_file(before, tools.folder / "before.safetensors")
    for name, value in model.batch.items():
        value = np.asarray(value)
        bits = value.view(np.int32) if value.dtype == np.uint32 else value
        np.save(tools.folder / f"{name}.npy", bits)
    tools.make("pp-run", "model.mlir", "--data=npy:.", "--parameters=before.safetensors",
               "--parallelize=optimizer=sgd lr=1", "--steps=1", "--save=after.safetensors",
               "--report=report.json", "--quiet")
    after = load_file(tools.folder / "after.safetensors")
    ours = json.loads((tools.folder / "report.json").read_text())["steps"][0]["loss"]
    worst = worst_difference({name: before[name] - after[name] for name in before}, gradients)
    of_loss = abs(ours - float(loss)) / abs(float(loss))
    print(f"{model.name}: loss {float(loss):.6g} off by {of_loss:.1e}, {len(before)} gradients by "
          f"at most {worst[0]:.1e} ({worst[1]})", flush=True)
    judge.expect(of_loss <= BOUND and worst[0] <= BOUND,
                 f"{model.name}: expects differences of at most {BOUND}")


def verify(tools, judge, model):
    for partition in model.partitions:
        done = tools.call("pp-run", "model.mlir", "--data=npy:.", "--parameters=before.safetensors",
                          f"--parallelize={partition} optimizer=sgd lr=0.1", "--steps=1",
                          "--verify", "--quiet")
        print(f"{model.name}: {partition}: {'verified' if not done.returncode else 'failed'}",
              flush=True)
        judge.expect(done.returncode == 0,
                     f"{model.name}: {partition}: {done.stderr or done.stdout}")


def main():
    if not find_jax():
        print("skipped: no JAX")
        return 0
    only = next((a.split("=")[1].split(",") for a in sys.argv if a.startswith("--only=")), None)
    sys.argv = [a for a in sys.argv if not a.startswith("--only=")]
    import jax_losses
    with scratch.from_command_line(__doc__) as tools:
        judge = scratch.Judge(tools)
        for build in jax_losses.MODELS:
            if only and build.__name__ not in only:
                continue
            model = build()
            if not model:
                print(f"{build.__name__}: left out: not installed")
                continue
            model.name = build.__name__
            generic = import_loss(tools, model, "generic")
            pretty = import_loss(tools, model, "pretty")
            judge.expect(generic.count("\n") == pretty.count("\n"),
                         f"{model.name}: expects the same model of both forms")
            (tools.folder / "model.mlir").write_text(pretty)
            compare(tools, judge, model)
            verify(tools, judge, model)
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
