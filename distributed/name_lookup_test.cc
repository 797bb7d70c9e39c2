#include "distributed/name_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

FoundAddresses unknown() { return absl::UnavailableError("cannot find the address of \"pod\""); }

TEST(NameLookupTest, ANameThatBecomesKnown) {
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

TEST(NameLookupTest, AKnownNameTakesOneCall) {
  FakeClock clock;
  EXPECT_OK(await_addresses(
      "pod", absl::ZeroDuration(), [] { return find_addresses("127.0.0.1", 7); }, clock));
  EXPECT_EQ(clock.elapsed(), absl::ZeroDuration());
}

TEST(NameLookupTest, TheLastErrorIsReturnedAtTheTimeOut) {
  FakeClock clock;
  EXPECT_THAT(await_addresses("pod", absl::Seconds(30), unknown, clock),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the address of \"pod\"")));
  EXPECT_LE(clock.elapsed(), absl::Seconds(30));
  EXPECT_GT(clock.elapsed(), absl::Seconds(27));
}

}  // namespace
}  // namespace millrace
