// What training begins with, from checkpoints of others and files with rows.
#ifndef MILLRACE_CHECKPOINT_MODEL_BANK_H_
#define MILLRACE_CHECKPOINT_MODEL_BANK_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/bank_plan.h"
#include "checkpoint/bank_source.h"
#include "checkpoint/checkpointable.h"
#include "checkpoint/train_state.h"
#include "distributed/collectives.h"
#include "proto/config.pb.h"

namespace millrace {

// The sources of a job, in their order (docs/model_bank.md). Every rank has one and calls load and
// reload at the same points, between steps, on the trainer's thread; rank 0 says which checkpoint a
// path stands for. What one rank cannot do fails on all of them with its message. All or nothing:
// after an error nothing has changed.
//
//   ModelBank bank(model_bank_of(config.train()), files, threads);
//   if (bank.dynamic()) RETURN_IF_ERROR(trainer->add_state(kModelBank, bank, kOnce));
//   ASSIGN_OR_RETURN(LoadedState state, bank.load(trainer->capture(), ranks));   // or a resume
//   RETURN_IF_ERROR(trainer->restore(std::move(state), &notes));
//   ... training: RETURN_IF_ERROR(bank.reload(state, ranks));
//
// Its state is which version of each dynamic source was loaded last, so that a resumed job does not
// load it anew. As a registered object its name is kModelBank.
class ModelBank : public Checkpointable {
 public:
  // Borrows `files`. REQUIRES: check_model_bank accepts the configuration.
  ModelBank(ModelBankConfig config, FileSystem& files, int threads);

  // Whether a source is to be looked at again.
  bool dynamic() const;

  // Reads all sources and logs the plan on rank 0.
  // Returns: for Trainer::restore, the state of the trainer that `target` was captured from with
  // what sources give in place of what it had.
  // Errors: InvalidArgument with all that does not fit (plan_bank); those of find_source,
  // BankSource and load_bank.
  absl::StatusOr<LoadedState> load(const TrainState& target, Collectives& ranks);

  // Looks at the dynamic sources again and puts what has changed since into the trainer `target` is
  // a view of (the messages in it are not read, but for the progress). Between steps. Sources that
  // are not there are passed over if they are optional.
  // Errors: as load.
  absl::Status reload(const TrainState& target, Collectives& ranks);

  // Of the last load or reload that read something.
  const std::string& plan() const { return plan_; }

  absl::Status save_state(ObjectState& state) const override;
  absl::Status load_state(absl::Span<const ObjectState> per_rank) override;

 private:
  using Sources = std::vector<std::unique_ptr<BankSource>>;  // null: not there, or not asked

  absl::StatusOr<std::vector<SourcePlace>> find(bool reload, Collectives& ranks);
  absl::StatusOr<LoadedState> read(const std::vector<SourcePlace>& places, bool reload,
                                   const TrainState& target, Sources* sources);
  int64_t step_after(const Sources& sources, const TrainState& target) const;
  absl::Status add_messages(const Sources& sources, const TrainState& target, int world_size,
                            LoadedState* loaded) const;
  const BankSource* giver(const Sources& sources, SourceConfig::Part part) const;

  const ModelBankConfig config_;
  FileSystem& files_;
  ThreadPool threads_;
  std::string plan_;
  std::map<int, std::string> loaded_;  // dynamic sources → version
};

inline constexpr char kModelBank[] = "model_bank";

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_MODEL_BANK_H_
