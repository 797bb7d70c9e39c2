// Writes the examples of each step.
#ifndef MILLRACE_HOOKS_EXAMPLE_TRACE_HOOK_H_
#define MILLRACE_HOOKS_EXAMPLE_TRACE_HOOK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"

namespace millrace {

// Writes a line {"step":…,"epoch":…,"window":…,"ids":[…]} for every applied step, with the example
// ids of this rank in the order of its batches, to
//
//   <directory>/rank-<rank>/from-<step>.jsonl
//
// which holds the steps after <step>. A run begins a new file at the step from which it resumes,
// and removes files that begin later, and the lines of the file before for steps that it repeats.
// Lines that remain after the beginning of the next file (of an older version) are invalid. Lines
// are on disk before a checkpoint holds their steps. docs/windows.md describes how to read the
// files.
class ExampleTraceHook : public Hook {
 public:
  // The name under which the hook is registered.
  static constexpr absl::string_view kName = "example_trace";

  // Borrows `files`. The directory is created when needed.
  ExampleTraceHook(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}
  // Creates the hook from ExampleTraceConfig.
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  absl::Status start(HookContext& context) override;
  absl::Status before_window(HookContext& context, const Window& window) override;
  absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  // Begins a new file if the current one was removed.
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;
  // Makes the written lines durable. The hook has no state.
  absl::Status save_state(HookState& state) const override;

 private:
  std::string directory_of(int rank) const;
  absl::Status open(int rank);
  absl::Status remove_repeated(const HookContext& context);
  absl::Status remove_from(const std::string& directory, int64_t begin);

  FileSystem& files_;
  const std::string directory_;
  int64_t begins_at_ = 0;  // step
  int64_t last_step_ = 0;  // last step in after_step; begins_at_ before the first
  std::string path_;       // of file_
  int64_t window_ = 0;
  std::vector<int64_t> ids_;  // ids of the current step
  std::unique_ptr<WritableFile> file_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_EXAMPLE_TRACE_HOOK_H_
