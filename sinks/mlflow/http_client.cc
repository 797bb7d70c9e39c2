#include "sinks/mlflow/http_client.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "base/net/socket.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::Status failed(const char* doing, int error) {
  return absl::UnavailableError(absl::StrCat(doing, ": ", std::strerror(error)));
}

Socket make_socket() {
  return Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Blocks until the socket is ready for `events`. Errors: DeadlineExceeded; Unavailable.
absl::Status wait(const Socket& socket, short events, const Deadline& deadline, const char* doing) {
  pollfd polled = {socket.get(), events, 0};
  const int ready = poll_until(absl::MakeSpan(&polled, 1), deadline);
  if (ready > 0) return absl::OkStatus();
  if (ready < 0) return failed(doing, errno);
  return absl::DeadlineExceededError(absl::StrCat(doing, ": no time is left"));
}

sockaddr_in address_of(in_addr host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr = host;
  return address;
}

// The answer of the resolver.
struct Lookup {
  Mutex mutex;
  bool finished ABSL_GUARDED_BY(mutex) = false;
  int error ABSL_GUARDED_BY(mutex) = 0;
  std::vector<in_addr> hosts ABSL_GUARDED_BY(mutex);
};

void look_up(const std::string& name, Lookup& lookup) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  MutexLock lock(lookup.mutex);
  lookup.error = error;
  for (const addrinfo* entry = found; error == 0 && entry != nullptr; entry = entry->ai_next) {
    lookup.hosts.push_back(reinterpret_cast<const sockaddr_in*>(entry->ai_addr)->sin_addr);
  }
  if (error == 0) ::freeaddrinfo(found);
  lookup.finished = true;
}

// Returns the addresses of a host. getaddrinfo() has no deadline, so a thread calls it.
absl::StatusOr<std::vector<in_addr>> resolve(const std::string& name, const Deadline& deadline) {
  in_addr literal;
  if (inet_pton(AF_INET, name.c_str(), &literal) == 1) return std::vector<in_addr>{literal};
  // Shared by this function and the thread, which may outlive the call.
  const auto lookup = std::make_shared<Lookup>();
  std::thread([name, lookup] { look_up(name, *lookup); }).detach();
  MutexLock lock(lookup->mutex);
  if (!lookup->mutex.await_for(deadline.left(), [&] { return lookup->finished; })) {
    return absl::DeadlineExceededError("looking up the name: no time is left");
  }
  if (lookup->error != 0) {
    return absl::UnavailableError(
        absl::StrCat("looking up the name: ", ::gai_strerror(lookup->error)));
  }
  return lookup->hosts;
}

absl::Status connect_to(const Socket& socket, in_addr host, int port, const Deadline& deadline) {
  constexpr char kConnecting[] = "connecting";
  if (socket.get() < 0) return failed("making a socket", errno);
  const sockaddr_in address = address_of(host, port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return absl::OkStatus();
  }
  if (errno != EINPROGRESS && errno != EINTR) return failed(kConnecting, errno);
  RETURN_IF_ERROR(wait(socket, POLLOUT, deadline, kConnecting));
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? absl::OkStatus() : failed(kConnecting, error);
}

absl::Status send_bytes(const Socket& socket, absl::string_view bytes, const Deadline& deadline) {
  constexpr char kSending[] = "sending the request";
  while (!bytes.empty()) {
    RETURN_IF_ERROR(wait(socket, POLLOUT, deadline, kSending));
    const ssize_t count = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return failed(kSending, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::StatusOr<HttpResponse> receive(const Socket& socket, size_t most_body_bytes,
                                     const Deadline& deadline) {
  constexpr char kWaiting[] = "waiting for the response";
  HttpResponseReader reader(most_body_bytes);
  char buffer[16384];
  while (!reader.done()) {
    RETURN_IF_ERROR(wait(socket, POLLIN, deadline, kWaiting));
    const ssize_t count = ::recv(socket.get(), buffer, sizeof(buffer), 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return failed(kWaiting, errno);
    const absl::Status status =
        count == 0 ? reader.end() : reader.add({buffer, static_cast<size_t>(count)});
    if (!status.ok()) return absl::UnavailableError(status.message());
    // A server that sends without pause must not outlast the deadline.
    if (!reader.done() && deadline.left() == absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat(kWaiting, ": no time is left"));
    }
  }
  return reader.response();
}

}  // namespace

HttpClient::HttpClient(HttpUrl server, HttpClientOptions options)
    : server_(std::move(server)),
      options_(options),
      address_(absl::StrCat(server_.host, ":", server_.port)) {}

absl::StatusOr<HttpResponse> HttpClient::send(const HttpRequest& request,
                                              absl::Duration limit) const {
  const Deadline deadline(std::min(options_.timeout, limit));
  ASSIGN_OR_RETURN(const std::vector<in_addr> hosts, resolve(server_.host, deadline), address_);
  std::string bytes = absl::StrCat(request.method, " ", server_.path, request.target,
                                   " HTTP/1.1\r\nHost: ", address_,
                                   "\r\nUser-Agent: millrace\r\nAccept: application/json\r\n"
                                   "Connection: close\r\n");
  if (!request.body.empty()) {
    absl::StrAppend(
        &bytes, "Content-Type: application/json\r\nContent-Length: ", request.body.size(), "\r\n");
  }
  absl::StrAppend(&bytes, "\r\n", request.body);
  absl::Status unreached = absl::UnavailableError("the name has no IPv4 address");
  for (const in_addr host : hosts) {
    const Socket socket = make_socket();
    unreached = connect_to(socket, host, server_.port, deadline);
    if (!unreached.ok()) continue;
    // A server may respond, and close the connection, before it has read the whole request.
    const absl::Status sent = send_bytes(socket, bytes, deadline);
    absl::StatusOr<HttpResponse> response = receive(socket, options_.most_response_bytes, deadline);
    if (response.ok()) return response;
    return annotate(sent.ok() ? response.status() : sent, address_);
  }
  return annotate(unreached, address_);
}

}  // namespace millrace
