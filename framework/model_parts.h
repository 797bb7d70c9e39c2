// The parts of a model that optimizers and checkpoints work on.
#ifndef MILLRACE_FRAMEWORK_MODEL_PARTS_H_
#define MILLRACE_FRAMEWORK_MODEL_PARTS_H_

#include <vector>

#include "optim/dense_optimizer.h"

namespace millrace {

class EmbeddingCollection;
class Model;

// The embedding collections among a model's modules, in the modules' order. Borrowed from it.
std::vector<EmbeddingCollection*> collections_of(Model& model);

// Every dense parameter, by name. They share their memory with the model's.
std::vector<NamedParameter> parameters_of(Model& model);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_MODEL_PARTS_H_
