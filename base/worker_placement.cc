#include "base/worker_placement.h"

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

bool place(pthread_t thread, const cpu_set_t& cpus) {
  return ::pthread_setaffinity_np(thread, sizeof(cpus), &cpus) == 0;
}

}  // namespace

void WorkerPlacement::add(pthread_t thread) {
  Worker& worker = workers_[added_++];
  worker.thread = thread;
  ::pthread_getcpuclockid(thread, &worker.clock);
}

void WorkerPlacement::keep_off_caller() {
  const int cpu = ::sched_getcpu();
  cpu_set_t cpus;
  if (cpu < 0 || ::sched_getaffinity(0, sizeof(cpus), &cpus) != 0) {
    placed_ = false;
    return;
  }
  if (placed_ && cpu == caller_cpu_ && CPU_EQUAL(&cpus, &caller_cpus_)) return;
  caller_cpu_ = cpu;
  caller_cpus_ = cpus;
  if (CPU_COUNT(&cpus) > added_) CPU_CLR(cpu, &cpus);
  placed_ = true;
  for (int i = 0; i < added_; ++i) {
    workers_[i].fetched = false;
    placed_ = place(workers_[i].thread, cpus) && placed_;
  }
}

void WorkerPlacement::fetch_stalled() {
  const int cpu = ::sched_getcpu();
  if (!placed_ || cpu < 0) return;
  for (Worker& worker : workers_) worker.time = worker.inside ? now(worker.clock) : 0;
  pause_for(10'000);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  for (Worker& worker : workers_) {
    // A worker that entered during the pause is running.
    if (!worker.inside || worker.fetched || now(worker.clock) != worker.time) continue;
    worker.fetched = place(worker.thread, cpus);
    if (worker.fetched) caller_cpu_ = kUnknown;
    return;
  }
}

}  // namespace millrace
