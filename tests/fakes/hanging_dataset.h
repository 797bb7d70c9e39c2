// Data that stops arriving, for tests of code waiting for data.
#ifndef MILLRACE_TESTS_FAKES_HANGING_DATASET_H_
#define MILLRACE_TESTS_FAKES_HANGING_DATASET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "io/names_files.h"
#include "tests/fakes/fake_dataset.h"

namespace millrace {

// Returns some batches of a longer epoch. Then next() blocks until cancel(), and returns Cancelled.
class HangingDataset : public FakeDataset, public NamesFiles {
 public:
  // `on_wait`, if not null, is called before next() blocks.
  explicit HangingDataset(int64_t batches, std::function<void()> on_wait = nullptr)
      : FakeDataset({.batches = batches + 1}), left_(batches), on_wait_(std::move(on_wait)) {}

  absl::StatusOr<std::optional<Batch>> next() override {
    if (left_-- > 0) return FakeDataset::next();
    if (on_wait_ != nullptr) on_wait_();
    MutexLock lock(mutex_);
    hangs_ = true;
    mutex_.await([this] { return cancelled_; });
    return absl::CancelledError("cancelled");
  }
  void cancel() override {
    MutexLock lock(mutex_);
    cancelled_ = true;
  }
  std::string files_being_read() const override { return "data/part-3.orc"; }

  // Returns true once next() blocks. Any thread may call it.
  bool hangs() const {
    MutexLock lock(mutex_);
    return hangs_;
  }

 private:
  int64_t left_;
  const std::function<void()> on_wait_;
  mutable Mutex mutex_;
  bool cancelled_ = false;
  bool hangs_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_HANGING_DATASET_H_
