#!/usr/bin/env python3
"""Compares grouped-query attention with attention whose keys and values are repeated.

SPDX-License-Identifier: Apache-2.0

`--kv-heads=2` of 4 heads is the model of 4 heads in which two heads each have the same keys and
values. The loss is equal; so is, behind a step of SGD, what has a gradient of its own, and what a
key-value head changes by is the sum of what its copies change by. In f64, over parts of tp.

  grouped_heads.py --bin=build/bin
"""
import array
import json
import pathlib
import sys

import scratch

sys.path.insert(0, str(pathlib.Path(__file__).parent / "pytorch"))
import check

HIDDEN, HEADS, GROUPS = 16, 4, 2
SIZE, QUERIES = HIDDEN // HEADS, HEADS // GROUPS
MODEL = f"gpt --layers=2 --hidden={HIDDEN} --heads={HEADS} --seq=8 --batch=4 --vocab=24 --dtype=f64".split()
BOUND = 1e-12


def write_safetensors(path, tensors):
    header, payload = {}, b""
    for name, (shape, values) in tensors.items():
        data = values.tobytes()
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(payload), len(payload) + len(data)]}
        payload += data
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + payload)


def columns(tensor):
    """Rows of columns; a bias is one row."""
    shape, values = tensor
    return [values[row:row + shape[-1]] for row in range(0, len(values), shape[-1])]


def fuse(tensors):
    """The parameters of the model without groups."""
    fused = {name: value for name, value in tensors.items() if ".c_q." not in name and ".c_k." not in name
             and ".c_v." not in name}
    for name in [name for name in tensors if ".c_q." in name]:
        query, key, value = (tensors[name.replace(".c_q.", part)] for part in (".c_q.", ".c_k.", ".c_v."))
        values = array.array("d")
        for of_query, *others in zip(columns(query), columns(key), columns(value)):
            values += of_query
            for row in others:
                for head in range(HEADS):
                    group = head // QUERIES
                    values += row[group * SIZE:(group + 1) * SIZE]
        fused[name.replace(".c_q.", ".c_attn.")] = query[0][:-1] + [3 * HIDDEN], values
    return fused


def step(place, model, plan):
    """The loss and the parameters behind a step."""
    place.make("pp-run", f"{model}.mlir", f"--parallelize={plan} optimizer=sgd lr=1.0", "--steps=1", "--quiet",
               f"--parameters={model}.safetensors", "--save=after.safetensors", "--metrics=loss.jsonl")
    line = (place.folder / "loss.jsonl").read_text().splitlines()[0]
    return json.loads(line)["loss"], check.read_safetensors(place.folder / "after.safetensors")


def shared_changes(before, fused):
    """With the changes of copies added up where they are of one key-value head."""
    expected = {}
    for name, (shape, values) in before.items():
        if not any(part in name for part in (".c_q.", ".c_k.", ".c_v.")):
            expected[name] = fused[name]
            continue
        part = "qkv".index(name.rpartition(".c_")[2][0])
        copies = 1 if part == 0 else QUERIES
        new = array.array("d")
        attention = name.replace(name[name.rindex(".c_"):name.rindex(".")], ".c_attn")
        for old, row in zip(columns((shape, values)), columns(fused[attention])):
            for column, value in enumerate(old):
                head, place = divmod(column, SIZE)
                at = [part * HIDDEN + (head * copies + copy) * SIZE + place for copy in range(copies)]
                new.append(value + sum(row[index] - value for index in at))
        expected[name] = shape, new
    return expected


def main():
    with scratch.from_command_line(__doc__) as place:
        judge = scratch.Judge(place)
        place.make("pp-model", *MODEL, "-o", "fused.mlir")
        place.make("pp-model", *MODEL, f"--kv-heads={GROUPS}", "-o", "grouped.mlir")
        place.make("pp-run", "grouped.mlir", "--steps=0", "--seed=3", "--quiet", "--save=grouped.safetensors")
        before = check.read_safetensors(place.folder / "grouped.safetensors")
        # Zeros stay about zero: a bias of keys has no gradient.
        for name, (shape, values) in before.items():
            if name.endswith(".bias"):
                before[name] = shape, array.array("d", [0.01 * (1 + index) for index in range(len(values))])
        write_safetensors(place.folder / "grouped.safetensors", before)
        write_safetensors(place.folder / "fused.safetensors", fuse(before))
        plan = place.make("pp-opt", "grouped.mlir", "--pp-parallelize=tp=4 links=1e12:1e-8", "--emit=plan")
        judge.expect('"tp"=[2, 2]' in plan, f"expects queries to take a part of tp, got {plan}")
        wanted, after = step(place, "fused", "")
        expected = shared_changes(before, after)
        for plan in "", "tp=4 links=1e12:1e-8", "dp=2 tp=2 sequence=true", "sp=2 zero=3":
            loss, ours = step(place, "grouped", plan)
            judge.expect(abs(loss - wanted) <= BOUND * wanted, f"{plan}: expects the loss {wanted}, got {loss}")
            worst, name = check.parameter_difference(ours, expected)
            judge.expect(worst <= BOUND, f"{plan}: {name} differs by {worst}")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
