#include "base/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kGet[] = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";

// A client of the server.
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
  // Returns everything up to `end` or the end of the connection.
  std::string receive(const std::string& end = "") {
    std::string all;
    char buffer[4096];
    while (end.empty() || !absl::EndsWith(all, end)) {
      const ssize_t count = ::recv(socket_, buffer, sizeof(buffer), 0);
      if (count <= 0) break;
      all.append(buffer, static_cast<size_t>(count));
    }
    return all;
  }

 private:
  const int socket_;
};

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override { start({.client_timeout = absl::Seconds(20)}); }
  void start(const HttpServerOptions& options) {
    ASSERT_OK_AND_ASSIGN(server_, HttpServer::start(options, [this](const auto& request) {
                           if (request.target == "/throw") throw std::runtime_error("thrown");
                           return HttpReply{.body = request.method == "POST" ? request.body : page_,
                                            .content_type = "text/html"};
                         }));
  }
  std::string ask(const std::string& request) {
    Client client(server_->port());
    client.send(request);
    return client.receive();
  }

  std::string page_ = "loss 0.5\n";
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, SendsTheReplyOfTheHandler) {
  EXPECT_EQ(ask(kGet),
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n"
            "Connection: close\r\n\r\nloss 0.5\n");
  EXPECT_THAT(ask("GET / HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\nloss 0.5\n"));
  EXPECT_THAT(ask("HEAD / HTTP/1.1\r\n\r\n"),
              AllOf(HasSubstr("\r\nContent-Length: 9\r\n"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcd"), EndsWith("\r\n\r\nabc"));
  page_ = std::string(10'000'000, 'x');
  EXPECT_THAT(ask(kGet).size(), testing::Gt(page_.size()));
}

TEST_F(HttpServerTest, RefusesInvalidRequests) {
  start({.client_timeout = absl::Seconds(20), .most_body_bytes = 3});
  EXPECT_THAT(ask("hello\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400"), EndsWith("\r\n\r\n400 Bad Request\n")));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nX: " + std::string(9000, 'x')), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(ask("GET /throw HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 500"));
}

TEST_F(HttpServerTest, IdleAndSlowClientsDoNotDelayOthers) {
  page_ = std::string(10'000'000, 'x');
  start({.client_timeout = absl::InfiniteDuration()});
  const Client silent(server_->port());
  Client slow(server_->port());
  slow.send("GET /");
  Client reads_late(server_->port());
  reads_late.send(kGet);
  const std::string answer = ask(kGet);
  EXPECT_THAT(answer.size(), testing::Gt(page_.size()));
  slow.send("a HTTP/1.1\r\n\r\n");
  EXPECT_EQ(slow.receive(), answer);
  EXPECT_EQ(reads_late.receive(), answer);
}

TEST_F(HttpServerTest, DisconnectsASlowClient) {
  start({.client_timeout = absl::Milliseconds(300)});
  Client slow(server_->port());
  slow.send("GET /met");
  EXPECT_EQ(slow.receive(), "");
}

TEST_F(HttpServerTest, ClosesTheOldestOfManyConnections) {
  start({.client_timeout = absl::InfiniteDuration()});
  Client oldest(server_->port());
  std::vector<std::unique_ptr<Client>> others;
  for (int i = 0; i < 64; ++i) others.push_back(std::make_unique<Client>(server_->port()));
  EXPECT_EQ(oldest.receive(), "");
  EXPECT_THAT(ask(kGet), StartsWith("HTTP/1.1 200"));
  others.back()->send(kGet);
  EXPECT_THAT(others.back()->receive(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, EndsWhileClientsWait) {
  Client silent(server_->port());
  std::vector<std::unique_ptr<Client>> queued;
  for (int i = 0; i < 20; ++i) queued.push_back(std::make_unique<Client>(server_->port()));
  server_.reset();
  EXPECT_EQ(silent.receive(), "");
}

// Handlers on threads: a slow one delays no other, a connection takes several requests, and drain()
// waits for the reply of the request that was read.
TEST(HttpServerThreadsTest, ConnectionsStayOpenAndDrainWaitsForReplies) {
  Mutex mutex;
  bool released = false, begun = false;
  HttpServerOptions options;
  options.handler_threads = 2;
  options.keep_alive = true;
  options.client_timeout = absl::Seconds(20);
  options.handled_at_once = [](const HttpServerRequest& request) {
    return request.target == "/now";
  };
  ASSERT_OK_AND_ASSIGN(
      const auto server, HttpServer::start(options, [&](const HttpServerRequest& request) {
        MutexLock lock(mutex);
        if (request.target == "/slow") {
          begun = true;
          mutex.await([&] { return released; });
        }
        return HttpReply{.body = absl::StrCat(request.target, request.at_once ? " now" : ""),
                         .headers = {{"Own", "1"}}};
      }));
  Client slow(server->port()), other(server->port());
  slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  {
    MutexLock lock(mutex);
    mutex.await([&] { return begun; });
  }
  for (const std::string target : {"/a", "/now", "/b"}) {
    other.send(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"));
    const std::string body = target == "/now" ? "/now now" : target;
    EXPECT_THAT(other.receive(body), AllOf(HasSubstr("Own: 1"), EndsWith(body)));
  }
  server->drain(absl::ZeroDuration());  // it does not end by itself: a request has no reply yet
  std::thread releases([&] {
    MutexLock lock(mutex);
    released = true;
  });
  server->drain(absl::InfiniteDuration());
  releases.join();
  EXPECT_THAT(slow.receive("/slow"), EndsWith("/slow"));
  // An open connection gets one more reply, which ends it.
  other.send(kGet);
  EXPECT_THAT(other.receive("/a"), HasSubstr("Connection: close"));
}

// The handler is all that is left: nothing else keeps the server's thread.
TEST(HttpServerThreadsTest, DrainSendsTheReplyOfTheOnlyConnection) {
  Mutex mutex;
  bool released = false, begun = false;
  HttpServerOptions options;
  options.handler_threads = 1;
  options.client_timeout = absl::Seconds(20);
  ASSERT_OK_AND_ASSIGN(const auto server,
                       HttpServer::start(options, [&](const HttpServerRequest& request) {
                         MutexLock lock(mutex);
                         begun = true;
                         mutex.await([&] { return released; });
                         return HttpReply{.body = request.target};
                       }));
  Client only(server->port());
  only.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  {
    MutexLock lock(mutex);
    mutex.await([&] { return begun; });
  }
  server->drain(absl::Milliseconds(100));
  {
    MutexLock lock(mutex);
    released = true;
  }
  server->drain(absl::Seconds(20));
  EXPECT_THAT(only.receive("/slow"), EndsWith("/slow"));
}

TEST_F(HttpServerTest, WhatCannotBeListenedOnIsAnError) {
  const auto status = [](const HttpServerOptions& options) {
    return HttpServer::start(options, nullptr).status();
  };
  EXPECT_THAT(status({.port = server_->port()}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(absl::StrCat("127.0.0.1:", server_->port())),
                             HasSubstr("choose another port"))));
  EXPECT_THAT(status({.address = "2001:db8::1", .port = 9464}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("[2001:db8::1]:9464")));
  EXPECT_THAT(status({.address = "localhost"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no IP address")));
  EXPECT_THAT(status({.port = 65536}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("port is 65536")));
  EXPECT_THAT(
      status({.certificate = "none", .key = "none"}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the certificate or its key")));
}

}  // namespace
}  // namespace millrace
