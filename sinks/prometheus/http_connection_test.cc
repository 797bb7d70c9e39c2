#include "sinks/prometheus/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

class HttpConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    client_ = Socket(pair[0]);
    connection_.emplace(Socket(pair[1]), Deadline::never());
  }
  // Sends bytes and lets the connection take them.
  bool send(const std::string& bytes) {
    EXPECT_EQ(::send(client_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return advance();
  }
  bool advance() {
    return connection_->advance([this](const std::string& head) {
      heads_.push_back(head);
      return answer_;
    });
  }
  // Returns what the connection has sent.
  std::string received() {
    std::string all;
    char buffer[4096];
    for (ssize_t count; (count = ::recv(client_.get(), buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(count));
    }
    return all;
  }

  Socket client_;
  std::optional<HttpConnection> connection_;
  std::vector<std::string> heads_;  // requests that were answered
  std::string answer_ = "answer";
};

TEST_F(HttpConnectionTest, AnswersARequestThatArrivesInParts) {
  EXPECT_EQ(connection_->events(), POLLIN);
  EXPECT_TRUE(send("GET / HTTP/1.1\r\n"));
  EXPECT_TRUE(send("\r"));
  EXPECT_TRUE(heads_.empty());
  EXPECT_TRUE(send("\n"));
  EXPECT_THAT(heads_, ElementsAre("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(received(), "answer");
}

TEST_F(HttpConnectionTest, NeverWaits) {
  EXPECT_TRUE(advance());  // nothing to read
  answer_ = std::string(10'000'000, 'x');
  EXPECT_TRUE(send("\r\n\r\n"));
  EXPECT_EQ(connection_->events(), POLLOUT);
  EXPECT_TRUE(advance());  // no room to write
  std::string all;
  while (connection_->events() == POLLOUT) {
    all += received();
    ASSERT_TRUE(advance());
  }
  EXPECT_EQ(all + received(), answer_);
  EXPECT_TRUE(advance());  // nothing to discard
}

TEST_F(HttpConnectionTest, AnswersATooLongRequestOnce) {
  const std::string part(1024, 'x');  // what the connection reads at once
  size_t sent = 0;
  for (; heads_.empty(); sent += part.size()) ASSERT_TRUE(send(part));
  EXPECT_GT(sent, HttpConnection::kMostRequestBytes);
  EXPECT_LE(sent, HttpConnection::kMostRequestBytes + part.size());
  EXPECT_TRUE(send(part));
  EXPECT_EQ(heads_.size(), 1);
  EXPECT_EQ(received(), "answer");
}

TEST_F(HttpConnectionTest, DiscardsTheRestUntilTheClientCloses) {
  EXPECT_TRUE(send("\r\n\r\nbody"));
  EXPECT_EQ(connection_->events(), POLLIN);
  EXPECT_TRUE(send("more"));
  EXPECT_THAT(heads_, ElementsAre("\r\n\r\nbody"));
  client_ = Socket();
  EXPECT_FALSE(advance());
}

TEST_F(HttpConnectionTest, EndsWithTheClient) {
  EXPECT_TRUE(send("GET"));
  client_ = Socket();
  EXPECT_FALSE(advance());
  EXPECT_TRUE(heads_.empty());
}

TEST_F(HttpConnectionTest, AClientThatLeavesDuringTheAnswerEndsIt) {
  answer_ = std::string(10'000'000, 'x');
  EXPECT_TRUE(send("\r\n\r\n"));
  client_ = Socket();
  EXPECT_FALSE(advance());  // without SIGPIPE
}

}  // namespace
}  // namespace millrace
