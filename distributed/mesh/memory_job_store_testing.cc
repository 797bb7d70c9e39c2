#include "distributed/mesh/memory_job_store_testing.h"

namespace millrace {

void MemoryJobStore::break_with(absl::Status status) {
  MutexLock lock(mutex_);
  broken_ = std::move(status);
}

void MemoryJobStore::close() { break_with(absl::UnavailableError("closed")); }

std::optional<std::string> MemoryJobStore::peek(const std::string& key) {
  MutexLock lock(mutex_);
  auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

void MemoryJobStore::erase(const std::string& key) {
  MutexLock lock(mutex_);
  values_.erase(key);
}

absl::Status MemoryJobStore::set(const std::string& key, absl::string_view value) {
  MutexLock lock(mutex_);
  if (broken_.ok()) values_[key] = std::string(value);
  return broken_;
}

absl::StatusOr<std::optional<std::string>> MemoryJobStore::get(const std::string& key) {
  std::optional<std::string> value = peek(key);
  MutexLock lock(mutex_);
  if (!broken_.ok()) return broken_;
  return value;
}

absl::StatusOr<std::vector<std::string>> MemoryJobStore::get_all(
    const std::vector<std::string>& keys) {
  absl::StatusOr<std::optional<std::vector<std::string>>> found = find_all(keys);
  if (!found.ok()) return found.status();
  if (!found->has_value()) return absl::InternalError("get_all of a missing key");
  return **std::move(found);
}

absl::StatusOr<std::optional<std::vector<std::string>>> MemoryJobStore::find_all(
    const std::vector<std::string>& keys) {
  MutexLock lock(mutex_);
  if (!broken_.ok()) return broken_;
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    values.push_back(found->second);
  }
  return values;
}

absl::StatusOr<int64_t> MemoryJobStore::add(const std::string& key, int64_t amount) {
  MutexLock lock(mutex_);
  if (!broken_.ok()) return broken_;
  std::string& value = values_[key];
  const int64_t sum = (value.empty() ? 0 : std::stoll(value)) + amount;
  value = std::to_string(sum);
  return sum;
}

absl::StatusOr<std::string> MemoryJobStore::set_once(const std::string& key,
                                                     absl::string_view value) {
  MutexLock lock(mutex_);
  if (!broken_.ok()) return broken_;
  return values_.emplace(key, std::string(value)).first->second;
}

}  // namespace millrace
