// What is known of a step's gradients before they are applied.
#ifndef MILLRACE_EMBEDDING_GRADIENT_SUMMARY_H_
#define MILLRACE_EMBEDDING_GRADIENT_SUMMARY_H_

#include <string>

namespace millrace {

struct GradientSummary {
  // Whether no value is infinite or not a number in the gradients as the backward pass left them,
  // nor in their sums.
  bool finite = true;
  // Sum of squares of the gradients of all rows, each summed over the step; 0 if not asked for,
  // or not finite.
  double norm_squared = 0;
  // What is not finite, such as "table items (features clicked, bought)": the first one; "" if
  // finite.
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
