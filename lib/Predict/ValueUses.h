//===- ValueUses.h - who made the live values and who reads them *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PREDICT_VALUEUSES_H
#define PP_LIB_PREDICT_VALUEUSES_H

#include "pp/Predict/MemoryReport.h"
#include "pprt/InstructionList.h"
#include "pprt/MemoryUse.h"
#include "pprt/SlotAccesses.h"

namespace pp::predict {

/// What an instruction runs: the name of its kernel, or its kind.
std::string opOf(const pprt::ppx::ArtifactT &artifact,
                 const pprt::ppx::InstructionT &instruction);

/// The kind of an op: `matmul` for matmul_3.
std::string opKind(const std::string &op);

/// The instructions around the peak that touch live slots.
class ValueUses {
public:
  ValueUses(const pprt::ppx::ArtifactT &artifact,
            const pprt::ppx::ProgramT &program, const pprt::SlotLives &lives);

  /// The value in a copy that is live at the peak; its type is left out.
  LiveValue describe(uint32_t copy) const;

private:
  static constexpr size_t none = size_t(-1);

  /// Instructions of the body, or none, and what happens at the peak.
  struct Uses {
    /// The last to write until the peak, the last to read the value after it,
    /// and the one that ends it by writing another.
    size_t maker = none, lastReader = none, nextMaker = none;
    unsigned writes = 0;
    bool isRead = false;
  };

  void add(size_t index);
  void addNames(const pprt::ppx::InstructionT &instruction,
                const std::vector<pprt::SlotAccess> &accesses);
  std::string nameOf(const pprt::ppx::SlotT &slot, const Uses &uses,
                     uint32_t number) const;
  std::string reasonOf(const pprt::ppx::SlotT &slot, const Uses &uses,
                       uint32_t number) const;
  std::string untilRead(const Uses &uses) const;
  std::string describeReader(const pprt::ppx::InstructionT &reader) const;

  const pprt::ppx::ArtifactT &artifact;
  const pprt::ppx::ProgramT &program;
  const pprt::SlotLives &lives;
  uint32_t numberOf(const pprt::SlotAccess &access) const {
    return copies.number(access.slot, access.copy);
  }

  const pprt::SlotCopies copies;
  /// By copy.
  std::vector<Uses> uses;
  /// The places of values at the peak.
  std::vector<const std::string *> places;
  std::vector<bool> isModels; ///< by slot
  const pprt::InstructionList body;
};

} // namespace pp::predict

#endif // PP_LIB_PREDICT_VALUEUSES_H
