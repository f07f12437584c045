// What attributes refuse by themselves.
// RUN: pp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects every mesh axis once, got "dp" twice}}
pp.mesh @mesh = <["dp"=2, "dp"=2]>

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
