// The state of a run, from the files of its output directory.
#ifndef MILLRACE_TOOLS_STATUS_RUN_STATUS_H_
#define MILLRACE_TOOLS_STATUS_RUN_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file_system.h"
#include "job/health/awaited_ranks.h"

namespace millrace {

struct RunStatus {
  // "running"; "completed", "stopped" or "failed" as in summary.json; "killed": the process ended
  // without a summary.
  std::string state;
  std::string stop_reason;        // of a stop
  std::string error;              // of a failure, or the last one of a killed run; "": none
  int64_t step = 0;               // of the phase, or the steps at the end of the run
  int64_t epoch = 0, window = 0;  // finished

  // Of a running process that has written status.json; "": it has not yet.
  std::string phase;
  bool loading = false;
  // Without progress, or in the exchange under way: from 1 s on until now, else when status.json
  // was written, without an exchange.
  double seconds = 0;
  bool exchanges = false;
  std::vector<AwaitedRank> waits_for;
  // When status.json was written; false if it is older than five of its intervals.
  bool healthy = true;
  std::string health;  // the reason

  std::string checkpoint;  // path of the newest readable one; "": none
  int64_t checkpoint_step = 0;

  // Of status.json; none: there is no such file.
  std::optional<absl::Duration> age;
  std::string host;
  int64_t process = 0;
  int64_t world_size = 0;
};

// Reads status.json, summary.json, events.jsonl, the lock and the newest checkpoint of a directory.
// A run is running if its lock is held. The lock of a run on another host may be invisible here;
// the run is running if status.json is younger than five of its intervals and no summary was
// written since the process started. `now`: the time of day. Writes nothing. Errors: NotFound if
// the directory has no run; DataLoss for a damaged status.json or summary.json; errors of reading.
absl::StatusOr<RunStatus> read_run_status(FileSystem& files, const std::string& directory,
                                          absl::Time now);

// Returns a JSON object with a line feed. docs/exit_codes.md#status lists its fields.
std::string run_status_json(const RunStatus& status);

// Returns lines for people.
std::string run_status_text(const RunStatus& status);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_STATUS_RUN_STATUS_H_
