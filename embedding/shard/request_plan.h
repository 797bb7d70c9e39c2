// The requests of this rank for rows of one sharded table, in one step.
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

// The requesting rank's part of a sharded step:
//
//   plan.begin();
//   plan.request(ids);                                // any number of times
//   ... copy_ids_of(owner) is sent to each other rank, which returns records ...
//   plan.set_record(plan.places_of(owner)[i], record);   // for each id, or set_no_record(place)
//   plan.look_up(lists, output);                      // any number of times
//   plan.lookups().set_gradient(0, gradient, stride);
//   ... send plan.count(place) and plan.sum(place) to the owners ...
//   plan.discard();                                   // or begin()
//
// Each distinct id has a place: its number in the order of first occurrence in requests. Not
// thread-safe, except look_up_read_only(); different tables are independent.
class RequestPlan {
 public:
  // Borrows the table, for default values of ids without a record and for its lock.
  RequestPlan(const EmbeddingTable& table, const Placement& placement);

  // Forgets requests, records and lookups.
  void begin();
  // Announces ids.
  void request(absl::Span<const int64_t> ids);
  // Returns the announced ids, by place.
  absl::Span<const int64_t> ids() const { return ids_; }
  // Returns the places of the ids that a rank owns, ascending.
  absl::Span<const uint32_t> places_of(int owner) const { return places_of_[owner]; }
  // Writes the ids of places_of(owner).
  void copy_ids_of(int owner, char* to) const;

  // Sets the record of the id at `place`: weights of the table's type, borrowed until begin().
  void set_record(uint32_t place, const char* record) { records_[place] = record; }
  // Sets the record of the id at `place` to the table's default value. The id gets no gradient.
  void set_no_record(uint32_t place);

  // Look up announced ids and pool them (see IdLists). look_up() records the lookup, as
  // StepPlan::look_up(). look_up_read_only() changes nothing, may be called by several threads at
  // the same time, and returns the number of ids without a record, including repeated ids. Errors:
  // InvalidArgument naming an id that was not announced, or whose record was not received.
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
  // Returns the lookups, whose rows are numbered by place.
  StepLookups& lookups() { return lookups_; }
  const StepLookups& lookups() const { return lookups_; }
  // Forgets lookups and gradients.
  void discard();

 private:
  // Returns the places of `ids` if the ids of requests, from the beginning of a request on, equal
  // `ids`; otherwise null.
  const uint32_t* places_of_request(absl::Span<const int64_t> ids) const;
  // Sets `places` to the places of the lists' ids. Uses `memory` for places that requests do not
  // have. Errors: as look_up().
  absl::Status find(const IdLists& lists, std::vector<uint32_t>& memory,
                    absl::Span<const uint32_t>& places) const;
  void pool(const IdLists& lists, const PoolingOutput& output, bool copies,
            absl::Span<const uint32_t> places) const;

  const EmbeddingTable& table_;
  const Placement placement_;
  StepMap map_;
  std::vector<int64_t> ids_;
  std::vector<std::vector<uint32_t>> places_of_;  // by rank
  std::vector<const char*> records_;              // by place; null: not received
  std::vector<char> has_record_;                  // by place
  RecordMemory defaults_;
  StepLookups lookups_;
  // The concatenated ids of all requests, and their places. Models mostly look up the announced
  // lists, and a comparison of lists is faster than a search of each id.
  std::vector<int64_t> requested_;
  std::vector<uint32_t> requested_places_;
  std::vector<size_t> request_begins_;
  // The request after the last one found: lookups mostly have the order of requests.
  mutable std::atomic<size_t> next_request_ = 0;
  std::vector<uint32_t> found_;  // scratch memory of look_up()
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_REQUEST_PLAN_H_
