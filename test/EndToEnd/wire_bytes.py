#!/usr/bin/env python3
"""Compares what a step sends and holds with closed forms.

SPDX-License-Identifier: Apache-2.0

With P the bytes of all parameters, n the devices of dp and m micro-batches, a
gather or a scatter of all parameters sends (n-1)/n P a rank. A step sends 2 of
them with zero=0 (as one all_reduce) and 1, m+1 with 2, and up to 3 m with 3,
where backward gathers only what it reads: no biases, no embeddings of positions.
Optimizer states are a part of n with 1, gradients with 2, parameters with 3.

With experts over n devices of ep, each block of them has four all_to_alls in each micro-batch, of all
places of all experts in the device's sequences. Gradients of other parameters are all_reduced over ep,
once, with the loss and two metrics; those of experts are not.

  wire_bytes.py --bin=build/bin
"""
import json
import sys

import scratch

MODEL = "gpt --layers=2 --hidden=16 --heads=4 --seq=8 --batch=16 --vocab=24 --dtype=f32"
LOSS, STEP = 4, 4  # bytes: all_reduced, and Adam's count of steps

# Two blocks with experts, each with ceil(2 * 8 / 4 * 1.25) places in a sequence.
BATCH, HIDDEN, EXPERTS, CAPACITY, BLOCKS, METRIC = 16, 16, 4, 5, 2, 4
MOE = ("moe --layers=4 --hidden=16 --heads=4 --seq=8 --batch=16 --vocab=24 --dtype=f32 --experts=4 "
       "--top-k=2 --capacity-factor=1.25")


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


def experts_errors(place):
    """What ep sends beside the closed form."""
    text = place.make("pp-model", *MOE.split())
    shared = sum(size for name, size in sizes(text) if "experts" not in name)
    place.make("pp-model", *MOE.split(), "-o", "moe.mlir")
    for n, m in ((n, m) for n in (2, 4) for m in (2, 4)):
        place.make("pp-run", "moe.mlir", "--dry-run", "--report=report.json",
                   f"--parallelize=ep={n} microbatches={m} optimizer=sgd")
        report = json.loads((place.folder / "report.json").read_text())
        places = BATCH // m // n * EXPERTS * CAPACITY * HIDDEN * 4
        count, share = 4 * m * BLOCKS, lambda size: size * (n - 1) // n
        expected = {"all_to_all": {"count": count, "wire_bytes": count * share(places)},
                    "all_reduce": {"count": 1, "wire_bytes": share(2 * (shared + LOSS + 2 * METRIC))}}
        for sent in report["communication"]:
            got = {kind: {key: entry[key] for key in ("count", "wire_bytes")}
                   for kind, entry in sent.items() if kind not in ("rank", "by_axes")}
            if got != expected:
                yield f"ep={n} microbatches={m}: expects {expected}, got {got}"


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
        errors += experts_errors(place)
    print("\n".join(errors) or f"{cases} ranks as the closed forms say")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
