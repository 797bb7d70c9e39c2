#include "framework/ranks/agreement.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "hook/request_queue.h"
#include "proto/rank_note.pb.h"

namespace millrace {
namespace {

std::string describe(const Request& request) {
  return absl::StrCat(request_name(request.kind),
                      request.detail.empty() ? "" : absl::StrCat(" \"", request.detail, "\""),
                      " (hook ", request.hook, ")");
}

// Returns the notes of all ranks, by rank.
absl::StatusOr<std::vector<RankNote>> gather(Collectives& collectives, const RankNote& own) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   collectives.all_gather(own.SerializeAsString()));
  std::vector<RankNote> notes(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!notes[rank].ParseFromString(all[rank])) {
      return absl::InternalError(absl::StrCat("the note of rank ", rank, " cannot be read"));
    }
  }
  return notes;
}

// Returns a text such as "rank 0, rank 2".
std::string list_ranks(const std::vector<size_t>& ranks) {
  return absl::StrJoin(ranks, ", ",
                       [](std::string* out, size_t rank) { absl::StrAppend(out, "rank ", rank); });
}

// Prefix of the fact of served_parameters().
constexpr char kParametersFact[] = "dense parameters after step ";

// Returns the fact that describes the parameters of a rank; "" without one.
std::string parameters_fact(const RankNote& note) {
  const auto found =
      std::find_if(note.served().begin(), note.served().end(),
                   [](const std::string& fact) { return absl::StartsWith(fact, kParametersFact); });
  return found == note.served().end() ? "" : *found;
}

// Returns the place and the facts of a rank, except the description of its parameters.
std::vector<std::string> other_facts(const RankNote& note) {
  std::vector<std::string> facts = {note.place()};
  for (const std::string& fact : note.served()) {
    if (!absl::StartsWith(fact, kParametersFact)) facts.push_back(fact);
  }
  return facts;
}

// Returns the error of ranks that differ only in their parameters; OK if they differ otherwise.
absl::Status compare_parameters(const std::vector<RankNote>& notes) {
  const std::string expected = parameters_fact(notes[0]);
  std::vector<size_t> different;
  for (size_t rank = 1; rank < notes.size(); ++rank) {
    if (other_facts(notes[rank]) != other_facts(notes[0])) return absl::OkStatus();
    if (parameters_fact(notes[rank]) != expected) different.push_back(rank);
  }
  if (different.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      list_ranks(different), " differs from rank 0: ", parameters_fact(notes[different[0]]),
      "; on rank 0, ", expected,
      ". The copies of all ranks must have the same bits. Hosts with other processors or other "
      "kernels of LibTorch round differently: use equal hosts, or set ATEN_CPU_CAPABILITY=default "
      "on all ranks. A hook or model that changes parameters on one rank "
      "alone is another cause. Resume from the newest checkpoint: all ranks then begin with the "
      "parameters of rank 0"));
}

}  // namespace

Agreement::Agreement(Collectives& collectives, RequestQueue& requests,
                     std::vector<std::string> evaluation_sets, int64_t tasks, int64_t tables)
    : collectives_(collectives),
      requests_(requests),
      evaluation_sets_(std::move(evaluation_sets)),
      exchange_(collectives, static_cast<int64_t>(evaluation_sets_.size()) + 1, tasks, tables) {}

void Agreement::begin_run() {
  served_ = 0;
  journal_.clear();
  of_this_rank_ = RequestSet();
  requests_taken_ = true;
  own_failure_ = absl::OkStatus();
  over_ = false;
  state_is_whole_ = false;
  all_whole_ = false;
  failed_rank_ = -1;
}

bool Agreement::reopen() {
  if (!all_whole()) return false;
  over_ = false;
  all_whole_ = false;
  state_is_whole_ = false;
  own_failure_ = absl::OkStatus();
  return true;
}

void Agreement::start(Place place, const RankShare& share) {
  start(place, share, absl::OkStatus());
}

void Agreement::start(Place place, const RankShare& share, absl::Status failure) {
  // A callback may also fail: this rank then takes part as failed.
  const absl::Status called = requests_.run_callbacks();
  own_failure_ = failure.ok() ? called : std::move(failure);
  // Requests of an earlier exchange that were not served are sent again.
  RequestSet pending = requests_taken_ ? RequestSet() : std::move(of_this_rank_);
  pending.merge(requests_.take_this_rank());
  of_this_rank_ = std::move(pending);
  requests_taken_ = false;
  start_exchange(place, share);
}

void Agreement::start_exchange(Place place, const RankShare& share) {
  place_ = place;
  ExchangeInput input;
  input.has_data = share.has_data;
  input.examples = share.examples;
  input.targets.assign(share.targets.begin(), share.targets.end());
  input.rows = share.rows;
  input.elapsed = share.elapsed;
  input.durable = share.durable;
  input.time_is_up = share.time_is_up;
  input.failed = !own_failure_.ok();
  input.requests.stop = of_this_rank_.has(Request::kStop);
  input.requests.checkpoint = of_this_rank_.has(Request::kCheckpoint);
  input.requests.reload = of_this_rank_.has(Request::kReload);
  // A set of unknown name counts as one more set. The notes carry its name, and serving the request
  // reports the error.
  const size_t sets = evaluation_sets_.size();
  input.requests.evaluate.assign(sets + 1, of_this_rank_.evaluates_all());
  for (const std::string& name : of_this_rank_.evaluation_sets()) {
    if (name.empty()) continue;
    const auto found = std::find(evaluation_sets_.begin(), evaluation_sets_.end(), name);
    input.requests.evaluate[static_cast<size_t>(found - evaluation_sets_.begin())] = 1;
  }
  input.fingerprint = fingerprint(place);
  exchange_.start(input);
}

uint64_t Agreement::fingerprint(Place place) const {
  return xxh3(absl::StrCat(place.what, " ", place.number), served_);
}

absl::Status Agreement::verify() {
  if (!exchange_.under_way()) return absl::OkStatus();
  const absl::Duration start = Clock::real().elapsed();
  absl::StatusOr<ExchangeResult> result = exchange_.finish();
  if (absl::string_view(place_.what) == kStepPlace) {
    ++figures_.steps;
    figures_.other_ranks += Clock::real().elapsed() - start;
  }
  if (!result.ok()) return give_up(result.status());
  result_ = *std::move(result);
  if (result_.failed > 0) return gather_failures(own_failure_);
  if (result_.diverged) return give_up(name_divergence());
  journal_.clear();
  return absl::OkStatus();
}

absl::Status Agreement::meet(Place place, const RankShare& share) {
  start(place, share);
  return verify();
}

absl::Status Agreement::meet(Place place) {
  return collectives_.world_size() == 1 ? absl::OkStatus() : meet(place, RankShare());
}

absl::StatusOr<RequestSet> Agreement::requests() {
  RequestSet agreed;
  if (requests_taken_) return agreed;
  requests_taken_ = true;
  const RequestSet own = std::exchange(of_this_rank_, {});
  if (!result_.requests.any()) return agreed;
  if (collectives_.world_size() > 1) {
    // Hooks have run since that exchange. A hook may have failed on a rank, which then does not
    // take part in the gathering.
    const ExchangeResult kept = result_;
    start_exchange({"requests", place_.number}, RankShare());
    RETURN_IF_ERROR(verify());
    result_ = kept;
  }
  RankNote note;
  for (const Request& request : own.asked) {
    *note.add_request() = to_state(request);
  }
  absl::StatusOr<std::vector<RankNote>> notes = gather(collectives_, note);
  if (!notes.ok()) return give_up(notes.status());
  for (size_t rank = 0; rank < notes->size(); ++rank) {
    for (const PendingRequest& asked : (*notes)[rank].request()) {
      absl::StatusOr<Request> request = from_state(asked, static_cast<int>(rank));
      if (!request.ok()) return give_up(request.status());
      agreed.add(*std::move(request));
    }
  }
  return agreed;
}

void Agreement::served(const RequestSet& common) {
  for (const Request& request : common.asked) served(describe(request));
}

void Agreement::served(absl::string_view fact) {
  served_ = xxh3(fact, served_);
  journal_.emplace_back(fact);
}

void Agreement::served_parameters(int64_t step, absl::string_view description) {
  served(absl::StrCat(kParametersFact, step, ": ", description));
}

absl::Status Agreement::settle(Place place, const absl::Status& outcome) {
  if (over_) return outcome;
  const absl::Status pending = verify();
  if (!pending.ok()) return outcome.ok() ? pending : outcome;
  start(place, RankShare(), outcome);
  const absl::Status agreed = verify();
  return outcome.ok() ? agreed : outcome;
}

absl::Status Agreement::give_up(absl::Status failure) {
  over_ = true;
  return failure;
}

absl::Status Agreement::gather_failures(const absl::Status& own) {
  over_ = true;
  RankNote note;
  note.set_state_is_whole(state_is_whole_);
  const std::optional<std::string> boundary = boundary_ ? boundary_() : std::nullopt;
  if (boundary.has_value()) note.set_boundary(*boundary);
  if (!own.ok()) {
    note.set_code(static_cast<int>(own.code()));
    note.set_error(std::string(own.message()));
  }
  ASSIGN_OR_RETURN(const std::vector<RankNote> notes, gather(collectives_, note));
  std::vector<size_t> failed;
  for (size_t rank = 0; rank < notes.size(); ++rank) {
    if (notes[rank].has_code()) failed.push_back(rank);
  }
  if (failed.empty()) return absl::InternalError("a rank failed, but none says how");
  const auto all = [&notes](auto is_clean) {
    return std::all_of(notes.begin(), notes.end(), is_clean);
  };
  all_whole_ = all([](const RankNote& each) { return each.state_is_whole(); }) ||
               all([&notes](const RankNote& each) {
                 return each.has_boundary() && each.boundary() == notes[0].boundary();
               });
  if (failed_rank_ < 0) failed_rank_ = static_cast<int>(failed[0]);
  if (!own.ok()) return own;
  return absl::AbortedError(
      absl::StrCat(list_ranks(failed), " failed: ", notes[failed[0]].error()));
}

// Returns an error that lists the facts served by each rank since the last agreement.
absl::Status Agreement::name_divergence() {
  RankNote note;
  for (const std::string& entry : journal_) note.add_served(entry);
  note.set_place(absl::StrCat(place_.what, " ", place_.number));
  ASSIGN_OR_RETURN(const std::vector<RankNote> notes, gather(collectives_, note));
  RETURN_IF_ERROR(compare_parameters(notes));
  // Description of the events → ranks with these events, the lowest rank's first.
  std::vector<std::pair<std::string, std::vector<size_t>>> stories;
  for (size_t rank = 0; rank < notes.size(); ++rank) {
    const std::string served =
        notes[rank].served().empty() ? "nothing" : absl::StrJoin(notes[rank].served(), ", ");
    const std::string story = absl::StrCat(served, ", then came to ", notes[rank].place());
    auto same = std::find_if(stories.begin(), stories.end(),
                             [&](const auto& other) { return other.first == story; });
    if (same == stories.end()) same = stories.insert(stories.end(), {story, {}});
    same->second.push_back(rank);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the ranks diverged: ",
      absl::StrJoin(stories, "; ",
                    [](std::string* out, const auto& story) {
                      absl::StrAppend(out, list_ranks(story.second), " served ", story.first);
                    }),
      ". A request of scope kCommon must follow from Progress or from values merged over "
      "ranks; what only one rank knows is asked for with Scope::kThisRank"));
}

}  // namespace millrace
