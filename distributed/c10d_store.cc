#include "distributed/c10d_store.h"

#include <c10/util/Flags.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStoreBackend.hpp>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"

C10_DECLARE_int(caffe2_log_level);

namespace millrace {
namespace {

using TcpStorePointer = c10::intrusive_ptr<c10d::TCPStore>;

// Suppresses warnings of the library while an object of this class exists: the client warns that
// the address of a rank has no host name. Millrace reports errors. Any thread.
class QuietLibrary {
 public:
  QuietLibrary() {
    const MutexLock lock(mutex_);
    constexpr int kErrors = 2;
    if (objects_++ == 0) level_ = std::exchange(FLAGS_caffe2_log_level, kErrors);
  }
  ~QuietLibrary() {
    const MutexLock lock(mutex_);
    if (--objects_ == 0) FLAGS_caffe2_log_level = level_;
  }
  QuietLibrary(const QuietLibrary&) = delete;
  QuietLibrary& operator=(const QuietLibrary&) = delete;

 private:
  static inline Mutex mutex_;
  static inline int objects_ ABSL_GUARDED_BY(mutex_) = 0;
  static inline int level_ ABSL_GUARDED_BY(mutex_) = 0;  // before
};

// Blocks up to `timeout`, which also limits later calls. Throws.
TcpStorePointer connect_store(const SocketAddress& address, absl::Duration timeout) {
  c10d::TCPStoreOptions options;
  options.port = address.port();
  options.waitWorkers = false;
  options.timeout = to_milliseconds(timeout);
  const QuietLibrary quiet;
  return c10::make_intrusive<c10d::TCPStore>(address.ip(), options);
}

std::vector<uint8_t> to_bytes(absl::string_view text) {
  return std::vector<uint8_t>(text.begin(), text.end());
}

// Opens a value of the store. Errors: of StoreSeal::open().
absl::StatusOr<std::string> open_value(const StoreSeal& seal, const std::string& key,
                                       const std::vector<uint8_t>& bytes) {
  return seal.open(key, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Does the same for c10d, which expects exceptions: logs and throws the error.
std::vector<uint8_t> open_or_throw(const StoreSeal& seal, const std::string& key,
                                   const std::vector<uint8_t>& bytes) {
  absl::StatusOr<std::string> value = open_value(seal, key, bytes);
  if (value.ok()) return to_bytes(*value);
  MILLRACE_LOG(ERROR) << value.status().message();
  throw std::runtime_error(std::string(value.status().message()));
}

class TcpStoreClient : public StoreClient {
 public:
  TcpStoreClient(const SocketAddress& address, absl::Duration timeout, StoreSeal seal)
      : store_(connect_store(address, timeout)), seal_(std::move(seal)) {}

  void set(const std::string& key, absl::string_view value) override {
    store_->set(key, to_bytes(seal_.seal(key, value)));
  }
  bool has_all(const std::vector<std::string>& keys) override { return store_->check(keys); }
  absl::StatusOr<std::vector<std::string>> get_all(const std::vector<std::string>& keys) override {
    std::vector<std::string> values;
    for (const std::vector<uint8_t>& bytes : store_->multiGet(keys)) {
      ASSIGN_OR_RETURN(values.emplace_back(), open_value(seal_, keys[values.size()], bytes));
    }
    return values;
  }
  int64_t add(const std::string& key, int64_t amount) override { return store_->add(key, amount); }
  absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) override {
    return open_value(seal_, key, store_->compareSet(key, {}, to_bytes(seal_.seal(key, value))));
  }

 private:
  const TcpStorePointer store_;
  const StoreSeal seal_;
};

// The store for channels of c10d, with sealed values. Counters are not sealed.
class SealedStore : public c10d::Store {
 public:
  SealedStore(StorePointer store, StoreSeal seal)
      : store_(std::move(store)), seal_(std::move(seal)) {}

  StorePointer clone() override { return c10::make_intrusive<SealedStore>(store_->clone(), seal_); }
  using Store::set;
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    store_->set(key, sealed(key, value));
  }
  using Store::compareSet;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& desired) override {
    // A nonce makes equal values different, so that only an absent key can be expected.
    if (!expected.empty()) throw std::runtime_error("compareSet() of a sealed value");
    return open_or_throw(seal_, key, store_->compareSet(key, {}, sealed(key, desired)));
  }
  std::vector<uint8_t> get(const std::string& key) override {
    return open_or_throw(seal_, key, store_->get(key));
  }
  int64_t add(const std::string& key, int64_t value) override { return store_->add(key, value); }
  bool deleteKey(const std::string& key) override { return store_->deleteKey(key); }
  bool check(const std::vector<std::string>& keys) override { return store_->check(keys); }
  int64_t getNumKeys() override { return store_->getNumKeys(); }
  void wait(const std::vector<std::string>& keys) override { store_->wait(keys); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    store_->wait(keys, timeout);
  }
  const std::chrono::milliseconds& getTimeout() const noexcept override {
    return store_->getTimeout();
  }
  void setTimeout(const std::chrono::milliseconds& timeout) override {
    store_->setTimeout(timeout);
  }

 private:
  std::vector<uint8_t> sealed(const std::string& key, const std::vector<uint8_t>& value) const {
    return to_bytes(seal_.seal(key, {reinterpret_cast<const char*>(value.data()), value.size()}));
  }

  const StorePointer store_;
  const StoreSeal seal_;
};

}  // namespace

std::chrono::milliseconds to_milliseconds(absl::Duration duration) {
  return std::chrono::milliseconds(std::max<int64_t>(1, absl::ToInt64Milliseconds(duration)));
}

StoreGreeting store_greeting() {
  const auto query = [](c10d::detail::QueryType type, uint32_t number) {
    std::string text(1, static_cast<char>(type));
    return text.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  constexpr uint32_t kNonce = 0x6d696c6c;
  return {.hello = query(c10d::detail::QueryType::VALIDATE, c10d::detail::validationMagicNumber),
          .question = query(c10d::detail::QueryType::PING, kNonce),
          .answer = std::string(reinterpret_cast<const char*>(&kNonce), sizeof(kNonce))};
}

absl::StatusOr<StorePointer> serve_store(Socket socket, const SocketAddress& address) {
  return catch_exceptions([&]() -> absl::StatusOr<StorePointer> {
    c10d::TCPStoreOptions options;
    options.port = address.port();
    options.isServer = true;
    options.waitWorkers = false;
    options.timeout = std::chrono::seconds(30);
    options.masterListenFd = socket.release();
    return c10::make_intrusive<c10d::TCPStore>(address.ip(), options);
  });
}

std::unique_ptr<StoreClient> make_store_client(const SocketAddress& address, absl::Duration timeout,
                                               const StoreSeal& seal) {
  return std::make_unique<TcpStoreClient>(address, timeout, seal);
}

absl::StatusOr<StorePointer> connect_sealed_store(const SocketAddress& address,
                                                  absl::Duration timeout,
                                                  absl::string_view secret) {
  absl::StatusOr<StorePointer> store = catch_exceptions([&]() -> absl::StatusOr<StorePointer> {
    StorePointer client = connect_store(address, timeout);
    if (secret.empty()) return client;
    return c10::make_intrusive<SealedStore>(std::move(client), StoreSeal(secret));
  });
  if (store.ok() || kind_of(store.status()) != FailureKind::kOther) return store;
  return absl::UnavailableError(absl::StrCat("could not connect to the store of the job: ",
                                             absl::string_view(store.status().message())));
}

}  // namespace millrace
