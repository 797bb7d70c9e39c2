// Writes which examples each step was made of.
#ifndef MILLRACE_HOOKS_EXAMPLE_TRACE_HOOK_H_
#define MILLRACE_HOOKS_EXAMPLE_TRACE_HOOK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "framework/hook.h"
#include "framework/hook_registry.h"

namespace millrace {

// For every step that was applied, a line {"step":…,"epoch":…,"window":…,"ids":[…]} with the
// example ids of this rank, in the order of its batches, in
//
//   <directory>/rank-<rank>/from-<step>.jsonl
//
// which holds the steps after that one: a run begins a new file at the step from which it goes on,
// and drops files that begin later. Of what an earlier file says of steps after the begin of the
// next one nothing counts: those were made anew. What counts is on disk before a checkpoint holds
// its steps. docs/windows.md says how to read it.
class ExampleTraceHook : public Hook {
 public:
  // Under which it is registered.
  static constexpr absl::string_view kName = "example_trace";

  // Borrows `files`. The directory is created when needed.
  ExampleTraceHook(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}
  // Configured by ExampleTraceConfig.
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  absl::Status start(HookContext& context) override;
  absl::Status before_window(HookContext& context, const Window& window) override;
  absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  // Begins a new file if the one before was removed.
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;
  // Has no state: makes what was written durable.
  absl::Status save_state(HookState& state) const override;

 private:
  absl::Status open(int rank, int world_size);
  absl::Status remove_from(const std::string& directory, int64_t begin);

  FileSystem& files_;
  const std::string directory_;
  int64_t begins_at_ = 0;  // step
  int64_t last_step_ = 0;  // of those that after_step saw; begins_at_ before the first
  std::string path_;       // of file_
  int64_t window_ = 0;
  std::vector<int64_t> ids_;  // of the step under way
  std::unique_ptr<WritableFile> file_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_EXAMPLE_TRACE_HOOK_H_
