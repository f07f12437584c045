#!/usr/bin/env python3
"""Compares the stages of pipelines that pp-opt exports, run by XLA, with pp-run.

SPDX-License-Identifier: Apache-2.0

In f64, two steps: the loss of both and every parameter behind them. Each stage
is a module of its own, on devices of its own, in the order of the exported
schedule; values go from stage to stage as the description says. Needs JAX,
NumPy and safetensors of this Python or of .venv-peers; without them the test is
skipped.

  xla_stages.py --bin=build/bin [--only=1f1b]
"""
import re
import sys

import on_devices

GPT = "gpt --layers=2 --hidden=16 --heads=4 --seq=8 --batch=8 --vocab=32"

# A name, a model, the partition.
CASES = [
    ("1f1b", GPT, "pp=2 dp=2 microbatches=4 schedule=1f1b clip=0.1"),
    ("gpipe", GPT + " --dropout=0.2", "pp=2 tp=2 microbatches=2 schedule=gpipe remat=full"),
    ("zero", GPT, "pp=2 dp=2 zero=2 microbatches=2"),
    ("stages", "mlp --layers=4 --input=8 --hidden=12 --classes=4 --batch=8",
     "pp=4 microbatches=4"),
    ("interleaved", GPT, "pp=2 dp=2 microbatches=2 schedule=interleaved-1f1b clip=0.1"),
    ("experts", GPT.replace("gpt", "moe") + " --experts=4", "pp=2 ep=2 microbatches=2"),
]


def compile_functions(path, devices):
    """A program of each function of a module."""
    from jaxlib.mlir import ir
    from jax._src.interpreters import mlir as jax_mlir
    from pp.xla import Program
    programs = {}
    names = re.findall(r"func\.func public @([\w.]+)\(", path.read_text())
    for name in names:
        with jax_mlir.make_ir_context():
            module = ir.Module.parse(path.read_text())
            for function in list(module.body.operations):
                if function.name.value == name:
                    function.attributes["sym_name"] = ir.StringAttr.get("main")
                else:
                    function.erase()
            programs[name] = Program(str(module), devices)
    return programs


class Pipeline:
    """All stages in one process; a value is known by stage, name and micro-batch."""

    def __init__(self, path):
        import jax
        from pp.exported import Interface
        self.interface = Interface(path)
        self.entries = self.interface.entries
        self.replicas = self.interface.replicas
        self.programs = [
            compile_functions(path.parent / stage["file"],
                              jax.local_devices()[index * self.replicas:][:self.replicas])
            for index, stage in enumerate(self.entries["positions"])]
        self.micro_batches = next((axis["size"] for axis in self.entries["mesh"]
                                   if axis["kind"] == "time"), 1)
        self.targets = {}
        for move in self.entries["transfers"]:
            self.targets.setdefault((move["from"], move["value"]), []).append(move["to"])

    def start(self, values):
        """Whole parameters by name; states start as they say."""
        self.kept = {}
        for tensor in self.interface.arguments:
            if tensor.role in ("param", "state"):
                whole = tensor.from_stored(values[tensor.name] if tensor.name in values
                                           else tensor.initial())
                parts = [tensor.split(whole, index) for index in range(self.replicas)]
                for stage in tensor.positions:
                    self.kept[stage, tensor.name] = parts

    def has(self, stage, name, micro_batch):
        return name == ":micro_batch" or any(
            (stage, name, number) in self.now for number in (micro_batch, None))

    def look_up(self, stage, name, micro_batch):
        import numpy as np
        if name == ":micro_batch":
            return [np.int32(micro_batch)] * self.replicas
        found = self.now.get((stage, name, micro_batch))
        return self.now[stage, name, None] if found is None else found

    def bind(self, stage, name, micro_batch, parts):
        for place in [stage, *self.targets.get((stage, name), [])]:
            self.now[place, name, micro_batch] = parts

    def call(self, stage, call, micro_batch):
        import numpy as np
        program = self.programs[stage][call["function"]]
        done = program([program.array(self.look_up(stage, name, micro_batch))
                        for name in call["arguments"]])
        for name, parts in zip(call["results"], done):
            self.bind(stage, name, micro_batch, [np.asarray(part) for part in parts])

    def calls_of(self, position, phase, stage=None):
        return [call for fragment in self.entries["positions"][position]["fragments"]
                if fragment["phase"] == phase and fragment.get("stage") == stage for call in fragment["calls"]]

    def run_actions(self):
        """Each stage's list in order; a stage waits for what an action reads."""
        lists = [[re.fullmatch(r"(\d+)([FBW])(\d+)", word).groups()
                  for word in place["actions"].split()] for place in self.entries["positions"]]
        phases = {"F": "forward", "B": "backward", "W": "weight"}
        while any(lists):
            has_moved = False
            for stage, actions in enumerate(lists):
                while actions:
                    number, kind, micro_batch = actions[0]
                    calls = self.calls_of(stage, phases[kind], int(number))
                    made = {name for call in calls for name in call["results"]}
                    if not all(name in made or self.has(stage, name, int(micro_batch))
                               for call in calls for name in call["arguments"]):
                        break
                    for call in calls:
                        self.call(stage, call, int(micro_batch))
                    actions.pop(0)
                    has_moved = True
            assert has_moved, f"deadlock: {lists}"

    def add_up(self):
        for entry in self.entries["sums"]:
            for stage in range(len(self.programs)):
                if not self.has(stage, entry["value"], 0):
                    continue
                parts = self.look_up(stage, entry["value"], 0)
                for number in range(1, self.micro_batches):
                    more = self.look_up(stage, entry["value"], number)
                    parts = [part + other for part, other in zip(parts, more)]
                self.bind(stage, entry["result"], None, parts)

    def run_once(self, phase):
        """Stages meet at each sum over stages."""
        lists = [self.calls_of(stage, phase) for stage in range(len(self.programs))]
        while any(lists):
            for stage, calls in enumerate(lists):
                while calls and "function" in calls[0]:
                    self.call(stage, calls.pop(0), None)
            heads = {stage: calls[0] for stage, calls in enumerate(lists) if calls}
            if not heads:
                return
            members = next(head["positions"] for head in heads.values()
                           if all(heads.get(stage, {}).get("positions") == head["positions"]
                                  for stage in head["positions"]))
            assert all(heads[stage]["all_reduce"] == "sum" for stage in members)
            for index in range(len(heads[members[0]]["arguments"])):
                addends = [self.look_up(stage, heads[stage]["arguments"][index], None)
                           for stage in members]
                total = [sum(parts[1:], parts[0]) for parts in zip(*addends)]
                for stage in members:
                    self.bind(stage, heads[stage]["results"][index], None, total)
            for stage in members:
                lists[stage].pop(0)

    def step(self, batch):
        """The loss; parameters and states are kept."""
        self.now = {(stage, name, None): parts for (stage, name), parts in self.kept.items()}
        for tensor in self.interface.arguments:
            if tensor.name not in batch:
                continue
            whole = tensor.from_stored(batch[tensor.name])
            parts = [tensor.split(whole, index) for index in range(self.replicas)]
            for stage in tensor.positions:
                for number in range(self.micro_batches):
                    self.now[stage, tensor.name, number] = [
                        part[number] if tensor.is_per_micro_batch else part for part in parts]
        self.run_once("prologue")
        self.run_actions()
        self.add_up()
        self.run_once("update")
        loss = None
        for tensor in self.interface.results:
            for stage in tensor.positions:
                parts = self.look_up(stage, tensor.value, None)
                if (stage, tensor.name) in self.kept:
                    self.kept[stage, tensor.name] = parts
                elif tensor.name == "loss":
                    loss = float(tensor.join(parts))
        return loss

    def values(self):
        """A value that several stages hold is the same on all."""
        import numpy as np
        result = {}
        for tensor in self.interface.arguments:
            for stage in tensor.positions:
                if (stage, tensor.name) in self.kept:
                    whole = tensor.to_stored(tensor.join(self.kept[stage, tensor.name]))
                    assert np.array_equal(result.setdefault(tensor.name, whole), whole)
        return result


def main():
    on_devices.start(4, "safetensors")
    import xla_steps
    return xla_steps.run_all(CASES, Pipeline, lambda pipeline, batch: pipeline.step(batch), __doc__)


if __name__ == "__main__":
    sys.exit(main())
