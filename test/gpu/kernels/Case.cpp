//===- Case.cpp - the kernels that registered themselves ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Case.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace kernels;

std::vector<Case> &kernels::cases() {
  static std::vector<Case> list;
  return list;
}

void Registrar::add(const char *name, const char *file, const Launch &launch,
                    const Bound &bound, std::vector<Argument> arguments,
                    const char *fault, const std::vector<size_t> &sizes,
                    std::function<void(const std::vector<void *> &)> body) {
  bool isRight = sizes.size() == arguments.size();
  for (size_t index = 0; isRight && index < sizes.size(); ++index)
    isRight = arguments[index].kind != Argument::Value ||
              arguments[index].bytes.size() == sizes[index];
  if (!isRight) {
    std::fprintf(stderr,
                 "%s: expects as many arguments as it has parameters, "
                 "of the same types\n",
                 name);
    std::abort();
  }
  uint64_t seed = 14695981039346656037u;
  for (const char *letter = name; *letter; ++letter)
    seed = (seed ^ uint8_t(*letter)) * 1099511628211u;
  Draw draw(seed);
  unsigned which = 0;
  for (Argument &argument : arguments)
    if (argument.fill)
      argument.fill(argument.bytes, draw, which++);
  cases().push_back({name, std::filesystem::path(file).stem().string(), launch,
                     bound, std::move(arguments), std::move(body), fault});
}
