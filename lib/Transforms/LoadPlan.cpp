//===- LoadPlan.cpp - a plan from a file ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module of level 1 and a file that holds one `#pp.plan<...>`, as pp-opt
// prints it. Out: the plan on the module, and its `pp.mesh`.
//
//===----------------------------------------------------------------------===//
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Shard/MakePlan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_LOADPLAN
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// No plan is as long: every seed names an argument of its own.
static constexpr uint64_t kMostBytes = uint64_t(64) << 20;

/// `text` from its first line that is no comment: parseAttribute() miscounts
/// the characters it has read behind comments.
static StringRef dropComments(StringRef text) {
  for (text = text.ltrim(); text.starts_with("//"); text = text.ltrim())
    text = text.split('\n').second;
  return text;
}

/// The number of digits of a number in front of `text` without a point, such as
/// the 3 of `3e-4`; 0 if there is none.
static size_t countDigits(StringRef text) {
  const size_t digits = text.find_if_not(llvm::isDigit);
  if (digits == 0 || digits == StringRef::npos)
    return 0;
  StringRef rest = text.drop_front(digits);
  if (!rest.consume_front_insensitive("e"))
    return 0;
  if (!rest.consume_front("-"))
    rest.consume_front("+");
  return !rest.empty() && llvm::isDigit(rest.front()) ? digits : 0;
}

/// `text` with reals as MLIR spells them; it reads `3e-4` as an integer and a
/// word. Quoted text stays.
static std::string withPoints(StringRef text) {
  std::string spelled;
  char before = ' ';
  bool isQuoted = false;
  while (!text.empty()) {
    const bool isInWord = llvm::isAlnum(before) || before == '_' ||
                          before == '.' || before == '$';
    const size_t digits = isQuoted || isInWord ? 0 : countDigits(text);
    // An escaped quote ends no string.
    const size_t length = digits > 0                           ? digits
                          : isQuoted && text.starts_with("\\") ? 2
                                                               : 1;
    const StringRef taken = text.take_front(length);
    spelled += taken;
    if (digits > 0)
      spelled += ".0";
    isQuoted ^= taken == "\"";
    before = taken.back();
    text = text.drop_front(taken.size());
  }
  return spelled;
}

/// The column in `line` of what is in `column` of withPoints(line).
static unsigned columnBefore(StringRef line, unsigned column) {
  unsigned before = 1;
  while (before < line.size() &&
         withPoints(line.take_front(before)).size() < column)
    ++before;
  return before;
}

/// Advice for a parser's error `reason`.
static StringRef adviseOn(StringRef reason) {
  if (reason.contains("decimal integer literal for a floating point"))
    return "; write 1 as 1.0";
  return reason.contains("expected ") || reason.contains("unbalanced")
             ? "; compare it with a plan that --emit=plan writes"
             : "";
}

namespace {

struct LoadPlanPass : pp::impl::LoadPlanBase<LoadPlanPass> {
  using LoadPlanBase::LoadPlanBase;

  void runOnModule() override {
    ModuleOp module = getOperation();
    if (failed(checkHasNoPlan(module)))
      return signalPassFailure();
    FailureOr<std::string> text =
        readFile(module, file, kMostBytes, "a file with a plan");
    if (failed(text))
      return signalPassFailure();
    PlanAttr plan = parse(*text);
    if (!plan || failed(checkFitsStep(plan)))
      return signalPassFailure();
    // A table lies beside the plan that names it.
    const StringRef table = plan.getSchedule();
    if (table.ends_with(".csv") && !llvm::sys::path::is_absolute(table)) {
      SmallString<128> path = llvm::sys::path::parent_path(file);
      llvm::sys::path::append(path, table);
      plan = plan.withSetting(PlanKey::Schedule, path);
    }
    attachPlan(module, plan);
  }

  LogicalResult checkFitsStep(PlanAttr plan) {
    if (!plan.getOptimizer() || !isStepWithoutPlan(getOperation()))
      return success();
    return getOperation().emitError(
               "expects a plan without an optimizer for a training step, which "
               "has an update of its own, got ")
           << plan.getOptimizer();
  }

  /// The plan that `text` holds; reports why there is none.
  PlanAttr parse(StringRef text) {
    const StringRef body = dropComments(text);
    // Of the text that is parsed, which begins in column 1.
    const unsigned dropped = unsigned(text.drop_back(body.size()).count('\n'));
    auto emitErrorAt = [&](unsigned line, unsigned column) {
      return emitError(
          FileLineColLoc::get(&getContext(), file, line + dropped, column));
    };
    if (!body.starts_with("#pp.plan")) {
      const StringRef line = body.split('\n').first;
      InFlightDiagnostic error = emitErrorAt(1, 1)
                                 << "expects a #pp.plan with a mesh, got '"
                                 << line.take_front(40)
                                 << (line.size() > 40 ? "...'" : "'");
      error << (body.contains("func.func") || body.starts_with("module")
                    ? ": that is a model; a plan is what --emit=plan writes "
                      "for one"
                    : ": a plan is what --emit=plan writes");
      return {};
    }
    // The parser knows neither the file nor what was dropped and added.
    const std::string spelled = withPoints(body.trim());
    unsigned line = 1, column = 1;
    std::string reasons;
    PlanAttr plan;
    {
      llvm::raw_string_ostream reason(reasons);
      ScopedDiagnosticHandler handler(
          &getContext(), [&](Diagnostic &diagnostic) {
            auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
            if (place && reasons.empty()) {
              line = place.getLine();
              column = place.getColumn();
            }
            reason << (reasons.empty() ? "" : "; ") << diagnostic;
            for (Diagnostic &note : diagnostic.getNotes())
              reason << "; " << note;
            return success();
          });
      plan = dyn_cast_or_null<PlanAttr>(parseAttribute(spelled, &getContext()));
    }
    if (plan)
      return plan;
    SmallVector<StringRef> lines;
    body.split(lines, '\n');
    emitErrorAt(line, columnBefore(lines[line - 1], column))
        << reasons << adviseOn(reasons);
    return {};
  }
};

} // namespace
