// The types of cuBLAS that headers of LibTorch name, without the library, which nothing here calls.
// The names are those of the real header, so that functions of LibTorch have the same symbols.
#ifndef MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUBLAS_V2_H_
#define MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUBLAS_V2_H_

typedef struct cublasContext* cublasHandle_t;
typedef enum { CUBLAS_STATUS_SUCCESS = 0 } cublasStatus_t;

#endif  // MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUBLAS_V2_H_
