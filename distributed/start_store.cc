#include "distributed/start_store.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::Status replaced_error() {
  return absl::AbortedError(
      "the job was started again while this rank showed no sign of life: this process belongs to "
      "the earlier start, and ends without a change to the later one");
}

}  // namespace

bool StartStore::replaced() {
  MutexLock lock(mutex_);
  return replaced_;
}

std::string StartStore::key_of(const std::string& key) const {
  return absl::StrCat(name_, "/", key);
}

std::vector<std::string> StartStore::keys_of(const std::vector<std::string>& keys) const {
  std::vector<std::string> all;
  for (const std::string& key : keys) all.push_back(key_of(key));
  return all;
}

absl::Status StartStore::check() {
  const absl::Duration now = clock_.elapsed();
  {
    MutexLock lock(mutex_);
    if (replaced_) return replaced_error();
    if (now < next_check_) return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> newest, store_.get(kStartKey));
  MutexLock lock(mutex_);
  // Counts from before the read, since a pause of this process may have interrupted the read.
  next_check_ = now + check_interval_;
  if (newest == name_) return absl::OkStatus();
  replaced_ = true;
  return replaced_error();
}

absl::Status StartStore::set(const std::string& key, absl::string_view value) {
  RETURN_IF_ERROR(check());
  return store_.set(key_of(key), value);
}

absl::StatusOr<std::optional<std::string>> StartStore::get(const std::string& key) {
  RETURN_IF_ERROR(check());
  return store_.get(key_of(key));
}

absl::StatusOr<std::vector<std::string>> StartStore::get_all(const std::vector<std::string>& keys) {
  RETURN_IF_ERROR(check());
  return store_.get_all(keys_of(keys));
}

absl::StatusOr<std::optional<std::vector<std::string>>> StartStore::find_all(
    const std::vector<std::string>& keys) {
  RETURN_IF_ERROR(check());
  return store_.find_all(keys_of(keys));
}

absl::StatusOr<int64_t> StartStore::add(const std::string& key, int64_t amount) {
  RETURN_IF_ERROR(check());
  return store_.add(key_of(key), amount);
}

absl::StatusOr<std::string> StartStore::set_once(const std::string& key, absl::string_view value) {
  RETURN_IF_ERROR(check());
  return store_.set_once(key_of(key), value);
}

}  // namespace millrace
