#!/usr/bin/env python3
"""Compares what a step sends and holds with closed forms.

SPDX-License-Identifier: Apache-2.0

Units: A is a micro-batch's activation on one device, b s h elements; a gather or
scatter of S bytes over n devices sends (n-1)/n S a rank, an all_reduce twice
that. Every count of calls and every byte must be as said, and no call of another
kind, axes or size be there:

- Megatron: 4 all_reduces of A over tp per layer and micro-batch.
- sequence: 8 gathers and scatters of A, 10 where gathered activations are not
  kept, and one reduction a step of the gradients of what tp does not split.
- vocab: three more reductions of b s, one of A for the embedding, one of A for
  the logits' input gradient.
- zero, over dp, with P the bytes that tp leaves of all parameters: 1 sends 2 P a
  step, 2 (m+1) P, 3 up to 3 m P (backward gathers only what it reads: no biases,
  no embeddings of positions), or (m+1) P gathered once a step. In a micro-batch
  it is a call per layer. States are a part of n with 1, gradients with 2,
  parameters with 3, of what is padded where n does not divide.
- Between stages A is sent in each direction, and a tied embedding's gradient is
  reduced. Clipping reduces numbers.
- With experts over n devices of ep, each block of them has four all_to_alls in
  each micro-batch, of all places of all experts in the device's sequences.
  Gradients of other parameters are all_reduced over ep, once, with the loss and
  two metrics; those of experts are not.

  wire_bytes.py --bin=build/bin
"""
import collections
import json
import math
import re
import sys

import scratch

LAYERS, BYTES, STEP = 2, 4, 4  # bytes of an element, and of Adam's count of steps
Model = collections.namedtuple("Model", "hidden seq batch vocab tied")
Keys = collections.namedtuple("Keys", "dp tp pp m zero once sequence keep vocab clip",
                              defaults=(1, 1, 1, 1, 0, False, False, False, False, False))
MODEL = Model(16, 8, 16, 24, True)
ODD = Model(20, 8, 12, 22, True)  # sizes that dp=3 does not divide


def shapes(text):
    """The shape of every parameter of a module, by name."""
    signature = next(line for line in text.splitlines() if "func.func @main" in line)
    for argument in signature.split("%")[1:]:
        if "#pp.role<param>" in argument:
            shape = argument[argument.index("tensor<") + 7:argument.index("xf32>")]
            yield argument.split('pp.name = "')[1].split('"')[0], [int(n) for n in shape.split("x")]


def split_dimension(name, keys):
    """The dimension that tp splits of a parameter, if any."""
    layer = re.sub(r"^h\.\d+\.", "", name)
    dims = {"attn.c_attn.weight": 2, "attn.c_attn.bias": 1, "attn.c_proj.weight": 0,
            "mlp.c_fc.weight": 1, "mlp.c_fc.bias": 0, "mlp.c_proj.weight": 0}
    if keys.vocab:
        dims["wte.weight"] = 0
    if keys.sequence:
        dims["wpe.weight"] = 0
    return dims.get(layer) if keys.tp > 1 else None


class Parameter:
    """Bytes of a parameter on a device: `used`, and `stored` where dp shares it out."""

    def __init__(self, name, shape, keys):
        self.name = name
        split = split_dimension(name, keys)
        self.is_split = split is not None
        local = list(shape)
        if self.is_split:
            # The bias that tp and dp split alike makes all of the factor as long.
            parts = keys.tp * keys.dp if keys.zero and ".mlp." in name else keys.tp
            local[split] = -(-local[split] // parts) * parts // keys.tp
        divides = any(-(-n // (keys.tp if i == split else 1)) % keys.dp == 0
                      for i, n in enumerate(shape))
        self.used = BYTES * math.prod(local)
        whole = [n for i, n in enumerate(local) if i != split] or local
        self.stored, self.padded = self.used, self.used
        if divides:
            self.stored = self.used // keys.dp
        elif max(whole) >= keys.dp:
            longest = max(whole)
            self.stored = self.used // longest * -(-longest // keys.dp)
            self.padded = self.stored * keys.dp

    def layer(self):
        return re.match(r"(h\.\d+)|(\w+)", self.name)[0]


def expected(model, keys, names, all_shapes, is_last):
    """Calls and bytes on the wire by kind and axes, and bytes held, of a rank of a stage."""
    parameters = [Parameter(name, all_shapes[name], keys) for name in names]
    layers = len({p.layer() for p in parameters if p.layer().startswith("h.")})
    activation = BYTES * model.batch * model.seq * model.hidden // (keys.dp * keys.m)
    tokens = activation // model.hidden
    sent = collections.defaultdict(lambda: [0, 0])

    def call(kind, axes, sizes, times=1):
        """`times` calls over `axes` of tensors of these whole sizes."""
        n = math.prod(getattr(keys, axis) for axis in axes.split())
        if n == 1 or not sizes or not times:
            return
        factor = 2 if kind == "all_reduce" else 1
        sent[kind, axes][0] += times
        sent[kind, axes][1] += times * (factor * (n - 1) * sum(sizes) // n)

    if keys.sequence:
        call("all_gather", "tp", [activation], layers * keys.m * (4 if keys.keep else 6))
        call("reduce_scatter", "tp", [activation], layers * keys.m * 4)
    else:
        call("all_reduce", "tp", [activation], layers * keys.m * 4)
    if keys.vocab:
        call("all_reduce", "tp", [tokens], 3 * keys.m)
        call("all_reduce", "tp", [activation], 2 * keys.m)

    # Once a step: gradients, the loss, the norm.
    loss = [BYTES] if is_last else []
    if keys.m == 1 and keys.zero == 0 and loss:  # known, and reduced, in the forward pass
        axes = " ".join(axis for axis in ("dp", "tp") if getattr(keys, axis) > 1 and (
            axis == "dp" or keys.sequence))
        if axes:
            call("all_reduce", axes, loss)
        loss = []
    apart = [p for p in parameters if keys.sequence and keys.tp > 1 and not p.is_split]
    others = [p for p in parameters if p not in apart]
    shared_out = [p for p in parameters if p.stored < p.used]
    kept_whole = [p.padded for p in parameters if p not in shared_out]
    loss_axes = "dp tp" if keys.sequence and keys.tp > 1 and keys.dp > 1 else (
        "tp" if keys.sequence and keys.tp > 1 else "dp")
    if keys.zero == 0:
        if keys.dp > 1 and loss_axes == "dp tp":
            call("all_reduce", "dp", [p.used for p in others])
            call("all_reduce", "dp tp", [p.used for p in apart] + loss)
        elif loss_axes == "tp":
            call("all_reduce", "tp", [p.used for p in apart] + loss)
        else:
            call("all_reduce", "dp", [p.used for p in parameters] + loss)
    else:
        assert not kept_whole
        call("all_reduce", loss_axes, loss)
        call("all_reduce", "tp", [p.stored for p in apart])
        padded = [p.padded for p in parameters]
        groups = len({p.layer() for p in parameters})
        if keys.zero == 1:
            call("reduce_scatter", "dp", padded)
        else:
            sent["reduce_scatter", "dp"] = [groups * keys.m, keys.m * sum(
                (keys.dp - 1) * size // keys.dp for size in padded)]
        again = [p for p in parameters if not p.name.endswith("bias") and p.layer() != "wpe"]
        if keys.zero < 3 or keys.once:
            call("all_gather", "dp", padded)
        else:
            calls = keys.m * (groups + len({p.layer() for p in again}))
            sent["all_gather", "dp"] = [calls, keys.m * sum(
                (keys.dp - 1) * p.padded // keys.dp for p in parameters + again)]
    share = lambda split: sum(p.stored if split else p.used for p in parameters)
    held = {"parameters": share(keys.zero == 3), "optimizer": 2 * share(keys.zero) + STEP}
    if keys.m > 1:
        padded = sum(p.padded if keys.zero else p.used for p in parameters)
        held["gradients"] = (share(True) if keys.zero >= 2 else padded) + sum(loss)
    return dict(sent), held


def spell(keys):
    plan = f"dp={keys.dp} tp={keys.tp} pp={keys.pp} microbatches={keys.m} optimizer=adamw"
    if keys.zero:
        plan += f" zero={keys.zero}" + (" zero.gather=step" if keys.once else "")
    if keys.sequence:
        plan += " sequence=true" + (" sequence.gather=keep" if keys.keep else "")
    return plan + (" vocab=true" if keys.vocab else "") + (" clip=0.5" if keys.clip else "")


def cases():
    for tp, dp, m in ((2, 1, 1), (2, 1, 4), (2, 2, 2), (4, 2, 1)):
        yield MODEL, Keys(dp, tp, m=m)
        yield MODEL, Keys(dp, tp, m=m, vocab=True)
        for keep in (False, True):
            yield MODEL, Keys(dp, tp, m=m, sequence=True, keep=keep)
    for zero, once in ((0, False), (1, False), (2, False), (3, False), (3, True)):
        for dp, tp, m in ((2, 1, 1), (2, 1, 4), (4, 1, 2), (2, 2, 2)):
            yield MODEL, Keys(dp, tp, m=m, zero=zero, once=once)
        yield ODD, Keys(3, m=2, zero=zero, once=once)
        yield ODD, Keys(3, 2, m=2, zero=zero, once=once)
        yield MODEL, Keys(2, 2, m=2, zero=zero, once=once, sequence=True)


# Two blocks with experts, each with ceil(2 * 8 / 4 * 1.25) places in a sequence.
EXPERTS, CAPACITY, BLOCKS = 4, 5, 2
MOE = ("moe --layers=4 --hidden=16 --heads=4 --seq=8 --batch=16 --vocab=24 --dtype=f32 --experts=4 "
       "--top-k=2 --capacity-factor=1.25")


def experts_errors(place):
    """What ep sends beside the closed form."""
    text = place.make("pp-model", *MOE.split())
    shared = sum(BYTES * math.prod(shape) for name, shape in shapes(text) if "experts" not in name)
    (place.folder / "moe.mlir").write_text(text)
    for n, m in ((n, m) for n in (2, 4) for m in (2, 4)):
        place.make("pp-run", "moe.mlir", "--dry-run", "--report=report.json",
                   f"--parallelize=ep={n} microbatches={m} optimizer=sgd")
        report = json.loads((place.folder / "report.json").read_text())
        places = MODEL.batch // m // n * EXPERTS * CAPACITY * MODEL.hidden * BYTES
        count, share = 4 * m * BLOCKS, lambda size: size * (n - 1) // n
        wanted = {"all_to_all": {"count": count, "wire_bytes": count * share(places)},
                  "all_reduce": {"count": 1, "wire_bytes": share(2 * (shared + 3 * BYTES))}}
        for sent in report["communication"]:
            got = {kind: {key: entry[key] for key in ("count", "wire_bytes")}
                   for kind, entry in sent.items() if kind not in ("rank", "by_axes")}
            if got != wanted:
                yield f"ep={n} microbatches={m}: expects {wanted}, got {got}"


def main():
    with scratch.from_command_line(__doc__) as place:
        texts = {}
        for model in (MODEL, ODD):
            texts[model] = place.make(
                "pp-model", "gpt", f"--layers={LAYERS}", "--heads=4", "--dtype=f32",
                f"--hidden={model.hidden}", f"--seq={model.seq}", f"--batch={model.batch}",
                f"--vocab={model.vocab}", f"--tied={str(model.tied).lower()}")
        errors, ranks, padding = [], 0, set()
        for model, keys in cases():
            (place.folder / "gpt.mlir").write_text(texts[model])
            place.make("pp-run", "gpt.mlir", "--dry-run", "--report=report.json",
                       f"--parallelize={spell(keys)}")
            report = json.loads((place.folder / "report.json").read_text())
            all_shapes = dict(shapes(texts[model]))
            for stage in report["stages"]:
                sent, held = expected(model, keys, stage["parameters"], all_shapes,
                                      stage is report["stages"][-1])
                for name in stage["parameters"]:
                    p = Parameter(name, all_shapes[name], keys)
                    if keys.zero and p.padded > p.used:
                        padding.add(f"{name} over dp={keys.dp} tp={keys.tp}: {p.padded - p.used} bytes")
                for rank in stage["ranks"]:
                    ranks += 1
                    got = {(entry["kind"], " ".join(entry["axes"])):
                           [entry["count"], entry["wire_bytes"]]
                           for entry in report["communication"][rank]["by_axes"]}
                    if keys.once and model is ODD:
                        held.pop("gradients", None)  # most is held before there are any
                    kept = {name: report["memory"][rank][name] for name in held}
                    if got != sent or kept != held:
                        errors.append(f"{spell(keys)}: expects {sent} and {held}, got {got} and {kept}")
        errors += experts_errors(place)
    print("\n".join(sorted(padding)))
    print("\n".join(errors) or f"{ranks} ranks as the closed forms say")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
