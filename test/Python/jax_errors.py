#!/usr/bin/env python3
# jax_errors.py - what pp.jax.export and export_step refuse, and how they say so.
#
# SPDX-License-Identifier: Apache-2.0
#
# An error is one line with the user's line of source, or the argument's name, and
# what to change. Needs JAX.
"""Compares the errors of pp.jax with what they should say.

  jax_errors.py --bin=build/bin
"""
import os
import sys

import peers

peers.need("jax")
import jax  # noqa: E402 (found through the line above)
import jax.numpy as jnp
import numpy as np

import pp
from comparing import judge_errors

jax.config.update("jax_platforms", "cpu")
HERE = r"jax_errors\.py:\d+:\d+: error: "
X, LABELS = jnp.ones((3, 4)), jnp.zeros(3, jnp.int32)
PARAMS = {"w": jnp.ones((4, 4))}


@jax.custom_vjp
def doubled(x):
    return x


doubled.defvjp(lambda x: (x, None), lambda _, cotangent: (2 * cotangent,))


def of_hidden(function):
    """A loss that does something with a product."""
    return lambda params, x, labels: jnp.sum(function(x @ params["w"])) + jnp.sum(labels)


def grow(h):
    return jax.lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, h)


# (loss, params, batch, further arguments, what the error says)
CASES = [
    (lambda p, x, y: (x @ p["w"]).sum(1), PARAMS, (X, LABELS), {},
     r"one floating-point number .*got float32\[3\]: reduce"),
    (lambda p, x, y: jnp.argmax(x @ p["w"]), PARAMS, (X, LABELS), {}, r"one floating-point number .*got int32\[\]"),
    (of_hidden(lambda h: h if h[0, 0] > 0 else -h), PARAMS, (X, LABELS), {},
     "JAX refuses the loss: .*boolean conversion"),
    (of_hidden(lambda h: jnp.abs(jnp.fft.fft(h))), PARAMS, (X, LABELS), {}, HERE + ".*complex<f32>"),
    (of_hidden(grow), PARAMS, (X, LABELS), {}, HERE + "cannot import stablehlo.while whose number .*; use lax.scan"),
    (of_hidden(lambda h: h.at[LABELS].mul(2.0)), PARAMS, (X, LABELS), {},
     HERE + "cannot import stablehlo.scatter.*; use"),
    (of_hidden(lambda h: jax.pure_callback(np.sin, h, h)), PARAMS, (X, LABELS), {}, HERE + "cannot import a call of"),
    (of_hidden(lambda h: jnp.linalg.cholesky(h @ h.T)), PARAMS, (X, LABELS), {},
     r'at "cholesky": cannot import a call of .*jax_errors\.py:\d+:\d+: note: called here'),
    (of_hidden(doubled), PARAMS, (X, LABELS), {}, r"doubled at .*jax_errors\.py:\d+: has a derivative of its own"),
    (lambda p, x, y: jnp.sum(x * p["n"] * y[:, None]), {"n": LABELS[0]}, (X, LABELS), {},
     "parameters to be floats, got 'params.n'"),
    (lambda p, x, y: jnp.sum(x @ p["a"]["b"] @ p["a.b"]), {"a": {"b": X.T @ X}, "a.b": X.T @ X}, (X, LABELS), {},
     "different names, got two called 'params.a.b': rename one"),
    (lambda p, x, y: x.sum(), PARAMS, (X, LABELS), {}, "depends on params.* nothing of params"),
    (lambda p, x, y: p["w"].sum(), PARAMS, (X, LABELS), {}, "depends on params.* nothing of the batch"),
    (of_hidden(jnp.sin), PARAMS, X, {}, r"a dict or a tuple of arrays, got \w+: one array is \(array,\)"),
    (of_hidden(jnp.sin), PARAMS, (X, LABELS), {"labels": "z"},
     r"labels of entries of the batch, \['x', 'labels'\], got \['z'\]"),
    (of_hidden(jnp.sin), PARAMS, (X, LABELS), {"dims": {"z": ("batch",)}},
     r"dims of entries of the batch, .* got \['z'\]"),
    (of_hidden(jnp.sin), PARAMS, (X, LABELS), {"dims": {"x": ("batch",)}},
     "a name for each dimension of 'batch.x'.*got batch"),
    (lambda p, s, x, y: (jnp.sum(x @ p["w"]) * s["n"][0], {"n": s["n"].astype(jnp.int32)}), PARAMS, (X, LABELS),
     {"states": {"n": jnp.ones(2)}}, r"types of the old ones, got int32\[2\] for states\['n'\], which is float32\[2\]: convert"),
    (lambda p, s, x, y: jnp.sum(x @ p["w"]) * s["n"], PARAMS, (X, LABELS), {"states": {"n": jnp.ones(())}},
     r"the loss and new states, in a pytree as that of states, .*\{'n'"),
    (lambda p, b: jnp.sum(b["a,b"] @ p["w"]), PARAMS, {"a,b": X}, {}, "called by letters, .* got 'a,b'"),
]


def step_by(function):
    """A step that does something with the new parameters and the loss."""
    def step(params, opt_state, x):
        loss, gradients = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"]) ** 2))(params)
        return function(jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), opt_state, loss)

    return step


# (step, opt_state, what the error says)
STEPS = [
    (step_by(lambda p, s, loss: (loss, p)), (), r"to return \(params, opt_state, loss\), .* got PyTreeDef"),
    (step_by(lambda p, s, loss: (p["w"], s, loss)), (), r"to return \(params, opt_state, loss\), the first two in pytrees"),
    (step_by(lambda p, s, loss: (p, {"n": s["n"] + 0.5}, loss)), {"n": LABELS}, r"int32\[3\]: convert one"),
    (step_by(lambda p, s, loss: (p, s, loss[None])), (), "returns its loss, one number .* got 0 such results"),
    (step_by(lambda p, s, loss: (p, s, [loss, 2 * loss])), (), "got 2 such results; return a dictionary .* called 'loss'"),
    (step_by(lambda p, s, loss: (p, {"key": jax.random.split(s["key"])[0]}, loss)), {"key": jax.random.key(1)},
     r"got a key at \['key'\] of opt_state: keep jax.random.key_data"),
    (lambda p, s, x: (p, s, jnp.mean(x @ p["w"])), (), "a step that JAX differentiated, .* without gradients"),
    (lambda p, s, x: (p, s, 1.0) if x[0, 0] > 0 else (p, s, 0.0), (), "JAX refuses the step: .*boolean conversion"),
]


def main():
    os.environ["PP_BIN"] = next(os.path.abspath(a[6:]) for a in sys.argv if a.startswith("--bin="))
    losses = [(lambda c=case: pp.jax.export(*c[:3], **c[3]), case[4]) for case in CASES]
    steps = [(lambda c=case: pp.jax.export_step(c[0], PARAMS, c[1], (X,)), case[2]) for case in STEPS]
    return judge_errors(losses + steps)


if __name__ == "__main__":
    sys.exit(main())
