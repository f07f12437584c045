//===- ProgramWriter.h - appending to a rank program ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Creates one pp.program and appends slots, queues, routines and body
// instructions. Slots are unplaced and nothing waits; pp-plan-buffers settles
// both.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_PROGRAMWRITER_H
#define PP_LIB_TRANSFORMS_LOWER_PROGRAMWRITER_H

#include "mlir/IR/Builders.h"
#include "pp/IR/Kernel.h"
#include "llvm/ADT/StringMap.h"

namespace pp {

/// Which part of a step the next instructions belong to.
struct InstructionTag {
  Phase phase = Phase::Prologue;
  int64_t stage = 0;
  int64_t microBatch = -1;
};

class ProgramWriter {
public:
  ProgramWriter(mlir::ModuleOp module, llvm::StringRef name,
                llvm::ArrayRef<int64_t> ranks);

  /// `copies`: how many micro-batches have one of their own, or 1.
  int64_t addSlot(llvm::StringRef name, SlotClass slotClass, mlir::Type type,
                  int64_t copies);
  int64_t addArgument(llvm::StringRef name, SlotClass slotClass,
                      mlir::Type type, int64_t argument);

  /// What is written from one to the other is a routine, which is returned.
  RoutineOp beginRoutine(llvm::StringRef name);
  void endRoutine() { routine = nullptr; }
  void call(RoutineOp routine, int64_t microBatch);
  /// Ends the program: replaces the only call of a routine by what it runs.
  void finish();

  /// In a routine, the micro-batch is that of each call.
  void setTag(InstructionTag tag) { this->tag = tag; }
  void setLoc(mlir::Location loc) { this->loc = loc; }

  void run(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> slots,
           bool accumulate = false);
  void send(int64_t slot, int64_t peer);
  void recv(int64_t slot, int64_t peer);
  void collective(mlir::Operation *op, llvm::ArrayRef<int64_t> slots);
  void copy(int64_t source, int64_t target);
  void load(int64_t slot, int64_t argument);
  void emit(int64_t slot, int64_t output);
  void step();

private:
  int64_t queue(llvm::StringRef name, QueueKind kind);
  template <typename Op, typename... Args>
  void append(llvm::ArrayRef<int64_t> slots, int64_t queue, Args &&...args);

  mlir::OpBuilder builder;
  mlir::Location loc;
  ProgramOp program;
  RoutineOp routine; ///< that is being written
  InstructionTag tag;
  int64_t numSlots = 0;
  llvm::StringMap<int64_t> queues;
  llvm::SmallVector<std::string> routineNames;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_PROGRAMWRITER_H
