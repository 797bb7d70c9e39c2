#include "tools/launch/local_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/failure_kind.h"
#include "base/net/socket.h"
#include "base/status_macros.h"
#include "distributed/environment/checkpoint_notice.h"
#include "distributed/store_seal.h"
#include "tools/exit_code.h"
#include "tools/launch/launcher_output.h"
#include "tools/launch/rank_end.h"
#include "tools/launch/rank_output.h"

namespace millrace {
namespace {

constexpr int kForwarded[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP, SIGQUIT};

// Returns true for a signal that only warns: schedulers and limits send such signals before they
// end a process.
bool is_warning(uint32_t signal) {
  return signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGXCPU;
}

absl::Status system_error(absl::string_view what) {
  const int error = errno;
  const std::string text = absl::StrCat("cannot ", what, ": ", std::strerror(error));
  if (error != EAGAIN && error != ENOMEM) return absl::UnavailableError(text);
  return with_kind(absl::ResourceExhaustedError(
                       absl::StrCat(text,
                                    "; raise the limit of processes (ulimit -u, or pids.max of the "
                                    "container), or start fewer ranks")),
                   FailureKind::kMachine);
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// Returns the environment of this process with some variables replaced.
std::vector<std::string> environment_with(const std::vector<std::string>& assignments) {
  std::vector<std::string> result;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const auto sets_it = [&](const std::string& assignment) {
      return absl::StartsWith(*variable, assignment.substr(0, assignment.find('=') + 1));
    };
    if (std::none_of(assignments.begin(), assignments.end(), sets_it)) result.push_back(*variable);
  }
  result.insert(result.end(), assignments.begin(), assignments.end());
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Blocks these signals in this process, so that a signalfd receives them.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    sigaddset(&held_, SIGCHLD);
    for (int signal : kForwarded) sigaddset(&held_, signal);
    ::sigprocmask(SIG_BLOCK, &held_, &before_);
    // Output without a reader must not end the ranks.
    pipe_before_ = ::signal(SIGPIPE, SIG_IGN);
    fd_.reset(::signalfd(-1, &held_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~HeldSignals() { restore(); }
  // System calls only: also called between fork and exec.
  void restore() const {
    ::signal(SIGPIPE, pipe_before_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  int fd() const { return fd_.get(); }

 private:
  sigset_t held_;
  sigset_t before_;
  sighandler_t pipe_before_;
  Descriptor fd_;
};

// An output of a rank.
struct Stream {
  Stream(const std::string& prefix, OutputQueue& to) : lines(prefix), to(to) {}

  // Forwards at most `limit` bytes of the available output. Returns: the number of bytes; closed at
  // the end.
  int64_t read_some(int64_t limit) {
    char buffer[65536];
    const ssize_t count = ::read(from.get(), buffer, std::min<int64_t>(limit, std::ssize(buffer)));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (count <= 0) {
      from.reset();
      return 0;
    }
    to.add(lines.add({buffer, static_cast<size_t>(count)}));
    return count;
  }

  // Forwards the output written so far. Does not wait for a process that outlived the rank and
  // holds the other end.
  void finish() {
    int left = 0;
    if (from.get() >= 0 && ::ioctl(from.get(), FIONREAD, &left) != 0) left = 0;
    while (left > 0) {
      const int64_t count = read_some(left);
      if (count == 0) break;
      left -= count;
    }
    from.reset();
    to.add(lines.finish());
  }

  Descriptor from;  // non-blocking
  LinePrefixer lines;
  OutputQueue& to;
};

struct Rank {
  Rank(int number, OutputQueue& out, OutputQueue& err)
      : number(number),
        out(absl::StrCat("[", number, "] "), out),
        err(absl::StrCat("[", number, "] "), err) {}

  const int number;    // among the ranks of all nodes
  pid_t process = -1;  // and its group; -1: not started, or ended
  Stream out;
  Stream err;
};

class LocalRanks {
 public:
  explicit LocalRanks(const LocalRanksOptions& options)
      : options_(options),
        node_(options.ranks),
        checkpoints_(::memfd_create(kCheckpointFile, MFD_CLOEXEC)) {
    const bool all_ranks = options.ranks.count == options.ranks.world_size;
    if (all_ranks && !process_variable(kJobSecretVariable)) secret_ = make_job_secret();
    outputs_.push_back(std::make_unique<OutputQueue>(options.out));
    if (same_destination(options.out, options.err)) return;
    outputs_.push_back(std::make_unique<OutputQueue>(options.err));
  }
  ~LocalRanks() { kill_ranks(); }

  absl::StatusOr<int> run() {
    if (signals_.fd() < 0 || checkpoints_.get() < 0) return system_error("start ranks");
    for (;;) {
      if (const absl::Status started = start(); !started.ok()) {
        kill_ranks();
        // Without a rank there is no port for the ranks, which fewer ranks need, too.
        if (ranks_.empty() || !can_have_fewer_ranks() || !restarts_left()) return started;
        begin_restart(absl::StrCat("rank ", ranks_.back()->number, ": ", started.message()),
                      /*fewer_ranks=*/true);
        continue;
      }
      while (ends_.size() < ranks_.size()) {
        wait();
        forward_signals();
        for (const auto& rank : ranks_) collect(*rank);
        press_on();
      }
      const RankEnd& end = deciding_end(ends_);
      if (!restarts_after(end.code)) break;
      begin_restart(describe(end), has_too_many_ranks(end.code));
    }
    const int code = report_end();
    drain();
    return code;
  }

 private:
  enum class Stage { kRunning, kLeaving, kTold, kKilled };

  // Starts all ranks. REQUIRES: no rank is running.
  absl::Status start() {
    ranks_.clear();
    ends_.clear();
    stage_ = Stage::kRunning;
    int port = node_.master.port;
    if (port == 0) {
      ASSIGN_OR_RETURN(port_, reserve_port(), "for the ranks");
      port = port_.number;
    }
    for (int local = 0; local < node_.count; ++local) {
      ranks_.push_back(
          std::make_unique<Rank>(node_.first + local, *outputs_.front(), *outputs_.back()));
      RETURN_IF_ERROR(start(*ranks_.back(), port));
    }
    return absl::OkStatus();
  }

  void kill_ranks() {
    for (const auto& rank : ranks_) {
      if (rank->process < 0) continue;
      ::kill(-rank->process, SIGKILL);
      ::waitpid(rank->process, nullptr, 0);
      rank->process = -1;
    }
  }

  // Returns true if the ranks made a checkpoint since the last restart.
  bool made_progress() const { return last_noticed_step(checkpoints_.get()) > restarted_at_; }

  bool can_have_fewer_ranks() const {
    return options_.min_ranks > 0 && node_.count > options_.min_ranks;
  }

  bool restarts_left() const {
    return options_.max_restarts > 0 && stop_signal_ == 0 &&
           (fruitless_restarts_ < options_.max_restarts || made_progress());
  }

  bool restarts_after(int code) const {
    const bool may_help =
        can_restart_after(code) || (code == kExitMachine && can_have_fewer_ranks());
    return may_help && restarts_left();
  }

  // Counts kills in a row without progress. Returns true if the next start is to have fewer ranks,
  // after an end with this code.
  bool has_too_many_ranks(int code) {
    const bool killed = can_restart_after(code) && code != kExitPeer && !made_progress();
    kills_in_a_row_ = killed ? kills_in_a_row_ + 1 : 0;
    return can_have_fewer_ranks() && (code == kExitMachine || kills_in_a_row_ >= 2);
  }

  // Counts and reports a restart. `reason`: the end of the ranks.
  void begin_restart(absl::string_view reason, bool fewer_ranks) {
    fruitless_restarts_ = made_progress() ? 0 : fruitless_restarts_ + 1;
    restarted_at_ = last_noticed_step(checkpoints_.get());
    ++restarts_;
    std::string ranks = "all ranks";
    if (fewer_ranks) {
      ranks = absl::StrCat(node_.count - 1, " of ", options_.ranks.count, " ranks");
      --node_.count;
      --node_.world_size;
      kills_in_a_row_ = 0;
    }
    say(absl::StrCat("millrace: ", reason, "; starting ", ranks,
                     " again, restarts left: ", options_.max_restarts - fruitless_restarts_));
  }

  // Returns: "rank 1 exited with code 65: LAST LINE", if the line may be the reason.
  std::string describe(const RankEnd& end) const {
    absl::string_view last =
        absl::StripPrefix(ranks_[end.rank - node_.first]->err.lines.last_line(), "millrace: ");
    if (is_progress_line(last)) last = "";
    return absl::StrCat("rank ", end.rank, " ", describe_end(end.code), last.empty() ? "" : ": ",
                        last);
  }

  // Reports the end of the job if there is something to report. Returns: its exit code.
  int report_end() {
    const RankEnd& end = deciding_end(ends_);
    const bool stopped =
        options_.max_restarts > 0 && can_restart_after(end.code) && stop_signal_ != 0;
    std::string how;
    if (stopped) {
      how = absl::StrCat(describe(end), "; not started again, since signal ", stop_signal_, " (",
                         ::strsignal(stop_signal_), ") came");
    } else if (is_failure(end.code)) {
      how = describe(end);
    } else if (restarts_ > 0) {
      how = end.code == kExitFinished ? "finished" : "stopped";
    }
    const std::string restarts =
        restarts_ == 0 ? "" : absl::StrCat(" (restarts: ", restarts_, fewer_ranks_text(), ")");
    if (!how.empty()) say(absl::StrCat("millrace: ", how, restarts));
    return stopped ? kExitRunAgain : end.code;
  }

  std::string fewer_ranks_text() const {
    return node_.count == options_.ranks.count ? "" : absl::StrCat(", ranks: ", node_.count);
  }

  absl::Status start(Rank& rank, int port) {
    std::vector<std::string> arguments = options_.arguments;
    std::vector<std::string> assignments = rank_variables(node_, rank.number - node_.first, port);
    assignments.push_back(absl::StrCat("TORCHELASTIC_RESTART_COUNT=", restarts_));
    assignments.push_back(launcher_output_variable(options_.out, options_.err));
    assignments.push_back(absl::StrCat(kCheckpointNotice, "=", checkpoints_.get()));
    if (!secret_.empty()) assignments.push_back(absl::StrCat(kJobSecretVariable, "=", secret_));
    std::vector<std::string> environment = environment_with(assignments);
    const std::vector<char*> argv = pointers_to(arguments);
    const std::vector<char*> envp = pointers_to(environment);
    const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    int out[2], err[2];
    if (null.get() < 0 || ::pipe2(out, O_CLOEXEC) != 0) return system_error("start a rank");
    rank.out.from.reset(out[0]);
    const Descriptor out_end(out[1]);
    if (::pipe2(err, O_CLOEXEC) != 0) return system_error("start a rank");
    rank.err.from.reset(err[0]);
    const Descriptor err_end(err[1]);
    ::fcntl(out[0], F_SETFL, O_NONBLOCK);
    ::fcntl(err[0], F_SETFL, O_NONBLOCK);

    const pid_t launcher = ::getpid();
    const pid_t process = ::fork();
    if (process < 0) return system_error("start a rank");
    if (process == 0) {  // system calls only from here to execve
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != launcher) ::_exit(kExitPeer);  // it died before it could be noticed
      ::dup2(null.get(), STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      ::fcntl(checkpoints_.get(), F_SETFD, 0);  // the rank inherits it
      signals_.restore();
      ::execve(options_.program.c_str(), argv.data(), envp.data());
      ::_exit(127);
    }
    ::setpgid(process, process);  // both processes do, so that the order does not matter
    rank.process = process;
    return absl::OkStatus();
  }

  void add_outputs(std::vector<pollfd>* fds) const {
    for (const auto& output : outputs_) {
      if (!output->empty()) fds->push_back({output->fd(), POLLOUT, 0});
    }
  }

  void write_outputs() {
    for (const auto& output : outputs_) output->write_some();
  }

  // Waits until the output is written, or a signal ends the wait: no rank is left to receive the
  // signal.
  void drain() {
    for (;;) {
      write_outputs();
      std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0}};
      add_outputs(&fds);
      if (fds.size() == 1) return;
      ::poll(fds.data(), fds.size(), -1);
      signalfd_siginfo info;
      while (::read(signals_.fd(), &info, sizeof info) == sizeof info) {
        if (info.ssi_signo != SIGCHLD && !is_warning(info.ssi_signo)) return;
      }
    }
  }

  // Waits for output or room for output, a signal, the end of a rank or of its time, and forwards
  // output. A rank whose output is not read waits when its pipe is full.
  void wait() {
    std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0}};
    std::vector<Stream*> streams = {nullptr};
    for (const auto& rank : ranks_) {
      for (Stream* stream : {&rank->out, &rank->err}) {
        if (stream->from.get() < 0 || stream->to.full()) continue;
        fds.push_back({stream->from.get(), POLLIN, 0});
        streams.push_back(stream);
      }
    }
    add_outputs(&fds);
    int milliseconds = -1;
    if (stage_ == Stage::kLeaving || stage_ == Stage::kTold) {
      const absl::Duration left =
          std::clamp(deadline_ - absl::Now(), absl::ZeroDuration(), absl::Hours(1));
      milliseconds = static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
    }
    if (::poll(fds.data(), fds.size(), milliseconds) <= 0) return;
    for (size_t i = 1; i < streams.size(); ++i) {
      if (fds[i].revents != 0) streams[i]->read_some(std::numeric_limits<int64_t>::max());
    }
    write_outputs();
  }

  void forward_signals() {
    signalfd_siginfo info;
    while (::read(signals_.fd(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGCHLD) continue;
      stop_signal_ = static_cast<int>(info.ssi_signo);
      send(stop_signal_);
    }
  }

  void send(int signal) {
    for (const auto& rank : ranks_) {
      if (rank->process > 0) ::kill(-rank->process, signal);
    }
  }

  // Records the end of a rank that has ended.
  void collect(Rank& rank) {
    siginfo_t info = {};
    if (rank.process < 0 ||
        ::waitid(P_PID, rank.process, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
      return;
    }
    // No other process can have the rank's number before the rank is reaped.
    ::kill(-rank.process, SIGKILL);
    ::waitpid(rank.process, nullptr, 0);
    rank.process = -1;
    rank.out.finish();
    rank.err.finish();
    RankEnd end;
    end.rank = rank.number;
    end.code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    end.forced = stage_ == Stage::kTold || stage_ == Stage::kKilled;
    ends_.push_back(end);
    if (!is_failure(end.code)) return;
    if (!end.forced && ends_.size() < ranks_.size() && kills_others()) {
      stage_ = Stage::kKilled;
      say(absl::StrCat("millrace: rank ", rank.number, " ", describe_end(end.code),
                       "; the others are killed for a restart"));
      send(SIGKILL);
      return;
    }
    if (stage_ != Stage::kRunning) {
      say(absl::StrCat("millrace: rank ", rank.number, " ", describe_end(end.code)));
      return;
    }
    if (ends_.size() == ranks_.size()) return;
    stage_ = Stage::kLeaving;
    deadline_ = absl::Now() + options_.grace;
    say(absl::StrCat("millrace: rank ", rank.number, " ", describe_end(end.code),
                     "; the others have ", absl::FormatDuration(options_.grace), " to leave"));
  }

  // Returns true if a restart is certain, so that waiting for the others is useless: a signal
  // killed the first rank that failed by itself, and no later end takes precedence.
  bool kills_others() const {
    const int code = deciding_end(ends_).code;
    return can_restart_after(code) && code != kExitPeer && restarts_left();
  }

  // Ends ranks that do not leave after a failure.
  void press_on() {
    if (stage_ == Stage::kRunning || stage_ == Stage::kKilled || absl::Now() < deadline_) return;
    const bool told = stage_ == Stage::kTold;
    std::string running;
    for (const auto& rank : ranks_) {
      if (rank->process > 0) absl::StrAppend(&running, running.empty() ? "" : ", ", rank->number);
    }
    if (running.empty()) return;
    say(absl::StrCat("millrace: rank ", running, " did not leave: ", told ? "SIGKILL" : "SIGTERM"));
    stage_ = told ? Stage::kKilled : Stage::kTold;
    deadline_ = absl::Now() + options_.grace;
    send(told ? SIGKILL : SIGTERM);
  }

  void say(const std::string& line) { outputs_.back()->add(line + "\n"); }

  const LocalRanksOptions& options_;
  std::string secret_;  // of all starts; "": not of this launcher
  const HeldSignals signals_;
  NodeRanks node_;                // of the current start
  const Descriptor checkpoints_;  // the file to which rank 0 writes the steps of checkpoints
  ReservedPort port_;
  std::vector<std::unique_ptr<OutputQueue>> outputs_;  // out, err; one if both lead to one place
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<RankEnd> ends_;  // in the order in which they ended
  Stage stage_ = Stage::kRunning;
  absl::Time deadline_;  // of the stages kLeaving and kTold
  int restarts_ = 0;
  int fruitless_restarts_ = 0;  // since the last progress
  int kills_in_a_row_ = 0;      // starts that ended so, without progress
  int64_t restarted_at_ = -1;   // step of the last checkpoint before the last restart
  int stop_signal_ = 0;         // the last forwarded signal
};

}  // namespace

absl::StatusOr<int> run_local_ranks(const LocalRanksOptions& options) {
  return LocalRanks(options).run();
}

}  // namespace millrace
