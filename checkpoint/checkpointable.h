// Objects whose state goes with checkpoints.
#ifndef MILLRACE_CHECKPOINT_CHECKPOINTABLE_H_
#define MILLRACE_CHECKPOINT_CHECKPOINTABLE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace millrace {

// State of one object: bytes that only it understands, and a version that says how.
struct ObjectState {
  int32_t version = 0;
  std::string bytes;

  bool empty() const { return version == 0 && bytes.empty(); }
  friend bool operator==(const ObjectState&, const ObjectState&) = default;
};

// Whether an object is the same on all ranks, so that rank 0's state is that of all, or each rank's
// own.
enum class StatePlacement { kOnce, kPerRank };

// Something of a job's own that later steps depend on: a sampler, a running mean. It is registered
// by name with Trainer::add_state and comes back exactly as it was, between the same steps.
//
//   class Sampler : public Checkpointable {
//     absl::Status save_state(ObjectState& state) const override {
//       state = {1, absl::StrCat(position_)};
//       return absl::OkStatus();
//     }
//     absl::Status load_state(absl::Span<const ObjectState> per_rank) override;   // checks version
//   };
//
// Called on the trainer's thread.
class Checkpointable {
 public:
  virtual ~Checkpointable() = default;
  // What is empty afterwards (version 0, no bytes) is not kept.
  virtual absl::Status save_state(ObjectState& state) const = 0;
  // One state for each rank that wrote one, in the order of ranks; of kOnce, one. What it gave with
  // save_state it must take back, also to undo a load. Errors end the load; the object must then be
  // as before.
  virtual absl::Status load_state(absl::Span<const ObjectState> per_rank) = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_CHECKPOINTABLE_H_
