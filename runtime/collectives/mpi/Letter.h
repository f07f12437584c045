//===- Letter.h - a failure as processes tell each other --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The code, then the text; of a text that is too long, the beginning. Whoever
// does not know how long it is has room for kLetterBytes, filled with zeros.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_LETTER_H
#define PPRT_COLLECTIVES_MPI_LETTER_H

#include "pprt/Status.h"

#include <cstddef>
#include <vector>

namespace pprt::mpi {

constexpr size_t kLetterBytes = size_t(1) << 16;

std::vector<std::byte> packLetter(const Status &status,
                                  size_t longest = kLetterBytes);
Status unpackLetter(const std::vector<std::byte> &letter);

/// As tools print an error, in one write.
void printError(const std::string &message);

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_LETTER_H
