// Objects whose state checkpoints include.
#ifndef MILLRACE_CHECKPOINT_STATE_CHECKPOINTABLE_H_
#define MILLRACE_CHECKPOINT_STATE_CHECKPOINTABLE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace millrace {

// State of one object: bytes in a format private to the object, and the version of that format.
struct ObjectState {
  int32_t version = 0;
  std::string bytes;

  bool empty() const { return version == 0 && bytes.empty(); }
  friend bool operator==(const ObjectState&, const ObjectState&) = default;
};

// Placement of an object's state: kOnce if the object is equal on all ranks, so that rank 0's state
// serves all ranks; kPerRank if every rank has its own state.
enum class StatePlacement { kOnce, kPerRank };

// An object of the job that later steps depend on: a sampler, a running mean. Registered by name
// with Trainer::add_state(). A restore returns the object to its exact state between the same
// steps.
//
//
//   class Sampler : public Checkpointable {
//     absl::Status save_state(ObjectState& state) const override {
//       state = {1, absl::StrCat(position_)};
//       return absl::OkStatus();
//     }
//     absl::Status load_state(absl::Span<const ObjectState> per_rank) override;   // checks version
//   };
//
//
// All functions are called on the trainer's thread.
class Checkpointable {
 public:
  virtual ~Checkpointable() = default;
  // Writes the object's state to `state`. A state that stays empty (version 0, no bytes) is not
  // saved.
  virtual absl::Status save_state(ObjectState& state) const = 0;
  // Restores the object. `per_rank`: the written states, in the order of ranks; for kOnce, one
  // state. Must accept every state from save_state(), also to undo a load. An error ends the load
  // and must leave the object unchanged.
  virtual absl::Status load_state(absl::Span<const ObjectState> per_rank) = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_CHECKPOINTABLE_H_
