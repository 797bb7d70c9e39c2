#include "tests/campaigns/traced_child.h"

#include "absl/strings/str_cat.h"

#ifdef __x86_64__

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "base/log.h"

namespace millrace {
namespace {

constexpr unsigned kTracedLifeSeconds = 60;
constexpr int kNotTraced = 77;
constexpr int kSystemCallStop = SIGTRAP | 0x80;

// The argument of a call with the file's name.
enum class Place { kNone, kFd, kPath, kAt };

struct CallEntry {
  long number;
  const char* name;
  Place place;
};

constexpr CallEntry kCalls[] = {
    {SYS_read, "read", Place::kFd},
    {SYS_pread64, "pread64", Place::kFd},
    {SYS_write, "write", Place::kFd},
    {SYS_pwrite64, "pwrite64", Place::kFd},
    {SYS_open, "open", Place::kPath},
    {SYS_openat, "openat", Place::kAt},
    {SYS_close, "close", Place::kFd},
    {SYS_fsync, "fsync", Place::kFd},
    {SYS_fdatasync, "fdatasync", Place::kFd},
    {SYS_sync_file_range, "sync_file_range", Place::kFd},
    {SYS_fallocate, "fallocate", Place::kFd},
    {SYS_ftruncate, "ftruncate", Place::kFd},
    {SYS_flock, "flock", Place::kFd},
    {SYS_fcntl, "fcntl", Place::kFd},
    {SYS_ioctl, "ioctl", Place::kFd},
    {SYS_lseek, "lseek", Place::kFd},
    {SYS_getdents64, "getdents64", Place::kFd},
    {SYS_fstat, "fstat", Place::kFd},
    {SYS_fstatfs, "fstatfs", Place::kFd},
    {SYS_stat, "stat", Place::kPath},
    {SYS_lstat, "lstat", Place::kPath},
    {SYS_statfs, "statfs", Place::kPath},
    {SYS_access, "access", Place::kPath},
    {SYS_rename, "rename", Place::kPath},
    {SYS_unlink, "unlink", Place::kPath},
    {SYS_rmdir, "rmdir", Place::kPath},
    {SYS_mkdir, "mkdir", Place::kPath},
    {SYS_newfstatat, "newfstatat", Place::kAt},
    {SYS_statx, "statx", Place::kAt},
    {SYS_mkdirat, "mkdirat", Place::kAt},
    {SYS_unlinkat, "unlinkat", Place::kAt},
    {SYS_uname, "uname", Place::kNone},
};

const CallEntry* find_call(long number) {
  for (const CallEntry& entry : kCalls) {
    if (entry.number == number) return &entry;
  }
  return nullptr;
}

// Returns a text in the memory of a stopped process.
std::string text_at(pid_t process, unsigned long address) {
  std::string text;
  while (text.size() < PATH_MAX) {
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKDATA, process, address + text.size(), nullptr);
    if (errno != 0) break;
    char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    const size_t length = ::strnlen(bytes, sizeof bytes);
    text.append(bytes, length);
    if (length < sizeof bytes) break;
  }
  return text;
}

std::string path_of_fd(pid_t process, unsigned long fd) {
  char path[PATH_MAX];
  const std::string link = absl::StrCat("/proc/", process, "/fd/", static_cast<int>(fd));
  const ssize_t n = ::readlink(link.c_str(), path, sizeof path);
  return n > 0 ? std::string(path, n) : "";
}

TracedCall describe(pid_t process, const user_regs_struct& registers) {
  TracedCall call;
  call.number = static_cast<long>(registers.orig_rax);
  const CallEntry* const entry = find_call(call.number);
  if (entry == nullptr) return call;
  if (entry->place == Place::kPath) call.path = text_at(process, registers.rdi);
  if (entry->place == Place::kAt) call.path = text_at(process, registers.rsi);
  if (entry->place == Place::kFd || (entry->place == Place::kAt && call.path.empty())) {
    call.path = path_of_fd(process, registers.rdi);
  }
  if (call.number == SYS_rename) call.to = text_at(process, registers.rsi);
  return call;
}

// Follows a process from the first stop to the end.
class Tracer {
 public:
  Tracer(pid_t process, const Disturbance& disturbance)
      : process_(process), disturbance_(disturbance) {}

  TracedLife run() {
    ::ptrace(PTRACE_SETOPTIONS, process_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    int signal = 0;
    while (!life_.finished) {
      ::ptrace(PTRACE_SYSCALL, process_, nullptr, signal);
      if (!wait()) return std::move(life_);
      signal = 0;
      if (WSTOPSIG(life_.status) != kSystemCallStop) {
        signal = WSTOPSIG(life_.status);
      } else if (inside_) {
        leave();
      } else {
        enter();
      }
    }
    ::ptrace(PTRACE_DETACH, process_, nullptr, nullptr);
    ::waitpid(process_, nullptr, 0);
    return std::move(life_);
  }

 private:
  using Kind = Disturbance::Kind;

  // Returns true if the process is alive.
  bool wait() {
    while (::waitpid(process_, &life_.status, 0) < 0) MILLRACE_CHECK(errno == EINTR) << errno;
    return WIFSTOPPED(life_.status);
  }

  void enter() {
    user_regs_struct registers;
    if (::ptrace(PTRACE_GETREGS, process_, nullptr, &registers) != 0) return;
    const long number = static_cast<long>(registers.orig_rax);
    if (number == SYS_getppid) {  // the end of the body
      life_.finished = true;
      return;
    }
    inside_ = true;
    disturbed_ = false;
    if (find_call(number) == nullptr) return;
    const int64_t n = life_.calls.size();
    const bool here = n == disturbance_.call;
    const bool described = here || disturbance_.kind == Kind::kNone;
    life_.calls.push_back(described ? describe(process_, registers) : TracedCall{number});
    disturbed_ = here;
    if (disturbance_.kind == Kind::kErrorsFromHere) {
      disturbed_ = n >= disturbance_.call && disturbance_.call >= 0;
    }
    if (!disturbed_) return;
    third_ = registers.rdx;
    if (disturbance_.kind == Kind::kKillAtEntry) ::kill(process_, SIGKILL);
    if (is_error()) registers.orig_rax = static_cast<unsigned long long>(-1);
    if (disturbance_.kind == Kind::kShort) registers.rdx = (third_ + 1) / 2;
    ::ptrace(PTRACE_SETREGS, process_, nullptr, &registers);
  }

  void leave() {
    inside_ = false;
    if (!disturbed_) return;
    user_regs_struct registers;
    if (::ptrace(PTRACE_GETREGS, process_, nullptr, &registers) != 0) return;
    if (disturbance_.kind == Kind::kKillAtExit) ::kill(process_, SIGKILL);
    if (is_error()) registers.rax = static_cast<unsigned long long>(-disturbance_.error);
    if (disturbance_.kind == Kind::kShort) registers.rdx = third_;
    ::ptrace(PTRACE_SETREGS, process_, nullptr, &registers);
  }

  bool is_error() const {
    return disturbance_.kind == Kind::kError || disturbance_.kind == Kind::kErrorsFromHere;
  }

  const pid_t process_;
  const Disturbance disturbance_;
  TracedLife life_;
  bool inside_ = false;           // within a system call
  bool disturbed_ = false;        // the current call is disturbed
  unsigned long long third_ = 0;  // the third argument
};

[[noreturn]] void be_traced(const std::function<void()>& body) {
  ::alarm(kTracedLifeSeconds);
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kNotTraced);
  ::raise(SIGSTOP);
  body();
  ::syscall(SYS_getppid);
  ::_exit(0);
}

}  // namespace

std::string call_name(long number) {
  const CallEntry* const entry = find_call(number);
  return entry != nullptr ? entry->name : absl::StrCat("call ", number);
}

bool may_be_short(long number) {
  return number == SYS_read || number == SYS_pread64 || number == SYS_write ||
         number == SYS_pwrite64;
}

absl::StatusOr<TracedLife> run_traced(const std::function<void()>& body,
                                      const Disturbance& disturbance) {
  std::fflush(nullptr);
  const pid_t process = ::fork();
  MILLRACE_CHECK(process >= 0) << "no process: errno " << errno;
  if (process == 0) be_traced(body);
  int status = 0;
  if (::waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) {
    return absl::UnimplementedError("processes may not be traced here");
  }
  return Tracer(process, disturbance).run();
}

}  // namespace millrace

#else

namespace millrace {

std::string call_name(long number) { return absl::StrCat("call ", number); }
bool may_be_short(long) { return false; }

absl::StatusOr<TracedLife> run_traced(const std::function<void()>&, const Disturbance&) {
  return absl::UnimplementedError("system calls are traced on x86-64 alone");
}

}  // namespace millrace

#endif
