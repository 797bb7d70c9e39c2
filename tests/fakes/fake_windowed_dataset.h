// A stream for tests of the loop: windows of fake batches that arrive after a while.
#ifndef MILLRACE_TESTS_FAKES_FAKE_WINDOWED_DATASET_H_
#define MILLRACE_TESTS_FAKES_FAKE_WINDOWED_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/windowed_dataset.h"
#include "tests/fakes/fake_dataset.h"

namespace millrace {

struct FakeWindow {
  int64_t batches = 2;
  int64_t not_yet = 0;  // calls of next_window() before the window arrives; -1: it never arrives
};

// Ends after its windows. The data of window i is the data of epoch i of a FakeDataset. Counts the
// calls of next_window(), which are the same on all ranks.
class FakeWindowedDataset : public WindowedDataset {
 public:
  FakeWindowedDataset(FakeDatasetOptions options, std::vector<FakeWindow> windows,
                      bool can_restart = false)
      : options_(options), windows_(std::move(windows)), can_restart_(can_restart) {}

  absl::Status start_epoch(int64_t epoch) override;
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  void cancel() override {}
  absl::StatusOr<WindowState> next_window() override;
  bool can_restart() const override { return can_restart_; }
  absl::StatusOr<std::unique_ptr<Dataset>> open_window_again(
      absl::Span<const std::string> missing_of) override;

  // Returns the windows in their current state, for another dataset: windows that have arrived are
  // ready at once, and the next window needs as many calls fewer.
  std::vector<FakeWindow> windows_now() const;

 private:
  const FakeDatasetOptions options_;
  const std::vector<FakeWindow> windows_;
  const bool can_restart_;
  std::optional<FakeDataset> open_;
  std::vector<Cursor> seek_cursors_;  // where the next window continues; empty: its start
  size_t next_ = 0;                   // the next window
  int64_t early_ = 0;                 // number of calls before it arrived
  bool is_new_ = false;               // the open window is new
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_FAKE_WINDOWED_DATASET_H_
