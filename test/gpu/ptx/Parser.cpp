//===- Parser.cpp - a PTX module from its text: declarations --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Parser.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

using namespace ptx;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

// Numbers keep their bits: what type they are of, only an instruction knows.

static bool isWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '%' ||
         c == '$' || c == '.';
}
static bool isWordPart(char c) {
  return isWordStart(c) || std::isdigit(static_cast<unsigned char>(c)) ||
         c == ':';
}

std::vector<Token> ptx::tokenize(const std::string &text, std::string &error) {
  std::vector<Token> tokens;
  unsigned line = 1;
  size_t at = 0;
  auto next = [&](size_t ahead) {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n')
      ++line;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
      continue;
    }
    if (c == '/' && next(1) == '/') {
      while (at < text.size() && text[at] != '\n')
        ++at;
      continue;
    }
    Token token;
    token.line = line;
    if (c == '"') {
      const size_t end = text.find('"', at + 1);
      if (end == std::string::npos) {
        error = "line " + std::to_string(line) + ": quotes have no end";
        return {};
      }
      token.kind = Token::Text;
      token.text = text.substr(at + 1, end - at - 1);
      at = end + 1;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      const char *begin = text.c_str() + at;
      char *end = nullptr;
      if (c == '0' && (next(1) == 'f' || next(1) == 'F')) {
        token.kind = Token::Float;
        token.number = std::strtoull(begin + 2, &end, 16);
      } else if (c == '0' && (next(1) == 'd' || next(1) == 'D')) {
        token.kind = Token::Double;
        token.number = std::strtoull(begin + 2, &end, 16);
      } else {
        token.kind = Token::Integer;
        token.number = std::strtoull(begin, &end, 0);
        end += *end == 'U';
      }
      at += end - begin;
    } else if (isWordStart(c)) {
      size_t end = at + 1;
      // A label's colon ends it; two are part of a word. A directive ends where
      // the next one begins.
      while (end < text.size() && isWordPart(text[end]) &&
             !(c == '.' && text[end] == '.')) {
        if (text[end] == ':') {
          if (end + 1 >= text.size() || text[end + 1] != ':')
            break;
          ++end;
        }
        ++end;
      }
      token.kind = Token::Word;
      token.text = text.substr(at, end - at);
      at = end;
    } else if (std::string("{}()[]<>,;:+-@!|=~").find(c) != std::string::npos) {
      token.kind = Token::Sign;
      token.text = c;
      ++at;
    } else {
      error = "line " + std::to_string(line) + ": expects PTX, got '" +
              std::string(1, c) + "'";
      return {};
    }
    tokens.push_back(std::move(token));
  }
  Token end;
  end.line = line;
  tokens.push_back(end);
  return tokens;
}

Type ptx::typeOf(const std::string &word) {
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
      placeShared(*program, function);
      Entry entry;
      entry.name = function.name;
      entry.parameters = function.parameters;
      entry.block = function.block;
      entry.sharedBytes = function.sharedBytes;
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
  if (accept(".entry"))
    return function(true);
  if (accept(".func"))
    return function(false);
  if (accept(".extern"))
    return variable(false);
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
    program->sharedVariables.push_back({bytes, alignment});
    symbol = {Symbol::Shared, program->sharedVariables.size()};
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
    uint64_t size = 0;
    if (accept(".reqntid")) {
      if (!number(size))
        return false;
      made.block = size;
      while (accept(","))
        if (!number(size) || size != 1)
          return fail("expects a block of one dimension");
    } else if (accept(".minnctapersm")) {
      if (!number(size))
        return false;
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

std::unique_ptr<Program> ptx::parseProgram(const std::string &text,
                                           std::string &error) {
  error.clear();
  std::vector<Token> tokens = tokenize(text, error);
  if (!error.empty())
    return nullptr;
  return Parser(std::move(tokens), error).parse();
}
