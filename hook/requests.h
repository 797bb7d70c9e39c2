// Requests of hooks to the trainer.
#ifndef MILLRACE_HOOK_REQUESTS_H_
#define MILLRACE_HOOK_REQUESTS_H_

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// kCommon: every rank makes the request at the same point, because the request follows from
// Progress or from values merged over ranks. Served at the next serving point. If only some ranks
// make the request, the run ends with an error that names the hook. kThisRank: possibly only this
// rank makes the request (a signal, a local condition). The next step exchange to begin carries the
// request, and all ranks serve it after that step at the latest, also with one rank.
enum class Scope { kCommon, kThisRank };

// One request of one hook.
struct Request {
  enum Kind { kEvaluate, kCheckpoint, kReload, kStop };
  Kind kind = kStop;
  std::string detail;  // the evaluation set ("": all), or the reason of a stop
  std::string hook;    // the hook that made the request
  int rank = 0;        // the rank that made the request
};
absl::string_view request_name(Request::Kind kind);  // "evaluate", …

// The requests to be served at one point, merged over hooks, in the order of the requests.
struct RequestSet {
  std::vector<Request> asked;

  bool empty() const { return asked.empty(); }
  void add(Request request) { asked.push_back(std::move(request)); }
  void merge(const RequestSet& other);

  bool has(Request::Kind kind) const { return first(kind) != nullptr; }
  // Returns the first request of a kind; null if none exists. Valid until the set changes. The
  // first stop determines the reason.
  const Request* first(Request::Kind kind) const;
  // Returns the requests of some kinds, in the order of this set.
  RequestSet of_kinds(std::initializer_list<Request::Kind> kinds) const;
  // Returns true if the requests cover all evaluation sets.
  bool evaluates_all() const { return evaluation_sets().count("") > 0; }
  // Returns the names of the evaluation sets that are requested; "" means all sets.
  std::set<std::string> evaluation_sets() const;
};

// Requests of hooks to the trainer, from HookContext::requests(). A hook can only add requests;
// RequestQueue is the trainer's view, which also removes requests. Used on the trainer's thread.
class Requests {
 public:
  // Requests an evaluation of one set; "" means all sets. An unknown name ends the run with an
  // error at the serving point.
  void evaluate(absl::string_view set = "", Scope scope = Scope::kCommon);
  // Requests a checkpoint.
  void checkpoint(Scope scope = Scope::kCommon);
  // Requests that changed dynamic sources of the model bank be loaded.
  void reload(Scope scope = Scope::kCommon);
  // Requests that the run stop. A stop cannot be withdrawn, and the first reason counts.
  void stop(absl::string_view reason, Scope scope = Scope::kCommon);
  // Requests one evaluation before the event `end` if the run completes or is stopped by a common
  // request. The scope is kCommon. Meant for the event `start`: requests in `end` are ignored, and
  // no hook can know in a step that it is the last. A stop by a single rank omits the evaluation,
  // because that process should end soon.
  void evaluate_at_end(absl::string_view set = "");
  // Registers `look` for requests that arise outside events, for example from a signal. The trainer
  // calls `look` before every step exchange of this run, also while ranks wait for a window and
  // between the batches of an evaluation; `look` may make requests with scope kThisRank. Meant for
  // the event `start`. Dropped when the hook ends or is disabled.
  void before_exchange(std::function<void()> look);

  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

 protected:
  Requests() = default;
  ~Requests() = default;

  RequestSet& pending(Scope scope) { return scope == Scope::kCommon ? common_ : this_rank_; }

  absl::string_view caller_;                                              // borrowed from the hook
  std::vector<std::pair<std::string, std::function<void()>>> callbacks_;  // hook → callback
  RequestSet common_;
  RequestSet this_rank_;
  RequestSet at_end_;

 private:
  void add(Request::Kind kind, absl::string_view detail, RequestSet& pending);
};

}  // namespace millrace

#endif  // MILLRACE_HOOK_REQUESTS_H_
