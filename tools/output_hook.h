// The output directory of a run.
#ifndef MILLRACE_TOOLS_OUTPUT_HOOK_H_
#define MILLRACE_TOOLS_OUTPUT_HOOK_H_

#include <string>

#include "base/file_system.h"
#include "framework/hook.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes the output directory just before the first step, so that a run that fails earlier leaves
// nothing. Each rank puts its logs/rank-N.log there; rank 0 config.textproto too. `start` already refuses a directory
// that could not be made or written.
class OutputHook : public Hook {
 public:
  // Borrows `files`.
  OutputHook(FileSystem& files, JobConfig config) : files_(files), config_(std::move(config)) {}
  absl::string_view name() const override { return "output"; }
  absl::Status start(HookContext& context) override;
  absl::Status before_step(HookContext& context) override;

 private:
  absl::Status check_content() const;
  absl::Status write_config() const;

  FileSystem& files_;
  const JobConfig config_;
  bool made_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_HOOK_H_
