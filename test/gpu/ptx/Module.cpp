//===- Module.cpp - launches of a PTX module ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Blocks run one after another: nothing may depend on which comes first, and
// what does is a race that the bytes show.
//
//===----------------------------------------------------------------------===//
#include "Block.h"

#include <algorithm>
#include <numeric>

using namespace ptx;

Module::Module() = default;
Module::~Module() = default;

std::unique_ptr<Module> Module::parse(const std::string &text,
                                      std::string &error) {
  std::unique_ptr<Module> module(new Module);
  module->program = parseProgram(text, error);
  return module->program ? std::move(module) : nullptr;
}

const Entry *Module::find(const std::string &name) const {
  for (const Entry &entry : program->entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

bool Module::run(const Launch &launch, Memory &memory, std::string &error,
                 Accesses *accesses, Counters *counters) const {
  const Function *function = nullptr;
  for (const Function &candidate : program->functions)
    if (candidate.isEntry && candidate.name == launch.entry)
      function = &candidate;
  if (!function) {
    error = "expects an entry of the module, got '" + launch.entry + "'";
    return false;
  }
  if (launch.parameters.size() < function->parameterBytes) {
    error =
        launch.entry + ": expects " + std::to_string(function->parameterBytes) +
        " bytes of parameters, got " + std::to_string(launch.parameters.size());
    return false;
  }
  if (function->block != 0 && function->block != launch.block.x) {
    error = launch.entry + ": expects blocks of " +
            std::to_string(function->block) + " threads, got " +
            std::to_string(launch.block.x);
    return false;
  }
  if (launch.block.x == 0 || launch.block.x > 1024) {
    error = launch.entry + ": expects blocks of 1 to 1024 threads";
    return false;
  }
  Shadow global;
  Counters counted;
  Block block(*program, *function, launch, memory, global, counted);
  std::vector<uint32_t> blocks = launch.blocks;
  if (blocks.empty()) {
    blocks.resize(launch.grid.x);
    std::iota(blocks.begin(), blocks.end(), 0);
  }
  // Blocks come in any order; this one depends on the seed.
  if (launch.seed % 2 == 1)
    std::reverse(blocks.begin(), blocks.end());
  for (uint32_t number : blocks)
    if (!block.run(number)) {
      error = block.error();
      return false;
    }
  if (accesses)
    global.collect(*accesses);
  if (counters)
    *counters = counted;
  return true;
}
