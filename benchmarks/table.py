# table.py - from the runs of run.py to rows and a Markdown table.
#
# SPDX-License-Identifier: Apache-2.0
#
# A row is met by its ratio to the fastest peer; or, if the peer's matrix products run near the floor's rate, by a step
# of at most 1.25 times the floor, which is the time of the step's bare contractions, each with its fastest library; or
# by the row's own limit over the floor. The cold floor, whose operands come from memory, decides nothing: only some of
# a step's operands do.
"""Rows, verdicts and the table."""

import statistics

NEAR = 0.8  # of the floor's matrix rate
FLOOR_FACTOR = 1.25


def cpu_name():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file
                 if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores"


def median(runs, key="median_ms"):
    return statistics.median(run[key] for run in runs) if runs else None


def fastest(peers):
    """The runs of the peer with the smallest median, or none."""
    measured = [runs for runs in peers if runs]
    return min(measured, key=median) if measured else []


def verdict(row):
    """Whether and why the row is met; None where a side was not measured."""
    if row["ratio"] is None:
        return None
    if row["ratio"] <= row["target"]:
        return "yes"
    if row["floor_rate"]:
        near = row["peer_rate"] >= NEAR * row["floor_rate"]
        most = max(FLOOR_FACTOR if near else 0, row["most_over_floor"])
        if row["over_floor"] <= most:
            return "yes (floor)"
    return "no"


def memories(definition, ours, peers):
    """The peak of each peer of a row that has targets for it."""
    for peer in peers if ours else ():
        if peer and (target := definition.memory.get(peer[0]["version"].split()[0])):
            mib, ours_mib = median(peer, "mib"), median(ours, "mib")
            yield {"peer": peer[0]["peer"], "ours": ours_mib, "mib": mib, "ratio": ours_mib / mib,
                   "target": target}


def rows(definitions, runs):
    result = []
    for definition, ours, peers in zip(definitions, runs["ours"],
                                       runs["peers"]):
        floor = runs["floor"][definition.floor]
        floor_ms, floor_rate = median(floor), median(floor, "matmul_gflops")
        cold_ms = median(runs["cold floor"][definition.floor])
        ours_ms, peer = median(ours), fastest(peers)
        peer_ms = median(peer)
        row = {
            "name": definition.name,
            "peer": peer[0]["peer"] if peer else None,
            "target": definition.target,
            "most_over_floor": definition.over_floor,
            "ours_ms": ours_ms,
            "peer_ms": peer_ms,
            "peer_rate": median(peer, "matmul_gflops"),
            "floor_ms": floor_ms,
            "cold_floor_ms": cold_ms,
            "floor_rate": floor_rate,
            "ratio": ours_ms / peer_ms if ours and peer else None,
            "over_floor": ours_ms / floor_ms if ours and floor_ms else None,
            "over_cold_floor": ours_ms / cold_ms if ours and cold_ms else None,
        }
        row["met"] = verdict(row)
        row["memory"] = list(memories(definition, ours, peers))
        result.append(row)
    return result


def cell(value, digits=0):
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def line(row):
    return "| " + " | ".join(row) + " |"


def lines(header, body):
    yield line(header)
    yield "|" + "---|" * len(header)
    for row in body:
        yield line(row)


def render(result):
    versions = sorted({run["version"] for peers in result["runs"]["peers"]
                       for runs in peers for run in runs} |
                      {run["version"] for runs in result["runs"]["floor"].values()
                       for run in runs})
    text = [f"{result['cpu']}; {', '.join(versions)}; load "
            f"{result['load']:.1f} at the start", ""]
    text += lines(
        ("ours", "peer", "ours ms", "peer ms", "ratio", "target", "floor ms",
         "ours/floor", "cold floor ms", "ours/cold floor", "floor GFLOP/s",
         "peer GFLOP/s", "met"),
        [(row["name"], cell(row["peer"]), cell(row["ours_ms"], 1),
          cell(row["peer_ms"], 1), cell(row["ratio"], 2),
          f"<= {row['target']:.2f}", cell(row["floor_ms"], 1),
          cell(row["over_floor"], 2), cell(row["cold_floor_ms"], 1),
          cell(row["over_cold_floor"], 2), cell(row["floor_rate"]),
          cell(row["peer_rate"]), cell(row["met"]))
         for row in result["rows"]])
    for name in ("floor", "cold floor"):
        for model, alone in result["runs"][name].items():
            if alone:
                text += ["", f"the {name}'s contractions alone, {model}: libraries "
                             f"{median(alone):.1f} ms, ours "
                             f"{median(alone, 'ours_ms'):.1f} ms"]
    if any(row["memory"] for row in result["rows"]):
        text.append("")
        text += lines(("memory over the idle process", "peer", "ours MiB", "peer MiB", "ratio", "target", "met"),
                      [(row["name"], memory["peer"], cell(memory["ours"]), cell(memory["mib"]),
                        cell(memory["ratio"], 2), f"<= {memory['target']:.2f}",
                        "yes" if memory["ratio"] <= memory["target"] else "no")
                       for row in result["rows"] for memory in row["memory"]])
    if "compile" in result:
        text.append("")
        text += lines(
            ("compile time", "ours s", "limit", "JAX s", "met"),
            [(row["name"], cell(row["seconds"], 2), row["limit_text"],
              cell(row["jax"], 1), "yes" if row["met"] else "no")
             for row in result["compile"]])
    return "\n".join(text)
