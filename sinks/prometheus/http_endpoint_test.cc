#include "sinks/prometheus/http_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client of the endpoint.
class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Client() { ::close(socket_); }

  void send(const std::string& bytes) { ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Everything up to the end of the connection.
  std::string receive() {
    std::string all;
    char buffer[4096];
    for (ssize_t count; (count = ::recv(socket_, buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(count));
    }
    return all;
  }

 private:
  const int socket_;
};

class HttpEndpointTest : public testing::Test {
 protected:
  void SetUp() override { start(absl::Seconds(20)); }
  void start(absl::Duration client_timeout) {
    ASSERT_OK_AND_ASSIGN(endpoint_, HttpEndpoint::start({.client_timeout = client_timeout},
                                                        [this] { return page_; }));
  }
  std::string ask(const std::string& request) {
    Client client(endpoint_->port());
    client.send(request);
    return client.receive();
  }
  std::string page_ = "loss 0.5\n";
  std::unique_ptr<HttpEndpoint> endpoint_;
};

TEST_F(HttpEndpointTest, ServesThePage) {
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"),
                    HasSubstr("\r\nContent-Length: 9\r\n"), EndsWith("\r\n\r\nloss 0.5\n")));
  EXPECT_THAT(ask("GET /metrics?a=b HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("HEAD /metrics HTTP/1.1\r\n\r\n"), EndsWith("\r\n\r\n"));
  page_ = std::string(10'000'000, 'x');
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\n\r\n").size(), testing::Gt(page_.size()));
}

TEST_F(HttpEndpointTest, RefusesOtherRequests) {
  EXPECT_THAT(ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask("POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask("hello\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\nX: " + std::string(9000, 'x')),
              StartsWith("HTTP/1.1 431"));
}

TEST_F(HttpEndpointTest, IdleAndSlowClientsDoNotDelayOthers) {
  page_ = std::string(10'000'000, 'x');
  start(absl::InfiniteDuration());
  const Client silent(endpoint_->port());
  Client slow(endpoint_->port());
  slow.send("GET /met");
  Client reads_late(endpoint_->port());
  reads_late.send("GET /metrics HTTP/1.1\r\n\r\n");
  const std::string answer = ask("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(answer.size(), testing::Gt(page_.size()));
  slow.send("rics HTTP/1.1\r\n\r\n");
  EXPECT_EQ(slow.receive(), answer);
  EXPECT_EQ(reads_late.receive(), answer);
}

TEST_F(HttpEndpointTest, DisconnectsASlowClient) {
  start(absl::Milliseconds(300));
  Client slow(endpoint_->port());
  slow.send("GET /met");
  EXPECT_EQ(slow.receive(), "");
}

TEST_F(HttpEndpointTest, ClosesTheOldestOfManyConnections) {
  start(absl::InfiniteDuration());
  Client oldest(endpoint_->port());
  std::vector<std::unique_ptr<Client>> others;
  for (int i = 0; i < 64; ++i) others.push_back(std::make_unique<Client>(endpoint_->port()));
  EXPECT_EQ(oldest.receive(), "");
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  others.back()->send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(others.back()->receive(), StartsWith("HTTP/1.1 200"));
}

// A clock that goes back by an hour at each reading of the time of day.
class SetBackClock : public Clock {
 public:
  absl::Time now() const override { return real().now() - absl::Hours(++reads_); }
  absl::Duration elapsed() const override { return real().elapsed(); }
  void sleep(absl::Duration duration) override { real().sleep(duration); }

 private:
  mutable std::atomic<int> reads_ = 0;
};

TEST(HttpEndpointClockTest, AClockThatIsSetBackGivesASlowClientNoTime) {
  const SetBackClock clock;
  ASSERT_OK_AND_ASSIGN(
      const auto endpoint,
      HttpEndpoint::start({.client_timeout = absl::Milliseconds(300), .clock = &clock},
                          [] { return std::string("loss 0.5\n"); }));
  Client slow(endpoint->port());
  slow.send("GET /met");
  EXPECT_EQ(slow.receive(), "");
}

TEST_F(HttpEndpointTest, EndsWhileClientsWait) {
  start(absl::Milliseconds(300));
  Client silent(endpoint_->port());
  std::vector<std::unique_ptr<Client>> queued;
  for (int i = 0; i < 20; ++i) queued.push_back(std::make_unique<Client>(endpoint_->port()));
  endpoint_.reset();
  EXPECT_EQ(silent.receive(), "");
}

TEST_F(HttpEndpointTest, WhatCannotBeListenedOnIsAnError) {
  EXPECT_THAT(HttpEndpoint::start({.port = endpoint_->port()}, nullptr).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(absl::StrCat("127.0.0.1:", endpoint_->port())),
                             HasSubstr("choose another port"))));
  EXPECT_THAT(HttpEndpoint::start({.address = "203.0.113.1"}, nullptr).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("203.0.113.1")));
  EXPECT_THAT(HttpEndpoint::start({.address = "localhost"}, nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(HttpEndpoint::start({.port = 65536}, nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("port is 65536")));
}

}  // namespace
}  // namespace millrace
