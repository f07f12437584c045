//===- StructureKernels.cpp - do kernels stay inside their parameters? ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A compiled kernel is trusted with its parameters, as any machine code is. A
// contraction is data: its strides are multiplied out here, so that no library
// call reaches outside of a slot.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"

using namespace pprt;
using namespace pprt::checks;

namespace {

class ContractionChecker {
public:
  ContractionChecker(const ppx::KernelT &kernel,
                     const ppx::ContractionT &contraction, Report &report)
      : kernel(kernel), contraction(contraction), report(report) {}

  void check();

private:
  void fail(const std::string &message) {
    report.add(text("kernel '", kernel.name, "' ", message));
  }
  bool checkEnums();
  void checkView(const char *what, const ppx::MatrixViewT *view,
                 uint32_t parameter, ppx::ElementType element, uint64_t rows,
                 uint64_t columns);
  void checkAccess(uint32_t parameter, bool written, const char *what);

  const ppx::KernelT &kernel;
  const ppx::ContractionT &contraction;
  Report &report;
};

} // namespace

/// total += count * stride; false if that exceeds 64 bits.
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
  for (const auto &epilogue : contraction.epilogues)
    if (!isOneOf(epilogue->kind, ppx::EpilogueKind_MIN,
                 ppx::EpilogueKind_MAX)) {
      fail(text("expects a known epilogue, got ", int(epilogue->kind)));
      valid = false;
    }
  return valid;
}

/// The last element that `view` reaches lies inside its parameter.
void ContractionChecker::checkView(const char *what,
                                   const ppx::MatrixViewT *view,
                                   uint32_t parameter, ppx::ElementType element,
                                   uint64_t rows, uint64_t columns) {
  report.work(1 + contraction.batch.size());
  if (!view)
    return fail(text("expects a view of ", what, ", got none"));
  if (parameter >= kernel.parameters.size())
    return fail(text("expects ", what, " in one of ", kernel.parameters.size(),
                     " parameters, got parameter ", parameter));
  if (view->batch.size() != contraction.batch.size())
    return fail(text("expects ", contraction.batch.size(), " batch strides of ",
                     what, ", got ", view->batch.size()));
  if (rows == 0 || columns == 0)
    return;
  uint64_t last = view->offset;
  bool fits = accumulate(last, rows - 1, view->row_stride) &&
              accumulate(last, columns - 1, view->column_stride);
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

void ContractionChecker::check() {
  if (!checkEnums())
    return;
  const ppx::ContractionT &c = contraction;
  checkView("lhs", c.lhs.get(), 0, c.element, c.m, c.k);
  checkView("rhs", c.rhs.get(), 1, c.element, c.k, c.n);
  checkView("out", c.out.get(), c.out_parameter, c.out_element, c.m, c.n);
  checkAccess(0, false, "lhs");
  checkAccess(1, false, "rhs");
  checkAccess(c.out_parameter, true, "out");
  if (c.accumulate)
    checkAccess(c.out_parameter, false, "out");
  for (const auto &epilogue : c.epilogues) {
    if (epilogue->kind != ppx::EpilogueKind_add &&
        epilogue->kind != ppx::EpilogueKind_multiply)
      continue;
    checkView("an epilogue", epilogue->view.get(), epilogue->parameter,
              c.out_element, c.m, c.n);
    checkAccess(epilogue->parameter, false, "an epilogue's operand");
  }
  if (c.workspace_bytes == 0)
    return;
  const uint64_t workspace = uint64_t(c.out_parameter) + 1;
  if (workspace >= kernel.parameters.size())
    return fail("expects a parameter for its workspace after out, got none");
  if (kernel.parameters[workspace]->bytes < c.workspace_bytes)
    fail(text("expects a workspace of ", c.workspace_bytes, " bytes, got ",
              kernel.parameters[workspace]->bytes));
}

void checks::checkKernels(const ppx::ArtifactT &artifact, Report &report) {
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
    } else {
      report.add(text("kernel '", kernel->name,
                      "' expects a compiled kernel or a contraction, got ",
                      int(kernel->body.type)));
    }
  }
}
