// A transform: one step on the way from a column of a file to the values of a feature.
#ifndef MILLRACE_IO_TRANSFORM_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_TRANSFORM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "io/block.h"
#include "io/column.h"
#include "io/transform/feature_input.h"

namespace millrace {

// The values of all rows between two transforms: numbers, one after the other, or ids in `list`.
// The offsets and weights in `list` belong to both.
struct FeatureValues {
  bool are_ids = false;  // false also for text, which is still in FeatureInput::column then
  IdColumn list;
  std::vector<double> numbers;

  // Makes ids numbers. Does nothing if the values are numbers already.
  void make_numbers();
  // Makes room for one id per value. The caller sets the ids, of text or of the numbers.
  absl::Span<int64_t> make_ids(int64_t count);
};

// A transform of a job: a subclass with MILLRACE_REGISTER_TRANSFORM (transform_registry.h), tested
// by register_transform_conformance. A transform of the core: a class for its kind of
// TransformConfig, behind a function in the header of its theme, listed in transform_registry.cc. A
// transform works on the whole column, in place if it keeps the number of values. Immutable once
// prepare() has succeeded, and thread-safe then.
class Transform {
 public:
  // kAny: text, integers and numbers.
  enum class Takes { kTextOrIntegers, kIntegers, kNumbers, kAny };

  virtual ~Transform() = default;

  // Returns the values that the transform can take. Integers are numbers, too.
  virtual Takes takes() const = 0;

  // Returns the type of the results for values of type `in`, which the transform takes.
  // The default implementation returns kInt64.
  virtual ValueType gives(ValueType in) const;

  // Returns true if the results for text may differ from those for the integers that the text
  // spells. A model is refused on data whose column is text where training read numbers, or the
  // reverse, if the first transform of a feature returns true. Called at any time. The default
  // implementation returns true if takes() is kTextOrIntegers or kAny.
  virtual bool distinguishes_text() const;

  // Returns the paths of the files that prepare() reads, also before prepare(). Checkpoints record
  // the content of these files: a run that resumes refuses other content, and a file that is not
  // listed here may change unnoticed. The default implementation returns none.
  virtual std::vector<std::string> files() const;

  // Reads the files that the transform needs. Called once, before apply().
  // The default implementation does nothing. Errors: as reading files.
  virtual absl::Status prepare(FileSystem& files);

  // Replaces the values of all rows. Adds bad rows to `input.bad`; they get a value, too. A row in
  // which a registered transform leaves a number that is not finite is bad without that.
  // Errors: DataLoss for a bad row that may not be left out.
  virtual absl::Status apply(const FeatureInput& input, FeatureValues* values) const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_TRANSFORM_H_
