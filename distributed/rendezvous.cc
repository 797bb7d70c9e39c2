#include "distributed/rendezvous.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/random/random_hex.h"
#include "base/status_macros.h"
#include "distributed/collectives.h"
#include "distributed/heartbeat.h"
#include "distributed/wait_notice.h"

namespace millrace {
namespace {

constexpr char kJobFormat[] = "millrace job 1";
constexpr char kJobKey[] = "job";
constexpr char kVerdictKey[] = "verdict";
constexpr size_t kWordDigits = 16;
constexpr absl::Duration kBeatInterval = absl::Milliseconds(500);
// Time that rank 0 stays after a refusal, so that the other ranks can read the reason.
constexpr absl::Duration kFarewell = absl::Seconds(3);
// The number of processes that could not read the start. Outside of the start, whose name they do
// not know.
constexpr char kStrangersKey[] = "strangers";
// Rank 0 logs at most one line about refusals in this time.
constexpr absl::Duration kRefusalInterval = absl::Seconds(10);

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

// Rank 0's last word on the meeting.
struct Verdict {
  absl::Status status;
  // If OK: the attempt of each rank that takes part.
  std::vector<std::string> attempts;
};

bool includes(const Verdict& verdict, int rank, absl::string_view attempt) {
  return rank < static_cast<int>(verdict.attempts.size()) && verdict.attempts[rank] == attempt;
}

std::string encode_verdict(const Verdict& verdict) {
  return absl::StrCat(static_cast<int>(verdict.status.code()), " ",
                      verdict.status.ok() ? absl::StrJoin(verdict.attempts, ",")
                                          : std::string(verdict.status.message()));
}

absl::StatusOr<Verdict> decode_verdict(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
  int code = 0;
  if (!absl::SimpleAtoi(parts.first, &code)) return absl::InternalError(text);
  Verdict verdict;
  verdict.status = absl::Status(static_cast<absl::StatusCode>(code), parts.second);
  if (verdict.status.ok()) verdict.attempts = absl::StrSplit(parts.second, ',');
  return verdict;
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
        attempt_(random_hex(kWordDigits)),
        notice_(clock, deadline_),
        answered_(clock.elapsed()) {}

  absl::StatusOr<std::unique_ptr<StartStore>> run() {
    for (;;) {
      const absl::Status status = meet();
      if (status.ok()) return std::move(start_);
      // Another rank meets the start that has replaced the one that it found.
      const bool replaced = start_ != nullptr && start_->replaced();
      if (!replaced || options_.rank == 0 || too_late()) return status;
    }
  }

 private:
  static std::string came_key(int rank) { return absl::StrCat("came/", rank); }
  // The attempt of a later process of the rank.
  static std::string later_key(int rank) { return absl::StrCat("later/", rank); }

  bool too_late() const { return clock_.elapsed() >= deadline_; }

  absl::Status meet() {
    RETURN_IF_ERROR(options_.rank == 0 ? begin_start() : find_start());
    RETURN_IF_ERROR(agree_on_job());
    RETURN_IF_ERROR(register_rank());
    return options_.rank == 0 ? gather() : follow();
  }

  // Returns the error for a failed store. Names rank 0 if rank 0 serves the store.
  absl::Status store_failed(const absl::Status& status) const {
    const bool silent = absl::IsDeadlineExceeded(status);
    if (!silent && !absl::IsUnavailable(status)) return status;  // the store answered
    const absl::string_view why = status.message();
    if (options_.store_outlives_ranks) {
      return absl::AbortedError(
          absl::StrCat("the launcher's store ", silent ? "does not answer" : "is gone", ": ", why));
    }
    const std::string what = absl::StrCat(silent ? "it does not answer: " : "it has left: ", why);
    return watch_ ? watch_->error_of(0, RankPhase::kRendezvous, 0, what)
                  : peer_error(0, RankPhase::kRendezvous, 0, what);
  }

  // Records the result of a round. Returns false if the store is gone or frozen.
  bool still_answers(const absl::Status& status) {
    if (status.ok()) answered_ = clock_.elapsed();
    return status.ok() || (absl::IsDeadlineExceeded(status) &&
                           clock_.elapsed() - answered_ < options_.store_limit);
  }

  static const absl::Status& status_of(const absl::Status& status) { return status; }
  template <typename Value>
  static const absl::Status& status_of(const absl::StatusOr<Value>& result) {
    return result.status();
  }

  // Repeats `call`, which must have the same effect however often it runs, until the store answers.
  // Errors: store_failed().
  template <typename Call>
  auto ask(const Call& call) -> decltype(call()) {
    for (;;) {
      auto result = call();
      const absl::Status& status = status_of(result);
      const bool answers = still_answers(status);
      if (status.ok()) return result;
      if (!answers) return store_failed(status);
      clock_.sleep(poll_interval_);
    }
  }

  void enter(std::string name) {
    const absl::Duration check_interval =
        std::max(kBeatInterval, absl::Milliseconds(1) * options_.world_size);
    start_ = std::make_unique<StartStore>(store_, std::move(name), check_interval, clock_);
    watch_.emplace(options_.rank, options_.world_size, options_.silence_limit / 2, options_.host);
    rank_0_lives_ = !options_.store_outlives_ranks;
    first_beat_of_0_.reset();
    answered_ = clock_.elapsed();
    next_beat_ = absl::ZeroDuration();
  }

  std::string own_job() const { return encode_job(options_.world_size, options_.identity); }

  // Names a new start, as rank 0.
  absl::Status begin_start() {
    const std::string count = absl::StrCat(options_.restart_count, "-");
    const std::string name = count + random_hex(kWordDigits);
    // The job before the name, which other ranks look for.
    RETURN_IF_ERROR(ask([&] { return store_.set(absl::StrCat(name, "/", kJobKey), own_job()); }));
    ASSIGN_OR_RETURN(const std::string held, ask([&] { return store_.set_once(kStartKey, name); }));
    if (held != name) {
      if (absl::StartsWith(held, count)) RETURN_IF_ERROR(await_end_of(held));
      RETURN_IF_ERROR(ask([&] { return store_.set(kStartKey, name); }));
    }
    enter(name);
    return absl::OkStatus();
  }

  // Waits until rank 0 of another start is silent. Errors: the refusal of this rank if it lives.
  absl::Status await_end_of(const std::string& other) {
    enter(other);
    ASSIGN_OR_RETURN(const bool lives, watch_earlier(0));
    if (!lives) return absl::OkStatus();
    rank_0_lives_ = true;
    RETURN_IF_ERROR(agree_on_job());  // names what differs
    return refuse_twice();
  }

  // Waits for the name of the newest start, as another rank.
  absl::Status find_start() {
    for (;;) {
      absl::StatusOr<std::optional<std::string>> name = store_.get(kStartKey);
      if (absl::IsFailedPrecondition(name.status())) {
        store_.add(kStrangersKey, 1).IgnoreError();  // best effort: rank 0 logs it
      }
      if (!still_answers(name.status())) return store_failed(name.status());
      if (name.ok() && *name) {
        enter(**std::move(name));
        return absl::OkStatus();
      }
      if (too_late()) return rank_0_did_not_come();
      clock_.sleep(poll_interval_);
    }
  }

  absl::Status rank_0_did_not_come() const {
    return absl::UnavailableError(absl::StrCat(
        "rank 0 did not come within ", absl::FormatDuration(options_.timeout),
        start_ == nullptr ? "" : "; the store holds an earlier start, which shows no life"));
  }

  // Waits until it is certain that rank 0 of this start lives, since an earlier start decides
  // nothing. Errors: of the store, also Aborted once another start replaces this one; Unavailable
  // at the time-out.
  absl::Status await_rank_0() {
    while (!rank_0_lives_) {
      RETURN_IF_ERROR(ask([&] { return look_at(0); }).status());
      if (rank_0_lives_) break;
      if (too_late()) return rank_0_did_not_come();
      notice_.log_if_due("for rank 0 of a new start");
      clock_.sleep(poll_interval_);
    }
    return absl::OkStatus();
  }

  absl::Status agree_on_job() {
    ASSIGN_OR_RETURN(const std::optional<std::string> held,
                     ask([&] { return start_->get(kJobKey); }));
    const std::string agreed = held.value_or("");
    if (agreed == own_job()) return absl::OkStatus();
    RETURN_IF_ERROR(await_rank_0());
    absl::StatusOr<std::pair<int, JobIdentity>> job = decode_job(agreed);
    if (!job.ok()) return refuse(absl::string_view(job.status().message()));
    return refuse(absl::StrCat(
        "it is not of the job of rank 0: ",
        identity_difference(options_.world_size, options_.identity, job->first, job->second),
        "; all ranks of a job need the same job, and each job a MASTER_PORT of its own"));
  }

  // Leaves a note for rank 0. Returns the error of this rank.
  absl::Status refuse(absl::string_view why) {
    const std::string text = absl::StrCat("rank ", options_.rank, " was refused: ", why);
    absl::StatusOr<int64_t> number = start_->add("refusals", 1);
    // Best effort: this rank's own error has the reason too.
    if (number.ok()) start_->set(absl::StrCat("refusal/", *number), text).IgnoreError();
    return absl::FailedPreconditionError(text);
  }

  absl::Status refuse_twice() {
    return with_kind(
        refuse(absl::StrCat("it came twice: 2 processes have rank ", options_.rank,
                            " of this job; each needs a RANK of its own. If the other one is "
                            "dying, start this one again")),
        FailureKind::kBusy);
  }

  absl::Status register_rank() {
    ASSIGN_OR_RETURN(const std::string holder,
                     ask([&] { return start_->set_once(came_key(options_.rank), attempt_); }));
    if (holder != attempt_) RETURN_IF_ERROR(follow_earlier());
    return ask([&] { return beat(); });
  }

  // Watches another process of `rank` in this start. Returns true once it shows life, false once it
  // is silent for the limit, has left, or knows that the job failed. `earlier_` is its last
  // heartbeat.
  absl::StatusOr<bool> watch_earlier(int rank) {
    PeerWatch watch(/*rank=*/-1, options_.world_size, options_.silence_limit / 2);
    std::optional<int64_t> first;
    for (;;) {
      absl::StatusOr<std::optional<std::string>> text = start_->get(beat_key(rank));
      if (!still_answers(text.status())) return store_failed(text.status());
      const std::optional<Heartbeat> read =
          text.ok() && *text ? parse_heartbeat(**text) : std::nullopt;
      if (read) {
        watch.observe(rank, *read, clock_.elapsed());
        earlier_ = *read;
        if (!first) first = read->beat;
        if (read->left || read->knows_failure) return false;
        if (read->beat != *first) return true;
      } else if (text.ok()) {
        watch.observe_nothing(rank, clock_.elapsed());
      }
      if (watch.silence(rank) >= options_.silence_limit) return false;
      if (too_late()) {
        return absl::UnavailableError(absl::StrCat("another process has rank ", rank,
                                                   " of this job, and showed no life within ",
                                                   absl::FormatDuration(options_.timeout)));
      }
      notice_.log_if_due(absl::StrCat("for a sign of life of another process of rank ", rank));
      clock_.sleep(kBeatInterval / 5);
    }
  }

  // Decides on a start in which another process has the place of this rank. Returns OK if this
  // process takes the place.
  absl::Status follow_earlier() {
    const int rank = options_.rank;
    // Rank 0 does not hold the silence of the earlier process against the rank any more.
    RETURN_IF_ERROR(ask([&] { return start_->set(later_key(rank), attempt_); }));
    ASSIGN_OR_RETURN(const bool lives, watch_earlier(rank));
    if (lives) {
      // Best effort: otherwise rank 0 does not notice if the first process dies in the meeting.
      start_->set(later_key(rank), "").IgnoreError();
      return refuse_twice();
    }
    ASSIGN_OR_RETURN(const std::optional<std::string> text,
                     ask([&] { return start_->get(kVerdictKey); }));
    if (!text) return ask([&] { return start_->set(came_key(rank), attempt_); });
    RETURN_IF_ERROR(await_rank_0());
    ASSIGN_OR_RETURN(const Verdict verdict, decode_verdict(*text));
    RETURN_IF_ERROR(verdict.status);
    const absl::Status failure = peer_error(
        rank, earlier_.phase, earlier_.step,
        absl::StrCat("another process of this rank has come, and this one ",
                     earlier_.left ? "has left"
                                   : absl::StrCat("shows no sign of life for ",
                                                  absl::FormatDuration(options_.silence_limit))));
    // The other ranks end, so that all start again. Those of a rank that left know it already.
    if (earlier_.left) return failure;
    absl::StatusOr<std::string> held =
        start_->set_once(kFailureKey, absl::string_view(failure.message()));
    return held.ok() ? absl::AbortedError(*held) : failure;
  }

  absl::Status beat() {
    next_beat_ = clock_.elapsed() + kBeatInterval;
    RETURN_IF_ERROR(start_->set(beat_key(options_.rank),
                                format_heartbeat({.beat = ++beats_, .host = options_.host})));
    if (options_.published) options_.published();
    return absl::OkStatus();
  }

  // Returns true if `peer` has come, and then reads its heartbeat.
  absl::StatusOr<bool> look_at(int peer) {
    ASSIGN_OR_RETURN(std::optional<std::string> text, start_->get(beat_key(peer)));
    if (!text) return false;
    if (std::optional<Heartbeat> heartbeat = parse_heartbeat(*text)) {
      watch_->observe(peer, *heartbeat, clock_.elapsed());
      if (peer == 0 && !first_beat_of_0_) first_beat_of_0_ = heartbeat->beat;
      if (peer == 0 && heartbeat->beat != *first_beat_of_0_) rank_0_lives_ = true;
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

  // Returns true once all ranks have come. Asks only for the first that has not.
  absl::StatusOr<bool> all_came() {
    for (; arrived_ < options_.world_size; ++arrived_) {
      ASSIGN_OR_RETURN(std::optional<std::string> text, start_->get(beat_key(arrived_)));
      if (!text) return false;
    }
    return true;
  }

  // Returns true if another process is about to take the place of `rank`.
  absl::StatusOr<bool> has_successor(int rank) {
    ASSIGN_OR_RETURN(const std::optional<std::string> later, start_->get(later_key(rank)));
    if (later.value_or("").empty()) return false;
    ASSIGN_OR_RETURN(const std::optional<std::string> came, start_->get(came_key(rank)));
    return later != came;
  }

  // Speaks if ranks are silent, and names them.
  absl::StatusOr<Word> silence() {
    std::vector<int> silent;
    for (const int rank : watch_->silent(options_.silence_limit)) {
      ASSIGN_OR_RETURN(const bool spared, has_successor(rank));
      if (!spared) silent.push_back(rank);
    }
    if (silent.empty() || !rank_0_lives_) return Word();
    return speak(watch_->blame(silent, absl::StrCat("no sign of life for ",
                                                    absl::FormatDuration(options_.silence_limit))));
  }

  absl::Status not_all_came() {
    ASSIGN_OR_RETURN(const std::vector<int> ranks, ask([&] { return missing(); }));
    std::string text =
        absl::StrCat(name_ranks(ranks), " of ", options_.world_size, " did not come within ",
                     absl::FormatDuration(options_.timeout));
    absl::StatusOr<int64_t> refusals = start_->add("refusals", 0);
    constexpr int64_t kMostTold = 4;
    for (int64_t i = 1; refusals.ok() && i <= std::min(*refusals, kMostTold); ++i) {
      absl::StatusOr<std::optional<std::string>> note = start_->get(absl::StrCat("refusal/", i));
      if (note.ok() && *note) absl::StrAppend(&text, "; ", **note);
    }
    return absl::UnavailableError(text);
  }

  // Logs the newest refusal since the last line, as rank 0. Errors: of the store.
  absl::Status log_refusals() {
    if (clock_.elapsed() < next_refusal_) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int64_t strangers, store_.add(kStrangersKey, 0));
    ASSIGN_OR_RETURN(const int64_t refusals, start_->add("refusals", 0));
    // The launcher's store may have counted strangers of earlier starts.
    const bool strange = strangers > strangers_.value_or(strangers);
    strangers_ = strangers;
    std::optional<std::string> note;
    if (refusals > refusals_) {
      ASSIGN_OR_RETURN(note, start_->get(absl::StrCat("refusal/", refusals)));
    }
    if (note) refusals_ = refusals;  // a rank counts before it writes
    if (!note && !strange) return absl::OkStatus();
    next_refusal_ = clock_.elapsed() + kRefusalInterval;
    MILLRACE_LOG(WARNING) << note.value_or(
        "a process that does not have the same MILLRACE_JOB_SECRET tried to join, and was refused");
    return absl::OkStatus();
  }

  // Runs one round of rank 0.
  absl::StatusOr<Word> decide() {
    ASSIGN_OR_RETURN(const bool all, all_came());
    if (all) return speak(absl::OkStatus());
    if (clock_.elapsed() >= next_beat_) {
      RETURN_IF_ERROR(beat());
      RETURN_IF_ERROR(log_refusals());
      ASSIGN_OR_RETURN(const std::vector<int> absent, missing());  // reads all heartbeats
      if (!absent.empty()) {
        notice_.log_if_due(
            absl::StrCat("for ", name_ranks(absent), " of ", options_.world_size, " to come"));
      }
      ASSIGN_OR_RETURN(Word silent, silence());
      if (silent.spoken) return silent;
    }
    if (too_late()) return speak(not_all_came());
    return Word();
  }

  absl::Status gather() {
    rank_0_lives_ = true;
    for (;;) {
      absl::StatusOr<Word> word = decide();
      if (!still_answers(word.status())) return store_failed(word.status());
      if (word.ok() && word->spoken) return announce(word->status);
      clock_.sleep(poll_interval_);
    }
  }

  absl::Status announce(const absl::Status& word) {
    Verdict verdict;
    verdict.status = word;
    if (word.ok()) {
      std::vector<std::string> keys;
      for (int rank = 0; rank < options_.world_size; ++rank) keys.push_back(came_key(rank));
      ASSIGN_OR_RETURN(verdict.attempts, ask([&] { return start_->get_all(keys); }));
    }
    RETURN_IF_ERROR(ask([&] { return start_->set(kVerdictKey, encode_verdict(verdict)); }));
    if (word.ok()) return word;
    const absl::Duration until = clock_.elapsed() + kFarewell;
    while (clock_.elapsed() < until) {
      absl::StatusOr<std::vector<int>> absent = missing();
      absl::StatusOr<int64_t> read = start_->add("read", 0);
      if (!absent.ok() || !read.ok()) break;
      if (*read >= options_.world_size - static_cast<int64_t>(absent->size()) - 1) break;
      if (clock_.elapsed() >= next_beat_) beat().IgnoreError();
      clock_.sleep(poll_interval_);
    }
    return word;
  }

  // Runs one round of another rank. Returns rank 0's verdict, or a reason not to wait for a
  // verdict.
  absl::StatusOr<Word> listen() {
    ASSIGN_OR_RETURN(std::optional<std::string> text, start_->get(kVerdictKey));
    bool left_out = false;
    if (text) {
      const absl::StatusOr<Verdict> verdict = decode_verdict(*text);
      if (!verdict.ok()) return speak(verdict.status());
      if (includes(*verdict, options_.rank, attempt_)) return speak(absl::OkStatus());
      left_out = verdict->status.ok();
      if (!left_out && rank_0_lives_) {
        start_->add("read", 1).IgnoreError();  // without it rank 0 only waits longer
        return speak(verdict->status);
      }
    }
    if (left_out || clock_.elapsed() >= next_beat_) {
      ASSIGN_OR_RETURN(const std::optional<std::string> came, start_->get(came_key(options_.rank)));
      if (left_out || came != attempt_) {
        if (absl::Status status = follow_earlier(); !status.ok()) return speak(status);
      }
      RETURN_IF_ERROR(beat());
      RETURN_IF_ERROR(look_at(0).status());
      notice_.log_if_due("for rank 0 to find all ranks there");
      ASSIGN_OR_RETURN(Word silent, silence());
      if (silent.spoken) return silent;
    }
    // Rank 0 began earlier and has more information, so its verdict takes precedence.
    if (clock_.elapsed() < deadline_ + absl::Seconds(1)) return Word();
    return speak(rank_0_lives_ ? not_all_came() : rank_0_did_not_come());
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
  const std::string attempt_;  // identifies this process
  WaitNotice notice_;
  int64_t beats_ = 0;
  Heartbeat earlier_;  // of another process of this rank

  // Of the start that this rank meets, set by enter().
  std::unique_ptr<StartStore> start_;
  std::optional<PeerWatch> watch_;
  bool rank_0_lives_ = false;  // if true, rank 0 of this start is not one of the past
  std::optional<int64_t> first_beat_of_0_;
  absl::Duration next_beat_;
  absl::Duration answered_;  // last answer of the store
  // On rank 0.
  int arrived_ = 0;                   // all lower ranks have come
  int64_t refusals_ = 0;              // logged
  std::optional<int64_t> strangers_;  // at the last look
  absl::Duration next_refusal_ = -absl::InfiniteDuration();
};

}  // namespace

absl::StatusOr<std::unique_ptr<StartStore>> meet_ranks(JobStore& store,
                                                       const RendezvousOptions& options,
                                                       Clock& clock) {
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
