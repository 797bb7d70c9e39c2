#include "base/thread_pool.h"

#include "base/catch_exceptions.h"

namespace millrace {

ThreadPool::ThreadPool(int threads) {
  auto start = [this] {
    workers_.emplace_back([this] { work(); });
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
  {
    MutexLock lock(mutex_);
    body_ = &body;
    next_ = 0;
    count_ = unfinished_ = count;
  }
  run_iterations();
  MutexLock lock(mutex_);
  auto finished = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return unfinished_ == 0; };
  mutex_.await(finished);
  body_ = nullptr;
  count_ = 0;
}

void ThreadPool::run_iterations() {
  while (true) {
    const std::function<void(int64_t)>* body;
    int64_t i;
    {
      MutexLock lock(mutex_);
      if (next_ >= count_) return;
      body = body_;
      i = next_++;
    }
    (*body)(i);
    MutexLock lock(mutex_);
    --unfinished_;
  }
}

void ThreadPool::work() {
  while (true) {
    {
      MutexLock lock(mutex_);
      auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stop_ || next_ < count_; };
      mutex_.await(ready);
      if (stop_) return;
    }
    run_iterations();
  }
}

}  // namespace millrace
