#include "io/window/time_window_source.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TimeWindowSourceTest : public testing::Test {
 protected:
  void put(const std::string& name) { files_.put("logs/" + name, "x"); }
  std::unique_ptr<TimeWindowSource> source(const std::string& more = "") {
    TimeWindows config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "path: 'logs/dt=%Y%m%d/hh=%H' start: '2026-01-31T22:00:00Z' pattern: '*.csv' " + more,
        &config));
    return std::make_unique<TimeWindowSource>(files_, config);
  }
  std::vector<std::string> windows(TimeWindowSource& source) {
    std::vector<std::string> windows;
    while (true) {
      const auto found = source.find(/*no_more=*/false, position_);
      EXPECT_OK(found.status());
      last_ = found.ok() ? *found : Found::kEnded;
      if (!found.ok() || *found != Found::kWindow) return windows;
      std::vector<std::string> files;
      for (const auto& file : position_.file()) files.push_back(file.name());
      windows.push_back(position_.name() + ": " + absl::StrJoin(files, "+"));
    }
  }

  MemoryFileSystem files_;
  WindowPosition position_;
  Found last_ = Found::kNotYet;
};

TEST_F(TimeWindowSourceTest, StepAfterStepOverMidnight) {
  const auto hours = source("end: '2026-02-01T01:00:00Z'");
  put("dt=20260131/hh=22/b.csv");
  put("dt=20260131/hh=22/a.csv");
  put("dt=20260131/hh=22/notes.txt");
  EXPECT_THAT(windows(*hours), IsEmpty());
  EXPECT_EQ(last_, Found::kNotYet);
  EXPECT_EQ(hours->waits_for(), "logs/dt=20260131/hh=22/_SUCCESS");
  put("dt=20260131/hh=22/_SUCCESS");
  EXPECT_THAT(windows(*hours), ElementsAre("dt=20260131/hh=22: dt=20260131/hh=22/a.csv+"
                                           "dt=20260131/hh=22/b.csv"));
  EXPECT_EQ(hours->path_of(position_.file(0).name()), "logs/dt=20260131/hh=22/a.csv");
  put("dt=20260131/hh=23/_SUCCESS");
  put("dt=20260201/hh=00/a.csv");
  put("dt=20260201/hh=00/_SUCCESS");
  EXPECT_THAT(windows(*hours),
              ElementsAre("dt=20260131/hh=23: ", "dt=20260201/hh=00: dt=20260201/hh=00/a.csv"));
  EXPECT_EQ(last_, Found::kEnded);
  // A source that knows only the position resumes there.
  EXPECT_THAT(windows(*source()), IsEmpty());
  EXPECT_EQ(last_, Found::kNotYet);
}

TEST_F(TimeWindowSourceTest, WithoutAMarkerADirectoryIsEnough) {
  put("dt=20260131/hh=22/a.csv");
  EXPECT_THAT(windows(*source("marker: ''")),
              ElementsAre("dt=20260131/hh=22: dt=20260131/hh=22/a.csv"));
}

TEST_F(TimeWindowSourceTest, MissingStepsAreWaitedForOrLeftOutOrAnError) {
  put("dt=20260131/hh=23/_SUCCESS");
  const auto waits = source();
  EXPECT_THAT(windows(*waits), IsEmpty());
  EXPECT_EQ(last_, Found::kNotYet);
  EXPECT_EQ(waits->waits_for(),
            "logs/dt=20260131/hh=22/_SUCCESS is missing while dt=20260131/hh=23 is there");
  EXPECT_THAT(source("missing: FAIL")->find(false, position_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("hh=22/_SUCCESS is missing"), HasSubstr("FAIL"))));
  const auto skips = source("missing: SKIP");
  EXPECT_THAT(windows(*skips), ElementsAre("dt=20260131/hh=23: "));
  put("dt=20260131/hh=22/_SUCCESS");
  EXPECT_THAT(windows(*skips), IsEmpty()) << "what was left out stays so";
}

// Brings hours 22 and 23 right after the first look at 22.
class BetweenLooks : public MemoryFileSystem {
 public:
  absl::StatusOr<FileInfo> info(const std::string& path) override {
    const absl::StatusOr<FileInfo> info = MemoryFileSystem::info(path);
    put("logs/dt=20260131/hh=22/_SUCCESS", "");
    put("logs/dt=20260131/hh=23/_SUCCESS", "");
    return info;
  }
};

TEST_F(TimeWindowSourceTest, AStepThatComesBetweenTwoLooksIsNotMissing) {
  for (const char* missing : {"WAIT", "SKIP", "FAIL"}) {
    BetweenLooks files;
    TimeWindows config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "path: 'logs/dt=%Y%m%d/hh=%H' start: '2026-01-31T22:00:00Z' missing: " +
            std::string(missing),
        &config));
    TimeWindowSource hours(files, config);
    WindowPosition position;
    ASSERT_THAT(hours.find(false, position), IsOkAndHolds(Found::kWindow)) << missing;
    EXPECT_EQ(position.name(), "dt=20260131/hh=22") << missing;
  }
}

TEST_F(TimeWindowSourceTest, NothingIsWaitedForAnyLonger) {
  EXPECT_THAT(source()->find(/*no_more=*/true, position_), IsOkAndHolds(Found::kEnded));
}

}  // namespace
}  // namespace millrace
