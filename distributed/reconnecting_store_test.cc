#include "distributed/reconnecting_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <list>
#include <map>
#include <stdexcept>
#include <thread>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

// A server that answers each byte with a byte until destroyed.
class Server {
 public:
  Server() {
    auto addresses = find_addresses("127.0.0.1", 0);
    auto socket = listen_on(addresses.value()[0]);
    listener_ = std::move(socket).value();
    address_ = local_address(listener_).value();
    thread_ = std::thread([this] { run(); });
  }
  ~Server() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    listener_ = Socket();
  }
  const SocketAddress& address() const { return address_; }

 private:
  void run() {
    for (;;) {
      absl::StatusOr<Socket> accepted = accept_from(listener_, Deadline::never());
      if (!accepted.ok()) break;
      kept_.push_back(*std::move(accepted));
      talkers_.emplace_back([&socket = kept_.back()] {
        for (;;) {
          const auto byte = receive_all(socket, 1, Deadline::never());
          if (!byte.ok() || !send_all(socket, *byte, Deadline::never()).ok()) break;
        }
      });
    }
    for (Socket& socket : kept_) ::shutdown(socket.get(), SHUT_RDWR);
    for (std::thread& talker : talkers_) talker.join();
    kept_.clear();
  }

  Socket listener_;
  SocketAddress address_;
  std::thread thread_;
  std::list<Socket> kept_;
  std::vector<std::thread> talkers_;
};

// The clients' view of a store: the values, and the number of next calls that throw.
struct Shared {
  std::map<std::string, std::string> values;
  int throws = 0;
  int made = 0;
  int unmade = 0;        // number of next connections that fail
  bool foreign = false;  // if true, the values are sealed with another secret
  int reads = 0;
  std::function<void()> before_throwing;
};

class FakeClient : public StoreClient {
 public:
  explicit FakeClient(Shared& shared) : shared_(shared) {
    if (shared_.unmade-- > 0) throw std::runtime_error("timed out while trying to connect");
    ++shared_.made;
  }
  void set(const std::string& key, absl::string_view value) override {
    maybe_throw();
    shared_.values[key] = std::string(value);
  }
  bool has_all(const std::vector<std::string>& keys) override {
    maybe_throw();
    for (const std::string& key : keys) {
      if (shared_.values.count(key) == 0) return false;
    }
    return true;
  }
  absl::StatusOr<std::vector<std::string>> get_all(const std::vector<std::string>& keys) override {
    ++shared_.reads;
    if (shared_.foreign) return absl::FailedPreconditionError("another secret");
    std::vector<std::string> values;
    for (const std::string& key : keys) values.push_back(shared_.values.at(key));
    return values;
  }
  int64_t add(const std::string& key, int64_t amount) override {
    maybe_throw();
    return amount;
  }
  absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) override {
    return shared_.values.emplace(key, std::string(value)).first->second;
  }

 private:
  void maybe_throw() {
    if (shared_.throws-- <= 0) return;
    if (shared_.before_throwing) shared_.before_throwing();
    throw std::runtime_error("connection reset\nstack trace");
  }
  Shared& shared_;
};

class ReconnectingStoreTest : public testing::Test {
 protected:
  ReconnectingStore make() { return make(server_.address()); }
  ReconnectingStore make(const SocketAddress& address) {
    return ReconnectingStore(address, "job/", absl::Seconds(2),
                             {.hello = "", .question = "?", .answer = "?"},
                             [this] { return std::make_unique<FakeClient>(shared_); });
  }
  Shared shared_;
  Server server_;
};

TEST_F(ReconnectingStoreTest, PassesCallsOnWithThePrefix) {
  ReconnectingStore store = make();
  EXPECT_OK(store.set("a", "1"));
  EXPECT_EQ(shared_.values["job/a"], "1");
  ASSERT_OK_AND_ASSIGN(std::optional<std::string> value, store.get("a"));
  EXPECT_EQ(value, "1");
  ASSERT_OK_AND_ASSIGN(value, store.get("b"));
  EXPECT_FALSE(value.has_value());
  EXPECT_THAT(store.set_once("a", "2"), IsOkAndHolds("1"));
  EXPECT_THAT(store.set_once("b", "2"), IsOkAndHolds("2"));
  EXPECT_THAT(store.get_all({"b", "a"}), IsOkAndHolds(ElementsAre("2", "1")));
  EXPECT_THAT(store.find_all({"b", "a"}), IsOkAndHolds(Optional(ElementsAre("2", "1"))));
  EXPECT_THAT(store.find_all({"b", "c"}), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(store.add("n", 3), IsOkAndHolds(3));
  EXPECT_EQ(shared_.made, 1);
}

TEST_F(ReconnectingStoreTest, ClientThatFailsOnceIsReplaced) {
  ReconnectingStore store = make();
  EXPECT_OK(store.set("a", "1"));
  shared_.throws = 1;
  EXPECT_OK(store.set("a", "2"));
  EXPECT_EQ(shared_.values["job/a"], "2");
  EXPECT_EQ(shared_.made, 2);
}

TEST_F(ReconnectingStoreTest, ConnectionsThatFailAreTriedThreeTimes) {
  ReconnectingStore store = make();
  shared_.unmade = 2;
  EXPECT_OK(store.set("a", "1"));
  EXPECT_EQ(shared_.made, 1);
  ReconnectingStore unlucky = make();
  shared_.unmade = 100;
  EXPECT_THAT(unlucky.set("a", "1"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("trying to connect")));
  EXPECT_EQ(shared_.made, 1);
}

TEST_F(ReconnectingStoreTest, ClientThatFailsAgainIsAnError) {
  ReconnectingStore store = make();
  shared_.throws = 2;
  const absl::Status status = store.set("a", "2");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("connection reset")));
  EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("stack trace")));
  EXPECT_OK(store.set("a", "3")) << "the next call tries anew";
  shared_.throws = 2;
  shared_.before_throwing = [&] { server_.stop(); };
  EXPECT_THAT(store.set("a", "4"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Connection refused")))
      << "the server is gone";
}

TEST_F(ReconnectingStoreTest, AValueOfAnotherSecretIsReadOnce) {
  ReconnectingStore store = make();
  EXPECT_OK(store.set("a", "1"));
  shared_.foreign = true;
  EXPECT_EQ(store.get("a").status(), absl::FailedPreconditionError("another secret"));
  EXPECT_EQ(shared_.reads, 1);
  shared_.foreign = false;
  EXPECT_THAT(store.get("a"), IsOkAndHolds(Optional(std::string("1"))));
  EXPECT_EQ(shared_.made, 1) << "the client was kept";
}

TEST_F(ReconnectingStoreTest, SumsAreNotAddedTwice) {
  ReconnectingStore store = make();
  shared_.throws = 1;
  EXPECT_THAT(store.add("n", 1), StatusIs(absl::StatusCode::kDeadlineExceeded));
  shared_.throws = 1;
  EXPECT_THAT(store.add("n", 0), IsOkAndHolds(0)) << "adding nothing may be tried again";
}

TEST_F(ReconnectingStoreTest, NoRouteDoesNotMeanThatTheServerIsGone) {
  ASSERT_OK_AND_ASSIGN(const auto nowhere, find_addresses("255.255.255.255", 80));
  EXPECT_THAT(make(nowhere[0]).set("a", "1"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("Network is unreachable")));
}

TEST_F(ReconnectingStoreTest, ServerThatIsGone) {
  ReconnectingStore store = make();
  EXPECT_OK(store.set("a", "1"));
  server_.stop();
  EXPECT_THAT(store.set("a", "2"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Connection refused")));
  EXPECT_EQ(shared_.values["job/a"], "1") << "the client was not asked";
}

TEST_F(ReconnectingStoreTest, GivenUp) {
  ReconnectingStore store = make();
  EXPECT_OK(store.set("a", "1"));
  store.close();
  EXPECT_THAT(store.set("a", "2"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("given up")));
}

}  // namespace
}  // namespace millrace
