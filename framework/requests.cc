#include "framework/requests.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {

absl::string_view request_name(Request::Kind kind) {
  switch (kind) {
    case Request::kEvaluate: return "evaluate";
    case Request::kCheckpoint: return "checkpoint";
    case Request::kReload: return "reload";
    case Request::kStop: return "stop";
  }
  return "unknown";
}

void RequestSet::add(Request request) {
  switch (request.kind) {
    case Request::kEvaluate:
      if (request.detail.empty()) {
        evaluate_all = true;
      } else {
        evaluate.insert(request.detail);
      }
      break;
    case Request::kCheckpoint: checkpoint = true; break;
    case Request::kReload: reload = true; break;
    case Request::kStop:
      if (!stop) {
        stop = true;
        stop_reason = request.detail;
        stop_hook = request.hook;
      }
      break;
  }
  asked.push_back(std::move(request));
}

void RequestSet::merge(const RequestSet& other) {
  for (const Request& request : other.asked) add(request);
}

void Requests::add(Request::Kind kind, absl::string_view detail, RequestSet& pending) {
  // A hook may look at a signal before every exchange: once is enough.
  for (const Request& request : pending.asked) {
    if (request.kind == kind && request.detail == detail && request.hook == caller_) return;
  }
  pending.add({kind, std::string(detail), std::string(caller_)});
}

void Requests::evaluate(absl::string_view set, Scope scope) {
  add(Request::kEvaluate, set, pending(scope));
}

void Requests::evaluate_at_end(absl::string_view set) { add(Request::kEvaluate, set, at_end_); }

void Requests::checkpoint(Scope scope) { add(Request::kCheckpoint, "", pending(scope)); }

void Requests::reload(Scope scope) { add(Request::kReload, "", pending(scope)); }

void Requests::stop(absl::string_view reason, Scope scope) {
  add(Request::kStop, reason, pending(scope));
}

void Requests::before_exchange(std::function<void()> look) {
  looks_.emplace_back(std::string(caller_), std::move(look));
}

absl::Status Requests::look() {
  absl::Status first;
  for (const auto& [hook, look] : looks_) {
    set_caller(hook);
    const absl::Status status = catch_exceptions([&look = look] {
      look();
      return absl::OkStatus();
    });
    first.Update(annotate(status, absl::StrCat("hook ", hook, " before an exchange")));
  }
  set_caller("");
  return first;
}

void Requests::forget_looks(absl::string_view hook) {
  looks_.erase(std::remove_if(looks_.begin(), looks_.end(),
                              [&](const auto& entry) { return entry.first == hook; }),
               looks_.end());
}

RequestSet Requests::take_common() { return std::exchange(common_, {}); }
RequestSet Requests::take_this_rank() { return std::exchange(this_rank_, {}); }
RequestSet Requests::take_at_end() { return std::exchange(at_end_, {}); }

}  // namespace millrace
