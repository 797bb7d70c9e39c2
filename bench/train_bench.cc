// Benchmarks that run whole training processes.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "bench/benchmark.h"
#include "bench/flag_checks.h"

extern char** environ;

namespace millrace {
namespace {

// A temporary directory that the destructor removes.
class TemporaryDirectory {
 public:
  TemporaryDirectory() { path_ = ::mkdtemp(pattern_) != nullptr ? pattern_ : ""; }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  char pattern_[32] = "/tmp/millrace-bench-XXXXXX";
  std::string path_;
};

// Runs this program with these arguments and its output in a file. Returns the seconds of the run.
absl::StatusOr<double> run_program_anew(std::vector<std::string> arguments,
                                        const std::string& output) {
  std::vector<char*> argv = {const_cast<char*>("millrace")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  // Removes the settings of this process, so that the child makes its own settings.
  ::unsetenv("GOMP_SPINCOUNT");
  const auto start = std::chrono::steady_clock::now();
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::InternalError(absl::StrCat("posix_spawn: ", std::strerror(error)));
  int status = 0;
  ::waitpid(pid, &status, 0);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const absl::StatusOr<std::string> text = read_file(FileSystem::local(), output);
    return absl::FailedPreconditionError(
        absl::StrCat("millrace ", arguments[0], " failed: ", text.ok() ? *text : ""));
  }
  return seconds;
}

// Returns the arguments of a job on `ranks` processes, which share the threads; 0: without a
// launcher.
std::vector<std::string> train_arguments(const BenchmarkFlags& flags,
                                         const TemporaryDirectory& directory, int64_t ranks = 0) {
  const int64_t threads = ranks == 0 ? flags.threads : flags.threads / ranks;
  std::vector<std::string> arguments = {"train",        flags.config,
                                        "--output_dir", directory.path() + "/out",
                                        "--threads",    absl::StrCat(threads),
                                        "--summary",    directory.path() + "/summary.json",
                                        "--set",        "run.evaluation.enabled=false"};
  for (const std::string& assignment : flags.set) {
    arguments.push_back("--set");
    arguments.push_back(assignment);
  }
  if (ranks > 0) {
    const std::vector<std::string> launch = {"launch", "-n", absl::StrCat(ranks), "--"};
    arguments.insert(arguments.begin(), launch.begin(), launch.end());
  }
  return arguments;
}

// A process that keeps one core busy during its lifetime.
class BusyNeighbour {
 public:
  BusyNeighbour() {
    pid_ = ::fork();
    if (pid_ == 0) {
      for (volatile bool busy = true; busy;) {
      }
    }
  }
  ~BusyNeighbour() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

absl::StatusOr<double> examples_per_second(const BenchmarkFlags& flags, int64_t ranks = 0) {
  const TemporaryDirectory directory;
  RETURN_IF_ERROR(
      run_program_anew(train_arguments(flags, directory, ranks), directory.path() + "/out.txt")
          .status());
  ASSIGN_OR_RETURN(const std::string text,
                   read_file(FileSystem::local(), directory.path() + "/summary.json"));
  return nlohmann::json::parse(text)["examples_per_second"].get<double>();
}

absl::Status check_config(const BenchmarkFlags& flags) {
  if (!flags.config.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("this benchmark runs a job: give --config FILE");
}

// Runs the job in one process and on ranks, alternating.
absl::Status bench_train_ranks(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  const int64_t ranks = flags.train.ranks;
  if (flags.threads % ranks != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads is ", flags.threads, "; must be a multiple of --ranks, ", ranks));
  }
  const std::map<std::string, std::string> parameters = {{"config", flags.config},
                                                         {"threads", absl::StrCat(flags.threads)},
                                                         {"ranks", absl::StrCat(ranks)}};
  Measurement alone{"train/alone", parameters, "examples/s", true, {}};
  Measurement split{"train/ranks", parameters, "examples/s", true, {}};
  Measurement ratio{"train/ranks/ratio", parameters, "ranks / alone", true, {}};
  for (int64_t i = 0; i < flags.repeats; ++i) {
    ASSIGN_OR_RETURN(const double one, examples_per_second(flags));
    ASSIGN_OR_RETURN(const double many, examples_per_second(flags, ranks));
    alone.values.push_back(one);
    split.values.push_back(many);
    ratio.values.push_back(many / one);
  }
  print(alone);
  print(split);
  print(ratio);
  return absl::OkStatus();
}

}  // namespace

absl::Status bench_start(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  RETURN_IF_ERROR(check_config(flags));
  Measurement start{"start/one_step", {{"config", flags.config}}, "s", false, {}};
  for (int64_t i = 0; i <= flags.repeats; ++i) {
    const TemporaryDirectory directory;
    std::vector<std::string> arguments = train_arguments(flags, directory);
    arguments.push_back("--max_steps");
    arguments.push_back("1");
    ASSIGN_OR_RETURN(const double seconds,
                     run_program_anew(arguments, directory.path() + "/out.txt"));
    if (i > 0) start.values.push_back(seconds);  // the first run warms the page cache
  }
  print(start);
  return absl::OkStatus();
}

absl::Status bench_train(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  RETURN_IF_ERROR(check_config(flags));
  RETURN_IF_ERROR(check_at_least("ranks", flags.train.ranks, 0));
  if (flags.train.ranks > 0) return bench_train_ranks(flags, print);
  const std::map<std::string, std::string> parameters = {{"config", flags.config},
                                                         {"threads", absl::StrCat(flags.threads)}};
  Measurement alone{"train/alone", parameters, "examples/s", true, {}};
  Measurement beside{"train/beside_a_busy_process", parameters, "examples/s", true, {}};
  for (int64_t i = 0; i < flags.repeats; ++i) {
    ASSIGN_OR_RETURN(const double rate, examples_per_second(flags));
    alone.values.push_back(rate);
    const BusyNeighbour neighbour;
    ASSIGN_OR_RETURN(const double busy_rate, examples_per_second(flags));
    beside.values.push_back(busy_rate);
  }
  print(alone);
  print(beside);
  return absl::OkStatus();
}

}  // namespace millrace
