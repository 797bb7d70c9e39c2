#include "hook/requests.h"

#include <algorithm>
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

void RequestSet::merge(const RequestSet& other) {
  asked.insert(asked.end(), other.asked.begin(), other.asked.end());
}

const Request* RequestSet::first(Request::Kind kind) const {
  const auto found = std::find_if(asked.begin(), asked.end(),
                                  [kind](const Request& request) { return request.kind == kind; });
  return found == asked.end() ? nullptr : &*found;
}

RequestSet RequestSet::of_kinds(std::initializer_list<Request::Kind> kinds) const {
  RequestSet some;
  for (const Request& request : asked) {
    if (std::count(kinds.begin(), kinds.end(), request.kind) > 0) some.add(request);
  }
  return some;
}

std::set<std::string> RequestSet::evaluation_sets() const {
  std::set<std::string> sets;
  for (const Request& request : asked) {
    if (request.kind == Request::kEvaluate) sets.insert(request.detail);
  }
  return sets;
}

void Requests::add(Request::Kind kind, absl::string_view detail, RequestSet& pending) {
  // A hook may check for a signal before every exchange; one request is enough.
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
  callbacks_.emplace_back(std::string(caller_), std::move(look));
}

}  // namespace millrace
