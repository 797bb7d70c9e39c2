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
#include "hook/events.h"
#include "proto/custom.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// State at the beginning of a run.
struct SinkStart {
  // Name of reports of training, which no evaluation set may have.
  static constexpr char kTrain[] = "train";

  int64_t first_step = 0;  // steps finished before the run; 0: a new run
  // Names of the values of step `first_step` that the checkpoint includes: evaluation sets, and
  // kTrain for a report. Default: unknown, as in checkpoints of earlier versions.
  std::optional<std::set<std::string>> written = std::nullopt;

  // Returns true if an interrupted run wrote the values of `step` under `name`, an evaluation set
  // or kTrain, after the checkpoint, so that the checkpoint does not include them.
  bool comes_again(int64_t step, const std::string& name) const;
};

// Interface of sinks. The hook `sinks` calls all functions on the trainer's thread of rank 0, or of
// every rank with SinkConfig.ranks: ALL, so that a sink that waits delays training. After an error
// or an exception, a sink is not called again until the run ends.
class Sink {
 public:
  virtual ~Sink() = default;

  // Called when a run begins. If start.comes_again() is true for values in the sink, an interrupted
  // run wrote them, and the new run replaces them. A run may end without any value, so files and
  // the like should be created with the first value. The default does nothing.
  virtual absl::Status start(const SinkStart& start);
  // Returns true if reports should have histograms of dense parameters and gradients. Called in
  // steps whose report is known to follow. Default: false.
  virtual bool wants_distributions() const { return false; }
  // Called after each report of training, with the values of all ranks.
  virtual absl::Status write_report(const Report& report) = 0;
  // Called after each evaluation of a set.
  virtual absl::Status write_evaluation(const EvaluationResult& result) = 0;
  // Makes all written values durable. Called after each checkpoint and when a run ends. The default
  // does nothing.
  virtual absl::Status flush();
};

// A sink of a run.
struct NamedSink {
  std::string name;  // for messages
  std::unique_ptr<Sink> sink;
};

// Inputs for creating a sink.
struct SinkInput {
  FileSystem* files;       // outlives the sink
  std::string output_dir;  // run.output_dir
  int rank = 0;            // rank of the sink
};

// Creates a sink. `config` contains the sink's extension.
using SinkFactory = std::function<absl::StatusOr<std::unique_ptr<Sink>>(const CustomConfig& config,
                                                                        const SinkInput& input)>;

// Returns the registry of sinks, which includes the names of the built-in kinds.
CustomRegistry<SinkFactory>& sink_registry();

}  // namespace millrace

// Registers a sink. Used at namespace scope in a .cc whose cc_library sets `alwayslink = True`:
//   MILLRACE_REGISTER_SINK(queue, "reports into a message queue", &QueueSink::create);
#define MILLRACE_REGISTER_SINK(name, description, factory) \
  MILLRACE_REGISTER_PART(sink, name, #name, description, factory)

#endif  // MILLRACE_FRAMEWORK_REPORT_SINK_H_
