# The reduction kernels: one source, kernels_fold.inc, compiled once per instruction set.
#
# Sets kernel_except. Only the baseline is compiled where the target is not x86-64. Contraction is
# off everywhere, for a fused multiply-add rounds once where the other instruction sets round twice.
set(kernel_flags -ffp-contract=off $<$<NOT:$<CONFIG:Debug>>:-O3>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set_source_files_properties(kernels/kernels_avx2.cc PROPERTIES
    COMPILE_OPTIONS "${kernel_flags};-mavx2;-mf16c")
  set_source_files_properties(kernels/kernels_avx512.cc PROPERTIES
    COMPILE_OPTIONS "${kernel_flags};-mavx2;-mf16c;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq")
else()
  set(kernel_except "_(avx2|avx512)\\.cc$")
endif()
set_source_files_properties(kernels/kernels_baseline.cc kernels/memory_limit.cc PROPERTIES COMPILE_OPTIONS "${kernel_flags}")
