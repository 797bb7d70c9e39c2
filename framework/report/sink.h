// Receivers of reports and evaluations.
#ifndef MILLRACE_FRAMEWORK_REPORT_SINK_H_
#define MILLRACE_FRAMEWORK_REPORT_SINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/events.h"
#include "proto/custom.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// The state from which a run begins.
struct SinkStart {
  // Name of reports of training, which no evaluation set has.
  static constexpr char kTrain[] = "train";

  int64_t first_step = 0;  // the steps that were finished before; 0: a new run
  // Names of the values of step `first_step` that the checkpoint includes: evaluation sets, and
  // kTrain for a report. Default: not known, as of checkpoints of earlier versions.
  std::optional<std::set<std::string>> written = std::nullopt;

  // Returns true if the values of `step` under `name`, an evaluation set or kTrain, are not those
  // of the checkpoint: they were written after it, by a run that was interrupted.
  bool comes_again(int64_t step, const std::string& name) const;
};

// Interface of sinks. The hook `sinks` calls them on the trainer's thread of rank 0, or of every
// rank with SinkConfig.ranks: ALL, so that a sink that waits delays training. After an error, or an
// exception, a sink is not called again until the run ends.
class Sink {
 public:
  virtual ~Sink() = default;

  // Called when a run begins. Values that the sink has and for which `start.comes_again()` is true
  // are of a run that was interrupted, and the run that begins replaces them. A run may end without
  // any value: files and the like should be created with the first one. The default does nothing.
  virtual absl::Status start(const SinkStart& start);
  // Returns true if reports should have histograms of dense parameters and gradients; asked for in
  // steps whose report is known to follow. Default: false.
  virtual bool wants_distributions() const { return false; }
  // Called after each report of training, with the values of all ranks.
  virtual absl::Status write_report(const Report& report) = 0;
  // Called after each evaluation of a set.
  virtual absl::Status write_evaluation(const EvaluationResult& result) = 0;
  // Makes durable what was written. Called after each checkpoint and when a run ends. The default
  // does nothing.
  virtual absl::Status flush();
};

// Values that a sink is made with.
struct SinkInput {
  FileSystem* files;       // lives longer than the sink
  std::string output_dir;  // run.output_dir
  int rank = 0;            // that the sink is of
};

// Makes a sink. `config` has the extension that the part reads.
using SinkFactory = std::function<absl::StatusOr<std::unique_ptr<Sink>>(const CustomConfig& config,
                                                                        const SinkInput& input)>;

// Returns the registry of sinks, which also has the names of the built-in kinds.
CustomRegistry<SinkFactory>& sink_registry();

}  // namespace millrace

// At namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_SINK(queue, "reports into a message queue", &QueueSink::create);
#define MILLRACE_REGISTER_SINK(name, description, factory) \
  MILLRACE_REGISTER_PART(sink, name, #name, description, factory)

#endif  // MILLRACE_FRAMEWORK_REPORT_SINK_H_
