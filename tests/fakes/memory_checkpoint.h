// A checkpoint without files: copies of the whole content of a state.
#ifndef MILLRACE_TESTS_FAKES_MEMORY_CHECKPOINT_H_
#define MILLRACE_TESTS_FAKES_MEMORY_CHECKPOINT_H_

#include <string>
#include <vector>

#include "checkpoint/state/train_state.h"

namespace millrace {

// The state of one rank. Messages are kept as bytes, as in files.
class MemoryCheckpoint {
 public:
  explicit MemoryCheckpoint(const TrainState& state);

  // Returns the state for a trainer of the same model, as if read from the files of these ranks.
  static LoadedState load(const TrainState& target,
                          const std::vector<const MemoryCheckpoint*>& ranks);
  LoadedState load(const TrainState& target) const { return load(target, {this}); }

  // Returns the whole state, part by part, to the last bit: equal texts mean equal states.
  std::string to_string() const;

 private:
  struct Table {
    std::string name;
    TableRows rows;
    AdmissionState admission;
    EvictedLogState evicted;
  };

  std::vector<NamedParameter> dense_;
  std::vector<NamedParameter> optimizer_;
  std::vector<Table> tables_;
  std::string shared_;
  std::string rank_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_MEMORY_CHECKPOINT_H_
