#include "distributed/supervisor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// A rank that is silent for this time does not need the store any more.
constexpr absl::Duration kDeadSilence = absl::Seconds(2);
// A rank that closed a connection, did not report why, and is silent for this time, at least two
// heartbeats, has died. A rank that is only slow keeps its connections.
constexpr absl::Duration kClosedSilence = absl::Milliseconds(1500);
// A wait as short as this needs no check.
constexpr absl::Duration kShortWait = absl::Seconds(1);
// Maximum time to search for the rank that broke a connection.
constexpr absl::Duration kExplainLimit = absl::Seconds(5);

absl::Duration now() { return Clock::real().elapsed(); }

}  // namespace

Supervisor::Supervisor(JobStore& store, SupervisorOptions options)
    : store_(store),
      options_(std::move(options)),
      shortest_interval_(
          std::max(absl::Milliseconds(50), absl::Milliseconds(0.5) * options_.world_size)),
      interval_(std::max(absl::Milliseconds(500), 2 * shortest_interval_)),
      rank_0_interval_(2 * shortest_interval_),
      watch_(options_.rank, options_.world_size, options_.timeout / 2, options_.host),
      answered_(now()) {
  for (int rank = 0; rank < options_.world_size; ++rank) beat_keys_.push_back(beat_key(rank));
  // The machine of every rank, for messages: a link may fail before the thread's first round. A
  // store that does not answer is noticed there.
  read_others(/*all=*/true).IgnoreError();
  thread_ = std::thread([this] { run(); });
}

Supervisor::~Supervisor() { leave(); }

Heartbeat Supervisor::own_heartbeat() {
  const int64_t doing = doing_.load(std::memory_order_relaxed);
  return {.beat = ++beat_,
          .phase = static_cast<RankPhase>(doing % kPhases),
          .step = doing / kPhases,
          .started = {started_[0].load(std::memory_order_relaxed),
                      started_[1].load(std::memory_order_relaxed),
                      started_[2].load(std::memory_order_relaxed)},
          .left = left_,
          .knows_failure = knows_failure_,
          .stop_signal = options_.stop_signal ? options_.stop_signal() : 0,
          .host = options_.host};
}

absl::Status Supervisor::publish() {
  const Heartbeat heartbeat = own_heartbeat();
  RETURN_IF_ERROR(store_.set(beat_keys_[options_.rank], format_heartbeat(heartbeat)));
  if (options_.published) options_.published(heartbeat.phase, heartbeat.step);
  return absl::OkStatus();
}

absl::Status Supervisor::read_failure() {
  ASSIGN_OR_RETURN(std::optional<std::string> text, store_.get(kFailureKey));
  if (text) settle(absl::AbortedError(*text)).IgnoreError();
  return absl::OkStatus();
}

absl::Status Supervisor::read_others(bool all) {
  std::vector<int> ranks;
  std::vector<std::string> keys;
  for (int rank = 0; rank < (all ? options_.world_size : 1); ++rank) {
    if (rank == options_.rank) continue;
    ranks.push_back(rank);
    keys.push_back(beat_keys_[rank]);
  }
  if (keys.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<std::string> texts, store_.get_all(keys));
  MutexLock lock(mutex_);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::optional<Heartbeat> heartbeat = parse_heartbeat(texts[i]);
    if (!heartbeat) continue;
    watch_.observe(ranks[i], *heartbeat, now());
    if (options_.observed) options_.observed(ranks[i], heartbeat->phase, heartbeat->step);
  }
  return absl::OkStatus();
}

void Supervisor::note_store_error(const absl::Status& status) {
  // Another start has replaced this one, and has its own connections.
  if (absl::IsAborted(status)) settle(status).IgnoreError();
  // A value of the store that no rank of this job wrote.
  if (absl::IsFailedPrecondition(status)) fail(absl::string_view(status.message())).IgnoreError();
  // check_wait() handles a store that is slow to answer.
  if (!absl::IsUnavailable(status) || options_.rank == 0) return;
  absl::Status failure;
  {
    MutexLock lock(mutex_);
    store_lost_ = true;
    const std::string why = absl::StrCat(" (", absl::string_view(status.message()), ")");
    failure = options_.rank_0_serves_store
                  ? watch_.blame({0}, absl::StrCat("its process ended, and the store with it", why))
                  : absl::AbortedError(absl::StrCat("the launcher's store is gone", why));
  }
  settle(failure).IgnoreError();
}

absl::Status Supervisor::talk(bool round, bool all) {
  RETURN_IF_ERROR(publish());
  if (round) RETURN_IF_ERROR(read_failure());
  return read_others(all);
}

bool Supervisor::is_stalled(int64_t now_doing) {
  if (now_doing != last_doing_) doing_since_ = now();
  last_doing_ = now_doing;
  return is_unlimited(static_cast<RankPhase>(now_doing % kPhases)) &&
         now() - doing_since_ >= kShortWait;
}

std::vector<int> Supervisor::lost_connections() const {
  std::vector<int> lost;
  for (int rank = 0; rank < options_.world_size; ++rank) {
    if (rank != options_.rank && options_.connection_lost(rank)) lost.push_back(rank);
  }
  return lost;
}

void Supervisor::report_stop_signal() {
  int signal = 0;
  {
    MutexLock lock(mutex_);
    signal = watch_.stop_signal();
  }
  if (signal != 0 && options_.peer_stop_signal) options_.peer_stop_signal(signal);
}

void Supervisor::look_for_dead() {
  const absl::Status dead = find_dead();
  if (!dead.ok()) accuse(dead).IgnoreError();
}

void Supervisor::run() {
  int64_t published = -1;
  bool searches = false;
  absl::Duration next_round;
  absl::Duration next_look;
  for (;;) {
    bool attention = false;
    bool requested = false;
    {
      MutexLock lock(wake_mutex_);
      wake_mutex_.await_for(shortest_interval_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return stop_ || round_requested_;
      });
      if (stop_) return;
      requested = round_requested_;
      round_requested_ = false;
    }
    {
      MutexLock lock(mutex_);
      attention = absl::Now() < attention_until_;
      if (!knows_failure_ && !failure_.ok()) {
        knows_failure_ = true;
        requested = true;
      }
    }
    look_after_watched();
    const int64_t doing = doing_.load(std::memory_order_relaxed);
    const bool stalled = is_stalled(doing);
    // A closed connection starts the search at once, however short the wait has been.
    const bool searched = searches;
    searches = is_unlimited(static_cast<RankPhase>(doing % kPhases)) && !lost_connections().empty();
    const bool round = requested || (searches && !searched) || now() >= next_round;
    absl::Status status;
    if (round || doing != published) {
      status = talk(round, /*all=*/round && (attention || stalled || searches));
      if (status.ok() && round && stalled) report_stop_signal();
      // After talk(), which reads the reason or the departure that a living rank reports before it
      // closes its connections.
      if (status.ok() && round && searches) look_for_dead();
      if (status.ok()) published = doing;
    } else if (now() >= next_look) {
      status = read_others(/*all=*/false);
    } else {
      continue;
    }
    next_look = now() + rank_0_interval_;
    if (round) next_round = now() + interval_;
    if (!status.ok()) note_store_error(status);
    MutexLock lock(mutex_);
    if (status.ok()) {
      ++answers_;
      answered_ = now();
    }
    if (round && attention) ++rounds_;
  }
}

absl::Status Supervisor::failure() {
  MutexLock lock(mutex_);
  return failure_;
}

absl::Status Supervisor::settle(const absl::Status& failure) {
  {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    failure_ = failure;
  }
  request_round();
  if (options_.failed) options_.failed();
  return failure;
}

absl::Status Supervisor::accuse(const absl::Status& failure) {
  if (absl::Status earlier = this->failure(); !earlier.ok()) return earlier;
  const absl::string_view text = failure.message();
  absl::StatusOr<std::string> held = store_.set_once(kFailureKey, text);
  if (absl::IsAborted(held.status())) return settle(held.status());
  return settle(held.ok() ? absl::AbortedError(*held) : failure);
}

absl::Status Supervisor::own_error(absl::string_view reason) const {
  const int64_t doing = doing_.load(std::memory_order_relaxed);
  return watch_.error_of(options_.rank, static_cast<RankPhase>(doing % kPhases), doing / kPhases,
                         reason);
}

absl::Status Supervisor::fail(absl::string_view reason) {
  absl::Status failure;
  {
    MutexLock lock(mutex_);
    failure = own_error(reason);
  }
  return accuse(failure);
}

void Supervisor::request_round() {
  MutexLock lock(wake_mutex_);
  round_requested_ = true;
}

bool Supervisor::wait_for_round() {
  MutexLock lock(mutex_);
  attention_until_ = absl::Now() + absl::Seconds(5);
  request_round();
  // Two rounds, since one may have been under way.
  const int64_t wanted = rounds_ + 2;
  return mutex_.await_for(absl::Seconds(1), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return rounds_ >= wanted || !failure_.ok();
  });
}

absl::Status Supervisor::find_dead() {
  std::vector<int> suspects;
  {
    MutexLock lock(mutex_);
    suspects = watch_.silent(std::max(kClosedSilence, 2 * interval_));
  }
  for (int rank : suspects) {
    if (!options_.connection_lost(rank)) continue;
    MutexLock lock(mutex_);
    return watch_.blame({rank}, "its process ended or its machine is gone");
  }
  return absl::OkStatus();
}

void Supervisor::count_wait(SupervisedWait& wait, const std::vector<int>& absent,
                            absl::Duration step) const {
  wait.waited = absent.empty() ? wait.waited + step : absl::ZeroDuration();
  const std::vector<SupervisedWait::Late> before = std::move(wait.late);
  wait.late.assign(options_.world_size, {});
  for (const int rank : absent) {
    const RankPhase phase = watch_.last(rank).phase;
    const bool files = phase == RankPhase::kCheckpoint;
    wait.late[rank].files = files;
    if (before.empty() || before[rank].files != files) continue;
    if (files || !is_unlimited(phase)) wait.late[rank].waited = before[rank].waited + step;
  }
}

void Supervisor::notify_of(const SupervisedWait& wait, const std::vector<int>& absent) {
  const std::pair<Channel, int64_t> current = {wait.channel, wait.ordinal};
  if (!notice_ || noticed_ != current) {
    const absl::Duration interval = options_.notice_interval;
    notice_.emplace(Clock::real(), absl::InfiniteDuration(), NoticeTimes{interval, interval});
    noticed_ = current;
  }
  std::string text = absl::StrCat("in ", wait.what, " for ");
  if (absent.empty()) absl::StrAppend(&text, "messages of ranks that all take part");
  for (const int rank : absent) {
    const Heartbeat& last = watch_.last(rank);
    absl::StrAppend(&text, rank == absent[0] ? "" : ", ", watch_.name(rank), " (",
                    rank_phase_name(last.phase), " of step ", last.step, ")");
  }
  std::optional<std::string> line = notice_->line_if_due(text);
  // On a thread of its own: a log on a hanging disk must not stop this rank's signs of life. One
  // line at a time; lines that come meanwhile are omitted.
  if (!line || logging_->exchange(true)) return;
  const absl::Status started = catch_exceptions([&] {
    std::thread([line = *std::move(line), logging = logging_] {
      MILLRACE_LOG(INFO) << line;
      *logging = false;
    }).detach();
    return absl::OkStatus();
  });
  if (!started.ok()) *logging_ = false;
}

absl::Status Supervisor::check_wait(SupervisedWait& wait) {
  const absl::Duration step = std::min(now() - wait.looked, options_.timeout / 2);
  const bool first = wait.answers < 0;
  const bool answered = wait.answers != answers_;
  wait.looked = now();
  wait.answers = answers_;
  wait.unanswered = answered ? absl::ZeroDuration() : wait.unanswered + step;
  std::vector<int> without_part, with_files;  // absent for too long
  if (wait.ordinal > 0) {
    const std::vector<int> absent = watch_.absent(wait.channel, wait.ordinal);
    count_wait(wait, absent, first ? absl::ZeroDuration() : step);
    notify_of(wait, absent);
    for (const int rank : absent) {
      const auto& [files, waited] = wait.late[rank];
      if (waited >= (files ? options_.checkpoint_timeout : options_.timeout)) {
        (files ? with_files : without_part).push_back(rank);
      }
    }
  }

  const std::string within = absl::FormatDuration(options_.timeout);
  const std::string no_life = absl::StrCat("it shows no sign of life (time-out ", within, ")");
  const bool too_long = wait.waited >= options_.timeout || !without_part.empty();
  // Observation of the other ranks began a little later than the wait.
  const absl::Duration silence_limit = too_long ? options_.timeout / 2 : options_.timeout;
  if (wait.unanswered >= silence_limit) {
    store_lost_ = true;
    return options_.rank_0_serves_store
               ? watch_.blame({0}, no_life)
               : absl::AbortedError("the launcher's store does not answer");
  }
  const std::vector<int> silent = watch_.silent(silence_limit);
  if (!silent.empty()) return watch_.blame(silent, no_life);
  if (rounds_ == 0) return absl::OkStatus();
  if (!without_part.empty()) {
    return watch_.blame(without_part,
                        absl::StrCat("it did not take part in ", wait.what, " within ", within));
  }
  if (!with_files.empty()) {
    return watch_.blame(with_files, absl::StrCat("it has written or loaded files for longer than ",
                                                 absl::FormatDuration(options_.checkpoint_timeout),
                                                 " (run.distributed.checkpoint_timeout_seconds)"));
  }
  return too_long ? no_progress(wait) : absl::OkStatus();
}

absl::Status Supervisor::no_progress(const SupervisedWait& wait) const {
  // Connections that work have no such pause.
  const absl::Duration limit = std::max(0.75 * options_.timeout, absl::Milliseconds(1500));
  std::vector<std::string> unreached;
  for (int rank = 0; options_.connection_silence && rank < options_.world_size; ++rank) {
    if (rank != options_.rank && options_.connection_silence(rank) >= limit) {
      unreached.push_back(watch_.name(rank));
    }
  }
  const std::string cause =
      unreached.empty() ? ", or do shapes differ?"
                        : absl::StrCat("? For ", absl::FormatDuration(limit),
                                       " no packet has come from ", absl::StrJoin(unreached, ", "));
  return absl::AbortedError(
      absl::StrCat(wait.what, " did not end within ", absl::FormatDuration(options_.timeout),
                   ", though all ranks live and take part in it: is the network down", cause));
}

absl::Status Supervisor::look_after(SupervisedWait& wait) {
  absl::Status verdict = failure();
  if (!verdict.ok()) return verdict;
  bool store_lost = false;
  {
    MutexLock lock(mutex_);
    attention_until_ = absl::Now() + absl::Seconds(5);
    verdict = check_wait(wait);
    store_lost = store_lost_;
  }
  if (verdict.ok()) verdict = find_dead();
  if (verdict.ok()) return verdict;
  return store_lost ? settle(verdict) : accuse(verdict);
}

void Supervisor::watch(const SupervisedWait& wait) {
  MutexLock lock(mutex_);
  watched_ = wait;
  watched_since_ = now();
}

void Supervisor::unwatch() {
  MutexLock lock(mutex_);
  watched_.reset();
}

void Supervisor::look_after_watched() {
  std::optional<SupervisedWait> wait;
  {
    MutexLock lock(mutex_);
    if (!watched_ || now() - watched_since_ < kShortWait || !failure_.ok()) return;
    wait = watched_;
  }
  look_after(*wait).IgnoreError();
  MutexLock lock(mutex_);
  if (watched_ && watched_->channel == wait->channel && watched_->ordinal == wait->ordinal) {
    watched_ = wait;
  }
}

absl::Status Supervisor::explain_broken_connection(absl::string_view error) {
  const absl::Duration until = now() + kExplainLimit;
  int64_t answers = -1;  // after the first round, before which one may have been under way
  bool store_silent = false;
  while (now() < until && !store_silent) {
    wait_for_round();
    absl::Status found = failure();
    if (!found.ok()) return found;
    {
      MutexLock lock(mutex_);
      if (answers < 0) answers = answers_;
      store_silent = answers == answers_ && now() - answered_ >= options_.timeout;
      if (std::optional<int> left = watch_.left()) {
        found = watch_.blame({*left}, "it left the job");
      }
    }
    if (found.ok()) found = find_dead();
    if (!found.ok()) return accuse(found);
  }
  const std::vector<int> lost = lost_connections();
  absl::Status unexplained;
  bool store_lost = false;
  {
    MutexLock lock(mutex_);
    // With all connections whole this rank is the only one that is known to have a problem.
    unexplained = own_error(error);
    if (answers == answers_ && options_.rank_0_serves_store && options_.rank != 0) {
      // Rank 0, or its machine, is gone. The connection may be that of a rank which found this
      // first and left, and which could not report so to the store.
      store_lost_ = true;
      unexplained = watch_.blame(
          {0}, absl::StrCat("its store does not answer, and the connection to ",
                            lost.empty() ? "a rank" : watch_.name(lost[0]), " broke: ", error));
    } else if (!lost.empty()) {
      unexplained = watch_.blame(lost, absl::StrCat("the connection to it broke: ", error));
    } else if (answers == answers_ && !options_.rank_0_serves_store) {
      store_lost_ = true;
      unexplained =
          absl::AbortedError(absl::StrCat("the launcher's store does not answer: ", error));
    }
    store_lost = store_lost_;
  }
  return store_lost ? settle(unexplained) : accuse(unexplained);
}

void Supervisor::leave() {
  {
    MutexLock lock(wake_mutex_);
    if (stop_) return;
    stop_ = true;
  }
  bool store_lost = false;
  {
    MutexLock lock(mutex_);
    store_lost = store_lost_;
  }
  if (store_lost) store_.close();
  thread_.join();
  left_ = true;
  // Best effort: without the report the other ranks notice within seconds.
  publish().IgnoreError();
}

void Supervisor::wait_for_leavers(absl::Duration limit) {
  const absl::Duration until = now() + limit;
  while (now() < until) {
    if (!read_others(/*all=*/true).ok()) return;
    bool all_left = true;
    {
      MutexLock lock(mutex_);
      for (int rank = 0; rank < options_.world_size; ++rank) {
        const Heartbeat& last = watch_.last(rank);
        const bool gone = rank == options_.rank || last.left || last.knows_failure ||
                          watch_.silence(rank) >= kDeadSilence;
        all_left = all_left && gone;
      }
    }
    if (all_left) return;
    Clock::real().sleep(shortest_interval_);
  }
}

}  // namespace millrace
