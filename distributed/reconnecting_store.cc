#include "distributed/reconnecting_store.h"

#include <algorithm>

#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status ReconnectingStore::reconnect() {
  disconnect();
  RETURN_IF_ERROR(probe_.connect(address_, call_limit_));
  const std::vector<int> before = sockets_connected_to(address_);
  ASSIGN_OR_RETURN(client_, connect_with_patience());
  MutexLock lock(closing_mutex_);
  descriptors_ = {probe_.descriptor()};
  for (int descriptor : sockets_connected_to(address_)) {
    if (std::count(before.begin(), before.end(), descriptor) != 0) continue;
    // The server may stop during a call.
    limit_waits(descriptor, call_limit_);
    descriptors_.push_back(descriptor);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StoreClient>> ReconnectingStore::connect_with_patience() {
  constexpr int kTries = 3;
  for (int tries = 1;; ++tries) {
    absl::StatusOr<std::unique_ptr<StoreClient>> client = catch_exceptions(
        [&]() -> absl::StatusOr<std::unique_ptr<StoreClient>> { return connect_(); });
    if (client.ok() || tries == kTries) return client;
  }
}

void ReconnectingStore::disconnect() {
  MutexLock lock(closing_mutex_);
  descriptors_.clear();
  client_.reset();
  probe_.close();
}

absl::Status ReconnectingStore::reach_server() {
  {
    MutexLock lock(closing_mutex_);
    if (closed_) return absl::UnavailableError("the store was given up");
  }
  if (client_ != nullptr && probe_.ask_again(call_limit_).ok()) return absl::OkStatus();
  return reconnect();
}

absl::Status ReconnectingStore::judge(const absl::Status& failure) {
  disconnect();
  if (!absl::IsInternal(failure)) return failure;
  RETURN_IF_ERROR(probe_.connect(address_, call_limit_));
  // The server lives: the network failed, or was too slow.
  const absl::string_view text = failure.message();
  return absl::DeadlineExceededError(text.substr(0, text.find('\n')));
}

absl::Status ReconnectingStore::call(bool again,
                                     const std::function<absl::Status(StoreClient&)>& body) {
  MutexLock lock(mutex_);
  for (bool last = !again;; last = true) {
    bool reached = false;
    const absl::Status status = catch_exceptions([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      RETURN_IF_ERROR(reach_server());
      reached = true;
      return body(*client_);
    });
    if (status.ok() || (reached && absl::IsFailedPrecondition(status))) return status;
    if (last || !reached) return judge(status);
    disconnect();
  }
}

absl::Status ReconnectingStore::set(const std::string& key, absl::string_view value) {
  return call(true, [&](StoreClient& client) {
    client.set(prefix_ + key, value);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<std::string>> ReconnectingStore::get(const std::string& key) {
  ASSIGN_OR_RETURN(std::optional<std::vector<std::string>> values, find_all({key}));
  if (!values) return std::nullopt;
  return std::move(values->front());
}

std::vector<std::string> ReconnectingStore::prefixed(const std::vector<std::string>& keys) const {
  std::vector<std::string> prefixed;
  for (const std::string& key : keys) prefixed.push_back(prefix_ + key);
  return prefixed;
}

absl::StatusOr<std::vector<std::string>> ReconnectingStore::get_all(
    const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  RETURN_IF_ERROR(call(true, [&](StoreClient& client) -> absl::Status {
    ASSIGN_OR_RETURN(values, client.get_all(prefixed(keys)));
    return absl::OkStatus();
  }));
  return values;
}

absl::StatusOr<std::optional<std::vector<std::string>>> ReconnectingStore::find_all(
    const std::vector<std::string>& keys) {
  std::optional<std::vector<std::string>> values;
  RETURN_IF_ERROR(call(true, [&](StoreClient& client) -> absl::Status {
    if (!client.has_all(prefixed(keys))) return absl::OkStatus();
    ASSIGN_OR_RETURN(values, client.get_all(prefixed(keys)));
    return absl::OkStatus();
  }));
  return values;
}

absl::StatusOr<int64_t> ReconnectingStore::add(const std::string& key, int64_t amount) {
  int64_t sum = 0;
  RETURN_IF_ERROR(call(amount == 0, [&](StoreClient& client) {
    sum = client.add(prefix_ + key, amount);
    return absl::OkStatus();
  }));
  return sum;
}

absl::StatusOr<std::string> ReconnectingStore::set_once(const std::string& key,
                                                        absl::string_view value) {
  std::string held;
  RETURN_IF_ERROR(call(true, [&](StoreClient& client) -> absl::Status {
    ASSIGN_OR_RETURN(held, client.set_once(prefix_ + key, value));
    return absl::OkStatus();
  }));
  return held;
}

void ReconnectingStore::close() {
  MutexLock lock(closing_mutex_);
  closed_ = true;
  for (int descriptor : descriptors_) ::shutdown(descriptor, SHUT_RDWR);
}

}  // namespace millrace
