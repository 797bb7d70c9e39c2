// Logging and checks, implemented by glog. Only log.cc includes glog, because LibTorch and glog
// both define LOG and CHECK.
//
//   MILLRACE_LOG(INFO) << "read " << n << " files";  // INFO, WARNING, ERROR
//   MILLRACE_VLOG(1) << "unit " << unit;             // shown under GLOG_v=1 or GLOG_vmodule=file=1
//   MILLRACE_CHECK(n >= 0) << "n is " << n;          // aborts: for bugs of ours only
//
// glog's environment switches work as usual: GLOG_v, GLOG_vmodule, GLOG_minloglevel,
// GLOG_logtostderr, GLOG_log_dir. Without GLOG_log_dir and log_to_file, lines go to stderr.
// If stderr is a terminal when initialize_logging is called, lines there have no prefix: INFO is
// the message alone, WARNING and ERROR begin with "warning: " and "error: ". FATAL lines, files and
// every other stderr have glog's prefix of severity, time, thread and place. All functions may be
// called from any thread.
#ifndef MILLRACE_BASE_LOG_H_
#define MILLRACE_BASE_LOG_H_

#include <functional>
#include <sstream>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

enum class LogSeverity { INFO = 0, WARNING = 1, ERROR = 2, FATAL = 3 };

// Starts glog; called once by main. Lines logged before this call go to stderr.
void initialize_logging(absl::string_view program);

// Receives each line as stderr would (without newline) instead of stderr; an empty function
// restores stderr. The logger hook separates log lines from its progress line with a sink. A sink
// is called with a lock held and must not log.
void set_log_sink(std::function<void(LogSeverity, absl::string_view line)> sink);

// Also appends every later line to this file. Returns false if the file cannot be opened.
bool log_to_file(const std::string& path);

namespace internal {

// One place in the code that logs at a verbosity; the layout belongs to log.cc.
struct VlogSite {
  void* storage[4] = {nullptr, nullptr, nullptr, nullptr};
};
bool vlog_is_on(VlogSite& site, const char* file, int level);

// Collects one line and gives it to glog in its destructor.
class LogLine {
 public:
  LogLine(LogSeverity severity, const char* file, int line)
      : severity_(severity), file_(file), line_(line) {}
  ~LogLine();  // aborts after a FATAL line
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  std::ostream& stream() { return stream_; }

 private:
  LogSeverity severity_;
  const char* file_;
  int line_;
  std::ostringstream stream_;
};

struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace internal
}  // namespace millrace

#define MILLRACE_LOG(severity) \
  ::millrace::internal::LogLine(::millrace::LogSeverity::severity, __FILE__, __LINE__).stream()

#define MILLRACE_VLOG(level)                                          \
  !([]() -> bool {                                                    \
    static ::millrace::internal::VlogSite site;                       \
    return ::millrace::internal::vlog_is_on(site, __FILE__, (level)); \
  }())                                                                \
      ? (void)0                                                       \
      : ::millrace::internal::Voidify() & MILLRACE_LOG(INFO)

#define MILLRACE_CHECK(condition) \
  (condition)                     \
      ? (void)0                   \
      : ::millrace::internal::Voidify() & MILLRACE_LOG(FATAL) << "Check failed: " #condition " "

#endif  // MILLRACE_BASE_LOG_H_
