//===- Inline.cpp - functions where they are called -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// There is no recursion in what compilers make of kernels. Parameters of a call
// are variables of the thread, copied in and out; registers and variables of
// the function get numbers and places of their own, and what is shared a place
// that all have.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

using namespace ptx;

/// A body within a body is one call; so many are a recursion.
static constexpr unsigned kMostDeep = 16;

namespace {

class Inliner {
public:
  Inliner(const Program &program, Function &function, std::string &error)
      : program(program), function(function), error(error) {}

  bool run() {
    std::vector<Instruction> whole = std::move(function.code);
    function.code.clear();
    return append(whole, 0, 0, false, 0);
  }

private:
  bool append(const std::vector<Instruction> &code, uint32_t firstRegister,
              uint32_t frame, bool isCallee, unsigned depth);
  bool call(const Instruction &call, unsigned depth);
  void copy(uint64_t to, uint64_t from, uint32_t bytes, uint32_t scratch,
            unsigned line);

  const Program &program;
  Function &function;
  std::string &error;
};

bool Inliner::append(const std::vector<Instruction> &code,
                     uint32_t firstRegister, uint32_t frame, bool isCallee,
                     unsigned depth) {
  std::vector<uint32_t> places; // of each instruction, in the result
  std::vector<uint32_t> jumps;  // of the result, with a target in `code`
  std::vector<uint32_t> returns;
  for (Instruction instruction : code) {
    auto move = [&](Operand &operand) {
      if (operand.kind == Operand::Register)
        operand.index += firstRegister;
      if (operand.isLocalPlace)
        operand.bits += frame;
    };
    places.push_back(function.code.size());
    move(instruction.guard);
    for (Operand &operand : instruction.results)
      move(operand);
    for (Operand &operand : instruction.operands)
      move(operand);
    if (instruction.op == Op::Call) {
      if (!call(instruction, depth))
        return false;
      continue;
    }
    if (instruction.op == Op::Bra)
      jumps.push_back(function.code.size());
    if (instruction.op == Op::Ret && isCallee) {
      instruction.op = Op::Bra;
      returns.push_back(function.code.size());
    }
    function.code.push_back(std::move(instruction));
  }
  for (uint32_t jump : jumps)
    function.code[jump].target = places[function.code[jump].target];
  for (uint32_t jump : returns)
    function.code[jump].target = function.code.size();
  return true;
}

void Inliner::copy(uint64_t to, uint64_t from, uint32_t bytes, uint32_t scratch,
                   unsigned line) {
  // One by one: of some, what lies between the members was never written.
  for (uint32_t done = 0; done < bytes; ++done) {
    Instruction load, store;
    load.op = Op::Ld;
    store.op = Op::St;
    load.space = store.space = Space::Local;
    load.type = store.type = Type::B8;
    load.line = store.line = line;
    Operand reg, source, target;
    reg.kind = Operand::Register;
    reg.index = scratch;
    source.kind = target.kind = Operand::Literal;
    source.bits = from + done;
    target.bits = to + done;
    load.results = {reg};
    load.operands = {source};
    store.operands = {target, reg};
    function.code.push_back(load);
    function.code.push_back(store);
  }
}

bool Inliner::call(const Instruction &call, unsigned depth) {
  auto fail = [&](const std::string &message) {
    error = "line " + std::to_string(call.line) + ": " + message + ", got '" +
            call.callee + "'";
    return false;
  };
  const Function *callee = nullptr;
  for (const Function &candidate : program.functions)
    if (candidate.name == call.callee && !candidate.isEntry)
      callee = &candidate;
  if (!callee)
    return fail("expects a function that has a body");
  if (depth == kMostDeep)
    return fail("expects no recursion");
  if (call.guard.kind != Operand::None)
    return fail("expects a call without a predicate");
  if (call.operands.size() != callee->parameters.size() ||
      call.results.size() != callee->returns.size())
    return fail("expects as many parameters as the function has");
  const uint32_t frame = alignUp(function.localBytes, 16);
  const uint32_t firstRegister = function.registers;
  const uint32_t scratch = firstRegister + callee->registers;
  function.localBytes = frame + callee->localBytes;
  function.registers = scratch + 1;
  for (size_t index = 0; index < call.operands.size(); ++index)
    copy(frame + callee->parameters[index].offset, call.operands[index].bits,
         callee->parameters[index].bytes, scratch, call.line);
  if (!append(callee->code, firstRegister, frame, true, depth + 1))
    return false;
  for (size_t index = 0; index < call.results.size(); ++index)
    copy(call.results[index].bits, frame + callee->returns[index].offset,
         callee->returns[index].bytes, scratch, call.line);
  return true;
}

} // namespace

void ptx::placeShared(const Program &program, Function &function) {
  std::map<uint32_t, uint64_t> places;
  for (Instruction &instruction : function.code)
    for (Operand &operand : instruction.operands) {
      if (operand.sharedVariable == 0)
        continue;
      const auto &[bytes, alignment] =
          program.sharedVariables[operand.sharedVariable - 1];
      auto [place, isNew] = places.try_emplace(operand.sharedVariable);
      if (isNew) {
        function.sharedBytes = alignUp(function.sharedBytes, alignment);
        place->second = function.sharedBytes;
        function.sharedBytes += bytes;
      }
      operand.bits += place->second;
    }
}

bool ptx::inlineCalls(const Program &program, Function &function,
                      std::string &error) {
  return Inliner(program, function, error).run();
}
