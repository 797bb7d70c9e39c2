#include "base/thread_pool.h"

#include "absl/time/time.h"
#include "base/catch_exceptions.h"

namespace millrace {
namespace {

// Interval of the search for workers that lost their CPUs.
constexpr absl::Duration kPatience = absl::Milliseconds(1);

// Evaluates a condition repeatedly for a short time, without sleeping. Returns true if the
// condition became true.
template <typename Condition>
bool spin(const Condition& condition) {
  constexpr int kLooks = 500;  // some 40 ns each
  for (int i = 0; i < kLooks; ++i) {
    if (condition()) return true;
    __builtin_ia32_pause();
  }
  return false;
}

}  // namespace

ThreadPool::ThreadPool(int threads, Placement placement) {
  if (placement == Placement::kOffCaller) placement_.emplace(threads - 1);
  auto start = [this] {
    const int number = static_cast<int>(workers_.size());
    workers_.emplace_back([this, number] { work(number); });
    if (placement_) placement_->add(workers_.back().native_handle());
    return absl::OkStatus();
  };
  for (int i = 1; i < threads; ++i) {
    if (!catch_exceptions(start).ok()) return;
  }
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(int64_t count, const std::function<void(int64_t)>& body) {
  if (workers_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  if (placement_) placement_->keep_off_caller();
  body_ = &body;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  {
    MutexLock lock(mutex_);
    const uint64_t last = state_.load(std::memory_order_relaxed) / kLoop;
    state_.store((last + 1) * kLoop, std::memory_order_release);
  }
  run_iterations();
  // Closes the loop: a worker that has not woken up yet cannot enter, so only workers inside are
  // awaited.
  state_.fetch_or(kClosed, std::memory_order_acq_rel);
  auto left = [this] { return (state_.load(std::memory_order_acquire) & kWorkers) == 0; };
  const absl::Duration patience = placement_ ? kPatience : absl::InfiniteDuration();
  while (!spin(left)) {
    if (placement_) placement_->fetch_stalled();
    MutexLock lock(mutex_);
    if (mutex_.await_for(patience, left)) return;
  }
}

void ThreadPool::run_iterations() {
  while (true) {
    const int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= count_) return;
    (*body_)(i);
  }
}

uint64_t ThreadPool::await_loop(uint64_t seen) {
  auto begun = [&] { return state_.load(std::memory_order_acquire) / kLoop > seen; };
  if (!spin(begun)) {
    MutexLock lock(mutex_);
    auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stop_ || begun(); };
    mutex_.await(ready);
    if (stop_) return 0;
  }
  return state_.load(std::memory_order_acquire);
}

void ThreadPool::work(int number) {
  uint64_t seen = 0;
  while (true) {
    uint64_t state = await_loop(seen);
    if (state == 0) return;
    seen = state / kLoop;
    if ((state & kClosed) != 0) continue;
    if (!state_.compare_exchange_strong(state, state + 1, std::memory_order_acq_rel)) {
      // Another worker entered or left, or the loop has ended: read the state again.
      if (state / kLoop == seen && (state & kClosed) == 0) --seen;
      continue;
    }
    if (placement_) placement_->enter(number);
    run_iterations();
    if (placement_) placement_->leave(number);
    if ((state_.fetch_sub(1, std::memory_order_acq_rel) & kWorkers) == 1) {
      // Unlocking wakes the caller that waits for the last worker.
      MutexLock lock(mutex_);
    }
  }
}

}  // namespace millrace
