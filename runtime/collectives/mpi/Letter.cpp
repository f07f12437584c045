//===- Letter.cpp - a failure as a message --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Letter.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace pprt;

std::vector<std::byte> mpi::packLetter(const Status &status, size_t longest) {
  const int code = int(status.code());
  const std::string &text = status.message();
  const size_t length = std::min(text.size(), longest - sizeof(code));
  std::vector<std::byte> letter(sizeof(code) + length);
  std::memcpy(letter.data(), &code, sizeof(code));
  std::memcpy(letter.data() + sizeof(code), text.data(), length);
  return letter;
}

Status mpi::unpackLetter(const std::vector<std::byte> &letter) {
  int code = int(ExitCode::device);
  if (letter.size() < sizeof(code))
    return Status(ExitCode::device, "another process failed");
  std::memcpy(&code, letter.data(), sizeof(code));
  const auto *text = reinterpret_cast<const char *>(letter.data());
  return Status(
      ExitCode(code),
      std::string(text + sizeof(code),
                  strnlen(text + sizeof(code), letter.size() - sizeof(code))));
}

void mpi::printError(const std::string &message) {
  const std::string line =
      std::string(program_invocation_short_name) + ": error: " + message + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
}
