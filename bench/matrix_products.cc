#include "bench/matrix_products.h"

#include <ATen/ATen.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace millrace {
namespace {

// Products of two matrices, of batches of them, or of a matrix and a vector. The factors are the
// last two tensors among the arguments, in aten::linear the first two.
constexpr const char* kProducts[] = {
    "aten::mm",     "aten::addmm", "aten::bmm",   "aten::baddbmm", "aten::_addmm_activation",
    "aten::linear", "aten::mv",    "aten::addmv", "aten::matmul"};

bool is_product(const c10::OperatorName& name) {
  return std::find(std::begin(kProducts), std::end(kProducts), name.name) != std::end(kProducts);
}

// Random numbers in place of recorded tensors. Tensors of one storage get one storage again, so
// that as much memory is read as in the recorded section.
class StandIns {
 public:
  at::Tensor of(const at::Tensor& tensor) {
    const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    at::Tensor& memory = memory_[{storage, tensor.scalar_type()}];
    if (!memory.defined()) memory = random_numbers(tensor);
    // Views need not cover their elements once: an expanded tensor (stride 0) stays expanded.
    return memory.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  }

 private:
  // Returns random numbers, as many as the storage of `tensor` holds.
  static at::Tensor random_numbers(const at::Tensor& tensor) {
    const int64_t size = static_cast<int64_t>(tensor.storage().nbytes() / tensor.element_size());
    const at::TensorOptions options = tensor.options().requires_grad(false);
    return at::isFloatingType(tensor.scalar_type()) ? at::randn({size}, options)
                                                    : at::zeros({size}, options);
  }

  std::map<std::pair<const c10::StorageImpl*, at::ScalarType>, at::Tensor> memory_;
};

bool is_tensor(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

// Returns the variant of an operator that writes into a last argument; none if there is none.
std::optional<c10::OperatorHandle> out_variant(const c10::OperatorHandle& op) {
  const c10::OperatorName& name = op.operator_name();
  if (!name.overload_name.empty()) return std::nullopt;
  std::optional<c10::OperatorHandle> found =
      c10::Dispatcher::singleton().findSchema({name.name, "out"});
  const bool fits =
      found.has_value() && found->schema().arguments().size() == op.schema().arguments().size() + 1;
  return fits ? found : std::nullopt;
}

}  // namespace

MatrixProduct::MatrixProduct(const c10::OperatorHandle& recorded,
                             std::vector<c10::IValue> arguments)
    : name_(recorded.operator_name().name), operator_(recorded), arguments_(std::move(arguments)) {
  for (const c10::IValue& argument : arguments_) {
    if (is_tensor(argument)) operands_.push_back(argument.toTensor());
  }
  torch::jit::Stack stack = arguments_;
  operator_.callBoxed(stack);
  result_ = stack.back().toTensor();
  if (std::optional<c10::OperatorHandle> out = out_variant(recorded)) {
    operator_ = *out;
    arguments_.push_back(result_);
  }
}

double MatrixProduct::operations() const {
  const bool bias_is_last = name_ == "aten::linear";
  const at::Tensor& left = bias_is_last ? operands_[0] : operands_[operands_.size() - 2];
  return 2.0 * static_cast<double>(result_.numel()) * static_cast<double>(left.size(-1));
}

void MatrixProduct::run() const {
  torch::jit::Stack stack = arguments_;
  operator_.callBoxed(stack);
}

struct MatrixProductRecorder::Recording {
  struct Call {
    c10::OperatorName name;
    std::vector<c10::IValue> arguments;
    bool computes_itself = true;  // false: it calls another product
  };
  std::vector<Call> calls;
  std::vector<size_t> open;  // calls that have not ended
};

namespace {

// The recording of this thread's callbacks, which are plain functions for LibTorch.
thread_local MatrixProductRecorder::Recording* recording = nullptr;

struct IsProduct : at::ObserverContext {};

std::unique_ptr<at::ObserverContext> begin_call(const at::RecordFunction& function) {
  const std::optional<c10::OperatorName> name = function.operator_name();
  if (recording == nullptr || !name.has_value() || !is_product(*name)) return nullptr;
  if (!recording->open.empty()) recording->calls[recording->open.back()].computes_itself = false;
  recording->open.push_back(recording->calls.size());
  const c10::ArrayRef<const c10::IValue> inputs = function.inputs();
  recording->calls.push_back({*name, std::vector<c10::IValue>(inputs.begin(), inputs.end())});
  return std::make_unique<IsProduct>();
}

void end_call(const at::RecordFunction&, at::ObserverContext* context) {
  if (context != nullptr && recording != nullptr) recording->open.pop_back();
}

}  // namespace

MatrixProductRecorder::MatrixProductRecorder() : recording_(std::make_unique<Recording>()) {
  recording = recording_.get();
  callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback(begin_call, end_call)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
}

MatrixProductRecorder::~MatrixProductRecorder() { remove_callback(); }

void MatrixProductRecorder::remove_callback() {
  if (callback_ == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(callback_);
  callback_ = at::INVALID_CALLBACK_HANDLE;
  recording = nullptr;
}

std::vector<MatrixProduct> MatrixProductRecorder::stop() {
  remove_callback();
  StandIns stand_ins;
  std::vector<MatrixProduct> products;
  for (const Recording::Call& call : recording_->calls) {
    if (!call.computes_itself) continue;
    std::vector<c10::IValue> arguments =
        call.arguments;  // recorded tensors stay unchanged: their storages differ
    for (c10::IValue& argument : arguments) {
      if (is_tensor(argument)) argument = stand_ins.of(argument.toTensor());
    }
    const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
        call.name.name.c_str(), call.name.overload_name.c_str());
    products.emplace_back(op, std::move(arguments));
  }
  return products;
}

}  // namespace millrace
