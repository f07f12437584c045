# trace_replay.py - a step's time under a schedule, from the durations of another run's trace.
#
# SPDX-License-Identifier: Apache-2.0
#
# An action (`1F3`) takes what its instructions took in the trace, the median over
# its steps; a message what it took from when both ends were there. A position runs
# its actions in the table's order, each as soon as those that it needs are done.
# For plans with pp alone, where position and rank are one.
"""Durations of a trace, and the replay of a table of actions."""

import bisect
import collections
import csv
import json
import re
import statistics

ACTION = re.compile(r"(\d+)([A-Z])(\d*)")


class Durations:
    """In ms: of actions by stage, kind and micro-batch, of a rank's work beside them, and of messages by the stage and
    kind whose result they carry."""

    def __init__(self, path):
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        # A trace of several steps has a row that numbers them.
        begins = sorted(event["ts"] for event in slices if event.get("cat") == "step") or [float("-inf")]
        queues = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
                  if event["name"] == "thread_name"}
        actions, others = collections.Counter(), collections.Counter()
        ends = collections.defaultdict(dict)
        for event in slices:
            match = ACTION.match(event["name"])
            if not match:
                continue
            step = bisect.bisect_right(begins, event["ts"]) - 1
            stage, kind, number = match.groups()
            queue = queues[event["pid"], event["tid"]]
            if queue == "compute" and number:
                actions[(int(stage), kind, int(number)), step] += event["dur"] / 1e3
            elif queue == "compute":
                others[event["pid"], step] += event["dur"] / 1e3
            else:
                end = ends[int(stage), kind, int(number or 0), step]
                end[queue.split()[0]] = event["ts"], event["ts"] + event["dur"]
        self.actions, self.others = self._medians(actions), self._medians(others)
        messages = collections.defaultdict(list)
        for (stage, kind, _, _), end in ends.items():
            if len(end) == 2:
                (send, _), (receive, arrival) = end["send"], end["recv"]
                messages[stage, kind].append((arrival - max(send, receive)) / 1e3)
        self.messages = {key: statistics.median(values) for key, values in messages.items()}

    @staticmethod
    def _medians(totals):
        by_step = collections.defaultdict(list)
        for (key, _), total in totals.items():
            by_step[key].append(total)
        return {key: statistics.median(values) for key, values in by_step.items()}

    def of(self, action, is_split):
        """A backward pass that is whole takes both of its parts."""
        stage, kind, number = action
        whole = kind == "B" and not is_split
        return self.actions[action] + (self.actions.get((stage, "W", number), 0) if whole else 0)

    def message(self, stage, kind):
        """Where this run had none there, as long as others."""
        if self.messages:
            return self.messages.get((stage, kind), statistics.median(self.messages.values()))
        return 0


def read_table(path):
    """The actions of each position, and those whose weight gradients are apart."""
    with open(path, newline="") as file:
        rows = [[ACTION.fullmatch(cell.strip()).groups() for cell in row if cell.strip()] for row in csv.reader(file)]
    split = {(int(stage), int(number)) for row in rows for stage, kind, number in row if kind == "W"}
    return [[(int(stage), kind.replace("I", "B"), int(number)) for stage, kind, number in row] for row in rows], split


def needs(action, stages):
    """The actions that come first, of which the one of another stage sends a message."""
    stage, kind, number = action
    if kind == "W":
        return [(stage, "B", number)]
    if kind == "F":
        return [(stage - 1, "F", number)] if stage else []
    following = [(stage + 1, "B", number)] if stage + 1 < stages else []
    return [(stage, "F", number)] + following


def replay(durations, table, split):
    """Returns ms of a step, and the share of it in which positions compute nothing."""
    place = {action[0]: position for position, row in enumerate(table) for action in row}
    done, free, busy = {}, [0.0] * len(table), 0.0
    following = [0] * len(table)
    while any(following[p] < len(row) for p, row in enumerate(table)):
        before = len(done)
        for p, row in enumerate(table):
            while following[p] < len(row):
                action = row[following[p]]
                its = needs(action, len(place))
                if not all(need in done for need in its):
                    break
                arrivals = [done[need] + (durations.message(need[0], need[1]) if place[need[0]] != p else 0)
                            for need in its]
                time = durations.of(action, (action[0], action[2]) in split)
                free[p] = done[action] = max([free[p], *arrivals]) + time
                busy += time
                following[p] += 1
        if len(done) == before:
            raise ValueError("expects a table without a deadlock")
    for p in range(len(table)):
        free[p] += durations.others.get(p, 0)
        busy += durations.others.get(p, 0)
    return max(free), 1 - busy / (max(free) * len(table))
