//===- Model.h - the training function and its annotations ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every level keeps one function `main`; roles, names and shardings sit on its
// arguments and results. Only these functions read those attributes, so a
// misspelt name cannot go unnoticed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_MODEL_H
#define PP_IR_MODEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace pp {

/// Names of the dialect's discardable attributes (PPDialect.td lists them).
namespace attrs {
inline constexpr llvm::StringLiteral kRole = "pp.role";
inline constexpr llvm::StringLiteral kName = "pp.name";
inline constexpr llvm::StringLiteral kInit = "pp.init";
inline constexpr llvm::StringLiteral kBound = "pp.bound";
inline constexpr llvm::StringLiteral kDims = "pp.dims";
inline constexpr llvm::StringLiteral kParameter = "pp.parameter";
inline constexpr llvm::StringLiteral kLayer = "pp.layer";
inline constexpr llvm::StringLiteral kStoredShape = "pp.stored_shape";
inline constexpr llvm::StringLiteral kStoredOrder = "pp.stored_order";
inline constexpr llvm::StringLiteral kSharding = "pp.sharding";
inline constexpr llvm::StringLiteral kUnpaddedShape = "pp.unpadded_shape";
inline constexpr llvm::StringLiteral kGlobalShape = "pp.global_shape";
inline constexpr llvm::StringLiteral kShardings = "pp.shardings";
inline constexpr llvm::StringLiteral kInShards = "pp.in_shards";
inline constexpr llvm::StringLiteral kKind = "pp.kind";
inline constexpr llvm::StringLiteral kOrigin = "pp.origin";
inline constexpr llvm::StringLiteral kStages = "pp.stages";
inline constexpr llvm::StringLiteral kPositions = "pp.positions";
inline constexpr llvm::StringLiteral kCheckpoint = "pp.checkpoint";
inline constexpr llvm::StringLiteral kKeep = "pp.keep";
inline constexpr llvm::StringLiteral kKernel = "pp.kernel";
inline constexpr llvm::StringLiteral kRows = "pp.rows";
inline constexpr llvm::StringLiteral kInplace = "pp.inplace";
inline constexpr llvm::StringLiteral kWorkspace = "pp.workspace";
inline constexpr llvm::StringLiteral kUnfused = "pp.unfused";
inline constexpr llvm::StringLiteral kEpilogue = "pp.epilogue";
inline constexpr llvm::StringLiteral kSchedule = "pp.schedule";
inline constexpr llvm::StringLiteral kPlan = "pp.plan";
inline constexpr llvm::StringLiteral kModel = "pp.model";
inline constexpr llvm::StringLiteral kLevel = "pp.level";
inline constexpr llvm::StringLiteral kTarget = "pp.target";
} // namespace attrs

/// The function `main` of a module, one block on tensors of static shape;
/// reports its absence.
mlir::FailureOr<mlir::func::FuncOp> lookupMain(mlir::ModuleOp module);

/// The same at level 3, where `main` consists of fragments; reports their
/// absence, naming pp-split-stages.
mlir::FailureOr<mlir::func::FuncOp> lookupSplitMain(mlir::ModuleOp module);

/// The module's programs; reports their absence, naming pp-lower-to-programs.
mlir::FailureOr<llvm::SmallVector<ProgramOp>>
lookupPrograms(mlir::ModuleOp module);

/// The plan on a module; reports its absence, naming pp-make-plan.
mlir::FailureOr<PlanAttr> lookupPlan(mlir::ModuleOp module);

/// Whether the module is a training step without a plan: it has gradients and
/// an update of its own.
bool isStepWithoutPlan(mlir::ModuleOp module);

/// The module's mesh op, or null.
MeshOp lookupMesh(mlir::ModuleOp module);

/// Gives the module a plan, and the plan's mesh in place of any other.
void attachPlan(mlir::ModuleOp module, PlanAttr plan);
/// The module's mesh op; reports its absence, naming pp-annotate-shardings.
mlir::FailureOr<MeshOp> requireMesh(mlir::ModuleOp module);

std::optional<Role> getArgRole(mlir::func::FuncOp main, unsigned index);
llvm::StringRef getArgName(mlir::func::FuncOp main, unsigned index);
std::optional<Role> getResultRole(mlir::func::FuncOp main, unsigned index);
llvm::StringRef getResultName(mlir::func::FuncOp main, unsigned index);

/// The batch dimension of an input or label: the one that pp.dims names so, or
/// the first without pp.dims. Nothing if there is none.
std::optional<unsigned> getBatchDim(mlir::func::FuncOp main, unsigned index);

/// Index of the argument called `name`, or -1.
int64_t findArg(mlir::func::FuncOp main, llvm::StringRef name);

/// Index of every argument, by its name.
llvm::StringMap<unsigned> getArgsByName(mlir::func::FuncOp main);

/// For each result the argument that it updates, by role and name; null for
/// other results, such as a gradient, which has its parameter's name.
llvm::SmallVector<mlir::BlockArgument>
getUpdatedArguments(mlir::func::FuncOp main);

/// The values that depend on the batch: inputs and labels, and the results of
/// ops that read such values.
llvm::DenseSet<mlir::Value> getBatchDependent(mlir::func::FuncOp main);
/// Adds what ops of `block` compute from values of the set, also through
/// others.
void addDependents(mlir::Block &block, llvm::DenseSet<mlir::Value> &values);

/// Whether an argument of a step of level 2 or 3 differs in each micro-batch:
/// an input that time splits, or any input if there is one micro-batch.
bool isLoadedAnew(mlir::BlockArgument argument, MeshAttr mesh);

/// The attributes of every argument, and of every result.
llvm::SmallVector<mlir::DictionaryAttr> getAllArgAttrs(mlir::func::FuncOp main);
llvm::SmallVector<mlir::DictionaryAttr>
getAllResultAttrs(mlir::func::FuncOp main);
/// Sets attribute `name` of every argument or result, except where the entry is
/// null. A function's attributes are one list, so changing them one by one is
/// slow.
void setArgAttrs(mlir::func::FuncOp main, llvm::StringRef name,
                 llvm::ArrayRef<mlir::Attribute> values);
void setResultAttrs(mlir::func::FuncOp main, llvm::StringRef name,
                    llvm::ArrayRef<mlir::Attribute> values);

/// Removes the shardings that a model states, which change no value: those of
/// arguments and results, and constraints.
void dropShardings(mlir::func::FuncOp main);

/// Marks result `index`; setSignature() marks many at once.
void setResult(mlir::func::FuncOp main, unsigned index, Role role,
               llvm::StringRef name);
/// The attributes of a result of that role and name.
mlir::DictionaryAttr getResultAttrs(mlir::MLIRContext *context, Role role,
                                    llvm::StringRef name);

/// Sets the type of `main` to its block's arguments and returned values, with
/// these attributes, all at once.
void setSignature(mlir::func::FuncOp main,
                  llvm::ArrayRef<mlir::DictionaryAttr> ofArguments,
                  llvm::ArrayRef<mlir::DictionaryAttr> ofResults);

/// The op's part of training; forward if unmarked.
Kind getKind(mlir::Operation *op);
void setKind(mlir::Operation *op, Kind kind);
/// The part of the step in which the op runs; later parts are greater.
/// Gradients of inputs and of weights are one part.
Phase getPhase(mlir::Operation *op);
/// Number of the forward op that an op derives from, or -1.
int64_t getOrigin(mlir::Operation *op);
void setOrigin(mlir::Operation *op, int64_t origin);
/// Stages that compute an op; empty if undecided.
llvm::ArrayRef<int64_t> getStages(mlir::Operation *op);
void setStages(mlir::Operation *op, llvm::ArrayRef<int64_t> stages);

/// The position of every stage on the stage axis, as pp.schedule has it;
/// without one each stage has its own.
llvm::SmallVector<int64_t> getPositions(mlir::func::FuncOp main, MeshAttr mesh);

/// True for ops of level 1 (GraphOps.td).
bool isGraphOp(mlir::Operation *op);
/// True for ops that all members of a group execute together.
bool isCollective(mlir::Operation *op);
/// True for fragments that run once a step, not once per micro-batch.
bool isOncePerStep(Phase phase);
/// True for ops of level 2: graph ops and what SpmdOps.td adds to them.
bool isSpmdOp(mlir::Operation *op);

} // namespace pp

#endif // PP_IR_MODEL_H
