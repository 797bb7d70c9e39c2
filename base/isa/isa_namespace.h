// The namespace of code that is compiled once per instruction set.
#ifndef MILLRACE_BASE_ISA_ISA_NAMESPACE_H_
#define MILLRACE_BASE_ISA_ISA_NAMESPACE_H_

// Templates and inline functions that such files share with other files are in
//
//   namespace millrace::MILLRACE_ISA { ... }
//
// so that each instruction set has a separate copy and the linker cannot merge the copies.
// isa_kernels (//bazel:isa_kernels.bzl) defines the name as baseline, avx2 or avx512. In all other
// code it is an inline namespace, which needs no name.
#ifndef MILLRACE_ISA
#define MILLRACE_ISA any_isa
namespace millrace {
inline namespace any_isa {}
}  // namespace millrace
#endif

#endif  // MILLRACE_BASE_ISA_ISA_NAMESPACE_H_
