#include "checkpoint/state/named_states.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace millrace {
namespace {

// Returns a name for messages: hook "evict_rows".
std::string called(absl::string_view kind, absl::string_view name) {
  return absl::StrCat(kind, " \"", absl::CEscape(name), "\"");
}
std::string called(const StateHolder& holder) { return called(holder.kind, holder.name); }

absl::StatusOr<ObjectState> save(const StateHolder& holder) {
  ObjectState state;
  RETURN_IF_ERROR(holder.save(state), absl::StrCat("saving the state of ", called(holder)));
  return state;
}

// The states loaded so far. Unless the load succeeds, the destructor restores the former states.
class Loading {
 public:
  ~Loading() {
    for (size_t i = done_.size(); i-- > 0;) {
      const auto& [holder, former] = done_[i];
      const absl::Status status = holder->load({&former, 1});
      if (status.ok()) continue;
      MILLRACE_LOG(ERROR) << called(*holder)
                          << " does not take its own state back: " << status.message();
    }
  }
  absl::Status load(const StateHolder& holder, const std::vector<ObjectState>& states) {
    ASSIGN_OR_RETURN(ObjectState former, save(holder));
    RETURN_IF_ERROR(holder.load(states), absl::StrCat("loading the state of ", called(holder)));
    done_.emplace_back(&holder, std::move(former));
    return absl::OkStatus();
  }
  void keep() { done_.clear(); }

 private:
  std::vector<std::pair<const StateHolder*, ObjectState>> done_;
};

}  // namespace

absl::StatusOr<NamedStates> save_states(const std::vector<StateHolder>& holders, bool empty_too) {
  NamedStates states;
  for (const StateHolder& holder : holders) {
    ASSIGN_OR_RETURN(ObjectState state, save(holder));
    if (state.empty() && !empty_too) continue;
    NamedState& one = *states.Add();
    one.set_name(holder.name);
    one.set_version(state.version);
    one.set_state(std::move(state.bytes));
  }
  std::sort(states.pointer_begin(), states.pointer_end(),
            [](const NamedState* a, const NamedState* b) { return a->name() < b->name(); });
  return states;
}

absl::Status add_states(absl::string_view kind, const NamedStates& states, StatesByName* all) {
  std::set<std::string> names;
  for (const NamedState& state : states) {
    if (!names.insert(state.name()).second) {
      return absl::DataLossError(
          absl::StrCat("a rank has two states of ", called(kind, state.name())));
    }
    (*all)[called(kind, state.name())].push_back({state.version(), state.state()});
  }
  return absl::OkStatus();
}

absl::Status load_states(const std::vector<StateHolder>& holders, const StatesByName& states,
                         std::vector<std::string>* notes) {
  Loading loading;
  std::vector<std::string> names, found;
  for (const StateHolder& holder : holders) {
    names.push_back(called(holder));
    const auto own = states.find(names.back());
    if (own != states.end()) {
      RETURN_IF_ERROR(loading.load(holder, own->second));
      continue;
    }
    ASSIGN_OR_RETURN(const ObjectState state, save(holder));
    if (state.empty()) continue;
    found.push_back(absl::StrCat(called(holder), " is new: the checkpoint has no state of it"));
  }
  for (const auto& [name, per_rank] : states) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    found.push_back(
        absl::StrCat(name, " is gone: its state is dropped", did_you_mean(name, names)));
  }
  loading.keep();
  notes->insert(notes->end(), found.begin(), found.end());
  return absl::OkStatus();
}

}  // namespace millrace
