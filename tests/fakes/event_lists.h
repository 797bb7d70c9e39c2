// Lists of events that a recording hook records.
#ifndef MILLRACE_TESTS_FAKES_EVENT_LISTS_H_
#define MILLRACE_TESTS_FAKES_EVENT_LISTS_H_

#include <initializer_list>
#include <string>
#include <vector>

namespace millrace {

using Events = std::vector<std::string>;

// The events of a step of one micro-batch, in training and in evaluation.
inline const Events kStep = {"before_step", "after_data(0)", "after_backward", "after_step"};
inline const Events kEvalStep = {"eval:before_step", "eval:after_data(0)", "eval:after_step"};

inline Events join(std::initializer_list<Events> parts) {
  Events all;
  for (const Events& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_EVENT_LISTS_H_
