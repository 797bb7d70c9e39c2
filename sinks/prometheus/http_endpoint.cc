#include "sinks/prometheus/http_endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "base/signals/signals.h"

namespace millrace {
namespace {

constexpr size_t kMostConnections = 64;
constexpr int kBacklog = 16;

absl::Status unavailable(const HttpEndpointOptions& options, const char* doing) {
  const int error = errno;
  return absl::UnavailableError(
      absl::StrCat(doing, " ", options.address, ":", options.port, ": ", std::strerror(error),
                   error == EADDRINUSE      ? "; choose another port, or 0 for any free one"
                   : error == EADDRNOTAVAIL ? "; give an address of this machine"
                   : error == EACCES        ? "; choose a port from 1024 on"
                                            : ""));
}

std::string response(const char* status, const std::string& content_type, const std::string& body,
                     bool with_body) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", content_type,
                      "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n",
                      with_body ? body : "");
}

std::string error_response(const char* status) {
  return response(status, "text/plain; charset=utf-8", absl::StrCat(status, "\n"), true);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::start(
    HttpEndpointOptions options, std::function<std::string()> page) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(options.port));
  if (inet_pton(AF_INET, options.address.c_str(), &address.sin_addr) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", options.address, "\" is no IPv4 address; give one such as 127.0.0.1"));
  }
  if (options.port < 0 || options.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("port is ", options.port, "; it must be from 0 to 65535"));
  }
  Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.get() < 0) return unavailable(options, "making a socket for");
  // A restarted job listens again at once, although connections of the old process linger.
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  // getsockname() finds the port that the system chose for port 0. The destructor wakes the thread
  // by the pipe.
  int waker[2];
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), kBacklog) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0 || ::pipe2(waker, O_CLOEXEC) != 0) {
    return unavailable(options, "listening on");
  }
  return std::unique_ptr<HttpEndpoint>(
      new HttpEndpoint(std::move(options), std::move(page), std::move(listener),
                       ntohs(address.sin_port), Socket(waker[0]), Socket(waker[1])));
}

HttpEndpoint::HttpEndpoint(HttpEndpointOptions options, std::function<std::string()> page,
                           Socket listener, int port, Socket waker_read, Socket waker_write)
    : options_(std::move(options)),
      page_(std::move(page)),
      listener_(std::move(listener)),
      port_(port),
      waker_read_(std::move(waker_read)),
      waker_write_(std::move(waker_write)),
      thread_([this] { serve(); }) {}

HttpEndpoint::~HttpEndpoint() {
  while (::write(waker_write_.get(), "", 1) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void HttpEndpoint::serve() {
  block_signals();
  const HttpConnection::Answer answer = [this](const std::string& head) {
    return this->answer(head);
  };
  for (;;) {
    std::vector<pollfd> polled = {{waker_read_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const HttpConnection& connection : connections_) {
      polled.push_back({connection.descriptor(), connection.events(), 0});
    }
    // All connections have equal time-outs, so the oldest connection has the next deadline.
    const Deadline next =
        connections_.empty() ? Deadline::never() : connections_.front().deadline();
    if (poll_until(absl::MakeSpan(polled), next) < 0 || polled[0].revents != 0) return;
    std::deque<HttpConnection> open;
    for (size_t i = 0; i < connections_.size(); ++i) {
      HttpConnection& connection = connections_[i];
      const bool ready = polled[2 + i].revents != 0;
      const bool in_time = connection.deadline().left() > absl::ZeroDuration();
      if (in_time && (!ready || connection.advance(answer))) {
        open.push_back(std::move(connection));
      }
    }
    connections_ = std::move(open);
    if (polled[1].revents != 0) accept();
  }
}

void HttpEndpoint::accept() {
  Socket client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client.get() < 0) {
    // The connection stays in the queue if no descriptor is free, and poll() returns at once.
    if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, 100);
    return;
  }
  if (connections_.size() == kMostConnections) connections_.pop_front();
  connections_.emplace_back(std::move(client), Deadline(options_.client_timeout, *options_.clock));
}

std::string HttpEndpoint::answer(const std::string& head) const {
  if (head.find(HttpConnection::kEndOfHead) == head.npos) {
    return error_response("431 Request Header Fields Too Large");
  }
  const std::vector<std::string> request = absl::StrSplit(head.substr(0, head.find("\r\n")), ' ');
  if (request.size() != 3 || request[2].compare(0, 7, "HTTP/1.") != 0) {
    return error_response("400 Bad Request");
  }
  const std::string path = request[1].substr(0, request[1].find('?'));
  if (path != options_.path) return error_response("404 Not Found");
  const bool get = request[0] == "GET";
  if (!get && request[0] != "HEAD") return error_response("405 Method Not Allowed");
  return response("200 OK", options_.content_type, page_(), get);
}

}  // namespace millrace
