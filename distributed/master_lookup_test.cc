#include "distributed/master_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<SocketAddress> addresses(const std::vector<std::string>& ips) {
  std::vector<SocketAddress> found;
  for (const std::string& ip : ips) found.push_back(find_addresses(ip, 29500).value()[0]);
  return found;
}

TEST(ReachableAddressesTest, LoopbackOnlyIfNoOtherMachineNeedsThem) {
  struct Case {
    const char* host;
    std::vector<std::string> found;
    int local_world_size = 1;  // of 2
    bool other_machines = false;
    const char* interface = "";
    std::vector<std::string> expected = {};  // none: an error
  };
  const std::vector<std::string> kDebian = {"127.0.1.1"}, kLoopback = {"127.0.0.1"};
  for (const Case& example : {
           Case{"node01",
                {"127.0.1.1", "10.0.0.1", "fd00::1"},
                1,
                true,
                "",
                {"10.0.0.1", "fd00::1"}},
           Case{"node01", {"127.0.1.1", "10.0.0.1"}, 2, false, "", {"127.0.1.1", "10.0.0.1"}},
           Case{"node01", kDebian, 1, true, "", kDebian},
           Case{"node01", kDebian, 1, false, "", kDebian},
           Case{"node01", kDebian, 1, true, "lo", kLoopback},
           Case{"node01", kDebian, 1, true, "eth77"},
           Case{"node01", kDebian, 2, false, "eth77", kDebian},
           Case{"localhost", kLoopback, 2, false, "", kLoopback},
           Case{"localhost", kLoopback, 1, false, "", kLoopback},  // they may all be here
           Case{"localhost", kLoopback, 1, true},
           Case{"127.0.1.1", kDebian, 1, true},
           Case{"::1", {"::1"}, 1, true},
           Case{"127.0.0.1", kLoopback, 1, true, "lo", kLoopback},
       }) {
    RankEnvironment environment = {.world_size = 2, .local_world_size = example.local_world_size};
    environment.master_address = example.host;
    environment.master_port = 29500;
    environment.other_machines = example.other_machines;
    const FoundAddresses found =
        reachable_addresses(environment, example.interface, addresses(example.found));
    SCOPED_TRACE(absl::StrCat(example.host, " ", example.interface, example.other_machines));
    if (example.expected.empty()) {
      EXPECT_THAT(found, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("run.distributed.interface")));
    } else {
      EXPECT_THAT(found, IsOkAndHolds(addresses(example.expected)));
    }
  }
}

TEST(ListenForRanksTest, OnEveryInterfaceForAHostNameThatIsLoopbackHere) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  for (const char* host : {"node01", "127.0.1.1"}) {
    for (const char* interface : {"", "lo"}) {
      const RankEnvironment environment = {.world_size = 2, .master_address = host};
      ASSERT_OK_AND_ASSIGN(auto here, find_addresses("127.0.1.1", port.number));
      ASSERT_OK_AND_ASSIGN(auto elsewhere, find_addresses("127.0.0.2", port.number));
      ASSERT_OK_AND_ASSIGN(Socket socket, listen_for_ranks(environment, interface, here[0]));
      EXPECT_OK(connect_to(here[0], Deadline(absl::Seconds(10))).status());
      const bool every = host == std::string("node01") && interface == std::string("");
      EXPECT_EQ(connect_to(elsewhere[0], Deadline(absl::Seconds(10))).ok(), every) << host;
    }
  }
}

FoundAddresses unknown() { return absl::UnavailableError("cannot find the address of \"pod\""); }

TEST(MasterLookupTest, ANameThatBecomesKnown) {
  FakeClock clock;
  int calls = 0;
  const auto find = [&] {
    ++calls;
    return clock.elapsed() < absl::Seconds(20) ? unknown() : find_addresses("127.0.0.1", 7);
  };
  EXPECT_THAT(await_addresses("pod", absl::Minutes(5), find, clock), IsOkAndHolds(SizeIs(1)));
  EXPECT_LT(clock.elapsed(), absl::Seconds(23));
  EXPECT_LT(calls, 20) << "name servers are asked rarely";
}

TEST(MasterLookupTest, AKnownNameTakesOneCall) {
  FakeClock clock;
  EXPECT_OK(await_addresses(
      "pod", absl::ZeroDuration(), [] { return find_addresses("127.0.0.1", 7); }, clock));
  EXPECT_EQ(clock.elapsed(), absl::ZeroDuration());
}

TEST(MasterLookupTest, OnlyAnUnknownNameIsLookedUpAgain) {
  FakeClock clock;
  const auto refuse = []() -> FoundAddresses { return absl::InvalidArgumentError("loopback"); };
  EXPECT_EQ(await_addresses("pod", absl::Seconds(30), refuse, clock).status(),
            absl::InvalidArgumentError("loopback"));
  EXPECT_EQ(clock.elapsed(), absl::ZeroDuration());
}

TEST(MasterLookupTest, TheLastErrorIsReturnedAtTheTimeOut) {
  FakeClock clock;
  EXPECT_THAT(await_addresses("pod", absl::Seconds(30), unknown, clock),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the address of \"pod\"")));
  EXPECT_LE(clock.elapsed(), absl::Seconds(30));
  EXPECT_GT(clock.elapsed(), absl::Seconds(27));
}

}  // namespace
}  // namespace millrace
