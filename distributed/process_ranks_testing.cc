#include "distributed/process_ranks_testing.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/catch_exceptions.h"
#include "base/log.h"

namespace millrace {
namespace {

// Reads until the other end closes the pipe. Returns false after the deadline.
bool read_all(int descriptor, const Deadline& deadline, std::string* text) {
  while (poll_until(descriptor, POLLIN, deadline)) {
    char buffer[4096];
    const ssize_t count = read(descriptor, buffer, sizeof(buffer));
    if (count <= 0) return true;
    text->append(buffer, count);
  }
  return false;
}

std::string encode(const absl::Status& status) {
  return absl::StrCat(static_cast<int>(status.code()), " ", absl::string_view(status.message()));
}

absl::Status decode(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
  int code = 0;
  if (!absl::SimpleAtoi(parts.first, &code)) return absl::InternalError(text);
  return absl::Status(static_cast<absl::StatusCode>(code), parts.second);
}

}  // namespace

ReservedPort free_port() {
  absl::StatusOr<ReservedPort> port = reserve_port();
  MILLRACE_CHECK(port.ok()) << port.status();
  return *std::move(port);
}

void ChildLink::signal() const {
  const char byte = 's';
  MILLRACE_CHECK(write(descriptor_, &byte, 1) == 1) << "the parent is gone";
}

ProcessRanks::ProcessRanks(int world_size, const Body& body) {
  for (int rank = 0; rank < world_size; ++rank) {
    start({.rank = rank,
           .world_size = world_size,
           .local_rank = rank,
           .local_world_size = world_size,
           .master_address = "127.0.0.1",
           .master_port = port_.number},
          body);
  }
}

ProcessRanks::ProcessRanks(const std::vector<RankEnvironment>& environments, const Body& body) {
  for (const RankEnvironment& environment : environments) start(environment, body);
}

void ProcessRanks::start(const RankEnvironment& environment, const Body& body) {
  int result[2];
  int signals[2];
  MILLRACE_CHECK(pipe(result) == 0 && pipe(signals) == 0) << std::strerror(errno);
  Child child;
  child.result = result[0];
  child.signals = signals[0];
  child.pid = fork();
  MILLRACE_CHECK(child.pid >= 0) << std::strerror(errno);
  if (child.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const ChildLink link(signals[1]);
    const std::string text = encode(catch_exceptions([&] { return body(environment, link); }));
    const bool written = write(result[1], text.data(), text.size()) == text.size();
    // Not exit(), which would run the parent's exit handlers a second time.
    _exit(written ? 0 : 1);
  }
  close(result[1]);
  close(signals[1]);
  children_.push_back(child);
}

ProcessRanks::~ProcessRanks() {
  for (Child& child : children_) {
    if (!child.ended) {
      kill(child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
    }
    close(child.result);
    close(child.signals);
  }
}

bool ProcessRanks::await_signal(int child) {
  const int signals = children_[child].signals;
  char byte = 0;
  return poll_until(signals, POLLIN, Deadline(absl::Minutes(1))) && read(signals, &byte, 1) == 1;
}

void ProcessRanks::send(int child, int signal_number) {
  MILLRACE_CHECK(kill(children_[child].pid, signal_number) == 0) << std::strerror(errno);
}

absl::Status ProcessRanks::wait(int number, absl::Duration limit) {
  Child& child = children_[number];
  if (!child.ended) {
    if (!read_all(child.result, Deadline(limit), &child.text)) {
      return absl::DeadlineExceededError(
          absl::StrCat("child ", number, " still runs after ", absl::FormatDuration(limit)));
    }
    int how = 0;
    waitpid(child.pid, &how, 0);
    child.ended = true;
    if (WIFSIGNALED(how)) {
      child.text = encode(absl::UnknownError(absl::StrCat("killed by signal ", WTERMSIG(how))));
    } else if (WEXITSTATUS(how) != 0) {
      child.text = encode(absl::UnknownError(absl::StrCat("exit code ", WEXITSTATUS(how))));
    }
  }
  return decode(child.text);
}

}  // namespace millrace
