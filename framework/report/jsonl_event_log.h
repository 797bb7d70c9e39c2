// The event log as a file.
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
// `millrace explain` reads them. Nothing touches the disk before open(): a run that fails before
// its first step leaves nothing. The lines of earlier runs of the job stay. Each line reaches the
// operating system at once, so that a killed process loses none. An error in writing is logged
// once, and the line is lost; the next event tries again. Used on the trainer's thread.
class JsonlEventLog : public EventLog {
 public:
  // Borrows `files` and `clock`, which says the time of each event.
  JsonlEventLog(FileSystem& files, Clock& clock, std::string path, int rank)
      : files_(files), clock_(clock), path_(std::move(path)), rank_(rank) {}

  // Writes what was recorded so far, and from now on each event when it happens. Called again,
  // begins a new file if the one before was removed. REQUIRES: the directory of the file exists.
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

// The word for a kind, as the file has it: "started", "requested", …
absl::string_view event_kind_name(LoopEvent::Kind kind);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_JSONL_EVENT_LOG_H_
