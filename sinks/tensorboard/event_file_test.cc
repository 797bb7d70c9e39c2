#include "sinks/tensorboard/event_file.h"

#include "base/checksum/tfrecord.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(EventFileTest, EventsReadBack) {
  MemoryFileSystem files;
  ASSERT_OK_AND_ASSIGN(const auto file, EventFile::create(files, "a", 12.5));
  tensorboard::Event event;
  event.set_step(7);
  event.mutable_summary()->add_value()->set_tag("loss");
  ASSERT_OK(file->write(event));
  ASSERT_OK(file->flush());
  ASSERT_OK_AND_ASSIGN(const auto events, read_events(*read_file(files, "a")));
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[0].wall_time(), 12.5);
  EXPECT_EQ(events[1].SerializeAsString(), event.SerializeAsString());
}

TEST(EventFileTest, TheNameOfTheFileIsDurable) {
  MemoryFileSystem memory;
  ASSERT_OK(memory.create_directories("out"));
  RecordingFileSystem files(memory);
  ASSERT_OK_AND_ASSIGN(const auto file, EventFile::create(files, "out/a", 12.5));
  ASSERT_OK(file->flush());
  ASSERT_OK(file->flush());
  int64_t syncs = 0;
  for (const FileOperation& operation : files.operations()) {
    if (operation.kind == FileOperation::Kind::kSyncDirectory && operation.path == "out") ++syncs;
  }
  EXPECT_EQ(syncs, 1);
}

TEST(EventFileTest, EventsAreReadOneByOne) {
  MemoryFileSystem files;
  ASSERT_OK_AND_ASSIGN(const auto file, EventFile::create(files, "a", 12.5));
  // Some are larger than what is read at once.
  for (const size_t size : {10, 3 << 20, 700'000, 700'000, 20}) {
    tensorboard::Event event;
    event.mutable_summary()->add_value()->set_tag(std::string(size, 'x'));
    ASSERT_OK(file->write(event));
  }
  const std::string bytes = *read_file(files, "a");
  ASSERT_OK_AND_ASSIGN(const auto expected, read_events(bytes));
  files.put("b", bytes.substr(0, bytes.size() - 1));
  for (const char* path : {"a", "b"}) {
    ASSERT_OK_AND_ASSIGN(EventReader reader, EventReader::open(files, path));
    const size_t whole = expected.size() - (path[0] == 'b' ? 1 : 0);
    for (size_t i = 0; i <= whole; ++i) {
      tensorboard::Event event;
      ASSERT_OK_AND_ASSIGN(const bool more, reader.next(event));
      EXPECT_EQ(more, i < whole) << path << " " << i;
      if (more) {
        EXPECT_EQ(event.SerializeAsString(), expected[i].SerializeAsString()) << i;
      }
    }
  }
}

TEST(EventFileTest, DamageIsFoundWhileReading) {
  MemoryFileSystem files;
  std::string bad = tfrecord(std::string("\x10\x07", 2));
  bad[13] ^= 1;
  files.put("a", tfrecord(tensorboard::Event().SerializeAsString()) + bad);
  ASSERT_OK_AND_ASSIGN(EventReader reader, EventReader::open(files, "a"));
  tensorboard::Event event;
  EXPECT_THAT(reader.next(event), IsOkAndHolds(true));
  EXPECT_THAT(reader.next(event).status(),
              StatusIs(absl::StatusCode::kDataLoss, testing::HasSubstr("a: the data is damaged")));
}

TEST(EventFileTest, DamageIsFound) {
  const std::string good = tfrecord(tensorboard::Event().SerializeAsString()) +
                           tfrecord(std::string("\x10\x07", 2));  // step 7
  ASSERT_OK(read_events(good).status());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1;
    EXPECT_THAT(read_events(bad).status(), StatusIs(absl::StatusCode::kDataLoss)) << i;
    const bool whole = i == 0 || i == 16;
    EXPECT_EQ(read_events(good.substr(0, i)).ok(), whole) << i;
  }
}

}  // namespace
}  // namespace millrace
