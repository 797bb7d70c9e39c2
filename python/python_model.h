// A torch.nn.Module as a model.
#ifndef MILLRACE_PYTHON_PYTHON_MODEL_H_
#define MILLRACE_PYTHON_PYTHON_MODEL_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "models/task_losses.h"

namespace millrace {

// The name under which PythonModel is registered.
inline constexpr char kPythonModel[] = "python";

// Computes with the module of the run in progress (current_run()). docs/python.md describes what
// the module gets and returns.
//
// The parameters and buffers of the module are those of this model, under the same names and in
// the same memory, so that optimizers, checkpoints and ranks treat them as those of any model. The
// tables are the collection "embeddings", which exists if the job has sparse features. The GIL is
// held while the module runs, not during lookups, losses and backward passes. All functions acquire
// the GIL themselves.
class PythonModel : public Model {
 public:
  // Calls the function that makes the module, if the run has one. Errors: InvalidArgument, naming
  // the parameter, for names, types and devices that cannot be trained; as TaskLosses::create() and
  // EmbeddingCollection::create(); exceptions of Python.
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig& config,
                                                       const ModelResources& resources);
  ~PythonModel() override;

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override;
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
    return tasks_.count_targets(batch);
  }
  // Also sets the mode of the module. An exception is reported by the next forward().
  void train(bool on = true) override;

 private:
  // What forward() of the module returned: logits, or loss and predictions.
  struct Returned {
    at::Tensor logits, loss, predictions;
    std::vector<NamedValue> values;
  };
  // The entries of a dict of a submodule that must stay the same objects.
  struct Watched {
    std::string owner;  // "net.0.", a prefix of names
    pybind11::dict entries;
    std::vector<std::pair<pybind11::object, pybind11::object>> expected;  // key, value
  };
  struct Argument {
    std::string name;
    pybind11::str key;
  };

  PythonModel(TaskLosses tasks, std::vector<std::string> labels)
      : tasks_(std::move(tasks)), labels_(std::move(labels)) {}
  absl::Status set_tables(const ModelResources& resources);
  absl::Status set_module();
  absl::Status share(const std::string& name, const at::Tensor& value, bool is_buffer);
  torch::nn::Module& owner_of(const std::string& prefix);
  void watch_entries();

  pybind11::object argument(const std::string& name, const Batch& batch,
                            const EmbeddingOutput* rows) const;
  pybind11::object sparse_rows(const EmbeddingOutput& output) const;
  absl::StatusOr<Returned> call_module(const Batch& batch, const EmbeddingOutput* rows) const;
  absl::StatusOr<Returned> read_result(pybind11::handle result) const;
  absl::Status check_watched() const;
  absl::StatusOr<at::Tensor> checked_logits(const at::Tensor& logits, const Batch& batch) const;

  const TaskLosses tasks_;
  const std::vector<std::string> labels_;
  std::shared_ptr<EmbeddingCollection> embeddings_;  // shared with the list of submodules; or null
  pybind11::object module_;
  std::vector<Argument> arguments_;
  std::vector<pybind11::str> sparse_names_;
  std::vector<Watched> watched_;
  std::map<std::string, std::shared_ptr<torch::nn::Module>> owners_;  // by prefix, with submodules
  bool has_trained_parameters_ = false;
  absl::Status mode_status_;  // of the last train()
};

}  // namespace millrace

#endif  // MILLRACE_PYTHON_PYTHON_MODEL_H_
