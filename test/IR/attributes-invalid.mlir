// What attributes refuse by themselves.
// RUN: pp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects every mesh axis once, got "dp" twice}}
pp.mesh @mesh = <["dp"=2, "dp"=2]>

// -----

// Parts of an axis are written as such; nothing else is called as they are.
// expected-error@+1 {{expects an axis, got "n.0", as parts of an axis are called: write "n"=[2, 2] for the parts, or another name}}
module attributes {pp.plan = #pp.plan<mesh = <["n.0"=2, "n.1"=2]>>} {}

// -----

// expected-error@+1 {{expects at least two parts of the axis "n", got #pp.axis<["n.0"=2]> alone}}
module attributes {pp.plan = #pp.plan<mesh = <["n"=[2]]>>} {}

// -----

// expected-error@+1 {{expects either an axis or its parts side by side, got #pp.axis<["n"=2]> apart from another one of "n"}}
module attributes {pp.plan = #pp.plan<mesh = <["n"=[2, 2], "n"=2]>>} {}

// -----

// expected-error@+1 {{expects a size of at least 1 for mesh axis "dp", got 0}}
pp.mesh @mesh = <["dp"=0]>

// -----

// expected-error@+1 {{expects at most one stage axis and one time axis, got 0 and 2}}
pp.mesh @mesh = <["mb"=2 : time, "nb"=2 : time]>

// -----

// expected-error@+1 {{expects every axis once in a sharding, got "dp" twice}}
func.func @sharding(%x: tensor<4x4xf32> {pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"dp"}]>}) {
  return
}

// -----

// expected-error@+1 {{expects every axis once in a sharding, got "dp" twice}}
func.func @partial(%x: tensor<4x4xf32> {pp.sharding = #pp.sharding<@mesh, [{"dp"}, {}], partial = {"dp"=sum}>}) {
  return
}

// -----

// expected-error@+1 {{expects a mesh of at most 2147483648 positions, got more with axis "tp" of size 2}}
module @huge attributes {pp.plan = #pp.plan<mesh = <["dp"=2147483648, "tp"=2]>, threads = 1>} {}

// -----

// expected-error@+1 {{'threads' expects a number from 1 to 1024, got 0}}
module @threads attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 0>} {}

// -----

// expected-error@+1 {{expects threads once}}
module @twice attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1, threads = 2>} {}

// -----

// expected-error@+1 {{expects mesh once}}
module @first attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, mesh = <["dp"=2]>>} {}

// -----

// expected-error@+1 {{expects finite hyperparameters of at least 0, got -1}}
module @rate attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, optimizer = #pp.optimizer<sgd, lr = -1.0>, threads = 1>} {}

// -----

// expected-error@+1 {{expects betas below 1, got 1}}
module @beta attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, optimizer = #pp.optimizer<adam, beta1 = 1.0>, threads = 1>} {}

// -----

// expected-error@+1 {{expects warmup and steps of at least 0, got -5 and 0}}
module @warmup attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, optimizer = #pp.optimizer<sgd, warmup = -5>, threads = 1>} {}

// -----

// expected-error@+1 {{'zero' expects an axis "dp" or "ep" or "sp" in the mesh for 3, got #pp.mesh<["tp"=2]>}}
module @axis attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, zero = 3>} {}

// -----

// expected-error@+1 {{expects no 'vocab' beside seeds, which it would choose, got false; edit the seeds, or remove them to have them chosen}}
module @chosen attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, vocab = "false", seeds = [#pp.seed<"w", [{"tp"}], 0>]>} {}

// -----

// expected-error@+1 {{expects finite numbers to start from, got}}
func.func @init(%w: tensor<4xf32> {pp.init = #pp.init<normal, 0x7FF8000000000000, 1.0>}) {
  return
}

// -----

// expected-error@+1 {{remat = "auto" expects a memory-limit of a rank beside it, got none}}
module attributes {pp.plan = #pp.plan<mesh = <[]>, remat = "auto">} {}
