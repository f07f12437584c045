//===- Block.h - the threads of a block -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Of threads at different instructions, those at the earliest run first, all of
// them at once, until they reach the others: so they come together again where
// compilers lay out code in order. Now and then the seed lets others go first.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PTX_BLOCK_H
#define PP_TEST_GPU_PTX_BLOCK_H

#include "Arithmetic.h"
#include "Shadow.h"

namespace ptx {

constexpr uint32_t kWarp = 32;

class Block {
public:
  Block(const Program &program, const Function &function, const Launch &launch,
        Memory &memory, Shadow &global, Counters &counters);

  /// Block number `number`. False: error().
  bool run(uint32_t number);
  const std::string &error() const { return failure; }

private:
  /// CommOp: where threads of a warp come together, and some are on their way.
  /// Waiting: at a barrier of the block.
  enum class State : uint8_t { Running, CommOp, Waiting, Ended };
  struct Values { ///< of an operand, by lane
    const uint64_t *bits;
    const uint8_t *unknown; ///< bit by byte
    size_t step;
  };

  void reset(uint32_t number);
  bool schedule();
  bool releaseBarrier();
  /// Whether the lanes wait at the instruction for others of their warps.
  bool awaitsOthers(const Instruction &i);
  bool runGroup(uint32_t stop);
  bool execute(const Instruction &i);
  bool branch(const Instruction &i, uint32_t &next);
  bool load(const Instruction &i);
  bool store(const Instruction &i);
  bool atomic(const Instruction &i);
  bool shuffle(const Instruction &i);
  bool vote(const Instruction &i);
  bool reduceWarp(const Instruction &i);
  /// What lanes of a warp do together: f(lane, mask, bits, unknown) for each,
  /// whose results are set when all have been computed. False if one is, or if
  /// the mask does not name a lane, or one that it names is not there.
  template <typename Function>
  bool together(const Instruction &i, const char *what, const Values &mask,
                Function f);
  bool move(const Instruction &i);
  bool select(const Instruction &i);
  bool setPredicate(const Instruction &i);
  bool scalar(const Instruction &i);

  Values valuesOf(const Operand &operand);
  uint64_t special(uint32_t which, uint32_t lane) const;
  uint64_t &registerOf(const Operand &operand, uint32_t lane) {
    return registers[size_t(operand.index) * threads + lane];
  }
  uint8_t &unknownOf(const Operand &operand, uint32_t lane) {
    return unknowns[size_t(operand.index) * threads + lane];
  }
  void set(const Operand &operand, uint32_t lane, uint64_t bits, bool unknown) {
    setBytes(operand, lane, bits, unknown ? 0xFF : 0);
  }
  void setBytes(const Operand &operand, uint32_t lane, uint64_t bits,
                uint8_t unknown) {
    if (operand.kind != Operand::Register)
      return; // nobody wants it
    registerOf(operand, lane) = bits;
    unknownOf(operand, lane) = unknown;
  }
  /// The bytes of an access, and which of them were written; null and an error
  /// if there are none.
  struct Bytes {
    std::byte *data = nullptr;
    std::byte *written = nullptr;
  };
  /// Tells who listens what the active lanes of each warp ask for.
  void observe(const Instruction &i, const Values &base, uint32_t bytes);
  Bytes find(const Instruction &i, uint64_t address, uint32_t size,
             uint32_t lane, bool writes);
  /// Lanes of the warp that begins at `first` which are active.
  uint32_t activeMask(uint32_t first) const;
  bool fail(const Instruction &i, const std::string &message,
            uint32_t lane = ~uint32_t(0));
  Moment momentOf(uint32_t lane, bool isAtomic = false) const;

  const Program &program;
  const Function &function;
  const Launch &launch;
  Memory &memory;
  Shadow &global;
  Counters &counters;
  uint32_t threads, number = 0, blockEpoch = 0;
  uint64_t random;
  std::vector<uint64_t> registers;
  std::vector<uint8_t>
      unknowns; ///< bytes that nobody wrote, or what they come from
  std::vector<uint64_t> scratchBits;
  std::vector<uint8_t> scratchUnknown;
  size_t scratchSlot = 0;
  std::vector<uint32_t> places; ///< the next instruction of a lane
  std::vector<State> states;
  std::vector<Carry> carries;
  std::vector<uint32_t> active;
  std::vector<uint8_t> isActive;
  std::vector<std::byte> shared, sharedWritten, local, localWritten;
  std::unique_ptr<Shadow> sharedShadow;
  std::string failure;
  uint32_t at = 0;
  bool areAllStopped = false; ///< nobody who is awaited will come
};

} // namespace ptx

#endif // PP_TEST_GPU_PTX_BLOCK_H
