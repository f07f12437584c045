//===- Passes.td - models from other frameworks ------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_IMPORT_PASSES_TD
#define PP_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ImportStableHLO : Pass<"pp-import-stablehlo", "::mlir::ModuleOp"> {
  let summary = "makes a model of a loss or training step in StableHLO";
  let description = [{
    In: a module as JAX prints it, whose `@main` is the loss of one batch, a
    scalar as the first result, or a whole training step: it has arguments that
    it may overwrite, or its first result is no scalar. Ops of StableHLO are recognised by their names, so
    that they may be those of the real dialect or unregistered ones. Out: the
    same as one function of level 1. It stands before all other passes.

    Calls are inlined, loops with a constant number of iterations unrolled.
    Arguments that `inputs` and `labels` name are the batch, those of `states`
    are kept between steps, all others are parameters. Names come from
    locations, which `as_text(debug_info=True)` has: `params['h'][0]['w']` is
    `h.0.w`; without them, arguments are `arg0`, `arg1`. A state's new value is
    a result of its type, in the order of states, and of its name if it has one.
    Other results are dropped. Shardings of Shardy over whole axes of one mesh
    become pp.sharding and pp.sharding_constraint, and the mesh pp.mesh.

    A step is of level graph, without a plan. Results that have an argument's
    name and type, or its donated memory, are its new value. The loss depends on
    the batch and on no gradient; parameters are what it reads and gradients
    update. Ops have kinds, origins and parameters as pp-differentiate and
    pp-add-optimizer write them.

    Parameters that loops read row by row are split: `h.w` of two layers is
    `h.0.w` and `h.1.w`. Inputs that only pick rows of tables get their number
    as `pp.bound`; what JAX does about numbers outside is removed then.

    ```mlir
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.add %arg1, %1 : tensor<4x8xf32>
    // becomes
    %0 = pp.reshape %arg0 : tensor<8xf32> -> tensor<1x8xf32>
    %1 = pp.reshape %0 : tensor<1x8xf32> -> tensor<8xf32>
    %2 = pp.broadcast %1 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
    %3 = pp.add %arg1, %2 : tensor<4x8xf32>
    ```
    Fails at an op that pp cannot say, at dynamic shapes, at a loop or branch
    that depends on data, if a name in an option is that of no argument, and if
    loss or parameters of a step cannot be told apart.
  }];
  let options = [
    ListOption<"inputs", "inputs", "std::string",
               "arguments that a batch consists of: names, their beginnings (`batch` for all of `batch.*`) or numbers; names of dimensions may follow, as in tokens:batch:sequence">,
    ListOption<"labels", "labels", "std::string",
               "arguments that are what the model should answer">,
    ListOption<"states", "states", "std::string",
               "arguments that one step passes to the next">,
    Option<"keepShardings", "keep-shardings", "bool", /*default=*/"true",
           "keep the source's shardings and their mesh, instead of leaving all to the plan">
  ];
}

#endif // PP_IMPORT_PASSES_TD
