//===- TextTest.cpp - Actions and CSV files -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever is printed is read back; whatever is malformed is refused, with the
// cell.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

#include <gtest/gtest.h>

using namespace pp::schedule;

TEST(Text, ActionsRoundTrip) {
  for (const char *text : {"0F0", "12B3", "4095W65535"}) {
    std::optional<Action> action = parseAction(text);
    ASSERT_TRUE(action) << text;
    EXPECT_EQ(print(*action), text);
  }
  for (const char *text : {"", "F", "0F", "F0", "0G0", "0f0", "0F0 ", "-1F0",
                           "0F99999999999999999999", "0SEND_F0", "0I0"})
    EXPECT_FALSE(parseAction(text)) << text;
}

TEST(Text, CsvRoundTrips) {
  std::string error;
  for (const Algorithm &algorithm : algorithms()) {
    for (unsigned ranks = 1; ranks <= 4; ++ranks) {
      for (unsigned m = 1; m <= 8; ++m) {
        Schedule schedule = *generate(algorithm.name, {ranks, m, 0}, error);
        std::optional<Schedule> read = parseCsv(printCsv(schedule), error);
        ASSERT_TRUE(read) << error;
        read->name = schedule.name;
        EXPECT_EQ(*read, schedule);
      }
    }
  }
}

TEST(Text, CsvKeepsTheSplitOfBackwards) {
  std::string error;
  std::string csv = "0F0,0F1,0I0,0B1,0W0\n";
  std::optional<Schedule> schedule = parseCsv(csv, error);
  ASSERT_TRUE(schedule) << error;
  EXPECT_EQ(schedule->ranks[0][2], (Action{0, Kind::Backward, 0}));
  EXPECT_EQ(printCsv(*schedule), csv);
}

TEST(Text, CsvDropsBlanks) {
  std::string error;
  // As torch.distributed.pipelining writes 1F1B, with Windows line ends.
  std::optional<Schedule> schedule =
      parseCsv("0F0,0F1,,0B0,,0B1\r\n,1F0,1B0,1F1,1B1,\r\n\r\n", error);
  ASSERT_TRUE(schedule) << error;
  EXPECT_EQ(printCsv(*schedule), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  EXPECT_TRUE(verify(*schedule, error)) << error;
}

TEST(Text, CsvTakesWhatTorchHasBesideComputing) {
  std::string error;
  std::optional<Schedule> schedule = parseCsv(
      "0UNSHARD,0F0,0SEND_F0,0F1,0RECV_B0,(0F2;0B0)OVERLAP_F_B,0REDUCE_GRAD\n",
      error);
  ASSERT_TRUE(schedule) << error;
  EXPECT_EQ(printCsv(*schedule), "0F0,0F1,0F2,0B0\n");
}

TEST(Text, CsvErrorsNameTheCell) {
  std::string error;
  EXPECT_FALSE(parseCsv("0F0,0B0\n1F0,1SENT_B0,1B0\n", error));
  EXPECT_EQ(error, "row 2, column 2: expects an action such as 0F0, 1B3 or "
                   "1W3, with a stage below 4096 and a micro-batch below "
                   "65536, got '1SENT_B0'");
  for (const char *cell :
       {"(0F0;)OVERLAP_F_B", "(0F0;0B0)OVERLAP_F_B 0B7", "UNSHARD", "0UNSHARD7",
        "0SEND_F", "99999999999SEND_F0", "0SEND_F99999999999"})
    EXPECT_FALSE(parseCsv("0F0," + std::string(cell) + "\n", error)) << cell;
  EXPECT_TRUE(parseCsv("\xef\xbb\xbf"
                       "0F0\n",
                       error))
      << error;
  EXPECT_FALSE(parseCsv("\x1b[2J\n", error));
  EXPECT_NE(error.find("got '\\x1b[2J'"), std::string::npos) << error;
  EXPECT_FALSE(parseCsv("4096F0\n", error));
  EXPECT_FALSE(parseCsv("\n,,\n", error));
  EXPECT_EQ(error, "expects one row of actions per rank, got no action");
  EXPECT_FALSE(parseCsv("4000F0,0F60000\n", error));
  EXPECT_EQ(error, "expects at most 16777216 pairs of stage and micro-batch, "
                   "got 4001 x 60001");
  EXPECT_FALSE(parseCsv("0F0,0I0\n", error));
  EXPECT_EQ(error, "expects 0W0 beside 0I0, which is the gradients of inputs "
                   "alone, got none; 0B0 is both in one");
}
