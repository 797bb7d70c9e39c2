// Which ids get rows.
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

// What later admissions depend on, for checkpoints. At most one of both is in use.
struct AdmissionState {
  std::vector<int64_t> ids;      // that have an exact count, by ascending placement_hash
  std::vector<uint32_t> counts;  // [ids], each at least 1
  CountSketchState sketch;

  friend bool operator==(const AdmissionState&, const AdmissionState&) = default;
};

// The admission of one table. An id that has a row is no candidate; one that has none is asked for
// at every lookup in training, and counted when the step is committed:
//
//   always       admits
//   read_only    does not
//   count        admits if the occurrences in committed steps since the id last had a row, plus
//                one for this step, are at least min_count. With a sketch, as it estimates them
//                (embedding/policies/count_sketch.h): too many with error_probability at most,
//                never too few before counts are halved, and those of an id whose row went still
//                stand.
//   custom       a registered part (embedding/policies/admission_registry.h)
//   probability  admits in a step if a hash of (seed, table, id, steps committed before) says so:
//                after n steps with the id it has a row with probability 1 - (1 - p)^n
//
// Answers are the same all through a step: order, threads and micro-batches play no role, and a
// step that is tried again gets the same ones.
//
// admits may be called from many threads while nobody changes the object.
class Admission {
 public:
  // Errors: InvalidArgument naming table and field.
  static absl::StatusOr<std::unique_ptr<Admission>> create(const AdmissionConfig& config,
                                                           uint64_t seed, absl::string_view table);
  virtual ~Admission() = default;

  // Whether admits() is always true, so that nobody need ask.
  virtual bool admits_all() const { return false; }
  // Whether an id without a row gets one, after `steps` committed steps.
  virtual bool admits(int64_t id, int64_t steps) const = 0;

  // At the end of a step: ids without a row that occurred, and how often.
  // REQUIRES: ids are distinct.
  virtual void count(absl::Span<const int64_t> ids, absl::Span<const uint32_t> counts);
  // These have rows now.
  virtual void forget(absl::Span<const int64_t> ids);
  // All counts.
  virtual void clear() {}

  // Ids that have an exact count.
  virtual int64_t candidates() const { return 0; }
  virtual int64_t bytes() const { return 0; }

  // A copy of its own, whose state can be asked for later.
  virtual std::unique_ptr<Admission> clone() const = 0;
  virtual AdmissionState state() const { return {}; }
  // Errors: InvalidArgument for the state of another kind of admission or size of sketch, and for a
  // damaged one; nothing changes then.
  virtual absl::Status set_state(const AdmissionState& state);
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_ADMISSION_H_
