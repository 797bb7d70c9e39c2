#include "sinks/tensorboard/earlier_events.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "sinks/tensorboard/event_file.h"

namespace millrace {
namespace {

constexpr char kHyperParameters[] = "_hparams_";

// Returns the evaluation set whose values an event has, or SinkStart::kTrain; "" for other events.
// Histograms of a report have tags without its name.
std::string set_of(const tensorboard::Event& event) {
  std::string set;
  for (const tensorboard::Summary::Value& value : event.summary().value()) {
    const size_t slash = value.tag().find('/');
    if (slash == std::string::npos) continue;
    const std::string name = value.tag().substr(0, slash);
    if (name == SinkStart::kTrain) return name;
    if (set.empty() && name != kHyperParameters) set = name;
  }
  return set;
}

// The events of one file.
struct FileEvents {
  int64_t begin = std::numeric_limits<int64_t>::max();  // step of the START event
  std::vector<tensorboard::Event> of_step;
};

absl::StatusOr<FileEvents> read_file_events(FileSystem& files, const std::string& path,
                                            int64_t step) {
  FileEvents events;
  ASSIGN_OR_RETURN(EventReader reader, EventReader::open(files, path));
  for (tensorboard::Event event;;) {
    const absl::StatusOr<bool> more = reader.next(event);
    if (absl::IsDataLoss(more.status())) break;
    RETURN_IF_ERROR(more.status());
    if (!*more) break;
    if (event.session_log().status() == tensorboard::SessionLog::START) {
      events.begin = event.step();
    }
    if (event.step() == step && !set_of(event).empty()) events.of_step.push_back(event);
  }
  return events;
}

}  // namespace

absl::StatusOr<EarlierEvents> read_earlier_events(FileSystem& files, const std::string& directory,
                                                  const SinkStart& start) {
  EarlierEvents earlier;
  if (!start.written.has_value()) return earlier;
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files.list(directory));
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (!absl::StartsWith(entry->name, kEventFilePrefix)) continue;
    ASSIGN_OR_RETURN(FileEvents events,
                     read_file_events(files, join_path(directory, entry->name), start.first_step));
    std::vector<tensorboard::Event> kept;
    for (tensorboard::Event& event : events.of_step) {
      if (start.comes_again(start.first_step, set_of(event))) {
        earlier.comes_again = true;
      } else {
        kept.push_back(std::move(event));
      }
    }
    earlier.kept.insert(earlier.kept.begin(), kept.begin(), kept.end());
    // The START event drops such events of earlier files.
    if (events.begin <= start.first_step) break;
  }
  return earlier;
}

}  // namespace millrace
