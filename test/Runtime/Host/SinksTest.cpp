//===- SinksTest.cpp - what shows a run while it lasts --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The format of TensorBoard's files by published checksums and bytes written
// out by hand, that of Prometheus by its text and over a connection; curves by
// their sums.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Curve.h"
#include "pprt/host/EventFile.h"
#include "pprt/host/StepServer.h"
#include "pprt/host/WaitingLine.h"

#include "TestFiles.h"

#include <arpa/inet.h>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <sstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace pprt;
using namespace pprt::host;

// RFC 3720, appendix B.4.
TEST(EventFile, ChecksumsAreThoseOfIscsi) {
  std::string ascending(32, 0);
  std::iota(ascending.begin(), ascending.end(), char(0));
  EXPECT_EQ(crc32c(std::string(32, 0)), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(EventFile, RecordsHaveMaskedChecksums) {
  const std::string data(32, '\xff');
  const std::string record = frameRecord(data);
  ASSERT_EQ(record.size(), 8 + 4 + data.size() + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x20\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 32), data);
  uint32_t masked;
  std::memcpy(&masked, record.data() + 44, 4);
  // 0x62a8ab43 rotated by 15 bits to the right, plus 0xa282ead8.
  EXPECT_EQ(masked, 0x5686c551u + 0xa282ead8u);
}

TEST(EventFile, EventsAreProtocolBuffers) {
  const StepReport step = {300, 0.5, 2, {{"a\xff", {1}}, {"n", {2, 3}}}};
  const auto value = [](const std::string &tag, const std::string &bytes) {
    const std::string inner =
        "\x0a" + std::string(1, char(tag.size())) + tag + "\x15" + bytes;
    return "\x0a" + std::string(1, char(inner.size())) + inner;
  };
  const std::string half("\0\0\0\x3f", 4), one("\0\0\x80\x3f", 4),
      two("\0\0\0\x40", 4), three("\0\0\x40\x40", 4);
  // A name that is not UTF-8 would make the message unreadable.
  const std::string summary = value("loss", half) +
                              value("a\xef\xbf\xbd", one) + value("n/0", two) +
                              value("n/1", three) + value("ms", two);
  EXPECT_EQ(printEvent(step, 1.0),
            std::string("\x09\0\0\0\0\0\0\xf0\x3f", 9) + "\x10\xac\x02" +
                "\x2a" + std::string(1, char(summary.size())) + summary);
}

TEST_F(FilesTest, EventsAreInAFolderOfTheirOwn) {
  const auto file = EventFile::create(path("new/folder"));
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_NE((*file)->file().find("new/folder/events.out.tfevents."),
            std::string::npos);
  ASSERT_TRUE((*file)->add({1, 0.5, 2}).ok());
  // The next one is read after it, though it is of the same second, and after
  // one of tomorrow.
  const auto next = EventFile::create(path("new/folder"));
  ASSERT_TRUE(next);
  EXPECT_GT((*next)->file(), (*file)->file());
  put("new/folder/events.out.tfevents.7999999999.host", "");
  const auto last = EventFile::create(path("new/folder"));
  ASSERT_TRUE(last);
  EXPECT_NE((*last)->file().find(".8000000000."), std::string::npos);
  put("plain", "");
  EXPECT_EQ(EventFile::create(path("plain")).status().code(), ExitCode::io);
}

TEST(Curve, IsBoundedAndKeepsSumsAndExtremes) {
  Curve curve(8);
  double sum = 0;
  for (uint64_t step = 1; step <= 1000; ++step) {
    const double value = std::sin(double(step));
    curve.add(step, value);
    sum += value;
  }
  curve.add(1001, NAN); // is left out
  ASSERT_LE(curve.parts().size(), 8u);
  ASSERT_GT(curve.parts().size(), 4u);
  double total = 0, least = 1, most = -1, last = 0;
  uint64_t count = 0;
  for (const Curve::Part &part : curve.parts()) {
    EXPECT_GT(part.step(), last);
    last = part.step();
    total += part.sum;
    count += part.count;
    least = std::min(least, part.least);
    most = std::max(most, part.most);
  }
  EXPECT_EQ(count, 1000u);
  EXPECT_NEAR(total, sum, 1e-9);
  EXPECT_LT(least, -0.9999);
  EXPECT_GT(most, 0.9999);
}

TEST(Curve, SmoothingKeepsLinesAndEnds) {
  Curve curve;
  for (uint64_t step = 1; step <= 400; ++step)
    curve.add(step, double(step) + (step % 2 ? 1 : -1));
  const std::vector<double> smooth = curve.smooth();
  ASSERT_EQ(smooth.size(), 400u);
  EXPECT_EQ(smooth.front(), 2);
  for (size_t i = 10; i < 390; ++i)
    EXPECT_NEAR(smooth[i], double(i + 1), 0.05);
}

TEST(StepServer, ReadsPorts) {
  const auto read = [](std::string_view text) {
    const std::optional<Endpoint> its = parseEndpoint(text);
    return its ? its->host + " " + std::to_string(its->port) : "none";
  };
  EXPECT_EQ(read("9100"), "127.0.0.1 9100");
  EXPECT_EQ(read("0.0.0.0:80"), "0.0.0.0 80");
  EXPECT_EQ(read("[::1]:80"), "::1 80");
  for (const char *text :
       {"", ":80", "host", "host:", "65536", "-1", "::1:80", "80 ", "a:b:80"})
    EXPECT_EQ(read(text), "none") << text;
}

TEST(StepServer, PrintsGauges) {
  EXPECT_EQ(printForPrometheus(nullptr, {"tokens", 9}),
            "# HELP pp_step Steps done.\n# TYPE pp_step gauge\npp_step 0\n"
            "# HELP pp_steps_planned Steps of the whole run.\n"
            "# TYPE pp_steps_planned gauge\npp_steps_planned 9\n");
  StepReport step = {3, NAN, 250, {{"a\"\\\n", {0.5}}, {"n", {1, INFINITY}}}};
  step.itemsPerSecond = 4096;
  step.residentBytes = 1024;
  const std::string text = printForPrometheus(&step, {"tokens", 9});
  for (const char *line :
       {"pp_step 3", "pp_loss NaN", "pp_step_seconds 0.25",
        "pp_tokens_per_second 4096", "pp_resident_bytes 1024",
        "pp_metric{name=\"a\\\"\\\\\\n\"} 0.5",
        "pp_metric{name=\"n\",element=\"1\"} +Inf"})
    EXPECT_NE(text.find("\n" + std::string(line) + "\n"), std::string::npos)
        << line << "\n"
        << text;
}

/// A connection to a server of this machine.
class Reader {
public:
  explicit Reader(const std::string &address)
      : its(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(uint16_t(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    isConnected =
        connect(its, reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 0;
  }
  ~Reader() { close(its); }

  std::string ask(const std::string &request) {
    (void)!send(its, request.data(), request.size(), MSG_NOSIGNAL);
    std::string answer;
    char bytes[256];
    for (ssize_t count; (count = recv(its, bytes, sizeof(bytes), 0)) > 0;)
      answer.append(bytes, size_t(count));
    return answer.substr(0, answer.find('\r'));
  }

  /// Asks, and is gone before it has read all of a long answer.
  void leave(const std::string &request) {
    (void)!send(its, request.data(), request.size(), MSG_NOSIGNAL);
    shutdown(its, SHUT_WR);
    char byte;
    (void)!recv(its, &byte, 1, 0);
  }

  bool isConnected;

private:
  int its;
};

TEST(StepServer, AnswersAndIsNotHeldUp) {
  const auto server = StepServer::listen({"127.0.0.1", 0});
  ASSERT_TRUE(server) << server.status().message();
  const std::string address = (*server)->address();
  ASSERT_TRUE((*server)->add({1, 2, 3}).ok());
  const auto ask = [&](const std::string &request) {
    return Reader(address).ask(request);
  };
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.0 200 OK");
  EXPECT_EQ(ask("GET /metrics?x=1 HTTP/1.0\r\n\r\n"), "HTTP/1.0 200 OK");
  EXPECT_EQ(ask("GET / HTTP/1.0\r\n\r\n"), "HTTP/1.0 404 Not Found");
  EXPECT_EQ(ask("POST /metrics HTTP/1.0\r\n\r\n"),
            "HTTP/1.0 405 Method Not Allowed");
  EXPECT_EQ(ask("\n\n"), "HTTP/1.0 405 Method Not Allowed");
  EXPECT_EQ(ask("GET /metrics HTTP/1.0\r\nX: " + std::string(100000, 'x') +
                "\r\n\r\n"),
            ""); // too long
  // One that says nothing delays the next by a second.
  Reader silent(address);
  ASSERT_TRUE(silent.isConnected);
  EXPECT_EQ(ask("GET /metrics HTTP/1.0\r\n\r\n"), "HTTP/1.0 200 OK");
  // To answer one that is gone is no broken pipe, which would end the process.
  StepReport large = {2, 2, 3, {{"n", std::vector<double>(300000)}}};
  ASSERT_TRUE((*server)->add(large).ok());
  Reader(address).leave("GET /metrics HTTP/1.0\r\n\r\n");
  EXPECT_EQ(ask("GET /metrics HTTP/1.0\r\n\r\n"), "HTTP/1.0 200 OK");
  // The port is taken.
  const auto port = uint16_t(std::stoi(address.substr(address.rfind(':') + 1)));
  const auto second = StepServer::listen({"127.0.0.1", port});
  EXPECT_EQ(second.status().code(), ExitCode::usage);
  EXPECT_NE(second.status().message().find("127.0.0.1:" + std::to_string(port)),
            std::string::npos);
  EXPECT_EQ(StepServer::listen({"no.such.host.invalid", 1}).status().code(),
            ExitCode::usage);
}

TEST(WaitingLine, ComesLateAndGoesAway) {
  using std::chrono::milliseconds;
  std::ostringstream shown, late, hidden;
  {
    const WaitingLine line(shown, "compiling", true, milliseconds(1));
    std::this_thread::sleep_for(milliseconds(300));
  }
  {
    const WaitingLine line(late, "compiling", true, std::chrono::hours(1));
    const WaitingLine none(hidden, "compiling", false, milliseconds(1));
    std::this_thread::sleep_for(milliseconds(10));
  }
  const std::string text = shown.str();
  EXPECT_EQ(text.rfind("\rcompiling ... 1 s\rcompiling ... 2 s\r", 0), 0u)
      << text;
  EXPECT_EQ(text.back(), '\r');
  EXPECT_GE(text.size() - text.find_last_not_of(" \r"), 16u) << text;
  EXPECT_EQ(late.str(), "");
  EXPECT_EQ(hidden.str(), "");
}
