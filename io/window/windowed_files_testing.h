// Windows of files in memory, for tests.
#ifndef MILLRACE_IO_WINDOW_WINDOWED_FILES_TESTING_H_
#define MILLRACE_IO_WINDOW_WINDOWED_FILES_TESTING_H_

#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "io/window/windowed_files.h"

namespace millrace {

// Rows whose example ids are first, first + 1, …
inline std::string csv(int64_t first, int64_t rows) {
  std::string text = "label,i1,id\n";
  for (int64_t row = first; row < first + rows; ++row) {
    absl::StrAppend(&text, row % 2, ",", row % 7, ",", row, "\n");
  }
  return text;
}

// A batch: its ids, and the position of the stream after the batch.
struct Step {
  int64_t window = 0;
  std::vector<int64_t> ids;
  Cursor cursor;
};

class WindowedFilesCase : public testing::Test {
 protected:
  WindowedFilesCase() { EXPECT_OK(files_.create_directories("in")); }

  void put(const std::string& name, int64_t first, int64_t rows) {
    files_.put("in/" + name, csv(first, rows));
  }
  // Windows of the directory "in".
  WindowedFilesOptions options(const std::string& more = "") {
    return options_of(
        "batch_size: 4 format: CSV shuffle_rows: 100 windows { directory { path: 'in' } }", more);
  }
  // `more` is merged into `data`.
  WindowedFilesOptions options_of(const std::string& data, const std::string& more = "") {
    WindowedFilesOptions options;
    using google::protobuf::TextFormat;
    EXPECT_TRUE(TextFormat::ParseFromString(data, &options.dataset.data)) << data;
    EXPECT_TRUE(TextFormat::MergeFromString(more, &options.dataset.data)) << more;
    TrainConfig features;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "feature { name: 'label' kind: LABEL } feature { name: 'i1' kind: DENSE } "
        "feature { name: 'id' kind: EXAMPLE_ID }",
        &features));
    options.dataset.schema = *FeatureSchema::create(features);
    options.dataset.files = &files_;
    options.clock = &clock_;
    return options;
  }
  // Without a feature of example ids.
  static WindowedFilesOptions with_default_ids(WindowedFilesOptions options) {
    TrainConfig features;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "feature { name: 'label' kind: LABEL } feature { name: 'i1' kind: DENSE }", &features));
    options.dataset.schema = *FeatureSchema::create(features);
    return options;
  }
  std::unique_ptr<WindowedDataset> open(WindowedFilesOptions options) {
    auto data = WindowedFiles::create(std::move(options));
    EXPECT_OK(data.status());
    return *std::move(data);
  }
  std::unique_ptr<WindowedDataset> begun(const std::string& more = "") {
    auto data = open(options(more));
    EXPECT_OK(data->start_epoch(0));
    return data;
  }

  // Runs `body` on each of `world_size` ranks, with a dataset of these options.
  static std::vector<absl::Status> on_ranks(
      const WindowedFilesOptions& options, int world_size,
      const std::function<absl::Status(int rank, WindowedDataset& data)>& body) {
    return run_thread_ranks({.world_size = world_size}, [&](auto collectives) -> absl::Status {
      WindowedFilesOptions own = options;
      own.dataset.rank = collectives->rank();
      own.dataset.world_size = world_size;
      own.broadcast = [&collectives](absl::string_view bytes) {
        return collectives->broadcast(bytes, 0);
      };
      ASSIGN_OR_RETURN(auto data, WindowedFiles::create(std::move(own)));
      return body(collectives->rank(), *data);
    });
  }

  // Reads all data that is available. At the end of each window the cursor says so.
  static absl::StatusOr<std::vector<Step>> read_all(WindowedDataset& data,
                                                    WindowState::Kind* end = nullptr) {
    std::vector<Step> steps;
    while (true) {
      ASSIGN_OR_RETURN(const WindowState state, data.next_window());
      if (end != nullptr) *end = state.kind;
      if (state.kind != WindowState::kReady) return steps;
      while (true) {
        ASSIGN_OR_RETURN(const std::optional<Batch> batch, data.next());
        if (!batch.has_value()) break;
        const int64_t* ids = batch->example_ids.const_data_ptr<int64_t>();
        EXPECT_EQ(batch->cursor.stream->window, state.window.index);
        EXPECT_EQ(batch->cursor.stream->bytes, state.window.stream);
        steps.push_back({state.window.index, {ids, ids + batch->size}, batch->cursor});
      }
    }
  }
  // Expects that a new dataset, resumed after any batch, gives the same following batches, byte for
  // byte.
  void expect_to_go_on_from_every_batch(const WindowedFilesOptions& options, size_t more_than) {
    const auto first = open(options);
    ASSERT_OK(first->start_epoch(0));
    ASSERT_OK_AND_ASSIGN(const auto whole, read_all(*first));
    ASSERT_GT(whole.size(), more_than);
    for (size_t i = 0; i < whole.size(); ++i) {
      Cursor cursor = whole[i].cursor;
      for (const bool finished : {false, true}) {
        const bool last = i + 1 == whole.size() || whole[i + 1].window != whole[i].window;
        if (finished && !last) continue;
        cursor.stream->finished = finished;
        const auto data = open(options);
        ASSERT_OK(data->seek({&cursor, 1}));
        ASSERT_OK_AND_ASSIGN(const auto rest, read_all(*data));
        EXPECT_EQ(text(rest), text({whole.begin() + i + 1, whole.end()})) << "after batch " << i;
      }
    }
  }

  static std::string text(const std::vector<Step>& steps) {
    std::string text;
    for (const Step& step : steps) {
      absl::StrAppend(&text, step.window, ":");
      for (const int64_t id : step.ids) absl::StrAppend(&text, " ", id);
      absl::StrAppend(&text, "\n");
    }
    return text;
  }
  static std::map<int64_t, std::vector<int64_t>> by_window(const std::vector<Step>& steps) {
    std::map<int64_t, std::vector<int64_t>> ids;
    for (const Step& step : steps) {
      std::vector<int64_t>& all = ids[step.window];
      all.insert(all.end(), step.ids.begin(), step.ids.end());
    }
    for (auto& [window, all] : ids) std::sort(all.begin(), all.end());
    return ids;
  }
  static std::vector<int64_t> range(int64_t first, int64_t count) {
    std::vector<int64_t> ids(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) ids[static_cast<size_t>(i)] = first + i;
    return ids;
  }

  MemoryFileSystem files_;
  FakeClock clock_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOWED_FILES_TESTING_H_
