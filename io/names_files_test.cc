#include "io/names_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/memory_file_system_testing.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"

namespace millrace {
namespace {

// After hold(), opening a file of this name blocks until release().
class HeldFiles : public MemoryFileSystem {
 public:
  void hold(const std::string& path) {
    MutexLock lock(mutex_);
    held_ = path;
  }
  void release() { hold(""); }
  void await_waiting() {
    MutexLock lock(mutex_);
    mutex_.await([this] { return waiting_; });
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    {
      MutexLock lock(mutex_);
      waiting_ |= path == held_;
      mutex_.await([&] { return path != held_; });
    }
    return MemoryFileSystem::open(path);
  }

 private:
  Mutex mutex_;
  std::string held_;
  bool waiting_ = false;
};

void write(FileSystem& files, const std::string& path) {
  ASSERT_OK_AND_ASSIGN(const auto file, files.create(path));
  ASSERT_OK(file->append("label,x\n0,1\n1,2\n"));
  ASSERT_OK(file->close());
}

TEST(NamesFilesTest, ADatasetNamesTheFileThatItWaitsFor) {
  HeldFiles files;
  for (const std::string path : {"a.csv", "b.csv"}) write(files, path);
  DatasetOptions options;
  TrainConfig config;
  FeatureConfig* label = config.add_feature();
  label->set_name("label");
  label->set_kind(FeatureConfig::LABEL);
  FeatureConfig* x = config.add_feature();
  x->set_name("x");
  x->set_kind(FeatureConfig::DENSE);
  ASSERT_OK_AND_ASSIGN(options.schema, FeatureSchema::create(config));
  for (const std::string path : {"a.csv", "b.csv"}) options.data.add_path(path);
  options.data.set_batch_size(2);
  options.files = &files;
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
  EXPECT_EQ(data->files_being_read(), "");
  files.hold("b.csv");
  ASSERT_OK(data->start_epoch(0));
  files.await_waiting();
  EXPECT_EQ(data->files_being_read(), "b.csv");
  files.release();
  for (int batch = 0; batch < 2; ++batch) ASSERT_OK(data->next());
  ASSERT_OK_AND_ASSIGN(const std::optional<Batch> none, data->next());
  EXPECT_FALSE(none.has_value());
  EXPECT_EQ(data->files_being_read(), "");
}

}  // namespace
}  // namespace millrace
