// The thread that sends reports to a tracking server.
#ifndef MILLRACE_SINKS_MLFLOW_MLFLOW_SENDER_H_
#define MILLRACE_SINKS_MLFLOW_MLFLOW_SENDER_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/http/http_client.h"
#include "base/mutex.h"
#include "sinks/mlflow/mlflow_uploader.h"

namespace millrace {

struct MlflowSenderOptions {
  HttpUrl server;
  // For a request and for the destructor.
  absl::Duration timeout = absl::Seconds(10);
  // For wait_until_sent(), if it is shorter.
  absl::Duration most_wait = absl::InfiniteDuration();
  // Time until a failed request is repeated; doubled after each failure.
  absl::Duration first_backoff = absl::Seconds(1), most_backoff = absl::Minutes(1);
  MlflowUploaderOptions uploader;
  // If true, nothing is sent before notify().
  bool waits_for_row = false;
};

// Sends rows of reports in a thread. While the server cannot be reached, the thread tries again. A
// warning says so once per outage and cause. All functions may be called from any thread.
class MlflowSender {
 public:
  // Starts the thread. Borrows all but `options`.
  MlflowSender(FileSystem& files, Clock& clock, MlflowSenderOptions options);
  // Sends the rest of the rows, and sets the status FINISHED of the run, for at most `timeout` in
  // total. If rows remain, a warning says so.
  ~MlflowSender();
  // Ends the thread after the present request, without sending the rest. Only the destructor may
  // follow.
  void abandon() { end(absl::ZeroDuration()); }
  MlflowSender(const MlflowSender&) = delete;
  MlflowSender& operator=(const MlflowSender&) = delete;

  // Notes that the run has appended a row.
  void notify();
  // Blocks until all rows are sent, or for the shorter of `timeout` and `most_wait`. Does not wait
  // if the last request failed, or if an earlier call was in vain and rows have remained since.
  // Returns: true if all rows are sent.
  bool wait_until_sent();

 private:
  enum class State {
    kBusy,     // there may be something to send
    kIdle,     // all is sent
    kFailing,  // the last request failed
  };

  // Ends the thread within `time`, unless it has ended.
  void end(absl::Duration time);
  void run();
  // Uploads once, and sets the state. Returns: true if more can be sent at once.
  bool upload_once();
  void report(const absl::Status& status);
  // Returns the time that is left to the destructor; infinite before.
  absl::Duration time_left() const;
  void finish();

  const MlflowSenderOptions options_;
  const HttpClient client_;
  MlflowUploader uploader_;  // of the thread, as is `failure_`
  std::string failure_;      // the message of the last failure; "": none since the last success

  mutable Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_);
  bool notified_ ABSL_GUARDED_BY(mutex_) = false;
  bool behind_ ABSL_GUARDED_BY(mutex_) = false;  // true after a wait in vain
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration stop_deadline_ ABSL_GUARDED_BY(mutex_);  // of Clock::elapsed()
  std::thread thread_;                                    // the last member: it uses the others
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_MLFLOW_SENDER_H_
