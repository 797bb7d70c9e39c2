// The requests of this rank for rows of one table on several ranks, in one step.
#ifndef MILLRACE_EMBEDDING_SHARD_REQUEST_PLAN_H_
#define MILLRACE_EMBEDDING_SHARD_REQUEST_PLAN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "embedding/id_map/step_map.h"
#include "embedding/rows/placement.h"
#include "embedding/shard/record_memory.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/pooler.h"
#include "embedding/table/pooling.h"
#include "embedding/table/step_lookups.h"

namespace millrace {

// The side of a rank that looks ids up:
//
//   plan.begin();
//   plan.request(ids);                                // any number of times
//   ... plan.ids_of(owner) are sent, and records come back ...
//   plan.set_record(plan.places_of(owner)[i], record);   // of each id, or set_no_record(place)
//   plan.look_up(lists, output);                      // any number of times
//   plan.lookups().set_gradient(0, gradient, stride);
//   ... plan.count(place) and plan.sum(place) go to the owners ...
//   plan.discard();                                   // or begin()
//
// Each distinct id has a place: its number in the order of first occurrence in requests. For one
// thread; different tables are independent.
class RequestPlan {
 public:
  // Borrows the table, for the default values of ids without a record.
  RequestPlan(const EmbeddingTable& table, const Placement& placement);

  // Forgets requests, records and lookups.
  void begin();
  // Announces ids.
  void request(absl::Span<const int64_t> ids);
  // Returns the ids announced so far, by place.
  absl::Span<const int64_t> ids() const { return ids_; }
  // Returns the places of the ids that a rank owns, ascending.
  absl::Span<const uint32_t> places_of(int owner) const { return places_of_[owner]; }
  // Writes the same ids.
  void copy_ids_of(int owner, char* to) const;

  // Sets the record that the id at `place` reads: weights of the table's type, borrowed until
  // begin().
  void set_record(uint32_t place, const char* record) { records_[place] = record; }
  // Makes the id at `place` read the table's default value. It gets no gradient.
  void set_no_record(uint32_t place);

  // Looks up announced ids and pools them (see IdLists). The first function records the lookup, as
  // StepPlan::look_up(). The second changes nothing, may be called by several threads at once, and
  // returns the number of ids without a record, repeated ids included.
  // Errors: InvalidArgument naming an id that was not announced, or whose record was not received.
  absl::Status look_up(const IdLists& lists, const PoolingOutput& output);
  absl::StatusOr<int64_t> look_up_read_only(const IdLists& lists,
                                            const PoolingOutput& output) const;

  // Returns the number of occurrences of an id in lookups, with or without a record.
  uint32_t count(uint32_t place) const {
    return place < lookups_.counts().size() ? lookups_.counts()[place] : 0;
  }
  // Returns the gradient of an id; null: none. REQUIRES: lookups().add_up().
  const float* sum(uint32_t place) const {
    return place < lookups_.sums().size() ? lookups_.sums()[place] : nullptr;
  }
  // Returns the lookups; their rows are numbered by place.
  StepLookups& lookups() { return lookups_; }
  const StepLookups& lookups() const { return lookups_; }
  // Forgets lookups and gradients.
  void discard();

 private:
  // Returns the places of `ids` if consecutive requests had exactly these ids; else null.
  const uint32_t* places_of_request(absl::Span<const int64_t> ids) const;
  // Sets `places` to the places of the lists' ids. Uses `memory` if they are not known already.
  // Errors: as look_up().
  absl::Status find(const IdLists& lists, std::vector<uint32_t>& memory,
                    absl::Span<const uint32_t>& places) const;
  void pool(const IdLists& lists, const PoolingOutput& output, bool copies,
            absl::Span<const uint32_t> places) const;

  const EmbeddingTable& table_;
  const Placement placement_;
  StepMap map_;
  std::vector<int64_t> ids_;
  std::vector<std::vector<uint32_t>> places_of_;  // of each rank
  std::vector<const char*> records_;              // by place; null: not received
  std::vector<char> has_record_;                  // by place
  RecordMemory defaults_;
  StepLookups lookups_;
  // The ids of all requests, one after the other, and their places. Models mostly look up the lists
  // that were announced: comparing lists is faster than finding each id again.
  std::vector<int64_t> requested_;
  std::vector<uint32_t> requested_places_;
  std::vector<size_t> request_begins_;
  // The request after the one that was found last: lookups mostly come in the order of requests.
  mutable std::atomic<size_t> next_request_ = 0;
  std::vector<uint32_t> found_;  // scratch of look_up()
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_REQUEST_PLAN_H_
