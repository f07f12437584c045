"""By how much experts are chosen before the ones that are not.

SPDX-License-Identifier: Apache-2.0

Where two experts are almost as probable for a token, rounding decides between
them, and two right programs compute different things. The margin of a run is
the least difference between neighbours among the k + 1 largest probabilities
of any token in any step.
"""
import json
import re
import subprocess

TOP_K = re.compile(r"(%\w+) = pp\.top_k (%\w+) dim (\d+) : tensor<([\dx]+)x(\w+)> -> "
                   r"tensor<([\dx]+)xi32>")


def tell_margins(text):
    """The module with a metric for each top_k: minus its margin."""
    lines, results = [], []
    for line in text.splitlines():
        lines.append(line)
        match = TOP_K.search(line)
        if not match:
            continue
        _, values, dim, shape, element, chosen = match.groups()
        leading, k = chosen.split("x")[:-1], int(chosen.split("x")[-1])
        shape, name = f"{shape}x{element}", f"%margin{len(results)}"
        several, few = (f"tensor<{'x'.join([*leading, str(n)])}x" for n in (k + 1, k))
        def part(suffix, start):
            starts = ", ".join(["0"] * len(leading) + [str(start)])
            ends = ", ".join([*leading, str(start + k)])
            strides = ", ".join(["1"] * (len(leading) + 1))
            return (f"{name}{suffix} = pp.slice {name}b [{starts}], [{ends}], [{strides}] : "
                    f"{several}{element}> -> {few}{element}>")
        dims = ", ".join(str(d) for d in range(int(dim) + 1))
        lines += [
            f"{name}a = pp.top_k {values} dim {dim} : tensor<{shape}> -> {several}i32>",
            f"{name}b = pp.gather {values}[{name}a] batch {dim} : tensor<{shape}>, {several}i32> "
            f"-> {several}{element}>",
            part("c", 0), part("d", 1),
            f"{name}e = pp.sub {name}d, {name}c : {few}{element}>",
            f"{name} = pp.reduce max {name}e dims [{dims}] : {few}{element}> -> tensor<{element}>"]
        results.append((name, f"tensor<{element}>"))
    text = "\n".join(lines)
    values, types = zip(*results)
    text = re.sub(r"return (.*?) : (.*?)(?= loc\(|$)", lambda m: (
        f"return {', '.join([m[1], *values])} : {', '.join([m[2], *types])}"), text, flags=re.MULTILINE)
    added = "".join(f', {t} {{pp.name = "margin.{i}", pp.role = #pp.role<metric>}}'
                    for i, t in enumerate(types))
    head, brace, rest = text.partition("}) {\n")
    return head + "}" + added + brace[1:] + rest


def measure(tools, model, optimizer, steps, seed):
    """The margin of a run of `model`, a module's text, on one device."""
    done = subprocess.run(
        [tools / "pp-run", "-", f"--parallelize=optimizer={optimizer}", f"--steps={steps}",
         "--data=random", f"--seed={seed}", "--metrics=/dev/stderr", "--quiet"],
        input=tell_margins(model), capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr)
    steps = [json.loads(line) for line in done.stderr.splitlines()]
    return -max(value for step in steps for name, value in step["metrics"].items()
                if name.startswith("margin."))


def find_seed(tools, model, optimizer, steps, least):
    """A seed whose run has at least this margin."""
    for seed in range(50):
        if measure(tools, model, optimizer, steps, seed) >= least:
            return seed
    raise RuntimeError(f"expects one of 50 seeds to have a margin of {least}")
