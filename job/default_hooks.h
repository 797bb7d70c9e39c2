// The hooks that every training job has, unless they are disabled.
#ifndef MILLRACE_JOB_DEFAULT_HOOKS_H_
#define MILLRACE_JOB_DEFAULT_HOOKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "framework/report/jsonl_event_log.h"
#include "hook/hook.h"
#include "hook/hook_statistics.h"
#include "hooks/sinks_hook.h"
#include "io/windowed_dataset.h"
#include "proto/config.pb.h"
#include "proto/window_io_state.pb.h"

namespace google::protobuf {
class Descriptor;
}

namespace millrace {

class RankActivity;
class StatusFile;

// The parts from which default hooks are built. All are borrowed and, except `config`, must outlive
// the hooks.
struct DefaultHookParts {
  const JobConfig& config;
  FileSystem& files;
  Clock& clock;
  std::ostream* log = nullptr;                 // lines for people; null: none
  bool terminal = false;                       // true if `log` is a terminal
  bool colors = false;                         // true if `log` may have colors
  std::function<int64_t()> columns = nullptr;  // current width of the terminal; empty: 80
  JsonlEventLog* event_log = nullptr;          // opened by the hook `output`; null: none
  bool has_evaluation_sets = false;            // sets of files; these can be evaluated any time
  bool has_dynamic_sources = false;            // of the model bank
  WindowedDataset* train_windows = nullptr;    // null: the training data does not come in windows
  std::vector<NamedSink>* sinks = nullptr;     // of run.sink; the hook takes them. Null: none
  int64_t epoch_steps = 0;                     // of training, about; 0: not known
  RankActivity* activity = nullptr;            // see JobResources
  StatusFile* status = nullptr;                // see JobResources
  // The counts of the hook window_gate, for the hook window_io.
  std::shared_ptr<WindowIoState::Finished> window_figures =
      std::make_shared<WindowIoState::Finished>();
};

// One default hook. To add a hook, add an entry to default_hooks.cc.
struct DefaultHook {
  std::string name;
  std::string description;  // one line
  std::string field;        // of JobConfig: its configuration, "run.log"
  std::string switch_off;  // assignment that switches it off: "run.log.style=OFF"; "": it cannot be
  const google::protobuf::Descriptor* message =
      nullptr;  // type of `field`; null: field is no message
  // Returns the hook, or null if the hook is disabled or the job does not need it.
  std::unique_ptr<Hook> (*make)(const DefaultHookParts& parts) = nullptr;
  OnError preference = OnError::kFail;  // handling of its errors by default
  // Returns the configured handling of its errors. Null: it cannot be configured.
  HookConfig::OnError (*configured)(const JobConfig& config) = nullptr;

  // Returns the handling of errors of the hook.
  OnError on_error(const JobConfig& config) const;
};

// Returns the hooks in calling order. The hooks of train.hooks and run.hooks follow.
const std::vector<DefaultHook>& default_hooks();

}  // namespace millrace

#endif  // MILLRACE_JOB_DEFAULT_HOOKS_H_
