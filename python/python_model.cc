#include "python/python_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "python/gil.h"
#include "python/tensors.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

constexpr char kTables[] = "embeddings";  // the submodule with the tables
constexpr char kForward[] = "the module's forward";

std::string shape_text(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ", "), "]");
}

// Notes the versions of tensors that a module may read but not change.
class UnchangedTensors {
 public:
  explicit UnchangedTensors(const Batch& batch)
      : tensors_({{{"dense", &batch.dense},
                   {"labels", &batch.labels},
                   {"weights", &batch.weights},
                   {"groups", &batch.group_ids}}}) {
    for (size_t i = 0; i < tensors_.size(); ++i) versions_[i] = version(*tensors_[i].second);
  }

  absl::Status check() const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (versions_[i] == version(*tensors_[i].second)) continue;
      return wrong_result(absl::StrCat(
          kForward, ": it changed `", tensors_[i].first,
          "` in place, which later parts of the step read; clone it, or use an operation "
          "that makes a new tensor"));
    }
    return absl::OkStatus();
  }

 private:
  static int64_t version(const at::Tensor& tensor) {
    return tensor.defined() && !tensor.is_inference() ? tensor._version() : 0;
  }

  const std::array<std::pair<const char*, const at::Tensor*>, 4> tensors_;
  std::array<int64_t, 4> versions_ = {};
};

absl::Status check_parameter(const std::string& name, const at::Tensor& value) {
  const auto wrong = [&name](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" of the module ", what));
  };
  if (value.scalar_type() != at::kFloat) {
    return wrong(absl::StrCat("is ", c10::toString(value.scalar_type()),
                              "; give it float32 parameters, and train.precision for the rest"));
  }
  if (!value.device().is_cpu()) {
    return wrong(absl::StrCat("is on ", value.device().str(), "; leave the module on the CPU"));
  }
  if (!value.is_leaf()) return wrong("is no leaf of the graph; make it a torch.nn.Parameter");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<Model>> PythonModel::create(const ModelConfig&,
                                                           const ModelResources& resources) {
  ASSIGN_OR_RETURN(TaskLosses tasks, TaskLosses::create(resources));
  const std::shared_ptr<PythonModel> model(
      new PythonModel(std::move(tasks), resources.schema.labels()));
  // The module first: a seed of its parameters does not depend on tables.
  RETURN_IF_ERROR(call_python(GilUse::kModel, "the module", [&]() -> absl::Status {
    if (current_run() == nullptr || current_run()->module.is_none()) {
      return absl::InvalidArgumentError(
          "model \"python\" is a torch.nn.Module, which millrace.train(job, model=...) gives");
    }
    return model->set_module();
  }));
  RETURN_IF_ERROR(model->set_tables(resources));
  if (!model->has_trained_parameters_ && model->embeddings_ == nullptr) {
    return absl::InvalidArgumentError(
        "the module has no parameter that requires a gradient and the job has no sparse feature, "
        "so there is nothing to train");
  }
  return model;
}

PythonModel::~PythonModel() {
  const py::gil_scoped_acquire gil;
  watched_.clear();
  arguments_.clear();
  sparse_names_.clear();
  module_ = py::object();
}

absl::Status PythonModel::set_tables(const ModelResources& resources) {
  if (resources.embeddings.features.empty()) return absl::OkStatus();
  if (owners_.count(kTables) > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the module has a submodule \"", kTables,
        "\", which is the name of the tables of the job; give the submodule another name"));
  }
  ASSIGN_OR_RETURN(embeddings_, EmbeddingCollection::create(resources.embeddings));
  register_module(kTables, embeddings_);
  const py::gil_scoped_acquire gil;
  for (const FeaturePlace& place : embeddings_->places()) sparse_names_.emplace_back(place.name);
  return absl::OkStatus();
}

absl::Status PythonModel::set_module() {
  PythonRun& run = *current_run();
  const py::tuple prepared = run.support.attr("prepare_module")(run.module);
  module_ = prepared[0];
  for (const py::handle name : prepared[1]) {
    arguments_.push_back({py::cast<std::string>(name), py::cast<py::str>(name)});
  }
  for (const bool buffers : {false, true}) {
    const char* const list = buffers ? "named_buffers" : "named_parameters";
    for (const py::handle entry : module_.attr(list)()) {
      const auto pair = py::cast<py::tuple>(entry);
      RETURN_IF_ERROR(share(py::cast<std::string>(pair[0]), from_python(pair[1]), buffers));
    }
  }
  watch_entries();
  return absl::OkStatus();
}

absl::Status PythonModel::share(const std::string& name, const at::Tensor& value, bool is_buffer) {
  const size_t dot = name.rfind('.');
  const std::string prefix = dot == std::string::npos ? "" : name.substr(0, dot);
  const std::string last = dot == std::string::npos ? name : name.substr(dot + 1);
  if (is_buffer) {
    owner_of(prefix).register_buffer(last, value);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(check_parameter(name, value));
  has_trained_parameters_ |= value.requires_grad();
  owner_of(prefix).register_parameter(last, value, value.requires_grad());
  return absl::OkStatus();
}

// Returns the module of a prefix such as "net.0", and makes it and those around it.
torch::nn::Module& PythonModel::owner_of(const std::string& prefix) {
  if (prefix.empty()) return *this;
  std::shared_ptr<torch::nn::Module>& owner = owners_[prefix];
  if (owner == nullptr) {
    owner = std::make_shared<torch::nn::Module>();
    const size_t dot = prefix.rfind('.');
    torch::nn::Module& outer = owner_of(dot == std::string::npos ? "" : prefix.substr(0, dot));
    outer.register_module(dot == std::string::npos ? prefix : prefix.substr(dot + 1), owner);
  }
  return *owner;
}

void PythonModel::watch_entries() {
  for (const py::handle entry : module_.attr("named_modules")()) {
    const auto named = py::cast<py::tuple>(entry);
    const auto name = py::cast<std::string>(named[0]);
    for (const char* list : {"_parameters", "_buffers", "_modules"}) {
      Watched watched{name.empty() ? "" : name + ".", py::cast<py::dict>(named[1].attr(list)), {}};
      for (const auto& [key, value] : watched.entries) {
        watched.expected.emplace_back(py::reinterpret_borrow<py::object>(key),
                                      py::reinterpret_borrow<py::object>(value));
      }
      watched_.push_back(std::move(watched));
    }
  }
}

absl::Status PythonModel::check_watched() const {
  for (const Watched& watched : watched_) {
    for (const auto& [key, value] : watched.expected) {
      if (PyDict_GetItemWithError(watched.entries.ptr(), key.ptr()) == value.ptr()) continue;
      return wrong_result(absl::StrCat(
          "\"", watched.owner, py::cast<std::string>(key),
          "\" of the module is another object than at the start of training, so it would not be "
          "trained or saved; change it in place, as with copy_() under torch.no_grad()"));
    }
    if (watched.entries.size() == watched.expected.size()) continue;
    return wrong_result(
        absl::StrCat("the module got a parameter, buffer or submodule",
                     watched.owner.empty() ? "" : absl::StrCat(" in \"", watched.owner, "\""),
                     " during training, which would not be trained or saved; make it in __init__"));
  }
  return absl::OkStatus();
}

void PythonModel::train(bool on) {
  Model::train(on);
  mode_status_ = call_python(GilUse::kModel, "the module's train()", [&] {
    module_.attr("train")(on);
    return absl::OkStatus();
  });
}

py::object PythonModel::sparse_rows(const EmbeddingOutput& output) const {
  // One split in place of a view for each feature, whose gradients would each be as large as all
  // features together.
  std::vector<int64_t> sizes;
  for (const FeaturePlace& place : output.places()) {
    if (place.unpooled < 0) sizes.push_back(place.dim);
  }
  std::vector<at::Tensor> pooled;
  if (!sizes.empty()) pooled = output.pooled.split_with_sizes(sizes, 1);
  py::dict rows;
  size_t next = 0;
  for (size_t i = 0; i < output.places().size(); ++i) {
    const FeaturePlace& place = output.places()[i];
    const EmbeddingFeature& feature = embeddings_->options().features[i];
    if (place.unpooled >= 0) {
      const JaggedRows jagged = output.jagged(place.name).value();
      rows[sparse_names_[i]] =
          current_run()->support.attr("Rows")(to_python(jagged.rows), to_python(jagged.offsets));
      continue;
    }
    at::Tensor columns = pooled[next++];
    if (feature.pooling == FIRST_N) columns = columns.unflatten(1, {feature.max_ids, -1});
    rows[sparse_names_[i]] = to_python(columns);
  }
  return rows;
}

py::object PythonModel::argument(const std::string& name, const Batch& batch,
                                 const EmbeddingOutput* rows) const {
  if (name == "dense") return to_python(batch.dense);
  if (name == "sparse") return rows == nullptr ? py::dict() : sparse_rows(*rows);
  if (name == "pooled") return to_python(rows == nullptr ? at::Tensor() : rows->pooled);
  if (name == "labels") return to_python(batch.labels);
  if (name == "weights") return to_python(batch.weights);
  return to_python(batch.group_ids);  // prepare_module() gives no other name than "groups"
}

absl::StatusOr<PythonModel::Returned> PythonModel::read_result(py::handle result) const {
  Returned returned;
  if (THPVariable_Check(result.ptr())) {
    returned.logits = from_python(result);
    return returned;
  }
  // Raises TypeError for every other object than millrace.Output, and for its members.
  const py::tuple read = current_run()->support.attr("read_output")(result);
  returned.logits = from_python(read[0]);
  returned.loss = from_python(read[1]);
  returned.predictions = from_python(read[2]);
  for (const py::handle value : read[3]) {
    const auto pair = py::cast<py::tuple>(value);
    returned.values.push_back({.name = py::cast<std::string>(pair[0]),
                               .value = from_python(pair[1]).detach().to(device(), at::kFloat)});
  }
  return returned;
}

absl::StatusOr<PythonModel::Returned> PythonModel::call_module(const Batch& batch,
                                                               const EmbeddingOutput* rows) const {
  const UnchangedTensors unchanged(batch);
  return call_python(GilUse::kModel, kForward, [&]() -> absl::StatusOr<Returned> {
    py::dict arguments;
    for (const Argument& each : arguments_) {
      arguments[each.key] = argument(each.name, batch, rows);
    }
    const py::object result = module_(**arguments);
    RETURN_IF_ERROR(unchanged.check());
    RETURN_IF_ERROR(check_watched());
    return read_result(result);
  });
}

absl::StatusOr<at::Tensor> PythonModel::checked_logits(const at::Tensor& logits,
                                                       const Batch& batch) const {
  const bool one = tasks_.size() == 1;
  const bool is_column = one && logits.dim() == 1 && logits.size(0) == batch.size;
  const bool is_matrix =
      logits.dim() == 2 && logits.size(0) == batch.size && logits.size(1) == tasks_.size();
  const std::string wanted = absl::StrCat(one ? absl::StrCat("[", batch.size, "] or ") : "", "[",
                                          batch.size, ", ", tasks_.size(), "]");
  if (!is_column && !is_matrix) {
    return wrong_result(absl::StrCat(kForward, ": it returned logits of shape ", shape_text(logits),
                                     "; return ", wanted, ", examples and labels (",
                                     absl::StrJoin(labels_, ", "), ")"));
  }
  if (!at::isFloatingType(logits.scalar_type())) {
    return wrong_result(absl::StrCat(kForward, ": it returned logits of type ",
                                     c10::toString(logits.scalar_type()),
                                     "; return floating-point numbers"));
  }
  if (logits.device() != device()) {
    return wrong_result(absl::StrCat(kForward, ": it returned logits on ", logits.device().str(),
                                     "; the model is on ", device().str()));
  }
  return is_column ? logits.unsqueeze(1) : logits;
}

absl::StatusOr<ModelOutput> PythonModel::forward(const Batch& batch) {
  RETURN_IF_ERROR(mode_status_);
  std::optional<EmbeddingOutput> rows;
  if (embeddings_ != nullptr) {
    ASSIGN_OR_RETURN(rows, embeddings_->forward(batch.sparse));
  }
  ASSIGN_OR_RETURN(Returned returned, call_module(batch, rows.has_value() ? &*rows : nullptr));
  ModelOutput output;
  if (returned.logits.defined()) {
    ASSIGN_OR_RETURN(const at::Tensor logits, checked_logits(returned.logits, batch));
    output = tasks_.output(logits, batch);
  } else {
    output.loss = returned.loss.to(at::kFloat);
    output.predictions = returned.predictions.detach().to(at::kFloat);
  }
  output.metrics = std::move(returned.values);
  if (at::GradMode::is_enabled() && has_trained_parameters_ && !output.loss.requires_grad()) {
    return wrong_result(
        absl::StrCat(kForward,
                     ": its result has no gradient, so that nothing would be trained; leave out "
                     "detach(), torch.no_grad() and conversions to numbers"));
  }
  return output;
}

MILLRACE_REGISTER_MODEL(python, "a torch.nn.Module of millrace.train()", &PythonModel::create,
                        ModelLabels::kOfTasks);

}  // namespace millrace
