#include "framework/report/jsonl_event_log.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/time/time.h"
#include "base/lines/line_text.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

std::string to_line(const LoopEvent& event, absl::Time time) {
  const absl::string_view kind = event_kind_name(event.kind);
  Json json = {{"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone())},
               {"step", event.progress.step},
               {"examples", event.progress.examples},
               {"epoch", event.progress.epoch},
               {"window", event.progress.window},
               {"kind", std::string(kind)},
               {"what", event.what},
               {"hook", event.hook},
               {"rank", event.rank},
               {"scope", event.scope == Scope::kCommon ? "common" : "this_rank"},
               {"detail", event.detail}};
  if (event.kind == LoopEvent::kStarted) json["world_size"] = event.world_size;
  return json_line(json) + "\n";
}

// Returns true if the last line of the file is incomplete, as after the death of a process.
bool ends_inside_a_line(FileSystem& files, const std::string& path) {
  const auto file = files.open(path);
  if (!file.ok() || (*file)->size_bytes() == 0) return false;
  char last = '\n';
  const auto read = (*file)->read_at((*file)->size_bytes() - 1, 1, &last);
  return read.ok() && *read == 1 && last != '\n';
}

}  // namespace

absl::string_view event_kind_name(LoopEvent::Kind kind) {
  switch (kind) {
    case LoopEvent::kStarted: return "started";
    case LoopEvent::kRequested: return "requested";
    case LoopEvent::kServed: return "served";
    case LoopEvent::kRefused: return "refused";
    case LoopEvent::kTolerated: return "tolerated";
    case LoopEvent::kFailed: return "failed";
    case LoopEvent::kEnded: return "ended";
    case LoopEvent::kOpened: return "opened";
    case LoopEvent::kClosed: return "closed";
    case LoopEvent::kRewound: return "rewound";
    case LoopEvent::kEvicted: return "evicted";
  }
  return "";
}

void JsonlEventLog::open() {
  if (rank_ != 0) return;
  opened_ = true;
  if (file_ != nullptr && absl::IsNotFound(files_.link_info(path_).status())) file_.reset();
  if (!kept_.empty()) write(std::exchange(kept_, {}));
}

void JsonlEventLog::record(const LoopEvent& event) {
  if (rank_ != 0) return;
  const std::string line = to_line(event, clock_.now());
  if (opened_) {
    write(line);
  } else {
    kept_ += line;
  }
}

void JsonlEventLog::write(const std::string& lines) {
  const absl::Status status = try_write(lines);
  if (status.ok()) return;
  file_.reset();
  if (std::exchange(complained_, true)) return;
  MILLRACE_LOG(WARNING) << "events are missing in " << path_
                        << " (the run goes on): " << status.message();
}

absl::Status JsonlEventLog::try_write(const std::string& lines) {
  if (file_ != nullptr) return file_->append(lines);
  const bool torn = ends_inside_a_line(files_, path_);
  ASSIGN_OR_RETURN(file_, files_.open_for_append(path_));
  return file_->append(torn ? "\n" + lines : lines);
}

}  // namespace millrace
