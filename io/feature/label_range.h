// The range of labels of a task.
#ifndef MILLRACE_IO_FEATURE_LABEL_RANGE_H_
#define MILLRACE_IO_FEATURE_LABEL_RANGE_H_

namespace millrace {

// A label outside its range is bad data.
enum class LabelRange {
  kBinary,       // 0 or 1
  kProbability,  // in [0, 1]
  kNotNegative,  // at least 0
  kAny,
};

// REQUIRES: `label` is a number.
inline bool in_range(LabelRange range, double label) {
  switch (range) {
    case LabelRange::kBinary: return label == 0 || label == 1;
    case LabelRange::kProbability: return label >= 0 && label <= 1;
    case LabelRange::kNotNegative: return label >= 0;
    case LabelRange::kAny: break;
  }
  return true;
}

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_LABEL_RANGE_H_
