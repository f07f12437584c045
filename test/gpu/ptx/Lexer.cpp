//===- Lexer.cpp - the words of a PTX module ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Numbers keep their bits: what type they are of, only an instruction knows.
//
//===----------------------------------------------------------------------===//
#include "Parser.h"

#include <cctype>
#include <cstdlib>

using namespace ptx;

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
