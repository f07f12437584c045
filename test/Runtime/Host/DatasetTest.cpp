//===- DatasetTest.cpp - NumPy files and data sets ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Files for --data as other programs write them, and broken ones, each refused
// with its reason.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Dataset.h"
#include "pprt/host/Npy.h"
#include "pprt/host/ReadAhead.h"

#include "TestFiles.h"

#include <cmath>
#include <filesystem>

using namespace pprt::host;
using pprt::ExitCode;
using namespace pprt::ppx;

//===----------------------------------------------------------------------===//
// .npy
//===----------------------------------------------------------------------===//

/// A file as numpy.save writes it.
static std::string makeNpy(const std::string &header, const std::string &data,
                           char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  if (version == 2)
    file += std::string(2, '\0');
  return file + header + data;
}

TEST_F(FilesTest, NpyRoundTrip) {
  std::vector<int64_t> values = {1, -2, 3, 4, 5, 1LL << 40};
  ASSERT_TRUE(writeNpy(path("a"), ElementType_i64, {2, 3}, values.data()).ok());
  pprt::Expected<NpyFile> file = NpyFile::open(path("a"));
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_STREQ(file->typeName(), "i64");
  EXPECT_EQ(file->shape(), (std::vector<uint64_t>{2, 3}));
  std::vector<int64_t> read(6);
  EXPECT_TRUE(file->read(0, 6, ElementType_i64, read.data()).ok());
  EXPECT_EQ(read, values);
  std::vector<int32_t> narrow(2);
  EXPECT_TRUE(file->read(1, 2, ElementType_i32, narrow.data()).ok());
  EXPECT_EQ(narrow, (std::vector<int32_t>{-2, 3}));
  EXPECT_EQ(shorten(file->read(4, 2, ElementType_i32, narrow.data()).message(),
                    folder),
            "a: expects integers of 32 bits, got 1099511627776 at element 5");
  EXPECT_EQ(shorten(file->read(0, 1, ElementType_f32, narrow.data()).message(),
                    folder),
            "a: expects elements of type f32, got i64");
}

TEST_F(FilesTest, NpyAsNumPyWritesIt) {
  float value = 0.5;
  std::string data(reinterpret_cast<char *>(&value), 4);
  for (char version : {1, 2}) {
    pprt::Expected<NpyFile> file = NpyFile::open(put(
        "a", makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
                     "   \n",
                     data, version)));
    ASSERT_TRUE(file) << file.status().message();
    double wide = 0;
    EXPECT_TRUE(file->read(0, 1, ElementType_f64, &wide).ok());
    EXPECT_EQ(wide, 0.5);
  }
  EXPECT_TRUE(NpyFile::open(put("a", makeNpy("{\"shape\": (), \"descr\": "
                                             "\"<f4\", \"fortran_order\": "
                                             "False}",
                                             data))));
}

TEST_F(FilesTest, NpyOfTruthValues) {
  const std::string header =
      "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }";
  uint8_t truths[2] = {};
  pprt::Expected<NpyFile> file =
      NpyFile::open(put("a", makeNpy(header, std::string("\1\0", 2))));
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_TRUE(file->read(0, 2, ElementType_i1, truths).ok());
  EXPECT_EQ(truths[0], 1);
  EXPECT_EQ(truths[1], 0);
  int32_t numbers[2];
  EXPECT_EQ(file->read(0, 2, ElementType_i32, numbers).message(),
            path("a") + ": expects elements of type i32, got i1");
  file = NpyFile::open(put("b", makeNpy(header, "\1\2")));
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->read(0, 2, ElementType_i1, truths).message(),
            path("b") + ": expects truth values, bytes of 0 or 1, got others");
}

TEST_F(FilesTest, NpyMalformed) {
  auto message = [&](const std::string &content) {
    pprt::Status status = NpyFile::open(put("a", content)).status();
    EXPECT_EQ(status.code(), ExitCode::io);
    return shorten(status.message(), folder);
  };
  std::string good = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_EQ(message("abc"),
            "a: expects a .npy file of at least 12 bytes, got 3");
  EXPECT_EQ(message("PK\3\4 a zip file"),
            "a: expects the magic bytes \\x93NUMPY, got others");
  EXPECT_EQ(message(makeNpy(good, "12345678", 3)),
            "a: expects version 1 or 2, got 3");
  EXPECT_EQ(message(makeNpy(good, "").substr(0, 40)),
            "a: expects a header of at most 30 bytes, got 55");
  EXPECT_EQ(message(makeNpy(good, "1234567")),
            "a: expects 8 bytes of elements for shape [2], got 7");
  EXPECT_EQ(
      message(makeNpy("{'descr': '>f4', 'fortran_order': False, "
                      "'shape': ()}",
                      "1234")),
      "a: expects elements of type <f2, <f4, <f8, |i1, <i2, <i4, <i8, |u1, "
      "<u2, <u4 or |b1, got "
      "\">f4\"");
  EXPECT_EQ(message(makeNpy("{'descr': '<f4', 'fortran_order': True, "
                            "'shape': ()}",
                            "1234")),
            "a: expects an array in C order, got one in Fortran order");
  EXPECT_EQ(message(makeNpy("{'descr': '<f4', 'fortran_order': False, "
                            "'shape': (4294967296, 4294967296)}",
                            "")),
            "a: expects too many bytes of elements for shape [4294967296, "
            "4294967296], got 0");
  for (const char *header :
       {"", "{", "{}", "{'descr'", "{'descr': }", "[1]",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(99999999999999999999,)}",
        "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}"})
    EXPECT_EQ(message(makeNpy(header, "1234"))
                  .find("a: expects a header with descr, fortran_order and "
                        "shape, got "),
              0u)
        << header;
}

//===----------------------------------------------------------------------===//
// Data sets
//===----------------------------------------------------------------------===//

/// The inputs of a language model with batch B and sequence S.
static std::vector<DataTensor> languageModel(uint64_t batch, uint64_t sequence,
                                             uint64_t vocabulary = 256) {
  return {
      {"tokens", Role_input, ElementType_i32, {batch, sequence}, vocabulary},
      {"labels", Role_label, ElementType_i32, {batch, sequence}, vocabulary}};
}

static std::vector<int32_t> readIntegers(const Dataset &dataset, uint64_t step,
                                         size_t tensor, size_t count) {
  std::vector<int32_t> values(count);
  pprt::Status status = dataset.read(step, tensor, values.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

TEST_F(FilesTest, TextFollowsItsRule) {
  std::string text = "The quick brown fox jumps over the lazy dog.";
  put("t", text);
  const uint64_t batch = 3, sequence = 5;
  auto dataset =
      openDataset("text:" + path("t"), languageModel(batch, sequence));
  ASSERT_TRUE(dataset) << dataset.status().message();
  for (uint64_t step : {0, 1, 2, 7, 1000}) {
    std::vector<int32_t> tokens = readIntegers(**dataset, step, 0, 15);
    std::vector<int32_t> labels = readIntegers(**dataset, step, 1, 15);
    for (uint64_t r = 0; r < batch; ++r) {
      uint64_t o =
          ((step * batch + r) * sequence) % (text.size() - sequence - 1);
      for (uint64_t i = 0; i < sequence; ++i) {
        EXPECT_EQ(tokens[r * sequence + i], text[o + i]);
        EXPECT_EQ(labels[r * sequence + i], text[o + i + 1]);
      }
    }
  }
  // The shortest sufficient text has one window.
  put("t", "abcdefg");
  dataset = openDataset("text:" + path("t"), languageModel(1, 5));
  ASSERT_TRUE(dataset) << dataset.status().message();
  EXPECT_EQ(readIntegers(**dataset, 1, 1, 5),
            (std::vector<int32_t>{'b', 'c', 'd', 'e', 'f'}));
}

TEST_F(FilesTest, TextThatDoesNotFit) {
  put("t", "abcdef");
  std::string text = "text:" + path("t");
  auto message = [&](std::vector<DataTensor> tensors, ExitCode code) {
    auto dataset = openDataset(text, tensors);
    EXPECT_EQ(dataset.status().code(), code);
    return shorten(dataset.status().message(), folder);
  };
  EXPECT_EQ(message(languageModel(2, 5), ExitCode::io),
            "t: expects a text of at least 5 + 2 bytes, got 6");
  std::vector<DataTensor> tensors = languageModel(2, 3);
  tensors[0].element = ElementType_f32;
  EXPECT_EQ(message(tensors, ExitCode::usage),
            "--data=text:t expects a model with one input and one label, both "
            "integers of shape [batch, sequence] or, as their pp.dims say, "
            "[sequence, batch], got input 'tokens' f32[2, "
            "3], label 'labels' i32[2, 3]");
  tensors.pop_back();
  EXPECT_NE(message(tensors, ExitCode::usage), "");
  // A byte that the vocabulary does not have.
  auto dataset = openDataset(text, languageModel(1, 2, 'b'));
  ASSERT_TRUE(dataset);
  int32_t out[2];
  EXPECT_EQ(shorten((*dataset)->read(0, 0, out).message(), folder),
            "t: expects integers from 0 to 97 for 'tokens', got 98 at byte 1; "
            "give the model a larger vocabulary");
}

TEST_F(FilesTest, NpyIsConsumedInOrder) {
  std::vector<int64_t> tokens = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<int32_t> labels = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(
      writeNpy(path("tokens.npy"), ElementType_i64, {4, 2}, tokens.data())
          .ok());
  ASSERT_TRUE(
      writeNpy(path("labels.npy"), ElementType_i32, {4, 2}, labels.data())
          .ok());
  auto dataset = openDataset("npy:" + folder, languageModel(2, 2));
  ASSERT_TRUE(dataset) << dataset.status().message();
  EXPECT_EQ(readIntegers(**dataset, 1, 0, 4),
            (std::vector<int32_t>{4, 5, 6, 7}));
  EXPECT_EQ(readIntegers(**dataset, 0, 1, 4),
            (std::vector<int32_t>{1, 2, 3, 4}));

  // Afterwards it starts again.
  EXPECT_EQ(readIntegers(**dataset, 5, 0, 4),
            (std::vector<int32_t>{4, 5, 6, 7}));
  EXPECT_EQ(shorten((*dataset)->describe(2), folder),
            "tokens.npy holds 4 rows: 2 steps of 2");
  EXPECT_EQ(shorten((*dataset)->describe(5), folder),
            "tokens.npy holds 4 rows: 2 steps of 2; an epoch ends every 2 "
            "steps, 2 in all");
  dataset = openDataset("npy:" + folder, languageModel(3, 2));
  EXPECT_EQ(shorten((*dataset)->describe(1), folder),
            "tokens.npy holds 4 rows: 1 step of 3, 1 left over");
}

// Rows of a batch equal those of the whole batch, for every kind of data set.
TEST_F(FilesTest, RowsOfABatch) {
  std::vector<int32_t> values(9 * 4);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = int32_t(i);
  for (const char *name : {"tokens", "labels"})
    ASSERT_TRUE(writeNpy(path(std::string(name) + ".npy"), ElementType_i32,
                         {9, 4}, values.data())
                    .ok());
  put("text", "the quick brown fox jumps over the lazy dog");
  for (const std::string &data :
       {"npy:" + folder, "text:" + path("text"), std::string("random")}) {
    std::vector<DataTensor> tensors = languageModel(3, 4);
    for (DataTensor &tensor : tensors)
      tensor.bound = 256;
    const auto whole = openDataset(data, tensors, {7}),
               part = openDataset(data, tensors, {7});
    ASSERT_TRUE(whole && part) << whole.status().message();
    pprt::Rows apart(0, 1);
    apart.add({2, 3});
    for (const pprt::Rows &rows :
         {pprt::Rows(1, 3), pprt::Rows(), pprt::Rows(0, 3), apart})
      for (size_t tensor : {0, 1})
        for (uint64_t step : {0, 1, 5}) {
          (*part)->keepRows(tensor, rows);
          std::vector<int32_t> all(12), some(rows.count() * 4), expected;
          ASSERT_TRUE((*whole)->read(step, tensor, all.data()).ok());
          ASSERT_TRUE((*part)->read(step, tensor, some.data()).ok());
          for (const pprt::RowRange &range : rows.ranges())
            expected.insert(expected.end(),
                            all.begin() + ptrdiff_t(range.begin * 4),
                            all.begin() + ptrdiff_t(range.end * 4));
          EXPECT_EQ(some, expected) << data << " " << rows.print();
        }
  }
}

// Time-major: the same samples, from files with the model's layout.
TEST_F(FilesTest, TheBatchIsWhereItIs) {
  const auto value = [](size_t sample, size_t place) {
    return int32_t(10 * sample + place);
  };
  std::vector<int32_t> rows, columns;
  for (size_t sample = 0; sample < 9; ++sample)
    for (size_t place = 0; place < 4; ++place)
      rows.push_back(value(sample, place));
  for (size_t place = 0; place < 4; ++place)
    for (size_t sample = 0; sample < 9; ++sample)
      columns.push_back(value(sample, place));
  const std::vector<int32_t> once = {5, 6}, steps = {1, 2, 3, 4, 5, 6};
  std::vector<DataTensor> tensors = {
      {"rows", Role_input, ElementType_i32, {3, 4}, 0, true, 0},
      {"columns", Role_label, ElementType_i32, {4, 3}, 0, true, 1},
      {"once", Role_input, ElementType_i32, {2}, 0, true, -1},
      {"steps", Role_input, ElementType_i32, {2}, 0, true, -1}};
  const auto write = [&](const char *name, std::vector<uint64_t> shape,
                         const std::vector<int32_t> &values) {
    ASSERT_TRUE(writeNpy(path(std::string(name) + ".npy"), ElementType_i32,
                         shape, values.data())
                    .ok());
  };
  write("rows", {9, 4}, rows);
  write("columns", {4, 9}, columns);
  write("once", {2}, once);
  write("steps", {3, 2}, steps);
  auto npy = openDataset("npy:" + folder, tensors);
  ASSERT_TRUE(npy) << npy.status().message();
  (*npy)->keepRows(1, pprt::Rows(1, 3));
  for (uint64_t step : {0, 2, 4}) {
    const std::vector<int32_t> found = readIntegers(**npy, step, 1, 8),
                               whole = readIntegers(**npy, step, 0, 12);
    for (size_t place = 0; place < 4; ++place)
      for (size_t kept : {0, 1}) {
        EXPECT_EQ(found[2 * place + kept], whole[4 * (1 + kept) + place]);
        EXPECT_EQ(whole[4 * (1 + kept) + place],
                  value(step % 3 * 3 + 1 + kept, place));
      }
    EXPECT_EQ(readIntegers(**npy, step, 2, 2), once);
    EXPECT_EQ(readIntegers(**npy, step, 3, 2)[0], steps[step % 3 * 2]);
  }
  // The same for text of both kinds.
  put("text", "the quick brown fox jumps over the lazy dog");
  const auto major = [&](std::vector<uint64_t> shape, int32_t batch) {
    std::vector<DataTensor> pair = languageModel(3, 4);
    for (DataTensor &tensor : pair) {
      tensor.bound = 256;
      tensor.shape = shape;
      tensor.batch = batch;
    }
    return openDataset("text:" + path("text"), pair);
  };
  const auto first = major({3, 4}, 0), second = major({4, 3}, 1);
  ASSERT_TRUE(first && second);
  const std::vector<int32_t> a = readIntegers(**first, 1, 1, 12),
                             b = readIntegers(**second, 1, 1, 12);
  for (size_t row = 0; row < 3; ++row)
    for (size_t place = 0; place < 4; ++place)
      EXPECT_EQ(a[4 * row + place], b[3 * place + row]);
  // A file that does not fit is refused with the shape that would.
  const auto refused = [&](std::vector<uint64_t> shape, size_t tensor) {
    write(tensors[tensor].name.c_str(), shape, rows);
    const auto dataset = openDataset("npy:" + folder, tensors);
    return dataset ? "" : shorten(dataset.status().message(), folder);
  };
  EXPECT_EQ(refused({9, 4}, 1),
            "columns.npy: expects shape [4, 3] or more rows in dimension "
            "1, at least one batch, for 'columns', got [9, 4]");
  write("columns", {4, 9}, columns);
  EXPECT_EQ(refused({4}, 2), "once.npy: expects shape [2], or one more "
                             "dimension in front, a step each, for 'once', "
                             "got [4]");
}

/// One input of 2 x 2 integers that is loaded.
static ArtifactT makeLoader() {
  ArtifactT artifact;
  artifact.arguments.push_back(std::make_unique<ArgumentT>());
  artifact.arguments[0]->name = "tokens";
  artifact.arguments[0]->role = Role_input;
  artifact.arguments[0]->element = ElementType_i32;
  artifact.arguments[0]->shape = {2, 2};
  artifact.programs.push_back(std::make_unique<ProgramT>());
  ProgramT &program = *artifact.programs[0];
  program.body.push_back(std::make_unique<CallT>());
  program.routines.push_back(std::make_unique<RoutineT>());
  program.routines[0]->instructions.push_back(std::make_unique<InstructionT>());
  program.routines[0]->instructions[0]->opcode = Opcode_load;
  return artifact;
}

TEST_F(FilesTest, BatchesAreReadAheadInTheirOrder) {
  const std::vector<int32_t> tokens = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  ASSERT_TRUE(
      writeNpy(path("tokens.npy"), ElementType_i32, {6, 2}, tokens.data())
          .ok());
  auto batches = Batches::open("npy:" + folder, makeLoader());
  ASSERT_TRUE(batches) << batches.status().message();
  for (uint64_t count : {0, 1, 7}) {
    ReadAhead ahead(*batches, 0, count);
    Batch expected, found;
    for (uint64_t step = 0; step < count; ++step) {
      ASSERT_TRUE(batches->read(step, expected).ok());
      EXPECT_TRUE(ahead.isReady(std::chrono::seconds(20)));
      ASSERT_TRUE(ahead.next(found).ok());
      EXPECT_EQ(found, expected) << "step " << step;
    }
  }
  // Batches that are never requested are dropped.
  ReadAhead(*batches, 0, 1000);

  // A batch that cannot be read fails in its turn, and then always.
  std::filesystem::resize_file(path("tokens.npy"),
                               get("tokens.npy").size() - 1);
  ReadAhead ahead(*batches, 0, 7);
  Batch found;
  EXPECT_TRUE(ahead.next(found).ok());
  EXPECT_TRUE(ahead.next(found).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ahead.next(found).code(), ExitCode::io);
}

TEST_F(FilesTest, NpyThatDoesNotFit) {
  const std::vector<int32_t> values(12);
  auto write = [&](const char *name, std::vector<uint64_t> shape) {
    ASSERT_TRUE(
        writeNpy(path(name), ElementType_i32, shape, values.data()).ok());
  };
  write("tokens.npy", {4, 2});
  write("labels.npy", {4, 2});
  auto message = [&](const std::vector<DataTensor> &tensors) {
    auto opened = openDataset("npy:" + folder, tensors);
    EXPECT_EQ(opened.status().code(), ExitCode::io);
    return shorten(opened.status().message(), folder);
  };
  EXPECT_EQ(message(languageModel(5, 2)),
            "tokens.npy: expects shape [5, 2] or more rows, at least one "
            "batch, for 'tokens', got [4, 2]");
  EXPECT_EQ(message(languageModel(2, 3)),
            "tokens.npy: expects shape [2, 3] or more rows, at least one "
            "batch, for 'tokens', got [4, 2]");
  std::vector<DataTensor> tensors = languageModel(2, 2);
  tensors[1].element = ElementType_f32;
  EXPECT_EQ(message(tensors),
            "labels.npy: expects elements of type f32, got i32");
  tensors[1].name = "targets";
  EXPECT_EQ(message(tensors),
            "targets.npy: cannot open: No such file or directory");
  // A tensor that is not used needs no file.
  tensors[1].isUsed = false;
  auto dataset = openDataset("npy:" + folder, tensors);
  ASSERT_TRUE(dataset) << dataset.status().message();
  std::vector<float> zeros(4, 1);
  EXPECT_TRUE((*dataset)->read(0, 1, zeros.data()).ok());
  EXPECT_EQ(zeros, std::vector<float>(4));
  write("labels.npy", {6, 2});
  EXPECT_EQ(message(languageModel(2, 2)),
            "labels.npy: expects as many rows as tokens.npy, 4, got 6");
  // The rows of a step may be more or fewer in each file.
  tensors = languageModel(2, 2);
  tensors[1].shape = {1, 2};
  EXPECT_EQ(message(tensors),
            "labels.npy: expects as many steps as tokens.npy holds, which are "
            "2 (4 rows, 2 a step), got 6 rows, 1 a step");
}

TEST(Dataset, RandomStaysInRangeAndRepeats) {
  std::vector<DataTensor> tensors = languageModel(64, 16, 10);
  tensors.push_back({"x", Role_input, ElementType_f32, {1024}, 0});
  auto dataset = openDataset("random", tensors, {5});
  ASSERT_TRUE(dataset) << dataset.status().message();
  std::vector<int32_t> tokens = readIntegers(**dataset, 3, 0, 1024);
  std::vector<int> histogram(10);
  for (int32_t token : tokens) {
    ASSERT_TRUE(token >= 0 && token < 10);
    ++histogram[token];
  }
  for (int count : histogram)
    EXPECT_NEAR(count, 102.4, 50);
  EXPECT_EQ(tokens, readIntegers(**dataset, 3, 0, 1024));
  EXPECT_NE(tokens, readIntegers(**dataset, 4, 0, 1024));
  EXPECT_NE(tokens, readIntegers(**dataset, 3, 1, 1024));
  EXPECT_NE(tokens,
            readIntegers(**openDataset("random", tensors, {6}), 3, 0, 1024));
  std::vector<float> values(1024);
  ASSERT_TRUE((*dataset)->read(0, 2, values.data()).ok());
  double sum = 0;
  for (float value : values) {
    EXPECT_LE(std::fabs(value), 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 1024, 0, 0.1);
}

TEST(Dataset, UnknownKindsAreUsageErrors) {
  for (const char *specification :
       {"", "text", "text:", "npy", "csv:file", "random:", "randomness"}) {
    auto dataset = openDataset(specification, {});
    EXPECT_EQ(dataset.status().code(), ExitCode::usage) << specification;
    EXPECT_EQ(
        dataset.status().message(),
        std::string(
            "--data expects text:FILE, tokens:PATH, npy:DIR or random, got '") +
            specification + "'");
  }
  auto dataset = openDataset("random", languageModel(1, 1, 0));
  EXPECT_EQ(dataset.status().code(), ExitCode::usage);
  EXPECT_EQ(
      dataset.status().message(),
      "--data=random expects a known bound (pp.bound) for the integers of "
      "'tokens', got none; give it files");
}
