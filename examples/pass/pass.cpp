//===- pass.cpp - a pass of another compiler over pp's ops ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Says how many floating-point operations each function takes, and how many of
// them are products. The costs are those that pp's planner asks for.
//
//===----------------------------------------------------------------------===//
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>
#include <pp/IR/Aspects.h>
#include <pp/IR/PP.h>

namespace {

struct CountFlops
    : mlir::PassWrapper<CountFlops, mlir::OperationPass<mlir::func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountFlops)

  llvm::StringRef getArgument() const override { return "count-flops"; }
  llvm::StringRef getDescription() const override {
    return "count the floating-point operations of pp's ops";
  }

  void runOnOperation() override {
    double all = 0, products = 0;
    getOperation().walk([&](pp::CostOpInterface op) {
      all += op.getFlops();
      if (llvm::isa<pp::DotGeneralOp>(op.getOperation()))
        products += op.getFlops();
    });
    getOperation().emitRemark() << int64_t(all) << " operations, "
                                << int64_t(products) << " of them in products";
  }
};

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<pp::PPDialect, mlir::func::FuncDialect>();
  pp::registerCostModels(registry);
  mlir::PassRegistration<CountFlops>();
  return failed(mlir::MlirOptMain(argc, argv, "a pass over pp\n", registry));
}
