// Names of checkpoints and of the files in them. See docs/checkpoint_format.md.
#ifndef MILLRACE_CHECKPOINT_FORMAT_CHECKPOINT_NAMES_H_
#define MILLRACE_CHECKPOINT_FORMAT_CHECKPOINT_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// The folder of checkpoints in an output directory.
inline constexpr char kCheckpointsFolder[] = "checkpoints";
// The folder of published versions in an output directory.
inline constexpr char kPublishedFolder[] = "published";
inline constexpr char kManifestName[] = "manifest.json";
inline constexpr int64_t kMaxNumberedFiles = 99'999;

// The metadata key of Millrace's safetensors files, and its value in checkpoints.
inline constexpr char kFormatKey[] = "millrace.format";
inline constexpr char kCheckpointFormat[] = "checkpoint 1";
// Prefix of the names of tensors that dense optimizers keep: "optimizer/PARAMETER/STATE".
inline constexpr char kOptimizerPrefix[] = "optimizer/";

// Returns the name of the moving average of a parameter, "optimizer/PARAMETER/average". The average
// belongs to the model (checkpoint/folder/model_only.h).
std::string average_name(absl::string_view parameter);
// Returns true for the name of a moving average and for the name of its number of updates,
// "…/average_updates".
bool is_of_average(absl::string_view tensor);
// Returns true for dense tensors that a model-only checkpoint keeps: parameters, buffers and moving
// averages.
bool is_of_model(absl::string_view tensor);

// Returns a name such as "step-00001000". REQUIRES: step >= 0.
std::string checkpoint_name(int64_t step);

// A parsed name of an entry in a folder of checkpoints.
struct CheckpointName {
  enum class Kind {
    kCheckpoint,  // step-00001000
    kTemporary,   // step-00001000.tmp-NONCE: being written
    kOld,         // step-00001000.old-NONCE: about to be replaced
    kRemoved      // step-00001000.removed-NONCE: being removed
  };
  Kind kind = Kind::kCheckpoint;
  int64_t step = 0;

  friend bool operator==(const CheckpointName&, const CheckpointName&) = default;
};

// Returns none for any other name.
std::optional<CheckpointName> parse_checkpoint_name(absl::string_view name);

// Returns the name of a temporary, old or removed directory. REQUIRES: `kind` is not kCheckpoint;
// is_nonce(nonce).
std::string checkpoint_name(int64_t step, CheckpointName::Kind kind, absl::string_view nonce);

// Returns true for 1 to 64 letters and digits.
bool is_nonce(absl::string_view nonce);
// Returns an unused nonce: 16 characters, from the system's randomness.
std::string new_nonce();

// Returns true for 1 to 128 letters, digits, `_` and `-`.
bool is_table_name(absl::string_view name);

// Returns names such as "dense-00000-of-00002.safetensors". REQUIRES: 0 <= index < count <=
// kMaxNumberedFiles.
std::string dense_file_name(int64_t index, int64_t count);
std::string table_file_name(absl::string_view table, int64_t index, int64_t count);
std::string state_file_name(int64_t rank, int64_t world_size);
std::string chunks_file_name(int64_t rank, int64_t world_size);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_CHECKPOINT_NAMES_H_
