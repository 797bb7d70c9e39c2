#include "distributed/mesh/connect_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "distributed/mesh/control_mesh.h"
#include "distributed/mesh/memory_job_store_testing.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Connected = absl::StatusOr<std::vector<Socket>>;

Deadline soon() { return Deadline(absl::Seconds(10)); }

MeshOptions options_for(int rank, int world_size, const std::string& ip = "127.0.0.1") {
  return {.rank = rank, .world_size = world_size, .ip = ip, .timeout = absl::Seconds(30)};
}

// Connects all ranks at the same time. Returns the result of each rank.
std::vector<Connected> connect_all(int world_size, MemoryJobStore& store, const std::string& ip) {
  std::vector<Connected> results(world_size);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back(
        [&, rank] { results[rank] = connect_mesh(options_for(rank, world_size, ip), store); });
  }
  for (std::thread& rank : ranks) rank.join();
  return results;
}

// Checks that every rank's connections lead to the expected ranks.
void expect_connected(std::vector<Connected> results) {
  const int world_size = static_cast<int>(results.size());
  std::vector<std::unique_ptr<ControlMesh>> meshes;
  for (int rank = 0; rank < world_size; ++rank) {
    ASSERT_OK(results[rank].status());
    ASSERT_EQ(results[rank]->size(), world_size);
    EXPECT_LT(results[rank]->at(rank).get(), 0);
    meshes.push_back(std::make_unique<ControlMesh>(rank, *std::move(results[rank])));
  }
  std::vector<int64_t> values[16];
  ASSERT_LE(world_size, 16);
  for (int rank = 0; rank < world_size; ++rank) {
    values[rank] = {int64_t{1} << rank};
    meshes[rank]->start(1, values[rank]);
  }
  for (int rank = 0; rank < world_size; ++rank) {
    ASSERT_OK(meshes[rank]->wait(1, absl::MakeSpan(values[rank])));
    EXPECT_EQ(values[rank][0], (1 << world_size) - 1);
  }
}

// Waits until the rank listens. Returns its address.
SocketAddress address_of(int rank, MemoryJobStore& store) {
  std::optional<std::string> address;
  while (!(address = store.peek(absl::StrCat("mesh/control/address/", rank))))
    std::this_thread::yield();
  const size_t space = address->find(' ');
  auto found = find_addresses(address->substr(0, space), std::stoi(address->substr(space + 1)));
  EXPECT_THAT(found, IsOk());
  return found->at(0);
}

Socket call(const SocketAddress& address, absl::string_view words = "") {
  auto socket = connect_to(address, soon());
  EXPECT_THAT(socket, IsOk());
  EXPECT_OK(send_all(*socket, words, soon()));
  return *std::move(socket);
}

// Returns the hello of a rank.
std::string hello(absl::string_view token, int rank) {
  return absl::StrCat("millrace control ", token, absl::Dec(rank, absl::kZeroPad10));
}

// Waits until the other side has closed the connection, possibly with a reset.
bool is_closed(const Socket& socket) {
  return absl::IsUnavailable(receive_all(socket, 1, soon()).status());
}

TEST(ConnectMeshTest, EveryRankToEveryOtherOne) {
  for (int world_size : {1, 2, 5}) {
    MemoryJobStore store;
    expect_connected(connect_all(world_size, store, "127.0.0.1"));
  }
}

// A store that counts calls.
class CountingStore : public MemoryJobStore {
 public:
  explicit CountingStore(JobStore& store) : store_(store) {}
  int calls() const { return calls_; }

  absl::Status set(const std::string& key, absl::string_view value) override {
    ++calls_;
    return store_.set(key, value);
  }
  absl::StatusOr<std::optional<std::vector<std::string>>> find_all(
      const std::vector<std::string>& keys) override {
    ++calls_;
    return store_.find_all(keys);
  }
  absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) override {
    ++calls_;
    return store_.set_once(key, value);
  }

 private:
  JobStore& store_;
  int calls_ = 0;
};

// A slow store delays a rank by a few calls, not by some for each other rank.
TEST(ConnectMeshTest, OneLookFindsTheAddressesOfAllRanks) {
  constexpr int kRanks = 16;
  MemoryJobStore store;
  std::vector<Connected> results(kRanks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks - 1; ++rank) {
    ranks.emplace_back(
        [&, rank] { results[rank] = connect_mesh(options_for(rank, kRanks), store); });
  }
  for (int rank = 0; rank < kRanks - 1; ++rank) address_of(rank, store);
  CountingStore counting(store);
  results[kRanks - 1] = connect_mesh(options_for(kRanks - 1, kRanks), counting);
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(counting.calls(), 3) << "the word, its own address, those of the others";
  expect_connected(std::move(results));
}

// As if a firewall discarded the packets to one machine: the others connect meanwhile.
TEST(ConnectMeshTest, RankThatCannotBeReachedHoldsNobodyUp) {
  MemoryJobStore store;
  ASSERT_OK_AND_ASSIGN(auto addresses, find_addresses("127.0.0.1", 0));
  ASSERT_OK_AND_ASSIGN(Socket full, listen_on(addresses[0]));
  ASSERT_OK_AND_ASSIGN(SocketAddress address, local_address(full));
  ASSERT_EQ(::listen(full.get(), 0), 0);
  std::vector<Socket> queue;  // fills the listener's queue: further packets are discarded
  for (bool accepted = true; accepted && queue.size() < 10;) {
    ASSERT_OK_AND_ASSIGN(queue.emplace_back(), begin_to_connect(address));
    accepted = poll_until(queue.back().get(), POLLOUT, Deadline(absl::Milliseconds(100)));
  }
  ASSERT_OK(store.set("mesh/control/address/0", absl::StrCat("127.0.0.1 ", address.port())));
  std::vector<Connected> results(3);
  std::vector<std::thread> ranks;
  for (const int rank : {1, 2}) {
    ranks.emplace_back([&, rank] {
      MeshOptions options = options_for(rank, 3);
      options.timeout = absl::Seconds(1);
      results[rank] = connect_mesh(options, store);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const int rank : {1, 2}) {
    EXPECT_THAT(
        results[rank].status(),
        StatusIs(absl::StatusCode::kAborted,
                 absl::StrCat("could not connect to rank 0 within 1s, though all came; rank "
                              "0: nobody answers at ",
                              address.text())));
  }
}

TEST(ConnectMeshTest, NoRouteIsTriedAgainUntilItIsInterrupted) {
  MemoryJobStore store;
  ASSERT_OK(store.set("mesh/control/address/0", "255.255.255.255 80"));
  MeshOptions options = options_for(1, 2);
  int calls = 0;
  options.interrupted = [&] {
    return ++calls < 8 ? absl::OkStatus() : absl::AbortedError("rank 0 died");
  };
  options.refused = [](int rank) { ADD_FAILURE() << "rank " << rank << " refused nothing"; };
  EXPECT_EQ(connect_mesh(options, store).status(), absl::AbortedError("rank 0 died"));
  options.timeout = absl::Milliseconds(10);
  options.interrupted = nullptr;
  EXPECT_THAT(connect_mesh(options, store).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("Network is unreachable")));
}

TEST(ConnectMeshTest, Ipv6) {
  auto addresses = find_addresses("::1", 0);
  ASSERT_OK(addresses.status());
  if (!listen_on(addresses->at(0)).ok())
    GTEST_SKIP() << skip_kernel_feature("IPv6", "no address ::1");
  MemoryJobStore store;
  expect_connected(connect_all(3, store, "::1"));
}

TEST(ConnectMeshTest, StrangersHoldNobodyUp) {
  MemoryJobStore store;
  std::vector<Connected> results(2);
  std::thread rank_0([&] { results[0] = connect_mesh(options_for(0, 2), store); });
  const SocketAddress address = address_of(0, store);
  const std::string token = *store.peek("mesh/control/token");
  std::vector<Socket> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(call(address));
  silent.push_back(call(address, "millrace con"));
  call(address);  // and leaves
  const Socket web = call(address, "GET /index.html HTTP/1.1\r\nHost: somewhere.example\r\n\r\n");
  const Socket other_job = call(address, hello(std::string(32, 'a'), 1));
  const Socket no_number = call(address, absl::StrCat("millrace control ", token, "0000x00001"));
  const Socket itself = call(address, hello(token, 0));
  const Socket too_high = call(address, hello(token, 2));
  EXPECT_TRUE(is_closed(web));
  EXPECT_TRUE(is_closed(other_job));
  EXPECT_TRUE(is_closed(no_number));
  EXPECT_TRUE(is_closed(itself));
  EXPECT_TRUE(is_closed(too_high));
  results[1] = connect_mesh(options_for(1, 2), store);
  rank_0.join();
  expect_connected(std::move(results));
}

// Strangers take all descriptors.
TEST(ConnectMeshTest, TooManyStrangersMakeRoom) {
  MemoryJobStore store;
  Connected result;
  std::thread rank_0([&] { result = connect_mesh(options_for(0, 2), store); });
  const SocketAddress address = address_of(0, store);
  std::vector<Socket> callers;
  for (int i = 0; i < 9; ++i) {
    callers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {static_cast<rlim_t>(callers.back().get() + 3), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (const Socket& caller : callers) {
    EXPECT_EQ(::connect(caller.get(), address.get(), address.length()), 0);
  }
  EXPECT_OK(send_all(callers.back(), hello(*store.peek("mesh/control/token"), 1), soon()));
  rank_0.join();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_OK(result.status());
}

TEST(ConnectMeshTest, WithProofsTheWordOfTheStoreIsNotEnough) {
  MemoryJobStore store;
  std::vector<Connected> results(2);
  std::vector<std::string> challenges[2];
  const auto connect = [&](int rank) {
    MeshOptions options = options_for(rank, 2);
    options.prove = [&challenges, rank](absl::string_view challenge) {
      challenges[rank].emplace_back(challenge);
      return absl::StrCat(std::string(28, 'p'), challenge.substr(challenge.size() - 4));
    };
    results[rank] = connect_mesh(options, store);
  };
  std::thread rank_0([&] { connect(0); });
  const SocketAddress address = address_of(0, store);
  const std::string token = *store.peek("mesh/control/token");
  EXPECT_TRUE(is_closed(call(address, hello(token, 1))));
  // The proof of the other direction.
  EXPECT_TRUE(is_closed(call(address, hello(absl::StrCat(std::string(28, 'p'), " 0 1"), 1))));
  connect(1);
  rank_0.join();
  EXPECT_THAT(challenges[1], testing::Contains(HasSubstr(token)));
  expect_connected(std::move(results));
}

TEST(ConnectMeshTest, SecondOfTheSameRankIsTurnedAway) {
  MemoryJobStore store;
  Connected result;
  std::thread rank_0([&] { result = connect_mesh(options_for(0, 3), store); });
  const SocketAddress address = address_of(0, store);
  const std::string token = *store.peek("mesh/control/token");
  const Socket first = call(address, hello(token, 1));
  EXPECT_THAT(receive_all(first, 59, soon()), IsOkAndHolds(hello(token, 0)));
  EXPECT_TRUE(is_closed(call(address, hello(token, 1))));
  const Socket other = call(address, hello(token, 2));
  rank_0.join();
  ASSERT_OK(result.status());
  // The first connection counts.
  ASSERT_EQ(send(result->at(1).get(), "x", 1, 0), 1);
  EXPECT_THAT(receive_all(first, 1, soon()), IsOkAndHolds("x"));
}

// A rank may continue at once, while the other side still waits for other ranks.
TEST(ConnectMeshTest, WhatFollowsTheHelloIsKept) {
  MemoryJobStore store;
  Connected result;
  std::thread rank_0([&] { result = connect_mesh(options_for(0, 2), store); });
  const SocketAddress address = address_of(0, store);
  const Socket rank_1 =
      call(address, absl::StrCat(hello(*store.peek("mesh/control/token"), 1), "more"));
  rank_0.join();
  ASSERT_OK(result.status());
  EXPECT_THAT(receive_all(result->at(1), 4, soon()), IsOkAndHolds("more"));
}

TEST(ConnectMeshTest, MissingRanksAreNamed) {
  MemoryJobStore store;
  std::vector<Connected> results(4);
  std::vector<std::thread> ranks;
  for (int rank : {0, 2}) {
    ranks.emplace_back([&, rank] {
      MeshOptions options = options_for(rank, 4);
      options.timeout = absl::Milliseconds(300);
      results[rank] = connect_mesh(options, store);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_THAT(results[0].status(),
              StatusIs(absl::StatusCode::kAborted,
                       "could not connect to rank 1, 3 within 300ms, though all came"));
  EXPECT_THAT(results[2].status(),
              StatusIs(absl::StatusCode::kAborted,
                       "could not connect to rank 1, 3 within 300ms, though all "
                       "came"));
}

TEST(ConnectMeshTest, LowerRankThatDiedIsNamedAtOnce) {
  MemoryJobStore store;
  ASSERT_OK_AND_ASSIGN(auto addresses, find_addresses("127.0.0.1", 0));
  ASSERT_OK_AND_ASSIGN(Socket gone, listen_on(addresses[0]));
  ASSERT_OK_AND_ASSIGN(SocketAddress address, local_address(gone));
  ASSERT_OK(store.set("mesh/control/address/0", absl::StrCat("127.0.0.1 ", address.port())));
  gone = Socket();
  MeshOptions options = options_for(1, 2);
  int refusing = -1;
  options.refused = [&](int rank) { refusing = rank; };
  EXPECT_THAT(connect_mesh(options, store).status(),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("could not connect to rank 0, though all came"),
                             HasSubstr("Connection refused"))));
  EXPECT_EQ(refusing, 0);
}

// Another program has a rank's former port.
TEST(ConnectMeshTest, LowerRankThatIsSomebodyElse) {
  for (const bool speaks : {true, false}) {
    MemoryJobStore store;
    ASSERT_OK_AND_ASSIGN(auto addresses, find_addresses("127.0.0.1", 0));
    ASSERT_OK_AND_ASSIGN(Socket other, listen_on(addresses[0]));
    ASSERT_OK_AND_ASSIGN(SocketAddress address, local_address(other));
    ASSERT_OK(store.set("mesh/control/address/0", absl::StrCat("127.0.0.1 ", address.port())));
    std::thread somebody([&] {
      ASSERT_OK_AND_ASSIGN(Socket accepted, accept_from(other, soon()));
      EXPECT_OK(send_all(accepted, std::string(speaks ? 80 : 0, '-'), soon()));
    });
    EXPECT_THAT(connect_mesh(options_for(1, 2), store).status(),
                StatusIs(absl::StatusCode::kAborted,
                         HasSubstr("it closed the connection, or is somebody else")));
    somebody.join();
  }
}

TEST(ConnectMeshTest, AddressThatIsNone) {
  for (const char* text : {"", "127.0.0.1", "127.0.0.1 x", "a b c"}) {
    MemoryJobStore store;
    ASSERT_OK(store.set("mesh/control/address/0", text));
    EXPECT_THAT(connect_mesh(options_for(1, 2), store).status(),
                StatusIs(absl::StatusCode::kAborted, HasSubstr("its address is")));
  }
}

TEST(ConnectMeshTest, StoreThatIsGone) {
  MemoryJobStore store;
  store.break_with(absl::UnavailableError("gone"));
  EXPECT_EQ(connect_mesh(options_for(1, 2), store).status(), absl::UnavailableError("gone"));
}

TEST(ConnectMeshTest, AddressOfAnotherMachine) {
  MemoryJobStore store;
  EXPECT_THAT(connect_mesh(options_for(0, 2, "192.0.2.1"), store).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("192.0.2.1 is not an address of this machine")));
}

}  // namespace
}  // namespace millrace
