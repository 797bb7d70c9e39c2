// The transform vocabulary.
#ifndef MILLRACE_IO_TRANSFORM_VOCABULARY_VOCABULARY_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_VOCABULARY_VOCABULARY_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each text, or each integer written in decimal, the id that it has in a vocabulary. Leaves
// out what is no line of it, if `other_ids` is 0. prepare() reads the vocabulary.
std::unique_ptr<Transform> make_vocabulary_transform(const VocabularyTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_VOCABULARY_VOCABULARY_TRANSFORM_H_
