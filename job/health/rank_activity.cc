#include "job/health/rank_activity.h"

#include <utility>

#include "distributed/forwarded_collectives.h"

namespace millrace {
namespace {

constexpr int64_t kLoading = 32;  // above each phase
constexpr int64_t kPhaseFactor = 64;

int64_t packed(RankPhase phase, bool loading, int64_t since) {
  return since * kPhaseFactor + static_cast<int64_t>(phase) + (loading ? kLoading : 0);
}

RankPhase phase_of(int64_t state) { return static_cast<RankPhase>(state % kLoading); }
bool is_loading(int64_t state) { return state % kPhaseFactor >= kLoading; }
int64_t since_of(int64_t state) { return state / kPhaseFactor; }

// Returns true for phases before the first step. The first batch is read in kData.
bool may_be_loading(RankPhase phase) {
  return phase == RankPhase::kRendezvous || phase == RankPhase::kStart ||
         phase == RankPhase::kData || phase == RankPhase::kCheckpoint;
}

// Returns true for phases of one step, which share the time of the last progress.
bool is_within_step(RankPhase phase) {
  return phase == RankPhase::kLookup || phase == RankPhase::kForward ||
         phase == RankPhase::kBackward || phase == RankPhase::kCommit ||
         phase == RankPhase::kUpdate;
}

// Marks an exchange while its result is awaited.
class AwaitedExchange {
 public:
  explicit AwaitedExchange(RankActivity& activity) : activity_(activity) {
    activity_.begin_exchange();
  }
  ~AwaitedExchange() { activity_.end_exchange(); }
  AwaitedExchange(const AwaitedExchange&) = delete;
  AwaitedExchange& operator=(const AwaitedExchange&) = delete;

 private:
  RankActivity& activity_;
};

class RecordedExchange : public PendingCollective {
 public:
  RecordedExchange(std::unique_ptr<PendingCollective> other, RankActivity& activity)
      : other_(std::move(other)), activity_(activity) {}
  absl::Status wait() override {
    const AwaitedExchange awaited(activity_);
    return other_->wait();
  }

 private:
  const std::unique_ptr<PendingCollective> other_;
  RankActivity& activity_;
};

class RecordedCollectives : public ForwardedCollectives {
 public:
  RecordedCollectives(std::unique_ptr<Collectives> others, RankActivity& activity)
      : ForwardedCollectives(std::move(others)), activity_(activity) {}

  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override {
    return recorded(others().start_sum(values));
  }
  std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) override {
    return recorded(others().start_sum(values));
  }
  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    return recorded(others().start_exchange(sent, received));
  }
  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override {
    return recorded(others().start_sum(std::move(tensor)));
  }
  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override {
    const AwaitedExchange awaited(activity_);
    return others().all_gather(bytes);
  }
  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override {
    const AwaitedExchange awaited(activity_);
    return others().broadcast(bytes, root);
  }
  void set_phase(RankPhase phase, int64_t step) override {
    activity_.set_phase(phase, step);
    others().set_phase(phase, step);
  }

 private:
  std::unique_ptr<PendingCollective> recorded(std::unique_ptr<PendingCollective> other) {
    if (world_size() == 1) return other;  // nothing waits
    return std::make_unique<RecordedExchange>(std::move(other), activity_);
  }

  RankActivity& activity_;
};

}  // namespace

RankActivity::RankActivity(const Clock& clock)
    : clock_(clock), state_(packed(RankPhase::kRendezvous, /*loading=*/true, microseconds())) {}

int64_t RankActivity::microseconds() const { return absl::ToInt64Microseconds(clock_.elapsed()); }

void RankActivity::set_phase(RankPhase phase, int64_t step) {
  const int64_t state = state_.load(std::memory_order_relaxed);
  const bool loading = is_loading(state) && may_be_loading(phase);
  int64_t since = microseconds();
  if (phase == RankPhase::kWindowWait) {
    // A wait for a window is many short waits.
    if (window_wait_since_ < 0) window_wait_since_ = since;
    since = window_wait_since_;
  } else if (phase == RankPhase::kData || is_within_step(phase)) {
    // The window came. A save between two waits does not end the wait.
    window_wait_since_ = -1;
  }
  const bool same_step = is_within_step(phase) && is_within_step(phase_of(state));
  // A step begins with the end of the step before, of a batch or of another wait.
  const bool next_step = is_within_step(phase) && phase_of(state) == RankPhase::kBetweenSteps;
  if (loading || (!is_loading(state) && (same_step || next_step))) since = since_of(state);
  step_.store(step, std::memory_order_relaxed);
  state_.store(packed(phase, loading, since), std::memory_order_relaxed);
}

void RankActivity::set_progress(const Progress& progress) {
  epoch_.store(progress.epoch, std::memory_order_relaxed);
  window_.store(progress.window, std::memory_order_relaxed);
}

void RankActivity::begin_exchange() {
  exchange_since_.store(microseconds(), std::memory_order_relaxed);
}

void RankActivity::end_exchange() {
  // Precedes the end, so that a reader does not count the wait as a time without progress.
  const int64_t state = state_.load(std::memory_order_relaxed);
  if (!is_loading(state) && phase_of(state) != RankPhase::kWindowWait) {
    state_.store(packed(phase_of(state), /*loading=*/false, microseconds()),
                 std::memory_order_relaxed);
  }
  exchange_since_.store(-1, std::memory_order_release);
}

void RankActivity::observe(const PeerActivity& peer) {
  MutexLock lock(mutex_);
  peers_[peer.rank] = {peer, microseconds()};
}

Activity RankActivity::now() const {
  const int64_t exchange_since = exchange_since_.load(std::memory_order_acquire);
  const int64_t state = state_.load(std::memory_order_relaxed);
  const int64_t now = microseconds();
  Activity activity;
  activity.phase = phase_of(state);
  activity.step = step_.load(std::memory_order_relaxed);
  activity.loading = is_loading(state);
  activity.idle = absl::Microseconds(now - since_of(state));
  activity.epoch = epoch_.load(std::memory_order_relaxed);
  activity.window = window_.load(std::memory_order_relaxed);
  if (exchange_since < 0) return activity;
  activity.exchange = absl::Microseconds(now - exchange_since);
  MutexLock lock(mutex_);
  for (const auto& [rank, observed] : peers_) {
    const bool equal = observed.peer.phase == activity.phase && observed.peer.step == activity.step;
    if (observed.at >= exchange_since && !equal) activity.behind.push_back(observed.peer);
  }
  return activity;
}

std::unique_ptr<Collectives> record_activity(std::unique_ptr<Collectives> collectives,
                                             RankActivity& activity) {
  return std::make_unique<RecordedCollectives>(std::move(collectives), activity);
}

}  // namespace millrace
