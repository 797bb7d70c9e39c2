#include "bench/ranks/serving_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// A message is a status code, followed by numbers or by the text of the error.
constexpr size_t kMostBytes = 8 + ServingProcess::kMostNumbers * sizeof(double);

std::string encode(const absl::Status& status, const std::vector<double>& numbers) {
  const auto code = static_cast<int64_t>(status.code());
  std::string bytes(reinterpret_cast<const char*>(&code), sizeof(code));
  if (status.ok()) {
    bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
  } else {
    bytes.append(status.message().data(), status.message().size());
  }
  bytes.resize(std::min(bytes.size(), kMostBytes));
  return bytes;
}

absl::StatusOr<std::vector<double>> decode(const std::string& bytes) {
  int64_t code = 0;
  std::memcpy(&code, bytes.data(), sizeof(code));
  if (code != 0) {
    return absl::Status(static_cast<absl::StatusCode>(code), bytes.substr(sizeof(code)));
  }
  std::vector<double> numbers((bytes.size() - sizeof(code)) / sizeof(double));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), bytes.data() + sizeof(code), numbers.size() * sizeof(double));
  }
  return numbers;
}

// Returns the message; "" if the other side is closed.
std::string receive(int socket) {
  std::string bytes(kMostBytes, '\0');
  ssize_t count = 0;
  do {
    count = recv(socket, bytes.data(), bytes.size(), 0);
  } while (count < 0 && errno == EINTR);
  bytes.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return bytes;
}

bool send_all(int socket, const std::string& bytes) {
  ssize_t count = 0;
  do {
    count = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(bytes.size());
}

// Serves requests in the child until the parent closes the connection.
void serve_all(int socket, const ServingProcess::Make& make) {
  ServingProcess::Serve serve;
  absl::Status status = catch_exceptions("a measuring process", [&]() -> absl::Status {
    absl::StatusOr<ServingProcess::Serve> made = make();
    if (made.ok()) serve = *std::move(made);
    return made.status();
  });
  for (;;) {
    const std::string bytes = receive(socket);
    if (bytes.empty()) return;
    std::vector<int64_t> request(bytes.size() / sizeof(int64_t));
    std::memcpy(request.data(), bytes.data(), bytes.size());
    std::vector<double> numbers;
    if (status.ok()) {
      status = catch_exceptions("a measuring process", [&]() -> absl::Status {
        ASSIGN_OR_RETURN(numbers, serve(request));
        return absl::OkStatus();
      });
    }
    if (!send_all(socket, encode(status, numbers))) return;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServingProcess>> ServingProcess::start(const Make& make) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return absl::UnavailableError(absl::StrCat("socketpair: ", std::strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    const std::string why = std::strerror(errno);
    close(sockets[0]);
    close(sockets[1]);
    return absl::UnavailableError(absl::StrCat("cannot start a process: ", why));
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(sockets[0]);
    if (getppid() == parent) serve_all(sockets[1], make);
    // Calls _exit() and not exit(), because handlers of the parent must not run in the child.
    _exit(0);
  }
  close(sockets[1]);
  return std::unique_ptr<ServingProcess>(new ServingProcess(pid, sockets[0]));
}

ServingProcess::~ServingProcess() {
  finish();
  ended().IgnoreError();
  close(socket_);
}

void ServingProcess::finish() { shutdown(socket_, SHUT_RDWR); }

absl::Status ServingProcess::ended() {
  if (pid_ > 0) {
    while (waitpid(pid_, &how_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  return absl::UnavailableError(
      WIFSIGNALED(how_) ? absl::StrCat("a measuring process was ended by signal ", WTERMSIG(how_))
                        : absl::StrCat("a measuring process ended with code ", WEXITSTATUS(how_)));
}

absl::Status ServingProcess::ask(absl::Span<const int64_t> request) {
  MILLRACE_CHECK(!request.empty() && request.size() <= kMostNumbers);
  const std::string bytes(reinterpret_cast<const char*>(request.data()),
                          request.size() * sizeof(int64_t));
  return send_all(socket_, bytes) ? absl::OkStatus() : ended();
}

absl::StatusOr<std::vector<double>> ServingProcess::answer() {
  const std::string bytes = receive(socket_);
  if (bytes.empty()) return ended();
  return decode(bytes);
}

}  // namespace millrace
