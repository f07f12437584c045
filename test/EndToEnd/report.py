#!/usr/bin/env python3
"""Compares what pp-run reports with what the program's text says.

SPDX-License-Identifier: Apache-2.0

Communication is counted from level 3, instructions from level 4: the report's
figures and the trace's slices must be these. What is printed, and what a seed
changes, is looked at as a user sees it.

  report.py --bin=build/bin --text=FILE
"""
import argparse
import collections
import json
import math
import os
import pathlib
import pty
import re
import resource
import subprocess
import sys
import tempfile
import xml.dom.minidom

from program_text import read_programs

MODEL = "gpt --layers=2 --hidden=32 --heads=4 --seq=16 --batch=8 --vocab=256"
MESH = {"mb": 2, "pp": 2, "dp": 2, "tp": 2}
GOAL = "dp=2 tp=2 pp=2 microbatches=2 optimizer=adamw clip=1"
STEPS = 4
WIDTHS = {"f32": 4, "f64": 8, "i32": 4}


def bytes_of(types):
    """Of all `tensor<2x3xf32>` in a text."""
    total = 0
    for sizes, element in re.findall(r"tensor<((?:\d+x)*)(\w+)>", types):
        total += math.prod(int(size) for size in sizes.split("x")[:-1]) * WIDTHS[element]
    return total


def count_communication(level3):
    """{stage: {kind: [count, bytes, wire bytes]}} of one step and one rank."""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, 0]))

    def add(stage, kind, times, size, wire):
        for i, value in enumerate((1, size, wire)):
            found[stage][kind][i] += times * value

    stage, times = None, 0
    for line in level3.splitlines():
        if match := re.search(r"pp\.fragment (\w+) (?:stage|position) (\d+)", line):
            stage, times = int(match[2]), 1 if match[1] == "update" else MESH["mb"]
        elif match := re.search(r"pp\.transfer .* from (\d+) to (\d+) : (.*)", line):
            size = bytes_of(match[3])
            add(int(match[1]), "send", MESH["mb"], size, size)
            add(int(match[2]), "recv", MESH["mb"], size, 0)
        elif match := re.search(r"pp\.all_reduce .* over @mesh \[(.*?)\].* : \((.*)\) -> ", line):
            members = math.prod(MESH[axis] for axis in re.findall(r'"(\w+)"', match[1]))
            size = bytes_of(match[2])
            add(stage, "all_reduce", times, size, 2 * (members - 1) * size / members)
        elif re.search(r"pp\.(all_|reduce_scatter|permute)", line):
            raise ValueError(f"this script does not know: {line}")
    return found


def count_instructions(level4):
    """{stage: instructions of a body}"""
    return {int(name.removeprefix("stage")): len(program.instructions)
            for name, program in read_programs(level4).items()}


def check_report(report, level3):
    devices = MESH["pp"] * MESH["dp"] * MESH["tp"]
    if report["world"] != devices or len(report["steps"]) != STEPS:
        yield f"expects {devices} ranks and {STEPS} steps"
    expected = count_communication(level3)
    for rank, entry in enumerate(report["communication"]):
        stage = rank * MESH["pp"] // devices
        found = {kind: list(value.values()) for kind, value in entry.items()
                 if kind not in ("rank", "by_axes")}
        if found != expected[stage]:
            yield f"rank {rank}: expects communication {dict(expected[stage])}, got {found}"
        for kind, amounts in found.items():
            parts = [[part[key] for key in ("count", "bytes", "wire_bytes")]
                     for part in entry["by_axes"] if part["kind"] == kind]
            if [sum(column) for column in zip(*parts)] != amounts:
                yield f"rank {rank}: expects {kind} by axes to add up to {amounts}, got {parts}"
    for entry in report["memory"]:
        columns = {key: value for key, value in entry.items()
                   if key not in ("rank", "predicted_peak_bytes", "measured_peak_bytes")}
        # Two averages per parameter, and the number of the step.
        if entry["optimizer"] != 2 * entry["parameters"] + 4:
            yield f"expects an optimizer of twice the parameters and 4 bytes, got {entry}"
        if not 0.9 * entry["predicted_peak_bytes"] <= sum(columns.values()) \
                <= entry["predicted_peak_bytes"]:
            yield f"expects columns that add up to almost all of the peak, got {entry}"
        if not columns["activations"] or not columns["gradients"]:
            yield f"expects activations and gradients, got {entry}"
    bubble, travel = report["bubble"], report["communication_ms"]
    ranks = list(range(report["world"]))
    if [its["rank"] for its in bubble["ranks"]] != ranks or \
            [its["rank"] for its in travel["ranks"]] != ranks:
        yield f"expects bubble and communication of every rank, got {bubble} and {travel}"
    for known in "predicted", "measured":
        # All idle over all busy time: between the bubbles of the ranks.
        of_ranks = [its[known] for its in bubble["ranks"]]
        if not 0 < min(of_ranks) <= bubble[known] <= max(of_ranks):
            yield f"expects a {known} bubble between those of ranks, got {bubble}"
        if not travel[known]["exposed"] > 0 or not travel[known]["hidden"] >= 0:
            yield f"expects {known} messages that take time, got {travel[known]}"
        mean = sum(its[known]["exposed"] for its in travel["ranks"]) / len(ranks)
        if not math.isclose(mean, travel[known]["exposed"]):
            yield f"expects the mean of ranks to be {travel[known]}, got {mean}"
    path = sum(part["ms"] for part in report["critical_path"])
    if not math.isclose(path, report["predicted_step_ms"]):
        yield f"expects a critical path of {report['predicted_step_ms']} ms, got {report['critical_path']}"
    if [stage["sets_in_flight"] for stage in report["stages"]] != [2, 1]:
        yield f"expects 2 and 1 sets in flight, got {report['stages']}"
    times = sorted(step["ms"] for step in report["steps"][1:])
    whole = sorted(step["ms"] + step["data_ms"] for step in report["steps"][1:])
    if report["step_ms"]["median"] != times[1] or \
            not math.isclose(report["items_per_s"], 8 * 16 * 1e3 / whole[1]):
        yield (f"expects medians of {times} and {whole}, got {report['step_ms']}, "
               f"{report['items_per_s']}")


def check_steps(trace, alone, steps):
    """Each of the steps, one after another, has the slices and arrows of one alone."""
    def count(events):
        return collections.Counter((event["name"], event["pid"], event["tid"]) for event in events
                                   if event["ph"] in "Xsf" and event["cat"] != "step")
    events = trace["traceEvents"]
    rows = [event for event in events if event["ph"] == "X" and event["cat"] == "step"]
    if [row["name"] for row in rows] != [f"step {step}" for step in steps]:
        yield f"expects a row of the steps {steps}, got {rows}"
    for row, after in zip(rows, rows[1:] + [{"ts": float("inf")}]):
        inside = [event for event in events if row["ts"] <= event.get("ts", -1) < after["ts"]]
        if count(inside) != count(alone["traceEvents"]):
            yield f"{row['name']} expects the slices of a step, got {count(inside)}"


def check_trace(trace, report, level4):
    events = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        events[event["ph"]].append(event)
    slices = collections.Counter(event["pid"] for event in events["X"])
    instructions = count_instructions(level4)
    for rank in range(report["world"]):
        stage = rank * MESH["pp"] // report["world"]
        if slices[rank] != instructions[stage]:
            yield f"rank {rank}: expects {instructions[stage]} slices, got {slices[rank]}"
    names = {event["name"] for event in events["X"]}
    # A message is called by what its sender computed.
    for name in ("0F0 (matmul|fused)_", "0F1 send$", "0F1 recv$", "1B1 (matmul|fused)_",
                 "0U collective$"):
        if not any(re.match(name, found) for found in names):
            yield f"expects a slice '{name}', got {sorted(names)}"
    if not any(event.get("args", {}).get("detail", "").startswith("h.0.")
               for event in events["X"]):
        yield "expects slices that say where of the model they come from, got none"
    if not any(event.get("args", {}).get("GFLOP/s", 0) > 0 and event["args"]["GB/s"] > 0
               for event in events["X"] if "matmul" in event["name"]):
        yield "expects kernels with their rates, got none"
    sends = sum(entry["send"]["count"] for entry in report["communication"])
    heads = {event["id"]: event for event in events["f"]}
    if len(events["s"]) != sends or len(heads) != sends:
        yield f"expects {sends} arrows, got {len(events['s'])} and {len(heads)} ends"
    for tail in events["s"]:
        if not tail["ts"] <= heads[tail["id"]]["ts"]:
            yield f"expects arrows that lead forwards, got {tail} to {heads[tail['id']]}"


def check_picture(path, report):
    """Each rank has two rows, whose bubbles are those of the report; it is well-formed XML."""
    document = xml.dom.minidom.parse(str(path))
    texts = [node.firstChild.data for node in document.getElementsByTagName("text")]

    def percent(share):
        return f"{100 * share:.1f}%"
    for known, row in ("predicted", r"rank {}, stages? [\d, ]+, predicted"), ("measured", "measured"):
        lines = [text for text in texts if text.startswith(f"{known}: a step of ")]
        if len(lines) != 1 or f"bubble {percent(report['bubble'][known])}" not in lines[0]:
            yield f"expects a line with the {known} bubble of {report['bubble']}, got {lines}"
        rows = [text for at, text in enumerate(texts[1:])
                if any(re.fullmatch(row.format(rank), texts[at]) for rank in (0, report["world"] - 1))]
        for rank in 0, report["world"] - 1:
            if percent(report["bubble"]["ranks"][rank][known]) not in rows:
                yield f"expects a row with the {known} bubble of rank {rank}, got {rows}"
    sent = sum(rank["send"]["count"] for rank in report["communication"] if "send" in rank)
    drawn = [float(x) for line in document.getElementsByTagName("path") if line.getAttribute("stroke-width") == "0.6"
             for x in re.findall(r"M([0-9.]+) [0-9.]+L", line.getAttribute("d"))]
    if len(drawn) != 2 * sent or max(drawn) - min(drawn) < 100:
        yield f"expects {sent} transfers as predicted and as measured, over the step, got lines that begin at {drawn}"
    if not any(text.startswith("predicted memory") for text in texts):
        yield f"expects memory over time, got {texts}"


MEASURED = ("steps", "step_ms", "items_per_s", "start_ms", "compile_ms", "oversubscribed",
            "clock_error_ms")


def check_prediction(dry, report):
    """A dry run says what the report of a run says, but for what only a run can measure."""
    if any(dry[key] is not None for key in ("items_per_s", "oversubscribed")) or \
            dry["step_ms"] != {"median": None, "p95": None}:
        yield "expects a dry run to measure nothing"
    for text in (dry, report):
        for key in MEASURED:
            text.pop(key)
        for figure in text["bubble"], text["communication_ms"]:
            for its in [figure, *figure["ranks"]]:
                its.pop("measured")
        for entry in text["memory"]:
            entry.pop("measured_peak_bytes")
    for key in dry.keys() | report.keys():
        if dry.get(key) != report.get(key):
            yield f"expects a dry run to say {key} {report.get(key)}, got {dry.get(key)}"
    actions = [f"0{kind}{i}" for kind in "FB" for i in range(MESH["mb"])]
    if sorted(dry["stages"][0]["schedule"].split()) != sorted(actions):
        yield f"expects the actions {actions} of stage 0, got {dry['stages'][0]}"


def check_large(tools, folder):
    """A model of 26 GB a rank is predicted in little memory and time."""
    subprocess.run([tools / "pp-model", "gpt", "--layers=16", "--hidden=8192", "--heads=64",
                    "--seq=2048", "--batch=32", "--vocab=50304", "-o", "large.mlir"], cwd=folder,
                   check=True)
    limit = 1 << 30
    command = [tools / "pp-run", "large.mlir", "--dry-run", "--report=large.json",
               "--parallelize=dp=4 tp=8 pp=2 microbatches=4"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_DATA, (limit, limit)))
    if done.returncode:
        yield f"expects a dry run of a large model to succeed, got {done}"
        return
    large = json.loads((folder / "large.json").read_text())
    if max(entry["predicted_peak_bytes"] for entry in large["memory"]) < 26e9:
        yield f"expects a model of 26 GB a rank, got {large['memory'][0]}"
    for text in ("GiB", "bubble", "stage 1 |", "stage1", "all_reduce  tp"):
        if text not in done.stdout:
            yield f"expects '{text}' in the prediction, got {done.stdout}"


def check_seeds(run):
    losses = [run(GOAL, f"--seed={seed}") for seed in (0, 1)]
    if losses[0] == losses[1]:
        yield f"expects other initial values of another seed, got losses {losses[0]}"
    for seed in (0, 1):
        alone = run("optimizer=adamw clip=1", f"--seed={seed}")
        if abs(alone[0] - losses[seed][0]) > 1e-5:
            yield f"seed {seed}: expects the same first loss on one device, got {alone[0]}"


def check_printed(tools, folder):
    """Lines for a file, a bar for a terminal, nothing when asked to be quiet."""
    command = [tools / "pp-run", "gpt.mlir", "--steps=3"]
    lines = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    if not re.fullmatch(r"(step [13]/3 loss \d\.\d+ \| .* tokens/s.*\n){2}", lines) or "\r" in lines:
        yield f"expects a first and a last line, got {lines!r}"
    quiet = subprocess.run([*command, "--quiet"], cwd=folder, check=True, capture_output=True)
    if quiet.stdout or quiet.stderr:
        yield f"--quiet expects to print nothing, got {quiet}"
    master, slave = pty.openpty()
    subprocess.run(command, cwd=folder, check=True, stdout=slave)
    os.close(slave)
    bar = b""
    try:  # in pieces, until nobody holds the other end
        while piece := os.read(master, 4096):
            bar += piece
    except OSError:
        pass
    os.close(master)
    bar = bar.decode()
    if not bar.startswith("\rstep 1/3 [") or "[####################]" not in bar:
        yield f"expects a bar on a terminal, got {bar!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    args = parser.parse_args()
    tools, text = args.bin.resolve(), args.text.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def call(tool, *arguments):
            subprocess.run([tools / tool, *arguments], cwd=folder, check=True, timeout=60)

        def run(goal, *arguments):
            call("pp-run", "gpt.mlir", f"--parallelize={goal}", f"--data=text:{text}", "--quiet",
                 f"--steps={STEPS}", "--report=report.json", "--trace=trace.json", *arguments)
            report = json.loads((folder / "report.json").read_text())
            return [step["loss"] for step in report["steps"]]

        call("pp-model", *MODEL.split(), "-o", "gpt.mlir")
        for level in ("pipeline", "program"):
            call("pp-opt", "gpt.mlir", f"--pp-parallelize={GOAL} stop-after={level}", "-o",
                 f"{level}.mlir")
        errors = [*check_seeds(run), *check_printed(tools, folder)]
        run(GOAL, "--draw=step.svg", "--draw-transfers")
        report = json.loads((folder / "report.json").read_text())
        call("pp-run", "gpt.mlir", f"--parallelize={GOAL}", "--dry-run", "--quiet",
             "--report=dry.json", "--trace=dry-trace.json")
        dry = json.loads((folder / "dry.json").read_text())
        errors += check_report(report, (folder / "pipeline.mlir").read_text())
        errors += check_trace(json.loads((folder / "trace.json").read_text()), report,
                              (folder / "program.mlir").read_text())
        errors += check_trace(json.loads((folder / "dry-trace.json").read_text()), report,
                              (folder / "program.mlir").read_text())
        errors += [*check_picture(folder / "step.svg", report),
                   *check_prediction(dry, report), *check_large(tools, folder)]
        # A sample that has a label for each of its pixels is one sample.
        call("pp-model", "unet", "--width=8", "--image=16", "--batch=4", "-o", "unet.mlir")
        call("pp-run", "unet.mlir", "--steps=2", "--quiet", "--report=unet.json")
        unet = json.loads((folder / "unet.json").read_text())
        seconds = (unet["steps"][1]["ms"] + unet["steps"][1]["data_ms"]) / 1e3
        if not math.isclose(unet["items_per_s"], 4 / seconds):
            errors.append(f"expects 4 samples a step, got {unet['items_per_s']}/s of {seconds} s")
        alone = json.loads((folder / "trace.json").read_text())
        for kept in (2, STEPS + 1):
            run(GOAL, f"--trace-steps={kept}")
            errors += check_steps(json.loads((folder / "trace.json").read_text()), alone,
                                  range(max(0, STEPS - kept) + 1, STEPS + 1))
    print("\n".join(errors) or "all figures agree")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
