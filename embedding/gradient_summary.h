// What is known of a step's gradients before they are applied.
#ifndef MILLRACE_EMBEDDING_GRADIENT_SUMMARY_H_
#define MILLRACE_EMBEDDING_GRADIENT_SUMMARY_H_

namespace millrace {

struct GradientSummary {
  // Whether no value is infinite or not a number in the gradients as the backward pass left them,
  // nor in their sums.
  bool finite = true;
  // Sum of squares of the gradients of all rows, each summed over the step; 0 if not asked for,
  // or not finite.
  double norm_squared = 0;

  GradientSummary& operator+=(const GradientSummary& other) {
    finite = finite && other.finite;
    norm_squared += other.norm_squared;
    return *this;
  }
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_GRADIENT_SUMMARY_H_
