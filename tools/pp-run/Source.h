//===- Source.h - the program of a run --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the files that the options name. Out: a program, of an artifact's image
// for the device, or of a module that is compiled for it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_SOURCE_H
#define PP_RUN_SOURCE_H

#include "Compile.h"
#include "Options.h"
#include "pprt/World.h"

#include <memory>
#include <string>
#include <vector>

namespace pp::run {

struct Source {
  /// Null for an artifact.
  std::unique_ptr<SourceModule> module;
  Compiled program;
  /// The program that evaluates, and the bytes that it needs of a rank or GPU;
  /// without an artifact if there is none.
  Compiled evaluation;
  uint64_t evaluationBytes = 0;
  /// With --fit: why no program meets the `memory-limit` of the keys.
  pprt::Status unmet;
  std::vector<uint64_t> staging; ///< stagingOf(), if it was checked
  /// What would fit, if the program does not.
  std::string advice;
  /// Description of a file's images for a dry run; empty for a module.
  std::string images;
};

/// `level` is that of the devices of all processes (pprt/Processor.h).
pprt::Expected<Source> loadSource(const Options &options,
                                  const pprt::World &world,
                                  const std::string &level);

/// What becomes of the kernels of the program of a run.
Kernels kernelsFor(const Options &options, const pprt::World &world);

/// The module or artifact of --reference; null without the option.
pprt::Expected<std::unique_ptr<SourceModule>>
loadReference(const Options &options);

} // namespace pp::run

#endif // PP_RUN_SOURCE_H
