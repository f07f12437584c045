//===- KernelCasesOfTypes.cpp - kernels of every element type -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What ops do with integers, with truth values and between types; and ops that
// stand in kernels without computing anything.
//
//===----------------------------------------------------------------------===//
#include "KernelCases.h"

using namespace pp::testing;

namespace {

/// Puts @main together: each op has a result that is returned.
class Program {
public:
  void argument(const std::string &name, const std::string &type) {
    arguments += (arguments.empty() ? "" : ", ") + name + ": " + type;
  }
  /// Adds `name = op`.
  void let(const std::string &name, const std::string &op) {
    ops += "  " + name + " = " + op + "\n";
  }
  /// Adds an op of type `type` and returns it.
  void result(const std::string &op, const std::string &type) {
    const std::string name = "%r" + std::to_string(count++);
    let(name, op);
    values += (values.empty() ? "" : ", ") + name;
    types += (types.empty() ? "" : ", ") + type;
  }
  std::string text() const { return mainOf(arguments, ops, values, types); }

private:
  std::string arguments, ops, values, types;
  int count = 0;
};

std::string tensor(const std::string &shape, const std::string &element) {
  return "tensor<" + shape + "x" + element + ">";
}

KernelCase compareCase(const std::string &direction) {
  Program program;
  const std::string bits = tensor("6x40", "i1");
  for (std::string element : {"%f", "i1", "i8", "i32", "i64"}) {
    const std::string type = tensor("6x40", element),
                      name = element == "%f" ? "f" : element;
    program.argument("%x" + name, type);
    program.argument("%y" + name, type);
    program.result("pp.compare " + direction + " %x" + name + ", %y" + name +
                       " : " + type + " -> " + bits,
                   bits);
  }
  // Most of these are equal.
  const std::string type = tensor("6x40", "%f");
  program.let("%sx", "pp.sign %xf : " + type);
  program.let("%sy", "pp.sign %yf : " + type);
  program.result(
      "pp.compare " + direction + " %sx, %sy : " + type + " -> " + bits, bits);
  return {"compare_" + direction, program.text()};
}

/// To all types.
KernelCase convertCase(const std::string &from, const std::string &name) {
  Program program;
  const std::string type = tensor("6x40", from);
  program.argument("%x", type);
  for (std::string to : {"f64", "f32", "bf16", "f16", "i64", "i32", "i8", "i1"})
    if (to != from)
      program.result("pp.convert %x : " + type + " -> " + tensor("6x40", to),
                     tensor("6x40", to));
  return {"convert_" + name, program.text(), -300, 300};
}

/// Integers that 32 bits, and floats, cannot hold.
KernelCase convertLargeCase() {
  Program program;
  const std::string type = tensor("6x40", "i64");
  program.argument("%x", type);
  program.let("%c", "pp.constant dense<86433640531> : " + type);
  program.let("%large", "pp.mul %x, %c : " + type);
  for (std::string to : {"f64", "f32", "bf16", "f16", "i32", "i8", "i1"})
    program.result("pp.convert %large : " + type + " -> " + tensor("6x40", to),
                   tensor("6x40", to));
  return {"convertLarge", program.text()};
}

KernelCase arithmeticCase(const std::string &element) {
  Program program;
  const std::string type = tensor("6x40", element);
  program.argument("%x", type);
  program.argument("%y", type);
  for (std::string op : {"neg", "abs", "sign"})
    program.result("pp." + op + " %x : " + type, type);
  for (std::string op : {"add", "sub", "mul", "div", "max", "min"})
    program.result("pp." + op + " %x, %y : " + type, type);
  return {"arithmetic_" + element, program.text()};
}

KernelCase logicCase(const std::string &element) {
  Program program;
  const std::string type = tensor("6x40", element);
  program.argument("%x", type);
  program.argument("%y", type);
  program.result("pp.not %x : " + type, type);
  for (std::string op : {"and", "or"})
    program.result("pp." + op + " %x, %y : " + type, type);
  return {"logic_" + element, program.text()};
}

/// Elements are what they were, in other places.
KernelCase movesCase(const std::string &element) {
  Program program;
  auto of = [&](const std::string &shape) { return tensor(shape, element); };
  program.argument("%x", of("4x6"));
  program.argument("%y", of("4x3"));
  program.argument("%v", "tensor<" + element + ">");
  program.argument("%p", tensor("4x6", "i1"));
  program.argument("%i", "tensor<i32>");
  program.argument("%j", "tensor<i64>");
  program.argument("%places", tensor("5", "i64"));
  auto add = [&](const std::string &op, const std::string &shape,
                 const std::string &operands = "") {
    program.result(op + " : " + operands + (operands.empty() ? "" : " -> ") +
                       of(shape),
                   of(shape));
  };
  add("pp.broadcast %x dims [0, 2]", "4x3x6", of("4x6"));
  add("pp.reshape %x", "3x8", of("4x6"));
  add("pp.transpose %x perm [1, 0]", "6x4", of("4x6"));
  add("pp.slice %x [1, 0], [4, 6], [2, 3]", "2x2", of("4x6"));
  add("pp.pad %x, %v low [1, 0] high [0, 2] interior [1, 0]", "8x8",
      of("4x6") + ", tensor<" + element + ">");
  add("pp.concatenate %x, %y dim 1", "4x9", of("4x6") + ", " + of("4x3"));
  add("pp.dynamic_slice %x[%i, %i]", "2x3",
      of("4x6") + ", tensor<i32>, tensor<i32>");
  program.result("pp.dynamic_update_slice %x, %y[%j, %j] : " + of("4x6") +
                     ", " + of("4x3") + ", tensor<i64>, tensor<i64>",
                 of("4x6"));
  add("pp.gather %x[%places] batch 0", "5x6",
      of("4x6") + ", " + tensor("5", "i64"));
  program.let("%s", "pp.stop_gradient %x : " + of("4x6"));
  program.result("pp.select %p, %x, %s : " + tensor("4x6", "i1") + ", " +
                     of("4x6"),
                 of("4x6"));
  return {"moves_" + element, program.text()};
}

KernelCase sumsCase(const std::string &element) {
  Program program;
  const std::string type = tensor("6x40", element), row = tensor("6", element),
                    column = tensor("40", element);
  program.argument("%x", type);
  program.argument("%u", tensor("20x40", element));
  program.argument("%places", tensor("20", "i32"));
  for (std::string reduction : {"sum", "prod", "max", "min", "and", "or"}) {
    program.result("pp.reduce " + reduction + " %x dims [1] : " + type +
                       " -> " + row,
                   row);
    program.result("pp.reduce " + reduction + " %x dims [0] : " + type +
                       " -> " + column,
                   column);
  }
  for (std::string reduction : {"sum", "max", "min"})
    program.result("pp.reduce_window " + reduction +
                       " %x dims [1] sizes [3] strides [1] dilation [1] low "
                       "[1] high [1] : " +
                       type + " -> " + type,
                   type);
  program.result("pp.cumsum %x dim 1 : " + type, type);
  program.result("pp.scatter_add %x[%places], %u batch 0 : " + type + ", " +
                     tensor("20", "i32") + ", " + tensor("20x40", element),
                 type);
  program.result("pp.argmax %x dim 1 : " + type + " -> " + tensor("6", "i32"),
                 tensor("6", "i32"));
  program.result("pp.top_k %x dim 1 : " + type + " -> " + tensor("6x7", "i32"),
                 tensor("6x7", "i32"));
  return {"sums_" + element, program.text()};
}

KernelCase truthsCase() {
  Program program;
  const std::string type = tensor("6x40", "i1");
  program.argument("%x", type);
  for (std::string reduction : {"and", "or"}) {
    program.result("pp.reduce " + reduction + " %x dims [1] : " + type +
                       " -> " + tensor("6", "i1"),
                   tensor("6", "i1"));
    program.result("pp.reduce " + reduction + " %x dims [0] : " + type +
                       " -> " + tensor("40", "i1"),
                   tensor("40", "i1"));
  }
  return {"truths", program.text()};
}

KernelCase literalsCase() {
  Program program;
  for (std::string element : {"%f", "i64", "i32", "i8"}) {
    const std::string type = tensor("3x2", element);
    const std::string point = element == "%f" ? ".0" : "";
    program.result("pp.constant dense<[[1" + point + ", -2" + point + "], [3" +
                       point + ", 4" + point + "], [-5" + point + ", 6" +
                       point + "]]> : " + type,
                   type);
    program.result("pp.iota dim 0 : " + type, type);
    program.result("pp.iota dim 1 : " + type, type);
  }
  const std::string bits = tensor("3x2", "i1");
  program.result("pp.constant dense<[[true, false], [false, false], [true, "
                 "true]]> : " +
                     bits,
                 bits);
  return {"literals", program.text()};
}

/// What a device has of a tensor that lies on several.
KernelCase randomBitsOfAPartCase() {
  Program program;
  program.argument("%s", "tensor<i32>");
  program.argument("%t", "tensor<i64>");
  program.argument("%i", "tensor<i32>");
  program.argument("%j", "tensor<i64>");
  program.let("%large", "pp.constant dense<8742958461247> : tensor<i64>");
  program.let("%step", "pp.add %t, %large : tensor<i64>");
  program.let("%a", "pp.abs %i : tensor<i32>");
  program.let("%b", "pp.abs %j : tensor<i64>");
  program.result("pp.random_bits %s, %step offsets(%a, %b : tensor<i32>, "
                 "tensor<i64>) of [70000, 80000] stream 3 : tensor<i32>, "
                 "tensor<i64> -> " +
                     tensor("6x40", "i32"),
                 tensor("6x40", "i32"));
  program.result("pp.random_bits %large, %t stream 4 : tensor<i64>, "
                 "tensor<i64> -> " +
                     tensor("6x40", "i32"),
                 tensor("6x40", "i32"));
  return {"randomBitsOfAPart", program.text()};
}

/// Where a device is.
KernelCase axisIndexCase() {
  Program program;
  const std::string type = tensor("4x6", "%f");
  program.argument("%x", type);
  int count = 0;
  auto add = [&](const std::string &axes, const std::string &element) {
    const std::string name = std::to_string(count++);
    program.let("%i" + name,
                "pp.axis_index @mesh " + axes + " : tensor<" + element + ">");
    program.let("%c" + name, "pp.convert %i" + name + " : tensor<" + element +
                                 "> -> tensor<%f>");
    program.let("%b" + name,
                "pp.broadcast %c" + name + " dims [] : tensor<%f> -> " + type);
    program.result("pp.add %x, %b" + name + " : " + type, type);
  };
  add("[\"dp\", \"tp\"]", "i32");
  add("[\"tp\", \"dp\"]", "i64");
  add("[\"tp\"]", "i64");
  add("[\"micro\"]", "i32");
  program.result("pp.axis_index @mesh [\"micro\", \"dp\"] : tensor<i64>",
                 "tensor<i64>");
  return {"axisIndex", std::string("pp.mesh @mesh = <[\"dp\"=2, \"tp\"=3, "
                                   "\"micro\"=4 : time]>\n") +
                           program.text()};
}

/// Ops that say where tensors lie, or what they are called.
KernelCase layoutsCase() {
  Program program;
  const std::string type = tensor("4x6", "%f");
  program.argument("%x", type);
  program.let("%a", "pp.sin %x : " + type);
  program.let("%n", "pp.name %a \"sines\" : " + type);
  program.let("%c", "pp.sharding_constraint %n to <@mesh, [{\"dp\"}, {?}]> : " +
                        type);
  program.let("%r", "pp.reshard %c with [\"dp\"] each : " + type);
  program.result("pp.add %r, %x : " + type, type);
  return {"layouts", "pp.mesh @mesh = <[\"dp\"=2]>\n" + program.text()};
}

} // namespace

std::vector<KernelCase> pp::testing::typeCases() {
  std::vector<KernelCase> cases;
  for (std::string direction : {"eq", "ne", "lt", "le", "gt", "ge"})
    cases.push_back(compareCase(direction));
  cases.push_back(convertCase("%f", "float"));
  for (std::string element : {"i64", "i32", "i8", "i1"})
    cases.push_back(convertCase(element, element));
  cases.push_back(convertLargeCase());
  for (std::string element : {"i8", "i32", "i64"}) {
    cases.push_back(arithmeticCase(element));
    cases.push_back(sumsCase(element));
  }
  for (std::string element : {"i1", "i8", "i32", "i64"}) {
    cases.push_back(logicCase(element));
    cases.push_back(movesCase(element));
  }
  cases.push_back(truthsCase());
  cases.push_back(literalsCase());
  cases.push_back(randomBitsOfAPartCase());
  cases.push_back(axisIndexCase());
  cases.push_back(layoutsCase());
  return cases;
}

std::vector<KernelCase> pp::testing::allCases() {
  std::vector<KernelCase> all = elementwiseCases();
  for (const auto &cases : {shapeCases(), reductionCases(), typeCases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}
