#!/bin/sh
# A pp-run without a compiler says so of a module, in one line: no-compiler.sh PP-RUN
# SPDX-License-Identifier: Apache-2.0
set -u
fail() {
  echo "no-compiler: $1" >&2
  exit 1
}
says=$(echo 'module {}' | "$1" - 2>&1)
[ $? = 2 ] || fail "expects exit 2 for a module, got: $says"
[ "$says" = "pp-run: error: <stdin>: expects an artifact (.ppx), as this build has no compiler" ] ||
  fail "expects a line, got: $says"
for option in --parallelize=dp=2 --verify --reference=m.mlir --cache-limit=1M --elastic=dp; do
  says=$("$1" m.ppx $option 2>&1)
  [ $? = 2 ] || fail "expects exit 2 for $option, got: $says"
  case $says in
  "pp-run: error: '${option%%=*}' needs a build with the compiler "*) ;;
  *) fail "expects $option to be refused, got: $says" ;;
  esac
  "$1" --help | grep -q -e "^  ${option%%=*}" && fail "expects --help not to offer $option"
done
"$1" --help | head -n 3 | grep -q '^  pp-run gpt.ppx ' || fail "expects --help to begin with an artifact"
"$1" --version | grep -q '(no compiler)$' || fail "expects --version to tell"
