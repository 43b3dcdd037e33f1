#include "algorithms/exchange/msccl_program.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

// Bounds that keep a small malicious file from asking for much memory or time.
constexpr int most_ranks = 65536;
constexpr int most_chunks = 1 << 20;
constexpr std::int64_t most_chunk_visits = std::int64_t{1} << 24;

class MscclReader {
 public:
  explicit MscclReader(CollectiveKind kind) : kind_(kind) {}

  MscclProgram read(std::string_view xml) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
    if (!parsed) {
      fail("not XML: " + std::string(parsed.description()) + " at byte " +
           std::to_string(parsed.offset));
    }
    const pugi::xml_node algo = document.child("algo");
    at_ = "algo";
    if (!algo) fail("the root element must be 'algo'");
    std::string coll = algo.attribute("coll").value();
    if (coll == "reduce_scatter") coll = "reducescatter";  // what MSCCL's tools write
    if (coll != msccl_name(kind_)) {
      fail(fmt::format("coll must be '{}', not '{}'", msccl_name(kind_), coll));
    }
    if (number(algo, "inplace", 0, 1) == 0)
      fail("only in-place programs can be read: inplace=\"1\"");
    program_.name = algo.attribute("name").value();
    if (program_.name.empty()) program_.name = "msccl";
    program_.chunks = number(algo, "nchunksperloop", 1, most_chunks);
    const int ranks = number(algo, "ngpus", 1, most_ranks);
    if (has_shares(kind_)) {
      share_ = program_.chunks / ranks;
      if (program_.chunks % ranks != 0) {
        fail(fmt::format("nchunksperloop must be a multiple of the {} gpus of {}, not {}", ranks,
                         coll, program_.chunks));
      }
    }
    std::map<int, pugi::xml_node> gpus;
    for (const pugi::xml_node gpu : algo.children("gpu")) {
      at_ = "gpu";
      const int id = number(gpu, "id", 0, ranks - 1);
      if (!gpus.emplace(id, gpu).second) fail("id " + std::to_string(id) + " is given twice");
    }
    at_ = "algo";
    if (static_cast<int>(gpus.size()) != ranks) {
      fail("ngpus is " + std::to_string(ranks) + ", but there are " + std::to_string(gpus.size()) +
           " gpu elements");
    }
    for (const auto& [id, gpu] : gpus) read_gpu(id, gpu);
    return std::move(program_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgument("MSCCL XML: " + (at_.empty() ? "" : at_ + ": ") + what);
  }

  int number(pugi::xml_node node, const char* name, int least, int most) const {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) fail("attribute '" + std::string(name) + "' is missing");
    const std::string_view text = attribute.value();
    const auto value = small_integer_in(text, least, most);
    if (!value) {
      fail(std::string(name) + " must be a whole number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", not '" + std::string(text) + "'");
    }
    return *value;
  }

  void read_gpu(Rank rank, pugi::xml_node node) {
    MscclGpu& gpu = program_.gpus.emplace_back();
    std::map<int, int> index_of_id;
    std::map<std::pair<Rank, int>, int> senders;
    std::map<std::pair<Rank, int>, int> receivers;
    const int last = static_cast<int>(program_.chunks > 0 ? most_ranks : 0);
    for (const pugi::xml_node tb : node.children("tb")) {
      at_ = "gpu " + std::to_string(rank) + ", tb " + std::to_string(gpu.blocks.size());
      MscclBlock block;
      block.id = number(tb, "id", 0, last);
      block.send = peer(tb, "send", rank);
      block.recv = peer(tb, "recv", rank);
      block.channel = tb.attribute("chan") ? number(tb, "chan", 0, last) : 0;
      const auto index = static_cast<int>(gpu.blocks.size());
      if (!index_of_id.emplace(block.id, index).second) fail("its id is given twice");
      if (block.send >= 0 && !senders.emplace(std::pair{block.send, block.channel}, index).second) {
        fail("another tb already sends to this peer on this channel");
      }
      if (block.recv >= 0 &&
          !receivers.emplace(std::pair{block.recv, block.channel}, index).second) {
        fail("another tb already receives from this peer on this channel");
      }
      for (const pugi::xml_node step : tb.children("step")) read_step(rank, step, block);
      gpu.blocks.push_back(std::move(block));
    }
    resolve_waits(rank, gpu, index_of_id);
  }

  Rank peer(pugi::xml_node tb, const char* name, Rank self) const {
    const int ranks = tb.parent().parent().attribute("ngpus").as_int();
    const Rank rank = number(tb, name, -1, ranks - 1);
    if (rank == self) fail(std::string(name) + " must be another gpu or -1, not itself");
    return rank;
  }

  void read_step(Rank rank, pugi::xml_node node, MscclBlock& block) {
    at_ = msccl_place(rank, block, block.steps.size());
    number(node, "s", static_cast<int>(block.steps.size()), static_cast<int>(block.steps.size()));
    MscclStep step;
    const std::string type = node.attribute("type").value();
    read_type(type, step);
    if (step.sends && block.send < 0) fail("type " + type + " needs a tb with send >= 0");
    if (step.receives && block.recv < 0) fail("type " + type + " needs a tb with recv >= 0");
    if (step.sends || step.receives) read_chunks(node, rank, type, step);
    step.wait_block = number(node, "depid", -1, most_ranks);
    step.wait_step = number(node, "deps", -1, INT32_MAX);
    step.tells_waiters = node.attribute("hasdep") && number(node, "hasdep", 0, 1) == 1;
    block.steps.push_back(step);
  }

  void read_type(const std::string& type, MscclStep& step) const {
    if (type == "nop") return;
    if (type == "cpy" || type == "re") {
      fail("type " + type + " works on a second local buffer, which schedules do not have");
    }
    step.receives = type != "s";
    step.reduces = type.starts_with("rr");
    step.sends = type.ends_with("s");
    step.stores = step.receives && type != "rrs";
    if (type != "s" && type != "r" && type != "rrc" && type != "rcs" && type != "rrs" &&
        type != "rrcs") {
      fail("type must be s, r, rrc, rcs, rrs, rrcs or nop, not '" + type + "'");
    }
  }

  // The local chunks are the source of a send or reduction and the destination of a copy; a step
  // with both must name the same, since there is one buffer.
  void read_chunks(pugi::xml_node node, Rank rank, const std::string& type, MscclStep& step) {
    const bool has_source = type == "s" || step.reduces;
    step.chunks.count = number(node, "cnt", 1, program_.chunks);
    if (has_source) step.chunks.first = offset(node, rank, "src", step.chunks.count);
    if (step.stores) {
      const int target = offset(node, rank, "dst", step.chunks.count);
      if (has_source && target != step.chunks.first) {
        fail("srcoff and dstoff must be equal in type " + type);
      }
      step.chunks.first = target;
    }
    visits_ += step.chunks.count;
    if (visits_ > most_chunk_visits) fail("the steps touch too many chunks in total");
  }

  // In the vector: the smaller buffer of a half is the rank's share of the larger one.
  int offset(pugi::xml_node node, Rank rank, const std::string& end, int count) const {
    const std::string name = end + "buf";
    const std::string buffer = node.attribute(name.c_str()).value();
    if (buffer == "s") fail(name + " is scratch, which schedules do not have");
    if (buffer != "i" && buffer != "o") {
      fail(name + " must be 'i' or 'o', not '" + buffer + "'");
    }
    const bool is_share = (kind_ == CollectiveKind::all_gather && buffer == "i") ||
                          (kind_ == CollectiveKind::reduce_scatter && buffer == "o");
    const int begin = is_share ? rank * share_ : 0;
    int size = is_share ? share_ : program_.chunks;
    const pugi::xml_node gpu = node.parent().parent();
    const std::string declared = buffer + "_chunks";
    if (gpu.attribute(declared.c_str()))
      size = std::min(size, number(gpu, declared.c_str(), 0, most_chunks));
    if (count > size)
      fail(fmt::format("cnt is {}, but buffer {} has {} chunks", count, buffer, size));
    return begin + number(node, (end + "off").c_str(), 0, size - count);
  }

  void resolve_waits(Rank rank, MscclGpu& gpu, const std::map<int, int>& index_of_id) {
    for (MscclBlock& block : gpu.blocks) {
      for (std::size_t i = 0; i < block.steps.size(); ++i) {
        MscclStep& step = block.steps[i];
        if (step.wait_block < 0) continue;
        at_ = msccl_place(rank, block, i);
        const auto found = index_of_id.find(step.wait_block);
        if (found == index_of_id.end()) fail("depid names a tb that this gpu does not have");
        const std::vector<MscclStep>& others = gpu.blocks[found->second].steps;
        const std::size_t steps = others.size();
        if (step.wait_step < 0 || static_cast<std::size_t>(step.wait_step) >= steps) {
          fail("deps must name one of the " + std::to_string(steps) + " steps of tb " +
               std::to_string(step.wait_block) + ", not " + std::to_string(step.wait_step));
        }
        if (!others[step.wait_step].tells_waiters) {
          fail(fmt::format("step {} of tb {}, for which it waits, must have hasdep=\"1\"",
                           step.wait_step, step.wait_block));
        }
        step.wait_block = found->second;
      }
    }
  }

  CollectiveKind kind_;
  int share_ = 0;  // chunks of each rank's, where there are shares
  MscclProgram program_;
  std::string at_;
  std::int64_t visits_ = 0;
};

}  // namespace

std::string msccl_place(Rank gpu, const MscclBlock& block, std::size_t step) {
  return "gpu " + std::to_string(gpu) + ", tb " + std::to_string(block.id) + ", step " +
         std::to_string(step);
}

std::string_view msccl_name(CollectiveKind kind, const char* format) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "allreduce";
    case CollectiveKind::reduce_scatter:
      return "reducescatter";
    case CollectiveKind::all_gather:
      return "allgather";
    default:
      throw InvalidArgument(
          fmt::format("{} of all-reduces, reduce-scatters and all-gathers, not of a {}", format,
                      to_string(kind)));
  }
}

MscclProgram read_msccl_program(std::string_view xml, CollectiveKind kind) {
  return MscclReader(kind).read(xml);
}

}  // namespace collbench
