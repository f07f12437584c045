//===- BytesTest.cpp - amounts of memory as people write them -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every spelling that is accepted, and the rounding of the output.
//
//===----------------------------------------------------------------------===//
#include "pprt/Bytes.h"

#include <gtest/gtest.h>

using pprt::parseBytes;
using pprt::printBytes;
using pprt::printLimit;

TEST(Bytes, Read) {
  EXPECT_EQ(parseBytes("0"), 0u);
  EXPECT_EQ(parseBytes("9007199254740993"), 9007199254740993u); // no double
  EXPECT_EQ(parseBytes("12B"), 12u);
  EXPECT_EQ(parseBytes("1K"), 1024u);
  EXPECT_EQ(parseBytes("1k"), 1024u);
  EXPECT_EQ(parseBytes("1KB"), 1000u);
  EXPECT_EQ(parseBytes("512M"), 512u << 20);
  EXPECT_EQ(parseBytes("1.5GiB"), 3u << 29);
  EXPECT_EQ(parseBytes("26gb"), 26000000000u);
  EXPECT_EQ(parseBytes("1.5 GiB"), 3u << 29);
  EXPECT_EQ(parseBytes("2T"), uint64_t(2) << 40);
  for (const char *text :
       {"", "G", "-1", "-1G", "1X", "1GG", "1  G", "1 ", "1GiB2", "0x10", "1e3",
        "9223372036854775808", "9000000000T", "nan", "inf", ".", "1.5", "0.5B"})
    EXPECT_FALSE(parseBytes(text)) << text;
}

TEST(Bytes, Printed) {
  EXPECT_EQ(printBytes(0), "0 B");
  EXPECT_EQ(printBytes(1023), "1023 B");
  EXPECT_EQ(printBytes(1024), "1.00 KiB");
  EXPECT_EQ(printBytes(8832), "8.62 KiB");
  EXPECT_EQ(printBytes(1023 * 1024), "1.00 MiB");
  EXPECT_EQ(printBytes(10 << 20), "10.0 MiB");
  EXPECT_EQ(printBytes(27.9e9), "26.0 GiB");
  EXPECT_EQ(printBytes(0x1p53), "8192 TiB");
}

TEST(Bytes, PrintedLimitsSuffice) {
  EXPECT_EQ(printLimit(192), "192 bytes");
  EXPECT_EQ(printLimit(2486175), "2486175 bytes (2.38 MiB)");
  for (uint64_t bytes = 1024; bytes < uint64_t(1) << 50;
       bytes += bytes / 7 + 1) {
    const std::string text = printLimit(bytes);
    const size_t open = text.find('(') + 1;
    const auto read = parseBytes(text.substr(open, text.size() - open - 1));
    ASSERT_TRUE(read) << text;
    EXPECT_GE(*read, bytes) << text;
    EXPECT_LE(*read, bytes + bytes / 100) << text;
  }
}
