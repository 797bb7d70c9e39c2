// A checkpoint without files: copies of everything that a state holds.
#ifndef MILLRACE_TESTS_FAKES_MEMORY_CHECKPOINT_H_
#define MILLRACE_TESTS_FAKES_MEMORY_CHECKPOINT_H_

#include <string>
#include <vector>

#include "checkpoint/state/train_state.h"

namespace millrace {

// Of one rank. Messages are kept as bytes, as files would hold them.
class MemoryCheckpoint {
 public:
  explicit MemoryCheckpoint(const TrainState& state);

  // For a trainer of the same model: as read from the files of these ranks.
  static LoadedState load(const TrainState& target,
                          const std::vector<const MemoryCheckpoint*>& ranks);
  LoadedState load(const TrainState& target) const { return load(target, {this}); }

  // Everything, part by part, to the last bit: equal texts are equal states.
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
