#include "framework/requests.h"

#include <utility>

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

}  // namespace millrace
