#!/usr/bin/env python3
"""Compares what a step sends and holds with closed forms.

SPDX-License-Identifier: Apache-2.0

With P the bytes of all parameters, n the devices of dp and m micro-batches, a
gather or a scatter of all parameters sends (n-1)/n P a rank. A step sends 2 of
them with zero=0 (as one all_reduce) and 1, m+1 with 2, and up to 3 m with 3,
where backward gathers only what it reads: no biases, no embeddings of positions.
Optimizer states are a part of n with 1, gradients with 2, parameters with 3.

  wire_bytes.py --bin=build/bin
"""
import json
import sys

import scratch

MODEL = "gpt --layers=2 --hidden=16 --heads=4 --seq=8 --batch=16 --vocab=24 --dtype=f32"
LOSS, STEP = 4, 4  # bytes: all_reduced, and Adam's count of steps


def sizes(text):
    """The bytes of every parameter of a module, by name."""
    signature = next(line for line in text.splitlines() if "func.func @main" in line)
    for argument in signature.split("%")[1:]:
        if "#pp.role<param>" not in argument:
            continue
        shape = argument[argument.index("tensor<") + 7:argument.index("xf32>")]
        elements = 1
        for size in shape.split("x"):
            elements *= int(size)
        yield argument.split('pp.name = "')[1].split('"')[0], 4 * elements


def expected(zero, n, m, parameters):
    """Bytes on the wire by kind, and of parameters, gradients and states, per rank."""
    whole = sum(parameters.values())
    again = sum(size for name, size in parameters.items()
                if not name.endswith("bias") and not name.startswith("wpe"))
    share = lambda size: size * (n - 1) // n
    wire = {"all_reduce": share(2 * LOSS)}
    if zero == 0:
        wire["all_reduce"] += share(2 * whole)
    else:
        wire["reduce_scatter"] = share(whole) * (1 if zero == 1 else m)
        wire["all_gather"] = share(whole) if zero < 3 else m * (share(whole) + share(again))
    held = {"parameters": whole // (n if zero == 3 else 1),
            "optimizer": 2 * whole // (n if zero else 1) + STEP}
    if m > 1 and zero >= 2:
        held["gradients"] = whole // n + LOSS
    return wire, held


def fits(name, got, closed, parameters, n):
    """At the peak one gradient may be on its way into its sum."""
    under_way = max(parameters.values()) // n if name == "gradients" else 0
    return closed <= got <= closed + under_way


def main():
    with scratch.from_command_line(__doc__) as place:
        parameters = dict(sizes(place.make("pp-model", *MODEL.split())))
        place.make("pp-model", *MODEL.split(), "-o", "gpt.mlir")
        errors, cases = [], 0
        for zero, n, m in ((zero, n, m) for zero in range(4) for n in (2, 4) for m in (1, 2, 4)):
            place.make("pp-run", "gpt.mlir", "--dry-run", "--report=report.json",
                       f"--parallelize=dp={n} microbatches={m} zero={zero} optimizer=adamw")
            report = json.loads((place.folder / "report.json").read_text())
            wire, held = expected(zero, n, m, parameters)
            for sent, memory in zip(report["communication"], report["memory"]):
                cases += 1
                got = {kind: entry["wire_bytes"] for kind, entry in sent.items()
                       if kind not in ("rank", "by_axes")}
                kept = {name: memory[name] for name in held}
                if got != wire or not all(fits(name, kept[name], held[name], parameters, n)
                                          for name in held):
                    errors.append(f"zero={zero} dp={n} microbatches={m}: expects {wire} and {held}, "
                                  f"got {got} and {kept}")
    print("\n".join(errors) or f"{cases} ranks as the closed forms say")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
