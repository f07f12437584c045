//===- ProgramOps.td - level 4: instruction lists ----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The rank program. Ops mirror runtime/schema/ppx.fbs one to one: the level 4
// module is the readable form of the artifact. Instructions name slots by their
// position in the program's slot list and hold no SSA values: order, queues and
// waits determine when they run.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PROGRAMOPS_TD
#define PP_IR_PROGRAMOPS_TD

include "pp/IR/OpBase.td"

def PP_ProgramOp : PP_Op<"program", [Symbol, NoTerminator, NoRegionArguments]> {
  let summary = "the program of all ranks of one stage";
  let description = [{
    Slots and queues are numbered in order of their ops. `setup` runs
    once, `body` once per step and ends with `pp.step`, `teardown` once. What a
    body does for one micro-batch after another is a routine, which it calls: a
    program is as long as its pattern, not as its repetitions. `main` is the
    function whose arguments and results it loads, holds and emits; this use of
    the symbol keeps the function alive.
    Constraints:
    - (program_c1) `slots` holds slots, `queues` queues, `routines` routines of instructions, every section instructions, and `body` calls, too.
    - (program_c2) instructions name slots and queues that exist; waits are pairs of a queue and a count of 32 bits; an instruction of a routine has no micro-batch and waits for others of the routine.
    - (program_c3) send, recv, load and emit name one slot, copy two, step none, flag at least one, collective as many to read as to write.
    - (program_c4) routines have names of their own; a call has that of one, a micro-batch that a schedule may have and no other call of the routine has, and for its waits, instruction by instruction, instructions and queues that exist.
    - (program_c5) there are at most 1024 queues.

    ```mlir
    pp.program @stage0 ranks [0, 1] arena 4096 slots {
      pp.slot "w" parameter at 0 : tensor<4x8xf32>
    } queues {
      pp.queue "compute" compute
    } setup {
    } body {
      pp.step [] on 0 after []
    } teardown {
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$ranks, I64Attr:$arena_bytes,
                       DefaultValuedAttr<FlatSymbolRefAttr, "\"main\"">:$main);
  let regions = (region SizedRegion<1>:$slots, SizedRegion<1>:$queues, SizedRegion<1>:$routines,
                        SizedRegion<1>:$setup, SizedRegion<1>:$body, SizedRegion<1>:$teardown);
  let assemblyFormat = [{
    $sym_name `ranks` $ranks `arena` $arena_bytes attr-dict-with-keyword
    `slots` custom<Section>($slots) `queues` custom<Section>($queues)
    custom<Routines>($routines) `setup` custom<Section>($setup) `body` custom<Section>($body)
    `teardown` custom<Section>($teardown)
  }];
  let hasRegionVerifier = 1;
}

def PP_SlotOp : PP_Op<"slot", [HasParent<"ProgramOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "memory for one tensor, or for one of each of some micro-batches";
  let description = [{
    `offsets`: where its copies lie; none, written -1, until it is placed. An instruction for
    micro-batch i uses copy i modulo their number, one for none the first.
    `argument`: the argument of @main that it holds between steps.
    Constraints:
    - (slot_c1) `type` is a tensor of static shape of elements that the dialect knows.
    - (slot_c2) `argument` is an argument of @main of this type.
    - (slot_c3) there is a copy, at most one for each micro-batch that a schedule may have, and of an argument only one; there is no offset, or one of each copy, from 0 on.

    ```mlir
    pp.slot "fused_2" activation at 4096 : tensor<4x8xf32>
    pp.slot "fused_3" activation at [4224, 4352] : tensor<4x8xf32>
    pp.slot "fused_4" activation at -1 copies 4 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, PP_SlotClassAttr:$slot_class, DenseI64ArrayAttr:$offsets,
                       I64Attr:$copies, TypeAttr:$type, OptionalAttr<I64Attr>:$argument);
  let hasVerifier = 1;
  let assemblyFormat = "$name `` $slot_class `at` custom<Places>($offsets, $copies) (`argument` $argument^)? attr-dict `:` $type";
}

def PP_QueueOp : PP_Op<"queue", [HasParent<"ProgramOp">]> {
  let summary = "instructions that start and complete in order";
  let description = [{
    ```mlir
    pp.queue "send 1" send
    ```
  }];
  let arguments = (ins StrAttr:$name, PP_QueueKindAttr:$kind);
  let assemblyFormat = "$name `` $kind attr-dict";
}

def PP_RoutineOp : PP_Op<"routine", [HasParent<"ProgramOp">, NoTerminator, NoRegionArguments]> {
  let summary = "instructions that a body runs for several micro-batches";
  let description = [{
    Its instructions have no micro-batch of their own, but that of the call. They
    wait for each other: counts begin with the call, which has the other waits.
    A micro-batch runs a routine once: what it adds to a sum is not added twice.

    ```mlir
    pp.routine "1F" {
      pp.run @kernel [0, 1] on 0 after [] as forward 1
      pp.send to 2 [1] on 1 after [0, 1] as forward 1
    }
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name custom<Section>($body) attr-dict";
}

def PP_CallOp : PP_Op<"call", [HasParent<"ProgramOp">]> {
  let summary = "a routine's instructions, for a micro-batch";
  let description = [{
    `waits`: triples of an instruction of the routine, a queue, and the count of
    the queue's completed instructions, from the beginning of the body, that the
    instruction waits for besides.

    ```mlir
    pp.call "1F" for 3 after [0, 1, 7]
    ```
  }];
  let arguments = (ins StrAttr:$routine, I64Attr:$micro_batch, DenseI64ArrayAttr:$waits);
  let assemblyFormat = "$routine `for` $micro_batch `after` $waits attr-dict";
}

class PP_Instruction<string mnemonic, dag extra, string format, list<Trait> traits = []>
    : PP_Op<mnemonic, !listconcat([ParentOneOf<["ProgramOp", "RoutineOp"]>], traits)> {
  // waits: pairs (queue, count of its completed instructions).
  let arguments = !con((ins DenseI64ArrayAttr:$slots), extra,
    (ins I64Attr:$queue, DenseI64ArrayAttr:$waits,
         DefaultValuedAttr<PP_PhaseAttr, "Phase::Prologue">:$phase,
         DefaultValuedAttr<I64Attr, "0">:$stage, DefaultValuedAttr<I64Attr, "-1">:$micro_batch));
  let assemblyFormat = format # [{
    $slots `on` $queue `after` $waits `` custom<Action>($phase, $stage, $micro_batch) attr-dict
  }];
}

def PP_RunOp : PP_Instruction<"run", (ins FlatSymbolRefAttr:$kernel, UnitAttr:$accumulate),
    "$kernel (`accumulate` $accumulate^)?", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel: slots of its operands, results not in place, workspace";
  let description = [{
    `accumulate`: the contraction adds to its result slot.
    Constraints:
    - (run_c1) `kernel` is a kernel, and there is a slot for each of its parameters.

    ```mlir
    pp.run @kernel [0, 1] on 0 after [1, 2] as forward 0 3
    ```
  }];
}
def PP_SendOp : PP_Instruction<"send", (ins I64Attr:$peer), "`to` $peer"> {
  let summary = "sends a slot to the rank of another stage with the same coordinates";
  let description = [{
    ```mlir
    pp.send to 1 [0] on 1 after [0, 4] as forward 0 3
    ```
  }];
}
def PP_RecvOp : PP_Instruction<"recv", (ins I64Attr:$peer), "`from` $peer"> {
  let summary = "receives a slot from the rank of another stage with the same coordinates";
  let description = [{
    ```mlir
    pp.recv from 1 [0] on 1 after [] as backward 0 3
    ```
  }];
}
def PP_CollectiveInstructionOp : PP_Instruction<"collective",
    (ins PP_CollectiveKindAttr:$kind, OptionalAttr<PP_ReductionAttr>:$reduction,
         StrArrayAttr:$axes, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$stages,
         DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dimensions,
         DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$split_dimensions,
         OptionalAttr<StrArrayAttr>:$target),
    "`` $kind `` custom<OptionalReduction>($reduction) `over` $axes (`to` $target^)?"> {
  let summary = "a collective: n slots read, then n slots written";
  let description = [{
    `dimensions`: the dimension of each tensor that is gathered, scattered or
    (all_to_all) concatenated; `split_dimensions`: the one that an all_to_all
    splits; `target`: the order of axes after a permute.

    ```mlir
    pp.collective all_reduce sum over ["dp"] [0, 1] on 1 after [0, 7] as update 0
    ```
  }];
}
def PP_CopyOp : PP_Instruction<"copy", (ins), ""> {
  let summary = "copies the first slot to the second";
  let description = [{
    ```mlir
    pp.copy [0, 1] on 0 after []
    ```
  }];
}
def PP_LoadOp : PP_Instruction<"load", (ins I64Attr:$argument), "`argument` $argument"> {
  let summary = "fills a slot with this rank's part of an input's micro-batch";
  let description = [{
    ```mlir
    pp.load argument 0 [1] on 0 after [] as forward 0 3
    ```
  }];
}
def PP_EmitOp : PP_Instruction<"emit", (ins I64Attr:$output), "`output` $output"> {
  let summary = "passes a slot to the host as a result of the step";
  let description = [{
    ```mlir
    pp.emit output 0 [1] on 0 after []
    ```
  }];
}
def PP_FlagOp : PP_Instruction<"flag", (ins), ""> {
  let summary = "sets the last slot to 1 if any element of the others is not finite, else to 0";
  let description = [{
    ```mlir
    pp.flag [0, 1, 2] on 0 after []
    ```
  }];
}
def PP_GateOp : PP_Instruction<"gate", (ins FlatSymbolRefAttr:$kernel), "$kernel",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "as run, unless the last slot, a flag, is set";
  let description = [{
    Constraints:
    - (gate_c1) `kernel` is a kernel, and there is a slot for each of its parameters and the flag.

    ```mlir
    pp.gate @kernel [0, 1, 2] on 0 after []
    ```
  }];
}
def PP_StepOp : PP_Instruction<"step", (ins), ""> {
  let summary = "ends a body; waits for every queue";
  let description = [{
    ```mlir
    pp.step [] on 0 after [1, 7]
    ```
  }];
}

#endif // PP_IR_PROGRAMOPS_TD
