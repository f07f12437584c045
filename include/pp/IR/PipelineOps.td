//===- PipelineOps.td - level 3: fragments and transfers ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// pp-split-stages makes them. A fragment holds ops of levels 1 and 2; it is
// isolated, so its signature lists all values that cross its boundary.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PIPELINEOPS_TD
#define PP_IR_PIPELINEOPS_TD

include "pp/IR/OpBase.td"

def PP_YieldOp : PP_Op<"yield", [Pure, Terminator, HasParent<"FragmentOp">]> {
  let summary = "ends a fragment with its results";
  let description = [{
    ```mlir
    %y = pp.fragment update position 1 (%x) {
    ^bb0(%a: tensor<4x8xf32>):
      pp.yield %a : tensor<4x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<PP_Tensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def PP_FragmentOp : PP_Op<"fragment", [IsolatedFromAbove, SingleBlock]> {
  let summary = "the work of one stage, or of all at one position, in one phase of a step";
  let description = [{
    A position is a place on the mesh's stage axis: the ranks that share it run
    one stage, or several. Forward, backward and weight fragments are of a stage
    and run once per micro-batch; they lie at the position of that number, or at
    the one that is named. Prologue and update fragments are of a position and
    run once per step. Values of other fragments are operands: messages (results
    of a transfer), residuals (results of a fragment at the same position),
    accumulated values and arguments.
    Constraints:
    - (fragment_c1) the region's arguments have the operands' types, its yield the results'.
    - (fragment_c2) prologue and update have a position and no stage, the other phases a stage.

    ```mlir
    %y, %residual = pp.fragment forward stage 0 (%x, %w) {
    ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>):
      %h = pp.dot_general %a, %b batch [] x [] contract [1] x [0]
          : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
      %t = pp.tanh %h : tensor<4x8xf32>
      pp.yield %t, %h : tensor<4x8xf32>, tensor<4x8xf32>
    } : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let arguments = (ins PP_PhaseAttr:$phase, OptionalAttr<I64Attr>:$stage,
                       OptionalAttr<I64Attr>:$position, Variadic<PP_Tensor>:$operands);
  let results = (outs Variadic<PP_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs, "::pp::Phase":$phase, "int64_t":$stageOrPosition,
                                 "int64_t":$holder, "::mlir::ValueRange":$operands)>];
  let extraClassDeclaration = [{
    /// The position whose ranks run it.
    int64_t getHolder() { return getPosition() ? *getPosition() : *getStage(); }
    /// What it is the work of: a stage, or of a prologue or update a position.
    int64_t getStageOrPosition() { return getStage() ? *getStage() : *getPosition(); }
  }];
  let assemblyFormat = [{
    `` $phase (`stage` $stage^)? (`position` $position^)? `(` $operands `)` $body attr-dict
    `:` functional-type($operands, $outputs)
  }];
}

def PP_TransferOp : PP_Op<"transfer", [Pure, SameOperandsAndResultType]> {
  let summary = "carries a value from one position to another, device by device";
  let description = [{
    Between devices that agree on every coordinate but that of the stage axis.

    ```mlir
    %y = pp.transfer %x from 0 to 1 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, I64Attr:$source, I64Attr:$target);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$operand `from` $source `to` $target attr-dict `:` type($result)";
}

def PP_LaunchOp : PP_PureOp<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    The kernel is a private function of level 1 ops (local shapes); level 4
    compiles it or maps it to a library call. A kernel's results listed in its
    `pp.inplace` (pairs of result and operand) overwrite that operand.
    Constraints:
    - (launch_c1) the callee is a function whose type is the launch's.

    ```mlir
    %y = pp.launch @gelu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<PP_Tensor>:$operands);
  let results = (outs Variadic<PP_Tensor>:$outputs);
  let assemblyFormat = [{
    $callee `(` $operands `)` attr-dict `:` functional-type($operands, $outputs)
  }];
}

#endif // PP_IR_PIPELINEOPS_TD
