#include "job/health/status_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

TEST(StatusFileTest, HasTheStateOfTheRun) {
  FakeClock clock(absl::FromUnixSeconds(1000));
  RankActivity activity(clock);
  Progress progress;
  progress.epoch = 2;
  progress.window = 7;
  activity.set_progress(progress);
  activity.set_phase(RankPhase::kBetweenSteps, 11);
  activity.set_phase(RankPhase::kCommit, 12);
  activity.begin_exchange();
  clock.advance(absl::Seconds(3));
  activity.observe({1, RankPhase::kData, 11});
  const Json json = Json::parse(status_json(activity.now(), {.directory = "o", .world_size = 2},
                                            absl::FromUnixSeconds(1000), clock.now()));
  EXPECT_EQ(json["written"], "1970-01-01T00:16:43.000Z");
  EXPECT_EQ(json["started"], "1970-01-01T00:16:40.000Z");
  EXPECT_EQ(json["process"], ::getpid());
  EXPECT_EQ(json["step"], 12);
  EXPECT_EQ(json["epoch"], 2);
  EXPECT_EQ(json["window"], 7);
  EXPECT_EQ(json["phase"], "commit");
  EXPECT_EQ(json["loading"], false);
  EXPECT_EQ(json["exchanges"], true);
  EXPECT_EQ(json["seconds"], 3);
  EXPECT_EQ(json["waits_for"], Json::parse(R"([{"rank": 1, "phase": "data", "step": 11}])"));
  EXPECT_EQ(json["healthy"], true);
}

TEST(StatusFileTest, IsWrittenFromTheStartToTheEnd) {
  MemoryFileSystem files;
  ASSERT_OK(files.create_directories("o"));
  FakeClock clock;
  RankActivity activity(clock);
  const auto step = [&] {
    const auto text = read_file(files, "o/status.json");
    return text.ok() ? Json::parse(*text)["step"].get<int>() : -1;
  };
  {
    StatusFile status(files, clock, activity, {.directory = "o", .interval = absl::Hours(1)});
    EXPECT_EQ(step(), -1);
    status.start();
    status.start();
    while (step() < 0) Clock::real().sleep(absl::Milliseconds(1));
    activity.set_phase(RankPhase::kEnd, 9);
  }
  EXPECT_EQ(step(), 9);
}

TEST(StatusFileTest, IsWrittenOnlyByTheOwnerOfTheDirectory) {
  for (const char* owner : {"this", "another"}) {
    MemoryFileSystem files;
    ASSERT_OK(files.create_directories("o"));
    ASSERT_OK(write_file_atomically(files, "o/lock", absl::StrCat("host b\nrun ", owner, "\n")));
    FakeClock clock;
    RankActivity activity(clock);
    {
      StatusFile status(files, clock, activity, {.directory = "o", .token = "this"});
      status.start();
    }
    EXPECT_EQ(files.info("o/status.json").ok(), owner == std::string("this")) << owner;
  }
}

TEST(StatusFileTest, WritesNothingUnlessStarted) {
  MemoryFileSystem files;
  FakeClock clock;
  RankActivity activity(clock);
  { const StatusFile status(files, clock, activity, {.directory = "o"}); }
  EXPECT_FALSE(files.info("o").ok());
}

}  // namespace
}  // namespace millrace
