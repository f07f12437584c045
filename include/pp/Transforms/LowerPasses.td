//===- LowerPasses.td - from level 3 to level 4 ------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The passes for kernels, instruction lists and memory, in the order of
// Pipelines.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_LOWERPASSES_TD
#define PP_TRANSFORMS_LOWERPASSES_TD

include "mlir/Pass/PassBase.td"

def FormKernels : LevelPass<"pp-form-kernels", "Pipeline"> {
  let summary = "groups graph ops into kernels";
  let description = [{
    Turns the graph ops of every function and fragment into launches of
    kernels, which are private functions. A contraction (`@matmul_0`, ...)
    becomes a library call with the views and epilogues that the library can
    include, and with the scratch memory it needs on the plan's threads.
    Everything else is grouped (`@fused_0`, ...) so that tensors that are
    produced and used row by row never reach memory; rows of a kernel
    (`pp.rows`) are independent. The target limits how many buffers a kernel
    has, how many values of a row at once, and how many bytes wait in memory for
    its last operand: sums over all layers or parameters are several kernels.
    If the target asks for it, a convolution becomes a product of copies of its windows
    (`pp.gather`), and few long sums, or a product of such, become sums of
    parts, and rows of values inside a stage are padded in memory (`pp.padded`).
    A kernel that updates a parameter or state works in its place (`pp.inplace`). Equal kernels are one function. Existing
    kernels do not change.

    The target says what a library can compute: `cpu` (this machine's
    processors), a level of the x86-64 psABI, or a GPU. A target in the options
    is written on the module (`pp.target`), since other targets need other
    kernels.

    ```mlir
    %m = pp.reduce max %x dims [1] : tensor<8x16xf32> -> tensor<8xf32>
    %b = pp.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x16xf32>
    %y = pp.sub %x, %b : tensor<8x16xf32>
    // becomes
    %y = pp.launch @fused_0(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
    Errors: an unknown target.
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
    A loops kernel keeps the values of a row on the stack. If they take more
    than 512 KiB, it gets a workspace instead (`pp.workspace`), with a part for
    each thread of the plan; pp-plan-buffers places it. So a kernel never
    allocates. A kernel that has a workspace keeps it.

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
    A collective has a separate queue and runs while kernels compute, from its
    place in the list to the first reader of its results. If it needs only
    arguments of its fragment, as a gather of parameters does, it is issued
    early: with the plan's `ahead` of N, before the first reader of the N-th
    such call before it (calls with the same first reader count as one). So the
    results of N + 1 calls are held at once. Any other collective is issued
    right after its operand is computed.

    ```mlir
    %w0 = pp.all_gather %p0 ...              %w0 = pp.all_gather %p0 ...
    %a = pp.launch @layer(%x, %w0)           %w1 = pp.all_gather %p1 ...
    %w1 = pp.all_gather %p1 ...              %a = pp.launch @layer(%x, %w0)
    %b = pp.launch @layer(%a, %w1)  becomes  %b = pp.launch @layer(%a, %w1)
    ```
    All ranks of a stage have one list, so a group sees one order. Sums over
    stages do not move, so all stages keep one order.
    Errors: a step without fragments, a module without a plan.
  }];
}

def LowerToPrograms : LevelPass<"pp-lower-to-programs", "Pipeline"> {
  let summary = "unrolls the schedule into one instruction list per stage";
  let description = [{
    Takes level 3 with formed kernels to level 4. Every value becomes a slot
    (one per micro-batch where it differs), every launch a run, every transfer a
    send and a recv, every argument that is read a load or a slot that persists.
    Nothing is overwritten before its last reader: a kernel that works in place
    gets a copy of its operand. At the end results go to the host, then new
    parameters and states to their slots, in an order in which each is read
    before it is overwritten (a ring of them takes one more slot).
    pp-share-slots drops unnecessary copies, and pp-plan-buffers places the
    slots.
    A value is sent right after the run that computes it, and received right
    before a run that reads it, or earlier if stages would otherwise wait for
    one another in a circle.
    A sum over micro-batches (pp.accumulate) is added in the order of the
    schedule; types narrower than f32 in f32, rounded once.
    Errors: an op in a fragment that is neither a launch nor a collective, a
    value that is read before the schedule computes it, on its own stage or on
    another one, no mesh or schedule, a step without fragments.
  }];
}

def ShareSlots : LevelPass<"pp-share-slots", "Program"> {
  let summary = "merges slots where a copy between them is not needed";
  let description = [{
    Only this pass decides what may be overwritten. A copy, and an all_reduce,
    reads one slot and writes another. They become one slot unless one of them
    holds a value that is still to be read, by any instruction of the list (for
    slots of arguments also by the next step), while the other holds a different
    value. Copies within the common slot are dropped, so that an update works in
    place unless the old value is read later.

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
    order; slots that do not live at the same time may share memory. Operands of
    a collective live until the plan's `ahead`-th later call of its kind and
    axes, or until its results are touched, because it may still run. Then every
    instruction waits for exactly those instructions of other queues whose bytes
    it reads or overwrites. A receive waits for no send of the run before it, so
    that no reuse can close a cycle through a send; and not for that run either,
    unless that takes 2 % more memory.
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
