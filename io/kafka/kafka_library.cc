#include "io/kafka/kafka_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int kOldest = 0x02000200;  // 2.0.2, in the form of rd_kafka_version()
constexpr char kVariable[] = "MILLRACE_LIBRDKAFKA";
constexpr char kName[] = "librdkafka.so.1";

absl::Status no_library(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("windows.kafka needs librdkafka 2.0.2 or newer: ", what,
                   "; install it (Debian: librdkafka1), or let ", kVariable, " name the library"));
}

absl::StatusOr<KafkaLibrary> open_library() {
  const char* const given = std::getenv(kVariable);
  KafkaLibrary library;
  library.name = given != nullptr && *given != '\0' ? given : kName;
  void* const handle = ::dlopen(library.name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return no_library(::dlerror());
  std::string missing;
#define MILLRACE_KAFKA_LOAD(function)                                                           \
  library.function##_ =                                                                         \
      reinterpret_cast<decltype(&rd_kafka_##function)>(::dlsym(handle, "rd_kafka_" #function)); \
  if (library.function##_ == nullptr) missing = "rd_kafka_" #function;
  MILLRACE_KAFKA_FUNCTIONS(MILLRACE_KAFKA_LOAD)
#undef MILLRACE_KAFKA_LOAD
  if (!missing.empty()) return no_library(absl::StrCat(library.name, " lacks ", missing));
  if (library.version_() < kOldest) {
    return no_library(absl::StrCat(library.name, " is version ", library.version_str_()));
  }
  return library;
}

}  // namespace

absl::StatusOr<const KafkaLibrary*> KafkaLibrary::get() {
  static const auto* const library = new absl::StatusOr<KafkaLibrary>(open_library());
  RETURN_IF_ERROR(library->status());
  return &**library;
}

}  // namespace millrace
