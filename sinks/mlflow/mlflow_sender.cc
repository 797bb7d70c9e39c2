#include "sinks/mlflow/mlflow_sender.h"

#include <algorithm>
#include <utility>

#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/signals/signals.h"

namespace millrace {

MlflowSender::MlflowSender(FileSystem& files, Clock& clock, MlflowSenderOptions options)
    : options_(std::move(options)),
      client_(options_.server, mlflow_client_options(options_.server, options_.timeout)),
      uploader_(files, clock, MlflowApi(client_, [this] { return time_left(); }),
                options_.uploader),
      state_(options_.waits_for_row ? State::kIdle : State::kBusy),
      thread_([this] {
        block_signals();
        run();
      }) {}

void MlflowSender::end(absl::Duration time) {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stop_deadline_ = Clock::real().elapsed() + time;
  }
  thread_.join();
}

MlflowSender::~MlflowSender() {
  if (!thread_.joinable()) return;
  end(options_.timeout);
  MutexLock lock(mutex_);
  if (state_ == State::kIdle) return;
  MILLRACE_LOG(WARNING) << "MLflow: not all reports were sent; they stay in "
                        << options_.uploader.rows_directory
                        << ", and the next run with this output_dir sends them";
}

void MlflowSender::notify() {
  MutexLock lock(mutex_);
  notified_ = true;
  if (state_ == State::kIdle) state_ = State::kBusy;
}

bool MlflowSender::wait_until_sent() {
  const absl::Duration wait = std::min(options_.timeout, options_.most_wait);
  {
    MutexLock lock(mutex_);
    if (state_ == State::kFailing || behind_) return false;
    mutex_.await_for(wait, [this] { return state_ != State::kBusy; });
    if (state_ == State::kIdle) return true;
    if (state_ == State::kFailing) return false;
    behind_ = true;
  }
  MILLRACE_LOG(WARNING) << "MLflow: the server did not take all reports within "
                        << absl::ToDoubleSeconds(wait) << " s; the rest waits in "
                        << options_.uploader.rows_directory << ", and training continues";
  return false;
}

absl::Duration MlflowSender::time_left() const {
  MutexLock lock(mutex_);
  if (!stopping_) return absl::InfiniteDuration();
  return std::max(stop_deadline_ - Clock::real().elapsed(), absl::ZeroDuration());
}

void MlflowSender::run() {
  if (options_.waits_for_row) {
    MutexLock lock(mutex_);
    mutex_.await([this] { return notified_ || stopping_; });
    if (!notified_) return;
  }
  absl::Duration backoff = options_.first_backoff;
  for (;;) {
    bool last = false;
    {
      MutexLock lock(mutex_);
      last = stopping_;
    }
    if (upload_once()) {
      backoff = options_.first_backoff;
      continue;
    }
    MutexLock lock(mutex_);
    if (last) break;
    // The destructor began during the upload, so all of its time may remain.
    if (stopping_) continue;
    if (state_ == State::kFailing) {
      mutex_.await_for(backoff, [this] { return stopping_; });
      backoff = std::min(2 * backoff, options_.most_backoff);
    } else {
      backoff = options_.first_backoff;
      mutex_.await([this] { return notified_ || stopping_; });
    }
  }
  finish();
}

bool MlflowSender::upload_once() {
  if (time_left() == absl::ZeroDuration()) return false;
  {
    MutexLock lock(mutex_);
    notified_ = false;  // the rows are read after this
  }
  const absl::StatusOr<bool> uploaded = catch_exceptions([this] { return uploader_.upload(); });
  report(uploaded.status());
  MutexLock lock(mutex_);
  const bool more = uploaded.ok() && (*uploaded || notified_);
  state_ = !uploaded.ok() ? State::kFailing : more ? State::kBusy : State::kIdle;
  if (state_ == State::kIdle) behind_ = false;
  return more;
}

void MlflowSender::report(const absl::Status& status) {
  if (status.ok()) {
    if (failure_.empty()) return;
    failure_.clear();
    MILLRACE_LOG(INFO) << "MLflow: " << options_.uploader.state.tracking_uri
                       << " accepts reports again";
  } else if (status.message() != failure_) {
    failure_ = std::string(status.message());
    MILLRACE_LOG(WARNING) << "MLflow: " << status << "; reports wait in "
                          << options_.uploader.rows_directory << " and are sent later";
  }
}

void MlflowSender::finish() {
  {
    MutexLock lock(mutex_);
    if (state_ != State::kIdle) return;
  }
  if (time_left() == absl::ZeroDuration()) return;
  const absl::Status status = catch_exceptions([this] { return uploader_.finish(); });
  if (status.ok()) return;
  MILLRACE_LOG(WARNING) << "MLflow: the run stays in status RUNNING: " << status;
}

}  // namespace millrace
