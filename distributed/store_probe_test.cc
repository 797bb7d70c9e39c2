#include "distributed/store_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

const StoreGreeting kGreeting = {.hello = "hello ", .question = "there?", .answer = "yes"};

// Listens on a free port; each test accepts connections itself.
class StoreProbeTest : public testing::Test {
 protected:
  void SetUp() override {
    auto addresses = find_addresses("127.0.0.1", 0);
    ASSERT_OK(addresses.status());
    auto socket = listen_on(addresses->at(0));
    ASSERT_OK(socket.status());
    server_ = *std::move(socket);
    auto address = local_address(server_);
    ASSERT_OK(address.status());
    address_ = *address;
  }

  // Accepts one connection, reads the request and answers.
  std::thread answer(std::string expected, std::string answer) {
    return std::thread([this, expected, answer] {
      ASSERT_OK_AND_ASSIGN(kept_, accept_from(server_, Deadline::never()));
      EXPECT_THAT(receive_all(kept_, expected.size(), Deadline::never()), IsOkAndHolds(expected));
      ASSERT_OK(send_all(kept_, answer, Deadline::never()));
    });
  }

  Socket server_;
  Socket kept_;
  SocketAddress address_;
};

TEST_F(StoreProbeTest, AsksAgainOnTheSameConnection) {
  StoreProbe probe(kGreeting);
  EXPECT_EQ(probe.descriptor(), -1);
  std::thread store = answer("hello there?", "yes");
  EXPECT_OK(probe.connect(address_, absl::Seconds(10)));
  store.join();
  EXPECT_GE(probe.descriptor(), 0);
  ASSERT_EQ(write(kept_.get(), "yes", 3), 3);
  EXPECT_OK(probe.ask_again(absl::Seconds(10)));
  EXPECT_THAT(probe.ask_again(absl::Milliseconds(10)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  kept_ = Socket();
  EXPECT_THAT(probe.ask_again(absl::Seconds(10)), StatusIs(absl::StatusCode::kUnavailable));
  probe.close();
  EXPECT_THAT(probe.ask_again(absl::Seconds(10)), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(StoreProbeTest, SomethingElseListens) {
  std::thread other = answer("hello there?", "HTTP/1.1 400");
  EXPECT_THAT(
      StoreProbe(kGreeting).connect(address_, absl::Seconds(10)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer as the store of a job")));
  other.join();
}

TEST_F(StoreProbeTest, ListensButNeverAnswers) {
  EXPECT_THAT(StoreProbe(kGreeting).connect(address_, absl::Milliseconds(20)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no answer in time")));
}

// A connection that is closed at once decides nothing; the next one is refused if the server ended.
TEST_F(StoreProbeTest, OnlyARefusalShowsThatTheServerEnded) {
  for (const bool ends : {true, false}) {
    std::thread server([&] {
      do {
        kept_ = Socket();
        absl::StatusOr<Socket> next = accept_from(server_, Deadline::never());
        if (!next.ok()) break;
        if (ends) server_ = Socket();
        kept_ = *std::move(next);
      } while (!ends);
      kept_ = Socket();
    });
    EXPECT_THAT(
        StoreProbe(kGreeting).connect(address_, ends ? absl::Seconds(10) : absl::Milliseconds(200)),
        ends ? StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Connection refused"))
             : StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("does not answer")));
    ::shutdown(server_.get(), SHUT_RDWR);
    server.join();
    if (ends) SetUp();
  }
}

TEST_F(StoreProbeTest, FindsTheStoreAmongAddressesLookedUpAgain) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  ASSERT_OK_AND_ASSIGN(const auto nobody, find_addresses("127.0.0.1", port.number));
  std::vector<FoundAddresses> found = {absl::UnavailableError("unknown name"), nobody, nobody,
                                       std::vector<SocketAddress>{nobody[0], address_}};
  size_t look_ups = 0;
  const auto find = [&] { return found[std::min(look_ups++, found.size() - 1)]; };
  FakeClock clock;
  std::thread store = answer("hello there?", "yes");
  EXPECT_THAT(find_store("for a store", find, kGreeting, absl::Seconds(60), clock),
              IsOkAndHolds(address_));
  store.join();
  EXPECT_EQ(look_ups, 4);
  EXPECT_GE(clock.elapsed(), absl::Seconds(6)) << "name servers are asked rarely";
  EXPECT_LT(clock.elapsed(), absl::Seconds(9));

  for (const absl::Status& last :
       {absl::UnavailableError("unknown name"), absl::InvalidArgumentError("not to be reached")}) {
    EXPECT_EQ(find_store(
                  "", [&] { return last; }, kGreeting, absl::Seconds(5), clock)
                  .status(),
              last);
  }
  EXPECT_THAT(find_store(
                  "", [&] { return nobody; }, kGreeting, absl::Seconds(5), clock),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Connection refused")));
}

}  // namespace
}  // namespace millrace
