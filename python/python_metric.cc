#include "python/python_metric.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "metrics/metric.h"
#include "metrics/metric_registry.h"
#include "python/gil.h"
#include "python/tensors.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

// Returns a tensor over the memory of a span; undefined for an empty span.
template <typename T>
at::Tensor tensor_over(absl::Span<const T> values) {
  if (values.empty()) return at::Tensor();
  return at::from_blob(const_cast<T*>(values.data()), {static_cast<int64_t>(values.size())},
                       at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value));
}

// A tensor over memory that ends with a call of Python, which may not change it. If Python keeps
// the tensor, also in the traceback of an exception, the tensor gets a copy of the memory.
class LentTensor {
 public:
  template <typename T>
  LentTensor(const char* name, absl::Span<const T> values) : name_(name) {
    const at::Tensor tensor = tensor_over(values);
    if (tensor.defined()) {
      storage_ = tensor.storage().getWeakStorageImpl();
      version_ = tensor.unsafeGetTensorImpl()->version_counter();
    }
    argument_ = to_python(tensor);
  }
  ~LentTensor() {
    argument_ = py::object();
    if (!storage_.has_value()) return;
    const c10::intrusive_ptr<c10::StorageImpl> kept = storage_->lock();
    if (kept == nullptr) return;
    at::DataPtr copy = c10::GetCPUAllocator()->allocate(kept->nbytes());
    std::memcpy(copy.get(), kept->data(), kept->nbytes());
    kept->set_data_ptr_noswap(std::move(copy));
  }
  LentTensor(const LentTensor&) = delete;
  LentTensor& operator=(const LentTensor&) = delete;

  // Returns the argument, which only the caller holds from here on.
  py::object take() { return std::move(argument_); }

  void check_unchanged() const {
    if (version_.enabled() && version_.current_version() != 0) {
      throw std::runtime_error(absl::StrCat("it changed `", name_, "` in place; clone it"));
    }
  }

 private:
  const char* const name_;
  py::object argument_;
  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage_;  // none for no values
  c10::VariableVersion version_;                                      // of no use in inference mode
};

class PythonMetric : public Metric {
 public:
  static absl::StatusOr<std::unique_ptr<Metric>> create(const CustomConfig& config) {
    return call_python(GilUse::kMetric, "it", [&]() -> absl::StatusOr<std::unique_ptr<Metric>> {
      if (current_run() == nullptr || !current_run()->metrics.contains(config.name())) {
        return absl::InvalidArgumentError(
            "its class is in Python, and this call was not given it; give metrics=[...]");
      }
      return std::make_unique<PythonMetric>(config.name(),
                                            current_run()->metrics[config.name().c_str()]());
    });
  }

  // REQUIRES: the GIL is held.
  PythonMetric(std::string name, py::object metric)
      : name_(std::move(name)), metric_(std::move(metric)) {}
  ~PythonMetric() override {
    const py::gil_scoped_acquire gil;
    metric_ = py::object();
  }

  absl::string_view name() const override { return name_; }

  void update(const MetricInput& input) override {
    if (input.predictions.empty()) return;
    call_or_throw("update", [&] {
      LentTensor predictions("predictions", input.predictions), labels("labels", input.labels);
      LentTensor weights("weights", input.weights), groups("groups", input.groups);
      metric_.attr("update")(predictions.take(), labels.take(), weights.take(), groups.take());
      for (const LentTensor* lent : {&predictions, &labels, &weights, &groups}) {
        lent->check_unchanged();
      }
    });
  }

  double compute() const override {
    double value = 0;
    call_or_throw("compute", [&] { value = py::float_(metric_.attr("compute")()); });
    return value;
  }

  void reset() override {
    call_or_throw("reset", [&] { metric_.attr("reset")(); });
  }

  void merge(const Metric& other) override {
    call_or_throw("merge",
                  [&] { metric_.attr("merge")(static_cast<const PythonMetric&>(other).metric_); });
  }

  std::string save() const override {
    std::string bytes;
    call_or_throw("state_dict", [&] {
      bytes = py::cast<std::string>(current_run()->support.attr("save_state")(metric_));
    });
    return bytes;
  }

  absl::Status merge_saved(absl::string_view bytes) override {
    return call_python(GilUse::kMetric, absl::StrCat("metric ", name_, ", merge()"), [&] {
      current_run()->support.attr("merge_metric")(metric_, py::bytes(bytes.data(), bytes.size()));
      return absl::OkStatus();
    });
  }

 private:
  // The interface has no errors: an exception ends the step or the evaluation.
  template <typename Call>
  void call_or_throw(const char* method, Call&& call) const {
    const absl::Status status =
        call_python(GilUse::kMetric, absl::StrCat("metric ", name_, ", ", method, "()"), [&] {
          call();
          return absl::OkStatus();
        });
    if (!status.ok()) throw std::runtime_error(std::string(status.message()));
  }

  const std::string name_;
  py::object metric_;
};

}  // namespace

absl::Status register_python_metrics(const py::dict& metrics) {
  static auto& registered = *new std::set<std::string>();
  for (const auto& [key, metric] : metrics) {
    const auto name = py::cast<std::string>(key);
    MetricTraits traits;
    const py::object higher = metric.attr("higher_is_better");
    if (!higher.is_none()) {
      traits.direction = py::cast<bool>(higher) ? MetricDirection::kHigherIsBetter
                                                : MetricDirection::kLowerIsBetter;
    }
    const bool is_new = registered.count(name) == 0;
    if (is_new && metric_registry().find(name) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is a metric \"", name, "\" already; give the class another name"));
    }
    if (!is_new && traits_of_metric(name).direction != traits.direction) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric \"", name,
                       "\" had another higher_is_better earlier in this process; give the class "
                       "another name"));
    }
    if (!is_new) continue;
    register_metric(name, "a metric in Python", &PythonMetric::create, traits);
    registered.insert(name);
  }
  return absl::OkStatus();
}

}  // namespace millrace
