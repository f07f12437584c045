//===- Looks.cpp - how actions look in pictures ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Looks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

using namespace pp::schedule;

static const Look looks[] = {
    {'F', "forward", 0x5b9bd5, 0xd3e6f7},
    {'B', "backward", 0x7fd6c2, 0xdcf6ef},
    {'W', "gradients of weights", 0x217a4b, 0x9bd3b3},
    {'U', "update", 0xb58dc4, 0xb58dc4},
    {'P', "prologue", 0xbfb8ad, 0xbfb8ad},
};

const Look &pp::schedule::lookOf(char kind) {
  const auto found =
      std::find_if(std::begin(looks), std::end(looks),
                   [&](const Look &look) { return look.kind == kind; });
  return found == std::end(looks) ? looks[std::size(looks) - 1] : *found;
}

static unsigned mixColours(unsigned a, unsigned b, double share) {
  unsigned mixed = 0;
  for (int shift : {16, 8, 0}) {
    const double from = a >> shift & 255, to = b >> shift & 255;
    mixed |= unsigned(std::lround(from + share * (to - from))) << shift;
  }
  return mixed;
}

static std::string spell(unsigned colour) {
  char text[8];
  std::snprintf(text, sizeof(text), "#%06x", colour & 0xffffff);
  return text;
}

static unsigned readColour(const std::string &fill) {
  return unsigned(std::strtoul(fill.c_str() + 1, nullptr, 16));
}

std::string pp::schedule::fillOf(char kind, unsigned index, unsigned stages) {
  const Look &look = lookOf(kind);
  return spell(
      mixColours(look.first, look.last, double(index) / std::max(1u, stages)));
}

const char *pp::schedule::inkOn(const std::string &fill) {
  const unsigned colour = readColour(fill);
  const double light = 0.299 * (colour >> 16 & 255) +
                       0.587 * (colour >> 8 & 255) + 0.114 * (colour & 255);
  return light < 120 ? "#ffffff" : "#1a1a1a";
}

std::string pp::schedule::mix(const std::string &a, const std::string &b,
                              double share) {
  return spell(mixColours(readColour(a), readColour(b), share));
}
