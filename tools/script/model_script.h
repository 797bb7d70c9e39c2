// A model's dense part as a TorchScript module, for programs that have neither the model's code nor
// Millrace.
#ifndef MILLRACE_TOOLS_SCRIPT_MODEL_SCRIPT_H_
#define MILLRACE_TOOLS_SCRIPT_MODEL_SCRIPT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/progress.h"
#include "framework/model.h"
#include "io/feature_schema.h"
#include "tools/script/script_example.h"

namespace millrace {

struct ModelScriptOptions {
  FeatureSchema schema;  // what the model was built from
  std::string model;     // its name
  Progress progress;     // of training
};

// Traces evaluate() with tensors in place of the outputs of its embedding collections, reads the
// script back and compares it with the model at other batch sizes, values and lengths of lists, and
// appends an archive to `file` that torch::jit::load and torch.jit.load read: forward(inputs...)
// gives the predictions, parameters and buffers have their names, "millrace.json" beside them says
// what the inputs are (docs/export.md). Returns: the inputs. The model is left in evaluation mode.
//
// Errors: InvalidArgument if the script does not give what the model gives, because its operations
// depend on something that is not among its inputs (such as batch.size), if names of modules or
// features cannot stand in a script, or if predictions are not finite; those of the model; Internal
// for what LibTorch throws; those of the file.
absl::StatusOr<std::vector<ScriptInput>> write_model_script(Model& model,
                                                            const ModelScriptOptions& options,
                                                            WritableFile& file);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_SCRIPT_MODEL_SCRIPT_H_
