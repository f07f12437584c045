//===- KernelSignature.cpp - parameters, cost and symbol of a kernel ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Read by callers and compilers of kernels, so that both see the same
// parameters. In: a kernel of level 4, after its verifier.
//
//===----------------------------------------------------------------------===//
#include "Gpu/Ptx.h"
#include "pp/Analysis/ModuleTarget.h"
#include "pp/IR/Kernel.h"
#include "pp/Target/KernelCompiler.h"
#include "pprt/Program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace pp;

KernelParameters pp::getKernelParameters(func::FuncOp kernel) {
  KernelParameters parameters;
  for (Type type : kernel.getArgumentTypes()) {
    parameters.types.push_back(type);
    parameters.access.push_back(Access::Read);
  }
  SmallVector<int64_t> shared(kernel.getNumResults(), -1);
  if (auto pairs = kernel->getAttrOfType<DenseI64ArrayAttr>(attrs::kInplace))
    for (int64_t index = 0; index + 1 < pairs.size(); index += 2)
      shared[pairs[index]] = pairs[index + 1];
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes())) {
    if (shared[index] >= 0) {
      parameters.access[shared[index]] = Access::ReadWrite;
      parameters.ofResult.push_back(shared[index]);
      continue;
    }
    parameters.ofResult.push_back(parameters.types.size());
    parameters.types.push_back(type);
    parameters.access.push_back(Access::Write);
  }
  for (Type type : parameters.types)
    parameters.bytes.push_back(getTensorBytes(type));
  if (auto workspace = kernel->getAttrOfType<IntegerAttr>(attrs::kWorkspace))
    parameters.workspace = workspace.getInt();
  return parameters;
}

int64_t pp::getScratchBytes(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  auto plan = module ? module->getAttrOfType<PlanAttr>(attrs::kPlan) : nullptr;
  return getKernelParameters(kernel).workspace / (plan ? plan.getThreads() : 1);
}

KernelCost pp::getKernelCost(func::FuncOp kernel) {
  KernelCost cost;
  KernelParameters parameters = getKernelParameters(kernel);
  for (auto [bytes, access] :
       llvm::zip_equal(parameters.bytes, parameters.access))
    cost.bytes += access == Access::ReadWrite ? 2.0 * bytes : 1.0 * bytes;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (auto model = dyn_cast<CostOpInterface>(op))
      cost.flops += model.getFlops();
  return cost;
}

void pp::setLaunch(func::FuncOp kernel, pprt::ppx::CompiledKernelT &body) {
  auto module = kernel->getParentOfType<ModuleOp>();
  const pprt::Target *target = module ? getTarget(module) : nullptr;
  if (!target || target->code() != pprt::Code::ptx)
    return;
  if (auto launch = pp::gpu::getLaunchShape(kernel); succeeded(launch)) {
    body.grid = launch->grid;
    body.block = launch->block;
  }
}

/// As the artifact describes the kernel to the runtime.
static std::string getSignature(func::FuncOp kernel) {
  namespace ppx = pprt::ppx;
  ppx::KernelT described;
  KernelParameters parameters = getKernelParameters(kernel);
  for (auto [access, bytes] :
       llvm::zip_equal(parameters.access, parameters.bytes)) {
    auto entry = std::make_unique<ppx::KernelParameterT>();
    entry->access = access == Access::ReadWrite ? ppx::Access_read_write
                    : access == Access::Write   ? ppx::Access_write
                                                : ppx::Access_read;
    entry->bytes = bytes;
    described.parameters.push_back(std::move(entry));
  }
  if (parameters.workspace > 0) {
    auto entry = std::make_unique<ppx::KernelParameterT>();
    entry->access = ppx::Access_write;
    entry->bytes = parameters.workspace;
    described.parameters.push_back(std::move(entry));
  }
  ppx::CompiledKernelT body;
  body.rows = getKernelRows(kernel);
  body.scratch_bytes = getScratchBytes(kernel);
  setLaunch(kernel, body);
  described.body.Set(std::move(body));
  return pprt::kernelSignature(described);
}

std::string pp::getKernelSymbol(func::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Else printing would verify it once more.
  kernel->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  std::string name = ("@" + kernel.getSymName()).str();
  if (size_t position = text.find(name); position != std::string::npos)
    text.erase(position, name.size());
  if (!kernel.getOps<AxisIndexOp>().empty())
    if (MeshOp mesh = lookupMesh(kernel->getParentOfType<ModuleOp>()))
      stream << mesh.getMeshAttr(); // positions of axes are compiled in
  auto digest = llvm::SHA256::hash(
      ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  auto epilogue = kernel->getAttrOfType<StringAttr>(attrs::kEpilogue);
  return "pp_" +
         llvm::toHex(ArrayRef(digest).take_front(12), /*LowerCase=*/true) +
         "_" + (epilogue ? epilogue.getValue().str() + "_" : std::string()) +
         getSignature(kernel);
}
