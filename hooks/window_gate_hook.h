// Checks a window before it is trained on.
#ifndef MILLRACE_HOOKS_WINDOW_GATE_HOOK_H_
#define MILLRACE_HOOKS_WINDOW_GATE_HOOK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hook/hook.h"
#include "io/feature_schema.h"
#include "io/windowed_dataset.h"
#include "proto/config.pb.h"
#include "proto/window_io_state.pb.h"

namespace millrace {

struct WindowGateOptions {
  WindowGateConfig config;
  // Returns the features of the job.
  std::function<absl::StatusOr<FeatureSchema>()> schema;
  // Receives index, rows and shares of the window; never null.
  std::shared_ptr<WindowIoState::Finished> figures;
};

// Reads each new window once more, each rank its part, before its progressive evaluation and its
// first step: counts rows, positive labels and rows with a value of a feature
// (DatasetOptions::missing_of). Reports them as window_rows, window_positive_LABEL and
// window_present_FEATURE. A window beyond a limit ends the run, or is a warning. The figures are
// the state of the hook, so that a window that a resume continues has them.
class WindowGateHook : public Hook {
 public:
  // Borrows `windows`.
  WindowGateHook(WindowGateOptions options, WindowedDataset& windows)
      : options_(std::move(options)), windows_(windows) {}

  absl::string_view name() const override { return "window_gate"; }
  absl::Status start(HookContext& context) override;
  // Errors: DataLoss that names each limit; errors of reading the window.
  absl::Status before_window(HookContext& context, const Window& window) override;
  absl::Status save_state(HookState& state) const override;
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  // A share of the rows that is counted.
  struct Share {
    const WindowGateConfig::Share* limit = nullptr;
    bool is_label = false;
    int64_t column = 0;  // of Batch::labels or, with 1 where the value is missing, of Batch::dense
    std::string metric;  // "positive_click", "present_user"
  };
  absl::Status add_label(const WindowGateConfig::Share& limit, const FeatureSchema& schema);
  absl::Status add_present(const WindowGateConfig::Share& limit, const FeatureSchema& schema);
  // Returns the rows, and the rows of each share, of this rank.
  absl::StatusOr<std::vector<int64_t>> count() const;
  void count_batch(const Batch& batch, std::vector<int64_t>* counts) const;
  static absl::StatusOr<std::vector<int64_t>> sum_over_ranks(HookContext& context,
                                                             const std::vector<int64_t>& own);
  // Returns what is beyond a limit.
  std::vector<std::string> faults() const;

  const WindowGateOptions options_;
  WindowedDataset& windows_;
  std::vector<Share> shares_;
  std::vector<std::string> missing_of_;  // features, of which values may be missing
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_WINDOW_GATE_HOOK_H_
