//===- Parser.cpp - a PTX module from its text ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: words. Out: functions whose names are resolved. The text is a compiler's:
// what is not understood is refused, with its line, and never skipped.
//
//===----------------------------------------------------------------------===//
#include "Lexer.h"
#include "Program.h"

#include <cstring>

using namespace ptx;

namespace {

/// What a name stands for.
struct Symbol {
  enum Kind { Register, Local, Shared, Global, EntryParameter } kind = Register;
  uint64_t place = 0; ///< number, or offset in its space
};

struct PendingBranch {
  size_t instruction;
  std::string label;
  unsigned line;
};

class Parser {
public:
  Parser(std::vector<Token> tokens, std::string &error)
      : tokens(std::move(tokens)), error(error) {}

  std::unique_ptr<Program> parse();

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  Token take() { return tokens[std::min(at++, tokens.size() - 1)]; }
  bool is(const char *text) const {
    return peek().kind != Token::Text && peek().text == text;
  }
  bool accept(const char *text) { return is(text) && (++at, true); }
  bool expect(const char *text) {
    return accept(text) || fail(std::string("expects '") + text + "'");
  }
  bool fail(const std::string &message) {
    if (error.empty())
      error = "line " + std::to_string(peek().line) + ": " + message +
              ", got '" + peek().text + "'";
    return false;
  }
  bool number(uint64_t &value) {
    if (peek().kind != Token::Integer)
      return fail("expects a number");
    value = take().number;
    return true;
  }

  bool moduleItem();
  bool variable(bool isLocal);
  bool function(bool isEntry);
  bool parameterList(std::vector<KernelParameter> &list, bool isEntry);
  bool body();
  bool statement();
  bool registers();
  bool instruction(const Operand &guard);
  bool operand(Instruction &result, bool isAddress, std::vector<Operand> &list);
  bool address(Instruction &result);
  bool scalar(Operand &result);
  bool call(Instruction &result);
  Symbol *find(const std::string &name);
  bool resolveBranches();

  std::vector<Token> tokens;
  size_t at = 0;
  std::string &error;
  std::unique_ptr<Program> program = std::make_unique<Program>();
  std::map<std::string, Symbol> globals;
  // Of the function at hand.
  Function *current = nullptr;
  std::vector<std::map<std::string, Symbol>> scopes;
  std::map<std::string, size_t> labels;
  std::vector<PendingBranch> branches;
};

Type typeOf(const std::string &word) {
  Instruction probe;
  return !word.empty() && word[0] == '.' && decode("mov" + word, probe)
             ? probe.type
             : Type::None;
}

Symbol *Parser::find(const std::string &name) {
  for (size_t scope = scopes.size(); scope-- > 0;)
    if (auto found = scopes[scope].find(name); found != scopes[scope].end())
      return &found->second;
  auto found = globals.find(name);
  return found == globals.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

std::unique_ptr<Program> Parser::parse() {
  while (peek().kind != Token::End)
    if (!moduleItem())
      return nullptr;
  for (Function &function : program->functions)
    if (function.isEntry) {
      if (!inlineCalls(*program, function, error))
        return nullptr;
      Entry entry;
      entry.name = function.name;
      entry.parameters = function.parameters;
      std::memcpy(entry.block, function.block, sizeof(entry.block));
      entry.sharedBytes = program->sharedBytes;
      program->entries.push_back(entry);
    }
  return std::move(program);
}

bool Parser::moduleItem() {
  while (accept(".visible") || accept(".weak") || accept(".common"))
    ;
  if (accept(".version")) {
    at += 1; // 8.0 is two numbers and a dot, or one word
    while (peek().kind == Token::Word && peek().line == tokens[at - 1].line)
      ++at;
    return true;
  }
  if (accept(".target") || accept(".address_size") || accept(".file")) {
    const unsigned line = tokens[at - 1].line;
    while (peek().line == line && peek().kind != Token::End)
      ++at;
    return true;
  }
  if (accept(".section")) {
    while (!accept("}"))
      if (take().kind == Token::End)
        return fail("expects '}'");
    return true;
  }
  if (accept(".entry"))
    return function(true);
  if (accept(".func"))
    return function(false);
  if (accept(".extern")) {
    if (accept(".func")) { // declared; who calls it is refused
      while (!accept(";"))
        if (take().kind == Token::End)
          return fail("expects ';'");
      return true;
    }
    if (is(".shared"))
      program->hasDynamicShared = true;
    return variable(false);
  }
  if (is(".global") || is(".const") || is(".shared"))
    return variable(false);
  return fail("expects a directive of a module");
}

/// .global .align 16 .b8 name[4] = {1, 2, 3, 4};
bool Parser::variable(bool isLocal) {
  const std::string space = take().text;
  uint64_t alignment = 1, elements = 1;
  Type type = Type::None;
  while (peek().kind == Token::Word && peek().text[0] == '.') {
    if (accept(".align")) {
      if (!number(alignment))
        return false;
      continue;
    }
    type = typeOf(take().text);
  }
  if (type == Type::None)
    return fail("expects a type");
  alignment = std::max<uint64_t>(alignment, bytesOf(type));
  const std::string name = take().text;
  if (accept("[")) {
    elements = 0;
    if (peek().kind == Token::Integer)
      elements = take().number;
    if (!expect("]"))
      return false;
  }
  const uint64_t bytes = elements * bytesOf(type);
  Symbol symbol;
  if (space == ".shared") {
    program->sharedBytes = alignUp(program->sharedBytes, alignment);
    symbol = {Symbol::Shared, program->sharedBytes};
    program->sharedBytes += bytes;
  } else if (space == ".local" || space == ".param") {
    current->localBytes = alignUp(current->localBytes, alignment);
    symbol = {Symbol::Local, current->localBytes};
    current->localBytes += bytes;
  } else {
    const uint64_t begin = alignUp(program->globals.size(), alignment);
    symbol = {Symbol::Global, begin};
    program->globals.resize(begin + bytes);
    if (accept("=")) {
      const bool isList = accept("{");
      uint64_t place = begin;
      do {
        const bool isNegative = accept("-");
        if (peek().kind != Token::Integer && peek().kind != Token::Float &&
            peek().kind != Token::Double)
          return fail("expects a number");
        uint64_t value = take().number;
        value = isNegative ? -value : value;
        if (place + bytesOf(type) > program->globals.size())
          return fail("expects no more numbers than elements");
        std::memcpy(program->globals.data() + place, &value, bytesOf(type));
        place += bytesOf(type);
      } while (isList && accept(","));
      if (isList && !expect("}"))
        return false;
    }
  }
  (isLocal ? scopes.back() : globals)[name] = symbol;
  return expect(";");
}

bool Parser::parameterList(std::vector<KernelParameter> &list, bool isEntry) {
  if (!expect("("))
    return false;
  uint32_t &bytes = isEntry ? current->parameterBytes : current->localBytes;
  while (!accept(")")) {
    if (!expect(".param"))
      return false;
    uint64_t alignment = 1, elements = 1;
    Type type = Type::None;
    while (peek().kind == Token::Word && peek().text[0] == '.') {
      if (accept(".align")) {
        uint64_t pointee = 0; // behind .ptr: of what it points to
        if (!number(type == Type::None ? alignment : pointee))
          return false;
        continue;
      }
      if (accept(".ptr") || accept(".global") || accept(".shared") ||
          accept(".const") || accept(".local"))
        continue;
      type = typeOf(take().text);
    }
    if (type == Type::None)
      return fail("expects the type of a parameter");
    const std::string name = take().text;
    if (accept("[") && (!number(elements) || !expect("]")))
      return false;
    alignment = std::max<uint64_t>(alignment, bytesOf(type));
    bytes = alignUp(bytes, alignment);
    KernelParameter parameter{bytes, uint32_t(elements * bytesOf(type))};
    bytes += parameter.bytes;
    list.push_back(parameter);
    scopes.back()[name] = {isEntry ? Symbol::EntryParameter : Symbol::Local,
                           parameter.offset};
    if (!is(")") && !expect(","))
      return false;
  }
  return true;
}

bool Parser::function(bool isEntry) {
  Function made;
  made.isEntry = isEntry;
  current = &made;
  scopes.assign(1, {});
  labels.clear();
  branches.clear();
  if (!isEntry && is("(") && !parameterList(made.returns, false))
    return false;
  made.name = take().text;
  if (is("(") && !parameterList(made.parameters, isEntry))
    return false;
  while (!is("{") && !is(";")) {
    if (accept(".reqntid") || accept(".maxntid")) {
      const bool isRequired = tokens[at - 1].text == ".reqntid";
      for (int dim = 0; dim < 3; ++dim) {
        uint64_t size = 0;
        if (!number(size))
          return false;
        if (isRequired)
          made.block[dim] = size;
        if (!accept(","))
          break;
      }
      for (uint32_t &size : made.block)
        size = isRequired && size == 0 ? 1 : size;
    } else if (accept(".minnctapersm") || accept(".maxnreg")) {
      uint64_t ignored = 0;
      if (!number(ignored))
        return false;
    } else if (accept(".noreturn")) {
    } else {
      return fail("expects the body of a function");
    }
  }
  if (accept(";")) // only declared here
    return true;
  if (!body())
    return false;
  // What comes to the end returns.
  Instruction end;
  end.op = isEntry ? Op::Exit : Op::Ret;
  made.code.push_back(end);
  if (!resolveBranches())
    return false;
  program->functions.push_back(std::move(made));
  current = nullptr;
  return true;
}

bool Parser::resolveBranches() {
  for (const PendingBranch &branch : branches) {
    auto found = labels.find(branch.label);
    if (found == labels.end()) {
      error = "line " + std::to_string(branch.line) + ": expects a label '" +
              branch.label + "'";
      return false;
    }
    current->code[branch.instruction].target = found->second;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

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
    labels[take().text] = current->code.size();
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
      if (symbol->kind == Symbol::Local && result.space == Space::Generic)
        result.space = Space::Local;
      if (symbol->kind == Symbol::Shared && result.space == Space::Generic)
        result.space = Space::Shared;
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

bool Parser::operand(Instruction &result, bool, std::vector<Operand> &list) {
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
    if (!operand(result, false, result.results) || !expect(",") ||
        !expect("[") || !address(result))
      return false;
    break;
  case Op::St:
  case Op::Red:
    if (!expect("[") || !address(result) || !expect(",") ||
        !operand(result, false, result.operands))
      return false;
    break;
  case Op::Atom:
    if (!operand(result, false, result.results) || !expect(",") ||
        !expect("[") || !address(result) || !expect(",") ||
        !operand(result, false, result.operands))
      return false;
    break;
  case Op::Ret:
  case Op::Exit:
  case Op::Trap:
  case Op::Membar:
    break;
  case Op::Bar:
  case Op::BarWarp:
    while (!is(";")) {
      if (!operand(result, false, result.operands))
        return false;
      accept(",");
    }
    break;
  default:
    if (!operand(result, false, result.results))
      return false;
    if (accept("|") && !operand(result, false, result.results))
      return false;
    while (accept(","))
      if (!operand(result, false, result.operands))
        return false;
  }
  current->code.push_back(std::move(result));
  return expect(";");
}

} // namespace

std::unique_ptr<Program> ptx::parseProgram(const std::string &text,
                                           std::string &error) {
  error.clear();
  std::vector<Token> tokens = tokenize(text, error);
  if (!error.empty())
    return nullptr;
  return Parser(std::move(tokens), error).parse();
}
