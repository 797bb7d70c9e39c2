// Where code stands that is compiled once for each instruction set.
#ifndef MILLRACE_BASE_ISA_ISA_NAMESPACE_H_
#define MILLRACE_BASE_ISA_ISA_NAMESPACE_H_

// Templates and inline functions that such files share with others stand in
//
//   namespace millrace::MILLRACE_ISA { ... }
//
// so that each instruction set has its own copy and the linker cannot take one for another.
// isa_kernels (//bazel:isa_kernels.bzl) defines the name as baseline, avx2 or avx512. Everywhere
// else it is a namespace that nobody has to name.
#ifndef MILLRACE_ISA
#define MILLRACE_ISA any_isa
namespace millrace {
inline namespace any_isa {}
}  // namespace millrace
#endif

#endif  // MILLRACE_BASE_ISA_ISA_NAMESPACE_H_
