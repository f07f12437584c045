#!/usr/bin/env python3
"""Obeys what --pp-explain advises, and looks whether the finding is gone and the figures were right.

SPDX-License-Identifier: Apache-2.0

Every product, and every value of 1 MiB, that all devices of an axis have whole is
a remark of pp-lint-shardings with what would avoid it: a key, or a seed; so is what
is padded. Each advice is put into the plan, alone; of the ops that it was for, none may be left.
--pp-explain tells what a step then takes and a device holds: --pp-predict says the same of that plan.
Ways that name no change of a plan (a name for a value) are left out.

  advice.py --bin=build/bin
"""
import collections
import re
import sys

import scratch

GPT = "gpt --layers=2 --hidden=128 --heads=8 --seq=256 --batch=8 --vocab=1024"
WIDE = "gpt --layers=2 --hidden=512 --heads=8 --seq=32 --batch=8 --vocab=64"
MOE = "moe --layers=2 --hidden=64 --heads=4 --seq=64 --batch=8 --vocab=256 --experts=4"
# Model, keys, and how many lines `what could be better` may have.
CASES = [
    (WIDE, "dp=2", 1),
    (WIDE, "dp=2 tp=2", 3),
    (GPT, "tp=2", 3),
    (GPT, "tp=2 sequence=true", 3),
    (GPT, "tp=2 vocab=false", 3),
    (GPT, "dp=2 tp=2 microbatches=2", 4),
    (GPT, "sp=2", 3),
    # Fewer heads than devices: parts of tp, which one change mends together.
    (GPT.replace("heads=8", "heads=4"), "tp=8", 4),
    (GPT.replace("heads=8", "heads=4"), "tp=8 sequence=true", 3),
    # A sequence that is padded.
    (GPT.replace("seq=256", "seq=250"), "tp=4 sequence=true", 5),
    (MOE, "ep=2 sp=2", 4),
    (WIDE, "dp=2 tp=2 pp=2 microbatches=2", 6),
    (GPT, "tp=2 rates=3e14:3e12:3e-6 links=3e11:3e-6", 3),
    # A table that is most of the work: tp=1 leaves vocab=false no meaning.
    ("gpt --layers=1 --hidden=32 --heads=4 --seq=64 --batch=8 --vocab=8192", "tp=2 vocab=false", 3),
    # 9 rows over 8: of no axis alone are less enough.
    (GPT.replace("batch=8", "batch=9"), "microbatches=4 dp=2", 4),
    (MOE, "ep=2 tp=2", 4),
    (GPT.replace("heads=8", "heads=6").replace("128", "96"), "tp=4 vocab=false", 5),
    ("resnet --image=32 --width=16 --batch=8 --norm=group --groups=4", "dp=2 tp=2", 6),
]
REMARK = re.compile(r'^(.*?): remark: (?:at "(.*?)": )?\[Missed\] (whole|replicated|gathered|padded) \|.*?\| (avoid=.*)$', re.M)
FIELD = re.compile(r'(\w+)=(".*?"(?=, \w+=|$)|[^,]*)(?:, |$)')
ROW = re.compile(r"^(#pp.*>|\w+=[\w= ]*\w) +\d+(?:, \d+)* +([\d.]+ \w+) +([\d.]+ \w+) +(\d+)$", re.M)
PEAK = re.compile(r"^ranks? [\d, -]*\d +([\d.]+ \wi?B)", re.M)


def find(place, model, goal):
    """How often each op at each place is whole over an axis, by advice."""
    done = place.call("pp-opt", model, f"--pp-parallelize={goal} stop-after=spmd",
                      "--remarks-filter=pp-lint-shardings", "-o", "/dev/null")
    assert done.returncode == 0, (goal, done.stderr)
    found = collections.defaultdict(collections.Counter)
    for line, at, kind, fields in REMARK.findall(done.stderr):
        fields = {key: value[1:-1] if value[:1] == '"' else value for key, value in FIELD.findall(fields)}
        found[fields["avoid"]][at or line, fields.get("op", fields.get("of")), fields["over"].split("=")[0], kind] += 1
    return found


def obey(place, model, goal, change):
    """The plan with the change."""
    if not change.startswith("#pp.seed"):
        keys = tuple(word.partition("=")[0] + "=" for word in change.split())
        keys += ("vocab=", "sequence=") if "tp=1" in change.split() else ()  # say nothing without it
        return " ".join([word for word in goal.split() if not word.startswith(keys)] + [change])
    plan = place.make("pp-opt", model, f"--pp-parallelize={goal} stop-after=spmd", "--emit=plan")
    name = change.partition('"')[2].partition('"')[0]
    plan = re.sub(rf'#pp.seed<"{re.escape(name)}", .*?>,?\n', "", plan)
    (place.folder / "obeyed.plan").write_text(plan.replace("seeds = [", f"seeds = [\n    {change},"))
    return "plan=obeyed.plan"


def judge(place, model, goal):
    before = find(place, model, goal)
    total = sum(before.values(), collections.Counter())
    for advice, ops in before.items():
        for way in advice.split(", or "):
            if not re.match(r"\w+=[\w= ]*\w$|#pp.seed", way):
                continue
            after = sum(find(place, model, obey(place, model, goal, way)).values(), collections.Counter())
            left = {op: after[op] for op in ops if after[op] > total[op] - ops[op]}
            if left:
                yield f"{goal}: {way}: expects {sum(ops.values())} ops no more to be whole, got {left}"


def judge_figures(place, model, goal, told):
    """What the table has is what is predicted for the plan with the change."""
    rows = ROW.findall(told)
    table = re.split(r"\n(?:pass|write) a ", told.partition("plan with ")[2])[0]
    if told and len(rows) != table.count("\n") - 1:
        yield f"{goal}: expects a row for each change, got {rows} of {told}"
    for change, seconds, size, devices in rows:
        goals = obey(place, model, goal, change)
        predicted = place.make("pp-opt", model, f"--pp-parallelize={goals}", "--pp-predict")
        memory = predicted.partition("memory ")[2].partition("communication ")[0]
        if (f"step {seconds}," not in predicted or size not in PEAK.findall(memory)
                or f": {devices} rank" not in predicted.partition("\n")[0]):
            yield f"{goal}: {change}: expects {seconds}, {size} and {devices}, got {predicted}"


def main():
    errors = []
    with scratch.from_command_line(__doc__) as place:
        for index, (model, goal, most) in enumerate(CASES):
            name = f"{index}.mlir"
            family, *options = model.split()
            place.make("pp-model", family, *options, "-o", name)
            told = place.make("pp-opt", name, f"--pp-parallelize={goal}", "--pp-explain", "-o", "/dev/null")
            told = told.partition("what could be better")[2]
            if len(re.findall(r"^  \d", told, re.M)) > most:
                errors.append(f"{model} {goal}: expects at most {most} findings, got {told}")
            errors += [f"{model} {error}" for error in judge(place, name, goal)]
            errors += [f"{model} {error}" for error in judge_figures(place, name, goal, told)]
    print("\n".join(errors) or "all advice helps")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
