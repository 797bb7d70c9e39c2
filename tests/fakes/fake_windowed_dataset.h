// A stream for tests of the loop: windows of fake batches that take a while to come.
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
  int64_t not_yet = 0;  // so many calls of next_window come too early; -1: it never comes
};

// Ends after its windows. The data of window i is that of epoch i of a FakeDataset. next_window
// counts its calls, which all ranks make alike.
class FakeWindowedDataset : public WindowedDataset {
 public:
  FakeWindowedDataset(FakeDatasetOptions options, std::vector<FakeWindow> windows)
      : options_(options), windows_(std::move(windows)) {}

  absl::Status start_epoch(int64_t epoch) override;
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  void cancel() override {}
  absl::StatusOr<WindowState> next_window() override;
  absl::StatusOr<std::unique_ptr<Dataset>> open_window_again() override;

  // The windows as they are now, for another dataset: those that came are there at once, and for
  // the next one so many calls fewer are too early.
  std::vector<FakeWindow> windows_now() const;

 private:
  const FakeDatasetOptions options_;
  const std::vector<FakeWindow> windows_;
  std::optional<FakeDataset> open_;
  std::vector<Cursor> seek_cursors_;  // where the next window continues; empty: at its start
  size_t next_ = 0;                   // window
  int64_t early_ = 0;                 // calls before it
  bool is_new_ = false;               // the open window
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_FAKE_WINDOWED_DATASET_H_
