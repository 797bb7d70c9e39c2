// States of many objects, by name.
#ifndef MILLRACE_CHECKPOINT_STATE_NAMED_STATES_H_
#define MILLRACE_CHECKPOINT_STATE_NAMED_STATES_H_

#include <google/protobuf/repeated_field.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checkpoint/state/checkpointable.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

// An object with a state. The functions correspond to the functions of Checkpointable.
struct StateHolder {
  std::string kind;  // the word for messages: "hook"
  std::string name;  // unique within its kind
  std::function<absl::Status(ObjectState&)> save;
  std::function<absl::Status(absl::Span<const ObjectState>)> load;
};

using NamedStates = google::protobuf::RepeatedPtrField<NamedState>;
// Kind and name, as in messages → the states of all ranks that wrote a state, in the order of
// ranks.
using StatesByName = std::map<std::string, std::vector<ObjectState>>;

// Returns every state that is not empty, by ascending name. If `empty_too` is true, also returns
// the empty states (to undo a load).
// REQUIRES: all holders are of one kind.
// Errors: any error of a holder, with the holder's name.
absl::StatusOr<NamedStates> save_states(const std::vector<StateHolder>& holders,
                                        bool empty_too = false);

// Adds the states of one rank. Errors: DataLoss for a duplicate name.
absl::Status add_states(absl::string_view kind, const NamedStates& states, StatesByName* all);

// Loads all states or none: after an error of one holder, the holders before it get their former
// states back. A holder without a state in `states` and a state without a holder are no errors:
// each adds a line to `notes`. Holders may be of several kinds.
// Errors: any error of a holder, with the holder's name.
absl::Status load_states(const std::vector<StateHolder>& holders, const StatesByName& states,
                         std::vector<std::string>* notes);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_NAMED_STATES_H_
