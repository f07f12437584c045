//===- Parser.h - a PTX module from its text --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the text. Out: words with their dots, numbers and signs; then functions
// whose names are resolved. The text is a compiler's: what is not understood is
// refused, with its line, and never skipped.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PTX_PARSER_H
#define PP_TEST_GPU_PTX_PARSER_H

#include "Program.h"

namespace ptx {

struct Token {
  enum Kind { Word, Integer, Float, Double, Text, Sign, End } kind = End;
  std::string text;    ///< a word with its dots, a sign, or what quotes hold
  uint64_t number = 0; ///< bits of a number
  unsigned line = 0;
};

/// Ends with one of kind End. On a character that PTX does not have, `error`.
std::vector<Token> tokenize(const std::string &text, std::string &error);

/// What a name stands for.
struct Symbol {
  enum Kind { Register, Local, Shared, Global, EntryParameter } kind = Register;
  uint64_t place = 0; ///< number, or offset in its space; of .shared which one
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
  bool operand(std::vector<Operand> &list);
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

/// Of a word such as .u32; None if it is none.
Type typeOf(const std::string &word);

} // namespace ptx

#endif // PP_TEST_GPU_PTX_PARSER_H
