//===- SafeTensorsTest.cpp - Parameter files ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Files as Hugging Face writes them, and broken ones, each refused with its
// reason.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/SafeTensors.h"

#include "TestFiles.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace pprt::host;
using pprt::ExitCode;
using namespace pprt::ppx;

/// A file with this header and as many bytes of data.
static std::string makeFile(const std::string &header, size_t dataBytes) {
  std::string file(8, '\0');
  uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(dataBytes, '\1');
}

template <typename T> static std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

TEST(SafeTensorsNames, AreUtf8AndNoneOfTheFormats) {
  for (const char *name : {"w", "", "h.0.attn", "\xc3\xa9t\xc3\xa9", "a\"b\n"})
    EXPECT_TRUE(checkTensorName("f", name).ok()) << name;
  for (const char *name : {"__metadata__", "w\xff", "\xc3", "\xed\xa0\x80"})
    EXPECT_FALSE(checkTensorName("f", name).ok()) << name;
}

TEST_F(FilesTest, SafeTensorsRoundTrip) {
  std::vector<TensorToStore> tensors = {
      {"b", ElementType_f32, {2, 3}},     {"flag", ElementType_i1, {3}},
      {"wide", ElementType_f64, {}},      {"a", ElementType_f32, {1}},
      {"empty", ElementType_i64, {0, 4}}, {"half", ElementType_bf16, {2}},
      {"count", ElementType_i32, {1}}};
  std::vector<std::string> data = {bytesOf<float>({1, 2, 3, 4, 5, 6}),
                                   std::string("\1\0\1", 3),
                                   bytesOf<double>({M_PI}),
                                   bytesOf<float>({-1}),
                                   "",
                                   bytesOf<uint16_t>({0x3f80, 0xc000}),
                                   bytesOf<int32_t>({7})};
  pprt::Status status =
      writeSafeTensors(path("p"), tensors, [&](size_t i, void *out) {
        std::memcpy(out, data[i].data(), data[i].size());
        return pprt::Status();
      });
  ASSERT_TRUE(status.ok()) << status.message();

  pprt::Expected<SafeTensors> file = SafeTensors::open(path("p"));
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string read(data[i].size(), '\0');
    status = file->read(tensors[i].name, tensors[i].element, tensors[i].shape,
                        read.data());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(read, data[i]) << tensors[i].name;
    uint64_t width = data[i].empty()
                         ? 1
                         : file->find(tensors[i].name)->bytes / data[i].size();
    EXPECT_EQ(file->find(tensors[i].name)->offset % width, 0u);
  }
  EXPECT_LT(file->find("a")->offset, file->find("b")->offset);
}

// A shard equals its part of the whole, even if runs are longer than a piece,
// or far apart.
TEST_F(FilesTest, SafeTensorsReadParts) {
  const std::vector<uint64_t> shape = {1000, 700};
  std::vector<float> whole(700'000);
  for (size_t i = 0; i < whole.size(); ++i)
    whole[i] = float(i);
  ASSERT_TRUE(writeSafeTensors(path("p"), {{"w", ElementType_f32, shape}},
                               [&](size_t, void *out) {
                                 std::memcpy(out, whole.data(), 2'800'000);
                                 return pprt::Status();
                               })
                  .ok());
  const auto file = SafeTensors::open(path("p"));
  ASSERT_TRUE(file.ok());
  std::mt19937 random(5);
  for (const uint64_t longest : {7u, 3000u, 600'000u}) {
    std::vector<double> parts(whole.size(), -1);
    std::vector<float> same(whole.size(), -1);
    std::vector<pprt::ElementRun> runs, sameRuns;
    for (uint64_t at = random() % 9; at < whole.size();) {
      const uint64_t count =
          std::min<uint64_t>(1 + random() % longest, whole.size() - at);
      runs.push_back({at, count, reinterpret_cast<std::byte *>(&parts[at])});
      sameRuns.push_back({at, count, reinterpret_cast<std::byte *>(&same[at])});
      at += count + random() % (2 * longest);
    }
    ASSERT_TRUE(file->read("w", ElementType_f64, shape, runs).ok());
    ASSERT_TRUE(file->read("w", ElementType_f32, shape, sameRuns).ok());
    std::vector<double> expected(whole.size(), -1);
    for (const pprt::ElementRun &run : runs)
      for (uint64_t i = 0; i < run.count; ++i)
        expected[run.first + i] = whole[run.first + i];
    EXPECT_EQ(parts, expected);
    EXPECT_EQ(std::vector<double>(same.begin(), same.end()), expected);
  }
}

TEST_F(FilesTest, SafeTensorsPrefixIsOptional) {
  put("p", makeFile(R"({"transformer.wte":)"
                    R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                    4));
  pprt::Expected<SafeTensors> file = SafeTensors::open(path("p"));
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_NE(file->find("wte"), nullptr);
  EXPECT_NE(file->find("transformer.wte"), nullptr);
  EXPECT_EQ(file->find("wpe"), nullptr);
}

TEST_F(FilesTest, SafeTensorsConvertFloats) {
  std::string header = R"({"h":{"dtype":"F16","shape":[6],)"
                       R"("data_offsets":[0,12]}})";
  std::string file =
      makeFile(header, 0) +
      bytesOf<uint16_t>({0x3c00, 0xc100, 0x0001, 0x7bff, 0xfc00, 0x7e00});
  pprt::Expected<SafeTensors> open = SafeTensors::open(put("p", file));
  ASSERT_TRUE(open) << open.status().message();
  float values[6] = {};
  ASSERT_TRUE(open->read("h", ElementType_f32, {6}, values).ok());
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], -2.5f);
  EXPECT_EQ(values[2], std::ldexp(1.0f, -24));
  EXPECT_EQ(values[3], 65504.0f);
  EXPECT_EQ(values[4], -INFINITY);
  EXPECT_TRUE(std::isnan(values[5]));

  // Just above the middle of two bf16 values, by less than f32 can represent:
  // rounding twice would go down to the even neighbour.
  double wide[3] = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 1e300};
  header = R"({"w":{"dtype":"F64","shape":[3],"data_offsets":[0,24]}})";
  file = makeFile(header, 0) + bytesOf<double>({wide, wide + 3});
  open = SafeTensors::open(put("p", file));
  ASSERT_TRUE(open) << open.status().message();
  uint16_t narrow[3] = {};
  ASSERT_TRUE(open->read("w", ElementType_bf16, {3}, narrow).ok());
  EXPECT_EQ(narrow[0], 0x3f81);
  EXPECT_EQ(narrow[1], 0x3f80);
  EXPECT_EQ(narrow[2], 0x7f80);
  // The same of f16, from 2048 on in steps of two.
  wide[0] = 2049 + 0x1p-30, wide[1] = 2049;
  file = makeFile(header, 0) + bytesOf<double>({wide, wide + 3});
  open = SafeTensors::open(put("p", file));
  ASSERT_TRUE(open) << open.status().message();
  ASSERT_TRUE(open->read("w", ElementType_f16, {3}, narrow).ok());
  EXPECT_EQ(narrow[0], 0x6801);
  EXPECT_EQ(narrow[1], 0x6800);
  EXPECT_EQ(narrow[2], 0x7c00);
}

TEST_F(FilesTest, SafeTensorsThatDoNotFit) {
  put("p", makeFile(R"({"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},)"
                    R"("u":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}})",
                    9));
  pprt::Expected<SafeTensors> file = SafeTensors::open(path("p"));
  ASSERT_TRUE(file) << file.status().message();
  char out[64];
  auto message = [&](const char *name, ElementType element,
                     std::vector<uint64_t> shape) {
    pprt::Status status = file->read(name, element, shape, out);
    EXPECT_EQ(status.code(), ExitCode::badParameters);
    return shorten(status.message(), folder);
  };
  EXPECT_EQ(message("b", ElementType_f32, {2}),
            "p: expects a tensor F32[2] for 'b', got none");
  EXPECT_EQ(message("a", ElementType_i32, {1, 2}),
            "p: expects I32[1, 2] for 'a', got I32[2]");
  EXPECT_EQ(message("a", ElementType_f32, {2}),
            "p: expects F32[2] for 'a', got I32[2]");
  EXPECT_EQ(message("u", ElementType_i32, {1}),
            "p: expects I32[1] for 'u', got U8[1]");
}

TEST_F(FilesTest, SafeTensorsMalformed) {
  auto message = [&](const std::string &content) {
    pprt::Status status = SafeTensors::open(put("p", content)).status();
    EXPECT_EQ(status.code(), ExitCode::badParameters) << content;
    return shorten(status.message(), folder);
  };
  auto entry = [](const std::string &name, const std::string &type,
                  const std::string &shape, const std::string &offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
  };
  std::string good = entry("a", "F32", "[2]", "[0,8]");

  EXPECT_EQ(message("1234"),
            "p: expects a safetensors file of at least 8 bytes, got 4");
  EXPECT_EQ(message(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            "p: expects a safetensors header of at most 2 bytes, got 16: "
            "it is no safetensors file, or a damaged one");
  EXPECT_EQ(message(std::string(8, '\xff') + "{}"),
            "p: expects a safetensors header of at most 2 bytes, got "
            "18446744073709551615: it is no safetensors file, or a damaged "
            "one");
  std::string notJson =
      "p: expects a JSON object of tensors with distinct names as header, got ";
  EXPECT_EQ(message(makeFile("[1]", 0)), notJson + "\"[1]\"");
  EXPECT_EQ(message(makeFile("", 0)), notJson + "\"\"");
  EXPECT_EQ(message(makeFile("{\xff", 0)), notJson + "\"{\xEF\xBF\xBD\"");
  EXPECT_EQ(message(makeFile(R"({"a":{},"a":{}})", 0)),
            notJson + R"("{\"a\":{},\"a\":{}}")");
  EXPECT_NE(message(makeFile("{\"a\":" + std::string(100000, '['), 0)), "");
  EXPECT_NE(message(makeFile("{\"a\":[[[[[]]]]]}", 0)), "");

  std::string forA = " for tensor 'a', got ";
  EXPECT_EQ(message(makeFile(R"({"a":{}})", 0)),
            "p: expects an object with dtype, shape and data_offsets" + forA +
                "{}");
  EXPECT_EQ(message(makeFile("{" + entry("a", "F31", "[2]", "[0,8]") + "}", 8))
                .substr(0, 39),
            "p: expects a known dtype for tensor 'a'");
  for (const char *shape : {"[-2]", "[2.0]", "2", "[[]]", "[\"2\"]"})
    EXPECT_EQ(
        message(makeFile("{" + entry("a", "F32", shape, "[0,8]") + "}", 8))
            .find("p: expects a shape of non-negative integers"),
        0u);
  for (const char *offsets : {"[8,0]", "[0]", "[0,4,8]", "[-8,0]", "8"})
    EXPECT_EQ(
        message(makeFile("{" + entry("a", "F32", "[2]", offsets) + "}", 8))
            .find("p: expects data_offsets [begin, end] with begin <= end"),
        0u);
  for (const char *shape :
       {"[3]", "[4294967296,4294967296]", "[9223372036854775807,2]"})
    EXPECT_EQ(
        message(makeFile("{" + entry("a", "F32", shape, "[0,8]") + "}", 8))
            .find("p: expects as many bytes as dtype and shape need"),
        0u);

  std::string cover8 = "p: expects tensors that cover the 8 bytes after the "
                       "header without overlap or hole, got ";
  EXPECT_EQ(message(makeFile(
                "{" + good + "," + entry("b", "F32", "[1]", "[4,8]") + "}", 8)),
            cover8 + "'b' out of place");
  EXPECT_EQ(message(makeFile("{" + entry("a", "F32", "[1]", "[4,8]") + "}", 8)),
            cover8 + "'a' out of place");
  EXPECT_EQ(message(makeFile("{" + entry("a", "F32", "[1]", "[0,4]") + "}", 8)),
            cover8 + "another end of the last one");
  EXPECT_NE(message(makeFile("{" + good + "}", 7)), "");
  EXPECT_EQ(message(makeFile(R"({"__metadata__":{"a":1}})", 0)),
            "p: expects strings only in __metadata__, got {\"a\":1}");
  EXPECT_EQ(SafeTensors::open(path("missing")).status().code(), ExitCode::io);
}

// With any change of a byte, the reader ends with a value or a Status.
TEST_F(FilesTest, SafeTensorsSurviveFlippedBits) {
  std::string file = makeFile(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],)"
      R"("data_offsets":[0,8]},"b":{"dtype":"I64","shape":[],)"
      R"("data_offsets":[8,16]}})",
      16);
  std::mt19937 random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    std::string mutant = file;
    mutant[random() % mutant.size()] ^= 1 << random() % 8;
    if (trial % 3 == 0)
      mutant.resize(random() % mutant.size());
    pprt::Expected<SafeTensors> read =
        SafeTensors::open(put(std::to_string(trial), mutant));
    EXPECT_TRUE(read || read.status().code() == ExitCode::badParameters);
  }
}

TEST_F(FilesTest, SafeTensorsLeaveNothingHalfWritten) {
  std::vector<TensorToStore> tensors = {{"a", ElementType_f32, {2}},
                                        {"b", ElementType_f32, {2}}};
  pprt::Status status =
      writeSafeTensors(path("p"), tensors, [&](size_t i, void *out) {
        return i == 0 ? pprt::Status()
                      : pprt::Status(ExitCode::rankDied, "rank 3 died");
      });
  EXPECT_EQ(status.code(), ExitCode::rankDied);
  EXPECT_EQ(fileCount(), 0u);
  tensors[1].name = "a";
  status = writeSafeTensors(path("p"), tensors,
                            [](size_t, void *) { return pprt::Status(); });
  EXPECT_EQ(status.code(), ExitCode::badParameters);
  EXPECT_EQ(fileCount(), 0u);
}
