"""Reads the programs of a module's text: what runs, and where it lies.

SPDX-License-Identifier: Apache-2.0

A body calls routines, and slots have copies for micro-batches; what is read
here is the flat list, as an artifact has it.
"""
import re


class Program:
    """slots: (class, offset, type), one for each copy; instructions: (text, slots)."""

    def __init__(self, name, text):
        self.name = name
        self.slots, self._copies = [], []
        for kind, places, type_text in re.findall(
                r'^    pp\.slot ".*?" (\w+) at (\d+|\[.*?\]).*?: tensor<(.*?)>', text, re.M):
            offsets = [int(offset) for offset in places.strip("[]").split(", ")]
            self._copies.append(range(len(self.slots), len(self.slots) + len(offsets)))
            self.slots += [(kind, offset, type_text) for offset in offsets]
        assert len(self._copies) == len(re.findall(r"^    pp\.slot ", text, re.M)), "a slot without a place"
        routines = dict(re.findall(r'^    pp\.routine "(.*?)" {\n(.*?)^    }', text, re.M | re.S))
        self.instructions = []
        for line in re.search(r"^  } body {\n(.*?)^  } teardown", text, re.M | re.S)[1].splitlines():
            if call := re.match(r'    pp\.call "(.*?)" for (\d+)', line):
                for inner in routines[call[1]].splitlines():
                    self._add(inner.strip(), int(call[2]))
            else:
                micro_batch = re.search(r" as \w+ \d+ (\d+)", line)
                self._add(line.strip(), int(micro_batch[1]) if micro_batch else 0)

    def _add(self, text, micro_batch):
        names = re.search(r"\[([\d, ]*)\] on ", text)[1]
        copies = [self._copies[int(slot)] for slot in names.split(", ") if slot]
        self.instructions.append((text, [of_slot[micro_batch % len(of_slot)] for of_slot in copies]))


def read_programs(module):
    """{name: Program}"""
    return {name: Program(name, text) for name, text in re.findall(
        r"^  pp\.program @(\w+) (.*?^  } teardown)", module, re.M | re.S)}
