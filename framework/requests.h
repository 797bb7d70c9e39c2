// What hooks ask the trainer to do.
#ifndef MILLRACE_FRAMEWORK_REQUESTS_H_
#define MILLRACE_FRAMEWORK_REQUESTS_H_

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// kCommon: every rank asks at the same point, because the request follows from Progress or from
// values merged over ranks; served at the next serving point. If it was not every rank, the run
// ends with an error that names the hook. kThisRank: only this rank may know (a signal, a local
// condition); it travels with the step exchange that begins next and is served on all ranks after
// that step at the latest, with one rank too.
enum class Scope { kCommon, kThisRank };

// One thing that one hook asked for.
struct Request {
  enum Kind { kEvaluate, kCheckpoint, kReload, kStop };
  Kind kind = kStop;
  std::string detail;  // the evaluation set ("": all), the reason of a stop
  std::string hook;    // that asked
  int rank = 0;        // that asked
};
absl::string_view request_name(Request::Kind kind);  // "evaluate", …

// The requests to be served at one point, merged over hooks, in the order in which they were made.
struct RequestSet {
  std::vector<Request> asked;

  bool empty() const { return asked.empty(); }
  void add(Request request) { asked.push_back(std::move(request)); }
  void merge(const RequestSet& other);

  bool has(Request::Kind kind) const { return first(kind) != nullptr; }
  // Returns the first request of a kind; null if there is none. Valid until the set changes. The
  // first stop decides the reason.
  const Request* first(Request::Kind kind) const;
  // Returns the requests of some kinds, in their order.
  RequestSet of_kinds(std::initializer_list<Request::Kind> kinds) const;
  // Returns true if all evaluation sets are to be evaluated.
  bool evaluates_all() const { return evaluation_sets().count("") > 0; }
  // Returns the names of the sets to be evaluated; "" stands for all.
  std::set<std::string> evaluation_sets() const;
};

// What a hook may ask for: HookContext::requests(). A hook can only add; the trainer's side is
// RequestQueue. Used on the trainer's thread.
class Requests {
 public:
  // "": all sets. A name that is not there ends the run with an error at the serving point.
  void evaluate(absl::string_view set = "", Scope scope = Scope::kCommon);
  void checkpoint(Scope scope = Scope::kCommon);
  // Dynamic sources of the model bank.
  void reload(Scope scope = Scope::kCommon);
  // Sticky: nothing takes a stop back, and the first reason wins.
  void stop(absl::string_view reason, Scope scope = Scope::kCommon);
  // Once before `end`, if the run completes or is stopped by a common request. Common; meant for
  // `start`.
  void evaluate_at_end(absl::string_view set = "");
  // For requests that arise outside events, such as a signal: `look` is called before every step
  // exchange of this run, also while ranks wait for a window and between the batches of an
  // evaluation, and may ask with scope kThisRank. Meant for `start`; dropped when the hook ends or
  // is disabled.
  void before_exchange(std::function<void()> look);

  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

 protected:
  Requests() = default;
  ~Requests() = default;

  RequestSet& pending(Scope scope) { return scope == Scope::kCommon ? common_ : this_rank_; }

  absl::string_view caller_;                                          // borrowed from the hook
  std::vector<std::pair<std::string, std::function<void()>>> looks_;  // hook → callback
  RequestSet common_;
  RequestSet this_rank_;
  RequestSet at_end_;

 private:
  void add(Request::Kind kind, absl::string_view detail, RequestSet& pending);
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REQUESTS_H_
