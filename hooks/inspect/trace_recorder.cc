#include "hooks/inspect/trace_recorder.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using torch::autograd::profiler::KinetoEvent;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// Annotations run under a number, so that their names can be given at the end.
constexpr char kPrefix[] = "millrace annotation ";
// The first function of autograd in a backward pass, except the creation of the gradient of the
// loss.
constexpr char kBackward[] = "autograd::engine::evaluate_function";

std::atomic<bool> process_records{false};

std::string shapes_of(const KinetoEvent& event) {
  if (!event.hasShapes()) return "";
  std::vector<std::string> shapes;
  for (const std::vector<int64_t>& shape : event.shapes()) {
    shapes.push_back(absl::StrCat("[", absl::StrJoin(shape, ","), "]"));
  }
  return absl::StrCat("[", absl::StrJoin(shapes, ","), "]");
}

bool is_before(const TraceEvent& a, const TraceEvent& b) {
  return std::make_tuple(a.thread, a.start_ns, -a.duration_ns) <
         std::make_tuple(b.thread, b.start_ns, -b.duration_ns);
}

}  // namespace

class TraceRecorder::Session {
 public:
  explicit Session(bool record_shapes) : config_(ProfilerState::KINETO, record_shapes) {}
  ~Session() {
    if (is_running_) catch_exceptions([this] { return stop().status(); }).IgnoreError();
    if (holds_process_) process_records = false;
  }

  absl::Status start() {
    holds_process_ = !process_records.exchange(true);
    if (!holds_process_) {
      return absl::FailedPreconditionError(
          "this process already records a trace; attach one profiler to a process");
    }
    return catch_exceptions("LibTorch's profiler", [this] {
      const std::set<ActivityType> activities = {ActivityType::CPU};
      torch::autograd::profiler::prepareProfiler(config_, activities);
      // Callbacks run in the order of registration. This callback ends "forward" before the
      // profiler records the beginning of the called function.
      callback_ = at::addThreadLocalCallback(
          at::RecordFunctionCallback(&on_function).scopes({at::RecordScope::FUNCTION}));
      is_running_ = true;
      watching = this;
      torch::autograd::profiler::enableProfiler(config_, activities);
      return absl::OkStatus();
    });
  }

  void open(absl::string_view name) {
    const size_t number = names_.size();
    names_.emplace_back(name);
    auto running = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    if (running->isActive()) running->before(absl::StrCat(kPrefix, number));
    open_.push_back({number, std::move(running)});
  }

  void open_passes() {
    open("forward");
    awaits_backward_ = true;
  }

  void close(absl::string_view name) {
    awaits_backward_ = false;
    if (open_.empty()) return;
    if (!name.empty()) names_[open_.back().number] = std::string(name);
    open_.pop_back();
  }

  void pause() {
    if (std::exchange(is_paused_, true)) return;
    at::enableRecordFunction(false);
  }

  void resume() {
    if (std::exchange(is_paused_, false)) at::enableRecordFunction(true);
  }

  absl::StatusOr<std::vector<TraceEvent>> finish() {
    return catch_exceptions("LibTorch's profiler",
                            [this]() -> absl::StatusOr<std::vector<TraceEvent>> {
                              ASSIGN_OR_RETURN(const auto result, stop());
                              return events_of(*result);
                            });
  }

 private:
  struct Open {
    size_t number;  // index of the annotation's name
    std::unique_ptr<at::RecordFunction> running;
  };

  absl::StatusOr<std::unique_ptr<torch::autograd::profiler::ProfilerResult>> stop() {
    while (!open_.empty()) close("");
    resume();
    is_running_ = false;
    watching = nullptr;
    at::removeCallback(callback_);
    return torch::autograd::profiler::disableProfiler();
  }

  static std::unique_ptr<at::ObserverContext> on_function(const at::RecordFunction& function) {
    Session* session = watching;
    if (session != nullptr && session->awaits_backward_ &&
        absl::StartsWith(function.name(), kBackward)) {
      session->close("");
      session->open("backward");
    }
    return nullptr;
  }

  std::vector<TraceEvent> events_of(const torch::autograd::profiler::ProfilerResult& result) const {
    std::vector<TraceEvent> events;
    events.reserve(result.events().size());
    for (const KinetoEvent& event : result.events()) {
      if (event.isHiddenEvent()) continue;
      TraceEvent line{.name = event.name(),
                      .start_ns = static_cast<int64_t>(event.startNs()),
                      .duration_ns = static_cast<int64_t>(event.durationNs()),
                      .thread = event.deviceResourceId(),
                      .shapes = shapes_of(event)};
      absl::string_view number = line.name;
      size_t index = 0;
      if (absl::ConsumePrefix(&number, kPrefix) && absl::SimpleAtoi(number, &index)) {
        line.name = names_[index];
        line.is_annotation = true;
        line.shapes.clear();
      }
      events.push_back(std::move(line));
    }
    std::stable_sort(events.begin(), events.end(), is_before);
    return events;
  }

  static thread_local Session* watching;

  const ProfilerConfig config_;
  at::CallbackHandle callback_ = 0;
  bool holds_process_ = false;
  bool is_running_ = false;
  bool is_paused_ = false;        // LibTorch calls no callback on this thread
  bool awaits_backward_ = false;  // "forward" is the innermost annotation
  std::vector<std::string> names_;
  std::vector<Open> open_;
};

thread_local TraceRecorder::Session* TraceRecorder::Session::watching = nullptr;

TraceRecorder::TraceRecorder(std::unique_ptr<Session> session) : session_(std::move(session)) {}
TraceRecorder::~TraceRecorder() = default;

absl::StatusOr<std::unique_ptr<TraceRecorder>> TraceRecorder::begin(bool record_shapes) {
  auto session = std::make_unique<Session>(record_shapes);
  RETURN_IF_ERROR(session->start());
  return std::unique_ptr<TraceRecorder>(new TraceRecorder(std::move(session)));
}

void TraceRecorder::open(absl::string_view name) {
  if (session_ != nullptr) session_->open(name);
}

void TraceRecorder::open_passes() {
  if (session_ != nullptr) session_->open_passes();
}

void TraceRecorder::close(absl::string_view name) {
  if (session_ != nullptr) session_->close(name);
}

void TraceRecorder::pause() {
  if (session_ != nullptr) session_->pause();
}

void TraceRecorder::resume() {
  if (session_ != nullptr) session_->resume();
}

absl::StatusOr<std::vector<TraceEvent>> TraceRecorder::finish() {
  if (session_ == nullptr) return absl::FailedPreconditionError("the recorder has finished");
  const std::unique_ptr<Session> session = std::move(session_);
  return session->finish();
}

}  // namespace millrace
