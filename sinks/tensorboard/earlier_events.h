// Events of earlier runs at the step of a resumed run.
#ifndef MILLRACE_SINKS_TENSORBOARD_EARLIER_EVENTS_H_
#define MILLRACE_SINKS_TENSORBOARD_EARLIER_EVENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/report/sink.h"
#include "sinks/tensorboard/event.pb.h"

namespace millrace {

// TensorBoard drops events only by step, so a run that replaces a part of the events of its first
// step must write the other events of this step again.
struct EarlierEvents {
  std::vector<tensorboard::Event> kept;  // of reports and evaluations of the checkpoint, in order
  bool comes_again = false;              // true if there are events that the run writes again
};

// Reads the events of step `start.first_step` that TensorBoard shows of the event files in
// `directory`. Reads from the newest file back to the file of a run that began at or before this
// step, and no file if `start.written` is unknown. A damaged file counts up to the damage. Errors:
// see FileSystem.
absl::StatusOr<EarlierEvents> read_earlier_events(FileSystem& files, const std::string& directory,
                                                  const SinkStart& start);

}  // namespace millrace

#endif  // MILLRACE_SINKS_TENSORBOARD_EARLIER_EVENTS_H_
