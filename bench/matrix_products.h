// Recording and repetition of the matrix products of a section of code.
#ifndef MILLRACE_BENCH_MATRIX_PRODUCTS_H_
#define MILLRACE_BENCH_MATRIX_PRODUCTS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace millrace {

// One matrix product that can be computed again.
class MatrixProduct {
 public:
  // `arguments`: in the order of the operator's schema. Computes the product once.
  MatrixProduct(const c10::OperatorHandle& recorded, std::vector<c10::IValue> arguments);

  const std::string& name() const { return name_; }  // "aten::addmm"
  const std::vector<at::Tensor>& operands() const { return operands_; }
  const at::Tensor& result() const { return result_; }
  // Returns the number of multiplications and additions.
  double operations() const;
  // Computes the product into the memory of result() if the operator has an out variant. Throws
  // exceptions of LibTorch.
  void run() const;

 private:
  std::string name_;
  c10::OperatorHandle operator_;        // the out variant, if there is one
  std::vector<c10::IValue> arguments_;  // of operator_
  std::vector<at::Tensor> operands_;
  at::Tensor result_;
};

// Records the matrix products that LibTorch computes on this thread (aten::mm, addmm, bmm, …),
// including backward passes on the CPU. If one product calls another (aten::linear calls
// aten::addmm; under autocast a product calls itself with converted operands), records the
// innermost call only. At most one recorder exists on a thread at a time.
//
//   MatrixProductRecorder recorder;
//   model.forward(batch).loss.backward();
//   for (const MatrixProduct& product : recorder.stop()) product.run();
class MatrixProductRecorder {
 public:
  MatrixProductRecorder();
  ~MatrixProductRecorder();
  MatrixProductRecorder(const MatrixProductRecorder&) = delete;
  MatrixProductRecorder& operator=(const MatrixProductRecorder&) = delete;

  // Ends recording. Returns the products in the order of their begin, on random numbers in tensors
  // of the recorded sizes, strides and types. Operands that shared memory share memory again.
  // REQUIRES: called at most once.
  std::vector<MatrixProduct> stop();

  struct Recording;  // of the callbacks

 private:
  void remove_callback();

  std::unique_ptr<Recording> recording_;
  at::CallbackHandle callback_ = at::INVALID_CALLBACK_HANDLE;
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_MATRIX_PRODUCTS_H_
