#include "framework/requests.h"

#include <utility>

namespace millrace {
namespace {

void add_evaluation(absl::string_view set, RequestSet& requests) {
  if (set.empty()) {
    requests.evaluate_all = true;
  } else {
    requests.evaluate.insert(std::string(set));
  }
}

}  // namespace

bool RequestSet::empty() const {
  return !evaluate_all && evaluate.empty() && !checkpoint && !reload && !stop;
}

void RequestSet::merge(const RequestSet& other) {
  evaluate_all |= other.evaluate_all;
  evaluate.insert(other.evaluate.begin(), other.evaluate.end());
  checkpoint |= other.checkpoint;
  reload |= other.reload;
  if (!stop && other.stop) {
    stop = true;
    stop_reason = other.stop_reason;
    stop_hook = other.stop_hook;
  }
}

void Requests::evaluate(absl::string_view set, Scope scope) { add_evaluation(set, pending(scope)); }
void Requests::checkpoint(Scope scope) { pending(scope).checkpoint = true; }
void Requests::reload(Scope scope) { pending(scope).reload = true; }
void Requests::evaluate_at_end(absl::string_view set) { add_evaluation(set, at_end_); }

void Requests::stop(absl::string_view reason, Scope scope) {
  RequestSet request;
  request.stop = true;
  request.stop_reason = std::string(reason);
  request.stop_hook = std::string(caller_);
  pending(scope).merge(request);
}

RequestSet Requests::take_common() { return std::exchange(common_, {}); }
RequestSet Requests::take_this_rank() { return std::exchange(this_rank_, {}); }
RequestSet Requests::take_at_end() { return std::exchange(at_end_, {}); }

}  // namespace millrace
