// An evaluation set that comes in windows.
#ifndef MILLRACE_FRAMEWORK_PAIRED_EVALUATION_H_
#define MILLRACE_FRAMEWORK_PAIRED_EVALUATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/checkpointable.h"
#include "io/windowed_dataset.h"

namespace millrace {

// Windows that are evaluated beside those of training, under a name.
struct PairedSet {
  std::string name;
  std::unique_ptr<WindowedDataset> windows;
  std::vector<std::string> metrics = {};  // as of EvaluationSet
};

// One window of it is evaluated after each window of training. Its position goes with checkpoints,
// which are made while none of its windows is open.
class PairedEvaluation : public Checkpointable {
 public:
  explicit PairedEvaluation(PairedSet set);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& metrics() const { return metrics_; }
  // Whether the window of this training window (Window::index) was evaluated.
  bool was_evaluated(int64_t training_window) const { return training_window <= last_paired_; }

  // The stream at its position; next_window() gives the window to evaluate. Errors: those of seek.
  absl::StatusOr<WindowedDataset*> stream();
  // The open window as a dataset of one epoch.
  Dataset& open_window() { return *open_window_; }
  // `window` was evaluated, for this window of training.
  void evaluated(const Window& window, int64_t training_window);

  absl::Status save_state(ObjectState& state) const override;
  absl::Status load_state(absl::Span<const ObjectState> per_rank) override;

 private:
  class OpenWindow;

  const std::string name_;
  const std::vector<std::string> metrics_;
  const std::unique_ptr<WindowedDataset> windows_;
  const std::unique_ptr<Dataset> open_window_;
  bool begun_ = false;
  int64_t last_paired_ = -1;  // window of training
  Cursor cursor_;             // after the last window that was evaluated, if there is one
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_PAIRED_EVALUATION_H_
