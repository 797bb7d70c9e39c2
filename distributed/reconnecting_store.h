// A JobStore over a library's client, which may block forever, throw, and lose its connection.
#ifndef MILLRACE_DISTRIBUTED_RECONNECTING_STORE_H_
#define MILLRACE_DISTRIBUTED_RECONNECTING_STORE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/net/socket.h"
#include "distributed/mesh/job_store.h"
#include "distributed/store_probe.h"

namespace millrace {

// The library's client, which connects in its constructor. Every call may throw. Errors:
// FailedPrecondition (a value was not sealed with the secret of this rank; StoreSeal::open()).
class StoreClient {
 public:
  virtual ~StoreClient() = default;
  virtual void set(const std::string& key, absl::string_view value) = 0;
  virtual bool has_all(const std::vector<std::string>& keys) = 0;
  virtual absl::StatusOr<std::vector<std::string>> get_all(
      const std::vector<std::string>& keys) = 0;
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  virtual absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) = 0;
};

// Probes the server before every call, limits the blocking time of the client's socket, and
// replaces a client that failed. After an exception of the client the probe decides whether the
// store is gone or does not answer.
class ReconnectingStore : public JobStore {
 public:
  // Prepends `prefix` to keys. `connect` makes a client of the store at `address`; it may throw.
  ReconnectingStore(SocketAddress address, std::string prefix, absl::Duration call_limit,
                    StoreGreeting greeting, std::function<std::unique_ptr<StoreClient>()> connect)
      : address_(std::move(address)),
        prefix_(std::move(prefix)),
        call_limit_(call_limit),
        connect_(std::move(connect)),
        probe_(std::move(greeting)) {}

  absl::Status set(const std::string& key, absl::string_view value) override;
  absl::StatusOr<std::optional<std::string>> get(const std::string& key) override;
  absl::StatusOr<std::vector<std::string>> get_all(const std::vector<std::string>& keys) override;
  absl::StatusOr<std::optional<std::vector<std::string>>> find_all(
      const std::vector<std::string>& keys) override;
  absl::StatusOr<int64_t> add(const std::string& key, int64_t amount) override;
  absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) override;
  void close() override;

 private:
  absl::Status reach_server() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status reconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tries up to three times. The server has just answered the probe, but on an overloaded machine a
  // connection may take longer than a call. Errors: the error of the last try.
  absl::StatusOr<std::unique_ptr<StoreClient>> connect_with_patience()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void disconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Disconnects. Returns the error of a call that failed: of an exception of the client,
  // Unavailable if the server is gone now, else DeadlineExceeded.
  absl::Status judge(const absl::Status& failure) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> prefixed(const std::vector<std::string>& keys) const;
  // Calls `body` with a client. `again`: if true, `body` may be called twice. Returns
  // FailedPrecondition of `body` at once.
  absl::Status call(bool again, const std::function<absl::Status(StoreClient&)>& body);

  const SocketAddress address_;
  const std::string prefix_;
  const absl::Duration call_limit_;
  const std::function<std::unique_ptr<StoreClient>()> connect_;

  Mutex mutex_;  // one call at a time
  std::unique_ptr<StoreClient> client_ ABSL_GUARDED_BY(mutex_);
  StoreProbe probe_ ABSL_GUARDED_BY(mutex_);

  Mutex closing_mutex_;
  bool closed_ ABSL_GUARDED_BY(closing_mutex_) = false;
  // Descriptors of the client and the probe, with which close() ends a call under way.
  std::vector<int> descriptors_ ABSL_GUARDED_BY(closing_mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_RECONNECTING_STORE_H_
