//===- Lexer.h - the words of a PTX module ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the text. Out: words with their dots, numbers, signs; no comments.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PTX_LEXER_H
#define PP_TEST_GPU_PTX_LEXER_H

#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

struct Token {
  enum Kind { Word, Integer, Float, Double, Text, Sign, End } kind = End;
  std::string text;    ///< a word with its dots, a sign, or what quotes hold
  uint64_t number = 0; ///< bits of a number
  unsigned line = 0;
};

/// Ends with one of kind End. On a character that PTX does not have, `error`.
std::vector<Token> tokenize(const std::string &text, std::string &error);

} // namespace ptx

#endif // PP_TEST_GPU_PTX_LEXER_H
