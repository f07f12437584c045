//===- ProgramEdits.h - single edits of artifacts ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact. Out: the same with one instruction, slot, launch or product
// that is another.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MUTANTS_PROGRAMEDITS_H
#define PP_TEST_GPU_MUTANTS_PROGRAMEDITS_H

#include "pprt/Ppx.h"

#include <functional>
#include <vector>

namespace pprt::mutants {

/// Called for each place in turn; edits it if that is asked for.
using AtPlace = std::function<bool()>;

struct ProgramEdit {
  const char *name;
  /// Goes through all places, and edits those at which it is told so.
  void (*visit)(ppx::ArtifactT &artifact, const AtPlace &isPlace);
};
extern const std::vector<ProgramEdit> kProgramEdits;

uint64_t countPlaces(const ppx::ArtifactT &artifact, const ProgramEdit &edit);
ppx::ArtifactT edited(const ppx::ArtifactT &artifact, const ProgramEdit &edit,
                      uint64_t number);

} // namespace pprt::mutants

#endif // PP_TEST_GPU_MUTANTS_PROGRAMEDITS_H
