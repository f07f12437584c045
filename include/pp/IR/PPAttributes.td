//===- PPAttributes.td - meshes, shardings, roles, plans ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Passes communicate through these attributes, so every pass can run alone.
// Each verifies itself; names in it (of an axis, an argument) are verified
// where they are known.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PPATTRIBUTES_TD
#define PP_IR_PPATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "pp/IR/PPDialect.td"

class PP_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::pp";
  let genSpecializedAttr = 0;
}
class PP_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<PP_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}
class PP_Attr<string name, string attrMnemonic> : AttrDef<PP_Dialect, name> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

def PP_AxisKind : PP_I32Enum<"AxisKind", "the meaning of the coordinates of a mesh axis", [
  I32EnumAttrCase<"Space", 0, "space">,   // devices that share the work
  I32EnumAttrCase<"Stage", 1, "stage">,   // devices that hold parts of the depth
  I32EnumAttrCase<"Time", 2, "time">      // micro-batches, one after another
]>;

def PP_Reduction : PP_I32Enum<"Reduction", "an associative reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Prod", 3, "prod">,
  I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">
]>;
def PP_ReductionAttr : PP_EnumAttr<PP_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}

def PP_LayoutChange : PP_I32Enum<"LayoutChange", "which side of a reshard has the axes", [
  I32EnumAttrCase<"With", 0, "with">, I32EnumAttrCase<"Without", 1, "without">
]>;
def PP_LayoutChangeAttr : PP_EnumAttr<PP_LayoutChange, "layout_change"> {
  let assemblyFormat = "$value";
}

def PP_Checkpoint : PP_I32Enum<"Checkpoint", "whether backward reads or computes a value", [
  I32EnumAttrCase<"Keep", 0, "keep">, I32EnumAttrCase<"Recompute", 1, "recompute">
]>;
def PP_CheckpointAttr : PP_EnumAttr<PP_Checkpoint, "checkpoint">;

def PP_ConstrainedSide : PP_I32Enum<"ConstrainedSide", "which side of a constraint has the sharding", [
  I32EnumAttrCase<"Result", 0, "to">, I32EnumAttrCase<"Operand", 1, "from">
]>;
def PP_ConstrainedSideAttr : PP_EnumAttr<PP_ConstrainedSide, "constrained_side"> {
  let assemblyFormat = "$value";
}

def PP_Direction : PP_I32Enum<"Direction", "a comparison", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
  I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
  I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">
]>;
def PP_DirectionAttr : PP_EnumAttr<PP_Direction, "direction"> {
  let assemblyFormat = "$value";
}

def PP_Role : PP_I32Enum<"Role", "the role of a function argument or result", [
  I32EnumAttrCase<"Param", 0, "param">, I32EnumAttrCase<"State", 1, "state">,
  I32EnumAttrCase<"Input", 2, "input">, I32EnumAttrCase<"Label", 3, "label">,
  I32EnumAttrCase<"Loss", 4, "loss">, I32EnumAttrCase<"Metric", 5, "metric">,
  I32EnumAttrCase<"Gradient", 6, "gradient">, I32EnumAttrCase<"Prediction", 7, "prediction">
]>;
def PP_RoleAttr : PP_EnumAttr<PP_Role, "role">;

def PP_Kind : PP_I32Enum<"Kind", "which part of a training step an op belongs to", [
  I32EnumAttrCase<"Forward", 0, "forward">,
  I32EnumAttrCase<"InputGradient", 1, "input_gradient">,
  I32EnumAttrCase<"WeightGradient", 2, "weight_gradient">,
  I32EnumAttrCase<"Update", 3, "update">,
  I32EnumAttrCase<"Prologue", 4, "prologue">
]>;
def PP_KindAttr : PP_EnumAttr<PP_Kind, "kind">;

def PP_Level : PP_I32Enum<"Level", "the level whose contract a module fulfils", [
  I32EnumAttrCase<"Graph", 1, "graph">, I32EnumAttrCase<"Spmd", 2, "spmd">,
  I32EnumAttrCase<"Pipeline", 3, "pipeline">, I32EnumAttrCase<"Program", 4, "program">
]>;
def PP_LevelAttr : PP_EnumAttr<PP_Level, "level">;

// The rank program's phases; runtime/schema/ppx.fbs spells them alike.
def PP_Phase : PP_I32Enum<"Phase", "the part of a step a fragment is run in", [
  I32EnumAttrCase<"Prologue", 0, "prologue">, I32EnumAttrCase<"Forward", 1, "forward">,
  I32EnumAttrCase<"Backward", 2, "backward">, I32EnumAttrCase<"Weight", 3, "weight">,
  I32EnumAttrCase<"Update", 4, "update">
]>;
def PP_PhaseAttr : PP_EnumAttr<PP_Phase, "phase"> { let assemblyFormat = "$value"; }

def PP_RowsAttr : PP_Attr<"Rows", "rows"> {
  let summary = "how the rows of a loops kernel divide its results";
  let description = [{
    One (divisor, modulus, tile) per dimension of each result: row r computes
    `tile` elements from `tile * ((r / divisor) % modulus)` on. The rows are
    disjoint and may run in parallel.

    ```mlir
    // rows of a 16x128x256 tensor
    #pp.rows<2048, [[128, 16, 1, 1, 128, 1, 1, 1, 256]]>
    ```
  }];
  let parameters = (ins "int64_t":$rows,
                        ArrayRefParameter<"::mlir::DenseI64ArrayAttr">:$layouts);
  let assemblyFormat = "`<` $rows `,` `[` $layouts `]` `>`";
}

def PP_InitKind : PP_I32Enum<"InitKind", "how a parameter starts", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Constant", 1, "constant">,
  I32EnumAttrCase<"Normal", 2, "normal">, I32EnumAttrCase<"Uniform", 3, "uniform">
]>;
def PP_OptimizerKind : PP_I32Enum<"OptimizerKind", "an optimizer, as torch.optim defines it", [
  I32EnumAttrCase<"SGD", 0, "sgd">, I32EnumAttrCase<"Momentum", 1, "momentum">,
  I32EnumAttrCase<"Adam", 2, "adam">, I32EnumAttrCase<"AdamW", 3, "adamw">
]>;
def PP_Decay : PP_I32Enum<"Decay", "how the learning rate falls after warm-up", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Cosine", 1, "cosine">,
  I32EnumAttrCase<"Linear", 2, "linear">
]>;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

def PP_MeshAxisAttr : PP_Attr<"MeshAxis", "axis"> {
  let summary = "one named axis of a mesh";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size, "::pp::AxisKind":$kind);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The axis that `name` is a part of, `tp` of `tp.1`, or `name` itself.
    static ::llvm::StringRef getWhole(::llvm::StringRef name);
  }];
}

def PP_MeshAttr : PP_Attr<"Mesh", "mesh"> {
  let summary = "named axes over which work is divided";
  let description = [{
    Axes in order, major to minor. A `space` axis (the default) divides work
    over devices, a `stage` axis divides depth over devices, a `time` axis
    divides work into micro-batches that one device computes one after another.

    ```mlir
    #pp.mesh<["mb"=8 : time, "pp"=4 : stage, "dp"=2, "tp"=2]>
    ```
    `"tp"=[4, 2]` is an axis `tp` of 8 in two parts, because no dimension takes
    it whole. Their names, `tp.0` and `tp.1`, are reserved. `tp` in a plan means
    both.
    Errors: an axis named twice, a size below 1, more than one stage or time axis.
  }];
  let parameters = (ins ArrayRefParameter<"::pp::MeshAxisAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The axis called `name`, or null.
    MeshAxisAttr lookup(::llvm::StringRef name) const;
    /// The axis called `name`, or its parts, major to minor; empty if unknown.
    ::llvm::SmallVector<::mlir::StringAttr> partsOf(::llvm::StringRef name) const;
    /// Position of the axis called `name` in the mesh, or -1.
    int64_t indexOf(::llvm::StringRef name) const;
    /// Size of the axis called `name`, or of its parts together; 1 when the mesh
    /// has none.
    int64_t sizeOf(::llvm::StringRef name) const;
    /// More than any machine has, time included.
    static constexpr int64_t kMaxPositions = int64_t(1) << 31;
    /// Product of the sizes of `names`.
    int64_t sizeOf(::llvm::ArrayRef<::mlir::StringAttr> names) const;
    /// The stage axis and the time axis, or null.
    MeshAxisAttr getStageAxis() const;
    MeshAxisAttr getTimeAxis() const;
    /// Their sizes; 1 without the axis.
    int64_t getNumStagePositions() const;
    int64_t getNumMicroBatches() const;
    /// Number of devices: the product of all axes except time.
    int64_t getNumDevices() const;
  }];
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

def PP_DimShardingAttr : PP_Attr<"DimSharding", "dim"> {
  let summary = "mesh axes that split one dimension, major to minor";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, "bool":$isOpen);
  let hasCustomAssemblyFormat = 1;
}

def PP_PartialAxisAttr : PP_Attr<"PartialAxis", "partial"> {
  let summary = "a mesh axis over which a value is still to be reduced";
  let parameters = (ins "::mlir::StringAttr":$axis, "::pp::Reduction":$reduction);
  let hasCustomAssemblyFormat = 1;
}

def PP_ShardingAttr : PP_Attr<"Sharding", "sharding"> {
  let summary = "how a tensor is laid out over a mesh";
  let description = [{
    Per dimension the axes that split it, major to minor; `?` marks a dimension
    to which propagation may add axes. `partial` axes hold addends (or maxima,
    ...) that are still to be reduced.

    ```mlir
    #pp.sharding<@mesh, [{"dp"}, {"tp", ?} ], partial={"pp"=sum}>
    ```
    A device's shard of a dimension split by `{"a", "b"}` has index
    `coord(a) * size(b) + coord(b)`. Errors: an axis used twice.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
                        ArrayRefParameter<"::pp::DimShardingAttr">:$dims,
                        OptionalArrayRefParameter<"::pp::PartialAxisAttr">:$partial);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDims().size(); }
    /// Closed and replicated in every dimension.
    static ShardingAttr getReplicated(::mlir::FlatSymbolRefAttr mesh, int64_t rank);
    /// The dimensions' axes, openness dropped.
    ::llvm::SmallVector<::llvm::SmallVector<::mlir::StringAttr>> getAxes() const;
    /// From axes per dimension; all dimensions open or all closed.
    static ShardingAttr fromAxes(::mlir::FlatSymbolRefAttr mesh,
        ::llvm::ArrayRef<::llvm::SmallVector<::mlir::StringAttr>> axes,
        bool open = false);
    /// The shard's type on one device. Every dimension must divide.
    ::mlir::RankedTensorType localType(::mlir::RankedTensorType global, MeshAttr mesh) const;
  }];
}

//===----------------------------------------------------------------------===//
// Model and plan
//===----------------------------------------------------------------------===//

def PP_InitAttr : PP_Attr<"Init", "init"> {
  let summary = "how a parameter or state starts";
  let description = [{
    `zeros`; `constant, a`; `normal, a, b` (mean a, standard deviation b);
    `uniform, a, b`. Random values depend on the seed, the position of the
    argument and the global index alone.

    ```mlir
    #pp.init<normal, 0.0, 0.02>
    ```
    Errors: a number that is not finite.
  }];
  let parameters = (ins "::pp::InitKind":$kind, "::pp::Real":$a, "::pp::Real":$b);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def PP_OptimizerAttr : PP_Attr<"Optimizer", "optimizer"> {
  let summary = "an optimizer and its hyperparameters";
  let description = [{
    Defaults and definitions are those of `torch.optim`; `clip` is the largest
    global gradient norm (0: none); the learning rate rises linearly over
    `warmup` steps, then stays (`constant`) or falls to `min_lr` at step `steps`
    along a line (`linear`) or half a cosine (`cosine`).

    ```mlir
    #pp.optimizer<adamw, lr = 1.0e-3, weight_decay = 1.0e-2, clip = 1.0>
    ```
  }];
  let parameters = (ins "::pp::OptimizerKind":$kind, "::pp::Real":$lr,
    "::pp::Real":$weightDecay, "::pp::Real":$momentum, "::pp::Real":$beta1, "::pp::Real":$beta2,
    "::pp::Real":$eps, "::pp::Real":$clip, "int64_t":$warmup, "::pp::Decay":$decay,
    "int64_t":$steps, "::pp::Real":$minLr);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same for parameters with rates of their own; `min_lr` is as small a
    /// share of the learning rate as here.
    OptimizerAttr withRates(double lr, double weightDecay) const;
    /// `kind` with the defaults of torch.optim.
    static OptimizerAttr getDefault(::mlir::MLIRContext *context, OptimizerKind kind);
    /// The learning rate of a step; the first is step 1.
    double getRate(int64_t step) const;
  }];
}

def PP_SeedAttr : PP_Attr<"Seed", "seed"> {
  let summary = "a sharding for all arguments and values whose name matches a pattern";
  let description = [{
    `pattern` is a dotted name, of an argument or of a `pp.name`, in which `*`
    stands for any run of characters. `priority` orders propagation: 0 (batch)
    before 1 (tensor) before 2. A `barrier` is the sharding that readers of a
    named value see: none of its axes spreads from one side of it to the other.

    ```mlir
    #pp.seed<"h.*.attn.c_attn.weight", [{}, {}, {"tp"}, {} ], 1>
    #pp.seed<"h.*.attn.query", [{?}, {}, {"tp", "sp"}, {?} ], 0, barrier>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$pattern,
                        ArrayRefParameter<"::pp::DimShardingAttr">:$dims, "int64_t":$priority,
                        "bool":$isBarrier);
  let builders = [AttrBuilder<(ins "::mlir::StringAttr":$pattern,
      "::llvm::ArrayRef<::pp::DimShardingAttr>":$dims, "int64_t":$priority), [{
    return $_get($_ctxt, pattern, dims, priority, /*isBarrier=*/false);
  }]>];
  let hasCustomAssemblyFormat = 1;
}

def PP_PlanAttr : PP_Attr<"Plan", "plan"> {
  let summary = "every decision the passes obey";
  let description = [{
    Readable, editable and diffable; a user or a planner writes it. Passes take
    all decisions from here.

    ```mlir
    module attributes {pp.plan = #pp.plan<
        mesh = <["mb"=4 : time, "pp"=2 : stage, "dp"=2, "tp"=2]>, schedule = "1f1b", threads = 2,
        seeds = [#pp.seed<"tokens", [{"mb", "dp"}, {} ], 0>],
        cuts = [42], optimizer = #pp.optimizer<adamw, lr = 1.0e-3>>}
    ```
    `cuts` are the origins (forward op numbers) at which stages 1, 2, ... begin,
    or a text with the names of these ops.
    Absent seeds and cuts are chosen; an absent optimizer is the default in a
    plan from a file, and an error in a module. The other keys are the settings
    of `pp/IR/PlanKeys.def`, which `pp-opt --help` lists; absent ones have their
    defaults. Errors: a setting that chooses seeds (`sequence`, `vocab`) beside
    seeds; a setting for an axis that the mesh lacks.
  }];
  let parameters = (ins "::pp::MeshAttr":$mesh, ArrayRefParameter<"::pp::SeedAttr">:$seeds,
    ArrayRefParameter<"int64_t">:$cuts, "::pp::OptimizerAttr":$optimizer,
    "::mlir::DictionaryAttr":$settings);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "::pp::MeshAttr":$mesh), [{
    return $_get($_ctxt, mesh, ::llvm::ArrayRef<SeedAttr>(), ::llvm::ArrayRef<int64_t>(),
                 OptimizerAttr(), ::mlir::DictionaryAttr::get($_ctxt));
  }]>];
  let extraClassDeclaration = [{
    PlanAttr withMesh(MeshAttr mesh) const;
    /// With these seeds, and without the settings that choose seeds.
    PlanAttr withSeeds(::llvm::ArrayRef<SeedAttr> seeds) const;
    /// With these cuts, and without names of cuts.
    PlanAttr withCuts(::llvm::ArrayRef<int64_t> cuts) const;
    PlanAttr withOptimizer(OptimizerAttr optimizer) const;
    /// Assumes that `value` fits the key.
    PlanAttr withSetting(PlanKey key, ::llvm::StringRef value) const;

    /// The value of a setting, or its default.
    int64_t getInt(PlanKey key) const;
    ::llvm::StringRef getWord(PlanKey key) const;
    /// For a key whose words are "false" and "true".
    bool isOn(PlanKey key) const { return getWord(key) == "true"; }
    int64_t getThreads() const;
    ::llvm::StringRef getSchedule() const;
  }];
}

def PP_ScheduleAttr : PP_Attr<"Schedule", "schedule"> {
  let summary = "per position the order of its fragments";
  let description = [{
    One string of actions per place on the stage axis, in the field's spelling.
    A stage lies where its actions are.
    Errors: text that is no action.

    ```mlir
    #pp.schedule<"1f1b", ["0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"]>
    ```
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The table, with as many stages and micro-batches as it has actions of. It
    /// need not be one that can run.
    schedule::Schedule getTable() const;
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        ArrayRefParameter<"::mlir::StringAttr">:$ranks);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Level 4; runtime/schema/ppx.fbs spells them alike
//===----------------------------------------------------------------------===//

def PP_SlotClass : PP_I32Enum<"SlotClass", "what a slot holds, for memory reports", [
  I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Optimizer", 1, "optimizer">,
  I32EnumAttrCase<"Gradient", 2, "gradient">, I32EnumAttrCase<"Activation", 3, "activation">,
  I32EnumAttrCase<"Input", 4, "input">, I32EnumAttrCase<"Workspace", 5, "workspace">,
  I32EnumAttrCase<"Communication", 6, "communication">, I32EnumAttrCase<"Gathered", 7, "gathered">
]>;
def PP_SlotClassAttr : PP_EnumAttr<PP_SlotClass, "slot_class"> { let assemblyFormat = "$value"; }

def PP_QueueKind : PP_I32Enum<"QueueKind", "what a queue's instructions occupy", [
  I32EnumAttrCase<"Compute", 0, "compute">, I32EnumAttrCase<"Send", 1, "send">,
  I32EnumAttrCase<"Recv", 2, "recv">, I32EnumAttrCase<"Collective", 3, "collective">,
  I32EnumAttrCase<"Copy", 4, "copy">
]>;
def PP_QueueKindAttr : PP_EnumAttr<PP_QueueKind, "queue_kind"> { let assemblyFormat = "$value"; }

def PP_CollectiveKind : PP_I32Enum<"CollectiveKind", "a collective", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">, I32EnumAttrCase<"AllGather", 1, "all_gather">,
  I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">, I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
  I32EnumAttrCase<"Permute", 4, "permute">
]>;
def PP_CollectiveKindAttr : PP_EnumAttr<PP_CollectiveKind, "collective_kind"> { let assemblyFormat = "$value"; }

def PP_KernelKind : PP_I32Enum<"KernelKind", "how a kernel is implemented", [
  I32EnumAttrCase<"Loops", 0, "loops">,            // compiled from its body
  I32EnumAttrCase<"Contraction", 1, "contraction"> // a library's matrix product
]>;
def PP_KernelKindAttr : PP_EnumAttr<PP_KernelKind, "kernel">;

#endif // PP_IR_PPATTRIBUTES_TD
