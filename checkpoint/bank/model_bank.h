// Initial content of training, from other checkpoints and files with rows.
#ifndef MILLRACE_CHECKPOINT_BANK_MODEL_BANK_H_
#define MILLRACE_CHECKPOINT_BANK_MODEL_BANK_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/bank/bank_plan.h"
#include "checkpoint/bank/bank_source.h"
#include "checkpoint/state/state_loader.h"
#include "checkpoint/state/train_state.h"
#include "distributed/collectives.h"
#include "proto/config.pb.h"

namespace millrace {

// The sources of a job, in their order (docs/model_bank.md). Rank 0 resolves each path to a
// checkpoint for all ranks.
//
//   parts.model_bank = std::make_unique<ModelBank>(model_bank_of(config.train()), files, threads);
//
// The bank's state is the last loaded version of each dynamic source.
class ModelBank : public StateLoader {
 public:
  // Borrows `files`. `features`: features of the job, for files whose ids are text. REQUIRES:
  // check_model_bank() accepts the configuration.
  ModelBank(ModelBankConfig config, FileSystem& files, int threads,
            std::vector<FeatureConfig> features = {});

  // Returns true if a source is dynamic.
  bool dynamic() const override;

  // Reads all sources and logs the plan on rank 0. Errors: InvalidArgument with all mismatches
  // (plan_bank()); any error of find_source(), BankSource and load_bank().
  absl::StatusOr<LoadedState> load(const TrainState& target, Collectives& ranks) override;

  // Checks the dynamic sources for new versions. Skips optional sources that do not exist. Errors:
  // as load().
  absl::StatusOr<bool> reload(const TrainState& target, Collectives& ranks) override;

  // Reads all sources except files with rows of other tables. Errors: as load().
  absl::StatusOr<std::vector<std::string>> fill(const TrainState& target,
                                                const std::vector<std::string>& names,
                                                Collectives& ranks) override;

  // The plan of the last load, reload or fill that read any source.
  const std::string& plan() const { return plan_; }

  absl::Status save_state(ObjectState& state) const override;
  absl::Status load_state(absl::Span<const ObjectState> per_rank) override;

 private:
  using Sources = std::vector<std::unique_ptr<BankSource>>;  // null: missing, or not needed
  // Selection of the trainer's parts that sources may give.
  struct Pick {
    bool whole = true;                               // if true, the bank gives all of its state
    const std::vector<std::string>* only = nullptr;  // dense tensors and tables; null: any
  };

  absl::StatusOr<std::vector<SourcePlace>> find(bool reload, const Pick& pick, Collectives& ranks);
  absl::Status check_unchanged(const Sources& sources, const SharedState& state) const;
  absl::StatusOr<LoadedState> read(const std::vector<SourcePlace>& places, const Pick& pick,
                                   const TrainState& target, Sources* sources);
  absl::Status put(const std::vector<SourcePlace>& places, const Pick& pick,
                   const TrainState& target, Collectives& ranks);
  int64_t step_after(const Sources& sources, const TrainState& target) const;
  absl::Status add_messages(const Sources& sources, const TrainState& target, int world_size,
                            LoadedState* loaded) const;
  absl::Status add_schedules(const BankSource& source, LoadedState* loaded) const;
  absl::Status add_files(const Sources& sources, SharedState* state) const;
  const BankSource* giver(const Sources& sources, SourceConfig::Part part) const;

  const ModelBankConfig config_;
  const std::vector<FeatureConfig> features_;
  FileSystem& files_;
  ThreadPool threads_;
  std::string plan_;
  std::set<std::string> given_;        // names of dense tensors and tables that the bank gave
  std::vector<std::string> empty_;     // tables that got no rows from the bank, with the source
  std::map<int, std::string> loaded_;  // dynamic sources → version
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_MODEL_BANK_H_
