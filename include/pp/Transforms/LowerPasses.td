//===- LowerPasses.td - from level 3 to level 4 ------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The part of Passes.td that tells of kernels, instruction lists and memory, in
// the order of Pipelines.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_LOWERPASSES_TD
#define PP_TRANSFORMS_LOWERPASSES_TD

include "mlir/Pass/PassBase.td"

def FormKernels : LevelPass<"pp-form-kernels", "Pipeline"> {
  let summary = "groups graph ops into kernels";
  let description = [{
    Turns the graph ops of every function and fragment into launches of
    kernels: private functions that say what they compute. A contraction
    (`@matmul_0`, ...) becomes a library call together with the views and
    epilogues it can carry, with the scratch memory it asks for on the plan's
    threads. Everything else is grouped (`@fused_0`, ...) so that tensors that
    are produced and used row by row never reach memory; rows of a kernel
    (`pp.rows`) are independent. The target limits how many buffers a kernel has,
    how many values of a row at once, and how many bytes wait in memory for its
    last operand: sums over all layers or parameters are several kernels. Where
    it wishes so, a convolution is a product of copies of what its windows meet
    (`pp.gather`), and a sum or a product whose few results are long sums is one
    of parts. A kernel that updates a parameter or state works in its place
    (`pp.inplace`). Rows of what only contractions and kernels
    of a stage know are further apart in memory where the target wishes so
    (`pp.padded`); nobody writes or reads what lies between them. Equal kernels
    are one function. Kernels stay as they are: a module that has nothing else is not changed.

    What a library takes is asked of the target: `cpu`, this machine's
    processors, or a level of the x86-64 psABI. One that is named stands on the
    module (`pp.target`), since programs of other targets have other kernels.

    ```mlir
    %m = pp.reduce max %x dims [1] : tensor<8x16xf32> -> tensor<8xf32>
    %b = pp.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x16xf32>
    %y = pp.sub %x, %b : tensor<8x16xf32>
    // becomes
    %y = pp.launch @fused_0(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
    Errors: a target that nobody knows.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"\"",
           "target of the kernels, such as cpu, x86-64-v3 or sm_90 (default: the "
           "module's target, or cpu)">
  ];
}

def ReserveScratch : LevelPass<"pp-reserve-scratch", "Pipeline"> {
  let summary = "gives kernels with large rows scratch memory";
  let description = [{
    A loops kernel keeps what only one of its rows reads on the stack. Where that
    is more than 512 KiB, it asks for a workspace instead (`pp.workspace`), a
    part for each thread of the plan, whose place pp-plan-buffers finds: so a
    kernel never allocates. A kernel that has a workspace keeps it.

    ```mlir
    func.func private @fused_0(%x: tensor<4x200000xf32>) -> tensor<4xf32>
        attributes {pp.kernel = #pp.kernel<loops>, ...}
    // becomes, with two threads,
        attributes {pp.kernel = #pp.kernel<loops>, pp.workspace = 1600384 : i64, ...}
    ```
    Errors: a kernel that cannot be lowered to loops.
  }];
}

def OverlapCollectives : LevelPass<"pp-overlap-collectives", "Pipeline"> {
  let summary = "issues collectives early, to overlap them with kernels";
  let description = [{
    A collective has a queue of its own and runs while kernels compute, from the
    place in the list where it is issued to the first reader of what it yields.
    One that needs nothing but what its fragment is given, as a gather of
    parameters, moves up from there: with the plan's `ahead` of N, to the first
    reader of the N-th before it (calls that the same instruction is the first
    to read count as one). So the results of N + 1 of them are held, and with
    `ahead=0` those of one. Any other stands where its operand is computed.

    ```mlir
    %w0 = pp.all_gather %p0 ...              %w0 = pp.all_gather %p0 ...
    %a = pp.launch @layer(%x, %w0)           %w1 = pp.all_gather %p1 ...
    %w1 = pp.all_gather %p1 ...              %a = pp.launch @layer(%x, %w0)
    %b = pp.launch @layer(%a, %w1)  becomes  %b = pp.launch @layer(%a, %w1)
    ```
    All ranks of a stage have one list, so a group sees one order. Sums over
    stages stay where they are, in the order that other stages have, too.
    Errors: a step without fragments, a module without a plan.
  }];
}

def LowerToPrograms : LevelPass<"pp-lower-to-programs", "Pipeline"> {
  let summary = "unrolls the schedule into one instruction list per stage";
  let description = [{
    Takes level 3 with formed kernels to level 4. Every value becomes a slot
    (one per micro-batch where it differs), every launch a run, every transfer a
    send and a recv, every argument that is read a load or a slot that persists.
    Nothing is overwritten that anybody reads: a kernel that works in place gets
    a copy of its operand, and at the end results first go to the driver, then
    new parameters and states to their slots at once, as copies in an order in
    which each is read before it is overwritten (a ring of them takes one slot
    more). pp-share-slots drops the copies that need not be, and pp-plan-buffers
    gives slots their places.
    A value is sent right after the run that computes it, and received right
    before a run that reads it; earlier only where stages would else wait for
    one another in a circle.
    A sum over micro-batches (pp.accumulate) is added up in the order of the
    schedule; that of a type below f32 in f32, and rounded once.
    Errors: an op in a fragment that is neither a launch nor a collective, a
    value that is read before the schedule computes it, on its own stage or on
    another one, no mesh or schedule, a step without fragments.
  }];
}

def ShareSlots : LevelPass<"pp-share-slots", "Program"> {
  let summary = "merges slots where a copy between them is not needed";
  let description = [{
    The one place where it is decided what may be overwritten. A copy, and an
    all_reduce, names a slot it reads and one it writes. They become one slot if
    neither holds a value that is still to be read while the other holds another
    one: by any instruction of the list, whatever its fragment and micro-batch,
    and for slots of arguments also by the next step. Copies between slots that
    became one are dropped, so that an update works in place, unless somebody
    reads the old value later.

    ```mlir
    pp.copy [0, 1] on 0 after []            // a parameter
    pp.run @update [1, 2] on 0 after []     // overwrites its first operand
    pp.copy [1, 0] on 0 after []
    // becomes
    pp.run @update [0, 1] on 0 after []
    ```
    Received values keep their slots (see pp-plan-buffers).
    Errors: a module without programs.
  }];
}

def PlanBuffers : LevelPass<"pp-plan-buffers", "Program"> {
  let summary = "places slots in each rank's arena and inserts waits between queues";
  let description = [{
    A slot lives from the first instruction that touches it to the last, in list
    order; slots that do not live together may share memory. What a collective
    reads lives on while it may be under way: until the plan's `ahead`-th of its
    kind and axes behind it, or until its results are touched. Then every
    instruction waits for the instructions of other queues whose bytes it reads
    or overwrites, and for no others. Received values have a region of their own
    that only compute releases, so that no reuse can close a cycle through a
    send.
    Errors: a module without programs.
  }];
}

def VerifyPrograms : LevelPass<"pp-verify-programs", "Program"> {
  let summary = "proves the programs: structure, races, matching, deadlock, memory";
  let description = [{
    The checks of `pprt/Checks.h`, which the runtime repeats when it loads the
    artifact.
  }];
  let options = [
    Option<"memoryLimit", "memory-limit", "std::string", /*default=*/"\"0\"",
           "bytes per rank, such as 512M or 1.5GiB; 0: no limit">
  ];
}

#endif // PP_TRANSFORMS_LOWERPASSES_TD
