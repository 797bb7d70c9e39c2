#include "base/worker_placement.h"

#include <sched.h>

#include <cstdint>

namespace millrace {
namespace {

// Nanoseconds.
int64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void pause_for(int64_t nanoseconds) {
  const int64_t end = now(CLOCK_MONOTONIC) + nanoseconds;
  while (now(CLOCK_MONOTONIC) < end) __builtin_ia32_pause();
}

}  // namespace

void WorkerPlacement::add(pthread_t worker) {
  clockid_t clock;
  if (::pthread_getcpuclockid(worker, &clock) == 0) workers_.push_back({worker, clock});
}

void WorkerPlacement::keep_off_caller() {
  const int cpu = ::sched_getcpu();
  if (cpu < 0 || cpu == kept_off_) return;
  kept_off_ = cpu;  // also if it fails: tried again when the caller has moved
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof(cpus), &cpus) != 0) return;
  if (CPU_COUNT(&cpus) > static_cast<int>(workers_.size())) CPU_CLR(cpu, &cpus);
  for (const Worker& worker : workers_) {
    ::pthread_setaffinity_np(worker.thread, sizeof(cpus), &cpus);
  }
}

void WorkerPlacement::fetch_stalled() {
  const int cpu = ::sched_getcpu();
  if (cpu < 0) return;
  std::vector<int64_t> before;
  for (const Worker& worker : workers_) before.push_back(now(worker.clock));
  pause_for(10'000);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (now(workers_[i].clock) != before[i]) continue;
    ::pthread_setaffinity_np(workers_[i].thread, sizeof(cpus), &cpus);
    kept_off_ = kNone;
  }
}

}  // namespace millrace
