//===- VerifyPipeline.cpp - the contract of level 3 -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: @main of fragments, before or after kernels are formed in them. Changes
// nothing. A module that passes was made by pp-split-stages or can be treated
// as if it were.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Verifier.h"
#include "pp/IR/VerifyModel.h"
#include "pp/Schedule/Schedule.h"
#include "pp/Transforms/Passes.h"
#include <map>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_VERIFYPIPELINE
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

class PipelineVerifier {
public:
  PipelineVerifier(func::FuncOp main, MeshAttr mesh)
      : main(main), mesh(mesh), updated(getUpdatedArguments(main)),
        numPositions(mesh.getNumStagePositions()),
        numMicroBatches(mesh.getNumMicroBatches()) {}

  LogicalResult run();

private:
  LogicalResult verifyArgument(unsigned index);
  LogicalResult verifyFragment(FragmentOp fragment);
  LogicalResult verifyTransfer(TransferOp transfer);
  LogicalResult verifyAccumulate(AccumulateOp accumulate);
  LogicalResult verifyResult(OpOperand &result);
  LogicalResult verifySchedule(ScheduleAttr attribute);
  LogicalResult verifyWeightActions(const schedule::Schedule &schedule);
  /// Whether `position` has `value`, once per step or, where `perMicroBatch`
  /// allows, once for each micro-batch.
  bool isAt(Value value, int64_t position, bool perMicroBatch);
  bool isPosition(int64_t position) const {
    return position >= 0 && position < numPositions;
  }

  func::FuncOp main;
  MeshAttr mesh;
  SmallVector<BlockArgument> updated; ///< by results
  const int64_t numPositions, numMicroBatches;
  /// The position of each stage, and of what runs once a step.
  std::map<std::pair<Phase, int64_t>, int64_t> fragments;
};

bool PipelineVerifier::isAt(Value value, int64_t position, bool perMicroBatch) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned index = argument.getArgNumber();
    std::optional<Role> role = getArgRole(main, index);
    auto positions =
        main.getArgAttrOfType<DenseI64ArrayAttr>(index, attrs::kPositions);
    if (role != Role::Param && role != Role::State)
      return perMicroBatch || numMicroBatches == 1 ||
             !isLoadedAnew(argument, mesh);
    return !positions || llvm::is_contained(positions.asArrayRef(), position);
  }
  if (auto sum = value.getDefiningOp<AccumulateOp>())
    return isAt(sum.getOperand(), position, /*perMicroBatch=*/true);
  int64_t home = -1;
  if (auto transfer = value.getDefiningOp<TransferOp>()) {
    home = transfer.getTarget();
    value = transfer.getOperand();
  }
  auto fragment = value.getDefiningOp<FragmentOp>();
  if (!fragment)
    return false;
  if (home < 0)
    home = fragment.getHolder();
  return home == position && (perMicroBatch || numMicroBatches == 1 ||
                              isOncePerStep(fragment.getPhase()));
}

LogicalResult PipelineVerifier::verifyFragment(FragmentOp fragment) {
  const int64_t position = fragment.getHolder(),
                number = fragment.getStageOrPosition();
  if (!isPosition(position))
    return fragment.emitOpError()
           << "expects a position on the stage axis "
           << "below " << numPositions << ", got " << position;
  if (!fragments.insert({{fragment.getPhase(), number}, position}).second)
    return fragment.emitOpError()
           << "expects to be the only " << stringifyPhase(fragment.getPhase())
           << " fragment of " << (fragment.getStage() ? "stage " : "position ")
           << number;
  bool isOnce = isOncePerStep(fragment.getPhase());
  for (auto [index, operand] : llvm::enumerate(fragment.getOperands())) {
    if (!isAt(operand, position, !isOnce))
      return fragment.emitOpError()
             << "expects operand " << index << " to be at position " << position
             << (isOnce ? " once a step" : "")
             << ": an argument there, a result of its fragments, or a "
                "transferred value";
    if (fragment.getPhase() != Phase::Update && numMicroBatches > 1 &&
        operand.getDefiningOp<AccumulateOp>())
      return fragment.emitOpError()
             << "expects operand " << index
             << " not to be a sum over micro-batches, which is there once all "
                "of them have run; only an update can read it";
  }
  return success();
}

LogicalResult PipelineVerifier::verifyTransfer(TransferOp transfer) {
  auto fragment = transfer.getOperand().getDefiningOp<FragmentOp>();
  int64_t source = transfer.getSource(), target = transfer.getTarget();
  if (!fragment || fragment.getHolder() != source)
    return transfer.emitOpError()
           << "expects what a fragment at position " << source << " computes";
  if (!isPosition(target) || target == source)
    return transfer.emitOpError()
           << "expects another position below " << numPositions
           << " as its target, got " << target;
  return success();
}

LogicalResult PipelineVerifier::verifyAccumulate(AccumulateOp accumulate) {
  const MeshAxisAttr time = mesh.getTimeAxis();
  if (!time || time.getName() != accumulate.getAxisAttr())
    return accumulate.emitOpError("expects the time axis of ")
           << mesh << ", got " << accumulate.getAxisAttr();
  auto fragment = accumulate.getOperand().getDefiningOp<FragmentOp>();
  if (fragment && !isOncePerStep(fragment.getPhase()))
    return success();
  return accumulate.emitOpError(
      "expects what a fragment computes for each micro-batch");
}

LogicalResult PipelineVerifier::verifyResult(OpOperand &result) {
  unsigned index = result.getOperandNumber();
  auto fail = [&] {
    return main.emitError() << "result " << index << " of @main expects ";
  };
  auto positions = llvm::to_vector(llvm::seq<int64_t>(numPositions));
  if (auto given =
          main.getResultAttrOfType<DenseI64ArrayAttr>(index, attrs::kPositions))
    positions.assign(given.asArrayRef().begin(), given.asArrayRef().end());
  std::optional<Role> role = getResultRole(main, index);
  BlockArgument argument = updated[index];
  if ((role == Role::Param || role == Role::State) && !argument)
    return fail() << "the name of a " << stringifyRole(*role)
                  << " argument, which it updates, got \""
                  << getResultName(main, index) << "\"";
  if (argument && argument.getType() != result.get().getType())
    return fail() << "the type of the argument that it updates, "
                  << argument.getType() << ", got " << result.get().getType();
  for (int64_t position : positions)
    if (!isPosition(position) ||
        !isAt(result.get(), position,
              /*perMicroBatch=*/role == Role::Prediction) ||
        (argument && !isAt(argument, position, /*perMicroBatch=*/false)))
      return fail() << "a value that position " << position
                    << " has once a step, and the argument that it updates";
  return success();
}

LogicalResult PipelineVerifier::verifySchedule(ScheduleAttr attribute) {
  schedule::Schedule schedule = attribute.getTable();
  if (static_cast<int64_t>(schedule.ranks.size()) != numPositions)
    return main.emitError("expects pp.schedule to have a list of actions for "
                          "each of ")
           << numPositions << " positions, got " << schedule.ranks.size();
  // Also those that the table lacks.
  schedule.microBatches = unsigned(numMicroBatches);
  std::string error;
  if (!schedule::verify(schedule, error))
    return main.emitError("pp.schedule: ") << error;
  const std::vector<unsigned> positions = schedule::stageRanks(schedule);
  for (auto [place, position] : fragments)
    if (auto [phase, stage] = place; !isOncePerStep(phase))
      if (stage >= int64_t(positions.size()) || positions[stage] != position)
        return main.emitError("expects pp.schedule to run stage ")
               << stage << " at position " << position
               << ", where its fragments are";
  return verifyWeightActions(schedule);
}

/// A schedule splits the backward work of a stage that has it split. All other
/// actions exist (schedule::verify): a stage without such work does nothing
/// then.
LogicalResult
PipelineVerifier::verifyWeightActions(const schedule::Schedule &schedule) {
  std::vector<int64_t> counts(schedule.stages);
  for (const std::vector<schedule::Action> &actions : schedule.ranks)
    for (const schedule::Action &action : actions)
      counts[action.stage] += action.kind == schedule::Kind::Weight;
  for (auto [stage, count] : llvm::enumerate(counts)) {
    bool isSplit = fragments.count({Phase::Weight, int64_t(stage)});
    if (count != numMicroBatches && (isSplit || count != 0))
      return main.emitError("expects pp.schedule to have ")
             << numMicroBatches << (isSplit ? "" : " or no")
             << " weight actions for stage " << stage << ", which has "
             << (isSplit ? "a" : "no") << " weight fragment, got " << count;
  }
  return success();
}

LogicalResult PipelineVerifier::verifyArgument(unsigned index) {
  auto given =
      main.getArgAttrOfType<DenseI64ArrayAttr>(index, attrs::kPositions);
  if (!given)
    return success();
  const ArrayRef<int64_t> positions = given.asArrayRef();
  if (!positions.empty() &&
      llvm::all_of(positions,
                   [&](int64_t position) { return isPosition(position); }) &&
      std::adjacent_find(positions.begin(), positions.end(),
                         std::greater_equal<>()) == positions.end())
    return success();
  return main.emitError("argument \"")
         << getArgName(main, index)
         << "\" expects ascending positions (pp.positions) below "
         << numPositions << ", got [" << positions << "]";
}

LogicalResult PipelineVerifier::run() {
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (failed(verifyArgument(index)))
      return failure();
  for (Operation &op : main.getBody().front().without_terminator()) {
    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](FragmentOp op) { return verifyFragment(op); })
            .Case([&](TransferOp op) { return verifyTransfer(op); })
            .Case([&](AccumulateOp op) { return verifyAccumulate(op); })
            .Default([](Operation *op) -> LogicalResult {
              return op->emitOpError("expects to be in a fragment; "
                                     "pp-split-stages puts it there");
            });
    if (failed(result))
      return failure();
  }
  for (OpOperand &result :
       main.getBody().front().getTerminator()->getOpOperands())
    if (failed(verifyResult(result)))
      return failure();
  auto schedule = main->getAttrOfType<ScheduleAttr>(attrs::kSchedule);
  return schedule ? verifySchedule(schedule) : success();
}

struct VerifyPipelinePass : pp::impl::VerifyPipelineBase<VerifyPipelinePass> {
  void runOnModule() override {
    markAllAnalysesPreserved();
    auto main = lookupSplitMain(getOperation());
    if (failed(verify(getOperation())) || failed(main))
      return signalPassFailure();
    MeshOp mesh = lookupMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("expects a pp.mesh; pp-make-plan adds it");
      return signalPassFailure();
    }
    if (failed(verifyPipeline(*main, mesh.getMesh())) ||
        failed(verifyModel(getOperation(), *main, Level::Pipeline)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult pp::verifyPipeline(func::FuncOp main, MeshAttr mesh) {
  return PipelineVerifier(main, mesh).run();
}
