#!/usr/bin/env python3
"""An editor's session with pp-lsp-server: its greeting, and what it says of modules.

SPDX-License-Identifier: Apache-2.0

The server ends with the session; it neither hangs nor reports errors of a module without any.

  lsp_server.py build/bin/pp-lsp-server
"""
import json
import subprocess
import sys

# The op of a line, and a part of the error that it should get.
CASES = (
    ("pp.add %x, %x : tensor<4xf32>", None),
    ("pp.nothing %x : tensor<4xf32>", "pp.nothing"),
    ("pp.transpose %x perm [1] : tensor<4xf32> -> tensor<4xf32>", "expects"),
)


def write(content):
    text = json.dumps({"jsonrpc": "2.0", **content}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)


def read(answers):
    """The messages in what the server wrote."""
    while answers:
        head, answers = answers.split(b"\r\n\r\n", 1)
        size = int(next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length")).split()[1])
        yield json.loads(answers[:size])
        answers = answers[size:]


def converse(server):
    """What the server answers to a session that opens the modules of all cases."""
    messages = [{"id": 0, "method": "initialize", "params": {"capabilities": {}}}]
    for number, (op, _) in enumerate(CASES):
        text = f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n  %y = {op}\n" \
               "  return %x : tensor<4xf32>\n}\n"
        document = {"uri": f"file:///{number}.mlir", "languageId": "mlir", "version": 1, "text": text}
        messages.append({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    messages += [{"id": 1, "method": "shutdown"}, {"method": "exit"}]
    return subprocess.run([server], input=b"".join(map(write, messages)), capture_output=True, timeout=60)


def check(server):
    done = converse(server)
    answers = list(read(done.stdout))
    if done.returncode:
        yield f"expects the session to end with 0, got {done}"
    if not any(answer.get("id") == 0 and "capabilities" in answer["result"] for answer in answers):
        yield f"expects an answer to initialize, got {answers}"
    told = {answer["params"]["uri"]: answer["params"]["diagnostics"] for answer in answers
            if answer.get("method") == "textDocument/publishDiagnostics"}
    for number, (op, error) in enumerate(CASES):
        found = told.get(f"file:///{number}.mlir")
        if found is None or bool(found) != bool(error) or \
           (error and (error not in found[0]["message"] or found[0]["range"]["start"]["line"] != 1)):
            yield f"'{op}' expects {error or 'no error'} in the second line, got {found}"


def main():
    errors = list(check(sys.argv[1]))
    print("\n".join(errors) or "the server answers")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
