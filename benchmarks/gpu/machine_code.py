# machine_code.py - how many instructions a thread of a GPU's kernel issues.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: nvdisasm's output for a kernel. Out: the instructions that one thread executes, in order. Integers are computed,
# as far as loops and branches need them; values from memory, and all floating-point numbers, are unknown. A branch that
# depends on such a number is taken if it leads around a call (ptxas's slow paths of divisions and roots), else not. A
# loop that depends on one is an error.
"""Goes through the machine code of a kernel as one thread does."""

import re
import struct

M32 = 0xFFFFFFFF


class Line:
    __slots__ = ("guard", "op", "args", "text")

    def __init__(self, text):
        self.text = text = text.strip()
        match = re.match(r"(@!?U?P\w+\s+)?([\w.]+)\s*(.*)$", text)
        self.guard = (match.group(1) or "").strip()
        self.op = match.group(2).split(".")
        self.args = split(match.group(3))


def split(text):
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def functions(text):
    """By symbol, (lines, places of labels)."""
    found = {}
    for part in re.split(r"^\s*\.section\s+\.text\.", text, flags=re.M)[1:]:
        symbol = re.match(r"[\w$]+", part).group()
        lines, labels = [], {}
        for row in part.splitlines():
            row = re.sub(r"/\* 0x[0-9a-f]+ \*/", "", row)
            label = re.match(r"\s*(\.L_[\w]+|\$[\w$]+):", row)
            code = re.match(r"\s*/\*[0-9a-f]+\*/\s+(.*?)\s*;", row)
            if label:
                labels[label.group(1)] = len(lines)
            elif code:
                lines.append(Line(code.group(1)))
        found[symbol] = (lines, labels)
    return found


def signed(value):
    return value - (1 << 32) if value >> 31 else value


class Thread:
    """Registers, and what is known of them; None is unknown."""

    def __init__(self, constants, thread=0, block=1):
        self.values, self.constants = {}, constants
        self.special = {"SR_TID.X": thread, "SR_CTAID.X": block, "SR_LANEID": thread % 32,
                        "SR_TID.Y": 0, "SR_TID.Z": 0, "SR_CTAID.Y": 0, "SR_CTAID.Z": 0}

    def predicate(self, name):
        negated = name.startswith("!")
        name = name.lstrip("!@")
        if name.startswith("!"):
            negated, name = True, name[1:]
        value = True if name in ("PT", "UPT") else self.values.get(name)
        return value if value is None else value != negated

    def set(self, name, value):
        name = name.split(".")[0]
        if name in ("RZ", "URZ", "PT", "UPT"):
            return
        self.values[name] = value

    def wide(self, name, value):
        self.set(name, None if value is None else value & M32)
        match = re.match(r"(U?R)(\d+)", name)
        if match:
            self.set(f"{match.group(1)}{int(match.group(2)) + 1}",
                     None if value is None else value >> 32 & M32)

    def get(self, word, high=False):
        word = word.replace(".reuse", "").replace(".64", "").replace(".U32", "")
        negated = word.startswith("-")
        inverted = word.startswith("~")
        word = word.lstrip("-~")
        if word.startswith("|"):
            return None
        if re.fullmatch(r"0x[0-9a-f]+|\d+", word):
            value = int(word, 0)
            value = value >> 32 if high else value & M32
        elif word in ("RZ", "URZ"):
            value = 0
        elif word.startswith("c["):
            offset = int(re.search(r"\]\[(0x[0-9a-f]+)\]", word).group(1), 0) \
                if re.search(r"\]\[(0x[0-9a-f]+)\]", word) else None
            value = None if offset is None else self.constants(offset + (4 if high else 0))
        else:
            if high:
                match = re.match(r"(U?R)(\d+)", word)
                word = f"{match.group(1)}{int(match.group(2)) + 1}" if match else word
            value = self.values.get(word)
        if value is None:
            return None
        if inverted:
            value = ~value
        return (-value if negated else value) & M32

    def pair(self, word):
        low, high = self.get(word), self.get(word, True)
        return None if low is None or high is None else low | high << 32


def lop3(a, b, c, table):
    result = 0
    for bit in range(8):
        if table >> bit & 1:
            result |= ((a if bit & 4 else ~a) & (b if bit & 2 else ~b) &
                       (c if bit & 1 else ~c))
    return result & M32


COMPARE = {"LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b,
           "GE": lambda a, b: a >= b, "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b}


def half(text):
    return struct.unpack("<H", struct.pack("<e", float(text)))[0]


def execute(t, line):
    """What is not known here makes its result unknown."""
    name, args = line.op[0], line.args
    flags = line.op[1:]
    base = name[1:] if name.startswith("U") and name != "UNKNOWN" else name
    if name in ("VIADD",):
        base = "IADD"
    if not args:
        return
    words = lambda first, count: [t.get(a) for a in args[first:first + count]]
    if base in ("S2R", "S2UR", "2UR") or name in ("S2R", "S2UR"):
        t.set(args[0], t.special.get(args[1]))
    elif base in ("MOV", "LDC") and "64" not in flags or base == "R2UR" or name == "R2UR":
        t.set(args[0], t.get(args[-1] if name == "R2UR" else args[1]))
    elif base in ("LDC", "MOV"):
        t.wide(args[0], t.pair(args[1]))
    elif base == "CS2R":
        t.wide(args[0], 0 if args[1] == "SRZ" else None)
    elif base in ("HFMA2", "FMA2") or name == "HFMA2":
        try:
            t.set(args[0], half(args[-2]) << 16 | half(args[-1])
                  if args[1].lstrip("-") == "RZ" and args[2] == "RZ" else None)
        except (ValueError, OverflowError):
            t.set(args[0], None)
    elif base in ("IADD3", "IADD"):
        predicates = [a for a in args[1:] if re.match(r"!?U?P(\d|T)", a)]
        numbers = [a for a in args[1:] if a not in predicates]
        values = [t.get(a) for a in numbers[:3]]
        known = None not in values
        carries = [t.predicate(a) for a in predicates]
        if "X" in flags:
            known = known and None not in carries
            total = sum(values) + sum(map(bool, carries)) if known else None
        else:
            total = sum(values) if known else None
            # -x is ~x + 1: its carry is not the one added here.
            for output in predicates:
                t.set(output, None if total is None else total > M32)
        t.set(args[0], None if total is None else total & M32)
    elif base == "IMAD":
        numbers = [a for a in args[1:] if not re.match(r"!?U?P(\d|T)", a)]
        if "WIDE" in flags:
            a, b = (t.get(x) for x in numbers[:2])
            c = t.pair(numbers[2])
            if None in (a, b, c):
                return t.wide(args[0], None)
            if "U32" not in flags:
                a, b = signed(a), signed(b)
            return t.wide(args[0], a * b + c & 2 ** 64 - 1)
        a, b, c = (t.get(x) for x in numbers[:3])
        if "MOV" in flags or ("X" not in flags and numbers[0] == "RZ" and numbers[1] == "RZ"):
            return t.set(args[0], c)
        if "X" in flags:
            carry = t.predicate(args[-1])
            c = None if carry is None or c is None else c + carry
        if None in (a, b, c):
            return t.set(args[0], None)
        if "HI" in flags:
            if "U32" not in flags:
                a, b = signed(a), signed(b)
            return t.set(args[0], (a * b >> 32) + c & M32)
        t.set(args[0], a * b + c & M32)
    elif base == "LEA":
        numbers = [a for a in args[1:] if not re.match(r"!?U?P(\d|T)", a)]
        for output in (a for a in args[1:] if re.match(r"U?P\d", a)):
            t.set(output, None)
        a, b, shift = t.get(numbers[0]), t.get(numbers[1]), t.get(numbers[-1])
        if "HI" in flags or None in (a, b, shift):
            return t.set(args[0], None)
        t.set(args[0], (a << shift) + b & M32)
    elif base == "SHF":
        low, shift, high = words(1, 3)
        if "R" in flags and "HI" in flags:
            shift = None if shift is None else min(shift, 32)
            value = None if None in (shift, high) else (
                (signed(high) if "S32" in flags else high) >> shift)
        elif "L" in flags and "HI" not in flags:
            value = None if None in (low, shift) else low << min(shift, 32)
        else:
            value = None
        t.set(args[0], None if value is None else value & M32)
    elif base == "LOP3":
        offset = 1 if re.match(r"U?P(\d|T)$", args[0]) else 0
        a, b, c = words(1 + offset, 3)
        value = None
        table = int(args[4 + offset], 0)
        if table == 0xC0 and 0 in (a, b):
            value = 0
        elif None not in (a, b, c):
            value = lop3(a, b, c, table)
        t.set(args[offset], value)
        if offset:
            t.set(args[0], None if value is None else value != 0)
    elif base == "SGXT":
        a, bits = words(1, 2)
        t.set(args[0], None if None in (a, bits) or "U32" not in flags else a & (1 << bits) - 1)
    elif base == "SEL":
        a, b = words(1, 2)
        chosen = t.predicate(args[3])
        t.set(args[0], None if chosen is None else a if chosen else b)
    elif base in ("IMNMX", "VIMNMX"):
        a, b = words(1, 2)
        least = t.predicate(args[3])
        if None in (a, b, least):
            return t.set(args[0], None)
        if "U32" not in flags:
            a, b = signed(a), signed(b)
        t.set(args[0], (min if least else max)(a, b) & M32)
    elif base == "ISETP":
        a, b = words(2, 2)
        with_ = t.predicate(args[4])
        value = None
        if None not in (a, b):
            if "EX" in flags:
                low = t.predicate(args[5])
                kind = next(f for f in flags if f in COMPARE)
                pair = (a, b) if "U32" in flags else (signed(a), signed(b))
                strict = {"LE": "LT", "GE": "GT"}.get(kind, kind)
                if kind == "NE":
                    value = True if a != b else low
                elif kind == "EQ":
                    value = False if a != b else low
                else:
                    value = COMPARE[strict](*pair) if a != b else low
            else:
                pair = (a, b) if "U32" in flags else (signed(a), signed(b))
                value = COMPARE[next(f for f in flags if f in COMPARE)](*pair)
        if "AND" in flags:
            value = (False if False in (value, with_) else
                     None if None in (value, with_) else True)
        elif "OR" in flags:
            value = (True if True in (value, with_) else
                     None if None in (value, with_) else False)
        else:
            value = None
        t.set(args[0], value)
        t.set(args[1], None)
    elif base == "PLOP3":
        inputs = [t.predicate(word) for word in args[2:5]]
        table, value = int(args[5], 0), None
        # Known if all possible inputs give the same result.
        ways = {table >> (4 * a + 2 * b + c) & 1 for a in (0, 1) for b in (0, 1) for c in (0, 1)
                if all(known is None or known == bit for known, bit in zip(inputs, (a, b, c)))}
        if len(ways) == 1:
            value = bool(ways.pop())
        t.set(args[0], value)
        t.set(args[1], None)
    else:
        for output in args[:2] if base in ("FSETP", "DSETP", "HSETP2", "FCHK") else args[:1]:
            if re.match(r"U?[RP]\d", output):
                for number in range(4 if "128" in flags else 2 if {"64", "WIDE"} & set(flags)
                                    else 1):
                    match = re.match(r"(U?[RP])(\d+)", output)
                    t.set(f"{match.group(1)}{int(match.group(2)) + number}", None)


def walk(function, constants, thread=0, block=1, most=2_000_000):
    """The lines that a thread issues. `constants`: a 32-bit word of the parameters, or None."""
    lines, labels = function
    t, at, issued = Thread(constants, thread, block), 0, []
    while at < len(lines):
        line = lines[at]
        if line.op[0] == "NOP":
            at += 1
            continue
        issued.append(line)
        if len(issued) > most:
            raise RuntimeError("a loop without end")
        goes = True if not line.guard else t.predicate(line.guard[1:])
        name = line.op[0]
        if name == "EXIT":
            if goes:
                return issued
        elif name == "BRA":
            label = re.search(r"\.L_\w+|\$[\w$]+", line.text.split("BRA", 1)[1]).group()
            target = labels[label]
            if "DIV" in line.op:
                goes = False
            for word in line.args[:-1]:
                also = t.predicate(word)
                goes = (False if False in (goes, also) else
                        None if None in (goes, also) else True)
            if goes is None:
                if target <= at:
                    raise RuntimeError(f"a loop that nothing is known of: {line.text}")
                goes = any(other.op[0] == "CALL" for other in lines[at + 1:target])
            if goes:
                at = target
                continue
        elif name == "CALL" and goes and ".L_" in line.text:  # ptxas's way out of some loops
            at = labels[re.search(r"\.L_\w+", line.text).group()]
            continue
        elif name in ("RET", "BRX"):
            raise RuntimeError(f"expects no {name}")
        elif goes is not False:
            if goes is None:  # either way: the results are unknown
                saved = dict(t.values)
                execute(t, line)
                for key, value in t.values.items():
                    if saved.get(key) != value:
                        t.values[key] = None
            else:
                execute(t, line)
        at += 1
    return issued
