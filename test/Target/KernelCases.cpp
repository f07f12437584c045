//===- KernelCases.cpp - a kernel for every op, and then some -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "KernelCases.h"

using namespace pp::testing;

double KernelCase::boundOfNarrow() const {
  static const std::string product = "pp.dot_general";
  const size_t first = text.find(product);
  const bool isChain = first != std::string::npos &&
                       text.find(product, first + 1) != std::string::npos;
  return isChain ? 2 : 1;
}

std::vector<KernelCase::Typed> KernelCase::inEveryType() const {
  if (text.find("%f") == std::string::npos)
    return {{text, 1e-13}};
  return {{replaceAll(text, "%f", "f32"), 3e-6},
          {replaceAll(text, "%f", "f64"), 1e-13},
          {replaceAll(text, "%f", "bf16"), 0x1p-8 * boundOfNarrow()},
          {replaceAll(text, "%f", "f16"), 0x1p-11 * boundOfNarrow()}};
}

std::string pp::testing::replaceAll(std::string text, const std::string &from,
                                    const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string pp::testing::mainOf(const std::string &arguments,
                                const std::string &ops,
                                const std::string &value,
                                const std::string &type) {
  return "func.func @main(" + arguments + ") -> (" + type + ") {\n" + ops +
         "\n  return " + value + " : " + type + "\n}";
}

static std::string unary(const std::string &op) {
  return "func.func @main(%x: tensor<6x40x%f>) -> tensor<6x40x%f> {\n"
         "  %y = pp." +
         op + " %x : tensor<6x40x%f>\n  return %y : tensor<6x40x%f>\n}";
}
static std::string binary(const std::string &op,
                          const std::string &element = "%f") {
  std::string type = "tensor<6x40x" + element + ">";
  return "func.func @main(%x: " + type + ", %y: " + type + ") -> " + type +
         " {\n  %z = pp." + op + " %x, %y : " + type +
         "\n  return %z : " + type + "\n}";
}
std::vector<KernelCase> pp::testing::elementwiseCases() {
  return {KernelCase{"neg", unary("neg")}, KernelCase{"abs", unary("abs")},
          KernelCase{"exp", unary("exp")},
          KernelCase{"log", unary("log"), 0.1, 5},
          KernelCase{"log1p", unary("log1p"), -0.9, 5},
          // Of such numbers 1 + x has few digits left.
          KernelCase{"log1pSmall", unary("log1p"), -1e-6, 1e-6},
          KernelCase{"sqrt", unary("sqrt"), 0.1, 5},
          KernelCase{"rsqrt", unary("rsqrt"), 0.1, 5},
          KernelCase{"tanh", unary("tanh")}, KernelCase{"erf", unary("erf")},
          KernelCase{"logistic", unary("logistic")},
          KernelCase{"sin", unary("sin")}, KernelCase{"cos", unary("cos")},
          KernelCase{"sign", unary("sign")}, KernelCase{"add", binary("add")},
          KernelCase{"sub", binary("sub")}, KernelCase{"mul", binary("mul")},
          KernelCase{"div", binary("div"), 0.5, 2},
          KernelCase{"max", binary("max")}, KernelCase{"min", binary("min")},
          KernelCase{"pow", binary("pow"), 0.5, 2},
          KernelCase{"divInts", binary("div", "i32")},
          KernelCase{"andInts", binary("and", "i64")},
          KernelCase{"orBools", binary("or", "i1")}};
}

std::vector<KernelCase> pp::testing::shapeCases() {
  return {
      KernelCase{"broadcast",
                 mainOf("%x: tensor<6x%f>",
                        "  %y = pp.broadcast %x dims [1] : tensor<6x%f> "
                        "-> tensor<4x6x8x%f>",
                        "%y", "tensor<4x6x8x%f>")},
      KernelCase{
          "reshape",
          mainOf("%x: tensor<6x40x%f>",
                 "  %y = pp.reshape %x : tensor<6x40x%f> -> tensor<2x3x5x8x%f>",
                 "%y", "tensor<2x3x5x8x%f>")},
      KernelCase{
          "reshapeOdd",
          mainOf("%x: tensor<6x10x%f>",
                 "  %y = pp.reshape %x : tensor<6x10x%f> -> tensor<4x15x%f>",
                 "%y", "tensor<4x15x%f>")},
      KernelCase{"transpose", mainOf("%x: tensor<4x6x8x%f>",
                                     "  %y = pp.transpose %x perm [2, 0, 1] : "
                                     "tensor<4x6x8x%f> -> tensor<8x4x6x%f>",
                                     "%y", "tensor<8x4x6x%f>")},
      KernelCase{"reverse",
                 mainOf("%x: tensor<4x6x8x%f>",
                        "  %y = pp.reverse %x dims [0, 2] : tensor<4x6x8x%f>",
                        "%y", "tensor<4x6x8x%f>")},
      KernelCase{"slice",
                 mainOf("%x: tensor<4x6x8x%f>",
                        "  %y = pp.slice %x [0, 1, 2], [4, 6, 8], [1, 2, 3] "
                        ": tensor<4x6x8x%f> -> tensor<4x3x2x%f>",
                        "%y", "tensor<4x3x2x%f>")},
      KernelCase{
          "pad",
          mainOf("%x: tensor<4x6x%f>, %v: tensor<%f>",
                 "  %y = pp.pad %x, %v low [1, 0] high [0, 2] interior [0, 1] "
                 ": tensor<4x6x%f>, tensor<%f> -> tensor<5x13x%f>",
                 "%y", "tensor<5x13x%f>")},
      KernelCase{"concatenate",
                 mainOf("%x: tensor<4x6x%f>, %z: tensor<4x3x%f>",
                        "  %y = pp.concatenate %x, %z dim 1 : tensor<4x6x%f>, "
                        "tensor<4x3x%f> -> tensor<4x9x%f>",
                        "%y", "tensor<4x9x%f>")},
      KernelCase{"dynamicSlice",
                 mainOf("%x: tensor<4x9x%f>, %i: tensor<i32>, %j: tensor<i32>",
                        "  %y = pp.dynamic_slice %x[%i, %j] : tensor<4x9x%f>, "
                        "tensor<i32>, tensor<i32> -> tensor<4x3x%f>",
                        "%y", "tensor<4x3x%f>")},
      KernelCase{
          "dynamicUpdateSlice",
          mainOf("%x: tensor<4x9x%f>, %u: tensor<4x3x%f>, %i: tensor<i32>, "
                 "%j: tensor<i32>",
                 "  %y = pp.dynamic_update_slice %x, %u[%i, %j] : "
                 "tensor<4x9x%f>, tensor<4x3x%f>, tensor<i32>, tensor<i32>",
                 "%y", "tensor<4x9x%f>")},
      // Both insertions and their sum are results: one base, three
      // destinations.
      KernelCase{
          "insertionsAdded",
          mainOf("%u: tensor<4x3x%f>, %v: tensor<4x5x%f>, %i: tensor<i32>, "
                 "%j: tensor<i32>",
                 "  %z = pp.constant dense<0.0> : tensor<%f>\n"
                 "  %c = pp.broadcast %z dims [] : tensor<%f> -> "
                 "tensor<4x9x%f>\n"
                 "  %a = pp.dynamic_update_slice %c, %u[%i, %j] : "
                 "tensor<4x9x%f>, tensor<4x3x%f>, tensor<i32>, tensor<i32>\n"
                 "  %b = pp.dynamic_update_slice %c, %v[%j, %i] : "
                 "tensor<4x9x%f>, tensor<4x5x%f>, tensor<i32>, tensor<i32>\n"
                 "  %y = pp.add %a, %b : tensor<4x9x%f>",
                 "%a, %b, %y",
                 "tensor<4x9x%f>, tensor<4x9x%f>, tensor<4x9x%f>")},
      // The base of the insertion lies in the parameter it replaces, but not
      // before that has been read.
      KernelCase{
          "insertionReplacesParameter",
          "func.func @main(%p: tensor<4x9x%f> {pp.role = #pp.role<param>, "
          "pp.name = \"p\"}, %x: tensor<4x9x%f>, %i: tensor<i32>, %j: "
          "tensor<i32>) -> (tensor<4x9x%f> {pp.role = #pp.role<param>, "
          "pp.name = \"p\"}) {\n"
          "  %base = pp.exp %x : tensor<4x9x%f>\n"
          "  %e = pp.exp %p : tensor<4x9x%f>\n"
          "  %s = pp.slice %e [0, 0], [4, 3], [1, 1] : tensor<4x9x%f> -> "
          "tensor<4x3x%f>\n"
          "  %y = pp.dynamic_update_slice %base, %s[%i, %j] : "
          "tensor<4x9x%f>, tensor<4x3x%f>, tensor<i32>, tensor<i32>\n"
          "  return %y : tensor<4x9x%f>\n}"},
      // A counter is replaced, and read for one element of another shape.
      KernelCase{
          "countedUpdate",
          "func.func @main(%t: tensor<%f> {pp.role = #pp.role<state>, "
          "pp.name = \"t\"}, %p: tensor<1x%f> {pp.role = #pp.role<param>, "
          "pp.name = \"p\"}) -> (tensor<%f> {pp.role = #pp.role<state>, "
          "pp.name = \"t\"}, tensor<1x%f> {pp.role = #pp.role<param>, "
          "pp.name = \"p\"}) {\n"
          "  %one = pp.constant dense<1.0> : tensor<%f>\n"
          "  %n = pp.add %t, %one : tensor<%f>\n"
          "  %b = pp.broadcast %n dims [] : tensor<%f> -> tensor<1x%f>\n"
          "  %y = pp.sub %p, %b : tensor<1x%f>\n"
          "  return %n, %y : tensor<%f>, tensor<1x%f>\n}"},
      // One element is replaced, and read with what has more.
      KernelCase{
          "updateOfAShare",
          "func.func @main(%m: tensor<1x%f> {pp.role = #pp.role<state>, "
          "pp.name = \"m\"}, %p: tensor<4x%f>, %i: tensor<i32>) -> "
          "(tensor<1x%f> {pp.role = #pp.role<state>, pp.name = \"m\"}, "
          "tensor<1x%f>) {\n"
          "  %n = pp.add %m, %m : tensor<1x%f>\n"
          "  %s = pp.dynamic_slice %p[%i] : tensor<4x%f>, tensor<i32> -> "
          "tensor<1x%f>\n"
          "  %y = pp.sub %s, %n : tensor<1x%f>\n"
          "  return %n, %y : tensor<1x%f>, tensor<1x%f>\n}"},
      KernelCase{"iota", mainOf("%x: tensor<4x6x%f>",
                                "  %i = pp.iota dim 0 : tensor<4x6x%f>\n  %y = "
                                "pp.add %x, %i : tensor<4x6x%f>",
                                "%y", "tensor<4x6x%f>")},
      KernelCase{"constant",
                 mainOf("",
                        "  %y = pp.constant dense<[[1.0, 2.0], [3.0, "
                        "4.0]]> : tensor<2x2x%f>",
                        "%y", "tensor<2x2x%f>")},
      KernelCase{
          "convert",
          mainOf("%x: tensor<4x6xi32>",
                 "  %y = pp.convert %x : tensor<4x6xi32> -> tensor<4x6x%f>",
                 "%y", "tensor<4x6x%f>")},
      KernelCase{"ifTraining",
                 mainOf("%x: tensor<4x6x%f>, %y: tensor<4x6x%f>",
                        "  %z = pp.if_training %x else %y : tensor<4x6x%f>",
                        "%z", "tensor<4x6x%f>")},
      KernelCase{
          "select",
          mainOf("%p: tensor<4x6xi1>, %x: tensor<4x6x%f>, %y: tensor<4x6x%f>",
                 "  %c = pp.compare lt %x, %y : tensor<4x6x%f> -> "
                 "tensor<4x6xi1>\n  %d = pp.and %c, %p : tensor<4x6xi1>\n  %z "
                 "= pp.select %d, %x, %y : tensor<4x6xi1>, tensor<4x6x%f>",
                 "%z", "tensor<4x6x%f>")}};
}

std::vector<KernelCase> pp::testing::reductionCases() {
  return {
      KernelCase{"sumRows", mainOf("%x: tensor<6x40x%f>",
                                   "  %y = pp.reduce sum %x dims [1] : "
                                   "tensor<6x40x%f> -> tensor<6x%f>",
                                   "%y", "tensor<6x%f>")},
      // Of two tensors that share one, of which lanes take columns together.
      KernelCase{
          "sumColumnsTwice",
          "func.func @main(%x: tensor<300x72x%f>, %y: tensor<300x72x%f>) "
          "-> (tensor<72x%f>, tensor<72x%f>, tensor<72xi32>) {\n"
          "  %p = pp.mul %x, %y : tensor<300x72x%f>\n"
          "  %s = pp.reduce sum %p dims [0] : tensor<300x72x%f> -> "
          "tensor<72x%f>\n"
          "  %t = pp.reduce sum %y dims [0] : tensor<300x72x%f> -> "
          "tensor<72x%f>\n"
          "  %i = pp.argmax %x dim 0 : tensor<300x72x%f> -> "
          "tensor<72xi32>\n"
          "  return %s, %t, %i : tensor<72x%f>, tensor<72x%f>, "
          "tensor<72xi32>\n}"},
      // Of tensors that share none: on GPUs each has blocks of its own, in
      // which there are several rows.
      KernelCase{
          "sumRowsApart",
          "func.func @main(%x: tensor<70x40x%f>, %y: tensor<70x24x%f>, "
          "%c: tensor<%f>) -> (tensor<70x%f>, tensor<70x24x%f>) {\n"
          "  %s = pp.reduce sum %x dims [1] : tensor<70x40x%f> -> "
          "tensor<70x%f>\n"
          "  %cs = pp.broadcast %c dims [] : tensor<%f> -> tensor<70x%f>\n"
          "  %sc = pp.mul %s, %cs : tensor<70x%f>\n"
          "  %m = pp.reduce max %y dims [1] : tensor<70x24x%f> -> "
          "tensor<70x%f>\n"
          "  %mc = pp.mul %m, %cs : tensor<70x%f>\n"
          "  %b = pp.broadcast %mc dims [0] : tensor<70x%f> -> "
          "tensor<70x24x%f>\n"
          "  %d = pp.sub %y, %b : tensor<70x24x%f>\n"
          "  return %sc, %d : tensor<70x%f>, tensor<70x24x%f>\n}"},
      // Numbers of an update, each of a block of its own.
      KernelCase{
          "totals",
          "func.func @main(%x: tensor<900x%f>, %y: tensor<77x%f>) -> "
          "(tensor<%f>, tensor<%f>, tensor<%f>) {\n"
          "  %s = pp.reduce sum %x dims [0] {pp.kind = #pp.kind<update>} : "
          "tensor<900x%f> -> tensor<%f>\n"
          "  %t = pp.reduce sum %y dims [0] {pp.kind = #pp.kind<update>} : "
          "tensor<77x%f> -> tensor<%f>\n"
          "  %m = pp.reduce max %y dims [0] {pp.kind = #pp.kind<update>} : "
          "tensor<77x%f> -> tensor<%f>\n"
          "  return %s, %t, %m : tensor<%f>, tensor<%f>, tensor<%f>\n}",
          0, 1},
      // A step of Adam.
      KernelCase{"rootDivisor",
                 mainOf("%m: tensor<6x40x%f>, %v: tensor<6x40x%f>, "
                        "%c: tensor<%f>",
                        "  %a = pp.abs %v : tensor<6x40x%f>\n"
                        "  %cs = pp.broadcast %c dims [] : tensor<%f> -> "
                        "tensor<6x40x%f>\n"
                        "  %s = pp.mul %a, %cs : tensor<6x40x%f>\n"
                        "  %r = pp.sqrt %s : tensor<6x40x%f>\n"
                        "  %e = pp.constant dense<1.0e-2> : tensor<6x40x%f>\n"
                        "  %d = pp.add %r, %e : tensor<6x40x%f>\n"
                        "  %y = pp.div %m, %d : tensor<6x40x%f>\n",
                        "%y", "tensor<6x40x%f>"),
                 0.01, 2},
      KernelCase{"sumColumns", mainOf("%x: tensor<600x128x%f>",
                                      "  %y = pp.reduce sum %x dims [0] : "
                                      "tensor<600x128x%f> -> tensor<128x%f>",
                                      "%y", "tensor<128x%f>")},
      // What is read twice inside of a row is too large for the stack.
      KernelCase{
          "wideRows",
          mainOf("%x: tensor<4x140000x%f>",
                 "  %m = pp.reduce max %x dims [1] : tensor<4x140000x%f> -> "
                 "tensor<4x%f>\n"
                 "  %b = pp.broadcast %m dims [0] : tensor<4x%f> -> "
                 "tensor<4x140000x%f>\n"
                 "  %s = pp.sub %x, %b : tensor<4x140000x%f>\n"
                 "  %e = pp.exp %s : tensor<4x140000x%f>\n"
                 "  %d = pp.reduce min %e dims [1] : tensor<4x140000x%f> -> "
                 "tensor<4x%f>\n"
                 "  %t = pp.reduce min %s dims [1] : tensor<4x140000x%f> -> "
                 "tensor<4x%f>\n"
                 "  %y = pp.add %d, %t : tensor<4x%f>",
                 "%y", "tensor<4x%f>")},
      // Between products, where GPUs have rows further apart.
      KernelCase{
          "paddedRows",
          mainOf(
              "%x: tensor<4x6x8x%f>, %w: tensor<45x8x%f>, %b: tensor<45x%f>",
              "  %p = pp.dot_general %x, %w batch [] x [] contract [2] x "
              "[1] : tensor<4x6x8x%f>, tensor<45x8x%f> -> "
              "tensor<4x6x45x%f>\n"
              "  %a = pp.broadcast %b dims [2] : tensor<45x%f> -> "
              "tensor<4x6x45x%f>\n"
              "  %l = pp.add %p, %a : tensor<4x6x45x%f>\n"
              "  %m = pp.reduce max %l dims [2] : tensor<4x6x45x%f> -> "
              "tensor<4x6x%f>\n"
              "  %c = pp.broadcast %m dims [0, 1] : tensor<4x6x%f> -> "
              "tensor<4x6x45x%f>\n"
              "  %s = pp.sub %l, %c : tensor<4x6x45x%f>\n"
              "  %e = pp.exp %s : tensor<4x6x45x%f>\n"
              "  %t = pp.tanh %l : tensor<4x6x45x%f>\n"
              "  %r = pp.reshape %t : tensor<4x6x45x%f> -> tensor<24x45x%f>\n"
              "  %y = pp.dot_general %e, %w batch [] x [] contract [2] x "
              "[0] : tensor<4x6x45x%f>, tensor<45x8x%f> -> tensor<4x6x8x%f>\n"
              "  %z = pp.dot_general %r, %w batch [] x [] contract [1] x "
              "[0] : tensor<24x45x%f>, tensor<45x8x%f> -> tensor<24x8x%f>",
              "%y, %z", "tensor<4x6x8x%f>, tensor<24x8x%f>"),
          -1, 1},
      KernelCase{
          "sumAll",
          mainOf("%x: tensor<600x128x%f>",
                 "  %y = pp.reduce sum %x dims [0, 1] : tensor<600x128x%f> -> "
                 "tensor<%f>",
                 "%y", "tensor<%f>"),
          0, 1},
      KernelCase{"maxMiddle", mainOf("%x: tensor<4x6x8x%f>",
                                     "  %y = pp.reduce max %x dims [1] : "
                                     "tensor<4x6x8x%f> -> tensor<4x8x%f>",
                                     "%y", "tensor<4x8x%f>")},
      KernelCase{"prod",
                 mainOf("%x: tensor<4x6x%f>",
                        "  %y = pp.reduce prod %x dims [1] : tensor<4x6x%f> "
                        "-> tensor<4x%f>",
                        "%y", "tensor<4x%f>")},
      KernelCase{
          "argmax",
          mainOf("%x: tensor<4x6x%f>",
                 "  %y = pp.argmax %x dim 1 : tensor<4x6x%f> -> tensor<4xi32>",
                 "%y", "tensor<4xi32>")},
      KernelCase{
          "topK",
          mainOf("%x: tensor<4x6x%f>",
                 "  %y = pp.top_k %x dim 1 : tensor<4x6x%f> -> tensor<4x3xi32>",
                 "%y", "tensor<4x3xi32>")},
      KernelCase{
          "topKOfEqual",
          mainOf("%x: tensor<6x4x%f>",
                 "  %s = pp.sign %x : tensor<6x4x%f>\n"
                 "  %y = pp.top_k %s dim 0 : tensor<6x4x%f> -> tensor<6x4xi32>",
                 "%y", "tensor<6x4xi32>")},
      KernelCase{"cumsum", mainOf("%x: tensor<4x6x%f>",
                                  "  %y = pp.cumsum %x dim 1 : tensor<4x6x%f>",
                                  "%y", "tensor<4x6x%f>")},
      KernelCase{"cumsumReverse",
                 mainOf("%x: tensor<4x6x%f>",
                        "  %y = pp.cumsum %x dim 0 reverse : tensor<4x6x%f>",
                        "%y", "tensor<4x6x%f>")},
      KernelCase{"cumsumMany",
                 mainOf("%x: tensor<600x5x%f>",
                        "  %y = pp.cumsum %x dim 0 : tensor<600x5x%f>", "%y",
                        "tensor<600x5x%f>"),
                 1, 1},
      KernelCase{"embedding",
                 mainOf("%x: tensor<7x40x%f>, %i: tensor<4x5xi32>",
                        "  %y = pp.gather %x[%i] batch 0 : tensor<7x40x%f>, "
                        "tensor<4x5xi32> -> tensor<4x5x40x%f>",
                        "%y", "tensor<4x5x40x%f>")},
      KernelCase{"pick",
                 mainOf("%x: tensor<4x5x7x%f>, %i: tensor<4x5xi32>",
                        "  %y = pp.gather %x[%i] batch 2 : tensor<4x5x7x%f>, "
                        "tensor<4x5xi32> -> tensor<4x5x%f>",
                        "%y", "tensor<4x5x%f>")},
      KernelCase{"scatter",
                 mainOf("%x: tensor<7x256x%f>, %i: tensor<4x5xi32>, %u: "
                        "tensor<4x5x256x%f>",
                        "  %y = pp.scatter_add %x[%i], %u batch 0 : "
                        "tensor<7x256x%f>, tensor<4x5xi32>, tensor<4x5x256x%f>",
                        "%y", "tensor<7x256x%f>")},
      KernelCase{
          "scatterLabels",
          mainOf(
              "%x: tensor<4x5x7x%f>, %i: tensor<4x5xi32>, %u: tensor<4x5x%f>",
              "  %y = pp.scatter_add %x[%i], %u batch 2 : tensor<4x5x7x%f>, "
              "tensor<4x5xi32>, tensor<4x5x%f>",
              "%y", "tensor<4x5x7x%f>")},
      KernelCase{
          "scatterBatches",
          mainOf("%x: tensor<3x4x5x%f>, %i: tensor<3x2x6xi64>, %u: "
                 "tensor<3x2x6x5x%f>",
                 "  %y = pp.scatter_add %x[%i], %u batch 1 : "
                 "tensor<3x4x5x%f>, tensor<3x2x6xi64>, tensor<3x2x6x5x%f>",
                 "%y", "tensor<3x4x5x%f>")},
      // More than bf16 can count to by ones, in each row that has an index.
      KernelCase{"scatterMany",
                 mainOf("%x: tensor<2x8x%f>, %i: tensor<4096xi32>, %u: "
                        "tensor<4096x8x%f>",
                        "  %y = pp.scatter_add %x[%i], %u batch 0 : "
                        "tensor<2x8x%f>, tensor<4096xi32>, tensor<4096x8x%f>",
                        "%y", "tensor<2x8x%f>"),
                 1, 1},
      // Nothing of it is at a place, in an order or in a row.
      KernelCase{
          "withoutElements",
          mainOf("%x: tensor<4x6x%f>, %i: tensor<4xi32>",
                 "  %e = pp.slice %x [0, 6], [4, 6], [1, 1] : tensor<4x6x%f> "
                 "-> tensor<4x0x%f>\n"
                 "  %s = pp.slice %e [3, 0], [4, 0], [1, 1] : tensor<4x0x%f> "
                 "-> tensor<1x0x%f>\n"
                 "  %h = pp.reshape %s : tensor<1x0x%f> -> tensor<3x0x2x5x%f>\n"
                 "  %t = pp.tanh %h : tensor<3x0x2x5x%f>\n"
                 "  %r = pp.reduce sum %t dims [0, 1, 2, 3] : "
                 "tensor<3x0x2x5x%f> -> tensor<%f>\n"
                 "  %m = pp.reduce max %i dims [0] : tensor<4xi32> -> "
                 "tensor<i32>\n"
                 "  %n = pp.convert %m : tensor<i32> -> tensor<%f>\n"
                 "  %a = pp.add %r, %n : tensor<%f>\n"
                 "  %b = pp.broadcast %a dims [] : tensor<%f> -> "
                 "tensor<4x6x%f>\n"
                 "  %c = pp.concatenate %b, %e dim 1 : tensor<4x6x%f>, "
                 "tensor<4x0x%f> -> tensor<4x6x%f>\n"
                 "  %u = pp.dynamic_update_slice %c, %s[%m, %m] : "
                 "tensor<4x6x%f>, tensor<1x0x%f>, tensor<i32>, tensor<i32>\n"
                 "  %y = pp.add %u, %x : tensor<4x6x%f>",
                 "%y", "tensor<4x6x%f>")},
      KernelCase{
          "scatterNowhere",
          mainOf("%x: tensor<4x2x3x%f>, %i: tensor<4x5xi32>, %u: "
                 "tensor<4x5x3x%f>",
                 "  %s = pp.sin %x : tensor<4x2x3x%f>\n"
                 "  %e = pp.slice %s [0, 0, 0], [4, 0, 3], [1, 1, 1] : "
                 "tensor<4x2x3x%f> -> tensor<4x0x3x%f>\n"
                 "  %y = pp.scatter_add %e[%i], %u batch 1 : "
                 "tensor<4x0x3x%f>, tensor<4x5xi32>, tensor<4x5x3x%f>\n"
                 "  %r = pp.reduce sum %y dims [1] : tensor<4x0x3x%f> -> "
                 "tensor<4x3x%f>\n"
                 "  %t = pp.reduce sum %s dims [1] : tensor<4x2x3x%f> -> "
                 "tensor<4x3x%f>\n"
                 "  %z = pp.add %r, %t : tensor<4x3x%f>",
                 "%z", "tensor<4x3x%f>")},
      KernelCase{
          "dotInts",
          mainOf("%x: tensor<4x6xi32>, %y: tensor<6x5xi32>",
                 "  %z = pp.dot_general %x, %y batch [] x [] contract [1] x "
                 "[0] : tensor<4x6xi32>, tensor<6x5xi32> -> tensor<4x5xi32>",
                 "%z", "tensor<4x5xi32>")},
      KernelCase{
          "dot",
          mainOf("%x: tensor<3x4x6x%f>, %y: tensor<6x3x5x%f>, %r: "
                 "tensor<4x3x5x%f>",
                 "  %z = pp.dot_general %x, %y batch [0] x [1] contract [2] x "
                 "[0] : tensor<3x4x6x%f>, tensor<6x3x5x%f> -> "
                 "tensor<3x4x5x%f>\n  %t = pp.transpose %z perm [1, 0, 2] : "
                 "tensor<3x4x5x%f> -> tensor<4x3x5x%f>\n  %s = pp.add %t, %r "
                 ": tensor<4x3x5x%f>",
                 "%s", "tensor<4x3x5x%f>")},
      KernelCase{
          "convolution",
          mainOf("%x: tensor<3x5x6x4x%f>, %y: tensor<3x2x4x5x%f>",
                 "  %z = pp.convolution %x, %y batch [] x [] contract [3] x "
                 "[2] window [1, 2] x [0, 1] -> [1, 2] strides [2, 1] low "
                 "[1, 1] high [2, 0] dilation [1, 1] x [1, 2] : "
                 "tensor<3x5x6x4x%f>, tensor<3x2x4x5x%f> -> "
                 "tensor<3x3x5x5x%f>",
                 "%z", "tensor<3x3x5x5x%f>")},
      KernelCase{
          "convolutionReversed",
          mainOf("%x: tensor<2x3x4x2x%f>, %y: tensor<3x2x3x2x%f>",
                 "  %z = pp.convolution %x, %y batch [] x [] contract [3] x "
                 "[3] window [1, 2] x [0, 1] -> [1, 2] strides [1, 2] low "
                 "[1, 2] high [2, -1] dilation [2, 1] x [1, 1] reverse : "
                 "tensor<2x3x4x2x%f>, tensor<3x2x3x2x%f> -> "
                 "tensor<2x6x2x3x%f>",
                 "%z", "tensor<2x6x2x3x%f>")},
      KernelCase{
          "convolutionGrouped",
          mainOf("%x: tensor<3x4x2x3x%f>, %y: tensor<2x3x2x3x%f>",
                 "  %z = pp.convolution %x, %y batch [2] x [0] contract [3] x "
                 "[1] window [1] x [3] -> [1] strides [1] low [0] high [1] "
                 "dilation [2] x [1] : tensor<3x4x2x3x%f>, "
                 "tensor<2x3x2x3x%f> -> tensor<2x6x3x2x%f>",
                 "%z", "tensor<2x6x3x2x%f>")},
      KernelCase{
          "convolutionFarApart",
          mainOf("%x: tensor<1x3x1x%f>, %y: tensor<1x2x1x%f>",
                 "  %z = pp.convolution %x, %y batch [] x [] contract [2] x "
                 "[2] window [1] x [1] -> [1] strides [2147483647] low [0] "
                 "high [2147483647] dilation [2147483647] x [2147483647] : "
                 "tensor<1x3x1x%f>, tensor<1x2x1x%f> -> tensor<1x3x1x%f>",
                 "%z", "tensor<1x3x1x%f>")},
      KernelCase{
          "convolutionInts",
          mainOf("%x: tensor<2x4x3xi32>, %y: tensor<2x3x5xi32>",
                 "  %z = pp.convolution %x, %y batch [] x [] contract [2] x "
                 "[1] window [1] x [0] -> [1] strides [1] low [1] high [-1] "
                 "dilation [2] x [1] reverse : tensor<2x4x3xi32>, "
                 "tensor<2x3x5xi32> -> tensor<2x6x5xi32>",
                 "%z", "tensor<2x6x5xi32>")},
      KernelCase{
          "poolSum",
          mainOf("%x: tensor<3x5x6x4x%f>",
                 "  %y = pp.reduce_window sum %x dims [1, 2] sizes [3, 2] "
                 "strides [2, 3] dilation [1, 2] low [1, 0] high [1, -1] : "
                 "tensor<3x5x6x4x%f> -> tensor<3x3x1x4x%f>",
                 "%y", "tensor<3x3x1x4x%f>")},
      // As much is added behind as is cut off in front.
      KernelCase{
          "poolMoved",
          mainOf("%x: tensor<3x5x%f>",
                 "  %y = pp.reduce_window sum %x dims [1] sizes [2] strides "
                 "[1] dilation [1] low [-1] high [1] : tensor<3x5x%f> -> "
                 "tensor<3x4x%f>",
                 "%y", "tensor<3x4x%f>")},
      KernelCase{
          "poolMax",
          mainOf("%x: tensor<3x5x6x4x%f>",
                 "  %y = pp.reduce_window max %x dims [1, 2] sizes [3, 3] "
                 "strides [2, 2] dilation [1, 1] low [1, 1] high [1, 1] : "
                 "tensor<3x5x6x4x%f> -> tensor<3x3x3x4x%f>",
                 "%y", "tensor<3x3x3x4x%f>")},
      KernelCase{
          "poolMaxGradient",
          mainOf("%x: tensor<3x5x6x4x%f>, %u: tensor<3x3x4x4x%f>",
                 "  %y = pp.select_and_scatter %x, %u dims [1, 2] sizes [3, "
                 "3] strides [2, 2] dilation [1, 1] low [1, 2] high [1, 1] : "
                 "tensor<3x5x6x4x%f>, tensor<3x3x4x4x%f>",
                 "%y", "tensor<3x5x6x4x%f>")},
      KernelCase{"randomBits",
                 mainOf("%s: tensor<i64>, %t: tensor<i32>",
                        "  %y = pp.random_bits %s, %t stream 7 : "
                        "tensor<i64>, tensor<i32> -> tensor<64x96xi32>",
                        "%y", "tensor<64x96xi32>")}};
}
