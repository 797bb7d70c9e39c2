#include "distributed/supervised_collective.h"

#include <algorithm>

#include "base/status_macros.h"

namespace millrace {

std::shared_ptr<CollectivesUnderWay::Entry> CollectivesUnderWay::add() {
  MutexLock lock(mutex_);
  entries_.remove_if([](const std::shared_ptr<Entry>& entry) { return entry->ended; });
  return entries_.emplace_back(std::make_shared<Entry>());
}

void CollectivesUnderWay::end(Entry& entry, std::string error) {
  MutexLock lock(mutex_);
  entry.error = std::move(error);
  entry.ended = true;
}

void CollectivesUnderWay::fail() {
  MutexLock lock(mutex_);
  failed_ = true;
}

bool CollectivesUnderWay::await(const Entry& entry, absl::Duration limit, std::string* error) {
  MutexLock lock(mutex_);
  mutex_.await_for(limit, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return entry.ended || failed_; });
  if (entry.ended) *error = entry.error;
  return entry.ended;
}

bool CollectivesUnderWay::await_all(absl::Duration limit) {
  MutexLock lock(mutex_);
  return mutex_.await_for(limit, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return std::all_of(entries_.begin(), entries_.end(),
                       [](const std::shared_ptr<Entry>& entry) { return entry->ended; });
  });
}

absl::Status CollectiveAwaitedOnce::wait() {
  if (done_) return result_;
  result_ = supervise();
  done_ = true;
  return result_;
}

absl::Status SupervisedCollective::supervise() {
  std::string error;
  absl::Duration slice = kFirstLook;
  while (!under_way_->await(*entry_, slice, &error)) {
    RETURN_IF_ERROR(supervisor_.look_after(wait_));
    slice = kBetweenLooks;
  }
  return error.empty() ? absl::OkStatus() : supervisor_.explain_broken_connection(error);
}

}  // namespace millrace
