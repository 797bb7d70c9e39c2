#include "sinks/mlflow/record_queue.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Records = std::vector<std::string>;

constexpr char kFirstFile[] = "out/queue-00000001.jsonl";

class RecordQueueTest : public testing::Test {
 protected:
  std::unique_ptr<RecordQueue> open(RecordQueueOptions options = {}) {
    auto queue = RecordQueue::open(files_, "out", options);
    EXPECT_OK(queue.status());
    return queue.ok() ? *std::move(queue) : nullptr;
  }
  static RecordQueue::Batch peek(RecordQueue& queue, size_t most = 1000) {
    auto batch = queue.peek(most);
    EXPECT_OK(batch.status());
    return batch.value_or(RecordQueue::Batch());
  }
  // Removes all records, batch by batch, and returns them.
  static Records take(RecordQueue& queue, size_t most = 1000) {
    Records records;
    for (;;) {
      const RecordQueue::Batch batch = peek(queue, most);
      if (batch.records.empty()) return records;
      EXPECT_LE(batch.records.size(), most);
      records.insert(records.end(), batch.records.begin(), batch.records.end());
      EXPECT_OK(queue.remove(batch));
    }
  }
  static void append(RecordQueue& queue, const Records& records) {
    for (const std::string& record : records) EXPECT_OK(queue.append(record));
  }
  size_t file_count() {
    const auto files = files_.glob("out/queue-*");
    EXPECT_OK(files.status());
    return files.value_or(Records()).size();
  }
  MemoryFileSystem files_;
};

TEST_F(RecordQueueTest, FirstInFirstOut) {
  const auto queue = open();
  EXPECT_THAT(take(*queue), IsEmpty());
  append(*queue, {"a", "b"});
  EXPECT_GT(queue->bytes(), 0);
  EXPECT_THAT(peek(*queue).records, ElementsAre("a", "b"));
  EXPECT_THAT(peek(*queue, 1).records, ElementsAre("a"));
  append(*queue, {"c", ""});
  EXPECT_THAT(take(*queue, 1), ElementsAre("a", "b", "c", ""));
  EXPECT_EQ(queue->bytes(), 0);
  append(*queue, {"d"});
  EXPECT_THAT(take(*queue), ElementsAre("d"));
}

TEST_F(RecordQueueTest, AnotherQueueContinues) {
  {
    const auto queue = open();
    append(*queue, {"a", "b", "c"});
    EXPECT_OK(queue->remove(peek(*queue, 1)));
  }
  const auto second = open();
  append(*second, {"d"});
  EXPECT_THAT(take(*second, 2), ElementsAre("b", "c", "d"));
  const auto third = open();
  EXPECT_THAT(take(*third), IsEmpty());
  EXPECT_EQ(file_count(), 0);
}

TEST_F(RecordQueueTest, RecordsMayBeLong) {
  const auto queue = open({.segment_bytes = 100, .most_bytes = 1 << 20, .read_bytes = 10});
  Records records;
  for (int i = 0; i < 50; ++i) records.push_back(std::string(static_cast<size_t>(i * 7), 'x'));
  append(*queue, records);
  EXPECT_GT(file_count(), 10);
  EXPECT_EQ(take(*queue), records);
}

TEST_F(RecordQueueTest, DamagedLinesAreSkipped) {
  append(*open(), {"first", "second", "third"});
  std::string text = *read_file(files_, kFirstFile);
  text[text.find("second")] = 'X';
  files_.put(kFirstFile, text);
  EXPECT_THAT(peek(*open()).records, ElementsAre("first", "third"));
  // The process ended within the last record.
  files_.put(kFirstFile, text.substr(0, text.size() - 3));
  const auto queue = open();
  append(*queue, {"fourth"});
  EXPECT_THAT(take(*queue), ElementsAre("first", "fourth"));
  for (const char* content : {"", "\n", "\n\n\n", "no line", "12345678 x\n"}) {
    files_.put("out/queue-00000077.jsonl", content);
    EXPECT_THAT(take(*open()), IsEmpty());
  }
}

TEST_F(RecordQueueTest, WithoutAPositionAllRecordsComeAgain) {
  for (const char* position : {"", "x", "1", "1 x", "1 999999", "1 -4", "0 3"}) {
    files_.put("out/position", "");
    append(*open(), {"a"});
    files_.put("out/position", position);
    EXPECT_THAT(take(*open()), testing::Contains("a")) << position;
  }
}

TEST_F(RecordQueueTest, TheOldestRecordsGoFirst) {
  const auto queue = open({.segment_bytes = 50, .most_bytes = 200, .read_bytes = 1 << 20});
  for (int i = 0; i < 100; ++i) EXPECT_OK(queue->append(absl::StrCat("record ", i)));
  EXPECT_LE(queue->bytes(), 200);
  EXPECT_TRUE(queue->take_overflow());
  EXPECT_FALSE(queue->take_overflow());
  const Records rest = take(*queue);
  EXPECT_THAT(rest.size(), testing::AllOf(testing::Gt(3), testing::Lt(11)));
  EXPECT_EQ(rest.back(), "record 99");
  EXPECT_EQ(rest.front(), absl::StrCat("record ", 100 - rest.size()));
}

TEST_F(RecordQueueTest, AFileOfRemovedRecordsIsNoLoss) {
  const auto queue = open({.segment_bytes = 50, .most_bytes = 200, .read_bytes = 1 << 20});
  for (int i = 0; i < 100; ++i) {
    append(*queue, {absl::StrCat("record ", i)});
    EXPECT_EQ(take(*queue).size(), 1);
  }
  EXPECT_FALSE(queue->take_overflow());
  EXPECT_LE(file_count(), 2);
}

TEST_F(RecordQueueTest, ABatchThatTheLimitRemoved) {
  const auto queue = open({.segment_bytes = 50, .most_bytes = 200, .read_bytes = 1 << 20});
  append(*queue, {"old"});
  const RecordQueue::Batch batch = peek(*queue);
  for (int i = 0; i < 20; ++i) append(*queue, {absl::StrCat("record ", i)});
  EXPECT_OK(queue->remove(batch));
  EXPECT_EQ(take(*queue).back(), "record 19");
}

TEST_F(RecordQueueTest, RemoveIf) {
  const auto queue = open({.segment_bytes = 50, .most_bytes = 1 << 20, .read_bytes = 64});
  Records odd;
  for (int i = 0; i < 40; ++i) {
    append(*queue, {absl::StrCat("record ", i)});
    if (i % 2 == 1) odd.push_back(absl::StrCat("record ", i));
  }
  const auto is_even = [](absl::string_view record) { return (record.back() - '0') % 2 == 0; };
  EXPECT_OK(queue->remove_if(is_even));
  EXPECT_OK(queue->remove_if(is_even));
  EXPECT_EQ(file_count(), 1);
  append(*queue, {"last"});
  EXPECT_EQ(peek(*open()).records, odd) << "what another queue reads";
  odd.push_back("last");
  EXPECT_EQ(take(*queue), odd);
}

TEST_F(RecordQueueTest, RemoveIfLeavesRemovedRecordsRemoved) {
  const auto queue = open();
  append(*queue, {"a", "b", "c"});
  const RecordQueue::Batch batch = peek(*queue, 2);
  EXPECT_OK(queue->remove(peek(*queue, 1)));
  EXPECT_OK(queue->remove_if([](absl::string_view record) { return record == "c"; }));
  EXPECT_OK(queue->remove(batch));  // of before, without effect
  EXPECT_THAT(take(*queue), ElementsAre("b"));
}

TEST_F(RecordQueueTest, AFullDiskIsAnErrorOfAppend) {
  const auto queue = open();
  append(*queue, {"a"});
  files_.set_capacity(files_.used_bytes() + 4);
  EXPECT_THAT(queue->append("b"), StatusIs(absl::StatusCode::kResourceExhausted));
  files_.set_capacity(1 << 20);
  append(*queue, {"c"});
  EXPECT_OK(queue->sync());
  EXPECT_THAT(take(*queue), ElementsAre("a", "c"));
}

TEST_F(RecordQueueTest, ARemovedDirectoryBeginsAnew) {
  const auto queue = open({.segment_bytes = 40});
  append(*queue, {"aaaa", "bbbb", "cccc", "dddd"});
  const RecordQueue::Batch batch = peek(*queue, 1);
  EXPECT_OK(remove_recursively(files_, "out"));
  EXPECT_OK(queue->remove(batch));
  EXPECT_THAT(take(*queue), IsEmpty());
  append(*queue, {"eeee"});  // into the removed file
  EXPECT_THAT(take(*queue), IsEmpty());
  EXPECT_OK(queue->sync());
  EXPECT_FALSE(files_.info("out").ok());
  append(*queue, {"ffff"});
  EXPECT_OK(queue->sync());
  EXPECT_THAT(peek(*open()).records, ElementsAre("ffff")) << "what another queue reads";
  EXPECT_THAT(take(*queue), ElementsAre("ffff"));
  EXPECT_EQ(queue->bytes(), 0);
}

TEST_F(RecordQueueTest, ARemovedFileLosesItsRecordsAlone) {
  const auto queue = open({.segment_bytes = 20});
  append(*queue, {"aaaa", "bbbb", "cccc"});
  ASSERT_OK_AND_ASSIGN(const Records paths, files_.glob("out/queue-*"));
  EXPECT_GT(paths.size(), 1);
  EXPECT_OK(files_.remove(paths[0]));
  EXPECT_OK(queue->remove_if([](absl::string_view record) { return record == "bbbb"; }));
  EXPECT_THAT(take(*queue), ElementsAre("cccc"));
}

TEST_F(RecordQueueTest, AnyFaultLosesNoRecordThatWasAppended) {
  for (int64_t n = 0;; ++n) {
    files_.put("out/x", "");
    EXPECT_OK(remove_recursively(files_, "out"));
    FaultFileSystem faults(files_);
    faults.fail(n, 1, absl::UnavailableError("injected"));
    Records appended;
    if (auto queue = RecordQueue::open(faults, "out", {.segment_bytes = 20}); queue.ok()) {
      for (const char* record : {"aaaa", "bbbb", "cccc", "dddd"}) {
        if ((*queue)->append(record).ok()) appended.push_back(record);
        (*queue)->sync().IgnoreError();
      }
      (*queue)->remove_if([](absl::string_view record) { return record == "dddd"; }).IgnoreError();
      (*queue)->peek(1).IgnoreError();
    }
    const Records rest = take(*open());
    for (const std::string& record : appended) {
      if (record == "dddd") continue;
      EXPECT_THAT(rest, testing::Contains(record)) << "after fault " << n;
    }
    if (faults.calls() <= n) break;
  }
}

TEST_F(RecordQueueTest, OneThreadAppendsAndAnotherRemoves) {
  const auto queue = open({.segment_bytes = 100});
  constexpr int kRecords = 2000;
  Records expected, taken;
  for (int i = 0; i < kRecords; ++i) expected.push_back(absl::StrCat(i));
  std::thread writer([&] { append(*queue, expected); });
  while (taken.size() < expected.size()) {
    for (std::string& record : take(*queue, 7)) taken.push_back(std::move(record));
  }
  writer.join();
  EXPECT_EQ(taken, expected);
}

}  // namespace
}  // namespace millrace
