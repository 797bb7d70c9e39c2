#include "sinks/mlflow/http_server_testing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

constexpr char kHeadEnd[] = "\r\n\r\n";
constexpr char kLength[] = "Content-Length: ";

// Returns false at the end of the connection.
bool receive(int client, std::string* bytes) {
  char buffer[16384];
  const ssize_t count = ::recv(client, buffer, sizeof(buffer), 0);
  if (count > 0) bytes->append(buffer, static_cast<size_t>(count));
  return count > 0;
}

}  // namespace

TestResponse http_response(int status, const std::string& body) {
  return {
      absl::StrCat("HTTP/1.1 ", status, " X\r\nContent-Length: ", body.size(), "\r\n\r\n", body)};
}

TestHttpServer::TestHttpServer(Handler handler)
    : handler_(std::move(handler)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener_, generic, size), 0);
  EXPECT_EQ(::listen(listener_, 16), 0);
  EXPECT_EQ(::getsockname(listener_, generic, &size), 0);
  EXPECT_EQ(::pipe(waker_), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TestHttpServer::~TestHttpServer() {
  EXPECT_EQ(::write(waker_[1], "", 1), 1);
  thread_.join();
  for (const int client : hanging_) ::close(client);
  for (const int descriptor : {listener_, waker_[0], waker_[1]}) ::close(descriptor);
}

std::string TestHttpServer::uri() const { return absl::StrCat("http://127.0.0.1:", port_); }

void TestHttpServer::serve() {
  for (;;) {
    pollfd polled[] = {{listener_, POLLIN, 0}, {waker_[0], POLLIN, 0}};
    ::poll(polled, 2, -1);
    if (polled[1].revents != 0) return;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const timeval timeout = {.tv_sec = 5, .tv_usec = 0};  // of a client that stops
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (serve_client(client)) {
      ::close(client);
    } else {
      hanging_.push_back(client);
    }
  }
}

bool TestHttpServer::serve_client(int client) const {
  std::string bytes;
  while (bytes.find(kHeadEnd) == bytes.npos) {
    if (!receive(client, &bytes)) return true;
  }
  const size_t head = bytes.find(kHeadEnd) + 4;
  size_t length = 0;
  if (const size_t place = bytes.find(kLength); place < head) {
    const size_t begin = place + sizeof(kLength) - 1;
    EXPECT_TRUE(absl::SimpleAtoi(bytes.substr(begin, bytes.find('\r', begin) - begin), &length));
  }
  while (bytes.size() < head + length) {
    if (!receive(client, &bytes)) return true;
  }
  const std::vector<std::string> line = absl::StrSplit(bytes.substr(0, bytes.find('\r')), ' ');
  EXPECT_EQ(line.size(), 3) << bytes;
  if (line.size() != 3) return true;
  const TestResponse response =
      handler_({line[0], line[1], bytes.substr(0, head), bytes.substr(head)});
  for (size_t sent = 0; sent < response.bytes.size();) {
    const ssize_t count =
        ::send(client, response.bytes.data() + sent, response.bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return true;
    sent += static_cast<size_t>(count);
  }
  return !response.hangs;
}

}  // namespace millrace
