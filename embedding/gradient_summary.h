// The summary of the gradients of a step before they are applied.
#ifndef MILLRACE_EMBEDDING_GRADIENT_SUMMARY_H_
#define MILLRACE_EMBEDDING_GRADIENT_SUMMARY_H_

#include <string>

namespace millrace {

struct GradientSummary {
  // True if all gradients of the backward passes and their sums are finite.
  bool finite = true;
  // The sum of squares of the gradients of all rows, each summed over the step. 0 if not requested
  // or not finite.
  double norm_squared = 0;
  // The first table without finite gradients, such as "table items (features clicked, bought)"; ""
  // if `finite`.
  std::string not_finite;

  GradientSummary& operator+=(const GradientSummary& other) {
    if (finite && !other.finite) not_finite = other.not_finite;
    finite = finite && other.finite;
    norm_squared = finite ? norm_squared + other.norm_squared : 0;
    return *this;
  }
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_GRADIENT_SUMMARY_H_
