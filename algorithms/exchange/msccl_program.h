// The content of an MSCCL XML file: what each block of each GPU does, checked for form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"

namespace collbench {

struct MscclStep {
  bool receives = false;
  bool reduces = false;
  bool sends = false;          // after receiving, if both
  bool stores = false;         // what it receives, or adds up; "rrs" only sends it
  bool tells_waiters = false;  // hasdep: steps of other blocks may wait for it
  Chunks chunks;               // of the local vector; none for "nop"
  int wait_block = -1;         // index into MscclGpu::blocks, -1 for none
  int wait_step = -1;
};

struct MscclBlock {
  Rank send = -1;
  Rank recv = -1;
  int channel = 0;
  int id = 0;
  std::vector<MscclStep> steps;
};

struct MscclGpu {
  std::vector<MscclBlock> blocks;
};

struct MscclProgram {
  std::string name;
  int chunks = 0;
  std::vector<MscclGpu> gpus;  // by id
};

/// "gpu 3, tb 1 (id 4), step 2": how messages name a step.
std::string msccl_place(Rank gpu, const MscclBlock& block, std::size_t step);

/// The name of a collective that runtimes know: "allgather". Throws InvalidArgument, with what
/// `format` is called, for a collective with a root.
std::string_view msccl_name(CollectiveKind kind, const char* format = "MSCCL XML is");

/// Throws InvalidArgument naming the element and what would be right.
MscclProgram read_msccl_program(std::string_view xml, CollectiveKind kind);

}  // namespace collbench
