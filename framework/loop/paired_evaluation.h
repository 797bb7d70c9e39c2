// An evaluation set that comes in windows.
#ifndef MILLRACE_FRAMEWORK_LOOP_PAIRED_EVALUATION_H_
#define MILLRACE_FRAMEWORK_LOOP_PAIRED_EVALUATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/state/checkpointable.h"
#include "framework/loop/evaluation_options.h"
#include "io/windowed_dataset.h"

namespace millrace {

// Evaluates one window of a set after each training window. Checkpoints, which are made while no
// window of the set is open, include the position.
class PairedEvaluation : public Checkpointable {
 public:
  explicit PairedEvaluation(PairedSet set);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& metrics() const { return metrics_; }
  // Returns true if the set was evaluated for this training window (Window::index).
  bool was_evaluated(int64_t training_window) const { return training_window <= last_paired_; }

  // Returns the stream at its position; next_window() gives the window to evaluate. Errors: as
  // seek().
  absl::StatusOr<WindowedDataset*> stream();
  // Returns the open window as a dataset of one epoch.
  Dataset& open_window() { return *open_window_; }
  // Records that `window` was evaluated for this training window.
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
  Cursor cursor_;             // after the last window evaluated, if any
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_PAIRED_EVALUATION_H_
