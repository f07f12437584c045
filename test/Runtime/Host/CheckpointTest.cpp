//===- CheckpointTest.cpp - what is taken for a checkpoint ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The runs in test/EndToEnd/resume.py and crashes.py read and write whole ones.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Checkpoint.h"

#include "TestFiles.h"

#include <functional>

using namespace pprt;
using namespace pprt::host;

/// Of a matrix in four parts and a scalar.
static CheckpointIndex makeIndex() {
  CheckpointIndex index;
  index.step = 12;
  index.seed = UINT64_MAX;
  index.id = "7-12";
  index.model = "8a5edab282632443";
  index.plan = "#pp.plan<mesh = <[\"dp\"=2]>>";
  index.data = "text:\xff\"file";
  index.dataFingerprint = 5;
  index.tensors["w"] = {ppx::ElementType_f32,
                        {5, 4},
                        true,
                        {{0, 0, {0, 0}, {3, 2}},
                         {0, 1, {0, 2}, {3, 2}},
                         {0, 2, {3, 0}, {2, 2}},
                         {0, 3, {3, 2}, {2, 2}}}};
  index.tensors["step"] = {ppx::ElementType_i64, {}, false, {{0, 1, {}, {}}}};
  return index;
}

TEST(CheckpointIndex, IsReadBack) {
  const CheckpointIndex index = makeIndex();
  const std::string text = printIndex(index);
  const Expected<CheckpointIndex> read = parseIndex("index.json", text);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(printIndex(*read), text);
  EXPECT_EQ(read->seed, index.seed);
  EXPECT_EQ(read->tensors.at("w").parts[2].first,
            (std::vector<uint64_t>{3, 0}));
}

TEST(CheckpointIndex, IsRefusedAfterAnyEditOfItsText) {
  const std::string text = printIndex(makeIndex());
  for (size_t i = 0; i + 1 < text.size(); ++i) { // the last one ends the line
    std::string edited = text;
    edited[i] = edited[i] == '1' ? '2' : '1';
    if (text[i] == ' ' || text[i] == '\n')
      edited[i] = '#';
    EXPECT_FALSE(parseIndex("index.json", edited)) << edited;
    EXPECT_FALSE(parseIndex("index.json", text.substr(0, i)));
  }
}

TEST(CheckpointIndex, NamesPartsThatTileTheirTensors) {
  const std::vector<std::function<void(CheckpointTensor &)>> edits = {
      [](auto &its) { its.parts.pop_back(); },
      [](auto &its) { its.parts.clear(); },
      [](auto &its) { its.parts.push_back(its.parts[0]); },
      [](auto &its) { its.parts[1].first = {0, 1}; },
      [](auto &its) { its.parts[1].size = {3, 1}; },
      [](auto &its) { its.parts[3].size = {2, 3}; },
      [](auto &its) { its.parts[0].first = {0}; },
      [](auto &its) { its.parts[0].size = {}; },
      [](auto &its) { its.parts[2].first = {2, 0}; },
      [](auto &its) { its.parts[0].first = {UINT64_MAX, 0}; },
      [](auto &its) { its.parts[0].rank = its.parts[1].rank; },
      [](auto &its) { its.shape = {6, 4}; },
      [](auto &its) { its.shape = {UINT64_MAX, 4}; },
      [](auto &its) { its.shape = {20}; }};
  for (size_t i = 0; i < edits.size(); ++i) {
    CheckpointIndex index = makeIndex();
    edits[i](index.tensors["w"]);
    const Expected<CheckpointIndex> read =
        parseIndex("index.json", printIndex(index));
    EXPECT_FALSE(read) << "edit " << i;
    EXPECT_EQ(read.status().code(), ExitCode::badParameters);
    EXPECT_NE(read.status().message().find("parts that tile"),
              std::string::npos)
        << read.status().message();
  }
}
