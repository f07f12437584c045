//===- Statements.cpp - a PTX module from its text: bodies of functions ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Labels are resolved when a body ends; addresses of shared variables when the
// functions that a kernel calls are a part of it (Inline.cpp).
//
//===----------------------------------------------------------------------===//
#include "Parser.h"

using namespace ptx;

bool Parser::body() {
  if (!expect("{"))
    return false;
  scopes.emplace_back();
  while (!accept("}"))
    if (peek().kind == Token::End || !statement())
      return fail("expects a statement");
  scopes.pop_back();
  return true;
}

/// .reg .b32 %r<10>;  or  .reg .pred p, q;
bool Parser::registers() {
  if (typeOf(take().text) == Type::None)
    return fail("expects the type of registers");
  do {
    const std::string name = take().text;
    if (accept("<")) {
      uint64_t count = 0;
      if (!number(count) || !expect(">"))
        return false;
      for (uint64_t index = 0; index < count; ++index)
        scopes.back()[name + std::to_string(index)] = {Symbol::Register,
                                                       current->registers++};
    } else {
      scopes.back()[name] = {Symbol::Register, current->registers++};
    }
  } while (accept(","));
  return expect(";");
}

bool Parser::statement() {
  if (is("{"))
    return body();
  if (accept(".reg"))
    return registers();
  if (is(".local") || is(".param") || is(".shared"))
    return variable(true);
  if (accept(".loc") || accept(".pragma")) {
    const unsigned line = tokens[at - 1].line;
    while (peek().line == line && !is("}"))
      ++at;
    return true;
  }
  if (peek().kind == Token::Word && peek(1).kind == Token::Sign &&
      peek(1).text == ":") {
    const std::string name = take().text;
    labels[name] = current->code.size();
    return expect(":");
  }
  Operand guard;
  if (accept("@")) {
    guard.negated = accept("!");
    if (!scalar(guard) || guard.kind != Operand::Register)
      return fail("expects a predicate");
  }
  return instruction(guard);
}

bool Parser::scalar(Operand &result) {
  if (accept("-")) {
    if (peek().kind != Token::Integer)
      return fail("expects a number");
    result.kind = Operand::Literal;
    result.bits = -take().number;
    return true;
  }
  if (accept("!"))
    result.negated = true;
  const Token &token = peek();
  switch (token.kind) {
  case Token::Integer:
  case Token::Double:
  case Token::Float:
    result.kind = Operand::Literal;
    result.bits = take().number;
    return true;
  case Token::Word: {
    if (specialRegister(token.text, result)) {
      ++at;
      return true;
    }
    if (token.text == "_") { // what nobody wants
      ++at;
      result.kind = Operand::None;
      return true;
    }
    Symbol *symbol = find(token.text);
    if (!symbol)
      return fail("expects a register or a variable");
    ++at;
    if (symbol->kind == Symbol::Register) {
      result.kind = Operand::Register;
      result.index = symbol->place;
      return true;
    }
    // The address of a variable, in its own space.
    result.kind = Operand::Literal;
    result.isLocalPlace = symbol->kind == Symbol::Local;
    if (symbol->kind == Symbol::Shared)
      result.sharedVariable = symbol->place;
    else
      result.bits =
          symbol->place + (symbol->kind == Symbol::Global ? kGlobalsBase : 0);
    if (accept("+")) {
      uint64_t offset = 0;
      if (!number(offset))
        return false;
      result.bits += offset;
    }
    return true;
  }
  default:
    return fail("expects an operand");
  }
}

/// [%rd1+16], [name], [name+4], [8]
bool Parser::address(Instruction &result) {
  Operand base;
  if (peek().kind == Token::Word)
    if (Symbol *symbol = find(peek().text)) {
      // A call's parameters are the thread's own.
      if (result.space == Space::Parameter && symbol->kind == Symbol::Local)
        result.space = Space::Local;
    }
  if (!scalar(base))
    return false;
  result.operands.push_back(base);
  if (is("+") || is("-")) {
    const bool isNegative = take().text == "-";
    const bool isNegated = accept("-");
    uint64_t offset = 0;
    if (!number(offset))
      return false;
    result.offset = isNegative != isNegated ? -int64_t(offset) : offset;
  }
  return expect("]");
}

bool Parser::operand(std::vector<Operand> &list) {
  if (accept("{")) {
    do {
      Operand element;
      if (!scalar(element))
        return false;
      list.push_back(element);
    } while (accept(","));
    return expect("}");
  }
  Operand element;
  if (!scalar(element))
    return false;
  list.push_back(element);
  return true;
}

/// call.uni (retval0), name, (param0, param1);
bool Parser::call(Instruction &result) {
  auto list = [&](std::vector<Operand> &operands) {
    if (!expect("("))
      return false;
    while (!accept(")")) {
      Operand element;
      if (!scalar(element))
        return false;
      operands.push_back(element);
      if (!is(")") && !expect(","))
        return false;
    }
    return true;
  };
  if (is("(") && (!list(result.results) || !expect(",")))
    return false;
  result.callee = take().text;
  if (accept(",") && !list(result.operands))
    return false;
  current->code.push_back(result);
  return expect(";");
}

bool Parser::instruction(const Operand &guard) {
  Instruction result;
  result.guard = guard;
  result.line = peek().line;
  if (peek().kind != Token::Word)
    return fail("expects an instruction");
  const std::string opcode = peek().text;
  if (!decode(opcode, result))
    return fail("expects an instruction that is known here");
  ++at;
  switch (result.op) {
  case Op::Bra:
    branches.push_back({current->code.size(), take().text, result.line});
    current->code.push_back(result);
    return expect(";");
  case Op::Call:
    return call(result);
  case Op::Ld:
    if (!operand(result.results) || !expect(",") || !expect("[") ||
        !address(result))
      return false;
    break;
  case Op::St:
  case Op::Red:
    if (!expect("[") || !address(result) || !expect(",") ||
        !operand(result.operands))
      return false;
    break;
  case Op::Ret:
  case Op::Exit:
  case Op::Trap:
    break;
  case Op::Bar:
    while (!is(";")) {
      if (!operand(result.operands))
        return false;
      accept(",");
    }
    break;
  default:
    if (!operand(result.results))
      return false;
    if (accept("|") && !operand(result.results))
      return false;
    while (accept(","))
      if (!operand(result.operands))
        return false;
  }
  current->code.push_back(std::move(result));
  return expect(";");
}
