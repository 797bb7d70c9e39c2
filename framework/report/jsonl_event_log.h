// The event log in a file.
#ifndef MILLRACE_FRAMEWORK_REPORT_JSONL_EVENT_LOG_H_
#define MILLRACE_FRAMEWORK_REPORT_JSONL_EVENT_LOG_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "framework/report/event_log.h"

namespace millrace {

// Appends one JSON object for each event to a file, on rank 0. docs/hooks.md lists the fields;
// `millrace explain` reads them. Writes nothing to disk before open(), so a run that fails before
// its first step leaves nothing. Keeps the lines of earlier runs of the job. Each line reaches the
// operating system at once, so a killed process loses none. After a write error the line is lost,
// only the first error is logged, and the next event tries again. Used on the trainer's thread.
class JsonlEventLog : public EventLog {
 public:
  // Borrows `files` and `clock`, which gives the time of each event.
  JsonlEventLog(FileSystem& files, Clock& clock, std::string path, int rank)
      : files_(files), clock_(clock), path_(std::move(path)), rank_(rank) {}

  // Writes all events recorded so far, and from now on each event when it occurs. A further call
  // begins a new file if the previous file was removed. REQUIRES: the directory of the file exists.
  void open();
  void record(const LoopEvent& event) override;

 private:
  void write(const std::string& lines);
  absl::Status try_write(const std::string& lines);

  FileSystem& files_;
  Clock& clock_;
  const std::string path_;
  const int rank_;
  bool opened_ = false;
  bool complained_ = false;
  std::string kept_;  // before open()
  std::unique_ptr<WritableFile> file_;
};

// Returns the name of a kind in the file: "started", "requested", …
absl::string_view event_kind_name(LoopEvent::Kind kind);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_JSONL_EVENT_LOG_H_
