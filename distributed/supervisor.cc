#include "distributed/supervisor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr char kFailureKey[] = "failure";
// A rank whose connection is closed and that is silent for so long has died.
constexpr absl::Duration kDeadSilence = absl::Seconds(2);
// How long to look for the rank that broke a connection.
constexpr absl::Duration kExplainLimit = absl::Seconds(5);

absl::Duration now() { return Clock::real().elapsed(); }

std::string beat_key(int rank) { return absl::StrCat("beat/", rank); }

}  // namespace

Supervisor::Supervisor(JobStore& store, SupervisorOptions options)
    : store_(store),
      options_(std::move(options)),
      shortest_interval_(
          std::max(absl::Milliseconds(50), absl::Milliseconds(0.5) * options_.world_size)),
      interval_(std::max(absl::Milliseconds(500), 2 * shortest_interval_)),
      watch_(options_.rank, options_.world_size, options_.timeout / 2) {
  for (int rank = 0; rank < options_.world_size; ++rank) beat_keys_.push_back(beat_key(rank));
  thread_ = std::thread([this] { run(); });
}

Supervisor::~Supervisor() { leave(); }

Heartbeat Supervisor::own_heartbeat() {
  const int64_t doing = doing_.load(std::memory_order_relaxed);
  return {.beat = ++beat_,
          .phase = static_cast<RankPhase>(doing % kPhases),
          .step = doing / kPhases,
          .started = {started_[0].load(std::memory_order_relaxed),
                      started_[1].load(std::memory_order_relaxed)},
          .left = left_};
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
    if (heartbeat) watch_.observe(ranks[i], *heartbeat, now());
  }
  return absl::OkStatus();
}

void Supervisor::note_store_error(const absl::Status& status) {
  if (!options_.rank_0_serves_store) {
    if (absl::IsUnavailable(status)) {
      settle(absl::AbortedError(absl::StrCat("the launcher's store is gone: ",
                                             absl::string_view(status.message()))))
          .IgnoreError();
    }
    return;
  }
  if (options_.rank == 0) return;
  absl::Status failure;
  {
    MutexLock lock(mutex_);
    watch_.observe_nothing(0, now());
    if (absl::IsUnavailable(status)) {
      failure = watch_.blame({0}, absl::StrCat("its process ended, and the store with it (",
                                               absl::string_view(status.message()), ")"));
    }
  }
  if (!failure.ok()) settle(failure).IgnoreError();
}

void Supervisor::run() {
  int64_t published_doing = -1;
  absl::Duration next_round;
  for (;;) {
    bool attention = false;
    bool hurry = false;
    {
      MutexLock lock(mutex_);
      mutex_.await_for(shortest_interval_,
                       [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stop_ || hurry_; });
      if (stop_) return;
      attention = absl::Now() < attention_until_;
      hurry = hurry_;
      hurry_ = false;
    }
    const int64_t doing = doing_.load(std::memory_order_relaxed);
    const bool round = hurry || now() >= next_round;
    if (!round && doing == published_doing) continue;
    absl::Status status = publish();
    if (status.ok()) published_doing = doing;
    if (round) {
      next_round = now() + interval_;
      if (status.ok()) status = read_failure();
      if (status.ok()) status = read_others(attention);
    }
    if (!status.ok()) note_store_error(status);
    MutexLock lock(mutex_);
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
  if (options_.failed) options_.failed();
  return failure;
}

absl::Status Supervisor::accuse(const absl::Status& failure) {
  if (absl::Status earlier = this->failure(); !earlier.ok()) return earlier;
  const absl::string_view text = failure.message();
  absl::StatusOr<std::string> held = store_.set_once(kFailureKey, text);
  return settle(held.ok() ? absl::AbortedError(*held) : failure);
}

absl::Status Supervisor::fail(absl::string_view reason) {
  const int64_t doing = doing_.load(std::memory_order_relaxed);
  return accuse(
      peer_error(options_.rank, static_cast<RankPhase>(doing % kPhases), doing / kPhases, reason));
}

bool Supervisor::wait_for_round() {
  MutexLock lock(mutex_);
  attention_until_ = absl::Now() + absl::Seconds(5);
  hurry_ = true;
  // Two, since one may have been under way.
  const int64_t wanted = rounds_ + 2;
  return mutex_.await_for(absl::Seconds(1), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return rounds_ >= wanted || !failure_.ok();
  });
}

absl::Status Supervisor::find_dead() {
  std::vector<int> suspects;
  {
    MutexLock lock(mutex_);
    suspects = watch_.silent(kDeadSilence);
  }
  for (int rank : suspects) {
    if (!options_.connection_lost(rank)) continue;
    MutexLock lock(mutex_);
    return watch_.blame({rank}, "its process ended or its machine is gone");
  }
  return absl::OkStatus();
}

absl::Status Supervisor::look_after(SupervisedWait& wait) {
  absl::Status verdict = failure();
  if (!verdict.ok()) return verdict;
  {
    MutexLock lock(mutex_);
    attention_until_ = absl::Now() + absl::Seconds(5);
    if (wait.waited == absl::ZeroDuration()) wait.looked = now();
    const absl::Duration step = now() - wait.looked;
    wait.waited += std::min(step, options_.timeout / 2) + absl::Nanoseconds(1);
    wait.looked = now();
    if (watch_.any_waits_for_data()) wait.waited = absl::Nanoseconds(1);
    const std::vector<int> silent = watch_.silent(options_.timeout);
    if (!silent.empty()) {
      verdict = watch_.blame(silent, absl::StrCat("it showed no sign of life for ",
                                                  absl::FormatDuration(options_.timeout)));
    } else if (wait.waited >= options_.timeout && rounds_ > 0) {
      const std::vector<int> absent = watch_.absent(wait.channel, wait.ordinal);
      const std::string within = absl::FormatDuration(options_.timeout);
      verdict = absent.empty()
                    ? absl::AbortedError(absl::StrCat(
                          wait.what, " did not end within ", within,
                          ", though all ranks take part in it and live: is the network down?"))
                    : watch_.blame(absent, absl::StrCat("it did not take part in ", wait.what,
                                                        " within ", within));
    }
  }
  if (verdict.ok()) verdict = find_dead();
  return verdict.ok() ? verdict : accuse(verdict);
}

absl::Status Supervisor::explain_broken_connection(absl::string_view error) {
  const absl::Duration until = now() + kExplainLimit;
  while (now() < until) {
    wait_for_round();
    absl::Status found = failure();
    if (!found.ok()) return found;
    {
      MutexLock lock(mutex_);
      if (std::optional<int> left = watch_.left()) {
        found = watch_.blame({*left}, "it left the job");
      }
    }
    if (found.ok()) found = find_dead();
    if (!found.ok()) return accuse(found);
  }
  std::vector<int> lost;
  for (int rank = 0; rank < options_.world_size; ++rank) {
    if (rank != options_.rank && options_.connection_lost(rank)) lost.push_back(rank);
  }
  absl::Status unexplained = absl::AbortedError(error);
  if (!lost.empty()) {
    MutexLock lock(mutex_);
    unexplained = watch_.blame(lost, absl::StrCat("the connection to it broke: ", error));
  }
  return accuse(unexplained);
}

void Supervisor::leave() {
  {
    MutexLock lock(mutex_);
    if (stop_) return;
    stop_ = true;
  }
  thread_.join();
  left_ = true;
  // Best effort: without it the others find out in seconds.
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
        const bool gone =
            rank == options_.rank || watch_.last(rank).left || watch_.silence(rank) >= kDeadSilence;
        all_left = all_left && gone;
      }
    }
    if (all_left) return;
    Clock::real().sleep(shortest_interval_);
  }
}

}  // namespace millrace
