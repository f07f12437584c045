//===- TrainPasses.td - a training step of a model ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The part of Passes.td that tells of gradients and updates, in the order of
// Pipelines.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_TRAINPASSES_TD
#define PP_TRANSFORMS_TRAINPASSES_TD

include "mlir/Pass/PassBase.td"

def DigestModel : LevelPass<"pp-digest-model", "Graph"> {
  let summary = "notes what the model computes";
  let description = [{
    Adds `pp.model`, a digest of the functions of a module: ops, types and
    names, but neither locations nor the plan. A run that resumes a checkpoint
    tells by it whether the model is still that of the checkpoint.

    ```mlir
    module attributes {pp.model = "8a5edab282632443"}
    ```
  }];
}

def NameHeads : LevelPass<"pp-name-heads", "Graph"> {
  let summary = "names the values at both ends of attention, and their heads";
  let description = [{
    In a model whose inputs name a sequence and whose values name no heads: of a
    product in which sequence meets sequence, and the product that sums over it
    later, the operands and the result get a `pp.name` with the names of their
    dimensions. `sp` splits heads there.

    ```mlir
    %s = pp.dot_general %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32> loc("h.0")
    // becomes
    %0 = pp.name %q "h.0.query" dims ["batch", "head", "sequence", ""] : tensor<2x4x8x16xf32>
    %1 = pp.name %k "h.0.key" dims ["batch", "head", "sequence", ""] : tensor<2x4x8x16xf32>
    %s = pp.dot_general %0, %1 batch [0, 1] x [0, 1] contract [3] x [3] : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
    ```
  }];
}

def TakeTraining : LevelPass<"pp-take-training", "Graph"> {
  let summary = "makes of a model what it is while it trains";
  let description = [{
    Replaces each `pp.if_training` by its first operand, and removes each
    `pp.name` whose result nobody reads: it only names a value that evaluation
    may predict.

    ```mlir
    %y = pp.if_training %dropped else %x : tensor<4x8xf32>
    %z = pp.tanh %y : tensor<4x8xf32>
    // becomes
    %z = pp.tanh %dropped : tensor<4x8xf32>
    ```
  }];
}

def LowerPrecision : LevelPass<"pp-lower-precision", "Graph"> {
  let summary = "computes products, and what lies between them, in 16 bits";
  let description = [{
    With `precision=bf16` or `f16` in the plan, products (`pp.dot_general`,
    `pp.convolution`) read and write that type, and so do the ops that move,
    select, scale or add what they write. Everything else computes in f32:
    exponentials, roots, sums, norms, softmax, losses; a result that a product
    reads is rounded where it is made. Parameters, inputs and results of `@main`
    keep their types. Lookups in tables of parameters are rounded.
    `precision.f32` and `precision.low` name ops that differ.

    f16 adds the state `optimizer.loss_scale`: pp-differentiate multiplies the
    loss by it, and pp-add-optimizer divides gradients by it and updates it.

    ```mlir
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
    %e = pp.exp %y : tensor<4x2xf32>
    // becomes
    %0 = pp.convert %x : tensor<4x8xf32> -> tensor<4x8xbf16>
    %1 = pp.convert %w : tensor<8x2xf32> -> tensor<8x2xbf16>
    %y = pp.dot_general %0, %1 batch [] x [] contract [1] x [0] : tensor<4x8xbf16>, tensor<8x2xbf16> -> tensor<4x2xbf16>
    %2 = pp.convert %y : tensor<4x2xbf16> -> tensor<4x2xf32>
    %e = pp.exp %2 : tensor<4x2xf32>
    ```
    Fails if a parameter is f64, none is f32, or a name in the plan is that of
    no op.
  }];
}

def Differentiate : LevelPass<"pp-differentiate", "Graph"> {
  let summary = "appends the gradient of the loss with respect to every parameter";
  let description = [{
    Reverse mode over the whole of `@main`, whose first result is the loss. The
    other results stay; per parameter follows a result of role `gradient` and
    the parameter's name (zeros where the loss does not depend on it). With a
    state `optimizer.loss_scale` they are the gradients of the loss times that.

    Forward ops are numbered by `pp.origin`. A backward op carries the origin of
    the op it is the gradient of, and a kind: `input_gradient` if an
    activation's gradient is computed from it, else `weight_gradient`. The sum
    of several contributions to a value belongs to the op that produced it, that
    of a parameter to its first use. Each use of a broadcast of parameters gets
    its own: its gradient is reduced before it is added to others. Where an
    exponential is divided by its own sum, the gradient is that of a softmax,
    computed from its result alone.

    ```mlir
    func.func @main(%w: tensor<f32> {param "w"}, %x: tensor<f32> {input "x"}) -> tensor<f32> {
      %l = pp.mul %w, %x : tensor<f32>
      return %l : tensor<f32>
    }
    // becomes
      %l = pp.mul %w, %x {pp.origin = 0} : tensor<f32>
      %1 = pp.constant {pp.kind = #pp.kind<weight_gradient>, pp.origin = 0} dense<1.0> : tensor<f32>
      %g = pp.mul %1, %x {pp.kind = #pp.kind<weight_gradient>, pp.origin = 0} : tensor<f32>
      return %l, %g : tensor<f32>, tensor<f32>
    ```
    Fails if the first result is no scalar of a float type, a parameter is of
    integers, the function has gradients already, or an op on the way has no
    gradient.
  }];
}

def AddOptimizer : LevelPass<"pp-add-optimizer", "Graph"> {
  let summary = "turns gradients into updated parameters";
  let description = [{
    Applies the optimizer of `pp.plan`, as `torch.optim` defines it; to a plan
    that names none it adds the one that keys have by default. Its states
    become arguments of role `state` that start at zero: `exp_avg.NAME` and
    `exp_avg_sq.NAME` (Adam, AdamW), `momentum_buffer.NAME`, and `optimizer.step`
    where the number of the step matters. Among the results, new parameters and
    states replace the gradients. Parameters of bf16 are updated in f32, and
    keep their states in it. Each op of the update of one parameter says so
    (`pp.parameter`). With `optimizer.loss_scale` among the states, gradients are
    divided by it; where one is not finite, all arguments keep their values and
    the scale is halved, and after 2,000 other steps it is doubled, as
    `torch.amp.GradScaler` does. `loss_scale` and `skipped_steps` become metrics.

    ```mlir
    return %loss, %dw : tensor<f32>, tensor<8xf32>
    // sgd, lr = 0.1: becomes
    %lr = pp.constant {pp.kind = #pp.kind<update>} dense<1.0e-1> : tensor<f64>
    ...
    return %loss, %new_w : tensor<f32>, tensor<8xf32>
    ```
    Fails if the plan has no optimizer, a parameter has no gradient among the
    results, or a cosine learning rate has no steps after the warm-up.
  }];
  let options = [
    Option<"keepGradients", "keep-gradients", "bool", "false",
           "append the gradients to the results as well">
  ];
}

def PlanTraining : LevelPass<"pp-plan-training", "Graph"> {
  let summary = "chooses what a plan leaves open as the training step does";
  let description = [{
    A program that evaluates has its parameters where training has them. Makes
    the training step of a copy, up to pp-annotate-shardings, and takes the
    seeds and cuts of its plan, and its order if that is searched. A plan that
    has cuts for its stages, seeds and a named order stays as it is.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "the target of kernels, for schedule=auto; empty: the module's">
  ];
}

def Evaluate : LevelPass<"pp-evaluate", "Graph"> {
  let summary = "makes of a model a program that only evaluates it";
  let description = [{
    Stands in place of pp-differentiate and pp-add-optimizer. Replaces each
    `pp.if_training` by its second operand. Loss and metrics stay results; new
    values of states do not, nor states that nobody reads. `predict` names a
    value that becomes a result of role `prediction`.

    Forward ops are numbered (`pp.origin`) as pp-differentiate numbers them in
    the training step, so that the cuts of its plan mean the same. An op that
    training lacks has the number of the one before it.

    ```mlir
    func.func @main(%w: tensor<f32> {param "w"}, %m: tensor<f32> {state "m"}, %x: tensor<f32> {input "x"}) -> (tensor<f32>, tensor<f32> {state "m"}) {
      %s = pp.if_training %x else %m : tensor<f32>
      %l = pp.mul %w, %s : tensor<f32>
      return %l, %x : tensor<f32>, tensor<f32>
    }
    // becomes
    func.func @main(%w: tensor<f32> {param "w"}, %m: tensor<f32> {state "m"}, %x: tensor<f32> {input "x"}) -> tensor<f32> {
      %l = pp.mul %w, %m {pp.origin = 0} : tensor<f32>
      return %l : tensor<f32>
    }
    ```
    Fails if no value has the name to predict.
  }];
  let options = [
    Option<"predict", "predict", "std::string", "",
           "name of a value (pp.name) to return as well">
  ];
}

#endif // PP_TRANSFORMS_TRAINPASSES_TD
