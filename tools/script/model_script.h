// The dense part of a model as a TorchScript module, for programs without the model's code and
// Millrace.
#ifndef MILLRACE_TOOLS_SCRIPT_MODEL_SCRIPT_H_
#define MILLRACE_TOOLS_SCRIPT_MODEL_SCRIPT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/progress.h"
#include "framework/model/model.h"
#include "io/feature_schema.h"
#include "tools/script/script_example.h"

namespace millrace {

struct ModelScriptOptions {
  FeatureSchema schema;  // schema that the model was built from
  std::string model;     // its name
  Progress progress;     // of training
};

// Traces evaluate() with tensors in place of the outputs of its embedding collections, reads the
// script back and compares the script with the model at other batch sizes, values and list lengths.
// Appends an archive to `file` that torch::jit::load and torch.jit.load read: forward(inputs...)
// returns the predictions, parameters and buffers keep their names, and "millrace.json" in the
// archive describes the inputs (docs/export.md). Returns: the inputs. The model is left in
// evaluation mode.
//
// Errors: InvalidArgument if the results of the script and the model differ, because the model
// depends on something else than its inputs (such as batch.size), if names of modules or features
// cannot be used in a script, or if predictions are not finite; errors of the model; Internal for
// exceptions of LibTorch; errors of the file.
absl::StatusOr<std::vector<ScriptInput>> write_model_script(Model& model,
                                                            const ModelScriptOptions& options,
                                                            WritableFile& file);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_SCRIPT_MODEL_SCRIPT_H_
