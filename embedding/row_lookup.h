// The interface between a model and its embedding tables.
#ifndef MILLRACE_EMBEDDING_ROW_LOOKUP_H_
#define MILLRACE_EMBEDDING_ROW_LOOKUP_H_

#include "absl/status/statusor.h"
#include "embedding/embedding_output.h"
#include "io/batch.h"

namespace millrace {

// Looks up the rows of features for a model. EmbeddingCollection implements the interface with the
// tables of training. A read-only implementation, such as published tables, can serve the same
// model (EmbeddingCollection::set_lookup()).
class RowLookup {
 public:
  virtual ~RowLookup() = default;

  // Returns the rows of a micro-batch, pooled and placed as in EmbeddingCollection::options() and
  // places(). `features` has the order of EmbeddingCollectionOptions::features and is not checked
  // yet. An id without a row is no error: it reads the default value of its table. Called once in
  // each EmbeddingCollection::forward(), on its thread. In training only one thread calls. Outside
  // training several threads may call at the same time, also while a thread trains; an
  // implementation that is not thread-safe must say so.
  // Errors: InvalidArgument naming the feature if tensors have another type or size than
  // KeyedJagged states; other errors of the implementation.
  virtual absl::StatusOr<EmbeddingOutput> look_up(const KeyedJagged& features) = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROW_LOOKUP_H_
