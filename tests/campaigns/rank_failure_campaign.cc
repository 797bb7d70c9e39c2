#include "tests/campaigns/rank_failure_campaign.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/log.h"
#include "base/random/philox.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/format/checkpoint_names.h"
#include "distributed/process_ranks_testing.h"
#include "tests/ranks/failing_rank.h"
#include "tests/ranks/newest_checkpoint.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

constexpr int kRanks = 3;
constexpr int64_t kRankSteps = 12;
constexpr char kCompleted[] = "completed at step 12";
constexpr char kStopped[] = "to run again: stopped (signal SIGTERM) at step ";

// Kinds without a notification of the other ranks; used for pairs of ranks.
constexpr InjectedKind kSilentKinds[] = {InjectedKind::kKill, InjectedKind::kFreeze,
                                         InjectedKind::kExit};
// Further kinds for single ranks. Their cases come last, so that a seed keeps the other cases.
constexpr InjectedKind kMoreKinds[] = {InjectedKind::kCrash, InjectedKind::kLoop};

// The longest wait for a rank that hangs.
constexpr absl::Duration kHangs = absl::Seconds(60);

const FailurePhaseEntry& entry_of(const InjectedFailure& failure) {
  return failure_phases()[static_cast<int>(failure.phase)];
}

std::string describe(const RankFailures& failures) {
  return absl::StrJoin(failures, " and ", [](std::string* out, const InjectedFailure& failure) {
    absl::StrAppend(out, "rank ", failure.rank, " ", failure_kind_name(failure.kind), " in ",
                    entry_of(failure).name, ", hit ", failure.ordinal);
  });
}

InjectedFailure make_failure(const FailurePhaseEntry& entry, InjectedKind kind, int rank,
                             uint64_t random) {
  return {entry.phase, kind, rank, 1 + static_cast<int64_t>(random % entry.hits)};
}

// Draws a sequence of random numbers.
class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  uint64_t next() { return philox64(seed_, stream_, draws_++); }
  int below(int bound) { return static_cast<int>(next() % static_cast<uint64_t>(bound)); }
  const FailurePhaseEntry& phase() { return failure_phases()[below(kFailurePhases)]; }

 private:
  const uint64_t seed_, stream_;
  uint64_t draws_ = 0;
};

// Returns names in a folder of checkpoints that no finished save leaves.
std::vector<std::string> files_left(const std::string& folder) {
  std::vector<std::string> names;
  const auto entries = FileSystem::local().list(folder);
  if (!entries.ok()) return names;
  for (const DirectoryEntry& entry : *entries) {
    const auto name = parse_checkpoint_name(entry.name);
    const bool whole = name && name->kind == CheckpointName::Kind::kCheckpoint;
    if (!whole && entry.name != "lock") names.push_back(entry.name);
  }
  return names;
}

// Runs a rank in a child. Returns OutOfRange with the outcome, or the rank's error.
absl::Status run_rank(FailingRankOptions options, const RankEnvironment& environment,
                      FailureRecord& record) {
  options.environment = environment;
  const absl::StatusOr<std::string> outcome = run_failing_rank(options, record);
  return outcome.ok() ? absl::OutOfRangeError(*outcome) : outcome.status();
}

// Returns the outcome of a rank, or its error.
std::string end_of(ProcessRanks& ranks, int rank) {
  const absl::Status outcome = ranks.wait(rank, kHangs);
  return absl::IsOutOfRange(outcome) ? std::string(outcome.message()) : outcome.ToString();
}

// Trains a job without a failure. Returns the content of its last checkpoint.
std::string content_of_undisturbed(const RankFailuresOptions& options) {
  FailingRankOptions rank;
  rank.folder = join_path(join_path(options.directory, "undisturbed"), "checkpoints");
  FailureRecord record;
  ProcessRanks ranks(kRanks, [&](const RankEnvironment& environment, const ChildLink&) {
    return run_rank(rank, environment, record);
  });
  for (int r = 0; r < kRanks; ++r) {
    const std::string end = end_of(ranks, r);
    MILLRACE_CHECK(end == kCompleted) << end;
  }
  const auto content = content_of_newest(FileSystem::local(), rank.folder);
  MILLRACE_CHECK(content.ok()) << content.status();
  return *content;
}

// Returns true for a rank whose connections stay open, so that only a time-out ends the other
// ranks.
bool stays(const InjectedFailure& failure) {
  return failure.kind == InjectedKind::kFreeze || failure.kind == InjectedKind::kLoop;
}

// The longest times until ranks left after the failure of another rank.
struct Longest {
  absl::Duration lost, stayed;
};

// A job of three processes, from its start until its remains were checked.
class Case {
 public:
  // `undisturbed`: the content of the last checkpoint of a job without a failure.
  Case(const RankFailures& failures, const std::string& undisturbed, std::string directory,
       const RankFailuresOptions& options, CampaignResult& result, Longest& longest)
      : failures_(failures),
        undisturbed_(undisturbed),
        directory_(std::move(directory)),
        options_(options),
        result_(result),
        longest_(longest),
        folder_(join_path(directory_, "checkpoints")) {
    const absl::Status made = FileSystem::local().create_directories(directory_);
    MILLRACE_CHECK(made.ok()) << made;
    start(failures_, /*resume=*/false);
  }

  // Waits for the end and checks the outcome.
  void finish() {
    result_.add("cases");
    const bool stops = failures_[0].kind == InjectedKind::kTerminate;
    stops ? check_stopped() : check_failed();
    ranks_.reset();
    check_lock();
    check_resumed();
    const absl::Status removed = remove_recursively(FileSystem::local(), directory_);
    if (!removed.ok()) violate(removed.ToString());
  }

 private:
  void start(const RankFailures& failures, bool resume) {
    FailingRankOptions rank;
    rank.failures = failures;
    rank.folder = folder_;
    rank.asynchronous = failures_[0].ordinal % 2 == 0;
    rank.max_deltas = static_cast<int>(failures_[0].ordinal % 3);
    rank.resume = resume;
    rank.collective_timeout = options_.collective_timeout;
    ranks_ = std::make_unique<ProcessRanks>(
        kRanks, [rank, this](const RankEnvironment& environment, const ChildLink&) {
          return run_rank(rank, environment, record_);
        });
  }

  // Returns true if the first failure happened; counts the failures that happened.
  bool happened() {
    for (const InjectedFailure& failure : failures_) {
      const bool failed = record_.of(failure.rank).failed_at != 0;
      if (failed) result_.add(absl::StrCat(entry_of(failure).name, " hit"));
      if (failed) failed_.push_back(failure);
    }
    return !failed_.empty();
  }

  void check_failed() {
    std::vector<absl::Status> outcomes;
    for (int rank = 0; rank < kRanks; ++rank) {
      // A frozen or looping rank must be killed.
      const bool failed = record_.of(rank).failed_at != 0;
      outcomes.push_back(failed ? absl::OkStatus() : ranks_->wait(rank, kHangs));
    }
    if (!happened()) {
      return violate(absl::StrCat("did not happen; a rank came to: ", outcomes[0].ToString()));
    }
    std::vector<std::string> blamed;
    for (const InjectedFailure& failure : failed_) {
      const FailureRecord::Rank& record = record_.of(failure.rank);
      const auto phase = static_cast<RankPhase>(record.phase.load());
      if (phase != entry_of(failure).reported) {
        violate(absl::StrCat("the rank had reported phase ", rank_phase_name(phase)));
      }
      blamed.push_back(absl::StrCat("rank ", failure.rank, " failed in ", rank_phase_name(phase),
                                    " of step ", record.step.load(), ": "));
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      if (record_.of(rank).failed_at == 0) check_survivor(rank, outcomes[rank], blamed);
    }
    for (const InjectedFailure& failure : failed_) {
      if (failure.kind == InjectedKind::kFreeze) check_thawed(failure.rank);
    }
  }

  // Lets a frozen rank continue after the other ranks left, and checks that the rank leaves, too.
  void check_thawed(int rank) {
    ranks_->send(rank, SIGCONT);
    const absl::Status outcome = ranks_->wait(rank, options_.slack + options_.limit);
    result_.add("thawed");
    if (exit_code(outcome) != kExitPeer) {
      violate(absl::StrCat("thawed, rank ", rank, " says: ", outcome.ToString()));
    }
  }

  void check_survivor(int rank, const absl::Status& outcome,
                      const std::vector<std::string>& blamed) {
    const bool names_one = std::any_of(blamed.begin(), blamed.end(), [&](const std::string& text) {
      return absl::StrContains(outcome.message(), text);
    });
    if (exit_code(outcome) != kExitPeer || !names_one) {
      violate(absl::StrCat("rank ", rank, " says: ", outcome.ToString(),
                           "; must say: ", absl::StrJoin(blamed, " or ")));
    }
    const int64_t ended_at = record_.of(rank).ended_at;
    if (ended_at == 0) return;
    int64_t failed_at = 0;
    bool stayed = false;
    for (const InjectedFailure& failure : failed_) {
      failed_at = std::max(failed_at, record_.of(failure.rank).failed_at.load());
      stayed = stayed || stays(failure);
    }
    const absl::Duration took = absl::Nanoseconds(ended_at - failed_at);
    absl::Duration& longest = stayed ? longest_.stayed : longest_.lost;
    longest = std::max(longest, took);
    const absl::Duration limit =
        options_.slack + (stayed ? 2 * options_.collective_timeout : options_.limit);
    if (took > limit) {
      violate(absl::StrCat("rank ", rank, " left after ", absl::FormatDuration(took)));
    }
  }

  void check_stopped() {
    std::set<std::string> ends;
    for (int rank = 0; rank < kRanks; ++rank) ends.insert(end_of(*ranks_, rank));
    if (!happened()) return violate("did not happen");
    const bool too_late = failures_[0].phase == FailurePhase::kSave &&
                          record_.of(failures_[0].rank).step == kRankSteps;
    absl::string_view end = *ends.begin();
    int64_t step = 0;
    if (too_late && end == kCompleted) {
      step = kRankSteps;
    } else if (!absl::ConsumePrefix(&end, kStopped) || !absl::SimpleAtoi(end, &step)) {
      step = -1;
    }
    if (ends.size() != 1 || step < 0) {
      for (const std::string& end : ends) violate(absl::StrCat("a rank came to: ", end));
      return;
    }
    for (const std::string& name : files_left(folder_)) violate(absl::StrCat(name, " is left"));
    check_saved(step);
  }

  // A job that has begun no step saves nothing.
  void check_saved(int64_t step) {
    const auto listed = list_checkpoints(FileSystem::local(), folder_);
    if (!listed.ok()) return violate(listed.status().ToString());
    const auto of_step = [&](const ListedCheckpoint& listed) { return listed.step == step; };
    const int64_t count = std::count_if(listed->begin(), listed->end(), of_step);
    if (count != (step == 0 ? 0 : 1)) {
      return violate(absl::StrCat(count, " checkpoints of step ", step));
    }
    if (step == 0) return;
    const auto content = content_of_newest(FileSystem::local(), folder_);
    if (!content.ok() || !absl::StartsWith(*content, absl::StrCat("step ", step, ","))) {
      violate(absl::StrCat("stopped at step ", step, ", but the newest checkpoint: ",
                           content.ok() ? *content : content.status().ToString()));
    }
  }

  void check_lock() {
    FileSystem& files = FileSystem::local();
    const auto lock = DirectoryLock::acquire(files, folder_, Clock::real());
    if (!lock.ok()) violate(lock.status().ToString());
  }

  // The next writer removes the remains of a killed writer.
  void check_resumed() {
    const auto listed = list_checkpoints(FileSystem::local(), folder_);
    if (!listed.ok()) return violate(listed.status().ToString());
    start({}, /*resume=*/!listed->empty());
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string end = end_of(*ranks_, rank);
      if (end != kCompleted) violate(absl::StrCat("resumed, a rank came to: ", end));
    }
    ranks_.reset();
    for (const std::string& name : files_left(folder_)) violate(absl::StrCat(name, " is left"));
    const auto content = content_of_newest(FileSystem::local(), folder_);
    if (!content.ok() || *content != undisturbed_) {
      violate(
          absl::StrCat("resumed, it holds: ", content.ok() ? *content : content.status().ToString(),
                       "; undisturbed: ", undisturbed_));
    }
  }

  void violate(const std::string& what) {
    result_.violate(absl::StrCat(describe(failures_), ": ", what));
  }

  const RankFailures failures_;
  const std::string& undisturbed_;
  RankFailures failed_;  // the failures that happened
  const std::string directory_;
  const RankFailuresOptions& options_;
  CampaignResult& result_;
  Longest& longest_;
  const std::string folder_;
  FailureRecord record_;
  std::unique_ptr<ProcessRanks> ranks_;
};

}  // namespace

std::vector<RankFailures> all_rank_failures(uint64_t seed) {
  std::vector<RankFailures> cases;
  const auto add = [&](const FailurePhaseEntry& entry, InjectedKind kind) {
    // The other ranks wait for such a rank without limit.
    if (kind == InjectedKind::kLoop && is_unlimited(entry.reported)) return;
    for (int rank = 0; rank < kRanks; ++rank) {
      cases.push_back({make_failure(entry, kind, rank, philox64(seed, 1, cases.size()))});
    }
  };
  for (const FailurePhaseEntry& entry : failure_phases()) {
    for (const InjectedKind kind : kSilentKinds) add(entry, kind);
  }
  for (const FailurePhaseEntry& entry : failure_phases()) {
    for (const InjectedKind kind : kMoreKinds) add(entry, kind);
  }
  return cases;
}

int64_t count_in(const std::vector<RankFailures>& cases, FailurePhase phase) {
  return std::count_if(cases.begin(), cases.end(),
                       [&](const RankFailures& failures) { return failures[0].phase == phase; });
}

std::vector<RankFailures> random_rank_signals(uint64_t seed, int64_t count) {
  std::vector<RankFailures> cases;
  Random random(seed, 2);
  for (int64_t i = 0; i < count; ++i) {
    const FailurePhaseEntry& entry = random.phase();
    const int rank = random.below(kRanks);
    cases.push_back({make_failure(entry, InjectedKind::kTerminate, rank, random.next())});
  }
  return cases;
}

std::vector<RankFailures> random_rank_pairs(uint64_t seed, int64_t count) {
  std::vector<RankFailures> cases;
  Random random(seed, 3);
  for (int64_t i = 0; i < count; ++i) {
    const int first = random.below(kRanks);
    const int second = (first + 1 + random.below(kRanks - 1)) % kRanks;
    RankFailures pair;
    for (const int rank : {first, second}) {
      const FailurePhaseEntry& entry = random.phase();
      const InjectedKind kind = kSilentKinds[random.below(3)];
      pair.push_back(make_failure(entry, kind, rank, random.next()));
    }
    cases.push_back(std::move(pair));
  }
  return cases;
}

CampaignResult run_stalled_disks(const RankFailuresOptions& options) {
  CampaignResult result("stalled_disks");
  struct Job {
    FailingRankOptions rank;
    std::unique_ptr<FailureRecord> record;
    std::unique_ptr<ProcessRanks> ranks;
  };
  std::vector<Job> jobs;
  for (const bool asynchronous : {false, true}) {
    for (const int stalled : {0, kRanks - 1}) {
      Job job;
      const std::string name = absl::StrCat("stalled", jobs.size());
      job.rank.folder = join_path(join_path(options.directory, name), "checkpoints");
      job.rank.asynchronous = asynchronous;
      job.rank.stalled_rank = stalled;
      job.rank.collective_timeout = absl::Seconds(2);
      job.rank.stall = 2 * job.rank.collective_timeout;
      job.record = std::make_unique<FailureRecord>();
      job.ranks = std::make_unique<ProcessRanks>(
          kRanks, [&job](const RankEnvironment& environment, const ChildLink&) {
            return run_rank(job.rank, environment, *job.record);
          });
      jobs.push_back(std::move(job));
    }
  }
  for (Job& job : jobs) {
    result.add("cases");
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string end = end_of(*job.ranks, rank);
      const bool stalled = job.record->of(job.rank.stalled_rank).failed_at != 0;
      if (end == kCompleted && stalled) continue;
      result.violate(absl::StrCat("the disk of rank ", job.rank.stalled_rank, " stalls: rank ",
                                  rank, " came to: ", end));
    }
  }
  return result;
}

CampaignResult run_rank_failures(const std::vector<RankFailures>& cases,
                                 const RankFailuresOptions& options) {
  CampaignResult result("rank_failures");
  Longest longest;
  // Makes processes left behind by ranks children of the campaign.
  MILLRACE_CHECK(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) << errno;
  const std::string undisturbed = content_of_undisturbed(options);
  std::deque<std::unique_ptr<Case>> running;
  const auto finish_first = [&] {
    running.front()->finish();
    running.pop_front();
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    if (running.size() == static_cast<size_t>(options.parallel)) finish_first();
    running.push_back(std::make_unique<Case>(cases[i], undisturbed,
                                             join_path(options.directory, absl::StrCat("case", i)),
                                             options, result, longest));
  }
  while (!running.empty()) finish_first();
  if (::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD) {
    result.violate("processes of ranks are left");
  }
  result.add("ms until others left, ended", absl::ToInt64Milliseconds(longest.lost));
  result.add("ms until others left, frozen or looping", absl::ToInt64Milliseconds(longest.stayed));
  return result;
}

}  // namespace millrace
