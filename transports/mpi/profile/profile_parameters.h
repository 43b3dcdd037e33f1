// Lists of parameters and arguments for macros that write functions of MPI.
#pragma once

// Parameters a, b, ... in MPI's order; `type(name, i)` is that of the i-th, from 0.
#define COLLBENCH_1_PARAMETERS(type, name) type(name, 0) a
#define COLLBENCH_2_PARAMETERS(type, name) COLLBENCH_1_PARAMETERS(type, name), type(name, 1) b
#define COLLBENCH_3_PARAMETERS(type, name) COLLBENCH_2_PARAMETERS(type, name), type(name, 2) c
#define COLLBENCH_4_PARAMETERS(type, name) COLLBENCH_3_PARAMETERS(type, name), type(name, 3) d
#define COLLBENCH_5_PARAMETERS(type, name) COLLBENCH_4_PARAMETERS(type, name), type(name, 4) e
#define COLLBENCH_6_PARAMETERS(type, name) COLLBENCH_5_PARAMETERS(type, name), type(name, 5) f
#define COLLBENCH_7_PARAMETERS(type, name) COLLBENCH_6_PARAMETERS(type, name), type(name, 6) g
#define COLLBENCH_8_PARAMETERS(type, name) COLLBENCH_7_PARAMETERS(type, name), type(name, 7) h
#define COLLBENCH_9_PARAMETERS(type, name) COLLBENCH_8_PARAMETERS(type, name), type(name, 8) i
#define COLLBENCH_10_PARAMETERS(type, name) COLLBENCH_9_PARAMETERS(type, name), type(name, 9) j
#define COLLBENCH_11_PARAMETERS(type, name) COLLBENCH_10_PARAMETERS(type, name), type(name, 10) k
#define COLLBENCH_12_PARAMETERS(type, name) COLLBENCH_11_PARAMETERS(type, name), type(name, 11) l
#define COLLBENCH_1_ARGUMENTS a
#define COLLBENCH_2_ARGUMENTS COLLBENCH_1_ARGUMENTS, b
#define COLLBENCH_3_ARGUMENTS COLLBENCH_2_ARGUMENTS, c
#define COLLBENCH_4_ARGUMENTS COLLBENCH_3_ARGUMENTS, d
#define COLLBENCH_5_ARGUMENTS COLLBENCH_4_ARGUMENTS, e
#define COLLBENCH_6_ARGUMENTS COLLBENCH_5_ARGUMENTS, f
#define COLLBENCH_7_ARGUMENTS COLLBENCH_6_ARGUMENTS, g
#define COLLBENCH_8_ARGUMENTS COLLBENCH_7_ARGUMENTS, h
#define COLLBENCH_9_ARGUMENTS COLLBENCH_8_ARGUMENTS, i
#define COLLBENCH_10_ARGUMENTS COLLBENCH_9_ARGUMENTS, j
#define COLLBENCH_11_ARGUMENTS COLLBENCH_10_ARGUMENTS, k
#define COLLBENCH_12_ARGUMENTS COLLBENCH_11_ARGUMENTS, l
