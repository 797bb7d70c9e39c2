// What a model's dense part takes, and made-up examples of it.
#ifndef MILLRACE_TOOLS_SCRIPT_SCRIPT_EXAMPLE_H_
#define MILLRACE_TOOLS_SCRIPT_SCRIPT_EXAMPLE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "framework/model.h"
#include "io/batch.h"
#include "io/feature_schema.h"

namespace millrace {

class EmbeddingCollection;

// One tensor that the dense part of a model takes.
struct ScriptInput {
  // Of an unpooled feature the rows of all lists come first, then where each list begins and ends.
  enum class Kind { kDense, kPooled, kRows, kOffsets };

  std::string name;  // an identifier: "dense", "embeddings", "FEATURE_rows", "FEATURE_offsets"
  Kind kind = Kind::kDense;
  int64_t columns = 0;                              // of kOffsets: 0
  const EmbeddingCollection* collection = nullptr;  // borrowed from the model; kDense: null
  std::string module;                               // the path of `collection` in the model
  int64_t feature = -1;  // of kRows and kOffsets: its place among the features of `collection`

  // "float32 [batch, 13]".
  std::string type_text() const;
};

// The dense features, if there are any, and the output of each embedding collection, in the order
// of the model's modules.
std::vector<ScriptInput> script_inputs(const Model& model, const FeatureSchema& schema);

// A batch and the tensors in place of what it holds for a model.
struct ScriptExample {
  Batch batch;                     // labels are 0
  std::vector<at::Tensor> inputs;  // of script_inputs
};

struct ScriptExampleShape {
  int64_t size = 0;      // examples
  int64_t most_ids = 0;  // of a list, unless max_ids allows less
  uint64_t seed = 0;     // what all numbers follow from
};

// Dense features are in [0, 1), rows normal with a deviation of 0.1, lists as long as chance will.
ScriptExample make_script_example(const std::vector<ScriptInput>& inputs,
                                  const FeatureSchema& schema, const ScriptExampleShape& shape);

// While it lives, the collections of a model give these tensors, and look nothing up. What a batch
// without such an input holds, dense features or pooled rows without columns, comes from the
// others, so that a trace has its size from them.
class StandIns {
 public:
  // Borrows the model. Changes batch.dense.
  StandIns(Model& model, const std::vector<ScriptInput>& inputs,
           const std::vector<at::Tensor>& tensors, Batch& batch);
  ~StandIns();
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

 private:
  const std::vector<EmbeddingCollection*> collections_;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_SCRIPT_SCRIPT_EXAMPLE_H_
