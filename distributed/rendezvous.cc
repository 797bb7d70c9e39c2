#include "distributed/rendezvous.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "distributed/collectives.h"
#include "distributed/heartbeat.h"
#include "distributed/wait_notice.h"

namespace millrace {
namespace {

constexpr char kJobFormat[] = "millrace job 1";
constexpr absl::Duration kBeatInterval = absl::Milliseconds(500);
// Time that rank 0 stays after a refusal, so that the other ranks can read the reason.
constexpr absl::Duration kFarewell = absl::Seconds(3);

std::string encode_job(int world_size, const JobIdentity& identity) {
  return absl::StrJoin({std::string(kJobFormat), absl::StrCat(world_size), identity.name,
                        identity.version, identity.config},
                       absl::string_view("\0", 1));
}

absl::StatusOr<std::pair<int, JobIdentity>> decode_job(const std::string& text) {
  const std::vector<std::string> fields =
      absl::StrSplit(text, absl::MaxSplits(absl::string_view("\0", 1), 4));
  int world_size = 0;
  if (fields.size() != 5 || fields[0] != kJobFormat || !absl::SimpleAtoi(fields[1], &world_size)) {
    return absl::FailedPreconditionError("the job of rank 0 is not one of this version");
  }
  return std::make_pair(world_size, JobIdentity{fields[2], fields[3], fields[4]});
}

// Encodes rank 0's verdict as a value in the store.
std::string encode_verdict(const absl::Status& status) {
  return absl::StrCat(static_cast<int>(status.code()), " ", absl::string_view(status.message()));
}

absl::Status decode_verdict(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
  int code = 0;
  if (!absl::SimpleAtoi(parts.first, &code)) return absl::InternalError(text);
  return absl::Status(static_cast<absl::StatusCode>(code), parts.second);
}

// Returns "rank 3", "ranks 1, 2 and 17 more".
std::string name_ranks(const std::vector<int>& ranks) {
  constexpr int kMostNamed = 16;
  const int named = std::min<int>(ranks.size(), kMostNamed);
  std::string text = absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ",
                                  absl::StrJoin(ranks.begin(), ranks.begin() + named, ", "));
  if (ranks.size() > named) absl::StrAppend(&text, " and ", ranks.size() - named, " more");
  return text;
}

// A rank's knowledge after one check of the store.
struct Word {
  bool spoken = false;  // if true, the meeting has ended with `status`
  absl::Status status;
};

Word speak(absl::Status status) { return {.spoken = true, .status = std::move(status)}; }

class Meeting {
 public:
  Meeting(JobStore& store, const RendezvousOptions& options, Clock& clock)
      : store_(store),
        options_(options),
        clock_(clock),
        deadline_(clock.elapsed() + options.timeout - options.waited),
        // Ranks of large jobs ask less often, so that the store has time to answer.
        poll_interval_(
            std::max(absl::Milliseconds(20), absl::Milliseconds(0.5) * options.world_size)),
        watch_(options.rank, options.world_size, options.silence_limit / 2, options.host),
        notice_(clock, deadline_),
        answered_(clock.elapsed()) {}

  absl::Status run() {
    absl::Status status = agree_on_job();
    if (status.ok()) status = register_rank();
    if (status.ok()) status = options_.rank == 0 ? gather() : follow();
    return status;
  }

 private:
  static std::string came_key(int rank) { return absl::StrCat("came/", rank); }
  static std::string beat_key(int rank) { return absl::StrCat("beat/", rank); }

  bool too_late() const { return clock_.elapsed() >= deadline_; }

  // Returns the error for a failed store: rank 0, which serves the store, is named.
  absl::Status store_failed(const absl::Status& status) const {
    return watch_.error_of(
        0, RankPhase::kRendezvous, 0,
        absl::StrCat(absl::IsDeadlineExceeded(status) ? "it does not answer: " : "it has left: ",
                     absl::string_view(status.message())));
  }

  // Records the result of a round. Returns false if the store is gone or frozen.
  bool still_answers(const absl::Status& status) {
    if (status.ok()) answered_ = clock_.elapsed();
    return status.ok() || (absl::IsDeadlineExceeded(status) &&
                           clock_.elapsed() - answered_ < options_.silence_limit);
  }

  absl::Status agree_on_job() {
    const std::string mine = encode_job(options_.world_size, options_.identity);
    std::optional<std::string> agreed;
    // set_once() returns an earlier value, so that a second job on the same port finds the first.
    if (options_.rank == 0) {
      absl::StatusOr<std::string> held = store_.set_once("job", mine);
      if (!held.ok()) return store_failed(held.status());
      agreed = *std::move(held);
    }
    while (!agreed) {
      absl::StatusOr<std::optional<std::string>> held = store_.get("job");
      if (!held.ok()) return store_failed(held.status());
      agreed = *std::move(held);
      if (agreed) break;
      if (too_late()) {
        return absl::UnavailableError(
            absl::StrCat("rank 0 did not come within ", absl::FormatDuration(options_.timeout)));
      }
      clock_.sleep(poll_interval_);
    }
    if (*agreed == mine) return absl::OkStatus();
    absl::StatusOr<std::pair<int, JobIdentity>> job = decode_job(*agreed);
    if (!job.ok()) return refuse(absl::string_view(job.status().message()));
    return refuse(absl::StrCat(
        "it is not of the job of rank 0: ",
        identity_difference(options_.world_size, options_.identity, job->first, job->second),
        "; all ranks of a job need the same job, and each job a MASTER_PORT of its own"));
  }

  // Leaves a note for rank 0. Returns the error of this rank.
  absl::Status refuse(absl::string_view why) {
    const std::string text = absl::StrCat("rank ", options_.rank, " was refused: ", why);
    absl::StatusOr<int64_t> number = store_.add("refusals", 1);
    // Best effort: this rank's own error has the reason too.
    if (number.ok()) store_.set(absl::StrCat("refusal/", *number), text).IgnoreError();
    return absl::FailedPreconditionError(text);
  }

  absl::Status register_rank() {
    absl::StatusOr<int64_t> times = store_.add(came_key(options_.rank), 1);
    if (!times.ok()) return store_failed(times.status());
    if (*times > 1) {
      return with_kind(
          refuse(absl::StrCat("it came twice: ", *times, " processes have rank ", options_.rank,
                              " of this job; each needs a RANK of its own. If the other one is "
                              "dying, start this one again")),
          FailureKind::kBusy);
    }
    if (absl::Status status = beat(); !status.ok()) return store_failed(status);
    absl::StatusOr<int64_t> arrived = store_.add("arrived", 1);
    return arrived.ok() ? absl::OkStatus() : store_failed(arrived.status());
  }

  absl::Status beat() {
    next_beat_ = clock_.elapsed() + kBeatInterval;
    RETURN_IF_ERROR(store_.set(beat_key(options_.rank),
                               format_heartbeat({.beat = ++beats_, .host = options_.host})));
    if (options_.published) options_.published();
    return absl::OkStatus();
  }

  // Returns true if `peer` has come, and then reads its heartbeat.
  absl::StatusOr<bool> look_at(int peer) {
    ASSIGN_OR_RETURN(std::optional<std::string> text, store_.get(beat_key(peer)));
    if (!text) return false;
    if (std::optional<Heartbeat> heartbeat = parse_heartbeat(*text)) {
      watch_.observe(peer, *heartbeat, clock_.elapsed());
    }
    return true;
  }

  absl::StatusOr<std::vector<int>> missing() {
    std::vector<int> ranks;
    for (int peer = 0; peer < options_.world_size; ++peer) {
      ASSIGN_OR_RETURN(bool came, look_at(peer));
      if (!came) ranks.push_back(peer);
    }
    return ranks;
  }

  absl::Status silence() const {
    const std::vector<int> silent = watch_.silent(options_.silence_limit);
    if (silent.empty()) return absl::OkStatus();
    return watch_.blame(
        silent, absl::StrCat("no sign of life for ", absl::FormatDuration(options_.silence_limit)));
  }

  absl::Status not_all_came() {
    absl::StatusOr<std::vector<int>> ranks = missing();
    if (!ranks.ok()) return store_failed(ranks.status());
    std::string text =
        absl::StrCat(name_ranks(*ranks), " of ", options_.world_size, " did not come within ",
                     absl::FormatDuration(options_.timeout));
    absl::StatusOr<int64_t> refusals = store_.add("refusals", 0);
    constexpr int64_t kMostTold = 4;
    for (int64_t i = 1; refusals.ok() && i <= std::min(*refusals, kMostTold); ++i) {
      absl::StatusOr<std::optional<std::string>> note = store_.get(absl::StrCat("refusal/", i));
      if (note.ok() && *note) absl::StrAppend(&text, "; ", **note);
    }
    return absl::UnavailableError(text);
  }

  // Runs one round of rank 0.
  absl::StatusOr<Word> decide() {
    ASSIGN_OR_RETURN(int64_t arrived, store_.add("arrived", 0));
    if (arrived >= options_.world_size) return speak(absl::OkStatus());
    if (clock_.elapsed() >= next_beat_) {
      RETURN_IF_ERROR(beat());
      ASSIGN_OR_RETURN(const std::vector<int> absent, missing());  // reads all heartbeats
      if (!absent.empty()) {
        notice_.log_if_due(
            absl::StrCat("for ", name_ranks(absent), " of ", options_.world_size, " to come"));
      }
      if (absl::Status status = silence(); !status.ok()) return speak(status);
    }
    if (too_late()) return speak(not_all_came());
    return Word();
  }

  absl::Status gather() {
    for (;;) {
      absl::StatusOr<Word> word = decide();
      if (!still_answers(word.status())) return store_failed(word.status());
      if (word.ok() && word->spoken) return announce(word->status);
      clock_.sleep(poll_interval_);
    }
  }

  absl::Status announce(const absl::Status& word) {
    absl::Status set = store_.set("verdict", encode_verdict(word));
    if (!set.ok()) return store_failed(set);
    if (word.ok()) return word;
    const absl::Duration until = clock_.elapsed() + kFarewell;
    while (clock_.elapsed() < until) {
      absl::StatusOr<int64_t> arrived = store_.add("arrived", 0);
      absl::StatusOr<int64_t> read = store_.add("read", 0);
      if (!arrived.ok() || !read.ok() || *read >= *arrived - 1) break;
      clock_.sleep(poll_interval_);
    }
    return word;
  }

  // Runs one round of another rank. Returns rank 0's verdict, or a reason not to wait for a
  // verdict.
  absl::StatusOr<Word> listen() {
    ASSIGN_OR_RETURN(std::optional<std::string> verdict, store_.get("verdict"));
    if (verdict) {
      absl::Status word = decode_verdict(*verdict);
      if (!word.ok()) RETURN_IF_ERROR(store_.add("read", 1).status());
      return speak(word);
    }
    if (clock_.elapsed() >= next_beat_) {
      RETURN_IF_ERROR(beat());
      RETURN_IF_ERROR(look_at(0).status());
      notice_.log_if_due("for rank 0 to find all ranks there");
      if (absl::Status status = silence(); !status.ok()) return speak(status);
    }
    // Rank 0 began earlier and has more information, so its verdict takes precedence.
    if (clock_.elapsed() >= deadline_ + absl::Seconds(1)) return speak(not_all_came());
    return Word();
  }

  absl::Status follow() {
    for (;;) {
      absl::StatusOr<Word> word = listen();
      if (!still_answers(word.status())) return store_failed(word.status());
      if (word.ok() && word->spoken) return word->status;
      clock_.sleep(poll_interval_);
    }
  }

  JobStore& store_;
  const RendezvousOptions& options_;
  Clock& clock_;
  const absl::Duration deadline_;
  const absl::Duration poll_interval_;
  PeerWatch watch_;
  int64_t beats_ = 0;
  absl::Duration next_beat_ = absl::ZeroDuration();
  WaitNotice notice_;
  absl::Duration answered_;  // last answer of the store
};

}  // namespace

absl::Status meet_ranks(JobStore& store, const RendezvousOptions& options, Clock& clock) {
  return Meeting(store, options, clock).run();
}

std::string identity_difference(int world_size, const JobIdentity& here, int world_size_0,
                                const JobIdentity& at_rank_0) {
  const auto differ = [](absl::string_view what, absl::string_view a, absl::string_view b) {
    return absl::StrCat(what, " \"", a, "\" here, \"", b, "\" at rank 0");
  };
  if (here.name != at_rank_0.name) return differ("job name", here.name, at_rank_0.name);
  if (here.version != at_rank_0.version) {
    return differ("Millrace version", here.version, at_rank_0.version);
  }
  if (world_size != world_size_0) {
    return absl::StrCat("world size ", world_size, " here, ", world_size_0, " at rank 0");
  }
  if (here.config == at_rank_0.config) return "";
  const std::vector<std::string> mine = absl::StrSplit(here.config, '\n');
  const std::vector<std::string> theirs = absl::StrSplit(at_rank_0.config, '\n');
  for (int i = 0;; ++i) {
    const std::string a = i < mine.size() ? mine[i] : "(end)";
    const std::string b = i < theirs.size() ? theirs[i] : "(end)";
    if (a != b) return differ(absl::StrCat("configuration, line ", i + 1, ":"), a, b);
  }
}

}  // namespace millrace
