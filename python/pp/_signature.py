# _signature.py - reads the arguments of a model's @main from its text.
#
# SPDX-License-Identifier: Apache-2.0
"""Names, roles and shapes of arguments, as pp-opt prints them."""

import dataclasses
import re

_ARGUMENT = re.compile(r"%[\w$.-]+: tensor<((?:\d+x)*)(\w+)> ?\{")
_NAME = re.compile(r'pp\.name = "((?:[^"\\]|\\.)*)"')
_ROLE = re.compile(r"pp\.role = #pp\.role<(\w+)>")


@dataclasses.dataclass
class Argument:
    role: str  # param, state, input or label
    shape: tuple
    element: str  # f32, i64, ...


def unescape(text):
    """Of a string as MLIR prints it: bytes that are not ASCII, quotes and others are in
    hexadecimal."""
    data = re.sub(rb"\\(\\|[0-9A-Fa-f]{2})", lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]),
                  text.encode())
    return data.decode(errors="replace")


def read_arguments(text):
    """Argument by name, in their order."""
    signature = text[text.index("func.func @main("):]
    signature = signature[:signature.index(") -> (")]
    found = list(_ARGUMENT.finditer(signature))
    arguments = {}
    for at, after in zip(found, [*found[1:], None]):
        attributes = signature[at.end():after.start() if after else len(signature)]
        name = unescape(_NAME.search(attributes).group(1))
        shape = tuple(int(size) for size in at.group(1).split("x")[:-1])
        arguments[name] = Argument(_ROLE.search(attributes).group(1), shape, at.group(2))
    return arguments
