// The admission of ids to a table.
#ifndef MILLRACE_EMBEDDING_POLICIES_ADMISSION_H_
#define MILLRACE_EMBEDDING_POLICIES_ADMISSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "embedding/policies/count_sketch.h"
#include "proto/config.pb.h"

namespace millrace {

// The state of an admission, for checkpoints. Only counts or the sketch are in use.
struct AdmissionState {
  std::vector<int64_t> ids;      // ids with an exact count, by ascending placement_hash
  std::vector<uint32_t> counts;  // [ids], each at least 1
  CountSketchState sketch;

  friend bool operator==(const AdmissionState&, const AdmissionState&) = default;
};

// The admission of one table: decides if an id without a row gets one. Ids without a row are
// checked at every lookup in training, and counted when the step is committed:
//
//   always       admits every id
//   read_only    admits no id
//   count        admits if the occurrences in committed steps since the id last had a row, plus
//                one for this step, are at least min_count. A sketch estimates occurrences
//                (embedding/policies/count_sketch.h): too high with error_probability at most,
//                never too low before counts are halved. A sketch keeps the counts of an id whose
//                row was evicted.
//   custom       a registered part (embedding/policies/admission_registry.h)
//   probability  admits in a step by a hash of (seed, table, id, steps committed before): after n
//                steps with the id, it has a row with probability 1 - (1 - p)^n
//
// Answers are constant during a step: they do not depend on order, threads and micro-batches, and a
// repeated step has the same answers.
//
// admits() is thread-safe while no non-const function is called.
class Admission {
 public:
  // Creates the admission of a table. Errors: InvalidArgument naming table and field.
  static absl::StatusOr<std::unique_ptr<Admission>> create(const AdmissionConfig& config,
                                                           uint64_t seed, absl::string_view table);
  virtual ~Admission() = default;

  // Returns true if admits() is always true, so that callers need not call it. The default is
  // false.
  virtual bool admits_all() const { return false; }
  // Returns true if an id without a row gets one, after `steps` committed steps. Called at lookups
  // in training.
  virtual bool admits(int64_t id, int64_t steps) const = 0;

  // Records that ids without a row occurred `counts[i]` times. Called at the end of a step. The
  // default does nothing. REQUIRES: ids are distinct.
  virtual void count(absl::Span<const int64_t> ids, absl::Span<const uint32_t> counts);
  // Forgets the counts of ids that have rows now. The default does nothing.
  virtual void forget(absl::Span<const int64_t> ids);
  // Forgets all counts. The default does nothing.
  virtual void clear() {}

  // Returns the number of ids with an exact count. The default is 0.
  virtual int64_t candidates() const { return 0; }
  virtual int64_t bytes() const { return 0; }

  // Returns an independent copy, whose state can be read later.
  virtual std::unique_ptr<Admission> clone() const = 0;
  virtual AdmissionState state() const { return {}; }
  // Replaces the state. Errors: InvalidArgument for the state of another kind of admission or size
  // of sketch, and for a damaged state; then nothing has changed. The default accepts only an empty
  // state.
  virtual absl::Status set_state(const AdmissionState& state);
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_ADMISSION_H_
