#include "base/log.h"

#include <glog/logging.h>
#include <glog/vlog_is_on.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace millrace {
namespace {

static_assert(sizeof(internal::VlogSite) >= sizeof(google::SiteFlag));

constexpr size_t kMostEarlyLines = 1000;

// The line of a person who reads along.
std::string plain_line(google::LogSeverity severity, const char* message, size_t length) {
  const std::string text(message, length);
  if (severity == google::GLOG_INFO) return text;
  return (severity == google::GLOG_WARNING ? "warning: " : "error: ") + text;
}

// Returns true if `path` names the open file, which may have been removed or replaced since.
bool is_at(std::FILE& file, const std::string& path) {
  struct stat open = {}, there = {};
  return ::fstat(::fileno(&file), &open) == 0 && ::stat(path.c_str(), &there) == 0 &&
         open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

// Writes to the sink of set_log_sink, or to stderr, and to the file of log_to_file. The first file
// also gets all earlier lines.
class Router : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char*, const char* base_filename, int line,
            const google::LogMessageTime& time, const char* message, size_t length) override {
    const std::string text = ToString(severity, base_filename, line, time, message, length);
    // A bug of ours keeps its place in the code.
    const bool plain = plain_ && severity != google::GLOG_FATAL;
    const std::string shown = plain ? plain_line(severity, message, length) : text;
    std::lock_guard<std::mutex> lock(mutex_);
    if (file_ != nullptr) {
      std::fprintf(file_, "%s\n", text.c_str());
      std::fflush(file_);
    } else if (early_.size() < kMostEarlyLines) {
      early_.push_back(text);
    }
    if (sink_) {
      sink_(static_cast<LogSeverity>(severity), shown);
    } else {
      std::fprintf(stderr, "%s\n", shown.c_str());
    }
  }

  void set_sink(std::function<void(LogSeverity, absl::string_view)> sink) {
    std::lock_guard<std::mutex> lock(mutex_);
    sink_ = std::move(sink);
  }

  void set_plain(bool plain) { plain_ = plain; }

  bool set_file(const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (file_ != nullptr && is_at(*file_, path)) return true;
    std::FILE* file = std::fopen(path.c_str(), "ae");
    if (file == nullptr) return false;
    if (file_ != nullptr) std::fclose(file_);
    file_ = file;
    for (const std::string& line : early_) std::fprintf(file_, "%s\n", line.c_str());
    std::fflush(file_);
    early_.clear();
    return true;
  }

 private:
  std::atomic<bool> plain_{false};  // whether lines that are not for a file have no prefix
  std::mutex mutex_;
  std::function<void(LogSeverity, absl::string_view)> sink_;
  std::FILE* file_ = nullptr;
  std::vector<std::string> early_;  // before there was a file
};

Router& router() {
  static Router* router = new Router;  // lives as long as the process: threads may log at exit
  return *router;
}

}  // namespace

void initialize_logging(absl::string_view program) {
  static std::string* name = new std::string(program);
  if (google::IsGoogleLoggingInitialized()) return;
  router().set_plain(::isatty(STDERR_FILENO) == 1);
  // Files are written only where GLOG_log_dir asks for them.
  if (std::getenv("GLOG_log_dir") == nullptr) {
    for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
      google::SetLogDestination(severity, "");
    }
  }
  google::InitGoogleLogging(name->c_str());
  // The router writes to stderr; glog itself does not write there a second time.
  FLAGS_logtostderr = false;
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;
}

void set_log_sink(std::function<void(LogSeverity, absl::string_view)> sink) {
  router().set_sink(std::move(sink));
}

bool log_to_file(const std::string& path) { return router().set_file(path); }

namespace internal {

bool vlog_is_on(VlogSite& site, const char* file, int level) {
  auto* flag = reinterpret_cast<google::SiteFlag*>(&site);
  if (flag->level == nullptr) {
    return google::InitVLOG3__(flag, &FLAGS_v, file, level);
  }
  return *flag->level >= level;
}

LogLine::~LogLine() {
  const int severity = static_cast<int>(severity_);
  const bool initialized = google::IsGoogleLoggingInitialized();
  // glog itself writes to stderr now, but would not afterwards.
  if (severity_ == LogSeverity::FATAL && !initialized) {
    google::LogMessageFatal(file_, line_).stream() << stream_.str();
  }
  // Before initialize_logging glog would complain about itself; lines go through all the same.
  google::LogMessage(file_, line_, severity, &router(), initialized).stream() << stream_.str();
}

}  // namespace internal
}  // namespace millrace
