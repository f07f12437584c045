//===- GeneratorStates.cpp - states and metrics of random programs --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// States are read by the graph as parameters are. What becomes of one is its
// own decay and what the step adds, another state, a parameter, or itself;
// metrics tell values before and after.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

void Generator::addStates(ArrayRef<Sizes> shapes) {
  for (const Sizes &shape : shapes) {
    addArgument(f64(shape), Role::State, "s" + Twine(states.size()));
    states.push_back(main.getArguments().back());
  }
}

/// A sum over the examples of something of the state's type, or what does not
/// depend on them.
Value Generator::addend(Value state) {
  SmallVector<Value> candidates;
  for (Value value : pool) {
    Sizes own = shapeOf(value);
    own.erase(own.begin(), own.begin() + ownDim(value));
    if (own == shapeOf(state) && !isWhole(value))
      candidates.push_back(value);
  }
  Value value = candidates[below(candidates.size())];
  if (!batched.contains(value))
    return value;
  auto sum = ReduceOp::create(builder, loc, typeOf(state), Reduction::Sum,
                              unary<SinOp>(value), ArrayRef<int64_t>{0});
  return sum.getResult();
}

Value Generator::nextValue(Value state) {
  SmallVector<Value> others;
  for (BlockArgument argument : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (argument.getType() == state.getType() &&
        (role == Role::Param || role == Role::State))
      others.push_back(argument);
  }
  if (chance(40))
    return others[below(others.size())];
  Value old = binary<MulOp>(state, fill(typeOf(state), 0.9));
  Value next = binary<AddOp>(addend(state), old);
  // The old value is read once more, behind the new one.
  if (chance(50))
    pool.push_back(unary<SinOp>(old));
  return next;
}

/// Appends the results of states and metrics to `results`, and returns their
/// roles and names in `marks`.
void Generator::returnStates(SmallVectorImpl<Value> &results,
                             SmallVectorImpl<ResultMark> &marks) {
  for (BlockArgument state : states) {
    results.push_back(newValues.lookup(state));
    marks.push_back(
        {Role::State, getArgName(main, state.getArgNumber()).str()});
  }
  if (states.empty())
    return;
  SmallVector<Value> told(states.begin(), states.end());
  for (BlockArgument state : states)
    told.push_back(newValues.lookup(state));
  for (int64_t metric = 0; metric < 2; ++metric) {
    results.push_back(told[below(told.size())]);
    marks.push_back({Role::Metric, "told" + std::to_string(metric)});
  }
}
