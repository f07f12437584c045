//===- StructureKernels.cpp - do kernels stay inside their parameters? ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A compiled kernel is trusted with its parameters, as any machine code is; its
// symbol tells which parameters and rows the code was made for. A contraction
// is data: its strides are multiplied out here, so that no library call
// accesses memory outside of a slot, and no two threads write the same element.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::checks;

namespace {

class ContractionChecker {
public:
  ContractionChecker(const ppx::KernelT &kernel,
                     const ppx::ContractionT &contraction, FindingList &report)
      : kernel(kernel), contraction(contraction), report(report) {}

  void check();

private:
  void fail(const std::string &message) {
    report.add(text("kernel '", kernel.name, "' ", message));
  }
  bool checkEnums();
  bool checkLoops(const char *what, const ppx::MatrixViewT &view, uint64_t rows,
                  uint64_t columns, bool mayHave);
  void checkView(const char *what, const ppx::MatrixViewT *view,
                 uint32_t parameter, ppx::ElementType element, uint64_t rows,
                 uint64_t columns, bool mayHaveLoops = false);
  void checkAccess(uint32_t parameter, bool written, const char *what);
  void checkElementsApart(const char *what, const ppx::MatrixViewT &view,
                          uint64_t rows, uint64_t columns);
  void checkEpilogues();
  void checkWritten(const ppx::EpilogueT &epilogue, uint32_t parameter);
  void checkParameters();
  void checkUnfused();

  const ppx::KernelT &kernel;
  const ppx::ContractionT &contraction;
  FindingList &report;
};

} // namespace

/// total += count * stride; returns false if that exceeds 64 bits.
static bool accumulate(uint64_t &total, uint64_t count, uint64_t stride) {
  uint64_t product;
  return !__builtin_mul_overflow(count, stride, &product) &&
         !__builtin_add_overflow(total, product, &total);
}

bool ContractionChecker::checkEnums() {
  bool valid = true;
  for (ppx::ElementType element :
       {contraction.element, contraction.out_element})
    if (!isOneOf(element, ppx::ElementType_MIN, ppx::ElementType_MAX)) {
      fail(text("expects a known element type, got ", int(element)));
      valid = false;
    }
  if (!isOneOf(contraction.library, ppx::MatrixLibrary_MIN,
               ppx::MatrixLibrary_MAX)) {
    fail(text("expects a known library, got ", int(contraction.library)));
    valid = false;
  }
  for (const auto &epilogue : contraction.epilogues)
    if (!isOneOf(epilogue->kind, ppx::EpilogueKind_MIN,
                 ppx::EpilogueKind_MAX)) {
      fail(text("expects a known epilogue, got ", int(epilogue->kind)));
      valid = false;
    }
  return valid;
}

/// Checks that loops make up the view's rows and columns, and that coordinates
/// of windows do not overflow.
bool ContractionChecker::checkLoops(const char *what,
                                    const ppx::MatrixViewT &view, uint64_t rows,
                                    uint64_t columns, bool mayHave) {
  // The limits of the loader of blocks.
  constexpr size_t mostLoops = 8, mostWindows = 4;
  constexpr int64_t farthest = int64_t(1) << 40;
  const auto isFar = [](int64_t value) {
    return value > farthest || value < -farthest;
  };
  const auto refuse = [&](const std::string &reason) {
    fail(text("expects ", what, " of ", reason));
    return false;
  };
  const bool hasLoops = !view.rows.empty() || !view.columns.empty();
  if (!mayHave && (hasLoops || !view.windows.empty()))
    return refuse("one stride for rows and one for columns, got loops");
  if (!hasLoops && !view.windows.empty())
    return refuse("loops that move along its windows, got none");
  if (std::max(view.rows.size(), view.columns.size()) > mostLoops ||
      view.windows.size() > mostWindows)
    return refuse(text("at most ", mostLoops, " loops and ", mostWindows,
                       " windows, got ", view.rows.size(), ", ",
                       view.columns.size(), " and ", view.windows.size()));
  for (const auto &window : view.windows)
    if (window->divisor == 0 || window->divisor > uint64_t(farthest) ||
        isFar(window->offset))
      return refuse(text("windows that begin within 2^40 and are divided by 1 "
                         "or more, got ",
                         window->offset, " and ", window->divisor));
  for (const auto &[loops, extent] : {std::make_pair(&view.rows, rows),
                                      std::make_pair(&view.columns, columns)}) {
    uint64_t product = 1;
    for (const auto &loop : *loops) {
      int64_t way;
      if (__builtin_mul_overflow(product, loop->extent, &product) ||
          product > uint64_t(farthest) || loop->window < -1 ||
          loop->window >= int64_t(view.windows.size()) ||
          __builtin_mul_overflow(loop->step, loop->extent, &way) || isFar(way))
        return refuse(text("loops within its windows and 2^40, got extent ",
                           loop->extent, ", window ", loop->window, ", step ",
                           loop->step));
    }
    if (!loops->empty() && product != extent)
      return refuse(text("loops over ", extent, " elements, got ", product));
  }
  return true;
}

/// Adds the largest distance from the first element, by loops or by the stride.
static bool
accumulateSide(uint64_t &last,
               const std::vector<std::unique_ptr<ppx::ViewLoopT>> &loops,
               uint64_t extent, uint64_t stride) {
  if (loops.empty())
    return accumulate(last, extent - 1, stride);
  for (const auto &loop : loops)
    if (loop->window < 0 && !accumulate(last, loop->extent - 1, loop->stride))
      return false;
  return true;
}

/// Checks that the last element of `view` lies inside its parameter.
void ContractionChecker::checkView(const char *what,
                                   const ppx::MatrixViewT *view,
                                   uint32_t parameter, ppx::ElementType element,
                                   uint64_t rows, uint64_t columns,
                                   bool mayHaveLoops) {
  report.work(1 + contraction.batch.size());
  if (!view)
    return fail(text("expects a view of ", what, ", got none"));
  if (parameter >= kernel.parameters.size())
    return fail(text("expects ", what, " in one of ", kernel.parameters.size(),
                     " parameters, got parameter ", parameter));
  if (view->batch.size() != contraction.batch.size())
    return fail(text("expects ", contraction.batch.size(), " batch strides of ",
                     what, ", got ", view->batch.size()));
  if (!checkLoops(what, *view, rows, columns, mayHaveLoops))
    return;
  if (rows == 0 || columns == 0)
    return;
  uint64_t last = view->offset;
  bool fits = accumulateSide(last, view->rows, rows, view->row_stride) &&
              accumulateSide(last, view->columns, columns, view->column_stride);
  for (const auto &window : view->windows)
    fits = fits && (window->size == 0 ||
                    accumulate(last, window->size - 1, window->stride));
  for (size_t i = 0; i < view->batch.size(); ++i) {
    if (contraction.batch[i] == 0)
      return;
    fits = fits && accumulate(last, contraction.batch[i] - 1, view->batch[i]);
  }
  const uint64_t bytes = kernel.parameters[parameter]->bytes;
  if (!fits || last >= bytes / elementSize(element))
    fail(text("expects ", what, " within the ", bytes, " bytes of parameter ",
              parameter, ", got element ", fits ? std::to_string(last) : "2^64",
              " of ", ppx::EnumNameElementType(element)));
}

void ContractionChecker::checkAccess(uint32_t parameter, bool written,
                                     const char *what) {
  if (parameter >= kernel.parameters.size())
    return;
  const ppx::Access access = kernel.parameters[parameter]->access;
  if (written ? access == ppx::Access_read : access == ppx::Access_write)
    fail(text("expects to ", written ? "write " : "read ", what,
              ", got access ", ppx::EnumNameAccess(access)));
}

/// Checks that each loop steps over all that loops with smaller strides reach.
void ContractionChecker::checkElementsApart(const char *what,
                                            const ppx::MatrixViewT &view,
                                            uint64_t rows, uint64_t columns) {
  std::vector<std::pair<uint64_t, uint64_t>> loops = {
      {view.row_stride, rows}, {view.column_stride, columns}};
  for (size_t i = 0; i < std::min(view.batch.size(), contraction.batch.size());
       ++i)
    loops.emplace_back(view.batch[i], contraction.batch[i]);
  for (const auto &[stride, extent] : loops)
    if (extent == 0)
      return;
  std::sort(loops.begin(), loops.end());
  uint64_t reached = 0; // by the loops so far, from the first element
  for (const auto &[stride, extent] : loops) {
    if (extent == 1)
      continue;
    if (stride <= reached)
      return fail(text("expects a place for each element of ", what,
                       ", got stride ", stride, " over ", reached + 1,
                       " elements"));
    if (!accumulate(reached, extent - 1, stride))
      return; // reported: outside of its parameter
  }
}

void ContractionChecker::checkEpilogues() {
  const ppx::ContractionT &c = contraction;
  uint32_t next = c.out_parameter;
  for (const auto &epilogue : c.epilogues) {
    if (writesMore(*epilogue))
      checkWritten(*epilogue, ++next);
    if (!readsMore(*epilogue))
      continue;
    checkView("an epilogue", epilogue->view.get(), epilogue->parameter,
              c.out_element, c.m, c.n);
    checkAccess(epilogue->parameter, false, "an epilogue's operand");
    if (epilogue->parameter >= c.out_parameter)
      fail(text("expects an epilogue's operand before out, parameter ",
                c.out_parameter, ", got parameter ", epilogue->parameter));
  }
}

/// Checks an epilogue's own output, in the parameter behind the previous one.
void ContractionChecker::checkWritten(const ppx::EpilogueT &epilogue,
                                      uint32_t parameter) {
  const ppx::ContractionT &c = contraction;
  const bool isLhs = epilogue.kind == ppx::EpilogueKind_sum_lhs,
             isRhs = epilogue.kind == ppx::EpilogueKind_sum_rhs;
  const uint64_t rows = isRhs ? 1 : c.m, columns = isLhs ? 1 : c.n;
  constexpr const char *what = "what an epilogue writes";
  if (epilogue.parameter != parameter)
    return fail(text("expects ", what, " in parameter ", parameter,
                     ", got parameter ", epilogue.parameter));
  if ((isLhs || isRhs) && !c.batch.empty())
    return fail(text("expects sums of one product, got a batch of ",
                     c.batch.size(), " dimensions"));
  checkView(what, epilogue.view.get(), parameter, c.out_element, rows, columns);
  checkAccess(parameter, true, what);
  if (epilogue.view)
    checkElementsApart(what, *epilogue.view, rows, columns);
}

/// Operands, then out and the outputs of epilogues, then the workspace, and
/// nothing else.
void ContractionChecker::checkParameters() {
  const ppx::ContractionT &c = contraction;
  if (c.out_parameter < 2)
    return fail(text("expects out behind lhs and rhs, got parameter ",
                     c.out_parameter));
  if (c.out_parameter >= kernel.parameters.size())
    return; // reported with its view; what follows counts on from it
  const uint64_t workspace = workspaceParameter(c);
  const uint64_t expected = workspace + (c.workspace_bytes > 0);
  if (kernel.parameters.size() < expected)
    return fail("expects a parameter for its workspace after out, got none");
  if (kernel.parameters.size() > expected)
    return fail(text("expects ", expected, " parameters, got ",
                     kernel.parameters.size()));
  for (uint32_t i = 0; i < c.out_parameter; ++i)
    if (kernel.parameters[i]->access != ppx::Access_read)
      fail(text("expects to read parameter ", i, " only, got access ",
                ppx::EnumNameAccess(kernel.parameters[i]->access)));
  if (c.workspace_bytes == 0)
    return;
  checkAccess(uint32_t(workspace), true, "the workspace");
  if (kernel.parameters[workspace]->bytes < c.workspace_bytes)
    fail(text("expects a workspace of ", c.workspace_bytes, " bytes, got ",
              kernel.parameters[workspace]->bytes));
}

/// Checks that every GPU can launch the kernel.
static void checkLaunch(const ppx::KernelT &kernel,
                        const ppx::CompiledKernelT &body, FindingList &report) {
  constexpr uint64_t kMostBlocks = (uint64_t(1) << 31) - 1;
  constexpr uint32_t kMostThreads = 1024;
  const bool isLaunched = body.grid > 0 && body.block > 0;
  if ((body.grid > 0) != (body.block > 0) ||
      (isLaunched && (body.grid > kMostBlocks || body.block > kMostThreads)))
    report.add(text("kernel '", kernel.name, "' expects at most ", kMostBlocks,
                    " blocks of at most ", kMostThreads,
                    " threads, or none of both, got ", body.grid, " of ",
                    body.block));
}

/// Whether the symbol ends in the signature.
static bool endsIn(const std::string &symbol, const std::string &signature) {
  return symbol.size() >= signature.size() &&
         symbol.compare(symbol.size() - signature.size(), signature.size(),
                        signature) == 0;
}

/// Checks that the kernel was made for these epilogues and their parameters.
void ContractionChecker::checkUnfused() {
  const ppx::CompiledKernelT &unfused = *contraction.unfused;
  if (contraction.epilogues.empty())
    return fail("expects epilogues for an unfused form of them, got none");
  if (unfused.grid == 0 || unfused.scratch_bytes > 0)
    fail(text("expects unfused epilogues that a GPU launches, without scratch, "
              "got ",
              unfused.grid, " blocks and ", unfused.scratch_bytes, " bytes"));
  checkLaunch(kernel, unfused, report);
  const std::string signature = unfusedSignature(kernel);
  if (!endsIn(unfused.symbol, signature))
    fail(text("expects unfused epilogues made for its own and their "
              "parameters, ",
              signature, ", got '", unfused.symbol, "'"));
}

void ContractionChecker::check() {
  if (!checkEnums())
    return;
  const ppx::ContractionT &c = contraction;
  checkView("lhs", c.lhs.get(), 0, c.element, c.m, c.k, true);
  checkView("rhs", c.rhs.get(), 1, c.element, c.k, c.n, true);
  checkView("out", c.out.get(), c.out_parameter, c.out_element, c.m, c.n);
  if (c.out)
    checkElementsApart("out", *c.out, c.m, c.n);
  checkAccess(c.out_parameter, true, "out");
  if (c.accumulate)
    checkAccess(c.out_parameter, false, "out");
  checkEpilogues();
  checkParameters();
  if (c.unfused)
    checkUnfused();
}

/// Checks that the last parameter holds the scratch of one range of rows.
static void checkScratch(const ppx::KernelT &kernel, uint64_t bytes,
                         FindingList &report) {
  if (bytes == 0)
    return;
  if (kernel.parameters.empty() ||
      kernel.parameters.back()->access != ppx::Access_write ||
      kernel.parameters.back()->bytes < bytes)
    report.add(text("kernel '", kernel.name,
                    "' expects a last parameter that is written, of at least ",
                    bytes, " bytes, for its scratch, got none"));
}

void checks::checkKernels(const ppx::ArtifactT &artifact, FindingList &report) {
  for (const auto &kernel : artifact.kernels) {
    report.work(1 + kernel->parameters.size());
    for (const auto &parameter : kernel->parameters)
      if (!isOneOf(parameter->access, ppx::Access_MIN, ppx::Access_MAX))
        report.add(text("kernel '", kernel->name,
                        "' expects a known access, got ",
                        int(parameter->access)));
    if (const ppx::ContractionT *body = kernel->body.AsContraction()) {
      ContractionChecker(*kernel, *body, report).check();
    } else if (const ppx::CompiledKernelT *body =
                   kernel->body.AsCompiledKernel()) {
      if (body->symbol.empty())
        report.add(
            text("kernel '", kernel->name, "' expects a symbol, got none"));
      else if (!endsIn(body->symbol, kernelSignature(*kernel)))
        report.add(text("kernel '", kernel->name,
                        "' expects machine code made for its rows and "
                        "parameters, ",
                        kernelSignature(*kernel), ", got '", body->symbol,
                        "'"));
      checkScratch(*kernel, body->scratch_bytes, report);
      checkLaunch(*kernel, *body, report);
    } else {
      report.add(text("kernel '", kernel->name,
                      "' expects a compiled kernel or a contraction, got ",
                      int(kernel->body.type)));
    }
  }
}
