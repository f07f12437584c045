# measure.py - what every peer shares: options, batches, timing, the report.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: the model's dimensions and a text file. Out: one line of JSON on stdout.
# Knows no framework, so that the PyTorch and the JAX peers are timed alike.
"""Options, batches, timing and the report of one peer."""

import argparse
import json
import os
import statistics
import time

import numpy as np

REPOSITORY = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--vocab", type=int, default=256)
    parser.add_argument("--tied", action=argparse.BooleanOptionalAction,
                        default=True,
                        help="the output projection is the token embedding")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--microbatches", type=int, default=8,
                        help="of the pipeline peer")
    parser.add_argument("--autocast", action="store_true",
                        help="bf16; parameters and averages stay in f32")
    parser.add_argument("--threads", type=int, default=2,
                        help="cores that all processes of the peer share")
    parser.add_argument("--warmup", type=int, default=5,
                        help="steps before the clock runs")
    parser.add_argument("--steps", type=int, default=20, help="timed steps")
    parser.add_argument(
        "--data", default=os.path.join(REPOSITORY, "examples/data/kjv.txt"))
    return parser


def text_batches(path, steps, batch, seq):
    """Tokens and labels [steps, batch, seq] of a text: bytes are tokens.

    Row r of step s starts at ((s * batch + r) * seq) mod (size - seq - 1);
    the label is the next byte. This is the rule of pp-run --data=text:FILE.
    """
    text = np.fromfile(path, dtype=np.uint8).astype(np.int32)
    rows = np.arange(steps * batch, dtype=np.int64)
    offsets = (rows * seq) % (len(text) - seq - 1)
    index = offsets[:, None] + np.arange(seq)
    shape = (steps, batch, seq)
    return text[index].reshape(shape), text[index + 1].reshape(shape)


def time_steps(step, args):
    """Calls step(i) -> loss for warm-up and timed steps; returns ms and loss.

    The step must not return before its work is done: what it returns is read
    inside the timed region.
    """
    milliseconds = []
    for i in range(args.warmup + args.steps):
        start = time.perf_counter()
        loss = step(i)
        if loss is not None:
            loss = float(loss)
        if i >= args.warmup:
            milliseconds.append((time.perf_counter() - start) * 1e3)
    return milliseconds, loss


def matrix_rate(multiply, size=1024, repeats=20):
    """GFLOP/s of one size x size f32 product, the best of `repeats`."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        multiply()
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9


def report(name, version, milliseconds, loss, matmul_gflops):
    print(json.dumps({
        "peer": name,
        "version": version,
        "median_ms": statistics.median(milliseconds),
        "ms": milliseconds,
        "loss": loss,
        "matmul_gflops": matmul_gflops,
    }), flush=True)
