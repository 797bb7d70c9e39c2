#include "optim/dense/named_parameter.h"

#include <c10/core/ScalarType.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {
namespace {

std::string type_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return "float32";
    case at::kDouble: return "float64";
    case at::kHalf: return "float16";
    case at::kBFloat16: return "bfloat16";
    case at::kLong: return "int64";
    case at::kInt: return "int32";
    default: return absl::AsciiStrToLower(c10::toString(type));
  }
}

}  // namespace

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return absl::StrCat(type_name(tensor.scalar_type()), " [", absl::StrJoin(tensor.sizes(), ", "),
                      "]");
}

}  // namespace millrace
