// One rank of the job of tests/ranks/failing_rank.h, for host_failures.py:
//
//   host_rank FOLDER RECORD TIMEOUT_SECONDS PHASE KIND RANK ORDINAL
//
// with RANK and the other variables of a launcher. PHASE, KIND, RANK and ORDINAL describe the
// failure (tests/ranks/failure_injector.h); RECORD is the file of the FailureRecord. Prints the
// outcome of the rank, and ends with the exit code of `millrace train`.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "distributed/rank_environment.h"
#include "tests/ranks/failing_rank.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

FailurePhase phase_named(const std::string& name) {
  for (const FailurePhaseEntry& entry : failure_phases()) {
    if (entry.name == name) return entry.phase;
  }
  MILLRACE_CHECK(name == "rendezvous") << name;
  return FailurePhase::kRendezvous;
}

InjectedKind kind_named(const std::string& name) {
  static const auto* kinds = new std::map<std::string, InjectedKind>{
      {"SIGKILL", InjectedKind::kKill},  {"SIGSTOP", InjectedKind::kFreeze},
      {"SIGSEGV", InjectedKind::kCrash}, {"exit", InjectedKind::kExit},
      {"pause", InjectedKind::kPause},
  };
  return kinds->at(name);
}

int run(char** arguments) {
  FailingRankOptions options;
  const absl::StatusOr<RankEnvironment> environment = read_rank_environment();
  MILLRACE_CHECK(environment.ok()) << environment.status();
  options.environment = *environment;
  options.folder = arguments[0];
  FailureRecord record(arguments[1]);
  options.collective_timeout = absl::Seconds(std::atof(arguments[2]));
  options.failures = {{phase_named(arguments[3]), kind_named(arguments[4]), std::atoi(arguments[5]),
                       std::atoi(arguments[6])}};
  const absl::StatusOr<std::string> outcome = run_failing_rank(options, record);
  std::cout << (outcome.ok() ? *outcome : std::string(outcome.status().message())) << std::endl;
  if (outcome.ok() && absl::StartsWith(*outcome, "to run again")) return kExitRunAgain;
  return exit_code(outcome.status());
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  MILLRACE_CHECK(argc == 8) << "host_rank FOLDER RECORD TIMEOUT_SECONDS PHASE KIND RANK ORDINAL";
  return millrace::run(argv + 1);
}
