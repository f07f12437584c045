//===- TokensTest.cpp - token files, shuffling and parts ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Token files as other programs write them, and broken ones, each refused with
// its reason. What a step reads is compared with a whole stream cut by hand;
// orders are judged by what they have to be for any number of blocks, batch and
// seed: every block once an epoch, the same for any split of the rows, and the
// same from any step on.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Dataset.h"
#include "pprt/host/Npy.h"

#include "TestFiles.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace pprt::host;
using pprt::ExitCode;
using pprt::Rows;
using namespace pprt::ppx;

namespace {
/// A model's row of S tokens, in either layout.
struct Shape {
  uint64_t batch, sequence, bound = 1 << 20;
  bool isTimeMajor = false;

  std::vector<DataTensor> tensors() const {
    const auto shape = isTimeMajor ? std::vector<uint64_t>{sequence, batch}
                                   : std::vector<uint64_t>{batch, sequence};
    return {
        {"x", Role_input, ElementType_i32, shape, bound, true, isTimeMajor},
        {"y", Role_label, ElementType_i32, shape, bound, true, isTimeMajor}};
  }
};

class TokensTest : public FilesTest {
protected:
  /// Little-endian integers of `width` bytes.
  static std::string pack(const std::vector<uint64_t> &tokens, size_t width) {
    std::string bytes;
    for (uint64_t token : tokens)
      bytes.append(reinterpret_cast<const char *>(&token), width);
    return bytes;
  }
  static std::string npy(const std::string &type, const std::string &shape,
                         const std::string &data) {
    const std::string header = "{'descr': '" + type +
                               "', 'fortran_order': False, 'shape': " + shape +
                               ", }";
    return std::string("\x93NUMPY\x01\0", 8) + char(header.size()) + '\0' +
           header + data;
  }
  std::unique_ptr<Dataset> open(const std::string &data, const Shape &shape,
                                const DataOptions &options = {}) const {
    auto opened = openDataset(data, shape.tensors(), options);
    EXPECT_TRUE(opened) << opened.status().message();
    return opened ? std::move(*opened) : nullptr;
  }
  /// Why data are refused, without the folder.
  std::string refuse(const std::string &data, const Shape &shape,
                     const DataOptions &options = {},
                     ExitCode code = ExitCode::io) const {
    const auto opened = openDataset(data, shape.tensors(), options);
    EXPECT_EQ(opened.status().code(), code) << data;
    return shorten(opened.status().message(), folder);
  }
  static std::vector<int32_t> read(const Dataset &dataset, uint64_t step,
                                   size_t tensor, size_t count) {
    std::vector<int32_t> values(count, -7);
    const pprt::Status status = dataset.read(step, tensor, values.data());
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }
  /// The blocks that some steps read, in order, of tokens 0, 1, 2 and so on:
  /// each is checked to be a block with its labels.
  static std::vector<uint64_t> blocksOf(const Dataset &dataset,
                                        const Shape &shape, uint64_t first,
                                        uint64_t end, uint64_t begin = 0) {
    std::vector<uint64_t> blocks;
    for (uint64_t step = first; step < end; ++step) {
      const auto x = read(dataset, step, 0, shape.batch * shape.sequence),
                 y = read(dataset, step, 1, shape.batch * shape.sequence);
      for (uint64_t row = 0; row < shape.batch; ++row) {
        const uint64_t start = uint64_t(x[row * shape.sequence]);
        for (uint64_t i = 0; i < shape.sequence; ++i) {
          EXPECT_EQ(uint64_t(x[row * shape.sequence + i]), start + i);
          EXPECT_EQ(uint64_t(y[row * shape.sequence + i]), start + i + 1);
        }
        EXPECT_EQ((start - begin) % shape.sequence, 0u);
        blocks.push_back((start - begin) / shape.sequence);
      }
    }
    return blocks;
  }
  /// A file of the tokens from 0 on.
  std::string count(uint64_t tokens, const std::string &name = "c.u32") const {
    std::vector<uint64_t> all(tokens);
    std::iota(all.begin(), all.end(), uint64_t(0));
    put(name, pack(all, 4));
    return "tokens:" + path(name);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

// Each kind of file, alone, with the same tokens.
TEST_F(TokensTest, EveryKindOfFile) {
  const std::vector<uint64_t> small = {3, 1, 4, 1, 5, 9, 2, 6, 5},
                              large = {3, 200, 4, 65535, 5, 9, 2, 6, 40000},
                              huge = {3, 70000, 4, 65535, 5, 9, 2, 6, 1 << 19};
  struct Case {
    const char *name;
    const std::vector<uint64_t> &tokens;
    std::string content;
  };
  const auto array = [](const char *type, const auto &tokens, size_t width) {
    return npy(type, "(9,)", pack(tokens, width));
  };
  const Case cases[] = {
      {"a.bin", large, pack(large, 2)},
      {"a.u16", large, pack(large, 2)},
      {"a.u16.bin", large, pack(large, 2)},
      {"a.u32", huge, pack(huge, 4)},
      {"a.u32.bin", huge, pack(huge, 4)},
      {"u1.npy", small, array("|u1", small, 1)},
      {"i1.npy", small, array("|i1", small, 1)},
      {"i2.npy", small, array("<i2", small, 2)},
      {"u2.npy", large, array("<u2", large, 2)},
      {"i4.npy", huge, array("<i4", huge, 4)},
      {"u4.npy", huge, array("<u4", huge, 4)},
      {"i8.npy", huge, array("<i8", huge, 8)},
  };
  for (const Case &its : cases)
    for (bool isTimeMajor : {false, true}) {
      put(its.name, its.content);
      const Shape shape = {2, 4, 1 << 20, isTimeMajor};
      const auto dataset =
          open("tokens:" + path(its.name), shape, {0, /*shuffle=*/false});
      ASSERT_TRUE(dataset);
      for (size_t tensor : {0, 1}) {
        const std::vector<int32_t> found = read(*dataset, 5, tensor, 8);
        for (size_t row = 0; row < 2; ++row)
          for (size_t i = 0; i < 4; ++i)
            EXPECT_EQ(uint64_t(found[isTimeMajor ? 2 * i + row : 4 * row + i]),
                      its.tokens[4 * row + i + tensor])
                << its.name;
      }
    }
}

// A folder is one stream in the order of names, whatever else lies in it; a
// sequence may cross files, also several, and more than stay open.
TEST_F(TokensTest, AFolderIsOneStream) {
  std::mt19937_64 random(2);
  for (const size_t files : {1, 2, 7, 300}) {
    std::filesystem::create_directory(path("f"));
    uint64_t next = 0;
    for (size_t file = 0; file < files; ++file) {
      std::vector<uint64_t> tokens(file == 0 ? 9 : random() % 12);
      for (uint64_t &token : tokens)
        token = next++;
      char name[32];
      std::snprintf(name, sizeof(name), "f/part-%04zu", file);
      const std::string size = "(" + std::to_string(tokens.size()) + ",)";
      if (file % 3 == 0)
        put(std::string(name) + ".bin", pack(tokens, 2));
      else if (file % 3 == 1)
        put(std::string(name) + ".npy", npy("<u4", size, pack(tokens, 4)));
      else
        put(std::string(name) + ".u32.bin", pack(tokens, 4));
    }
    put("f/meta.pkl", "no tokens");
    put("f/.part-0000.bin", "hidden and odd");
    const Shape shape = {3, 8};
    const auto dataset =
        open("tokens:" + path("f"), shape, {0, /*shuffle=*/false});
    ASSERT_TRUE(dataset);
    const uint64_t blocks = (next - 1) / 8;
    const std::vector<uint64_t> found =
        blocksOf(*dataset, shape, 0, blocks + 2);
    for (uint64_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i], i % blocks);
    EXPECT_EQ(
        shorten(dataset->describe(blocks), folder),
        "f holds " + std::to_string(next) + " tokens" +
            (files == 1 ? "" : " in " + std::to_string(files) + " files") +
            ": " + std::to_string(blocks) +
            (blocks == 1 ? " block of 8, in order; 1 step of 3 is 3 epochs"
                         : " blocks of 8, in order; " + std::to_string(blocks) +
                               " steps of 3 are 3 epochs"));
    std::filesystem::remove_all(path("f"));
  }
}

TEST_F(TokensTest, FilesThatDoNotFit) {
  const Shape shape = {2, 4, 256};
  struct Case {
    const char *name;
    std::string content;
    const char *message;
  };
  const Case cases[] = {
      {"odd.bin", "1234567",
       "odd.bin: expects tokens of 2 bytes, got 7 bytes, which are no whole "
       "number of them; the file is not whole, or holds something else"},
      {"odd.u32.bin", "123456",
       "odd.u32.bin: expects tokens of 4 bytes, got 6 bytes, which are no "
       "whole number of them; the file is not whole, or holds something else"},
      {"a.tok", "1234",
       "a.tok: expects a name that says how tokens are stored, which ends in "
       ".bin (u16), .u32.bin or .npy, got another"},
      {"short.bin", "12345678",
       "short.bin: expects at least 4 + 1 tokens, got 4"},
      {"empty.bin", "", "empty.bin: expects at least 4 + 1 tokens, got 0"},
      {"two.npy", npy("<i4", "(2, 1)", "12345678"),
       "two.npy: expects tokens, an array of integers with one dimension, got "
       "i32[2, 1]"},
      {"none.npy", npy("<i4", "()", "1234"),
       "none.npy: expects tokens, an array of integers with one dimension, got "
       "i32[]"},
      {"f4.npy", npy("<f4", "(2,)", "12345678"),
       "f4.npy: expects tokens, an array of integers with one dimension, got "
       "f32[2]"},
      {"cut.npy", npy("<u2", "(9,)", "123"),
       "cut.npy: expects 18 bytes of elements for shape [9], got 3"},
  };
  for (const Case &its : cases)
    EXPECT_EQ(refuse("tokens:" + put(its.name, its.content), shape),
              its.message);
  EXPECT_EQ(refuse("tokens:" + path("gone.bin"), shape),
            "gone.bin: cannot open: No such file or directory");
  std::filesystem::create_directory(path("f"));
  put("f/readme", "nothing");
  EXPECT_EQ(refuse("tokens:" + path("f"), shape),
            "f: expects files of tokens (.bin, .u32.bin or .npy) in the "
            "folder, got none");
  put("f/a.bin", "123");
  EXPECT_NE(refuse("tokens:" + path("f"), shape).find("f/a.bin: expects"),
            std::string::npos);
  std::vector<DataTensor> tensors = shape.tensors();
  tensors.pop_back();
  EXPECT_EQ(
      openDataset("tokens:" + put("a.bin", "1234"), tensors).status().code(),
      ExitCode::usage);
}

// A token that the model does not have is named with its file and place.
TEST_F(TokensTest, TokensBeyondTheModel) {
  std::filesystem::create_directory(path("f"));
  put("f/a.bin", pack({1, 2, 3}, 2));
  put("f/b.u32", pack({4, 5, 256, 7, 8}, 4));
  put("f/c.u32", pack({uint64_t(1) << 31, 2, 3}, 4));
  put("n.npy", npy("<i2", "(9,)", pack({1, 2, 3, 4, 0xffff, 6, 7, 8, 9}, 2)));
  const auto message = [&](const std::string &data, uint64_t bound,
                           uint64_t step) {
    const auto dataset =
        open("tokens:" + path(data), {1, 4, bound}, {0, /*shuffle=*/false});
    int32_t out[4];
    const pprt::Status status = dataset->read(step, 1, out);
    EXPECT_EQ(status.ok() ? ExitCode::io : status.code(), ExitCode::io);
    return shorten(status.message(), folder);
  };
  EXPECT_EQ(message("f", 256, 0), "");
  EXPECT_EQ(message("f", 256, 1),
            "f/b.u32: expects integers from 0 to 255 for 'y', got 256 at token "
            "2; give the model a larger vocabulary");
  EXPECT_EQ(message("f", 257, 1), "f/c.u32: expects integers from 0 to 256 for "
                                  "'y', got 2147483648 at token 0; give the "
                                  "model a larger vocabulary");
  // Without a bound what the type can hold.
  EXPECT_EQ(message("f", 0, 1), "f/c.u32: expects integers from 0 to "
                                "2147483647 for 'y', got 2147483648 at token "
                                "0; give the model a larger vocabulary");
  EXPECT_EQ(message("n.npy", 256, 0),
            "n.npy: expects integers from 0 to 255 for 'y', got -1 at token 4; "
            "give the model a larger vocabulary");
}

// One that shrinks while it is read is an error, and no signal. Who does not
// need the rows behind its end does not see it: nothing else is read.
TEST_F(TokensTest, FilesThatShrink) {
  const Shape shape = {1, 4};
  const auto dataset = open(count(4000), shape, {0, /*shuffle=*/false});
  std::filesystem::resize_file(path("c.u32"), 8010);
  int32_t out[4];
  EXPECT_TRUE(dataset->read(400, 0, out).ok());
  const pprt::Status status = dataset->read(500, 0, out);
  EXPECT_EQ(status.code(), ExitCode::io);
  EXPECT_EQ(shorten(status.message(), folder),
            "c.u32: expects 6 more bytes at offset 8010, got the end of the "
            "file");
  const auto half = open(count(4000), {2, 4}, {0, /*shuffle=*/false});
  std::filesystem::resize_file(path("c.u32"), 4 * 8 * 100 + 4 * 5);
  half->keepRows(0, Rows(0, 1));
  EXPECT_TRUE(half->read(100, 0, out).ok());
  half->keepRows(0, Rows(1, 2));
  EXPECT_FALSE(half->read(100, 0, out).ok());
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

TEST_F(TokensTest, EveryBlockOnceAnEpoch) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 25; ++trial) {
    const Shape shape = {1 + random() % 7, 1 + random() % 5};
    const uint64_t blocks = 1 + random() % 40;
    const DataOptions options = {random()};
    const auto dataset =
        open(count(blocks * shape.sequence + 1 + random() % shape.sequence),
             shape, options);
    ASSERT_TRUE(dataset);
    const uint64_t steps = 3 * blocks / shape.batch + 1;
    const auto order = blocksOf(*dataset, shape, 0, steps);
    std::set<std::vector<uint64_t>> epochs;
    for (uint64_t begin = 0; begin + blocks <= order.size(); begin += blocks) {
      std::vector<uint64_t> epoch(order.begin() + ptrdiff_t(begin),
                                  order.begin() + ptrdiff_t(begin + blocks));
      epochs.insert(epoch);
      std::sort(epoch.begin(), epoch.end());
      for (uint64_t block = 0; block < blocks; ++block)
        EXPECT_EQ(epoch[block], block) << "of " << blocks;
    }
    EXPECT_GE(epochs.size(), blocks > 6 ? 3u : 1u) << "another order each time";
    // Another seed has another order; the batch, and where a run resumes, do
    // not matter.
    const auto other = open("tokens:" + path("c.u32"), shape, {random()});
    EXPECT_TRUE(blocks < 10 || blocksOf(*other, shape, 0, steps) != order);
    const Shape single = {1, shape.sequence};
    const auto one = open("tokens:" + path("c.u32"), single, options);
    const uint64_t from = random() % order.size();
    EXPECT_EQ(
        blocksOf(*one, single, from, order.size()),
        std::vector<uint64_t>(order.begin() + ptrdiff_t(from), order.end()));
  }
}

// Rows of a batch are those of the whole batch, for any split over processes.
TEST_F(TokensTest, RowsDoNotDependOnWhoReadsThem) {
  std::mt19937_64 random(4);
  put("text", "the quick brown fox jumps over the lazy dog, and again");
  std::vector<int32_t> values(40 * 3);
  std::iota(values.begin(), values.end(), 0);
  for (const char *name : {"x", "y"})
    ASSERT_TRUE(writeNpy(path(std::string(name) + ".npy"), ElementType_i32,
                         {40, 3}, values.data())
                    .ok());
  for (const std::string &data :
       {count(100), "text:" + path("text"), "npy:" + folder})
    for (int trial = 0; trial < 10; ++trial) {
      const Shape shape = {1 + random() % 9, 3};
      DataOptions options = {random(), /*shuffle=*/true};
      options.holdOut = trial % 2 ? 0.25 : 0;
      const auto whole = open(data, shape, options);
      ASSERT_TRUE(whole);
      for (uint64_t step : {0, 1, 20}) {
        const auto all = read(*whole, step, 0, shape.batch * 3);
        std::vector<int32_t> together;
        for (uint64_t row = 0; row < shape.batch;) {
          const uint64_t end = std::min(shape.batch, row + 1 + random() % 3);
          const auto part = open(data, shape, options);
          part->keepRows(0, Rows(row, end));
          const auto its = read(*part, step, 0, (end - row) * 3);
          together.insert(together.end(), its.begin(), its.end());
          row = end;
        }
        EXPECT_EQ(together, all) << data;
      }
    }
}

// Texts are blocks once they are shuffled.
TEST_F(TokensTest, AShuffledText) {
  std::string text;
  for (int i = 0; i < 101; ++i)
    text += char(i);
  const Shape shape = {4, 5};
  const auto dataset =
      open("text:" + put("t", text), shape, {1, /*shuffle=*/true});
  auto order = blocksOf(*dataset, shape, 0, 5);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (uint64_t block = 0; block < 20; ++block)
    EXPECT_EQ(order[block], block);
  EXPECT_EQ(shorten(dataset->describe(10), folder),
            "t holds 101 bytes: 20 blocks of 5, shuffled; 10 steps of 4 are 2 "
            "epochs");
  EXPECT_EQ(open("text:" + path("t"), shape)->describe(10), "");
}

// Arrays: rows together with their labels, or steps if a file has fewer.
TEST_F(TokensTest, ShuffledArrays) {
  std::vector<int32_t> x(10 * 3), y(10 * 2), once = {7, 8}, each(5 * 2);
  for (int i = 0; i < 30; ++i)
    x[size_t(i)] = 100 * (i / 3) + i % 3;
  for (int i = 0; i < 20; ++i)
    y[size_t(i)] = 100 * (i % 10) + i / 10; // time-major: [2, 10]
  for (int i = 0; i < 10; ++i)
    each[size_t(i)] = i / 2;
  const auto write = [&](const char *name, std::vector<uint64_t> shape,
                         const std::vector<int32_t> &values) {
    ASSERT_TRUE(
        writeNpy(path(name), ElementType_i32, shape, values.data()).ok());
  };
  write("x.npy", {10, 3}, x);
  write("y.npy", {2, 10}, y);
  write("once.npy", {2}, once);
  write("each.npy", {5, 2}, each);
  std::vector<DataTensor> tensors = {
      {"x", Role_input, ElementType_i32, {2, 3}, 0, true, 0},
      {"y", Role_label, ElementType_i32, {2, 2}, 0, true, 1},
      {"once", Role_input, ElementType_i32, {2}, 0, true, -1}};
  for (const bool bySteps : {false, true}) {
    if (bySteps)
      tensors.push_back(
          {"each", Role_input, ElementType_i32, {2}, 0, true, -1});
    DataOptions options = {5, /*shuffle=*/true};
    options.holdOut = 0.2;
    for (const bool heldOut : {false, true}) {
      options.readsHeldOut = heldOut;
      auto opened = openDataset("npy:" + folder, tensors, options);
      ASSERT_TRUE(opened) << opened.status().message();
      const Dataset &dataset = **opened;
      const uint64_t samples = heldOut ? 2 : 8, first = heldOut ? 8 : 0;
      EXPECT_EQ(dataset.samples(), samples);
      std::vector<uint64_t> order;
      for (uint64_t step = 0; step < samples; ++step) { // two epochs
        const auto rows = read(dataset, step, 0, 6),
                   columns = read(dataset, step, 1, 4);
        EXPECT_EQ(read(dataset, step, 2, 2), once);
        for (size_t row = 0; row < 2; ++row) {
          const int32_t sample = rows[3 * row] / 100;
          order.push_back(uint64_t(sample));
          EXPECT_EQ(rows[3 * row + 2], 100 * sample + 2);
          EXPECT_EQ(columns[row], 100 * sample);
          EXPECT_EQ(columns[2 + row], 100 * sample + 1);
        }
        if (bySteps) {
          EXPECT_EQ(order[order.size() - 2] + 1, order.back());
          EXPECT_EQ(read(dataset, step, 3, 2)[0], int32_t(order.back() / 2));
        }
      }
      for (auto begin = order.begin(); begin != order.end();
           begin += ptrdiff_t(samples)) {
        EXPECT_TRUE(heldOut ||
                    !std::is_sorted(begin, begin + ptrdiff_t(samples)));
        std::sort(begin, begin + ptrdiff_t(samples));
        for (uint64_t i = 0; i < samples; ++i)
          EXPECT_EQ(begin[ptrdiff_t(i)], first + i);
      }
      static const char *const kDescriptions[] = {
          "rows, of which the last 2 are held out: 8 rows, shuffled; 10 steps "
          "of 2 are 2.5 epochs",
          "rows, of which the last 2, held out, are read: 2 rows, shuffled; 10 "
          "steps of 2 are 10 epochs",
          "rows, 5 steps, of which the last 1 are held out: 4 steps, shuffled; "
          "10 steps of 1 are 2.5 epochs",
          "rows, 5 steps, of which the last 1, held out, are read: 1 step, "
          "shuffled; 10 steps of 1 are 10 epochs"};
      EXPECT_EQ(shorten(dataset.describe(10), folder),
                std::string("x.npy holds 10 ") +
                    kDescriptions[2 * bySteps + heldOut]);
    }
  }
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

// Two parts that have no token in common, and together all of them.
TEST_F(TokensTest, PartsDoNotOverlap) {
  std::mt19937_64 random(5);
  for (double share : {0.05, 0.29, 0.5, 0.9}) {
    const Shape shape = {2, 3};
    const uint64_t tokens = 100 + random() % 50,
                   kept = uint64_t(std::lround(share * double(tokens)));
    const std::string data = count(tokens);
    for (bool shuffle : {false, true}) {
      DataOptions options = {3, shuffle, share};
      const auto training = open(data, shape, options);
      options.readsHeldOut = true;
      const auto heldOut = open(data, shape, options);
      ASSERT_TRUE(training && heldOut);
      const uint64_t blocks = (tokens - kept - 1) / 3, others = (kept - 1) / 3;
      EXPECT_EQ(training->samples(), blocks);
      EXPECT_EQ(heldOut->samples(), others);
      auto its = blocksOf(*training, shape, 0, (blocks + 1) / 2);
      EXPECT_EQ(*std::max_element(its.begin(), its.end()), blocks - 1);
      its = blocksOf(*heldOut, shape, 0, (others + 1) / 2, tokens - kept);
      EXPECT_EQ(*std::max_element(its.begin(), its.end()), others - 1);
      EXPECT_EQ(shorten(training->describe(1), folder)
                    .find("c.u32 holds " + std::to_string(tokens) +
                          " tokens, of which the last " + std::to_string(kept) +
                          " are held out: " + std::to_string(blocks) +
                          " blocks of 3, "),
                0u)
          << training->describe(1);
    }
  }
  const Shape shape = {2, 30};
  DataOptions options = {0, true, 0.1};
  const std::string data = count(100);
  EXPECT_TRUE(openDataset(data, shape.tensors(), options));
  options.readsHeldOut = true;
  EXPECT_EQ(refuse(data, shape, options),
            "c.u32: expects at least 30 + 1 tokens in the part that --hold-out "
            "keeps, got 10");
  options = {0, true, 0.8};
  EXPECT_EQ(refuse(data, shape, options),
            "c.u32: expects at least 30 + 1 tokens in the part that --hold-out "
            "leaves, got 20");
  options.name = "the text";
  EXPECT_EQ(refuse(data, shape, options).find("the text: expects"), 0u);
}

TEST_F(TokensTest, PartsOfArraysInOrder) {
  std::vector<int32_t> values(19);
  std::iota(values.begin(), values.end(), 0);
  for (const char *name : {"x", "y"})
    ASSERT_TRUE(writeNpy(path(std::string(name) + ".npy"), ElementType_i32,
                         {19, 1}, values.data())
                    .ok());
  DataOptions options = {0, std::nullopt, 0.2};
  const Shape shape = {4, 1};
  const auto training = open("npy:" + folder, shape, options);
  EXPECT_EQ(read(*training, 2, 0, 4), (std::vector<int32_t>{8, 9, 10, 11}));
  EXPECT_EQ(read(*training, 3, 0, 4), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(training->samples(), 12u);
  EXPECT_EQ(shorten(training->describe(7), folder),
            "x.npy holds 19 rows, of which the last 4 are held out: 3 steps of "
            "4, 3 left over; an epoch ends every 3 steps, 2 in all");
  options.readsHeldOut = true;
  EXPECT_EQ(read(*open("npy:" + folder, shape, options), 5, 0, 4),
            (std::vector<int32_t>{15, 16, 17, 18}));
  options = {0, std::nullopt, 0.9};
  EXPECT_EQ(refuse("npy:" + folder, shape, options),
            "x.npy: expects a batch, of 4 rows, in the part that --hold-out "
            "leaves, got 2 of 19 rows");
}

TEST_F(TokensTest, RandomDataHaveNoOrder) {
  const Shape shape = {1, 4, 10};
  EXPECT_EQ(refuse("random", shape, {0, true}, ExitCode::usage),
            "--shuffle expects data from files, as --data=tokens:PATH, got "
            "--data=random, which has no end");
  EXPECT_EQ(refuse("random", shape, {0, std::nullopt, 0.5}, ExitCode::usage),
            "--hold-out expects data from files, as --data=tokens:PATH, got "
            "--data=random, which has no end");
}

// What a checkpoint compares.
TEST_F(TokensTest, FingerprintsDiffer) {
  const Shape shape = {2, 3};
  std::map<uint32_t, std::string> seen;
  const auto expectNew = [&](const std::string &what, const std::string &data,
                             const DataOptions &options) {
    const uint32_t its = *open(data, shape, options)->fingerprint();
    EXPECT_EQ(*open(data, shape, options)->fingerprint(), its) << what;
    EXPECT_TRUE(seen.emplace(its, what).second)
        << what << " looks like " << seen[its];
  };
  const std::string data = count(100);
  DataOptions heldOut = {0, true, 0.2};
  heldOut.readsHeldOut = true;
  expectNew("a file", data, {});
  expectNew("in order", data, {0, false});
  expectNew("a part", data, {0, true, 0.1});
  expectNew("a part in order", data, {0, false, 0.1});
  expectNew("another part", data, {0, true, 0.2});
  expectNew("what is held out", data, heldOut);
  expectNew("a longer file", count(101), {});
  std::filesystem::create_directory(path("f"));
  expectNew("one in a folder", "tokens:" + path("f"),
            (put("f/a.bin", std::string(40, 1)), DataOptions()));
  put("f/b.bin", std::string(40, 2));
  expectNew("two in a folder", "tokens:" + path("f"), {});
  put("f/a.bin", std::string(40, 2));
  put("f/b.bin", std::string(40, 1));
  expectNew("in the other order", "tokens:" + path("f"), {});
  // The seed is compared apart, and the folder may have another name.
  EXPECT_EQ(*open(count(100), shape, {1})->fingerprint(),
            *open(count(100, "d.u32"), shape, {2})->fingerprint());
}
