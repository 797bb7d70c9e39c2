#include "sinks/tensorboard/earlier_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/checksum/tfrecord.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "sinks/tensorboard/event_file.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EarlierEventsTest : public testing::Test {
 protected:
  // Begins an event file, which is behind the files before it, for a run from step `begin` on.
  void begin_file(int64_t begin) {
    ++files_written_;
    tensorboard::Event event;
    event.set_step(begin);
    event.mutable_session_log()->set_status(tensorboard::SessionLog::START);
    add(event);
  }
  void add(int64_t step, const std::vector<std::string>& tags) {
    tensorboard::Event event;
    event.set_step(step);
    for (const std::string& tag : tags) event.mutable_summary()->add_value()->set_tag(tag);
    add(event);
  }
  void add(const tensorboard::Event& event) {
    bytes_[path()] += tfrecord(event.SerializeAsString());
    files_.put(path(), bytes_[path()]);
  }
  void damage_last_byte() {
    bytes_[path()].back() ^= 1;
    files_.put(path(), bytes_[path()]);
  }
  std::string path() const { return absl::StrCat("tb/events.out.tfevents.", files_written_); }

  // Returns the first tags of the kept events of step 20.
  std::vector<std::string> kept(std::optional<std::set<std::string>> written) {
    const auto earlier = read_earlier_events(files_, "tb", {.first_step = 20, .written = written});
    EXPECT_OK(earlier.status());
    comes_again_ = earlier->comes_again;
    std::vector<std::string> tags;
    for (const tensorboard::Event& event : earlier->kept) {
      EXPECT_EQ(event.step(), 20);
      tags.push_back(event.summary().value(0).tag());
    }
    return tags;
  }

  MemoryFileSystem files_;
  int files_written_ = 0;
  std::map<std::string, std::string> bytes_;
  bool comes_again_ = false;
};

TEST_F(EarlierEventsTest, EventsAreKeptBySet) {
  begin_file(1);
  add(0, {"configuration", "_hparams_/session_start_info"});
  add(10, {"late/auc"});
  add(20, {"_hparams_/session_start_info"});
  add(20, {"parameters/bias", "train/loss"});
  add(20, {"early/auc"});
  add(20, {"late/auc"});
  add(30, {"early/auc"});
  EXPECT_THAT(kept({{"early", "train"}}), ElementsAre("parameters/bias", "early/auc"));
  EXPECT_TRUE(comes_again_);
  EXPECT_THAT(kept({{"early"}}), ElementsAre("early/auc"));
  EXPECT_THAT(kept({{}}), IsEmpty());
  EXPECT_TRUE(comes_again_);
  kept({{"early", "late", "train"}});
  EXPECT_FALSE(comes_again_);
  EXPECT_THAT(kept(std::nullopt), IsEmpty());
  EXPECT_FALSE(comes_again_);
}

TEST_F(EarlierEventsTest, ANewRunReplacesTheFirstStepOfAnEarlierOne) {
  begin_file(1);
  add(0, {"configuration", "_hparams_/session_start_info"});
  const SinkStart start = {.first_step = 0, .written = std::set<std::string>()};
  ASSERT_OK_AND_ASSIGN(EarlierEvents earlier, read_earlier_events(files_, "tb", start));
  EXPECT_FALSE(earlier.comes_again);
  add(0, {"eval/auc"});
  ASSERT_OK_AND_ASSIGN(earlier, read_earlier_events(files_, "tb", start));
  EXPECT_TRUE(earlier.comes_again);
  EXPECT_THAT(earlier.kept, IsEmpty());
}

TEST_F(EarlierEventsTest, FilesAreReadAsFarAsTheyAreShown) {
  begin_file(1);
  add(20, {"a/dropped"});
  begin_file(11);
  add(20, {"a/first"});
  begin_file(21);
  add(20, {"a/second"});
  add(20, {"b/auc"});
  begin_file(31);
  files_.put("tb/zzz", "something else");
  EXPECT_THAT(kept({{"a"}}), ElementsAre("a/first", "a/second"));
  EXPECT_TRUE(comes_again_);
}

TEST_F(EarlierEventsTest, ADamagedFileCountsUpToTheDamage) {
  begin_file(1);
  add(20, {"a/auc"});
  add(20, {"b/auc"});
  damage_last_byte();
  EXPECT_THAT(kept({{"a"}}), ElementsAre("a/auc"));
  EXPECT_FALSE(comes_again_);
}

}  // namespace
}  // namespace millrace
