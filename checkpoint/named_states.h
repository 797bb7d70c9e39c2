// States of many objects, by name.
#ifndef MILLRACE_CHECKPOINT_NAMED_STATES_H_
#define MILLRACE_CHECKPOINT_NAMED_STATES_H_

#include <google/protobuf/repeated_field.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checkpoint/checkpointable.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

// One that has a state; the functions are those of Checkpointable.
struct StateHolder {
  std::string kind;  // what messages call it: "hook"
  std::string name;  // unique within its kind
  std::function<absl::Status(ObjectState&)> save;
  std::function<absl::Status(absl::Span<const ObjectState>)> load;
};

using NamedStates = google::protobuf::RepeatedPtrField<NamedState>;
// Kind and name, as in messages → the states of the ranks that wrote one, in their order.
using StatesByName = std::map<std::string, std::vector<ObjectState>>;

// Every state that is not empty, or (to undo a load) all, by ascending name. REQUIRES: all holders
// are of one kind. Errors: those of the holders, with their names.
absl::StatusOr<NamedStates> save_states(const std::vector<StateHolder>& holders,
                                        bool empty_too = false);

// Adds one rank's states. Errors: DataLoss for a name that comes twice.
absl::Status add_states(absl::string_view kind, const NamedStates& states, StatesByName* all);

// Loads all states or none: after an error of one holder, those before it get their former states
// back. A holder with a state that has none here, and a state without a holder, are no errors: a
// line about each is added to `notes`. Holders may be of several kinds.
// Errors: those of the holders, with their names.
absl::Status load_states(const std::vector<StateHolder>& holders, const StatesByName& states,
                         std::vector<std::string>* notes);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_NAMED_STATES_H_
