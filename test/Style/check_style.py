#!/usr/bin/env python3
# check_style.py - holds the sources to the house rules that a script can judge.
#
# SPDX-License-Identifier: Apache-2.0
#
# Usage: check_style.py ROOT. Prints one line a violation, `FILE:LINE: expects
# X, got Y`, and exits with 1 if there was any. It needs neither git nor a build.
import re
import sys
from pathlib import Path

FOLDERS = ["benchmarks", "cmake", "docs", "examples", "include", "lib", "python", "runtime", "scripts",
           "test", "tools"]
SKIPPED = {"__pycache__", "data", "Inputs"}
CPP = {".cpp", ".h", ".td"}
SOURCE = CPP | {".py", ".sh", ".cmake", ".fbs", ".mlir", ".test"}
LONGEST = 600
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|\bfor now\b")


def sources(root):
    """Every file written by hand, scripts without a suffix included."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            hidden = SKIPPED & set(path.relative_to(root).parts)
            if path.is_file() and not hidden:
                if path.suffix in SOURCE or path.name == "CMakeLists.txt" or not path.suffix:
                    yield path


def kebab(name):
    """CutStages -> cut-stages."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def check_head(path, lines):
    """The first lines name the file and its purpose, and carry the licence."""
    first = lines[0] if lines else ""
    if path.name == "CMakeLists.txt":
        return
    if path.suffix in CPP:
        if not first.startswith(f"//===- {path.name} - "):
            yield 1, f"expects the banner '//===- {path.name} - purpose ---===//', got '{first}'"
    elif path.suffix in {".mlir", ".test"}:
        if not re.match(r"(//|#) [A-Z`]", first) or "RUN:" in first:
            yield 1, f"expects a sentence of purpose, got '{first}'"
        return
    elif not any(re.match(r"(#|//) \S|\"\"\"\S", line) for line in lines[:2]):
        yield 1, f"expects a comment with the purpose, got '{first}'"
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:8]):
        yield 1, "expects 'SPDX-License-Identifier: Apache-2.0' in the first 8 lines, got none"


def has_paragraph(lines):
    """A head that says more than the name of what follows."""
    licence = next((i for i, line in enumerate(lines[:8]) if "SPDX" in line), 8)
    return lines[licence + 1:licence + 2] == ["//"] and lines[licence + 2].startswith("// ")


def check_paragraphs(root):
    """What comes in, what goes out and what is assumed is said in the head of a header or of
    its source."""
    paths = [path for path in sources(root) if path.suffix in CPP]
    said = {path.stem for path in paths if has_paragraph(path.read_text().splitlines())}
    for path in paths:
        if path.stem not in said:
            yield path, 4, "expects a paragraph that says what is assumed, got none"


def check_name(path):
    """CamelCase for C++, kebab-case for lit tests, the program's or library's name for its main
    or its C header."""
    stem = path.name.split(".")[0]
    is_main = path.suffix == ".cpp" and re.search(r"^int main\(", path.read_text(), re.MULTILINE)
    is_c = path.suffix == ".h" and 'extern "C" {' in path.read_text()
    if path.suffix in CPP and not is_main and not is_c and not re.fullmatch(r"[A-Z][A-Za-z0-9]*", stem):
        yield 1, f"expects a name in CamelCase, got '{path.name}'"
    if path.suffix in {".mlir", ".test"} and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", stem):
        yield 1, f"expects a name in kebab-case, got '{path.name}'"


def check_text(path, lines):
    if len(lines) > LONGEST:
        yield LONGEST + 1, f"expects at most {LONGEST} lines, got {len(lines)}"
    for number, line in enumerate(lines, 1):
        unfinished = UNFINISHED.search(line)
        if unfinished and path.name != "check_style.py":
            yield number, f"expects finished work, got '{unfinished.group()}'"
        if line != line.rstrip() or "\t" in line:
            yield number, "expects no tab and no space at the end of a line, got one"


def check_visibility(root):
    """What a public header of the runtime declares, the shared library shows."""
    push, pop = "#pragma GCC visibility push(default)", "#pragma GCC visibility pop"
    for path in sorted((root / "runtime/include").rglob("*.h")):
        lines = path.read_text().splitlines()
        if push not in lines or pop not in lines:
            yield path, 1, f"expects declarations between '{push}' and '{pop}', got others"


def check_passes(root):
    """One name, derivable: pass CutStages is pp-cut-stages in CutStages.cpp, tested by
    cut-stages.mlir. The checks of the levels share VerifyLevels.cpp."""
    implemented = {path.name for path in (root / "lib").rglob("*.cpp")}
    tested = {path.stem for path in (root / "test").rglob("*.mlir")}
    tables = sorted((root / "include/pp/Transforms").glob("*Passes.td"))
    for table, number, line in ((table, number, line) for table in tables
                                for number, line in enumerate(table.read_text().splitlines(), 1)):
        found = re.match(r'def (\w+) : \w*Pass<"([^"]+)"', line)
        if not found:
            continue
        name, argument = found.groups()
        if argument != "pp-" + kebab(name):
            yield table, number, f"expects 'pp-{kebab(name)}', got '{argument}'"
        if not name.startswith("Verify"):
            if name + ".cpp" not in implemented:
                yield table, number, f"expects a file {name}.cpp under lib, got none"
            if kebab(name) not in tested:
                yield table, number, f"expects a test {kebab(name)}.mlir, got none"


def main():
    root = Path(sys.argv[1])
    violations = []
    count = 0
    for path in sources(root):
        count += 1
        lines = path.read_text().splitlines()
        for check in (check_head(path, lines), check_name(path), check_text(path, lines)):
            violations += [(path, number, what) for number, what in check]
    violations += [*check_paragraphs(root), *check_visibility(root),
                   *check_passes(root)]
    for path, number, what in violations:
        print(f"{path.relative_to(root)}:{number}: {what}")
    print(f"{count} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
